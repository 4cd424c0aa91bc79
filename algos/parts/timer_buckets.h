/*
 * timer_buckets.h: buckets of timers: file, remove, fire, grow, check, show.
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
 *   nodes   [first heads of all buckets][second heads of all buckets] ... [timer 0][timer 1] ...
 *
 * So the heads in use with few timers, the first ones, are adjacent. The capacity decides which lists
 * are used.
 *
 * Internal, and a template. The including file first defines
 *
 *   struct node      with the members uint32_t next and uint32_t prev; or it includes due_buckets.h
 *   BUCKET_STRIPES   lists of a bucket, a power of two
 *
 * and begins its own struct with a `struct timer_buckets`, so that the hooks can serve it.
 */
#ifndef ALGOS_TIMER_BUCKETS_H
#define ALGOS_TIMER_BUCKETS_H

#include "records.h"
#include "walk.h"

#define DUE         0u /* the bucket of the timers that fire first */
#define LATE        1u /* the bucket of the timers that were due at their start */
#define BUCKET_NONE UINT32_MAX

/* Bytes of nodes beyond which buckets use all their lists, and beyond which near ones do. */
#define FEW_BYTES   (UINT32_C(1) << 20)
#define NEAR_BYTES  (UINT32_C(4) << 20)

struct timer_buckets {
    struct node *nodes AND_RECORDS; /* the heads, then the timers */
    uint32_t first_timer;           /* index of timer 0: the number of heads */
    uint32_t bucket_count;          /* DUE and LATE included */
    uint32_t stripes[2];            /* stripe_bits, of other buckets and of near ones */
    uint64_t count;                 /* timers pending */
    uint32_t capacity;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
    uint64_t clock;
};

#define SLOT_LISTS struct timer_buckets
#include "slot_list.h"
#define NODE_ARRAY  struct timer_buckets
#define NODES_FIRST (array->first_timer)
#include "node_array.h"

/* Return buckets, DUE and LATE included, without memory yet: see buckets_reserve. */
static inline struct timer_buckets buckets_empty(const struct tl_config *config,
                                                 uint32_t bucket_count)
{
    return (struct timer_buckets){
        .first_timer = bucket_count * BUCKET_STRIPES,
        .bucket_count = bucket_count,
        .allocator = config->allocator,
        .clock = config->now,
    };
}

static inline struct node *slot_node(const struct timer_buckets *buckets, uint32_t index)
{
    return node_at(buckets, index);
}

/* Return whether an index is a timer's: neither a head's nor SLOT_NONE. */
static inline bool slot_is_timer(const struct timer_buckets *buckets, uint32_t index)
{
    return index - buckets->first_timer < buckets->capacity;
}

static inline uint32_t timer_index(const struct timer_buckets *buckets, uint32_t id)
{
    return buckets->first_timer + id;
}

static inline uint32_t timer_id(const struct timer_buckets *buckets, uint32_t index)
{
    return index - buckets->first_timer;
}

/* The head of a list of a bucket. The heads of a bucket are at equal distances. */
static inline uint32_t bucket_head(const struct timer_buckets *buckets, uint32_t bucket,
                                   uint32_t stripe)
{
    return BUCKET_STRIPES > 1 ? bucket + stripe * buckets->bucket_count : bucket;
}

static inline uint32_t head_bucket(const struct timer_buckets *buckets, uint32_t head)
{
    return BUCKET_STRIPES > 1 && head >= buckets->bucket_count ? head % buckets->bucket_count
                                                               : head;
}

/* The bits of an index that choose its list in a bucket that is `near` or not; 0: the first. */
static inline uint32_t stripe_bits(const struct timer_buckets *buckets, bool near)
{
    return BUCKET_STRIPES > 1 ? buckets->stripes[near] : 0;
}

/* --- buckets --------------------------------------------------------------------------------- */

/* Return a bit for each list of a bucket: whether it holds timers. */
static inline uint32_t bucket_stripes(const struct timer_buckets *buckets, uint32_t bucket)
{
    uint32_t filled = 0;
    for (uint32_t i = 0; i < BUCKET_STRIPES; i++) {
        filled |= (uint32_t)!slot_is_empty(buckets, bucket_head(buckets, bucket, i)) << i;
    }
    return filled;
}

static inline bool bucket_is_empty(const struct timer_buckets *buckets, uint32_t bucket)
{
    return stripe_bits(buckets, false) == 0
               ? slot_is_empty(buckets, bucket_head(buckets, bucket, 0))
               : bucket_stripes(buckets, bucket) == 0;
}

