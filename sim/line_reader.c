#include "line_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define INPUT_BYTES  ((size_t)1 << 18)
/* Holds a line of the greatest length, and what is unpacked behind it in one step. */
#define BUFFER_BYTES (2 * LINE_BYTES_MAX)

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD, PACKING_XZ };

static const struct {
    enum packing packing;
    size_t length;
    unsigned char magic[6];
} magics[] = {
    {PACKING_GZIP, 2, {0x1f, 0x8b}},
    {PACKING_ZSTD, 4, {0x28, 0xb5, 0x2f, 0xfd}},
    {PACKING_XZ, 6, {0xfd, '7', 'z', 'X', 'Z', 0}},
};

struct line_reader {
    const char *name;
    int fd;
    uint64_t bytes_done;
    uint64_t bytes_total;
    uint64_t line_number;

    enum packing packing;
    unsigned char *input; /* compressed bytes; unused if the file is plain */
    size_t input_begin;
    size_t input_end;
    bool input_ended;
    bool frame_open; /* compressed data is under way, so that an end here is too early */
    z_stream gzip;
    lzma_stream xz;
    ZSTD_DStream *zstd;

    char *buffer;
    size_t begin; /* what was not handed out yet */
    size_t end;
    bool ended;       /* nothing follows behind `end` */
    bool inside_line; /* the beginning of a line was handed out, its rest is to be skipped */
};

static bool damaged(const struct line_reader *reader, const char *what, struct error *error)
{
    return error_set(
        error, "%s: the compressed data %s after line %" PRIu64 "; copy or record the file again",
        reader->name, what, reader->line_number);
}

/* Reads up to `room` bytes from the file. Negative on failure. */
static ssize_t read_some(struct line_reader *reader, void *to, size_t room, struct error *error)
{
    for (;;) {
        ssize_t n = read(reader->fd, to, room);
        if (n >= 0) {
            reader->bytes_done += (uint64_t)n;
            return n;
        }
        if (errno != EINTR) {
            (void)error_set(error, "%s: cannot be read behind line %" PRIu64 ": %s", reader->name,
                            reader->line_number, strerror(errno));
            return -1;
        }
    }
}

static bool fill_input(struct line_reader *reader, struct error *error)
{
    if (reader->input_begin < reader->input_end || reader->input_ended) {
        return true;
    }
    ssize_t n = read_some(reader, reader->input, INPUT_BYTES, error);
    if (n < 0) {
        return false;
    }
    reader->input_begin = 0;
    reader->input_end = (size_t)n;
    reader->input_ended = n == 0;
    return true;
}

/* One step of inflate: takes from the input, adds to the buffer. A file may have several members.
 */
static bool unpack_gzip(struct line_reader *reader, struct error *error)
{
    z_stream *stream = &reader->gzip;
    stream->next_in = reader->input + reader->input_begin;
    stream->avail_in = (uInt)(reader->input_end - reader->input_begin);
    stream->next_out = (unsigned char *)reader->buffer + reader->end;
    stream->avail_out = (uInt)(BUFFER_BYTES - reader->end);
    if (!reader->frame_open && stream->avail_in > 0) {
        if (inflateReset(stream) != Z_OK) {
            return damaged(reader, "cannot be continued", error);
        }
        reader->frame_open = true;
    }
    int status = stream->avail_in > 0 ? inflate(stream, Z_NO_FLUSH) : Z_BUF_ERROR;
    if (status == Z_STREAM_END) {
        reader->frame_open = false;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
        return damaged(reader, "is damaged", error);
    }
    reader->input_begin = reader->input_end - stream->avail_in;
    reader->end = BUFFER_BYTES - stream->avail_out;
    return true;
}

static bool unpack_zstd(struct line_reader *reader, struct error *error)
{
    ZSTD_inBuffer in = {reader->input, reader->input_end, reader->input_begin};
    ZSTD_outBuffer out = {reader->buffer, BUFFER_BYTES, reader->end};
    size_t status = ZSTD_decompressStream(reader->zstd, &out, &in);
    if (ZSTD_isError(status)) {
        return damaged(reader, "is damaged", error);
    }
    /* At the file's end there may be output left, but no frame begins. */
    if (in.pos > reader->input_begin || out.pos > reader->end) {
        reader->frame_open = status != 0;
    }
    reader->input_begin = in.pos;
    reader->end = out.pos;
    return true;
}

