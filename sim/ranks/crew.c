#include "crew.h"

#include "memory.h"
#include "rank_merge.h"
#include "tape.h"

#include <inttypes.h>
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
    struct share_facts facts;
    struct child_outcome outcome;
    struct replay_result result;
};

/* A rank, with what it has of the trace that is being replayed. */
struct worker {
    uint32_t rank;
    struct share share;
    struct stream *stream; /* the share, decoded */
    bool made;
    uint64_t trace;
    struct tape **tapes; /* one for each structure and the floor, if its share has reactions */
};

struct crew {
    const struct crew_plan *plan;
    struct simulate_ranks ranks;
    struct worker *workers; /* those of this process */
    uint32_t worker_count;
    size_t subject_count;
    struct answer *answer;
    struct share_facts whole;
    bool unlike; /* they are not all the same */
    bool failed; /* the post: no more messages are sent */
};

/* --- a rank ---------------------------------------------------------------------------------- */

static void close_share(struct crew *crew, struct worker *worker)
{
    for (size_t i = 0; worker->tapes != NULL && i < crew->subject_count; i++) {
        tape_close(worker->tapes[i]);
    }
    free(worker->tapes);
    worker->tapes = NULL;
    stream_close(worker->stream);
    worker->stream = NULL;
    share_close(&worker->share);
    worker->made = false;
}

static bool open_tapes(const struct crew *crew, struct worker *worker, struct error *error)
{
    worker->tapes = memory_new(crew->subject_count, sizeof *worker->tapes);
    for (size_t i = 0; i < crew->subject_count && worker->share.facts.reactions > 0; i++) {
        worker->tapes[i] = tape_create(error);
        if (worker->tapes[i] == NULL) {
            return false;
        }
    }
    return true;
}

static bool make(struct crew *crew, struct worker *worker, const struct order *order,
                 struct answer *answer)
{
    const struct crew_plan *plan = crew->plan;
    struct share *share = &worker->share;
    bool is_it = worker->made && worker->trace == order->trace &&
                 share->facts.warmup_end_tick == order->least_warmup_ticks;
    if (!is_it) {
        close_share(crew, worker);
        worker->trace = order->trace;
        worker->made = (plan->traffic != NULL
                            ? share_generate(share, plan->traffic, worker->rank, crew->ranks.ranks,
                                             order->least_warmup_ticks, &answer->error)
                            : share_cut(share, plan->request->traces[order->trace], worker->rank,
                                        crew->ranks.ranks, &answer->error)) &&
                       (worker->stream = stream_open(share->path, &answer->error)) != NULL &&
                       open_tapes(crew, worker, &answer->error);
    }
    answer->facts = share->facts;
    return worker->made;
}

/* What a pass says of timers and operations is said of the whole's. Oracle and digest have done so
 * with the timers. */
static void name_places(const struct share *share, struct replay_result *result)
{
    for (size_t i = 0; i < result->verdict.fault_count && i < ORACLE_FAULTS_KEPT; i++) {
        struct fault *fault = &result->verdict.first[i];
        fault->event = share_event(share, fault->event);
    }
    for (int op = 0; op < LATENCY_OPS; op++) {
        struct replay_worst *worst = &result->worst[op];
        if (worst->ns > 0) {
            worst->event = share_event(share, worst->event);
            worst->id = op == LATENCY_ADVANCE ? 0 : share_name(share, worst->id);
        }
    }
}

static bool run_pass(struct crew *crew, struct worker *worker, const struct order *order,
                     struct answer *answer)
{
    const struct simulate_request *request = crew->plan->request;
    const struct share *share = &worker->share;
    struct replay_request pass = {.stream = worker->stream,
                                  .pass = order->pass,
                                  .window = request->window,
                                  .tape = worker->tapes[order->subject],
                                  .max_delay_ticks = order->max_delay_ticks,
                                  .names = share->names};
    pass.algo = simulate_entrant(request, order->subject, order->pass, &pass.options);
    if (crew->ranks.ranks > 1 && !pass.window.asked) {
        /* At the same tick on all, whenever their operations come. */
        pass.window = (struct replay_window){
            .asked = true, .from_tick = share->facts.warmup_end_tick, .to_tick = TRACE_TICK_MAX};
    }
    if (!simulate_pass(request, &pass, &answer->result, &answer->outcome, &answer->error)) {
        return false;
    }
    if (answer->outcome.end == CHILD_DONE) {
        name_places(share, &answer->result);
    }
    return true;
}

