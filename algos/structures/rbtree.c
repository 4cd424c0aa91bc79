/*
 * rbtree: a red-black tree of deadlines with the leftmost node cached, as in nginx and Linux's
 * hrtimers.
 *
 *                 [due 5, black]
 *                /              \
 *       [due 3, red]          [due 8, black]
 *        /        \                     \
 *   [.., black]  [due 4, black]      [due 9, red]         first -> the leftmost
 *
 * start(2, 10) descends by its key, right of 5, 8 and 9, becomes a red leaf there, and the tree is
 * rebalanced with at most two rotations. stop takes a node out with at most three. advance fires
 * `first` and moves it to the next node, so that a tick and `next` look at one node; nginx walks
 * down the left side each time. The lengths of two paths to leaves never differ by more than a
 * factor of two.
 *
 * The descent is in this file, the balancing in a library, as in nginx and Linux: <bsd/sys/tree.h>
 * of libbsd, the macros of the BSDs. The order is (due tick, serial of the start), so that equal
 * ticks fire in the order of their starts. The library links by pointers: 48 bytes a node. All
 * nodes are in one array by id, or in the caller's records; when these move, the links are
 * corrected.
 *
 * Invariants
 *   - those of red-black trees: the root is black, a red node's children are black, and all paths
 *     to the leaves have equally many black nodes
 *   - left is before, right is after; serials are distinct
 *   - a node is in the tree exactly if its serial is not NOT_PENDING; `first` is the earliest
 *   - an advance fires only serials given before it began
 *
 * Complexity: start, stop, restart and expiry O(log n), a tick O(1). Use it where no single
 * operation may be long. Bad at: memory latency, a cache miss for each level and some more for
 * rotations; memory, twice that of an array heap.
 *
 * Source: R. Bayer, "Symmetric binary B-trees", Acta Informatica 1, 1972; L. Guibas and R.
 * Sedgewick 1978; nginx, ngx_event_timer.c; Linux, kernel/time/hrtimer.c; libbsd, <bsd/sys/tree.h>.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#ifdef TL_HAVE_TREE

#include "records.h"

#include <bsd/sys/tree.h>

#define NONE        UINT32_MAX
#define NOT_PENDING UINT64_MAX

struct node {
    RB_ENTRY(node) links;
    uint64_t due;
    uint64_t serial;
};

RB_HEAD(node_tree, node);

struct rbtree {
    ORDERED_NODES;
    struct node_tree tree;
    uint32_t first;
};

#ifdef TL_EMBEDDED
static void tree_moved(void *self, const struct tl_records *records);
#define STRUCTURE_MOVED tree_moved
#endif
#define NODES_FIRST   0u
#define STRUCTURE     struct rbtree
#define IDLE_NODE     .serial = NOT_PENDING
#define ORDERED_EMPTY .first = NONE
#include "ordered_nodes.h"

/* --- data: the tree --------------------------------------------------------------------------- */

/* The library asks for a comparison; only its searches, which are not used here, would call it. */
static inline int compare_nodes(const struct node *a, const struct node *b)
{
    return is_before(b, a) - is_before(a, b);
}

/* RB_GENERATE_STATIC relies on a word of BSD compilers. */
RB_GENERATE_INTERNAL(node_tree, node, links, compare_nodes, static __attribute__((unused)))

/* Return the id of a node; NONE of NULL. */
static inline uint32_t id_of(const struct rbtree *rbtree, const struct node *node)
{
#ifdef TL_EMBEDDED
    size_t bytes = (size_t)((const char *)node - rbtree->records.first);
    return node != NULL ? (uint32_t)(bytes / rbtree->records.stride) : NONE;
#else
    return node != NULL ? (uint32_t)(node - rbtree->nodes) : NONE;
#endif
}

static inline bool order_is_pending(const struct rbtree *rbtree, uint32_t id)
{
    return node_at(rbtree, id)->serial != NOT_PENDING;
}

/* --- start and stop --------------------------------------------------------------------------- */

static void order_insert(struct rbtree *rbtree, uint32_t id)
{
    struct node *node = node_at(rbtree, id);
    struct node *parent = NULL;
    struct node **link = &RB_ROOT(&rbtree->tree);
    bool leftmost = true;
    while (*link != NULL) {
        parent = *link;
        TL_COUNT(rbtree, compares, 1);
        if (is_before(node, parent)) {
            link = &RB_LEFT(parent, links);
        } else {
            link = &RB_RIGHT(parent, links);
            leftmost = false;
        }
    }
    RB_SET(node, parent, links);
    *link = node;
    node_tree_RB_INSERT_COLOR(&rbtree->tree, node);
    if (leftmost) {
        rbtree->first = id;
    }
    TL_COUNT(rbtree, moves, 1);
}

static void order_remove(struct rbtree *rbtree, uint32_t id)
{
    struct node *node = node_at(rbtree, id);
    if (rbtree->first == id) {
        rbtree->first = id_of(rbtree, RB_NEXT(node_tree, &rbtree->tree, node));
    }
    RB_REMOVE(node_tree, &rbtree->tree, node);
    node->serial = NOT_PENDING;
    TL_COUNT(rbtree, moves, 1);
}

/* --- advance and next ------------------------------------------------------------------------- */

static inline uint32_t order_first(const struct rbtree *rbtree)
{
    return rbtree->first;
}

/* --- create and options ----------------------------------------------------------------------- */

static struct timer_records records_of(const struct rbtree *rbtree)
{
#ifdef TL_EMBEDDED
    return rbtree->records;
#else
    return (struct timer_records){.first = (char *)rbtree->nodes, .stride = sizeof(struct node)};
#endif
}

