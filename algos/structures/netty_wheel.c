/*
 * netty-wheel: Netty's and Dubbo's HashedWheelTimer: a hashed wheel of wide ticks with a queue of
 * starts.
 *
 *   queue     timer 9 <-> timer 4                started since the last tick of the wheel
 *
 *                     the next slot to process
 *                       v
 *   slot      0     1   2     3                  slots=4, tick=100: those of 200 to 299
 *             |         |
 *             |        timer 7 (due 230), rounds 0
 *            timer 2 (due 1,010), rounds 2
 *
 * start(4, 250) only appends timer 4 to the queue. advance(300) ends the wheel's tick of 200 to
 * 299: the worker files the queued timers, each in the slot of its deadline with a number of
 * rounds; it fires the timers of slot 2 that have no round left, 7 and 4, and takes one round from
 * the others. So no timer is early, and each is up to a whole tick late. stop(2) unlinks timer 2.
 *
 * The worker files at most `transfer` timers in one tick; the others wait for the next. To bound
 * that, the number of ids is limited to `timers`. With `pending` above 0, a start is refused if
 * that many timers are pending. A timer that was stopped or replaced counts until the worker has
 * processed it: at the end of the tick, or at the beginning of the next with cancelled=before, as
 * in Dubbo. An advance over many turns subtracts them at once if every timer has as many.
 *
 * Invariants
 *   - a timer in a slot fires in the tick that is `rounds` turns after the next one of that slot,
 *     and is not due in a later one
 *   - `cancelled` of the stopped or moved timers still count as pending
 *
 * Complexity: start, stop and a tick O(1), a tick of the wheel O(n / slots), expiry O(1) and a
 * visit for each turn. Use it for rough timeouts of many connections. Bad at: precision; many
 * timers in few slots with delays of many turns; a tick that fires all timers of 100 ms at once.
 *
 * Source: netty/netty, HashedWheelTimer.java (4.2, November 2025); apache/dubbo, the same.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define SLOTS_MAX      (INT64_C(1) << 30)
#define TICK_MAX       (INT64_C(1) << 30)
#define TRANSFER_ALL   INT64_MAX

#define BUCKET_STRIPES 1u
struct node {
    uint64_t deadline; /* ticks since the worker was started */
    uint64_t rounds;   /* visits of its slot that pass it over */
    uint32_t next;
    uint32_t prev;
};
#include "timer_buckets.h"

struct netty_wheel {
    struct timer_buckets buckets; /* DUE, the queue, the slots */
    uint32_t slots;               /* a power of two */
    uint64_t tick_ticks;          /* ticks of the caller in one of the wheel */
    uint64_t transfer;
    uint64_t pending_max; /* 0: none */
    uint64_t cancelled;
    uint64_t began_at; /* the clock when the worker was started */
    uint64_t tick;     /* the next one of the wheel to be worked off */
    bool began;
    bool cancelled_first;
    uint32_t capacity_max;
};

#define QUEUE      LATE
#define FIRST_SLOT 2u

#define STRUCTURE  struct netty_wheel
#define TAKE_OUT   cancel
#define OWN_ADVANCE
#define TAKES_FROM FIRST_SLOT
#include "bucket_hooks.h"

/* --- start and stop --------------------------------------------------------------------------- */

static inline uint32_t slot_of(const struct netty_wheel *wheel, uint64_t tick)
{
    return (uint32_t)tick & (wheel->slots - 1);
}

static inline void cancel(struct netty_wheel *wheel, uint32_t index)
{
    slot_remove(&wheel->buckets, index);
    wheel->cancelled++;
    TL_COUNT(&wheel->buckets, moves, 1);
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct netty_wheel *wheel = self;
    if (wheel->pending_max > 0 && wheel->buckets.count + wheel->cancelled >= wheel->pending_max) {
        return TL_ERR_FULL;
    }
    if (!wheel->began) {
        wheel->began = true;
        wheel->began_at = wheel->buckets.clock;
    }
    uint32_t index = take_for_start(wheel, id);
    node_at(&wheel->buckets, index)->deadline =
        deadline > wheel->began_at ? deadline - wheel->began_at : 0;
    bucket_append(&wheel->buckets, QUEUE, index);
    return TL_OK;
}

/* --- advance and next ------------------------------------------------------------------------- */

/* File timers of the queue, up to the limit of a tick. */
static void transfer_timeouts(struct netty_wheel *wheel)
{
    for (uint64_t i = 0; i < wheel->transfer && !bucket_is_empty(&wheel->buckets, QUEUE); i++) {
        uint32_t index = bucket_first(&wheel->buckets, QUEUE);
        struct node *node = node_at(&wheel->buckets, index);
        uint64_t due = node->deadline / wheel->tick_ticks;
        due = due > wheel->tick ? due : wheel->tick;
        node->rounds = (due - wheel->tick) / wheel->slots;
        slot_remove(&wheel->buckets, index);
        bucket_append(&wheel->buckets, FIRST_SLOT + slot_of(wheel, due), index);
        TL_COUNT(&wheel->buckets, cascades, 1);
    }
}

