/*
 * trace_scale.h: a recording of some connections becomes one of many: copies of it are superposed,
 * each shifted in time, each with ids of its own.
 *
 * - **How many connections a recording has** its origin says: `connections`, of a generated trace
 *   those of its parts together, of an imported one what its format counts. Where it does not say,
 *   the caller must. Copies are whole: as many as are needed, so that somewhat more connections
 * than were asked for can come out.
 * - **Shifts** are circular, independent and uniform over the recording's timed window. Circular,
 *   because then every moment of the result is made of all moments of the recording alike: what
 *   grows or sinks in the recording does not do so in all copies at once. Independent, and not
 * spread evenly: evenly spread copies fill each other's gaps, and the more there are, the smoother
 * it gets. Of independent ones the variance of the starts in a stretch of time grows as their mean
 * does, so that the index of dispersion (trace_dispersion.h) is a copy's own, in expectation: what
 * was bursty stays so.
 * - **What pends** when a copy begins again is dealt with as trace_loop.h says. The result begins
 *   with a warm-up that starts what pends at the beginning of its window, each timer at the tick
 *   and with the delay it was really started with.
 * - A reaction stays with its cause. Of a recording that is open loop the result is, too.
 *
 * Memory: 56 bytes for each copy, and what trace_loop.h says; time: copies times the recording.
 */
#ifndef SIM_TRACE_SCALE_H
#define SIM_TRACE_SCALE_H

#include "error.h"

#include <stdint.h>

struct trace_scale_request {
    const char *in_path;
    const char *out_path;
    uint32_t connections; /* at least so many */
    uint32_t of;          /* how many the recording has; 0: as its origin says */
    double seconds;       /* length of the timed window; 0: as long as the recording's */
    uint64_t seed;
};

struct trace_scale_summary {
    uint32_t of; /* connections of the recording */
    uint32_t copies;
    uint64_t connections; /* that came out */
    uint64_t events;
    uint64_t warmup_events; /* of these, starts of what pends when the window begins */
    uint64_t takeovers;     /* of these, stops of timers that the recording left pending */
    uint64_t freed;         /* reactions that became external */
    uint32_t ids;
};

/* Makes the trace. The same request of the same recording gives the same operations everywhere.
 * Fails, and leaves nothing behind, if the recording cannot be read, has no operations in its
 * window, has reactions where their cause does not fire, has more connections than are asked for,
 * or nobody says how many; if the result would have more timers or ticks than a trace holds; or for
 * want of room. */
bool trace_scale(const struct trace_scale_request *request, struct trace_scale_summary *summary,
                 struct error *error);

#endif
