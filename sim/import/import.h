/*
 * import.h: recordings of other tools, turned into traces. One table, in import.c, has a row for
 * each format; the command line, its help and `--list` are made from it. A new format is a file
 * with its function and options, and a row.
 */
#ifndef SIM_IMPORT_H
#define SIM_IMPORT_H

#include "error.h"
#include "recording.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct import_option {
    const char *name;  /* without the dashes; NULL ends the list */
    const char *value; /* the name of its value in help */
    bool repeatable;
    const char *help; /* one line, with unit, range and default */
};

/* An option as it was given. */
struct import_setting {
    const char *name;
    const char *value;
};

struct import_job {
    const char *input; /* a path, or "-" for standard input */
    const char *output;
    const struct import_setting *settings; /* only options of the format; in their order */
    size_t setting_count;
    FILE *report; /* gets the summary for the user */
    /* NULL, or gets the recorded place of each operation; of ftrace and process only. The trace is
     * then one of the recorded system, with operations at the times at which they took effect. */
    struct recording *recording;
};

enum import_result {
    IMPORT_DONE,
    IMPORT_FAILED, /* the recording cannot be read, or the trace not written */
    IMPORT_USAGE,  /* an option's value is not usable */
};

/* Read the recording and write the trace. On failure `error` is set and there is no output. */
typedef enum import_result (*import_fn)(const struct import_job *job, struct error *error);

struct import_format {
    const char *name; /* NULL ends the table */
    const char *summary;
    const struct import_option *options;
    import_fn run;
};

/* Return the table, which ends with a row without a name. */
const struct import_format *import_formats(void);

/* Return the format of that name; NULL, with the nearest name in `error`. */
const struct import_format *import_format_find(const char *name, struct error *error);

/* Return the format's option of that name; NULL: it has none. */
const struct import_option *import_option_find(const struct import_format *format,
                                               const char *name);

/* --- the values of options -------------------------------------------------------------------- */

/* Errors name the option and the values that it accepts. */

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

/* --- the formats' own functions, one file each ------------------------------------------------ */

extern const struct import_option import_access_log_options[];
enum import_result import_access_log(const struct import_job *job, struct error *error);

extern const struct import_option import_csv_options[];
enum import_result import_csv(const struct import_job *job, struct error *error);

extern const struct import_option import_events_options[];
enum import_result import_events(const struct import_job *job, struct error *error);

extern const struct import_option import_ftrace_options[];
enum import_result import_ftrace(const struct import_job *job, struct error *error);

extern const struct import_option import_pcap_options[];
enum import_result import_pcap(const struct import_job *job, struct error *error);

extern const struct import_option import_process_options[];
enum import_result import_process(const struct import_job *job, struct error *error);

#endif
