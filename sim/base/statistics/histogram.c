#include "histogram.h"

#include <inttypes.h>
#include <math.h>

/* The middle of a bucket. */
static uint64_t value_of(unsigned bucket)
{
    if (bucket < (2u << HISTOGRAM_SUB_BITS)) {
        return bucket;
    }
    unsigned shift = (bucket >> HISTOGRAM_SUB_BITS) - 1;
    uint64_t sub = bucket & ((1u << HISTOGRAM_SUB_BITS) - 1);
    uint64_t low = ((UINT64_C(1) << HISTOGRAM_SUB_BITS) + sub) << shift;
    return low + (UINT64_C(1) << shift) / 2;
}

void histogram_merge(struct histogram *histogram, const struct histogram *other)
{
    if (other->total == 0) {
        return;
    }
    if (histogram->total == 0 || other->min < histogram->min) {
        histogram->min = other->min;
    }
    if (other->max > histogram->max) {
        histogram->max = other->max;
    }
    histogram->total += other->total;
    for (unsigned i = 0; i <= histogram_bucket(other->max); i++) {
        histogram->counts[i] += other->counts[i];
    }
}

uint64_t histogram_at_rank(const struct histogram *histogram, uint64_t rank)
{
    if (rank >= histogram->total) {
        return histogram->max;
    }
    uint64_t seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->counts[i];
        if (seen >= rank && seen > 0) {
            uint64_t value = value_of(i);
            value = value < histogram->min ? histogram->min : value;
            return value > histogram->max ? histogram->max : value;
        }
    }
    return histogram->max;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
    uint64_t rank = (uint64_t)ceil(share * (double)histogram->total);
    return histogram_at_rank(histogram, rank > 0 ? rank : 1);
}

double histogram_mean(const struct histogram *histogram)
{
    double sum = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        sum += (double)value_of(i) * (double)histogram->counts[i];
    }
    return histogram->total > 0 ? sum / (double)histogram->total : 0;
}

double histogram_deviation(const struct histogram *histogram)
{
    double mean = histogram_mean(histogram);
    double sum = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        double distance = (double)value_of(i) - mean;
        sum += distance * distance * (double)histogram->counts[i];
    }
    return histogram->total > 0 ? sqrt(sum / (double)histogram->total) : 0;
}

/* How many values lie in the bucket of `value` or below. */
static uint64_t count_up_to(const struct histogram *histogram, uint64_t value)
{
    uint64_t count = 0;
    for (unsigned i = 0; i <= histogram_bucket(value); i++) {
        count += histogram->counts[i];
    }
    return count;
}

void histogram_write_percentiles(const struct histogram *histogram, FILE *stream)
{
    enum { STEPS_A_HALVING = 5 };
    (void)fprintf(stream, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
                  "1/(1-Percentile)");
    double missing = 1;
    for (unsigned step = 0; histogram->total > 0; step++) {
        uint64_t value = histogram_quantile(histogram, 1 - missing);
        uint64_t count = count_up_to(histogram, value);
        if (count == histogram->total) {
            break;
        }
        (void)fprintf(stream, "%12.3f %2.12f %10" PRIu64 " %14.2f\n", (double)value, 1 - missing,
                      count, 1 / missing);
        /* Equal steps within a halving. */
        missing = (1 - (double)((step + 1) % STEPS_A_HALVING) / (2 * STEPS_A_HALVING)) *
                  ldexp(1, -(int)((step + 1) / STEPS_A_HALVING));
    }
    if (histogram->total > 0) {
        (void)fprintf(stream, "%12.3f %2.12f %10" PRIu64 "\n", (double)histogram->max, 1.0,
                      histogram->total);
    }
    (void)fprintf(stream, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n",
                  histogram_mean(histogram), histogram_deviation(histogram));
    (void)fprintf(stream, "#[Max     = %12.3f, Total count    = %12" PRIu64 "]\n",
                  (double)histogram->max, histogram->total);
    (void)fprintf(stream, "#[Buckets = %12d, SubBuckets     = %12d]\n",
                  HISTOGRAM_VALUE_BITS - HISTOGRAM_SUB_BITS + 1, 1 << HISTOGRAM_SUB_BITS);
}
