/* account.h: the journals of a run, compared with each other. */
#ifndef SIM_CLUSTER_ACCOUNT_H
#define SIM_CLUSTER_ACCOUNT_H

#include "journal.h"
#include "run.h"

/* A timer that the engine has given up. */
struct account_dead {
    uint64_t id;
    uint32_t generation;
};

/* Fills all of `result` but times, kills and floor. `dead` is put into order. */
bool account_run(const struct run_plan *plan, const char *folder, struct account_dead *dead,
                 size_t dead_count, struct run_result *result, struct error *error);

#endif
