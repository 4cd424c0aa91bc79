/*
 * kit_crash.h: tests by crashes whether a durable structure keeps its promises.
 *
 * A history of starts, stops, advances and syncs runs in a process that is ended at one point after
 * another. A journal in shared memory records which operations were acknowledged. The next process
 * recovers the folder and compares the timers with the journal:
 *
 *   lost         an acknowledged timer is missing
 *   early        its deadline differs
 *   after stop   it exists though its stop or expiry was acknowledged
 *   twice        it exists though it has fired, under at-most
 *   damaged      its call has another service or payload than at its start
 *   named twice  a start gets a number that an earlier start had: a receiver that knows that number
 *                would ignore the new timer
 *
 * Under at-least, an expiry that was not acknowledged may repeat; repeats are counted.
 *
 * With the shim (crash_shim.h), points are also within calls to the disk, power is lost (unsynced
 * writes are gone, or half of them), and calls fail.
 */
#ifndef SIM_KIT_CRASH_H
#define SIM_KIT_CRASH_H

#include "error.h"
#include "registry.h"

/* Operations of a long history. */
#define CRASH_STEPS 12000u

struct crash_plan {
    uint64_t seed;
    uint32_t points; /* the first points of a history, one after another */
    uint32_t random; /* further points, anywhere in long histories */
    uint32_t steps;  /* of a long history: CRASH_STEPS, or another number of which the end counts */
    uint32_t images; /* losses of power, each with two images; and failing calls */
    void (*progress)(void *ctx, uint64_t recoveries); /* called after each process; may be NULL */
    void *progress_ctx;
};

struct crash_report {
    uint64_t kills;
    uint64_t images;
    uint64_t failures; /* calls that failed */
    uint64_t recoveries;
    uint64_t timers;  /* compared with the journal */
    uint64_t repeats; /* expiries that a crash repeated */
    bool fault;
    char trial[200];    /* how the process ended before the fault was detected */
    char message[1200]; /* of the fault */
    char history
        [2000]; /* of the timer, a line for each operation; "" if the fault is not about one */
};

/* Test a structure with TL_CAP_DURABLE under these options, except `path`, which is set here.
 * False, with `error`, if it could not be tested. */
bool crash_check(const struct tl_algo *algo, const void *options, const struct crash_plan *plan,
                 struct crash_report *report, struct error *error);

/* Whether the shim is loaded. */
bool crash_is_shimmed(void);

#endif
