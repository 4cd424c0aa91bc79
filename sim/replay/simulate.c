#include "simulate.h"

#include "child.h"
#include "progress.h"
#include "statistics.h"
#include "trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* The process's own needs beside what the structure may use: the oracle, the trace, the program. */
#define PROCESS_OVERHEAD_BYTES (UINT64_C(2) << 30)

/* The columns of latencies follow one another, from COL_START_P50 on. */
#define LATENCY_COLUMNS        (LATENCY_OPS * LATENCY_PERCENTILES)

/* What is known of one structure on one trace. */
struct subject {
    const struct contender *contender; /* NULL: the floor */
    const struct tl_algo *timed;
    const struct tl_algo *counted;
    const int64_t *options;
    bool judged; /* fires timers, so the oracle has a say */
    bool right;  /* nothing has gone wrong so far */
    const char *status;
    char reason[1024];
    struct replay_result *check;   /* NULL until that pass is done */
    struct replay_result *latency; /* all runs merged, or NULL */
    double *ns_per_event;          /* of each run */
    double *processor_ns_per_event;
    unsigned ns_count;
    double *latency_ns[LATENCY_COLUMNS]; /* the same for each percentile of each operation */
    unsigned latency_count;
};

struct job {
    const struct simulate_request *request;
    struct simulation *simulation;
    const char *trace_path;
    const char *trace_name;
    const char *trace_checksum;
    struct subject *subjects;
    size_t subject_count;
    struct progress *progress;
    uint64_t *passes_done;
};

const char *contender_name(const struct contender *contender)
{
    return contender != NULL ? contender->timed->name : "null";
}

const char *contender_options(const struct contender *contender)
{
    return contender != NULL ? contender->option_text : "";
}

static bool run_in_child(void *ctx, void *result, struct error *error)
{
    return replay_run(ctx, result, error);
}

static void fail(struct subject *subject, const char *status, const char *reason)
{
    subject->right = false;
    subject->status = status;
    (void)snprintf(subject->reason, sizeof subject->reason, "%s", reason);
}

/* One pass in a child. True if `result` is to be used. */
static bool run_pass(struct job *job, struct subject *subject, enum replay_pass pass,
                     struct replay_result *result, bool *usable, struct error *error)
{
    const struct simulate_request *request = job->request;
    struct replay_request replay = {
        .trace_path = job->trace_path,
        .algo = pass == PASS_CHECK ? subject->counted : subject->timed,
        .options = subject->options,
        .pass = pass,
        .drive = request->drive,
        .window = request->window,
        .memory_limit_bytes = request->memory_limit_bytes,
    };
    struct child_request child = {
        .run = run_in_child,
        .ctx = &replay,
        .result_bytes = sizeof *result,
        .timeout_seconds = request->timeout_seconds,
        .address_space_bytes = request->memory_limit_bytes == UINT64_MAX
                                   ? 0
                                   : request->memory_limit_bytes + PROCESS_OVERHEAD_BYTES,
    };
    struct child_outcome outcome;
    *usable = false;
    if (!child_run(&child, result, &outcome, error)) {
        return false;
    }
    progress_update(job->progress, ++*job->passes_done);
    switch (outcome.end) {
    case CHILD_FAILED:
        /* The trace or the replay itself: not the structure's doing. */
        return error_set(error, "%s", outcome.reason);
    case CHILD_CRASHED:
    case CHILD_EXITED:
        fail(subject, "crashed", outcome.reason);
        return true;
    case CHILD_TIMEOUT:
        fail(subject, "timeout", outcome.reason);
        return true;
    case CHILD_DONE:
        break;
    }
    *usable = true;
    switch (result->status) {
    case REPLAY_OK:
        break;
    case REPLAY_FAULT:
        fail(subject, "fault", result->reason);
        break;
    case REPLAY_UNSUPPORTED:
        fail(subject, "unsupported", result->reason);
        break;
    case REPLAY_NO_MEMORY:
        fail(subject, "crashed", result->reason);
        break;
    }
    if (outcome.output_bytes > 0 && subject->right) {
        char reason[128];
        (void)snprintf(reason, sizeof reason,
                       "printed %" PRIu64 " bytes on standard output, which a structure must not",
                       outcome.output_bytes);
        fail(subject, "fault", reason);
    }
    return true;
}

