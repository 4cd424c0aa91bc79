/*
 * flags.h: the flags of a benchmark program that are not Google Benchmark's: --NAME VALUE or
 * --NAME=VALUE. What they cannot be is said on standard error, behind the program's name.
 */
#ifndef BENCH_FLAGS_H
#define BENCH_FLAGS_H

#include "number.h"

#include <stdbool.h>
#include <stddef.h>

/* A flag that takes one number, once. */
struct flag_number {
    const char *flag; /* NULL ends a table of them */
    struct tl_number_form form;
    union tl_number value; /* until the flag is given, the default */
    bool given;
};

/* How often each row is measured: once is never, for neighbours and frequencies change in the
 * course of a run. */
#define FLAG_REPETITIONS                                                                           \
    {                                                                                              \
        "--benchmark_repetitions", {.from = 1, .to = 1000000}, {.whole = 5}, false                 \
    }

/* What flag_take_number found. */
enum flag_found { FLAG_OTHER, FLAG_TAKEN, FLAG_REFUSED };

/* The value of --NAME VALUE or --NAME=VALUE at argv[*index], which is moved onto the value; NULL
 * if it is another argument. A missing value is "", which no flag takes. */
const char *flag_value(const char *flag, int argc, char **argv, int *index);

/* Takes the flag at argv[*index] if it is one of the table. */
enum flag_found flag_take_number(const char *program, struct flag_number *numbers, int argc,
                                 char **argv, int *index);

/* Reads a flag's list into `ranges`, as tl_ranges_read does. */
size_t flag_ranges(const char *program, const char *flag, const struct tl_number_form *form,
                   const char *text, struct tl_range *ranges);

#endif
