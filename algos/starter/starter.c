/*
 * starter: a correct timer structure, to start your own from.
 *
 *   pending <-> [due 20, id 4] <-> [due 3, id 0] <-> [due 8, id 7] <-> pending      in no order
 *   due     <-> [due 2, id 1] <-> due                               expired, not fired yet
 *
 * All pending timers are in one doubly linked list, in no order. start(2, 5) appends timer 2 to it,
 * and stop(7) unlinks timer 7. advance(3) walks the whole list, moves the expired timers to a
 * second list, and fires those. An advance before the tick `earliest` does nothing.
 *
 * Describe your structure here, with a picture and an example, and then:
 *
 * Invariants
 *   - a timer is in one of the two lists exactly if its `next` is not UNLINKED
 *   - no timer in `pending` is due before the tick `earliest`
 *   - callbacks start timers in `pending` only, so that these do not fire in the same advance
 *
 * Complexity: start and stop O(1), a tick O(1), expiry O(n). Use it for few timers. Bad at: more.
 *
 * timerlab.h explains all hooks. The comments below name the required ones and common mistakes.
 */
#include <timerlab.h>

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>

#define UNLINKED UINT32_MAX

/* The heads of the two lists; timer `id` is node id + FIRST. Links are indices instead of pointers:
 * four bytes instead of eight, and the nodes may move. */
enum { PENDING, DUE, FIRST };

struct starter_node {
    uint64_t due;
    uint32_t next;
    uint32_t prev;
};

struct starter_timers {
    struct tl_counters counters; /* optional: TL_COUNT adds to them under -DTL_COUNTERS */
    const struct tl_allocator *allocator;
    struct starter_node *nodes;
    uint32_t capacity;
    uint64_t clock;
    uint64_t earliest;
    uint64_t count;
};

static inline struct starter_node *starter_at(const struct starter_timers *timers, uint32_t index)
{
    return &timers->nodes[index];
}

static void starter_unlink(struct starter_timers *timers, uint32_t index)
{
    struct starter_node *node = starter_at(timers, index);
    starter_at(timers, node->prev)->next = node->next;
    starter_at(timers, node->next)->prev = node->prev;
    node->next = UNLINKED;
    TL_COUNT(timers, moves, 1);
}

static void starter_append(struct starter_timers *timers, uint32_t list, uint32_t index)
{
    struct starter_node *node = starter_at(timers, index);
    node->prev = starter_at(timers, list)->prev;
    node->next = list;
    starter_at(timers, node->prev)->next = index;
    starter_at(timers, list)->prev = index;
    TL_COUNT(timers, moves, 1);
}

/* Required. A timer that is not pending is no error: return TL_IDLE and change nothing. A timer
 * that has expired but not fired yet is still pending. */
static enum tl_status starter_stop(void *self, uint32_t id)
{
    struct starter_timers *timers = self;
    if (starter_at(timers, id + FIRST)->next == UNLINKED) {
        return TL_IDLE;
    }
    starter_unlink(timers, id + FIRST);
    timers->count--;
    return TL_OK; /* `earliest` may now be too early, which costs one vain advance */
}

/* Required. Also moves a pending timer. Note: the deadline may have passed (the timer is then due
 * in the next advance); it may be 2^63 (beware of overflow); if it is beyond your horizon, return
 * TL_ERR_HORIZON before you change anything. */
static enum tl_status starter_start(void *self, uint32_t id, uint64_t deadline)
{
    struct starter_timers *timers = self;
    (void)starter_stop(timers, id);
    uint64_t due = deadline > timers->clock ? deadline : timers->clock;
    starter_at(timers, id + FIRST)->due = due;
    starter_append(timers, PENDING, id + FIRST);
    timers->count++;
    if (due < timers->earliest) {
        timers->earliest = due;
    }
    return TL_OK;
}

/* Moves the expired timers from one list to the other, and computes `earliest` of the rest. */
static void starter_collect(struct starter_timers *timers, uint64_t now)
{
    timers->earliest = TL_NEVER;
    uint32_t next = starter_at(timers, PENDING)->next;
    while (next != PENDING) {
        uint32_t index = next;
        next = starter_at(timers, index)->next;
        TL_COUNT(timers, compares, 1);
        if (starter_at(timers, index)->due <= now) {
            starter_unlink(timers, index);
            starter_append(timers, DUE, index);
        } else if (starter_at(timers, index)->due < timers->earliest) {
            timers->earliest = starter_at(timers, index)->due;
        }
    }
}

/* Required. `now` may stay, grow by one, or jump by years. Collect first and call back later: a
 * callback may start and stop any timer, so that no position in a list is valid after it, and its
 * own timer must not be pending any more. Timers above the budget stay in `due` for the next call.
 * */
static uint64_t starter_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    struct starter_timers *timers = self;
    timers->clock = now;
    if (timers->earliest <= now) {
        starter_collect(timers, now);
    }
    uint64_t fired = 0;
    while (fired < budget && starter_at(timers, DUE)->next != DUE) {
        uint32_t index = starter_at(timers, DUE)->next;
        starter_unlink(timers, index);
        timers->count--;
        fired++;
        fire(ctx, index - FIRST, now);
    }
    return fired;
}

/* Optional, with TL_CAP_NEXT; without it the structure is driven at every tick. A program sleeps
 * until this tick, so it must not be too late. It may be too early if it grows after an advance
 * without expiries. */
