/*
 * splay-tree: Sleator and Tarjan's search tree, which moves the node touched last to its root.
 *
 *            [due 5, id 1]  <- the last one touched
 *            /           \
 *     [due 3, id 7]    [due 8, id 2]
 *                \          \
 *          [due 4, id 4]  [due 9, id 0]
 *
 * No balance is kept. Instead, every access rotates its node up to the root, two levels at a time,
 * which halves the depth of the nodes on the path. start(3, 6) splays at key 6, and the new node
 * becomes the root, with 5 on its left and 8 on its right. stop(1) splays timer 1 to the root and
 * joins its two sides. advance fires `first`, the earliest timer, and splays the next one to the
 * root. Timers taken one after the other from the front cost O(1) each, and n operations of any
 * kind O(n log n). Studies of simulators found it the best tree in the worst case (Jones 1986;
 * Ronngren and Ayani 1997).
 *
 * The order is (due tick, serial of the start), so that equal ticks fire in the order of their
 * starts. Splaying is top-down, in one pass, without parent links: 24 bytes a timer.
 *
 * Invariants
 *   - left is before, right is after; serials are distinct
 *   - a node is in the tree exactly if its `left` is not UNLINKED
 *   - `first` is the earliest node, NONE if there is none
 *   - an advance fires only serials given before it began
 *
 * Complexity: start, stop, restart and expiry O(log n) amortised, a tick O(1). Use it for
 * simulations with strong locality. Bad at: a single operation, which may take n steps; searches,
 * which write; very many timers, because a path is a sequence of cache misses.
 *
 * Source: D. D. Sleator and R. E. Tarjan, "Self-adjusting binary search trees", JACM 32(3), 1985,
 * section 4 (top-down splaying).
 */
#include "timerlab.h"

#include "records.h"

/* --- data ------------------------------------------------------------------------------------- */

#define UNLINKED UINT32_MAX
#define NONE     0u /* no node; while splaying, the two side trees hang here. id is node id + 1 */

struct node {
    uint64_t due;
    uint64_t serial;
    uint32_t left;
    uint32_t right;
};

struct splay_tree {
    ORDERED_NODES;
    uint32_t root;
    uint32_t first;
};

#define NODES_FIRST 1u
#define STRUCTURE   struct splay_tree
#define IDLE_NODE   .left = UNLINKED
#include "ordered_nodes.h"

/* --- data: the tree --------------------------------------------------------------------------- */

/* Splay the tree below `top`, which is not NONE, for a key: the node with that key becomes the root,
 * or else the last one on the way to it. Return the root. */
static uint32_t splay(struct splay_tree *tree, uint32_t top, struct node key)
{
    *node_at(tree, NONE) = (struct node){.left = NONE, .right = NONE};
    uint32_t before = NONE; /* the last node of the tree of earlier timers, grown at its right */
    uint32_t after = NONE;  /* the first node of the tree of later timers, grown at its left */
    for (;;) {
        TL_COUNT(tree, compares, 1);
        if (is_before(&key, node_at(tree, top))) {
            uint32_t next = node_at(tree, top)->left;
            if (next != NONE &&
                (TL_COUNT(tree, compares, 1), is_before(&key, node_at(tree, next)))) {
                node_at(tree, top)->left = node_at(tree, next)->right;
                node_at(tree, next)->right = top;
                TL_COUNT(tree, moves, 1);
                top = next;
                next = node_at(tree, top)->left;
            }
            if (next == NONE) {
                break;
            }
            node_at(tree, after)->left = top;
            after = top;
            top = next;
        } else if (is_before(node_at(tree, top), &key)) {
            uint32_t next = node_at(tree, top)->right;
            if (next != NONE &&
                (TL_COUNT(tree, compares, 1), is_before(node_at(tree, next), &key))) {
                node_at(tree, top)->right = node_at(tree, next)->left;
                node_at(tree, next)->left = top;
                TL_COUNT(tree, moves, 1);
                top = next;
                next = node_at(tree, top)->right;
            }
            if (next == NONE) {
                break;
            }
            node_at(tree, before)->right = top;
            before = top;
            top = next;
        } else {
            break;
        }
        TL_COUNT(tree, moves, 1);
    }
    /* In the node NONE, `right` is now the tree of earlier timers, and `left` of later ones. */
    node_at(tree, before)->right = node_at(tree, top)->left;
    node_at(tree, after)->left = node_at(tree, top)->right;
    node_at(tree, top)->left = node_at(tree, NONE)->right;
    node_at(tree, top)->right = node_at(tree, NONE)->left;
    return top;
}

