/*
 * concurrent_history.h: the calls of several threads to one structure, the history of them, and the
 * judgement whether their results can be explained: by an order of moments, one within each call, in
 * which a model of one timer after the other returns the same results (linearizability; Herlihy and
 * Wing 1990).
 *
 * Timers are judged one by one, since a history is linearizable if its part about each object is
 * (their theorem 1). The clock is the exception: each history contains all advances.
 */
#ifndef SIM_CONCURRENT_HISTORY_H
#define SIM_CONCURRENT_HISTORY_H

#include "kit_subject.h"

#include <stdatomic.h>

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

enum { PLAY_IDS = 64, PLAY_THREADS = 4 };

/* The actions of the next callback of a timer. */
struct play_callback {
    bool restarts; /* starts the same timer again, for the tick that has been reached */
    bool stops;    /* stops `other` */
    uint32_t other;
};

/* Threads that call one structure. */
struct play {
    struct kit_subject subject;
    _Atomic uint64_t moment; /* the clock of the history */
    _Atomic uint64_t clock;  /* `now` of the last advance that has begun */
    uint64_t advance;        /* number of advances; for the advancing thread */
    struct play_callback callbacks[PLAY_IDS];
    struct history logs[PLAY_THREADS]; /* a thread has a log of its own */
};

/* A call: start timer `id` for `tick` (S), stop it (X), advance to `tick` (A), or ask for next (N);
 * or let the next callback of timer `id` start it again (R), or stop timer number `tick` (K). */
struct play_call {
    char kind;
    uint32_t id;
    uint64_t tick;
};

/* Make a call as thread number `thread`, and add the calls of hooks to the history. */
void play_call(struct play *play, unsigned thread, struct play_call call);

/* Judge the history so far and begin another one. No timer may be pending. Timers with more
 * than 64 calls are not judged. `what` describes the run in the message of a fault, which ends the
 * case. */
void play_judge(struct play *play, const char *what);

#endif
