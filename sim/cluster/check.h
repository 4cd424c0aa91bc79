/*
 * check.h: explores all behaviours of a protocol in a small instance: two timers, due in seconds 1
 * and 2, two schedulers, two executors, and the given faults. Any process may go on at any moment,
 * or stop for any time.
 *
 * A crash takes the memory of a process, which begins again at once. Recovery (a lease that ends, a
 * node that does not report) waits until no process holds the timer, except as the fault "outrun".
 * A late timer was accepted for its second, and gets into the table after that has begun.
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK_TIMERS     2
#define CHECK_SCHEDULERS 2
#define CHECK_EXECUTORS  2
#define CHECK_LAST       2 /* second; timer i is due in second 1 + i */

/* The number of faults of each kind, at most CHECK_FAULTS_MAX. */
#define CHECK_FAULTS_MAX 3
struct check_faults {
    unsigned crashes;
    unsigned outruns;
    unsigned laters; /* how often the service asks to be called later */
    bool late;       /* the last timer may come late */
    bool scan;       /* the second pass of a protocol that has one */
};

/* Return the default sets of faults; sets *count to their number. */
struct check_case {
    const char *name;
    struct check_faults faults;
};
const struct check_case *check_cases(size_t *count);

/* Who may do something, for sequences of steps and pictures of them. */
enum check_actor {
    CHECK_PLANNER,
    CHECK_TIME,
    CHECK_SCHEDULER,                                     /* and those after it */
    CHECK_EXECUTOR = CHECK_SCHEDULER + CHECK_SCHEDULERS, /* and those after it */
    CHECK_RECOVERY = CHECK_EXECUTOR + CHECK_EXECUTORS,
    CHECK_ACTORS,
};

/* Steps, in addition to those of a protocol. */
enum check_action {
    CHECK_INSERT = CLUSTER_STEPS,
    CHECK_DELAY, /* it will insert late */
    CHECK_TICK,
    CHECK_CRASH,
    CHECK_SCAN,
    CHECK_RECOVER,
    CHECK_OUTRUN, /* recovers though somebody holds it */
    CHECK_ASK_LATER,
    CHECK_ACTIONS,
};
const char *check_action_word(unsigned action);

struct check_step {
    uint8_t actor;
    uint8_t action; /* enum cluster_step or enum check_action */
    uint8_t timers; /* those that it touches, a bit each */
    uint8_t second; /* of the clock on the wall, when it is done */
};

/* Write a step as text, "scheduler 1: fetch timer 1"; cut off if it is too long. */
void check_step_text(const struct check_step *step, char *text, size_t bytes);

#define CHECK_RUN_MAX 64

/* How far a timer came. */
enum check_stage {
    CHECK_STAGE_HAND = 1, /* 0: it is in the table */
    CHECK_STAGE_QUEUE,
    CHECK_STAGE_TAKEN,
    CHECK_STAGE_CALLED,
    CHECK_STAGE_ENDED
};

/* The end of all events, as seen from outside. Two states that differ in
 * anything else are the same end. */
struct check_end {
    uint8_t stage[CHECK_TIMERS];
    uint8_t calls[CHECK_TIMERS];
    uint8_t acks[CHECK_TIMERS]; /* accepted */
    uint8_t crashes;            /* that happened */
    uint8_t outruns;
    uint8_t late;
};

struct check_result {
    uint64_t states;
    struct check_end *ends; /* each once, in order; the caller frees them */
    size_t end_count;
    size_t lost_ends; /* of those, the ones in which a timer was never called */
    unsigned most_calls;
    unsigned most_acks;
    struct check_step run[CHECK_RUN_MAX]; /* the shortest that ends with a lost timer */
    size_t run_count;                     /* 0: there is none */
};

/* Looks at everything, in order of the number of steps. */
void check_search(const struct cluster_protocol *protocol, const struct check_faults *faults,
                  struct check_result *result);

/* Sorts ends and drops those that are there twice; sets the counts of a result from them. */
void check_result_count(struct check_result *result);

#endif
