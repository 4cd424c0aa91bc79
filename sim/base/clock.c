#include "clock.h"

#include <stdlib.h>

#define CALIBRATION_NS    UINT64_C(20000000)
#define OVERHEAD_ROUNDS   101
#define OVERHEAD_READINGS 1000

double clock_ns_per_cycle(void)
{
    static double ns_per_cycle;
    if (ns_per_cycle == 0) {
        uint64_t from_ns = clock_now_ns();
        uint64_t from_cycles = clock_cycles();
        uint64_t to_ns = from_ns;
        while (to_ns - from_ns < CALIBRATION_NS) {
            to_ns = clock_now_ns();
        }
        uint64_t cycles = clock_cycles() - from_cycles;
        ns_per_cycle = cycles > 0 ? (double)(to_ns - from_ns) / (double)cycles : 1.0;
    }
    return ns_per_cycle;
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double clock_overhead_ns(void)
{
    double rounds[OVERHEAD_ROUNDS];
    for (int i = 0; i < OVERHEAD_ROUNDS; i++) {
        uint64_t from = clock_cycles();
        uint64_t to = from;
        for (int k = 0; k < OVERHEAD_READINGS; k++) {
            to = clock_cycles();
        }
        rounds[i] = (double)(to - from) / OVERHEAD_READINGS;
    }
    qsort(rounds, OVERHEAD_ROUNDS, sizeof rounds[0], compare_double);
    return rounds[OVERHEAD_ROUNDS / 2] * clock_ns_per_cycle();
}
