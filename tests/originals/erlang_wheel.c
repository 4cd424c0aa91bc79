/*
 * two-level-wheel compared with Erlang/OTP's timer wheel.
 *
 * The model follows erts/emulator/beam/time.c of OTP 20, from erts_twheel_set_timer,
 * erts_bump_timers, bump_later_wheel and find_next_timeout, and, for timers beyond a turn of the
 * later wheel, erl_hl_timer.c, which keeps them in a tree. It omits how slots are linked, the cache
 * of the next timeout's time, and the counts by which empty slots are skipped, except for their
 * effect on the next timeout.
 */
#include "original.h"

enum habit {
    AT_ONCE_IN_THE_SAME_BUMP = 1, /* a timer started by a callback at or before the clock */
    YIELDS_AFTER_100 = 2,         /* timeouts, for the scheduler's sake */
    SETTLES_FOR_A_RANGE = 4,      /* of 512 later slots that are not all empty */
};

enum where { NOWHERE, AT_ONCE, SOON, LATER, TREE };

struct wheel {
    uint32_t habits;
    uint32_t soon_bits;
    uint32_t later_bits;
    uint64_t pos;
    uint64_t later_pos; /* the next later slot to be inspected, as a tick */
    uint64_t later_min; /* no timer of the later wheel times out before */
    enum where where[ORIGINAL_IDS];
    uint64_t timeout_pos[ORIGINAL_IDS];
};

static void open_wheel(struct wheel *wheel, uint32_t soon_bits, uint32_t later_bits, uint64_t now,
                       uint32_t habits)
{
    *wheel = (struct wheel){.habits = habits,
                            .soon_bits = soon_bits,
                            .later_bits = later_bits,
                            .pos = now,
                            .later_min = UINT64_MAX};
    wheel->later_pos = ((now >> (soon_bits - 1)) + 2) << (soon_bits - 1);
}

static void open_default(void *self, uint64_t now, uint32_t habits)
{
    open_wheel(self, 14, 14, now, habits);
}

static void open_small(void *self, uint64_t now, uint32_t habits)
{
    open_wheel(self, 6, 6, now, habits);
}

/* ERTS_TW_LATER_WHEEL_SLOT_SIZE, ERTS_TW_SOON_WHEEL_SIZE and _LATER_WHEEL_SIZE */
static uint64_t later_width(const struct wheel *wheel)
{
    return UINT64_C(1) << (wheel->soon_bits - 1);
}

static uint64_t soon_size(const struct wheel *wheel)
{
    return UINT64_C(1) << wheel->soon_bits;
}

static uint64_t later_size(const struct wheel *wheel)
{
    return UINT64_C(1) << wheel->later_bits;
}

static uint32_t count_of(const struct wheel *wheel, enum where where)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        count += wheel->where[id] == where;
    }
    return count;
}

static bool wheel_stop(void *self, uint32_t id)
{
    struct wheel *wheel = self;
    bool was = wheel->where[id] != NOWHERE;
    wheel->where[id] = NOWHERE;
    if (count_of(wheel, LATER) == 0) {
        wheel->later_min = UINT64_MAX;
    }
    return was;
}

static bool wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct wheel *wheel = self;
    (void)wheel_stop(wheel, id);
    wheel->timeout_pos[id] = deadline;
    if (deadline <= wheel->pos) {
        wheel->timeout_pos[id] = wheel->pos;
        wheel->where[id] = AT_ONCE;
    } else if (deadline < wheel->pos + soon_size(wheel)) {
        wheel->where[id] = SOON;
    } else if (deadline - wheel->pos < later_size(wheel) * later_width(wheel)) {
        /* ERTS_TIMER_WHEEL_MSEC */
        wheel->where[id] = LATER;
        if (deadline < wheel->later_min) {
            wheel->later_min = deadline;
        }
    } else {
        wheel->where[id] = TREE;
    }
    return true;
}

/* Times out everything of `where` up to `to` that is marked. */
static void time_out(struct wheel *wheel, enum where where, const bool *marked, uint32_t *left,
                     const struct original_fire *fire)
{
    for (uint32_t id = 0; id<ORIGINAL_IDS && * left> 0; id++) {
        if (marked[id] && wheel->where[id] == where && wheel->timeout_pos[id] <= wheel->pos) {
            (void)wheel_stop(wheel, id);
            --*left;
            fire->call(fire->ctx, id);
        }
    }
}

static void mark(const struct wheel *wheel, bool *marked)
{
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        marked[id] = wheel->where[id] != NOWHERE && wheel->timeout_pos[id] <= wheel->pos;
    }
}

