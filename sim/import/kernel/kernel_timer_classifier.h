/*
 * kernel_timer_classifier.h: from the kernel's timer events to what was done to the timers.
 *
 * The kernel traces `timer_cancel` for three things, and says which only afterwards:
 *
 *   expiry       it detaches a timer before it calls its function: timer_expire_entry of the same
 *                timer on the same CPU follows
 *   rearm        mod_timer() of a pending timer: timer_start of the same timer by the same task on
 *                the same CPU follows within 20 us
 *   true cancel  the timer is deleted, and nothing of the kind follows
 *
 * So events are held back until each cancel among them is decided: for at most 10 ms of recording
 * or 32,768 events (the widest gaps seen in real recordings are a tenth of a millisecond and
 * eleven events). Then they go on in the order of the recording, each with its verdict. Memory is a
 * constant plus a few words for each timer that ever appeared.
 *
 * Which firing a start or a true cancel is caused by, the recording does not say either. What is
 * done to a timer itself is caused by its expiry if it follows timer_expire_entry on the same CPU,
 * by the same task, within 50 us, with no other event of that CPU's timers between, and in the
 * context of the callbacks where the recording has that column. Where it has timer_expire_exit too,
 * whatever that task does on that CPU until then is caused by the expiry, to other timers as well,
 * but for delayed work: who does not queue it will find another to do so. A sleeper that is woken
 * up and sleeps again is no cause: that is another task. For high-resolution timers the first of
 * the two rules holds, in hardirq as well.
 *
 * A timer's life need not begin in the recording: one that is first seen being cancelled or
 * expiring was armed before. Nor need it be complete: where events were lost, a start can meet an
 * armed timer, a cancel an idle one. All of it is counted, none of it is an error.
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
    KERNEL_START_ON_ARMED, /* start of a pending timer, whose end the recording lacks */
    KERNEL_TRUE_CANCEL,
    KERNEL_EXPIRY,
};

#define KERNEL_NO_TIMER UINT32_MAX

struct kernel_operation {
    enum kernel_verdict verdict;
    uint32_t timer;                   /* dense, in order of first appearance */
    uint32_t function;                /* index for kernel_classifier_function */
    uint32_t cause;                   /* the timer whose firing causes it; KERNEL_NO_TIMER */
    const struct kernel_event *event; /* which it became by; its `function` is gone */
};

/* Counts of the whole recording. The first is the sum of the three after it, and
 * cancels = true_cancel + rearm + expiry - expiry_bare. */
struct kernel_counts {
    uint64_t starts;
    uint64_t arm;
    uint64_t rearm;
    uint64_t start_on_armed;
    uint64_t cancels; /* timer_cancel events, whatever they meant */
    uint64_t true_cancel;
    uint64_t expiry;
    uint64_t expiry_bare;        /* expiries without a timer_cancel before them */
    uint64_t cancel_on_idle;     /* cancels of any meaning that met an idle timer */
    uint64_t armed_before_start; /* timers first seen being cancelled, restarted or expiring */
    uint64_t armed_at_end;
    uint64_t max_armed; /* those armed before the start count from when they are first seen */
    uint64_t timers;    /* distinct pointers */
    uint64_t exits;     /* timer_expire_exit events */
    uint64_t caused;    /* starts and true cancels that an expiry causes */
};

/* The same for the timers of one callback function. */
struct kernel_function {
    const char *name; /* "?" for timers whose function the recording does not say */
    size_t name_length;
    uint64_t start;
    uint64_t arm;
    uint64_t rearm;
    uint64_t start_on_armed;
    uint64_t true_cancel;
    uint64_t expiry;
    uint64_t armed_at_end;
    uint64_t timers;     /* distinct pointers that had it last */
    uint64_t caused;     /* of start and true_cancel */
    int64_t min_timeout; /* meaningful if start > 0 */
    int64_t max_timeout;
};

/* Takes an operation; false, with `error` set, ends the work. */
typedef void (*kernel_operation_fn)(void *ctx, const struct kernel_operation *operation);

struct kernel_classifier;

/* `take` gets every operation, in the recording's order. */
struct kernel_classifier *kernel_classifier_create(kernel_operation_fn take, void *ctx);

/* Adds an event of the recording: one of the wheel's timers, or of the high-resolution timers
 * (which need no look-ahead: they expire without a cancel, and their cancels are true ones), but
 * not both to one classifier. */
void kernel_classifier_add(struct kernel_classifier *classifier, const struct kernel_event *event);

/* The recording is over: decides what is undecided, and completes the counts. */
void kernel_classifier_finish(struct kernel_classifier *classifier);

/* Counts so far; complete after kernel_classifier_finish. */
const struct kernel_counts *kernel_classifier_counts(const struct kernel_classifier *classifier);

/* The functions seen, in order of first appearance; index 0 is "?". */
size_t kernel_classifier_functions(const struct kernel_classifier *classifier);
const struct kernel_function *kernel_classifier_function(const struct kernel_classifier *classifier,
                                                         size_t index);

/* NULL is legal. */
void kernel_classifier_destroy(struct kernel_classifier *classifier);

#endif
