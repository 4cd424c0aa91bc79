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

#include <inttypes.h>

#include "check.h"
#include "records.h"
#include "walk.h"

/* --- data ------------------------------------------------------------------------------------- */

#define UNLINKED UINT32_MAX
#define HEAD     0u /* the list's own node; timer `id` is node id + 1 */

struct node {
    uint64_t due;
    uint64_t serial; /* of its start: orders ties, and excludes starts in the same advance */
    uint32_t next;
    uint32_t prev;
};

#include "start_order.h"

struct ordered_list {
    struct tl_counters counters;
    const struct tl_allocator *allocator;
    struct node *nodes AND_RECORDS;
    uint32_t capacity;
    uint64_t clock;
    uint64_t serial;
    uint64_t count;
};

#define NODES_FIRST 1u
#define NODE_ARRAY  struct ordered_list
#include "node_array.h"
#define STRUCTURE struct ordered_list
#include "structure.h"

/* --- start and stop --------------------------------------------------------------------------- */

static inline bool is_linked(const struct ordered_list *list, uint32_t index)
{
    return node_at(list, index)->next != UNLINKED;
}

static void unlink_node(struct ordered_list *list, uint32_t index)
{
    struct node *node = node_at(list, index);
    node_at(list, node->prev)->next = node->next;
    node_at(list, node->next)->prev = node->prev;
    node->next = UNLINKED;
    list->count--;
    TL_COUNT(list, moves, 1);
}

static enum tl_status list_start(void *self, uint32_t id, uint64_t deadline)
{
    struct ordered_list *list = self;
    if (is_linked(list, id + 1)) {
        unlink_node(list, id + 1);
    }
    uint64_t due = deadline > list->clock ? deadline : list->clock;
    uint32_t before = node_at(list, HEAD)->prev;
    while (before != HEAD && node_at(list, before)->due > due) {
        TL_COUNT(list, compares, 1);
        before = node_at(list, before)->prev;
    }
    TL_COUNT(list, compares, before != HEAD);
    struct node *node = node_at(list, id + 1);
    *node = (struct node){
        .due = due, .serial = list->serial++, .next = node_at(list, before)->next, .prev = before};
    node_at(list, node->next)->prev = id + 1;
    node_at(list, before)->next = id + 1;
    list->count++;
    TL_COUNT(list, moves, 1);
    return TL_OK;
}

static enum tl_status list_stop(void *self, uint32_t id)
{
    struct ordered_list *list = self;
    if (!is_linked(list, id + 1)) {
        return TL_IDLE;
    }
    unlink_node(list, id + 1);
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

static uint64_t list_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct ordered_list *list = self;
    list->clock = now;
    uint64_t serials = list->serial;
    uint64_t fired = 0;
    while (fired < budget) {
        uint32_t index = node_at(list, HEAD)->next;
        TL_COUNT(list, compares, index != HEAD);
        if (index == HEAD || !is_due(node_at(list, index), now, serials)) {
            break;
        }
        unlink_node(list, index);
        fired++;
        fire(ctx, index - 1, now);
    }
    return fired;
}

static uint64_t list_next(const void *self)
{
    const struct ordered_list *list = self;
    uint32_t index = node_at(list, HEAD)->next;
    return index != HEAD ? node_at(list, index)->due : TL_NEVER;
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status list_reserve(void *self, uint32_t capacity)
{
    return nodes_reserve(self, capacity, UNLINKED - 2,
                         (struct node){.next = UNLINKED, .prev = UNLINKED});
}

static enum tl_status list_create(const struct tl_config *config, void **self)
{
    struct ordered_list empty = {.allocator = config->allocator, .clock = config->now};
    enum tl_status status = structure_create(config, &empty, list_reserve, nodes_destroy, self);
    if (status == TL_OK) {
        struct ordered_list *list = *self;
        *node_at(list, HEAD) = (struct node){.next = HEAD, .prev = HEAD};
    }
    return status;
}

/* --- check and walk --------------------------------------------------------------------------- */

static uint64_t list_count(const void *self)
{
    return nodes_count(self);
}

static void list_counters(const void *self, struct tl_counters *out)
{
    nodes_counters(self, out);
}

static enum tl_status list_check(const void *self, char *why, size_t why_bytes)
{
    const struct ordered_list *list = self;
    uint64_t seen = 0;
    for (uint32_t i = node_at(list, HEAD)->next; i != HEAD; i = node_at(list, i)->next) {
        const struct node *node = node_at(list, i);
        const struct node *next = node_at(list, node->next);
        if (next->prev != i || ++seen > list->count) {
            return corrupt(why, why_bytes, "the links around timer %" PRIu32 " do not agree",
                           i - 1);
        }
        if (node->next != HEAD && is_before(next, node)) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " stands before an earlier one", i - 1);
        }
    }
    if (seen != list->count) {
        return corrupt(why, why_bytes, "%" PRIu64 " timers linked, %" PRIu64 " counted", seen,
                       list->count);
    }
    return TL_OK;
}

static void list_walk(const void *self, const struct tl_visitor *visitor)
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
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT |
                    TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_BASELINE | TL_CAP_SLOW,
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
    .create = list_create,
    .destroy = nodes_destroy,
    .reserve = list_reserve,
    .start = list_start,
    .stop = list_stop,
    .advance = list_advance,
    .next = list_next,
    .count = list_count,
    .counters = list_counters,
    .check = list_check,
    .walk = list_walk,
    .embedded_bytes = EMBEDDED_BYTES(sizeof(struct node)),
    .moved = EMBEDDED_HOOK(nodes_moved),
};
