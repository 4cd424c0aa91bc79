/*
 * dary-heap: a heap of 2 to 16 children an entry, with cached keys and siblings in one cache line.
 *
 *   arity=4      index 3: [due 3, #8, id 7]                    the root stands at arity - 1
 *                4: [5, #2, id 1]  5: [4, #9, id 4]  6: ...  7: ...        its children: one line
 *                8: [9, #1, id 0]  9: [5, #3, id 2]  ...           the children of 4: the next line
 *
 * A wider heap is flatter: four children instead of two halve the levels, and a level is what costs
 * memory latency. The keys (due tick, serial of the start) stand in the array beside the id, so
 * that choosing the smallest of the siblings touches only their own line: 16 bytes an entry, four a
 * line. With the root at index arity - 1, the first child of an entry has an index that is a
 * multiple of the arity, so that siblings of an arity of 2, 4, 8 or 16 never straddle a line that
 * they could avoid. libev found 4 children and cached keys to be about 5 % faster than 2 from
 * 50,000 watchers on; Go keeps its timers so.
 *
 * `positions` holds where each id stands, so stop and restart find it at once. The serial has 32
 * bits; a start that finds them used up sorts the entries and numbers them anew, which happens once
 * in thousands of millions of starts (the first one comes early, so that no program meets it for
 * the first time after months). A sorted array is a heap of any arity.
 *
 * What is started has the latest serial of all, so that it is compared by its tick alone. Before
 * the root, at index arity - 2, stands an entry that precedes every other, where what rises stops.
 *
 * A timer that fires leaves its entry at the root, where it is before all others, until its
 * callback has returned. If the callback starts a timer, its own again as a rule, that one takes
 * the place: the hole goes from the root to the bottom and the new entry rises from there. Else the
 * last entry of the array does. So an expiry with its start sifts once, not twice.
 *
 * What is in the hot loops is compiled once for each of the usual arities, so that no division and
 * no multiplication by a variable stands in them; other arities share one general copy.
 *
 * Invariants
 *   - no entry is before its parent in the order (due, serial); serials are distinct
 *   - positions[entries[i].id] == i for every i, and 0 for every id that is not pending; the root's
 *     is 0 while it is vacant, which it is in callbacks only
 *   - what an advance may fire is before its fence, (now, serial at its start): what callbacks
 *     start is due at `now` at the earliest and has a later serial
 *
 * Complexity (d: arity): start O(log_d n), stop, restart to later and expiry O(d log_d n), a tick
 * O(1). Bad at: expiry of very many timers, where each level moved writes a back-index somewhere
 * else in memory; large arities, where choosing among the children outweighs the levels saved.
 *
 * Source: D. B. Johnson, "Priority queues with update and finding minimum spanning trees", IPL
 * 4(3), 1975; libev, ev.c, EV_USE_4HEAP and EV_HEAP_CACHE_AT; Go, runtime/time.go.
 */
#include "timerlab.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "heap_entry.h"
#include "walk.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NEVER_INLINE  __attribute__((noinline))

#define CAPACITY_MAX  (UINT32_C(1) << 31)
#define FIRST_SERIAL  (UINT32_MAX - 100)

enum option { OPTION_ARITY };

