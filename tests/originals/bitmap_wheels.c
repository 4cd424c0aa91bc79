/*
 * bitmap-wheel compared with timeout.c of wahern/timeout (May 2016): timeouts_sched,
 * timeouts_update, timeouts_int and timeouts_get. Not modelled: intervals, and how slots are
 * linked.
 */
#include "original.h"

#include <stdio.h>

enum habit {
    LOOKS_A_SLOT_AHEAD = 1, /* and files those timers again, too */
    FIRES_IN_THE_SAME = 2,  /* a timer started by a callback at or before the clock */
};

enum { BITS = 6, SLOTS = 64, LEVELS = 4 };
enum { NOWHERE = -1, EXPIRED = LEVELS }; /* in addition to levels, from 0 */

struct wheel {
    uint32_t habits;
    uint64_t clock;
    int level[ORIGINAL_IDS];
    uint64_t slot[ORIGINAL_IDS];
    uint64_t expires[ORIGINAL_IDS];
    uint64_t cascades; /* timers that were filed again, and had not expired */
};

static void timeouts_open(void *self, uint64_t now, uint32_t habits)
{
    struct wheel *wheel = self;
    *wheel = (struct wheel){.habits = habits, .clock = now};
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        wheel->level[id] = NOWHERE;
    }
}

static bool wheel_stop(void *self, uint32_t id)
{
    struct wheel *wheel = self;
    bool was = wheel->level[id] != NOWHERE;
    wheel->level[id] = NOWHERE;
    return was;
}

/* Fire the expired timers; those started by a callback wait, unless the habit fires them. */
static void fire_expired(struct wheel *wheel, const struct original_fire *fire)
{
    bool waits = (wheel->habits & FIRES_IN_THE_SAME) == 0;
    bool marked[ORIGINAL_IDS];
    uint32_t left = 10 * ORIGINAL_IDS; /* else, with timers that start themselves, for ever */
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        marked[id] = wheel->level[id] == EXPIRED;
    }
    for (bool any = true; any;) {
        any = false;
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            if (wheel->level[id] == EXPIRED && (marked[id] || !waits) && left > 0) {
                wheel->level[id] = NOWHERE;
                marked[id] = false;
                any = true;
                left--;
                fire->call(fire->ctx, id);
            }
        }
    }
}

/* The highest bit of a number that is not 0. */
static uint32_t highest_bit(uint64_t number)
{
    uint32_t bit = 0;
    while (number >>= 1) {
        bit++;
    }
    return bit;
}

/* timeouts_sched; the slot of an upper level is one less than the expiry's digit there. */
static bool timeouts_add(void *self, uint32_t id, uint64_t deadline)
{
    struct wheel *wheel = self;
    const uint64_t timeout_max = (UINT64_C(1) << (BITS * LEVELS)) - 1;
    wheel->expires[id] = deadline;
    wheel->level[id] = EXPIRED;
    if (deadline > wheel->clock) {
        uint64_t rem = deadline - wheel->clock;
        uint32_t level = highest_bit(rem < timeout_max ? rem : timeout_max) / BITS;
        wheel->level[id] = (int)level;
        wheel->slot[id] = ((deadline >> (level * BITS)) - (level > 0)) % SLOTS;
    }
    return true;
}

/* Whether timeouts_update, with the habit, visits a slot of a level; slots after the first level
 * are numbered one less. `ticks` is the elapsed time, in units of the level. */
static bool looked_at(const struct wheel *wheel, uint32_t level, uint64_t now, uint64_t ticks,
                      uint64_t slot)
{
    uint64_t elapsed = ticks >> (level * BITS);
    uint64_t from = wheel->clock >> (level * BITS);
    uint64_t to = now >> (level * BITS);
    if (elapsed >= SLOTS || slot == to % SLOTS) {
        return true;
    }
    return (slot - from) % SLOTS < elapsed || (to - 1 - slot) % SLOTS < elapsed;
}

