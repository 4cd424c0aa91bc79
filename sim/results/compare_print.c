#include "compare_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Goes up when a name changes its meaning or goes away; what is added leaves it. */
#define COMPARE_SCHEMA 1

size_t compare_count_verdicts(const struct comparisons *comparisons, enum compare_verdict verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < comparisons->count; i++) {
        count += comparisons->items[i].verdict == verdict;
    }
    return count;
}

size_t compare_count_status(const struct comparisons *comparisons, enum compare_status status)
{
    size_t count = 0;
    for (size_t i = 0; i < comparisons->count; i++) {
        count += comparisons->items[i].status == status;
    }
    return count;
}

/* --- grids ----------------------------------------------------------------------------------- */

enum { GRID_COLUMNS_MAX = 12 };

/* Text in rows and columns, of which the first row holds the headings. */
struct grid {
    size_t columns;
    bool right[GRID_COLUMNS_MAX]; /* numbers stand at the right */
    char **cells;                 /* row after row; NULL where memory failed */
    size_t count;
};

__attribute__((format(printf, 2, 3))) static void grid_add(struct grid *grid, const char *format,
                                                           ...)
{
    char text[768];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    char **cells = (char **)realloc((void *)grid->cells, (grid->count + 1) * sizeof *cells);
    if (cells != NULL) {
        grid->cells = cells;
        cells[grid->count++] = strdup(text);
    }
}

static const char *grid_cell(const struct grid *grid, size_t row, size_t column)
{
    size_t at = row * grid->columns + column;
    return at < grid->count && grid->cells[at] != NULL ? grid->cells[at] : "";
}

static size_t grid_rows(const struct grid *grid)
{
    return grid->count / grid->columns;
}

static void grid_write(const struct grid *grid, FILE *stream)
{
    for (size_t row = 0; row < grid_rows(grid); row++) {
        for (size_t column = 0; column < grid->columns; column++) {
            size_t width = 0;
            for (size_t r = 0; r < grid_rows(grid); r++) {
                size_t length = strlen(grid_cell(grid, r, column));
                width = length > width ? length : width;
            }
            bool last = column + 1 == grid->columns;
            int padded = grid->right[column] ? (int)width : last ? 0 : -(int)width;
            (void)fprintf(stream, "%s%*s", column > 0 ? "  " : "", padded,
                          grid_cell(grid, row, column));
        }
        (void)fputc('\n', stream);
    }
}

static void write_escaped(const char *text, FILE *stream)
{
    for (; *text != '\0'; text++) {
        if (strchr("|*_<`\\", *text) != NULL) {
            (void)fputc('\\', stream);
        }
        (void)fputc(*text, stream);
    }
}

static void grid_write_markdown(const struct grid *grid, FILE *stream)
{
    for (size_t row = 0; row < grid_rows(grid); row++) {
        for (size_t column = 0; column < grid->columns; column++) {
            (void)fputs("| ", stream);
            write_escaped(grid_cell(grid, row, column), stream);
            (void)fputc(' ', stream);
        }
        (void)fputs("|\n", stream);
        for (size_t column = 0; row == 0 && column < grid->columns; column++) {
            (void)fprintf(stream, "|%s", grid->right[column] ? "--:" : "---");
        }
        (void)fputs(row == 0 ? "|\n" : "", stream);
    }
}

static void grid_free(struct grid *grid)
{
    for (size_t i = 0; i < grid->count; i++) {
        free(grid->cells[i]);
    }
    free((void *)grid->cells);
}

/* --- cells ----------------------------------------------------------------------------------- */

static void structure_name(char *text, size_t bytes, const char *algo, const char *options)
{
    (void)snprintf(text, bytes, "%s%s%s", algo[0] != '\0' ? algo : "-",
                   options[0] != '\0' ? ":" : "", options);
}

/* A number with as many digits as one reads. */
static void add_number(struct grid *grid, double value)
{
    if (!isfinite(value)) {
        grid_add(grid, "-");
    } else if (value == floor(value) && fabs(value) < 1e15) {
        grid_add(grid, "%.0f", value);
    } else {
        grid_add(grid, fabs(value) < 1e6 ? "%.2f" : "%.5g", value);
    }
}

static void add_change(struct grid *grid, double change)
{
    if (isfinite(change)) {
        grid_add(grid, "%+.1f %%", 100 * change);
    } else {
        grid_add(grid, "-");
    }
}

