/*
 * pairing-heap: a tree of any shape in which every timer is due before its children.
 *
 *            [due 3, id 7]
 *             |child
 *            [due 9, id 0] -next-> [due 4, id 4] -next-> [due 8, id 2]
 *                                   |child
 *                                  [due 5, id 1]
 *
 * The only step is to link two trees: the later root becomes the first child of the earlier one.
 * start(3, 2) compares the new timer with the root: id 7 becomes its child. A restart to an earlier
 * tick cuts the timer off, with its subtree, and links it with the root. advance(3) takes the root,
 * id 7: its children are linked in pairs from left to right, [9, 4] and [8], and then the pairs
 * from right to left. That step does the work that starts postpone, and keeps the mean logarithmic.
 * Stop, and restart to a later tick, cut the timer off and do the same with its children.
 *
 * Nodes are in one array by id, 32 bytes each, linked by 32-bit indices. `prev` is the left
 * sibling, or the parent for a first child.
 *
 * Invariants
 *   - no node is before its parent in the order (due, serial of the start)
 *   - next and prev agree: a node's `prev` has it as `child` or as `next`
 *   - a node is in the heap exactly if it is the root or its `prev` is not NONE
 *   - an advance fires only serials given before it began; callbacks get later ones
 *
 * Complexity: start O(1); stop, restart and expiry O(log n) amortised, a tick O(1). Use it where
 * starts are frequent and expiries rare. Bad at: a single expiry, which takes n steps after n
 * starts; memory latency, because siblings are anywhere in memory.
 *
 * Source: M. L. Fredman, R. Sedgewick, D. D. Sleator, R. E. Tarjan, "The pairing heap: a new form
 * of self-adjusting heap", Algorithmica 1, 1986 (two-pass variant).
 */
#include "timerlab.h"

#include "records.h"

/* --- data ------------------------------------------------------------------------------------- */

#define NONE UINT32_MAX

struct node {
    uint64_t due;
    uint64_t serial; /* of its start */
    uint32_t child;  /* the first */
    uint32_t next;   /* right sibling */
    uint32_t prev;   /* left sibling, or parent; NONE: the root, or not in the heap */
};

struct pairing_heap {
    ORDERED_NODES;
    uint32_t root; /* NONE if empty */
};

#define NODES_FIRST   0u
#define STRUCTURE     struct pairing_heap
#define IDLE_NODE     .child = NONE, .next = NONE, .prev = NONE
#define ORDERED_EMPTY .root = NONE
#include "ordered_nodes.h"

/* --- data: trees ------------------------------------------------------------------------------ */

static inline bool order_is_pending(const struct pairing_heap *heap, uint32_t id)
{
    return heap->root == id || node_at(heap, id)->prev != NONE;
}

/* Link two roots, the later below the earlier; return that. */
static inline uint32_t link_roots(struct pairing_heap *heap, uint32_t a, uint32_t b)
{
    TL_COUNT(heap, compares, 1);
    TL_COUNT(heap, moves, 1);
    bool swap = is_before(node_at(heap, b), node_at(heap, a));
    uint32_t parent = swap ? b : a;
    uint32_t below = swap ? a : b;
    struct node *up = node_at(heap, parent);
    struct node *down = node_at(heap, below);
    down->next = up->child;
    down->prev = parent;
    if (up->child != NONE) {
        node_at(heap, up->child)->prev = below;
    }
    up->child = below;
    return parent;
}

/* Add a tree that has no place yet to the heap. */
static void add_tree(struct pairing_heap *heap, uint32_t tree)
{
    uint32_t root = heap->root == NONE ? tree : link_roots(heap, heap->root, tree);
    node_at(heap, root)->next = NONE;
    node_at(heap, root)->prev = NONE;
    heap->root = root;
}

/* Unlink a node that is not the root from its siblings, with all below it. */
static void cut(struct pairing_heap *heap, uint32_t id)
{
    struct node *node = node_at(heap, id);
    struct node *prev = node_at(heap, node->prev);
    if (prev->child == id) {
        prev->child = node->next;
    } else {
        prev->next = node->next;
    }
    if (node->next != NONE) {
        node_at(heap, node->next)->prev = node->prev;
    }
    node->prev = NONE;
    node->next = NONE;
}

/* Make one tree of a list of siblings, that of `first`. Return its root, or NONE; its links to
 * siblings are not set. */
