/* gen_expect.h: shared by the tests of the workloads: a file for the trace, and the tolerance of
 * figures. */
#ifndef TESTS_GEN_EXPECT_H
#define TESTS_GEN_EXPECT_H

#include "test.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/timerlab-trace-XXXXXX";

static inline int make_path(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static inline int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

/* A number under "counts" in a trace's origin. */
static inline uint64_t count_of(const json_t *origin, const char *name)
{
    const json_t *value = json_object_get(json_object_get(origin, "counts"), name);
    assert_true(json_is_integer(value));
    return (uint64_t)json_integer_value(value);
}

/* For qsort. */
static inline int compare_ticks(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static inline void expect_close(double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * fabs(want))) {
        fail_msg("%.17g is not within %g of %.17g", got, relative, want);
    }
}

/* A share of n that was drawn n times: within five standard deviations. */
static inline void expect_share(double count, double n, double share)
{
    double deviation = sqrt(n * share * (1 - share));
    if (!(fabs(count - n * share) <= 5 * deviation + 1)) {
        fail_msg("%g of %g is not a share of %g", count, n, share);
    }
}

#endif