static void add_interval(struct grid *grid, const struct comparison *item)
{
    if (item->status == COMPARE_JUDGED && isfinite(item->judgement.high)) {
        grid_add(grid, "%+.1f .. %+.1f %%", 100 * item->judgement.low, 100 * item->judgement.high);
    } else {
        grid_add(grid, "-");
    }
}

static void add_p(struct grid *grid, const struct comparison *item)
{
    if (item->status != COMPARE_JUDGED) {
        grid_add(grid, "-");
    } else if (item->p_adjusted < 0.0001) {
        grid_add(grid, "<0.0001");
    } else {
        grid_add(grid, "%.4f", item->p_adjusted);
    }
}

static void add_runs(struct grid *grid, const struct comparison *item)
{
    char quiet[64] = "";
    if (item->status == COMPARE_JUDGED && item->judgement.disturbed > 0) {
        (void)snprintf(quiet, sizeof quiet, ", %zu quiet", item->base_values);
    }
    switch (item->method) {
    case METHOD_PAIRED_RUNS:
        grid_add(grid, "%zu pairs%s", item->base_runs, quiet);
        break;
    case METHOD_PAIRED_SESSIONS:
        grid_add(grid, "%zu pairs of sessions%s", item->base_values + item->judgement.disturbed,
                 quiet);
        break;
    case METHOD_APART:
        grid_add(grid, "%zu, %zu apart", item->base_runs, item->other_runs);
        break;
    default:
        grid_add(grid, "-");
        break;
    }
}

static const char *verdict_or_status(const struct comparison *item)
{
    return item->status == COMPARE_JUDGED ? compare_verdict_word(item->verdict)
                                          : compare_status_word(item->status);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* One comparison in each row: everything of one other set, or of one set by structure. */
static void fill_comparisons(struct grid *grid, const struct comparisons *comparisons,
                             const struct compare_side *other)
{
    static const char *const headings[] = {"trace",  "structure", "metric", "base", "other",
                                           "change", "interval",  "p",      "runs", "verdict"};
    *grid = (struct grid){.columns = sizeof headings / sizeof headings[0]};
    for (size_t i = 0; i < grid->columns; i++) {
        grid->right[i] = i >= 3 && i <= 7;
        grid_add(grid, "%s", headings[i]);
    }
    for (size_t i = 0; i < comparisons->count; i++) {
        const struct comparison *item = &comparisons->items[i];
        if (item->other_side != other) {
            continue;
        }
        char algo[520];
        char base_algo[520];
        structure_name(algo, sizeof algo, item->algo, item->options);
        structure_name(base_algo, sizeof base_algo, item->base_algo, item->base_options);
        bool same = strcmp(algo, base_algo) == 0;
        grid_add(grid, "%s", item->workload);
        grid_add(grid, "%s%s%s", algo, same ? "" : " vs ", same ? "" : base_algo);
        grid_add(grid, "%s", item->metric[0] != '\0' ? item->metric : "-");
        add_number(grid, item->base_median);
        add_number(grid, item->other_median);
        add_change(grid, item->status == COMPARE_JUDGED ? item->judgement.change : NAN);
        add_interval(grid, item);
        add_p(grid, item);
        add_runs(grid, item);
        grid_add(grid, "%s", verdict_or_status(item));
    }
}

static void fill_differences(struct grid *grid, const struct comparisons *comparisons)
{
    static const char *const headings[] = {"trace", "structure", "count",
                                           "base",  "other",     "difference"};
    *grid = (struct grid){.columns = sizeof headings / sizeof headings[0]};
    for (size_t i = 0; i < grid->columns; i++) {
        grid->right[i] = i >= 3;
        grid_add(grid, "%s", headings[i]);
    }
    for (size_t i = 0; i < comparisons->difference_count; i++) {
        const struct compare_difference *difference = &comparisons->differences[i];
        char algo[520];
        structure_name(algo, sizeof algo, difference->algo, difference->options);
        grid_add(grid, "%s", difference->workload);
        grid_add(grid, "%s", algo);
        grid_add(grid, "%s", difference->name);
        add_number(grid, difference->base);
        add_number(grid, difference->other);
        double by = difference->other - difference->base;
        grid_add(grid, by == floor(by) ? "%+.0f" : "%+.6g", by);
    }
}

static void print_summary(const struct compare_request *request,
                          const struct comparisons *comparisons, FILE *stream)
{
    static const enum compare_verdict verdicts[] = {VERDICT_FASTER, VERDICT_SLOWER,
                                                    VERDICT_CANNOT_TELL};
    const char *separator = "";
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        (void)fprintf(stream, "%s%zu %s", separator,
                      compare_count_verdicts(comparisons, verdicts[i]),
                      compare_verdict_word(verdicts[i]));
        separator = ", ";
    }
    for (int s = COMPARE_JUDGED + 1; s < COMPARE_STATUSES; s++) {
        size_t count = compare_count_status(comparisons, (enum compare_status)s);
        if (count > 0) {
            (void)fprintf(stream, ", %zu %s", count, compare_status_word((enum compare_status)s));
        }
    }
    if (comparisons->equal_counts + comparisons->difference_count > 0) {
        (void)fprintf(stream, "; %zu counts are equal, %zu differ", comparisons->equal_counts,
                      comparisons->difference_count);
    }
    (void)fprintf(stream, ".\nIntervals of %g %%; p ", 100 * request->confidence);
    if (request->correction == CORRECTION_NONE) {
        (void)fprintf(stream, "not adjusted for being %zu at once.\n", comparisons->judged);
    } else {
        (void)fprintf(stream, "adjusted for being %zu at once (%s).\n", comparisons->judged,
                      request->correction == CORRECTION_HOLM ? "Holm" : "Benjamini and Hochberg");
    }
}

