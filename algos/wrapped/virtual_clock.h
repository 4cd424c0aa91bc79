/*
 * virtual_clock.h: lets a shared library's event loop run under a structure's clock.
 *
 * An event loop asks the machine for the time, and sleeps until its first timer is due. Here time is
 * the caller's, and nothing sleeps. So calls of the C library are redirected to this file, in that
 * library alone (led_calls.h). In a thread without a virtual clock, that is, outside of a structure's
 * hooks, they go to the C library.
 *
 *   clock_gettime   returns the thread's virtual clock
 *   epoll_wait      notes the wait and returns, if the structure only asks for the wait, or always
 *                   with poll=none; else the real one
 *   malloc, calloc, realloc, free
 *                   use the structure's allocator, if there is one; when that fails, the C library,
 *                   because event loops would end the program
 *
 * A tick is a millisecond of virtual time, the unit in which epoll waits.
 *
 * Internal to the structures.
 */
#ifndef ALGOS_VIRTUAL_CLOCK_H
#define ALGOS_VIRTUAL_CLOCK_H

#include "timerlab.h"

struct virtual_clock {
    uint64_t now_ms;
    /* If set, called instead of epoll_wait, with the longest wait in milliseconds; -1: no limit. */
    void (*on_wait)(struct virtual_clock *clock, int wait_ms);
    /* If set, the source of the library's memory. The library frees it while a thread has this clock,
     * at the latest when its loop is destroyed. */
    const struct tl_allocator *allocator;
    struct virtual_block *blocks; /* that memory; NULL at first */
};

/* Redirect the calls of a shared library, a handle of dlopen, for the whole process and for good; more
 * than once does no harm. False: the library makes no such calls, and cannot be driven. */
bool tl_virtual_clock_attach(void *library);

/* Set the calling thread's virtual clock; NULL: none. Return the previous one, to be restored. */
struct virtual_clock *tl_virtual_clock_swap(struct virtual_clock *clock);

#endif
