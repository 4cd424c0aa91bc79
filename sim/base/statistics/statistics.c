#include "statistics.h"

#include "memory.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Up to here probabilities are counted out, beyond they are approximated. */
#define EXACT_PAIRS  200u
#define EXACT_VALUES 60u /* of two samples together */

int stats_ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of_sorted(const double *sorted, size_t count)
{
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

double stats_median(const double *values, size_t count)
{
    if (count == 0) {
        return NAN;
    }
    double *sorted = memory_new(count, sizeof *sorted);
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, stats_ascending);
    double median = median_of_sorted(sorted, count);
    free(sorted);
    return median;
}

double stats_mad(const double *values, size_t count)
{
    double *distances = memory_new(count, sizeof *distances);
    double median = stats_median(values, count);
    for (size_t i = 0; i < count; i++) {
        distances[i] = fabs(values[i] - median);
    }
    double mad = stats_median(distances, count);
    free(distances);
    return mad;
}

/* --- the normal distribution ----------------------------------------------------------------- */

static double normal_below(double z)
{
    return erfc(-z / sqrt(2)) / 2;
}

/* The z that a share of `p` lies below. */
static double normal_quantile(double p)
{
    double low = -40;
    double high = 40;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        if (normal_below(middle) < p) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (low + high) / 2;
}

/* With half a step's correction, for a statistic that goes in whole steps. */
static void set_normal(struct stats_test *test, double mean, double deviation)
{
    if (!(deviation > 0)) {
        test->p_low = 1;
        test->p_high = 1;
        return;
    }
    test->p_low = normal_below((test->statistic - mean + 0.5) / deviation);
    test->p_high = normal_below((mean - test->statistic + 0.5) / deviation);
}

/* --- ranks ----------------------------------------------------------------------------------- */

struct ranked {
    double value; /* first, as stats_ascending expects it */
    size_t place; /* where it stood */
};

static struct ranked *in_order(const double *values, size_t count)
{
    struct ranked *order = memory_new(count + 1, sizeof *order);
    for (size_t i = 0; i < count; i++) {
        order[i] = (struct ranked){values[i], i};
    }
    qsort(order, count, sizeof *order, stats_ascending);
    return order;
}

/* Twice the rank of each value, from 1, equal values sharing the mean of theirs: doubled, all are
 * whole. `ties` is the sum of t^3 - t over groups of t equal values. */
static uint32_t *doubled_ranks(const double *values, size_t count, double *ties)
{
    struct ranked *order = in_order(values, count);
    uint32_t *ranks = memory_new(count + 1, sizeof *ranks);
    *ties = 0;
    for (size_t from = 0, to = 0; from < count; from = to) {
        while (to < count && order[to].value == order[from].value) {
            to++;
        }
        for (size_t i = from; i < to; i++) {
            ranks[order[i].place] = (uint32_t)(from + 1 + to);
        }
        double group = (double)(to - from);
        *ties += group * group * group - group;
    }
    free(order);
    return ranks;
}

/* --- the signed-rank distribution ------------------------------------------------------------ */

/* The distribution of the sum of ranks, each of which counts or does not, as a coin falls: out[s]
 * is the probability of the sum s. */
static double *coin_sums(const uint32_t *ranks, size_t count, size_t *sum_max)
{
    *sum_max = 0;
    for (size_t i = 0; i < count; i++) {
        *sum_max += ranks[i];
    }
    double *p = memory_new(*sum_max + 1, sizeof *p);
    p[0] = 1;
    size_t reached = 0;
    for (size_t i = 0; i < count; i++) {
        reached += ranks[i];
        for (size_t s = reached + 1; s-- > 0;) {
            p[s] = (p[s] + (s >= ranks[i] ? p[s - ranks[i]] : 0)) / 2;
        }
    }
    return p;
}

