#include "child.h"

#include "clock.h"
#include "memory.h"
#include "standard_files.h"
#include "supervisor.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
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

#define HOOK_SECONDS 60.0

/* The monitor looks this often at a child that prints nothing. */
#define LOOK_MS      100

/* Shared by the three processes. The result follows it, aligned by it. */
struct note {
    _Alignas(max_align_t) bool returned; /* the function, and */
    bool good;                           /* its return value */
    bool threads;                        /* others were running then */
    struct error error;
    struct child_place place;
    struct child_outcome outcome;
};

static struct child_place no_child;
struct child_place *child_place = &no_child;

void *child_memory_new(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        memory_end();
    }
    return memory;
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

const char *child_fault(const struct child_outcome *outcome)
{
    return outcome->end != CHILD_DONE    ? outcome->reason
           : outcome->misdeed[0] != '\0' ? outcome->misdeed
                                         : NULL;
}

double child_hook_seconds(void)
{
    const char *text = getenv("TIMERLAB_HOOK_SECONDS");
    double seconds = text != NULL ? strtod(text, NULL) : 0;
    return seconds > 0 ? seconds : HOOK_SECONDS;
}

uint64_t child_space(uint64_t structure_bytes)
{
    /* Oracle, trace, program. */
    const uint64_t overhead_bytes = UINT64_C(2) << 30;
    return structure_bytes < UINT64_MAX - overhead_bytes ? structure_bytes + overhead_bytes
                                                         : RLIM_INFINITY;
}

/* --- in the child ---------------------------------------------------------------------------- */

void child_phase(double seconds, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(child_place->phase, sizeof child_place->phase, format, arguments);
    va_end(arguments);
    child_place->hook[0] = '\0';
    child_place->limit_seconds = seconds;
    child_alive();
}

static void limit_child(const struct child_request *request)
{
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (!SANITIZED) {
        rlim_t bytes = request->address_space_bytes;
        bytes = bytes == 0 ? child_space(memory_default_limit()) : bytes;
        (void)setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
    }
    if (request->processor_seconds > 0) {
        rlim_t seconds = (rlim_t)request->processor_seconds + 1;
        /* The second signal cannot be caught. */
        (void)setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds + 1});
    }
    /* If the machine's memory runs out, the system ends this process first. */
    int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0) {
        (void)!write(score, "1000", 4);
        (void)close(score);
    }
}

/* The parent's signal handlers are not for the child: those of a test program would continue with
 * its other tests. */
static void forget_signals(const sigset_t *mask)
{
    for (int number = 1; number < NSIG; number++) {
        (void)signal(number, SIG_DFL);
    }
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
}

/* Its output goes to the monitor; no file of the caller's is open but those that it needs. Standard
 * input that is a regular file can be the trace, also that of a pipe (standard_streams.h). */
static void leave_files(const struct child_request *request, int output_fd)
{
    struct stat input;
    if (fstat(STDIN_FILENO, &input) != 0 || !S_ISREG(input.st_mode)) {
        (void)dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    }
    if (dup2(output_fd, STDOUT_FILENO) < 0 || dup2(output_fd, STDERR_FILENO) < 0) {
        _exit(1);
    }
    unsigned from = STDERR_FILENO + 1;
    for (size_t i = 0; i < request->kept_count; i++) {
        unsigned kept = (unsigned)request->kept[i];
        if (kept > from) {
            (void)close_range(from, kept - 1, 0);
        }
        from = kept >= from ? kept + 1 : from;
    }
    (void)close_range(from, ~0U, 0);
}

/* Where the parent stood. */
struct child_ground {
    pid_t parent;
    sigset_t mask;
    struct temporary temporary; /* the child's $TMPDIR */
};

static struct note *own_note; /* the child's */
static pid_t own_pid;

/* Hand over the function's return value. A copy of the child that a structure has forked must not
 * do so. */
