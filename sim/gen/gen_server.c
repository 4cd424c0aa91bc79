/*
 * server: very many client connections to one server, and its three timers for each.
 *
 *   closed --connect--> serving --reply--> unacknowledged --ACK--> thinking --request--> serving
 *
 *   timer           started                        stopped            if it expires
 *   idle            by every request (restarted)   -                  the connection is closed
 *   request         by every request               by the reply       the connection is closed
 *   retransmission  when the reply is sent         by its ACK         sent again, timeout doubled
 *
 * The client thinks from the moment it has the reply: for the server, its next request comes a
 * think time after the ACK. A closed connection's slot connects again after a pause, with its first
 * request. This is smooth traffic. Otherwise requests come when gen_traffic.h says, whether the
 * connection is open or not; if not, the request connects. The client closes after a session's last
 * request.
 */
#include "gen_model.h"
#include "gen_traffic.h"

enum {
    TICK_US = GEN_TICK_US,
    IDLE_MIN_S,
    IDLE_MAX_S,
    THINK_S,
    PAUSE_S,
    REQUEST_TIMEOUT_S,
    REPLY_MEDIAN_MS,
    REPLY_SIGMA,
    RTT_MEDIAN_MS,
    RTT_SIGMA,
    RTO_MS,
    RTO_MAX_S,
    RETRIES,
    LOSS,
    CLOSE,
    SESSION_SHAPE,
    ACTIVITY,
    HERDS = ACTIVITY + GEN_ACTIVITY_ROWS,
};

static const struct tl_option server_parameters[] = {
    GEN_TICK_US_ROWS(1000, "1 ms: what servers count in"),
    GEN_REAL(IDLE_MIN_S, "idle_min_s", 30, 0.001, 86400,
             "idle timeout: each connection keeps one, uniform from this",
             "Netty's IdleStateHandler example, HAProxy's client timeout: 30 to 60 s"),
    GEN_REAL(IDLE_MAX_S, "idle_max_s", 60, 0.001, 86400, "to this",
             "nginx's client and proxy timeouts: 60 s"),
    GEN_REAL(THINK_S, "think_s", 10, 0.001, 86400,
             "mean time from an ACK to the next request, exponential", "chosen"),
    GEN_REAL(PAUSE_S, "pause_s", 10, 0.001, 86400,
             "mean time from a close to the next connect, exponential", "chosen"),
    GEN_REAL(REQUEST_TIMEOUT_S, "request_timeout_s", 5, 0.001, 86400,
             "time in which a reply must be ready", "h2o's request I/O timeout: 5 s"),
    GEN_REAL(REPLY_MEDIAN_MS, "reply_median_ms", 20, 0.001, 1e6,
             "median of the log-normal reply time",
             "log-normal as in Kafka's purgatory benchmark; the value is chosen"),
    GEN_REAL(REPLY_SIGMA, "reply_sigma", 1.5, 0, 5, "standard deviation of its logarithm",
             "chosen: 1 reply in 8,000 is later than the timeout"),
    GEN_REAL(RTT_MEDIAN_MS, "rtt_median_ms", 30, 0.001, 1e5,
             "median of the log-normal round trip time", "chosen"),
    GEN_REAL(RTT_SIGMA, "rtt_sigma", 0.5, 0, 5, "standard deviation of its logarithm", "chosen"),
    GEN_REAL(RTO_MS, "rto_ms", 200, 0.001, 1e6,
             "first retransmission timeout, doubled at each expiry", "Linux's TCP_RTO_MIN"),
    GEN_REAL(RTO_MAX_S, "rto_max_s", 120, 0.001, 86400, "longest retransmission timeout",
             "Linux's TCP_RTO_MAX"),
    GEN_REAL(RETRIES, "retries", 15, 0, 100, "retransmissions before the connection is given up",
             "Linux's tcp_retries2"),
    GEN_REAL(LOSS, "loss", 0.01, 0, 1, "probability that a transmission or its ACK is lost",
             "chosen"),
    GEN_REAL(CLOSE, "close", 0.03, 0, 1,
             "share of requests with a close by the client after the ACK",
             "kernel timers of nginx with keep-alive: 710 connections of 29 requests each"),
    GEN_SESSION_SHAPE(SESSION_SHAPE),
    GEN_ACTIVITY(ACTIVITY, 20, GEN_TOGETHER_SERVER),
    GEN_HERDS(HERDS),
    [HERDS + GEN_HERD_ROWS] = {0},
};

#define SERVER_TIMERS(X)                                                                           \
    X(KIND_IDLE, "idle")                                                                           \
    X(KIND_REQUEST, "request")                                                                     \
    X(KIND_RETRANSMISSION, "retransmission")
