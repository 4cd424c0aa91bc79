/*
 * cache-wheel: the wheel that expires the entries of a cache in Caffeine: five levels, up to a
 * second late.
 *
 *   span=1024                 (a tick of 1 ms: Caffeine's 2^30 ns, the second rounded up)
 *   level   buckets   ticks a bucket             takes delays below
 *     1        64          1,024   1.02 s                65,536
 *     2        64         65,536   1.09 m             4,194,304
 *     3        32      4,194,304   1.17 h           134,217,728
 *     4         4    134,217,728   1.55 d           536,870,912
 *     5         1    536,870,912    6.2 d                   all
 *
 * A timer goes to the first level where its delay is below the length of the next level's bucket.
 * At tick 0, start(a, 70000) files a in bucket 1 of level 2. At tick 65,536 the clock enters that
 * bucket and empties it: a is filed again, in bucket 4 of level 1 (69,632 to 70,655). When the
 * clock leaves bucket 4, at tick 70,656, a fires, 656 ticks late. stop(a) unlinks it at any time.
 *
 * A cache drops an entry some time after it has expired; each reader checks the clock itself. So
 * the buckets are a second, a minute, an hour and a day wide, rounded up to a power of two.
 *
 * When the clock enters another bucket of a level, all buckets from the one that it leaves to the
 * one that it enters are emptied: expired timers go to DUE, all others are filed again. A timer
 * that is a whole turn away is in the clock's own bucket and is looked at a turn too soon, as in
 * the original. A bitmap for each level shows the occupied buckets.
 *
 * Invariants
 *   - a timer of a level is in bucket due >> shift mod buckets, and the clock has not left that
 *   - a bucket's bit is set exactly if it holds timers
 *   - the buckets and DUE together hold exactly the pending timers; LATE is not used, and FLUSH is
 *     empty between calls
 *
 * Complexity: start, stop, a tick and `next` O(1), expiry O(1) and one move for each level. Use it
 * for deadlines that only limit memory. Bad at: precision: a timeout of 10 ms may expire a second
 * late; a bucket of very many timers, which one advance files again.
 *
 * Source: ben-manes/caffeine, TimerWheel.java (August 2026): advance, expire, findBucket,
 * getExpirationDelay.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define LEVELS         5u
#define SPAN_MAX       (INT64_C(1) << 30)

#define BUCKET_STRIPES 1u
#include "due_buckets.h"

#define FLUSH        2u /* the timers of the bucket that an advance is emptying */
#define FIRST_BUCKET 3u /* bucket 0 of level 1 */

/* Caffeine's, the widths in units of `span`. Level n begins with bucket `first`. */
static const struct level {
    uint32_t buckets;
    uint32_t shift; /* log2 of the width */
    uint32_t first;
} levels[LEVELS] = {{64, 0, 0}, {64, 6, 64}, {32, 12, 128}, {4, 17, 160}, {1, 19, 164}};

#define BUCKETS 165u

/* The level of a bucket that is not one of the first lists. */
static inline uint32_t level_of_bucket(uint32_t bucket)
{
    uint32_t level = LEVELS - 1;
    while (bucket - FIRST_BUCKET < levels[level].first) {
        level--;
    }
    return level;
}

struct cache_wheel {
    struct timer_buckets buckets;
    uint32_t span_shift; /* log2 of span */
    uint64_t occupied[LEVELS];
};
#define STRUCTURE           struct cache_wheel
#define LEVEL_COUNT         LEVELS
#define LEVEL_SHIFT(level)  (wheel->span_shift + levels[level].shift)
#define LEVEL_SLOTS(level)  levels[level].buckets
#define LEVEL_BUCKET(level) (FIRST_BUCKET + levels[level].first)
#define LEVEL_OF(bucket)    level_of_bucket(bucket)
#define SLOT_FROM           slot_began
#define FILE_TIMER
#define NEXT_WORK
#include "slot_levels.h"

/* --- start and stop --------------------------------------------------------------------------- */

/* The level, from 0, that takes a delay. */
static inline uint32_t level_of(uint32_t span_shift, uint64_t delay)
{
    uint64_t spans = delay >> span_shift;
    uint32_t level = 0;
    while (level + 1 < LEVELS && spans >> levels[level + 1].shift != 0) {
        level++;
    }
    return level;
}