static noreturn void hand_over(bool good, const struct error *error)
{
    if (getpid() == own_pid) {
        own_note->error = *error;
        own_note->good = good;
        own_note->returned = true;
    }
    _exit(0);
}

static void hand_over_no_memory(void)
{
    hand_over(false, &(const struct error){"out of memory"});
}

/* Whether other threads run. One that was waited for may still be on its way out; under the thread
 * sanitizer one is always there, its own. */
static bool has_threads(void)
{
#ifdef __SANITIZE_THREAD__
    return false;
#endif
    const struct timespec moment = {.tv_nsec = 1000000};
    for (unsigned look = 0; look < 50; look++) {
        struct stat info;
        /* A link for each thread, and the two of every folder. */
        if (stat("/proc/self/task", &info) != 0 || info.st_nlink <= 3) {
            return false;
        }
        (void)nanosleep(&moment, NULL);
    }
    return true;
}

/* The child's whole life. */
static noreturn void live(const struct child_request *request, struct note *note,
                          const struct child_ground *ground, int output_fd)
{
    own_note = note;
    own_pid = getpid();
    child_place = &note->place;
    memory_set_end(hand_over_no_memory);
    (void)setpgid(0, 0);
    forget_signals(&ground->mask);
    if (ground->temporary.folder[0] != '\0') {
        (void)setenv("TMPDIR", ground->temporary.folder, 1);
    }
    leave_files(request, output_fd);
    limit_child(request);
    /* A structure that writes where it must not, or goes on in two processes, does not write to the
     * caller's memory. */
    struct error error = {{0}};
    void *result = request->result_bytes > 0 ? memory_new(1, request->result_bytes) : NULL;
    bool good = request->run(request->ctx, result, &error);
    child_phase(child_hook_seconds(), "at its end");
    (void)fflush(NULL); /* output that is still buffered counts, too */
    if (request->alone && getpid() == own_pid) {
        note->threads = has_threads();
    }
    if (getpid() == own_pid && good && result != NULL) {
        memcpy(note + 1, result, request->result_bytes);
    }
    hand_over(good, &error);
}

/* --- in the monitor -------------------------------------------------------------------------- */

struct watch {
    const struct child_request *request;
    struct note *note;
    struct child_outcome outcome;
    pid_t pid;
    int output_fd;
    uint64_t begun_ns;
    uint64_t beats;        /* when it was looked at last, */
    uint64_t beat_ns;      /* and when that number was seen first */
    char place[160];       /* " in start": where it is */
    double passed_seconds; /* the limit that it has passed; 0: none */
};

/* Read all bytes that the pipe holds, for a limited time. Closes the pipe at its end. */
static void read_output(struct watch *watch)
{
    struct child_outcome *outcome = &watch->outcome;
    char text[4096];
    ssize_t n = 1;
    for (unsigned reads = 0;
         watch->output_fd >= 0 && reads < 64 && (n = read(watch->output_fd, text, sizeof text)) > 0;
         reads++) {
        for (ssize_t i = 0; i < n && outcome->output_bytes + (uint64_t)i < CHILD_OUTPUT_BYTES - 1;
             i++) {
            outcome->output[outcome->output_bytes + (uint64_t)i] = text[i] != '\0' ? text[i] : ' ';
        }
        outcome->output_bytes += (uint64_t)n;
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        (void)close(watch->output_fd);
        watch->output_fd = -1;
    }
}

/* Makes a text that is fit for any terminal and file: one line, and no broken character. */
static void make_plain(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0';) {
        size_t bytes = standard_files_plain(at);
        if (bytes == 0) {
            *to++ = (unsigned char)*at < ' ' || *at == 127 ? ' ' : '?';
            at++;
        } else {
            memmove(to, at, bytes);
            to += bytes;
            at += bytes;
        }
    }
    *to = '\0';
}

