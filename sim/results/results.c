#include "results.h"

#include "json_text.h"
#include "memory.h"
#include "registry.h"
#include "terminal.h"
#include "text_table.h"
#include "tolerance.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for any real with the digits of a column. */
#define CELL_BYTES 336

const char *const live_files[] = {"live.json", "live.csv", "lateness.csv", NULL};

const char *const result_files[] = {
    "results.json",          "results.csv", "work.csv",  "faults.csv",  "latency.csv",
    "response.csv",          "latency",     "ranks.csv", "report.html", "report.md",
    "pictures/pictures.csv", NULL,
};

#define COLUMN_ROW(code, name, digits, span, help) {name, digits, SPAN_##span, help},
const struct column_info result_columns[COLUMNS] = {COLUMN_MAP(COLUMN_ROW)};
static const struct column_info bench_columns[] = {BENCH_COLUMN_MAP(COLUMN_ROW)};
static const struct column_info fault_columns[] = {FAULT_COLUMN_MAP(COLUMN_ROW)};
static const struct column_info work_columns[] = {WORK_COLUMN_MAP(COLUMN_ROW)};
static const struct column_info curve_columns[] = {CURVE_COLUMN_MAP(COLUMN_ROW)};
static const struct column_info rank_columns[] = {RANK_COLUMN_MAP(COLUMN_ROW)};
static const struct column_info live_columns[] = {LIVE_COLUMN_MAP(COLUMN_ROW)};
static const struct column_info lateness_columns[] = {LATENESS_COLUMN_MAP(COLUMN_ROW)};
static const struct column_info threads_columns[] = {THREADS_COLUMN_MAP(COLUMN_ROW)};
static const struct column_info predict_columns[] = {PREDICT_COLUMN_MAP(COLUMN_ROW)};
#undef COLUMN_ROW

const struct row_kind replay_kind = {result_columns, COLUMNS, COL_NS_PER_EVENT, COL_REASON};
const struct row_kind bench_kind = {bench_columns, BENCH_COLUMNS, BENCH_COL_NS, BENCH_COL_REASON};
const struct row_kind fault_kind = {.columns = fault_columns, .count = FAULT_COLUMNS};
const struct row_kind work_kind = {.columns = work_columns, .count = WORK_COLUMNS};
const struct row_kind latency_kind = {.columns = curve_columns, .count = CURVE_COLUMNS};
const struct row_kind rank_kind = {.columns = rank_columns, .count = RANK_COLUMNS};
const struct row_kind live_kind = {.columns = live_columns, .count = LIVE_COLUMNS};
const struct row_kind lateness_kind = {.columns = lateness_columns, .count = LATENESS_COLUMNS};
const struct row_kind threads_kind = {.columns = threads_columns, .count = THREADS_COLUMNS};
const struct row_kind predict_kind = {.columns = predict_columns, .count = PREDICT_COLUMNS};

int row_kind_column(const struct row_kind *kind, const char *name)
{
    for (unsigned c = 0; c < kind->count; c++) {
        if (strcmp(kind->columns[c].name, name) == 0) {
            return (int)c;
        }
    }
    return -1;
}

static const struct row_kind *kind_of(const struct results *results)
{
    return results->kind != NULL ? results->kind : &replay_kind;
}

struct row *results_add(struct results *results)
{
    results->rows = memory_resize(results->rows, results->count + 1, sizeof *results->rows);
    struct row *row = &results->rows[results->count++];
    memset(row, 0, sizeof *row);
    return row;
}

void row_clear(struct row *row)
{
    for (unsigned c = 0; c < COLUMNS; c++) {
        if (row->cells[c].kind == CELL_TEXT) {
            free(row->cells[c].value.text);
        }
        free(row->samples[c].values);
    }
    memset(row, 0, sizeof *row);
}

void results_free(struct results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        row_clear(&results->rows[i]);
    }
    free(results->rows);
    *results = (struct results){.kind = results->kind};
}

