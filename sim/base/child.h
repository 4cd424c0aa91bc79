/*
 * child.h: run a function in a process of its own, so that its faults stay there. It may crash,
 * hang, stop itself, exhaust memory, close its files, print, call exit or fork: the caller gets a
 * report, and continues.
 *
 * Between the caller and the child is a small process, the monitor. It reads the child's output,
 * ends the child when a limit is exceeded, and ends all processes that the child started. The child
 * has a $TMPDIR of its own, which the caller removes after it.
 */
#ifndef SIM_CHILD_H
#define SIM_CHILD_H

#include "error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Fills `result` (zeroed before) and returns true; or returns false with `error` set. */
typedef bool (*child_fn)(void *ctx, void *result, struct error *error);

enum child_end {
    CHILD_DONE,    /* the function returned true: `result` holds its output */
    CHILD_FAILED,  /* it returned false: its sentence is in `reason` */
    CHILD_CRASHED, /* a signal ended it */
    CHILD_EXITED,  /* it ended itself, from within the function */
    CHILD_TIMEOUT  /* it took longer than it may */
};

struct child_request {
    child_fn run;
    void *ctx;
    size_t result_bytes;          /* plain data; pointers in it only to memory of the caller, too */
    double timeout_seconds;       /* by the wall clock; 0: only phases are limited */
    double processor_seconds;     /* limit of its processor time, as kind to a busy machine, in
                                     whole seconds above; 0: none */
    uint64_t address_space_bytes; /* limit of the process's memory; 0: by the machine's */
    double hook_seconds;          /* limit of a hook; 0: child_hook_seconds */
    const int *kept;              /* open files it needs, rising; all others above 2 are closed */
    size_t kept_count;
    bool alone; /* that it leaves threads running is a misdeed, too */
    /* Called in the monitor now and then with the latest number of child_progress, and last with
     * CHILD_PROGRESS_END; NULL: not. */
    void (*progress)(void *ctx, uint64_t done);
    void *progress_ctx;
};

#define CHILD_OUTPUT_BYTES 400u
#define CHILD_PROGRESS_END UINT64_MAX

struct child_outcome {
    enum child_end end;
    int signal;                      /* of CHILD_CRASHED */
    int exit_status;                 /* of CHILD_EXITED */
    char reason[1024];               /* a sentence, unless it is done */
    char misdeed[512];               /* a misdeed of a child that returned: it printed, or left
                                      * processes or threads running; "" if none */
    bool strays;                     /* it left processes or threads running */
    uint64_t output_bytes;           /* how much it printed */
    char output[CHILD_OUTPUT_BYTES]; /* the beginning of that, on one line */
    double seconds;
};

/* Runs it and waits. Its standard input is empty, its standard output and error are kept in
 * `outcome`. False, with `error` set, only if no process could be made. A sanitizer build ignores
 * the address space limit: the sanitizers reserve more than any. */
bool child_run(const struct child_request *request, void *result, struct child_outcome *outcome,
               struct error *error);

/* Return the fault of the outcome, `reason` or `misdeed`; NULL: none. */
const char *child_fault(const struct child_outcome *outcome);

/* Return the limit of a process's memory in which a structure may use `structure_bytes`. */
uint64_t child_space(uint64_t structure_bytes);

/* "killed by signal 11 (Segmentation fault)". */
void child_signal_text(int number, char *text, size_t text_bytes);

/* --- in the child ---------------------------------------------------------------------------- */

/* How long a hook of a structure may take: TIMERLAB_HOOK_SECONDS of the environment, or 60. */
double child_hook_seconds(void);

/* Begin a phase, named as in "while it was loaded" for the sentence about the child's end. In it
 * the child must show a sign of life within `seconds`; 0: no limit. */
void child_phase(double seconds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The part of the child that the monitor sees. */
struct child_place {
    _Atomic uint64_t beats; /* changes as long as it goes on */
    _Atomic uint64_t done;
    double limit_seconds; /* of a phase */
    char hook[16];        /* "" between hooks */
    char phase[128];
};

/* Of this process; not used in one that is no child. */
extern struct child_place *child_place;

/* It is alive. A store to memory: cheap, but not for the inside of timed loops. For any thread. */
static inline void child_alive(void)
{
    atomic_store_explicit(&child_place->beats,
                          atomic_load_explicit(&child_place->beats, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* The same, with how far it is. */
static inline void child_progress(uint64_t done)
{
    atomic_store_explicit(&child_place->done, done, memory_order_relaxed);
    child_alive();
}

/* A hook of a structure begins, which has a limit. `hook` has 16 bytes. */
static inline void child_enter(const char *hook)
{
    memcpy(child_place->hook, hook, sizeof child_place->hook);
    child_alive();
}

static inline void child_leave(void)
{
    child_place->hook[0] = '\0';
    child_alive();
}

/* --- shared memory --------------------------------------------------------------------------- */

/* Return zeroed memory that children share with the parent: it keeps their writes even if they
 * crash. */
void *child_memory_new(size_t bytes) __attribute__((malloc, returns_nonnull));

/* NULL is legal. */
void child_memory_free(void *memory, size_t bytes);

#endif
