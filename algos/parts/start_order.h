/*
 * start_order.h: the order of due tick and, among equal ticks, of start.
 *
 * Each start has a serial, one more than the start before. What callbacks start is due at `now` at
 * the earliest and has a later serial, so it comes after all that the running advance may fire.
 *
 * Internal, and a template: the including file first defines
 *
 *   struct node   with the members uint64_t due and uint64_t serial
 */
#ifndef ALGOS_START_ORDER_H
#define ALGOS_START_ORDER_H

#include "records.h"

#include <stdbool.h>
#include <stdint.h>

/* The members that ordered_nodes.h and node_array.h use. */
#define ORDERED_NODES                                                                              \
    struct node *nodes AND_RECORDS;                                                                \
    uint64_t count;                                                                                \
    uint64_t clock;                                                                                \
    uint64_t serial; /* of the next start */                                                       \
    const struct tl_allocator *allocator;                                                          \
    struct tl_counters counters;                                                                   \
    uint32_t capacity

/* The capabilities of a structure that keeps this order and finds its first timer at once. */
#define ORDERED_CAPABILITIES                                                                       \
    (TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |               \
     TL_CAP_BUDGET | TL_CAP_UNLIMITED)

static inline bool is_before(const struct node *a, const struct node *b)
{
    return (bool)((a->due < b->due) | ((a->due == b->due) & (a->serial < b->serial)));
}

#endif
