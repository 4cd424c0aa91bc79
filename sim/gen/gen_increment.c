#include "gen_increment.h"

#include <math.h>
#include <stddef.h>

const struct tl_choice increment_words[] = {{"exponential", INCREMENT_EXPONENTIAL, NULL},
                                            {"uniform", INCREMENT_UNIFORM, NULL},
                                            {"biased", INCREMENT_BIASED, NULL},
                                            {"bimodal", INCREMENT_BIMODAL, NULL},
                                            {"triangular", INCREMENT_TRIANGULAR, NULL},
                                            {"pareto", INCREMENT_PARETO, NULL},
                                            {0}};

static double power(double base, double exponent)
{
    return random_exp(exponent * random_log(base));
}

/* Avoid 1, where the mean's integral is a logarithm instead of a power. */
static double off_one(double exponent)
{
    double from_one = exponent - 1;
    return from_one > -1e-6 && from_one < 1e-6 ? 1 + 1e-6 : exponent;
}

struct increments increments_make(enum increment kind, double alpha, double ratio)
{
    struct increments increments = {.kind = kind, .alpha = off_one(alpha), .ratio = ratio};
    double a = increments.alpha;
    double mean = a / (a - 1) * (1 - power(ratio, 1 - a)) / (1 - power(ratio, -a));
    increments.least = 1 / mean;
    return increments;
}

/* Pareto from 1 to `ratio`, by its inverse; the exponent may be 0 or below. */
static double pareto(double alpha, double ratio, double u)
{
    if (alpha > -1e-6 && alpha < 1e-6) {
        return power(ratio, u);
    }
    return power(1 - u * (1 - power(ratio, -alpha)), -1 / alpha);
}

double increments_draw(const struct increments *increments, struct random *random)
{
    double u = random_unit(random);
    switch (increments->kind) {
    case INCREMENT_UNIFORM:
        return 2 * u;
    case INCREMENT_BIASED:
        return 0.9 + 0.2 * u;
    case INCREMENT_BIMODAL:
        return (u + (random_unit(random) < 0.1 ? 10 : 0)) / 1.5;
    case INCREMENT_TRIANGULAR:
        return 1.5 * sqrt(u);
    case INCREMENT_PARETO:
        return increments->least * pareto(increments->alpha, increments->ratio, u);
    case INCREMENT_EXPONENTIAL:
        break;
    }
    return -random_log(u);
}

double increments_draw_met(const struct increments *increments, struct random *random)
{
    /* Length-biased: the density is multiplied by the value. */
    double u = random_unit(random);
    switch (increments->kind) {
    case INCREMENT_UNIFORM:
        return 2 * sqrt(u);
    case INCREMENT_BIASED:
        return sqrt(0.81 + u * (1.21 - 0.81));
    case INCREMENT_BIMODAL:
        /* Of the mean, 0.45 is in the short ones, 1.05 in the long ones. */
        return (random_unit(random) * 1.5 < 0.45 ? sqrt(u) : sqrt(100 + 21 * u)) / 1.5;
    case INCREMENT_TRIANGULAR:
        return 1.5 * power(u, 1.0 / 3);
    case INCREMENT_PARETO:
        return increments->least * pareto(increments->alpha - 1, increments->ratio, u);
    case INCREMENT_EXPONENTIAL:
        break;
    }
    return -random_log(u) - random_log(random_unit(random));
}
