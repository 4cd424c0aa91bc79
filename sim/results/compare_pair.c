/* One pair of measurements: whether they can be judged, how their runs are paired, and the
 * result. */
#include "compare_work.h"

#include "memory.h"
#include "statistics.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct row *measured_row(const struct measured *measured, size_t session)
{
    return result_session_find(&measured->side->set->sessions[session], measured->kind,
                               measured->workload, measured->algo, measured->options);
}

const struct row *measured_first_row(const struct measured *measured)
{
    const struct row *row = NULL;
    for (size_t s = 0; s < measured->side->set->count && row == NULL; s++) {
        row = measured_row(measured, s);
    }
    return row;
}

struct comparison *comparison_add(struct compare_work *work, const struct measured *base,
                                  const struct measured *other)
{
    struct comparisons *out = work->out;
    out->items = memory_resize(out->items, out->count + 1, sizeof *out->items);
    struct comparison *item = &out->items[out->count++];
    *item = (struct comparison){.base_side = base->side,
                                .other_side = other->side,
                                .kind = other->kind,
                                .workload = other->workload,
                                .algo = other->algo,
                                .options = other->options,
                                .base_algo = base->algo,
                                .base_options = base->options,
                                .metric = "",
                                .base_median = NAN,
                                .other_median = NAN,
                                .p_adjusted = 1};
    item->judgement.p = 1;
    return item;
}

void comparison_set_status(struct comparison *item, enum compare_status status, const char *format,
                           ...)
{
    va_list list;
    va_start(list, format);
    (void)vsnprintf(item->reason, sizeof item->reason, format, list);
    va_end(list);
    item->status = status;
}

/* --- runs of one side ------------------------------------------------------------------------ */

/* The single runs of one figure, session by session. */
struct series {
    double *values;
    size_t *run_counts; /* of each session */
    size_t sessions;
    size_t runs;
};

static void series_free(struct series *series)
{
    free(series->values);
    free(series->run_counts);
}

/* The single runs of a figure in one session. */
static struct samples runs_of(const struct measured *measured, size_t session, const char *metric)
{
    const struct row *row = measured_row(measured, session);
    int column = row_kind_column(measured->kind, metric);
    return row != NULL && column >= 0 ? row->samples[column] : (struct samples){0};
}

static void series_read(struct series *series, const struct measured *measured, const char *metric)
{
    size_t sessions = measured->side->set->count;
    *series = (struct series){.run_counts = memory_new(sessions + 1, sizeof(size_t))};
    for (size_t s = 0; s < sessions; s++) {
        struct samples runs = runs_of(measured, s, metric);
        if (runs.count > 0) {
            series->values =
                memory_resize(series->values, series->runs + runs.count, sizeof *series->values);
            memcpy(series->values + series->runs, runs.values, runs.count * sizeof *runs.values);
            series->runs += runs.count;
            series->run_counts[series->sessions++] = runs.count;
        }
    }
}

/* Each session becomes one value: its median. */
static void series_condense(struct series *series)
{
    const double *from = series->values;
    for (size_t s = 0; s < series->sessions; s++) {
        double median = stats_median(from, series->run_counts[s]);
        from += series->run_counts[s];
        series->values[s] = median;
        series->run_counts[s] = 1;
    }
    series->runs = series->sessions;
}

/* --- how two sides belong together ----------------------------------------------------------- */

/* Return the date of the n-th session of this kind with the measurement; "" if there is none. */
static const char *session_date(const struct measured *measured, size_t n)
{
    for (size_t s = 0; s < measured->side->set->count; s++) {
        if (measured_row(measured, s) != NULL && n-- == 0) {
            const char *date = json_string_value(
                json_object_get(measured->side->set->sessions[s].context, "date"));
            return date != NULL ? date : "";
        }
    }
    return "";
}

/* Whether the n-th sessions of both sides come before the next of either, by their dates. */
static bool took_turns(const struct measured *base, const struct measured *other, size_t sessions)
{
    for (size_t n = 0; n < sessions; n++) {
        const char *base_date = session_date(base, n);
        const char *other_date = session_date(other, n);
        if (base_date[0] == '\0' || other_date[0] == '\0') {
            return false;
        }
        if (n + 1 == sessions) {
            break;
        }
        const char *latest = strcmp(base_date, other_date) > 0 ? base_date : other_date;
        if (strcmp(latest, session_date(base, n + 1)) > 0 ||
            strcmp(latest, session_date(other, n + 1)) > 0) {
            return false;
        }
    }
    return true;
}

