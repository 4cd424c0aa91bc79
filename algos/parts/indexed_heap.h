/*
 * indexed_heap.h: heaps in arrays, with the position of each id.
 *
 *   entries   [before every other] [root] ... [last]          positions   [4, 2, 5, -, 3, ...]
 *
 * `positions` is a back-index, 0 for an id that is not pending, in one block with the entries, or
 * in the records that the structure was given (records.h). How entries rise and sink is the
 * including file's; this part starts, stops, fires and numbers again. The place of an expired timer
 * stays vacant for a timer that its callback starts.
 *
 * Internal to the structures, and a template. The including file first defines
 *
 *   STRUCTURE         its own struct, with the members that are used here
 *   HEAP_ROOT(heap)   the index of the root
 *
 * and afterwards the functions that are declared below without a body.
 */
#ifndef ALGOS_INDEXED_HEAP_H
#define ALGOS_INDEXED_HEAP_H

#include "heap_entry.h"
#include "tuning.h"
#include "walk.h"

#define ENTRY              heap_entry
#define VALUE              uint32_t
#define VALUE_IDLE         0
#define PLACED_FIRST       HEAP_ROOT
#define PLACED_END(heap)   ((heap)->end)
#define PLACED_COUNT(heap) ((heap)->end - HEAP_ROOT(heap) - (heap)->vacant)
#include "placed_entries.h"
#define position_at  value_at

#define FIRST_SERIAL (UINT32_MAX - 100) /* the first renumbering comes early */

/* Return the parent of an entry that is not the root. */
static inline size_t heap_parent(const STRUCTURE *heap, size_t index);

/* Fill the hole with `entry`, which is before everything below it, or with its parents. */
static inline void rise(STRUCTURE *heap, size_t hole, heap_entry entry);

/* Fill the hole with `entry`, which is after its parent, or with its children. */
static inline void sink(STRUCTURE *heap, size_t hole, heap_entry entry);

/* Move the hole at the root to the bottom, along the first children, and fill it with `entry`, or with
 * its parents: `entry` mostly belongs at the bottom. */
static inline void fill_root(STRUCTURE *heap, heap_entry entry);

/* Write an entry, and its position. */
static inline void put(STRUCTURE *heap, size_t index, heap_entry entry)
{
    heap->entries[index] = entry;
    *position_at(heap, heap_entry_id(entry)) = (uint32_t)index;
    TL_COUNT(heap, moves, 1);
}

/* Replace the entry of an expired timer at the root. */
static void replace_root(STRUCTURE *heap, heap_entry entry)
{
    heap->vacant = false;
    fill_root(heap, entry);
}

/* Remove it. */
static void close_root(STRUCTURE *heap)
{
    heap->vacant = false;
    heap_entry last = heap->entries[--heap->end];
    if (heap->end > HEAP_ROOT(heap)) {
        replace_root(heap, last);
    }
}

/* Number the entries from 0 in the heap's order, and the fence with them. */
static void renumber(STRUCTURE *heap)
{
    if (heap->vacant) {
        close_root(heap);
    }
    uint32_t root = HEAP_ROOT(heap);
    uint32_t end = heap->end;
    while (heap->end > root) {
        heap_entry first = heap->entries[root];
        close_root(heap);
        heap->entries[heap->end] = first;
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
        put(heap, i,
            heap_entry_make(heap_entry_due(entry), (uint32_t)(i - root), heap_entry_id(entry)));
    }
    heap->end = end;
    heap->serial = end - root;
    heap->fence = heap_entry_make(heap_entry_due(heap->fence), before_fence, 0);
}

/* --- hooks ----------------------------------------------------------------------------------- */

static enum tl_status heap_start(void *self, uint32_t id, uint64_t deadline)
{
    STRUCTURE *heap = self;
    if (heap->serial == UINT32_MAX) {
        renumber(heap);
    }
    uint64_t due = deadline > heap->clock ? deadline : heap->clock;
    heap_entry entry = heap_entry_make(due, heap->serial++, id);
    size_t position = *position_at(heap, id);
    if (position == 0) {
        if (heap->vacant) {
            replace_root(heap, entry);
        } else {
            rise(heap, heap->end++, entry);
        }
        return TL_OK;
    }
    TL_COUNT(heap, compares, 1);
    if (due < heap_entry_due(heap->entries[position])) {
        rise(heap, position, entry);
    } else {
        sink(heap, position, entry);
    }
    return TL_OK;
}

static enum tl_status heap_stop(void *self, uint32_t id)
{
    STRUCTURE *heap = self;
    size_t position = *position_at(heap, id);
    if (position == 0) {
        return TL_IDLE;
    }
    *position_at(heap, id) = 0;
    heap_entry last = heap->entries[--heap->end];
    if (position < heap->end) {
        TL_COUNT(heap, compares, 1);
        if (heap_entry_before(last, heap->entries[position])) {
            rise(heap, position, last);
        } else {
            sink(heap, position, last);
        }
    }
    return TL_OK;
}

static uint64_t expire(STRUCTURE *heap, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    heap->fence = heap_entry_make(now, heap->serial, 0);
    uint64_t fired = 0;
    while (fired < budget && heap->end > HEAP_ROOT(heap)) {
        heap_entry root = heap->entries[HEAP_ROOT(heap)];
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
    STRUCTURE *heap = self;
    heap->clock = now;
    if (heap->end == HEAP_ROOT(heap)) {
        return 0;
    }
    TL_COUNT(heap, compares, 1);
    return heap_entry_due(heap->entries[HEAP_ROOT(heap)]) <= now
               ? expire(heap, now, budget, fire, ctx)
               : 0;
}

static uint64_t heap_next(const void *self)
{
    const STRUCTURE *heap = self;
    size_t root = HEAP_ROOT(heap);
    return heap->end > root ? heap_entry_due(heap->entries[root]) : TL_NEVER;
}

static enum tl_status heap_check(const void *self, char *why, size_t why_bytes)
{
    const STRUCTURE *heap = self;
    size_t root = HEAP_ROOT(heap);
    for (size_t i = root; i < heap->end; i++) {
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
    if (placed != heap->end - root) {
        return corrupt(why, why_bytes, "%zu timers have a place, %zu are in the heap", placed,
                       heap->end - root);
    }
    return TL_OK;
}

static void heap_walk(const void *self, const struct tl_visitor *visitor)
{
    const STRUCTURE *heap = self;
    size_t root = HEAP_ROOT(heap);
    walk_part(visitor, "heap", TL_FORM_TREE, 0);
    for (size_t i = root; i < heap->end; i++) {
        walk_node(visitor, i - root, i > root ? heap_parent(heap, i) - root : TL_NEVER);
        walk_timer(visitor, heap_entry_id(heap->entries[i]), heap_entry_due(heap->entries[i]), 0);
    }
}

/* For the descriptor: all hooks but create, and embedded_bytes. */
#define HEAP_HOOKS                                                                                 \
    .start = heap_start, .stop = heap_stop, .advance = heap_advance, .next = heap_next,            \
    .check = heap_check, .walk = heap_walk, .destroy = placed_destroy, .reserve = placed_reserve,  \
    .count = placed_timers, .counters = placed_counters,                                           \
    .embedded_bytes = EMBEDDED_BYTES(sizeof(VALUE)), .moved = EMBEDDED_HOOK(structure_moved)

#endif
