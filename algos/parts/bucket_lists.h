/*
 * bucket_lists.h: buckets of timers, wherever their nodes are stored: file, remove, stop,
 * fire, check the links, show.
 *
 *   bucket   stripe 0: head <-> timer 8 <-> timer 4 <-> head
 *            stripe 1: head <-> timer 5 <-> head
 *
 * A bucket is BUCKET_STRIPES lists (slot_list.h), and a timer goes to the one that its index says.
 * A list gives the address of its next node only when a node has arrived from memory; with four
 * lists walked side by side four fetches are under way at once. One list is right where order
 * counts, or where there are too many buckets for their heads to stay in the cache.
 *
 * Among few timers, which stay in the cache anyway, four lists only take longer to be moved, and to
 * be found empty, than one: every bucket then uses but its first. Among more, as long as the inner
 * caches hold them, so does a bucket that is `near`: one that is moved often and holds few, such as
 * a slot of the lowest level.
 *
 * Bucket DUE holds the timers that fire first, LATE those that were due at their start: the next
 * advance appends them to DUE. Callbacks file into any bucket but DUE, so that the timers that they
 * start wait for a later advance.
 *
 * Internal, and a template. The including file first defines
 *
 *   struct node      with the members uint32_t next and uint32_t prev
 *   BUCKET_STRIPES   lists of a bucket, a power of two
 *   SLOT_LISTS       the struct that holds the nodes, with the members clock, count (timers
 *                    pending), capacity and counters; hooks get it as `self`, or what begins with
 * it
 *
 * and afterwards the functions that are declared below without a body, and those of slot_list.h.
 * timer_buckets.h is that, for nodes in one block.
 */
#ifndef ALGOS_BUCKET_LISTS_H
#define ALGOS_BUCKET_LISTS_H

#include "check.h"
#include "slot_list.h"
#include "timerlab.h"
#include "walk.h"

#include <inttypes.h>

#define DUE         0u /* the bucket of the timers that fire first */
#define LATE        1u /* the bucket of the timers that were due at their start */
#define BUCKET_NONE UINT32_MAX

/* The index of a timer's node. The including file's. */
static inline uint32_t timer_index(const SLOT_LISTS *lists, uint32_t id);

/* The id of a timer, by its node's index. The including file's. */
static inline uint32_t timer_id(const SLOT_LISTS *lists, uint32_t index);

/* Whether an index is a timer's: neither a head's nor SLOT_NONE. The including file's. */
static inline bool slot_is_timer(const SLOT_LISTS *lists, uint32_t index);

/* The head of the list of `bucket` that a stripe has, 0 to BUCKET_STRIPES - 1; the heads of a
 * bucket are all as far from each other. The including file's. */
static inline uint32_t bucket_head(const SLOT_LISTS *lists, uint32_t bucket, uint32_t stripe);

/* The bucket that a head belongs to. The including file's. */
static inline uint32_t head_bucket(const SLOT_LISTS *lists, uint32_t head);

/* The bits of an index that say its list in a bucket that is `near` or not; 0: the first. The
 * including file's. */
static inline uint32_t stripe_bits(const SLOT_LISTS *lists, bool near);

/* --- buckets --------------------------------------------------------------------------------- */

/* Which of a bucket's lists hold timers, one bit each. */
static inline uint32_t bucket_stripes(const SLOT_LISTS *lists, uint32_t bucket)
{
    uint32_t filled = 0;
    for (uint32_t i = 0; i < BUCKET_STRIPES; i++) {
        filled |= (uint32_t)!slot_is_empty(lists, bucket_head(lists, bucket, i)) << i;
    }
    return filled;
}

static inline bool bucket_is_empty(const SLOT_LISTS *lists, uint32_t bucket)
{
    return stripe_bits(lists, false) == 0 ? slot_is_empty(lists, bucket_head(lists, bucket, 0))
                                          : bucket_stripes(lists, bucket) == 0;
}

/* Files a timer that is in no list, in a bucket that is `near` or not. */
static inline void bucket_file(SLOT_LISTS *lists, uint32_t bucket, bool near, uint32_t index)
{
    slot_append(lists, bucket_head(lists, bucket, index & stripe_bits(lists, near)), index);
    TL_COUNT(lists, moves, 1);
}

/* Files a timer that is in no list, in a bucket that is not near. */
static inline void bucket_append(SLOT_LISTS *lists, uint32_t bucket, uint32_t index)
{
    bucket_file(lists, bucket, false, index);
}

