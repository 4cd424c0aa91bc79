#include "rank_group.h"

#include "memory.h"
#include "tape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum order_kind { ORDER_MAKE, ORDER_PASS, ORDER_END };

/* What rank 0 says to all. Plain data, as the answer is. */
struct order {
    enum order_kind kind;
    enum replay_pass pass;
    uint64_t trace;   /* make: which of them */
    uint64_t subject; /* pass: which structure */
    uint64_t least_warmup_ticks;
    uint64_t max_delay_ticks; /* of the whole */
};

struct answer {
    bool done; /* otherwise `error` says why not */
    struct error error;
    char host[64];
    struct trace_header header;
    struct child_outcome outcome;
    struct replay_result result;
};

/* A rank, with its part of the trace that is being replayed. */
struct worker {
    uint32_t rank;
    struct partition partition;
    struct stream *stream; /* the partition, decoded */
    bool made;
    uint64_t trace;
    struct tape **tapes; /* one for each structure and the floor, if its partition has reactions */
};

struct rank_group {
    const struct rank_plan *plan;
    struct simulate_ranks ranks;
    struct worker *workers; /* those of this process */
    uint32_t worker_count;
    size_t subject_count;
    struct answer *answer;
    struct trace_header whole;
    bool unlike; /* they are not all the same */
    bool failed; /* the post: no more messages are sent */
};

/* --- a rank ---------------------------------------------------------------------------------- */

static void close_partition(struct rank_group *group, struct worker *worker)
{
    for (size_t i = 0; worker->tapes != NULL && i < group->subject_count; i++) {
        tape_close(worker->tapes[i]);
    }
    free(worker->tapes);
    worker->tapes = NULL;
    stream_close(worker->stream);
    worker->stream = NULL;
    partition_close(&worker->partition);
    worker->made = false;
}

static bool open_tapes(const struct rank_group *group, struct worker *worker, struct error *error)
{
    worker->tapes = memory_new(group->subject_count, sizeof *worker->tapes);
    for (size_t i = 0; i < group->subject_count && worker->partition.header.reactions > 0; i++) {
        worker->tapes[i] = tape_create(error);
        if (worker->tapes[i] == NULL) {
            return false;
        }
    }
    return true;
}

static bool make(struct rank_group *group, struct worker *worker, const struct order *order,
                 struct answer *answer)
{
    const struct rank_plan *plan = group->plan;
    struct partition *partition = &worker->partition;
    bool is_it = worker->made && worker->trace == order->trace &&
                 partition->header.warmup_end_tick == order->least_warmup_ticks;
    if (!is_it) {
        close_partition(group, worker);
        worker->trace = order->trace;
        worker->made =
            (plan->traffic != NULL
                 ? partition_generate(partition, plan->traffic, worker->rank, group->ranks.ranks,
                                      order->least_warmup_ticks, &answer->error)
                 : partition_cut(partition, plan->request->traces[order->trace], worker->rank,
                                 group->ranks.ranks, &answer->error)) &&
            (worker->stream = stream_open(partition->path, &answer->error)) != NULL &&
            open_tapes(group, worker, &answer->error);
    }
    answer->header = partition->header;
    return worker->made;
}

/* Rename the timers and operations of a pass's messages to those of the whole trace. Oracle and
 * digest have renamed the timers already. */
static void name_places(const struct partition *partition, struct replay_result *result)
{
    for (size_t i = 0; i < result->verdict.fault_count && i < ORACLE_FAULTS_KEPT; i++) {
        struct fault *fault = &result->verdict.first[i];
        fault->event = partition_event(partition, fault->event);
    }
    for (int op = 0; op < LATENCY_OPS; op++) {
        struct replay_worst *worst = &result->worst[op];
        if (worst->ns > 0) {
            worst->event = partition_event(partition, worst->event);
            worst->id = op == LATENCY_ADVANCE ? 0 : partition_name(partition, worst->id);
        }
    }
}

static bool run_pass(struct rank_group *group, struct worker *worker, const struct order *order,
                     struct answer *answer)
{
    const struct simulate_request *request = group->plan->request;
    const struct partition *partition = &worker->partition;
    struct replay_request pass = {.stream = worker->stream,
                                  .pass = order->pass,
                                  .window = request->window,
                                  .tape = worker->tapes[order->subject],
                                  .max_delay_ticks = order->max_delay_ticks,
                                  .names = partition->names};
    pass.algo = simulate_entrant(request, order->subject, order->pass, &pass.options);
    if (group->ranks.ranks > 1 && !pass.window.asked) {
        /* At the same tick on all, whenever their operations come. */
        pass.window = (struct replay_window){.asked = true,
                                             .from_tick = partition->header.warmup_end_tick,
                                             .to_tick = TRACE_TICK_MAX};
    }
    if (!simulate_pass(request, &pass, &answer->result, &answer->outcome, &answer->error)) {
        return false;
    }
    if (answer->outcome.end == CHILD_DONE) {
        name_places(partition, &answer->result);
    }
    return true;
}

