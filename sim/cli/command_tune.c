/* timerlab tune: which structure, with which options, for a trace. */
#include "command.h"
#include "command_option.h"
#include "context.h"
#include "outfile.h"
#include "progress.h"
#include "simulate.h"
#include "trace.h"
#include "tune.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BUDGET_SECONDS     120.0
#define TIMEOUT_SHARE              12.0 /* of that time, no single pass takes more while it searches */
#define SEARCH_TIMEOUT_MIN_SECONDS 5.0
#define FINAL_TIMEOUT_SECONDS      600.0

static const char *const format_words[] = {"text", "json", NULL};

struct tune_arguments {
    struct catalog catalog;
    struct contender_list structures;
    struct tune_request request;
    const char **selections;
    size_t selection_count;
    /* Their unit may need the trace's tick. */
    const char *max_lateness;
    const char *max_early;
    bool json;
    const char *out_path;
    struct error error;
};

enum {
    KEY_PLUGIN = 256,
    KEY_DRIVE,
    KEY_LATENESS,
    KEY_EARLY,
    KEY_STALL,
    KEY_BYTES,
    KEY_WAKEUPS,
    KEY_EXACT,
    KEY_FIXED,
    KEY_COUNTS,
    KEY_SECONDS,
    KEY_TIMEOUT,
    KEY_FORMAT,
    KEY_PROGRESS,
};

/* A time in nanoseconds: "250us", "3ms", "1s", "800" or "800ns". False if it is none. */
static bool parse_duration(const char *text, double *ns, bool *has_unit)
{
    static const struct {
        const char *word;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end = NULL;
    double value = strtod(text, &end);
    *has_unit = *end != '\0';
    *ns = value;
    if (end == text || !(value >= 0) || !isfinite(value)) {
        return false;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].word) == 0) {
            *ns = value * units[i].ns;
            return true;
        }
    }
    return !*has_unit;
}

