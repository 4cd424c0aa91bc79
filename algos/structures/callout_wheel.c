/*
 * callout-wheel: FreeBSD's callouts: each timer has a window, and timers with a common tick fire
 * together.
 *
 *   deviation=4: a window is 1/16 of the delay      bucket-bits=2, bits=15
 *
 *     timer   delay   window                        bucket   (deadline / 4) modulo 2^15
 *       7      1000   1000 ==== 1062                  250
 *       3      1040        1040 ==== 1105             260
 *       9      1060          1060 ==== 1126           265
 *      12      1070            1070 ==== 1136         267
 *     work at                  1062: 7, 3 and 9 fire, with one wakeup; 12 has not begun
 *
 * It is one wheel of lists, hashed by deadline; each timer keeps its tick. start(7, 1000) at tick 0
 * files timer 7 in bucket 250 and sets `work_at` to 1062, the end of the window that ends first.
 * advance(1061) only sets the clock. advance(1062) scans the buckets from the last scan to the
 * clock, and fires every timer with a window that has begun: 7, 3 and 9. Then it looks further, to
 * find the next end of a window: up to 16 buckets, or more after a longer pause. A stop unlinks its
 * timer and leaves `work_at`.
 *
 * If the look ahead finds no timer, `work_at` is the tick where it stopped: a wakeup every 16 to
 * 128 buckets is the cost of a bounded search.
 *
 * The length of a window is the larger of `precision` and the delay halved `deviation` times.
 *
 * Invariants
 *   - a timer of deadline d, or of the last scan if that was later, is in bucket d >> bucket-bits,
 *     modulo the buckets; no deadline in the wheel is before that of the last scan
 *   - `ahead` is the least distance that the next scan looks at
 *   - no window in the wheel ends before `work_at`, unless `work_at` is 0, because a budget left
 *     timers in DUE
 *
 * Complexity (b buckets): start and stop O(1), a tick O(1), or O(n / b) at a vain wakeup; expiry
 * O(1) and one visit for each scan, n / b for delays of many turns. Use it where few wakeups matter
 * more than exact ticks. Bad at: exact expiry (with windows of 0 it wakes for every timer), order,
 * small memories (the buckets alone take 0.8 MB).
 *
 * Source: freebsd/freebsd-src, sys/kern/kern_timeout.c (callout_process, callout_cc_add,
 * callout_reset_sbt_on; A. Motin and D. Italiano, 2013), kern_tc.c (tc_adjprecision).
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define BITS_MIN          3
#define BITS_MAX          20
#define WIDTH_BITS_MAX    32
#define NO_DEVIATION      64  /* more halvings than a delay has bits */
#define LOOKAHEAD_SAME    16u /* buckets; the last scan was in this bucket, a sixteenth second */
#define LOOKAHEAD_NEXT    32u /* in the one before */
#define LOOKAHEAD_FURTHER 128u
#define LOOKAHEAD_TICKS   (UINT64_C(1) << 61) /* and never further than that */

#define BUCKET_STRIPES    1u
struct node {
    uint64_t due;    /* the window's first tick */
    uint64_t latest; /* and its last */
    uint32_t next;
    uint32_t prev;
};
#include "timer_buckets.h"

#define FIRST_BUCKET 2u /* bucket 0 of the wheel */

struct callout_wheel {
    struct timer_buckets buckets;
    uint64_t work_at; /* before this tick an advance has nothing to do but to set the clock */
    uint64_t last_scan;
    uint64_t ahead; /* buckets */
    uint32_t slots;
    uint32_t shift; /* log2 of a bucket's ticks */
    uint64_t precision;
    uint32_t deviation;
};
#define STRUCTURE struct callout_wheel
#define WORK_AT
#define NEXT_WORK
#define TAKES_FROM FIRST_BUCKET
#include "bucket_hooks.h"

/* --- start and stop --------------------------------------------------------------------------- */

static inline uint32_t slot_of(const struct callout_wheel *wheel, uint64_t tick)
{
    return (uint32_t)(tick >> wheel->shift) & (wheel->slots - 1);
}

