/*
 * Rows: which there are, by the suites' tables and the forms of a row; runs of them, each here or in
 * a child if its structure is a plug-in's, in rounds; and their results.
 */
#include "suite.h"

#include "child.h"
#include "clock.h"
#include "judge.h"
#include "memory.h"
#include "plug_in.h"
#include "result_set.h"
#include "statistics.h"
#include "stream.h"
#include "stretch.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the suites ------------------------------------------------------------------------------ */

const struct suite *suite_at(const struct suite *const *tables, size_t index)
{
    for (; *tables != NULL; tables++) {
        for (const struct suite *suite = *tables; suite->text.name != NULL; suite++) {
            if (index-- == 0) {
                return suite;
            }
        }
    }
    return NULL;
}

bool suite_is_of(const struct suite *suite, const char *standard)
{
    return suite->standard == NULL || standard == NULL ? suite->standard == standard
                                                       : strcmp(suite->standard, standard) == 0;
}

bool suite_has_axis(const struct suite *suite, enum suite_axis axis)
{
    return (suite->axes >> axis & 1) != 0;
}

/* These axes are part of every name, and all their forms are measured by default; of the others,
 * only forms that are not plain are named. */
static bool is_always_named(enum suite_axis axis)
{
    return axis == AXIS_JUMP || axis == AXIS_FIELD || axis == AXIS_CLOCK || axis == AXIS_COMMIT;
}

static struct shape plain_of(const struct suite *suite)
{
    struct shape shape = {0};
    const struct form *form = forms;
    while (form->word != NULL) {
        form++;
    }
    while (form > forms) { /* so that the first form of an axis counts */
        form--;
        shape.at[form->setting.axis] = form->setting.value;
    }
    for (size_t i = 0; i < SUITE_SETTINGS_MAX && suite->plain[i].axis != AXIS_NONE; i++) {
        shape.at[suite->plain[i].axis] = suite->plain[i].value;
    }
    return shape;
}

bool suite_is_plain(const struct suite *suite, const struct setting *setting)
{
    return plain_of(suite).at[setting->axis] == setting->value;
}

/* --- one run of a row ------------------------------------------------------------------------ */

/* The remark of a row with a slow structure. */
#define SLOW_LABEL "declares itself slow: one round a batch"

/* Make the fixture of a row, which is omitted if that would take too long. */
static bool prepare(struct fixture *fixture, struct bench_row *row)
{
    if ((row->subject->algo->capabilities & TL_CAP_SLOW) != 0 && row->n > SUITE_SLOW_N_MAX) {
        return leave_out(fixture, "the structure declares itself slow, and is run up to %d timers",
                         (int)SUITE_SLOW_N_MAX);
    }
    if (row->given_up) {
        return leave_out(fixture, "it has taken too long before");
    }
    return fixture_make(fixture, row);
}

/* Measure a row in this process. False, with the reason in the fixture, if it was not measured. */
static bool run_here(struct fixture *fixture, struct bench_row *row, struct bench_measured *out)
{
    fixture->row = row;
    if ((row->subject != NULL && !prepare(fixture, row)) || !row->suite->measure(fixture, out)) {
        fixture->warm = false;
        return false;
    }
    stretch_report(out);
    if (row->subject != NULL) {
        out->bytes_per_timer = (double)fixture->memory.peak_bytes / (double)fixture->ids;
        out->label = fixture->slow            ? SLOW_LABEL
                     : !fixture->fires        ? row->suite->floor_label
                     : row->remark[0] != '\0' ? row->remark
                                              : NULL;
    }
    out->elapsed_ns += out->elapsed_ns == 0; /* a rate needs a time, however short */
    return true;
}

/* The result of a row in a child. Its pointers are valid in both processes, but for those of the
 * fixture. */
struct apart {
    struct bench_measured measured;
    struct fixture fixture;
    struct bench_row row;
    bool right;
};

static bool run_in_child(void *ctx, void *result, struct error *error)
{
    struct bench_row *row = ctx;
    struct apart *apart = result;
    (void)error;
    (void)hardware_counters_open(); /* of this process */
    child_phase(child_hook_seconds() + row->of->selection->patience_s, "while it was measured");
    apart->right = run_here(&apart->fixture, row, &apart->measured);
    fixture_end(&apart->fixture);
    apart->row = *row;
    return true;
}

