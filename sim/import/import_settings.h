/* import_settings.h: the values of importers' options, read by number.h. Errors name the option and
 * the values that it accepts. */
#ifndef SIM_IMPORT_SETTINGS_H
#define SIM_IMPORT_SETTINGS_H

#include "error.h"
#include "import.h"

#include <stdbool.h>
#include <stdint.h>

/* Return the value of the last option of that name; NULL: none was given. */
const char *import_setting(const struct import_job *job, const char *name);

/* Read a whole number from `least` to `most`. If the option was not given, *count does not
 * change. */
bool import_setting_count(const struct import_job *job, const char *name, uint64_t least,
                          uint64_t most, uint64_t *count, struct error *error);

/* Read a share, such as "1%" or "0.01", likewise. */
bool import_setting_share(const struct import_job *job, const char *name, double *share,
                          struct error *error);

/* Read a time of at least `least_ns` and at most 10^9 s, likewise. A bare number is in units of
 * `unit_ns`, 10^9 or 10^6. */
bool import_setting_time(const struct import_job *job, const char *name, uint64_t unit_ns,
                         uint64_t least_ns, uint64_t *time_ns, struct error *error);

#endif
