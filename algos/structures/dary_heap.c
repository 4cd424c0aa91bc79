/*
 * dary-heap: a heap with 2 to 16 children for each entry, with keys in the array and siblings in
 * one cache line.
 *
 *   arity=4      index 3: [due 3, #8, id 7]                    the root is at index arity - 1
 *                4: [5, #2, id 1]  5: [4, #9, id 4]  6: ...  7: ...        its children: one line
 *                8: [9, #1, id 0]  9: [5, #3, id 2]  ...           the children of 4: the next line
 *
 * start(3, 1) appends an entry at the end and moves it up: one comparison with a parent for each
 * level. advance(3) fires id 7: the first of the four children, entry 5, moves to the root, the
 * first of its children to its place, and so on to the bottom, where the last entry fills the hole.
 * stop(1) looks up the place of id 1 in `positions`, and fills it with the last entry, which sinks
 * or rises from there.
 *
 * A wider heap is flatter: four children instead of two halve the levels, and each level costs
 * memory latency. The key (due tick, serial of the start) is in the entry, so that choosing among
 * siblings touches only their line: 16 bytes an entry, four a line. With the root at index arity -
 * 1, the first child has an index that is a multiple of the arity, so that siblings do not straddle
 * lines. libev measured 4 children with cached keys about 5 % faster than 2, from 50,000 watchers on.
 * Go kept its timers in such a heap up to 1.13.
 *
 * The entry before the root precedes every other and ends each rise. A timer that fires leaves its
 * entry at the root until its callback has returned; a timer that the callback starts takes that
 * place. The serial has 32 bits; when none is left, a start sorts the entries and numbers them again.
 * The loops are compiled once for each usual arity, so that they contain no division.
 *
 * Invariants
 *   - no entry is before its parent in the order (due, serial); serials are distinct
 *   - positions[entries[i].id] == i for every i, and 0 for every id that is not pending; the root's
 *     is 0 while it is vacant, which it is in callbacks only
 *   - an advance fires only entries before its fence, (now, serial at its start); the timers that
 *     callbacks start are after it
 *
 * Complexity (d: arity): start O(log_d n); stop, restart to later and expiry O(d log_d n), a tick
 * O(1). Use it instead of binary-heap for more than some ten thousand timers. Bad at: expiry of
 * very many timers, because each move writes a position elsewhere in memory; large arities, where
 * the choice among the children outweighs the levels saved.
 *
 * Source: D. B. Johnson, "Priority queues with update and finding minimum spanning trees", IPL
 * 4(3), 1975; libev, ev.c, EV_USE_4HEAP and EV_HEAP_CACHE_AT; Go 1.13, runtime/time.go.
 */
#include "timerlab.h"

#include "heap_entry.h"
#include "records.h"
#include "tuning.h"

/* --- data ------------------------------------------------------------------------------------- */

struct heap_options {
    uint32_t arity;
};

