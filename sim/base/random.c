#include "random.h"

#include <math.h>
#include <string.h>

void random_seed(struct random *random, uint64_t seed)
{
    for (unsigned i = 0; i < 4; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = seed;
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        random->state[i] = z ^ z >> 31;
    }
}

#define LN2 0x1.62e42fefa39efp-1

/* The polynomial with these coefficients, that of the highest power first. */
static double polynomial(const double *coefficients, int count, double x)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        sum = sum * x + coefficients[i];
    }
    return sum;
}

double random_log(double x)
{
    /* x = m * 2^k with m around 1: ln m = 2 atanh((m - 1) / (m + 1)), a series that ends soon. */
    static const double series[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                                    1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
    uint64_t bits;
    (void)memcpy(&bits, &x, sizeof bits);
    int k = (int)(bits >> 52) - 1023;
    bits = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000);
    double m;
    (void)memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        k++;
    }
    double s = (m - 1) / (m + 1);
    double z = s * s;
    return (double)k * LN2 + (2 * s + 2 * s * z * polynomial(series, 10, z));
}

double random_exp(double x)
{
    /* x = k ln 2 + r with |r| <= ln 2 / 2; the Taylor series of e^r, and 2^k put together. */
    static const double series[] = {
        1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
        1.0 / 40320,      1.0 / 5040,      1.0 / 720,      1.0 / 120,     1.0 / 24,
        1.0 / 6,          1.0 / 2,         1.0 / 1,        1.0 / 1};
    double scaled = x * 0x1.71547652b82fep+0;
    int k = (int)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    double r = x - (double)k * LN2;
    uint64_t bits = (uint64_t)(1023 + k) << 52;
    double power;
    (void)memcpy(&power, &bits, sizeof power);
    return polynomial(series, 14, r) * power;
}

double random_normal_quantile(double p)
{
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                               -2.759285104469687e+02, 1.383577518672690e+02,
                               -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                               -1.556989798598866e+02, 6.680131188771972e+01,
                               -1.328068155288572e+01, 1};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                               -2.400758277161838e+00, -2.549732539343734e+00,
                               4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00, 1};
    const double tail = 0.02425;
    if (p >= tail && p <= 1 - tail) {
        double q = p - 0.5;
        return polynomial(a, 6, q * q) * q / polynomial(b, 6, q * q);
    }
    double q = sqrt(-2 * random_log(p < tail ? p : 1 - p));
    double x = polynomial(c, 6, q) / polynomial(d, 5, q);
    return p < tail ? x : -x;
}

double random_exponential(struct random *random, double mean)
{
    return -mean * random_log(random_unit(random));
}

static double lognormal_quantile(double median, double sigma, double p)
{
    return median * random_exp(sigma * random_normal_quantile(p));
}

double random_lognormal(struct random *random, double median, double sigma)
{
    return lognormal_quantile(median, sigma, random_unit(random));
}

void random_lognormal_make(struct random_lognormal_table *table, double median, double sigma)
{
    table->median = median;
    table->sigma = sigma;
    for (int step = RANDOM_TABLE_END; step <= RANDOM_TABLE_STEPS - RANDOM_TABLE_END; step++) {
        table->at[step] = lognormal_quantile(median, sigma, (double)step / RANDOM_TABLE_STEPS);
    }
}

double random_lognormal_of(struct random *random, const struct random_lognormal_table *table)
{
    double unit = random_unit(random);
    double steps = unit * RANDOM_TABLE_STEPS;
    int step = (int)steps;
    if (step < RANDOM_TABLE_END || step >= RANDOM_TABLE_STEPS - RANDOM_TABLE_END) {
        return lognormal_quantile(table->median, table->sigma, unit);
    }
    return table->at[step] + (steps - step) * (table->at[step + 1] - table->at[step]);
}
