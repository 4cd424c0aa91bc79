/*
 * Statistics compared with published figures and with exhaustive enumeration; histograms and
 * figures compared with their promises.
 */
#include "test.h"

#include "figures.h"
#include "histogram.h"
#include "random.h"
#include "statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEAR(a, b, within) assert_true(fabs((a) - (b)) <= (within))

/* Hamilton depression scale factors of nine patients before and after a tranquilliser: Hollander
 * and Wolfe, Nonparametric Statistical Methods (1973), pages 29 and following. */
static const double before[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
static const double after[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};

/* Permeability of the human chorioamnion at term, and at 12 to 26 weeks: the same book, pages 69
 * and following. */
static const double at_term[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
static const double earlier[] = {1.15, 0.88, 0.90, 0.74, 1.21};

static void medians(void **state)
{
    (void)state;
    static const double values[] = {5, 1, 4, 2, 100};
    assert_true(stats_median(values, 5) == 4);
    assert_true(stats_median(values, 4) == 3);
    assert_true(stats_mad(values, 5) == 2); /* 1 3 0 2 96 */
    assert_true(isnan(stats_median(values, 0)));
    assert_true(isnan(stats_mad(values, 0)));
    assert_true(values[0] == 5 && values[4] == 100);
}

static void signed_ranks_of_the_book(void **state)
{
    (void)state;
    double differences[9];
    for (int i = 0; i < 9; i++) {
        differences[i] = before[i] - after[i];
    }
    struct stats_test test;
    stats_signed_rank(differences, 9, 0, &test);
    assert_true(test.statistic == 40);
    NEAR(test.p_high, 0.01953125, 1e-12); /* the book: 0.0195 */
    struct stats_shift shift;
    stats_paired_shift(differences, 9, 0.95, 0, &shift);
    NEAR(shift.estimate, 0.46, 1e-9);
    NEAR(shift.low, 0.010, 1e-9);
    NEAR(shift.high, 0.786, 1e-9);
    NEAR(shift.p, 0.0390625, 1e-12);
}

static void rank_sums_of_the_book(void **state)
{
    (void)state;
    struct stats_test test;
    stats_rank_sum(earlier, 5, at_term, 10, 0, &test);
    assert_true(test.statistic == 35);
    NEAR(test.p_high, 0.1272, 0.00005);
    struct stats_shift shift;
    stats_unpaired_shift(earlier, 5, at_term, 10, 0.95, 0, &shift);
    NEAR(shift.estimate, 0.305, 1e-9);
    NEAR(shift.p, 0.2544, 0.0001);
    /* the other way round all turns about */
    struct stats_shift back;
    stats_unpaired_shift(at_term, 10, earlier, 5, 0.95, 0, &back);
    NEAR(back.estimate, -shift.estimate, 1e-12);
    NEAR(back.low, -shift.high, 1e-12);
    NEAR(back.high, -shift.low, 1e-12);
    NEAR(back.p, shift.p, 1e-12);
}

/* Critical values of the tables in every textbook: two-sided, 5 %. */
static void critical_values(void **state)
{
    (void)state;
    static const struct {
        size_t count;
        unsigned sum; /* the largest that is significant */
    } signed_table[] = {{6, 0}, {7, 2}, {8, 3}, {9, 5}, {10, 8}, {12, 13}, {15, 25}, {20, 52}};
    for (size_t t = 0; t < sizeof signed_table / sizeof signed_table[0]; t++) {
        for (unsigned sum = signed_table[t].sum; sum <= signed_table[t].sum + 1; sum++) {
            double values[20];
            unsigned left = sum;
            for (size_t i = signed_table[t].count; i > 0; i--) {
                bool above = i <= left;
                values[i - 1] = above ? (double)i : -(double)i;
                left -= above ? (unsigned)i : 0;
            }
            struct stats_test test;
            stats_signed_rank(values, signed_table[t].count, 0, &test);
            assert_true(test.statistic == sum);
            assert_int_equal(2 * test.p_low <= 0.05, sum == signed_table[t].sum);
        }
    }
    static const struct {
        size_t first;
        size_t second;
        unsigned u;
    } sum_table[] = {{5, 5, 2}, {5, 10, 8}, {8, 8, 13}, {10, 10, 23}, {20, 20, 127}};
    for (size_t t = 0; t < sizeof sum_table / sizeof sum_table[0]; t++) {
        for (unsigned u = sum_table[t].u; u <= sum_table[t].u + 1; u++) {
            size_t n = sum_table[t].first;
            double first[20];
            double second[20];
            for (size_t i = 0; i < n; i++) {
                first[i] = (double)i;
            }
            /* each of `second` stands above as many of `first` as is still wanted */
            unsigned left = u;
            for (size_t i = 0; i < sum_table[t].second; i++) {
                unsigned above = left < n ? left : (unsigned)n;
                second[i] = (double)above - 0.5;
                left -= above;
            }
            for (size_t i = 0; i < sum_table[t].second; i++) {
                second[i] += 0.001 * (double)i; /* no ties */
            }
            struct stats_test test;
            stats_rank_sum(first, n, second, sum_table[t].second, 0, &test);
            assert_true(test.statistic == u);
            assert_int_equal(2 * test.p_low <= 0.05, u == sum_table[t].u);
        }
    }
}

/* Values with many ties and zeros. */
static void coarse_values(struct random *random, double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = (double)(random_bits(random) % 7) - 3;
    }
}

/* All ways to set the signs. */
static void signed_ranks_by_counting(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 1);
    for (int trial = 0; trial < 50; trial++) {
        double values[9];
        coarse_values(&random, values, 9);
        struct stats_test test;
        stats_signed_rank(values, 9, 0, &test);
        double sizes[9];
        size_t count = 0;
        for (int i = 0; i < 9; i++) {
            if (values[i] != 0) {
                sizes[count++] = fabs(values[i]);
            }
        }
        unsigned low = 0;
        unsigned high = 0;
        for (unsigned signs = 0; signs < 1u << count; signs++) {
            double sum = 0;
            for (size_t i = 0; i < count; i++) {
                double rank = 0.5;
                for (size_t k = 0; k < count; k++) {
                    rank += sizes[k] < sizes[i] ? 1 : sizes[k] == sizes[i] ? 0.5 : 0;
                }
                sum += (signs >> i & 1) != 0 ? rank : 0;
            }
            low += sum <= test.statistic;
            high += sum >= test.statistic;
        }
        NEAR(test.p_low, (double)low / (double)(1u << count), 1e-12);
        NEAR(test.p_high, (double)high / (double)(1u << count), 1e-12);
    }
}

