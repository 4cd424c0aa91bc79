/* The order of the passes, and the consequences of one that fails. */
#include "simulate_job.h"

#include "clock.h"
#include "judge.h"
#include "memory.h"
#include "plug_in.h"
#include "side_by_side.h"
#include "tape.h"
#include "temporary_file.h"
#include "trace_ids.h"
#include "watched.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool run_in_child(void *ctx, void *result, struct error *error)
{
    struct replay_request *request = ctx;
    if (request->pass == PASS_CHECK) {
        request->algo = watched(request->algo);
    }
    child_phase(0, request->pass == PASS_CHECK ? "while it was checked" : "while it was timed");
    return replay_run(request, result, error);
}

__attribute__((format(printf, 3, 4))) static void fail(struct entrant *entrant, const char *status,
                                                       const char *format, ...)
{
    va_list arguments;
    entrant->right = false;
    entrant->status = status;
    va_start(arguments, format);
    (void)vsnprintf(entrant->reason, sizeof entrant->reason, format, arguments);
    va_end(arguments);
}

/* Relative durations of the passes: the check includes the oracle, the latency pass the clock. */
static const uint64_t pass_weights[] = {
    [PASS_CHECK] = 4, [PASS_THROUGHPUT] = 1, [PASS_LATENCY] = 2, [PASS_RECOVERY] = 1};

static uint64_t run_weight(const struct simulate_request *request)
{
    return pass_weights[PASS_THROUGHPUT] + (request->latency ? pass_weights[PASS_LATENCY] : 0);
}

bool simulate_pass(const struct simulate_request *request, struct replay_request *pass,
                   struct replay_result *result, struct child_outcome *outcome, struct error *error)
{
    pass->drive = request->drive;
    pass->memory_limit_bytes = request->memory_limit_bytes;
    pass->patience_seconds = request->timeout_seconds;
    int tape = pass->tape != NULL ? pass->tape->file : -1;
    const struct child_request child = {
        .run = run_in_child,
        .ctx = pass,
        .kept = &tape,
        .kept_count = tape >= 0,
        .result_bytes = sizeof *result,
        .timeout_seconds = request->timeout_seconds,
        .address_space_bytes = request->memory_limit_bytes == UINT64_MAX
                                   ? 0
                                   : child_space(request->memory_limit_bytes + pass->stream->bytes),
    };
    return plug_in_run(pass->algo, &child, result, outcome, error);
}

const struct tl_algo *simulate_entrant(const struct simulate_request *request, size_t entrant,
                                       enum replay_pass pass, const void **options)
{
    static const TL_OPTION_VALUES(no_options);
    if (entrant >= request->contenders->count) {
        *options = no_options;
        return request->floor;
    }
    const struct contender *contender = &request->contenders->items[entrant];
    *options = contender->options;
    return pass == PASS_CHECK ? contender->counted : contender->timed;
}

/* Run a pass of a structure, here or on the ranks; job->result is its result. */
static bool run_somewhere(const struct job *job, const struct entrant *entrant,
                          enum replay_pass pass, struct child_outcome *outcome, struct error *error)
{
    const struct simulate_ranks *ranks = job->request->ranks;
    if (ranks != NULL) {
        return ranks->pass(ranks->ctx, entrant->number, pass, job->result, outcome,
                           entrant->by_rank, error);
    }
    struct replay_request run = {
        .stream = job->stream,
        .algo = pass == PASS_CHECK ? entrant->counted : entrant->timed,
        .options = entrant->options,
        .pass = pass,
        .window = job->request->window,
        .tape = entrant->tape,
    };
    return simulate_pass(job->request, &run, job->result, outcome, error);
}

static void count_done(struct job *job, enum replay_pass pass)
{
    *job->work_done += (job->trace->header.events + 1) * pass_weights[pass];
    progress_update(job->progress, *job->work_done);
}

/* Record the outcome of a pass; `result` is valid if its process is done. False, with the error
 * set: the simulation ends. */
