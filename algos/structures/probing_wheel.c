/*
 * probing-wheel: bitwheel's wheel of slots with a fixed capacity: a timer with a full slot goes to
 * a next one.
 *
 *   gear   a slot's ticks   takes delays        slots    ... 17      18      19     20 ...
 *     1                 1          1 -   63     64 of      full  -> full -> room
 *     2                64         64 - 4095     each
 *     3              4096       4096 - 2^18-1             probes=3: 17, 18 and 19 are looked at
 *     4              2^18       2^18 - 2^24-1             all full: the failover takes it, or
 *     5              2^24       2^24 - 2^30-1             failover=no, TL_ERR_FULL
 *
 * start(a, 1100) at tick 0 chooses gear 2 by the highest bits of the delay, and slot 17 by the
 * deadline, rounded down to the slot's width. Slots 17 and 18 are full, so a goes to slot 19, at
 * tick 1216, and fires there, 116 ticks late; in slot 17 it would have fired at tick 1088, 12 ticks
 * early. stop(a) unlinks a. A timer may be early by less than a slot's width, and late by as many
 * widths as it was moved.
 *
 * With failover=yes no start is refused: timers without a slot, or beyond the last gear, are in a
 * heap by deadline, and every `interval` ticks the due ones are taken. failover=no refuses them.
 * resolution=N makes a tick of the wheel N ticks long; deadlines are rounded down to it, too.
 * Timers of a slot fire in the reverse order of their starts.
 *
 * Invariants (in the wheel's ticks; w: a gear's width)
 *   - a slot that comes at tick t holds at most `cap` timers, with deadlines from
 *     t - (probes - 1) * w to t + w - 1; t / w is 1 to 64 more than the clock / w
 *   - a slot's count is the number of its timers; its bit is set if that is not 0
 *   - a timer knows its slot; in the heap none is due before its parent, `prev` is its place and
 *     `next` is IN_HEAP
 *   - before `work_at` no slot comes and the heap is not looked at; it is 0 if DUE or LATE holds
 *     timers
 *
 * Complexity (p probes, m gears, o timers in the heap): start O(p), or O(log o) if all are full;
 * stop O(1) or O(log o); a tick and expiry O(1), `next` O(m). Use it where memory for each slot
 * must be bounded. Bad at: precision, above all early expiry; many timers of one time.
 *
 * Source: Abso1ut3Zer0/bitwheel 0.6, src/timer/ (wheel.rs, gear.rs, failover.rs).
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define GEAR_BITS      6u
#define SLOTS          64u
#define GEARS_MAX      10u
#define CAP_MAX        65536
#define NO_SLOT        UINT32_MAX

#define BUCKET_STRIPES 1u
struct node {
    uint64_t due; /* in the caller's ticks */
    uint32_t next;
    uint32_t prev;
    uint32_t slot; /* of all gears; NO_SLOT: in DUE, in LATE, in the heap, or not pending */
};
#include "timer_buckets.h"

#define FIRST_BUCKET 2u /* slot 0 of gear 1 */

struct probing_wheel {
    struct timer_buckets buckets;
    uint64_t work_at; /* before this tick an advance has nothing to do but to set the clock */
    uint32_t shift;   /* log2 of the resolution */
    uint32_t gears;
    uint32_t cap;
    uint32_t probes;
    bool failover;
    uint32_t interval;
    uint64_t last_check; /* the interval in which the heap was last looked at */
    uint32_t *heap;
    uint32_t heap_count;
    uint32_t counts[GEARS_MAX * SLOTS];
    uint64_t occupied[GEARS_MAX];
};
#define STRUCTURE          struct probing_wheel
#define LEVEL_COUNT        wheel->gears
#define LEVEL_SHIFT(gear)  ((gear)*GEAR_BITS + wheel->shift)
#define LEVEL_SLOTS(gear)  SLOTS
#define LEVEL_BUCKET(gear) (FIRST_BUCKET + (gear)*SLOTS)
#define LEVEL_OF(bucket)   (((bucket)-FIRST_BUCKET) / SLOTS)
#define LEVEL_SPAN(ticks)  (wheel->probes * (ticks))
#define LEVEL_APART        wheel->heap_count
#define TAKE_OUT           take_out
#define WORK_AT
#define NEXT_WORK
#include "slot_levels.h"

#define HEAP_KEY(node) ((node)->due >> self->shift)
#include "index_heap.h"

/* --- data: the failover ----------------------------------------------------------------------- */

/* The wheel's tick at which an advance looks into the heap, or TL_NEVER. */
static uint64_t heap_look_tick(const struct probing_wheel *wheel)
{
    return wheel->heap_count > 0 ? (wheel->last_check + 1) * wheel->interval : TL_NEVER;
}

