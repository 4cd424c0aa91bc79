/*
 * show_trace.h: a window of a trace, step by step: what comes before is applied unseen, each
 * operation of the window is a step, and so is each advance that finds something to do.
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

/* Replays the trace at `path` as far as the window goes. As in every replay, a tick first lets
 * expire, then applies its operations, what a firing causes comes with it (closed_loop.h), and
 * between operations the structure is woken when its `next` says so, or every tick. Where only some
 * of the timers are shown, others do not fire: then all operations come at their ticks. False with
 * `error` set: a damaged trace, or a window with nothing in it. */
bool show_trace_run(const char *path, const struct show_window *window, struct show *show,
                    struct error *error);

#endif
