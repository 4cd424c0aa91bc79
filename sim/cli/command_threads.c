/* timerlab threads: structures behind front ends, under many threads. */
#include "catalog.h"
#include "command.h"
#include "command_option.h"
#include "concurrent.h"
#include "progress.h"
#include "whole_number.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = 16 };

/* Numbers that are gone through, as they were given. */
struct number_list {
    uint32_t items[LIST_MAX];
    size_t count;
};

static const char *const format_words[] = {"table", "csv", NULL};

struct threads_arguments {
    struct catalog catalog;
    struct contender_list contenders;
    const char **selections; /* -a, resolved once all plug-ins are loaded */
    size_t selection_count;
    struct number_list threads;
    struct number_list cancelled;
    uint32_t timers; /* of all threads together */
    struct concurrent_plan plan;
    bool csv;
    struct error error;
};

enum {
    KEY_PLUGIN = 256,
    KEY_THREADS,
    KEY_CANCELLED,
    KEY_TIMERS,
    KEY_OPERATIONS,
    KEY_TICK,
    KEY_SEED,
    KEY_FORMAT
};

/* A whole number with an optional suffix k or m; *end is set behind it. */
static uint32_t parse_whole(const char *option, const char *text, uint32_t least, uint32_t most,
                            const char **end, struct argp_state *state)
{
    uint64_t value = 0;
    bool good = whole_number_read(text, most, &value, end);
    if (!good || value < least || (**end != '\0' && **end != ',')) {
        argp_error(state, "%s takes whole numbers from %" PRIu32 " to %" PRIu32 ", not '%s'",
                   option, least, most, text);
    }
    return (uint32_t)value;
}

static uint32_t parse_one(const char *option, const char *text, uint32_t least, uint32_t most,
                          struct argp_state *state)
{
    const char *end = NULL;
    uint32_t value = parse_whole(option, text, least, most, &end, state);
    if (*end != '\0') {
        argp_error(state, "%s takes one number, not '%s'", option, text);
    }
    return value;
}

static void parse_list(const char *option, const char *text, uint32_t least, uint32_t most,
                       struct number_list *list, struct argp_state *state)
{
    list->count = 0;
    for (const char *end = NULL; text != NULL; text = *end == ',' ? end + 1 : NULL) {
        if (list->count == LIST_MAX) {
            argp_error(state, "%s takes at most %d numbers", option, (int)LIST_MAX);
        }
        list->items[list->count++] = parse_whole(option, text, least, most, &end, state);
    }
}

static void complete(struct threads_arguments *arguments, struct argp_state *state)
{
    if (arguments->selection_count == 0) {
        argp_error(state, "which structures? -a 'locked(NAME)',...; `timerlab list` shows them");
    }
    option_structures(&arguments->catalog, arguments->selections, arguments->selection_count,
                      &arguments->contenders, state);
    for (size_t i = 0; i < arguments->contenders.count; i++) {
        const char *name = arguments->contenders.items[i].timed->name;
        if (strchr(name, '(') == NULL) {
            argp_error(state,
                       "%s is for one thread; behind a front end it is for many, as in "
                       "'locked(%s)'",
                       name, name);
        }
    }
}

static error_t parse_argument(int key, char *argument, struct argp_state *state)
{
    struct threads_arguments *arguments = state->input;
    switch (key) {
    case 'a':
        arguments->selections[arguments->selection_count++] = argument;
        return 0;
    case KEY_PLUGIN:
        option_plugin(&arguments->catalog, argument, state);
        return 0;
    case KEY_THREADS:
        parse_list("--threads", argument, 1, 1024, &arguments->threads, state);
        return 0;
    case KEY_CANCELLED:
        parse_list("--cancelled", argument, 0, 100, &arguments->cancelled, state);
        return 0;
    case KEY_TIMERS:
        arguments->timers = parse_one("--timers", argument, 1, 1000000000, state);
        return 0;
    case KEY_OPERATIONS:
        arguments->plan.operations = parse_one("--operations", argument, 1, 4000000000u, state);
        return 0;
    case KEY_TICK:
        arguments->plan.tick_ns =
            UINT64_C(1000) * parse_one("--tick", argument, 0, 1000000000, state);
        return 0;
    case KEY_SEED:
        arguments->plan.seed = parse_one("--seed", argument, 0, UINT32_MAX, state);
        return 0;
    case KEY_FORMAT:
        arguments->csv = option_word("--format", argument, format_words, state) == 1;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "there is nothing to be named beside the options");
        return 0;
    case ARGP_KEY_END:
        complete(arguments, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"algorithm", 'a', "FRONT(NAME)[:opt=v...],...", 0, "Structures behind front ends", 0},
    {"plugin", KEY_PLUGIN, "FILE[,NAME]", 0, "Also know the structure in this shared object", 0},
    {"threads", KEY_THREADS, "N,...", 0, "That start and stop, beside one that advances (1,2,4,8)",
     0},
    {"cancelled", KEY_CANCELLED, "PERCENT,...", 0,
     "Timers that are stopped; the others expire within 20 ticks (0,50,99)", 0},
    {"timers", KEY_TIMERS, "N", 0, "Of all threads together (100k)", 0},
    {"operations", KEY_OPERATIONS, "N", 0, "Starts, restarts and stops of each thread (200k)", 0},
    {"tick", KEY_TICK, "US", 0, "Microseconds between two advances (1000); 0: none", 0},
    {"seed", KEY_SEED, "K", 0, "Of what the threads choose (1)", 0},
    {"format", KEY_FORMAT, "table|csv", 0, "What to print (table)", 0},
    {0},
};

