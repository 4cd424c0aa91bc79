/*
 * nexus-wheel compared with nexus-timer's TimerWheel.
 *
 * The model follows nexus-timer/src/wheel.rs and level.rs of Abso1ut3Zer0/nexus: select_level,
 * insert_entry, remove_entry, cancel, reschedule, poll_inner and poll_level, next_deadline. Its
 * version without rebalancing is the same with a budget of 0 for it. Not modelled: times (all is in
 * ticks), the slab, handles and their counts of references.
 */
#include "original.h"

enum habit {
    HANDS_OUT_VALUES = 1,   /* the timers that a poll collects are not pending before the first
                           * callback */
    KEEPS_WHAT_IT_SAID = 2, /* next_deadline caches its result, though slots may be empty later */
};

enum { LEVELS_MAX = 8, SLOTS_MAX = 64 };

struct entry {
    bool pending;
    bool collected;
    uint64_t deadline_ticks;
    uint32_t level;
    uint32_t slot;
    uint64_t pushed; /* entries of a slot are in this order */
};

struct wheel {
    uint32_t habits;
    uint32_t slots;
    uint32_t clk_shift;
    uint32_t levels;
    uint64_t rebalances_max;
    uint64_t current_ticks;
    bool has_min;
    uint64_t min_deadline;
    uint64_t pushes;
    struct entry entries[ORIGINAL_IDS];
    uint64_t slot_min[LEVELS_MAX][SLOTS_MAX];
};

static void open_wheel(struct wheel *wheel, uint64_t now, uint32_t habits)
{
    wheel->habits = habits;
    wheel->current_ticks = now;
    for (uint32_t level = 0; level < LEVELS_MAX; level++) {
        for (uint32_t slot = 0; slot < SLOTS_MAX; slot++) {
            wheel->slot_min[level][slot] = UINT64_MAX;
        }
    }
}

static void open_default(void *self, uint64_t now, uint32_t habits)
{
    *(struct wheel *)self = (struct wheel){.slots = 64, .clk_shift = 3, .levels = 7};
    open_wheel(self, now, habits);
}

static void open_rebalancing(void *self, uint64_t now, uint32_t habits)
{
    open_default(self, now, habits);
    ((struct wheel *)self)->rebalances_max = UINT64_MAX;
}

static void open_small(void *self, uint64_t now, uint32_t habits)
{
    *(struct wheel *)self =
        (struct wheel){.slots = 8, .clk_shift = 2, .levels = 3, .rebalances_max = 2};
    open_wheel(self, now, habits);
}

static uint32_t length(const struct wheel *wheel)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        count += wheel->entries[id].pending;
    }
    return count;
}

static uint32_t select_level(const struct wheel *wheel, uint64_t deadline_ticks)
{
    uint64_t delta =
        deadline_ticks > wheel->current_ticks ? deadline_ticks - wheel->current_ticks : 0;
    for (uint32_t level = 0; level < wheel->levels; level++) {
        if (delta < (uint64_t)wheel->slots << (level * wheel->clk_shift)) {
            return level;
        }
    }
    return wheel->levels - 1;
}

static void insert_entry(struct wheel *wheel, uint32_t id, uint64_t deadline_ticks)
{
    struct entry *entry = &wheel->entries[id];
    bool first = length(wheel) == 0;
    uint32_t level = select_level(wheel, deadline_ticks);
    uint32_t slot = (uint32_t)(deadline_ticks >> (level * wheel->clk_shift)) % wheel->slots;
    *entry = (struct entry){.pending = true,
                            .deadline_ticks = deadline_ticks,
                            .level = level,
                            .slot = slot,
                            .pushed = wheel->pushes++};
    if (deadline_ticks < wheel->slot_min[level][slot]) {
        wheel->slot_min[level][slot] = deadline_ticks;
    }
    if (!wheel->has_min && first) {
        wheel->has_min = true;
        wheel->min_deadline = deadline_ticks;
    } else if (wheel->has_min && deadline_ticks < wheel->min_deadline) {
        wheel->min_deadline = deadline_ticks;
    }
}

