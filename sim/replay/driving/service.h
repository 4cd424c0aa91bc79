/*
 * service.h: the clock of a loop whose callbacks take time. It is simulated: no pass sleeps.
 *
 * A round of the loop at tick t advances the timers to t. The callbacks run one after the other,
 * and then the loop applies the operations that arrived up to t. The loop comes round again when
 * the last callback has ended, and never twice at one tick. Operations that arrive meanwhile are
 * applied in that round, after its advance. Within a round `now` is t: delays count from it, as
 * they do in libev and libuv, which read the clock once a round.
 *
 * The clock counts nanoseconds. A callback that begins in the middle of a tick belongs to that tick.
 * The service times are a series by number of expiry, not by timer. So structures that expire the
 * same timers in another order within an advance keep the loop busy for the same time.
 */
#ifndef SIM_SERVICE_H
#define SIM_SERVICE_H

#include "drive.h"

struct service;

/* Make the clock for a trace with ticks of `tick_ns`. At `end_tick` the loop comes round even if a
 * callback is running. NULL: by this drive callbacks take no time. */
struct service *service_open(const struct replay_drive *drive, uint64_t tick_ns, uint64_t end_tick);

/* Harmless on NULL. */
void service_close(struct service *service);

/* Note that a round began at `tick`, whose advance fired `fired` timers. Returns the nanoseconds
 * that their callbacks take. */
uint64_t service_advanced(struct service *service, uint64_t tick, uint64_t fired);

/* Return the tick in which callback number `fired`, from 0, of the running advance to `tick`
 * begins. */
uint64_t service_begins(const struct service *service, uint64_t tick, uint64_t fired);

/* Return the first tick at which the loop may come round after its last round. */
uint64_t service_free(const struct service *service);

/* Return the first tick from `tick` on at which the loop looks at a timer that is due, given its
 * rounds so far: as drive_chance, where `service` is NULL. */
uint64_t service_chance(const struct service *service, const struct replay_drive *drive,
                        uint64_t end_tick, uint64_t tick);

/* Return the tick of the round that applies an operation which arrives at `tick`. All rounds before
 * that tick must have been made. */
uint64_t service_applies(const struct service *service, uint64_t tick);

#endif
