/*
 * round-wheel: Varghese and Lauck's scheme 6, a hashed wheel with rounds, as in Netty and Dubbo.
 *
 *             hand (clock 9)
 *               v
 *   slot    0   1   2   3        slots=4, tick=1
 *               |       |
 *               |      due 11, rounds 0
 *              due 13, rounds 0 <-> due 21, rounds 2
 *
 * A timer goes to slot `due mod slots`, whatever its delay, with the number of full turns that must
 * pass before its own. Each tick the hand moves by one slot and looks at every timer in it: without
 * rounds left it fires, else it has one round less.
 *
 * With deadline and clock in units of `tick`, and `current` the first bucket that the hand has not
 * visited, the placement is Dubbo's and Netty's:
 *
 *   rounds = (deadline - current) / slots        slot = max(deadline, current) mod slots
 *
 * Deadlines are rounded up to a multiple of `tick`: never early, late by up to tick - 1. Netty
 * instead rounds down and fires a slot at its end, one tick later: late by 1 ns to a whole tick.
 * The two agree but for a deadline on a multiple, which Netty serves a tick late and this at once.
 * Where Netty waits for the worker thread to file what others started (up to 100,000 in a tick),
 * here a start files at once. A deadline that is not after the clock does not wait for the hand.
 *
 * The number of slots is rounded up to a power of two, so that slot and rounds are a mask and a
 * shift; pow2=no keeps it, and divides.
 *
 * Expired timers are first moved to the list DUE, and fire from there; so a budget can leave some
 * for the next advance, a callback may file into any slot, and a jump over k turns is one visit to
 * each slot that takes k rounds at once. What is started with a deadline that is not after the
 * clock goes to the list LATE, which the next advance puts behind DUE.
 *
 * Invariants
 *   - a timer of bucket b (b * tick is the tick at which it fires) is in slot b mod slots, and the
 *     hand visits that slot `rounds` times before the visit that fires it
 *   - the slots, DUE and LATE together hold exactly the pending timers
 *
 * Scouts fetch the timers of the next slots while the hand is at this one: see slot_scouts.h.
 *
 * Complexity: start and stop O(1), a tick O(n / slots), expiry O(1) and one visit for every round.
 * Bad at: more timers than slots with long delays, all of which are visited once a turn; sleeping,
 * since it must be driven every tick, idle or not.
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, section
 * 6.1.2; netty/netty, HashedWheelTimer.java; apache/dubbo, HashedWheelTimer.java.
 */
#include "timerlab.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>

#include "walk.h"

#define NODES_ALIGN 64
#define DUE         0u /* the list of what the next advance fires first */
#define LATE        1u /* the list of what was started when already due */
#define FIRST_SLOT  2u
#define SLOTS_MAX   (INT64_C(1) << 30)
#define TICK_MAX    (INT64_C(1) << 32)

enum option { OPTION_SLOTS, OPTION_POW2, OPTION_TICK };

struct node {
    uint64_t rounds; /* visits of the hand that pass it over */
    uint32_t next;
    uint32_t prev;
};

#define SLOT_LISTS struct round_wheel
#include "slot_list.h"
#include "slot_scouts.h"

