/*
 * trace_loop.h: a recording made ready to be played over and over, from any of its moments on.
 *
 * A pass through the recording plays its timed window; where one ends, at the seam, the next
 * begins, with ids of its own: a timer that pends at the seam is still held by every structure, and
 * what the next pass starts is another. Times count from the beginning of a pass. For each start it
 * is known until when its timer pends, so that who enters a pass midway can start just what pends
 * then.
 *
 * What pends at the end of a pass does what the recording does not show:
 *
 *   left         a timer that was started once fires in its time, within a later pass, if that is
 * at most two lengths of the recording after the end (TIME_WAIT, which always fires and would
 * hardly do so within a short recording) taken over   one that was started several times (an idle
 * timer), or lies further ahead, is that of a connection that goes on: it is stopped where the next
 * pass first does something to its namesake, or fires before
 *
 * So the number of pending timers is the recording's own where connections go on, and what the rate
 * of starts makes of it where timers are left alone; either way it is the same in every pass.
 *
 * A recording with a warm-up is entered with what pends there. Later passes begin without: what the
 * pass before has left is in for it, as the two are alike in a steady state; reactions to
 * timers that only the warm-up started are external then.
 *
 * Memory: some hundred bytes for each timer of the recording. The operations lie in a temporary
 * file that has no name, next to the output, and is mapped.
 */
#ifndef SIM_TRACE_LOOP_H
#define SIM_TRACE_LOOP_H

#include "error.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum loop_mark {
    LOOP_TAKES_OVER = 1,    /* if the pass before did not end with it, its namesake is stopped */
    LOOP_CAUSED_BEFORE = 2, /* a reaction to a timer that only the warm-up started */
};

/* An operation. Ticks count from the beginning of a pass, and are negative in the warm-up. */
struct loop_step {
    int64_t tick;
    int64_t end; /* of a start: the tick at which the timer fires, or is started again or stopped */
    uint64_t delay_ticks;
    uint32_t slack_ticks;
    uint32_t id; /* timers are numbered again, in the order in which they are named */
    uint32_t cause_id;
    uint8_t op;    /* enum trace_op */
    uint8_t basis; /* enum trace_basis */
    uint8_t marks; /* enum loop_mark */
};

/* How the ids that a part of a pass needs are numbered without gaps: all whose key
 * is on the near side of a tick come first. */
struct loop_numbering {
    uint32_t *rank; /* by id */
    int64_t *keys;  /* by rank */
    uint32_t count; /* of keys */
};

struct trace_loop {
    const struct loop_step *steps;
    uint64_t step_count;
    uint64_t first_step;  /* of the window */
    int64_t length_ticks; /* of a pass */
    int64_t age_ticks;    /* nothing that pends in a pass was started longer before its beginning */

    /* The last start of each timer that pends at the end of a pass, by its tick; none if the
     * recording has a warm-up. */
    struct loop_step *left;
    uint32_t left_count;
    uint32_t left_passes; /* so many passes back may have left what still pends: 0 to 2 */

    struct loop_numbering by_last;  /* by the last tick at which it pends or is named, descending */
    struct loop_numbering by_first; /* by the first tick at which it is named, ascending */
    struct loop_numbering by_left;  /* of `left`, by `end`, descending */

    uint32_t taken_over; /* timers, in each pass but the first */
    uint32_t freed;      /* reactions that are external in each pass but the first */
    size_t mapped_bytes;
};

/* Reads all of a trace. `beside` is a path in whose folder the temporary file may lie. Fails if the
 * trace does, if there is nothing in its window, if a reaction is where an exact structure does
 * not fire its cause, or for want of room. Release it either way. */
bool trace_loop_read(struct trace_loop *loop, struct trace_reader *reader, const char *path,
                     const char *beside, struct error *error);

/* The first step of the window at `tick` or later. */
uint64_t trace_loop_step_at(const struct trace_loop *loop, int64_t tick);

/* How many ids are needed: of a pass that is entered at `tick`, or that is left before `tick`; and
 * of a pass which ended, while it was `tick` since its beginning. */
uint32_t trace_loop_ids_from(const struct trace_loop *loop, int64_t tick);
uint32_t trace_loop_ids_before(const struct trace_loop *loop, int64_t tick);
uint32_t trace_loop_ids_left(const struct trace_loop *loop, int64_t tick);

void trace_loop_release(struct trace_loop *loop);

#endif
