/*
 * Operations alone. A batch prepares, times, verifies; only the middle part is between the clocks.
 * Batches follow until their timed parts have lasted long enough.
 */
#include "stretch.h"
#include "suites.h"

#include <assert.h>
#include <inttypes.h>

enum {
    WARM_UP_ROUNDS = 6, /* until every timer's filing is a restart of the steady state: the span */
    BATCHES_PATIENCE = 5, /* batches last at most this multiple of their timed parts' time */
    IDLE_TICKS = 9000, /* per round; 20 s between restarts and this stay below the idle minimum */
    IDLE_ROUNDS = 12,  /* 108,000 ticks, where n is small enough to reload so often */
};
static_assert(2 * WORKLOAD_ROUND_TICKS + IDLE_TICKS < WORKLOAD_IDLE_MIN_TICKS,
              "nothing fires while a loaded structure ticks");

/* How often a batch repeats its n operations. */
static uint32_t batch_rounds(const struct fixture *fixture)
{
    return (uint32_t)rounds_of(fixture, fixture->workload->n);
}

/* --- pieces ---------------------------------------------------------------------------------- */

/* Advance tick by tick. `asks`, a constant in each caller: ask after each when the next one is due. */
static inline __attribute__((always_inline)) void tick(struct fixture *fixture, uint64_t ticks,
                                                       bool asks)
{
    uint64_t (*advance)(void *, uint64_t, uint64_t, tl_fire_fn, void *) = fixture->algo->advance;
    uint64_t (*next)(const void *) = fixture->algo->next;
    void *self = fixture->self;
    uint64_t end = fixture->clock + ticks;
    uint64_t sum = 0;
    for (uint64_t now = fixture->clock + 1; now <= end; now++) {
        (void)advance(self, now, TL_NO_BUDGET, on_fire, &fixture->fired);
        sum += asks ? next(self) : 0;
    }
    fixture->answers += sum;
    fixture->clock = end;
}

/* Starts all n timers at the present clock. */
static void start_all(struct fixture *fixture)
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
    uint64_t n = fixture->workload->expected.count;
    uint64_t end = fixture->clock + fixture->workload->span_ticks + fixture->late_ticks;
    uint64_t now = fixture->clock;
    while (now < end && fixture->fired.count < n) {
        now++;
        (void)advance(self, now, TL_NO_BUDGET, on_fire, &fixture->fired);
    }
    fixture->clock = now;
}

/* Stop the first `n` of the timers, in their order of stops; return how many were pending. */
static uint64_t stop_first(struct fixture *fixture, uint32_t n)
{
    enum tl_status (*stop)(void *, uint32_t) = fixture->algo->stop;
    void *self = fixture->self;
    const uint32_t *stops = fixture->workload->stops;
    uint64_t stopped = 0;
    for (uint32_t i = 0; i < n; i++) {
        stopped += stop(self, stops[i]) == TL_OK;
    }
    return stopped;
}

/* Applies the rounds of restarts that are in the workload, the clock running along. */
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

static bool verify_stopped(struct fixture *fixture, uint64_t stopped, uint32_t n)
{
    return !fixture->fires || stopped == n ||
           fail(fixture, "%" PRIu64 " of %" PRIu32 " pending timers could be stopped", stopped, n);
}

/* --- the operations -------------------------------------------------------------------------- */

/* Stops all timers again, none of which may fire then. Structures that leave stopped timers where
 * they are get the time to drop them. The stops are timed, unless `out` is NULL. */
static bool stop_and_verify(struct fixture *fixture, struct bench_measured *out)
{
    struct stretch stretch;
    stretch_begin(&stretch, out);
    uint64_t stopped = stop_first(fixture, fixture->workload->n);
    (void)stretch_end(&stretch);
    if (!verify_stopped(fixture, stopped, fixture->workload->n)) {
        return false;
    }
    fixture->clock += fixture->workload->span_ticks;
    (void)fixture->algo->advance(fixture->self, fixture->clock, TL_NO_BUDGET, on_fire,
                                 &fixture->fired);
    if (fixture->fired.count != 0) {
        return fail(fixture, "%" PRIu64 " timers fired after they had been stopped",
                    fixture->fired.count);
    }
    return true;
}

