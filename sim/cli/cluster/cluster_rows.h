/*
 * cluster_rows.h: what the cluster's commands have alike: the protocols that a command line names
 * and the options beside them, rows of named values, alike in CSV, JSON and the table for people,
 * and the files of a folder of them.
 */
#ifndef SIM_CLUSTER_ROWS_H
#define SIM_CLUSTER_ROWS_H

#include "command_option.h"
#include "error.h"
#include "outfolder.h"
#include "protocol.h"

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

/* Puts a number into a row, by the name that `name` formats; what is not finite is none. */
void cluster_row_count(json_t *row, uint64_t value, const char *name, ...)
    __attribute__((format(printf, 3, 4)));
void cluster_row_real(json_t *row, double value, const char *name, ...)
    __attribute__((format(printf, 3, 4)));

/* The sum of counts by cause, and which there were: "crash 3, reply_lost 17". */
uint64_t cluster_causes_sum(const uint64_t counts[CLUSTER_CAUSES]);
json_t *cluster_causes_text(const uint64_t counts[CLUSTER_CAUSES]);

/* What a command finds, from its beginning to its end. */
struct cluster_work {
    json_t *rows;    /* objects, all with the same names */
    json_t *shown;   /* what of them fits a terminal; may stay empty: all of it */
    json_t *context; /* of the run */
    struct outfolder folder;
};

/* False, with `error` set, if the folder cannot be opened. */
bool cluster_work_begin(struct cluster_work *work, struct cluster_arguments *arguments, int argc,
                        char **argv);

/* Once all is done: keeps the rows in the folder, if there is one, as NAME.csv and NAME.json beside
 * what was written before, and prints them: what they have of numbers and texts in CSV and the
 * table, all of it in JSON. Otherwise says why it is not. `kinds` as for outfolder_commit. */
bool cluster_work_end(struct cluster_work *work, struct cluster_arguments *arguments, bool done,
                      const char *name, const char *const *kinds);
void cluster_work_free(struct cluster_work *work);

void cluster_rows_write_csv(const json_t *rows, FILE *stream);

#endif
