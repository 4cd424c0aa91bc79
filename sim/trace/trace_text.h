/*
 * trace_text.h: a trace as text: CSV with the header row `tick,id,op,delay,cause,slack`, one operation a
 * row, op `start` or `stop`, delay empty for a stop. The cause is empty for what is external,
 * otherwise the id of the timer whose firing brings the operation about, and what the delay counts
 * from: `N` the expiry, `Nr` the cause's deadline, `Na` the operation's tick. A trace that is open
 * loop has no such column. The slack is in ticks, empty for none; a trace without any has no such
 * column. The other contents of a trace follow the last
 * row, in comment lines of the form `# key: value`: tick_ns, ids, warmup_end_tick, end_tick,
 * origin. Writing, reading and writing again gives the same bytes.
 */
#ifndef SIM_TRACE_TEXT_H
#define SIM_TRACE_TEXT_H

#include "error.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes every operation, from the reader's place on, and the comment lines. False on a damaged
 * trace or if `stream` cannot be written. */
bool trace_text_write(struct trace_reader *reader, FILE *stream, struct error *error);

/* Writes the header row and the first `limit` operations, and no comment lines: it is a part. */
bool trace_text_write_head(struct trace_reader *reader, uint64_t limit, FILE *stream,
                           struct error *error);

/* How the timers of a text were numbered, and what it says of causes. */
struct trace_text_ids {
    uint32_t named;     /* how many there are */
    uint32_t largest;   /* by its id in the text; 0 if none is named */
    bool numbered_anew; /* 0 to named - 1, in ascending order */
    bool causes_known;  /* it has a column of them */
    uint64_t reactions;
};

/* What the caller knows better than the text; zeroed: nothing. */
struct trace_text_options {
    uint64_t tick_ns;                /* 0: what the text says, or else 1 ms */
    uint32_t min_ids;                /* 0: what the text says, or else as many as are named */
    bool dense_ids;                  /* number them again; otherwise only where they are sparse (see
                                        trace_ids.h) and nobody says that there are so many */
    struct trace_text_ids *ids;      /* NULL, or takes what became of them */
    const uint64_t *warmup_end_tick; /* NULL: what the text says, or else 0 */
    const uint64_t *end_tick;        /* NULL: what the text says, or else after the last row */
    const char *origin;              /* NULL: what the text says, or else that it came from CSV */
};

/* Makes the trace at `out_path` of the text at `path`, which may be compressed (see line_reader.h),
 * "-" for standard input, and for standard output in `out_path`. Comment lines may
 * stand anywhere; those with other keys are passed over. Errors name the line. On failure nothing
 * is left behind. */
bool trace_text_read(const char *path, const char *out_path,
                     const struct trace_text_options *options, struct error *error);

#endif
