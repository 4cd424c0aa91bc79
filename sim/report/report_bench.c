/* Single operations: each structure, each number of timers. */
#include "report_work.h"

#include "judge.h"
#include "memory.h"
#include "report_words.h"
#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- in words -------------------------------------------------------------------------------- */

static int by_op_time(const void *a, const void *b)
{
    return row_order(*(const json_t *const *)a, *(const json_t *const *)b, "ns_per_op");
}

static bool op_competes(const struct report_data *data, const json_t *row)
{
    return !isnan(row_number(row, "ns_per_op")) && !row_promises(data, row, "baseline");
}

static bool same_op(const json_t *a, const json_t *b)
{
    return strcmp(row_string(a, "op"), row_string(b, "op")) == 0 &&
           strcmp(row_string(a, "set"), row_string(b, "set")) == 0;
}

/* Those of the operation of `like`, with `n` timers. `rows` has room for all. */
static size_t find_op_rows(const struct report_data *data, const json_t *like, double n,
                           const json_t **rows)
{
    size_t count = 0;
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(data->bench, i, row)
    {
        if (same_op(row, like) && row_number(row, "n") == n && op_competes(data, row)) {
            rows[count++] = row;
        }
    }
    qsort(rows, count, sizeof rows[0], by_op_time);
    return count;
}

/* "with 1,000 timers `a` (10.0 ns; the next, `b`, takes 3.00 times as long)". */
static void add_op_winner(struct text *text, const json_t *const *rows, size_t count, double n)
{
    struct measured first = measured_of(rows[0], "ns_per_op");
    size_t tied = 0;
    for (size_t i = 1; i < count; i++) {
        tied += !measured_differ(first, measured_of(rows[i], "ns_per_op"));
    }
    text_add(text, "with %s timers ", grouped_text(n, FIGURE));
    if (count == 1) {
        text_add(text, "only %s was measured", series_text(text->pool, rows[0]));
    } else if (first.runs < JUDGE_RUNS_MIN) {
        text_add(text, "cannot tell (it takes five runs, and here are %s)",
                 grouped_text(first.runs, FIGURE));
    } else if (tied > 0) {
        size_t said = 0;
        text_add(text, "cannot tell ");
        for (size_t i = 0; i < count; i++) {
            if (i == 0 || !measured_differ(first, measured_of(rows[i], "ns_per_op"))) {
                text_add_joint(text, said++, tied + 1);
                text_add(text, "%s", series_text(text->pool, rows[i]));
            }
        }
        text_add(text, " apart");
    } else {
        text_add(text, "%s (%s ns; the next, %s, takes %s times as long)",
                 series_text(text->pool, rows[0]), figure_text(first.value, FIGURE),
                 series_text(text->pool, rows[1]),
                 figure_text(measured_of(rows[1], "ns_per_op").value / first.value, FIGURE));
    }
}

/* A sentence for each operation: who is the fastest with the fewest and the most timers; not for
 * those that were not measured five times. */
static void list_winners(struct report *report, struct page_list *list)
{
    struct pool *pool = &report->pool;
    const struct report_data *data = report->data;
    size_t all = json_array_size(data->bench);
    const json_t **rows = memory_new(all + 1, sizeof *rows);
    for (size_t i = 0; i < all; i++) {
        const json_t *like = json_array_get(data->bench, i);
        double fewest = NAN;
        double most = NAN;
        double runs = 0;
        bool first = true;
        for (size_t k = 0; k < all; k++) {
            const json_t *row = json_array_get(data->bench, k);
            double n = row_number(row, "n");
            if (!same_op(row, like)) {
                continue;
            }
            first = first && k >= i;
            if (op_competes(data, row)) {
                runs = fmax(runs, row_number(row, "runs"));
                fewest = isnan(fewest) || n < fewest ? n : fewest;
                most = isnan(most) || n > most ? n : most;
            }
        }
        if (!first || isnan(most) || runs < JUDGE_RUNS_MIN) {
            continue;
        }
        struct text text = {.pool = pool};
        const char *mark = row_string(like, "set");
        text_add(&text, "%s%s%s%s: ", row_string(like, "op"), mark[0] != '\0' ? " (" : "", mark,
                 mark[0] != '\0' ? ")" : "");
        add_op_winner(&text, rows, find_op_rows(data, like, fewest, rows), fewest);
        if (most > fewest) {
            text_add(&text, "; ");
            add_op_winner(&text, rows, find_op_rows(data, like, most, rows), most);
        }
        page_list_add(list, text_end(&text));
    }
    free((void *)rows);
}

