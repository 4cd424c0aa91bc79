/*
 * round-wheel: Varghese and Lauck's scheme 6, a hashed wheel with rounds.
 *
 *             hand (clock 9)
 *               v
 *   slot    0   1   2   3        slots=4, tick=1
 *               |       |
 *               |      due 11, rounds 0
 *              due 13, rounds 0 <-> due 21, rounds 2
 *
 * A timer is in slot `due mod slots`, whatever its delay, with the number of full turns before its
 * own. start(a, 21) at tick 9 files a in slot 1 with 2 rounds: the hand passes at 13 and 17 and
 * fires it at 21. Each tick moves the hand by one slot and looks at every timer there: one without
 * rounds fires, the others get one round less. advance(11) fires the timer of slot 3. stop(a)
 * unlinks a.
 *
 * Deadlines are rounded up to a multiple of `tick`: never early, late by up to tick - 1. By default
 * there are as many slots as timers, or as the longest delay needs, rounded up to a power of two,
 * so that slot and rounds are a mask and a shift; pow2=no divides. A jump over k turns visits each
 * slot once and subtracts k rounds. Scouts prefetch the timers of the next slots (slot_ring.h).
 *
 * Invariants
 *   - a timer of bucket b (it fires at tick b * tick) is in slot b mod slots, and the hand visits
 *     that slot `rounds` times before the visit that fires it
 *
 * Complexity: start and stop O(1), a tick O(n / slots), expiry O(1) and a visit for every round.
 * Use it for any delays if there are more slots than timers. Bad at: many timers in few slots with
 * long delays, each visited once a turn; sleeping, since it must be driven at every tick.
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, 6.1.2.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define SLOTS_MAX      (INT64_C(1) << 30)
#define SLOTS_AUTO     0
#define SLOTS_FEW      512 /* `auto` makes fewer only where the longest delay needs no more */
#define TICK_MAX       (INT64_C(1) << 32)

#define BUCKET_STRIPES 1u
struct node {
    uint64_t rounds; /* visits of the hand that pass it over */
    uint32_t next;
    uint32_t prev;
};
#include "slot_ring.h"

struct round_wheel {
    struct timer_buckets buckets;
    uint32_t slots;
    uint32_t shift;   /* log2 of slots, where pow2 */
    bool pow2;        /* slots is a power of two, and treated as one */
    uint64_t current; /* the first bucket that the hand has not visited: clock / tick + 1 */
    uint64_t tick;
    struct slot_scouts scouts;
};

#define STRUCTURE struct round_wheel
#define FILE_TIMER
#include "bucket_hooks.h"

/* --- start and stop --------------------------------------------------------------------------- */

static inline uint64_t turns_of(const struct round_wheel *wheel, uint64_t buckets)
{
    return wheel->pow2 ? buckets >> wheel->shift : buckets / wheel->slots;
}

static inline uint32_t slot_of(const struct round_wheel *wheel, uint64_t bucket)
{
    return (uint32_t)(wheel->pow2 ? bucket & (wheel->slots - 1) : bucket % wheel->slots);
}

static inline void file_timer(struct round_wheel *wheel, uint32_t index, uint64_t due)
{
    uint64_t bucket = (due + wheel->tick - 1) / wheel->tick; /* `current` or later */
    node_at(&wheel->buckets, index)->rounds = turns_of(wheel, bucket - wheel->current);
    bucket_append(&wheel->buckets, FIRST_SLOT + slot_of(wheel, bucket), index);
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Pass a slot `turns` times at once: timers with fewer rounds left are due. */
static void visit_slot(struct round_wheel *wheel, uint32_t head, uint64_t turns)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint32_t index = node_at(buckets, head)->next;
    while (index != head) {
        struct node *node = node_at(buckets, index);
        uint32_t next = node->next;
        slot_scout_step(buckets, &wheel->scouts);
        TL_COUNT(buckets, compares, 1);
        if (node->rounds >= turns) {
            node->rounds -= turns;
        } else {
            slot_remove(buckets, index);
            bucket_append(buckets, DUE, index);
        }
        index = next;
    }
    TL_COUNT(buckets, slots, 1);
}

static void collect_due(struct round_wheel *wheel, uint64_t now)
{
    bucket_move_all(&wheel->buckets, LATE, DUE);
    uint64_t after = now / wheel->tick + 1;
    uint64_t steps = after - wheel->current;
    uint64_t visits = steps < wheel->slots ? steps : wheel->slots;
    for (uint64_t i = 0; i < visits; i++) {
        uint32_t slot = slot_of(wheel, wheel->current + i);
        uint32_t ahead = slot + SLOT_SCOUTS;
        slot_scout_send(&wheel->buckets, &wheel->scouts, slot, ahead < wheel->slots ? ahead : slot);
        visit_slot(wheel, FIRST_SLOT + slot, turns_of(wheel, steps - 1 - i) + 1);
    }
    wheel->current = after;
    wheel->buckets.clock = now;
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint32_t slots;
    uint32_t pow2;
    uint64_t tick;
};

