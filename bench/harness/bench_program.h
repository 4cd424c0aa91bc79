/*
 * bench_program.h: the common part of the programs on Google Benchmark: a command line of which some
 * is for that library, and the run in a worker process.
 */
#ifndef BENCH_PROGRAM_H
#define BENCH_PROGRAM_H

#include "bench_shim.h"
#include "command_option.h"

#include <stdbool.h>

/* The words of the command line that are for Google Benchmark: --benchmark_..., except those that
 * the program's own options have a row for. */
struct google_arguments {
    char **texts; /* the program's name, and the flags; NULL after the last */
    int count;
    bool list;    /* --benchmark_list_tests is among them */
    bool reports; /* others than that and the filter are */
};

/* Outlives `main`. */
struct bench_program {
    char name[32];
    struct command_line line;
    int (*run)(void *arguments, int argc, char **argv);
    void *arguments;
    struct command_structures *structures; /* a part of the arguments, as the next */
    struct google_arguments *google;       /* filled before the options are read */
    int argc;
    char **argv;
};

/* Run the program in a worker. Return the exit status. */
int bench_program_run(struct bench_program *program, int argc, char **argv);

#endif
