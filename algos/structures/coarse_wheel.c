/*
 * coarse-wheel: the wheel of Linux since 4.8: distant timers have coarse slots and fire there,
 * without cascades.
 *
 *   levels=9                                         the table in kernel/time/timer.c
 *   level   offset   granularity   takes delays from       (HZ=1000: a tick is 1 ms)
 *     1         0              1                   1           0 ms -         63 ms
 *     2        64              8                  63          64 ms -        511 ms
 *     ...
 *     9       512     16,777,216         132,120,576   134217728 ms - 1073741822 ms
 *             cutoff                   1,056,964,608   (63 << 24)
 *
 * Each level has 64 slots, eight times as wide as those of the level before. At tick 0, start(a,
 * 100) rounds the deadline up to 104 and files a in the slot of that tick on level 2. advance(104)
 * fires a, 4 ticks late: never early, and late by less than the granularity, at most 8/63 of the
 * delay. stop(a) unlinks it. No timer cascades.
 *
 * Each level begins at 63 << 3*(n-1), a granule of the level below earlier than the kernel's
 * comment says, because a slot is at most 64 granules away and rounding up may add one.
 *
 * rounding=ceil rounds up to a multiple of the granularity. rounding=next, the kernel's rule, goes
 * on to the next multiple even from a multiple: a timer of level 1 is a tick late.
 *
 * Beyond the cutoff (12 days at HZ=1000) the kernel fires at the furthest slot, that is early. Here
 * such a timer is filed there, and again when that slot expires.
 *
 * A bitmap for each level (the kernel's pending_map) finds the occupied slots. Before `work_at`
 * (the kernel's next_expiry), the tick of the first of them, an advance only sets the clock.
 *
 * Invariants
 *   - a slot of a level with granularity 8^k holds timers of one bucket b, clock / 8^k < b <=
 *     clock / 8^k + 64, and fires at b * 8^k; its timers are due less than a granule before that,
 *     except those beyond the cutoff, on the highest level
 *   - a slot's bit is set exactly if it holds timers
 *   - no slot expires before `work_at`, which is 0 if DUE or LATE holds timers
 *
 * Complexity (m levels): start, stop, a tick and expiry O(1), `next` O(m). Use it for timeouts that
 * are mostly stopped. Bad at: precision, by design; timers of one granule fire together, in one
 * long advance.
 *
 * Source: torvalds/linux, kernel/time/timer.c (T. Gleixner, 2016).
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define SLOTS_BITS     6u
#define SLOTS          64u
#define CLOCK_SHIFT    3u /* a level is 2^3 times as coarse as the one before */
#define LEVELS_MIN     5  /* 2^18 ticks: with less, far timers would be filed again without end */
#define LEVELS_MAX     19 /* the last then reaches 2^60 */

#define BUCKET_STRIPES 4u
#include "due_buckets.h"

#define FLUSH        2u /* the bucket of the highest level's timers that may be filed again */
#define FIRST_BUCKET 3u /* slot 0 of level 1 */

struct coarse_wheel {
    struct timer_buckets buckets;
    uint64_t work_at; /* before this tick an advance has nothing to do but to set the clock */
    uint64_t cutoff;  /* the first delay that no level takes */
    uint32_t level_count;
    bool ceil;                  /* rounding=ceil */
    uint8_t level_of_zeros[64]; /* by the number of zeros before the delay's highest bit */
    uint64_t occupied[LEVELS_MAX];
};
#define STRUCTURE  struct coarse_wheel
#define LEVEL_BITS SLOTS_BITS
#define LEVEL_STEP CLOCK_SHIFT
#define WORK_AT
#define FILE_TIMER
#include "slot_levels.h"

/* --- start and stop --------------------------------------------------------------------------- */

/* The level that takes a delay, by the one that takes the power of two below it: a level begins a
 * granule of the level before its own first power of two. */
