/*
 * arrivals.h: a trace's operations as a loop with pauses receives them. What comes while it is busy
 * comes at the pause's end, its delay counted from there; what comes while the machine sleeps does
 * not come. Reactions stay where they are: what a firing causes no pause takes away.
 */
#ifndef SIM_ARRIVALS_H
#define SIM_ARRIVALS_H

#include "drive.h"
#include "trace.h"

struct arrivals;

/* `drive` must outlive it. */
struct arrivals *arrivals_open(const struct replay_drive *drive, uint64_t end_tick);

/* The operations of a block that come, when they come, valid until the next call; *events is set to
 * their numbers in the trace. */
const struct trace_block *arrivals_of(struct arrivals *arrivals, const struct trace_block *block,
                                      const uint64_t **events);

/* Harmless on NULL. */
void arrivals_close(struct arrivals *arrivals);

#endif
