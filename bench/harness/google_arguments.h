/*
 * google_arguments.h: command lines of which a part is for Google Benchmark.
 */
#ifndef BENCH_GOOGLE_ARGUMENTS_H
#define BENCH_GOOGLE_ARGUMENTS_H

#include "command_option.h"

#include <stdbool.h>

/* For supervisor_run. */
struct google_words {
    int count;
    char **texts;
};

struct google_arguments {
    char **texts; /* the program's name, and the flags; NULL after the last */
    int count;
    bool list;    /* --benchmark_list_tests is among them */
    bool reports; /* others than that and the filter are */
};

/* Move Google Benchmark's flags, --benchmark_..., out of the arguments, except those that `options`
 * has a row for. Returns how many arguments are left. */
int google_arguments_take(struct google_arguments *google, const struct option_row *options,
                          int argc, char **argv);

void google_arguments_free(struct google_arguments *google);

#endif