static inline uint32_t level_of(uint32_t level_below, uint64_t delay)
{
    return level_below + (delay >> (level_below * CLOCK_SHIFT) >= SLOTS - 1);
}

/* Files a timer that is in no list and due after the clock. Returns when its slot comes. */
static inline uint64_t file_timer(struct coarse_wheel *wheel, uint32_t index, uint64_t due)
{
    uint64_t delay = due - wheel->buckets.clock;
    uint32_t level = level_of(wheel->level_of_zeros[__builtin_clzll(delay)], delay);
    if (delay >= wheel->cutoff) {
        level = wheel->level_count - 1;
        due = wheel->buckets.clock + wheel->cutoff - (UINT64_C(1) << (level * CLOCK_SHIFT));
    }
    uint32_t shift = level * CLOCK_SHIFT;
    uint64_t bucket = ((due - wheel->ceil) >> shift) + 1;
    uint32_t slot = (uint32_t)bucket % SLOTS;
    wheel->occupied[level] |= UINT64_C(1) << slot;
    bucket_file(&wheel->buckets, FIRST_BUCKET + level * SLOTS + slot, level == 0, index);
    return bucket << shift;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Moves the clock to `now`, and the timers of all slots that have come by then to DUE. */
static void collect_due(struct coarse_wheel *wheel, uint64_t now)
{
    struct timer_buckets *buckets = &wheel->buckets;
    if (wheel->work_at == 0) {
        bucket_move_all(buckets, LATE, DUE);
    }
    uint64_t old = wheel->buckets.clock;
    wheel->buckets.clock = now;
    for (uint32_t level = 0; level < wheel->level_count; level++) {
        uint32_t shift = level * CLOCK_SHIFT;
        uint64_t from = old >> shift;
        uint64_t steps = (now >> shift) - from;
        if (steps == 0) {
            break; /* nor has any coarser clock moved */
        }
        uint32_t hand = (uint32_t)from % SLOTS;
        uint64_t passed = bitmap_after(wheel->occupied[level], hand, SLOTS) & bitmap_low(steps);
        TL_COUNT(buckets, slots, 1);
        bool last = level + 1 == wheel->level_count;
        for (; passed != 0; passed &= passed - 1) {
            uint32_t slot = (hand + 1 + bitmap_first(passed)) % SLOTS;
            uint32_t bucket = FIRST_BUCKET + level * SLOTS + slot;
            if (level == 0) {
                bucket_move_near(buckets, bucket, DUE);
            } else {
                bucket_move_all(buckets, bucket, last ? FLUSH : DUE);
            }
            wheel->occupied[level] &= ~(UINT64_C(1) << slot);
            TL_COUNT(buckets, slots, 1);
        }
        if (last) {
            bucket_empty(buckets, FLUSH, file_again, wheel);
        }
    }
    wheel->work_at = next_work(wheel);
    bucket_prefetch_near(buckets, FIRST_BUCKET + (uint32_t)(now + 2) % SLOTS);
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint32_t levels;
    uint32_t rounding;
};
enum rounding { ROUNDING_CEIL, ROUNDING_NEXT };

/* The shortest delay that `level` (from 0) takes; of the level after the last: the cutoff. */
static inline uint64_t level_start(uint32_t level)
{
    return level > 0 ? (uint64_t)(SLOTS - 1) << ((level - 1) * CLOCK_SHIFT) : 0;
}

/* The level, from 0, that takes a delay of 2^bit, if there were levels without end. */
static inline uint32_t level_of_bit(uint32_t bit)
{
    return bit < SLOTS_BITS ? 0 : (bit - SLOTS_BITS) / CLOCK_SHIFT + 1;
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    uint32_t levels = options->levels;
    struct coarse_wheel empty = {
        .buckets = buckets_empty(config, FIRST_BUCKET + levels * SLOTS),
        .work_at = TL_NEVER,
        .cutoff = level_start(levels),
        .level_count = levels,
        .ceil = options->rounding == ROUNDING_CEIL,
    };
    for (uint32_t zeros = 0; zeros < 64; zeros++) {
        empty.level_of_zeros[zeros] = (uint8_t)level_of_bit(63 - zeros);
    }
    return structure_create(config, &empty, buckets_reserve, buckets_destroy, self);
}

static const struct tl_choice rounding_choices[] = {
    {"ceil", ROUNDING_CEIL, "up to a multiple of the granularity"},
    {"next", ROUNDING_NEXT, "on to the next multiple even from a multiple, as the kernel"},
    {NULL, 0, NULL},
};

static const struct tl_option wheel_option_table[] = {
    {"levels", TL_U32(struct wheel_options, levels), 9, LEVELS_MIN, LEVELS_MAX, NULL,
     "levels of 64 slots (LVL_DEPTH); timers beyond wait in the last"},
    {"rounding", TL_CHOICE(struct wheel_options, rounding), ROUNDING_CEIL, 0, 0, rounding_choices,
     "where a deadline inside a granule goes"},
    {0},
};

static struct tl_precision wheel_precision(const void *given, uint64_t delay_ticks)
{
    const struct wheel_options *options = given;
    uint32_t last = options->levels - 1;
    uint32_t bit = delay_ticks > 0 ? 63 - (uint32_t)__builtin_clzll(delay_ticks) : 0;
    uint32_t level = level_of(level_of_bit(bit), delay_ticks);
    level = level < last ? level : last;
    uint64_t granularity = UINT64_C(1) << (level * CLOCK_SHIFT);
    bool next = options->rounding == ROUNDING_NEXT;
    return (struct tl_precision){.late_ticks = granularity - !next};
}

/* --- check and walk --------------------------------------------------------------------------- */

static bool slot_takes(const struct coarse_wheel *wheel, uint32_t level, uint32_t slot,
                       const struct node *node)
{
    uint64_t at = slot_turn(wheel, level, slot);
    uint64_t late = (UINT64_C(1) << LEVEL_SHIFT(level)) - wheel->ceil;
    return (node->due <= at || level + 1 == wheel->level_count) && at <= node->due + late;
}

static uint64_t slot_from(const struct coarse_wheel *wheel, uint32_t level, uint32_t slot)
{
    return slot_turn(wheel, level, slot) + wheel->ceil - (UINT64_C(1) << LEVEL_SHIFT(level));
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(coarse_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "coarse-wheel",
    .summary = "levels that grow coarser and fire in place: nothing cascades",
    .origin = "Linux 4.8, kernel/time/timer.c",
    .description =
        "Nine levels of 64 slots, each eight times as coarse as the one before. A timer's delay "
        "names its level, its deadline is rounded up to the level's granularity, and it fires from "
        "that slot: never early, late by at most 8/63 of the delay. A bitmap a level leads from "
        "occupied slot to occupied slot. A timer beyond the cutoff, where the kernel would fire "
        "early, waits in the furthest slot and is filed again. Bad at: precision, by design, and "
        "many timers of one granule, which fire in one advance.",
    .differs =
        "a deadline that is a multiple of its granule fires there, where the kernel goes on to the "
        "next one: rounding=next is the kernel's; a timer beyond the cutoff waits and is filed "
        "again, where the kernel fires at the furthest slot, early; a timer that is set to the "
        "deadline that it has is filed again as any other, where mod_timer leaves it in the "
        "coarser slot that it may be in; the clock is the tick, where the kernel's is one jiffy "
        "ahead once the timers of a jiffy have run, so that delays at a level's first tick may be "
        "filed a level lower there; the timers of one advance fire level by level in order of "
        "start, in the kernel bucket by bucket, coarse ones first, newest first; no lock, no "
        "deferrable, pinned or migrating timers.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(1)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .precision = wheel_precision,
    .create = wheel_create,
    .start = buckets_start,
    .advance = buckets_advance,
    .next = buckets_next,
    BUCKETS_HOOKS,
    .check = levels_check,
    .walk = levels_walk,
};