static double pairs_won(const double *values, unsigned second, int count)
{
    double won = 0;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++) {
            if ((second >> i & 1) != 0 && (second >> k & 1) == 0) {
                won += values[i] > values[k] ? 1 : values[i] == values[k] ? 0.5 : 0;
            }
        }
    }
    return won;
}

/* All ways to draw four of ten. */
static void rank_sums_by_counting(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 2);
    for (int trial = 0; trial < 50; trial++) {
        double values[10];
        coarse_values(&random, values, 10);
        struct stats_test test;
        stats_rank_sum(values, 6, values + 6, 4, 0, &test);
        assert_true(test.statistic == pairs_won(values, 0x3c0, 10));
        unsigned low = 0;
        unsigned high = 0;
        unsigned all = 0;
        for (unsigned second = 0; second < 1u << 10; second++) {
            if (__builtin_popcount(second) == 4) {
                double won = pairs_won(values, second, 10);
                all++;
                low += won <= test.statistic;
                high += won >= test.statistic;
            }
        }
        NEAR(test.p_low, (double)low / all, 1e-12);
        NEAR(test.p_high, (double)high / all, 1e-12);
    }
}

/* Where counting ends and approximation begins there is no step. */
static void approximations_continue_the_exact(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 3);
    double values[201];
    for (int i = 0; i < 201; i++) {
        values[i] = random_unit(&random) - 0.47;
    }
    struct stats_shift exact;
    struct stats_shift normal;
    stats_paired_shift(values, 200, 0.95, 0, &exact);
    stats_paired_shift(values, 201, 0.95, 0, &normal);
    NEAR(exact.p, normal.p, 0.03);
    NEAR(exact.low, normal.low, 0.005);
    NEAR(exact.high, normal.high, 0.005);
    stats_unpaired_shift(values, 30, values + 30, 30, 0.95, 0, &exact);
    stats_unpaired_shift(values, 30, values + 30, 31, 0.95, 0, &normal);
    NEAR(exact.p, normal.p, 0.03);
    NEAR(exact.low, normal.low, 0.05);
    NEAR(exact.high, normal.high, 0.05);
}

