/*
 * timerlab-bench: the cost of single operations of the timer structures, measured by Google
 * Benchmark. This file reads the command line, and is the only one that knows all suites.
 */
#include "axes.h"
#include "bench_output.h"
#include "bench_program.h"
#include "build_info.h"
#include "context.h"
#include "memory.h"
#include "plug_in.h"
#include "standard_files.h"
#include "stretch.h"
#include "suites.h"
#include "workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *argp_program_version = "timerlab-bench " BUILD_VERSION;

enum { SECONDS_MAX = 86400, OPTIONS_MAX = 64 };

/* Of a row: as many as two sets of results need that are measured apart and have dozens of rows. */
enum { REPETITIONS_LEAST = 9, REPETITIONS_MOST = 15, REPETITIONS_PLAIN = 5 };

struct arguments {
    struct command_structures structures;
    struct suite_selection rows;
    const char *recording_file;
    struct stream_recording recording;
    const char *folder;   /* for the result files; NULL: none are written */
    uint64_t repetitions; /* 0: as many as it takes */
    double seconds;       /* 0: no limit */
    bool counted;
    bool plain_rows;
    bool list_suites;
    struct google_arguments google;
};

static const struct suite *const suites[] = {
    suites_operations, suites_streams,  suites_idle, suites_durable,
    suites_limits,     suites_standard, NULL};

/* --- the command line ------------------------------------------------------------------------ */

/* Add numbers of timers, each once. */
static void add_sizes(struct suite_selection *rows, const struct tl_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < rows->size_count && rows->sizes[at] != ranges[i].first) {
            at++;
        }
        rows->sizes[at] = (uint32_t)ranges[i].first;
        rows->size_count += at == rows->size_count;
    }
}

static void take_sizes(void *arguments, const struct option_row *row, const char *text,
                       struct argp_state *state)
{
    struct arguments *own = arguments;
    struct tl_range ranges[SUITE_SIZES_MAX];
    size_t count = option_ranges(row, text, ranges, state);
    add_sizes(&own->rows, ranges, count);
}

#define AT(member) OPTION_AT(struct arguments, member)
#define SIZES_FORM                                                                                 \
    {                                                                                              \
        .from = SUITE_N_MIN, .to = SUITE_N_MAX, .list_max = SUITE_SIZES_MAX,                       \
        .example = "1000,50k,1m"                                                                   \
    }
#define SIZES_DEFAULT  "100k"
#define SIZES_FILTERED "1k,10k,100k,1m,10m"

static struct option_row options[OPTIONS_MAX] = {
    OPTION_ROW_STRUCTURES(struct arguments, "NAME[:opt=v...],...|all",
                          "Structures to measure (all); may be repeated. The floor, which fires "
                          "nothing, is always added"),
    OPTION_ROW_PLUGIN(struct arguments, OPTION_PLUGIN_TEXT),
    {OPTION("n", 'n', "LIST",
            "Numbers of timers (" SIZES_DEFAULT "; with a filter, and for the list of rows, " //
            SIZES_FILTERED ")"),
     .number = SIZES_FORM, .take = take_sizes},
    {OPTION("suite", 0, "NAME",
            "Only the frozen suite of that name: standard-1, which others have measured, too, at "
            "its own numbers of timers"),
     OPTION_TEXT, AT(rows.standard)},
    {OPTION("recording", 0, "FILE.trace",
            "Trace that the stream `recorded` plays and --delays=recorded takes delays from"),
     OPTION_TEXT, AT(recording_file)},
    {OPTION("output", 'o', "DIR",
            "Write the results into this folder: bench.json for `timerlab compare`, bench.csv for "
            "tables; both for `timerlab report`"),
     OPTION_TEXT, AT(folder)},
    {OPTION("plain", 0, NULL,
            "Leave running and reporting to Google Benchmark; each repetition then begins with a "
            "new structure. Implied by its flags other than the filter"),
     OPTION_FLAG, AT(rows.google)},
    {OPTION("seconds", 0, "SECONDS",
            "End sooner where the rounds would take longer than this in all; none has less than "
            "five rounds (no limit)"),
     OPTION_SECONDS(1, SECONDS_MAX), AT(seconds)},
    {OPTION("counted", 0, NULL,
            "Also measure the builds that count their operations: NAME-counted"),
     OPTION_FLAG, AT(counted)},
    {OPTION("plain-rows", 0, NULL, "Only plain rows, without the other forms, even with a filter"),
     OPTION_FLAG, AT(plain_rows)},
    {OPTION("patience", 0, "SECONDS", "Skip rows that need longer than this to prepare (10)"),
     OPTION_SECONDS(0, SECONDS_MAX), AT(rows.patience_s)},
    {OPTION("benchmark_min_time", 0, "SECONDS",
            "How long the timed parts of single operations last together, or less where "
            "preparations take several times that; the steady states have a fixed number of "
            "operations. 0: as short as possible, only to see that all works (0.02)"),
     OPTION_SECONDS(0, SECONDS_MAX), AT(rows.min_time_s)},
    {OPTION("benchmark_repetitions", 0, "N",
            "Measure each row exactly N times (9 to 15 times, until the order of the structures is "
            "known; with --plain 5 times)"),
     OPTION_WHOLE(1, 1000000), AT(repetitions)},
    {OPTION("list-suites", 0, NULL, "Print the purpose of each suite and exit"), OPTION_FLAG,
     AT(list_suites)},
    OPTION_ROW_PROGRESS,
    {.option = {.doc = "Forms of rows; suites without a form skip it:", .group = 1}},
};

