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

#include <inttypes.h>

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
enum kind { SERVER_TIMERS(GEN_PLACE) KINDS };
static const char *const server_kinds[] = {SERVER_TIMERS(GEN_NAME) NULL};

enum state { STATE_CLOSED, STATE_THINKING, STATE_SERVING, STATE_UNACKNOWLEDGED };

/* Durations and simulated time fit 31 bits, and their sum 32: a record stays small. */
#define TICKS_MAX (UINT32_C(1) << 30)
#define NEVER     UINT32_MAX
#define BEYOND    (UINT32_C(1) << 31) /* events from here on are after the end */

struct connection {
    uint32_t idle_ticks; /* its idle timeout */
    uint32_t idle_due;   /* unless closed */
    uint32_t timer_due;  /* serving: of the request timer; unacknowledged: of the retransmission
                            timer */
    uint32_t event_at;   /* next external event: connect, request, reply, ACK; or NEVER */
    uint32_t first_id;   /* of its timers */
    uint32_t burst_at;   /* as `burst_at` and `left` of struct gen_activity */
    uint32_t session;    /* requests until the close, if sessions have a tail */
    uint16_t left;
    uint8_t backoff; /* retransmissions so far */
    uint8_t state : 4;
    bool expired : 1; /* an expiry in the trace has closed it */
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
    struct gen_model *model;

    /* The parameters, in ticks. */
    double ticks_per_second;
    double think_ticks;
    double pause_ticks;
    double reply_median_ticks;
    double reply_sigma;
    double rtt_median_ticks;
    double rtt_sigma;
    double loss;
    uint32_t request_timeout_ticks;
    uint32_t rto_ticks;
    uint32_t rto_max_ticks;
    uint32_t retries;

    struct gen_traffic traffic;
    struct gen_sessions sessions;
    struct gen_herds herds;
};

static uint32_t whole_ticks(double ticks)
{
    uint64_t whole = gen_whole_ticks(ticks);
    return whole < TICKS_MAX ? (uint32_t)whole : TICKS_MAX;
}

static uint32_t rto(const struct server *server, unsigned backoff)
{
    uint64_t ticks = (uint64_t)server->rto_ticks << (backoff < 31 ? backoff : 31);
    return ticks < server->rto_max_ticks ? (uint32_t)ticks : server->rto_max_ticks;
}

static void record(struct server *server, uint32_t now, const struct connection *connection,
                   enum kind kind, enum trace_op op, uint32_t delay_ticks)
{
    gen_record(server->model, now, connection->first_id + kind, op, delay_ticks);
}

/* --- the model ------------------------------------------------------------------------------- */

static void request(struct server *server, uint32_t now, struct connection *connection)
{
    server->model->counts[COUNT_REQUESTS]++;
    connection->state = STATE_SERVING;
    connection->idle_due = now + connection->idle_ticks;
    connection->timer_due = now + server->request_timeout_ticks;
    connection->event_at =
        now + whole_ticks(random_lognormal(&server->model->random, server->reply_median_ticks,
                                           server->reply_sigma));
    record(server, now, connection, KIND_IDLE, TRACE_START, connection->idle_ticks);
    record(server, now, connection, KIND_REQUEST, TRACE_START, server->request_timeout_ticks);
}

/* Send the reply, for the first time or again. An earlier ACK on its way still counts if it arrives
 * first. */
static void transmit(struct server *server, uint32_t now, struct connection *connection)
{
    server->model->counts[COUNT_TRANSMISSIONS]++;
    uint32_t timeout = rto(server, connection->backoff);
    connection->timer_due = now + timeout;
    if (random_unit(&server->model->random) < server->loss) {
        server->model->counts[COUNT_LOSSES]++;
    } else {
        uint32_t ack_at =
            now + whole_ticks(random_lognormal(&server->model->random, server->rtt_median_ticks,
                                               server->rtt_sigma));
        if (ack_at < connection->event_at) {
            connection->event_at = ack_at;
        }
    }
    record(server, now, connection, KIND_RETRANSMISSION, TRACE_START, timeout);
}