/* Of values that are equal but for their signs, ranks count coins; of two values, they draw from an
 * urn: how far both spread is known. Half a step of the statistic is a part of a coin. */
static void approximations_of_ties(void **state)
{
    (void)state;
    struct stats_test test;
    double coins[400];
    for (int i = 0; i < 400; i++) {
        coins[i] = i < 220 ? 1 : -1;
    }
    stats_signed_rank(coins, 400, 0, &test);
    NEAR(test.p_low, erfc(-(20 + 1 / 401.0) / 10 / sqrt(2)) / 2, 1e-9);
    NEAR(test.p_high, erfc((20 - 1 / 401.0) / 10 / sqrt(2)) / 2, 1e-9);
    double urn[100];
    for (int i = 0; i < 100; i++) {
        urn[i] = i < 20 || i >= 70 ? 1 : 0;
    }
    double deviation = sqrt(50 * 0.25 * 50 / 99);
    stats_rank_sum(urn, 50, urn + 50, 50, 0, &test);
    NEAR(test.p_low, erfc(-(5 + 0.01) / deviation / sqrt(2)) / 2, 1e-9);
    NEAR(test.p_high, erfc((5 - 0.01) / deviation / sqrt(2)) / 2, 1e-9);
}

/* An interval ends where the test begins to reject, and a margin moves that. */
static void intervals_and_tests_agree(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 4);
    for (int trial = 0; trial < 200; trial++) {
        double first[12];
        double second[9];
        for (int i = 0; i < 12; i++) {
            first[i] = random_unit(&random);
            second[i % 9] = random_unit(&random) + 0.3;
        }
        struct stats_shift shift;
        struct stats_shift moved;
        stats_unpaired_shift(first, 12, second, 9, 0.95, 0, &shift);
        assert_int_equal(shift.p <= 0.05, shift.low > 0 || shift.high < 0);
        for (double share = 0.99; share < 1.02; share += 0.02) {
            if (shift.low > 0) {
                stats_unpaired_shift(first, 12, second, 9, 0.95, shift.low * share, &moved);
                assert_int_equal(moved.p <= 0.05, share < 1);
            }
        }
        stats_paired_shift(first, 12, 0.95, 0, &shift);
        if (shift.low > 0) {
            stats_paired_shift(first, 12, 0.95, shift.low * 0.999, &moved);
            assert_true(moved.p <= 0.05);
            stats_paired_shift(first, 12, 0.95, shift.low * 1.001, &moved);
            assert_true(moved.p > 0.05);
        }
    }
}

/* Exchanging the two sides only changes the sign. */
static void a_margin_is_the_same_both_ways(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 6);
    double up[12];
    double down[12];
    for (int i = 0; i < 12; i++) {
        up[i] = random_unit(&random);
        down[i] = -up[i];
    }
    for (double margin = 0; margin < 0.5; margin += 0.1) {
        struct stats_shift shift;
        struct stats_shift back;
        stats_paired_shift(up, 12, 0.95, margin, &shift);
        stats_paired_shift(down, 12, 0.95, margin, &back);
        NEAR(back.p, shift.p, 1e-12);
        stats_unpaired_shift(down, 12, up, 9, 0.95, margin, &shift);
        stats_unpaired_shift(up, 9, down, 12, 0.95, margin, &back);
        NEAR(back.p, shift.p, 1e-12);
    }
}

