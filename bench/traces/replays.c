/* Rows about the simulator's replay: compared with a plain loop over the same operations, with a
 * clock around each of them, and in memory. */
#include "traces.h"

#include "child.h"
#include "clock.h"
#include "memory.h"
#include "tape.h"
#include "trace.h"

#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { CLOCK_READINGS = 1000000 };

/* --- passes ---------------------------------------------------------------------------------- */

static struct replay_request request_of(const struct trace_row *row, const struct stream *stream,
                                        enum replay_pass pass)
{
    return (struct replay_request){.stream = stream,
                                   .algo = row->contender->timed,
                                   .options = row->contender->options,
                                   .pass = pass,
                                   .memory_limit_bytes = UINT64_MAX};
}

/* Run a pass through the trace at `path`. Set *whole_ns to the processor time of all of it. */
static bool run_pass(const char *path, const struct replay_request *request,
                     struct replay_result *result, uint64_t *whole_ns, struct error *error)
{
    uint64_t begun_ns = clock_processor_ns();
    if (!replay_run(request, result, error)) {
        return false;
    }
    *whole_ns = clock_processor_ns() - begun_ns;
    if (result->status != REPLAY_OK) {
        return error_set(error, "%s: the replay failed: %s", path, result->reason);
    }
    return result->window_events > 0 ||
           error_set(error, "%s: no operation is to be timed; record it for longer", path);
}

/* Add a pass to the row. */
static void add_pass(struct bench_measured *out, const struct replay_result *result)
{
    out->elapsed_ns += result->window_processor_ns;
    out->operations += result->window_events;
    out->batches++;
}

/* --- the plain loop -------------------------------------------------------------------------- */

/* An operation as the plain loop has it. */
struct plain_record {
    uint32_t tick;
    uint32_t id;
    uint32_t delay_ticks;
    uint32_t op; /* enum trace_op */
};
_Static_assert(sizeof(struct plain_record) == 16, "the loop is over records of 16 bytes");

struct plain_loop {
    const struct tl_algo *algo; /* fires nothing */
    void *self;
    struct plain_record *records;
    size_t count;
};

/* Take the operations of the trace's window, and create the structure. */
static bool open_plain(const struct trace_row *row, struct plain_loop *plain, struct error *error)
{
    const struct tl_config config = {.options = row->contender->options,
                                     .allocator = tl_system_allocator()};
    const char *path = row->model->path;
    struct stream *stream = stream_open(path, error);
    if (stream == NULL) {
        return false;
    }
    const struct trace_header header = stream->header;
    bool fits = header.end_tick <= UINT32_MAX && header.max_delay_ticks <= UINT32_MAX;
    struct stream_walk walk = {.stream = stream};
    struct stream_operation from;
    plain->records = memory_new(header.events, sizeof *plain->records);
    while (fits && stream_walk_next(&walk, &from)) {
        uint64_t delay_ticks = from.op == TRACE_START ? from.deadline - from.tick : 0;
        if (from.tick >= header.warmup_end_tick) {
            plain->records[plain->count++] =
                (struct plain_record){.tick = (uint32_t)from.tick,
                                      .id = from.id,
                                      .delay_ticks = (uint32_t)delay_ticks,
                                      .op = from.op};
        }
    }
    stream_close(stream);
    if (!fits || plain->count == 0) {
        return error_set(error, "%s: %s", path,
                         fits ? "no operation is to be timed"
                              : "ticks or delays are too long for the plain loop");
    }
    plain->algo = row->contender->timed;
    enum tl_status status = plain->algo->create(&config, &plain->self);
    return status == TL_OK || error_set(error, "%s: %s", plain->algo->name, tl_status_text(status));
}

static void close_plain(struct plain_loop *plain)
{
    if (plain->self != NULL) {
        plain->algo->destroy(plain->self);
    }
    free(plain->records);
}

/* Return the number of refused operations. `ticking`: with the calls that the replay makes when the
 * tick changes. Each round begins again at tick 0, which a structure that fires nothing allows. */
static inline __attribute__((always_inline)) size_t run_records(const struct plain_loop *plain,
                                                                bool ticking)
{
    size_t refused = 0;
    const struct tl_algo *algo = plain->algo;
    void *self = plain->self;
    uint64_t now = 0;
    for (const struct plain_record *at = plain->records, *end = at + plain->count; at < end; at++) {
        enum tl_status status;
        if (ticking && at->tick != now) {
            now = at->tick;
            /* The structure has no work up to `now`, so this advance needs no callback. */
            if (algo->next(self) > now) {
                (void)algo->advance(self, now, TL_NO_BUDGET, NULL, NULL);
            }
        }
        if (at->op == TRACE_START) {
            status = algo->start(self, at->id, (uint64_t)at->tick + at->delay_ticks);
        } else {
            status = algo->stop(self, at->id);
        }
        refused += status > TL_IDLE;
    }
    return refused;
}

