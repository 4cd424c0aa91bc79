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

#include <inttypes.h>

#include "check.h"
#include "records.h"
#include "walk.h"

#include <bsd/sys/tree.h>

#define NOT_PENDING  UINT64_MAX
#define CAPACITY_MAX (UINT32_C(1) << 31)

struct node {
    RB_ENTRY(node) links;
    uint64_t due;
    uint64_t serial;
};

#include "start_order.h"

RB_HEAD(node_tree, node);

struct rbtree {
    struct node_tree tree;
    struct node *first;
    struct node *nodes AND_RECORDS;
    uint32_t capacity;
    uint64_t count;
    uint64_t clock;
    uint64_t serial;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#ifdef TL_EMBEDDED
static void tree_moved(void *self, const struct tl_records *records);
#define STRUCTURE_MOVED tree_moved
#endif
#define NODES_FIRST 0u
#define NODE_ARRAY  struct rbtree
#include "node_array.h"
#define STRUCTURE struct rbtree
#include "structure.h"

/* --- data: the tree --------------------------------------------------------------------------- */

/* The library asks for a comparison; only its searches, which are not used here, would call it. */
static inline int compare_nodes(const struct node *a, const struct node *b)
{
    return is_before(b, a) - is_before(a, b);
}

/* RB_GENERATE_STATIC relies on a word of BSD compilers. */
RB_GENERATE_INTERNAL(node_tree, node, links, compare_nodes, static __attribute__((unused)))

#ifdef TL_EMBEDDED
static inline uint32_t id_of(const struct rbtree *rbtree, const struct node *node)
{
    return (uint32_t)((size_t)((const char *)node - rbtree->records.first) /
                      rbtree->records.stride);
}
#else
#define id_of(rbtree, node) ((uint32_t)((node) - (rbtree)->nodes))
#endif

static inline bool is_pending(const struct node *node)
{
    return node->serial != NOT_PENDING;
}

/* Puts a node that is in no tree where its key belongs. */
static void insert(struct rbtree *rbtree, struct node *node)
{
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
        rbtree->first = node;
    }
    rbtree->count++;
    TL_COUNT(rbtree, moves, 1);
}

static void take(struct rbtree *rbtree, struct node *node)
{
    if (rbtree->first == node) {
        rbtree->first = RB_NEXT(node_tree, &rbtree->tree, node);
    }
    RB_REMOVE(node_tree, &rbtree->tree, node);
    node->serial = NOT_PENDING;
    rbtree->count--;
    TL_COUNT(rbtree, moves, 1);
}

/* --- start and stop --------------------------------------------------------------------------- */

static enum tl_status tree_start(void *self, uint32_t id, uint64_t deadline)
{
    struct rbtree *rbtree = self;
    struct node *node = node_at(rbtree, id);
    if (is_pending(node)) {
        take(rbtree, node);
    }
    node->due = deadline > rbtree->clock ? deadline : rbtree->clock;
    node->serial = rbtree->serial++;
    insert(rbtree, node);
    return TL_OK;
}

static enum tl_status tree_stop(void *self, uint32_t id)
{
    struct rbtree *rbtree = self;
    if (!is_pending(node_at(rbtree, id))) {
        return TL_IDLE;
    }
    take(rbtree, node_at(rbtree, id));
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

static uint64_t tree_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct rbtree *rbtree = self;
    rbtree->clock = now;
    uint64_t serials = rbtree->serial;
    uint64_t fired = 0;
    while (fired < budget && rbtree->first != NULL) {
        struct node *node = rbtree->first;
        TL_COUNT(rbtree, compares, 1);
        if (!is_due(node, now, serials)) {
            break;
        }
        take(rbtree, node);
        fired++;
        fire(ctx, id_of(rbtree, node), now);
    }
    return fired;
}

