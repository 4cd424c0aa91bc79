/*
 * timer_model.h: what a program that keeps timeouts would have asked of its timers, given the
 * events that it saw; written down as a trace. An importer goes from time to time and says which
 * timer is started or stopped; the model knows which are armed, which expire between two events,
 * and how many are armed at most.
 *
 * Times are in nanoseconds and never go back. The trace's clock goes in ticks: a timer started at t
 * with timeout T is due at the first tick that is not before t + T, so that it is never early. What
 * is due at the time of an event fires before the event: after a gap of exactly T, T has passed.
 *
 * Timers belong to queues; all timers of one have the same timeout, so that those started first are
 * due first, and a queue is a list. Memory grows with the number of timers, and with nothing else.
 *
 * A timer's number is its id in the trace. It is not given to another that follows it when the
 * first has expired: a structure that fires late may hold it still.
 */
#ifndef SIM_TIMER_MODEL_H
#define SIM_TIMER_MODEL_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

struct timer_model;

/* Queues are named by numbers below this. */
#define TIMER_MODEL_QUEUES         2u

/* Longest timeout, and latest time. */
#define TIMER_MODEL_TIMEOUT_MAX_NS UINT64_C(1000000000000000000)
#define TIMER_MODEL_TIME_MAX_NS    ((UINT64_C(1) << 63) - 1)

/* A request without an answer. */
#define TIMER_MODEL_NEVER          UINT64_MAX

/* How the model tells what causes an operation; for summaries and origins. */
#define TIMER_MODEL_CAUSES                                                                         \
    "all operations are external: only the recording's events start and stop timers, and what "    \
    "expired stays idle until the next"

struct timer_queue_counts {
    uint64_t arms;    /* starts of an idle timer */
    uint64_t rearms;  /* starts of an armed one */
    uint64_t stops;   /* of an armed one */
    uint64_t expired; /* by now, or by the last event once the model is finished */
    uint64_t armed;   /* now, or at the last event */
    uint64_t max_armed;
    uint64_t expired_in_all; /* set by timer_model_finish: nothing is armed any more */
};

/* Begins the trace. `timeouts_ns` has one for each queue. NULL with `error` set. */
struct timer_model *timer_model_open(const char *output, uint64_t tick_ns,
                                     const uint64_t timeouts_ns[TIMER_MODEL_QUEUES],
                                     struct error *error);

/* A new timer, of that queue. */
uint32_t timer_model_new_timer(struct timer_model *model, unsigned queue);

/* Goes to a time: the timers due until then expire, and the requests answered until then end. */
bool timer_model_advance(struct timer_model *model, uint64_t time_ns, struct error *error);

/* Starts a timer, which may be armed, at the time that was gone to last. */
bool timer_model_start(struct timer_model *model, uint32_t timer, struct error *error);

/* Fetches into the cache what starting or stopping a timer will need: the timer; a little later,
 * those next to it in its queue. */
void timer_model_fetch(const struct timer_model *model, uint32_t timer);
void timer_model_fetch_neighbours(const struct timer_model *model, uint32_t timer);

/* Stops a timer likewise; one that is not armed is left alone. */
bool timer_model_stop(struct timer_model *model, uint32_t timer, struct error *error);

bool timer_model_is_armed(const struct timer_model *model, uint32_t timer);

/* Starts a timer for a request, which is stopped when the answer comes after `duration_ns`
 * (TIMER_MODEL_NEVER: none comes), unless it is due by then. Its timeout is `timeout_ns`, or the
 * queue's if that is 0. The timers of requests that were answered serve new ones; those that
 * expired do not. The queue must have no other timers. */
bool timer_model_request(struct timer_model *model, unsigned queue, uint64_t duration_ns,
                         uint64_t timeout_ns, struct error *error);

/* After the last event: ends the requests whose answers are still to come. */
bool timer_model_finish(struct timer_model *model, struct error *error);

const struct timer_queue_counts *timer_model_counts(const struct timer_model *model,
                                                    unsigned queue);

/* The number of timers, starts and stops in the trace. */
uint32_t timer_model_timers(const struct timer_model *model);
uint64_t timer_model_starts(const struct timer_model *model);
uint64_t timer_model_stops(const struct timer_model *model);

/* Completes the trace, with `origin`, a JSON object, in it. Needs timer_model_finish. */
bool timer_model_commit(struct timer_model *model, const char *origin, struct error *error);

/* Ends the model, and gives up the trace unless it is complete. NULL is legal. */
void timer_model_close(struct timer_model *model);

#endif
