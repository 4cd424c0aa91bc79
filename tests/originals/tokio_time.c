/*
 * tokio-wheel compared with tokio's timer wheel.
 *
 * The model follows tokio/src/runtime/time of tokio 1.x: wheel/mod.rs (insert, remove, poll,
 * process_expiration, next_expiration, level_for), wheel/level.rs (next_expiration, slot_for) and
 * of entry.rs and mod.rs extend_expiration, mark_pending and reregister. Not modelled: wakers,
 * atomics, and the conversion of instants.
 */
#include "original.h"

enum habit {
    REFUSES_ELAPSED = 1, /* insert, of a timer that is not ahead */
    FIRES_FIRST = 2,     /* all that a poll finds, before any task runs */
};

enum { LEVELS_MAX = 6, BITS_PER_LEVEL = 6 };

enum where { NOWHERE, ELAPSED, LEVEL, PENDING };

struct wheel {
    uint32_t habits;
    uint32_t num_levels;
    bool extends;
    uint64_t elapsed;
    uint64_t pushes;
    enum where where[ORIGINAL_IDS];
    uint64_t state[ORIGINAL_IDS]; /* the true time of expiration */
    uint64_t registered_when[ORIGINAL_IDS];
    uint32_t level[ORIGINAL_IDS];
    uint64_t pushed[ORIGINAL_IDS]; /* lists are in this order, the last at the front */
};

static void open_default(void *self, uint64_t now, uint32_t habits)
{
    *(struct wheel *)self =
        (struct wheel){.habits = habits, .num_levels = 6, .extends = true, .elapsed = now};
}

static void open_small(void *self, uint64_t now, uint32_t habits)
{
    *(struct wheel *)self = (struct wheel){.habits = habits, .num_levels = 3, .elapsed = now};
}

static uint32_t level_for(const struct wheel *wheel, uint64_t elapsed, uint64_t when)
{
    uint64_t masked = (elapsed ^ when) | 63;
    if (masked >= UINT64_C(1) << (BITS_PER_LEVEL * wheel->num_levels)) {
        return wheel->num_levels - 1;
    }
    return (63 - (uint32_t)__builtin_clzll(masked)) / BITS_PER_LEVEL;
}

static uint32_t slot_for(uint64_t when, uint32_t level)
{
    return (uint32_t)(when >> (level * BITS_PER_LEVEL)) % 64;
}

static void add_entry(struct wheel *wheel, uint32_t id, uint32_t level)
{
    wheel->where[id] = LEVEL;
    wheel->registered_when[id] = wheel->state[id];
    wheel->level[id] = level;
    wheel->pushed[id] = wheel->pushes++;
}

static bool wheel_stop(void *self, uint32_t id)
{
    struct wheel *wheel = self;
    bool was = wheel->where[id] != NOWHERE;
    wheel->where[id] = NOWHERE;
    return was;
}

/* TimerEntry::reset */
static bool wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct wheel *wheel = self;
    if (wheel->extends && wheel->where[id] == LEVEL && deadline >= wheel->state[id]) {
        wheel->state[id] = deadline;
        return true;
    }
    (void)wheel_stop(wheel, id);
    wheel->state[id] = deadline;
    if (deadline <= wheel->elapsed) {
        if ((wheel->habits & REFUSES_ELAPSED) != 0) {
            return false;
        }
        wheel->where[id] = ELAPSED;
        wheel->pushed[id] = wheel->pushes++;
        return true;
    }
    add_entry(wheel, id, level_for(wheel, wheel->elapsed, deadline));
    return true;
}

/* When a slot of a level is to be processed, by the time of a timer in it. */
static uint64_t slot_deadline(const struct wheel *wheel, uint32_t level, uint64_t when)
{
    uint64_t slot_range = UINT64_C(1) << (level * BITS_PER_LEVEL);
    uint64_t level_range = slot_range * 64;
    uint64_t level_start = wheel->elapsed / level_range * level_range;
    uint64_t deadline = level_start + slot_for(when, level) * slot_range;
    return deadline <= wheel->elapsed ? deadline + level_range : deadline;
}

/* next_expiration: the level that has timers, lowest first; its next slot, and when. */
static bool next_expiration(const struct wheel *wheel, uint32_t *level, uint32_t *slot,
                            uint64_t *deadline)
{
    for (*level = 0; *level < wheel->num_levels; (*level)++) {
        bool found = false;
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            if (wheel->where[id] != LEVEL || wheel->level[id] != *level) {
                continue;
            }
            uint64_t at = slot_deadline(wheel, *level, wheel->registered_when[id]);
            if (!found || at < *deadline) {
                *deadline = at;
                *slot = slot_for(wheel->registered_when[id], *level);
                found = true;
            }
        }
        if (found) {
            return true;
        }
    }
    return false;
}

/* Of the timers at that place, the one that was pushed first of those below `limit`; ORIGINAL_IDS:
 * none. */
static uint32_t back_of(const struct wheel *wheel, enum where where, uint32_t level, uint32_t slot,
                        uint64_t limit)
{
    uint32_t back = ORIGINAL_IDS;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        bool there = wheel->where[id] == where && wheel->pushed[id] < limit;
        if (there && where == LEVEL) {
            there =
                wheel->level[id] == level && slot_for(wheel->registered_when[id], level) == slot;
        }
        if (there && (back == ORIGINAL_IDS || wheel->pushed[id] < wheel->pushed[back])) {
            back = id;
        }
    }
    return back;
}

