/*
 * import_tally.h: what importers count, show and refuse alike: lines (or packets) that are not
 * understood, of which the first few are shown; and the numbers that go into the summary and the
 * trace's origin.
 */
#ifndef SIM_IMPORT_TALLY_H
#define SIM_IMPORT_TALLY_H

#include "error.h"
#include "import.h"
#include "line_reader.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_SAMPLES      5u   /* malformed lines that are shown */
#define TALLY_SAMPLE_BYTES 120u /* of each */

struct tally_sample {
    uint64_t number;
    const char *why;
    char text[TALLY_SAMPLE_BYTES + 1];
};

/* Set the first four; the rest is the tally's own, zero at first. */
struct import_tally {
    const struct import_job *job;
    const char *name;     /* of the input, in messages */
    const char *unit;     /* "line" or "packet" */
    double max_malformed; /* greatest tolerated share of malformed lines */
    uint64_t lines;       /* all of them */
    uint64_t blank;       /* of these, those that need not say anything: comments, headings */
    uint64_t malformed;
    struct tally_sample samples[TALLY_SAMPLES];
    json_t *doubts; /* what import_doubt said, or NULL */
};

/* A warning about a recording that can be read and may not be what it seems: says it in the report,
 * ahead of all else, and keeps it for the origin, as "warnings". The format begins with what is
 * seen, and goes on with what that does to the result. */
__attribute__((format(printf, 2, 3))) void import_doubt(struct import_tally *tally,
                                                        const char *format, ...);

/* Doubts a recording in which so much time is most of it, and more than a day: nothing happens in
 * it from `at_ns` on, counted from its beginning. */
void import_doubt_gap(struct import_tally *tally, uint64_t gap_ns, uint64_t at_ns,
                      uint64_t span_ns);

/* Doubts a recording whose times are all whole seconds; `at_once`: events in the fullest one. */
void import_doubt_seconds(struct import_tally *tally, uint64_t at_once);

/* Frees what the tally keeps. */
void import_tally_free(struct import_tally *tally);

/* What --max-malformed is where it is not given. */
#define TALLY_MAX_MALFORMED 0.01

/* Counts a malformed line and keeps it if it is one of the first. `why` must last. */
void import_tally_malformed(struct import_tally *tally, uint64_t number, const char *text,
                            size_t length, const char *why);

/* Set `error` and return false if there are too many malformed lines to read on, or, at the end,
 * more than the share. */
bool import_tally_bearable(const struct import_tally *tally, bool at_end, struct error *error);

/* Takes a line; false with `error` set ends the reading. */
typedef bool (*tally_line_fn)(void *ctx, const struct line *line, struct error *error);

/* Reads all lines, with progress. Ends as soon as there are too many malformed ones. */
bool import_tally_read(struct import_tally *tally, struct line_reader *reader, tally_line_fn take,
                       void *ctx, struct error *error);

/* Writes the malformed lines that were kept to the job's report. */
void import_tally_print(const struct import_tally *tally);

struct import_count {
    const char *name;
    uint64_t count;
};

/* Writes the numbers to the job's report, in two columns. */
void import_counts_print(FILE *out, const struct import_count *counts, size_t count);

/* Says how many of the operations are reactions, and by which rule they were told; an origin has
 * the same as "causes". */
void import_causes_print(const struct import_tally *tally, uint64_t reactions, const char *rule);

/* The beginning of an origin: the format, the input's name, and the numbers. Free it with
 * json_decref, or hand it to import_origin_text. */
json_t *import_origin(const struct import_tally *tally, const char *format,
                      const struct import_count *counts, size_t count);

/* The origin as text, to be freed; drops the object. */
char *import_origin_text(json_t *origin);
json_t *import_json_count(uint64_t count);

#endif
