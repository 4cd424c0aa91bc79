/* timerlab sim: replays traces through structures and reports. */
#include "command.h"
#include "command_option.h"
#include "context.h"
#include "latency_report.h"
#include "outfile.h"
#include "progress.h"
#include "simulate.h"
#include "trace.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_RUNS            5
#define DEFAULT_TIMEOUT_SECONDS 600.0

enum sim_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON };
static const char *const format_words[] = {
    [FORMAT_TABLE] = "table", [FORMAT_CSV] = "csv", [FORMAT_JSON] = "json", NULL};

struct sim_arguments {
    struct catalog catalog;
    struct contender_list contenders;
    const char **selections; /* -a, resolved once all plug-ins are loaded */
    size_t selection_count;
    const char **traces;
    size_t trace_count;
    enum replay_drive drive;
    struct replay_window window;
    bool latency;
    bool slow;
    unsigned runs;
    double timeout_seconds;
    uint64_t memory_limit_bytes;
    enum sim_format format;
    const char *out_dir;
    struct error error;
};

enum {
    KEY_PLUGIN = 256,
    KEY_DRIVE,
    KEY_LATENCY,
    KEY_RUNS,
    KEY_FORMAT,
    KEY_TIMEOUT,
    KEY_MEMORY,
    KEY_PROGRESS,
    KEY_COLUMNS,
    KEY_SLOW,
    KEY_WINDOW
};

/* FROM:TO, ticks, or one tick alone. */
static void parse_window(const char *text, struct replay_window *window, struct argp_state *state)
{
    char *end = NULL;
    errno = 0;
    *window = (struct replay_window){.asked = true};
    window->from_tick = strtoull(text, &end, 10);
    window->to_tick = window->from_tick;
    bool right = end != text;
    if (right && *end == ':') {
        const char *to = end + 1;
        window->to_tick = strtoull(to, &end, 10);
        right = end != to;
    }
    if (!right || *end != '\0' || strchr(text, '-') != NULL || errno != 0 ||
        window->to_tick < window->from_tick || window->to_tick > TRACE_TICK_MAX) {
        argp_error(state, "--window takes ticks, as in 5000:6000 or 5000, not '%s'", text);
    }
}

