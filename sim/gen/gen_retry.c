/* retry: callers that try again. A failed attempt starts a backoff timer, each time a longer one,
 * until an attempt succeeds or there have been too many; jitter spreads simultaneous failures. In
 * an outage every attempt fails. Callers that do not retry call after exponential times if traffic
 * is smooth, and otherwise when gen_traffic.h says. */
#include "gen_model.h"
#include "gen_traffic.h"

enum {
    TICK_US = GEN_TICK_US,
    RATE_PER_S,
    FAILURE,
    BACKOFF_MS,
    MULTIPLIER,
    BACKOFF_MAX_S,
    JITTER,
    JITTER_SHARE,
    ATTEMPTS,
    CANCELLED,
    OUTAGE_S,
    OUTAGE_AT_S,
    OUTAGE_PERIOD_S,
    ACTIVITY,
};

enum { JITTER_NONE, JITTER_PROPORTIONAL, JITTER_EQUAL, JITTER_FULL };
static const struct tl_choice jitter_words[] = {{"none", JITTER_NONE, NULL},
                                                {"proportional", JITTER_PROPORTIONAL, NULL},
                                                {"equal", JITTER_EQUAL, NULL},
                                                {"full", JITTER_FULL, NULL},
                                                {0}};

static const struct tl_option retry_parameters[] = {
    GEN_TICK_US_ROWS(1000, "1 ms: what servers count in"),
    GEN_REAL(RATE_PER_S, "rate_per_s", 0.1, 1e-6, 1e5,
             "calls a second of a caller that is not retrying", "chosen"),
    GEN_REAL(FAILURE, "failure", 0.05, 0, 1, "probability that an attempt fails", "chosen"),
    GEN_REAL(BACKOFF_MS, "backoff_ms", 1000, 0.001, 1e7, "backoff after the first failure",
             "gRPC's connection backoff: 1 s"),
    GEN_REAL(MULTIPLIER, "multiplier", 1.6, 1, 10, "by which each further one is longer",
             "gRPC's connection backoff: 1.6"),
    GEN_REAL(BACKOFF_MAX_S, "backoff_max_s", 120, 0.001, 86400, "longest backoff, before jitter",
             "gRPC's connection backoff: 120 s"),
    GEN_WORD(JITTER, "jitter", JITTER_PROPORTIONAL, jitter_words,
             "of a backoff b: none; proportional: b less or more jitter_share; equal: b/2 to b; "
             "full: 0 to b",
             "gRPC's is proportional; equal and full are AWS's"),
    GEN_REAL(JITTER_SHARE, "jitter_share", 0.2, 0, 1, "see jitter",
             "gRPC's connection backoff: 0.2"),
    GEN_REAL(ATTEMPTS, "attempts", 10, 1, 100, "attempts in all before the call is given up",
             "chosen"),
    GEN_REAL(CANCELLED, "cancelled", 0, 0, 1,
             "share of backoffs in which the caller loses interest: a stop", "chosen"),
    GEN_REAL(OUTAGE_S, "outage_s", 0, 0, 86400, "length of an outage; 0: there are none", "chosen"),
    GEN_REAL(OUTAGE_AT_S, "outage_at_s", 2, 0, 86400, "when the first begins, after the warm-up",
             "chosen"),
    GEN_REAL(OUTAGE_PERIOD_S, "outage_period_s", 3600, 0.001, 86400, "from one outage to the next",
             "chosen"),
    GEN_ACTIVITY(ACTIVITY, 1000, "chosen: a service's pool of callers"),
    [ACTIVITY + GEN_ACTIVITY_ROWS] = {0},
};

enum { KIND_BACKOFF, KINDS };
static const char *const retry_kinds[] = {[KIND_BACKOFF] = "backoff", NULL};

