/*
 * binary-heap: an array heap with a back-index, as event loops keep their timers.
 *
 *   entries   1:[due 3, #8, id 7]
 *             2:[due 5, #2, id 1]   3:[due 4, #9, id 4]
 *             4:[due 9, #1, id 0]   5:[due 5, #3, id 2]      children of i: 2i and 2i + 1
 *
 *   positions [4, 2, 5, -, 3, -, -, 1]                       where each id stands; 0: nowhere
 *
 * The heap's order is (due, serial of the start): the root is due first, and among equal ticks the
 * earlier start wins. Both are kept in the array itself, beside the id, so that sifting compares
 * without following a reference: 16 bytes an entry, four to a cache line, and because the root has
 * index 1 the two children of an entry always share a line, and its four grandchildren are one.
 * `positions` tells where an id stands, so that stop and restart find it at once.
 *
 * Sifting moves a hole: one entry is written a level, not swapped. Expiry takes the hole from the
 * root to the bottom along the smaller children and lets the last entry rise from there, which it
 * hardly ever does; a restart sifts from where the timer stands, up or down.
 *
 * The serial has 32 bits, and a start that finds them used up sorts the entries and numbers them
 * anew: a sorted array is a heap, and equal ticks keep their order, so nothing else changes. That
 * comes once in at least two thousand million starts. Numbering begins shortly before the end, so
 * that every program goes through it early (Linux starts its jiffies so).
 *
 * Invariants
 *   - no entry is before its parent; serials are distinct
 *   - positions[entries[i].id] == i for every i, and 0 for every id that is not in the heap
 *   - what an advance may fire is before its fence, (now, serial at its start): what callbacks
 *     start is due at `now` at the earliest and has a later serial
 *
 * Complexity: start, stop and restart O(log n), a tick O(1), expiry O(log n). Bad at: expiry of
 * very many timers, since every level moved writes a back-index somewhere else in memory.
 *
 * Source: J. W. J. Williams, "Algorithm 232: Heapsort", CACM 7(6), 1964; sifting to the bottom and
 * back: I. Wegener, "Bottom-up heapsort", 1993. libuv, libevent and Go keep timers in heaps.
 */
#include "timerlab.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "walk.h"

#define ROOT         ((size_t)1)
#define ENTRY_ALIGN  64 /* a cache line: siblings share one */
#define CAPACITY_MAX (UINT32_C(1) << 31)
#define FIRST_SERIAL (UINT32_MAX - 100)

struct entry {
    uint64_t due;
    uint64_t rank; /* serial << 32 | id */
};

