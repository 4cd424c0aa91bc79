/*
 * bitmap-wheel: a hierarchical wheel without ticks, with a bitmap for each level, as in
 * wahern/timeout.
 *
 *   bits=6, levels=6
 *   level   ticks a slot   takes delays from .. to      occupied (one bit a slot)
 *     1                1          1 ..         63       ...x....x.........
 *     2               64         64 ..      4,095       .x................
 *     3            4,096      4,096 ..    262,143       ......x...........
 *     4          262,144    262,144 ..     2^24-1      ...
 *     6             2^30       2^30 ..     2^36-1       and all longer delays
 *
 * The highest bit of a delay names its level. At tick 0, start(a, 70) files a in slot 1 of level 2,
 * which begins at tick 64, and sets bit 1. advance(64) enters that slot: it files a again, in slot
 * 6 of level 1. advance(70) fires a. stop(a) unlinks it, and clears the slot's bit if a was its
 * last timer.
 *
 * An advance looks at one word for each level and at the occupied slots that it passes. A slot that
 * it passes as a whole goes to DUE unopened; one that it enters is filed again, after all slots are
 * collected in FLUSH, because a timer may belong to a slot that is still to be emptied. Before
 * `work_at`, the tick at which the first occupied slot expires, an advance only sets the clock.
 *
 * A delay of slots^levels or more goes to the slot of the highest level that its deadline names,
 * and is filed again after each turn: there is no horizon.
 *
 * timeout.c also files the timers of the slot after the clock's again, whenever the level below
 * passes its slot 0. look=ahead does the same: it files a timer three times instead of 1.5 times,
 * with timeouts of 200 to 1,000 ticks.
 *
 * Invariants
 *   - a slot of a level with `shift` holds timers of one bucket b, `clock >> shift` < b <= `clock
 *     >> shift` + slots; it expires at b << shift, not after its first timer is due
 *   - a slot's bit is set exactly if it holds timers
 *   - no slot expires before `work_at`, which is 0 if DUE or LATE holds timers, or look=ahead
 *   - the slots, DUE and LATE hold exactly the pending timers; FLUSH is empty between calls
 *
 * Complexity (m levels): start, stop and a tick O(1), expiry up to m moves, `next` O(m), a lower
 * bound. Use it for a program that sleeps until the next expiry. Bad at: an upper slot with very
 * many timers, which one advance files again.
 *
 * Source: W. Ahern, timeout.c (github.com/wahern/timeout); Varghese and Lauck 1987, section 6.2.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define BITS_MIN       3
#define BITS_MAX       6
#define LEVELS_MIN     3u
#define REACH_BITS     18u /* with less, far timers would be filed again without end */
#define LEVELS_MAX     22u /* of 8 slots each: 64 bits */

#define BUCKET_STRIPES 4u
#include "due_buckets.h"

#define FLUSH        2u /* timers that an advance has collected and files again */
#define FIRST_BUCKET 3u /* slot 0 of level 1 */

struct bitmap_wheel {
    struct timer_buckets buckets;
    uint64_t work_at; /* before this tick an advance has nothing to do but to set the clock */
    uint64_t reach;   /* the first delay that no level takes; UINT64_MAX where all are */
    uint32_t bits;    /* log2 of slots */
    uint32_t slots;   /* of each level */
    uint32_t level_count;
    bool looks_ahead;           /* look=ahead */
    uint8_t level_of_zeros[64]; /* by the number of zeros before the delay's highest bit */
    uint64_t occupied[LEVELS_MAX];
};
#define STRUCTURE  struct bitmap_wheel
#define LEVEL_BITS wheel->bits
#define LEVEL_STEP wheel->bits
#define SLOT_FROM  slot_turn
#define WORK_AT
#define FILE_TIMER
#include "slot_levels.h"

/* --- start and stop --------------------------------------------------------------------------- */

/* Files a timer that is in no list in a slot of a level. */
static inline void file_in_slot(struct bitmap_wheel *wheel, uint32_t level, uint32_t slot,
                                uint32_t index)
{
    wheel->occupied[level] |= UINT64_C(1) << slot;
    bucket_file(&wheel->buckets, FIRST_BUCKET + (level << wheel->bits) + slot, level == 0, index);
}

/* File a timer on the last level, where it may wait for several turns. Return the first tick at
 * which its slot expires. */
