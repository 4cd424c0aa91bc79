/*
 * declared_cost.h: the declared cost of a structure (struct tl_cost) as numbers.
 */
#ifndef SIM_DECLARED_COST_H
#define SIM_DECLARED_COST_H

#include "timerlab.h"

#include <stdint.h>

/* How a cost may grow with the number of timers. */
enum growth { GROWTH_CONSTANT, GROWTH_LOGARITHMIC, GROWTH_ROOT, GROWTH_LINEAR, GROWTH_UNKNOWN };

/* The first word of a cost counts: "O(1) expected, O(n) worst" is constant. What depends on levels,
 * on distinct durations or on a delay's length does not grow with the timers. */
enum growth growth_of(const char *cost);

/* Return the approximate steps of a start, the stop or expiry that ends it, and a tick, with
 * `timers` pending. Equal on every machine: only for comparisons, not a time. */
double declared_steps(const struct tl_cost *cost, uint64_t timers);

#endif
