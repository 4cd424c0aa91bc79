#include "line_reader.h"

#include "memory.h"
#include "packed_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Holds a line of the greatest length, and the bytes of one more step. */
#define BUFFER_BYTES    (2 * LINE_BYTES_MAX)
/* Bytes of one step: few enough to be in the cache still when they are scanned. */
#define STEP_BYTES      ((size_t)1 << 17)
/* This number of bytes at the beginning shows whether a file is text. */
#define TEXT_BYTES      ((uint64_t)1 << 16)
/* More empty lines and comments than this in a row, and the file is not worth reading. */
#define EMPTY_LINES_MAX ((uint64_t)1 << 20)

struct line_reader {
    struct packed_file *file;
    uint64_t line_number;
    uint64_t full_line; /* the last line that was neither empty nor a comment */
    uint64_t bytes;     /* read so far */
    char *buffer;
    size_t begin; /* not yet returned */
    size_t end;
    bool ended; /* nothing follows after `end` */
};

/* Check the bytes just read: a device, an image or a program is not worth reading. */
static bool is_text(struct line_reader *reader, const char *text, size_t bytes, struct error *error)
{
    uint64_t before = reader->bytes;
    reader->bytes += bytes;
    uint64_t to_see = before < TEXT_BYTES ? TEXT_BYTES - before : 0;
    const char *zero = memchr(text, '\0', bytes < to_see ? bytes : (size_t)to_see);
    return zero == NULL ||
           error_set(error,
                     "%s: byte %" PRIu64 " is 0, so it is not text; if it is UTF-16, convert it: "
                     "iconv -f UTF-16 -t UTF-8 FILE",
                     packed_file_name(reader->file), before + (uint64_t)(zero - text) + 1);
}

/* Makes more of the line that begins at `begin` visible, or finds the end. */
static bool extend(struct line_reader *reader, struct error *error)
{
    if (reader->begin > 0) {
        memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
        reader->end -= reader->begin;
        reader->begin = 0;
    }
    char *to = reader->buffer + reader->end;
    const char *unseen = reader->bytes == 0 ? reader->buffer : to;
    size_t room = BUFFER_BYTES - reader->end;
    const char *why;
    ssize_t n = reader->ended ? 0
                              : packed_file_read(reader->file, to,
                                                 room < STEP_BYTES ? room : STEP_BYTES, &why);
    if (n < 0) {
        return error_set(error, "%s: %s after line %" PRIu64 "; copy or record the file again",
                         packed_file_name(reader->file), why, reader->line_number);
    }
    reader->end += (size_t)n;
    reader->ended = n == 0;
    return is_text(reader, unseen, (size_t)(to - unseen + n), error);
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

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* Hands out the next `length` bytes, with whatever ends them. */
static int give(struct line_reader *reader, struct line *line, size_t length, size_t with_end,
                struct error *error)
{
    const char *text = reader->buffer + reader->begin;
    reader->begin += with_end;
    if (length > 0 && text[length - 1] == '\r') {
        length--;
    }
    if (reader->line_number == 0 && length >= 3 && memcmp(text, BYTE_ORDER_MARK, 3) == 0) {
        text += 3;
        length -= 3;
    }
    *line = (struct line){.text = text, .length = length, .number = ++reader->line_number};
    if (length > 0 && text[0] != '#') {
        reader->full_line = line->number;
    } else if (line->number - reader->full_line > EMPTY_LINES_MAX) {
        (void)error_set(error,
                        "%s: line %" PRIu64 ": all lines after line %" PRIu64
                        " are empty or comments; remove them, if this is the right file",
                        packed_file_name(reader->file), line->number, reader->full_line);
        return -1;
    }
    return 1;
}

int line_reader_next(struct line_reader *reader, struct line *line, struct error *error)
{
    for (;;) {
        const char *from = reader->buffer + reader->begin;
        size_t have = reader->end - reader->begin;
        const char *newline = memchr(from, '\n', have);
        size_t length = newline != NULL ? (size_t)(newline - from) : have;
        if (length > LINE_BYTES_MAX) {
            (void)error_set(error,
                            "%s: line %" PRIu64
                            " is longer than 1 MiB; give a text with one record in each line",
                            packed_file_name(reader->file), reader->line_number + 1);
            return -1;
        }
        if (newline != NULL) {
            return give(reader, line, length, length + 1, error);
        }
        if (reader->ended) {
            return have > 0 ? give(reader, line, have, have, error) : 0;
        }
        if (!extend(reader, error)) {
            return -1;
        }
    }
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