struct binary_heap {
    struct entry *entries; /* [0] is not used; followed by the positions, in one block */
    uint32_t *positions;
    size_t count;
    uint64_t clock;
    uint32_t serial;
    uint32_t capacity;
    struct entry fence; /* what the running advance may fire is before this */
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

static inline struct entry make_entry(uint64_t due, uint32_t serial, uint32_t id)
{
    return (struct entry){.due = due, .rank = (uint64_t)serial << 32 | id};
}

static inline uint32_t entry_id(struct entry entry)
{
    return (uint32_t)entry.rank;
}

/* Without branches: which of two children is first cannot be predicted. */
static inline bool is_before(struct entry a, struct entry b)
{
    return (bool)((a.due < b.due) | ((a.due == b.due) & (a.rank < b.rank)));
}

static inline void put(struct binary_heap *heap, size_t index, struct entry entry)
{
    heap->entries[index] = entry;
    heap->positions[entry_id(entry)] = (uint32_t)index;
    TL_COUNT(heap, moves, 1);
}

/* The first of the children of `hole`, which has at least one. */
static inline size_t first_child(struct binary_heap *heap, size_t hole)
{
    size_t child = 2 * hole;
    if (child < heap->count) {
        TL_COUNT(heap, compares, 1);
        child += is_before(heap->entries[child + 1], heap->entries[child]);
    }
    return child;
}

/* Fills the hole with `entry`, which is not after anything below it, or with its parents. */
static void sift_up(struct binary_heap *heap, size_t hole, struct entry entry)
{
    while (hole > ROOT) {
        TL_COUNT(heap, compares, 1);
        if (!is_before(entry, heap->entries[hole / 2])) {
            break;
        }
        put(heap, hole, heap->entries[hole / 2]);
        hole /= 2;
    }
    put(heap, hole, entry);
}

/* Fills the hole with `entry`, which is not before its parent, or with its children. */
static void sift_down(struct binary_heap *heap, size_t hole, struct entry entry)
{
    while (2 * hole <= heap->count) {
        size_t child = first_child(heap, hole);
        TL_COUNT(heap, compares, 1);
        if (!is_before(heap->entries[child], entry)) {
            break;
        }
        put(heap, hole, heap->entries[child]);
        hole = child;
    }
    put(heap, hole, entry);
}

/* Takes the root out of a heap that is not empty. */
static struct entry take_root(struct binary_heap *heap)
{
    struct entry root = heap->entries[ROOT];
    struct entry last = heap->entries[heap->count--];
    heap->positions[entry_id(root)] = 0;
    if (heap->count == 0) {
        return root;
    }
    size_t hole = ROOT;
    while (2 * hole <= heap->count) {
        if (8 * hole <= heap->count) { /* the hole's grandchildren's children: two lines */
            __builtin_prefetch(&heap->entries[8 * hole]);
            __builtin_prefetch(&heap->entries[8 * hole + 4]);
        }
        size_t child = first_child(heap, hole);
        put(heap, hole, heap->entries[child]);
        hole = child;
    }
    sift_up(heap, hole, last);
    return root;
}

/* Numbers the entries from 0 in the heap's order, and the fence with them. */
static void renumber(struct binary_heap *heap)
{
    size_t count = heap->count;
    while (heap->count > 0) {
        struct entry root = take_root(heap);
        heap->entries[heap->count + 1] = root;
    }
    for (size_t low = ROOT, high = count; low < high; low++, high--) {
        struct entry swapped = heap->entries[low];
        heap->entries[low] = heap->entries[high];
        heap->entries[high] = swapped;
    }
    uint32_t before_fence = 0;
    for (size_t i = ROOT; i <= count; i++) {
        struct entry entry = heap->entries[i];
        before_fence += is_before(entry, heap->fence);
        put(heap, i, make_entry(entry.due, (uint32_t)(i - ROOT), entry_id(entry)));
    }
    heap->count = count;
    heap->serial = (uint32_t)count;
    heap->fence = make_entry(heap->fence.due, before_fence, 0);
}

static size_t entries_bytes(uint32_t capacity)
{
    return ((size_t)capacity + 1) * sizeof(struct entry);
}

static size_t block_bytes(uint32_t capacity)
{
    return entries_bytes(capacity) + (size_t)capacity * sizeof(uint32_t);
}

static enum tl_status heap_reserve(void *self, uint32_t capacity)
{
    struct binary_heap *heap = self;
    if (capacity <= heap->capacity && heap->entries != NULL) {
        return TL_OK;
    }
    if (capacity > CAPACITY_MAX) {
        return TL_ERR_CAPACITY;
    }
    struct entry *entries = tl_alloc(heap->allocator, block_bytes(capacity), ENTRY_ALIGN);
    if (entries == NULL) {
        return TL_ERR_NOMEM;
    }
    uint32_t *positions = (uint32_t *)(void *)((char *)entries + entries_bytes(capacity));
    memset(positions, 0, (size_t)capacity * sizeof *positions);
    if (heap->entries != NULL) {
        memcpy(&entries[ROOT], &heap->entries[ROOT], heap->count * sizeof *entries);
        memcpy(positions, heap->positions, (size_t)heap->capacity * sizeof *positions);
        tl_free(heap->allocator, heap->entries, block_bytes(heap->capacity), ENTRY_ALIGN);
    }
    heap->entries = entries;
    heap->positions = positions;
    heap->capacity = capacity;
    return TL_OK;
}

static void heap_destroy(void *self)
{
    struct binary_heap *heap = self;
    tl_free(heap->allocator, heap->entries, block_bytes(heap->capacity), ENTRY_ALIGN);
    tl_free(heap->allocator, heap, sizeof *heap, alignof(struct binary_heap));
}

static enum tl_status heap_create(const struct tl_config *config, void **self)
{
    struct binary_heap *heap =
        tl_alloc(config->allocator, sizeof *heap, alignof(struct binary_heap));
    if (heap == NULL) {
        return TL_ERR_NOMEM;
    }
    *heap = (struct binary_heap){
        .allocator = config->allocator, .clock = config->now, .serial = FIRST_SERIAL};
    enum tl_status status = heap_reserve(heap, config->capacity);
    if (status != TL_OK) {
        tl_free(config->allocator, heap, sizeof *heap, alignof(struct binary_heap));
        return status;
    }
    *self = heap;
    return TL_OK;
}

static enum tl_status heap_start(void *self, uint32_t id, uint64_t deadline)
{
    struct binary_heap *heap = self;
    if (heap->serial == UINT32_MAX) {
        renumber(heap);
    }
    uint64_t due = deadline > heap->clock ? deadline : heap->clock;
    struct entry entry = make_entry(due, heap->serial++, id);
    size_t position = heap->positions[id];
    if (position == 0) {
        sift_up(heap, ++heap->count, entry);
        return TL_OK;
    }
    /* Children and grandchildren come with the entry: a timer is mostly restarted to later. */
    if (4 * position <= heap->count) {
        __builtin_prefetch(&heap->entries[2 * position], 1);
        __builtin_prefetch(&heap->entries[4 * position], 1);
    }
    TL_COUNT(heap, compares, 1);
    if (is_before(entry, heap->entries[position])) {
        sift_up(heap, position, entry);
    } else {
        sift_down(heap, position, entry);
    }
    return TL_OK;
}

static enum tl_status heap_stop(void *self, uint32_t id)
{
    struct binary_heap *heap = self;
    size_t position = heap->positions[id];
    if (position == 0) {
        return TL_IDLE;
    }
    heap->positions[id] = 0;
    struct entry last = heap->entries[heap->count--];
    if (position <= heap->count) {
        TL_COUNT(heap, compares, 1);
        if (is_before(last, heap->entries[position])) {
            sift_up(heap, position, last);
        } else {
            sift_down(heap, position, last);
        }
    }
    return TL_OK;
}

static uint64_t heap_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct binary_heap *heap = self;
    heap->clock = now;
    heap->fence = make_entry(now, heap->serial, 0);
    uint64_t fired = 0;
    while (fired < budget && heap->count > 0) {
        TL_COUNT(heap, compares, 1);
        if (!is_before(heap->entries[ROOT], heap->fence)) {
            break;
        }
        struct entry root = take_root(heap);
        fired++;
        fire(ctx, entry_id(root), now);
    }
    return fired;
}

