/*
 * The steady states of a server, as far as its timers go, but for hold's. Each plays a fixed number
 * of operations, the same for every structure: some untimed, until whatever a structure leaves
 * behind it has become as much as it ever will; then a stretch between two readings of the clock;
 * then a stretch with a clock around every advance, for the longest.
 */
#include "stream.h"
#include "stretch.h"
#include "watched.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    MIXED_TIMED_TICKS = 10000, /* where that is long enough: its periods have many operations */
    FAR_TIMERS = 10,
    FAR_MEMORY_BYTES = 64 << 20, /* for ten timers */
    JUMPS_MAX = 1000,
    EMPTY_TICKS = 50000,
    EMPTY_ROUNDS = 4,
};

/* --- streams --------------------------------------------------------------------------------- */

/* A place in a stream. */
struct cursor {
    const struct stream *stream;
    size_t tick;
    size_t stop;
    size_t start;
    uint64_t base; /* the clock at the period's beginning */
};

/* Plays `count` ticks. `touch` and `stall` are constants in each caller, so that each loop holds
 * its own work only. */
static inline __attribute__((always_inline)) void play_loop(struct fixture *fixture,
                                                            struct cursor *cursor, size_t count,
                                                            bool touch, struct stall *stall)
{
    enum tl_status (*start)(void *, uint32_t, uint64_t) = fixture->algo->start;
    enum tl_status (*stop)(void *, uint32_t) = fixture->algo->stop;
    void *self = fixture->self;
    struct connection *connections = fixture->fired.connections;
    uint32_t timers = fixture->timers;
    const struct stream_tick *ticks = cursor->stream->ticks + cursor->tick;
    const uint32_t *stops = cursor->stream->stops + cursor->stop;
    const struct workload_start *starts = cursor->stream->starts + cursor->start;
    enum tl_status failure = TL_OK;
    for (size_t i = 0; i < count; i++) {
        uint64_t now = cursor->base + ticks[i].tick;
        advance_once(fixture, now, touch ? on_fire_touching : on_fire, &fixture->fired, stall);
        for (uint32_t k = 0; k < ticks[i].stops; k++) {
            uint32_t id = stops[k];
            if (touch) {
                connections[id / timers].operations++;
            }
            (void)stop(self, id);
        }
        stops += ticks[i].stops;
        for (uint32_t k = 0; k < ticks[i].starts; k++) {
            uint32_t id = starts[k].id;
            if (touch) {
                connections[id / timers].operations++;
            }
            enum tl_status status = start(self, id, now + starts[k].delay_ticks);
            failure = status != TL_OK ? status : failure;
        }
        starts += ticks[i].starts;
        fixture->clock = now;
    }
    fixture->failure = failure != TL_OK ? failure : fixture->failure;
    cursor->tick += count;
    cursor->stop = (size_t)(stops - cursor->stream->stops);
    cursor->start = (size_t)(starts - cursor->stream->starts);
}

static void play(struct fixture *fixture, struct cursor *cursor, size_t count, struct stall *stall)
{
    if (touches(fixture)) {
        if (stall != NULL) {
            play_loop(fixture, cursor, count, true, stall);
        } else {
            play_loop(fixture, cursor, count, true, NULL);
        }
    } else if (stall != NULL) {
        play_loop(fixture, cursor, count, false, stall);
    } else {
        play_loop(fixture, cursor, count, false, NULL);
    }
}

/* The same, but only as long as there is patience. */
static bool play_untimed(struct fixture *fixture, struct cursor *cursor, size_t count)
{
    while (count > 0) {
        size_t slice = count < SLICE_TICKS ? count : SLICE_TICKS;
        play(fixture, cursor, slice, NULL);
        count -= slice;
        if (!still_patient(fixture)) {
            return false;
        }
    }
    return true;
}

/* The same with a clock around every advance. Out of patience, it ends early: the figures are there
 * already, and how many advances were watched is said. True if it played all. */
