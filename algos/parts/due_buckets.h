/*
 * due_buckets.h: timer_buckets.h with timers that keep the tick at which they are due.
 *
 * Internal, and a template. The including file first defines BUCKET_STRIPES.
 */
#ifndef ALGOS_DUE_BUCKETS_H
#define ALGOS_DUE_BUCKETS_H

#include <stdint.h>

struct node {
    uint64_t due;
    uint32_t next;
    uint32_t prev;
};

#include "timer_buckets.h"

/* For a timer of a bucket that was emptied: append it to DUE if it is due, and return true. Else it
 * cascades: the caller files it where the clock now reaches it. */
static inline bool bucket_sort_out(struct timer_buckets *buckets, uint32_t index)
{
    TL_COUNT(buckets, compares, 1);
    if (node_at(buckets, index)->due <= buckets->clock) {
        bucket_append(buckets, DUE, index);
        return true;
    }
    TL_COUNT(buckets, cascades, 1);
    return false;
}

/* For bucket_walk: a timer's due tick is kept. */
static inline void keep_due(const struct timer_buckets *buckets, uint32_t index,
                            struct tl_held *held)
{
    held->at = node_at(buckets, index)->due;
}

#endif
