/*
 * timerlab-bench-traces: how fast traces are made, imported, read and replayed, measured by Google
 * Benchmark. The sides of a comparison are measured in turn within one row, such as an importer and
 * a plain scan of the same file for line ends. Times are processor times of this program, which has
 * one thread, so other load on the machine does not count.
 */
#include "traces.h"

#include "bench_program.h"
#include "build_info.h"
#include "memory.h"
#include "results.h"
#include "standard_files.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *argp_program_version = "timerlab-bench-traces " BUILD_VERSION;

enum { FILES_MAX = 32, SIZES_MAX = 8, SUBJECTS_MAX = 16, LONGER_TIMES = 4 };

struct arguments {
    struct command_structures structures; /* the first fires nothing; latencies are of all */
    struct google_arguments google;
    struct trace_settings settings;
    struct import_file texts[FILES_MAX];
    size_t text_count;
    struct tl_range sizes[SIZES_MAX]; /* of connections */
    size_t size_count;
    uint64_t repetitions;
    double seconds;
};

/* All that rows need, each made when its first row runs. The server has starts and stops in any
 * order; idle connections only restart: a run of like operations. */
static struct {
    struct model server;
    struct model longer; /* the server for longer */
    struct model idle;
} models[SIZES_MAX];

/* --- the command line ------------------------------------------------------------------------ */

static void take_sizes(void *at, const struct option_row *row, const char *text,
                       struct argp_state *state)
{
    struct arguments *arguments = at;
    arguments->size_count = option_ranges(row, text, arguments->sizes, state);
}

/* FORMAT:FILE */
static void take_import(void *at, const struct option_row *row, const char *text,
                        struct argp_state *state)
{
    struct arguments *arguments = at;
    const char *colon = strchr(text, ':');
    struct error error;
    if (colon == NULL || arguments->text_count == FILES_MAX) {
        argp_error(state, "--%s takes FORMAT:FILE, %d at most, not '%s'", row->option.name,
                   (int)FILES_MAX, text);
    }
    char *name = memory_copy_part(text, (size_t)(colon - text));
    struct import_file *own = &arguments->texts[arguments->text_count++];
    own->format = import_format_find(name, &error);
    if (own->format == NULL) {
        argp_failure(state, EXIT_USAGE, 0, "%s", error.text);
    }
    free(name);
    (void)snprintf(own->path, sizeof own->path, "%s", colon + 1);
}

#define AT(member) OPTION_AT(struct arguments, member)

static const struct option_row options[] = {
    OPTION_ROW_STRUCTURES(struct arguments, "NAME[:opt=v...],...",
                          "Structures to measure latency with, in addition to the one that fires "
                          "nothing (the first of `timerlab list`)"),
    {OPTION("import", 0, "FORMAT:FILE", "Also import this file, in its format's default settings"),
     .repeats = true, .take = take_import},
    {OPTION("lines", 0, "N", "Lines of the generated files (400000)"), OPTION_WHOLE(1, 1000000000),
     AT(settings.lines)},
    {OPTION("connections", 0, "LIST", "Connections of the workloads (1m)"),
     .number = {.from = 1, .to = 100000000, .list_max = SIZES_MAX, .example = "10k,1m"},
     .take = take_sizes},
    {OPTION("seconds", 0, "SECONDS", "Length of the recordings of the workloads (10)"),
     OPTION_SECONDS(1e-9, 1e6), AT(seconds)},
    {OPTION("benchmark_min_time", 0, "SECONDS", "Least time for which a row is timed (0.5)"),
     OPTION_SECONDS(0, 86400), AT(settings.min_time_s)},
    {OPTION("benchmark_repetitions", 0, "N", "How often each row is measured (5)"),
     OPTION_WHOLE(1, 1000000), AT(repetitions)},
    OPTION_ROW_END,
};

/* The first structure that is more than something to compare others with. */
static const char *first_structure(const struct catalog *catalog)
{
    const uint32_t lesser = TL_CAP_BASELINE | TL_CAP_SLOW;
    size_t at = 0;
    while (at + 1 < catalog->count && (catalog->entries[at].timed->capabilities & lesser) != 0) {
        at++;
    }
    return catalog->entries[at].timed->name;
}

