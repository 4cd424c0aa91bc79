/*
 * idle: connections that a server closes when they are silent for a while. Every packet restarts
 * the connection's idle timer.
 *
 * Smooth: packets of an open connection are a Poisson process, and so is the end of a pause: the
 * steady state has a closed form, and the model begins in it.
 *
 * Otherwise packets come when gen_traffic.h says, whether the connection is open or not; if not,
 * the packet connects. Each is one operation, at the same mean rate as in smooth traffic.
 */
#include "gen_model.h"
#include "gen_traffic.h"

enum {
    TICK_US = GEN_TICK_US,
    RATE_PER_S,
    TIMEOUT_MIN_S,
    TIMEOUT_MAX_S,
    TIMEOUTS,
    CLOSE,
    PAUSE_S,
    SESSION_SHAPE,
    ACTIVITY,
    HERDS = ACTIVITY + GEN_ACTIVITY_ROWS,
};

static const struct tl_option idle_parameters[] = {
    GEN_TICK_US_ROWS(1000, "1 ms: what servers count in"),
    GEN_REAL(RATE_PER_S, "rate_per_s", 0.1, 1e-6, 1e5, "packets a second of an open connection",
             "chosen"),
    GEN_REAL(TIMEOUT_MIN_S, "timeout_min_s", 60, 0.001, 86400, "idle timeouts: from this",
             "nginx's client and proxy timeouts: 60 s"),
    GEN_REAL(TIMEOUT_MAX_S, "timeout_max_s", 60, 0.001, 86400, "to this",
             "nginx's client and proxy timeouts: 60 s"),
    GEN_REAL(TIMEOUTS, "timeouts", 1, 0, 1e6, "number of distinct ones, evenly spaced; 0: any",
             "one server, one timeout"),
    GEN_REAL(CLOSE, "close", 0.01, 0, 1, "probability that a packet closes the connection: a stop",
             "chosen"),
    GEN_REAL(PAUSE_S, "pause_s", 10, 0.001, 86400,
             "mean time from a close to the next connect, exponential", "chosen"),
    GEN_SESSION_SHAPE(SESSION_SHAPE),
    GEN_ACTIVITY(ACTIVITY, 20, GEN_TOGETHER_SERVER),
    GEN_HERDS(HERDS),
    [HERDS + GEN_HERD_ROWS] = {0},
};

enum { KIND_IDLE, KINDS };
static const char *const idle_kinds[] = {[KIND_IDLE] = "idle", NULL};

#define IDLE_COUNTS(X)                                                                             \
    X(COUNT_CONNECTS, "connects")                                                                  \
    X(COUNT_PACKETS, "packets")                                                                    \
    X(COUNT_CLOSES, "closes")                                                                      \
    X(COUNT_EXPIRIES, "expiries")                                                                  \
    X(COUNT_DEPLOYED, "deployed")                                                                  \
    X(COUNT_BACK, "back")
enum { IDLE_COUNTS(GEN_PLACE) };
static const char *const idle_counts[] = {IDLE_COUNTS(GEN_NAME) NULL};

struct connection {
    struct gen_timer timers[KINDS]; /* pending: the connection is open */
    uint64_t event_at;              /* next packet; closed: the connect */
    uint64_t timeout_ticks;
    struct gen_activity activity;
    uint32_t session; /* packets until the close, if sessions have a tail */
};

struct idle {
    struct gen_span timeouts;
    double gap_ticks;
    double pause_ticks;
    struct gen_traffic traffic;
    struct gen_sessions sessions;
    struct gen_herds herds;
};

static void packet(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct idle *idle = model->state;
    struct gen_timer *timer = &connection->timers[KIND_IDLE];
    bool open = timer->delay_ticks > 0;
    if (open && gen_session_ends(model, &idle->sessions, &connection->session)) {
        model->counts[COUNT_PACKETS]++;
        model->counts[COUNT_CLOSES]++;
        gen_timer_stop(model, now, timer);
        connection->event_at = gen_plan(model, &connection->activity, now, idle->pause_ticks);
        return;
    }
    model->counts[open ? COUNT_PACKETS : COUNT_CONNECTS]++;
    gen_timers_renew(model, connection->timers);
    gen_timer_start(model, now, timer, connection->timeout_ticks);
    connection->event_at = gen_plan(model, &connection->activity, now, idle->gap_ticks);
}

static void visit(struct gen_model *model, uint64_t now, void *record)
{
    const struct idle *idle = model->state;
    struct connection *connection = record;
    if (gen_timer_expires(model, &connection->timers[KIND_IDLE], now)) {
        model->counts[COUNT_EXPIRIES]++;
        if (idle->traffic.smooth) {
            connection->event_at = gen_plan(model, &connection->activity, now, idle->pause_ticks);
        }
        gen_from_outside(model);
    }
    gen_herd_apply(model, now, &connection->timers[KIND_IDLE], &connection->event_at,
                   COUNT_DEPLOYED);
    if (connection->event_at == now) {
        packet(model, now, connection);
    }
}

