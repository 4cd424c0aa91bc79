/*
 * kernel_steps.h: what was asked of the kernel's timers, step by step: each start and stop with the
 * jiffy at which it came, the expiry that causes it, and, of a start, when it expired.
 *
 * A trace holds them at other ticks, since it must be true of structures that are exact:
 *
 *   deadline   `expires` + 1: the kernel's wheel always goes on to the jiffy after
 *   reaction   is at the tick at which an exact structure fires its cause, which is before the
 *              kernel did. Its delay counts from the jiffy for which the kernel expired the cause,
 * or its deadline stands as it is (absolute): that is so if a function's callbacks start timers
 * with ever other delays, none of them a quarter of all. end        a stop or restart of a pending
 * timer comes before the jiffy into which the timer was rounded, even if the kernel had not come
 * round to that jiffy yet
 *
 * So a reaction may stand well before what the recording has before it. All steps are held in
 * memory until the recording is over.
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
    uint64_t unread_ns; /* how long ago the counter was read: a cancel does not tell it */
    uint64_t clock;     /* that of the wheel of `cpu`: the jiffy which it expires next */
    int64_t deadline;   /* of a start: `expires`; of a high-resolution timer `softexpires` */
    uint64_t slack_ns;  /* of a start: from that to `expires` */
    uint64_t bucket;    /* of a start: the jiffy into which the kernel rounded it; 0: not said */
    uint64_t expired;   /* of a start: the jiffy for which the kernel expired it, or KERNEL_NEVER */
    uint64_t line;      /* of the recording */
    uint64_t expired_line; /* likewise */
    uint32_t id;
    uint32_t function; /* index for kernel_classifier_function */
    uint32_t cause;    /* the start whose firing causes this, or KERNEL_NO_STEP: external */
    uint32_t ends;     /* the start that was pending until then, or KERNEL_NO_STEP */
    uint16_t cpu;      /* whose wheel it is */
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
    uint32_t ran_count;
    uint32_t ran_room;
};

/* Takes in an event that was not omitted, of a timer with this id: a start or stop of a timer that
 * is pending since the start `ends`, or an expiry of that start. `cause` as in the step. Returns
 * the step; of an expiry without `ends` 0. */
uint32_t kernel_steps_add(struct kernel_steps *steps, uint32_t id,
                          const struct kernel_operation *operation, uint32_t cause, uint32_t ends);

/* The recording is over: settles the basis of each reaction. */
void kernel_steps_settle(struct kernel_steps *steps);

/* What a tick is. */
struct kernel_ticks {
    const struct kernel_clock *clock;
    uint64_t origin; /* tick 0: a jiffy, or a time stamp in ns */
    uint64_t hz;     /* 0: high-resolution timers, whose times are ns */
    uint64_t tick_ns;
    /* Starts are where the kernel's wheel has its clock, one on: as a deadline is one more than
     * `expires`, its distance is the kernel's own then, which decides about the level. */
    bool wheel_clock;
};

/* An operation of a trace. */
struct kernel_placed {
    uint64_t tick;
    uint64_t delay_ticks;
    uint32_t step;
    bool reaction;
};

/* All steps as operations of a trace, in its order; `ids` are as many as there are. To be freed.
 * A reaction on another timer that had been started or stopped meanwhile
 * stays where it is, as external. */
struct kernel_placed *kernel_steps_place(const struct kernel_steps *steps,
                                         const struct kernel_ticks *ticks, uint32_t ids);

void kernel_steps_free(struct kernel_steps *steps);

#endif
