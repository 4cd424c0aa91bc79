/*
 * timer_buckets.h: what structures that file their timers in buckets have in common: the block of
 * nodes, growing it, stopping, firing what is due, and checking the links.
 *
 *   block    [first heads of all buckets][second heads of all buckets] ... [timer 0][timer 1] ...
 *
 *   bucket   stripe 0: head <-> timer 8 <-> timer 4 <-> head
 *            stripe 1: head <-> timer 5 <-> head
 *
 * A bucket is BUCKET_STRIPES lists (slot_list.h), and a timer goes to the one that its index says.
 * A list gives the address of its next node only when a node has arrived from memory; with four
 * lists walked side by side four fetches are under way at once. One list is right where order
 * counts, or where buckets are so many that their heads would not stay in the cache.
 *
 * Among few timers, which stay in the cache anyway, four lists only take longer to be moved, and to
 * be found empty, than one: every bucket then uses but its first, and the heads in use stand side
 * by side. Among more, as long as the inner caches hold them, so does a bucket that is `near`: one
 * that is moved often and holds few, such as a slot of the lowest level. How many timers there may
 * be is known when room is made for them.
 *
 * Bucket DUE holds what fires first, LATE what was started when already due: the next advance puts
 * it behind DUE. Callbacks file into any bucket but DUE, so what they start waits for its turn.
 *
 * Internal, and a template. The including file first defines
 *
 *   struct node      with the members uint32_t next and uint32_t prev
 *   BUCKET_STRIPES   lists of a bucket, a power of two
 *
 * and begins its own struct with a `struct timer_buckets`, so that the hooks here can serve it.
 */
#ifndef ALGOS_TIMER_BUCKETS_H
#define ALGOS_TIMER_BUCKETS_H

#include "timerlab.h"
#include "walk.h"

#include <inttypes.h>
#include <stdio.h>

#define SLOT_LISTS struct timer_buckets
#include "slot_list.h"

#define BUCKETS_ALIGN 64
#define BUCKET_DUE    0u
#define BUCKET_LATE   1u
#define BUCKET_NONE   UINT32_MAX

/* Bytes of nodes beyond which buckets use all their lists, and beyond which near ones do. */
#define FEW_BYTES     (UINT32_C(1) << 20)
#define NEAR_BYTES    (UINT32_C(4) << 20)

struct timer_buckets {
    struct node *nodes;    /* the heads, then the timers */
    uint32_t first_timer;  /* index of timer 0: the number of heads */
    uint32_t bucket_count; /* DUE and LATE included */
    uint32_t stripes[2];   /* the bits of an index that say its list in a bucket, and in one that
                              is near; 0: the first */
    uint64_t count;        /* timers pending */
    uint32_t capacity;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

static inline struct node *slot_node(const struct timer_buckets *buckets, uint32_t index)
{
    return &buckets->nodes[index];
}

/* Whether an index is a timer's: neither a head's nor SLOT_NONE. */
static inline bool slot_is_timer(const struct timer_buckets *buckets, uint32_t index)
{
    return index - buckets->first_timer < buckets->capacity;
}

/* --- buckets --------------------------------------------------------------------------------- */

/* The head of the list of `bucket` that a stripe has, 0 to BUCKET_STRIPES - 1. */
static inline uint32_t bucket_head(const struct timer_buckets *buckets, uint32_t bucket,
                                   uint32_t stripe)
{
    return BUCKET_STRIPES > 1 ? bucket + stripe * buckets->bucket_count : bucket;
}

/* The bucket that a head belongs to. */
static inline uint32_t head_bucket(const struct timer_buckets *buckets, uint32_t head)
{
    return BUCKET_STRIPES > 1 && head >= buckets->bucket_count ? head % buckets->bucket_count
                                                               : head;
}

/* Which of a bucket's lists hold timers, one bit each. */
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
    return buckets->stripes[false] == 0 ? slot_is_empty(buckets, bucket)
                                        : bucket_stripes(buckets, bucket) == 0;
}

/* Files a timer that is in no list, in a bucket that is `near` or not. */
static inline void bucket_file(struct timer_buckets *buckets, uint32_t bucket, bool near,
                               uint32_t index)
{
    slot_append(buckets, bucket_head(buckets, bucket, index & buckets->stripes[near]), index);
    TL_COUNT(buckets, moves, 1);
}

/* Files a timer that is in no list, in a bucket that is not near. */
static inline void bucket_append(struct timer_buckets *buckets, uint32_t bucket, uint32_t index)
{
    bucket_file(buckets, bucket, false, index);
}

