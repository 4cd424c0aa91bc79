/* timerlab cluster sim: a cluster's days as discrete events. */
#include "clock.h"
#include "cluster_rows.h"
#include "command.h"
#include "measured_file.h"
#include "memory.h"
#include "outfile.h"
#include "progress.h"
#include "simulate_cluster.h"
#include "trace.h"
#include "watched.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMERS    100000
#define DEFAULT_STRUCTURE "radix-heap"

struct sim_arguments {
    struct cluster_arguments common;
    struct command_structures structures;
    double parameters[CLUSTER_PARAMETERS];
    struct word_list settings;
    uint64_t timers;
    uint64_t seed;
    const char *trace;
    const char *measured_path;
    struct measured_file measured;
    bool calm;
    bool list_parameters;
};

/* --- the command line ------------------------------------------------------------------------ */

static void complete(void *at, struct argp_state *state)
{
    struct sim_arguments *arguments = at;
    if (arguments->structures.selections.count == 0) {
        word_list_append(&arguments->structures.selections, DEFAULT_STRUCTURE);
    }
    command_structures_find(&arguments->structures, catalog_select, ALL_OR_NAMES, state);
    for (size_t i = 0; i < arguments->structures.contenders.count; i++) {
        const struct tl_algo *algo = arguments->structures.contenders.items[i].timed;
        if ((algo->capabilities & (TL_CAP_EXACT | TL_CAP_NEXT)) != (TL_CAP_EXACT | TL_CAP_NEXT)) {
            argp_error(state,
                       "%s cannot keep a model's events: it has to be exact, and to say when the "
                       "next is; `timerlab list` shows which are",
                       algo->name);
        }
    }
    cluster_take_all(&arguments->common, state);
    cluster_parameters_default(arguments->parameters);
    if (arguments->calm) {
        cluster_parameters_calm(arguments->parameters);
    }
    if (arguments->measured_path != NULL) {
        if (!measured_file_read(arguments->measured_path, &arguments->measured,
                                &arguments->common.error)) {
            argp_failure(state, EXIT_USAGE, 0, "%s", arguments->common.error.text);
        }
        memcpy(arguments->parameters, arguments->measured.parameters, sizeof arguments->parameters);
    }
    if (arguments->timers == 0) {
        arguments->timers =
            arguments->measured.timers > 0 ? arguments->measured.timers : DEFAULT_TIMERS;
    }
    for (size_t i = 0; i < arguments->settings.count; i++) {
        if (!cluster_parameter_set(arguments->parameters, arguments->settings.items[i],
                                   &arguments->common.error)) {
            argp_failure(state, EXIT_USAGE, 0, "%s", arguments->common.error.text);
        }
    }
}

#define AT(member) OPTION_AT(struct sim_arguments, member)
static const struct option_row options[] = {
    {{"timers", 'n', "N", 0,
      "How many timers are started, k and m for thousands and millions (100k)", 0},
     OPTION_WHOLE(1, UINT64_C(1000000000000)),
     AT(timers)},
    {{"parameter", 'p', "NAME=VALUE", 0, "Sets one of the parameters; may be repeated", 0},
     OPTION_LIST,
     AT(settings)},
    {{"parameters", 0, NULL, 0, "Shows them", 0}, OPTION_FLAG, AT(list_parameters)},
    {{"calm", 0, NULL, 0, "Without faults, but for those that -p sets", 0}, OPTION_FLAG, AT(calm)},
    {{"measured", 0, "FILE", 0,
      "Parameters and times of steps of a real run, of which `cluster run --clock real -o DIR` "
      "writes DIR/measured; -p comes after. Also shows how late both were",
      0},
     OPTION_TEXT,
     AT(measured_path)},
    {{"trace", 0, "FILE", 0,
      "The starts and stops of this trace instead of generated ones; - is standard input", 0},
     OPTION_STREAM,
     AT(trace)},
    {{"seed", 0, "K", 0, "Same seed, same days (1)", 0}, OPTION_WHOLE(0, INT64_MAX), AT(seed)},
    OPTION_ROW_STRUCTURES(struct sim_arguments, "NAME[:opt=v...],...",
                          "Structures that keep the deadlines and the model's own events "
                          "(" DEFAULT_STRUCTURE "): the results are the same"),
    OPTION_ROW_PLUGIN(struct sim_arguments, OPTION_PLUGIN_TEXT),
    CLUSTER_OPTION_ROWS("sim.csv, sim.json and lateness.csv, the distribution by path"),
};

