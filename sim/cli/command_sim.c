/* timerlab sim: replays traces through structures and reports. */
#include "answer.h"
#include "command.h"
#include "command_drive.h"
#include "command_ranks.h"
#include "context.h"
#include "memory.h"
#include "outfolder.h"
#include "progress.h"
#include "rank_group.h"
#include "simulate.h"
#include "standard_files.h"
#include "terminal.h"
#include "trace.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_RUNS            5
#define DEFAULT_TIMEOUT_SECONDS 600.0

enum sim_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON }; /* in the order of the help */

struct sim_arguments {
    struct command_structures structures;
    struct word_list traces;
    struct command_ranks ranks;
    struct simulate_request request;
    enum sim_format format;
    bool columns;
    const char *out_dir;
    struct error error;
};

/* FROM:TO, ticks, or one tick alone. */
static void take_window(void *at, const struct option_row *row, const char *text,
                        struct argp_state *state)
{
    struct sim_arguments *arguments = at;
    struct tl_range range;
    (void)option_ranges(row, text, &range, state);
    arguments->request.window =
        (struct replay_window){.asked = true, .from_tick = range.first, .to_tick = range.last};
}

static void complete(void *at, struct argp_state *state)
{
    struct sim_arguments *arguments = at;
    if (arguments->columns) {
        results_write_columns(stdout);
        exit(EXIT_OK);
    }
    command_ranks_complete(&arguments->ranks, arguments->traces.count, state);
    if (arguments->traces.count == 0 && arguments->ranks.workload == NULL) {
        argp_error(state, "which trace? `timerlab trace gen` and `timerlab trace import` make "
                          "them");
    }
    if (command_ranks_wanted(&arguments->ranks) && arguments->request.drive.service_ns > 0) {
        argp_error(state, "--service is about one loop: ranks have one each");
    }
    command_structures_find(&arguments->structures, catalog_select, ALL_OR_NAMES, state);
}

#define AT(member) OPTION_AT(struct sim_arguments, member)
static const struct option_row options[] = {
    OPTION_ROW_STRUCTURES(struct sim_arguments, "NAME[:opt=v...],...|all",
                          "Structures to replay through, with options; may be repeated"),
    OPTION_ROW_PLUGIN(struct sim_arguments, OPTION_PLUGIN_TEXT),
    OPTION_ROWS_DRIVE(struct sim_arguments, request.drive),
    {OPTION("latency", 0, NULL,
            "Also measure the latency of each operation, in separate passes: service time, and "
            "response time with queueing (no coordinated omission)"),
     OPTION_FLAG, AT(request.latency)},
    {OPTION("window", 0, "FROM:TO",
            "Time these ticks only, both included, instead of all after the trace's warm-up: to "
            "examine a worst operation again"),
     .number = {.to = TRACE_TICK_MAX, .list_max = 1, .dash = ':', .example = "5000:6000"},
     .take = take_window},
    {OPTION("runs", 0, "K", "Timed runs of each structure (5); 0: only check"),
     OPTION_WHOLE(0, 1000), AT(request.runs)},
    OPTION_ROWS_FORMAT(struct sim_arguments, "table|csv|json"),
    {OPTION("output", 'o', "DIR",
            "Also write results.csv, results.json, work.csv (work over the ticks) and faults.csv "
            "into this folder; with --latency also latency.csv, response.csv and the distributions "
            "as latency/*.hgrm; of several ranks also ranks.csv"),
     OPTION_TEXT, AT(out_dir)},
    OPTION_ROW_TIMEOUT(struct sim_arguments, request.timeout_seconds,
                       "Of one pass of one structure (600)"),
    {OPTION(
         "memory-limit", 0, "BYTES",
         "Memory limit of one structure; K, M, G (default: nine tenths of this machine's memory)"),
     OPTION_BYTES, AT(request.memory_limit_bytes)},
    OPTION_ROWS_RANKS(struct sim_arguments),
    OPTION_ROW_PROGRESS,
    {OPTION("slow", 0, NULL,
            "Also run structures with linear operations through traces of more than 50,000 timers"),
     OPTION_FLAG, AT(request.slow)},
    {OPTION("columns", 0, NULL, "Explain the columns of the results, and end"), OPTION_FLAG,
     AT(columns)},
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "TRACE...\n--gen WORKLOAD",
    .text =
        "Replays each trace through each structure, checks every expiry against the oracle, and "
        "times the structures without a fault. Prints which structure to take for each trace; "
        "--wide adds all columns. - is standard input."
        "\vExit status: 0 all right (a structure that cannot take a trace is `unsupported`, "
        "which is no fault), 1 a fault, crash or timeout, 2 usage.",
    .places = {{.kind = OPTION_LIST, AT(traces)}},
    .complete = complete,
};

