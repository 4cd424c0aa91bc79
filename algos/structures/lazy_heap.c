/*
 * lazy-heap: a heap in which stop only marks.
 *
 *   entries    [due 3, #8, id 7]                  live: the id's serial is 8
 *              [due 4, #2, id 1] [due 5, #5, id 1]     the first is stale: id 1 was restarted as 5
 *              [due 9, #6, id 4] ...                                    stale: id 4 was stopped
 *   serials    id 1: 5   id 4: none   id 7: 8   ...
 *
 * Finding an entry in a heap needs a back-index, and keeping that up costs a write to another place
 * for every entry that moves. A lazy heap has none: stop forgets the serial of the timer's start,
 * restart gives it a new one and a new entry, and the old entry stays where it is until it reaches
 * the top, where its serial tells that it means nothing any more. Stop is one write; sifting moves
 * entries and nothing else. A timer that is reused cannot be mistaken for what it was: serials are
 * never given twice among the entries of the heap.
 *
 * The price is memory: whoever stops nearly everything fills the heap with what is gone. So, when
 * stale entries are more than `compact` percent of all, the array is swept and made a heap again,
 * which the stops and restarts since the last sweep have paid for. Go sweeps at a quarter;
 * compact=never waits for the top, as brpc's timer thread does, and as Go did not for long.
 *
 * The array holds as many entries as there are ids, and doubles on demand. Where memory for that is
 * missing, the heap is swept instead, and always has room for one entry an id; so a start never
 * fails. A sweep that leaves it less than a quarter full gives half of the rest back.
 *
 * Serials have 32 bits; when they are used up, the heap is swept, sorted, and numbered anew.
 *
 * Invariants
 *   - no entry is before its parent (four children each) in the order (due, serial)
 *   - an entry is live exactly if serials[its id] is its serial; every pending timer has one live
 *     entry; `live` counts them
 *   - what an advance may fire is before its fence, (now, serial at its start)
 *
 * Complexity (n: entries, stale ones included): start and restart O(log n), stop O(1) amortised, a
 * tick O(1), expiry O(log n), one sweep O(n). Bad at: memory when most timers are stopped; the
 * sweep itself, all within one operation; `next`, which may name the tick of a stale entry.
 *
 * Source: Go, runtime/time.go (timerZombie, a quarter); apache/brpc, bthread/timer_thread.cpp
 * (unschedule by version).
 */
#include "timerlab.h"

#include <inttypes.h>
#include <string.h>

#include "check.h"
#include "walk.h"

#define ARITY         4u
#define ROOT          ((size_t)3) /* the children of an entry begin at a multiple of 4: one line */
#define ENTRY_ALIGN   64
#define CAPACITY_MAX  (UINT32_C(1) << 30)
#define ENTRIES_MAX   (UINT32_C(1) << 31)
#define NO_SERIAL     0u
#define FIRST_SERIAL  (UINT32_MAX - 100) /* the first numbering anew comes early */
#define COMPACT_NEVER 100

enum option { OPTION_COMPACT };

struct entry {
    uint64_t due;
    uint64_t rank; /* serial << 32 | id */
};

