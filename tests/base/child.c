/* Child processes: how each may end, and which results reach the parent. */
#include "child.h"
#include "clock.h"

#include "test.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct result {
    uint64_t number;
    char filler[100000]; /* more than a pipe takes at once */
};

static struct result result;

static bool spin(void *ctx, void *to, struct error *error)
{
    (void)ctx;
    (void)to;
    (void)error;
    for (volatile unsigned i = 0;; i++) {
    }
    return true;
}

static struct child_outcome run(child_fn function, void *ctx)
{
    const struct child_request request = {
        .run = function,
        .ctx = ctx,
        .result_bytes = sizeof result,
        .timeout_seconds = 600,
        .processor_seconds = function == spin ? 0.05 : 0,
    };
    struct child_outcome outcome;
    struct error error;
    if (!child_run(&request, &result, &outcome, &error)) {
        fail_msg("%s", error.text);
    }
    return outcome;
}

static bool succeed(void *ctx, void *to, struct error *error)
{
    (void)error;
    struct result *mine = to;
    assert_int_equal(mine->number, 0);
    mine->number = *(const uint64_t *)ctx;
    mine->filler[sizeof mine->filler - 1] = 'x';
    return true;
}

static bool refuse(void *ctx, void *to, struct error *error)
{
    (void)ctx;
    (void)to;
    return error_set(error, "there is no such thing");
}

static bool crash(void *ctx, void *to, struct error *error)
{
    (void)to;
    (void)error;
    *(uint64_t *)ctx = 17;
    (void)raise(SIGSEGV);
    return true;
}

static bool leave(void *ctx, void *to, struct error *error)
{
    (void)ctx;
    (void)to;
    (void)error;
    _exit(0);
}

static bool wait_for_ever(void *ctx, void *to, struct error *error)
{
    (void)ctx;
    (void)to;
    (void)error;
    for (;;) {
        (void)pause();
    }
    return true;
}

static bool print(void *ctx, void *to, struct error *error)
{
    (void)to;
    (void)error;
    (void)fputs("\x1b[1mone\ntwo", stderr);
    for (uint64_t i = 0; i < *(const uint64_t *)ctx; i++) {
        (void)putchar('.');
    }
    return true; /* buffered output counts, too */
}

static bool print_and_close(void *ctx, void *to, struct error *error)
{
    (void)ctx;
    (void)to;
    (void)error;
    (void)puts("last words");
    (void)fclose(stdout);
    (void)fclose(stderr);
    return true;
}

static void each_end_is_told(void **state)
{
    (void)state;
    uint64_t number = 42;
    struct child_outcome outcome = run(succeed, &number);
    assert_int_equal(outcome.end, CHILD_DONE);
    assert_int_equal(result.number, 42);
    assert_int_equal(result.filler[sizeof result.filler - 1], 'x');
    assert_int_equal(outcome.output_bytes, 0);

    result.number = 1;
    outcome = run(refuse, NULL);
    assert_int_equal(outcome.end, CHILD_FAILED);
    assert_string_equal(outcome.reason, "there is no such thing");
    assert_int_equal(result.number, 1); /* no result, nothing written */

    outcome = run(leave, NULL);
    assert_int_equal(outcome.end, CHILD_EXITED);
    assert_int_equal(outcome.exit_status, 0);

    outcome = run(spin, NULL);
    assert_int_equal(outcome.end, CHILD_TIMEOUT);
    assert_non_null(strstr(outcome.reason, "processor time"));
}

static void a_crash_leaves_shared_memory(void **state)
{
    (void)state;
    uint64_t *shared = child_memory_new(sizeof *shared);
    assert_non_null(shared);
    struct child_outcome outcome = run(crash, shared);
    assert_int_equal(outcome.end, CHILD_CRASHED);
    assert_int_equal(outcome.signal, SIGSEGV);
    assert_int_equal(*shared, 17);
    child_memory_free(shared, sizeof *shared);
}

static void what_waits_for_ever_is_ended(void **state)
{
    (void)state;
    const struct child_request request = {.run = wait_for_ever, .timeout_seconds = 0.01};
    struct child_outcome outcome;
    struct error error;
    assert_true(child_run(&request, NULL, &outcome, &error));
    assert_int_equal(outcome.end, CHILD_TIMEOUT);
}

static void output_is_counted_and_its_beginning_kept(void **state)
{
    (void)state;
    /* Less than the buffer, more than a pipe, and more than is read at a time. */
    static const uint64_t counts[] = {5, 100000, 1000000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint64_t count = counts[i];
        struct child_outcome outcome = run(print, &count);
        assert_int_equal(outcome.end, CHILD_DONE);
        assert_int_equal(outcome.output_bytes, count + 11);
        assert_memory_equal(outcome.output, " [1mone two.....", 16);
        assert_true(strlen(outcome.output) < CHILD_OUTPUT_BYTES);
    }
    struct child_outcome outcome = run(print_and_close, NULL);
    assert_int_equal(outcome.end, CHILD_DONE);
    assert_int_equal(outcome.output_bytes, 11);
}

