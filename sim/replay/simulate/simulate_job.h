/*
 * simulate_job.h: one trace through all structures, under way: between simulate.c, which runs the
 * passes, simulate_row.c, which makes their figures rows, and simulation.c, which keeps the rest.
 */
#ifndef SIM_SIMULATE_JOB_H
#define SIM_SIMULATE_JOB_H

#include "progress.h"
#include "simulate.h"
#include "trace.h"

/* The columns of latencies follow one another, from COL_START_P50 on. */
#define LATENCY_COLUMNS (LATENCY_OPS * LATENCY_PERCENTILES)

/* What is known of one structure on one trace. */
struct subject {
    const struct contender *contender; /* NULL: the floor */
    const struct tl_algo *timed;
    const struct tl_algo *counted;
    const void *options;
    bool judged; /* fires timers, so the oracle has a say */
    bool right;  /* nothing has gone wrong so far */
    const char *status;
    char reason[1024];
    struct tape *tape;             /* what it did in closed loop; NULL: the trace is open */
    struct replay_result *check;   /* NULL until that pass is done */
    struct replay_result *latency; /* all runs merged, or NULL */
    double *ns_per_event;          /* of each run */
    double *wall_ns_per_event;
    unsigned ns_count;
    uint64_t recovery_ns; /* of this many timers; 0: it was not timed, or none was pending */
    uint64_t recovered;
    double *latency_ns[LATENCY_COLUMNS]; /* the same for each percentile of each operation */
    unsigned latency_count;
    struct rank_figures *by_rank; /* NULL: there are no ranks */
};

struct job {
    const struct simulate_request *request;
    struct simulation *simulation;
    const char *trace_path;
    struct stream *stream; /* NULL: ranks have theirs */
    size_t trace_number;
    const char *trace_name;
    const char *trace_checksum;
    struct subject *subjects;
    size_t subject_count;
    struct progress *progress;
    uint64_t events;     /* of the trace */
    uint64_t *work_done; /* of what progress shows: operations, each as often as it weighs */
};

/* --- the figures: simulate_row.c ------------------------------------------------------------- */

/* The percentiles of one latency, behind them the maximum. */
void read_percentiles(const struct histogram *ns, uint64_t percentiles[LATENCY_PERCENTILES]);

/* Adds a structure's row to the results; `floor` is what the harness itself took, or NULL. */
void add_result_row(struct job *job, const struct subject *subject,
                    const struct trace_header *header, const struct subject *floor);

/* --- what is kept beside them: simulation.c --------------------------------------------------- */

/* Each adds a row of its kind to the simulation. */

/* Make room for `count` results, all zero. Child processes do not inherit it: it is about a hundred
 * kilobytes a structure, and if each fork copied its page tables, the time of a simulation would
 * grow with the square of the number of structures. */
void keep_found(struct job *job, size_t count);

/* The first faults that the oracle found. */
void keep_faults(struct job *job, const struct subject *subject);

/* The set of timers fired, of a structure that was right. */
void keep_fired_set(struct job *job, const struct subject *subject);

/* The latencies of all runs. */
void keep_latency(struct job *job, const struct subject *subject);

/* What each rank found. */
void keep_ranks(struct job *job, const struct subject *subject);

/* A trace that is no file, and was described. Its name becomes the job's. */
void keep_generated(struct job *job, const struct trace_header *header, uint64_t checksum);

/* The work over the window's ticks. */
void keep_work(struct job *job, const struct subject *subject);

/* The trace that is read, whose name and checksum become the job's. False if it cannot be read. */
bool keep_trace(struct job *job, struct trace_reader *reader, struct error *error);

#endif