static void wheel_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct wheel *wheel = self;
    bool marked[ORIGINAL_IDS];
    /* ERTS_TWHEEL_BUMP_YIELD_LIMIT / ERTS_TW_COST_TIMEOUT; here less, for so few timers */
    uint32_t left = (wheel->habits & YIELDS_AFTER_100) != 0 ? 4 : UINT32_MAX;
    wheel->pos = now;
    mark(wheel, marked);
    time_out(wheel, AT_ONCE, marked, &left, fire);
    time_out(wheel, SOON, marked, &left, fire);
    uint64_t width = later_width(wheel);
    if (now + width >= wheel->later_pos) {
        wheel->later_pos = (now + soon_size(wheel)) / width * width;
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            if (wheel->where[id] == LATER && wheel->timeout_pos[id] < wheel->later_pos) {
                wheel->where[id] = SOON;
            }
        }
        if (count_of(wheel, LATER) == 0) {
            wheel->later_min = UINT64_MAX;
        }
        time_out(wheel, SOON, marked, &left, fire);
    }
    time_out(wheel, TREE, marked, &left, fire);
    while ((wheel->habits & AT_ONCE_IN_THE_SAME_BUMP) != 0 && count_of(wheel, AT_ONCE) > 0 &&
           left > 0) {
        mark(wheel, marked);
        time_out(wheel, AT_ONCE, marked, &left, fire);
        wheel->habits &= ~(uint32_t)AT_ONCE_IN_THE_SAME_BUMP; /* else for ever */
    }
}

/* Whether there is a timer in a later slot, counted from tick 0, or in its range of 512. */
static bool is_used(const struct wheel *wheel, uint64_t slot, uint64_t slots)
{
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        uint64_t at = wheel->timeout_pos[id] / later_width(wheel);
        if (wheel->where[id] == LATER && at / slots == slot / slots) {
            return true;
        }
    }
    return false;
}

/* The first later slot with a timer, as a tick; or, where the original settles for less, the next
 * slot, if its range of 512 has any, or else the first of the first range that has. */
static uint64_t first_later(struct wheel *wheel)
{
    uint64_t width = later_width(wheel);
    uint64_t earliest = UINT64_MAX;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        uint64_t at = wheel->timeout_pos[id];
        earliest = wheel->where[id] == LATER && at < earliest ? at : earliest;
    }
    if ((wheel->habits & SETTLES_FOR_A_RANGE) == 0) {
        return earliest / width * width;
    }
    uint64_t slot = wheel->later_min / width;
    slot = slot * width > wheel->later_pos ? slot : wheel->later_pos / width;
    if (!is_used(wheel, slot, 1)) {
        slot++;
        while (!is_used(wheel, slot, 512)) {
            slot = (slot / 512 + 1) * 512;
        }
    }
    wheel->later_min = slot * width;
    return slot * width;
}

static uint64_t wheel_next(void *self)
{
    struct wheel *wheel = self;
    uint64_t next = UINT64_MAX;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        bool exact = wheel->where[id] != NOWHERE && wheel->where[id] != LATER;
        if (exact && wheel->timeout_pos[id] < next) {
            next = wheel->timeout_pos[id];
        }
    }
    if (count_of(wheel, LATER) > 0) {
        uint64_t moves = first_later(wheel) - later_width(wheel);
        next = moves < next ? moves : next;
    }
    return next;
}

static void place_of(const void *self, uint32_t id, struct place *place)
{
    const struct wheel *wheel = self;
    uint64_t due = wheel->timeout_pos[id];
    place->pending = wheel->where[id] != NOWHERE;
    place->level = 0;
    if (wheel->where[id] == SOON) {
        place->level = 1;
        place->slot = due % soon_size(wheel);
    } else if (wheel->where[id] == LATER) {
        place->level = 2;
        place->slot = due / later_width(wheel) % later_size(wheel);
    }
}

static const struct original small = {
    .follows = "OTP 20, time.c, with wheels of 64 slots",
    .bytes = sizeof(struct wheel),
    .open = open_small,
    .start = wheel_start,
    .stop = wheel_stop,
    .advance = wheel_advance,
    .next = wheel_next,
    .place = place_of,
};

static const struct original as_released = {
    .follows = "OTP 20, time.c",
    .bytes = sizeof(struct wheel),
    .open = open_default,
    .start = wheel_start,
    .stop = wheel_stop,
    .advance = wheel_advance,
    .next = wheel_next,
    .place = place_of,
};

static const struct original_case small_case = {
    .original = &small,
    .structure = "two-level-wheel",
    .options = "soon-bits=6:later-bits=6",
    .next = ORIGINAL_NEXT_SAME,
    .clock = 1000,
};

static const struct original_case default_case = {
    .original = &as_released,
    .structure = "two-level-wheel",
    .options = "",
    .next = ORIGINAL_NEXT_SAME,
    .delay_bits = 30,
    .clock = 123456789,
};

static void the_two_wheels_of_erlang(void **state)
{
    (void)state;
    original_agrees(&small_case);
    original_agrees(&default_case);
}

static void but_for_three_habits(void **state)
{
    (void)state;
    original_differs(&small_case, AT_ONCE_IN_THE_SAME_BUMP, "in the same bump");
    original_differs(&small_case, YIELDS_AFTER_100, "after about 100");
    struct original_case settles = default_case;
    settles.next = ORIGINAL_NEXT_AFTER;
    settles.habits = SETTLES_FOR_A_RANGE;
    original_agrees(&settles);
    original_differs(&default_case, SETTLES_FOR_A_RANGE, "512");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_two_wheels_of_erlang),
        cmocka_unit_test(but_for_three_habits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
