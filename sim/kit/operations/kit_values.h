/*
 * kit_values.h: numbers worth trying on a structure: where deadlines, steps and option values are
 * likely to meet an edge of it. Knows no structure.
 */
#ifndef SIM_KIT_VALUES_H
#define SIM_KIT_VALUES_H

#include "kit_trace.h"
#include "registry.h"

#include <stddef.h>

#define KIT_BOUNDARIES_MAX 512u

/* Numbers of ticks at which timer structures change their mind: powers and round numbers, and
 * the structure's own numeric option values with their products, each with its neighbours; in
 * increasing order, none above `largest`. Returns how many. */
size_t kit_boundaries(const struct tl_algo *algo, const void *options, uint64_t largest,
                      uint64_t values[KIT_BOUNDARIES_MAX]);

/* Values of an option worth trying, within its range: its words, its least, small and round
 * numbers. Returns how many. */
#define KIT_CANDIDATES_MAX 64u
size_t kit_option_candidates(const struct tl_option *option, uint64_t values[KIT_CANDIDATES_MAX]);

/* Where the timers of a structure that takes records may lie: the first is in memory of its own,
 * the others are in records, of which the first has nothing but timers. */
#define KIT_LAYOUTS 9u
extern const struct kit_records_layout kit_layouts[KIT_LAYOUTS];

#endif
