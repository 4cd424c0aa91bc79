#include "log_time.h"

#include "timer_model.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define YEAR_MAX 2200 /* 2^63 ns last until 2262 */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether a text begins with a shape, in which 0 stands for a digit and x for any character. */
static bool has_shape(const char *text, const char *shape)
{
    for (; *shape != '\0'; text++, shape++) {
        if (*shape == '0' ? !is_digit(*text) : *shape != 'x' && *shape != *text) {
            return false;
        }
    }
    return true;
}

/* Return the number that these digits make. */
static int digits_at(const char *text, size_t count)
{
    int number = 0;
    for (size_t i = 0; i < count; i++) {
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

/* "+hhmm" or "+hh:mm": seconds that the zone is ahead of UTC. */
static bool take_zone(const char *text, size_t length, int64_t *seconds)
{
    bool colon = length == 6;
    if ((length != 5 && !colon) || (text[0] != '+' && text[0] != '-') ||
        !has_shape(text + 1, colon ? "00:00" : "0000")) {
        return false;
    }
    int hours = digits_at(text + 1, 2);
    int minutes = digits_at(text + length - 2, 2);
    *seconds = (hours * 3600 + minutes * 60) * (text[0] == '-' ? -1 : 1);
    return hours <= 23 && minutes <= 59;
}

/* The time of a day and of "hh:mm:ss", in a zone that is `ahead` seconds ahead of UTC. False: there
 * is no such time, or it is before 1970. A second may be a leap second. */
static bool take_moment(int year, int month, int day, const char *clock, int64_t ahead,
                        uint64_t *time_ns)
{
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    int hour = digits_at(clock, 2);
    int minute = digits_at(clock + 3, 2);
    int second = digits_at(clock + 6, 2);
    /* timegm turns a day that its month does not have into one of the next. */
    int64_t seconds = timegm(&tm) + hour * 3600 + minute * 60 + second - ahead;
    if (year < 1970 || year > YEAR_MAX || tm.tm_mon != month - 1 || tm.tm_mday != day ||
        hour > 23 || minute > 59 || second > 60 || seconds < 0) {
        return false;
    }
    *time_ns = (uint64_t)seconds * NS_PER_SECOND;
    return true;
}

/* Return the month of that name; 0: there is none. */
static int month_of(const char *name)
{
    static const char names[] = "jan feb mar apr may jun jul aug sep oct nov dec";
    for (int month = 1; month <= 12; month++) {
        const char *candidate = names + (size_t)(month - 1) * 4;
        if ((name[0] | 0x20) == candidate[0] && (name[1] | 0x20) == candidate[1] &&
            (name[2] | 0x20) == candidate[2]) {
            return month;
        }
    }
    return 0;
}

/* Add the digits from place `i` on, as tenths of a unit and so on; returns the place after. */
static size_t take_fraction(const char *text, size_t length, size_t i, uint64_t unit_ns,
                            uint64_t *time_ns)
{
    for (; i < length && is_digit(text[i]); i++) {
        unit_ns /= 10;
        *time_ns += (uint64_t)(text[i] - '0') * unit_ns;
    }
    return i;
}

/* A date and a clock of 20 bytes. */
static bool parse_clf(const char *text, int64_t ahead, uint64_t *time_ns)
{
    return has_shape(text, "00/xxx/0000:00:00:00") &&
           take_moment(digits_at(text + 7, 4), month_of(text + 3), digits_at(text, 2), text + 12,
                       ahead, time_ns);
}

bool log_time_parse_clf(const char *text, size_t length, uint64_t *time_ns)
{
    int64_t ahead;
    return length == 26 && text[20] == ' ' && take_zone(text + 21, 5, &ahead) &&
           parse_clf(text, ahead, time_ns);
}

bool log_time_parse_haproxy(const char *text, size_t length, uint64_t *time_ns)
{
    return length == 24 && text[20] == '.' && parse_clf(text, 0, time_ns) &&
           take_fraction(text, length, 21, NS_PER_SECOND, time_ns) == length;
}

bool log_time_parse_number(const char *text, size_t length, uint64_t unit_ns, uint64_t *time_ns)
{
    size_t i = 0;
    uint64_t whole = 0;
    for (; i < length && is_digit(text[i]); i++) {
        if (i == 19) {
            return false;
        }
        whole = whole * 10 + (uint64_t)(text[i] - '0');
    }
    if (i == 0 || whole > TIMER_MODEL_TIME_MAX_NS / unit_ns) {
        return false;
    }
    *time_ns = whole * unit_ns;
    if (i < length && text[i] == '.') {
        i = take_fraction(text, length, i + 1, unit_ns, time_ns);
    }
    return i == length && *time_ns <= TIMER_MODEL_TIME_MAX_NS;
}

bool log_time_parse_iso(const char *text, size_t length, uint64_t *time_ns)
{
    if (length < 19 || !has_shape(text, "0000-00-00x00:00:00") ||
        (text[10] != 'T' && text[10] != ' ')) {
        return false;
    }
    size_t i = 19;
    uint64_t fraction_ns = 0;
    if (i < length && (text[i] == '.' || text[i] == ',')) {
        i = take_fraction(text, length, i + 1, NS_PER_SECOND, &fraction_ns);
    }
    int64_t ahead = 0;
    bool utc = i == length || (i + 1 == length && text[i] == 'Z');
    if ((!utc && !take_zone(text + i, length - i, &ahead)) ||
        !take_moment(digits_at(text, 4), digits_at(text + 5, 2), digits_at(text + 8, 2), text + 11,
                     ahead, time_ns)) {
        return false;
    }
    *time_ns += fraction_ns;
    return true;
}

/* --- forms of time ---------------------------------------------------------------------------- */

/* A day in a leap year, so that a date without a year may be 29 February. */
#define YEAR_UNKNOWN 72

/* A format in two parts, because a fraction may follow the seconds. */
struct split_format {
    char head[128];
    const char *tail;
};

static bool split_format(const char *format, struct split_format *split)
{
    size_t length = strlen(format);
    size_t head = length;
    for (size_t i = 0; i + 1 < length; i++) {
        if (format[i] == '%') {
            i++;
            head = strchr("STcrX", format[i]) != NULL ? i + 1 : head;
        }
    }
    if (head >= sizeof split->head) {
        return false;
    }
    memcpy(split->head, format, head);
    split->head[head] = '\0';
    split->tail = format + head;
    return true;
}

static bool parse_format(const char *format, const char *text, size_t length, uint64_t *time_ns)
{
    struct split_format split;
    char copy[128];
    if (length >= sizeof copy || !split_format(format, &split)) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    struct tm tm = {.tm_mday = 1, .tm_year = YEAR_UNKNOWN};
    const char *at = strptime(copy, split.head, &tm);
    uint64_t fraction_ns = 0;
    if (at != NULL && (*at == '.' || *at == ',')) {
        size_t from = (size_t)(at - copy) + 1;
        at = copy + take_fraction(copy, length, from, NS_PER_SECOND, &fraction_ns);
    }
    at = at != NULL ? strptime(at, split.tail, &tm) : NULL;
    if (at == NULL || *at != '\0') {
        return false;
    }
    int64_t ahead = tm.tm_gmtoff;
    int64_t seconds = (int64_t)timegm(&tm) - ahead;
    if (seconds < 0 || seconds > INT64_C(7258118400)) {
        return false;
    }
    *time_ns = (uint64_t)seconds * NS_PER_SECOND + fraction_ns;
    return true;
}

bool log_time_format_check(const char *option, const char *format, struct error *error)
{
    /* strptime knows a format if it reads the output of strftime. */
    static const time_t then = 1431857103;
    struct tm tm;
    char text[128];
    uint64_t time_ns;
    (void)gmtime_r(&then, &tm);
    if (strstr(format, "%s") == NULL && strftime(text, sizeof text, format, &tm) > 0 &&
        parse_format(format, text, strlen(text), &time_ns)) {
        return true;
    }
    return error_set(
        error, "%s %s: not a format of strptime(3), such as '%%d/%%b/%%Y:%%H:%%M:%%S'%s", option,
        format, strstr(format, "%s") != NULL ? "; seconds since 1970 are --time-unit s" : "");
}

/* Return why a number is no time: most often its unit is another. */
static const char *wrong_number(struct log_value value, uint64_t unit_ns)
{
    size_t digits = 0;
    while (digits < value.length && is_digit(value.text[digits])) {
        digits++;
    }
    if (unit_ns == NS_PER_SECOND && digits >= 12 && digits <= 19) {
        return digits < 15   ? "no time in seconds: it looks like milliseconds, --time-unit ms"
               : digits < 18 ? "no time in seconds: it looks like microseconds, --time-unit us"
                             : "no time in seconds: it looks like nanoseconds, --time-unit ns";
    }
    return "no time where it should be";
}

const char *log_time_parse(struct log_time_form *form, struct log_value value, uint64_t *time_ns)
{
    static const struct {
        bool (*parse)(const char *text, size_t length, uint64_t *time_ns);
        const char *why;
    } dates[] = {
        [LOG_TIME_ISO] = {log_time_parse_iso, "no date where the time should be"},
        [LOG_TIME_CLF] = {log_time_parse_clf, "no time where the format has it"},
        [LOG_TIME_HAPROXY] = {log_time_parse_haproxy, "no time where the format has it"},
    };
    if (form->kind == LOG_TIME_ANY) {
        form->kind = log_time_parse_iso(value.text, value.length, time_ns)   ? LOG_TIME_ISO
                     : log_time_parse_clf(value.text, value.length, time_ns) ? LOG_TIME_CLF
                                                                             : LOG_TIME_NUMBER;
    }
    if (form->kind == LOG_TIME_NUMBER) {
        return log_time_parse_number(value.text, value.length, form->unit_ns, time_ns)
                   ? NULL
                   : wrong_number(value, form->unit_ns);
    }
    if (form->kind == LOG_TIME_FORMAT) {
        return parse_format(form->format, value.text, value.length, time_ns)
                   ? NULL
                   : "the time is not of its format";
    }
    return dates[form->kind].parse(value.text, value.length, time_ns) ? NULL
                                                                      : dates[form->kind].why;
}

void log_time_print(uint64_t time_ns, char *text, size_t room)
{
    time_t seconds = (time_t)(time_ns / NS_PER_SECOND);
    unsigned us = (unsigned)(time_ns % NS_PER_SECOND / 1000);
    struct tm tm;
    char date[32];
    if (seconds < 31 * 86400 || gmtime_r(&seconds, &tm) == NULL ||
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm) == 0) {
        (void)snprintf(text, room, "%.6f s", (double)time_ns / 1e9);
    } else {
        (void)snprintf(text, room, "%s.%06u UTC", date, us);
    }
}
