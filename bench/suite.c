/*
 * The operations. Each row (operation, structure, n) has a fixture while it runs: one structure,
 * made before the first batch and kept warm from batch to batch, so that neither page faults nor
 * growth are timed. A batch prepares, times, verifies; only the middle part is between the clocks.
 */
#include "suite.h"

#include "bench_shim.h"
#include "workload.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    WARM_UP_ROUNDS = 6, /* until every timer's filing is a restart of the steady state: the span */
    PATIENCE = 5,
    IDLE_TICKS = 9000, /* per round; 20 s between restarts and this stay below the idle minimum */
    IDLE_ROUNDS = 12,  /* 108,000 ticks, where n is small enough to reload so often */
    EMPTY_TICKS = 50000,
    EMPTY_ROUNDS = 2,
    EMPTY_TIMERS = 10,
};
static_assert(2 * WORKLOAD_ROUND_TICKS + IDLE_TICKS < WORKLOAD_IDLE_MIN_TICKS,
              "nothing fires while a loaded structure ticks");
static_assert((int)EMPTY_TICKS < (int)WORKLOAD_SPAN_TICKS,
              "nothing fires while an empty structure ticks");
static_assert((int)EMPTY_TIMERS <= (int)SUITE_N_MIN, "the far timers have ids");

/* What the callback has seen since `base`. */
struct fired {
    uint64_t base;
    uint64_t count;
    uint64_t ids;
    uint64_t checksum;
};

struct fixture {
    const struct tl_algo *algo;
    void *self;
    struct tl_memory memory;
    struct workload *workload;
    uint64_t clock;
    uint32_t round;      /* of restarts, the next */
    uint64_t earliest;   /* deadline pending after the last round of restarts */
    bool fires;          /* not merely a floor */
    bool exact;          /* with these options and every delay that is used here */
    uint64_t late_ticks; /* the most that it may be late */
    bool slow;           /* declares an operation that is linear in the timers */
    struct fired fired;
    enum tl_status failure; /* the last status of a start that should not have been */
    bool left_out;          /* the error is no failure: there is nothing here to measure */
    uint64_t next_sum;      /* keeps the answers of `next` alive */
    char error[256];
};

struct operation {
    struct suite_operation_text text;
    uint32_t needs;          /* capabilities; where one is missing there is no row */
    const char *floor_label; /* what a row means for a structure that fires nothing, or NULL */
    bool (*warm_up)(struct fixture *fixture);
    bool (*batch)(struct fixture *fixture, struct bench_measured *out);
};

struct row {
    const struct operation *operation;
    const struct suite_subject *subject;
    struct workload *workload;
    uint32_t n;
};

static struct row *rows;
static size_t row_count;
static struct workload *workloads; /* one per size; n == 0 until a row needs it */
static size_t workload_count;
static uint64_t failures;

/* How long the timed parts of a row are to last. */
static uint64_t min_time_ns;

/* --- pieces ---------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static bool fail(struct fixture *fixture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the row's error; returns false, so that `return fail(...)` ends a function. */
static bool fail(struct fixture *fixture, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(fixture->error, sizeof fixture->error, format, arguments);
    va_end(arguments);
    return false;
}

static void on_fire(void *ctx, uint32_t id, uint64_t now)
{
    struct fired *fired = ctx;
    fired->count++;
    fired->ids += id;
    fired->checksum += workload_mix(id, now - fired->base);
}

static void reset_fired(struct fixture *fixture)
{
    fixture->fired = (struct fired){.base = fixture->clock};
}

/* Advances tick by tick. */
static void tick(struct fixture *fixture, uint64_t ticks)
{
    uint64_t (*advance)(void *, uint64_t, uint64_t, tl_fire_fn, void *) = fixture->algo->advance;
    void *self = fixture->self;
    uint64_t end = fixture->clock + ticks;
    for (uint64_t now = fixture->clock + 1; now <= end; now++) {
        (void)advance(self, now, TL_NO_BUDGET, on_fire, &fixture->fired);
    }
    fixture->clock = end;
}

