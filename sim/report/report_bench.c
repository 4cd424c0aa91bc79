/* Single operations: each structure, each number of timers. */
#include "report_work.h"

#include "memory.h"
#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether both are an operation of the same structure. */
static bool same_line(const struct row *a, const struct row *b)
{
    return row_same_structure(a, b) &&
           strcmp(row_text(a, BENCH_COL_OP), row_text(b, BENCH_COL_OP)) == 0;
}

/* The distinct numbers of timers, rising; to be freed. */
static double *bench_sizes(const struct report_data *data, size_t *count)
{
    double *sizes = memory_new(report_data_bench_rows(data) + 1, sizeof *sizes);
    *count = 0;
    for (size_t s = 0; s < data->set_count; s++) {
        for (size_t i = 0; i < data->sets[s].bench.count; i++) {
            double n = row_value(&data->sets[s].bench.rows[i], BENCH_COL_N);
            bool seen = isnan(n);
            for (size_t k = 0; k < *count && !seen; k++) {
                seen = sizes[k] == n;
            }
            if (!seen) {
                sizes[(*count)++] = n;
            }
        }
    }
    qsort(sizes, *count, sizeof sizes[0], stats_ascending);
    return sizes;
}

/* The row of the line of `like` with n timers; NULL if there is none. */
static const struct row *find_size(const struct results *bench, const struct row *like, double n)
{
    for (size_t i = 0; i < bench->count; i++) {
        if (same_line(&bench->rows[i], like) && row_value(&bench->rows[i], BENCH_COL_N) == n) {
            return &bench->rows[i];
        }
    }
    return NULL;
}

static const char *size_cell(struct report *report, const struct row *row)
{
    if (row == NULL) {
        return "-";
    }
    return row_is_unsupported(row)
               ? row_text(row, BENCH_COL_REASON)
               : pool_format(&report->pool, "%s ± %s",
                             figure_text(row_value(row, BENCH_COL_NS), FIGURE),
                             figure_text(row_value(row, BENCH_COL_NS_MAD), FIGURE));
}

/* A line of the table: an operation of a structure, with each number of timers. */
static void bench_line(struct table *table, const struct results *bench, const struct row *like,
                       const double *sizes, size_t size_count)
{
    table_row(table, row_plain_kind(like));
    table_text(table, row_name(table->report, like));
    table_text(table, row_text(like, BENCH_COL_OP));
    for (size_t n = 0; n < size_count; n++) {
        const struct row *row = find_size(bench, like, sizes[n]);
        table_cell(table, size_cell(table->report, row),
                   row != NULL ? row_value(row, BENCH_COL_NS) : NAN);
    }
}

size_t report_data_bench_rows(const struct report_data *data)
{
    size_t count = 0;
    for (size_t s = 0; s < data->set_count; s++) {
        count += data->sets[s].bench.count;
    }
    return count;
}

void section_bench(struct report *report)
{
    const struct report_data *data = report->data;
    size_t size_count = 0;
    if (report_data_bench_rows(data) == 0) {
        return;
    }
    page_begin(&report->page, PAGE_BACKGROUND, "One operation at a time", "operations");
    double *sizes = bench_sizes(data, &size_count);
    struct table table = {.report = report, .filter = true};
    table_column(&table, "structure", false, "");
    table_column(&table, "operation", false, "");
    for (size_t n = 0; n < size_count; n++) {
        table_column(&table,
                     pool_format(&report->pool, "%s timers", grouped_text(sizes[n], FIGURE)), true,
                     "ns per operation, median and MAD");
    }
    for (size_t s = 0; s < data->set_count; s++) {
        const struct results *bench = &data->sets[s].bench;
        for (size_t i = 0; i < bench->count; i++) {
            bool first = true;
            for (size_t k = 0; k < i && first; k++) {
                first = !same_line(&bench->rows[k], &bench->rows[i]);
            }
            if (first) {
                bench_line(&table, bench, &bench->rows[i], sizes, size_count);
            }
        }
    }
    free(sizes);
    table_write(&table, "bench", "ns per operation, median and MAD", "Nothing was measured.");
}
