/*
 * ordered-list: Varghese and Lauck's scheme 2, one sorted list, and the reference for all others.
 *
 *   head -> [due 3, id 7] <-> [due 3, id 1] <-> [due 8, id 4] <-> [due 20, id 0] -> end
 *
 * All pending timers are in one doubly linked list in order of due tick; equal ticks in the order
 * of their starts. start(2, 9) searches from the tail: timer 2 is inserted after timer 4. That
 * search ends at once in the commonest case, a new timer that is due last. stop(1) unlinks timer 1.
 * advance(3) fires from the head until the first timer is not due.
 *
 * It is the reference because its correctness is obvious: one list, one order, no rounding, no
 * horizon. Old Unix kept its callouts in such a list, with differences instead of absolute times.
 *
 * Invariants
 *   - `due` never decreases along the list; among equal `due`, the earlier start is nearer the head
 *   - a timer is in the list exactly if its `next` is not UNLINKED; `count` is the list's length
 *   - a timer started in a callback has serial >= the running advance's, and does not fire in it
 *
 * Complexity: start O(n), stop O(1), a tick O(1), expiry O(1). Use it for a few dozen timers, or
 * one constant timeout. Bad at: starts anywhere but at the end: with a million timers of mixed
 * delays, each start walks half a million nodes.
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, section
 * 3.2.
 */
#include "timerlab.h"

#include "records.h"

/* --- data ------------------------------------------------------------------------------------- */

#define UNLINKED UINT32_MAX
#define HEAD     0u /* the list's own node; timer `id` is node id + 1 */
#define NONE     HEAD

struct node {
    uint64_t due;
    uint64_t serial; /* of its start: orders ties, and excludes starts in the same advance */
    uint32_t next;
    uint32_t prev;
};

struct ordered_list {
    ORDERED_NODES;
};

#define NODES_FIRST 1u
#define STRUCTURE   struct ordered_list
#define IDLE_NODE   .next = UNLINKED, .prev = UNLINKED
#include "ordered_nodes.h"

/* --- start and stop --------------------------------------------------------------------------- */

static inline bool order_is_pending(const struct ordered_list *list, uint32_t index)
{
    return node_at(list, index)->next != UNLINKED;
}

static void order_remove(struct ordered_list *list, uint32_t index)
{
    struct node *node = node_at(list, index);
    node_at(list, node->prev)->next = node->next;
    node_at(list, node->next)->prev = node->prev;
    node->next = UNLINKED;
    TL_COUNT(list, moves, 1);
}

/* A search from the end: a new timer is mostly due last. */
static void order_insert(struct ordered_list *list, uint32_t index)
{
    struct node *node = node_at(list, index);
    uint32_t before = node_at(list, HEAD)->prev;
    while (before != HEAD && node_at(list, before)->due > node->due) {
        TL_COUNT(list, compares, 1);
        before = node_at(list, before)->prev;
    }
    TL_COUNT(list, compares, before != HEAD);
    node->prev = before;
    node->next = node_at(list, before)->next;
    node_at(list, node->next)->prev = index;
    node_at(list, before)->next = index;
    TL_COUNT(list, moves, 1);
}

/* --- advance and next ------------------------------------------------------------------------- */

static inline uint32_t order_first(const struct ordered_list *list)
{
    return node_at(list, HEAD)->next;
}

/* --- check and walk --------------------------------------------------------------------------- */

static enum tl_status ordered_check(const void *self, char *why, size_t why_bytes)
{
    const struct ordered_list *list = self;
    uint64_t linked = 0;
    for (uint32_t i = node_at(list, HEAD)->next; i != HEAD; i = node_at(list, i)->next) {
        const struct node *node = node_at(list, i);
        const struct node *next = node_at(list, node->next);
        if (next->prev != i || ++linked > list->count) {
            return corrupt(why, why_bytes, "the links around timer %" PRIu32 " do not agree",
                           i - 1);
        }
        if (node->next != HEAD && is_before(next, node)) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " is before an earlier one", i - 1);
        }
    }
    return ordered_check_count(list, linked, why, why_bytes);
}

static void ordered_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct ordered_list *list = self;
    walk_part(visitor, "list", TL_FORM_LIST, 0);
    uint64_t index = 0;
    for (uint32_t i = node_at(list, HEAD)->next; i != HEAD; i = node_at(list, i)->next) {
        walk_node(visitor, index++, TL_NEVER);
        walk_timer(visitor, i - 1, node_at(list, i)->due, 0);
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(ordered_list) = {
    .abi = TL_ABI,
    .capabilities = ORDERED_CAPABILITIES | TL_CAP_BASELINE | TL_CAP_SLOW,
    .name = "ordered-list",
    .summary = "one list in order of due tick: the reference",
    .origin = "Varghese and Lauck 1987, scheme 2",
    .description =
        "All pending timers in one doubly linked list, ordered by due tick and then by start. A "
        "start searches from the tail; expiry takes from the head. Its correctness can be seen, "
        "so the others are tested against it. Bad at: starts in the middle of many timers.",
    .differs =
        "nothing that a caller can notice: the paper's list, with the absolute times that it "
        "proposes, linked both ways and searched from the rear.",
    .cost = {.start = "O(n)", .stop = "O(1)", .tick = "O(1)", .expire = "O(1)"},
    .create = ordered_create,
    .reserve = ordered_reserve,
    .start = ordered_start,
    ORDERED_HOOKS,
    NODES_HOOKS,
};
