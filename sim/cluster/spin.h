/*
 * spin.h: the same small instances by Spin (Holzmann's model checker; Debian's package `spin`),
 * from a model in Promela that is made of the table's row and of cluster.pml. It is compiled by
 * `cc` in a temporary folder, which goes afterwards.
 */
#ifndef SIM_SPIN_H
#define SIM_SPIN_H

#include "check.h"

#include <stdio.h>

/* Whether `spin` and `cc` can be run; otherwise `error` says which package is missing. */
bool spin_is_there(struct error *error);

/* Writes the protocol's model. */
void spin_write_model(const struct cluster_protocol *protocol, FILE *stream);

/* A protocol's model, compiled. Treat as opaque; zeroed is closed. */
struct spin_model {
    char folder[4096];
    bool for_runs; /* the second program, which looks for shortest runs, is there */
};

/* Compiles it. False if that failed; spin_model_close in any case. */
bool spin_model_open(struct spin_model *model, const struct cluster_protocol *protocol,
                     struct error *error);

/* Looks at everything, as check_search does. The states are Spin's own: a few more, since its
 * processes begin and end. */
bool spin_search(struct spin_model *model, const struct check_faults *faults,
                 struct check_result *result, struct error *error);

void spin_model_close(struct spin_model *model);

#endif