/* --- data: slots ------------------------------------------------------------------------------ */

static inline uint64_t wheel_tick(const struct probing_wheel *wheel)
{
    return wheel->buckets.clock >> wheel->shift;
}

/* Of a delay of the wheel's ticks, not 0: the gear, from 0, if there were gears without end. */
static inline uint32_t gear_of(uint64_t delay)
{
    return (63 - (uint32_t)__builtin_clzll(delay)) / GEAR_BITS;
}

/* The first slot with room for a deadline, in the wheel's ticks and after its clock, on a gear that
 * reaches it, or NO_SLOT. The timer may leave the slot `own` for it. Never one that is more than a
 * turn ahead: that would come a turn too early. */
static inline uint32_t find_slot(struct probing_wheel *wheel, uint32_t gear, uint64_t due,
                                 uint32_t own)
{
    uint64_t hand = wheel_tick(wheel) >> (gear * GEAR_BITS);
    uint64_t number = due >> (gear * GEAR_BITS);
    for (uint32_t probe = 0; probe < wheel->probes && number - hand <= SLOTS; probe++, number++) {
        uint32_t slot = gear * SLOTS + (uint32_t)(number % SLOTS);
        TL_COUNT(&wheel->buckets, slots, 1);
        if (wheel->counts[slot] - (slot == own) < wheel->cap) {
            return slot;
        }
    }
    return NO_SLOT;
}

static void leave_slot(struct probing_wheel *wheel, uint32_t index)
{
    struct node *node = node_at(&wheel->buckets, index);
    uint32_t slot = node->slot;
    node->slot = NO_SLOT;
    if (slot != NO_SLOT && --wheel->counts[slot] == 0) {
        wheel->occupied[slot / SLOTS] &= ~(UINT64_C(1) << slot % SLOTS);
    }
}

static inline void take_out(struct probing_wheel *wheel, uint32_t index)
{
    if (node_at(&wheel->buckets, index)->next == IN_HEAP) {
        heap_remove(wheel, index);
        return;
    }
    (void)bucket_remove(&wheel->buckets, index);
    leave_slot(wheel, index);
}

/* Puts a timer that is in no list in front of a slot's others. */
static void enter_slot(struct probing_wheel *wheel, uint32_t slot, uint32_t index)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint32_t head = bucket_head(buckets, FIRST_BUCKET + slot, 0);
    slot_append(buckets, node_at(buckets, head)->next, index);
    TL_COUNT(buckets, moves, 1);
    node_at(buckets, index)->slot = slot;
    wheel->counts[slot]++;
    wheel->occupied[slot / SLOTS] |= UINT64_C(1) << slot % SLOTS;
}

/* --- start and stop --------------------------------------------------------------------------- */

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct probing_wheel *wheel = self;
    uint64_t tick = wheel_tick(wheel);
    uint64_t due = deadline >> wheel->shift;
    struct node *node = node_at(&wheel->buckets, timer_index(&wheel->buckets, id));
    uint32_t slot = NO_SLOT;
    if (due > tick) {
        uint32_t gear = gear_of(due - tick);
        if (gear < wheel->gears) {
            slot = find_slot(wheel, gear, due, node->slot);
        }
        if (slot == NO_SLOT && !wheel->failover) {
            return gear < wheel->gears ? TL_ERR_FULL : TL_ERR_HORIZON;
        }
    }
    uint32_t index = take_for_start(wheel, id);
    node->due = deadline;
    if (due <= tick) {
        append_late(wheel, index);
    } else if (slot != NO_SLOT) {
        enter_slot(wheel, slot, index);
        work_before(wheel, slot_entered(wheel, slot / SLOTS, slot % SLOTS));
    } else {
        heap_add(wheel, index);
        work_before(wheel, heap_look_tick(wheel) << wheel->shift);
    }
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* The tick at which the first occupied slot comes, or at which `heap_tick` of the wheel's, which
 * may be TL_NEVER; or TL_NEVER. */
static uint64_t work_with(const struct probing_wheel *wheel, uint64_t heap_tick)
{
    uint64_t slots =
        bitmap_levels_next(wheel->occupied, wheel->gears, GEAR_BITS, SLOTS, wheel_tick(wheel));
    uint64_t next = slots < heap_tick ? slots : heap_tick;
    return next == TL_NEVER ? TL_NEVER : next << wheel->shift;
}

/* Moves the timers of a slot to DUE. */
static void slot_comes(struct probing_wheel *wheel, uint32_t slot)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint32_t head = bucket_head(buckets, FIRST_BUCKET + slot, 0);
    TL_COUNT(buckets, slots, 1);
    while (wheel->counts[slot] > 0) {
        uint32_t index = node_at(buckets, head)->next;
        take_out(wheel, index);
        bucket_append(buckets, DUE, index);
    }
}