/* Takes the distribution over. */
static void set_exact(struct stats_test *test, double *p, size_t sum_max, size_t sum)
{
    test->p_low = 0;
    test->p_high = 0;
    for (size_t s = 0; s <= sum_max; s++) {
        test->p_low += s <= sum ? p[s] : 0;
        test->p_high += s >= sum ? p[s] : 0;
    }
    test->p_low = fmin(test->p_low, 1);
    test->p_high = fmin(test->p_high, 1);
    free(p);
}

/* The test of the values + `by`. */
static void signed_rank(const double *values, size_t count, double by, struct stats_test *test)
{
    double *kept = memory_new(count + 1, sizeof *kept); /* without zeros */
    double *sizes = memory_new(count + 1, sizeof *sizes);
    size_t kept_count = 0;
    for (size_t i = 0; i < count; i++) {
        kept[kept_count] = values[i] + by;
        sizes[kept_count] = fabs(kept[kept_count]);
        kept_count += kept[kept_count] != 0;
    }
    double ties;
    uint32_t *ranks = doubled_ranks(sizes, kept_count, &ties);
    size_t sum = 0;
    for (size_t i = 0; i < kept_count; i++) {
        sum += kept[i] > 0 ? ranks[i] : 0;
    }
    test->statistic = (double)sum / 2;
    if (kept_count <= EXACT_PAIRS) {
        size_t sum_max = 0;
        double *p = coin_sums(ranks, kept_count, &sum_max);
        set_exact(test, p, sum_max, sum);
    } else {
        double n = (double)kept_count;
        set_normal(test, n * (n + 1) / 4, sqrt(n * (n + 1) * (2 * n + 1) / 24 - ties / 48));
    }
    free(ranks);
    free(kept);
    free(sizes);
}

void stats_signed_rank(const double *values, size_t count, struct stats_test *test)
{
    signed_rank(values, count, 0, test);
}

/* --- the rank-sum distribution --------------------------------------------------------------- */

/* The distribution of the sum of `chosen` ranks drawn at random. */
static double *draw_sums(const uint32_t *ranks, size_t count, size_t chosen, size_t *sum_max)
{
    *sum_max = 0;
    for (size_t i = 0; i < count; i++) {
        *sum_max += ranks[i];
    }
    /* ways[k * width + s]: how many choices of k of the ranks so far have the sum s */
    size_t width = *sum_max + 1;
    double *ways = memory_new((chosen + 1) * width, sizeof *ways);
    double *p = memory_new(width, sizeof *p);
    ways[0] = 1;
    size_t reached = 0;
    for (size_t i = 0; i < count; i++) {
        reached += ranks[i];
        for (size_t k = i + 1 < chosen ? i + 1 : chosen; k > 0; k--) {
            const double *fewer = ways + (k - 1) * width;
            double *row = ways + k * width;
            for (size_t s = ranks[i]; s <= reached; s++) {
                row[s] += fewer[s - ranks[i]];
            }
        }
    }
    double all = 0;
    for (size_t s = 0; s < width; s++) {
        all += ways[chosen * width + s];
    }
    for (size_t s = 0; s < width; s++) {
        p[s] = ways[chosen * width + s] / all;
    }
    free(ways);
    return p;
}

/* The test of `first` and the values of `second` + `by`. */
static void rank_sum(const double *first, size_t first_count, const double *second,
                     size_t second_count, double by, struct stats_test *test)
{
    size_t count = first_count + second_count;
    double *values = memory_new(count + 1, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[i] = i < first_count ? first[i] : second[i - first_count] + by;
    }
    double ties;
    uint32_t *ranks = doubled_ranks(values, count, &ties);
    free(values);
    size_t sum = 0;
    for (size_t i = first_count; i < count; i++) {
        sum += ranks[i];
    }
    double n1 = (double)first_count;
    double n2 = (double)second_count;
    double n = n1 + n2;
    test->statistic = (double)sum / 2 - n2 * (n2 + 1) / 2;
    if (count <= EXACT_VALUES) {
        size_t sum_max = 0;
        double *p = draw_sums(ranks, count, second_count, &sum_max);
        set_exact(test, p, sum_max, sum);
    } else {
        set_normal(test, n1 * n2 / 2, sqrt(n1 * n2 / 12 * (n + 1 - ties / (n * (n - 1)))));
    }
    free(ranks);
}

