/*
 * Rows and their fixtures. A row has a fixture while it runs: one structure, made before its first
 * operation, and kept warm, so that neither page faults nor growth are timed.
 */
#include "suite.h"

#include "clock.h"
#include "floor.h"
#include "judge.h"
#include "memory.h"
#include "plug_in.h"
#include "progress.h"
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
#include <sys/mman.h>
#include <unistd.h>

/* These axes are part of every name, and all their forms are measured by default; of the others,
 * only forms that are not plain are named. */
static bool is_always_named(enum suite_axis axis)
{
    return axis == AXIS_JUMP || axis == AXIS_FIELD || axis == AXIS_CLOCK || axis == AXIS_COMMIT;
}

static struct shape plain_of(const struct suite *suite)
{
    struct shape shape = axes_plain();
    for (size_t i = 0; i < SUITE_SETTINGS_MAX && suite->plain[i].axis != AXIS_NONE; i++) {
        shape.at[suite->plain[i].axis] = suite->plain[i].value;
    }
    return shape;
}

bool suite_has_axis(const struct suite *suite, enum suite_axis axis)
{
    return (suite->axes >> axis & 1) != 0;
}

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
    if (suite->standard == NULL || standard == NULL) {
        return suite->standard == NULL && standard == NULL;
    }
    return strcmp(suite->standard, standard) == 0;
}

bool suite_is_plain(const struct suite *suite, const struct setting *setting)
{
    return plain_of(suite).at[setting->axis] == setting->value;
}

/* --- shared by all rows ---------------------------------------------------------------------- */

enum { FLOOR_SUBJECTS = 8, FROZEN_MAX = 8 /* sizes of a frozen suite */ };

static struct bench_row *rows;
static bool keeps; /* fixtures that are warm, from round to round */
static uint64_t kept_bytes;
static size_t row_count;
static const struct suite_selection *chosen;
static struct suite_subject floor_subjects[FLOOR_SUBJECTS];
static size_t floor_subject_count;
static uint64_t failures;

uint64_t suite_min_time_ns(void)
{
    return (uint64_t)(chosen->min_time_s * 1e9);
}

bool suite_keeps(void)
{
    return keeps;
}

uint64_t suite_clock_overhead_ns(void)
{
    enum { READINGS = 2001 };
    static uint64_t overhead_ns;
    if (overhead_ns == 0) {
        double passed_ns[READINGS];
        uint64_t last = cpu_now_ns();
        for (size_t i = 0; i < READINGS; i++) {
            uint64_t now = cpu_now_ns();
            passed_ns[i] = (double)(now - last);
            last = now;
        }
        overhead_ns = (uint64_t)stats_median(passed_ns, READINGS);
    }
    return overhead_ns;
}

bool fail(struct fixture *fixture, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(fixture->error, sizeof fixture->error, format, arguments);
    va_end(arguments);
    return false;
}

uint64_t rounds_of(const struct fixture *fixture, uint64_t operations)
{
    return fixture->slow ? 1 : workload_rounds(operations);
}

bool leave_out(struct fixture *fixture, const char *format, ...)
{
    static const char head[] = "skipped: ";
    va_list arguments;
    va_start(arguments, format);
    memcpy(fixture->error, head, sizeof head);
    (void)vsnprintf(fixture->error + sizeof head - 1, sizeof fixture->error - (sizeof head - 1),
                    format, arguments);
    va_end(arguments);
    fixture->left_out = true;
    return false;
}

bool has_patience(const struct fixture *fixture)
{
    child_alive();
    return cpu_now_ns() < fixture->patience_end_ns;
}

bool still_patient(struct fixture *fixture)
{
    if (has_patience(fixture)) {
        return true;
    }
    fixture->row->given_up = true;
    return leave_out(fixture, "preparing it lasts longer than %g s; --patience=S waits longer",
                     chosen->patience_s);
}

