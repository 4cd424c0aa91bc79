/*
 * handoff: starts and stops are handed to the advancing thread through two queues.
 *
 * A start or stop writes the timer's wanted state under a short lock and puts its id into a queue;
 * only advance uses the structure. A timer is in each queue at most once: the last wish counts.
 */
#include "front.h"
#include "registry.h"
#include "walk.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>

struct handoff_options {
    uint64_t moved;
    uint64_t pending;
};

enum { BATCH = 64 }; /* timers handed over under one lock */

#define NONE UINT32_MAX

enum which { STARTS, STOPS, QUEUES };

/* The wanted state of a timer, and its place. */
struct wish {
    uint64_t deadline;
    uint32_t next[QUEUES]; /* the one after it in either queue */
    bool in[QUEUES];       /* it waits there */
    bool pending;          /* started, and neither stopped nor fired */
    bool filed;            /* the structure holds it, possibly under an earlier deadline */
};

struct queue {
    uint32_t first;
    uint32_t last;
};

struct handoff {
    const struct tl_algo *inner;
    void *self;
    const struct tl_allocator *allocator;
    struct wish *wishes; /* by id; guarded by `mutex`, like all up to it */
    struct queue queues[QUEUES];
    uint64_t count;        /* timers pending */
    pthread_mutex_t *lock; /* `mutex`, for hooks with a const self */
    pthread_mutex_t mutex;
    pthread_mutex_t
        advancing; /* guards the structure and the members below; locked before `mutex` */
    uint64_t clock;
    uint64_t refused; /* starts that the structure has refused, against its promise */
    uint32_t capacity;
    uint64_t moved_a_tick;
    uint64_t capacity_max;
    tl_fire_fn fire; /* of the running advance */
    void *fire_ctx;
    uint64_t fired;
};

/* --- queues ---------------------------------------------------------------------------------- */

static void append(struct handoff *handoff, enum which which, uint32_t id)
{
    struct queue *queue = &handoff->queues[which];
    handoff->wishes[id].in[which] = true;
    handoff->wishes[id].next[which] = NONE;
    if (queue->first == NONE) {
        queue->first = id;
    } else {
        handoff->wishes[queue->last].next[which] = id;
    }
    queue->last = id;
}

/* Take the first timer out of a queue that is not empty. */
static uint32_t take_first(struct handoff *handoff, enum which which)
{
    uint32_t id = handoff->queues[which].first;
    handoff->queues[which].first = handoff->wishes[id].next[which];
    handoff->wishes[id].in[which] = false;
    return id;
}

/* --- start, stop, count: any thread ---------------------------------------------------------- */

static enum tl_status handoff_start(void *self, uint32_t id, uint64_t deadline)
{
    struct handoff *handoff = self;
    (void)pthread_mutex_lock(handoff->lock);
    struct wish *wish = &handoff->wishes[id];
    handoff->count += wish->pending ? 0 : 1;
    wish->pending = true;
    wish->deadline = deadline;
    if (!wish->in[STARTS]) {
        append(handoff, STARTS, id);
    }
    (void)pthread_mutex_unlock(handoff->lock);
    return TL_OK;
}

static enum tl_status handoff_stop(void *self, uint32_t id)
{
    struct handoff *handoff = self;
    (void)pthread_mutex_lock(handoff->lock);
    struct wish *wish = &handoff->wishes[id];
    enum tl_status status = wish->pending ? TL_OK : TL_IDLE;
    if (wish->pending) {
        wish->pending = false;
        handoff->count--;
        if (wish->filed && !wish->in[STOPS]) {
            append(handoff, STOPS, id);
        }
    }
    (void)pthread_mutex_unlock(handoff->lock);
    return status;
}

static uint64_t handoff_count(const void *self)
{
    const struct handoff *handoff = self;
    (void)pthread_mutex_lock(handoff->lock);
    uint64_t count = handoff->count;
    (void)pthread_mutex_unlock(handoff->lock);
    return count;
}