/* How long a window is; of a deadline that is not ahead: no more than the moment. */
static inline uint64_t window_of(uint64_t precision, uint32_t deviation, uint64_t delay)
{
    if (delay == 0) {
        return 0;
    }
    uint64_t part = deviation < 64 ? delay >> deviation : 0;
    return part > precision ? part : precision;
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct callout_wheel *wheel = self;
    struct timer_buckets *buckets = &wheel->buckets;
    uint32_t index = take_for_start(wheel, id);
    uint64_t delay = deadline > buckets->clock ? deadline - buckets->clock : 0;
    struct node *node = node_at(buckets, index);
    node->due = deadline > wheel->last_scan ? deadline : wheel->last_scan;
    node->latest = node->due + window_of(wheel->precision, wheel->deviation, delay);
    uint32_t head = bucket_head(buckets, FIRST_BUCKET + slot_of(wheel, node->due), 0);
    slot_append(buckets, node_at(buckets, head)->next, index); /* in front of the others */
    TL_COUNT(buckets, moves, 1);
    work_before(wheel, node->latest);
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* The state of a scan. */
struct scan {
    uint64_t last_bucket; /* to be looked into */
    uint64_t limit;       /* timers from this tick on do not count */
    uint64_t last;        /* the earliest end of a window found */
};

/* Move timers with a window that has begun to DUE, and note the others. */
static void scan_bucket(struct callout_wheel *wheel, uint64_t bucket, struct scan *scan)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint32_t slot = (uint32_t)bucket & (wheel->slots - 1);
    uint32_t head = bucket_head(buckets, FIRST_BUCKET + slot, 0);
    uint32_t index = node_at(buckets, head)->next;
    TL_COUNT(buckets, slots, 1);
    while (index != head) {
        const struct node *node = node_at(buckets, index);
        uint32_t next = node->next;
        TL_COUNT(buckets, compares, 1);
        if (node->due <= buckets->clock) {
            slot_remove(buckets, index);
            bucket_append(buckets, DUE, index);
        } else if (node->due > scan->last) {
            /* It cannot fire with the window that ends first, nor can later ones; but a timer of a
             * later turn does not end the search in the buckets that follow. */
            if (node->due >> wheel->shift == bucket) {
                scan->last_bucket = bucket;
            }
        } else if (node->due < scan->limit && node->latest < scan->last) {
            scan->last = node->latest;
        }
        index = next;
    }
}

/* Moves the clock to `now`, everything that has begun by then to DUE, and work_at on. */
static void collect_due(struct callout_wheel *wheel, uint64_t now)
{
    uint64_t bucket = wheel->last_scan >> wheel->shift;
    uint64_t now_bucket = now >> wheel->shift;
    uint64_t ahead = now_bucket == bucket       ? LOOKAHEAD_SAME
                     : now_bucket - bucket == 1 ? LOOKAHEAD_NEXT
                                                : LOOKAHEAD_FURTHER;
    ahead = ahead > wheel->ahead ? ahead : wheel->ahead;
    struct scan scan = {.last_bucket = now_bucket + ahead - 1,
                        .limit = (now_bucket + ahead) << wheel->shift};
    if (scan.last_bucket - bucket >= wheel->slots) {
        scan.last_bucket = bucket + wheel->slots - 1;
    }
    scan.last = scan.limit;
    wheel->buckets.clock = now;
    wheel->last_scan = now;
    do {
        scan_bucket(wheel, bucket, &scan);
        bucket++;
    } while (bucket <= scan.last_bucket);
    wheel->work_at = scan.last;
    wheel->ahead = 0;
    if (scan.last == scan.limit && bucket_is_empty(&wheel->buckets, DUE)) {
        uint64_t most = LOOKAHEAD_TICKS >> wheel->shift;
        wheel->ahead = 2 * ahead < most ? 2 * ahead : most;
    }
}

static uint64_t next_work(const struct callout_wheel *wheel)
{
    return wheel->work_at;
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint32_t bits;
    uint32_t bucket_bits;
    uint64_t precision;
    uint32_t deviation;
};

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    uint32_t slots = UINT32_C(1) << options->bits;
    struct callout_wheel empty = {
        .buckets = buckets_empty(config, FIRST_BUCKET + slots),
        .work_at = TL_NEVER,
        .last_scan = config->now,
        .slots = slots,
        .shift = options->bucket_bits,
        .precision = options->precision,
        .deviation = options->deviation,
    };
    return structure_create(config, &empty, buckets_reserve, buckets_destroy, self);
}

