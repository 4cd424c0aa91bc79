/*
 * tuning.h: the hand tunings of the structures, each by a name, and TL_UNTUNED, which turns all of
 * them off.
 *
 *   tuning             cost avoided                             untuned                gains up to
 *   PREFETCH(address)  waiting for a cache line that is known   nothing                1.7 times
 *   timer_buckets.h    walking one list from miss to miss       one list a bucket      5 times
 *   slot_ring.h        the same, in the slots that come next    nothing                3.5 times
 *   bucket_hooks.h     looking for work where there is none     each advance looks     18 times
 *   NEVER_INLINE       saving registers on the short path       the compiler decides   1.2 times
 *   ALWAYS_INLINE      calls in loops that only prefetch        the compiler decides   1.4 times
 *
 * The gains are the largest of idle-reset, hold, fill-drain and mixed-server, with 10,000 timers and
 * a million, without the one tuning and with it. The first three gain only where the timers do not
 * fit the caches; at 10,000 timers slot_ring.h costs up to a fifth. NEVER_INLINE gains in
 * bitmap-wheel, cascading-wheel, chunk-wheel and linked-wheel only (in nexus-wheel it keeps an
 * exported copy as fast as the built one), ALWAYS_INLINE in chunk-wheel only. A tuning that gains
 * less than 1.15 times in a structure is not used there.
 *
 * A build with TL_UNTUNED (the CMake option, the preset `untuned`) compiles the same sources without
 * them. Comparing it with the usual build separates the speed of an algorithm from that of its
 * implementation. Both fire the same timers in the same ticks; only counters of work may differ.
 *
 * Internal to the structures.
 */
#ifndef ALGOS_TUNING_H
#define ALGOS_TUNING_H

#ifdef TL_UNTUNED

#define TUNED             0
#define PREFETCH(address) ((void)(address))
#define ALWAYS_INLINE     inline
#define NEVER_INLINE

#else

#define TUNED             1
/* A macro, because gcc drops the call of a function that only prefetches. */
#define PREFETCH(address) __builtin_prefetch(address, 1)
#define ALWAYS_INLINE     inline __attribute__((always_inline))
#define NEVER_INLINE      __attribute__((noinline))

#endif

#endif