static enum compare_method choose_method(const struct measured *base,
                                         const struct series *base_runs,
                                         const struct measured *other,
                                         const struct series *other_runs, bool in_turn)
{
    bool alike = base_runs->sessions == other_runs->sessions;
    if (base->side->set == other->side->set && base->kind == &replay_kind && alike &&
        memcmp(base_runs->run_counts, other_runs->run_counts,
               base_runs->sessions * sizeof *base_runs->run_counts) == 0) {
        return METHOD_PAIRED_RUNS;
    }
    if (alike && base_runs->sessions >= JUDGE_RUNS_MIN &&
        (in_turn || took_turns(base, other, base_runs->sessions))) {
        return METHOD_PAIRED_SESSIONS;
    }
    return METHOD_APART;
}

/* --- judging --------------------------------------------------------------------------------- */

static void judge_series(struct compare_work *work, struct comparison *item, struct series *base,
                         struct series *other)
{
    bool sessions = base->sessions >= JUDGE_RUNS_MIN && other->sessions >= JUDGE_RUNS_MIN;
    if (item->method == METHOD_PAIRED_SESSIONS || (item->method == METHOD_APART && sessions)) {
        series_condense(base);
        series_condense(other);
    }
    bool paired = item->method != METHOD_APART;
    double min_effect = work->request->min_effect;
    if (min_effect < 0) {
        bool same_process = item->base_side->set == item->other_side->set;
        item->one_run = !paired && !sessions && !same_process;
        min_effect = paired          ? COMPARE_MIN_EFFECT_PAIRED
                     : item->one_run ? COMPARE_MIN_EFFECT_ONE_RUN
                                     : COMPARE_MIN_EFFECT_APART;
    }
    item->base_values = base->runs;
    item->other_values = other->runs;
    struct judge_settings settings = {.confidence = work->request->confidence,
                                      .min_effect = min_effect};
    if (paired) {
        judge_paired(base->values, other->values, base->runs, &settings, &item->judgement);
    } else {
        judge_unpaired(base->values, base->runs, other->values, other->runs, &settings,
                       &item->judgement);
    }
    switch (item->judgement.obstacle) {
    case JUDGE_CLEAR:
        item->status = COMPARE_JUDGED;
        item->base_values -= item->judgement.disturbed;
        item->other_values -= item->judgement.disturbed;
        break;
    case JUDGE_FEW_RUNS:
        comparison_set_status(
            item, COMPARE_REFUSED,
            "%zu and %zu runs: fewer than %u a side are never called a difference", item->base_runs,
            item->other_runs, JUDGE_RUNS_MIN);
        break;
    case JUDGE_NOT_POSITIVE:
        comparison_set_status(item, COMPARE_REFUSED, "a run has a value that is not positive");
        break;
    }
}

static void judge_metric(struct compare_work *work, const struct measured *base,
                         const struct measured *other, const char *metric, struct comparison *item)
{
    struct series base_runs;
    struct series other_runs;
    series_read(&base_runs, base, metric);
    series_read(&other_runs, other, metric);
    item->metric = metric;
    item->base_runs = base_runs.runs;
    item->other_runs = other_runs.runs;
    item->base_median = stats_median(base_runs.values, base_runs.runs);
    item->other_median = stats_median(other_runs.values, other_runs.runs);
    if (base_runs.runs == 0 || other_runs.runs == 0) {
        comparison_set_status(item, COMPARE_REFUSED, "%s has no single runs of %s",
                              base_runs.runs == 0 ? base->side->label : other->side->label, metric);
    } else {
        item->method = choose_method(base, &base_runs, other, &other_runs, work->request->in_turn);
        judge_series(work, item, &base_runs, &other_runs);
    }
    series_free(&base_runs);
    series_free(&other_runs);
}

/* --- one pair
 * ---------------------------------------------------------------------------------- */

static bool has_runs(const struct measured *measured, const char *metric)
{
    for (size_t s = 0; s < measured->side->set->count; s++) {
        if (runs_of(measured, s, metric).count > 0) {
            return true;
        }
    }
    return false;
}

/* The time that both have, in the order of how little else is in it. */
static const char *default_metric(const struct measured *base, const struct measured *other)
{
    const char *time = base->kind->columns[base->kind->time].name;
    bool both = has_runs(base, time) && has_runs(other, time);
    return both || base->kind != &bench_kind ? time : bench_kind.columns[BENCH_COL_REAL].name;
}

/* The first row of any session that is not ok: one that was omitted, or one that failed. NULL if
 * there is none. */
static const struct row *first_not_ok(const struct measured *measured, bool left_out)
{
    for (size_t s = 0; s < measured->side->set->count; s++) {
        const struct row *row = measured_row(measured, s);
        if (row != NULL && !row_is_ok(row) && row_is_unsupported(row) == left_out) {
            return row;
        }
    }
    return NULL;
}

