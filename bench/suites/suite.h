/*
 * suite.h: the suites of timerlab-bench, for whatever structures it is given. They choose by
 * capability and know no structure by name.
 */
#ifndef BENCH_SUITE_H
#define BENCH_SUITE_H

#include "registry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SUITE_N_MIN = 100,
    SUITE_N_MAX = 100000000,
    SUITE_SLOW_N_MAX = 10000, /* a structure that declares itself slow is not run above */
};

/* A structure with its options. */
struct suite_subject {
    const struct tl_algo *algo;
    int64_t options[TL_OPTIONS_MAX];
    char name[256]; /* the structure's, with the options that are not the default: name:opt=v */
};

/* One suite, for the lists. */
struct suite_text {
    const char *name;
    const char *what; /* what a row does */
    const char *why;  /* what it tells */
    const char *per;  /* what ns_per_op is per */
};

/* One form that a suite's rows may take instead of the plain one. */
struct suite_variant_text {
    const char *axis;
    const char *axis_what;
    const char *word;
    const char *what;
    bool plain; /* the form that goes without saying */
};

/* Fills in suite `index`; false behind the last. */
bool suite_at(size_t index, struct suite_text *text);

/* Fills in form `index`; false behind the last. */
bool suite_variant_at(size_t index, struct suite_variant_text *text);

/* Whether suite `index` has form `variant`. */
bool suite_takes(size_t index, size_t variant);

/* What is to be registered. */
struct suite_selection {
    const struct suite_subject *subjects; /* outlive suite_end */
    size_t subject_count;
    const uint32_t *sizes;
    size_t size_count;
    bool variants;     /* in every form, not only in the plain one */
    double min_time_s; /* how long the timed parts of a row last where a suite repeats itself; 0:
                        * as short as can be, to see that all works */
    double patience_s; /* a row whose preparations last longer is left out */
};

/* What a reading of the clock adds to a stretch of time between two, in nanoseconds: the median of
 * many, measured at the first call. It has been taken off every figure. */
uint64_t suite_clock_overhead_ns(void);

/* Registers every suite with every structure and size, and what bounds them. False for want of
 * memory. */
bool suite_register(const struct suite_selection *selection);

/* How many runs ended because a structure failed or fired something wrong. What is left out,
 * because it would take too long or its library is not in this build, does not count. */
uint64_t suite_failures(void);

/* Frees everything that was registered. */
void suite_end(void);

#endif
