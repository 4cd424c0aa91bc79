#include "compare.h"

#include "statistics.h"

#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD(code, word) word,
static const char *const status_words[] = {COMPARE_STATUS_MAP(WORD)};
static const char *const verdict_words[] = {COMPARE_VERDICT_MAP(WORD)};
static const char *const method_words[] = {COMPARE_METHOD_MAP(WORD)};
static const char *const correction_words[] = {COMPARE_CORRECTION_MAP(WORD)};
#undef WORD

const char *compare_status_word(enum compare_status status)
{
    return status_words[status];
}

const char *compare_verdict_word(enum compare_verdict verdict)
{
    return verdict_words[verdict];
}

const char *compare_method_word(enum compare_method method)
{
    return method_words[method];
}

const char *compare_correction_word(enum compare_correction correction)
{
    return correction_words[correction];
}

bool compare_structure_parse(struct compare_structure *structure, const char *text,
                             struct error *error)
{
    size_t length = strcspn(text, ":");
    const char *options = text[length] == ':' ? text + length + 1 : "";
    if (length == 0 || length >= sizeof structure->algo ||
        strlen(options) >= sizeof structure->options) {
        return error_set(error, "'%s' is not the name of a structure", text);
    }
    (void)snprintf(structure->algo, sizeof structure->algo, "%.*s", (int)length, text);
    (void)snprintf(structure->options, sizeof structure->options, "%s", options);
    return true;
}

bool compare_is_rate(const char *metric)
{
    return strstr(metric, "_per_s") != NULL;
}

double compare_slowdown(const struct comparison *comparison)
{
    double change = comparison->judgement.change;
    return compare_is_rate(comparison->metric) ? 1 / (1 + change) - 1 : change;
}

/* --- what a comparison is made with ---------------------------------------------------------- */

struct work {
    const struct compare_request *request;
    struct comparisons *out;
    struct error *error;
};

__attribute__((format(printf, 2, 3))) static bool warn(struct work *work, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    struct comparisons *out = work->out;
    for (size_t i = 0; i < out->warning_count; i++) {
        if (strcmp(out->warnings[i], text) == 0) {
            return true;
        }
    }
    char **warnings =
        (char **)realloc((void *)out->warnings, (out->warning_count + 1) * sizeof *warnings);
    char *copy = strdup(text);
    out->warnings = warnings != NULL ? warnings : out->warnings;
    if (warnings == NULL || copy == NULL) {
        free(copy);
        return error_set(work->error, "out of memory");
    }
    out->warnings[out->warning_count++] = copy;
    return true;
}

static struct comparison *add_comparison(struct work *work)
{
    struct comparisons *out = work->out;
    struct comparison *items = realloc(out->items, (out->count + 1) * sizeof *items);
    if (items == NULL) {
        (void)error_set(work->error, "out of memory");
        return NULL;
    }
    out->items = items;
    struct comparison *item = &items[out->count++];
    *item =
        (struct comparison){.metric = "", .base_median = NAN, .other_median = NAN, .p_adjusted = 1};
    item->judgement.p = 1;
    return item;
}

/* Refuses a comparison, or says what is wrong with it. */
__attribute__((format(printf, 3, 4))) static void
set_status(struct comparison *item, enum compare_status status, const char *format, ...)
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

/* One thing measured on one side: the same entry in each session that has it. */
struct thing {
    const struct compare_side *side;
    enum result_kind kind;
    const char *workload;
    const char *algo;
    const char *options;
};

static const struct result_entry *entry_of(const struct thing *thing, size_t session)
{
    return result_session_find(&thing->side->set->sessions[session], thing->kind, thing->workload,
                               thing->algo, thing->options);
}

