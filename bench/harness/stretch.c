#include "stretch.h"

#include "statistics.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MISSES_OF(cache)                                                                           \
    ((cache) | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

/* Where a processor cannot count all at once, the last are dropped. Of several events of a column,
 * the first that the kernel has is used. */
static const struct event {
    enum bench_event column;
    uint32_t type;
    uint64_t config;
    const char *what;
} events[] = {
    {BENCH_INSTRUCTIONS, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "instructions"},
    {BENCH_CYCLES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "cycles"},
    {BENCH_CACHE_MISSES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES,
     "cache misses (the kernel's general event)"},
    {BENCH_CACHE_MISSES, PERF_TYPE_HW_CACHE, MISSES_OF(PERF_COUNT_HW_CACHE_LL),
     "cache misses (reads, last level)"},
    {BENCH_CACHE_MISSES, PERF_TYPE_HW_CACHE, MISSES_OF(PERF_COUNT_HW_CACHE_L1D),
     "cache misses (reads, first level)"},
    {BENCH_BRANCH_MISSES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, "branch misses"},
};
enum { EVENTS = sizeof events / sizeof events[0] };

static const char *const columns[BENCH_EVENTS] = {
    [BENCH_INSTRUCTIONS] = "instructions_per_op",
    [BENCH_CYCLES] = "cycles_per_op",
    [BENCH_CACHE_MISSES] = "cache_misses_per_op",
    [BENCH_BRANCH_MISSES] = "branch_misses_per_op",
};

/* The open counters: one group, so that all count at the same times. */
static struct {
    const struct event *events[BENCH_EVENTS];
    int files[BENCH_EVENTS];
    size_t count;
    struct bench_counts empty; /* the counts of an empty stretch */
} group;

static void close_last(void)
{
    (void)close(group.files[--group.count]);
}

/* False, with errno, if the kernel does not give it. */
static bool open_event(const struct event *event)
{
    struct perf_event_attr attributes = {
        .type = event->type,
        .size = sizeof attributes,
        .config = event->config,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    long file = syscall(SYS_perf_event_open, &attributes, 0, -1,
                        group.count > 0 ? group.files[0] : -1, PERF_FLAG_FD_CLOEXEC);
    if (file < 0) {
        return false;
    }
    group.events[group.count] = event;
    group.files[group.count++] = (int)file;
    return true;
}

/* Read the counts so far; zeros if there are no counters. */
static void read_counters(struct bench_counts *now)
{
    struct {
        uint64_t count;
        uint64_t enabled_ns;
        uint64_t running_ns;
        uint64_t of[BENCH_EVENTS];
    } reading;
    memset(now, 0, sizeof *now);
    if (group.count == 0 || read(group.files[0], &reading, sizeof reading) < 0) {
        return;
    }
    now->enabled_ns = reading.enabled_ns;
    now->running_ns = reading.running_ns;
    for (size_t i = 0; i < group.count; i++) {
        now->of[group.events[i]->column] = reading.of[i];
    }
}

/* Whether all that is open counts at the same time. A virtual machine may take the call and count
 * nothing. */
static bool counts_something(void)
{
    struct bench_counts before;
    struct bench_counts after;
    read_counters(&before);
    for (volatile uint64_t i = 0; i < 100000; i++) {
    }
    read_counters(&after);
    return after.running_ns > before.running_ns &&
           after.of[BENCH_INSTRUCTIONS] > before.of[BENCH_INSTRUCTIONS];
}

/* The median of many. */
static void measure_empty(void)
{
    enum { STRETCHES = 101 };
    static double counted[BENCH_EVENTS][STRETCHES];
    for (size_t i = 0; i < STRETCHES; i++) {
        struct bench_measured empty = {.operations = 0};
        struct stretch stretch;
        stretch_begin(&stretch, &empty);
        (void)stretch_end(&stretch);
        for (size_t k = 0; k < BENCH_EVENTS; k++) {
            counted[k][i] = (double)empty.counts.of[k];
        }
    }
    for (size_t k = 0; k < BENCH_EVENTS; k++) {
        group.empty.of[k] = (uint64_t)stats_median(counted[k], STRETCHES);
    }
}

static const char *why_not(int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
        return "none: not permitted; /proc/sys/kernel/perf_event_paranoid must be 2 or less, and "
               "a container must allow perf_event_open";
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
        return "none: the processor has none, as most virtual machines'";
    case ENOSYS:
        return "none: the kernel has no perf_event_open";
    default:
        break;
    }
    static char other[128];
    (void)snprintf(other, sizeof other, "none: %s", strerror(error));
    return other;
}

const char *hardware_counters_open(void)
{
    static char line[256];
    bool open[BENCH_EVENTS] = {false};
    while (group.count > 0) {
        close_last(); /* those of before, or of a parent */
    }
    memset(&group.empty, 0, sizeof group.empty);
    for (size_t i = 0; i < EVENTS; i++) {
        if (open[events[i].column]) {
            continue;
        }
        open[events[i].column] = open_event(&events[i]);
        if (group.count == 0) { /* without instructions, which all processors count, nothing */
            return why_not(errno);
        }
    }
    while (!counts_something()) {
        close_last();
        if (group.count == 0) {
            return "none: the kernel takes the call, but nothing is counted";
        }
    }
    measure_empty();
    size_t used = 0;
    for (size_t i = 0; i < group.count; i++) {
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", i > 0 ? ", " : "",
                                 group.events[i]->what);
    }
    (void)snprintf(line + used, sizeof line - used, "; in user space");
    return line;
}

