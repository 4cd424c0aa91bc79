/* burst: traffic in bursts. At every multiple of a period some of the connections start a timer in
 * the same tick; a share of these is stopped together a little later, and the others fire, together
 * if they have the same duration. */
#include "gen_model.h"

enum {
    TICK_US = GEN_TICK_US,
    PERIOD_MS,
    JOIN,
    TIMEOUT_MIN_S,
    TIMEOUT_MAX_S,
    TIMEOUTS,
    CANCELLED,
    LAG_MS,
};

static const struct tl_option burst_parameters[] = {
    GEN_TICK_US_ROWS(1000, "1 ms: what servers count in"),
    GEN_REAL(PERIOD_MS, "period_ms", 100, 0.001, 1e7, "from one burst to the next", "chosen"),
    GEN_REAL(JOIN, "join", 0.01, 1e-6, 1,
             "probability that an idle connection takes part in a burst", "chosen"),
    GEN_REAL(TIMEOUT_MIN_S, "timeout_min_s", 1, 0.001, 86400, "timeouts: from this", "chosen"),
    GEN_REAL(TIMEOUT_MAX_S, "timeout_max_s", 1, 0.001, 86400, "to this", "chosen"),
    GEN_REAL(TIMEOUTS, "timeouts", 1, 0, 1e6, "number of distinct ones, evenly spaced; 0: any",
             "chosen"),
    GEN_REAL(CANCELLED, "cancelled", 0.9, 0, 1, "share of timers that are stopped", "chosen"),
    GEN_REAL(LAG_MS, "lag_ms", 50, 0.001, 1e7, "when they are: so long after the burst", "chosen"),
    {0},
};

enum { KIND_REQUEST, KINDS };
static const char *const burst_kinds[] = {[KIND_REQUEST] = "request", NULL};

enum { COUNT_STARTS, COUNT_STOPS, COUNT_EXPIRIES };
static const char *const burst_counts[] = {
    [COUNT_STARTS] = "starts", [COUNT_STOPS] = "stops", [COUNT_EXPIRIES] = "expiries", NULL};

struct connection {
    struct gen_timer timers[KINDS];
    uint64_t event_at; /* pending: the stop; otherwise: the next burst */
};

struct burst {
    struct gen_span timeouts;
    uint64_t period_ticks;
    uint64_t lag_ticks;
    double mean_passed; /* rounded up, exponential numbers of bursts are geometric */
};

/* Return the tick of the next burst, after `now`, in which a connection takes part. */
static uint64_t next_burst(struct gen_model *model, uint64_t now)
{
    const struct burst *burst = model->state;
    uint64_t bursts = burst->mean_passed > 0 ? gen_exponential(model, burst->mean_passed) : 1;
    return (now / burst->period_ticks + bursts) * burst->period_ticks;
}

static void visit(struct gen_model *model, uint64_t now, void *record)
{
    const struct burst *burst = model->state;
    struct connection *connection = record;
    if (gen_timer_expires(model, &connection->timers[KIND_REQUEST], now)) {
        model->counts[COUNT_EXPIRIES]++;
        connection->event_at = next_burst(model, now);
    } else if (connection->timers[KIND_REQUEST].delay_ticks > 0) {
        model->counts[COUNT_STOPS]++;
        gen_timer_stop(model, now, &connection->timers[KIND_REQUEST]);
        connection->event_at = next_burst(model, now);
    } else {
        model->counts[COUNT_STARTS]++;
        gen_timers_renew(model, connection->timers);
        gen_timer_start(model, now, &connection->timers[KIND_REQUEST],
                        gen_span_draw(model, &burst->timeouts));
        connection->event_at =
            gen_chance(model, model->parameters[CANCELLED]) ? now + burst->lag_ticks : GEN_NEVER;
    }
}

static void place(struct gen_model *model, void *record)
{
    struct connection *connection = record;
    connection->event_at = next_burst(model, 0);
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    struct burst *burst = model->state;
    burst->period_ticks = gen_whole_ticks(p[PERIOD_MS] * gen_per_ms(model));
    burst->lag_ticks = gen_whole_ticks(p[LAG_MS] * gen_per_ms(model));
    burst->mean_passed = p[JOIN] < 1 ? -1 / random_log(1 - p[JOIN]) : 0;
    if (!gen_span_read(model, TIMEOUT_MIN_S, &burst->timeouts)) {
        return false;
    }
    if (p[CANCELLED] > 0 && burst->lag_ticks >= gen_whole_ticks(burst->timeouts.min_ticks)) {
        return error_set(model->error, "burst: lag_ms must be below timeout_min_s");
    }
    model->align_ticks = burst->period_ticks; /* a burst at every multiple, also in the trace */
    double mean_idle = (double)burst->period_ticks / p[JOIN];
    double warmup = burst->timeouts.max_ticks + 2 * mean_idle;
    model->warmup_end = (gen_whole_ticks(warmup) / burst->period_ticks + 1) * burst->period_ticks;
    model->event_at = offsetof(struct connection, event_at);
    gen_model_begin(model, sizeof(struct connection), 0,
                    gen_whole_ticks(burst->timeouts.max_ticks));
    return true;
}

const struct gen_workload gen_burst = {
    .name = "burst",
    .summary = "many timers started in one tick, most of them stopped together a little later",
    .stresses = "the worst tick: starts, stops and expiries in masses, with nothing in between",
    .resembles = "fan-out to many shards, market data, thundering herds",
    .parameters = burst_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .kinds = burst_kinds,
    .counts = burst_counts,
    .state_bytes = sizeof(struct burst),
    .create = create,
    .place = place,
    .visit = visit,
};
