/*
 * cluster_rows.h: what the cluster's commands print: rows of named values, alike in CSV, JSON and
 * the table for people, and the files of a folder of them.
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

/* The protocols that a command line names. */
struct cluster_choice {
    const struct cluster_protocol **items;
    size_t count;
};

/* Appends the protocol of that name, once. */
void cluster_choice_add(struct cluster_choice *choice, const char *name, struct argp_state *state);

/* All of them, if none was named; the controls too. */
void cluster_choice_complete(struct cluster_choice *choice, struct argp_state *state);

/* One line a protocol: its name, and what it is. */
void cluster_choice_list(FILE *stream);

/* Prints an array of objects, all with the same names: what they have of numbers and texts in CSV
 * and the table, all of it in JSON, with the context of the run. */
void cluster_rows_print(json_t *rows, enum cluster_format format, const json_t *context);

/* Those in CSV alone. */
void cluster_rows_write_csv(const json_t *rows, FILE *stream);

/* The same into a folder, as NAME.csv and NAME.json; what else is to be there was written before.
 * Ends the folder. `kinds` as for outfolder_commit. */
bool cluster_rows_keep(json_t *rows, const json_t *context, const char *name,
                       struct outfolder *folder, const char *const *kinds, struct error *error);

#endif
