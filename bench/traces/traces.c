/*
 * timerlab-bench-traces: how fast traces are made, imported, read and replayed, measured by Google
 * Benchmark. The sides of a comparison are measured in turn within one row, such as an importer and
 * a plain scan of the same file for line ends. Times are processor times of this program, which has
 * one thread, so other load on the machine does not count.
 */
#include "bench_shim.h"
#include "build_info.h"
#include "clock.h"
#include "command_option.h"
#include "gen.h"
#include "google_arguments.h"
#include "import.h"
#include "memory.h"
#include "recordings.h"
#include "replays.h"
#include "standard_files.h"
#include "statistics.h"
#include "supervisor.h"
#include "temporary_file.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *argp_program_version = "timerlab-bench-traces " BUILD_VERSION;

enum { FILES_MAX = 32, ROUNDS_MAX = 1001, SCAN_BYTES = 1 << 17, SIZES_MAX = 8, SUBJECTS_MAX = 16 };

/* A text that importers read. */
struct import_file {
    const struct import_format *format;
    const struct sample_recording *recording; /* NULL: somebody's own file */
    char path[4096];
    uint64_t bytes;
    uint64_t lines;
};

struct trace_subject {
    const struct contender *contender;
    char name[512]; /* as rows have it */
};

static struct settings {
    struct command_structures structures;
    struct google_arguments google;
    struct import_file texts[FILES_MAX];
    size_t text_count;
    struct tl_range sizes[SIZES_MAX]; /* of connections */
    size_t size_count;
    uint64_t lines;
    uint64_t repetitions;
    double seconds;
    double min_time_s;
    struct trace_subject subjects[SUBJECTS_MAX]; /* the first fires nothing; latencies are of all */
    size_t subject_count;
    size_t row_count;
} settings = {.lines = 400000, .repetitions = 5, .seconds = 10, .min_time_s = 0.5};

static struct temporary made; /* for all files that are made; none until it is needed */
static struct error failure;
static unsigned failures;

/* --- pieces ---------------------------------------------------------------------------------- */

static const char *row_failed(void)
{
    failures++;
    return failure.text;
}

static bool make_folder(void)
{
    temporary_files_lie_in_memory(); /* so that no disk is measured */
    return made.folder[0] != '\0' || temporary_make(&made, &failure);
}

/* --- importing ------------------------------------------------------------------------------- */

