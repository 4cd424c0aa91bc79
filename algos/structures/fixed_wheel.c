/*
 * fixed-wheel: the idle-connection wheel of many servers: one timeout for all timers.
 *
 *   timeout=60000, tick=1000                         a minute for every connection, in 60 steps
 *
 *              hand: next to fire
 *                v
 *   slot ...  [ 59 ] [ 60 ] [ 61 ] [  0 ] [  1 ] ...
 *                        ^
 *                 where every start goes: a turn ahead of the hand, except the spare slots
 *
 * All idle connections have the same timeout, so the wheel does not look at deadlines. start(a), or
 * a restart, appends a to the slot that the hand reaches in one turn. When the hand comes there,
 * its connections have been idle for a whole turn: advance fires them. stop(a) unlinks a. There is
 * no comparison and no search, and a node is two links: 8 bytes.
 *
 * The timeout is an option. A caller that rounds deadlines up to ticks asks for it or for one tick
 * more; one more is accepted, and goes a slot further. A shorter delay gets the timeout, late by
 * the difference, as the declared precision says. A longer delay would fire early, and is refused
 * as beyond the horizon.
 *
 * With `tick` above 1, a slot is `tick` ticks wide, and a timer fires at its slot's end: never
 * early, late by up to tick - 1.
 *
 * Invariants
 *   - bucket b (it fires at tick b * tick) is in slot b mod slots; every filed timer's bucket is in
 *     current + 1 .. current + slots, `current` being the clock's
 *   - the slots, DUE and LATE together hold exactly the pending timers
 *
 * Complexity: start, stop, expiry and a tick O(1); a jump visits each slot at most once. Use it for
 * one timeout that all connections share. Bad at: a second timeout; sleeping, since it must be
 * driven at every tick.
 *
 * Source: the idle-connection wheel of many servers, a ring of lists with a moving pointer;
 * Varghese and Lauck 1987, section 5, with one interval.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define SLOTS_MAX      (UINT64_C(1) << 30)
#define TIMEOUT_MAX    (INT64_C(1) << 40)
#define TICK_MAX       (INT64_C(1) << 32)

#define BUCKET_STRIPES 1u
struct node {
    uint32_t next;
    uint32_t prev;
};
#include "slot_ring.h"

struct fixed_wheel {
    struct timer_buckets buckets;
    uint64_t current; /* clock / tick */
    uint64_t timeout;
    uint64_t tick;
    uint32_t slots;
    uint32_t hand;       /* slot of `current` */
    uint32_t start_slot; /* slot of clock + timeout, where every start goes */
    struct slot_scouts scouts;
};
#define STRUCTURE struct fixed_wheel
#define FILE_TIMER
#define SCOUTED
#include "bucket_hooks.h"

/* --- start and stop --------------------------------------------------------------------------- */

/* The bucket that ends at a tick or within a `tick` after. */
static inline uint64_t bucket_at(uint64_t tick, uint64_t at)
{
    return tick == 1 ? at : (at + tick - 1) / tick;
}

static inline void file_timer(struct fixed_wheel *wheel, uint32_t index, uint64_t due)
{
    uint64_t slot = wheel->start_slot;
    if (due - wheel->buckets.clock > wheel->timeout) { /* by a tick */
        slot = bucket_at(wheel->tick, due) % wheel->slots;
    }
    bucket_append(&wheel->buckets, FIRST_SLOT + (uint32_t)slot, index);
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    const struct fixed_wheel *wheel = self;
    bool beyond =
        deadline > wheel->buckets.clock && deadline - wheel->buckets.clock > wheel->timeout + 1;
    return beyond ? TL_ERR_HORIZON : buckets_start(self, id, deadline);
}

/* --- advance and next ------------------------------------------------------------------------- */

