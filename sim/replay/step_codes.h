/*
 * step_codes.h: the steps of a replay, four to a byte.
 *
 * A step is a start, a stop, or the passing of time to the next group's tick. Their order is
 * unpredictable, so a loop that branches at each step spends much of its time on mispredictions,
 * which a program with a call site for each operation does not have. Instead, a switch over a byte
 * leads to code for four steps without a branch: one misprediction for four. The bytes are prepared
 * block by block, outside the timed part.
 */
#ifndef SIM_STEP_CODES_H
#define SIM_STEP_CODES_H

#include "trace.h"

#include <stddef.h>
#include <stdint.h>

enum step { STEP_START = TRACE_START, STEP_STOP = TRACE_STOP, STEP_TIME, STEP_KINDS };

enum {
    STEPS_A_CODE = 4,
    STEP_CODES = STEP_KINDS * STEP_KINDS * STEP_KINDS * STEP_KINDS,
    /* each record, and time before each */
    STEPS_MAX = 2 * TRACE_BLOCK_RECORDS,
};

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
 * operations. `room` must hold a byte for each step. */
void step_codes_make(struct step_codes *codes, uint8_t *room, const struct trace_record *records,
                     const struct trace_group *groups, size_t count);

#endif