static bool series_read(struct series *series, const struct thing *thing, const char *metric,
                        struct error *error)
{
    const struct result_set *set = thing->side->set;
    *series = (struct series){.run_counts = calloc(set->count + 1, sizeof(size_t))};
    size_t room = 0;
    for (size_t s = 0; s < set->count; s++) {
        const struct result_entry *entry = entry_of(thing, s);
        room += entry != NULL ? result_entry_runs(&set->sessions[s], entry, metric) : 0;
    }
    series->values = calloc(room + 1, sizeof *series->values);
    if (series->values == NULL || series->run_counts == NULL) {
        return error_set(error, "out of memory");
    }
    for (size_t s = 0; s < set->count; s++) {
        const struct result_entry *entry = entry_of(thing, s);
        size_t runs = entry != NULL ? result_entry_runs(&set->sessions[s], entry, metric) : 0;
        for (size_t i = 0; i < runs; i++) {
            series->values[series->runs++] = result_entry_run(&set->sessions[s], entry, metric, i);
        }
        if (runs > 0) {
            series->run_counts[series->sessions++] = runs;
        }
    }
    return true;
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

/* The date of the n-th session of this kind that has the thing; "" if there is none. */
static const char *session_date(const struct thing *thing, size_t n)
{
    for (size_t s = 0; s < thing->side->set->count; s++) {
        if (entry_of(thing, s) != NULL && n-- == 0) {
            const char *date =
                json_string_value(json_object_get(thing->side->set->sessions[s].context, "date"));
            return date != NULL ? date : "";
        }
    }
    return "";
}

/* Whether the n-th sessions of both sides come before the next of either, by their dates. */
static bool took_turns(const struct thing *base, const struct thing *other, size_t sessions)
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

static enum compare_method choose_method(const struct thing *base, const struct series *base_runs,
                                         const struct thing *other, const struct series *other_runs,
                                         bool in_turn)
{
    bool alike = base_runs->sessions == other_runs->sessions;
    if (base->side->set == other->side->set && base->kind == RESULT_SIM && alike &&
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

static bool judge_series(struct work *work, struct comparison *item, struct series *base,
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
        min_effect = paired ? COMPARE_MIN_EFFECT_PAIRED : COMPARE_MIN_EFFECT_APART;
    }
    item->base_values = base->runs;
    item->other_values = other->runs;
    struct judge_settings settings = {.confidence = work->request->confidence,
                                      .min_effect = min_effect};
    bool done =
        paired ? judge_paired(base->values, other->values, base->runs, &settings, &item->judgement)
               : judge_unpaired(base->values, base->runs, other->values, other->runs, &settings,
                                &item->judgement);
    if (!done) {
        return error_set(work->error, "out of memory");
    }
    switch (item->judgement.obstacle) {
    case JUDGE_CLEAR:
        item->status = COMPARE_JUDGED;
        item->base_values -= item->judgement.disturbed;
        item->other_values -= item->judgement.disturbed;
        break;
    case JUDGE_FEW_RUNS:
        set_status(item, COMPARE_REFUSED,
                   "%zu and %zu runs: fewer than %u a side are never called a difference",
                   item->base_runs, item->other_runs, JUDGE_RUNS_MIN);
        break;
    case JUDGE_NOT_POSITIVE:
        set_status(item, COMPARE_REFUSED, "a run has a value that is not positive");
        break;
    }
    return true;
}

static bool judge_metric(struct work *work, const struct thing *base, const struct thing *other,
                         const char *metric, struct comparison *item)
{
    struct series base_runs = {0};
    struct series other_runs = {0};
    bool done = series_read(&base_runs, base, metric, work->error) &&
                series_read(&other_runs, other, metric, work->error);
    if (done) {
        item->metric = metric;
        item->base_runs = base_runs.runs;
        item->other_runs = other_runs.runs;
        item->base_median = stats_median(base_runs.values, base_runs.runs);
        item->other_median = stats_median(other_runs.values, other_runs.runs);
        if (base_runs.runs == 0 || other_runs.runs == 0) {
            set_status(item, COMPARE_REFUSED, "%s has no single runs of %s",
                       base_runs.runs == 0 ? base->side->label : other->side->label, metric);
        } else {
            item->method =
                choose_method(base, &base_runs, other, &other_runs, work->request->in_turn);
            done = judge_series(work, item, &base_runs, &other_runs);
        }
    }
    series_free(&base_runs);
    series_free(&other_runs);
    return done;
}

/* --- one thing against another --------------------------------------------------------------- */

/* The first session's entry: its names, checksum and counts stand for all. */
static const struct result_entry *first_entry(const struct thing *thing)
{
    const struct result_entry *entry = NULL;
    for (size_t s = 0; s < thing->side->set->count && entry == NULL; s++) {
        entry = entry_of(thing, s);
    }
    return entry;
}

static bool has_runs(const struct thing *thing, const char *metric)
{
    for (size_t s = 0; s < thing->side->set->count; s++) {
        const struct result_entry *entry = entry_of(thing, s);
        if (entry != NULL && result_entry_runs(&thing->side->set->sessions[s], entry, metric) > 0) {
            return true;
        }
    }
    return false;
}

/* The time that both have, in the order of how little else is in it. */
static const char *default_metric(const struct thing *base, const struct thing *other)
{
    static const char *const bench[] = {"ns_per_op", "real_time"};
    const char *const *metrics = base->kind == RESULT_SIM ? result_sim_times : bench;
    return has_runs(base, metrics[0]) && has_runs(other, metrics[0]) ? metrics[0] : metrics[1];
}

static void name_comparison(struct comparison *item, const struct thing *base,
                            const struct thing *other)
{
    item->base_side = base->side;
    item->other_side = other->side;
    item->workload = other->workload;
    item->algo = other->algo;
    item->options = other->options;
    item->base_algo = base->algo;
    item->base_options = base->options;
}

/* The first entry of any session that is not ok: one that was left out, or one that failed. NULL if
 * there is none. */
static const struct result_entry *first_not_ok(const struct thing *thing, bool left_out)
{
    for (size_t s = 0; s < thing->side->set->count; s++) {
        const struct result_entry *entry = entry_of(thing, s);
        if (entry != NULL && strcmp(entry->status, "ok") != 0 && entry->left_out == left_out) {
            return entry;
        }
    }
    return NULL;
}

static bool same_trace(const struct thing *base, const struct thing *other)
{
    const char *checksum = first_entry(base)->checksum;
    const struct thing *things[] = {base, other};
    for (int t = 0; t < 2; t++) {
        for (size_t s = 0; s < things[t]->side->set->count; s++) {
            const struct result_entry *entry = entry_of(things[t], s);
            if (entry != NULL && checksum[0] != '\0' && entry->checksum[0] != '\0' &&
                strcmp(entry->checksum, checksum) != 0) {
                return false;
            }
        }
    }
    return true;
}

/* Whether one of the two has no times to be judged, or none that mean anything; the comparison then
 * says so. What failed is said before what was only left out, and the base before the other. */
static bool is_obstructed(struct comparison *item, const struct thing *base,
                          const struct thing *other)
{
    const struct thing *things[] = {base, other};
    for (int i = 0; i < 4; i++) {
        const struct thing *thing = things[i % 2];
        bool left_out = i >= 2;
        const struct result_entry *entry = first_not_ok(thing, left_out);
        if (entry == NULL) {
            continue;
        }
        item->other_failed = !left_out && thing == other;
        /* Of what was left out the reason says all. */
        bool worded = !left_out || entry->reason[0] == '\0';
        set_status(item, left_out ? COMPARE_LEFT_OUT : COMPARE_FAILED, "%s: %s: %s%s%s",
                   thing->side->label, thing->algo[0] != '\0' ? thing->algo : thing->workload,
                   worded ? entry->status : "", worded && entry->reason[0] != '\0' ? ": " : "",
                   entry->reason);
        return true;
    }
    if (same_trace(base, other)) {
        return false;
    }
    set_status(item, COMPARE_UNLIKE,
               "the traces have the same name but not the same content (checksums %s, %s)",
               first_entry(base)->checksum, first_entry(other)->checksum);
    return true;
}

/* --- counts ---------------------------------------------------------------------------------- */

/* Whether a figure follows from the code and the operations alone, so that it is the same in every
 * run: what happened to the timers, and the work, wakeups and memory that it took. */
static bool is_count(const char *key, const json_t *value)
{
    static const char *const names[] = {
        "events",  "starts",       "restarts",     "stops",        "fired",        "drained",
        "averted", "early",        "late_beyond",  "lost",         "duplicate",    "misordered",
        "wakeups", "idle_wakeups", "lateness_min", "lateness_p50", "lateness_p99", "lateness_max"};
    bool known = strncmp(key, "n_", 2) == 0 || strncmp(key, "bytes_", 6) == 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !known; i++) {
        known = strcmp(key, names[i]) == 0;
    }
    return known && json_is_number(value) && !compare_is_rate(key);
}

static const json_t *counts_of(const struct thing *thing)
{
    const struct result_entry *entry = first_entry(thing);
    return thing->kind == RESULT_SIM ? entry->row : json_array_get(entry->row, 0);
}

static bool compare_counts(struct work *work, const struct thing *base, const struct thing *other)
{
    struct comparisons *out = work->out;
    const json_t *other_counts = counts_of(other);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)counts_of(base), key, value)
    {
        const json_t *other_value = json_object_get(other_counts, key);
        if (!is_count(key, value) || !is_count(key, other_value)) {
            continue;
        }
        if (json_number_value(value) == json_number_value(other_value)) {
            out->equal_counts++;
            continue;
        }
        struct compare_difference *differences =
            realloc(out->differences, (out->difference_count + 1) * sizeof *differences);
        if (differences == NULL) {
            return error_set(work->error, "out of memory");
        }
        out->differences = differences;
        differences[out->difference_count++] =
            (struct compare_difference){.other_side = other->side,
                                        .workload = other->workload,
                                        .algo = other->algo,
                                        .options = other->options,
                                        .base_algo = base->algo,
                                        .base_options = base->options,
                                        .name = key,
                                        .base = json_number_value(value),
                                        .other = json_number_value(other_value)};
    }
    return true;
}

