/*
 * probing-wheel compared with bitwheel's BitWheel and BitWheelWithFailover.
 *
 * The model follows src/timer/wheel.rs, gear.rs, slot.rs and failover.rs of Abso1ut3Zer0/bitwheel
 * 0.6: insert, cancel, poll, poll_tick, drain_and_fire, recompute_next_fire, compute_fire_tick and
 * peek_next_fire. A restart is a cancel and an insert, and nothing where the insert would fail. Not
 * modelled: times (resolution counts ticks), and the slots' slabs, but for the order in which they
 * are emptied. The wheel's epoch is tick 0.
 */
#include "original.h"

#include <string.h>

enum habit {
    WAITS_A_TURN = 1,      /* a deadline that is not ahead is filed as if it were */
    FILES_WHATEVER = 2,    /* deadlines beyond the last gear's reach, too */
    PROBES_ON = 4,         /* past a full turn */
    LATE_IS_OVER = 8,      /* a timer after its deadline cannot be cancelled */
    FORGETS_OVERFLOW = 16, /* next_fire of the wheel after a cancel, and of the failover */
};

enum { GEARS_MAX = 10, SLOTS = 64 };

enum where { NOWHERE, AT_ONCE, SLOT, FAILOVER };

struct wheel {
    uint32_t habits;
    uint32_t gears;
    uint64_t resolution_ms;
    uint32_t slot_cap;
    uint32_t max_probes;
    uint64_t interval; /* 0: without failover */
    uint64_t last_check;
    uint64_t current_tick;
    uint64_t sequence;
    uint64_t gear_next_fire[GEARS_MAX]; /* UINT64_MAX: none */
    uint64_t next_fire_tick;
    uint32_t gear_dirty;
    enum where where[ORIGINAL_IDS];
    uint64_t when_tick[ORIGINAL_IDS];
    uint32_t gear[ORIGINAL_IDS];
    uint32_t slot[ORIGINAL_IDS];
    uint64_t inserted[ORIGINAL_IDS];
};

static void open_wheel(void *self, uint64_t now, struct wheel as)
{
    struct wheel *wheel = self;
    *wheel = as;
    wheel->current_tick = now / as.resolution_ms;
    wheel->next_fire_tick = UINT64_MAX;
    memset(wheel->gear_next_fire, 0xff, sizeof wheel->gear_next_fire);
}

static void open_refusing(void *self, uint64_t now, uint32_t habits)
{
    open_wheel(
        self, now,
        (struct wheel){
            .habits = habits, .gears = 3, .resolution_ms = 1, .slot_cap = 2, .max_probes = 3});
}

static void open_crowded(void *self, uint64_t now, uint32_t habits)
{
    open_refusing(self, now, habits);
    ((struct wheel *)self)->slot_cap = 1;
}

static void open_failover(void *self, uint64_t now, uint32_t habits)
{
    open_wheel(self, now,
               (struct wheel){.habits = habits,
                              .gears = 5,
                              .resolution_ms = 1,
                              .slot_cap = 32,
                              .max_probes = 3,
                              .interval = 32});
}

static void open_coarse(void *self, uint64_t now, uint32_t habits)
{
    open_wheel(self, now,
               (struct wheel){.habits = habits,
                              .gears = 2,
                              .resolution_ms = 4,
                              .slot_cap = 1,
                              .max_probes = 2,
                              .interval = 7});
}

static uint32_t slot_for_tick(uint32_t gear, uint64_t tick)
{
    return (uint32_t)(tick >> (6 * gear)) % SLOTS;
}

static uint64_t compute_fire_tick(const struct wheel *wheel, uint32_t gear, uint32_t slot)
{
    uint64_t period = UINT64_C(1) << (6 * gear + 6);
    uint64_t offset = (uint64_t)slot << (6 * gear);
    uint64_t base = wheel->current_tick / period * period;
    return base + offset + (offset <= wheel->current_tick % period ? period : 0);
}

static uint32_t held(const struct wheel *wheel, uint32_t gear, uint32_t slot)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        count += wheel->where[id] == SLOT && wheel->gear[id] == gear && wheel->slot[id] == slot;
    }
    return count;
}