static bool keep_faults(struct job *job, const struct subject *subject, struct error *error)
{
    const struct verdict *verdict = &subject->check->verdict;
    size_t kept =
        verdict->fault_count < ORACLE_FAULTS_KEPT ? verdict->fault_count : ORACLE_FAULTS_KEPT;
    struct simulation *simulation = job->simulation;
    for (size_t i = 0; i < kept; i++) {
        struct fault_row *rows =
            realloc(simulation->faults, (simulation->fault_count + 1) * sizeof *rows);
        char *trace = strdup(job->trace_name);
        if (rows == NULL || trace == NULL) {
            simulation->faults = rows != NULL ? rows : simulation->faults;
            free(trace);
            return error_set(error, "out of memory");
        }
        simulation->faults = rows;
        rows[simulation->fault_count++] = (struct fault_row){
            .trace = trace, .contender = subject->contender, .fault = verdict->first[i]};
    }
    return true;
}

/* Whether a structure promises exact firing for every delay of a trace, as far as the shortest and
 * the longest tell: precision may get worse with the delay, or, where one timeout serves all,
 * better. */
static bool is_exact(const struct subject *subject, uint64_t max_delay_ticks)
{
    struct tl_precision shortest = tl_algo_precision(subject->timed, subject->options, 0);
    struct tl_precision longest =
        tl_algo_precision(subject->timed, subject->options, max_delay_ticks);
    return shortest.early_ticks == 0 && shortest.late_ticks == 0 && longest.early_ticks == 0 &&
           longest.late_ticks == 0;
}

static bool keep_fired_set(struct job *job, const struct subject *subject, uint64_t max_delay_ticks,
                           struct error *error)
{
    struct simulation *simulation = job->simulation;
    struct fired_set *sets =
        realloc(simulation->fired_sets, (simulation->fired_set_count + 1) * sizeof *sets);
    char *trace = strdup(job->trace_name);
    if (sets == NULL || trace == NULL) {
        simulation->fired_sets = sets != NULL ? sets : simulation->fired_sets;
        free(trace);
        return error_set(error, "out of memory");
    }
    simulation->fired_sets = sets;
    sets[simulation->fired_set_count++] =
        (struct fired_set){.trace = trace,
                           .contender = subject->contender,
                           .exact = is_exact(subject, max_delay_ticks),
                           .digest = subject->check->digest};
    return true;
}

/* Refuses what would take hours, in words. */
static bool is_too_slow(const struct job *job, struct subject *subject, uint32_t ids)
{
    if ((subject->timed->capabilities & TL_CAP_SLOW) == 0 || job->request->slow ||
        ids <= SIMULATE_SLOW_IDS_MAX) {
        return false;
    }
    char reason[200];
    (void)snprintf(reason, sizeof reason,
                   "an operation is linear in the timers, and the trace has %" PRIu32
                   "; --slow runs it all the same",
                   ids);
    fail(subject, "unsupported", reason);
    return true;
}

static bool check_all(struct job *job, const struct trace_header *header, struct error *error)
{
    for (size_t i = 0; i < job->subject_count; i++) {
        struct subject *subject = &job->subjects[i];
        if (is_too_slow(job, subject, header->ids)) {
            continue;
        }
        struct replay_result *result = malloc(sizeof *result);
        bool usable = false;
        if (result == NULL) {
            return error_set(error, "out of memory");
        }
        if (!run_pass(job, subject, PASS_CHECK, result, &usable, error)) {
            free(result);
            return false;
        }
        if (!usable) {
            free(result);
            continue;
        }
        subject->check = result;
        if (subject->judged && !keep_faults(job, subject, error)) {
            return false;
        }
        if (subject->judged && subject->right &&
            !keep_fired_set(job, subject, header->max_delay_ticks, error)) {
            return false;
        }
    }
    return true;
}

/* The timed build must have done what the checked one did. */
static void compare_work(struct subject *subject, const struct replay_result *result)
{
    if (subject->right && result->digest != subject->check->digest) {
        fail(subject, "fault",
             "fired other timers, or at other ticks, in the timed run than in the checked one");
    }
}

/* The percentiles of one latency, behind them the maximum. */
static void read_percentiles(const struct histogram *ns, uint64_t percentiles[LATENCY_PERCENTILES])
{
    static const double shares[LATENCY_PERCENTILES - 1] = {0.5, 0.9, 0.99, 0.999, 0.9999};
    for (int p = 0; p < LATENCY_PERCENTILES - 1; p++) {
        percentiles[p] = histogram_quantile(ns, shares[p]);
    }
    percentiles[LATENCY_PERCENTILES - 1] = ns->max;
}

