/* From the lines of a recording of kernel timers to a trace: lines, verdicts, operations, refusals,
 * and the recording that comes with timerlab. */
#include "command.h"
#include "import_run.h"
#include "kernel_timer_classifier.h"
#include "kernel_timer_event.h"

#include "test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- lines ------------------------------------------------------------------------------------ */

static enum kernel_line parse(const char *text, struct kernel_line_result *result)
{
    /* In memory of exactly its size, to detect a read beyond its end. */
    size_t length = strlen(text);
    char *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    enum kernel_line line = kernel_line_parse(copy, length, result);
    if (line == KERNEL_LINE_TIMER && result->event.function != NULL) {
        size_t at = (size_t)(result->event.function - copy);
        assert_true(at + result->event.function_length <= length);
        result->event.function = text + at;
    }
    free(copy);
    return line;
}

#define NS(seconds, us) (UINT64_C(1000000000) * (seconds) + UINT64_C(1000) * (us))

static void events_of_the_three_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum kernel_event_kind kind;
        uint32_t cpu, pid;
        uint64_t time_ns, pointer;
        const char *function;
        int64_t timeout;
        uint64_t now;
    } rows[] = {
        /* tracefs */
        {"           nginx-22174   [000] d..1.  1179.366951: timer_start: timer=0000000026d8fef2 "
         "function=tcp_write_timer expires=4295187052 [timeout=51] bucket_expiry=4295187053 cpu=0 "
         "idx=45 flags=",
         KERNEL_TIMER_START, 0, 22174, NS(1179, 366951), 0x26d8fef2, "tcp_write_timer", 51,
         4295187001},
        {"          <idle>-0       [011] d.s2.  3179.347203: timer_cancel: timer=ffff8881025f3438",
         KERNEL_TIMER_CANCEL, 11, 0, NS(3179, 347203), 0xffff8881025f3438, NULL, 0, 0},
        {"          <idle>-0       [000] ..s1.     9.000004: timer_expire_entry: "
         "timer=00000000c8c0ff96 function=process_timeout now=4295687058 baseclk=4295687058",
         KERNEL_TIMER_EXPIRE, 0, 0, NS(9, 4), 0xc8c0ff96, "process_timeout", 0, 4295687058},
        {"            bash-977     (   977) [001] .....   10.5: timer_cancel: "
         "timer=00000000000000a1",
         KERNEL_TIMER_CANCEL, 1, 977, NS(10, 500000), 0xa1, NULL, 0, 0},
        {"            bash-977     (-------) [001] .....   10.5: timer_cancel: "
         "timer=00000000000000a1",
         KERNEL_TIMER_CANCEL, 1, 977, NS(10, 500000), 0xa1, NULL, 0, 0},
        {"           <...>-23367   [000] d.h2.  1226.595043: hrtimer_start: "
         "hrtimer=00000000388f95ed function=tick_nohz_handler expires=1226568000000 "
         "softexpires=1226568000000 mode=ABS was_armed=0",
         KERNEL_HRTIMER_START, 0, 23367, NS(1226, 595043), 0x388f95ed, "tick_nohz_handler",
         1226568000000, 0},
        /* Before Linux 6.8 there was no bucket_expiry. A start in the past. */
        {"             sh-1 [000] d... 5.000001: timer_start: timer=00000000000000b2 "
         "function=delayed_work_timer_fn expires=4294900000 [timeout=-3] cpu=0 idx=0 flags=I",
         KERNEL_TIMER_START, 0, 1, NS(5, 1), 0xb2, "delayed_work_timer_fn", -3, 4294900003},
        /* trace-cmd report */
        {"     kworker/1:1-41    [001]  1569.100043: timer_start:          "
         "timer=0xffff888627d27600 "
         "function=delayed_work_timer_fn expires=4295284747 [timeout=243] "
         "bucket_expiry=4295284752 cpu=1 idx=66 flags=D|P|I",
         KERNEL_TIMER_START, 1, 41, NS(1569, 100043), 0xffff888627d27600, "delayed_work_timer_fn",
         243, 4295284504},
        {"    nginx-22174 [000]  1546.040072123: hrtimer_expire_entry: hrtimer=0xffff888627d27600 "
         "function=hrtimer_wakeup/0x0 now=1546040070000",
         KERNEL_HRTIMER_EXPIRE, 0, 22174, UINT64_C(1546040072123), 0xffff888627d27600,
         "hrtimer_wakeup", 0, 1546040070000},
        /* Of trace-cmd's own making, with the time in front. */
        {"    nginx-22174 [000]  1546.040072: hrtimer_expire_entry: hrtimer=0xffff888627d27600 "
         "now=1546040070000 function=hrtimer_wakeup/0x0",
         KERNEL_HRTIMER_EXPIRE, 0, 22174, NS(1546, 40072), 0xffff888627d27600, "hrtimer_wakeup", 0,
         1546040070000},
        /* perf script */
        {"         swapper     0 [000]  1658.775991:       timer:hrtimer_cancel: "
         "hrtimer=0xffff888627c1c6f8",
         KERNEL_HRTIMER_CANCEL, 0, 0, NS(1658, 775991), 0xffff888627c1c6f8, NULL, 0, 0},
        {"   kworker/1:0-eve 26654 [001]  1640.428100:        timer:timer_start: "
         "timer=0xffff888627d27600 function=tcp_delack_timer expires=4295000010 [timeout=0] "
         "bucket_expiry=4295284752 cpu=1 idx=66 flags=D|P|I",
         KERNEL_TIMER_START, 1, 26654, NS(1640, 428100), 0xffff888627d27600, "tcp_delack_timer", 0,
         4295000010},
        /* Names that look like something else. */
        {"  tmux: server-812   [001] d..1.  7.000002: timer_cancel: timer=00000000000000c3",
         KERNEL_TIMER_CANCEL, 1, 812, NS(7, 2), 0xc3, NULL, 0, 0},
        {"   a [000] 1.2: x-813   [001] d..1.  7.000002: timer_cancel: timer=00000000000000c3",
         KERNEL_TIMER_CANCEL, 1, 813, NS(7, 2), 0xc3, NULL, 0, 0},
        {"   -[9] [001] - 5 814 [003]  7.000002: timer:timer_cancel: timer=0xc3",
         KERNEL_TIMER_CANCEL, 3, 814, NS(7, 2), 0xc3, NULL, 0, 0},
        {"   # CPU:0 [LOST-815   [001] d..1.  7.000002: timer_cancel: timer=00000000000000c3",
         KERNEL_TIMER_CANCEL, 1, 815, NS(7, 2), 0xc3, NULL, 0, 0},
        /* Functions of modules. */
        {"  sh-7 [001] ..s1. 5.000001: timer_start: timer=00000000000000b2 function=watchdog "
         "[some_driver] expires=4294900000 [timeout=25] bucket_expiry=4294900001 cpu=1 idx=0 "
         "flags=",
         KERNEL_TIMER_START, 1, 7, NS(5, 1), 0xb2, "watchdog [some_driver]", 25, 4294899975},
        {"  sh-7 [001] ..s1. 5.000001: timer_expire_entry: timer=00000000000000b2 "
         "function=watchdog [some_driver] now=4294900001 baseclk=4294900001",
         KERNEL_TIMER_EXPIRE, 1, 7, NS(5, 1), 0xb2, "watchdog [some_driver]", 0, 4294900001},
        {"  CPU 0/KVM-7 [001] d.h1. 5.000001: hrtimer_start: hrtimer=00000000000000b2 "
         "function=apic_timer_fn [kvm] expires=5100000000 softexpires=5100000000 mode=ABS|HARD "
         "was_armed=0",
         KERNEL_HRTIMER_START, 1, 7, NS(5, 1), 0xb2, "apic_timer_fn [kvm]", 5100000000, 0},
        {"  qemu-7 [001] 5.000001: hrtimer_expire_entry: hrtimer=0xb2 now=5100000100 "
         "function=apic_timer_fn/0x0 [kvm]",
         KERNEL_HRTIMER_EXPIRE, 1, 7, NS(5, 1), 0xb2, "apic_timer_fn", 0, 5100000100},
        /* The kernel's dump, and tracefs with latency-format. */
        {"[  221.630578]   <idle>-0         1..s.. 100000100us : timer_cancel: timer=ffff0000000a",
         KERNEL_TIMER_CANCEL, 1, 0, NS(100, 100), 0xffff0000000a, NULL, 0, 0},
        {"<4>[  221.630578][    C1] kworker/-41        11dNs3. 100000100us+: timer_start: "
         "timer=00000000000000b2 function=f [m] expires=500 [timeout=-1]",
         KERNEL_TIMER_START, 11, 41, NS(100, 100), 0xb2, "f [m]", -1, 501},
        {"  a us: b-42      0d.h1. 7us!: timer_cancel: timer=b2", KERNEL_TIMER_CANCEL, 0, 42,
         NS(0, 7), 0xb2, NULL, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kernel_line_result result;
        if (parse(rows[i].text, &result) != KERNEL_LINE_TIMER) {
            fail_msg("%s: %s", rows[i].text, result.why);
        }
        const struct kernel_event *event = &result.event;
        assert_int_equal(event->kind, rows[i].kind);
        assert_int_equal(event->cpu, rows[i].cpu);
        assert_int_equal(event->pid, rows[i].pid);
        assert_int_equal(event->time_ns, rows[i].time_ns);
        assert_int_equal(event->pointer, rows[i].pointer);
        assert_int_equal(event->timeout, rows[i].timeout);
        assert_int_equal(event->now, rows[i].now);
        assert_int_equal(event->function != NULL, rows[i].function != NULL);
        if (rows[i].function != NULL) {
            assert_int_equal(event->function_length, strlen(rows[i].function));
            assert_memory_equal(event->function, rows[i].function, event->function_length);
        }
    }
}

