/*
 * nexus-wheel: coarse slots with exact deadlines: no timer cascades, and none is rounded.
 *
 *   level   a slot's ticks   takes delays      slots        each slot    minimum   timers
 *     1                  1        0 -     63   64 of each
 *     2                  8       64 -    511                 37               301   303, 301, 814
 *     3                 64      512 -   4095                 38            TL_NEVER  (empty)
 *     4                512     4096 -  32767                 ...
 *
 * The levels are those of Linux since 4.8 (coarse-wheel). start(a, 303) at tick 0 files a in slot
 * 37 of level 2, and lowers the slot's minimum. a fires from there at tick 303: while the clock is
 * in a coarse slot, each deadline there polls it, and each poll looks at all of its timers. stop(a)
 * unlinks a; the minimum may then be too low, so that the next poll walks the slot in vain and
 * corrects it. `least`, the least of all minima, shows when no slot needs a poll.
 *
 * A slot holds deadlines of several turns (814 is a turn of 512 ticks after 302). A poll looks at
 * the slots level by level: timers do not fire in the order of deadlines.
 *
 * moves=all, the default, is nexus-timer's rebalancing since 1.5: a poll also moves timers that are
 * not due to the level of their remaining delay. moves=N moves at most N in an advance. A budget
 * ends the walk, and the slot keeps its minimum; timers that its callbacks start for now or the
 * past wait in LATE for the end of the advance.
 *
 * Invariants, between advances
 *   - a timer of deadline d on a level with slots of 2^s ticks is in slot (d >> s) modulo the slots
 *   - a slot's bit is set exactly if it holds timers; its minimum is not after any of their
 *     deadlines, and TL_NEVER if there are none
 *   - if `least` is known, it is not after any slot's minimum
 *   - DUE and LATE are empty
 *
 * Complexity (m levels of w slots): start, stop and a tick O(1), `next` O(1), or O(m w) after the
 * stop of the least; a poll O(m w) and all timers of the coarse slots that the clock is in. Use it
 * for few timers. Bad at: very many timers that expire from coarse slots: with moves=0 each is
 * looked at O(n / w) times.
 *
 * Source: Abso1ut3Zer0/nexus, nexus-timer/src/wheel.rs and level.rs (2026).
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define BITS_MIN       2
#define BITS_MAX       6
#define LEVELS_MAX     8u
#define SLOTS_MAX      (LEVELS_MAX << BITS_MAX)
#define MOVES_ALL      (UINT64_C(1) << 62)

#define BUCKET_STRIPES 1u /* the lists keep the order of the starts */
#include "due_buckets.h"

#define FIRST_BUCKET 2u /* slot 0 of level 1 */

struct nexus_wheel {
    struct timer_buckets buckets;
    uint64_t least;     /* where known: no slot's minimum is before */
    bool least_known;   /* not after the stop of the timer that it named */
    bool holding;       /* callbacks run, and their advance may look for due timers again */
    uint64_t moves_max; /* timers that one advance may move to finer levels */
    uint32_t bits;      /* log2 of the slots of each level */
    uint32_t step;      /* a level's slots are 2^step times as wide as those of the level before */
    uint32_t level_count;
    uint8_t level_of_zeros[64]; /* by the number of zeros before the delay's highest bit */
    uint64_t occupied[LEVELS_MAX];
    uint64_t minima[SLOTS_MAX]; /* of each occupied slot, by bucket - FIRST_BUCKET */
};
#define STRUCTURE  struct nexus_wheel
#define LEVEL_BITS wheel->bits
#define LEVEL_STEP wheel->step
#define TAKE_OUT   take_out
#define OWN_ADVANCE
#include "slot_levels.h"

/* --- start and stop --------------------------------------------------------------------------- */

static inline uint32_t slot_mask(const struct nexus_wheel *wheel)
{
    return (UINT32_C(1) << wheel->bits) - 1;
}

/* The level, from 0, for a delay; 0 and 1 have the same. */
static inline uint32_t level_of(const struct nexus_wheel *wheel, uint64_t delay)
{
    return wheel->level_of_zeros[__builtin_clzll(delay | 1)];
}

/* If it was what `least` stood for, that is not known any more. */
static inline void take_out(struct nexus_wheel *wheel, uint32_t index)
{
    if (node_at(&wheel->buckets, index)->due == wheel->least) {
        wheel->least_known = false;
    }
    levels_remove(wheel, index);
}

