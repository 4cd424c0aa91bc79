/* timerlab cluster sim: simulate days of a cluster as discrete events. */
#include "clock.h"
#include "cluster_rows.h"
#include "command.h"
#include "memory.h"
#include "progress.h"
#include "registry.h"
#include "simulate_cluster.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct sim_arguments {
    struct cluster_arguments common;
    double parameters[CLUSTER_PARAMETERS];
    struct word_list settings;
    uint64_t timers;
    uint64_t seed;
    bool calm;
    bool list_parameters;
};

/* --- the command line ------------------------------------------------------------------------ */

static void complete(void *at, struct argp_state *state)
{
    struct sim_arguments *arguments = at;
    cluster_take_all(&arguments->common, state);
    cluster_parameters_default(arguments->parameters);
    if (arguments->calm) {
        cluster_parameters_calm(arguments->parameters);
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
    {{"parameter", 'p', "NAME=VALUE", 0, "Set one of the parameters; may be repeated", 0},
     OPTION_LIST,
     AT(settings)},
    {{"parameters", 0, NULL, 0, "Show them", 0}, OPTION_FLAG, AT(list_parameters)},
    {{"calm", 0, NULL, 0, "No faults except those that -p sets", 0}, OPTION_FLAG, AT(calm)},
    {{"seed", 0, "K", 0, "Seed of the random numbers: same seed, same days (1)", 0},
     OPTION_WHOLE(0, INT64_MAX),
     AT(seed)},
    CLUSTER_OPTION_ROWS("sim.csv, sim.json and lateness.csv, the distribution by path"),
};

static const struct command_line syntax = {
    .options = options,
    .form = "[PROTOCOL...]",
    .text = "Simulates planners, schedulers, a store, a queue, executors and the user's service, "
            "with crashes, pauses, partitions, clocks that jump, slow stores, lost replies and "
            "outages, until every timer has fired, is stopped or is lost. Reports lateness, the "
            "path of the timers, second calls and lost timers with their causes, the load of the "
            "store, and whether the books balance.\vExit status: 0 the books balance, 1 they do "
            "not, or it could not be run, 2 usage.",
    .take_word = cluster_take_word,
    .complete = complete,
};

static bool list_parameters(const void *at)
{
    const struct sim_arguments *arguments = at;
    for (const struct tl_option *row = cluster_parameters;
         arguments->list_parameters && row->name != NULL; row++) {
        (void)printf("%-20s %-10g %g to %g: %s\n", row->name, row->default_value, row->min,
                     row->max, row->help);
    }
    return arguments->list_parameters;
}

/* --- rows ------------------------------------------------------------------------------------ */

static void set_lateness(struct cluster_table *row, const char *path,
                         const struct histogram *lateness)
{
    static const double shares[] = {0.5, 0.99, 1};
    static const char *const names[] = {"p50", "p99", "max"};
    for (size_t i = 0; i < 3; i++) {
        char name[64];
        double value_us =
            shares[i] < 1 ? (double)histogram_quantile(lateness, shares[i]) : (double)lateness->max;
        (void)snprintf(name, sizeof name, "late_%s%s%s_ms", path, path[0] != '\0' ? "_" : "",
                       names[i]);
        cluster_row_real(row, lateness->total > 0 ? value_us / 1e3 : NAN, name);
    }
}

enum { CURVE_PROTOCOL, CURVE_PATH, CURVE_SHARE, CURVE_LATE_MS };

/* The rows of lateness.csv: the distributions by path. */
static const struct column_info curve_columns[] = {
    [CURVE_PROTOCOL] = {.name = "protocol", .digits = TEXT},
    [CURVE_PATH] = {.name = "path", .digits = TEXT},
    [CURVE_SHARE] = {.name = "share", .digits = SIGNIFICANT(9)},
    [CURVE_LATE_MS] = {.name = "late_ms", .digits = SIGNIFICANT(9)}};
static const struct row_kind curve_kind = {.columns = curve_columns,
                                           .count = sizeof curve_columns / sizeof curve_columns[0]};

static void add_curve(struct results *curves, const char *protocol, const char *path,
                      const struct histogram *lateness)
{
    static const double shares[] = {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1};
    for (size_t i = 0; lateness->total > 0 && i < sizeof shares / sizeof shares[0]; i++) {
        struct row *row = results_add(curves);
        row_set_text(row, CURVE_PROTOCOL, protocol);
        row_set_text(row, CURVE_PATH, path);
        row_set_real(row, CURVE_SHARE, shares[i]);
        row_set_real(row, CURVE_LATE_MS, (double)histogram_quantile(lateness, shares[i]) / 1e3);
    }
}

static double per_fired(uint64_t count, const struct cluster_outcome *outcome)
{
    return outcome->books.fired > 0 ? (double)count / (double)outcome->books.fired : NAN;
}

static void add_row(struct cluster_table *row, const struct cluster_protocol *protocol,
                    const struct cluster_outcome *outcome, const char *status,
                    struct results *curves)
{
    cluster_row_begin(row);
    cluster_row_text(row, protocol->name, "protocol");
    cluster_row_text(row, status, "status");
    struct histogram *all = memory_new(1, sizeof *all);
    cluster_row_count(row, outcome->books.started, "started");
    cluster_row_count(row, outcome->books.fired, "fired");
    cluster_row_count(row, outcome->books.stopped, "stopped");
    cluster_row_count(row, outcome->books.dead, "dead");
    cluster_row_count(row, outcome->books.pending, "pending");
    cluster_row_count(row, outcome->books.lost, "lost");
    cluster_row_causes(row, outcome->lost, "lost_by");
    cluster_row_count(row, outcome->early, "early");
    cluster_row_count(row, cluster_causes_sum(outcome->duplicates), "duplicates");
    cluster_row_causes(row, outcome->duplicates, "duplicates_by");
    for (int path = 0; path < CLUSTER_PATHS; path++) {
        histogram_merge(all, &outcome->lateness_us[path]);
    }
    set_lateness(row, "", all);
    for (int path = 0; path < CLUSTER_PATHS; path++) {
        const char *word = cluster_path_names[path];
        const struct histogram *lateness = &outcome->lateness_us[path];
        cluster_row_count(row, lateness->total, word);
        set_lateness(row, word, lateness);
        add_curve(curves, protocol->name, word, lateness);
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
    free(all);
}

/* The columns of the table for people: CSV and JSON have all. */
static void add_short_row(struct cluster_work *work)
{
    static const char *const shown[] = {"protocol",
                                        "status",
                                        "started",
                                        "fired",
                                        "stopped",
                                        "dead",
                                        "lost",
                                        "lost_by",
                                        "early",
                                        "duplicates",
                                        "duplicates_by",
                                        "late_p50_ms",
                                        "late_p99_ms",
                                        "late_max_ms",
                                        "queue_most",
                                        "drain_s",
                                        "store_operations_per_fired",
                                        "syncs_per_fired"};
    cluster_row_begin(&work->shown);
    cluster_row_copy(&work->shown, &work->rows, shown, sizeof shown / sizeof shown[0]);
}

/* --- running ---------------------------------------------------------------------------------- */

static bool simulate(void *at, const struct cluster_protocol *protocol, struct cluster_work *work)
{
    struct sim_arguments *arguments = at;
    const struct tl_entry *entry = tl_registry_find("radix-heap");
    const struct tl_algo *algo = tl_entry_for_records(entry);
    TL_OPTION_VALUES(values);
    struct cluster_outcome *outcome = memory_new(1, sizeof *outcome);
    struct progress progress;
    struct error why;
    algo = algo != NULL ? algo : entry->timed;
    tl_options_default(algo, values);
    const struct cluster_request request = {.protocol = protocol,
                                            .parameters = arguments->parameters,
                                            .algo = algo,
                                            .options = values,
                                            .timers = arguments->timers,
                                            .seed = arguments->seed,
                                            .progress = progress_follow,
                                            .progress_ctx = &progress};
    progress_begin(&progress, protocol->name, "timers", arguments->timers);
    uint64_t begun_ns = clock_processor_ns();
    bool done = cluster_simulate(&request, outcome, &arguments->common.error);
    double took_s = (double)(clock_processor_ns() - begun_ns) / 1e9;
    progress_end(&progress);
    if (done) {
        bool balanced = cluster_books_balance(&outcome->books, &why);
        add_row(&work->rows, protocol, outcome, balanced ? "ok" : why.text, &work->more);
        add_short_row(work);
        work->right = work->right && balanced;
        (void)fprintf(stderr, "%s: %" PRIu64 " events, %.1f s, %.3g events/s\n", protocol->name,
                      outcome->events, took_s, (double)outcome->events / took_s);
    }
    free(outcome);
    return done;
}

static const struct cluster_command command = {
    .line = &syntax,
    .name = "sim",
    .more_name = "lateness.csv",
    .more_kind = &curve_kind,
    .list = list_parameters,
    .run = simulate,
};

int command_cluster_sim(int argc, char **argv)
{
    struct sim_arguments arguments = {.seed = 1, .timers = 100000};
    int status = cluster_command_run(&command, argc, argv, &arguments);
    free((void *)arguments.settings.items);
    return status;
}
