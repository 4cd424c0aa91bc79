/*
 * duration-queues compared with programs that keep a queue for each duration:
 *
 *   libevent 2.1, event.c: event_base_init_common_timeout, common_timeout_schedule,
 *   common_timeout_callback, event_del. Not modelled: the callers' choice of common timeouts.
 *
 *   Lawn, src/lawn.c (2026): set_element_ttl, del_element_exp, next_at, pop_expired. Not modelled:
 *   names.
 *
 *   Envoy 1.20, scaled_range_timer_manager_impl.cc: enableTimer with a minimum of 0, activateTimer,
 *   removeTimer, onQueueTimerFired. Not modelled: timers that wait for their minimum.
 */
#include "original.h"

#include <stdio.h>
#include <string.h>

enum habit {
    EMPTY_QUEUES_WAKE = 1,     /* libevent: the event of a queue stays when its last timer goes */
    STARTS_LEAVE_A_COPY = 2,   /* Lawn: a second start of an element does not take out the first */
    SCALES = 4,                /* Envoy: by a factor, here of one half */
    EXACT_NEXT = 8,            /* Lawn, Envoy: stopped timers are not waited for */
    STOP_ALWAYS_SUCCEEDS = 16, /* all three */
};

enum { QUEUES = 2048 };

struct queues {
    uint32_t habits;
    uint64_t now;
    uint64_t order;
    bool pending[ORIGINAL_IDS];
    bool late[ORIGINAL_IDS];
    uint64_t due[ORIGINAL_IDS];
    uint64_t duration[ORIGINAL_IDS];
    uint64_t started[ORIGINAL_IDS];
    uint64_t copy[ORIGINAL_IDS]; /* when the remains of a start expire; 0: none */
    uint64_t wakes[QUEUES];      /* by duration: when its event is scheduled; 0: it is not */
};

static bool has(const struct queues *queues, enum habit habit)
{
    return (queues->habits & (uint32_t)habit) != 0;
}

static void queues_open(void *self, uint64_t now, uint32_t habits)
{
    struct queues *queues = self;
    *queues = (struct queues){.habits = habits, .now = now};
}

/* The first timer of a duration's queue; ORIGINAL_IDS: it is empty. */
static uint32_t first_of(const struct queues *queues, uint64_t duration)
{
    uint32_t first = ORIGINAL_IDS;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        bool in = queues->pending[id] && !queues->late[id] && queues->duration[id] == duration;
        if (in && (first == ORIGINAL_IDS || queues->started[id] < queues->started[first])) {
            first = id;
        }
    }
    return first;
}

static bool queues_stop(void *self, uint32_t id)
{
    struct queues *queues = self;
    if (!queues->pending[id]) {
        return has(queues, STOP_ALWAYS_SUCCEEDS);
    }
    queues->pending[id] = false;
    uint64_t duration = queues->duration[id];
    if (!queues->late[id]) {
        uint32_t first = first_of(queues, duration);
        if (first == ORIGINAL_IDS && !has(queues, EMPTY_QUEUES_WAKE)) {
            queues->wakes[duration] = 0;
        } else if (first < ORIGINAL_IDS && has(queues, EXACT_NEXT)) {
            queues->wakes[duration] = queues->due[first];
        }
    }
    return true;
}

static bool queues_start(void *self, uint32_t id, uint64_t deadline)
{
    struct queues *queues = self;
    if (queues->pending[id] && has(queues, STARTS_LEAVE_A_COPY)) {
        queues->copy[id] = queues->due[id];
    }
    if (queues->pending[id]) {
        (void)queues_stop(queues, id);
    }
    queues->pending[id] = true;
    queues->late[id] = deadline <= queues->now;
    queues->due[id] = deadline;
    queues->started[id] = queues->order++;
    if (queues->late[id]) {
        return true;
    }
    uint64_t duration = deadline - queues->now;
    queues->due[id] = queues->now + (has(queues, SCALES) ? (duration + 1) / 2 : duration);
    queues->duration[id] = duration;
    if (first_of(queues, duration) == id && queues->wakes[duration] == 0) {
        queues->wakes[duration] = queues->due[id];
    }
    return true;
}

