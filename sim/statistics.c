#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of_sorted(const double *sorted, size_t count)
{
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* A copy in ascending order; NULL without values, or if out of memory. */
static double *sorted_copy(const double *values, size_t count)
{
    double *sorted = count > 0 ? malloc(count * sizeof *sorted) : NULL;
    if (sorted != NULL) {
        memcpy(sorted, values, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_double);
    }
    return sorted;
}

double stats_median(const double *values, size_t count)
{
    double *sorted = sorted_copy(values, count);
    double median = sorted != NULL ? median_of_sorted(sorted, count) : NAN;
    free(sorted);
    return median;
}

double stats_mad(const double *values, size_t count)
{
    double *distances = count > 0 ? malloc(count * sizeof *distances) : NULL;
    double median = stats_median(values, count);
    if (distances == NULL) {
        return NAN;
    }
    for (size_t i = 0; i < count; i++) {
        distances[i] = fabs(values[i] - median);
    }
    double mad = stats_median(distances, count);
    free(distances);
    return mad;
}