/* The plain scan: counts the line ends. */
static bool scan_text(const struct import_file *text, uint64_t *lines)
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
static bool prepare_text(struct import_file *text)
{
    if (text->lines > 0) {
        return true;
    }
    if (!make_folder()) {
        return false;
    }
    if (text->recording != NULL) {
        (void)snprintf(text->path, sizeof text->path, "%.*s/%s", PATH_MAX - 64, made.folder,
                       text->recording->format);
        FILE *stream = memory_unless_short(fopen(text->path, "w"));
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
    return scan_text(text, &text->lines) &&
           (text->lines > 0 || error_set(&failure, "%s: has no line", text->path));
}

static bool import_text(const struct import_file *text)
{
    FILE *nowhere = memory_unless_short(fopen("/dev/null", "w"));
    if (nowhere == NULL) {
        return error_set(&failure, "/dev/null: %s", strerror(errno));
    }
    const struct import_job job = {.input = text->path, .output = made.file, .report = nowhere};
    enum import_result result = text->format->run(&job, &failure);
    (void)fclose(nowhere);
    return result == IMPORT_DONE;
}

static double bytes_per_s(const struct import_file *text, double ns)
{
    return (double)text->bytes / ns * 1e9;
}

static const char *measure_scan(void *arg, struct bench_measured *out)
{
    struct import_file *text = arg;
    if (!prepare_text(text)) {
        return row_failed();
    }
    do {
        uint64_t lines;
        uint64_t begun = clock_processor_ns();
        if (!scan_text(text, &lines)) {
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
    static double scan_ns[ROUNDS_MAX];
    static double import_ns[ROUNDS_MAX];
    struct import_file *text = arg;
    size_t rounds = 0;
    if (!prepare_text(text)) {
        return row_failed();
    }
    do {
        uint64_t lines;
        uint64_t begun = clock_processor_ns();
        if (!scan_text(text, &lines)) {
            return row_failed();
        }
        uint64_t scanned = clock_processor_ns();
        if (!import_text(text)) {
            return row_failed();
        }
        uint64_t passed_ns = clock_processor_ns() - scanned;
        import_ns[rounds] = (double)passed_ns;
        scan_ns[rounds] = (double)(scanned - begun);
        out->elapsed_ns += passed_ns;
        out->operations += text->lines;
        out->batches++;
        rounds++;
    } while ((double)out->elapsed_ns < settings.min_time_s * 1e9 && rounds < ROUNDS_MAX);
    double typical_ns = stats_median(import_ns, rounds);
    double typical_scan_ns = stats_median(scan_ns, rounds);
    bench_add_counter(out, "bytes_per_second", bytes_per_s(text, typical_ns));
    bench_add_counter(out, "limit_ns", typical_scan_ns / (double)text->lines);
    bench_add_counter(out, "times_scan", typical_ns / typical_scan_ns);
    return NULL;
}

/* --- traces ----------------------------------------------------------------------------------- */

/* A generated trace: a workload, its number of connections, and its length. */
struct model {
    const char *workload;
    uint32_t connections;
    double seconds;
    char path[PATH_MAX + 96]; /* "" until it is made */
};

/* All that rows need, each made when its first row runs. The server has starts and stops in any
 * order; idle connections only restart: a run of like operations. */
static struct {
    struct model server;
    struct model longer; /* the server for longer */
    struct model idle;
} models[SIZES_MAX];

#define LONGER_TIMES 4

static bool generate(struct model *model, struct gen_summary *summary)
{
    const struct gen_workload *workload = gen_find(model->workload, &failure);
    if (workload == NULL || !make_folder()) {
        return false;
    }
    struct gen_part part = {.workload = workload, .connections = model->connections};
    gen_parameters_default(workload, part.parameters);
    const struct gen_request request = {
        .parts = &part, .part_count = 1, .seconds = model->seconds, .seed = 1};
    (void)snprintf(model->path, sizeof model->path, "%s/%s-%" PRIu32 "-%g.trace", made.folder,
                   model->workload, model->connections, model->seconds);
    return gen_trace(&request, model->path, summary, &failure);
}

static bool prepare(struct model *model)
{
    struct gen_summary summary;
    return (model->path[0] != '\0' && access(model->path, R_OK) == 0) || generate(model, &summary);
}

static const char *measure_generate(void *arg, struct bench_measured *out)
{
    struct model *model = arg;
    struct gen_summary summary;
    uint64_t begun = clock_processor_ns();
    if (!generate(model, &summary)) {
        return row_failed();
    }
    out->elapsed_ns = clock_processor_ns() - begun;
    out->operations = summary.generated_events;
    out->batches = 1;
    struct stat status;
    if (stat(model->path, &status) != 0) {
        (void)error_set(&failure, "%s: %s", model->path, strerror(errno));
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
    struct model *model = arg;
    struct trace_reader *reader = prepare(model) ? trace_reader_open(model->path, &failure) : NULL;
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

/* --- replaying -------------------------------------------------------------------------------- */

/* A row that replays. */
struct replay_row {
    const struct trace_subject *subject;
    struct model *model;
    struct model *longer; /* NULL: it needs none */
    enum replay_pass pass;
    bool (*measure)(const struct replays_subject *subject, struct bench_measured *out,
                    struct error *error);
};

enum { REPLAY_ROWS_MAX = SIZES_MAX * (2 + SUBJECTS_MAX + 1 + 3) };
static struct replay_row replay_rows[REPLAY_ROWS_MAX];
static size_t replay_row_count;

static const char *measure_replay(void *arg, struct bench_measured *out)
{
    const struct replay_row *row = arg;
    char plain_path[sizeof row->model->path + 8];
    if (!prepare(row->model) || (row->longer != NULL && !prepare(row->longer))) {
        return row_failed();
    }
    (void)snprintf(plain_path, sizeof plain_path, "%s.plain", row->model->path);
    const struct replays_subject subject = {.trace_path = row->model->path,
                                            .longer_path =
                                                row->longer != NULL ? row->longer->path : NULL,
                                            .plain_path = plain_path,
                                            .algo = row->subject->contender->timed,
                                            .options = row->subject->contender->options,
                                            .pass = row->pass,
                                            .min_time_s = settings.min_time_s};
    return row->measure(&subject, out, &failure) ? NULL : row_failed();
}

/* --- the command line ------------------------------------------------------------------------ */

static void take_sizes(void *arguments, const struct option_row *row, const char *text,
                       struct argp_state *state)
{
    (void)arguments;
    settings.size_count = option_ranges(row, text, settings.sizes, state);
}

/* FORMAT:FILE */
static void take_import(void *arguments, const struct option_row *row, const char *text,
                        struct argp_state *state)
{
    const char *colon = strchr(text, ':');
    (void)arguments;
    if (colon == NULL || settings.text_count == FILES_MAX) {
        argp_error(state, "--%s takes FORMAT:FILE, %d at most, not '%s'", row->option.name,
                   (int)FILES_MAX, text);
    }
    char *name = memory_copy_part(text, (size_t)(colon - text));
    struct import_file *own = &settings.texts[settings.text_count++];
    own->format = import_format_find(name, &failure);
    if (own->format == NULL) {
        argp_failure(state, EXIT_USAGE, 0, "%s", failure.text);
    }
    free(name);
    (void)snprintf(own->path, sizeof own->path, "%s", colon + 1);
}

#define AT(member) OPTION_AT(struct settings, member)

static const struct option_row options[] = {
    OPTION_ROW_STRUCTURES(struct settings, "NAME[:opt=v...],...",
                          "Structures to measure latency with, in addition to the one that fires "
                          "nothing (the first of `timerlab list`)"),
    {{"import", 0, "FORMAT:FILE", 0, "Also import this file, in its format's default settings", 0},
     .repeats = true,
     .take = take_import},
    {{"lines", 0, "N", 0, "Lines of the generated files (400000)", 0},
     OPTION_WHOLE(1, 1000000000),
     AT(lines)},
    {{"connections", 0, "LIST", 0, "Connections of the workloads (1m)", 0},
     .number = {.from = 1, .to = 100000000, .list_max = SIZES_MAX, .example = "10k,1m"},
     .take = take_sizes},
    {{"seconds", 0, "SECONDS", 0, "Length of the recordings of the workloads (10)", 0},
     OPTION_SECONDS(1e-9, 1e6),
     AT(seconds)},
    {{"benchmark_min_time", 0, "SECONDS", 0, "Least time for which a row is timed (0.5)", 0},
     OPTION_SECONDS(0, 86400),
     AT(min_time_s)},
    {{"benchmark_repetitions", 0, "N", 0, "How often each row is measured (5)", 0},
     OPTION_WHOLE(1, 1000000),
     AT(repetitions)},
    OPTION_ROW_END,
};

/* The first structure that is more than something to compare others with. */
static const char *first_structure(void)
{
    const struct catalog *catalog = &settings.structures.catalog;
    const uint32_t lesser = TL_CAP_BASELINE | TL_CAP_SLOW;
    size_t at = 0;
    while (at + 1 < catalog->count && (catalog->entries[at].timed->capabilities & lesser) != 0) {
        at++;
    }
    return catalog->entries[at].timed->name;
}

static void complete(void *arguments, struct argp_state *state)
{
    struct command_structures *structures = &settings.structures;
    const struct tl_algo *floor = catalog_floor(&structures->catalog);
    struct error error;
    (void)arguments;
    if (structures->selections.count == 0) {
        word_list_append(&structures->selections, first_structure());
    }
    if (floor == NULL ||
        !catalog_select(&structures->catalog, floor->name, &structures->contenders, &error)) {
        argp_failure(state, EXIT_FAULT, 0, "no structure fires nothing");
    }
    command_structures_find(structures, catalog_select, ALL_OR_NAMES, state);
    if (structures->contenders.count > SUBJECTS_MAX) {
        argp_error(state, "more than %d structures", (int)SUBJECTS_MAX);
    }
    for (size_t i = 0; i < structures->contenders.count; i++) {
        const struct contender *contender = &structures->contenders.items[i];
        struct trace_subject *subject = &settings.subjects[settings.subject_count++];
        subject->contender = contender;
        (void)snprintf(subject->name, sizeof subject->name, "%s%s%s", contender->timed->name,
                       contender->option_text[0] != '\0' ? ":" : "", contender->option_text);
    }
    if (settings.size_count == 0) {
        settings.sizes[settings.size_count++] = (struct tl_range){1000000, 1000000};
    }
}

static const char help[] =
    "Measures how fast traces are made, imported, read and replayed. items_per_second counts lines "
    "and operations, by the processor time of this program. The sides of a comparison are measured "
    "in turn; limit_ns is the lower bound.\vRows:\n"
    "  scan_lines/FORMAT  counts the line ends of a file: the least work of any reader\n"
    "  import/FORMAT      imports it; limit_ns is a scan, times_scan the ratio\n"
    "  generate/server    simulates the workload; bytes_per_event is the file's size, "
    "recorded_share the share of the operations after the warm-up\n"
    "  decode/server      reads that trace\n"
    "  replay/NAME/of:...  replays the trace through the structure that fires nothing, without "
    "decoding; limit_ns is a plain loop over mapped records of 16 bytes that calls start or stop, "
    "times_plain the ratio, times_ticking that to the loop with the calls of next and advance at "
    "each tick; decoded_ns is with decoding\n"
    "  latency/NAME/of:... the same with the processor's counter read after each operation; "
    "plain_ns is without, adds_ns the difference; clock_ns is a reading, limit_ns without but with "
    "a reading that is not kept; filing_ns is the time of filing the latencies, outside of the "
    "timed part\n"
    "  memory/NAME/pass:... memory that the pass itself holds, own_bytes, and longer_own_bytes for "
    "a longer trace; times_longer and times_own are the ratios\n\n"
    "Google Benchmark's own flags work, too, written with =. Files are made in $TMPDIR, or in "
    "/dev/shm, and removed.\n\n"
    "Exit status: 0 measured; 1 something failed (its row says what); 2 the command line cannot be "
    "followed.";

/* Adds a row that the filter selects, or lists it. */
static void add_row(const char *name, bench_fn fn, void *arg)
{
    if (!bench_selects(name)) {
        return;
    }
    settings.row_count++;
    if (settings.google.list) {
        (void)printf("%s/manual_time\n", name);
    } else {
        bench_register(name, fn, arg);
    }
}

static void register_text(struct import_file *text)
{
    char name[512];
    if (text->recording != NULL) {
        (void)snprintf(name, sizeof name, "%s/n:%" PRIu64, text->format->name, settings.lines);
    } else {
        const char *slash = strrchr(text->path, '/');
        (void)snprintf(name, sizeof name, "%s:%.200s", text->format->name,
                       slash != NULL ? slash + 1 : text->path);
    }
    char row[600];
    (void)snprintf(row, sizeof row, "scan_lines/%s", name);
    add_row(row, measure_scan, text);
    (void)snprintf(row, sizeof row, "import/%s", name);
    add_row(row, measure_import, text);
}

static bool register_texts(void)
{
    const struct sample_recording *recording;
    for (size_t i = 0; (recording = recording_at(i)) != NULL && settings.text_count < FILES_MAX;
         i++) {
        struct import_file *text = &settings.texts[settings.text_count++];
        text->format = import_format_find(recording->format, &failure);
        text->recording = recording;
        if (text->format == NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < settings.text_count; i++) {
        register_text(&settings.texts[i]);
    }
    return true;
}

static void register_replay(const char *suite, const char *form, struct replay_row row)
{
    char name[768];
    struct replay_row *own = &replay_rows[replay_row_count++];
    *own = row;
    (void)snprintf(name, sizeof name, "%s/%s/n:%" PRIu32 "/%s", suite, row.subject->name,
                   row.model->connections, form);
    add_row(name, measure_replay, own);
}

static void register_size(size_t index)
{
    uint32_t connections = (uint32_t)settings.sizes[index].first;
    struct model *server = &models[index].server;
    struct model *longer = &models[index].longer;
    struct model *idle = &models[index].idle;
    *server = (struct model){"server", connections, settings.seconds, ""};
    *longer = (struct model){"server", connections, LONGER_TIMES * settings.seconds, ""};
    *idle = (struct model){"idle", connections, settings.seconds, ""};
    char name[64];
    (void)snprintf(name, sizeof name, "generate/server/n:%" PRIu32, connections);
    add_row(name, measure_generate, server);
    (void)snprintf(name, sizeof name, "decode/server/n:%" PRIu32, connections);
    add_row(name, measure_decode, server);
    const struct trace_subject *first = &settings.subjects[0];
    register_replay("replay", "of:server",
                    (struct replay_row){first, server, .measure = replays_throughput});
    register_replay("replay", "of:idle",
                    (struct replay_row){first, idle, .measure = replays_throughput});
    for (size_t i = 0; i < settings.subject_count; i++) {
        const struct trace_subject *subject = &settings.subjects[i];
        register_replay("latency", "of:server",
                        (struct replay_row){subject, server, .measure = replays_latency});
    }
    register_replay("memory", "pass:check",
                    (struct replay_row){first, server, longer, PASS_CHECK, replays_memory});
    register_replay("memory", "pass:throughput",
                    (struct replay_row){first, server, longer, PASS_THROUGHPUT, replays_memory});
    register_replay("memory", "pass:latency",
                    (struct replay_row){first, server, longer, PASS_LATENCY, replays_memory});
}

static bool register_rows(void)
{
    if (!register_texts()) {
        return false;
    }
    bench_context("floor", settings.subjects[0].name);
    for (size_t i = 0; i < settings.size_count; i++) {
        register_size(i);
    }
    return true;
}

static int run_trace_benchmarks(void *arguments, int argc, char **argv)
{
    (void)arguments;
    (void)argc;
    (void)argv;
    if (!bench_initialize(&settings.google.count, settings.google.texts, settings.repetitions,
                          EXIT_USAGE)) {
        return EXIT_USAGE;
    }
    bench_context("version", BUILD_VERSION);
    bench_context("commit", BUILD_COMMIT);
    bench_context("compiler", BUILD_COMPILER);
    bench_context("flags", BUILD_FLAGS);
    bench_context("build_type", BUILD_TYPE);
    bench_context("limit of import", "scan of the lines");
    bench_context("limit of replay", "plain loop");
    bench_context("limit of latency", "replay with readings");
    if (!register_rows()) {
        command_complain(&failure);
        return EXIT_FAULT;
    }
    if (settings.row_count == 0) {
        standard_files_tell("timerlab-bench-traces: no row is selected; --benchmark_list_tests "
                            "lists all\n");
        return EXIT_USAGE;
    }
    if (!settings.google.list) {
        bench_run();
    }
    return failures > 0 ? EXIT_FAULT : EXIT_OK;
}

static int run_words(void *ctx)
{
    static char program[] = "timerlab-bench-traces";
    static const struct command_line line = {.options = options,
                                             .form = "[--benchmark_...=VALUE]...",
                                             .text = help,
                                             .complete = complete};
    const struct google_words *words = ctx;
    (void)on_exit(standard_files_check, program);
    argp_err_exit_status = EXIT_USAGE;
    words->texts[0] = program;
    int count = google_arguments_take(&settings.google, options, words->count, words->texts);
    int status = command_structures_run(&line, count, words->texts, &settings, &settings.structures,
                                        run_trace_benchmarks);
    google_arguments_free(&settings.google);
    temporary_remove(&made);
    return status;
}

int main(int argc, char **argv)
{
    struct google_words words = {argc, argv};
    standard_files_fill();
    return supervisor_run(run_words, NULL, &words);
}
