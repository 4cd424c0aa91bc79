/*
 * trace_loop.h: a recording prepared to be played repeatedly, from any of its moments on.
 *
 * A pass plays the timed window of the recording. At its end, the seam, the next pass begins with
 * new ids, because structures still hold the timers pending at the seam. Times count from the
 * beginning of a pass. For each start the end of its timer's pending time is known, so that a pass
 * that is entered midway can start exactly the timers pending then.
 *
 * Timers pending at the end of a pass are treated in one of two ways:
 *
 *   left        a timer that was started once fires at its due tick, within a later pass, if that
 *               is at most two lengths of the recording after the end (TIME_WAIT, which always
 *               fires and would hardly do so within a short recording)
 *   taken over  a timer that was started several times (an idle timer), or is due later, belongs to
 *               a connection that continues: it is stopped when the next pass first uses its
 *               namesake, unless it fires before
 *
 * So the number of pending timers is the recording's for connections that continue, and follows
 * from the rate of starts for timers that are left; it is the same in every pass.
 *
 * A recording with a warm-up is entered with the timers pending at its end. Later passes begin
 * without them: the timers left by the pass before replace them, as the two are alike in a steady
 * state; reactions to timers that only the warm-up started are external then.
 *
 * Memory: some hundred bytes for each timer of the recording. The operations are in a mapped
 * temporary file without a name, in the folder of the output.
 */
#ifndef SIM_TRACE_LOOP_H
#define SIM_TRACE_LOOP_H

#include "error.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum loop_mark {
    LOOP_TAKES_OVER = 1,    /* if the previous pass did not end with it, its namesake is stopped */
    LOOP_CAUSED_BEFORE = 2, /* a reaction to a timer that only the warm-up started */
};

/* An operation. Ticks count from the beginning of a pass, and are negative in the warm-up. */
struct loop_step {
    int64_t tick;
    int64_t end; /* of a start: the tick at which the timer fires, or is restarted or stopped */
    uint64_t delay_ticks;
    uint32_t slack_ticks;
    uint32_t id; /* timers are renumbered in the order of their first use */
    uint32_t cause_id;
    uint8_t op;    /* enum trace_op */
    uint8_t basis; /* enum trace_basis */
    uint8_t marks; /* enum loop_mark */
};

/* A numbering without gaps of the ids that a part of a pass needs, in the order of their keys. */
struct loop_numbering {
    uint32_t *rank; /* by id */
    int64_t *keys;  /* by rank */
    uint32_t count; /* of keys */
    bool ascending;
};

struct trace_loop {
    struct loop_step *steps;
    uint64_t step_count;
    uint64_t first_step;  /* of the window */
    int64_t length_ticks; /* of a pass */
    int64_t age_ticks;    /* upper bound of a pending timer's age at the beginning of a pass */

    /* The last start of each timer pending at the end of a pass, by its tick; none if the recording
     * has a warm-up. */
    struct loop_step *left;
    uint32_t left_count;
    uint32_t left_passes; /* timers may be left from this many passes back: 0 to 2 */

    struct loop_numbering by_last;  /* for a pass that is entered: by the last tick at which it is
                                       pending or used, descending */
    struct loop_numbering by_first; /* for one that is left: by the first tick at which it is
                                       used, ascending */
    struct loop_numbering by_left;  /* for one that has ended: of `left`, by `end`, descending */

    uint32_t taken_over; /* timers, in each pass but the first */
    uint32_t freed;      /* reactions that are external in each pass but the first */
    size_t mapped_bytes;
};

/* Read a trace. The temporary file is in the folder of the path `output`. Fails if the trace cannot
 * be read, has no operations in its window, or has a reaction at a tick at which an exact structure
 * does not fire its cause, or for lack of space. Release it in any case. */
bool trace_loop_read(struct trace_loop *loop, struct trace_reader *reader, const char *path,
                     const char *output, struct error *error);

/* Return the first step of the window at `tick` or later. */
uint64_t trace_loop_step_at(const struct trace_loop *loop, int64_t tick);

/* Return how many of a numbering's ids have keys at or after `tick`; if ascending, before it. */
uint32_t trace_loop_ids(const struct loop_numbering *numbering, int64_t tick);

void trace_loop_release(struct trace_loop *loop);

#endif
