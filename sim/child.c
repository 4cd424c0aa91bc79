#include "child.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

/* What the child writes in front of its result. */
struct child_header {
    bool done;
    char reason[sizeof((struct error *)0)->text];
};

static bool write_all(int fd, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t n = write(fd, at, bytes);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static _Noreturn void be_child(const struct child_request *request, int result_fd, int output_fd)
{
    (void)dup2(output_fd, STDOUT_FILENO);
    /* A crash is to end this process, whatever handlers the parent had set up for its own. */
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) {
        (void)signal(deadly[i], SIG_DFL);
    }
    if (request->address_space_bytes > 0 && !SANITIZED) {
        struct rlimit limit = {request->address_space_bytes, request->address_space_bytes};
        (void)setrlimit(RLIMIT_AS, &limit);
    }
    struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    struct child_header header = {0};
    struct error error = {{0}};
    void *result = calloc(1, request->result_bytes > 0 ? request->result_bytes : 1);
    if (result == NULL) {
        (void)error_set(&error, "out of memory");
    } else {
        header.done = request->run(request->ctx, result, &error);
    }
    (void)fflush(stdout);
    memcpy(header.reason, error.text, sizeof header.reason);
    bool written = write_all(result_fd, &header, sizeof header) &&
                   (!header.done || write_all(result_fd, result, request->result_bytes));
    free(result);
    _exit(written ? 0 : 1);
}

/* Collects what the child writes until both pipes are closed or time is up. */
static bool collect(const struct child_request *request, int result_fd, int output_fd, char *buffer,
                    size_t buffer_bytes, size_t *received, struct child_outcome *outcome)
{
    uint64_t begun_ns = clock_now_ns();
    struct pollfd fds[2] = {{result_fd, POLLIN, 0}, {output_fd, POLLIN, 0}};
    while (fds[0].fd >= 0) {
        double left = request->timeout_seconds - (double)(clock_now_ns() - begun_ns) / 1e9;
        if (left <= 0) {
            return false;
        }
        int ready = poll(fds, 2, left < 1 ? (int)(left * 1000) + 1 : 1000);
        if (ready < 0 && errno != EINTR) {
            break;
        }
        if (ready <= 0) {
            continue;
        }
        if (fds[0].revents != 0) {
            char spill[512];
            bool full = *received == buffer_bytes;
            ssize_t n = full ? read(result_fd, spill, sizeof spill)
                             : read(result_fd, buffer + *received, buffer_bytes - *received);
            if (n == 0 || (n < 0 && errno != EINTR)) {
                fds[0].fd = -1;
            } else if (n > 0 && !full) {
                *received += (size_t)n;
            }
        }
        if (fds[1].fd >= 0 && fds[1].revents != 0) {
            char output[4096];
            ssize_t n = read(output_fd, output, sizeof output);
            if (n == 0 || (n < 0 && errno != EINTR)) {
                fds[1].fd = -1;
            } else if (n > 0) {
                outcome->output_bytes += (uint64_t)n;
            }
        }
    }
    return true;
}

static void judge(pid_t pid, bool in_time, const struct child_request *request, const char *buffer,
                  size_t received, void *result, struct child_outcome *outcome)
{
    int status = 0;
    if (!in_time) {
        (void)kill(pid, SIGKILL);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    struct child_header header;
    size_t whole = sizeof header + request->result_bytes;
    if (!in_time) {
        outcome->end = CHILD_TIMEOUT;
        (void)snprintf(outcome->reason, sizeof outcome->reason, "not done after %.0f s",
                       request->timeout_seconds);
    } else if (WIFSIGNALED(status)) {
        outcome->end = CHILD_CRASHED;
        (void)snprintf(outcome->reason, sizeof outcome->reason, "killed by signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (WEXITSTATUS(status) != 0 || received < sizeof header) {
        outcome->end = CHILD_CRASHED;
        (void)snprintf(outcome->reason, sizeof outcome->reason,
                       "the process ended itself with exit status %d", WEXITSTATUS(status));
    } else {
        memcpy(&header, buffer, sizeof header);
        if (header.done && received == whole) {
            outcome->end = CHILD_DONE;
            memcpy(result, buffer + sizeof header, request->result_bytes);
        } else {
            outcome->end = CHILD_FAILED;
            memcpy(outcome->reason, header.reason, sizeof header.reason);
        }
    }
}

bool child_run(const struct child_request *request, void *result, struct child_outcome *outcome,
               struct error *error)
{
    *outcome = (struct child_outcome){0};
    size_t buffer_bytes = sizeof(struct child_header) + request->result_bytes;
    char *buffer = malloc(buffer_bytes);
    int result_pipe[2] = {-1, -1};
    int output_pipe[2] = {-1, -1};
    if (buffer == NULL || pipe2(result_pipe, O_CLOEXEC) != 0 ||
        pipe2(output_pipe, O_CLOEXEC) != 0) {
        int why = errno;
        free(buffer);
        (void)close(result_pipe[0]);
        (void)close(result_pipe[1]);
        return error_set(error, "no process can be made: %s", strerror(why));
    }
    uint64_t begun_ns = clock_now_ns();
    /* What is buffered now would be written twice. */
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(result_pipe[0]);
        (void)close(output_pipe[0]);
        be_child(request, result_pipe[1], output_pipe[1]);
    }
    int why = errno;
    (void)close(result_pipe[1]);
    (void)close(output_pipe[1]);
    if (pid > 0) {
        size_t received = 0;
        bool in_time = collect(request, result_pipe[0], output_pipe[0], buffer, buffer_bytes,
                               &received, outcome);
        judge(pid, in_time, request, buffer, received, result, outcome);
        outcome->seconds = (double)(clock_now_ns() - begun_ns) / 1e9;
    }
    (void)close(result_pipe[0]);
    (void)close(output_pipe[0]);
    free(buffer);
    return pid > 0 ? true : error_set(error, "no process can be made: %s", strerror(why));
}
