/*
 * index_heap.h: a binary heap of node indices, for timers that no bucket of timer_buckets.h takes.
 *
 *   heap   [40]              four bytes an entry, the first due at 0; a place has its
 *          [7] [12]          children at 2 * place + 1 and + 2
 *          [9] ...
 *
 * Internal, and a template. The including file first includes bucket_hooks.h. Its STRUCTURE has the
 * members uint32_t *heap; uint32_t heap_count. It may define
 *
 *   HEAP_KEY      the tick that orders a node in the heap `self`; default: `due`
 *   HEAP_OTHERS   the number of nodes that are no timers and may be in the heap; then it defines
 *                 heap_put
 *
 * A structure without buckets includes structure.h instead, and defines heap_key and heap_put.
 *
 * A timer in the heap has its place there in `prev`, and IN_HEAP in `next`.
 */
#ifndef ALGOS_INDEX_HEAP_H
#define ALGOS_INDEX_HEAP_H

#include "structure.h"

#define HEAP_ALIGN 64
#define IN_HEAP    (SLOT_NONE - 1) /* `next` of a timer in the heap */

/* Return the tick that orders a node. */
static inline uint64_t heap_key(const STRUCTURE *self, uint32_t index);

/* Write a node to a place, and the place to where it is kept. */
static inline void heap_put(STRUCTURE *self, uint32_t place, uint32_t index);

#ifdef ALGOS_BUCKET_HOOKS_H
#ifdef TL_COUNTERS
#define HEAP_COUNTED(self) (&(self)->buckets)
#endif
#ifndef HEAP_KEY
#define HEAP_KEY(node) ((node)->due)
#endif
static inline uint64_t heap_key(const STRUCTURE *self, uint32_t index)
{
    return HEAP_KEY(node_at(&self->buckets, index));
}
#else
#ifdef TL_COUNTERS
#define HEAP_COUNTED(self) (self)
#endif
#define HEAP_OTHERS
#endif

/* The tick that orders the node at a place. */
static inline uint64_t heap_due(const STRUCTURE *self, uint32_t place)
{
    return heap_key(self, self->heap[place]);
}

/* Put a node where it belongs, from the hole at `place` up or down. */
static void heap_sift(STRUCTURE *self, uint32_t place, uint32_t index)
{
    uint64_t due = heap_key(self, index);
    while (place > 0) {
        uint32_t parent = (place - 1) / 2;
        TL_COUNT(HEAP_COUNTED(self), compares, 1);
        if (heap_due(self, parent) <= due) {
            break;
        }
        heap_put(self, place, self->heap[parent]);
        place = parent;
    }
    for (uint32_t child = 2 * place + 1; child < self->heap_count; child = 2 * place + 1) {
        TL_COUNT(HEAP_COUNTED(self), compares, 2);
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

#ifndef HEAP_OTHERS
static inline void heap_put(STRUCTURE *self, uint32_t place, uint32_t index)
{
    self->heap[place] = index;
    node_at(&self->buckets, index)->prev = place;
    TL_COUNT(&self->buckets, moves, 1);
}

/* Add a timer that is in no list. */
static inline void heap_add(STRUCTURE *self, uint32_t index)
{
    node_at(&self->buckets, index)->next = IN_HEAP;
    heap_sift(self, self->heap_count++, index);
}

static inline void heap_remove(STRUCTURE *self, uint32_t index)
{
    uint32_t place = node_at(&self->buckets, index)->prev;
    uint32_t last = self->heap[--self->heap_count];
    node_at(&self->buckets, index)->next = SLOT_NONE;
    TL_COUNT(&self->buckets, moves, 1);
    if (last != index) {
        heap_sift(self, place, last);
    }
}

/* Move the timers with keys up to `now` to DUE. */
static inline void heap_collect_due(STRUCTURE *self, uint64_t now)
{
    while (self->heap_count > 0 && heap_due(self, 0) <= now) {
        uint32_t index = self->heap[0];
        heap_remove(self, index);
        bucket_append(&self->buckets, DUE, index);
    }
}

/* For the hook `check`: verify the order, and that each timer knows its place. */
static inline enum tl_status heap_check(const STRUCTURE *self, char *why, size_t why_bytes)
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
static inline void heap_walk(const STRUCTURE *self, const char *name,
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
#define HEAP_OTHERS(self) 0
#endif

#ifdef ALGOS_BUCKET_HOOKS_H
/* --- memory ---------------------------------------------------------------------------------- */

static inline size_t heap_entries_bytes(const STRUCTURE *self, uint32_t capacity)
{
    (void)self;
    return ((size_t)HEAP_OTHERS(self) + capacity) * sizeof *self->heap;
}

/* The hook `reserve`. */
static inline enum tl_status heap_reserve(void *structure, uint32_t capacity)
{
    STRUCTURE *self = structure;
    const struct tl_allocator *allocator = self->buckets.allocator;
    size_t bytes = heap_entries_bytes(self, capacity);
    if (bytes == 0 || (capacity <= self->buckets.capacity && self->heap != NULL)) {
        return buckets_reserve(self, capacity);
    }
    if (capacity >= IN_HEAP - self->buckets.first_timer) {
        return TL_ERR_CAPACITY;
    }
    uint32_t *heap = tl_alloc(allocator, bytes, HEAP_ALIGN);
    if (heap == NULL) {
        return TL_ERR_NOMEM;
    }
    size_t old_bytes = heap_entries_bytes(self, self->buckets.capacity);
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

/* The hook `destroy`. */
static inline void heap_destroy(void *structure)
{
    STRUCTURE *self = structure;
    tl_free(self->buckets.allocator, self->heap, heap_entries_bytes(self, self->buckets.capacity),
            HEAP_ALIGN);
    buckets_destroy(self);
}
#endif

#endif