/* Plan the next request; smooth: after a time with that mean. */
static void plan(struct server *server, uint32_t now, struct connection *connection,
                 double mean_ticks)
{
    if (server->traffic.smooth) {
        connection->event_at =
            now + whole_ticks(random_exponential(&server->model->random, mean_ticks));
        return;
    }
    const struct connection *connections = server->model->records;
    struct gen_activity activity = {.burst_at = connection->burst_at, .left = connection->left};
    uint64_t tick = gen_next_request(server->model, &server->traffic, &activity, now,
                                     (uint32_t)(connection - connections));
    connection->event_at = tick < BEYOND ? (uint32_t)tick : BEYOND;
    connection->burst_at = activity.burst_at < BEYOND ? (uint32_t)activity.burst_at : BEYOND;
    connection->left = (uint16_t)activity.left;
}

/* Close a connection and stop its timers. The next request is already planned if one was awaited,
 * and does not depend on the connection. */
static void close_connection(struct server *server, uint32_t now, struct connection *connection)
{
    bool planned = connection->state == STATE_THINKING && !server->traffic.smooth;
    if (connection->idle_due > now) {
        record(server, now, connection, KIND_IDLE, TRACE_STOP, 0);
    }
    if (connection->state != STATE_THINKING && connection->timer_due > now) {
        record(server, now, connection,
               connection->state == STATE_SERVING ? KIND_REQUEST : KIND_RETRANSMISSION, TRACE_STOP,
               0);
    }
    connection->state = STATE_CLOSED;
    connection->expired = false;
    if (!planned) {
        plan(server, now, connection, server->pause_ticks);
    }
}

/* Expire the timers that are due now. */
static void expire(struct server *server, uint32_t now, struct connection *connection)
{
    bool alive = true;
    bool again = false;
    if (connection->state == STATE_SERVING && connection->timer_due == now) {
        server->model->counts[COUNT_REQUEST_EXPIRIES]++;
        gen_caused_by(server->model, connection->first_id + KIND_REQUEST);
        alive = false;
    }
    if (connection->state == STATE_UNACKNOWLEDGED && connection->timer_due == now) {
        server->model->counts[COUNT_RETRANSMISSION_EXPIRIES]++;
        gen_caused_by(server->model, connection->first_id + KIND_RETRANSMISSION);
        again = connection->backoff < server->retries;
        server->model->counts[COUNT_GIVEN_UP] += !again;
        alive = again;
    }
    if (connection->idle_due == now) {
        server->model->counts[COUNT_IDLE_EXPIRIES]++;
        gen_caused_by(server->model, connection->first_id + KIND_IDLE);
        alive = false;
    }
    if (!alive) {
        close_connection(server, now, connection);
        connection->expired = server->model->recording;
    } else if (again) {
        connection->backoff++;
        transmit(server, now, connection);
    }
}

/* Handle the external event of this tick. */
static void happen(struct server *server, uint32_t now, struct connection *connection)
{
    switch ((enum state)connection->state) {
    case STATE_CLOSED:
        server->model->counts[COUNT_CONNECTS]++;
        if (connection->expired) {
            connection->first_id = gen_new_ids(server->model);
        }
        request(server, now, connection);
        break;
    case STATE_THINKING:
        request(server, now, connection);
        break;
    case STATE_SERVING:
        server->model->counts[COUNT_REPLIES]++;
        record(server, now, connection, KIND_REQUEST, TRACE_STOP, 0);
        connection->state = STATE_UNACKNOWLEDGED;
        connection->backoff = 0;
        connection->event_at = NEVER;
        transmit(server, now, connection);
        break;
    case STATE_UNACKNOWLEDGED:
        server->model->counts[COUNT_ACKS]++;
        record(server, now, connection, KIND_RETRANSMISSION, TRACE_STOP, 0);
        if (server->sessions.close > 0 &&
            gen_session_ends(server->model, &server->sessions, &connection->session)) {
            server->model->counts[COUNT_CLOSES]++;
            connection->timer_due = now; /* stopped already */
            close_connection(server, now, connection);
            break;
        }
        connection->state = STATE_THINKING;
        plan(server, now, connection, server->think_ticks);
        break;
    }
}

/* Apply a deploy or storm. */
static void apply_herd(struct server *server, uint32_t now, struct connection *connection,
                       enum gen_herd herd)
{
    if (herd == GEN_HERD_NONE || connection->state == STATE_CLOSED) {
        return;
    }
    gen_from_outside(server->model);
    close_connection(server, now, connection);
    uint64_t back = gen_herd_return(server->model, &server->herds, herd, now, COUNT_DEPLOYED);
    connection->event_at = back < BEYOND ? (uint32_t)back : BEYOND;
}

