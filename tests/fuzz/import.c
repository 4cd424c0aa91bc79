/*
 * Fuzzing target: the importers of the table. The input begins with text:
 *
 *   ftrace            the format; any other line picks one by its first byte
 *   timers=hrtimer    settings of the format, one per line; others are skipped
 *   recording         also read the recording's own expiries
 *                     an empty line ends the settings; the recording follows
 *
 * A completed import has written a trace that can be read, dumped as text, and made again from that
 * text, and has the source of each operation, if requested; a failed one has an error message and
 * no output.
 */
#include "import.h"
#include "fuzz.h"
#include "temporary_file.h"
#include "trace.h"
#include "trace_text.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#define SETTINGS_MAX 16u

/* --- a folder for the output ----------------------------------------------------------------- */

static struct temporary temporary;

static void remove_folder(void)
{
    temporary_remove(&temporary);
}

static void make_folder(void)
{
    if (temporary.folder[0] == '\0') {
        /* In memory if possible: its files are synced. */
        struct error error = {{0}};
        FUZZ_REQUIRE(temporary_make(&temporary, &error));
        FUZZ_REQUIRE(atexit(remove_folder) == 0);
    }
}

static unsigned files_left(void)
{
    DIR *directory = opendir(temporary.folder);
    FUZZ_REQUIRE(directory != NULL);
    unsigned count = 0;
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        count += entry->d_name[0] != '.';
    }
    (void)closedir(directory);
    return count;
}

/* --- the job --------------------------------------------------------------------------------- */

/* Cuts the next line off as a string of its own; NULL at the end. */
static char *take_line(const uint8_t **at, size_t *left)
{
    if (*left == 0) {
        return NULL;
    }
    const uint8_t *end = memchr(*at, '\n', *left);
    size_t length = end != NULL ? (size_t)(end - *at) : *left;
    char *line = strndup((const char *)*at, length);
    FUZZ_REQUIRE(line != NULL);
    length += end != NULL;
    *at += length;
    *left -= length;
    return line;
}

static const struct import_format *take_format(const uint8_t **at, size_t *left)
{
    uint8_t first = **at;
    char *name = take_line(at, left);
    const struct import_format *formats = import_formats();
    size_t count = 0;
    while (formats[count].name != NULL && strcmp(formats[count].name, name) != 0) {
        count++;
    }
    free(name);
    return formats[count].name != NULL ? &formats[count] : &formats[first % count];
}

struct settings {
    char *lines[SETTINGS_MAX];
    struct import_setting items[SETTINGS_MAX];
    size_t count;
    bool recording;
};

/* As the command line would have it: options of the format, once unless they are repeatable. */
static bool may_add(const struct import_format *format, const struct settings *settings,
                    const char *name)
{
    const struct import_option *option = import_option_find(format, name);
    if (option == NULL || settings->count == SETTINGS_MAX) {
        return false;
    }
    for (size_t i = 0; i < settings->count && !option->repeatable; i++) {
        if (strcmp(settings->items[i].name, name) == 0) {
            return false;
        }
    }
    return true;
}

static void take_settings(const struct import_format *format, struct settings *settings,
                          const uint8_t **at, size_t *left)
{
    char *line = NULL;
    while ((line = take_line(at, left)) != NULL && line[0] != '\0') {
        char *value = strchr(line, '=');
        if (value != NULL) {
            *value++ = '\0';
        }
        settings->recording |= value == NULL && strcmp(line, "recording") == 0;
        if (value == NULL || !may_add(format, settings, line)) {
            free(line);
            continue;
        }
        settings->lines[settings->count] = line;
        settings->items[settings->count++] = (struct import_setting){line, value};
    }
    free(line);
}

/* --- requirements --------------------------------------------------------------------------- */

/* The output as text, to be freed. */
static char *dump(size_t *bytes)
{
    struct error error = {{0}};
    struct trace_reader *reader = trace_reader_open(temporary.file, &error);
    if (reader == NULL) {
        fuzz_fail(temporary.file, 0, error.text);
    }
    char *text = NULL;
    FILE *stream = open_memstream(&text, bytes);
    FUZZ_REQUIRE(stream != NULL);
    if (!trace_text_write(reader, stream, &error)) {
        fuzz_fail(temporary.file, 0, error.text);
    }
    FUZZ_REQUIRE(fclose(stream) == 0);
    trace_reader_close(reader);
    FUZZ_REQUIRE(unlink(temporary.file) == 0);
    return text;
}

/* One operation of the recording for each of the trace. */
static void check_recording(const struct recording *recording)
{
    struct error error = {{0}};
    struct trace_reader *reader = trace_reader_open(temporary.file, &error);
    FUZZ_REQUIRE(reader != NULL);
    FUZZ_REQUIRE(trace_reader_header(reader)->events == recording->operation_count);
    FUZZ_REQUIRE(recording->operation_count == 0 || recording->systems > 0);
    FUZZ_REQUIRE(recording->grain_ticks > 0);
    trace_reader_close(reader);
}

/* The text's trace is the trace: dumped, it is the same text. */
static void check_output(void)
{
    size_t bytes;
    char *text = dump(&bytes);
    struct error error = {{0}};
    const struct trace_text_options options = {0};
    if (!trace_text_read(fuzz_file(text, bytes), temporary.file, &options, &error)) {
        fuzz_fail(temporary.file, 0, error.text);
    }
    size_t bytes_again;
    char *again = dump(&bytes_again);
    FUZZ_REQUIRE(bytes == bytes_again && memcmp(text, again, bytes) == 0);
    free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    static FILE *report;
    if (report == NULL) {
        report = fopen("/dev/null", "w");
        FUZZ_REQUIRE(report != NULL);
    }
    make_folder();
    const struct import_format *format = take_format(&data, &size);
    struct settings settings = {0};
    take_settings(format, &settings, &data, &size);

    struct error error = {{0}};
    struct recording recording = {0};
    bool records = settings.recording &&
                   (strcmp(format->name, "ftrace") == 0 || strcmp(format->name, "process") == 0);
    const struct import_job job = {.input = fuzz_file(data, size),
                                   .output = temporary.file,
                                   .settings = settings.items,
                                   .setting_count = settings.count,
                                   .report = report,
                                   .recording = records ? &recording : NULL};
    if (format->run(&job, &error) == IMPORT_DONE) {
        FUZZ_REQUIRE(files_left() == 1);
        if (records) {
            check_recording(&recording);
        }
        check_output();
    } else {
        FUZZ_REQUIRE(error.text[0] != '\0');
    }
    FUZZ_REQUIRE(files_left() == 0);
    recording_free(&recording);
    for (size_t i = 0; i < settings.count; i++) {
        free(settings.lines[i]);
    }
    return 0;
}