/* --- files ----------------------------------------------------------------------------------- */

/* Faults as rows of fault_kind. */
static void write_faults(const void *ctx, FILE *stream)
{
    const struct simulation *simulation = ctx;
    struct row row = {0};
    row_kind_write_header(&fault_kind, stream);
    const struct entrant *entrant;
    const struct fault *fault;
    for (size_t at = 0; (fault = simulation_next_fault(simulation, &at, &entrant)) != NULL;) {
        row_set_key(&row, entrant->trace->name, contender_name(entrant->contender),
                    contender_options(entrant->contender));
        row_set_text(&row, FAULT_KIND, fault_word(fault->kind));
        row_set_integer(&row, FAULT_TIMER, fault->id);
        row_set_integer(&row, FAULT_TICK, fault->tick);
        row_set_integer(&row, FAULT_DUE, fault->due);
        if (fault->event != UINT64_MAX) {
            row_set_integer(&row, FAULT_EVENT, fault->event);
        }
        row_set_text(&row, FAULT_DETAIL, fault->detail);
        row_write_csv(&fault_kind, &row, stream);
        row_clear(&row);
    }
}

/* One line for a stretch of ticks. Work is the sum of all counts. */
static void write_work(const void *at, FILE *stream)
{
    const struct simulation *simulation = at;
    struct row row = {0};
    row_kind_write_header(&work_kind, stream);
    for (size_t i = 0; i < simulation->entrant_count; i++) {
        const struct entrant *entrant = &simulation->entrants[i];
        const struct work_series *series = entrant_work(entrant);
        row_set_key(&row, entrant->trace->name, contender_name(entrant->contender),
                    contender_options(entrant->contender));
        for (uint32_t k = 0; series != NULL && k < series->count; k++) {
            const struct work_stretch *stretch = &series->stretches[k];
            uint64_t from = series->from_tick + k * series->ticks;
            uint64_t to = k + 1 < series->count ? from + series->ticks - 1 : series->to_tick;
            const struct {
                enum work_column column;
                uint64_t value;
            } cells[] = {{WORK_FROM, from},
                         {WORK_TO, to},
                         {WORK_FIRED, stretch->fired},
                         {WORK_COMPARES, stretch->work.compares},
                         {WORK_MOVES, stretch->work.moves},
                         {WORK_SLOTS, stretch->work.slots},
                         {WORK_CASCADES, stretch->work.cascades},
                         {WORK_OPERATIONS, stretch->operations},
                         {WORK_WORST_TICK, stretch->worst.tick},
                         {WORK_WORST, work_total(&stretch->worst.work)},
                         {WORK_WORST_CASCADES, stretch->worst.work.cascades},
                         {WORK_WORST_FIRED, stretch->worst.fired}};
            for (size_t c = 0; c < sizeof cells / sizeof cells[0]; c++) {
                row_set_integer(&row, cells[c].column, cells[c].value);
            }
            row_set_real(&row, WORK_PER_TICK,
                         (double)work_total(&stretch->work) / (double)(to - from + 1));
            row_write_csv(&work_kind, &row, stream);
        }
    }
    row_clear(&row);
}

static void write_latency_csv(const void *simulation, FILE *stream)
{
    latency_write_csv(simulation, LATENCY_SERVICE, stream);
}

static void write_response_csv(const void *simulation, FILE *stream)
{
    latency_write_csv(simulation, LATENCY_RESPONSE, stream);
}

static bool write_folder(const struct sim_arguments *arguments, const struct simulation *simulation,
                         const json_t *context, struct outfolder *folder, struct error *error)
{
    bool done = outfolder_write(folder, "work.csv", write_work, simulation, error) &&
                outfolder_write(folder, "faults.csv", write_faults, simulation, error);
    if (done && simulation->ranks > 0) {
        done = outfolder_write(folder, "ranks.csv", command_ranks_write_csv, simulation, error);
    }
    if (done && arguments->request.latency) {
        done = outfolder_write(folder, "latency.csv", write_latency_csv, simulation, error) &&
               outfolder_write(folder, "response.csv", write_response_csv, simulation, error) &&
               latency_write_histograms(simulation, folder, error);
    }
    return done && results_write_files(&simulation->results, context, "results", folder, error) &&
           outfolder_commit(folder, result_files, error);
}

/* --- messages --------------------------------------------------------------------------------- */

