/*
 * executed.h: a stretch of a trace as a structure executed it: the operations outside of callbacks,
 * from the trace and its tape, as blocks that the timed loops take. Reactions that were held back
 * come at their ticks, before the external operations. A stretch without any needs none of this: the
 * loops take the stream's own blocks.
 */
#ifndef SIM_EXECUTED_H
#define SIM_EXECUTED_H

#include "stream.h"
#include "tape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct executed {
    struct stream_block block; /* what the last call of executed_next found */
    uint64_t events[TRACE_BLOCK_RECORDS];
    struct trace_record records[TRACE_BLOCK_RECORDS];
    struct trace_group groups[TRACE_BLOCK_RECORDS];
    uint64_t arrived[TRACE_BLOCK_RECORDS]; /* of each record: the tick at which it came */
    bool queues;                           /* the tape says when external operations are applied */

    /* What is still to come. */
    const struct stream_block *from; /* NULL: no operations of the trace */
    size_t group;
    size_t group_end;
    uint32_t record;  /* of the group, that are done */
    uint64_t applied; /* at this tick; UINT64_MAX: it has not been looked up */
    const struct tape_section *section;
    size_t outside;
};

/* Begins a stretch: groups [group, group_end) of `from`, with their section of the tape. */
void executed_begin(struct executed *executed, const struct stream_block *from, size_t group,
                    size_t group_end, const struct tape_section *section);

/* Fills the block with what comes next, at most TRACE_BLOCK_RECORDS operations and groups. False if
 * there is nothing. */
bool executed_next(struct executed *executed);

#endif
