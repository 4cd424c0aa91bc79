/*
 * server: very many client connections to one server, and the three timers it keeps for each.
 *
 *   closed --connect--> serving --reply--> unacknowledged --ACK--> thinking --request--> serving
 *
 *   timer           started                        stopped            if it expires
 *   idle            by every request (restarted)   -                  the connection is closed
 *   request         by every request               by the reply       the connection is closed
 *   retransmission  when the reply is sent         by its ACK         sent again, timeout doubled
 *
 * The client thinks from the moment it has the reply; seen from the server, its next request then
 * comes a think time after the ACK. A closed connection's slot connects anew after a pause, its
 * first request together with the connection.
 *
 * Durations are rounded up to whole ticks: nothing takes no time. The model sees an expiry at the
 * tick the timer is due, before anything else of that tick, as an exact structure would show it.
 */
#include "gen_model.h"

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
};

static const struct gen_parameter server_parameters[] = {
    [TICK_US] = GEN_TICK_US_ROW(1000),
    [IDLE_MIN_S] = {"idle_min_s", 30, 0.001, 86400,
                    "idle timeout: each connection keeps one, uniform from this",
                    "Netty's IdleStateHandler example, HAProxy's client timeout: 30 to 60 s", NULL},
    [IDLE_MAX_S] = {"idle_max_s", 60, 0.001, 86400, "to this",
                    "nginx's client and proxy timeouts: 60 s", NULL},
    [THINK_S] = {"think_s", 10, 0.001, 86400,
                 "mean time from an ACK to the next request, exponential", "chosen", NULL},
    [PAUSE_S] = {"pause_s", 10, 0.001, 86400,
                 "mean time from a close to the next connect, exponential", "chosen", NULL},
    [REQUEST_TIMEOUT_S] = {"request_timeout_s", 5, 0.001, 86400,
                           "time in which a reply must be ready", "h2o's request I/O timeout: 5 s",
                           NULL},
    [REPLY_MEDIAN_MS] = {"reply_median_ms", 20, 0.001, 1e6, "median of the log-normal reply time",
                         "log-normal as in Kafka's purgatory benchmark; the value is chosen", NULL},
    [REPLY_SIGMA] = {"reply_sigma", 1.5, 0, 5, "standard deviation of its logarithm",
                     "chosen: 1 reply in 8,000 is later than the timeout", NULL},
    [RTT_MEDIAN_MS] = {"rtt_median_ms", 30, 0.001, 1e5, "median of the log-normal round trip time",
                       "chosen", NULL},
    [RTT_SIGMA] = {"rtt_sigma", 0.5, 0, 5, "standard deviation of its logarithm", "chosen", NULL},
    [RTO_MS] = {"rto_ms", 200, 0.001, 1e6, "first retransmission timeout, doubled at each expiry",
                "Linux's TCP_RTO_MIN", NULL},
    [RTO_MAX_S] = {"rto_max_s", 120, 0.001, 86400, "longest retransmission timeout",
                   "Linux's TCP_RTO_MAX", NULL},
    [RETRIES] = {"retries", 15, 0, 100, "retransmissions before the connection is given up",
                 "Linux's tcp_retries2", NULL},
    [LOSS] = {"loss", 0.01, 0, 1, "probability that a transmission or its ACK is lost", "chosen",
              NULL},
    {0},
};

enum kind { KIND_IDLE, KIND_REQUEST, KIND_RETRANSMISSION, KINDS };

enum state { STATE_CLOSED, STATE_THINKING, STATE_SERVING, STATE_UNACKNOWLEDGED };

/* Durations and simulated time fit 31 bits, and their sum 32: a record stays small. */
#define TICKS_MAX (UINT32_C(1) << 30)
#define NEVER     UINT32_MAX

struct connection {
    uint32_t idle_ticks; /* its idle timeout */
    uint32_t idle_due;   /* unless closed */
    uint32_t timer_due;  /* serving: the request timer's; unacknowledged: the retransmission's */
    uint32_t event_at;   /* what comes from outside: connect, request, reply, ACK; or NEVER */
    uint32_t first_id;   /* of its timers */
    uint8_t state;
    uint8_t backoff; /* retransmissions so far */
    bool expired;    /* a timer, in the trace, has closed it */
};

enum count {
    COUNT_CONNECTS,
    COUNT_REQUESTS,
    COUNT_REPLIES,
    COUNT_TRANSMISSIONS,
    COUNT_LOSSES,
    COUNT_ACKS,
    COUNT_IDLE_EXPIRIES,
    COUNT_REQUEST_EXPIRIES,
    COUNT_RETRANSMISSION_EXPIRIES,
    COUNT_GIVEN_UP,
};

