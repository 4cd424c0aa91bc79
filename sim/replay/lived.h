/*
 * lived.h: a stretch of a trace as a structure lived it: the operations outside of callbacks, from
 * the trace and its tape, as blocks that the timed loops take. Reactions of the trace are left out:
 * the tape has those that were carried out, each at its tick before the external operations.
 */
#ifndef SIM_LIVED_H
#define SIM_LIVED_H

#include "stream.h"
#include "tape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lived {
    struct stream_block block; /* what the last call of lived_next found */
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
void lived_begin(struct lived *lived, const struct stream_block *from, size_t group,
                 size_t group_end, const struct tape_section *section);

/* Fills the block with what comes next, at most TRACE_BLOCK_RECORDS operations and groups. False if
 * there is nothing. */
bool lived_next(struct lived *lived);

#endif