void on_fire(void *ctx, uint32_t id, uint64_t now)
{
    struct fired *fired = ctx;
    fired->count++;
    fired->ids += id;
    fired->checksum += workload_mix(id, now - fired->base);
}

void reset_fired(struct fixture *fixture)
{
    fixture->fired.base = fixture->clock;
    fixture->fired.count = 0;
    fixture->fired.ids = 0;
    fixture->fired.checksum = 0;
}

/* --- verification, never timed --------------------------------------------------------------- */

bool verify_pending(struct fixture *fixture, uint64_t pending)
{
    uint64_t count = fixture->algo->count(fixture->self);
    if (fixture->fires && !floor_is(fixture->algo) && count != pending) {
        return fail(fixture, "%" PRIu64 " timers are pending where %" PRIu64 " should be", count,
                    pending);
    }
    return true;
}

bool verify_started(struct fixture *fixture, uint64_t pending)
{
    if (tl_status_is_refusal(fixture->failure)) {
        return leave_out(fixture, "start: %s (%s)", tl_status_text(fixture->failure),
                         tl_status_name(fixture->failure));
    }
    if (fixture->failure != TL_OK) {
        return fail(fixture, "start: %s (%s)", tl_status_text(fixture->failure),
                    tl_status_name(fixture->failure));
    }
    return !fixture->exact || verify_pending(fixture, pending);
}

static bool verify_set(struct fixture *fixture, const struct workload_expected *expected)
{
    const struct fired *fired = &fixture->fired;
    if (fired->count != expected->count) {
        return fail(fixture, "%" PRIu64 " of %" PRIu64 " timers fired", fired->count,
                    expected->count);
    }
    if (fired->ids != expected->ids) {
        return fail(fixture, "the timers that fired are not those that were to");
    }
    if (fixture->exact && fired->checksum != expected->checksum) {
        return fail(fixture, "the ticks at which timers fired are not those at which they are due");
    }
    return true;
}

bool verify_drained(struct fixture *fixture, const struct workload_expected *expected)
{
    return !fixture->fires || verify_set(fixture, expected);
}

bool verify_fired(struct fixture *fixture, const struct workload_expected *expected)
{
    return !fixture->fires || !fixture->exact || floor_is(fixture->algo) ||
           verify_set(fixture, expected);
}

bool verify_nothing_fired(struct fixture *fixture)
{
    if (fixture->exact && fixture->fired.count != 0) {
        return fail(fixture, "%" PRIu64 " timers fired where none was due", fixture->fired.count);
    }
    return true;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* The process's heap asks for huge pages where they pay; this takes the request back. */
static void *small_pages_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes,
                                size_t align)
{
    static const size_t page_bytes = 4096;
    const struct tl_allocator *below = tl_system_allocator();
    (void)ctx;
    void *fresh = below->resize(below->ctx, ptr, old_bytes, new_bytes, align);
    if (fresh != NULL && (uintptr_t)fresh % page_bytes == 0) {
        (void)madvise(fresh, new_bytes, MADV_NOHUGEPAGE);
    }
    return fresh;
}

static const struct tl_allocator *allocator_of(const struct bench_row *row)
{
    static const struct tl_allocator small_pages = {NULL, small_pages_resize};
    return row->shape.at[AXIS_PAGES] == PAGES_SMALL ? &small_pages : tl_system_allocator();
}

/* --- fixtures -------------------------------------------------------------------------------- */

/* Determine the structure's precision for the delays that are used here: every short one, and of
 * the long ones the powers of two. */
