/*
 * rpc: requests with a deadline. A caller starts a timer with each request; the reply stops it, or
 * it expires. The share of cancelled timers is a parameter, not a consequence: reply times are
 * log-normal, given that they are in time.
 *
 * Smooth: an idle caller sends its next request after an exponential time. Otherwise it does so
 * when gen_traffic.h says. Deploys and storms end the current calls.
 */
#include "gen_model.h"
#include "gen_traffic.h"

enum {
    TICK_US = GEN_TICK_US,
    RATE_PER_S,
    TIMEOUT_MIN_S,
    TIMEOUT_MAX_S,
    TIMEOUTS,
    CANCELLED,
    REPLY_MEDIAN_MS,
    REPLY_SIGMA,
    ACTIVITY,
    HERDS = ACTIVITY + GEN_ACTIVITY_ROWS,
};

static const struct tl_option rpc_parameters[] = {
    GEN_TICK_US_ROWS(1000, "1 ms: what servers count in"),
    GEN_REAL(RATE_PER_S, "rate_per_s", 0.1, 1e-6, 1e5,
             "requests a second of a caller that waits for none", "chosen"),
    GEN_REAL(TIMEOUT_MIN_S, "timeout_min_s", 5, 0.001, 86400, "request timeouts: from this",
             "h2o's request I/O timeout: 5 s"),
    GEN_REAL(TIMEOUT_MAX_S, "timeout_max_s", 5, 0.001, 86400, "to this",
             "h2o's request I/O timeout: 5 s; Kafka's is 30 s"),
    GEN_REAL(TIMEOUTS, "timeouts", 1, 0, 1e6, "number of distinct ones, evenly spaced; 0: any",
             "one service, one timeout"),
    GEN_REAL(CANCELLED, "cancelled", 0.99, 0, 1, "share of timers that the reply stops",
             "chosen; Linux's timer.c says of network timeouts: the vast majority"),
    GEN_REAL(REPLY_MEDIAN_MS, "reply_median_ms", 20, 0.001, 1e7,
             "median of the log-normal reply time",
             "log-normal as in Kafka's purgatory benchmark; the value is chosen"),
    GEN_REAL(REPLY_SIGMA, "reply_sigma", 1.5, 0, 5, "standard deviation of its logarithm",
             "chosen"),
    GEN_ACTIVITY(ACTIVITY, 50,
                 "chosen: a client's calls; TLS clients of WRCCDC: 157 connections within 60 s"),
    GEN_HERDS(HERDS),
    [HERDS + GEN_HERD_ROWS] = {0},
};

enum { KIND_REQUEST, KINDS };
static const char *const rpc_kinds[] = {[KIND_REQUEST] = "request", NULL};

enum { COUNT_REQUESTS, COUNT_REPLIES, COUNT_EXPIRIES, COUNT_DEPLOYED, COUNT_BACK };
static const char *const rpc_counts[] = {
    [COUNT_REQUESTS] = "requests", [COUNT_REPLIES] = "replies", [COUNT_EXPIRIES] = "expiries",
    [COUNT_DEPLOYED] = "deployed", [COUNT_BACK] = "back",       NULL,
};

struct caller {
    struct gen_timer timers[KINDS]; /* pending: a request is in progress */
    uint64_t event_at;              /* the reply; no request: the next one */
    struct gen_activity activity;
};

struct rpc {
    struct gen_span timeouts;
    double gap_ticks;
    double reply_median_ticks;
    double cycle_ticks; /* from a request to the next, smooth */
    struct gen_traffic traffic;
    struct gen_herds herds;
};

/* Draw a reply time that is shorter than the timeout, which is at least 2 ticks. */
static uint64_t reply_in_time(struct gen_model *model, uint64_t timeout_ticks)
{
    const struct rpc *rpc = model->state;
    enum { TRIES = 100 };
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t reply =
            gen_lognormal(model, rpc->reply_median_ticks, model->parameters[REPLY_SIGMA]);
        if (reply < timeout_ticks) {
            return reply;
        }
    }
    /* Hardly any is: then take any time. */
    return gen_uniform_age(model, timeout_ticks - 1);
}

/* Handle the external event of this tick. */
static void happen(struct gen_model *model, uint64_t now, struct caller *caller)
{
    const struct rpc *rpc = model->state;
    if (caller->timers[KIND_REQUEST].delay_ticks > 0) {
        model->counts[COUNT_REPLIES]++;
        gen_timer_stop(model, now, &caller->timers[KIND_REQUEST]);
        caller->event_at = gen_plan(model, &caller->activity, now, rpc->gap_ticks);
        return;
    }
    model->counts[COUNT_REQUESTS]++;
    gen_timers_renew(model, caller->timers);
    uint64_t timeout = gen_span_draw(model, &rpc->timeouts);
    gen_timer_start(model, now, &caller->timers[KIND_REQUEST], timeout);
    caller->event_at = gen_chance(model, model->parameters[CANCELLED])
                           ? now + reply_in_time(model, timeout)
                           : GEN_NEVER;
}