/* Move the timers of a slot without a turn left to DUE, and take one turn from the rest. */
static void expire_timeouts(struct netty_wheel *wheel, uint32_t head)
{
    uint32_t index = node_at(&wheel->buckets, head)->next;
    TL_COUNT(&wheel->buckets, slots, 1);
    while (index != head) {
        struct node *node = node_at(&wheel->buckets, index);
        uint32_t next = node->next;
        TL_COUNT(&wheel->buckets, compares, 1);
        if (node->rounds > 0) {
            node->rounds--;
        } else {
            slot_remove(&wheel->buckets, index);
            bucket_append(&wheel->buckets, DUE, index);
        }
        index = next;
    }
}

/* Goes on by whole turns up to the tick `target`, as long as no timer's rounds end. Requires an
 * empty queue. */
static void pass_turns(struct netty_wheel *wheel, uint64_t target)
{
    uint64_t turns = (target - wheel->tick) / wheel->slots;
    for (uint32_t pass = 0; pass < 2 && turns > 0; pass++) {
        for (uint32_t slot = 0; slot < wheel->slots; slot++) {
            uint32_t bucket = FIRST_SLOT + slot;
            for (uint32_t i = bucket_first(&wheel->buckets, bucket); i != SLOT_NONE;
                 i = bucket_after(&wheel->buckets, bucket, i)) {
                struct node *node = node_at(&wheel->buckets, i);
                TL_COUNT(&wheel->buckets, compares, 1);
                if (pass == 1) {
                    node->rounds -= turns;
                } else if (node->rounds < turns) {
                    turns = node->rounds;
                }
            }
        }
        TL_COUNT(&wheel->buckets, slots, wheel->slots);
    }
    wheel->tick += turns * wheel->slots;
}

/* Works off the ticks that are over. False: there is none. */
static bool collect_due(struct netty_wheel *wheel)
{
    uint64_t target = (wheel->buckets.clock - wheel->began_at) / wheel->tick_ticks;
    if (!wheel->began || wheel->tick >= target) {
        return false;
    }
    if (wheel->cancelled_first || target - wheel->tick > 1) { /* of the ticks before */
        wheel->cancelled = 0;
    }
    uint64_t singly_until = wheel->tick; /* a turn in which some timer's rounds end */
    while (wheel->tick < target) {
        if (wheel->tick >= singly_until && target - wheel->tick > wheel->slots &&
            bucket_is_empty(&wheel->buckets, QUEUE)) {
            pass_turns(wheel, target - 1);
            singly_until = wheel->tick + wheel->slots;
        }
        transfer_timeouts(wheel);
        expire_timeouts(wheel, FIRST_SLOT + slot_of(wheel, wheel->tick));
        wheel->tick++;
    }
    return true;
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct netty_wheel *wheel = self;
    wheel->buckets.clock = now;
    bool worked = collect_due(wheel);
    uint64_t fired = buckets_fire(&wheel->buckets, now, budget, fire, ctx);
    if (worked && !wheel->cancelled_first) {
        wheel->cancelled = 0;
    }
    return fired;
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint64_t slots;
    uint64_t tick;
    uint64_t transfer;
    uint64_t timers;
    uint64_t pending;
    uint32_t cancelled;
};

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct netty_wheel *wheel = self;
    return capacity > wheel->capacity_max ? TL_ERR_CAPACITY : buckets_reserve(self, capacity);
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    uint32_t slots = 1;
    while (slots < options->slots) {
        slots *= 2;
    }
    return structure_create(config,
                            &(struct netty_wheel){
                                .buckets = buckets_empty(config, FIRST_SLOT + slots),
                                .slots = slots,
                                .tick_ticks = options->tick,
                                .transfer = options->transfer,
                                .pending_max = options->pending,
                                .cancelled_first = options->cancelled != 0,
                                .began_at = config->now,
                                .capacity_max = (uint32_t)options->timers,
                            },
                            wheel_reserve, buckets_destroy, self);
}

static const struct tl_choice transfer_choices[] = {
    {"all", TRANSFER_ALL, "however many there are: none waits for a later tick"},
    {NULL, 0, NULL},
};

static const struct tl_choice cancelled_choices[] = {
    {"after", 0, "at the end of a tick, as in Netty"},
    {"before", 1, "at the beginning of the next, as in Dubbo"},
    {NULL, 0, NULL},
};