/* Keeps the run's percentiles, and adds its latencies to those of all runs. */
static bool keep_latency_run(struct subject *subject, const struct replay_result *result,
                             struct error *error)
{
    if (subject->latency == NULL) {
        subject->latency = calloc(1, sizeof *subject->latency);
        if (subject->latency == NULL) {
            return error_set(error, "out of memory");
        }
    }
    for (int op = 0; op < LATENCY_OPS; op++) {
        uint64_t percentiles[LATENCY_PERCENTILES];
        read_percentiles(&result->latency_ns[op], percentiles);
        for (int p = 0; p < LATENCY_PERCENTILES; p++) {
            subject->latency_ns[op * LATENCY_PERCENTILES + p][subject->latency_count] =
                (double)percentiles[p];
        }
        struct replay_result *all = subject->latency;
        histogram_merge(&all->latency_ns[op], &result->latency_ns[op]);
        histogram_merge(&all->response_ns[op], &result->response_ns[op]);
        if (result->worst[op].ns > all->worst[op].ns) {
            all->worst[op] = result->worst[op];
        }
    }
    subject->latency_count++;
    return true;
}

static bool time_one(struct job *job, struct subject *subject, struct replay_result *result,
                     struct error *error)
{
    bool usable = false;
    if (!run_pass(job, subject, PASS_THROUGHPUT, result, &usable, error)) {
        return false;
    }
    if (usable) {
        compare_work(subject, result);
        if (result->window_events > 0) {
            double events = (double)result->window_events;
            subject->ns_per_event[subject->ns_count] = (double)result->window_ns / events;
            subject->processor_ns_per_event[subject->ns_count++] =
                (double)result->window_processor_ns / events;
        }
    }
    if (!job->request->latency || !subject->right) {
        return true;
    }
    if (!run_pass(job, subject, PASS_LATENCY, result, &usable, error)) {
        return false;
    }
    if (usable) {
        compare_work(subject, result);
        return keep_latency_run(subject, result, error);
    }
    return true;
}

size_t simulate_turn(unsigned round, size_t at, size_t count)
{
    size_t place = round % 2 == 0 ? at : count - 1 - at;
    return (place + round / 2) % count;
}

static bool time_all(struct job *job, struct error *error)
{
    struct replay_result *result = malloc(sizeof *result);
    bool done = result != NULL || error_set(error, "out of memory");
    for (unsigned run = 0; run < job->request->runs && done; run++) {
        for (size_t i = 0; i < job->subject_count && done; i++) {
            struct subject *subject = &job->subjects[simulate_turn(run, i, job->subject_count)];
            if (subject->right) {
                done = time_one(job, subject, result, error);
            } else {
                *job->passes_done += job->request->latency ? 2 : 1;
            }
        }
    }
    free(result);
    return done;
}

/* --- figures --------------------------------------------------------------------------------- */

static bool fill_latency(struct row *row, const struct subject *subject)
{
    bool kept = true;
    for (int op = 0; op < LATENCY_OPS; op++) {
        const struct histogram *ns = &subject->latency->latency_ns[op];
        if (ns->total == 0) {
            continue;
        }
        uint64_t percentiles[LATENCY_PERCENTILES];
        read_percentiles(ns, percentiles);
        for (int p = 0; p < LATENCY_PERCENTILES; p++) {
            int place = op * LATENCY_PERCENTILES + p;
            enum column column = (enum column)(COL_START_P50 + place);
            row_set_integer(row, column, percentiles[p]);
            kept = kept &&
                   row_set_samples(row, column, subject->latency_ns[place], subject->latency_count);
        }
    }
    const double *stall_ns = subject->latency_ns[COL_ADVANCE_MAX - COL_START_P50];
    row_set_integer(row, COL_STALL, (uint64_t)stats_median(stall_ns, subject->latency_count));
    return kept && row_set_samples(row, COL_STALL, stall_ns, subject->latency_count);
}