enum { SERVER_TIMERS(GEN_PLACE) KINDS };
static const char *const server_kinds[] = {SERVER_TIMERS(GEN_NAME) NULL};

enum state { STATE_CLOSED, STATE_THINKING, STATE_SERVING, STATE_UNACKNOWLEDGED };

struct connection {
    struct gen_timer timers[KINDS];
    uint64_t event_at;   /* next external event: connect, request, reply, ACK; or GEN_NEVER */
    uint64_t idle_ticks; /* its idle timeout */
    struct gen_activity activity;
    uint32_t session; /* requests until the close, if sessions have a tail */
    uint8_t backoff;  /* retransmissions so far */
    uint8_t state;
};

#define SERVER_COUNTS(X)                                                                           \
    X(COUNT_CONNECTS, "connects")                                                                  \
    X(COUNT_REQUESTS, "requests")                                                                  \
    X(COUNT_REPLIES, "replies")                                                                    \
    X(COUNT_TRANSMISSIONS, "transmissions")                                                        \
    X(COUNT_LOSSES, "losses")                                                                      \
    X(COUNT_ACKS, "acks")                                                                          \
    X(COUNT_IDLE_EXPIRIES, "idle_expiries")                                                        \
    X(COUNT_REQUEST_EXPIRIES, "request_expiries")                                                  \
    X(COUNT_RETRANSMISSION_EXPIRIES, "retransmission_expiries")                                    \
    X(COUNT_GIVEN_UP, "given_up")                                                                  \
    X(COUNT_CLOSES, "closes")                                                                      \
    X(COUNT_DEPLOYED, "deployed")                                                                  \
    X(COUNT_BACK, "back")
enum { SERVER_COUNTS(GEN_PLACE) };
static const char *const server_counts[] = {SERVER_COUNTS(GEN_NAME) NULL};

struct server {
    double think_ticks;
    double pause_ticks;
    double reply_median_ticks;
    double rtt_median_ticks;
    uint64_t request_timeout_ticks;
    uint64_t rto_ticks;
    uint64_t rto_max_ticks;
    struct gen_span idle;
    struct gen_traffic traffic;
    struct gen_sessions sessions;
    struct gen_herds herds;
};

static uint64_t rto(const struct server *server, unsigned backoff)
{
    return gen_doubled(server->rto_ticks, backoff, server->rto_max_ticks);
}

static uint64_t draw_duration(struct gen_model *model, double median_ticks, double sigma)
{
    return gen_whole_ticks(random_lognormal(&model->random, median_ticks, sigma));
}

/* --- the model ------------------------------------------------------------------------------- */

static void request(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct server *server = model->state;
    model->counts[COUNT_REQUESTS]++;
    connection->state = STATE_SERVING;
    connection->event_at =
        now + draw_duration(model, server->reply_median_ticks, model->parameters[REPLY_SIGMA]);
    gen_timer_start(model, now, &connection->timers[KIND_IDLE], connection->idle_ticks);
    gen_timer_start(model, now, &connection->timers[KIND_REQUEST], server->request_timeout_ticks);
}

/* Send the reply, for the first time or again. An earlier ACK on its way still counts if it arrives
 * first. */
static void transmit(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct server *server = model->state;
    const double *p = model->parameters;
    model->counts[COUNT_TRANSMISSIONS]++;
    if (gen_chance(model, p[LOSS])) {
        model->counts[COUNT_LOSSES]++;
    } else {
        uint64_t ack_at = now + draw_duration(model, server->rtt_median_ticks, p[RTT_SIGMA]);
        if (ack_at < connection->event_at) {
            connection->event_at = ack_at;
        }
    }
    gen_timer_start(model, now, &connection->timers[KIND_RETRANSMISSION],
                    rto(server, connection->backoff));
}

/* Close a connection and stop its timers. The next request is already planned if one was awaited,
 * and does not depend on the connection. */
static void close_connection(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct server *server = model->state;
    bool planned = connection->state == STATE_THINKING && !server->traffic.smooth;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        gen_timer_stop(model, now, &connection->timers[kind]);
    }
    connection->state = STATE_CLOSED;
    if (!planned) {
        connection->event_at = gen_plan(model, &connection->activity, now, server->pause_ticks);
    }
}

