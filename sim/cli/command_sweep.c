/* timerlab sweep: structures times options times workload knobs. */
#include "command.h"
#include "command_option.h"
#include "context.h"
#include "memory.h"
#include "progress.h"
#include "results.h"
#include "simulate.h"
#include "standard_files.h"
#include "sweep.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_RUNS            5
#define DEFAULT_TIMEOUT_SECONDS 600.0
#define DEFAULT_SECONDS         10.0

enum sweep_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON }; /* in the order of the help */

/* The knobs that have an option, in their order: the slowest first, so that a trace that is driven
 * in two ways is generated once. The parameters of a workload come before them. */
enum { CONNECTIONS, SEEDS, DRIVES, BUDGETS, PAUSES, SERVICES, OWN_KNOBS };
static const struct {
    const char *name;
    const char *usual; /* its values if none are given; NULL: it is not turned */
} own_knobs[OWN_KNOBS] = {
    [CONNECTIONS] = {SWEEP_KNOB_CONNECTIONS, "10000"},
    [SEEDS] = {SWEEP_KNOB_SEED, "1"},
    [DRIVES] = {SWEEP_KNOB_DRIVE, "sleep"},
    [BUDGETS] = {SWEEP_KNOB_BUDGET, NULL},
    [PAUSES] = {SWEEP_KNOB_PAUSE, NULL},
    [SERVICES] = {SWEEP_KNOB_SERVICE, NULL},
};

struct sweep_arguments {
    struct command_structures structures;
    struct sweep_knobs knobs;
    struct sweep_request request;
    struct word_list words;    /* that are no options: a workload, or traces, or parts' folders */
    struct word_list settings; /* -p */
    bool join;
    const char *values[OWN_KNOBS]; /* NULL: not given */
    enum sweep_format format;
    struct error error;
};

static void parse_knob(struct sweep_arguments *arguments, const char *text,
                       struct argp_state *state)
{
    char name[128];
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || (size_t)(equals - text) >= sizeof name) {
        argp_error(state, "-p takes NAME=VALUE,VALUE,..., not '%s'", text);
        return;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    if (!sweep_knob_add(&arguments->knobs, name, equals + 1, &arguments->error)) {
        argp_failure(state, EXIT_USAGE, 0, "%s", arguments->error.text);
    }
}

static void take_part(void *at, const struct option_row *row, const char *text,
                      struct argp_state *state)
{
    struct sweep_arguments *arguments = at;
    const struct tl_number_form form = {.from = 1, .to = SWEEP_PARTS_MAX};
    char part[16];
    union tl_number k = {0};
    union tl_number n = {0};
    const char *slash = strchr(text, '/');
    size_t length = slash != NULL ? (size_t)(slash - text) : 0;
    (void)row;
    (void)snprintf(part, sizeof part, "%.*s", (int)length, text);
    if (slash == NULL || length >= sizeof part || !tl_number_read(&form, part, &k) ||
        !tl_number_read(&form, slash + 1, &n) || k.whole > n.whole) {
        argp_error(state,
                   "--part takes K/N, part K of N, with K from 1 to N and N up to %d, not '%s'",
                   SWEEP_PARTS_MAX, text);
    }
    arguments->request.part = (unsigned)k.whole;
    arguments->request.parts = (unsigned)n.whole;
}

/* Take the first word that is no option: a workload, or a trace, after which all words are
 * traces. */
static void take_subject(struct sweep_arguments *arguments, size_t number, const char *text,
                         struct argp_state *state)
{
    struct error ignored;
    struct sweep_request *request = &arguments->request;
    if (number == 0) {
        request->workload = gen_find(text, &ignored);
        if (request->workload != NULL) {
            return;
        }
        if (access(text, R_OK) != 0) {
            argp_failure(state, EXIT_USAGE, 0, "%s; there is no trace of that name either",
                         ignored.text);
        }
    }
    if (request->workload != NULL) {
        argp_error(state, "one workload, or traces");
    }
    if (!sweep_knob_extend(&arguments->knobs, SWEEP_KNOB_TRACE, text, &arguments->error)) {
        argp_failure(state, EXIT_USAGE, 0, "%s", arguments->error.text);
    }
}

