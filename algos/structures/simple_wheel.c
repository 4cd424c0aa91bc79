/*
 * simple-wheel: Varghese and Lauck's scheme 4, one slot for every tick ahead.
 *
 *            hand (clock 5)
 *              v
 *   slot   0   1   2   3        slots=4, tick=1: the ticks 5 to 8 are slots 1, 2, 3, 0;
 *   tick   8   5   6   7        a delay of 4 has no slot left and is refused
 *          |       |
 *         id 3    id 9 <-> id 0
 *
 * start(1, 7) appends timer 1 to slot 3; the slot of a timer is its due tick, so that a node is
 * only its two links: 8 bytes. stop(9) unlinks timer 9. advance(6) moves the hand to slot 2 and
 * fires its timers.
 *
 * The cost is the horizon: slots * tick, and a delay, counted from the clock, is accepted exactly
 * if it is below. slots=auto makes as many slots as the longest announced delay needs. With `tick`
 * above 1 a slot is `tick` ticks wide, and a deadline is rounded up to the slot's end: never early,
 * late by up to tick - 1. One spare slot makes the horizon the same wherever in its slot the clock
 * is.
 *
 * Expired slots move, whole, to the list DUE, and fire from there, so that a budget can leave some
 * timers for the next advance and callbacks can start timers in any slot. A timer that is due at
 * its start goes to the list LATE, which the next advance appends to DUE. Scouts prefetch the
 * timers of the next slots: see slot_ring.h.
 *
 * Invariants
 *   - bucket b (it fires at tick b * tick) is in slot b mod ring; every pending timer's bucket is
 *     in current + 1 .. current + ring, `current` being the clock's; no two share a slot
 *   - the slots, DUE and LATE together hold exactly the pending timers
 *
 * Complexity: start, stop, expiry and a tick O(1); a jump visits each slot at most once. Use it for
 * short, bounded delays: no structure is simpler or faster. Bad at: long delays, which cost 8 bytes
 * for every tick of the longest; sleeping, since it must be driven at every tick.
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, section 5.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define SLOTS_MAX      (INT64_C(1) << 30)
#define TICK_MAX       (INT64_C(1) << 32)
#define SLOTS_AUTO     0
#define SLOTS_UNKNOWN  65536 /* for `auto` where no longest delay was announced */

#define BUCKET_STRIPES 1u
struct node {
    uint32_t next;
    uint32_t prev;
};
#include "slot_ring.h"

struct simple_wheel {
    struct timer_buckets buckets;
    uint32_t ring;    /* slots in the array, the spare one included */
    uint32_t hand;    /* slot of `current` */
    uint64_t current; /* clock / tick */
    uint64_t horizon; /* slots * tick */
    uint64_t tick;
    struct slot_scouts scouts;
};
#define STRUCTURE struct simple_wheel
#define FILE_TIMER
#define SCOUTED
#include "bucket_hooks.h"

/* --- start and stop --------------------------------------------------------------------------- */

static inline void file_timer(struct simple_wheel *wheel, uint32_t index, uint64_t due)
{
    uint64_t bucket = wheel->tick == 1 ? due : (due + wheel->tick - 1) / wheel->tick;
    uint64_t slot = wheel->hand + (bucket - wheel->current);
    slot = slot < wheel->ring ? slot : slot - wheel->ring;
    bucket_append(&wheel->buckets, FIRST_SLOT + (uint32_t)slot, index);
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    const struct simple_wheel *wheel = self;
    bool beyond =
        deadline > wheel->buckets.clock && deadline - wheel->buckets.clock >= wheel->horizon;
    return beyond ? TL_ERR_HORIZON : buckets_start(self, id, deadline);
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Moves the clock to `now`, and everything that is due by then to DUE. */
static void collect_due(struct simple_wheel *wheel, uint64_t now)
{
    bucket_move_all(&wheel->buckets, LATE, DUE);
    uint64_t target = wheel->tick == 1 ? now : now / wheel->tick;
    uint64_t steps = target - wheel->current;
    uint32_t visits = steps < wheel->ring ? (uint32_t)steps : wheel->ring;
    uint32_t hand = ring_pass(&wheel->buckets, &wheel->scouts, wheel->hand, visits, wheel->ring);
    wheel->hand = steps > visits ? (uint32_t)(target % wheel->ring) : hand;
    wheel->current = target;
    wheel->buckets.clock = now;
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint64_t slots;
    uint64_t tick;
};

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    uint64_t tick = options->tick;
    uint64_t slots = options->slots;
    if (slots == SLOTS_AUTO) {
        slots = config->max_delay_ticks > 0 ? config->max_delay_ticks / tick + 1 : SLOTS_UNKNOWN;
    }
    if (slots > (uint64_t)SLOTS_MAX) {
        return TL_ERR_OPTION; /* the longest delay needs a larger `tick` */
    }
    uint32_t ring = (uint32_t)slots + (tick > 1);
    uint64_t current = config->now / tick;
    return structure_create(config,
                            &(struct simple_wheel){
                                .buckets = buckets_empty(config, FIRST_SLOT + ring),
                                .ring = ring,
                                .hand = (uint32_t)(current % ring),
                                .current = current,
                                .horizon = slots * tick,
                                .tick = tick,
                            },
                            buckets_reserve, buckets_destroy, self);
}

static const struct tl_choice slots_choices[] = {
    {"auto", SLOTS_AUTO, "enough for the longest delay announced; 65536 if none was"},
    {NULL, 0, NULL},
};

static const struct tl_option wheel_option_table[] = {
    {"slots", TL_U64(struct wheel_options, slots), SLOTS_AUTO, 1, SLOTS_MAX, slots_choices,
     "slots: delays below slots * tick are taken"},
    {"tick", TL_TICKS(struct wheel_options, tick), 1, 1, TICK_MAX, NULL,
     "ticks per slot: deadlines are rounded up to a multiple"},
    {0},
};

static struct tl_precision wheel_precision(const void *given, uint64_t delay_ticks)
{
    const struct wheel_options *options = given;
    (void)delay_ticks;
    return (struct tl_precision){.late_ticks = options->tick - 1};
}

/* --- check and walk --------------------------------------------------------------------------- */

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct simple_wheel *wheel = self;
    if (wheel->current != wheel->buckets.clock / wheel->tick ||
        wheel->hand != wheel->current % wheel->ring) {
        return corrupt(why, why_bytes, "the hand is at slot %" PRIu32 " at tick %" PRIu64,
                       wheel->hand, wheel->buckets.clock);
    }
    return buckets_check(&wheel->buckets, 0, why, why_bytes);
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct simple_wheel *wheel = self;
    ring_walk(&wheel->buckets, wheel->ring, wheel->current, wheel->tick, NULL, visitor);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(simple_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_BUDGET,
    .name = "simple-wheel",
    .summary = "one slot for every tick ahead, with a horizon",
    .origin = "Varghese and Lauck 1987, scheme 4",
    .description =
        "An array of lists, one for each tick from the clock to the horizon; a timer is filed "
        "under its due tick, and each tick takes one list. Eight bytes a timer, nothing to "
        "compare. Bad at: long delays, since the array is as long as the longest of them, and "
        "idle times, since it must be driven every tick.",
    .differs = "nothing that a caller can notice: a delay of MaxInterval or more is refused, as in "
               "the paper; an advance may go many ticks at once.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(1)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .precision = wheel_precision,
    .create = wheel_create,
    .start = wheel_start,
    .advance = buckets_advance,
    BUCKETS_HOOKS,
    .check = wheel_check,
    .walk = wheel_walk,
};
