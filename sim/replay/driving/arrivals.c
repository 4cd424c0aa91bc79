#include "arrivals.h"

#include "due.h"
#include "memory.h"

#include <stdlib.h>

struct arrivals {
    const struct replay_drive *drive;
    uint64_t end_tick;
    struct trace_block block;
    struct trace_record records[TRACE_BLOCK_RECORDS];
    struct trace_cause causes[TRACE_BLOCK_RECORDS];
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

static void add_group(struct arrivals *arrivals, const struct trace_block *from,
                      const struct trace_group *group)
{
    struct trace_block *block = &arrivals->block;
    bool loses = drive_loses(arrivals->drive, arrivals->end_tick, group->tick);
    uint64_t tick = drive_awake(arrivals->drive, arrivals->end_tick, group->tick);
    size_t first = block->record_count;
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        bool external = from->causes == NULL || from->causes[i].basis == TRACE_EXTERNAL;
        if (external && loses) {
            continue;
        }
        size_t at = block->record_count++;
        arrivals->records[at] = due_later(&from->records[i], group->tick, tick);
        arrivals->events[at] = from->first_event + i;
        if (from->causes != NULL) {
            arrivals->causes[at] = from->causes[i];
        }
    }
    if (block->record_count > first) {
        arrivals->groups[block->group_count++] =
            (struct trace_group){.tick = tick,
                                 .first = (uint32_t)first,
                                 .count = (uint32_t)(block->record_count - first)};
    }
}

const struct trace_block *arrivals_of(struct arrivals *arrivals, const struct trace_block *block,
                                      const uint64_t **events)
{
    arrivals->block =
        (struct trace_block){.records = arrivals->records,
                             .causes = block->causes != NULL ? arrivals->causes : NULL,
                             .groups = arrivals->groups,
                             .index = block->index,
                             .first_event = block->first_event};
    for (size_t g = 0; g < block->group_count; g++) {
        add_group(arrivals, block, &block->groups[g]);
    }
    *events = arrivals->events;
    return &arrivals->block;
}
