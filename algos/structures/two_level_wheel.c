/*
 * two-level-wheel: Erlang's timer wheels: one for soon, one for later, and an ordered rest.
 *
 *   soon-bits=14, later-bits=14; a tick is 1 ms
 *
 *   soon     16,384 slots of 1 tick         delays below 2^14                  16 s
 *   later    16,384 slots of 8,192 ticks    delays below 2^14 of its slots     37 h
 *   beyond   a heap                         everything else
 *
 *            clock                      later_slot
 *              v                            v
 *   later   |         |          |          |          |
 *                                |<- 8,192 >|   moved to the soon wheel when the clock is a slot's
 *             [--- soon wheel ---)              width away
 *
 * At tick 0, start(a, 60000) files a in slot 7 of the later wheel, ticks 57,344 to 65,535. When the
 * clock comes within 8,192 ticks of that slot, at tick 49,152, its timers move to the soon wheel,
 * and a fires from there. So a timer moves once at most. stop(a) unlinks a; two thirds of all
 * timeouts are stopped before they move.
 *
 * Erlang keeps timers beyond a turn of the later wheel in a red-black tree; here it is a binary
 * heap of ids. To find the next timeout, Erlang counts the timers in every 512 slots. Here each
 * wheel has a bit for each slot and a bit for each 64 of those, so that `next` and jumps visit no
 * empty slot.
 *
 * Invariants
 *   - soon slot t mod 2^s holds the timers due at t, clock < t < clock + 2^s
 *   - later_slot = clock / w + 2, w being a later slot's width; later slot l mod 2^m holds timers
 *     due in l * w .. l * w + w-1, later_slot <= l < later_slot + 2^m
 *   - a slot's bit is set exactly if it holds timers, a word's bit in the summary if it is not 0
 *   - in the heap no timer is due before its parent; `prev` of a timer in it is its place, `next`
 *     is IN_HEAP
 *
 * Complexity (o: timers in the heap): start and stop O(1), or O(log o); a tick O(1), expiry O(1)
 * and one more move, or O(log o). Use it for timeouts of seconds to hours. Bad at: a later slot
 * with very many timers, which one advance moves; small memories: the wheels take 1.3 MB, which
 * `create` clears.
 *
 * Source: erlang/otp, erts/emulator/beam/time.c and erl_hl_timer.c.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define LATER_STRIPES  4u /* lists of a later slot */
#define BITS_MAX       18 /* then the summary of a wheel has 64 words */
#define BITS_MIN       6
#define WORDS_MAX      (1u << (BITS_MAX - 6))

#define BUCKET_STRIPES 1u
#include "due_buckets.h"
#include "slot_bitmap.h"

#include "slot_ring.h"

/* Which slots of a wheel are occupied. */
struct occupied {
    uint64_t words[WORDS_MAX];
    uint64_t summary[WORDS_MAX / 64];
};
enum { SOON, LATER };

struct two_level_wheel {
    struct timer_buckets buckets;
    uint64_t later_slot;  /* the next to be moved, counted from tick 0 */
    uint32_t width_shift; /* log2 of a later slot's width */
    uint32_t soon_slots;
    uint32_t later_slots;
    uint32_t first_later; /* list of later slot 0 */
    uint32_t *heap;       /* node indices, the first due at 0 */
    uint32_t heap_count;
    struct slot_scouts scouts;
    struct occupied occupied[]; /* SOON and LATER; large, so that `create` needs no copy of them */
};
#define STRUCTURE              struct two_level_wheel
#define STRUCTURE_BYTES(wheel) (sizeof *(wheel) + 2 * sizeof(struct occupied))
#define FILE_TIMER
#define TAKE_OUT take_out
#define SCOUTED
#define NEXT_WORK
#define TAKES_FROM FIRST_SLOT
#include "bucket_hooks.h"

#include "index_heap.h"

/* --- data: occupied slots --------------------------------------------------------------------- */

static inline void occupied_set(struct occupied *occupied, uint32_t slot)
{
    occupied->words[slot / 64] |= UINT64_C(1) << slot % 64;
    occupied->summary[slot / 4096] |= UINT64_C(1) << slot / 64 % 64;
}