static void read_place(struct watch *watch)
{
    struct child_place place;
    memcpy(&place, &watch->note->place, sizeof place); /* the child may go on writing */
    place.hook[sizeof place.hook - 1] = '\0';
    place.phase[sizeof place.phase - 1] = '\0';
    make_plain(place.hook);
    make_plain(place.phase);
    const char *in = place.hook[0] != '\0' ? " in " : place.phase[0] != '\0' ? " " : "";
    (void)snprintf(watch->place, sizeof watch->place, "%s%s", in,
                   place.hook[0] != '\0' ? place.hook : place.phase);
}

static bool is_overdue(struct watch *watch, uint64_t now_ns)
{
    const struct child_place *place = &watch->note->place;
    double hook = watch->request->hook_seconds;
    hook = hook > 0 ? hook : child_hook_seconds();
    double limit = place->hook[0] != '\0' ? hook : place->limit_seconds;
    if (place->beats != watch->beats) {
        watch->beats = place->beats;
        watch->beat_ns = now_ns;
    } else if (limit > 0 && (double)(now_ns - watch->beat_ns) / 1e9 >= limit) {
        watch->passed_seconds = limit;
    }
    limit = watch->request->timeout_seconds;
    if (limit > 0 && (double)(now_ns - watch->begun_ns) / 1e9 >= limit) {
        watch->passed_seconds = limit;
    }
    return watch->passed_seconds > 0;
}

static volatile sig_atomic_t told_to_end;

static void take_signal(int number)
{
    told_to_end = told_to_end || number != SIGCHLD;
}

/* Waits until the child has ended, by itself or because it is overdue. It is not reaped yet. */
static void wait_for_end(struct watch *watch)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
    siginfo_t info = {.si_pid = 0};
    sigset_t none;
    (void)sigemptyset(&none);
    while (waitid(P_PID, (id_t)watch->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0) {
        if (told_to_end || (watch->passed_seconds <= 0 && is_overdue(watch, clock_now_ns()))) {
            read_place(watch);
            (void)kill(watch->pid, SIGKILL);
        }
        struct pollfd output = {watch->output_fd, POLLIN, 0};
        (void)ppoll(&output, watch->output_fd >= 0, &look, &none);
        read_output(watch);
        if (watch->request->progress != NULL && watch->note->place.done > 0) {
            watch->request->progress(watch->request->progress_ctx, watch->note->place.done);
        }
    }
}

static void judge_exit(struct watch *watch, int status, bool others)
{
    struct child_outcome *outcome = &watch->outcome;
    char how[256];
    bool timeout = watch->passed_seconds > 0;
    bool slow =
        WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU && watch->request->processor_seconds > 0;
    if (timeout || slow) {
        outcome->end = CHILD_TIMEOUT;
        (void)snprintf(how, sizeof how, "not done after %.3g s%s",
                       timeout ? watch->passed_seconds : watch->request->processor_seconds,
                       timeout ? "" : " of processor time");
    } else if (WIFSIGNALED(status)) {
        outcome->end = CHILD_CRASHED;
        outcome->signal = WTERMSIG(status);
        child_signal_text(outcome->signal, how, sizeof how);
    } else if (!watch->note->returned || WEXITSTATUS(status) != 0) {
        /* A child that returned ends with 0, unless a tool that watches it, such as valgrind,
         * changes that. */
        outcome->end = CHILD_EXITED;
        outcome->exit_status = WEXITSTATUS(status);
        (void)snprintf(how, sizeof how, "the process ended itself with exit status %d",
                       outcome->exit_status);
    } else {
        outcome->end = watch->note->good ? CHILD_DONE : CHILD_FAILED;
    }
    outcome->output[CHILD_OUTPUT_BYTES - 1] = '\0';
    make_plain(outcome->output);
    if (outcome->end == CHILD_FAILED) {
        (void)snprintf(outcome->reason, sizeof outcome->reason, "%s", watch->note->error.text);
    } else if (outcome->end != CHILD_DONE) {
        if (!timeout) {
            read_place(watch);
        }
        (void)snprintf(outcome->reason, sizeof outcome->reason, "%s%s%s%s", how, watch->place,
                       outcome->output_bytes > 0 ? "; it printed: " : "", outcome->output);
    }
    if (others || watch->note->threads) {
        outcome->strays = true;
        (void)snprintf(outcome->misdeed, sizeof outcome->misdeed,
                       "made %s, which a structure must not, and left them running",
                       others ? "processes" : "threads");
    } else if (outcome->output_bytes > 0) {
        (void)snprintf(outcome->misdeed, sizeof outcome->misdeed,
                       "printed %llu bytes, which a structure must not: %s",
                       (unsigned long long)outcome->output_bytes, outcome->output);
    }
}