/* The speed and its spread, and what the floor took in the same rounds. */
static bool fill_speed(struct row *row, const struct subject *subject, const struct subject *floor)
{
    double ns = stats_median(subject->ns_per_event, subject->ns_count);
    row_set_real(row, COL_NS_PER_EVENT, ns);
    row_set_real(row, COL_NS_PER_EVENT_MAD, stats_mad(subject->ns_per_event, subject->ns_count));
    row_set_real(row, COL_EVENTS_PER_S, 1e9 / ns);
    row_set_integer(row, COL_RUNS, subject->ns_count);
    bool kept = row_set_samples(row, COL_NS_PER_EVENT, subject->ns_per_event, subject->ns_count) &&
                samples_set(&row->processor_ns_per_event, subject->processor_ns_per_event,
                            subject->ns_count);
    if (floor != NULL) {
        row_set_real(row, COL_FLOOR_NS, stats_median(floor->ns_per_event, floor->ns_count));
        kept = kept && row_set_samples(row, COL_FLOOR_NS, floor->ns_per_event, floor->ns_count);
    }
    return kept;
}

static void fill_verdict(struct row *row, const struct verdict *verdict)
{
    const struct {
        enum column column;
        uint64_t value;
    } counts[] = {
        {COL_STARTS, verdict->starts},   {COL_RESTARTS, verdict->restarts},
        {COL_STOPS, verdict->stops},     {COL_FIRED, verdict->fired},
        {COL_DRAINED, verdict->drained}, {COL_AVERTED, verdict->averted},
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

static void fill_work(struct row *row, const struct subject *subject)
{
    const struct replay_result *check = subject->check;
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
                     ((double)check->bytes_peak - (double)check->bytes_fixed) / check->ids);
    }
    if (subject->counted->counters != NULL) {
        row_set_integer(row, COL_N_COMPARES, check->counters.compares);
        row_set_integer(row, COL_N_MOVES, check->counters.moves);
        row_set_integer(row, COL_N_SLOTS, check->counters.slots);
        row_set_integer(row, COL_N_CASCADES, check->counters.cascades);
    }
    row_set_integer(row, COL_N_ALLOCS, check->allocations);
}

static bool fill_row(struct job *job, const struct subject *subject, uint64_t events,
                     const struct subject *floor, struct error *error)
{
    struct row *row = results_add(&job->simulation->results);
    if (row == NULL) {
        return error_set(error, "out of memory");
    }
    (void)snprintf(row->trace_checksum, sizeof row->trace_checksum, "%s", job->trace_checksum);
    row_set_text(row, COL_TRACE, job->trace_name);
    row_set_text(row, COL_ALGO, subject->timed->name);
    row_set_text(row, COL_OPTIONS, subject->contender->option_text);
    row_set_text(row, COL_STATUS, subject->status);
    row_set_integer(row, COL_EVENTS, events);
    if (!subject->right) {
        row_set_text(row, COL_REASON, subject->reason);
    }
    bool ended =
        subject->check != NULL && (subject->right || strcmp(subject->status, "fault") == 0);
    if (ended && subject->judged) {
        fill_verdict(row, &subject->check->verdict);
    }
    if (ended) {
        fill_work(row, subject);
    }
    bool kept = true;
    if (subject->right && subject->ns_count > 0) {
        kept = fill_speed(row, subject, floor);
    }
    if (subject->right && subject->latency != NULL) {
        kept = kept && fill_latency(row, subject);
    }
    return kept || error_set(error, "out of memory");
}

static bool keep_latency(struct job *job, const struct subject *subject, struct error *error)
{
    struct simulation *simulation = job->simulation;
    struct latency_row *rows =
        realloc(simulation->latencies, (simulation->latency_count + 1) * sizeof *rows);
    char *trace = strdup(job->trace_name);
    if (rows == NULL || trace == NULL) {
        simulation->latencies = rows != NULL ? rows : simulation->latencies;
        free(trace);
        return error_set(error, "out of memory");
    }
    simulation->latencies = rows;
    struct latency_row *row = &rows[simulation->latency_count++];
    row->trace = trace;
    row->contender = subject->contender;
    memcpy(row->ns, subject->latency->latency_ns, sizeof row->ns);
    memcpy(row->response_ns, subject->latency->response_ns, sizeof row->response_ns);
    memcpy(row->worst, subject->latency->worst, sizeof row->worst);
    return true;
}

static bool keep_work(struct job *job, const struct subject *subject, struct error *error)
{
    struct simulation *simulation = job->simulation;
    struct work_row *rows = realloc(simulation->works, (simulation->work_count + 1) * sizeof *rows);
    char *trace = strdup(job->trace_name);
    if (rows == NULL || trace == NULL) {
        simulation->works = rows != NULL ? rows : simulation->works;
        free(trace);
        return error_set(error, "out of memory");
    }
    simulation->works = rows;
    rows[simulation->work_count++] = (struct work_row){
        .trace = trace, .contender = subject->contender, .series = subject->check->work};
    return true;
}