static bool play_watched(struct fixture *fixture, struct cursor *cursor, size_t count,
                         struct stall *stall)
{
    while (count > 0 && has_patience(fixture)) {
        size_t slice = count < SLICE_TICKS ? count : SLICE_TICKS;
        play(fixture, cursor, slice, stall);
        count -= slice;
    }
    return count == 0;
}

/* To the beginning of the next period. A floor is told what fires in it, for which it must not be
 * the first. */
static void begin_period(struct fixture *fixture, struct cursor *cursor)
{
    cursor->tick = 0;
    cursor->stop = 0;
    cursor->start = 0;
    cursor->base = fixture->clock;
    reset_fired(fixture);
    if (is_floor(fixture)) {
        floor_schedule(fixture->self, cursor->stream->expiries, cursor->stream->expiry_count,
                       fixture->clock);
    }
}

/* All operations come from outside here, and those that come late enough excuse what is late. */
static void remark_averted(struct fixture *fixture, const struct stream *stream)
{
    if (fixture->fires && !fixture->exact) {
        (void)snprintf(fixture->row->remark, sizeof fixture->row->remark,
                       "fired %" PRIu64 " where an exact structure fires %" PRIu64
                       ": requests and answers came before",
                       fixture->fired.count, stream->expected.count);
    }
}

static bool verify_period(struct fixture *fixture, const struct cursor *cursor)
{
    remark_averted(fixture, cursor->stream);
    return verify_started(fixture, cursor->stream->pending) &&
           verify_fired(fixture, &cursor->stream->expected);
}

static bool start_initial(struct fixture *fixture, const struct stream *stream)
{
    for (size_t i = 0; i < stream->initial_count; i++) {
        enum tl_status status = fixture->algo->start(
            fixture->self, stream->initial[i].id, fixture->clock + stream->initial[i].delay_ticks);
        fixture->failure = status != TL_OK ? status : fixture->failure;
        if (i % SLICE_STARTS == 0 && !still_patient(fixture)) {
            return false;
        }
    }
    return verify_started(fixture, stream->initial_count);
}

/* How many of the stream's ticks are timed, and how many operations they have. */
static size_t timed_part(const struct stream *stream, uint32_t ticks, uint64_t *operations)
{
    size_t count = 0;
    *operations = 0;
    while (count < stream->tick_count && stream->ticks[count].tick <= ticks) {
        *operations += stream->ticks[count].stops + stream->ticks[count].starts;
        count++;
    }
    return count;
}

static bool measure_stream(struct fixture *fixture, struct bench_measured *out,
                           uint32_t timed_ticks)
{
    const struct stream *stream = fixture->operations;
    struct cursor cursor = {.stream = stream};
    struct stall stall;
    uint64_t operations = 0;
    size_t timed = timed_part(stream, timed_ticks, &operations);
    if (rounds_of(fixture, operations) > 1) {
        timed = timed_part(stream, STREAM_PERIOD_TICKS, &operations);
    }
    uint64_t rounds = rounds_of(fixture, operations);
    bool staggered = fixture->row->shape.at[AXIS_POPULATION] == POPULATION_STAGGERED;
    if (!begin_stall(fixture, &stall) || !start_initial(fixture, stream)) {
        return false;
    }
    cursor.base = fixture->clock;
    reset_fired(fixture);
    if (staggered && (!play_untimed(fixture, &cursor, stream->tick_count) ||
                      !verify_started(fixture, stream->pending))) {
        return false;
    }
    bool whole = true;
    for (uint64_t round = 0; round < rounds && whole; round++) {
        begin_period(fixture, &cursor);
        struct stretch stretch;
        stretch_begin(&stretch, out);
        play(fixture, &cursor, timed, NULL);
        (void)stretch_end(&stretch);
        out->operations += operations;
        out->batches++;
        whole = play_watched(fixture, &cursor, stream->tick_count - timed, &stall);
        if (whole && staggered && !verify_period(fixture, &cursor)) {
            return false;
        }
        /* What was loaded at once is so in its first period only. */
        if (!staggered) {
            break;
        }
    }
    if (whole) {
        begin_period(fixture, &cursor);
        (void)play_watched(fixture, &cursor, stall.advances > 0 ? timed : stream->tick_count,
                           &stall);
    }
    report_stall(&stall, out);
    return true;
}