/* Return the new address of a node that was in `from`. */
static struct node *moved_node(const struct rbtree *rbtree, const struct timer_records *from,
                               const struct node *node)
{
    if (node == NULL) {
        return NULL;
    }
    size_t id = ((uintptr_t)node - (uintptr_t)from->first) / from->stride;
    return node_at(rbtree, (uint32_t)id);
}

/* Correct the links of nodes that were at `from`. */
static void move_links(struct rbtree *rbtree, const struct timer_records *from)
{
    for (uint32_t id = 0; id < rbtree->capacity; id++) {
        struct node *node = node_at(rbtree, id);
        if (order_is_pending(rbtree, id)) {
            RB_LEFT(node, links) = moved_node(rbtree, from, RB_LEFT(node, links));
            RB_RIGHT(node, links) = moved_node(rbtree, from, RB_RIGHT(node, links));
            RB_PARENT(node, links) = moved_node(rbtree, from, RB_PARENT(node, links));
        }
    }
    RB_ROOT(&rbtree->tree) = moved_node(rbtree, from, RB_ROOT(&rbtree->tree));
}

static enum tl_status tree_reserve(void *self, uint32_t capacity)
{
    struct rbtree *rbtree = self;
    struct timer_records before = records_of(rbtree);
    enum tl_status status = ordered_reserve(rbtree, capacity);
    if (status == TL_OK && before.first != NULL && records_of(rbtree).first != before.first) {
        move_links(rbtree, &before);
    }
    return status;
}

#ifdef TL_EMBEDDED
static void tree_moved(void *self, const struct tl_records *records)
{
    struct rbtree *rbtree = self;
    struct timer_records before = rbtree->records;
    records_give(&rbtree->records, records);
    move_links(rbtree, &before);
}
#endif

/* --- check and walk --------------------------------------------------------------------------- */

#define tree_root(rbtree) id_of(rbtree, RB_ROOT(&(rbtree)->tree))

static uint32_t tree_child(const struct rbtree *rbtree, uint32_t id, unsigned side)
{
    const struct node *node = node_at(rbtree, id);
    return id_of(rbtree, side != 0 ? RB_RIGHT(node, links) : RB_LEFT(node, links));
}

#include "search_tree.h"

/* Return the number of black nodes from `node` down to a leaf on the left side. */
static uint64_t black_height(const struct node *node)
{
    uint64_t height = 0;
    for (; node != NULL; node = RB_LEFT(node, links)) {
        height += RB_COLOR(node, links) == RB_BLACK;
    }
    return height;
}

static bool is_red(const struct node *node)
{
    return node != NULL && RB_COLOR(node, links) == RB_RED;
}

static enum tl_status ordered_check(const void *self, char *why, size_t why_bytes)
{
    const struct rbtree *rbtree = self;
    for (uint32_t id = 0; id < rbtree->capacity; id++) {
        const struct node *node = node_at(rbtree, id);
        if (!order_is_pending(rbtree, id)) {
            continue;
        }
        const struct node *left = RB_LEFT(node, links);
        const struct node *right = RB_RIGHT(node, links);
        if ((left != NULL && RB_PARENT(left, links) != node) ||
            (right != NULL && RB_PARENT(right, links) != node)) {
            return corrupt(why, why_bytes, "the links below timer %" PRIu32 " do not agree", id);
        }
        if ((is_red(node) && (is_red(left) || is_red(right))) ||
            black_height(left) != black_height(right)) {
            return corrupt(why, why_bytes, "the tree is out of balance at timer %" PRIu32, id);
        }
    }
    return tree_check_links(self, why, why_bytes);
}

#define RBTREE_SUMMARY "a red-black tree, balanced by the BSDs' tree macros, leftmost cached"
#define TREE_HOOKS                                                                                 \
    .create = ordered_create, .reserve = tree_reserve, .start = ordered_start,                     \
    .count = nodes_count, .counters = nodes_counters,                                              \
    .embedded_bytes = EMBEDDED_BYTES(sizeof(struct node)), .moved = EMBEDDED_HOOK(tree_moved)

#else

#include "unavailable.h"

#define RBTREE_SUMMARY "a red-black tree (not in this build, which lacked libbsd-dev)"
#define ORDERED_HOOKS  UNAVAILABLE_HOOKS
#define TREE_HOOKS     .walk = NULL

#endif

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(rbtree) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |
                    TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "rbtree",
    .summary = RBTREE_SUMMARY,
    .origin = "Bayer 1972; nginx, Linux hrtimer; libbsd",
    .description = "A red-black tree ordered by due tick and then by start, on the tree macros of "
                   "<bsd/sys/tree.h>, with a pointer to the earliest node. Exact in everything, "
                   "and logarithmic in the worst case, not only on average. Bad at: memory "
                   "latency, a cache miss a level; 48 bytes a timer.",
    .differs = "a restart always moves the timer, where nginx leaves one that would move by less "
               "than 300 ms where it is, and so fires it that much early or late; a timer that a "
               "callback starts already due waits for the next advance, where nginx and hrtimer "
               "fire it in the same loop; deadlines are ticks without the slack of hrtimer, which "
               "fires within a range and sets the clock event to its end; the first node is kept "
               "at hand, as in hrtimer, where nginx walks down to it.",
    .cost = {.start = "O(log n)", .stop = "O(log n)", .tick = "O(1)", .expire = "O(log n)"},
    ORDERED_HOOKS,
    TREE_HOOKS,
};
