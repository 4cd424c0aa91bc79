/*
 * spin.h: the cross-check of our own search by Spin (Holzmann's model checker; Debian's package
 * `spin`). The model in Promela is made of a row of the table of protocols and of cluster.pml,
 * which shares no code with check.c, and compiled by `cc` in a temporary folder.
 */
#ifndef TESTS_SPIN_H
#define TESTS_SPIN_H

#include "check.h"
#include "temporary_file.h"

/* Return whether `spin` and `cc` can be run; if not, `error` names the missing one. */
bool spin_is_there(struct error *error);

/* A protocol's model, compiled. Treat as opaque; zeroed is closed. */
struct spin_model {
    struct temporary temporary;
    bool for_runs; /* the second program, which looks for shortest runs, is there */
};

/* Compiles it. False if that failed; spin_model_close in any case. */
bool spin_model_open(struct spin_model *model, const struct cluster_protocol *protocol,
                     struct error *error);

/* Search every state, as check_search does. Spin counts a few more states, because its processes
 * begin and end. */
bool spin_search(struct spin_model *model, const struct check_faults *faults,
                 struct check_result *result, struct error *error);

void spin_model_close(struct spin_model *model);

#endif