static void read_promises(struct fixture *fixture, const void *options)
{
    static const uint64_t short_ticks = 1 << 16;
    fixture->fires = (fixture->algo->capabilities & TL_CAP_FIRES_NOTHING) == 0;
    fixture->slow = (fixture->algo->capabilities & TL_CAP_SLOW) != 0;
    fixture->exact = true;
    for (uint64_t delay_ticks = 1; delay_ticks <= fixture->max_delay_ticks;
         delay_ticks = delay_ticks < short_ticks ? delay_ticks + 1 : 2 * delay_ticks) {
        struct tl_precision precision = tl_algo_precision(fixture->algo, options, delay_ticks);
        if (precision.early_ticks != 0 || precision.late_ticks != 0) {
            fixture->exact = false;
        }
        if (precision.late_ticks > fixture->late_ticks) {
            fixture->late_ticks = precision.late_ticks;
        }
    }
}

/* The connections' records, and whether the structure's own bytes lie in them. */
static bool make_records(struct fixture *fixture)
{
    const uint64_t *at = fixture->row->shape.at;
    const struct suite_subject *subject = fixture->row->subject;
    size_t bytes = at[AXIS_RECORD];
    const struct tl_algo *in_records = subject->in_records;
    /* The counters that are touched: the first eight bytes, and in long ones the last. */
    size_t counters = bytes > RECORD_LINE_BYTES ? 16 : 8;
    bool fits = in_records != NULL && in_records->embedded_bytes + counters <= bytes;
    fixture->record_bytes = bytes;
    fixture->node_in = at[AXIS_NODE] != NODE_OUT && fits;
    if (at[AXIS_NODE] == NODE_IN && !fits && fixture->fires && !floor_is(fixture->algo)) {
        return in_records == NULL ? leave_out(fixture, "it keeps its timers in memory of its own")
                                  : leave_out(fixture,
                                              "its %zu bytes of a timer and the counters do not "
                                              "fit in a record of %zu; --record=BYTES has it "
                                              "longer",
                                              in_records->embedded_bytes, bytes);
    }
    if (fixture->node_in) {
        fixture->algo = in_records;
    }
    if (bytes == 0) {
        return true;
    }
    fixture->records =
        memory_made(tl_alloc(tl_system_allocator(), bytes * fixture->ids, RECORD_LINE_BYTES));
    memset(fixture->records, 0, bytes * fixture->ids);
    return true;
}

static void make_cold(struct fixture *fixture)
{
    size_t bytes = fixture->row->shape.at[AXIS_COLD] << 20;
    if (bytes > 0) {
        fixture->cold = memory_made(tl_alloc(tl_system_allocator(), bytes, RECORD_LINE_BYTES));
        memset(fixture->cold, 0, bytes);
        fixture->cold_bytes = bytes;
    }
}

/* A structure that is not available, or not for such long delays, has not failed. */
static bool refuse_create(struct fixture *fixture, enum tl_status status)
{
    if (status == TL_ERR_NOMEM && fixture->memory_limit_bytes != UINT64_MAX) {
        return leave_out(fixture,
                         "%" PRIu32 " timers of %" PRIu64 " ticks take more than %" PRIu64 " MiB",
                         fixture->ids, fixture->max_delay_ticks, fixture->memory_limit_bytes >> 20);
    }
    if (status == TL_ERR_OPTION && fixture->scale > 1) {
        return leave_out(fixture, "its options have no values for delays of %" PRIu64 " ticks",
                         fixture->max_delay_ticks);
    }
    if (status == TL_ERR_UNAVAILABLE || status == TL_ERR_CAPACITY) {
        return leave_out(fixture, "%s (%s)", tl_status_text(status), tl_status_name(status));
    }
    return fail(fixture, "create: %s (%s)", tl_status_text(status), tl_status_name(status));
}

struct tl_records fixture_records(const struct fixture *fixture, void *base)
{
    return (struct tl_records){
        .base = base, .stride_bytes = fixture->record_bytes, .offset_bytes = RECORD_NODE_AT};
}

