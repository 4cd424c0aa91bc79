/*
 * henriksen-list compared with SSJ's event list of that name.
 *
 * The model follows umontreal/ssj/simevents/eventlist/Henriksen.java of SSJ (commit 65a52c66): a
 * doubly linked list between two ends, an index in falling order that begins with the upper end, a
 * pointer pulled for every fourth event that a search passes, an index that doubles without a next
 * pointer and is halved when the first event has passed its middle. It omits priorities and
 * iterators.
 */
#include "original.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum habit {
    REDIRECTS_POINTERS = 1, /* of removed events, to the event before */
    ENTERS_THE_PASSED = 2,  /* at its own tick */
};

enum { ENTRIES_MAX = 1024, PULL = 4, UPPER = ORIGINAL_IDS, LOWER };

enum where { NOWHERE, ASIDE, ENTERED };

struct event {
    enum where where;
    uint64_t time;
    uint64_t order; /* of entries to the list, or of starts */
    uint32_t left;
    uint32_t right;
};

struct entry {
    uint64_t time;
    uint32_t event;
};

struct henriksen {
    uint32_t habits;
    uint64_t clock;
    uint64_t order;
    struct event events[ORIGINAL_IDS + 2]; /* and the two ends */
    struct entry index[ENTRIES_MAX];
    uint32_t size;
};

static void henriksen_open(void *self, uint64_t now, uint32_t habits)
{
    struct henriksen *list = self;
    *list = (struct henriksen){.habits = habits, .clock = now, .size = 1};
    list->events[UPPER] = (struct event){.time = TL_NEVER, .left = LOWER};
    list->events[LOWER] = (struct event){.right = UPPER};
    list->index[0] = (struct entry){TL_NEVER, UPPER};
}

static void change_size(struct henriksen *list, uint32_t size)
{
    assert_true(size <= ENTRIES_MAX);
    for (uint32_t i = list->size; i < size; i++) {
        list->index[i] = (struct entry){0, LOWER};
    }
    list->size = size;
}

/* Without REDIRECTS_POINTERS: whether an entry's event is still at its place. */
static bool is_there(const struct henriksen *list, uint32_t i)
{
    const struct event *event = &list->events[list->index[i].event];
    return list->index[i].event == UPPER ||
           (event->where == ENTERED && event->time == list->index[i].time);
}

/* findIndex */
static uint32_t find_index(struct henriksen *list, uint64_t time)
{
    uint32_t i = 0;
    while (i + 1 < list->size && list->index[i + 1].time > time) {
        i++;
    }
    uint32_t there = i;
    while (!is_there(list, there)) {
        there--;
    }
    for (uint32_t k = there + 1; k <= i; k++) {
        list->index[k] = i + 1 < list->size ? list->index[i + 1] : (struct entry){0, LOWER};
    }
    return there;
}

/* add */
static void enter(struct henriksen *list, uint32_t id)
{
    struct event *events = list->events;
    struct event *event = &events[id];
    uint32_t i = find_index(list, event->time);
    uint32_t e = events[list->index[i].event].left;
    for (uint32_t count = 0; e != LOWER && events[e].time > event->time; e = events[e].left) {
        if (++count == PULL) {
            count = 0;
            if (i + 1 >= list->size) {
                change_size(list, list->size * 2);
            }
            list->index[++i] = (struct entry){events[e].time, e};
        }
    }
    event->where = ENTERED;
    event->left = e;
    event->right = events[e].right;
    events[event->right].left = id;
    events[e].right = id;
}

/* remove, and the removal itself of removeFirst */
static void take(struct henriksen *list, uint32_t id)
{
    struct event *event = &list->events[id];
    if (event->where == ENTERED) {
        for (uint32_t i = 1; (list->habits & REDIRECTS_POINTERS) != 0 && i < list->size; i++) {
            if (list->index[i].event == id) {
                list->index[i] = (struct entry){list->events[event->left].time, event->left};
            }
        }
        list->events[event->left].right = event->right;
        list->events[event->right].left = event->left;
    }
    event->where = NOWHERE;
}

static bool henriksen_start(void *self, uint32_t id, uint64_t deadline)
{
    struct henriksen *list = self;
    take(list, id);
    list->events[id].time = deadline;
    list->events[id].order = list->order++;
    if (deadline > list->clock || (list->habits & ENTERS_THE_PASSED) != 0) {
        enter(list, id);
    } else {
        list->events[id].where = ASIDE;
    }
    return true;
}

