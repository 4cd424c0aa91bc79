/*
 * concurrent_history.h: the calls of several threads to one structure, and the judgement whether
 * their results can be explained: by an order of moments, one within each call, in which a model of
 * one timer after the other returns the same results (linearizability; Herlihy and Wing 1990).
 *
 * Timers are judged one by one, since a history is linearizable if its part about each object is
 * (their theorem 1). The clock is the exception: each history contains all advances.
 */
#ifndef SIM_CONCURRENT_HISTORY_H
#define SIM_CONCURRENT_HISTORY_H

#include "fault.h"
#include "timerlab.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum history_kind {
    HISTORY_START,
    HISTORY_STOP,
    HISTORY_EXPIRY,
    HISTORY_NEXT,
    HISTORY_BEGIN, /* of an advance */
    HISTORY_END
};

/* A call, or the begin or the end of one, which is a moment. */
struct history_call {
    enum history_kind kind;
    enum tl_status status; /* of a start or stop */
    uint32_t id;
    unsigned thread;
    uint64_t begun; /* numbers of a clock that all threads read, before and after the call */
    uint64_t ended;
    uint64_t tick;    /* the deadline; `now` of an advance or expiry; the result of next */
    uint64_t advance; /* the advance that an expiry, or a start in a callback, is part of */
    uint64_t early;   /* of a start: ticks that it may be early */
    uint64_t late;    /* ... and late */
};

/* The calls of one thread, in their order. */
#define HISTORY_CALLS 256u

struct history {
    struct history_call calls[HISTORY_CALLS];
    size_t count;
};

struct history_fault {
    enum fault_kind kind;
    char text[800]; /* the result without an explanation, and the calls about this timer */
};

/* Return whether the calls about timer `id` can be explained. At most 64 are judged: of more, true.
 * A thread has a log of its own. */
bool history_explains(const struct history *logs, size_t log_count, uint32_t id,
                      struct history_fault *fault);

#endif
