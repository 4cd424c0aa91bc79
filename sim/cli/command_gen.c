/* timerlab trace gen: a workload becomes a trace. */
#include "command.h"
#include "error.h"
#include "gen.h"
#include "scenario.h"
#include "whole_number.h"

#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPTION_SECONDS = 256, OPTION_SEED, OPTION_LIST, OPTION_FORMAT, OPTION_SCENARIO };

struct gen_arguments {
    struct gen_part part;
    const char *out_path;
    const char *scenario_path;
    uint64_t seed;
    double seconds;
    /* Kept until the workload is known: options may come before it. */
    const char **settings;
    size_t setting_count;
    bool list;
    bool markdown;
    bool described; /* -n, --seconds, --seed or -p was given */
};

static void print_default(const struct gen_parameter *row)
{
    if (row->words != NULL) {
        (void)printf("%s", row->words[(size_t)row->default_value]);
    } else {
        (void)printf("%g", row->default_value);
    }
}

static void print_range(const struct gen_parameter *row)
{
    if (row->words == NULL) {
        (void)printf("%g to %g", row->min, row->max);
    }
    for (size_t i = 0; i < gen_word_count(row); i++) {
        (void)printf("%s%s", i > 0 ? ", " : "", row->words[i]);
    }
}

static void print_workload(const struct gen_workload *workload)
{
    (void)printf("%s: %s\n  stresses:  %s\n  resembles: %s\n  parameters (-p name=value):\n",
                 workload->name, workload->summary, workload->stresses, workload->resembles);
    for (const struct gen_parameter *row = workload->parameters; row->name != NULL; row++) {
        (void)printf("    %-18s ", row->name);
        print_default(row);
        (void)printf(" (");
        print_range(row);
        (void)printf(")\n        %s (%s)\n", row->help, row->source);
    }
}

static void print_workload_markdown(const struct gen_workload *workload)
{
    (void)printf("\n### %s\n", workload->name);
    (void)printf("| parameter | default | range | | source |\n|---|---|---|---|---|\n");
    for (const struct gen_parameter *row = workload->parameters; row->name != NULL; row++) {
        (void)printf("| `%s` | ", row->name);
        print_default(row);
        (void)printf(" | ");
        print_range(row);
        (void)printf(" | %s | %s |\n", row->help, row->source);
    }
}

static bool parse_count(const char *text, uint64_t max, uint64_t *value)
{
    const char *end = NULL;
    return whole_number_read(text, max, value, &end) && *end == '\0';
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
        arguments->described = true;
        return 0;
    case 'p':
        arguments->settings[arguments->setting_count++] = argument;
        arguments->described = true;
        return 0;
    case OPTION_SECONDS:
        arguments->seconds = strtod(argument, &end);
        if (end == argument || *end != '\0' || !(arguments->seconds > 0) ||
            arguments->seconds > 1e9) {
            argp_error(state, "--seconds takes a time in seconds, not '%s'", argument);
        }
        arguments->described = true;
        return 0;
    case OPTION_SEED:
        if (!parse_count(argument, INT64_MAX, &arguments->seed)) {
            argp_error(state, "--seed takes a number from 0 to %" PRId64 ", not '%s'", INT64_MAX,
                       argument);
        }
        arguments->described = true;
        return 0;
    case OPTION_SCENARIO:
        arguments->scenario_path = argument;
        return 0;
    case OPTION_FORMAT:
        arguments->markdown = strcmp(argument, "md") == 0;
        if (!arguments->markdown && strcmp(argument, "text") != 0) {
            argp_error(state, "--format takes text or md, not '%s'", argument);
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
        if (arguments->scenario_path != NULL &&
            (arguments->part.workload != NULL || arguments->described)) {
            argp_error(state, "a scenario says all: no workload, -n, -p, --seconds or --seed");
        }
        if (arguments->scenario_path == NULL && arguments->part.workload == NULL) {
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

static int list_workloads(const struct gen_workload *only, bool markdown)
{
    size_t count;
    const struct gen_workload *const *all = gen_workloads(&count);
    if (markdown) {
        (void)printf("| workload | | resembles | stresses |\n|---|---|---|---|\n");
    }
    for (size_t i = 0; markdown && i < count; i++) {
        (void)printf("| [`%s`](#%s) | %s | %s | %s |\n", all[i]->name, all[i]->name,
                     all[i]->summary, all[i]->resembles, all[i]->stresses);
    }
    for (size_t i = 0; i < count; i++) {
        if (only == NULL || only == all[i]) {
            (markdown ? print_workload_markdown : print_workload)(all[i]);
        }
    }
    return EXIT_OK;
}

static int generate(const struct gen_request *request, const char *out_path)
{
    struct gen_summary summary;
    struct error error;
    struct timespec begun;
    struct timespec ended;
    (void)clock_gettime(CLOCK_MONOTONIC, &begun);
    if (!gen_trace(request, out_path, &summary, &error)) {
        command_complain(&error);
        return EXIT_FAULT;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &ended);
    double seconds =
        (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
    (void)fprintf(stderr,
                  "%s: %" PRIu64 " operations recorded, %" PRIu64 " simulated, %.1f s, %.3g/s\n",
                  out_path, summary.recorded_events, summary.generated_events, seconds,
                  (double)summary.generated_events / seconds);
    return EXIT_OK;
}

static int generate_workload(const struct gen_arguments *arguments)
{
    const struct gen_request request = {
        .parts = &arguments->part,
        .part_count = 1,
        .seconds = arguments->seconds,
        .seed = arguments->seed,
    };
    return generate(&request, arguments->out_path);
}

static int generate_scenario(const struct gen_arguments *arguments)
{
    struct scenario scenario;
    struct error error;
    if (!scenario_read(arguments->scenario_path, &scenario, &error)) {
        command_complain(&error);
        return EXIT_FAULT;
    }
    const struct gen_request request = {
        .parts = scenario.parts,
        .part_count = scenario.part_count,
        .seconds = scenario.seconds,
        .seed = scenario.seed,
    };
    int status = generate(&request, arguments->out_path);
    scenario_free(&scenario);
    return status;
}

int command_trace_gen(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0, "Where the trace goes", 0},
        {"connections", 'n', "N", 0,
         "How many connections, k and m for thousands and millions (default 10000)", 0},
        {"seconds", OPTION_SECONDS, "S", 0, "How long to record, after the warm-up (default 10)",
         0},
        {"seed", OPTION_SEED, "K", 0, "Same seed, same trace (default 1)", 0},
        {"parameter", 'p', "NAME=VALUE", 0, "Sets one of the workload's parameters", 0},
        {"scenario", OPTION_SCENARIO, "FILE", 0, "Mixes workloads as a JSON file says", 0},
        {"format", OPTION_FORMAT, "FORMAT", 0, "Of the list: text or md", 0},
        {"list", OPTION_LIST, NULL, 0, "Shows the workloads and their parameters", 0},
        {0},
    };
    static const struct argp parser = {
        options,
        parse_argument,
        "WORKLOAD -o FILE\n--scenario FILE -o FILE\n--list [WORKLOAD]",
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
            if (arguments.list) {
                status = list_workloads(arguments.part.workload, arguments.markdown);
            } else if (arguments.scenario_path != NULL) {
                status = generate_scenario(&arguments);
            } else {
                status = generate_workload(&arguments);
            }
        }
    }
    free(arguments.settings);
    return status;
}