static void few_values_have_no_interval(void **state)
{
    (void)state;
    static const double values[] = {1, 2, 3, 4, 5, 6};
    struct stats_shift shift;
    stats_paired_shift(values, 5, 0.95, 0, &shift);
    assert_true(isinf(shift.low) && isinf(shift.high) && shift.estimate == 3);
    stats_paired_shift(values, 6, 0.95, 0, &shift);
    assert_true(shift.low == 1 && shift.high == 6);
    NEAR(shift.p, stats_least_paired_p(6), 1e-12);
    stats_paired_shift(values, 6, 1 - stats_least_paired_p(6), 0, &shift);
    assert_true(shift.low == 1 && shift.high == 6);
    NEAR(stats_least_paired_p(5), 0.0625, 1e-12);
    NEAR(stats_least_unpaired_p(5, 5), 2.0 / 252, 1e-12);
    assert_true(stats_least_paired_p(0) == 1 && stats_least_unpaired_p(0, 3) == 1);
    static const double zeros[6] = {0};
    stats_paired_shift(zeros, 6, 0.95, 0, &shift);
    assert_true(shift.p == 1 && shift.estimate == 0);
}

static void order_shows(void **state)
{
    (void)state;
    static const double rising[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const double hopping[] = {1, 12, 2, 11, 3, 10, 4, 9, 5, 8, 6, 7};
    static const double flat[12] = {0};
    assert_true(stats_serial(rising, 12) < 0.001);
    assert_true(stats_serial(hopping, 12) > 0.99);
    assert_true(stats_serial(flat, 12) == 1);
    NEAR(stats_serial(rising, 5), 2.0 / 120, 1e-12); /* up or down, of 5! orders */
    assert_true(stats_serial(rising, 1) == 1);
    /* in random orders each probability is as frequent as it says */
    struct random random;
    random_seed(&random, 5);
    for (size_t count = 6; count <= 20; count += 14) {
        int below = 0;
        for (int trial = 0; trial < 2000; trial++) {
            double values[20];
            for (size_t i = 0; i < count; i++) {
                values[i] = random_unit(&random);
            }
            below += stats_serial(values, count) <= 0.1;
        }
        assert_true(below > 0.07 * 2000 && below < 0.12 * 2000);
    }
}

/* Add up von Neumann's ratio, and its square, over all orders of values[from ..]. `spread` is the
 * sum of squared distances from their mean. */
static void add_ratios(double *values, size_t from, size_t count, double spread, double sums[2])
{
    if (from + 1 == count) {
        double steps = 0;
        for (size_t i = 1; i < count; i++) {
            steps += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
        }
        sums[0] += steps / spread;
        sums[1] += steps / spread * (steps / spread);
    }
    for (size_t i = from; i < count; i++) {
        double first = values[i];
        values[i] = values[from];
        values[from] = first;
        add_ratios(values, from + 1, count, spread, sums);
        values[from] = values[i];
        values[i] = first;
    }
}

/* From eight values on it is taken for normal, with the deviation that all orders have. */
static void order_of_eight_by_counting(void **state)
{
    (void)state;
    double values[] = {1, 3, 2, 4, 6, 5, 8, 7};
    double sums[2] = {0};
    add_ratios(values, 0, 8, 42, sums);
    NEAR(sums[0] / 40320, 2, 1e-9);
    double deviation = sqrt(sums[1] / 40320 - 4);
    NEAR(stats_serial(values, 8), erfc((2 - 24 / 42.0) / deviation / sqrt(2)) / 2, 1e-9);
}

/* The example of Benjamini and Hochberg (1995), section 3.2: fifteen comparisons, of which their
 * procedure rejects four at 5 %, and Bonferroni's three; Holm's three as well. */
static void many_comparisons(void **state)
{
    (void)state;
    static const double p[] = {0.0201, 0.0001, 0.0004, 0.0278, 0.0019, 0.0095, 0.0298, 0.0344,
                               0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    double holm[15];
    double bh[15];
    stats_holm(p, 15, holm);
    stats_benjamini_hochberg(p, 15, bh);
    int holm_rejects = 0;
    int bh_rejects = 0;
    for (int i = 0; i < 15; i++) {
        assert_true(holm[i] >= bh[i] - 1e-12 && bh[i] >= p[i] && holm[i] <= 1);
        holm_rejects += holm[i] <= 0.05;
        bh_rejects += bh[i] <= 0.05;
    }
    assert_int_equal(holm_rejects, 3);
    assert_int_equal(bh_rejects, 4);
    NEAR(holm[1], 0.0015, 1e-12);
    NEAR(holm[2], 0.0056, 1e-12);
    NEAR(bh[5], 0.0095 * 15 / 4, 1e-12);
    stats_holm(p, 0, holm);
    stats_benjamini_hochberg(p, 0, bh);
    /* Who has the smaller value keeps the smaller adjusted one. */
    stats_holm((const double[]){0.025, 0.02}, 2, holm);
    NEAR(holm[0], 0.04, 1e-12);
    stats_benjamini_hochberg((const double[]){0.045, 0.04}, 2, bh);
    NEAR(bh[1], 0.045, 1e-12);
}

/* --- histograms, figures --------------------------------------------------------------------- */

/* Small values are exact: a quantile is the smallest value that enough values do not exceed. */
static void shares_of_a_histogram(void **state)
{
    (void)state;
    static struct histogram histogram;
    assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
    assert_true(histogram_mean(&histogram) == 0 && histogram_deviation(&histogram) == 0);
    for (uint64_t value = 10; value >= 1; value--) {
        histogram_add(&histogram, value);
    }
    static const struct {
        double share;
        uint64_t value;
    } shares[] = {{0, 1},   {0.05, 1}, {0.1, 1}, {0.11, 2},  {0.25, 3},
                  {0.5, 5}, {0.51, 6}, {0.9, 9}, {0.91, 10}, {1, 10}};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        assert_int_equal(histogram_quantile(&histogram, shares[i].share), shares[i].value);
    }
    assert_int_equal(histogram_at_rank(&histogram, 4), 4);
    NEAR(histogram_mean(&histogram), 5.5, 1e-12);
    NEAR(histogram_deviation(&histogram), sqrt(8.25), 1e-12);
}

/* Large values are reported as the middle of their bucket, limited to the range of the values. */
static void buckets_of_a_histogram(void **state)
{
    (void)state;
    static struct histogram first;
    static struct histogram second;
    histogram_merge(&first, &second);
    assert_int_equal(first.total, 0);
    histogram_add(&second, 1003); /* 1000 to 1003 */
    histogram_merge(&first, &second);
    static struct histogram third;
    histogram_merge(&first, &third);
    assert_int_equal(first.min, 1003);
    assert_int_equal(histogram_at_rank(&first, 1), 1003);
    histogram_add(&third, 1000);
    histogram_add(&third, UINT64_C(1) << 50); /* beyond the last bucket */
    histogram_merge(&first, &third);
    assert_int_equal(first.total, 3);
    assert_int_equal(first.min, 1000);
    assert_true(first.max == UINT64_C(1) << 50);
    assert_int_equal(histogram_at_rank(&first, 1), 1002);
    assert_int_equal(histogram_at_rank(&first, 2), 1002);
    assert_true(histogram_at_rank(&first, 3) == UINT64_C(1) << 50);
    for (uint64_t value = 1; value < UINT64_C(1) << 42; value += 1 + value / 3) {
        static struct histogram one;
        memset(&one, 0, sizeof one);
        histogram_add(&one, value);
        histogram_add(&one, UINT64_MAX);
        histogram_add(&one, 0);
        double found = (double)histogram_at_rank(&one, 2);
        NEAR(found, (double)value, (double)value / 128);
    }
    /* Not the bucket's middle if all values are on one side of it. */
    for (uint64_t value = (1u << 20) - 1; value <= 1u << 20; value++) {
        static struct histogram twice;
        memset(&twice, 0, sizeof twice);
        histogram_add(&twice, value);
        histogram_add(&twice, value);
        assert_int_equal(histogram_at_rank(&twice, 1), value);
    }
}

/* Five steps for each halving of the distance to 100 %. */
static void percentiles_of_a_histogram(void **state)
{
    (void)state;
    static struct histogram histogram;
    for (uint64_t value = 1; value <= 4; value++) {
        histogram_add(&histogram, value);
    }
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    histogram_write_percentiles(&histogram, stream);
    (void)fclose(stream);
    static const struct {
        double share;
        int value;
    } steps[] = {{0, 1},   {0.1, 1},  {0.2, 1}, {0.3, 2},  {0.4, 2},
                 {0.5, 2}, {0.55, 3}, {0.6, 3}, {0.65, 3}, {0.7, 3}};
    const char *at = strstr(text, "\n\n") + 2;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        char line[100];
        (void)snprintf(line, sizeof line, "%12.3f %2.12f %10d %14.2f\n", (double)steps[i].value,
                       steps[i].share, steps[i].value, 1 / (1 - steps[i].share));
        assert_memory_equal(at, line, strlen(line));
        at = strchr(at, '\n') + 1;
    }
    assert_non_null(strstr(at, "       4.000 1.000000000000          4\n#[Mean "));
    free(text);
}

