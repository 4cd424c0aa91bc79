/*
 * vpp-wheel: VPP's timers: one to three rings like the digits of a mileage counter, and an overflow
 * list.
 *
 *   bits=10, wheels=overflow              the clock reads 2,097,160 = 0 glacier, 2 slow, 8 fast
 *
 *   ring      ticks a slot   holds timers that differ from the clock
 *   fast                 1   in the lowest digit alone                (due 2,097,170: slot 18)
 *   slow             1,024   in the second, and none above            (due 2,099,500: slot 2 is
 *   glacier      1,048,576   in the third, and none above              passed, it goes to slot 3)
 *   overflow             -   above: after the counter has gone round   (due 2^30 and later)
 *
 * A timer waits in the ring of the highest digit in which its deadline differs from the clock.
 * start(a, 2097170) appends a to slot 18 of the fast ring and sets its bit. When a digit advances,
 * the slot that it reaches is emptied into the rings below; when all overflow, the overflow list is
 * filed. So a timer moves once for each digit, and once for each turn of the counter in the
 * overflow. stop(a) unlinks a and leaves the bit, which the hand clears later.
 *
 * Without overflow the last ring takes deadlines that differ by less than its turn: a horizon.
 * wheels=1:bits=11, wheels=2:bits=9 and wheels=3:bits=8 are VPP's other geometries.
 *
 * An advance first collects all passed slots, those passed as a whole unopened, in FLUSH, and then
 * files the rest, because a timer may belong to a slot that is still to be emptied.
 *
 * Invariants
 *   - slot s of ring r holds the timers of one span of slots^r ticks, the next one after the
 *     clock's own with number s modulo slots
 *   - a slot that holds timers has its bit set
 *   - a timer in the overflow is due after the counter's turn, and no earlier than `overflow_from`
 *   - the slots, the overflow, DUE and LATE together hold exactly the pending timers; FLUSH is
 *     empty between calls
 *
 * Complexity (m rings): start, stop and a tick O(1), expiry up to m moves; `next` is a lower bound.
 * Use it for timeouts of up to a turn of the counter. Bad at: a slow slot, or an overflow, with
 * very many timers; memory for few timers, since every slot has a head.
 *
 * Source: FD.io VPP, src/vppinfra/tw_timer_template.c and .h.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define BITS_MIN       8
#define BITS_MAX       11
#define RINGS_MAX      3u
#define WORDS_MAX      ((1u << BITS_MAX) / 64)

#define BUCKET_STRIPES 1u
#include "due_buckets.h"

#define FLUSH        2u /* timers that an advance has collected and files again */
#define OVERFLOW     3u
#define FIRST_BUCKET 4u /* slot 0 of the fast ring */

struct vpp_wheel {
    struct timer_buckets buckets;
    uint32_t bits; /* log2 of slots */
    uint32_t slots;
    uint32_t level_count; /* rings */
    bool has_overflow;
    uint64_t overflow_from; /* nothing in the overflow is due before; TL_NEVER: it is empty */
    uint64_t occupied[RINGS_MAX][WORDS_MAX];
};
#define STRUCTURE  struct vpp_wheel
#define LEVEL_BITS wheel->bits
#define LEVEL_STEP wheel->bits
#define LEVEL_WORDS
#define SLOT_FROM slot_began
#define FILE_TIMER
#define NEXT_WORK
#include "slot_levels.h"

/* --- start and stop --------------------------------------------------------------------------- */

/* The ring of a timer due after the clock; level_count for the overflow. */
static inline uint32_t ring_of(const struct vpp_wheel *wheel, uint64_t due)
{
    uint32_t highest = 63 - (uint32_t)__builtin_clzll(due ^ wheel->buckets.clock);
    uint32_t digit = highest / wheel->bits;
    uint32_t last = wheel->has_overflow ? wheel->level_count : wheel->level_count - 1;
    return digit < last ? digit : last;
}

