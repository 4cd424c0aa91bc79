/* Judge pairs: whether they can be judged, how their runs are paired, the verdict on all together,
 * and the lateness that withdraws one. */
#include "compare_work.h"

#include "figures.h"
#include "memory.h"
#include "statistics.h"
#include "trace.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct comparison *comparison_add(struct comparisons *out, const struct measured *base,
                                  const struct measured *other)
{
    out->items = memory_resize(out->items, out->count + 1, sizeof *out->items);
    struct comparison *item = &out->items[out->count++];
    *item = (struct comparison){.base = *base,
                                .other = *other,
                                .metric = "",
                                .base_median = NAN,
                                .other_median = NAN,
                                .judgement = {.p = 1},
                                .p_adjusted = 1};
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

static void judge_series(const struct compare_request *request, struct comparison *item,
                         struct series *base, struct series *other)
{
    bool sessions = base->sessions >= JUDGE_RUNS_MIN && other->sessions >= JUDGE_RUNS_MIN;
    if (item->method == METHOD_PAIRED_SESSIONS || (item->method == METHOD_APART && sessions)) {
        series_condense(base);
        series_condense(other);
    }
    bool paired = item->method != METHOD_APART;
    double min_effect = request->min_effect;
    if (min_effect < 0) {
        bool same_process = item->base.side->set == item->other.side->set;
        item->one_run = !paired && !sessions && !same_process;
        min_effect = paired          ? COMPARE_MIN_EFFECT_PAIRED
                     : item->one_run ? COMPARE_MIN_EFFECT_ONE_RUN
                                     : COMPARE_MIN_EFFECT_APART;
    }
    item->base_values = base->runs;
    item->other_values = other->runs;
    struct judge_settings settings = {.confidence = request->confidence, .min_effect = min_effect};
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

static void judge_metric(const struct compare_request *request, const char *metric,
                         struct comparison *item)
{
    const struct measured *base = &item->base;
    const struct measured *other = &item->other;
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
        item->method = choose_method(base, &base_runs, other, &other_runs, request->in_turn);
        judge_series(request, item, &base_runs, &other_runs);
    }
    series_free(&base_runs);
    series_free(&other_runs);
}

/* --- obstacles ------------------------------------------------------------------------------- */

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
    const char *checksum = base->row->trace_checksum;
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
static bool is_obstructed(struct comparison *item)
{
    const struct measured *base = &item->base;
    const struct measured *other = &item->other;
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
        base->row->trace_checksum, other->row->trace_checksum);
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

static void compare_counts(struct comparisons *out, const struct measured *base,
                           const struct measured *other)
{
    for (unsigned c = 0; c < base->kind->count; c++) {
        const char *name = base->kind->columns[c].name;
        double value = row_value(base->row, c);
        double other_value = row_value(other->row, c);
        if (!is_count(name) || isnan(value) || isnan(other_value)) {
            continue;
        }
        if (value == other_value) {
            out->equal_counts++;
            continue;
        }
        out->differences =
            memory_resize(out->differences, out->difference_count + 1, sizeof *out->differences);
        out->differences[out->difference_count++] = (struct compare_difference){
            .measured = *other, .name = name, .base = value, .other = other_value};
    }
}

/* --- the pair --------------------------------------------------------------------------------- */

void compare_measured(struct comparisons *out, const struct measured *base,
                      const struct measured *other)
{
    const struct compare_request *request = out->request;
    if (is_obstructed(comparison_add(out, base, other))) {
        return;
    }
    out->count--; /* there is one for each metric instead */
    size_t count = request->metric_count > 0 ? request->metric_count : 1;
    for (size_t i = 0; i < count; i++) {
        const char *metric =
            request->metric_count > 0 ? request->metrics[i] : default_metric(base, other);
        if (request->metric_count > 0 && !has_runs(base, metric) && !has_runs(other, metric)) {
            continue;
        }
        judge_metric(request, metric, comparison_add(out, base, other));
    }
    if (measured_same_structure(base, other) || request->all_counts) {
        compare_counts(out, base, other);
    }
}

/* --- lateness -------------------------------------------------------------------------------- */

enum firing_bound measured_bound(const struct comparisons *out, const struct measured *measured)
{
    uint64_t ticks = 0;
    bool known = tolerance_in_ticks(&out->request->max_lateness, measured->tick_ns, &ticks);
    return firing_beyond(&measured->firing, known ? ticks : 0, 0);
}

/* Whether lateness matters between the two. */
static bool is_concerned(const struct comparison *item)
{
    return item->base.kind == &replay_kind && item->base.row != NULL && item->other.row != NULL &&
           !measured_same_structure(&item->base, &item->other);
}

/* The frame has the expiries of an exact structure of the same set, if there is one. */
static struct firing_frame frame_of(const struct measured *measured)
{
    const struct result_set *set = measured->side->set;
    struct firing_frame frame = {
        .tick_ns = measured->tick_ns, .exact_fired = NAN, .duration = plain_duration_text};
    for (size_t s = 0; s < set->count && isnan(frame.exact_fired); s++) {
        if (set->sessions[s].results.kind == &replay_kind) {
            frame.exact_fired = firing_exact_fired(&set->sessions[s].results, measured->row);
        }
    }
    return frame;
}

/* Explain how late the faster structure is, which work it skips, and which tolerance would accept
 * it. */
static void explain_lateness(struct comparison *item, const struct measured *winner,
                             enum firing_bound bound)
{
    char lateness[FIRING_BYTES];
    char share[FIRING_BYTES] = "";
    char remedy[64] = "";
    struct firing_frame frame = frame_of(winner);
    double needed = firing_lateness(&winner->firing);
    if (bound == FIRING_LATE && isfinite(needed)) {
        (void)snprintf(remedy, sizeof remedy, "; --max-lateness %.0f allows it", needed);
    }
    (void)firing_lateness_words(&winner->firing, &frame, lateness);
    if (!isnan(winner->firing.fired)) {
        (void)firing_share_words(&winner->firing, &frame, share);
    }
    (void)snprintf(item->reason, sizeof item->reason, "%s takes less, and fires %s%s%s%s",
                   structure_text(winner->algo, winner->options, STRUCTURE), share,
                   share[0] != '\0' ? ", " : "", lateness, remedy);
}

/* The one of a comparison that takes less; NULL if there is none, or lateness has no say. */
static const struct measured *find_winner(const struct comparison *item)
{
    return !is_concerned(item)               ? NULL
           : item->verdict == VERDICT_SLOWER ? &item->base
           : item->verdict == VERDICT_FASTER ? &item->other
                                             : NULL;
}

/* Withdraw the verdict if the faster of two different structures is outside the tolerance and the
 * other is not. */
static void apply_lateness(const struct comparisons *out, struct comparison *item)
{
    const struct measured *winner = find_winner(item);
    const struct measured *loser = winner == &item->base ? &item->other : &item->base;
    if (winner != NULL && measured_bound(out, winner) != FIRING_WITHIN &&
        measured_bound(out, loser) == FIRING_WITHIN) {
        item->verdict = VERDICT_NOT_PUNCTUAL;
        explain_lateness(item, winner, measured_bound(out, winner));
    }
}

/* --- verdicts, corrected for the number of comparisons --------------------------------------- */

/* Whether larger values of a figure are better: of rates per second. */
static bool is_rate(const char *metric)
{
    return strstr(metric, "_per_s") != NULL;
}

double compare_slowdown(const struct comparison *comparison)
{
    double change = comparison->judgement.change;
    return is_rate(comparison->metric) ? 1 / (1 + change) - 1 : change;
}

/* Return the smallest p-value possible with this number of values. */
static double least_p(enum compare_method method, size_t base_values, size_t other_values)
{
    return method == METHOD_APART ? stats_least_unpaired_p(base_values, other_values)
                                  : stats_least_paired_p(base_values);
}

/* Why a verdict was out of reach, if it was. */
static void explain_uncertainty(struct comparison *item, size_t family, double p_max)
{
    double most = p_max / (double)family;
    if (least_p(item->method, item->base_values, item->other_values) > most) {
        size_t needed = JUDGE_RUNS_MIN;
        while (needed < 1000 && least_p(item->method, needed, needed) > most) {
            needed++;
        }
        (void)snprintf(item->reason, sizeof item->reason,
                       "among %zu comparisons %zu %s cannot show any difference; it takes %zu (%s)",
                       family, item->base_values,
                       item->method == METHOD_APART ? "values a side" : "pairs", needed,
                       item->method == METHOD_PAIRED_SESSIONS ? "--rounds"
                       : item->other.kind == &bench_kind      ? "--benchmark_repetitions"
                                                              : "--runs");
    } else if (item->one_run) {
        (void)snprintf(item->reason, sizeof item->reason,
                       "measured apart, one run a side: only a difference above %.0f %% is "
                       "significant; --command measures in turn",
                       100 * COMPARE_MIN_EFFECT_ONE_RUN);
    } else if (item->judgement.drift > 0) {
        (void)snprintf(item->reason, sizeof item->reason,
                       "the runs are in no random order, and differ by up to %.1f %% among "
                       "themselves; only a larger difference would be significant%s",
                       100 * item->judgement.drift,
                       item->method == METHOD_APART ? " (--command measures in turn)" : "");
    }
}

static void give_verdict(struct comparison *item, const struct compare_request *request,
                         size_t judged)
{
    double p_max = 1 - request->confidence;
    if (item->p_adjusted <= p_max) {
        item->verdict = compare_slowdown(item) > 0 ? VERDICT_SLOWER : VERDICT_FASTER;
    } else {
        item->verdict = VERDICT_CANNOT_TELL;
        explain_uncertainty(item, request->correction == CORRECTION_HOLM ? judged : 1, p_max);
    }
}

void compare_give_verdicts(struct comparisons *out)
{
    double *p = memory_new(out->count + 1, sizeof *p);
    double *adjusted = memory_new(out->count + 1, sizeof *adjusted);
    for (size_t i = 0; i < out->count; i++) {
        if (out->items[i].status == COMPARE_JUDGED) {
            p[out->judged++] = out->items[i].judgement.p;
        }
    }
    switch (out->request->correction) {
    case CORRECTION_HOLM:
        stats_holm(p, out->judged, adjusted);
        break;
    case CORRECTION_BH:
        stats_benjamini_hochberg(p, out->judged, adjusted);
        break;
    default:
        memcpy(adjusted, p, out->judged * sizeof *p);
        break;
    }
    size_t at = 0;
    for (size_t i = 0; i < out->count; i++) {
        if (out->items[i].status == COMPARE_JUDGED) {
            out->items[i].p_adjusted = adjusted[at++];
            give_verdict(&out->items[i], out->request, out->judged);
            apply_lateness(out, &out->items[i]);
        }
    }
    free(p);
    free(adjusted);
}

/* Warn about a winner that skips work because its lateness is tolerated. */
static void warn_of_winner(struct comparisons *out, const struct comparison *item)
{
    char undone[FIRING_BYTES] = "";
    const struct measured *winner = find_winner(item);
    if (winner != NULL) {
        struct firing_frame frame = frame_of(winner);
        (void)firing_undone_words(&winner->firing, &frame, undone);
    }
    if (undone[0] != '\0') {
        compare_warn(out, "%s: %s takes less; of what exact structures fire: %s", winner->workload,
                     structure_text(winner->algo, winner->options, STRUCTURE), undone);
    }
}

static bool warn_of_measured(struct comparisons *out, const struct measured *measured,
                             struct error *error)
{
    uint64_t ticks = 0;
    if (!tolerance_in_ticks(&out->request->max_lateness, measured->tick_ns, &ticks)) {
        return error_set(error,
                         "%s: does not say how long a tick of %s is; --max-lateness then has to be "
                         "in ticks",
                         measured->side->label, measured->workload);
    }
    if (firing_is_measured_only(&measured->firing)) {
        compare_warn(out,
                     "%s does not say how late its structures promise to be at most: how late they "
                     "were stands for it",
                     measured->side->label);
    }
    if (json_is_true(json_object_get(measured->trace, "open_loop")) &&
        !firing_is_exact(&measured->firing)) {
        compare_warn(out, "%s: " TRACE_OPEN_LOOP_NOTE, measured->workload);
    }
    return true;
}

bool compare_warn_of_lateness(struct comparisons *out, struct error *error)
{
    for (size_t i = 0; i < out->count; i++) {
        const struct comparison *item = &out->items[i];
        warn_of_winner(out, item);
        if (is_concerned(item) && (!warn_of_measured(out, &item->base, error) ||
                                   !warn_of_measured(out, &item->other, error))) {
            return false;
        }
    }
    return true;
}