void row_set_text(struct row *row, unsigned column, const char *text)
{
    struct cell *cell = &row->cells[column];
    if (cell->kind == CELL_TEXT) {
        free(cell->value.text);
    }
    cell->value.text = memory_copy(text);
    cell->kind = CELL_TEXT;
}

void row_set_signed(struct row *row, unsigned column, int64_t value)
{
    row->cells[column] = (struct cell){.kind = CELL_INTEGER, .value.integer = value};
}

void row_set_integer(struct row *row, unsigned column, uint64_t value)
{
    row_set_signed(row, column, value <= INT64_MAX ? (int64_t)value : INT64_MAX);
}

void row_set_real(struct row *row, unsigned column, double value)
{
    row->cells[column] = isfinite(value) ? (struct cell){.kind = CELL_REAL, .value.real = value}
                                         : (struct cell){.kind = CELL_NONE};
}

void row_set_samples(struct row *row, unsigned column, const double *values, size_t count)
{
    struct samples *samples = &row->samples[column];
    free(samples->values);
    *samples = (struct samples){.count = count};
    if (count > 0) {
        samples->values = memory_new(count, sizeof *values);
        memcpy(samples->values, values, count * sizeof *values);
    }
}

double row_value(const struct row *row, unsigned column)
{
    const struct cell *cell = &row->cells[column];
    return cell->kind == CELL_INTEGER ? (double)cell->value.integer
           : cell->kind == CELL_REAL  ? cell->value.real
                                      : NAN;
}

const char *row_text(const struct row *row, unsigned column)
{
    return row->cells[column].kind == CELL_TEXT ? row->cells[column].value.text : "";
}

void row_set_key(struct row *row, const char *workload, const char *algo, const char *options)
{
    row_set_text(row, COL_TRACE, workload);
    row_set_text(row, COL_ALGO, algo);
    row_set_text(row, COL_OPTIONS, options);
}

const char *structure_text(const char *algo, const char *options, char text[STRUCTURE_BYTES])
{
    (void)snprintf(text, STRUCTURE_BYTES, "%s%s%s", algo[0] != '\0' ? algo : "-",
                   options[0] != '\0' ? ":" : "", options);
    return text;
}

const char *row_structure(const struct row *row, char text[STRUCTURE_BYTES])
{
    return structure_text(row_text(row, COL_ALGO), row_text(row, COL_OPTIONS), text);
}

bool row_same_structure(const struct row *a, const struct row *b)
{
    return strcmp(row_text(a, COL_ALGO), row_text(b, COL_ALGO)) == 0 &&
           strcmp(row_text(a, COL_OPTIONS), row_text(b, COL_OPTIONS)) == 0;
}

bool row_is_ok(const struct row *row)
{
    return strcmp(row_text(row, COL_STATUS), "ok") == 0;
}

bool row_is_unsupported(const struct row *row)
{
    return strcmp(row_text(row, COL_STATUS), "unsupported") == 0;
}

/* A real as text, with the digits of its column, and `extra` more where they are significant. */
static void format_real(double value, int digits, int extra, char *text, size_t text_bytes)
{
    if (digits < SIGNIFICANT(0)) {
        (void)snprintf(text, text_bytes, "%.*f", digits, value);
    } else {
        (void)snprintf(text, text_bytes, "%.*g", digits - SIGNIFICANT(0) + extra, value);
    }
}

/* The cell as plain text; `empty` for one without a value. */
static const char *cell_format(const struct row_kind *kind, const struct row *row, unsigned column,
                               const char *empty, char *text, size_t text_bytes)
{
    const struct cell *cell = &row->cells[column];
    switch (cell->kind) {
    case CELL_TEXT:
        return cell->value.text;
    case CELL_INTEGER:
        (void)snprintf(text, text_bytes, "%" PRId64, cell->value.integer);
        return text;
    case CELL_REAL:
        format_real(cell->value.real, kind->columns[column].digits, 0, text, text_bytes);
        return text;
    default:
        return empty;
    }
}

