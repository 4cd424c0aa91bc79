/* The order of the passes, and the consequences of one that fails. */
#include "simulate_job.h"
#include "trace_labels.h"

#include "child.h"
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
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Memory of the process in addition to the structure's: the oracle, the trace, the program. */
#define PROCESS_OVERHEAD_BYTES (UINT64_C(2) << 30)

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
    struct replay_request *request = ctx;
    if (request->pass == PASS_CHECK) {
        request->algo = watched(request->algo);
    }
    child_phase(0, request->pass == PASS_CHECK ? "while it was checked" : "while it was timed");
    return replay_run(request, result, error);
}

static void fail(struct entrant *entrant, const char *status, const char *reason)
{
    entrant->right = false;
    entrant->status = status;
    (void)snprintf(entrant->reason, sizeof entrant->reason, "%s", reason);
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
    int tape = pass->tape != NULL ? tape_file(pass->tape) : -1;
    const struct child_request child = {
        .run = run_in_child,
        .ctx = pass,
        .kept = &tape,
        .kept_count = tape >= 0,
        .result_bytes = sizeof *result,
        .timeout_seconds = request->timeout_seconds,
        .address_space_bytes =
            request->memory_limit_bytes == UINT64_MAX
                ? 0
                : request->memory_limit_bytes + PROCESS_OVERHEAD_BYTES + pass->stream->bytes,
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

/* Run a pass of a structure, here or on the ranks. */
static bool run_somewhere(struct job *job, struct entrant *entrant, enum replay_pass pass,
                          struct replay_result *result, struct child_outcome *outcome,
                          struct error *error)
{
    const struct simulate_ranks *ranks = job->request->ranks;
    if (ranks != NULL) {
        return ranks->pass(ranks->ctx, (size_t)(entrant - job->entrants), pass, result, outcome,
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
    return simulate_pass(job->request, &run, result, outcome, error);
}

static void count_done(struct job *job, enum replay_pass pass)
{
    *job->work_done += job->events * pass_weights[pass];
    progress_update(job->progress, *job->work_done);
}

/* Record the outcome of a pass. *usable: `result` is valid. False with `error` set: the simulation
 * ends. */
static bool judge_pass(struct job *job, struct entrant *entrant, const struct replay_result *result,
                       const struct child_outcome *outcome, bool *usable, struct error *error)
{
    const struct simulate_request *request = job->request;
    *usable = false;
    switch (outcome->end) {
    case CHILD_FAILED:
        /* A fault of the trace or the replay, unless it is a plug-in, which may have closed the
         * replay's files. */
        if (!plug_in_is(entrant->timed)) {
            return error_set(error, "%s", outcome->reason);
        }
        (void)error_set(error, "the replay could not go on: %s", outcome->reason);
        fail(entrant, "crashed", error->text);
        return true;
    case CHILD_CRASHED:
    case CHILD_EXITED:
    case CHILD_TIMEOUT:
        fail(entrant, outcome->end == CHILD_TIMEOUT ? "timeout" : "crashed", outcome->reason);
        return true;
    case CHILD_DONE:
        break;
    }
    *usable = true;
    if (result->status == REPLAY_NO_MEMORY) {
        char reason[sizeof entrant->reason];
        (void)snprintf(reason, sizeof reason, "%s, with %" PRIu64 " bytes (--memory-limit)",
                       result->reason, request->memory_limit_bytes);
        fail(entrant, "unsupported", reason);
    } else if (result->status != REPLAY_OK) {
        fail(entrant, result->status == REPLAY_FAULT ? "fault" : "unsupported", result->reason);
    }
    if (outcome->misdeed[0] != '\0' && entrant->right) {
        fail(entrant, "fault", outcome->misdeed);
    }
    return true;
}

static bool run_pass(struct job *job, struct entrant *entrant, enum replay_pass pass,
                     struct replay_result *result, bool *usable, struct error *error)
{
    struct child_outcome outcome;
    if (!run_somewhere(job, entrant, pass, result, &outcome, error)) {
        return false;
    }
    count_done(job, pass);
    return judge_pass(job, entrant, result, &outcome, usable, error);
}

/* Refuse structures that would take hours, or cannot be partitioned. */
static bool is_refused(const struct job *job, struct entrant *entrant, uint32_t ids)
{
    if (job->request->ranks != NULL && replay_is_durable(entrant->timed)) {
        fail(entrant, "unsupported",
             "a durable structure belongs to one process, not to several ranks");
        return true;
    }
    if ((entrant->timed->capabilities & TL_CAP_SLOW) == 0 || job->request->slow ||
        ids <= SIMULATE_SLOW_IDS_MAX) {
        return false;
    }
    char reason[200];
    (void)snprintf(reason, sizeof reason,
                   "an operation is linear in the timers, and the trace has %" PRIu32
                   "; --slow runs it all the same",
                   ids);
    fail(entrant, "unsupported", reason);
    return true;
}

/* Return the stored result of a check, or of a structure's latencies. */
static struct replay_result *found_of(const struct job *job, const struct entrant *entrant,
                                      enum replay_pass pass)
{
    const struct trace_row *trace = &job->simulation->traces[job->simulation->trace_count - 1];
    size_t place = (size_t)(entrant - job->entrants);
    return &trace->found[2 * place + (pass == PASS_LATENCY)];
}

/* --- checks ----------------------------------------------------------------------------------- */

/* The checks of a trace. They are not timed, so several run in parallel. */
struct checks {
    struct job *job;
    struct checked {
        bool ran;
        bool made; /* otherwise `error` is set */
        struct error error;
        struct child_outcome outcome;
        /* Without the latencies, which are most of the bytes and come last. */
        char result[offsetof(struct replay_result, latency_ns)];
    } * all; /* of each entrant */
};

/* The floor's figures are not shown, except those of each rank. */
static bool is_checked(const struct job *job, const struct entrant *entrant)
{
    return entrant->right && (entrant->contender != NULL || job->request->ranks != NULL);
}

/* Check one entrant, in a process of its own or in this one. */
static void check_one(void *ctx, size_t number)
{
    const struct checks *checks = ctx;
    struct job *job = checks->job;
    struct entrant *entrant = &job->entrants[number];
    struct checked *checked = &checks->all[number];
    if (!is_checked(job, entrant)) {
        checked->ran = true;
        return;
    }
    struct replay_result *result = memory_bytes(sizeof *result);
    checked->made =
        run_somewhere(job, entrant, PASS_CHECK, result, &checked->outcome, &checked->error);
    memcpy(checked->result, result, sizeof checked->result);
    free(result);
    checked->ran = true;
}

static void check_done(void *ctx)
{
    const struct checks *checks = ctx;
    count_done(checks->job, PASS_CHECK);
}

static bool judge_check(struct job *job, struct entrant *entrant, const struct checked *checked,
                        struct error *error)
{
    bool usable = false;
    struct replay_result *result = found_of(job, entrant, PASS_CHECK);
    if (!is_checked(job, entrant)) {
        return true;
    }
    if (!checked->made) {
        *error = checked->error;
        return false;
    }
    memcpy(result, checked->result, sizeof checked->result);
    if (!judge_pass(job, entrant, result, &checked->outcome, &usable, error)) {
        return false;
    }
    if (!usable) {
        return true;
    }
    entrant->check = result;
    struct trace_row *trace = &job->simulation->traces[job->simulation->trace_count - 1];
    trace->empty_ticks =
        result->empty_ticks > trace->empty_ticks ? result->empty_ticks : trace->empty_ticks;
    if (entrant->judged) {
        keep_faults(job, entrant);
    }
    if (entrant->judged && entrant->right && job->request->drive.budget == 0) {
        keep_fired_set(job, entrant);
    }
    return true;
}

/* Approximate memory of a check for a timer, including the structure. */
#define CHECK_BYTES UINT64_C(256)

/* As many parallel checks as there are processors and memory. */
static unsigned checks_at_once(const struct job *job, uint32_t ids)
{
    if (job->request->ranks != NULL) {
        return 1;
    }
    uint64_t pages = (uint64_t)sysconf(_SC_AVPHYS_PAGES);
    uint64_t room = pages * (uint64_t)sysconf(_SC_PAGESIZE) / (CHECK_BYTES * ((uint64_t)ids + 1));
    uint64_t processors = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t most = room < processors ? room : processors;
    return (unsigned)(most < job->entrant_count ? most : job->entrant_count);
}

static bool check_all(struct job *job, const struct trace_header *header, struct error *error)
{
    struct checks checks = {.job = job};
    size_t bytes = (job->entrant_count + 1) * sizeof *checks.all;
    checks.all = child_memory_new(bytes);
    for (size_t i = 0; i < job->entrant_count; i++) {
        (void)is_refused(job, &job->entrants[i], header->ids);
    }
    const struct side_by_side work = {.count = job->entrant_count,
                                      .processes = checks_at_once(job, header->ids),
                                      .run = check_one,
                                      .done = check_done,
                                      .ctx = &checks};
    if (work.processes > 1) {
        side_by_side(&work);
    }
    bool done = true;
    for (size_t i = 0; i < job->entrant_count && done; i++) {
        if (!checks.all[i].ran) {
            check_one(&checks, i);
            check_done(&checks);
        }
        done = judge_check(job, &job->entrants[i], &checks.all[i], error);
    }
    child_memory_free(checks.all, bytes);
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
static void keep_latency_run(struct job *job, struct entrant *entrant,
                             const struct replay_result *result)
{
    entrant->latency = found_of(job, entrant, PASS_LATENCY);
    for (int op = 0; op < LATENCY_OPS; op++) {
        uint64_t percentiles[LATENCY_PERCENTILES];
        read_percentiles(&result->latency_ns[op], percentiles);
        for (int p = 0; p < LATENCY_PERCENTILES; p++) {
            entrant->latency_ns[op * LATENCY_PERCENTILES + p][entrant->latency_count] =
                (double)percentiles[p];
        }
    }
    replay_merge_latencies(entrant->latency, result);
    entrant->latency_count++;
}

static bool time_one(struct job *job, struct entrant *entrant, struct replay_result *result,
                     struct error *error)
{
    bool usable = false;
    if (!run_pass(job, entrant, PASS_THROUGHPUT, result, &usable, error)) {
        return false;
    }
    if (usable) {
        compare_work(entrant, result);
        if (result->window_events > 0) {
            double events = (double)result->window_events;
            double wall_ns = (double)result->window_ns / events;
            double processor_ns = (double)result->window_processor_ns / events;
            /* A durable structure also waits for its disk. */
            entrant->ns_per_event[entrant->ns_count] =
                replay_is_durable(entrant->timed) ? wall_ns : processor_ns;
            entrant->wall_ns_per_event[entrant->ns_count++] = wall_ns;
        }
    }
    if (!job->request->latency || !entrant->right) {
        return true;
    }
    if (!run_pass(job, entrant, PASS_LATENCY, result, &usable, error)) {
        return false;
    }
    if (usable) {
        compare_work(entrant, result);
        keep_latency_run(job, entrant, result);
    }
    return true;
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

static bool time_all(struct job *job, struct error *error)
{
    struct replay_result *result = memory_bytes(sizeof *result);
    bool done = true;
    for (unsigned run = 0; run < job->request->runs && done && !is_late(job->request, run); run++) {
        for (size_t i = 0; i < job->entrant_count && done; i++) {
            struct entrant *entrant = &job->entrants[simulate_turn(run, i, job->entrant_count)];
            if (entrant->right) {
                done = time_one(job, entrant, result, error);
            } else {
                *job->work_done += job->events * run_weight(job->request);
            }
        }
    }
    free(result);
    return done;
}

/* Time the recovery of a durable structure, in a folder of its own. */
static bool recover_one(struct job *job, struct entrant *entrant, struct replay_result *result,
                        struct error *error)
{
    struct temporary temporary = {0};
    TL_OPTION_VALUES(options);
    const struct tl_algo *algo = entrant->timed;
    const void *own = entrant->options;
    bool usable = false;
    memcpy(options, own, sizeof options);
    if (!temporary_make(&temporary, error)) {
        return false;
    }
    if (!tl_option_read(tl_option_find(algo->options, "path"), options, temporary.file)) {
        temporary_remove(&temporary);
        return error_set(error, "%s: the name of a temporary folder is too long", temporary.file);
    }
    entrant->options = options;
    bool done = run_pass(job, entrant, PASS_RECOVERY, result, &usable, error);
    entrant->options = own;
    temporary_remove(&temporary);
    if (done && usable) {
        compare_work(entrant, result);
        entrant->recovery_ns = result->recovery_ns;
        entrant->recovered = result->recovered;
    }
    return done;
}

static bool recover_all(struct job *job, struct error *error)
{
    struct replay_result *result = memory_bytes(sizeof *result);
    bool done = true;
    for (size_t i = 0; i < job->entrant_count && done && job->request->runs > 0; i++) {
        struct entrant *entrant = &job->entrants[i];
        if (replay_is_durable(entrant->timed) && entrant->right) {
            done = recover_one(job, entrant, result, error);
        }
    }
    free(result);
    return done;
}

/* --- figures --------------------------------------------------------------------------------- */

static bool fill_rows(struct job *job, const struct trace_header *header, bool *all_right,
                      struct error *error)
{
    const struct entrant *floor = NULL;
    for (size_t i = 0; i < job->entrant_count; i++) {
        if (!job->entrants[i].judged && job->entrants[i].ns_count > 0) {
            floor = &job->entrants[i];
        }
    }
    for (size_t i = 0; i < job->entrant_count; i++) {
        struct entrant *entrant = &job->entrants[i];
        if (entrant->right && entrant->latency != NULL) {
            keep_latency(job, entrant);
        }
        if (entrant->by_rank != NULL && entrant->check != NULL) {
            keep_ranks(job, entrant);
        }
        if (entrant->contender == NULL) {
            if (!entrant->right) {
                return error_set(error, "%s: the harness's own floor failed: %s", job->trace_name,
                                 entrant->reason);
            }
            continue;
        }
        add_result_row(job, entrant, header, floor);
        if (entrant->right && entrant->judged && entrant->check->counts &&
            entrant->check->work.count > 0) {
            keep_work(job, entrant);
        }
        *all_right = *all_right && (entrant->right || strcmp(entrant->status, "unsupported") == 0);
    }
    return true;
}

/* --- traces ----------------------------------------------------------------------------------- */

static bool open_entrants(struct job *job, bool closed_loop, struct error *error)
{
    const struct simulate_request *request = job->request;
    size_t count = request->contenders->count;
    bool floor_is_a_row = false;
    job->entrants = memory_new(count + 1, sizeof *job->entrants);
    for (size_t i = 0; i <= count; i++) {
        struct entrant *entrant = &job->entrants[i];
        if (i == count && (request->floor == NULL || floor_is_a_row)) {
            break;
        }
        entrant->contender = i < count ? &request->contenders->items[i] : NULL;
        entrant->counted = simulate_entrant(request, i, PASS_CHECK, &entrant->options);
        entrant->timed = simulate_entrant(request, i, PASS_THROUGHPUT, &entrant->options);
        bool taped =
            (closed_loop || request->drive.service_ns > 0 || request->drive.kind == DRIVE_SLACK) &&
            request->ranks == NULL;
        entrant->tape = taped ? tape_create(error) : NULL;
        if (taped && entrant->tape == NULL) {
            return false;
        }
        entrant->status = "ok";
        entrant->right = true;
        entrant->judged = (entrant->timed->capabilities & TL_CAP_FIRES_NOTHING) == 0;
        floor_is_a_row = floor_is_a_row || !entrant->judged;
        job->entrant_count = i + 1;
        entrant->ns_per_event = memory_new(request->runs + 1, sizeof *entrant->ns_per_event);
        entrant->wall_ns_per_event =
            memory_new(request->runs + 1, sizeof *entrant->wall_ns_per_event);
        if (request->ranks != NULL) {
            entrant->by_rank = memory_new(request->ranks->ranks, sizeof *entrant->by_rank);
        }
        for (int c = 0; c < LATENCY_COLUMNS; c++) {
            entrant->latency_ns[c] = memory_new(request->runs + 1, sizeof *entrant->latency_ns[c]);
        }
    }
    return true;
}

static void close_entrants(struct job *job)
{
    for (size_t i = 0; i < job->entrant_count; i++) {
        tape_close(job->entrants[i].tape);
        free(job->entrants[i].ns_per_event);
        free(job->entrants[i].by_rank);
        free(job->entrants[i].wall_ns_per_event);
        for (int c = 0; c < LATENCY_COLUMNS; c++) {
            free(job->entrants[i].latency_ns[c]);
        }
    }
    free(job->entrants);
}

/* Run all passes over a trace, and add their rows. */
static bool simulate_described(struct job *job, const struct trace_header *header, bool *all_right,
                               struct error *error)
{
    const struct replay_window *window = &job->request->window;
    if (window->asked && window->from_tick > header->end_tick) {
        return error_set(
            error, "--window: it begins at tick %" PRIu64 ", after the end of %s at tick %" PRIu64,
            window->from_tick, job->trace_path, header->end_tick);
    }
    keep_found(job, 2 * (job->request->contenders->count + 1));
    bool done = open_entrants(job, header->reactions > 0, error) && check_all(job, header, error) &&
                time_all(job, error) && (job->request->ranks != NULL || recover_all(job, error)) &&
                fill_rows(job, header, all_right, error);
    close_entrants(job);
    return done;
}

/* Let the ranks make their partitions of a file, which must be the same for all. */
static bool share_out(struct job *job, const struct trace_header *header, struct error *error)
{
    const struct simulate_ranks *ranks = job->request->ranks;
    uint64_t checksum;
    struct trace_header whole;
    if (!ranks->open(ranks->ctx, job->trace_number, &whole, &checksum, error)) {
        return false;
    }
    return (whole.events == header->events && whole.ids == header->ids &&
            whole.reactions == header->reactions) ||
           error_set(error,
                     "%s: the ranks' partitions have %" PRIu64 " operations, it has %" PRIu64
                     "; it must be the same file for every rank",
                     job->trace_path, whole.events, header->events);
}

/* Lower bound of the check's memory for a timer, and for one with an expiry that may trigger
 * operations. */
#define ORACLE_BYTES UINT64_C(16)
#define LOOP_BYTES   UINT64_C(20)

/* Refuse more ids than the machine has memory for: a damaged header can name any number. */
static bool has_room(const struct job *job, const struct trace_header *header, struct error *error)
{
    uint64_t bytes = header->ids * (ORACLE_BYTES + (header->reactions > 0 ? LOOP_BYTES : 0));
    return bytes <= simulate_default_memory_limit() ||
           error_set(error,
                     "%s: to check its %" PRIu32
                     " timers takes %.1f GB of memory, which this machine does not have; if few of "
                     "them are named, " TRACE_IDS_REMEDY,
                     job->trace_path, header->ids, (double)bytes / 1e9);
}

static bool simulate_trace(struct job *job, bool *all_right, struct error *error)
{
    struct trace_reader *reader = trace_reader_open(job->trace_path, error);
    if (reader == NULL) {
        return false;
    }
    const struct trace_header *header = trace_reader_header(reader);
    job->events = header->events + 1;
    const struct simulate_ranks *ranks = job->request->ranks;
    bool done =
        trace_ids_check(reader, job->trace_path, error) &&
        (ranks != NULL || has_room(job, header, error)) && keep_trace(job, reader, error) &&
        (ranks != NULL ? share_out(job, header, error)
                       : (job->stream = stream_decode(reader, STREAM_HALF_FREE, error)) != NULL) &&
        simulate_described(job, header, all_right, error);
    stream_close(job->stream);
    trace_reader_close(reader);
    return done;
}

/* Simulate a trace that the ranks generate. */
static bool simulate_generated(struct job *job, bool *all_right, struct error *error)
{
    const struct simulate_ranks *ranks = job->request->ranks;
    uint64_t checksum = 0;
    struct trace_header header;
    if (!ranks->open(ranks->ctx, job->trace_number, &header, &checksum, error)) {
        return false;
    }
    job->events = header.events + 1;
    keep_generated(job, &header, checksum);
    return simulate_described(job, &header, all_right, error);
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
    uint64_t work_done = 0;
    struct progress progress;
    progress_begin(&progress, "replaying", "operations", expect_work(request));
    bool done = true;
    for (size_t i = 0; i < request->trace_count && done; i++) {
        struct job job = {.request = request,
                          .simulation = simulation,
                          .trace_path = request->traces[i],
                          .trace_number = i,
                          .progress = &progress,
                          .work_done = &work_done};
        done = request->ranks != NULL && request->ranks->generated
                   ? simulate_generated(&job, all_right, error)
                   : simulate_trace(&job, all_right, error);
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
