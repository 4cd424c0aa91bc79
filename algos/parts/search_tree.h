/*
 * search_tree.h: the hooks check and walk of a binary search tree in the order of ordered_nodes.h.
 *
 * Internal, and a template. The including file first includes ordered_nodes.h and defines
 *
 *   tree_root(tree)                 the index of the root, or NONE
 *   tree_child(tree, index, side)   that of the child before (0) or after (1) a node, or NONE
 */
#ifndef ALGOS_SEARCH_TREE_H
#define ALGOS_SEARCH_TREE_H

#include "ordered_nodes.h"

/* Whether a search from the root finds a node. */
static bool tree_finds(const STRUCTURE *tree, uint32_t index)
{
    uint32_t at = tree_root(tree);
    for (uint64_t depth = 0; at != NONE && at != index && depth <= tree->count; depth++) {
        at = tree_child(tree, at, !is_before(node_at(tree, index), node_at(tree, at)));
    }
    return at == index;
}

static enum tl_status tree_check_links(const STRUCTURE *tree, char *why, size_t why_bytes)
{
    uint64_t links = tree_root(tree) != NONE;
    for (uint32_t index = NODES_FIRST; index < NODES_FIRST + tree->capacity; index++) {
        if (order_is_pending(tree, index)) {
            links += tree_child(tree, index, 0) != NONE;
            links += tree_child(tree, index, 1) != NONE;
            if (!tree_finds(tree, index)) {
                return corrupt(why, why_bytes, "a search does not find timer %" PRIu32,
                               index - NODES_FIRST);
            }
        }
    }
    return ordered_check_count(tree, links, why, why_bytes);
}

static void ordered_walk(const void *self, const struct tl_visitor *visitor)
{
    const STRUCTURE *tree = self;
    walk_part(visitor, "tree", TL_FORM_TREE, 0);
    if (tree_root(tree) != NONE) {
        ordered_walk_node(tree, tree_root(tree), TL_NEVER, visitor);
    }
    for (uint32_t index = NODES_FIRST; index < NODES_FIRST + tree->capacity; index++) {
        for (unsigned side = 0; side < 2 && order_is_pending(tree, index); side++) {
            uint32_t child = tree_child(tree, index, side);
            if (child != NONE) {
                ordered_walk_node(tree, child, index - NODES_FIRST, visitor);
            }
        }
    }
}

#endif