/* Files a timer that is in no list and not due before the clock. */
static inline void file_timer(struct cache_wheel *wheel, uint32_t index, uint64_t due)
{
    uint32_t n = level_of(wheel->span_shift, due - wheel->buckets.clock);
    const struct level *level = &levels[n];
    uint32_t slot = (uint32_t)(due >> wheel->span_shift >> level->shift) & (level->buckets - 1);
    wheel->occupied[n] |= UINT64_C(1) << slot;
    bucket_append(&wheel->buckets, FIRST_BUCKET + level->first + slot, index);
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct cache_wheel *wheel = self;
    uint32_t index = take_for_start(wheel, id);
    uint64_t due = deadline > wheel->buckets.clock ? deadline : wheel->buckets.clock;
    node_at(&wheel->buckets, index)->due = due;
    file_timer(wheel, index, due);
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* The occupied buckets of level n, turned so that bit 0 is number `from`, and bit 1 the next. */
static inline uint64_t occupied_from(const struct cache_wheel *wheel, uint32_t n, uint64_t from)
{
    uint32_t buckets = levels[n].buckets;
    return bitmap_after(wheel->occupied[n], (uint32_t)(from - 1) & (buckets - 1), buckets);
}

/* Empties the first `count` buckets of level n from number `from` on. A bucket that is filled
 * meanwhile by timers a turn away is emptied, too, if it comes later. */
static void empty_buckets(struct cache_wheel *wheel, uint32_t n, uint64_t from, uint64_t count)
{
    for (uint32_t position = 0; position < count; position++) {
        uint64_t left = occupied_from(wheel, n, from) & bitmap_low(count) & ~bitmap_low(position);
        TL_COUNT(&wheel->buckets, slots, 1);
        if (left == 0) {
            return;
        }
        position = bitmap_first(left);
        uint32_t slot = (uint32_t)(from + position) & (levels[n].buckets - 1);
        wheel->occupied[n] &= ~(UINT64_C(1) << slot);
        bucket_move_all(&wheel->buckets, FIRST_BUCKET + levels[n].first + slot, FLUSH);
        /* From its beginning on: bucket_empty would walk it from both ends. */
        slots_drain(&wheel->buckets, FLUSH, 1, 0, file_again, wheel);
    }
}

/* Moves the clock to `now`, and the expired timers of the buckets that it leaves
 * and enters to DUE. */
static void collect_due(struct cache_wheel *wheel, uint64_t now)
{
    uint64_t old = wheel->buckets.clock;
    wheel->buckets.clock = now;
    for (uint32_t n = 0; n < LEVELS; n++) {
        uint32_t shift = LEVEL_SHIFT(n);
        uint64_t from = old >> shift;
        uint64_t steps = (now >> shift) - from;
        if (steps == 0) {
            break; /* nor has it left a wider one */
        }
        uint64_t count = steps < levels[n].buckets ? steps + 1 : levels[n].buckets;
        empty_buckets(wheel, n, from, count);
    }
}

static uint64_t next_work(const struct cache_wheel *wheel)
{
    uint64_t next = TL_NEVER;
    for (uint32_t n = 0; n < LEVELS; n++) {
        uint64_t from = wheel->buckets.clock >> (LEVEL_SHIFT(n));
        uint64_t left = occupied_from(wheel, n, from);
        if (left != 0) {
            uint64_t ahead = bitmap_first(left) > 0 ? bitmap_first(left) : 1;
            uint64_t tick = (from + ahead) << LEVEL_SHIFT(n);
            next = tick < next ? tick : next;
        }
    }
    return next;
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint32_t span;
};

static uint32_t span_shift_of(const struct wheel_options *options)
{
    uint32_t shift = 0;
    while ((UINT64_C(1) << shift) < options->span) {
        shift++;
    }
    return shift;
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    return structure_create(config,
                            &(struct cache_wheel){
                                .buckets = buckets_empty(config, FIRST_BUCKET + BUCKETS),
                                .span_shift = span_shift_of(config->options),
                            },
                            buckets_reserve, buckets_destroy, self);
}

static const struct tl_option wheel_option_table[] = {
    {"span", TL_U32(struct wheel_options, span), 1024, 1, SPAN_MAX, NULL,
     "ticks of a bucket of level 1, rounded up to a power of two"},
    {0},
};

static struct tl_precision wheel_precision(const void *given, uint64_t delay_ticks)
{
    /* Opened buckets of upper levels go to lower ones, so the clock has to leave a bucket of
     * level 1; at the start of that bucket a timer is due only if it is due at once. */
    uint64_t span = UINT64_C(1) << span_shift_of(given);
    return (struct tl_precision){.late_ticks = delay_ticks > 0 ? span - 1 : span};
}

/* --- check and walk --------------------------------------------------------------------------- */

static bool slot_takes(const struct cache_wheel *wheel, uint32_t n, uint32_t slot,
                       const struct node *node)
{
    uint64_t number = node->due >> LEVEL_SHIFT(n);
    return number >= wheel->buckets.clock >> LEVEL_SHIFT(n) &&
           (number & (levels[n].buckets - 1)) == slot;
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(cache_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "cache-wheel",
    .summary = "five coarse wheels for timers that may be a second late",
    .origin = "Caffeine, TimerWheel.java",
    .description =
        "Wheels of 64, 64, 32, 4 and 1 buckets, as wide as a second, a minute, an hour, a day and "
        "a week or so, each a power of two. When the clock enters another bucket of a level, the "
        "timers in the buckets that it leaves and enters fire, or are filed again by the rest of "
        "their delay. So a timer is never early, and late by up to the narrowest bucket's width. "
        "Made for caches, where an entry that has expired is only to be dropped some time. Bad at: "
        "precision, by design, and many timers of one wide bucket, all filed again in one advance.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(1)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .precision = wheel_precision,
    .create = wheel_create,
    .start = wheel_start,
    .advance = buckets_advance,
    .next = buckets_next,
    BUCKETS_HOOKS,
    .check = levels_check,
    .walk = levels_walk,
    .differs =
        "a narrowest bucket is `span` ticks, 1.024 s for ticks of 1 ms, where the original's is "
        "2^30 ns; timers beyond a budget wait in a list of their own, where the original sets its "
        "clock back and empties the same buckets again; all buckets are emptied before the first "
        "callback, so a timer that a callback starts already due waits for the next bucket; an "
        "entry that the cache will not let go is not scheduled again.",
};