struct round_wheel {
    struct node *nodes;   /* DUE, LATE, the slots, the timers */
    uint32_t first_timer; /* index of timer 0 */
    uint32_t slots;
    uint32_t shift; /* log2 of slots, where pow2 */
    bool pow2;      /* slots is a power of two, and treated as one */
    uint64_t clock;
    uint64_t current; /* the first bucket that the hand has not visited: clock / tick + 1 */
    uint64_t tick;
    uint64_t count;
    uint32_t capacity;
    struct slot_scouts scouts;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

static inline struct node *slot_node(const struct round_wheel *wheel, uint32_t index)
{
    return &wheel->nodes[index];
}

static inline bool slot_is_timer(const struct round_wheel *wheel, uint32_t index)
{
    return index - wheel->first_timer < wheel->capacity;
}

static inline uint64_t turns_of(const struct round_wheel *wheel, uint64_t buckets)
{
    return wheel->pow2 ? buckets >> wheel->shift : buckets / wheel->slots;
}

static inline uint32_t slot_of(const struct round_wheel *wheel, uint64_t bucket)
{
    return (uint32_t)(wheel->pow2 ? bucket & (wheel->slots - 1) : bucket % wheel->slots);
}

static size_t nodes_bytes(const struct round_wheel *wheel, uint32_t capacity)
{
    return ((size_t)wheel->first_timer + capacity) * sizeof(struct node);
}

static enum tl_status wheel_reserve(void *self, uint32_t capacity)
{
    struct round_wheel *wheel = self;
    bool fresh = wheel->nodes == NULL;
    if (capacity <= wheel->capacity && !fresh) {
        return TL_OK;
    }
    if (capacity >= SLOT_NONE - wheel->first_timer) {
        return TL_ERR_CAPACITY;
    }
    struct node *nodes = wheel->allocator->resize(wheel->allocator->ctx, wheel->nodes,
                                                  fresh ? 0 : nodes_bytes(wheel, wheel->capacity),
                                                  nodes_bytes(wheel, capacity), NODES_ALIGN);
    if (nodes == NULL) {
        return TL_ERR_NOMEM;
    }
    wheel->nodes = nodes;
    for (uint32_t head = 0; fresh && head < wheel->first_timer; head++) {
        slot_clear(wheel, head);
    }
    for (uint32_t id = wheel->capacity; id < capacity; id++) {
        nodes[wheel->first_timer + id] = (struct node){.next = SLOT_NONE, .prev = SLOT_NONE};
    }
    wheel->capacity = capacity;
    return TL_OK;
}

static void wheel_destroy(void *self)
{
    struct round_wheel *wheel = self;
    tl_free(wheel->allocator, wheel->nodes, nodes_bytes(wheel, wheel->capacity), NODES_ALIGN);
    tl_free(wheel->allocator, wheel, sizeof *wheel, alignof(struct round_wheel));
}

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    struct round_wheel *wheel =
        tl_alloc(config->allocator, sizeof *wheel, alignof(struct round_wheel));
    if (wheel == NULL) {
        return TL_ERR_NOMEM;
    }
    uint64_t tick = (uint64_t)config->options[OPTION_TICK];
    uint32_t slots = (uint32_t)config->options[OPTION_SLOTS];
    bool pow2 = config->options[OPTION_POW2] != 0;
    uint32_t shift = 0;
    if (pow2) {
        while ((UINT32_C(1) << shift) < slots) {
            shift++;
        }
        slots = UINT32_C(1) << shift;
    }
    *wheel = (struct round_wheel){
        .first_timer = FIRST_SLOT + slots,
        .slots = slots,
        .shift = shift,
        .pow2 = pow2,
        .clock = config->now,
        .current = config->now / tick + 1,
        .tick = tick,
        .allocator = config->allocator,
    };
    enum tl_status status = wheel_reserve(wheel, config->capacity);
    if (status != TL_OK) {
        tl_free(config->allocator, wheel, sizeof *wheel, alignof(struct round_wheel));
        return status;
    }
    *self = wheel;
    return TL_OK;
}

static enum tl_status wheel_start(void *self, uint32_t id, uint64_t deadline)
{
    struct round_wheel *wheel = self;
    uint32_t index = wheel->first_timer + id;
    struct node *node = &wheel->nodes[index];
    if (slot_is_linked(wheel, index)) {
        slot_remove(wheel, index);
        TL_COUNT(wheel, moves, 1);
    } else {
        wheel->count++;
    }
    uint32_t head = LATE;
    if (deadline > wheel->clock) {
        /* After the clock, so rounded up to `current` at the least. */
        uint64_t bucket = wheel->tick == 1 ? deadline : (deadline + wheel->tick - 1) / wheel->tick;
        node->rounds = turns_of(wheel, bucket - wheel->current);
        head = FIRST_SLOT + slot_of(wheel, bucket);
    }
    slot_append(wheel, head, index);
    TL_COUNT(wheel, moves, 1);
    return TL_OK;
}

static enum tl_status wheel_stop(void *self, uint32_t id)
{
    struct round_wheel *wheel = self;
    uint32_t index = wheel->first_timer + id;
    if (!slot_is_linked(wheel, index)) {
        return TL_IDLE;
    }
    slot_remove(wheel, index);
    wheel->count--;
    TL_COUNT(wheel, moves, 1);
    return TL_OK;
}