/* --- advance: one at a time ------------------------------------------------------------------ */

/* Take all stopped timers out of the structure. */
static void apply_stops(struct handoff *handoff)
{
    for (bool more = true; more;) {
        uint32_t ids[BATCH];
        uint32_t count = 0;
        (void)pthread_mutex_lock(handoff->lock);
        while (count < BATCH && handoff->queues[STOPS].first != NONE) {
            uint32_t id = take_first(handoff, STOPS);
            struct wish *wish = &handoff->wishes[id];
            /* Started again since, it has been moved or will be. */
            if (wish->filed && !wish->pending) {
                wish->filed = false;
                ids[count++] = id;
            }
        }
        more = handoff->queues[STOPS].first != NONE;
        (void)pthread_mutex_unlock(handoff->lock);
        for (uint32_t i = 0; i < count; i++) {
            (void)handoff->inner->stop(handoff->self, ids[i]);
        }
    }
}

/* File up to `limit` started timers. Those stopped meanwhile count too. */
static void apply_starts(struct handoff *handoff, uint64_t limit)
{
    for (bool more = true; more && limit > 0;) {
        uint32_t ids[BATCH];
        uint64_t deadlines[BATCH];
        uint32_t count = 0;
        (void)pthread_mutex_lock(handoff->lock);
        for (uint32_t i = 0; i < BATCH && limit > 0 && handoff->queues[STARTS].first != NONE; i++) {
            uint32_t id = take_first(handoff, STARTS);
            struct wish *wish = &handoff->wishes[id];
            limit--;
            if (wish->pending) {
                wish->filed = true;
                ids[count] = id;
                deadlines[count++] = wish->deadline;
            }
        }
        more = handoff->queues[STARTS].first != NONE;
        (void)pthread_mutex_unlock(handoff->lock);
        for (uint32_t i = 0; i < count; i++) {
            if (handoff->inner->start(handoff->self, ids[i], deadlines[i]) != TL_OK) {
                handoff->refused++;
            }
        }
    }
}

/* Call back for a timer that the structure has fired, unless it was stopped or started again since it
 * was filed. */
static void fire_if_wanted(void *ctx, uint32_t id, uint64_t now)
{
    struct handoff *handoff = ctx;
    (void)pthread_mutex_lock(handoff->lock);
    struct wish *wish = &handoff->wishes[id];
    wish->filed = false;
    bool wanted = wish->pending && !wish->in[STARTS];
    if (wanted) {
        wish->pending = false;
        handoff->count--;
    }
    (void)pthread_mutex_unlock(handoff->lock);
    if (wanted) {
        handoff->fired++;
        handoff->fire(handoff->fire_ctx, id, now);
    }
}

static uint64_t handoff_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    struct handoff *handoff = self;
    (void)pthread_mutex_lock(&handoff->advancing);
    uint64_t ticks = now > handoff->clock ? now - handoff->clock : 1;
    uint64_t limit = 0;
    if (__builtin_mul_overflow(ticks, handoff->moved_a_tick, &limit)) {
        limit = UINT64_MAX;
    }
    apply_stops(handoff);
    apply_starts(handoff, limit);
    handoff->clock = now;
    handoff->fire = fire;
    handoff->fire_ctx = ctx;
    handoff->fired = 0;
    /* Timers that are no longer wanted use up the structure's budget, but not the caller's. */
    uint64_t left = budget;
    uint64_t taken = 0;
    do {
        taken = handoff->inner->advance(handoff->self, now, left, fire_if_wanted, handoff);
        bool full = budget != TL_NO_BUDGET && taken == left;
        left = full ? budget - handoff->fired : 0;
    } while (left > 0 && taken > 0);
    uint64_t fired = handoff->fired;
    (void)pthread_mutex_unlock(&handoff->advancing);
    return fired;
}