struct dary_heap {
    heap_entry *entries; /* [arity - 1] is the root; followed by the positions, in one block */
    uint32_t *by_id AND_RECORDS; /* positions */
    uint32_t root;
    uint32_t end; /* the index after the last entry */
    unsigned arity;
    uint32_t serial;
    uint64_t clock;
    heap_entry fence; /* the running advance fires entries before this */
    uint32_t capacity;
    bool vacant; /* the timer at the root has fired, and its place is not taken yet */
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#define STRUCTURE       struct dary_heap
#define HEAP_ROOT(heap) ((heap)->root)
#include "indexed_heap.h"

/* --- data: the heap --------------------------------------------------------------------------- */

static inline size_t parent_of(size_t index, unsigned arity)
{
    return index / arity + arity - 2;
}

static inline size_t heap_parent(const struct dary_heap *heap, size_t index)
{
    return parent_of(index, heap->arity);
}

/* Return the index of the first child, whether there is one or not. */
static inline size_t children_of(size_t index, unsigned arity)
{
    return arity * (index - arity + 2);
}

/* Return the first in order of the children from `child` on; there is at least one. */
static size_t first_of(struct dary_heap *heap, size_t child, unsigned arity)
{
    const heap_entry *entries = heap->entries;
    size_t last = child + arity <= heap->end ? child + arity : heap->end;
    TL_COUNT(heap, compares, last - child - 1);
    if (arity == 4 && last == child + 4) { /* the usual case: two comparisons deep */
        size_t a = child + heap_entry_before(entries[child + 1], entries[child]);
        size_t b = child + 2 + heap_entry_before(entries[child + 3], entries[child + 2]);
        return heap_entry_choose_index(heap_entry_before(entries[b], entries[a]), b, a);
    }
    size_t best = child;
    for (size_t i = child + 1; i < last; i++) {
        best = heap_entry_choose_index(heap_entry_before(entries[i], entries[best]), i, best);
    }
    return best;
}

/* Fill the hole with `entry`, which is before everything below it, or with its parents. */
static void rise_by(struct dary_heap *heap, size_t hole, heap_entry entry, unsigned arity)
{
    size_t parent = parent_of(hole, arity);
    TL_COUNT(heap, compares, hole > heap->root);
    while (heap_entry_before(entry, heap->entries[parent])) {
        put(heap, hole, heap->entries[parent]);
        hole = parent;
        parent = parent_of(hole, arity);
        TL_COUNT(heap, compares, hole > heap->root);
    }
    put(heap, hole, entry);
}

/* Fill the hole with `entry`, which is after its parent, or with its children. */
static void sink_by(struct dary_heap *heap, size_t hole, heap_entry entry, unsigned arity)
{
    for (size_t child = children_of(hole, arity); child < heap->end;
         child = children_of(hole, arity)) {
        size_t first = first_of(heap, child, arity);
        TL_COUNT(heap, compares, 1);
        if (heap_entry_before(entry, heap->entries[first])) {
            break;
        }
        put(heap, hole, heap->entries[first]);
        hole = first;
    }
    put(heap, hole, entry);
}

/* Move the hole at the root to the bottom, along the first children, and then up to where `entry`
 * belongs: mostly at the bottom. */
static void fill_root_by(struct dary_heap *heap, heap_entry entry, unsigned arity)
{
    size_t hole = heap->root;
    for (size_t child = children_of(hole, arity); child < heap->end;
         child = children_of(hole, arity)) {
        if (arity <= 4) { /* all that the next level may need, while this one is compared */
            const heap_entry *below = &heap->entries[children_of(child, arity)];
            for (size_t i = 0; i < (size_t)arity * arity; i += HEAP_ENTRY_LINE / sizeof *below) {
                PREFETCH(below + i);
            }
        }
        size_t first = first_of(heap, child, arity);
        put(heap, hole, heap->entries[first]);
        hole = first;
    }
    rise_by(heap, hole, entry, arity);
}

/* Call function(..., arity) with the usual arities as constants. */
#define BY_ARITY(heap, function, ...)                                                              \
    ((heap)->arity == 4    ? function(__VA_ARGS__, 4)                                              \
     : (heap)->arity == 2  ? function(__VA_ARGS__, 2)                                              \
     : (heap)->arity == 8  ? function(__VA_ARGS__, 8)                                              \
     : (heap)->arity == 16 ? function(__VA_ARGS__, 16)                                             \
                           : function(__VA_ARGS__, (heap)->arity))

static void rise(struct dary_heap *heap, size_t hole, heap_entry entry)
{
    BY_ARITY(heap, rise_by, heap, hole, entry);
}

static void sink(struct dary_heap *heap, size_t hole, heap_entry entry)
{
    BY_ARITY(heap, sink_by, heap, hole, entry);
}

static void fill_root(struct dary_heap *heap, heap_entry entry)
{
    BY_ARITY(heap, fill_root_by, heap, entry);
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status heap_create(const struct tl_config *config, void **self)
{
    const struct heap_options *options = config->options;
    unsigned arity = options->arity;
    struct dary_heap empty = {
        .root = arity - 1,
        .end = arity - 1,
        .arity = arity,
        .clock = config->now,
        .serial = FIRST_SERIAL,
        .allocator = config->allocator,
    };
    return structure_create(config, &empty, placed_reserve, placed_destroy, self);
}

static const struct tl_option heap_option_table[] = {
    {"arity", TL_U32(struct heap_options, arity), 4, 2, 16, NULL, "children of an entry"},
    {0},
};

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(dary_heap) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |
                    TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "dary-heap",
    .summary = "a heap with 2 to 16 children an entry, siblings in one cache line",
    .origin = "Johnson 1975; libev; Go before 1.14",
    .description =
        "A heap in an array with `arity` children an entry, the keys in the array and siblings "
        "aligned to cache lines: with four children half the levels of a binary heap, each one "
        "line. Exact in everything: order, next expiry, no horizon. Bad at: expiry of very many "
        "timers, where each level moved is a cache miss; large arities, which compare more.",
    .differs = "timers of one tick fire in the order of their starts, in libev in any order, and "
               "so in Go; a timer fires at its tick, where libev waits until the clock is beyond "
               "it, and what libev sleeps has an upper limit of a minute; stop says whether the "
               "timer was pending, where ev_timer_stop answers nothing; Go since 1.14 only marks a "
               "stopped timer and removes it later, which is not done here.",
    .cost = {.start = "O(log n)", .stop = "O(log n)", .tick = "O(1)", .expire = "O(log n)"},
    OPTIONS(heap_option_table, struct heap_options),
    .create = heap_create,
    HEAP_HOOKS,
};
