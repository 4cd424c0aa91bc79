#include "acknowledged.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

static void add_tick(struct acknowledged *acknowledged, struct acknowledged_tick tick)
{
    /* Only if half of the array is free: then moving is amortized. */
    if (acknowledged->begin > acknowledged->room / 2 && acknowledged->end == acknowledged->room) {
        acknowledged->end -= acknowledged->begin;
        memmove(acknowledged->waiting, acknowledged->waiting + acknowledged->begin,
                acknowledged->end * sizeof *acknowledged->waiting);
        acknowledged->begin = 0;
    }
    MEMORY_REACH(acknowledged->waiting, acknowledged->room, acknowledged->end);
    acknowledged->waiting[acknowledged->end++] = tick;
}

static void has_waited(struct acknowledged *acknowledged, uint64_t ticks)
{
    acknowledged->max_ticks = ticks > acknowledged->max_ticks ? ticks : acknowledged->max_ticks;
}

void acknowledged_look(struct acknowledged *acknowledged, uint64_t tick,
                       const struct tl_durability *durability)
{
    if (durability->sequence > acknowledged->seen) {
        const struct acknowledged_tick given = {acknowledged->seen + 1, tick};
        add_tick(acknowledged, given);
        acknowledged->seen = durability->sequence;
    }
    while (acknowledged->begin < acknowledged->end) {
        const struct acknowledged_tick *oldest = &acknowledged->waiting[acknowledged->begin];
        bool is_last = acknowledged->begin + 1 == acknowledged->end;
        uint64_t next = is_last ? acknowledged->seen + 1 : oldest[1].first;
        if (durability->durable_sequence < oldest->first) {
            return;
        }
        has_waited(acknowledged, tick - oldest->tick);
        if (durability->durable_sequence + 1 < next) {
            return;
        }
        acknowledged->begin++;
    }
    acknowledged->begin = 0;
    acknowledged->end = 0;
}

void acknowledged_finish(struct acknowledged *acknowledged, uint64_t tick)
{
    if (acknowledged->begin < acknowledged->end) {
        has_waited(acknowledged, tick - acknowledged->waiting[acknowledged->begin].tick);
    }
}

void acknowledged_release(struct acknowledged *acknowledged)
{
    free(acknowledged->waiting);
    *acknowledged = (struct acknowledged){0};
}
