/*
 * kernel.h: timers of the kernel, one for each connection, or an event loop of a library with its
 * own timers, as alternatives to a structure in `live`.
 *
 * System calls are counted by their callers, here and in live_epoll.c, and those of a library by
 * hosted_calls.c; reading the clock is none.
 */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include "error.h"
#include "live.h"
#include "timerlab.h"

#include <stdint.h>

enum kernel_kind {
    KERNEL_TIMERFD,  /* a timerfd for each timer, all in one epoll set */
    KERNEL_POSIX,    /* timer_create for each, with signals to a signalfd */
    KERNEL_IO_URING, /* IORING_OP_TIMEOUT for each */
    KERNEL_KINDS,
    HOSTED_LIBEV = KERNEL_KINDS,
    HOSTED_LIBUV,
    HOSTED_LIBEVENT,
    HOSTED_GLIB,
    KERNEL_AND_HOSTED
};

/* Timers by id, and the loop that they are in. Treat as opaque. */
struct kernel_timers;

/* Make `count` idle timers, which wait and count system calls with `loop`; it must outlive them.
 * Returns NULL, with the reason, if the kernel or the library does not give that many: the limit,
 * and the number that there were. */
struct kernel_timers *kernel_open(enum kernel_kind kind, uint32_t count, uint64_t tick_ns,
                                  uint64_t traffic_ns, struct live_epoll *loop,
                                  struct error *error);

/* The loop's clock, and the hooks that replace a structure's; valid until it is closed. */
struct live_clock kernel_clock(struct kernel_timers *timers);
const struct tl_algo *kernel_algo(enum kernel_kind kind);

/* Whatever was started is the kernel's from now on. */
void kernel_settle(struct kernel_timers *timers);

/* Frees all. NULL is taken, too. */
void kernel_close(struct kernel_timers *timers);

/* --- memory ----------------------------------------------------------------------------------- */

/* The size of the kernel's slabs at a time. */
struct kernel_memory;

/* Reads /proc/slabinfo, for the caller to free; NULL if it may not be read. */
struct kernel_memory *kernel_memory_read(void);

/* The bytes that grew for each of `count` timers: those of caches that hold at least half an object
 * more for each, so that others' doings do not count. Negative: not known, as for few timers. */
double kernel_memory_grown(const struct kernel_memory *before, const struct kernel_memory *after,
                           uint32_t count);

/* The bytes that the process has from malloc; 0 where the C library does not say. */
uint64_t kernel_user_bytes(void);

#endif
