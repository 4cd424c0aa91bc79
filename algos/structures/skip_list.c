/*
 * skip-list: Pugh's ordered list with lanes that skip nodes, as DPDK keeps its timers.
 *
 *   lane 2   head ---------------------------> [due 8, id 2] --------------------> end
 *   lane 1   head -----------> [due 4, id 4] -> [due 8, id 2] --------------------> end
 *   lane 0   head -> [due 3] -> [due 4, id 4] -> [due 8, id 2] -> [due 9] -> [..] -> end
 *
 * start(5, 6) searches from the highest lane in use: in lane 2 the first node, 8, is too far, so it
 * goes down; in lane 1 it passes 4; in lane 0 it inserts timer 5 between 4 and 8. With a chance of
 * 1/4 timer 5 also joins lane 1, and so on, up to ten lanes, which suffice for a million timers.
 * stop(4) searches in the same way and unlinks timer 4 from each lane where it went down. advance
 * takes nodes from the beginning of lane 0, so that a tick looks at one node.
 *
 * The order is (due tick, serial of the start), so that equal ticks fire in the order of their
 * starts and a stop finds its node with the same search. DPDK orders by the tick alone, and
 * searches among equals. As there, a new timer joins at most one lane above those in use, and every
 * node has room for all ten lanes, a cache line. The chances come from the structure's own
 * generator, so that the same operations build the same lanes.
 *
 * Invariants
 *   - every lane is in order, and holds the nodes of the lane above
 *   - a node is in lanes 0 .. height-1; height 0: not pending
 *   - `lanes` is the number of lanes in use; the others are empty
 *   - an advance fires only serials given before it began
 *
 * Complexity: start and stop O(log n) expected, a tick O(1), expiry O(height), 4/3 of a step
 * expected. Use it where order matters more than memory. Bad at: memory latency, several cache
 * misses for each lane; memory, 64 bytes a timer.
 *
 * Source: W. Pugh, "Skip lists: a probabilistic alternative to balanced trees", CACM 33(6), 1990;
 * DPDK, lib/timer/rte_timer.c (MAX_SKIPLIST_DEPTH 10).
 */
#include "timerlab.h"

#include "records.h"

/* --- data ------------------------------------------------------------------------------------- */

#define HEAD      0u /* the list's own node, and its end; timer `id` is node id + 1 */
#define NONE      HEAD
#define LANES_MAX 10u

struct node {
    uint64_t due;
    uint64_t serial;
    uint32_t next[LANES_MAX];
    uint32_t height; /* lanes that it is in */
};

struct skip_list {
    ORDERED_NODES;
    uint32_t lanes;
    uint64_t random; /* the generator's state */
};

#define NODES_FIRST        1u
#define STRUCTURE          struct skip_list
#define IDLE_NODE          .height = 0
#define ORDERED_EMPTY      .random = UINT64_C(0x9e3779b97f4a7c15)
#define ORDER_REMOVE_FIRST remove_first
#include "ordered_nodes.h"

/* --- data: lanes ------------------------------------------------------------------------------ */

/* The last node before `key` in each lane in use; the other lanes are left as they are, at HEAD. */
static void search(struct skip_list *list, const struct node *key, uint32_t before[LANES_MAX])
{
    uint32_t at = HEAD;
    uint32_t beyond = HEAD; /* the first node of the lane above that is not before the key */
    for (uint32_t lane = list->lanes; lane-- > 0;) {
        uint32_t next = node_at(list, at)->next[lane];
        while (next != beyond) {
            TL_COUNT(list, compares, 1);
            if (!is_before(node_at(list, next), key)) {
                break;
            }
            at = next;
            next = node_at(list, at)->next[lane];
        }
        beyond = next;
        before[lane] = at;
    }
}

static inline bool order_is_pending(const struct skip_list *list, uint32_t index)
{
    return node_at(list, index)->height > 0;
}

/* Unlink a node that `before` comes before in its lanes. */
static void unlink_node(struct skip_list *list, uint32_t index, const uint32_t before[LANES_MAX])
{
    for (uint32_t lane = 0; lane < node_at(list, index)->height; lane++) {
        node_at(list, before[lane])->next[lane] = node_at(list, index)->next[lane];
    }
    node_at(list, index)->height = 0;
    while (list->lanes > 0 && node_at(list, HEAD)->next[list->lanes - 1] == HEAD) {
        list->lanes--;
    }
    TL_COUNT(list, moves, 1);
}

/* --- start and stop --------------------------------------------------------------------------- */

static void order_remove(struct skip_list *list, uint32_t index)
{
    uint32_t before[LANES_MAX] = {HEAD};
    search(list, node_at(list, index), before);
    unlink_node(list, index, before);
}

