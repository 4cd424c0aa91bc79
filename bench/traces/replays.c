#include "replays.h"

#include "child.h"
#include "clock.h"
#include "memory.h"
#include "statistics.h"
#include "tape.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ROUNDS_MAX = 1001, CLOCK_READINGS = 1000000 };

/* --- figures of rounds ------------------------------------------------------------------------ */

/* A figure that is measured in each round; the median is reported. */
struct figure {
    const char *name;
    double rounds[ROUNDS_MAX];
};

static void report_medians(struct bench_measured *out, const struct figure *figures, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bench_add_counter(out, figures[i].name, stats_median(figures[i].rounds, out->batches));
    }
}

/* Add a pass to the row. */
static void add_pass(struct bench_measured *out, const struct replay_result *result)
{
    out->elapsed_ns += result->window_processor_ns;
    out->operations += result->window_events;
    out->batches++;
}

/* Whether another round follows. */
static bool goes_on(const struct replays_subject *subject, const struct bench_measured *out)
{
    return out->batches < ROUNDS_MAX && (double)out->elapsed_ns < subject->min_time_s * 1e9;
}

/* --- passes ----------------------------------------------------------------------------------- */

/* Run one pass, and measure the processor time of all of it. */
static bool run_pass(const struct replays_subject *subject, enum replay_pass pass,
                     struct replay_result *result, uint64_t *whole_ns, struct error *error)
{
    uint64_t begun_ns = clock_processor_ns();
    struct stream *own = subject->stream == NULL ? stream_open(subject->trace_path, error) : NULL;
    const struct replay_request request = {.stream = own != NULL ? own : subject->stream,
                                           .algo = subject->algo,
                                           .options = subject->options,
                                           .pass = pass,
                                           .memory_limit_bytes = UINT64_MAX,
                                           .tape = subject->tape};
    bool ran = request.stream != NULL && replay_run(&request, result, error);
    stream_close(own);
    if (!ran) {
        return false;
    }
    *whole_ns = clock_processor_ns() - begun_ns;
    if (result->status != REPLAY_OK) {
        return error_set(error, "%s: the replay failed: %s", subject->trace_path, result->reason);
    }
    if (result->window_events == 0) {
        return error_set(error, "%s: no operation is to be timed; record it for longer",
                         subject->trace_path);
    }
    return true;
}

/* All operations of a trace, and those of them that expiries cause. */
struct trace_counts {
    uint64_t events;
    uint64_t reactions;
};

static bool read_counts(const char *path, struct trace_counts *counts, struct error *error)
{
    struct trace_reader *reader = trace_reader_open(path, error);
    if (reader == NULL) {
        return false;
    }
    const struct trace_header *header = trace_reader_header(reader);
    *counts = (struct trace_counts){.events = header->events, .reactions = header->reactions};
    trace_reader_close(reader);
    return true;
}

/* --- the plain loop --------------------------------------------------------------------------- */

/* An operation as the plain loop has it. */
struct plain_record {
    uint32_t tick;
    uint32_t id;
    uint32_t delay_ticks;
    uint32_t op; /* enum trace_op */
};
_Static_assert(sizeof(struct plain_record) == 16, "the loop is over records of 16 bytes");

struct plain_loop {
    void *mapped; /* the file; NULL: it is not there */
    const struct plain_record *records;
    size_t count;
    void *self; /* the structure that fires nothing */
};

