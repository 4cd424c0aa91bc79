/* A structure's figures as a row of the results. */
#include "simulate_job.h"

#include "memory.h"
#include "statistics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void read_percentiles(const struct histogram *ns, uint64_t percentiles[LATENCY_PERCENTILES])
{
    static const double shares[LATENCY_PERCENTILES - 1] = {0.5, 0.9, 0.99, 0.999, 0.9999};
    for (int p = 0; p < LATENCY_PERCENTILES - 1; p++) {
        percentiles[p] = histogram_quantile(ns, shares[p]);
    }
    percentiles[LATENCY_PERCENTILES - 1] = ns->max;
}

static void fill_latency(struct row *row, const struct entrant *entrant)
{
    for (int op = 0; op < LATENCY_OPS; op++) {
        const struct histogram *ns = &entrant->latency->latency_ns[op];
        if (ns->total == 0) {
            continue;
        }
        uint64_t percentiles[LATENCY_PERCENTILES];
        read_percentiles(ns, percentiles);
        for (int p = 0; p < LATENCY_PERCENTILES; p++) {
            int place = op * LATENCY_PERCENTILES + p;
            enum column column = (enum column)(COL_START_P50 + place);
            row_set_integer(row, column, percentiles[p]);
            row_set_samples(row, column, entrant->latency_ns[place], entrant->latency_count);
        }
    }
    const double *stall_ns = entrant->latency_ns[COL_ADVANCE_MAX - COL_START_P50];
    row_set_integer(row, COL_STALL, (uint64_t)stats_median(stall_ns, entrant->latency_count));
    row_set_samples(row, COL_STALL, stall_ns, entrant->latency_count);
}

/* The speed and its spread, and the floor in the same rounds. */
static void fill_speed(struct row *row, const struct entrant *entrant, const struct entrant *floor)
{
    double ns = stats_median(entrant->ns_per_event, entrant->ns_count);
    row_set_real(row, COL_NS_PER_EVENT, ns);
    row_set_real(row, COL_NS_PER_EVENT_MAD, stats_mad(entrant->ns_per_event, entrant->ns_count));
    row_set_real(row, COL_EVENTS_PER_S, 1e9 / ns);
    row_set_integer(row, COL_RUNS, entrant->ns_count);
    row_set_samples(row, COL_NS_PER_EVENT, entrant->ns_per_event, entrant->ns_count);
    row_set_real(row, COL_WALL_NS, stats_median(entrant->wall_ns_per_event, entrant->ns_count));
    row_set_samples(row, COL_WALL_NS, entrant->wall_ns_per_event, entrant->ns_count);
    if (floor != NULL) {
        row_set_real(row, COL_FLOOR_NS, stats_median(floor->ns_per_event, floor->ns_count));
        row_set_samples(row, COL_FLOOR_NS, floor->ns_per_event, floor->ns_count);
    }
}

static void fill_verdict(struct row *row, const struct replay_result *check)
{
    const struct verdict *verdict = &check->verdict;
    const struct {
        enum column column;
        uint64_t value;
    } counts[] = {
        {COL_EVENTS, verdict->events},
        {COL_STARTS, verdict->starts},
        {COL_RESTARTS, verdict->restarts},
        {COL_STOPS, verdict->stops},
        {COL_REACTIONS, check->reactions},
        {COL_NOT_REACHED, check->not_reached},
        {COL_FIRED, verdict->fired},
        {COL_DRAINED, verdict->drained},
        {COL_AVERTED, verdict->averted},
        {COL_DECLARED_EARLY, verdict->declared.early_ticks},
        {COL_DECLARED_LATE, verdict->declared.late_ticks},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        row_set_integer(row, counts[i].column, counts[i].value);
    }
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++) {
        enum column column = fault_column((enum fault_kind)kind);
        if (column != FAULT_NO_COLUMN) {
            row_set_integer(row, column, verdict->faults[kind]);
        }
    }
    if (verdict->early_ticks.total + verdict->late_ticks.total > 0) {
        row_set_signed(row, COL_LATENESS_MIN, verdict->lateness_min);
        row_set_signed(row, COL_LATENESS_P50, verdict_lateness_quantile(verdict, 0.5));
        row_set_signed(row, COL_LATENESS_P99, verdict_lateness_quantile(verdict, 0.99));
        row_set_signed(row, COL_LATENESS_MAX, verdict->lateness_max);
    }
}

