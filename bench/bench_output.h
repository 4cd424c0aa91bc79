/*
 * bench_output.h: the results as a table.
 */
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include "results.h"

#include <stdio.h>

/* Print a table for each operation: one line per structure, the fastest first, with a column of
 * nanoseconds per operation for each number of timers. `per` returns the unit of an operation.
 * After the tables come the reasons of rows without figures. */
void bench_output_table(const struct results *results, const char *floor,
                        const char *(*per)(const char *suite), FILE *stream);

#endif
