/*
 * kernel_timer_event.h: parses a line of a Linux timer recording.
 *
 * The kernel's timer tracepoints are printed in four forms, which differ in the head of the line
 * and are recognized line by line:
 *
 *   tracefs            nginx-22174   [000] d..1.  1179.366951: timer_start: timer=00000000...
 *   trace-cmd report   nginx-22174 [000]  1546.040072: timer_start:          timer=0xffff888...
 *   perf script        nginx 22173 [000]  1640.428100:       timer:timer_start: timer=0xffff...
 *   a kernel's dump    nginx-22174   0d..1. 1179366951us : timer_start: timer=00000000...
 *
 * The last is also the form of tracefs with the option latency-format; printk adds its own time
 * before it. Stack traces and lines of the function tracer may come between the events.
 *
 * A task's name may contain blanks, colons, dashes, slashes and brackets, so a line is recognized
 * by the CPU column with the time stamp after it.
 */
#ifndef SIM_KERNEL_TIMER_EVENT_H
#define SIM_KERNEL_TIMER_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CPUs have numbers below this. */
#define KERNEL_CPUS_MAX 65536u

enum kernel_event_kind {
    /* The timer wheel's. */
    KERNEL_TIMER_START,
    KERNEL_TIMER_CANCEL,
    KERNEL_TIMER_EXPIRE,
    KERNEL_TIMER_EXIT, /* its function has returned */
    /* The high-resolution timers'. */
    KERNEL_HRTIMER_START,
    KERNEL_HRTIMER_CANCEL,
    KERNEL_HRTIMER_EXPIRE,
    KERNEL_EVENT_KINDS
};

/* The context of the code that caused an event, by the flags column of tracefs. */
enum kernel_context {
    KERNEL_CONTEXT_UNKNOWN, /* there is no such column */
    KERNEL_CONTEXT_SOFTIRQ, /* of the wheel's callbacks */
    KERNEL_CONTEXT_HARDIRQ, /* of most callbacks of high-resolution timers */
    KERNEL_CONTEXT_OTHER,
};

struct kernel_event {
    enum kernel_event_kind kind;
    enum kernel_context context;
    uint64_t line; /* of the recording; set by the caller */
    uint32_t cpu;
    uint32_t pid; /* of the running task; 0 is the idle task */
    uint64_t time_ns;
    uint64_t pointer;     /* names the timer; hashed or real */
    const char *function; /* the callback's name, inside the line; NULL: the event has none */
    size_t function_length;
    /* TIMER_START: jiffies from then to the deadline, possibly 0 or negative. HRTIMER_START: the
     * deadline in ns of the timer's own clock. */
    int64_t timeout;
    uint64_t slack_ns; /* HRTIMER_START: it may expire this much before the deadline */
    /* TIMER_START and TIMER_EXPIRE: the jiffies counter at that moment. HRTIMER_EXPIRE: the time in
     * ns of the timer's own clock. */
    uint64_t now;
    /* TIMER_START: the jiffy into which the kernel rounded the deadline; 0: unknown. TIMER_EXPIRE:
     * the jiffy for which the wheel expired it, `now` or, where that is late, before. */
    uint64_t bucket;
    uint32_t base_cpu; /* TIMER_START: the CPU of the wheel that holds the timer */
    bool deferrable;   /* TIMER_START: an idle CPU does not wake up for it */
};

enum kernel_line {
    KERNEL_LINE_TIMER,    /* `event` is filled in */
    KERNEL_LINE_OTHER,    /* another event; only time_ns, cpu, pid and context are filled in */
    KERNEL_LINE_LOST,     /* a marker for `lost_events` lost events */
    KERNEL_LINE_BLANK,    /* empty, a comment, a heading, or the continuation of an event */
    KERNEL_LINE_MALFORMED /* `why` is set */
};

struct kernel_line_result {
    struct kernel_event event;
    uint64_t lost_events; /* 0: the marker has no number */
    const char *why;
    bool named; /* event.kind is set, even if the line is malformed */
};

/* Parse a line without its newline. Reads nothing outside it, allocates nothing. */
enum kernel_line kernel_line_parse(const char *text, size_t length,
                                   struct kernel_line_result *result);

#endif