/* Moves the timers of all slots that come up to the wheel's tick `target` to DUE, tick by tick and
 * gear by gear, and the wheel's clock from occupied tick to occupied tick. */
static void slots_come(struct probing_wheel *wheel, uint64_t target)
{
    for (;;) {
        uint64_t tick =
            bitmap_levels_next(wheel->occupied, wheel->gears, GEAR_BITS, SLOTS, wheel_tick(wheel));
        if (tick > target) {
            return;
        }
        wheel->buckets.clock = tick << wheel->shift;
        for (uint32_t gear = 0; gear < wheel->gears; gear++) {
            uint32_t gear_shift = gear * GEAR_BITS;
            if (tick >> gear_shift << gear_shift != tick) {
                break;
            }
            uint32_t number = (uint32_t)(tick >> gear_shift) % SLOTS;
            if ((wheel->occupied[gear] >> number & 1) != 0) {
                slot_comes(wheel, gear * SLOTS + number);
            }
        }
    }
}

/* Move the due timers of the heap to DUE, if it is time to look. */
static void look_into_heap(struct probing_wheel *wheel)
{
    uint64_t tick = wheel_tick(wheel);
    if (wheel->heap_count == 0 || tick / wheel->interval <= wheel->last_check) {
        return;
    }
    wheel->last_check = tick / wheel->interval;
    heap_collect_due(wheel, tick);
}

/* Moves the clock to `now`, everything that fires by then to DUE, and work_at on. */
static void collect_due(struct probing_wheel *wheel, uint64_t now)
{
    bucket_move_all(&wheel->buckets, LATE, DUE);
    if (now >> wheel->shift > wheel_tick(wheel)) {
        slots_come(wheel, now >> wheel->shift);
    }
    wheel->buckets.clock = now;
    look_into_heap(wheel);
    wheel->work_at = work_with(wheel, heap_look_tick(wheel));
}

static uint64_t next_work(const struct probing_wheel *wheel)
{
    uint64_t look = heap_look_tick(wheel);
    uint64_t due = wheel->heap_count > 0 ? heap_due(wheel, 0) : TL_NEVER;
    return work_with(wheel, due > look ? due : look);
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint32_t gears;
    uint64_t resolution;
    uint32_t cap;
    uint64_t probes;
    uint32_t failover;
    uint32_t interval;
};

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct probing_wheel *wheel = self;
    uint32_t old = wheel->buckets.capacity;
    enum tl_status status =
        wheel->failover ? heap_reserve(wheel, capacity) : buckets_reserve(wheel, capacity);
    for (uint32_t id = old; status == TL_OK && id < capacity; id++) {
        node_at(&wheel->buckets, timer_index(&wheel->buckets, id))->slot = NO_SLOT;
    }
    return status;
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    uint32_t gears = options->gears;
    uint32_t resolution = (uint32_t)options->resolution;
    uint32_t shift = bitmap_first(resolution);
    if (resolution != UINT32_C(1) << shift || gears * GEAR_BITS + shift >= 63) {
        return TL_ERR_OPTION;
    }
    struct probing_wheel empty = {
        .buckets = buckets_empty(config, FIRST_BUCKET + gears * SLOTS),
        .work_at = TL_NEVER,
        .shift = shift,
        .gears = gears,
        .cap = options->cap,
        .probes = (uint32_t)options->probes,
        .failover = options->failover != 0,
        .interval = options->interval,
    };
    return structure_create(config, &empty, wheel_reserve, heap_destroy, self);
}

static const struct tl_choice failover_choices[] = {
    {"yes", 1, "what finds no room is kept in a heap (BitWheelWithFailover)"},
    {"no", 0, "it is refused (BitWheel)"},
    {NULL, 0, NULL},
};

static const struct tl_option wheel_option_table[] = {
    {"gears", TL_U32(struct wheel_options, gears), 5, 1, GEARS_MAX, NULL,
     "levels of 64 slots (NUM_GEARS)"},
    {"resolution", TL_TICKS(struct wheel_options, resolution), 1, 1, 64, NULL,
     "ticks that deadlines are rounded down to, a power of two "
     "(RESOLUTION_MS)"},
    {"cap", TL_U32(struct wheel_options, cap), 32, 1, CAP_MAX, NULL,
     "timers that a slot holds (SLOT_CAP)"},
    {"probes", TL_U64(struct wheel_options, probes), 3, 1, SLOTS - 1, NULL,
     "slots that are tried, the timer's own first (MAX_PROBES)"},
    {"failover", TL_CHOICE(struct wheel_options, failover), 1, 0, 0, failover_choices,
     "whether anything is refused"},
    {"interval", TL_U32(struct wheel_options, interval), 32, 1, 65536, NULL,
     "the heap is examined once in this many units of the resolution (FAILOVER_INTERVAL)"},
    {0},
};

