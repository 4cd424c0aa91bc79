/* The results of a simulation: a structure's figures as a row, and the traces. */
#include "simulate_job.h"

#include "json_text.h"
#include "memory.h"
#include "standard_files.h"
#include "standard_streams.h"
#include "statistics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void read_percentiles(const struct histogram *ns, uint64_t percentiles[LATENCY_PERCENTILES])
{
    static const double shares[LATENCY_PERCENTILES - 1] = {0.5, 0.9, 0.99, 0.999, 0.9999};
    for (int p = 0; p < LATENCY_PERCENTILES - 1; p++) {
        percentiles[p] = histogram_quantile(ns, shares[p]);
    }
    percentiles[LATENCY_PERCENTILES - 1] = ns->max;
}

static void fill_latency(struct row *row, const struct job *job, const struct entrant *entrant)
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
            row_set_samples(row, column, samples_of(job, entrant, SAMPLE_LATENCY + (unsigned)place),
                            entrant->latency_runs);
        }
    }
    const double *stall_ns =
        samples_of(job, entrant, SAMPLE_LATENCY + COL_ADVANCE_MAX - COL_START_P50);
    row_set_integer(row, COL_STALL, (uint64_t)stats_median(stall_ns, entrant->latency_runs));
    row_set_samples(row, COL_STALL, stall_ns, entrant->latency_runs);
}

/* Set a column to a sample's median. */
static void fill_median(struct row *row, enum column column, const double *samples, unsigned runs)
{
    row_set_real(row, column, stats_median(samples, runs));
    row_set_samples(row, column, samples, runs);
}