static inline void occupied_clear(struct occupied *occupied, uint32_t slot)
{
    occupied->words[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    if (occupied->words[slot / 64] == 0) {
        occupied->summary[slot / 4096] &= ~(UINT64_C(1) << slot / 64 % 64);
    }
}

/* The first occupied slot from `slot` on, or `slots`, their number. */
static uint32_t occupied_from(const struct occupied *occupied, uint32_t slots, uint32_t slot)
{
    if (slot >= slots) {
        return slots;
    }
    uint64_t word = occupied->words[slot / 64] >> slot % 64;
    if (word != 0) {
        return slot + bitmap_first(word);
    }
    uint32_t words = (slots + 63) / 64;
    for (uint32_t at = slot / 64 + 1; at < words;) {
        uint64_t summary = occupied->summary[at / 64] >> at % 64;
        if (summary != 0) {
            at += bitmap_first(summary);
            return at * 64 + bitmap_first(occupied->words[at]);
        }
        at = (at / 64 + 1) * 64;
    }
    return slots;
}

/* The number of slots from `slot` to the first occupied one, going round; `slots` if there is none.
 */
static uint32_t occupied_ahead(const struct occupied *occupied, uint32_t slots, uint32_t slot)
{
    uint32_t found = occupied_from(occupied, slots, slot);
    if (found < slots) {
        return found - slot;
    }
    found = occupied_from(occupied, slots, 0);
    return found < slot ? found + slots - slot : slots;
}

/* --- start and stop --------------------------------------------------------------------------- */

/* The first of a later slot's lists. */
static inline uint32_t later_lists(const struct two_level_wheel *wheel, uint32_t slot)
{
    return wheel->first_later + slot * LATER_STRIPES;
}

/* Files a timer that is in no list and due after the clock. */
static inline void file_timer(struct two_level_wheel *wheel, uint32_t index, uint64_t due)
{
    struct timer_buckets *buckets = &wheel->buckets;
    if (due - wheel->buckets.clock < wheel->soon_slots) {
        uint32_t slot = (uint32_t)due & (wheel->soon_slots - 1);
        occupied_set(&wheel->occupied[SOON], slot);
        bucket_append(buckets, FIRST_SLOT + slot, index);
    } else if ((due - wheel->buckets.clock) >> wheel->width_shift < wheel->later_slots) {
        uint32_t slot = (uint32_t)(due >> wheel->width_shift) & (wheel->later_slots - 1);
        occupied_set(&wheel->occupied[LATER], slot);
        bucket_append(buckets, later_lists(wheel, slot) + index % LATER_STRIPES, index);
    } else {
        heap_add(wheel, index);
    }
}

static bool later_is_empty(const struct two_level_wheel *wheel, uint32_t slot)
{
    bool empty = true;
    for (uint32_t i = 0; i < LATER_STRIPES; i++) {
        empty &= slot_is_empty(&wheel->buckets, later_lists(wheel, slot) + i);
    }
    return empty;
}

/* Takes a filed timer out of where it is. */
static inline void take_out(struct two_level_wheel *wheel, uint32_t index)
{
    if (node_at(&wheel->buckets, index)->next == IN_HEAP) {
        heap_remove(wheel, index);
        return;
    }
    uint32_t list = bucket_remove(&wheel->buckets, index);
    if (list == BUCKET_NONE || list < FIRST_SLOT) {
        return;
    }
    if (list < wheel->first_later) {
        occupied_clear(&wheel->occupied[SOON], list - FIRST_SLOT);
        return;
    }
    uint32_t slot = (list - wheel->first_later) / LATER_STRIPES;
    if (later_is_empty(wheel, slot)) {
        occupied_clear(&wheel->occupied[LATER], slot);
    }
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Moves the soon slots from after `old` to the clock to DUE. */
static void collect_soon(struct two_level_wheel *wheel, uint64_t old)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint64_t left = wheel->buckets.clock - old;
    left = left < wheel->soon_slots ? left : wheel->soon_slots;
    uint32_t mask = wheel->soon_slots - 1;
    uint32_t slot = (uint32_t)(old + 1) & mask;
    while (left > 0) {
        uint32_t ahead = 0;
        if (left > 1) {
            ahead = occupied_ahead(&wheel->occupied[SOON], wheel->soon_slots, slot);
            if (ahead >= left) {
                break;
            }
        }
        slot = (slot + ahead) & mask;
        left -= ahead + 1;
        bucket_move_all(buckets, FIRST_SLOT + slot, DUE);
        occupied_clear(&wheel->occupied[SOON], slot);
        slot_scout_send(buckets, &wheel->scouts, slot, (slot + SLOT_SCOUTS) & mask);
        TL_COUNT(buckets, slots, 1);
        slot = (slot + 1) & mask;
    }
}

/* Moves the later slots that are within a slot's width of the clock to the soon wheel, the places
 * of which have been emptied. */
static void collect_later(struct two_level_wheel *wheel)
{
    uint64_t old = wheel->later_slot;
    wheel->later_slot = (wheel->buckets.clock >> wheel->width_shift) + 2;
    uint64_t left = wheel->later_slot - old;
    left = left < wheel->later_slots ? left : wheel->later_slots;
    uint32_t mask = wheel->later_slots - 1;
    uint32_t slot = (uint32_t)old & mask;
    for (;;) {
        uint32_t ahead = occupied_ahead(&wheel->occupied[LATER], wheel->later_slots, slot);
        if (ahead >= left) {
            return;
        }
        slot = (slot + ahead) & mask;
        left -= ahead + 1;
        occupied_clear(&wheel->occupied[LATER], slot);
        slots_drain(&wheel->buckets, later_lists(wheel, slot), LATER_STRIPES, 1, file_again, wheel);
        TL_COUNT(&wheel->buckets, slots, 1);
        slot = (slot + 1) & mask;
    }
}

/* Moves the clock to `now`, and everything that is due by then to DUE. */
static void collect_due(struct two_level_wheel *wheel, uint64_t now)
{
    bucket_move_all(&wheel->buckets, LATE, DUE);
    uint64_t old = wheel->buckets.clock;
    wheel->buckets.clock = now;
    collect_soon(wheel, old);
    if ((now >> wheel->width_shift) + 2 != wheel->later_slot) {
        collect_later(wheel);
    }
    heap_collect_due(wheel, now);
}

static uint64_t next_work(const struct two_level_wheel *wheel)
{
    uint64_t next = wheel->heap_count > 0 ? heap_due(wheel, 0) : TL_NEVER;
    uint32_t mask = wheel->soon_slots - 1;
    uint32_t ahead = occupied_ahead(&wheel->occupied[SOON], wheel->soon_slots,
                                    (uint32_t)(wheel->buckets.clock + 1) & mask);
    if (ahead < wheel->soon_slots && wheel->buckets.clock + 1 + ahead < next) {
        next = wheel->buckets.clock + 1 + ahead;
    }
    mask = wheel->later_slots - 1;
    ahead = occupied_ahead(&wheel->occupied[LATER], wheel->later_slots,
                           (uint32_t)wheel->later_slot & mask);
    if (ahead < wheel->later_slots) {
        /* Not when its first timer is due: when it must have been moved. */
        uint64_t moved = (wheel->later_slot + ahead - 1) << wheel->width_shift;
        next = moved < next ? moved : next;
    }
    return next;
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint32_t soon_bits;
    uint32_t later_bits;
};

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    uint32_t soon_slots = UINT32_C(1) << options->soon_bits;
    uint32_t later_slots = UINT32_C(1) << options->later_bits;
    uint32_t first_later = FIRST_SLOT + soon_slots;
    uint32_t width_shift = options->soon_bits - 1;
    struct two_level_wheel empty = {
        .buckets = buckets_empty(config, first_later + later_slots * LATER_STRIPES),
        .later_slot = (config->now >> width_shift) + 2,
        .width_shift = width_shift,
        .soon_slots = soon_slots,
        .later_slots = later_slots,
        .first_later = first_later,
    };
    return structure_create(config, &empty, heap_reserve, heap_destroy, self);
}