void section_bench_words(struct report *report)
{
    struct page *page = &report->page;
    if (json_array_size(report->data->bench) == 0) {
        return;
    }
    struct page_list list = {.report = report};
    page->form->heading(page, 3, "One operation at a time", "words-bench");
    list_winners(report, &list);
    page->form->paragraph(page, list.count > 0 ? "The fastest, by operation:"
                                               : "Cannot tell: it takes five runs.");
    page_list_write(&list);
}

/* --- as a table ------------------------------------------------------------------------------ */

/* The distinct numbers of timers, rising; to be freed. */
static double *bench_sizes(struct report *report, size_t *count)
{
    const json_t *bench = report->data->bench;
    double *sizes = memory_new(json_array_size(bench) + 1, sizeof *sizes);
    *count = 0;
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(bench, i, row)
    {
        double n = row_number(row, "n");
        bool seen = isnan(n);
        for (size_t k = 0; k < *count && !seen; k++) {
            seen = sizes[k] == n;
        }
        if (!seen) {
            sizes[(*count)++] = n;
        }
    }
    qsort(sizes, *count, sizeof sizes[0], stats_ascending);
    return sizes;
}

static bool same_line(const json_t *a, const json_t *b)
{
    return same_op(a, b) && strcmp(row_string(a, "algo"), row_string(b, "algo")) == 0;
}

/* A line of the table: an operation of a structure, with each number of timers. */
static void bench_line(struct table *table, const json_t *like, const double *sizes,
                       size_t size_count)
{
    struct report *report = table->report;
    table_row(table, row_plain_kind(report, like));
    table_text(table, row_name(report, like));
    table_text(table, row_string(like, "op"));
    for (size_t n = 0; n < size_count; n++) {
        double value = NAN;
        double spread = NAN;
        size_t i = 0;
        const json_t *row = NULL;
        json_array_foreach(report->data->bench, i, row)
        {
            if (same_line(row, like) && row_number(row, "n") == sizes[n]) {
                value = row_number(row, "ns_per_op");
                spread = row_number(row, "ns_per_op_mad");
                break;
            }
        }
        const char *text = isnan(value)
                               ? "-"
                               : pool_format(&report->pool, "%s ± %s", figure_text(value, FIGURE),
                                             figure_text(spread, FIGURE));
        table_cell(table, text, value);
    }
}

void section_bench(struct report *report)
{
    struct page *page = &report->page;
    const json_t *bench = report->data->bench;
    size_t size_count = 0;
    if (json_array_size(bench) == 0) {
        return;
    }
    page->form->background(page, "One operation at a time", "operations");
    double *sizes = bench_sizes(report, &size_count);
    struct table table = {.report = report, .page.filter = true};
    table_column(&table, "structure", false, "");
    table_column(&table, "operation", false, "");
    for (size_t n = 0; n < size_count; n++) {
        table_column(&table,
                     pool_format(&report->pool, "%s timers", grouped_text(sizes[n], FIGURE)), true,
                     "ns per operation, median and MAD");
    }
    for (size_t i = 0; sizes != NULL && i < json_array_size(bench); i++) {
        bool first = true;
        for (size_t k = 0; k < i && first; k++) {
            first = !same_line(json_array_get(bench, k), json_array_get(bench, i));
        }
        if (first) {
            bench_line(&table, json_array_get(bench, i), sizes, size_count);
        }
    }
    free(sizes);
    table_write(&table, "bench", "ns per operation, median and MAD", "Nothing was measured.");
}
