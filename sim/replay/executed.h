/*
 * executed.h: the operations outside of callbacks, from the trace and its tape, in executed order,
 * as blocks for the timed loops. Postponed reactions come at their ticks, before the external
 * operations. Stretches without any use the stream's own blocks.
 */
#ifndef SIM_EXECUTED_H
#define SIM_EXECUTED_H

#include "stream.h"
#include "tape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct executed {
    struct stream_block block; /* filled by executed_next */
    uint64_t events[TRACE_BLOCK_RECORDS];
    struct trace_record records[TRACE_BLOCK_RECORDS];
    struct trace_group groups[TRACE_BLOCK_RECORDS];
    uint64_t arrived[TRACE_BLOCK_RECORDS]; /* of each record: its tick in the trace */
    bool queues;                           /* the tape has the ticks at which external operations
                                              are applied */

    /* The position. */
    const struct stream_block *from; /* NULL: no operations of the trace */
    size_t group;
    size_t group_end;
    uint32_t record;  /* of the group, already added */
    uint64_t applied; /* at this tick; UINT64_MAX: not known yet */
    const struct tape_section *section;
    size_t outside;
};

/* Begin a stretch: groups [group, group_end) of `from`, with their section of the tape. */
void executed_begin(struct executed *executed, const struct stream_block *from, size_t group,
                    size_t group_end, const struct tape_section *section);

/* Fill the block with the next operations. False: there are none. */
bool executed_next(struct executed *executed);

#endif
