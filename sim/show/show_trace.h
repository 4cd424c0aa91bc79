/*
 * show_trace.h: a window of a trace, step by step. The part before it is replayed without
 * recording; each operation of the window is a step, and each advance that has an effect.
 */
#ifndef SIM_SHOW_TRACE_H
#define SIM_SHOW_TRACE_H

#include "show.h"
#include "trace.h"

struct show_window {
    uint64_t from_tick;
    uint64_t to_tick;    /* inclusive */
    const uint32_t *ids; /* only these timers of the trace; NULL: all */
    size_t id_count;
};

/* Replay the trace at `path` up to the window's end. As in every replay, a tick first expires
 * timers, then executes its operations; reactions are executed with the expiry (closed_loop.h); and
 * the structure is woken at its `next`, or every tick. If only some timers are shown, the others do
 * not expire: then all operations are executed at their ticks. Return false with `error` set if the
 * trace is damaged. */
bool show_trace_run(const char *path, const struct show_window *window, struct show *show,
                    struct error *error);

#endif