static bool plan_stream(struct fixture *fixture, enum stream_kind kind)
{
    const struct stream *stream = stream_get(kind, fixture->row->n);
    if (stream == NULL) {
        return fail(fixture, "no memory for the operations");
    }
    fixture->operations = stream;
    fixture->ids = stream->ids;
    fixture->timers = stream->ids / fixture->row->n;
    fixture->max_delay_ticks = stream->max_delay_ticks;
    return true;
}

static bool plan_idle_reset(struct fixture *fixture)
{
    return plan_stream(fixture, STREAM_IDLE_RESET);
}

static bool measure_idle_reset(struct fixture *fixture, struct bench_measured *out)
{
    return measure_stream(fixture, out, STREAM_PERIOD_TICKS);
}

static bool plan_mixed_server(struct fixture *fixture)
{
    return plan_stream(fixture, STREAM_MIXED_SERVER);
}

static bool measure_mixed_server(struct fixture *fixture, struct bench_measured *out)
{
    return measure_stream(fixture, out, MIXED_TIMED_TICKS);
}

/* --- fill-drain ------------------------------------------------------------------------------ */

static bool plan_fill_drain(struct fixture *fixture)
{
    const struct workload_key key = {.n = fixture->row->n, .span_ticks = WORKLOAD_SPAN_TICKS};
    fixture->workload = workload_get(&key);
    if (fixture->workload == NULL) {
        return fail(fixture, "no memory for the operations");
    }
    fixture->ids = fixture->row->n;
    fixture->max_delay_ticks = WORKLOAD_SPAN_TICKS;
    return true;
}

/* Starts timers [from, to), in the order of their ids, as connections are accepted. */
static inline __attribute__((always_inline)) void fill_loop(struct fixture *fixture, uint32_t from,
                                                            uint32_t to, bool touch)
{
    enum tl_status (*start)(void *, uint32_t, uint64_t) = fixture->algo->start;
    void *self = fixture->self;
    const uint32_t *delays = fixture->workload->delays;
    struct connection *connections = fixture->fired.connections;
    uint64_t clock = fixture->clock;
    enum tl_status failure = TL_OK;
    for (uint32_t id = from; id < to; id++) {
        if (touch) {
            connections[id].operations++;
        }
        enum tl_status status = start(self, id, clock + delays[id]);
        failure = status != TL_OK ? status : failure;
    }
    fixture->failure = failure != TL_OK ? failure : fixture->failure;
}

static void fill(struct fixture *fixture, uint32_t from, uint32_t to)
{
    if (touches(fixture)) {
        fill_loop(fixture, from, to, true);
    } else {
        fill_loop(fixture, from, to, false);
    }
}

static bool fill_untimed(struct fixture *fixture)
{
    uint32_t n = fixture->workload->n;
    for (uint32_t from = 0; from < n; from += SLICE_STARTS) {
        fill(fixture, from, n - from < SLICE_STARTS ? n : from + SLICE_STARTS);
        if (!still_patient(fixture)) {
            return false;
        }
    }
    return true;
}

/* Tick by tick until all have fired, or should have. */
static inline __attribute__((always_inline)) bool drain_loop(struct fixture *fixture,
                                                             struct stall *stall, bool patient)
{
    const struct workload *workload = fixture->workload;
    tl_fire_fn fire = fire_of(fixture);
    uint64_t end = fixture->clock + WORKLOAD_SPAN_TICKS + fixture->late_ticks;
    uint64_t now = fixture->clock;
    while (now < end && fixture->fired.count < workload->n) {
        now++;
        advance_once(fixture, now, fire, &fixture->fired, stall);
        if (patient && now % SLICE_TICKS == 0 && !still_patient(fixture)) {
            return false;
        }
    }
    fixture->clock = now;
    return true;
}