#define RETRY_COUNTS(X)                                                                            \
    X(COUNT_CALLS, "calls")                                                                        \
    X(COUNT_ATTEMPTS, "attempts")                                                                  \
    X(COUNT_FAILURES, "failures")                                                                  \
    X(COUNT_RETRIES, "retries")                                                                    \
    X(COUNT_CANCELS, "cancels")                                                                    \
    X(COUNT_GIVEN_UP, "given_up")
enum { RETRY_COUNTS(GEN_PLACE) };
static const char *const retry_counts[] = {RETRY_COUNTS(GEN_NAME) NULL};

struct caller {
    struct gen_timer timers[KINDS]; /* pending: backing off */
    uint64_t event_at;              /* backing off: loses interest; otherwise: the next call */
    double backoff_ticks;
    struct gen_activity activity;
    uint32_t failures;
};

struct retry {
    double gap_ticks;
    double backoff_ticks;
    double backoff_max_ticks;
    uint64_t outage_tick;
    uint64_t outage_ticks;
    uint64_t outage_period_ticks;
    struct gen_traffic traffic;
};

static uint64_t draw_delay(struct gen_model *model, double backoff_ticks)
{
    const double *p = model->parameters;
    if (p[JITTER] == JITTER_PROPORTIONAL) {
        double share = p[JITTER_SHARE] * (2 * random_unit(&model->random) - 1);
        backoff_ticks *= 1 + share;
    } else if (p[JITTER] == JITTER_EQUAL) {
        backoff_ticks *= 0.5 + 0.5 * random_unit(&model->random);
    } else if (p[JITTER] == JITTER_FULL) {
        backoff_ticks *= random_unit(&model->random);
    }
    return gen_whole_ticks(backoff_ticks);
}

static bool is_outage(const struct retry *retry, uint64_t now)
{
    return now >= retry->outage_tick &&
           (now - retry->outage_tick) % retry->outage_period_ticks < retry->outage_ticks;
}

static void next_call(struct gen_model *model, uint64_t now, struct caller *caller)
{
    const struct retry *retry = model->state;
    caller->failures = 0;
    caller->event_at = gen_plan(model, &caller->activity, now, retry->gap_ticks);
}

static void attempt(struct gen_model *model, uint64_t now, struct caller *caller)
{
    const double *p = model->parameters;
    const struct retry *retry = model->state;
    model->counts[COUNT_ATTEMPTS]++;
    if (!gen_chance(model, p[FAILURE]) && !is_outage(retry, now)) {
        next_call(model, now, caller);
        return;
    }
    model->counts[COUNT_FAILURES]++;
    double backoff = caller->backoff_ticks * p[MULTIPLIER];
    caller->backoff_ticks = caller->failures == 0 ? retry->backoff_ticks : backoff;
    if (caller->backoff_ticks > retry->backoff_max_ticks) {
        caller->backoff_ticks = retry->backoff_max_ticks;
    }
    if (++caller->failures == (uint32_t)p[ATTEMPTS]) {
        model->counts[COUNT_GIVEN_UP]++;
        next_call(model, now, caller);
        return;
    }
    uint64_t delay = draw_delay(model, caller->backoff_ticks);
    gen_timer_start(model, now, &caller->timers[KIND_BACKOFF], delay);
    caller->event_at = delay > 1 && gen_chance(model, p[CANCELLED])
                           ? now + gen_uniform_age(model, delay - 1)
                           : GEN_NEVER;
}

static void visit(struct gen_model *model, uint64_t now, void *record)
{
    struct caller *caller = record;
    if (gen_timer_expires(model, &caller->timers[KIND_BACKOFF], now)) {
        model->counts[COUNT_RETRIES]++;
        attempt(model, now, caller);
    } else if (caller->timers[KIND_BACKOFF].delay_ticks > 0) {
        model->counts[COUNT_CANCELS]++;
        gen_timer_stop(model, now, &caller->timers[KIND_BACKOFF]);
        next_call(model, now, caller);
    } else {
        model->counts[COUNT_CALLS]++;
        gen_timers_renew(model, caller->timers);
        attempt(model, now, caller);
    }
}

