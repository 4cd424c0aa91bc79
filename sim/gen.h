/*
 * gen.h: workloads, that is, models whose timer operations become a trace. A workload is one file,
 * gen_*.c, with one constant struct gen_workload, and a line in the table in gen.c; the command,
 * its help and the tests come from the table.
 *
 * A model is simulated until it is in its steady state before anything is recorded. The trace then
 * opens with a warm-up section: the starts of the timers pending at that moment, each at the tick
 * and with the delay it was really last started with, so that every structure comes to hold what
 * it would hold, without a rush of starts at one tick. The recorded operations follow.
 */
#ifndef SIM_GEN_H
#define SIM_GEN_H

#include "error.h"
#include "progress.h"
#include "random.h"
#include "trace.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number that shapes a workload. A table of them ends with name == NULL. */
struct gen_parameter {
    const char *name; /* with its unit */
    double default_value;
    double min;
    double max;
    const char *help;
    const char *source; /* where the default comes from */
};

/* No workload has more. */
#define GEN_PARAMETERS_MAX 32

/* The first row of every workload's table: the length of a tick. */
#define GEN_TICK_US        0
#define GEN_TICK_US_ROW(default_us)                                                                \
    {                                                                                              \
        "tick_us", (default_us), 1, 1e6, "length of a tick", "1 ms: what servers count in"         \
    }

/* What a model is given, and what it tells. */
struct gen_run {
    uint32_t connections;
    double seconds; /* to be recorded */
    uint64_t seed;
    uint64_t tick_ns;
    const double *parameters; /* one per row of the table */
    struct trace_writer *writer;
    struct progress *progress; /* of simulated ticks; begun by the model, ended by the caller */

    uint64_t generated_events; /* operations simulated, recorded or not */
    uint64_t warmup_end_tick;
    uint64_t end_tick;
    uint32_t ids;
    json_t *counts; /* an object to be filled: what happened while recording */
};

struct gen_workload {
    const char *name;
    const char *summary;
    const char *stresses;  /* what in a timer structure it is hard on */
    const char *resembles; /* whose traffic */
    const struct gen_parameter *parameters;
    uint32_t max_connections;
    bool (*generate)(struct gen_run *run, struct error *error);
};

/* The workloads; *count is set to how many. */
const struct gen_workload *const *gen_workloads(size_t *count);

/* The workload of that name; NULL, with the nearest name in `error`. */
const struct gen_workload *gen_find(const char *name, struct error *error);

size_t gen_parameter_count(const struct gen_workload *workload);

/* Sets all to their defaults; `values` has GEN_PARAMETERS_MAX elements. */
void gen_parameters_default(const struct gen_workload *workload, double *values);

/* Applies "name=value". False, with the reason, for an unknown name or a value out of range. */
bool gen_parameter_set(const struct gen_workload *workload, double *values, const char *text,
                       struct error *error);

/* What is to be generated. */
struct gen_request {
    const struct gen_workload *workload;
    uint32_t connections; /* 1 .. workload->max_connections */
    double seconds;       /* more than 0 */
    uint64_t seed;        /* at most INT64_MAX: it is kept in the trace's origin */
    const double *parameters;
};

/* What was generated. */
struct gen_summary {
    uint64_t generated_events; /* simulated, the unrecorded warm-up included */
    uint64_t recorded_events;  /* in the file */
};

/* Generates a trace at `path`. On failure nothing is left behind. */
bool gen_trace(const struct gen_request *request, const char *path, struct gen_summary *summary,
               struct error *error);

#endif
