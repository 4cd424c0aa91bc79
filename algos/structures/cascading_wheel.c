/*
 * cascading-wheel: Varghese and Lauck's scheme 7 as published, driven at every tick; with other
 * options, the wheel of Linux from 1997 to 2016.
 *
 *   l1=60:l2=60:l3=24:l4=100:l5=0:level=digit    a tick a second; the clock: 11 days 10:24:30
 *   level   slots   ticks a slot      a timer of 50 min 45 s is due at 11:15:15:
 *     1       60          1             3. slot 15 of the seconds, where it fires
 *     2       60         60             2. at 11:00:00 to slot 15 of the minutes
 *     3       24      3,600             1. slot 11 of the hours
 *     4      100     86,400
 *
 * Each slot of a level is as wide as all of the level below. The start files the timer in slot 11
 * of the hours, because the hour is the coarsest digit in which deadline and clock differ. Each
 * tick moves the first hand by one slot and fires the timers there. When a hand has gone round, the
 * next level's hand moves by one slot, and the timers there are filed again: at 11:00:00 the timer
 * moves to the minutes, at 11:15:00 to the seconds, at 11:15:15 it fires. A stop unlinks it.
 *
 * level=digit is the paper's rule. level=delay is the kernel's: a timer goes to the lowest level
 * that reaches it, here to the minutes at once. l1=256 and 64 for all others is the kernel's wheel.
 *
 * A bit for each slot of level 1 marks the slots that may hold timers. Before `work_at`, the tick
 * of the next mark, of the end of a word of marks, or of the end of the turn, an advance only moves
 * the first hand and the clock. A timer beyond all levels waits in the furthest slot of the last
 * one, and is filed again when the hand enters that. A jump visits each slot at most once; it
 * collects all levels in FLUSH before it files timers again.
 *
 * Invariants
 *   - `start` of a level is the clock rounded down to its width, and its hand is that slot; a slot
 *     `ahead` of the hand, 1 to slots, holds timers due from start + ahead * width on, before the
 *     next slot starts (or later, if no level reached them)
 *   - slots of level 1 that hold timers are marked; no marked slot is entered, and no other hand
 *     moves, before `work_at`, which is 0 if DUE or LATE holds timers
 *   - the slots, DUE and LATE hold exactly the pending timers; FLUSH is empty between calls
 *
 * Complexity (m levels): start O(m), stop and a tick O(1), expiry up to m moves. Use it to compare
 * with the textbook. Bad at: an upper slot with very many timers, all filed again in one tick;
 * sleeping.
 *
 * Source: Varghese and Lauck 1987, section 6.2; torvalds/linux before 4.8, kernel/time/timer.c.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define LEVELS_MAX     5u
#define SLOTS_MAX      (INT64_C(1) << 20)
#define NO_SHIFT       64u

#define BUCKET_STRIPES 4u
#include "due_buckets.h"

#define FLUSH        2u /* timers that an advance has collected and files again */
#define FIRST_BUCKET 3u /* slot 0 of level 1 */

struct level {
    uint64_t start;    /* the clock, floored to `width` */
    uint64_t width;    /* ticks of one slot */
    uint64_t interval; /* ticks of all of them; UINT64_MAX where 64 bits do not hold it */
    uint64_t reach;    /* the same; with level=digit 0, for a delay alone decides nothing */
    uint32_t shift;    /* log2 of `width`, or NO_SHIFT if it is no power of two */
    uint32_t slots;
    uint32_t mask;  /* slots - 1 if `slots` and `width` are powers of two, or 0 */
    uint32_t hand;  /* slot of `start` */
    uint32_t first; /* bucket of slot 0 */
    bool lowest;    /* level 1 */
};

struct cascading_wheel {
    struct timer_buckets buckets;
    uint64_t work_at; /* before this tick the first hand passes nothing, and no other moves */
    uint32_t level_count;
    bool overfilled; /* some timer was out of reach: slots of the last level may hold such */
    bool by_digit;   /* level=digit */
    uint8_t level_of_zeros[64]; /* by a delay's leading zeros: the lowest level that may reach it */
    struct level levels[LEVELS_MAX];
    uint64_t marks[]; /* a bit for each slot of level 1 */
};
#define STRUCTURE struct cascading_wheel
#define STRUCTURE_BYTES(wheel)                                                                     \
    (sizeof *(wheel) + ((size_t)(wheel)->levels[0].slots + 63) / 64 * sizeof *(wheel)->marks)