static void place(struct gen_model *model, void *record)
{
    const struct retry *retry = model->state;
    struct caller *caller = record;
    if (!retry->traffic.smooth) {
        (void)gen_activity_place(model, &caller->activity, 0, retry->traffic.busy_ticks);
    }
    next_call(model, 0, caller);
}

/* Return the time until most callers have seen their first ladder of backoffs. */
static double warmup_ticks(const struct gen_model *model)
{
    const double *p = model->parameters;
    const struct retry *retry = model->state;
    double ticks = retry->traffic.smooth ? 2 * retry->gap_ticks : 0;
    double backoff = retry->backoff_ticks;
    double share = p[FAILURE];
    for (uint32_t i = 1; i < (uint32_t)p[ATTEMPTS] && share > 1e-3; i++) {
        ticks += backoff < retry->backoff_max_ticks ? backoff : retry->backoff_max_ticks;
        backoff *= p[MULTIPLIER];
        share *= p[FAILURE];
    }
    return ticks;
}

/* Return the mean time that a call spends backing off. */
static double retry_ticks(const struct gen_model *model)
{
    const double *p = model->parameters;
    const struct retry *retry = model->state;
    double share = p[JITTER] == JITTER_FULL ? 0.5 : p[JITTER] == JITTER_EQUAL ? 0.75 : 1;
    double ticks = 0;
    double backoff = retry->backoff_ticks;
    double reached = p[FAILURE]; /* the probability of this backoff */
    for (uint32_t i = 1; i < (uint32_t)p[ATTEMPTS]; i++) {
        backoff = backoff < retry->backoff_max_ticks ? backoff : retry->backoff_max_ticks;
        /* A cancelled backoff ends after half of it, on average. */
        ticks += reached * (backoff * share + 0.5) * (1 - p[CANCELLED] / 2);
        reached *= p[FAILURE] * (1 - p[CANCELLED]);
        backoff *= p[MULTIPLIER];
    }
    return ticks;
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    const double per_second = gen_per_second(model);
    struct retry *retry = model->state;
    *retry = (struct retry){
        .gap_ticks = per_second / p[RATE_PER_S],
        .backoff_ticks = p[BACKOFF_MS] * gen_per_ms(model),
        .backoff_max_ticks = p[BACKOFF_MAX_S] * per_second,
        .outage_ticks = p[OUTAGE_S] > 0 ? gen_whole_ticks(p[OUTAGE_S] * per_second) : 0,
        .outage_period_ticks = gen_whole_ticks(p[OUTAGE_PERIOD_S] * per_second),
    };
    if (!gen_ordered(model, BACKOFF_MS, BACKOFF_MAX_S, 1000) ||
        !gen_ordered(model, OUTAGE_S, OUTAGE_PERIOD_S, 1)) {
        return false;
    }
    double busy = retry_ticks(model);
    const struct gen_smooth smooth = {.mean_ticks = gen_whole_mean(retry->gap_ticks) + busy,
                                      .busy_ticks = busy,
                                      .gap_ticks = retry->gap_ticks};
    gen_traffic_read(model, ACTIVITY, &smooth, &retry->traffic);
    model->warmup_end = gen_whole_ticks(warmup_ticks(model));
    retry->outage_tick = model->warmup_end + (uint64_t)(p[OUTAGE_AT_S] * per_second);
    model->event_at = offsetof(struct caller, event_at);
    gen_model_begin(model, sizeof(struct caller), 0, gen_whole_ticks(retry->backoff_max_ticks));
    return true;
}

const struct gen_workload gen_retry = {
    .name = "retry",
    .summary = "failed calls that are tried again, with exponential backoff and jitter",
    .stresses = "expiries at spread delays; after an outage: waves of them",
    .resembles = "clients that reconnect, job runners, webhook senders",
    .parameters = retry_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .kinds = retry_kinds,
    .counts = retry_counts,
    .state_bytes = sizeof(struct retry),
    .create = create,
    .place = place,
    .visit = visit,
};