static void complete(void *at, struct argp_state *state)
{
    struct arguments *arguments = at;
    struct command_structures *structures = &arguments->structures;
    const struct tl_algo *floor = catalog_floor(&structures->catalog);
    struct error error;
    if (structures->selections.count == 0) {
        word_list_append(&structures->selections, first_structure(&structures->catalog));
    }
    if (floor == NULL ||
        !catalog_select(&structures->catalog, floor->name, &structures->contenders, &error)) {
        argp_failure(state, EXIT_FAULT, 0, "no structure fires nothing");
    }
    command_structures_find(structures, catalog_select, ALL_OR_NAMES, state);
    if (structures->contenders.count > SUBJECTS_MAX) {
        argp_error(state, "more than %d structures", (int)SUBJECTS_MAX);
    }
    if (arguments->size_count == 0) {
        arguments->sizes[arguments->size_count++] = (struct tl_range){1000000, 1000000};
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
    "decoding; limit_ns is a plain loop over records of 16 bytes that calls start or stop, "
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

/* --- the rows -------------------------------------------------------------------------------- */

enum { ROWS_MAX = 2 * FILES_MAX + SIZES_MAX * (2 + 2 + SUBJECTS_MAX + 3) };
static struct trace_row rows[ROWS_MAX];
static size_t row_count;
static unsigned failures;

static const char *measure_row(void *arg, struct bench_measured *out)
{
    static struct error error;
    const struct trace_row *row = arg;
    bool measured = row->measure(row, out, &error);
    failures += !measured;
    return measured ? NULL : error.text;
}

/* Add a row, or list it, if the filter selects it. */
__attribute__((format(printf, 3, 4))) static void
add_row(struct arguments *arguments, struct trace_row row, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *name = memory_format_list(format, list);
    va_end(list);
    if (bench_selects(name)) {
        row.settings = &arguments->settings;
        rows[row_count] = row;
        if (arguments->google.list) {
            (void)printf("%s/manual_time\n", name);
        } else {
            bench_register(name, measure_row, &rows[row_count]);
        }
        row_count++;
    }
    free(name);
}

static void add_text_rows(struct arguments *arguments, struct import_file *text)
{
    const char *slash = strrchr(text->path, '/');
    char *name = text->recording != NULL
                     ? memory_format("%s/n:%" PRIu64, text->format->name, arguments->settings.lines)
                     : memory_format("%s:%.200s", text->format->name,
                                     slash != NULL ? slash + 1 : text->path);
    add_row(arguments, (struct trace_row){rows_scan, .text = text}, "scan_lines/%s", name);
    add_row(arguments, (struct trace_row){rows_import, .text = text}, "import/%s", name);
    free(name);
}

/* Add the texts that are made to those of the user, and the rows of all. */
static bool add_texts(struct arguments *arguments, struct error *error)
{
    for (size_t i = 0; i < SAMPLE_RECORDINGS && arguments->text_count < FILES_MAX; i++) {
        struct import_file *text = &arguments->texts[arguments->text_count++];
        text->recording = &sample_recordings[i];
        text->format = import_format_find(text->recording->format, error);
        if (text->format == NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < arguments->text_count; i++) {
        add_text_rows(arguments, &arguments->texts[i]);
    }
    return true;
}

static void add_size(struct arguments *arguments, size_t index)
{
    static const struct {
        const char *form;
        enum replay_pass pass;
    } passes[] = {
        {"check", PASS_CHECK}, {"throughput", PASS_THROUGHPUT}, {"latency", PASS_LATENCY}};
    uint32_t connections = (uint32_t)arguments->sizes[index].first;
    double seconds = arguments->seconds;
    struct model *server = &models[index].server;
    struct model *longer = &models[index].longer;
    struct model *idle = &models[index].idle;
    *server = (struct model){"server", connections, seconds, ""};
    *longer = (struct model){"server", connections, LONGER_TIMES * seconds, ""};
    *idle = (struct model){"idle", connections, seconds, ""};
    const struct contender_list *contenders = &arguments->structures.contenders;
    const struct contender *floor = &contenders->items[0];
    struct trace_row row = {rows_generate, .model = server, .longer = longer, .contender = floor};
    add_row(arguments, row, "generate/server/n:%" PRIu32, connections);
    row.measure = rows_decode;
    add_row(arguments, row, "decode/server/n:%" PRIu32, connections);
    row.measure = replays_throughput;
    add_row(arguments, row, "replay/%s/n:%" PRIu32 "/of:server", floor->timed->name, connections);
    row.model = idle;
    add_row(arguments, row, "replay/%s/n:%" PRIu32 "/of:idle", floor->timed->name, connections);
    row.model = server;
    row.measure = replays_latency;
    for (size_t i = 0; i < contenders->count; i++) {
        row.contender = &contenders->items[i];
        add_row(arguments, row, "latency/%s/n:%" PRIu32 "/of:server",
                structure_text(row.contender->timed->name, row.contender->option_text, STRUCTURE),
                connections);
    }
    row.contender = floor;
    row.measure = replays_memory;
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        row.pass = passes[i].pass;
        add_row(arguments, row, "memory/%s/n:%" PRIu32 "/pass:%s", floor->timed->name, connections,
                passes[i].form);
    }
}

static int run_trace_benchmarks(void *at, int argc, char **argv)
{
    static const char *const context[][2] = {
        {"version", BUILD_VERSION},        {"commit", BUILD_COMMIT},
        {"compiler", BUILD_COMPILER},      {"flags", BUILD_FLAGS},
        {"build_type", BUILD_TYPE},        {"limit of import", "scan of the lines"},
        {"limit of replay", "plain loop"}, {"limit of latency", "replay with readings"},
    };
    struct arguments *arguments = at;
    struct error error;
    (void)argc;
    (void)argv;
    if (!bench_initialize(&arguments->google.count, arguments->google.texts, arguments->repetitions,
                          EXIT_USAGE)) {
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof context / sizeof context[0]; i++) {
        bench_context(context[i][0], context[i][1]);
    }
    if (!add_texts(arguments, &error)) {
        return command_fail(&error);
    }
    bench_context("floor", arguments->structures.contenders.items[0].timed->name);
    for (size_t i = 0; i < arguments->size_count; i++) {
        add_size(arguments, i);
    }
    if (row_count == 0) {
        standard_files_tell("timerlab-bench-traces: no row is selected; --benchmark_list_tests "
                            "lists all\n");
        return EXIT_USAGE;
    }
    if (!arguments->google.list) {
        bench_run();
    }
    temporary_remove(&arguments->settings.made);
    return failures > 0 ? EXIT_FAULT : EXIT_OK;
}

int main(int argc, char **argv)
{
    static struct arguments arguments = {
        .settings = {.lines = 400000, .min_time_s = 0.5}, .repetitions = 5, .seconds = 10};
    static struct bench_program program = {
        .name = "timerlab-bench-traces",
        .line = {.options = options, .text = help, .complete = complete},
        .run = run_trace_benchmarks,
        .arguments = &arguments,
        .structures = &arguments.structures,
        .google = &arguments.google};
    return bench_program_run(&program, argc, argv);
}