#define WORK_AT
#define TAKES_FROM FLUSH
#include "bucket_hooks.h"

/* --- start and stop --------------------------------------------------------------------------- */

static inline uint64_t widths_of(const struct level *level, uint64_t ticks)
{
    return level->shift < NO_SHIFT ? ticks >> level->shift : ticks / level->width;
}

/* The slot of a level for a tick that it reaches. */
static inline uint32_t slot_for(const struct level *level, uint64_t due)
{
    if (level->mask != 0) {
        return (uint32_t)(due >> level->shift) & level->mask;
    }
    uint64_t slot = level->hand + widths_of(level, due - level->start);
    return (uint32_t)(slot < level->slots ? slot : slot - level->slots);
}

/* Files a timer that is in no list in a slot of a level. */
static inline void file_in_slot(struct cascading_wheel *wheel, const struct level *level,
                                uint32_t slot, uint32_t index, uint64_t due)
{
    /* No branch on the level, which is hard to predict: upper levels set no bit of word 0. */
    uint32_t word = slot / 64 & (0 - (uint32_t)level->lowest);
    wheel->marks[word] |= (uint64_t)level->lowest << slot % 64;
    work_before(wheel, due); /* on level 1: the others' hands do not move before */
    bucket_file(&wheel->buckets, level->first + slot, level->lowest, index);
}

/* Files a timer on the lowest level, from this one on, that reaches it, or in the furthest slot.
 * Reaching is to be due in this turn (level=digit), or within `delay` ticks. */
static NEVER_INLINE void file_above(struct cascading_wheel *wheel, const struct level *level,
                                    uint32_t index, uint64_t due, uint64_t delay)
{
    const struct level *last = wheel->levels + wheel->level_count - 1;
    while (level < last &&
           (wheel->by_digit ? due - level[1].start >= level[1].width : delay >= level->interval)) {
        TL_COUNT(&wheel->buckets, compares, 1);
        level++;
    }
    uint32_t slot = level->hand;
    if (delay < level->interval) {
        slot = slot_for(level, due);
    } else {
        wheel->overfilled = true;
    }
    file_in_slot(wheel, level, slot, index, due);
}

/* Files a timer that is in no list and due after the clock. Its level is that of the ticks from
 * `from` on. */
