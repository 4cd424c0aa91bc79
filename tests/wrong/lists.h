/*
 * Circular lists of timers by index, for wheel.h and cascade.h. Node i < lists is the head of list
 * i; timer `id` is node lists + id. A node that is in no list points at itself, so taking it out
 * again does no harm.
 */
#ifndef WRONG_LISTS_H
#define WRONG_LISTS_H

struct node {
    uint64_t due;
    uint64_t rounds;
    uint32_t next;
    uint32_t prev;
};

static inline bool is_linked(const struct node *nodes, uint32_t index)
{
    return nodes[index].next != index;
}

static inline void unlink_node(struct node *nodes, uint32_t index)
{
    nodes[nodes[index].prev].next = nodes[index].next;
    nodes[nodes[index].next].prev = nodes[index].prev;
    nodes[index].next = index;
    nodes[index].prev = index;
}

static inline void append_node(struct node *nodes, uint32_t list, uint32_t index)
{
    nodes[index].prev = nodes[list].prev;
    nodes[index].next = list;
    nodes[nodes[list].prev].next = index;
    nodes[list].prev = index;
}

static inline void append_all(struct node *nodes, uint32_t list, uint32_t from)
{
    while (is_linked(nodes, from)) {
        uint32_t index = nodes[from].next;
        unlink_node(nodes, index);
        append_node(nodes, list, index);
    }
}

/* Grows from `old_count` nodes to `count`, the new ones in no list. */
static inline bool grow_nodes(const struct tl_allocator *allocator, struct node **nodes,
                              uint32_t old_count, uint32_t count)
{
    struct node *fresh =
        allocator->resize(allocator->ctx, *nodes, *nodes != NULL ? old_count * sizeof **nodes : 0,
                          count * sizeof **nodes, alignof(struct node));
    if (fresh == NULL) {
        return false;
    }
    for (uint32_t i = old_count; i < count; i++) {
        fresh[i] = (struct node){.next = i, .prev = i};
    }
    *nodes = fresh;
    return true;
}

#endif
