/*
 * late_list.h: the hooks of a queue that files its timers by due tick in lists (timer_lists.h). A
 * timer that is due at its start goes to the list LATE, with the due tick TL_NEVER, and is filed by
 * the next advance.
 *
 * Internal, and a template. The including file first includes timer_lists.h and defines
 *
 *   queue_file(queue, id)   files a timer with a due tick, which is in no list
 *   queue_take(queue, id)   takes a pending timer out of its list
 *   QUEUE_SETTLE(queue)     optional: called after fewer timers are filed
 */
#ifndef ALGOS_LATE_LIST_H
#define ALGOS_LATE_LIST_H

#include "check.h"
#include "timer_lists.h"

#include <inttypes.h>

#ifndef QUEUE_SETTLE
#define QUEUE_SETTLE(queue) ((void)0)
#endif

static enum tl_status queue_start(void *self, uint32_t id, uint64_t deadline)
{
    SLOT_LISTS *queue = self;
    if (slot_is_linked(queue, id)) {
        queue_take(queue, id);
    } else {
        queue->count++;
    }
    if (deadline > queue->clock) {
        timer_at(queue, id)->due = deadline;
        queue_file(queue, id);
    } else {
        timer_at(queue, id)->due = TL_NEVER;
        slot_append(queue, LATE, id);
        TL_COUNT(queue, moves, 1);
        QUEUE_SETTLE(queue);
    }
    return TL_OK;
}

static enum tl_status queue_stop(void *self, uint32_t id)
{
    SLOT_LISTS *queue = self;
    if (!slot_is_linked(queue, id)) {
        return TL_IDLE;
    }
    queue_take(queue, id);
    queue->count--;
    QUEUE_SETTLE(queue);
    return TL_OK;
}

/* For the hook `advance`: file the timers of LATE, then move the clock. */
static inline void queue_set_clock(SLOT_LISTS *queue, uint64_t now)
{
    while (!slot_is_empty(queue, LATE)) {
        uint32_t id = slot_node(queue, LATE)->next;
        slot_remove(queue, id);
        timer_at(queue, id)->due = queue->clock;
        TL_COUNT(queue, cascades, 1);
        queue_file(queue, id);
    }
    queue->clock = now;
}

/* For the hook `check`: as many timers are in lists as have links and are counted. */
static inline enum tl_status queue_check_count(const SLOT_LISTS *queue, uint64_t seen, char *why,
                                               size_t why_bytes)
{
    uint64_t linked = lists_linked(queue);
    if (seen == queue->count && linked == seen) {
        return TL_OK;
    }
    return corrupt(why, why_bytes,
                   "%" PRIu64 " timers in lists, %" PRIu64 " with links, %" PRIu64 " counted", seen,
                   linked, queue->count);
}

/* For the hook `walk`: a list as a part, each timer in a cell. */
static inline void queue_walk_list(const SLOT_LISTS *queue, uint32_t list, const char *name,
                                   const struct tl_visitor *visitor)
{
    walk_part(visitor, name, TL_FORM_LIST, 0);
    uint64_t index = 0;
    for (uint32_t id = slot_node(queue, list)->next; id != list;
         id = timer_at(queue, id)->links.next) {
        walk_node(visitor, index++, TL_NEVER);
        walk_timer(visitor, id, timer_at(queue, id)->due, 0); /* TL_NEVER in LATE */
    }
}

/* For the descriptor: all hooks, of which the including file has those that are not in this one. */
#define QUEUE_HOOKS                                                                                \
    .create = queue_create, .destroy = queue_destroy, .reserve = queue_reserve,                    \
    .start = queue_start, .stop = queue_stop, .advance = queue_advance, .next = queue_next,        \
    .count = lists_count, .counters = lists_counters, .check = queue_check, .walk = queue_walk,    \
    .embedded_bytes = EMBEDDED_BYTES(sizeof(struct timer)), .moved = EMBEDDED_HOOK(lists_moved)

#endif