static void other_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum kernel_line line;
        uint64_t lost_events;
    } rows[] = {
        {"", KERNEL_LINE_BLANK, 0},
        {"   ", KERNEL_LINE_BLANK, 0},
        {"# tracer: nop", KERNEL_LINE_BLANK, 0},
        {"#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION", KERNEL_LINE_BLANK, 0},
        {"##### CPU 1 buffer started ####", KERNEL_LINE_BLANK, 0},
        {"cpus=2", KERNEL_LINE_BLANK, 0},
        {"\tffffffff81a0d4b4 schedule+0x54 ([kernel.kallsyms])", KERNEL_LINE_BLANK, 0},
        {" => schedule", KERNEL_LINE_BLANK, 0},
        {"=> do_timer (ffffffff81a0d4b4)", KERNEL_LINE_BLANK, 0},
        {"  sh-1 [000] d.h. 5.000001: <stack trace>", KERNEL_LINE_BLANK, 0},
        {"  sh-1 [000] d.h. 5.000001: <user stack trace>", KERNEL_LINE_BLANK, 0},
        {"  sh-1 [000] d.h. 5.000001: do_timer <-tick_do_update_jiffies64.part.0",
         KERNEL_LINE_OTHER, 0},
        {"  sh-1 0d.h.. 5000001us : do_timer <-tick_do_update_jiffies64.part.0", KERNEL_LINE_OTHER,
         0},
        {"[  221.630570] Dumping ftrace buffer:", KERNEL_LINE_BLANK, 0},
        {"<0>[  221.630570][ T1] ---------------------------------", KERNEL_LINE_BLANK, 0},
        {"[  221.630570]   <idle>-0         1..s.. 100000100us : timer_cancel: tim",
         KERNEL_LINE_MALFORMED, 0},
        {"  sh-1 0d.h.. 5000001us : timer_cancel: timer=", KERNEL_LINE_MALFORMED, 0},
        {"us :", KERNEL_LINE_MALFORMED, 0},
        {"1us : timer_cancel: timer=a", KERNEL_LINE_MALFORMED, 0},
        {"  sh-1 0d.h.. us : timer_cancel: timer=a", KERNEL_LINE_MALFORMED, 0},
        {"  sh-1 0d 5000001us : timer_cancel: timer=a", KERNEL_LINE_MALFORMED, 0},
        {"  sh-1 [000] d... 5.000001: timer_start: timer=0xa function=f [m expires=5 [timeout=1]",
         KERNEL_LINE_MALFORMED, 0},
        {"CPU:0 [LOST 2521 EVENTS]", KERNEL_LINE_LOST, 2521},
        {"CPU:12 [LOST EVENTS]", KERNEL_LINE_LOST, 0},
        {"CPU:3 [77 EVENTS DROPPED]", KERNEL_LINE_LOST, 77},
        {"CPU:3 [EVENTS DROPPED]", KERNEL_LINE_LOST, 0},
        {"  sh-1 [000] d... 5.000001: sched_switch: prev_comm=a", KERNEL_LINE_OTHER, 0},
        {"  sh 1 [000] 5.000001: timer:timer_init: timer=0xa", KERNEL_LINE_OTHER, 0},
        {"  sh-1 [000] d... 5.000001: timer_start_extra: timer=0xa", KERNEL_LINE_OTHER, 0},
        {"  sh-1 [000] d.s. 5.000001: hrtimer_expire_exit: hrtimer=0xa", KERNEL_LINE_OTHER, 0},
        {"  sh-1 [000] d.s. 5.000001: timer_expire_exit: cpu=0", KERNEL_LINE_MALFORMED, 0},
        {"CPU:0 [LOST 2521 EVENTS", KERNEL_LINE_MALFORMED, 0},
        {"hello", KERNEL_LINE_MALFORMED, 0},
        {"[[[[[[[[[ [ [0 [0] [0] 1", KERNEL_LINE_MALFORMED, 0},
        {"  sh-1 [000] d... 5000001: timer_cancel: timer=0xa", KERNEL_LINE_MALFORMED, 0},
        {"  sh-1 [000] d... 5.000001: timer_cancel", KERNEL_LINE_MALFORMED, 0},
        {"  sh-x [000] d... 5.000001: timer_cancel: timer=0xa", KERNEL_LINE_MALFORMED, 0},
        {"  sh-1 [000] d... 5.000001: timer_cancel: timer=", KERNEL_LINE_MALFORMED, 0},
        {"  sh-1 [000] d... 5.000001: timer_cancel: timer=(null)", KERNEL_LINE_MALFORMED, 0},
        {"  sh-1 [000] d... 5.000001: timer_cancel: timer=0x10000000000000000",
         KERNEL_LINE_MALFORMED, 0},
        {"  sh-1 [000] d... 5.000001: timer_start: timer=0xa function=f expires=5 [timeout=x]",
         KERNEL_LINE_MALFORMED, 0},
        {"  sh-1 [000] d... 5.000001: timer_start: timer=0xa function=f "
         "expires=99999999999999999999 [timeout=1]",
         KERNEL_LINE_MALFORMED, 0},
        {"  sh-1 [000] d... 99999999999999.000001: timer_cancel: timer=0xa", KERNEL_LINE_MALFORMED,
         0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kernel_line_result result = {0};
        if (parse(rows[i].text, &result) != rows[i].line) {
            fail_msg("%s", rows[i].text);
        }
        if (rows[i].line == KERNEL_LINE_LOST) {
            assert_int_equal(result.lost_events, rows[i].lost_events);
        } else if (rows[i].line == KERNEL_LINE_MALFORMED) {
            assert_non_null(result.why);
        }
    }
}

