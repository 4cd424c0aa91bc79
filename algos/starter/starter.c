/*
 * starter: a timer structure that is right, and waits for you to make it fast.
 *
 *   pending <-> [due 20, id 4] <-> [due 3, id 0] <-> [due 8, id 7] <-> pending      in no order
 *   due     <-> [due 2, id 1] <-> due                               expired, not yet handed out
 *
 * All pending timers stand in one doubly linked list, in no order. A start puts the timer at its
 * end. An advance does nothing before the tick `earliest`; from then on it walks the whole list,
 * moves what is due to a second list, and hands that one out, timer by timer.
 *
 * Say here what yours does instead, what it is good at, and what it is bad at. What a reader must
 * know to trust the code are its invariants:
 *   - a timer is in one of the two lists exactly if its `next` is not UNLINKED
 *   - no timer in `pending` is due before the tick `earliest`
 *   - callbacks start timers in `pending` only, so nothing that they start fires in the same
 * advance
 *
 * All hooks, and what each must keep to, are explained in timerlab.h. Here stands which of them you
 * must write (required) and which you may leave out (optional), and what is easily got wrong.
 */
#include <timerlab.h>

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>

#define UNLINKED UINT32_MAX

/* The lists' own nodes; timer `id` is node id + FIRST. Timers are named by index, not by pointer:
 * four bytes instead of eight, and `reserve` may move the array. */
enum { PENDING, DUE, FIRST };

struct starter_node {
    uint64_t due;
    uint32_t next;
    uint32_t prev;
};

struct starter_timers {
    struct tl_counters
        counters; /* optional; TL_COUNT adds to it under -DTL_COUNTERS, else nothing */
    const struct tl_allocator *allocator;
    struct starter_node *nodes; /* capacity + FIRST of them */
    uint32_t capacity;
    uint64_t clock;
    uint64_t earliest;
    uint64_t count;
};

static size_t starter_nodes_bytes(uint32_t capacity)
{
    return ((size_t)capacity + FIRST) * sizeof(struct starter_node);
}

static void starter_unlink(struct starter_timers *timers, uint32_t index)
{
    struct starter_node *node = &timers->nodes[index];
    timers->nodes[node->prev].next = node->next;
    timers->nodes[node->next].prev = node->prev;
    node->next = UNLINKED;
    TL_COUNT(timers, moves, 1);
}

static void starter_append(struct starter_timers *timers, uint32_t list, uint32_t index)
{
    struct starter_node *node = &timers->nodes[index];
    node->prev = timers->nodes[list].prev;
    node->next = list;
    timers->nodes[node->prev].next = index;
    timers->nodes[list].prev = index;
    TL_COUNT(timers, moves, 1);
}

/* Required. Grows, never shrinks; pending timers stay as they are; on failure nothing has changed.
 * Take here all the memory that timers 0 .. capacity-1 will ever need: `start` must not fail. */
static enum tl_status starter_reserve(void *self, uint32_t capacity)
{
    struct starter_timers *timers = self;
    if (timers->nodes != NULL && capacity <= timers->capacity) {
        return TL_OK;
    }
    if (capacity >= UNLINKED - FIRST) {
        return TL_ERR_CAPACITY;
    }
    size_t old_bytes = timers->nodes != NULL ? starter_nodes_bytes(timers->capacity) : 0;
    struct starter_node *nodes =
        timers->allocator->resize(timers->allocator->ctx, timers->nodes, old_bytes,
                                  starter_nodes_bytes(capacity), alignof(struct starter_node));
    if (nodes == NULL) {
        return TL_ERR_NOMEM; /* the old block is still whole, and still ours */
    }
    uint32_t first_new = timers->capacity + FIRST;
    if (timers->nodes == NULL) {
        nodes[PENDING] = (struct starter_node){.next = PENDING, .prev = PENDING};
        nodes[DUE] = (struct starter_node){.next = DUE, .prev = DUE};
        first_new = FIRST;
    }
    for (uint32_t i = first_new; i < capacity + FIRST; i++) {
        nodes[i] = (struct starter_node){.next = UNLINKED};
    }
    timers->nodes = nodes;
    timers->capacity = capacity;
    return TL_OK;
}

/* Required. All memory comes from config->allocator, and goes back to it with the same size and
 * alignment. config->options holds one checked value for each row of your option table. */
static enum tl_status starter_create(const struct tl_config *config, void **self)
{
    struct starter_timers *timers =
        tl_alloc(config->allocator, sizeof *timers, alignof(struct starter_timers));
    if (timers == NULL) {
        return TL_ERR_NOMEM;
    }
    *timers = (struct starter_timers){
        .allocator = config->allocator, .clock = config->now, .earliest = TL_NEVER};
    enum tl_status status = starter_reserve(timers, config->capacity);
    if (status != TL_OK) {
        tl_free(config->allocator, timers, sizeof *timers, alignof(struct starter_timers));
        return status;
    }
    *self = timers;
    return TL_OK;
}

