/*
 * due.h: when a timer is due, and within which ticks it may fire. Whoever judges a structure asks
 * here; nobody works it out for himself. What the precision hook declares is handed in, as it
 * depends on the delay.
 */
#ifndef SIM_DUE_H
#define SIM_DUE_H

#include "timerlab.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

/* a + b, at most UINT64_MAX. */
static inline uint64_t due_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The deadline of a timer started at `clock` for `delay_ticks`: the last that is legal, if that is
 * further away. */
static inline uint64_t due_deadline(uint64_t clock, uint64_t delay_ticks)
{
    uint64_t deadline = due_add(clock, delay_ticks);
    return deadline < TL_DEADLINE_MAX ? deadline : TL_DEADLINE_MAX;
}

/* An operation of tick `from` that the loop applies at tick `to`: its delay counts from there. */
static inline struct trace_record due_later(const struct trace_record *record, uint64_t from,
                                            uint64_t to)
{
    struct trace_record later = *record;
    if (record->op == TRACE_START && to != from) {
        later.deadline = due_deadline(to, record->deadline - from);
    }
    return later;
}

/* The due tick of a timer whose first chance to fire is at tick `first`: its deadline, unless that
 * lies before. The contract's first chance is an advance to the clock at its start. */
static inline uint64_t due_tick(uint64_t first, uint64_t deadline)
{
    return deadline > first ? deadline : first;
}

/* The same in a replay, which at each tick lets expire first and then applies the operations: what
 * is started at `tick` has its first chance one later. */
static inline uint64_t due_in_replay(uint64_t tick, uint64_t deadline)
{
    return due_tick(tick + 1, deadline);
}

/* The delay that decides about precision: from the clock at the start to the deadline, 0 if that is
 * not ahead. */
static inline uint64_t due_delay(uint64_t clock, uint64_t deadline)
{
    return deadline > clock ? deadline - clock : 0;
}

/* Whether a firing at tick `now` comes before the window around `due`. */
static inline bool due_is_early(uint64_t now, uint64_t due, uint64_t early_ticks)
{
    return due_add(now, early_ticks) < due;
}

/* The window's last tick: a firing behind it is late. */
static inline uint64_t due_last(uint64_t due, uint64_t late_ticks)
{
    return due_add(due, late_ticks);
}

#endif