static void complete(void *at, struct argp_state *state)
{
    struct sweep_arguments *arguments = at;
    struct sweep_request *request = &arguments->request;
    if (arguments->words.count == 0) {
        argp_error(state, arguments->join
                              ? "which parts? The folders of `sweep --part`"
                              : "which workload, or which traces? `timerlab trace gen --list` "
                                "shows the workloads");
    }
    if (request->dir == NULL) {
        argp_error(state, "where to? -o FOLDER");
    }
    if (arguments->join) {
        if (arguments->structures.selections.count > 0 || arguments->settings.count > 0 ||
            arguments->values[CONNECTIONS] != NULL || arguments->values[SEEDS] != NULL ||
            request->parts > 0) {
            argp_error(state, "--join takes folders and -o: the settings are those of the parts");
        }
        return;
    }
    for (size_t i = 0; i < arguments->words.count; i++) {
        take_subject(arguments, i, arguments->words.items[i], state);
    }
    command_structures_find(&arguments->structures, sweep_select, ALL_OR_NAMES, state);
    if (request->workload == NULL &&
        (arguments->values[CONNECTIONS] != NULL || arguments->values[SEEDS] != NULL)) {
        argp_error(state, "-n and --seed are for workloads: traces have both fixed");
    }
    for (size_t i = 0; i < arguments->settings.count; i++) {
        parse_knob(arguments, arguments->settings.items[i], state);
    }
    for (size_t i = request->workload != NULL ? CONNECTIONS : DRIVES; i < OWN_KNOBS; i++) {
        const char *given = arguments->values[i];
        const char *values = given != NULL ? given : own_knobs[i].usual;
        if (values != NULL &&
            !sweep_knob_add(&arguments->knobs, own_knobs[i].name, values, &arguments->error)) {
            argp_failure(state, EXIT_USAGE, 0, "%s", arguments->error.text);
        }
    }
    request->catalog = &arguments->structures.catalog;
    request->simulate.floor = catalog_floor(&arguments->structures.catalog);
    request->simulate.contenders = &arguments->structures.contenders;
    request->knobs = &arguments->knobs;
    if (!sweep_check(request, &arguments->error)) {
        argp_failure(state, EXIT_USAGE, 0, "%s", arguments->error.text);
    }
}

#define AT(member) OPTION_AT(struct sweep_arguments, member)
static const struct option_row options[] = {
    OPTION_ROW_STRUCTURES(struct sweep_arguments, "NAME[:opt=v/v...],...|all",
                          "Structures, with options; v/v/v tries each value; may be repeated"),
    {OPTION("output", 'o', "DIR", "Folder for the table and the finished parts"), OPTION_TEXT,
     AT(request.dir)},
    {OPTION("connections", 'n', "N,N,...",
            "How many connections, k and m for thousands and millions (10000)"),
     OPTION_TEXT, AT(values[CONNECTIONS])},
    {OPTION("parameter", 'p', "NAME=VALUE,VALUE,...",
            "Values of one of the workload's parameters; may be repeated"),
     OPTION_LIST, AT(settings)},
    {OPTION("seconds", 0, "S", "How long each trace records (10)"), OPTION_SECONDS(1e-3, 1e9),
     AT(request.seconds)},
    {OPTION("seed", 0, "K,K,...", "Seeds of the traces (1)"), OPTION_TEXT, AT(values[SEEDS])},
    {OPTION("drive", 0, "sleep|slack|poll|poll:N,...",
            "Look at the timers when `next` says so, as late as their slack allows, at every tick, "
            "or at every N-th (sleep)"),
     OPTION_TEXT, AT(values[DRIVES])},
    {OPTION("budget", 0, "K|none,...",
            "Timers that one advance may fire; the rest fire at the next tick (none)"),
     OPTION_TEXT, AT(values[BUDGETS])},
    {OPTION("pause", 0, "AT:FOR[:busy|asleep][:every=TICKS],...",
            "From tick AT on, the loop is busy for this many ticks, or the machine sleeps; A+B are "
            "two pauses in one run (none)"),
     OPTION_TEXT, AT(values[PAUSES])},
    {OPTION("service", 0, "TIME|exp:TIME|none,...",
            "Time for which each callback occupies the loop, as in 50us (none)"),
     OPTION_TEXT, AT(values[SERVICES])},
    {OPTION("runs", 0, "K", "Timed runs of each cell (5); 0: only check and count"),
     OPTION_WHOLE(0, 1000), AT(request.simulate.runs)},
    {OPTION("latency", 0, NULL, "Also measure the latency of each operation, in separate passes"),
     OPTION_FLAG, AT(request.simulate.latency)},
    {OPTION("slow", 0, NULL, "Also run structures with linear operations on many timers"),
     OPTION_FLAG, AT(request.simulate.slow)},
    OPTION_ROW_TIMEOUT(struct sweep_arguments, request.simulate.timeout_seconds,
                       "Of one pass of one structure (600)"),
    {OPTION("limit", 0, "POINTS", "End after N points; the same command continues"),
     OPTION_WHOLE(1, SWEEP_POINTS_MAX), AT(request.limit)},
    {OPTION(
         "part", 0, "K/N",
         "Run only part K of N, while other machines run the rest; parts have equal expected cost"),
     OPTION_OWN, .take = take_part},
    {OPTION("join", 0, NULL, "Make one result of the parts in these folders"), OPTION_FLAG,
     AT(join)},
    {OPTION("retry", 0, NULL, "Run cells again that failed, crashed or took too long"), OPTION_FLAG,
     AT(request.retry)},
    {OPTION("keep-traces", 0, NULL, "Leave the generated traces in the folder"), OPTION_FLAG,
     AT(request.keep_traces)},
    OPTION_ROW_PLUGIN(struct sweep_arguments, OPTION_PLUGIN_TEXT),
    OPTION_ROWS_FORMAT(struct sweep_arguments, "table|csv|json"),
    OPTION_ROW_PROGRESS,
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "WORKLOAD|TRACE...\n--join DIR... -o DIR",
    .text = "Runs structures, with several values of their options, through a workload with "
            "several values of its parameters, and makes one table of all combinations.\vFinished "
            "parts stay in the folder: after an interruption the same command continues; with more "
            "values or structures it runs only the new parts.\n"
            "Exit status: 0 all cells right or unsupported, 1 a fault, crash, timeout or failed "
            "cell, or one that is missing in a join, 2 usage.",
    .places = {{.kind = OPTION_LIST, AT(words)}},
    .complete = complete,
};

