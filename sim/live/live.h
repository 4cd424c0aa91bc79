/*
 * live.h: a structure driven by the real clock, as in a server: connections with an idle timeout
 * each, traffic that pushes some of them back, and a loop that sleeps in between.
 */
#ifndef SIM_LIVE_H
#define SIM_LIVE_H

#include "drive.h"
#include "error.h"
#include "histogram.h"
#include "registry.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* When the loop wakes for its timers. */
enum live_drive {
    LIVE_SLEEP, /* at the tick that `next` says */
    LIVE_POLL,  /* every tick */
    LIVE_OWN,   /* it wakes the loop by itself: what kernel.h has in a structure's place */
};

/* The reasons for the end of a wait; or-ed. */
enum live_cause { LIVE_TIMER = 1, LIVE_TRAFFIC = 2 };

#define LIVE_NEVER UINT64_MAX

/*
 * Where the loop has its time from, and where it sleeps. Traffic comes every traffic_ns, at
 * multiples of it since `now_ns` was 0.
 */
struct live_clock {
    void *ctx;
    uint64_t (*now_ns)(void *ctx);
    /* Lets the next wait end at at_ns; LIVE_NEVER: not for a timer. Holds for all waits until it
     * has ended one. False if that failed. */
    bool (*arm)(void *ctx, uint64_t at_ns);
    /* Sleeps; returns enum live_cause, 0 if that failed. */
    unsigned (*wait)(void *ctx);
    /* Keeps the loop busy until that much time has passed. NULL: by reading now_ns again and again. */
    void (*spend)(void *ctx, uint64_t ns);
};

struct live_plan {
    const struct tl_algo *algo;
    const void *options;
    void *made;            /* with LIVE_OWN: the instance to use; neither created nor destroyed */
    enum live_drive drive; /* LIVE_SLEEP needs TL_CAP_NEXT */
    uint32_t connections;  /* at least 1 */
    uint64_t tick_ns;
    uint64_t timeout_ns;
    uint64_t restarts_per_second;  /* of all connections together */
    struct replay_drive callbacks; /* only its service time counts */
    uint64_t duration_ns;
    uint64_t seed;
    void (*progress)(void *ctx, uint64_t done_ns); /* called now and then; may be NULL */
    void *progress_ctx;
    void (*ready)(void *ctx); /* called when all connections are there; may be NULL */
    void *ready_ctx;
};

struct live_result {
    uint64_t elapsed_ns;      /* since all connections were there */
    uint64_t processor_ns;    /* the process's processor time, including the kernel's */
    uint64_t timer_wakeups;   /* waits that a timer ended, or the tick */
    uint64_t traffic_wakeups; /* waits that traffic ended, and no timer */
    uint64_t idle_wakeups;    /* of timer_wakeups, those that fired nothing */
    uint64_t arms;            /* number of times that the wakeup was set */
    uint64_t restarts;
    uint64_t fired;
    uint64_t early; /* of those, before their time */
    struct histogram
        lateness_ns;             /* from the timeout's end to the callback; early ones count as 0 */
    struct histogram advance_ns; /* how long each advance took, callbacks included */
    uint64_t commits;            /* waits for the disk, of a durable structure */
    struct histogram waited_ns;  /* of lateness_ns, that of timers which a commit has kept waiting:
                                    they were due before it was over, in an operation before the
                                    advance in which they fired */
    char fault[192];             /* "" if none: all connections have a timer, and none is overdue */
};

/* Runs the plan. False, with the reason, if it cannot be run. */
bool live_run(const struct live_plan *plan, const struct live_clock *clock,
              struct live_result *result, struct error *error);

/* --- the machine's clock --------------------------------------------------------------------- */

/* epoll upon two timerfds. Treat as opaque. */
struct live_epoll {
    int epoll;
    int timer;
    int traffic;
    uint64_t begun_ns;
    bool by_timeout;       /* sleeps by epoll_wait's timeout of milliseconds, and sets no timerfd */
    uint64_t armed_ns;     /* with by_timeout */
    uint64_t system_calls; /* so far */
};

/* Time begins now. False, with the reason, if the kernel refuses. */
bool live_epoll_open(struct live_epoll *loop, uint64_t traffic_ns, struct error *error);

/* Nanoseconds since its begin, and such a time as one of the machine's clock. */
uint64_t live_epoll_now_ns(const struct live_epoll *loop);
struct timespec live_epoll_time(const struct live_epoll *loop, uint64_t at_ns);

/* The clock that it is; valid until it is closed. */
struct live_clock live_epoll_clock(struct live_epoll *loop);

/* Closes what open opened. */
void live_epoll_close(struct live_epoll *loop);

#endif