static bool wheel_stop(void *self, uint32_t id)
{
    struct wheel *wheel = self;
    if (wheel->where[id] == NOWHERE) {
        return false;
    }
    if ((wheel->habits & LATE_IS_OVER) != 0 && wheel->where[id] == SLOT &&
        wheel->when_tick[id] <= wheel->current_tick) {
        return false;
    }
    if (wheel->where[id] == SLOT) {
        wheel->gear_dirty |= UINT32_C(1) << wheel->gear[id];
    }
    wheel->where[id] = NOWHERE;
    return true;
}

/* BitWheel::insert of a timer that is nowhere. */
static bool insert(struct wheel *wheel, uint32_t id, uint64_t when_tick)
{
    uint64_t delay = when_tick > wheel->current_tick ? when_tick - wheel->current_tick : 1;
    uint32_t gear = (63 - (uint32_t)__builtin_clzll(delay)) / 6;
    if (gear >= wheel->gears) {
        if ((wheel->habits & FILES_WHATEVER) == 0) {
            return false;
        }
        gear = wheel->gears - 1;
    }
    uint32_t target = slot_for_tick(gear, when_tick);
    uint64_t ahead = (when_tick >> (6 * gear)) - (wheel->current_tick >> (6 * gear));
    for (uint32_t probe = 0; probe < wheel->max_probes; probe++) {
        uint32_t slot = (target + probe) % SLOTS;
        if ((wheel->habits & PROBES_ON) == 0 && ahead + probe > SLOTS) {
            return false;
        }
        if (held(wheel, gear, slot) < wheel->slot_cap) {
            uint64_t fires = compute_fire_tick(wheel, gear, slot);
            wheel->where[id] = SLOT;
            wheel->when_tick[id] = when_tick;
            wheel->gear[id] = gear;
            wheel->slot[id] = slot;
            wheel->inserted[id] = wheel->sequence++;
            if (fires < wheel->gear_next_fire[gear]) {
                wheel->gear_next_fire[gear] = fires;
            }
            if (fires < wheel->next_fire_tick) {
                wheel->next_fire_tick = fires;
            }
            return true;
        }
    }
    return false;
}

static bool wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct wheel *wheel = self;
    uint64_t when_tick = deadline / wheel->resolution_ms;
    struct wheel before = *wheel;
    (void)wheel_stop(wheel, id);
    if (when_tick <= wheel->current_tick && (wheel->habits & WAITS_A_TURN) == 0) {
        wheel->where[id] = AT_ONCE;
        wheel->inserted[id] = wheel->sequence++;
        return true;
    }
    if (insert(wheel, id, when_tick)) {
        return true;
    }
    if (wheel->interval == 0) {
        *wheel = before;
        return false;
    }
    wheel->where[id] = FAILOVER;
    wheel->when_tick[id] = when_tick;
    wheel->inserted[id] = wheel->sequence++;
    return true;
}

static uint64_t compute_gear_min_fire(const struct wheel *wheel, uint32_t gear)
{
    uint64_t min = UINT64_MAX;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (wheel->where[id] == SLOT && wheel->gear[id] == gear) {
            uint64_t fires = compute_fire_tick(wheel, gear, wheel->slot[id]);
            min = fires < min ? fires : min;
        }
    }
    return min;
}

static void recompute_next_fire(struct wheel *wheel)
{
    wheel->next_fire_tick = UINT64_MAX;
    for (uint32_t gear = 0; gear < wheel->gears; gear++) {
        if ((wheel->gear_dirty >> gear & 1) != 0) {
            wheel->gear_next_fire[gear] = compute_gear_min_fire(wheel, gear);
        }
        if (wheel->gear_next_fire[gear] < wheel->next_fire_tick) {
            wheel->next_fire_tick = wheel->gear_next_fire[gear];
        }
    }
    wheel->gear_dirty = 0;
}

/* The popped timers, in order; each is fired after all were popped, unless a callback stops it. */
struct popped {
    uint32_t ids[ORIGINAL_IDS];
    uint32_t count;
};

static void pop(struct wheel *wheel, struct popped *popped, uint32_t id)
{
    if (wheel->where[id] == SLOT) {
        wheel->gear_dirty |= UINT32_C(1) << wheel->gear[id];
    }
    wheel->where[id] = AT_ONCE;
    wheel->inserted[id] = UINT64_MAX; /* not timers that a callback puts there */
    popped->ids[popped->count++] = id;
}

