#include "line_reader.h"

#include "memory.h"
#include "packed_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Holds a line of the greatest length, and what is read behind it in one step. */
#define BUFFER_BYTES (2 * LINE_BYTES_MAX)
/* What one step reads: little enough to be in the cache still when it is looked at. */
#define STEP_BYTES   ((size_t)1 << 17)

struct line_reader {
    struct packed_file *file;
    uint64_t line_number;
    char *buffer;
    size_t begin; /* what was not handed out yet */
    size_t end;
    bool ended;       /* nothing follows behind `end` */
    bool inside_line; /* the beginning of a line was handed out, its rest is to be skipped */
};

/* Adds to the buffer, which has room, or finds the end. */
static bool fill_buffer(struct line_reader *reader, struct error *error)
{
    size_t room = BUFFER_BYTES - reader->end;
    const char *why;
    ssize_t n = reader->ended ? 0
                              : packed_file_read(reader->file, reader->buffer + reader->end,
                                                 room < STEP_BYTES ? room : STEP_BYTES, &why);
    if (n < 0) {
        return error_set(error, "%s: %s after line %" PRIu64 "; copy or record the file again",
                         packed_file_name(reader->file), why, reader->line_number);
    }
    reader->end += (size_t)n;
    reader->ended = n == 0;
    return true;
}

struct line_reader *line_reader_continue(struct packed_file *file, const void *bytes, size_t count)
{
    struct line_reader *reader = memory_new(1, sizeof *reader);
    reader->file = file;
    reader->buffer = memory_bytes(BUFFER_BYTES);
    if (count > 0) {
        memcpy(reader->buffer, bytes, count);
    }
    reader->end = count;
    return reader;
}

struct line_reader *line_reader_open(const char *path, struct error *error)
{
    struct packed_file *file = packed_file_open(path, error);
    return file != NULL ? line_reader_continue(file, NULL, 0) : NULL;
}

/* Makes more of the line that begins at `begin` visible. */
static bool extend(struct line_reader *reader, struct error *error)
{
    if (reader->begin > 0) {
        memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
        reader->end -= reader->begin;
        reader->begin = 0;
    }
    return fill_buffer(reader, error);
}

/* Drops everything up to and with the next newline. */
static bool skip_rest_of_line(struct line_reader *reader, struct error *error)
{
    for (;;) {
        const char *from = reader->buffer + reader->begin;
        const char *newline = memchr(from, '\n', reader->end - reader->begin);
        if (newline != NULL) {
            reader->begin += (size_t)(newline - from) + 1;
            return true;
        }
        reader->begin = 0;
        reader->end = 0;
        if (reader->ended) {
            return true;
        }
        if (!fill_buffer(reader, error)) {
            return false;
        }
    }
}

static void give(struct line_reader *reader, struct line *line, size_t length, bool cut_off)
{
    const char *text = reader->buffer + reader->begin;
    if (!cut_off && length > 0 && text[length - 1] == '\r') {
        length--;
    }
    *line = (struct line){
        .text = text, .length = length, .number = ++reader->line_number, .cut_off = cut_off};
}

int line_reader_next(struct line_reader *reader, struct line *line, struct error *error)
{
    if (reader->inside_line) {
        reader->inside_line = false;
        if (!skip_rest_of_line(reader, error)) {
            return -1;
        }
    }
    size_t searched = 0;
    for (;;) {
        const char *from = reader->buffer + reader->begin;
        size_t have = reader->end - reader->begin;
        const char *newline = memchr(from + searched, '\n', have - searched);
        if (newline != NULL && (size_t)(newline - from) <= LINE_BYTES_MAX) {
            size_t length = (size_t)(newline - from);
            give(reader, line, length, false);
            reader->begin += length + 1;
            return 1;
        }
        if (have > LINE_BYTES_MAX) {
            break;
        }
        if (reader->ended) {
            if (have == 0) {
                return 0;
            }
            give(reader, line, have, false);
            reader->begin += have;
            return 1;
        }
        searched = have;
        if (!extend(reader, error)) {
            return -1;
        }
    }
    give(reader, line, LINE_BYTES_MAX, true);
    reader->inside_line = true;
    return 1;
}

const char *line_reader_name(const struct line_reader *reader)
{
    return packed_file_name(reader->file);
}

uint64_t line_reader_bytes_done(const struct line_reader *reader)
{
    return packed_file_bytes_done(reader->file);
}

uint64_t line_reader_bytes_total(const struct line_reader *reader)
{
    return packed_file_bytes_total(reader->file);
}

void line_reader_close(struct line_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    packed_file_close(reader->file);
    free(reader->buffer);
    free(reader);
}
