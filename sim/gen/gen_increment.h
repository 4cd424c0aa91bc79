/*
 * gen_increment.h: the increments of hold models: Jones's distributions (CACM 29(4), 1986), and the
 * Pareto distribution of the ladder queue's paper, all scaled to mean 1.
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
    INCREMENT_PARETO,     /* truncated at this multiple of its minimum */
};

/* Their words; ends with {0}. */
extern const struct tl_choice increment_words[];

struct increments {
    enum increment kind;
    double alpha; /* Pareto's exponent; above 0, not 1 and not 2 */
    double ratio; /* maximum / minimum; above 1 */
    double least;
};

/* Make a distribution. alpha and ratio are used by Pareto only. */
struct increments increments_make(enum increment kind, double alpha, double ratio);

/* Draw a value. */
double increments_draw(const struct increments *increments, struct random *random);

/* Draw a value at a random moment, that is length-biased; a uniform share of it has passed. */
double increments_draw_met(const struct increments *increments, struct random *random);

#endif