/* --- the rest: alone ------------------------------------------------------------------------- */

static enum tl_status grow(struct handoff *handoff, uint32_t capacity)
{
    if (capacity > handoff->capacity_max) {
        return TL_ERR_CAPACITY;
    }
    if (capacity <= handoff->capacity) {
        return TL_OK;
    }
    size_t old_bytes = handoff->capacity * sizeof *handoff->wishes;
    struct wish *wishes =
        handoff->allocator->resize(handoff->allocator->ctx, handoff->wishes, old_bytes,
                                   capacity * sizeof *wishes, alignof(struct wish));
    if (wishes == NULL) {
        return TL_ERR_NOMEM;
    }
    for (uint32_t id = handoff->capacity; id < capacity; id++) {
        wishes[id] = (struct wish){.next = {NONE, NONE}};
    }
    handoff->wishes = wishes;
    handoff->capacity = capacity;
    return TL_OK;
}

static void free_front(struct handoff *handoff)
{
    const struct tl_allocator *allocator = handoff->allocator;
    (void)pthread_mutex_destroy(handoff->lock);
    (void)pthread_mutex_destroy(&handoff->advancing);
    tl_free(allocator, handoff->wishes, handoff->capacity * sizeof *handoff->wishes,
            alignof(struct wish));
    tl_free(allocator, handoff, sizeof *handoff, alignof(struct handoff));
}

static enum tl_status handoff_create(const struct tl_algo *inner, const void *given,
                                     const struct tl_config *config, void **self)
{
    const struct handoff_options *own = given;
    struct handoff *handoff = tl_alloc(config->allocator, sizeof *handoff, alignof(struct handoff));
    if (handoff == NULL) {
        return TL_ERR_NOMEM;
    }
    *handoff = (struct handoff){.inner = inner,
                                .allocator = config->allocator,
                                .queues = {{NONE, NONE}, {NONE, NONE}},
                                .clock = config->now,
                                .moved_a_tick = own->moved,
                                .capacity_max = own->pending};
    handoff->lock = &handoff->mutex;
    (void)pthread_mutex_init(handoff->lock, NULL);
    (void)pthread_mutex_init(&handoff->advancing, NULL);
    enum tl_status status = grow(handoff, config->capacity);
    if (status == TL_OK) {
        status = inner->create(config, &handoff->self);
    }
    if (status != TL_OK) {
        free_front(handoff);
        return status;
    }
    *self = handoff;
    return TL_OK;
}

static void handoff_destroy(void *self)
{
    struct handoff *handoff = self;
    handoff->inner->destroy(handoff->self);
    free_front(handoff);
}

static enum tl_status handoff_reserve(void *self, uint32_t capacity)
{
    struct handoff *handoff = self;
    if (capacity > handoff->capacity_max) {
        return TL_ERR_CAPACITY;
    }
    enum tl_status status = handoff->inner->reserve(handoff->self, capacity);
    return status == TL_OK ? grow(handoff, capacity) : status;
}

static void handoff_counters(const void *self, struct tl_counters *out)
{
    const struct handoff *handoff = self;
    handoff->inner->counters(handoff->self, out);
}

static enum tl_status handoff_check(const void *self, char *why, size_t why_bytes)
{
    const struct handoff *handoff = self;
    uint64_t pending = 0;
    uint64_t filed = 0;
    for (uint32_t id = 0; id < handoff->capacity; id++) {
        const struct wish *wish = &handoff->wishes[id];
        pending += wish->pending ? 1 : 0;
        filed += wish->filed ? 1 : 0;
        if (wish->pending && !wish->filed && !wish->in[STARTS]) {
            return corrupt(why, why_bytes, "timer %u is pending, but neither queued nor filed",
                           (unsigned)id);
        }
    }
    if (pending != handoff->count || handoff->refused > 0 ||
        filed != handoff->inner->count(handoff->self)) {
        (void)snprintf(why, why_bytes,
                       "counts differ: %llu timers pending, counted %llu; %llu filed, counted "
                       "%llu; %llu refused",
                       (unsigned long long)pending, (unsigned long long)handoff->count,
                       (unsigned long long)filed,
                       (unsigned long long)handoff->inner->count(handoff->self),
                       (unsigned long long)handoff->refused);
        return TL_ERR_CORRUPT;
    }
    return handoff->inner->check(handoff->self, why, why_bytes);
}