static const struct tl_option wheel_option_table[] = {
    {"slots", TL_U64(struct wheel_options, slots), 512, 1, SLOTS_MAX, NULL,
     "slots of the wheel, rounded up to a power of two (ticksPerWheel)"},
    {"tick", TL_TICKS(struct wheel_options, tick), 100, 1, TICK_MAX, NULL,
     "ticks in one of the wheel (tickDuration)"},
    {"transfer", TL_U64(struct wheel_options, transfer), 100000, 1, UINT32_MAX, transfer_choices,
     "timers that a tick of the wheel takes from the queue at most"},
    {"timers", TL_U64(struct wheel_options, timers), INT64_C(1) << 24, INT64_C(1) << 20, UINT32_MAX,
     NULL,
     "timers that it can name at most, which bounds how long one may wait in "
     "the queue: timers / transfer of the wheel's ticks"},
    {"pending", TL_U64(struct wheel_options, pending), 0, 0, UINT32_MAX, NULL,
     "timers that may be pending (maxPendingTimeouts): beyond, start refuses; "
     "0: any number"},
    {"cancelled", TL_CHOICE(struct wheel_options, cancelled), 0, 0, 0, cancelled_choices,
     "when a timer that was stopped ceases to count as pending"},
    {0},
};

/* A timer waits for all others in the queue at most, from the tick of its start on; then, or when
 * it is due, for the end of the tick. */
static struct tl_precision wheel_precision(const void *given, uint64_t delay_ticks)
{
    const struct wheel_options *options = given;
    uint64_t tick = options->tick;
    uint64_t waits = (options->timers - 1) / options->transfer * tick;
    uint64_t late = waits > delay_ticks ? waits - delay_ticks : 0;
    return (struct tl_precision){.late_ticks = tick + late};
}

/* --- check and walk --------------------------------------------------------------------------- */

/* The tick of the wheel in which a slot is worked off next. */
static uint64_t next_visit(const struct netty_wheel *wheel, uint32_t slot)
{
    return wheel->tick + ((slot - wheel->tick) & (wheel->slots - 1));
}

static bool bucket_takes(const struct netty_wheel *wheel, uint32_t bucket, const struct node *node)
{
    uint64_t fires = next_visit(wheel, bucket - FIRST_SLOT) + node->rounds * wheel->slots;
    return fires >= node->deadline / wheel->tick_ticks && fires <= TL_DEADLINE_MAX;
}

static void keep_deadline(const struct timer_buckets *buckets, uint32_t index, struct tl_held *held)
{
    const struct netty_wheel *wheel = (const void *)buckets;
    const struct node *node = node_at(buckets, index);
    /* A deadline from before the worker was started is not known any more. */
    held->at = node->deadline > 0 ? wheel->began_at + node->deadline : TL_NEVER;
    held->rounds = node->rounds;
}

static void walk_list(const struct netty_wheel *wheel, const char *name, uint32_t bucket,
                      const struct tl_visitor *visitor)
{
    if (!bucket_is_empty(&wheel->buckets, bucket)) {
        walk_part(visitor, name, TL_FORM_LIST, 0);
        walk_node(visitor, 0, TL_NEVER);
        bucket_walk(&wheel->buckets, bucket, NULL, visitor);
    }
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct netty_wheel *wheel = self;
    walk_list(wheel, "due now", DUE, visitor);
    walk_list(wheel, "queue", QUEUE, visitor);
    walk_part(visitor, "wheel", TL_FORM_WHEEL, wheel->tick_ticks);
    for (uint32_t slot = 0; slot < wheel->slots; slot++) {
        uint64_t end = wheel->began_at + (next_visit(wheel, slot) + 1) * wheel->tick_ticks;
        walk_slot(visitor, slot, end - 1, wheel->tick_ticks,
                  slot == slot_of(wheel, wheel->tick) ? TL_MARK_HAND : 0);
        bucket_walk(&wheel->buckets, FIRST_SLOT + slot, keep_deadline, visitor);
    }
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(netty_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_REFUSES,
    .name = "netty-wheel",
    .summary = "a hashed wheel of ticks of 100, with rounds and a queue of starts",
    .origin = "Netty 4.2 and Dubbo, HashedWheelTimer.java",
    .description =
        "A started timer waits in a queue until the current tick of the wheel, of 100 ticks as a "
        "rule, is over; then up to 100,000 of the queue are filed, each under the tick in which it "
        "is due, with the number of turns to wait, and the due timers in the slot of that tick "
        "fire. Never early; late by up to a whole tick of the wheel, and in a burst of starts by "
        "one more for each 100,000 before. Bad at: precision; many timers on few slots with delays "
        "of many turns; and the worker wakes at every tick, idle or not.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(n/slots)", .expire = "O(1)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .precision = wheel_precision,
    .create = wheel_create,
    .destroy = buckets_destroy,
    .reserve = wheel_reserve,
    .start = wheel_start,
    .advance = wheel_advance,
    BUCKETS_OTHER_HOOKS,
    .check = buckets_checked,
    .walk = wheel_walk,
    .differs =
        "a timer that was stopped gives its memory back at once, and takes no place among "
        "the 100,000 of a tick; callbacks run when all ticks that an advance passes have been "
        "worked off, in the original after each tick; destroy does not report the "
        "pending timers; a tick may be shorter than 1 ms; no thread.",
};
