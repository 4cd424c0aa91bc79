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

#include "kernel_clock.h"
#include "kernel_timer_classifier.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
