/*
 * kernel_clock.h: the clocks of a recording of the kernel's timers.
 *
 * The wheel's timers count in jiffies, of which a recording does not have the length. Each start
 * and expiry has the jiffies counter: the first and the last give HZ, the jiffies per second.
 *
 * High-resolution timers have absolute deadlines on several clocks (monotonic, real, boot time),
 * which their expiries relate to the time stamps.
 */
#ifndef SIM_KERNEL_CLOCK_H
#define SIM_KERNEL_CLOCK_H

#include "kernel_timer_event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For products and differences of 64-bit numbers that a recording may hold. */
__extension__ typedef __int128 kernel_wide;

#define KERNEL_CLOCKS_MAX 8u

/* Zero at first. */
struct kernel_clock {
    bool jiffies_seen; /* the four numbers of jiffies are set */
    uint64_t first_jiffies;
    uint64_t first_jiffies_ns;
    uint64_t last_jiffies;
    uint64_t last_jiffies_ns;
    kernel_wide clocks[KERNEL_CLOCKS_MAX]; /* of hrtimers: a clock minus the time stamp */
    size_t count;
};

/* Add a wheel timer's start or expiry. */
static inline void kernel_clock_observe_jiffies(struct kernel_clock *clock,
                                                const struct kernel_event *event)
{
    if (!clock->jiffies_seen) {
        clock->jiffies_seen = true;
        clock->first_jiffies = event->now;
        clock->first_jiffies_ns = event->time_ns;
    }
    clock->last_jiffies = event->now;
    clock->last_jiffies_ns = event->time_ns;
}

/* Return HZ by the first and the last pair of counter and time; 0: they do not determine it. */
uint64_t kernel_clock_hz(const struct kernel_clock *clock);

/* Return whether the two are so far apart that HZ is final. */
bool kernel_clock_hz_is_sure(const struct kernel_clock *clock);

/* Add an hrtimer's expiry. */
void kernel_clock_observe_hrtimer(struct kernel_clock *clock, const struct kernel_event *event);

/* Return the time from `time_ns` to an hrtimer's absolute deadline, by the clock that brings it
 * nearest, because the recording does not name the timer's clock. */
kernel_wide kernel_clock_delay_ns(const struct kernel_clock *clock, int64_t deadline,
                                  uint64_t time_ns);

#endif
