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

enum { SIZES_MAX = 32, SECONDS_MAX = 86400, OPTIONS_MAX = 64 };

/* Of a row: as many as two sets of results need that are measured apart and have dozens of rows. */
enum { REPETITIONS_LEAST = 9, REPETITIONS_MOST = 15, REPETITIONS_PLAIN = 5 };

struct arguments {
    struct command_structures structures;
    struct tl_range ranges[SIZES_MAX]; /* of -n */
    size_t range_count;
    uint32_t sizes[SIZES_MAX];
    struct setting settings[AXES + 1]; /* ended by AXIS_NONE */
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

static void take_sizes(void *arguments, const struct option_row *row, const char *text,
                       struct argp_state *state)
{
    struct arguments *own = arguments;
    own->range_count = option_ranges(row, text, own->ranges, state);
}

static void take_setting(void *arguments, const struct option_row *row, const char *text,
                         struct argp_state *state)
{
    struct arguments *own = arguments;
    char why[512];
    size_t at = 0;
    while (own->settings[at].axis != AXIS_NONE) {
        at++;
    }
    own->settings[at].axis = axis_find(row->option.name);
    if (!axis_read(text, &own->settings[at], why, sizeof why)) {
        argp_error(state, "%s", why);
    }
}

#define AT(member)     OPTION_AT(struct arguments, member)
#define SIZES_DEFAULT  "100k"
#define SIZES_FILTERED "1k,10k,100k,1m,10m"

static struct option_row options[OPTIONS_MAX] = {
    OPTION_ROW_STRUCTURES(struct arguments, "NAME[:opt=v...],...|all",
                          "Structures to measure (all); may be repeated. The floor, which fires "
                          "nothing, is always added"),
    OPTION_ROW_PLUGIN(struct arguments, OPTION_PLUGIN_TEXT),
    {{"n", 'n', "LIST", 0,
      "Numbers of timers (" SIZES_DEFAULT "; with a filter, and for the list of rows, " //
      SIZES_FILTERED ")",
      0},
     .number =
         {.from = SUITE_N_MIN, .to = SUITE_N_MAX, .list_max = SIZES_MAX, .example = "1000,50k,1m"},
     .take = take_sizes},
    {{"suite", 0, "NAME", 0,
      "Only the frozen suite of that name: standard-1, which others have measured, too, at its own "
      "numbers of timers",
      0},
     .kind = OPTION_TEXT,
     AT(rows.standard)},
    {{"recording", 0, "FILE.trace", 0,
      "Trace that the stream `recorded` plays and --delays=recorded takes delays from", 0},
     .kind = OPTION_TEXT,
     AT(recording_file)},
    {{"output", 'o', "DIR", 0,
      "Write the results into this folder: bench.json for `timerlab compare`, bench.csv for "
      "tables; "
      "both for `timerlab report`",
      0},
     .kind = OPTION_TEXT,
     AT(folder)},
    {{"plain", 0, NULL, 0,
      "Leave running and reporting to Google Benchmark; each repetition then begins with a new "
      "structure. Implied by its flags other than the filter",
      0},
     .kind = OPTION_FLAG,
     AT(rows.google)},
    {{"seconds", 0, "SECONDS", 0,
      "End sooner where the rounds would take longer than this in all; none has less than five "
      "rounds (no limit)",
      0},
     OPTION_SECONDS(1, SECONDS_MAX),
     AT(seconds)},
    {{"counted", 0, NULL, 0, "Also measure the builds that count their operations: NAME-counted",
      0},
     .kind = OPTION_FLAG,
     AT(counted)},
    {{"plain-rows", 0, NULL, 0, "Only plain rows, without the other forms, even with a filter", 0},
     .kind = OPTION_FLAG,
     AT(plain_rows)},
    {{"patience", 0, "SECONDS", 0, "Skip rows that need longer than this to prepare (10)", 0},
     OPTION_SECONDS(0, SECONDS_MAX),
     AT(rows.patience_s)},
    {{"benchmark_min_time", 0, "SECONDS", 0,
      "How long the timed parts of single operations last together, or less where preparations "
      "take several times that; the steady states have a fixed number of operations. 0: as short "
      "as possible, only to see that all works (0.02)",
      0},
     OPTION_SECONDS(0, SECONDS_MAX),
     AT(rows.min_time_s)},
    {{"benchmark_repetitions", 0, "N", 0,
      "Measure each row exactly N times (9 to 15 times, until the order of the structures is "
      "known; "
      "with --plain 5 times)",
      0},
     OPTION_WHOLE(1, 1000000),
     AT(repetitions)},
    {{"list-suites", 0, NULL, 0, "Print the purpose of each suite and exit", 0},
     .kind = OPTION_FLAG,
     AT(list_suites)},
    OPTION_ROW_PROGRESS,
    {.option = {.doc = "Forms of rows; suites without a form skip it:", .group = 1}},
};

/* Appends a row for each axis. */
static void add_axes(void)
{
    static char texts[AXES][512];
    size_t count = 0;
    while (options[count].option.name != NULL || options[count].option.doc != NULL) {
        count++;
    }
    for (int axis = 1; axis < AXES; axis++) {
        char takes[256];
        (void)snprintf(texts[axis], sizeof texts[axis], "%s: %s", axis_what((enum suite_axis)axis),
                       axis_takes((enum suite_axis)axis, takes, sizeof takes));
        options[count++] = (struct option_row){
            .option = {axis_word((enum suite_axis)axis), 0, "VALUE", 0, texts[axis], 1},
            .take = take_setting};
    }
}

/* Return the help before and after the options; the caller frees it. */
static char *help_text(void)
{
    const struct suite *suite;
    char *text = memory_copy(
        "Measures single operations of timer structures, and the steady states of servers. The "
        "name of a row is suite/structure/n:N, with /form:word after it where it is not the plain "
        "one. Without a filter the plain rows are measured; --benchmark_list_tests lists all.\v"
        "Google Benchmark's own flags work, too, written with =, among them "
        "--benchmark_filter=REGEX, --benchmark_list_tests and "
        "--benchmark_format=console|json|csv.\n"
        "\nSuites (--list-suites explains them):");
    for (size_t i = 0; (suite = suite_at(suites, i)) != NULL; i++) {
        if (suite_is_of(suite, NULL)) {
            char *longer = memory_format("%s %s", text, suite->text.name);
            free(text);
            text = longer;
        }
    }
    char *whole = memory_format("%s.\n\nExit status: 0 measured; 1 a structure failed or fired "
                                "something wrong (its row says so); 2 the command line cannot be "
                                "followed.",
                                text);
    free(text);
    return whole;
}

/* Whether there is a frozen suite of that name. */
static bool is_standard(const char *name)
{
    const struct suite *suite = NULL;
    for (size_t i = 0; (suite = suite_at(suites, i)) != NULL && !suite_is_of(suite, name); i++) {
    }
    return suite != NULL;
}

/* Select the structure that fires nothing, which is always measured, too. */
static void add_floor(struct command_structures *structures)
{
    const struct tl_algo *floor = catalog_floor(&structures->catalog);
    struct error error;
    size_t i = 0;
    while (i < structures->contenders.count && structures->contenders.items[i].timed != floor) {
        i++;
    }
    if (floor != NULL && i == structures->contenders.count) {
        (void)catalog_select(&structures->catalog, floor->name, &structures->contenders, &error);
    }
}

static void complete(void *arguments, struct argp_state *state)
{
    struct arguments *own = arguments;
    struct error error;
    if (own->rows.standard != NULL && !is_standard(own->rows.standard)) {
        argp_error(state, "no frozen suite is called '%s'; there is standard-1",
                   own->rows.standard);
    }
    if (own->rows.standard != NULL && own->settings[0].axis != AXIS_NONE) {
        argp_error(state,
                   "%s is frozen, and --%s would change it; without --suite the streams take it",
                   own->rows.standard, axis_word(own->settings[0].axis));
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
    if (own->structures.selections.count == 0) {
        word_list_append(&own->structures.selections, "all");
    }
    command_structures_find(&own->structures, catalog_select, ALL_OR_NAMES, state);
    add_floor(&own->structures);
}

/* --- the suites as text ---------------------------------------------------------------------- */

/* Each suite with its reason and its forms; the same table as everywhere. */
static void print_suites(const char *standard)
{
    const struct suite *suite;
    const struct form *form;
    const struct frozen *frozen;
    for (size_t i = 0; (suite = suite_at(suites, i)) != NULL; i++) {
        if (!suite_is_of(suite, standard)) {
            continue;
        }
        (void)printf("%s\n"
                     "  measures  %s; ns per %s\n"
                     "  shows     %s\n",
                     suite->text.name, suite->text.what, suite->text.per, suite->text.why);
        for (frozen = suite->frozen; frozen != NULL && frozen->n != 0; frozen++) {
            (void)printf("  n:%-7" PRIu32 " warmed up for %" PRIu32 " ticks, checksum %016" PRIx64
                         "\n",
                         frozen->n, frozen->warm_ticks, frozen->checksum);
        }
        for (size_t f = 0; (form = form_at(f)) != NULL; f++) {
            if (suite_has_axis(suite, form->setting.axis)) {
                (void)printf("  form      %s:%s%s: %s\n", axis_word(form->setting.axis), form->word,
                             suite_is_plain(suite, &form->setting) ? " (plain)" : "", form->what);
            }
        }
    }
}

/* --- context --------------------------------------------------------------------------------- */

/* Whether a structure fires on the due tick, for delays around each power of two. */
static bool is_exact(const struct suite_subject *subject)
{
    enum { DELAYS = 48 };
    uint64_t delays[DELAYS];
    struct tl_precision precisions[DELAYS];
    struct error error;
    size_t count = 0;
    for (uint64_t power = 2; power <= WORKLOAD_SPAN_TICKS; power *= 2) {
        for (uint64_t k = 0; k < 3; k++) {
            delays[count++] = power - 1 + k;
        }
    }
    bool exact =
        plug_in_precision(subject->algo, subject->options, delays, count, precisions, &error);
    for (size_t i = 0; exact && i < count; i++) {
        exact = precisions[i].early_ticks == 0 && precisions[i].late_ticks == 0;
    }
    return exact;
}

static void add_note(json_t *context, const char *key, const char *text)
{
    (void)json_object_set_new(context, key, json_string(text));
}

static void add_context(json_t *context, const struct suite_selection *rows)
{
    char text[320];
    (void)snprintf(text, sizeof text, "%" PRIu64, suite_clock_overhead_ns());
    if (rows->standard != NULL) {
        add_note(context, "suite", rows->standard);
    }
    add_note(context, "clock_overhead_ns", text);
    add_note(context, "hardware_counters", hardware_counters_open());
    durable_describe_files(text, sizeof text);
    add_note(context, "files", text);
    for (size_t i = 0; i < rows->subject_count; i++) {
        const struct suite_subject *subject = &rows->subjects[i];
        if ((subject->algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
            add_note(context, "floor", subject->name);
        }
        char key[600];
        (void)snprintf(key, sizeof key, "promises of %s", subject->name);
        (void)snprintf(text, sizeof text, "%s, %s", is_exact(subject) ? "exact" : "not exact",
                       (subject->algo->capabilities & TL_CAP_UNLIMITED) != 0 ? "any delay"
                                                                             : "a horizon");
        add_note(context, key, text);
        if (tl_option_count(subject->algo) > 0) {
            (void)snprintf(key, sizeof key, "options of %s", subject->name);
            (void)tl_options_format(subject->algo, subject->options, true, text, sizeof text);
            add_note(context, key, text);
        }
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
    };
    memcpy(subject->options, contender->options, sizeof subject->options);
    (void)snprintf(subject->name, sizeof subject->name, "%.100s%s%s%s", contender->timed->name,
                   counted ? "-counted" : "", contender->option_text[0] != '\0' ? ":" : "",
                   contender->option_text);
}

static struct suite_subject *make_subjects(const struct arguments *arguments, size_t *count)
{
    const struct contender_list *contenders = &arguments->structures.contenders;
    struct suite_subject *subjects = memory_new(2 * contenders->count + 1, sizeof *subjects);
    *count = 0;
    for (size_t i = 0; i < contenders->count; i++) {
        const struct contender *contender = &contenders->items[i];
        make_subject(&subjects[(*count)++], contender, false);
        if (arguments->counted && contender->counted != contender->timed) {
            make_subject(&subjects[(*count)++], contender, true);
        }
    }
    return subjects;
}

/* The numbers of timers as they were given, each once, or as is usual. */
static size_t read_sizes(struct arguments *arguments, bool everything)
{
    static const struct tl_number_form form = {
        .from = SUITE_N_MIN, .to = SUITE_N_MAX, .list_max = SIZES_MAX};
    const struct tl_range *ranges = arguments->ranges;
    uint32_t *sizes = arguments->sizes;
    size_t count = 0;
    if (arguments->range_count == 0 && arguments->rows.standard == NULL) {
        arguments->range_count =
            tl_ranges_read(&form, everything ? SIZES_FILTERED : SIZES_DEFAULT, arguments->ranges);
    }
    for (size_t i = 0; i < arguments->range_count; i++) {
        size_t at = 0;
        while (at < count && sizes[at] != ranges[i].first) {
            at++;
        }
        sizes[at] = (uint32_t)ranges[i].first;
        count += at == count;
    }
    return count;
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

static const char *per(const char *name)
{
    const struct suite *suite = NULL;
    for (size_t i = 0; (suite = suite_at(suites, i)) != NULL; i++) {
        if (strcmp(suite->text.name, name) == 0) {
            return suite->text.per;
        }
    }
    return "operation";
}

static bool report_results(const struct arguments *arguments, struct outfolder *folder,
                           const json_t *context)
{
    static const char *const files[] = {"bench.json", "bench.csv", NULL};
    struct results results = {.kind = &bench_kind};
    struct error error;
    suite_results(&results);
    bench_rows_complete(&results, context);
    if (!arguments->rows.google) {
        bench_output_table(&results, json_string_value(json_object_get(context, "floor")), per,
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

static void run_rows(const struct arguments *arguments, const json_t *context)
{
    uint64_t given = arguments->repetitions;
    uint64_t least = arguments->rows.google ? REPETITIONS_PLAIN : REPETITIONS_LEAST;
    suite_watch(given > 0 ? given : least);
    if (arguments->rows.google) {
        tell_google(context);
        bench_run();
    } else {
        suite_measure(given > 0 ? given : least, given > 0 ? given : REPETITIONS_MOST,
                      arguments->seconds);
    }
}

static int measure(struct arguments *arguments, json_t *context)
{
    struct suite_selection *rows = &arguments->rows;
    bool everything = bench_has_filter() || arguments->google.list;
    struct outfolder folder = {0};
    struct error error;
    rows->suites = suites;
    rows->sizes = arguments->sizes;
    rows->size_count = read_sizes(arguments, everything);
    rows->settings = arguments->settings;
    rows->variants = everything && !arguments->plain_rows;
    rows->named = everything || rows->standard != NULL;
    rows->context = context;
    rows->list = arguments->google.list;
    if (rows->patience_s < 0) {
        rows->patience_s = rows->standard != NULL ? 600 : 10;
    }
    if (arguments->folder != NULL && !outfolder_open(&folder, arguments->folder, &error)) {
        return command_fail(&error);
    }
    add_context(context, rows);
    size_t selected = suite_register(rows);
    bool written = true;
    if (selected > 0 && !rows->list) {
        run_rows(arguments, context);
        written = report_results(arguments, &folder, context);
    }
    uint64_t failures = suite_end();
    outfolder_close(&folder);
    if (selected == 0) {
        standard_files_tell("timerlab-bench: no row is selected; --benchmark_list_tests lists "
                            "all\n");
        return EXIT_USAGE;
    }
    if (failures > 0) {
        standard_files_tell("timerlab-bench: %" PRIu64 " runs failed; their rows say why\n",
                            failures);
    }
    return failures == 0 && written ? EXIT_OK : EXIT_FAULT;
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
    struct suite_subject *subjects = make_subjects(arguments, &arguments->rows.subject_count);
    arguments->rows.subjects = subjects;
    json_t *context = context_json(argc, argv);
    int status = measure(arguments, context);
    json_decref(context);
    free(subjects);
    recording_free(&arguments->recording);
    return status;
}

int main(int argc, char **argv)
{
    static struct arguments arguments = {.rows = {.min_time_s = 0.02, .patience_s = -1}};
    static struct bench_program program = {.name = "timerlab-bench",
                                           .options = options,
                                           .complete = complete,
                                           .run = run_benchmarks,
                                           .arguments = &arguments,
                                           .structures = &arguments.structures,
                                           .google = &arguments.google};
    add_axes();
    char *text = help_text();
    program.text = text;
    int status = bench_program_run(&program, argc, argv);
    free(text);
    return status;
}