/* Why there is no verdict, each once. */
static void print_reasons(const struct comparisons *comparisons, const char *bullet, FILE *stream)
{
    bool heading = false;
    for (size_t i = 0; i < comparisons->count; i++) {
        const struct comparison *item = &comparisons->items[i];
        if (item->reason[0] == '\0') {
            continue;
        }
        char algo[520];
        structure_name(algo, sizeof algo, item->algo, item->options);
        if (!heading) {
            (void)fprintf(stream, "\nwhy there is no verdict:\n");
            (void)fputs(bullet[0] == '-' ? "\n" : "", stream);
            heading = true;
        }
        (void)fprintf(stream, "%s%s, %s%s%s: %s: %s\n", bullet, item->workload, algo,
                      item->metric[0] != '\0' ? ", " : "", item->metric, verdict_or_status(item),
                      item->reason);
    }
}

/* What stands against what: a line for each set that has comparisons. */
static void print_comparisons(const struct compare_request *request,
                              const struct comparisons *comparisons, bool markdown, FILE *stream)
{
    for (size_t i = 0; i < request->side_count; i++) {
        const struct compare_side *side = &request->sides[i];
        if (!request->by_algo && i == 0) {
            continue;
        }
        if (request->by_algo) {
            (void)fprintf(stream, "%sstructures of %s, each against ", i > 0 ? "\n" : "",
                          side->label);
            (void)fprintf(stream, "%s%s%s",
                          request->base != NULL ? request->base->algo : "the first",
                          request->base != NULL && request->base->options[0] != '\0' ? ":" : "",
                          request->base != NULL ? request->base->options : "");
        } else {
            (void)fprintf(stream, "%sbase: %s; other: %s", i > 1 ? "\n" : "",
                          request->sides[0].label, side->label);
        }
        (void)fprintf(stream, "%s", markdown ? "\n\n" : "\n");
        struct grid grid;
        fill_comparisons(&grid, comparisons, side);
        (markdown ? grid_write_markdown : grid_write)(&grid, stream);
        grid_free(&grid);
    }
    if (comparisons->difference_count > 0) {
        struct grid grid;
        (void)fprintf(stream, "\ncounts that differ:\n%s", markdown ? "\n" : "");
        fill_differences(&grid, comparisons);
        (markdown ? grid_write_markdown : grid_write)(&grid, stream);
        grid_free(&grid);
    }
    print_reasons(comparisons, markdown ? "- " : "  ", stream);
    (void)fputc('\n', stream);
    print_summary(request, comparisons, stream);
}

void compare_print_table(const struct compare_request *request,
                         const struct comparisons *comparisons, FILE *stream)
{
    print_comparisons(request, comparisons, false, stream);
}

