/*
 * ladder-queue: Tang, Goh and Thng's queue, which sorts late: far timers in no order, near ones in
 * buckets.
 *
 *   TOP       all timers due at or after top_start, in no order
 *   rung 0    |   .   |   .   |  14   |  230  |   9   | ...      a bucket for each timer of TOP
 *                                 ^ dealt out: 1 bucket of rung 0 is all of rung 1
 *   rung 1    | . | . | 7 | 3 | ...                              50 buckets
 *                       ^ current: the next to become the bottom
 *   BOTTOM    due 803, 803, 807, 811                             in order; fires from here
 *
 * start(a) with a far deadline appends a to TOP, or to its bucket of a rung: a division and an
 * append. A near one searches its place in BOTTOM. advance fires from the beginning of BOTTOM. When
 * that is empty, the next bucket of the last rung is sorted and becomes the bottom; with more than 50
 * timers it is dealt out into a rung of 50 finer buckets, up to eight rungs. stop(a) unlinks a.
 *
 * A calendar queue has one length of day for all timers; a ladder refines only crowded buckets. When
 * all rungs are used, TOP becomes the first one, with as many buckets as timers. A bottom with more
 * than 50 timers becomes a rung.
 *
 * Ticks are integers here: a bucket of one tick needs no sorting. All buckets are allocated by
 * `reserve`: one for each id in the first rung, 50 in the others. A timer that is due at its start
 * goes to the list LATE, and to the bottom in the next advance. `next` is a lower bound if the bottom
 * is empty: the start of the first bucket with timers.
 *
 * Invariants
 *   - a timer due at or after top_start is in TOP; else it is in the first rung with a `current`
 *     not after its tick; else it is in BOTTOM
 *   - `current` never increases from rung to rung; a rung ends at the `current` of the rung before,
 *     or at top_start
 *   - every list keeps equal ticks in order of start; BOTTOM is in order
 *   - the lists together hold exactly the pending timers
 *
 * Complexity: start, stop, expiry O(1) amortised, a tick O(1). Use it for simulations with an
 * unknown or changing distribution. Bad at: the advance in which TOP, with all its timers, becomes
 * a rung; many timers in few ticks that eight rungs cannot separate, which are sorted at once.
 *
 * Source: W. T. Tang, R. S. M. Goh, I. L.-J. Thng, "Ladder queue: an O(1) priority queue structure
 * for large-scale discrete event simulation", ACM TOMACS 15(3), 2005 (THRES 50, eight rungs).
 */
#include "timerlab.h"

#include "records.h"

/* --- data ------------------------------------------------------------------------------------- */

#define TOP         (HEAD_BIT + 1)
#define BOTTOM      (HEAD_BIT + 2)
#define SMALL_RUNGS (HEAD_BIT + 3) /* buckets of rung 1 and further; then those of rung 0 */
#define THRESHOLD   50u
#define RUNGS_MAX   8u
#define FIRST_RUNG  (SMALL_RUNGS + (RUNGS_MAX - 1) * THRESHOLD)
#define BINS        32u

struct rung {
    uint64_t start;
    uint64_t current; /* where its first bucket that is still there starts */
    uint64_t width;   /* ticks a bucket */
    uint32_t bucket;  /* the number of that bucket */
    uint32_t buckets;
    uint32_t first; /* list of bucket 0 */
};

