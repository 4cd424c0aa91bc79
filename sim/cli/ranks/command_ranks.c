/* Of `sim`: ranks, and the traffic that they generate. */
#include "command_ranks.h"

#include "command.h"
#include "gen.h"
#include "rank_group.h"
#include "results.h"
#include "text_table.h"

#include <inttypes.h>

#define DEFAULT_CONNECTIONS       10000
#define DEFAULT_SLICE_CONNECTIONS 65536
#define DEFAULT_SECONDS           10
#define DEFAULT_SEED              1

/* With more ranks than this, only the worst and the mean are listed. */
#define RANKS_LISTED_MAX          16u

bool command_ranks_wanted(const struct command_ranks *ranks)
{
    return ranks->post != NULL || ranks->in_turn > 0;
}

static void complete_traffic(struct command_ranks *ranks, struct argp_state *state)
{
    struct partition_traffic *traffic = &ranks->traffic;
    struct error error;
    traffic->workload = gen_find(ranks->workload, &error);
    if (traffic->workload == NULL || !gen_parameters_set(traffic->workload, traffic->parameters,
                                                         (const char *const *)ranks->settings.items,
                                                         ranks->settings.count, &error)) {
        argp_error(state, "%s", error.text);
        return;
    }
    traffic->connections = ranks->connections > 0 ? ranks->connections : DEFAULT_CONNECTIONS;
    traffic->slice_connections =
        ranks->slice_connections > 0 ? ranks->slice_connections : DEFAULT_SLICE_CONNECTIONS;
    traffic->seconds = ranks->seconds > 0 ? ranks->seconds : DEFAULT_SECONDS;
    traffic->seed = ranks->seed != UINT64_MAX ? ranks->seed : DEFAULT_SEED;
    (void)snprintf(ranks->label, sizeof ranks->label, "%s-%" PRIu32, traffic->workload->name,
                   traffic->connections);
    ranks->labels[0] = ranks->label;
}

void command_ranks_complete(struct command_ranks *ranks, size_t traces, struct argp_state *state)
{
    if (ranks->post != NULL && ranks->in_turn > 0) {
        argp_error(state, "--ranks-in-turn needs no mpirun: the ranks are there already");
    }
    if (ranks->workload != NULL) {
        if (traces > 0) {
            argp_error(state, "traces, or --gen; not both");
        }
        complete_traffic(ranks, state);
    } else if (ranks->connections > 0 || ranks->slice_connections > 0 || ranks->seconds > 0 ||
               ranks->seed != UINT64_MAX || ranks->settings.count > 0) {
        argp_error(state, "-n, --slice, --seconds, --seed and -p are of --gen WORKLOAD");
    }
    if (ranks->post == NULL && ranks->workload != NULL && ranks->in_turn == 0) {
        ranks->in_turn = 1;
    }
}

/* --- figures of each rank --------------------------------------------------------------------- */

void command_ranks_write_csv(const void *ctx, FILE *stream)
{
    const struct simulation *simulation = ctx;
    struct row row = {0};
    row_kind_write_header(&rank_kind, stream);
    for (size_t i = 0; i < simulation->entrant_count; i++) {
        const struct entrant *entrant = &simulation->entrants[i];
        row_set_key(&row, entrant->trace->name, contender_name(entrant->contender),
                    contender_options(entrant->contender));
        for (uint32_t rank = 0; entrant->check != NULL && rank < simulation->ranks; rank++) {
            const struct rank_figures *figures = &entrant->by_rank[rank];
            row_set_integer(&row, RANK_RANK, rank);
            row_set_text(&row, RANK_HOST, figures->host);
            row_set_integer(&row, RANK_TIMERS, figures->timers);
            row_set_integer(&row, RANK_EVENTS, figures->events);
            row_set_integer(&row, RANK_FIRED, figures->fired);
            row_set_integer(&row, RANK_BYTES_PEAK, figures->bytes_peak);
            row_set_integer(&row, RANK_WINDOW_EVENTS, figures->window_events);
            row_set_integer(&row, RANK_WINDOW_NS, figures->window_ns);
            row_set_real(&row, RANK_NS,
                         (double)figures->window_ns / (double)figures->window_events);
            row_write_csv(&rank_kind, &row, stream);
        }
    }
    row_clear(&row);
}

