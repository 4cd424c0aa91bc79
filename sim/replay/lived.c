#include "lived.h"

#include "due.h"

void lived_begin(struct lived *lived, const struct stream_block *from, size_t group,
                 size_t group_end, const struct tape_section *section)
{
    lived->from = from;
    lived->group = group;
    lived->group_end = group_end;
    lived->record = 0;
    lived->applied = UINT64_MAX;
    lived->section = section;
    lived->outside = 0;
}

static bool is_full(const struct lived *lived)
{
    return lived->block.record_count == TRACE_BLOCK_RECORDS ||
           lived->block.group_count == TRACE_BLOCK_RECORDS;
}

/* Sees to it that the last group is of this tick. */
static void go_to(struct lived *lived, uint64_t tick)
{
    struct stream_block *block = &lived->block;
    if (block->group_count == 0 || lived->groups[block->group_count - 1].tick != tick) {
        lived->groups[block->group_count++] =
            (struct trace_group){.tick = tick, .first = (uint32_t)block->record_count};
    }
}

static void add(struct lived *lived, uint64_t tick, uint64_t arrived, uint64_t event,
                const struct trace_record *record)
{
    go_to(lived, tick);
    struct stream_block *block = &lived->block;
    lived->groups[block->group_count - 1].count++;
    lived->events[block->record_count] = event;
    lived->arrived[block->record_count] = arrived;
    lived->records[block->record_count++] = *record;
}

/* The tape's next entry, if it is one that was held back to a tick up to this, or a wakeup. */
static const struct tape_outside *next_held(const struct lived *lived, uint64_t tick)
{
    const struct tape_section *section = lived->section;
    const struct tape_outside *outside = &section->outside[lived->outside];
    return lived->outside < section->outside_count && outside->op <= TAPE_WAKEUP &&
                   outside->tick <= tick
               ? outside
               : NULL;
}

static void add_held(struct lived *lived, uint64_t tick)
{
    const struct tape_outside *held;
    while (!is_full(lived) && (held = next_held(lived, tick)) != NULL) {
        const struct trace_record record = {
            .deadline = held->deadline, .id = held->id, .op = held->op};
        if (held->op == TAPE_WAKEUP) {
            go_to(lived, held->tick);
        } else {
            add(lived, held->tick, held->tick, held->event, &record);
        }
        lived->outside++;
    }
}

static bool is_superseded(struct lived *lived, uint64_t event)
{
    const struct tape_section *section = lived->section;
    const struct tape_outside *outside = &section->outside[lived->outside];
    bool superseded = lived->outside < section->outside_count && outside->op == TAPE_SUPERSEDED &&
                      outside->event == event;
    lived->outside += superseded;
    return superseded;
}

/* The tick at which the running group's external operations are applied. */
static uint64_t look_up_applied(struct lived *lived, uint64_t tick)
{
    const struct tape_section *section = lived->section;
    if (!lived->queues || lived->outside == section->outside_count) {
        return tick;
    }
    return section->outside[lived->outside++].tick;
}

/* Adds what is left of the running group. */
static void add_group(struct lived *lived)
{
    const struct stream_block *from = lived->from;
    const struct trace_group *group = &from->groups[lived->group];
    for (; lived->record < group->count && !is_full(lived); lived->record++) {
        uint32_t i = group->first + lived->record;
        if (lived->applied == UINT64_MAX) {
            lived->applied = look_up_applied(lived, group->tick);
        }
        /* It has woken the loop, done or not. */
        go_to(lived, lived->applied);
        uint64_t event = stream_event(from, i);
        if (!is_superseded(lived, event)) {
            const struct trace_record record =
                due_later(&from->records[i], group->tick, lived->applied);
            add(lived, lived->applied, group->tick, event, &record);
        }
    }
    if (lived->record == group->count) {
        lived->record = 0;
        lived->applied = UINT64_MAX;
        lived->group++;
    }
}

bool lived_next(struct lived *lived)
{
    lived->block = (struct stream_block){
        .records = lived->records, .groups = lived->groups, .events = lived->events};
    while (lived->group < lived->group_end && !is_full(lived)) {
        if (lived->record == 0) {
            add_held(lived, lived->queues ? UINT64_MAX : lived->from->groups[lived->group].tick);
        }
        if (!is_full(lived)) {
            add_group(lived);
        }
    }
    if (lived->group == lived->group_end) {
        add_held(lived, UINT64_MAX);
    }
    return lived->block.group_count > 0;
}
