/*
 * The supervisor: the work's exit status and signals are the program's, its temporary files and the
 * processes that it left are gone, and files of others stay.
 */
#include "test.h"

#include "supervisor.h"
#include "temporary_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES 300u

/* Shared with the process that is tested. */
struct left {
    struct temporary whole; /* is removed with its files */
    char unused[64];
    char kept[64]; /* a folder with another program's file */
    pid_t orphan;
    int to_tester;
};

struct way {
    int (*end)(void);
    bool by_signal;
    int number; /* of the signal, or the exit status */
};

static void make_file(const char *folder, unsigned number)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%.4000s/a-file-%u", folder, number);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || close(fd) != 0) {
        _exit(2);
    }
}

static struct left left;

/* A process after its parent has ended. */
static pid_t make_orphan(bool stubborn)
{
    int pids[2];
    pid_t orphan = 0;
    if (pipe(pids) != 0) {
        _exit(2);
    }
    if (fork() == 0) {
        orphan = fork();
        if (orphan == 0) {
            (void)setsid();
            (void)signal(SIGTERM, stubborn ? SIG_IGN : SIG_DFL);
            for (;;) {
                (void)pause();
            }
        }
        _exit(write(pids[1], &orphan, sizeof orphan) == (ssize_t)sizeof orphan ? 0 : 1);
    }
    if (read(pids[0], &orphan, sizeof orphan) != (ssize_t)sizeof orphan) {
        _exit(2);
    }
    return orphan;
}

static int make_all_and_end(void *ctx)
{
    const struct way *way = ctx;
    struct error error;
    (void)snprintf(left.unused, sizeof left.unused, "/tmp/timerlab-unused-%d", (int)getpid());
    (void)snprintf(left.kept, sizeof left.kept, "/tmp/timerlab-kept-%d", (int)getpid());
    if (!folder_make_unless_used(left.unused) || !folder_make_unless_used(left.kept) ||
        !temporary_make(&left.whole, &error)) {
        _exit(2);
    }
    for (unsigned number = 0; number < FILES; number++) {
        make_file(left.whole.folder, number);
    }
    make_file(left.kept, 0);
    left.orphan = make_orphan(way->by_signal && way->number == SIGKILL);
    if (write(left.to_tester, &left, sizeof left) != (ssize_t)sizeof left) {
        _exit(3);
    }
    return way->end();
}

static int by_exit(void)
{
    return 5;
}

static int by_exit_at_once(void)
{
    _exit(6);
}

static int by_kill(void)
{
    (void)raise(SIGKILL);
    return 7;
}

/* The supervisor gets it, and forwards it. */
static int by_forwarded_signal(void)
{
    (void)kill(getppid(), SIGTERM);
    (void)pause();
    return 7;
}

static int by_key(void)
{
    (void)kill(getppid(), SIGQUIT); /* control and backslash */
    (void)pause();
    return 7;
}

/* A user's $TMPDIR is kept. */
static void in_memory_lies_what_has_no_place(void **state)
{
    (void)state;
    bool has_memory = access("/dev/shm", W_OK | X_OK) == 0;
    assert_int_equal(setenv("TMPDIR", "/tmp", 1), 0);
    temporary_files_lie_in_memory();
    assert_string_equal(getenv("TMPDIR"), "/tmp");
    assert_int_equal(unsetenv("TMPDIR"), 0);
    temporary_files_lie_in_memory();
    const char *place = getenv("TMPDIR");
    assert_true(has_memory ? place != NULL && strcmp(place, "/dev/shm") == 0 : place == NULL);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

static void after_every_end_only_results_are_left(void **state)
{
    (void)state;
    static const struct way ways[] = {{by_exit, false, 5},
                                      {by_exit_at_once, false, 6},
                                      {by_kill, true, SIGKILL},
                                      {by_forwarded_signal, true, SIGTERM},
                                      {by_key, true, SIGQUIT}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct way way = ways[i];
        char path[300];
        int ends[2];
        int status = 0;
        assert_int_equal(pipe(ends), 0);
        pid_t program = fork();
        assert_true(program >= 0);
        if (program == 0) {
            left.to_tester = ends[1];
            _exit(supervisor_run(make_all_and_end, NULL, &way));
        }
        (void)close(ends[1]);
        assert_int_equal(read(ends[0], &left, sizeof left), sizeof left);
        (void)close(ends[0]);
        assert_int_equal(waitpid(program, &status, 0), program);
        assert_int_equal(WIFSIGNALED(status), way.by_signal);
        assert_int_equal(way.by_signal ? WTERMSIG(status) : WEXITSTATUS(status), way.number);
        assert_int_not_equal(access(left.unused, F_OK), 0);
        assert_int_not_equal(access(left.whole.folder, F_OK), 0);
        assert_int_not_equal(kill(left.orphan, 0), 0);
        (void)snprintf(path, sizeof path, "%s/a-file-0", left.kept);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(left.kept), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_memory_lies_what_has_no_place),
        cmocka_unit_test(after_every_end_only_results_are_left),
    };
    return cmocka_run_group_tests_name("cleanup", tests, NULL, NULL);
}