/* The speed and its spread, and the floor in the same rounds. */
static void fill_speed(struct row *row, const struct job *job, const struct entrant *entrant,
                       const struct entrant *floor)
{
    const double *ns = samples_of(job, entrant, SAMPLE_NS);
    unsigned runs = entrant->runs;
    fill_median(row, COL_NS_PER_EVENT, ns, runs);
    row_set_real(row, COL_NS_PER_EVENT_MAD, stats_mad(ns, runs));
    row_set_real(row, COL_EVENTS_PER_S, 1e9 / stats_median(ns, runs));
    row_set_integer(row, COL_RUNS, runs);
    fill_median(row, COL_WALL_NS, samples_of(job, entrant, SAMPLE_WALL_NS), runs);
    if (floor != NULL) {
        fill_median(row, COL_FLOOR_NS, samples_of(job, floor, SAMPLE_NS), floor->runs);
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

static void fill_work(struct row *row, const struct replay_result *check)
{
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

void add_result_row(const struct job *job, const struct entrant *entrant,
                    const struct entrant *floor)
{
    struct row *row = results_add(&job->simulation->results);
    const struct trace_row *trace = job->trace;
    const struct simulate_ranks *ranks = job->request->ranks;
    memcpy(row->trace_checksum, trace->checksum, sizeof trace->checksum);
    row->capabilities = entrant->timed->capabilities;
    row_set_text(row, COL_TRACE, trace->name);
    row_set_text(row, COL_ALGO, entrant->timed->name);
    row_set_text(row, COL_OPTIONS, entrant->contender->option_text);
    row_set_text(row, COL_STATUS, entrant->status);
    row_set_integer(row, COL_EVENTS, trace->header.events);
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
        fill_work(row, entrant->check);
    }
    if (ended && replay_is_durable(entrant->timed)) {
        fill_durable(row, entrant);
    }
    if (entrant->right && entrant->runs > 0) {
        fill_speed(row, job, entrant, floor);
        row_set_text(row, COL_TIMES, ranks != NULL && ranks->in_turn ? "projected" : "measured");
    }
    if (entrant->right && entrant->latency != NULL) {
        fill_latency(row, job, entrant);
    }
}

/* --- the other results ------------------------------------------------------------------------ */

const char *contender_name(const struct contender *contender)
{
    return contender != NULL ? contender->timed->name : "null";
}

const char *contender_options(const struct contender *contender)
{
    return contender != NULL ? contender->option_text : "";
}

const struct work_series *entrant_work(const struct entrant *entrant)
{
    const struct replay_result *check = entrant->check;
    bool counts = entrant->right && entrant->judged && entrant->contender != NULL &&
                  check->counts && check->work.count > 0;
    return counts ? &check->work : NULL;
}

const struct fault *simulation_next_fault(const struct simulation *simulation, size_t *at,
                                          const struct entrant **entrant)
{
    while (*at < simulation->entrant_count * ORACLE_FAULTS_KEPT) {
        const struct entrant *one = &simulation->entrants[*at / ORACLE_FAULTS_KEPT];
        size_t number = (*at)++ % ORACLE_FAULTS_KEPT;
        if (one->judged && one->check != NULL && number < one->check->verdict.fault_count) {
            *entrant = one;
            return &one->check->verdict.first[number];
        }
    }
    return NULL;
}

void simulation_free(struct simulation *simulation)
{
    results_free(&simulation->results);
    for (size_t i = 0; i < simulation->entrant_count; i++) {
        free(simulation->entrants[i].samples);
        free(simulation->entrants[i].by_rank);
    }
    for (size_t i = 0; i < simulation->trace_count; i++) {
        free(simulation->traces[i].name);
        free(simulation->traces[i].path);
        child_memory_free(simulation->traces[i].found, simulation->traces[i].found_bytes);
    }
    free(simulation->traces);
    free(simulation->entrants);
    *simulation = (struct simulation){0};
}

/* --- traces ----------------------------------------------------------------------------------- */

/* Return the length of the timed window in the trace's time, in seconds. */
static double window_seconds(const struct replay_window *window, const struct trace_header *header)
{
    uint64_t from = header->warmup_end_tick;
    uint64_t to = header->end_tick;
    if (window->asked) {
        from = window->from_tick;
        to = window->to_tick < to ? window->to_tick + 1 : to;
    }
    return to > from ? (double)(to - from) * (double)header->tick_ns / 1e9 : 0;
}

void add_trace(struct job *job, const struct trace_header *header, uint64_t checksum)
{
    const struct simulate_request *request = job->request;
    struct simulation *simulation = job->simulation;
    job->trace = &simulation->traces[simulation->trace_count++];
    *job->trace =
        (struct trace_row){.name = trace_label(request->traces, request->trace_count, job->number),
                           .path = memory_copy(request->traces[job->number]),
                           .header = *header,
                           .window_seconds = window_seconds(&request->window, header)};
    job->trace->header.origin = NULL;
    (void)snprintf(job->trace->checksum, sizeof job->trace->checksum, "%016" PRIx64, checksum);
}

void simulation_describe_traces(const struct simulation *simulation, json_t *context)
{
    json_t *traces = json_array();
    for (size_t i = 0; i < simulation->trace_count; i++) {
        const struct trace_row *row = &simulation->traces[i];
        const struct trace_header *header = &row->header;
        (void)json_array_append_new(
            traces,
            json_pack("{s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:b, s:f}", "name", row->name, "path",
                      json_text(row->path), "checksum", row->checksum, "tick_ns",
                      (json_int_t)header->tick_ns, "events", (json_int_t)header->events, "timers",
                      (json_int_t)header->ids, "reactions", (json_int_t)header->reactions,
                      "open_loop", !header->causes_known, "window_seconds", row->window_seconds));
    }
    (void)json_object_set_new(context, "traces", traces);
}

/* --- their names ------------------------------------------------------------------------------ */

bool trace_labels_check(const char *const *paths, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct stat one = {0};
        for (size_t k = 0; k < i; k++) {
            struct stat other = {0};
            bool same = stat(paths[i], &one) == 0 && stat(paths[k], &other) == 0 &&
                        one.st_dev == other.st_dev && one.st_ino == other.st_ino;
            if (same || (is_standard_stream(paths[i]) && is_standard_stream(paths[k]))) {
                return error_set(error, "%s is named twice%s%s; name it once", paths[i],
                                 strcmp(paths[i], paths[k]) == 0 ? "" : ", the other time as ",
                                 strcmp(paths[i], paths[k]) == 0 ? "" : paths[k]);
            }
        }
    }
    return true;
}

/* Return the end of the path with `folders` of its folders, or all of it. */
static const char *tail(const char *path, size_t folders)
{
    const char *at = path + strlen(path);
    for (size_t slashes = 0; at > path && (at[-1] != '/' || slashes++ < folders);) {
        at--;
    }
    return at;
}

/* Return the bytes of the UTF-8 character at `at` if it is harmless everywhere, otherwise 0. */
static size_t plain_bytes(const char *at)
{
    return strchr("%\\<>\"'`|*?", *at) != NULL ? 0 : standard_files_plain(at);
}

/* Copy a text, replacing `/` by `:`, and bytes that are not text or have a meaning in a terminal, a
 * shell, a page or a table by %XX. */
static char *as_label(const char *text)
{
    char *label = memory_bytes(3 * strlen(text) + 1);
    char *to = label;
    for (const char *at = text; *at != '\0';) {
        size_t bytes = plain_bytes(at);
        if (bytes == 0 || (at == text && *at == '-')) {
            to += sprintf(to, "%%%02X", (unsigned)(unsigned char)*at++);
        } else if (*at == '/') {
            *to++ = ':';
            at++;
        } else {
            memcpy(to, at, bytes);
            to += bytes;
            at += bytes;
        }
    }
    *to = '\0';
    return label;
}

char *trace_label(const char *const *paths, size_t count, size_t index)
{
    size_t folders = 0;
    if (is_standard_stream(paths[index])) {
        return memory_copy("standard-input");
    }
    for (size_t i = 0; i < count; i++) {
        while (i != index && tail(paths[index], folders) != paths[index] &&
               strcmp(tail(paths[i], folders), tail(paths[index], folders)) == 0) {
            folders++;
        }
    }
    return as_label(tail(paths[index], folders));
}