void compare_print_markdown(const struct compare_request *request,
                            const struct comparisons *comparisons, FILE *stream)
{
    print_comparisons(request, comparisons, true, stream);
    for (size_t i = 0; i < comparisons->warning_count; i++) {
        (void)fprintf(stream, "%s- Warning: ", i == 0 ? "\n" : "");
        write_escaped(comparisons->warnings[i], stream);
        (void)fputc('\n', stream);
    }
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Counts are exact. */
static json_t *count_json(double value)
{
    return value == floor(value) ? json_integer((json_int_t)value) : number(value);
}

static json_t *comparison_json(const struct comparison *item)
{
    bool judged = item->status == COMPARE_JUDGED;
    const struct judgement *judgement = &item->judgement;
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "set", item->other_side->label,
        "trace", item->workload, "algo", item->algo, "options", item->options, "base_algo",
        item->base_algo, "base_options", item->base_options, "metric", item->metric, "status",
        compare_status_word(item->status), "reason", item->reason, "method",
        compare_method_word(item->method), "verdict", compare_verdict_word(item->verdict));
    if (object == NULL) {
        return NULL;
    }
    (void)json_object_set_new(object, "base_runs", json_integer((json_int_t)item->base_runs));
    (void)json_object_set_new(object, "other_runs", json_integer((json_int_t)item->other_runs));
    (void)json_object_set_new(object, "base_median", number(item->base_median));
    (void)json_object_set_new(object, "other_median", number(item->other_median));
    (void)json_object_set_new(object, "min_effect",
                              judged ? number(judgement->min_effect) : json_null());
    (void)json_object_set_new(object, "drift", judged ? number(judgement->drift) : json_null());
    (void)json_object_set_new(
        object, "disturbed", judged ? json_integer((json_int_t)judgement->disturbed) : json_null());
    (void)json_object_set_new(object, "change", judged ? number(judgement->change) : json_null());
    bool interval = judged && isfinite(judgement->high);
    (void)json_object_set_new(object, "low", interval ? number(judgement->low) : json_null());
    (void)json_object_set_new(object, "high", interval ? number(judgement->high) : json_null());
    (void)json_object_set_new(object, "p", judged ? number(judgement->p) : json_null());
    (void)json_object_set_new(object, "p_adjusted",
                              judged ? number(item->p_adjusted) : json_null());
    return object;
}

static json_t *summary_json(const struct comparisons *comparisons)
{
    json_t *summary = json_object();
    for (int v = VERDICT_NONE + 1; v < VERDICTS; v++) {
        enum compare_verdict verdict = (enum compare_verdict)v;
        (void)json_object_set_new(
            summary, compare_verdict_word(verdict),
            json_integer((json_int_t)compare_count_verdicts(comparisons, verdict)));
    }
    for (int s = COMPARE_JUDGED + 1; s < COMPARE_STATUSES; s++) {
        enum compare_status status = (enum compare_status)s;
        (void)json_object_set_new(
            summary, compare_status_word(status),
            json_integer((json_int_t)compare_count_status(comparisons, status)));
    }
    (void)json_object_set_new(summary, "equal_counts",
                              json_integer((json_int_t)comparisons->equal_counts));
    return summary;
}

bool compare_print_json(const struct compare_request *request,
                        const struct comparisons *comparisons, FILE *stream)
{
    json_t *warnings = json_array();
    json_t *items = json_array();
    json_t *counts = json_array();
    bool done = true;
    for (size_t i = 0; i < comparisons->warning_count; i++) {
        done = done && json_array_append_new(warnings, json_string(comparisons->warnings[i])) == 0;
    }
    for (size_t i = 0; i < comparisons->count; i++) {
        done = done && json_array_append_new(items, comparison_json(&comparisons->items[i])) == 0;
    }
    for (size_t i = 0; i < comparisons->difference_count; i++) {
        const struct compare_difference *difference = &comparisons->differences[i];
        done = done && json_array_append_new(
                           counts, json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "set",
                                             difference->other_side->label, "trace",
                                             difference->workload, "algo", difference->algo,
                                             "options", difference->options, "count",
                                             difference->name, "base", count_json(difference->base),
                                             "other", count_json(difference->other))) == 0;
    }
    json_t *whole =
        json_pack("{s:i, s:s, s:f, s:s, s:o, s:o, s:o, s:o}", "schema", COMPARE_SCHEMA, "base",
                  request->sides[0].label, "confidence", request->confidence, "correction",
                  compare_correction_word(request->correction), "warnings", warnings, "comparisons",
                  items, "counts", counts, "summary", summary_json(comparisons));
    done = done && whole != NULL &&
           json_dumpf(whole, stream, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0;
    (void)fputc('\n', stream);
    json_decref(whole);
    return done;
}
