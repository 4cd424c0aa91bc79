/*
 * timer_model.h: the timer operations of a program with timeouts, derived from the events that it
 * saw, and written as a trace. An importer advances the time and starts or stops timers; the model
 * knows which timers are armed, and which expire between two events.
 *
 * Times are in nanoseconds and never go back. A timer started at t with timeout T is due at the
 * first tick that is not before t + T, so it is never early. Timers due at the time of an event
 * expire before the event: after a gap of exactly T, T has passed.
 *
 * Timers belong to queues. All timers of a queue have the same timeout, except requests that bring
 * their own. Memory grows with the number of timers only.
 *
 * A timer's number is its id in the trace. It is not used again after an expiry, because a late
 * structure may still hold it.
 */
#ifndef SIM_TIMER_MODEL_H
#define SIM_TIMER_MODEL_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

struct import_summary;
struct timer_model;

/* Queues are named by numbers below this. */
#define TIMER_MODEL_QUEUES         2u

/* Longest timeout, and latest time. */
#define TIMER_MODEL_TIMEOUT_MAX_NS UINT64_C(1000000000000000000)
#define TIMER_MODEL_TIME_MAX_NS    ((UINT64_C(1) << 63) - 1)

/* A request without an answer. */
#define TIMER_MODEL_NEVER          UINT64_MAX

/* How the model determines causes; for summaries and origins. */
#define TIMER_MODEL_CAUSES                                                                         \
    "all operations are external: only the recording's events start and stop timers, and what "    \
    "expired stays idle until the next"

struct timer_queue_counts {
    uint64_t arms;    /* starts of an idle timer */
    uint64_t rearms;  /* starts of an armed one */
    uint64_t stops;   /* of an armed one */
    uint64_t expired; /* by the time of the last advance */
    uint64_t armed;   /* likewise */
    uint64_t max_armed;
};

/* Begin the trace. `timeouts_ns` has one for each queue. Returns NULL with `error` set. */
struct timer_model *timer_model_open(const char *output, uint64_t tick_ns,
                                     const uint64_t timeouts_ns[TIMER_MODEL_QUEUES],
                                     struct error *error);

/* Return a new timer of that queue. */
uint32_t timer_model_new_timer(struct timer_model *model, unsigned queue);

/* Go to a time: timers due by then expire, and requests answered by then end. */
bool timer_model_advance(struct timer_model *model, uint64_t time_ns, struct error *error);

/* Start a timer, armed or not, at the time of the last advance. */
bool timer_model_start(struct timer_model *model, uint32_t timer, struct error *error);

/* Stop a timer, if it is armed, at the time of the last advance. */
bool timer_model_stop(struct timer_model *model, uint32_t timer, struct error *error);

bool timer_model_is_armed(const struct timer_model *model, uint32_t timer);

/* Start a timer for a request, which is stopped by an answer after `duration_ns`
 * (TIMER_MODEL_NEVER: none comes), unless it is due by then. `timeout_ns` 0: the queue's timeout.
 * Timers of answered requests are used again, expired ones are not. The queue must have no other
 * timers. */
bool timer_model_request(struct timer_model *model, unsigned queue, uint64_t duration_ns,
                         uint64_t timeout_ns, struct error *error);

/* After the last event: stop the requests that are answered later. Those that were started and not
 * stopped have expired, or will. */
bool timer_model_finish(struct timer_model *model, struct error *error);

const struct timer_queue_counts *timer_model_counts(const struct timer_model *model,
                                                    unsigned queue);

/* After timer_model_finish: hand over the trace, and set the rule of causes and the numbers of
 * operations, for import_finish. */
void timer_model_end(struct timer_model *model, struct import_summary *summary);

/* Release the model (NULL is legal), and remove the trace unless timer_model_end was called. */
void timer_model_close(struct timer_model *model);

#endif
