/*
 * slot_ring.h: a wheel, or a level of wheels, that is one ring of slots.
 *
 *             hand
 *               v
 *   slot    0   1   2   3        bucket FIRST_SLOT + 0, and so on: one list each
 *
 * Internal, and a template: timer_buckets.h lists the names to define before.
 */
#ifndef ALGOS_SLOT_RING_H
#define ALGOS_SLOT_RING_H

#include "timer_buckets.h"

#include "slot_scouts.h"

#define FIRST_SLOT 2u /* the bucket of slot 0 */

/* Move the hand on by `visits` slots of `slots`, and their timers to DUE; return the new
 * position. */
static inline uint32_t ring_pass(SLOT_LISTS *lists, struct slot_scouts *scouts, uint32_t hand,
                                 uint32_t visits, uint32_t slots)
{
    for (uint32_t i = 0; i < visits; i++) {
        hand = hand + 1 < slots ? hand + 1 : 0;
        bucket_move_all(lists, FIRST_SLOT + hand, DUE);
        uint32_t ahead = hand + SLOT_SCOUTS;
        slot_scout_send(lists, scouts, hand, FIRST_SLOT + (ahead < slots ? ahead : hand));
    }
    TL_COUNT(lists, slots, visits);
    return hand;
}

/* Fires from DUE, while the scouts go on. Returns how many. */
static inline uint64_t ring_fire(SLOT_LISTS *lists, struct slot_scouts *scouts, uint64_t now,
                                 uint64_t budget, tl_fire_fn fire, void *ctx)
{
    uint64_t fired = 0;
    while (fired < budget && !bucket_is_empty(lists, DUE)) {
        slot_scout_step(lists, scouts);
        buckets_fire_one(lists, DUE, now, fire, ctx);
        fired++;
    }
    return fired;
}

/* The hook `walk`: the hand is at the slot of `current`, and a slot is `tick` ticks. `keep` is
 * bucket_walk's. */
static inline void
ring_walk(const SLOT_LISTS *lists, uint32_t slots, uint64_t current, uint64_t tick,
          void (*keep)(const SLOT_LISTS *lists, uint32_t index, struct tl_held *held),
          const struct tl_visitor *visitor)
{
    buckets_walk_due(lists, visitor);
    walk_part(visitor, "wheel", TL_FORM_WHEEL, tick);
    uint32_t hand = (uint32_t)(current % slots);
    for (uint32_t slot = 0; slot < slots; slot++) {
        bool passed = slot == hand && bucket_is_empty(lists, FIRST_SLOT + slot);
        uint64_t bucket = current + (passed ? 0 : slots_ahead(hand, slot, slots));
        walk_slot(visitor, slot, bucket * tick, tick, slot == hand ? TL_MARK_HAND : 0);
        bucket_walk(lists, FIRST_SLOT + slot, keep, visitor);
    }
}

#endif
