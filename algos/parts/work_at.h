/*
 * work_at.h: advances that have nothing to do before a tick that is known, and only set the clock.
 *
 * Internal, and a template. The including file first includes bucket_lists.h, or what includes it,
 * and defines
 *
 *   STRUCTURE   its own struct, which begins with its SLOT_LISTS or is it, with a member
 *               uint64_t work_at: that tick, or 0
 *
 * and afterwards the function that is declared below without a body.
 */
#ifndef ALGOS_WORK_AT_H
#define ALGOS_WORK_AT_H

#include "bucket_lists.h"

/* Moves the clock to `now`, everything that is due by then to DUE, and work_at on. The including
 * file's. */
static void collect_due(STRUCTURE *structure, uint64_t now);

/* There is work at a tick. It is rarely before work_at: no start waits for the store of the last. */
static inline void work_before(STRUCTURE *structure, uint64_t at)
{
    if (at < structure->work_at) {
        structure->work_at = at;
    }
}

/* File a timer that is due at its start. */
static inline void work_file_late(STRUCTURE *structure, uint32_t index)
{
    bucket_append((SLOT_LISTS *)structure, LATE, index);
    structure->work_at = 0;
}

/* An advance at which there may be something to do. */
static NEVER_INLINE uint64_t work(STRUCTURE *structure, uint64_t now, uint64_t budget,
                                  tl_fire_fn fire, void *ctx)
{
    collect_due(structure, now);
    uint64_t fired = buckets_fire((SLOT_LISTS *)structure, now, budget, fire, ctx);
    if (fired == budget) {
        structure->work_at = 0; /* timers may be left */
    }
    return fired;
}

/* The hook `advance`. */
static inline uint64_t work_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                    void *ctx)
{
    STRUCTURE *structure = self;
    if (TUNED && now < structure->work_at) {
        ((SLOT_LISTS *)self)->clock = now;
        return 0;
    }
    return work(structure, now, budget, fire, ctx);
}

/* For the hook `check`: verify that no work is expected, by `next`, before work_at. */
static inline enum tl_status work_check(const STRUCTURE *structure, uint64_t next, char *why,
                                        size_t why_bytes)
{
    if (structure->work_at > next) {
        return corrupt(why, why_bytes, "there is work at tick %" PRIu64 ", before tick %" PRIu64,
                       next, structure->work_at);
    }
    return TL_OK;
}

#endif
