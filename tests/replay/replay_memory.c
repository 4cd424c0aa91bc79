/*
 * How much memory a checked replay takes for each timer, in addition to the structure: what two
 * traces differ by, one of which has four times as many timers. The tape's file is counted, since
 * it can lie in memory.
 */
#include "test.h"

#include "child.h"
#include "replay.h"
#include "replayed.h"
#include "tape.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FEW = 250000, MANY = 4 * FEW, BYTES_MAX = 60, PERIOD = 1500 };

static char few_path[] = "/tmp/timerlab-memory-few-XXXXXX";
static char many_path[] = "/tmp/timerlab-memory-many-XXXXXX";

/* Timers that begin within a period, and are started again by their expiries. All are pending at
 * the end. */
static void write_heartbeats(char *path, uint32_t timers)
{
    struct error error;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    struct trace_writer *writer = trace_writer_open(path, 1000000, &error);
    assert_non_null(writer);
    for (uint64_t tick = 0; tick < 2 * (uint64_t)PERIOD; tick++) {
        uint64_t phase = tick % PERIOD;
        for (uint64_t id = phase * timers / PERIOD; id < (phase + 1) * timers / PERIOD; id++) {
            const struct trace_cause cause = {
                .id = (uint32_t)id, .basis = tick < PERIOD ? TRACE_EXTERNAL : TRACE_FIXED_RATE};
            assert_true(trace_writer_add_reaction(writer, tick, (uint32_t)id, TRACE_START, PERIOD,
                                                  tick < PERIOD ? (struct trace_cause){0} : cause,
                                                  &error));
        }
    }
    assert_true(trace_writer_commit(writer, PERIOD, 2 * (uint64_t)PERIOD, timers, "{}", &error));
}

static int write_traces(void **state)
{
    (void)state;
    write_heartbeats(few_path, FEW);
    write_heartbeats(many_path, MANY);
    return 0;
}

static int remove_traces(void **state)
{
    (void)state;
    return unlink(few_path) | unlink(many_path);
}

struct taken {
    uint64_t
        peak_bytes; /* of the process and its tape, without the structure's and the decoded trace */
    uint64_t fired;
};

static bool replay_once(void *ctx, void *at, struct error *error)
{
    static struct replay_result result; /* large */
    const struct replay_request *request = ctx;
    struct taken *taken = at;
    struct rusage usage;
    struct stat tape;
    (void)getrusage(RUSAGE_SELF, &usage);
    uint64_t before_bytes = (uint64_t)usage.ru_maxrss * 1024;
    if (!replay_run(ctx, &result, error)) {
        return false;
    }
    if (result.status != REPLAY_OK) {
        return error_set(error, "%s", result.reason);
    }
    (void)getrusage(RUSAGE_SELF, &usage);
    assert_int_equal(fstat(tape_file(request->tape), &tape), 0);
    taken->peak_bytes = (uint64_t)usage.ru_maxrss * 1024 - before_bytes + (uint64_t)tape.st_size -
                        result.bytes_peak;
    taken->fired = result.verdict.fired + result.verdict.drained;
    return true;
}

static void replay(const char *path, const char *name, struct replay_drive drive, uint64_t fired,
                   uint64_t *peak_bytes)
{
    TL_OPTION_VALUES(options);
    struct error error;
    struct child_outcome outcome;
    struct taken taken = {0};
    const struct tl_algo *algo = tl_registry_find(name)->counted;
    tl_options_default(algo, options);
    struct tape *tape = tape_create(&error);
    assert_non_null(tape);
    int tape_fd = tape_file(tape);
    struct stream *stream = decoded(path);
    struct replay_request request = {.stream = stream,
                                     .algo = algo,
                                     .options = options,
                                     .pass = PASS_CHECK,
                                     .drive = drive,
                                     .tape = tape,
                                     .memory_limit_bytes = UINT64_MAX};
    const struct child_request child = {.run = replay_once,
                                        .ctx = &request,
                                        .result_bytes = sizeof taken,
                                        .timeout_seconds = 600,
                                        .kept = &tape_fd,
                                        .kept_count = 1};
    assert_true(child_run(&child, &taken, &outcome, &error));
    stream_close(stream);
    if (outcome.end != CHILD_DONE) {
        fail_msg("%s: %s", name, outcome.reason);
    }
    assert_true(taken.fired >= fired);
    *peak_bytes = taken.peak_bytes;
    tape_close(tape);
}

static void each_timer_takes_at_most_60_bytes(void **state)
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
            uint64_t few;
            uint64_t many;
            replay(few_path, names[i], drives[d], FEW, &few);
            replay(many_path, names[i], drives[d], MANY, &many);
            assert_true(many > few);
            /* The address sanitizer has a byte of its own for every eight. */
            uint64_t most = (uint64_t)(MANY - FEW) * (SANITIZED ? BYTES_MAX * 9 / 8 : BYTES_MAX);
            assert_in_range(many - few, 0, most);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_timer_takes_at_most_60_bytes),
    };
    return cmocka_run_group_tests(tests, write_traces, remove_traces);
}
