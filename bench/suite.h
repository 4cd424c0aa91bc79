/*
 * suite.h: the operations that timerlab-bench measures, for whatever structures it is given. It
 * chooses by capability and knows no structure by name.
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

/* One operation, for the help. */
struct suite_operation_text {
    const char *name;
    const char *what; /* what a batch does, and what ns_per_op is per */
};

/* Fills in operation `index`; false behind the last. */
bool suite_operation(size_t index, struct suite_operation_text *text);

/* Registers every operation with every structure and size. The timed parts of a row last
 * `min_time_s` seconds, or less where preparations take several times that; at least one batch.
 * `subjects` outlives suite_end. False for want of memory. */
bool suite_register(const struct suite_subject *subjects, size_t subject_count,
                    const uint32_t *sizes, size_t size_count, double min_time_s);

/* How many runs ended because a structure failed or fired something wrong. What is left out, because
 * it would take too long or its library is not in this build, does not count. */
uint64_t suite_failures(void);

/* Frees everything that was registered. */
void suite_end(void);

#endif
