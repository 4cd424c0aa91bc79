/*
 * random.h: random numbers that are the same on every machine. The generator is xoshiro256**,
 * seeded by splitmix64 (Blackman and Vigna); the distributions are made of the IEEE 754 operations
 * +, -, *, / and sqrt alone, which are exact to the last bit everywhere, while the mathematical
 * library's log and exp are not. They must be compiled without contraction (-ffp-contract=off).
 */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state[4];
};

/* Starts the sequence that belongs to `seed`; every seed is good. */
void random_seed(struct random *random, uint64_t seed);

static inline uint64_t random_rotate(uint64_t bits, unsigned by)
{
    return bits << by | bits >> (64 - by);
}

/* 64 independent bits. */
static inline uint64_t random_bits(struct random *random)
{
    uint64_t *s = random->state;
    uint64_t result = random_rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = random_rotate(s[3], 45);
    return result;
}

/* Uniform in (0, 1), both ends excluded, in steps of 2^-52. */
static inline double random_unit(struct random *random)
{
    return ((double)(random_bits(random) >> 12) + 0.5) * 0x1p-52;
}

/* Natural logarithm of a normal positive number; error below 2 units in the last place or so. */
double random_log(double x);

/* e to the power x, for |x| <= 700. */
double random_exp(double x);

/* The value that a standard normal variable does not exceed with probability p, 0 < p < 1; its
 * relative error is below 1.2e-9 (Acklam's rational approximation). */
double random_normal_quantile(double p);

/* Exponential with the given mean. */
double random_exponential(struct random *random, double mean);

/* Log-normal: the logarithm is normal around that of `median`, with standard deviation `sigma`. */
double random_lognormal(struct random *random, double median, double sigma);

/* The same for many draws of one distribution: a table of its quantiles, between which it is taken
 * as straight (wrong by less than 10^-3 of the value if sigma is below 2), and at both ends, where
 * it is not, as above. A draw takes as much from `random`. */
enum { RANDOM_TABLE_STEPS = 512, RANDOM_TABLE_END = 16 };
struct random_lognormal_table {
    double median;
    double sigma;
    double at[RANDOM_TABLE_STEPS - RANDOM_TABLE_END + 1]; /* from step RANDOM_TABLE_END on */
};
void random_lognormal_make(struct random_lognormal_table *table, double median, double sigma);
double random_lognormal_of(struct random *random, const struct random_lognormal_table *table);

#endif
