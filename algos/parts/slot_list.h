/*
 * slot_list.h: the lists of timers that a wheel's slots hold.
 *
 *   head <-> node 12 <-> node 3 <-> node 40 <-> head
 *
 * Doubly linked and circular through the slot's own head, so that appending and removing have no
 * special cases and no branches; links are 32-bit indices, half the size of pointers, and stay
 * valid when the array moves. A node that is in no list has next == SLOT_NONE.
 *
 * Internal to the structures, and a template: the including file first defines
 *
 *   struct node   with the members uint32_t next and uint32_t prev
 *   SLOT_LISTS    the struct that holds the nodes
 *
 * and afterwards the functions that are declared below without a body.
 */
#ifndef ALGOS_SLOT_LIST_H
#define ALGOS_SLOT_LIST_H

#include "records.h"
#include "tuning.h"

#include <stdbool.h>
#include <stdint.h>

#define SLOT_NONE UINT32_MAX

SLOT_LISTS;

/* The node, or the head, of that index. The including file's. */
static inline struct node *slot_node(const SLOT_LISTS *lists, uint32_t index);

static inline void slot_clear(SLOT_LISTS *lists, uint32_t head)
{
    slot_node(lists, head)->next = head;
    slot_node(lists, head)->prev = head;
}

static inline bool slot_is_empty(const SLOT_LISTS *lists, uint32_t head)
{
    return slot_node(lists, head)->next == head;
}

static inline bool slot_is_linked(const SLOT_LISTS *lists, uint32_t index)
{
    return slot_node(lists, index)->next != SLOT_NONE;
}

/* Append a node that is in no list; the values of its links are lost. */
static inline void slot_append(SLOT_LISTS *lists, uint32_t head, uint32_t index)
{
    struct node *end = slot_node(lists, head);
    struct node *node = slot_node(lists, index);
    uint32_t last = end->prev;
    node->next = head;
    end->prev = index;
    node->prev = last; /* apart from `next`: compilers else spend instructions on one wide store */
    slot_node(lists, last)->next = index;
}

/* Remove a linked node from its list. */
static inline void slot_remove(SLOT_LISTS *lists, uint32_t index)
{
    struct node *node = slot_node(lists, index);
    uint32_t next = node->next;
    uint32_t prev = node->prev;
    slot_node(lists, prev)->next = next;
    slot_node(lists, next)->prev = prev;
    node->next = SLOT_NONE;
}

/* Append all nodes of `from`, in their order, to `to`. */
static inline void slot_move_all(SLOT_LISTS *lists, uint32_t from, uint32_t to)
{
    struct node *source = slot_node(lists, from);
    if (source->next == from) {
        return;
    }
    struct node *target = slot_node(lists, to);
    uint32_t first = source->next;
    uint32_t last = source->prev;
    slot_node(lists, target->prev)->next = first;
    slot_node(lists, first)->prev = target->prev;
    slot_node(lists, last)->next = to;
    target->prev = last;
    source->next = from;
    source->prev = from;
}

/* Empty a list: call `file` for each node, which must not append it to this list. The list is walked
 * from both ends in turn, so that their cache misses overlap. */
static inline void slot_drain(SLOT_LISTS *lists, uint32_t head,
                              void (*file)(void *ctx, uint32_t index), void *ctx)
{
    uint32_t first = slot_node(lists, head)->next;
    uint32_t last = slot_node(lists, head)->prev;
    slot_clear(lists, head);
    while (first != head) {
        uint32_t next = slot_node(lists, first)->next;
        uint32_t prev = slot_node(lists, last)->prev;
        PREFETCH(slot_node(lists, next));
        PREFETCH(slot_node(lists, prev));
        file(ctx, first);
        if (first == last) {
            return;
        }
        file(ctx, last);
        if (next == last) {
            return;
        }
        first = next;
        last = prev;
    }
}

/* Empty `count` <= 8 lists, with heads `apart` indices from each other: walk them in turn from their
 * beginnings. */
static inline void slots_drain(SLOT_LISTS *lists, uint32_t head, uint32_t count, uint32_t apart,
                               void (*file)(void *ctx, uint32_t index), void *ctx)
{
    uint32_t nexts[8];
    for (uint32_t i = 0; i < count; i++) {
        nexts[i] = slot_node(lists, head + i * apart)->next;
        PREFETCH(slot_node(lists, nexts[i]));
        slot_clear(lists, head + i * apart);
    }
    bool more = true;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t index = nexts[i];
            if (index != head + i * apart) {
                nexts[i] = slot_node(lists, index)->next;
                PREFETCH(slot_node(lists, nexts[i]));
                file(ctx, index);
                more = true;
            }
        }
    }
}

/* Add the length of a list to *seen. Return whether the links of neighbours agree, and *seen does not
 * pass `limit`, as it does in a list without an end. */
static inline bool slot_walk(const SLOT_LISTS *lists, uint32_t head, uint64_t limit, uint64_t *seen)
{
    uint32_t index = head;
    do {
        uint32_t next = slot_node(lists, index)->next;
        if (next == SLOT_NONE || slot_node(lists, next)->prev != index) {
            return false;
        }
        index = next;
        *seen += index != head;
    } while (index != head && *seen <= limit);
    return index == head && *seen <= limit;
}

#endif
