#include "compare_print.h"

#include "figures.h"
#include "json_text.h"
#include "memory.h"
#include "results.h"
#include "standard_files.h"
#include "terminal.h"
#include "text_table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Raised when a name changes its meaning or is removed, not when one is added. */
#define COMPARE_SCHEMA   1

#define WORD(code, word) word,
static const char *const status_words[] = {COMPARE_STATUS_MAP(WORD)};
static const char *const verdict_words[] = {COMPARE_VERDICT_MAP(WORD)};
static const char *const method_words[] = {COMPARE_METHOD_MAP(WORD)};
#undef WORD

static size_t count_verdicts(const struct comparisons *comparisons, enum compare_verdict verdict)
{
    size_t count = 0;
    for (size_t i = 0; i < comparisons->count; i++) {
        count += comparisons->items[i].verdict == verdict;
    }
    return count;
}

static size_t count_status(const struct comparisons *comparisons, enum compare_status status)
{
    size_t count = 0;
    for (size_t i = 0; i < comparisons->count; i++) {
        count += comparisons->items[i].status == status;
    }
    return count;
}

/* --- cells ----------------------------------------------------------------------------------- */

static void structure_name(char *text, size_t bytes, const char *algo, const char *options)
{
    (void)snprintf(text, bytes, "%s%s%s", algo[0] != '\0' ? algo : "-",
                   options[0] != '\0' ? ":" : "", options);
}

static void add_change(struct text_table *table, double change)
{
    if (isfinite(change)) {
        text_table_add(table, "%+.1f %%", 100 * change);
    } else {
        text_table_add(table, "-");
    }
}

static void add_interval(struct text_table *table, const struct comparison *item)
{
    if (item->status == COMPARE_JUDGED && isfinite(item->judgement.high)) {
        text_table_add(table, "%+.1f .. %+.1f %%", 100 * item->judgement.low,
                       100 * item->judgement.high);
    } else {
        text_table_add(table, "-");
    }
}

static void add_p(struct text_table *table, const struct comparison *item)
{
    if (item->status != COMPARE_JUDGED) {
        text_table_add(table, "-");
    } else if (item->p_adjusted < 0.0001) {
        text_table_add(table, "<0.0001");
    } else {
        text_table_add(table, "%.4f", item->p_adjusted);
    }
}

static void add_runs(struct text_table *table, const struct comparison *item)
{
    char quiet[64] = "";
    if (item->status == COMPARE_JUDGED && item->judgement.disturbed > 0) {
        (void)snprintf(quiet, sizeof quiet, ", %zu quiet", item->base_values);
    }
    switch (item->method) {
    case METHOD_PAIRED_RUNS:
        text_table_add(table, "%zu pairs%s", item->base_runs, quiet);
        break;
    case METHOD_PAIRED_SESSIONS:
        text_table_add(table, "%zu pairs of sessions%s",
                       item->base_values + item->judgement.disturbed, quiet);
        break;
    case METHOD_APART:
        text_table_add(table, "%zu, %zu apart", item->base_runs, item->other_runs);
        break;
    default:
        text_table_add(table, "-");
        break;
    }
}

static const char *verdict_or_status(const struct comparison *item)
{
    return item->status == COMPARE_JUDGED ? verdict_words[item->verdict]
                                          : status_words[item->status];
}

/* --- tables ---------------------------------------------------------------------------------- */

/* One comparison in each row: everything of one other set, or of one set by structure. */
static void fill_comparisons(struct text_table *table, const struct comparisons *comparisons,
                             const struct compare_side *other)
{
    static const char *const headings[] = {"trace",  "structure", "metric", "base", "other",
                                           "change", "interval",  "p",      "runs", "verdict"};
    *table = (struct text_table){.columns = sizeof headings / sizeof headings[0]};
    for (size_t i = 0; i < table->columns; i++) {
        table->right[i] = i >= 3 && i <= 7;
        text_table_add(table, "%s", headings[i]);
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
        text_table_add(table, "%s", item->workload);
        text_table_add(table, "%s%s%s", algo, same ? "" : " vs ", same ? "" : base_algo);
        text_table_add(table, "%s", item->metric[0] != '\0' ? item->metric : "-");
        text_table_add(table, "%s", number_text(item->base_median, FIGURE));
        text_table_add(table, "%s", number_text(item->other_median, FIGURE));
        add_change(table, item->status == COMPARE_JUDGED ? item->judgement.change : NAN);
        add_interval(table, item);
        add_p(table, item);
        add_runs(table, item);
        text_table_add(table, "%s", verdict_or_status(item));
    }
}