/* Run the row of a plug-in in a child. After a fault there, its other rows are not run. */
static bool run_apart(struct fixture *fixture, struct bench_row *row, struct bench_measured *out)
{
    struct suite_subject *subject = row->subject;
    struct apart apart;
    struct child_outcome outcome;
    struct error error;
    const struct child_request request = {
        .run = run_in_child, .ctx = row, .result_bytes = sizeof apart};
    if (subject->fault[0] != '\0') {
        return fail(fixture, "%s", subject->fault);
    }
    if (row->longest == NULL) {
        row->longest = child_memory_new(WATCHED * sizeof *row->longest);
    }
    /* The operations are made here, once for all rows that they serve. */
    (void)fixture_plan(fixture, row);
    bool made = plug_in_run(subject->algo, &request, &apart, &outcome, &error);
    const char *fault = made ? child_fault(&outcome) : error.text;
    if (fault != NULL) {
        (void)snprintf(subject->fault, sizeof subject->fault, "%.500s", fault);
        return fail(fixture, "%s", fault);
    }
    *out = apart.measured;
    fixture->left_out = apart.fixture.left_out;
    memcpy(fixture->error, apart.fixture.error, sizeof fixture->error);
    row->given_up = apart.row.given_up;
    memcpy(row->remark, apart.row.remark, sizeof row->remark);
    return apart.right;
}

/* Record the measurement of a repetition, or its error. A fault takes precedence over an
 * omission. */
static void record_run(struct bench_row *row, const struct fixture *fixture, bool measured,
                       const struct bench_measured *out)
{
    if (measured) {
        size_t count = row->run_count + 1;
        row->runs = memory_resize(row->runs, count, sizeof *row->runs);
        row->times = memory_resize(row->times, count, sizeof *row->times);
        row->runs[row->run_count] = *out;
        row->times[row->run_count] = (double)out->elapsed_ns / (double)out->operations;
        row->run_count = count;
    } else if (row->error[0] == '\0' || row->left_out) {
        memcpy(row->error, fixture->error, sizeof row->error);
        row->left_out = fixture->left_out;
    }
    row->of->failures += !measured && !fixture->left_out;
}

/* Whether there is room for the warm fixtures of all rows: a quarter of the machine's memory. */
static bool has_room(const struct suite_rows *rows)
{
    uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
    uint64_t bytes = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct fixture *kept = rows->items[i]->kept;
        bytes += kept != NULL ? kept->memory.peak_bytes : 0;
    }
    return bytes <= pages / 4 * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void drop_kept(struct bench_row *row)
{
    if (row->kept != NULL) {
        fixture_end(row->kept);
        free(row->kept);
        row->kept = NULL;
    }
}

static const char *run_row(void *arg, struct bench_measured *out)
{
    struct bench_row *row = arg;
    struct suite_rows *rows = row->of;
    progress_update(&rows->progress, rows->runs_done++);
    if (row->kept == NULL) {
        row->kept = memory_new(1, sizeof *row->kept);
    }
    bool measured = row->subject != NULL && plug_in_is(row->subject->algo)
                        ? run_apart(row->kept, row, out)
                        : run_here(row->kept, row, out);
    record_run(row, row->kept, measured, out);
    if (!row->kept->warm || rows->selection->google || !has_room(rows)) {
        drop_kept(row);
    }
    static char error[sizeof row->error + sizeof "skipped: "];
    (void)snprintf(error, sizeof error, "%s%s", row->left_out ? "skipped: " : "", row->error);
    return measured ? NULL : error;
}

/* --- which rows there are -------------------------------------------------------------------- */

/* Return the name of a row; the caller frees it. */
static char *row_name(const struct suite *suite, const struct suite_subject *subject, uint32_t n,
                      const struct shape *shape)
{
    struct shape plain = plain_of(suite);
    char *name;
    size_t bytes;
    FILE *stream = memory_stream(&name, &bytes);
    bool is_limit = subject != NULL && floor_is(subject->algo);
    if (subject == NULL) {
        (void)fprintf(stream, "%s/n:%" PRIu32, suite->text.name, n);
    } else if (is_limit) {
        (void)fprintf(stream, "limit/%s/n:%" PRIu32 "/of:%s", subject->name, n, suite->text.name);
    } else {
        (void)fprintf(stream, "%s/%s/n:%" PRIu32, suite->text.name, subject->name, n);
    }
    for (int axis = 1; axis < AXES; axis++) {
        struct setting setting = {(enum suite_axis)axis, shape->at[axis]};
        if (suite_has_axis(suite, setting.axis) &&
            (is_always_named(setting.axis) || setting.value != plain.at[axis])) {
            char value[32];
            (void)fprintf(stream, "/%s:%s", axes[axis].word,
                          axis_value(&setting, value, sizeof value));
        }
    }
    memory_stream_close(stream);
    return name;
}

