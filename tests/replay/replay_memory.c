/* Memory of a checked replay for each timer, without the structure's: the difference between two
 * traces, one with four times as many timers. The tape's file is included, since it may be in
 * memory, and so is the decoded trace if few operations are reactions. */
#include "test.h"

#include "child.h"
#include "replay.h"
#include "replayed.h"
#include "tape.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FEW = 250000, MANY = 4 * FEW, BYTES_MAX = 60, PERIOD = 1500 };

/* A timer's delay, on which a precision depends. */
enum { DELAY_BYTES = 8 };

/* Of few timers and of many. */
struct traces {
    char few[40];
    char many[40];
    uint64_t ticks;
    bool decoded; /* whether the decoded trace counts */
};

static struct traces traces[] = {
    {"/tmp/timerlab-memory-few-XXXXXX", "/tmp/timerlab-memory-many-XXXXXX", 2 * PERIOD, false},
    {"/tmp/timerlab-memory-few-XXXXXX", "/tmp/timerlab-memory-many-XXXXXX", PERIOD + PERIOD / 20,
     true},
};

/* Timers that begin within a period, and are started again by their expiries. All are pending at
 * the end. */
static void write_heartbeats(char *path, uint32_t timers, uint64_t ticks)
{
    struct error error;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    struct trace_writer *writer = trace_writer_open(path, 1000000, &error);
    assert_non_null(writer);
    for (uint64_t tick = 0; tick < ticks; tick++) {
        uint64_t phase = tick % PERIOD;
        for (uint64_t id = phase * timers / PERIOD; id < (phase + 1) * timers / PERIOD; id++) {
            const struct trace_cause cause = {
                .id = (uint32_t)id, .basis = tick < PERIOD ? TRACE_EXTERNAL : TRACE_FIXED_RATE};
            assert_true(trace_writer_add_reaction(writer, tick, (uint32_t)id, TRACE_START, PERIOD,
                                                  tick < PERIOD ? (struct trace_cause){0} : cause,
                                                  &error));
        }
    }
    assert_true(trace_writer_commit(writer, PERIOD, ticks, timers, "{}", &error));
}

static int write_traces(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++) {
        write_heartbeats(traces[i].few, FEW, traces[i].ticks);
        write_heartbeats(traces[i].many, MANY, traces[i].ticks);
    }
    return 0;
}

static int remove_traces(void **state)
{
    (void)state;
    int failed = 0;
    for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++) {
        failed |= unlink(traces[i].few) | unlink(traces[i].many);
    }
    return failed;
}

struct taken {
    uint64_t peak_bytes; /* of the process and its tape, without the structure's */
    uint64_t fired;
};

struct asked {
    struct replay_request *request; /* without a stream: */
    const char *path;               /* of the trace to decode */
};

static bool replay_once(void *ctx, void *at, struct error *error)
{
    static struct replay_result result; /* large */
    const struct asked *asked = ctx;
    struct replay_request *request = asked->request;
    struct taken *taken = at;
    struct rusage usage;
    struct stat tape;
    /* Huge pages that are filled in part would count whole. */
    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    (void)getrusage(RUSAGE_SELF, &usage);
    uint64_t before_bytes = (uint64_t)usage.ru_maxrss * 1024;
    if (request->stream == NULL) {
        request->stream = decoded(asked->path);
    }
    if (!replay_run(request, &result, error)) {
        return false;
    }
    if (result.status != REPLAY_OK) {
        return error_set(error, "%s", result.reason);
    }
    (void)getrusage(RUSAGE_SELF, &usage);
    assert_int_equal(fstat(request->tape->file, &tape), 0);
    taken->peak_bytes = (uint64_t)usage.ru_maxrss * 1024 - before_bytes + (uint64_t)tape.st_size -
                        result.bytes_peak;
    taken->fired = result.verdict.fired + result.verdict.drained;
    return true;
}

static uint64_t replay(const char *path, bool counts_decoded, const char *name,
                       struct replay_drive drive, uint64_t fired)
{
    TL_OPTION_VALUES(options);
    struct error error;
    struct child_outcome outcome;
    struct taken taken = {0};
    const struct tl_algo *algo = tl_registry_find(name)->counted;
    tl_options_default(algo, options);
    struct tape *tape = tape_create(&error);
    assert_non_null(tape);
    struct stream *stream = counts_decoded ? NULL : decoded(path);
    struct replay_request request = {.stream = stream,
                                     .algo = algo,
                                     .options = options,
                                     .pass = PASS_CHECK,
                                     .drive = drive,
                                     .tape = tape,
                                     .memory_limit_bytes = UINT64_MAX};
    struct asked asked = {.request = &request, .path = path};
    const struct child_request child = {.run = replay_once,
                                        .ctx = &asked,
                                        .result_bytes = sizeof taken,
                                        .timeout_seconds = 600,
                                        .kept = &tape->file,
                                        .kept_count = 1};
    assert_true(child_run(&child, &taken, &outcome, &error));
    stream_close(stream);
    if (outcome.end != CHILD_DONE) {
        fail_msg("%s: %s", name, outcome.reason);
    }
    assert_true(taken.fired >= fired);
    tape_close(tape);
    return taken.peak_bytes;
}

static void hold(const struct traces *of, const char *name, struct replay_drive drive,
                 uint64_t bytes)
{
    uint64_t few = replay(of->few, of->decoded, name, drive, FEW);
    uint64_t many = replay(of->many, of->decoded, name, drive, MANY);
    assert_true(many > few);
    /* The address sanitizer has a byte of its own for every eight. */
    uint64_t most = (uint64_t)(MANY - FEW) * (SANITIZED ? bytes * 9 / 8 : bytes);
    assert_in_range(many - few, 0, most);
}

static void each_timer_takes_few_bytes(void **state)
{
    (void)state;
    static const char *const names[] = {
        "binary-heap", /* ordered and exact: an order is checked, a precision is not */
        "round-wheel", /* a precision, and no order */
    };
    static const struct replay_drive drives[] = {{.kind = DRIVE_SLEEP},
                                                 {.kind = DRIVE_POLL, .poll_ticks = 7}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (size_t d = 0; d < sizeof drives / sizeof drives[0]; d++) {
            hold(&traces[0], names[i], drives[d], BYTES_MAX);
        }
        hold(&traces[1], names[i], drives[0],
             tl_registry_find(names[i])->counted->precision == NULL ? BYTES_MAX
                                                                    : BYTES_MAX + DELAY_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_timer_takes_few_bytes),
    };
    return cmocka_run_group_tests(tests, write_traces, remove_traces);
}