static bool compare_things(struct work *work, const struct thing *base, const struct thing *other)
{
    const struct compare_request *request = work->request;
    struct comparison *whole = add_comparison(work);
    if (whole == NULL) {
        return false;
    }
    name_comparison(whole, base, other);
    if (is_obstructed(whole, base, other)) {
        return true;
    }
    work->out->count--; /* there is one for each metric instead */
    size_t count = request->metric_count > 0 ? request->metric_count : 1;
    for (size_t i = 0; i < count; i++) {
        const char *metric =
            request->metric_count > 0 ? request->metrics[i] : default_metric(base, other);
        if (request->metric_count > 0 && !has_runs(base, metric) && !has_runs(other, metric)) {
            continue;
        }
        struct comparison *item = add_comparison(work);
        if (item == NULL) {
            return false;
        }
        name_comparison(item, base, other);
        if (!judge_metric(work, base, other, metric, item)) {
            return false;
        }
    }
    bool alike = strcmp(base->algo, other->algo) == 0 && strcmp(base->options, other->options) == 0;
    return (!alike && !request->all_counts) || compare_counts(work, base, other);
}

/* --- what there is to compare ---------------------------------------------------------------- */

static bool is_structure(const struct compare_structure *structure, const struct thing *thing)
{
    return strcmp(structure->algo, thing->algo) == 0 &&
           strcmp(structure->options, thing->options) == 0;
}

