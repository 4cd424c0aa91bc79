#include "kit_play.h"

#include "clock.h"
#include "plug_in.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* Address space for memory that does not come from the allocator. */
#define SPARE_BYTES    ((uint64_t)1 << 30)

/* A child has this many times its processor time in wall time: it may wait. */
#define WAIT_FACTOR    20.0

/* Time for waiting for its disk. */
#define SYNC_SECONDS   0.1

/* The watch looks LOOKS times in the processor time of a child. A hook that lasts LOOKS_HANG looks
 * hangs; one that may touch all memory has longer. After LOOKS_LAST looks a child is ended, and its
 * operations so far count. */
#define LOOKS          16u
#define LOOKS_HANG     2u
#define LOOKS_HANG_ALL LOOKS
#define LOOKS_LAST     (2 * LOOKS)

/* Limit for a child that disables the watch. */
#define LAST_FACTOR    4.0

/* "in start (timer 3, tick 17, clock 5)", for a process that ended without a report. */
static void describe_place(const struct kit_witness *witness, char *text, size_t text_bytes)
{
    if (witness->hook == KIT_HOOK_NONE) {
        (void)snprintf(text, text_bytes, "before the first hook");
        return;
    }
    (void)snprintf(
        text, text_bytes, "in or after %s (timer %" PRIu64 ", tick %" PRIu64 ", clock %" PRIu64 ")",
        kit_hook_word(witness->hook), witness->hook_id, witness->hook_tick, witness->clock);
}

static void fill_verdict(struct kit_witness *witness, const struct child_outcome *outcome,
                         struct kit_verdict *verdict)
{
    char place[160];
    describe_place(witness, place, sizeof place);
    const char *printed = outcome->output_bytes > 0 ? "; printed: " : "";
    verdict->result = KIT_FAULT;
    if (outcome->strays) {
        /* Two processes have written to the witness: its log is no sequence. */
        witness->log.session_count = 0;
        verdict->fault = FAULT_PROCESS;
        (void)snprintf(verdict->message, sizeof verdict->message, "%s", outcome->misdeed);
    } else if (witness->fault != FAULT_NONE) {
        verdict->fault = witness->fault;
        (void)snprintf(verdict->message, sizeof verdict->message, "%s", witness->message);
    } else if (witness->cut_short) {
        verdict->result = KIT_OK;
        (void)snprintf(verdict->message, sizeof verdict->message,
                       "its time was over after %" PRIu64 " operations: it is slow here",
                       witness->operations);
    } else if (witness->hangs || outcome->end == CHILD_TIMEOUT) {
        verdict->fault = FAULT_HANG;
        (void)snprintf(verdict->message, sizeof verdict->message, "did not return, %s", place);
    } else if (outcome->end == CHILD_CRASHED) {
        verdict->fault = FAULT_CRASH;
        const char *name = sigabbrev_np(outcome->signal);
        (void)snprintf(verdict->message, sizeof verdict->message, "crashed with SIG%s, %s%s%s",
                       name != NULL ? name : "?", place, printed, outcome->output);
    } else if (outcome->end == CHILD_EXITED) {
        verdict->fault = FAULT_EXIT;
        (void)snprintf(verdict->message, sizeof verdict->message,
                       "ended the process with status %d, %s%s%s", outcome->exit_status, place,
                       printed, outcome->output);
    } else if (outcome->end == CHILD_FAILED) {
        verdict->fault = FAULT_HARNESS;
        (void)snprintf(verdict->message, sizeof verdict->message, "%s", outcome->reason);
    } else if (outcome->output_bytes > 0) {
        verdict->fault = FAULT_OUTPUT;
        (void)snprintf(verdict->message, sizeof verdict->message, "printed %" PRIu64 " bytes: %s",
                       outcome->output_bytes, outcome->output);
    } else {
        verdict->result = witness->unavailable ? KIT_SKIPPED : KIT_OK;
        verdict->fault = FAULT_NONE;
        (void)snprintf(verdict->message, sizeof verdict->message, "%s",
                       witness->unavailable ? tl_status_text(TL_ERR_UNAVAILABLE)
                                            : witness->message);
    }
}

/* --- waiting for a disk ----------------------------------------------------------------------- */

/* Only a power failure shows whether data has reached the disk, and crash/ tests those. So after
 * SYNC_SECONDS, fsync and fdatasync of a child return at once. */

typedef int sync_fn(int fd);

/* Practically without limit outside of a child. Negative: it is used up. */
static _Atomic int64_t sync_left_ns = INT64_MAX;

