/*
 * statistics.h: figures from repeated runs, and what may be concluded from them. Pure functions;
 * nothing here knows of structures, files or time.
 */
#ifndef SIM_STATISTICS_H
#define SIM_STATISTICS_H

#include <stddef.h>

/* The median; the values are left as they are. NAN without values, or if out of memory. */
double stats_median(const double *values, size_t count);

/* The median distance from the median, not scaled to anything; likewise. */
double stats_mad(const double *values, size_t count);

#endif