/* Return the help before and after the options; the caller frees it. */
static char *help_text(void)
{
    const struct suite *suite;
    char *text;
    size_t bytes;
    FILE *stream = memory_stream(&text, &bytes);
    (void)fputs(
        "Measures single operations of timer structures, and the steady states of servers. The "
        "name of a row is suite/structure/n:N, with /form:word after it where it is not the plain "
        "one. Without a filter the plain rows are measured; --benchmark_list_tests lists all.\v"
        "Google Benchmark's own flags work, too, written with =, among them "
        "--benchmark_filter=REGEX, --benchmark_list_tests and "
        "--benchmark_format=console|json|csv.\n"
        "\nSuites (--list-suites explains them):",
        stream);
    for (size_t i = 0; (suite = suite_at(suites, i)) != NULL; i++) {
        if (suite_is_of(suite, NULL)) {
            (void)fprintf(stream, " %s", suite->text.name);
        }
    }
    (void)fputs(".\n\nExit status: 0 measured; 1 a structure failed or fired something wrong (its "
                "row says so); 2 the command line cannot be followed.",
                stream);
    memory_stream_close(stream);
    return text;
}

/* Whether there is a frozen suite of that name. */
static bool is_standard(const char *name)
{
    const struct suite *suite = NULL;
    for (size_t i = 0; (suite = suite_at(suites, i)) != NULL && !suite_is_of(suite, name); i++) {
    }
    return suite != NULL;
}

static void complete(void *arguments, struct argp_state *state)
{
    struct arguments *own = arguments;
    struct command_structures *structures = &own->structures;
    struct error error;
    if (own->rows.standard != NULL && !is_standard(own->rows.standard)) {
        argp_error(state, "no frozen suite is called '%s'; there is standard-1",
                   own->rows.standard);
    }
    if (own->rows.standard != NULL && own->rows.settings[0].axis != AXIS_NONE) {
        argp_error(state,
                   "%s is frozen, and --%s would change it; without --suite the streams take it",
                   own->rows.standard, axes[own->rows.settings[0].axis].word);
    }
    own->rows.google = own->rows.google || own->google.reports;
    if (own->list_suites) {
        return;
    }
    if (own->recording_file != NULL) {
        if (!recording_read(own->recording_file, &own->recording, &error)) {
            argp_failure(state, EXIT_USAGE, 0, "%s; `timerlab trace import` makes traces",
                         error.text);
        }
        stream_set_recording(&own->recording);
    }
    if (structures->selections.count == 0) {
        word_list_append(&structures->selections, "all");
    }
    command_structures_find(structures, catalog_select, ALL_OR_NAMES, state);
    /* The one that fires nothing is always measured, too; if it is there already, that is refused. */
    const struct tl_algo *floor = catalog_floor(&structures->catalog);
    if (floor != NULL) {
        (void)catalog_select(&structures->catalog, floor->name, &structures->contenders, &error);
    }
}

/* --- the suites as text ---------------------------------------------------------------------- */

static const char *per(const struct suite *suite)
{
    return suite->text.per != NULL ? suite->text.per : "operation";
}