static const struct command_line syntax = {
    .options = options,
    .form = "[PROTOCOL...]",
    .text =
        "Simulates planners, schedulers, a store, a queue, executors and the user's service, with "
        "crashes, pauses, partitions, clocks that jump, slow stores, lost replies and outages, "
        "until all timers have come to their end. Says how late they were and by which path they "
        "came, what was called twice and what was lost, and why, what the store had to do, and "
        "whether the books balance.\v"
        "Exit status: 0 the books balance, 1 they do not, or it could not be run, 2 usage.",
    .take_word = cluster_take_word,
    .complete = complete,
};

static const char *const kinds[] = {"sim.csv", "sim.json", "lateness.csv", "held.csv", NULL};

static void list_parameters(FILE *stream)
{
    for (int i = 0; i < CLUSTER_PARAMETERS; i++) {
        const struct cluster_parameter_row *row = &cluster_parameters[i];
        (void)fprintf(stream, "%-20s %-10g %g to %g: %s (%s)\n", row->name, row->value, row->least,
                      row->most, row->help, row->source);
    }
}

/* --- rows --------------------------------------------------------------------------------------
 */

static void set_lateness(json_t *row, const char *path, const struct histogram *lateness)
{
    static const struct {
        const char *name;
        double share;
    } quantiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"max", 1}};
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        double value_us = quantiles[i].share < 1
                              ? (double)histogram_quantile(lateness, quantiles[i].share)
                              : (double)lateness->max;
        cluster_row_real(row, lateness->total > 0 ? value_us / 1e3 : NAN, "late_%s%s%s_ms", path,
                         path[0] != '\0' ? "_" : "", quantiles[i].name);
    }
}

static json_t *curve_of(const struct histogram *lateness)
{
    static const double shares[] = {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1};
    json_t *curve = json_array();
    for (size_t i = 0; lateness->total > 0 && i < sizeof shares / sizeof shares[0]; i++) {
        (void)json_array_append_new(
            curve, json_pack("{s:f, s:f}", "share", shares[i], "late_ms",
                             (double)histogram_quantile(lateness, shares[i]) / 1e3));
    }
    return curve;
}

static double per_fired(uint64_t count, const struct cluster_outcome *outcome)
{
    return outcome->books.fired > 0 ? (double)count / (double)outcome->books.fired : NAN;
}

static json_t *row_of(const struct cluster_protocol *protocol, const struct contender *contender,
                      const struct cluster_outcome *outcome, const char *status)
{
    json_t *row =
        json_pack("{ss ss ss ss}", "protocol", protocol->name, "algo", contender->timed->name,
                  "options", contender->option_text, "status", status);
    struct histogram *all = memory_new(1, sizeof *all);
    cluster_row_count(row, outcome->books.started, "started");
    cluster_row_count(row, outcome->books.fired, "fired");
    cluster_row_count(row, outcome->books.stopped, "stopped");
    cluster_row_count(row, outcome->books.dead, "dead");
    cluster_row_count(row, outcome->books.pending, "pending");
    cluster_row_count(row, outcome->books.lost, "lost");
    (void)json_object_set_new(row, "lost_by", cluster_causes_text(outcome->lost));
    cluster_row_count(row, outcome->early, "early");
    cluster_row_count(row, cluster_causes_sum(outcome->duplicates), "duplicates");
    (void)json_object_set_new(row, "duplicates_by", cluster_causes_text(outcome->duplicates));
    for (int path = 0; path < CLUSTER_PATHS && all != NULL; path++) {
        histogram_merge(all, &outcome->lateness_us[path]);
    }
    if (all != NULL) {
        set_lateness(row, "", all);
    }
    json_t *paths = json_object();
    for (int path = 0; path < CLUSTER_PATHS; path++) {
        const char *word = cluster_path_word((enum cluster_path)path);
        const struct histogram *lateness = &outcome->lateness_us[path];
        cluster_row_count(row, lateness->total, "%s", word);
        set_lateness(row, word, lateness);
        (void)json_object_set_new(paths, word, curve_of(lateness));
    }
    cluster_row_real(row, outcome->queue_mean, "queue_mean");
    cluster_row_count(row, outcome->queue_most, "queue_most");
    cluster_row_real(row, outcome->waits > 0 ? outcome->wait_s * 1e3 / (double)outcome->waits : NAN,
                     "wait_mean_ms");
    cluster_row_real(row, outcome->drain_s, "drain_s");
    cluster_row_real(row, outcome->halt_drain_s, "halt_drain_s");
    cluster_row_real(row, per_fired(outcome->store_operations, outcome),
                     "store_operations_per_fired");
    cluster_row_real(row, per_fired(outcome->syncs, outcome), "syncs_per_fired");
    cluster_row_count(row, outcome->wasted, "wasted_looks");
    cluster_row_count(row, outcome->redelivered, "redelivered");
    cluster_row_count(row, outcome->crashes, "crashes");
    cluster_row_count(row, outcome->events, "events");
    cluster_row_count(row, outcome->most_live, "most_live");
    cluster_row_real(
        row,
        outcome->most_live > 0 ? (double)outcome->bytes_peak / (double)outcome->most_live : NAN,
        "bytes_per_live");
    cluster_row_real(row, outcome->seconds, "simulated_s");
    (void)json_object_set_new(row, "paths", paths);
    free(all);
    return row;
}