/* Cut off anywhere before its last necessary character, a line is no event; nothing is read beyond
 * it. */
static void cut_lines_are_no_events(void **state)
{
    (void)state;
    static const char whole[] =
        "  kworker/0:1-events-41  [000] d..1.  1.000002: timer_start: timer=00000000c8c0ff96 "
        "function=process_timeout expires=4295687053 [timeout=15000]";
    char text[sizeof whole];
    struct kernel_line_result result;
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        memcpy(text, whole, length);
        text[length] = '\0';
        assert_int_not_equal(parse(text, &result), KERNEL_LINE_TIMER);
    }
    assert_int_equal(parse(whole, &result), KERNEL_LINE_TIMER);
}

/* --- verdicts --------------------------------------------------------------------------------- */

struct step {
    char what; /* s start, c cancel, e expiry, x its exit; S and C not in softirq; d delayed work */
    uint64_t us;
    uint64_t pointer;
    uint32_t cpu;
    uint32_t pid;
};

static void note(void *ctx, const struct kernel_operation *operation)
{
    char **end = ctx;
    *(*end)++ = "ARSce"[operation->verdict];
    *(*end)++ = (char)('0' + operation->timer % 10);
    if (operation->cause != KERNEL_NO_TIMER) {
        *(*end)++ = '<';
        *(*end)++ = (char)('0' + operation->cause % 10);
    }
    **end = '\0';
}

static struct kernel_event event_of(const struct step *step)
{
    struct kernel_event event = {
        .cpu = step->cpu, .pid = step->pid, .time_ns = step->us * 1000, .pointer = step->pointer};
    event.kind = strchr("sSd", step->what) != NULL  ? KERNEL_TIMER_START
                 : strchr("cC", step->what) != NULL ? KERNEL_TIMER_CANCEL
                 : step->what == 'x'                ? KERNEL_TIMER_EXIT
                                                    : KERNEL_TIMER_EXPIRE;
    event.context =
        strchr("SC", step->what) != NULL ? KERNEL_CONTEXT_OTHER : KERNEL_CONTEXT_UNKNOWN;
    if (event.kind == KERNEL_TIMER_START || event.kind == KERNEL_TIMER_EXPIRE) {
        event.function = step->what == 'd' ? "delayed_work_timer_fn" : "f";
        event.function_length = strlen(event.function);
    }
    return event;
}

/* The verdicts as text: A arm, R rearm, S start on armed, c true cancel, e expiry, each with the
 * timer's index, and '<' with the timer that expired and causes it. */
static struct kernel_counts classify(const struct step *steps, size_t count, char *verdicts)
{
    char *end = verdicts;
    *end = '\0';
    struct kernel_classifier *classifier = kernel_classifier_create(note, &end);
    for (size_t i = 0; i < count; i++) {
        struct kernel_event event = event_of(&steps[i]);
        kernel_classifier_add(classifier, &event);
    }
    kernel_classifier_finish(classifier);
    struct kernel_counts counts = *kernel_classifier_counts(classifier);
    kernel_classifier_destroy(classifier);
    assert_int_equal(counts.all.start, counts.all.verdicts[KERNEL_ARM] +
                                           counts.all.verdicts[KERNEL_REARM] +
                                           counts.all.verdicts[KERNEL_START_ON_ARMED]);
    assert_int_equal(counts.cancels, counts.all.verdicts[KERNEL_TRUE_CANCEL] +
                                         counts.all.verdicts[KERNEL_REARM] +
                                         counts.all.verdicts[KERNEL_EXPIRY] - counts.expiry_bare);
    return counts;
}

#define MAX_STEPS 8