static struct tl_precision wheel_precision(const void *given, uint64_t delay_ticks)
{
    const struct wheel_options *options = given;
    if (delay_ticks == 0) {
        return (struct tl_precision){0, 0};
    }
    uint32_t shift = bitmap_first(options->resolution);
    uint32_t last = options->gears - 1;
    /* Rounded down, two times may be one tick further apart than they are. */
    uint32_t gear = gear_of((delay_ticks >> shift) + 1);
    shift += (gear < last ? gear : last) * GEAR_BITS;
    uint64_t early = (UINT64_C(1) << shift) - 1;
    uint64_t late = (options->probes - 1) << shift;
    if (options->failover != 0) {
        uint64_t waits = (uint64_t)(options->interval - 1) * options->resolution;
        late = waits > late ? waits : late;
    }
    return (struct tl_precision){.early_ticks = early < delay_ticks ? early : delay_ticks,
                                 .late_ticks = late};
}

/* --- check and walk --------------------------------------------------------------------------- */

/* The first deadline that a slot takes. */
static uint64_t slot_from(const struct probing_wheel *wheel, uint32_t gear, uint32_t slot)
{
    return slot_entered(wheel, gear, slot) - ((uint64_t)(wheel->probes - 1) << LEVEL_SHIFT(gear));
}

static bool slot_takes(const struct probing_wheel *wheel, uint32_t gear, uint32_t slot,
                       const struct node *node)
{
    return node->slot == gear * SLOTS + slot &&
           node->due - slot_from(wheel, gear, slot) < (uint64_t)wheel->probes << LEVEL_SHIFT(gear);
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct probing_wheel *wheel = self;
    enum tl_status status = levels_check(wheel, why, why_bytes);
    status = status == TL_OK ? heap_check(wheel, why, why_bytes) : status;
    for (uint32_t place = 0; status == TL_OK && place < wheel->heap_count; place++) {
        if (node_at(&wheel->buckets, wheel->heap[place])->slot != NO_SLOT) {
            return corrupt(why, why_bytes, "a timer in the heap has a slot, too");
        }
    }
    for (uint32_t slot = 0; status == TL_OK && slot < wheel->gears * SLOTS; slot++) {
        uint64_t count = 0;
        (void)slot_walk(&wheel->buckets, FIRST_BUCKET + slot, wheel->buckets.count, &count);
        if (count != wheel->counts[slot] || count > wheel->cap) {
            return corrupt(why, why_bytes,
                           "slot %" PRIu32 " holds %" PRIu64 " timers, has counted %" PRIu32
                           " and may hold %" PRIu32,
                           slot, count, wheel->counts[slot], wheel->cap);
        }
    }
    return status;
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    levels_walk(self, visitor);
    heap_walk(self, "failover", visitor);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(probing_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_REFUSES,
    .name = "probing-wheel",
    .summary = "slots of a fixed capacity: what finds one full goes to the next",
    .origin = "bitwheel (Rust) 0.6",
    .description = "Gears of 64 slots, each 64 times as coarse as the one before; a slot holds 32 "
                   "timers and no more. If its slot is full, a timer goes to one of the next two; "
                   "if those are full, too, it waits in a heap that is examined every 32 ticks, "
                   "or, with failover=no, is refused: back-pressure. Deadlines are rounded down to "
                   "their gear's width and nothing cascades, so timers fire early by up to that "
                   "width. Bad at: precision, and many timers of one time.",
    .cost = {.start = "O(1), O(log n) where slots are full",
             .stop = "O(1), O(log n) in the heap",
             .tick = "O(1)",
             .expire = "O(log n) from the heap, else O(1)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .precision = wheel_precision,
    .create = wheel_create,
    .destroy = heap_destroy,
    .reserve = wheel_reserve,
    .start = wheel_start,
    .advance = buckets_advance,
    .next = buckets_next,
    BUCKETS_OTHER_HOOKS,
    .check = wheel_check,
    .walk = wheel_walk,
    .differs =
        "a deadline that is not ahead fires in the next advance, where it waits up to a turn of "
        "the first gear. A timer beyond the last gear's reach goes to the heap or is refused, "
        "where the original files it and fires it turns early. Probing ends a turn ahead, where "
        "the original goes on and fires the timer a turn early. Late timers can be stopped, where "
        "the original cannot cancel a timer after its deadline. next knows of stops at once, and "
        "of the deadlines in the heap. In the heap, timers of one tick have no order. Memory is "
        "for the timers, not for all that the slots could hold. The resolution is 4 ms by default.",
};
