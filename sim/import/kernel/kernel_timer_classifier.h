/*
 * kernel_timer_classifier.h: from the kernel's timer events to operations on timers.
 *
 * The kernel traces `timer_cancel` in three cases, which only the next events distinguish:
 *
 *   expiry       it detaches a timer before it calls its function: timer_expire_entry of the same
 *                timer on the same CPU follows
 *   rearm        mod_timer() of a pending timer: timer_start of the same timer by the same task on
 *                the same CPU follows within 20 us
 *   true cancel  the timer is deleted, and neither follows
 *
 * So events are held back until each cancel among them is decided: for at most 10 ms of recording
 * or 32,768 events (the widest gaps in real recordings are a tenth of a millisecond and eleven
 * events). Then they are released in order, each with its verdict. Memory is a constant plus a few
 * words for each timer.
 *
 * The recording does not name the expiry that causes a start or a true cancel, either. There are
 * two rules. (1) An expiry causes an operation on the same timer that follows timer_expire_entry on
 * the same CPU, by the same task, within 50 us, with no other timer event of that CPU between, and
 * in the context of callbacks, if the recording has that column. (2) If the recording has
 * timer_expire_exit, the expiry causes all operations of that task on that CPU until then, on other
 * timers as well, except for delayed work, which some other caller would queue anyway. A sleeper
 * that is woken up and sleeps again is another task, so that is no reaction. For high-resolution
 * timers rule 1 holds, in hardirq as well.
 *
 * A timer that is first seen in a cancel or expiry was armed before the recording. Where events
 * were lost, a start can meet an armed timer, a cancel an idle one. All of it is counted, none is
 * an error.
 */
#ifndef SIM_KERNEL_TIMER_CLASSIFIER_H
#define SIM_KERNEL_TIMER_CLASSIFIER_H

#include "error.h"
#include "kernel_timer_event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kernel_verdict {
    KERNEL_ARM,            /* start of an idle timer */
    KERNEL_REARM,          /* start of a pending timer, through mod_timer() */
    KERNEL_START_ON_ARMED, /* start of a pending timer: the recording lacks its end */
    KERNEL_TRUE_CANCEL,
    KERNEL_EXPIRY,
    KERNEL_VERDICTS
};

#define KERNEL_NO_TIMER UINT32_MAX

struct kernel_operation {
    enum kernel_verdict verdict;
    uint32_t timer;                   /* dense, in order of first appearance */
    uint32_t function;                /* index for kernel_classifier_function */
    uint32_t cause;                   /* the timer that expired and causes it; KERNEL_NO_TIMER */
    const struct kernel_event *event; /* without its `function` */
};

/* Counts of the timers of one callback function. */
struct kernel_function {
    const char *name;                   /* "?": the recording has none */
    uint64_t verdicts[KERNEL_VERDICTS]; /* operations of each */
    uint64_t start;                     /* of any kind */
    uint64_t armed_at_end;
    uint64_t timers;     /* distinct pointers that had it last */
    uint64_t caused;     /* of starts and true cancels */
    int64_t min_timeout; /* meaningful if start > 0 */
    int64_t max_timeout;
};

/* Counts of the whole recording; cancels = true cancels + rearms + expiries - expiry_bare. */
struct kernel_counts {
    struct kernel_function all;  /* the sums of all functions */
    uint64_t cancels;            /* timer_cancel events of all three meanings */
    uint64_t expiry_bare;        /* expiries without a timer_cancel before them */
    uint64_t cancel_on_idle;     /* cancels of any meaning that met an idle timer */
    uint64_t armed_before_start; /* timers first seen being cancelled, restarted or expiring */
    uint64_t max_armed;          /* timers armed before the start count from their first event */
    uint64_t exits;              /* timer_expire_exit events */
};

typedef void (*kernel_operation_fn)(void *ctx, const struct kernel_operation *operation);

struct kernel_classifier;

/* `take` gets every operation, in the recording's order. */
struct kernel_classifier *kernel_classifier_create(kernel_operation_fn take, void *ctx);

/* Add an event of the recording, either of the wheel's timers or of the high-resolution timers, not
 * both. (The latter need no look-ahead: they expire without a cancel, and all cancels are true.) */
void kernel_classifier_add(struct kernel_classifier *classifier, const struct kernel_event *event);

/* After the last event: decide the rest, and complete the counts. */
void kernel_classifier_finish(struct kernel_classifier *classifier);

/* Return the counts, after kernel_classifier_finish. */
const struct kernel_counts *kernel_classifier_counts(const struct kernel_classifier *classifier);

/* Return the functions, in order of first appearance; index 0 is "?". */
size_t kernel_classifier_functions(const struct kernel_classifier *classifier);
const struct kernel_function *kernel_classifier_function(const struct kernel_classifier *classifier,
                                                         size_t index);

/* NULL is legal. */
void kernel_classifier_destroy(struct kernel_classifier *classifier);

#endif