static inline bool order_is_pending(const struct splay_tree *tree, uint32_t index)
{
    return node_at(tree, index)->left != UNLINKED;
}

/* --- start and stop --------------------------------------------------------------------------- */

static void order_remove(struct splay_tree *tree, uint32_t index)
{
    struct node key = *node_at(tree, index);
    tree->root = splay(tree, tree->root, key);
    uint32_t left = node_at(tree, index)->left;
    uint32_t right = node_at(tree, index)->right;
    if (left == NONE) {
        tree->root = right;
    } else {
        tree->root = splay(tree, left, key); /* its last node comes up: none at its right */
        node_at(tree, tree->root)->right = right;
    }
    node_at(tree, index)->left = UNLINKED;
    TL_COUNT(tree, moves, 1);
    if (tree->first == index) {
        if (tree->root != NONE) {
            tree->root = splay(tree, tree->root, (struct node){0});
        }
        tree->first = tree->root;
    }
}

static void order_insert(struct splay_tree *tree, uint32_t index)
{
    struct node *node = node_at(tree, index);
    uint32_t left = NONE;
    uint32_t right = NONE;
    if (tree->root != NONE) {
        uint32_t root = splay(tree, tree->root, *node);
        TL_COUNT(tree, compares, 1);
        if (is_before(node, node_at(tree, root))) {
            left = node_at(tree, root)->left;
            right = root;
            node_at(tree, root)->left = NONE;
        } else {
            right = node_at(tree, root)->right;
            left = root;
            node_at(tree, root)->right = NONE;
        }
    }
    node->left = left;
    node->right = right;
    tree->root = index;
    if (tree->first == NONE || is_before(node, node_at(tree, tree->first))) {
        tree->first = index;
    }
    TL_COUNT(tree, compares, 1);
    TL_COUNT(tree, moves, 1);
}

/* --- advance and next ------------------------------------------------------------------------- */

static inline uint32_t order_first(const struct splay_tree *tree)
{
    return tree->first;
}

/* --- check and walk --------------------------------------------------------------------------- */

#define tree_root(tree) ((tree)->root)
#define tree_child(tree, index, side)                                                              \
    ((side) ? node_at(tree, index)->right : node_at(tree, index)->left)
#include "search_tree.h"

static enum tl_status ordered_check(const void *self, char *why, size_t why_bytes)
{
    return tree_check_links(self, why, why_bytes);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(splay_tree) = {
    .abi = TL_ABI,
    .capabilities = ORDERED_CAPABILITIES,
    .name = "splay-tree",
    .summary = "a search tree that rotates the timer touched last to its root",
    .origin = "Sleator and Tarjan 1985",
    .description =
        "A binary search tree without balance: every access splays, so that recent timers are near "
        "the root and any sequence of operations costs a logarithm each on average; timers taken "
        "from the front cost a constant. Exact in everything. Bad at: a single operation, which "
        "may take n steps; very many timers, with a cache miss at every level.",
    .differs = "nothing that a caller can notice: the paper's bottom-up splaying and joining, with "
               "ties broken by a serial.",
    .cost = {.start = "O(log n) amortised",
             .stop = "O(log n) amortised",
             .tick = "O(1)",
             .expire = "O(log n) amortised"},
    .create = ordered_create,
    .reserve = ordered_reserve,
    .start = ordered_start,
    ORDERED_HOOKS,
    NODES_HOOKS,
};