static bool judge_pass(const struct job *job, struct entrant *entrant,
                       const struct replay_result *result, const struct child_outcome *outcome)
{
    if (outcome->end == CHILD_FAILED && !plug_in_is(entrant->timed)) {
        return error_set(job->error, "%s", outcome->reason);
    }
    if (outcome->end == CHILD_FAILED) {
        /* A plug-in may have closed the replay's files. */
        fail(entrant, "crashed", "the replay could not go on: %s", outcome->reason);
    } else if (outcome->end != CHILD_DONE) {
        fail(entrant, outcome->end == CHILD_TIMEOUT ? "timeout" : "crashed", "%s", outcome->reason);
    } else if (result->status == REPLAY_NO_MEMORY) {
        fail(entrant, "unsupported", "%s, with %" PRIu64 " bytes (--memory-limit)", result->reason,
             job->request->memory_limit_bytes);
    } else if (result->status != REPLAY_OK) {
        fail(entrant, result->status == REPLAY_FAULT ? "fault" : "unsupported", "%s",
             result->reason);
    } else if (outcome->misdeed[0] != '\0' && entrant->right) {
        fail(entrant, "fault", "%s", outcome->misdeed);
    }
    return true;
}

/* Refuse structures that would take hours, or cannot be partitioned. */
static void refuse(const struct job *job, struct entrant *entrant)
{
    if (job->request->ranks != NULL && replay_is_durable(entrant->timed)) {
        fail(entrant, "unsupported",
             "a durable structure belongs to one process, not to several ranks");
    } else if ((entrant->timed->capabilities & TL_CAP_SLOW) != 0 && !job->request->slow &&
               job->trace->header.ids > SIMULATE_SLOW_IDS_MAX) {
        fail(entrant, "unsupported",
             "an operation is linear in the timers, and the trace has %" PRIu32
             "; --slow runs it all the same",
             job->trace->header.ids);
    }
}

/* --- checks ----------------------------------------------------------------------------------- */

/* The floor's figures are not shown, except those of each rank. */
static bool is_checked(const struct job *job, const struct entrant *entrant)
{
    return entrant->right && (entrant->contender != NULL || job->request->ranks != NULL);
}

/* Check one entrant, in a process of its own or in this one. Checks are not timed, so that several
 * run in parallel. */
static void check_one(void *ctx, size_t number)
{
    struct job *job = ctx;
    struct entrant *entrant = &job->entrants[number];
    struct found *found = &job->trace->found[number];
    if (is_checked(job, entrant)) {
        found->made = run_somewhere(job, entrant, PASS_CHECK, &found->outcome, &found->error);
        memcpy(&found->check, job->result, offsetof(struct replay_result, latency_ns));
    }
    found->ran = true;
}

static void check_done(void *ctx)
{
    count_done(ctx, PASS_CHECK);
}

static bool judge_check(struct job *job, struct entrant *entrant)
{
    const struct found *found = &job->trace->found[entrant->number];
    const struct replay_result *check = &found->check;
    uint64_t *empty_ticks = &job->trace->empty_ticks;
    if (!is_checked(job, entrant)) {
        return true;
    }
    if (!found->made) {
        *job->error = found->error;
        return false;
    }
    if (!judge_pass(job, entrant, check, &found->outcome)) {
        return false;
    }
    if (found->outcome.end == CHILD_DONE) {
        entrant->check = check;
        entrant->compared = entrant->judged && entrant->right && job->request->drive.budget == 0;
        *empty_ticks = check->empty_ticks > *empty_ticks ? check->empty_ticks : *empty_ticks;
    }
    return true;
}

/* Approximate memory of a check for a timer, including the structure. */
#define CHECK_BYTES UINT64_C(256)

/* As many parallel checks as there are processors and memory. */
static unsigned checks_at_once(const struct job *job)
{
    if (job->request->ranks != NULL) {
        return 1;
    }
    uint64_t room = memory_free_bytes() / (CHECK_BYTES * ((uint64_t)job->trace->header.ids + 1));
    uint64_t processors = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t most = room < processors ? room : processors;
    return (unsigned)(most < job->entrant_count ? most : job->entrant_count);
}

static bool check_all(struct job *job)
{
    for (size_t i = 0; i < job->entrant_count; i++) {
        refuse(job, &job->entrants[i]);
    }
    const struct side_by_side work = {.count = job->entrant_count,
                                      .processes = checks_at_once(job),
                                      .run = check_one,
                                      .done = check_done,
                                      .ctx = job};
    if (work.processes > 1) {
        side_by_side(&work);
    }
    bool done = true;
    for (size_t i = 0; i < job->entrant_count && done; i++) {
        if (!job->trace->found[i].ran) {
            check_one(job, i);
            check_done(job);
        }
        done = judge_check(job, &job->entrants[i]);
    }
    return done;
}

/* --- times ------------------------------------------------------------------------------------ */

