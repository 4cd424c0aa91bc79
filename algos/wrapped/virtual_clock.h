/*
 * virtual_clock.h: lets a shared library's event loop run under a structure's clock.
 *
 * An event loop asks the machine what time it is, and sleeps until its first timer is due. Here
 * time is the caller's, and nothing sleeps. So, in the library alone, calls of the C library are led
 * to this file (led_calls.h). Where a thread has no virtual clock, which is to say outside of a
 * structure's hooks, they do what they always did.
 *
 *   clock_gettime   answers with the thread's virtual clock
 *   epoll_wait      while the loop is only asked how long it would wait, notes that and returns; so
 *                   it does throughout if an option says so; else the real one
 *   malloc and its kin
 *                   take memory from the structure's allocator, if it has named one; where that
 *                   refuses, from the C library, for event loops end the program otherwise
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
    /* If set, called instead of epoll_wait with the milliseconds that the loop would wait at most,
     * -1: without end. */
    void (*on_wait)(struct virtual_clock *clock, int wait_ms);
    /* Where the library's memory comes from, if set. What it has from there it gives back while a
     * thread has this clock, the destruction of its loop included. */
    const struct tl_allocator *allocator;
    struct virtual_block *blocks; /* that memory; NULL at first */
};

/* Leads the calls of a shared library, by what dlopen returned for it, for the whole process and
 * for good; once is enough, more do no harm. False if the library makes no such calls: it cannot be
 * driven then. */
bool tl_virtual_clock_attach(void *library);

/* Gives the calling thread a virtual clock, or takes it away (NULL). Returns the one before, to be
 * put back. */
struct virtual_clock *tl_virtual_clock_swap(struct virtual_clock *clock);

#endif
