/*
 * timerlab-bench-traces: how fast traces are made, imported and read, measured by Google Benchmark.
 * What is to be compared is measured by turns within one row: an importer and a plain scan of the
 * same file for line ends, each time the one behind the other. Times are the processor's for this
 * program: everything here runs in one thread, and what the machine does for others is not counted.
 */
#include "bench_shim.h"
#include "build_info.h"
#include "clock.h"
#include "gen.h"
#include "import.h"
#include "recordings.h"
#include "registry.h"
#include "replay.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATUS_OK = 0, STATUS_FAULT = 1, STATUS_USAGE = 2 };

enum { FILES_MAX = 32, ROUNDS_MAX = 1001, SCAN_BYTES = 1 << 17 };

/* A text that importers read. */
struct text {
    const struct import_format *format;
    const struct recording *recording; /* NULL: somebody's own file */
    char path[4096];
    uint64_t bytes;
    uint64_t lines;
};

static struct {
    struct text texts[FILES_MAX];
    size_t text_count;
    uint32_t connections;
    double seconds;
    uint64_t lines;
    double min_time_s;
    bool help;
} settings = {.connections = 1000000, .seconds = 10, .lines = 400000, .min_time_s = 0.5};

static char folder[4096]; /* for what is made; "" until it is needed */
static char server_path[sizeof folder + 32];
static char imported_path[sizeof folder + 32];
static struct error failure;
static unsigned failures;

/* --- pieces ---------------------------------------------------------------------------------- */

static const char *row_failed(void)
{
    failures++;
    return failure.text;
}

/* The folder that everything is made in: in memory if nothing else is asked for, so that no disk is
 * measured. */
static bool make_folder(void)
{
    if (folder[0] != '\0') {
        return true;
    }
    const char *base = getenv("TMPDIR");
    struct stat status;
    if (base == NULL) {
        base = stat("/dev/shm", &status) == 0 ? "/dev/shm" : "/tmp";
    }
    char made[sizeof folder];
    int length = snprintf(made, sizeof made - 64, "%s/timerlab-bench-XXXXXX", base);
    if (length < 0 || length >= (int)sizeof made - 64 || mkdtemp(made) == NULL) {
        return error_set(&failure, "%s: no folder can be made there: %s", base, strerror(errno));
    }
    memcpy(folder, made, sizeof folder);
    (void)snprintf(server_path, sizeof server_path, "%s/server.trace", folder);
    (void)snprintf(imported_path, sizeof imported_path, "%s/imported.trace", folder);
    return true;
}

static void remove_all(void)
{
    if (folder[0] == '\0') {
        return;
    }
    for (size_t i = 0; i < settings.text_count; i++) {
        if (settings.texts[i].recording != NULL) {
            (void)unlink(settings.texts[i].path);
        }
    }
    (void)unlink(server_path);
    (void)unlink(imported_path);
    (void)rmdir(folder);
}

static int compare(const void *a, const void *b)
{
    const uint64_t *one = a;
    const uint64_t *other = b;
    return (*one > *other) - (*one < *other);
}

static double median(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    size_t half = count / 2;
    return count % 2 == 1 ? (double)values[half]
                          : ((double)values[half - 1] + (double)values[half]) / 2;
}

/* --- importing ------------------------------------------------------------------------------- */

/* The plain scan: counts the line ends. */
static bool scan(const struct text *text, uint64_t *lines)
{
    static char buffer[SCAN_BYTES];
    int file = open(text->path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return error_set(&failure, "%s: %s", text->path, strerror(errno));
    }
    ssize_t n;
    *lines = 0;
    while ((n = read(file, buffer, sizeof buffer)) > 0) {
        const char *end = buffer + n;
        for (const char *at = buffer; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++) {
            ++*lines;
        }
    }
    (void)close(file);
    return n == 0 || error_set(&failure, "%s: %s", text->path, strerror(errno));
}

/* Makes the file if it is one to be made, and looks how large it is. */
static bool prepare_text(struct text *text)
{
    if (text->lines > 0) {
        return true;
    }
    if (!make_folder()) {
        return false;
    }
    if (text->recording != NULL) {
        (void)snprintf(text->path, sizeof text->path, "%.*s/%s", (int)sizeof folder - 64, folder,
                       text->recording->format);
        FILE *stream = fopen(text->path, "w");
        if (stream == NULL) {
            return error_set(&failure, "%s: %s", text->path, strerror(errno));
        }
        text->recording->write(stream, settings.lines);
        if (fclose(stream) != 0) {
            return error_set(&failure, "%s: %s", text->path, strerror(errno));
        }
    }
    struct stat status;
    if (stat(text->path, &status) != 0) {
        return error_set(&failure, "%s: %s", text->path, strerror(errno));
    }
    text->bytes = (uint64_t)status.st_size;
    return scan(text, &text->lines) &&
           (text->lines > 0 || error_set(&failure, "%s: has no line", text->path));
}

