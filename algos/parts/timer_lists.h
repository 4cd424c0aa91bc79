/*
 * timer_lists.h: timers by id, in lists (slot_list.h) with separately numbered heads.
 *
 *   timers   [timer 0] [timer 1] ...            indices 0, 1, ...
 *   heads    [LATE] [one list] [another] ...    indices HEAD_BIT, HEAD_BIT + 1, ...
 *
 * The list LATE takes timers that are due at their start; the next advance files them. Of a
 * structure with records (records.h), the timers are stored there.
 *
 * Internal to the structures, and a template: the including file first defines
 *
 *   SLOT_LISTS    the struct that holds the lists, with the members
 *                   struct timer *timers AND_RECORDS; struct node *heads; uint32_t capacity;
 *                   uint64_t count (timers pending); const struct tl_allocator *allocator;
 *                   struct tl_counters counters
 */
#ifndef ALGOS_TIMER_LISTS_H
#define ALGOS_TIMER_LISTS_H

#include "records.h"
#include "timerlab.h"
#include "walk.h"

#include <string.h>

#define BLOCK_ALIGN 64
#define HEAD_BIT    (UINT32_C(1) << 31) /* an index with it names a list, without it a timer */
#define LATE        HEAD_BIT

struct node {
    uint32_t next;
    uint32_t prev;
};

struct timer {
    struct node links;
    uint64_t due;
};

#include "slot_list.h"

#ifdef TL_EMBEDDED
static inline struct timer *timer_at(const SLOT_LISTS *lists, uint32_t id)
{
    return record_at(&lists->records, id);
}
#else
#define timer_at(lists, id) (&(lists)->timers[id])
#endif

static inline struct node *slot_node(const SLOT_LISTS *lists, uint32_t index)
{
    return (index & HEAD_BIT) != 0 ? &lists->heads[index ^ HEAD_BIT]
                                   : &timer_at(lists, index)->links;
}

/* The link after a timer in its list; prefetches the memory of a timer. */
static inline uint32_t timer_next(const SLOT_LISTS *lists, uint32_t id)
{
    uint32_t next = timer_at(lists, id)->links.next;
    if ((next & HEAD_BIT) == 0) {
        PREFETCH(timer_at(lists, next));
    }
    return next;
}

/* --- memory: the timers, and in one block after them the heads -------------------------------- */

static inline size_t lists_bytes(const SLOT_LISTS *lists, uint32_t capacity, size_t heads)
{
    (void)lists;
    return (size_t)OWN_ENTRIES(lists, capacity) * sizeof(struct timer) +
           heads * sizeof(struct node);
}

static inline void lists_free(SLOT_LISTS *lists, size_t heads)
{
    tl_free(lists->allocator, lists->timers, lists_bytes(lists, lists->capacity, heads),
            BLOCK_ALIGN);
}

/* For the hook `reserve`, and for the first timers: grows to `capacity` timers, no more than
 * `capacity_max`, with `heads_of(capacity)` heads, of which the first `heads_kept` stay. */
static inline enum tl_status lists_reserve(SLOT_LISTS *lists, uint32_t capacity,
                                           uint32_t capacity_max,
                                           size_t (*heads_of)(uint32_t capacity), size_t heads_kept)
{
    bool fresh = lists->timers == NULL;
    if (capacity <= lists->capacity && !fresh) {
        return TL_OK;
    }
    if (capacity > capacity_max) {
        return TL_ERR_CAPACITY;
    }
    struct timer *timers =
        tl_alloc(lists->allocator, lists_bytes(lists, capacity, heads_of(capacity)), BLOCK_ALIGN);
    if (timers == NULL) {
        return TL_ERR_NOMEM;
    }
    struct node *heads = (struct node *)(void *)&timers[OWN_ENTRIES(lists, capacity)];
    if (!fresh) {
        memcpy(timers, lists->timers, (size_t)OWN_ENTRIES(lists, lists->capacity) * sizeof *timers);
        memcpy(heads, lists->heads, heads_kept * sizeof *heads);
        lists_free(lists, heads_of(lists->capacity));
    }
    lists->timers = timers;
    OWN_ARRAY(lists, timers, sizeof *timers);
    for (uint32_t id = lists->capacity; id < capacity; id++) {
        *timer_at(lists, id) = (struct timer){.links = {.next = SLOT_NONE, .prev = SLOT_NONE}};
    }
    lists->heads = heads;
    lists->capacity = capacity;
    return TL_OK;
}

/* --- hooks ----------------------------------------------------------------------------------- */

static inline uint64_t lists_count(const void *self)
{
    return ((const SLOT_LISTS *)self)->count;
}

static inline void lists_counters(const void *self, struct tl_counters *out)
{
    *out = ((const SLOT_LISTS *)self)->counters;
}

#ifdef TL_EMBEDDED
static inline void lists_moved(void *self, const struct tl_records *records)
{
    records_give(&((SLOT_LISTS *)self)->records, records);
}
#define STRUCTURE_MOVED lists_moved
#endif

/* For the hook `check`: how many timers are in some list. */
static inline uint64_t lists_linked(const SLOT_LISTS *lists)
{
    uint64_t linked = 0;
    for (uint32_t id = 0; id < lists->capacity; id++) {
        linked += slot_is_linked(lists, id);
    }
    return linked;
}

/* For the hook `walk`: the timers of a list. */
static inline void lists_walk(const SLOT_LISTS *lists, uint32_t list,
                              const struct tl_visitor *visitor)
{
    for (uint32_t id = slot_node(lists, list)->next; id != list;
         id = timer_at(lists, id)->links.next) {
        walk_timer(visitor, id, list == LATE ? TL_NEVER : timer_at(lists, id)->due, 0);
    }
}

/* The list LATE, if it holds anything. */
static inline void lists_walk_late(const SLOT_LISTS *lists, const struct tl_visitor *visitor)
{
    if (!slot_is_empty(lists, LATE)) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        lists_walk(lists, LATE, visitor);
    }
}

#endif
