/*
 * timerlab-bench-traces: how fast traces are made, imported, read and replayed, measured by Google
 * Benchmark.
 * What is to be compared is measured by turns within one row: an importer and a plain scan of the
 * same file for line ends, each time the one behind the other. Times are the processor's for this
 * program: everything here runs in one thread, and what the machine does for others is not counted.
 */
#include "bench_shim.h"
#include "build_info.h"
#include "clock.h"
#include "flags.h"
#include "gen.h"
#include "import.h"
#include "memory.h"
#include "recordings.h"
#include "registry.h"
#include "replays.h"
#include "standard_files.h"
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

enum { STATUS_OK = 0, STATUS_FAULT = 1, STATUS_USAGE = 2 };

enum { FILES_MAX = 32, ROUNDS_MAX = 1001, SCAN_BYTES = 1 << 17, SIZES_MAX = 8, SUBJECTS_MAX = 16 };

/* A text that importers read. */
struct text {
    const struct import_format *format;
    const struct sample_recording *recording; /* NULL: somebody's own file */
    char path[4096];
    uint64_t bytes;
    uint64_t lines;
};

static struct {
    struct text texts[FILES_MAX];
    size_t text_count;
    uint32_t sizes[SIZES_MAX]; /* of connections */
    size_t size_count;
    struct subject {
        const struct tl_algo *algo;
        int64_t options[TL_OPTIONS_MAX];
        char name[256];       /* as rows have it */
    } subjects[SUBJECTS_MAX]; /* what latencies are measured of */
    size_t subject_count;
    bool help;
    bool version;
} settings;

static const char program[] = "timerlab-bench-traces";

#define SECONDS(shortest, longest)                                                                 \
    {                                                                                              \
        .kind = TL_NUMBER_TIME, .unit_ns = 1e9, .least = (shortest), .most = (longest)             \
    }
enum { NUMBER_SECONDS, NUMBER_LINES, NUMBER_MIN_TIME, NUMBER_REPETITIONS };
static struct flag_number numbers[] = {
    [NUMBER_SECONDS] = {"--seconds", SECONDS(1e-9, 1e6), {.real = 10}, false},
    [NUMBER_LINES] = {"--lines", {.from = 1, .to = 1000000000}, {.whole = 400000}, false},
    [NUMBER_MIN_TIME] = {"--benchmark_min_time", SECONDS(0, 86400), {.real = 0.5}, false},
    [NUMBER_REPETITIONS] = FLAG_REPETITIONS,
    {.flag = NULL},
};

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
        (void)snprintf(text->path, sizeof text->path, "%.*s/%s", PATH_MAX - 64, made.folder,
                       text->recording->format);
        FILE *stream = memory_unless_short(fopen(text->path, "w"));
        if (stream == NULL) {
            return error_set(&failure, "%s: %s", text->path, strerror(errno));
        }
        text->recording->write(stream, numbers[NUMBER_LINES].value.whole);
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
    FILE *nowhere = memory_unless_short(fopen("/dev/null", "w"));
    if (nowhere == NULL) {
        return error_set(&failure, "/dev/null: %s", strerror(errno));
    }
    const struct import_job job = {.input = text->path, .output = made.file, .report = nowhere};
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
    } while ((double)out->elapsed_ns < numbers[NUMBER_MIN_TIME].value.real * 1e9);
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
    } while ((double)out->elapsed_ns < numbers[NUMBER_MIN_TIME].value.real * 1e9 &&
             rounds < ROUNDS_MAX);
    double typical_ns = median(import_ns, rounds);
    double typical_scan_ns = median(scan_ns, rounds);
    bench_add_counter(out, "bytes_per_second", bytes_per_s(text, typical_ns));
    bench_add_counter(out, "limit_ns", typical_scan_ns / (double)text->lines);
    bench_add_counter(out, "times_scan", typical_ns / typical_scan_ns);
    return NULL;
}

/* --- traces ----------------------------------------------------------------------------------- */