static bool import_text(const struct text *text)
{
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere == NULL) {
        return error_set(&failure, "/dev/null: %s", strerror(errno));
    }
    const struct import_job job = {.input = text->path, .output = imported_path, .report = nowhere};
    enum import_result result = text->format->run(&job, &failure);
    (void)fclose(nowhere);
    return result == IMPORT_DONE;
}

static double bytes_per_s(const struct text *text, double ns)
{
    return (double)text->bytes / ns * 1e9;
}

static const char *measure_scan(void *arg, struct bench_measured *out)
{
    struct text *text = arg;
    if (!prepare_text(text)) {
        return row_failed();
    }
    do {
        uint64_t lines;
        uint64_t begun = clock_processor_ns();
        if (!scan(text, &lines)) {
            return row_failed();
        }
        out->elapsed_ns += clock_processor_ns() - begun;
        out->operations += lines;
        out->batches++;
    } while ((double)out->elapsed_ns < settings.min_time_s * 1e9);
    bench_add_counter(out, "bytes_per_second",
                      bytes_per_s(text, (double)out->elapsed_ns / (double)out->batches));
    return NULL;
}

static const char *measure_import(void *arg, struct bench_measured *out)
{
    static uint64_t scan_ns[ROUNDS_MAX];
    static uint64_t import_ns[ROUNDS_MAX];
    struct text *text = arg;
    size_t rounds = 0;
    if (!prepare_text(text)) {
        return row_failed();
    }
    do {
        uint64_t lines;
        uint64_t begun = clock_processor_ns();
        if (!scan(text, &lines)) {
            return row_failed();
        }
        uint64_t scanned = clock_processor_ns();
        if (!import_text(text)) {
            return row_failed();
        }
        import_ns[rounds] = clock_processor_ns() - scanned;
        scan_ns[rounds] = scanned - begun;
        out->elapsed_ns += import_ns[rounds];
        out->operations += text->lines;
        out->batches++;
        rounds++;
    } while ((double)out->elapsed_ns < settings.min_time_s * 1e9 && rounds < ROUNDS_MAX);
    double typical_ns = median(import_ns, rounds);
    bench_add_counter(out, "bytes_per_second", bytes_per_s(text, typical_ns));
    bench_add_counter(out, "times_scan", typical_ns / median(scan_ns, rounds));
    return NULL;
}

/* --- generating and reading ------------------------------------------------------------------- */

static bool generate(struct gen_summary *summary)
{
    const struct gen_workload *server = gen_find("server", &failure);
    if (server == NULL || !make_folder()) {
        return false;
    }
    struct gen_part part = {.workload = server, .connections = settings.connections};
    gen_parameters_default(server, part.parameters);
    const struct gen_request request = {
        .parts = &part, .part_count = 1, .seconds = settings.seconds, .seed = 1};
    return gen_trace(&request, server_path, summary, &failure);
}

static bool prepare_server(void)
{
    struct gen_summary summary;
    return (server_path[0] != '\0' && access(server_path, R_OK) == 0) || generate(&summary);
}

static const char *measure_generate(void *arg, struct bench_measured *out)
{
    (void)arg;
    struct gen_summary summary;
    uint64_t begun = clock_processor_ns();
    if (!generate(&summary)) {
        return row_failed();
    }
    out->elapsed_ns = clock_processor_ns() - begun;
    out->operations = summary.generated_events;
    out->batches = 1;
    struct stat status;
    if (stat(server_path, &status) != 0) {
        (void)error_set(&failure, "%s: %s", server_path, strerror(errno));
        return row_failed();
    }
    bench_add_counter(out, "bytes_per_event",
                      (double)status.st_size / (double)summary.recorded_events);
    bench_add_counter(out, "recorded_share",
                      (double)summary.recorded_events / (double)summary.generated_events);
    return NULL;
}

static const char *measure_decode(void *arg, struct bench_measured *out)
{
    (void)arg;
    struct trace_reader *reader =
        prepare_server() ? trace_reader_open(server_path, &failure) : NULL;
    bool good = reader != NULL;
    while (good && (out->batches == 0 || (double)out->elapsed_ns < settings.min_time_s * 1e9)) {
        struct trace_block block;
        int more = 0;
        uint64_t begun = clock_processor_ns();
        good = trace_reader_rewind(reader, &failure);
        while (good && (more = trace_reader_next(reader, &block, &failure)) == 1) {
            out->operations += block.record_count;
        }
        out->elapsed_ns += clock_processor_ns() - begun;
        out->batches++;
        good = good && more == 0;
    }
    trace_reader_close(reader);
    return good ? NULL : row_failed();
}

