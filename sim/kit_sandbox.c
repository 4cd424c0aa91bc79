#include "kit_sandbox.h"

#include "clock.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
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

/* Beyond what the allocator gives, for what a structure takes by itself. */
#define SPARE_BYTES  ((uint64_t)1 << 30)

/* A child that uses no processor time and does not end is waiting for something. */
#define WAIT_FACTOR  20.0

#define FAULT_STATUS 88 /* how a child ends that has noted a fault */

struct kit_witness *kit_witness_new(void)
{
    void *memory = mmap(NULL, sizeof(struct kit_witness), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

void kit_witness_free(struct kit_witness *witness)
{
    if (witness != NULL) {
        (void)munmap(witness, sizeof *witness);
    }
}

static void leave_with_fault(struct kit_witness *witness)
{
    (void)witness;
    _exit(FAULT_STATUS);
}

static void limit_child(const struct kit_limits *limits)
{
    struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    if (!SANITIZED && limits->bytes < UINT64_MAX - SPARE_BYTES) {
        struct rlimit space = {limits->bytes * 2 + SPARE_BYTES, limits->bytes * 2 + SPARE_BYTES};
        (void)setrlimit(RLIMIT_AS, &space);
    }
    /* Processor time, not the clock on the wall: a busy machine makes nothing hang. */
    struct itimerval timer = {.it_interval = {0, 100000}};
    timer.it_value.tv_sec = (time_t)limits->processor_seconds;
    timer.it_value.tv_usec =
        (suseconds_t)((limits->processor_seconds - (double)timer.it_value.tv_sec) * 1e6);
    /* What the parent does about signals is not for the child: a test program's handlers would go
     * on with its other tests. */
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGPROF};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        (void)signal(signals[i], SIG_DFL);
    }
    (void)setitimer(ITIMER_PROF, &timer, NULL);
}

/* Waits until the child has ended, at most so many seconds; then ends it. True: it hung. */
static bool wait_for(pid_t pid, double seconds, int *status)
{
    bool hung = false;
    int fd = pidfd_open(pid, 0);
    if (fd >= 0) {
        struct pollfd ended = {.fd = fd, .events = POLLIN};
        int n;
        do {
            n = poll(&ended, 1, (int)(seconds * 1000));
        } while (n < 0 && errno == EINTR);
        hung = n == 0;
        (void)close(fd);
    }
    if (hung) {
        (void)kill(pid, SIGKILL);
    }
    while (waitpid(pid, status, 0) < 0 && errno == EINTR) {
    }
    return hung;
}

static const char *hook_word(enum kit_hook hook)
{
    static const char *const words[] = {
#define KIT_HOOK_WORD(code, word) word,
        KIT_HOOK_MAP(KIT_HOOK_WORD)
#undef KIT_HOOK_WORD
    };
    return (size_t)hook < sizeof words / sizeof words[0] ? words[hook] : "no hook";
}

/* "in start (timer 3, tick 17, clock 5)", for an ending that nobody could announce. */
static void describe_place(const struct kit_witness *witness, char *text, size_t text_bytes)
{
    if (witness->hook == KIT_HOOK_NONE) {
        (void)snprintf(text, text_bytes, "before the first hook");
        return;
    }
    (void)snprintf(text, text_bytes,
                   "in or after %s (timer %" PRIu64 ", tick %" PRIu64 ", clock %" PRIu64 ")",
                   hook_word(witness->hook), witness->hook_id, witness->hook_tick, witness->clock);
}

/* The first lines of what was printed, on one line. */
static void read_output(int fd, char *text, size_t text_bytes)
{
    ssize_t n = pread(fd, text, text_bytes - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            *c = ' ';
        }
    }
}