static NEVER_INLINE uint64_t file_last(struct bitmap_wheel *wheel, uint32_t index, uint64_t due)
{
    uint32_t level = wheel->level_count - 1;
    uint32_t shift = level * wheel->bits;
    uint64_t from = wheel->buckets.clock >> shift;
    uint64_t ahead = ((due >> shift) - from - 1) & (wheel->slots - 1);
    file_in_slot(wheel, level, (uint32_t)(from + 1 + ahead) & (wheel->slots - 1), index);
    return (from + 1 + ahead) << shift;
}

/* Files a timer that is in no list and due after the clock. Returns when its slot expires. */
static inline uint64_t file_timer(struct bitmap_wheel *wheel, uint32_t index, uint64_t due)
{
    uint64_t delay = due - wheel->buckets.clock;
    if (delay >= wheel->reach) {
        return file_last(wheel, index, due);
    }
    uint32_t level = wheel->level_of_zeros[__builtin_clzll(delay)];
    uint32_t shift = level * wheel->bits;
    uint64_t at = due >> shift;
    file_in_slot(wheel, level, (uint32_t)at & (wheel->slots - 1), index);
    return at << shift;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* The slots of a level that are emptied after `steps` steps from the slot `hand`, as bits from the
 * next slot on: those that the clock has passed or entered. With look=ahead, as timeout.c does it,
 * on the upper levels the slot after the clock's, too; a level that has not moved counts as having
 * moved by one. */
static inline uint64_t slots_to_empty(const struct bitmap_wheel *wheel, uint32_t level,
                                      uint32_t hand, uint64_t steps)
{
    bool ahead = wheel->looks_ahead && level > 0;
    uint64_t passed = bitmap_low(steps + ahead);
    if (ahead && steps == 0) {
        passed |= UINT64_C(1) << (wheel->slots - 1); /* the hand's own, a turn ahead */
    }
    return bitmap_after(wheel->occupied[level], hand, wheel->slots) & passed;
}

/* Move the timers of the slots that the clock has passed since `old`, on any level, to DUE, or file
 * them again. With look=ahead, all are filed again. Goes on to a level above if that has moved; with
 * look=ahead, if this one has passed its slot 0, or is there. */
static void pass_levels(struct bitmap_wheel *wheel, uint64_t old)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint64_t now = buckets->clock;
    bool looks_ahead = wheel->looks_ahead;
    for (uint32_t level = 0; level < wheel->level_count; level++) {
        uint32_t shift = level * wheel->bits;
        uint64_t from = old >> shift;
        uint64_t steps = (now >> shift) - from;
        if (steps == 0 && !looks_ahead) {
            break;
        }
        uint32_t hand = (uint32_t)from & (wheel->slots - 1);
        TL_COUNT(buckets, slots, 1);
        for (uint64_t left = slots_to_empty(wheel, level, hand, steps); left != 0;
             left &= left - 1) {
            uint32_t ahead = bitmap_first(left) + 1;
            uint32_t slot = (hand + ahead) & (wheel->slots - 1);
            uint64_t last = ((from + ahead + 1) << shift) - 1; /* tick of that slot */
            bool whole = !looks_ahead && level + 1 < wheel->level_count && last <= now;
            bucket_move_all(buckets, LEVEL_BUCKET(level) + slot, whole ? DUE : FLUSH);
            wheel->occupied[level] &= ~(UINT64_C(1) << slot);
            TL_COUNT(buckets, slots, 1);
        }
        if (looks_ahead && hand != 0 && hand + steps < wheel->slots &&
            (level == 0 || hand + steps != 1)) {
            break;
        }
    }
    if (!bucket_is_empty(buckets, FLUSH)) {
        bucket_empty(buckets, FLUSH, file_again, wheel);
    }
}

/* The bits of all slots with higher numbers than this one. */
static inline uint64_t slots_after(uint32_t slot)
{
    return ~bitmap_low((uint64_t)slot + 1);
}