/* What fires nothing: the floor of every comparison. */
static const struct tl_algo *find_floor(void)
{
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->timed;
        if ((algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
            return algo;
        }
    }
    return NULL;
}

static const char *measure_replay(void *arg, struct bench_measured *out)
{
    (void)arg;
    const struct tl_algo *floor = find_floor();
    int64_t options[TL_OPTIONS_MAX];
    char why[192];
    if (tl_options_parse(floor, "", options, why, sizeof why) != TL_OK) {
        (void)error_set(&failure, "%s", why);
        return row_failed();
    }
    bool good = prepare_server();
    static struct replay_result result;
    while (good && (out->batches == 0 || (double)out->elapsed_ns < settings.min_time_s * 1e9)) {
        const struct replay_request request = {.trace_path = server_path,
                                               .algo = floor,
                                               .options = options,
                                               .pass = PASS_THROUGHPUT,
                                               .drive = DRIVE_SLEEP,
                                               .memory_limit_bytes = UINT64_MAX};
        good = replay_run(&request, &result, &failure);
        if (good && (result.status != REPLAY_OK || result.window_events == 0)) {
            good = error_set(&failure, "the replay failed: %s", result.reason);
        }
        out->elapsed_ns += result.window_processor_ns;
        out->operations += result.window_events;
        out->batches++;
    }
    return good ? NULL : row_failed();
}

/* --- the command line ------------------------------------------------------------------------ */

/* The value of --NAME=VALUE or --NAME VALUE; NULL if it is another argument. */
static const char *flag_value(const char *flag, int argc, char **argv, int *index)
{
    const char *argument = argv[*index];
    size_t length = strlen(flag);
    if (strncmp(argument, flag, length) != 0 ||
        (argument[length] != '=' && argument[length] != '\0')) {
        return NULL;
    }
    if (argument[length] == '=') {
        return argument + length + 1;
    }
    return *index + 1 < argc ? argv[++*index] : "";
}

static bool take_number(const char *flag, const char *text, double most, double *number)
{
    char *end;
    *number = strtod(text, &end);
    if (end == text || (*end != '\0' && strcmp(end, "s") != 0) || !(*number >= 0) ||
        *number > most) {
        (void)fprintf(stderr, "timerlab-bench-traces: %s %s: takes a number up to %.9g\n", flag,
                      text, most);
        return false;
    }
    return true;
}

/* FORMAT:FILE */
static bool take_import(const char *text)
{
    const char *colon = strchr(text, ':');
    char name[64];
    if (colon == NULL || (size_t)(colon - text) >= sizeof name ||
        settings.text_count == FILES_MAX) {
        (void)fprintf(stderr, "timerlab-bench-traces: --import %s: takes FORMAT:FILE, %d at most\n",
                      text, (int)FILES_MAX);
        return false;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(colon - text), text);
    struct text *own = &settings.texts[settings.text_count];
    own->format = import_format_find(name, &failure);
    if (own->format == NULL) {
        (void)fprintf(stderr, "timerlab-bench-traces: %s\n", failure.text);
        return false;
    }
    (void)snprintf(own->path, sizeof own->path, "%s", colon + 1);
    settings.text_count++;
    return true;
}

static bool take_flags(int *argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        const char *value;
        double number = 0;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            settings.help = true;
        } else if ((value = flag_value("--import", *argc, argv, &i)) != NULL) {
            if (!take_import(value)) {
                return false;
            }
        } else if ((value = flag_value("--connections", *argc, argv, &i)) != NULL) {
            if (!take_number("--connections", value, 1e8, &number) || number < 1) {
                return false;
            }
            settings.connections = (uint32_t)number;
        } else if ((value = flag_value("--seconds", *argc, argv, &i)) != NULL) {
            if (!take_number("--seconds", value, 1e6, &settings.seconds) || settings.seconds <= 0) {
                return false;
            }
        } else if ((value = flag_value("--lines", *argc, argv, &i)) != NULL) {
            if (!take_number("--lines", value, 1e9, &number) || number < 1) {
                return false;
            }
            settings.lines = (uint64_t)number;
        } else if ((value = flag_value("--benchmark_min_time", *argc, argv, &i)) != NULL) {
            if (!take_number("--benchmark_min_time", value, 86400, &settings.min_time_s)) {
                return false;
            }
        } else {
            argv[kept++] = argv[i];
        }
    }
    *argc = kept;
    argv[kept] = NULL;
    return true;
}

