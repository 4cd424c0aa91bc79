/*
 * tuning.h: the hand tunings of the structures, each by a name, and TL_UNTUNED, which turns all of
 * them off.
 *
 *   tuning                        cost avoided                               untuned
 *   PREFETCH(address)             waiting for a cache line that is known     nothing
 *   LIKELY, UNLIKELY              a jump on the usual path                   the bare condition
 *   ALWAYS_INLINE, NEVER_INLINE   calls; saving registers on the short path  the compiler decides
 *   bucket_lists.h                walking one list from miss to miss         one list a bucket
 *   slot_scouts.h                 the same, in the slots that come next      nothing
 *   work_at.h                     looking for work where there is none       each advance looks
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

#define TUNED               0
#define PREFETCH(address)   ((void)(address))
#define LIKELY(condition)   (condition)
#define UNLIKELY(condition) (condition)
#define ALWAYS_INLINE       inline
#define NEVER_INLINE

#else

#define TUNED               1
/* A macro, because gcc drops the call of a function that only prefetches. */
#define PREFETCH(address)   __builtin_prefetch(address, 1)
#define LIKELY(condition)   __builtin_expect(condition, 1)
#define UNLIKELY(condition) __builtin_expect(condition, 0)
#define ALWAYS_INLINE       inline __attribute__((always_inline))
#define NEVER_INLINE        __attribute__((noinline))

#endif

#endif