static bool unpack_xz(struct line_reader *reader, struct error *error)
{
    lzma_stream *stream = &reader->xz;
    stream->next_in = reader->input + reader->input_begin;
    stream->avail_in = reader->input_end - reader->input_begin;
    stream->next_out = (uint8_t *)reader->buffer + reader->end;
    stream->avail_out = BUFFER_BYTES - reader->end;
    lzma_ret status = lzma_code(stream, reader->input_ended ? LZMA_FINISH : LZMA_RUN);
    if (status == LZMA_STREAM_END) {
        reader->frame_open = false;
    } else if (status != LZMA_OK && status != LZMA_BUF_ERROR) {
        return damaged(reader, "is damaged", error);
    }
    reader->input_begin = reader->input_end - stream->avail_in;
    reader->end = BUFFER_BYTES - stream->avail_out;
    return true;
}

/* Adds to the buffer, which has room, or finds the end. */
static bool fill_buffer(struct line_reader *reader, struct error *error)
{
    size_t before = reader->end;
    while (reader->end == before && !reader->ended) {
        if (reader->packing == PACKING_NONE) {
            ssize_t n =
                read_some(reader, reader->buffer + reader->end, BUFFER_BYTES - reader->end, error);
            if (n < 0) {
                return false;
            }
            reader->end += (size_t)n;
            reader->ended = n == 0;
            continue;
        }
        if (!fill_input(reader, error)) {
            return false;
        }
        bool unpacked = reader->packing == PACKING_GZIP   ? unpack_gzip(reader, error)
                        : reader->packing == PACKING_ZSTD ? unpack_zstd(reader, error)
                                                          : unpack_xz(reader, error);
        if (!unpacked) {
            return false;
        }
        if (reader->input_ended && reader->end == before) {
            reader->ended = true;
            if (reader->frame_open) {
                return damaged(reader, "ends early,", error);
            }
        }
    }
    return true;
}

/* Finds out how the file is packed; the bytes read for that are the first ones of the input or,
 * if it is plain, of the buffer. */
static bool recognise(struct line_reader *reader, struct error *error)
{
    size_t have = 0;
    while (have < sizeof magics[0].magic) {
        ssize_t n = read_some(reader, reader->buffer + have, INPUT_BYTES - have, error);
        if (n < 0) {
            return false;
        }
        if (n == 0) {
            break;
        }
        have += (size_t)n;
    }
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        if (have >= magics[i].length &&
            memcmp(reader->buffer, magics[i].magic, magics[i].length) == 0) {
            reader->packing = magics[i].packing;
        }
    }
    if (reader->packing == PACKING_NONE) {
        reader->end = have;
        return true;
    }
    reader->input = malloc(INPUT_BYTES);
    bool ready = reader->input != NULL;
    if (ready && reader->packing == PACKING_GZIP) {
        ready = inflateInit2(&reader->gzip, 15 + 16) == Z_OK;
    } else if (ready && reader->packing == PACKING_ZSTD) {
        reader->zstd = ZSTD_createDStream();
        ready = reader->zstd != NULL;
    } else if (ready) {
        ready = lzma_stream_decoder(&reader->xz, UINT64_MAX, LZMA_CONCATENATED) == LZMA_OK;
    }
    if (!ready) {
        return error_set(error, "%s: out of memory", reader->name);
    }
    memcpy(reader->input, reader->buffer, have);
    reader->input_end = have;
    reader->frame_open = true;
    return true;
}

struct line_reader *line_reader_open(const char *path, struct error *error)
{
    bool standard_input = strcmp(path, "-") == 0;
    const char *name = standard_input ? "standard input" : path;
    struct line_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        (void)error_set(error, "%s: out of memory", name);
        return NULL;
    }
    reader->name = name;
    reader->xz = (lzma_stream)LZMA_STREAM_INIT;
    reader->fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat stat;
    if (reader->fd < 0 || fstat(reader->fd, &stat) != 0) {
        (void)error_set(error, "%s: cannot be opened: %s", name, strerror(errno));
        line_reader_close(reader);
        return NULL;
    }
    if (S_ISREG(stat.st_mode) && stat.st_size > 0) {
        reader->bytes_total = (uint64_t)stat.st_size;
    }
    reader->buffer = malloc(BUFFER_BYTES);
    if (reader->buffer == NULL) {
        (void)error_set(error, "%s: out of memory", name);
        line_reader_close(reader);
        return NULL;
    }
    if (!recognise(reader, error)) {
        line_reader_close(reader);
        return NULL;
    }
    return reader;
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
    return reader->name;
}

uint64_t line_reader_bytes_done(const struct line_reader *reader)
{
    return reader->bytes_done;
}

uint64_t line_reader_bytes_total(const struct line_reader *reader)
{
    return reader->bytes_total;
}

void line_reader_close(struct line_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    if (reader->packing == PACKING_GZIP) {
        (void)inflateEnd(&reader->gzip);
    }
    lzma_end(&reader->xz);
    ZSTD_freeDStream(reader->zstd);
    if (reader->fd > STDIN_FILENO) {
        (void)close(reader->fd);
    }
    free(reader->input);
    free(reader->buffer);
    free(reader);
}