struct lazy_heap {
    struct entry *entries; /* from ROOT to `end` */
    uint32_t *serials;     /* of each id's live entry; NO_SERIAL: not pending */
    size_t end;
    size_t room; /* entries that fit, ROOT not counted */
    uint64_t live;
    unsigned compact; /* percent */
    uint32_t serial;
    uint32_t capacity;
    uint64_t clock;
    struct entry fence; /* what the running advance may fire is before this */
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#define STRUCTURE struct lazy_heap
#include "structure.h"

static inline struct entry make_entry(uint64_t due, uint32_t serial, uint32_t id)
{
    return (struct entry){.due = due, .rank = (uint64_t)serial << 32 | id};
}

static inline uint32_t entry_id(struct entry entry)
{
    return (uint32_t)entry.rank;
}

static inline uint32_t entry_serial(struct entry entry)
{
    return (uint32_t)(entry.rank >> 32);
}

static inline bool is_before(struct entry a, struct entry b)
{
    return (bool)((a.due < b.due) | ((a.due == b.due) & (a.rank < b.rank)));
}

static inline bool is_live(const struct lazy_heap *heap, struct entry entry)
{
    return heap->serials[entry_id(entry)] == entry_serial(entry);
}

static inline size_t parent_of(size_t index)
{
    return index / ARITY + ROOT - 1;
}

static inline size_t children_of(size_t index)
{
    return ARITY * (index - ROOT + 1);
}

static inline void put(struct lazy_heap *heap, size_t index, struct entry entry)
{
    heap->entries[index] = entry;
    TL_COUNT(heap, moves, 1);
}

static inline size_t first_of(struct lazy_heap *heap, size_t child)
{
    const struct entry *entries = heap->entries;
    if (child + ARITY <= heap->end) {
        TL_COUNT(heap, compares, ARITY - 1);
        size_t a = child + is_before(entries[child + 1], entries[child]);
        size_t b = child + 2 + is_before(entries[child + 3], entries[child + 2]);
        return is_before(entries[b], entries[a]) ? b : a;
    }
    size_t best = child;
    for (size_t i = child + 1; i < heap->end; i++) {
        TL_COUNT(heap, compares, 1);
        best = is_before(entries[i], entries[best]) ? i : best;
    }
    return best;
}

static void sift_up(struct lazy_heap *heap, size_t hole, struct entry entry)
{
    while (hole > ROOT) {
        TL_COUNT(heap, compares, 1);
        if (!is_before(entry, heap->entries[parent_of(hole)])) {
            break;
        }
        put(heap, hole, heap->entries[parent_of(hole)]);
        hole = parent_of(hole);
    }
    put(heap, hole, entry);
}

static void sift_down(struct lazy_heap *heap, size_t hole, struct entry entry)
{
    for (size_t child = children_of(hole); child < heap->end; child = children_of(hole)) {
        size_t first = first_of(heap, child);
        TL_COUNT(heap, compares, 1);
        if (!is_before(heap->entries[first], entry)) {
            break;
        }
        put(heap, hole, heap->entries[first]);
        hole = first;
    }
    put(heap, hole, entry);
}

/* Takes the root out of a heap that is not empty. */
static struct entry take_root(struct lazy_heap *heap)
{
    struct entry root = heap->entries[ROOT];
    struct entry last = heap->entries[--heap->end];
    if (heap->end == ROOT) {
        return root;
    }
    size_t hole = ROOT;
    for (size_t child = children_of(hole); child < heap->end; child = children_of(hole)) {
        const struct entry *below = &heap->entries[children_of(child)];
        for (size_t i = 0; i < (size_t)ARITY * ARITY; i += ARITY) {
            __builtin_prefetch(below + i);
        }
        size_t first = first_of(heap, child);
        put(heap, hole, heap->entries[first]);
        hole = first;
    }
    sift_up(heap, hole, last);
    return root;
}

static size_t entries_bytes(size_t room)
{
    return (ROOT + room) * sizeof(struct entry);
}

/* Gives the array room for `room` entries, at least as many as there are. False: as before. */
static bool resize_entries(struct lazy_heap *heap, size_t room)
{
    struct entry *entries = heap->allocator->resize(
        heap->allocator->ctx, heap->entries, heap->entries != NULL ? entries_bytes(heap->room) : 0,
        entries_bytes(room), ENTRY_ALIGN);
    if (entries == NULL) {
        return false;
    }
    heap->entries = entries;
    heap->room = room;
    return true;
}

/* Drops all stale entries, and makes a heap of the rest. */
static void sweep(struct lazy_heap *heap)
{
    size_t kept = ROOT;
    for (size_t i = ROOT; i < heap->end; i++) {
        if (is_live(heap, heap->entries[i])) {
            put(heap, kept++, heap->entries[i]);
        }
    }
    heap->end = kept;
    if (kept > ROOT + 1) {
        for (size_t i = parent_of(kept - 1); i >= ROOT; i--) {
            sift_down(heap, i, heap->entries[i]);
        }
    }
}

/* Sweeps, and numbers the entries from 1 in the heap's order, and the fence with them. */
static void renumber(struct lazy_heap *heap)
{
    sweep(heap);
    size_t end = heap->end;
    while (heap->end > ROOT) {
        struct entry root = take_root(heap);
        heap->entries[heap->end] = root;
    }
    for (size_t low = ROOT, high = end; low + 1 < high; low++) {
        struct entry swapped = heap->entries[low];
        heap->entries[low] = heap->entries[--high];
        heap->entries[high] = swapped;
    }
    uint32_t serial = NO_SERIAL + 1;
    uint32_t fence = serial;
    for (size_t i = ROOT; i < end; i++, serial++) {
        struct entry entry = heap->entries[i];
        fence += is_before(entry, heap->fence);
        put(heap, i, make_entry(entry.due, serial, entry_id(entry)));
        heap->serials[entry_id(entry)] = serial;
    }
    heap->end = end;
    heap->serial = serial;
    heap->fence = make_entry(heap->fence.due, fence, 0);
}

/* After an entry has become stale: sweeps if there are too many of them. */
static void limit_stale(struct lazy_heap *heap)
{
    uint64_t entries = heap->end - ROOT;
    if (heap->compact == COMPACT_NEVER || (entries - heap->live) * 100 <= entries * heap->compact) {
        return;
    }
    sweep(heap);
    /* Half of what is free may go; what the ids need stays. Failing to shrink changes nothing. */
    size_t room = heap->room / 2 > heap->capacity ? heap->room / 2 : heap->capacity;
    if (heap->live < heap->room / 4 && room < heap->room) {
        (void)resize_entries(heap, room);
    }
}

/* Leaves the entry of a timer behind that may be pending. False: it was not. */
static bool leave_stale(struct lazy_heap *heap, uint32_t id)
{
    if (heap->serials[id] == NO_SERIAL) {
        return false;
    }
    heap->serials[id] = NO_SERIAL;
    heap->live--;
    TL_COUNT(heap, moves, 1);
    limit_stale(heap);
    return true;
}

/* Makes room for one more entry, of a timer that has none live. */
static void make_room(struct lazy_heap *heap)
{
    if (heap->end - ROOT < heap->room) {
        return;
    }
    if (heap->room > ENTRIES_MAX / 2 || !resize_entries(heap, 2 * heap->room)) {
        sweep(heap);
    }
}

static enum tl_status heap_start(void *self, uint32_t id, uint64_t deadline)
{
    struct lazy_heap *heap = self;
    (void)leave_stale(heap, id);
    if (heap->serial == UINT32_MAX) {
        renumber(heap);
    }
    make_room(heap);
    uint64_t due = deadline > heap->clock ? deadline : heap->clock;
    heap->serials[id] = heap->serial;
    heap->live++;
    sift_up(heap, heap->end++, make_entry(due, heap->serial++, id));
    return TL_OK;
}

static enum tl_status heap_stop(void *self, uint32_t id)
{
    return leave_stale(self, id) ? TL_OK : TL_IDLE;
}

/* Apart from heap_advance, so that a tick at which nothing is due costs no more than to see that.
 */
static __attribute__((noinline)) uint64_t expire(struct lazy_heap *heap, uint64_t now,
                                                 uint64_t budget, tl_fire_fn fire, void *ctx)
{
    heap->fence = make_entry(now, heap->serial, 0);
    uint64_t fired = 0;
    while (fired < budget && heap->end > ROOT) {
        TL_COUNT(heap, compares, 1);
        if (!is_before(heap->entries[ROOT], heap->fence)) {
            break;
        }
        struct entry root = take_root(heap);
        if (is_live(heap, root)) {
            heap->serials[entry_id(root)] = NO_SERIAL;
            heap->live--;
            fired++;
            fire(ctx, entry_id(root), now);
        }
    }
    return fired;
}

static uint64_t heap_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct lazy_heap *heap = self;
    heap->clock = now;
    if (heap->end == ROOT) {
        return 0;
    }
    TL_COUNT(heap, compares, 1);
    return heap->entries[ROOT].due <= now ? expire(heap, now, budget, fire, ctx) : 0;
}