/* Not inlined: nothing of their caller is to end up in them. */
static __attribute__((noinline)) size_t run_plain(const struct plain_loop *plain)
{
    return run_records(plain, false);
}

static __attribute__((noinline)) size_t run_ticking(const struct plain_loop *plain)
{
    return run_records(plain, true);
}

/* Decode the trace and run the throughput pass. Set *ns to the processor time of that, an operation
 * of the trace. */
static bool decode_and_run(const struct trace_row *row, struct replay_result *result, double *ns,
                           struct error *error)
{
    uint64_t pass_ns;
    uint64_t begun_ns = clock_processor_ns();
    struct stream *stream = stream_open(row->model->path, error);
    const struct replay_request request = request_of(row, stream, PASS_THROUGHPUT);
    double events = stream != NULL ? (double)stream->header.events : NAN;
    bool ran = stream != NULL && run_pass(row->model->path, &request, result, &pass_ns, error);
    stream_close(stream);
    *ns = (double)(clock_processor_ns() - begun_ns) / events;
    return ran;
}

static bool throughput_rounds(const struct trace_row *row, const struct plain_loop *plain,
                              struct bench_measured *out, struct error *error)
{
    static struct replay_result result;
    struct rounds rounds = {0};
    while (rounds_go_on(row, out)) {
        double decoded_ns;
        uint64_t begun_ns = clock_processor_ns();
        size_t refused = run_plain(plain);
        uint64_t plain_end_ns = clock_processor_ns();
        refused += run_ticking(plain);
        uint64_t ticking_ns = clock_processor_ns() - plain_end_ns;
        uint64_t plain_ns = plain_end_ns - begun_ns;
        if (refused > 0) {
            return error_set(error, "%s: refuses %zu operations", plain->algo->name, refused);
        }
        if (!decode_and_run(row, &result, &decoded_ns, error)) {
            return false;
        }
        if (result.window_events != plain->count) {
            return error_set(error, "%s: the plain loop has %zu operations, the replay %" PRIu64,
                             row->model->path, plain->count, result.window_events);
        }
        double window_ns = (double)result.window_processor_ns;
        rounds_add(&rounds, "limit_ns", (double)plain_ns / (double)plain->count);
        rounds_add(&rounds, "times_plain", window_ns / (double)plain_ns);
        rounds_add(&rounds, "times_ticking", window_ns / (double)ticking_ns);
        rounds_add(&rounds, "decoded_ns", decoded_ns);
        add_pass(out, &result);
    }
    rounds_report(&rounds, out);
    return true;
}

bool replays_throughput(const struct trace_row *row, struct bench_measured *out,
                        struct error *error)
{
    struct plain_loop plain = {0};
    bool good = model_prepare(row->settings, row->model, error) && open_plain(row, &plain, error) &&
                throughput_rounds(row, &plain, out, error);
    close_plain(&plain);
    return good;
}

/* --- latencies ------------------------------------------------------------------------------- */

/* Nanoseconds of a reading in a row of readings, each kept as the latency pass keeps it. */
static double read_clock_ns(void)
{
    static uint32_t kept[1024];
    uint64_t begun_ns = clock_processor_ns();
    uint64_t last = clock_cycles();
    for (size_t i = 0; i < CLOCK_READINGS; i++) {
        uint64_t now = clock_cycles();
        kept[i % 1024] = (uint32_t)(now - last);
        last = now;
    }
    uint64_t took_ns = clock_processor_ns() - begun_ns;
    /* The compiler could omit values that are never read. */
    __asm__ volatile("" : : "r"(kept) : "memory");
    return (double)took_ns / CLOCK_READINGS;
}

/* A structure that reads the clock before each operation, and keeps nothing: no latency pass can be
 * faster. A processor may hold back a reading until the loads before it are done, and then what
 * operations do at the same time otherwise, they do one after the other. */
static struct {
    const struct tl_algo *algo; /* the wrapped structure */
    uint64_t sum;
} reading;

static enum tl_status reading_start(void *self, uint32_t id, uint64_t deadline)
{
    reading.sum += clock_cycles();
    return reading.algo->start(self, id, deadline);
}

static enum tl_status reading_stop(void *self, uint32_t id)
{
    reading.sum += clock_cycles();
    return reading.algo->stop(self, id);
}

