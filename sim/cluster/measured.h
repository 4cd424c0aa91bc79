/*
 * measured.h: what the steps of a real run took, so that the model can be given the same: of each
 * kind of step a distribution, as quantiles.
 */
#ifndef SIM_MEASURED_H
#define SIM_MEASURED_H

#include "histogram.h"
#include "protocol.h"

#include <stdbool.h>

/* X(code, word, what it is). The first ones are looked up by the model step by step; of the others
 * it takes the means, as parameters. */
#define MEASURED_TIME_MAP(X)                                                                       \
    X(TIME_START, "start", "a planner's start, until it is answered")                              \
    X(TIME_CLAIM, "claim", "a look that makes something ready")                                    \
    X(TIME_TAKE, "take", "taking what is ready")                                                   \
    X(TIME_CALL, "call", "writing that down, and a call of the service, until it has answered")    \
    X(TIME_ACK, "ack", "an acknowledgement")                                                       \
    X(TIME_NACK, "nack", "saying that a call failed")                                              \
    X(TIME_STALL, "stall", "for so long the store did not answer a scheduler, or was not there")   \
    X(TIME_IDLE, "idle", "a look that finds nothing")                                              \
    X(TIME_LOOK, "look", "from a look that finds nothing to the next")                             \
    X(TIME_REAP, "reap", "from one look for ended leases to the next, of one scheduler")           \
    X(TIME_RESTART, "restart", "from a kill until the next of its kind is connected")

enum measured_time { MEASURED_TIME_MAP(CLUSTER_CODE) MEASURED_TIMES };
#define MEASURED_OF_STEPS TIME_IDLE /* so many are of single steps */

const char *measured_time_word(enum measured_time time);

/* A step of the store that takes longer has met with a stall: nobody gets an answer meanwhile. It
 * is noted as that, and the step as one of this length. */
#define MEASURED_STALL_US 10000u

/* As they are noted, in microseconds. */
struct measured_histograms {
    struct histogram us[MEASURED_TIMES];
};

/* Hundredths, from 99 % on thousandths, from 99.9 % on ten-thousandths, and the most. */
enum { MEASURED_POINTS = 119 };

struct measured_quantiles {
    bool known; /* otherwise nothing of it was seen */
    double ms[MEASURED_POINTS];
};

void measured_sum_up(const struct histogram *us, struct measured_quantiles *quantiles);

/* The value below which a share lies, 0 <= share < 1, in between straight. */
double measured_at(const struct measured_quantiles *quantiles, double share);

/* What a step of a protocol is measured as; MEASURED_TIMES if it is not. */
enum measured_time measured_as(enum cluster_step step);

#endif