/* Expire the timers that are due now. */
static void expire(struct gen_model *model, uint64_t now, struct connection *connection)
{
    bool alive = true;
    bool again = false;
    if (gen_timer_expires(model, &connection->timers[KIND_REQUEST], now)) {
        model->counts[COUNT_REQUEST_EXPIRIES]++;
        alive = false;
    }
    if (gen_timer_expires(model, &connection->timers[KIND_RETRANSMISSION], now)) {
        model->counts[COUNT_RETRANSMISSION_EXPIRIES]++;
        again = connection->backoff < (uint32_t)model->parameters[RETRIES];
        model->counts[COUNT_GIVEN_UP] += !again;
        alive = again;
    }
    if (gen_timer_expires(model, &connection->timers[KIND_IDLE], now)) {
        model->counts[COUNT_IDLE_EXPIRIES]++;
        alive = false;
    }
    if (!alive) {
        close_connection(model, now, connection);
    } else if (again) {
        connection->backoff++;
        transmit(model, now, connection);
    }
}

/* Handle the external event of this tick. */
static void happen(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct server *server = model->state;
    switch ((enum state)connection->state) {
    case STATE_CLOSED:
        model->counts[COUNT_CONNECTS]++;
        gen_timers_renew(model, connection->timers);
        request(model, now, connection);
        break;
    case STATE_THINKING:
        request(model, now, connection);
        break;
    case STATE_SERVING:
        model->counts[COUNT_REPLIES]++;
        gen_timer_stop(model, now, &connection->timers[KIND_REQUEST]);
        connection->state = STATE_UNACKNOWLEDGED;
        connection->backoff = 0;
        connection->event_at = GEN_NEVER;
        transmit(model, now, connection);
        break;
    case STATE_UNACKNOWLEDGED:
        model->counts[COUNT_ACKS]++;
        gen_timer_stop(model, now, &connection->timers[KIND_RETRANSMISSION]);
        if (server->sessions.close > 0 &&
            gen_session_ends(model, &server->sessions, &connection->session)) {
            model->counts[COUNT_CLOSES]++;
            close_connection(model, now, connection);
            break;
        }
        connection->state = STATE_THINKING;
        connection->event_at = gen_plan(model, &connection->activity, now, server->think_ticks);
        break;
    }
}

/* Apply a deploy or storm. */
static void apply_herd(struct gen_model *model, uint64_t now, struct connection *connection)
{
    enum gen_herd herd = gen_herd_at(model, now);
    if (herd == GEN_HERD_NONE || connection->state == STATE_CLOSED) {
        return;
    }
    gen_from_outside(model);
    close_connection(model, now, connection);
    connection->event_at = gen_herd_return(model, herd, now, COUNT_DEPLOYED);
}

static void visit(struct gen_model *model, uint64_t now, void *record)
{
    struct connection *connection = record;
    expire(model, now, connection);
    apply_herd(model, now, connection);
    if (connection->event_at == now) {
        connection->event_at = gen_arrival(model, now);
    }
    if (connection->event_at == now) {
        gen_from_outside(model);
        happen(model, now, connection);
    }
}

/* --- the run --------------------------------------------------------------------------------- */

/* Mean values of smooth traffic. */
struct means {
    double late;       /* probability that a reply is not ready in time */
    double given_up;   /* probability that no ACK comes then */
    double busy_ticks; /* from a request to its ACK, or its failure */
};

static struct means smooth_means(const struct gen_model *model)
{
    const double *p = model->parameters;
    const struct server *server = model->state;
    double in_time;
    double reply = gen_lognormal_cut(server->reply_median_ticks, p[REPLY_SIGMA],
                                     (double)server->request_timeout_ticks, &in_time);
    double rtt_sigma = p[RTT_SIGMA];
    double ack = server->rtt_median_ticks * random_exp(rtt_sigma * rtt_sigma / 2) + 0.5;
    double lost = p[LOSS];
    double ticks = 0; /* until the ACK, or the end of the timeouts */
    double tried = 1; /* probability of this transmission */
    for (uint32_t i = 0; i <= (uint32_t)p[RETRIES]; i++) {
        ticks += tried * (1 - lost) * ack + tried * lost * (double)rto(server, i);
        tried *= lost;
    }
    return (struct means){
        .late = 1 - in_time, .given_up = tried, .busy_ticks = reply + 0.5 + in_time * ticks};
}

/* Return the mean time from a request to the next in smooth traffic, over all idle timeouts. */
static double request_ticks(const struct server *server, const struct means *means, double idle_min,
                            double idle_spread)
{
    enum { STEPS = 1000 };
    double think = gen_whole_mean(server->think_ticks);
    double pause = gen_whole_mean(server->pause_ticks);
    double done = (1 - means->late) * (1 - means->given_up);
    double stays = done * (1 - server->sessions.close);
    double per_tick = 0;
    for (unsigned i = 0; i < STEPS; i++) {
        double left = idle_min + idle_spread * (i + 0.5) / STEPS - means->busy_ticks;
        double last = left > 0 ? 1 - gen_comes_within(left, server->think_ticks) : 1;
        per_tick += 1 /
                    (means->busy_ticks + (1 - stays) * pause +
                     stays * ((1 - last) * think + last * pause)) /
                    STEPS;
    }
    return 1 / per_tick;
}

