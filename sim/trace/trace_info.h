/*
 * trace_info.h: a summary of a trace, from reading it once through an exact timekeeper: expiries,
 * pending timers, the distribution of delays. Memory grows with the number of ids used, not with
 * the length.
 */
#ifndef SIM_TRACE_INFO_H
#define SIM_TRACE_INFO_H

#include "error.h"
#include "trace.h"
#include "trace_portrait.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Up to this number different delays are counted one by one, and percentiles are exact; beyond,
 * `distinct` is this bound and percentiles are up to 1.6 % too large. */
#define TRACE_INFO_DISTINCT_MAX UINT32_C(131072)

struct trace_info {
    uint64_t window_events;   /* from warmup_end_tick on */
    uint64_t window_fired;    /* from the first of these on, as `fired` */
    uint64_t restarts;        /* starts of a pending timer */
    uint64_t stops_idle;      /* stops of a timer that was not pending */
    uint64_t misplaced;       /* reactions at ticks at which an exact structure does not fire the
                                 cause: no replay executes them like the trace */
    uint64_t misplaced_event; /* the first of these, from 0 */
    uint64_t fired;           /* up to end_tick, by an exact structure */
    uint64_t pending_at_end;  /* still pending then */
    uint64_t pending_max;
    uint64_t pending_max_tick;
    uint64_t busy_ticks; /* with any operation */
    uint64_t busiest_tick;
    uint64_t busiest_tick_events;
    uint64_t delay_min; /* 0 if there is no start */
    uint64_t delay_p50;
    uint64_t delay_p90;
    uint64_t delay_p99;
    uint64_t delay_max;
    uint64_t timer_starts_max; /* the most starts of one timer */
    uint32_t timer_starts_id;  /* the first timer with that many */
    uint64_t distinct_delays;
    bool distinct_bounded;   /* there are more */
    double dispersion_100ms; /* of the starts in the window, by trace_dispersion.h; NAN: too few */
    double dispersion_1s;
};

/* Read the trace from its first block to its end. `portrait` is begun and filled, to be released;
 * NULL: not wanted. */
bool trace_info_collect(struct trace_reader *reader, struct trace_info *info,
                        struct trace_portrait *portrait, struct error *error);

/* Print a summary for people. `path` is the trace's name. */
void trace_info_print(FILE *stream, const char *path, const struct trace_header *header,
                      const struct trace_info *info);

/* Return the summary as JSON, owned by the caller. */
json_t *trace_info_json(const char *path, const struct trace_header *header,
                        const struct trace_info *info);

#endif
