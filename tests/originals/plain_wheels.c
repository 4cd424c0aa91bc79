/*
 * Wheels that consist of a ring of slots and a hand.
 *
 * round-wheel compared with scheme 6 of Varghese and Lauck 1987, section 6.1.2: each tick the hand
 * moves to the next slot and visits all its timers: those without rounds left expire, the others
 * have one less. A start is for at least one tick ahead.
 *
 * fixed-wheel compared with the ring in which many servers keep idle connections (taught by Chen
 * Shuo's muduo, section 7.10, and known in Tcl and Perl before it): an active connection moves to
 * the slot after the hand, and all connections in the hand's slot are closed in one sweep. It knows
 * no deadlines.
 */
#include "original.h"

enum { SLOTS = 16 };

/* Those of one slot, in the order in which they came. */
struct slot {
    uint32_t ids[ORIGINAL_IDS];
    uint32_t count;
};

static void leave(struct slot *slot, uint32_t id)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < slot->count; i++) {
        if (slot->ids[i] != id) {
            slot->ids[kept++] = slot->ids[i];
        }
    }
    slot->count = kept;
}

static void enter(struct slot *slot, uint32_t id)
{
    slot->ids[slot->count++] = id;
}

/* --- scheme 6 --------------------------------------------------------------------------------- */

enum scheme_6_habit {
    ASKS_FOR_ONE_AHEAD = 1, /* refuses deadlines that are not after the clock */
    VISITS = 2,             /* expires whom it finds, while it looks at the slot */
};

struct scheme_6 {
    uint32_t habits;
    uint64_t now;
    struct slot slots[SLOTS];
    struct slot late; /* for the next advance, before all others */
    struct slot due;
    uint64_t rounds[ORIGINAL_IDS];
    bool pending[ORIGINAL_IDS];
};

static void scheme_6_open(void *self, uint64_t now, uint32_t habits)
{
    struct scheme_6 *wheel = self;
    wheel->now = now;
    wheel->habits = habits;
}

static bool scheme_6_stop(void *self, uint32_t id)
{
    struct scheme_6 *wheel = self;
    bool was = wheel->pending[id];
    for (uint32_t i = 0; i < SLOTS; i++) {
        leave(&wheel->slots[i], id);
    }
    leave(&wheel->late, id);
    leave(&wheel->due, id);
    wheel->pending[id] = false;
    return was;
}

static bool scheme_6_start(void *self, uint32_t id, uint64_t deadline)
{
    struct scheme_6 *wheel = self;
    if (deadline <= wheel->now && (wheel->habits & ASKS_FOR_ONE_AHEAD) != 0) {
        return false;
    }
    (void)scheme_6_stop(wheel, id);
    wheel->pending[id] = true;
    if (deadline <= wheel->now) {
        enter(&wheel->late, id);
    } else {
        wheel->rounds[id] = (deadline - wheel->now - 1) / SLOTS;
        enter(&wheel->slots[deadline % SLOTS], id);
    }
    return true;
}

static void expire(struct scheme_6 *wheel, uint32_t id, const struct original_fire *fire)
{
    (void)scheme_6_stop(wheel, id);
    fire->call(fire->ctx, id);
}

/* The hand is at a slot. */
static void look_at(struct scheme_6 *wheel, uint64_t tick, const struct original_fire *fire)
{
    struct slot *slot = &wheel->slots[tick % SLOTS];
    for (uint32_t i = 0; i < slot->count;) {
        uint32_t id = slot->ids[i];
        if (wheel->rounds[id] > 0) {
            wheel->rounds[id]--;
            i++;
        } else if ((wheel->habits & VISITS) != 0) {
            expire(wheel, id, fire);
        } else {
            leave(slot, id);
            enter(&wheel->due, id);
        }
    }
}

static void scheme_6_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct scheme_6 *wheel = self;
    wheel->due = wheel->late;
    wheel->late.count = 0;
    while (wheel->now < now) {
        wheel->now++;
        look_at(wheel, wheel->now, fire);
    }
    while (wheel->due.count > 0) {
        expire(wheel, wheel->due.ids[0], fire);
    }
}

static const struct original scheme_6 = {
    .follows = "Varghese and Lauck 1987, section 6.1.2",
    .bytes = sizeof(struct scheme_6),
    .open = scheme_6_open,
    .start = scheme_6_start,
    .stop = scheme_6_stop,
    .advance = scheme_6_advance,
};

