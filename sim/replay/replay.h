/*
 * replay.h: one pass of a trace through one structure.
 *
 * At each tick of the trace all due timers fire, then its operations are applied. Between two such
 * ticks the structure is woken by the polling policy (drive.h). These calls are its wakeups. If a
 * sleeping loop was not woken for a tick with operations, advance is called to move the clock,
 * which is no wakeup. A loop that polls every N ticks applies operations without looking at its
 * timers.
 *
 * The replay is closed loop (closed_loop.h): the check pass determines the reactions and writes
 * them to a tape, which the timed passes play. A structure that fires nothing gets all operations
 * of the trace at their ticks, as exact structures do.
 *
 *   check       the counted build, with the oracle: faults, work, memory, wakeups, lateness
 *   throughput  the timed build, without a clock in the loop: the operations of a block run between
 *               two readings of the clock
 *   latency     the timed build, with the processor's counter read after each call
 *   recovery    as throughput, of a durable structure with its option `path` set to an empty
 *               folder; then it is synced, destroyed, and recovered from there, which is timed
 *
 * Times and counts of work cover the window: from the trace's warm-up end to its end tick, unless
 * another is requested.
 *
 * The latency pass keeps two times of each call. The service time is that of the call itself. In
 * the pass each call waits for the one before it, so that service times hide the queueing after a
 * long call (G. Tene's "coordinated omission"). The response time includes it: it is computed for a
 * server that processes the calls one by one, each for its service time, where an advance arrives
 * at the beginning of its tick and the operations of a tick evenly spread over it.
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

/* The kinds of call that the latency pass distinguishes. */
enum latency_op { LATENCY_START, LATENCY_RESTART, LATENCY_STOP, LATENCY_ADVANCE, LATENCY_OPS };

const char *latency_op_word(enum latency_op op);

/* The longest call, and its place in the trace. */
struct replay_worst {
    uint64_t ns;    /* service time; 0: no such call */
    uint64_t event; /* the operation's number from 0; for an advance the next operation's */
    uint64_t tick;
    uint64_t id;    /* the timer; 0 for an advance */
    uint64_t fired; /* by an advance */
};

/* The timed ticks, both included. Zeroed: the trace's own window. */
struct replay_window {
    bool asked;
    uint64_t from_tick;
    uint64_t to_tick;
};

struct replay_request {
    const struct stream *stream;
    const struct tl_algo *algo;
    const void *options;
    enum replay_pass pass;
    struct replay_drive drive;
    struct replay_window window;
    uint64_t memory_limit_bytes;
    double patience_seconds;  /* limit for a stretch of ticks without operations; 0: none */
    uint64_t max_delay_ticks; /* of the trace that this is a partition of; 0: it is whole */
    const uint64_t *names;    /* of its timers in that trace; NULL: their ids */
    struct tape *tape; /* written by the check, played by the timed passes; needed if the trace
                          has reactions */
};

enum replay_status { REPLAY_OK, REPLAY_FAULT, REPLAY_UNSUPPORTED, REPLAY_NO_MEMORY };

/* The result of a pass. Plain data, so that a child process can send it to its parent. */
struct replay_result {
    enum replay_status status;
    char reason[256]; /* if status is not REPLAY_OK */

    uint64_t window_events; /* operations in the timed window */
    uint64_t window_fired;
    uint64_t window_ns;           /* throughput */
    uint64_t window_processor_ns; /* without the processor's time for other programs */
    uint64_t wakeups;
    uint64_t idle_wakeups;
    uint64_t empty_ticks;  /* of those, counted without an advance: nothing was pending for very
                              long */
    uint64_t digest;       /* of the (id, tick) fired up to the end tick, independent of order */
    uint64_t named_digest; /* the same of the (name, tick); check only */

    struct verdict verdict;     /* check */
    uint64_t operations_digest; /* check: of the executed reactions, independent of order */
    uint64_t reactions;         /* check: carried out */
    uint64_t not_reached;       /* check: the trace's other reactions */
    bool exact;  /* check: by declaration, with these options and the trace's delays */
    bool counts; /* check: the structure counts its work */
    struct tl_counters counters; /* check: work in the window */
    struct work_series work;     /* check: by ticks */
    uint64_t allocations;        /* check: in the window */
    uint64_t bytes_fixed;        /* check: of an instance for no timers */
    uint64_t bytes_peak;
    uint64_t bytes_drained;
    uint64_t ids;
    uint64_t bytes_durable;          /* check, of a durable structure: at the window's end */
    uint64_t syncs;                  /* check: waits for the disk, in the window */
    uint64_t acknowledged_max_ticks; /* check: until an operation is durable; up to the end tick */

    /* recovery */
    uint64_t recovery_ns; /* of create and recover */
    uint64_t recovered;   /* timers */

    /* latency */
    struct histogram latency_ns[LATENCY_OPS];  /* service times */
    struct histogram response_ns[LATENCY_OPS]; /* response times */
    struct replay_worst worst[LATENCY_OPS];
};

/* Run the pass. False with `error` set if the tape cannot be read or written; faults of the
 * structure are in the result. */
bool replay_run(const struct replay_request *request, struct replay_result *result,
                struct error *error);

/* Add the latencies of another pass. */
void replay_merge_latencies(struct replay_result *all, const struct replay_result *one);

#endif
