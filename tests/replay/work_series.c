/* Work over the ticks of a window: a cascade storm is in the right place, everything is counted
 * exactly once, and the same trace gives the same series. */
#include "test.h"

#include "registry.h"
#include "replay.h"
#include "replayed.h"
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Level 1 of cascading-wheel. */
#define FIRST_WHEEL 256u

static char trace_path[] = "/tmp/timerlab-work-XXXXXX";

/* Two timers a tick, each due a thousand ticks later, so that they wait in level 2 and cascade once
 * as level 1 comes round; every third tick a stop. Window from 1,024 to 5,119: 256 stretches. */
static int write_trace(void **state)
{
    (void)state;
    struct error error;
    int fd = mkstemp(trace_path);
    assert_true(fd >= 0);
    (void)close(fd);
    struct trace_writer *writer = trace_writer_open(trace_path, 1000000, &error);
    assert_non_null(writer);
    for (uint32_t tick = 0; tick < 5100; tick++) {
        uint32_t id = 2 * (tick % 1500);
        assert_true(trace_writer_add(writer, tick, id, TRACE_START, 1000, &error));
        assert_true(trace_writer_add(writer, tick, id + 1, TRACE_START, 1000, &error));
        if (tick % 3 == 0) {
            assert_true(trace_writer_add(writer, tick, id, TRACE_STOP, 0, &error));
        }
    }
    assert_true(trace_writer_commit(writer, 1024, 5119, 3000, "{}", &error));
    return 0;
}

static int remove_trace(void **state)
{
    (void)state;
    return unlink(trace_path);
}

/* To be freed. */
static struct replay_result *check(const struct tl_algo *algo, enum drive_kind drive,
                                   struct replay_window window)
{
    struct error error;
    TL_OPTION_VALUES(options);
    struct replay_result *result = malloc(sizeof *result);
    assert_non_null(result);
    tl_options_default(algo, options);
    const struct replay_request request = {.algo = algo,
                                           .options = options,
                                           .pass = PASS_CHECK,
                                           .drive = {.kind = drive},
                                           .window = window,
                                           .memory_limit_bytes = UINT64_C(256) << 20};
    if (!replay_path(trace_path, request, result, &error)) {
        fail_msg("%s", error.text);
    }
    return result;
}

/* The cascade every 256 ticks is a spike there, and nowhere else. */
static void cascades_stand_where_the_first_wheel_comes_round(void **state)
{
    (void)state;
    const struct tl_algo *algo = tl_registry_find("cascading-wheel")->counted;
    struct replay_result *result = check(algo, DRIVE_POLL, (struct replay_window){0});
    const struct work_series *series = &result->work;
    unsigned spikes = 0;
    assert_int_equal(series->from_tick, 1024);
    assert_int_equal(series->to_tick, 5119);
    assert_int_equal(series->ticks, 16);
    assert_int_equal(series->count, 256);
    for (uint32_t i = 0; i < series->count; i++) {
        const struct work_stretch *stretch = &series->stretches[i];
        uint64_t from = series->from_tick + i * series->ticks;
        if (from % FIRST_WHEEL == 0) {
            assert_int_equal(stretch->worst.tick, from);
            /* Two timers of each of the slot's ticks, but for those stopped. */
            assert_in_range(stretch->worst.work.cascades, 256, 512);
            assert_int_equal(stretch->work.cascades, stretch->worst.work.cascades);
            spikes++;
        } else {
            assert_int_equal(stretch->work.cascades, 0);
            assert_in_range(work_total(&stretch->worst.work), 1, 20);
        }
    }
    assert_int_equal(spikes, 16);
    free(result);
}

/* The sum of all stretches is the total, for any caller and window; a second run gives the same
 * bytes. */