/* Files a timer that is in no list and due after the clock. */
static inline void file_timer(struct vpp_wheel *wheel, uint32_t index, uint64_t due)
{
    uint32_t ring = ring_of(wheel, due);
    if (ring == wheel->level_count) {
        bucket_append(&wheel->buckets, OVERFLOW, index);
        wheel->overflow_from = due < wheel->overflow_from ? due : wheel->overflow_from;
        return;
    }
    uint32_t slot = (uint32_t)(due >> (ring * wheel->bits)) & (wheel->slots - 1);
    wheel->occupied[ring][slot / 64] |= UINT64_C(1) << slot % 64;
    bucket_append(&wheel->buckets, FIRST_BUCKET + (ring << wheel->bits) + slot, index);
}

/* Whether the last ring would have gone round before. */
static inline bool is_beyond(const struct vpp_wheel *wheel, uint64_t deadline)
{
    uint32_t shift = (wheel->level_count - 1) * wheel->bits;
    return !wheel->has_overflow && deadline > wheel->buckets.clock &&
           (deadline >> shift) - (wheel->buckets.clock >> shift) >= wheel->slots;
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    return is_beyond(self, deadline) ? TL_ERR_HORIZON : buckets_start(self, id, deadline);
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Collects the slots of a ring that the clock has passed, or come to, since `old`. True if it came
 * to one with timers that may not be due yet. */
static bool pass_ring(struct vpp_wheel *wheel, uint32_t ring, uint64_t old)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint64_t *occupied = wheel->occupied[ring];
    uint32_t shift = ring * wheel->bits;
    uint64_t at = old >> shift;
    uint64_t end = buckets->clock >> shift;
    uint64_t left = end - at < wheel->slots ? end - at : wheel->slots;
    bool opens = false;
    while (left > 0) {
        TL_COUNT(buckets, slots, 1);
        if (left == 1 && !slot_is_occupied(wheel, ring, (uint32_t)(at + 1) & (wheel->slots - 1))) {
            break; /* the usual case: no other word is looked at */
        }
        uint64_t ahead = 1 + (uint64_t)bitmap_words_ahead(occupied, wheel->slots, at);
        if (ahead > left) {
            break;
        }
        at += ahead;
        left -= ahead;
        uint32_t slot = (uint32_t)at & (wheel->slots - 1);
        bool open = at == end && ring > 0;
        occupied[slot / 64] &= ~(UINT64_C(1) << slot % 64);
        bucket_move_all(buckets, FIRST_BUCKET + (ring << wheel->bits) + slot, open ? FLUSH : DUE);
        opens = opens || open;
    }
    return opens;
}

/* Moves the clock to `now`, and everything that is due by then to DUE. */
static void collect_due(struct vpp_wheel *wheel, uint64_t now)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint64_t old = buckets->clock;
    buckets->clock = now;
    bucket_move_all(buckets, LATE, DUE);
    bool opens = false;
    for (uint32_t ring = 0;
         ring < wheel->level_count && old >> (ring * wheel->bits) != now >> (ring * wheel->bits);
         ring++) {
        opens = pass_ring(wheel, ring, old) || opens;
    }
    uint32_t turn = wheel->level_count * wheel->bits;
    if (wheel->has_overflow && old >> turn != now >> turn &&
        wheel->overflow_from >> turn <= now >> turn) {
        wheel->overflow_from = TL_NEVER;
        bucket_move_all(buckets, OVERFLOW, FLUSH);
        opens = true;
    }
    if (opens) {
        bucket_empty(buckets, FLUSH, file_again, wheel);
    }
}

static uint64_t next_work(const struct vpp_wheel *wheel)
{
    for (uint32_t ring = 0; ring < wheel->level_count; ring++) {
        uint32_t shift = ring * wheel->bits;
        uint64_t from = wheel->buckets.clock >> shift;
        uint32_t between = bitmap_words_ahead(wheel->occupied[ring], wheel->slots, from);
        if (between < wheel->slots) {
            return (from + 1 + between) << shift;
        }
    }
    uint32_t turn = wheel->level_count * wheel->bits;
    return wheel->overflow_from >> turn << turn;
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint32_t wheels;
    uint32_t bits;
};

