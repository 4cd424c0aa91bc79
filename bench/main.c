/*
 * timerlab-bench: the cost of single operations of the timer structures, measured by Google
 * Benchmark. This file reads the command line, and is the only one that knows all suites.
 */
#include "axes.h"
#include "bench_shim.h"
#include "build_info.h"
#include "catalog.h"
#include "disk_floor.h"
#include "flags.h"
#include "front.h"
#include "guess.h"
#include "hardware_counters.h"
#include "plug_in.h"
#include "progress.h"
#include "recording.h"
#include "registry.h"
#include "standard_files.h"
#include "suite.h"
#include "supervisor.h"
#include "workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_OK = 0, STATUS_FAULT = 1, STATUS_USAGE = 2 };

enum {
    SUBJECTS_MAX = 256,
    SIZES_MAX = 32,
    PLUGINS_MAX = 32,
    SECONDS_MAX = 86400,
    STANDARD_PATIENCE_SECONDS = 600
};

struct selection {
    struct plug_in *plugins[PLUGINS_MAX];
    bool failed; /* one of them could not be looked at */
    size_t plugin_count;
    const struct tl_algo *composed[SUBJECTS_MAX]; /* behind front ends, to be released */
    size_t composed_count;
    struct suite_subject subjects[SUBJECTS_MAX];
    size_t subject_count;
    uint32_t sizes[SIZES_MAX];
    size_t size_count;
    struct setting settings[AXES + 1]; /* ended by AXIS_NONE */
    const char *standard; /* the frozen suite that is measured; NULL: those that are not */
    struct stream_recording recording;
    bool plain;
    bool list_rows;
    bool list_suites;
    bool help;
    bool version;
};

static struct selection selection;

static const char program[] = "timerlab-bench";

/* Newer versions of Google Benchmark want an s behind the seconds. */
#define SECONDS                                                                                    \
    {                                                                                              \
        .kind = TL_NUMBER_TIME, .unit_ns = 1e9, .most = SECONDS_MAX                                \
    }
enum { NUMBER_MIN_TIME, NUMBER_REPETITIONS, NUMBER_PATIENCE };
static struct flag_number numbers[] = {
    [NUMBER_MIN_TIME] = {"--benchmark_min_time", SECONDS, {.real = 0.02}, false},
    [NUMBER_REPETITIONS] = FLAG_REPETITIONS,
    [NUMBER_PATIENCE] = {"--patience", SECONDS, {.real = 10}, false},
    {.flag = NULL},
};

/* All suites there are. */
extern const struct suite suites_operations[];
extern const struct suite suites_streams[];
extern const struct suite suites_durable[];
extern const struct suite suites_idle[];
extern const struct suite suites_limits[];
extern const struct suite suites_standard[];
static const struct suite *const suites[] = {
    suites_operations, suites_streams,  suites_idle, suites_durable,
    suites_limits,     suites_standard, NULL};

/* --- what to measure ------------------------------------------------------------------------- */

/* What stands behind a structure's name to take the build that counts. */
static const char counted_suffix[] = "-counted";

/* Adds a structure under the options in `options_text`, once. `inner`: what it is composed of, or
 * NULL. */
static bool add_subject(const struct tl_algo *algo, bool counted, const struct tl_algo *inner,
                        const char *options_text)
{
    if (selection.subject_count == SUBJECTS_MAX) {
        standard_files_tell("timerlab-bench: more than %d structures\n", (int)SUBJECTS_MAX);
        return false;
    }
    struct suite_subject *subject = &selection.subjects[selection.subject_count];
    char text[192];
    const struct tl_entry *entry = tl_registry_find(algo->name);
    struct tl_entry own = {.timed = algo};
    subject->algo = algo;
    subject->inner = inner;
    subject->in_records = counted ? NULL : tl_entry_for_records(entry != NULL ? entry : &own);
    if (tl_options_parse(algo, options_text, subject->options, text, sizeof text) != TL_OK) {
        standard_files_tell("timerlab-bench: %s\n", text);
        return false;
    }
    size_t path = tl_option_row(algo, "path");
    if ((algo->capabilities & TL_CAP_DURABLE) != 0 && subject->options[path] != 0) {
        standard_files_tell(
            "timerlab-bench: %s: path=%s: each row makes files of its own; leave out "
            "path, and set TMPDIR to a folder on the disk that is meant\n",
            algo->name, tl_option_text(subject->options[path]));
        return false;
    }
    (void)tl_options_format(algo, subject->options, false, text, sizeof text);
    (void)snprintf(subject->name, sizeof subject->name, "%s%s%s%s", algo->name,
                   counted ? counted_suffix : "", text[0] != '\0' ? ":" : "", text);
    for (size_t i = 0; i < selection.subject_count; i++) {
        if (strcmp(selection.subjects[i].name, subject->name) == 0) {
            return true;
        }
    }
    selection.subject_count++;
    return true;
}

