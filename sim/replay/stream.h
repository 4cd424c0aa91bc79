/*
 * stream.h: a trace decoded once, for all passes of all structures, as the replay loop reads it.
 *
 * External operations and reactions are separate: the first come at their ticks whatever a
 * structure does; the second wait for an expiry (closed_loop.h). All of it is read-only, and
 * inherited by child processes, which neither decode nor copy it. It takes 16 bytes for each
 * external operation, or 18 among reactions, up to 17 more for each tick that has any, 48 for each
 * reaction, and 4 for each operation of a trace that has slack. If that is more than the limit, it
 * is stored in a file without a name in $TMPDIR or /tmp, of which the system keeps in memory what it
 * has room for.
 */
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include "error.h"
#include "step_codes.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reaction, with all that depends on the trace alone. */
struct stream_reaction {
    uint64_t event; /* its number in the trace, from 1 */
    uint64_t tick;  /* in the trace */
    uint64_t delay_ticks;
    uint64_t arming; /* the number of the start that it belongs to: the last start of its cause at
                        an earlier tick; 0: there is none */
    uint32_t id;
    uint32_t cause;
    uint32_t basis; /* enum trace_basis */
    uint16_t op;    /* enum trace_op */
    bool contended; /* at this tick reactions to another timer's expiry are on the same timer */
};

/* External operations that follow one another. */
struct stream_block {
    const struct trace_record *records;
    const struct trace_group *groups; /* as of a trace_block; none is empty */
    const uint64_t *events;           /* the number in the trace of each record, from 0; NULL: */
    const uint16_t *offsets;          /* number first_event and so much; NULL: and its place */
    struct step_codes codes;          /* of all groups; NULL inside: they are not made yet */
    size_t record_count;
    size_t group_count;
    uint64_t first_event;
    size_t reaction_begin; /* of the stream's reactions, those of the same part of the trace */
    size_t reaction_end;
};

/* The number in the trace of a block's record `at`, from 0. */
static inline uint64_t stream_event(const struct stream_block *block, size_t at)
{
    return block->events != NULL
               ? block->events[at]
               : block->first_event + (block->offsets != NULL ? block->offsets[at] : at);
}

struct stream {
    struct trace_header header; /* without its origin */
    const struct stream_block *blocks;
    size_t block_count;
    const struct stream_reaction *reactions;
    size_t reaction_count;
    const uint32_t *slacks; /* of each operation, in ticks; NULL: no timer has any */
    uint64_t bytes;         /* of address space */
    void *memory;
};

/* No limit but half of the memory that is free now. */
#define STREAM_HALF_FREE UINT64_MAX

/* Decode a trace, from its beginning. `limit_bytes`: how much memory it may take. NULL with `error`
 * set: the trace cannot be read, or the file cannot be written. */
struct stream *stream_decode(struct trace_reader *reader, uint64_t limit_bytes,
                             struct error *error);

/* The same of the trace at `path`, with the usual limit. */
struct stream *stream_open(const char *path, struct error *error);

/* Harmless on NULL. */
void stream_close(struct stream *stream);

/* An operation of the trace. */
struct stream_operation {
    uint64_t event; /* its number, from 0 */
    uint64_t tick;
    struct trace_record record;
    bool reaction;
};

/* A place in the trace; zeroed but for the stream, its beginning. */
struct stream_walk {
    const struct stream *stream;
    size_t block;
    size_t group;
    size_t record;
    size_t reaction;
};

/* The next operation in the order of the trace, reactions included. False: there is none. */
bool stream_walk_next(struct stream_walk *walk, struct stream_operation *operation);

#endif
