/*
 * kit_steps.h: observe the hooks of a structure, call by call and, if wanted, instruction by
 * instruction. The process is its own debugger: it sets the processor's trap flag and handles
 * SIGTRAP. Only on x86-64 under Linux; elsewhere, and under emulation, no instructions are counted.
 */
#ifndef SIM_KIT_STEPS_H
#define SIM_KIT_STEPS_H

#include "kit_subject.h"

#include <semaphore.h>
#include <sys/types.h>

/* A call of a hook. */
struct kit_call {
    struct kit_call *outer; /* the call in a callback of which this one is made; NULL: none */
    enum kit_hook hook;
    uint64_t most;       /* instructions of it that are counted */
    uint64_t steps;      /* counted so far, without callbacks and the allocator */
    unsigned stride;     /* `step` is called before every stride-th; 0: before none */
    unsigned left;       /* instructions until then */
    uint64_t fires;      /* callbacks so far */
    const void *context; /* in `step`: the ucontext_t of the stopped thread */
};

/* Called about the hooks of the structure; any may be NULL. */
struct kit_watcher {
    void (*enter)(struct kit_call *call); /* sets `most`, `stride` and `left`, which are 0 */
    /* Before an instruction of the object (the program or shared object) of the structure, or, with
     * NULL, before it calls the allocator. It must be safe in a signal handler. */
    void (*step)(const struct kit_call *call, const void *instruction);
    void (*leave)(const struct kit_call *call);
};

/* Return the structure with hooks that are watched, for one instance at a time, until the next call
 * of this function. Threads may take turns. *can_step is set to whether instructions can be
 * counted here. */
const struct tl_algo *kit_steps_watch(const struct tl_algo *structure,
                                      const struct kit_watcher *watcher, bool *can_step);

/* Return the innermost call under way in this thread; NULL: none. */
const struct kit_call *kit_steps_call(void);

/* Wait up to that time for a semaphore; false: it was not posted. Safe in a signal handler. */
bool kit_steps_wait(sem_t *semaphore, unsigned ms);

/* Return whether a thread of this process sleeps in the kernel, as it does when it waits for a lock;
 * safe in a signal handler. */
bool kit_steps_is_asleep(pid_t thread);

/* --- a breakpoint ---------------------------------------------------------------------------- */

/* Single-stepping to an instruction that was seen before takes a hundred times as long as a
 * breakpoint there. */

/* Return whether the instruction at which a thread is stopped may access memory other than the
 * thread's stack: only there can another thread make a difference. `context` is that of the call.
 * Unknown instructions count as accesses. */
bool break_is_access(const void *context);

/* Set the breakpoint, or return false if it cannot be set: `reached` is called, in a signal handler,
 * by the thread that is about to execute the instruction at `address` after `passes` times. Then the
 * breakpoint is removed. There is one at a time, and one thread at a time may execute the code. */
bool break_set(const void *address, unsigned passes, void (*reached)(void));

/* Remove it, if it is still set. */
void break_remove(void);

#endif