/* What matters most, for people: the rest is in CSV and JSON. */
static json_t *short_row_of(const json_t *row)
{
    static const char *const shown[] = {
        "protocol",       "algo",        "status",
        "started",        "fired",       "stopped",
        "dead",           "lost",        "lost_by",
        "early",          "duplicates",  "duplicates_by",
        "late_p50_ms",    "late_p99_ms", "late_max_ms",
        "queue_most",     "drain_s",     "store_operations_per_fired",
        "syncs_per_fired"};
    json_t *few = json_object();
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        (void)json_object_set(few, shown[i], json_object_get(row, shown[i]));
    }
    return few;
}

static void write_lateness(const void *ctx, FILE *stream)
{
    const json_t *rows = ctx;
    size_t i;
    json_t *row = NULL;
    (void)fputs("protocol,algo,path,share,late_ms\n", stream);
    json_array_foreach(rows, i, row)
    {
        const char *path = NULL;
        json_t *curve = NULL;
        json_object_foreach(json_object_get(row, "paths"), path, curve)
        {
            size_t k;
            json_t *point = NULL;
            json_array_foreach(curve, k, point)
            {
                (void)fprintf(stream, "%s,%s,%s,%g,%.6g\n",
                              json_string_value(json_object_get(row, "protocol")),
                              json_string_value(json_object_get(row, "algo")), path,
                              json_real_value(json_object_get(point, "share")),
                              json_real_value(json_object_get(point, "late_ms")));
            }
        }
    }
}

/* --- the model against the run -----------------------------------------------------------------
 */

/* A row for each path and quantile: of the run, of the model, and the model's share. */
static json_t *hold_against(const struct measured_file *file, const json_t *rows)
{
    static const char *const paths[] = {"", "first", "retried", "recovered"};
    static const char *const shares[] = {"p50", "p99"};
    json_t *held = json_array();
    size_t i;
    json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        for (size_t k = 0; k < sizeof paths / sizeof paths[0] * 2; k++) {
            const char *path = paths[k / 2];
            char name[64];
            double run_ms;
            uint64_t count;
            (void)snprintf(name, sizeof name, "late_%s%s%s_ms", path, path[0] != '\0' ? "_" : "",
                           shares[k % 2]);
            double model_ms = json_real_value(json_object_get(row, name));
            if (measured_file_late(file, path[0] != '\0' ? path : "all", shares[k % 2], &run_ms,
                                   &count)) {
                (void)json_array_append_new(
                    held,
                    json_pack("{sO ss sI sO ss sf sf sf}", "protocol",
                              json_object_get(row, "protocol"), "path",
                              path[0] != '\0' ? path : "all", "run_count", (json_int_t)count,
                              "model_count", json_object_get(row, path[0] != '\0' ? path : "fired"),
                              "late", shares[k % 2], "run_ms", run_ms, "model_ms", model_ms,
                              "model_of_run", run_ms > 0 ? model_ms / run_ms : 0));
            }
        }
    }
    return held;
}

static void write_held(const void *ctx, FILE *stream)
{
    cluster_rows_write_csv(ctx, stream);
}

/* --- running ------------------------------------------------------------------------------------
 */

static void take_progress(void *ctx, uint64_t started)
{
    (void)ctx;
    child_progress(started);
}

/* What a child finds out. */
struct simulated {
    struct cluster_outcome outcome;
    double took_s; /* of processor time */
};

static bool simulate_here(void *ctx, void *result, struct error *error)
{
    struct cluster_request request = *(const struct cluster_request *)ctx;
    struct simulated *simulated = result;
    request.algo = watched(request.algo);
    child_phase(child_hook_seconds(), "while it kept a model's events");
    uint64_t begun_ns = clock_processor_ns();
    bool done = cluster_simulate(&request, &simulated->outcome, error);
    simulated->took_s = (double)(clock_processor_ns() - begun_ns) / 1e9;
    return done;
}