/* Moves the clock to `now`, and everything that is due by then to DUE. */
static void collect_due(struct fixed_wheel *wheel, uint64_t now)
{
    struct timer_buckets *buckets = &wheel->buckets;
    bucket_move_all(buckets, LATE, DUE);
    uint64_t target = wheel->tick == 1 ? now : now / wheel->tick;
    uint64_t steps = target - wheel->current;
    uint32_t visits = steps < wheel->slots ? (uint32_t)steps : wheel->slots;
    uint32_t hand = ring_pass(buckets, &wheel->scouts, wheel->hand, visits, wheel->slots);
    if (now - buckets->clock == 1 && wheel->tick == 1) { /* the usual step, without divisions */
        wheel->hand = hand;
        wheel->start_slot = wheel->start_slot + 1 < wheel->slots ? wheel->start_slot + 1 : 0;
    } else {
        wheel->hand = (uint32_t)(target % wheel->slots);
        wheel->start_slot = (uint32_t)(bucket_at(wheel->tick, now + wheel->timeout) % wheel->slots);
    }
    wheel->current = target;
    buckets->clock = now;
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint64_t timeout;
    uint64_t tick;
};

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    uint64_t timeout = options->timeout;
    uint64_t tick = options->tick;
    uint64_t slots = bucket_at(tick, timeout + 1) + 1;
    if (slots > SLOTS_MAX) {
        return TL_ERR_OPTION; /* the timeout needs a larger `tick` */
    }
    uint64_t current = config->now / tick;
    return structure_create(
        config,
        &(struct fixed_wheel){
            .buckets = buckets_empty(config, FIRST_SLOT + (uint32_t)slots),
            .current = current,
            .timeout = timeout,
            .tick = tick,
            .slots = (uint32_t)slots,
            .hand = (uint32_t)(current % slots),
            .start_slot = (uint32_t)(bucket_at(tick, config->now + timeout) % slots),
        },
        buckets_reserve, buckets_destroy, self);
}

static const struct tl_option wheel_option_table[] = {
    {"timeout", TL_TICKS(struct wheel_options, timeout), 60000, 1, TIMEOUT_MAX, NULL,
     "the one timeout, in ticks, or a tick more: shorter delays are late, longer are refused"},
    {"tick", TL_TICKS(struct wheel_options, tick), 1, 1, TICK_MAX, NULL,
     "ticks per slot: timers fire at a slot's end"},
    {0},
};

static struct tl_precision wheel_precision(const void *given, uint64_t delay_ticks)
{
    const struct wheel_options *options = given;
    uint64_t timeout = options->timeout;
    uint64_t shorter = delay_ticks < timeout ? timeout - delay_ticks : 0;
    return (struct tl_precision){.late_ticks = shorter + options->tick - 1};
}

/* --- check and walk --------------------------------------------------------------------------- */

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct fixed_wheel *wheel = self;
    if (wheel->hand != wheel->buckets.clock / wheel->tick % wheel->slots ||
        wheel->start_slot !=
            bucket_at(wheel->tick, wheel->buckets.clock + wheel->timeout) % wheel->slots) {
        return corrupt(why, why_bytes, "the hand is at slot %" PRIu32 " at tick %" PRIu64,
                       wheel->hand, wheel->buckets.clock);
    }
    return buckets_check(&wheel->buckets, 0, why, why_bytes);
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct fixed_wheel *wheel = self;
    ring_walk(&wheel->buckets, wheel->slots, wheel->current, wheel->tick, NULL, visitor);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(fixed_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_BUDGET,
    .name = "fixed-wheel",
    .summary = "the connection wheel: one timeout for all",
    .origin = "the idle-connection wheel of many servers",
    .description =
        "All timers have the same timeout, an option, so each start goes to the slot that the hand "
        "has just left, whatever its delay, and the timers that the hand finds have been silent "
        "for a whole turn. Eight bytes a timer, nothing computed. A shorter delay gets the full "
        "timeout and so is late by the difference; of longer ones, a delay of one more tick is "
        "accepted, as rounding up gives it. Bad at: a second timeout, and idle times, since it "
        "must be driven every tick.",
    .differs =
        "its originals are many, and no two alike: most put connections, not timers, into the "
        "slots, close all that the hand finds in one sweep, and come late by up to a slot; "
        "this one is exact for delays of `timeout` and of one tick more, late for shorter ones, "
        "and refuses longer ones.",
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
