/*
 * simulate_job.h: one trace through all structures: simulate.c runs the passes, simulate_row.c
 * makes the rows.
 */
#ifndef SIM_SIMULATE_JOB_H
#define SIM_SIMULATE_JOB_H

#include "progress.h"
#include "simulate.h"

struct found {
    bool ran;
    bool made; /* the check's process; otherwise `error` is set */
    struct error error;
    struct child_outcome outcome;
    struct replay_result check; /* without the latencies, which are most of the bytes */
    struct replay_result latency;
};

/* The figures of each run. The columns of latencies follow one another, from COL_START_P50
 * on: by operation and percentile. */
enum {
    SAMPLE_NS,
    SAMPLE_WALL_NS,
    SAMPLE_LATENCY,
    SAMPLES = SAMPLE_LATENCY + LATENCY_OPS * LATENCY_PERCENTILES
};

struct job {
    const struct simulate_request *request;
    struct simulation *simulation;
    size_t number;         /* of the trace in the request */
    struct stream *stream; /* NULL: the ranks have theirs */
    struct trace_row *trace;
    struct entrant *entrants; /* of the trace */
    size_t entrant_count;
    struct replay_result *result; /* of the running pass */
    struct error *error;
    struct progress *progress;
    uint64_t *work_done; /* for the progress: operations, weighted by pass */
};

/* Return the values of a sample, one for each run. */
static inline double *samples_of(const struct job *job, const struct entrant *entrant,
                                 unsigned sample)
{
    return &entrant->samples[sample * (size_t)job->request->runs];
}

/* Read the percentiles of a latency, the maximum last. */
void read_percentiles(const struct histogram *ns, uint64_t percentiles[LATENCY_PERCENTILES]);

/* Add a structure's row to the results; `floor` is the harness's overhead, or NULL. */
void add_result_row(const struct job *job, const struct entrant *entrant,
                    const struct entrant *floor);

/* Add the job's trace to the simulation. */
void add_trace(struct job *job, const struct trace_header *header, uint64_t checksum);

#endif