static const char *const span_words[] = {[SPAN_NONE] = "-",
                                         [SPAN_TRACE] = "trace",
                                         [SPAN_WINDOW] = "window",
                                         [SPAN_AFTER] = "after",
                                         [SPAN_WHOLE] = "whole"};

void results_write_columns(FILE *stream)
{
    (void)fputs("The second word is the span: the part of the trace that a column covers. `trace` "
                "is up to the\n"
                "end tick, `window` the timed part of that, `after` the ticks after the end tick, "
                "`whole` all.\n"
                "Divide only columns of the same span.\n\n",
                stream);
    for (int c = 0; c < COLUMNS; c++) {
        const struct column_info *column = &result_columns[c];
        (void)fprintf(stream, "%-25s %-6s %s\n", column->name, span_words[column->span],
                      column->help);
    }
}

/* --- CSV ------------------------------------------------------------------------------------- */

void row_kind_write_header(const struct row_kind *kind, FILE *stream)
{
    for (unsigned c = 0; c < kind->count; c++) {
        (void)fprintf(stream, "%s%s", c > 0 ? "," : "", kind->columns[c].name);
    }
    (void)fputc('\n', stream);
}

void row_write_csv(const struct row_kind *kind, const struct row *row, FILE *stream)
{
    char text[CELL_BYTES];
    for (unsigned c = 0; c < kind->count; c++) {
        (void)fputs(c > 0 ? "," : "", stream);
        csv_write_field(stream, cell_format(kind, row, c, "", text, sizeof text));
    }
    (void)fputc('\n', stream);
}

void results_write_csv(const struct results *results, FILE *stream)
{
    row_kind_write_header(kind_of(results), stream);
    for (size_t i = 0; i < results->count; i++) {
        row_write_csv(kind_of(results), &results->rows[i], stream);
    }
}

/* --- JSON ------------------------------------------------------------------------------------ */

#define JSON_EXTRA_DIGITS 3

/* A real with the digits of its column, so that the text is the same in CSV and JSON. Where
 * these are significant digits, JSON has more of them: CSV is for people, too. */
static json_t *rounded_real(double value, int digits)
{
    char text[CELL_BYTES];
    format_real(value, digits, JSON_EXTRA_DIGITS, text, sizeof text);
    return json_real(strtod(text, NULL));
}

/* Single runs are given more closely than their median: rounding must not make them equal. */
#define SAMPLE_EXTRA_DIGITS 2

static void add_samples(json_t *all, const char *name, const struct samples *samples, int digits)
{
    if (samples->count == 0) {
        return;
    }
    json_t *values = json_array();
    for (size_t i = 0; i < samples->count; i++) {
        (void)json_array_append_new(
            values, digits > 0 ? rounded_real(samples->values[i], digits + SAMPLE_EXTRA_DIGITS)
                               : json_integer(llround(samples->values[i])));
    }
    (void)json_object_set_new(all, name, values);
}

static json_t *row_samples(const struct row_kind *kind, const struct row *row)
{
    json_t *all = json_object();
    for (unsigned c = 0; c < kind->count; c++) {
        add_samples(all, kind->columns[c].name, &row->samples[c], kind->columns[c].digits);
    }
    return all;
}

json_t *json_real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *cell_json(const struct cell *cell, int digits)
{
    switch (cell->kind) {
    case CELL_TEXT:
        return json_text(cell->value.text);
    case CELL_INTEGER:
        return json_integer((json_int_t)cell->value.integer);
    case CELL_REAL:
        return rounded_real(cell->value.real, digits);
    default:
        return json_null();
    }
}

