/*
 * floor.h: lower bounds for any structure. A floor has one record of 8, 16 or 64 bytes for each
 * timer, touches nothing else at a start or stop, and gets the list of expiries beforehand, which
 * any structure has to compute. It is driven like a structure, through the contract.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include "timerlab.h"
#include "workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The floors: descriptors called record-8, record-16, record-64. */
enum { FLOORS = 3 };
extern const struct tl_algo floors[FLOORS];

/* Whether a descriptor is one of them. */
bool floor_is(const struct tl_algo *algo);

/* Give `self`, made by a floor, the expiries from now on, ordered by tick. They fire at the ticks
 * (base + delay_ticks) * scale. The list must outlive its use. */
void floor_schedule(void *self, const struct workload_start *expiries, size_t count, uint64_t base,
                    uint64_t scale);

#endif