static uint64_t heap_next(const void *self)
{
    const struct lazy_heap *heap = self;
    return heap->live > 0 ? heap->entries[ROOT].due : TL_NEVER;
}

/* Never nothing. */
static size_t serials_bytes(uint32_t capacity)
{
    return capacity > 0 ? (size_t)capacity * sizeof(uint32_t) : 1;
}

static enum tl_status heap_reserve(void *self, uint32_t capacity)
{
    struct lazy_heap *heap = self;
    bool fresh = heap->serials == NULL;
    if (capacity <= heap->capacity && !fresh) {
        return TL_OK;
    }
    if (capacity > CAPACITY_MAX) {
        return TL_ERR_CAPACITY;
    }
    uint32_t *serials = tl_alloc(heap->allocator, serials_bytes(capacity), alignof(uint32_t));
    if (serials == NULL) {
        return TL_ERR_NOMEM;
    }
    size_t room = heap->room > capacity ? heap->room : capacity;
    if ((fresh || room > heap->room) && !resize_entries(heap, room)) {
        tl_free(heap->allocator, serials, serials_bytes(capacity), alignof(uint32_t));
        return TL_ERR_NOMEM;
    }
    if (!fresh) {
        memcpy(serials, heap->serials, (size_t)heap->capacity * sizeof *serials);
        tl_free(heap->allocator, heap->serials, serials_bytes(heap->capacity), alignof(uint32_t));
    }
    for (uint32_t id = heap->capacity; id < capacity; id++) {
        serials[id] = NO_SERIAL;
    }
    heap->serials = serials;
    heap->capacity = capacity;
    return TL_OK;
}