static json_t *capabilities_json(uint32_t capabilities)
{
    json_t *words = json_array();
    size_t count = 0;
    const struct tl_capability_row *known = tl_capabilities(&count);
    for (size_t i = 0; i < count; i++) {
        if ((capabilities & known[i].bit) != 0) {
            (void)json_array_append_new(words, json_string(known[i].word));
        }
    }
    return words;
}

static json_t *row_json(const struct row_kind *kind, const struct row *row)
{
    json_t *object = json_object();
    for (unsigned c = 0; c < kind->count; c++) {
        (void)json_object_set_new(object, kind->columns[c].name,
                                  cell_json(&row->cells[c], kind->columns[c].digits));
    }
    if (kind == &replay_kind) {
        (void)json_object_set_new(object, "trace_checksum",
                                  row->trace_checksum[0] != '\0' ? json_string(row->trace_checksum)
                                                                 : json_null());
        (void)json_object_set_new(object, "capabilities", capabilities_json(row->capabilities));
    }
    if (kind->time > 0) {
        (void)json_object_set_new(object, "samples", row_samples(kind, row));
    }
    return object;
}

json_t *results_json_rows(const struct results *results)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < results->count; i++) {
        (void)json_array_append_new(rows, row_json(kind_of(results), &results->rows[i]));
    }
    return rows;
}

/* The columns that are of a part of the trace, and of which. */
static json_t *spans_json(void)
{
    json_t *spans = json_object();
    for (int c = 0; c < COLUMNS; c++) {
        if (result_columns[c].span != SPAN_NONE) {
            (void)json_object_set_new(spans, result_columns[c].name,
                                      json_string(span_words[result_columns[c].span]));
        }
    }
    return spans;
}