static bool make_fixture(struct fixture *fixture, struct bench_row *row)
{
    if (fixture->warm) {
        fixture->patience_end_ns = cpu_now_ns() + (uint64_t)(chosen->patience_s * 1e9);
        return row->suite->plan(fixture);
    }
    *fixture = (struct fixture){
        .row = row,
        .algo = row->subject->algo,
        .memory_limit_bytes = UINT64_MAX,
        .patience_end_ns = UINT64_MAX,
        .scale = 1,
    };
    memcpy(fixture->options, row->subject->options, sizeof fixture->options);
    if (!row->suite->plan(fixture)) {
        return false;
    }
    /* The operations are made once for all: that is not the structure's time. */
    fixture->patience_end_ns = cpu_now_ns() + (uint64_t)(chosen->patience_s * 1e9);
    read_promises(fixture, fixture->options);
    if (!make_records(fixture)) {
        return false;
    }
    make_cold(fixture);
    tl_counting_allocator(&fixture->memory, allocator_of(row));
    fixture->memory.limit_bytes = fixture->memory_limit_bytes;
    struct tl_records records = fixture_records(fixture, fixture->records);
    struct tl_config config = {
        .capacity = fixture->ids,
        .max_delay_ticks = fixture->max_delay_ticks,
        .options = fixture->options,
        .allocator = &fixture->memory.allocator,
        .records = fixture->node_in ? &records : NULL,
    };
    enum tl_status status = fixture->algo->create(&config, &fixture->self);
    if (status != TL_OK) {
        fixture->self = NULL;
        return refuse_create(fixture, status);
    }
    return true;
}

static void end_fixture(struct fixture *fixture)
{
    if (fixture->self != NULL) {
        fixture->algo->destroy(fixture->self);
    }
    tl_free(tl_system_allocator(), fixture->records, fixture->record_bytes * fixture->ids,
            RECORD_LINE_BYTES);
    tl_free(tl_system_allocator(), fixture->cold, fixture->cold_bytes, RECORD_LINE_BYTES);
}

/* --- rows ------------------------------------------------------------------------------------ */

static struct progress progress;
static uint64_t runs_done;

void suite_watch(uint64_t repetitions)
{
    progress_begin(&progress, "measuring", "runs", repetitions * row_count);
}

/* The remark of a row with a slow structure. */
#define SLOW_LABEL "declares itself slow: one round a batch"

static bool measure_row(struct fixture *fixture, struct bench_row *row, struct bench_measured *out)
{
    if (row->subject == NULL) {
        fixture->row = row;
        return row->suite->measure(fixture, out) && (stretch_report(out), true);
    }
    if ((row->subject->algo->capabilities & TL_CAP_SLOW) != 0 && row->n > SUITE_SLOW_N_MAX) {
        return leave_out(fixture, "the structure declares itself slow, and is run up to %d timers",
                         (int)SUITE_SLOW_N_MAX);
    }
    if (row->given_up) {
        return leave_out(fixture, "it has taken too long before");
    }
    if (!make_fixture(fixture, row) || !row->suite->measure(fixture, out)) {
        return false;
    }
    stretch_report(out);
    out->bytes_per_timer = (double)fixture->memory.peak_bytes / (double)fixture->ids;
    out->label = fixture->slow            ? SLOW_LABEL
                 : !fixture->fires        ? row->suite->floor_label
                 : row->remark[0] != '\0' ? row->remark
                                          : NULL;
    return true;
}

/* Measures a row in this process. False, with the reason in the fixture, if it was not measured. */
static bool run_here(struct fixture *fixture, struct bench_row *row, struct bench_measured *out)
{
    bool measured = measure_row(fixture, row, out);
    fixture->warm = fixture->warm && measured;
    if (!fixture->warm) {
        end_fixture(fixture);
    }
    /* A rate needs a time, however short. */
    out->elapsed_ns += out->elapsed_ns == 0;
    return measured;
}

/* --- rows of plug-ins ------------------------------------------------------------------------ */

/* The result of a row in a child. Its pointers are valid in both processes, but for those of the
 * row. */