/* What is generated: a workload at a number of connections, for how long. */
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
    while (good && (out->batches == 0 ||
                    (double)out->elapsed_ns < numbers[NUMBER_MIN_TIME].value.real * 1e9)) {
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

static struct subject floor_subject; /* what fires nothing: the floor of every comparison */

/* A row that replays. */
struct replay_row {
    const struct subject *subject;
    struct model *model;
    struct model *longer; /* NULL: it needs none */
    enum replay_pass pass;
    bool (*measure)(const struct replays_subject *subject, struct bench_measured *out,
                    struct error *error);
};

enum { REPLAY_ROWS_MAX = SIZES_MAX * (2 + SUBJECTS_MAX + 1 + 3) };
static struct replay_row replay_rows[REPLAY_ROWS_MAX];
static size_t replay_row_count;

static bool parse_subject(struct subject *subject, const struct tl_algo *algo, const char *options)
{
    char text[192];
    if (tl_options_parse(algo, options, subject->options, text, sizeof text) != TL_OK) {
        return error_set(&failure, "%s: %s", algo->name, text);
    }
    subject->algo = algo;
    (void)tl_options_format(algo, subject->options, false, text, sizeof text);
    (void)snprintf(subject->name, sizeof subject->name, "%s%s%s", algo->name,
                   text[0] != '\0' ? ":" : "", text);
    return true;
}

static bool find_floor(void)
{
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->timed;
        if ((algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
            return parse_subject(&floor_subject, algo, "");
        }
    }
    return error_set(&failure, "no structure fires nothing");
}

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
                                            .algo = row->subject->algo,
                                            .options = row->subject->options,
                                            .pass = row->pass,
                                            .min_time_s = numbers[NUMBER_MIN_TIME].value.real};
    return row->measure(&subject, out, &failure) ? NULL : row_failed();
}

/* --- the command line ------------------------------------------------------------------------ */

/* N[,N...] */
static bool take_sizes(const char *list)
{
    static const struct tl_number_form form = {
        .from = 1, .to = 100000000, .list_max = SIZES_MAX, .example = "10k,1m"};
    struct tl_range sizes[SIZES_MAX];
    settings.size_count = flag_ranges(program, "--connections", &form, list, sizes);
    for (size_t i = 0; i < settings.size_count; i++) {
        settings.sizes[i] = (uint32_t)sizes[i].first;
    }
    return settings.size_count > 0;
}

/* NAME[:option=value...] */
static bool take_structure(const char *text)
{
    char name[64];
    size_t length = strcspn(text, ":");
    (void)snprintf(name, sizeof name, "%.*s", (int)length, text);
    const struct tl_entry *entry = tl_registry_find(name);
    if (entry == NULL) {
        standard_files_tell(
            "timerlab-bench-traces: no structure is called '%s'; 'timerlab list' has the "
            "names\n",
            name);
        return false;
    }
    if (settings.subject_count == SUBJECTS_MAX) {
        standard_files_tell("timerlab-bench-traces: --algo: more than %d structures\n",
                            (int)SUBJECTS_MAX);
        return false;
    }
    if (!parse_subject(&settings.subjects[settings.subject_count], entry->timed,
                       text[length] == ':' ? text + length + 1 : "")) {
        standard_files_tell("timerlab-bench-traces: %s\n", failure.text);
        return false;
    }
    settings.subject_count++;
    return true;
}

/* The first structure that is more than something to compare others with. */
static const char *first_structure(void)
{
    const uint32_t lesser = TL_CAP_BASELINE | TL_CAP_SLOW;
    size_t at = 0;
    while (at + 1 < tl_registry_count() &&
           (tl_registry_at(at)->timed->capabilities & lesser) != 0) {
        at++;
    }
    return tl_registry_at(at)->timed->name;
}

