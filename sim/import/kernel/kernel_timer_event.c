#include "kernel_timer_event.h"

#include <ctype.h>
#include <string.h>

/* The part of a line that is not parsed yet. */
struct cursor {
    const char *at;
    const char *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && *cursor->at == ' ') {
        cursor->at++;
    }
}

static bool take_text(struct cursor *cursor, const char *text, size_t length)
{
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, text, length) != 0) {
        return false;
    }
    cursor->at += length;
    return true;
}

#define TAKE(cursor, literal) take_text(cursor, literal, sizeof(literal) - 1)

/* Take a decimal number of at most 19 digits. */
static bool take_number(struct cursor *cursor, uint64_t *number)
{
    const char *begin = cursor->at;
    const char *at = begin;
    uint64_t value = 0;
    for (; at < cursor->end && is_digit(*at) && at - begin < 20; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
    }
    cursor->at = at;
    *number = value;
    return at > begin && at - begin <= 19;
}

static bool take_signed(struct cursor *cursor, int64_t *number)
{
    bool negative = TAKE(cursor, "-");
    uint64_t value;
    if (!take_number(cursor, &value) || value > INT64_MAX) {
        return false;
    }
    *number = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

/* Take a pointer, with or without 0x before it. */
static bool take_pointer(struct cursor *cursor, uint64_t *pointer)
{
    (void)TAKE(cursor, "0x");
    const char *begin = cursor->at;
    const char *at = begin;
    uint64_t value = 0;
    for (; at < cursor->end && isxdigit((unsigned char)*at) && at - begin < 16; at++) {
        value = value << 4 | (uint64_t)(is_digit(*at) ? *at - '0' : (*at | 0x20) - 'a' + 10);
    }
    cursor->at = at;
    *pointer = value;
    return at > begin && (at == cursor->end || *at == ' ');
}

/* Take " [MODULE]" after the name of a module's function. */
static void take_module(struct cursor *cursor)
{
    const char *begin = cursor->at;
    if (!TAKE(cursor, " [")) {
        return;
    }
    while (cursor->at < cursor->end && *cursor->at != ' ' && *cursor->at != ']') {
        cursor->at++;
    }
    if (!TAKE(cursor, "]")) {
        cursor->at = begin;
    }
}

/* Take "function=NAME", up to the next blank, with its module if it has one. trace-cmd adds "/0x0"
 * to some names. */
static bool take_function(struct cursor *cursor, struct kernel_event *event)
{
    if (!TAKE(cursor, "function=")) {
        return false;
    }
    const char *begin = cursor->at;
    const char *blank = memchr(begin, ' ', (size_t)(cursor->end - begin));
    const char *end = blank != NULL ? blank : cursor->end;
    cursor->at = end;
    take_module(cursor);
    if (end - begin > 4 && memcmp(end - 4, "/0x0", 4) == 0) {
        end -= 4;
    } else {
        end = cursor->at;
    }
    event->function = begin;
    event->function_length = (size_t)(end - begin);
    return end > begin && (TAKE(cursor, " ") || cursor->at == cursor->end);
}

/* Take SECONDS.FRACTION, the fraction of up to nine digits. */
static bool take_time(struct cursor *cursor, uint64_t *time_ns)
{
    uint64_t seconds;
    if (!take_number(cursor, &seconds) || seconds > UINT64_C(9000000000) || !TAKE(cursor, ".")) {
        return false;
    }
    const char *begin = cursor->at;
    uint64_t fraction;
    if (!take_number(cursor, &fraction)) {
        return false;
    }
    size_t digits = (size_t)(cursor->at - begin);
    if (digits > 9) {
        return false;
    }
    for (; digits < 9; digits++) {
        fraction *= 10;
    }
    *time_ns = seconds * UINT64_C(1000000000) + fraction;
    return true;
}

/* Parse the task column, up to the bracket: a name, '-' or a blank, the pid; perhaps a thread group
 * in parentheses. From its end, because the name may contain any character. */
static bool parse_task(const char *begin, const char *end, uint32_t *pid)
{
    while (end > begin && end[-1] == ' ') {
        end--;
    }
    if (end > begin && end[-1] == ')') {
        while (end > begin && end[-1] != '(') {
            end--;
        }
        if (end > begin) {
            end--;
        }
        while (end > begin && end[-1] == ' ') {
            end--;
        }
    }
    const char *digits = end;
    uint32_t value = 0;
    for (uint32_t worth = 1; digits > begin && end - digits <= 9 && is_digit(digits[-1]);
         worth *= 10) {
        value += (uint32_t)(*--digits - '0') * worth;
    }
    if (digits == end || end - digits > 9 || digits == begin ||
        (digits[-1] != '-' && digits[-1] != ' ' && digits[-1] != '/')) {
        return false;
    }
    *pid = value;
    return true;
}

/* By the third flag of tracefs, after irqs off and need resched; H is a hardirq within a
 * softirq. */
static enum kernel_context context_of(char flag)
{
    return flag == 's'                  ? KERNEL_CONTEXT_SOFTIRQ
           : flag == 'h' || flag == 'H' ? KERNEL_CONTEXT_HARDIRQ
                                        : KERNEL_CONTEXT_OTHER;
}

/* Parse from a bracket on: [CPU], perhaps flags, time stamp and colon. */
static bool parse_head(const char *line, struct cursor *cursor, struct kernel_event *event)
{
    const char *bracket = cursor->at++;
    uint64_t cpu;
    if (bracket == line || bracket[-1] != ' ' || !take_number(cursor, &cpu) ||
        cpu >= KERNEL_CPUS_MAX || !TAKE(cursor, "] ")) {
        return false;
    }
    skip_blanks(cursor);
    event->context = KERNEL_CONTEXT_UNKNOWN;
    if (cursor->at < cursor->end && !is_digit(*cursor->at)) {
        const char *blank = memchr(cursor->at, ' ', (size_t)(cursor->end - cursor->at));
        if (blank == NULL) {
            return false;
        }
        event->context =
            blank - cursor->at < 4 ? KERNEL_CONTEXT_UNKNOWN : context_of(cursor->at[2]);
        cursor->at = blank;
        skip_blanks(cursor);
    }
    event->cpu = (uint32_t)cpu;
    return take_time(cursor, &event->time_ns) && TAKE(cursor, ":") &&
           parse_task(line, bracket, &event->pid);
}

/* Whether a character of the dump format, before the colon, marks a delay before the next event. */
static bool is_delay_mark(char c)
{
    return c != '\0' && strchr(" +!#*@$", c) != NULL;
}

/* Parse the head of the kernel's dump and of its latency format: the CPU and the flags without
 * brackets, the time in microseconds, as in "<idle>-0 1..s.. 100000100us : ". The cursor is at the
 * colon. */
static bool parse_dump_head(const char *line, struct cursor *cursor, struct kernel_event *event)
{
    const char *at = cursor->at;
    if (at - line < 5 || !is_delay_mark(at[-1]) || memcmp(at - 3, "us", 2) != 0) {
        return false;
    }
    const char *time = at - 3;
    while (time > line && is_digit(time[-1])) {
        time--;
    }
    const char *flags = time;
    while (flags > line && flags[-1] == ' ') {
        flags--;
    }
    const char *flags_end = flags;
    while (flags > line && flags[-1] != ' ') {
        flags--;
    }
    struct cursor numbers = {time, at};
    uint64_t microseconds;
    if (!take_number(&numbers, &microseconds) || microseconds > UINT64_C(9000000000000000)) {
        return false;
    }
    numbers = (struct cursor){flags, flags_end};
    uint64_t cpu;
    if (!take_number(&numbers, &cpu) || cpu >= KERNEL_CPUS_MAX || flags_end - numbers.at < 4) {
        return false;
    }
    event->context = context_of(numbers.at[2]);
    event->cpu = (uint32_t)cpu;
    event->time_ns = microseconds * 1000;
    cursor->at++;
    return parse_task(line, flags, &event->pid);
}

/* Take printk's prefix of a dump's line: "<4>", "[  221.630578]", "[ T123]". False: there is
 * none. */
static bool take_printk_prefix(struct cursor *cursor)
{
    struct cursor at = *cursor;
    uint64_t number;
    if (TAKE(&at, "<") && (!take_number(&at, &number) || !TAKE(&at, ">"))) {
        return false;
    }
    if (!TAKE(&at, "[")) {
        return false;
    }
    skip_blanks(&at);
    if (!take_number(&at, &number) || !TAKE(&at, ".") || !take_number(&at, &number) ||
        !TAKE(&at, "]")) {
        return false;
    }
    if (TAKE(&at, "[")) {
        const char *end = memchr(at.at, ']', (size_t)(at.end - at.at));
        at.at = end != NULL ? end + 1 : at.at;
    }
    *cursor = at;
    return true;
}

/* Take the event's name, without perf's subsystem before it. */
static bool take_event_name(struct cursor *cursor, const char **name, size_t *length)
{
    for (;;) {
        const char *begin = cursor->at;
        const char *colon = memchr(begin, ':', (size_t)(cursor->end - begin));
        if (colon == NULL || colon == begin) {
            return false;
        }
        *name = begin;
        *length = (size_t)(colon - begin);
        cursor->at = colon + 1;
        if (cursor->at == cursor->end || *cursor->at == ' ') {
            return true;
        }
    }
}

static bool take_timer_start(struct cursor *cursor, struct kernel_event *event)
{
    uint64_t expires;
    if (!take_function(cursor, event) || !TAKE(cursor, "expires=") ||
        !take_number(cursor, &expires) || !TAKE(cursor, " [timeout=") ||
        !take_signed(cursor, &event->timeout) || !TAKE(cursor, "]")) {
        return false;
    }
    event->now = expires - (uint64_t)event->timeout;
    /* Not all kernels print the rest. */
    uint64_t cpu = event->cpu;
    uint64_t index;
    if (TAKE(cursor, " bucket_expiry=")) {
        (void)take_number(cursor, &event->bucket);
    }
    if (TAKE(cursor, " cpu=") && take_number(cursor, &cpu) && cpu < KERNEL_CPUS_MAX) {
        event->base_cpu = (uint32_t)cpu;
    }
    if (TAKE(cursor, " idx=") && take_number(cursor, &index)) {
        /* perf and trace-cmd write D|P|I for all timers, because they do not know. */
        event->deferrable = TAKE(cursor, " flags=D") && !TAKE(cursor, "|P|I");
    }
    return true;
}

static bool take_expire(struct cursor *cursor, struct kernel_event *event)
{
    /* trace-cmd has a form of its own for hrtimers, in which the time comes first. */
    bool time_first = TAKE(cursor, "now=");
    if (time_first) {
        if (!take_number(cursor, &event->now)) {
            return false;
        }
        skip_blanks(cursor);
        event->bucket = event->now;
        return take_function(cursor, event);
    }
    if (!take_function(cursor, event) || !TAKE(cursor, "now=") ||
        !take_number(cursor, &event->now)) {
        return false;
    }
    event->bucket = event->now;
    return !TAKE(cursor, " baseclk=") || take_number(cursor, &event->bucket);
}

static bool take_hrtimer_start(struct cursor *cursor, struct kernel_event *event)
{
    int64_t soft;
    if (!take_function(cursor, event) || !TAKE(cursor, "expires=") ||
        !take_signed(cursor, &event->timeout)) {
        return false;
    }
    if (TAKE(cursor, " softexpires=") && take_signed(cursor, &soft) && soft >= 0 &&
        soft < event->timeout) {
        event->slack_ns = (uint64_t)(event->timeout - soft);
    }
    return true;
}

/* By kind. */
static const struct {
    const char *name;
    const char *why;
} timer_events[] = {
    [KERNEL_TIMER_START] = {"timer_start",
                            "timer_start without timer=, function=, expires= and [timeout=]"},
    [KERNEL_TIMER_CANCEL] = {"timer_cancel", "timer_cancel without timer="},
    [KERNEL_TIMER_EXPIRE] = {"timer_expire_entry",
                             "timer_expire_entry without timer=, function= and now="},
    [KERNEL_TIMER_EXIT] = {"timer_expire_exit", "timer_expire_exit without timer="},
    [KERNEL_HRTIMER_START] = {"hrtimer_start",
                              "hrtimer_start without hrtimer=, function= and expires="},
    [KERNEL_HRTIMER_CANCEL] = {"hrtimer_cancel", "hrtimer_cancel without hrtimer="},
    [KERNEL_HRTIMER_EXPIRE] = {"hrtimer_expire_entry",
                               "hrtimer_expire_entry without hrtimer=, function= and now="},
};

/* Return the kind of an event of this name, or KERNEL_EVENT_KINDS. */
static size_t find_kind(const char *name, size_t length)
{
    for (size_t kind = 0; kind < KERNEL_EVENT_KINDS; kind++) {
        if (strlen(timer_events[kind].name) == length &&
            memcmp(timer_events[kind].name, name, length) == 0) {
            return kind;
        }
    }
    return KERNEL_EVENT_KINDS;
}

/* Take the fields after the event's name. */
static bool take_fields(struct cursor *cursor, struct kernel_event *event)
{
    event->base_cpu = event->cpu;
    skip_blanks(cursor);
    if (event->kind >= KERNEL_HRTIMER_START && !TAKE(cursor, "hr")) {
        return false;
    }
    if (!TAKE(cursor, "timer=") || !take_pointer(cursor, &event->pointer)) {
        return false;
    }
    skip_blanks(cursor);
    switch (event->kind) {
    case KERNEL_TIMER_START:
        return take_timer_start(cursor, event);
    case KERNEL_HRTIMER_START:
        return take_hrtimer_start(cursor, event);
    case KERNEL_TIMER_EXPIRE:
    case KERNEL_HRTIMER_EXPIRE:
        return take_expire(cursor, event);
    case KERNEL_TIMER_CANCEL:
    case KERNEL_TIMER_EXIT:
    case KERNEL_HRTIMER_CANCEL:
    case KERNEL_EVENT_KINDS:
    default:
        return true;
    }
}

/* Whether it is the heading of a stack trace. */
static bool is_stack_heading(struct cursor cursor)
{
    return TAKE(&cursor, "<stack trace") || TAKE(&cursor, "<user stack trace");
}

/* Whether it is a line of the function tracer, FUNCTION <-CALLER. */
static bool is_call(struct cursor cursor)
{
    return memmem(cursor.at, (size_t)(cursor.end - cursor.at), " <-", 3) != NULL;
}

static enum kernel_line parse_event(struct cursor *cursor, struct kernel_line_result *result)
{
    skip_blanks(cursor);
    const struct cursor line = *cursor;
    const char *name = NULL;
    size_t length = 0;
    bool named = take_event_name(cursor, &name, &length);
    size_t kind = named ? find_kind(name, length) : KERNEL_EVENT_KINDS;
    if (kind == KERNEL_EVENT_KINDS) {
        if (is_stack_heading(line)) {
            return KERNEL_LINE_BLANK;
        }
        if (named || is_call(line)) {
            return KERNEL_LINE_OTHER;
        }
        result->why = "no event name after the time stamp";
        return KERNEL_LINE_MALFORMED;
    }
    result->event.kind = (enum kernel_event_kind)kind;
    result->named = true;
    if (!take_fields(cursor, &result->event)) {
        result->why = timer_events[kind].why;
        return KERNEL_LINE_MALFORMED;
    }
    return KERNEL_LINE_TIMER;
}

/* Parse "CPU:0 [LOST 2521 EVENTS]" of trace_pipe, "CPU:0 [2521 EVENTS DROPPED]" of trace-cmd, or
 * either without a number. */
static bool parse_lost(struct cursor cursor, uint64_t *events)
{
    uint64_t cpu;
    *events = 0;
    if (!TAKE(&cursor, "CPU:") || !take_number(&cursor, &cpu) || !TAKE(&cursor, " [")) {
        return false;
    }
    if (TAKE(&cursor, "LOST ")) {
        (void)(take_number(&cursor, events) && TAKE(&cursor, " "));
        return TAKE(&cursor, "EVENTS]");
    }
    (void)(take_number(&cursor, events) && TAKE(&cursor, " "));
    return TAKE(&cursor, "EVENTS DROPPED]");
}

/* Whether a line is no event: comments, trace-cmd's heading, call chains. */
static bool is_blank(struct cursor cursor)
{
    if (cursor.at == cursor.end || *cursor.at == '#' || *cursor.at == '\t' ||
        TAKE(&cursor, "cpus=") || TAKE(&cursor, "version = ") || TAKE(&cursor, " => ") ||
        TAKE(&cursor, "=> ")) {
        return true;
    }
    skip_blanks(&cursor);
    return cursor.at == cursor.end;
}

/* Take the head of an event, which the parser recognizes at one of the places of a character. */
static bool take_head(struct cursor *cursor, char character,
                      bool (*parse)(const char *line, struct cursor *, struct kernel_event *),
                      struct kernel_event *event)
{
    for (const char *at = cursor->at;
         (at = memchr(at, character, (size_t)(cursor->end - at))) != NULL; at++) {
        struct cursor head = {at, cursor->end};
        if (parse(cursor->at, &head, event)) {
            *cursor = head;
            return true;
        }
    }
    return false;
}

enum kernel_line kernel_line_parse(const char *text, size_t length,
                                   struct kernel_line_result *result)
{
    struct cursor cursor = {text, text + length};
    *result = (struct kernel_line_result){0};
    /* A task's name may look like a CPU column; only the real one has a time stamp after it. */
    if (take_head(&cursor, '[', parse_head, &result->event)) {
        return parse_event(&cursor, result);
    }
    bool printed = take_printk_prefix(&cursor);
    if (take_head(&cursor, ':', parse_dump_head, &result->event)) {
        return parse_event(&cursor, result);
    }
    if (printed || is_blank(cursor)) {
        return KERNEL_LINE_BLANK;
    }
    if (parse_lost(cursor, &result->lost_events)) {
        return KERNEL_LINE_LOST;
    }
    result->why = "no [CPU] column with a time stamp in seconds after it";
    return KERNEL_LINE_MALFORMED;
}