/* The timed build must fire the same timers as the checked one. */
static void compare_work(struct entrant *entrant, const struct replay_result *result)
{
    if (entrant->right && entrant->check != NULL && result->digest != entrant->check->digest) {
        fail(entrant, "fault",
             "fired other timers, or at other ticks, in the timed run than in the checked one");
    }
}

/* Keep the run's percentiles, and add its latencies to those of all runs. */
static void keep_latency_run(const struct job *job, struct entrant *entrant,
                             const struct replay_result *result)
{
    struct replay_result *all = &job->trace->found[entrant->number].latency;
    for (unsigned op = 0; op < LATENCY_OPS; op++) {
        uint64_t percentiles[LATENCY_PERCENTILES];
        read_percentiles(&result->latency_ns[op], percentiles);
        for (unsigned p = 0; p < LATENCY_PERCENTILES; p++) {
            unsigned sample = SAMPLE_LATENCY + op * LATENCY_PERCENTILES + p;
            samples_of(job, entrant, sample)[entrant->latency_runs] = (double)percentiles[p];
        }
    }
    replay_merge_latencies(all, result);
    entrant->latency = all;
    entrant->latency_runs++;
}

/* Run a timed pass; keep its figures. */
static bool time_pass(struct job *job, struct entrant *entrant, enum replay_pass pass)
{
    const struct replay_result *result = job->result;
    struct child_outcome outcome;
    if (!run_somewhere(job, entrant, pass, &outcome, job->error)) {
        return false;
    }
    count_done(job, pass);
    if (!judge_pass(job, entrant, result, &outcome)) {
        return false;
    }
    if (outcome.end != CHILD_DONE) {
        return true;
    }
    compare_work(entrant, result);
    if (pass == PASS_LATENCY) {
        keep_latency_run(job, entrant, result);
    } else if (pass == PASS_RECOVERY) {
        entrant->recovery_ns = result->recovery_ns;
        entrant->recovered = result->recovered;
    } else if (result->window_events > 0) {
        double events = (double)result->window_events;
        double wall_ns = (double)result->window_ns / events;
        double processor_ns = (double)result->window_processor_ns / events;
        /* A durable structure also waits for its disk. */
        samples_of(job, entrant, SAMPLE_NS)[entrant->runs] =
            replay_is_durable(entrant->timed) ? wall_ns : processor_ns;
        samples_of(job, entrant, SAMPLE_WALL_NS)[entrant->runs++] = wall_ns;
    }
    return true;
}

static bool time_one(struct job *job, struct entrant *entrant)
{
    return time_pass(job, entrant, PASS_THROUGHPUT) &&
           (!job->request->latency || !entrant->right || time_pass(job, entrant, PASS_LATENCY));
}

size_t simulate_turn(unsigned round, size_t at, size_t count)
{
    size_t place = round % 2 == 0 ? at : count - 1 - at;
    return (place + round / 2) % count;
}

static bool is_late(const struct simulate_request *request, unsigned runs)
{
    return request->last_run_ns != 0 && runs >= JUDGE_RUNS_MIN &&
           clock_now_ns() >= request->last_run_ns;
}

static bool time_all(struct job *job)
{
    bool done = true;
    for (unsigned run = 0; run < job->request->runs && done && !is_late(job->request, run); run++) {
        for (size_t i = 0; i < job->entrant_count && done; i++) {
            struct entrant *entrant = &job->entrants[simulate_turn(run, i, job->entrant_count)];
            if (entrant->right) {
                done = time_one(job, entrant);
            } else {
                *job->work_done += (job->trace->header.events + 1) * run_weight(job->request);
            }
        }
    }
    return done;
}

/* Time the recovery of a durable structure, in a folder of its own. */
static bool recover_one(struct job *job, struct entrant *entrant)
{
    struct temporary temporary = {0};
    TL_OPTION_VALUES(options);
    const void *own = entrant->options;
    memcpy(options, own, sizeof options);
    if (!temporary_make(&temporary, job->error)) {
        return false;
    }
    bool done =
        tl_option_read(tl_option_find(entrant->timed->options, "path"), options, temporary.file) ||
        error_set(job->error, "%s: the name of a temporary folder is too long", temporary.file);
    entrant->options = options;
    done = done && time_pass(job, entrant, PASS_RECOVERY);
    entrant->options = own;
    temporary_remove(&temporary);
    return done;
}

static bool recover_all(struct job *job)
{
    bool done = true;
    for (size_t i = 0; i < job->entrant_count && done && job->request->runs > 0; i++) {
        struct entrant *entrant = &job->entrants[i];
        if (replay_is_durable(entrant->timed) && entrant->right) {
            done = recover_one(job, entrant);
        }
    }
    return done;
}