static bool is_wanted(const struct work *work, const struct thing *thing)
{
    const struct compare_request *request = work->request;
    bool workload = request->workload_count == 0;
    for (size_t i = 0; i < request->workload_count && !workload; i++) {
        workload = fnmatch(request->workloads[i], thing->workload, 0) == 0;
    }
    bool structure = request->only_count == 0;
    for (size_t i = 0; i < request->only_count && !structure; i++) {
        structure = is_structure(&request->only[i], thing);
    }
    return workload && structure &&
           (!thing->side->one || is_structure(&thing->side->structure, thing));
}

struct things {
    struct thing *items;
    size_t count;
};

/* Everything measured on a side, once, in the order of its sessions. */
static bool list_things(const struct compare_side *side, struct things *things, struct error *error)
{
    const struct result_set *set = side->set;
    for (size_t s = 0; s < set->count; s++) {
        const struct result_session *session = &set->sessions[s];
        for (size_t e = 0; e < session->count; e++) {
            struct thing thing = {.side = side,
                                  .kind = session->kind,
                                  .workload = session->entries[e].workload,
                                  .algo = session->entries[e].algo,
                                  .options = session->entries[e].options};
            bool known = false;
            for (size_t earlier = 0; earlier < s && !known; earlier++) {
                known = entry_of(&thing, earlier) != NULL;
            }
            if (known) {
                continue;
            }
            struct thing *items = realloc(things->items, (things->count + 1) * sizeof *items);
            if (items == NULL) {
                return error_set(error, "out of memory");
            }
            things->items = items;
            items[things->count++] = thing;
        }
    }
    return true;
}