/* Takes a filed timer out. Returns the bucket that it leaves empty, or BUCKET_NONE. */
static inline uint32_t bucket_remove(SLOT_LISTS *lists, uint32_t index)
{
    uint32_t next = slot_node(lists, index)->next;
    bool alone = next == slot_node(lists, index)->prev; /* both are then the head */
    slot_remove(lists, index);
    TL_COUNT(lists, moves, 1);
    if (alone) {
        uint32_t bucket = head_bucket(lists, next);
        if (bucket_is_empty(lists, bucket)) {
            return bucket;
        }
    }
    return BUCKET_NONE;
}

/* Append all timers of `from` to `to`, where both use only those lists that have a bit
 * in `stripes`; touches but the lists' ends. */
static inline void stripes_move_all(SLOT_LISTS *lists, uint32_t from, uint32_t to, uint32_t stripes)
{
    if (stripes == 0) {
        slot_move_all(lists, bucket_head(lists, from, 0), bucket_head(lists, to, 0));
        return;
    }
    for (uint32_t left = bucket_stripes(lists, from); left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        slot_move_all(lists, bucket_head(lists, from, i), bucket_head(lists, to, i));
    }
}

/* Append all timers of `from` to `to`. */
static inline void bucket_move_all(SLOT_LISTS *lists, uint32_t from, uint32_t to)
{
    stripes_move_all(lists, from, to, stripe_bits(lists, false));
}

/* The same where `from` is near. */
static inline void bucket_move_near(SLOT_LISTS *lists, uint32_t from, uint32_t to)
{
    stripes_move_all(lists, from, to, stripe_bits(lists, true));
}

/* Fetches the ends of a near bucket's lists, which bucket_move_near is going to touch. */
static inline void bucket_prefetch_near(const SLOT_LISTS *lists, uint32_t bucket)
{
    uint32_t count = stripe_bits(lists, true) + 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct node *head = slot_node(lists, bucket_head(lists, bucket, i));
        PREFETCH(slot_node(lists, head->next));
        PREFETCH(slot_node(lists, head->prev));
    }
}

/* Empties a bucket: calls `file` for every timer, which is then in no list, and must not file it
 * into that bucket. */
static inline void bucket_empty(SLOT_LISTS *lists, uint32_t bucket,
                                void (*file)(void *ctx, uint32_t index), void *ctx)
{
    uint32_t head = bucket_head(lists, bucket, 0);
    if (stripe_bits(lists, false) == 0) {
        slot_drain(lists, head, file, ctx);
    } else {
        slots_drain(lists, head, BUCKET_STRIPES, bucket_head(lists, bucket, 1) - head, file, ctx);
    }
}

/* The bucket of a filed timer; walks its list to the end. */
static inline uint32_t bucket_of(const SLOT_LISTS *lists, uint32_t index)
{
    while (slot_is_timer(lists, index)) {
        index = slot_node(lists, index)->next;
    }
    return head_bucket(lists, index);
}

/* The next timer of a bucket after this one, on any of its lists, or SLOT_NONE. */
static inline uint32_t bucket_after(const SLOT_LISTS *lists, uint32_t bucket, uint32_t index)
{
    uint32_t apart = bucket_head(lists, bucket, 1) - bucket_head(lists, bucket, 0);
    uint32_t last = bucket_head(lists, bucket, BUCKET_STRIPES - 1);
    uint32_t next = slot_node(lists, index)->next;
    while (!slot_is_timer(lists, next)) { /* the head of the list, which ends here */
        if (next == last) {
            return SLOT_NONE;
        }
        next = slot_node(lists, next + apart)->next;
    }
    return next;
}

/* The first timer of a bucket, or SLOT_NONE. */
static inline uint32_t bucket_first(const SLOT_LISTS *lists, uint32_t bucket)
{
    return bucket_after(lists, bucket, bucket_head(lists, bucket, 0));
}

/* --- hooks, and parts of them ---------------------------------------------------------------- */

/* For a start: takes the timer out of where it may be filed, and counts it as pending. Returns the
 * bucket that this leaves empty, or BUCKET_NONE. */
static inline uint32_t buckets_take(SLOT_LISTS *lists, uint32_t index)
{
    if (slot_is_linked(lists, index)) {
        return bucket_remove(lists, index);
    }
    lists->count++;
    return BUCKET_NONE;
}

/* The hook `stop`, of structures that ignore which bucket it leaves empty. */
static inline enum tl_status buckets_stop(void *self, uint32_t id)
{
    SLOT_LISTS *lists = self;
    uint32_t index = timer_index(lists, id);
    if (!slot_is_linked(lists, index)) {
        return TL_IDLE;
    }
    slot_remove(lists, index);
    lists->count--;
    TL_COUNT(lists, moves, 1);
    return TL_OK;
}

