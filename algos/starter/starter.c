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
 *     advance
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
 * four bytes instead of eight, and the nodes may move. */
enum { PENDING, DUE, FIRST };

struct starter_node {
    uint64_t due;
    uint32_t next;
    uint32_t prev;
};

struct starter_timers {
    struct tl_counters counters; /* optional; what TL_COUNT adds to under -DTL_COUNTERS */
    const struct tl_allocator *allocator;
    struct starter_node heads[FIRST];
    struct starter_node *own; /* the timers' nodes; NULL where they lie in the caller's records */
    char *first;              /* where that of timer 0 is, */
    size_t stride;            /* and how far it is from one to the next */
    bool embedded;            /* they lie in records */
    uint32_t capacity;
    uint64_t clock;
    uint64_t earliest;
    uint64_t count;
};

static inline struct starter_node *starter_at(const struct starter_timers *timers, uint32_t index)
{
    return index < FIRST ? (void *)&timers->heads[index]
                         : (void *)(timers->first + (size_t)(index - FIRST) * timers->stride);
}

static size_t starter_own_bytes(const struct starter_timers *timers, uint32_t capacity)
{
    return timers->embedded ? 0 : capacity * sizeof(struct starter_node);
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

/* Required. Grows, never shrinks; pending timers stay as they are; on failure nothing has changed.
 * Take here all the memory that timers 0 .. capacity-1 will ever need: `start` must not fail. */
static enum tl_status starter_reserve(void *self, uint32_t capacity)
{
    struct starter_timers *timers = self;
    if (capacity <= timers->capacity) {
        return TL_OK;
    }
    if (capacity >= UNLINKED - FIRST) {
        return TL_ERR_CAPACITY;
    }
    if (!timers->embedded) {
        struct starter_node *own = timers->allocator->resize(
            timers->allocator->ctx, timers->own, starter_own_bytes(timers, timers->capacity),
            starter_own_bytes(timers, capacity), alignof(struct starter_node));
        if (own == NULL) {
            return TL_ERR_NOMEM; /* the old block is still whole, and still ours */
        }
        timers->own = own;
        timers->first = (char *)own;
        timers->stride = sizeof *own;
    }
    for (uint32_t id = timers->capacity; id < capacity; id++) {
        *starter_at(timers, id + FIRST) = (struct starter_node){.next = UNLINKED};
    }
    timers->capacity = capacity;
    return TL_OK;
}

/* Optional, with .embedded_bytes; without both, `first` and `stride` become an array, and the
 * address of a node is known a little faster. The caller has a record for each id, a connection
 * say, and our node lies in it: what he reads anyway brings it along. The records have moved with
 * all that is in them, so nothing of ours may name a node by its address. */
static void starter_moved(void *self, const struct tl_records *records)
{
    struct starter_timers *timers = self;
    timers->first = (char *)records->base + records->offset_bytes;
    timers->stride = records->stride_bytes;
    timers->embedded = true;
}

/* Required. All memory comes from config->allocator, and goes back to it with the same size and
 * alignment. config->options is your struct of options, filled in from their table and checked. */
static enum tl_status starter_create(const struct tl_config *config, void **self)
{
    struct starter_timers *timers =
        tl_alloc(config->allocator, sizeof *timers, alignof(struct starter_timers));
    if (timers == NULL) {
        return TL_ERR_NOMEM;
    }
    *timers = (struct starter_timers){
        .allocator = config->allocator, .clock = config->now, .earliest = TL_NEVER};
    for (uint32_t list = PENDING; list < FIRST; list++) {
        timers->heads[list] = (struct starter_node){.next = list, .prev = list};
    }
    if (config->records != NULL) {
        starter_moved(timers, config->records);
    }
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
    tl_free(allocator, timers->own, starter_own_bytes(timers, timers->capacity),
            alignof(struct starter_node));
    tl_free(allocator, timers, sizeof *timers, alignof(struct starter_timers));
}

/* Required. A timer that is not pending is no error: TL_IDLE, and nothing has changed. One that
 * has expired but not been handed out yet is still pending, and can still be stopped. */
static enum tl_status starter_stop(void *self, uint32_t id)
{
    struct starter_timers *timers = self;
    if (starter_at(timers, id + FIRST)->next == UNLINKED) {
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
    starter_at(timers, id + FIRST)->due = due;
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
    while (fired < budget && starter_at(timers, DUE)->next != DUE) {
        uint32_t index = starter_at(timers, DUE)->next;
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
    if (starter_at(timers, DUE)->next != DUE) {
        return timers->clock;
    }
    return starter_at(timers, PENDING)->next != PENDING ? timers->earliest : TL_NEVER;
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

/* Required: all texts, and the hooks that are called so above. Optional besides those: .options, a
 * table of struct tl_option that ends with {0}, with .options_bytes, the size of the struct that it
 * fills in; .precision, for structures that may fire early or
 * late, in place of TL_CAP_EXACT; .walk, what the inside looks like;
 * .differs, in what it is not like its origin; .embedded_bytes and .moved, for timers in the
 * caller's records.
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
    .embedded_bytes = sizeof(struct starter_node),
    .moved = starter_moved,
};