struct apart {
    struct bench_measured measured;
    struct fixture fixture;
    struct bench_row row;
    struct longest_call calls[WATCHED][LONGEST_KEPT_MAX]; /* the row's longest */
    bool right;
};

static bool run_in_child(void *ctx, void *result, struct error *error)
{
    struct bench_row *row = ctx;
    struct apart *apart = result;
    (void)error;
    (void)hardware_counters_open(); /* of this process */
    child_phase(child_hook_seconds() + chosen->patience_s, "while it was measured");
    apart->right = run_here(&apart->fixture, row, &apart->measured);
    if (apart->fixture.warm) {
        end_fixture(&apart->fixture);
    }
    apart->row = *row;
    for (int kind = 0; kind < WATCHED; kind++) {
        for (size_t i = 0; i < row->longest[kind].count; i++) {
            apart->calls[kind][i] = row->longest[kind].calls[i];
        }
    }
    return true;
}

static void take_over(struct bench_row *row, const struct apart *apart)
{
    row->given_up = apart->row.given_up;
    memcpy(row->remark, apart->row.remark, sizeof row->remark);
    for (int kind = 0; kind < WATCHED; kind++) {
        struct longest *longest = &row->longest[kind];
        size_t count = apart->row.longest[kind].count;
        longest->known = apart->row.longest[kind].known;
        longest->count = count < LONGEST_KEPT_MAX ? count : LONGEST_KEPT_MAX;
        if (longest->known) {
            longest->calls =
                memory_resize(longest->calls, LONGEST_KEPT_MAX, sizeof *longest->calls);
            memcpy(longest->calls, apart->calls[kind], sizeof apart->calls[kind]);
        }
    }
}

/* Run the row of a plug-in in a child. After a fault there, its other rows are not run. */
static bool run_apart(struct fixture *fixture, struct bench_row *row, struct bench_measured *out)
{
    static struct apart apart;
    struct child_outcome outcome;
    struct error error;
    const struct child_request request = {
        .run = run_in_child, .ctx = row, .result_bytes = sizeof apart};
    /* The operations are made here, once for all rows that they serve. */
    struct fixture plan = {.row = row, .algo = row->subject->algo};
    memcpy(plan.options, row->subject->options, sizeof plan.options);
    (void)row->suite->plan(&plan);
    bool made = plug_in_run(row->subject->algo, &request, &apart, &outcome, &error);
    const char *fault = made ? child_fault(&outcome) : error.text;
    if (fault != NULL) {
        for (size_t i = 0; i < row_count; i++) {
            if (rows[i].subject == row->subject) {
                (void)snprintf(rows[i].fault, sizeof rows[i].fault, "%.500s", fault);
            }
        }
        return fail(fixture, "%s", fault);
    }
    take_over(row, &apart);
    *out = apart.measured;
    fixture->left_out = apart.fixture.left_out;
    memcpy(fixture->error, apart.fixture.error, sizeof fixture->error);
    return apart.right;
}

/* Record the measurement of a repetition, or its error. A fault takes precedence over an
 * omission. */
static void record_run(struct bench_row *row, const struct fixture *fixture, bool measured,
                       const struct bench_measured *out)
{
    if (measured) {
        row->runs = memory_resize(row->runs, row->run_count + 1, sizeof *row->runs);
        row->runs[row->run_count++] = *out;
    } else if (row->error[0] == '\0' || row->left_out) {
        memcpy(row->error, fixture->error, sizeof row->error);
        row->left_out = fixture->left_out;
    }
    failures += !measured && !fixture->left_out;
}

static void end_row(struct bench_row *row)
{
    if (row->kept != NULL) {
        kept_bytes -= row->kept->memory.peak_bytes;
        end_fixture(row->kept);
        free(row->kept);
        row->kept = NULL;
    }
}

