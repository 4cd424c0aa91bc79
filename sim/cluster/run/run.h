/*
 * run.h: runs a distributed scheduler on a real engine. Planners, schedulers, executors and their
 * service are processes, which share only an engine's table (engine.h); they and the engine are
 * killed, and stopped for a while, at any point. Each logs its messages before it sends them, and
 * answers as soon as they arrive, in a journal that outlives it; afterwards the journals are
 * compared, timer by timer.
 *
 * A fault comes when its victim has passed a number of points, before and after each step, not at a
 * time of the clock: the same seed brings the same faults, if the order of the processes is the
 * same.
 */
#ifndef SIM_CLUSTER_RUN_H
#define SIM_CLUSTER_RUN_H

#include "engine.h"
#include "error.h"
#include "protocol.h"

#include <stdbool.h>
#include <stdint.h>

enum run_role { RUN_PLANNER, RUN_SCHEDULER, RUN_EXECUTOR, RUN_RECEIVER, RUN_ENGINE, RUN_ROLES };

/* The names of the roles. */
extern const char *const run_role_names[RUN_ROLES];

struct run_plan {
    const struct engine_kind *engine;
    const struct cluster_protocol *protocol;
    struct engine_plan steps;
    uint64_t scan_ms;           /* seed: the delay of the second pass; 0: there is none */
    uint32_t roles[RUN_ENGINE]; /* processes of each; of the receiver one */
    uint64_t timers;            /* at least; more until all faults have come */
    uint32_t batch;             /* timers in a step */
    uint32_t waiting_max;       /* planners wait while this number of timers does */
    double delay_ms;            /* at most; uniform */
    double stopped;             /* shares of the timers */
    double restarted;
    double errors;       /* shares of the calls: the service refuses, */
    double replies_lost; /* or does its work, but the reply is lost, */
    double laters;       /* or asks to be called again, after this */
    uint64_t later_ms;
    uint64_t backoff_ms;   /* before the second attempt; twice as long before each further one */
    uint64_t poll_ms;      /* who finds nothing to do looks again after this */
    bool steps_are_time;   /* a step is a millisecond, without waiting; else the clock is real */
    uint32_t payload_most; /* bytes of a call's parameters */
    uint64_t kills;
    uint64_t pauses;
    uint64_t pause_ms;
    uint64_t every; /* points of the victim between two faults, in the mean */
    uint64_t seed;
};

/* Makes a plan of a row of the table, for which the engine and the number of schedulers are known.
 * False: the engine does not know its steps. */
bool run_plan_protocol(struct run_plan *plan, const struct cluster_protocol *protocol);

/* How a timer came to its first effect. */
enum run_path { PATH_FIRST, PATH_RETRIED, PATH_RECOVERED, PATH_ALL, RUN_PATHS };

extern const char *const run_path_names[RUN_PATHS];

struct run_lateness {
    uint64_t count;
    uint64_t p50_ms;
    uint64_t p99_ms;
    uint64_t max_ms;
};

struct run_result {
    uint64_t started; /* acknowledged, restarts too */
    uint64_t restarted;
    uint64_t stopped; /* and acknowledged that it will not fire */
    uint64_t fired;   /* timers of which there is an effect */
    uint64_t calls;
    uint64_t errors;
    uint64_t dead;
    uint64_t laters;  /* calls that were answered so */
    uint64_t stale;   /* acknowledgements that were refused */
    uint64_t garbled; /* calls with another service or payload than their timer was started with */
    uint64_t lost;
    uint64_t early;
    uint64_t after_stop;                 /* fired though it was confirmed that they will not */
    uint64_t twice_done;                 /* accepted acknowledgements beyond one */
    uint64_t duplicates[CLUSTER_CAUSES]; /* calls beyond a timer's first; CLUSTER_CAUSE_OTHER: a
                                           fault of the protocol */
    uint64_t unheard;                    /* calls that had an effect, without a reply */
    uint64_t unreached;                  /* calls that never came to the service, as it was gone */
    uint64_t kills[RUN_ROLES];
    uint64_t pauses[RUN_ROLES];
    struct run_lateness lateness[RUN_PATHS];
    double seconds;
    double fired_per_second;
};

/* Runs it, with all files in `folder`, which is there and empty; false, with `error` set, if it
 * could not be. Should this process die meanwhile, however, all others do, and the folder goes. */
bool run_cluster(const struct run_plan *plan, const char *folder, struct run_result *result,
                 struct error *error);

/* Whether nothing was lost, early, garbled or fired after a confirmed stop, and each second call
 * has a cause. */
bool run_is_right(const struct run_result *result);

#endif
