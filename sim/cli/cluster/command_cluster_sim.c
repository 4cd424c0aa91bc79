/* timerlab cluster sim: a cluster's days as discrete events. */
#include "clock.h"
#include "cluster_rows.h"
#include "command.h"
#include "command_option.h"
#include "context.h"
#include "foreign.h"
#include "measured_file.h"
#include "outfile.h"
#include "progress.h"
#include "simulate_cluster.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMERS    100000
#define DEFAULT_STRUCTURE "radix-heap"

struct sim_arguments {
    struct command_structures structures;
    struct cluster_choice choice;
    double parameters[CLUSTER_PARAMETERS];
    struct word_list settings;
    uint64_t timers;
    uint64_t seed;
    const char *trace;
    const char *measured_path;
    struct measured_file measured;
    enum cluster_format format;
    const char *out_dir;
    bool calm;
    bool list;
    bool list_parameters;
    struct error error;
};

/* --- the command line ------------------------------------------------------------------------ */

static void take_word(void *at, const char *word, struct argp_state *state)
{
    cluster_choice_add(&((struct sim_arguments *)at)->choice, word, state);
}

static void complete(void *at, struct argp_state *state)
{
    struct sim_arguments *arguments = at;
    if (arguments->structures.selections.count == 0) {
        word_list_append(&arguments->structures.selections, DEFAULT_STRUCTURE, state);
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
    cluster_choice_complete(&arguments->choice, state);
    cluster_parameters_default(arguments->parameters);
    if (arguments->calm) {
        cluster_parameters_calm(arguments->parameters);
    }
    if (arguments->measured_path != NULL) {
        if (!measured_file_read(arguments->measured_path, &arguments->measured,
                                &arguments->error)) {
            argp_failure(state, EXIT_USAGE, 0, "%s", arguments->error.text);
        }
        memcpy(arguments->parameters, arguments->measured.parameters, sizeof arguments->parameters);
    }
    if (arguments->timers == 0) {
        arguments->timers =
            arguments->measured.timers > 0 ? arguments->measured.timers : DEFAULT_TIMERS;
    }
    for (size_t i = 0; i < arguments->settings.count; i++) {
        if (!cluster_parameter_set(arguments->parameters, arguments->settings.items[i],
                                   &arguments->error)) {
            argp_failure(state, EXIT_USAGE, 0, "%s", arguments->error.text);
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
    {{"trace", 0, "FILE", 0, "The starts and stops of this trace, in place of made up ones", 0},
     OPTION_TEXT,
     AT(trace)},
    {{"seed", 0, "K", 0, "Same seed, same days (1)", 0}, OPTION_WHOLE(0, INT64_MAX), AT(seed)},
    OPTION_ROW_STRUCTURES(struct sim_arguments, "NAME[:opt=v...],...",
                          "Structures that keep the deadlines and the model's own events "
                          "(" DEFAULT_STRUCTURE "): the results are the same"),
    OPTION_ROW_PLUGIN(struct sim_arguments, OPTION_PLUGIN_TEXT),
    OPTION_ROWS_FORMAT(struct sim_arguments, "table|csv|json"),
    {{"output", 'o', "DIR", 0,
      "Also write sim.csv, sim.json and lateness.csv, the distribution by path", 0},
     OPTION_TEXT,
     AT(out_dir)},
    {{"list", 0, NULL, 0, "Shows the protocols", 0}, OPTION_FLAG, AT(list)},
    OPTION_ROW_PROGRESS,
    OPTION_ROW_END,
};

static const struct command_line syntax = {
    .options = options,
    .form = "[PROTOCOL...]",
    .text =
        "Simulates planners, schedulers, a store, a queue, executors and the user's service, with "
        "crashes, pauses, partitions, clocks that jump, slow stores, lost replies and outages, "
        "until "
        "all timers have come to their end. Says how late they were and by which path they came, "
        "what was called twice and what was lost, and why, what the store had to do, and whether "
        "the "
        "books balance.\v"
        "Exit status: 0 the books balance, 1 they do not, or it could not be run, 2 usage.",
    .take_word = take_word,
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

static void set_count(json_t *row, const char *name, uint64_t value)
{
    (void)json_object_set_new(row, name, json_integer((json_int_t)value));
}

static void set_real(json_t *row, const char *name, double value)
{
    (void)json_object_set_new(row, name, isfinite(value) ? json_real(value) : json_null());
}

static void set_lateness(json_t *row, const char *path, const struct histogram *lateness)
{
    static const struct {
        const char *name;
        double share;
    } quantiles[] = {{"p50", 0.5}, {"p99", 0.99}, {"max", 1}};
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        char name[64];
        double value_us = quantiles[i].share < 1
                              ? (double)histogram_quantile(lateness, quantiles[i].share)
                              : (double)lateness->max;
        (void)snprintf(name, sizeof name, "late_%s%s%s_ms", path, path[0] != '\0' ? "_" : "",
                       quantiles[i].name);
        set_real(row, name, lateness->total > 0 ? value_us / 1e3 : NAN);
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

/* Those of the causes that there were: "crash 3, reply-lost 17". */
static void set_causes(json_t *row, const char *name, const uint64_t counts[CLUSTER_CAUSES])
{
    char text[256] = "";
    for (int cause = 0; cause < CLUSTER_CAUSES; cause++) {
        size_t used = strlen(text);
        if (counts[cause] > 0) {
            (void)snprintf(text + used, sizeof text - used, "%s%s %" PRIu64, used > 0 ? ", " : "",
                           cluster_cause_word((enum cluster_cause)cause), counts[cause]);
        }
    }
    (void)json_object_set_new(row, name, json_string(text));
}

static uint64_t sum_of(const uint64_t counts[CLUSTER_CAUSES])
{
    uint64_t sum = 0;
    for (int cause = 0; cause < CLUSTER_CAUSES; cause++) {
        sum += counts[cause];
    }
    return sum;
}

static json_t *row_of(const struct cluster_protocol *protocol, const struct contender *contender,
                      const struct cluster_outcome *outcome, const char *status)
{
    json_t *row = json_object();
    struct histogram *all = calloc(1, sizeof *all);
    (void)json_object_set_new(row, "protocol", json_string(protocol->name));
    (void)json_object_set_new(row, "algo", json_string(contender->timed->name));
    (void)json_object_set_new(row, "options", json_string(contender->option_text));
    (void)json_object_set_new(row, "status", json_string(status));
    set_count(row, "started", outcome->books.started);
    set_count(row, "fired", outcome->books.fired);
    set_count(row, "stopped", outcome->books.stopped);
    set_count(row, "dead", outcome->books.dead);
    set_count(row, "pending", outcome->books.pending);
    set_count(row, "lost", outcome->books.lost);
    set_causes(row, "lost_by", outcome->lost);
    set_count(row, "early", outcome->early);
    set_count(row, "duplicates", sum_of(outcome->duplicates));
    set_causes(row, "duplicates_by", outcome->duplicates);
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
        set_count(row, word, lateness->total);
        set_lateness(row, word, lateness);
        (void)json_object_set_new(paths, word, curve_of(lateness));
    }
    set_real(row, "queue_mean", outcome->queue_mean);
    set_count(row, "queue_most", outcome->queue_most);
    set_real(row, "wait_mean_ms",
             outcome->waits > 0 ? outcome->wait_s * 1e3 / (double)outcome->waits : NAN);
    set_real(row, "drain_s", outcome->drain_s);
    set_real(row, "halt_drain_s", outcome->halt_drain_s);
    set_real(row, "store_operations_per_fired", per_fired(outcome->store_operations, outcome));
    set_real(row, "syncs_per_fired", per_fired(outcome->syncs, outcome));
    set_count(row, "wasted_looks", outcome->wasted);
    set_count(row, "redelivered", outcome->redelivered);
    set_count(row, "crashes", outcome->crashes);
    set_count(row, "events", outcome->events);
    set_count(row, "most_live", outcome->most_live);
    set_real(row, "bytes_per_live",
             outcome->most_live > 0 ? (double)outcome->bytes_peak / (double)outcome->most_live
                                    : NAN);
    set_real(row, "simulated_s", outcome->seconds);
    (void)json_object_set_new(row, "paths", paths);
    free(all);
    return row;
}

/* What matters most, for people: the rest is in CSV and JSON. */
static void print_table(const json_t *rows, const json_t *context)
{
    static const char *const shown[] = {
        "protocol",       "algo",        "status",
        "started",        "fired",       "stopped",
        "dead",           "lost",        "lost_by",
        "early",          "duplicates",  "duplicates_by",
        "late_p50_ms",    "late_p99_ms", "late_max_ms",
        "queue_most",     "drain_s",     "store_operations_per_fired",
        "syncs_per_fired"};
    json_t *few = json_array();
    size_t i;
    json_t *row = NULL;
    json_array_foreach(rows, i, row)
    {
        json_t *copy = json_object();
        for (size_t k = 0; k < sizeof shown / sizeof shown[0]; k++) {
            (void)json_object_set(copy, shown[k], json_object_get(row, shown[k]));
        }
        (void)json_array_append_new(few, copy);
    }
    cluster_rows_print(few, CLUSTER_TABLE, context);
    json_decref(few);
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

static void show_progress(void *ctx, uint64_t started)
{
    progress_update(ctx, started);
}

/* One protocol, its events in one structure; a row of what came out. */
static bool simulate(struct sim_arguments *arguments, const struct cluster_protocol *protocol,
                     const struct contender *contender, json_t *rows, bool *right)
{
    struct cluster_outcome *outcome = calloc(1, sizeof *outcome);
    struct progress progress;
    const struct cluster_request request = {
        .protocol = protocol,
        .parameters = arguments->parameters,
        .algo = contender->timed,
        .options = contender->options,
        .timers = arguments->timers,
        .seed = arguments->seed,
        .measured = arguments->measured_path != NULL ? arguments->measured.steps : NULL,
        .trace = arguments->trace,
        .progress = show_progress,
        .progress_ctx = &progress};
    if (outcome == NULL) {
        return error_set(&arguments->error, "out of memory");
    }
    progress_begin(&progress, protocol->name, "timers",
                   arguments->trace == NULL ? arguments->timers : 0);
    foreign_enter(60, "%s, while it kept a model's events", contender->timed->name);
    uint64_t begun_ns = clock_processor_ns();
    bool done = cluster_simulate(&request, outcome, &arguments->error);
    double took_s = (double)(clock_processor_ns() - begun_ns) / 1e9;
    foreign_leave();
    progress_end(&progress);
    if (done) {
        struct error why;
        bool balanced = cluster_books_balance(&outcome->books, &why);
        (void)json_array_append_new(
            rows, row_of(protocol, contender, outcome, balanced ? "ok" : why.text));
        *right = *right && balanced;
        (void)fprintf(stderr, "%s, %s: %" PRIu64 " events, %.1f s, %.3g events/s\n", protocol->name,
                      contender->timed->name, outcome->events, took_s,
                      (double)outcome->events / took_s);
    }
    free(outcome);
    return done;
}

static int run(void *at, int argc, char **argv)
{
    struct sim_arguments *arguments = at;
    struct error *error = &arguments->error;
    struct outfolder folder = {0};
    bool right = true;
    if (arguments->list || arguments->list_parameters) {
        if (arguments->list) {
            cluster_choice_list(stdout);
        } else {
            list_parameters(stdout);
        }
        return EXIT_OK;
    }
    json_t *rows = json_array();
    bool done = arguments->out_dir == NULL || outfolder_open(&folder, arguments->out_dir, error);
    for (size_t i = 0; done && i < arguments->choice.count; i++) {
        for (size_t k = 0; done && k < arguments->structures.contenders.count; k++) {
            done = simulate(arguments, arguments->choice.items[i],
                            &arguments->structures.contenders.items[k], rows, &right);
        }
    }
    json_t *context = context_json(argc, argv);
    json_t *held =
        done && arguments->measured_path != NULL ? hold_against(&arguments->measured, rows) : NULL;
    if (done && held != NULL && arguments->out_dir != NULL) {
        done = outfolder_write(&folder, "held.csv", write_held, held, error);
    }
    if (done && arguments->out_dir != NULL) {
        done = outfolder_write(&folder, "lateness.csv", write_lateness, rows, error) &&
               cluster_rows_keep(rows, context, "sim", &folder, kinds, error);
    }
    if (!done) {
        outfolder_abort(&folder);
        command_complain(error);
    } else if (arguments->format == CLUSTER_TABLE) {
        print_table(rows, context);
        if (held != NULL) {
            (void)putchar('\n');
            cluster_rows_print(held, CLUSTER_TABLE, context);
        }
    } else {
        cluster_rows_print(rows, arguments->format, context);
    }
    json_decref(held);
    json_decref(context);
    json_decref(rows);
    return done && right ? EXIT_OK : EXIT_FAULT;
}

int command_cluster_sim(int argc, char **argv)
{
    struct sim_arguments arguments = {.seed = 1};
    int status =
        command_structures_run(&syntax, argc, argv, &arguments, &arguments.structures, run);
    free((void *)arguments.choice.items);
    free((void *)arguments.settings.items);
    json_decref(arguments.measured.whole);
    return status;
}
