/* timerlab trace gen: a workload becomes a trace. */
#include "clock.h"
#include "command.h"
#include "command_option.h"
#include "error.h"
#include "gen.h"
#include "registry.h"
#include "scenario.h"
#include "standard_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CONNECTIONS 10000
#define DEFAULT_SECONDS     10
#define DEFAULT_SEED        1
#define SEED_UNSET          UINT64_MAX

struct gen_arguments {
    struct gen_part part;
    const char *workload; /* its name */
    const char *out_path;
    const char *scenario_path;
    uint64_t seed;             /* SEED_UNSET: not given */
    double seconds;            /* 0: not given; so for the connections */
    struct word_list settings; /* -p, kept until the workload is known */
    bool list;
    enum { FORMAT_TEXT, FORMAT_MD } format;
};

static void print_workload(const struct gen_workload *workload, bool markdown)
{
    double values[GEN_PARAMETERS_MAX];
    gen_parameters_default(workload, values);
    if (markdown) {
        (void)printf("\n### %s\n| parameter | default | range | meaning (source of the default) |\n"
                     "|---|---|---|---|\n",
                     workload->name);
    } else {
        (void)printf("%s: %s\n  stresses:  %s\n  resembles: %s\n  parameters (-p name=value):\n",
                     workload->name, workload->summary, workload->stresses, workload->resembles);
    }
    for (const struct tl_option *row = workload->parameters; row->name != NULL; row++) {
        char value[64];
        char range[200];
        (void)tl_option_format(row, values, value, sizeof value);
        tl_option_range(row, range, sizeof range);
        (void)printf(markdown ? "| `%s` | %s | %s | %s |\n" : "    %-18s %s (%s)\n        %s\n",
                     row->name, value, range, row->help);
    }
}

static void complete(void *at, struct argp_state *state)
{
    struct gen_arguments *arguments = at;
    struct error error;
    if (arguments->workload != NULL) {
        arguments->part.workload = gen_find(arguments->workload, &error);
        if (arguments->part.workload == NULL) {
            argp_failure(state, EXIT_USAGE, 0, "%s", error.text);
        }
    }
    bool described = arguments->part.workload != NULL || arguments->part.connections > 0 ||
                     arguments->seconds > 0 || arguments->seed != SEED_UNSET ||
                     arguments->settings.count > 0;
    if (arguments->list) {
        return;
    }
    if (arguments->scenario_path != NULL && described) {
        argp_error(state, "a scenario says all: no workload, -n, -p, --seconds or --seed");
    }
    if (arguments->scenario_path == NULL && arguments->part.workload == NULL) {
        argp_error(state, "which workload? --list shows them");
    }
    if (arguments->out_path == NULL) {
        argp_error(state, "where to? -o FILE");
    }
    if (arguments->part.connections == 0) {
        arguments->part.connections = DEFAULT_CONNECTIONS;
    }
    if (arguments->seconds == 0) {
        arguments->seconds = DEFAULT_SECONDS;
    }
    if (arguments->seed == SEED_UNSET) {
        arguments->seed = DEFAULT_SEED;
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
            print_workload(all[i], markdown);
        }
    }
    return EXIT_OK;
}

/* The workload alone, or the mixture of a scenario. */
static int generate(const struct gen_arguments *arguments)
{
    struct gen_request request = {
        .parts = &arguments->part,
        .part_count = 1,
        .seconds = arguments->seconds,
        .seed = arguments->seed,
    };
    struct scenario scenario = {0};
    struct gen_summary summary;
    struct error error;
    if (arguments->scenario_path != NULL) {
        if (!scenario_read(arguments->scenario_path, &scenario, &error)) {
            return command_fail(&error);
        }
        request.parts = scenario.parts;
        request.part_count = scenario.part_count;
        request.seconds = scenario.seconds;
        request.seed = scenario.seed;
    }
    uint64_t begun_ns = clock_now_ns();
    bool good = gen_trace(&request, arguments->out_path, &summary, &error);
    double seconds = (double)(clock_now_ns() - begun_ns) / 1e9;
    scenario_free(&scenario);
    if (!good) {
        return command_fail(&error);
    }
    standard_files_tell("%s: %" PRIu64 " operations recorded, %" PRIu64
                        " simulated, %.1f s, %.3g/s\n",
                        arguments->out_path, summary.recorded_events, summary.generated_events,
                        seconds, (double)summary.generated_events / seconds);
    return EXIT_OK;
}

static int generate_trace(struct gen_arguments *arguments)
{
    struct error error;
    struct gen_part *part = &arguments->part;
    if (part->workload != NULL &&
        !gen_parameters_set(part->workload, part->parameters,
                            (const char *const *)arguments->settings.items,
                            arguments->settings.count, &error)) {
        command_complain(&error);
        return EXIT_USAGE;
    }
    if (arguments->list) {
        return list_workloads(arguments->part.workload, arguments->format == FORMAT_MD);
    }
    return generate(arguments);
}

#define AT(member) OPTION_AT(struct gen_arguments, member)

int command_trace_gen(int argc, char **argv)
{
    static const struct option_row options[] = {
        {OPTION("output", 'o', "FILE", "Where the trace goes; - is standard output"), OPTION_STREAM,
         AT(out_path)},
        {OPTION("connections", 'n', "N",
                "How many connections, k and m for thousands and millions (10000)"),
         OPTION_WHOLE(1, UINT32_MAX), AT(part.connections)},
        {OPTION("seconds", 0, "S", "How long to record, after the warm-up (10)"),
         OPTION_SECONDS(1e-9, 1e9), AT(seconds)},
        {OPTION("seed", 0, "K", "Same seed, same trace (1)"), OPTION_WHOLE(0, INT64_MAX), AT(seed)},
        {OPTION("parameter", 'p', "NAME=VALUE",
                "Set one of the workload's parameters; may be repeated"),
         OPTION_LIST, AT(settings)},
        {OPTION("scenario", 0, "FILE", "Mix workloads as this JSON file describes"), OPTION_TEXT,
         AT(scenario_path)},
        {OPTION("format", 0, "FORMAT", "Format of --list (text)"), OPTION_WORD, AT(format),
         .words = "text|md"},
        {OPTION("list", 0, NULL, "Show the workloads and their parameters"), OPTION_FLAG, AT(list)},
        OPTION_ROW_END,
    };
    static const struct command_line syntax = {
        .options = options,
        .form = "WORKLOAD -o FILE\n--scenario FILE -o FILE\n--list [WORKLOAD]",
        .text = "Generates a trace: simulates a workload into its steady state, then records it.",
        .places = {{.kind = OPTION_STREAM, AT(workload)}},
        .excess = "one workload at a time",
        .complete = complete,
    };
    struct gen_arguments arguments = {.seed = SEED_UNSET};
    command_line_read(&syntax, argc, argv, &arguments);
    int status = generate_trace(&arguments);
    free((void *)arguments.settings.items);
    return status;
}
