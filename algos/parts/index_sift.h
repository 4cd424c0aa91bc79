/*
 * index_sift.h: a binary heap of indices, four bytes an entry.
 *
 *   heap   [40]              the first due at 0; a place has its children at 2 * place + 1 and + 2
 *          [7] [12]
 *          [9] ...
 *
 * Internal, and a template. The including file first defines
 *
 *   INDEX_HEAP           its own struct, with the members uint32_t *heap; uint32_t heap_count
 *   HEAP_COUNTERS(self)  the struct in it that has the member counters
 *
 * and afterwards the functions that are declared below without a body.
 */
#ifndef ALGOS_INDEX_SIFT_H
#define ALGOS_INDEX_SIFT_H

#include "timerlab.h"
#include "tuning.h"

/* Return the tick that orders an index. The including file's. */
static inline uint64_t heap_key(const INDEX_HEAP *self, uint32_t index);

/* Return the tick that orders the entry at a place. */
static inline uint64_t heap_due(const INDEX_HEAP *self, uint32_t place)
{
    return heap_key(self, self->heap[place]);
}

/* Write an index to a place, and the place to where it is kept. The including file's. */
static inline void heap_put(INDEX_HEAP *self, uint32_t place, uint32_t index);

/* Put an index that is due at `due` where it belongs, from the hole at `place` up or down. */
static NEVER_INLINE void heap_sift(INDEX_HEAP *self, uint32_t place, uint32_t index, uint64_t due)
{
    while (place > 0) {
        uint32_t parent = (place - 1) / 2;
        TL_COUNT(HEAP_COUNTERS(self), compares, 1);
        if (heap_due(self, parent) <= due) {
            break;
        }
        heap_put(self, place, self->heap[parent]);
        place = parent;
    }
    for (uint32_t child = 2 * place + 1; child < self->heap_count; child = 2 * place + 1) {
        TL_COUNT(HEAP_COUNTERS(self), compares, 2);
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

#endif