/* Moves the clock to `now`, and everything that is due by then to DUE. */
static void collect_due(struct bitmap_wheel *wheel, uint64_t now)
{
    struct timer_buckets *buckets = &wheel->buckets;
    if (wheel->work_at == 0) {
        bucket_move_all(buckets, LATE, DUE);
    }
    uint64_t old = wheel->buckets.clock;
    wheel->buckets.clock = now;
    if (wheel->looks_ahead) {
        pass_levels(wheel, old);
        return; /* `work_at` stays 0: every update may have to look */
    }
    uint32_t slot = (uint32_t)now & (wheel->slots - 1);
    uint64_t ahead = slots_after(slot); /* of level 1, still to come in this turn of it */
    if ((old ^ now) < wheel->slots) {   /* no other level has moved */
        uint64_t passed =
            wheel->occupied[0] & slots_after((uint32_t)old & (wheel->slots - 1)) & ~ahead;
        wheel->occupied[0] ^= passed;
        TL_COUNT(buckets, slots, 1);
        for (; passed != 0; passed &= passed - 1) {
            bucket_move_near(buckets, FIRST_BUCKET + bitmap_first(passed), DUE);
            TL_COUNT(buckets, slots, 1);
        }
    } else {
        pass_levels(wheel, old);
    }
    ahead &= wheel->occupied[0];
    wheel->work_at = ahead != 0 ? now - slot + bitmap_first(ahead) : next_work(wheel);
    bucket_prefetch_near(buckets, FIRST_BUCKET + ((uint32_t)(now + 2) & (wheel->slots - 1)));
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint32_t bits;
    uint32_t levels;
    uint32_t look;
};
enum look { LOOK_ENTERED, LOOK_AHEAD };

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    uint32_t bits = options->bits;
    uint32_t levels = options->levels;
    if (levels * bits < REACH_BITS) {
        return TL_ERR_OPTION;
    }
    uint32_t all = (63 + bits) / bits; /* more would shift by more than there is */
    levels = levels < all ? levels : all;
    struct bitmap_wheel empty = {
        .buckets = buckets_empty(config, FIRST_BUCKET + (levels << bits)),
        .work_at = options->look == LOOK_AHEAD ? 0 : TL_NEVER,
        .reach = levels * bits < 64 ? UINT64_C(1) << (levels * bits) : UINT64_MAX,
        .bits = bits,
        .slots = UINT32_C(1) << bits,
        .level_count = levels,
        .looks_ahead = options->look == LOOK_AHEAD,
    };
    for (uint32_t zeros = 0; zeros < 64; zeros++) {
        empty.level_of_zeros[zeros] = (uint8_t)((63 - zeros) / bits);
    }
    return structure_create(config, &empty, buckets_reserve, buckets_destroy, self);
}

static const struct tl_choice look_choices[] = {
    {"entered", LOOK_ENTERED, "that the clock has entered"},
    {"ahead", LOOK_AHEAD,
     "and the one after it whenever a level below is at its slot 0 or passes it, as timeout.c"},
    {NULL, 0, NULL},
};

static const struct tl_option wheel_option_table[] = {
    {"bits", TL_U32(struct wheel_options, bits), 6, BITS_MIN, BITS_MAX, NULL,
     "slots of a level are 2^bits (WHEEL_BIT)"},
    {"levels", TL_U32(struct wheel_options, levels), 6, LEVELS_MIN, LEVELS_MAX, NULL,
     "levels (WHEEL_NUM); delays of 2^(bits*levels) or more wait in the last"},
    {"look", TL_CHOICE(struct wheel_options, look), LOOK_ENTERED, 0, 0, look_choices,
     "timers filed again together: those of a slot"},
    {0},
};

/* --- check and walk --------------------------------------------------------------------------- */

static bool slot_takes(const struct bitmap_wheel *wheel, uint32_t level, uint32_t slot,
                       const struct node *node)
{
    return node->due >= slot_entered(wheel, level, slot);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(bitmap_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "bitmap-wheel",
    .summary = "a tickless hierarchical wheel with a bitmap for each level",
    .origin = "wahern/timeout; Varghese and Lauck 1987, scheme 7",
    .description =
        "Levels of 2^bits slots, each slot as wide as the whole level below. A delay's highest bit "
        "names its level; a slot's timers are filed again, lower, when the clock enters it. One "
        "word a level says which slots hold timers, so a jump visits only those, and `next` needs "
        "one look a level. Bad at: an upper slot with very many timers, all filed again in the one "
        "advance that enters it.",
    .differs =
        "levels=4:look=ahead is timeout.c: it also looks one slot ahead on upper levels and "
        "files those timers again, so that it moves them about twice as often as with the "
        "default, some a level down before their slot comes, and then sleeps longer; a "
        "deadline at or before the clock waits for the next advance, where timeouts_get hands "
        "it out in the same loop; timers that fire in one advance do so level by level, in "
        "the order of time, there in that of the slots' numbers. No intervals.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(m)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .create = wheel_create,
    .start = buckets_start,
    .advance = buckets_advance,
    .next = buckets_next,
    BUCKETS_HOOKS,
    .check = levels_check,
    .walk = levels_walk,
};