static enum tl_status heap_create(const struct tl_config *config, void **self)
{
    struct lazy_heap empty = {
        .end = ROOT,
        .compact = (unsigned)config->options[OPTION_COMPACT],
        .serial = FIRST_SERIAL,
        .clock = config->now,
        .allocator = config->allocator,
    };
    return structure_create(config, &empty, heap_reserve, self);
}

static void heap_destroy(void *self)
{
    struct lazy_heap *heap = self;
    tl_free(heap->allocator, heap->entries, entries_bytes(heap->room), ENTRY_ALIGN);
    tl_free(heap->allocator, heap->serials, serials_bytes(heap->capacity), alignof(uint32_t));
    structure_free(heap, heap->allocator);
}

static const struct tl_choice compact_choices[] = {
    {"never", COMPACT_NEVER, "stale entries go when they reach the top"},
    {NULL, 0, NULL},
};

static const struct tl_option heap_options[] = {
    [OPTION_COMPACT] = {"compact", 25, 1, COMPACT_NEVER - 1, compact_choices,
                        "percent of stale entries above which the heap is swept"},
    {NULL, 0, 0, 0, NULL, NULL},
};

static uint64_t heap_count(const void *self)
{
    return ((const struct lazy_heap *)self)->live;
}

static void heap_counters(const void *self, struct tl_counters *out)
{
    *out = ((const struct lazy_heap *)self)->counters;
}

static enum tl_status heap_check(const void *self, char *why, size_t why_bytes)
{
    const struct lazy_heap *heap = self;
    uint64_t live = 0;
    for (size_t i = ROOT; i < heap->end; i++) {
        struct entry entry = heap->entries[i];
        if (i > ROOT && is_before(entry, heap->entries[parent_of(i)])) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " stands below a later one",
                           entry_id(entry));
        }
        live += is_live(heap, entry);
    }
    uint64_t pending = 0;
    for (uint32_t id = 0; id < heap->capacity; id++) {
        pending += heap->serials[id] != NO_SERIAL;
    }
    if (live != heap->live || pending != heap->live || heap->end - ROOT > heap->room) {
        return corrupt(why, why_bytes,
                       "%" PRIu64 " live entries, %" PRIu64 " pending timers, %" PRIu64 " counted",
                       live, pending, heap->live);
    }
    return TL_OK;
}

static void heap_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct lazy_heap *heap = self;
    walk_part(visitor, "heap", TL_FORM_TREE, 0);
    for (size_t i = ROOT; i < heap->end; i++) {
        struct entry entry = heap->entries[i];
        walk_node(visitor, i - ROOT, i > ROOT ? parent_of(i) - ROOT : TL_NEVER);
        if (is_live(heap, entry)) {
            walk_timer(visitor, entry_id(entry), entry.due, 0);
        } else {
            walk_stale(visitor, entry_id(entry), entry.due);
        }
    }
}

/* There is no back-index, so this looks through the array. */
static enum tl_status heap_place(const void *self, uint32_t id, struct tl_place *out)
{
    const struct lazy_heap *heap = self;
    if (heap->serials[id] == NO_SERIAL) {
        return TL_IDLE;
    }
    size_t i = ROOT;
    while (entry_id(heap->entries[i]) != id || !is_live(heap, heap->entries[i])) {
        i++;
    }
    *out = (struct tl_place){.slot = i - ROOT, .bucket = heap->entries[i].due};
    return TL_OK;
}

TL_ALGO(lazy_heap) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET |
                    TL_CAP_UNLIMITED | TL_CAP_ALLOCATES,
    .name = "lazy-heap",
    .summary = "a heap in which stop only marks; stale entries are swept by the share",
    .origin = "Go runtime, brpc",
    .description =
        "A heap of four children an entry without a back-index: stop forgets the timer's serial "
        "and leaves the entry, restart adds another, and what is stale is dropped when it reaches "
        "the top, or when it is more than `compact` percent of the heap and all is swept. Bad at: "
        "memory when most timers are stopped (compact=never keeps every one until its tick "
        "comes), the sweep within one operation, and `next`, which may name a stale entry's tick.",
    .cost = {.start = "O(log n)",
             .stop = "O(1) amortised",
             .tick = "O(1)",
             .expire = "O(log n), stale entries too"},
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
