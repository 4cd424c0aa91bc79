/*
 * measured_file.h: what a real run was like, as a file from which the model can be given the same:
 * parameters, distributions of single steps, and how late its timers were.
 */
#ifndef SIM_MEASURED_FILE_H
#define SIM_MEASURED_FILE_H

#include "error.h"
#include "measured.h"
#include "parameters.h"
#include "run.h"

#include <jansson.h>

/* All that is to be in the file. */
json_t *measured_file_of(const char *protocol, const struct run_plan *plan,
                         const struct run_result *result,
                         const struct measured_histograms measured[RUN_ENGINE]);

struct measured_file {
    double parameters[CLUSTER_PARAMETERS];
    struct measured_quantiles steps[MEASURED_OF_STEPS];
    uint64_t timers;
    json_t *whole; /* for the caller to release */
};

/* False, with the reason in `error`, for what is no such file. */
bool measured_file_read(const char *path, struct measured_file *file, struct error *error);

/* How late timers were of that path, "p50" or "p99" in milliseconds, and how many; false: the run
 * had none. */
bool measured_file_late(const struct measured_file *file, const char *path, const char *which,
                        double *late_ms, uint64_t *count);

#endif
