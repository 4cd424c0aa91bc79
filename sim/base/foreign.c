#include "foreign.h"

#include "child.h"
#include "clock.h"
#include "standard_files.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What both processes see. */
struct watched {
    _Atomic bool inside;    /* foreign code runs */
    _Atomic bool returned;  /* from the work, with `status` */
    _Atomic uint64_t since; /* when it was entered, or alive for the last time */
    uint64_t limit_ns;      /* 0: none */
    int status;
    char what[512];
};

static struct watched *watched; /* NULL: nobody watches */
static pid_t supervised;        /* whose doings they are: not those of its children */

/* --- in the process that works --------------------------------------------------------------- */

void foreign_enter(double seconds, const char *format, ...)
{
    if (watched == NULL || supervised != getpid()) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(watched->what, sizeof watched->what, format, arguments);
    va_end(arguments);
    (void)fflush(stdout); /* what is printed so far is not to be lost */
    watched->limit_ns = (uint64_t)(seconds * 1e9);
    atomic_store(&watched->since, clock_now_ns());
    atomic_store(&watched->inside, true);
}

void foreign_alive(void)
{
    if (watched != NULL) {
        atomic_store_explicit(&watched->since, clock_now_ns(), memory_order_relaxed);
    }
}

void foreign_leave(void)
{
    if (watched != NULL && supervised == getpid()) {
        atomic_store(&watched->inside, false);
    }
}

/* --- in the process that watches ------------------------------------------------------------- */

static volatile sig_atomic_t worker;

static void pass_on(int number)
{
    int kept = errno;
    (void)kill((pid_t)worker, number);
    errno = kept;
}

/* What is said to the program is said to the one that works: it knows what is to be tidied up. */
static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
#define PASSED_ON (sizeof passed_on / sizeof passed_on[0])

static void pass_signals_on(void)
{
    for (size_t i = 0; i < PASSED_ON; i++) {
        struct sigaction action;
        if (sigaction(passed_on[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL) {
            action.sa_handler = pass_on;
            (void)sigaction(passed_on[i], &action, NULL);
        }
    }
}

static bool is_overdue(void)
{
    return atomic_load(&watched->inside) && watched->limit_ns > 0 &&
           clock_now_ns() > atomic_load(&watched->since) + watched->limit_ns;
}

/* Waits until the process has ended, by itself or because foreign code took too long. */
static int wait_for(pid_t pid, const sigset_t *child_signal, bool *in_time)
{
    int status = 0;
    const struct timespec while_ns = {.tv_nsec = 200000000};
    pid_t ended = 0;
    *in_time = true;
    while ((ended = waitpid(pid, &status, WNOHANG)) != pid && (ended == 0 || errno == EINTR)) {
        if (*in_time && is_overdue()) {
            *in_time = false;
            (void)kill(pid, SIGKILL);
        }
        (void)sigtimedwait(child_signal, NULL, &while_ns);
    }
    return status;
}

/* What ended the other from outside ends this process too, and needs no words. */
static void end_likewise(int number)
{
    static const int from_outside[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < sizeof from_outside / sizeof from_outside[0]; i++) {
        if (number == from_outside[i]) {
            (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
            (void)signal(number, SIG_DFL);
            (void)raise(number);
        }
    }
}

static void tell(const char *program, const char *how)
{
    if (atomic_load(&watched->inside)) {
        standard_files_tell("%s: %s: %s; `timerlab check` finds out more\n", program, watched->what,
                            how);
    } else {
        standard_files_tell("%s: %s\n", program, how);
    }
}

static int judge(const char *program, int status, bool in_time, int failed)
{
    char how[256];
    bool inside = atomic_load(&watched->inside);
    bool returned = atomic_load(&watched->returned);
    if (!in_time) {
        (void)snprintf(how, sizeof how, "not done after %.0f s", (double)watched->limit_ns / 1e9);
    } else if (WIFSIGNALED(status)) {
        end_likewise(WTERMSIG(status));
        child_signal_text(WTERMSIG(status), how, sizeof how);
    } else if (inside && !returned) {
        (void)snprintf(how, sizeof how, "it ended the program itself, with exit status %d",
                       WEXITSTATUS(status));
    } else {
        /* What ends in good order can still be called faulty by who watches: a sanitizer. */
        return returned && WEXITSTATUS(status) == 0 ? watched->status : WEXITSTATUS(status);
    }
    tell(program, how);
    return failed;
}

int foreign_supervise(const char *program, int (*work)(void *ctx), void *ctx, int failed)
{
    sigset_t child_signal;
    sigset_t held; /* until each process has made up its mind about them */
    sigset_t before;
    struct watched *shared = child_memory_new(sizeof *shared);
    (void)sigemptyset(&child_signal);
    (void)sigaddset(&child_signal, SIGCHLD);
    held = child_signal;
    for (size_t i = 0; i < PASSED_ON; i++) {
        (void)sigaddset(&held, passed_on[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &held, &before);
    (void)fflush(NULL);
    pid_t pid = shared != NULL ? fork() : -1;
    if (pid <= 0) {
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
    }
    if (pid < 0) {
        child_memory_free(shared, sizeof *shared);
        return work(ctx); /* without a watcher it is still worth doing */
    }
    watched = shared;
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        supervised = getpid();
        shared->status = work(ctx);
        (void)fflush(stdout);
        foreign_enter(10, "a plug-in, at the program's end");
        atomic_store(&shared->returned, true);
        exit(shared->status);
    }
    worker = pid;
    pass_signals_on();
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)sigprocmask(SIG_BLOCK, &child_signal, NULL);
    bool in_time = true;
    int status = wait_for(pid, &child_signal, &in_time);
    status = judge(program, status, in_time, failed);
    watched = NULL;
    child_memory_free(shared, sizeof *shared);
    return status;
}
