/*
 * rpc: requests with a deadline. A caller starts a timer with each request; the reply stops it, or
 * it expires. What share is cancelled is given, not a consequence: replies come when a log-normal
 * variable says, given that they come in time.
 */
#include "gen_model.h"

enum {
    TICK_US = GEN_TICK_US,
    RATE_PER_S,
    TIMEOUT_MIN_S,
    TIMEOUT_MAX_S,
    TIMEOUTS,
    CANCELLED,
    REPLY_MEDIAN_MS,
    REPLY_SIGMA,
};

static const struct gen_parameter rpc_parameters[] = {
    [TICK_US] = GEN_TICK_US_ROW(1000),
    [RATE_PER_S] = {"rate_per_s", 0.1, 1e-6, 1e5,
                    "requests a second of a caller that waits for none", "chosen", NULL},
    [TIMEOUT_MIN_S] = {"timeout_min_s", 5, 0.001, 86400, "request timeouts: from this",
                       "h2o's request I/O timeout: 5 s", NULL},
    [TIMEOUT_MAX_S] = {"timeout_max_s", 5, 0.001, 86400, "to this",
                       "h2o's request I/O timeout: 5 s; Kafka's is 30 s", NULL},
    [TIMEOUTS] = {"timeouts", 1, 0, 1e6, "so many distinct ones, evenly apart; 0: any",
                  "one service, one timeout", NULL},
    [CANCELLED] = {"cancelled", 0.99, 0, 1, "share of timers that the reply stops",
                   "chosen; Linux's timer.c says of network timeouts: the vast majority", NULL},
    [REPLY_MEDIAN_MS] = {"reply_median_ms", 20, 0.001, 1e7, "median of the log-normal reply time",
                         "log-normal as in Kafka's purgatory benchmark; the value is chosen", NULL},
    [REPLY_SIGMA] = {"reply_sigma", 1.5, 0, 5, "standard deviation of its logarithm", "chosen",
                     NULL},
    {0},
};

enum { KIND_REQUEST, KINDS };
static const char *const rpc_kinds[] = {[KIND_REQUEST] = "request", NULL};

enum { COUNT_REQUESTS, COUNT_REPLIES, COUNT_EXPIRIES };
static const char *const rpc_counts[] = {
    [COUNT_REQUESTS] = "requests",
    [COUNT_REPLIES] = "replies",
    [COUNT_EXPIRIES] = "expiries",
    NULL,
};

struct caller {
    struct gen_timer timers[KINDS]; /* pending: a request is under way */
    uint64_t event_at;              /* the reply; no request: the next one */
};

struct rpc {
    struct gen_span timeouts;
    double gap_ticks;
    double cancelled;
    double reply_median_ticks;
    double reply_sigma;
};

/* A reply time that is shorter than the timeout, which is at least 2 ticks. */
static uint64_t reply_in_time(struct gen_model *model, uint64_t timeout_ticks)
{
    const struct rpc *rpc = model->state;
    enum { TRIES = 100 };
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t reply = gen_lognormal(model, rpc->reply_median_ticks, rpc->reply_sigma);
        if (reply < timeout_ticks) {
            return reply;
        }
    }
    /* Hardly any is: then any. */
    return gen_uniform_age(model, timeout_ticks - 1);
}

static void visit(struct gen_model *model, uint64_t now, uint32_t number)
{
    const struct rpc *rpc = model->state;
    struct caller *caller = &((struct caller *)model->records)[number];
    if (gen_timer_expires(model, &caller->timers[KIND_REQUEST], now)) {
        model->counts[COUNT_EXPIRIES]++;
        caller->event_at = now + gen_exponential(model, rpc->gap_ticks);
    } else if (caller->timers[KIND_REQUEST].delay_ticks > 0) {
        model->counts[COUNT_REPLIES]++;
        gen_timer_stop(model, now, &caller->timers[KIND_REQUEST]);
        caller->event_at = now + gen_exponential(model, rpc->gap_ticks);
    } else {
        model->counts[COUNT_REQUESTS]++;
        gen_timers_renew(model, caller->timers);
        uint64_t timeout = gen_span_draw(model, &rpc->timeouts);
        gen_timer_start(model, now, &caller->timers[KIND_REQUEST], timeout);
        caller->event_at =
            gen_chance(model, rpc->cancelled) ? now + reply_in_time(model, timeout) : GEN_NEVER;
    }
    gen_file(model, gen_next(caller->timers, KINDS, caller->event_at), number);
}

static bool simulate(struct gen_model *model, uint64_t end)
{
    return gen_simulate(model, end, visit);
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    const double per_second = gen_per_second(model);
    struct rpc *rpc = model->state;
    if (!gen_span_read(model, TIMEOUT_MIN_S, &rpc->timeouts)) {
        return false;
    }
    if (p[CANCELLED] > 0 && gen_whole_ticks(rpc->timeouts.min_ticks) < 2) {
        return error_set(model->error, "rpc: a reply cannot come before a timeout of one tick; "
                                       "choose a longer timeout_min_s or a shorter tick_us");
    }
    rpc->gap_ticks = per_second / p[RATE_PER_S];
    rpc->cancelled = p[CANCELLED];
    rpc->reply_median_ticks = p[REPLY_MEDIAN_MS] * gen_per_ms(model);
    rpc->reply_sigma = p[REPLY_SIGMA];
    /* First requests are spread over a cycle, and three more let the phases mix. */
    double timeout_mean = (rpc->timeouts.min_ticks + rpc->timeouts.max_ticks) / 2;
    double reply_mean =
        rpc->reply_median_ticks * random_exp(rpc->reply_sigma * rpc->reply_sigma / 2);
    reply_mean = reply_mean < timeout_mean ? reply_mean : timeout_mean;
    double cycle =
        rpc->gap_ticks + rpc->cancelled * reply_mean + (1 - rpc->cancelled) * timeout_mean;
    model->warmup_end = gen_whole_ticks(4 * cycle);
    if (!gen_model_begin(model, sizeof(struct caller), 0,
                         gen_whole_ticks(rpc->timeouts.max_ticks))) {
        return false;
    }
    struct caller *callers = model->records;
    for (uint32_t i = 0; i < model->connections; i++) {
        callers[i].event_at = (uint64_t)(cycle * random_unit(&model->random));
        gen_file(model, callers[i].event_at, i);
    }
    return true;
}

extern const struct gen_workload gen_rpc;
const struct gen_workload gen_rpc = {
    .name = "rpc",
    .summary = "requests with a timeout each, of which a given share is cancelled by the reply",
    .stresses = "starts and stops in pairs; with few cancelled, expiries",
    .resembles = "clients and proxies of RPC, HTTP, database and DNS services",
    .parameters = rpc_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .kinds = rpc_kinds,
    .counts = rpc_counts,
    .state_bytes = sizeof(struct rpc),
    .create = create,
    .simulate = simulate,
};
