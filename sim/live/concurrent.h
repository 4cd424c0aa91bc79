/*
 * concurrent.h: a structure under many threads: some start, restart and stop timers of their own,
 * one advances, and its callbacks start, move and stop timers, those of the others included; and
 * afterwards the books must balance: each timer that was started was stopped or fired, exactly
 * once.
 */
#ifndef SIM_CONCURRENT_H
#define SIM_CONCURRENT_H

#include "error.h"
#include "registry.h"

#include <stdbool.h>
#include <stdint.h>

struct concurrent_plan {
    const struct tl_algo *algo; /* safe for many threads: a composition */
    const void *options;
    unsigned
        threads; /* that start and stop timers, in addition to the one that advances; 1 to 1,024 */
    uint32_t timers;            /* of each of them, at least 1 */
    uint64_t operations;        /* starts, restarts and stops of each of them, at least */
    unsigned cancelled_percent; /* timers that are stopped; the others expire within 20 ticks */
    unsigned racing_percent; /* of those that are stopped, how many are about to expire as well */
    uint64_t tick_ns;        /* real time between two advances; 0: the next one follows at once */
    uint64_t seed;           /* of the threads' choices, not of their scheduling */
};

/* Counted by each thread for itself, and summed up. */
struct concurrent_counts {
    uint64_t starts; /* of timers that were not pending */
    uint64_t restarts;
    uint64_t stopped; /* stops that found the timer pending */
    uint64_t idle;    /* stops that came too late */
};

struct concurrent_result {
    struct concurrent_counts counts; /* of the threads that start and stop */
    struct concurrent_counts inside; /* of the callbacks */
    uint64_t fired;
    uint64_t ticks;      /* advances while the threads were at work */
    uint64_t elapsed_ns; /* until the last thread was done */
    double per_second;   /* operations of the threads together, without the callbacks' */
    double call_ns_p50;  /* the time of a start or stop, including waits */
    double call_ns_p99;
    double call_ns_p999;
    double call_ns_max;
    uint64_t faults;
    char fault[192]; /* the first, in words; "" if there is none */
};

/* Runs the plan. False, with the reason, if it cannot be run; faults of the structure are in the
 * result. */
bool concurrent_run(const struct concurrent_plan *plan, struct concurrent_result *result,
                    struct error *error);

#endif