/* The structures that can be selected: the registered ones, and behind them the plug-ins'. NULL
 * behind the last. */
static const struct tl_algo *known_at(size_t index)
{
    size_t registered = tl_registry_count();
    if (index < registered) {
        return tl_registry_at(index)->timed;
    }
    return index - registered < selection.plugin_count
               ? plug_in_algo(selection.plugins[index - registered])
               : NULL;
}

static const struct tl_algo *find_known(const char *name)
{
    const struct tl_algo *algo = NULL;
    for (size_t i = 0; (algo = known_at(i)) != NULL; i++) {
        if (strcmp(algo->name, name) == 0) {
            return algo;
        }
    }
    return NULL;
}

/* NAME-counted: the build of a structure that counts what it does. NULL if it is nothing of the
 * kind; a plug-in has one build only. */
static const struct tl_algo *find_counted(const char *name)
{
    char stem[128];
    size_t length = strlen(name);
    size_t suffix = strlen(counted_suffix);
    if (length <= suffix || length >= sizeof stem ||
        strcmp(name + length - suffix, counted_suffix) != 0) {
        return NULL;
    }
    memcpy(stem, name, length - suffix);
    stem[length - suffix] = '\0';
    const struct tl_entry *entry = tl_registry_find(stem);
    return entry != NULL ? entry->counted : NULL;
}

/* FILE[,NAME] */
static bool load_plugin(const char *spec)
{
    if (selection.plugin_count == PLUGINS_MAX) {
        standard_files_tell("timerlab-bench: more than %d plug-ins\n", (int)PLUGINS_MAX);
        return false;
    }
    struct error error;
    struct plug_in *plugin = NULL;
    enum plug_in_found found = plug_in_read(spec, &plugin, &error);
    if (found != PLUG_IN_FOUND) {
        standard_files_tell("timerlab-bench: %s\n", error.text);
        selection.failed = selection.failed || found == PLUG_IN_FAILED;
        return found == PLUG_IN_FAILED;
    }
    const char *name = plug_in_algo(plugin)->name;
    if (find_known(name) != NULL) {
        standard_files_tell(
            "timerlab-bench: %s: the name '%s' is taken; --plugin FILE,NAME gives it "
            "another\n",
            plug_in_file(plugin), name);
        plug_in_free(plugin);
        return false;
    }
    selection.plugins[selection.plugin_count++] = plugin;
    return true;
}

/* FRONT(NAME), put together anew each time; *inner is what NAME is. NULL, having said why. */
static const struct tl_algo *compose(const char *name, const struct tl_algo **inner)
{
    char front_name[128];
    char inner_name[128] = "";
    char end = '\0';
    (void)sscanf(name, "%127[^(](%127[^)]%c", front_name, inner_name, &end);
    const struct tl_front *front = tl_front_find(front_name);
    *inner = find_known(inner_name);
    if (front == NULL || *inner == NULL || end != ')' ||
        strlen(front_name) + strlen(inner_name) + 2 != strlen(name)) {
        standard_files_tell("timerlab-bench: '%s': FRONT(NAME) is a front end before a structure; "
                            "`timerlab list` shows both\n",
                            name);
        return NULL;
    }
    char why[256];
    const struct tl_algo *composed = catalog_compose(front, *inner, why, sizeof why);
    if (composed == NULL) {
        standard_files_tell("timerlab-bench: %s\n", why);
        return NULL;
    }
    selection.composed[selection.composed_count++] = composed;
    return composed;
}

