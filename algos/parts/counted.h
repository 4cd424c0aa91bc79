/*
 * counted.h: the hooks count and counters.
 *
 * Internal, and a template: the including file first defines STRUCTURE, its own struct, with the
 * members count and counters.
 */
#ifndef ALGOS_COUNTED_H
#define ALGOS_COUNTED_H

#include "timerlab.h"

static inline uint64_t structure_count(const void *self)
{
    return ((const STRUCTURE *)self)->count;
}

static inline void structure_counters(const void *self, struct tl_counters *out)
{
    *out = ((const STRUCTURE *)self)->counters;
}

#endif