static void judge(const struct kit_witness *witness, int status, bool hung, off_t printed,
                  const char *output, struct kit_verdict *verdict)
{
    char place[160];
    describe_place(witness, place, sizeof place);
    verdict->result = KIT_FAULT;
    if (witness->fault != KIT_FAULT_NONE) {
        verdict->fault = witness->fault;
        (void)snprintf(verdict->message, sizeof verdict->message, "%s", witness->message);
    } else if (hung || (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)) {
        verdict->fault = KIT_FAULT_HANG;
        (void)snprintf(verdict->message, sizeof verdict->message, "did not return, %s", place);
    } else if (WIFSIGNALED(status)) {
        verdict->fault = KIT_FAULT_CRASH;
        const char *name = sigabbrev_np(WTERMSIG(status));
        (void)snprintf(verdict->message, sizeof verdict->message, "crashed with SIG%s, %s%s%s",
                       name != NULL ? name : "?", place, printed > 0 ? "; printed: " : "", output);
    } else if (!witness->done) {
        verdict->fault = KIT_FAULT_EXIT;
        (void)snprintf(verdict->message, sizeof verdict->message,
                       "ended the process with status %d, %s%s%s", WEXITSTATUS(status), place,
                       printed > 0 ? "; printed: " : "", output);
    } else if (printed > 0) {
        verdict->fault = KIT_FAULT_OUTPUT;
        (void)snprintf(verdict->message, sizeof verdict->message, "printed %lld bytes: %s",
                       (long long)printed, output);
    } else {
        verdict->result = witness->unavailable ? KIT_SKIPPED : KIT_OK;
        verdict->fault = KIT_FAULT_NONE;
        (void)snprintf(verdict->message, sizeof verdict->message, "%s",
                       witness->unavailable ? tl_status_text(TL_ERR_UNAVAILABLE) : "");
    }
}

/* The child's whole life; does not return. */
static noreturn void live(kit_child_fn child, void *ctx, const struct kit_limits *limits,
                          int output, struct kit_witness *witness)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0) {
        _exit(FAULT_STATUS);
    }
    limit_child(limits);
    witness->give_up = leave_with_fault;
    child(ctx, witness);
    (void)fflush(NULL); /* what was printed into a buffer was printed */
    witness->done = true;
    _exit(0);
}

void kit_sandbox(const struct tl_algo *algo, kit_child_fn child, void *ctx,
                 const struct kit_limits *limits, struct kit_witness *witness,
                 struct kit_verdict *verdict)
{
    *verdict = (struct kit_verdict){.result = KIT_FAULT, .fault = KIT_FAULT_HARNESS};
    memset(witness, 0, offsetof(struct kit_witness, ops));
    witness->give_up = NULL;
    double begun = (double)clock_now_ns() / 1e9;
    int output = memfd_create("output", MFD_CLOEXEC);
    (void)fflush(stdout);
    (void)fflush(stderr);
    pid_t pid = output >= 0 ? fork() : -1;
    if (pid == 0) {
        live(child, ctx, limits, output, witness);
    }
    if (pid < 0) {
        (void)snprintf(verdict->message, sizeof verdict->message,
                       "no process could be made to run it in: %s", strerror(errno));
        if (output >= 0) {
            (void)close(output);
        }
        return;
    }
    int status = 0;
    bool hung = wait_for(pid, limits->processor_seconds * WAIT_FACTOR, &status);
    off_t printed = lseek(output, 0, SEEK_END);
    char text[400];
    read_output(output, text, sizeof text);
    (void)close(output);
    judge(witness, status, hung, printed, text, verdict);
    verdict->operations = witness->operations;
    verdict->seconds = (double)clock_now_ns() / 1e9 - begun;
    if (verdict->result == KIT_FAULT) {
        char options[512];
        if (tl_options_format(algo, witness->options, true, options, sizeof options) > 0) {
            char message[sizeof verdict->message];
            memcpy(message, verdict->message, sizeof message);
            (void)snprintf(verdict->message, sizeof verdict->message, "with %s: %.1400s", options,
                           message);
        }
    }
}