/* NAME[:opt=v[:opt=v]...] */
static bool select_structure(const char *spec)
{
    if (spec[0] == '\0') {
        standard_files_tell("timerlab-bench: --algo takes the name of a structure\n");
        return false;
    }
    char name[128];
    size_t length = strcspn(spec, ":");
    if (length >= sizeof name) {
        length = sizeof name - 1;
    }
    memcpy(name, spec, length);
    name[length] = '\0';
    const struct tl_algo *inner = NULL;
    const struct tl_algo *algo = find_known(name);
    bool counted = algo == NULL && (algo = find_counted(name)) != NULL;
    if (algo == NULL && strchr(name, '(') != NULL) {
        algo = compose(name, &inner);
        if (algo == NULL) {
            return selection.failed; /* its structure may be the one that is missing */
        }
    }
    if (algo == NULL && selection.failed) {
        standard_files_tell("timerlab-bench: %s: no such structure, while a plug-in is missing\n",
                            name);
        return true;
    }
    if (algo == NULL) {
        struct tl_guess guess = {.given = name};
        for (size_t i = 0; (algo = known_at(i)) != NULL; i++) {
            (void)tl_guess_is(&guess, algo->name);
        }
        standard_files_tell("timerlab-bench: there is no structure '%s'%s --help shows all\n", name,
                            tl_guess_text(&guess));
        return false;
    }
    return add_subject(algo, counted, inner, spec[length] == ':' ? spec + length + 1 : "");
}

/* Everything known, or what is missing of it to stand beside a selection: the floors. */
static bool select_known(bool floors_only)
{
    const struct tl_algo *algo = NULL;
    for (size_t i = 0; (algo = known_at(i)) != NULL; i++) {
        bool wanted = !floors_only || (algo->capabilities & TL_CAP_FIRES_NOTHING) != 0;
        if (wanted && !add_subject(algo, false, NULL, "")) {
            return false;
        }
    }
    return true;
}

/* N[,N...] */
static bool select_sizes(const char *list)
{
    static const struct tl_number_form form = {
        .from = SUITE_N_MIN, .to = SUITE_N_MAX, .list_max = SIZES_MAX, .example = "1000,50k,1m"};
    struct tl_range sizes[SIZES_MAX];
    size_t count = flag_ranges(program, "--n", &form, list, sizes);
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < selection.size_count && selection.sizes[at] != sizes[i].first) {
            at++;
        }
        if (at == SIZES_MAX) {
            standard_files_tell("timerlab-bench: --n: more than %d sizes\n", (int)SIZES_MAX);
            return false;
        }
        selection.sizes[at] = (uint32_t)sizes[i].first;
        selection.size_count += at == selection.size_count;
    }
    return count > 0;
}

/* --- the command line ------------------------------------------------------------------------ */

/* Loads the plug-ins, wherever on the command line they stand: --algo may name them. */
static bool take_plugins(int *argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        const char *value = flag_value("--plugin", *argc, argv, &i);
        if (value == NULL) {
            argv[kept++] = argv[i];
        } else if (!load_plugin(value)) {
            return false;
        }
    }
    *argc = kept;
    argv[kept] = NULL;
    return true;
}

/* Whether argument *index is a flag of an axis, which is then taken, or refused. */
static enum flag_found take_setting(int argc, char **argv, int *index)
{
    char flag[32];
    struct setting setting = {.axis = AXIS_NONE};
    const char *text = NULL;
    for (int axis = 1; axis < AXES && text == NULL; axis++) {
        (void)snprintf(flag, sizeof flag, "--%s", axis_word((enum suite_axis)axis));
        text = flag_value(flag, argc, argv, index);
        setting.axis = (enum suite_axis)axis;
    }
    if (text == NULL) {
        return FLAG_OTHER;
    }
    char why[512];
    if (!axis_read(text, &setting, why, sizeof why)) {
        standard_files_tell("timerlab-bench: %s\n", why);
        return FLAG_REFUSED;
    }
    size_t at = 0;
    while (selection.settings[at].axis != AXIS_NONE) {
        if (selection.settings[at++].axis == setting.axis) {
            standard_files_tell("timerlab-bench: %s is given twice\n", flag);
            return FLAG_REFUSED;
        }
    }
    selection.settings[at] = setting;
    return FLAG_TAKEN;
}

/* The frozen suite of that name. */
static bool select_standard(const char *name)
{
    const struct suite *suite = NULL;
    for (size_t i = 0; (suite = suite_at(suites, i)) != NULL; i++) {
        if (suite_is_of(suite, name)) {
            selection.standard = suite->standard;
            return true;
        }
    }
    standard_files_tell("timerlab-bench: no frozen suite is called '%s'; there is standard-1\n",
                        name);
    return false;
}