static void complete(struct tune_arguments *arguments, struct argp_state *state)
{
    struct tune_request *request = &arguments->request;
    if (request->trace_path == NULL) {
        argp_error(state, "which trace? `timerlab trace gen` and `timerlab trace import` make "
                          "them");
    }
    if (arguments->selection_count == 0) {
        arguments->selections[arguments->selection_count++] = "all";
    }
    option_structures(&arguments->catalog, arguments->selections, arguments->selection_count,
                      &arguments->structures, state);
    for (size_t i = 0; i < arguments->structures.count; i++) {
        if ((arguments->structures.items[i].timed->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
            argp_error(state, "%s fires nothing: it serves nobody",
                       arguments->structures.items[i].timed->name);
        }
    }
    if (request->timeout_seconds == 0) {
        request->timeout_seconds =
            fmax(request->budget_seconds / TIMEOUT_SHARE, SEARCH_TIMEOUT_MIN_SECONDS);
        request->final_timeout_seconds = FINAL_TIMEOUT_SECONDS;
    }
    request->structures = &arguments->structures;
    request->floor = catalog_floor(&arguments->catalog);
}

static error_t parse_argument(int key, char *argument, struct argp_state *state)
{
    struct tune_arguments *arguments = state->input;
    struct tune_request *request = &arguments->request;
    double ns = 0;
    bool has_unit = false;
    switch (key) {
    case 'a':
        arguments->selections[arguments->selection_count++] = argument;
        return 0;
    case 'o':
        arguments->out_path = argument;
        return 0;
    case KEY_PLUGIN:
        option_plugin(&arguments->catalog, argument, state);
        return 0;
    case KEY_DRIVE:
        request->drive =
            (enum replay_drive)option_word("--drive", argument, replay_drive_words, state);
        return 0;
    case KEY_LATENESS:
    case KEY_EARLY:
        if (!parse_duration(argument, &ns, &has_unit)) {
            argp_error(state, "%s takes ticks, as in 5, or a time, as in 5ms, not '%s'",
                       key == KEY_EARLY ? "--max-early" : "--max-lateness", argument);
        }
        *(key == KEY_EARLY ? &arguments->max_early : &arguments->max_lateness) = argument;
        return 0;
    case KEY_STALL:
        if (!parse_duration(argument, &ns, &has_unit)) {
            argp_error(state, "--max-stall takes a time, as in 200us, not '%s'", argument);
        }
        request->limits.stall_ns = ns < 1e18 ? (uint64_t)ns : UINT64_MAX;
        return 0;
    case KEY_BYTES:
        request->limits.bytes = option_bytes("--max-bytes", argument, state);
        return 0;
    case KEY_WAKEUPS:
        request->limits.wakeups_per_s =
            option_number("--max-wakeups", "a number", argument, 0, 1e12, state);
        return 0;
    case KEY_EXACT:
        request->limits.exact = true;
        return 0;
    case KEY_FIXED:
        request->vary = false;
        return 0;
    case KEY_COUNTS:
        request->by_counts = true;
        return 0;
    case KEY_SECONDS:
        request->budget_seconds = option_number("--seconds", "seconds", argument, 0.1, 1e6, state);
        return 0;
    case KEY_TIMEOUT:
        request->timeout_seconds =
            option_number("--timeout", "seconds", argument, 0.01, 1e6, state);
        request->final_timeout_seconds = request->timeout_seconds;
        return 0;
    case KEY_PROGRESS:
        progress_set_mode(PROGRESS_ALWAYS);
        return 0;
    case KEY_FORMAT:
        arguments->json = option_word("--format", argument, format_words, state) == 1;
        return 0;
    case ARGP_KEY_ARG:
        if (request->trace_path != NULL) {
            argp_error(state, "one trace at a time");
        }
        request->trace_path = argument;
        return 0;
    case ARGP_KEY_END:
        complete(arguments, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"algorithm", 'a', "NAME[:opt=v...],...|all", 0,
     "Structures to choose from, with options to begin with (all)", 0},
    {"max-lateness", KEY_LATENESS, "TICKS|TIME", 0,
     "How late a timer may fire, in ticks or as in 5ms (0)", 0},
    {"max-early", KEY_EARLY, "TICKS|TIME", 0, "How early (0)", 0},
    {"exact", KEY_EXACT, NULL, 0, "Only what promises to be exact, whatever the delays", 0},
    {"max-bytes", KEY_BYTES, "BYTES", 0, "The most memory at any time; K, M, G", 0},
    {"max-stall", KEY_STALL, "TIME", 0, "The longest single advance, as in 200us", 0},
    {"max-wakeups", KEY_WAKEUPS, "N", 0, "Wakeups a second, in the trace's own time", 0},
    {"drive", KEY_DRIVE, "sleep|poll", 0,
     "Wake when the structure's `next` says so (sleep, the default), or every tick", 0},
    {"fixed", KEY_FIXED, NULL, 0, "Take the options as they are: only choose the structure", 0},
    {"counts", KEY_COUNTS, NULL, 0,
     "Choose by counts alone, without timing: quick, and the same on every machine", 0},
    {"seconds", KEY_SECONDS, "S", 0, "About how long it may take (120)", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0,
     "Of one pass of one structure (a twelfth of --seconds, but no less than 5, while it searches; "
     "then 600)",
     0},
    {"output", 'o', "FILE", 0, "Also write the answer, with all that was tried, as JSON", 0},
    {"plugin", KEY_PLUGIN, "FILE[,NAME]", 0, "Also know the structure in this shared object", 0},
    {"format", KEY_FORMAT, "text|json", 0, "What to print (text)", 0},
    {"progress", KEY_PROGRESS, NULL, 0, "Show progress even where there is no terminal", 0},
    {0},
};

static const struct argp parser = {
    options,
    parse_argument,
    "TRACE",
    "Searches structures and options for the traffic of a trace, and says which to use, why, at "
    "what cost, and how sure that is."
    "\vExit status: 0 there is an answer, 1 nothing keeps to the limits, or it failed, 2 usage.",
    NULL,
    NULL,
    NULL,
};

static void tell(void *ctx, const char *what)
{
    (void)ctx;
    if (progress_is_shown()) {
        (void)fprintf(stderr, "%s\n", what);
    }
}

/* Ticks of the trace, from ticks or a time. */
static uint64_t in_ticks(const char *text, uint64_t tick_ns)
{
    double value = 0;
    bool has_unit = false;
    if (text == NULL || !parse_duration(text, &value, &has_unit)) {
        return 0;
    }
    value = has_unit ? value / (double)tick_ns : value;
    return value < 0x1p62 ? (uint64_t)value : UINT64_MAX;
}

static bool read_limits(struct tune_arguments *arguments)
{
    struct tune_request *request = &arguments->request;
    struct trace_reader *reader = trace_reader_open(request->trace_path, &arguments->error);
    if (reader == NULL) {
        return false;
    }
    uint64_t tick_ns = trace_reader_header(reader)->tick_ns;
    request->limits.late_ticks = in_ticks(arguments->max_lateness, tick_ns);
    request->limits.early_ticks = in_ticks(arguments->max_early, tick_ns);
    trace_reader_close(reader);
    return true;
}

static bool write_answer(const char *path, const json_t *answer, struct error *error)
{
    struct outfile file;
    if (!outfile_open(&file, path, error)) {
        return false;
    }
    (void)json_dumpf(answer, file.stream, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    (void)fputc('\n', file.stream);
    return outfile_commit(&file, error);
}

static int run(struct tune_arguments *arguments, int argc, char **argv)
{
    struct tune_request *request = &arguments->request;
    struct tune_result result = {0};
    request->tell = tell;
    if ((arguments->out_path != NULL && !outfile_check(arguments->out_path, &arguments->error)) ||
        !read_limits(arguments) || !tune(request, &result, &arguments->error)) {
        command_complain(&arguments->error);
        return EXIT_FAULT;
    }
    json_t *context = context_json(argc, argv);
    json_t *answer = tune_json(request, &result, context);
    bool good = answer != NULL || error_set(&arguments->error, "out of memory");
    if (good && arguments->json) {
        (void)json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        (void)putchar('\n');
    } else if (good) {
        tune_write_text(request, &result, stdout);
    }
    good = good && (arguments->out_path == NULL ||
                    write_answer(arguments->out_path, answer, &arguments->error));
    if (!good) {
        command_complain(&arguments->error);
    }
    int status = good && result.best != NULL ? EXIT_OK : EXIT_FAULT;
    json_decref(answer);
    json_decref(context);
    tune_result_free(&result);
    return status;
}

int command_tune(int argc, char **argv)
{
    struct tune_arguments arguments = {
        .request = {
            .vary = true,
            .budget_seconds = DEFAULT_BUDGET_SECONDS,

            .memory_limit_bytes = simulate_default_memory_limit(),
            .limits = {.bytes = UINT64_MAX, .stall_ns = UINT64_MAX, .wakeups_per_s = INFINITY}}};
    int status = EXIT_USAGE;
    arguments.selections = calloc((size_t)argc + 1, sizeof *arguments.selections);
    if (arguments.selections == NULL || !catalog_init(&arguments.catalog, &arguments.error)) {
        (void)fputs("timerlab: out of memory\n", stderr);
        status = EXIT_FAULT;
    } else if (argp_parse(&parser, argc, argv, 0, NULL, &arguments) == 0) {
        status = run(&arguments, argc, argv);
    }
    contender_list_free(&arguments.structures);
    free(arguments.selections);
    catalog_free(&arguments.catalog);
    return status;
}
