/*
 * stretch.h: a timed stretch of operations, with the processor's own counts where there are any, in
 * user space and of this thread only: instructions, cycles, cache misses, branch misses. By
 * perf_event_open; where that does not work, a line explains why. Events that the kernel would
 * estimate are not used. The counters are read, and valgrind is notified, outside the two readings of
 * the clock, so they cost nothing that is timed.
 */
#ifndef BENCH_STRETCH_H
#define BENCH_STRETCH_H

#include "bench_shim.h"

#include <stdint.h>
#include <time.h>

/* Return the processor time of this thread in nanoseconds. The time of other threads within a
 * stretch, most of the noise of a busy machine, does not count. */
static inline uint64_t cpu_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Return the time that a reading of the clock adds to a stretch between two, in nanoseconds: the
 * median of many, measured at the first call. It is subtracted from every figure. */
uint64_t stretch_overhead_ns(void);

struct stretch {
    struct bench_measured *out;
    uint64_t begun_ns;
    struct bench_counts before;
};

/* Open all counters for the calling thread, and close those of before. Returns a line for the
 * context, valid until the next call: the counters, or why there are none. */
const char *hardware_counters_open(void);

/* For stretch_begin and stretch_end. */
void stretch_count_from(struct stretch *stretch);
void stretch_count_to(struct stretch *stretch);

/* Begin a timed stretch, which adds to *out. NULL: it is not measured. */
static inline void stretch_begin(struct stretch *stretch, struct bench_measured *out)
{
    stretch->out = out;
    if (out != NULL) {
        stretch_count_from(stretch);
    }
    stretch->begun_ns = cpu_now_ns();
}

/* Returns for how many nanoseconds it was, less what reading the clock costs. */
static inline uint64_t stretch_end(struct stretch *stretch)
{
    uint64_t ended_ns = cpu_now_ns();
    if (stretch->out == NULL) {
        return 0;
    }
    stretch_count_to(stretch);
    uint64_t passed_ns = ended_ns - stretch->begun_ns;
    uint64_t overhead_ns = stretch_overhead_ns();
    passed_ns = passed_ns > overhead_ns ? passed_ns - overhead_ns : 0;
    stretch->out->elapsed_ns += passed_ns;
    return passed_ns;
}

/* Add the counts to the row's figures; under callgrind, write them into a file of their own, with
 * the number of operations. */
void stretch_report(struct bench_measured *out);

#endif
