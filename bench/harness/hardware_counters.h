/*
 * hardware_counters.h: the processor's own counts of a timed stretch, in user space and of this
 * thread only: instructions, cycles, cache misses, branch misses. By perf_event_open; where that
 * does not work, a line explains why. Events that the kernel would estimate are not used.
 */
#ifndef BENCH_HARDWARE_COUNTERS_H
#define BENCH_HARDWARE_COUNTERS_H

#include "bench_shim.h"

/* Open all counters for the calling thread, and close those of before. Returns a line for the
 * context, valid until the next call: the counters, or why there are none. */
const char *hardware_counters_open(void);

/* Read the counts so far; zeros if there are no counters. */
void hardware_counters_read(struct bench_counts *now);

/* Add to out->counts the counts since an earlier reading, less those of an empty stretch. */
void hardware_counters_add(const struct bench_counts *before, struct bench_measured *out);

/* Adds the counts an operation to a row's figures. Where the counters were others' for some of the
 * time, the counts would be guesses: the row has the share of the time that went uncounted
 * instead. */
void hardware_counters_report(struct bench_measured *out);

#endif
