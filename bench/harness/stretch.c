#include "stretch.h"

#include "hardware_counters.h"

#include <inttypes.h>
#include <stdio.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>

/* What valgrind takes instead of the C library's function of that name, in this process. */
int I_REPLACE_SONAME_FNNAME_ZU(libcZdsoZd6, clock_gettime)(clockid_t clock, struct timespec *now);

/* There time means nothing, and would only make two runs differ: every reading is 1 us later. */
int I_REPLACE_SONAME_FNNAME_ZU(libcZdsoZd6, clock_gettime)(clockid_t clock, struct timespec *now)
{
    static uint64_t readings;
    (void)clock;
    readings++;
    now->tv_sec = (time_t)(readings / 1000000);
    now->tv_nsec = (long)(readings % 1000000 * 1000);
    return 0;
}
#else /* callgrind has nothing to go by, and counts nothing */
#define CALLGRIND_TOGGLE_COLLECT      ((void)0)
#define CALLGRIND_DUMP_STATS_AT(text) ((void)(text))
#define RUNNING_ON_VALGRIND           0
#endif

void stretch_count_from(struct stretch *stretch)
{
    hardware_counters_read(&stretch->before);
    CALLGRIND_TOGGLE_COLLECT;
}

void stretch_count_to(struct stretch *stretch)
{
    CALLGRIND_TOGGLE_COLLECT;
    hardware_counters_add(&stretch->before, stretch->out);
}

void stretch_report(struct bench_measured *out)
{
    hardware_counters_report(out);
    if (RUNNING_ON_VALGRIND) {
        char text[64];
        (void)snprintf(text, sizeof text, "%" PRIu64 " operations", out->operations);
        CALLGRIND_DUMP_STATS_AT(text);
    }
}
