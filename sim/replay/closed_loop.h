/*
 * closed_loop.h: what a firing causes happens when, and only if, the structure fires it.
 *
 * A trace holds external operations, which happen at their ticks whatever a structure does, and
 * reactions, each at the tick at which an exact structure fires its cause. This decides for any
 * structure, however late or early, which reactions are carried out, when, and with what deadline:
 *
 *   - At tick t the stream's reactions for t are put aside, then comes the advance to t, then what
 *     was held back, then the external operations of t.
 *   - A reaction belongs to the arming of its cause: that timer's last start in the stream before
 *     its tick. It is carried out when that arming fires, in the callback; if that was before t,
 *     the structure having been early, it is held back to the end of t.
 *   - It is dropped if another start or a stop of its cause comes before that, and so is what
 *     belongs to a start that was dropped. An operation, external or not, is superseded, and
 *     dropped, if a later one of the stream on the same timer was carried out before it.
 *   - In the callback come reactions on the cause itself, and, if the structure is exact, those on
 *     timers that are neither due at this tick nor touched by two causes at it. All others are held
 *     back to the end of the tick and go in the order of the stream.
 *
 * So no firing changes another of its tick, and each timer keeps the stream's latest operation:
 * structures that are exact do the same, in whatever order they fire within a tick, and what the
 * stream says. A late one pays for every expiry that it owes; what it is too late for is never
 * reached.
 */
#ifndef SIM_CLOSED_LOOP_H
#define SIM_CLOSED_LOOP_H

#include "stream.h"

#include <stdbool.h>
#include <stdint.h>

/* An operation that is to be carried out now. */
struct loop_operation {
    uint64_t event;    /* its number in the trace, from 0 */
    uint64_t deadline; /* of a start, as this structure executes it */
    uint32_t id;
    enum trace_op op;
    uint32_t cause; /* the timer whose firing brings it about */
    bool inside;    /* in the callback; otherwise held back to the end of the tick */
};

/* Does it to the structure, at tick `now`. */
typedef void loop_carry_fn(void *ctx, const struct loop_operation *operation, uint64_t now);

struct closed_loop_plan {
    const struct stream *stream;
    bool exact; /* the structure fires every timer at its due tick */
    loop_carry_fn *carry;
    void *ctx;
};

struct closed_loop;

/* Begins at the trace's first operation. */
struct closed_loop *closed_loop_open(const struct closed_loop_plan *plan);

/* Before each advance to tick `now`, which does not go back. */
void closed_loop_advancing(struct closed_loop *loop, uint64_t now);

/* In the callback of a timer that fires at tick `now`: carries out what is to be done there. */
void closed_loop_fired(struct closed_loop *loop, uint32_t id, uint64_t now);

/* After the last advance to tick `now`: carries out what was held back. */
void closed_loop_advanced(struct closed_loop *loop, uint64_t now);

/* An external operation of tick `now` comes: number `event` of the trace. False if it is
 * superseded, and not to be done. Everything of a tick before this one has been done. */
bool closed_loop_external(struct closed_loop *loop, uint64_t event, uint64_t now,
                          const struct trace_record *record);

/* Whether the cause of a reaction that has not been put aside has fired, early: it waits for the
 * reaction's tick. */
bool closed_loop_waits(const struct closed_loop *loop, const struct stream_reaction *reaction);

/* How many reactions have been carried out. Those of the trace that never were,
 * were not reached. */
uint64_t closed_loop_reactions(const struct closed_loop *loop);

/* Have the processor fetch what it has of a timer, for an operation to come. */
void closed_loop_fetch(const struct closed_loop *loop, uint32_t id);

/* Harmless on NULL. */
void closed_loop_close(struct closed_loop *loop);

#endif