/* Writes the window's operations of a trace as plain records. */
static bool write_plain(struct trace_reader *reader, const char *path, FILE *stream, size_t *count,
                        struct error *error)
{
    const struct trace_header *header = trace_reader_header(reader);
    if (header->end_tick > UINT32_MAX || header->max_delay_ticks > UINT32_MAX) {
        return error_set(error, "%s: ticks or delays are too long for the plain loop", path);
    }
    struct trace_block block;
    int more;
    while ((more = trace_reader_next(reader, &block, error)) == 1) {
        for (size_t g = 0; g < block.group_count; g++) {
            const struct trace_group *group = &block.groups[g];
            for (uint32_t i = 0; group->tick >= header->warmup_end_tick && i < group->count; i++) {
                const struct trace_record *from = &block.records[group->first + i];
                uint64_t delay_ticks = from->op == TRACE_START ? from->deadline - group->tick : 0;
                const struct plain_record record = {.tick = (uint32_t)group->tick,
                                                    .id = from->id,
                                                    .delay_ticks = (uint32_t)delay_ticks,
                                                    .op = from->op};
                if (fwrite(&record, sizeof record, 1, stream) != 1) {
                    return error_set(error, "%s: %s", path, strerror(errno));
                }
                ++*count;
            }
        }
    }
    return more == 0;
}

static bool make_plain(const struct replays_subject *subject, size_t *count, struct error *error)
{
    struct trace_reader *reader = trace_reader_open(subject->trace_path, error);
    if (reader == NULL) {
        return false;
    }
    FILE *stream = memory_unless_short(fopen(subject->plain_path, "w"));
    bool good = stream != NULL && write_plain(reader, subject->plain_path, stream, count, error);
    if (stream == NULL || (fclose(stream) != 0 && good)) {
        good = error_set(error, "%s: %s", subject->plain_path, strerror(errno));
    }
    trace_reader_close(reader);
    return good &&
           (*count > 0 || error_set(error, "%s: no operation is to be timed", subject->trace_path));
}

static bool open_plain(const struct replays_subject *subject, struct plain_loop *plain,
                       struct error *error)
{
    if (!make_plain(subject, &plain->count, error)) {
        return false;
    }
    int file = open(subject->plain_path, O_RDONLY | O_CLOEXEC);
    void *mapped = file < 0 ? MAP_FAILED
                            : mmap(NULL, plain->count * sizeof *plain->records, PROT_READ,
                                   MAP_SHARED | MAP_POPULATE, file, 0);
    if (mapped == MAP_FAILED) {
        (void)error_set(error, "%s: %s", subject->plain_path, strerror(errno));
    } else {
        plain->mapped = mapped;
        plain->records = mapped;
    }
    if (file >= 0) {
        (void)close(file);
    }
    const struct tl_config config = {.options = subject->options,
                                     .allocator = tl_system_allocator()};
    enum tl_status status = subject->algo->create(&config, &plain->self);
    if (plain->mapped != NULL && status != TL_OK) {
        return error_set(error, "%s: %s", subject->algo->name, tl_status_text(status));
    }
    return plain->mapped != NULL;
}

static void close_plain(const struct replays_subject *subject, struct plain_loop *plain)
{
    if (plain->mapped != NULL) {
        (void)munmap(plain->mapped, plain->count * sizeof *plain->records);
    }
    if (plain->self != NULL) {
        subject->algo->destroy(plain->self);
    }
    (void)unlink(subject->plain_path);
}

static void fire_nothing(void *ctx, uint32_t id, uint64_t now)
{
    (void)ctx;
    (void)id;
    (void)now;
}

/* Return the number of refused operations. `ticking`: with the calls that the replay makes when the
 * tick changes. Each round begins again at tick 0, which a structure that fires nothing allows. */