static void queues_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct queues *queues = self;
    uint32_t expired[4 * ORIGINAL_IDS];
    uint32_t count = 0;
    queues->now = now;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (queues->copy[id] > 0 && queues->copy[id] <= now) {
            expired[count++] = id;
            queues->copy[id] = 0;
        }
        if (queues->pending[id] && queues->late[id]) {
            queues->pending[id] = false;
            expired[count++] = id;
        }
    }
    for (uint64_t duration = 0; duration < QUEUES; duration++) {
        if (queues->wakes[duration] == 0 || queues->wakes[duration] > now) {
            continue;
        }
        uint32_t first = first_of(queues, duration);
        while (first < ORIGINAL_IDS && queues->due[first] <= now) {
            queues->pending[first] = false;
            expired[count++] = first;
            first = first_of(queues, duration);
        }
        queues->wakes[duration] = first < ORIGINAL_IDS ? queues->due[first] : 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        fire->call(fire->ctx, expired[i]);
    }
}

static uint64_t queues_next(void *self)
{
    const struct queues *queues = self;
    uint64_t next = UINT64_MAX;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (queues->pending[id] && queues->late[id]) {
            return queues->now;
        }
    }
    for (uint64_t duration = 0; duration < QUEUES; duration++) {
        uint64_t wakes = queues->wakes[duration];
        next = wakes > 0 && wakes < next ? wakes : next;
    }
    return next;
}

/* As many queues as durations, and two timers in one exactly if they have one duration. */
static bool same_queues(void *self, const struct tl_algo *algo, const void *structure, char *why,
                        size_t why_bytes)
{
    const struct queues *queues = self;
    struct place places[ORIGINAL_IDS];
    places_find(algo, structure, places, ORIGINAL_IDS);
    for (uint32_t id = 1; id < ORIGINAL_IDS; id++) {
        struct place here = places[id];
        struct place there = places[id - 1];
        if (!there.pending || !here.pending || strncmp(here.part, "for ", 4) != 0 ||
            strncmp(there.part, "for ", 4) != 0) {
            continue;
        }
        bool together = strcmp(here.part, there.part) == 0;
        if (together != (queues->duration[id] == queues->duration[id - 1])) {
            (void)snprintf(why, why_bytes, "timers %u and %u are%s in one queue", id - 1, id,
                           together ? "" : " not");
            return false;
        }
    }
    return true;
}

static const struct original by_duration = {
    .follows = "libevent 2.1, event.c; Lawn, lawn.c; Envoy 1.20, scaled timers",
    .bytes = sizeof(struct queues),
    .open = queues_open,
    .start = queues_start,
    .stop = queues_stop,
    .advance = queues_advance,
    .next = queues_next,
    .inside = same_queues,
};

/* Among few short delays many are the same. */
static const struct original_case queues_case = {
    .original = &by_duration,
    .structure = "duration-queues",
    .options = "queues=256",
    .next = ORIGINAL_NEXT_SAME,
    .delay_bits = 5,
    .clock = 1000,
};

static void a_queue_for_each_duration(void **state)
{
    (void)state;
    original_agrees(&queues_case);
    struct original_case far_case = queues_case;
    far_case.delay_bits = 11;
    original_agrees(&far_case);
}

/* By a scan, too; it keeps one bound for all queues, so it may wake once more. */
static void a_look_at_every_queue(void **state)
{
    (void)state;
    struct original_case scan_case = queues_case;
    scan_case.options = "queues=256:expiry=scan";
    scan_case.habits = EXACT_NEXT;
    scan_case.next = ORIGINAL_NEXT_BEFORE;
    original_agrees(&scan_case);
}

static void but_for_their_habits(void **state)
{
    (void)state;
    original_differs(&queues_case, EMPTY_QUEUES_WAKE, "its queue is empty");
    original_differs(&queues_case, STARTS_LEAVE_A_COPY, "fires twice");
    original_differs(&queues_case, SCALES, "scale factor");
    original_differs(&queues_case, EXACT_NEXT, "next may be that of a timer that was stopped");
    original_differs(&queues_case, STOP_ALWAYS_SUCCEEDS, "either way");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_for_each_duration),
        cmocka_unit_test(a_look_at_every_queue),
        cmocka_unit_test(but_for_their_habits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
