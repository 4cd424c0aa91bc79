/*
 * Rows and their fixtures. A row has a fixture while it runs: one structure, made before its first
 * operation, and kept warm, so that neither page faults nor growth are timed.
 */
#include "suite.h"

#include "cache.h"
#include "floor.h"
#include "progress.h"
#include "stream.h"
#include "stretch.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* --- the forms of rows ----------------------------------------------------------------------- */

struct variant {
    enum suite_axis axis;
    uint64_t value;
    const char *word;
    const char *what;
};

/* The first of each axis is the plain one. */
static const struct variant variants[] = {
    {AXIS_JUMP, 1000000, "1000000", "a quarter of an hour in milliseconds"},
    {AXIS_JUMP, 10000000, "10000000", "three hours"},
    {AXIS_JUMP, 100000000, "100000000", "a day"},
    {AXIS_JUMP, 1000000000, "1000000000", "twelve days"},
#define ORDER_VARIANT(code, word, what) {AXIS_ORDER, code, word, what},
    WORKLOAD_ORDER_MAP(ORDER_VARIANT)
#undef ORDER_VARIANT
        {AXIS_DELAYS, WORKLOAD_SPAN_TICKS, "60000", "a minute in milliseconds"},
    {AXIS_DELAYS, 1000, "1000", "a second"},
    {AXIS_DELAYS, 3600000, "3600000", "an hour"},
    {AXIS_DURATIONS, 0, "any", "one for each timer"},
    {AXIS_DURATIONS, 1, "1", "one timeout for all"},
    {AXIS_DURATIONS, 8, "8", "as a server's configuration has"},
    {AXIS_DURATIONS, 64, "64", "as a server's many parts have"},
    {AXIS_CANCELLED, 0, "0", "none"},
    {AXIS_CANCELLED, 50, "50", "every other"},
    {AXIS_CANCELLED, 90, "90", "most"},
    {AXIS_CANCELLED, 99, "99", "nearly all"},
    {AXIS_POPULATION, POPULATION_STAGGERED, "staggered", "a steady state has been reached"},
    {AXIS_POPULATION, POPULATION_LOADED, "loaded", "all were started at one tick, just before"},
    {AXIS_TOUCH, TOUCH_TIMER, "timer", "nothing"},
    {AXIS_TOUCH, TOUCH_CONNECTION, "connection",
     "its own 64 bytes, as a server does that reads or writes it"},
    {AXIS_PAGES, PAGES_HUGE, "huge", "huge pages, where the kernel has them"},
    {AXIS_PAGES, PAGES_SMALL, "small", "pages of 4 KiB"},
    {AXIS_RECORD, 16, "16", "a deadline and something beside it"},
    {AXIS_RECORD, 8, "8", "a deadline"},
    {AXIS_RECORD, 64, "64", "a line of the cache"},
    {AXIS_CLOCK, CLOCK_THREAD, "thread", "the thread's processor time, by which all is measured"},
    {AXIS_CLOCK, CLOCK_WALL, "wall", "the monotonic clock"},
    {AXIS_CLOCK, CLOCK_CYCLES, "cycles", "the processor's own counter"},
#define INCREMENTS_VARIANT(code, word, what) {AXIS_INCREMENTS, code, word, what},
    HOLD_INCREMENTS_MAP(INCREMENTS_VARIANT)
#undef INCREMENTS_VARIANT
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static const struct {
    const char *word;
    const char *what;
} axes[AXES] = {
#define SUITE_AXIS_ROW(code, word, what) {word, what},
    SUITE_AXIS_MAP(SUITE_AXIS_ROW)
#undef SUITE_AXIS_ROW
};

static bool is_plain(size_t variant)
{
    return variant == 0 || variants[variant - 1].axis != variants[variant].axis;
}

static struct shape plain_shape(void)
{
    struct shape shape = {0};
    for (size_t i = 0; i < VARIANTS; i++) {
        if (is_plain(i)) {
            shape.at[variants[i].axis] = variants[i].value;
        }
    }
    return shape;
}

/* How far a jump goes, how large a record is and which clock is read is part of every name, and all
 * of them are measured without being asked for; else only what is not plain is named. */
static bool is_always_named(enum suite_axis axis)
{
    return axis == AXIS_JUMP || axis == AXIS_RECORD || axis == AXIS_CLOCK;
}

bool suite_variant_at(size_t index, struct suite_variant_text *text)
{
    if (index >= VARIANTS) {
        return false;
    }
    const struct variant *variant = &variants[index];
    *text = (struct suite_variant_text){axes[variant->axis].word, axes[variant->axis].what,
                                        variant->word, variant->what, is_plain(index)};
    return true;
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

bool suite_takes(const struct suite *suite, size_t variant)
{
    return (suite->axes >> variants[variant].axis & 1) != 0;
}

/* --- what all rows share --------------------------------------------------------------------- */

enum { FLOOR_SUBJECTS = 8 };

static struct row *rows;
static size_t row_count;
static size_t row_room;
static struct suite_subject floor_subjects[FLOOR_SUBJECTS];
static size_t floor_subject_count;
static uint64_t failures;
static uint64_t min_time_ns;
static double patience_s;

uint64_t suite_min_time_ns(void)
{
    return min_time_ns;
}

static int compare_ns(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t suite_clock_overhead_ns(void)
{
    enum { READINGS = 2001 };
    static uint64_t overhead_ns;
    if (overhead_ns == 0) {
        uint64_t passed_ns[READINGS];
        uint64_t last = cpu_now_ns();
        for (size_t i = 0; i < READINGS; i++) {
            uint64_t now = cpu_now_ns();
            passed_ns[i] = now - last;
            last = now;
        }
        qsort(passed_ns, READINGS, sizeof passed_ns[0], compare_ns);
        overhead_ns = passed_ns[READINGS / 2];
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
    static const char head[] = "left out: ";
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
    return cpu_now_ns() < fixture->patience_end_ns;
}

bool still_patient(struct fixture *fixture)
{
    if (has_patience(fixture)) {
        return true;
    }
    fixture->row->given_up = true;
    return leave_out(fixture, "preparing it lasts longer than %g s; --patience=S waits longer",
                     patience_s);
}

static inline __attribute__((always_inline)) void count_fired(struct fired *fired, uint32_t id,
                                                              uint64_t now)
{
    fired->count++;
    fired->ids += id;
    fired->checksum += workload_mix(id, now - fired->base);
}

void on_fire(void *fired, uint32_t id, uint64_t now)
{
    count_fired(fired, id, now);
}

void on_fire_touching(void *ctx, uint32_t id, uint64_t now)
{
    struct fired *fired = ctx;
    count_fired(fired, id, now);
    uint32_t connection = id / fired->timers;
    if (connection < fired->connection_count) { /* or the checks will tell */
        fired->connections[connection].operations++;
    }
}

tl_fire_fn fire_of(const struct fixture *fixture)
{
    return fixture->fired.connections != NULL ? on_fire_touching : on_fire;
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

static const struct tl_allocator *allocator_of(const struct row *row)
{
    static const struct tl_allocator small_pages = {NULL, small_pages_resize};
    return row->shape.at[AXIS_PAGES] == PAGES_SMALL ? &small_pages : tl_system_allocator();
}

/* --- fixtures -------------------------------------------------------------------------------- */

/* Finds out what the structure promises for the delays that are used here: every short one, and of
 * the long ones the powers of two. */
static void read_promises(struct fixture *fixture, const int64_t *options)
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

static bool make_connections(struct fixture *fixture)
{
    if (fixture->row->shape.at[AXIS_TOUCH] != TOUCH_CONNECTION) {
        return true;
    }
    size_t bytes = (size_t)fixture->ids / fixture->timers * sizeof(struct connection);
    struct connection *connections =
        tl_alloc(tl_system_allocator(), bytes, _Alignof(struct connection) > 64 ? 128 : 64);
    if (connections == NULL) {
        return fail(fixture, "no memory for the connections");
    }
    memset(connections, 0, bytes);
    fixture->fired.connections = connections;
    fixture->fired.timers = fixture->timers;
    fixture->fired.connection_count = fixture->ids / fixture->timers;
    return true;
}

/* A structure that cannot be had here, or not for so long delays, is nobody's failure. */
static bool refuse_create(struct fixture *fixture, enum tl_status status)
{
    if (status == TL_ERR_NOMEM && fixture->memory_limit_bytes != UINT64_MAX) {
        return leave_out(fixture,
                         "%" PRIu32 " timers of %" PRIu64 " ticks take more than %" PRIu64 " MiB",
                         fixture->ids, fixture->max_delay_ticks, fixture->memory_limit_bytes >> 20);
    }
    if (status == TL_ERR_UNAVAILABLE || status == TL_ERR_CAPACITY) {
        return leave_out(fixture, "%s (%s)", tl_status_text(status), tl_status_name(status));
    }
    return fail(fixture, "create: %s (%s)", tl_status_text(status), tl_status_name(status));
}

static bool make_fixture(struct fixture *fixture, struct row *row)
{
    *fixture = (struct fixture){
        .row = row,
        .algo = row->subject->algo,
        .timers = 1,
        .memory_limit_bytes = UINT64_MAX,
        .patience_end_ns = UINT64_MAX,
    };
    if (!row->suite->plan(fixture)) {
        return false;
    }
    /* The operations are made once for all: that is not the structure's time. */
    fixture->patience_end_ns = cpu_now_ns() + (uint64_t)(patience_s * 1e9);
    read_promises(fixture, row->subject->options);
    if (!make_connections(fixture)) {
        return false;
    }
    tl_counting_allocator(&fixture->memory, allocator_of(row));
    fixture->memory.limit_bytes = fixture->memory_limit_bytes;
    struct tl_config config = {
        .capacity = fixture->ids,
        .max_delay_ticks = fixture->max_delay_ticks,
        .options = row->subject->options,
        .allocator = &fixture->memory.allocator,
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
    tl_free(tl_system_allocator(), fixture->fired.connections,
            (size_t)fixture->ids / fixture->timers * sizeof(struct connection), 64);
}

/* --- rows ------------------------------------------------------------------------------------ */

static struct progress progress;
static uint64_t runs_done;

void suite_watch(uint64_t repetitions)
{
    progress_begin(&progress, "measuring", "rows", repetitions * row_count);
}

/* What stands behind a row of a structure that declares itself slow. */
#define SLOW_LABEL "declares itself slow: one round a batch"

static bool measure_row(struct fixture *fixture, struct row *row, struct bench_measured *out)
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

static const char *run_row(void *arg, struct bench_measured *out)
{
    static char error[sizeof((struct fixture *)NULL)->error];
    struct row *row = arg;
    struct fixture fixture = {.timers = 1};
    progress_update(&progress, runs_done++);
    bool measured = measure_row(&fixture, row, out);
    end_fixture(&fixture);
    /* A rate needs a time, however short. */
    out->elapsed_ns += out->elapsed_ns == 0;
    if (!measured) {
        failures += !fixture.left_out;
        memcpy(error, fixture.error, sizeof error);
        return error;
    }
    return NULL;
}

static struct row *add_row(void)
{
    return row_count < row_room ? &rows[row_count++] : NULL;
}

/* One row; `variant` is what it differs in, or VARIANTS for the plain one. */
static void register_row(const struct suite *suite, const struct suite_subject *subject, uint32_t n,
                         size_t variant)
{
    struct row *row = add_row();
    char name[512];
    char form[64] = "";
    *row = (struct row){.suite = suite, .subject = subject, .n = n, .shape = plain_shape()};
    if (variant < VARIANTS) {
        row->shape.at[variants[variant].axis] = variants[variant].value;
        (void)snprintf(form, sizeof form, "/%s:%s", axes[variants[variant].axis].word,
                       variants[variant].word);
    }
    if (subject == NULL) {
        (void)snprintf(name, sizeof name, "%s/n:%" PRIu32 "%s", suite->text.name, n, form);
    } else if (floor_is(subject->algo)) {
        (void)snprintf(name, sizeof name, "limit/%s/n:%" PRIu32 "/of:%s", subject->name, n,
                       suite->text.name);
    } else {
        (void)snprintf(name, sizeof name, "%s/%s/n:%" PRIu32 "%s", suite->text.name, subject->name,
                       n, form);
    }
    bench_register(name, run_row, row);
}

/* All forms of a row that are selected. `subject` is NULL where the machine is measured. */
static void register_forms(const struct suite *suite, const struct suite_subject *subject,
                           uint32_t n, bool all)
{
    bool has_nameless = true;
    for (size_t i = 0; i < VARIANTS; i++) {
        bool takes = suite_takes(suite, i);
        bool always = is_always_named(variants[i].axis);
        has_nameless = has_nameless && !(takes && always);
        if (takes && (always || (all && !is_plain(i)))) {
            register_row(suite, subject, n, i);
        }
    }
    if (has_nameless) {
        register_row(suite, subject, n, VARIANTS);
    }
}

static void register_suite(const struct suite *suite, const struct suite_selection *selection)
{
    size_t sizes = suite->fixed_n != 0 ? 1 : selection->size_count;
    for (size_t n = 0; n < sizes; n++) {
        uint32_t size = suite->fixed_n != 0 ? suite->fixed_n : selection->sizes[n];
        if (suite->plan == NULL) {
            register_forms(suite, NULL, size, selection->variants);
            continue;
        }
        for (size_t i = 0; suite->has_floor && i < floor_subject_count; i++) {
            register_row(suite, &floor_subjects[i], size, VARIANTS);
        }
        for (size_t i = 0; i < selection->subject_count; i++) {
            const struct suite_subject *subject = &selection->subjects[i];
            if ((subject->algo->capabilities & suite->needs) == suite->needs) {
                register_forms(suite, subject, size, selection->variants);
            }
        }
    }
}

/* Which limit rows fit a suite, into the context: whoever reads the figures need not know. */
static void tell_limits(const struct suite *suite)
{
    char key[96];
    if (suite->limit != NULL) {
        (void)snprintf(key, sizeof key, "limit of %s", suite->text.name);
        bench_context(key, suite->limit);
    }
    if (suite->limit_touch != NULL) {
        (void)snprintf(key, sizeof key, "limit of %s/%s:connection", suite->text.name,
                       axes[AXIS_TOUCH].word);
        bench_context(key, suite->limit_touch);
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

bool suite_register(const struct suite_selection *selection)
{
    min_time_ns = (uint64_t)(selection->min_time_s * 1e9);
    patience_s = selection->patience_s;
    if (min_time_ns == 0) {
        workload_shorten();
    }
    make_floor_subjects();
    const struct suite *suite;
    size_t suites = 0;
    while (suite_at(selection->suites, suites) != NULL) {
        suites++;
    }
    row_room = suites * selection->size_count *
               (selection->subject_count * (1 + VARIANTS) + floor_subject_count);
    rows = calloc(row_room, sizeof *rows);
    if (rows == NULL) {
        return false;
    }
    for (size_t i = 0; (suite = suite_at(selection->suites, i)) != NULL; i++) {
        tell_limits(suite);
        register_suite(suite, selection);
    }
    return true;
}

uint64_t suite_failures(void)
{
    return failures;
}

void suite_end(void)
{
    progress_end(&progress);
    for (size_t i = 0; i < row_count; i++) {
        free(rows[i].least_ns);
    }
    free(rows);
    rows = NULL;
    row_count = 0;
    cache_forget();
}
