/*
 * hashed-ordered-wheel: Varghese and Lauck's scheme 5, a hashed wheel with slots in order.
 *
 *             hand (clock 9)
 *               v
 *   slot    0   1   2   3        slots=4
 *               |       |
 *               |      due 11
 *              due 13 <-> due 21 <-> due 29
 *
 * A timer is in slot `due mod slots`, in order of due tick. start(a, 25) finds its place in slot 1
 * from the end: before 29, after 21. advance(10) moves the hand to slot 2, which is empty;
 * advance(11) fires the first timer of slot 3. If the first timer of a slot is not due, none there
 * is. stop(a) unlinks a. In round-wheel (scheme 6) each turn costs a visit to every timer; here
 * only the start pays, when it searches the place.
 *
 * The search stops at once if the new timer is due last in its slot, as with one constant timeout,
 * and always if no delay exceeds a turn. `slots`, rounded up to a power of two, should not be far
 * below the number of timers, because a start may pass all n/slots timers of a slot.
 *
 * Invariants
 *   - a timer is in slot due mod slots; along a slot `due` never decreases
 *   - timers in the slots are due after the clock; the slots, DUE and LATE hold the pending timers
 *
 * Complexity: start O(n / slots) on average, O(n) if all timers are in one slot; stop, a tick and
 * expiry O(1). Use it for delays of up to a turn. Bad at: many timers in few slots with delays of
 * many turns; sleeping, since it must be driven at every tick.
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987, section
 * 6.1.1.
 */
#include "timerlab.h"

/* --- data ------------------------------------------------------------------------------------- */

#define SLOTS_MAX      (INT64_C(1) << 30)

#define BUCKET_STRIPES 1u
#include "due_buckets.h"

#include "slot_ring.h"

struct hashed_wheel {
    struct timer_buckets buckets;
    uint32_t slots; /* a power of two */
    struct slot_scouts scouts;
};
#define STRUCTURE struct hashed_wheel
#define FILE_TIMER
#define TAKES_FROM FIRST_SLOT
#include "bucket_hooks.h"

/* --- start and stop --------------------------------------------------------------------------- */

/* Files a timer that is in no list: in its slot, after all that are not due later. */
static inline void file_timer(struct hashed_wheel *wheel, uint32_t index, uint64_t due)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint32_t head = bucket_head(buckets, FIRST_SLOT + ((uint32_t)due & (wheel->slots - 1)), 0);
    uint32_t before = node_at(buckets, head)->prev;
    while (before != head && node_at(buckets, before)->due > due) {
        TL_COUNT(buckets, compares, 1);
        before = node_at(buckets, before)->prev;
    }
    TL_COUNT(buckets, compares, before != head);
    uint32_t after = node_at(buckets, before)->next;
    *node_at(buckets, index) = (struct node){.due = due, .next = after, .prev = before};
    node_at(buckets, before)->next = index;
    node_at(buckets, after)->prev = index;
    TL_COUNT(buckets, moves, 1);
}

/* --- advance and next ------------------------------------------------------------------------- */

/* The hand at a slot, at the tick `now`. */
static void visit_slot(struct hashed_wheel *wheel, uint32_t bucket, uint64_t now)
{
    struct timer_buckets *buckets = &wheel->buckets;
    uint32_t head = bucket_head(buckets, bucket, 0);
    uint32_t index = node_at(buckets, head)->next;
    while (index != head) {
        TL_COUNT(buckets, compares, 1);
        slot_scout_step(buckets, &wheel->scouts);
        if (node_at(buckets, index)->due > now) {
            break;
        }
        slot_remove(buckets, index);
        bucket_append(buckets, DUE, index);
        index = node_at(buckets, head)->next;
    }
    TL_COUNT(buckets, slots, 1);
}

/* Moves the clock to `now`, and everything that is due by then to DUE. */
static void collect_due(struct hashed_wheel *wheel, uint64_t now)
{
    struct timer_buckets *buckets = &wheel->buckets;
    bucket_move_all(buckets, LATE, DUE);
    uint64_t steps = now - wheel->buckets.clock;
    uint32_t visits = steps < wheel->slots ? (uint32_t)steps : wheel->slots;
    uint32_t mask = wheel->slots - 1;
    for (uint32_t i = 1; i <= visits; i++) {
        uint32_t slot = ((uint32_t)wheel->buckets.clock + i) & mask;
        slot_scout_send(buckets, &wheel->scouts, slot, (slot + SLOT_SCOUTS) & mask);
        visit_slot(wheel, FIRST_SLOT + slot, now);
    }
    wheel->buckets.clock = now;
}

/* --- create and options ----------------------------------------------------------------------- */

struct wheel_options {
    uint32_t slots;
};

static enum tl_status wheel_create(const struct tl_config *config, void **self)
{
    const struct wheel_options *options = config->options;
    uint32_t slots = 1;
    while (slots < options->slots) {
        slots *= 2;
    }
    return structure_create(config,
                            &(struct hashed_wheel){
                                .buckets = buckets_empty(config, FIRST_SLOT + slots),
                                .slots = slots,
                            },
                            buckets_reserve, buckets_destroy, self);
}

static const struct tl_option wheel_option_table[] = {
    {"slots", TL_U32(struct wheel_options, slots), 65536, 1, SLOTS_MAX, NULL,
     "slots of the wheel, rounded up to a power of two"},
    {0},
};

/* --- check and walk --------------------------------------------------------------------------- */

static bool bucket_takes(const struct hashed_wheel *wheel, uint32_t bucket, const struct node *node)
{
    const struct timer_buckets *buckets = &wheel->buckets;
    uint64_t least =
        slot_is_timer(buckets, node->prev) ? node_at(buckets, node->prev)->due : buckets->clock + 1;
    return node->due >= least && FIRST_SLOT + (node->due & (wheel->slots - 1)) == bucket;
}

static void keep_rounds(const struct timer_buckets *buckets, uint32_t index, struct tl_held *held)
{
    const struct hashed_wheel *wheel = (const void *)buckets;
    held->at = node_at(buckets, index)->due;
    held->rounds = (held->at - buckets->clock - 1) / wheel->slots;
}

static void wheel_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct hashed_wheel *wheel = self;
    ring_walk(&wheel->buckets, wheel->slots, wheel->buckets.clock, 1, keep_rounds, visitor);
}

/* --- descriptor ------------------------------------------------------------------------------- */

TL_ALGO(hashed_ordered_wheel) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_BUDGET | TL_CAP_UNLIMITED,
    .name = "hashed-ordered-wheel",
    .summary = "a hashed wheel with ordered slots",
    .origin = "Varghese and Lauck 1987, scheme 5",
    .description =
        "One wheel of lists; a timer is filed under its due tick modulo the slots, in its place by "
        "due tick, so the hand looks at the first of each slot only. The search for the place "
        "begins at the end, right at once where delays are constant or shorter than a turn. Bad "
        "at: many timers on few slots with delays of many turns, each start passing many others, "
        "and idle times, since it must be driven every tick.",
    .differs =
        "nothing that a caller can notice: a slot is in order of due tick, where the paper's "
        "keeps the high-order bits of the time, which order it the same; the search begins at "
        "the end of a slot, the paper's at its beginning; an advance may go many ticks at "
        "once.",
    .cost = {.start = "O(n/slots)", .stop = "O(1)", .tick = "O(1)", .expire = "O(1)"},
    OPTIONS(wheel_option_table, struct wheel_options),
    .create = wheel_create,
    .start = buckets_start,
    .advance = buckets_advance,
    BUCKETS_HOOKS,
    .check = buckets_checked,
    .walk = wheel_walk,
};