/* --- misdeeds of a structure
 * ----------------------------------------------------------------------- */

static const char hook[16] = "advance";

static bool hang_in_a_hook(void *ctx, void *to, struct error *error)
{
    child_enter(hook);
    return wait_for_ever(ctx, to, error);
}

static bool stop(void *ctx, void *to, struct error *error)
{
    (void)ctx;
    (void)to;
    (void)error;
    child_phase(0.05, "while it was %s", "tried");
    (void)raise(SIGSTOP);
    return true;
}

/* Longer than a phase may take, but alive. */
static bool go_on(void *ctx, void *to, struct error *error)
{
    (void)ctx;
    (void)to;
    (void)error;
    child_phase(0.3, "while it went on");
    for (uint64_t begun_ns = clock_now_ns(); clock_now_ns() < begun_ns + 900000000;) {
        child_alive();
    }
    return true;
}

static void a_phase_has_a_limit_by_the_wall_clock(void **state)
{
    (void)state;
    struct child_outcome outcome;
    struct error error;
    const struct child_request hanging = {.run = hang_in_a_hook, .hook_seconds = 0.05};
    assert_true(child_run(&hanging, NULL, &outcome, &error));
    assert_int_equal(outcome.end, CHILD_TIMEOUT);
    assert_string_equal(outcome.reason, "not done after 0.05 s in advance");
    const struct child_request stopping = {.run = stop};
    assert_true(child_run(&stopping, NULL, &outcome, &error));
    assert_int_equal(outcome.end, CHILD_TIMEOUT);
    assert_string_equal(outcome.reason, "not done after 0.05 s while it was tried");
    const struct child_request living = {.run = go_on};
    assert_true(child_run(&living, NULL, &outcome, &error));
    assert_int_equal(outcome.end, CHILD_DONE);
}

static bool leave_processes(void *ctx, void *to, struct error *error)
{
    (void)error;
    pid_t *daemon = ctx;
    uint64_t *number = to;
    *number = 1;
    pid_t pid = fork();
    if (pid == 0) {
        (void)setsid();
        if (fork() == 0) {
            *daemon = getpid();
        }
        *number = 2; /* of its own result */
        return true;
    }
    while (*(volatile pid_t *)daemon == 0) {
        (void)sched_yield();
    }
    return true;
}

static void processes_that_it_leaves_are_ended(void **state)
{
    (void)state;
    pid_t *daemon = child_memory_new(sizeof *daemon);
    uint64_t number = 0;
    struct child_outcome outcome;
    struct error error;
    const struct child_request request = {
        .run = leave_processes, .ctx = daemon, .result_bytes = sizeof number};
    assert_true(child_run(&request, &number, &outcome, &error));
    assert_int_equal(outcome.end, CHILD_DONE);
    assert_int_equal(number, 1);
    assert_int_not_equal(kill(*daemon, 0), 0);
    child_memory_free(daemon, sizeof *daemon);
}

static bool look_at_files(void *ctx, void *to, struct error *error)
{
    (void)error;
    const int *files = ctx;
    bool *right = to;
    char byte;
    *right = fcntl(files[0], F_GETFD) >= 0 && fcntl(files[1], F_GETFD) < 0 &&
             read(STDIN_FILENO, &byte, 1) == 0;
    return true;
}

static void only_files_that_it_needs_are_open(void **state)
{
    (void)state;
    int files[2];
    bool right = false;
    struct child_outcome outcome;
    struct error error;
    assert_int_equal(pipe(files), 0);
    const struct child_request request = {.run = look_at_files,
                                          .ctx = files,
                                          .result_bytes = sizeof right,
                                          .kept = files,
                                          .kept_count = 1};
    assert_true(child_run(&request, &right, &outcome, &error));
    assert_int_equal(outcome.end, CHILD_DONE);
    assert_true(right);
    (void)close(files[0]);
    (void)close(files[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_is_told),
        cmocka_unit_test(a_crash_leaves_shared_memory),
        cmocka_unit_test(what_waits_for_ever_is_ended),
        cmocka_unit_test(output_is_counted_and_its_beginning_kept),
        cmocka_unit_test(a_phase_has_a_limit_by_the_wall_clock),
        cmocka_unit_test(processes_that_it_leaves_are_ended),
        cmocka_unit_test(only_files_that_it_needs_are_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