/* Each suite with its reason and its forms; the same table as everywhere. */
static void print_suites(const char *standard)
{
    const struct suite *suite;
    for (size_t i = 0; (suite = suite_at(suites, i)) != NULL; i++) {
        if (!suite_is_of(suite, standard)) {
            continue;
        }
        (void)printf("%s\n"
                     "  measures  %s; ns per %s\n"
                     "  shows     %s\n",
                     suite->text.name, suite->text.what, per(suite), suite->text.why);
        const struct frozen *frozen = suite->frozen;
        for (; frozen != NULL && frozen->n != 0; frozen++) {
            (void)printf("  n:%-7" PRIu32 " warmed up for %" PRIu32 " ticks, checksum %016" PRIx64
                         "\n",
                         frozen->n, frozen->warm_ticks, frozen->checksum);
        }
        for (const struct form *form = forms; form->word != NULL; form++) {
            if (suite_has_axis(suite, form->setting.axis)) {
                (void)printf("  form      %s:%s%s: %s\n", axes[form->setting.axis].word, form->word,
                             suite_is_plain(suite, &form->setting) ? " (plain)" : "", form->what);
            }
        }
    }
}

/* --- context --------------------------------------------------------------------------------- */

/* Whether a structure fires on the due tick, for the shortest and the longest delay. */
static bool is_exact(const struct suite_subject *subject)
{
    static const uint64_t delays[] = {1, WORKLOAD_SPAN_TICKS};
    struct tl_precision shortest_longest[2];
    struct error error;
    bool exact =
        plug_in_precision(subject->algo, subject->options, delays, 2, shortest_longest, &error);
    for (int i = 0; exact && i < 2; i++) {
        exact = shortest_longest[i].early_ticks == 0 && shortest_longest[i].late_ticks == 0;
    }
    return exact;
}

static void add_subject(json_t *context, const struct suite_subject *subject)
{
    const struct tl_algo *algo = subject->algo;
    if ((algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
        suite_note(context, subject->name, "floor");
    }
    bool unlimited = (algo->capabilities & TL_CAP_UNLIMITED) != 0;
    char *promises = memory_format("%s, %s", is_exact(subject) ? "exact" : "not exact",
                                   unlimited ? "any delay" : "a horizon");
    suite_note(context, promises, "promises of %s", subject->name);
    free(promises);
    if (tl_option_count(algo) > 0) {
        char text[320];
        (void)tl_options_format(algo, subject->options, true, text, sizeof text);
        suite_note(context, text, "options of %s", subject->name);
    }
}

static void add_context(json_t *context, const struct suite_selection *rows)
{
    char text[320];
    if (rows->standard != NULL) {
        suite_note(context, rows->standard, "suite");
    }
    (void)snprintf(text, sizeof text, "%" PRIu64, stretch_overhead_ns());
    suite_note(context, text, "clock_overhead_ns");
    suite_note(context, hardware_counters_open(), "hardware_counters");
    durable_describe_files(text, sizeof text);
    suite_note(context, text, "files");
    for (size_t i = 0; i < rows->subject_count; i++) {
        add_subject(context, &rows->subjects[i]);
    }
#ifndef __OPTIMIZE__
    standard_files_tell("timerlab-bench: built without optimisation: these times say nothing; "
                        "use the preset `release`\n");
#endif
}

/* --- measuring ------------------------------------------------------------------------------- */

static void make_subject(struct suite_subject *subject, const struct contender *contender,
                         bool counted)
{
    *subject = (struct suite_subject){
        .algo = counted ? contender->counted : contender->timed,
        .in_records = counted ? NULL : contender->embedded,
        .options = contender->options,
    };
    (void)snprintf(subject->name, sizeof subject->name, "%.100s%s%s%s", contender->timed->name,
                   counted ? "-counted" : "", contender->option_text[0] != '\0' ? ":" : "",
                   contender->option_text);
}

/* Make the subjects of all rows, which the caller frees. */
static void make_subjects(struct arguments *arguments)
{
    const struct contender_list *contenders = &arguments->structures.contenders;
    struct suite_selection *rows = &arguments->rows;
    rows->subjects = memory_new(2 * contenders->count + 1, sizeof *rows->subjects);
    for (size_t i = 0; i < contenders->count; i++) {
        const struct contender *contender = &contenders->items[i];
        make_subject(&rows->subjects[rows->subject_count++], contender, false);
        if (arguments->counted && contender->counted != contender->timed) {
            make_subject(&rows->subjects[rows->subject_count++], contender, true);
        }
    }
}

/* The numbers of timers as they were given, or as is usual. */
static void choose_sizes(struct suite_selection *rows, bool everything)
{
    static const struct tl_number_form form = SIZES_FORM;
    struct tl_range ranges[SUITE_SIZES_MAX];
    if (rows->size_count == 0 && rows->standard == NULL) {
        const char *usual = everything ? SIZES_FILTERED : SIZES_DEFAULT;
        size_t count = tl_ranges_read(&form, usual, ranges);
        add_sizes(rows, ranges, count);
    }
}

/* The context, where Google Benchmark reports. */
static void tell_google(const json_t *context)
{
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)context, key, value)
    {
        if (json_is_string(value) && strcmp(key, "date") != 0) { /* it has one itself */
            bench_context(key, json_string_value(value));
        }
    }
}

