/*
 * histogram.h: counts of values in log-linear buckets: 128 to each power of two, so that a bucket
 * is at most 1/128 of its value wide and a percentile is right to within 0.8 %. Values below 128
 * are exact. The layout is that of HdrHistogram (G. Tene) with two significant digits.
 */
#ifndef SIM_HISTOGRAM_H
#define SIM_HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

#define HISTOGRAM_SUB_BITS   7
#define HISTOGRAM_VALUE_BITS 42 /* larger values count as the largest bucket; max stays exact */
#define HISTOGRAM_BUCKETS    ((HISTOGRAM_VALUE_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

/* Plain data: zeroed is empty; may be copied and sent through a pipe. */
struct histogram {
    uint64_t total;
    uint64_t max;
    uint64_t min; /* meaningful if total > 0 */
    uint64_t counts[HISTOGRAM_BUCKETS];
};

/* The bucket of a value. */
static inline unsigned histogram_bucket(uint64_t value)
{
    if (value < (UINT64_C(1) << HISTOGRAM_SUB_BITS)) {
        return (unsigned)value;
    }
    unsigned exponent = 63u - (unsigned)__builtin_clzll(value);
    if (exponent >= HISTOGRAM_VALUE_BITS) {
        return HISTOGRAM_BUCKETS - 1;
    }
    unsigned shift = exponent - HISTOGRAM_SUB_BITS;
    /* The value's highest bit, which stays in place, stands for one more power of two. */
    return (shift << HISTOGRAM_SUB_BITS) + (unsigned)(value >> shift);
}

/* Adds a value. Here, because the latency pass adds two for each operation. */
static inline void histogram_add(struct histogram *histogram, uint64_t value)
{
    if (histogram->total == 0 || value < histogram->min) {
        histogram->min = value;
    }
    if (value > histogram->max) {
        histogram->max = value;
    }
    histogram->total++;
    histogram->counts[histogram_bucket(value)]++;
}

/* Adds all of `other`. */
void histogram_merge(struct histogram *histogram, const struct histogram *other);

/* The smallest value (the middle of its bucket, and never above max) that at least `share` of all
 * values do not exceed; 0 <= share <= 1. An empty histogram gives 0. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);

/* The same by rank: the value that `rank` values (1 .. total) do not exceed. */
uint64_t histogram_at_rank(const struct histogram *histogram, uint64_t rank);

/* The mean and the standard deviation, from the middles of the buckets. 0 if empty. */
double histogram_mean(const struct histogram *histogram);
double histogram_deviation(const struct histogram *histogram);

/* Write the distribution in HdrHistogram's percentile format, which its plotter and other tools
 * read: five lines for each halving of the distance to 100 %. */
void histogram_write_percentiles(const struct histogram *histogram, FILE *stream);

#endif
