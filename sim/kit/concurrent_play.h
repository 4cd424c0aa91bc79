/* concurrent_play.h: threads that call one structure and keep a history of it. */
#ifndef SIM_CONCURRENT_PLAY_H
#define SIM_CONCURRENT_PLAY_H

#include "concurrent_history.h"
#include "kit_subject.h"

#include <stdatomic.h>

enum { PLAY_IDS = 64, PLAY_THREADS = 4 };

/* The actions of the next callback of a timer. */
struct play_callback {
    bool restarts; /* starts the same timer again, for the tick that has been reached */
    bool stops;    /* stops `other` */
    uint32_t other;
};

struct play {
    struct kit_subject subject;
    _Atomic uint64_t moment; /* the clock of the history */
    _Atomic uint64_t clock;  /* `now` of the last advance that has begun */
    uint64_t advance;        /* number of advances; for the advancing thread */
    struct play_callback callbacks[PLAY_IDS];
    struct history logs[PLAY_THREADS];
};

/* Call a hook as thread number `thread`, and add the call to the history. */
void play_start(struct play *play, unsigned thread, uint32_t id, uint64_t deadline);
void play_stop(struct play *play, unsigned thread, uint32_t id);
void play_advance(struct play *play, unsigned thread, uint64_t now);
void play_next(struct play *play, unsigned thread);

/* Whether the thread's history has room for `calls` more. */
bool play_has_room(const struct play *play, unsigned thread, size_t calls);

/* Judge the history so far and begin another one. No timer may be pending. `what` describes the run
 * in the message of a fault, which ends the case. */
void play_judge(struct play *play, const char *what);

#endif