/* Takes a filed timer out. Returns the bucket that it leaves empty, or BUCKET_NONE. */
static inline uint32_t bucket_remove(struct timer_buckets *buckets, uint32_t index)
{
    uint32_t next = buckets->nodes[index].next;
    bool alone = next == buckets->nodes[index].prev; /* both are then the head */
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

/* Moves all timers of `from` behind those of `to`, where both use only those lists that have a bit
 * in `stripes`; touches but the lists' ends. */
static inline void stripes_move_all(struct timer_buckets *buckets, uint32_t from, uint32_t to,
                                    uint32_t stripes)
{
    if (stripes == 0) {
        slot_move_all(buckets, from, to);
        return;
    }
    for (uint32_t left = bucket_stripes(buckets, from); left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        slot_move_all(buckets, bucket_head(buckets, from, i), bucket_head(buckets, to, i));
    }
}

/* Moves all timers of `from` behind those of `to`. */
static inline void bucket_move_all(struct timer_buckets *buckets, uint32_t from, uint32_t to)
{
    stripes_move_all(buckets, from, to, buckets->stripes[false]);
}

/* The same where `from` is near. */
static inline void bucket_move_near(struct timer_buckets *buckets, uint32_t from, uint32_t to)
{
    stripes_move_all(buckets, from, to, buckets->stripes[true]);
}

/* Fetches the ends of a near bucket's lists, which bucket_move_near is going to touch. */
static inline void bucket_prefetch_near(const struct timer_buckets *buckets, uint32_t bucket)
{
    uint32_t lists = buckets->stripes[true] + 1;
    for (uint32_t i = 0; i < lists; i++) {
        const struct node *head = slot_node(buckets, bucket_head(buckets, bucket, i));
        __builtin_prefetch(slot_node(buckets, head->next), 1);
        __builtin_prefetch(slot_node(buckets, head->prev), 1);
    }
}

/* Empties a bucket: calls `file` for every timer, which is then in no list, and must not file it
 * into that bucket. */
static inline void bucket_empty(struct timer_buckets *buckets, uint32_t bucket,
                                void (*file)(void *self, uint32_t index), void *self)
{
    if (buckets->stripes[false] == 0) {
        slot_drain(buckets, bucket, file, self);
    } else {
        slots_drain(buckets, bucket, BUCKET_STRIPES, buckets->bucket_count, file, self);
    }
}

/* The bucket of a filed timer; walks its list to the end. */
static inline uint32_t bucket_of(const struct timer_buckets *buckets, uint32_t index)
{
    while (index >= buckets->first_timer) {
        index = buckets->nodes[index].next;
    }
    return head_bucket(buckets, index);
}

/* --- memory ---------------------------------------------------------------------------------- */

static inline size_t buckets_bytes(const struct timer_buckets *buckets, uint32_t capacity)
{
    return ((size_t)buckets->first_timer + capacity) * sizeof(struct node);
}

/* Grows to `capacity` timers, which is what the hook promises. */
static inline enum tl_status buckets_reserve(void *self, uint32_t capacity)
{
    struct timer_buckets *buckets = self;
    bool fresh = buckets->nodes == NULL;
    if (capacity <= buckets->capacity && !fresh) {
        return TL_OK;
    }
    if (capacity >= SLOT_NONE - buckets->first_timer) {
        return TL_ERR_CAPACITY;
    }
    struct node *nodes =
        buckets->allocator->resize(buckets->allocator->ctx, buckets->nodes,
                                   fresh ? 0 : buckets_bytes(buckets, buckets->capacity),
                                   buckets_bytes(buckets, capacity), BUCKETS_ALIGN);
    if (nodes == NULL) {
        return TL_ERR_NOMEM;
    }
    buckets->nodes = nodes;
    for (uint32_t head = 0; fresh && head < buckets->first_timer; head++) {
        slot_clear(buckets, head);
    }
    for (uint32_t id = buckets->capacity; id < capacity; id++) {
        nodes[buckets->first_timer + id] = (struct node){.next = SLOT_NONE, .prev = SLOT_NONE};
    }
    buckets->capacity = capacity;
    size_t bytes = (size_t)capacity * sizeof *nodes;
    buckets->stripes[false] = bytes > FEW_BYTES ? BUCKET_STRIPES - 1 : 0;
    buckets->stripes[true] = bytes > NEAR_BYTES ? BUCKET_STRIPES - 1 : 0;
    return TL_OK;
}

/* Makes `bucket_count` empty buckets, DUE and LATE included, and room for `capacity` timers. On
 * failure there is nothing to free. */
static inline enum tl_status buckets_create(struct timer_buckets *buckets, uint32_t bucket_count,
                                            uint32_t capacity, const struct tl_allocator *allocator)
{
    *buckets = (struct timer_buckets){
        .first_timer = bucket_count * BUCKET_STRIPES,
        .bucket_count = bucket_count,
        .allocator = allocator,
    };
    return buckets_reserve(buckets, capacity);
}

static inline void buckets_free(struct timer_buckets *buckets)
{
    tl_free(buckets->allocator, buckets->nodes, buckets_bytes(buckets, buckets->capacity),
            BUCKETS_ALIGN);
}

/* --- what is the same in every structure ----------------------------------------------------- */

/* For a start: takes the timer out of where it may be filed, and counts it as pending. Returns the
 * bucket that this leaves empty, or BUCKET_NONE. */
static inline uint32_t buckets_take(struct timer_buckets *buckets, uint32_t index)
{
    if (slot_is_linked(buckets, index)) {
        return bucket_remove(buckets, index);
    }
    buckets->count++;
    return BUCKET_NONE;
}

/* The hook `stop`, of structures that need not know what it leaves empty. */
static inline enum tl_status buckets_stop(void *self, uint32_t id)
{
    struct timer_buckets *buckets = self;
    uint32_t index = buckets->first_timer + id;
    if (!slot_is_linked(buckets, index)) {
        return TL_IDLE;
    }
    slot_remove(buckets, index);
    buckets->count--;
    TL_COUNT(buckets, moves, 1);
    return TL_OK;
}

/* Fires the first timer of one of DUE's lists, which has one. */
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
    fire(ctx, index - buckets->first_timer, now);
}

