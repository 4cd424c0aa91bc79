/*
 * timer_lists.h: a queue that files its timers by due tick in lists (slot_list.h) with separately
 * numbered heads.
 *
 *   timers   [timer 0] [timer 1] ...            indices 0, 1, ...
 *   heads    [LATE] [one list] [another] ...    indices HEAD_BIT, HEAD_BIT + 1, ...
 *
 * A timer that is due at its start goes to the list LATE, with the due tick TL_NEVER, and is filed by
 * the next advance. Of a structure with records (records.h), the timers are stored there.
 *
 * Internal, and a template. The including file first defines
 *
 *   STRUCTURE            its own struct, with the members
 *                          struct timer *timers AND_RECORDS; struct node *heads; uint32_t capacity;
 *                          uint64_t count (timers pending); uint64_t clock;
 *                          const struct tl_allocator *allocator; struct tl_counters counters
 *   HEADS_OF(capacity)   the number of heads for that many timers; they begin as empty lists
 *   QUEUE_SETTLE         optional: a function that is called after fewer timers are filed
 *
 * and afterwards the functions that are declared below without a body.
 */
#ifndef ALGOS_TIMER_LISTS_H
#define ALGOS_TIMER_LISTS_H

#include "records.h"
#include "structure.h"
#include "walk.h"

#define BLOCK_ALIGN  64
#define HEAD_BIT     (UINT32_C(1) << 31) /* an index with it names a list, without it a timer */
#define LATE         HEAD_BIT
#define CAPACITY_MAX (HEAD_BIT - 1024)

struct node {
    uint32_t next;
    uint32_t prev;
};

struct timer {
    struct node links;
    uint64_t due;
};

#define SLOT_LISTS STRUCTURE
#include "slot_list.h"

/* File a timer with a due tick, which is in no list. */
static void queue_file(STRUCTURE *queue, uint32_t id);

/* Take a pending timer out of its list. */
static void queue_take(STRUCTURE *queue, uint32_t id);

#ifdef QUEUE_SETTLE
static void QUEUE_SETTLE(STRUCTURE *queue);
#else
#define QUEUE_SETTLE(queue) ((void)0)
#endif

#ifdef TL_EMBEDDED
static inline struct timer *timer_at(const STRUCTURE *queue, uint32_t id)
{
    return record_at(&queue->records, id);
}
#else
#define timer_at(queue, id) (&(queue)->timers[id])
#endif

static inline struct node *slot_node(const STRUCTURE *queue, uint32_t index)
{
    return (index & HEAD_BIT) != 0 ? &queue->heads[index ^ HEAD_BIT]
                                   : &timer_at(queue, index)->links;
}

/* The link after a timer in its list; prefetches the memory of a timer. */
static inline uint32_t timer_next(const STRUCTURE *queue, uint32_t id)
{
    uint32_t next = timer_at(queue, id)->links.next;
    if ((next & HEAD_BIT) == 0) {
        PREFETCH(timer_at(queue, next));
    }
    return next;
}

/* --- memory: the timers, and in one block after them the heads -------------------------------- */

static inline size_t lists_bytes(const STRUCTURE *queue, uint32_t capacity)
{
    (void)queue;
    return (size_t)OWN_ENTRIES(queue, capacity) * sizeof(struct timer) +
           HEADS_OF((size_t)capacity) * sizeof(struct node);
}

/* The hook `reserve`. */
static inline enum tl_status lists_reserve(void *self, uint32_t capacity)
{
    STRUCTURE *queue = self;
    bool fresh = queue->timers == NULL;
    if (capacity <= queue->capacity && !fresh) {
        return TL_OK;
    }
    if (capacity > CAPACITY_MAX) {
        return TL_ERR_CAPACITY;
    }
    struct timer *timers = tl_alloc(queue->allocator, lists_bytes(queue, capacity), BLOCK_ALIGN);
    if (timers == NULL) {
        return TL_ERR_NOMEM;
    }
    struct node *heads = (struct node *)(void *)&timers[OWN_ENTRIES(queue, capacity)];
    size_t kept = fresh ? 0 : HEADS_OF((size_t)queue->capacity);
    if (!fresh) {
        memcpy(timers, queue->timers, (size_t)OWN_ENTRIES(queue, queue->capacity) * sizeof *timers);
        memcpy(heads, queue->heads, kept * sizeof *heads);
        tl_free(queue->allocator, queue->timers, lists_bytes(queue, queue->capacity), BLOCK_ALIGN);
    }
    queue->timers = timers;
    queue->heads = heads;
    OWN_ARRAY(queue, timers, sizeof *timers);
    for (uint32_t id = queue->capacity; id < capacity; id++) {
        *timer_at(queue, id) = (struct timer){.links = {.next = SLOT_NONE, .prev = SLOT_NONE}};
    }
    for (size_t i = kept; i < HEADS_OF((size_t)capacity); i++) {
        slot_clear(queue, HEAD_BIT | (uint32_t)i);
    }
    queue->capacity = capacity;
    return TL_OK;
}

