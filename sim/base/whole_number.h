/*
 * whole_number.h: how people write large numbers: 250000, 250k, 2m.
 */
#ifndef SIM_WHOLE_NUMBER_H
#define SIM_WHOLE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the whole number at the beginning of `text`, to which k or m may be added, for thousands or
 * millions; *end is set behind it. False: there is none, or it is above `max`; then *end is `text`,
 * and *value is not set. */
bool whole_number_read(const char *text, uint64_t max, uint64_t *value, const char **end);

#endif