/* --- figures --------------------------------------------------------------------------------- */

static bool fill_rows(struct job *job, bool *all_right)
{
    const struct entrant *floor = NULL;
    for (size_t i = 0; i < job->entrant_count; i++) {
        if (!job->entrants[i].judged && job->entrants[i].runs > 0) {
            floor = &job->entrants[i];
        }
    }
    for (size_t i = 0; i < job->entrant_count; i++) {
        const struct entrant *entrant = &job->entrants[i];
        if (entrant->contender != NULL) {
            add_result_row(job, entrant, floor);
            *all_right =
                *all_right && (entrant->right || strcmp(entrant->status, "unsupported") == 0);
        } else if (!entrant->right) {
            return error_set(job->error, "%s: the harness's own floor failed: %s", job->trace->name,
                             entrant->reason);
        }
    }
    return true;
}

/* --- traces ----------------------------------------------------------------------------------- */

static bool open_entrant(const struct job *job, struct entrant *entrant, bool taped)
{
    const struct simulate_request *request = job->request;
    size_t number = job->entrant_count;
    *entrant = (struct entrant){.trace = job->trace,
                                .number = number,
                                .status = "ok",
                                .right = true,
                                .tape = taped ? tape_create(job->error) : NULL};
    if (number < request->contenders->count) {
        entrant->contender = &request->contenders->items[number];
    }
    entrant->counted = simulate_entrant(request, number, PASS_CHECK, &entrant->options);
    entrant->timed = simulate_entrant(request, number, PASS_THROUGHPUT, &entrant->options);
    entrant->judged = (entrant->timed->capabilities & TL_CAP_FIRES_NOTHING) == 0;
    entrant->samples = memory_new(SAMPLES * (size_t)request->runs + 1, sizeof *entrant->samples);
    if (request->ranks != NULL) {
        entrant->by_rank = memory_new(request->ranks->ranks, sizeof *entrant->by_rank);
    }
    return !taped || entrant->tape != NULL;
}

/* Open the contenders, and the floor unless a contender is one. */
static bool open_entrants(struct job *job)
{
    const struct simulate_request *request = job->request;
    struct simulation *simulation = job->simulation;
    bool taped = request->ranks == NULL &&
                 (job->trace->header.reactions > 0 || request->drive.service_ns > 0 ||
                  request->drive.kind == DRIVE_SLACK);
    bool has_floor = request->floor == NULL;
    bool opened = true;
    job->entrants = &simulation->entrants[simulation->entrant_count];
    for (size_t i = 0; i < request->contenders->count + !has_floor && opened; i++) {
        struct entrant *entrant = &job->entrants[i];
        opened = open_entrant(job, entrant, taped);
        has_floor = has_floor || !entrant->judged;
        job->entrant_count++;
        simulation->entrant_count++;
    }
    return opened;
}

/* Run all passes over a trace, and add their rows. */
static bool run_all(struct job *job, bool *all_right)
{
    const struct replay_window *window = &job->request->window;
    struct trace_row *trace = job->trace;
    uint64_t end_tick = trace->header.end_tick;
    if (window->asked && window->from_tick > end_tick) {
        return error_set(job->error,
                         "--window: it begins at tick %" PRIu64
                         ", after the end of %s at tick %" PRIu64,
                         window->from_tick, trace->path, end_tick);
    }
    trace->found_bytes = (job->request->contenders->count + 1) * sizeof *trace->found;
    trace->found = child_memory_new(trace->found_bytes);
    job->result = memory_bytes(sizeof *job->result);
    bool done = open_entrants(job) && check_all(job) && time_all(job) &&
                (job->request->ranks != NULL || recover_all(job)) && fill_rows(job, all_right);
    for (size_t i = 0; i < job->entrant_count; i++) {
        tape_close(job->entrants[i].tape);
        job->entrants[i].tape = NULL;
    }
    free(job->result);
    return done;
}

/* Lower bound of the check's memory for a timer, and for one with an expiry that may trigger
 * operations. */
#define ORACLE_BYTES UINT64_C(16)
#define LOOP_BYTES   UINT64_C(20)

