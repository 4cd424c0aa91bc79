/*
 * work_series.h: the work of a structure over the ticks of a window, in stretches of equal length:
 * it shows cascade storms. The counts of the counted build (TL_COUNT) are reproducible on any
 * machine.
 *
 * The work of a tick is that of its advance with its expiries, and of the calls of `next` before
 * it. Starts and stops are counted separately, because they delay only their caller.
 */
#ifndef SIM_WORK_SERIES_H
#define SIM_WORK_SERIES_H

#include "timerlab.h"

#include <stdint.h>

/* A stretch is a power of two of ticks, because most wheels' sizes are. */
#define WORK_STRETCHES_MAX 256u

struct work_tick {
    uint64_t tick;
    struct tl_counters work;
    uint64_t fired;
};

struct work_stretch {
    struct tl_counters work; /* of all its ticks */
    uint64_t operations;     /* work of its starts and stops */
    uint64_t fired;
    struct work_tick worst; /* the first tick with the most work */
};

/* Plain data, so that a child process can send it to its parent. */
struct work_series {
    uint64_t from_tick; /* first tick of the first stretch */
    uint64_t to_tick;   /* last tick of the last stretch */
    uint64_t ticks;     /* of a stretch; the last one may be shorter */
    uint32_t count;
    struct work_stretch stretches[WORK_STRETCHES_MAX];
    struct tl_counters counted;
    struct work_tick current;
};

/* Return `counted` - `before`. */
struct tl_counters work_since(const struct tl_counters *counted, const struct tl_counters *before);

/* Return the sum of all counts. */
uint64_t work_total(const struct tl_counters *counters);

/* Begin a series; `counted`: the counts so far. If to_tick < from_tick it stays empty. */
void work_begin(struct work_series *series, uint64_t from_tick, uint64_t to_tick,
                const struct tl_counters *counted);

/* Add the counts since the last call as bookkeeping of `tick`, which must not decrease, with
 * `fired` expiries. */
void work_add_tick(struct work_series *series, uint64_t tick, uint64_t fired,
                   const struct tl_counters *counted);

/* Add the counts since the last call as starts and stops at `tick`. */
void work_add_operations(struct work_series *series, uint64_t tick,
                         const struct tl_counters *counted);

/* End the series. */
void work_end(struct work_series *series);

/* Add the series of another structure running in parallel: the sum of the work, and the worse of
 * the worst ticks. If its ticks differ, the series becomes empty. */
void work_merge(struct work_series *series, const struct work_series *other);

#endif
