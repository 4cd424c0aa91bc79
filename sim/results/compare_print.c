/* Comparisons for people (a table, Markdown) and for programs (JSON). */
#include "compare.h"

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
static const char *const correction_words[] = {COMPARE_CORRECTION_MAP(WORD)};
#undef WORD

/* How many comparisons there are of each status, and with each verdict. */
struct tally {
    size_t statuses[COMPARE_STATUSES];
    size_t verdicts[VERDICTS];
};

static struct tally tally_of(const struct comparisons *comparisons)
{
    struct tally tally = {0};
    for (size_t i = 0; i < comparisons->count; i++) {
        tally.statuses[comparisons->items[i].status]++;
        tally.verdicts[comparisons->items[i].verdict]++;
    }
    return tally;
}

/* --- cells ----------------------------------------------------------------------------------- */

static const char *name_of(const struct measured *measured, char text[STRUCTURE_BYTES])
{
    return structure_text(measured->algo, measured->options, text);
}

/* The cells of a judgement: the change, its interval, and the probability. */
static void add_judgement(struct text_table *table, const struct comparison *item)
{
    const struct judgement *judgement = &item->judgement;
    bool judged = item->status == COMPARE_JUDGED;
    text_table_add(table, judged && isfinite(judgement->change) ? "%+.1f %%" : "-",
                   100 * judgement->change);
    text_table_add(table, judged && isfinite(judgement->high) ? "%+.1f .. %+.1f %%" : "-",
                   100 * judgement->low, 100 * judgement->high);
    text_table_add(table,
                   !judged                     ? "-"
                   : item->p_adjusted < 0.0001 ? "<0.0001"
                                               : "%.4f",
                   item->p_adjusted);
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

/* Begin a table of which the columns [from, to) are numbers. */
static struct text_table begin_table(const char *const *headings, size_t columns, size_t from,
                                     size_t to)
{
    struct text_table table = {.columns = columns};
    for (size_t i = 0; i < columns; i++) {
        table.right[i] = i >= from && i < to;
        text_table_add(&table, "%s", headings[i]);
    }
    return table;
}

static void end_table(struct text_table *table, bool markdown, FILE *stream)
{
    (markdown ? text_table_write_markdown : text_table_write)(table, stream);
    text_table_free(table);
}

/* One comparison in each row: everything of one other set, or of one set by structure. */
static void print_table(const struct comparisons *comparisons, const struct compare_side *other,
                        bool markdown, FILE *stream)
{
    static const char *const headings[] = {"trace",  "structure", "metric", "base", "other",
                                           "change", "interval",  "p",      "runs", "verdict"};
    struct text_table table = begin_table(headings, sizeof headings / sizeof headings[0], 3, 8);
    for (size_t i = 0; i < comparisons->count; i++) {
        const struct comparison *item = &comparisons->items[i];
        if (item->other.side != other) {
            continue;
        }
        const char *algo = name_of(&item->other, STRUCTURE);
        const char *base_algo = name_of(&item->base, STRUCTURE);
        bool same = strcmp(algo, base_algo) == 0;
        text_table_add(&table, "%s", item->other.workload);
        text_table_add(&table, "%s%s%s", algo, same ? "" : " vs ", same ? "" : base_algo);
        text_table_add(&table, "%s", item->metric[0] != '\0' ? item->metric : "-");
        text_table_add(&table, "%s", number_text(item->base_median, FIGURE));
        text_table_add(&table, "%s", number_text(item->other_median, FIGURE));
        add_judgement(&table, item);
        add_runs(&table, item);
        text_table_add(&table, "%s", verdict_or_status(item));
    }
    end_table(&table, markdown, stream);
}

static void print_differences(const struct comparisons *comparisons, bool markdown, FILE *stream)
{
    static const char *const headings[] = {"trace", "structure", "count",
                                           "base",  "other",     "difference"};
    struct text_table table = begin_table(headings, sizeof headings / sizeof headings[0], 3, 6);
    for (size_t i = 0; i < comparisons->difference_count; i++) {
        const struct compare_difference *difference = &comparisons->differences[i];
        text_table_add(&table, "%s", difference->measured.workload);
        text_table_add(&table, "%s", name_of(&difference->measured, STRUCTURE));
        text_table_add(&table, "%s", difference->name);
        text_table_add(&table, "%s", number_text(difference->base, FIGURE));
        text_table_add(&table, "%s", number_text(difference->other, FIGURE));
        double by = difference->other - difference->base;
        text_table_add(&table, by == floor(by) ? "%+.0f" : "%+.6g", by);
    }
    end_table(&table, markdown, stream);
}

static void print_summary(const struct comparisons *comparisons, FILE *stream)
{
    const struct compare_request *request = comparisons->request;
    const struct tally tally = tally_of(comparisons);
    for (int v = VERDICT_NONE + 1; v < VERDICTS; v++) {
        if (v != VERDICT_NOT_PUNCTUAL || tally.verdicts[v] > 0) {
            (void)fprintf(stream, "%s%zu %s", v > VERDICT_NONE + 1 ? ", " : "", tally.verdicts[v],
                          verdict_words[v]);
        }
    }
    for (int s = COMPARE_JUDGED + 1; s < COMPARE_STATUSES; s++) {
        if (tally.statuses[s] > 0) {
            (void)fprintf(stream, ", %zu %s", tally.statuses[s], status_words[s]);
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
        (void)fputs(heading    ? ""
                    : markdown ? "\nwhy there is no verdict:\n\n"
                               : "\nwhy there is no verdict:\n",
                    stream);
        heading = true;
        (void)fputs(markdown ? "- " : "  ", stream);
        if (count > 1) {
            (void)fprintf(stream, "%zu comparisons: ", count);
        } else {
            print_text(markdown, stream, "%s, %s%s%s: ", item->other.workload,
                       name_of(&item->other, STRUCTURE), item->metric[0] != '\0' ? ", " : "",
                       item->metric);
        }
        print_text(markdown, stream, "%s: %s", verdict_or_status(item), item->reason);
        (void)fputc('\n', stream);
    }
}

/* Print which sets, or structures of a set, the next table compares. */
static void print_heading(const struct compare_request *request, size_t index, bool markdown,
                          FILE *stream)
{
    const char *label = request->sides[index].label;
    (void)fputs(index > (request->by_algo ? 0 : 1) ? "\n" : "", stream);
    if (request->by_algo) {
        const struct compare_structure *base = request->base;
        print_text(markdown, stream, "structures of %s, each against %s", label,
                   base != NULL ? structure_text(base->algo, base->options, STRUCTURE)
                                : "the first that is punctual");
    } else {
        print_text(markdown, stream, "base: %s; other: %s", request->sides[0].label, label);
    }
    (void)fputs(markdown ? "\n\n" : "\n", stream);
}

void compare_print(const struct comparisons *comparisons, bool markdown, FILE *stream)
{
    const struct compare_request *request = comparisons->request;
    for (size_t i = request->by_algo ? 0 : 1; i < request->side_count; i++) {
        print_heading(request, i, markdown, stream);
        print_table(comparisons, &request->sides[i], markdown, stream);
    }
    if (comparisons->difference_count > 0) {
        (void)fprintf(stream, "\ncounts that differ:\n%s", markdown ? "\n" : "");
        print_differences(comparisons, markdown, stream);
    }
    struct wrapped lines;
    FILE *wrapped = wrapped_begin(&lines, stream, 2);
    print_reasons(comparisons, markdown, wrapped);
    (void)fputc('\n', wrapped);
    print_summary(comparisons, wrapped);
    wrapped_end(&lines);
    for (size_t i = 0; markdown && i < comparisons->warning_count; i++) {
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
        "set", json_text(item->other.side->label), "trace", item->other.workload, "algo",
        item->other.algo, "options", item->other.options, "base_algo", item->base.algo,
        "base_options", item->base.options, "metric", item->metric, "status",
        status_words[item->status], "reason", json_text(item->reason), "method",
        method_words[item->method], "verdict", verdict_words[item->verdict], "base_runs",
        (json_int_t)item->base_runs, "other_runs", (json_int_t)item->other_runs, "base_median",
        json_real_or_null(item->base_median), "other_median", json_real_or_null(item->other_median),
        "min_effect", number_if(judged, judgement->min_effect), "drift",
        number_if(judged, judgement->drift), "disturbed",
        judged ? json_integer((json_int_t)judgement->disturbed) : json_null(), "change",
        number_if(judged, judgement->change), "low", number_if(interval, judgement->low), "high",
        number_if(interval, judgement->high), "p", number_if(judged, judgement->p), "p_adjusted",
        number_if(judged, item->p_adjusted));
}

static json_t *difference_json(const struct compare_difference *difference)
{
    const struct measured *measured = &difference->measured;
    return json_pack("{s:o, s:s, s:s, s:s, s:s, s:o, s:o}", "set", json_text(measured->side->label),
                     "trace", measured->workload, "algo", measured->algo, "options",
                     measured->options, "count", difference->name, "base",
                     count_json(difference->base), "other", count_json(difference->other));
}

static json_t *summary_json(const struct comparisons *comparisons)
{
    const struct tally tally = tally_of(comparisons);
    json_t *summary = json_object();
    for (int v = VERDICT_NONE + 1; v < VERDICTS; v++) {
        (void)json_object_set_new(summary, verdict_words[v],
                                  json_integer((json_int_t)tally.verdicts[v]));
    }
    for (int s = COMPARE_JUDGED + 1; s < COMPARE_STATUSES; s++) {
        (void)json_object_set_new(summary, status_words[s],
                                  json_integer((json_int_t)tally.statuses[s]));
    }
    (void)json_object_set_new(summary, "equal_counts",
                              json_integer((json_int_t)comparisons->equal_counts));
    return summary;
}

bool compare_print_json(const struct comparisons *comparisons, FILE *stream)
{
    const struct compare_request *request = comparisons->request;
    json_t *warnings = json_array();
    json_t *items = json_array();
    json_t *counts = json_array();
    bool done = true;
    for (size_t i = 0; i < comparisons->warning_count; i++) {
        done = json_array_append_new(warnings, json_text(comparisons->warnings[i])) == 0 && done;
    }
    for (size_t i = 0; i < comparisons->count; i++) {
        done = json_array_append_new(items, comparison_json(&comparisons->items[i])) == 0 && done;
    }
    for (size_t i = 0; i < comparisons->difference_count; i++) {
        done = json_array_append_new(counts, difference_json(&comparisons->differences[i])) == 0 &&
               done;
    }
    json_t *whole =
        json_pack("{s:i, s:o, s:f, s:s, s:o, s:o, s:o, s:o}", "schema", COMPARE_SCHEMA, "base",
                  json_text(request->sides[0].label), "confidence", request->confidence,
                  "correction", correction_words[request->correction], "warnings", warnings,
                  "comparisons", items, "counts", counts, "summary", summary_json(comparisons));
    done = done && whole != NULL &&
           json_dumpf(whole, stream, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0;
    (void)fputc('\n', stream);
    json_decref(whole);
    return done;
}
