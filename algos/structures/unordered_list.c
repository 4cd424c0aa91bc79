/*
 * unordered-list: Varghese and Lauck's scheme 1, no order at all, as in Redis's event loop.
 *
 *   pending   [due 8, id 4] [due 3, id 7] [due 20, id 0] [due 3, id 1] ...
 *
 * start(2, 9) appends timer 2. stop(7) moves the last timer to the place of timer 7. advance(3)
 * looks at every timer, moves the two that are due to the front and fires them from there, so that
 * a budget can leave some for the next advance; the timers that callbacks start, after those, are
 * not looked at again. The paper decrements each timer; a comparison with the clock is equivalent
 * and writes nothing.
 *
 * The order has no meaning, so the timers are in one array instead of a linked list: a processor
 * reads it as fast as memory delivers. `by_id` has the place of each id. `next` looks at all timers
 * and is therefore exact.
 *
 * Invariants
 *   - entries [0, due_count) are due and wait to fire
 *   - entries[by_id[id]].id == id for every pending timer; by_id[id] is IDLE for all others
 *
 * Complexity: start and stop O(1), a tick O(n), expiry O(1). Use it for up to some dozens of
 * timers: no structure is simpler. Bad at: ticks with more of them.
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, section
 * 3.1; redis/redis, ae.c.
 */
#include "timerlab.h"

#include "records.h"

/* --- data ------------------------------------------------------------------------------------- */

#define IDLE UINT32_MAX

struct entry {
    uint64_t due;
    uint32_t id;
};

struct unordered_list {
    struct tl_counters counters;
    const struct tl_allocator *allocator;
    struct entry *entries;
    uint32_t *by_id AND_RECORDS; /* places in `entries`; after them, in the same block */
    uint32_t capacity;
    uint32_t count;
    uint32_t due_count;
    uint64_t clock;
};

#define STRUCTURE  struct unordered_list
#define ENTRY      struct entry
#define VALUE      uint32_t
#define VALUE_IDLE IDLE
#include "placed_entries.h"

/* --- start and stop --------------------------------------------------------------------------- */

static inline void put(struct unordered_list *list, uint32_t place, struct entry entry)
{
    list->entries[place] = entry;
    *value_at(list, entry.id) = place;
    TL_COUNT(list, moves, 1);
}

/* Take out the timer at `place`. The last due timer fills a gap among the due ones, and the last of
 * all timers the gap after those. */
static void take_out(struct unordered_list *list, uint32_t place)
{
    *value_at(list, list->entries[place].id) = IDLE;
    if (place < list->due_count) {
        list->due_count--;
        if (place != list->due_count) {
            put(list, place, list->entries[list->due_count]);
        }
        place = list->due_count;
    }
    list->count--;
    if (place != list->count) {
        put(list, place, list->entries[list->count]);
    }
    TL_COUNT(list, moves, 1);
}

static enum tl_status list_start(void *self, uint32_t id, uint64_t deadline)
{
    struct unordered_list *list = self;
    uint32_t place = *value_at(list, id);
    if (place != IDLE && place >= list->due_count) {
        list->entries[place].due = deadline; /* one place is as good as another */
        return TL_OK;
    }
    if (place != IDLE) {
        take_out(list, place);
    }
    put(list, list->count++, (struct entry){deadline, id});
    return TL_OK;
}

static enum tl_status list_stop(void *self, uint32_t id)
{
    struct unordered_list *list = self;
    if (*value_at(list, id) == IDLE) {
        return TL_IDLE;
    }
    take_out(list, *value_at(list, id));
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Gather the timers due by `now` at the front. */
static void collect_due(struct unordered_list *list, uint64_t now)
{
    list->clock = now;
    TL_COUNT(list, compares, list->count - list->due_count);
    for (uint32_t i = list->due_count; i < list->count; i++) {
        if (list->entries[i].due <= now) {
            struct entry due = list->entries[i];
            if (i != list->due_count) {
                put(list, i, list->entries[list->due_count]);
            }
            put(list, list->due_count++, due);
        }
    }
}

static uint64_t list_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct unordered_list *list = self;
    collect_due(list, now);
    uint64_t fired = 0;
    while (fired < budget && list->due_count > 0) {
        uint32_t id = list->entries[0].id;
        take_out(list, 0);
        fired++;
        fire(ctx, id, now);
    }
    return fired;
}

static uint64_t list_next(const void *self)
{
    const struct unordered_list *list = self;
    if (list->due_count > 0) {
        return list->clock;
    }
    uint64_t next = TL_NEVER;
    for (uint32_t i = 0; i < list->count; i++) {
        next = list->entries[i].due < next ? list->entries[i].due : next;
    }
    return next;
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status list_create(const struct tl_config *config, void **self)
{
    struct unordered_list empty = {.allocator = config->allocator, .clock = config->now};
    return structure_create(config, &empty, placed_reserve, placed_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

static enum tl_status list_check(const void *self, char *why, size_t why_bytes)
{
    const struct unordered_list *list = self;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t id = list->entries[i].id;
        if (id >= list->capacity || *value_at(list, id) != i) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " is not at its place", id);
        }
    }
    size_t placed = placed_count(list);
    if (placed != list->count || list->due_count > list->count) {
        return corrupt(why, why_bytes, "%zu timers placed, %" PRIu32 " counted", placed,
                       list->count);
    }
    return TL_OK;
}

static void list_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct unordered_list *list = self;
    walk_part(visitor, "list", TL_FORM_LIST, 0);
    for (uint32_t i = 0; i < list->count; i++) {
        walk_node(visitor, i, TL_NEVER);
        walk_timer(visitor, list->entries[i].id, list->entries[i].due, 0);
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(unordered_list) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT | TL_CAP_BUDGET |
                    TL_CAP_UNLIMITED | TL_CAP_SLOW,
    .name = "unordered-list",
    .summary = "no order at all: every tick looks at every timer",
    .origin = "Varghese and Lauck 1987, scheme 1; Redis",
    .description =
        "All pending timers side by side in one array, in no order. A start appends, a stop closes "
        "the gap with the last one, and each tick compares every deadline with the clock. Nothing "
        "is simpler, and for a few dozen timers nothing need be. Bad at: everything beyond.",
    .differs =
        "timers that fire in one advance do so in no order, in Redis newest first, whatever their "
        "ticks; all are due by the tick of the advance, where Redis reads the clock again for "
        "each; a stop closes the gap at once, where aeDeleteTimeEvent leaves the event to be freed "
        "by the next pass; an array, not a list, and the paper's counts down where this compares.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(n)", .expire = "O(1)"},
    .create = list_create,
    .start = list_start,
    .stop = list_stop,
    .advance = list_advance,
    .next = list_next,
    .check = list_check,
    .walk = list_walk,
    PLACED_HOOKS,
};