static void process_expiration(struct wheel *wheel, uint32_t level, uint32_t slot,
                               uint64_t deadline)
{
    uint64_t taken = wheel->pushes;
    for (uint32_t id = back_of(wheel, LEVEL, level, slot, taken); id < ORIGINAL_IDS;
         id = back_of(wheel, LEVEL, level, slot, taken)) {
        if (wheel->state[id] <= deadline) {
            wheel->where[id] = PENDING;
            wheel->pushed[id] = wheel->pushes++;
        } else {
            add_entry(wheel, id, level_for(wheel, deadline, wheel->state[id]));
        }
    }
}

static void wheel_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct wheel *wheel = self;
    uint32_t fired[ORIGINAL_IDS];
    uint32_t count = 0;
    uint32_t level;
    uint32_t slot;
    uint64_t deadline;
    for (uint32_t id = back_of(wheel, ELAPSED, 0, 0, UINT64_MAX); id < ORIGINAL_IDS;
         id = back_of(wheel, ELAPSED, 0, 0, UINT64_MAX)) {
        wheel->where[id] = PENDING;
        wheel->pushed[id] = wheel->pushes++;
    }
    while (next_expiration(wheel, &level, &slot, &deadline) && deadline <= now) {
        process_expiration(wheel, level, slot, deadline);
        wheel->elapsed = deadline;
    }
    wheel->elapsed = now;
    for (uint64_t limit = wheel->pushes;;) {
        uint32_t id = back_of(wheel, PENDING, 0, 0, limit);
        if (id == ORIGINAL_IDS) {
            break;
        }
        wheel->where[id] = NOWHERE;
        if ((wheel->habits & FIRES_FIRST) != 0) {
            fired[count++] = id;
        } else {
            fire->call(fire->ctx, id);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        fire->call(fire->ctx, fired[i]);
    }
}

/* poll_at */
static uint64_t wheel_next(void *self)
{
    const struct wheel *wheel = self;
    uint32_t level;
    uint32_t slot;
    uint64_t deadline;
    if (back_of(wheel, ELAPSED, 0, 0, UINT64_MAX) != ORIGINAL_IDS) {
        return wheel->elapsed;
    }
    return next_expiration(wheel, &level, &slot, &deadline) ? deadline : TL_NEVER;
}

static void place_of(const void *self, uint32_t id, struct place *place)
{
    const struct wheel *wheel = self;
    place->pending = wheel->where[id] != NOWHERE;
    place->level = 0;
    if (wheel->where[id] == LEVEL) {
        place->level = wheel->level[id] + 1;
        place->slot = slot_for(wheel->registered_when[id], wheel->level[id]);
    }
}

#define MODEL(how, version)                                                                        \
    {                                                                                              \
        .follows = "tokio 1.x, runtime/time/wheel" version, .bytes = sizeof(struct wheel),         \
        .open = open_##how, .start = wheel_start, .stop = wheel_stop, .advance = wheel_advance,    \
        .next = wheel_next, .place = place_of,                                                     \
    }

static const struct original as_released = MODEL(default, "");
static const struct original small = MODEL(small, " with three levels, without extend_expiration");

static const struct original_case default_case = {
    .original = &as_released,
    .structure = "tokio-wheel",
    .options = "",
    .ordered = true,
    .next = ORIGINAL_NEXT_SAME,
    .clock = 4231,
};

static const struct original_case far_case = {
    .original = &as_released,
    .structure = "tokio-wheel",
    .options = "",
    .ordered = true,
    .next = ORIGINAL_NEXT_SAME,
    .delay_bits = 38,
    .clock = 123456789,
    .step_ticks = UINT64_C(1) << 36,
};

static const struct original_case small_case = {
    .original = &small,
    .structure = "tokio-wheel",
    .options = "levels=3:restart=move",
    .ordered = true,
    .next = ORIGINAL_NEXT_SAME,
    .delay_bits = 20,
    .step_ticks = 1 << 18,
};

static void blocks_of_tokio(void **state)
{
    (void)state;
    original_agrees(&default_case);
    original_agrees(&far_case);
    original_agrees(&small_case);
}

/* A jump of many turns visits far timers once; expiries and their ticks are the same. */
static void and_its_firings_after_a_leap(void **state)
{
    (void)state;
    struct original leaps = small;
    leaps.place = NULL;
    struct original_case leap_case = small_case;
    leap_case.original = &leaps;
    leap_case.ordered = false;
    leap_case.next = ORIGINAL_NEXT_ANY;
    leap_case.step_ticks = 1 << 21;
    leap_case.delay_bits = 22;
    original_agrees(&leap_case);
}

static void but_for_two_habits(void **state)
{
    (void)state;
    original_differs(&default_case, REFUSES_ELAPSED, "the wheel refuses it");
    original_differs(&default_case, FIRES_FIRST, "before any task runs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_tokio),
        cmocka_unit_test(and_its_firings_after_a_leap),
        cmocka_unit_test(but_for_two_habits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
