/* Counting a stretch, with a processor played by the test: it grants, refuses and shares its
 * counters as real ones do, and counts the given numbers. */
#include "stretch.h"

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EMPTY_COUNT = 7, STRETCH_NS = 1000 };

/* The played processor: its settings, and its state since. */
static struct processor {
    int refuses;             /* every call, with this errno */
    bool without_general;    /* no general event of misses, */
    bool without_last_level; /* nor one of the last level */
    size_t at_once;          /* a larger group never runs; 0: any does */
    bool counts_nothing;     /* though it says that it runs */
    const uint64_t *stretch; /* the counts of a stretch; NULL: of an empty one */
    uint64_t uncounted_ns;   /* for how long of a stretch the counters are others' */
    int files[BENCH_EVENTS]; /* the group */
    size_t open;
    bool inside; /* a stretch */
    uint64_t empties;
    uint64_t of[BENCH_EVENTS];
    uint64_t enabled_ns;
    uint64_t running_ns;
} processor;

/* For the linker's --wrap: called by the harness instead of the C library's functions. */
long __wrap_syscall(long number, ...);
ssize_t __wrap_read(int file, void *buffer, size_t size);
int __wrap_close(int file);
ssize_t __real_read(int file, void *buffer, size_t size);
int __real_close(int file);

long __wrap_syscall(long number, ...)
{
    assert_int_equal(number, SYS_perf_event_open);
    va_list list;
    va_start(list, number);
    const struct perf_event_attr *attributes = va_arg(list, const struct perf_event_attr *);
    int process = va_arg(list, int);
    int on = va_arg(list, int);
    int leader = va_arg(list, int);
    va_end(list);
    assert_int_equal(attributes->size, sizeof *attributes);
    assert_true(attributes->exclude_kernel == 1 && attributes->disabled == 0);
    assert_int_equal(attributes->read_format, PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                  PERF_FORMAT_TOTAL_TIME_RUNNING);
    assert_true(process == 0 && on == -1); /* this thread, wherever it runs */
    assert_int_equal(leader, processor.open > 0 ? processor.files[0] : -1);
    bool general =
        attributes->type == PERF_TYPE_HARDWARE && attributes->config == PERF_COUNT_HW_CACHE_MISSES;
    bool last_level = attributes->type == PERF_TYPE_HW_CACHE &&
                      (attributes->config & 0xff) == PERF_COUNT_HW_CACHE_LL;
    if (processor.refuses != 0 || (general && processor.without_general) ||
        (last_level && processor.without_last_level)) {
        errno = processor.refuses != 0 ? processor.refuses : ENOENT;
        return -1;
    }
    assert_true(processor.open < BENCH_EVENTS);
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    processor.files[processor.open++] = file;
    return file;
}

int __wrap_close(int file)
{
    if (processor.open > 0 && file == processor.files[processor.open - 1]) {
        processor.open--;
    }
    return __real_close(file);
}

/* The second of each two readings ends a stretch. */
static void count_stretch(void)
{
    processor.enabled_ns += STRETCH_NS;
    if (processor.at_once != 0 && processor.open > processor.at_once) {
        return;
    }
    processor.running_ns += STRETCH_NS - processor.uncounted_ns;
    for (size_t i = 0; i < processor.open && !processor.counts_nothing; i++) {
        processor.of[i] += EMPTY_COUNT;
        if (processor.stretch != NULL) {
            processor.of[i] += processor.stretch[i];
        } else if (++processor.empties % 5 == 0) {
            processor.of[i] += 100000; /* an interrupt, now and then */
        }
    }
}

ssize_t __wrap_read(int file, void *buffer, size_t size)
{
    if (processor.open == 0 || file != processor.files[0]) {
        return __real_read(file, buffer, size);
    }
    if (processor.inside) {
        count_stretch();
    }
    processor.inside = !processor.inside;
    uint64_t reading[3 + BENCH_EVENTS] = {processor.open, processor.enabled_ns,
                                          processor.running_ns};
    memcpy(&reading[3], processor.of, sizeof processor.of);
    size_t bytes = (3 + processor.open) * sizeof reading[0];
    assert_true(bytes <= size);
    memcpy(buffer, reading, bytes);
    return (ssize_t)bytes;
}

static void opens(struct processor as, const char *line)
{
    processor = as;
    assert_string_equal(hardware_counters_open(), line);
    assert_false(processor.inside);
}

/* A row of 100 operations, timed in two stretches of which each counts this, and more than an empty
 * one does. */