static bool henriksen_stop(void *self, uint32_t id)
{
    struct henriksen *list = self;
    bool was = list->events[id].where != NOWHERE;
    take(list, id);
    return was;
}

/* Enter the events that wait aside, in the order of starts, at the clock. */
static void enter_aside(struct henriksen *list)
{
    for (;;) {
        uint32_t first = ORIGINAL_IDS;
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            if (list->events[id].where == ASIDE &&
                (first == ORIGINAL_IDS || list->events[id].order < list->events[first].order)) {
                first = id;
            }
        }
        if (first == ORIGINAL_IDS) {
            return;
        }
        list->events[first].time = list->clock;
        enter(list, first);
    }
}

static void henriksen_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct henriksen *list = self;
    uint64_t started = list->order;
    enter_aside(list);
    list->clock = now;
    for (uint32_t id = list->events[LOWER].right;
         id != UPPER && list->events[id].time <= now && list->events[id].order < started;
         id = list->events[LOWER].right) {
        if (list->size > 1 && list->index[list->size / 2].time <= list->events[id].time) {
            change_size(list, list->size / 2);
        }
        take(list, id);
        fire->call(fire->ctx, id);
    }
}

static uint64_t henriksen_next(void *self)
{
    const struct henriksen *list = self;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (list->events[id].where == ASIDE) {
            return list->clock;
        }
    }
    uint32_t first = list->events[LOWER].right;
    return first != UPPER ? list->events[first].time : TL_NEVER;
}

/* --- the index as the structure shows it
 * ------------------------------------------------------- */

struct shown {
    bool in_index;
    uint64_t ticks[ENTRIES_MAX];
    uint32_t count;
};

static void see_part(void *ctx, const struct tl_part *part)
{
    ((struct shown *)ctx)->in_index = strcmp(part->name, "index") == 0;
}

static void see_cell(void *ctx, const struct tl_cell *cell)
{
    struct shown *shown = ctx;
    if (shown->in_index && shown->count < ENTRIES_MAX) {
        shown->ticks[shown->count++] = cell->from;
    }
}

static void see_timer(void *ctx, const struct tl_held *held)
{
    (void)ctx;
    (void)held;
}

static bool henriksen_inside(void *self, const struct tl_algo *algo, const void *structure,
                             char *why, size_t why_bytes)
{
    const struct henriksen *list = self;
    struct shown shown = {0};
    struct tl_visitor visitor = {&shown, see_part, see_cell, see_timer};
    algo->walk(structure, &visitor);
    uint32_t count = 0;
    for (uint32_t i = 1; i < list->size && list->index[i].time > list->clock; i++) {
        if (list->index[i].event < ORIGINAL_IDS && is_there(list, i)) {
            if (count >= shown.count || shown.ticks[count] != list->index[i].time) {
                (void)snprintf(why, why_bytes, "pointer %" PRIu32 " is not at tick %" PRIu64, count,
                               list->index[i].time);
                return false;
            }
            count++;
        }
    }
    if (count != shown.count) {
        (void)snprintf(why, why_bytes, "%" PRIu32 " pointers, not %" PRIu32, shown.count, count);
        return false;
    }
    return true;
}

static const struct original henriksen = {
    .follows = "SSJ, Henriksen.java",
    .bytes = sizeof(struct henriksen),
    .open = henriksen_open,
    .start = henriksen_start,
    .stop = henriksen_stop,
    .advance = henriksen_advance,
    .next = henriksen_next,
    .inside = henriksen_inside,
};

static const struct original_case usual = {
    .original = &henriksen,
    .structure = "henriksen-list",
    .options = "",
    .ordered = true,
    .next = ORIGINAL_NEXT_SAME,
};

static void the_index_is_as_ssjs(void **state)
{
    (void)state;
    struct original_case wanted = usual;
    original_agrees(&wanted);
    wanted.ids = ORIGINAL_IDS;
    original_agrees(&wanted);
    wanted.operations = 3000;
    wanted.step_ticks = 300;
    original_agrees(&wanted);
    wanted.delay_bits = 50;
    wanted.step_ticks = 0;
    original_agrees(&wanted);
    wanted.delay_bits = 5;
    original_agrees(&wanted);
}

static void what_differs_is_said(void **state)
{
    (void)state;
    struct original_case wanted = usual;
    wanted.ids = ORIGINAL_IDS;
    original_differs(&wanted, REDIRECTS_POINTERS, "a stop leaves its timer's pointers");
    original_differs(&wanted, ENTERS_THE_PASSED, "a timer due at its start waits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_index_is_as_ssjs),
        cmocka_unit_test(what_differs_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