static bool expire_and_verify(struct fixture *fixture, struct bench_measured *out)
{
    struct stretch stretch;
    uint32_t cancelled = fixture->workload->cancelled;
    if (!verify_stopped(fixture, stop_first(fixture, cancelled), cancelled)) {
        return false;
    }
    stretch_begin(&stretch, out);
    drain(fixture);
    (void)stretch_end(&stretch);
    return verify_drained(fixture, &fixture->workload->expected);
}

/* The part of a timer's life that a suite times: its `source`. */
enum { LIFE_START, LIFE_STOP, LIFE_EXPIRE };

/* Start all timers, and stop them or let them expire. */
static bool live(struct fixture *fixture, uint32_t part, struct bench_measured *out)
{
    struct stretch stretch;
    stretch_begin(&stretch, part == LIFE_START ? out : NULL);
    start_all(fixture);
    (void)stretch_end(&stretch);
    return verify_started(fixture, fixture->workload->n) &&
           (part == LIFE_EXPIRE ? expire_and_verify(fixture, out)
                                : stop_and_verify(fixture, part == LIFE_STOP ? out : NULL));
}

static bool warm_up_life(struct fixture *fixture)
{
    return fixture->warm || live(fixture, LIFE_STOP, NULL);
}

static bool batch_life(struct fixture *fixture, struct bench_measured *out)
{
    for (uint32_t round = 0; round < batch_rounds(fixture); round++) {
        if (!live(fixture, fixture->row->suite->source, out)) {
            return false;
        }
    }
    out->operations += (uint64_t)fixture->workload->n * batch_rounds(fixture);
    return true;
}

/* Generates and applies rounds of restarts; the latter is timed, unless `out` is NULL. */
static bool restart_rounds(struct fixture *fixture, uint32_t rounds, struct bench_measured *out)
{
    uint32_t earliest = workload_restart_rounds(fixture->workload, fixture->round, rounds);
    fixture->round += rounds;
    fixture->earliest = fixture->clock + earliest;
    reset_fired(fixture);
    struct stretch stretch;
    stretch_begin(&stretch, out);
    restart(fixture, rounds);
    (void)stretch_end(&stretch);
    return verify_started(fixture, fixture->workload->n) && verify_nothing_fired(fixture);
}

static bool warm_up_restarts(struct fixture *fixture)
{
    for (uint32_t round = 0; round < WARM_UP_ROUNDS && !fixture->warm; round++) {
        if (!restart_rounds(fixture, 1, NULL)) {
            return false;
        }
    }
    return true;
}

static bool batch_restart(struct fixture *fixture, struct bench_measured *out)
{
    uint32_t rounds = batch_rounds(fixture);
    if (!restart_rounds(fixture, rounds, out)) {
        return false;
    }
    out->operations += (uint64_t)fixture->workload->n * rounds;
    return true;
}

/* Between the timed stretches one round of restarts puts the population's deadlines back. */
static bool batch_idle(struct fixture *fixture, struct bench_measured *out)
{
    bool asks = fixture->row->suite->needs == TL_CAP_NEXT;
    uint32_t rounds = batch_rounds(fixture) < IDLE_ROUNDS ? batch_rounds(fixture) : IDLE_ROUNDS;
    for (uint32_t round = 0; round < rounds; round++) {
        if (!restart_rounds(fixture, 1, NULL)) {
            return false;
        }
        struct stretch stretch;
        stretch_begin(&stretch, out);
        if (asks) {
            tick(fixture, IDLE_TICKS, true);
        } else {
            tick(fixture, IDLE_TICKS, false);
        }
        (void)stretch_end(&stretch);
        if (!verify_nothing_fired(fixture)) {
            return false;
        }
    }
    out->operations += (uint64_t)IDLE_TICKS * rounds;
    return !asks || verify_next(fixture);
}

