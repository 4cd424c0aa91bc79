/*
 * sweep.h: structures times options times workload knobs, as one table.
 *
 *   point   one value for each knob: one trace, driven one way
 *   cell    one structure, with its options, at one point: one row of the table
 *
 * The structures of a point are run together, interleaved as `timerlab sim` does it. What is
 * finished is kept, a file for each cell, written whole or not at all: an interrupted sweep goes on
 * where it stopped, one that asks for more runs only what is new. A cell counts as finished if all
 * that decides it was the same: workload, knobs, structure, options, runs, program, processor. A
 * cell that fails is a row that says so.
 *
 * A sweep can be run in parts, on many machines, and joined. A point is a comparison, and stays
 * whole: all of its cells are one part's, and are run by one process. Who gets which point follows
 * from what was asked for alone, so that the machines need not know of each other.
 *
 *   DIR/results.csv, results.json   the table, after every point
 *   DIR/cells/                      a file for each finished cell
 *   DIR/traces/                     the trace of the point that is under way
 */
#ifndef SIM_SWEEP_H
#define SIM_SWEEP_H

#include "catalog.h"
#include "error.h"
#include "gen.h"
#include "replay.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* No sweep has more points. */
#define SWEEP_POINTS_MAX       1000000

/* These knobs are the sweep's own; all others are the workload's parameters. */
#define SWEEP_KNOB_CONNECTIONS "connections"
#define SWEEP_KNOB_SEED        "seed"
#define SWEEP_KNOB_DRIVE       "drive"
#define SWEEP_KNOB_BUDGET      "budget"
#define SWEEP_KNOB_PAUSE       "pause"
#define SWEEP_KNOB_SERVICE     "service"
#define SWEEP_KNOB_TRACE       "trace"

/* A knob, and the values that it takes one after the other, as text. */
struct sweep_knob {
    char *name;
    char **values;
    size_t value_count;
};

struct sweep_knobs {
    struct sweep_knob *items;
    size_t count;
};

/* Adds a knob of one or more values, divided by commas. False with `error` set: no name, an empty
 * value, a knob or value twice. */
bool sweep_knob_add(struct sweep_knobs *knobs, const char *name, const char *values,
                    struct error *error);

/* Adds one more value to a knob, which is made if it is new. */
bool sweep_knob_extend(struct sweep_knobs *knobs, const char *name, const char *value,
                       struct error *error);

void sweep_knobs_free(struct sweep_knobs *knobs);

/*
 * Selects structures with alternatives: in "NAME:opt=a/b/c:opt=d/e,..." each combination is one.
 * Otherwise as catalog_select.
 */
bool sweep_select(struct catalog *catalog, const char *text, struct contender_list *list,
                  struct error *error);

/* What is told of a point when it is done. */
struct sweep_progress {
    size_t point; /* from 1 */
    size_t points;
    const char *name; /* of its trace */
    bool kept;        /* all of its cells were there already */
    double seconds;   /* that it took */
    double seconds_left;
};

struct sweep_request {
    const char *dir;
    const struct gen_workload *workload; /* NULL: the knob `trace` names files */
    const struct sweep_knobs *knobs;     /* the first turns slowest */
    const struct catalog *catalog;       /* that the contenders are from */
    const struct contender_list *contenders;
    const struct tl_algo *floor; /* as for simulate */
    double seconds;              /* of each generated trace */
    unsigned runs;
    bool latency;
    bool slow;
    double timeout_seconds;
    uint64_t memory_limit_bytes;
    bool keep_traces;
    bool retry;            /* runs failed cells again */
    size_t limit;          /* points to run before it ends; 0: all */
    unsigned part;         /* from 1: which of `parts` */
    unsigned parts;        /* 0: all of it is run */
    const json_t *context; /* of the measurement, for results.json */
    void (*tell)(void *ctx, const struct sweep_progress *progress); /* may be NULL */
    void *tell_ctx;
};

struct sweep_result {
    json_t *rows;       /* an array: the table, in the order of the points */
    json_t *context;    /* as it stands in results.json, but for its files */
    size_t points;      /* in all, or of the part */
    size_t points_left; /* not run, because of the limit; of a join, missing */
    bool all_right;     /* every row is ok or unsupported */
};

/* Checks what can be known beforehand: the workload's parameters and their ranges, the knobs' own
 * values, the number of points. */
bool sweep_check(const struct sweep_request *request, struct error *error);

/* Runs what is not there yet. False with `error` set if the folder cannot be written, or if memory
 * or processes fail; what one cell does is a row. */
bool sweep_run(const struct sweep_request *request, struct sweep_result *result,
               struct error *error);

void sweep_result_free(struct sweep_result *result);

/* No sweep has more parts. */
#define SWEEP_PARTS_MAX 10000

struct sweep_join_request {
    const char *const *folders; /* of parts, in any order */
    size_t folder_count;
    const char *dir;
    char *const *command_line; /* for the context, `command_words` of them */
    int command_words;
    /* What does not hinder, but must be known: missing cells, unlike machines. */
    void (*tell)(void *ctx, const char *what);
    void *tell_ctx;
};

/*
 * Makes one result of a sweep's parts, the same as if it had been run at once, but for the times.
 * What is missing is told and stands in the context as `missing`, an array of points; what the
 * machines have different is told and stands there as `unlike`. `knobs` gets the sweep's, to be
 * freed. False with `error` set, and nothing written: a part is damaged, of another sweep, or there
 * twice.
 */
bool sweep_join(const struct sweep_join_request *request, struct sweep_knobs *knobs,
                struct sweep_result *result, struct error *error);

/* The table as CSV: the columns of every comparison, then p_<knob> for each knob. */
void sweep_write_csv(const json_t *rows, const struct sweep_knobs *knobs, FILE *stream);

/* For people: the knobs that vary, the structures, and the columns that matter most. */
void sweep_write_table(const json_t *rows, const struct sweep_knobs *knobs, FILE *stream);

#endif