static bool add_missing(struct work *work, const struct thing *present,
                        const struct compare_side *base, const struct compare_side *other,
                        const char *where)
{
    struct comparison *item = add_comparison(work);
    if (item == NULL) {
        return false;
    }
    name_comparison(item, present, present);
    item->base_side = base;
    item->other_side = other;
    set_status(item, COMPARE_MISSING, "not in %s", where);
    return true;
}

/* The thing of `things` that stands against this one of the other side; NULL if there is none. */
static const struct thing *counterpart(const struct things *things, const struct thing *thing,
                                       bool any_structure, const struct work *work)
{
    for (size_t i = 0; i < things->count; i++) {
        const struct thing *candidate = &things->items[i];
        if (candidate->kind == thing->kind && is_wanted(work, candidate) &&
            strcmp(candidate->workload, thing->workload) == 0 &&
            (any_structure || (strcmp(candidate->algo, thing->algo) == 0 &&
                               strcmp(candidate->options, thing->options) == 0))) {
            return candidate;
        }
    }
    return NULL;
}

static bool compare_sides(struct work *work, const struct compare_side *base,
                          const struct compare_side *other)
{
    struct things base_things = {0};
    struct things other_things = {0};
    bool any = base->one || other->one; /* structures of different names are meant */
    bool done = list_things(base, &base_things, work->error) &&
                list_things(other, &other_things, work->error);
    for (size_t i = 0; i < base_things.count && done; i++) {
        const struct thing *thing = &base_things.items[i];
        if (is_wanted(work, thing)) {
            const struct thing *against = counterpart(&other_things, thing, any, work);
            done = against != NULL ? compare_things(work, thing, against)
                                   : add_missing(work, thing, base, other, other->label);
        }
    }
    for (size_t i = 0; i < other_things.count && done; i++) {
        const struct thing *thing = &other_things.items[i];
        if (is_wanted(work, thing) && counterpart(&base_things, thing, any, work) == NULL) {
            done = add_missing(work, thing, base, other, base->label);
        }
    }
    free(base_things.items);
    free(other_things.items);
    return done;
}

/* The structures of one set, each against the base, on each workload. */
static bool compare_structures(struct work *work, const struct compare_side *side)
{
    struct things things = {0};
    bool done = list_things(side, &things, work->error);
    const struct compare_structure *base = work->request->base;
    for (size_t i = 0; i < things.count && done; i++) {
        const struct thing *thing = &things.items[i];
        if (!is_wanted(work, thing) || thing->algo[0] == '\0' ||
            (base != NULL && is_structure(base, thing))) {
            continue;
        }
        const struct thing *against = NULL;
        for (size_t k = 0; k < things.count && against == NULL; k++) {
            const struct thing *candidate = &things.items[k];
            bool same =
                candidate->kind == thing->kind && strcmp(candidate->workload, thing->workload) == 0;
            bool chosen = base != NULL ? is_structure(base, candidate) : is_wanted(work, candidate);
            against = same && chosen ? candidate : NULL;
        }
        if (against == thing) {
            continue;
        }
        done = against != NULL ? compare_things(work, against, thing)
                               : add_missing(work, thing, side, side, base->algo);
    }
    free(things.items);
    return done;
}

