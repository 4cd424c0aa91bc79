/* timerlab sweep: structures times options times workload knobs. */
#include "command.h"
#include "command_option.h"
#include "context.h"
#include "progress.h"
#include "results.h"
#include "simulate.h"
#include "sweep.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_RUNS            5
#define DEFAULT_TIMEOUT_SECONDS 600.0
#define DEFAULT_SECONDS         10.0

enum sweep_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON };
static const char *const format_words[] = {
    [FORMAT_TABLE] = "table", [FORMAT_CSV] = "csv", [FORMAT_JSON] = "json", NULL};

struct sweep_arguments {
    struct catalog catalog;
    struct contender_list contenders;
    struct sweep_knobs knobs;
    struct sweep_request request;
    /* Kept until all plug-ins are loaded. */
    const char **selections;
    size_t selection_count;
    const char *connections;
    const char *seeds;
    const char *drives;
    enum sweep_format format;
    struct error error;
};

enum {
    KEY_PLUGIN = 256,
    KEY_SECONDS,
    KEY_SEED,
    KEY_DRIVE,
    KEY_RUNS,
    KEY_LATENCY,
    KEY_SLOW,
    KEY_TIMEOUT,
    KEY_LIMIT,
    KEY_RETRY,
    KEY_KEEP_TRACES,
    KEY_FORMAT,
    KEY_PROGRESS,
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

/* The first thing that is no option: a workload, or else a trace, and then all are traces. */
static void parse_subject(struct sweep_arguments *arguments, const char *text,
                          struct argp_state *state)
{
    struct error ignored;
    struct sweep_request *request = &arguments->request;
    if (state->arg_num == 0) {
        request->workload = gen_find(text, &ignored);
        if (request->workload != NULL) {
            return;
        }
        if (access(text, R_OK) != 0) {
            argp_failure(state, EXIT_USAGE, 0, "%s Nor is there a trace of that name.",
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

static void add_knob(struct sweep_arguments *arguments, const char *name, const char *values,
                     struct argp_state *state)
{
    if (!sweep_knob_add(&arguments->knobs, name, values, &arguments->error)) {
        argp_failure(state, EXIT_USAGE, 0, "%s", arguments->error.text);
    }
}

/* The knobs turn in this order, the first slowest: parameters as they were given, connections,
 * seeds, drives. So what is driven in two ways is generated once. */
static void complete(struct sweep_arguments *arguments, struct argp_state *state)
{
    struct sweep_request *request = &arguments->request;
    if (state->arg_num == 0) {
        argp_error(state, "which workload, or which traces? `timerlab trace gen --list` shows the "
                          "workloads");
    }
    if (request->dir == NULL) {
        argp_error(state, "where to? -o FOLDER");
    }
    if (arguments->selection_count == 0) {
        argp_error(state, "which structures? -a all, or -a NAME,...; `timerlab list` shows them");
    }
    for (size_t i = 0; i < arguments->selection_count; i++) {
        if (!sweep_select(&arguments->catalog, arguments->selections[i], &arguments->contenders,
                          &arguments->error)) {
            argp_failure(state, EXIT_USAGE, 0, "%s", arguments->error.text);
        }
    }
    if (request->workload == NULL && (arguments->connections != NULL || arguments->seeds != NULL)) {
        argp_error(state, "-n and --seed are for workloads: traces are what they are");
    }
    if (request->workload != NULL) {
        add_knob(arguments, SWEEP_KNOB_CONNECTIONS,
                 arguments->connections != NULL ? arguments->connections : "10000", state);
        add_knob(arguments, SWEEP_KNOB_SEED, arguments->seeds != NULL ? arguments->seeds : "1",
                 state);
    }
    add_knob(arguments, SWEEP_KNOB_DRIVE, arguments->drives != NULL ? arguments->drives : "sleep",
             state);
    request->catalog = &arguments->catalog;
    request->floor = catalog_floor(&arguments->catalog);
    request->contenders = &arguments->contenders;
    request->knobs = &arguments->knobs;
    if (!sweep_check(request, &arguments->error)) {
        argp_failure(state, EXIT_USAGE, 0, "%s", arguments->error.text);
    }
}

static error_t parse_argument(int key, char *argument, struct argp_state *state)
{
    struct sweep_arguments *arguments = state->input;
    struct sweep_request *request = &arguments->request;
    switch (key) {
    case 'a':
        arguments->selections[arguments->selection_count++] = argument;
        return 0;
    case 'n':
        arguments->connections = argument;
        return 0;
    case 'o':
        request->dir = argument;
        return 0;
    case 'p':
        parse_knob(arguments, argument, state);
        return 0;
    case KEY_PLUGIN:
        option_plugin(&arguments->catalog, argument, state);
        return 0;
    case KEY_SECONDS:
        request->seconds = option_number("--seconds", "seconds", argument, 1e-3, 1e9, state);
        return 0;
    case KEY_SEED:
        arguments->seeds = argument;
        return 0;
    case KEY_DRIVE:
        arguments->drives = argument;
        return 0;
    case KEY_RUNS:
        request->runs = (unsigned)option_number("--runs", "a number", argument, 0, 1000, state);
        return 0;
    case KEY_LATENCY:
        request->latency = true;
        return 0;
    case KEY_SLOW:
        request->slow = true;
        return 0;
    case KEY_TIMEOUT:
        request->timeout_seconds =
            option_number("--timeout", "seconds", argument, 0.01, 1e6, state);
        return 0;
    case KEY_LIMIT:
        request->limit =
            (size_t)option_number("--limit", "a number", argument, 1, SWEEP_POINTS_MAX, state);
        return 0;
    case KEY_RETRY:
        request->retry = true;
        return 0;
    case KEY_KEEP_TRACES:
        request->keep_traces = true;
        return 0;
    case KEY_PROGRESS:
        progress_set_mode(PROGRESS_ALWAYS);
        return 0;
    case KEY_FORMAT:
        arguments->format =
            (enum sweep_format)option_word("--format", argument, format_words, state);
        return 0;
    case ARGP_KEY_ARG:
        parse_subject(arguments, argument, state);
        return 0;
    case ARGP_KEY_END:
        complete(arguments, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"algorithm", 'a', "NAME[:opt=v/v...],...|all", 0,
     "Structures, with options; v/v/v tries each value; may be repeated", 0},
    {"output", 'o', "DIR", 0, "Where the table goes, and what is finished is kept", 0},
    {"connections", 'n', "N,N,...", 0,
     "How many connections, k and m for thousands and millions "
     "(10000)",
     0},
    {"parameter", 'p', "NAME=VALUE,VALUE,...", 0,
     "Values of one of the workload's parameters; may be repeated", 0},
    {"seconds", KEY_SECONDS, "S", 0, "How long each trace records (10)", 0},
    {"seed", KEY_SEED, "K,K,...", 0, "Seeds of the traces (1)", 0},
    {"drive", KEY_DRIVE, "sleep|poll|sleep,poll", 0, "How to drive the structures (sleep)", 0},
    {"runs", KEY_RUNS, "K", 0, "Timed runs of each cell (5); 0: only check and count", 0},
    {"latency", KEY_LATENCY, NULL, 0, "Also time every single operation, for stalls and tails", 0},
    {"slow", KEY_SLOW, NULL, 0,
     "Also run structures whose operations are linear in the timers on many timers", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "Of one pass of one structure (600)", 0},
    {"limit", KEY_LIMIT, "POINTS", 0, "End after so many points; the same command goes on", 0},
    {"retry", KEY_RETRY, NULL, 0, "Run cells again that failed, crashed or took too long", 0},
    {"keep-traces", KEY_KEEP_TRACES, NULL, 0, "Leave the generated traces in the folder", 0},
    {"plugin", KEY_PLUGIN, "FILE[,NAME]", 0, "Also know the structure in this shared object", 0},
    {"format", KEY_FORMAT, "table|csv|json", 0, "What to print (table)", 0},
    {"progress", KEY_PROGRESS, NULL, 0, "Show progress even where there is no terminal", 0},
    {0},
};

static const struct argp parser = {
    options,
    parse_argument,
    "WORKLOAD|TRACE...",
    "Runs structures, with alternatives of their options, through a workload with alternatives of "
    "its knobs, and makes one table of it."
    "\vWhat is finished stays in the folder: interrupted, the same command goes on where it "
    "stopped; with more values or structures only what is new is run.\n"
    "Exit status: 0 all cells right or unsupported, 1 a fault, crash, timeout or failed cell, 2 "
    "usage.",
    NULL,
    NULL,
    NULL,
};

static void print_seconds(FILE *stream, double seconds)
{
    if (seconds < 100) {
        (void)fprintf(stream, "%.1f s", seconds);
    } else if (seconds < 7200) {
        (void)fprintf(stream, "%.0f min", seconds / 60);
    } else {
        (void)fprintf(stream, "%.1f h", seconds / 3600);
    }
}

static void tell(void *ctx, const struct sweep_progress *progress)
{
    (void)ctx;
    if (!progress_is_shown()) {
        return;
    }
    (void)fprintf(stderr, "point %zu of %zu: %s: ", progress->point, progress->points,
                  progress->name);
    if (progress->kept) {
        (void)fputs("is there", stderr);
    } else {
        print_seconds(stderr, progress->seconds);
    }
    if (progress->point < progress->points && progress->seconds_left > 0) {
        (void)fputs(", about ", stderr);
        print_seconds(stderr, progress->seconds_left);
        (void)fputs(" left", stderr);
    }
    (void)fputc('\n', stderr);
    (void)fflush(stderr);
}

static int run(struct sweep_arguments *arguments, int argc, char **argv)
{
    struct sweep_request *request = &arguments->request;
    struct sweep_result result = {0};
    json_t *context = context_json(argc, argv);
    bool good = context != NULL || error_set(&arguments->error, "out of memory");
    request->context = context;
    request->tell = tell;
    good = good && sweep_run(request, &result, &arguments->error);
    if (good && arguments->format == FORMAT_CSV) {
        sweep_write_csv(result.rows, request->knobs, stdout);
    } else if (good && arguments->format == FORMAT_JSON) {
        json_t *whole = json_pack("{s:i, s:O, s:O}", "schema", RESULTS_SCHEMA, "context", context,
                                  "rows", result.rows);
        (void)json_dumpf(whole, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
        (void)putchar('\n');
        json_decref(whole);
    } else if (good) {
        sweep_write_table(result.rows, request->knobs, stdout);
    }
    if (!good) {
        command_complain(&arguments->error);
    } else if (result.points_left > 0) {
        (void)fprintf(stderr,
                      "timerlab: %zu of %zu points are done; the same command does the rest\n",
                      result.points - result.points_left, result.points);
    }
    int status = good && result.all_right ? EXIT_OK : EXIT_FAULT;
    sweep_result_free(&result);
    json_decref(context);
    return status;
}

int command_sweep(int argc, char **argv)
{
    struct sweep_arguments arguments = {.request = {.runs = DEFAULT_RUNS,
                                                    .seconds = DEFAULT_SECONDS,
                                                    .timeout_seconds = DEFAULT_TIMEOUT_SECONDS}};
    int status = EXIT_USAGE;
    arguments.selections = calloc((size_t)argc, sizeof *arguments.selections);
    if (arguments.selections == NULL || !catalog_init(&arguments.catalog, &arguments.error)) {
        (void)fputs("timerlab: out of memory\n", stderr);
        status = EXIT_FAULT;
    } else {
        arguments.request.memory_limit_bytes = simulate_default_memory_limit();
        if (argp_parse(&parser, argc, argv, 0, NULL, &arguments) == 0) {
            status = run(&arguments, argc, argv);
        }
    }
    contender_list_free(&arguments.contenders);
    sweep_knobs_free(&arguments.knobs);
    free(arguments.selections);
    catalog_free(&arguments.catalog);
    return status;
}
