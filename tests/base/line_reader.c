/* Lines of plain and compressed files, and errors of damaged ones. */
#include "line_reader.h"

#include "import_run.h"
#include "test.h"

#include <inttypes.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static struct line_reader *open_lines(const char *path)
{
    struct error error;
    struct line_reader *reader = line_reader_open(path, &error);
    if (reader == NULL) {
        fail_msg("%s", error.text);
    }
    return reader;
}

/* Reads to the end: every line must read as `number:number:...` of its own number. */
static uint64_t count_numbered_lines(const char *path, struct error *error)
{
    struct line_reader *reader = open_lines(path);
    struct line line;
    uint64_t count = 0;
    int status;
    while ((status = line_reader_next(reader, &line, error)) == 1) {
        char expected[32];
        int length = snprintf(expected, sizeof expected, "%" PRIu64 ":", ++count);
        assert_int_equal(line.number, count);
        assert_true(line.length >= (size_t)length);
        assert_memory_equal(line.text, expected, (size_t)length);
    }
    if (status == 0) {
        assert_int_equal(line_reader_next(reader, &line, error), 0);
        assert_true(line_reader_bytes_done(reader) == line_reader_bytes_total(reader));
    }
    line_reader_close(reader);
    return status == 0 ? count : 0;
}

#define NUMBERED_LINES 200000u

/* Text of several megabytes that does not compress to nothing. */
static char *numbered_text(size_t *length)
{
    char *text = malloc(NUMBERED_LINES * 40u);
    assert_non_null(text);
    size_t used = 0;
    uint32_t noise = 1;
    for (unsigned i = 1; i <= NUMBERED_LINES; i++) {
        noise = noise * 1664525u + 1013904223u;
        used += (size_t)sprintf(text + used, "%u:%u\n", i, noise);
    }
    *length = used;
    return text;
}

enum packing { GZIP, ZSTD, XZ };

static size_t pack(enum packing packing, char *text, size_t length, char *out, size_t room)
{
    size_t used = 0;
    if (packing == GZIP) {
        z_stream stream = {0};
        assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
                         Z_OK);
        stream.next_in = (unsigned char *)text;
        stream.avail_in = (uInt)length;
        stream.next_out = (unsigned char *)out;
        stream.avail_out = (uInt)room;
        assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
        used = stream.total_out;
        (void)deflateEnd(&stream);
    } else if (packing == ZSTD) {
        used = ZSTD_compress(out, room, text, length, 3);
        assert_false(ZSTD_isError(used));
    } else {
        assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text,
                                                 length, (uint8_t *)out, &used, room),
                         LZMA_OK);
    }
    return used;
}

static void plain_lines(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbf"
                               "first\r\n\n third \nlast";
    struct line_reader *reader = open_lines(temporary_file("plain", text, sizeof text - 1));
    static const char *const expected[] = {"first", "", " third ", "last"};
    static const size_t lengths[] = {5, 0, 7, 4};
    struct line line;
    struct error error;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(line_reader_next(reader, &line, &error), 1);
        assert_int_equal(line.length, lengths[i]);
        assert_memory_equal(line.text, expected[i], lengths[i]);
        assert_int_equal(line.number, i + 1);
    }
    assert_int_equal(line_reader_next(reader, &line, &error), 0);
    line_reader_close(reader);

    reader = open_lines(temporary_file("plain", "", 0));
    assert_int_equal(line_reader_next(reader, &line, &error), 0);
    line_reader_close(reader);

    assert_null(line_reader_open(temporary_path("nowhere"), &error));
    assert_non_null(strstr(error.text, "nowhere: cannot be opened: No such file"));
}

/* Read to the end; return NULL, or the error message. */
static const char *complaint(const char *path, uint64_t *lines)
{
    static struct error error;
    struct line_reader *reader = open_lines(path);
    struct line line;
    int status;
    *lines = 0;
    while ((status = line_reader_next(reader, &line, &error)) == 1) {
        ++*lines;
    }
    line_reader_close(reader);
    return status < 0 ? error.text : NULL;
}

static const char *complaint_about(const char *text, size_t length, uint64_t *lines)
{
    return complaint(temporary_file("text", text, length), lines);
}

static void long_lines_are_refused(void **state)
{
    (void)state;
    enum { ROOM = 4 << 20 };
    char *text = malloc(ROOM);
    uint64_t lines;
    assert_non_null(text);
    memset(text, 'a', ROOM);
    text[5] = '\n';
    text[6 + LINE_BYTES_MAX] = '\n'; /* as long as may be */
    assert_null(complaint_about(text, 7 + LINE_BYTES_MAX + 3, &lines));
    assert_int_equal(lines, 3);
    assert_null(complaint_about(text + 6, LINE_BYTES_MAX, &lines)); /* without a newline */
    assert_int_equal(lines, 1);
    const char *said = complaint_about(text, ROOM, &lines);
    assert_non_null(said);
    assert_non_null(strstr(said, "text: line 3 is longer than 1 MiB"));
    assert_int_equal(lines, 2);
    assert_non_null(complaint_about(text + 7 + LINE_BYTES_MAX, LINE_BYTES_MAX + 1, &lines));
    assert_int_equal(lines, 0);
    free(text);
}