static void fill_differences(struct text_table *table, const struct comparisons *comparisons)
{
    static const char *const headings[] = {"trace", "structure", "count",
                                           "base",  "other",     "difference"};
    *table = (struct text_table){.columns = sizeof headings / sizeof headings[0]};
    for (size_t i = 0; i < table->columns; i++) {
        table->right[i] = i >= 3;
        text_table_add(table, "%s", headings[i]);
    }
    for (size_t i = 0; i < comparisons->difference_count; i++) {
        const struct compare_difference *difference = &comparisons->differences[i];
        char algo[520];
        structure_name(algo, sizeof algo, difference->algo, difference->options);
        text_table_add(table, "%s", difference->workload);
        text_table_add(table, "%s", algo);
        text_table_add(table, "%s", difference->name);
        text_table_add(table, "%s", number_text(difference->base, FIGURE));
        text_table_add(table, "%s", number_text(difference->other, FIGURE));
        double by = difference->other - difference->base;
        text_table_add(table, by == floor(by) ? "%+.0f" : "%+.6g", by);
    }
}

static void print_summary(const struct compare_request *request,
                          const struct comparisons *comparisons, FILE *stream)
{
    static const enum compare_verdict verdicts[] = {VERDICT_FASTER, VERDICT_SLOWER,
                                                    VERDICT_CANNOT_TELL};
    const char *separator = "";
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        (void)fprintf(stream, "%s%zu %s", separator, count_verdicts(comparisons, verdicts[i]),
                      verdict_words[verdicts[i]]);
        separator = ", ";
    }
    size_t unpunctual = count_verdicts(comparisons, VERDICT_NOT_PUNCTUAL);
    if (unpunctual > 0) {
        (void)fprintf(stream, ", %zu %s", unpunctual, verdict_words[VERDICT_NOT_PUNCTUAL]);
    }
    for (int s = COMPARE_JUDGED + 1; s < COMPARE_STATUSES; s++) {
        size_t count = count_status(comparisons, (enum compare_status)s);
        if (count > 0) {
            (void)fprintf(stream, ", %zu %s", count, status_words[s]);
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

/* A line's text as Markdown or for a terminal, where names in it stand for themselves. */
__attribute__((format(printf, 3, 4))) static void print_text(bool markdown, FILE *stream,
                                                             const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = memory_format_list(format, arguments);
    va_end(arguments);
    if (markdown) {
        text_write_markdown(text, stream);
    } else {
        standard_files_say(stream, text);
    }
    free(text);
}

/* How many comparisons have the reason of this one, if it is the first of them; else 0. */
static size_t count_reason(const struct comparisons *comparisons, size_t index)
{
    const struct comparison *item = &comparisons->items[index];
    size_t count = 0;
    for (size_t i = 0; i < comparisons->count; i++) {
        const struct comparison *other = &comparisons->items[i];
        bool same = strcmp(other->reason, item->reason) == 0 && other->verdict == item->verdict &&
                    other->status == item->status;
        if (same && i < index) {
            return 0;
        }
        count += same;
    }
    return item->reason[0] != '\0' ? count : 0;
}

/* Why there is no verdict, each reason once. */
static void print_reasons(const struct comparisons *comparisons, bool markdown, FILE *stream)
{
    bool heading = false;
    for (size_t i = 0; i < comparisons->count; i++) {
        const struct comparison *item = &comparisons->items[i];
        size_t count = count_reason(comparisons, i);
        if (count == 0) {
            continue;
        }
        char algo[520];
        structure_name(algo, sizeof algo, item->algo, item->options);
        (void)fputs(heading    ? ""
                    : markdown ? "\nwhy there is no verdict:\n\n"
                               : "\nwhy there is no verdict:\n",
                    stream);
        heading = true;
        (void)fputs(markdown ? "- " : "  ", stream);
        if (count > 1) {
            (void)fprintf(stream, "%zu comparisons: ", count);
        } else {
            print_text(markdown, stream, "%s, %s%s%s: ", item->workload, algo,
                       item->metric[0] != '\0' ? ", " : "", item->metric);
        }
        print_text(markdown, stream, "%s: %s", verdict_or_status(item), item->reason);
        (void)fputc('\n', stream);
    }
}

/* A line for each pair of sets that has comparisons. */
static void print_comparisons(const struct compare_request *request,
                              const struct comparisons *comparisons, bool markdown, FILE *stream)
{
    for (size_t i = 0; i < request->side_count; i++) {
        const struct compare_side *side = &request->sides[i];
        if (!request->by_algo && i == 0) {
            continue;
        }
        if (request->by_algo) {
            char base[520] = "the first that is punctual";
            if (request->base != NULL) {
                structure_name(base, sizeof base, request->base->algo, request->base->options);
            }
            (void)fputs(i > 0 ? "\n" : "", stream);
            print_text(markdown, stream, "structures of %s, each against %s", side->label, base);
        } else {
            (void)fputs(i > 1 ? "\n" : "", stream);
            print_text(markdown, stream, "base: %s; other: %s", request->sides[0].label,
                       side->label);
        }
        (void)fprintf(stream, "%s", markdown ? "\n\n" : "\n");
        struct text_table table;
        fill_comparisons(&table, comparisons, side);
        (markdown ? text_table_write_markdown : text_table_write)(&table, stream);
        text_table_free(&table);
    }
    if (comparisons->difference_count > 0) {
        struct text_table table;
        (void)fprintf(stream, "\ncounts that differ:\n%s", markdown ? "\n" : "");
        fill_differences(&table, comparisons);
        (markdown ? text_table_write_markdown : text_table_write)(&table, stream);
        text_table_free(&table);
    }
    struct wrapped lines;
    FILE *wrapped = wrapped_begin(&lines, stream, 2);
    print_reasons(comparisons, markdown, wrapped);
    (void)fputc('\n', wrapped);
    print_summary(request, comparisons, wrapped);
    wrapped_end(&lines);
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
        text_write_markdown(comparisons->warnings[i], stream);
        (void)fputc('\n', stream);
    }
}

/* --- JSON ------------------------------------------------------------------------------------ */

/* Counts are exact. */
static json_t *count_json(double value)
{
    return value == floor(value) ? json_integer((json_int_t)value) : json_real_or_null(value);
}

static json_t *number_if(bool there, double value)
{
    return there ? json_real_or_null(value) : json_null();
}

static json_t *comparison_json(const struct comparison *item)
{
    bool judged = item->status == COMPARE_JUDGED;
    const struct judgement *judgement = &item->judgement;
    bool interval = judged && isfinite(judgement->high);
    return json_pack(
        "{s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o, s:o, s:o, s:o}",
        "set", json_text(item->other_side->label), "trace", item->workload, "algo", item->algo,
        "options", item->options, "base_algo", item->base_algo, "base_options", item->base_options,
        "metric", item->metric, "status", status_words[item->status], "reason",
        json_text(item->reason), "method", method_words[item->method], "verdict",
        verdict_words[item->verdict], "base_runs", (json_int_t)item->base_runs, "other_runs",
        (json_int_t)item->other_runs, "base_median", json_real_or_null(item->base_median),
        "other_median", json_real_or_null(item->other_median), "min_effect",
        number_if(judged, judgement->min_effect), "drift", number_if(judged, judgement->drift),
        "disturbed", judged ? json_integer((json_int_t)judgement->disturbed) : json_null(),
        "change", number_if(judged, judgement->change), "low", number_if(interval, judgement->low),
        "high", number_if(interval, judgement->high), "p", number_if(judged, judgement->p),
        "p_adjusted", number_if(judged, item->p_adjusted));
}

static json_t *summary_json(const struct comparisons *comparisons)
{
    json_t *summary = json_object();
    for (int v = VERDICT_NONE + 1; v < VERDICTS; v++) {
        enum compare_verdict verdict = (enum compare_verdict)v;
        (void)json_object_set_new(summary, verdict_words[verdict],
                                  json_integer((json_int_t)count_verdicts(comparisons, verdict)));
    }
    for (int s = COMPARE_JUDGED + 1; s < COMPARE_STATUSES; s++) {
        enum compare_status status = (enum compare_status)s;
        (void)json_object_set_new(summary, status_words[status],
                                  json_integer((json_int_t)count_status(comparisons, status)));
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
        done = done && json_array_append_new(warnings, json_text(comparisons->warnings[i])) == 0;
    }
    for (size_t i = 0; i < comparisons->count; i++) {
        done = done && json_array_append_new(items, comparison_json(&comparisons->items[i])) == 0;
    }
    for (size_t i = 0; i < comparisons->difference_count; i++) {
        const struct compare_difference *difference = &comparisons->differences[i];
        done = done && json_array_append_new(
                           counts, json_pack("{s:o, s:s, s:s, s:s, s:s, s:o, s:o}", "set",
                                             json_text(difference->other_side->label), "trace",
                                             difference->workload, "algo", difference->algo,
                                             "options", difference->options, "count",
                                             difference->name, "base", count_json(difference->base),
                                             "other", count_json(difference->other))) == 0;
    }
    json_t *whole =
        json_pack("{s:i, s:o, s:f, s:s, s:o, s:o, s:o, s:o}", "schema", COMPARE_SCHEMA, "base",
                  json_text(request->sides[0].label), "confidence", request->confidence,
                  "correction", compare_correction_word(request->correction), "warnings", warnings,
                  "comparisons", items, "counts", counts, "summary", summary_json(comparisons));
    done = done && whole != NULL &&
           json_dumpf(whole, stream, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0;
    (void)fputc('\n', stream);
    json_decref(whole);
    return done;
}
