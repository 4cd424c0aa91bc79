/*
 * sorted-array: all pending timers in one array, ordered by due tick, searched by halving; as small
 * event loops and schedulers keep theirs.
 *
 *   entries   [due 20, id 0] [due 8, id 4] [due 3, id 1] [due 3, id 7]
 *              due last                                   due first
 *
 * The first to expire is at the end, so that an expiry shortens the array and moves nothing. To
 * start timer 5 for tick 8, halving finds the place before the entry of timer 4, which was started
 * earlier and fires first; the two entries from there on move up by one. To stop timer 1, halving
 * finds the entries that are due at 3, and timer 1 is looked for among them; the entry of timer 7
 * moves down. Memory moves as fast as a processor can copy it: for some hundreds of timers, which
 * are a few kilobytes, no pointer of a tree is cheaper.
 *
 * Invariants
 *   - `due` never increases along the array; among equal `due` the earliest start is last
 *   - by_id[id] is the entry's due for every pending timer, and IDLE for all others
 *   - within an advance the first `held` entries that are due were started by its callbacks
 *
 * Complexity: start and stop O(log n) compares and O(n) moves of 16 bytes, a tick O(1), expiry
 * O(1). Timers with equal due ticks are searched one by one when one of them is stopped.
 *
 * Use it for up to some hundreds of timers. Bad at: more of them, since every start moves half of
 * the array; and many timers of one tick that are stopped.
 *
 * Source: D. E. Knuth, "The Art of Computer Programming", volume 3, sections 5.2.1 and 6.2.1:
 * binary insertion and binary search.
 */
#include "timerlab.h"

#include "records.h"

/* --- data ------------------------------------------------------------------------------------- */

#define IDLE UINT64_MAX

struct entry {
    uint64_t due;
    uint32_t id;
};

struct sorted_array {
    struct tl_counters counters;
    const struct tl_allocator *allocator;
    struct entry *entries;
    uint64_t *by_id AND_RECORDS; /* due ticks; after the entries, in the same block */
    uint32_t capacity;
    uint32_t count;
    uint32_t held; /* started by callbacks of this advance, and due */
    bool advancing;
    uint64_t clock;
};

#define STRUCTURE  struct sorted_array
#define ENTRY      struct entry
#define VALUE      uint64_t
#define VALUE_IDLE IDLE
#include "placed_entries.h"

/* --- start and stop --------------------------------------------------------------------------- */

/* The first place with an entry due at `due` or before. */
static uint32_t find_place(struct sorted_array *array, uint64_t due)
{
    uint32_t low = 0;
    uint32_t high = array->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        TL_COUNT(array, compares, 1);
        if (array->entries[middle].due > due) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void take_out(struct sorted_array *array, uint32_t id)
{
    uint32_t place = find_place(array, *value_at(array, id));
    while (array->entries[place].id != id) {
        TL_COUNT(array, compares, 1);
        place++;
    }
    if (array->held > 0) {
        uint32_t first = find_place(array, array->clock);
        array->held -= place >= first && place - first < array->held;
    }
    array->count--;
    memmove(&array->entries[place], &array->entries[place + 1],
            (array->count - place) * sizeof *array->entries);
    TL_COUNT(array, moves, array->count - place + 1);
    *value_at(array, id) = IDLE;
}

static enum tl_status array_start(void *self, uint32_t id, uint64_t deadline)
{
    struct sorted_array *array = self;
    if (*value_at(array, id) != IDLE) {
        take_out(array, id);
    }
    uint64_t due = deadline > array->clock ? deadline : array->clock;
    uint32_t place = find_place(array, due);
    memmove(&array->entries[place + 1], &array->entries[place],
            (array->count - place) * sizeof *array->entries);
    TL_COUNT(array, moves, array->count - place + 1);
    array->entries[place] = (struct entry){due, id};
    array->count++;
    array->held += array->advancing && due == array->clock;
    *value_at(array, id) = due;
    return TL_OK;
}

static enum tl_status array_stop(void *self, uint32_t id)
{
    struct sorted_array *array = self;
    if (*value_at(array, id) == IDLE) {
        return TL_IDLE;
    }
    take_out(array, id);
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* A timer that a callback starts is due now at the earliest. So it is placed before all entries
 * that are due, and is held: when only held entries are left, the rest fires in the next advance.
 * */
static uint64_t array_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct sorted_array *array = self;
    uint64_t fired = 0;
    array->clock = now;
    array->advancing = true;
    for (; fired < budget && array->count > 0; fired++) {
        struct entry last = array->entries[array->count - 1];
        TL_COUNT(array, compares, 1);
        if (last.due > now ||
            (array->held > 0 && array->count - find_place(array, now) == array->held)) {
            break;
        }
        array->count--;
        *value_at(array, last.id) = IDLE;
        TL_COUNT(array, moves, 1);
        fire(ctx, last.id, now);
    }
    array->advancing = false;
    array->held = 0;
    return fired;
}

static uint64_t array_next(const void *self)
{
    const struct sorted_array *array = self;
    return array->count > 0 ? array->entries[array->count - 1].due : TL_NEVER;
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status array_create(const struct tl_config *config, void **self)
{
    struct sorted_array empty = {.allocator = config->allocator, .clock = config->now};
    return structure_create(config, &empty, placed_reserve, placed_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

static enum tl_status array_check(const void *self, char *why, size_t why_bytes)
{
    const struct sorted_array *array = self;
    size_t pending = placed_count(array);
    for (uint32_t i = 0; i < array->count; i++) {
        const struct entry *entry = &array->entries[i];
        if (*value_at(array, entry->id) != entry->due) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " has another tick in by_id",
                           entry->id);
        }
        if (i > 0 && entry->due > array->entries[i - 1].due) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " is after an earlier one", entry->id);
        }
    }
    if (pending != array->count) {
        return corrupt(why, why_bytes, "%zu timers are pending, %" PRIu32 " have entries", pending,
                       array->count);
    }
    return TL_OK;
}

static void array_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct sorted_array *array = self;
    walk_part(visitor, "array", TL_FORM_LIST, 0);
    for (uint32_t i = 0; i < array->count; i++) {
        const struct entry *entry = &array->entries[array->count - 1 - i];
        walk_node(visitor, i, TL_NEVER);
        walk_timer(visitor, entry->id, entry->due, 0);
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(sorted_array) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |
                    TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_SLOW,
    .name = "sorted-array",
    .summary = "one array in order of due tick, searched by halving",
    .origin = "Knuth, volume 3",
    .description =
        "All pending timers in one array, ordered by due tick and then by start, the first to "
        "expire at the end. A start finds its place by halving and moves the entries after it by "
        "one; an expiry takes the last entry. Nothing is faster for some hundreds of timers, since "
        "a processor moves their entries in a few copies. Bad at: thousands, since a start moves "
        "half of the array, and many timers of one tick that are stopped.",
    .differs = "nothing that a caller can notice: a textbook's sorted array, with the order "
               "reversed so that an expiry moves nothing.",
    .cost = {.start = "O(n)", .stop = "O(n)", .tick = "O(1)", .expire = "O(1)"},
    .create = array_create,
    .start = array_start,
    .stop = array_stop,
    .advance = array_advance,
    .next = array_next,
    .check = array_check,
    .walk = array_walk,
    PLACED_HOOKS,
};