static void register_row(struct suite_rows *rows, const struct suite *suite,
                         struct suite_subject *subject, uint32_t n, const struct shape *shape)
{
    char *name = row_name(suite, subject, n, shape);
    if (!bench_selects(name)) {
        free(name);
        return;
    }
    struct bench_row *row = memory_new(1, sizeof *row);
    *row = (struct bench_row){
        .of = rows, .suite = suite, .subject = subject, .name = name, .n = n, .shape = *shape};
    MEMORY_REACH(rows->items, rows->room, rows->count);
    rows->items[rows->count++] = row;
    if (rows->selection->list) {
        (void)printf("%s/manual_time\n", name);
    } else if (rows->selection->google) {
        bench_register(name, run_row, row);
    }
}

/* Put a setting into a shape, with its prerequisite: a node is in some record. */
static void set_axis(struct shape *shape, const struct setting *setting)
{
    shape->at[setting->axis] = setting->value;
    if (shape->at[AXIS_NODE] != NODE_OUT && shape->at[AXIS_RECORD] == 0) {
        shape->at[AXIS_RECORD] = RECORD_LINE_BYTES;
    }
}

static bool is_given(const struct setting *setting, enum suite_axis axis)
{
    while (setting->axis != AXIS_NONE && setting->axis != axis) {
        setting++;
    }
    return setting->axis == axis;
}

/* All forms of a row that are selected. `subject` is NULL where the machine is measured. */
static void register_forms(struct suite_rows *rows, const struct suite *suite,
                           struct suite_subject *subject, uint32_t n, const struct shape *shape)
{
    bool has_nameless = true;
    for (const struct form *form = forms; form->word != NULL; form++) {
        const struct setting *setting = &form->setting;
        if (!suite_has_axis(suite, setting->axis) ||
            is_given(rows->selection->settings, setting->axis)) {
            continue;
        }
        bool always = is_always_named(setting->axis);
        bool listed = rows->selection->variants && (suite->flags_only >> setting->axis & 1) == 0;
        has_nameless = has_nameless && !always;
        if (always || (listed && shape->at[setting->axis] != setting->value)) {
            struct shape other = *shape;
            set_axis(&other, setting);
            register_row(rows, suite, subject, n, &other);
        }
    }
    if (has_nameless) {
        register_row(rows, suite, subject, n, shape);
    }
}

/* Apply the settings for all rows to a suite's plain shape. False: the suite lacks one of their
 * axes. */
static bool shape_of(const struct suite *suite, const struct setting *setting, struct shape *shape)
{
    *shape = plain_of(suite);
    for (; setting->axis != AXIS_NONE; setting++) {
        if (!suite_has_axis(suite, setting->axis)) {
            return false;
        }
        set_axis(shape, setting);
    }
    return true;
}

static void register_size(struct suite_rows *rows, const struct suite *suite, uint32_t size,
                          const struct shape *shape)
{
    const struct suite_selection *selection = rows->selection;
    if (suite->plan == NULL) {
        register_forms(rows, suite, NULL, size, shape);
        return;
    }
    for (size_t i = 0; suite->has_floor && i < FLOORS; i++) {
        register_row(rows, suite, &rows->floors[i], size, shape);
    }
    for (size_t i = 0; i < selection->subject_count; i++) {
        struct suite_subject *subject = &selection->subjects[i];
        if ((subject->algo->capabilities & suite->needs) == suite->needs) {
            register_forms(rows, suite, subject, size, shape);
        }
    }
}

static bool is_selected(const struct suite_selection *selection, uint32_t size)
{
    size_t i = 0;
    while (i < selection->size_count && selection->sizes[i] != size) {
        i++;
    }
    return i < selection->size_count || selection->size_count == 0;
}

