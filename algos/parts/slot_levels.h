/*
 * slot_levels.h: levels of wheels, with a bit for each slot that holds timers.
 *
 *   level   ticks of a slot      occupied
 *     0                   1      ...x....x.........
 *     1      2^LEVEL_STEP        .x................
 *     2      2^(2 * LEVEL_STEP)  ......x...........
 *
 * The hand of a level is the slot of the clock. Levels are shown with numbers from 1.
 *
 * Internal, and a template. The including file first defines
 *
 *   STRUCTURE     its own struct, which begins with its buckets, with the members
 *                   uint32_t level_count; uint64_t occupied[] (a word for each level)
 *   LEVEL_BITS    log2 of the slots of a level; may depend on `wheel`, as may the next
 *   LEVEL_STEP    log2 of the number of slots of a level that one slot of the next level covers
 *   FIRST_BUCKET  the bucket of slot 0 of level 0; the other slots follow
 *   FLUSH         optional: a bucket that is empty between calls
 *   LEVEL_WORDS   optional: occupied[level] is an array of words, for more than 64 slots, and a bit
 *                 may stay set when its slot becomes empty
 *
 * or, for levels that differ more, LEVEL_COUNT to LEVEL_OF below; and afterwards the functions that
 * are declared below without a body.
 */
#ifndef ALGOS_SLOT_LEVELS_H
#define ALGOS_SLOT_LEVELS_H

#ifndef LEVEL_WORDS
#ifndef TAKE_OUT
#define TAKE_OUT levels_remove
#endif
#ifdef LEVEL_STEP
#define NEXT_WORK
#endif
#endif

#include "bucket_hooks.h"
#include "slot_bitmap.h"

#ifndef LEVEL_COUNT
#define LEVEL_COUNT         wheel->level_count
#define LEVEL_SHIFT(level)  ((level) * (LEVEL_STEP)) /* log2 of the ticks of a slot */
#define LEVEL_SLOTS(level)  (UINT32_C(1) << (LEVEL_BITS))
#define LEVEL_BUCKET(level) (FIRST_BUCKET + ((level) << (LEVEL_BITS))) /* of slot 0 */
#define LEVEL_OF(bucket)    (((bucket)-FIRST_BUCKET) >> (LEVEL_BITS))
#endif

/* The word with the bit of a slot. */
#ifdef LEVEL_WORDS
#define LEVEL_WORD(level, slot) ((wheel)->occupied[level][(slot) / 64])
#else
#define LEVEL_WORD(level, slot) ((wheel)->occupied[level])
#endif

/* The timers pending that are in no list. */
#ifndef LEVEL_APART
#define LEVEL_APART 0
#endif

/* The ticks of the timers in a slot of that many ticks. */
#ifndef LEVEL_SPAN
#define LEVEL_SPAN(ticks) (ticks)
#endif

/* The tick that a timer is filed under. */
#ifndef LEVEL_TICK
#define LEVEL_TICK(node) ((node)->due)
#endif

/* Return the first tick of a slot, as `walk` shows it: slot_from is the including file's. */
#ifndef SLOT_FROM
#define SLOT_FROM slot_from
static uint64_t slot_from(const STRUCTURE *wheel, uint32_t level, uint32_t slot);
#endif

/* Return whether a timer belongs in this slot. The including file's. */
static bool slot_takes(const STRUCTURE *wheel, uint32_t level, uint32_t slot,
                       const struct node *node);

static inline bool slot_is_occupied(const STRUCTURE *wheel, uint32_t level, uint32_t slot)
{
    return (LEVEL_WORD(level, slot) >> slot % 64 & 1) != 0;
}

/* Remove a filed timer from its list. If its slot becomes empty, clear the slot's bit. */
static inline void levels_remove(STRUCTURE *wheel, uint32_t index)
{
    uint32_t bucket = bucket_remove(&wheel->buckets, index);
    if (bucket != BUCKET_NONE && bucket >= FIRST_BUCKET) {
        uint32_t level = LEVEL_OF(bucket);
        uint32_t slot = bucket - LEVEL_BUCKET(level);
        LEVEL_WORD(level, slot) &= ~(UINT64_C(1) << slot % 64);
    }
}

/* Return the first tick of a slot's present turn: that of the hand's slot is not after the clock. */
static inline uint64_t slot_began(const STRUCTURE *wheel, uint32_t level, uint32_t slot)
{
    uint64_t hand = wheel->buckets.clock >> LEVEL_SHIFT(level);
    return (hand + ((slot - hand) & (LEVEL_SLOTS(level) - 1))) << LEVEL_SHIFT(level);
}

/* Return the tick at which the hand next enters a slot: for the hand's slot, after a turn. */
static inline uint64_t slot_entered(const STRUCTURE *wheel, uint32_t level, uint32_t slot)
{
    uint64_t hand = wheel->buckets.clock >> LEVEL_SHIFT(level);
    return (hand + 1 + ((slot - hand - 1) & (LEVEL_SLOTS(level) - 1))) << LEVEL_SHIFT(level);
}

