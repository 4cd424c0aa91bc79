/*
 * log_format.h: a web server's log format, as in its configuration: Apache's LogFormat (`%h %l %u
 * %t "%r" %>s %b`) or nginx's log_format (`$remote_addr - $remote_user [$time_local]`). Additional
 * names, such as %{haproxy}t, are for the formats of other servers.
 *
 * A format is a list of fields with text between them. Lines are parsed up to the last wanted
 * field.
 */
#ifndef SIM_LOG_FORMAT_H
#define SIM_LOG_FORMAT_H

#include "error.h"
#include "log_time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_FIELDS_MAX 64u

enum log_field_kind {
    LOG_FIELD_OTHER,
    LOG_FIELD_CLIENT, /* the client's address or name */
    LOG_FIELD_TIME,
    LOG_FIELD_DURATION, /* of the request, in `unit_ns` */
};

struct log_field {
    enum log_field_kind kind;
    enum log_time_kind time; /* of a time */
    bool at_end;             /* a time: of the request's end, not of its beginning */
    uint64_t unit_ns;        /* of LOG_TIME_NUMBER and of a duration */
    bool has_port;           /* a client: with its port */
    bool last_of_slashes;    /* a duration: the last number of "10/0/30/69/109" */
    char *format;            /* of LOG_TIME_FORMAT */
    const char *name; /* as in the format, without modifiers: %h, %{User-agent}i, $remote_addr */
    char *after;      /* the text up to the next field */
    size_t after_length;
};

struct log_format {
    char *before; /* the text before the first field */
    size_t before_length;
    struct log_field fields[LOG_FIELDS_MAX];
    size_t count;
};

/* Parse a format. On failure `error` names its wrong part. Release the format in both cases. */
bool log_format_parse(struct log_format *format, const char *text, struct error *error);

/* Take the first `count` fields of a line. A blank between fields matches any number of blanks.
 * False: the line is not of the format. */
bool log_format_match(const struct log_format *format, size_t count, const char *text,
                      size_t length, struct log_value *values);

void log_format_release(struct log_format *format);

#endif
