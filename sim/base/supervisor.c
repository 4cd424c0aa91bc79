#include "supervisor.h"

#include "clock.h"
#include "temporary_file.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long a process that the work left has to remove its own files. */
#define GRACE_SECONDS 10.0

static _Atomic bool *let_go; /* shared by both processes; NULL: there is no supervisor */

void supervisor_let_go(void)
{
    if (let_go != NULL) {
        atomic_store(let_go, true);
    }
}

/* The children that have had their signal, but for SIGKILL. A second one would end a shell that is
 * just removing its files. */
struct signalled {
    pid_t pids[256];
    size_t count;
};

static bool was_signalled(const struct signalled *signalled, pid_t pid)
{
    for (size_t i = 0; i < signalled->count; i++) {
        if (signalled->pids[i] == pid) {
            return true;
        }
    }
    return false;
}

/* Send a signal to all children, SIGKILL excepted only once to each. False if the system does not
 * list them. */
static bool signal_children(int number, struct signalled *signalled)
{
    char path[64];
    long pid = 0;
    (void)snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    FILE *children = fopen(path, "re");
    while (children != NULL && fscanf(children, "%ld", &pid) == 1) {
        if (number == SIGKILL || !was_signalled(signalled, (pid_t)pid)) {
            (void)kill((pid_t)pid, number);
            if (signalled->count < sizeof signalled->pids / sizeof signalled->pids[0]) {
                signalled->pids[signalled->count++] = (pid_t)pid;
            }
        }
    }
    return children != NULL && fclose(children) == 0;
}

void supervisor_end_children(int first, double grace_seconds)
{
    const struct timespec moment = {.tv_nsec = 20000000};
    struct signalled signalled = {.count = 0};
    uint64_t begun_ns = clock_now_ns();
    bool listed = true;
    pid_t ended = 0;
    while (listed && ((ended = waitpid(-1, NULL, WNOHANG)) >= 0 || errno == EINTR)) {
        bool patient = (double)(clock_now_ns() - begun_ns) < grace_seconds * 1e9;
        if (ended == 0) {
            listed = signal_children(patient ? first : SIGKILL, &signalled);
            (void)nanosleep(&moment, NULL);
        }
    }
}

/* Waits for the work's end, and forwards the signals of `set` to it until then. */
static int wait_for(pid_t worker, const sigset_t *set)
{
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(worker, &status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        int number = sigwaitinfo(set, NULL);
        if (number > 0 && number != SIGCHLD) {
            (void)kill(worker, number);
        }
    }
    return status;
}

static void end_by(int number)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    (void)signal(number, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)raise(number);
}

int supervisor_run(int (*work)(void *ctx), int (*ended)(void *ctx, int status), void *ctx)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
    sigset_t set;
    sigset_t before;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        (void)sigaddset(&set, numbers[i]);
    }
    (void)signal(SIGCHLD, SIG_DFL); /* who ignores it cannot wait for children */
    void *shared =
        mmap(NULL, sizeof *let_go, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || !temporary_list_begin()) {
        return work(ctx);
    }
    let_go = shared;
    (void)sigprocmask(SIG_BLOCK, &set, &before);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t supervisor = getpid();
    pid_t worker = fork();
    if (worker <= 0) {
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
    }
    if (worker < 0) {
        return work(ctx);
    }
    if (worker == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        exit(getppid() == supervisor ? work(ctx) : EXIT_FAILURE);
    }
    int status = wait_for(worker, &set);
    if (!atomic_load(let_go)) {
        supervisor_end_children(SIGTERM, GRACE_SECONDS);
    }
    temporary_list_remove();
    int instead = ended != NULL ? ended(ctx, status) : -1;
    if (instead < 0 && WIFSIGNALED(status)) {
        end_by(WTERMSIG(status));
    }
    return instead >= 0 ? instead : WEXITSTATUS(status);
}
