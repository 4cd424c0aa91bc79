#include "arrivals.h"

#include "due.h"
#include "memory.h"

#include <stdlib.h>

struct arrivals {
    const struct replay_drive *drive;
    uint64_t end_tick;
    struct stream_block block;
    struct trace_record records[TRACE_BLOCK_RECORDS];
    struct trace_group groups[TRACE_BLOCK_RECORDS];
    uint64_t events[TRACE_BLOCK_RECORDS];
};

struct arrivals *arrivals_open(const struct replay_drive *drive, uint64_t end_tick)
{
    struct arrivals *arrivals = memory_bytes(sizeof *arrivals);
    arrivals->drive = drive;
    arrivals->end_tick = end_tick;
    return arrivals;
}

void arrivals_close(struct arrivals *arrivals)
{
    free(arrivals);
}

static void add_group(struct arrivals *arrivals, const struct stream_block *from,
                      const struct trace_group *group)
{
    struct stream_block *block = &arrivals->block;
    if (drive_loses(arrivals->drive, arrivals->end_tick, group->tick)) {
        return;
    }
    uint64_t tick = drive_awake(arrivals->drive, arrivals->end_tick, group->tick);
    arrivals->groups[block->group_count++] = (struct trace_group){
        .tick = tick, .first = (uint32_t)block->record_count, .count = group->count};
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        arrivals->records[block->record_count] = due_later(&from->records[i], group->tick, tick);
        arrivals->events[block->record_count++] = stream_event(from, i);
    }
}

const struct stream_block *arrivals_of(struct arrivals *arrivals, const struct stream_block *block)
{
    arrivals->block = (struct stream_block){.records = arrivals->records,
                                            .groups = arrivals->groups,
                                            .events = arrivals->events,
                                            .reaction_begin = block->reaction_begin,
                                            .reaction_end = block->reaction_end};
    for (size_t g = 0; g < block->group_count; g++) {
        add_group(arrivals, block, &block->groups[g]);
    }
    return &arrivals->block;
}