/* The smooth steady state of a connection with a given timeout. */
struct steady {
    double packet;     /* probability that a packet comes in time */
    double open_ticks; /* of a start, while the connection is open */
    double ends;       /* share of the starts that are the last */
};

static struct steady steady(const struct idle *idle, double timeout_ticks)
{
    double packet = gen_comes_within(timeout_ticks, idle->gap_ticks);
    return (struct steady){.packet = packet,
                           .open_ticks = idle->gap_ticks * packet,
                           .ends = 1 - packet * (1 - idle->sessions.close)};
}

/* Smooth: a connection is open with the share of time that connections are, and the age of its last
 * packet is such that neither the next one nor the timeout has come since. */
static void place(struct gen_model *model, void *record)
{
    const struct idle *idle = model->state;
    const uint64_t now = GEN_EPOCH;
    struct connection *connection = record;
    struct gen_timer *timer = &connection->timers[KIND_IDLE];
    connection->timeout_ticks = gen_span_draw(model, &idle->timeouts);
    double gap_ticks = idle->gap_ticks;
    bool fresh = false;
    if (idle->traffic.smooth) {
        struct steady s = steady(idle, (double)connection->timeout_ticks);
        if (gen_chance(model, s.open_ticks / (s.open_ticks + s.ends * idle->pause_ticks))) {
            gen_place_restarted(model, timer, now, connection->timeout_ticks, gap_ticks, s.packet);
        } else {
            /* After a close a new session begins; after an expiry this one continues. */
            fresh = !idle->sessions.geometric &&
                    gen_chance(model, s.packet * idle->sessions.close / s.ends);
            gap_ticks = idle->pause_ticks;
        }
    } else {
        uint64_t age = gen_activity_place(model, &connection->activity, now, 0);
        if (age <= connection->timeout_ticks) {
            gen_timer_place(timer, now, connection->timeout_ticks, age);
        }
    }
    connection->event_at = gen_plan(model, &connection->activity, now - 1, gap_ticks);
    connection->session = fresh ? gen_session_draw(model, &idle->sessions)
                                : gen_session_place(model, &idle->sessions);
}

/* Return the time for each operation of a connection, averaged over all timeouts. */
static double operation_ticks(const struct idle *idle)
{
    const struct gen_span *span = &idle->timeouts;
    const unsigned steps = span->distinct > 0 && span->distinct < 1000 ? span->distinct : 1000;
    double per_tick = 0;
    for (unsigned i = 0; i < steps; i++) {
        double at = span->distinct == 0 ? (i + 0.5) / steps : steps == 1 ? 0 : i / (steps - 1.0);
        struct steady s = steady(idle, span->min_ticks + at * (span->max_ticks - span->min_ticks));
        double open_ticks = s.packet * gen_whole_mean(idle->gap_ticks);
        per_tick += (1 + s.packet * idle->sessions.close) /
                    (open_ticks + s.ends * gen_whole_mean(idle->pause_ticks)) / steps;
    }
    return 1 / per_tick;
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    const double per_second = gen_per_second(model);
    struct idle *idle = model->state;
    model->warmup_end = GEN_EPOCH;
    if (!gen_span_read(model, TIMEOUT_MIN_S, &idle->timeouts) ||
        !gen_herds_read(model, HERDS, GEN_HERD_ROWS, &idle->herds)) {
        return false;
    }
    idle->gap_ticks = per_second / p[RATE_PER_S];
    idle->pause_ticks = p[PAUSE_S] * per_second;
    idle->sessions = gen_sessions_make(p[CLOSE], p[SESSION_SHAPE]);
    const struct gen_smooth smooth = {.mean_ticks = operation_ticks(idle),
                                      .gap_ticks = idle->gap_ticks};
    gen_traffic_read(model, ACTIVITY, &smooth, &idle->traffic);
    model->event_at = offsetof(struct connection, event_at);
    gen_model_begin(model, sizeof(struct connection), GEN_EPOCH,
                    gen_whole_ticks(idle->timeouts.max_ticks));
    return true;
}

const struct gen_workload gen_idle = {
    .name = "idle",
    .summary = "connections with an idle timer that every packet restarts",
    .stresses = "restarts of far timers, nearly all of which never fire",
    .resembles = "a server with keep-alive connections, a load balancer, a NAT",
    .parameters = idle_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .kinds = idle_kinds,
    .counts = idle_counts,
    .state_bytes = sizeof(struct idle),
    .create = create,
    .place = place,
    .visit = visit,
};
