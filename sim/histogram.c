#include "histogram.h"

static unsigned bucket_of(uint64_t value)
{
    if (value < (UINT64_C(1) << HISTOGRAM_SUB_BITS)) {
        return (unsigned)value;
    }
    unsigned exponent = 63u - (unsigned)__builtin_clzll(value);
    if (exponent >= HISTOGRAM_VALUE_BITS) {
        return HISTOGRAM_BUCKETS - 1;
    }
    unsigned shift = exponent - HISTOGRAM_SUB_BITS;
    unsigned sub = (unsigned)(value >> shift) & ((1u << HISTOGRAM_SUB_BITS) - 1);
    return ((shift + 1) << HISTOGRAM_SUB_BITS) + sub;
}

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

void histogram_add(struct histogram *histogram, uint64_t value)
{
    if (histogram->total == 0 || value < histogram->min) {
        histogram->min = value;
    }
    if (value > histogram->max) {
        histogram->max = value;
    }
    histogram->total++;
    histogram->counts[bucket_of(value)]++;
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
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        histogram->counts[i] += other->counts[i];
    }
}

void histogram_scale(struct histogram *histogram, const struct histogram *other, double factor)
{
    if (other->total == 0) {
        return;
    }
    uint64_t min = (uint64_t)((double)other->min * factor);
    uint64_t max = (uint64_t)((double)other->max * factor);
    histogram->min = histogram->total == 0 || min < histogram->min ? min : histogram->min;
    histogram->max = max > histogram->max ? max : histogram->max;
    histogram->total += other->total;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (other->counts[i] > 0) {
            double value = (double)value_of(i) * factor;
            histogram->counts[bucket_of((uint64_t)value)] += other->counts[i];
        }
    }
}

uint64_t histogram_at_rank(const struct histogram *histogram, uint64_t rank)
{
    if (histogram->total == 0) {
        return 0;
    }
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
    double exact = share * (double)histogram->total;
    uint64_t rank = (uint64_t)exact;
    if ((double)rank < exact) {
        rank++;
    }
    return histogram_at_rank(histogram, rank > 0 ? rank : 1);
}
