/*
 * binary-heap: a binary heap in an array, with an index of positions by id.
 *
 *   entries   1:[due 3, #8, id 7]
 *             2:[due 5, #2, id 1]   3:[due 4, #9, id 4]
 *             4:[due 9, #1, id 0]   5:[due 5, #3, id 2]      children of i: 2i and 2i + 1
 *
 *   positions [4, 2, 5, -, 3, -, -, 1]                       the place of each id; 0: not pending
 *
 * The order is (due, serial of the start): the root is due first, and of two equal ticks the
 * earlier start is first. start(3, 4) appends [due 4, #10] at place 6, compares it with its parent
 * 3, which has an earlier serial, and leaves it there. stop(1) moves the last entry to place 2 and
 * sifts it. advance(3) fires id 7: the hole at the root sinks to the bottom along the first
 * children, and the last entry fills it.
 *
 * An entry holds its key, so that sifting follows no reference: 16 bytes, four in a cache line; as
 * the root has index 1, two children share a line. Sifting moves a hole: one write for each level,
 * not a swap. Which child is first cannot be predicted, so it is chosen by arithmetic. Entry 0 is
 * before every other and ends each rise.
 *
 * A timer that fires leaves its entry at the root until its callback has returned. If the callback
 * starts a timer, usually its own, the new entry takes that place, so that an expiry with a restart
 * sifts once instead of twice.
 *
 * The serial has 32 bits. When a start finds none left, it sorts the entries and numbers them
 * again; a sorted array is a heap. The first serial is near the end, so that every program runs
 * this code early.
 *
 * Invariants
 *   - no entry is before its parent; serials are distinct
 *   - positions[entries[i].id] == i, and 0 for an id that is not pending, or that of a vacant root
 *   - an advance fires only entries before its fence, (now, serial at its start)
 *
 * Complexity: start, stop, restart and expiry O(log n), a tick O(1). Use it for up to some ten
 * thousand timers, or where the order and the next expiry must be exact. Bad at: expiry of very
 * many timers, because each level that an entry moves writes a position elsewhere in memory.
 *
 * Source: J. W. J. Williams, "Algorithm 232: Heapsort", CACM 7(6), 1964; I. Wegener, "Bottom-up
 * heapsort", 1993. libuv and libevent keep their timers in binary heaps of references to nodes.
 */
#include "timerlab.h"

#include "heap_entry.h"
#include "records.h"
#include "tuning.h"

/* --- data ------------------------------------------------------------------------------------- */

#define ROOT 1u

struct binary_heap {
    heap_entry *entries; /* [0] is before every other; followed by the positions, in one block */
    uint32_t *by_id AND_RECORDS; /* positions */
    uint64_t clock;
    uint32_t end;     /* the index after the last entry */
    bool vacant;      /* the timer at the root has fired, and its place is not taken yet */
    heap_entry fence; /* the running advance fires entries before this */
    uint32_t serial;
    uint32_t capacity;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#define STRUCTURE       struct binary_heap
#define HEAP_ROOT(heap) ROOT
#include "indexed_heap.h"

/* --- data: the heap --------------------------------------------------------------------------- */

static inline size_t heap_parent(const struct binary_heap *heap, size_t index)
{
    (void)heap;
    return index / 2;
}

/* The first of the children of `hole`, which has at least one. */
static inline size_t first_child(struct binary_heap *heap, size_t hole)
{
    size_t child = 2 * hole;
    if (child + 1 < heap->end) {
        TL_COUNT(heap, compares, 1);
        child += heap_entry_before(heap->entries[child + 1], heap->entries[child]);
    }
    return child;
}

/* Fill the hole with `entry`, which is before everything below it, or with its parents. */
static inline void rise(struct binary_heap *heap, size_t hole, heap_entry entry)
{
    TL_COUNT(heap, compares, hole > ROOT);
    while (heap_entry_before(entry, heap->entries[hole / 2])) {
        put(heap, hole, heap->entries[hole / 2]);
        hole /= 2;
        TL_COUNT(heap, compares, hole > ROOT);
    }
    put(heap, hole, entry);
}

/* Fill the hole with `entry`, which is after its parent, or with its children. */
static inline void sink(struct binary_heap *heap, size_t hole, heap_entry entry)
{
    while (2 * hole < heap->end) {
        size_t child = first_child(heap, hole);
        TL_COUNT(heap, compares, 1);
        if (heap_entry_before(entry, heap->entries[child])) {
            break;
        }
        put(heap, hole, heap->entries[child]);
        hole = child;
    }
    put(heap, hole, entry);
}

static inline void fill_root(struct binary_heap *heap, heap_entry entry)
{
    size_t hole = ROOT;
    while (2 * hole < heap->end) {
        if (8 * hole < heap->end) { /* the hole's grandchildren's children: two lines */
            PREFETCH(&heap->entries[8 * hole]);
            PREFETCH(&heap->entries[8 * hole + 4]);
        }
        size_t child = first_child(heap, hole);
        put(heap, hole, heap->entries[child]);
        hole = child;
    }
    rise(heap, hole, entry);
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status heap_create(const struct tl_config *config, void **self)
{
    struct binary_heap empty = {
        .allocator = config->allocator, .clock = config->now, .serial = FIRST_SERIAL, .end = ROOT};
    return structure_create(config, &empty, placed_reserve, placed_destroy, self);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(binary_heap) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |
                    TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "binary-heap",
    .summary = "an array heap with cached keys and a back-index",
    .origin = "Williams 1964; libuv, libevent",
    .description =
        "A binary heap in an array, ordered by due tick and then by start, with the keys in the "
        "array and the place of every timer in a second one. Exact in everything: order, next "
        "expiry, no horizon. Bad at: very many timers, where each level moved is a cache miss.",
    .differs =
        "timers of one tick fire in the order of their starts, as in libuv, in libevent in any "
        "order; a timer that a callback starts already due waits for the next advance, as in "
        "libevent and in libuv from 1.48 on, where older ones call it in the same turn; next has "
        "no upper limit, where libuv's is 2^31 - 1 milliseconds and libevent's 35 minutes; stop "
        "says whether the timer was pending, where uv_timer_stop and event_del answer 0 either "
        "way; a timer that starts itself when it fires sifts once, in theirs twice.",
    .cost = {.start = "O(log n)", .stop = "O(log n)", .tick = "O(1)", .expire = "O(log n)"},
    .create = heap_create,
    HEAP_HOOKS,
};