static uint64_t starter_next(const void *self)
{
    const struct starter_timers *timers = self;
    if (starter_at(timers, DUE)->next != DUE) {
        return timers->clock;
    }
    return starter_at(timers, PENDING)->next != PENDING ? timers->earliest : TL_NEVER;
}

static size_t starter_bytes(uint32_t capacity)
{
    return ((size_t)FIRST + capacity) * sizeof(struct starter_node);
}

/* Required. Grow only; pending timers stay as they are; on failure change nothing. Allocate all
 * memory for the timers 0 .. capacity-1 here, because `start` must not fail. */
static enum tl_status starter_reserve(void *self, uint32_t capacity)
{
    struct starter_timers *timers = self;
    if (capacity <= timers->capacity) {
        return TL_OK;
    }
    if (capacity >= UNLINKED - FIRST) {
        return TL_ERR_CAPACITY;
    }
    struct starter_node *nodes = timers->allocator->resize(
        timers->allocator->ctx, timers->nodes, starter_bytes(timers->capacity),
        starter_bytes(capacity), alignof(struct starter_node));
    if (nodes == NULL) {
        return TL_ERR_NOMEM; /* the old block is unchanged */
    }
    timers->nodes = nodes;
    for (uint32_t id = timers->capacity; id < capacity; id++) {
        nodes[id + FIRST] = (struct starter_node){.next = UNLINKED};
    }
    timers->capacity = capacity;
    return TL_OK;
}

/* Required. Timers may be pending; none fires. */
static void starter_destroy(void *self)
{
    struct starter_timers *timers = self;
    const struct tl_allocator *allocator = timers->allocator;
    tl_free(allocator, timers->nodes, starter_bytes(timers->capacity),
            alignof(struct starter_node));
    tl_free(allocator, timers, sizeof *timers, alignof(struct starter_timers));
}

/* Required. Take all memory from config->allocator, and return it with the same size and alignment.
 * config->options is your struct of options, filled in from the table .options and checked. */
static enum tl_status starter_create(const struct tl_config *config, void **self)
{
    struct starter_timers *timers =
        tl_alloc(config->allocator, sizeof *timers, alignof(struct starter_timers));
    if (timers == NULL) {
        return TL_ERR_NOMEM;
    }
    *timers = (struct starter_timers){
        .allocator = config->allocator, .clock = config->now, .earliest = TL_NEVER};
    timers->nodes = tl_alloc(config->allocator, starter_bytes(0), alignof(struct starter_node));
    enum tl_status status =
        timers->nodes == NULL ? TL_ERR_NOMEM : starter_reserve(timers, config->capacity);
    if (status != TL_OK) {
        starter_destroy(timers);
        return status;
    }
    for (uint32_t list = PENDING; list < FIRST; list++) {
        timers->nodes[list] = (struct starter_node){.next = list, .prev = list};
    }
    *self = timers;
    return TL_OK;
}

/* Required. */
static uint64_t starter_count(const void *self)
{
    return ((const struct starter_timers *)self)->count;
}

/* Optional: the work done. */
static void starter_counters(const void *self, struct tl_counters *out)
{
    *out = ((const struct starter_timers *)self)->counters;
}

/* Optional, and useful: the tests call it after each operation, and so find the one that broke an
 * invariant. */
static enum tl_status starter_check(const void *self, char *why, size_t why_bytes)
{
    const struct starter_timers *timers = self;
    uint64_t seen = 0;
    for (uint32_t list = PENDING; list <= DUE; list++) {
        for (uint32_t i = starter_at(timers, list)->next; i != list;
             i = starter_at(timers, i)->next) {
            const struct starter_node *node = starter_at(timers, i);
            if (starter_at(timers, node->next)->prev != i || ++seen > timers->count) {
                (void)snprintf(why, why_bytes, "the links around timer %" PRIu32 " do not agree",
                               i - FIRST);
                return TL_ERR_CORRUPT;
            }
            if (list == PENDING && node->due < timers->earliest) {
                (void)snprintf(why, why_bytes,
                               "timer %" PRIu32 " is due at %" PRIu64
                               ", before the earliest, %" PRIu64,
                               i - FIRST, node->due, timers->earliest);
                return TL_ERR_CORRUPT;
            }
        }
    }
    if (seen != timers->count) {
        (void)snprintf(why, why_bytes, "%" PRIu64 " timers linked, %" PRIu64 " counted", seen,
                       timers->count);
        return TL_ERR_CORRUPT;
    }
    return TL_OK;
}

/* Required: the texts and the hooks marked so above. Optional: .options, a table of struct
 * tl_option that ends with {0}, and .options_bytes; .precision instead of TL_CAP_EXACT, for
 * structures that fire early or late; .walk, to show the inside; .differs, the differences from the
 * origin; .embedded_bytes and .moved, for timers in the caller's records.
 *
 * `timerlab check` tests every capability declared here, with every value of every option. */
TL_ALGO(starter) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_SLOW,
    .name = "starter",
    .summary = "one list in no order, walked when a timer is due",
    .origin = "your name, your paper, or the system that it is from",
    .description =
        "All pending timers in one doubly linked list without order. An advance walks the whole "
        "list if a timer can be due, and does nothing otherwise. Bad at: many timers.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(n)"},
    .create = starter_create,
    .destroy = starter_destroy,
    .reserve = starter_reserve,
    .start = starter_start,
    .stop = starter_stop,
    .advance = starter_advance,
    .next = starter_next,
    .count = starter_count,
    .counters = starter_counters,
    .check = starter_check,
};