struct dary_heap {
    heap_entry *entries; /* [arity - 1] is the root; followed by the positions, in one block */
    uint32_t *positions;
    size_t root;
    size_t end; /* the index behind the last entry */
    unsigned arity;
    uint32_t serial;
    uint64_t clock;
    heap_entry fence; /* what the running advance may fire is before this */
    uint32_t capacity;
    bool vacant; /* the timer at the root has fired, and its place is not taken yet */
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

static inline size_t parent_of(size_t index, unsigned arity)
{
    return index / arity + arity - 2;
}

/* The first child's index, whether there is one or not. */
static inline size_t children_of(size_t index, unsigned arity)
{
    return arity * (index - arity + 2);
}

static inline void put(struct dary_heap *heap, size_t index, heap_entry entry)
{
    heap->entries[index] = entry;
    heap->positions[heap_entry_id(entry)] = (uint32_t)index;
    TL_COUNT(heap, moves, 1);
}

/* The first in order of the children at `child` and behind, of which there is at least one. */
static ALWAYS_INLINE size_t first_of(struct dary_heap *heap, size_t child, unsigned arity)
{
    const heap_entry *entries = heap->entries;
    size_t last = child + arity <= heap->end ? child + arity : heap->end;
    TL_COUNT(heap, compares, last - child - 1);
    if (arity == 4 && last == child + 4) { /* the usual case: two comparisons deep */
        size_t a = child + (entries[child + 1] < entries[child]);
        size_t b = child + 2 + (entries[child + 3] < entries[child + 2]);
        return heap_entry_choose_index(entries[b] < entries[a], b, a);
    }
    size_t best = child;
    for (size_t i = child + 1; i < last; i++) {
        best = heap_entry_choose_index(entries[i] < entries[best], i, best);
    }
    return best;
}

/* Fills the hole with `entry`, which is not after anything below it, or with its parents. `latest`:
 * it has the latest serial. */
static ALWAYS_INLINE void rise(struct dary_heap *heap, size_t hole, heap_entry entry, bool latest,
                               unsigned arity)
{
    size_t parent = parent_of(hole, arity);
    TL_COUNT(heap, compares, hole > heap->root);
    while (heap_entry_precedes(entry, heap->entries[parent], latest)) {
        put(heap, hole, heap->entries[parent]);
        hole = parent;
        parent = parent_of(hole, arity);
        TL_COUNT(heap, compares, hole > heap->root);
    }
    put(heap, hole, entry);
}

/* Fills the hole with `entry`, which is not before its parent, or with its children. */
static ALWAYS_INLINE void sink(struct dary_heap *heap, size_t hole, heap_entry entry, bool latest,
                               unsigned arity)
{
    for (size_t child = children_of(hole, arity); child < heap->end;
         child = children_of(hole, arity)) {
        size_t first = first_of(heap, child, arity);
        TL_COUNT(heap, compares, 1);
        if (heap_entry_precedes(entry, heap->entries[first], latest)) {
            break;
        }
        put(heap, hole, heap->entries[first]);
        hole = first;
    }
    put(heap, hole, entry);
}

/* Moves the hole at the root to the bottom, along the first children; returns where it arrives. */
static ALWAYS_INLINE size_t sink_hole(struct dary_heap *heap, unsigned arity)
{
    size_t hole = heap->root;
    for (size_t child = children_of(hole, arity); child < heap->end;
         child = children_of(hole, arity)) {
        if (arity <= 4) { /* all that the next level may need, while this one is compared */
            const heap_entry *below = &heap->entries[children_of(child, arity)];
            for (size_t i = 0; i < (size_t)arity * arity; i += HEAP_ENTRY_LINE / sizeof *below) {
                __builtin_prefetch(below + i);
            }
        }
        size_t first = first_of(heap, child, arity);
        put(heap, hole, heap->entries[first]);
        hole = first;
    }
    return hole;
}

/* Calls function(..., arity) with the arity as a constant where it is a usual one. */
#define BY_ARITY(heap, function, ...)                                                              \
    ((heap)->arity == 4    ? function(__VA_ARGS__, 4)                                              \
     : (heap)->arity == 2  ? function(__VA_ARGS__, 2)                                              \
     : (heap)->arity == 8  ? function(__VA_ARGS__, 8)                                              \
     : (heap)->arity == 16 ? function(__VA_ARGS__, 16)                                             \
                           : function(__VA_ARGS__, (heap)->arity))

static ALWAYS_INLINE void close_root_by(struct dary_heap *heap, unsigned arity)
{
    heap_entry last = heap->entries[--heap->end];
    if (heap->end > heap->root) {
        /* The last entry mostly belongs to the bottom: it rises from there, if at all. */
        rise(heap, sink_hole(heap, arity), last, false, arity);
    }
}

/* Takes the entry at the root out, whose timer is not pending any more. */
static void close_root(struct dary_heap *heap)
{
    heap->vacant = false;
    BY_ARITY(heap, close_root_by, heap);
}

static ALWAYS_INLINE void replace_root_by(struct dary_heap *heap, heap_entry entry, unsigned arity)
{
    rise(heap, sink_hole(heap, arity), entry, true, arity);
}

/* The same with `entry`, which has the latest serial, taking its place. */
static void replace_root(struct dary_heap *heap, heap_entry entry)
{
    heap->vacant = false;
    BY_ARITY(heap, replace_root_by, heap, entry);
}

/* Numbers the entries from 0 in the heap's order, and the fence with them. */
static void renumber(struct dary_heap *heap)
{
    if (heap->vacant) {
        close_root(heap);
    }
    size_t end = heap->end;
    while (heap->end > heap->root) {
        heap_entry root = heap->entries[heap->root];
        close_root(heap);
        heap->entries[heap->end] = root;
    }
    for (size_t low = heap->root, high = end; low + 1 < high; low++) {
        heap_entry swapped = heap->entries[low];
        heap->entries[low] = heap->entries[--high];
        heap->entries[high] = swapped;
    }
    uint32_t before_fence = 0;
    for (size_t i = heap->root; i < end; i++) {
        heap_entry entry = heap->entries[i];
        before_fence += entry < heap->fence;
        put(heap, i,
            heap_entry_make(heap_entry_due(entry), (uint32_t)(i - heap->root),
                            heap_entry_id(entry)));
    }
    heap->end = end;
    heap->serial = (uint32_t)(end - heap->root);
    heap->fence = heap_entry_make(heap_entry_due(heap->fence), before_fence, 0);
}

static size_t entries_bytes(const struct dary_heap *heap, uint32_t capacity)
{
    return (heap->root + capacity) * sizeof(heap_entry);
}

static size_t block_bytes(const struct dary_heap *heap, uint32_t capacity)
{
    return entries_bytes(heap, capacity) + (size_t)capacity * sizeof(uint32_t);
}

static enum tl_status heap_reserve(void *self, uint32_t capacity)
{
    struct dary_heap *heap = self;
    if (capacity <= heap->capacity && heap->entries != NULL) {
        return TL_OK;
    }
    if (capacity > CAPACITY_MAX) {
        return TL_ERR_CAPACITY;
    }
    heap_entry *entries = tl_alloc(heap->allocator, block_bytes(heap, capacity), HEAP_ENTRY_LINE);
    if (entries == NULL) {
        return TL_ERR_NOMEM;
    }
    uint32_t *positions = (uint32_t *)(void *)((char *)entries + entries_bytes(heap, capacity));
    memset(positions, 0, (size_t)capacity * sizeof *positions);
    if (heap->entries != NULL) {
        memcpy(&entries[heap->root], &heap->entries[heap->root],
               (heap->end - heap->root) * sizeof *entries);
        memcpy(positions, heap->positions, (size_t)heap->capacity * sizeof *positions);
        tl_free(heap->allocator, heap->entries, block_bytes(heap, heap->capacity), HEAP_ENTRY_LINE);
    }
    entries[heap->root - 1] = 0; /* before every other */
    heap->entries = entries;
    heap->positions = positions;
    heap->capacity = capacity;
    return TL_OK;
}

static void heap_destroy(void *self)
{
    struct dary_heap *heap = self;
    tl_free(heap->allocator, heap->entries, block_bytes(heap, heap->capacity), HEAP_ENTRY_LINE);
    tl_free(heap->allocator, heap, sizeof *heap, alignof(struct dary_heap));
}

static enum tl_status heap_create(const struct tl_config *config, void **self)
{
    struct dary_heap *heap = tl_alloc(config->allocator, sizeof *heap, alignof(struct dary_heap));
    if (heap == NULL) {
        return TL_ERR_NOMEM;
    }
    unsigned arity = (unsigned)config->options[OPTION_ARITY];
    *heap = (struct dary_heap){
        .root = arity - 1,
        .end = arity - 1,
        .arity = arity,
        .clock = config->now,
        .serial = FIRST_SERIAL,
        .allocator = config->allocator,
    };
    enum tl_status status = heap_reserve(heap, config->capacity);
    if (status != TL_OK) {
        tl_free(config->allocator, heap, sizeof *heap, alignof(struct dary_heap));
        return status;
    }
    *self = heap;
    return TL_OK;
}

static ALWAYS_INLINE enum tl_status start_by(struct dary_heap *heap, uint32_t id, uint64_t deadline,
                                             unsigned arity)
{
    uint64_t due = deadline > heap->clock ? deadline : heap->clock;
    heap_entry entry = heap_entry_make(due, heap->serial++, id);
    size_t position = heap->positions[id];
    if (position == 0) {
        if (heap->vacant) {
            replace_root(heap, entry);
        } else {
            rise(heap, heap->end++, entry, true, arity);
        }
        return TL_OK;
    }
    TL_COUNT(heap, compares, 1);
    if (due < heap_entry_due(heap->entries[position])) {
        rise(heap, position, entry, true, arity);
    } else {
        sink(heap, position, entry, true, arity);
    }
    return TL_OK;
}

static enum tl_status heap_start(void *self, uint32_t id, uint64_t deadline)
{
    struct dary_heap *heap = self;
    if (heap->serial == UINT32_MAX) {
        renumber(heap);
    }
    return BY_ARITY(heap, start_by, heap, id, deadline);
}

static ALWAYS_INLINE enum tl_status stop_by(struct dary_heap *heap, uint32_t id, unsigned arity)
{
    size_t position = heap->positions[id];
    if (position == 0) {
        return TL_IDLE;
    }
    heap->positions[id] = 0;
    heap_entry last = heap->entries[--heap->end];
    if (position < heap->end) {
        TL_COUNT(heap, compares, 1);
        if (last < heap->entries[position]) {
            rise(heap, position, last, false, arity);
        } else {
            sink(heap, position, last, false, arity);
        }
    }
    return TL_OK;
}

static enum tl_status heap_stop(void *self, uint32_t id)
{
    struct dary_heap *heap = self;
    return BY_ARITY(heap, stop_by, heap, id);
}

/* Apart from heap_advance, so that a tick at which nothing is due costs no more than to see that.
 */
static NEVER_INLINE uint64_t expire(struct dary_heap *heap, uint64_t now, uint64_t budget,
                                    tl_fire_fn fire, void *ctx)
{
    heap->fence = heap_entry_make(now, heap->serial, 0);
    uint64_t fired = 0;
    while (fired < budget && heap->end > heap->root) {
        heap_entry root = heap->entries[heap->root];
        TL_COUNT(heap, compares, 1);
        if (root >= heap->fence) {
            break;
        }
        heap->positions[heap_entry_id(root)] = 0;
        heap->vacant = true;
        fired++;
        fire(ctx, heap_entry_id(root), now);
        if (heap->vacant) {
            close_root(heap);
        }
    }
    return fired;
}

static uint64_t heap_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct dary_heap *heap = self;
    heap->clock = now;
    if (heap->end == heap->root) {
        return 0;
    }
    TL_COUNT(heap, compares, 1);
    return heap_entry_due(heap->entries[heap->root]) <= now ? expire(heap, now, budget, fire, ctx)
                                                            : 0;
}

