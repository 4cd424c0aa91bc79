/*
 * acknowledged.h: the ticks until an operation or expiry is durable, that is until the durable
 * sequence has passed its number. Call it once after each tick's advance and once after its
 * operations.
 */
#ifndef SIM_ACKNOWLEDGED_H
#define SIM_ACKNOWLEDGED_H

#include "timerlab.h"

#include <stdbool.h>
#include <stdint.h>

/* The sequence numbers that one tick gave, from `first`. */
struct acknowledged_tick {
    uint64_t first;
    uint64_t tick;
};

/* Zeroed at the beginning. */
struct acknowledged {
    struct acknowledged_tick *waiting; /* a queue, from `begin` to `end` */
    uint32_t room;
    uint32_t begin;
    uint32_t end;
    uint64_t seen; /* the last sequence number */
    uint64_t max_ticks;
};

/* Record the sequence at `tick`. */
void acknowledged_look(struct acknowledged *acknowledged, uint64_t tick,
                       const struct tl_durability *durability);

/* Count the operations that are not durable yet up to `tick`. */
void acknowledged_finish(struct acknowledged *acknowledged, uint64_t tick);

void acknowledged_release(struct acknowledged *acknowledged);

#endif