/* Return the number of lanes that a new timer joins: one more with a chance of 1/4 each. */
static uint32_t draw_height(struct skip_list *list)
{
    /* xorshift64* (Vigna 2016): the upper bits are good. */
    list->random ^= list->random >> 12;
    list->random ^= list->random << 25;
    list->random ^= list->random >> 27;
    uint64_t bits = list->random * UINT64_C(0x2545f4914f6cdd1d) >> 32;
    uint32_t height = 1 + (uint32_t)__builtin_ctzll(bits | UINT64_C(1) << 32) / 2;
    uint32_t most = list->lanes < LANES_MAX ? list->lanes + 1 : LANES_MAX;
    return height < most ? height : most;
}

static void order_insert(struct skip_list *list, uint32_t index)
{
    struct node *node = node_at(list, index);
    uint32_t before[LANES_MAX] = {HEAD};
    search(list, node, before);
    node->height = draw_height(list);
    list->lanes = node->height > list->lanes ? node->height : list->lanes;
    for (uint32_t lane = 0; lane < node->height; lane++) {
        node->next[lane] = node_at(list, before[lane])->next[lane];
        node_at(list, before[lane])->next[lane] = index;
    }
    TL_COUNT(list, moves, 1);
}

/* --- advance and next ------------------------------------------------------------------------- */

static inline uint32_t order_first(const struct skip_list *list)
{
    return node_at(list, HEAD)->next[0];
}

static void remove_first(struct skip_list *list, uint32_t index)
{
    static const uint32_t heads[LANES_MAX] = {HEAD};
    unlink_node(list, index, heads);
}

/* --- check and walk --------------------------------------------------------------------------- */

static enum tl_status ordered_check(const void *self, char *why, size_t why_bytes)
{
    const struct skip_list *list = self;
    uint64_t linked[LANES_MAX] = {0};
    uint64_t pending[LANES_MAX] = {0};
    for (uint32_t lane = 0; lane < LANES_MAX; lane++) {
        for (uint32_t at = node_at(list, HEAD)->next[lane]; at != HEAD;
             at = node_at(list, at)->next[lane]) {
            uint32_t next = node_at(list, at)->next[lane];
            if (node_at(list, at)->height <= lane || ++linked[lane] > list->count ||
                (next != HEAD && !is_before(node_at(list, at), node_at(list, next)))) {
                return corrupt(why, why_bytes, "lane %" PRIu32 " is wrong at timer %" PRIu32, lane,
                               at - 1);
            }
        }
    }
    for (uint32_t index = 1; index <= list->capacity; index++) {
        for (uint32_t lane = 0; lane < node_at(list, index)->height; lane++) {
            pending[lane]++;
        }
    }
    for (uint32_t lane = 0; lane < LANES_MAX; lane++) {
        if (linked[lane] != pending[lane] || (linked[lane] > 0) != (lane < list->lanes)) {
            return corrupt(why, why_bytes, "lane %" PRIu32 " holds %" PRIu64 " of %" PRIu64, lane,
                           linked[lane], pending[lane]);
        }
    }
    return ordered_check_count(list, linked[0], why, why_bytes);
}

/* A part for each lane, the longest first; timers are shown in the
 * lowest, which has all. */
static void ordered_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct skip_list *list = self;
    for (uint32_t lane = list->lanes; lane-- > 0;) {
        char name[24];
        (void)snprintf(name, sizeof name, "lane %" PRIu32, lane + 1);
        walk_part(visitor, name, TL_FORM_LIST, 0);
        uint64_t index = 0;
        for (uint32_t i = node_at(list, HEAD)->next[lane]; i != HEAD;
             i = node_at(list, i)->next[lane]) {
            uint64_t due = node_at(list, i)->due;
            if (lane > 0) {
                walk_reference(visitor, index++, TL_NEVER, due, "its node in lane 1");
            } else {
                walk_node(visitor, index++, TL_NEVER);
                walk_timer(visitor, i - 1, due, 0);
            }
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(skip_list) = {
    .abi = TL_ABI,
    .capabilities = ORDERED_CAPABILITIES,
    .name = "skip-list",
    .summary = "an ordered list with up to ten lanes that skip ahead",
    .origin = "Pugh 1990; DPDK rte_timer",
    .description =
        "An ordered list in which a quarter of the timers are also in a lane above, a quarter of "
        "those in the next, and so on: a search goes right and down. Expiry takes the list's "
        "beginning. The chances come from a generator of its own, so runs repeat exactly. Exact in "
        "everything. Bad at: memory latency, several cache misses a lane; 64 bytes a timer.",
    .differs =
        "stop says whether the timer was pending, where rte_timer_stop answers 0 either way; a "
        "callback may stop or start any timer, where those that this rte_timer_manage has already "
        "taken to fire answer -1 and fire; one list without locks, not one for each core; no "
        "periodic timers; timers of one tick are distinguished by a serial number, so that a stop "
        "finds its node by the search alone, where rte_timer looks at all timers of that tick "
        "before it; heights are drawn from a generator of its own, with DPDK's chances.",
    .cost = {.start = "O(log n) expected",
             .stop = "O(log n) expected",
             .tick = "O(1)",
             .expire = "O(1) expected"},
    .create = ordered_create,
    .reserve = ordered_reserve,
    .start = ordered_start,
    ORDERED_HOOKS,
    NODES_HOOKS,
};