void suite_note(json_t *context, const char *value, const char *key, ...)
{
    va_list arguments;
    va_start(arguments, key);
    char *text = memory_format_list(key, arguments);
    va_end(arguments);
    (void)json_object_set_new(context, text, json_string(value));
    free(text);
}

static void register_sizes(struct suite_rows *rows, const struct suite *suite)
{
    const struct suite_selection *selection = rows->selection;
    struct shape shape;
    if (!shape_of(suite, selection->settings, &shape)) {
        return;
    }
    for (const struct frozen *frozen = suite->frozen; frozen != NULL && frozen->n != 0; frozen++) {
        if (is_selected(selection, frozen->n)) {
            char checksum[32];
            (void)snprintf(checksum, sizeof checksum, "%016" PRIx64, frozen->checksum);
            suite_note(selection->context, checksum, "checksum of %s/n:%" PRIu32, suite->text.name,
                       frozen->n);
            register_size(rows, suite, frozen->n, &shape);
        }
    }
    if (suite->fixed_n != 0) {
        register_size(rows, suite, suite->fixed_n, &shape);
    } else if (suite->frozen == NULL) {
        for (size_t i = 0; i < selection->size_count; i++) {
            register_size(rows, suite, selection->sizes[i], &shape);
        }
    }
}

static void register_suite(struct suite_rows *rows, const struct suite *suite)
{
    const struct suite_selection *selection = rows->selection;
    bool plays_recording = plain_of(suite).at[AXIS_DELAYS] == DELAYS_RECORDED;
    if ((plays_recording && stream_recording() == NULL && !selection->named) ||
        !suite_is_of(suite, selection->standard)) {
        return;
    }
    if (suite->limit != NULL) {
        suite_note(selection->context, suite->limit, "limit of %s", suite->text.name);
    }
    if (suite->limit_record != NULL) {
        suite_note(selection->context, suite->limit_record, "limit of %s/%s", suite->text.name,
                   axes[AXIS_RECORD].word);
    }
    register_sizes(rows, suite);
}

void suite_register(struct suite_rows *rows)
{
    const struct suite *suite;
    if (rows->selection->min_time_s == 0) {
        workload_shorten();
    }
    for (size_t i = 0; i < FLOORS; i++) {
        rows->floors[i].algo = &floors[i];
        (void)snprintf(rows->floors[i].name, sizeof rows->floors[i].name, "%s", floors[i].name);
    }
    for (size_t i = 0; (suite = suite_at(rows->selection->suites, i)) != NULL; i++) {
        register_suite(rows, suite);
    }
}

/* --- rounds ---------------------------------------------------------------------------------- */

static double seconds_now(void)
{
    return (double)clock_now_ns() * 1e-9;
}

static bool is_comparable(const struct bench_row *a, const struct bench_row *b)
{
    return a->suite == b->suite && a->n == b->n &&
           memcmp(&a->shape, &b->shape, sizeof a->shape) == 0;
}

static bool is_faster(const struct bench_row *a, const struct bench_row *b)
{
    static const struct judge_settings settings = {.confidence = 0.95, .min_effect = 0.01};
    struct judgement judgement;
    judge_paired(a->times, b->times, a->run_count < b->run_count ? a->run_count : b->run_count,
                 &settings, &judgement);
    return judgement.obstacle == JUDGE_CLEAR && judgement.p < 0.05;
}

/* Return the median of a structure; infinity for a row without times, and for lower bounds. */
static double median_of(const struct bench_row *row)
{
    bool counts = row->subject != NULL && !floor_is(row->subject->algo) &&
                  (row->subject->algo->capabilities & TL_CAP_FIRES_NOTHING) == 0;
    return counts && row->run_count > 0 ? stats_median(row->times, row->run_count) : INFINITY;
}

static int by_median(const void *a, const void *b)
{
    double x = median_of(*(struct bench_row *const *)a);
    double y = median_of(*(struct bench_row *const *)b);
    return (x > y) - (x < y);
}

/* Whether each of the rows is known to be faster than the next. */
static bool is_settled(struct bench_row **group, size_t count)
{
    qsort((void *)group, count, sizeof group[0], by_median);
    for (size_t i = 0; i + 1 < count && median_of(group[i + 1]) < INFINITY; i++) {
        if (!is_faster(group[i], group[i + 1])) {
            return false;
        }
    }
    return true;
}

