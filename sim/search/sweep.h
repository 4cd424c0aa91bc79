/*
 * sweep.h: structures times options times workload knobs, as one table.
 *
 *   point   one value for each knob: one trace, driven one way
 *   cell    one structure, with its options, at one point: one row of the table
 *
 * The structures of a point run together, interleaved as in `timerlab sim`. Each finished cell is
 * a file, written atomically, so that an interrupted sweep can be continued, and a larger one runs
 * only the new cells. A cell is finished if its workload, knobs, structure, options, runs, program
 * and processor are the same. A failed cell is a row with that status.
 *
 * A sweep can run in parts, on several machines, and be joined. All cells of a point belong to one
 * part, and to one process, as they are compared. The request alone decides the points of each
 * part, so that the machines need no connection.
 *
 *   DIR/results.csv, results.json   the table, after every point
 *   DIR/cells/                      a file for each finished cell
 *   DIR/traces/                     the trace of the current point
 */
#ifndef SIM_SWEEP_H
#define SIM_SWEEP_H

#include "catalog.h"
#include "error.h"
#include "gen.h"
#include "simulate.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SWEEP_POINTS_MAX       1000000

/* Knobs of the sweep; all others are the workload's parameters. */
#define SWEEP_KNOB_CONNECTIONS "connections"
#define SWEEP_KNOB_SEED        "seed"
#define SWEEP_KNOB_DRIVE       "drive"
#define SWEEP_KNOB_BUDGET      "budget"
#define SWEEP_KNOB_PAUSE       "pause"
#define SWEEP_KNOB_SERVICE     "service"
#define SWEEP_KNOB_TRACE       "trace"

/* A knob, and its values in order, as text. */
struct sweep_knob {
    char *name;
    char **values;
    size_t value_count;
};

struct sweep_knobs {
    struct sweep_knob *items;
    size_t count;
};

/* Add a knob of one or more values, divided by commas. Return false with `error` set if the name or
 * a value is empty, or given twice. */
bool sweep_knob_add(struct sweep_knobs *knobs, const char *name, const char *values,
                    struct error *error);

/* Add one more value to a knob, which is made if it is new. */
bool sweep_knob_extend(struct sweep_knobs *knobs, const char *name, const char *value,
                       struct error *error);

void sweep_knobs_free(struct sweep_knobs *knobs);

/*
 * Select structures with alternatives: "NAME:opt=a/b/c:opt=d/e,..." means each combination.
 * Otherwise as catalog_select.
 */
bool sweep_select(struct catalog *catalog, const char *text, struct contender_list *list,
                  struct error *error);

/* A finished point. */
struct sweep_progress {
    size_t point; /* from 1 */
    size_t points;
    const char *name; /* of its trace */
    bool kept;        /* all of its cells were finished before */
    double seconds;   /* it took */
    double seconds_left;
};

struct sweep_request {
    const char *dir;
    const struct gen_workload *workload; /* NULL: the knob `trace` names files */
    const struct sweep_knobs *knobs;     /* the first varies slowest */
    const struct catalog *catalog;       /* of the contenders */
    double seconds;                      /* of each generated trace */
    struct simulate_request simulate;    /* without traces; all contenders; the drive is a knob */
    bool keep_traces;
    bool retry;            /* runs failed cells again */
    size_t limit;          /* points to run; 0: all */
    unsigned part;         /* from 1: one of `parts` */
    unsigned parts;        /* 0: run all */
    const json_t *context; /* of the measurement, for results.json */
    void (*report)(const struct sweep_progress *progress); /* may be NULL */
};

struct sweep_result {
    json_t *rows;       /* an array: the table, in the order of the points */
    json_t *context;    /* of results.json, without its file list */
    size_t points;      /* in all, or of the part */
    size_t points_left; /* not run, because of the limit; of a join: missing */
    bool all_right;     /* every row is ok or unsupported */
};

/* Check the workload's parameters and their ranges, the sweep's knobs, and the number of points. */
bool sweep_check(const struct sweep_request *request, struct error *error);

/* Run the missing cells. Return false with `error` set if the folder cannot be written, or memory
 * or processes fail; a failed cell is a row. */
bool sweep_run(const struct sweep_request *request, struct sweep_result *result,
               struct error *error);

void sweep_result_free(struct sweep_result *result);

#define SWEEP_PARTS_MAX 10000

struct sweep_join_request {
    const char *const *folders; /* parts, in any order */
    size_t folder_count;
    const char *dir;
    char *const *command_line; /* for the context, `command_words` of them */
    int command_words;
    /* Warnings: missing cells, different machines. */
    void (*warn)(const char *warning);
};

/*
 * Join the parts of a sweep to the result of a whole one; only times differ. Missing points and
 * different machines are reported, and are the arrays `missing` and `unlike` of the context.
 * `knobs` gets the sweep's; the caller frees it. Return false with `error` set, and nothing
 * written, if a part is damaged, of another sweep, or given twice.
 */
bool sweep_join(const struct sweep_join_request *request, struct sweep_knobs *knobs,
                struct sweep_result *result, struct error *error);

/* The table as CSV: the columns of every comparison, then p_<knob> for each knob. */
void sweep_write_csv(const json_t *rows, const struct sweep_knobs *knobs, FILE *stream);

/* The table as text: the knobs that vary, the structures, and the most important columns. */
void sweep_write_table(const json_t *rows, const struct sweep_knobs *knobs, FILE *stream);

#endif
