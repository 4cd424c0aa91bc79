/*
 * arrivals.h: a trace's operations as a loop with pauses receives them. What comes while it is busy
 * comes at the pause's end, its delay counted from there; what comes while the machine sleeps does
 * not come.
 */
#ifndef SIM_ARRIVALS_H
#define SIM_ARRIVALS_H

#include "drive.h"
#include "stream.h"

struct arrivals;

/* `drive` must outlive it. */
struct arrivals *arrivals_open(const struct replay_drive *drive, uint64_t end_tick);

/* The operations of a block that come, when they come, valid until the next call. */
const struct stream_block *arrivals_of(struct arrivals *arrivals, const struct stream_block *block);

/* Harmless on NULL. */
void arrivals_close(struct arrivals *arrivals);

#endif
