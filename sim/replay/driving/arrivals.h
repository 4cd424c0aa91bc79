/*
 * arrivals.h: the operations of a trace that a loop with pauses receives. Operations during a busy
 * pause are postponed to its end, with their delays; those during suspension are lost.
 */
#ifndef SIM_ARRIVALS_H
#define SIM_ARRIVALS_H

#include "drive.h"
#include "stream.h"

struct arrivals;

/* `drive` must outlive it. */
struct arrivals *arrivals_open(const struct replay_drive *drive, uint64_t end_tick);

/* Return the received operations of a block, valid until the next call. */
const struct stream_block *arrivals_of(struct arrivals *arrivals, const struct stream_block *block);

/* Harmless on NULL. */
void arrivals_close(struct arrivals *arrivals);

#endif