static const char *seconds_text(double seconds, char text[32])
{
    if (seconds < 100) {
        (void)snprintf(text, 32, "%.1f s", seconds);
    } else if (seconds < 7200) {
        (void)snprintf(text, 32, "%.0f min", seconds / 60);
    } else {
        (void)snprintf(text, 32, "%.1f h", seconds / 3600);
    }
    return text;
}

static void print_progress(const struct sweep_progress *progress)
{
    char took[32];
    char left[32];
    bool more = progress->point < progress->points && progress->seconds_left > 0;
    if (progress_is_shown()) {
        standard_files_tell(
            "point %zu of %zu: %s: %s%s%s%s\n", progress->point, progress->points, progress->name,
            progress->kept ? "is there" : seconds_text(progress->seconds, took),
            more ? ", about " : "", more ? seconds_text(progress->seconds_left, left) : "",
            more ? " left" : "");
    }
}

/* Report which of the traces have no reactions to expiries. Unreadable ones have a row that says
 * so. */
static void warn_of_open_loops(const struct sweep_knobs *knobs)
{
    for (size_t i = 0; i < knobs->count; i++) {
        const struct sweep_knob *knob = &knobs->items[i];
        bool traces = strcmp(knob->name, SWEEP_KNOB_TRACE) == 0;
        for (size_t k = 0; k < knob->value_count && traces; k++) {
            struct error unread;
            struct trace_reader *reader = trace_reader_open(knob->values[k], &unread);
            if (reader != NULL && !trace_reader_header(reader)->causes_known) {
                standard_files_tell("%s: " TRACE_OPEN_LOOP_NOTE "\n", knob->values[k]);
            }
            trace_reader_close(reader);
        }
    }
}

static void warn_of_join(const char *warning)
{
    standard_files_tell("timerlab: %s\n", warning);
}

static bool sweep_or_join(struct sweep_arguments *arguments, int argc, char **argv,
                          struct sweep_result *result)
{
    struct sweep_request *request = &arguments->request;
    if (arguments->join) {
        const struct sweep_join_request join = {
            .folders = arguments->words.items,
            .folder_count = arguments->words.count,
            .dir = request->dir,
            .command_line = argv,
            .command_words = argc,
            .warn = warn_of_join,
        };
        return sweep_join(&join, &arguments->knobs, result, &arguments->error);
    }
    json_t *context = context_json(argc, argv);
    request->context = context;
    request->report = print_progress;
    warn_of_open_loops(request->knobs);
    bool good = sweep_run(request, result, &arguments->error);
    json_decref(context);
    return good;
}

static int run_sweep(void *at, int argc, char **argv)
{
    struct sweep_arguments *arguments = at;
    struct sweep_request *request = &arguments->request;
    struct sweep_result result = {0};
    bool good = sweep_or_join(arguments, argc, argv, &result);
    if (good && arguments->format == FORMAT_CSV) {
        sweep_write_csv(result.rows, &arguments->knobs, stdout);
    } else if (good && arguments->format == FORMAT_JSON) {
        results_write_rows(result.rows, result.context, true, stdout);
    } else if (good) {
        sweep_write_table(result.rows, &arguments->knobs, stdout);
    }
    if (!good) {
        command_complain(&arguments->error);
    } else if (request->parts > 0 && result.points == 0) {
        (void)fprintf(stderr,
                      "timerlab: nothing is left for part %u of %u: a point stays whole, "
                      "and there are fewer of them\n",
                      request->part, request->parts);
    } else if (result.points_left > 0 && !arguments->join) {
        (void)fprintf(stderr,
                      "timerlab: %zu of %zu points are done; the same command does the rest\n",
                      result.points - result.points_left, result.points);
    }
    bool whole = !arguments->join || result.points_left == 0;
    int status = good && result.all_right && whole ? EXIT_OK : EXIT_FAULT;
    sweep_result_free(&result);
    return status;
}

int command_sweep(int argc, char **argv)
{
    struct sweep_arguments arguments = {
        .request = {.seconds = DEFAULT_SECONDS,
                    .simulate = {.runs = DEFAULT_RUNS,
                                 .timeout_seconds = DEFAULT_TIMEOUT_SECONDS,
                                 .memory_limit_bytes = memory_default_limit()}}};
    int status =
        command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures, run_sweep);
    sweep_knobs_free(&arguments.knobs);
    free((void *)arguments.settings.items);
    free((void *)arguments.words.items);
    return status;
}