static error_t parse_argument(int key, char *argument, struct argp_state *state)
{
    struct sim_arguments *arguments = state->input;
    switch (key) {
    case 'a':
        option_remember(&arguments->selections, &arguments->selection_count, argument, state);
        return 0;
    case 'o':
        arguments->out_dir = argument;
        return 0;
    case KEY_PLUGIN:
        option_plugin(&arguments->catalog, argument, state);
        return 0;
    case KEY_DRIVE:
        arguments->drive =
            (enum replay_drive)option_word("--drive", argument, replay_drive_words, state);
        return 0;
    case KEY_WINDOW:
        parse_window(argument, &arguments->window, state);
        return 0;
    case KEY_LATENCY:
        arguments->latency = true;
        return 0;
    case KEY_SLOW:
        arguments->slow = true;
        return 0;
    case KEY_RUNS:
        arguments->runs = (unsigned)option_number("--runs", "a number", argument, 0, 1000, state);
        return 0;
    case KEY_TIMEOUT:
        arguments->timeout_seconds =
            option_number("--timeout", "seconds", argument, 0.01, 1e6, state);
        return 0;
    case KEY_MEMORY:
        arguments->memory_limit_bytes = option_bytes("--memory-limit", argument, state);
        return 0;
    case KEY_COLUMNS:
        results_write_columns(stdout);
        exit(EXIT_OK);
    case KEY_PROGRESS:
        progress_set_mode(PROGRESS_ALWAYS);
        return 0;
    case KEY_FORMAT:
        arguments->format = (enum sim_format)option_word("--format", argument, format_words, state);
        return 0;
    case ARGP_KEY_ARG:
        option_remember(&arguments->traces, &arguments->trace_count, argument, state);
        return 0;
    case ARGP_KEY_END:
        if (arguments->trace_count == 0) {
            argp_error(state, "which trace? `timerlab trace gen` and `timerlab trace import` make "
                              "them");
        }
        if (arguments->selection_count == 0) {
            argp_error(state, "which structures? -a all, or -a NAME,...; `timerlab list` shows "
                              "them");
        }
        option_structures(&arguments->catalog, arguments->selections, arguments->selection_count,
                          &arguments->contenders, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"algorithm", 'a', "NAME[:opt=v...],...|all", 0,
     "Structures to replay through, with options; may be repeated", 0},
    {"plugin", KEY_PLUGIN, "FILE[,NAME]", 0, "Also know the structure in this shared object", 0},
    {"drive", KEY_DRIVE, "sleep|poll", 0,
     "Wake when the structure's `next` says so (sleep, the default), or every tick", 0},
    {"latency", KEY_LATENCY, NULL, 0,
     "Also time every single operation, in passes of their own: what it took, and what one who "
     "came on the trace's schedule would have waited",
     0},
    {"window", KEY_WINDOW, "FROM:TO", 0,
     "Time these ticks only, both included, instead of all behind the trace's warm-up: to look at "
     "a "
     "worst operation again",
     0},
    {"runs", KEY_RUNS, "K", 0, "Timed runs of each structure (5); 0: only check", 0},
    {"format", KEY_FORMAT, "table|csv|json", 0, "What to print (table)", 0},
    {"output", 'o', "DIR", 0,
     "Also write results.csv, results.json, work.csv (work over the ticks) and faults.csv into "
     "this "
     "folder; with --latency also "
     "latency.csv, response.csv and the distributions as latency/*.hgrm",
     0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "Of one pass of one structure (600)", 0},
    {"memory-limit", KEY_MEMORY, "BYTES", 0,
     "What one structure may use; K, M, G (default: nine tenths of this machine's memory)", 0},
    {"progress", KEY_PROGRESS, NULL, 0, "Show progress even where there is no terminal", 0},
    {"slow", KEY_SLOW, NULL, 0,
     "Also run structures whose operations are linear in the timers through traces of more than "
     "50,000",
     0},
    {"columns", KEY_COLUMNS, NULL, 0, "Explain the columns of the results, and end", 0},
    {0},
};

static const struct argp parser = {
    options,
    parse_argument,
    "TRACE...",
    "Replays each trace through each structure, checks every fired timer against the oracle, and "
    "times those that are right."
    "\vExit status: 0 all right (a structure that cannot take a trace is `unsupported`, which is "
    "no "
    "fault), 1 a fault, crash or timeout, 2 usage.",
    NULL,
    NULL,
    NULL,
};

/* --- files ----------------------------------------------------------------------------------- */

static void write_faults(const struct simulation *simulation, FILE *stream)
{
    (void)fprintf(stream, "trace,algo,options,fault,timer,tick,due,event,detail\n");
    for (size_t i = 0; i < simulation->fault_count; i++) {
        const struct fault_row *row = &simulation->faults[i];
        latency_write_key(row->trace, row->contender, stream);
        (void)fprintf(stream, ",%s,%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",",
                      fault_word(row->fault.kind), row->fault.id, row->fault.tick, row->fault.due);
        if (row->fault.event != UINT64_MAX) {
            (void)fprintf(stream, "%" PRIu64, row->fault.event);
        }
        (void)fputc(',', stream);
        csv_write_field(stream, row->fault.detail);
        (void)fputc('\n', stream);
    }
}

/* One line a stretch of ticks. Work is the sum of all counts. */
static void write_work(const struct simulation *simulation, FILE *stream)
{
    (void)fprintf(stream, "trace,algo,options,from_tick,to_tick,fired,n_compares,n_moves,n_slots,"
                          "n_cascades,work_per_tick,operations_work,worst_tick,worst_work,"
                          "worst_cascades,worst_fired\n");
    for (size_t i = 0; i < simulation->work_count; i++) {
        const struct work_row *row = &simulation->works[i];
        const struct work_series *series = &row->series;
        for (uint32_t k = 0; k < series->count; k++) {
            const struct work_stretch *stretch = &series->stretches[k];
            uint64_t from = series->from_tick + k * series->ticks;
            uint64_t to = k + 1 < series->count ? from + series->ticks - 1 : series->to_tick;
            const uint64_t counts[] = {from,
                                       to,
                                       stretch->fired,
                                       stretch->work.compares,
                                       stretch->work.moves,
                                       stretch->work.slots,
                                       stretch->work.cascades};
            latency_write_key(row->trace, row->contender, stream);
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
                (void)fprintf(stream, ",%" PRIu64, counts[c]);
            }
            (void)fprintf(
                stream, ",%.6g,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
                (double)work_total(&stretch->work) / (double)(to - from + 1), stretch->operations,
                stretch->worst.tick, work_total(&stretch->worst.work), stretch->worst.work.cascades,
                stretch->worst.fired);
        }
    }
}

