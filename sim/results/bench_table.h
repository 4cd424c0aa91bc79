/*
 * bench_table.h: what timerlab-bench measured, as a table. The table is that of
 * scripts/bench-to-csv, which is run for it: what a column means is said there alone.
 */
#ifndef SIM_BENCH_TABLE_H
#define SIM_BENCH_TABLE_H

#include "error.h"

#include <jansson.h>

/* The table of a bench.json: an array of rows, as csv_table_read gives them. NULL with `error` set,
 * if it cannot be made; the script has then said more on standard error. */
json_t *bench_table_read(const char *path, struct error *error);

#endif
