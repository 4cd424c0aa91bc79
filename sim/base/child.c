#include "child.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* How far the child got; in front of its result, which is aligned by it. */
struct note {
    _Alignas(max_align_t) bool returned; /* from the function, with `good` */
    bool good;
    struct error error;
};

/* The note and the result, in memory that both processes see. */
struct shared {
    struct note *note;
    void *result;
    size_t bytes;
};

void *child_memory_new(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

void child_memory_free(void *memory, size_t bytes)
{
    if (memory != NULL) {
        (void)munmap(memory, bytes);
    }
}

void child_signal_text(int number, char *text, size_t text_bytes)
{
    (void)snprintf(text, text_bytes, "killed by signal %d (%s)", number, strsignal(number));
}

/* --- in the child ---------------------------------------------------------------------------- */

static void limit_child(const struct child_request *request)
{
    struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    if (!SANITIZED && request->address_space_bytes > 0) {
        struct rlimit limit = {request->address_space_bytes, request->address_space_bytes};
        (void)setrlimit(RLIMIT_AS, &limit);
    }
    /* What the parent does about signals is not for the child: a test program's handlers would go
     * on with its other tests. */
    static const int signals[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL, SIGABRT,
                                  SIGSYS,  SIGTERM, SIGPROF, SIGXCPU};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        (void)signal(signals[i], SIG_DFL);
    }
    if (request->processor_seconds > 0) {
        rlim_t seconds = (rlim_t)request->processor_seconds + 1;
        /* The second signal cannot be caught. */
        (void)setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds + 1});
    }
}

/* The child's whole life. */
static noreturn void live(const struct child_request *request, const struct shared *shared,
                          int output_fd)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(output_fd, STDOUT_FILENO) < 0 ||
        (request->keep_stderr && dup2(output_fd, STDERR_FILENO) < 0)) {
        _exit(1);
    }
    limit_child(request);
    bool good = request->run(request->ctx, shared->result, &shared->note->error);
    (void)fflush(NULL); /* what was printed into a buffer was printed */
    shared->note->good = good;
    shared->note->returned = true;
    _exit(0);
}

/* --- in the parent --------------------------------------------------------------------------- */

/* Reads what there is to be read: all that a pipe holds, but not for ever. Closes *fd, and makes it
 * negative, at its end. */
static void read_output(int *fd, struct child_outcome *outcome)
{
    char text[4096];
    ssize_t n = 1;
    for (unsigned reads = 0; reads < 64 && (n = read(*fd, text, sizeof text)) > 0; reads++) {
        for (ssize_t i = 0; i < n && outcome->output_bytes + (uint64_t)i < CHILD_OUTPUT_BYTES - 1;
             i++) {
            bool control = (unsigned char)text[i] < ' ' || text[i] == 127;
            outcome->output[outcome->output_bytes + (uint64_t)i] = control ? ' ' : text[i];
        }
        outcome->output_bytes += (uint64_t)n;
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        (void)close(*fd);
        *fd = -1;
    }
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Reads the child's output until it has ended, or its time has. False: it has not ended. */
static bool watch(pid_t pid, int *output_fd, double seconds, struct child_outcome *outcome)
{
    uint64_t begun_ns = clock_now_ns();
    while (!has_ended(pid)) {
        if ((double)(clock_now_ns() - begun_ns) / 1e9 >= seconds) {
            return false;
        }
        /* The output's end is the child's, unless that has left it to others, or goes on without.
         */
        struct pollfd output = {*output_fd, POLLIN, 0};
        if (poll(&output, 1, *output_fd >= 0 ? 100 : 1) > 0) {
            read_output(output_fd, outcome);
        }
    }
    if (*output_fd >= 0) {
        read_output(output_fd, outcome); /* its last words */
    }
    return true;
}

static void tell_timeout(const char *kind, double seconds, struct child_outcome *outcome)
{
    outcome->end = CHILD_TIMEOUT;
    (void)snprintf(outcome->reason, sizeof outcome->reason, "not done after %.0f s%s", seconds,
                   kind);
}

static void judge(const struct child_request *request, const struct note *note, bool in_time,
                  int status, struct child_outcome *outcome)
{
    if (!in_time) {
        tell_timeout("", request->timeout_seconds, outcome);
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU &&
               request->processor_seconds > 0) {
        tell_timeout(" of processor time", request->processor_seconds, outcome);
    } else if (WIFSIGNALED(status)) {
        outcome->end = CHILD_CRASHED;
        outcome->signal = WTERMSIG(status);
        child_signal_text(outcome->signal, outcome->reason, sizeof outcome->reason);
    } else if (!note->returned || WEXITSTATUS(status) != 0) {
        /* What has returned ends with 0, unless whoever watches it says otherwise: valgrind. */
        outcome->end = CHILD_EXITED;
        outcome->exit_status = WEXITSTATUS(status);
        (void)snprintf(outcome->reason, sizeof outcome->reason,
                       "the process ended itself with exit status %d", outcome->exit_status);
    } else {
        outcome->end = note->good ? CHILD_DONE : CHILD_FAILED;
        (void)snprintf(outcome->reason, sizeof outcome->reason, "%s", note->error.text);
    }
}

/* Makes the process. Its pid, and in *output_fd what to watch; or -1. */
static pid_t fork_child(const struct child_request *request, const struct shared *shared,
                        int *output_fd)
{
    int output[2];
    /* The reading end never waits; the writing end does, as standard output should. */
    if (pipe2(output, O_CLOEXEC) != 0) {
        return -1;
    }
    (void)fcntl(output[0], F_SETFL, O_NONBLOCK);
    /* What is buffered now would be written twice. */
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(output[0]);
        live(request, shared, output[1]);
    }
    int why = errno;
    (void)close(output[1]);
    *output_fd = output[0];
    if (pid < 0) {
        (void)close(output[0]);
        errno = why;
    }
    return pid;
}

bool child_run(const struct child_request *request, void *result, struct child_outcome *outcome,
               struct error *error)
{
    *outcome = (struct child_outcome){0};
    struct shared shared = {.bytes = sizeof *shared.note + request->result_bytes};
    shared.note = child_memory_new(shared.bytes);
    if (shared.note == NULL) {
        return error_set(error, "no process can be made: %s", strerror(errno));
    }
    shared.result = shared.note + 1;
    uint64_t begun_ns = clock_now_ns();
    int output_fd = -1;
    pid_t pid = fork_child(request, &shared, &output_fd);
    if (pid < 0) {
        (void)error_set(error, "no process can be made: %s", strerror(errno));
        child_memory_free(shared.note, shared.bytes);
        return false;
    }
    bool in_time = watch(pid, &output_fd, request->timeout_seconds, outcome);
    if (!in_time) {
        (void)kill(pid, SIGKILL);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    judge(request, shared.note, in_time, status, outcome);
    if (outcome->end == CHILD_DONE && request->result_bytes > 0) {
        memcpy(result, shared.result, request->result_bytes);
    }
    outcome->seconds = (double)(clock_now_ns() - begun_ns) / 1e9;
    if (output_fd >= 0) {
        (void)close(output_fd);
    }
    child_memory_free(shared.note, shared.bytes);
    return true;
}
