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
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An operation of a replay, as the trace has it or as it is executed. */
struct stream_operation {
    uint64_t event;    /* its number in the trace, from 0 */
    uint64_t tick;     /* at which it happens */
    uint64_t deadline; /* of a start */
    uint32_t id;
    uint32_t op;    /* enum trace_op */
    uint32_t cause; /* of a reaction: the timer that triggers it */
    bool reaction;
    bool inside; /* a reaction in the callback; otherwise it is postponed to the end of the tick */
};

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

/* --- step codes ------------------------------------------------------------------------------ */

/*
 * The steps of a replay, four to a byte.
 *
 * A step is a start, a stop, or the passing of time to the next group's tick. Their order is
 * unpredictable, so a loop that branches at each step spends much of its time on mispredictions,
 * which a program with a call site for each operation does not have. Instead, a switch over a byte
 * leads to code for four steps without a branch: one misprediction for four. The bytes are prepared
 * block by block, outside the timed part.
 */
enum step { STEP_START = TRACE_START, STEP_STOP = TRACE_STOP, STEP_TIME, STEP_KINDS };

enum {
    STEPS_A_CODE = 4,
    STEP_CODES = STEP_KINDS * STEP_KINDS * STEP_KINDS * STEP_KINDS,
};

/* The bytes of the codes of this many steps. */
#define STEP_BYTES(steps) ((steps) / STEPS_A_CODE + STEPS_A_CODE)

/* Return a step of a code. The first step is the lowest digit to the base of STEP_KINDS. */
static inline enum step step_of_code(unsigned code, unsigned place)
{
    for (; place > 0; place--) {
        code /= STEP_KINDS;
    }
    return (enum step)(code % STEP_KINDS);
}

/* The steps of a stretch of a block. */
struct step_codes {
    const uint8_t *codes; /* after them the other steps, one a byte */
    size_t code_count;
    size_t rest_count; /* steps after the last code: fewer than STEPS_A_CODE */
};

/* Encode the steps of `count` groups of `records`: for each, time up to its tick, then its
 * operations. `room` has STEP_BYTES of them. */
void step_codes_make(struct step_codes *codes, uint8_t *room, const struct trace_record *records,
                     const struct trace_group *groups, size_t count);

/* --- the stream ------------------------------------------------------------------------------ */

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

/* Return a reaction as an operation at `tick`, from which its delay counts. */
struct stream_operation stream_reaction_at(const struct stream_reaction *reaction, uint64_t tick);

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