/* Fires from DUE, from each of its lists in turn, so that a node's line is under way while the
 * others' fire. Returns how many. */
static inline uint64_t buckets_fire(struct timer_buckets *buckets, uint64_t now, uint64_t budget,
                                    tl_fire_fn fire, void *ctx)
{
    uint64_t fired = 0;
    uint32_t filled = 1;
    if (buckets->stripes[false] != 0) {
        filled = bucket_stripes(buckets, BUCKET_DUE); /* callbacks empty lists, but fill none */
    }
    while ((filled & (filled - 1)) != 0) {
        for (uint32_t left = filled; left != 0; left &= left - 1) {
            uint32_t stripe = (uint32_t)__builtin_ctz(left);
            uint32_t head = bucket_head(buckets, BUCKET_DUE, stripe);
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
        uint32_t head = bucket_head(buckets, BUCKET_DUE, (uint32_t)__builtin_ctz(filled));
        while (!slot_is_empty(buckets, head) && fired < budget) {
            fired++;
            buckets_fire_one(buckets, head, now, fire, ctx);
        }
    }
    return fired;
}

/* Whether something waits for the next advance, whatever its tick. */
static inline bool buckets_are_due(const struct timer_buckets *buckets)
{
    return !bucket_is_empty(buckets, BUCKET_DUE) || !bucket_is_empty(buckets, BUCKET_LATE);
}

static inline uint64_t buckets_count(const void *self)
{
    return ((const struct timer_buckets *)self)->count;
}

static inline void buckets_counters(const void *self, struct tl_counters *out)
{
    *out = ((const struct timer_buckets *)self)->counters;
}

/* The links of all lists, and that they hold `apart` timers less than are pending. */
static inline enum tl_status buckets_check(const struct timer_buckets *buckets, uint64_t apart,
                                           char *why, size_t why_bytes)
{
    uint64_t seen = apart;
    for (uint32_t head = 0; head < buckets->first_timer; head++) {
        if (!slot_walk(buckets, head, buckets->count, &seen)) {
            (void)snprintf(why, why_bytes, "the links of bucket %" PRIu32 " do not agree",
                           head_bucket(buckets, head));
            return TL_ERR_CORRUPT;
        }
    }
    uint64_t linked = 0;
    for (uint32_t id = 0; id < buckets->capacity; id++) {
        linked += slot_is_linked(buckets, buckets->first_timer + id);
    }
    if (seen != buckets->count || linked != buckets->count) {
        (void)snprintf(why, why_bytes,
                       "%" PRIu64 " timers in lists, %" PRIu64 " with links, %" PRIu64 " counted",
                       seen, linked, buckets->count);
        return TL_ERR_CORRUPT;
    }
    return TL_OK;
}

/* --- showing --------------------------------------------------------------------------------- */

/* Shows a bucket's timers, with the tick that `kept_at` finds in a node; NULL: none is kept. */
static inline void bucket_walk(const struct timer_buckets *buckets, uint32_t bucket,
                               uint64_t (*kept_at)(const struct node *),
                               const struct tl_visitor *visitor)
{
    for (uint32_t n = 0; n < BUCKET_STRIPES; n++) {
        uint32_t i = buckets->nodes[bucket_head(buckets, bucket, n)].next;
        for (; slot_is_timer(buckets, i); i = buckets->nodes[i].next) {
            walk_timer(visitor, i - buckets->first_timer,
                       kept_at != NULL ? kept_at(&buckets->nodes[i]) : TL_NEVER, 0);
        }
    }
}

/* Shows DUE and LATE, if they hold anything. */
static inline void buckets_walk_due(const struct timer_buckets *buckets,
                                    const struct tl_visitor *visitor)
{
    if (buckets_are_due(buckets)) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        bucket_walk(buckets, BUCKET_DUE, NULL, visitor);
        bucket_walk(buckets, BUCKET_LATE, NULL, visitor);
    }
}

#endif