static void do_order(struct rank_group *group, struct worker *worker, const struct order *order,
                     struct answer *answer)
{
    memset(answer, 0, sizeof *answer);
    (void)gethostname(answer->host, sizeof answer->host - 1);
    answer->done = order->kind == ORDER_MAKE ? make(group, worker, order, answer)
                                             : run_pass(group, worker, order, answer);
}

bool rank_group_serve(struct rank_group *group, struct error *error)
{
    const struct rank_post *post = group->plan->post;
    struct order order;
    while (post->receive(post->ctx, 0, &order, sizeof order, error)) {
        if (order.kind == ORDER_END) {
            return true;
        }
        do_order(group, group->workers, &order, group->answer);
        if (!post->send(post->ctx, 0, group->answer, sizeof *group->answer, error)) {
            break;
        }
    }
    return false;
}

/* --- merged results --------------------------------------------------------------------------- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Prefix a text with its rank, truncated to its size. */
static void sign(char *text, size_t bytes, uint32_t rank)
{
    char mark[32];
    if (text[0] == '\0') {
        return;
    }
    size_t length = (size_t)snprintf(mark, sizeof mark, "rank %" PRIu32 ": ", rank);
    size_t kept = strnlen(text, bytes - 1 - length);
    memmove(text + length, text, kept);
    memcpy(text, mark, length);
    text[length + kept] = '\0';
}

static void merge_lateness(struct verdict *all, const struct verdict *one)
{
    if (one->early_ticks.total + one->late_ticks.total == 0) {
        return;
    }
    bool first = all->early_ticks.total + all->late_ticks.total == 0;
    if (first || one->lateness_min < all->lateness_min) {
        all->lateness_min = one->lateness_min;
    }
    if (first || one->lateness_max > all->lateness_max) {
        all->lateness_max = one->lateness_max;
    }
    histogram_merge(&all->early_ticks, &one->early_ticks);
    histogram_merge(&all->late_ticks, &one->late_ticks);
}

static void merge_faults(struct verdict *all, const struct verdict *one, uint32_t rank)
{
    for (uint64_t i = 0; i < one->fault_count && i < ORACLE_FAULTS_KEPT &&
                         all->fault_count + i < ORACLE_FAULTS_KEPT;
         i++) {
        struct fault *fault = &all->first[all->fault_count + i];
        *fault = one->first[i];
        sign(fault->detail, sizeof fault->detail, rank);
    }
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++) {
        all->faults[kind] += one->faults[kind];
    }
    all->fault_count += one->fault_count;
}

static void merge_verdict(struct verdict *all, const struct verdict *one, uint32_t rank)
{
    all->events += one->events;
    all->starts += one->starts;
    all->restarts += one->restarts;
    all->stops += one->stops;
    all->fired += one->fired;
    all->drained += one->drained;
    all->averted += one->averted;
    all->declared.early_ticks = larger(all->declared.early_ticks, one->declared.early_ticks);
    all->declared.late_ticks = larger(all->declared.late_ticks, one->declared.late_ticks);
    merge_faults(all, one, rank);
    merge_lateness(all, one);
}

/* The more serious status prevails; of equal ones the first. */
static void merge_status(struct replay_result *all, const struct replay_result *one, uint32_t rank)
{
    static const unsigned weight[] = {
        [REPLAY_OK] = 0, [REPLAY_UNSUPPORTED] = 1, [REPLAY_NO_MEMORY] = 2, [REPLAY_FAULT] = 3};
    if (weight[one->status] > weight[all->status]) {
        all->status = one->status;
        memcpy(all->reason, one->reason, sizeof all->reason);
        sign(all->reason, sizeof all->reason, rank);
    }
}

static void merge_work(struct replay_result *all, const struct replay_result *one)
{
    all->counts = all->counts && one->counts;
    tl_counters_add(&all->counters, &one->counters);
    all->wakeups += one->wakeups;
    all->idle_wakeups += one->idle_wakeups;
    all->empty_ticks = larger(all->empty_ticks, one->empty_ticks);
    all->allocations += one->allocations;
    all->bytes_fixed += one->bytes_fixed;
    all->bytes_peak += one->bytes_peak;
    all->bytes_drained += one->bytes_drained;
    work_merge(&all->work, &one->work);
}