static void visit(struct gen_model *model, uint64_t tick, uint32_t number)
{
    struct server *server = model->state;
    struct connection *connection = &((struct connection *)model->records)[number];
    uint32_t now = (uint32_t)tick;
    if (connection->state != STATE_CLOSED) {
        expire(server, now, connection);
    }
    apply_herd(server, now, connection, gen_herd_at(&server->herds, now, number));
    if (connection->event_at == now) {
        uint64_t arrival = gen_arrival(&server->herds, now, number);
        connection->event_at = arrival < BEYOND ? (uint32_t)arrival : BEYOND;
    }
    if (connection->event_at == now) {
        gen_from_outside(model);
        happen(server, now, connection);
    }
    uint32_t next = connection->event_at;
    if (connection->state != STATE_CLOSED) {
        next = connection->idle_due < next ? connection->idle_due : next;
        if (connection->state != STATE_THINKING) {
            next = connection->timer_due < next ? connection->timer_due : next;
        }
    }
    gen_file_herded(model, &server->herds, now, next, number);
}

GEN_SIMULATE(simulate, visit)

static void pending(const struct gen_model *model, uint32_t number, struct gen_pending_list *list)
{
    const struct server *server = model->state;
    const struct connection *connection = &((const struct connection *)model->records)[number];
    if (connection->state != STATE_CLOSED) {
        gen_pending_add(list, KIND_IDLE, connection->first_id + KIND_IDLE, connection->idle_due,
                        connection->idle_ticks);
    }
    if (connection->state == STATE_SERVING) {
        gen_pending_add(list, KIND_REQUEST, connection->first_id + KIND_REQUEST,
                        connection->timer_due, server->request_timeout_ticks);
    }
    if (connection->state == STATE_UNACKNOWLEDGED) {
        gen_pending_add(list, KIND_RETRANSMISSION, connection->first_id + KIND_RETRANSMISSION,
                        connection->timer_due, rto(server, connection->backoff));
    }
}

/* --- the run --------------------------------------------------------------------------------- */

/* Mean values of smooth traffic. */
struct means {
    double late;       /* probability that a reply is not ready in time */
    double given_up;   /* probability that no ACK comes then */
    double busy_ticks; /* from a request to its ACK, or its failure */
};