/* The hand at a slot, for `turns` turns at once: what has fewer rounds left is due. */
static void visit_slot(struct round_wheel *wheel, uint32_t head, uint64_t turns)
{
    uint32_t index = wheel->nodes[head].next;
    while (index != head) {
        struct node *node = &wheel->nodes[index];
        uint32_t next = node->next;
        slot_scout_step(wheel, &wheel->scouts);
        TL_COUNT(wheel, compares, 1);
        if (node->rounds >= turns) {
            node->rounds -= turns;
        } else {
            slot_remove(wheel, index);
            slot_append(wheel, DUE, index);
            TL_COUNT(wheel, moves, 1);
        }
        index = next;
    }
    TL_COUNT(wheel, slots, 1);
}

/* Moves the clock to `now`, and everything that is due by then to DUE. */
static void collect_due(struct round_wheel *wheel, uint64_t now)
{
    slot_move_all(wheel, LATE, DUE);
    uint64_t after = (wheel->tick == 1 ? now : now / wheel->tick) + 1;
    uint64_t steps = after - wheel->current;
    uint64_t visits = steps < wheel->slots ? steps : wheel->slots;
    for (uint64_t i = 0; i < visits; i++) {
        uint32_t slot = slot_of(wheel, wheel->current + i);
        uint32_t ahead = slot + SLOT_SCOUTS;
        slot_scout_send(wheel, &wheel->scouts, slot,
                        FIRST_SLOT + (ahead < wheel->slots ? ahead : slot));
        visit_slot(wheel, FIRST_SLOT + slot, turns_of(wheel, steps - 1 - i) + 1);
    }
    wheel->current = after;
    wheel->clock = now;
}

static uint64_t wheel_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct round_wheel *wheel = self;
    collect_due(wheel, now);
    uint64_t fired = 0;
    while (fired < budget && !slot_is_empty(wheel, DUE)) {
        uint32_t index = wheel->nodes[DUE].next;
        slot_remove(wheel, index);
        wheel->count--;
        TL_COUNT(wheel, moves, 1);
        fired++;
        fire(ctx, index - wheel->first_timer, now);
    }
    return fired;
}

static uint64_t wheel_count(const void *self)
{
    return ((const struct round_wheel *)self)->count;
}

static void wheel_counters(const void *self, struct tl_counters *out)
{
    *out = ((const struct round_wheel *)self)->counters;
}

static enum tl_status wheel_check(const void *self, char *why, size_t why_bytes)
{
    const struct round_wheel *wheel = self;
    if (wheel->current != wheel->clock / wheel->tick + 1) {
        (void)snprintf(why, why_bytes, "the hand is before bucket %" PRIu64 " at tick %" PRIu64,
                       wheel->current, wheel->clock);
        return TL_ERR_CORRUPT;
    }
    uint64_t seen = 0;
    for (uint32_t head = 0; head < wheel->first_timer; head++) {
        if (!slot_walk(wheel, head, wheel->count, &seen)) {
            (void)snprintf(why, why_bytes, "the links of list %" PRIu32 " do not agree", head);
            return TL_ERR_CORRUPT;
        }
    }
    uint64_t linked = 0;
    for (uint32_t id = 0; id < wheel->capacity; id++) {
        const struct node *node = &wheel->nodes[wheel->first_timer + id];
        if (node->next == SLOT_NONE) {
            continue;
        }
        linked++;
        if (node->rounds > turns_of(wheel, TL_DEADLINE_MAX)) {
            (void)snprintf(why, why_bytes, "timer %" PRIu32 " waits for %" PRIu64 " rounds", id,
                           node->rounds);
            return TL_ERR_CORRUPT;
        }
    }
    if (seen != wheel->count || linked != wheel->count) {
        (void)snprintf(why, why_bytes,
                       "%" PRIu64 " timers in lists, %" PRIu64 " with links, %" PRIu64 " counted",
                       seen, linked, wheel->count);
        return TL_ERR_CORRUPT;
    }
    return TL_OK;
}

