#include "packed_file.h"

#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define INPUT_BYTES ((size_t)1 << 18)

/* Where unpacked bytes go. */
struct output {
    unsigned char *to;
    size_t room;
    size_t used;
};

/* One step: take from the input, add to the output. */
typedef bool unpack_fn(struct packed_file *file, struct output *out, const char **why);

struct packed_file {
    const char *name;
    int fd;
    uint64_t bytes_done;
    uint64_t bytes_total;
    unpack_fn *unpack;    /* NULL: it is not packed */
    unsigned char *input; /* bytes of the file; of a plain one only the first few */
    size_t input_begin;
    size_t input_end;
    bool input_ended;
    bool frame_open; /* compressed data is under way, so that an end here is too early */
    z_stream gzip;
    lzma_stream xz;
    ZSTD_DStream *zstd;
};

static const char damaged[] = "the compressed data is damaged";

/* A few bytes can ask for gigabytes to be unpacked into. zstd's own limit is half of this. */
#define XZ_BYTES_MAX (UINT64_C(1) << 28)
static const char window_too_large[] =
    "unpacking needs hundreds of megabytes; pipe what xz -dc or zstd --long=31 -dc prints,";

/* Reads up to `room` bytes from the file. Negative on failure. */
static ssize_t read_some(struct packed_file *file, void *to, size_t room, const char **why)
{
    ssize_t n;
    while ((n = read(file->fd, to, room)) < 0 && errno == EINTR) {
    }
    if (n < 0) {
        *why = strerror(errno);
    } else {
        file->bytes_done += (uint64_t)n;
    }
    return n;
}

static bool fill_input(struct packed_file *file, const char **why)
{
    if (file->input_begin < file->input_end || file->input_ended) {
        return true;
    }
    ssize_t n = read_some(file, file->input, INPUT_BYTES, why);
    if (n < 0) {
        return false;
    }
    file->input_begin = 0;
    file->input_end = (size_t)n;
    file->input_ended = n == 0;
    return true;
}

/* A file may have several members. */
static bool unpack_gzip(struct packed_file *file, struct output *out, const char **why)
{
    z_stream *stream = &file->gzip;
    stream->next_in = file->input + file->input_begin;
    stream->avail_in = (uInt)(file->input_end - file->input_begin);
    stream->next_out = out->to;
    stream->avail_out = (uInt)(out->room < INPUT_BYTES * 16 ? out->room : INPUT_BYTES * 16);
    if (!file->frame_open && stream->avail_in > 0) {
        if (inflateReset(stream) != Z_OK) {
            *why = "the compressed data cannot be continued";
            return false;
        }
        file->frame_open = true;
    }
    int status = stream->avail_in > 0 ? inflate(stream, Z_NO_FLUSH) : Z_BUF_ERROR;
    if (status == Z_MEM_ERROR) {
        memory_end();
    }
    if (status == Z_STREAM_END) {
        file->frame_open = false;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
        *why = damaged;
        return false;
    }
    file->input_begin = file->input_end - stream->avail_in;
    out->used = (size_t)(stream->next_out - out->to);
    return true;
}

static bool unpack_zstd(struct packed_file *file, struct output *out, const char **why)
{
    ZSTD_inBuffer from = {file->input, file->input_end, file->input_begin};
    ZSTD_outBuffer to = {out->to, out->room, 0};
    size_t status = ZSTD_decompressStream(file->zstd, &to, &from);
    if (ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation) {
        memory_end();
    }
    if (ZSTD_isError(status)) {
        bool too_large = ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge;
        *why = too_large ? window_too_large : damaged;
        return false;
    }
    /* At the file's end there may be output left, but no frame begins. */
    if (from.pos > file->input_begin || to.pos > 0) {
        file->frame_open = status != 0;
    }
    file->input_begin = from.pos;
    out->used = to.pos;
    return true;
}

static bool unpack_xz(struct packed_file *file, struct output *out, const char **why)
{
    lzma_stream *stream = &file->xz;
    stream->next_in = file->input + file->input_begin;
    stream->avail_in = file->input_end - file->input_begin;
    stream->next_out = out->to;
    stream->avail_out = out->room;
    lzma_ret status = lzma_code(stream, file->input_ended ? LZMA_FINISH : LZMA_RUN);
    if (status == LZMA_MEM_ERROR) {
        memory_end();
    }
    if (status == LZMA_STREAM_END) {
        file->frame_open = false;
    } else if (status != LZMA_OK && status != LZMA_BUF_ERROR) {
        *why = status == LZMA_MEMLIMIT_ERROR ? window_too_large : damaged;
        return false;
    }
    file->input_begin = file->input_end - stream->avail_in;
    out->used = out->room - stream->avail_out;
    return true;
}

