/*
 * trace_portrait.h: the data of a trace's picture: operations and pending timers over the timed
 * window, in equal stretches of whole ticks, and the distribution of the delays. trace_info_collect
 * fills it; it is written as a table, panel,series,from_s,to_s,value,trace, one row for each value,
 * and drawn by gnuplot with the script plots/portrait.gp.
 */
#ifndef SIM_TRACE_PORTRAIT_H
#define SIM_TRACE_PORTRAIT_H

#include "error.h"
#include "trace.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The resolution of the picture. */
#define TRACE_PORTRAIT_STRETCHES 120u

/* The traces in one picture. */
#define PORTRAITS_MAX            2

enum portrait_series {
    PORTRAIT_START,
    PORTRAIT_RESTART,
    PORTRAIT_STOP,
    PORTRAIT_EXPIRY,
    PORTRAIT_SERIES
};

struct portrait_delay {
    uint64_t delay_ticks;
    uint64_t count;
};

/* Treat as opaque. */
struct trace_portrait {
    uint64_t tick_ns;
    uint64_t first_tick; /* of the window */
    uint64_t end_tick;
    uint64_t stretch_ticks;
    size_t stretches;
    uint64_t counts[TRACE_PORTRAIT_STRETCHES][PORTRAIT_SERIES];
    int64_t change[TRACE_PORTRAIT_STRETCHES];        /* of the number of pending timers */
    uint64_t most_pending[TRACE_PORTRAIT_STRETCHES]; /* right after a start */
    int64_t pending_before;                          /* when the window begins */
    struct portrait_delay *delays;                   /* ascending; of all starts */
    size_t delay_count;
};

/* Begin an empty portrait of a trace with that header. */
void trace_portrait_begin(struct trace_portrait *portrait, const struct trace_header *header);

/* Count an operation, or an expiry, at its tick; `change`: that of the number of pending timers. */
void trace_portrait_count(struct trace_portrait *portrait, enum portrait_series series,
                          uint64_t tick, int change);

/* Record the number of timers pending after a start at that tick. */
void trace_portrait_pending(struct trace_portrait *portrait, uint64_t tick, uint64_t pending);

/* Write FOLDER/portrait-NAME.csv and draw it as .svg and .png, for one trace, or for two side by
 * side; NAME is the trace's without its folder and ending, NAME-beside-NAME for two. The folder is
 * made if necessary. `stem` gets the three files' common beginning. False with `error` set if the
 * table cannot be written, or if gnuplot or the script is missing or fails; then the table is kept,
 * without pictures. */
bool portrait_picture(const struct trace_portrait *portraits, const char *const *trace_paths,
                      size_t count, const char *folder, char stem[PATH_MAX], struct error *error);

/* Harmless on a zeroed one. */
void trace_portrait_release(struct trace_portrait *portrait);

#endif
