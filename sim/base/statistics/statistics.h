/*
 * statistics.h: figures from repeated runs, and tests of them. Pure functions, which know nothing
 * of structures, files or time.
 *
 * No distribution of the values is assumed. For small numbers of values, such as the runs of a
 * benchmark, probabilities are exact, also with ties; for large ones they are the usual normal
 * approximations.
 */
#ifndef SIM_STATISTICS_H
#define SIM_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* The median; the values are left as they are. NAN without values. */
double stats_median(const double *values, size_t count);

/* The median distance from the median, not scaled to anything; likewise. */
double stats_mad(const double *values, size_t count);

/* For qsort: orders numbers of type double, the smaller first. */
int stats_ascending(const void *a, const void *b);

/* --- one sample, or two ---------------------------------------------------------------------- */

/* A test's statistic, and how probable it is to be that small or smaller, that large or larger, if
 * there is no difference. */
struct stats_test {
    double statistic;
    double p_low;
    double p_high;
};

/* Wilcoxon's signed-rank test of `values` + `by` being symmetric about 0: the sum of the ranks of
 * those above. Zeros are omitted, equal sizes share their rank. */
void stats_signed_rank(const double *values, size_t count, double by, struct stats_test *test);

/* Wilcoxon's rank-sum test, also called Mann and Whitney's: in how many pairs of one value from
 * `first` and one from `second` + `by`, the latter is larger (equal ones are half a pair). */
void stats_rank_sum(const double *first, size_t first_count, const double *second,
                    size_t second_count, double by, struct stats_test *test);

/* Whether neighbours are closer to one another than in a random order, as in a machine that slows
 * down and recovers: the probability of so small a value of Bartels's rank version of von Neumann's
 * ratio in a random order. Counted out for up to seven values, else the normal approximation. 1 if
 * all values are equal. */
double stats_serial(const double *values, size_t count);

/* --- how large a difference is --------------------------------------------------------------- */

/* A difference with its confidence interval, and the two-sided probability of the values if the
 * true difference were no further from 0 than a margin. */
struct stats_shift {
    double estimate; /* Hodges and Lehmann's */
    double low;      /* the interval; infinite where there are too few values for one */
    double high;
    double p; /* at most 1 */
};

/* From differences of pairs, at least one: the median of the means of any two of them. `confidence`
 * is between 0 and 1, `margin` is not negative. */
void stats_paired_shift(const double *differences, size_t count, double confidence, double margin,
                        struct stats_shift *shift);

/* From two samples: the median of all differences second - first. */
void stats_unpaired_shift(const double *first, size_t first_count, const double *second,
                          size_t second_count, double confidence, double margin,
                          struct stats_shift *shift);

/* The least two-sided probability that this number of values can show. */
double stats_least_paired_p(size_t count);
double stats_least_unpaired_p(size_t first_count, size_t second_count);

/* --- many comparisons ------------------------------------------------------------------------ */

/* Probabilities adjusted for being `count` at once. Holm: a chance of at most p for even one false
 * alarm among all. Benjamini and Hochberg: of those called different, a share of at most p is
 * expected to be false. */
void stats_holm(const double *p, size_t count, double *adjusted);
void stats_benjamini_hochberg(const double *p, size_t count, double *adjusted);

#endif
