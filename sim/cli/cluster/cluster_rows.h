/*
 * cluster_rows.h: the common part of the cluster's commands: the protocols of a command line and
 * their options, rows of named values, the same in CSV, JSON and the table for people, and the
 * files of a folder of them.
 */
#ifndef SIM_CLUSTER_ROWS_H
#define SIM_CLUSTER_ROWS_H

#include "command_option.h"
#include "error.h"
#include "outfolder.h"
#include "protocol.h"
#include "results.h"

#include <jansson.h>
#include <stdio.h>

/* In the order of the help. */
enum cluster_format { CLUSTER_TABLE, CLUSTER_CSV, CLUSTER_JSON };

/* Stands first among the arguments of each command. */
struct cluster_arguments {
    const struct cluster_protocol **protocols; /* in the order in which they were named, once */
    size_t count;
    enum cluster_format format;
    const char *out_dir;
    bool list;
    struct error error;
};

/* The last rows of their options; `files` is what else is written. */
#define CLUSTER_OPTION_ROWS(files)                                                                 \
    OPTION_ROWS_FORMAT(struct cluster_arguments, "table|csv|json"),                                \
        {{"output", 'o', "DIR", 0, "Also write " files, 0},                                        \
         .kind = OPTION_TEXT,                                                                      \
         OPTION_AT(struct cluster_arguments, out_dir)},                                            \
        {{"list", 0, NULL, 0, "Shows the protocols", 0},                                           \
         .kind = OPTION_FLAG,                                                                      \
         OPTION_AT(struct cluster_arguments, list)},                                               \
        OPTION_ROW_PROGRESS, OPTION_ROW_END

/* Takes the name of a protocol. */
void cluster_take_word(void *arguments, const char *name, struct argp_state *state);

/* All of them, if none was named; the controls too. */
void cluster_take_all(struct cluster_arguments *arguments, struct argp_state *state);

/* Reads a command line; shows the list that it asks for, or runs the command. */
int cluster_command_run(const struct command_line *line, int argc, char **argv, void *arguments,
                        int (*run)(void *arguments, int argc, char **argv));

/* --- rows ------------------------------------------------------------------------------------- */

/* Rows of one kind. The first row names the columns, because causes, paths and roles have lists of
 * words of their own; all rows have the same ones in the same order. */
struct cluster_table {
    struct results results;
    struct row_kind kind;
    struct column_info columns[COLUMNS];
    unsigned filled; /* columns of the last row */
};

/* Begin a row. */
void cluster_row_begin(struct cluster_table *table);

/* Add a value to the last row; one that is not finite is none. */
void cluster_row_text(struct cluster_table *table, const char *value, const char *name);
void cluster_row_count(struct cluster_table *table, uint64_t value, const char *name);
void cluster_row_real(struct cluster_table *table, double value, const char *name);

/* Add the values of these columns of the last row of `from`. */
void cluster_row_copy(struct cluster_table *table, const struct cluster_table *from,
                      const char *const *names, size_t count);

/* The sum of counts by cause; and add to a row which there were: "crash 3, reply_lost 17". */
uint64_t cluster_causes_sum(const uint64_t counts[CLUSTER_CAUSES]);
void cluster_row_causes(struct cluster_table *table, const uint64_t counts[CLUSTER_CAUSES],
                        const char *name);

/* The results of a command, and their progress. */
struct cluster_work {
    struct cluster_table rows;
    struct cluster_table shown; /* the columns that fit a terminal; may stay empty: all of them */
    void (*complete)(const struct cluster_work *work, json_t *rows); /* adds to the JSON; or NULL */
    void *ctx;                                                       /* of the command */
    json_t *context;                                                 /* of the run */
    struct outfolder folder;
};

/* False, with `error` set, if the folder cannot be opened. */
bool cluster_work_begin(struct cluster_work *work, struct cluster_arguments *arguments, int argc,
                        char **argv);

/* After all is done, write the rows to the folder, if there is one, as NAME.csv and NAME.json in
 * addition to earlier files, and print them. Otherwise report the error. `kinds` as for
 * outfolder_commit. */
bool cluster_work_end(struct cluster_work *work, struct cluster_arguments *arguments, bool done,
                      const char *name, const char *const *kinds);
void cluster_work_free(struct cluster_work *work);

/* Write a struct results as CSV, for outfolder_write. */
void cluster_write_csv(const void *results, FILE *stream);

#endif