/* --- promises -------------------------------------------------------------------------------- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* A start waits after at most all other timers. While it does, its delay grows shorter. */
static struct tl_precision handoff_precision(const struct tl_algo *inner, const void *given,
                                             const void *options, uint64_t delay_ticks)
{
    const struct handoff_options *own = given;
    uint64_t wait = (own->pending - 1) / own->moved;
    struct tl_precision precision = tl_algo_precision(inner, options, delay_ticks);
    if (wait == 0) {
        return precision;
    }
    uint64_t shortest = delay_ticks > wait ? delay_ticks - wait : 0;
    struct tl_precision delayed = tl_algo_precision(inner, options, shortest);
    /* The first advance after the start hands it over, or one up to `wait` ticks later. */
    uint64_t waited = wait + 1 > delay_ticks ? wait + 1 - delay_ticks : 0;
    return (struct tl_precision){
        .early_ticks = larger(precision.early_ticks, delayed.early_ticks),
        .late_ticks = larger(precision.late_ticks, delayed.late_ticks + waited),
    };
}

static const struct tl_option handoff_option_table[] = {
    {"moved", TL_U64(struct handoff_options, moved), 100000, 1, UINT32_MAX, NULL,
     "starts that a tick's advance hands to the structure at most"},
    {"pending", TL_U64(struct handoff_options, pending), INT64_C(1) << 24, INT64_C(1) << 20,
     UINT32_MAX, NULL,
     "timers that it can name at most, which bounds how long a start may wait: "
     "pending / moved ticks"},
    {0},
};

const struct tl_front tl_front_handoff = {
    .name = "handoff",
    .summary = "with queues that the advancing thread empties",
    .origin = "Netty's and Dubbo's HashedWheelTimer: 100,000 moved a tick, a queue of cancelled "
              "timers",
    .description =
        "The structure belongs to the one thread that advances it. Other threads record a start or "
        "stop under a short lock and put the timer into a queue, so they never wait for an "
        "advance. Each advance first removes the stopped timers, then starts the queued ones, up "
        "to a limit per tick, and then lets the structure fire. The structure therefore sees a "
        "start at the next tick; in a burst of starts a timer may be late by the ticks that it "
        "waits in the queue. It must be driven tick by tick, because queued timers have no next "
        "tick. A queued start cannot be refused, so the structure must have no horizon and no "
        "limit on pending timers. A restarted timer keeps its place in the queue. A timer takes 24 "
        "bytes in addition to those of the structure. Netty's queues are without locks and take a "
        "new object for each start; Dubbo's have locks as here.",
    .options = handoff_option_table,
    .options_bytes = sizeof(struct handoff_options),
    .adds = TL_CAP_CONCURRENT,
    .needs = TL_CAP_UNLIMITED,
    .bars = TL_CAP_REFUSES,
    .keeps = TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_ALLOCATES | TL_CAP_BASELINE |
             TL_CAP_FIRES_NOTHING | TL_CAP_SLOW | TL_CAP_OWN_MEMORY,
    .precision = handoff_precision,
    .create = handoff_create,
    .hooks =
        {
            .destroy = handoff_destroy,
            .reserve = handoff_reserve,
            .start = handoff_start,
            .stop = handoff_stop,
            .advance = handoff_advance,
            .count = handoff_count,
            .counters = handoff_counters,
            .check = handoff_check,
        },
};
