/*
 * timer_buckets.h: buckets (bucket_lists.h) in one block of nodes, and growing it.
 *
 *   block    [first heads of all buckets][second heads of all buckets] ... [timer 0][timer 1] ...
 *
 * So the heads in use with few timers, the first ones, are adjacent. The capacity decides which lists
 * are used.
 *
 * Internal, and a template. The including file first defines struct node and BUCKET_STRIPES, and
 * begins its own struct with a `struct timer_buckets`, so that the hooks can serve it. Where a
 * bucket is one list, it may define SLOT_LISTS instead, as its own struct, which has these members:
 *
 *   nodes, first_timer, capacity, count, clock, allocator, counters
 */
#ifndef ALGOS_TIMER_BUCKETS_H
#define ALGOS_TIMER_BUCKETS_H

#include "records.h"
#include "timerlab.h"

#ifndef SLOT_LISTS
#define SLOT_LISTS struct timer_buckets
#define TIMER_BUCKETS

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
#endif

#include "bucket_lists.h"

#define NODE_ARRAY  SLOT_LISTS
#define NODES_FIRST (array->first_timer)
#include "node_array.h"

/* Bytes of nodes beyond which buckets use all their lists, and beyond which near ones do. */
#define FEW_BYTES  (UINT32_C(1) << 20)
#define NEAR_BYTES (UINT32_C(4) << 20)

static inline struct node *slot_node(const SLOT_LISTS *buckets, uint32_t index)
{
    return node_at(buckets, index);
}

static inline bool slot_is_timer(const SLOT_LISTS *buckets, uint32_t index)
{
    return index - buckets->first_timer < buckets->capacity;
}

static inline uint32_t timer_index(const SLOT_LISTS *buckets, uint32_t id)
{
    return buckets->first_timer + id;
}

static inline uint32_t timer_id(const SLOT_LISTS *buckets, uint32_t index)
{
    return index - buckets->first_timer;
}

#if BUCKET_STRIPES > 1
static inline uint32_t bucket_head(const SLOT_LISTS *buckets, uint32_t bucket, uint32_t stripe)
{
    return bucket + stripe * buckets->bucket_count;
}

static inline uint32_t head_bucket(const SLOT_LISTS *buckets, uint32_t head)
{
    return head >= buckets->bucket_count ? head % buckets->bucket_count : head;
}

static inline uint32_t stripe_bits(const SLOT_LISTS *buckets, bool near)
{
    return buckets->stripes[near];
}
#else
static inline uint32_t bucket_head(const SLOT_LISTS *buckets, uint32_t bucket, uint32_t stripe)
{
    (void)buckets;
    (void)stripe;
    return bucket;
}

static inline uint32_t head_bucket(const SLOT_LISTS *buckets, uint32_t head)
{
    (void)buckets;
    return head;
}

static inline uint32_t stripe_bits(const SLOT_LISTS *buckets, bool near)
{
    (void)buckets;
    (void)near;
    return 0;
}
#endif

/* The hook `reserve`. */
static inline enum tl_status buckets_reserve(void *self, uint32_t capacity)
{
    SLOT_LISTS *buckets = self;
    bool fresh = buckets->nodes == NULL;
    enum tl_status status = nodes_reserve(buckets, capacity, SLOT_NONE - 1 - buckets->first_timer,
                                          (struct node){.next = SLOT_NONE, .prev = SLOT_NONE});
    if (status != TL_OK) {
        return status;
    }
    for (uint32_t head = 0; fresh && head < buckets->first_timer; head++) {
        *node_at(buckets, head) = (struct node){.next = head, .prev = head};
    }
#if BUCKET_STRIPES > 1
    size_t bytes = (size_t)buckets->capacity * sizeof(struct node);
    buckets->stripes[false] = TUNED && bytes > FEW_BYTES ? BUCKET_STRIPES - 1 : 0;
    buckets->stripes[true] = TUNED && bytes > NEAR_BYTES ? BUCKET_STRIPES - 1 : 0;
#endif
    return TL_OK;
}

/* For the hook `check`: the links of all lists, and that they hold `apart` timers less than are
 * pending. */
static inline enum tl_status buckets_check(const SLOT_LISTS *buckets, uint64_t apart, char *why,
                                           size_t why_bytes)
{
    return bucket_lists_check(buckets, buckets->first_timer / BUCKET_STRIPES, apart, why,
                              why_bytes);
}

/* For the hook `check`: the same, and that `takes` accepts each timer of the buckets from `first` on.
 */
static inline enum tl_status buckets_check_timers(
    const SLOT_LISTS *buckets, uint64_t apart, uint32_t first,
    bool (*takes)(const SLOT_LISTS *buckets, uint32_t bucket, const struct node *node), char *why,
    size_t why_bytes)
{
    enum tl_status status = buckets_check(buckets, apart, why, why_bytes);
    for (uint32_t bucket = first; status == TL_OK && bucket < buckets->first_timer / BUCKET_STRIPES;
         bucket++) {
        for (uint32_t i = bucket_first(buckets, bucket); i != SLOT_NONE;
             i = bucket_after(buckets, bucket, i)) {
            if (!takes(buckets, bucket, node_at(buckets, i))) {
                return corrupt(why, why_bytes, "timer %" PRIu32 " is in bucket %" PRIu32,
                               timer_id(buckets, i), bucket);
            }
        }
    }
    return status;
}

/* For the descriptor: the hooks count, counters and moved, and embedded_bytes. */
#define BUCKETS_HOOKS                                                                              \
    .count = buckets_count, .counters = buckets_counters,                                          \
    .embedded_bytes = EMBEDDED_BYTES(sizeof(struct node)), .moved = EMBEDDED_HOOK(nodes_moved)

#endif
