/*
 * bitmap-wheel beside the two that it is modelled on.
 *
 * timeout.c of wahern/timeout (May 2016): timeouts_sched, timeouts_update, timeouts_int and
 * timeouts_get. Left out: intervals, and how slots are linked.
 *
 * tokio 1.4x, runtime/time/wheel/mod.rs and level.rs: insert, poll, next_expiration, level_for.
 * Left out: that timers are shared with other threads, and sharded wheels.
 */
#include "original.h"

#include <stdio.h>

#include "test.h"

enum habit {
    LOOKS_A_SLOT_AHEAD = 1, /* timeout.c: and files those timers again, too */
    FIRES_IN_THE_SAME = 2,  /* timeout.c: what a callback starts at or before the clock */
    FIRES_AT_ONCE = 4,      /* tokio: what is started at or before the clock, without a poll */
};

enum { BITS = 6, SLOTS = 64, LEVELS_MAX = 6 };
enum { NOWHERE = -1, EXPIRED = LEVELS_MAX }; /* beside levels, from 0 */

struct wheel {
    uint32_t habits;
    uint32_t levels;
    uint64_t clock;
    int level[ORIGINAL_IDS];
    uint64_t slot[ORIGINAL_IDS];
    uint64_t expires[ORIGINAL_IDS];
    uint64_t cascades; /* timers that were filed again, and had not expired */
};