static void do_order(struct crew *crew, struct worker *worker, const struct order *order,
                     struct answer *answer)
{
    memset(answer, 0, sizeof *answer);
    (void)gethostname(answer->host, sizeof answer->host - 1);
    answer->done = order->kind == ORDER_MAKE ? make(crew, worker, order, answer)
                                             : run_pass(crew, worker, order, answer);
}

bool crew_serve(struct crew *crew, struct error *error)
{
    const struct crew_post *post = crew->plan->post;
    struct order order;
    while (post->receive(post->ctx, 0, &order, sizeof order, error)) {
        if (order.kind == ORDER_END) {
            return true;
        }
        do_order(crew, crew->workers, &order, crew->answer);
        if (!post->send(post->ctx, 0, crew->answer, sizeof *crew->answer, error)) {
            break;
        }
    }
    return false;
}

/* --- all of them ----------------------------------------------------------------------------- */

typedef void take_fn(void *ctx, uint32_t rank, const struct answer *answer);

static bool tell_others(struct crew *crew, const struct order *order, struct error *error)
{
    const struct crew_post *post = crew->plan->post;
    for (uint32_t rank = 1; post != NULL && rank < post->ranks && !crew->failed; rank++) {
        crew->failed = !post->send(post->ctx, rank, order, sizeof *order, error);
    }
    return !crew->failed;
}

/* Has all do something, and takes what they answer, rank by rank. False, with `error` set, if one
 * could not do it. */
static bool do_all(struct crew *crew, const struct order *order, take_fn *take, void *ctx,
                   struct error *error)
{
    const struct crew_post *post = crew->plan->post;
    bool done = tell_others(crew, order, error);
    for (uint32_t rank = 0; rank < crew->ranks.ranks && !crew->failed; rank++) {
        struct answer *answer = crew->answer;
        if (rank < crew->worker_count) {
            do_order(crew, &crew->workers[rank], order, answer);
        } else if (!post->receive(post->ctx, rank, answer, sizeof *answer, error)) {
            crew->failed = true;
            return false;
        }
        if (answer->done) {
            take(ctx, rank, answer);
        } else if (done) {
            done = error_set(error, "rank %" PRIu32 " on %s: %s", rank, answer->host,
                             answer->error.text);
        }
    }
    return done;
}

static void take_facts(void *ctx, uint32_t rank, const struct answer *answer)
{
    struct crew *crew = ctx;
    const struct share_facts *one = &answer->facts;
    struct share_facts *all = &crew->whole;
    if (rank == 0) {
        *all = *one;
        crew->unlike = false;
        return;
    }
    crew->unlike = crew->unlike || one->warmup_end_tick != all->warmup_end_tick;
    all->events += one->events;
    all->starts += one->starts;
    all->stops += one->stops;
    all->reactions += one->reactions;
    all->ids += one->ids;
    all->causes_known = all->causes_known && one->causes_known;
    if (one->warmup_end_tick > all->warmup_end_tick) {
        all->warmup_end_tick = one->warmup_end_tick;
        all->end_tick = one->end_tick;
    }
    if (one->max_delay_ticks > all->max_delay_ticks) {
        all->max_delay_ticks = one->max_delay_ticks;
    }
}

static uint64_t checksum_of(const struct share_traffic *traffic)
{
    size_t rows = 0;
    while (traffic->workload->parameters[rows].name != NULL) {
        rows++;
    }
    uint64_t sum = XXH3_64bits(traffic->workload->name, strlen(traffic->workload->name));
    sum = XXH3_64bits_withSeed(traffic->parameters, rows * sizeof *traffic->parameters, sum);
    const uint64_t numbers[] = {traffic->connections, share_slices(traffic), traffic->seed};
    sum = XXH3_64bits_withSeed(numbers, sizeof numbers, sum);
    return XXH3_64bits_withSeed(&traffic->seconds, sizeof traffic->seconds, sum);
}