static inline __attribute__((always_inline)) size_t
run_records(const struct tl_algo *algo, const struct plain_loop *plain, bool ticking)
{
    size_t refused = 0;
    void *self = plain->self;
    uint64_t now = 0;
    for (const struct plain_record *at = plain->records, *end = at + plain->count; at < end; at++) {
        enum tl_status status;
        if (ticking && at->tick != now) {
            now = at->tick;
            /* It fires nothing, and so never names a tick on the way. */
            if (algo->next(self) > now) {
                (void)algo->advance(self, now, TL_NO_BUDGET, fire_nothing, NULL);
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
static __attribute__((noinline)) size_t run_plain(const struct tl_algo *algo,
                                                  const struct plain_loop *plain)
{
    return run_records(algo, plain, false);
}

static __attribute__((noinline)) size_t run_ticking(const struct tl_algo *algo,
                                                    const struct plain_loop *plain)
{
    return run_records(algo, plain, true);
}

static bool throughput_rounds(const struct replays_subject *subject, const struct plain_loop *plain,
                              struct bench_measured *out, struct error *error)
{
    static struct replay_result result;
    enum { LIMIT, PLAIN, TICKING, DECODED, FIGURES };
    static struct figure figures[FIGURES] = {[LIMIT] = {.name = "limit_ns"},
                                             [PLAIN] = {.name = "times_plain"},
                                             [TICKING] = {.name = "times_ticking"},
                                             [DECODED] = {.name = "decoded_ns"}};
    struct trace_counts counts;
    if (!read_counts(subject->trace_path, &counts, error)) {
        return false;
    }
    do {
        uint64_t begun_ns = clock_processor_ns();
        size_t refused = run_plain(subject->algo, plain);
        uint64_t plain_end_ns = clock_processor_ns();
        refused += run_ticking(subject->algo, plain);
        uint64_t ticking_took_ns = clock_processor_ns() - plain_end_ns;
        uint64_t plain_took_ns = plain_end_ns - begun_ns;
        uint64_t whole_ns;
        if (refused > 0) {
            return error_set(error, "%s: refuses %zu operations", subject->algo->name, refused);
        }
        if (!run_pass(subject, PASS_THROUGHPUT, &result, &whole_ns, error)) {
            return false;
        }
        if (result.window_events != plain->count) {
            return error_set(error, "%s: the plain loop has %zu operations, the replay %" PRIu64,
                             subject->trace_path, plain->count, result.window_events);
        }
        double window_ns = (double)result.window_processor_ns;
        size_t round = out->batches;
        figures[LIMIT].rounds[round] = (double)plain_took_ns / (double)plain->count;
        figures[PLAIN].rounds[round] = window_ns / (double)plain_took_ns;
        figures[TICKING].rounds[round] = window_ns / (double)ticking_took_ns;
        figures[DECODED].rounds[round] = (double)whole_ns / (double)counts.events;
        add_pass(out, &result);
    } while (goes_on(subject, out));
    report_medians(out, figures, FIGURES);
    return true;
}

bool replays_throughput(const struct replays_subject *subject, struct bench_measured *out,
                        struct error *error)
{
    struct plain_loop plain = {.mapped = NULL};
    bool good =
        open_plain(subject, &plain, error) && throughput_rounds(subject, &plain, out, error);
    close_plain(subject, &plain);
    return good;
}

/* --- latencies -------------------------------------------------------------------------------- */

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

static struct tl_algo reading_algo(const struct tl_algo *algo)
{
    struct tl_algo reader = *algo;
    reading.algo = algo;
    reader.start = reading_start;
    reader.stop = reading_stop;
    return reader;
}

static bool latency_rounds(const struct replays_subject *subject, struct bench_measured *out,
                           struct error *error)
{
    static struct replay_result result;
    enum { PLAIN, CLOCK, LIMIT, ADDS, FILING, FIGURES };
    static struct figure figures[FIGURES] = {[PLAIN] = {.name = "plain_ns"},
                                             [CLOCK] = {.name = "clock_ns"},
                                             [LIMIT] = {.name = "limit_ns"},
                                             [ADDS] = {.name = "adds_ns"},
                                             [FILING] = {.name = "filing_ns"}};
    const struct tl_algo reader = reading_algo(subject->algo);
    struct replays_subject read = *subject;
    read.algo = &reader;
    /* Not to be in the first pass. */
    (void)clock_ns_per_cycle();
    do {
        uint64_t plain_whole_ns;
        uint64_t whole_ns;
        if (!run_pass(subject, PASS_THROUGHPUT, &result, &plain_whole_ns, error)) {
            return false;
        }
        double events = (double)result.window_events;
        double plain_ns = (double)result.window_processor_ns / events;
        size_t round = out->batches;
        figures[PLAIN].rounds[round] = plain_ns;
        figures[CLOCK].rounds[round] = read_clock_ns();
        uint64_t unused_ns;
        if (!run_pass(&read, PASS_THROUGHPUT, &result, &unused_ns, error)) {
            return false;
        }
        figures[LIMIT].rounds[round] = (double)result.window_processor_ns / events;
        if (!run_pass(subject, PASS_LATENCY, &result, &whole_ns, error)) {
            return false;
        }
        double window_ns = (double)result.window_processor_ns;
        figures[ADDS].rounds[round] = window_ns / events - plain_ns;
        figures[FILING].rounds[round] =
            ((double)whole_ns - window_ns - ((double)plain_whole_ns - plain_ns * events)) / events;
        add_pass(out, &result);
    } while (goes_on(subject, out));
    report_medians(out, figures, FIGURES);
    return true;
}

bool replays_latency(const struct replays_subject *subject, struct bench_measured *out,
                     struct error *error)
{
    static struct replay_result result;
    struct replays_subject own = *subject;
    struct trace_counts counts;
    uint64_t unused_ns;
    if (!read_counts(subject->trace_path, &counts, error)) {
        return false;
    }
    if (counts.reactions > 0 && (subject->algo->capabilities & TL_CAP_FIRES_NOTHING) == 0) {
        own.tape = tape_create(error);
        if (own.tape == NULL || !run_pass(&own, PASS_CHECK, &result, &unused_ns, error)) {
            tape_close(own.tape);
            return false;
        }
    }
    bool good = latency_rounds(&own, out, error);
    tape_close(own.tape);
    return good;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* The result of the process that replays. */
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
    const struct replays_subject *subject = ctx;
    struct held_memory *held = result;
    /* A new process has held nothing but its parent's. */
    uint64_t before_bytes = most_bytes();
    static struct replay_result found;
    if (!run_pass(subject, subject->pass, &found, &held->whole_ns, error)) {
        return false;
    }
    held->own_bytes = most_bytes() - before_bytes;
    return true;
}

/* Replays in a process of its own. */
static bool hold(const struct replays_subject *subject, struct held_memory *held,
                 struct error *error)
{
    struct replays_subject own = *subject;
    struct stream *stream = stream_open(subject->trace_path, error);
    own.stream = stream;
    const struct child_request request = {
        .run = replay_alone, .ctx = &own, .result_bytes = sizeof *held, .timeout_seconds = 3600};
    struct child_outcome outcome;
    /* Memory that this process has freed and still holds would be used by the child before it
     * grows. */
    (void)malloc_trim(0);
    bool ran = stream != NULL && child_run(&request, held, &outcome, error);
    stream_close(stream);
    if (!ran) {
        return false;
    }
    return outcome.end == CHILD_DONE || error_set(error, "%s", outcome.reason);
}

bool replays_memory(const struct replays_subject *subject, struct bench_measured *out,
                    struct error *error)
{
    struct replays_subject longer = *subject;
    longer.trace_path = subject->longer_path;
    struct trace_counts counts;
    struct trace_counts longer_counts;
    struct held_memory held;
    struct held_memory longer_held;
    if (!read_counts(subject->trace_path, &counts, error) ||
        !read_counts(longer.trace_path, &longer_counts, error) || !hold(subject, &held, error) ||
        !hold(&longer, &longer_held, error)) {
        return false;
    }
    out->elapsed_ns = held.whole_ns;
    out->operations = counts.events;
    out->batches = 1;
    bench_add_counter(out, "own_bytes", (double)held.own_bytes);
    bench_add_counter(out, "longer_own_bytes", (double)longer_held.own_bytes);
    bench_add_counter(out, "times_longer", (double)longer_counts.events / (double)counts.events);
    bench_add_counter(out, "times_own",
                      held.own_bytes > 0 ? (double)longer_held.own_bytes / (double)held.own_bytes
                                         : 0);
    return true;
}