static bool same_trace(const struct measured *base, const struct measured *other)
{
    const char *checksum = measured_first_row(base)->trace_checksum;
    const struct measured *list[] = {base, other};
    for (int t = 0; t < 2; t++) {
        for (size_t s = 0; s < list[t]->side->set->count; s++) {
            const struct row *row = measured_row(list[t], s);
            if (row != NULL && checksum[0] != '\0' && row->trace_checksum[0] != '\0' &&
                strcmp(row->trace_checksum, checksum) != 0) {
                return false;
            }
        }
    }
    return true;
}

/* Whether one of the two has no meaningful times; sets the comparison's status. A failure is
 * reported before a skipped row, and the base before the other side. */
static bool is_obstructed(struct comparison *item, const struct measured *base,
                          const struct measured *other)
{
    const struct measured *list[] = {base, other};
    for (int i = 0; i < 4; i++) {
        const struct measured *measured = list[i % 2];
        bool left_out = i >= 2;
        const struct row *row = first_not_ok(measured, left_out);
        if (row == NULL) {
            continue;
        }
        const char *status = row_text(row, COL_STATUS);
        const char *reason = row_text(row, measured->kind->reason);
        item->other_failed = !left_out && measured == other;
        /* The reason of a skipped row is a full sentence. */
        bool worded = !left_out || reason[0] == '\0';
        comparison_set_status(
            item, left_out ? COMPARE_LEFT_OUT : COMPARE_FAILED, "%s: %s: %s%s%s",
            measured->side->label, measured->algo[0] != '\0' ? measured->algo : measured->workload,
            worded ? status : "", worded && reason[0] != '\0' ? ": " : "", reason);
        return true;
    }
    if (same_trace(base, other)) {
        return false;
    }
    comparison_set_status(
        item, COMPARE_UNLIKE,
        "the traces have the same name but not the same content (checksums %s, %s)",
        measured_first_row(base)->trace_checksum, measured_first_row(other)->trace_checksum);
    return true;
}

/* --- counts ---------------------------------------------------------------------------------- */

/* Whether a figure depends only on the code and the operations, so that it is equal in every
 * run: expiries, work, wakeups and memory. Bytes of files are not: a library may write them at
 * any time. */
static bool is_count(const char *name)
{
    static const char *const names[] = {
        "events",  "starts",       "restarts",     "stops",        "fired",        "drained",
        "averted", "early",        "late_beyond",  "lost",         "duplicate",    "misordered",
        "wakeups", "idle_wakeups", "lateness_min", "lateness_p50", "lateness_p99", "lateness_max"};
    bool known = strncmp(name, "n_", 2) == 0 ||
                 (strncmp(name, "bytes_", 6) == 0 && strcmp(name, "bytes_durable") != 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !known; i++) {
        known = strcmp(name, names[i]) == 0;
    }
    return known;
}

static void compare_counts(struct compare_work *work, const struct measured *base,
                           const struct measured *other)
{
    struct comparisons *out = work->out;
    for (unsigned c = 0; c < base->kind->count; c++) {
        const char *name = base->kind->columns[c].name;
        double value = row_value(measured_first_row(base), c);
        double other_value = row_value(measured_first_row(other), c);
        if (!is_count(name) || isnan(value) || isnan(other_value)) {
            continue;
        }
        if (value == other_value) {
            out->equal_counts++;
            continue;
        }
        out->differences =
            memory_resize(out->differences, out->difference_count + 1, sizeof *out->differences);
        out->differences[out->difference_count++] =
            (struct compare_difference){.other_side = other->side,
                                        .workload = other->workload,
                                        .algo = other->algo,
                                        .options = other->options,
                                        .base_algo = base->algo,
                                        .base_options = base->options,
                                        .name = name,
                                        .base = value,
                                        .other = other_value};
    }
}

/* --- the pair --------------------------------------------------------------------------------- */

void compare_measured(struct compare_work *work, const struct measured *base,
                      const struct measured *other)
{
    const struct compare_request *request = work->request;
    struct comparison *whole = comparison_add(work, base, other);
    if (is_obstructed(whole, base, other)) {
        return;
    }
    work->out->count--; /* there is one for each metric instead */
    size_t count = request->metric_count > 0 ? request->metric_count : 1;
    for (size_t i = 0; i < count; i++) {
        const char *metric =
            request->metric_count > 0 ? request->metrics[i] : default_metric(base, other);
        if (request->metric_count > 0 && !has_runs(base, metric) && !has_runs(other, metric)) {
            continue;
        }
        judge_metric(work, base, other, metric, comparison_add(work, base, other));
    }
    bool alike = strcmp(base->algo, other->algo) == 0 && strcmp(base->options, other->options) == 0;
    if (alike || request->all_counts) {
        compare_counts(work, base, other);
    }
}
