/*
 * cluster_rows.h: the common part of the cluster's commands, from the command line to the exit
 * status: the protocols and their options, rows of named values, the same in CSV, JSON and the
 * table for people, and the files of a folder of them.
 */
#ifndef SIM_CLUSTER_ROWS_H
#define SIM_CLUSTER_ROWS_H

#include "command_option.h"
#include "error.h"
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
        {{"list", 0, NULL, 0, "Show the protocols", 0},                                            \
         .kind = OPTION_FLAG,                                                                      \
         OPTION_AT(struct cluster_arguments, list)},                                               \
        OPTION_ROW_PROGRESS, OPTION_ROW_END

/* Takes the name of a protocol. */
void cluster_take_word(void *arguments, const char *name, struct argp_state *state);

/* All of them, if none was named; the controls too. */
void cluster_take_all(struct cluster_arguments *arguments, struct argp_state *state);

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

/* --- a command -------------------------------------------------------------------------------- */

/* The results of a command. */
struct cluster_work {
    const struct cluster_command *command;
    struct cluster_table rows;
    struct cluster_table shown; /* the columns that fit a terminal; may stay empty: all of them */
    struct results more;        /* of the third file */
    bool right;                 /* so far; false: a fault was found */
    json_t *context;            /* of the run */
};

struct cluster_command {
    const struct command_line *line;
    const char *name;                 /* of the files NAME.csv and NAME.json */
    const char *more_name;            /* of a third file; NULL: there is none */
    const struct row_kind *more_kind; /* of its rows */

    /* Print a list instead of a run, if the arguments ask for one; false if not. May be NULL. */
    bool (*list)(const void *arguments);

    /* Add the rows of a protocol. False, with the arguments' `error` set, if that fails. */
    bool (*run)(void *arguments, const struct cluster_protocol *protocol,
                struct cluster_work *work);

    /* Add to the rows' JSON, or print after the table. May be NULL. */
    void (*complete)(const struct results *more, json_t *rows);
    void (*print)(const void *arguments, const struct results *more);
};

/* Reads the command line, runs each protocol, and writes the results: into the folder, if there is
 * one, in addition to earlier files, and to standard output. Returns the exit status. */
int cluster_command_run(const struct cluster_command *command, int argc, char **argv,
                        void *arguments);

#endif
