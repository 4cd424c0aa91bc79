/*
 * gen_increment.h: how far ahead the next event of a hold model lies: Jones's distributions (CACM
 * 29(4), 1986), and the Pareto distribution of the ladder queue's paper, all scaled to mean 1.
 */
#ifndef SIM_GEN_INCREMENT_H
#define SIM_GEN_INCREMENT_H

#include "random.h"
#include "timerlab.h"

enum increment {
    INCREMENT_EXPONENTIAL,
    INCREMENT_UNIFORM,    /* from 0 to 2 */
    INCREMENT_BIASED,     /* from 0.9 to 1.1 */
    INCREMENT_BIMODAL,    /* nine of ten from 0 to 2/3, the tenth from 20/3 to 22/3 */
    INCREMENT_TRIANGULAR, /* from 0 to 1.5, with a density that rises from 0 */
    INCREMENT_PARETO,     /* cut off at this multiple of its least */
};

/* Their words, ended by NULL. */
extern const struct tl_choice increment_words[];

struct increments {
    enum increment kind;
    double alpha; /* Pareto's exponent; above 0, not 1 and not 2 */
    double ratio; /* of its largest value to its least; above 1 */
    double least;
};

/* alpha and ratio matter to Pareto alone. */
struct increments increments_make(enum increment kind, double alpha, double ratio);

/* A value. */
double increments_draw(const struct increments *increments, struct random *random);

/* A value as it is met at a random moment: values are as frequent as they are long. A uniform share
 * of it has passed. */
double increments_draw_met(const struct increments *increments, struct random *random);

#endif