static bool read_recording(const char *path)
{
    struct error error = {{0}};
    if (stream_recording() != NULL) {
        standard_files_tell("timerlab-bench: --recording is given twice\n");
        return false;
    }
    if (!recording_read(path, &selection.recording, &error)) {
        standard_files_tell("timerlab-bench: %s; `timerlab trace import` makes traces\n",
                            error.text);
        return false;
    }
    stream_set_recording(&selection.recording);
    return true;
}

/* Takes the other flags that are not Google Benchmark's out of the arguments. */
static bool take_flags(int *argc, char **argv)
{
    static const char list_flag[] = "--benchmark_list_tests";
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        const char *value = NULL;
        enum flag_found found = flag_take_number(program, numbers, *argc, argv, &i);
        if (found == FLAG_OTHER) {
            found = take_setting(*argc, argv, &i);
        }
        if (found == FLAG_REFUSED) {
            return false;
        }
        if (found == FLAG_TAKEN) {
            continue;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            selection.help = true;
        } else if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-V") == 0) {
            selection.version = true;
        } else if ((value = flag_value("--algo", *argc, argv, &i)) != NULL) {
            if (!select_structure(value)) {
                return false;
            }
        } else if ((value = flag_value("--n", *argc, argv, &i)) != NULL) {
            if (!select_sizes(value)) {
                return false;
            }
        } else if ((value = flag_value("--suite", *argc, argv, &i)) != NULL) {
            if (!select_standard(value)) {
                return false;
            }
        } else if ((value = flag_value("--recording", *argc, argv, &i)) != NULL) {
            if (!read_recording(value)) {
                return false;
            }
        } else if (strcmp(argv[i], "--plain") == 0) {
            selection.plain = true;
        } else if (strcmp(argv[i], "--progress") == 0) {
            progress_set_mode(PROGRESS_ALWAYS);
        } else if (strcmp(argv[i], "--list-suites") == 0) {
            selection.list_suites = true;
        } else {
            if (strncmp(argv[i], list_flag, strlen(list_flag)) == 0) {
                selection.list_rows = strcmp(argv[i] + strlen(list_flag), "=false") != 0;
            }
            argv[kept++] = argv[i];
        }
    }
    *argc = kept;
    argv[kept] = NULL;
    if (selection.standard != NULL && selection.settings[0].axis != AXIS_NONE) {
        standard_files_tell(
            "timerlab-bench: %s is frozen, and --%s would turn it; without --suite the "
            "streams take it\n",
            selection.standard, axis_word(selection.settings[0].axis));
        return false;
    }
    return true;
}

static void print_help(void)
{
    (void)printf(
        "usage: timerlab-bench [--algo NAME[:opt=v]...]... [--n LIST] [--benchmark_...]\n"
        "\n"
        "Measures timer structures: single operations, and the steady states of servers. Rows are\n"
        "called suite/structure/n:N, with /form:word behind it where the row is not the plain "
        "one;\n"
        "the table or JSON goes to standard output. Without a filter the plain rows are measured;\n"
        "--benchmark_list_tests shows all that a filter can select.\n"
        "\n"
        "  --algo NAME[:opt=v...]  only this structure, with these options; repeatable.\n"
        "                          NAME may be FRONT(NAME), a structure behind a front end.\n"
        "                          What fires nothing, the floor, is always added.\n"
        "                          NAME-counted is the build that counts what it does.\n"
        "  --n LIST                numbers of timers (default 100k; with a filter, and for the\n"
        "                          list, 1k,10k,100k,1m,10m)\n"
        "  --suite NAME            only the frozen suite of that name: standard-1, which others "
        "have\n"
        "                          measured, too, at its own numbers of timers\n"
        "  --recording FILE.trace  what the stream `recorded` plays, and --delays=recorded takes\n"
        "                          delays from; for standard-1: scripts/standard-1 makes it\n"
        "  --plain                 only plain rows, even with a filter\n"
        "  --plugin FILE[,NAME]    also know the structure in this shared object\n"
        "  --patience S            leave out what takes longer to prepare (default 10)\n"
        "  --benchmark_min_time=S  how long the timed parts of single operations last together\n"
        "                          (default 0.02), or less where preparations last several times\n"
        "                          that; the steady states have a fixed number of operations;\n"
        "                          0: as short as can be, only to see that all works\n"
        "  --list-suites           what each suite measures, and why, and end\n"
        "  --progress              show progress even where there is no terminal\n"
        "  --version               which timerlab this is, and end\n"
        "\n"
        "Examples:\n"
        "  timerlab-bench --n 10k --benchmark_filter=^hold/.*heap --plain\n"
        "  timerlab-bench --n 1k,1m --benchmark_filter=^restart/.*heap/\n"
        "\n"
        "What rows may differ in. Each word is a flag, for the suites that have it, and the "
        "others\n"
        "are left out:\n");
    for (int axis = 1; axis < AXES; axis++) {
        char takes[256];
        (void)printf("  --%-10s %s: %s\n", axis_word((enum suite_axis)axis),
                     axis_what((enum suite_axis)axis),
                     axis_takes((enum suite_axis)axis, takes, sizeof takes));
    }
    (void)printf("\nstructures:");
    const struct tl_algo *algo = NULL;
    for (size_t i = 0; (algo = known_at(i)) != NULL; i++) {
        (void)printf(" %s", algo->name);
    }
    (void)printf("\n\nsuites:\n");
    const struct suite *suite;
    for (size_t i = 0; (suite = suite_at(suites, i)) != NULL; i++) {
        if (!suite_is_of(suite, NULL)) {
            continue;
        }
        (void)printf("  %-12s %s; ns per %s\n", suite->text.name, suite->text.what,
                     suite->text.per);
    }
    (void)printf("\nexit status: 0 measured; 1 a structure failed or fired something wrong (its\n"
                 "row says so); 2 the command line cannot be followed\n"
                 "\n"
                 "Every row is measured five times, the rows in random order; that is\n"
                 "  --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true\n"
                 "\n"
                 "Google Benchmark's own flags:\n");
    (void)fflush(stdout);
    bench_print_flags();
}