static ssize_t read_plain(struct packed_file *file, void *to, size_t room, const char **why)
{
    size_t have = file->input_end - file->input_begin;
    if (have == 0) {
        return read_some(file, to, room, why);
    }
    size_t n = have < room ? have : room;
    memcpy(to, file->input + file->input_begin, n);
    file->input_begin += n;
    return (ssize_t)n;
}

ssize_t packed_file_read(struct packed_file *file, void *to, size_t room, const char **why)
{
    if (file->unpack == NULL) {
        return read_plain(file, to, room, why);
    }
    struct output out = {.to = to, .room = room};
    while (out.used == 0) {
        if (!fill_input(file, why)) {
            return -1;
        }
        if (!file->unpack(file, &out, why)) {
            return -1;
        }
        if (file->input_ended && out.used == 0) {
            if (file->frame_open) {
                *why = "the compressed data ends early,";
                return -1;
            }
            return 0;
        }
    }
    return (ssize_t)out.used;
}

static const struct {
    unpack_fn *unpack;
    size_t length;
    unsigned char magic[6];
} magics[] = {
    {unpack_gzip, 2, {0x1f, 0x8b}},
    {unpack_zstd, 4, {0x28, 0xb5, 0x2f, 0xfd}},
    {unpack_xz, 6, {0xfd, '7', 'z', 'X', 'Z', 0}},
};

/* Recognise how the file is packed; the bytes read for that are the input's first. */
static bool recognise(struct packed_file *file, struct error *error)
{
    const char *why;
    while (file->input_end < sizeof magics[0].magic) {
        ssize_t n =
            read_some(file, file->input + file->input_end, INPUT_BYTES - file->input_end, &why);
        if (n < 0) {
            return error_set(error, "%s: cannot be read: %s", file->name, why);
        }
        if (n == 0) {
            break;
        }
        file->input_end += (size_t)n;
    }
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        if (file->input_end >= magics[i].length &&
            memcmp(file->input, magics[i].magic, magics[i].length) == 0) {
            file->unpack = magics[i].unpack;
        }
    }
    bool ready = true;
    if (file->unpack == unpack_gzip) {
        ready = inflateInit2(&file->gzip, 15 + 16) == Z_OK;
    } else if (file->unpack == unpack_zstd) {
        file->zstd = ZSTD_createDStream();
        ready = file->zstd != NULL;
    } else if (file->unpack == unpack_xz) {
        ready = lzma_stream_decoder(&file->xz, XZ_BYTES_MAX, LZMA_CONCATENATED) == LZMA_OK;
    }
    if (!ready) {
        memory_end();
    }
    file->frame_open = true;
    return true;
}

struct packed_file *packed_file_open(const char *path, struct error *error)
{
    bool standard_input = strcmp(path, "-") == 0;
    const char *name = standard_input ? "standard input" : path;
    struct packed_file *file = memory_new(1, sizeof *file);
    file->name = name;
    file->input = memory_bytes(INPUT_BYTES);
    file->xz = (lzma_stream)LZMA_STREAM_INIT;
    file->fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat stat;
    if (file->fd < 0 || fstat(file->fd, &stat) != 0) {
        (void)error_set(error, "%s: cannot be opened: %s", name, strerror(errno));
        packed_file_close(file);
        return NULL;
    }
    if (S_ISREG(stat.st_mode) && stat.st_size > 0) {
        file->bytes_total = (uint64_t)stat.st_size;
    }
    if (!recognise(file, error)) {
        packed_file_close(file);
        return NULL;
    }
    return file;
}

const char *packed_file_name(const struct packed_file *file)
{
    return file->name;
}

uint64_t packed_file_bytes_done(const struct packed_file *file)
{
    return file->bytes_done;
}

uint64_t packed_file_bytes_total(const struct packed_file *file)
{
    return file->bytes_total;
}

void packed_file_close(struct packed_file *file)
{
    if (file == NULL) {
        return;
    }
    if (file->unpack == unpack_gzip) {
        (void)inflateEnd(&file->gzip);
    }
    lzma_end(&file->xz);
    ZSTD_freeDStream(file->zstd);
    if (file->fd > STDIN_FILENO) {
        (void)close(file->fd);
    }
    free(file->input);
    free(file);
}