static const struct argp parser = {
    options,
    parse_argument,
    "",
    "Structures behind front ends under many threads, each of which starts, restarts and stops "
    "timers of its own while one advances: operations in a second, how long a call takes with what "
    "it waits for, and whether each timer was stopped or fired, exactly once."
    "\vExit status: 0 done and right, 1 a timer was lost, fired twice or early, 2 usage.",
    NULL,
    NULL,
    NULL,
};

static void print_head(bool csv)
{
    if (csv) {
        (void)puts("algo,options,threads,cancelled_percent,operations_per_second,call_ns_p50,"
                   "call_ns_p99,call_ns_p999,call_ns_max,started,restarted,stopped,fired,ticks,"
                   "status");
    } else {
        (void)printf("%-32s %7s %9s %12s %9s %9s %10s %12s %9s  %s\n", "structure", "threads",
                     "cancelled", "operations/s", "p50 ns", "p99 ns", "p99.9 ns", "max ns", "fired",
                     "status");
    }
}

static void print_row(const struct threads_arguments *arguments, const struct contender *contender,
                      const struct concurrent_plan *plan, const struct concurrent_result *result)
{
    const char *status = result->faults == 0 ? "ok" : result->fault;
    const char *option_text = contender->option_text;
    if (arguments->csv) {
        const struct concurrent_counts *counts = &result->counts;
        (void)printf("%s,%s,%u,%u,%.6g,%.6g,%.6g,%.6g,%.6g,%" PRIu64 ",%" PRIu64 ",%" PRIu64
                     ",%" PRIu64 ",%" PRIu64 ",\"%s\"\n",
                     contender->timed->name, option_text, plan->threads, plan->cancelled_percent,
                     result->per_second, result->call_ns_p50, result->call_ns_p99,
                     result->call_ns_p999, result->call_ns_max, counts->starts, counts->restarts,
                     counts->stopped, result->fired, result->ticks, status);
    } else {
        char name[384];
        (void)snprintf(name, sizeof name, "%s%s%s", contender->timed->name,
                       option_text[0] != '\0' ? ":" : "", option_text);
        (void)printf("%-32s %7u %7u %% %12.0f %9.0f %9.0f %10.0f %12.0f %9" PRIu64 "  %s\n", name,
                     plan->threads, plan->cancelled_percent, result->per_second,
                     result->call_ns_p50, result->call_ns_p99, result->call_ns_p999,
                     result->call_ns_max, result->fired, status);
    }
    (void)fflush(stdout);
}

static int run_all(struct threads_arguments *arguments)
{
    struct progress progress;
    uint64_t cells =
        arguments->contenders.count * arguments->threads.count * arguments->cancelled.count;
    bool right = true;
    bool done = true;
    progress_begin(&progress, "threads", "runs", cells);
    print_head(arguments->csv);
    for (uint64_t cell = 0; done && cell < cells; cell++) {
        uint64_t shares = arguments->cancelled.count;
        uint64_t counts = arguments->threads.count;
        const struct contender *contender = &arguments->contenders.items[cell / shares / counts];
        struct concurrent_plan plan = arguments->plan;
        struct concurrent_result result;
        plan.algo = contender->timed;
        plan.options = contender->options;
        plan.threads = arguments->threads.items[cell / shares % counts];
        plan.cancelled_percent = arguments->cancelled.items[cell % shares];
        plan.timers = arguments->timers / plan.threads > 0 ? arguments->timers / plan.threads : 1;
        done = concurrent_run(&plan, &result, &arguments->error);
        if (done) {
            progress_end(&progress);
            print_row(arguments, contender, &plan, &result);
            progress_update(&progress, cell + 1);
            right = right && result.faults == 0;
        }
    }
    progress_end(&progress);
    if (!done) {
        command_complain(&arguments->error);
    }
    return done && right ? EXIT_OK : EXIT_FAULT;
}

int command_threads(int argc, char **argv)
{
    struct threads_arguments arguments = {
        .threads = {{1, 2, 4, 8}, 4},
        .cancelled = {{0, 50, 99}, 3},
        .timers = 100000,
        .plan = {.operations = 200000, .tick_ns = 1000000, .seed = 1},
    };
    arguments.selections = calloc((size_t)argc, sizeof *arguments.selections);
    if (arguments.selections == NULL || !catalog_init(&arguments.catalog, &arguments.error)) {
        (void)fputs("timerlab threads: out of memory\n", stderr);
        free(arguments.selections);
        return EXIT_FAULT;
    }
    int status = EXIT_USAGE;
    if (argp_parse(&parser, argc, argv, 0, NULL, &arguments) == 0) {
        status = run_all(&arguments);
    }
    contender_list_free(&arguments.contenders);
    catalog_free(&arguments.catalog);
    free(arguments.selections);
    return status;
}
