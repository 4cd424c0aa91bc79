#include "kernel_timer_event.h"

#include <string.h>

/* What is left of the line. */
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

/* A decimal number of at most 19 digits, which uint64_t holds. */
static bool take_number(struct cursor *cursor, uint64_t *number)
{
    const char *begin = cursor->at;
    uint64_t value = 0;
    while (cursor->at < cursor->end && is_digit(*cursor->at)) {
        value = value * 10 + (uint64_t)(*cursor->at - '0');
        cursor->at++;
        if (cursor->at - begin > 19) {
            return false;
        }
    }
    *number = value;
    return cursor->at > begin;
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

/* What a hexadecimal digit is worth, and 16; 0 for what is none. Digits and letters come by chance,
 * so that a table costs less than asking which it is. */
#define HEX_DIGIT 16u

static const unsigned char hex[256] = {
    ['0'] = 16, ['1'] = 17, ['2'] = 18, ['3'] = 19, ['4'] = 20, ['5'] = 21, ['6'] = 22, ['7'] = 23,
    ['8'] = 24, ['9'] = 25, ['a'] = 26, ['b'] = 27, ['c'] = 28, ['d'] = 29, ['e'] = 30, ['f'] = 31,
    ['A'] = 26, ['B'] = 27, ['C'] = 28, ['D'] = 29, ['E'] = 30, ['F'] = 31,
};

/* Sixteen digits, as the kernel prints pointers; as two numbers, neither of which waits for the
 * other. */
static bool take_sixteen_digits(const char *at, uint64_t *value)
{
    uint64_t upper = 0;
    uint64_t lower = 0;
    unsigned all = HEX_DIGIT;
    for (int i = 0; i < 8; i++) {
        unsigned one = hex[(unsigned char)at[i]];
        unsigned other = hex[(unsigned char)at[8 + i]];
        all &= one & other;
        upper = upper << 4 | (one & 15);
        lower = lower << 4 | (other & 15);
    }
    *value = upper << 32 | lower;
    return all == HEX_DIGIT;
}

/* A pointer, with or without 0x before it. */
static bool take_pointer(struct cursor *cursor, uint64_t *pointer)
{
    (void)TAKE(cursor, "0x");
    const char *begin = cursor->at;
    const char *at = begin;
    if (cursor->end - at > 16 && at[16] == ' ' && take_sixteen_digits(at, pointer)) {
        cursor->at = at + 16;
        return true;
    }
    uint64_t value = 0;
    for (unsigned digit; at < cursor->end && (digit = hex[(unsigned char)*at]) != 0; at++) {
        value = value << 4 | (digit & 15);
    }
    cursor->at = at;
    *pointer = value;
    size_t digits = (size_t)(at - begin);
    return digits > 0 && digits <= 16 && (at == cursor->end || *at == ' ');
}

/* "function=NAME", the name up to the next blank. trace-cmd adds "/0x0" to some. */
static bool take_function(struct cursor *cursor, struct kernel_event *event)
{
    if (!TAKE(cursor, "function=")) {
        return false;
    }
    const char *begin = cursor->at;
    const char *blank = memchr(begin, ' ', (size_t)(cursor->end - begin));
    const char *end = blank != NULL ? blank : cursor->end;
    cursor->at = end;
    if (end - begin > 4 && memcmp(end - 4, "/0x0", 4) == 0) {
        end -= 4;
    }
    event->function = begin;
    event->function_length = (size_t)(end - begin);
    return end > begin && (TAKE(cursor, " ") || cursor->at == cursor->end);
}

/* SECONDS.FRACTION, the fraction in up to nine digits. */
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

/* The task column, which ends before the bracket: a name, '-' or a blank, the pid; perhaps a thread
 * group behind it, in parentheses. Read from its end, because the name may hold anything. */
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
    while (digits > begin && is_digit(digits[-1])) {
        digits--;
    }
    if (digits == end || end - digits > 9 || digits == begin ||
        (digits[-1] != '-' && digits[-1] != ' ' && digits[-1] != '/')) {
        return false;
    }
    uint32_t value = 0;
    for (const char *c = digits; c < end; c++) {
        value = value * 10 + (uint32_t)(*c - '0');
    }
    *pid = value;
    return true;
}

/* From a bracket on: [CPU], perhaps flags, time stamp and colon. */
static bool parse_head(const char *line, struct cursor *cursor, struct kernel_event *event)
{
    const char *bracket = cursor->at++;
    uint64_t cpu;
    if (bracket == line || bracket[-1] != ' ' || !take_number(cursor, &cpu) || cpu > UINT16_MAX ||
        !TAKE(cursor, "] ")) {
        return false;
    }
    skip_blanks(cursor);
    if (cursor->at < cursor->end && !is_digit(*cursor->at)) {
        const char *blank = memchr(cursor->at, ' ', (size_t)(cursor->end - cursor->at));
        if (blank == NULL) {
            return false;
        }
        cursor->at = blank;
        skip_blanks(cursor);
    }
    event->cpu = (uint32_t)cpu;
    return take_time(cursor, &event->time_ns) && TAKE(cursor, ":") &&
           parse_task(line, bracket, &event->pid);
}

