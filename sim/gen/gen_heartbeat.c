/*
 * heartbeat: connections that are pinged periodically. Every timer fires, and is started again when
 * it does. Phases are spread; or aligned, as if timers followed the wall clock or all clients
 * connected at once: then all periods meet in the middle of the recording.
 *
 * `rearm` sets the base of the next delay; exact structures see no difference. Jitter accumulates
 * from beat to beat in any case.
 *
 * A deploy or storm closes its connections, which stops their timers; they beat again from their
 * return on, so that spread phases become aligned.
 */
#include "gen_model.h"
#include "gen_traffic.h"

enum {
    TICK_US = GEN_TICK_US,
    PERIOD_MIN_S,
    PERIOD_MAX_S,
    PERIODS,
    PHASES,
    JITTER,
    REARM,
    HERDS,
};

enum { PHASES_SPREAD, PHASES_ALIGNED };
static const struct tl_choice phases_words[] = {
    {"spread", PHASES_SPREAD, NULL}, {"aligned", PHASES_ALIGNED, NULL}, {0}};

static const struct tl_option heartbeat_parameters[] = {
    GEN_TICK_US_ROWS(1000, "1 ms: what servers count in"),
    GEN_REAL(PERIOD_MIN_S, "period_min_s", 20, 0.001, 86400, "periods: from this",
             "WebSocket pings of uvicorn and Python's websockets: 20 s"),
    GEN_REAL(PERIOD_MAX_S, "period_max_s", 60, 0.001, 86400, "to this", "MQTT keepalive: 60 s"),
    GEN_REAL(PERIODS, "periods", 5, 0, 1e6, "number of distinct ones, evenly spaced; 0: any",
             "chosen"),
    GEN_WORD(PHASES, "phases", PHASES_SPREAD, phases_words,
             "whether connections beat at different times", "chosen"),
    GEN_REAL(JITTER, "jitter", 0, 0, 0.99, "each delay is up to this share shorter or longer",
             "chosen"),
    GEN_REARM_ROW(REARM, "libuv's repeating timers: from the expiry"),
    GEN_CLOSING(HERDS),
    [HERDS + GEN_CLOSING_ROWS] = {0},
};

enum { KIND_HEARTBEAT, KINDS };
static const char *const heartbeat_kinds[] = {[KIND_HEARTBEAT] = "heartbeat", NULL};

enum { COUNT_BEATS, COUNT_DEPLOYED, COUNT_BACK };
static const char *const heartbeat_counts[] = {
    [COUNT_BEATS] = "beats", [COUNT_DEPLOYED] = "deployed", [COUNT_BACK] = "back", NULL};

struct connection {
    struct gen_timer timers[KINDS];
    uint64_t period_ticks;
    uint64_t event_at; /* closed: it connects */
};

struct heartbeat {
    struct gen_span periods;
    struct gen_herds herds;
    enum trace_basis basis;
};

static uint64_t draw_delay(struct gen_model *model, uint64_t period_ticks)
{
    const double jitter = model->parameters[JITTER];
    if (!(jitter > 0)) {
        return period_ticks;
    }
    double share = jitter * (2 * random_unit(&model->random) - 1);
    return gen_whole_ticks((double)period_ticks * (1 + share));
}

static void visit(struct gen_model *model, uint64_t now, void *record)
{
    const struct heartbeat *heartbeat = model->state;
    struct connection *connection = record;
    struct gen_timer *timer = &connection->timers[KIND_HEARTBEAT];
    if (gen_timer_expires(model, timer, now)) {
        model->counts[COUNT_BEATS]++;
        gen_timer_start_from(model, now, timer, draw_delay(model, connection->period_ticks),
                             heartbeat->basis);
        gen_from_outside(model);
    }
    gen_herd_apply(model, now, timer, &connection->event_at, COUNT_DEPLOYED);
    if (connection->event_at == now) {
        connection->event_at = GEN_NEVER;
        gen_timer_start(model, now, timer, draw_delay(model, connection->period_ticks));
    }
}

static void place(struct gen_model *model, void *record)
{
    const struct heartbeat *heartbeat = model->state;
    struct connection *connection = record;
    uint64_t middle = gen_whole_ticks(model->seconds * gen_per_second(model)) / 2;
    uint64_t period = gen_span_draw(model, &heartbeat->periods);
    uint64_t age = model->parameters[PHASES] == PHASES_ALIGNED ? period - middle % period
                                                               : gen_uniform_age(model, period);
    connection->period_ticks = period;
    connection->event_at = GEN_NEVER;
    gen_timer_place(&connection->timers[KIND_HEARTBEAT], GEN_EPOCH, period, age);
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    struct heartbeat *heartbeat = model->state;
    if (!gen_span_read(model, PERIOD_MIN_S, &heartbeat->periods)) {
        return false;
    }
    heartbeat->basis = gen_rearm_basis(model, REARM);
    model->warmup_end = GEN_EPOCH;
    if (!gen_herds_read(model, HERDS, GEN_CLOSING_ROWS, &heartbeat->herds)) {
        return false;
    }
    model->event_at = offsetof(struct connection, event_at);
    gen_model_begin(model, sizeof(struct connection), GEN_EPOCH,
                    gen_whole_ticks(heartbeat->periods.max_ticks * (1 + p[JITTER])));
    return true;
}

const struct gen_workload gen_heartbeat = {
    .name = "heartbeat",
    .summary = "periodic timers, each started again when it fires",
    .stresses = "expiries, and starts from within them; aligned: very many at one tick",
    .resembles = "WebSocket and MQTT servers that ping their clients, cron, metrics",
    .parameters = heartbeat_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .kinds = heartbeat_kinds,
    .counts = heartbeat_counts,
    .state_bytes = sizeof(struct heartbeat),
    .create = create,
    .place = place,
    .visit = visit,
};
