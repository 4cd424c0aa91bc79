/*
 * simulate_cluster.h: days of a cluster as discrete events: planners, schedulers, a store, a queue,
 * executors, the user's service, and faults of each. The protocol is a row of the table
 * (protocol.h), all else are parameters (parameters.h). Pending deadlines and the model's own
 * events are timers of a timerlab structure, in microseconds: the model is a workload, too. The
 * same request gives the same result with any exact structure.
 *
 * Not modelled: the store answers each request independently (except that a shard's requests have
 * syncs in common), and never loses anything; the queue is part of it.
 */
#ifndef SIM_SIMULATE_CLUSTER_H
#define SIM_SIMULATE_CLUSTER_H

#include "error.h"
#include "histogram.h"
#include "parameters.h"
#include "protocol.h"
#include "timerlab.h"

#include <stdbool.h>
#include <stdint.h>

/* How a timer came to be called. */
enum cluster_path {
    CLUSTER_PATH_FIRST,
    CLUSTER_PATH_RETRIED,
    CLUSTER_PATH_RECOVERED,
    CLUSTER_PATH_SCANNED,
    CLUSTER_PATHS
};
extern const char *const cluster_path_names[CLUSTER_PATHS];

struct cluster_request {
    const struct cluster_protocol *protocol;
    const double *parameters;   /* by enum cluster_parameter */
    const struct tl_algo *algo; /* exact, with next: of the events */
    const void *options;
    uint64_t timers;              /* how many are started */
    const uint64_t *deadlines_us; /* of each; NULL: drawn by the parameters */
    uint64_t seed;
    void (*progress)(void *ctx, uint64_t started); /* now and then; may be NULL */
    void *progress_ctx;
};

struct cluster_outcome {
    struct cluster_books books;
    uint64_t calls;    /* of the service that it carried out */
    uint64_t attempts; /* of calls */
    uint64_t early;
    uint64_t duplicates[CLUSTER_CAUSES]; /* calls carried out after the first of a timer */
    uint64_t lost[CLUSTER_CAUSES];
    uint64_t redelivered; /* copies that a recovery put into the queue */
    struct histogram
        lateness_us[CLUSTER_PATHS]; /* of the first call carried out; early ones are 0 */
    double backoff_s;               /* waited before retries, of all together */
    struct histogram wait_us;       /* in the queue, of each copy that came out */
    uint64_t waits;                 /* copies that came out of the queue */
    double wait_s;                  /* in the queue, of all of them */
    double queue_s;                 /* timers in the queue times seconds */
    double queue_mean;              /* over time, up to the last that came out */
    uint64_t queue_most;
    double drain_s;      /* the longest, from the end of an outage or halt until as few were overdue
                            as at its begin */
    double halt_drain_s; /* after a halt: until the shared clock is where it would be */
    uint64_t store_operations;
    uint64_t syncs;
    uint64_t wasted; /* looks that found the clock moved or nothing to do */
    uint64_t crashes;
    uint64_t events;
    uint64_t most_live;  /* timers at a time */
    uint64_t bytes_peak; /* of timers, structure and lists */
    double seconds;      /* simulated */
    uint64_t digest;     /* of the calls and their times */
};

/* False, with `error` set, if it cannot be run: the structure does not take the deadlines. */
bool cluster_simulate(const struct cluster_request *request, struct cluster_outcome *outcome,
                      struct error *error);

#endif