/* File a timer that is in no list, in a bucket that is `near` or not. */
static inline void bucket_file(struct timer_buckets *buckets, uint32_t bucket, bool near,
                               uint32_t index)
{
    slot_append(buckets, bucket_head(buckets, bucket, index & stripe_bits(buckets, near)), index);
    TL_COUNT(buckets, moves, 1);
}

static inline void bucket_append(struct timer_buckets *buckets, uint32_t bucket, uint32_t index)
{
    bucket_file(buckets, bucket, false, index);
}

/* Remove a filed timer. Return the bucket that becomes empty, or BUCKET_NONE. */
static inline uint32_t bucket_remove(struct timer_buckets *buckets, uint32_t index)
{
    uint32_t next = slot_node(buckets, index)->next;
    bool alone = next == slot_node(buckets, index)->prev; /* both are then the head */
    slot_remove(buckets, index);
    TL_COUNT(buckets, moves, 1);
    if (alone) {
        uint32_t bucket = head_bucket(buckets, next);
        if (bucket_is_empty(buckets, bucket)) {
            return bucket;
        }
    }
    return BUCKET_NONE;
}

/* Append all timers of `from` to `to`, which both use the lists with a bit in `stripes`. */
static inline void stripes_move_all(struct timer_buckets *buckets, uint32_t from, uint32_t to,
                                    uint32_t stripes)
{
    if (stripes == 0) {
        slot_move_all(buckets, bucket_head(buckets, from, 0), bucket_head(buckets, to, 0));
        return;
    }
    for (uint32_t left = bucket_stripes(buckets, from); left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        slot_move_all(buckets, bucket_head(buckets, from, i), bucket_head(buckets, to, i));
    }
}

static inline void bucket_move_all(struct timer_buckets *buckets, uint32_t from, uint32_t to)
{
    stripes_move_all(buckets, from, to, stripe_bits(buckets, false));
}

/* The same for a near bucket `from`. */
static inline void bucket_move_near(struct timer_buckets *buckets, uint32_t from, uint32_t to)
{
    stripes_move_all(buckets, from, to, stripe_bits(buckets, true));
}

/* Prefetch the ends of a near bucket's lists, for bucket_move_near. */
static inline void bucket_prefetch_near(const struct timer_buckets *buckets, uint32_t bucket)
{
    uint32_t count = stripe_bits(buckets, true) + 1;
    for (uint32_t i = 0; i < count; i++) {
        const struct node *head = slot_node(buckets, bucket_head(buckets, bucket, i));
        PREFETCH(slot_node(buckets, head->next));
        PREFETCH(slot_node(buckets, head->prev));
    }
}

/* Empty a bucket: call `file` for each timer, which must not file it into that bucket again. */
static inline void bucket_empty(struct timer_buckets *buckets, uint32_t bucket,
                                void (*file)(void *ctx, uint32_t index), void *ctx)
{
    uint32_t head = bucket_head(buckets, bucket, 0);
    if (stripe_bits(buckets, false) == 0) {
        slot_drain(buckets, head, file, ctx);
    } else {
        slots_drain(buckets, head, BUCKET_STRIPES, bucket_head(buckets, bucket, 1) - head, file,
                    ctx);
    }
}

/* Return the next timer of a bucket, on any of its lists, or SLOT_NONE. */
static inline uint32_t bucket_after(const struct timer_buckets *buckets, uint32_t bucket,
                                    uint32_t index)
{
    uint32_t apart = bucket_head(buckets, bucket, 1) - bucket_head(buckets, bucket, 0);
    uint32_t last = bucket_head(buckets, bucket, BUCKET_STRIPES - 1);
    uint32_t next = slot_node(buckets, index)->next;
    while (!slot_is_timer(buckets, next)) { /* the head of the list, which ends here */
        if (next == last) {
            return SLOT_NONE;
        }
        next = slot_node(buckets, next + apart)->next;
    }
    return next;
}

static inline uint32_t bucket_first(const struct timer_buckets *buckets, uint32_t bucket)
{
    return bucket_after(buckets, bucket, bucket_head(buckets, bucket, 0));
}

/* --- hooks, and parts of them ---------------------------------------------------------------- */

/* Fire the first timer of one of DUE's lists, which is not empty. */
static inline void buckets_fire_one(struct timer_buckets *buckets, uint32_t head, uint64_t now,
                                    tl_fire_fn fire, void *ctx)
{
    uint32_t index = slot_node(buckets, head)->next;
    struct node *node = slot_node(buckets, index);
    uint32_t next = node->next;
    slot_node(buckets, head)->next = next;
    slot_node(buckets, next)->prev = head;
    node->next = SLOT_NONE;
    buckets->count--;
    TL_COUNT(buckets, moves, 1);
    fire(ctx, timer_id(buckets, index), now);
}