struct ladder_queue {
    struct timer *timers AND_RECORDS;
    struct node *heads; /* LATE, TOP, BOTTOM, the buckets; in one block after the timers */
    uint32_t capacity;
    uint32_t rung_count;
    struct rung rungs[RUNGS_MAX]; /* the finest last */
    uint64_t top_start;
    uint64_t top_count;
    uint64_t top_earliest; /* no timer in TOP is due before, or after top_latest */
    uint64_t top_latest;
    uint64_t bottom_count;
    uint64_t count;
    uint64_t clock;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#define STRUCTURE          struct ladder_queue
#define HEADS_OF(capacity) (FIRST_RUNG - HEAD_BIT + (capacity))
#include "timer_lists.h"

/* --- data: rungs ------------------------------------------------------------------------------ */

/* Return the list of a tick. */
static uint32_t list_of(const struct ladder_queue *queue, uint64_t due)
{
    if (due >= queue->top_start) {
        return TOP;
    }
    for (uint32_t i = 0; i < queue->rung_count; i++) {
        const struct rung *rung = &queue->rungs[i];
        if (due >= rung->current) {
            return rung->first + (uint32_t)((due - rung->start) / rung->width);
        }
    }
    return BOTTOM;
}

/* Return the end of the time of rung `i`, and, with the number of rungs, of BOTTOM's. The last bucket
 * of a rung may reach further. */
static inline uint64_t end_of(const struct ladder_queue *queue, uint32_t i)
{
    return i > 0 ? queue->rungs[i - 1].current : queue->top_start;
}

/* Pass to the next bucket of the last rung. */
static inline void pass_bucket(struct ladder_queue *queue)
{
    struct rung *rung = &queue->rungs[queue->rung_count - 1];
    uint64_t end = end_of(queue, queue->rung_count - 1);
    rung->bucket++;
    rung->current = rung->current + rung->width < end ? rung->current + rung->width : end;
    TL_COUNT(queue, slots, 1);
}

/* Add a rung for the ticks from `start` to before `end`, in buckets of `width`, all empty. */
static void add_rung(struct ladder_queue *queue, uint64_t start, uint64_t end, uint64_t width)
{
    uint32_t i = queue->rung_count++;
    queue->rungs[i] = (struct rung){
        .start = start,
        .current = start,
        .width = width,
        .buckets = (uint32_t)((end - start + width - 1) / width),
        .first = i == 0 ? FIRST_RUNG : SMALL_RUNGS + (i - 1) * THRESHOLD,
    };
    for (uint32_t bucket = 0; bucket < queue->rungs[i].buckets; bucket++) {
        slot_clear(queue, queue->rungs[i].first + bucket);
    }
    TL_COUNT(queue, slots, queue->rungs[i].buckets);
}

/* Deal the timers of a list into the last rung. */
static void deal_out(struct ladder_queue *queue, uint32_t list)
{
    const struct rung *rung = &queue->rungs[queue->rung_count - 1];
    uint32_t id = slot_node(queue, list)->next;
    slot_clear(queue, list);
    while (id != list) {
        uint32_t next = timer_next(queue, id);
        uint64_t bucket = (timer_at(queue, id)->due - rung->start) / rung->width;
        slot_append(queue, rung->first + (uint32_t)bucket, id);
        TL_COUNT(queue, moves, 1);
        TL_COUNT(queue, cascades, 1);
        id = next;
    }
}

/* Make a rung of a BOTTOM that is too long, unless all its timers are due at one tick. */
static void raise_bottom(struct ladder_queue *queue)
{
    uint64_t start = timer_at(queue, slot_node(queue, BOTTOM)->next)->due;
    uint64_t last = timer_at(queue, slot_node(queue, BOTTOM)->prev)->due;
    if (queue->rung_count == RUNGS_MAX || start == last) {
        return;
    }
    uint64_t end = end_of(queue, queue->rung_count);
    add_rung(queue, start, end, (end - start + THRESHOLD - 1) / THRESHOLD);
    deal_out(queue, BOTTOM);
    queue->bottom_count = 0;
}

/* --- start and stop --------------------------------------------------------------------------- */

static void queue_file(struct ladder_queue *queue, uint32_t id)
{
    uint64_t due = timer_at(queue, id)->due;
    uint32_t list = list_of(queue, due);
    TL_COUNT(queue, moves, 1);
    if (list == TOP) {
        if (queue->top_count++ == 0) {
            queue->top_earliest = due;
            queue->top_latest = due;
        }
        queue->top_earliest = due < queue->top_earliest ? due : queue->top_earliest;
        queue->top_latest = due > queue->top_latest ? due : queue->top_latest;
    } else if (list == BOTTOM) {
        uint32_t last = slot_node(queue, BOTTOM)->prev;
        while (last != BOTTOM && timer_at(queue, last)->due > due) {
            TL_COUNT(queue, compares, 1);
            last = timer_at(queue, last)->links.prev;
        }
        TL_COUNT(queue, compares, last != BOTTOM);
        list = slot_node(queue, last)->next; /* its end is the place */
    }
    slot_append(queue, list, id);
    bool in_bottom = due < end_of(queue, queue->rung_count);
    queue->bottom_count += in_bottom;
    if (in_bottom && queue->bottom_count > THRESHOLD) {
        raise_bottom(queue);
    }
}

static void queue_take(struct ladder_queue *queue, uint32_t id)
{
    uint64_t due = timer_at(queue, id)->due;
    slot_remove(queue, id);
    if (due >= queue->top_start) {
        queue->top_count -= due != TL_NEVER; /* else it was in LATE */
    } else if (due < end_of(queue, queue->rung_count)) {
        queue->bottom_count--;
    }
    TL_COUNT(queue, moves, 1);
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Merge two chains, linked by `next` up to SLOT_NONE; of equal ticks, those of `a` come first. */
static uint32_t merge(struct ladder_queue *queue, uint32_t a, uint32_t b)
{
    uint32_t chain = SLOT_NONE;
    uint32_t *end = &chain;
    while (a != SLOT_NONE && b != SLOT_NONE) {
        TL_COUNT(queue, compares, 1);
        uint32_t *first = timer_at(queue, b)->due < timer_at(queue, a)->due ? &b : &a;
        *end = *first;
        end = &timer_at(queue, *first)->links.next;
        *first = *end;
    }
    *end = a != SLOT_NONE ? a : b;
    return chain;
}

/* Sort a bucket's timers, equal ticks in their order, into BOTTOM, which is empty. */
static void sort_to_bottom(struct ladder_queue *queue, uint32_t list)
{
    uint32_t bins[BINS]; /* bin i: a sorted chain of 2 to the power of i, or none */
    memset(bins, 0xff, sizeof bins);
    uint32_t id = slot_node(queue, list)->next;
    slot_clear(queue, list);
    while (id != list) {
        uint32_t chain = id;
        id = timer_at(queue, id)->links.next;
        timer_at(queue, chain)->links.next = SLOT_NONE;
        uint32_t i = 0;
        for (; bins[i] != SLOT_NONE; i++) {
            chain = merge(queue, bins[i], chain);
            bins[i] = SLOT_NONE;
        }
        bins[i] = chain;
    }
    uint32_t chain = SLOT_NONE;
    for (uint32_t i = 0; i < BINS; i++) {
        chain = merge(queue, bins[i], chain);
    }
    for (uint32_t next; chain != SLOT_NONE; chain = next) {
        next = timer_at(queue, chain)->links.next;
        slot_append(queue, BOTTOM, chain);
        queue->bottom_count++;
        TL_COUNT(queue, moves, 1);
        TL_COUNT(queue, cascades, 1);
    }
}

/* Make the first rung of TOP's timers. */
static void lower_top(struct ladder_queue *queue)
{
    uint64_t span = queue->top_latest - queue->top_earliest + 1;
    uint64_t width = (span + queue->top_count - 1) / queue->top_count;
    add_rung(queue, queue->top_earliest, queue->top_latest + 1, width);
    const struct rung *rung = &queue->rungs[0];
    queue->top_start = rung->start + rung->width * rung->buckets;
    deal_out(queue, TOP);
    queue->top_count = 0;
}

/* Do a step that may fill BOTTOM, which is empty. False: no timer is due by the clock. */
static bool refill(struct ladder_queue *queue)
{
    if (queue->rung_count == 0) {
        queue->top_start = queue->top_count > 0 ? queue->top_start : 0;
        if (queue->top_count == 0 || queue->top_earliest > queue->clock) {
            return false;
        }
        lower_top(queue);
        return true;
    }
    struct rung *rung = &queue->rungs[queue->rung_count - 1];
    while (rung->bucket < rung->buckets && slot_is_empty(queue, rung->first + rung->bucket)) {
        pass_bucket(queue);
    }
    if (rung->bucket == rung->buckets) {
        queue->rung_count--;
        return true;
    }
    if (rung->current > queue->clock) {
        return false;
    }
    uint32_t list = rung->first + rung->bucket;
    uint64_t start = rung->current;
    pass_bucket(queue);
    uint32_t timers = 0;
    for (uint32_t id = slot_node(queue, list)->next; id != list && timers <= THRESHOLD; timers++) {
        id = timer_at(queue, id)->links.next;
    }
    if (timers > THRESHOLD && rung->width > 1 && queue->rung_count < RUNGS_MAX) {
        add_rung(queue, start, rung->current, (rung->width + THRESHOLD - 1) / THRESHOLD);
        deal_out(queue, list);
    } else {
        sort_to_bottom(queue, list);
    }
    return true;
}

static uint64_t queue_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct ladder_queue *queue = self;
    queue_set_clock(queue, now);
    uint64_t fired = 0;
    while (fired < budget) {
        if (queue->bottom_count == 0) {
            if (!refill(queue)) {
                break;
            }
            continue;
        }
        uint32_t id = slot_node(queue, BOTTOM)->next;
        TL_COUNT(queue, compares, 1);
        if (timer_at(queue, id)->due > now) {
            break;
        }
        (void)timer_next(queue, id); /* prefetch it */
        queue_take(queue, id);
        queue->count--;
        fired++;
        fire(ctx, id, now);
    }
    return fired;
}

static uint64_t queue_next(const void *self)
{
    const struct ladder_queue *queue = self;
    return queue->count == 0             ? TL_NEVER
           : !slot_is_empty(queue, LATE) ? queue->clock
           : queue->bottom_count > 0     ? timer_at(queue, slot_node(queue, BOTTOM)->next)->due
           : queue->rung_count > 0       ? end_of(queue, queue->rung_count)
                                         : queue->top_earliest;
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status queue_create(const struct tl_config *config, void **self)
{
    struct ladder_queue empty = {.clock = config->now, .allocator = config->allocator};
    return structure_create(config, &empty, lists_reserve, lists_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

/* Add a list's length to *seen. False: its links or its timers are wrong. */
static bool list_is_right(const struct ladder_queue *queue, uint32_t list, uint64_t *seen)
{
    if (!slot_walk(queue, list, queue->count, seen)) {
        return false;
    }
    uint64_t last = 0;
    bool right = true;
    for (uint32_t id = slot_node(queue, list)->next; id != list && right;
         id = timer_at(queue, id)->links.next) {
        uint64_t due = timer_at(queue, id)->due;
        right = (list == LATE ? due == TL_NEVER : list_of(queue, due) == list) &&
                (list != BOTTOM || due >= last) &&
                (list != TOP || (due >= queue->top_earliest && due <= queue->top_latest));
        last = due;
    }
    return right;
}

static enum tl_status queue_check(const void *self, char *why, size_t why_bytes)
{
    const struct ladder_queue *queue = self;
    uint64_t late = 0;
    uint64_t top = 0;
    uint64_t bottom = 0;
    uint64_t in_rungs = 0;
    bool right = list_is_right(queue, LATE, &late) && list_is_right(queue, TOP, &top) &&
                 list_is_right(queue, BOTTOM, &bottom);
    uint64_t end = queue->top_start;
    for (uint32_t i = 0; right && i < queue->rung_count; i++) {
        const struct rung *rung = &queue->rungs[i];
        uint64_t current = rung->start + rung->width * rung->bucket;
        right = rung->start + rung->width * rung->buckets >= end &&
                rung->current == (current < end ? current : end);
        for (uint32_t bucket = rung->bucket; right && bucket < rung->buckets; bucket++) {
            right = list_is_right(queue, rung->first + bucket, &in_rungs);
        }
        end = rung->current;
    }
    if (!right || top != queue->top_count || bottom != queue->bottom_count) {
        return corrupt(why, why_bytes, "a list holds a timer that does not belong there");
    }
    return queue_check_count(queue, late + top + bottom + in_rungs, why, why_bytes);
}

/* The buckets of rung `i`; those before its current one have become the bottom, or a rung. The last
 * one ends where the part of time of the rung before begins. */
static void walk_rung(const struct ladder_queue *queue, uint32_t i,
                      const struct tl_visitor *visitor)
{
    const struct rung *rung = &queue->rungs[i];
    uint64_t end = end_of(queue, i);
    char name[24];
    (void)snprintf(name, sizeof name, "rung %" PRIu32, i);
    walk_part(visitor, name, TL_FORM_WHEEL, rung->width);
    for (uint32_t bucket = 0; bucket < rung->buckets; bucket++) {
        uint64_t from = rung->start + bucket * rung->width;
        uint64_t after = from + rung->width < end ? from + rung->width : end;
        bool hand = queue->clock >= from && queue->clock < after;
        walk_span(visitor, bucket, from, after - 1, hand ? TL_MARK_HAND : 0u);
        if (bucket >= rung->bucket) {
            queue_walk_timers(queue, rung->first + bucket, false, visitor);
        }
    }
}

/* From the next timers to the far ones. */
static void queue_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct ladder_queue *queue = self;
    if (!slot_is_empty(queue, LATE)) {
        queue_walk_list(queue, LATE, "due now", visitor);
    }
    queue_walk_list(queue, BOTTOM, "bottom", visitor);
    for (uint32_t i = queue->rung_count; i-- > 0;) {
        walk_rung(queue, i, visitor);
    }
    queue_walk_list(queue, TOP, "top", visitor);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(ladder_queue) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_FIFO | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET |
                    TL_CAP_UNLIMITED,
    .name = "ladder-queue",
    .summary = "unsorted far timers, ever finer rungs of buckets, a short sorted bottom",
    .origin = "Tang, Goh and Thng 2005",
    .description =
        "Far timers lie unsorted; when their time comes they are dealt into as many buckets as "
        "there are timers, a bucket of more than 50 into 50 finer ones, up to eight rungs, and a "
        "bucket of less is sorted and fires. It looks closer only where timers stand close, so "
        "that no length of a day has to fit all. Bad at: the tick in which the unsorted timers, "
        "all at once, become a rung.",
    .differs =
        "nothing that a caller can notice: order and ticks are the paper's. Inside, time and "
        "buckets are in whole ticks, and a bucket of one tick never spawns a rung; Top is moved "
        "down, and a bucket to the bottom, only when a timer in it may be due, in the paper with "
        "any dequeue that finds the bottom empty, so that a timer started meanwhile may go to "
        "another tier; timers can be stopped, the paper only enqueues and dequeues; a timer due at "
        "its start waits on a list of its own for the next advance.",
    .cost = {.start = "O(1) amortised", .stop = "O(1)", .tick = "O(1)", .expire = "O(1) amortised"},
    QUEUE_HOOKS,
    QUEUE_MEMORY_HOOKS,
};