static struct means smooth_means(const struct server *server)
{
    double in_time;
    double reply = gen_lognormal_cut(server->reply_median_ticks, server->reply_sigma,
                                     server->request_timeout_ticks, &in_time);
    double rtt_sigma = server->rtt_sigma;
    double ack = server->rtt_median_ticks * random_exp(rtt_sigma * rtt_sigma / 2) + 0.5;
    double lost = server->loss;
    double ticks = 0; /* until the ACK, or the end of the timeouts */
    double tried = 1; /* probability of this transmission */
    for (uint32_t i = 0; i <= server->retries; i++) {
        ticks += tried * (1 - lost) * ack + tried * lost * rto(server, i);
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

/* Read the parameters. */
static bool set_up(struct server *server)
{
    const double *p = server->model->parameters;
    const double per_second = gen_per_second(server->model);
    const double per_ms = gen_per_ms(server->model);
    if (!gen_ordered(server->model, IDLE_MIN_S, IDLE_MAX_S, 1) ||
        !gen_ordered(server->model, RTO_MS, RTO_MAX_S, 1000)) {
        return false;
    }
    server->ticks_per_second = per_second;
    server->think_ticks = p[THINK_S] * per_second;
    server->pause_ticks = p[PAUSE_S] * per_second;
    server->reply_median_ticks = p[REPLY_MEDIAN_MS] * per_ms;
    server->reply_sigma = p[REPLY_SIGMA];
    server->rtt_median_ticks = p[RTT_MEDIAN_MS] * per_ms;
    server->rtt_sigma = p[RTT_SIGMA];
    server->loss = p[LOSS];
    server->request_timeout_ticks = whole_ticks(p[REQUEST_TIMEOUT_S] * per_second);
    server->rto_ticks = whole_ticks(p[RTO_MS] * per_ms);
    server->rto_max_ticks = whole_ticks(p[RTO_MAX_S] * per_second);
    server->retries = (uint32_t)p[RETRIES];
    server->sessions = gen_sessions_make(p[CLOSE], p[SESSION_SHAPE]);
    return true;
}

/* Otherwise all but the requests in progress are in their steady state. */
static void populate_bursts(struct server *server, uint32_t now, struct connection *connection,
                            uint32_t number)
{
    struct gen_activity activity;
    uint64_t age = gen_activity_place(server->model, &server->traffic, &activity, now, number,
                                      server->traffic.busy_ticks);
    connection->burst_at = activity.burst_at < BEYOND ? (uint32_t)activity.burst_at : BEYOND;
    connection->left = (uint16_t)activity.left;
    if (age <= connection->idle_ticks) {
        connection->state = STATE_THINKING;
        connection->idle_due = now - (uint32_t)age + connection->idle_ticks;
    }
    plan(server, now - 1, connection, 0);
}

static void populate(struct server *server, uint32_t now)
{
    struct gen_model *model = server->model;
    struct connection *connections = model->records;
    const double *p = model->parameters;
    double idle_min = p[IDLE_MIN_S] * server->ticks_per_second;
    double idle_spread = p[IDLE_MAX_S] * server->ticks_per_second - idle_min;
    for (uint32_t i = 0; i < model->connections; i++) {
        struct connection *connection = &connections[i];
        connection->state = STATE_CLOSED;
        connection->first_id = model->first_id + i * KINDS;
        connection->idle_ticks = whole_ticks(idle_min + idle_spread * random_unit(&model->random));
        uint32_t next;
        if (server->traffic.smooth) {
            /* All are closed, and connect within a think time. From then on the odds of being open
             * settle as fast as the pauses pass, once idle timers can expire. */
            connection->event_at = (uint32_t)(server->think_ticks * random_unit(&model->random));
            next = connection->event_at;
        } else {
            populate_bursts(server, now, connection, i);
            next =
                connection->state == STATE_THINKING && connection->idle_due < connection->event_at
                    ? connection->idle_due
                    : connection->event_at;
        }
        connection->session = gen_session_place(model, &server->sessions);
        gen_file_herded(model, &server->herds, now, next, i);
    }
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    struct server *server = model->state;
    server->model = model;
    if (!set_up(server)) {
        return false;
    }
    const double per_second = server->ticks_per_second;
    const struct means means = smooth_means(server);
    const struct gen_smooth smooth = {
        .mean_ticks = request_ticks(server, &means, p[IDLE_MIN_S] * per_second,
                                    (p[IDLE_MAX_S] - p[IDLE_MIN_S]) * per_second),
        .busy_ticks = means.busy_ticks,
        .gap_ticks = server->think_ticks,
    };
    gen_traffic_read(model, ACTIVITY, &smooth, &server->traffic);
    /* Bursts: idle timers may have been started before the first simulated tick. */
    uint32_t begin = server->traffic.smooth ? 0 : whole_ticks(p[IDLE_MAX_S] * per_second);
    double warmup = server->traffic.smooth
                        ? (p[THINK_S] + p[IDLE_MAX_S] + 3 * p[PAUSE_S]) * per_second
                        : 5 * means.busy_ticks + server->request_timeout_ticks;
    double longest = p[REQUEST_TIMEOUT_S] > p[RTO_MAX_S] ? p[REQUEST_TIMEOUT_S] : p[RTO_MAX_S];
    longest = longest > p[IDLE_MAX_S] ? longest : p[IDLE_MAX_S];
    if (begin + warmup + (model->seconds + longest) * per_second >= TICKS_MAX) {
        return error_set(model->error,
                         "server: warm-up and recording together are beyond %" PRIu32
                         " ticks; choose fewer seconds or a longer tick_us",
                         TICKS_MAX);
    }
    model->warmup_end = begin + whole_ticks(warmup);
    uint32_t reach = whole_ticks(p[IDLE_MAX_S] * per_second);
    reach = reach > server->rto_max_ticks ? reach : server->rto_max_ticks;
    if (!gen_herds_read(model, HERDS, GEN_HERD_ROWS, &server->herds)) {
        return false;
    }
    gen_model_begin(model, sizeof(struct connection), begin, reach);
    populate(server, begin);
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
    .simulate = simulate,
    .pending = pending,
};
