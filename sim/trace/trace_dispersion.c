#include "trace_dispersion.h"

#include <math.h>

void trace_dispersion_begin(struct trace_dispersion *dispersion, uint64_t tick_ns,
                            uint64_t first_tick, uint64_t end_tick, uint64_t stretch_ns)
{
    *dispersion = (struct trace_dispersion){.first_tick = first_tick};
    if (tick_ns <= stretch_ns) {
        dispersion->stretch_ticks = (stretch_ns + tick_ns / 2) / tick_ns;
        dispersion->stretches = (end_tick - first_tick) / dispersion->stretch_ticks;
    }
}

/* Add the last stretch to the sums; empty ones are added at the end. */
static void close_stretch(struct trace_dispersion *dispersion)
{
    if (dispersion->count > 0) {
        double off = (double)dispersion->count - dispersion->busy_mean;
        dispersion->busy_stretches++;
        dispersion->busy_mean += off / (double)dispersion->busy_stretches;
        dispersion->busy_squares += off * ((double)dispersion->count - dispersion->busy_mean);
        dispersion->count = 0;
    }
}

void trace_dispersion_count(struct trace_dispersion *dispersion, uint64_t tick, uint64_t count)
{
    if (dispersion->stretches == 0 || tick < dispersion->first_tick) {
        return;
    }
    uint64_t stretch = (tick - dispersion->first_tick) / dispersion->stretch_ticks;
    if (stretch >= dispersion->stretches) {
        return;
    }
    if (stretch != dispersion->stretch) {
        close_stretch(dispersion);
        dispersion->stretch = stretch;
    }
    dispersion->count += count;
}

double trace_dispersion_index(const struct trace_dispersion *dispersion)
{
    struct trace_dispersion all = *dispersion;
    close_stretch(&all);
    if (all.stretches < TRACE_DISPERSION_STRETCHES_MIN || all.busy_stretches == 0) {
        return NAN;
    }
    /* Combine the busy stretches and the empty ones. */
    double stretches = (double)all.stretches;
    double busy = (double)all.busy_stretches;
    double mean = all.busy_mean * busy / stretches;
    double squares =
        all.busy_squares + all.busy_mean * all.busy_mean * busy * (stretches - busy) / stretches;
    return squares / (stretches - 1) / mean;
}