/* Advances tick by tick, and asks after each when the next one is due. */
static void tick_and_ask(struct fixture *fixture, uint64_t ticks)
{
    uint64_t (*advance)(void *, uint64_t, uint64_t, tl_fire_fn, void *) = fixture->algo->advance;
    uint64_t (*next)(const void *) = fixture->algo->next;
    void *self = fixture->self;
    uint64_t end = fixture->clock + ticks;
    uint64_t sum = 0;
    for (uint64_t now = fixture->clock + 1; now <= end; now++) {
        (void)advance(self, now, TL_NO_BUDGET, on_fire, &fixture->fired);
        sum += next(self);
    }
    fixture->next_sum += sum;
    fixture->clock = end;
}

/* Starts all n timers at the present clock. */
static void fill(struct fixture *fixture)
{
    enum tl_status (*start)(void *, uint32_t, uint64_t) = fixture->algo->start;
    void *self = fixture->self;
    const struct workload_start *starts = fixture->workload->starts;
    uint32_t n = fixture->workload->n;
    uint64_t clock = fixture->clock;
    enum tl_status failure = TL_OK;
    for (uint32_t i = 0; i < n; i++) {
        enum tl_status status = start(self, starts[i].id, clock + starts[i].delay_ticks);
        failure = status != TL_OK ? status : failure;
    }
    fixture->failure = failure;
    reset_fired(fixture);
}

/* Advances tick by tick until all n timers have fired, or should have. */
static void drain(struct fixture *fixture)
{
    uint64_t (*advance)(void *, uint64_t, uint64_t, tl_fire_fn, void *) = fixture->algo->advance;
    void *self = fixture->self;
    uint64_t n = fixture->workload->n;
    uint64_t end = fixture->clock + WORKLOAD_SPAN_TICKS + fixture->late_ticks;
    uint64_t now = fixture->clock;
    while (now < end && fixture->fired.count < n) {
        now++;
        (void)advance(self, now, TL_NO_BUDGET, on_fire, &fixture->fired);
    }
    fixture->clock = now;
}

/* Stops all n timers; returns how many were pending. */
static uint64_t stop_all(struct fixture *fixture)
{
    enum tl_status (*stop)(void *, uint32_t) = fixture->algo->stop;
    void *self = fixture->self;
    const uint32_t *stops = fixture->workload->stops;
    uint32_t n = fixture->workload->n;
    uint64_t stopped = 0;
    for (uint32_t i = 0; i < n; i++) {
        stopped += stop(self, stops[i]) == TL_OK;
    }
    return stopped;
}

/* Applies the rounds of restarts that stand in the workload, the clock running along. */
static void restart(struct fixture *fixture, uint32_t rounds)
{
    enum tl_status (*start)(void *, uint32_t, uint64_t) = fixture->algo->start;
    uint64_t (*advance)(void *, uint64_t, uint64_t, tl_fire_fn, void *) = fixture->algo->advance;
    void *self = fixture->self;
    const struct workload_restart *restarts = fixture->workload->restarts;
    size_t count = (size_t)fixture->workload->n * rounds;
    uint64_t base = fixture->clock;
    uint64_t clock = base;
    enum tl_status failure = TL_OK;
    for (size_t i = 0; i < count; i++) {
        uint64_t now = base + restarts[i].tick;
        if (now != clock) {
            clock = now;
            (void)advance(self, now, TL_NO_BUDGET, on_fire, &fixture->fired);
        }
        enum tl_status status = start(self, restarts[i].id, now + restarts[i].delay_ticks);
        failure = status != TL_OK ? status : failure;
    }
    fixture->clock = base + (uint64_t)rounds * WORKLOAD_ROUND_TICKS;
    (void)advance(self, fixture->clock, TL_NO_BUDGET, on_fire, &fixture->fired);
    fixture->failure = failure;
}