/* Call the next definition of that name, usually the C library's. */
static int call_next(const char *name, int fd)
{
    union {
        void *object;
        sync_fn *function;
    } next;
    int64_t left = atomic_load(&sync_left_ns);
    if (left <= 0) {
        return 0;
    }
    next.object = dlsym(RTLD_NEXT, name);
    uint64_t begun_ns = clock_now_ns();
    int result = next.function(fd);
    (void)atomic_fetch_sub(&sync_left_ns, (int64_t)(clock_now_ns() - begun_ns));
    return result;
}

/* Override the C library's, for this program and all that it loads. Weak, so that a test can have
 * its own. */
__attribute__((visibility("default"), weak)) int fsync(int fd)
{
    return call_next("fsync", fd);
}

__attribute__((visibility("default"), weak)) int fdatasync(int fd)
{
    return call_next("fdatasync", fd);
}

/* The task of a child. */
struct child_task {
    kit_child_fn child;
    void *ctx;
    struct kit_witness *witness;
    double seconds; /* of processor time that it has */
};

/* --- the watch: is it slow, or does it hang? -------------------------------------------------- */

/* Static, since a signal handler needs it. */
static struct {
    struct kit_witness *witness;
    uint64_t hooks; /* at the last look */
    unsigned looks;
    unsigned same; /* looks since a hook was called */
} watch;

static bool has_all_memory(enum kit_hook hook)
{
    return hook == KIT_HOOK_CREATE || hook == KIT_HOOK_RESERVE || hook == KIT_HOOK_DESTROY ||
           hook == KIT_HOOK_WALK || hook == KIT_HOOK_CHECK;
}

static void count_look(int signal)
{
    (void)signal;
    struct kit_witness *witness = watch.witness;
    watch.looks++;
    watch.same = witness->hooks == watch.hooks ? watch.same + 1 : 0;
    watch.hooks = witness->hooks;
    if (watch.same >= (has_all_memory(witness->hook) ? LOOKS_HANG_ALL : LOOKS_HANG)) {
        witness->hangs = true;
        _exit(1);
    }
    if (watch.looks >= LOOKS_LAST) {
        witness->cut_short = true;
        _exit(1);
    }
}

static void begin_watch(struct kit_witness *witness, double seconds)
{
    watch.witness = witness;
    struct sigaction action = {.sa_handler = count_look, .sa_flags = SA_RESTART};
    (void)sigaction(SIGPROF, &action, NULL);
    const struct timeval every = {.tv_sec = (time_t)(seconds / LOOKS),
                                  .tv_usec = (suseconds_t)(fmod(seconds / LOOKS, 1) * 1e6)};
    struct itimerval timer = {.it_interval = every, .it_value = every};
    (void)setitimer(ITIMER_PROF, &timer, NULL);
}

/* The fault is on record. */
static void leave_with_fault(struct kit_witness *witness)
{
    (void)witness;
    _exit(1);
}

static bool run_task(void *ctx, void *result, struct error *error)
{
    const struct child_task *task = ctx;
    (void)result;
    (void)error;
    task->witness->give_up = leave_with_fault;
    atomic_store(&sync_left_ns, (int64_t)(SYNC_SECONDS * 1e9));
    begin_watch(task->witness, task->seconds);
    task->child(task->ctx, task->witness);
    return true;
}

void kit_sandbox(const struct tl_algo *algo, kit_child_fn child, void *ctx,
                 const struct kit_limits *limits, struct kit_witness *witness,
                 struct kit_verdict *verdict)
{
    *verdict = (struct kit_verdict){.result = KIT_FAULT, .fault = FAULT_HARNESS};
    memset(witness, 0, KIT_WITNESS_CLEARED);
    witness->timed = algo;
    struct child_task task = {child, ctx, witness, limits->processor_seconds};
    /* Processor time, not the clock on the wall: a busy machine makes nothing hang. */
    const struct child_request request = {
        .run = run_task,
        .ctx = &task,
        .timeout_seconds = limits->processor_seconds * WAIT_FACTOR,
        .processor_seconds = limits->processor_seconds * LAST_FACTOR,
        .hook_seconds = limits->hook_seconds,
        .progress = limits->progress,
        .progress_ctx = limits->progress_ctx,
        .address_space_bytes = limits->bytes < UINT64_MAX / 4 ? limits->bytes * 2 + SPARE_BYTES : 0,
    };
    struct child_outcome outcome;
    struct error error;
    if (!plug_in_run(algo, &request, NULL, &outcome, &error)) {
        (void)snprintf(verdict->message, sizeof verdict->message, "%s", error.text);
        return;
    }
    fill_verdict(witness, &outcome, verdict);
    verdict->operations = witness->operations;
    verdict->coverage = witness->coverage;
    verdict->seconds = outcome.seconds;
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
