/*
 * timer_calls.h: turns calls on a program's own timers (starts, stops, expiries), in order of time,
 * into the operations of a trace. Only here is a start matched to the expiry that causes it.
 *
 * An expiry is not an operation, because in a replay the structures expire timers; but it ends the
 * timer, and the calls of its callback are reactions.
 *
 * Event libraries read their clock once a round of the loop, before the callbacks. A prediction
 * counts delays from the recorded begin of the callback, the nearest known time to that. A trace
 * counts the delays of reactions from their causes' deadlines, without the program's lateness.
 *
 * A reaction is placed at the tick at which an exact structure fires its cause: mostly earlier than
 * recorded, later where a program's clock lags, up to TIMER_CALLS_MOVED_MAX_NS. So operations are
 * held back, and written in the order of their ticks. Operations on one timer keep their recorded
 * order: a reaction that would come before an earlier operation of its timer counts as external.
 */
#ifndef SIM_TIMER_CALLS_H
#define SIM_TIMER_CALLS_H

#include "error.h"
#include "import.h"
#include "import_tally.h"
#include "timer_record.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An expiry that was recorded further from its deadline does not count as an exact structure's. */
#define TIMER_CALLS_MOVED_MAX_NS UINT64_C(10000000000)

/* Latest time and longest delay: every deadline is a tick that a trace can hold. */
#define TIMER_CALLS_TIME_MAX_NS  (UINT64_C(1) << 60)
#define TIMER_CALLS_DELAY_MAX_NS UINT64_C(1000000000000000000)

#define TIMER_CALLS_NO_TIMER     UINT32_MAX

struct timer_call {
    enum timer_record_op op;
    uint32_t timer;    /* a dense number */
    uint32_t cause;    /* the timer that has the callback which makes the call, or NO_TIMER */
    uint64_t time_ns;  /* a time before that of an earlier call counts as that one */
    uint64_t delay_ns; /* of a start; of an expiry that repeats, the period, 0: the last delay */
    uint64_t slack_ns; /* of a start and its repetitions */
    uint64_t line;     /* of the recording */
    uint64_t round_ns; /* the begin of the callback that makes the call; 0: not known */
    bool timeout;      /* an expiry: the timeout's; false: its descriptor was ready before */
    bool repeats;      /* an expiry: the program's library starts the timer again */
    bool late_at_once; /* likewise: if a whole period was missed, it fires again at once */
};

struct timer_calls_settings {
    uint64_t tick_ns;
    uint64_t clock_ns; /* the steps of the clock that deadlines count from; 1: it is exact */
    /* A reaction's delay counts from its cause's deadline; if true, from the recorded call where
     * that is later by more than a tick and a hundredth of the delay, so that the trace does not
     * run ahead of the record of a program that is always late. */
    bool follows_record;
};

struct timer_calls_counts {
    uint64_t arm;
    uint64_t rearm;
    uint64_t cancel;
    uint64_t cancel_by_io; /* a descriptor was ready before the timeout */
    uint64_t expiry;
    uint64_t expiry_unknown;       /* of a timer that was not pending */
    uint64_t expiry_on_time;       /* when an exact structure fires */
    uint64_t expiry_early;         /* before its deadline, by the recorder's clock */
    uint64_t expiry_moved_too_far; /* further than TIMER_CALLS_MOVED_MAX_NS from the deadline */
    uint64_t persist_rearm;        /* the library started it again */
    uint64_t stop_not_armed;
    uint64_t time_goes_back;
    uint64_t armed;
    uint64_t max_armed;
    uint64_t addresses; /* timers that were started; an address may be several timers' in turn */
    uint64_t reactions;
    uint64_t cause_unknown; /* in a callback, but external: its timer's expiry has no tick */
    uint64_t cause_crossed; /* likewise: more than TIMER_CALLS_MOVED_MAX_NS ago, or another
                               operation on the same timer is in between */
    uint64_t starts;        /* in the trace */
    uint64_t stops;         /* likewise */
    uint64_t ids;           /* likewise */
};

struct timer_calls;

/* Begin a trace at job->output, and fill job->recording unless it is NULL. Returns NULL with
 * `error` set. */
struct timer_calls *timer_calls_open(const struct import_job *job,
                                     const struct timer_calls_settings *settings,
                                     struct error *error);

bool timer_calls_add(struct timer_calls *calls, const struct timer_call *call, struct error *error);

/* For recordings that do not have all expiries: end a timer that an exact structure has fired by
 * `time_ns`. Returns whether it was pending until then. */
bool timer_calls_pass(struct timer_calls *calls, uint32_t timer, uint64_t time_ns);

/* Return a pending timer's deadline, in the time of the calls; UINT64_MAX: it is not pending. */
uint64_t timer_calls_deadline_ns(const struct timer_calls *calls, uint32_t timer);

/* Return the delay of a timer's last start. */
uint64_t timer_calls_delay_ns(const struct timer_calls *calls, uint32_t timer);

/* Write the operations that are held back. No call may follow. */
bool timer_calls_finish(struct timer_calls *calls, struct error *error);

/* After timer_calls_finish: hand over the trace, and set the numbers of operations and the times,
 * for import_finish. */
void timer_calls_end(struct timer_calls *calls, struct import_summary *summary);

const struct timer_calls_counts *timer_calls_counts(const struct timer_calls *calls);

/* Release all (NULL is legal); a trace that was not completed is removed. */
void timer_calls_close(struct timer_calls *calls);

#endif
