/*
 * trace_dispersion.h: how unevenly something happens over time, by its index of dispersion: the
 * variance of the counts in equal stretches of time, divided by their mean. 1 of what comes at
 * random and independently (Poisson), less of what is paced, more of what comes in bursts or waves.
 * It depends on the stretch: bursts shorter than it count as much as at one instant, waves longer
 * than it hardly. Constant memory.
 */
#ifndef SIM_TRACE_DISPERSION_H
#define SIM_TRACE_DISPERSION_H

#include <stdint.h>

/* With fewer whole stretches than this nothing is said. */
#define TRACE_DISPERSION_STRETCHES_MIN 10u

/* Treat as opaque. */
struct trace_dispersion {
    uint64_t first_tick;
    uint64_t stretch_ticks;  /* 0: a tick is longer than the stretch */
    uint64_t stretches;      /* whole ones */
    uint64_t stretch;        /* that the last one counted is in */
    uint64_t count;          /* in it, so far */
    uint64_t busy_stretches; /* before it, with any */
    double busy_mean;        /* of their counts */
    double busy_squares;     /* sum of the squared distances from that mean */
};

/* Begins to count from `first_tick` on, before `end_tick`, in stretches of `stretch_ns`, or of as
 * many whole ticks as come nearest. What is left behind the last whole stretch does not count. */
void trace_dispersion_begin(struct trace_dispersion *dispersion, uint64_t tick_ns,
                            uint64_t first_tick, uint64_t end_tick, uint64_t stretch_ns);

/* Counts `count` of them at a tick. Ticks do not go back; those outside the whole stretches are
 * passed over. */
void trace_dispersion_count(struct trace_dispersion *dispersion, uint64_t tick, uint64_t count);

/* The index, of all that was counted so far; the variance is the sample's. NAN where there are
 * fewer whole stretches than TRACE_DISPERSION_STRETCHES_MIN, or nothing was counted. */
double trace_dispersion_index(const struct trace_dispersion *dispersion);

#endif
