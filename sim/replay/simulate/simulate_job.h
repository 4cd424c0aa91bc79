/*
 * simulate_job.h: one trace through all structures: simulate.c runs the passes, simulate_row.c
 * makes the rows, simulation.c keeps the other results.
 */
#ifndef SIM_SIMULATE_JOB_H
#define SIM_SIMULATE_JOB_H

#include "progress.h"
#include "simulate.h"
#include "trace.h"

/* The columns of latencies follow one another, from COL_START_P50 on. */
#define LATENCY_COLUMNS (LATENCY_OPS * LATENCY_PERCENTILES)

/* A contender, or the floor, on one trace. */
struct entrant {
    const struct contender *contender; /* NULL: the floor */
    const struct tl_algo *timed;
    const struct tl_algo *counted;
    const void *options;
    bool judged; /* it fires timers, so the oracle checks it */
    bool right;  /* no fault or failure so far */
    const char *status;
    char reason[1024];
    struct tape *tape;             /* its reactions; NULL: the trace has none */
    struct replay_result *check;   /* NULL until that pass is done */
    struct replay_result *latency; /* all runs merged, or NULL */
    double *ns_per_event;          /* of each run */
    double *wall_ns_per_event;
    unsigned ns_count;
    uint64_t recovery_ns; /* of this many timers; 0: it was not timed, or none was pending */
    uint64_t recovered;
    double *latency_ns[LATENCY_COLUMNS]; /* of each run, by percentile and operation */
    unsigned latency_count;
    struct rank_figures *by_rank; /* NULL: there are no ranks */
};

struct job {
    const struct simulate_request *request;
    struct simulation *simulation;
    const char *trace_path;
    struct stream *stream; /* NULL: the ranks have theirs */
    size_t trace_number;
    const char *trace_name;
    const char *trace_checksum;
    struct entrant *entrants;
    size_t entrant_count;
    struct progress *progress;
    uint64_t events;     /* of the trace */
    uint64_t *work_done; /* for the progress: operations, weighted by pass */
};

/* --- rows: simulate_row.c -------------------------------------------------------------------- */

/* Read the percentiles of a latency, the maximum last. */
void read_percentiles(const struct histogram *ns, uint64_t percentiles[LATENCY_PERCENTILES]);

/* Add a structure's row to the results; `floor` is the harness's overhead, or NULL. */
void add_result_row(struct job *job, const struct entrant *entrant,
                    const struct trace_header *header, const struct entrant *floor);

/* --- other results: simulation.c -------------------------------------------------------------- */

/* Each adds an entry of its kind to the simulation. */

/* Allocate `count` zeroed results. Child processes do not inherit them: a hundred kilobytes for
 * each structure, with page tables that each fork would copy, make the time of a simulation
 * quadratic in the number of structures. */
void keep_found(struct job *job, size_t count);

void keep_faults(struct job *job, const struct entrant *entrant);

void keep_fired_set(struct job *job, const struct entrant *entrant);

void keep_latency(struct job *job, const struct entrant *entrant);

void keep_ranks(struct job *job, const struct entrant *entrant);

/* A generated trace. Sets the job's trace name. */
void keep_generated(struct job *job, const struct trace_header *header, uint64_t checksum);

void keep_work(struct job *job, const struct entrant *entrant);

/* A trace that is read; sets the job's trace name and checksum. False if it cannot be read. */
bool keep_trace(struct job *job, struct trace_reader *reader, struct error *error);

#endif