/* Files a timer that is in no list, due or not. */
static inline void file_timer(struct nexus_wheel *wheel, uint32_t index)
{
    uint64_t due = node_at(&wheel->buckets, index)->due;
    uint64_t clock = wheel->buckets.clock;
    uint32_t level = level_of(wheel, due > clock ? due - clock : 0);
    uint32_t number = (uint32_t)(due >> (level * wheel->step)) & slot_mask(wheel);
    uint32_t slot = (level << wheel->bits) + number;
    bucket_append(&wheel->buckets, FIRST_BUCKET + slot, index);
    if (!slot_is_occupied(wheel, level, number) || due < wheel->minima[slot]) {
        wheel->minima[slot] = due;
    }
    wheel->occupied[level] |= UINT64_C(1) << number;
    if (due <= wheel->least) { /* then it is the least, whatever was unknown */
        wheel->least = due;
        wheel->least_known = true;
    }
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct nexus_wheel *wheel = self;
    if (wheel->buckets.count == 0) {
        wheel->least = TL_NEVER;
    }
    uint32_t index = take_for_start(wheel, id);
    node_at(&wheel->buckets, index)->due = deadline;
    if (wheel->holding && deadline <= wheel->buckets.clock) {
        bucket_append(&wheel->buckets, LATE, index);
    } else {
        file_timer(wheel, index);
    }
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* The least of the slots' minima; counts the slots in `slots`, if that is not NULL. */
static uint64_t minima_least(const struct nexus_wheel *wheel, uint64_t *slots)
{
    uint64_t least = TL_NEVER;
    for (uint32_t level = 0; level < wheel->level_count; level++) {
        for (uint64_t left = wheel->occupied[level]; left != 0; left &= left - 1) {
            uint64_t minimum = wheel->minima[(level << wheel->bits) + bitmap_first(left)];
            least = minimum < least ? minimum : least;
            *slots += 1;
        }
    }
    return least;
}

/* Move the due timers of a slot to DUE, up to `room` of them, and up to *moves timers that now
 * belong to a finer level there. Return the number of due ones. Few of the slots that a poll passes
 * have work: inlined, this would take the registers of the loop that passes them. */
static NEVER_INLINE uint64_t collect_slot(struct nexus_wheel *wheel, uint32_t level, uint32_t slot,
                                          uint64_t room, uint64_t *moves)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint32_t head = bucket_head(buckets, FIRST_BUCKET + slot, 0);
    uint64_t minimum = TL_NEVER;
    uint64_t found = 0;
    uint32_t index = node_at(buckets, head)->next;
    while (index != head && found < room) {
        uint32_t next = node_at(buckets, index)->next;
        uint64_t due = node_at(buckets, index)->due;
        TL_COUNT(buckets, compares, 1);
        if (due <= buckets->clock) {
            slot_remove(buckets, index);
            bucket_append(buckets, DUE, index);
            found++;
        } else if (*moves > 0 && level_of(wheel, due - buckets->clock) < level) {
            slot_remove(buckets, index);
            file_timer(wheel, index);
            TL_COUNT(buckets, cascades, 1);
            *moves -= 1;
        } else {
            minimum = due < minimum ? due : minimum;
        }
        index = next;
    }
    if (index == head) { /* all were looked at */
        wheel->minima[slot] = minimum;
    }
    if (bucket_is_empty(buckets, FIRST_BUCKET + slot)) {
        wheel->occupied[level] &= ~(UINT64_C(1) << (slot & slot_mask(wheel)));
    }
    return found;
}

/* Moves up to `room` timers that are due to DUE. Returns how many; then `least` is known. */
static uint64_t collect_due(struct nexus_wheel *wheel, uint64_t room, uint64_t *moves)
{
    uint64_t found = 0;
    for (uint32_t level = 0; level < wheel->level_count; level++) {
        /* Moved timers go to levels that were looked at before. */
        for (uint64_t left = wheel->occupied[level]; left != 0 && found < room; left &= left - 1) {
            uint32_t slot = (level << wheel->bits) + bitmap_first(left);
            TL_COUNT(&wheel->buckets, slots, 1);
            if (wheel->minima[slot] <= wheel->buckets.clock) {
                found += collect_slot(wheel, level, slot, room - found, moves);
            }
        }
    }
    uint64_t slots = 0;
    wheel->least = minima_least(wheel, &slots);
    wheel->least_known = true;
    TL_COUNT(&wheel->buckets, slots, slots);
    return found;
}

static void file_late(void *self, uint32_t index)
{
    file_timer(self, index);
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct nexus_wheel *wheel = self;
    wheel->buckets.clock = now;
    uint64_t fired = 0;
    uint64_t moves = wheel->moves_max;
    uint64_t room = budget;
    while (room > 0 && (!wheel->least_known || wheel->least <= now)) {
        /* If callbacks stop timers that were collected within the budget, others fire instead. */
        wheel->holding = collect_due(wheel, room, &moves) == room;
        fired += buckets_fire(&wheel->buckets, now, room, fire, ctx);
        room = wheel->holding ? budget - fired : 0;
    }
    wheel->holding = false;
    bucket_empty(&wheel->buckets, LATE, file_late, wheel);
    return fired;
}

