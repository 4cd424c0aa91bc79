/*
 * line_reader.h: the lines of a text file, one after the other, in constant memory and without
 * copying: a line is a view into the reader's buffer. Files compressed with gzip, Zstandard or xz
 * are recognised by their first bytes and unpacked on the fly; "-" is standard input.
 */
#ifndef SIM_LINE_READER_H
#define SIM_LINE_READER_H

#include "error.h"

#include <stddef.h>
#include <stdint.h>

/* A longer line is refused. */
#define LINE_BYTES_MAX ((size_t)1 << 20)

struct line {
    const char *text; /* no newline, no carriage return before it, no terminating zero, and in the
                       * first line no byte order mark */
    size_t length;
    uint64_t number; /* from 1 */
};

struct line_reader;

/* Opens `path`. NULL with `error` set if it cannot be read. */
struct line_reader *line_reader_open(const char *path, struct error *error);

/* Reads on in a file of which the first `count` bytes, at most LINE_BYTES_MAX, were read already.
 * The reader owns the file then, and closes it. */
struct packed_file;
struct line_reader *line_reader_continue(struct packed_file *file, const void *bytes, size_t count);

/* Return the next line, valid until the next call. The last one needs no newline. 1: a line; 0: the
 * end; -1: `error` is set, with file and line: reading failed, the compressed data is damaged or
 * ends early, or the input is no text of lines: a byte near the beginning is 0, a line is longer
 * than LINE_BYTES_MAX, or a million lines in a row are empty or begin with #. So a device, an
 * endless pipe or a file that unpacks to terabytes of zeros ends here. */
int line_reader_next(struct line_reader *reader, struct line *line, struct error *error);

/* How the file is named in messages: its path, or "standard input". */
const char *line_reader_name(const struct line_reader *reader);

/* Bytes of the file, as it is on disk: read so far, and all of it (0 where that is unknown). */
uint64_t line_reader_bytes_done(const struct line_reader *reader);
uint64_t line_reader_bytes_total(const struct line_reader *reader);

/* NULL is legal. */
void line_reader_close(struct line_reader *reader);

#endif
