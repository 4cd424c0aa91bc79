/*
 * ordered_nodes.h: the hooks of a structure that keeps its timers in the order of start_order.h, in
 * an array of nodes by id.
 *
 * Internal, and a template. The including file first includes node_array.h for a struct with
 * ORDERED_NODES, and defines
 *
 *   NONE                       no node: an index
 *   IDLE_NODE                  the initializer of the node of an idle timer
 *   ORDERED_EMPTY              optional: further initializers of an empty structure
 *   order_first(s)             the index of the first node in order, or NONE
 *   order_is_pending(s, index)
 *   order_insert(s, index)     inserts a node with due tick and serial
 *   order_remove(s, index)     removes a pending node
 *   ORDER_REMOVE_FIRST         optional: what removes the first node
 *
 * A node before that of timer 0 begins as zeros.
 */
#ifndef ALGOS_ORDERED_NODES_H
#define ALGOS_ORDERED_NODES_H

#include "check.h"
#include "node_array.h"
#include "start_order.h"
#include "walk.h"

#include <inttypes.h>

#define STRUCTURE NODE_ARRAY
#include "structure.h"

#ifndef ORDERED_EMPTY
#define ORDERED_EMPTY .count = 0
#endif
#ifndef ORDER_REMOVE_FIRST
#define ORDER_REMOVE_FIRST order_remove
#endif

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

/* Fire the timers that are due, but none that a callback starts. Not inlined, so that an advance
 * without expiries needs no stack frame. */
static uint64_t ordered_expire(STRUCTURE *structure, uint64_t now, uint64_t budget, tl_fire_fn fire,
                               void *ctx)
{
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

static uint64_t ordered_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    STRUCTURE *structure = self;
    structure->clock = now;
    uint32_t first = order_first(structure);
    if (first == NONE || node_at(structure, first)->due > now) {
        TL_COUNT(structure, compares, first != NONE);
        return 0;
    }
    return ordered_expire(structure, now, budget, fire, ctx);
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
        nodes_reserve(structure, capacity, UINT32_MAX - 2, (struct node)IDLE_NODE);
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

/* For the descriptor, with NODES_HOOKS: all hooks but create, reserve and start, which are ordered_create,
 * ordered_reserve and ordered_start or the file's own. The file has ordered_check and
 * ordered_walk. */
#define ORDERED_HOOKS                                                                              \
    .destroy = nodes_destroy, .stop = ordered_stop, .advance = ordered_advance,                    \
    .next = ordered_next, .check = ordered_check, .walk = ordered_walk

#endif
