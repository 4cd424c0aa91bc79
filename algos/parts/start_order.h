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

#include <stdbool.h>
#include <stdint.h>

static inline bool is_before(const struct node *a, const struct node *b)
{
    return (bool)((a->due < b->due) | ((a->due == b->due) & (a->serial < b->serial)));
}

/* Whether an advance to `now`, before which `serials` had been given, fires a timer. */
static inline bool is_due(const struct node *node, uint64_t now, uint64_t serials)
{
    return node->due <= now && node->serial < serials;
}

#endif