static void schedule_drain(struct fixture *fixture, const struct workload *workload)
{
    reset_fired(fixture);
    if (is_floor(fixture)) {
        floor_schedule(fixture->self, workload->expiries, workload->n, fixture->clock);
    }
}

static bool drain_untimed(struct fixture *fixture, struct stall *stall)
{
    const struct workload *workload = fixture->workload;
    schedule_drain(fixture, workload);
    bool drained =
        stall != NULL ? drain_loop(fixture, stall, true) : drain_loop(fixture, NULL, true);
    return drained && verify_drained(fixture, &workload->expected);
}

static bool measure_fill_drain(struct fixture *fixture, struct bench_measured *out)
{
    const struct workload *workload = fixture->workload;
    uint64_t rounds = rounds_of(fixture, workload->n);
    uint64_t fill_ns = 0;
    uint64_t drain_ns = 0;
    struct stall stall;
    if (!begin_stall(fixture, &stall) || !fill_untimed(fixture) ||
        !verify_started(fixture, workload->n) || !drain_untimed(fixture, NULL)) {
        return false;
    }
    for (uint64_t round = 0; round < rounds; round++) {
        struct stretch stretch;
        stretch_begin(&stretch, out);
        fill(fixture, 0, workload->n);
        fill_ns += stretch_end(&stretch);
        if (!verify_started(fixture, workload->n)) {
            return false;
        }
        schedule_drain(fixture, workload);
        stretch_begin(&stretch, out);
        (void)drain_loop(fixture, NULL, false);
        drain_ns += stretch_end(&stretch);
        if (!verify_drained(fixture, &workload->expected)) {
            return false;
        }
    }
    if (!fill_untimed(fixture) || !drain_untimed(fixture, &stall)) {
        return false;
    }
    out->batches = rounds;
    out->operations = workload->n * rounds;
    bench_add_counter(out, "start_ns", (double)fill_ns / (double)out->operations);
    bench_add_counter(out, "expire_ns", (double)drain_ns / (double)out->operations);
    report_stall(&stall, out);
    return true;
}

/* --- time without timers --------------------------------------------------------------------- */

/* Ten timers, all further ahead than `ticks`. */
static bool start_far(struct fixture *fixture, uint64_t ticks)
{
    for (uint32_t id = 0; id < FAR_TIMERS; id++) {
        enum tl_status status =
            fixture->algo->start(fixture->self, id, fixture->clock + ticks + 1 + id);
        if (tl_status_is_refusal(status)) {
            return leave_out(fixture, "a delay of %" PRIu64 " ticks: %s", ticks + 1 + id,
                             tl_status_text(status));
        }
        if (status != TL_OK) {
            return fail(fixture, "start: %s (%s)", tl_status_text(status), tl_status_name(status));
        }
    }
    reset_fired(fixture);
    return true;
}

static bool plan_far_jump(struct fixture *fixture)
{
    fixture->ids = FAR_TIMERS;
    fixture->max_delay_ticks = fixture->row->shape.at[AXIS_JUMP] + FAR_TIMERS;
    fixture->memory_limit_bytes = FAR_MEMORY_BYTES;
    return true;
}

static bool measure_far_jump(struct fixture *fixture, struct bench_measured *out)
{
    uint64_t ticks = fixture->row->shape.at[AXIS_JUMP];
    do {
        if (!start_far(fixture, ticks)) {
            return false;
        }
        struct stretch stretch;
        stretch_begin(&stretch, out);
        (void)fixture->algo->advance(fixture->self, fixture->clock + ticks, TL_NO_BUDGET, on_fire,
                                     &fixture->fired);
        (void)stretch_end(&stretch);
        fixture->clock += ticks;
        out->operations++;
        out->batches++;
        if (!verify_nothing_fired(fixture)) {
            return false;
        }
    } while (out->elapsed_ns < suite_min_time_ns() && out->operations < JUMPS_MAX);
    return true;
}