/* Merge a rank's results into those of the ranks before it; call it for each rank, from 0 on.
 * Counts and memory are sums, histograms are merged, and the time is that of the slowest rank,
 * since ranks run in parallel. A fault of one is a fault of all. */
static void rank_merge(struct replay_result *all, const struct replay_result *one, uint32_t rank)
{
    if (rank == 0) {
        memset(all, 0, sizeof *all);
        all->counts = one->counts;
        all->exact = one->exact;
        all->work = one->work;
        memset(all->work.stretches, 0, sizeof all->work.stretches);
    }
    merge_status(all, one, rank);
    merge_verdict(&all->verdict, &one->verdict, rank);
    merge_work(all, one);
    replay_merge_latencies(all, one);
    all->ids += one->ids;
    all->window_events += one->window_events;
    all->window_fired += one->window_fired;
    all->window_ns = larger(all->window_ns, one->window_ns);
    all->window_processor_ns = larger(all->window_processor_ns, one->window_processor_ns);
    all->digest += one->digest;
    all->named_digest += one->named_digest;
    all->operations_digest += one->operations_digest;
    all->reactions += one->reactions;
    all->not_reached += one->not_reached;
}

/* The same of how it ended: the first that did not end well says how; before all others one that
 * failed for no structure's fault. */
static void rank_merge_outcome(struct child_outcome *all, const struct child_outcome *one,
                               uint32_t rank)
{
    if (rank == 0) {
        *all = *one;
        sign(all->reason, sizeof all->reason, rank);
        return;
    }
    uint64_t output_bytes = all->output_bytes + one->output_bytes;
    if (one->end != CHILD_DONE && all->end != CHILD_FAILED &&
        (all->end == CHILD_DONE || one->end == CHILD_FAILED)) {
        *all = *one;
        sign(all->reason, sizeof all->reason, rank);
    }
    all->output_bytes = output_bytes;
}

/* Add the results of a pass to a rank's figures. */
static void rank_figures_add(struct rank_figures *figures, enum replay_pass pass,
                             const struct replay_result *result)
{
    if (pass == PASS_CHECK) {
        figures->timers = (uint32_t)result->ids;
        figures->events = result->verdict.events;
        figures->fired = result->verdict.fired;
        figures->bytes_peak = result->bytes_peak;
    } else if (pass == PASS_THROUGHPUT) {
        figures->window_events += result->window_events;
        figures->window_ns += result->window_ns;
    }
}

/* --- all of them ----------------------------------------------------------------------------- */

static bool tell_others(struct rank_group *group, const struct order *order, struct error *error)
{
    const struct rank_post *post = group->plan->post;
    for (uint32_t rank = 1; post != NULL && rank < post->ranks && !group->failed; rank++) {
        group->failed = !post->send(post->ctx, rank, order, sizeof *order, error);
    }
    return !group->failed;
}

static void take_header(struct rank_group *group, uint32_t rank)
{
    const struct trace_header *one = &group->answer->header;
    struct trace_header *all = &group->whole;
    if (rank == 0) {
        *all = *one;
        group->unlike = false;
        return;
    }
    group->unlike = group->unlike || one->warmup_end_tick != all->warmup_end_tick;
    all->events += one->events;
    all->starts += one->starts;
    all->stops += one->stops;
    all->reactions += one->reactions;
    all->ids += one->ids < UINT32_MAX - all->ids ? one->ids : UINT32_MAX - all->ids;
    all->causes_known = all->causes_known && one->causes_known;
    if (one->warmup_end_tick > all->warmup_end_tick) {
        all->warmup_end_tick = one->warmup_end_tick;
        all->end_tick = one->end_tick;
    }
    all->max_delay_ticks = larger(all->max_delay_ticks, one->max_delay_ticks);
    all->max_slack_ticks = (uint32_t)larger(all->max_slack_ticks, one->max_slack_ticks);
}

/* Where a pass's answers go. */
struct pass_answers {
    struct replay_result *result;
    struct child_outcome *outcome;
    struct rank_figures *by_rank;
};

static void take_pass(const struct pass_answers *answers, enum replay_pass pass, uint32_t rank,
                      const struct answer *answer)
{
    rank_merge(answers->result, &answer->result, rank);
    rank_merge_outcome(answers->outcome, &answer->outcome, rank);
    memcpy(answers->by_rank[rank].host, answer->host, sizeof answer->host);
    rank_figures_add(&answers->by_rank[rank], pass, &answer->result);
}

