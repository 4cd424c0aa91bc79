/*
 * import_tally.h: counts and reports of all importers: malformed lines (or packets) with the first
 * few as samples, warnings, the summary, and the trace's origin.
 */
#ifndef SIM_IMPORT_TALLY_H
#define SIM_IMPORT_TALLY_H

#include "error.h"
#include "import.h"
#include "line_reader.h"
#include "trace.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_SAMPLES       5u   /* malformed lines that are shown */
#define TALLY_SAMPLE_BYTES  120u /* of each */
#define TALLY_MAX_MALFORMED 0.01 /* default of --max-malformed */

struct tally_sample {
    uint64_t number;
    const char *why;
    char text[TALLY_SAMPLE_BYTES + 1];
};

/* The caller sets the first four; the rest begins as zero. */
struct import_tally {
    const struct import_job *job;
    const char *name;     /* of the input, in messages */
    const char *unit;     /* "line" or "packet" */
    double max_malformed; /* greatest accepted share of malformed lines */
    uint64_t lines;       /* including the next two */
    uint64_t blank;       /* comments and headings, too */
    uint64_t malformed;
    struct tally_sample samples[TALLY_SAMPLES];
    json_t *warnings; /* NULL: none */
};

/* Warn about a recording that may be misunderstood: in the report, before all else, and in the
 * origin, as "warnings". The text begins with the observation, then explains its effect on the
 * result. */
__attribute__((format(printf, 2, 3))) void import_warn(struct import_tally *tally,
                                                       const char *format, ...);

/* The times of a recording's events, in order. Zero at first. */
struct import_times {
    bool begun;
    bool finer_than_seconds; /* one is not a whole second */
    uint64_t first_ns;
    uint64_t latest_ns;
    uint64_t at_once; /* events at the latest time, and the most at any */
    uint64_t most_at_once;
    uint64_t gap_ns; /* the longest time without an event, and its begin */
    uint64_t gap_from_ns;
};

/* Add a time that is not before the latest. */
static inline void import_times_add(struct import_times *times, uint64_t time_ns)
{
    if (!times->begun) {
        times->begun = true;
        times->first_ns = time_ns;
        times->latest_ns = time_ns;
    }
    if (time_ns - times->latest_ns > times->gap_ns) {
        times->gap_ns = time_ns - times->latest_ns;
        times->gap_from_ns = times->latest_ns;
    }
    times->at_once = time_ns == times->latest_ns ? times->at_once + 1 : 1;
    times->most_at_once =
        times->at_once > times->most_at_once ? times->at_once : times->most_at_once;
    times->latest_ns = time_ns;
    times->finer_than_seconds = times->finer_than_seconds || time_ns % 1000000000 != 0;
}

static inline uint64_t import_times_span_ns(const struct import_times *times)
{
    return times->latest_ns - times->first_ns;
}

/* Warn if one gap is longer than a day and than half of the recording. */
void import_warn_gap(struct import_tally *tally, const struct import_times *times);

/* Warn if all times are whole seconds and a tick is shorter. */
void import_warn_seconds(struct import_tally *tally, const struct import_times *times,
                         uint64_t tick_ns);

/* Count a malformed line, and keep it if it is one of the first. `why` must outlive the tally. */
void import_tally_malformed(struct import_tally *tally, uint64_t number, const char *text,
                            size_t length, const char *why);

/* Return false, with `error` set, if too many lines are malformed: at the end more than the
 * accepted share, before that so large a share that the rest need not be read. */
bool import_tally_accept(const struct import_tally *tally, bool at_end, struct error *error);

/* After the last line: return false, with `error` set, if there is none, if too many are malformed,
 * or if none of them was `found` to be what `expected` says: "none of its N lines ...". */
bool import_tally_end(const struct import_tally *tally, uint64_t found, const char *expected,
                      struct error *error);

/* Return false, with `error` set, if most lines are earlier than one before them. */
bool import_tally_forward(const struct import_tally *tally, uint64_t earlier, struct error *error);

/* Handle a line; false, with `error` set, ends the reading. */
typedef bool (*tally_line_fn)(void *ctx, const struct line *line, struct error *error);

/* Read all lines, with progress, until `take` fails or too many are malformed. */
bool import_tally_read(struct import_tally *tally, struct line_reader *reader, tally_line_fn take,
                       void *ctx, struct error *error);

/* Release it; unless the import is done, write the samples of malformed lines to the job's report. */
void import_tally_close(struct import_tally *tally, bool done);

struct import_count {
    const char *name;
    uint64_t count;
};

/* Return the numbers as a JSON object. */
json_t *import_counts_json(const struct import_count *counts, size_t count);

/* Report how many operations are reactions, and the rule that found them. */
void import_causes_print(const struct import_tally *tally, uint64_t reactions, const char *rule);

/* A finished import: the trace, of which `writer` has all operations, and its numbers. */
struct import_summary {
    struct trace_writer *writer;
    uint64_t end_tick;
    const char *format;
    const struct import_count *counts;
    size_t count_count;
    uint64_t span_ns;
    uint64_t tick_ns;
    const char *clock;  /* follows the span in the report; NULL: nothing */
    const char *causes; /* the rule that finds reactions */
    uint64_t reactions;
    uint64_t starts;
    uint64_t stops;
    uint64_t timers;
    json_t *details; /* further members of the origin; released here; NULL: none */
};

/* Set the counts of a summary to the elements of an array. */
#define IMPORT_COUNTS(summary, array)                                                              \
    ((summary)->counts = (array), (summary)->count_count = sizeof(array) / sizeof((array)[0]))

/* Complete the trace with an origin that has these numbers, and report them. The writer is
 * committed or aborted. */
bool import_finish(struct import_tally *tally, const struct import_summary *summary,
                   struct error *error);

#endif