static bool latency_rounds(const struct trace_row *row, const struct stream *stream,
                           struct tape *tape, struct bench_measured *out, struct error *error)
{
    static struct replay_result result;
    struct rounds rounds = {0};
    const char *path = row->model->path;
    struct tl_algo reader = *row->contender->timed;
    reading.algo = row->contender->timed;
    reader.start = reading_start;
    reader.stop = reading_stop;
    struct replay_request plain = request_of(row, stream, PASS_THROUGHPUT);
    plain.tape = tape;
    struct replay_request limit = plain;
    limit.algo = &reader;
    struct replay_request latency = plain;
    latency.pass = PASS_LATENCY;
    /* Not to be in the first pass. */
    (void)clock_ns_per_cycle();
    while (rounds_go_on(row, out)) {
        uint64_t plain_whole_ns;
        uint64_t unused_ns;
        uint64_t whole_ns;
        if (!run_pass(path, &plain, &result, &plain_whole_ns, error)) {
            return false;
        }
        double events = (double)result.window_events;
        double plain_ns = (double)result.window_processor_ns;
        rounds_add(&rounds, "plain_ns", plain_ns / events);
        rounds_add(&rounds, "clock_ns", read_clock_ns());
        if (!run_pass(path, &limit, &result, &unused_ns, error)) {
            return false;
        }
        rounds_add(&rounds, "limit_ns", (double)result.window_processor_ns / events);
        if (!run_pass(path, &latency, &result, &whole_ns, error)) {
            return false;
        }
        double window_ns = (double)result.window_processor_ns;
        rounds_add(&rounds, "adds_ns", (window_ns - plain_ns) / events);
        rounds_add(&rounds, "filing_ns",
                   ((double)whole_ns - window_ns - ((double)plain_whole_ns - plain_ns)) / events);
        add_pass(out, &result);
    }
    rounds_report(&rounds, out);
    return true;
}

/* Record the reactions of the structure's expiries, which the timed passes play. */
static bool record_tape(const struct trace_row *row, const struct stream *stream, struct tape *tape,
                        struct error *error)
{
    static struct replay_result result;
    uint64_t unused_ns;
    struct replay_request check = request_of(row, stream, PASS_CHECK);
    check.tape = tape;
    return tape != NULL && run_pass(row->model->path, &check, &result, &unused_ns, error);
}

bool replays_latency(const struct trace_row *row, struct bench_measured *out, struct error *error)
{
    struct stream *stream = model_prepare(row->settings, row->model, error)
                                ? stream_open(row->model->path, error)
                                : NULL;
    struct tape *tape = NULL;
    bool good = stream != NULL;
    if (good && stream->header.reactions > 0 &&
        (row->contender->timed->capabilities & TL_CAP_FIRES_NOTHING) == 0) {
        tape = tape_create(error);
        good = record_tape(row, stream, tape, error);
    }
    good = good && latency_rounds(row, stream, tape, out, error);
    tape_close(tape);
    stream_close(stream);
    return good;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* The arguments of a process that replays, and its result. */
struct lone_replay {
    const struct trace_row *row;
    const char *path;
    const struct stream *stream;
};

struct held_memory {
    uint64_t own_bytes;
    uint64_t whole_ns;
};

static uint64_t most_bytes(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

static bool replay_alone(void *ctx, void *result, struct error *error)
{
    const struct lone_replay *lone = ctx;
    struct held_memory *held = result;
    const struct replay_request request = request_of(lone->row, lone->stream, lone->row->pass);
    /* A new process has held nothing but its parent's. */
    uint64_t before_bytes = most_bytes();
    static struct replay_result found;
    if (!run_pass(lone->path, &request, &found, &held->whole_ns, error)) {
        return false;
    }
    held->own_bytes = most_bytes() - before_bytes;
    return true;
}

/* Replay in a process of its own. Set *events to the operations of the trace. */
static bool hold(const struct trace_row *row, struct model *model, struct held_memory *held,
                 uint64_t *events, struct error *error)
{
    struct stream *stream =
        model_prepare(row->settings, model, error) ? stream_open(model->path, error) : NULL;
    struct lone_replay lone = {row, model->path, stream};
    const struct child_request request = {
        .run = replay_alone, .ctx = &lone, .result_bytes = sizeof *held, .timeout_seconds = 3600};
    struct child_outcome outcome;
    if (stream == NULL) {
        return false;
    }
    /* Memory that this process has freed and still holds would be used by the child before it
     * grows. */
    (void)malloc_trim(0);
    *events = stream->header.events;
    bool ran = child_run(&request, held, &outcome, error);
    stream_close(stream);
    return ran && (outcome.end == CHILD_DONE || error_set(error, "%s", outcome.reason));
}

bool replays_memory(const struct trace_row *row, struct bench_measured *out, struct error *error)
{
    uint64_t events;
    uint64_t longer_events;
    struct held_memory held;
    struct held_memory longer;
    if (!hold(row, row->model, &held, &events, error) ||
        !hold(row, row->longer, &longer, &longer_events, error)) {
        return false;
    }
    double own = (double)held.own_bytes;
    out->elapsed_ns = held.whole_ns;
    out->operations = events;
    out->batches = 1;
    bench_add_counter(out, "own_bytes", own);
    bench_add_counter(out, "longer_own_bytes", (double)longer.own_bytes);
    bench_add_counter(out, "times_longer", (double)longer_events / (double)events);
    bench_add_counter(out, "times_own", own > 0 ? (double)longer.own_bytes / own : 0);
    return true;
}
