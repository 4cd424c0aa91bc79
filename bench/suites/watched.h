/*
 * watched.h: advances one by one, with a clock around each for the longest, or without; what the
 * steady states have in common.
 */
#ifndef BENCH_WATCHED_H
#define BENCH_WATCHED_H

#include "floor.h"
#include "suite.h"

enum {
    SLICE_TICKS = 256, /* how often patience is asked for */
    SLICE_STARTS = 4096,
};

static inline bool is_floor(const struct fixture *fixture)
{
    return floor_is(fixture->algo);
}

static inline bool touches(const struct fixture *fixture)
{
    return fixture->fired.connections != NULL;
}

/* A stretch with a clock around every advance. */
struct stall {
    uint64_t longest_ns;
    uint32_t *least_ns; /* of each advance, the shortest that any repetition has seen */
    size_t advances;
};

/* Advances to `now`. `stall` is a constant in each caller, so that a loop without it has no clock
 * in it. */
static inline __attribute__((always_inline)) void advance_once(const struct fixture *fixture,
                                                               uint64_t now, tl_fire_fn fire,
                                                               void *ctx, struct stall *stall)
{
    if (stall == NULL) {
        (void)fixture->algo->advance(fixture->self, now, TL_NO_BUDGET, fire, ctx);
        return;
    }
    uint64_t begun = cpu_now_ns();
    (void)fixture->algo->advance(fixture->self, now, TL_NO_BUDGET, fire, ctx);
    uint64_t lasted = cpu_since_ns(begun);
    stall->longest_ns = lasted > stall->longest_ns ? lasted : stall->longest_ns;
    if (stall->advances < ROW_ADVANCES_MAX) {
        uint32_t *least_ns = &stall->least_ns[stall->advances++];
        *least_ns = lasted < *least_ns ? (uint32_t)lasted : *least_ns;
    }
}

/* False, with the row's error, for want of memory. */
bool begin_stall(struct fixture *fixture, struct stall *stall);

/* Adds the longest advance of this repetition to the row's figures, and the longest if each counts
 * with the shortest time that it has had so far: every repetition plays the same operations from
 * the same beginning, so what an interrupt did to one advance does not happen to the same one
 * again. */
void report_stall(const struct stall *stall, struct bench_measured *out);

#endif
