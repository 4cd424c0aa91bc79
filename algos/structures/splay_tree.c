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

#include <inttypes.h>

#include "check.h"
#include "records.h"
#include "walk.h"

/* --- data ------------------------------------------------------------------------------------- */

#define UNLINKED UINT32_MAX
#define NONE     0u /* no node; while splaying, the two side trees hang here. id is node id + 1 */

struct node {
    uint64_t due;
    uint64_t serial;
    uint32_t left;
    uint32_t right;
};

#include "start_order.h"

struct splay_tree {
    struct node *nodes AND_RECORDS;
    uint32_t root;
    uint32_t first;
    uint32_t capacity;
    uint64_t count;
    uint64_t clock;
    uint64_t serial;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#define NODES_FIRST 1u
#define NODE_ARRAY  struct splay_tree
#include "node_array.h"
#define STRUCTURE struct splay_tree
#include "structure.h"

/* --- data: the tree --------------------------------------------------------------------------- */

/* Splays the tree below `top`, which is not NONE, for a key: the node with that key comes to the
 * root, or else the last one on the way to it. Returns the root. */
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

static inline bool is_linked(const struct splay_tree *tree, uint32_t index)
{
    return node_at(tree, index)->left != UNLINKED;
}

/* Takes a node out of the tree. */
static void take(struct splay_tree *tree, uint32_t index)
{
    tree->root = splay(tree, tree->root, *node_at(tree, index));
    uint32_t left = node_at(tree, index)->left;
    uint32_t right = node_at(tree, index)->right;
    if (left == NONE) {
        tree->root = right;
    } else {
        tree->root = splay(tree, left,
                           *node_at(tree, index)); /* its last node comes up: none at its right */
        node_at(tree, tree->root)->right = right;
    }
    node_at(tree, index)->left = UNLINKED;
    tree->count--;
    TL_COUNT(tree, moves, 1);
    if (tree->first == index) {
        if (tree->root != NONE) {
            tree->root = splay(tree, tree->root, (struct node){0});
        }
        tree->first = tree->root;
    }
}

/* --- start and stop --------------------------------------------------------------------------- */

static enum tl_status tree_start(void *self, uint32_t id, uint64_t deadline)
{
    struct splay_tree *tree = self;
    uint32_t index = id + 1;
    if (is_linked(tree, index)) {
        take(tree, index);
    }
    struct node node = {.due = deadline > tree->clock ? deadline : tree->clock,
                        .serial = tree->serial++,
                        .left = NONE,
                        .right = NONE};
    if (tree->root != NONE) {
        uint32_t root = splay(tree, tree->root, node);
        TL_COUNT(tree, compares, 1);
        if (is_before(&node, node_at(tree, root))) {
            node.left = node_at(tree, root)->left;
            node.right = root;
            node_at(tree, root)->left = NONE;
        } else {
            node.right = node_at(tree, root)->right;
            node.left = root;
            node_at(tree, root)->right = NONE;
        }
    }
    *node_at(tree, index) = node;
    tree->root = index;
    if (tree->first == NONE || is_before(&node, node_at(tree, tree->first))) {
        tree->first = index;
    }
    tree->count++;
    TL_COUNT(tree, compares, 1);
    TL_COUNT(tree, moves, 1);
    return TL_OK;
}

static enum tl_status tree_stop(void *self, uint32_t id)
{
    struct splay_tree *tree = self;
    if (!is_linked(tree, id + 1)) {
        return TL_IDLE;
    }
    take(tree, id + 1);
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

static uint64_t tree_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct splay_tree *tree = self;
    tree->clock = now;
    uint64_t serials = tree->serial;
    uint64_t fired = 0;
    while (fired < budget && tree->first != NONE) {
        uint32_t index = tree->first;
        TL_COUNT(tree, compares, 1);
        if (!is_due(node_at(tree, index), now, serials)) {
            break;
        }
        take(tree, index);
        fired++;
        fire(ctx, index - 1, now);
    }
    return fired;
}

static uint64_t tree_next(const void *self)
{
    const struct splay_tree *tree = self;
    return tree->first != NONE ? node_at(tree, tree->first)->due : TL_NEVER;
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status tree_reserve(void *self, uint32_t capacity)
{
    return nodes_reserve(self, capacity, UNLINKED - 2, (struct node){.left = UNLINKED});
}

static enum tl_status tree_create(const struct tl_config *config, void **self)
{
    /* Serials begin at 1: the key (0, 0) is before all. */
    struct splay_tree empty = {.serial = 1, .clock = config->now, .allocator = config->allocator};
    return structure_create(config, &empty, tree_reserve, nodes_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

/* The depth at which a search from the root finds a node; UINT64_MAX if it does not. */
static uint64_t depth_of(const struct splay_tree *tree, uint32_t index)
{
    uint64_t depth = 0;
    for (uint32_t at = tree->root; at != NONE && depth <= tree->count; depth++) {
        if (at == index) {
            return depth;
        }
        at = is_before(node_at(tree, index), node_at(tree, at)) ? node_at(tree, at)->left
                                                                : node_at(tree, at)->right;
    }
    return UINT64_MAX;
}

static enum tl_status tree_check(const void *self, char *why, size_t why_bytes)
{
    const struct splay_tree *tree = self;
    uint64_t pending = 0;
    uint64_t links = tree->root != NONE;
    for (uint32_t index = 1; index <= tree->capacity; index++) {
        if (!is_linked(tree, index)) {
            continue;
        }
        pending++;
        links += node_at(tree, index)->left != NONE;
        links += node_at(tree, index)->right != NONE;
        if (depth_of(tree, index) == UINT64_MAX) {
            return corrupt(why, why_bytes, "a search does not find timer %" PRIu32, index - 1);
        }
        if (tree->first == NONE || is_before(node_at(tree, index), node_at(tree, tree->first))) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " is before the first", index - 1);
        }
    }
    if (pending != tree->count || links != tree->count) {
        return corrupt(why, why_bytes,
                       "%" PRIu64 " timers pending, %" PRIu64 " linked, %" PRIu64 " counted",
                       pending, links, tree->count);
    }
    return TL_OK;
}

static void walk_below(const struct splay_tree *tree, uint32_t index, uint64_t parent,
                       const struct tl_visitor *visitor)
{
    if (index != NONE) {
        walk_node(visitor, index - 1, parent);
        walk_timer(visitor, index - 1, node_at(tree, index)->due, 0);
    }
}

/* A cell is named by its timer's id. */
static void tree_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct splay_tree *tree = self;
    walk_part(visitor, "tree", TL_FORM_TREE, 0);
    walk_below(tree, tree->root, TL_NEVER, visitor);
    for (uint32_t index = 1; index <= tree->capacity; index++) {
        if (is_linked(tree, index)) {
            walk_below(tree, node_at(tree, index)->left, index - 1, visitor);
            walk_below(tree, node_at(tree, index)->right, index - 1, visitor);
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(splay_tree) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |
                    TL_CAP_BUDGET | TL_CAP_UNLIMITED,
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
    .create = tree_create,
    .destroy = nodes_destroy,
    .reserve = tree_reserve,
    .start = tree_start,
    .stop = tree_stop,
    .advance = tree_advance,
    .next = tree_next,
    NODES_HOOKS,
    .check = tree_check,
    .walk = tree_walk,
};
