/*
 * replay.h: one pass of a trace through one structure.
 *
 * Time moves from operation to operation. At each tick of the trace, first everything that is due
 * at or before it fires, then its operations are applied. Between two such ticks the structure is
 * woken as the drive says (drive.h has all that it can say):
 *
 *   sleep  at each tick that `next` names, as a loop does that sleeps in epoll_wait; a structure
 *          without `next` is driven at every tick, for that is what it would need
 *   poll   at every tick, or every so many
 *
 * These are its wakeups. At a tick with operations a loop that sleeps is awake anyway; if it has
 * not been woken for that tick, advance is called to move the clock, and that is no wakeup. One
 * that polls every so many ticks does them without looking at its timers.
 *
 * What a firing causes happens when, and only if, it fires: closed_loop.h says how. The check pass
 * finds out, and writes it on a tape; the passes that are timed play it. A structure that fires
 * nothing is given all operations of the trace at their ticks, which is what exact ones do.
 *
 * There are four kinds of pass:
 *
 *   check       the counted build, with the oracle: is it right, what did it cost in work, memory,
 *               wakeups, lateness
 *   throughput  the timed build, no clock in the loop: each block's operations run between two
 *               readings of the clock
 *   latency     the timed build, the processor's counter read after each call
 *   recovery    as throughput, of a durable structure whose option `path` names an empty folder;
 *               then it is synced, destroyed, and brought back from there, which is timed
 *
 * The window from the trace's warm-up end to its end tick, or another that is asked for, is what
 * times and counts of work cover.
 *
 * The latency pass keeps two times of each call. The service time is what the call itself took. In
 * a pass the next call waits until this one is done, whenever it was to come: a long call delays
 * those behind it, and nobody counts their waiting (G. Tene's "coordinated omission"). But the
 * trace is a schedule. So the response time is reckoned as well, from when the call was due to when
 * it would have been done by a server that takes one after the other, each for its service time: an
 * advance is due at the beginning of its tick, the operations of a tick come evenly spread over it.
 */
#ifndef SIM_REPLAY_H
#define SIM_REPLAY_H

#include "drive.h"
#include "error.h"
#include "histogram.h"
#include "oracle.h"
#include "registry.h"
#include "stream.h"
#include "work_series.h"

#include <stdbool.h>
#include <stdint.h>

struct tape;

enum replay_pass { PASS_CHECK, PASS_THROUGHPUT, PASS_LATENCY, PASS_RECOVERY };

static inline bool replay_is_durable(const struct tl_algo *algo)
{
    return (algo->capabilities & TL_CAP_DURABLE) != 0;
}

/* The kinds of call that the latency pass tells apart. */
enum latency_op { LATENCY_START, LATENCY_RESTART, LATENCY_STOP, LATENCY_ADVANCE, LATENCY_OPS };

const char *latency_op_word(enum latency_op op);

/* A call that took longest, and where it stands in the trace. */
struct replay_worst {
    uint64_t ns;    /* service time; 0: there was no such call */
    uint64_t event; /* the operation's number from 0; of an advance the next one's */
    uint64_t tick;
    uint64_t id;    /* the timer; of an advance 0 */
    uint64_t fired; /* by an advance */
};

/* The ticks that are timed, both included. Zeroed: the trace's own window. */
struct replay_window {
    bool asked;
    uint64_t from_tick;
    uint64_t to_tick;
};

struct replay_request {
    const struct stream *stream; /* the trace */
    const struct tl_algo *algo;
    const void *options;
    enum replay_pass pass;
    struct replay_drive drive;
    struct replay_window window;
    uint64_t memory_limit_bytes;
    double patience_seconds;  /* what a stretch of ticks may take; 0: as long as it does */
    uint64_t max_delay_ticks; /* of the whole that the trace is a share of; 0: it is no share */
    const uint64_t *names;    /* of its timers in that whole; NULL: the same */
    struct tape *tape; /* what the check pass writes and the others play; these need it if the trace
                          has reactions; NULL: none */
};

enum replay_status { REPLAY_OK, REPLAY_FAULT, REPLAY_UNSUPPORTED, REPLAY_NO_MEMORY };

/* What a pass found. Plain data, so that a child process can send it to its parent. */
struct replay_result {
    enum replay_status status;
    char reason[256]; /* if status is not REPLAY_OK */

    uint64_t window_events; /* operations carried out in the timed window */
    uint64_t window_fired;
    uint64_t window_ns;           /* throughput */
    uint64_t window_processor_ns; /* the same without what the processor did for other programs */
    uint64_t wakeups;
    uint64_t idle_wakeups;
    uint64_t empty_ticks;  /* of those, counted and not made: nothing was pending for very long */
    uint64_t digest;       /* of the (id, tick) fired up to the end tick, in any order */
    uint64_t named_digest; /* the same of the (name, tick); only the check pass knows names */

    struct verdict verdict;     /* check */
    uint64_t operations_digest; /* check: of the reactions as they were carried out, in any order */
    uint64_t reactions;         /* check: carried out */
    uint64_t not_reached;       /* check: reactions that were not */
    bool exact;  /* check: by its promise, with these options and the trace's delays */
    bool counts; /* check: the structure counts its work; one that is built without is all zeros */
    struct tl_counters counters; /* check: work in the window */
    struct work_series work;     /* check: the same over its ticks */
    uint64_t allocations;        /* check: in the window */
    uint64_t bytes_fixed;        /* check: an instance for no timers */
    uint64_t bytes_peak;
    uint64_t bytes_drained;
    uint64_t ids;
    uint64_t bytes_durable;          /* check, of a durable structure: at the window's end */
    uint64_t syncs;                  /* check: times it waited for the disk, in the window */
    uint64_t acknowledged_max_ticks; /* check: acknowledged.h; up to the end tick */

    /* recovery */
    uint64_t recovery_ns; /* of create and recover */
    uint64_t recovered;   /* timers */

    /* latency */
    struct histogram latency_ns[LATENCY_OPS];  /* service times */
    struct histogram response_ns[LATENCY_OPS]; /* response times */
    struct replay_worst worst[LATENCY_OPS];
};

/* Run the pass. False with `error` set: the tape cannot be read or written. What the structure does
 * wrong is in the result. */
bool replay_run(const struct replay_request *request, struct replay_result *result,
                struct error *error);

/* Add the latencies that another pass found. */
void replay_merge_latencies(struct replay_result *all, const struct replay_result *one);

#endif
