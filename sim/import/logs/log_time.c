#include "log_time.h"

#include "timer_model.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_SECOND INT64_C(1000000000)
#define YEAR_MAX      2200u /* 2^63 ns last until 2262 */

/* Return the days from 1970-01-01 to a day of the Gregorian calendar. The year begins with March
 * here, so that the leap day is its last. */
static int64_t days_since_1970(unsigned year, unsigned month, unsigned day)
{
    unsigned y = month <= 2 ? year - 1 : year;
    unsigned m = month <= 2 ? month + 9 : month - 3;
    unsigned days_of_months = (153 * m + 2) / 5; /* 31 30 31 30 31, twice and a bit */
    return (int64_t)y * 365 + y / 4 - y / 100 + y / 400 + days_of_months + day - 1 - 719468;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool two_digits(const char *text, unsigned *number)
{
    unsigned tens = (unsigned)text[0] - '0';
    unsigned ones = (unsigned)text[1] - '0';
    *number = tens * 10 + ones;
    return tens <= 9 && ones <= 9;
}

static bool day_of(unsigned year, unsigned month, unsigned day, int64_t *days)
{
    static const unsigned lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < 1970 || year > YEAR_MAX || month < 1 || month > 12 || day < 1 ||
        day > lengths[month - 1] ||
        (month == 2 && day == 29 && (year % 4 != 0 || (year % 100 == 0 && year % 400 != 0)))) {
        return false;
    }
    *days = days_since_1970(year, month, day);
    return true;
}

/* "hh:mm:ss"; a second may be a leap second. */
static bool take_clock(const char *text, int64_t *seconds)
{
    unsigned hour;
    unsigned minute;
    unsigned second;
    if (!two_digits(text, &hour) || text[2] != ':' || !two_digits(text + 3, &minute) ||
        text[5] != ':' || !two_digits(text + 6, &second) || hour > 23 || minute > 59 ||
        second > 60) {
        return false;
    }
    *seconds = (int64_t)hour * 3600 + (int64_t)minute * 60 + second;
    return true;
}

/* "+hhmm" or "+hh:mm": seconds that the zone is ahead of UTC. */
static bool take_zone(const char *text, size_t length, int64_t *seconds)
{
    unsigned hours;
    unsigned minutes;
    bool colon = length == 6 && text[3] == ':';
    if ((length != 5 && !colon) || (text[0] != '+' && text[0] != '-') ||
        !two_digits(text + 1, &hours) || !two_digits(text + (colon ? 4 : 3), &minutes) ||
        hours > 23 || minutes > 59) {
        return false;
    }
    *seconds = (int64_t)hours * 3600 + (int64_t)minutes * 60;
    if (text[0] == '-') {
        *seconds = -*seconds;
    }
    return true;
}

static unsigned month_of(const char *name)
{
    static const char names[] = "jan feb mar apr may jun jul aug sep oct nov dec";
    for (unsigned month = 1; month <= 12; month++) {
        const char *candidate = names + (size_t)(month - 1) * 4;
        if ((name[0] | 0x20) == candidate[0] && (name[1] | 0x20) == candidate[1] &&
            (name[2] | 0x20) == candidate[2]) {
            return month;
        }
    }
    return 0;
}

