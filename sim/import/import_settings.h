/* import_settings.h: the values of importers' options, as number.h reads them. Each sets `error` to
 * a sentence that names the option and what it takes. */
#ifndef SIM_IMPORT_SETTINGS_H
#define SIM_IMPORT_SETTINGS_H

#include "error.h"
#include "import.h"

#include <stdbool.h>
#include <stdint.h>

/* The value of the last option of that name; NULL if it was not given. */
const char *import_setting(const struct import_job *job, const char *name);

/* A whole number from `least` to `most`; `count` stays as it is where the option was not given. */
bool import_setting_count(const struct import_job *job, const char *name, uint64_t least,
                          uint64_t most, uint64_t *count, struct error *error);

/* Likewise a share, such as "1%" or "0.01". */
bool import_setting_share(const struct import_job *job, const char *name, double *share,
                          struct error *error);

/* Likewise a time, in nanoseconds: at least `least_ns`, at most 10^9 s. A bare number is in units
 * of `unit_ns`, 10^9 or 10^6. */
bool import_setting_time(const struct import_job *job, const char *name, uint64_t unit_ns,
                         uint64_t least_ns, uint64_t *time_ns, struct error *error);

#endif