static void nothing_is_counted_twice_or_not_at_all(void **state)
{
    (void)state;
    /* Structures with linear operations would take long, and are counted like all others. */
    static const struct replay_window windows[] = {
        {0}, {true, 0, 0}, {true, 0, 100}, {true, 77, 5077}, {true, 5000, 9000}};
    size_t count = tl_registry_count();
    for (size_t a = 0; a < count; a++) {
        const struct tl_algo *algo = tl_registry_at(a)->counted;
        if (algo->counters == NULL || (algo->capabilities & TL_CAP_SLOW) != 0) {
            continue;
        }
        /* A sanitizer would see the same in every window. */
        for (size_t w = 0; w < 2 * sizeof windows / sizeof windows[0]; w += SANITIZED ? 7 : 1) {
            enum drive_kind drive = w % 2 == 0 ? DRIVE_SLEEP : DRIVE_POLL;
            struct replay_result *result = check(algo, drive, windows[w / 2]);
            const struct work_series *series = &result->work;
            struct tl_counters sum = {0};
            uint64_t operations = 0;
            uint64_t fired = 0;
            if (result->status != REPLAY_OK) {
                free(result);
                continue;
            }
            for (uint32_t i = 0; i < series->count; i++) {
                const struct work_stretch *stretch = &series->stretches[i];
                sum.cascades += stretch->work.cascades;
                operations += work_total(&stretch->work) + stretch->operations;
                fired += stretch->fired;
                assert_true(work_total(&stretch->worst.work) <= work_total(&stretch->work));
                assert_true(stretch->worst.fired <= stretch->fired);
            }
            if (operations != work_total(&result->counters) || fired != result->window_fired ||
                sum.cascades > result->counters.cascades) {
                fail_msg("%s, window %zu: the stretches hold %" PRIu64 " of %" PRIu64
                         " and %" PRIu64 " of %" PRIu64 " fired",
                         algo->name, w, operations, work_total(&result->counters), fired,
                         result->window_fired);
            }
            struct replay_result *again = check(algo, drive, windows[w / 2]);
            assert_memory_equal(&again->work, &result->work, sizeof result->work);
            free(again);
            free(result);
        }
    }
}

/* A heartbeat; its expiries start it again or not. */
static uint64_t work_of_starts(bool by_firings)
{
    struct error error;
    const struct trace_cause self = {.id = 0, .basis = TRACE_FIXED_DELAY};
    struct trace_writer *writer = trace_writer_open(trace_path, 1000000, &error);
    assert_non_null(writer);
    assert_true(trace_writer_add(writer, 0, 0, TRACE_START, 10, &error));
    for (uint64_t tick = 10; tick < 200; tick += 10) {
        assert_true(by_firings
                        ? trace_writer_add_reaction(writer, tick, 0, TRACE_START, 10, self, &error)
                        : trace_writer_add(writer, tick, 0, TRACE_START, 10, &error));
    }
    assert_true(trace_writer_commit(writer, 0, 200, 1, "{}", &error));
    struct replay_result *result =
        check(tl_registry_find("simple-wheel")->counted, DRIVE_POLL, (struct replay_window){0});
    assert_int_equal(result->status, REPLAY_OK);
    assert_int_equal(result->reactions, by_firings ? 19 : 0);
    uint64_t operations = 0;
    for (uint32_t i = 0; i < result->work.count; i++) {
        operations += result->work.stretches[i].operations;
    }
    free(result);
    return operations;
}

/* A start counts its own work; the work of the advance before it belongs to the tick. */
static void what_a_firing_starts_is_no_work_of_the_tick(void **state)
{
    (void)state;
    uint64_t by_itself = work_of_starts(false);
    assert_true(by_itself > 0);
    assert_int_equal(work_of_starts(true), by_itself);
}

/* At most that many stretches; the last may be shorter. */
static void stretches_are_as_long_as_they_must_be(void **state)
{
    (void)state;
    static const struct {
        uint64_t from;
        uint64_t to;
        uint64_t ticks;
        uint32_t count;
    } cases[] = {
        {5, 5, 1, 1},     {0, 255, 1, 256}, {0, 256, 2, 129},
        {7, 519, 4, 129}, {9, 8, 1, 0},     {0, UINT64_MAX, UINT64_C(1) << 56, 256},
    };
    const struct tl_counters none = {0};
    struct work_series *series = malloc(sizeof *series);
    assert_non_null(series);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct tl_counters one = {.moves = 1};
        const struct tl_counters three = {.moves = 3};
        work_begin(series, cases[i].from, cases[i].to, &none);
        assert_int_equal(series->ticks, cases[i].ticks);
        assert_int_equal(series->count, cases[i].count);
        work_add_tick(series, cases[i].to, 1, &one);
        work_add_operations(series, cases[i].to, &three);
        work_end(series);
        if (cases[i].count > 0) {
            const struct work_stretch *last = &series->stretches[cases[i].count - 1];
            assert_int_equal(last->worst.tick, cases[i].to);
            assert_int_equal(last->work.moves, 1);
            assert_int_equal(last->operations, 2);
            assert_int_equal(last->fired, 1);
        }
    }
    /* Ticks after the last stretch belong to it. */
    work_begin(series, 10, 19, &none);
    work_add_tick(series, 25, 3, &none);
    work_end(series);
    assert_int_equal(series->stretches[9].fired, 3);
    free(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cascades_stand_where_the_first_wheel_comes_round),
        cmocka_unit_test(nothing_is_counted_twice_or_not_at_all),
        cmocka_unit_test(stretches_are_as_long_as_they_must_be),
        cmocka_unit_test(what_a_firing_starts_is_no_work_of_the_tick),
    };
    return cmocka_run_group_tests(tests, write_trace, remove_trace);
}