static bool open_trace(void *ctx, size_t trace, struct trace_header *whole, uint64_t *checksum,
                       struct error *error)
{
    struct crew *crew = ctx;
    struct order order = {.kind = ORDER_MAKE, .trace = trace};
    if (!do_all(crew, &order, take_facts, crew, error)) {
        return false;
    }
    if (crew->unlike) {
        order.least_warmup_ticks = crew->whole.warmup_end_tick;
        if (!do_all(crew, &order, take_facts, crew, error)) {
            return false;
        }
    }
    const struct share_facts *facts = &crew->whole;
    *whole = (struct trace_header){
        .tick_ns = facts->tick_ns,
        .events = facts->events,
        .starts = facts->starts,
        .stops = facts->stops,
        .reactions = facts->reactions,
        .warmup_end_tick = facts->warmup_end_tick,
        .end_tick = facts->end_tick,
        .max_delay_ticks = facts->max_delay_ticks,
        .ids = facts->ids < UINT32_MAX ? (uint32_t)facts->ids : UINT32_MAX,
        .causes_known = facts->causes_known,
        .origin = "{}",
    };
    *checksum = crew->plan->traffic != NULL ? checksum_of(crew->plan->traffic) : 0;
    return true;
}

/* Where a pass's answers go. */
struct pass_answers {
    enum replay_pass pass;
    struct replay_result *result;
    struct child_outcome *outcome;
    struct rank_figures *by_rank;
};

static void take_pass(void *ctx, uint32_t rank, const struct answer *answer)
{
    const struct pass_answers *answers = ctx;
    rank_merge(answers->result, &answer->result, rank);
    rank_merge_outcome(answers->outcome, &answer->outcome, rank);
    memcpy(answers->by_rank[rank].host, answer->host, sizeof answer->host);
    rank_figures_add(&answers->by_rank[rank], answers->pass, &answer->result);
}

static bool pass_all(void *ctx, size_t subject, enum replay_pass pass, struct replay_result *result,
                     struct child_outcome *outcome, struct rank_figures *by_rank,
                     struct error *error)
{
    struct crew *crew = ctx;
    const struct order order = {.kind = ORDER_PASS,
                                .pass = pass,
                                .subject = subject,
                                .max_delay_ticks = crew->whole.max_delay_ticks};
    struct pass_answers answers = {
        .pass = pass, .result = result, .outcome = outcome, .by_rank = by_rank};
    return do_all(crew, &order, take_pass, &answers, error);
}

/* --- from beginning to end ------------------------------------------------------------------- */

struct crew *crew_open(const struct crew_plan *plan)
{
    struct crew *crew = memory_new(1, sizeof *crew);
    crew->plan = plan;
    crew->worker_count = plan->post != NULL ? 1 : plan->in_turn;
    crew->subject_count = plan->request->contenders->count + 1;
    crew->ranks =
        (struct simulate_ranks){.ranks = plan->post != NULL ? plan->post->ranks : plan->in_turn,
                                .in_turn = plan->post == NULL && plan->in_turn > 1,
                                .generated = plan->traffic != NULL,
                                .open = open_trace,
                                .pass = pass_all,
                                .ctx = crew};
    crew->workers = memory_new(crew->worker_count, sizeof *crew->workers);
    crew->answer = memory_bytes(sizeof *crew->answer);
    for (uint32_t i = 0; i < crew->worker_count; i++) {
        crew->workers[i].rank = plan->post != NULL ? plan->post->rank : i;
    }
    return crew;
}

const struct simulate_ranks *crew_ranks(const struct crew *crew)
{
    return &crew->ranks;
}

void crew_close(struct crew *crew)
{
    if (crew == NULL) {
        return;
    }
    const struct order end = {.kind = ORDER_END};
    struct error unheard;
    if (crew->plan->post != NULL && crew->plan->post->rank == 0 && !crew->failed) {
        (void)tell_others(crew, &end, &unheard);
    }
    for (uint32_t i = 0; i < crew->worker_count; i++) {
        close_share(crew, &crew->workers[i]);
    }
    free(crew->workers);
    free(crew->answer);
    free(crew);
}