static const char *const server_counts[] = {
    [COUNT_CONNECTS] = "connects",
    [COUNT_REQUESTS] = "requests",
    [COUNT_REPLIES] = "replies",
    [COUNT_TRANSMISSIONS] = "transmissions",
    [COUNT_LOSSES] = "losses",
    [COUNT_ACKS] = "acks",
    [COUNT_IDLE_EXPIRIES] = "idle_expiries",
    [COUNT_REQUEST_EXPIRIES] = "request_expiries",
    [COUNT_RETRANSMISSION_EXPIRIES] = "retransmission_expiries",
    [COUNT_GIVEN_UP] = "given_up",
    NULL,
};

struct server {
    struct gen_model *model;

    /* The parameters in ticks, and others as the loops want them. */
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
};

/* A duration in whole ticks. */
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

/* Sends what is to be acknowledged, for the first time or again. An ACK already under way still
 * comes; the first to arrive counts. */
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

/* Closes: stops what is still pending. */
static void close_connection(struct server *server, uint32_t now, struct connection *connection)
{
    if (connection->idle_due > now) {
        record(server, now, connection, KIND_IDLE, TRACE_STOP, 0);
    }
    if (connection->state != STATE_THINKING && connection->timer_due > now) {
        record(server, now, connection,
               connection->state == STATE_SERVING ? KIND_REQUEST : KIND_RETRANSMISSION, TRACE_STOP,
               0);
    }
    connection->state = STATE_CLOSED;
    connection->expired = server->model->recording;
    connection->event_at =
        now + whole_ticks(random_exponential(&server->model->random, server->pause_ticks));
}

/* The timers of a connection that are due now; false if that closed it. */
static bool expire(struct server *server, uint32_t now, struct connection *connection)
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
    } else if (again) {
        connection->backoff++;
        transmit(server, now, connection);
    }
    return alive;
}

/* What comes from outside now. */
static void happen(struct server *server, uint32_t now, struct connection *connection)
{
    switch ((enum state)connection->state) {
    case STATE_CLOSED:
        server->model->counts[COUNT_CONNECTS]++;
        if (connection->expired) { /* by nothing else is one closed */
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
        connection->state = STATE_THINKING;
        connection->event_at =
            now + whole_ticks(random_exponential(&server->model->random, server->think_ticks));
        break;
    }
}

static void visit(struct gen_model *model, uint64_t tick, uint32_t number)
{
    struct server *server = model->state;
    struct connection *connection = &((struct connection *)model->records)[number];
    uint32_t now = (uint32_t)tick;
    bool alive = connection->state == STATE_CLOSED || expire(server, now, connection);
    if (alive && connection->event_at == now) {
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
    gen_file(model, next, number);
}

static bool simulate(struct gen_model *model, uint64_t end)
{
    return gen_simulate(model, end, visit);
}

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

/* Takes the parameters over. */
static bool set_up(struct server *server, double *warmup_ticks)
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
    /* Every connection has connected within a think time. From then on each is open or closed with
     * odds that settle as fast as the pauses pass, once idle timers can run out at all. */
    *warmup_ticks = (p[THINK_S] + p[IDLE_MAX_S] + 3 * p[PAUSE_S]) * per_second;
    double longest = p[REQUEST_TIMEOUT_S] > p[RTO_MAX_S] ? p[REQUEST_TIMEOUT_S] : p[RTO_MAX_S];
    longest = longest > p[IDLE_MAX_S] ? longest : p[IDLE_MAX_S];
    if (*warmup_ticks + server->model->seconds * per_second + longest * per_second >= TICKS_MAX) {
        return error_set(server->model->error,
                         "server: warm-up and recording together are beyond %" PRIu32
                         " ticks; choose fewer seconds or a longer tick_us",
                         TICKS_MAX);
    }
    return true;
}

static void populate(struct server *server)
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
        connection->event_at = (uint32_t)(server->think_ticks * random_unit(&model->random));
        gen_file(model, connection->event_at, i);
    }
}

static bool create(struct gen_model *model)
{
    struct server *server = model->state;
    server->model = model;
    double warmup_ticks = 0;
    if (!set_up(server, &warmup_ticks)) {
        return false;
    }
    model->warmup_end = whole_ticks(warmup_ticks);
    uint32_t longest = whole_ticks(model->parameters[IDLE_MAX_S] * server->ticks_per_second);
    longest = longest > server->rto_max_ticks ? longest : server->rto_max_ticks;
    if (!gen_model_begin(model, sizeof(struct connection), 0, longest)) {
        return false;
    }
    populate(server);
    return true;
}

static const char *const server_kinds[] = {
    [KIND_IDLE] = "idle",
    [KIND_REQUEST] = "request",
    [KIND_RETRANSMISSION] = "retransmission",
    NULL,
};

extern const struct gen_workload gen_server;
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