void results_write_rows(json_t *rows, const json_t *context, bool spans, FILE *stream)
{
    json_t *whole = json_pack("{s:i, s:O, s:o*, s:O}", "schema", RESULTS_SCHEMA, "context", context,
                              "spans", spans ? spans_json() : NULL, "rows", rows);
    (void)json_dumpf(whole, stream, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    (void)fputc('\n', stream);
    json_decref(whole);
}

void results_write_json(const struct results *results, const json_t *context, FILE *stream)
{
    json_t *rows = results_json_rows(results);
    results_write_rows(rows, context, kind_of(results) == &replay_kind, stream);
    json_decref(rows);
}

struct file {
    const struct results *results;
    const json_t *context; /* NULL: a file of CSV */
};

static void write_file(const void *ctx, FILE *stream)
{
    const struct file *file = ctx;
    if (file->context != NULL) {
        results_write_json(file->results, file->context, stream);
    } else {
        results_write_csv(file->results, stream);
    }
}

bool results_write_files(const struct results *results, const json_t *context, const char *name,
                         struct outfolder *folder, struct error *error)
{
    const struct file csv = {results, NULL};
    const struct file json = {results, context};
    char path[64];
    (void)snprintf(path, sizeof path, "%s.csv", name);
    bool written = outfolder_write(folder, path, write_file, &csv, error);
    (void)snprintf(path, sizeof path, "%s.json", name);
    return written && outfolder_write(folder, path, write_file, &json, error);
}

/* --- rows that are objects -------------------------------------------------------------------- */

const char *results_object_text(const json_t *value, int digits, char *text, size_t text_bytes)
{
    text[0] = '\0';
    if (json_is_integer(value)) {
        (void)snprintf(text, text_bytes, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_real(value)) {
        format_real(json_real_value(value), digits, 0, text, text_bytes);
    }
    return json_is_string(value) ? json_string_value(value) : text;
}

/* The names of the columns if `row` is NULL. */
static void write_object_csv(const json_t *row, const struct column_info *more, size_t count,
                             FILE *stream)
{
    char text[CELL_BYTES];
    for (size_t c = 0; c < COLUMNS + count; c++) {
        const struct column_info *column = c < COLUMNS ? &result_columns[c] : &more[c - COLUMNS];
        (void)fputs(c > 0 ? "," : "", stream);
        csv_write_field(stream, row == NULL
                                    ? column->name
                                    : results_object_text(json_object_get(row, column->name),
                                                          column->digits, text, sizeof text));
    }
    (void)fputc('\n', stream);
}

void results_write_objects_csv(const json_t *rows, const struct column_info *more, size_t count,
                               FILE *stream)
{
    size_t index;
    const json_t *row;
    write_object_csv(NULL, more, count, stream);
    json_array_foreach(rows, index, row)
    {
        write_object_csv(row, more, count, stream);
    }
}

/* --- tables ---------------------------------------------------------------------------------- */

struct theme {
    const char *title;
    const enum column *columns; /* ends with COLUMNS */
};

/* In the order in which they are needed: text_table.h. */
static const enum column speed_columns[] = {
    COL_ALGO,  COL_OPTIONS, COL_STATUS, COL_NS_PER_EVENT, COL_NS_PER_EVENT_MAD, COL_STALL,
    COL_RANKS, COL_TIMES,   COL_RUNS,   COL_FLOOR_NS,     COL_EVENTS_PER_S,     COLUMNS};
static const enum column right_columns[] = {
    COL_ALGO,        COL_OPTIONS, COL_FIRED,     COL_LATENESS_MAX, COL_AVERTED,      COL_EARLY,
    COL_LATE_BEYOND, COL_LOST,    COL_DUPLICATE, COL_MISORDERED,   COL_NOT_REACHED,  COL_STARTS,
    COL_RESTARTS,    COL_STOPS,   COL_REACTIONS, COL_DRAINED,      COL_LATENESS_MIN, COLUMNS};
static const enum column cost_columns[] = {
    COL_ALGO,         COL_OPTIONS,           COL_BYTES_PER_TIMER, COL_BYTES_PEAK, COL_WAKEUPS,
    COL_IDLE_WAKEUPS, COL_N_COMPARES,        COL_N_MOVES,         COL_N_SLOTS,    COL_N_CASCADES,
    COL_N_ALLOCS,     COL_WAKEUPS_PER_FIRED, COL_BYTES_DRAINED,   COLUMNS};
static const enum column latency_columns[] = {
    COL_ALGO,      COL_OPTIONS,     COL_ADVANCE_P9999, COL_ADVANCE_MAX,
    COL_START_P50, COL_START_P9999, COL_RESTART_P50,   COL_RESTART_P9999,
    COL_STOP_P50,  COL_STOP_P9999,  COL_ADVANCE_P50,   COL_ADVANCE_P99,
    COL_START_P99, COL_RESTART_P99, COL_STOP_P99,      COLUMNS};

static const enum column durable_columns[] = {
    COL_ALGO,     COL_OPTIONS, COL_BYTES_DURABLE, COL_SYNCS_PER_FIRED, COL_ACKNOWLEDGED_MAX,
    COL_RECOVERY, COLUMNS};

static const struct theme themes[] = {
    {"speed", speed_columns},
    {"expiries", right_columns},
    {"memory, wakeups, work", cost_columns},
    {"what outlives the process", durable_columns},
    {"latency of single operations", latency_columns},
};

#define THEMES (sizeof themes / sizeof themes[0])

/* Whether any of the rows [from, to) has a value in any of the theme's columns after the names. */
static bool theme_has_values(const struct results *results, size_t from, size_t to,
                             const struct theme *theme)
{
    for (size_t i = from; i < to; i++) {
        for (const enum column *c = theme->columns + 2; *c != COLUMNS; c++) {
            if (results->rows[i].cells[*c].kind != CELL_NONE) {
                return true;
            }
        }
    }
    return false;
}

/* Return the cell for people: `averted` also shows its share of the expiries of exact
 * structures. */
static const char *cell_show(const struct results *results, const struct row *row, unsigned column,
                             char *text, size_t text_bytes)
{
    struct firing firing = firing_of_row(row);
    if (column != COL_AVERTED || !(firing.averted > 0)) {
        return cell_format(&replay_kind, row, column, "-", text, text_bytes);
    }
    double exact = firing_exact_fired(results, row);
    (void)snprintf(text, text_bytes, "%.0f (%.3g %%%s)", firing.averted,
                   100 * firing_averted_share(&firing, exact), isnan(exact) ? " of its own" : "");
    return text;
}

static void fill_theme(struct text_table *table, const struct results *results,
                       const struct theme *theme)
{
    char text[CELL_BYTES];
    for (const enum column *c = theme->columns; *c != COLUMNS; c++) {
        table->ordinary[table->columns] = *c == COL_RANKS   ? "1"
                                          : *c == COL_TIMES ? "measured"
                                                            : NULL;
        table->right[table->columns++] =
            *c != COL_ALGO && *c != COL_OPTIONS && *c != COL_STATUS && *c != COL_TIMES;
        text_table_add(table, "%s", result_columns[*c].name);
    }
    for (size_t i = 0; i < results->count; i++) {
        for (const enum column *c = theme->columns; *c != COLUMNS; c++) {
            text_table_add(table, "%s",
                           cell_show(results, &results->rows[i], *c, text, sizeof text));
        }
    }
}

void results_write_table(const struct results *results, FILE *stream)
{
    const struct row_kind *kind = kind_of(results);
    struct text_table table = {.columns = kind->count};
    char text[CELL_BYTES];
    for (unsigned c = 0; c < kind->count; c++) {
        table.right[c] = kind->columns[c].digits != TEXT;
        text_table_add(&table, "%s", kind->columns[c].name);
    }
    for (size_t i = 0; i < results->count; i++) {
        for (unsigned c = 0; c < kind->count; c++) {
            text_table_add(&table, "%s",
                           cell_format(kind, &results->rows[i], c, "-", text, sizeof text));
        }
    }
    text_table_write(&table, stream);
    text_table_free(&table);
}

/* The tables of all traces are alike. */
void results_write_tables(const struct results *results, FILE *stream)
{
    struct text_page page = text_page_begin(stream);
    struct text_table tables[THEMES] = {0};
    for (size_t t = 0; t < THEMES; t++) {
        fill_theme(&tables[t], results, &themes[t]);
    }
    for (size_t i = 0, end = 0; i < results->count; i = end) {
        const char *trace = row_text(&results->rows[i], COL_TRACE);
        while (end < results->count &&
               strcmp(row_text(&results->rows[end], COL_TRACE), trace) == 0) {
            end++;
        }
        for (size_t t = 0; t < THEMES; t++) {
            if (theme_has_values(results, i, end, &themes[t])) {
                (void)fprintf(stream, "\n%s: %s\n", trace, themes[t].title);
                text_table_write_rows(&tables[t], 0, 1, &page);
                text_table_write_rows(&tables[t], 1 + i, 1 + end, &page);
            }
        }
    }
    for (size_t t = 0; t < THEMES; t++) {
        text_table_free(&tables[t]);
    }
    text_page_end(&page);
}

void results_write_reasons(const struct results *results, FILE *stream)
{
    bool heading = false;
    struct wrapped lines;
    FILE *wrapped = wrapped_begin(&lines, stream, 4);
    for (size_t i = 0; i < results->count; i++) {
        const struct row *row = &results->rows[i];
        if (row->cells[COL_REASON].kind == CELL_TEXT) {
            (void)fprintf(wrapped, "%s  %s, %s: %s: %s\n", heading ? "" : "\nnot ok:\n",
                          row_text(row, COL_TRACE), row_structure(row, STRUCTURE),
                          row_text(row, COL_STATUS), row_text(row, COL_REASON));
            heading = true;
        }
    }
    wrapped_end(&lines);
}