/* Fill the cache with the midnight of "dd/Mon/yyyy:" in zone "+hhmm". */
static bool take_midnight(struct log_time_cache *cache, const char *date, const char *zone)
{
    unsigned day;
    unsigned century;
    unsigned year;
    int64_t days;
    int64_t ahead;
    unsigned month = month_of(date + 3);
    if (!two_digits(date, &day) || date[2] != '/' || date[6] != '/' ||
        !two_digits(date + 7, &century) || !two_digits(date + 9, &year) || date[11] != ':' ||
        !day_of(century * 100 + year, month, day, &days) || !take_zone(zone, 5, &ahead)) {
        return false;
    }
    int64_t seconds = days * 86400 - ahead;
    if (seconds < 0) {
        return false;
    }
    memcpy(cache->date, date, sizeof cache->date);
    memcpy(cache->zone, zone, sizeof cache->zone);
    cache->midnight_ns = (uint64_t)(seconds * NS_PER_SECOND);
    cache->filled = true;
    return true;
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

/* A date and a clock of 20 bytes, in a zone of five. */
static bool parse_clf(struct log_time_cache *cache, const char *text, const char *zone,
                      uint64_t *time_ns)
{
    int64_t seconds;
    if (!take_clock(text + 12, &seconds)) {
        return false;
    }
    bool same = cache->filled && memcmp(text, cache->date, sizeof cache->date) == 0 &&
                memcmp(zone, cache->zone, sizeof cache->zone) == 0;
    if (!same && !take_midnight(cache, text, zone)) {
        return false;
    }
    *time_ns = cache->midnight_ns + (uint64_t)(seconds * NS_PER_SECOND);
    return true;
}

bool log_time_parse_clf(struct log_time_cache *cache, const char *text, size_t length,
                        uint64_t *time_ns)
{
    return length == 26 && text[20] == ' ' && parse_clf(cache, text, text + 21, time_ns);
}

bool log_time_parse_haproxy(struct log_time_cache *cache, const char *text, size_t length,
                            uint64_t *time_ns)
{
    uint64_t fraction_ns = 0;
    if (length != 24 || text[20] != '.' || !parse_clf(cache, text, "+0000", time_ns) ||
        take_fraction(text, length, 21, (uint64_t)NS_PER_SECOND, &fraction_ns) != length) {
        return false;
    }
    *time_ns += fraction_ns;
    return true;
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
    unsigned century;
    unsigned year;
    unsigned month;
    unsigned day;
    int64_t days;
    int64_t seconds;
    if (length < 19 || !two_digits(text, &century) || !two_digits(text + 2, &year) ||
        text[4] != '-' || !two_digits(text + 5, &month) || text[7] != '-' ||
        !two_digits(text + 8, &day) || (text[10] != 'T' && text[10] != ' ') ||
        !take_clock(text + 11, &seconds) || !day_of(century * 100 + year, month, day, &days)) {
        return false;
    }
    size_t i = 19;
    uint64_t fraction_ns = 0;
    if (i < length && (text[i] == '.' || text[i] == ',')) {
        i = take_fraction(text, length, i + 1, (uint64_t)NS_PER_SECOND, &fraction_ns);
    }
    int64_t ahead = 0;
    bool utc = i == length || (i + 1 == length && text[i] == 'Z');
    if (!utc && !take_zone(text + i, length - i, &ahead)) {
        return false;
    }
    seconds += days * 86400 - ahead;
    if (seconds < 0) {
        return false;
    }
    *time_ns = (uint64_t)(seconds * NS_PER_SECOND) + fraction_ns;
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
        at = copy + take_fraction(copy, length, from, (uint64_t)NS_PER_SECOND, &fraction_ns);
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
    *time_ns = (uint64_t)(seconds * NS_PER_SECOND) + fraction_ns;
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
    if (unit_ns == (uint64_t)NS_PER_SECOND && digits >= 12 && digits <= 19) {
        return digits < 15   ? "no time in seconds: it looks like milliseconds, --time-unit ms"
               : digits < 18 ? "no time in seconds: it looks like microseconds, --time-unit us"
                             : "no time in seconds: it looks like nanoseconds, --time-unit ns";
    }
    return "no time where it should be";
}

const char *log_time_parse(struct log_time_form *form, struct log_value value, uint64_t *time_ns)
{
    if (form->kind == LOG_TIME_ANY) {
        static const enum log_time_kind kinds[] = {LOG_TIME_ISO, LOG_TIME_CLF};
        form->kind = LOG_TIME_NUMBER;
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
            struct log_time_form tried = {.kind = kinds[i]};
            if (log_time_parse(&tried, value, time_ns) == NULL) {
                form->kind = kinds[i];
            }
        }
    }
    const char *text = value.text;
    size_t length = value.length;
    switch (form->kind) {
    case LOG_TIME_ISO:
        return log_time_parse_iso(text, length, time_ns) ? NULL
                                                         : "no date where the time should be";
    case LOG_TIME_CLF:
        return log_time_parse_clf(&form->cache, text, length, time_ns)
                   ? NULL
                   : "no time where the format has it";
    case LOG_TIME_HAPROXY:
        return log_time_parse_haproxy(&form->cache, text, length, time_ns)
                   ? NULL
                   : "no time where the format has it";
    case LOG_TIME_FORMAT:
        return parse_format(form->format, text, length, time_ns) ? NULL
                                                                 : "the time is not of its format";
    case LOG_TIME_NUMBER:
    case LOG_TIME_ANY:
    default:
        return log_time_parse_number(text, length, form->unit_ns, time_ns)
                   ? NULL
                   : wrong_number(value, form->unit_ns);
    }
}

void log_time_print(uint64_t time_ns, char *text, size_t room)
{
    time_t seconds = (time_t)(time_ns / (uint64_t)NS_PER_SECOND);
    unsigned us = (unsigned)(time_ns % (uint64_t)NS_PER_SECOND / 1000);
    struct tm tm;
    char date[32];
    if (seconds < 31 * 86400 || gmtime_r(&seconds, &tm) == NULL ||
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm) == 0) {
        (void)snprintf(text, room, "%.6f s", (double)time_ns / 1e9);
    } else {
        (void)snprintf(text, room, "%s.%06u UTC", date, us);
    }
}

size_t log_values_join(const struct log_value *parts, size_t count, char *key, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < count && used < room; i++) {
        if (i > 0) {
            key[used++] = '\0';
        }
        size_t left = room - used;
        size_t length = parts[i].length < left ? parts[i].length : left;
        memcpy(key + used, parts[i].text, length);
        used += length;
    }
    return used;
}
