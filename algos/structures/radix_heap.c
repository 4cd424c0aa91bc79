/*
 * radix-heap: buckets by the leading bit in which a deadline differs from the last tick seen.
 *
 *   last       = 0b...0110 1011
 *   bucket 0     due at or before it
 *   bucket 1     0b...0110 101x, x differs          (none: bit 0 of `last` is 1 already)
 *   bucket 3     0b...0110 11xx
 *   bucket 5     0b...0111 xxxx
 *   bucket 8     0b...1xxx xxxx         ... up to 64: all of 64 bits in 65 buckets
 *
 * start(a, 0b0111 0010) takes one exclusive-or with `last` and one count of leading zeros: bucket
 * 5. advance raises `last` to the new tick, say 0b0111 0000: all buckets below 5 are due, those
 * above keep their timers, because their leading difference is the same, and bucket 5, to which the
 * new tick belongs, is dealt out again: a goes to bucket 2. stop(a) unlinks a. A timer moves at
 * most once for each bit of its delay, however many timers there are, and usually much less.
 *
 * Seastar's timer_set is this structure: it does not sort, and sleeps until the earliest timer that
 * it saw, which it finds in the lowest bucket. Here each bucket keeps the earliest due tick ever
 * put into it, a lower bound. `last` is raised only when the lowest of these bounds is reached; an
 * earlier advance is one comparison.
 *
 * Expired timers go to the list DUE and fire from there, bucket by bucket. A timer that is due at
 * its start goes to LATE, which the next advance appends to DUE. The timers of a bucket are dealt,
 * by id, to eight lists that are walked side by side, so that eight nodes are fetched from memory
 * at once; bits show which lists have had any.
 *
 * Invariants
 *   - last <= clock; every timer in bucket b > 0 is due after `last`, and differs from it first in
 *     bit b - 1
 *   - bit b - 1 of `occupied` is set if bucket b holds timers (stops leave it), and bit i of
 *     striped[b] if its list i does
 *   - no timer of bucket b is due before earliest[b]
 *   - the buckets, DUE and LATE together hold exactly the pending timers
 *
 * Complexity: start, stop and a tick O(1), expiry O(1) and up to one move for each bit of the
 * delay, amortised. Use it where the order within an advance does not matter. Bad at: that order; a
 * bucket of very many timers that one advance deals out.
 *
 * Source: R. Ahuja, K. Mehlhorn, J. Orlin, R. Tarjan, "Faster algorithms for the shortest path
 * problem", JACM 37(2), 1990 (one-level radix heap); Seastar, include/seastar/core/timer-set.hh.
 */
#include "timerlab.h"

#include <inttypes.h>

#include "check.h"
#include "records.h"
#include "walk.h"

/* --- data ------------------------------------------------------------------------------------- */

#define BUCKETS     65u
#define STRIPES     8u /* lists of a bucket; a power of two */
#define DUE         (BUCKETS * STRIPES)
#define LATE        (DUE + 1)
#define FIRST_TIMER (LATE + 1)

struct node {
    uint64_t due;
    uint32_t next;
    uint32_t prev;
};

#define SLOT_LISTS struct radix_heap
#include "slot_list.h"