/* Each suite with its reason and its forms; the same table as everywhere. */
static void print_suites(void)
{
    const struct suite *suite;
    const struct form *form;
    const struct frozen *frozen;
    for (size_t i = 0; (suite = suite_at(suites, i)) != NULL; i++) {
        if (!suite_is_of(suite, selection.standard)) {
            continue;
        }
        (void)printf("%s\n  measures  %s; ns per %s\n  tells     %s\n", suite->text.name,
                     suite->text.what, suite->text.per, suite->text.why);
        for (frozen = suite->frozen; frozen != NULL && frozen->n != 0; frozen++) {
            (void)printf("  n:%-7" PRIu32 " warmed up for %" PRIu32 " ticks, checksum %016" PRIx64
                         "\n",
                         frozen->n, frozen->warm_ticks, frozen->checksum);
        }
        for (size_t f = 0; (form = form_at(f)) != NULL; f++) {
            if (suite_takes(suite, &form->setting)) {
                (void)printf("  form      %s:%s%s: %s\n", axis_word(form->setting.axis), form->word,
                             suite_is_plain(suite, &form->setting) ? " (plain)" : "", form->what);
            }
        }
    }
}

/* --- context --------------------------------------------------------------------------------- */

static bool see_whether_exact(void *ctx, void *result, struct error *error)
{
    const struct suite_subject *subject = ctx;
    (void)error;
    child_phase(child_hook_seconds(), "in precision");
    for (uint64_t delay_ticks = 1; delay_ticks <= WORKLOAD_SPAN_TICKS; delay_ticks++) {
        struct tl_precision precision =
            tl_algo_precision(subject->algo, subject->options, delay_ticks);
        if (precision.early_ticks != 0 || precision.late_ticks != 0) {
            return true;
        }
    }
    *(bool *)result = true;
    return true;
}

/* Whether it fires on the due tick, with its options and every delay of the steady states. */
static bool is_exact(struct suite_subject *subject)
{
    bool exact = false;
    struct child_outcome outcome;
    struct error error;
    const struct child_request request = {
        .run = see_whether_exact, .ctx = subject, .result_bytes = sizeof exact};
    if (subject->algo->precision == NULL || !plug_in_is(subject->algo)) {
        (void)see_whether_exact(subject, &exact, &error);
    } else if (!plug_in_run(subject->algo, &request, &exact, &outcome, &error)) {
        return false;
    }
    return exact;
}

