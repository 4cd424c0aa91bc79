/*
 * trace_text.h: a trace as text: CSV with the header row `tick,id,op,delay,cause,slack`, one
 * operation a row, and the header in comment lines after the last. docs/reference/trace-format.md
 * describes it. Writing, reading and writing again gives the same bytes.
 */
#ifndef SIM_TRACE_TEXT_H
#define SIM_TRACE_TEXT_H

#include "error.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Write every operation, from the reader's position on, and the comment lines. False on a damaged
 * trace or if `stream` cannot be written. */
bool trace_text_write(struct trace_reader *reader, FILE *stream, struct error *error);

/* Write the header row and the first `limit` operations, without comment lines. */
bool trace_text_write_head(struct trace_reader *reader, uint64_t limit, FILE *stream,
                           struct error *error);

/* The numbering of a text's timers, and its column of causes. */
struct trace_text_ids {
    uint32_t named;    /* number of timers */
    uint32_t largest;  /* the largest id in the text; 0 if none is used */
    bool renumbered;   /* 0 to named - 1, in ascending order */
    bool causes_known; /* it has a column of causes */
    uint64_t reactions;
};

/* Properties that override those in the text; zeroed: none. */
struct trace_text_options {
    uint64_t tick_ns;                /* 0: that of the text, or else 1 ms */
    uint32_t min_ids;                /* 0: that of the text, or else as many as are used */
    bool dense_ids;                  /* renumber them; otherwise only sparse ones (trace_ids.h)
                                        without a declared number */
    struct trace_text_ids *ids;      /* NULL, or gets the resulting numbering */
    const uint64_t *warmup_end_tick; /* NULL: that of the text, or else 0 */
    const uint64_t *end_tick;        /* NULL: that of the text, or else after the last row */
    const char *origin;              /* NULL: that of the text, or else that it came from CSV */
};

/* Make the trace at `out_path` from the text at `path`, which may be compressed (line_reader.h);
 * "-" for standard input and standard output. Comment lines may be anywhere; those with other keys
 * are ignored. Errors name the line. On failure no file is left. */
bool trace_text_read(const char *path, const char *out_path,
                     const struct trace_text_options *options, struct error *error);

#endif