/* --- verification, never timed --------------------------------------------------------------- */

static bool verify_started(struct fixture *fixture)
{
    if (fixture->failure != TL_OK) {
        return fail(fixture, "start: %s (%s)", tl_status_text(fixture->failure),
                    tl_status_name(fixture->failure));
    }
    uint64_t count = fixture->algo->count(fixture->self);
    if (fixture->fires && fixture->exact && count != fixture->workload->n) {
        return fail(fixture, "%" PRIu64 " timers are pending after %" PRIu32 " were started", count,
                    fixture->workload->n);
    }
    return true;
}

/* The same timers, and from an exact structure at the same ticks, as the operations demand. */
static bool verify_drained(struct fixture *fixture)
{
    const struct fired *fired = &fixture->fired;
    const struct workload_expected *expected = &fixture->workload->expected;
    if (!fixture->fires) {
        return true;
    }
    if (fired->count != fixture->workload->n) {
        return fail(fixture, "%" PRIu64 " of %" PRIu32 " timers fired", fired->count,
                    fixture->workload->n);
    }
    if (fired->ids != expected->ids) {
        return fail(fixture, "the timers that fired are not those that were started");
    }
    if (fixture->exact && fired->checksum != expected->checksum) {
        return fail(fixture, "the ticks at which timers fired are not those at which they are due");
    }
    return true;
}

static bool verify_nothing_fired(struct fixture *fixture)
{
    if (fixture->exact && fixture->fired.count != 0) {
        return fail(fixture, "%" PRIu64 " timers fired where none was due", fixture->fired.count);
    }
    return true;
}

static bool verify_next(struct fixture *fixture)
{
    if (!fixture->fires || !fixture->exact) {
        return true;
    }
    uint64_t next = fixture->algo->next(fixture->self);
    bool exact = (fixture->algo->capabilities & TL_CAP_NEXT_EXACT) != 0;
    if (next <= fixture->clock || next > fixture->earliest ||
        (exact && next != fixture->earliest)) {
        return fail(fixture, "next says %" PRIu64 " at %" PRIu64 ", the next is due at %" PRIu64,
                    next, fixture->clock, fixture->earliest);
    }
    return true;
}

/* --- the operations -------------------------------------------------------------------------- */

#define SLOW_LABEL "declares itself slow: one round a batch"

/* How often a batch repeats its n operations. Once, where each may look at all timers. */
static uint32_t batch_rounds(const struct fixture *fixture)
{
    return fixture->slow ? 1 : fixture->workload->rounds;
}

/* Stops all timers again, none of which may fire then. Structures that leave stopped timers where
 * they are get the time to drop them. *elapsed_ns gets the time of the stops. */
static bool stop_and_verify(struct fixture *fixture, uint64_t *elapsed_ns)
{
    uint64_t begun = now_ns();
    uint64_t stopped = stop_all(fixture);
    *elapsed_ns = now_ns() - begun;
    if (fixture->fires && stopped != fixture->workload->n) {
        return fail(fixture, "%" PRIu64 " of %" PRIu32 " pending timers could be stopped", stopped,
                    fixture->workload->n);
    }
    fixture->clock += WORKLOAD_SPAN_TICKS;
    (void)fixture->algo->advance(fixture->self, fixture->clock, TL_NO_BUDGET, on_fire,
                                 &fixture->fired);
    if (fixture->fired.count != 0) {
        return fail(fixture, "%" PRIu64 " timers fired after they had been stopped",
                    fixture->fired.count);
    }
    return true;
}

static bool warm_up_memory(struct fixture *fixture)
{
    uint64_t untold = 0;
    fill(fixture);
    return verify_started(fixture) && stop_and_verify(fixture, &untold);
}