/* A fixture that is warm is kept while there is room: a quarter of the machine's memory. */
static void keep_fixture(struct bench_row *row, struct fixture *fixture)
{
    uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES);
    uint64_t room = pages / 4 * (uint64_t)sysconf(_SC_PAGESIZE);
    bool is_new = row->kept == NULL;
    row->kept = fixture;
    kept_bytes += is_new ? fixture->memory.peak_bytes : 0;
    if (!keeps || kept_bytes > room) {
        end_row(row);
    }
}

static const char *run_row(void *arg, struct bench_measured *out)
{
    struct bench_row *row = arg;
    struct fixture *fixture = row->kept != NULL ? row->kept : memory_new(1, sizeof *fixture);
    progress_update(&progress, runs_done++);
    bool apart = row->subject != NULL && plug_in_is(row->subject->algo);
    bool measured = row->fault[0] != '\0' ? fail(fixture, "%s", row->fault)
                    : apart               ? run_apart(fixture, row, out)
                                          : run_here(fixture, row, out);
    record_run(row, fixture, measured, out);
    if (fixture->warm) {
        keep_fixture(row, fixture);
    } else {
        kept_bytes -= row->kept != NULL ? fixture->memory.peak_bytes : 0;
        row->kept = NULL;
        free(fixture);
    }
    return measured ? NULL : row->error;
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

static double ns_per_op(const struct bench_measured *run)
{
    return (double)run->elapsed_ns / (double)run->operations;
}

/* The time per operation in each round; to be freed. */
static double *times_of(const struct bench_row *row)
{
    double *times = memory_new(row->run_count + 1, sizeof *times);
    for (size_t i = 0; i < row->run_count; i++) {
        times[i] = ns_per_op(&row->runs[i]);
    }
    return times;
}

static bool is_faster(const struct bench_row *a, const struct bench_row *b)
{
    static const struct judge_settings settings = {.confidence = 0.95, .min_effect = 0.01};
    struct judgement judgement;
    double *base = times_of(a);
    double *other = times_of(b);
    judge_paired(base, other, a->run_count < b->run_count ? a->run_count : b->run_count, &settings,
                 &judgement);
    free(base);
    free(other);
    return judgement.obstacle == JUDGE_CLEAR && judgement.p < 0.05;
}

/* Return the median of a structure; infinity for a row without times, and for lower bounds. */
static double median_of(const struct bench_row *row)
{
    bool counts = row->subject != NULL && !floor_is(row->subject->algo) &&
                  (row->subject->algo->capabilities & TL_CAP_FIRES_NOTHING) == 0;
    double *times = times_of(row);
    double median = counts && row->run_count > 0 ? stats_median(times, row->run_count) : INFINITY;
    free(times);
    return median;
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
            runs_done -= round >= least; /* progress is of the least rounds */
        }
    }
    for (size_t i = 0; i < count; i++) {
        end_row(group[i]);
    }
}

void suite_measure(uint64_t least, uint64_t most, double seconds)
{
    struct bench_row **group = memory_new(row_count + 1, sizeof *group);
    bool *done = memory_new(row_count + 1, sizeof *done);
    double end_s = seconds_now() + seconds;
    size_t left = row_count;
    keeps = true;
    for (size_t first = 0; first < row_count; first++) {
        size_t count = 0;
        for (size_t i = first; i < row_count && !done[first]; i++) {
            if (!done[i] && is_comparable(&rows[first], &rows[i])) {
                group[count++] = &rows[i];
            }
        }
        for (size_t i = 0; i < count; i++) {
            done[group[i] - rows] = true;
        }
        if (count > 0) {
            /* Of the time that is left each row gets the same. */
            double now_s = seconds_now();
            double until_s = now_s + (end_s - now_s) * (double)count / (double)left;
            measure_group(group, count, least, most, seconds > 0 ? until_s : 0);
            left -= count;
        }
    }
    free((void *)group);
    free(done);
}