/* The event's name, without the subsystem that perf puts before it. */
static bool take_event_name(struct cursor *cursor, const char **name, size_t *length)
{
    skip_blanks(cursor);
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

/* What follows "timer=POINTER " of each kind. */

static bool take_timer_start(struct cursor *cursor, struct kernel_event *event)
{
    uint64_t expires;
    if (!take_function(cursor, event) || !TAKE(cursor, "expires=") ||
        !take_number(cursor, &expires) || !TAKE(cursor, " [timeout=") ||
        !take_signed(cursor, &event->timeout) || !TAKE(cursor, "]")) {
        return false;
    }
    event->now = expires - (uint64_t)event->timeout;
    return true;
}

static bool take_expire(struct cursor *cursor, struct kernel_event *event)
{
    return take_function(cursor, event) && TAKE(cursor, "now=") && take_number(cursor, &event->now);
}

static bool take_hrtimer_start(struct cursor *cursor, struct kernel_event *event)
{
    return take_function(cursor, event) && TAKE(cursor, "expires=") &&
           take_signed(cursor, &event->timeout);
}

static bool take_nothing(struct cursor *cursor, struct kernel_event *event)
{
    (void)cursor;
    (void)event;
    return true;
}

#define TEXT(literal) literal, sizeof(literal) - 1

static const struct {
    const char *name;
    size_t name_length;
    const char *pointer; /* the field that names the timer */
    size_t pointer_length;
    enum kernel_event_kind kind;
    bool (*take)(struct cursor *cursor, struct kernel_event *event);
    const char *why;
} timer_events[] = {
    {TEXT("timer_start"), TEXT("timer="), KERNEL_TIMER_START, take_timer_start,
     "timer_start without timer=, function=, expires= and [timeout=]"},
    {TEXT("timer_cancel"), TEXT("timer="), KERNEL_TIMER_CANCEL, take_nothing,
     "timer_cancel without timer="},
    {TEXT("timer_expire_entry"), TEXT("timer="), KERNEL_TIMER_EXPIRE, take_expire,
     "timer_expire_entry without timer=, function= and now="},
    {TEXT("hrtimer_start"), TEXT("hrtimer="), KERNEL_HRTIMER_START, take_hrtimer_start,
     "hrtimer_start without hrtimer=, function= and expires="},
    {TEXT("hrtimer_cancel"), TEXT("hrtimer="), KERNEL_HRTIMER_CANCEL, take_nothing,
     "hrtimer_cancel without hrtimer="},
    {TEXT("hrtimer_expire_entry"), TEXT("hrtimer="), KERNEL_HRTIMER_EXPIRE, take_expire,
     "hrtimer_expire_entry without hrtimer=, function= and now="},
};

static enum kernel_line parse_event(struct cursor *cursor, struct kernel_line_result *result)
{
    const char *name;
    size_t length;
    if (!take_event_name(cursor, &name, &length)) {
        result->why = "no event's name behind the time stamp";
        return KERNEL_LINE_MALFORMED;
    }
    for (size_t i = 0; i < sizeof timer_events / sizeof timer_events[0]; i++) {
        if (timer_events[i].name_length != length ||
            memcmp(timer_events[i].name, name, length) != 0) {
            continue;
        }
        struct kernel_event *event = &result->event;
        event->kind = timer_events[i].kind;
        event->function = NULL;
        event->function_length = 0;
        event->timeout = 0;
        event->now = 0;
        skip_blanks(cursor);
        if (!take_text(cursor, timer_events[i].pointer, timer_events[i].pointer_length) ||
            !take_pointer(cursor, &event->pointer)) {
            result->why = timer_events[i].why;
            return KERNEL_LINE_MALFORMED;
        }
        skip_blanks(cursor);
        if (!timer_events[i].take(cursor, event)) {
            result->why = timer_events[i].why;
            return KERNEL_LINE_MALFORMED;
        }
        return KERNEL_LINE_TIMER;
    }
    return KERNEL_LINE_OTHER;
}

/* "CPU:0 [LOST 2521 EVENTS]" from trace_pipe, "CPU:0 [2521 EVENTS DROPPED]" from trace-cmd, and
 * both without a number. */
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

/* What the three tools print besides events: comments, trace-cmd's heading, call chains. */
static bool is_blank(struct cursor cursor)
{
    if (cursor.at == cursor.end || *cursor.at == '#' || *cursor.at == '\t' ||
        TAKE(&cursor, "cpus=") || TAKE(&cursor, "version = ") || TAKE(&cursor, " => ")) {
        return true;
    }
    skip_blanks(&cursor);
    return cursor.at == cursor.end;
}

enum kernel_line kernel_line_parse(const char *text, size_t length,
                                   struct kernel_line_result *result)
{
    const char *end = text + length;
    struct cursor cursor = {text, end};
    /* A task's name may look like a CPU column; only the real one has a time stamp behind it. */
    for (;;) {
        const char *bracket = memchr(cursor.at, '[', (size_t)(end - cursor.at));
        if (bracket == NULL) {
            break;
        }
        cursor.at = bracket;
        if (parse_head(text, &cursor, &result->event)) {
            return parse_event(&cursor, result);
        }
        cursor.at = bracket + 1;
    }
    cursor.at = text;
    if (is_blank(cursor)) {
        return KERNEL_LINE_BLANK;
    }
    if (parse_lost(cursor, &result->lost_events)) {
        return KERNEL_LINE_LOST;
    }
    result->why = "no [CPU] column with a time stamp in seconds behind it";
    return KERNEL_LINE_MALFORMED;
}
