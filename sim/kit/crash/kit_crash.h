/*
 * kit_crash.h: the proof by crashes that a durable structure keeps its promises.
 *
 * A history of starts, stops, advances and syncs runs in a process of its own, which is ended at
 * one point after another. What it knew to be acknowledged it has noted in memory that outlives it;
 * the next process recovers the folder, and what it finds is held against that:
 *
 *   lost         an acknowledged timer is not there
 *   early        it is there for another tick than it was started for
 *   after stop   it is there though its stop, or its firing, was acknowledged
 *   twice        it is there though it has fired, under at-most
 *   damaged      it has another call, service or payload, than it was started with
 *   named twice  a start gets a number that a start before the crash had, durable or not: its
 *                receiver may have heard of that one, and would drop this one
 *
 * What fired and was not acknowledged may be there once more under at-least: that is counted.
 *
 * With the shim (crash_shim.h) the points lie within the structure's calls to the disk too, power
 * is cut (of what was written since the last sync nothing is left, or any half of it), and calls
 * fail.
 */
#ifndef SIM_KIT_CRASH_H
#define SIM_KIT_CRASH_H

#include "error.h"
#include "registry.h"

struct crash_plan {
    uint64_t seed;
    uint32_t points; /* one after the other, from the first one on */
    uint32_t random; /* and so many more, anywhere in long histories */
    uint32_t images; /* cuts of power, each with two images; as many failing calls */
    void (*progress)(void *ctx, uint64_t recoveries); /* called after each process; may be NULL */
    void *progress_ctx;
};

struct crash_report {
    uint64_t kills;
    uint64_t images;
    uint64_t failures; /* calls that failed */
    uint64_t recoveries;
    uint64_t timers;  /* held against what was known */
    uint64_t repeats; /* firings that a crash repeats */
    bool fault;
    char trial[200];    /* how the process ended before the fault was found, in words */
    char message[1200]; /* of the fault */
    char history[2000]; /* of the timer, a line for each operation; "" where it is about none */
};

/* Holds a structure with TL_CAP_DURABLE under these options to what it acknowledges. Its option
 * `path` is set here. False, with `error`: it could not be tried. */
bool crash_check(const struct tl_algo *algo, const void *options, const struct crash_plan *plan,
                 struct crash_report *report, struct error *error);

/* Whether the shim is loaded. */
bool crash_is_shimmed(void);

#endif