static bool fill_rows(struct job *job, uint64_t events, bool *all_right, struct error *error)
{
    const struct subject *floor = NULL;
    for (size_t i = 0; i < job->subject_count; i++) {
        if (!job->subjects[i].judged && job->subjects[i].ns_count > 0) {
            floor = &job->subjects[i];
        }
    }
    for (size_t i = 0; i < job->subject_count; i++) {
        struct subject *subject = &job->subjects[i];
        if (subject->right && subject->latency != NULL && !keep_latency(job, subject, error)) {
            return false;
        }
        if (subject->contender == NULL) {
            if (!subject->right) {
                return error_set(error, "%s: the harness's own floor failed: %s", job->trace_name,
                                 subject->reason);
            }
            continue;
        }
        if (!fill_row(job, subject, events, floor, error)) {
            return false;
        }
        if (subject->right && subject->judged && subject->check->work.count > 0 &&
            !keep_work(job, subject, error)) {
            return false;
        }
        *all_right = *all_right && (subject->right || strcmp(subject->status, "unsupported") == 0);
    }
    return true;
}

/* --- the whole ------------------------------------------------------------------------------- */

static bool open_subjects(struct job *job, struct error *error)
{
    static const int64_t no_options[TL_OPTIONS_MAX];
    const struct simulate_request *request = job->request;
    size_t count = request->contenders->count;
    bool floor_is_a_row = false;
    job->subjects = calloc(count + 1, sizeof *job->subjects);
    if (job->subjects == NULL) {
        return error_set(error, "out of memory");
    }
    for (size_t i = 0; i <= count; i++) {
        struct subject *subject = &job->subjects[i];
        if (i < count) {
            const struct contender *contender = &request->contenders->items[i];
            *subject = (struct subject){.contender = contender,
                                        .timed = contender->timed,
                                        .counted = contender->counted,
                                        .options = contender->options};
        } else {
            *subject = (struct subject){
                .timed = request->floor, .counted = request->floor, .options = no_options};
            if (request->floor == NULL || floor_is_a_row) {
                break;
            }
        }
        subject->status = "ok";
        subject->right = true;
        subject->judged = (subject->timed->capabilities & TL_CAP_FIRES_NOTHING) == 0;
        floor_is_a_row = floor_is_a_row || !subject->judged;
        job->subject_count = i + 1;
        subject->ns_per_event = calloc(request->runs + 1, sizeof *subject->ns_per_event);
        subject->processor_ns_per_event =
            calloc(request->runs + 1, sizeof *subject->processor_ns_per_event);
        bool made = subject->ns_per_event != NULL && subject->processor_ns_per_event != NULL;
        for (int c = 0; c < LATENCY_COLUMNS; c++) {
            subject->latency_ns[c] = calloc(request->runs + 1, sizeof *subject->latency_ns[c]);
            made = made && subject->latency_ns[c] != NULL;
        }
        if (!made) {
            return error_set(error, "out of memory");
        }
    }
    return true;
}

static void close_subjects(struct job *job)
{
    for (size_t i = 0; i < job->subject_count; i++) {
        free(job->subjects[i].check);
        free(job->subjects[i].latency);
        free(job->subjects[i].ns_per_event);
        free(job->subjects[i].processor_ns_per_event);
        for (int c = 0; c < LATENCY_COLUMNS; c++) {
            free(job->subjects[i].latency_ns[c]);
        }
    }
    free(job->subjects);
}

/* What the trace asks for, as a number: the same however it was compressed and wherever it is from,
 * for nothing else decides what a structure has to do. */
static bool checksum_trace(struct trace_reader *reader, char text[TRACE_CHECKSUM_CHARS + 1],
                           struct error *error)
{
    const struct trace_header *header = trace_reader_header(reader);
    const uint64_t frame[] = {header->tick_ns, header->warmup_end_tick, header->end_tick,
                              header->ids};
    XXH3_state_t *state = XXH3_createState();
    if (state == NULL) {
        return error_set(error, "out of memory");
    }
    (void)XXH3_64bits_reset(state);
    (void)XXH3_64bits_update(state, frame, sizeof frame);
    struct trace_block block;
    int got = 0;
    while ((got = trace_reader_next(reader, &block, error)) > 0) {
        for (size_t g = 0; g < block.group_count; g++) {
            const struct trace_group *group = &block.groups[g];
            for (uint32_t i = 0; i < group->count; i++) {
                const struct trace_record *record = &block.records[group->first + i];
                const uint64_t operation[] = {group->tick, record->deadline,
                                              (uint64_t)record->op << 32 | record->id};
                (void)XXH3_64bits_update(state, operation, sizeof operation);
            }
        }
    }
    (void)snprintf(text, TRACE_CHECKSUM_CHARS + 1, "%016" PRIx64,
                   (uint64_t)XXH3_64bits_digest(state));
    (void)XXH3_freeState(state);
    return got == 0;
}