/* Write the named part of a row's shape. */
static void write_form(const struct suite *suite, const struct shape *shape, char *form,
                       size_t form_bytes)
{
    struct shape plain = plain_of(suite);
    size_t used = 0;
    form[0] = '\0';
    for (int axis = 1; axis < AXES && used < form_bytes; axis++) {
        struct setting setting = {(enum suite_axis)axis, shape->at[axis]};
        if (suite_has_axis(suite, setting.axis) &&
            (is_always_named(setting.axis) || shape->at[axis] != plain.at[axis])) {
            char value[32];
            int length = snprintf(form + used, form_bytes - used, "/%s:%s", axis_word(setting.axis),
                                  axis_value(&setting, value, sizeof value));
            used += length > 0 ? (size_t)length : 0;
        }
    }
}

static void register_row(const struct suite *suite, const struct suite_subject *subject, uint32_t n,
                         const struct shape *shape)
{
    char name[1024];
    char form[256];
    write_form(suite, shape, form, sizeof form);
    if (subject == NULL) {
        (void)snprintf(name, sizeof name, "%s/n:%" PRIu32 "%s", suite->text.name, n, form);
    } else if (floor_is(subject->algo)) {
        (void)snprintf(name, sizeof name, "limit/%s/n:%" PRIu32 "/of:%s%s", subject->name, n,
                       suite->text.name, form);
    } else {
        (void)snprintf(name, sizeof name, "%s/%s/n:%" PRIu32 "%s", suite->text.name, subject->name,
                       n, form);
    }
    if (!bench_selects(name)) {
        return;
    }
    struct bench_row *row = &rows[row_count++];
    *row = (struct bench_row){
        .suite = suite, .subject = subject, .name = memory_copy(name), .n = n, .shape = *shape};
    if (chosen->list) {
        (void)printf("%s/manual_time\n", name);
    } else if (chosen->google) {
        bench_register(name, run_row, row);
    }
}

/* --- results --------------------------------------------------------------------------------- */