/* Send an order to all ranks, and merge their answers, rank by rank: those of a pass in `answers`.
 * False, with `error` set, if one of them failed. */
static bool do_all(struct rank_group *group, const struct order *order,
                   const struct pass_answers *answers, struct error *error)
{
    const struct rank_post *post = group->plan->post;
    bool done = tell_others(group, order, error);
    for (uint32_t rank = 0; rank < group->ranks.ranks && !group->failed; rank++) {
        struct answer *answer = group->answer;
        if (rank < group->worker_count) {
            do_order(group, &group->workers[rank], order, answer);
        } else if (!post->receive(post->ctx, rank, answer, sizeof *answer, error)) {
            group->failed = true;
            return false;
        }
        if (answer->done && answers != NULL) {
            take_pass(answers, order->pass, rank, answer);
        } else if (answer->done) {
            take_header(group, rank);
        } else if (done) {
            done = error_set(error, "rank %" PRIu32 " on %s: %s", rank, answer->host,
                             answer->error.text);
        }
    }
    return done;
}

static uint64_t checksum_of(const struct partition_traffic *traffic)
{
    size_t rows = 0;
    while (traffic->workload->parameters[rows].name != NULL) {
        rows++;
    }
    uint64_t sum = XXH3_64bits(traffic->workload->name, strlen(traffic->workload->name));
    sum = XXH3_64bits_withSeed(traffic->parameters, rows * sizeof *traffic->parameters, sum);
    const uint64_t numbers[] = {traffic->connections, partition_slices(traffic), traffic->seed};
    sum = XXH3_64bits_withSeed(numbers, sizeof numbers, sum);
    return XXH3_64bits_withSeed(&traffic->seconds, sizeof traffic->seconds, sum);
}

static bool open_trace(void *ctx, size_t trace, struct trace_header *whole, uint64_t *checksum,
                       struct error *error)
{
    struct rank_group *group = ctx;
    struct order order = {.kind = ORDER_MAKE, .trace = trace};
    if (!do_all(group, &order, NULL, error)) {
        return false;
    }
    if (group->unlike) {
        order.least_warmup_ticks = group->whole.warmup_end_tick;
        if (!do_all(group, &order, NULL, error)) {
            return false;
        }
    }
    *whole = group->whole;
    *checksum = group->plan->traffic != NULL ? checksum_of(group->plan->traffic) : 0;
    return true;
}

static bool pass_all(void *ctx, size_t subject, enum replay_pass pass, struct replay_result *result,
                     struct child_outcome *outcome, struct rank_figures *by_rank,
                     struct error *error)
{
    struct rank_group *group = ctx;
    const struct order order = {.kind = ORDER_PASS,
                                .pass = pass,
                                .subject = subject,
                                .max_delay_ticks = group->whole.max_delay_ticks};
    const struct pass_answers answers = {result, outcome, by_rank};
    return do_all(group, &order, &answers, error);
}

/* --- from beginning to end ------------------------------------------------------------------- */

struct rank_group *rank_group_open(const struct rank_plan *plan)
{
    struct rank_group *group = memory_new(1, sizeof *group);
    group->plan = plan;
    group->worker_count = plan->post != NULL ? 1 : plan->in_turn;
    group->subject_count = plan->request->contenders->count + 1;
    group->ranks =
        (struct simulate_ranks){.ranks = plan->post != NULL ? plan->post->ranks : plan->in_turn,
                                .in_turn = plan->post == NULL && plan->in_turn > 1,
                                .generated = plan->traffic != NULL,
                                .open = open_trace,
                                .pass = pass_all,
                                .ctx = group};
    group->workers = memory_new(group->worker_count, sizeof *group->workers);
    group->answer = memory_bytes(sizeof *group->answer);
    for (uint32_t i = 0; i < group->worker_count; i++) {
        group->workers[i].rank = plan->post != NULL ? plan->post->rank : i;
    }
    return group;
}

const struct simulate_ranks *rank_group_ranks(const struct rank_group *group)
{
    return &group->ranks;
}

void rank_group_close(struct rank_group *group)
{
    if (group == NULL) {
        return;
    }
    const struct order end = {.kind = ORDER_END};
    struct error unheard;
    if (group->plan->post != NULL && group->plan->post->rank == 0 && !group->failed) {
        (void)tell_others(group, &end, &unheard);
    }
    for (uint32_t i = 0; i < group->worker_count; i++) {
        close_partition(group, &group->workers[i]);
    }
    free(group->workers);
    free(group->answer);
    free(group);
}
