/*
 * indexed_heap.h: heaps in arrays, with the position of each id.
 *
 *   entries   [before every other] [root] ... [last]          positions   [4, 2, 5, -, 3, ...]
 *
 * `positions` is a back-index, 0 for an id that is not pending, in one block with the entries, or
 * in the records that the structure was given (records.h). How entries rise and sink is the
 * including file's; this part fires, numbers again and allocates. The place of an expired timer
 * stays vacant for a timer that its callback starts.
 *
 * Internal to the structures, and a template. The including file first defines
 *
 *   INDEXED_HEAP   the struct, with the members that are used here
 *
 * and afterwards the functions that are declared below without a body.
 */
#ifndef ALGOS_INDEXED_HEAP_H
#define ALGOS_INDEXED_HEAP_H

#include "check.h"
#include "heap_entry.h"
#include "timerlab.h"
#include "walk.h"

#include <inttypes.h>

#define FIRST_SERIAL (UINT32_MAX - 100) /* the first renumbering comes early */

/* The index of the root, and the one after the last entry. The including file's, like the rest. */
static inline size_t heap_root(const INDEXED_HEAP *heap);
static inline size_t heap_end(const INDEXED_HEAP *heap);
static inline void heap_set_end(INDEXED_HEAP *heap, size_t end);

/* The parent of an entry that is not the root. */
static inline size_t heap_parent(const INDEXED_HEAP *heap, size_t index);

/* Remove the entry of an expired timer at the root; the root is not vacant then. */
static void close_root(INDEXED_HEAP *heap);

#define PLACED       INDEXED_HEAP
#define ENTRY        heap_entry
#define VALUE        uint32_t
#define VALUE_IDLE   0
#define PLACED_FIRST heap_root
#define PLACED_END   heap_end
#include "placed_entries.h"
#define position_at value_at

/* Write an entry, and its position. */
static inline void put(INDEXED_HEAP *heap, size_t index, heap_entry entry)
{
    heap->entries[index] = entry;
    *position_at(heap, heap_entry_id(entry)) = (uint32_t)index;
}

/* Number the entries from 0 in the heap's order, and the fence with them. */
static void renumber(INDEXED_HEAP *heap)
{
    if (heap->vacant) {
        close_root(heap);
    }
    size_t root = heap_root(heap);
    size_t end = heap_end(heap);
    while (heap_end(heap) > root) {
        heap_entry first = heap->entries[root];
        close_root(heap);
        heap->entries[heap_end(heap)] = first;
    }
    for (size_t low = root, high = end; low + 1 < high; low++) {
        heap_entry swapped = heap->entries[low];
        heap->entries[low] = heap->entries[--high];
        heap->entries[high] = swapped;
    }
    uint32_t before_fence = 0;
    for (size_t i = root; i < end; i++) {
        heap_entry entry = heap->entries[i];
        before_fence += heap_entry_before(entry, heap->fence);
        TL_COUNT(heap, moves, 1);
        put(heap, i,
            heap_entry_make(heap_entry_due(entry), (uint32_t)(i - root), heap_entry_id(entry)));
    }
    heap_set_end(heap, end);
    heap->serial = (uint32_t)(end - root);
    heap->fence = heap_entry_make(heap_entry_due(heap->fence), before_fence, 0);
}

/* --- hooks ----------------------------------------------------------------------------------- */

/* Not inlined, so that an advance without expiries needs no stack frame. */
static uint64_t expire(INDEXED_HEAP *heap, uint64_t now, uint64_t budget, tl_fire_fn fire,
                       void *ctx)
{
    heap->fence = heap_entry_make(now, heap->serial, 0);
    uint64_t fired = 0;
    while (fired < budget && heap_end(heap) > heap_root(heap)) {
        heap_entry root = heap->entries[heap_root(heap)];
        TL_COUNT(heap, compares, 1);
        if (!heap_entry_before(root, heap->fence)) {
            break;
        }
        *position_at(heap, heap_entry_id(root)) = 0;
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
    INDEXED_HEAP *heap = self;
    heap->clock = now;
    if (heap_end(heap) == heap_root(heap)) {
        return 0;
    }
    TL_COUNT(heap, compares, 1);
    return heap_entry_due(heap->entries[heap_root(heap)]) <= now
               ? expire(heap, now, budget, fire, ctx)
               : 0;
}

static uint64_t heap_next(const void *self)
{
    const INDEXED_HEAP *heap = self;
    size_t root = heap_root(heap);
    return heap_end(heap) > root ? heap_entry_due(heap->entries[root]) : TL_NEVER;
}

static uint64_t heap_count(const void *self)
{
    const INDEXED_HEAP *heap = self;
    return heap_end(heap) - heap_root(heap) - heap->vacant;
}

static enum tl_status heap_reserve(void *self, uint32_t capacity)
{
    INDEXED_HEAP *heap = self;
    enum tl_status status = placed_reserve(heap, capacity);
    if (status == TL_OK) {
        heap->entries[heap_root(heap) - 1] = heap_entry_make(0, 0, 0); /* before every other */
    }
    return status;
}

static enum tl_status heap_check(const void *self, char *why, size_t why_bytes)
{
    const INDEXED_HEAP *heap = self;
    size_t root = heap_root(heap);
    for (size_t i = root; i < heap_end(heap); i++) {
        heap_entry entry = heap->entries[i];
        uint32_t id = heap_entry_id(entry);
        if (i > root && heap_entry_before(entry, heap->entries[heap_parent(heap, i)])) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " is below a later one", id);
        }
        if (id >= heap->capacity || *position_at(heap, id) != i) {
            return corrupt(why, why_bytes, "the back-index of timer %" PRIu32 " is not %zu", id, i);
        }
    }
    size_t placed = placed_count(heap);
    if (placed != heap_end(heap) - root) {
        return corrupt(why, why_bytes, "%zu timers have a place, %zu are in the heap", placed,
                       heap_end(heap) - root);
    }
    return TL_OK;
}

static void heap_walk(const void *self, const struct tl_visitor *visitor)
{
    const INDEXED_HEAP *heap = self;
    size_t root = heap_root(heap);
    walk_part(visitor, "heap", TL_FORM_TREE, 0);
    for (size_t i = root; i < heap_end(heap); i++) {
        walk_node(visitor, i - root, i > root ? heap_parent(heap, i) - root : TL_NEVER);
        walk_timer(visitor, heap_entry_id(heap->entries[i]), heap_entry_due(heap->entries[i]), 0);
    }
}

/* For the descriptor: the hooks of this file, and embedded_bytes. */
#define HEAP_HOOKS                                                                                 \
    .destroy = placed_destroy, .reserve = heap_reserve, .advance = heap_advance,                   \
    .next = heap_next, .count = heap_count, .counters = placed_counters, .check = heap_check,      \
    .walk = heap_walk, .embedded_bytes = EMBEDDED_BYTES(sizeof(uint32_t)),                         \
    .moved = EMBEDDED_HOOK(placed_moved)

#endif
