/*
 * step_codes.h: what a replay is to do next, four steps to a byte.
 *
 * A step is a start, a stop, or the passing of time to the next group's tick. In which order they
 * come nothing foretells: a server's starts and stops are as if drawn by lot, and so is how many
 * share a tick. A loop that branches at each operation, and again at each group's end, pays for the
 * processor's wrong guesses, which are not the structure's: in a program each call stands at its
 * own place in the code. So the replay takes four steps at a time. A byte names which four; a
 * switch over it leads to code that does just those, one after the other, without a branch: one
 * guess for four. The bytes are made block by block, outside of what is timed.
 */
#ifndef SIM_STEP_CODES_H
#define SIM_STEP_CODES_H

#include "trace.h"

#include <stddef.h>
#include <stdint.h>

/* The first two are enum trace_op's. */
enum step { STEP_START = TRACE_START, STEP_STOP = TRACE_STOP, STEP_TIME, STEP_KINDS };

enum {
    STEPS_A_CODE = 4,
    STEP_CODES = STEP_KINDS * STEP_KINDS * STEP_KINDS * STEP_KINDS,
    /* Each record, and time before each. */
    STEPS_MAX = 2 * TRACE_BLOCK_RECORDS,
};

/* A code's steps, the first in the lowest place of a number to the base of STEP_KINDS. */
static inline enum step step_of_code(unsigned code, unsigned place)
{
    for (; place > 0; place--) {
        code /= STEP_KINDS;
    }
    return (enum step)(code % STEP_KINDS);
}

/* The steps of a stretch of a block. */
struct step_codes {
    const uint8_t *codes; /* and the rest, a step each, after them */
    size_t code_count;
    size_t rest_count; /* steps after the last code: fewer than STEPS_A_CODE */
};

/* Name the steps of `count` groups of `records`: for each, time up to its tick, then its
 * operations. They are written to `room`, which needs a byte for each step at first. */
void step_codes_make(struct step_codes *codes, uint8_t *room, const struct trace_record *records,
                     const struct trace_group *groups, size_t count);

#endif