static void measure_group(struct bench_row **group, size_t count, uint64_t least, uint64_t most,
                          double until_s)
{
    static uint64_t state = 1;
    for (uint64_t round = 0; round < most; round++) {
        bool late = until_s > 0 && seconds_now() > until_s;
        if ((round >= least && (late || is_settled(group, count))) ||
            (round >= JUDGE_RUNS_MIN && late)) {
            break;
        }
        workload_shuffle((void *)group, sizeof *group, (uint32_t)count, &state);
        for (size_t i = 0; i < count; i++) {
            struct bench_measured measured = {0};
            if (group[i]->error[0] == '\0') {
                (void)run_row(group[i], &measured);
            }
            group[i]->of->runs_done -= round >= least; /* progress is of the least rounds */
        }
    }
    for (size_t i = 0; i < count; i++) {
        drop_kept(group[i]);
    }
}

void suite_measure(struct suite_rows *rows, uint64_t least, uint64_t most, double seconds)
{
    struct bench_row **group = memory_new(rows->count + 1, sizeof *group);
    double end_s = seconds_now() + seconds;
    size_t left = rows->count;
    for (size_t first = 0; first < rows->count; first++) {
        if (rows->items[first]->grouped) {
            continue;
        }
        size_t count = 0;
        for (size_t i = first; i < rows->count; i++) {
            if (is_comparable(rows->items[first], rows->items[i])) {
                rows->items[i]->grouped = true;
                group[count++] = rows->items[i];
            }
        }
        /* Of the time that is left each row gets the same. */
        double now_s = seconds_now();
        double until_s = now_s + (end_s - now_s) * (double)count / (double)left;
        measure_group(group, count, least, most, seconds > 0 ? until_s : 0);
        left -= count;
    }
    free((void *)group);
}

/* --- results --------------------------------------------------------------------------------- */

/* The figure of a repetition that is in a column; NAN if it has none. */
static double figure(const struct bench_measured *run, unsigned column)
{
    switch (column) {
    case BENCH_COL_NS:
        return (double)run->elapsed_ns / (double)run->operations;
    case BENCH_COL_RATE:
        return (double)run->operations * 1e9 / (double)run->elapsed_ns;
    case BENCH_COL_REAL:
    case BENCH_COL_CPU:
        return (double)run->elapsed_ns;
    case BENCH_COL_BYTES_PER_TIMER:
        return run->bytes_per_timer;
    default:
        break;
    }
    for (size_t i = 0; i < run->counter_count; i++) {
        if (strcmp(run->counters[i].name, bench_kind.columns[column].name) == 0) {
            return run->counters[i].value;
        }
    }
    return NAN;
}

static void add_samples(struct row *result, const struct bench_row *row)
{
    double *values = memory_new(row->run_count + 1, sizeof *values);
    for (unsigned c = BENCH_COL_NS; c < BENCH_COL_RUNS; c++) {
        size_t count = 0;
        for (size_t i = 0; i < row->run_count; i++) {
            double value = figure(&row->runs[i], c);
            if (!isnan(value)) {
                values[count++] = value;
            }
        }
        row_set_samples(result, c, values, count);
    }
    free(values);
}

void suite_results(const struct suite_rows *rows, struct results *results)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct bench_row *row = rows->items[i];
        if (row->run_count == 0 && row->error[0] == '\0') {
            continue;
        }
        struct row *result = results_add(results);
        result_name(result, row->name);
        row_set_text(result, COL_STATUS,
                     row->error[0] == '\0' ? "ok"
                     : row->left_out       ? "unsupported"
                                           : "error");
        if (row->error[0] != '\0') {
            row_set_text(result, BENCH_COL_REASON, row->error);
        } else {
            add_samples(result, row);
        }
    }
}

void suite_end(struct suite_rows *rows)
{
    progress_end(&rows->progress);
    for (size_t i = 0; i < rows->count; i++) {
        struct bench_row *row = rows->items[i];
        child_memory_free(row->longest, WATCHED * sizeof *row->longest);
        free(row->runs);
        free(row->times);
        free(row->name);
        free(row);
    }
    free((void *)rows->items);
    cache_forget();
}
