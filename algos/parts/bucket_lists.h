/*
 * bucket_lists.h: buckets of timers: file, remove, stop, fire, check, show.
 *
 *   bucket   stripe 0: head <-> timer 8 <-> timer 4 <-> head
 *            stripe 1: head <-> timer 5 <-> head
 *
 * A bucket is BUCKET_STRIPES lists (slot_list.h); a timer's index chooses its list. A list gives the
 * address of its next node only when a node has arrived from memory; with four lists walked in turn
 * four cache misses overlap. One list is right where order counts, or where there are too many
 * buckets for their heads to stay in the cache.
 *
 * Few timers stay in the cache, where four lists only take longer to be moved and to be found empty:
 * then every bucket uses its first list only. With more timers, as long as the inner caches hold
 * them, so does a `near` bucket: one that is moved often and holds few, such as a slot of the lowest
 * level.
 *
 * Bucket DUE holds the timers that fire first, LATE those that were due at their start: the next
 * advance appends them to DUE. Callbacks file into any bucket but DUE, so that the timers that they
 * start wait for a later advance.
 *
 * Internal, and a template. The including file first defines
 *
 *   struct node      with the members uint32_t next and uint32_t prev
 *   BUCKET_STRIPES   lists of a bucket, a power of two
 *   SLOT_LISTS       the struct that holds the nodes and begins `self`, with the members clock,
 *                    count (timers pending), capacity and counters
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

/* Index and id of a timer. The including file's, as are the next ones. */
static inline uint32_t timer_index(const SLOT_LISTS *lists, uint32_t id);
static inline uint32_t timer_id(const SLOT_LISTS *lists, uint32_t index);

/* Return whether an index is a timer's: neither a head's nor SLOT_NONE. */
static inline bool slot_is_timer(const SLOT_LISTS *lists, uint32_t index);

/* The head of a list of a bucket. The heads of a bucket are at equal distances. */
static inline uint32_t bucket_head(const SLOT_LISTS *lists, uint32_t bucket, uint32_t stripe);
static inline uint32_t head_bucket(const SLOT_LISTS *lists, uint32_t head);

/* The bits of an index that choose its list in a bucket that is `near` or not; 0: the first. */
static inline uint32_t stripe_bits(const SLOT_LISTS *lists, bool near);

/* --- buckets --------------------------------------------------------------------------------- */

/* Return a bit for each list of a bucket: whether it holds timers. */
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

/* File a timer that is in no list, in a bucket that is `near` or not. */
static inline void bucket_file(SLOT_LISTS *lists, uint32_t bucket, bool near, uint32_t index)
{
    slot_append(lists, bucket_head(lists, bucket, index & stripe_bits(lists, near)), index);
    TL_COUNT(lists, moves, 1);
}

static inline void bucket_append(SLOT_LISTS *lists, uint32_t bucket, uint32_t index)
{
    bucket_file(lists, bucket, false, index);
}

/* Remove a filed timer. Return the bucket that becomes empty, or BUCKET_NONE. */
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

/* Append all timers of `from` to `to`, which both use the lists with a bit in `stripes`. */
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

static inline void bucket_move_all(SLOT_LISTS *lists, uint32_t from, uint32_t to)
{
    stripes_move_all(lists, from, to, stripe_bits(lists, false));
}

/* The same for a near bucket `from`. */
static inline void bucket_move_near(SLOT_LISTS *lists, uint32_t from, uint32_t to)
{
    stripes_move_all(lists, from, to, stripe_bits(lists, true));
}

/* Prefetch the ends of a near bucket's lists, for bucket_move_near. */
static inline void bucket_prefetch_near(const SLOT_LISTS *lists, uint32_t bucket)
{
    uint32_t count = stripe_bits(lists, true) + 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct node *head = slot_node(lists, bucket_head(lists, bucket, i));
        PREFETCH(slot_node(lists, head->next));
        PREFETCH(slot_node(lists, head->prev));
    }
}

/* Empty a bucket: call `file` for each timer, which must not file it into that bucket again. */
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

/* Return the next timer of a bucket, on any of its lists, or SLOT_NONE. */
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

static inline uint32_t bucket_first(const SLOT_LISTS *lists, uint32_t bucket)
{
    return bucket_after(lists, bucket, bucket_head(lists, bucket, 0));
}

/* --- hooks, and parts of them ---------------------------------------------------------------- */

/* For a start: remove the timer from its list, if it is filed, and count it as pending. Return the
 * bucket that becomes empty, or BUCKET_NONE. */
static inline uint32_t buckets_take(SLOT_LISTS *lists, uint32_t index)
{
    if (slot_is_linked(lists, index)) {
        return bucket_remove(lists, index);
    }
    lists->count++;
    return BUCKET_NONE;
}

/* The hook `stop`, of structures that ignore which bucket becomes empty. */
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

/* Fire the first timer of one of DUE's lists, which is not empty. */
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

/* Fire from the lists of DUE in turn, so that their cache misses overlap. Return how many. */
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

/* Return whether timers fire in the next advance, whatever its tick. */
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

/* For the hook `check`: verify the links of the first `bucket_count` buckets' lists, and that they
 * hold `apart` timers less than are pending. */
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

/* Show a bucket's timers; `keep` fills in the tick or rounds of each, NULL: none are stored. */
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

/* Show DUE and LATE, unless they are empty. */
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