static void zeros_near_the_beginning_are_refused(void **state)
{
    (void)state;
    enum { DISTANCE = 70000 };
    char text[DISTANCE + 5];
    uint64_t lines;
    memset(text, 'x', sizeof text);
    text[10] = '\n';
    text[30] = '\0';
    const char *said = complaint_about(text, sizeof text, &lines);
    assert_non_null(said);
    assert_non_null(strstr(said, "text: byte 31 is 0, so it is not text"));
    assert_int_equal(lines, 0);
    text[30] = 'x';
    text[DISTANCE] = '\0'; /* by then it is an odd line */
    assert_null(complaint_about(text, sizeof text, &lines));
    assert_int_equal(lines, 2);
}

/* None of these ends by itself, or it ends after hours. */
static void endless_files_are_refused(void **state)
{
    (void)state;
    enum { BLOCK = 1 << 20, BLOCKS = 64 };
    uint64_t lines;
    const char *said = complaint("/dev/zero", &lines);
    assert_non_null(said);
    assert_non_null(strstr(said, "/dev/zero: byte 1 is 0"));
    assert_non_null(complaint("/dev/urandom", &lines));
    /* 64 MiB of the same byte, in a few kilobytes. */
    static const char bytes[] = {'\0', 'a', '\n'};
    char *block = malloc(BLOCK);
    size_t room = ZSTD_compressBound((size_t)BLOCK * BLOCKS);
    char *packed = malloc(room);
    assert_non_null(block);
    assert_non_null(packed);
    for (size_t i = 0; i < sizeof bytes; i++) {
        memset(block, bytes[i], BLOCK);
        size_t one = pack(ZSTD, block, BLOCK, packed, room);
        for (size_t k = 1; k < BLOCKS; k++) {
            memcpy(packed + k * one, packed, one);
        }
        said = complaint(temporary_file("packed", packed, one * BLOCKS), &lines);
        assert_non_null(said);
        assert_true(lines <= (UINT64_C(1) << 20) + 1);
    }
    assert_non_null(strstr(said, "all lines after line 0 are empty"));
    free(packed);
    free(block);
}

/* An xz file of some bytes can ask for a window of gigabytes. */
static void a_large_window_is_refused(void **state)
{
    (void)state;
    lzma_options_lzma options;
    uint8_t packed[4096];
    size_t used = 0;
    uint64_t lines;
    assert_false(lzma_lzma_preset(&options, 0));
    lzma_filter filters[] = {{.id = LZMA_FILTER_LZMA2, .options = &options},
                             {.id = LZMA_VLI_UNKNOWN}};
    assert_int_equal(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC64, NULL,
                                               (const uint8_t *)"1:\n", 3, packed, &used,
                                               sizeof packed),
                     LZMA_OK);
    /* The header of the block: its size, flags, two lengths, the filter, and of its properties how
     * many there are, and the window's size; at its end the checksum. */
    uint8_t *header = packed + LZMA_STREAM_HEADER_SIZE;
    size_t header_bytes = (header[0] + 1u) * 4;
    assert_int_equal(header[4], LZMA_FILTER_LZMA2);
    header[6] = 39; /* 3 GiB */
    uint32_t checksum = lzma_crc32(header, header_bytes - 4, 0);
    for (size_t i = 0; i < 4; i++) {
        header[header_bytes - 4 + i] = (uint8_t)(checksum >> 8 * i);
    }
    const char *said = complaint(temporary_file("packed", packed, used), &lines);
    assert_non_null(said);
    assert_non_null(strstr(said, "packed: unpacking needs hundreds of megabytes"));
}

static void compressed_lines(void **state)
{
    (void)state;
    size_t length;
    char *text = numbered_text(&length);
    struct error error;
    assert_int_equal(count_numbered_lines(temporary_file("text", text, length), &error),
                     NUMBERED_LINES);
    size_t room = length + 100000;
    char *packed = malloc(room);
    assert_non_null(packed);
    for (int packing = GZIP; packing <= XZ; packing++) {
        /* In two parts, as `cat a.gz b.gz` makes them. */
        size_t half = length / 2;
        size_t first = pack((enum packing)packing, text, half, packed, room);
        size_t used = first + pack((enum packing)packing, text + half, length - half,
                                   packed + first, room - first);
        const char *path = temporary_file("packed", packed, used);
        assert_int_equal(count_numbered_lines(path, &error), NUMBERED_LINES);

        const size_t cuts[] = {used - 1, used - used / 4, first + 7, first / 2, 20};
        for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
            path = temporary_file("packed", packed, cuts[i]);
            assert_int_equal(count_numbered_lines(path, &error), 0);
            assert_non_null(strstr(error.text, "packed: the compressed data ends early, after "
                                               "line "));
        }
        packed[first / 2] = (char)~packed[first / 2];
        packed[first / 2 + 1] = (char)~packed[first / 2 + 1];
        path = temporary_file("packed", packed, used);
        struct line_reader *reader = open_lines(path);
        struct line line;
        int status;
        while ((status = line_reader_next(reader, &line, &error)) == 1) {
        }
        line_reader_close(reader);
        assert_int_equal(status, -1);
        assert_non_null(strstr(error.text, "packed: the compressed data is damaged after line "));
    }
    free(packed);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_lines),
        cmocka_unit_test(long_lines_are_refused),
        cmocka_unit_test(zeros_near_the_beginning_are_refused),
        cmocka_unit_test(compressed_lines),
        cmocka_unit_test(endless_files_are_refused),
        cmocka_unit_test(a_large_window_is_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    temporary_files_remove();
    return failed;
}