static void drain(struct wheel *wheel, struct popped *popped, uint32_t gear, uint32_t slot)
{
    while (held(wheel, gear, slot) > 0) {
        uint32_t newest = ORIGINAL_IDS;
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            if (wheel->where[id] == SLOT && wheel->gear[id] == gear && wheel->slot[id] == slot &&
                (newest == ORIGINAL_IDS || wheel->inserted[id] > wheel->inserted[newest])) {
                newest = id;
            }
        }
        pop(wheel, popped, newest);
    }
}

/* BitWheel::poll */
static void poll_wheel(struct wheel *wheel, uint64_t target_tick, struct popped *popped)
{
    if (wheel->next_fire_tick > target_tick) {
        wheel->current_tick = target_tick;
        return;
    }
    if (wheel->next_fire_tick > wheel->current_tick + 1) {
        wheel->current_tick = wheel->next_fire_tick - 1;
    }
    uint64_t occupied[GEARS_MAX] = {0};
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (wheel->where[id] == SLOT) {
            occupied[wheel->gear[id]] |= UINT64_C(1) << wheel->slot[id];
        }
    }
    for (uint64_t tick = wheel->current_tick + 1; tick <= target_tick; tick++) {
        for (uint32_t gear = 0; gear < wheel->gears; gear++) {
            uint32_t slot = slot_for_tick(gear, tick);
            if (tick % (UINT64_C(1) << (6 * gear)) == 0 && (occupied[gear] >> slot & 1) != 0) {
                drain(wheel, popped, gear, slot);
            }
        }
    }
    wheel->current_tick = target_tick;
    recompute_next_fire(wheel);
}

/* The timer that is first in the failover, or among those that fire at once; or ORIGINAL_IDS. */
static uint32_t first_of(const struct wheel *wheel, enum where where)
{
    uint32_t first = ORIGINAL_IDS;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        bool popped = wheel->inserted[id] == UINT64_MAX;
        uint64_t when = where == FAILOVER ? wheel->when_tick[id] : 0;
        uint64_t earliest =
            where == FAILOVER && first != ORIGINAL_IDS ? wheel->when_tick[first] : 0;
        if (wheel->where[id] == where && !popped &&
            (first == ORIGINAL_IDS || when < earliest ||
             (when == earliest && wheel->inserted[id] < wheel->inserted[first]))) {
            first = id;
        }
    }
    return first;
}

static void poll_failover(struct wheel *wheel, struct popped *popped)
{
    uint64_t interval = wheel->current_tick / wheel->interval;
    uint32_t first = first_of(wheel, FAILOVER);
    if (interval <= wheel->last_check || first == ORIGINAL_IDS) {
        return;
    }
    wheel->last_check = interval;
    while (first != ORIGINAL_IDS && wheel->when_tick[first] <= wheel->current_tick) {
        pop(wheel, popped, first);
        first = first_of(wheel, FAILOVER);
    }
}

static void wheel_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct wheel *wheel = self;
    struct popped popped = {.count = 0};
    uint64_t target_tick = now / wheel->resolution_ms;
    for (uint32_t id = first_of(wheel, AT_ONCE); id != ORIGINAL_IDS;
         id = first_of(wheel, AT_ONCE)) {
        pop(wheel, &popped, id);
    }
    if (target_tick > wheel->current_tick) {
        poll_wheel(wheel, target_tick, &popped);
    }
    if (wheel->interval > 0) {
        poll_failover(wheel, &popped);
    }
    for (uint32_t i = 0; i < popped.count; i++) {
        uint32_t id = popped.ids[i];
        if (wheel->where[id] == AT_ONCE && wheel->inserted[id] == UINT64_MAX) {
            wheel->where[id] = NOWHERE;
            fire->call(fire->ctx, id);
        }
    }
}