static void add_context(void)
{
    bench_context("version", BUILD_VERSION);
    bench_context("commit", BUILD_COMMIT);
    bench_context("compiler", BUILD_COMPILER);
    bench_context("flags", BUILD_FLAGS);
    bench_context("build_type", BUILD_TYPE);
    char text[320];
    (void)snprintf(text, sizeof text, "%" PRIu64, suite_clock_overhead_ns());
    if (selection.standard != NULL) {
        bench_context("suite", selection.standard);
    }
    bench_context("clock_overhead_ns", text);
    bench_context("hardware_counters", hardware_counters_open());
    (void)snprintf(text, sizeof text, "%.200s%s", disk_floor_place(),
                   disk_floor_is_memory() ? ", which lies in memory: no disk is waited for" : "");
    bench_context("files", text);
    for (size_t i = 0; i < selection.subject_count; i++) {
        struct suite_subject *subject = &selection.subjects[i];
        if ((subject->algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
            bench_context("floor", subject->name);
        }
        char key[320];
        (void)snprintf(key, sizeof key, "promises of %s", subject->name);
        (void)snprintf(text, sizeof text, "%s, %s", is_exact(subject) ? "exact" : "not exact",
                       (subject->algo->capabilities & TL_CAP_UNLIMITED) != 0 ? "any delay"
                                                                             : "a horizon");
        bench_context(key, text);
        if (tl_option_count(subject->algo) > 0) {
            (void)snprintf(key, sizeof key, "options of %s", subject->name);
            (void)tl_options_format(subject->algo, subject->options, true, text, sizeof text);
            bench_context(key, text);
        }
    }
#ifndef __OPTIMIZE__
    standard_files_tell("timerlab-bench: built without optimisation: these times say nothing; "
                        "use the preset `release`\n");
#endif
}

static int measure(int *argc, char **argv)
{
    if (!take_plugins(argc, argv) || !take_flags(argc, argv)) {
        return STATUS_USAGE;
    }
    if (selection.version) {
        (void)printf("%s %s\n", program, BUILD_VERSION);
        return STATUS_OK;
    }
    if (selection.help) {
        print_help();
        return STATUS_OK;
    }
    if (selection.list_suites) {
        print_suites();
        return STATUS_OK;
    }
    uint64_t repetitions = numbers[NUMBER_REPETITIONS].value.whole;
    if (!select_known(selection.subject_count > 0) ||
        !bench_initialize(argc, argv, repetitions, STATUS_USAGE)) {
        return STATUS_USAGE;
    }
    bool everything = bench_has_filter() || selection.list_rows;
    if (selection.standard != NULL && !numbers[NUMBER_PATIENCE].given) {
        numbers[NUMBER_PATIENCE].value.real = STANDARD_PATIENCE_SECONDS;
    }
    if (selection.standard == NULL && selection.size_count == 0 &&
        !select_sizes(everything ? "1k,10k,100k,1m,10m" : "100k")) {
        return STATUS_USAGE;
    }
    add_context();
    struct suite_selection rows = {
        .suites = suites,
        .subjects = selection.subjects,
        .subject_count = selection.subject_count,
        .sizes = selection.sizes,
        .size_count = selection.size_count,
        .standard = selection.standard,
        .settings = selection.settings,
        .variants = everything && !selection.plain,
        .named = everything || selection.standard != NULL,
        .min_time_s = numbers[NUMBER_MIN_TIME].value.real,
        .patience_s = numbers[NUMBER_PATIENCE].value.real,
    };
    if (selection.list_rows) {
        bench_list();
    }
    suite_register(&rows);
    suite_watch(bench_has_filter() ? 0 : repetitions);
    bool written;
    size_t selected = bench_run(&written);
    uint64_t failures = suite_failures();
    suite_end();
    recording_free(&selection.recording);
    if (selected == 0) {
        standard_files_tell("timerlab-bench: no row is selected; --benchmark_list_tests lists "
                            "all\n");
        return STATUS_USAGE;
    }
    if (failures > 0) {
        standard_files_tell("timerlab-bench: %" PRIu64 " runs failed; their rows say why\n",
                            failures);
    }
    return failures == 0 && written ? STATUS_OK : STATUS_FAULT;
}

struct arguments {
    int count;
    char **texts;
};

static int measure_all(void *ctx)
{
    struct arguments *arguments = ctx;
    int status = measure(&arguments->count, arguments->texts);
    for (size_t i = 0; i < selection.composed_count; i++) {
        tl_front_release(selection.composed[i]);
    }
    for (size_t i = 0; i < selection.plugin_count; i++) {
        plug_in_free(selection.plugins[i]);
    }
    status = status == STATUS_OK && selection.failed ? STATUS_FAULT : status;
    if (!standard_files_written("timerlab-bench")) {
        return status == STATUS_OK ? STATUS_FAULT : status;
    }
    return status;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {argc, argv};
    standard_files_fill();
    return supervisor_run(measure_all, NULL, &arguments);
}