static void print_help(void)
{
    (void)printf(
        "usage: timerlab-bench-traces [--import FORMAT:FILE]... [--connections N] "
        "[--benchmark_...]\n"
        "\n"
        "Measures how fast traces are made, imported and read; the table or JSON goes to standard\n"
        "output. items_per_second counts lines and operations, by one core's time for this "
        "program.\n"
        "\n"
        "  scan_lines/FORMAT  counts the line ends of a file: what any reader of it needs at "
        "least\n"
        "  import/FORMAT      imports it; times_scan is the time by that of a scan, taken by "
        "turns\n"
        "  generate/server    simulates the workload; bytes_per_event is the file's size,\n"
        "                     recorded_share what of the operations is not only warm-up\n"
        "  decode/server      reads that trace\n"
        "  replay/NAME        replays it through the structure that fires nothing, without "
        "decoding\n"
        "\n"
        "Files that are made for it:\n");
    const struct recording *recording;
    for (size_t i = 0; (recording = recording_at(i)) != NULL; i++) {
        (void)printf("  %-17s  %s\n", recording->format, recording->what);
    }
    (void)printf("\n"
                 "  --import FORMAT:FILE    also this file, in its format's default settings\n"
                 "  --lines N               lines of the files that are made (default 400000)\n"
                 "  --connections N         of the server (default 1000000)\n"
                 "  --seconds S             that are recorded of it (default 10)\n"
                 "  --benchmark_min_time=S  how long a row is timed at least (default 0.5)\n"
                 "\n"
                 "Files are made in $TMPDIR, or in /dev/shm, and removed.\n"
                 "exit status: 0 measured; 1 something failed (its row says what); 2 the command\n"
                 "line cannot be followed\n"
                 "\n"
                 "Google Benchmark's own flags:\n");
    (void)fflush(stdout);
    bench_print_flags();
}

static void register_text(struct text *text)
{
    char name[512];
    const char *slash = strrchr(text->path, '/');
    const char *file = slash != NULL ? slash + 1 : text->path;
    const char *separator = text->recording == NULL ? "/" : "";
    (void)snprintf(name, sizeof name, "scan_lines/%s%s%.200s", text->format->name, separator, file);
    bench_register(name, measure_scan, text);
    (void)snprintf(name, sizeof name, "import/%s%s%.200s", text->format->name, separator, file);
    bench_register(name, measure_import, text);
}

static bool register_rows(void)
{
    const struct recording *recording;
    for (size_t i = 0; (recording = recording_at(i)) != NULL && settings.text_count < FILES_MAX;
         i++) {
        struct text *text = &settings.texts[settings.text_count++];
        text->format = import_format_find(recording->format, &failure);
        text->recording = recording;
        if (text->format == NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < settings.text_count; i++) {
        register_text(&settings.texts[i]);
    }
    const struct tl_algo *floor = find_floor();
    char name[128];
    bench_register("generate/server", measure_generate, NULL);
    bench_register("decode/server", measure_decode, NULL);
    if (floor == NULL) {
        return error_set(&failure, "no structure fires nothing");
    }
    (void)snprintf(name, sizeof name, "replay/%s", floor->name);
    bench_register(name, measure_replay, NULL);
    return true;
}

static int measure(int *argc, char **argv)
{
    if (!take_flags(argc, argv)) {
        return STATUS_USAGE;
    }
    if (settings.help) {
        print_help();
        return STATUS_OK;
    }
    if (!bench_initialize(argc, argv, STATUS_USAGE)) {
        return STATUS_USAGE;
    }
    bench_context("version", BUILD_VERSION);
    bench_context("commit", BUILD_COMMIT);
    bench_context("compiler", BUILD_COMPILER);
    bench_context("flags", BUILD_FLAGS);
    bench_context("build_type", BUILD_TYPE);
    if (!register_rows()) {
        (void)fprintf(stderr, "timerlab-bench-traces: %s\n", failure.text);
        return STATUS_FAULT;
    }
    size_t selected = bench_run();
    if (selected == 0) {
        (void)fprintf(stderr, "timerlab-bench-traces: no row is selected; --benchmark_list_tests "
                              "lists all\n");
        return STATUS_USAGE;
    }
    return failures > 0 || fflush(stdout) != 0 ? STATUS_FAULT : STATUS_OK;
}

int main(int argc, char **argv)
{
    int status = measure(&argc, argv);
    remove_all();
    return status;
}