/* --- circumstances --------------------------------------------------------------------------- */

static bool warn_of_key(struct work *work, const char *key, const struct result_session *base,
                        const struct result_session *other)
{
    const json_t *base_value = json_object_get(base->context, key);
    const json_t *other_value = json_object_get(other->context, key);
    if (base_value == NULL || other_value == NULL || json_equal(base_value, other_value)) {
        return true;
    }
    char *base_text = json_dumps(base_value, JSON_ENCODE_ANY | JSON_COMPACT);
    char *other_text = json_dumps(other_value, JSON_ENCODE_ANY | JSON_COMPACT);
    bool done = base_text != NULL && other_text != NULL
                    ? warn(work, "%s differs: %s in %s, %s in %s", key, base_text, base->path,
                           other_text, other->path)
                    : error_set(work->error, "out of memory");
    free(base_text);
    free(other_text);
    return done;
}

/* What the two sessions were not made alike in. */
static bool warn_of_contexts(struct work *work, const struct result_session *base,
                             const struct result_session *other)
{
    static const char *const keys[] = {"cpu",      "cpus",     "host_name",  "num_cpus",
                                       "kernel",   "governor", "huge_pages", "cpu_scaling_enabled",
                                       "compiler", "flags",    "build_type", "library_build_type",
                                       "version",  "commit",   "drive"};
    bool done = true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && done; i++) {
        done = warn_of_key(work, keys[i], base, other);
    }
    return done;
}

static const struct result_session *first_of_kind(const struct result_set *set,
                                                  enum result_kind kind)
{
    for (size_t s = 0; s < set->count; s++) {
        if (set->sessions[s].kind == kind) {
            return &set->sessions[s];
        }
    }
    return NULL;
}

/* Every session against the base's first of its kind. */
static bool warn_of_circumstances(struct work *work, const struct compare_side *base,
                                  const struct compare_side *side)
{
    bool done = true;
    for (size_t s = 0; s < side->set->count && done; s++) {
        const struct result_session *session = &side->set->sessions[s];
        const struct result_session *first = first_of_kind(base->set, session->kind);
        const char *build = json_string_value(json_object_get(session->context, "build_type"));
        if (first != NULL && first != session) {
            done = warn_of_contexts(work, first, session);
        }
        if (build != NULL && strcmp(build, "Debug") == 0) {
            done = done && warn(work,
                                "%s was measured in a build without optimisation: its times say "
                                "nothing",
                                session->path);
        }
    }
    return done;
}

/* Whether the trace of a compared thing is known by its content. */
static bool has_checksum(const struct compare_side *side, const char *workload, const char *algo,
                         const char *options)
{
    struct thing thing = {
        .side = side, .kind = RESULT_SIM, .workload = workload, .algo = algo, .options = options};
    const struct result_entry *entry = first_entry(&thing);
    return entry == NULL || entry->checksum[0] != '\0'; /* a benchmark has no trace */
}

static bool warn_of_methods(struct work *work)
{
    bool apart = false;
    bool checksums = true;
    for (size_t i = 0; i < work->out->count; i++) {
        const struct comparison *item = &work->out->items[i];
        apart = apart || item->method == METHOD_APART;
        checksums =
            checksums &&
            has_checksum(item->base_side, item->workload, item->base_algo, item->base_options) &&
            has_checksum(item->other_side, item->workload, item->algo, item->options);
    }
    return (!apart ||
            warn(work, "measured apart, not in turn: what the machine did meanwhile is in the "
                       "difference; --command measures in turn")) &&
           (checksums || warn(work, "some rows have no checksum of their trace: whether it is the "
                                    "same one, only its name says"));
}

/* --- verdicts -------------------------------------------------------------------------------- */

/* The least probability that so many values a side can show. */
static double least_p(enum compare_method method, size_t base_values, size_t other_values)
{
    return method == METHOD_APART ? stats_least_unpaired_p(base_values, other_values)
                                  : stats_least_paired_p(base_values);
}

