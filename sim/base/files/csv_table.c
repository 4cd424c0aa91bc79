#include "csv_table.h"

#include "line_reader.h"
#include "memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* No table of this program has nearly as many; each field takes a hundred times its byte. */
#define COLUMNS_MAX 1000

/* Takes the next field off `*at`, up to `end`, and moves after its comma, or to NULL at the line's
 * end. NULL if its quotes do not end. */
static json_t *take_field(const char **at, const char *end, char *scratch)
{
    const char *c = *at;
    size_t used = 0;
    bool quoted = c < end && *c == '"';
    for (c += quoted; c < end && (quoted || *c != ','); c++) {
        if (quoted && *c == '"' && (c + 1 == end || c[1] != '"')) {
            quoted = false;
        } else {
            c += quoted && *c == '"'; /* doubled, it stands for itself */
            scratch[used++] = *c;
        }
    }
    if (quoted) {
        return NULL;
    }
    *at = c < end ? c + 1 : NULL;
    json_t *field = json_stringn(scratch, used);
    /* Not UTF-8. */
    return field != NULL ? field : json_string("?");
}

/* The fields of a line; NULL if it cannot be split. */
static json_t *split_line(const struct line *line)
{
    json_t *fields = json_array();
    char *scratch = memory_bytes(line->length + 1);
    const char *at = line->text;
    while (at != NULL) {
        json_t *field = take_field(&at, line->text + line->length, scratch);
        if (json_array_append_new(fields, field) != 0) {
            json_decref(fields);
            fields = NULL;
            break;
        }
    }
    free(scratch);
    return fields;
}

json_t *csv_table_read(const char *path, struct error *error)
{
    struct line_reader *reader = line_reader_open(path, error);
    if (reader == NULL) {
        return NULL;
    }
    json_t *rows = json_array();
    json_t *names = NULL;
    struct line line;
    int got = 0;
    while ((got = line_reader_next(reader, &line, error)) > 0) {
        if (line.length == 0) {
            continue;
        }
        json_t *fields = split_line(&line);
        size_t count = json_array_size(fields);
        const char *why = fields == NULL        ? "a quoted field does not end"
                          : count > COLUMNS_MAX ? "more than 1000 columns"
                          : names == NULL       ? NULL
                          : count != json_array_size(names)
                              ? "not as many fields as the first line has names"
                              : NULL;
        if (why != NULL) {
            (void)error_set(error, "%s, line %" PRIu64 ": %s", path, line.number, why);
            json_decref(fields);
            got = -1;
            break;
        }
        if (names == NULL) {
            names = fields;
            continue;
        }
        json_t *row = json_object();
        for (size_t i = 0; i < json_array_size(names); i++) {
            (void)json_object_set(row, json_string_value(json_array_get(names, i)),
                                  json_array_get(fields, i));
        }
        (void)json_array_append_new(rows, row);
        json_decref(fields);
    }
    json_decref(names);
    line_reader_close(reader);
    if (got < 0) {
        json_decref(rows);
        return NULL;
    }
    return rows;
}

void csv_write_field(FILE *stream, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        (void)fputs(text, stream);
        return;
    }
    (void)fputc('"', stream);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"') {
            (void)fputc('"', stream);
        }
        (void)fputc(*c, stream);
    }
    (void)fputc('"', stream);
}