static bool slot_is_empty(const struct wheel *wheel, uint32_t level, uint32_t slot)
{
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        const struct entry *entry = &wheel->entries[id];
        if (entry->pending && !entry->collected && entry->level == level && entry->slot == slot) {
            return false;
        }
    }
    return true;
}

/* Unlinks an entry, which is not pending afterwards. */
static void remove_entry(struct wheel *wheel, uint32_t id)
{
    struct entry *entry = &wheel->entries[id];
    entry->pending = false;
    if (!entry->collected && slot_is_empty(wheel, entry->level, entry->slot)) {
        wheel->slot_min[entry->level][entry->slot] = UINT64_MAX;
    }
}

static void forget_min(struct wheel *wheel, uint64_t deadline)
{
    if (length(wheel) == 0 || (wheel->has_min && wheel->min_deadline == deadline)) {
        wheel->has_min = false;
    }
}

static bool wheel_stop(void *self, uint32_t id)
{
    struct wheel *wheel = self;
    struct entry *entry = &wheel->entries[id];
    if (!entry->pending) {
        return false;
    }
    remove_entry(wheel, id);
    if (!entry->collected) {
        forget_min(wheel, entry->deadline_ticks);
    }
    return true;
}

/* schedule, or reschedule of a pending timer */
static bool wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct wheel *wheel = self;
    struct entry *entry = &wheel->entries[id];
    bool moved = entry->pending && !entry->collected;
    uint64_t old = entry->deadline_ticks;
    if (entry->pending) {
        remove_entry(wheel, id);
    }
    insert_entry(wheel, id, deadline);
    if (moved && wheel->has_min && old == wheel->min_deadline && deadline > old) {
        wheel->has_min = false;
    }
    return true;
}

/* walk_min_deadline; UINT64_MAX: there is nothing */
static uint64_t walk_min(const struct wheel *wheel)
{
    uint64_t min = UINT64_MAX;
    for (uint32_t level = 0; level < wheel->levels; level++) {
        for (uint32_t slot = 0; slot < wheel->slots; slot++) {
            uint64_t of_slot = wheel->slot_min[level][slot];
            min = of_slot < min ? of_slot : min;
        }
    }
    return min;
}

/* The entry of a slot that was pushed first after `pushed` entries were, and before the walk began;
 * ORIGINAL_IDS: none. */
static uint32_t entry_after(const struct wheel *wheel, uint32_t level, uint32_t slot,
                            uint64_t pushed)
{
    uint32_t found = ORIGINAL_IDS;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        const struct entry *entry = &wheel->entries[id];
        if (entry->pending && !entry->collected && entry->level == level && entry->slot == slot &&
            entry->pushed >= pushed &&
            (found == ORIGINAL_IDS || entry->pushed < wheel->entries[found].pushed)) {
            found = id;
        }
    }
    return found;
}

/* Append the due timers of a slot to `collected`. */
static void poll_slot(struct wheel *wheel, uint32_t level, uint32_t slot, uint64_t *rebalances,
                      uint32_t *collected, uint32_t *count)
{
    uint64_t now = wheel->current_ticks;
    uint64_t new_min = UINT64_MAX;
    uint32_t id = entry_after(wheel, level, slot, 0);
    while (id < ORIGINAL_IDS) {
        struct entry *entry = &wheel->entries[id];
        uint64_t pushed = entry->pushed;
        if (entry->deadline_ticks <= now) {
            entry->collected = true;
            collected[(*count)++] = id;
        } else if (*rebalances < wheel->rebalances_max &&
                   select_level(wheel, entry->deadline_ticks) < level) {
            entry->pending = false;
            insert_entry(wheel, id, entry->deadline_ticks);
            (*rebalances)++;
        } else if (entry->deadline_ticks < new_min) {
            new_min = entry->deadline_ticks;
        }
        id = entry_after(wheel, level, slot, pushed + 1);
    }
    wheel->slot_min[level][slot] = new_min;
}

