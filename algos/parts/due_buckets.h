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

/* For bucket_walk: a timer's due tick is kept. */
static inline void keep_due(const struct timer_buckets *buckets, uint32_t index,
                            struct tl_held *held)
{
    held->at = node_at(buckets, index)->due;
}

#endif