struct output {
    const struct simulation *simulation;
    const json_t *context;
};

static void write_results_csv(const struct output *output, FILE *stream)
{
    results_write_csv(&output->simulation->results, stream);
}

static void write_results_json(const struct output *output, FILE *stream)
{
    results_write_json(&output->simulation->results, output->context, stream);
}

static void write_latency_csv(const struct output *output, FILE *stream)
{
    latency_write_csv(output->simulation, LATENCY_SERVICE, stream);
}

static void write_response_csv(const struct output *output, FILE *stream)
{
    latency_write_csv(output->simulation, LATENCY_RESPONSE, stream);
}

static void write_work_csv(const struct output *output, FILE *stream)
{
    write_work(output->simulation, stream);
}

static void write_faults_csv(const struct output *output, FILE *stream)
{
    write_faults(output->simulation, stream);
}

static bool write_file(const char *dir, const char *name, const struct output *output,
                       void (*write)(const struct output *, FILE *), struct error *error)
{
    char path[4096];
    struct outfile file;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    if (!outfile_open(&file, path, error)) {
        return false;
    }
    write(output, file.stream);
    return outfile_commit(&file, error);
}

static bool write_folder(const struct sim_arguments *arguments, const struct output *output,
                         struct error *error)
{
    const char *dir = arguments->out_dir;
    return write_file(dir, "results.csv", output, write_results_csv, error) &&
           write_file(dir, "results.json", output, write_results_json, error) &&
           write_file(dir, "work.csv", output, write_work_csv, error) &&
           write_file(dir, "faults.csv", output, write_faults_csv, error) &&
           (!arguments->latency ||
            (write_file(dir, "latency.csv", output, write_latency_csv, error) &&
             write_file(dir, "response.csv", output, write_response_csv, error) &&
             latency_write_histograms(output->simulation, dir, error)));
}

/* --- what is said beside the data ------------------------------------------------------------ */

static void print_faults(const struct simulation *simulation)
{
    for (size_t i = 0; i < simulation->fault_count; i++) {
        const struct fault_row *row = &simulation->faults[i];
        (void)fprintf(stderr, "fault: %s: %s%s%s: %s: timer %" PRIu32 " at tick %" PRIu64,
                      row->trace, contender_name(row->contender),
                      contender_options(row->contender)[0] != '\0' ? ":" : "",
                      contender_options(row->contender), fault_word(row->fault.kind), row->fault.id,
                      row->fault.tick);
        if (row->fault.event != UINT64_MAX) {
            (void)fprintf(stderr, ", event %" PRIu64, row->fault.event);
        }
        (void)fprintf(stderr, ": %s\n", row->fault.detail);
    }
}

/* Structures that are exact with these options must have fired the same timers at the same ticks:
 * says so for each trace, and adds the sets to the context. False if they differ. */