static void wheel_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct wheel *wheel = self;
    uint32_t collected[ORIGINAL_IDS];
    uint32_t count = 0;
    uint64_t rebalances = 0;
    wheel->current_ticks = now;
    if (wheel->has_min && wheel->min_deadline > now) {
        return;
    }
    for (uint32_t level = 0; level < wheel->levels; level++) {
        for (uint32_t slot = 0; slot < wheel->slots; slot++) {
            if (wheel->slot_min[level][slot] <= now) {
                poll_slot(wheel, level, slot, &rebalances, collected, &count);
            }
        }
    }
    uint64_t min = walk_min(wheel);
    wheel->has_min = min != UINT64_MAX;
    wheel->min_deadline = min;
    if ((wheel->habits & HANDS_OUT_VALUES) != 0) {
        for (uint32_t i = 0; i < count; i++) {
            wheel->entries[collected[i]].pending = false;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        struct entry *entry = &wheel->entries[collected[i]];
        if ((wheel->habits & HANDS_OUT_VALUES) != 0) {
            fire->call(fire->ctx, collected[i]);
        } else if (entry->pending && entry->collected) {
            entry->pending = false;
            fire->call(fire->ctx, collected[i]);
        }
    }
}

static uint64_t wheel_next(void *self)
{
    struct wheel *wheel = self;
    if (wheel->has_min) {
        return wheel->min_deadline;
    }
    uint64_t min = walk_min(wheel);
    if ((wheel->habits & KEEPS_WHAT_IT_SAID) != 0) {
        wheel->min_deadline = min;
        wheel->has_min = min != UINT64_MAX;
    }
    return min;
}

static void place_of(const void *self, uint32_t id, struct place *place)
{
    const struct wheel *wheel = self;
    const struct entry *entry = &wheel->entries[id];
    place->pending = entry->pending;
    place->level = entry->level + 1;
    place->slot = entry->slot;
}

#define MODEL(how, version)                                                                        \
    {                                                                                              \
        .follows = "nexus-timer, wheel.rs" version, .bytes = sizeof(struct wheel),                 \
        .open = open_##how, .start = wheel_start, .stop = wheel_stop, .advance = wheel_advance,    \
        .next = wheel_next, .place = place_of,                                                     \
    }

static const struct original polled = MODEL(default, ": poll");
static const struct original rebalanced = MODEL(rebalancing, ": poll_and_rebalance");
static const struct original small = MODEL(small, " with max_rebalances_per_poll(2)");

static const struct original_case polled_case = {
    .original = &polled,
    .structure = "nexus-wheel",
    .options = "moves=0",
    .ordered = true,
    .next = ORIGINAL_NEXT_SAME,
    .clock = 5000,
};

static const struct original_case far_case = {
    .original = &polled,
    .structure = "nexus-wheel",
    .options = "moves=0",
    .ordered = true,
    .next = ORIGINAL_NEXT_SAME,
    .delay_bits = 40,
    .clock = 123456789,
};

static const struct original_case rebalanced_case = {
    .original = &rebalanced,
    .structure = "nexus-wheel",
    .options = "moves=all",
    .ordered = true,
    .next = ORIGINAL_NEXT_SAME,
    .clock = 77,
    .step_ticks = 3000,
};

static const struct original_case small_case = {
    .original = &small,
    .structure = "nexus-wheel",
    .options = "bits=3:step=2:levels=3:moves=2",
    .ordered = true,
    .next = ORIGINAL_NEXT_SAME,
    .delay_bits = 9,
    .clock = 1,
};

static void slots_and_polls_of_nexus(void **state)
{
    (void)state;
    original_agrees(&polled_case);
    original_agrees(&far_case);
}

static void what_a_poll_moves(void **state)
{
    (void)state;
    original_agrees(&rebalanced_case);
    original_agrees(&small_case);
}

static void but_for_two_habits(void **state)
{
    (void)state;
    original_differs(&polled_case, HANDS_OUT_VALUES, "a list of values");
    struct original_case keeps = small_case;
    keeps.operations = 3000; /* it shows rarely */
    original_differs(&keeps, KEEPS_WHAT_IT_SAID, "keeps its answer");
    keeps.next = ORIGINAL_NEXT_AFTER;
    keeps.habits = KEEPS_WHAT_IT_SAID;
    original_agrees(&keeps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_and_polls_of_nexus),
        cmocka_unit_test(what_a_poll_moves),
        cmocka_unit_test(but_for_two_habits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
