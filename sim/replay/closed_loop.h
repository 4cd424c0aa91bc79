/*
 * closed_loop.h: an operation that an expiry triggers happens when, and only if, the structure
 * fires that timer. docs/internals/closed-loop.md has the rules: which reactions are carried out,
 * when, and with what deadline, for any structure, early or late.
 *
 * No expiry changes another of its tick, and each timer keeps the stream's latest operation: exact
 * structures execute exactly the stream, whatever order they use within a tick. A late structure
 * performs every expiry that it owes; reactions that it is too late for are not reached.
 */
#ifndef SIM_CLOSED_LOOP_H
#define SIM_CLOSED_LOOP_H

#include "stream.h"

#include <stdbool.h>
#include <stdint.h>

/* Apply a reaction to the structure, at the operation's tick. */
typedef void loop_carry_fn(void *ctx, const struct stream_operation *operation);

struct closed_loop_plan {
    const struct stream *stream;
    bool exact; /* the structure fires every timer at its due tick */
    loop_carry_fn *carry;
    void *ctx;
};

struct closed_loop;

/* Begin before the trace's first operation. */
struct closed_loop *closed_loop_open(const struct closed_loop_plan *plan);

/* Call before each advance to tick `now`, which must not decrease. */
void closed_loop_advancing(struct closed_loop *loop, uint64_t now);

/* Call in the callback of a timer that fires at tick `now`: carry out its reactions. */
void closed_loop_fired(struct closed_loop *loop, uint32_t id, uint64_t now);

/* Call after the last advance to tick `now`: carry out the postponed reactions. */
void closed_loop_advanced(struct closed_loop *loop, uint64_t now);

/* Return whether an external operation, at the tick at which it is applied, is to be carried out;
 * false if it is superseded. All operations of earlier ticks must be done. */
bool closed_loop_external(struct closed_loop *loop, const struct stream_operation *operation);

/* Return whether the cause of a reaction that is not set aside yet has fired early. */
bool closed_loop_waits(const struct closed_loop *loop, const struct stream_reaction *reaction);

/* Prefetch the memory of a timer, for a later operation. */
void closed_loop_fetch(const struct closed_loop *loop, uint32_t id);

/* Harmless on NULL. */
void closed_loop_close(struct closed_loop *loop);

#endif
