/*
 * What a signal ends leaves nothing behind that was only for itself, and takes nothing else along.
 */
#include "test.h"

#include "leavings.h"
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

struct paths {
    char file[256];
    char whole[256]; /* a folder with files */
    char kept[256];  /* one that is somebody's */
};

static void make_file(const char *folder, unsigned number)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/a-file-%u", folder, number);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || close(fd) != 0) {
        _exit(2);
    }
}

/* In a process of its own. */
static void make_all_and_end(int told)
{
    struct paths paths = {.kept = "/tmp/timerlab-leavings-XXXXXX"};
    struct error error;
    if (!temporary_file_make(paths.file, sizeof paths.file, "leavings", false, NULL, &error) ||
        !temporary_folder_make(paths.whole, sizeof paths.whole, "leavings", false, &error) ||
        mkdtemp(paths.kept) == NULL) {
        _exit(2);
    }
    leavings_add(paths.kept);
    for (unsigned number = 0; number < FILES; number++) {
        make_file(paths.whole, number);
    }
    make_file(paths.kept, 0);
    if (write(told, &paths, sizeof paths) == (ssize_t)sizeof paths) {
        (void)raise(SIGTERM);
    }
    _exit(3);
}

/* What has a place keeps it. */
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

static void a_signal_leaves_nothing_but_what_others_put_there(void **state)
{
    (void)state;
    struct paths paths;
    int ends[2];
    int status = 0;
    char left[300];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        make_all_and_end(ends[1]);
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &paths, sizeof paths), sizeof paths);
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_not_equal(access(paths.file, F_OK), 0);
    assert_int_not_equal(access(paths.whole, F_OK), 0);
    (void)snprintf(left, sizeof left, "%s/a-file-0", paths.kept);
    assert_int_equal(unlink(left), 0);
    assert_int_equal(rmdir(paths.kept), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_memory_lies_what_has_no_place),
        cmocka_unit_test(a_signal_leaves_nothing_but_what_others_put_there),
    };
    return cmocka_run_group_tests_name("leavings", tests, NULL, NULL);
}