/* timeouts_update, and timeouts_get until there is none */
static void timeouts_update(void *self, uint64_t now, const struct original_fire *fire)
{
    struct wheel *wheel = self;
    bool again[ORIGINAL_IDS] = {false};
    uint64_t elapsed = now - wheel->clock;
    bool ahead = (wheel->habits & LOOKS_A_SLOT_AHEAD) != 0;
    for (uint32_t level = 0; level < (uint32_t)LEVELS; level++) {
        uint64_t from = wheel->clock >> (level * BITS);
        uint64_t to = now >> (level * BITS);
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            if (wheel->level[id] != (int)level) {
                continue;
            }
            /* Without the habit: a slot that the clock has entered. */
            uint64_t slot = (wheel->slot[id] + (level > 0)) % SLOTS;
            bool entered = to - from >= SLOTS || (slot - from - 1) % SLOTS < to - from;
            again[id] = ahead ? looked_at(wheel, level, now, elapsed, wheel->slot[id]) : entered;
        }
        if (ahead ? !looked_at(wheel, level, now, elapsed, 0) : to >> BITS == from >> BITS) {
            break;
        }
        uint64_t least = UINT64_C(1) << ((level + 1) * BITS);
        elapsed = elapsed > least ? elapsed : least;
    }
    wheel->clock = now;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (again[id]) {
            (void)timeouts_add(wheel, id, wheel->expires[id]);
            wheel->cascades += wheel->level[id] != EXPIRED;
        }
    }
    fire_expired(wheel, fire);
}

/* timeouts_timeout */
static uint64_t timeouts_timeout(void *self)
{
    const struct wheel *wheel = self;
    uint64_t timeout = UINT64_MAX;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (wheel->level[id] == EXPIRED) {
            return wheel->clock;
        }
        if (wheel->level[id] != NOWHERE) {
            uint32_t shift = (uint32_t)wheel->level[id] * BITS;
            uint64_t ahead = (wheel->slot[id] - (wheel->clock >> shift)) % SLOTS + (shift > 0);
            uint64_t at = ((wheel->clock >> shift) + ahead) << shift;
            timeout = at < timeout ? at : timeout;
        }
    }
    return timeout;
}

/* A slot's digit is less by one than the structure's, on upper levels. */
static void place_of(const void *self, uint32_t id, struct place *place)
{
    const struct wheel *wheel = self;
    bool filed = wheel->level[id] >= 0 && wheel->level[id] < EXPIRED;
    place->pending = wheel->level[id] != NOWHERE;
    place->level = filed ? (uint32_t)wheel->level[id] + 1 : 0;
    if (filed) {
        place->slot = wheel->expires[id] >> ((place->level - 1) * BITS) & (SLOTS - 1);
    }
}

/* How often timers were moved. */
static bool same_cascades(void *self, const struct tl_algo *algo, const void *structure, char *why,
                          size_t why_bytes)
{
    const struct wheel *wheel = self;
    struct tl_counters counters = {0};
    algo->counters(structure, &counters);
    if (counters.cascades != wheel->cascades) {
        (void)snprintf(why, why_bytes, "%u cascades, by the original %u",
                       (unsigned)counters.cascades, (unsigned)wheel->cascades);
        return false;
    }
    return true;
}

static const struct original timeout_c = {
    .follows = "wahern/timeout of May 2016, timeout.c",
    .bytes = sizeof(struct wheel),
    .open = timeouts_open,
    .start = timeouts_add,
    .stop = wheel_stop,
    .advance = timeouts_update,
    .next = timeouts_timeout,
    .place = place_of,
    .inside = same_cascades,
};

static const struct original_case timeout_c_case = {
    .original = &timeout_c,
    .structure = "bitmap-wheel",
    .options = "levels=4:look=ahead",
    .habits = LOOKS_A_SLOT_AHEAD,
    .next = ORIGINAL_NEXT_SAME,
    .delay_bits = 26, /* and so beyond the last level, too */
    .clock = 1000,
};

static void the_wheels_of_timeout_c(void **state)
{
    (void)state;
    original_agrees(&timeout_c_case);
    struct original_case near_case = timeout_c_case;
    near_case.delay_bits = 13;
    near_case.clock = 0;
    original_agrees(&near_case);
}

/* By default it moves less, and fires the same; the original sleeps as long or longer. */
static void but_for_its_looks_ahead(void **state)
{
    (void)state;
    original_differs(&timeout_c_case, FIRES_IN_THE_SAME, "timeouts_get");
    struct original_case entered = timeout_c_case;
    entered.options = "levels=4";
    entered.habits = 0;
    original_agrees(&entered);
    original_differs(&entered, LOOKS_A_SLOT_AHEAD, "one slot ahead");
    struct original without_inside = timeout_c;
    without_inside.place = NULL;
    without_inside.inside = NULL;
    entered.original = &without_inside;
    entered.habits = LOOKS_A_SLOT_AHEAD;
    entered.next = ORIGINAL_NEXT_BEFORE;
    original_agrees(&entered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wheels_of_timeout_c),
        cmocka_unit_test(but_for_its_looks_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