/* --- stretches ------------------------------------------------------------------------------- */

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

uint64_t stretch_overhead_ns(void)
{
    enum { READINGS = 2001 };
    static uint64_t overhead_ns;
    if (overhead_ns == 0) {
        double passed_ns[READINGS];
        uint64_t last = cpu_now_ns();
        for (size_t i = 0; i < READINGS; i++) {
            uint64_t now = cpu_now_ns();
            passed_ns[i] = (double)(now - last);
            last = now;
        }
        overhead_ns = (uint64_t)stats_median(passed_ns, READINGS);
    }
    return overhead_ns;
}

void stretch_count_from(struct stretch *stretch)
{
    read_counters(&stretch->before);
    CALLGRIND_TOGGLE_COLLECT;
}

void stretch_count_to(struct stretch *stretch)
{
    CALLGRIND_TOGGLE_COLLECT;
    struct bench_counts now;
    struct bench_counts *sum = &stretch->out->counts;
    read_counters(&now);
    sum->enabled_ns += now.enabled_ns - stretch->before.enabled_ns;
    sum->running_ns += now.running_ns - stretch->before.running_ns;
    for (size_t i = 0; i < BENCH_EVENTS; i++) {
        uint64_t counted = now.of[i] - stretch->before.of[i];
        sum->of[i] += counted > group.empty.of[i] ? counted - group.empty.of[i] : 0;
    }
}

/* Add the counts an operation to a row's figures. Where the counters were others' for some of the
 * time, the counts would be guesses: the row has the share of the time that went uncounted
 * instead. */
static void report_counters(struct bench_measured *out)
{
    const struct bench_counts *counts = &out->counts;
    if (counts->enabled_ns == 0 || out->operations == 0) {
        return;
    }
    if (counts->running_ns < counts->enabled_ns) {
        bench_add_counter(out, "uncounted_share",
                          1 - (double)counts->running_ns / (double)counts->enabled_ns);
        return;
    }
    for (size_t i = 0; i < group.count; i++) {
        enum bench_event column = group.events[i]->column;
        bench_add_counter(out, columns[column],
                          (double)counts->of[column] / (double)out->operations);
    }
}

void stretch_report(struct bench_measured *out)
{
    report_counters(out);
    if (RUNNING_ON_VALGRIND) {
        char text[64];
        (void)snprintf(text, sizeof text, "%" PRIu64 " operations", out->operations);
        CALLGRIND_DUMP_STATS_AT(text);
    }
}