static struct bench_measured measured(const uint64_t *counts)
{
    struct bench_measured row = {.operations = 100};
    processor.stretch = counts;
    for (int i = 0; i < 2; i++) {
        struct stretch stretch;
        stretch_begin(&stretch, &row);
        (void)stretch_end(&stretch);
    }
    stretch_report(&row);
    return row;
}

static void has(const struct bench_measured *row, size_t i, const char *name, double value)
{
    assert_true(i < row->counter_count);
    assert_string_equal(row->counters[i].name, name);
    assert_float_equal(row->counters[i].value, value, 1e-12);
}

static const uint64_t counts[BENCH_EVENTS] = {5000, 2000, 30, 10};
#define ALL                                                                                        \
    "instructions, cycles, cache misses (the kernel's general event), branch misses; in user "     \
    "space"

static void test_counts_an_operation(void **state)
{
    (void)state;
    opens((struct processor){0}, ALL);
    struct bench_measured row = measured(counts);
    assert_int_equal(row.counter_count, 4);
    has(&row, 0, "instructions_per_op", 100);
    has(&row, 1, "cycles_per_op", 40);
    has(&row, 2, "cache_misses_per_op", 0.6);
    has(&row, 3, "branch_misses_per_op", 0.2);
}

/* Untimed stretches are not counted. */
static void test_a_stretch_that_does_not_count(void **state)
{
    (void)state;
    opens((struct processor){0}, ALL);
    struct stretch stretch;
    stretch_begin(&stretch, NULL);
    (void)stretch_end(&stretch);
    assert_false(processor.inside);
    struct bench_measured row = measured(counts);
    has(&row, 0, "instructions_per_op", 100);
}

/* A stretch in which less was counted than in an empty one counts nothing, instead of 2^64. */
static void test_less_than_an_empty_stretch(void **state)
{
    (void)state;
    opens((struct processor){0}, ALL);
    uint64_t less = UINT64_MAX; /* that is -1 */
    struct bench_measured row = measured((uint64_t[BENCH_EVENTS]){less, 100, less, less});
    has(&row, 0, "instructions_per_op", 0);
    has(&row, 1, "cycles_per_op", 2);
    has(&row, 3, "branch_misses_per_op", 0);
}

static void test_other_events_of_misses(void **state)
{
    (void)state;
    opens((struct processor){.without_general = true},
          "instructions, cycles, cache misses (reads, last level), branch misses; in user space");
    struct bench_measured row = measured(counts);
    has(&row, 2, "cache_misses_per_op", 0.6);
    opens((struct processor){.without_general = true, .without_last_level = true},
          "instructions, cycles, cache misses (reads, first level), branch misses; in user space");
    row = measured(counts);
    has(&row, 2, "cache_misses_per_op", 0.6);
    has(&row, 3, "branch_misses_per_op", 0.2);
}

static void test_fewer_counters_than_events(void **state)
{
    (void)state;
    opens((struct processor){.at_once = 2}, "instructions, cycles; in user space");
    struct bench_measured row = measured(counts);
    assert_int_equal(row.counter_count, 2);
    has(&row, 0, "instructions_per_op", 100);
    has(&row, 1, "cycles_per_op", 40);
}

/* Where others had the counters for a quarter of the time, no count is shown. */
static void test_shared_counters(void **state)
{
    (void)state;
    opens((struct processor){0}, ALL);
    processor.uncounted_ns = STRETCH_NS / 4;
    struct bench_measured row = measured(counts);
    assert_int_equal(row.counter_count, 1);
    has(&row, 0, "uncounted_share", 0.25);
}

static void test_none(void **state)
{
    (void)state;
    opens((struct processor){.counts_nothing = true},
          "none: the kernel takes the call, but nothing is counted");
    assert_int_equal(measured(counts).counter_count, 0);
    opens((struct processor){.refuses = ENOENT},
          "none: the processor has none, as most virtual machines'");
    assert_int_equal(measured(counts).counter_count, 0);
    opens((struct processor){.refuses = ENOSYS}, "none: the kernel has no perf_event_open");
    opens((struct processor){.refuses = EACCES},
          "none: not permitted; /proc/sys/kernel/perf_event_paranoid must be 2 or less, and a "
          "container must allow perf_event_open");
    opens((struct processor){.refuses = EMFILE}, "none: Too many open files");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_an_operation),
        cmocka_unit_test(test_a_stretch_that_does_not_count),
        cmocka_unit_test(test_less_than_an_empty_stretch),
        cmocka_unit_test(test_other_events_of_misses),
        cmocka_unit_test(test_fewer_counters_than_events),
        cmocka_unit_test(test_shared_counters),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