static void figures_as_people_read_them(void **state)
{
    (void)state;
    static const struct {
        const char *(*text)(double value, char text[FIGURE_BYTES]);
        double value;
        const char *expected;
    } examples[] = {
        {figure_text, 0, "0"},
        {figure_text, 0.5, "0.50"},
        {figure_text, 9.994, "9.99"},
        {figure_text, 9.996, "10.0"},
        {figure_text, -12.34, "-12.3"},
        {figure_text, 99.96, "100"},
        {figure_text, 1234.4, "1,234"},
        {grouped_text, 0, "0"},
        {grouped_text, -0.4, "0"},
        {grouped_text, 999, "999"},
        {grouped_text, -1000, "-1,000"},
        {grouped_text, 1234567, "1,234,567"},
        {grouped_text, 1e30, "1e+30"},
        {duration_text, 999, "999 ns"},
        {duration_text, 1000, "1.00 µs"},
        {duration_text, 12.3e6, "12.3 ms"},
        {duration_text, 5e12, "5,000 s"},
        {duration_text, -12.3e6, "-12.3 ms"},
        {size_text, 1.5e6, "1.50 MB"},
        {rate_text, 1234, "1.23 thousand"},
        {rate_text, 5e9, "5,000 million"},
        {ticks_text, 0, "0 ticks"},
        {ticks_text, 1, "1 tick"},
        {ticks_text, 2, "2 ticks"},
        {number_text, 12, "12"},
        {number_text, 12.344, "12.34"},
        {number_text, 1234567.5, "1.2346e+06"},
        {number_text, -1234567.5, "-1.2346e+06"},
        {number_text, 1e15, "1e+15"},
        {number_text, INFINITY, "-"},
        {plain_duration_text, 9999, "9999 ns"},
        {plain_duration_text, 10000, "10.0 us"},
        {plain_duration_text, 1e7, "10.0 ms"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        assert_string_equal(examples[i].text(examples[i].value, FIGURE), examples[i].expected);
        assert_string_equal(examples[i].text(NAN, FIGURE), "-");
    }
    assert_string_equal(decimal_text(12.345, 1, FIGURE), "12.3");
}

/* With the table the same draws give the same values, except between its points. */
static void log_normal_by_a_table(void **state)
{
    (void)state;
    static struct random_lognormal_table table;
    struct random one;
    struct random other;
    random_seed(&one, 5);
    random_seed(&other, 5);
    random_lognormal_make(&table, 20, 1.5);
    for (int i = 0; i < 100000; i++) {
        double exact = random_lognormal(&one, 20, 1.5);
        assert_true(fabs(random_lognormal_of(&other, &table) / exact - 1) < 1e-3);
    }
    assert_true(random_bits(&one) == random_bits(&other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians),
        cmocka_unit_test(signed_ranks_of_the_book),
        cmocka_unit_test(rank_sums_of_the_book),
        cmocka_unit_test(critical_values),
        cmocka_unit_test(signed_ranks_by_counting),
        cmocka_unit_test(rank_sums_by_counting),
        cmocka_unit_test(approximations_continue_the_exact),
        cmocka_unit_test(approximations_of_ties),
        cmocka_unit_test(intervals_and_tests_agree),
        cmocka_unit_test(a_margin_is_the_same_both_ways),
        cmocka_unit_test(few_values_have_no_interval),
        cmocka_unit_test(order_shows),
        cmocka_unit_test(order_of_eight_by_counting),
        cmocka_unit_test(many_comparisons),
        cmocka_unit_test(shares_of_a_histogram),
        cmocka_unit_test(buckets_of_a_histogram),
        cmocka_unit_test(percentiles_of_a_histogram),
        cmocka_unit_test(figures_as_people_read_them),
        cmocka_unit_test(log_normal_by_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
