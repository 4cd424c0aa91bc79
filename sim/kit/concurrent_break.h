/*
 * concurrent_break.h: interrupts a thread before an instruction that was seen before, by a
 * breakpoint. Single-stepping to the same place takes a hundred times as long. On x86-64 under
 * Linux.
 */
#ifndef SIM_CONCURRENT_BREAK_H
#define SIM_CONCURRENT_BREAK_H

#include <stdbool.h>

/* Return whether the instruction at which a thread is stopped may access memory other than the
 * thread's stack: only there can another thread make a difference. `context` is the ucontext_t of a
 * signal handler. Unknown instructions count as accesses. */
bool break_is_access(const void *context);

/* Handle SIGTRAP from now on. False: this machine has no breakpoints. */
bool break_open(void);

/* Set the breakpoint: `reached` is called, in a signal handler, by the thread that is about to
 * execute the instruction at `address` after `passes` times. Then the breakpoint is removed. There
 * is one at a time, and one thread at a time may execute the code. */
void break_set(const void *address, unsigned passes, void (*reached)(void));

/* Remove it, if it is still set. */
void break_remove(void);

#endif
