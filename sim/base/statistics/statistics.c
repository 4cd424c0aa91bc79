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

/* --- distributions if there is no difference -------------------------------------------------- */

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

struct distribution {
    double *p;     /* of twice the statistic + `offset`; NULL: it is taken as normal */
    size_t offset; /* of p[]; even */
    size_t sum_max;
    double mean;
    double deviation;
};

/* Of the signed-rank statistic. `ties` as in doubled_ranks, which gave the ranks. */
static struct distribution of_pairs(const uint32_t *ranks, size_t count, double ties)
{
    double n = (double)count;
    struct distribution made = {.mean = n * (n + 1) / 4,
                                .deviation = sqrt(n * (n + 1) * (2 * n + 1) / 24 - ties / 48)};
    if (count <= EXACT_PAIRS) {
        made.p = coin_sums(ranks, count, &made.sum_max);
    }
    return made;
}

/* Of the rank-sum statistic; likewise. */
static struct distribution of_samples(const uint32_t *ranks, size_t first_count,
                                      size_t second_count, double ties)
{
    double n1 = (double)first_count;
    double n2 = (double)second_count;
    double n = n1 + n2;
    struct distribution made = {
        .offset = second_count * (second_count + 1),
        .mean = n1 * n2 / 2,
        .deviation = sqrt(n1 * n2 / 12 * (n + 1 - ties / (n * (n - 1)))),
    };
    if (first_count + second_count <= EXACT_VALUES) {
        made.p = draw_sums(ranks, first_count + second_count, second_count, &made.sum_max);
    }
    return made;
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Set the probabilities of a statistic, and free its distribution. The normal one gets half a step's
 * correction, because the statistic goes in whole steps. */
static void set_probabilities(struct stats_test *test, const struct distribution *of)
{
    if (of->p == NULL) {
        bool varies = of->deviation > 0;
        double above = test->statistic - of->mean;
        test->p_low = varies ? normal_below((above + 0.5) / of->deviation) : 1;
        test->p_high = varies ? normal_below((0.5 - above) / of->deviation) : 1;
        return;
    }
    size_t sum = (size_t)(2 * test->statistic) + of->offset;
    double low = 0;
    double high = 0;
    for (size_t s = 0; s <= of->sum_max; s++) {
        low += s <= sum ? of->p[s] : 0;
        high += s >= sum ? of->p[s] : 0;
    }
    test->p_low = fmin(low, 1);
    test->p_high = fmin(high, 1);
    free(of->p);
}

void stats_signed_rank(const double *values, size_t count, double by, struct stats_test *test)
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
    struct distribution of = of_pairs(ranks, kept_count, ties);
    set_probabilities(test, &of);
    free(ranks);
    free(kept);
    free(sizes);
}

void stats_rank_sum(const double *first, size_t first_count, const double *second,
                    size_t second_count, double by, struct stats_test *test)
{
    size_t count = first_count + second_count;
    double *values = memory_new(count + 1, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[i] = i < first_count ? first[i] : second[i - first_count] + by;
    }
    double ties;
    uint32_t *ranks = doubled_ranks(values, count, &ties);
    size_t sum = 0;
    for (size_t i = first_count; i < count; i++) {
        sum += ranks[i];
    }
    struct distribution of = of_samples(ranks, first_count, second_count, ties);
    test->statistic = ((double)sum - (double)of.offset) / 2;
    set_probabilities(test, &of);
    free(ranks);
    free(values);
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

/* Twice the ranks 1 .. count. */
static uint32_t *plain_ranks(size_t count)
{
    uint32_t *ranks = memory_new(count + 1, sizeof *ranks);
    for (size_t i = 0; i < count; i++) {
        ranks[i] = (uint32_t)(2 * (i + 1));
    }
    return ranks;
}

/* Return how many of the smallest candidates for a shift lie outside the interval: the largest k
 * with 2 P(statistic < k) <= 1 - confidence; 0 if even the whole range is not wide enough. Free the
 * distribution. */
static size_t count_outside(const struct distribution *of, double confidence)
{
    if (of->p == NULL) {
        double k = floor(of->mean + normal_quantile((1 - confidence) / 2) * of->deviation);
        return k > 0 ? (size_t)k : 0;
    }
    size_t s = of->offset;
    for (double below = 0; s <= of->sum_max && 2 * (below += of->p[s]) <= 1 - confidence;) {
        s += 2;
    }
    free(of->p);
    return (s - of->offset) / 2;
}

/* Set a shift from its candidates, which are freed, and from the tests of the values less the
 * margin (`above`) and plus the margin. */
static void set_shift(struct stats_shift *shift, double *candidates, size_t total, size_t outside,
                      const struct stats_test *above, const struct stats_test *below)
{
    qsort(candidates, total, sizeof *candidates, stats_ascending);
    shift->estimate = median_of_sorted(candidates, total);
    shift->low = outside > 0 ? candidates[outside - 1] : -INFINITY;
    shift->high = outside > 0 ? candidates[total - outside] : INFINITY;
    shift->p = fmin(1, 2 * fmin(above->p_high, below->p_low));
    free(candidates);
}

void stats_paired_shift(const double *differences, size_t count, double confidence, double margin,
                        struct stats_shift *shift)
{
    size_t total = count * (count + 1) / 2;
    struct stats_test above;
    struct stats_test below;
    double *means = memory_new(total, sizeof *means);
    stats_signed_rank(differences, count, -margin, &above);
    stats_signed_rank(differences, count, margin, &below);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i; k < count; k++) {
            means[at++] = (differences[i] + differences[k]) / 2;
        }
    }
    uint32_t *ranks = plain_ranks(count);
    struct distribution of = of_pairs(ranks, count, 0);
    set_shift(shift, means, total, count_outside(&of, confidence), &above, &below);
    free(ranks);
}

void stats_unpaired_shift(const double *first, size_t first_count, const double *second,
                          size_t second_count, double confidence, double margin,
                          struct stats_shift *shift)
{
    size_t total = first_count * second_count;
    struct stats_test above;
    struct stats_test below;
    double *differences = memory_new(total, sizeof *differences);
    stats_rank_sum(first, first_count, second, second_count, -margin, &above);
    stats_rank_sum(first, first_count, second, second_count, margin, &below);
    size_t at = 0;
    for (size_t i = 0; i < first_count; i++) {
        for (size_t k = 0; k < second_count; k++) {
            differences[at++] = second[k] - first[i];
        }
    }
    uint32_t *ranks = plain_ranks(first_count + second_count);
    struct distribution of = of_samples(ranks, first_count, second_count, 0);
    set_shift(shift, differences, total, count_outside(&of, confidence), &above, &below);
    free(ranks);
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
