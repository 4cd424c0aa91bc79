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
#include "gen.h"
#include "gen_ring.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
                    "Netty's IdleStateHandler example, HAProxy's client timeout: 30 to 60 s"},
    [IDLE_MAX_S] = {"idle_max_s", 60, 0.001, 86400, "to this",
                    "nginx's client and proxy timeouts: 60 s"},
    [THINK_S] = {"think_s", 10, 0.001, 86400,
                 "mean time from an ACK to the next request, exponential", "chosen"},
    [PAUSE_S] = {"pause_s", 10, 0.001, 86400,
                 "mean time from a close to the next connect, exponential", "chosen"},
    [REQUEST_TIMEOUT_S] = {"request_timeout_s", 5, 0.001, 86400,
                           "time in which a reply must be ready", "h2o's request I/O timeout: 5 s"},
    [REPLY_MEDIAN_MS] = {"reply_median_ms", 20, 0.001, 1e6, "median of the log-normal reply time",
                         "log-normal as in Kafka's purgatory benchmark; the value is chosen"},
    [REPLY_SIGMA] = {"reply_sigma", 1.5, 0, 5, "standard deviation of its logarithm",
                     "chosen: 1 reply in 8,000 is later than the timeout"},
    [RTT_MEDIAN_MS] = {"rtt_median_ms", 30, 0.001, 1e5, "median of the log-normal round trip time",
                       "chosen"},
    [RTT_SIGMA] = {"rtt_sigma", 0.5, 0, 5, "standard deviation of its logarithm", "chosen"},
    [RTO_MS] = {"rto_ms", 200, 0.001, 1e6, "first retransmission timeout, doubled at each expiry",
                "Linux's TCP_RTO_MIN"},
    [RTO_MAX_S] = {"rto_max_s", 120, 0.001, 86400, "longest retransmission timeout",
                   "Linux's TCP_RTO_MAX"},
    [RETRIES] = {"retries", 15, 0, 100, "retransmissions before the connection is given up",
                 "Linux's tcp_retries2"},
    [LOSS] = {"loss", 0.01, 0, 1, "probability that a transmission or its ACK is lost", "chosen"},
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
    uint8_t state;
    uint8_t backoff; /* retransmissions so far */
};

/* What is counted while recording; the names stand in the trace's origin. */
#define SERVER_COUNT_MAP(X)                                                                        \
    X(connects)                                                                                    \
    X(requests)                                                                                    \
    X(replies)                                                                                     \
    X(transmissions)                                                                               \
    X(losses)                                                                                      \
    X(acks)                                                                                        \
    X(idle_expiries)                                                                               \
    X(request_expiries)                                                                            \
    X(retransmission_expiries)                                                                     \
    X(given_up)

struct counts {
#define SERVER_COUNT_FIELD(name) uint64_t name;
    SERVER_COUNT_MAP(SERVER_COUNT_FIELD)
#undef SERVER_COUNT_FIELD
};