static void visit(struct gen_model *model, uint64_t now, void *record)
{
    const struct rpc *rpc = model->state;
    struct caller *caller = record;
    if (gen_timer_expires(model, &caller->timers[KIND_REQUEST], now)) {
        model->counts[COUNT_EXPIRIES]++;
        caller->event_at = gen_plan(model, &caller->activity, now, rpc->gap_ticks);
        gen_from_outside(model);
    }
    gen_herd_apply(model, now, &caller->timers[KIND_REQUEST], &caller->event_at, COUNT_DEPLOYED);
    if (caller->event_at == now) {
        happen(model, now, caller);
    }
}

/* Return the mean time that a caller waits for the reply or the timeout. */
static double wait_ticks(const struct gen_model *model)
{
    const double *p = model->parameters;
    const struct rpc *rpc = model->state;
    enum { STEPS = 16 };
    const struct gen_span *span = &rpc->timeouts;
    double sum = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        double timeout = span->min_ticks + (span->max_ticks - span->min_ticks) * (i + 0.5) / STEPS;
        double in_time;
        double cut = gen_lognormal_cut(rpc->reply_median_ticks, p[REPLY_SIGMA], timeout, &in_time);
        double reply = in_time > 0 ? (cut - (1 - in_time) * timeout) / in_time + 0.5 : timeout / 2;
        sum += p[CANCELLED] * reply + (1 - p[CANCELLED]) * timeout;
    }
    return sum / STEPS;
}

/* Put a caller into the steady state of bursts, except for answered calls, which are short. */
static void place_bursts(struct gen_model *model, uint64_t now, struct caller *caller)
{
    const struct rpc *rpc = model->state;
    const struct gen_traffic *traffic = &rpc->traffic;
    (void)gen_activity_place(model, &caller->activity, now, traffic->busy_ticks);
    uint64_t timeout = gen_span_draw(model, &rpc->timeouts);
    double unanswered = (1 - model->parameters[CANCELLED]) * (double)timeout;
    if (caller->activity.left > 0 &&
        gen_chance(model, unanswered / (traffic->gap_ticks + traffic->busy_ticks))) {
        gen_timer_place(&caller->timers[KIND_REQUEST], now, timeout,
                        gen_uniform_age(model, timeout));
        caller->event_at = GEN_NEVER;
    } else {
        caller->event_at = gen_next_request(model, &caller->activity, now);
    }
}

/* Smooth: first requests are spread over a cycle. */
static void place(struct gen_model *model, void *record)
{
    const struct rpc *rpc = model->state;
    struct caller *caller = record;
    if (rpc->traffic.smooth) {
        caller->event_at = GEN_EPOCH + (uint64_t)(rpc->cycle_ticks * random_unit(&model->random));
    } else {
        place_bursts(model, GEN_EPOCH, caller);
    }
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
    rpc->reply_median_ticks = p[REPLY_MEDIAN_MS] * gen_per_ms(model);
    double wait = wait_ticks(model);
    const struct gen_smooth smooth = {.mean_ticks = gen_whole_mean(rpc->gap_ticks) + wait,
                                      .busy_ticks = wait,
                                      .gap_ticks = rpc->gap_ticks};
    gen_traffic_read(model, ACTIVITY, &smooth, &rpc->traffic);
    double timeout_mean = (rpc->timeouts.min_ticks + rpc->timeouts.max_ticks) / 2;
    double reply_mean = rpc->reply_median_ticks * random_exp(p[REPLY_SIGMA] * p[REPLY_SIGMA] / 2);
    reply_mean = reply_mean < timeout_mean ? reply_mean : timeout_mean;
    rpc->cycle_ticks =
        rpc->gap_ticks + p[CANCELLED] * reply_mean + (1 - p[CANCELLED]) * timeout_mean;
    /* Smooth: three cycles after the first mix the phases. Otherwise callers begin idle, and all
     * have waited once at the end. */
    double warmup = rpc->traffic.smooth
                        ? 4 * rpc->cycle_ticks
                        : 5 * wait + (p[CANCELLED] < 1 ? rpc->timeouts.max_ticks : 0);
    model->warmup_end = GEN_EPOCH + gen_whole_ticks(warmup);
    if (!gen_herds_read(model, HERDS, GEN_HERD_ROWS, &rpc->herds)) {
        return false;
    }
    model->event_at = offsetof(struct caller, event_at);
    gen_model_begin(model, sizeof(struct caller), GEN_EPOCH,
                    gen_whole_ticks(rpc->timeouts.max_ticks));
    return true;
}

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
    .place = place,
    .visit = visit,
};
