/*
 * take_out.h: starts and stops where taking a timer out is more than unlinking it.
 *
 * Internal, and a template. The including file first includes timer_buckets.h and defines
 *
 *   STRUCTURE   its own struct, which begins with its buckets
 *
 * and afterwards the function that is declared below without a body.
 */
#ifndef ALGOS_TAKE_OUT_H
#define ALGOS_TAKE_OUT_H

#include "timer_buckets.h"

/* Takes a pending timer out of where it is. The including file's. */
static inline void take_out(STRUCTURE *structure, uint32_t index);

/* For the hook `start`: takes the timer out of where it may be, and counts it as pending. Returns
 * its index. */
static inline uint32_t take_for_start(STRUCTURE *structure, uint32_t id)
{
    uint32_t index = timer_index(&structure->buckets, id);
    if (slot_is_linked(&structure->buckets, index)) {
        take_out(structure, index);
    } else {
        structure->buckets.count++;
    }
    return index;
}

/* The hook `stop`. */
static inline enum tl_status take_out_stop(void *self, uint32_t id)
{
    STRUCTURE *structure = self;
    uint32_t index = timer_index(&structure->buckets, id);
    if (!slot_is_linked(&structure->buckets, index)) {
        return TL_IDLE;
    }
    take_out(structure, index);
    structure->buckets.count--;
    return TL_OK;
}

#endif