static uint32_t link_siblings(struct pairing_heap *heap, uint32_t first)
{
    uint32_t pairs = NONE; /* in reverse, by `next` */
    while (first != NONE) {
        uint32_t a = first;
        uint32_t b = node_at(heap, a)->next;
        if (b == NONE) {
            node_at(heap, a)->next = pairs;
            pairs = a;
            break;
        }
        first = node_at(heap, b)->next;
        uint32_t pair = link_roots(heap, a, b);
        node_at(heap, pair)->next = pairs;
        pairs = pair;
    }
    uint32_t tree = pairs;
    if (tree != NONE) {
        pairs = node_at(heap, tree)->next;
    }
    while (pairs != NONE) {
        uint32_t pair = pairs;
        pairs = node_at(heap, pair)->next;
        tree = link_roots(heap, tree, pair);
    }
    return tree;
}

static void order_remove(struct pairing_heap *heap, uint32_t id)
{
    struct node *node = node_at(heap, id);
    TL_COUNT(heap, moves, 1);
    if (heap->root == id) {
        heap->root = NONE;
    } else {
        cut(heap, id);
    }
    uint32_t below = link_siblings(heap, node->child);
    node->child = NONE;
    node->prev = NONE;
    if (below != NONE) {
        add_tree(heap, below);
    }
}

/* --- start and stop --------------------------------------------------------------------------- */

static void order_insert(struct pairing_heap *heap, uint32_t id)
{
    TL_COUNT(heap, moves, heap->root == NONE);
    add_tree(heap, id);
}

/* A restart to an earlier tick keeps the subtree below the timer. */
static enum tl_status heap_start(void *self, uint32_t id, uint64_t deadline)
{
    struct pairing_heap *heap = self;
    struct node *node = node_at(heap, id);
    uint64_t due = deadline > heap->clock ? deadline : heap->clock;
    if (!order_is_pending(heap, id) || due >= node->due) {
        return ordered_start(self, id, deadline);
    }
    node->due = due;
    node->serial = heap->serial++;
    if (heap->root != id) {
        cut(heap, id);
        add_tree(heap, id);
    }
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

static inline uint32_t order_first(const struct pairing_heap *heap)
{
    return heap->root;
}

/* --- check and walk --------------------------------------------------------------------------- */

static enum tl_status ordered_check(const void *self, char *why, size_t why_bytes)
{
    const struct pairing_heap *heap = self;
    uint64_t linked = heap->root != NONE;
    for (uint32_t id = 0; id < heap->capacity; id++) {
        uint32_t left = id;
        for (uint32_t child = node_at(heap, id)->child; child != NONE;
             child = node_at(heap, child)->next) {
            if (!order_is_pending(heap, id) || node_at(heap, child)->prev != left ||
                ++linked > heap->count) {
                return corrupt(why, why_bytes, "the links below timer %" PRIu32 " do not agree",
                               id);
            }
            if (is_before(node_at(heap, child), node_at(heap, id))) {
                return corrupt(why, why_bytes, "timer %" PRIu32 " is below a later one", child);
            }
            left = child;
        }
    }
    return ordered_check_count(heap, linked, why, why_bytes);
}

static void ordered_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct pairing_heap *heap = self;
    walk_part(visitor, "heap", TL_FORM_TREE, 0);
    if (heap->root != NONE) {
        ordered_walk_node(heap, heap->root, TL_NEVER, visitor);
    }
    for (uint32_t id = 0; id < heap->capacity; id++) {
        uint32_t child = order_is_pending(heap, id) ? node_at(heap, id)->child : NONE;
        for (; child != NONE; child = node_at(heap, child)->next) {
            ordered_walk_node(heap, child, id, visitor);
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(pairing_heap) = {
    .abi = TL_ABI,
    .capabilities = ORDERED_CAPABILITIES,
    .name = "pairing-heap",
    .summary = "trees that are only ever linked: the later root below the earlier",
    .origin = "Fredman, Sedgewick, Sleator and Tarjan 1986",
    .description =
        "A heap-ordered tree of any shape: a start links one node at the root, a restart to "
        "earlier cuts and links again, and taking the root links its children in two passes, "
        "which keeps the cost logarithmic on average. Exact in everything. Bad at: the one "
        "expiry that follows very many starts and links them all; memory latency.",
    .differs = "nothing that a caller can notice: the paper's operations, with ties broken by a "
               "serial and stops that take out any node.",
    .cost = {.start = "O(1); restart O(log n) amortised",
             .stop = "O(log n) amortised",
             .tick = "O(1)",
             .expire = "O(log n) amortised"},
    .create = ordered_create,
    .reserve = ordered_reserve,
    .start = heap_start,
    ORDERED_HOOKS,
    NODES_HOOKS,
};
