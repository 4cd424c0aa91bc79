/* timerlab trace gen: a workload becomes a trace. */
#include "command.h"
#include "error.h"
#include "gen.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

enum { OPTION_SECONDS = 256, OPTION_SEED, OPTION_LIST };

struct gen_arguments {
    struct gen_part part;
    const char *out_path;
    uint64_t seed;
    double seconds;
    /* Kept until the workload is known: options may come before it. */
    const char **settings;
    size_t setting_count;
    bool list;
};

static void print_workload(const struct gen_workload *workload)
{
    (void)printf("%s: %s\n  stresses:  %s\n  resembles: %s\n  parameters (-p name=value):\n",
                 workload->name, workload->summary, workload->stresses, workload->resembles);
    for (const struct gen_parameter *row = workload->parameters; row->name != NULL; row++) {
        (void)printf("    %-18s %8g  %g to %g: %s (%s)\n", row->name, row->default_value, row->min,
                     row->max, row->help, row->source);
    }
}

static bool parse_count(const char *text, uint64_t max, uint64_t *value)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number > max) {
        return false;
    }
    *value = number;
    return true;
}

static error_t parse_argument(int key, char *argument, struct argp_state *state)
{
    struct gen_arguments *arguments = state->input;
    struct error error;
    char *end;
    uint64_t number = 0;
    switch (key) {
    case 'o':
        arguments->out_path = argument;
        return 0;
    case 'n':
        if (!parse_count(argument, UINT32_MAX, &number) || number == 0) {
            argp_error(state, "-n takes a number of connections, not '%s'", argument);
        }
        arguments->part.connections = (uint32_t)number;
        return 0;
    case 'p':
        arguments->settings[arguments->setting_count++] = argument;
        return 0;
    case OPTION_SECONDS:
        arguments->seconds = strtod(argument, &end);
        if (end == argument || *end != '\0' || !(arguments->seconds > 0) ||
            arguments->seconds > 1e9) {
            argp_error(state, "--seconds takes a time in seconds, not '%s'", argument);
        }
        return 0;
    case OPTION_SEED:
        if (!parse_count(argument, INT64_MAX, &arguments->seed)) {
            argp_error(state, "--seed takes a number from 0 to %" PRId64 ", not '%s'", INT64_MAX,
                       argument);
        }
        return 0;
    case OPTION_LIST:
        arguments->list = true;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->part.workload != NULL) {
            argp_error(state, "one workload at a time");
        }
        arguments->part.workload = gen_find(argument, &error);
        if (arguments->part.workload == NULL) {
            argp_failure(state, EXIT_USAGE, 0, "%s", error.text);
        }
        return 0;
    case ARGP_KEY_END:
        if (arguments->list) {
            return 0;
        }
        if (arguments->part.workload == NULL) {
            argp_error(state, "which workload? --list shows them");
        }
        if (arguments->out_path == NULL) {
            argp_error(state, "where to? -o FILE");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int list_workloads(const struct gen_workload *only)
{
    size_t count;
    const struct gen_workload *const *all = gen_workloads(&count);
    for (size_t i = 0; i < count; i++) {
        if (only == NULL || only == all[i]) {
            print_workload(all[i]);
        }
    }
    return EXIT_OK;
}

static int generate(const struct gen_arguments *arguments)
{
    const struct gen_request request = {
        .parts = &arguments->part,
        .part_count = 1,
        .seconds = arguments->seconds,
        .seed = arguments->seed,
    };
    struct gen_summary summary;
    struct error error;
    struct timespec begun;
    struct timespec ended;
    (void)clock_gettime(CLOCK_MONOTONIC, &begun);
    if (!gen_trace(&request, arguments->out_path, &summary, &error)) {
        command_complain(&error);
        return EXIT_FAULT;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &ended);
    double seconds =
        (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
    (void)fprintf(stderr,
                  "%s: %" PRIu64 " operations recorded, %" PRIu64 " simulated, %.1f s, %.3g/s\n",
                  arguments->out_path, summary.recorded_events, summary.generated_events, seconds,
                  (double)summary.generated_events / seconds);
    return EXIT_OK;
}

int command_trace_gen(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0, "Where the trace goes", 0},
        {"connections", 'n', "N", 0, "How many connections (default 10000)", 0},
        {"seconds", OPTION_SECONDS, "S", 0, "How long to record, after the warm-up (default 10)",
         0},
        {"seed", OPTION_SEED, "K", 0, "Same seed, same trace (default 1)", 0},
        {"parameter", 'p', "NAME=VALUE", 0, "Sets one of the workload's parameters", 0},
        {"list", OPTION_LIST, NULL, 0, "Shows the workloads and their parameters", 0},
        {0},
    };
    static const struct argp parser = {
        options,
        parse_argument,
        "WORKLOAD -o FILE\n--list [WORKLOAD]",
        "Generates a trace: simulates a workload into its steady state, then records it.",
        NULL,
        NULL,
        NULL,
    };
    struct gen_arguments arguments = {
        .part.connections = 10000,
        .seed = 1,
        .seconds = 10,
    };
    arguments.settings = calloc((size_t)argc, sizeof *arguments.settings);
    if (arguments.settings == NULL) {
        (void)fputs("timerlab: out of memory\n", stderr);
        return EXIT_FAULT;
    }
    int status = EXIT_USAGE;
    if (argp_parse(&parser, argc, argv, 0, NULL, &arguments) == 0) {
        status = EXIT_OK;
        if (arguments.part.workload != NULL) {
            gen_parameters_default(arguments.part.workload, arguments.part.parameters);
        }
        for (size_t i = 0; arguments.part.workload != NULL && i < arguments.setting_count; i++) {
            struct error error;
            if (!gen_parameter_set(arguments.part.workload, arguments.part.parameters,
                                   arguments.settings[i], &error)) {
                command_complain(&error);
                status = EXIT_USAGE;
            }
        }
        if (status == EXIT_OK) {
            status =
                arguments.list ? list_workloads(arguments.part.workload) : generate(&arguments);
        }
    }
    free(arguments.settings);
    return status;
}