/* Fire from the lists of DUE in turn, so that their cache misses overlap. Return how many. */
static inline uint64_t buckets_fire(struct timer_buckets *buckets, uint64_t now, uint64_t budget,
                                    tl_fire_fn fire, void *ctx)
{
    uint64_t fired = 0;
    uint32_t filled = 1;
    if (stripe_bits(buckets, false) != 0) {
        filled = bucket_stripes(buckets, DUE); /* callbacks empty lists, but fill none */
    }
    while ((filled & (filled - 1)) != 0) {
        for (uint32_t left = filled; left != 0; left &= left - 1) {
            uint32_t stripe = (uint32_t)__builtin_ctz(left);
            uint32_t head = bucket_head(buckets, DUE, stripe);
            if (slot_is_empty(buckets, head)) {
                filled ^= UINT32_C(1) << stripe;
            } else if (fired == budget) {
                return fired;
            } else {
                fired++;
                buckets_fire_one(buckets, head, now, fire, ctx);
            }
        }
    }
    if (filled != 0) {
        uint32_t head = bucket_head(buckets, DUE, (uint32_t)__builtin_ctz(filled));
        while (!slot_is_empty(buckets, head) && fired < budget) {
            fired++;
            buckets_fire_one(buckets, head, now, fire, ctx);
        }
    }
    return fired;
}

/* Return whether timers fire in the next advance, whatever its tick. */
static inline bool buckets_are_due(const struct timer_buckets *buckets)
{
    return !bucket_is_empty(buckets, DUE) || !bucket_is_empty(buckets, LATE);
}

/* The hook `reserve`. */
static inline enum tl_status buckets_reserve(void *self, uint32_t capacity)
{
    struct timer_buckets *buckets = self;
    bool fresh = buckets->nodes == NULL;
    enum tl_status status = nodes_reserve(buckets, capacity, SLOT_NONE - 1 - buckets->first_timer,
                                          (struct node){.next = SLOT_NONE, .prev = SLOT_NONE});
    if (status != TL_OK) {
        return status;
    }
    for (uint32_t head = 0; fresh && head < buckets->first_timer; head++) {
        *node_at(buckets, head) = (struct node){.next = head, .prev = head};
    }
    size_t bytes = (size_t)buckets->capacity * sizeof(struct node);
    buckets->stripes[false] = TUNED && bytes > FEW_BYTES ? BUCKET_STRIPES - 1 : 0;
    buckets->stripes[true] = TUNED && bytes > NEAR_BYTES ? BUCKET_STRIPES - 1 : 0;
    return TL_OK;
}

/* For the hook `check`: verify the links of all lists, and that they hold `apart` timers less than are
 * pending. */
static inline enum tl_status buckets_check(const struct timer_buckets *buckets, uint64_t apart,
                                           char *why, size_t why_bytes)
{
    uint64_t seen = apart;
    for (uint32_t head = 0; head < buckets->first_timer; head++) {
        if (!slot_walk(buckets, head, buckets->count, &seen)) {
            return corrupt(why, why_bytes, "the links of bucket %" PRIu32 " do not agree",
                           head_bucket(buckets, head));
        }
    }
    uint64_t linked = 0;
    for (uint32_t id = 0; id < buckets->capacity; id++) {
        linked += slot_is_linked(buckets, timer_index(buckets, id));
    }
    if (seen != buckets->count || linked != buckets->count) {
        return corrupt(why, why_bytes,
                       "%" PRIu64 " timers in lists, %" PRIu64 " with links, %" PRIu64 " counted",
                       seen, linked, buckets->count);
    }
    return TL_OK;
}

/* Fill in the tick or the rounds of a timer that is shown. */
typedef void (*keep_fn)(const struct timer_buckets *buckets, uint32_t index, struct tl_held *held);

/* Show a bucket's timers; `keep`: NULL if no ticks are stored. */
static inline void bucket_walk(const struct timer_buckets *buckets, uint32_t bucket, keep_fn keep,
                               const struct tl_visitor *visitor)
{
    for (uint32_t i = bucket_first(buckets, bucket); i != SLOT_NONE;
         i = bucket_after(buckets, bucket, i)) {
        struct tl_held held = {.id = timer_id(buckets, i), .at = TL_NEVER};
        if (keep != NULL) {
            keep(buckets, i, &held);
        }
        visitor->timer(visitor->ctx, &held);
    }
}

/* Show DUE and LATE, unless they are empty. */
static inline void buckets_walk_due(const struct timer_buckets *buckets,
                                    const struct tl_visitor *visitor)
{
    if (buckets_are_due(buckets)) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        bucket_walk(buckets, DUE, NULL, visitor);
        bucket_walk(buckets, LATE, NULL, visitor);
    }
}

#endif