/* All but the requests in progress are in the steady state of bursts. */
static void place_bursts(struct gen_model *model, uint64_t now, struct connection *connection)
{
    uint64_t age =
        gen_activity_place(model, &connection->activity, now, model->traffic->busy_ticks);
    if (age <= connection->idle_ticks) {
        connection->state = STATE_THINKING;
        gen_timer_place(&connection->timers[KIND_IDLE], now, connection->idle_ticks, age);
    }
    connection->event_at = gen_next_request(model, &connection->activity, now - 1);
}

static void place(struct gen_model *model, void *record)
{
    const struct server *server = model->state;
    const uint64_t now = model->ring.now;
    struct connection *connection = record;
    connection->state = STATE_CLOSED;
    connection->idle_ticks = gen_span_draw(model, &server->idle);
    if (server->traffic.smooth) {
        /* All are closed, and connect within a think time. From then on the odds of being open
         * settle as fast as the pauses pass, once idle timers can expire. */
        connection->event_at = now + (uint64_t)(server->think_ticks * random_unit(&model->random));
    } else {
        place_bursts(model, now, connection);
    }
    connection->session = gen_session_place(model, &server->sessions);
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    const double per_second = gen_per_second(model);
    const double per_ms = gen_per_ms(model);
    const uint64_t idle_max_ticks = gen_whole_ticks(p[IDLE_MAX_S] * per_second);
    struct server *server = model->state;
    if (!gen_ordered(model, IDLE_MIN_S, IDLE_MAX_S, 1) ||
        !gen_ordered(model, RTO_MS, RTO_MAX_S, 1000)) {
        return false;
    }
    *server = (struct server){
        .think_ticks = p[THINK_S] * per_second,
        .pause_ticks = p[PAUSE_S] * per_second,
        .reply_median_ticks = p[REPLY_MEDIAN_MS] * per_ms,
        .rtt_median_ticks = p[RTT_MEDIAN_MS] * per_ms,
        .request_timeout_ticks = gen_whole_ticks(p[REQUEST_TIMEOUT_S] * per_second),
        .rto_ticks = gen_whole_ticks(p[RTO_MS] * per_ms),
        .rto_max_ticks = gen_whole_ticks(p[RTO_MAX_S] * per_second),
        .idle = {.min_ticks = p[IDLE_MIN_S] * per_second, .max_ticks = p[IDLE_MAX_S] * per_second},
        .sessions = gen_sessions_make(p[CLOSE], p[SESSION_SHAPE]),
    };
    const struct means means = smooth_means(model);
    const struct gen_smooth smooth = {
        .mean_ticks = request_ticks(server, &means, p[IDLE_MIN_S] * per_second,
                                    (p[IDLE_MAX_S] - p[IDLE_MIN_S]) * per_second),
        .busy_ticks = means.busy_ticks,
        .gap_ticks = server->think_ticks,
    };
    gen_traffic_read(model, ACTIVITY, &smooth, &server->traffic);
    /* Bursts: idle timers may have been started before the first simulated tick. */
    const uint64_t begin = server->traffic.smooth ? GEN_EPOCH : idle_max_ticks;
    double warmup = server->traffic.smooth
                        ? (p[THINK_S] + p[IDLE_MAX_S] + 3 * p[PAUSE_S]) * per_second
                        : 5 * means.busy_ticks + (double)server->request_timeout_ticks;
    model->warmup_end = begin + gen_whole_ticks(warmup);
    if (!gen_herds_read(model, HERDS, GEN_HERD_ROWS, &server->herds)) {
        return false;
    }
    model->event_at = offsetof(struct connection, event_at);
    gen_model_begin(model, sizeof(struct connection), begin,
                    idle_max_ticks > server->rto_max_ticks ? idle_max_ticks
                                                           : server->rto_max_ticks);
    return true;
}

const struct gen_workload gen_server = {
    .name = "server",
    .summary = "connections with an idle, a request and a retransmission timer each",
    .stresses = "restarts and stops in masses, far and near timers mixed, few expiries",
    .resembles = "a web or API server with keep-alive connections",
    .parameters = server_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .kinds = server_kinds,
    .counts = server_counts,
    .state_bytes = sizeof(struct server),
    .create = create,
    .place = place,
    .visit = visit,
};
