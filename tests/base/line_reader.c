/* Lines of plain and compressed files, and what happens to damaged ones. */
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
        assert_false(line.cut_off);
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
    static const char text[] = "first\r\n\n third \nwith \0 zero\nlast";
    struct line_reader *reader = open_lines(temporary_file("plain", text, sizeof text - 1));
    static const char *const expected[] = {"first", "", " third ", "with \0 zero", "last"};
    static const size_t lengths[] = {5, 0, 7, 11, 4};
    struct line line;
    struct error error;
    for (size_t i = 0; i < 5; i++) {
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

static void long_lines_are_cut_off(void **state)
{
    (void)state;
    /* At the limit, one above, far above (several buffers), and the limit again as last line. */
    static const size_t lengths[] = {LINE_BYTES_MAX, LINE_BYTES_MAX + 1, 10 * LINE_BYTES_MAX + 3, 5,
                                     LINE_BYTES_MAX};
    size_t total = 0;
    for (size_t i = 0; i < 5; i++) {
        total += lengths[i] + 1;
    }
    char *text = malloc(total);
    assert_non_null(text);
    size_t used = 0;
    for (size_t i = 0; i < 5; i++) {
        memset(text + used, (int)('a' + i), lengths[i]);
        used += lengths[i];
        text[used++] = '\n';
    }
    const char *path = temporary_file("long", text, used - 1);
    free(text);
    struct line_reader *reader = open_lines(path);
    struct line line;
    struct error error;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(line_reader_next(reader, &line, &error), 1);
        assert_int_equal(line.number, i + 1);
        assert_int_equal(line.cut_off, lengths[i] > LINE_BYTES_MAX);
        assert_int_equal(line.length, lengths[i] < LINE_BYTES_MAX ? lengths[i] : LINE_BYTES_MAX);
        assert_int_equal(line.text[0], 'a' + i);
        assert_int_equal(line.text[line.length - 1], 'a' + i);
    }
    assert_int_equal(line_reader_next(reader, &line, &error), 0);
    line_reader_close(reader);
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
        cmocka_unit_test(long_lines_are_cut_off),
        cmocka_unit_test(compressed_lines),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    temporary_files_remove();
    return failed;
}