static const struct tl_choice deviation_choices[] = {
    {"none", NO_DEVIATION, "the window is `precision`, whatever the delay"},
    {NULL, 0, NULL},
};

static const struct tl_option wheel_option_table[] = {
    {"bits", TL_U32(struct wheel_options, bits), 15, BITS_MIN, BITS_MAX, NULL,
     "buckets are 2^bits (callwheelsize)"},
    {"bucket-bits", TL_U32(struct wheel_options, bucket_bits), 2, 0, WIDTH_BITS_MAX, NULL,
     "a bucket is 2^bucket-bits ticks: about 1/256 second"},
    {"precision", TL_TICKS(struct wheel_options, precision), 0, 0, INT64_C(1) << 32, NULL,
     "ticks by which any timer may be late"},
    {"deviation", TL_U32(struct wheel_options, deviation), 4, 1, 31, deviation_choices,
     "a timer may be late by its delay halved this many times (tc_precexp)"},
    {0},
};

static struct tl_precision wheel_precision(const void *given, uint64_t delay_ticks)
{
    const struct wheel_options *options = given;
    return (struct tl_precision){
        .late_ticks = window_of(options->precision, options->deviation, delay_ticks)};
}

/* --- check and walk --------------------------------------------------------------------------- */

static bool bucket_takes(const struct callout_wheel *wheel, uint32_t bucket,
                         const struct node *node)
{
    return FIRST_BUCKET + slot_of(wheel, node->due) == bucket && node->due >= wheel->last_scan &&
           node->latest >= wheel->work_at;
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct callout_wheel *wheel = self;
    const struct timer_buckets *buckets = &wheel->buckets;
    uint64_t width = UINT64_C(1) << wheel->shift;
    uint64_t hand = wheel->last_scan >> wheel->shift;
    buckets_walk_due(buckets, visitor);
    walk_level(visitor, 1, width);
    for (uint32_t slot = 0; slot < wheel->slots; slot++) {
        uint64_t from = (hand + ((slot - hand) & (wheel->slots - 1))) << wheel->shift;
        walk_span(visitor, slot, from, from + (width - 1),
                  slot == slot_of(wheel, wheel->last_scan) ? TL_MARK_HAND : 0u);
        for (uint32_t i = bucket_first(buckets, FIRST_BUCKET + slot); i != SLOT_NONE;
             i = bucket_after(buckets, FIRST_BUCKET + slot, i)) {
            uint64_t due = node_at(buckets, i)->due;
            walk_timer(visitor, timer_id(buckets, i), due, (due - from) / width / wheel->slots);
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(callout_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "callout-wheel",
    .summary = "a hashed wheel of windows: timers that may be late fire together",
    .origin = "FreeBSD 10, sys/kern/kern_timeout.c",
    .description =
        "One wheel of 2^15 buckets of four ticks. Each timer may be late by 1/16 of its delay, or "
        "as much as is asked for, and nothing is done before the first of these windows ends: "
        "then fires whatever has begun, so that one wakeup serves many timers. Each scan looks "
        "some buckets ahead for the end of the next window, and the wheel is looked at again "
        "where it stopped. Bad at: windows of 0, for which it wakes as often as any, and small "
        "memories.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(n/b)", .expire = "O(n/b)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .precision = wheel_precision,
    .create = wheel_create,
    .start = wheel_start,
    .advance = buckets_advance,
    .next = buckets_next,
    BUCKETS_HOOKS,
    .check = buckets_checked,
    .walk = wheel_walk,
    .differs = "one precision for all timers, where each start gives its own. An advance before "
               "the first window ends fires nothing, where an interrupt that comes anyway fires "
               "timers inside their window. A deadline that is not ahead fires at once, whatever "
               "`precision`. One wheel, where each processor has its own. Deadlines are not moved "
               "to the next clock interrupt for long delays, and callbacks cannot run in the "
               "interrupt. A look ahead in vain goes twice as far as the last, where it wakes up "
               "again and again; and after a pause of nearly a turn it sees all the next timers, "
               "where those of a later turn may hide them. A bucket's head takes 24 bytes, not 8.",
};
