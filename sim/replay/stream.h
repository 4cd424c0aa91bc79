/*
 * stream.h: a trace decoded once, for all passes of all structures, as the replay loop reads it.
 *
 * External operations and reactions are separate: the former come at their ticks, the latter wait
 * for an expiry (closed_loop.h). All of it is read-only and inherited by child processes. It takes
 * 16 bytes for each external operation (18 in a block with reactions), up to 17 for each tick with
 * any, 48 for each reaction, and 4 for each operation of a trace with slack. Beyond a limit it is
 * stored in a file without a name in $TMPDIR or /tmp, which the system caches.
 */
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include "error.h"
#include "step_codes.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reaction, with its properties that depend on the trace alone. */
struct stream_reaction {
    uint64_t event; /* its number in the trace, from 1 */
    uint64_t tick;  /* in the trace */
    uint64_t delay_ticks;
    uint64_t arming; /* the number of the start that it belongs to: the last start of its cause
                        at an earlier tick; 0: none */
    uint32_t id;
    uint32_t cause;
    uint32_t basis; /* enum trace_basis */
    uint16_t op;    /* enum trace_op */
    bool contended; /* at this tick, expiries of different timers trigger operations on its timer */
};

/* A block of consecutive external operations. */
struct stream_block {
    const struct trace_record *records;
    const struct trace_group *groups; /* as in a trace_block; none is empty */
    const uint64_t *events;           /* of each record its number in the trace, from 0; NULL:
                                         use offsets */
    const uint16_t *offsets;          /* from first_event; NULL: the record's index */
    struct step_codes codes;          /* of all groups; without codes: not made yet */
    size_t record_count;
    size_t group_count;
    uint64_t first_event;
    size_t reaction_begin; /* reactions of the same part of the trace */
    size_t reaction_end;
};

/* Return the number in the trace of a block's record `at`, from 0. */
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
    const uint32_t *slacks; /* of each operation, in ticks; NULL: none */
    uint64_t bytes;         /* of address space */
    void *memory;
};

/* A limit of half of the free memory. */
#define STREAM_HALF_FREE UINT64_MAX

/* Decode a trace, from its beginning, using at most `limit_bytes` of memory. NULL with `error` set:
 * the trace cannot be read, or the file cannot be written. */
struct stream *stream_decode(struct trace_reader *reader, uint64_t limit_bytes,
                             struct error *error);

/* Decode the trace at `path`, with the usual limit. */
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

/* A position in the trace; zeroed but for the stream: its beginning. */
struct stream_walk {
    const struct stream *stream;
    size_t block;
    size_t group;
    size_t record;
    size_t reaction;
};

/* Get the next operation in the order of the trace, reactions included. False: there is none. */
bool stream_walk_next(struct stream_walk *walk, struct stream_operation *operation);

#endif
