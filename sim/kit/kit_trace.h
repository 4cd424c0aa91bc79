/*
 * kit_trace.h: operations on a timer structure as data: what the fuzzer makes of bytes, what the
 * shrinker makes smaller, and what a failure prints.
 *
 * Times are relative to the clock, so that any part of a trace is a trace. As text, one operation
 * a line, # begins a comment:
 *
 *     create capacity 4 now 0 max-delay 0 options slots=3
 *     start 2 in 17              deadline = clock + 17; a negative number is a deadline in the past
 *     stop 2
 *     advance by 5
 *     advance by 5 budget 1
 *     advance to next            to the tick that the structure's `next` says, if that is ahead
 *     reserve 9
 *     when 2 fires start 0 in 3  once, inside the callback
 *     when 2 fires stop 0
 *     when 2 fires start 2 in 5 always   each time; a stop likewise
 *
 * What one timer's firing does is carried out in the order of the lines, KIT_ARMS_MAX of them at
 * most. Behind the last operation, the clock is driven on until every timer must have fired; what
 * is done always is done once more then.
 */
#ifndef SIM_KIT_TRACE_H
#define SIM_KIT_TRACE_H

#include "error.h"
#include "registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum kit_op_kind {
    KIT_OP_START,
    KIT_OP_STOP,
    KIT_OP_ADVANCE,
    KIT_OP_NEXT,
    KIT_OP_RESERVE,
    KIT_OP_WHEN_START,
    KIT_OP_WHEN_STOP,
};

struct kit_op {
    enum kit_op_kind kind;
    uint32_t id;     /* reserve: the capacity */
    uint32_t other;  /* when: the timer that the callback acts upon */
    int64_t ticks;   /* start: deadline - clock (INT64_MAX: the last legal deadline);
                        advance: now - clock */
    uint64_t budget; /* advance; TL_NO_BUDGET: none */
    bool always;     /* when: each time, not only the next */
};

/* What create is told. */
struct kit_session {
    uint32_t capacity;
    uint64_t now;
    uint64_t max_delay_ticks;
    int64_t options[TL_OPTIONS_MAX];
};

struct kit_trace {
    struct kit_session session;
    struct kit_op *ops; /* owned */
    size_t count;
    uint64_t seed; /* of the session that it comes from; 0: not from a seed */
};

/* No session has more operations, and none asks for more timers. */
#define KIT_OPS_MAX      4096u
#define KIT_CAPACITY_MAX 4096u

/* So much does one timer's firing do; one more takes the place of the oldest. */
#define KIT_ARMS_MAX     4u

/* Writes a trace as text. */
void kit_trace_write(const struct kit_trace *trace, const struct tl_algo *algo, FILE *stream);

/* Reads a trace for that structure; `name` is the file's name for messages. On success the trace
 * is to be released. The options in the text count, the target's own do not. */
bool kit_trace_read(struct kit_trace *trace, const struct tl_algo *algo, FILE *stream,
                    const char *name, struct error *error);

/* Frees what a trace owns. Harmless on a zeroed one. */
void kit_trace_release(struct kit_trace *trace);

#endif
