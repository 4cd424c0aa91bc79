/* From files to typed rows. */
#include "results.h"

#include "csv_table.h"
#include "memory.h"
#include "registry.h"
#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sets a cell from a JSON value. In CSV every value is a string. */
static void read_cell(struct row *row, unsigned column, const struct column_info *info,
                      const json_t *value)
{
    const char *text = json_string_value(value);
    if (info->digits == TEXT) {
        if (text != NULL && text[0] != '\0') {
            row_set_text(row, column, text);
        }
        return;
    }
    double number = json_is_number(value) ? json_number_value(value) : NAN;
    if (text != NULL && text[0] != '\0') {
        char *end = NULL;
        number = strtod(text, &end);
        number = *end == '\0' ? number : NAN;
    }
    if (json_is_integer(value)) {
        row_set_signed(row, column, json_integer_value(value));
    } else if (isfinite(number) && number == floor(number) && fabs(number) < 0x1p53 &&
               info->digits == 0) {
        row_set_signed(row, column, (int64_t)number);
    } else {
        row_set_real(row, column, number);
    }
}

static void read_samples(struct row *row, unsigned column, const json_t *values)
{
    double *numbers = memory_new(json_array_size(values) + 1, sizeof *numbers);
    for (size_t i = 0; i < json_array_size(values); i++) {
        const json_t *value = json_array_get(values, i);
        numbers[i] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    row_set_samples(row, column, numbers, json_array_size(values));
    free(numbers);
}

uint32_t results_read_capabilities(const json_t *words)
{
    uint32_t capabilities = 0;
    size_t count = 0;
    const struct tl_capability_row *known = tl_capabilities(&count);
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        for (size_t k = 0; k < count && word != NULL; k++) {
            capabilities |= strcmp(known[k].word, word) == 0 ? known[k].bit : 0;
        }
    }
    return capabilities;
}

static void read_row(struct row *row, const struct row_kind *kind, const json_t *object)
{
    const json_t *samples = json_object_get(object, "samples");
    for (unsigned c = 0; c < kind->count; c++) {
        const struct column_info *info = &kind->columns[c];
        read_cell(row, c, info, json_object_get(object, info->name));
        read_samples(row, c, json_object_get(samples, info->name));
    }
    const char *checksum = json_string_value(json_object_get(object, "trace_checksum"));
    (void)snprintf(row->trace_checksum, sizeof row->trace_checksum, "%s",
                   checksum != NULL ? checksum : "");
    row->capabilities = results_read_capabilities(json_object_get(object, "capabilities"));
}

bool results_read_rows(struct results *results, const json_t *rows, const char *source,
                       struct error *error)
{
    const struct row_kind *kind = results->kind != NULL ? results->kind : &replay_kind;
    size_t index;
    const json_t *object;
    json_array_foreach(rows, index, object)
    {
        struct row *row = results_add(results);
        read_row(row, kind, object);
        if (row_text(row, COL_TRACE)[0] == '\0' || row_text(row, COL_ALGO)[0] == '\0') {
            return error_set(error, "%s: row %zu has no %s or no algo: not results of timerlab",
                             source, index + 1, kind->columns[COL_TRACE].name);
        }
    }
    return true;
}

bool results_read_csv(struct results *results, const char *path, struct error *error)
{
    json_t *table = csv_table_read(path, error);
    bool good = table != NULL && results_read_rows(results, table, path, error);
    json_decref(table);
    return good;
}

/* --- rows of timerlab-bench ------------------------------------------------------------------ */

/* The columns from BENCH_COL_NS that are medians of their samples; of the longest calls the least
 * counts, because whatever else the machine does only adds to them. */