/* The figure of a repetition that is in a column; NAN if it has none. */
static double figure(const struct bench_measured *run, unsigned column)
{
    switch (column) {
    case BENCH_COL_NS:
        return ns_per_op(run);
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

void suite_results(struct results *results)
{
    for (size_t i = 0; i < row_count; i++) {
        const struct bench_row *row = &rows[i];
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
            const char *reason = result_left_out(row->error);
            row_set_text(result, BENCH_COL_REASON, reason != NULL ? reason : row->error);
        } else {
            add_samples(result, row);
        }
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

static bool is_given(enum suite_axis axis)
{
    const struct setting *setting = chosen->settings;
    while (setting->axis != AXIS_NONE && setting->axis != axis) {
        setting++;
    }
    return setting->axis == axis;
}

/* All forms of a row that are selected. `subject` is NULL where the machine is measured. */
static void register_forms(const struct suite *suite, const struct suite_subject *subject,
                           uint32_t n, const struct shape *shape)
{
    bool has_nameless = true;
    const struct form *form = NULL;
    for (size_t i = 0; (form = form_at(i)) != NULL; i++) {
        const struct setting *setting = &form->setting;
        if (!suite_has_axis(suite, setting->axis) || is_given(setting->axis)) {
            continue;
        }
        bool always = is_always_named(setting->axis);
        bool listed = (suite->flags_only >> setting->axis & 1) == 0;
        has_nameless = has_nameless && !always;
        if (always || (chosen->variants && listed && shape->at[setting->axis] != setting->value)) {
            struct shape other = *shape;
            set_axis(&other, setting);
            register_row(suite, subject, n, &other);
        }
    }
    if (has_nameless) {
        register_row(suite, subject, n, shape);
    }
}

/* Whether a suite can follow all settings that hold for every row; then its rows' shape. */
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

static void register_size(const struct suite *suite, uint32_t size, const struct shape *shape)
{
    if (suite->plan == NULL) {
        register_forms(suite, NULL, size, shape);
        return;
    }
    for (size_t i = 0; suite->has_floor && i < floor_subject_count; i++) {
        register_row(suite, &floor_subjects[i], size, shape);
    }
    for (size_t i = 0; i < chosen->subject_count; i++) {
        const struct suite_subject *subject = &chosen->subjects[i];
        if ((subject->algo->capabilities & suite->needs) == suite->needs) {
            register_forms(suite, subject, size, shape);
        }
    }
}

static bool is_selected(uint32_t size)
{
    size_t i = 0;
    while (i < chosen->size_count && chosen->sizes[i] != size) {
        i++;
    }
    return i < chosen->size_count || chosen->size_count == 0;
}

/* Add a fact about a suite to the context, for readers of the results. */
__attribute__((format(printf, 2, 3))) static void tell(const char *value, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *key = memory_format_list(format, arguments);
    va_end(arguments);
    (void)json_object_set_new(chosen->context, key, json_string(value));
    free(key);
}

static void register_suite(const struct suite *suite)
{
    struct shape shape;
    if (!shape_of(suite, chosen->settings, &shape)) {
        return;
    }
    if (suite->frozen != NULL) {
        for (const struct frozen *frozen = suite->frozen; frozen->n != 0; frozen++) {
            if (is_selected(frozen->n)) {
                char checksum[32];
                (void)snprintf(checksum, sizeof checksum, "%016" PRIx64, frozen->checksum);
                tell(checksum, "checksum of %s/n:%" PRIu32, suite->text.name, frozen->n);
                register_size(suite, frozen->n, &shape);
            }
        }
    } else if (suite->fixed_n != 0) {
        register_size(suite, suite->fixed_n, &shape);
    } else {
        for (size_t i = 0; i < chosen->size_count; i++) {
            register_size(suite, chosen->sizes[i], &shape);
        }
    }
}

static void make_floor_subjects(void)
{
    const struct tl_algo *algo = NULL;
    floor_subject_count = 0;
    while ((algo = floor_at(floor_subject_count)) != NULL && floor_subject_count < FLOOR_SUBJECTS) {
        struct suite_subject *subject = &floor_subjects[floor_subject_count++];
        subject->algo = algo;
        (void)snprintf(subject->name, sizeof subject->name, "%s", algo->name);
    }
}

size_t suite_register(const struct suite_selection *selection)
{
    chosen = selection;
    if (suite_min_time_ns() == 0) {
        workload_shorten();
    }
    make_floor_subjects();
    const struct suite *suite;
    size_t suites = 0;
    while (suite_at(selection->suites, suites) != NULL) {
        suites++;
    }
    size_t sizes = selection->size_count > FROZEN_MAX ? selection->size_count : FROZEN_MAX;
    size_t forms = selection->subject_count * (1 + FORMS_MAX) + floor_subject_count;
    rows = memory_new(suites * sizes * forms, sizeof *rows);
    for (size_t i = 0; (suite = suite_at(selection->suites, i)) != NULL; i++) {
        bool plays_recording = plain_of(suite).at[AXIS_DELAYS] == DELAYS_RECORDED;
        if (plays_recording && stream_recording() == NULL && !selection->named) {
            continue;
        }
        if (!suite_is_of(suite, selection->standard)) {
            continue;
        }
        if (suite->limit != NULL) {
            tell(suite->limit, "limit of %s", suite->text.name);
        }
        if (suite->limit_record != NULL) {
            tell(suite->limit_record, "limit of %s/%s", suite->text.name, axis_word(AXIS_RECORD));
        }
        register_suite(suite);
    }
    return row_count;
}

uint64_t suite_end(void)
{
    progress_end(&progress);
    for (size_t i = 0; i < row_count; i++) {
        for (int kind = 0; kind < WATCHED; kind++) {
            free(rows[i].longest[kind].calls);
        }
        free(rows[i].runs);
        free(rows[i].name);
    }
    free(rows);
    rows = NULL;
    row_count = 0;
    cache_forget();
    return failures;
}