static inline void file_timer(struct cascading_wheel *wheel, uint32_t index, uint64_t due,
                              uint64_t from)
{
    uint64_t delay = due - from;
    const struct level *level = wheel->levels + wheel->level_of_zeros[__builtin_clzll(delay | 1)];
    TL_COUNT(&wheel->buckets, compares, 1);
    if (delay >= level->reach) {
        file_above(wheel, level, index, due, delay);
    } else {
        file_in_slot(wheel, level, slot_for(level, due), index, due);
    }
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct cascading_wheel *wheel = self;
    uint32_t index = take_for_start(wheel, id);
    node_at(&wheel->buckets, index)->due = deadline;
    if (deadline > wheel->buckets.clock) {
        file_timer(wheel, index, deadline, wheel->buckets.clock + 1); /* the hand's next tick */
    } else {
        append_late(wheel, index);
    }
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Files a timer of a slot that was entered: under DUE, or where the clock now reaches it. */
static inline void file_again(void *self, uint32_t index)
{
    struct cascading_wheel *wheel = self;
    uint64_t due = node_at(&wheel->buckets, index)->due;
    TL_COUNT(&wheel->buckets, compares, 1);
    if (due <= wheel->buckets.clock) {
        bucket_append(&wheel->buckets, DUE, index);
    } else {
        TL_COUNT(&wheel->buckets, cascades, 1);
        file_timer(wheel, index, due, wheel->buckets.clock);
    }
}

/* Empty a slot of level 1, if it is marked, into DUE. */
static inline void pass_slot(struct cascading_wheel *wheel, uint32_t slot)
{
    uint64_t bit = UINT64_C(1) << slot % 64;
    if ((wheel->marks[slot / 64] & bit) != 0) {
        wheel->marks[slot / 64] ^= bit;
        bucket_move_near(&wheel->buckets, wheel->levels[0].first + slot, DUE);
    }
}

/* Empties the marked slots from `slot` to before `end`, on level 1, into the bucket `to`. */
static void pass_marked(struct cascading_wheel *wheel, uint32_t slot, uint32_t end, uint32_t to)
{
    while (slot < end) {
        uint32_t word = slot / 64;
        uint32_t word_end = (word + 1) * 64 < end ? (word + 1) * 64 : end;
        uint64_t marks = wheel->marks[word] >> slot % 64 << slot % 64;
        marks &= UINT64_MAX >> (63 - (word_end - 1) % 64);
        wheel->marks[word] ^= marks;
        for (; marks != 0; marks &= marks - 1) {
            uint32_t marked = word * 64 + (uint32_t)__builtin_ctzll(marks);
            bucket_move_near(&wheel->buckets, wheel->levels[0].first + marked, to);
        }
        slot = word_end;
    }
}

/* Empties the slots of an upper level that its hand passes within `visits` <= slots steps to `now`,
 * into DUE or FLUSH. */
static void pass_slots(struct cascading_wheel *wheel, const struct level *level, uint32_t visits,
                       bool opens, uint64_t now)
{
    uint64_t last = level->start + level->width - 1; /* tick of the slot that the hand leaves */
    uint32_t slot = level->hand;
    for (uint32_t i = 0; i < visits; i++) {
        slot = slot + 1 < level->slots ? slot + 1 : 0;
        last += level->width;
        bool whole = last <= now && !opens;
        bucket_move_all(&wheel->buckets, level->first + slot, whole ? DUE : FLUSH);
    }
}

static void level_place(struct level *level, uint64_t now)
{
    uint64_t bucket = widths_of(level, now);
    level->start = bucket * level->width;
    level->hand = (uint32_t)(bucket % level->slots);
}

/* Move a level's hand to the tick `now`, and the timers that it passes to DUE or FLUSH. */
static void move_hand(struct cascading_wheel *wheel, struct level *level, uint64_t now)
{
    bool opens = level == &wheel->levels[wheel->level_count - 1] && wheel->overfilled;
    uint64_t steps = widths_of(level, now - level->start);
    uint32_t visits = steps < level->slots ? (uint32_t)steps : level->slots;
    if (level == wheel->levels) {
        uint32_t to = opens ? FLUSH : DUE;
        uint32_t end = level->hand + 1 + visits;
        pass_marked(wheel, level->hand + 1, end < level->slots ? end : level->slots, to);
        if (end > level->slots) {
            pass_marked(wheel, 0, end - level->slots, to);
        }
    } else {
        pass_slots(wheel, level, visits, opens, now);
    }
    TL_COUNT(&wheel->buckets, slots, visits);
    level_place(level, now);
}

/* Move all hands to their positions at `now`, and the timers due by then to DUE. */
static NEVER_INLINE void move_hands(struct cascading_wheel *wheel, uint64_t now)
{
    for (uint32_t i = 0; i < wheel->level_count; i++) {
        struct level *level = &wheel->levels[i];
        if (now - level->start < level->width) {
            break; /* nor has any hand above moved */
        }
        move_hand(wheel, level, now);
    }
    wheel->buckets.clock = now;
    bucket_empty(&wheel->buckets, FLUSH, file_again, wheel);
}

/* The tick of the next marked slot, or of the end of a word of marks or of the turn. */
static inline uint64_t first_work(const struct cascading_wheel *wheel)
{
    const struct level *first = &wheel->levels[0];
    uint32_t slot = first->hand + 1;
    if (slot == first->slots) {
        return wheel->buckets.clock + 1;
    }
    uint64_t marks = wheel->marks[slot / 64] >> slot % 64;
    uint32_t end = (slot / 64 + 1) * 64;
    end = end < first->slots ? end : first->slots;
    return wheel->buckets.clock + 1 + (marks != 0 ? (uint32_t)__builtin_ctzll(marks) : end - slot);
}

/* Moves the clock to `now`, and everything that is due by then to DUE. */
static void collect_due(struct cascading_wheel *wheel, uint64_t now)
{
    struct timer_buckets *buckets = &wheel->buckets;
    struct level *first = &wheel->levels[0];
    if (wheel->work_at == 0) {
        bucket_move_all(buckets, LATE, DUE);
    }
    uint64_t steps = now - wheel->buckets.clock;
    if (steps < first->slots - first->hand && wheel->level_count > 1) { /* no other hand moves */
        if (now == wheel->work_at && steps > 0) { /* 0 may be a tick, or say that LATE has some */
            pass_slot(wheel, first->hand + (uint32_t)steps); /* no slot before is marked */
        } else {
            pass_marked(wheel, first->hand + 1, first->hand + 1 + (uint32_t)steps, DUE);
        }
        TL_COUNT(buckets, slots, steps);
        first->hand += (uint32_t)steps;
        first->start = now;
        wheel->buckets.clock = now;
    } else {
        move_hands(wheel, now);
    }
    wheel->work_at = first_work(wheel);
    if (first->hand + 2 < first->slots) {
        bucket_prefetch_near(buckets, first->first + first->hand + 2);
    }
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct cascading_wheel *wheel = self;
    if (now < wheel->work_at) {
        TL_COUNT(&wheel->buckets, slots, now - wheel->buckets.clock); /* passed by, as not marked */
        wheel->levels[0].hand += (uint32_t)(now - wheel->buckets.clock);
        wheel->levels[0].start = now;
        wheel->buckets.clock = now;
        return 0;
    }
    return work(wheel, now, budget, fire, ctx);
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint32_t slots[LEVELS_MAX];
    uint32_t level;
};
enum level_by { BY_DELAY, BY_DIGIT };

/* Fills in the levels. Returns how many buckets they need. */
static uint32_t make_levels(struct cascading_wheel *wheel, const uint32_t *slots, uint64_t now)
{
    uint32_t buckets = FIRST_BUCKET;
    uint64_t width = 1;
    while (wheel->level_count < LEVELS_MAX && slots[wheel->level_count] > 0 && width < UINT64_MAX) {
        struct level *level = &wheel->levels[wheel->level_count];
        *level = (struct level){
            .width = width,
            .shift = (width & (width - 1)) == 0 ? (uint32_t)__builtin_ctzll(width) : NO_SHIFT,
            .slots = slots[wheel->level_count],
            .lowest = wheel->level_count == 0,
            .first = buckets,
        };
        if (level->shift < NO_SHIFT && (level->slots & (level->slots - 1)) == 0) {
            level->mask = level->slots - 1;
        }
        level->interval = width > UINT64_MAX / level->slots ? UINT64_MAX : width * level->slots;
        level->reach = wheel->by_digit ? 0 : level->interval;
        level_place(level, now);
        width = level->interval;
        buckets += level->slots;
        wheel->level_count++;
    }
    for (uint32_t zeros = 0; zeros < 64 && !wheel->by_digit; zeros++) {
        uint32_t n = 0;
        while (n + 1 < wheel->level_count &&
               UINT64_C(1) << (63 - zeros) >= wheel->levels[n].interval) {
            n++;
        }
        wheel->level_of_zeros[zeros] = (uint8_t)n;
    }
    return buckets;
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    struct cascading_wheel empty = {.by_digit = options->level == BY_DIGIT};
    empty.buckets = buckets_empty(config, make_levels(&empty, options->slots, config->now));
    return structure_create(config, &empty, buckets_reserve, buckets_destroy, self);
}

static const struct tl_choice level_choices[] = {
    {"delay", BY_DELAY, "the delay: the lowest level that reaches it, as Linux"},
    {"digit", BY_DIGIT, "the coarsest digit in which deadline and clock differ, as the paper"},
    {NULL, 0, NULL},
};

static const struct tl_option wheel_option_table[] = {
    {"l1", TL_U32(struct wheel_options, slots[0]), 256, 1, SLOTS_MAX, NULL,
     "slots of level 1, one tick each (TVR_SIZE)"},
    {"l2", TL_U32(struct wheel_options, slots[1]), 64, 0, SLOTS_MAX, NULL,
     "slots of level 2, each as wide as level 1 (TVN_SIZE); 0: no such level"},
    {"l3", TL_U32(struct wheel_options, slots[2]), 64, 0, SLOTS_MAX, NULL,
     "slots of level 3, each as wide as level 2; 0: no such level"},
    {"l4", TL_U32(struct wheel_options, slots[3]), 64, 0, SLOTS_MAX, NULL,
     "slots of level 4, each as wide as level 3; 0: no such level"},
    {"l5", TL_U32(struct wheel_options, slots[4]), 64, 0, SLOTS_MAX, NULL,
     "slots of level 5, each as wide as level 4; 0: no such level"},
    {"level", TL_CHOICE(struct wheel_options, level), BY_DELAY, 0, 0, level_choices,
     "what names a timer's level"},
    {0},
};

/* --- check and walk --------------------------------------------------------------------------- */

/* The tick at which a slot is entered. */
static uint64_t slot_starts(const struct level *level, uint32_t slot)
{
    return level->start + slots_ahead(level->hand, slot, level->slots) * level->width;
}

static bool bucket_takes(const struct cascading_wheel *wheel, uint32_t bucket,
                         const struct node *node)
{
    const struct level *last = &wheel->levels[wheel->level_count - 1];
    const struct level *level = last;
    while (level > wheel->levels && bucket < level->first) {
        level--;
    }
    uint32_t slot = bucket - level->first;
    if (bucket == FLUSH ||
        (level == wheel->levels && (wheel->marks[slot / 64] >> slot % 64 & 1) == 0)) {
        return false;
    }
    uint64_t starts = slot_starts(level, slot);
    return node->due >= starts &&
           (node->due - starts < level->width || (level == last && wheel->overfilled));
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct cascading_wheel *wheel = self;
    for (uint32_t n = 0; n < wheel->level_count; n++) {
        const struct level *level = &wheel->levels[n];
        struct level right = *level;
        level_place(&right, wheel->buckets.clock);
        if (level->start != right.start || level->hand != right.hand) {
            return corrupt(why, why_bytes, "the hand of level %" PRIu32 " is wrong", n + 1);
        }
    }
    uint64_t next = buckets_are_due(&wheel->buckets) ? 0 : first_work(wheel);
    return wheel->work_at <= next
               ? buckets_check_timers(wheel, 0, why, why_bytes)
               : corrupt(why, why_bytes, "there is work at tick %" PRIu64 ", before tick %" PRIu64,
                         next, wheel->work_at);
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct cascading_wheel *wheel = self;
    buckets_walk_due(&wheel->buckets, visitor);
    for (uint32_t n = 0; n < wheel->level_count; n++) {
        const struct level *level = &wheel->levels[n];
        walk_level(visitor, n + 1, level->width);
        for (uint32_t slot = 0; slot < level->slots; slot++) {
            bool hand = slot == level->hand;
            bool passed = hand && bucket_is_empty(&wheel->buckets, level->first + slot);
            uint64_t starts = passed ? level->start : slot_starts(level, slot);
            walk_slot(visitor, slot, starts + level->width - 1, level->width,
                      hand ? TL_MARK_HAND : 0);
            bucket_walk(&wheel->buckets, level->first + slot, keep_due, visitor);
        }
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(cascading_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "cascading-wheel",
    .summary = "seconds, minutes, hours: wheels with cascading slots, tick by tick",
    .origin = "Varghese and Lauck 1987, scheme 7; Linux before 4.8",
    .description =
        "Up to five levels, each slot as wide as the whole level below; the spans are options, so "
        "l1=60:l2=60:l3=24 is a clock. When a hand has gone round, the next level's moves by one "
        "slot and that slot's timers are filed again, lower. A timer beyond all levels waits in "
        "the furthest slot. Bad at: an upper slot with very many timers, all filed again in one "
        "tick, and idle times, since it must be driven every tick.",
    .differs =
        "with level=delay, the default, a timer goes to the lowest level that reaches it, as in "
        "Linux; the paper's example is level=digit; Linux from 2.6.35 to 4.7 rounds a deadline "
        "that mod_timer sets by up to 1/256 of its delay, here it stays as it is; a deadline at or "
        "before the clock fires in the next advance, where Linux waits for the next tick; no lock, "
        "no deferrable timers; a jump fires the timers that it passes in no order, where Linux "
        "works tick by tick, and the paper knows no jumps; beyond the last level the paper takes "
        "no timer, Linux and this file it again.",
    .cost = {.start = "O(m)", .stop = "O(1)", .tick = "O(1)", .expire = "O(m)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .create = wheel_create,
    .start = wheel_start,
    .advance = wheel_advance,
    BUCKETS_HOOKS,
    .check = wheel_check,
    .walk = wheel_walk,
};
