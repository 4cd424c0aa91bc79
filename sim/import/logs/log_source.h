/*
 * log_source.h: the fields of a log's lines, by name. Lines have one of three forms:
 *
 *   table    cells between separators, or between blanks; named by a header row, by Zeek's or W3C's
 *            "#Fields", by SWF's order, or by their numbers, from 1
 *   json     one object a line; a field is named by its path, such as request.remote_ip
 *   format   a web server's log format (log_format.h); a field is named as there
 *
 * An importer first names the fields that it wants; each line then gives their values.
 */
#ifndef SIM_LOG_SOURCE_H
#define SIM_LOG_SOURCE_H

#include "error.h"
#include "line_reader.h"
#include "log_format.h"
#include "log_time.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_WANTED_MAX 24u

enum log_source_kind {
    LOG_SOURCE_UNKNOWN, /* a table or JSON: the first line decides */
    LOG_SOURCE_TABLE,
    LOG_SOURCE_JSON,
    LOG_SOURCE_FORMAT,
};

struct log_wanted {
    struct log_value name;
    size_t index; /* of a table's column or a format's field */
};

struct log_source {
    const char *name; /* of the input, for messages */
    enum log_source_kind kind;
    struct log_wanted wanted[LOG_WANTED_MAX];
    size_t wanted_count;

    /* Of a table. */
    char separator; /* '\0': any number of blanks and tabs */
    bool has_header;
    bool zeek;
    bool w3c;
    bool swf;
    bool microsoft; /* W3C, of a server with durations in milliseconds */
    char date[11];  /* W3C: of the latest #Date */
    char unset[16]; /* the text of a missing value, in addition to an empty cell */
    size_t cells;   /* the number of cells to read */
    struct log_value *row;
    size_t row_room;

    /* Of JSON: the line's object, which has the values, and numbers as text. */
    json_t *object;
    char numbers[LOG_WANTED_MAX][40];

    struct log_format format;
    size_t needed; /* fields that must be taken off a line */
};

enum log_line {
    LOG_LINE_ROW,
    LOG_LINE_BLANK,     /* empty, a comment, or a heading */
    LOG_LINE_MALFORMED, /* `why` is set */
    LOG_LINE_ERROR,     /* `error` is set: the source cannot be read */
};

/* Ask for a field; returns its place among the values. `name` must outlive the source. */
size_t log_source_want(struct log_source *source, const char *name, size_t length);

/* Find all wanted fields of a format. False: one is missing; the error lists the fields that the
 * format has. */
bool log_source_find_fields(struct log_source *source, const char *option, struct error *error);

/* Parse a line. The values, in the order of log_source_want, point into the line or the source, and
 * are valid until the next call. A missing value has no text (NULL). */
enum log_line log_source_take(struct log_source *source, const struct line *line,
                              struct log_value *values, const char **why, struct error *error);

void log_source_release(struct log_source *source);

#endif