static bool keep_trace(struct job *job, struct trace_reader *reader, struct error *error)
{
    struct simulation *simulation = job->simulation;
    const struct trace_header *header = trace_reader_header(reader);
    struct trace_row *rows =
        realloc(simulation->traces, (simulation->trace_count + 1) * sizeof *rows);
    if (rows == NULL) {
        return error_set(error, "out of memory");
    }
    simulation->traces = rows;
    struct trace_row *row = &rows[simulation->trace_count++];
    *row = (struct trace_row){.name = strdup(job->trace_name),
                              .path = strdup(job->trace_path),
                              .tick_ns = header->tick_ns,
                              .events = header->events,
                              .ids = header->ids};
    if (row->name == NULL || row->path == NULL) {
        return error_set(error, "out of memory");
    }
    job->trace_checksum = row->checksum;
    return checksum_trace(reader, row->checksum, error);
}

static bool simulate_trace(struct job *job, bool *all_right, struct error *error)
{
    struct trace_reader *reader = trace_reader_open(job->trace_path, error);
    if (reader == NULL) {
        return false;
    }
    const struct trace_header *header = trace_reader_header(reader);
    bool done = keep_trace(job, reader, error) && open_subjects(job, error) &&
                check_all(job, header, error) && time_all(job, error) &&
                fill_rows(job, header->events, all_right, error);
    close_subjects(job);
    trace_reader_close(reader);
    return done;
}

bool simulate(const struct simulate_request *request, struct simulation *simulation,
              bool *all_right, struct error *error)
{
    *simulation = (struct simulation){0};
    *all_right = true;
    uint64_t passes_done = 0;
    uint64_t passes = request->trace_count * (request->contenders->count + 1) *
                      (1 + request->runs * (request->latency ? 2u : 1u));
    struct progress progress;
    progress_begin(&progress, "replaying", "passes", passes);
    bool done = true;
    for (size_t i = 0; i < request->trace_count && done; i++) {
        const char *slash = strrchr(request->traces[i], '/');
        struct job job = {.request = request,
                          .simulation = simulation,
                          .trace_path = request->traces[i],
                          .trace_name = slash != NULL ? slash + 1 : request->traces[i],
                          .progress = &progress,
                          .passes_done = &passes_done};
        done = simulate_trace(&job, all_right, error);
    }
    progress_end(&progress);
    return done;
}

uint64_t simulate_default_memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_bytes <= 0) {
        return UINT64_MAX;
    }
    return (uint64_t)pages / 10 * 9 * (uint64_t)page_bytes;
}

void simulation_describe_traces(const struct simulation *simulation, json_t *context)
{
    json_t *traces = json_array();
    for (size_t i = 0; i < simulation->trace_count; i++) {
        const struct trace_row *row = &simulation->traces[i];
        (void)json_array_append_new(
            traces,
            json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "name", row->name, "path", row->path,
                      "checksum", row->checksum, "tick_ns", (json_int_t)row->tick_ns, "events",
                      (json_int_t)row->events, "timers", (json_int_t)row->ids));
    }
    (void)json_object_set_new(context, "traces", traces);
}

void simulation_free(struct simulation *simulation)
{
    results_free(&simulation->results);
    for (size_t i = 0; i < simulation->trace_count; i++) {
        free(simulation->traces[i].name);
        free(simulation->traces[i].path);
    }
    for (size_t i = 0; i < simulation->latency_count; i++) {
        free(simulation->latencies[i].trace);
    }
    for (size_t i = 0; i < simulation->work_count; i++) {
        free(simulation->works[i].trace);
    }
    for (size_t i = 0; i < simulation->fault_count; i++) {
        free(simulation->faults[i].trace);
    }
    for (size_t i = 0; i < simulation->fired_set_count; i++) {
        free(simulation->fired_sets[i].trace);
    }
    free(simulation->traces);
    free(simulation->latencies);
    free(simulation->works);
    free(simulation->faults);
    free(simulation->fired_sets);
    *simulation = (struct simulation){0};
}