void stats_rank_sum(const double *first, size_t first_count, const double *second,
                    size_t second_count, struct stats_test *test)
{
    rank_sum(first, first_count, second, second_count, 0, test);
}

/* --- order ----------------------------------------------------------------------------------- */

#define ORDERS_COUNTED_MAX 7u

/* The sum of squared steps from each value to the next. */
static double squared_steps(const uint32_t *ranks, size_t count)
{
    double steps = 0;
    for (size_t i = 1; i < count; i++) {
        double step = (double)ranks[i] - ranks[i - 1];
        steps += step * step;
    }
    return steps;
}

/* Of all orders of ranks[from ..], how many have steps of no more than `steps`; `*all` counts the
 * orders. */
static size_t count_orders(uint32_t *ranks, size_t from, size_t count, double steps, size_t *all)
{
    if (from + 1 >= count) {
        ++*all;
        return squared_steps(ranks, count) <= steps;
    }
    size_t found = 0;
    for (size_t i = from; i < count; i++) {
        uint32_t first = ranks[i];
        ranks[i] = ranks[from];
        ranks[from] = first;
        found += count_orders(ranks, from + 1, count, steps, all);
        ranks[from] = ranks[i];
        ranks[i] = first;
    }
    return found;
}

double stats_serial(const double *values, size_t count)
{
    double ties;
    uint32_t *ranks = doubled_ranks(values, count, &ties);
    double n = (double)count;
    double steps = squared_steps(ranks, count);
    double p = 1;
    if (count <= ORDERS_COUNTED_MAX) {
        size_t all = 0;
        size_t found = count_orders(ranks, 0, count, steps, &all);
        p = (double)found / (double)all;
    } else {
        double spread = 0;
        for (size_t i = 0; i < count; i++) {
            spread += (ranks[i] - (n + 1)) * (ranks[i] - (n + 1));
        }
        double variance =
            4 * (n - 2) * (5 * n * n - 2 * n - 9) / (5 * n * (n + 1) * (n - 1) * (n - 1));
        p = spread > 0 ? normal_below((steps / spread - 2) / sqrt(variance)) : 1;
    }
    free(ranks);
    return p;
}

/* --- shifts ---------------------------------------------------------------------------------- */

/* How many of the smallest of the `total` candidates for a shift lie outside the interval: the
 * largest k with 2 P(statistic < k) <= 1 - confidence, where p[] is the distribution of twice the
 * statistic plus `offset`; 0 if even the whole range is not wide enough. Takes the distribution
 * over. */
static size_t outside_exact(double *p, size_t sum_max, size_t offset, double confidence)
{
    double below = 0;
    size_t outside = 0;
    for (size_t s = offset; s <= sum_max; s += 2) {
        below += p[s];
        if (2 * below > 1 - confidence) {
            break;
        }
        outside++;
    }
    free(p);
    return outside;
}

static size_t outside_normal(double mean, double deviation, double confidence)
{
    double k = floor(mean + normal_quantile((1 - confidence) / 2) * deviation);
    return k > 0 ? (size_t)k : 0;
}

/* From the candidates in ascending order. */
static void set_interval(struct stats_shift *shift, const double *sorted, size_t total,
                         size_t outside)
{
    shift->estimate = median_of_sorted(sorted, total);
    shift->low = outside > 0 ? sorted[outside - 1] : -INFINITY;
    shift->high = outside > 0 ? sorted[total - outside] : INFINITY;
}

/* Twice the ranks 1 .. count. */
static uint32_t *plain_ranks(size_t count)
{
    uint32_t *ranks = memory_new(count + 1, sizeof *ranks);
    for (size_t i = 0; i < count; i++) {
        ranks[i] = (uint32_t)(2 * (i + 1));
    }
    return ranks;
}