static bool plan_empty_ticks(struct fixture *fixture)
{
    fixture->ids = FAR_TIMERS;
    fixture->max_delay_ticks = EMPTY_TICKS + FAR_TIMERS;
    return true;
}

static bool measure_empty_ticks(struct fixture *fixture, struct bench_measured *out)
{
    for (int round = 0; round < EMPTY_ROUNDS; round++) {
        if (!start_far(fixture, EMPTY_TICKS)) {
            return false;
        }
        uint64_t end = fixture->clock + EMPTY_TICKS;
        struct stretch stretch;
        stretch_begin(&stretch, out);
        for (uint64_t now = fixture->clock + 1; now <= end; now++) {
            advance_once(fixture, now, on_fire, &fixture->fired, NULL);
        }
        (void)stretch_end(&stretch);
        fixture->clock = end;
        out->operations += EMPTY_TICKS;
        out->batches++;
        if (!verify_nothing_fired(fixture)) {
            return false;
        }
    }
    return true;
}

/* --- the table ------------------------------------------------------------------------------- */

extern const struct suite suites_steady[];
const struct suite suites_steady[] = {
    {.text = {.name = "idle-reset",
              .what = "n connections with an idle timer of 30,000 to 60,000 ticks each; random "
                      "ones restart theirs, each about every 10,000 ticks; the clock runs along",
              .why = "what most timers of a server do all day: they are pushed back and never fire",
              .per = "restart"},
     .axes = 1 << AXIS_POPULATION | 1 << AXIS_TOUCH | 1 << AXIS_PAGES,
     .has_floor = true,
     .limit = "record-16",
     .limit_touch = "record-64",
     .plan = plan_idle_reset,
     .measure = measure_idle_reset},
    {.text = {.name = "fill-drain",
              .what = "n starts, 1 to 60,000 ticks ahead, then tick by tick until all have fired; "
                      "start_ns and expire_ns are its halves",
              .why = "both ends of a timer's life with nothing between: what expiry itself costs",
              .per = "timer"},
     .axes = 1 << AXIS_TOUCH | 1 << AXIS_PAGES,
     .has_floor = true,
     .limit = "record-16",
     .limit_touch = "record-64",
     .floor_label = "fires nothing: the starts and the loop alone",
     .plan = plan_fill_drain,
     .measure = measure_fill_drain},
    {.text = {.name = "mixed-server",
              .what = "n connections with three timers each: idle-reset's; a request's of 5,000 "
                      "ticks, 95 % stopped within 50; a retransmission's of 200 ticks, 99 % "
                      "stopped within 5",
              .why = "short-lived timers among long-lived ones, most of them stopped",
              .per = "operation"},
     .axes = 1 << AXIS_POPULATION | 1 << AXIS_TOUCH | 1 << AXIS_PAGES,
     .has_floor = true,
     .limit = "record-16",
     .limit_touch = "record-64",
     .plan = plan_mixed_server,
     .measure = measure_mixed_server},
    {.text = {.name = "far-jump",
              .what = "ten timers far ahead, and one advance over many ticks in which none is due",
              .why = "a process that slept, or a simulation that skips idle time",
              .per = "jump"},
     .axes = 1 << AXIS_JUMP,
     .fixed_n = FAR_TIMERS,
     .limit = "indirect-call",
     .plan = plan_far_jump,
     .measure = measure_far_jump},
    {.text = {.name = "empty-ticks",
              .what = "ten timers far ahead, tick by tick",
              .why = "what an idle server pays a thousand times a second",
              .per = "tick"},
     .fixed_n = FAR_TIMERS,
     .limit = "indirect-call",
     .plan = plan_empty_ticks,
     .measure = measure_empty_ticks},
    {.text = {.name = NULL}},
};