/* Why a verdict was out of reach, if it was. */
static void explain(struct comparison *item, size_t family, double p_max)
{
    double most = p_max / (double)family;
    if (least_p(item->method, item->base_values, item->other_values) > most) {
        size_t needed = JUDGE_RUNS_MIN;
        while (needed < 1000 && least_p(item->method, needed, needed) > most) {
            needed++;
        }
        (void)snprintf(item->reason, sizeof item->reason,
                       "among %zu comparisons %zu %s cannot show any difference; it takes %zu",
                       family, item->base_values,
                       item->method == METHOD_APART ? "values a side" : "pairs", needed);
    } else if (item->judgement.drift > 0) {
        (void)snprintf(
            item->reason, sizeof item->reason,
            "the runs are in no random order, and differ by up to %.1f %% among themselves; "
            "only a larger difference could be told%s",
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
        explain(item, request->correction == CORRECTION_HOLM ? judged : 1, p_max);
    }
}

static bool give_verdicts(struct work *work)
{
    struct comparisons *out = work->out;
    double *p = calloc(out->count + 1, sizeof *p);
    double *adjusted = calloc(out->count + 1, sizeof *adjusted);
    bool done = p != NULL && adjusted != NULL;
    for (size_t i = 0; i < out->count && done; i++) {
        if (out->items[i].status == COMPARE_JUDGED) {
            p[out->judged++] = out->items[i].judgement.p;
        }
    }
    switch (work->request->correction) {
    case CORRECTION_HOLM:
        done = done && stats_holm(p, out->judged, adjusted);
        break;
    case CORRECTION_BH:
        done = done && stats_benjamini_hochberg(p, out->judged, adjusted);
        break;
    default:
        if (done) {
            memcpy(adjusted, p, out->judged * sizeof *p);
        }
        break;
    }
    size_t at = 0;
    for (size_t i = 0; i < out->count && done; i++) {
        if (out->items[i].status == COMPARE_JUDGED) {
            out->items[i].p_adjusted = adjusted[at++];
            give_verdict(&out->items[i], work->request, out->judged);
        }
    }
    free(p);
    free(adjusted);
    return done || error_set(work->error, "out of memory");
}

/* --- the whole ------------------------------------------------------------------------------- */

/* That something of both sides met, and had what was asked for. */
static bool check_comparable(const struct compare_request *request,
                             const struct comparisons *comparisons, struct error *error)
{
    bool met = false;
    bool measured = request->metric_count == 0;
    for (size_t i = 0; i < comparisons->count; i++) {
        met = met || comparisons->items[i].status != COMPARE_MISSING;
        measured = measured || comparisons->items[i].metric[0] != '\0';
    }
    if (comparisons->count > 0 && !met) {
        return error_set(error, "the sets have nothing in common that could be compared");
    }
    return (met && measured) || error_set(error, "nothing there is what was asked for: no such "
                                                 "structure, trace or metric");
}

bool compare_results(const struct compare_request *request, struct comparisons *comparisons,
                     struct error *error)
{
    *comparisons = (struct comparisons){0};
    struct work work = {.request = request, .out = comparisons, .error = error};
    bool done = true;
    for (size_t i = 0; i < request->side_count && done; i++) {
        const struct compare_side *side = &request->sides[i];
        done = warn_of_circumstances(&work, request->by_algo ? side : &request->sides[0], side);
        if (done && request->by_algo) {
            done = compare_structures(&work, side);
        } else if (done && i > 0) {
            done = compare_sides(&work, &request->sides[0], side);
        }
    }
    done = done && check_comparable(request, comparisons, error);
    return done && give_verdicts(&work) && warn_of_methods(&work);
}

void comparisons_free(struct comparisons *comparisons)
{
    for (size_t i = 0; i < comparisons->warning_count; i++) {
        free(comparisons->warnings[i]);
    }
    free((void *)comparisons->warnings);
    free(comparisons->items);
    free(comparisons->differences);
    *comparisons = (struct comparisons){0};
}
