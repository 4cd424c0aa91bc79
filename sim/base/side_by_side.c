#include "side_by_side.h"

#include "child.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static noreturn void work_in_process(const struct side_by_side *work, atomic_size_t *next,
                                     const int done[2], pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)close(done[0]);
    size_t item;
    while (getppid() == parent && (item = atomic_fetch_add(next, 1)) < work->count) {
        work->run(work->ctx, item);
        (void)!write(done[1], "", 1);
    }
    _exit(EXIT_SUCCESS);
}

void side_by_side(const struct side_by_side *work)
{
    int done[2];
    atomic_size_t *next = child_memory_new(sizeof *next);
    pid_t *pids = memory_new(work->processes, sizeof *pids);
    pid_t parent = getpid();
    if (pipe2(done, O_CLOEXEC) == 0) {
        /* Buffered output would be written twice. */
        (void)fflush(NULL);
        for (unsigned i = 0; i < work->processes; i++) {
            pids[i] = fork();
            if (pids[i] == 0) {
                free(pids);
                work_in_process(work, next, done, parent);
            }
        }
        (void)close(done[1]);
        char byte;
        ssize_t got;
        while ((got = read(done[0], &byte, 1)) == 1 || (got < 0 && errno == EINTR)) {
            if (got == 1) {
                work->done(work->ctx);
            }
        }
        (void)close(done[0]);
        for (unsigned i = 0; i < work->processes; i++) {
            while (pids[i] > 0 && waitpid(pids[i], NULL, 0) < 0 && errno == EINTR) {
            }
        }
    }
    free(pids);
    child_memory_free(next, sizeof *next);
}
