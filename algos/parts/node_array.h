/*
 * node_array.h: an array with a node for each timer, by id, that grows.
 *
 *   nodes   [heads of lists, or one for none] [timer 0] [timer 1] ... [timer capacity-1]
 *
 * Of a structure that was given records (records.h), the timers are stored there, and only the
 * nodes before them are in the array.
 *
 * Internal, and a template. The including file first defines
 *
 *   struct node
 *   NODES_FIRST     the index of timer 0; may depend on `array`
 *   NODE_ARRAY      the struct that holds the nodes; default: STRUCTURE. It has the members
 *                     struct node *nodes AND_RECORDS; uint32_t capacity; uint64_t count (timers
 *                     pending);
 *                     const struct tl_allocator *allocator; struct tl_counters counters
 *
 * Nodes in front of timer 0's are the including file's to set, once, after the first nodes_reserve.
 */
#ifndef ALGOS_NODE_ARRAY_H
#define ALGOS_NODE_ARRAY_H

#include "records.h"

#include <stdalign.h>

#define NODES_ALIGN 64

#ifndef NODE_ARRAY
#define NODE_ARRAY STRUCTURE
#define NODES_OF_STRUCTURE
#endif

/* The node of that index. */
#ifdef TL_EMBEDDED
static inline struct node *node_at(const NODE_ARRAY *array, uint32_t index)
{
    uint32_t first = NODES_FIRST;
    return index < first ? &array->nodes[index] : record_at(&array->records, index - first);
}
#else
#define node_at(array, index) (&(array)->nodes[index])
#endif

/* Never nothing. */
static inline size_t nodes_bytes(const NODE_ARRAY *array, uint32_t capacity)
{
    (void)array;
    size_t first = NODES_FIRST;
    return ((first > 0 ? first : 1) + OWN_ENTRIES(array, capacity)) * sizeof(struct node);
}

/* For the hook `reserve`, and for the first nodes: grows to `capacity` timers, which are no more
 * than `capacity_max`. Those that are new begin as `idle`. */
static inline enum tl_status nodes_reserve(NODE_ARRAY *array, uint32_t capacity,
                                           uint32_t capacity_max, struct node idle)
{
    bool fresh = array->nodes == NULL;
    if (capacity <= array->capacity && !fresh) {
        return TL_OK;
    }
    if (capacity > capacity_max) {
        return TL_ERR_CAPACITY;
    }
    struct node *nodes = array->allocator->resize(array->allocator->ctx, array->nodes,
                                                  fresh ? 0 : nodes_bytes(array, array->capacity),
                                                  nodes_bytes(array, capacity), NODES_ALIGN);
    if (nodes == NULL) {
        return TL_ERR_NOMEM;
    }
    array->nodes = nodes;
    OWN_ARRAY(array, &nodes[NODES_FIRST], sizeof *nodes);
    for (uint32_t id = array->capacity; id < capacity; id++) {
        *node_at(array, NODES_FIRST + id) = idle;
    }
    array->capacity = capacity;
    return TL_OK;
}

static inline void nodes_free(NODE_ARRAY *array)
{
    tl_free(array->allocator, array->nodes, nodes_bytes(array, array->capacity), NODES_ALIGN);
}

/* --- hooks ----------------------------------------------------------------------------------- */

/* Where `array` is all of the structure. */
static inline void nodes_destroy(void *self)
{
    NODE_ARRAY *array = self;
    nodes_free(array);
    tl_free(array->allocator, array, sizeof *array, alignof(NODE_ARRAY));
}

/* Where it begins the structure, too. */
static inline uint64_t nodes_count(const void *self)
{
    return ((const NODE_ARRAY *)self)->count;
}

static inline void nodes_counters(const void *self, struct tl_counters *out)
{
    *out = ((const NODE_ARRAY *)self)->counters;
}

#ifdef TL_EMBEDDED
static inline void nodes_moved(void *self, const struct tl_records *records)
{
    records_give(&((NODE_ARRAY *)self)->records, records);
}
#ifndef STRUCTURE_MOVED
#define STRUCTURE_MOVED nodes_moved
#endif
#endif

/* For the descriptor: the hooks count, counters and moved, and embedded_bytes. */
#define NODES_HOOKS                                                                                \
    .count = nodes_count, .counters = nodes_counters,                                              \
    .embedded_bytes = EMBEDDED_BYTES(sizeof(struct node)), .moved = EMBEDDED_HOOK(nodes_moved)

#ifdef NODES_OF_STRUCTURE
#include "structure.h"
#endif

#endif
