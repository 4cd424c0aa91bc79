/*
 * ebtree: Tarreau's elastic binary tree: a radix tree of deadlines in which each timer has its own
 * fork.
 *
 *   due 8, 10, 12, 13, 14, started in this order; (n) is the fork of timer n, below its bit
 *
 *                         bit 2
 *                         (12)
 *                    0 /        \ 1
 *                bit 1            bit 1
 *                (10)              (14)
 *              0 /  \ 1        0 /      \ 1
 *               8    10      bit 0       14
 *                            (13)
 *                          0 /  \ 1
 *                           12   13
 *
 * A timer has a leaf and a fork, which are linked separately; n leaves need n-1 forks. start(13)
 * descends to the leaf 12, where its key differs, and puts its own fork there, with 12 and 13 below.
 * stop(12) gives the place of its parent, fork (13), to the sibling 13; the freed fork replaces the
 * fork of 12 at the top, with its bit and links. No step allocates, balances or rotates. advance
 * takes the leftmost leaf.
 *
 * A fork's bit is the highest in which the keys below it differ; the bits above are those of its own
 * timer's key. Timers with the same key hang from forks with negative bits, -1 at the bottom, in a
 * tree that grows to the right, in the order of their starts.
 *
 * HAProxy's keys are 32-bit milliseconds, and no timer is more than half a turn ahead. If the first
 * fork decides on the highest bit, the earliest timer is on the clock's side. keys=64 never overflows.
 *
 * Invariants
 *   - below fork n's branch b, all keys have its timer's bits above the fork's bit, and b in it;
 *     below a negative bit all keys are equal
 *   - bits fall on the way down, negative ones rise; a timer's fork, if in use, is above its leaf
 *   - a timer is in the tree, due from the clock to the horizon, or in the list DUE, or not pending
 *
 * Complexity: start, expiry and a tick O(log n) for random bits, 32 or 64 steps at worst; stop
 * O(1). Use it where most timers are stopped. Bad at: memory latency, a cache miss for each level;
 * unbalanced keys.
 *
 * Source: W. Tarreau, ebtree, 2002-2011, as in HAProxy: eb32tree.h, eb64tree.h, ticks.h, task.c.
 */
#include "timerlab.h"

#include "records.h"

/* --- data ------------------------------------------------------------------------------------- */

/* Whether a branch leads to a timer's leaf or fork, and on which side of its parent each is, is in
 * the lowest bit of the link: index << 1 | KIND, or index << 1 | side. */
#define LEAF      0u
#define FORK      1u
#define NO_BRANCH 0u               /* the root's, of an empty tree: the root is no leaf */
#define UNUSED    UINT32_MAX       /* up_fork: the fork is in no tree. up_leaf: not pending */
#define IN_DUE    (UINT32_MAX - 1) /* up_leaf: in the list DUE */

#define ROOT      0u
#define DUE       1u
#define FIRST     2u /* timer 0's index */

struct node {
    union {
        uint32_t branch[2]; /* in the tree */
        struct {            /* in DUE */
            uint32_t next;
            uint32_t prev;
        };
    };
    uint32_t up_fork;
    uint32_t up_leaf;
    uint64_t key;
    int32_t bit; /* on which the fork decides */
};

