/*
 * log_source.h: the fields of a log's lines, by name, whatever the lines look like:
 *
 *   table    cells between separators, or between blanks; named by a header row, by Zeek's or W3C's
 *            "#Fields", by SWF's order, or by their numbers, from 1
 *   json     one object a line; a field is named by its path, such as request.remote_ip
 *   format   a web server's log format (log_format.h); a field is named as there
 *
 * An importer first says which fields it wants; each line then gives their values.
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
    enum log_source_kind kind;
    struct log_wanted wanted[LOG_WANTED_MAX];
    size_t wanted_count;

    /* Of a table. */
    char separator; /* '\0': any number of blanks and tabs */
    bool has_header;
    bool zeek;
    bool w3c;
    bool swf;
    bool microsoft; /* W3C, of a server that counts milliseconds */
    char date[11];  /* W3C: of the latest #Date */
    char unset[16]; /* what stands for a value that is not there; empty cells always do */
    size_t cells;   /* as many as must be looked at */
    struct log_value *row;
    size_t row_room;

    /* Of JSON: the line's object, which the values are in, and numbers as text. */
    json_t *object;
    char numbers[LOG_WANTED_MAX][40];

    struct log_format format;
    size_t needed; /* fields that must be taken off a line */
};

enum log_line {
    LOG_LINE_ROW,
    LOG_LINE_BLANK,     /* empty, a comment, or a heading */
    LOG_LINE_MALFORMED, /* `why` says what is wrong */
    LOG_LINE_ERROR,     /* `error` is set: reading on makes no sense */
};

/* Wants a field; returns its place among the values. `name` must last. */
size_t log_source_want(struct log_source *source, const char *name, size_t length);

/* After all fields of a format are wanted: finds them. False if one is not there; the error lists
 * those that are. */
bool log_source_find_fields(struct log_source *source, const char *option, struct error *error);

/* Takes a line apart. The values, in the order in which they were wanted, point into the line or
 * the source, and last until the next one. A value that is not there has no text (NULL). `name` is
 * the input's, for messages. */
enum log_line log_source_take(struct log_source *source, const char *name, const struct line *line,
                              struct log_value *values, const char **why, struct error *error);

/* The names of a table's columns in the order of the Standard Workload Format; NULL ends them. */
extern const char *const log_source_swf_columns[];

void log_source_release(struct log_source *source);

#endif