/* peek_next_fire, or its result if it forgot nothing */
static uint64_t wheel_next(void *self)
{
    struct wheel *wheel = self;
    bool forgets = (wheel->habits & FORGETS_OVERFLOW) != 0;
    uint64_t next = forgets ? wheel->next_fire_tick : UINT64_MAX;
    for (uint32_t gear = 0; !forgets && gear < wheel->gears; gear++) {
        uint64_t of_gear = compute_gear_min_fire(wheel, gear);
        next = of_gear < next ? of_gear : next;
    }
    uint32_t first = first_of(wheel, FAILOVER);
    if (first != ORIGINAL_IDS) {
        uint64_t check = (wheel->last_check + 1) * wheel->interval;
        if (!forgets && wheel->when_tick[first] > check) {
            check = wheel->when_tick[first];
        }
        next = check < next ? check : next;
    }
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (wheel->where[id] == AT_ONCE) {
            return 0;
        }
    }
    return next == UINT64_MAX ? TL_NEVER : next * wheel->resolution_ms;
}

static void place_of(const void *self, uint32_t id, struct place *place)
{
    const struct wheel *wheel = self;
    place->pending = wheel->where[id] != NOWHERE;
    place->level = wheel->where[id] == SLOT ? wheel->gear[id] + 1 : 0;
    place->slot = place->level > 0 ? wheel->slot[id] : place->slot;
}

#define MODEL(how, name)                                                                           \
    {                                                                                              \
        .follows = "bitwheel 0.6, " name, .bytes = sizeof(struct wheel), .open = open_##how,       \
        .start = wheel_start, .stop = wheel_stop, .advance = wheel_advance, .next = wheel_next,    \
        .place = place_of,                                                                         \
    }

static const struct original refusing = MODEL(refusing, "BitWheel");
static const struct original crowded = MODEL(crowded, "BitWheel, a timer a slot");
static const struct original failover = MODEL(failover, "BitWheelWithFailover");
static const struct original coarse = MODEL(coarse, "BitWheelWithFailover of 4 ms");

static const struct original_case refusing_case = {
    .original = &refusing,
    .structure = "probing-wheel",
    .options = "gears=3:cap=2:failover=no",
    .ordered = true,
    .next = ORIGINAL_NEXT_SAME,
    .ids = ORIGINAL_IDS,
    .delay_bits = 20,
    .clock = 1000,
    .step_ticks = 1000,
};

static const struct original_case crowded_case = {
    .original = &crowded,
    .structure = "probing-wheel",
    .options = "gears=3:cap=1:failover=no",
    .ordered = true,
    .next = ORIGINAL_NEXT_SAME,
    .ids = ORIGINAL_IDS,
    .delay_bits = 6,
    .step_ticks = 9,
    .batch_ticks = 64,
};

static const struct original_case failover_case = {
    .original = &failover,
    .structure = "probing-wheel",
    .options = "",
    .next = ORIGINAL_NEXT_SAME,
    .ids = ORIGINAL_IDS,
    .delay_bits = 7,
    .clock = 123456,
    .batch_ticks = 64,
};

static const struct original_case coarse_case = {
    .original = &coarse,
    .structure = "probing-wheel",
    .options = "gears=2:resolution=4:cap=1:probes=2:interval=7",
    .next = ORIGINAL_NEXT_SAME,
    .ids = ORIGINAL_IDS,
    .delay_bits = 16,
    .clock = 77,
    .step_ticks = 3000,
};

static void slots_that_are_full_refuse(void **state)
{
    (void)state;
    original_agrees(&refusing_case);
    original_agrees(&crowded_case);
}

static void what_a_slot_refuses_fails_over(void **state)
{
    (void)state;
    original_agrees(&failover_case);
    original_agrees(&coarse_case);
}

static void but_for_five_habits(void **state)
{
    (void)state;
    original_differs(&refusing_case, WAITS_A_TURN, "up to a turn of the first gear");
    original_differs(&coarse_case, FILES_WHATEVER, "fires it turns early");
    original_differs(&crowded_case, PROBES_ON, "Probing ends a turn ahead");
    original_differs(&refusing_case, LATE_IS_OVER, "cannot cancel a timer after its deadline");
    struct original_case forgets = coarse_case;
    forgets.next = ORIGINAL_NEXT_AFTER;
    forgets.habits = FORGETS_OVERFLOW;
    original_agrees(&forgets);
    original_differs(&coarse_case, FORGETS_OVERFLOW, "next knows of stops at once");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_that_are_full_refuse),
        cmocka_unit_test(what_a_slot_refuses_fails_over),
        cmocka_unit_test(but_for_five_habits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
