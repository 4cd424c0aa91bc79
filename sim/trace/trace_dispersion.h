/*
 * trace_dispersion.h: how uneven events are over time, by the index of dispersion: the variance of
 * the counts in equal stretches of time, divided by their mean. It is 1 for random, independent
 * events (Poisson), smaller for paced ones, larger for bursts or waves. It depends on the stretch:
 * bursts shorter than it count as one instant, waves longer than it hardly count. Constant memory.
 */
#ifndef SIM_TRACE_DISPERSION_H
#define SIM_TRACE_DISPERSION_H

#include <stdint.h>

/* With fewer whole stretches the index is unknown. */
#define TRACE_DISPERSION_STRETCHES_MIN 10u

/* Treat as opaque. */
struct trace_dispersion {
    uint64_t first_tick;
    uint64_t stretch_ticks;  /* 0: a tick is longer than the stretch */
    uint64_t stretches;      /* whole ones */
    uint64_t stretch;        /* of the last event */
    uint64_t count;          /* in it, so far */
    uint64_t busy_stretches; /* before it, with events */
    double busy_mean;        /* of their counts */
    double busy_squares;     /* sum of the squared deviations from that mean */
};

/* Begin to count from `first_tick` on, before `end_tick`, in stretches of `stretch_ns`, or the
 * nearest number of whole ticks. Events after the last whole stretch do not count. */
void trace_dispersion_begin(struct trace_dispersion *dispersion, uint64_t tick_ns,
                            uint64_t first_tick, uint64_t end_tick, uint64_t stretch_ns);

/* Count `count` events at a tick. Ticks must not decrease; those outside the whole stretches are
 * ignored. */
void trace_dispersion_count(struct trace_dispersion *dispersion, uint64_t tick, uint64_t count);

/* Return the index of all events so far, with the sample variance. NAN if there are fewer whole
 * stretches than TRACE_DISPERSION_STRETCHES_MIN, or no events. */
double trace_dispersion_index(const struct trace_dispersion *dispersion);

#endif