/* Required. Timers may be pending; none fires. */
static void starter_destroy(void *self)
{
    struct starter_timers *timers = self;
    const struct tl_allocator *allocator = timers->allocator;
    tl_free(allocator, timers->nodes, starter_nodes_bytes(timers->capacity),
            alignof(struct starter_node));
    tl_free(allocator, timers, sizeof *timers, alignof(struct starter_timers));
}

/* Required. A timer that is not pending is no error: TL_IDLE, and nothing has changed. One that
 * has expired but not been handed out yet is still pending, and can still be stopped. */
static enum tl_status starter_stop(void *self, uint32_t id)
{
    struct starter_timers *timers = self;
    if (timers->nodes[id + FIRST].next == UNLINKED) {
        return TL_IDLE;
    }
    starter_unlink(timers, id + FIRST);
    timers->count--;
    return TL_OK; /* `earliest` may now be too early, which costs one vain advance and no more */
}

/* Required. Also moves a pending timer. Three things are easily got wrong: the deadline may have
 * passed (the timer is then due now, which means in the next advance); it may be 2^63, so beware of
 * overflow; and if it is beyond your horizon, return TL_ERR_HORIZON before anything has changed. */
static enum tl_status starter_start(void *self, uint32_t id, uint64_t deadline)
{
    struct starter_timers *timers = self;
    (void)starter_stop(timers, id);
    uint64_t due = deadline > timers->clock ? deadline : timers->clock;
    timers->nodes[id + FIRST].due = due;
    starter_append(timers, PENDING, id + FIRST);
    timers->count++;
    if (due < timers->earliest) {
        timers->earliest = due;
    }
    return TL_OK;
}

/* Moves what is due by `now` from one list to the other, and learns when the rest is due. */
static void starter_collect(struct starter_timers *timers, uint64_t now)
{
    timers->earliest = TL_NEVER;
    uint32_t next = timers->nodes[PENDING].next;
    while (next != PENDING) {
        uint32_t index = next;
        next = timers->nodes[index].next;
        TL_COUNT(timers, compares, 1);
        if (timers->nodes[index].due <= now) {
            starter_unlink(timers, index);
            starter_append(timers, DUE, index);
        } else if (timers->nodes[index].due < timers->earliest) {
            timers->earliest = timers->nodes[index].due;
        }
    }
}

/* Required. `now` may stay, go on by one, or jump by years. First collect, then call: a callback
 * may start and stop any timer, so no position in a list can be kept across it, and the timer that
 * it is about must be unlinked before. What the budget leaves over stays in `due` for the next
 * call. */
static uint64_t starter_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    struct starter_timers *timers = self;
    timers->clock = now;
    if (timers->earliest <= now) {
        starter_collect(timers, now);
    }
    uint64_t fired = 0;
    while (fired < budget && timers->nodes[DUE].next != DUE) {
        uint32_t index = timers->nodes[DUE].next;
        starter_unlink(timers, index);
        timers->count--;
        fired++;
        fire(ctx, index - FIRST, now);
    }
    return fired;
}

/* Optional, with TL_CAP_NEXT; without it the structure is driven every tick. Never too late: a
 * program sleeps until then. Too early is allowed if it grows when an advance fired nothing. */
static uint64_t starter_next(const void *self)
{
    const struct starter_timers *timers = self;
    if (timers->nodes[DUE].next != DUE) {
        return timers->clock;
    }
    return timers->nodes[PENDING].next != PENDING ? timers->earliest : TL_NEVER;
}

/* Required. */
static uint64_t starter_count(const void *self)
{
    return ((const struct starter_timers *)self)->count;
}

/* Optional: the work done, in the units of struct tl_counters. */
static void starter_counters(const void *self, struct tl_counters *out)
{
    *out = ((const struct starter_timers *)self)->counters;
}

/* Optional, and worth it: called by the tests, it finds the operation that broke an invariant,
 * where otherwise only a timer is lost much later. */
static enum tl_status starter_check(const void *self, char *why, size_t why_bytes)
{
    const struct starter_timers *timers = self;
    uint64_t seen = 0;
    for (uint32_t list = PENDING; list <= DUE; list++) {
        for (uint32_t i = timers->nodes[list].next; i != list; i = timers->nodes[i].next) {
            const struct starter_node *node = &timers->nodes[i];
            if (timers->nodes[node->next].prev != i || ++seen > timers->count) {
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

/* Required: all texts, and the hooks that are called so above. Optional besides those: .options, a
 * table of struct tl_option that ends with {0}; .precision, for structures that may fire early or
 * late, in place of TL_CAP_EXACT; .place, where a timer sits; .walk, what the inside looks like;
 * .differs, in what it is not like its origin.
 *
 * The capabilities are promises, explained in timerlab.h, and `timerlab check` holds you to them:
 * claim what you keep for every value of every option. */
TL_ALGO(starter) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_SLOW,
    .name = "starter",
    .summary = "one list in no order, walked when something is due",
    .origin = "your name, your paper, or the system that it is from",
    .description =
        "All pending timers in one doubly linked list without order. An advance walks the whole "
        "list if something can be due, and does nothing otherwise. Bad at: many timers.",
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
