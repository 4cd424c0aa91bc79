/*
 * watched.h: every call in a stretch of its own with a clock around it, for the longest. Each
 * repetition makes the same calls from the same beginning, so what an interrupt did to one of them
 * does not happen to the same one again: of those that took longest in the first repetition, each
 * counts with the least that it has taken in any.
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

/* Make room for `room` calls of each kind. */
void watch_begin(struct watch *watch, const size_t room[WATCHED]);

/* A call that began so. What there is no room for is not kept. */
static inline void watch_call(struct watch *watch, enum watched kind, uint64_t begun_cycles)
{
    uint64_t cycles = clock_cycles() - begun_cycles;
    if (watch->count[kind] < watch->room[kind]) {
        watch->cycles[kind][watch->count[kind]++] =
            cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
    }
}

/* Adds the longest of each kind, less what reading the clock costs, to the row's figures, and frees
 * the watch. */
void watch_report(struct fixture *fixture, struct watch *watch, struct bench_measured *out);

void watch_end(struct watch *watch);

#endif
