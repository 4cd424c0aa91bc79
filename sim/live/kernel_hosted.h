/*
 * kernel_hosted.h: the loops of libraries, with their own timers, clocks and waits, used as by a
 * program: one timer for each connection, and after them a repeating one, number timers->count, for
 * the traffic. The libraries are loaded on demand. Only hosted_*.c include it.
 */
#ifndef SIM_KERNEL_HOSTED_H
#define SIM_KERNEL_HOSTED_H

#include "kernel_private.h"
#include "loaded_library.h"

#include <stdlib.h>

/* A library's loop. `make` sets timers->own; `end` frees it. `turn` runs the loop until something
 * happens, with hosted_ended for each timer. */
struct hosted_loop {
    struct loaded_library *library;
    const char *package;
    void (*make)(struct kernel_timers *timers);
    void (*turn)(struct kernel_timers *timers);
    void (*end)(struct kernel_timers *timers);
};

/* Hooks of a kernel_sort for such a loop. Its system calls are counted while it is open. One loop
 * at a time. */
bool hosted_open(struct kernel_timers *timers, struct error *error);
unsigned hosted_wait(struct kernel_timers *timers);
void hosted_close(struct kernel_timers *timers);

#define HOSTED_SORT(sort, package, make, start, turn, end)                                         \
    static const struct hosted_loop hosted = {&library, package, make, turn, end};                 \
    const struct kernel_sort sort = {hosted_open, start,   hosted_wait, hosted_close,              \
                                     NULL,        &hosted, NULL};

/* Return a timer's delay in milliseconds, rounded up as in a program. */
static inline uint64_t hosted_delay_ms(const struct kernel_timers *timers, uint32_t id)
{
    uint64_t now = live_epoll_now_ns(timers->loop);
    uint64_t at = timers->at_ns[id];
    return at > now ? (at - now + 999999) / 1000000 : 0;
}

static inline uint64_t hosted_traffic_ms(const struct kernel_timers *timers)
{
    return timers->traffic_ns >= 1000000 ? timers->traffic_ns / 1000000 : 1;
}

/* The library has fired a timer, maybe that of the traffic. */
static inline void hosted_ended(struct kernel_timers *timers, uint32_t id)
{
    if (id == timers->count) {
        timers->traffic_came = true;
    } else {
        timers->at_ns[id] = 0;
        kernel_due(timers, id);
    }
}

/* For a library that was missing at build time. */
#define HOSTED_ABSENT(sort, package)                                                               \
    static bool open_loop(struct kernel_timers *timers, struct error *error)                       \
    {                                                                                              \
        (void)timers;                                                                              \
        return error_set(error, package " was not there when this was built");                     \
    }                                                                                              \
    static void close_loop(struct kernel_timers *timers)                                           \
    {                                                                                              \
        (void)timers;                                                                              \
    }                                                                                              \
    const struct kernel_sort sort = {.open = open_loop, .close = close_loop};

#endif