static void round_wheel_is_scheme_6(void **state)
{
    (void)state;
    struct original_case wheel_case = {.original = &scheme_6,
                                       .structure = "round-wheel",
                                       .options = "slots=16",
                                       .delay_bits = 9,
                                       .clock = 1000};
    original_agrees(&wheel_case);
    original_differs(&wheel_case, ASKS_FOR_ONE_AHEAD, "the original asks for one ahead");
    /* In order as well, unless the hand goes round more than once. */
    wheel_case.ordered = true;
    wheel_case.quiet = true;
    original_differs(&wheel_case, 0, "are taken off a timer at once");
    wheel_case.quiet = false;
    wheel_case.step_ticks = SLOTS;
    original_agrees(&wheel_case);
    original_differs(&wheel_case, VISITS, "a callback never meets a slot half visited");
}

/* --- one timeout for all ---------------------------------------------------------------------- */

enum ring_habit {
    KNOWS_NO_DEADLINE = 1, /* all go to the slot after the hand */
    WHOLE_SLOTS = 2,       /* the slot that the hand has begun does not count */
    SWEEPS = 4,            /* closes all that it has found */
};

enum { TIMEOUT = 100 };

struct ring {
    uint32_t habits;
    uint64_t tick; /* of a slot */
    uint64_t now;
    uint64_t order;
    bool pending[ORIGINAL_IDS];
    uint64_t closes[ORIGINAL_IDS]; /* when the hand comes to its slot */
    uint64_t entered[ORIGINAL_IDS];
};

static void ring_open(void *self, uint64_t now, uint32_t habits)
{
    struct ring *ring = self;
    *ring = (struct ring){.habits = habits, .tick = 1, .now = now};
}

static void slow_ring_open(void *self, uint64_t now, uint32_t habits)
{
    struct ring *ring = self;
    *ring = (struct ring){.habits = habits, .tick = 10, .now = now};
}

static bool ring_stop(void *self, uint32_t id)
{
    struct ring *ring = self;
    bool was = ring->pending[id];
    ring->pending[id] = false;
    return was;
}

static uint64_t slot_end(const struct ring *ring, uint64_t tick)
{
    return (tick + ring->tick - 1) / ring->tick * ring->tick;
}

static bool ring_start(void *self, uint32_t id, uint64_t deadline)
{
    struct ring *ring = self;
    uint64_t delay = deadline > ring->now ? deadline - ring->now : 0;
    uint64_t closes = slot_end(ring, ring->now + TIMEOUT);
    if ((ring->habits & WHOLE_SLOTS) != 0) {
        closes = (ring->now / ring->tick + 1) * ring->tick + TIMEOUT;
    }
    if ((ring->habits & KNOWS_NO_DEADLINE) == 0) {
        if (delay > TIMEOUT + 1) {
            return false;
        }
        closes = delay == 0 ? 0 : delay > TIMEOUT ? slot_end(ring, deadline) : closes;
    }
    ring->pending[id] = true;
    ring->closes[id] = closes;
    ring->entered[id] = ring->order++;
    return true;
}

static void ring_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct ring *ring = self;
    uint64_t before = ring->order;
    uint32_t found[ORIGINAL_IDS];
    uint32_t count = 0;
    ring->now = now;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (!ring->pending[id] || ring->closes[id] > now) {
            continue;
        }
        uint32_t place = count++;
        for (; place > 0; place--) {
            uint32_t other = found[place - 1];
            if (ring->closes[other] < ring->closes[id] ||
                (ring->closes[other] == ring->closes[id] &&
                 ring->entered[other] < ring->entered[id])) {
                break;
            }
            found[place] = other;
        }
        found[place] = id;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = found[i];
        if ((ring->habits & SWEEPS) != 0 || (ring->pending[id] && ring->entered[id] < before)) {
            ring->pending[id] = false;
            fire->call(fire->ctx, id);
        }
    }
}

static const struct original ring = {
    .follows = "the connection wheel of muduo",
    .bytes = sizeof(struct ring),
    .open = ring_open,
    .start = ring_start,
    .stop = ring_stop,
    .advance = ring_advance,
};

static void fixed_wheel_is_a_ring_of_connections(void **state)
{
    (void)state;
    struct original_case wheel_case = {.original = &ring,
                                       .structure = "fixed-wheel",
                                       .options = "timeout=100",
                                       .ordered = true,
                                       .delay_bits = 7,
                                       .clock = 1000};
    original_agrees(&wheel_case);
    original_differs(&wheel_case, KNOWS_NO_DEADLINE, "refuses longer ones");
    original_differs(&wheel_case, SWEEPS, "close all that the hand finds in one sweep");
    struct original slow_ring = ring;
    slow_ring.open = slow_ring_open;
    wheel_case.original = &slow_ring;
    wheel_case.options = "timeout=100:tick=10";
    original_agrees(&wheel_case);
    original_differs(&wheel_case, WHOLE_SLOTS, "come late by up to a slot");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_wheel_is_scheme_6),
        cmocka_unit_test(fixed_wheel_is_a_ring_of_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
