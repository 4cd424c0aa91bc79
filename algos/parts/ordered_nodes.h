/*
 * ordered_nodes.h: the hooks of a structure that keeps its timers in an array of nodes by id, in the
 * order of due tick and, among equal ticks, of start.
 *
 * Each start has a serial, one more than the start before. What callbacks start is due at `now` at
 * the earliest and has a later serial, so it comes after all that the running advance may fire.
 *
 * Internal, and a template. The including file first defines
 *
 *   struct node                with the members uint64_t due and uint64_t serial
 *   STRUCTURE                  its own struct, with ORDERED_NODES (records.h)
 *   NODES_FIRST                the index of timer 0; a node before it begins as zeros
 *   NONE                       no node: an index
 *   IDLE_NODE                  initializers of the node of an idle timer
 *   ORDERED_EMPTY              optional: further initializers of an empty structure
 *   ORDER_REMOVE_FIRST         optional: a function that removes the first node
 *
 * and afterwards the functions that are declared below without a body.
 */
#ifndef ALGOS_ORDERED_NODES_H
#define ALGOS_ORDERED_NODES_H

#include "tuning.h"
#include "walk.h"

#include "node_array.h"

/* The capabilities of a structure that finds the first timer of this order at once. */
#define ORDERED_CAPABILITIES                                                                       \
    (TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |               \
     TL_CAP_BUDGET | TL_CAP_UNLIMITED)

#ifndef ORDERED_EMPTY
#define ORDERED_EMPTY .count = 0
#endif
#ifndef ORDER_REMOVE_FIRST
#define ORDER_REMOVE_FIRST order_remove
#endif

/* Return the index of the first node in order, or NONE. */
static inline uint32_t order_first(const STRUCTURE *structure);

static inline bool order_is_pending(const STRUCTURE *structure, uint32_t index);

/* Insert a node with due tick and serial. */
static void order_insert(STRUCTURE *structure, uint32_t index);

/* Remove a pending node; the first one. */
static void order_remove(STRUCTURE *structure, uint32_t index);
static void ORDER_REMOVE_FIRST(STRUCTURE *structure, uint32_t index);

static inline bool is_before(const struct node *a, const struct node *b)
{
    return (bool)((a->due < b->due) | ((a->due == b->due) & (a->serial < b->serial)));
}

static inline enum tl_status ordered_start(void *self, uint32_t id, uint64_t deadline)
{
    STRUCTURE *structure = self;
    uint32_t index = NODES_FIRST + id;
    struct node *node = node_at(structure, index);
    if (order_is_pending(structure, index)) {
        order_remove(structure, index);
    } else {
        structure->count++;
    }
    node->due = deadline > structure->clock ? deadline : structure->clock;
    node->serial = structure->serial++;
    order_insert(structure, index);
    return TL_OK;
}

static enum tl_status ordered_stop(void *self, uint32_t id)
{
    STRUCTURE *structure = self;
    if (!order_is_pending(structure, NODES_FIRST + id)) {
        return TL_IDLE;
    }
    structure->count--;
    order_remove(structure, NODES_FIRST + id);
    return TL_OK;
}

/* The hook `advance`: fire the timers that are due, but none that a callback starts. */
static uint64_t ordered_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    STRUCTURE *structure = self;
    structure->clock = now;
    uint64_t serials = structure->serial;
    uint64_t fired = 0;
    uint32_t first;
    while (fired < budget && (first = order_first(structure)) != NONE) {
        const struct node *node = node_at(structure, first);
        TL_COUNT(structure, compares, 1);
        if (node->due > now || node->serial >= serials) {
            break;
        }
        structure->count--;
        fired++;
        ORDER_REMOVE_FIRST(structure, first);
        fire(ctx, first - NODES_FIRST, now);
    }
    return fired;
}

static uint64_t ordered_next(const void *self)
{
    const STRUCTURE *structure = self;
    uint32_t first = order_first(structure);
    return first != NONE ? node_at(structure, first)->due : TL_NEVER;
}

static inline enum tl_status ordered_reserve(void *self, uint32_t capacity)
{
    STRUCTURE *structure = self;
    bool fresh = structure->nodes == NULL;
    enum tl_status status =
        nodes_reserve(structure, capacity, UINT32_MAX - 2, (struct node){IDLE_NODE});
    if (status == TL_OK && fresh && NODES_FIRST > 0) {
        structure->nodes[0] = (struct node){0};
    }
    return status;
}

static inline enum tl_status ordered_create(const struct tl_config *config, void **self)
{
    const STRUCTURE empty = {
        .clock = config->now, .serial = 1, .allocator = config->allocator, ORDERED_EMPTY};
    return structure_create(config, &empty, ordered_reserve, nodes_destroy, self);
}

/* For the hook `check`: no pending timer is before the first, and as many are pending as are linked
 * and counted. */
static inline enum tl_status ordered_check_count(const STRUCTURE *structure, uint64_t linked,
                                                 char *why, size_t why_bytes)
{
    uint32_t first = order_first(structure);
    uint64_t pending = 0;
    for (uint32_t id = 0; id < structure->capacity; id++) {
        uint32_t index = NODES_FIRST + id;
        if (!order_is_pending(structure, index)) {
            continue;
        }
        pending++;
        if (first == NONE || is_before(node_at(structure, index), node_at(structure, first))) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " is before the first", id);
        }
    }
    if (pending != structure->count || linked != pending) {
        return corrupt(why, why_bytes,
                       "%" PRIu64 " timers pending, %" PRIu64 " linked, %" PRIu64 " counted",
                       pending, linked, structure->count);
    }
    return TL_OK;
}

/* For the hook `walk`: a node, named by its timer's id, as a cell below `parent`. */
static inline void ordered_walk_node(const STRUCTURE *structure, uint32_t index, uint64_t parent,
                                     const struct tl_visitor *visitor)
{
    walk_node(visitor, index - NODES_FIRST, parent);
    walk_timer(visitor, index - NODES_FIRST, node_at(structure, index)->due, 0);
}

/* For the descriptor, with NODES_HOOKS: all hooks but create, reserve and start, which are
 * ordered_create, ordered_reserve and ordered_start or the file's own. The file has ordered_check and
 * ordered_walk. */
#define ORDERED_HOOKS                                                                              \
    .destroy = nodes_destroy, .stop = ordered_stop, .advance = ordered_advance,                    \
    .next = ordered_next, .check = ordered_check, .walk = ordered_walk

#endif