struct ebtree {
    struct node *nodes AND_RECORDS;
    uint32_t capacity;
    uint32_t key_bits;
    uint64_t key_mask;
    uint64_t count;
    uint64_t clock;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#define SLOT_LISTS struct ebtree
#include "slot_list.h"
#define NODES_FIRST FIRST
#define STRUCTURE   struct ebtree
#include "node_array.h"

/* --- data: the tree --------------------------------------------------------------------------- */

static inline struct node *slot_node(const struct ebtree *tree, uint32_t index)
{
    return node_at(tree, index);
}

/* Return the link of a leaf or fork to its parent. */
static inline uint32_t *up_of(const struct ebtree *tree, uint32_t branch)
{
    struct node *node = node_at(tree, branch >> 1);
    return (branch & 1) == FORK ? &node->up_fork : &node->up_leaf;
}

/* Hang a leaf or fork from the parent and side of the link `up`. */
static inline void hang(struct ebtree *tree, uint32_t branch, uint32_t up)
{
    node_at(tree, up >> 1)->branch[up & 1] = branch;
    *up_of(tree, branch) = up;
}

/* Put the fork of `index` above the branch `below`, with its leaf on its side `side`. */
static void put_above(struct ebtree *tree, uint32_t below, uint32_t index, int32_t bit,
                      uint32_t side)
{
    uint32_t up = *up_of(tree, below);
    node_at(tree, index)->bit = bit;
    hang(tree, below, index << 1 | (side ^ 1));
    hang(tree, index << 1 | LEAF, index << 1 | side);
    hang(tree, index << 1 | FORK, up);
    TL_COUNT(tree, moves, 1);
}

/* Put a timer after all with its key, which are below the fork `top`: above the last of them, or
 * above the lowest full tree at the right end. Bits along the right end rise by one where there is no
 * room for a fork between. */
static void put_after_equals(struct ebtree *tree, uint32_t top, uint32_t index)
{
    uint32_t full = top;
    uint32_t at = top;
    for (;;) {
        uint32_t right = node_at(tree, at)->branch[1];
        TL_COUNT(tree, compares, 1);
        if ((right & 1) == LEAF) {
            break;
        }
        if (node_at(tree, right >> 1)->bit > node_at(tree, at)->bit + 1) {
            full = right >> 1;
        }
        at = right >> 1;
    }
    if (node_at(tree, at)->bit < -1) {
        put_above(tree, node_at(tree, at)->branch[1], index, -1, 1);
    } else {
        put_above(tree, full << 1 | FORK, index, node_at(tree, full)->bit - 1, 1);
    }
}

/* Put a timer into the tree, by its key. */
static void put(struct ebtree *tree, uint32_t index)
{
    uint64_t key = node_at(tree, index)->key;
    uint32_t at = node_at(tree, ROOT)->branch[0];
    if (at == NO_BRANCH) {
        hang(tree, index << 1 | LEAF, ROOT << 1);
        TL_COUNT(tree, moves, 1);
        return;
    }
    while ((at & 1) == FORK) {
        const struct node *fork = node_at(tree, at >> 1);
        TL_COUNT(tree, compares, 1);
        if (fork->bit < 0 || (key ^ fork->key) >> fork->bit > 1) {
            break;
        }
        at = fork->branch[key >> fork->bit & 1];
    }
    uint64_t there = node_at(tree, at >> 1)->key;
    TL_COUNT(tree, compares, 1);
    if (key != there) {
        put_above(tree, at, index, 63 - __builtin_clzll(key ^ there), key > there);
    } else if ((at & 1) == LEAF) {
        put_above(tree, at, index, -1, 1);
    } else {
        put_after_equals(tree, at >> 1, index);
    }
}

/* Take a timer out of the tree. */
static void take(struct ebtree *tree, uint32_t index)
{
    struct node *node = node_at(tree, index);
    uint32_t up = node->up_leaf;
    uint32_t parent = up >> 1;
    node->up_leaf = UNUSED;
    TL_COUNT(tree, moves, 1);
    if (parent == ROOT) {
        node_at(tree, ROOT)->branch[0] = NO_BRANCH;
        return;
    }
    struct node *spare = node_at(tree, parent);
    hang(tree, spare->branch[~up & 1], spare->up_fork);
    spare->up_fork = UNUSED;
    if (node->up_fork != UNUSED) {
        spare->bit = node->bit;
        hang(tree, node->branch[0], parent << 1);
        hang(tree, node->branch[1], parent << 1 | 1);
        hang(tree, parent << 1 | FORK, node->up_fork);
        node->up_fork = UNUSED;
        TL_COUNT(tree, moves, 1);
    }
}

/* Return the timer of the tree that is due first, or ROOT if there is none. */
static uint32_t find_first(const struct ebtree *tree)
{
    uint32_t at = node_at(tree, ROOT)->branch[0];
    int32_t highest = (int32_t)tree->key_bits - 1;
    if ((at & 1) == FORK && node_at(tree, at >> 1)->bit == highest) {
        at = node_at(tree, at >> 1)->branch[tree->clock >> highest & 1];
    }
    while ((at & 1) == FORK) {
        at = node_at(tree, at >> 1)->branch[0];
    }
    return at >> 1;
}

/* --- start and stop --------------------------------------------------------------------------- */

/* Return the due tick of a timer of the tree: its key, in the turn that begins at the clock. */
static inline uint64_t due_of(const struct ebtree *tree, uint32_t index)
{
    return tree->clock + ((node_at(tree, index)->key - tree->clock) & tree->key_mask);
}

static inline bool is_pending(const struct ebtree *tree, uint32_t index)
{
    return node_at(tree, index)->up_leaf != UNUSED;
}

static void take_out(struct ebtree *tree, uint32_t index)
{
    if (node_at(tree, index)->up_leaf == IN_DUE) {
        slot_remove(tree, index);
        node_at(tree, index)->up_leaf = UNUSED;
        TL_COUNT(tree, moves, 1);
    } else {
        take(tree, index);
    }
}

/* Whether a deadline is more than half a turn ahead. */
static inline bool is_beyond(const struct ebtree *tree, uint64_t deadline)
{
    return deadline > tree->clock &&
           deadline - tree->clock > tree->key_mask / 2 + (tree->key_mask == UINT64_MAX);
}

static enum tl_status tree_start(void *self, uint32_t id, uint64_t deadline)
{
    struct ebtree *tree = self;
    uint32_t index = FIRST + id;
    if (is_beyond(tree, deadline)) {
        return TL_ERR_HORIZON;
    }
    if (is_pending(tree, index)) {
        take_out(tree, index);
    } else {
        tree->count++;
    }
    node_at(tree, index)->key = (deadline > tree->clock ? deadline : tree->clock) & tree->key_mask;
    put(tree, index);
    return TL_OK;
}

static enum tl_status tree_stop(void *self, uint32_t id)
{
    struct ebtree *tree = self;
    if (!is_pending(tree, FIRST + id)) {
        return TL_IDLE;
    }
    take_out(tree, FIRST + id);
    tree->count--;
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

static uint64_t tree_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct ebtree *tree = self;
    uint32_t first = ROOT;
    while ((first = find_first(tree)) != ROOT) {
        TL_COUNT(tree, compares, 1);
        if (due_of(tree, first) > now) {
            break;
        }
        take(tree, first);
        node_at(tree, first)->up_leaf = IN_DUE;
        slot_append(tree, DUE, first);
    }
    tree->clock = now;
    uint64_t fired = 0;
    for (; fired < budget && !slot_is_empty(tree, DUE); fired++) {
        uint32_t index = slot_node(tree, DUE)->next;
        take_out(tree, index);
        tree->count--;
        fire(ctx, index - FIRST, now);
    }
    return fired;
}

static uint64_t tree_next(const void *self)
{
    const struct ebtree *tree = self;
    if (!slot_is_empty(tree, DUE)) {
        return tree->clock;
    }
    uint32_t first = find_first(tree);
    return first != ROOT ? due_of(tree, first) : TL_NEVER;
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status tree_reserve(void *self, uint32_t capacity)
{
    struct ebtree *tree = self;
    bool fresh = tree->nodes == NULL;
    enum tl_status status = nodes_reserve(tree, capacity, UINT32_MAX / 2 - FIRST,
                                          (struct node){.up_fork = UNUSED, .up_leaf = UNUSED});
    if (status == TL_OK && fresh) {
        *node_at(tree, ROOT) = (struct node){.branch = {NO_BRANCH, NO_BRANCH}};
        *node_at(tree, DUE) = (struct node){.up_fork = UNUSED, .up_leaf = UNUSED};
        slot_clear(tree, DUE);
    }
    return status;
}

struct tree_options {
    uint32_t keys;
};

static const struct tl_option tree_option_table[] = {
    {"keys", TL_CHOICE(struct tree_options, keys), 32, 0, 0,
     (const struct tl_choice[]){
         {"32", 32, "turn over after 2^32 ticks: the horizon is 2^31 - 1 ticks ahead"},
         {"64", 64, "do not turn over: every deadline is taken"},
         {0},
     },
     "bits of a key"},
    {0},
};

static enum tl_status tree_create(const struct tl_config *config, void **self)
{
    const struct tree_options *options = config->options;
    uint32_t key_bits = options->keys;
    struct ebtree empty = {.key_bits = key_bits,
                           .key_mask = UINT64_MAX >> (64 - key_bits),
                           .clock = config->now,
                           .allocator = config->allocator};
    return structure_create(config, &empty, tree_reserve, nodes_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

/* Climb from a leaf to the root. Return NULL, or the fault. */
static const char *climb(const struct ebtree *tree, uint32_t index)
{
    uint64_t key = node_at(tree, index)->key;
    bool own = node_at(tree, index)->up_fork == UNUSED;
    uint32_t branch = index << 1 | LEAF;
    for (uint64_t depth = 0; depth <= tree->count; depth++) {
        uint32_t up = *up_of(tree, branch);
        if (up >> 1 >= FIRST + (uint64_t)tree->capacity ||
            node_at(tree, up >> 1)->branch[up & 1] != branch) {
            return "the links do not agree";
        }
        if (up >> 1 == ROOT) {
            return own ? NULL : "its fork is not above it";
        }
        const struct node *fork = node_at(tree, up >> 1);
        uint64_t differ = fork->key ^ key;
        if (fork->bit < 0 ? differ != 0
                          : differ >> fork->bit > 1 || (key >> fork->bit & 1) != (up & 1)) {
            return "its key does not belong there";
        }
        int32_t below = node_at(tree, branch >> 1)->bit;
        if ((branch & 1) == FORK && (fork->bit >= 0 ? fork->bit <= below : fork->bit >= below)) {
            return "forks decide on bits in a wrong order";
        }
        own = own || up >> 1 == index;
        branch = up | FORK; /* the fork that is climbed to; its side is no part of its name */
    }
    return "the links form a cycle";
}

static enum tl_status tree_check(const void *self, char *why, size_t why_bytes)
{
    const struct ebtree *tree = self;
    uint64_t due = 0;
    uint64_t leaves = 0;
    uint64_t forks = 0;
    bool linked_right = slot_walk(tree, DUE, tree->count, &due);
    for (uint32_t id = 0; linked_right && id < tree->capacity; id++) {
        const struct node *node = node_at(tree, FIRST + id);
        forks += node->up_fork != UNUSED;
        if (node->up_leaf == UNUSED || node->up_leaf == IN_DUE) {
            continue;
        }
        const char *fault = is_beyond(tree, due_of(tree, FIRST + id)) ? "it is before the clock"
                                                                      : climb(tree, FIRST + id);
        if (fault != NULL) {
            return corrupt(why, why_bytes, "timer %" PRIu32 ": %s", id, fault);
        }
        leaves++;
    }
    if (!linked_right || due + leaves != tree->count || forks + (leaves > 0) != leaves) {
        return corrupt(why, why_bytes, "%" PRIu64 " leaves, %" PRIu64 " forks, %" PRIu64 " due",
                       leaves, forks, due);
    }
    return TL_OK;
}

/* The cell of a fork is twice its timer's id and one, of a leaf twice the id. */
static void walk_branch(const struct ebtree *tree, uint32_t branch,
                        const struct tl_visitor *visitor)
{
    uint32_t up = *up_of(tree, branch);
    walk_node(visitor, branch - (FIRST << 1),
              up >> 1 == ROOT ? TL_NEVER : (uint64_t)(up | FORK) - (FIRST << 1));
    if ((branch & 1) == LEAF) {
        walk_timer(visitor, (branch >> 1) - FIRST, due_of(tree, branch >> 1), 0);
    }
}

static void tree_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct ebtree *tree = self;
    if (!slot_is_empty(tree, DUE)) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        for (uint32_t i = node_at(tree, DUE)->next; i != DUE; i = node_at(tree, i)->next) {
            walk_timer(visitor, i - FIRST, TL_NEVER, 0);
        }
    }
    walk_part(visitor, "tree", TL_FORM_TREE, 0);
    for (uint32_t id = 0; id < tree->capacity; id++) {
        const struct node *node = node_at(tree, FIRST + id);
        if (node->up_fork != UNUSED) {
            walk_branch(tree, (FIRST + id) << 1 | FORK, visitor);
        }
        if (node->up_leaf != UNUSED && node->up_leaf != IN_DUE) {
            walk_branch(tree, (FIRST + id) << 1 | LEAF, visitor);
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(ebtree) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |
                    TL_CAP_BUDGET,
    .name = "ebtree",
    .summary = "a radix tree with its forks in the timers, so that a stop only relinks",
    .origin = "Tarreau's ebtree, of HAProxy",
    .description =
        "An elastic binary tree: each timer holds a leaf and the one fork that its key made "
        "necessary, linked on their own. A start descends by the bits of its deadline; a stop "
        "takes a constant number of steps, whatever the size; equal deadlines hang in order of "
        "their starts. Keys have 32 bits and turn over, as HAProxy's ticks do, or 64. Bad at: "
        "memory latency, a cache miss a level, as often as the first timer is looked for; "
        "deadlines further ahead than 2^31 ticks, unless keys have 64 bits.",
    .differs = "links are 32-bit indices, not pointers: 32 bytes a timer instead of 40; a restart "
               "always moves the timer, where HAProxy's tasks stay at an earlier place in the tree "
               "until it is reached; a deadline beyond half a turn is refused, not the caller's "
               "mistake; one that has passed is due at the clock, so it cannot be taken for a far "
               "one; jumps of the clock may be of any size; no cap on the timers that one call "
               "wakes but the budget; tick 0 is a tick like any other.",
    .cost = {.start = "O(log n) expected, O(key bits) worst",
             .stop = "O(1)",
             .tick = "O(log n) expected",
             .expire = "O(log n) expected"},
    OPTIONS(tree_option_table, struct tree_options),
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
