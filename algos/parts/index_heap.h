/*
 * index_heap.h: a binary heap of node indices, for timers that no bucket of timer_buckets.h takes.
 *
 *   heap   [40]              four bytes an entry, the first due at 0; a place has its
 *          [7] [12]          children at 2 * place + 1 and + 2
 *          [9] ...
 *
 * Internal, and a template. The including file first defines
 *
 *   INDEX_HEAP    its own struct, with the members struct timer_buckets buckets, which is the first;
 *                 uint32_t *heap; uint32_t heap_count
 *   HEAP_OTHERS   optional: the heap also holds nodes that are no timers
 *
 * and afterwards the functions that are declared below without a body. A timer in the heap has its
 * place there in `prev`, and IN_HEAP in `next`.
 */
#ifndef ALGOS_INDEX_HEAP_H
#define ALGOS_INDEX_HEAP_H

#include "timer_buckets.h"

#include <string.h>

#define HEAP_ALIGN 64
#define IN_HEAP    (SLOT_NONE - 1) /* `next` of a timer in the heap */

/* The tick that orders a node. The including file's. */
static inline uint64_t heap_key(const INDEX_HEAP *self, uint32_t index);

/* The tick that orders the node at a place. */
static inline uint64_t heap_due(const INDEX_HEAP *self, uint32_t place)
{
    return heap_key(self, self->heap[place]);
}

/* Write a node to a place, and the place to where it is kept. */
#ifdef HEAP_OTHERS
static inline void heap_put(INDEX_HEAP *self, uint32_t place, uint32_t index);
#else
static inline void heap_put(INDEX_HEAP *self, uint32_t place, uint32_t index)
{
    self->heap[place] = index;
    node_at(&self->buckets, index)->prev = place;
    TL_COUNT(&self->buckets, moves, 1);
}
#endif

/* Puts a node, which comes due at `due`, where it belongs, from the hole at `place` up or down. */
static NEVER_INLINE void heap_sift(INDEX_HEAP *self, uint32_t place, uint32_t index, uint64_t due)
{
    while (place > 0) {
        uint32_t parent = (place - 1) / 2;
        TL_COUNT(&self->buckets, compares, 1);
        if (heap_due(self, parent) <= due) {
            break;
        }
        heap_put(self, place, self->heap[parent]);
        place = parent;
    }
    for (uint32_t child = 2 * place + 1; child < self->heap_count; child = 2 * place + 1) {
        TL_COUNT(&self->buckets, compares, 2);
        if (child + 1 < self->heap_count && heap_due(self, child + 1) < heap_due(self, child)) {
            child++;
        }
        if (due <= heap_due(self, child)) {
            break;
        }
        heap_put(self, place, self->heap[child]);
        place = child;
    }
    heap_put(self, place, index);
}

/* For the hook `reserve`: grows heap and buckets to `capacity` timers, more than before, and
 * `others` entries of the heap that are no timers. */
static inline enum tl_status heap_reserve(INDEX_HEAP *self, uint32_t others, uint32_t capacity)
{
    const struct tl_allocator *allocator = self->buckets.allocator;
    if (capacity >= IN_HEAP - self->buckets.first_timer) {
        return TL_ERR_CAPACITY;
    }
    size_t old_bytes = ((size_t)others + self->buckets.capacity) * sizeof *self->heap;
    size_t bytes = ((size_t)others + capacity) * sizeof *self->heap;
    uint32_t *heap = tl_alloc(allocator, bytes, HEAP_ALIGN);
    if (heap == NULL) {
        return TL_ERR_NOMEM;
    }
    enum tl_status status = buckets_reserve(self, capacity);
    if (status != TL_OK) {
        tl_free(allocator, heap, bytes, HEAP_ALIGN);
        return status;
    }
    if (self->heap != NULL) {
        memcpy(heap, self->heap, self->heap_count * sizeof *heap);
        tl_free(allocator, self->heap, old_bytes, HEAP_ALIGN);
    }
    self->heap = heap;
    return TL_OK;
}

/* Frees heap and nodes. */
static inline void heap_free(INDEX_HEAP *self, uint32_t others)
{
    tl_free(self->buckets.allocator, self->heap,
            ((size_t)others + self->buckets.capacity) * sizeof *self->heap, HEAP_ALIGN);
    nodes_free(&self->buckets);
}

#ifndef HEAP_OTHERS
/* Add a timer that is in no list. */
static inline void heap_add(INDEX_HEAP *self, uint32_t index)
{
    node_at(&self->buckets, index)->next = IN_HEAP;
    heap_sift(self, self->heap_count++, index, heap_key(self, index));
}

static inline void heap_remove(INDEX_HEAP *self, uint32_t index)
{
    uint32_t place = node_at(&self->buckets, index)->prev;
    uint32_t last = self->heap[--self->heap_count];
    node_at(&self->buckets, index)->next = SLOT_NONE;
    TL_COUNT(&self->buckets, moves, 1);
    if (last != index) {
        heap_sift(self, place, last, heap_key(self, last));
    }
}

/* Move the timers with keys up to `now` to DUE. */
static inline void heap_collect_due(INDEX_HEAP *self, uint64_t now)
{
    while (self->heap_count > 0 && heap_due(self, 0) <= now) {
        uint32_t index = self->heap[0];
        heap_remove(self, index);
        bucket_append(&self->buckets, DUE, index);
    }
}

/* For the hook `check`: verify the order, and that each timer knows its place. */
static inline enum tl_status heap_check(const INDEX_HEAP *self, char *why, size_t why_bytes)
{
    for (uint32_t place = 0; place < self->heap_count; place++) {
        const struct node *node = node_at(&self->buckets, self->heap[place]);
        if (node->next != IN_HEAP || node->prev != place ||
            heap_due(self, place > 0 ? (place - 1) / 2 : 0) > heap_due(self, place)) {
            return corrupt(why, why_bytes, "the heap is wrong at place %" PRIu32, place);
        }
    }
    return TL_OK;
}

/* For the hook `walk`. */
static inline void heap_walk(const INDEX_HEAP *self, const char *name,
                             const struct tl_visitor *visitor)
{
    walk_part(visitor, name, TL_FORM_TREE, 0);
    for (uint32_t place = 0; place < self->heap_count; place++) {
        uint32_t index = self->heap[place];
        walk_node(visitor, place, place > 0 ? (place - 1) / 2 : TL_NEVER);
        walk_timer(visitor, timer_id(&self->buckets, index), node_at(&self->buckets, index)->due,
                   0);
    }
}
#endif

#endif
