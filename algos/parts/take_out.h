/*
 * take_out.h: starts and stops where taking a timer out is more than unlinking it.
 *
 * Internal, and a template. The including file first includes timer_buckets.h and defines
 *
 *   STRUCTURE   its own struct, which begins with its buckets
 *   TAKE_OUT    the function that takes a pending timer out of where it is; default: take_out,
 *               which the including file defines afterwards
 */
#ifndef ALGOS_TAKE_OUT_H
#define ALGOS_TAKE_OUT_H

#include "timer_buckets.h"

#ifndef TAKE_OUT
#define TAKE_OUT take_out
static inline void take_out(STRUCTURE *structure, uint32_t index);
#endif

/* For the hook `start`: takes the timer out of where it may be, and counts it as pending. Returns
 * its index. */
static inline uint32_t take_for_start(STRUCTURE *structure, uint32_t id)
{
    uint32_t index = timer_index(&structure->buckets, id);
    if (slot_is_linked(&structure->buckets, index)) {
        TAKE_OUT(structure, index);
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
    TAKE_OUT(structure, index);
    structure->buckets.count--;
    return TL_OK;
}

#endif