/* One protocol, its events in one structure; a row of what came out. */
static bool simulate(struct sim_arguments *arguments, const struct cluster_protocol *protocol,
                     const struct contender *contender, struct cluster_work *work, bool *right)
{
    struct simulated *simulated = memory_new(1, sizeof *simulated);
    struct progress progress;
    struct child_outcome ended;
    struct cluster_request request = {
        .protocol = protocol,
        .parameters = arguments->parameters,
        .algo = contender->embedded != NULL ? contender->embedded : contender->timed,
        .options = contender->options,
        .timers = arguments->timers,
        .seed = arguments->seed,
        .measured = arguments->measured_path != NULL ? arguments->measured.steps : NULL,
        .trace = arguments->trace,
        .progress = take_progress};
    const struct child_request child = {.run = simulate_here,
                                        .ctx = &request,
                                        .result_bytes = sizeof *simulated,
                                        .progress = progress_follow,
                                        .progress_ctx = &progress};
    progress_begin(&progress, protocol->name, "timers",
                   arguments->trace == NULL ? arguments->timers : 0);
    bool done = plug_in_run(request.algo, &child, simulated, &ended, &arguments->common.error);
    if (done && ended.end == CHILD_FAILED && !plug_in_is(request.algo)) {
        done = error_set(&arguments->common.error, "%s", ended.reason);
    }
    if (done) {
        struct error why;
        const struct cluster_outcome *outcome = &simulated->outcome;
        const char *fault = child_fault(&ended);
        if (fault == NULL && !cluster_books_balance(&outcome->books, &why)) {
            fault = why.text;
        }
        json_t *row = row_of(protocol, contender, outcome, fault != NULL ? fault : "ok");
        (void)json_array_append_new(work->shown, short_row_of(row));
        (void)json_array_append_new(work->rows, row);
        *right = *right && fault == NULL;
        (void)fprintf(stderr, "%s, %s: %" PRIu64 " events, %.1f s, %.3g events/s\n", protocol->name,
                      contender->timed->name, outcome->events, simulated->took_s,
                      (double)outcome->events / simulated->took_s);
    }
    free(simulated);
    return done;
}

/* Whether the trace, if there is one, is a trace. If it comes from a pipe, this stores it for the
 * processes that read it. */
static bool can_open(const char *trace, struct error *error)
{
    struct trace_reader *reader = trace != NULL ? trace_reader_open(trace, error) : NULL;
    trace_reader_close(reader);
    return trace == NULL || reader != NULL;
}

static int run(void *at, int argc, char **argv)
{
    struct sim_arguments *arguments = at;
    struct cluster_arguments *common = &arguments->common;
    struct cluster_work work;
    json_t *held = NULL;
    bool right = true;
    if (common->list || arguments->list_parameters) {
        if (common->list) {
            cluster_list(stdout);
        } else {
            list_parameters(stdout);
        }
        return EXIT_OK;
    }
    bool done =
        cluster_work_begin(&work, common, argc, argv) && can_open(arguments->trace, &common->error);
    for (size_t i = 0; done && i < common->count; i++) {
        for (size_t k = 0; done && k < arguments->structures.contenders.count; k++) {
            done = simulate(arguments, common->protocols[i],
                            &arguments->structures.contenders.items[k], &work, &right);
        }
    }
    if (done && arguments->measured_path != NULL) {
        held = hold_against(&arguments->measured, work.rows);
    }
    if (done && common->out_dir != NULL) {
        done = (held == NULL ||
                outfolder_write(&work.folder, "held.csv", write_held, held, &common->error)) &&
               outfolder_write(&work.folder, "lateness.csv", write_lateness, work.rows,
                               &common->error);
    }
    done = cluster_work_end(&work, common, done, "sim", kinds);
    if (done && held != NULL && common->format == CLUSTER_TABLE) {
        (void)putchar('\n');
        cluster_rows_write_table(held, stdout);
    }
    json_decref(held);
    cluster_work_free(&work);
    return done && right ? EXIT_OK : EXIT_FAULT;
}

int command_cluster_sim(int argc, char **argv)
{
    struct sim_arguments arguments = {.seed = 1};
    int status =
        command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures, run);
    free((void *)arguments.common.protocols);
    free((void *)arguments.settings.items);
    json_decref(arguments.measured.whole);
    return status;
}
