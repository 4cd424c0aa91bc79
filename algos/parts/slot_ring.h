/*
 * slot_ring.h: a wheel, or a level of wheels, that is one ring of slots.
 *
 *             hand
 *               v
 *   slot    0   1   2   3        bucket FIRST_SLOT + 0, and so on: one list each
 *
 * Scouts fetch the timers of the slots that come next, while those of this one are processed. A list
 * gives the address of its next node only when a node has arrived, so walking one that is not in the
 * cache costs a full memory latency a node. The hand goes from slot to slot, however, so the lists to
 * come are known: a scout walks ahead in each of the next SLOT_SCOUTS slots, one step at a time and in
 * turn, and that many fetches are under way at once. For every timer that the hand processes one scout
 * takes one step, so each is through with its list about when the hand arrives. If its timer was
 * stopped or moved in the meantime, a scout continues in another list, which costs a fetch and breaks
 * nothing.
 *
 * Internal, and a template: timer_buckets.h lists the names to define before.
 */
#ifndef ALGOS_SLOT_RING_H
#define ALGOS_SLOT_RING_H

#include "timer_buckets.h"

#define FIRST_SLOT  2u /* the bucket of slot 0 */
#define SLOT_SCOUTS 8u

struct slot_scouts {
    uint32_t at[SLOT_SCOUTS]; /* the node, or head, up to which each has fetched */
    uint32_t turn;
};

static inline void slot_scout_follow(const struct timer_buckets *buckets,
                                     struct slot_scouts *scouts, uint32_t scout)
{
    uint32_t next = slot_node(buckets, scouts->at[scout])->next;
    if (slot_is_timer(buckets, next)) {
        PREFETCH(slot_node(buckets, next));
        scouts->at[scout] = next;
    }
}

/* The hand has come to the list that the scout of this `slot` was sent into; send it into that of the
 * slot `next`, which the hand reaches in SLOT_SCOUTS steps. */
static inline void slot_scout_send(const struct timer_buckets *buckets, struct slot_scouts *scouts,
                                   uint32_t slot, uint32_t next)
{
    if (TUNED) {
        scouts->at[slot % SLOT_SCOUTS] = FIRST_SLOT + next;
        slot_scout_follow(buckets, scouts, slot % SLOT_SCOUTS);
    }
}

/* One timer has been processed: the next scout takes its step. */
static inline void slot_scout_step(const struct timer_buckets *buckets, struct slot_scouts *scouts)
{
    if (TUNED) {
        slot_scout_follow(buckets, scouts, scouts->turn++ % SLOT_SCOUTS);
    }
}

/* Move the hand on by `visits` slots of `slots`, and their timers to DUE. Return the new position. */
static inline uint32_t ring_pass(struct timer_buckets *buckets, struct slot_scouts *scouts,
                                 uint32_t hand, uint32_t visits, uint32_t slots)
{
    for (uint32_t i = 0; i < visits; i++) {
        hand = hand + 1 < slots ? hand + 1 : 0;
        bucket_move_all(buckets, FIRST_SLOT + hand, DUE);
        uint32_t ahead = hand + SLOT_SCOUTS;
        slot_scout_send(buckets, scouts, hand, ahead < slots ? ahead : hand);
    }
    TL_COUNT(buckets, slots, visits);
    return hand;
}

/* Fire from DUE, while the scouts go on. Return the number of expiries. */
static inline uint64_t ring_fire(struct timer_buckets *buckets, struct slot_scouts *scouts,
                                 uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    uint64_t fired = 0;
    while (fired < budget && !bucket_is_empty(buckets, DUE)) {
        slot_scout_step(buckets, scouts);
        buckets_fire_one(buckets, DUE, now, fire, ctx);
        fired++;
    }
    return fired;
}

/* The hook `walk`: the hand is at the slot of `current`, and a slot is `tick` ticks. */
static inline void ring_walk(const struct timer_buckets *buckets, uint32_t slots, uint64_t current,
                             uint64_t tick, keep_fn keep, const struct tl_visitor *visitor)
{
    buckets_walk_due(buckets, visitor);
    walk_part(visitor, "wheel", TL_FORM_WHEEL, tick);
    uint32_t hand = (uint32_t)(current % slots);
    for (uint32_t slot = 0; slot < slots; slot++) {
        bool passed = slot == hand && bucket_is_empty(buckets, FIRST_SLOT + slot);
        uint64_t bucket = current + (passed ? 0 : slots_ahead(hand, slot, slots));
        walk_slot(visitor, slot, bucket * tick, tick, slot == hand ? TL_MARK_HAND : 0);
        bucket_walk(buckets, FIRST_SLOT + slot, keep, visitor);
    }
}

#endif