#define WITH_OVERFLOW (RINGS_MAX + 1)

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    uint32_t wheels = options->wheels;
    uint32_t bits = options->bits;
    uint32_t rings = wheels < RINGS_MAX ? wheels : RINGS_MAX;
    struct vpp_wheel empty = {
        .buckets = buckets_empty(config, FIRST_BUCKET + (rings << bits)),
        .bits = bits,
        .slots = UINT32_C(1) << bits,
        .level_count = rings,
        .has_overflow = wheels == WITH_OVERFLOW,
        .overflow_from = TL_NEVER,
    };
    return structure_create(config, &empty, buckets_reserve, buckets_destroy, self);
}

static const struct tl_choice wheels_choices[] = {
    {"overflow", WITH_OVERFLOW, "three, and a list of timers beyond their turn: no horizon"},
    {NULL, 0, NULL},
};

static const struct tl_option wheel_option_table[] = {
    {"wheels", TL_U32(struct wheel_options, wheels), WITH_OVERFLOW, 1, RINGS_MAX, wheels_choices,
     "rings (TW_TIMER_WHEELS, TW_OVERFLOW_VECTOR)"},
    {"bits", TL_U32(struct wheel_options, bits), 10, BITS_MIN, BITS_MAX, NULL,
     "slots of a ring are 2^bits (TW_RING_SHIFT)"},
    {0},
};

/* --- check and walk --------------------------------------------------------------------------- */

static bool slot_takes(const struct vpp_wheel *wheel, uint32_t ring, uint32_t slot,
                       const struct node *node)
{
    return node->due >> LEVEL_SHIFT(ring) == slot_began(wheel, ring, slot) >> LEVEL_SHIFT(ring) &&
           ring_of(wheel, node->due) == ring;
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct vpp_wheel *wheel = self;
    const struct timer_buckets *buckets = &wheel->buckets;
    enum tl_status status = levels_check(wheel, why, why_bytes);
    for (uint32_t i = bucket_first(buckets, OVERFLOW); status == TL_OK && i != SLOT_NONE;
         i = bucket_after(buckets, OVERFLOW, i)) {
        uint64_t due = node_at(buckets, i)->due;
        if (due < wheel->overflow_from || ring_of(wheel, due) != wheel->level_count) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " is in the overflow",
                           timer_id(buckets, i));
        }
    }
    return status;
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct vpp_wheel *wheel = self;
    levels_walk(wheel, visitor);
    if (!bucket_is_empty(&wheel->buckets, OVERFLOW)) {
        walk_part(visitor, "overflow", TL_FORM_LIST, 0);
        walk_node(visitor, 0, TL_NEVER);
        bucket_walk(&wheel->buckets, OVERFLOW, keep_due, visitor);
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(vpp_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET,
    .name = "vpp-wheel",
    .summary = "one to three rings like the digits of a mileage counter, and an overflow",
    .origin = "FD.io VPP, tw_timer",
    .description =
        "A timer waits in the ring of the highest digit in which its deadline differs from the "
        "clock; a slot is emptied into the rings below when its digit comes up, the overflow when "
        "all have gone round. A bitmap that stops leave as it is gives a lower bound for the next "
        "expiry. Bad at: the ticks in which a digit clicks, if its slot holds very many timers or "
        "the overflow does; few timers, for which it has thousands of slots.",
    .differs =
        "fires at the tick itself, where VPP has the slot come up with the tick after; the timers "
        "of one tick fire in another order, VPP's the last one filed first; passes over empty "
        "slots, so that `next` looks beyond the turn of the fast ring and jumps may be of any "
        "size; a deadline for which the last ring would have gone round is refused, VPP files it a "
        "turn too early; a timer due at its start fires with the next advance, VPP takes no "
        "interval of 0; keeps the deadline itself, in 16 bytes a timer with or without overflow; "
        "no cap on the timers that one call hands out but the budget.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(m)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .create = wheel_create,
    .start = wheel_start,
    .advance = buckets_advance,
    .next = buckets_next,
    BUCKETS_HOOKS,
    .check = wheel_check,
    .walk = wheel_walk,
};