/* A slot for each timer keeps visits O(1); more than a turn of the longest delay are useless. */
static uint32_t slots_for(const struct tl_config *config, uint64_t tick)
{
    uint64_t slots = config->capacity > SLOTS_FEW ? config->capacity : SLOTS_FEW;
    uint64_t turn = config->max_delay_ticks / tick + 1;
    slots = config->max_delay_ticks > 0 && turn < slots ? turn : slots;
    return (uint32_t)(slots < (uint64_t)SLOTS_MAX ? slots : (uint64_t)SLOTS_MAX);
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    uint32_t slots =
        options->slots == SLOTS_AUTO ? slots_for(config, options->tick) : options->slots;
    uint32_t shift = 0;
    while ((UINT32_C(1) << shift) < slots) {
        shift++;
    }
    slots = options->pow2 != 0 ? UINT32_C(1) << shift : slots;
    return structure_create(config,
                            &(struct round_wheel){
                                .buckets = buckets_empty(config, FIRST_SLOT + slots),
                                .slots = slots,
                                .shift = shift,
                                .pow2 = options->pow2 != 0,
                                .current = config->now / options->tick + 1,
                                .tick = options->tick,
                            },
                            buckets_reserve, buckets_destroy, self);
}

static const struct tl_choice slots_choices[] = {
    {"auto", SLOTS_AUTO, "as many as timers, at most a turn of the longest delay"},
    {NULL, 0, NULL},
};

static const struct tl_choice pow2_choices[] = {
    {"yes", 1, "slots is rounded up to a power of two"},
    {"no", 0, "slots is kept as given"},
    {NULL, 0, NULL},
};

static const struct tl_option wheel_option_table[] = {
    {"slots", TL_U32(struct wheel_options, slots), SLOTS_AUTO, 1, SLOTS_MAX, slots_choices,
     "slots of the wheel"},
    {"pow2", TL_CHOICE(struct wheel_options, pow2), 1, 0, 0, pow2_choices,
     "round slots up to a power of two"},
    {"tick", TL_TICKS(struct wheel_options, tick), 1, 1, TICK_MAX, NULL,
     "ticks per slot: deadlines are rounded up to a multiple"},
    {0},
};

static struct tl_precision wheel_precision(const void *given, uint64_t delay_ticks)
{
    const struct wheel_options *options = given;
    return (struct tl_precision){.late_ticks = delay_ticks > 0 ? options->tick - 1 : 0};
}

/* --- check and walk --------------------------------------------------------------------------- */

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct round_wheel *wheel = self;
    const struct timer_buckets *buckets = &wheel->buckets;
    for (uint32_t id = 0; id < buckets->capacity; id++) {
        uint32_t index = timer_index(buckets, id);
        if (slot_is_linked(buckets, index) &&
            node_at(buckets, index)->rounds > turns_of(wheel, TL_DEADLINE_MAX)) {
            return corrupt(why, why_bytes, "timer %" PRIu32 " has too many rounds", id);
        }
    }
    if (wheel->current != buckets->clock / wheel->tick + 1) {
        return corrupt(why, why_bytes, "the hand is before bucket %" PRIu64, wheel->current);
    }
    return buckets_check(buckets, 0, why, why_bytes);
}

static void keep_rounds(const struct timer_buckets *buckets, uint32_t index, struct tl_held *held)
{
    held->rounds = node_at(buckets, index)->rounds;
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct round_wheel *wheel = self;
    ring_walk(&wheel->buckets, wheel->slots, wheel->current - 1, wheel->tick, keep_rounds, visitor);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(round_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "round-wheel",
    .summary = "a hashed wheel with a count of rounds in each timer",
    .origin = "Varghese and Lauck 1987, scheme 6",
    .description =
        "One wheel of lists; a timer is filed under its due tick modulo the slots, with the number "
        "of turns to wait, and each turn takes one round from it. No horizon. Bad at: many timers "
        "on few slots with delays of many turns, and idle times, since it must be driven every "
        "tick.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(n/slots)", .expire = "O(1)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .precision = wheel_precision,
    .create = wheel_create,
    .start = buckets_start,
    .advance = buckets_advance,
    BUCKETS_HOOKS,
    .check = wheel_check,
    .walk = wheel_walk,
    .differs = "deadlines may be rounded up to a multiple of `tick`; expired timers are collected "
               "first, so a callback never meets a slot half visited, and several turns that one "
               "advance passes are taken off a timer at once; a deadline that is not after the "
               "clock fires at the next advance, where the original asks for one ahead.",
};