static uint64_t tree_next(const void *self)
{
    const struct rbtree *rbtree = self;
    return rbtree->first != NULL ? rbtree->first->due : TL_NEVER;
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

/* Where a node is that was in `from`, when they have come to lie elsewhere. */
static struct node *moved(const struct rbtree *rbtree, const struct timer_records *from,
                          const struct node *node)
{
    if (node == NULL) {
        return NULL; /* as all are before the first nodes_reserve, when the stride is 0 */
    }
    size_t id = ((uintptr_t)node - (uintptr_t)from->first) / from->stride;
    return node_at(rbtree, (uint32_t)id);
}

/* The nodes were at `from`: correct the links. */
static void move_links(struct rbtree *rbtree, const struct timer_records *from)
{
    for (uint32_t id = 0; id < rbtree->capacity; id++) {
        struct node *node = node_at(rbtree, id);
        if (is_pending(node)) {
            RB_LEFT(node, links) = moved(rbtree, from, RB_LEFT(node, links));
            RB_RIGHT(node, links) = moved(rbtree, from, RB_RIGHT(node, links));
            RB_PARENT(node, links) = moved(rbtree, from, RB_PARENT(node, links));
        }
    }
    RB_ROOT(&rbtree->tree) = moved(rbtree, from, RB_ROOT(&rbtree->tree));
    rbtree->first = moved(rbtree, from, rbtree->first);
}

static enum tl_status tree_reserve(void *self, uint32_t capacity)
{
    struct rbtree *rbtree = self;
    struct timer_records before = records_of(rbtree);
    enum tl_status status =
        nodes_reserve(rbtree, capacity, CAPACITY_MAX, (struct node){.serial = NOT_PENDING});
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

static enum tl_status tree_create(const struct tl_config *config, void **self)
{
    struct rbtree empty = {
        .tree = RB_INITIALIZER(&empty.tree), .clock = config->now, .allocator = config->allocator};
    return structure_create(config, &empty, tree_reserve, nodes_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

/* The black nodes from `node` down to a leaf on the left side. */
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

static enum tl_status tree_check(const void *self, char *why, size_t why_bytes)
{
    const struct rbtree *rbtree = self;
    uint64_t pending = 0;
    uint64_t links = RB_ROOT(&rbtree->tree) != NULL;
    for (uint32_t id = 0; id < rbtree->capacity; id++) {
        const struct node *node = node_at(rbtree, id);
        if (!is_pending(node)) {
            continue;
        }
        pending++;
        const struct node *left = RB_LEFT(node, links);
        const struct node *right = RB_RIGHT(node, links);
        links += left != NULL;
        links += right != NULL;
        if ((left != NULL && (RB_PARENT(left, links) != node || !is_before(left, node))) ||
            (right != NULL && (RB_PARENT(right, links) != node || !is_before(node, right)))) {
            return corrupt(why, why_bytes, "the children of timer %" PRIu32 " are out of order",
                           id);
        }
        if ((is_red(node) && (is_red(left) || is_red(right))) ||
            black_height(left) != black_height(right)) {
            return corrupt(why, why_bytes, "the tree is out of balance at timer %" PRIu32, id);
        }
        if (rbtree->first == NULL || is_before(node, rbtree->first)) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " is before the first", id);
        }
    }
    if (pending != rbtree->count || links != rbtree->count) {
        return corrupt(why, why_bytes,
                       "%" PRIu64 " timers pending, %" PRIu64 " linked, %" PRIu64 " counted",
                       pending, links, rbtree->count);
    }
    return TL_OK;
}

static void walk_below(const struct rbtree *rbtree, const struct node *node, uint64_t parent,
                       const struct tl_visitor *visitor)
{
    if (node != NULL) {
        uint32_t id = id_of(rbtree, node);
        walk_node(visitor, id, parent);
        walk_timer(visitor, id, node->due, 0);
    }
}

/* A cell is named by its timer's id. */
static void tree_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct rbtree *rbtree = self;
    walk_part(visitor, "tree", TL_FORM_TREE, 0);
    walk_below(rbtree, RB_ROOT(&rbtree->tree), TL_NEVER, visitor);
    for (uint32_t id = 0; id < rbtree->capacity; id++) {
        const struct node *node = node_at(rbtree, id);
        if (is_pending(node)) {
            walk_below(rbtree, RB_LEFT(node, links), id, visitor);
            walk_below(rbtree, RB_RIGHT(node, links), id, visitor);
        }
    }
}

#define TREE_EMBEDDED_BYTES EMBEDDED_BYTES(sizeof(struct node))
#define TREE_MOVED          EMBEDDED_HOOK(tree_moved)
#define RBTREE_SUMMARY      "a red-black tree, balanced by the BSDs' tree macros, leftmost cached"

#else

#define UNAVAILABLE(hook) tree_##hook
#include "unavailable.h"
#define nodes_destroy       tree_destroy
#define nodes_count         tree_count
#define nodes_counters      tree_counters

#define TREE_EMBEDDED_BYTES 0
#define TREE_MOVED          NULL
#define RBTREE_SUMMARY      "a red-black tree (not in this build, which lacked libbsd-dev)"

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
    .create = tree_create,
    .destroy = nodes_destroy,
    .reserve = tree_reserve,
    .start = tree_start,
    .stop = tree_stop,
    .advance = tree_advance,
    .next = tree_next,
    .count = nodes_count,
    .counters = nodes_counters,
    .check = tree_check,
    .walk = tree_walk,
    .embedded_bytes = TREE_EMBEDDED_BYTES,
    .moved = TREE_MOVED,
};