static bool plan_operations(struct fixture *fixture)
{
    const uint64_t *at = fixture->row->shape.at;
    const struct workload_key key = {
        .n = fixture->row->n,
        .span_ticks = (uint32_t)at[AXIS_LONGEST],
        .durations = (uint32_t)at[AXIS_DURATIONS],
        .arrival = (uint32_t)at[AXIS_ARRIVAL],
        .cancelled_percent = (uint32_t)at[AXIS_CANCELLED],
    };
    fixture->workload = workload_get(&key);
    fixture->ids = fixture->row->n;
    fixture->max_delay_ticks =
        key.span_ticks > WORKLOAD_SPAN_TICKS ? key.span_ticks : WORKLOAD_SPAN_TICKS;
    return true;
}

/* Repeat batches until their timed parts have lasted long enough, or, with long preparations, until
 * everything has lasted BATCHES_PATIENCE times as long. A warm fixture has an untimed batch before
 * them, because others have used the caches since. */
static bool run_batches(struct fixture *fixture, struct bench_measured *out)
{
    bool (*batch)(struct fixture *, struct bench_measured *) = fixture->row->suite->batch;
    struct bench_measured untimed = {0};
    if (!fixture->row->suite->warm_up(fixture) || (fixture->warm && !batch(fixture, &untimed))) {
        return false;
    }
    uint64_t goal_ns = min_time_ns(fixture);
    uint64_t begun = cpu_now_ns();
    do {
        if (!still_patient(fixture) || !batch(fixture, out)) {
            return false;
        }
        out->batches++;
    } while (out->elapsed_ns < goal_ns && cpu_now_ns() - begun < BATCHES_PATIENCE * goal_ns);
    fixture->warm = true;
    return true;
}

#define BATCHES(warm, one)                                                                         \
    .plan = plan_operations, .measure = run_batches, .warm_up = (warm), .batch = (one)

const struct suite suites_operations[] = {
    {.text = {.name = "start",
              .what = "n starts, 1 to 60,000 ticks ahead, of timers that are not pending",
              .why = "the cost of a new connection or request",
              .per = "start"},
     .axes = 1 << AXIS_ARRIVAL | 1 << AXIS_LONGEST | 1 << AXIS_DURATIONS,
     .limit = "random-update/bytes:16",
     .source = LIFE_START,
     BATCHES(warm_up_life, batch_life)},
    {.text = {.name = "restart",
              .what = "n pending timers of 30,000 to 60,000 ticks, each restarted once in every "
                      "10,000 while the clock runs",
              .why = "the cost of each packet of a connection",
              .per = "restart"},
     .axes = 1 << AXIS_DURATIONS | 1 << AXIS_PAGES,
     .limit = "random-update/bytes:16",
     BATCHES(warm_up_restarts, batch_restart)},
    {.text = {.name = "stop",
              .what = "n pending timers stopped in random order",
              .why = "the cost of a response that came in time",
              .per = "stop"},
     .axes = 1 << AXIS_LONGEST | 1 << AXIS_ARRIVAL,
     .limit = "random-update/bytes:16",
     .source = LIFE_STOP,
     BATCHES(warm_up_life, batch_life)},
    {.text = {.name = "expire",
              .what = "n timers over 60,000 ticks, tick by tick until all have fired",
              .why = "the cost of a timeout, with its part of finding it",
              .per = "timer"},
     .floor_label = "fires nothing: the loop alone",
     .axes = 1 << AXIS_ARRIVAL | 1 << AXIS_LONGEST | 1 << AXIS_DURATIONS | 1 << AXIS_CANCELLED,
     .limit = "random-update/bytes:16",
     .source = LIFE_EXPIRE,
     BATCHES(warm_up_life, batch_life)},
    {.text = {.name = "tick",
              .what = "restart's n pending timers, left alone, tick by tick; nothing is due",
              .why = "the cost of the clock's progress with timers that are not due",
              .per = "tick"},
     .limit = "indirect-call",
     BATCHES(warm_up_restarts, batch_idle)},
    {.text = {.name = "next",
              .what = "the same, and `next` asked after every tick; subtract `tick`",
              .why = "the cost of determining how long an event loop may sleep",
              .per = "tick with its question"},
     .needs = TL_CAP_NEXT,
     .limit = "indirect-call",
     BATCHES(warm_up_restarts, batch_idle)},
    {.text = {.name = NULL}},
};