/* Refuse more ids than the machine has memory for: a damaged header can name any number. */
static bool has_room(const char *path, const struct trace_header *header, struct error *error)
{
    uint64_t bytes = header->ids * (ORACLE_BYTES + (header->reactions > 0 ? LOOP_BYTES : 0));
    return bytes <= memory_default_limit() ||
           error_set(error,
                     "%s: to check its %" PRIu32
                     " timers takes %.1f GB of memory, which this machine does not have; if few of "
                     "them are named, " TRACE_IDS_REMEDY,
                     path, header->ids, (double)bytes / 1e9);
}

/* Let the ranks make their partitions, and get the header of the whole. Of a file, it must be the
 * same for all. */
static bool share_out(const struct job *job, const struct trace_header *file,
                      struct trace_header *whole, uint64_t *checksum)
{
    const struct simulate_ranks *ranks = job->request->ranks;
    return ranks->open(ranks->ctx, job->number, whole, checksum, job->error) &&
           (file == NULL ||
            (whole->events == file->events && whole->ids == file->ids &&
             whole->reactions == file->reactions) ||
            error_set(job->error,
                      "%s: the ranks' partitions have %" PRIu64 " operations, it has %" PRIu64
                      "; it must be the same file for every rank",
                      job->request->traces[job->number], whole->events, file->events));
}

/* Read a file once: for its checksum and, unless the ranks have it, to replay it. */
static bool read_file(struct job *job, struct trace_reader **reader)
{
    const char *path = job->request->traces[job->number];
    bool here = job->request->ranks == NULL;
    *reader = trace_reader_open(path, job->error);
    if (*reader == NULL || (here && !has_room(path, trace_reader_header(*reader), job->error))) {
        return false;
    }
    trace_reader_sum(*reader);
    if (here) {
        job->stream = stream_decode(*reader, STREAM_HALF_FREE, job->error);
        return job->stream != NULL;
    }
    struct trace_block block;
    int got;
    while ((got = trace_reader_next(*reader, &block, job->error)) == 1) {
    }
    return got == 0;
}

static bool simulate_trace(struct job *job, bool *all_right)
{
    const struct simulate_ranks *ranks = job->request->ranks;
    bool generated = ranks != NULL && ranks->generated;
    struct trace_reader *reader = NULL;
    struct trace_header whole;
    uint64_t checksum = 0;
    bool done = generated || read_file(job, &reader);
    const struct trace_header *file = reader != NULL ? trace_reader_header(reader) : NULL;
    done = done && (ranks == NULL || share_out(job, file, &whole, &checksum));
    if (done) {
        add_trace(job, generated ? &whole : file,
                  generated ? checksum : trace_reader_checksum(reader));
        done = run_all(job, all_right);
    }
    stream_close(job->stream);
    trace_reader_close(reader);
    return done;
}

/* Return all the work to be done. Traces that cannot be read are reported when their turn comes. */
static uint64_t expect_work(const struct simulate_request *request)
{
    uint64_t work = 0;
    uint64_t recoveries = 0;
    for (size_t i = 0; i < request->contenders->count && request->runs > 0; i++) {
        recoveries += replay_is_durable(request->contenders->items[i].timed);
    }
    for (size_t i = 0; i < request->trace_count; i++) {
        struct error unread;
        struct trace_reader *reader = trace_reader_open(request->traces[i], &unread);
        uint64_t events = reader != NULL ? trace_reader_header(reader)->events + 1 : 0;
        work += events * (request->contenders->count + 1) *
                    (pass_weights[PASS_CHECK] + request->runs * run_weight(request)) +
                events * recoveries * pass_weights[PASS_RECOVERY];
        trace_reader_close(reader);
    }
    return work;
}

bool simulate(const struct simulate_request *request, struct simulation *simulation,
              bool *all_right, struct error *error)
{
    *simulation = (struct simulation){0};
    *all_right = true;
    if (!trace_labels_check(request->traces, request->trace_count, error)) {
        return false;
    }
    size_t entrants = request->trace_count * (request->contenders->count + 1);
    simulation->traces = memory_new(request->trace_count, sizeof *simulation->traces);
    simulation->entrants = memory_new(entrants, sizeof *simulation->entrants);
    simulation->ranks = request->ranks != NULL ? request->ranks->ranks : 0;
    uint64_t work_done = 0;
    struct progress progress;
    progress_begin(&progress, "replaying", "operations", expect_work(request));
    bool done = true;
    for (size_t i = 0; i < request->trace_count && done; i++) {
        struct job job = {.request = request,
                          .simulation = simulation,
                          .number = i,
                          .error = error,
                          .progress = &progress,
                          .work_done = &work_done};
        done = simulate_trace(&job, all_right);
    }
    progress_end(&progress);
    return done;
}
