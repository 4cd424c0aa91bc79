/* log_time.h: the times of logs: dates, in nanoseconds since 1970 UTC, and numbers. */
#ifndef SIM_LOG_TIME_H
#define SIM_LOG_TIME_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_SECOND UINT64_C(1000000000)

/* A field of a line. */
struct log_value {
    const char *text;
    size_t length;
};

/* "17/May/2015:10:05:03 +0200", as Apache and nginx write it, all `length` bytes of it. False if it
 * is not that, or before 1970. */
bool log_time_parse_clf(const char *text, size_t length, uint64_t *time_ns);

/* "17/May/2015:10:05:03.125", as HAProxy writes it; taken for UTC. */
bool log_time_parse_haproxy(const char *text, size_t length, uint64_t *time_ns);

/* "2015-05-17T10:05:03.25+02:00" (ISO 8601): a blank for the T, no fraction, Z, +0200, or no zone,
 * which is UTC, are understood as well. */
bool log_time_parse_iso(const char *text, size_t length, uint64_t *time_ns);

/* Digits and an optional fraction, in units of `unit_ns` (a power of ten up to 10^9); rounded down
 * to 1 ns. False: not all `length` bytes belong to it, or it is above TIMER_MODEL_TIME_MAX_NS. */
bool log_time_parse_number(const char *text, size_t length, uint64_t unit_ns, uint64_t *time_ns);

enum log_time_kind {
    LOG_TIME_NUMBER,  /* since 1970, in `unit_ns` */
    LOG_TIME_ISO,     /* 2015-05-17T10:05:03+02:00 */
    LOG_TIME_CLF,     /* 17/May/2015:10:05:03 +0200 */
    LOG_TIME_HAPROXY, /* 17/May/2015:10:05:03.125 */
    LOG_TIME_FORMAT,  /* of strptime's `format` */
    LOG_TIME_ANY,     /* a number or one of the dates, by the first time */
};

struct log_time_form {
    enum log_time_kind kind;
    uint64_t unit_ns;
    const char *format;
};

/* Check that strptime knows a format, and that it has seconds. False with `error` set. */
bool log_time_format_check(const char *option, const char *format, struct error *error);

/* Read a time of that form. Returns NULL, or why it is none. */
const char *log_time_parse(struct log_time_form *form, struct log_value value, uint64_t *time_ns);

/* Write a time for a person, "2015-05-17 10:05:03.000000 UTC"; within a month of 1970, where it is
 * no date, as seconds. */
void log_time_print(uint64_t time_ns, char *text, size_t room);

#endif