static void cancels_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        struct step steps[MAX_STEPS];
        const char *verdicts;
        struct kernel_counts counts;
    } cases[] = {
        /* An expiry; the CPU and not the task must be the same. */
        {{{'s', 0, 7, 0, 1}, {'c', 100, 7, 0, 2}, {'e', 101, 7, 0, 3}},
         "A0e0",
         {.all.start = 1,
          .all.verdicts[KERNEL_ARM] = 1,
          .cancels = 1,
          .all.verdicts[KERNEL_EXPIRY] = 1,
          .max_armed = 1,
          .all.timers = 1}},
        /* A rearm, at the longest gap. */
        {{{'s', 0, 7, 0, 1}, {'c', 100, 7, 0, 1}, {'s', 120, 7, 0, 1}},
         "A0R0",
         {.all.start = 2,
          .all.verdicts[KERNEL_ARM] = 1,
          .all.verdicts[KERNEL_REARM] = 1,
          .cancels = 1,
          .all.armed_at_end = 1,
          .max_armed = 1,
          .all.timers = 1}},
        /* Too late, another CPU, another task: deleted, and started again. */
        {{{'s', 0, 7, 0, 1}, {'c', 100, 7, 0, 1}, {'s', 121, 7, 0, 1}},
         "A0c0A0",
         {.all.start = 2,
          .all.verdicts[KERNEL_ARM] = 2,
          .cancels = 1,
          .all.verdicts[KERNEL_TRUE_CANCEL] = 1,
          .all.armed_at_end = 1,
          .max_armed = 1,
          .all.timers = 1}},
        {{{'s', 0, 7, 0, 1}, {'c', 100, 7, 0, 1}, {'s', 101, 7, 1, 1}},
         "A0c0A0",
         {.all.start = 2,
          .all.verdicts[KERNEL_ARM] = 2,
          .cancels = 1,
          .all.verdicts[KERNEL_TRUE_CANCEL] = 1,
          .all.armed_at_end = 1,
          .max_armed = 1,
          .all.timers = 1}},
        {{{'s', 0, 7, 0, 1}, {'c', 100, 7, 0, 1}, {'s', 101, 7, 0, 2}},
         "A0c0A0",
         {.all.start = 2,
          .all.verdicts[KERNEL_ARM] = 2,
          .cancels = 1,
          .all.verdicts[KERNEL_TRUE_CANCEL] = 1,
          .all.armed_at_end = 1,
          .max_armed = 1,
          .all.timers = 1}},
        /* An expiry elsewhere has lost its own cancel. */
        {{{'s', 0, 7, 0, 1}, {'c', 100, 7, 0, 1}, {'e', 101, 7, 1, 1}},
         "A0c0e0",
         {.all.start = 1,
          .all.verdicts[KERNEL_ARM] = 1,
          .cancels = 1,
          .all.verdicts[KERNEL_TRUE_CANCEL] = 1,
          .all.verdicts[KERNEL_EXPIRY] = 1,
          .expiry_bare = 1,
          .max_armed = 1,
          .all.timers = 1}},
        /* One that comes after the look-ahead is none of the cancel's. */
        {{{'s', 0, 7, 0, 1}, {'c', 100, 7, 0, 1}, {'s', 10101, 8, 0, 1}, {'e', 10102, 7, 0, 1}},
         "A0c0A1e0",
         {.all.start = 2,
          .all.verdicts[KERNEL_ARM] = 2,
          .cancels = 1,
          .all.verdicts[KERNEL_TRUE_CANCEL] = 1,
          .all.verdicts[KERNEL_EXPIRY] = 1,
          .expiry_bare = 1,
          .all.armed_at_end = 1,
          .max_armed = 1,
          .all.timers = 2}},
        /* The last event is a cancel. */
        {{{'s', 0, 7, 0, 1}, {'c', 1, 7, 0, 1}},
         "A0c0",
         {.all.start = 1,
          .all.verdicts[KERNEL_ARM] = 1,
          .cancels = 1,
          .all.verdicts[KERNEL_TRUE_CANCEL] = 1,
          .max_armed = 1,
          .all.timers = 1}},
        /* Others come between, and the order is kept: timer 1's start waits for the verdict. */
        {{{'s', 0, 7, 0, 1},
          {'c', 5, 7, 0, 1},
          {'s', 6, 8, 1, 9},
          {'c', 7, 8, 1, 9},
          {'e', 8, 7, 0, 1},
          {'s', 9, 8, 1, 9}},
         "A0A1e0R1",
         {.all.start = 3,
          .all.verdicts[KERNEL_ARM] = 2,
          .all.verdicts[KERNEL_REARM] = 1,
          .cancels = 2,
          .all.verdicts[KERNEL_EXPIRY] = 1,
          .all.armed_at_end = 1,
          .max_armed = 1,
          .all.timers = 2}},
        /* Armed before the recording: found by a cancel, a rearm, an expiry, a bare expiry. */
        {{{'c', 0, 1, 0, 1},
          {'c', 1, 2, 0, 1},
          {'s', 2, 2, 0, 1},
          {'c', 3, 3, 0, 1},
          {'e', 4, 3, 0, 1},
          {'e', 5, 4, 0, 1}},
         "c0R1e2e3",
         {.all.start = 1,
          .all.verdicts[KERNEL_REARM] = 1,
          .cancels = 3,
          .all.verdicts[KERNEL_TRUE_CANCEL] = 1,
          .all.verdicts[KERNEL_EXPIRY] = 2,
          .expiry_bare = 1,
          .armed_before_start = 4,
          .all.armed_at_end = 1,
          .max_armed = 2,
          .all.timers = 4}},
        /* Lost events: a start on an armed timer, a cancel of an idle one. */
        {{{'s', 0, 7, 0, 1}, {'s', 1000, 7, 0, 1}, {'c', 2000, 7, 0, 1}, {'c', 3000, 7, 0, 1}},
         "A0S0c0c0",
         {.all.start = 2,
          .all.verdicts[KERNEL_ARM] = 1,
          .all.verdicts[KERNEL_START_ON_ARMED] = 1,
          .cancels = 2,
          .all.verdicts[KERNEL_TRUE_CANCEL] = 2,
          .cancel_on_idle = 1,
          .max_armed = 1,
          .all.timers = 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t count = 0;
        while (count < MAX_STEPS && cases[i].steps[count].what != '\0') {
            count++;
        }
        char verdicts[4 * MAX_STEPS];
        struct kernel_counts counts = classify(cases[i].steps, count, verdicts);
        assert_string_equal(verdicts, cases[i].verdicts);
        if (memcmp(&counts, &cases[i].counts, sizeof counts) != 0) {
            fail_msg("case %zu, %s: other counts than expected", i, verdicts);
        }
    }
}

static void causes_are_told(void **state)
{
    (void)state;
    static const struct {
        struct step steps[MAX_STEPS];
        const char *verdicts;
    } cases[] = {
        /* Again at its own expiry, at the longest gap; the cancel before it does not matter. */
        {{{'c', 99, 7, 0, 1}, {'e', 100, 7, 0, 1}, {'s', 150, 7, 0, 1}}, "e0A0<0"},
        {{{'e', 100, 7, 0, 1}, {'s', 151, 7, 0, 1}}, "e0A0"},
        /* Another CPU, another task, a thread instead of the callback. */
        {{{'e', 100, 7, 0, 1}, {'s', 101, 7, 1, 1}}, "e0A0"},
        {{{'e', 100, 7, 0, 1}, {'s', 101, 7, 0, 2}}, "e0A0"},
        {{{'e', 100, 7, 0, 1}, {'S', 101, 7, 0, 1}}, "e0A0"},
        /* Another timer; and something else of that CPU in between, but not of another one. */
        {{{'e', 100, 7, 0, 1}, {'s', 101, 8, 0, 1}}, "e0A1"},
        {{{'e', 100, 7, 0, 1}, {'s', 101, 8, 0, 1}, {'s', 102, 7, 0, 1}}, "e0A1A0"},
        {{{'e', 100, 7, 0, 1}, {'s', 101, 8, 1, 1}, {'s', 102, 7, 0, 1}}, "e0A1A0<0"},
        /* Where exits are recorded, they decide: all until then, nothing after it. */
        {{{'e', 100, 7, 0, 1}, {'x', 110, 7, 0, 1}, {'s', 111, 7, 0, 1}}, "e0A0"},
        {{{'s', 10, 8, 0, 1},
          {'x', 11, 9, 1, 1},
          {'e', 100, 7, 0, 1},
          {'c', 101, 8, 0, 1},
          {'s', 200, 7, 0, 1},
          {'x', 210, 7, 0, 1},
          {'s', 211, 8, 0, 1}},
         "A0e1c0<1A1<1A0"},
        /* Not the operations of an interrupt meanwhile, nor delayed work. */
        {{{'x', 11, 9, 1, 1},
          {'e', 100, 7, 0, 1},
          {'S', 101, 8, 0, 1},
          {'s', 102, 6, 1, 1},
          {'d', 103, 5, 0, 1},
          {'s', 104, 7, 0, 1}},
         "e0A1A2A3A0<0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t count = 0;
        while (count < MAX_STEPS && cases[i].steps[count].what != '\0') {
            count++;
        }
        char verdicts[4 * MAX_STEPS + 1];
        struct kernel_counts counts = classify(cases[i].steps, count, verdicts);
        assert_string_equal(verdicts, cases[i].verdicts);
        uint64_t caused = 0;
        for (const char *at = verdicts; (at = strchr(at, '<')) != NULL; at++) {
            caused++;
        }
        assert_int_equal(counts.all.caused, caused);
    }
}

/* More events after an undecided cancel than are held back, and more timers than the tables begin
 * with. */
static void look_ahead_is_bounded(void **state)
{
    (void)state;
    const size_t count = 100000;
    struct step *steps = calloc(count, sizeof *steps);
    char *verdicts = malloc(2 * count + 1);
    assert_non_null(steps);
    assert_non_null(verdicts);
    steps[0] = (struct step){'c', 0, 999999999, 0, 1};
    for (size_t i = 1; i < count; i++) {
        steps[i] = (struct step){'s', 1, 1000 + i * 64, 1, 1};
    }
    steps[count - 1] = (struct step){'e', 1, 999999999, 0, 1};
    struct kernel_counts counts = classify(steps, count, verdicts);
    assert_int_equal(counts.all.verdicts[KERNEL_TRUE_CANCEL], 1);
    assert_int_equal(counts.expiry_bare, 1);
    assert_int_equal(counts.all.verdicts[KERNEL_ARM], count - 2);
    assert_int_equal(counts.all.timers, count - 1);
    assert_int_equal(verdicts[0], 'c');
    assert_int_equal(verdicts[2 * count - 2], 'e');
    free(verdicts);
    free(steps);
}

/* --- imports ---------------------------------------------------------------------------------- */

#define LINE(cpu, time, event) "  sh-1 [00" cpu "] d..1. " time ": " event "\n"
#define START(pointer, function, expires, timeout)                                                 \
    "timer_start: timer=" pointer " function=" function " expires=" expires " [timeout=" timeout   \
    "] cpu=0 idx=0 flags="
#define EXPIRE(pointer, function, now)                                                             \
    "timer_expire_entry: timer=" pointer " function=" function " now=" now " baseclk=" now

/* HZ 100, from 10.000000 s on; jiffies 1000 at 10.0 s: 40 more than a multiple of 64. */
static const char small[] =
    LINE("0", "10.000000", START("a1", "red", "1005", "5"))    /* a1 at tick 40 */
    LINE("0", "10.025000", START("b2", "blue", "998", "-4"))   /* b2 two ticks later, overdue */
    LINE("1", "10.024000", START("c3", "red", "1102", "100"))  /* back in time: the same */
    LINE("0", "10.061000", "timer_cancel: timer=a1")           /* expires */
    LINE("0", "10.061001", EXPIRE("a1", "red", "1006"))        /**/
    LINE("0", "10.070000", "timer_cancel: timer=c3")           /* rearmed */
    LINE("0", "10.070005", START("c3", "red", "1207", "200"))  /* seven */
    LINE("0", "10.080000", "timer_cancel: timer=d4")           /* never started */
    LINE("0", "10.090000", "timer_cancel: timer=c3")           /* deleted: eight */
    LINE("0", "10.100000", START("a1", "blue", "1013", "3"))   /* used for something else */
    LINE("0", "20.500000", START("e5", "green", "2051", "1")); /* 1050 */

static struct import_run import_text(const char *text, const char *const *settings)
{
    return import_run("ftrace", temporary_file("recording.txt", text, strlen(text)), settings);
}

static void assert_imports(const char *text, const char *const *settings, const char *operations)
{
    struct import_run run = import_text(text, settings);
    if (run.result != IMPORT_DONE) {
        fail_msg("%s", run.error.text);
    }
    char *found = import_run_operations(&run);
    assert_string_equal(found, operations);
    free(found);
    import_run_free(&run);
}

static void operations_of_a_small_recording(void **state)
{
    (void)state;
    struct import_run run = import_text(small, NULL);
    assert_int_equal(run.result, IMPORT_DONE);
    char *operations = import_run_operations(&run);
    assert_string_equal(operations, "40,0,start,6\n"
                                    "42,1,start,0\n"
                                    "42,2,start,101\n"
                                    "47,2,start,201\n"
                                    "48,2,stop\n"
                                    "50,0,start,4\n"
                                    "1090,3,start,2\n");
    free(operations);
    assert_int_equal(run.header.tick_ns, 10000000);
    assert_int_equal(run.header.ids, 4);
    assert_int_equal(run.header.warmup_end_tick, 0);
    assert_int_equal(run.header.end_tick, 1091);
    assert_int_equal(import_run_number(&run, "hz"), 100);
    assert_int_equal(import_run_number(&run, "duration_ns"), 10500000000);
    assert_int_equal(import_run_number(&run, "counts.lines"), 11);
    assert_int_equal(import_run_number(&run, "counts.time_goes_back"), 1);
    assert_int_equal(import_run_number(&run, "counts.left_out_stops"), 1);
    assert_int_equal(import_run_number(&run, "counts.trace_stops"), 1);
    assert_int_equal(import_run_number(&run, "functions.red.start"), 3);
    assert_int_equal(import_run_number(&run, "functions.red.rearm"), 1);
    assert_int_equal(import_run_number(&run, "functions.blue.armed_at_end"), 2);
    assert_string_equal(json_string_value(json_object_get(run.origin, "file")), "recording.txt");
    assert_non_null(strstr(run.report, "HZ 100 (estimated), tick 10000000 ns"));
    import_run_free(&run);
}

static void options_change_the_trace(void **state)
{
    (void)state;
    static const char *const tick[] = {"tick-ns", "4000000", NULL};
    assert_imports(small, tick,
                   "0,0,start,15\n5,1,start,0\n5,2,start,253\n17,2,start,503\n20,2,stop\n"
                   "25,0,start,10\n2625,3,start,5\n");
    /* A timer ends when its memory becomes a timer of another function. */
    static const char *const two[] = {"function", "red", "function", "green", NULL};
    assert_imports(small, two,
                   "40,0,start,6\n42,1,start,101\n47,1,start,201\n48,1,stop\n1090,2,start,2\n");
    static const char *const blue[] = {"function", "blue", NULL};
    assert_imports(small, blue, "42,0,start,0\n50,1,start,4\n");
    static const char *const hz[] = {"hz", "1000", NULL};
    assert_imports(small, hz,
                   "40,0,start,6\n42,1,start,0\n42,2,start,101\n47,2,start,201\n50,0,start,4\n"
                   "66,2,stop\n1090,3,start,2\n");
}

static void a_timer_of_interest_ends_when_its_memory_is_reused(void **state)
{
    (void)state;
    static const char *const settings[] = {"function", "red", "hz", "100", NULL};
    assert_imports(LINE("0", "10.000000", START("a1", "red", "1005", "5"))
                       LINE("0", "10.020000", START("a1", "blue", "1009", "7")),
                   settings, "40,0,start,6\n42,0,stop\n");
}

#define EXPIRE_LATE(pointer, function, now, baseclk)                                               \
    "timer_expire_entry: timer=" pointer " function=" function " now=" now " baseclk=" baseclk
#define START_INTO(pointer, function, expires, timeout, bucket)                                    \
    "timer_start: timer=" pointer " function=" function " expires=" expires " [timeout=" timeout   \
    "] bucket_expiry=" bucket " cpu=0 idx=0 flags="

/* A reaction is at the tick at which an exact structure fires its cause, expires + 1, not at the
 * kernel's. Its delay counts from the jiffy for which the kernel expired it, or it is absolute. */
static void reactions_stand_at_their_causes(void **state)
{
    (void)state;
    static const char *const settings[] = {"hz", "100", NULL};
#define SOFT(time, event) "  sh-1 [000] ..s1. " time ": " event "\n"
    /* Expired at 1071 for 1070, due at 1065; started again for 20 jiffies from 1071 on. */
    assert_imports(SOFT("10.000000", START_INTO("a1", "red", "1064", "64", "1072"))
                       SOFT("10.690000", START("b2", "blue", "1100", "31"))
                           SOFT("10.710000", EXPIRE_LATE("a1", "red", "1073", "1072"))
                               SOFT("10.710005", START("a1", "red", "1093", "20"))
                                   SOFT("10.940000", EXPIRE_LATE("a1", "red", "1094", "1094"))
                                       SOFT("10.940051", START("a1", "red", "1100", "6")),
                   settings, "40,0,start,65\n105,0,start,22 by 0\n109,1,start,32\n134,0,start,7\n");
    /* Five reactions, none of them like another: all absolute. */
    assert_imports(
        SOFT("10.000000", START("a1", "red", "1009", "9"))
            SOFT("10.110000", EXPIRE("a1", "red", "1011"))
                SOFT("10.110001", START("a1", "red", "1020", "9"))
                    SOFT("10.210000", EXPIRE("a1", "red", "1021"))
                        SOFT("10.210001", START("a1", "red", "1031", "10"))
                            SOFT("10.320000", EXPIRE("a1", "red", "1032"))
                                SOFT("10.320001", START("a1", "red", "1040", "8"))
                                    SOFT("10.410000", EXPIRE("a1", "red", "1041"))
                                        SOFT("10.410001", START("a1", "red", "1047", "6"))
                                            SOFT("10.480000", EXPIRE("a1", "red", "1048"))
                                                SOFT("10.480001", START("a1", "red", "1050", "2")),
        settings,
        "40,0,start,10\n50,0,start,11 by 0a\n61,0,start,11 by 0a\n"
        "72,0,start,9 by 0a\n81,0,start,7 by 0a\n88,0,start,3 by 0a\n");
    /* A stop that came before the kernel did stands before the jiffy in which it would have. */
    assert_imports(SOFT("10.000000", START_INTO("a1", "red", "1009", "9", "1010"))
                       SOFT("10.100000", START("b2", "blue", "1020", "10"))
                           SOFT("10.100001", "timer_cancel: timer=a1"),
                   settings, "40,0,start,10\n49,0,stop\n50,1,start,11\n");
    /* Timers armed before the recording have no start to be the cause. */
    assert_imports(SOFT("10.000000", EXPIRE("a1", "red", "1000"))
                       SOFT("10.000001", START("a1", "red", "1009", "9")),
                   settings, "40,0,start,10\n");
    /* Within a callback, where its end is recorded: other timers, too. */
    assert_imports(SOFT("10.000000", START("a1", "red", "1009", "9"))
                       SOFT("10.010000", START("b2", "blue", "1050", "49"))
                           SOFT("10.020000", "timer_expire_exit: timer=c3")
                               SOFT("10.110000", EXPIRE("a1", "red", "1011"))
                                   SOFT("10.110001", "timer_cancel: timer=b2")
                                       SOFT("10.110900", START("a1", "red", "1021", "10"))
                                           SOFT("10.110901", "timer_expire_exit: timer=a1"),
                   settings, "40,0,start,10\n41,1,start,50\n50,1,stop by 0\n50,0,start,11 by 0\n");
}

static void high_resolution_timers(void **state)
{
    (void)state;
    /* The clock of the timers is 5 s ahead of the time stamps; another one is far away. Between
     * softexpires and expires a timer may fire: from 150.5 us on for 100 us, from 500 us on for
     * 100.999 us, and so long that it is cut. */
    static const char text[] =
        LINE("0", "10.000000",
             "hrtimer_start: hrtimer=a1 function=red expires=15000250500 softexpires=15000150500 "
             "mode=ABS") LINE("0", "10.000100",
                              "hrtimer_start: hrtimer=b2 function=blue expires=1700000010000600999 "
                              "softexpires=1700000010000500000")
            LINE("0", "10.000250", "hrtimer_expire_entry: hrtimer=a1 function=red now=15000250000")
                LINE("0", "10.000300", "hrtimer_cancel: hrtimer=b2")
                    LINE("0", "10.000400",
                         "hrtimer_expire_entry: hrtimer=c3 function=blue now=1700000010000400000")
                        LINE("0", "10.000500",
                             "hrtimer_start: hrtimer=a1 function=red expires=9223372036854775807 "
                             "softexpires=15000501000");
    static const char *const settings[] = {"timers", "hrtimer", NULL};
    assert_imports(text, settings,
                   "0,0,start,151 slack 100\n100,1,start,400 slack 100\n300,1,stop\n"
                   "500,0,start,1 slack 4294967295\n");
    /* The periodic one is started again in the interrupt, the other by the task that it woke up. */
    static const char periodic[] =
        "  sh-1 [000] d..1. 10.000000: hrtimer_start: hrtimer=a1 function=red expires=15001000000\n"
        "  sh-1 [000] d..1. 10.000000: hrtimer_start: hrtimer=b2 function=red expires=15001500000\n"
        "  sh-1 [000] d.h1. 10.001010: hrtimer_expire_entry: hrtimer=a1 function=red "
        "now=15001010000\n"
        "  sh-1 [000] d.h2. 10.001013: hrtimer_start: hrtimer=a1 function=red expires=15002000000\n"
        "  sh-1 [000] d.h1. 10.001510: hrtimer_expire_entry: hrtimer=b2 function=red "
        "now=15001510000\n"
        "  sh-1 [000] d..1. 10.001530: hrtimer_start: hrtimer=b2 function=red "
        "expires=15003000000\n";
    assert_imports(periodic, settings,
                   "0,0,start,1000\n0,1,start,1500\n1000,0,start,1000 by 0a\n1530,1,start,1470\n");
}

static void assert_doubts(const char *text, const char *const *settings, const char *doubt)
{
    struct import_run run =
        import_run("ftrace", temporary_file("recording.txt", text, strlen(text)), settings);
    if (run.result != IMPORT_DONE) {
        fail_msg("%s", run.error.text);
    }
    const json_t *kept = json_object_get(run.origin, "warnings");
    if (doubt == NULL) {
        assert_null(strstr(run.report, "warning"));
        assert_null(kept);
    } else {
        /* On the first line, and kept. */
        assert_int_equal(strncmp(run.report, "warning: ", 9), 0);
        const char *first = json_string_value(json_array_get(kept, 0));
        if (strstr(run.report, doubt) == NULL || first == NULL || strstr(first, doubt) == NULL) {
            fail_msg("'%s' is not in '%s'", doubt, run.report);
        }
    }
    import_run_free(&run);
}

static void what_may_not_be_what_it_seems(void **state)
{
    (void)state;
    static const char *const hz[] = {"hz", "100", NULL};
    static const char sound[] = LINE("0", "10.00", START("a1", "red", "1005", "5"))
        LINE("0", "10.02", START("b2", "red", "1012", "10"))
            LINE("0", "10.03", "timer_cancel: timer=b2");
    static const char lost[] = LINE("0", "10.00", START("a1", "red", "1005", "5"))
        LINE("0", "10.02", START("a1", "red", "1012", "10"))
            LINE("0", "10.03", "timer_cancel: timer=a1");
    static const char back[] = LINE("0", "10.00", START("a1", "red", "1005", "5"))
        LINE("0", "10.02", START("b2", "red", "1012", "10"))
            LINE("0", "10.01", "timer_cancel: timer=b2");
    static const char gap[] = LINE("0", "10.00", START("a1", "red", "1005", "5"))
        LINE("0", "100000.00", START("b2", "red", "10000005", "5"));
    static const char reversed[] = LINE("0", "10.03", START("a1", "red", "1005", "5"))
        LINE("0", "10.02", START("b2", "red", "1012", "10"))
            LINE("0", "10.01", "timer_cancel: timer=b2");
    static const char other[] = LINE("0", "10.00", START("a1", "red", "1005", "5"))
        LINE("0", "10.02", "hrtimer_expire_entry: hrtimer=c3 in a form of next year's");
    assert_doubts(sound, hz, NULL);
    assert_doubts(lost, hz, "1 of 2 starts find the timer armed");
    /* A recorder that says so itself is quoted first. */
    static const char marked[] =
        LINE("0", "10.00", START("a1", "red", "1005", "5")) "CPU:0 [LOST 2521 EVENTS]\n" LINE(
            "0", "10.02", START("a1", "red", "1012", "10"));
    assert_doubts(marked, hz, "events were lost in 1 places, 2521 of them at least");
    assert_doubts(back, hz, "1 of 3 lines are earlier than one before them");
    assert_doubts(gap, hz, "nothing happens for 1.2 days, from 0.000000 s after its beginning on");
    /* Of the other kind of timers nothing is asked: it is not malformed. */
    assert_doubts(other, hz, NULL);
    struct import_run run =
        import_run("ftrace", temporary_file("recording.txt", reversed, strlen(reversed)), hz);
    assert_int_equal(run.result, IMPORT_FAILED);
    assert_non_null(strstr(run.error.text, "runs backwards"));
    import_run_free(&run);
}

static void assert_refused(const char *text, size_t length, const char *const *settings,
                           enum import_result result, const char *complaint)
{
    struct import_run run = import_run("ftrace", temporary_file("odd.txt", text, length), settings);
    assert_int_equal(run.result, result);
    if (strstr(run.error.text, complaint) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", run.error.text, complaint);
    }
    /* Neither the trace nor its temporary file is left. */
    assert_int_equal(temporary_files(), 1);
    import_run_free(&run);
    (void)remove(temporary_path("odd.txt"));
}

static void odd_files_are_refused(void **state)
{
    (void)state;
    (void)remove(temporary_path("recording.txt"));
    (void)remove(temporary_path("out.trace"));
    assert_refused("", 0, NULL, IMPORT_FAILED, "odd.txt: is empty");
    assert_refused("# tracer: nop\n", 14, NULL, IMPORT_FAILED,
                   "odd.txt: none of its 1 lines is a timer event");
    assert_refused(small, strlen(small), (const char *const[]){"timers", "hrtimer", NULL},
                   IMPORT_FAILED, "none of its 11 lines is a hrtimer event");
    static const char brief[] = LINE("0", "10.000000", START("a1", "red", "1005", "5"));
    assert_refused(brief, strlen(brief), NULL, IMPORT_FAILED, "give it with --hz");
    static const char jump[] = LINE("0", "10.0", START("a1", "red", "1005", "5"))
        LINE("0", "20.1", START("a1", "red", "2015", "5"))
            LINE("0", "20.2", START("a1", "red", "90000", "5"));
    assert_refused(jump, strlen(jump), NULL, IMPORT_FAILED,
                   "its beginning says HZ 100, but not the whole of it");
    assert_refused(small, strlen(small), (const char *const[]){"function", "rad", NULL},
                   IMPORT_FAILED,
                   "no timer of a --function was started; the one most often "
                   "started is red");

    size_t length = 10 * 1000 * 1000;
    char *junk = malloc(length);
    assert_non_null(junk);
    memset(junk, 'x', length);
    assert_refused(junk, length, NULL, IMPORT_FAILED, "line 1 is longer than 1 MiB");
    uint64_t noise = 1;
    for (size_t i = 0; i < length; i++) {
        noise = noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        junk[i] = noise >> 56 > 0 ? (char)(noise >> 56) : 'x';
    }
    assert_refused(junk, length, NULL, IMPORT_FAILED, "lines are not understood, first line 1");
    free(junk);

    static const struct {
        const char *settings[3];
        const char *complaint;
    } wrong[] = {
        {{"hz", "0", NULL}, "--hz takes a whole number from 1 to 1000000, not '0'"},
        {{"hz", "x", NULL}, "--hz takes a whole number from 1 to 1000000, not 'x'"},
        {{"tick-ns", "-1", NULL},
         "--tick-ns takes a whole number from 1 to 3600000000000, not '-1'"},
        {{"max-malformed", "101%", NULL},
         "--max-malformed takes a share from 0 to 1, as in 0.01 or 1%, not '101%'"},
        {{"max-malformed", "nan", NULL},
         "--max-malformed takes a share from 0 to 1, as in 0.01 or 1%, not 'nan'"},
        {{"timers", "whell", NULL}, "--timers whell: not wheel or hrtimer"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_refused(small, strlen(small), wrong[i].settings, IMPORT_USAGE, wrong[i].complaint);
    }
}

static void some_malformed_lines_are_borne(void **state)
{
    (void)state;
    char text[8192];
    (void)snprintf(text, sizeof text, "%s%s", small, "what is this?\n");
    /* One of twelve lines. */
    struct import_run run = import_text(text, NULL);
    assert_int_equal(run.result, IMPORT_FAILED);
    assert_non_null(strstr(run.error.text,
                           "recording.txt: 1 of 12 lines are not understood, first line 12: no "
                           "[CPU] column"));
    import_run_free(&run);
    run = import_text(text, (const char *const[]){"max-malformed", "9%", NULL});
    assert_int_equal(run.result, IMPORT_DONE);
    assert_int_equal(import_run_number(&run, "counts.malformed_lines"), 1);
    assert_non_null(strstr(run.report, "line 12: no [CPU] column with a time stamp in seconds "
                                       "after it: \"what is this?\""));
    assert_null(strstr(run.report, "are not understood"));
    import_run_free(&run);
    /* Five are shown, the others counted. */
    size_t length = strlen(text);
    for (unsigned i = 0; i < 6; i++) {
        (void)snprintf(text + length, sizeof text - length, "%u, what is this?\n", i);
        length += strlen(text + length);
    }
    run = import_text(text, (const char *const[]){"max-malformed", "60%", NULL});
    assert_int_equal(run.result, IMPORT_DONE);
    assert_non_null(strstr(run.report, "line 16: "));
    assert_null(strstr(run.report, "line 17: "));
    assert_non_null(strstr(run.report, "recording.txt: 2 more lines are not understood\n"));
    import_run_free(&run);
}

/* --- the recording that comes with timerlab --------------------------------------------------- */

/* Counted with another program (docs/reference/recorded-kernels.md). */
static const struct {
    const char *path;
    int64_t count;
} shipped_facts[] = {
    {"hz", 250},
    {"duration_ns", 29998308000},
    {"counts.lines", 179125},
    {"counts.blank_lines", 12},
    {"counts.malformed_lines", 0},
    {"counts.lost_events", 0},
    {"counts.timer_start", 66258},
    {"counts.timer_cancel", 66329},
    {"counts.timer_expire_entry", 46526},
    {"counts.timers", 3221},
    {"counts.arm", 51515},
    {"counts.rearm", 14743},
    {"counts.start_on_armed", 0},
    {"counts.true_cancel", 5060},
    {"counts.expiry", 46526},
    {"counts.expiry_bare", 0},
    {"counts.cancel_on_idle", 2},
    {"counts.armed_before_start", 1276},
    {"counts.armed_at_end", 1207},
    {"connections", 830}, /* distinct pointers with tcp_write_timer, by awk */
    {"counts.max_armed", 1241},
    {"functions.tcp_write_timer.start", 36634},
    {"functions.tcp_write_timer.rearm", 13238},
    {"functions.tcp_write_timer.true_cancel", 974},
    {"functions.tcp_write_timer.expiry", 22387},
    {"functions.tcp_write_timer.armed_at_end", 254},
    {"functions.tcp_keepalive_timer.start", 3894},
    {"functions.tcp_keepalive_timer.arm", 3441},
    {"functions.tcp_keepalive_timer.true_cancel", 508},
    {"functions.tcp_keepalive_timer.expiry", 2933},
    {"functions.tw_timer_handler.expiry", 597},
    {"functions.?.true_cancel", 18},
};

static void the_shipped_recording(void **state)
{
    (void)state;
    struct import_run run =
        import_run("ftrace", TL_SOURCE_DIR "/tests/data/kernel-nginx.ftrace.txt.zst", NULL);
    if (run.result != IMPORT_DONE) {
        fail_msg("%s", run.error.text);
    }
    for (size_t i = 0; i < sizeof shipped_facts / sizeof shipped_facts[0]; i++) {
        int64_t count = import_run_number(&run, shipped_facts[i].path);
        if (count != shipped_facts[i].count) {
            fail_msg("%s is %" PRId64 ", not %" PRId64, shipped_facts[i].path, count,
                     shipped_facts[i].count);
        }
    }
    assert_int_equal(run.header.starts, 66258);
    assert_int_equal(run.header.stops, 5060 - 18);
    assert_int_equal(run.header.tick_ns, 4000000);
    assert_int_equal(run.header.end_tick, 25 + 7500);
    import_run_free(&run);
}

/* --- the command ------------------------------------------------------------------------------ */

static int command(const char *const *arguments)
{
    char *argv[12];
    int argc = 0;
    argv[argc++] = strdup("timerlab trace import");
    while (arguments[argc - 1] != NULL) {
        argv[argc] = strdup(arguments[argc - 1]);
        argc++;
    }
    argv[argc] = NULL;
    char *owned[12];
    memcpy(owned, argv, sizeof owned[0] * (size_t)argc); /* argp reorders */
    int status = command_trace_import(argc, argv);
    for (int i = 0; i < argc; i++) {
        free(owned[i]);
    }
    return status;
}

static void the_command(void **state)
{
    (void)state;
    const char *in = temporary_file("recording.txt", small, strlen(small));
    const char *out = temporary_path("out.trace");
    assert_int_equal(command((const char *const[]){"ftrace", in, "-o", out, "--function", "red",
                                                   "--function=blue", NULL}),
                     EXIT_OK);
    struct error error;
    struct trace_reader *reader = trace_reader_open(out, &error);
    assert_non_null(reader);
    assert_int_equal(trace_reader_header(reader)->starts, 5);
    trace_reader_close(reader);
    assert_int_equal(command((const char *const[]){"ftrac", in, "-o", out, NULL}), EXIT_USAGE);
    assert_int_equal(
        command((const char *const[]){"ftrace", in, "-o", out, "--hz", "1", "--hz", "2", NULL}),
        EXIT_USAGE);
    assert_int_equal(command((const char *const[]){"ftrace", in, "-o", out, "--hz", "no", NULL}),
                     EXIT_USAGE);
    assert_int_equal(command((const char *const[]){"ftrace", "/nowhere", "-o", out, NULL}),
                     EXIT_FAULT);
    assert_int_equal(command((const char *const[]){"--list", NULL}), EXIT_OK);

    struct error why;
    assert_null(import_format_find("ftrac", &why));
    assert_string_equal(why.text,
                        "there is no import format 'ftrac'; did you mean 'ftrace'? `timerlab trace "
                        "import --list` shows all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_the_three_shapes),
        cmocka_unit_test(other_lines),
        cmocka_unit_test(cut_lines_are_no_events),
        cmocka_unit_test(cancels_are_told_apart),
        cmocka_unit_test(causes_are_told),
        cmocka_unit_test(look_ahead_is_bounded),
        cmocka_unit_test(operations_of_a_small_recording),
        cmocka_unit_test(options_change_the_trace),
        cmocka_unit_test(a_timer_of_interest_ends_when_its_memory_is_reused),
        cmocka_unit_test(reactions_stand_at_their_causes),
        cmocka_unit_test(high_resolution_timers),
        cmocka_unit_test(what_may_not_be_what_it_seems),
        cmocka_unit_test(odd_files_are_refused),
        cmocka_unit_test(some_malformed_lines_are_borne),
        cmocka_unit_test(the_shipped_recording),
        cmocka_unit_test(the_command),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    temporary_files_remove();
    return failed;
}
