/*
 * kernel_steps.h: the steps of the kernel's timers: each start and stop with its jiffy, the expiry
 * that causes it, and the expiry that ended a start.
 *
 * A trace has them at other ticks, because it must fit exact structures:
 *
 *   deadline   `expires` + 1, because the kernel's wheel always rounds up to the next jiffy
 *   reaction   at the tick at which an exact structure fires its cause, which is before the kernel
 *              did. Its delay counts from the jiffy for which the kernel expired the cause. If a
 *              function's callbacks start timers with many delays, none of which is a quarter of
 *              all, its deadline is absolute instead.
 *   end        a stop or restart of a pending timer is before the jiffy into which the timer was
 *              rounded, even if the kernel was late for that jiffy
 *
 * So a reaction may move before steps that precede it in the recording. All steps stay in memory
 * until the recording ends.
 */
#ifndef SIM_KERNEL_STEPS_H
#define SIM_KERNEL_STEPS_H

#include "kernel_timer_classifier.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the clocks -------------------------------------------------------------------------------
 *
 * The wheel's timers count in jiffies, of which a recording does not have the length. Each start
 * and expiry has the jiffies counter: the first and the last give HZ, the jiffies per second.
 *
 * High-resolution timers have absolute deadlines on several clocks (monotonic, real, boot time),
 * which their expiries relate to the time stamps. */

#define NS_PER_SECOND UINT64_C(1000000000)

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

/* --- the steps --------------------------------------------------------------------------------- */

#define KERNEL_NO_STEP UINT32_MAX
#define KERNEL_NEVER   UINT64_MAX

struct kernel_step {
    uint64_t now;       /* the jiffies counter; of a high-resolution timer the time stamp */
    uint64_t unread_ns; /* the age of `now`, as a cancel does not have the counter */
    uint64_t clock;     /* that of the wheel of `cpu`: the jiffy which it expires next */
    int64_t deadline;   /* of a start: `expires`; of a high-resolution timer `softexpires` */
    uint64_t slack_ns;  /* of a start: from that to `expires` */
    uint64_t bucket;    /* of a start: the jiffy into which the kernel rounded it; 0: not said */
    uint64_t expired;   /* of a start: the jiffy for which the kernel expired it, or KERNEL_NEVER */
    uint64_t line;      /* of the recording */
    uint64_t expired_line; /* likewise */
    uint32_t id;
    uint32_t function; /* index for kernel_classifier_function */
    uint32_t cause;    /* the start that expired and causes this, or KERNEL_NO_STEP: external */
    uint32_t ends;     /* the start that was pending until then, or KERNEL_NO_STEP */
    uint16_t cpu;      /* of the wheel */
    uint8_t op;        /* enum trace_op */
    uint8_t basis;     /* enum trace_basis, once the recording is over */
    bool deferrable;
};

/* Zero at first. */
struct kernel_steps {
    struct kernel_step *steps;
    uint32_t count;
    uint32_t room;

    /* Of the recording so far. */
    bool high_resolution;
    uint64_t jiffies; /* the latest */
    uint64_t jiffies_ns;
    uint64_t *ran; /* by CPU: the jiffy in which its wheel last expired timers */
};

/* Add an operation on the timer `id`: a start or stop, or an expiry, of the start `ends`. `cause`
 * as in the step. Returns the step; for an expiry 0. */
uint32_t kernel_steps_add(struct kernel_steps *steps, uint32_t id,
                          const struct kernel_operation *operation, uint32_t cause, uint32_t ends);

/* After the last step: set the basis of each reaction. */
void kernel_steps_settle(struct kernel_steps *steps);

/* The ticks of a trace. */
struct kernel_ticks {
    const struct kernel_clock *clock;
    uint64_t origin; /* tick 0: a jiffy, or a time stamp in ns */
    uint64_t hz;     /* 0: high-resolution timers, with times in ns */
    uint64_t tick_ns;
    /* Starts are at the clock of the kernel's wheel, plus one as deadlines have: so the distance of
     * a deadline, which decides about the level, is the kernel's. */
    bool wheel_clock;
};

/* An operation of a trace. */
struct kernel_placed {
    uint64_t tick;
    uint64_t delay_ticks;
    uint32_t step;
    bool reaction;
};

/* Return all steps as operations of a trace with `ids` timers, in its order; the caller frees them.
 * A reaction on another timer that was started or stopped meanwhile is external. */
struct kernel_placed *kernel_steps_place(const struct kernel_steps *steps,
                                         const struct kernel_ticks *ticks, uint32_t ids);

void kernel_steps_free(struct kernel_steps *steps);

#endif