static bool batch_start(struct fixture *fixture, struct bench_measured *out)
{
    for (uint32_t round = 0; round < batch_rounds(fixture); round++) {
        uint64_t untold = 0;
        uint64_t begun = now_ns();
        fill(fixture);
        out->elapsed_ns += now_ns() - begun;
        if (!verify_started(fixture) || !stop_and_verify(fixture, &untold)) {
            return false;
        }
    }
    out->operations += (uint64_t)fixture->workload->n * batch_rounds(fixture);
    return true;
}

static bool batch_expire(struct fixture *fixture, struct bench_measured *out)
{
    for (uint32_t round = 0; round < batch_rounds(fixture); round++) {
        fill(fixture);
        if (!verify_started(fixture)) {
            return false;
        }
        uint64_t begun = now_ns();
        drain(fixture);
        out->elapsed_ns += now_ns() - begun;
        if (!verify_drained(fixture)) {
            return false;
        }
    }
    out->operations += (uint64_t)fixture->workload->n * batch_rounds(fixture);
    return true;
}

static bool batch_stop(struct fixture *fixture, struct bench_measured *out)
{
    for (uint32_t round = 0; round < batch_rounds(fixture); round++) {
        uint64_t elapsed_ns = 0;
        fill(fixture);
        if (!verify_started(fixture) || !stop_and_verify(fixture, &elapsed_ns)) {
            return false;
        }
        out->elapsed_ns += elapsed_ns;
    }
    out->operations += (uint64_t)fixture->workload->n * batch_rounds(fixture);
    return true;
}

/* Generates and applies rounds of restarts; *elapsed_ns gets the time of the latter. */
static bool restart_rounds(struct fixture *fixture, uint32_t rounds, uint64_t *elapsed_ns)
{
    uint32_t earliest = workload_restart_rounds(fixture->workload, fixture->round, rounds);
    fixture->round += rounds;
    fixture->earliest = fixture->clock + earliest;
    reset_fired(fixture);
    uint64_t begun = now_ns();
    restart(fixture, rounds);
    *elapsed_ns = now_ns() - begun;
    return verify_started(fixture) && verify_nothing_fired(fixture);
}

static bool warm_up_restarts(struct fixture *fixture)
{
    for (uint32_t round = 0; round < WARM_UP_ROUNDS; round++) {
        uint64_t untold = 0;
        if (!restart_rounds(fixture, 1, &untold)) {
            return false;
        }
    }
    return true;
}

static bool batch_restart(struct fixture *fixture, struct bench_measured *out)
{
    uint32_t rounds = batch_rounds(fixture);
    uint64_t elapsed_ns = 0;
    if (!restart_rounds(fixture, rounds, &elapsed_ns)) {
        return false;
    }
    out->elapsed_ns += elapsed_ns;
    out->operations += (uint64_t)fixture->workload->n * rounds;
    return true;
}

static bool batch_tick_empty(struct fixture *fixture, struct bench_measured *out)
{
    for (uint32_t round = 0; round < EMPTY_ROUNDS; round++) {
        for (uint32_t id = 0; id < EMPTY_TIMERS; id++) {
            enum tl_status status =
                fixture->algo->start(fixture->self, id, fixture->clock + WORKLOAD_SPAN_TICKS);
            if (status != TL_OK) {
                return fail(fixture, "start: %s (%s)", tl_status_text(status),
                            tl_status_name(status));
            }
        }
        reset_fired(fixture);
        uint64_t begun = now_ns();
        tick(fixture, EMPTY_TICKS);
        out->elapsed_ns += now_ns() - begun;
        if (!verify_nothing_fired(fixture)) {
            return false;
        }
    }
    out->operations += (uint64_t)EMPTY_TICKS * EMPTY_ROUNDS;
    return true;
}