static void open_levels(struct wheel *wheel, uint32_t levels, uint64_t now, uint32_t habits)
{
    *wheel = (struct wheel){.habits = habits, .levels = levels, .clock = now};
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

/* Fires what has expired; what a callback starts waits, unless it does not. */
static void fire_expired(struct wheel *wheel, bool waits, const struct original_fire *fire)
{
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

/* --- timeout.c ------------------------------------------------------------------------------- */

static void open_timeouts(void *self, uint64_t now, uint32_t habits)
{
    open_levels(self, 4, now, habits);
}

/* timeouts_sched; the slot of an upper level is one less than the expiry's digit there. */
static bool timeouts_add(void *self, uint32_t id, uint64_t deadline)
{
    struct wheel *wheel = self;
    const uint64_t timeout_max = (UINT64_C(1) << (BITS * wheel->levels)) - 1;
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

/* Whether timeouts_update, with the habit, looks at a slot of a level; slots behind the first level
 * are numbered one less. `ticks` is the elapsed time, or what the level below makes of it. */
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
    for (uint32_t level = 0; level < wheel->levels; level++) {
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
    fire_expired(wheel, (wheel->habits & FIRES_IN_THE_SAME) == 0, fire);
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

/* Levels and slots; a digit less than the structure's, on upper levels. */
static bool same_slots(void *self, const struct tl_algo *algo, const void *structure, char *why,
                       size_t why_bytes)
{
    const struct wheel *wheel = self;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        struct tl_place place = {0};
        bool pending = algo->place(structure, id, &place) == TL_OK;
        bool filed = wheel->level[id] >= 0 && wheel->level[id] < EXPIRED;
        uint32_t level = filed ? (uint32_t)wheel->level[id] + 1 : 0;
        uint64_t slot = filed ? wheel->expires[id] >> ((level - 1) * BITS) & (SLOTS - 1) : 0;
        if (pending != (wheel->level[id] != NOWHERE) || place.level != level ||
            (filed && place.slot != slot)) {
            (void)snprintf(why, why_bytes, "timer %u is on level %u, in the original on %u", id,
                           place.level, level);
            return false;
        }
    }
    return true;
}

/* And how often timers were moved. */
static bool same_slots_and_cascades(void *self, const struct tl_algo *algo, const void *structure,
                                    char *why, size_t why_bytes)
{
    const struct wheel *wheel = self;
    struct tl_counters counters = {0};
    algo->counters(structure, &counters);
    if (counters.cascades != wheel->cascades) {
        (void)snprintf(why, why_bytes, "%u cascades, by the original %u",
                       (unsigned)counters.cascades, (unsigned)wheel->cascades);
        return false;
    }
    return same_slots(self, algo, structure, why, why_bytes);
}

static const struct original timeout_c = {
    .follows = "wahern/timeout of May 2016, timeout.c",
    .bytes = sizeof(struct wheel),
    .open = open_timeouts,
    .start = timeouts_add,
    .stop = wheel_stop,
    .advance = timeouts_update,
    .next = timeouts_timeout,
    .inside = same_slots_and_cascades,
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
    without_inside.inside = NULL;
    entered.original = &without_inside;
    entered.habits = LOOKS_A_SLOT_AHEAD;
    entered.next = ORIGINAL_NEXT_BEFORE;
    original_agrees(&entered);
}

/* --- tokio ----------------------------------------------------------------------------------- */

static void open_tokio(void *self, uint64_t now, uint32_t habits)
{
    open_levels(self, 6, now, habits);
}

/* level_for */
static uint32_t tokio_level(const struct wheel *wheel, uint64_t elapsed, uint64_t when)
{
    uint64_t max_duration = (UINT64_C(1) << (BITS * wheel->levels)) - 1;
    uint64_t masked = (elapsed ^ when) | (SLOTS - 1);
    return highest_bit(masked >= max_duration ? max_duration - 1 : masked) / BITS;
}

static void tokio_file(struct wheel *wheel, uint32_t id, uint64_t elapsed)
{
    uint32_t level = tokio_level(wheel, elapsed, wheel->expires[id]);
    wheel->level[id] = (int)level;
    wheel->slot[id] = wheel->expires[id] >> (level * BITS) & (SLOTS - 1);
}

static bool tokio_insert(void *self, uint32_t id, uint64_t when)
{
    struct wheel *wheel = self;
    wheel->expires[id] = when;
    if (when > wheel->clock) {
        tokio_file(wheel, id, wheel->clock);
    } else {
        wheel->level[id] = (wheel->habits & FIRES_AT_ONCE) != 0 ? NOWHERE : EXPIRED;
    }
    return true;
}

/* When a timer's slot is to be processed. */
static uint64_t tokio_deadline(const struct wheel *wheel, uint32_t id)
{
    uint32_t shift = (uint32_t)wheel->level[id] * BITS;
    uint64_t range = (uint64_t)SLOTS << shift;
    uint64_t deadline = wheel->clock / range * range + (wheel->slot[id] << shift);
    return deadline <= wheel->clock ? deadline + range : deadline;
}

static uint64_t tokio_next(void *self)
{
    const struct wheel *wheel = self;
    uint64_t next = UINT64_MAX;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (wheel->level[id] == EXPIRED) {
            return wheel->clock;
        }
        if (wheel->level[id] != NOWHERE && tokio_deadline(wheel, id) < next) {
            next = tokio_deadline(wheel, id);
        }
    }
    return next;
}

/* poll, until there is none: expiration by expiration */
static void tokio_poll(void *self, uint64_t now, const struct original_fire *fire)
{
    struct wheel *wheel = self;
    for (;;) {
        uint64_t next = UINT64_MAX;
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            bool filed = wheel->level[id] != NOWHERE && wheel->level[id] != EXPIRED;
            if (filed && tokio_deadline(wheel, id) < next) {
                next = tokio_deadline(wheel, id);
            }
        }
        if (next > now) {
            break;
        }
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            bool filed = wheel->level[id] != NOWHERE && wheel->level[id] != EXPIRED;
            if (filed && tokio_deadline(wheel, id) == next) {
                if (wheel->expires[id] <= next) {
                    wheel->level[id] = EXPIRED;
                } else {
                    tokio_file(wheel, id, next);
                }
            }
        }
        wheel->clock = next;
    }
    wheel->clock = now;
    fire_expired(wheel, true, fire);
}

static const struct original tokio = {
    .follows = "tokio 1, runtime/time/wheel",
    .bytes = sizeof(struct wheel),
    .open = open_tokio,
    .start = tokio_insert,
    .stop = wheel_stop,
    .advance = tokio_poll,
    .next = tokio_next,
    .inside = same_slots,
};

static const struct original_case tokio_case = {
    .original = &tokio,
    .structure = "bitmap-wheel",
    .options = "level=prefix",
    .next = ORIGINAL_NEXT_SAME,
    .delay_bits = 38,
    .clock = 1000,
};

static void the_wheels_of_tokio(void **state)
{
    (void)state;
    original_agrees(&tokio_case);
    struct original_case near_case = tokio_case;
    near_case.delay_bits = 13;
    original_agrees(&near_case);
}

static void but_for_what_is_late(void **state)
{
    (void)state;
    original_differs(&tokio_case, FIRES_AT_ONCE, "tokio fires at once");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wheels_of_timeout_c),
        cmocka_unit_test(but_for_its_looks_ahead),
        cmocka_unit_test(the_wheels_of_tokio),
        cmocka_unit_test(but_for_what_is_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