enum { FIGURES = 5 };

static void read_figures(const struct rank_figures *figures, double values[FIGURES])
{
    values[0] = figures->timers;
    values[1] = (double)figures->events;
    values[2] = (double)figures->fired;
    values[3] = (double)figures->bytes_peak;
    values[4] = (double)figures->window_ns / 1e6;
}

/* The rows of one structure on one trace; in the last one the largest figure against the mean. */
static void add_structure(struct text_table *table, const struct entrant *entrant, uint32_t count)
{
    const struct contender *contender = entrant->contender;
    double sums[FIGURES] = {0};
    double largest[FIGURES] = {0};
    for (uint32_t i = 0; i < count; i++) {
        double values[FIGURES];
        read_figures(&entrant->by_rank[i], values);
        for (unsigned f = 0; f < FIGURES; f++) {
            sums[f] += values[f];
            largest[f] = values[f] > largest[f] ? values[f] : largest[f];
        }
        if (count > RANKS_LISTED_MAX) {
            continue;
        }
        text_table_add(table, "%s", contender_name(contender));
        text_table_add(table, "%s", contender_options(contender));
        text_table_add(table, "%" PRIu32, i);
        for (unsigned f = 0; f < FIGURES; f++) {
            text_table_add(table, f == FIGURES - 1 ? "%.3f" : "%.0f", values[f]);
        }
    }
    text_table_add(table, "%s", contender_name(contender));
    text_table_add(table, "%s", contender_options(contender));
    text_table_add(table, "max/mean");
    for (unsigned f = 0; f < FIGURES; f++) {
        text_table_add(table, sums[f] > 0 ? "%.3f" : "-", largest[f] * count / sums[f]);
    }
}

void command_ranks_write_table(const struct simulation *simulation, FILE *stream)
{
    static const char *const heads[] = {"algo",   "options", "rank",       "timers",
                                        "events", "fired",   "bytes_peak", "window_ms"};
    enum { COLUMNS_SHOWN = sizeof heads / sizeof heads[0] };
    for (size_t i = 0; simulation->ranks > 0 && i < simulation->entrant_count;) {
        const struct trace_row *trace = simulation->entrants[i].trace;
        struct text_table table = {.columns = COLUMNS_SHOWN};
        for (size_t c = 0; c < COLUMNS_SHOWN; c++) {
            table.right[c] = c >= 2;
            text_table_add(&table, "%s", heads[c]);
        }
        (void)fprintf(stream, "\n%s, by rank: window_ms is the time of all runs\n", trace->name);
        for (; i < simulation->entrant_count && simulation->entrants[i].trace == trace; i++) {
            if (simulation->entrants[i].check != NULL) {
                add_structure(&table, &simulation->entrants[i], simulation->ranks);
            }
        }
        text_table_write(&table, stream);
        text_table_free(&table);
    }
}

void command_ranks_describe(const struct command_ranks *ranks, const struct simulate_ranks *they,
                            json_t *context)
{
    (void)json_object_set_new(
        context, "ranks",
        json_pack("{s:I, s:b}", "count", (json_int_t)they->ranks, "in_turn", they->in_turn));
    if (ranks->workload != NULL) {
        const struct partition_traffic *traffic = &ranks->traffic;
        (void)json_object_set_new(context, "generated",
                                  json_pack("{s:s, s:I, s:I, s:f, s:I}", "workload",
                                            traffic->workload->name, "connections",
                                            (json_int_t)traffic->connections, "slices",
                                            (json_int_t)partition_slices(traffic), "seconds",
                                            traffic->seconds, "seed", (json_int_t)traffic->seed));
    }
}