static uint64_t heap_next(const void *self)
{
    const struct dary_heap *heap = self;
    return heap->end > heap->root ? heap_entry_due(heap->entries[heap->root]) : TL_NEVER;
}

static uint64_t heap_count(const void *self)
{
    const struct dary_heap *heap = self;
    return heap->end - heap->root - heap->vacant;
}

static void heap_counters(const void *self, struct tl_counters *out)
{
    *out = ((const struct dary_heap *)self)->counters;
}

static enum tl_status heap_check(const void *self, char *why, size_t why_bytes)
{
    const struct dary_heap *heap = self;
    for (size_t i = heap->root; i < heap->end; i++) {
        heap_entry entry = heap->entries[i];
        if (i > heap->root && entry < heap->entries[parent_of(i, heap->arity)]) {
            (void)snprintf(why, why_bytes, "timer %" PRIu32 " stands below a later one",
                           heap_entry_id(entry));
            return TL_ERR_CORRUPT;
        }
        if (heap_entry_id(entry) >= heap->capacity || heap->positions[heap_entry_id(entry)] != i) {
            (void)snprintf(why, why_bytes, "the back-index of timer %" PRIu32 " is not %zu",
                           heap_entry_id(entry), i);
            return TL_ERR_CORRUPT;
        }
    }
    size_t placed = 0;
    for (uint32_t id = 0; id < heap->capacity; id++) {
        placed += heap->positions[id] != 0;
    }
    if (placed != heap->end - heap->root) {
        (void)snprintf(why, why_bytes, "%zu timers have a place, %zu are in the heap", placed,
                       heap->end - heap->root);
        return TL_ERR_CORRUPT;
    }
    return TL_OK;
}