/* Return the first tick of the turn that a slot's timers wait for, if those in the hand's slot wait for
 * a turn. */
static inline uint64_t slot_turn(const STRUCTURE *wheel, uint32_t level, uint32_t slot)
{
    return slot_is_occupied(wheel, level, slot) ? slot_entered(wheel, level, slot)
                                                : slot_began(wheel, level, slot);
}

/* --- hooks, and parts of them ---------------------------------------------------------------- */

#ifdef LEVEL_STEP
#ifndef LEVEL_WORDS
/* Return the tick at which the hand of some level first enters an occupied slot, or TL_NEVER. */
static inline uint64_t next_work(const STRUCTURE *wheel)
{
    return bitmap_levels_next(wheel->occupied, wheel->level_count, LEVEL_STEP, LEVEL_SLOTS(0),
                              wheel->buckets.clock);
}
#endif
#endif

static inline enum tl_status level_check_slot(const STRUCTURE *wheel, uint32_t level, uint32_t slot,
                                              char *why, size_t why_bytes)
{
    const struct timer_buckets *buckets = &wheel->buckets;
    uint32_t bucket = LEVEL_BUCKET(level) + slot;
    bool empty = bucket_is_empty(buckets, bucket);
    bool occupied = slot_is_occupied(wheel, level, slot);
#ifdef LEVEL_WORDS
    bool wrong = !empty && !occupied;
#else
    bool wrong = empty == occupied;
#endif
    if (wrong) {
        return corrupt(why, why_bytes, "the bit of slot %" PRIu32 " of level %" PRIu32 " is wrong",
                       slot, level + 1);
    }
    for (uint32_t i = bucket_first(buckets, bucket); i != SLOT_NONE;
         i = bucket_after(buckets, bucket, i)) {
        if (!slot_takes(wheel, level, slot, node_at(buckets, i))) {
            return corrupt(why, why_bytes,
                           "timer %" PRIu32 ", of tick %" PRIu64 ", is in slot %" PRIu32
                           " of level %" PRIu32,
                           timer_id(buckets, i), LEVEL_TICK(node_at(buckets, i)), slot, level + 1);
        }
    }
    return TL_OK;
}

/* The hook `check`: verify the lists, the bits, that each timer is in a slot that takes it, that FLUSH
 * is empty, and that no work is expected before work_at. */
static inline enum tl_status levels_check(const void *self, char *why, size_t why_bytes)
{
    const STRUCTURE *wheel = self;
    enum tl_status status = buckets_check(&wheel->buckets, LEVEL_APART, why, why_bytes);
    for (uint32_t level = 0; level < LEVEL_COUNT; level++) {
        for (uint32_t slot = 0; status == TL_OK && slot < LEVEL_SLOTS(level); slot++) {
            status = level_check_slot(wheel, level, slot, why, why_bytes);
        }
    }
#ifdef FLUSH
    if (status == TL_OK && !bucket_is_empty(&wheel->buckets, FLUSH)) {
        return corrupt(why, why_bytes, "timers that were collected are not filed");
    }
#endif
#ifdef WORK_AT
    if (status == TL_OK && wheel->work_at > buckets_next(wheel)) {
        return corrupt(why, why_bytes, "there is work at tick %" PRIu64 ", before tick %" PRIu64,
                       buckets_next(wheel), wheel->work_at);
    }
#endif
    return status;
}

/* The hook `walk`. */
static inline void levels_walk(const void *self, const struct tl_visitor *visitor)
{
    const STRUCTURE *wheel = self;
    const struct timer_buckets *buckets = &wheel->buckets;
    buckets_walk_due(buckets, visitor);
    for (uint32_t level = 0; level < LEVEL_COUNT; level++) {
        uint64_t ticks = UINT64_C(1) << LEVEL_SHIFT(level);
        uint64_t hand = buckets->clock / ticks % LEVEL_SLOTS(level);
        walk_level(visitor, level + 1, ticks);
        for (uint32_t slot = 0; slot < LEVEL_SLOTS(level); slot++) {
            uint64_t from = SLOT_FROM(wheel, level, slot);
            walk_span(visitor, slot, from, from + (LEVEL_SPAN(ticks) - 1),
                      (slot == hand ? TL_MARK_HAND : 0u) |
                          (slot_is_occupied(wheel, level, slot) ? TL_MARK_FLAGGED : 0u));
            for (uint32_t i = bucket_first(buckets, LEVEL_BUCKET(level) + slot); i != SLOT_NONE;
                 i = bucket_after(buckets, LEVEL_BUCKET(level) + slot, i)) {
                uint64_t tick = LEVEL_TICK(node_at(buckets, i));
                walk_timer(visitor, timer_id(buckets, i), tick,
                           (tick - from) / ticks / LEVEL_SLOTS(level));
            }
        }
    }
}

#endif
