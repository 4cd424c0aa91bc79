/*
 * idle: connections that a server closes when nothing has come for a while. Every packet restarts
 * the connection's idle timer.
 *
 * Packets of an open connection are a Poisson process, and so is the end of a pause: the steady
 * state has a closed form, and the model begins in it.
 */
#include "gen_model.h"

enum {
    TICK_US = GEN_TICK_US,
    RATE_PER_S,
    TIMEOUT_MIN_S,
    TIMEOUT_MAX_S,
    TIMEOUTS,
    CLOSE,
    PAUSE_S,
};

static const struct gen_parameter idle_parameters[] = {
    [TICK_US] = GEN_TICK_US_ROW(1000),
    [RATE_PER_S] = {"rate_per_s", 0.1, 1e-6, 1e5, "packets a second of an open connection",
                    "chosen", NULL},
    [TIMEOUT_MIN_S] = {"timeout_min_s", 60, 0.001, 86400, "idle timeouts: from this",
                       "nginx's client and proxy timeouts: 60 s", NULL},
    [TIMEOUT_MAX_S] = {"timeout_max_s", 60, 0.001, 86400, "to this",
                       "nginx's client and proxy timeouts: 60 s", NULL},
    [TIMEOUTS] = {"timeouts", 1, 0, 1e6, "so many distinct ones, evenly apart; 0: any",
                  "one server, one timeout", NULL},
    [CLOSE] = {"close", 0.01, 0, 1, "probability that a packet closes the connection: a stop",
               "chosen", NULL},
    [PAUSE_S] = {"pause_s", 10, 0.001, 86400,
                 "mean time from a close to the next connect, exponential", "chosen", NULL},
    {0},
};

enum { KIND_IDLE, KINDS };
static const char *const idle_kinds[] = {[KIND_IDLE] = "idle", NULL};

enum { COUNT_CONNECTS, COUNT_PACKETS, COUNT_CLOSES, COUNT_EXPIRIES };
static const char *const idle_counts[] = {
    [COUNT_CONNECTS] = "connects",
    [COUNT_PACKETS] = "packets",
    [COUNT_CLOSES] = "closes",
    [COUNT_EXPIRIES] = "expiries",
    NULL,
};

struct connection {
    struct gen_timer timers[KINDS]; /* pending: the connection is open */
    uint64_t event_at;              /* next packet; closed: the connect */
    uint64_t timeout_ticks;
};

struct idle {
    double gap_ticks;
    double pause_ticks;
    double close;
};

static void visit(struct gen_model *model, uint64_t now, uint32_t number)
{
    const struct idle *idle = model->state;
    struct connection *connection = &((struct connection *)model->records)[number];
    if (gen_timer_expires(model, &connection->timers[KIND_IDLE], now)) {
        model->counts[COUNT_EXPIRIES]++;
        connection->event_at = now + gen_exponential(model, idle->pause_ticks);
    } else if (connection->timers[KIND_IDLE].delay_ticks > 0 && gen_chance(model, idle->close)) {
        model->counts[COUNT_PACKETS]++;
        model->counts[COUNT_CLOSES]++;
        gen_timer_stop(model, now, &connection->timers[KIND_IDLE]);
        connection->event_at = now + gen_exponential(model, idle->pause_ticks);
    } else {
        bool open = connection->timers[KIND_IDLE].delay_ticks > 0;
        model->counts[open ? COUNT_PACKETS : COUNT_CONNECTS]++;
        gen_timers_renew(model, connection->timers);
        gen_timer_start(model, now, &connection->timers[KIND_IDLE], connection->timeout_ticks);
        connection->event_at = now + gen_exponential(model, idle->gap_ticks);
    }
    gen_file(model, gen_next(connection->timers, KINDS, connection->event_at), number);
}

static bool simulate(struct gen_model *model, uint64_t end)
{
    return gen_simulate(model, end, visit);
}

/* In the steady state at tick `now`: open with the share of time that a connection is; and then
 * the last packet is as long ago as neither the next nor the timeout has come since. */
static void populate(struct gen_model *model, uint64_t now, uint32_t number,
                     const struct gen_span *span)
{
    const struct idle *idle = model->state;
    struct connection *connection = &((struct connection *)model->records)[number];
    connection->timeout_ticks = gen_span_draw(model, span);
    double timeout = (double)connection->timeout_ticks;
    double packet = gen_comes_within(timeout, idle->gap_ticks);
    double ends = 1 - packet * (1 - idle->close); /* of the starts, this share is the last */
    double open_ticks = idle->gap_ticks * packet;
    if (gen_chance(model, open_ticks / (open_ticks + ends * idle->pause_ticks))) {
        gen_place_restarted(model, &connection->timers[KIND_IDLE], now, connection->timeout_ticks,
                            idle->gap_ticks, packet);
        connection->event_at = now - 1 + gen_exponential(model, idle->gap_ticks);
    } else {
        connection->event_at = now - 1 + gen_exponential(model, idle->pause_ticks);
    }
    gen_file(model, gen_next(connection->timers, KINDS, connection->event_at), number);
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    const double per_second = gen_per_second(model);
    struct idle *idle = model->state;
    struct gen_span span;
    if (!gen_span_read(model, TIMEOUT_MIN_S, &span)) {
        return false;
    }
    idle->gap_ticks = per_second / p[RATE_PER_S];
    idle->pause_ticks = p[PAUSE_S] * per_second;
    idle->close = p[CLOSE];
    model->warmup_end = GEN_EPOCH;
    if (!gen_model_begin(model, sizeof(struct connection), GEN_EPOCH,
                         gen_whole_ticks(span.max_ticks))) {
        return false;
    }
    for (uint32_t i = 0; i < model->connections; i++) {
        populate(model, GEN_EPOCH, i, &span);
    }
    return true;
}

extern const struct gen_workload gen_idle;
const struct gen_workload gen_idle = {
    .name = "idle",
    .summary = "connections with an idle timer that every packet restarts",
    .stresses = "restarts of far timers, nearly all of them never firing",
    .resembles = "a server with keep-alive connections, a load balancer, a NAT",
    .parameters = idle_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .kinds = idle_kinds,
    .counts = idle_counts,
    .state_bytes = sizeof(struct idle),
    .create = create,
    .simulate = simulate,
};