/* Between the timed stretches one round of restarts puts the population's deadlines back. */
static bool batch_idle(struct fixture *fixture, struct bench_measured *out,
                       void (*pass)(struct fixture *, uint64_t))
{
    uint32_t rounds = batch_rounds(fixture) < IDLE_ROUNDS ? batch_rounds(fixture) : IDLE_ROUNDS;
    for (uint32_t round = 0; round < rounds; round++) {
        uint64_t untold = 0;
        if (!restart_rounds(fixture, 1, &untold)) {
            return false;
        }
        uint64_t begun = now_ns();
        pass(fixture, IDLE_TICKS);
        out->elapsed_ns += now_ns() - begun;
        if (!verify_nothing_fired(fixture)) {
            return false;
        }
    }
    out->operations += (uint64_t)IDLE_TICKS * rounds;
    return true;
}

static bool batch_tick_loaded(struct fixture *fixture, struct bench_measured *out)
{
    return batch_idle(fixture, out, tick);
}

static bool batch_next(struct fixture *fixture, struct bench_measured *out)
{
    return batch_idle(fixture, out, tick_and_ask) && verify_next(fixture);
}

static const struct operation operations[] = {
    {.text = {"start", "n starts, 1 to 60,000 ticks ahead; ns a start"},
     .warm_up = warm_up_memory,
     .batch = batch_start},
    {.text = {"restart", "n pending timers of 30,000 to 60,000 ticks, each restarted about every "
                         "10,000 while the clock runs; ns a restart"},
     .warm_up = warm_up_restarts,
     .batch = batch_restart},
    {.text = {"stop", "n pending timers stopped in random order; ns a stop"},
     .warm_up = warm_up_memory,
     .batch = batch_stop},
    {.text = {"expire",
              "n timers over 60,000 ticks, tick by tick until all have fired; ns a timer"},
     .floor_label = "fires nothing: the loop alone",
     .warm_up = warm_up_memory,
     .batch = batch_expire},
    {.text = {"tick_empty", "ten timers far ahead, tick by tick; ns a tick"},
     .batch = batch_tick_empty},
    {.text = {"tick_loaded", "restart's n pending timers, left alone, tick by tick; ns a tick"},
     .warm_up = warm_up_restarts,
     .batch = batch_tick_loaded},
    {.text = {"next", "the same, and `next` asked after every tick; ns for both"},
     .needs = TL_CAP_NEXT,
     .warm_up = warm_up_restarts,
     .batch = batch_next},
};

bool suite_operation(size_t index, struct suite_operation_text *text)
{
    if (index >= sizeof operations / sizeof operations[0]) {
        return false;
    }
    *text = operations[index].text;
    return true;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Finds out what the structure promises for the delays that are used here. */
static void read_promises(struct fixture *fixture, const int64_t *options)
{
    fixture->fires = (fixture->algo->capabilities & TL_CAP_FIRES_NOTHING) == 0;
    fixture->slow = (fixture->algo->capabilities & TL_CAP_SLOW) != 0;
    fixture->exact = true;
    for (uint64_t delay_ticks = 1; delay_ticks <= WORKLOAD_SPAN_TICKS; delay_ticks++) {
        struct tl_precision precision = tl_algo_precision(fixture->algo, options, delay_ticks);
        if (precision.early_ticks != 0 || precision.late_ticks != 0) {
            fixture->exact = false;
        }
        if (precision.late_ticks > fixture->late_ticks) {
            fixture->late_ticks = precision.late_ticks;
        }
    }
}

static bool make_fixture(struct fixture *fixture, const struct row *row)
{
    *fixture = (struct fixture){.algo = row->subject->algo, .workload = row->workload};
    if (row->workload->n == 0 && !workload_create(row->workload, row->n)) {
        return fail(fixture, "no memory for the operations");
    }
    read_promises(fixture, row->subject->options);
    tl_counting_allocator(&fixture->memory, tl_system_allocator());
    struct tl_config config = {
        .capacity = row->n,
        .max_delay_ticks = WORKLOAD_SPAN_TICKS,
        .options = row->subject->options,
        .allocator = &fixture->memory.allocator,
    };
    enum tl_status status = fixture->algo->create(&config, &fixture->self);
    if (status != TL_OK) {
        fixture->self = NULL;
        fixture->left_out = status == TL_ERR_UNAVAILABLE;
        return fail(fixture, "%s: %s (%s)", fixture->left_out ? "left out" : "create",
                    tl_status_text(status), tl_status_name(status));
    }
    return row->operation->warm_up == NULL || row->operation->warm_up(fixture);
}

/* Batches until their timed parts have lasted long enough; or, where preparations are so much
 * longer that this would take for ever, until everything has lasted PATIENCE times as long. */
static bool run_batches(struct fixture *fixture, const struct operation *operation,
                        struct bench_measured *out)
{
    uint64_t begun = now_ns();
    do {
        if (!operation->batch(fixture, out)) {
            return false;
        }
        out->batches++;
    } while (out->elapsed_ns < min_time_ns && now_ns() - begun < PATIENCE * min_time_ns);
    out->bytes_per_timer = (double)fixture->memory.peak_bytes / (double)fixture->workload->n;
    out->label = fixture->slow ? SLOW_LABEL : fixture->fires ? NULL : operation->floor_label;
    return true;
}

static void show_progress(const struct row *row)
{
    if (isatty(STDERR_FILENO) != 0) {
        (void)fprintf(stderr, "\r\033[K%zu of %zu: %s/%s/%" PRIu32, (size_t)(row - rows) + 1,
                      row_count, row->operation->text.name, row->subject->name, row->n);
    }
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO) != 0) {
        (void)fprintf(stderr, "\r\033[K");
    }
}