static const struct tl_option wheel_option_table[] = {
    {"soon-bits", TL_U32(struct wheel_options, soon_bits), 14, BITS_MIN, BITS_MAX, NULL,
     "the soon wheel has 2^bits slots of a tick, a later slot is half of it"},
    {"later-bits", TL_U32(struct wheel_options, later_bits), 14, BITS_MIN, BITS_MAX, NULL,
     "the later wheel has 2^bits slots"},
    {0},
};

/* --- check and walk --------------------------------------------------------------------------- */

static bool occupied_at(const struct occupied *occupied, uint32_t slot)
{
    return (occupied->words[slot / 64] >> slot % 64 & 1) != 0;
}

/* Whether the bits for a slot say that it is `empty`. */
static bool check_occupied(const struct occupied *occupied, uint32_t slot, bool empty)
{
    return occupied_at(occupied, slot) == !empty &&
           (occupied->summary[slot / 4096] >> slot / 64 % 64 & 1) ==
               (occupied->words[slot / 64] != 0);
}

static bool bucket_takes(const struct two_level_wheel *wheel, uint32_t list,
                         const struct node *node)
{
    const struct timer_buckets *buckets = &wheel->buckets;
    if (list < wheel->first_later) {
        return node->due > buckets->clock && node->due - buckets->clock < wheel->soon_slots &&
               (node->due & (wheel->soon_slots - 1)) == list - FIRST_SLOT;
    }
    uint64_t slot = node->due >> wheel->width_shift;
    return slot - wheel->later_slot < wheel->later_slots &&
           (slot & (wheel->later_slots - 1)) == (list - wheel->first_later) / LATER_STRIPES;
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct two_level_wheel *wheel = self;
    const struct timer_buckets *buckets = &wheel->buckets;
    if (wheel->later_slot != (buckets->clock >> wheel->width_shift) + 2) {
        return corrupt(why, why_bytes, "the later wheel is at slot %" PRIu64 " at tick %" PRIu64,
                       wheel->later_slot, buckets->clock);
    }
    bool right = true;
    for (uint32_t slot = 0; slot < wheel->soon_slots; slot++) {
        bool empty = bucket_is_empty(buckets, FIRST_SLOT + slot);
        right = right && check_occupied(&wheel->occupied[SOON], slot, empty);
    }
    for (uint32_t slot = 0; slot < wheel->later_slots; slot++) {
        bool empty = later_is_empty(wheel, slot);
        right = right && check_occupied(&wheel->occupied[LATER], slot, empty);
    }
    if (!right) {
        return corrupt(why, why_bytes, "the bit of some slot is wrong");
    }
    enum tl_status status = buckets_check_timers(wheel, wheel->heap_count, why, why_bytes);
    return status == TL_OK ? heap_check(wheel, why, why_bytes) : status;
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct two_level_wheel *wheel = self;
    uint64_t width = UINT64_C(1) << wheel->width_shift;
    buckets_walk_due(&wheel->buckets, visitor);
    walk_part(visitor, "level 1, soon", TL_FORM_WHEEL, 1);
    uint32_t hand = (uint32_t)wheel->buckets.clock & (wheel->soon_slots - 1);
    for (uint32_t slot = 0; slot < wheel->soon_slots; slot++) {
        bool set = occupied_at(&wheel->occupied[SOON], slot);
        uint64_t ahead = slots_ahead(hand, slot, wheel->soon_slots);
        walk_slot(visitor, slot, wheel->buckets.clock + (slot == hand && !set ? 0 : ahead), 1,
                  (slot == hand ? TL_MARK_HAND : 0u) | (set ? TL_MARK_FLAGGED : 0u));
        bucket_walk(&wheel->buckets, FIRST_SLOT + slot, keep_due, visitor);
    }
    walk_part(visitor, "level 2, later", TL_FORM_WHEEL, width);
    uint32_t next = (uint32_t)wheel->later_slot & (wheel->later_slots - 1);
    for (uint32_t slot = 0; slot < wheel->later_slots; slot++) {
        bool set = occupied_at(&wheel->occupied[LATER], slot);
        uint64_t ahead = (slot - next) & (wheel->later_slots - 1);
        walk_slot(visitor, slot, ((wheel->later_slot + ahead) << wheel->width_shift) + (width - 1),
                  width, (slot == next ? TL_MARK_HAND : 0u) | (set ? TL_MARK_FLAGGED : 0u));
        for (uint32_t i = 0; i < LATER_STRIPES; i++) {
            bucket_walk(&wheel->buckets, later_lists(wheel, slot) + i, keep_due, visitor);
        }
    }
    heap_walk(wheel, "beyond", visitor);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(two_level_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "two-level-wheel",
    .summary = "a wheel for soon, one for later, a heap for the rest",
    .origin = "Erlang/OTP, erts/emulator/beam/time.c",
    .description = "Two large wheels: 2^14 slots of one tick, and 2^14 slots of 2^13 ticks, each "
                   "of which moves to the first wheel when it comes near; timers beyond both are "
                   "in a heap. A timer moves once at most. Bits for slots, and for words of bits, "
                   "lead to the next timeout. Bad at: a later slot with very many timers, all "
                   "moved in one advance, and small memories, since the wheels alone take 1.3 MB.",
    .differs = "a timer that a callback starts at or before the clock waits for the next advance, "
               "where Erlang times it out in the same bump; an advance fires all that is due "
               "unless it is given a budget, where Erlang yields after about 100 timeouts; next "
               "names the first later slot with timers, where Erlang settles for the first of 512 "
               "that are not all empty, and for a week if there is no timer; timers of one tick "
               "fire in no order, in Erlang in that of their starts, if they reached the tick's "
               "slot by the same way; one wheel for all, not one for each scheduler.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(1)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .create = wheel_create,
    .destroy = heap_destroy,
    .reserve = heap_reserve,
    .start = buckets_start,
    .advance = buckets_advance,
    .next = buckets_next,
    BUCKETS_OTHER_HOOKS,
    .check = wheel_check,
    .walk = wheel_walk,
};