static enum tl_status wheel_place(const void *self, uint32_t id, struct tl_place *out)
{
    const struct round_wheel *wheel = self;
    uint32_t index = wheel->first_timer + id;
    if (!slot_is_linked(wheel, index)) {
        return TL_IDLE;
    }
    uint64_t rounds = wheel->nodes[index].rounds;
    while (index >= wheel->first_timer) {
        index = wheel->nodes[index].next;
    }
    if (index < FIRST_SLOT) {
        *out = (struct tl_place){.level = 0, .bucket = wheel->clock};
        return TL_OK;
    }
    uint32_t slot = index - FIRST_SLOT;
    uint32_t hand = slot_of(wheel, wheel->current);
    uint64_t ahead = (slot >= hand ? slot : slot + wheel->slots) - hand;
    *out = (struct tl_place){
        .level = 1,
        .slot = slot,
        .rounds = rounds,
        .bucket = (wheel->current + ahead + rounds * wheel->slots) * wheel->tick,
    };
    return TL_OK;
}

static void walk_list(const struct round_wheel *wheel, uint32_t head,
                      const struct tl_visitor *visitor)
{
    for (uint32_t i = wheel->nodes[head].next; i != head; i = wheel->nodes[i].next) {
        uint64_t rounds = head < FIRST_SLOT ? 0 : wheel->nodes[i].rounds;
        walk_timer(visitor, i - wheel->first_timer, TL_NEVER, rounds);
    }
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct round_wheel *wheel = self;
    if (!slot_is_empty(wheel, DUE) || !slot_is_empty(wheel, LATE)) {
        walk_due_part(visitor);
        walk_node(visitor, 0, TL_NEVER);
        walk_list(wheel, DUE, visitor);
        walk_list(wheel, LATE, visitor);
    }
    walk_part(visitor, "wheel", TL_FORM_WHEEL, wheel->tick);
    uint32_t hand = slot_of(wheel, wheel->current - 1);
    for (uint32_t slot = 0; slot < wheel->slots; slot++) {
        bool passed = slot == hand && slot_is_empty(wheel, FIRST_SLOT + slot);
        uint32_t ahead = slot > hand ? slot - hand : slot + wheel->slots - hand;
        uint64_t bucket = wheel->current - 1 + (passed ? 0 : ahead);
        walk_slot(visitor, slot, bucket * wheel->tick, wheel->tick,
                  slot == hand ? TL_MARK_HAND : 0);
        walk_list(wheel, FIRST_SLOT + slot, visitor);
    }
}

static struct tl_precision wheel_precision(const int64_t *options, uint64_t delay_ticks)
{
    (void)delay_ticks;
    return (struct tl_precision){.late_ticks = (uint64_t)options[OPTION_TICK] - 1};
}

static const struct tl_choice pow2_choices[] = {
    {"yes", 1, "slots is rounded up to a power of two"},
    {"no", 0, "slots is kept as given"},
    {NULL, 0, NULL},
};

static const struct tl_option wheel_options[] = {
    [OPTION_SLOTS] = {"slots", 512, 1, SLOTS_MAX, NULL, "slots of the wheel (ticksPerWheel)"},
    [OPTION_POW2] = {"pow2", 1, 1, 0, pow2_choices, "round slots up to a power of two"},
    [OPTION_TICK] = {"tick", 1, 1, TICK_MAX, NULL,
                     "ticks per slot (tickDuration): deadlines are rounded up to a multiple"},
    {NULL, 0, 0, 0, NULL, NULL},
};

TL_ALGO(round_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "round-wheel",
    .summary = "a hashed wheel whose timers count rounds",
    .origin = "Varghese and Lauck 1987, scheme 6; Netty, Dubbo",
    .description =
        "One wheel of lists; a timer is filed under its due tick modulo the slots, with the number "
        "of turns to wait, and each turn takes one round from it. No horizon, and the wheel is as "
        "small as one likes. Bad at: many timers on few slots with delays of many turns, each "
        "visited once a turn, and idle times, since it must be driven every tick.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(n/slots)", .expire = "O(1)"},
    .options = wheel_options,
    .precision = wheel_precision,
    .create = wheel_create,
    .destroy = wheel_destroy,
    .reserve = wheel_reserve,
    .start = wheel_start,
    .stop = wheel_stop,
    .advance = wheel_advance,
    .count = wheel_count,
    .counters = wheel_counters,
    .check = wheel_check,
    .place = wheel_place,
    .walk = wheel_walk,
};
