/*
 * report_data.h: the folders of results that a report is made of, read into one. What a folder does
 * not have is missing from the report; columns are found by their names, so that results of other
 * versions can be read.
 */
#ifndef SIM_REPORT_DATA_H
#define SIM_REPORT_DATA_H

#include "error.h"
#include "faster.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* One folder of results. */
struct report_set {
    const char *folder;
    char mark[8];    /* "A", "B", ... where there are several folders, else "" */
    json_t *context; /* of results.json: an object, empty if there is none */
    char *commands;  /* commands.txt, "" if there is none */
    json_t *files;   /* what was read: file, and the run that it is from, as `by` and `date` */
};

/* Everything that is known. A row is an object by the names of its columns, and has its folder's
 * mark as `set`. */
struct report_data {
    struct report_set *sets;
    size_t set_count;
    json_t *rows; /* of results.json */
    json_t
        *bench; /* of bench.csv or bench.json: one operation, one structure, one number of timers */
    json_t *cluster;    /* of check.json, sim.json and run.json of `timerlab cluster`, by `drive` */
    json_t *faults;     /* of faults.csv */
    json_t *structures; /* those of the rows, by name: as `timerlab list --format json` has them */
};

/* Reads the folders, which must outlive the data. False, with `error` set, if a folder has none
 * of results.json, bench.csv, bench.json and the cluster's files, or a file cannot be understood;
 * nothing is left to free then. */
bool report_data_read(struct report_data *data, const char *const *folders, size_t folder_count,
                      struct error *error);
void report_data_free(struct report_data *data);

/* The folder with this mark. */
const struct report_set *report_data_set(const struct report_data *data, const char *mark);

/* Whether the row's structure declares this capability. */
bool row_promises(const struct report_data *data, const json_t *row, const char *capability);

/* Whether its structure keeps memory that its columns of bytes do not have: they are not to be held
 * against others'. */
bool row_hides_memory(const struct report_data *data, const json_t *row);

/* A row that ran to its end without a fault, was timed, and is no baseline. */
bool row_competes(const struct report_data *data, const json_t *row);

/* The last part of a trace's path. */
const char *trace_base(const char *trace);

#endif