static void summarize(struct row *row, unsigned column)
{
    const struct samples *samples = &row->samples[column];
    bool least = column >= BENCH_COL_LONGEST_START && column <= BENCH_COL_LONGEST_RESERVE;
    if (samples->count == 0) {
        return;
    }
    double value = stats_median(samples->values, samples->count);
    for (size_t i = 0; i < samples->count && least; i++) {
        value = fmin(value, samples->values[i]);
    }
    row_set_real(row, column, value);
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The form of a limit, NULL of other rows: `of:OP` if it was measured for one suite. */
static const char *limit_form(const struct row *row)
{
    const char *op = row_text(row, BENCH_COL_OP);
    return strncmp(op, "limit", 5) != 0 ? NULL
           : op[5] == '/'               ? op + 6
           : op[5] == '\0'              ? op + 5
                                        : NULL;
}

/* How well a limit fits a row for which the limit `name` counts: 0, it does not; 2, it was measured
 * for the row's own form. A limit of one timer fits any number of them. */
static int limit_fit(const struct row *limit, const char *name, const struct row *row)
{
    const char *form = limit_form(limit);
    const char *algo = row_text(limit, COL_ALGO);
    const char *op = row_text(row, BENCH_COL_OP);
    size_t length = strlen(algo);
    double n = row_value(limit, BENCH_COL_N);
    bool same_n = same_number(n, row_value(row, BENCH_COL_N));
    if (form == NULL || strncmp(name, algo, length) != 0) {
        return 0;
    }
    if (name[length] == '/') {
        return same_n && strcmp(name + length + 1, form) == 0;
    }
    if (name[length] != '\0') {
        return 0;
    }
    if (same_n && strncmp(form, "of:", 3) == 0) {
        size_t suite = strcspn(op, "/");
        bool of_suite = strlen(form + 3) == suite && strncmp(form + 3, op, suite) == 0;
        return strcmp(form + 3, op) == 0 ? 2 : of_suite;
    }
    return n == 1;
}

/* The name of the limit that fits a row: of its suite and form, or of its suite. */
static const char *limit_name(const json_t *context, const struct row *row)
{
    const char *op = row_text(row, BENCH_COL_OP);
    size_t suite = strcspn(op, "/");
    const char *name = NULL;
    for (const char *form = op + suite; *form == '/' && name == NULL;) {
        size_t length = strcspn(++form, "/");
        char *key =
            memory_format("limit of %.*s/%.*s", (int)suite, op, (int)strcspn(form, ":/"), form);
        name = json_string_value(json_object_get(context, key));
        free(key);
        form += length;
    }
    char *key = memory_format("limit of %.*s", (int)suite, op);
    name = name != NULL ? name : json_string_value(json_object_get(context, key));
    free(key);
    return name;
}

static void set_multiple(struct row *row, unsigned column, unsigned base)
{
    row_set_real(row, column, row_value(row, BENCH_COL_NS) / row_value(row, base));
}

static void relate(struct results *results, struct row *row, const json_t *context)
{
    const char *floor = json_string_value(json_object_get(context, "floor"));
    const char *name = limit_name(context, row);
    int best = isnan(row_value(row, BENCH_COL_LIMIT_NS)) ? 0 : 3; /* 3: it measured its own */
    for (size_t i = 0; i < results->count; i++) {
        const struct row *other = &results->rows[i];
        double ns = row_value(other, BENCH_COL_NS);
        if (isnan(ns)) {
            continue;
        }
        if (floor != NULL && strcmp(row_text(other, COL_ALGO), floor) == 0 &&
            strcmp(row_text(other, BENCH_COL_OP), row_text(row, BENCH_COL_OP)) == 0 &&
            same_number(row_value(other, BENCH_COL_N), row_value(row, BENCH_COL_N))) {
            row_set_real(row, BENCH_COL_NULL_NS, ns);
        }
        int fit = name != NULL ? limit_fit(other, name, row) : 0;
        if (fit > best) {
            row_set_real(row, BENCH_COL_LIMIT_NS, ns);
            best = fit;
        }
    }
    if (name != NULL && !isnan(row_value(row, BENCH_COL_LIMIT_NS))) {
        row_set_text(row, BENCH_COL_LIMIT, name);
    }
    set_multiple(row, BENCH_COL_X_NULL, BENCH_COL_NULL_NS);
    set_multiple(row, BENCH_COL_X_LIMIT, BENCH_COL_LIMIT_NS);
}

void bench_rows_complete(struct results *results, const json_t *context)
{
    for (size_t i = 0; i < results->count; i++) {
        struct row *row = &results->rows[i];
        const struct samples *ns = &row->samples[BENCH_COL_NS];
        for (unsigned c = BENCH_COL_NS; c < BENCH_COL_RUNS; c++) {
            summarize(row, c);
        }
        if (ns->count > 0) {
            row_set_real(row, BENCH_COL_NS_MAD, stats_mad(ns->values, ns->count));
        }
        row_set_integer(row, BENCH_COL_RUNS, row->samples[BENCH_COL_REAL].count);
    }
    for (size_t i = 0; i < results->count; i++) {
        relate(results, &results->rows[i], context);
    }
    size_t kept = 0;
    for (size_t i = 0; i < results->count; i++) {
        if (limit_form(&results->rows[i]) != NULL) {
            row_clear(&results->rows[i]);
        } else {
            results->rows[kept++] = results->rows[i];
        }
    }
    results->count = kept;
}
