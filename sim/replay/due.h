/*
 * due.h: when a timer is due, and within which ticks it may fire: the only definition, for all
 * checks. The declared precision depends on the delay, so the caller passes it.
 */
#ifndef SIM_DUE_H
#define SIM_DUE_H

#include "timerlab.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

/* Return a + b, at most UINT64_MAX. */
static inline uint64_t due_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Return the deadline of a timer started at `clock` for `delay_ticks`, at most TL_DEADLINE_MAX. */
static inline uint64_t due_deadline(uint64_t clock, uint64_t delay_ticks)
{
    uint64_t deadline = due_add(clock, delay_ticks);
    return deadline < TL_DEADLINE_MAX ? deadline : TL_DEADLINE_MAX;
}

/* Return an operation of tick `from`, applied at tick `to`: its delay counts from there. */
static inline struct trace_record due_later(const struct trace_record *record, uint64_t from,
                                            uint64_t to)
{
    struct trace_record later = *record;
    if (record->op == TRACE_START && to != from) {
        later.deadline = due_deadline(to, record->deadline - from);
    }
    return later;
}

/* Return the due tick of a timer that can fire from tick `first` on: its deadline or `first`,
 * whichever is later. In the contract, `first` is the clock at its start. */
static inline uint64_t due_tick(uint64_t first, uint64_t deadline)
{
    return deadline > first ? deadline : first;
}

/* Return the due tick in a replay, where timers fire before the operations of a tick, so that one
 * started at `tick` can fire from the next tick on. */
static inline uint64_t due_in_replay(uint64_t tick, uint64_t deadline)
{
    return due_tick(tick + 1, deadline);
}

/* Return the delay that the precision depends on: from the clock at the start to the deadline, at
 * least 0. */
static inline uint64_t due_delay(uint64_t clock, uint64_t deadline)
{
    return deadline > clock ? deadline - clock : 0;
}

/* Return whether an expiry at tick `now` is before the window around `due`. */
static inline bool due_is_early(uint64_t now, uint64_t due, uint64_t early_ticks)
{
    return due_add(now, early_ticks) < due;
}

/* Return the window's last tick. */
static inline uint64_t due_last(uint64_t due, uint64_t late_ticks)
{
    return due_add(due, late_ticks);
}

#endif