static const char *measure_row(void *arg, struct bench_measured *out)
{
    static char error[sizeof((struct fixture *)NULL)->error];
    const struct row *row = arg;
    if ((row->subject->algo->capabilities & TL_CAP_SLOW) != 0 && row->n > SUITE_SLOW_N_MAX) {
        (void)snprintf(error, sizeof error,
                       "left out: the structure declares itself slow, and is run up to %d timers",
                       (int)SUITE_SLOW_N_MAX);
        return error;
    }
    show_progress(row);
    struct fixture fixture;
    bool measured = make_fixture(&fixture, row) && run_batches(&fixture, row->operation, out);
    if (fixture.self != NULL) {
        fixture.algo->destroy(fixture.self);
    }
    clear_progress();
    if (!measured) {
        failures += !fixture.left_out;
        memcpy(error, fixture.error, sizeof error);
        return error;
    }
    return NULL;
}

bool suite_register(const struct suite_subject *subjects, size_t subject_count,
                    const uint32_t *sizes, size_t size_count, double min_time_s)
{
    min_time_ns = (uint64_t)(min_time_s * 1e9);
    size_t operation_count = sizeof operations / sizeof operations[0];
    rows = calloc(operation_count * subject_count * size_count, sizeof *rows);
    workloads = calloc(size_count, sizeof *workloads);
    if (rows == NULL || workloads == NULL) {
        suite_end();
        return false;
    }
    workload_count = size_count;
    for (size_t o = 0; o < operation_count; o++) {
        for (size_t n = 0; n < size_count; n++) {
            for (size_t s = 0; s < subject_count; s++) {
                uint32_t needs = operations[o].needs;
                if ((subjects[s].algo->capabilities & needs) != needs) {
                    continue;
                }
                struct row *row = &rows[row_count++];
                *row = (struct row){&operations[o], &subjects[s], &workloads[n], sizes[n]};
                char name[512];
                (void)snprintf(name, sizeof name, "%s/%s/%" PRIu32, operations[o].text.name,
                               subjects[s].name, sizes[n]);
                bench_register(name, measure_row, row);
            }
        }
    }
    return true;
}

uint64_t suite_failures(void)
{
    return failures;
}

void suite_end(void)
{
    for (size_t i = 0; i < workload_count; i++) {
        workload_destroy(&workloads[i]);
    }
    free(workloads);
    free(rows);
    rows = NULL;
    row_count = 0;
    workloads = NULL;
    workload_count = 0;
}
