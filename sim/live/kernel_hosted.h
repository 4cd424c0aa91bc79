/*
 * kernel_hosted.h: for the loops of libraries, which have timers, clocks and waits of their own, as
 * a program has them: one timer of theirs for each connection, and one that repeats for the
 * traffic. The libraries are loaded when they are asked for. Only hosted_*.c include it.
 */
#ifndef SIM_KERNEL_HOSTED_H
#define SIM_KERNEL_HOSTED_H

#include "kernel_private.h"
#include "loaded_library.h"

#include <stdlib.h>

/* Loads the library, and has its system calls counted as the loop's until hosted_close, which may
 * also follow where nothing was opened. One loop at a time. */
bool hosted_open(struct kernel_timers *timers, struct loaded_library *library, const char *package,
                 struct error *error);
void hosted_close(void);

/* A timer's delay in milliseconds, as a program asks for it: rounded up. */
static inline uint64_t hosted_delay_ms(const struct kernel_timers *timers, uint32_t id)
{
    uint64_t now = kernel_now_ns(timers);
    uint64_t at = timers->at_ns[id];
    return at > now ? (at - now + 999999) / 1000000 : 0;
}

static inline uint64_t hosted_traffic_ms(const struct kernel_timers *timers)
{
    return timers->traffic_ns >= 1000000 ? timers->traffic_ns / 1000000 : 1;
}

/* The library says that it is due, and is believed. */
static inline void hosted_ended(struct kernel_timers *timers, uint32_t id)
{
    timers->at_ns[id] = 0;
    kernel_due(timers, id);
}

/* The reason for the end of a turn of the loop: a timer, unless there is another. */
static inline unsigned hosted_causes(const struct kernel_timers *timers, bool traffic_came)
{
    unsigned timer = timers->due_count > 0 || !traffic_came ? LIVE_TIMER : 0;
    return timer | (traffic_came ? LIVE_TRAFFIC : 0);
}

/* Stands for a library that was not there when this was built. */
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