static enum tl_status heap_place(const void *self, uint32_t id, struct tl_place *out)
{
    const struct dary_heap *heap = self;
    size_t position = heap->positions[id];
    if (position == 0) {
        return TL_IDLE;
    }
    *out = (struct tl_place){.slot = position - heap->root,
                             .bucket = heap_entry_due(heap->entries[position])};
    return TL_OK;
}

static void heap_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct dary_heap *heap = self;
    walk_part(visitor, "heap", TL_FORM_TREE, 0);
    for (size_t i = heap->root; i < heap->end; i++) {
        walk_node(visitor, i - heap->root,
                  i > heap->root ? parent_of(i, heap->arity) - heap->root : TL_NEVER);
        walk_timer(visitor, heap_entry_id(heap->entries[i]), heap_entry_due(heap->entries[i]), 0);
    }
}

static const struct tl_option heap_options[] = {
    [OPTION_ARITY] = {"arity", 4, 2, 16, NULL, "children of an entry"},
    {NULL, 0, 0, 0, NULL, NULL},
};

TL_ALGO(dary_heap) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |
                    TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "dary-heap",
    .summary = "a heap with 2 to 16 children an entry, siblings in one cache line",
    .origin = "Johnson 1975; libev, Go",
    .description =
        "A heap in an array with `arity` children an entry, the keys in the array and siblings "
        "aligned to cache lines: with four children half the levels of a binary heap, each one "
        "line. Exact in everything: order, next expiry, no horizon. Bad at: expiry of very many "
        "timers, where each level moved is a cache miss; large arities, which compare more.",
    .cost = {.start = "O(log n)", .stop = "O(log n)", .tick = "O(1)", .expire = "O(log n)"},
    .options = heap_options,
    .create = heap_create,
    .destroy = heap_destroy,
    .reserve = heap_reserve,
    .start = heap_start,
    .stop = heap_stop,
    .advance = heap_advance,
    .next = heap_next,
    .count = heap_count,
    .counters = heap_counters,
    .check = heap_check,
    .place = heap_place,
    .walk = heap_walk,
};
