/* The ticks until operations are durable, the number of disk syncs, and recovery. */
#include "test.h"

#include "front.h"
#include "registry.h"
#include "replay_pass.h"
#include "replayed.h"
#include "temporary_file.h"
#include "trace.h"

#include <string.h>
#include <unistd.h>

#define PENDING 100u

static void look(struct acknowledged *acknowledged, uint64_t tick, uint64_t sequence,
                 uint64_t durable_sequence)
{
    const struct tl_durability durability = {.sequence = sequence,
                                             .durable_sequence = durable_sequence};
    acknowledged_look(acknowledged, tick, &durability);
}

static void what_is_durable_at_once_has_not_waited(void **state)
{
    (void)state;
    struct acknowledged acknowledged = {0};
    look(&acknowledged, 5, 3, 3);
    look(&acknowledged, 90, 3, 3);
    look(&acknowledged, 95, 4, 4);
    acknowledged_finish(&acknowledged, 900);
    assert_int_equal(acknowledged.max_ticks, 0);
    acknowledged_release(&acknowledged);
}

static void the_oldest_of_a_commit_counts(void **state)
{
    (void)state;
    struct acknowledged acknowledged = {0};
    look(&acknowledged, 5, 2, 0);
    look(&acknowledged, 9, 4, 0);
    look(&acknowledged, 12, 4, 1); /* one of the two of tick 5 */
    assert_int_equal(acknowledged.max_ticks, 7);
    look(&acknowledged, 13, 4, 3); /* the other one, and one of tick 9 */
    assert_int_equal(acknowledged.max_ticks, 8);
    look(&acknowledged, 18, 4, 4);
    assert_int_equal(acknowledged.max_ticks, 9);
    acknowledged_release(&acknowledged);
}

static void what_still_waits_at_the_end_counts_up_to_there(void **state)
{
    (void)state;
    struct acknowledged acknowledged = {0};
    look(&acknowledged, 5, 2, 1);
    acknowledged_finish(&acknowledged, 25);
    assert_int_equal(acknowledged.max_ticks, 20);
    acknowledged_release(&acknowledged);
}

/* The queue is never empty while it moves on. */
static void many_ticks_wait_at_once(void **state)
{
    (void)state;
    struct acknowledged acknowledged = {0};
    for (uint64_t tick = 1; tick <= 100000; tick++) {
        look(&acknowledged, tick, tick, tick > 700 ? tick - 700 : 0);
        assert_int_equal(acknowledged.max_ticks, tick > 700 ? 700 : 0);
    }
    assert_true(acknowledged.room < 5000);
    acknowledged_release(&acknowledged);
}

/* --- replays --------------------------------------------------------------------------------- */

static char trace_path[] = "/tmp/timerlab-acknowledged-XXXXXX";
static const struct tl_algo *durable;

/* Timers are pending at the end tick. */
static int prepare(void **state)
{
    (void)state;
    struct error error;
    char why[200];
    int fd = mkstemp(trace_path);
    assert_true(fd >= 0);
    (void)close(fd);
    struct trace_writer *writer = trace_writer_open(trace_path, 1000000, &error);
    assert_non_null(writer);
    for (uint32_t id = 0; id < PENDING; id++) {
        assert_true(trace_writer_add(writer, id, id, TRACE_START, 1000, &error));
    }
    assert_true(trace_writer_commit(writer, 0, 500, PENDING, "{}", &error));
    durable = tl_front_compose(tl_front_find("durable"), tl_registry_find("binary-heap")->timed,
                               why, sizeof why);
    assert_non_null(durable);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    tl_front_release(durable);
    return unlink(trace_path);
}

static struct replay_result result; /* large */

static bool run(const struct tl_algo *algo, const void *options, enum replay_pass pass,
                struct replay_window window)
{
    struct error error;
    const struct replay_request request = {.algo = algo,
                                           .options = options,
                                           .pass = pass,
                                           .window = window,
                                           .memory_limit_bytes = UINT64_C(256) << 20};
    return replay_path(trace_path, request, &result, &error);
}

/* A commit is one start here, with one start a tick. */
static void only_in_the_window_it_counts_how_often_it_waits(void **state)
{
    (void)state;
    const struct replay_window window = {.asked = true, .from_tick = 60, .to_tick = 500};
    TL_OPTION_VALUES(options);
    tl_options_default(durable, options);
    assert_true(tl_option_read(tl_option_find(durable->options, "group"), options, "1"));
    assert_true(run(durable, options, PASS_CHECK, window));
    assert_int_equal(result.status, REPLAY_OK);
    assert_int_equal(result.syncs, PENDING - 60);
}

static void recover(const struct tl_algo *algo)
{
    struct error error;
    struct temporary temporary;
    TL_OPTION_VALUES(options);
    assert_true(temporary_make(&temporary, &error));
    tl_options_default(algo, options);
    assert_true(tl_option_read(tl_option_find(algo->options, "path"), options, temporary.file));
    bool done = run(algo, options, PASS_RECOVERY, (struct replay_window){0});
    char folder[PATH_MAX];
    (void)strcpy(folder, temporary.folder);
    temporary_remove(&temporary);
    assert_true(done);
    assert_int_not_equal(access(folder, F_OK), 0);
}

static void what_is_pending_is_brought_back(void **state)
{
    (void)state;
    recover(durable);
    assert_string_equal(result.reason, "");
    assert_int_equal(result.status, REPLAY_OK);
    assert_int_equal(result.recovered, PENDING);
}

static enum tl_status recover_and_lose_one(void *self, tl_adopt_fn adopt, void *ctx)
{
    enum tl_status status = durable->recover(self, adopt, ctx);
    (void)durable->stop(self, 7);
    return status;
}

static void recover_nothing(void *ctx, uint32_t id, uint64_t deadline, uint64_t generation)
{
    (void)ctx;
    (void)id;
    (void)deadline;
    (void)generation;
}

static enum tl_status recover_silently(void *self, tl_adopt_fn adopt, void *ctx)
{
    (void)adopt;
    return durable->recover(self, recover_nothing, ctx);
}

static void what_is_not_brought_back_is_a_fault(void **state)
{
    (void)state;
    struct tl_algo wrong = *durable;
    wrong.recover = recover_and_lose_one;
    recover(&wrong);
    assert_int_equal(result.status, REPLAY_FAULT);
    assert_non_null(strstr(result.reason, "it brought back 100, and counts 99"));
    wrong.recover = recover_silently;
    recover(&wrong);
    assert_int_equal(result.status, REPLAY_FAULT);
    assert_non_null(strstr(result.reason, "it brought back 0, and counts 100"));
    assert_int_equal(result.recovered, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_durable_at_once_has_not_waited),
        cmocka_unit_test(the_oldest_of_a_commit_counts),
        cmocka_unit_test(what_still_waits_at_the_end_counts_up_to_there),
        cmocka_unit_test(many_ticks_wait_at_once),
        cmocka_unit_test(only_in_the_window_it_counts_how_often_it_waits),
        cmocka_unit_test(what_is_pending_is_brought_back),
        cmocka_unit_test(what_is_not_brought_back_is_a_fault),
    };
    return cmocka_run_group_tests_name("acknowledged", tests, prepare, clean_up);
}