static void print_faults(const struct simulation *simulation)
{
    const struct entrant *entrant;
    const struct fault *fault;
    for (size_t at = 0; (fault = simulation_next_fault(simulation, &at, &entrant)) != NULL;) {
        const char *set = contender_options(entrant->contender);
        char event[32] = "";
        if (fault->event != UINT64_MAX) {
            (void)snprintf(event, sizeof event, ", event %" PRIu64, fault->event);
        }
        standard_files_tell("fault: %s: %s%s%s: %s: timer %" PRIu64 " at tick %" PRIu64 "%s: %s\n",
                            entrant->trace->name, contender_name(entrant->contender),
                            set[0] != '\0' ? ":" : "", set, fault_word(fault->kind), fault->id,
                            fault->tick, event, fault->detail);
    }
}

static void write_answers(const struct simulation *simulation, FILE *stream)
{
    for (size_t i = 0; i < simulation->trace_count; i++) {
        const struct answer_trace trace = {.name = simulation->traces[i].name,
                                           .window_seconds = simulation->traces[i].window_seconds};
        (void)fputs(i > 0 ? "\n" : "", stream);
        answer_print(&simulation->results, &trace, stream);
    }
}

/* Report which traces have no reactions to expiries, which lack the slack that the loop needs, and
 * which have stretches that were not driven. */
static void warn_of_traces(const struct simulation *simulation, const struct replay_drive *drive)
{
    for (size_t i = 0; i < simulation->trace_count; i++) {
        const struct trace_row *trace = &simulation->traces[i];
        if (!trace->header.causes_known) {
            (void)fprintf(stderr, "%s: " TRACE_OPEN_LOOP_NOTE "\n", trace->name);
        }
        if (drive->kind == DRIVE_SLACK && trace->header.max_slack_ticks == 0) {
            (void)fprintf(
                stderr, "%s: no timer has slack, so --drive slack does the same as --drive sleep\n",
                trace->name);
        }
        if (trace->empty_ticks > 0) {
            (void)fprintf(stderr,
                          "%s: no timer was pending in %" PRIu64
                          " ticks: structures without `next` passed each such stretch in one step; "
                          "wakeups count each tick, times and work do not\n",
                          trace->name, trace->empty_ticks);
        }
    }
}

/* Return whether two structures are exact on the same trace, so that their expiries must agree. */
static bool must_agree(const struct entrant *one, const struct entrant *other)
{
    return one->trace == other->trace && one->compared && other->compared && one->check->exact &&
           other->check->exact;
}

/* Compare the exact structures of a trace, of which entrant `first` is the first. False if they
 * differ. */
static bool compare_with_first(const struct simulation *simulation, size_t first)
{
    const struct entrant *one = &simulation->entrants[first];
    unsigned same = 0;
    bool equal = true;
    for (size_t k = first; k < simulation->entrant_count; k++) {
        const struct entrant *other = &simulation->entrants[k];
        if (!must_agree(one, other)) {
            continue;
        }
        bool fired = other->check->named_digest == one->check->named_digest;
        bool alike = fired && other->check->operations_digest == one->check->operations_digest;
        same += alike;
        if (!alike) {
            equal = false;
            (void)fprintf(stderr, "fault: %s: %s and %s did not %s\n", one->trace->name,
                          contender_name(one->contender), contender_name(other->contender),
                          fired ? "do the same when the same timers fired"
                                : "fire the same timers");
        }
    }
    if (same > 1) {
        (void)fprintf(stderr,
                      "%s: %u exact structures fired the same timers at the same ticks (%016" PRIx64
                      ")\n",
                      one->trace->name, same, one->check->named_digest);
    }
    return equal;
}

/* Structures that are exact with these options must have fired the same timers at the same ticks:
 * says so for each trace, and adds the sets to the context. False if they differ. With a `budget`
 * there are no such sets. */
static bool compare_fired_sets(const struct simulation *simulation, uint64_t budget,
                               json_t *context)
{
    json_t *sets = json_array();
    bool equal = true;
    for (size_t i = 0; i < simulation->entrant_count; i++) {
        const struct entrant *one = &simulation->entrants[i];
        if (!one->compared) {
            continue;
        }
        char digest[32];
        (void)snprintf(digest, sizeof digest, "%016" PRIx64, one->check->named_digest);
        (void)json_array_append_new(sets, json_pack("{s:s, s:s, s:s, s:b, s:s}", "trace",
                                                    one->trace->name, "algo",
                                                    contender_name(one->contender), "options",
                                                    contender_options(one->contender), "exact",
                                                    one->check->exact, "digest", digest));
        bool first = one->check->exact;
        for (size_t k = 0; k < i && first; k++) {
            first = !must_agree(one, &simulation->entrants[k]);
        }
        equal = (!first || compare_with_first(simulation, i)) && equal;
    }
    if (budget > 0) {
        (void)fprintf(stderr, "with a budget each structure chooses which timers wait: exact ones "
                              "are not compared with one another\n");
    }
    (void)json_object_set_new(context, "fired_sets", sets);
    return equal;
}

