#include "bench_output.h"

#include "figures.h"
#include "memory.h"
#include "statistics.h"
#include "text_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- tables ---------------------------------------------------------------------------------- */

enum { SIZES_MAX = 16 };

/* The rows of one operation. */
struct section {
    const struct results *results;
    const char *op;
    const char *floor;
    double sizes[SIZES_MAX]; /* rising */
    size_t size_count;
    const struct row **lines; /* a row for each structure: the one with the most timers */
    size_t line_count;
};

/* Whether a row is of the section, and has figures. */
static bool is_in(const struct section *section, const struct row *row)
{
    return strcmp(row_text(row, BENCH_COL_OP), section->op) == 0 && row_is_ok(row);
}

static bool is_floor(const struct section *section, const struct row *row)
{
    return section->floor != NULL && strcmp(row_text(row, BENCH_COL_ALGO), section->floor) == 0;
}

/* Return the row with n timers of the structure that `like` has, or, if that is NULL, of the
 * floor. */
static const struct row *find_row(const struct section *section, const struct row *like, double n)
{
    for (size_t i = 0; i < section->results->count; i++) {
        const struct row *row = &section->results->rows[i];
        if (is_in(section, row) && row_value(row, BENCH_COL_N) == n &&
            (like != NULL ? row_same_structure(row, like) : is_floor(section, row))) {
            return row;
        }
    }
    return NULL;
}

static void add_size(struct section *section, double n)
{
    size_t at = 0;
    while (at < section->size_count && section->sizes[at] != n) {
        at++;
    }
    if (at == section->size_count && at < SIZES_MAX) {
        section->sizes[section->size_count++] = n;
        qsort(section->sizes, section->size_count, sizeof section->sizes[0], stats_ascending);
    }
}

static void add_line(struct section *section, const struct row *row)
{
    size_t at = 0;
    while (at < section->line_count && !row_same_structure(section->lines[at], row)) {
        at++;
    }
    if (at == section->line_count) {
        section->lines[section->line_count++] = row;
    } else if (row_value(row, BENCH_COL_N) > row_value(section->lines[at], BENCH_COL_N)) {
        section->lines[at] = row;
    }
}

/* By the figure with the most timers. */
static int by_time(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a;
    const struct row *y = *(const struct row *const *)b;
    double more = row_value(y, BENCH_COL_N) - row_value(x, BENCH_COL_N);
    double slower = row_value(x, BENCH_COL_NS) - row_value(y, BENCH_COL_NS);
    return more != 0 ? (more > 0) - (more < 0) : (slower > 0) - (slower < 0);
}

static void write_heading(const struct section *section, const char *per, FILE *stream)
{
    const struct row *floor = find_row(section, NULL, section->sizes[section->size_count - 1]);
    (void)fprintf(stream, "%s, ns per %s", section->op, per);
    if (floor != NULL) {
        (void)fprintf(stream, " (the loop alone takes %.1f)", row_value(floor, BENCH_COL_NS));
    }
    (void)fputs(":\n", stream);
}

static void add_figure(struct text_table *table, double value)
{
    text_table_add(table, "%s", decimal_text(value, value < 1000, FIGURE));
}

static void write_lines(const struct section *section, FILE *stream)
{
    struct text_table table = {.columns = section->size_count + 3};
    text_table_add(&table, "structure");
    for (size_t i = 0; i < section->size_count; i++) {
        text_table_add(&table, "n=%.0f", section->sizes[i]);
        table.right[i + 1] = true;
    }
    text_table_add(&table, "±");
    text_table_add(&table, "bytes/timer");
    table.right[section->size_count + 1] = true;
    table.right[section->size_count + 2] = true;
    for (size_t i = 0; i < section->line_count; i++) {
        const struct row *line = section->lines[i];
        text_table_add(&table, "  %s", row_structure(line, STRUCTURE));
        for (size_t k = 0; k < section->size_count; k++) {
            const struct row *row = find_row(section, line, section->sizes[k]);
            add_figure(&table, row != NULL ? row_value(row, BENCH_COL_NS) : NAN);
        }
        add_figure(&table, row_value(line, BENCH_COL_NS_MAD));
        add_figure(&table, row_value(line, BENCH_COL_BYTES_PER_TIMER));
    }
    text_table_write(&table, stream);
    text_table_free(&table);
}

static void write_section(struct section *section, const char *(*per)(const char *suite),
                          FILE *stream)
{
    for (size_t i = 0; i < section->results->count; i++) {
        const struct row *row = &section->results->rows[i];
        if (is_in(section, row) && !is_floor(section, row)) {
            add_size(section, row_value(row, BENCH_COL_N));
            add_line(section, row);
        }
    }
    if (section->line_count == 0) {
        return;
    }
    qsort((void *)section->lines, section->line_count, sizeof section->lines[0], by_time);
    char *suite = memory_copy_part(section->op, strcspn(section->op, "/"));
    write_heading(section, per(suite), stream);
    free(suite);
    write_lines(section, stream);
    (void)fputc('\n', stream);
}

/* A line for each structure and reason, with the operations that it is about. */
static void write_reasons(const struct results *results, FILE *stream)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct row *row = &results->rows[i];
        const char *reason = row_text(row, BENCH_COL_REASON);
        bool known = row_is_ok(row);
        for (size_t k = 0; k < i && !known; k++) {
            known = row_same_structure(row, &results->rows[k]) &&
                    strcmp(row_text(&results->rows[k], BENCH_COL_REASON), reason) == 0;
        }
        if (known) {
            continue;
        }
        (void)fprintf(stream, "%s%s:", row_is_unsupported(row) ? "omitted: " : "FAILED: ",
                      row_text(row, BENCH_COL_ALGO));
        for (size_t k = i; k < results->count; k++) {
            const struct row *other = &results->rows[k];
            if (row_same_structure(row, other) && !row_is_ok(other) &&
                strcmp(row_text(other, BENCH_COL_REASON), reason) == 0) {
                (void)fprintf(stream, " %s", row_text(other, BENCH_COL_NAME));
            }
        }
        (void)fprintf(stream, ": %s\n", reason);
    }
}

void bench_output_table(const struct results *results, const char *floor,
                        const char *(*per)(const char *suite), FILE *stream)
{
    for (size_t i = 0; i < results->count; i++) {
        struct section section = {
            .results = results, .floor = floor, .op = row_text(&results->rows[i], BENCH_COL_OP)};
        bool first = true;
        for (size_t k = 0; k < i && first; k++) {
            first = strcmp(row_text(&results->rows[k], BENCH_COL_OP), section.op) != 0;
        }
        if (first) {
            section.lines = memory_new(results->count, sizeof *section.lines);
            write_section(&section, per, stream);
            free((void *)section.lines);
        }
    }
    write_reasons(results, stream);
}