static uint64_t wheel_next(const void *self)
{
    const struct nexus_wheel *wheel = self;
    uint64_t slots = 0;
    if (wheel->buckets.count == 0) {
        return TL_NEVER;
    }
    return wheel->least_known ? wheel->least : minima_least(wheel, &slots);
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint32_t bits;
    uint32_t step;
    uint32_t levels;
    uint64_t moves;
};

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    uint32_t bits = options->bits;
    uint32_t step = options->step;
    uint32_t levels = options->levels;
    if (step >= bits) {
        return TL_ERR_OPTION; /* moved timers would not always get a finer level */
    }
    struct nexus_wheel empty = {
        .buckets = buckets_empty(config, FIRST_BUCKET + (levels << bits)),
        .least = TL_NEVER,
        .least_known = true,
        .moves_max = options->moves,
        .bits = bits,
        .step = step,
        .level_count = levels,
    };
    for (uint32_t zeros = 0; zeros < 64; zeros++) {
        uint32_t bit = 63 - zeros;
        uint32_t level = bit < bits ? 0 : (bit - bits) / step + 1;
        empty.level_of_zeros[zeros] = (uint8_t)(level < levels ? level : levels - 1);
    }
    return structure_create(config, &empty, buckets_reserve, buckets_destroy, self);
}

static const struct tl_choice moves_choices[] = {
    {"all", MOVES_ALL, "whatever a poll passes (poll_and_rebalance)"},
    {NULL, 0, NULL},
};

static const struct tl_option wheel_option_table[] = {
    {"bits", TL_U32(struct wheel_options, bits), 6, BITS_MIN, BITS_MAX, NULL,
     "slots of a level are 2^bits (slots_per_level)"},
    {"step", TL_U32(struct wheel_options, step), 3, 1, BITS_MAX - 1, NULL,
     "a level is 2^step times as coarse as the one before (clk_shift); below bits"},
    {"levels", TL_U32(struct wheel_options, levels), 7, 1, LEVELS_MAX, NULL,
     "levels (num_levels); timers beyond wait in the last"},
    {"moves", TL_U64(struct wheel_options, moves), MOVES_ALL, 0, INT64_C(1) << 32, moves_choices,
     "timers that an advance may move to finer levels (max_rebalances_per_poll)"},
    {0},
};

/* --- check and walk --------------------------------------------------------------------------- */

static bool slot_takes(const struct nexus_wheel *wheel, uint32_t level, uint32_t slot,
                       const struct node *node)
{
    return (node->due >> LEVEL_SHIFT(level) & slot_mask(wheel)) == slot &&
           node->due >= wheel->minima[(level << wheel->bits) + slot];
}

/* A timer that a budget left over may be of an earlier turn. */
static uint64_t slot_from(const struct nexus_wheel *wheel, uint32_t level, uint32_t slot)
{
    const struct timer_buckets *buckets = &wheel->buckets;
    uint64_t first = slot_began(wheel, level, slot);
    for (uint32_t i = bucket_first(buckets, LEVEL_BUCKET(level) + slot); i != SLOT_NONE;
         i = bucket_after(buckets, LEVEL_BUCKET(level) + slot, i)) {
        uint64_t due = node_at(buckets, i)->due;
        first = due < first ? due : first;
    }
    return first >> LEVEL_SHIFT(level) << LEVEL_SHIFT(level);
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct nexus_wheel *wheel = self;
    uint64_t slots = 0;
    enum tl_status status = levels_check(wheel, why, why_bytes);
    if (status == TL_OK && wheel->least_known && wheel->least > minima_least(wheel, &slots)) {
        return corrupt(why, why_bytes, "a slot has work before tick %" PRIu64, wheel->least);
    }
    if (status == TL_OK && buckets_are_due(&wheel->buckets)) {
        return corrupt(why, why_bytes, "timers that were to fire, or to be filed, were not");
    }
    return status;
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(nexus_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_SLOW,
    .name = "nexus-wheel",
    .summary = "coarse slots, exact deadlines: each is looked at, none cascades",
    .origin = "nexus-timer (Rust), wheel.rs",
    .description =
        "Seven levels of 64 slots, each eight times as coarse as the one before. A timer stays in "
        "the slot that its delay chose, and fires from there at its exact deadline: while the "
        "clock is in a coarse slot, every poll that may find something due there looks at all its "
        "timers, and moves those that are not due yet to finer levels. A minimum kept with each "
        "slot spares those with nothing due. Bad at: with moves=0, as before version 1.5, very "
        "many timers that expire from coarse slots, each looked at again and again.",
    .cost = {.start = "O(1)",
             .stop = "O(1)",
             .tick = "O(1)",
             .expire = "O(n), O(m) with moves=all"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .create = wheel_create,
    .start = wheel_start,
    .advance = wheel_advance,
    .next = wheel_next,
    BUCKETS_HOOKS,
    .check = wheel_check,
    .walk = levels_walk,
    .differs = "fires in callbacks, where it fills a list of values that the caller goes through: "
               "a timer that a callback stops no longer fires. next_deadline keeps its answer "
               "although a stop has made it too early; here next does not. Timers are named by "
               "ids: no handles, and no wheel that refuses beyond a number of timers. The separate "
               "call that moves timers ahead of time is omitted.",
};
