#include "executed.h"

#include "due.h"

void executed_begin(struct executed *executed, const struct stream_block *from, size_t group,
                    size_t group_end, const struct tape_section *section)
{
    executed->from = from;
    executed->group = group;
    executed->group_end = group_end;
    executed->record = 0;
    executed->applied = UINT64_MAX;
    executed->section = section;
    executed->outside = 0;
}

static bool is_full(const struct executed *executed)
{
    return executed->block.record_count == TRACE_BLOCK_RECORDS ||
           executed->block.group_count == TRACE_BLOCK_RECORDS;
}

/* Make the last group one of this tick. */
static void go_to(struct executed *executed, uint64_t tick)
{
    struct stream_block *block = &executed->block;
    if (block->group_count == 0 || executed->groups[block->group_count - 1].tick != tick) {
        executed->groups[block->group_count++] =
            (struct trace_group){.tick = tick, .first = (uint32_t)block->record_count};
    }
}

static void add(struct executed *executed, uint64_t tick, uint64_t arrived, uint64_t event,
                const struct trace_record *record)
{
    go_to(executed, tick);
    struct stream_block *block = &executed->block;
    executed->groups[block->group_count - 1].count++;
    executed->events[block->record_count] = event;
    executed->arrived[block->record_count] = arrived;
    executed->records[block->record_count++] = *record;
}

/* Return the tape's next entry if it is a wakeup or was held back until `tick` or earlier. */
static const struct tape_outside *next_held(const struct executed *executed, uint64_t tick)
{
    const struct tape_section *section = executed->section;
    const struct tape_outside *outside = &section->outside[executed->outside];
    return executed->outside < section->outside_count && outside->op <= TAPE_WAKEUP &&
                   outside->tick <= tick
               ? outside
               : NULL;
}

static void add_held(struct executed *executed, uint64_t tick)
{
    const struct tape_outside *held;
    while (!is_full(executed) && (held = next_held(executed, tick)) != NULL) {
        const struct trace_record record = {
            .deadline = held->deadline, .id = held->id, .op = held->op};
        if (held->op == TAPE_WAKEUP) {
            go_to(executed, held->tick);
        } else {
            add(executed, held->tick, held->tick, held->event, &record);
        }
        executed->outside++;
    }
}

static bool is_superseded(struct executed *executed, uint64_t event)
{
    const struct tape_section *section = executed->section;
    const struct tape_outside *outside = &section->outside[executed->outside];
    bool superseded = executed->outside < section->outside_count &&
                      outside->op == TAPE_SUPERSEDED && outside->event == event;
    executed->outside += superseded;
    return superseded;
}

/* Return the tick at which the running group's external operations are applied. */
static uint64_t look_up_applied(struct executed *executed, uint64_t tick)
{
    const struct tape_section *section = executed->section;
    if (!executed->queues || executed->outside == section->outside_count) {
        return tick;
    }
    return section->outside[executed->outside++].tick;
}

/* Add the rest of the running group. */
static void add_group(struct executed *executed)
{
    const struct stream_block *from = executed->from;
    const struct trace_group *group = &from->groups[executed->group];
    for (; executed->record < group->count && !is_full(executed); executed->record++) {
        uint32_t i = group->first + executed->record;
        if (executed->applied == UINT64_MAX) {
            executed->applied = look_up_applied(executed, group->tick);
        }
        /* The group wakes the loop even if all its operations are superseded. */
        go_to(executed, executed->applied);
        uint64_t event = stream_event(from, i);
        if (!is_superseded(executed, event)) {
            const struct trace_record record =
                due_later(&from->records[i], group->tick, executed->applied);
            add(executed, executed->applied, group->tick, event, &record);
        }
    }
    if (executed->record == group->count) {
        executed->record = 0;
        executed->applied = UINT64_MAX;
        executed->group++;
    }
}

bool executed_next(struct executed *executed)
{
    executed->block = (struct stream_block){
        .records = executed->records, .groups = executed->groups, .events = executed->events};
    while (executed->group < executed->group_end && !is_full(executed)) {
        if (executed->record == 0) {
            add_held(executed,
                     executed->queues ? UINT64_MAX : executed->from->groups[executed->group].tick);
        }
        if (!is_full(executed)) {
            add_group(executed);
        }
    }
    if (executed->group == executed->group_end) {
        add_held(executed, UINT64_MAX);
    }
    return executed->block.group_count > 0;
}