static size_t paired_outside(size_t count, double confidence)
{
    double n = (double)count;
    if (count > EXACT_PAIRS) {
        return outside_normal(n * (n + 1) / 4, sqrt(n * (n + 1) * (2 * n + 1) / 24), confidence);
    }
    uint32_t *ranks = plain_ranks(count);
    size_t sum_max = 0;
    double *p = coin_sums(ranks, count, &sum_max);
    free(ranks);
    return outside_exact(p, sum_max, 0, confidence);
}

static size_t unpaired_outside(size_t first_count, size_t second_count, double confidence)
{
    double n1 = (double)first_count;
    double n2 = (double)second_count;
    size_t count = first_count + second_count;
    if (count > EXACT_VALUES) {
        return outside_normal(n1 * n2 / 2, sqrt(n1 * n2 * (n1 + n2 + 1) / 12), confidence);
    }
    uint32_t *ranks = plain_ranks(count);
    size_t sum_max = 0;
    double *p = draw_sums(ranks, count, second_count, &sum_max);
    free(ranks);
    return outside_exact(p, sum_max, second_count * (second_count + 1), confidence);
}

/* Beyond the margin on the upper side (`above`, of values less the margin), or on the lower. */
static double two_sided(const struct stats_test *above, const struct stats_test *below)
{
    return fmin(1, 2 * fmin(above->p_high, below->p_low));
}

void stats_paired_shift(const double *differences, size_t count, double confidence, double margin,
                        struct stats_shift *shift)
{
    size_t total = count * (count + 1) / 2;
    struct stats_test above;
    struct stats_test below;
    double *means = memory_new(total, sizeof *means);
    signed_rank(differences, count, -margin, &above);
    signed_rank(differences, count, margin, &below);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i; k < count; k++) {
            means[at++] = (differences[i] + differences[k]) / 2;
        }
    }
    qsort(means, total, sizeof *means, stats_ascending);
    set_interval(shift, means, total, paired_outside(count, confidence));
    shift->p = two_sided(&above, &below);
    free(means);
}

void stats_unpaired_shift(const double *first, size_t first_count, const double *second,
                          size_t second_count, double confidence, double margin,
                          struct stats_shift *shift)
{
    size_t total = first_count * second_count;
    struct stats_test above;
    struct stats_test below;
    double *differences = memory_new(total, sizeof *differences);
    rank_sum(first, first_count, second, second_count, -margin, &above);
    rank_sum(first, first_count, second, second_count, margin, &below);
    size_t at = 0;
    for (size_t i = 0; i < first_count; i++) {
        for (size_t k = 0; k < second_count; k++) {
            differences[at++] = second[k] - first[i];
        }
    }
    qsort(differences, total, sizeof *differences, stats_ascending);
    set_interval(shift, differences, total,
                 unpaired_outside(first_count, second_count, confidence));
    shift->p = two_sided(&above, &below);
    free(differences);
}

double stats_least_paired_p(size_t count)
{
    return fmin(1, ldexp(2, -(int)fmin((double)count, 1000)));
}

double stats_least_unpaired_p(size_t first_count, size_t second_count)
{
    double p = 2;
    for (size_t i = 1; i <= first_count; i++) {
        p *= (double)i / (double)(second_count + i);
    }
    return fmin(1, p);
}

/* --- many comparisons ------------------------------------------------------------------------ */

void stats_holm(const double *p, size_t count, double *adjusted)
{
    struct ranked *order = in_order(p, count);
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fmin(1, order[i].value * (double)(count - i)));
        adjusted[order[i].place] = largest;
    }
    free(order);
}

void stats_benjamini_hochberg(const double *p, size_t count, double *adjusted)
{
    struct ranked *order = in_order(p, count);
    double smallest = 1;
    for (size_t i = count; i-- > 0;) {
        smallest = fmin(smallest, order[i].value * (double)count / (double)(i + 1));
        adjusted[order[i].place] = smallest;
    }
    free(order);
}