static const char *per_of(const char *name)
{
    const struct suite *suite = NULL;
    size_t i = 0;
    while ((suite = suite_at(suites, i)) != NULL && strcmp(suite->text.name, name) != 0) {
        i++;
    }
    return suite != NULL ? per(suite) : "operation";
}

static bool report_results(const struct arguments *arguments, const struct suite_rows *rows,
                           struct outfolder *folder, const json_t *context)
{
    static const char *const files[] = {"bench.json", "bench.csv", NULL};
    struct results results = {.kind = &bench_kind};
    struct error error;
    suite_results(rows, &results);
    bench_rows_complete(&results, context);
    if (!arguments->rows.google) {
        bench_output_table(&results, json_string_value(json_object_get(context, "floor")), per_of,
                           stdout);
    }
    bool written = arguments->folder == NULL ||
                   (results_write_files(&results, context, "bench", folder, &error) &&
                    outfolder_commit(folder, files, &error));
    if (!written) {
        command_complain(&error);
    }
    results_free(&results);
    return written;
}

static void run_rows(const struct arguments *arguments, struct suite_rows *rows,
                     const json_t *context)
{
    bool google = arguments->rows.google;
    uint64_t given = arguments->repetitions;
    uint64_t least = given > 0 ? given : google ? REPETITIONS_PLAIN : REPETITIONS_LEAST;
    progress_begin(&rows->progress, "measuring", "runs", least * rows->count);
    if (google) {
        tell_google(context);
        bench_run();
    } else {
        suite_measure(rows, least, given > 0 ? given : REPETITIONS_MOST, arguments->seconds);
    }
}

static int measure(struct arguments *arguments, json_t *context)
{
    struct suite_selection *selection = &arguments->rows;
    struct suite_rows rows = {.selection = selection};
    bool everything = bench_has_filter() || arguments->google.list;
    struct outfolder folder = {0};
    struct error error;
    choose_sizes(selection, everything);
    selection->variants = everything && !arguments->plain_rows;
    selection->named = everything || selection->standard != NULL;
    selection->context = context;
    selection->list = arguments->google.list;
    if (selection->patience_s < 0) {
        selection->patience_s = selection->standard != NULL ? 600 : 10;
    }
    if (arguments->folder != NULL && !outfolder_open(&folder, arguments->folder, &error)) {
        return command_fail(&error);
    }
    add_context(context, selection);
    suite_register(&rows);
    bool written = true;
    if (rows.count > 0 && !selection->list) {
        run_rows(arguments, &rows, context);
        written = report_results(arguments, &rows, &folder, context);
    }
    suite_end(&rows);
    outfolder_close(&folder);
    if (rows.count == 0) {
        standard_files_tell("timerlab-bench: no row is selected; --benchmark_list_tests lists "
                            "all\n");
        return EXIT_USAGE;
    }
    if (rows.failures > 0) {
        standard_files_tell("timerlab-bench: %" PRIu64 " runs failed; their rows say why\n",
                            rows.failures);
    }
    return rows.failures == 0 && written ? EXIT_OK : EXIT_FAULT;
}

static int run_benchmarks(void *ctx, int argc, char **argv)
{
    struct arguments *arguments = ctx;
    if (arguments->list_suites) {
        print_suites(arguments->rows.standard);
        return EXIT_OK;
    }
    uint64_t repetitions = arguments->repetitions > 0 ? arguments->repetitions : REPETITIONS_PLAIN;
    if (!bench_initialize(&arguments->google.count, arguments->google.texts, repetitions,
                          EXIT_USAGE)) {
        return EXIT_USAGE;
    }
    make_subjects(arguments);
    json_t *context = context_json(argc, argv);
    int status = measure(arguments, context);
    json_decref(context);
    free(arguments->rows.subjects);
    recording_free(&arguments->recording);
    return status;
}

int main(int argc, char **argv)
{
    static struct arguments arguments = {
        .rows = {.suites = suites, .min_time_s = 0.02, .patience_s = -1}};
    static struct bench_program program = {.name = "timerlab-bench",
                                           .line = {.options = options, .complete = complete},
                                           .run = run_benchmarks,
                                           .arguments = &arguments,
                                           .structures = &arguments.structures,
                                           .google = &arguments.google};
    axes_add_options(options, offsetof(struct arguments, rows.settings));
    char *text = help_text();
    program.line.text = text;
    int status = bench_program_run(&program, argc, argv);
    free(text);
    return status;
}