/* Print and write the results of a simulation. */
static bool report_simulation(struct sim_arguments *arguments, const struct simulation *simulation,
                              struct outfolder *folder, json_t *context)
{
    struct error *error = &arguments->error;
    if (arguments->format == FORMAT_CSV) {
        results_write_csv(&simulation->results, stdout);
    } else if (arguments->format == FORMAT_JSON) {
        results_write_json(&simulation->results, context, stdout);
    } else {
        write_answers(simulation, stdout);
        results_write_reasons(&simulation->results, stdout);
        if (terminal_is_wide() || arguments->request.runs == 0) {
            results_write_tables(&simulation->results, stdout);
            command_ranks_write_table(simulation, stdout);
            latency_write_worst(simulation, stdout);
        }
    }
    return arguments->out_dir == NULL ||
           write_folder(arguments, simulation, context, folder, error);
}

/* All traces, here or by the ranks that `request` has. */
static int replay(struct sim_arguments *arguments, const struct simulate_request *request,
                  json_t *context)
{
    struct error *error = &arguments->error;
    struct outfolder folder = {0};
    struct simulation simulation = {0};
    bool all_right = false;
    bool done =
        (arguments->out_dir == NULL || outfolder_open(&folder, arguments->out_dir, error)) &&
        simulate(request, &simulation, &all_right, error);
    if (done) {
        char drive_text[DRIVE_TEXT_BYTES];
        drive_write(&request->drive, drive_text);
        (void)json_object_set_new(context, "drive", json_string(drive_text));
        all_right = compare_fired_sets(&simulation, request->drive.budget, context) && all_right;
        warn_of_traces(&simulation, &request->drive);
        simulation_describe_traces(&simulation, context);
        if (request->ranks != NULL) {
            command_ranks_describe(&arguments->ranks, request->ranks, context);
        }
        (void)json_object_set_new(context, "worst", latency_worst(&simulation));
        print_faults(&simulation);
        done = report_simulation(arguments, &simulation, &folder, context);
    }
    simulation_free(&simulation);
    outfolder_close(&folder);
    if (!done) {
        return command_fail(error);
    }
    return all_right ? EXIT_OK : EXIT_FAULT;
}

/* As one of the ranks, or as all of them in turn. */
static int replay_in_partitions(struct sim_arguments *arguments, struct simulate_request *request,
                                json_t *context)
{
    const struct command_ranks *ranks = &arguments->ranks;
    const struct rank_plan plan = {.request = request,
                                   .traffic = ranks->workload != NULL ? &ranks->traffic : NULL,
                                   .post = ranks->post,
                                   .in_turn = ranks->in_turn};
    struct error *error = &arguments->error;
    struct rank_group *group = rank_group_open(&plan);
    bool serves = ranks->post != NULL && ranks->post->rank > 0;
    int status = EXIT_OK;
    if (serves && !rank_group_serve(group, error)) {
        command_complain(error);
        status = EXIT_FAULT;
    } else if (!serves) {
        request->ranks = rank_group_ranks(group);
        status = replay(arguments, request, context);
    }
    rank_group_close(group);
    return status;
}

static int simulate_traces(void *at, int argc, char **argv)
{
    struct sim_arguments *arguments = at;
    struct simulate_request *request = &arguments->request;
    bool generated = arguments->ranks.workload != NULL;
    request->traces = generated ? arguments->ranks.labels : arguments->traces.items;
    request->trace_count = generated ? 1 : arguments->traces.count;
    request->contenders = &arguments->structures.contenders;
    request->floor = catalog_floor(&arguments->structures.catalog);
    struct rank_post *post = arguments->ranks.post;
    if (post != NULL) {
        post->join(post);
    }
    json_t *context = context_json(argc, argv);
    int status = command_ranks_wanted(&arguments->ranks)
                     ? replay_in_partitions(arguments, request, context)
                     : replay(arguments, request, context);
    json_decref(context);
    if (post != NULL) {
        (void)fflush(stdout);
        post->leave(post->ctx, status);
    }
    return status;
}

int command_sim_by(struct rank_post *post, int argc, char **argv)
{
    struct sim_arguments arguments = {.ranks = {.post = post, .seed = UINT64_MAX},
                                      .request = {.runs = DEFAULT_RUNS,
                                                  .timeout_seconds = DEFAULT_TIMEOUT_SECONDS,
                                                  .memory_limit_bytes = memory_default_limit()}};
    int status = command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures,
                                        simulate_traces);
    free((void *)arguments.traces.items);
    free((void *)arguments.ranks.settings.items);
    return status;
}

int command_sim(int argc, char **argv)
{
    return command_sim_by(NULL, argc, argv);
}