/* Fires the first timer of one of DUE's lists, which has one. */
static inline void buckets_fire_one(SLOT_LISTS *lists, uint32_t head, uint64_t now, tl_fire_fn fire,
                                    void *ctx)
{
    uint32_t index = slot_node(lists, head)->next;
    struct node *node = slot_node(lists, index);
    uint32_t next = node->next;
    slot_node(lists, head)->next = next;
    slot_node(lists, next)->prev = head;
    node->next = SLOT_NONE;
    lists->count--;
    TL_COUNT(lists, moves, 1);
    fire(ctx, timer_id(lists, index), now);
}

/* Fires from DUE, from each of its lists in turn, so that a node's line is under way while the
 * others' fire. Returns how many. */
static inline uint64_t buckets_fire(SLOT_LISTS *lists, uint64_t now, uint64_t budget,
                                    tl_fire_fn fire, void *ctx)
{
    uint64_t fired = 0;
    uint32_t filled = 1;
    if (stripe_bits(lists, false) != 0) {
        filled = bucket_stripes(lists, DUE); /* callbacks empty lists, but fill none */
    }
    while ((filled & (filled - 1)) != 0) {
        for (uint32_t left = filled; left != 0; left &= left - 1) {
            uint32_t stripe = (uint32_t)__builtin_ctz(left);
            uint32_t head = bucket_head(lists, DUE, stripe);
            if (slot_is_empty(lists, head)) {
                filled ^= UINT32_C(1) << stripe;
            } else if (fired == budget) {
                return fired;
            } else {
                fired++;
                buckets_fire_one(lists, head, now, fire, ctx);
            }
        }
    }
    if (filled != 0) {
        uint32_t head = bucket_head(lists, DUE, (uint32_t)__builtin_ctz(filled));
        while (!slot_is_empty(lists, head) && fired < budget) {
            fired++;
            buckets_fire_one(lists, head, now, fire, ctx);
        }
    }
    return fired;
}

/* Whether something waits for the next advance, whatever its tick. */
static inline bool buckets_are_due(const SLOT_LISTS *lists)
{
    return !bucket_is_empty(lists, DUE) || !bucket_is_empty(lists, LATE);
}

/* The hook `count`. */
static inline uint64_t buckets_count(const void *self)
{
    return ((const SLOT_LISTS *)self)->count;
}

/* The hook `counters`. */
static inline void buckets_counters(const void *self, struct tl_counters *out)
{
    *out = ((const SLOT_LISTS *)self)->counters;
}

/* For the hook `check`: the links of the first `bucket_count` buckets' lists, and that they hold
 * `apart` timers less than are pending. */
static inline enum tl_status bucket_lists_check(const SLOT_LISTS *lists, uint32_t bucket_count,
                                                uint64_t apart, char *why, size_t why_bytes)
{
    uint64_t seen = apart;
    for (uint32_t n = 0; n < bucket_count * BUCKET_STRIPES; n++) {
        uint32_t bucket = n / BUCKET_STRIPES;
        if (!slot_walk(lists, bucket_head(lists, bucket, n % BUCKET_STRIPES), lists->count,
                       &seen)) {
            return corrupt(why, why_bytes, "the links of bucket %" PRIu32 " do not agree", bucket);
        }
    }
    uint64_t linked = 0;
    for (uint32_t id = 0; id < lists->capacity; id++) {
        linked += slot_is_linked(lists, timer_index(lists, id));
    }
    if (seen != lists->count || linked != lists->count) {
        return corrupt(why, why_bytes,
                       "%" PRIu64 " timers in lists, %" PRIu64 " with links, %" PRIu64 " counted",
                       seen, linked, lists->count);
    }
    return TL_OK;
}

/* Shows a bucket's timers; `keep` fills in the tick or rounds of each, NULL: none are stored. */
static inline void bucket_walk(const SLOT_LISTS *lists, uint32_t bucket,
                               void (*keep)(const SLOT_LISTS *lists, uint32_t index,
                                            struct tl_held *held),
                               const struct tl_visitor *visitor)
{
    for (uint32_t i = bucket_first(lists, bucket); i != SLOT_NONE;
         i = bucket_after(lists, bucket, i)) {
        struct tl_held held = {.id = timer_id(lists, i), .at = TL_NEVER};
        if (keep != NULL) {
            keep(lists, i, &held);
        }
        visitor->timer(visitor->ctx, &held);
    }
}

/* Shows DUE and LATE, if they hold anything. */
static inline void buckets_walk_due(const SLOT_LISTS *lists, const struct tl_visitor *visitor)
{
    if (buckets_are_due(lists)) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        bucket_walk(lists, DUE, NULL, visitor);
        bucket_walk(lists, LATE, NULL, visitor);
    }
}

#endif
