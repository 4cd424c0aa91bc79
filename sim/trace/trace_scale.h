/*
 * trace_scale.h: make a recording of some connections one of many: superpose copies of it, each
 * shifted in time, each with its own ids.
 *
 * - **The number of connections** of a recording is in its origin: `connections`, of a generated
 *   trace those of all its parts, of an imported one those that its format counts. Otherwise the
 *   caller must give it. Copies are whole, so that the result may have somewhat more connections
 *   than requested.
 * - **Shifts** are circular, independent and uniform over the recording's timed window. Circular,
 *   because then every moment of the result combines all moments of the recording: a trend in the
 *   recording does not appear in all copies at once. Independent, because evenly spread copies fill
 *   each other's gaps: the more there are, the smoother the result. With independent ones the
 *   variance of the starts in a stretch of time grows as their mean does, so that the index of
 *   dispersion (trace_dispersion.h) is a copy's own, in expectation: burstiness is kept.
 * - **Timers pending** when a copy begins again are treated as in trace_loop.h. The result begins
 *   with a warm-up that starts the timers pending at the beginning of its window, each at the tick
 *   and with the delay of its last start.
 * - A reaction stays with its cause. The result of an open-loop recording is open loop.
 *
 * Memory: 56 bytes for each copy, and that of trace_loop.h; time: copies times the recording.
 */
#ifndef SIM_TRACE_SCALE_H
#define SIM_TRACE_SCALE_H

#include "error.h"

#include <stdint.h>

struct trace_scale_request {
    const char *in_path;
    const char *out_path;
    uint32_t connections; /* lower bound */
    uint32_t of;          /* connections of the recording; 0: as in its origin */
    double seconds;       /* length of the timed window; 0: that of the recording's */
    uint64_t seed;
};

struct trace_scale_summary {
    uint32_t of; /* connections of the recording */
    uint32_t copies;
    uint64_t connections; /* of the result */
    uint64_t events;
    uint64_t warmup_events; /* of these, starts of the timers pending when the window begins */
    uint64_t takeovers;     /* of these, stops of timers that the recording left pending */
    uint64_t freed;         /* reactions that became external */
    uint32_t ids;
};

/* Make the trace. The same request with the same recording gives the same operations on any
 * machine. Fails, without leaving a file, if the recording cannot be read, has no operations in its
 * window, has reactions at ticks at which their causes do not fire, has more connections than
 * requested, or an unknown number; if the result would have more timers or ticks than a trace can
 * hold; or for lack of space. */
bool trace_scale(const struct trace_scale_request *request, struct trace_scale_summary *summary,
                 struct error *error);

#endif
