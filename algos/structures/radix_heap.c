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
 * Expired timers go to the bucket DUE and fire from there. A timer that is due at its start goes to
 * LATE, which the next advance appends to DUE.
 *
 * Invariants
 *   - last <= clock; every timer in bucket b > 0 is due after `last`, and differs from it first in
 *     bit b - 1
 *   - bit b - 1 of `occupied` is set if bucket b holds timers (stops leave it)
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

/* --- data ------------------------------------------------------------------------------------- */

#define RADIX_BUCKETS  64u
#define BUCKET_STRIPES 4u
#include "due_buckets.h"

#define BUCKET_0 LATE /* it needs no other list; bucket b is BUCKET_0 + b */

struct radix_heap {
    struct timer_buckets buckets;
    uint64_t last;     /* the tick that the buckets refer to */
    uint64_t occupied; /* bit b - 1: bucket b */
    uint64_t earliest[RADIX_BUCKETS + 1];
};
#define STRUCTURE struct radix_heap
#define FILE_TIMER
#define NEXT_WORK
#define TAKES_FROM (BUCKET_0 + 1)
#include "bucket_hooks.h"

/* Return the bucket of a timer due after `last`: 1 to 64. */
static inline uint32_t radix_bucket(const struct radix_heap *heap, uint64_t due)
{
    return 64 - (uint32_t)__builtin_clzll(due ^ heap->last);
}

/* --- start and stop --------------------------------------------------------------------------- */

static inline void file_timer(struct radix_heap *heap, uint32_t index, uint64_t due)
{
    uint32_t bucket = radix_bucket(heap, due);
    uint64_t bit = UINT64_C(1) << (bucket - 1);
    if ((heap->occupied & bit) == 0 || due < heap->earliest[bucket]) {
        heap->earliest[bucket] = due;
    }
    heap->occupied |= bit;
    bucket_append(&heap->buckets, BUCKET_0 + bucket, index);
}

/* --- advance and next ------------------------------------------------------------------------- */

/* The earliest tick at which a timer in the buckets can be due; TL_NEVER if they are empty. */
static uint64_t next_work(const struct radix_heap *heap)
{
    return heap->occupied != 0 ? heap->earliest[1 + __builtin_ctzll(heap->occupied)] : TL_NEVER;
}

/* Move all timers due by the clock to DUE. */
static void collect_due(struct radix_heap *heap, uint64_t now)
{
    struct timer_buckets *buckets = &heap->buckets;
    buckets->clock = now;
    bucket_move_all(buckets, LATE, DUE);
    if (next_work(heap) > now) {
        return;
    }
    uint32_t own = radix_bucket(heap, now);
    heap->last = now;
    for (; heap->occupied != 0; heap->occupied &= heap->occupied - 1) {
        uint32_t bucket = 1 + (uint32_t)__builtin_ctzll(heap->occupied);
        if (bucket >= own) {
            break;
        }
        bucket_move_all(buckets, BUCKET_0 + bucket, DUE); /* all are due */
        TL_COUNT(buckets, slots, 1);
    }
    uint64_t bit = UINT64_C(1) << (own - 1);
    if ((heap->occupied & bit) != 0) {
        heap->occupied &= ~bit;
        bucket_empty(buckets, BUCKET_0 + own, file_again, heap);
        TL_COUNT(buckets, slots, 1);
    }
}

/* --- create and options ----------------------------------------------------------------------- */

static enum tl_status heap_create(const struct tl_config *config, void **self)
{
    struct radix_heap empty = {.buckets = buckets_empty(config, BUCKET_0 + RADIX_BUCKETS + 1),
                               .last = config->now};
    return structure_create(config, &empty, buckets_reserve, buckets_destroy, self);
}

/* --- check and walk --------------------------------------------------------------------------- */

static bool bucket_takes(const struct radix_heap *heap, uint32_t bucket, const struct node *node)
{
    uint32_t b = bucket - BUCKET_0;
    return heap->last <= heap->buckets.clock && node->due > heap->last &&
           radix_bucket(heap, node->due) == b && node->due >= heap->earliest[b] &&
           (heap->occupied >> (b - 1) & 1) != 0;
}

/* Bucket b has the ticks that first differ from `last` in bit b - 1: none, if `last` has that bit
 * set, since those have passed. */
static void heap_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct radix_heap *heap = self;
    buckets_walk_due(&heap->buckets, visitor);
    walk_part(visitor, "buckets", TL_FORM_WHEEL, 0);
    walk_slot(visitor, 0, heap->last, 1, 0);
    for (uint32_t bucket = 1; bucket <= RADIX_BUCKETS; bucket++) {
        uint64_t width = UINT64_C(1) << (bucket - 1);
        bool set = (heap->occupied >> (bucket - 1) & 1) != 0;
        if ((heap->last & width) == 0) {
            uint64_t from = (heap->last | width) & ~(width - 1);
            uint64_t ticks = from < TL_DEADLINE_MAX ? width : 1;
            walk_slot(visitor, bucket, from + (ticks - 1), ticks, set ? TL_MARK_FLAGGED : 0);
        } else {
            walk_node(visitor, bucket, TL_NEVER);
        }
        bucket_walk(&heap->buckets, BUCKET_0 + bucket, keep_due, visitor);
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
    .start = buckets_start,
    .advance = buckets_advance,
    .next = buckets_next,
    BUCKETS_HOOKS,
    .check = buckets_checked,
    .walk = heap_walk,
};