/* The hook `destroy` of a struct that has no other memory. */
static inline void lists_destroy(void *self)
{
    STRUCTURE *queue = self;
    tl_free(queue->allocator, queue->timers, lists_bytes(queue, queue->capacity), BLOCK_ALIGN);
    structure_free(queue, queue->allocator);
}

/* --- hooks ----------------------------------------------------------------------------------- */

static enum tl_status queue_start(void *self, uint32_t id, uint64_t deadline)
{
    STRUCTURE *queue = self;
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
    STRUCTURE *queue = self;
    if (!slot_is_linked(queue, id)) {
        return TL_IDLE;
    }
    queue_take(queue, id);
    queue->count--;
    QUEUE_SETTLE(queue);
    return TL_OK;
}

/* For the hook `advance`: file the timers of LATE, then move the clock. */
static inline void queue_set_clock(STRUCTURE *queue, uint64_t now)
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

static inline uint64_t queue_count(const void *self)
{
    return ((const STRUCTURE *)self)->count;
}

static inline void queue_counters(const void *self, struct tl_counters *out)
{
    *out = ((const STRUCTURE *)self)->counters;
}

/* For the hook `check`: as many timers are in lists as have links and are counted. */
static inline enum tl_status queue_check_count(const STRUCTURE *queue, uint64_t seen, char *why,
                                               size_t why_bytes)
{
    uint64_t linked = 0;
    for (uint32_t id = 0; id < queue->capacity; id++) {
        linked += slot_is_linked(queue, id);
    }
    if (seen == queue->count && linked == seen) {
        return TL_OK;
    }
    return corrupt(why, why_bytes,
                   "%" PRIu64 " timers in lists, %" PRIu64 " with links, %" PRIu64 " counted", seen,
                   linked, queue->count);
}

/* For the hook `walk`: the timers of a list, in one cell, or `apart`, each in its own. Those
 * of LATE have no tick. */
static inline void queue_walk_timers(const STRUCTURE *queue, uint32_t list, bool apart,
                                     const struct tl_visitor *visitor)
{
    uint64_t index = 0;
    for (uint32_t id = slot_node(queue, list)->next; id != list;
         id = timer_at(queue, id)->links.next) {
        if (apart) {
            walk_node(visitor, index++, TL_NEVER);
        }
        walk_timer(visitor, id, timer_at(queue, id)->due, 0);
    }
}

/* A list as a part, each timer in a cell. */
static inline void queue_walk_list(const STRUCTURE *queue, uint32_t list, const char *name,
                                   const struct tl_visitor *visitor)
{
    walk_part(visitor, name, TL_FORM_LIST, 0);
    queue_walk_timers(queue, list, true, visitor);
}

/* The list LATE, if it holds anything. */
static inline void queue_walk_late(const STRUCTURE *queue, const struct tl_visitor *visitor)
{
    if (!slot_is_empty(queue, LATE)) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        queue_walk_timers(queue, LATE, false, visitor);
    }
}

/* For the descriptor: all hooks but destroy and reserve, of which the including file has those that
 * are not in this one; and those two. */
#define QUEUE_HOOKS                                                                                \
    .create = queue_create, .start = queue_start, .stop = queue_stop, .advance = queue_advance,    \
    .next = queue_next, .count = queue_count, .counters = queue_counters, .check = queue_check,    \
    .walk = queue_walk, .embedded_bytes = EMBEDDED_BYTES(sizeof(struct timer)),                    \
    .moved = EMBEDDED_HOOK(structure_moved)
#define QUEUE_MEMORY_HOOKS .destroy = lists_destroy, .reserve = lists_reserve

#endif
