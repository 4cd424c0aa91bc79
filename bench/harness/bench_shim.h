/*
 * bench_shim.h: Google Benchmark, which is C++, for the C code of timerlab-bench. The library calls
 * a function once per measurement, never once per operation, and the function times its own
 * operations, so the boundary between the languages costs nothing that is measured.
 */
#ifndef BENCH_SHIM_H
#define BENCH_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_COUNTERS_MAX = 16 };

/* The processor's counters. */
enum bench_event {
    BENCH_INSTRUCTIONS,
    BENCH_CYCLES,
    BENCH_CACHE_MISSES,
    BENCH_BRANCH_MISSES,
    BENCH_EVENTS
};

/* Counts in user space; zeros without counters. */
struct bench_counts {
    uint64_t of[BENCH_EVENTS];
    uint64_t enabled_ns; /* for how long it was to count, */
    uint64_t running_ns; /* and for how long it could */
};

/* A figure next to the time. */
struct bench_counter {
    const char *name; /* outlives the run */
    double value;
};

/* The result of a benchmark. */
struct bench_measured {
    uint64_t batches;           /* how many equal batches of operations were timed */
    uint64_t operations;        /* in all of them */
    uint64_t elapsed_ns;        /* in all of them, preparations omitted */
    struct bench_counts counts; /* the same */
    double bytes_per_timer;     /* all of the structure's memory at its peak, per timer */
    const char *label;          /* a remark for the row, or NULL; outlives the run */
    struct bench_counter counters[BENCH_COUNTERS_MAX];
    size_t counter_count;
};

/* Adds a figure to a row; at most BENCH_COUNTERS_MAX. */
static inline void bench_add_counter(struct bench_measured *measured, const char *name,
                                     double value)
{
    measured->counters[measured->counter_count].name = name;
    measured->counters[measured->counter_count].value = value;
    measured->counter_count++;
}

/* A benchmark. Returns NULL, or one sentence that becomes the row's error; it stays valid until the
 * next call. */
typedef const char *(*bench_fn)(void *arg, struct bench_measured *out);

/* Adds a benchmark under a name of the form suite/structure/n:N, to which Google Benchmark
 * appends /manual_time. `name` is copied; `arg` outlives bench_run. `fn` is called once for each
 * repetition. */
void bench_register(const char *name, bench_fn fn, void *arg);

/* Adds a line to the context that heads every report. */
void bench_context(const char *key, const char *value);

/* Take Google Benchmark's own flags out of the arguments. The repetitions are given; the minimum
 * time must not be among the flags: the benchmark chooses the number of batches, because the
 * library counts only timed parts, and would wait hours for preparations. Returns false, after a
 * message on standard error, if a flag is unknown or its value unusable. A wrong word for a flag
 * that takes one of a few ends the process with `exit_usage`, as the library has no other way. */
bool bench_initialize(int *argc, char **argv, uint64_t repetitions, int exit_usage);

/* Whether the command line, once bench_initialize has read it, selects rows by a filter. */
bool bench_has_filter(void);

/* Whether the filter, if there is one, selects a row of this name. The library copies all rows with
 * each one that is added, so that tens of thousands take minutes: register no others. */
bool bench_selects(const char *name);

/* Let Google Benchmark run all registered benchmarks and report on standard output. */
void bench_run(void);

#ifdef __cplusplus
}
#endif

#endif
