/*
 * clock.h: two clocks. The monotonic one for stretches of milliseconds and more; the processor's
 * own counter for single operations, where reading the other would cost as much as the operation.
 */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t clock_now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Return the processor time of the calling thread in ns, without that of other threads. A system
 * call. */
static inline uint64_t clock_processor_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* The processor's counter, in cycles of its own; elsewhere nanoseconds. Not serialising: the
 * processor may run some of the neighbouring instructions on the other side of it. */
static inline uint64_t clock_cycles(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return clock_now_ns();
#endif
}

/* Nanoseconds per cycle of clock_cycles, measured over some milliseconds at the first call. */
double clock_ns_per_cycle(void);

/* The cost of one reading of clock_cycles in a row of readings, in nanoseconds: the median of
 * many. */
double clock_overhead_ns(void);

#endif
