/*
 * service.h: the simulated clock of a loop with callbacks that take time.
 *
 * A round of the loop at tick t advances the timers to t, runs the callbacks one after the other,
 * and then applies the operations that arrived up to t. The next round begins when the last
 * callback has ended, at a later tick. Operations that arrive in between are applied in that round,
 * after its advance. Within a round `now` is t and delays count from it, as in libev and libuv,
 * which read the clock once a round.
 *
 * The clock counts nanoseconds. A callback that begins in the middle of a tick belongs to that
 * tick. Service times are a series by number of expiry, not by timer: the order in which an advance
 * fires its timers does not change how long it takes.
 */
#ifndef SIM_SERVICE_H
#define SIM_SERVICE_H

#include "drive.h"

struct service;

/* Make the clock for ticks of `tick_ns`. A round begins at `end_tick` even if a callback is
 * running. NULL: callbacks take no time. */
struct service *service_open(const struct replay_drive *drive, uint64_t tick_ns, uint64_t end_tick);

/* Harmless on NULL. */
void service_close(struct service *service);

/* Record a round at `tick` that fired `fired` timers. Return the nanoseconds that their callbacks
 * take. */
uint64_t service_advanced(struct service *service, uint64_t tick, uint64_t fired);

/* Return the tick in which callback `fired`, from 0, of the running advance to `tick` begins. */
uint64_t service_begins(const struct service *service, uint64_t tick, uint64_t fired);

/* Return the first tick at which the next round may begin. */
uint64_t service_free(const struct service *service);

/* Return the first tick from `tick` on at which the loop looks at a due timer, given its rounds so
 * far; that of drive_chance if `service` is NULL. */
uint64_t service_chance(const struct service *service, const struct replay_drive *drive,
                        uint64_t end_tick, uint64_t tick);

/* Return the tick of the round that applies an operation which arrives at `tick`. All rounds before
 * that tick must have been recorded. */
uint64_t service_applies(const struct service *service, uint64_t tick);

#endif
