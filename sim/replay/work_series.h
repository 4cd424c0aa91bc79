/*
 * work_series.h: the work of a structure over the ticks of a window, in stretches of equal length:
 * what cascade storms look like. Counts are those of the counted build (see TL_COUNT), so that the
 * same trace gives the same series on any machine.
 *
 * What a tick costs is the per-tick bookkeeping with its expiries: the advance to it, and the calls
 * of `next` that led there. Starts and stops are counted beside that, for they keep nobody waiting
 * but themselves. All stretches together hold all that was counted in the window.
 */
#ifndef SIM_WORK_SERIES_H
#define SIM_WORK_SERIES_H

#include "timerlab.h"

#include <stdint.h>

/* A stretch is the shortest power of two of ticks that needs no more of them: wheels whose sizes
 * are powers of two, as most are, then look alike in each. */
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
    struct work_tick worst; /* the tick with the most work; of several, the first */
};

/* Plain data, so that a child process can send it to its parent. */
struct work_series {
    uint64_t from_tick; /* where the first stretch begins */
    uint64_t to_tick;   /* where the last one ends, included */
    uint64_t ticks;     /* of a stretch; the last one may be cut short */
    uint32_t count;
    struct work_stretch stretches[WORK_STRETCHES_MAX];
    struct tl_counters counted; /* up to now */
    struct work_tick current;
};

/* The sum of all counts. */
uint64_t work_total(const struct tl_counters *counters);

/* Begins a series; `counted` is what the structure has counted so far. If to_tick < from_tick it
 * has no stretches, and stays empty. */
void work_begin(struct work_series *series, uint64_t from_tick, uint64_t to_tick,
                const struct tl_counters *counted);

/* What has been counted since the last call was the bookkeeping of `tick`, which does not go back,
 * and fired so many timers. */
void work_add_tick(struct work_series *series, uint64_t tick, uint64_t fired,
                   const struct tl_counters *counted);

/* What has been counted since the last call were starts and stops, at `tick`. */
void work_add_operations(struct work_series *series, uint64_t tick,
                         const struct tl_counters *counted);

/* No more ticks come. */
void work_end(struct work_series *series);

/* Adds that of another structure beside it: all its work, and of the worst ticks the worse. If its
 * ticks are others, what it shows together with this one is nothing: then it is empty. */
void work_merge(struct work_series *series, const struct work_series *other);

#endif
