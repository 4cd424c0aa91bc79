/*
 * slot_scouts.h: fetches the timers of the slots that come next, while those of this one are
 * worked off.
 *
 * A list gives the address of its next node only when a node has arrived, so walking one that is
 * not in the cache costs a full memory latency a node. The hand of a wheel goes from slot to slot,
 * however, so the lists to come are known: a scout walks ahead in each of the next SLOT_SCOUTS
 * slots, one step at a time and by turns, and that many fetches are under way at once. For every
 * timer that the hand works off, one scout takes one step, so each is through with its list about
 * when the hand arrives.
 *
 * Scouts only fetch. If its timer was stopped or moved in the meantime, a scout continues in
 * another list, which costs a fetch and breaks nothing.
 *
 * Internal, and a template like slot_list.h, which lists the names to define before and after.
 */
#ifndef ALGOS_SLOT_SCOUTS_H
#define ALGOS_SLOT_SCOUTS_H

#include "slot_list.h"

#define SLOT_SCOUTS 8u

/* Whether an index is a timer's: neither a head's nor SLOT_NONE. The including file's. */
static inline bool slot_is_timer(const SLOT_LISTS *lists, uint32_t index);

struct slot_scouts {
    uint32_t at[SLOT_SCOUTS]; /* the node, or head, up to which each has fetched */
    uint32_t turn;
};

static inline void slot_scout_follow(const SLOT_LISTS *lists, struct slot_scouts *scouts,
                                     uint32_t scout)
{
    uint32_t next = slot_node(lists, scouts->at[scout])->next;
    if (slot_is_timer(lists, next)) {
        PREFETCH(slot_node(lists, next));
        scouts->at[scout] = next;
    }
}

/* The hand has come to the list that the scout of this `slot` was sent into; send it into that of
 * `head`, which the hand reaches in SLOT_SCOUTS steps. */
static inline void slot_scout_send(const SLOT_LISTS *lists, struct slot_scouts *scouts,
                                   uint32_t slot, uint32_t head)
{
    if (TUNED) {
        scouts->at[slot % SLOT_SCOUTS] = head;
        slot_scout_follow(lists, scouts, slot % SLOT_SCOUTS);
    }
}

/* One timer has been worked off: the next scout takes its step. */
static inline void slot_scout_step(const SLOT_LISTS *lists, struct slot_scouts *scouts)
{
    if (TUNED) {
        slot_scout_follow(lists, scouts, scouts->turn++ % SLOT_SCOUTS);
    }
}

#endif