static uint64_t heap_next(const void *self)
{
    const struct binary_heap *heap = self;
    return heap->count > 0 ? heap->entries[ROOT].due : TL_NEVER;
}

static uint64_t heap_count(const void *self)
{
    return ((const struct binary_heap *)self)->count;
}

static void heap_counters(const void *self, struct tl_counters *out)
{
    *out = ((const struct binary_heap *)self)->counters;
}

static enum tl_status heap_check(const void *self, char *why, size_t why_bytes)
{
    const struct binary_heap *heap = self;
    for (size_t i = ROOT; i <= heap->count; i++) {
        struct entry entry = heap->entries[i];
        if (i > ROOT && is_before(entry, heap->entries[i / 2])) {
            (void)snprintf(why, why_bytes, "timer %" PRIu32 " stands below a later one",
                           entry_id(entry));
            return TL_ERR_CORRUPT;
        }
        if (entry_id(entry) >= heap->capacity || heap->positions[entry_id(entry)] != i) {
            (void)snprintf(why, why_bytes, "the back-index of timer %" PRIu32 " is not %zu",
                           entry_id(entry), i);
            return TL_ERR_CORRUPT;
        }
    }
    size_t placed = 0;
    for (uint32_t id = 0; id < heap->capacity; id++) {
        placed += heap->positions[id] != 0;
    }
    if (placed != heap->count) {
        (void)snprintf(why, why_bytes, "%zu timers have a place, %zu are in the heap", placed,
                       heap->count);
        return TL_ERR_CORRUPT;
    }
    return TL_OK;
}

static enum tl_status heap_place(const void *self, uint32_t id, struct tl_place *out)
{
    const struct binary_heap *heap = self;
    size_t position = heap->positions[id];
    if (position == 0) {
        return TL_IDLE;
    }
    *out = (struct tl_place){.slot = position - ROOT, .bucket = heap->entries[position].due};
    return TL_OK;
}

static void heap_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct binary_heap *heap = self;
    walk_part(visitor, "heap", TL_FORM_TREE, 0);
    for (size_t i = ROOT; i <= heap->count; i++) {
        walk_node(visitor, i - ROOT, i > ROOT ? i / 2 - ROOT : TL_NEVER);
        walk_timer(visitor, entry_id(heap->entries[i]), heap->entries[i].due, 0);
    }
}

TL_ALGO(binary_heap) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |
                    TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "binary-heap",
    .summary = "an array heap with cached keys and a back-index",
    .origin = "Williams 1964; libuv, libevent",
    .description =
        "A binary heap in an array, ordered by due tick and then by start, with the keys in the "
        "array and the place of every timer beside it: start, stop and restart take a number of "
        "steps that grows with the logarithm of the timers. Exact in everything: order, next "
        "expiry, no horizon. Bad at: very many timers, where each level moved is a cache miss.",
    .cost = {.start = "O(log n)", .stop = "O(log n)", .tick = "O(1)", .expire = "O(log n)"},
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