/* FORMAT:FILE */
static bool take_import(const char *text)
{
    const char *colon = strchr(text, ':');
    char name[64];
    if (colon == NULL || (size_t)(colon - text) >= sizeof name ||
        settings.text_count == FILES_MAX) {
        standard_files_tell("timerlab-bench-traces: --import %s: takes FORMAT:FILE, %d at most\n",
                            text, (int)FILES_MAX);
        return false;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(colon - text), text);
    struct text *own = &settings.texts[settings.text_count];
    own->format = import_format_find(name, &failure);
    if (own->format == NULL) {
        standard_files_tell("timerlab-bench-traces: %s\n", failure.text);
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
        enum flag_found number = flag_take_number(program, numbers, *argc, argv, &i);
        if (number == FLAG_REFUSED) {
            return false;
        }
        if (number == FLAG_TAKEN) {
            continue;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            settings.help = true;
        } else if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-V") == 0) {
            settings.version = true;
        } else if ((value = flag_value("--import", *argc, argv, &i)) != NULL) {
            if (!take_import(value)) {
                return false;
            }
        } else if ((value = flag_value("--connections", *argc, argv, &i)) != NULL) {
            if (!take_sizes(value)) {
                return false;
            }
        } else if ((value = flag_value("--algo", *argc, argv, &i)) != NULL) {
            if (!take_structure(value)) {
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
        "usage: timerlab-bench-traces [--import FORMAT:FILE]... [--connections N,...] "
        "[--benchmark_...]\n"
        "\n"
        "Measures how fast traces are made, imported, read and replayed; the table or JSON goes "
        "to\n"
        "standard output, for 'timerlab compare', scripts/bench-to-csv and plots/draw.\n"
        "items_per_second counts lines and operations, by one core's time for this program. What\n"
        "is compared in a row is measured by turns; limit_ns is what it cannot undercut.\n"
        "\n"
        "  scan_lines/FORMAT      counts the line ends of a file: what any reader of it needs at\n"
        "                         least\n"
        "  import/FORMAT          imports it; limit_ns is a scan, times_scan the ratio\n"
        "  generate/server        simulates the workload; bytes_per_event is the file's size,\n"
        "                         recorded_share what of the operations is not only warm-up\n"
        "  decode/server          reads that trace\n"
        "  replay/NAME/of:...     replays the trace through the structure that fires nothing, "
        "without\n"
        "                         decoding; limit_ns is a plain loop over mapped records of 16 "
        "bytes\n"
        "                         that calls start or stop, times_plain the ratio, times_ticking "
        "that\n"
        "                         to the loop with the calls of next and advance at each tick;\n"
        "                         decoded_ns is with decoding\n"
        "  latency/NAME/of:...    the same with the processor's counter read after each "
        "operation;\n"
        "                         plain_ns is without, adds_ns what it adds; clock_ns is a "
        "reading,\n"
        "                         limit_ns without but with a reading that is not kept; filing_ns "
        "is\n"
        "                         what filing the latencies adds, outside of what is timed\n"
        "  memory/NAME/pass:...   the memory that the pass itself holds, own_bytes, and "
        "longer_own_bytes\n"
        "                         for a longer trace; times_longer and times_own are the ratios\n"
        "\n"
        "Files that are made for it:\n");
    const struct sample_recording *recording;
    for (size_t i = 0; (recording = recording_at(i)) != NULL; i++) {
        (void)printf("  %-17s  %s\n", recording->format, recording->what);
    }
    (void)printf(
        "\n"
        "  --import FORMAT:FILE    also this file, in its format's default settings\n"
        "  --lines N               lines of the files that are made (default 400000)\n"
        "  --connections N,...     of the workloads (default 1m)\n"
        "  --seconds S             that are recorded of them (default 10)\n"
        "  --algo NAME[:opt=v]...  whose latency is measured, besides that of the one that "
        "fires\n"
        "                          nothing (default: the first of 'timerlab list' that "
        "is\n"
        "                          neither baseline nor slow)\n"
        "  --benchmark_min_time=S  how long a row is timed at least (default 0.5)\n"
        "  --version               which timerlab this is, and end\n"
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
    if (text->recording != NULL) {
        (void)snprintf(name, sizeof name, "%s/n:%" PRIu64, text->format->name,
                       numbers[NUMBER_LINES].value.whole);
    } else {
        const char *slash = strrchr(text->path, '/');
        (void)snprintf(name, sizeof name, "%s:%.200s", text->format->name,
                       slash != NULL ? slash + 1 : text->path);
    }
    char row[600];
    (void)snprintf(row, sizeof row, "scan_lines/%s", name);
    bench_register(row, measure_scan, text);
    (void)snprintf(row, sizeof row, "import/%s", name);
    bench_register(row, measure_import, text);
}

static bool register_texts(void)
{
    const struct sample_recording *recording;
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
    return true;
}

static void register_replay(const char *suite, const char *form, struct replay_row row)
{
    char name[512];
    struct replay_row *own = &replay_rows[replay_row_count++];
    *own = row;
    (void)snprintf(name, sizeof name, "%s/%s/n:%" PRIu32 "/%s", suite, row.subject->name,
                   row.model->connections, form);
    bench_register(name, measure_replay, own);
}

static void register_size(size_t index)
{
    uint32_t connections = settings.sizes[index];
    struct model *server = &models[index].server;
    struct model *longer = &models[index].longer;
    struct model *idle = &models[index].idle;
    *server = (struct model){.workload = "server",
                             .connections = connections,
                             .seconds = numbers[NUMBER_SECONDS].value.real};
    *longer = (struct model){.workload = "server",
                             .connections = connections,
                             .seconds = LONGER_TIMES * numbers[NUMBER_SECONDS].value.real};
    *idle = (struct model){.workload = "idle",
                           .connections = connections,
                           .seconds = numbers[NUMBER_SECONDS].value.real};
    char name[64];
    (void)snprintf(name, sizeof name, "generate/server/n:%" PRIu32, connections);
    bench_register(name, measure_generate, server);
    (void)snprintf(name, sizeof name, "decode/server/n:%" PRIu32, connections);
    bench_register(name, measure_decode, server);
    register_replay("replay", "of:server",
                    (struct replay_row){
                        .subject = &floor_subject, .model = server, .measure = replays_throughput});
    register_replay("replay", "of:idle",
                    (struct replay_row){
                        .subject = &floor_subject, .model = idle, .measure = replays_throughput});
    for (size_t i = 0; i <= settings.subject_count; i++) {
        register_replay(
            "latency", "of:server",
            (struct replay_row){.subject = i == 0 ? &floor_subject : &settings.subjects[i - 1],
                                .model = server,
                                .measure = replays_latency});
    }
    static const struct {
        enum replay_pass pass;
        const char *form;
    } passes[] = {{PASS_CHECK, "pass:check"},
                  {PASS_THROUGHPUT, "pass:throughput"},
                  {PASS_LATENCY, "pass:latency"}};
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        register_replay("memory", passes[i].form,
                        (struct replay_row){.subject = &floor_subject,
                                            .model = server,
                                            .longer = longer,
                                            .pass = passes[i].pass,
                                            .measure = replays_memory});
    }
}

static bool register_rows(void)
{
    if (!register_texts()) {
        return false;
    }
    bench_context("floor", floor_subject.name);
    for (size_t i = 0; i < settings.size_count; i++) {
        register_size(i);
    }
    return true;
}

static int measure(int *argc, char **argv)
{
    if (!take_flags(argc, argv)) {
        return STATUS_USAGE;
    }
    if (settings.version) {
        (void)printf("timerlab-bench-traces %s\n", BUILD_VERSION);
        return STATUS_OK;
    }
    if (settings.help) {
        print_help();
        return STATUS_OK;
    }
    if ((settings.size_count == 0 && !take_sizes("1m")) ||
        (settings.subject_count == 0 && !take_structure(first_structure()))) {
        return STATUS_USAGE;
    }
    if (!bench_initialize(argc, argv, numbers[NUMBER_REPETITIONS].value.whole, STATUS_USAGE)) {
        return STATUS_USAGE;
    }
    bench_context("version", BUILD_VERSION);
    bench_context("commit", BUILD_COMMIT);
    bench_context("compiler", BUILD_COMPILER);
    bench_context("flags", BUILD_FLAGS);
    bench_context("build_type", BUILD_TYPE);
    bench_context("limit of import", "scan of the lines");
    bench_context("limit of replay", "plain loop");
    bench_context("limit of latency", "replay with readings");
    if (!find_floor() || !register_rows()) {
        standard_files_tell("timerlab-bench-traces: %s\n", failure.text);
        return STATUS_FAULT;
    }
    bool written;
    size_t selected = bench_run(&written);
    if (selected == 0) {
        standard_files_tell("timerlab-bench-traces: no row is selected; --benchmark_list_tests "
                            "lists all\n");
        return STATUS_USAGE;
    }
    return failures > 0 || !written ? STATUS_FAULT : STATUS_OK;
}

struct arguments {
    int count;
    char **texts;
};

static int measure_all(void *ctx)
{
    struct arguments *arguments = ctx;
    int status = measure(&arguments->count, arguments->texts);
    temporary_remove(&made);
    return standard_files_written("timerlab-bench-traces") || status != STATUS_OK ? status
                                                                                  : STATUS_FAULT;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {argc, argv};
    standard_files_fill();
    return supervisor_run(measure_all, NULL, &arguments);
}
