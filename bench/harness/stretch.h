/*
 * stretch.h: a stretch of operations that counts: timed, and, where something can count, counted.
 * The counters are read, and valgrind is told, outside the two readings of the clock: they cost
 * nothing that is timed.
 */
#ifndef BENCH_STRETCH_H
#define BENCH_STRETCH_H

#include "suite.h"

struct stretch {
    struct bench_measured *out;
    uint64_t begun_ns;
    struct bench_counts before;
};

/* For stretch_begin and stretch_end. */
void stretch_count_from(struct stretch *stretch);
void stretch_count_to(struct stretch *stretch);

/* What follows is timed, and adds to *out; to nothing, and uncounted, if `out` is NULL. */
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
    uint64_t overhead_ns = suite_clock_overhead_ns();
    passed_ns = passed_ns > overhead_ns ? passed_ns - overhead_ns : 0;
    stretch->out->elapsed_ns += passed_ns;
    return passed_ns;
}

/* What was counted, into the row's figures; under callgrind, into a file of its own that says of
 * how many operations. */
void stretch_report(struct bench_measured *out);

#endif