static bool compare_fired_sets(const struct simulation *simulation, json_t *context)
{
    json_t *sets = json_array();
    bool equal = true;
    for (size_t i = 0; i < simulation->fired_set_count; i++) {
        const struct fired_set *set = &simulation->fired_sets[i];
        char digest[32];
        (void)snprintf(digest, sizeof digest, "%016" PRIx64, set->digest);
        (void)json_array_append_new(sets,
                                    json_pack("{s:s, s:s, s:s, s:b, s:s}", "trace", set->trace,
                                              "algo", contender_name(set->contender), "options",
                                              contender_options(set->contender), "exact",
                                              set->exact, "digest", digest));
        bool first = set->exact;
        for (size_t k = 0; k < i && first; k++) {
            const struct fired_set *other = &simulation->fired_sets[k];
            first = !other->exact || strcmp(other->trace, set->trace) != 0;
        }
        if (!first) {
            continue;
        }
        unsigned same = 0;
        for (size_t k = i; k < simulation->fired_set_count; k++) {
            const struct fired_set *other = &simulation->fired_sets[k];
            if (!other->exact || strcmp(other->trace, set->trace) != 0) {
                continue;
            }
            same += other->digest == set->digest;
            if (other->digest != set->digest) {
                equal = false;
                (void)fprintf(stderr, "fault: %s: %s and %s did not fire the same timers\n",
                              set->trace, contender_name(set->contender),
                              contender_name(other->contender));
            }
        }
        if (same > 1) {
            (void)fprintf(stderr,
                          "%s: %u exact structures fired the same timers at the same ticks (%s)\n",
                          set->trace, same, digest);
        }
    }
    (void)json_object_set_new(context, "fired_sets", sets);
    return equal;
}

static int run(struct sim_arguments *arguments, int argc, char **argv)
{
    struct error *error = &arguments->error;
    struct folder folder = {0};
    if (arguments->out_dir != NULL && !folder_open(&folder, arguments->out_dir, error)) {
        command_complain(error);
        return EXIT_FAULT;
    }
    struct simulate_request request = {
        .traces = arguments->traces,
        .trace_count = arguments->trace_count,
        .contenders = &arguments->contenders,
        .floor = catalog_floor(&arguments->catalog),
        .drive = arguments->drive,
        .window = arguments->window,
        .runs = arguments->runs,
        .latency = arguments->latency,
        .slow = arguments->slow,
        .timeout_seconds = arguments->timeout_seconds,
        .memory_limit_bytes = arguments->memory_limit_bytes,
    };
    struct simulation simulation;
    bool all_right = false;
    json_t *context = context_json(argc, argv);
    bool done = context != NULL || error_set(error, "out of memory");
    if (done) {
        done = simulate(&request, &simulation, &all_right, error);
        (void)json_object_set_new(context, "drive", json_string(replay_drive_words[request.drive]));
        if (done) {
            all_right = compare_fired_sets(&simulation, context) && all_right;
            simulation_describe_traces(&simulation, context);
            (void)json_object_set_new(context, "worst", latency_worst(&simulation));
            print_faults(&simulation);
            struct output output = {&simulation, context};
            if (arguments->format == FORMAT_CSV) {
                write_results_csv(&output, stdout);
            } else if (arguments->format == FORMAT_JSON) {
                write_results_json(&output, stdout);
            } else {
                results_write_table(&simulation.results, stdout);
                latency_write_worst(&simulation, stdout);
            }
            done = arguments->out_dir == NULL || write_folder(arguments, &output, error);
        }
        simulation_free(&simulation);
    }
    json_decref(context);
    if (!done) {
        folder_abort(&folder);
        command_complain(error);
        return EXIT_FAULT;
    }
    return all_right ? EXIT_OK : EXIT_FAULT;
}

int command_sim(int argc, char **argv)
{
    struct sim_arguments arguments = {.runs = DEFAULT_RUNS,
                                      .timeout_seconds = DEFAULT_TIMEOUT_SECONDS,
                                      .memory_limit_bytes = simulate_default_memory_limit()};
    int status = EXIT_USAGE;
    if (!catalog_init(&arguments.catalog, &arguments.error)) {
        command_complain(&arguments.error);
        status = EXIT_FAULT;
    } else if (argp_parse(&parser, argc, argv, 0, NULL, &arguments) == 0) {
        status = run(&arguments, argc, argv);
    }
    contender_list_free(&arguments.contenders);
    free(arguments.selections);
    free(arguments.traces);
    catalog_free(&arguments.catalog);
    return status;
}
