/*
 * import.h: recordings of other tools, turned into traces. One table, in import.c, has a row for
 * each format; the command line, its help and `--list` are made from it. Adding a format: its file
 * with its function and its options, and its row.
 */
#ifndef SIM_IMPORT_H
#define SIM_IMPORT_H

#include "error.h"
#include "recording.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct import_option {
    const char *name;  /* as on the command line, without the dashes; NULL ends the list */
    const char *value; /* what its value is called in help */
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
    FILE *report; /* takes a summary for people to read: what was counted */
    /* NULL, or takes what the recording says of each operation; of ftrace and process only. The
     * trace is then one of the recorded system: where that says more of when operations took
     * effect, they are there. */
    struct recording *recording;
};

enum import_result {
    IMPORT_DONE,
    IMPORT_FAILED, /* the recording cannot be read, or the trace not written */
    IMPORT_USAGE,  /* an option's value is not usable */
};

/* Reads the recording, writes the trace. On failure `error` is set and no output is left. */
typedef enum import_result (*import_fn)(const struct import_job *job, struct error *error);

struct import_format {
    const char *name; /* NULL ends the table */
    const char *summary;
    const struct import_option *options;
    import_fn run;
};

/* The table, ended by a row without a name. */
const struct import_format *import_formats(void);

/* The format of that name; NULL, with the nearest name in `error`. */
const struct import_format *import_format_find(const char *name, struct error *error);

/* Whether the format has that option. */
const struct import_option *import_option_find(const struct import_format *format,
                                               const char *name);

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