static void take_signals(void)
{
    static const int numbers[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const struct sigaction action = {.sa_handler = take_signal};
        (void)sigaction(numbers[i], &action, NULL);
        (void)sigaddset(&set, numbers[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

/* The monitor's whole life. */
static noreturn void monitor(const struct child_request *request, struct note *note,
                             const struct child_ground *ground)
{
    struct watch watch = {.request = request, .note = note};
    int output[2];
    take_signals();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != ground->parent || pipe2(output, O_CLOEXEC) != 0) {
        _exit(1);
    }
    /* The reading end never waits; the writing end does, as standard output should. */
    (void)fcntl(output[0], F_SETFL, O_NONBLOCK);
    watch.begun_ns = watch.beat_ns = clock_now_ns();
    pid_t self = getpid();
    watch.pid = fork();
    if (watch.pid < 0) {
        _exit(1);
    }
    if (watch.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self) {
            _exit(1);
        }
        live(request, note, ground, output[1]);
    }
    (void)setpgid(watch.pid, watch.pid);
    (void)close(output[1]);
    watch.output_fd = output[0];
    wait_for_end(&watch);
    int status = 0;
    if (request->progress != NULL) {
        request->progress(request->progress_ctx, CHILD_PROGRESS_END);
    }
    (void)kill(-watch.pid, SIGKILL);
    while (waitpid(watch.pid, &status, 0) < 0 && errno == EINTR) {
    }
    bool others = waitpid(-1, NULL, WNOHANG) >= 0;
    supervisor_end_children(SIGKILL, 0);
    read_output(&watch); /* its last words */
    judge_exit(&watch, status, others);
    watch.outcome.seconds = (double)(clock_now_ns() - watch.begun_ns) / 1e9;
    note->outcome = watch.outcome;
    _exit(0);
}

/* --- in the parent --------------------------------------------------------------------------- */

bool child_run(const struct child_request *request, void *result, struct child_outcome *outcome,
               struct error *error)
{
    size_t bytes = sizeof(struct note) + request->result_bytes;
    struct note *note = child_memory_new(bytes);
    struct child_ground ground = {.parent = getpid()};
    struct error ignored;
    int status = 1;
    (void)sigprocmask(SIG_SETMASK, NULL, &ground.mask);
    (void)temporary_make(&ground.temporary, &ignored);
    /* Buffered output would be written twice. */
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        monitor(request, note, &ground);
    }
    int why = errno;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    temporary_remove(&ground.temporary);
    bool made = status == 0 || (pid > 0 && WIFSIGNALED(status));
    if (!made) {
        (void)error_set(error, "no process can be made: %s", strerror(pid < 0 ? why : EAGAIN));
    } else if (status != 0) {
        *outcome = (struct child_outcome){.end = CHILD_CRASHED, .signal = WTERMSIG(status)};
        (void)snprintf(outcome->reason, sizeof outcome->reason,
                       "the process that watches over it was killed by signal %d", outcome->signal);
    } else {
        *outcome = note->outcome;
        if (outcome->end == CHILD_DONE && request->result_bytes > 0) {
            memcpy(result, note + 1, request->result_bytes);
        }
    }
    child_memory_free(note, bytes);
    return made;
}
