/*
 * acknowledged.h: how long what was done waits until it is durable, in ticks: from an operation, or
 * a firing, to the tick at which the durable sequence has passed its number.
 *
 * It is looked at once behind each tick's advance and once behind its operations, which all have
 * the same tick.
 */
#ifndef SIM_ACKNOWLEDGED_H
#define SIM_ACKNOWLEDGED_H

#include "timerlab.h"

#include <stdbool.h>
#include <stdint.h>

/* Numbers that one tick gave, from `first` to that of the next tick less one. */
struct acknowledged_tick {
    uint64_t first;
    uint64_t tick;
};

/* Zeroed, it has seen nothing. */
struct acknowledged {
    struct acknowledged_tick *waiting; /* a queue, from `begin` to `end` */
    uint32_t room;
    uint32_t begin;
    uint32_t end;
    uint64_t seen; /* the last number that was given */
    uint64_t max_ticks;
};

/* What is durable at `tick`. */
void acknowledged_look(struct acknowledged *acknowledged, uint64_t tick,
                       const struct tl_durability *durability);

/* Nothing follows after `tick`: what waits has waited so long at least. */
void acknowledged_finish(struct acknowledged *acknowledged, uint64_t tick);

/* Frees what it owns. */
void acknowledged_release(struct acknowledged *acknowledged);

#endif
