/*
 * watched.h: a clock around every call of a stretch of its own, for the longest call. Each
 * repetition makes the same calls from the same begin, but is interrupted at others: so of the
 * longest calls of the first repetition, each counts with its least time in all repetitions.
 */
#ifndef BENCH_WATCHED_H
#define BENCH_WATCHED_H

#include "clock.h"
#include "suite.h"

/* The calls of one repetition, in their order. */
struct watch {
    uint32_t *cycles[WATCHED];
    size_t count[WATCHED];
    size_t room[WATCHED];
};

/* Make room for calls of each kind. */
void watch_begin(struct watch *watch, size_t starts, size_t stops, size_t advances);

/* Add a call that began at `begun_cycles`, if there is room for it. */
static inline void watch_call(struct watch *watch, enum watched kind, uint64_t begun_cycles)
{
    uint64_t cycles = clock_cycles() - begun_cycles;
    if (watch->count[kind] < watch->room[kind]) {
        watch->cycles[kind][watch->count[kind]++] =
            cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
    }
}

/* Free the watch. If all is good, add the longest of each kind, less what reading the clock costs,
 * to the row's figures. Return `good`. */
bool watch_end(struct watch *watch, struct fixture *fixture, bool good, struct bench_measured *out);

#endif
