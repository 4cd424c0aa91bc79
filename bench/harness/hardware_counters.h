/*
 * hardware_counters.h: what the processor itself counts while a stretch is timed, in user space and
 * of this thread only: instructions, cycles, cache misses, branch misses. By perf_event_open, where
 * that works; elsewhere there are none, and one line says why. Nothing that the kernel would reckon
 * instead of the processor takes part.
 */
#ifndef BENCH_HARDWARE_COUNTERS_H
#define BENCH_HARDWARE_COUNTERS_H

#include "bench_shim.h"

/* Opens what there is, for the calling thread, and closes what was open. Returns a line for the
 * context: what is counted, or why nothing is; it stays valid until the next call. */
const char *hardware_counters_open(void);

/* What has been counted so far; zeros where nothing is. */
void hardware_counters_read(struct bench_counts *now);

/* Adds to out->counts what has been counted since an earlier reading, less what an empty stretch
 * counts. */
void hardware_counters_add(const struct bench_counts *before, struct bench_measured *out);

/* Adds the counts an operation to a row's figures. Where the counters were others' for some of the
 * time, the counts would be guesses: the row has the share of the time that went uncounted
 * instead. */
void hardware_counters_report(struct bench_measured *out);

#endif