struct radix_heap {
    struct node *nodes AND_RECORDS; /* the buckets' lists, DUE, LATE, the timers */
    uint32_t capacity;
    uint64_t count;
    uint64_t clock;
    uint64_t last;     /* the tick that the buckets refer to */
    uint64_t occupied; /* bit b - 1: bucket b; bucket 0 needs none, LATE takes its timers */
    uint64_t earliest[BUCKETS];
    uint8_t striped[BUCKETS];
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#define NODES_FIRST FIRST_TIMER
#define NODE_ARRAY  struct radix_heap
#include "node_array.h"
#define STRUCTURE struct radix_heap
#include "structure.h"

/* --- data: buckets ---------------------------------------------------------------------------- */

static inline struct node *slot_node(const struct radix_heap *heap, uint32_t index)
{
    return node_at(heap, index);
}

/* The bucket of a timer due after `last`: 1 to 64. */
static inline uint32_t bucket_of(const struct radix_heap *heap, uint64_t due)
{
    return 64 - (uint32_t)__builtin_clzll(due ^ heap->last);
}

static inline uint32_t stripe_of(uint32_t bucket, uint32_t number)
{
    return bucket * STRIPES + number % STRIPES;
}

/* The head of a bucket's first list that may hold timers; that list is taken off `*striped`. */
static inline uint32_t next_stripe(uint32_t bucket, uint32_t *striped)
{
    uint32_t head = stripe_of(bucket, (uint32_t)__builtin_ctz(*striped));
    *striped &= *striped - 1;
    return head;
}

/* --- start and stop --------------------------------------------------------------------------- */

static void file(struct radix_heap *heap, uint32_t index)
{
    uint64_t due = node_at(heap, index)->due;
    uint32_t bucket = bucket_of(heap, due);
    uint64_t bit = UINT64_C(1) << (bucket - 1);
    if ((heap->occupied & bit) == 0 || due < heap->earliest[bucket]) {
        heap->earliest[bucket] = due;
    }
    heap->occupied |= bit;
    heap->striped[bucket] |= (uint8_t)(1u << index % STRIPES);
    slot_append(heap, stripe_of(bucket, index), index);
    TL_COUNT(heap, moves, 1);
}

/* Takes a timer out of its list. False: it was in none. */
static inline bool take(struct radix_heap *heap, uint32_t index)
{
    if (!slot_is_linked(heap, index)) {
        return false;
    }
    slot_remove(heap, index);
    heap->count--;
    TL_COUNT(heap, moves, 1);
    return true;
}

static enum tl_status heap_start(void *self, uint32_t id, uint64_t deadline)
{
    struct radix_heap *heap = self;
    uint32_t index = FIRST_TIMER + id;
    (void)take(heap, index);
    heap->count++;
    if (deadline <= heap->clock) {
        node_at(heap, index)->due = heap->clock;
        slot_append(heap, LATE, index);
        TL_COUNT(heap, moves, 1);
    } else {
        node_at(heap, index)->due = deadline;
        file(heap, index);
    }
    return TL_OK;
}

static enum tl_status heap_stop(void *self, uint32_t id)
{
    return take(self, FIRST_TIMER + id) ? TL_OK : TL_IDLE;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Empty a bucket that the new `last` reaches: its timers go to DUE, or to lower buckets. */
static void deal_out(struct radix_heap *heap, uint32_t bucket)
{
    uint32_t at[STRIPES];
    uint32_t open = 0;
    for (uint32_t striped = heap->striped[bucket]; striped != 0;) {
        uint32_t head = next_stripe(bucket, &striped);
        at[open] = node_at(heap, head)->next;
        PREFETCH(node_at(heap, at[open]));
        open += at[open] != head;
        slot_clear(heap, head);
    }
    heap->striped[bucket] = 0;
    while (open > 0) {
        for (uint32_t i = 0; i < open;) {
            uint32_t index = at[i];
            uint32_t next = node_at(heap, index)->next;
            PREFETCH(node_at(heap, next));
            TL_COUNT(heap, compares, 1);
            TL_COUNT(heap, cascades, node_at(heap, index)->due > heap->last);
            if (node_at(heap, index)->due <= heap->last) {
                slot_append(heap, DUE, index);
                TL_COUNT(heap, moves, 1);
            } else {
                file(heap, index);
            }
            if (next < FIRST_TIMER) { /* back at the head: another list takes its turn */
                at[i] = at[--open];
            } else {
                at[i++] = next;
            }
        }
    }
}

/* The earliest tick at which a timer in the buckets can be due; TL_NEVER if they are empty. */
static inline uint64_t lower_bound(const struct radix_heap *heap)
{
    return heap->occupied != 0 ? heap->earliest[1 + __builtin_ctzll(heap->occupied)] : TL_NEVER;
}

/* Moves everything that is due by the clock to DUE. */
static void collect_due(struct radix_heap *heap)
{
    if (lower_bound(heap) > heap->clock) {
        return;
    }
    uint32_t own = bucket_of(heap, heap->clock);
    heap->last = heap->clock;
    while (heap->occupied != 0 && (uint32_t)__builtin_ctzll(heap->occupied) < own - 1) {
        uint32_t bucket = 1 + (uint32_t)__builtin_ctzll(heap->occupied);
        heap->occupied &= heap->occupied - 1;
        for (uint32_t striped = heap->striped[bucket]; striped != 0;) { /* due altogether */
            slot_move_all(heap, next_stripe(bucket, &striped), DUE);
        }
        heap->striped[bucket] = 0;
        TL_COUNT(heap, slots, 1);
    }
    uint64_t bit = UINT64_C(1) << (own - 1);
    if ((heap->occupied & bit) != 0) {
        heap->occupied &= ~bit;
        deal_out(heap, own);
        TL_COUNT(heap, slots, 1);
    }
}

static uint64_t heap_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct radix_heap *heap = self;
    heap->clock = now;
    slot_move_all(heap, LATE, DUE);
    collect_due(heap);
    uint64_t fired = 0;
    while (fired < budget && !slot_is_empty(heap, DUE)) {
        uint32_t index = node_at(heap, DUE)->next;
        PREFETCH(node_at(heap, node_at(heap, index)->next));
        slot_remove(heap, index);
        heap->count--;
        TL_COUNT(heap, moves, 1);
        fired++;
        fire(ctx, index - FIRST_TIMER, now);
    }
    return fired;
}

static uint64_t heap_next(const void *self)
{
    const struct radix_heap *heap = self;
    if (heap->count == 0) {
        return TL_NEVER;
    }
    if (!slot_is_empty(heap, DUE) || !slot_is_empty(heap, LATE)) {
        return heap->clock;
    }
    return lower_bound(heap);
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status heap_reserve(void *self, uint32_t capacity)
{
    return nodes_reserve(self, capacity, SLOT_NONE - FIRST_TIMER - 1,
                         (struct node){.next = SLOT_NONE, .prev = SLOT_NONE});
}

static enum tl_status heap_create(const struct tl_config *config, void **self)
{
    struct radix_heap empty = {
        .clock = config->now, .last = config->now, .allocator = config->allocator};
    enum tl_status status = structure_create(config, &empty, heap_reserve, nodes_destroy, self);
    for (uint32_t head = 0; status == TL_OK && head < FIRST_TIMER; head++) {
        slot_clear(*self, head);
    }
    return status;
}

/* --- check and walk --------------------------------------------------------------------------- */

static enum tl_status heap_check(const void *self, char *why, size_t why_bytes)
{
    const struct radix_heap *heap = self;
    uint64_t seen = 0;
    for (uint32_t head = 0; head < FIRST_TIMER; head++) {
        if (!slot_walk(heap, head, heap->count, &seen)) {
            return corrupt(why, why_bytes, "the links of list %" PRIu32 " do not agree", head);
        }
        uint32_t bucket = head / STRIPES;
        for (uint32_t at = node_at(heap, head)->next; head < DUE && at != head;
             at = node_at(heap, at)->next) {
            uint64_t due = node_at(heap, at)->due;
            if (due <= heap->last || bucket_of(heap, due) != bucket ||
                due < heap->earliest[bucket] || (heap->occupied >> (bucket - 1) & 1) == 0 ||
                (heap->striped[bucket] >> head % STRIPES & 1) == 0) {
                return corrupt(why, why_bytes,
                               "timer %" PRIu32 " does not belong in bucket %" PRIu32,
                               at - FIRST_TIMER, bucket);
            }
        }
    }
    uint64_t linked = 0;
    for (uint32_t id = 0; id < heap->capacity; id++) {
        linked += slot_is_linked(heap, FIRST_TIMER + id);
    }
    if (seen != heap->count || linked != heap->count || heap->last > heap->clock) {
        return corrupt(why, why_bytes,
                       "%" PRIu64 " timers in lists, %" PRIu64 " with links, %" PRIu64 " counted",
                       seen, linked, heap->count);
    }
    return TL_OK;
}

static void walk_list(const struct radix_heap *heap, uint32_t head,
                      const struct tl_visitor *visitor)
{
    for (uint32_t i = node_at(heap, head)->next; i != head; i = node_at(heap, i)->next) {
        walk_timer(visitor, i - FIRST_TIMER, head < DUE ? node_at(heap, i)->due : TL_NEVER, 0);
    }
}

/* Bucket b stands for the ticks that first differ from `last` in bit b - 1: for none, if `last` has
 * that bit set, since those have passed. */
static void heap_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct radix_heap *heap = self;
    if (!slot_is_empty(heap, DUE) || !slot_is_empty(heap, LATE)) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        walk_list(heap, DUE, visitor);
        walk_list(heap, LATE, visitor);
    }
    walk_part(visitor, "buckets", TL_FORM_WHEEL, 0);
    walk_slot(visitor, 0, heap->last, 1, 0);
    for (uint32_t bucket = 1; bucket < BUCKETS; bucket++) {
        uint64_t width = UINT64_C(1) << (bucket - 1);
        bool set = (heap->occupied >> (bucket - 1) & 1) != 0;
        if ((heap->last & width) == 0) {
            uint64_t from = (heap->last | width) & ~(width - 1);
            uint64_t ticks = from < TL_DEADLINE_MAX ? width : 1;
            walk_slot(visitor, bucket, from + (ticks - 1), ticks, set ? TL_MARK_FLAGGED : 0);
        } else {
            walk_node(visitor, bucket, TL_NEVER);
        }
        for (uint32_t i = 0; i < STRIPES; i++) {
            walk_list(heap, stripe_of(bucket, i), visitor);
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(radix_heap) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "radix-heap",
    .summary = "buckets by the leading bit that differs from the last tick",
    .origin = "Ahuja, Mehlhorn, Orlin and Tarjan 1990; Seastar timer_set",
    .description =
        "Sixty-five lists: a timer goes to the one of the highest bit in which its deadline "
        "differs from the last tick worked off. When time reaches the lowest occupied list, its "
        "timers are dealt out to lower ones, at most once a bit. 16 bytes a timer, no horizon, no "
        "comparisons between timers. Bad at: order, which it does not keep within one advance; a "
        "list of very many timers that is dealt out at once.",
    .differs =
        "an advance before the earliest bound leaves the buckets as they are, where Seastar's "
        "expire deals a bucket out again even if nothing can be due; next is the earliest "
        "timeout ever put into the lowest bucket, where get_next_timeout is the earliest that "
        "was inserted since the last expire or then found in the lowest bucket, stopped or "
        "not; timers that fire in one advance do so in no order, bucket by bucket there as "
        "here; 65 buckets for 64 bits, Seastar's are 64 for 63; the paper's heap extracts one "
        "minimum after the other and so sorts, which neither of the two does.",
    .cost = {.start = "O(1)",
             .stop = "O(1)",
             .tick = "O(1)",
             .expire = "O(log of the delay) amortised"},
    .create = heap_create,
    .destroy = nodes_destroy,
    .reserve = heap_reserve,
    .start = heap_start,
    .stop = heap_stop,
    .advance = heap_advance,
    .next = heap_next,
    NODES_HOOKS,
    .check = heap_check,
    .walk = heap_walk,
};