static void fill_work(struct row *row, const struct entrant *entrant)
{
    const struct replay_result *check = entrant->check;
    row->window_events = check->window_events;
    row->window_fired = check->window_fired;
    row_set_integer(row, COL_WINDOW_EVENTS, check->window_events);
    row_set_integer(row, COL_WINDOW_FIRED, check->window_fired);
    row_set_integer(row, COL_WAKEUPS, check->wakeups);
    row_set_integer(row, COL_IDLE_WAKEUPS, check->idle_wakeups);
    if (check->window_fired > 0) {
        row_set_real(row, COL_WAKEUPS_PER_FIRED,
                     (double)check->wakeups / (double)check->window_fired);
    }
    row_set_integer(row, COL_BYTES_FIXED, check->bytes_fixed);
    row_set_integer(row, COL_BYTES_PEAK, check->bytes_peak);
    row_set_integer(row, COL_BYTES_DRAINED, check->bytes_drained);
    if (check->ids > 0) {
        row_set_real(row, COL_BYTES_PER_TIMER,
                     ((double)check->bytes_peak - (double)check->bytes_fixed) / (double)check->ids);
    }
    if (check->counts) {
        row_set_integer(row, COL_N_COMPARES, check->counters.compares);
        row_set_integer(row, COL_N_MOVES, check->counters.moves);
        row_set_integer(row, COL_N_SLOTS, check->counters.slots);
        row_set_integer(row, COL_N_CASCADES, check->counters.cascades);
    }
    row_set_integer(row, COL_N_ALLOCS, check->allocations);
}

/* Columns of durable structures. */
static void fill_durable(struct row *row, const struct entrant *entrant)
{
    const struct replay_result *check = entrant->check;
    row_set_integer(row, COL_BYTES_DURABLE, check->bytes_durable);
    row_set_integer(row, COL_ACKNOWLEDGED_MAX, check->acknowledged_max_ticks);
    if (check->window_fired > 0) {
        row_set_real(row, COL_SYNCS_PER_FIRED, (double)check->syncs / (double)check->window_fired);
    }
    if (entrant->right && entrant->recovered > 0) {
        row_set_real(row, COL_RECOVERY,
                     (double)entrant->recovery_ns / 1e3 / (double)entrant->recovered);
    }
}

void add_result_row(struct job *job, const struct entrant *entrant,
                    const struct trace_header *header, const struct entrant *floor)
{
    struct row *row = results_add(&job->simulation->results);
    (void)snprintf(row->trace_checksum, sizeof row->trace_checksum, "%s", job->trace_checksum);
    row->capabilities = entrant->timed->capabilities;
    row_set_text(row, COL_TRACE, job->trace_name);
    row_set_text(row, COL_ALGO, entrant->timed->name);
    row_set_text(row, COL_OPTIONS, entrant->contender->option_text);
    row_set_text(row, COL_STATUS, entrant->status);
    row_set_integer(row, COL_EVENTS, header->events);
    const struct simulate_ranks *ranks = job->request->ranks;
    row_set_integer(row, COL_RANKS, ranks != NULL ? ranks->ranks : 1);
    if (!entrant->right) {
        row_set_text(row, COL_REASON, entrant->reason);
    }
    bool ended =
        entrant->check != NULL && (entrant->right || strcmp(entrant->status, "fault") == 0);
    if (ended && entrant->judged) {
        fill_verdict(row, entrant->check);
    }
    if (ended) {
        fill_work(row, entrant);
    }
    if (ended && replay_is_durable(entrant->timed)) {
        fill_durable(row, entrant);
    }
    if (entrant->right && entrant->ns_count > 0) {
        fill_speed(row, entrant, floor);
        row_set_text(row, COL_TIMES, ranks != NULL && ranks->in_turn ? "projected" : "measured");
    }
    if (entrant->right && entrant->latency != NULL) {
        fill_latency(row, entrant);
    }
}