struct server {
    struct gen_run *run;
    struct error *error;
    struct random random;
    struct gen_ring ring;
    struct connection *connections;
    struct counts counts;
    uint32_t first_tick; /* of the trace, in simulated ticks */
    bool recording;
    bool failed;

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

/* A duration in whole ticks, rounded up, at least one. */
static uint32_t whole_ticks(double ticks)
{
    if (ticks >= (double)TICKS_MAX) {
        return TICKS_MAX;
    }
    uint32_t whole = (uint32_t)ticks;
    return whole + ((double)whole < ticks || whole == 0);
}

static uint32_t timer_id(uint32_t number, enum kind kind)
{
    return number * KINDS + (uint32_t)kind;
}

static uint32_t rto(const struct server *server, unsigned backoff)
{
    uint64_t ticks = (uint64_t)server->rto_ticks << (backoff < 31 ? backoff : 31);
    return ticks < server->rto_max_ticks ? (uint32_t)ticks : server->rto_max_ticks;
}

static void record(struct server *server, uint32_t now, uint32_t number, enum kind kind,
                   enum trace_op op, uint32_t delay_ticks)
{
    server->run->generated_events++;
    if (server->recording &&
        !trace_writer_add(server->run->writer, now - server->first_tick, timer_id(number, kind), op,
                          delay_ticks, server->error)) {
        server->failed = true;
    }
}

/* --- the model ------------------------------------------------------------------------------- */

static void request(struct server *server, uint32_t now, uint32_t number,
                    struct connection *connection)
{
    server->counts.requests++;
    connection->state = STATE_SERVING;
    connection->idle_due = now + connection->idle_ticks;
    connection->timer_due = now + server->request_timeout_ticks;
    connection->event_at =
        now + whole_ticks(random_lognormal(&server->random, server->reply_median_ticks,
                                           server->reply_sigma));
    record(server, now, number, KIND_IDLE, TRACE_START, connection->idle_ticks);
    record(server, now, number, KIND_REQUEST, TRACE_START, server->request_timeout_ticks);
}

/* Sends what is to be acknowledged, for the first time or again. An ACK already under way still
 * comes; the first to arrive counts. */
static void transmit(struct server *server, uint32_t now, uint32_t number,
                     struct connection *connection)
{
    server->counts.transmissions++;
    uint32_t timeout = rto(server, connection->backoff);
    connection->timer_due = now + timeout;
    if (random_unit(&server->random) < server->loss) {
        server->counts.losses++;
    } else {
        uint32_t ack_at = now + whole_ticks(random_lognormal(
                                    &server->random, server->rtt_median_ticks, server->rtt_sigma));
        if (ack_at < connection->event_at) {
            connection->event_at = ack_at;
        }
    }
    record(server, now, number, KIND_RETRANSMISSION, TRACE_START, timeout);
}

/* Closes: stops what is still pending. */
static void close_connection(struct server *server, uint32_t now, uint32_t number,
                             struct connection *connection)
{
    if (connection->idle_due > now) {
        record(server, now, number, KIND_IDLE, TRACE_STOP, 0);
    }
    if (connection->state != STATE_THINKING && connection->timer_due > now) {
        record(server, now, number,
               connection->state == STATE_SERVING ? KIND_REQUEST : KIND_RETRANSMISSION, TRACE_STOP,
               0);
    }
    connection->state = STATE_CLOSED;
    connection->event_at =
        now + whole_ticks(random_exponential(&server->random, server->pause_ticks));
}

/* The timers of a connection that are due now; false if that closed it. */
static bool expire(struct server *server, uint32_t now, uint32_t number,
                   struct connection *connection)
{
    bool alive = true;
    bool again = false;
    if (connection->state == STATE_SERVING && connection->timer_due == now) {
        server->counts.request_expiries++;
        alive = false;
    }
    if (connection->state == STATE_UNACKNOWLEDGED && connection->timer_due == now) {
        server->counts.retransmission_expiries++;
        again = connection->backoff < server->retries;
        server->counts.given_up += !again;
        alive = again;
    }
    if (connection->idle_due == now) {
        server->counts.idle_expiries++;
        alive = false;
    }
    if (!alive) {
        close_connection(server, now, number, connection);
    } else if (again) {
        connection->backoff++;
        transmit(server, now, number, connection);
    }
    return alive;
}

/* What comes from outside now. */
static void happen(struct server *server, uint32_t now, uint32_t number,
                   struct connection *connection)
{
    switch ((enum state)connection->state) {
    case STATE_CLOSED:
        server->counts.connects++;
        request(server, now, number, connection);
        break;
    case STATE_THINKING:
        request(server, now, number, connection);
        break;
    case STATE_SERVING:
        server->counts.replies++;
        record(server, now, number, KIND_REQUEST, TRACE_STOP, 0);
        connection->state = STATE_UNACKNOWLEDGED;
        connection->backoff = 0;
        connection->event_at = NEVER;
        transmit(server, now, number, connection);
        break;
    case STATE_UNACKNOWLEDGED:
        server->counts.acks++;
        record(server, now, number, KIND_RETRANSMISSION, TRACE_STOP, 0);
        connection->state = STATE_THINKING;
        connection->event_at =
            now + whole_ticks(random_exponential(&server->random, server->think_ticks));
        break;
    }
}

static void visit(struct server *server, uint32_t now, uint32_t number)
{
    struct connection *connection = &server->connections[number];
    bool alive = connection->state == STATE_CLOSED || expire(server, now, number, connection);
    if (alive && connection->event_at == now) {
        happen(server, now, number, connection);
    }
    uint32_t next = connection->event_at;
    if (connection->state != STATE_CLOSED) {
        next = connection->idle_due < next ? connection->idle_due : next;
        if (connection->state != STATE_THINKING) {
            next = connection->timer_due < next ? connection->timer_due : next;
        }
    }
    if (!gen_ring_add(&server->ring, next, number)) {
        server->failed = !server->failed ? !error_set(server->error, "out of memory") : true;
    }
}

/* Simulates up to, and without, tick `end`. */
static bool simulate(struct server *server, uint32_t end)
{
    for (uint64_t now = server->ring.now; now < end; now++) {
        const uint32_t *numbers;
        size_t count;
        if (!gen_ring_take(&server->ring, &numbers, &count)) {
            return error_set(server->error, "out of memory");
        }
        /* The numbers are known ahead, the records lie anywhere: ask for them in time. */
        enum { AHEAD = 12 };
        for (size_t i = 0; i < count; i++) {
            if (i + AHEAD < count) {
                __builtin_prefetch(&server->connections[numbers[i + AHEAD]], 1);
            }
            visit(server, (uint32_t)now, numbers[i]);
        }
        if (server->failed) {
            return false;
        }
        progress_update(server->run->progress, now);
    }
    return true;
}

/* --- the warm-up section --------------------------------------------------------------------- */

struct pending {
    uint32_t started;
    uint32_t id;
    uint32_t delay_ticks;
};

/* Sorts by `started`, equals by their order, with the help of as much memory again. */
static void sort_pending(struct pending *pending, struct pending *spare, size_t count)
{
    for (unsigned shift = 0; shift < 32; shift += 8) {
        size_t at[257] = {0};
        for (size_t i = 0; i < count; i++) {
            at[(pending[i].started >> shift & 0xff) + 1]++;
        }
        for (unsigned i = 0; i < 256; i++) {
            at[i + 1] += at[i];
        }
        for (size_t i = 0; i < count; i++) {
            spare[at[pending[i].started >> shift & 0xff]++] = pending[i];
        }
        struct pending *other = pending;
        pending = spare;
        spare = other;
    }
    /* Four passes: sorted where it began. */
}

/* The timers pending before tick `now` is played, each as it was last started. Returns how many;
 * `pending` may be NULL to count only. */
static size_t collect_pending(const struct server *server, uint64_t by_kind[KINDS],
                              struct pending *pending)
{
    size_t count = 0;
    for (uint32_t i = 0; i < server->run->connections; i++) {
        const struct connection *connection = &server->connections[i];
        if (connection->state == STATE_CLOSED) {
            continue;
        }
        enum kind kinds[2] = {KIND_IDLE, KIND_REQUEST};
        uint32_t due[2] = {connection->idle_due, connection->timer_due};
        uint32_t delay[2] = {connection->idle_ticks, server->request_timeout_ticks};
        if (connection->state == STATE_UNACKNOWLEDGED) {
            kinds[1] = KIND_RETRANSMISSION;
            delay[1] = rto(server, connection->backoff);
        }
        for (unsigned k = 0; k < (connection->state == STATE_THINKING ? 1 : 2); k++) {
            if (pending != NULL) {
                pending[count] = (struct pending){.started = due[k] - delay[k],
                                                  .id = timer_id(i, kinds[k]),
                                                  .delay_ticks = delay[k]};
            }
            by_kind[kinds[k]]++;
            count++;
        }
    }
    return count;
}

static json_t *pending_json(const uint64_t by_kind[KINDS])
{
    return json_pack("{s:I, s:I, s:I}", "idle", (json_int_t)by_kind[KIND_IDLE], "request",
                     (json_int_t)by_kind[KIND_REQUEST], "retransmission",
                     (json_int_t)by_kind[KIND_RETRANSMISSION]);
}

static bool record_warmup(struct server *server, uint32_t now)
{
    uint64_t by_kind[KINDS] = {0};
    size_t count = collect_pending(server, by_kind, NULL);
    (void)json_object_set_new(server->run->counts, "pending_at_warmup_end", pending_json(by_kind));
    struct pending *pending = malloc((count + 1) * sizeof *pending);
    struct pending *spare = malloc((count + 1) * sizeof *spare);
    bool good = pending != NULL && spare != NULL;
    if (!good) {
        (void)error_set(server->error, "out of memory");
    } else {
        (void)collect_pending(server, by_kind, pending);
        sort_pending(pending, spare, count);
        server->first_tick = count > 0 ? pending[0].started : now;
    }
    for (size_t i = 0; good && i < count; i++) {
        good = trace_writer_add(server->run->writer, pending[i].started - server->first_tick,
                                pending[i].id, TRACE_START, pending[i].delay_ticks, server->error);
    }
    free(pending);
    free(spare);
    return good;
}

/* --- the run --------------------------------------------------------------------------------- */

/* Takes the parameters over. */
static bool set_up(struct server *server, double *warmup_ticks)
{
    const double *p = server->run->parameters;
    const double per_second = 1e9 / (double)server->run->tick_ns;
    const double per_ms = 1e6 / (double)server->run->tick_ns;
    if (p[IDLE_MIN_S] > p[IDLE_MAX_S]) {
        return error_set(server->error, "server: idle_min_s is above idle_max_s");
    }
    if (p[RTO_MS] > p[RTO_MAX_S] * 1000) {
        return error_set(server->error, "server: rto_ms is above rto_max_s");
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
    if (*warmup_ticks + server->run->seconds * per_second + longest * per_second >= TICKS_MAX) {
        return error_set(server->error,
                         "server: warm-up and recording together are beyond %" PRIu32
                         " ticks; choose fewer seconds or a longer tick_us",
                         TICKS_MAX);
    }
    return true;
}

static bool populate(struct server *server)
{
    const double *p = server->run->parameters;
    double idle_min = p[IDLE_MIN_S] * server->ticks_per_second;
    double idle_spread = p[IDLE_MAX_S] * server->ticks_per_second - idle_min;
    for (uint32_t i = 0; i < server->run->connections; i++) {
        struct connection *connection = &server->connections[i];
        connection->state = STATE_CLOSED;
        connection->idle_ticks = whole_ticks(idle_min + idle_spread * random_unit(&server->random));
        connection->event_at = (uint32_t)(server->think_ticks * random_unit(&server->random));
        if (!gen_ring_add(&server->ring, connection->event_at, i)) {
            return error_set(server->error, "out of memory");
        }
    }
    return true;
}

static bool play(struct server *server)
{
    struct gen_run *run = server->run;
    double warmup_ticks = 0;
    if (!set_up(server, &warmup_ticks)) {
        return false;
    }
    uint32_t warmup_end = whole_ticks(warmup_ticks);
    uint32_t end = warmup_end + whole_ticks(run->seconds * server->ticks_per_second);
    uint32_t longest = whole_ticks(run->parameters[IDLE_MAX_S] * server->ticks_per_second);
    longest = longest > server->rto_max_ticks ? longest : server->rto_max_ticks;
    server->connections = calloc(run->connections, sizeof *server->connections);
    if (server->connections == NULL || !gen_ring_create(&server->ring, longest)) {
        return error_set(server->error, "server: out of memory for %" PRIu32 " connections",
                         run->connections);
    }
    progress_begin(run->progress, "server", "ticks", end);
    random_seed(&server->random, run->seed);
    if (!populate(server) || !simulate(server, warmup_end) || !record_warmup(server, warmup_end)) {
        return false;
    }
    server->recording = true;
    server->counts = (struct counts){0};
    if (!simulate(server, end)) {
        return false;
    }
    uint64_t by_kind[KINDS] = {0};
    (void)collect_pending(server, by_kind, NULL);
    (void)json_object_set_new(run->counts, "pending_at_end", pending_json(by_kind));
#define SERVER_COUNT_JSON(name)                                                                    \
    (void)json_object_set_new(run->counts, #name, json_integer((json_int_t)server->counts.name));
    SERVER_COUNT_MAP(SERVER_COUNT_JSON)
#undef SERVER_COUNT_JSON
    run->warmup_end_tick = warmup_end - server->first_tick;
    run->end_tick = end - server->first_tick;
    run->ids = run->connections * KINDS;
    return true;
}

static bool generate(struct gen_run *run, struct error *error)
{
    struct server server = {.run = run, .error = error};
    bool good = play(&server);
    free(server.connections);
    gen_ring_destroy(&server.ring);
    return good;
}

extern const struct gen_workload gen_server;
const struct gen_workload gen_server = {
    .name = "server",
    .summary = "connections with an idle, a request and a retransmission timer each",
    .stresses = "restarts and stops in masses, far and near timers mixed, few expiries",
    .resembles = "a web or API server with keep-alive connections",
    .parameters = server_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .generate = generate,
};
