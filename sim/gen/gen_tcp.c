/*
 * tcp: the timers that Linux keeps for TCP connections, with Linux's constants.
 *
 *   closed --SYN--> connecting --> idle --request--> asking --reply--> answering --ACK-->
 *     idle, or closing --> TIME_WAIT --60 s--> closed
 *
 *   timer        started                           ends
 *   retransmit   by every transmission             not by an ACK: expires without effect, or the
 *                                                  or the next transmission restarts it
 *   delayed-ack  by a request                      not by the reply that carries the ACK
 *   keepalive    once, when connected; at a close  expires, checks the silence of the peer, waits on
 *                for FIN_WAIT2                     or sends a probe; restarted, stopped by the close
 *   syn-ack      by the SYN                        stopped by the handshake's ACK
 *   time-wait    by the close                      always expires
 *
 * This is the behavior in recordings of Linux: nineteen of twenty timers that end, expire. The
 * retransmission timer detects a loss when it expires with unacknowledged data: it sends a tail
 * probe, then the segment again, with the timeout doubled each time. A close stops pending timers.
 * Linux and this model omit a start that would not change the deadline.
 *
 * The parameter `ends` selects the timers in the trace: those of a server with peers elsewhere, of
 * a client, or of both, as on one host.
 *
 * A connection exists for an exponential time, in which its requests come as in gen_traffic.h: in
 * bursts with heavy tails and silences between, shared by a client's connections. If its lifetime
 * depended on the number of requests instead, busy clients would be in TIME_WAIT more often. It
 * ends with a last request, or the peer vanishes.
 */
#include "gen_rtt.h"
#include "gen_traffic.h"

/* The parameters. */
enum {
    TICK_US = GEN_TICK_US,
    ENDS,
    RATE_PER_S,
    REQUESTS,
    PAUSE_S,
    CLOSE_CLIENT,
    VANISH,
    REPLY_MS,
    RTT_MS,
    LOSS,
    RTO_INITIAL_MS,
    RTO_MIN_MS,
    SYN_RETRIES,
    RETRIES,
    DELACK_MS,
    KEEPALIVE,
    KEEPALIVE_S,
    KEEPALIVE_INTERVAL_S,
    TIME_WAIT_S,
    ACTIVITY,
    ROWS = ACTIVITY + GEN_ACTIVITY_ROWS
};

enum { ENDS_SERVER, ENDS_CLIENT, ENDS_BOTH };
static const struct tl_choice ends_words[] = {
    {"server", ENDS_SERVER, NULL}, {"client", ENDS_CLIENT, NULL}, {"both", ENDS_BOTH, NULL}, {0}};

#define NGINX "recordings of nginx and its clients"

static const struct tl_option tcp_parameters[] = {
    GEN_TICK_US_ROWS(1000, "1 ms: what servers count in"),
    GEN_WORD(ENDS, "ends", ENDS_SERVER, ends_words,
             "timers of: the server, with peers elsewhere; the client; both, on one host",
             "chosen"),
    GEN_REAL(RATE_PER_S, "rate_per_s", 0.1, 1e-6, 1e5, "requests a second on an open connection",
             "chosen"),
    GEN_REAL(REQUESTS, "requests", 80, 1, 1e9, "mean number of requests of a connection", NGINX),
    GEN_REAL(PAUSE_S, "pause_s", 1, 0.001, 86400,
             "mean time from the end of a connection to the next, exponential", "chosen"),
    GEN_REAL(CLOSE_CLIENT, "close_client", 0, 0, 1,
             "share of the connections that the client closes first", "chosen"),
    GEN_REAL(VANISH, "vanish", 0.01, 0, 1,
             "share of the connections with a peer that vanishes unnoticed", "chosen"),
    GEN_REAL(REPLY_MS, "reply_ms", 0.1, 0.001, 1e6, "median of the log-normal reply time", NGINX),
    GEN_REAL(RTT_MS, "rtt_ms", 0.05, 0.001, 1e5,
             "median of the connections' log-normal round trip time", "one host: 0.05 ms"),
    GEN_REAL(LOSS, "loss", 0, 0, 1, "probability that a transmission or an ACK is lost", NGINX),
    GEN_REAL(RTO_INITIAL_MS, "rto_initial_ms", 1000, 0.001, 120000,
             "retransmission timeout of SYN and SYN-ACK",
             "Linux's TCP_TIMEOUT_INIT, RFC 6298: 1 s"),
    GEN_REAL(RTO_MIN_MS, "rto_min_ms", 200, 0.001, 120000,
             "least that is added to the smoothed round trip time", "Linux's TCP_RTO_MIN"),
    GEN_REAL(SYN_RETRIES, "syn_retries", 6, 0, 100, "repeated SYNs and SYN-ACKs before giving up",
             "Linux's tcp_syn_retries"),
    GEN_REAL(RETRIES, "retries", 15, 0, 100, "retransmissions before the connection is given up",
             "Linux's tcp_retries2"),
    GEN_REAL(DELACK_MS, "delack_ms", 40, 0.001, 1e6, "delayed ACK", "Linux's TCP_DELACK_MIN"),
    GEN_REAL(KEEPALIVE, "keepalive", 0.565, 0, 1, "share of the connections with SO_KEEPALIVE",
             NGINX),
    GEN_REAL(KEEPALIVE_S, "keepalive_s", 15, 0.001, 1e6, "silence before the first probe", NGINX),
    GEN_REAL(KEEPALIVE_INTERVAL_S, "keepalive_interval_s", 5, 0.001, 86400,
             "from a keepalive probe to the next", NGINX),
    GEN_REAL(TIME_WAIT_S, "time_wait_s", 60, 0.001, 86400, "TIME_WAIT, and FIN_WAIT2",
             "Linux's TCP_TIMEWAIT_LEN"),
    GEN_ACTIVITY_BUT(ACTIVITY, 0.2,
                     "kernel timers of three loads: 0.19 to 0.56 of starts are in no row of five, "
                     "1 s apart",
                     250, "chosen: as many starts are restarts as in recordings, 11 to 22 %", 400,
                     "chosen: starts are as dispersed as in recordings"),
    [ROWS] = {0},
};

#define TCP_TIMERS(X)                                                                              \
    X(KIND_RETRANSMIT, "retransmit")                                                               \
    X(KIND_DELAYED_ACK, "delayed-ack")                                                             \
    X(KIND_KEEPALIVE, "keepalive")                                                                 \
    X(KIND_SYN_ACK, "syn-ack")                                                                     \
    X(KIND_TIME_WAIT, "time-wait")
#define TCP_COUNTS(X)                                                                              \
    X(COUNT_CONNECTS, "connects")                                                                  \
    X(COUNT_REQUESTS, "requests")                                                                  \
    X(COUNT_REPLIES, "replies")                                                                    \
    X(COUNT_TRANSMISSIONS, "transmissions")                                                        \
    X(COUNT_LOSSES, "losses")                                                                      \
    X(COUNT_RETRANSMISSIONS, "retransmissions")                                                    \
    X(COUNT_ACKS, "acks")                                                                          \
    X(COUNT_IDLE_EXPIRIES, "idle_expiries")                                                        \
    X(COUNT_KEEPALIVE_EXPIRIES, "keepalive_expiries")                                              \
    X(COUNT_PROBES, "probes")                                                                      \
    X(COUNT_VANISHED, "vanished")                                                                  \
    X(COUNT_DROPPED, "dropped")                                                                    \
    X(COUNT_GIVEN_UP, "given_up")                                                                  \
    X(COUNT_TIME_WAITS, "time_waits")                                                              \
    X(COUNT_UNCHANGED, "unchanged_starts")
enum { TCP_TIMERS(GEN_PLACE) KINDS };
enum { TCP_COUNTS(GEN_PLACE) };
static const char *const tcp_kinds[] = {TCP_TIMERS(GEN_NAME) NULL};
static const char *const tcp_counts[] = {TCP_COUNTS(GEN_NAME) NULL};

/* The next event of a connection. */
enum tcp_state {
    STATE_CLOSED,     /* connect */
    STATE_CONNECTING, /* arrival of the SYN */
    STATE_ACCEPTING,  /* arrival of the handshake's ACK */
    STATE_IDLE,       /* a request, or the end of the connection */
    STATE_ASKING,     /* sending of the reply */
    STATE_ANSWERING,  /* arrival of the reply's ACK */
    STATE_CLOSING,    /* both have closed */
    STATE_TIME_WAIT,  /* its end, if the closer is elsewhere */
    STATE_VANISHED,   /* none: a timer expires next */
};

/* One end of a connection. */
struct tcp_end {
    struct gen_timer timers[KINDS];
    uint64_t heard_at; /* when the other end was last heard */
    uint64_t sent_at;  /* of the first unacknowledged transmission */
    struct gen_rtt estimate;
    uint8_t backoff; /* expiries since then */
    uint8_t probes;  /* unanswered keepalive probes */
    bool waits;      /* something is unacknowledged */
    bool measured;   /* a round trip after the handshake was measured */
    bool keepalive;
};

struct tcp_connection {
    uint64_t event_at;
    uint64_t request_at; /* of the last request */
    uint64_t close_at;   /* end of the connection */
    struct gen_activity activity;
    float rtt_ticks;
    uint8_t state;
    bool asked; /* a request has come */
    bool last;  /* the current request is the last: close with the reply */
    bool client_closes;
};

/* A record begins with its ends: a server, a client, or both in this order. */
struct tcp {
    double gap_ticks; /* mean time from request to request */
    double life_ticks;
    double pause_ticks;
    double reply_median_ticks;
    double rtt_median_ticks;
    double rto_min_ticks;
    uint64_t rto_initial_ticks;
    uint64_t rto_max_ticks;
    uint64_t delack_ticks;
    uint64_t keepalive_ticks;
    uint64_t keepalive_interval_ticks;
    uint64_t time_wait_ticks; /* and of FIN_WAIT2 */
    bool server;
    bool client;
    struct gen_traffic traffic;
};

/* Linux's TCP_KEEPALIVE_PROBES: unanswered probes before the connection is dropped. */
#define TCP_PROBES  9u

/* The standard deviation of the logarithm of the reply times. */
#define REPLY_SIGMA 0.5

/* Linux's TCP_RTO_MAX. */
#define RTO_MAX_S   120

/* The standard deviation of the logarithm of the round trip times. */
#define RTT_SIGMA   0.5

/* The visit of a connection. */
struct tcp_visit {
    struct gen_model *model;
    const struct tcp *tcp;
    uint64_t now;
    struct tcp_connection *connection;
    struct tcp_end *ends;
    struct tcp_end *server; /* NULL: elsewhere */
    struct tcp_end *client; /* likewise */
};

/* Linux's tcp_syn_linear_timeouts: repeated SYNs before the timeout doubles. */
#define SYN_LINEAR 4u

static struct tcp_visit visit_of(struct gen_model *model, uint64_t now, void *record)
{
    const struct tcp *tcp = model->state;
    struct tcp_end *ends = record;
    return (struct tcp_visit){.model = model,
                              .tcp = tcp,
                              .now = now,
                              .connection = (void *)(ends + model->ends),
                              .ends = ends,
                              .server = tcp->server ? ends : NULL,
                              .client = tcp->client ? ends + (tcp->server ? 1 : 0) : NULL};
}

/* Return the end that closes first; NULL: elsewhere. */
static struct tcp_end *closer_of(const struct tcp_visit *visit)
{
    return visit->connection->client_closes ? visit->client : visit->server;
}

/* --- an end ---------------------------------------------------------------------------------- */

/* Draw whole ticks, possibly 0, with the mean `ticks`. */
static uint64_t soon(struct gen_model *model, double ticks)
{
    return (uint64_t)(ticks + random_unit(&model->random));
}

/* Start an end's timer, if that end is here. A start that would not change the deadline is
 * omitted. */
static void start(const struct tcp_visit *visit, struct tcp_end *end, unsigned kind, uint64_t ticks)
{
    if (end == NULL) {
        return;
    }
    struct gen_timer *timer = &end->timers[kind];
    if (timer->delay_ticks > 0 && timer->due > visit->now && timer->due == visit->now + ticks) {
        visit->model->counts[COUNT_UNCHANGED]++;
        return;
    }
    gen_timer_start(visit->model, visit->now, timer, ticks);
}

static void stop(const struct tcp_visit *visit, struct tcp_end *end, unsigned kind)
{
    if (end != NULL) {
        gen_timer_stop(visit->model, visit->now, &end->timers[kind]);
    }
}

/* Return the timeout of an end's transmission. A handshake's round trip that is too short for the
 * clock adds nothing to the minimum. */
static uint64_t rto(const struct tcp *tcp, const struct tcp_end *end, unsigned doublings)
{
    double variation = 4 * (double)end->estimate.variation_ticks;
    double least = variation > tcp->rto_min_ticks ? variation : tcp->rto_min_ticks;
    double smoothed = (double)end->estimate.smoothed_ticks;
    uint64_t ticks = end->measured || smoothed >= 1 ? gen_whole_ticks(smoothed + least)
                                                    : (uint64_t)(smoothed + least);
    return gen_doubled(ticks > 0 ? ticks : 1, ticks > 0 ? doublings : 0, tcp->rto_max_ticks);
}

/* Return the timeout of the tail probe, which is sent first if this is shorter. */
static uint64_t probe_timeout(const struct tcp *tcp, const struct tcp_end *end)
{
    return gen_whole_ticks(2 * (double)end->estimate.smoothed_ticks + tcp->rto_min_ticks);
}

/* Return the first timeout of a handshake, doubled that many times. */
static uint64_t handshake_timeout(const struct tcp *tcp, unsigned doublings)
{
    return gen_doubled(tcp->rto_initial_ticks, doublings < 16 ? doublings : 16, tcp->rto_max_ticks);
}

/* Add a sample as Linux does: the variation hardly grows by a shorter round trip. */
static void sample(struct gen_rtt *rtt, float ticks)
{
    float before = rtt->variation_ticks;
    float shorter = rtt->smoothed_ticks - ticks;
    gen_rtt_sample(rtt, ticks);
    if (shorter > before && before > 0) {
        rtt->variation_ticks = before + (shorter - before) / 32;
    }
}

/* Draw one of the connection's round trips, in ticks: a tenth shorter or longer. */
static double round_trip(const struct tcp_visit *visit)
{
    double share = 0.1 * (2 * random_unit(&visit->model->random) - 1);
    return (double)visit->connection->rtt_ticks * (1 + share);
}

static bool arrives(const struct tcp_visit *visit)
{
    visit->model->counts[COUNT_TRANSMISSIONS]++;
    if (gen_chance(visit->model, visit->model->parameters[LOSS])) {
        visit->model->counts[COUNT_LOSSES]++;
        return false;
    }
    return true;
}

/* Return whether an ACK without data arrives; without losses it is not counted as sent. */
static bool ack_arrives(const struct tcp_visit *visit)
{
    return !(visit->model->parameters[LOSS] > 0) || arrives(visit);
}

/* Send data from an end, and wait for its ACK. */
static void send_data(const struct tcp_visit *visit, struct tcp_end *end)
{
    if (end == NULL) {
        return;
    }
    if (!end->waits) {
        end->waits = true;
        end->sent_at = visit->now;
        end->backoff = 0;
    }
    uint64_t timeout = rto(visit->tcp, end, 0);
    uint64_t probe = probe_timeout(visit->tcp, end);
    start(visit, end, KIND_RETRANSMIT, timeout);
    if (probe < timeout) {
        start(visit, end, KIND_RETRANSMIT, probe);
    }
}

/* Acknowledge everything. Segments have time stamps, so that the round trip of retransmitted data
 * is measured from its first transmission. */
static void acknowledge(const struct tcp_visit *visit, struct tcp_end *end, double trip_ticks)
{
    if (end == NULL) {
        return;
    }
    end->heard_at = visit->now;
    if (end->waits) {
        end->waits = false;
        double waited =
            end->backoff > 0 ? (double)(visit->now - end->sent_at) + trip_ticks : trip_ticks;
        sample(&end->estimate, (float)waited);
        end->measured = true;
    }
}

static void hear(const struct tcp_visit *visit, struct tcp_end *end)
{
    if (end != NULL) {
        end->heard_at = visit->now;
        end->probes = 0;
    }
}

/* Send a SYN, a request, a reply: its arrival is the next event, if it arrives. If not, the
 * sender's timer expires; a sender elsewhere sends again after the shortest timeout. */
static void travel(const struct tcp_visit *visit, const struct tcp_end *sender, double more_ticks)
{
    uint64_t again =
        sender != NULL ? GEN_NEVER : visit->now + gen_whole_ticks(visit->tcp->rto_min_ticks);
    visit->connection->event_at =
        arrives(visit) ? visit->now + soon(visit->model, round_trip(visit) / 2 + more_ticks)
                       : again;
}

/* --- begin and end --------------------------------------------------------------------------- */

/* End a connection without a message; the next one in its slot comes after a pause. If the expiry
 * of one end's timer ends it, a late structure may still hold the other end's timers. */
static void forget(const struct tcp_visit *visit)
{
    bool by_expiry = visit->model->recording && visit->model->cause.basis != TRACE_EXTERNAL;
    for (uint32_t i = 0; i < visit->model->ends; i++) {
        struct tcp_end *end = &visit->ends[i];
        end->waits = false;
        for (unsigned kind = 0; kind < KINDS; kind++) {
            end->timers[kind].fired |= by_expiry && end->timers[kind].delay_ticks > 0;
            stop(visit, end, kind);
        }
    }
    visit->connection->state = STATE_CLOSED;
    visit->connection->event_at =
        visit->now + gen_exponential(visit->model, visit->tcp->pause_ticks);
}

/* Send the handshake's SYN, `repeated` times before. */
static void send_syn(const struct tcp_visit *visit, unsigned repeated)
{
    if (visit->client != NULL) {
        if (repeated == 0) {
            visit->client->sent_at = visit->now;
        }
        visit->client->waits = true;
        start(visit, visit->client, KIND_RETRANSMIT,
              handshake_timeout(visit->tcp, repeated > SYN_LINEAR ? repeated - SYN_LINEAR : 0));
    }
    if (visit->connection->state == STATE_ACCEPTING) {
        return; /* a SYN has arrived, and the server's own timer repeats its answer */
    }
    visit->connection->state = STATE_CONNECTING;
    travel(visit, visit->client, 0);
}

static void send_syn_ack(const struct tcp_visit *visit, unsigned repeated)
{
    visit->connection->state = STATE_ACCEPTING;
    start(visit, visit->server, KIND_SYN_ACK, handshake_timeout(visit->tcp, repeated));
    travel(visit, visit->server, 0);
}

/* Decide which end of a connection will close it. */
static bool closes_at_client(const struct tcp_visit *visit)
{
    const double share = visit->model->parameters[CLOSE_CLIENT];
    return share > 0 && gen_chance(visit->model, share);
}

static void open_connection(const struct tcp_visit *visit)
{
    visit->model->counts[COUNT_CONNECTS]++;
    for (uint32_t i = 0; i < visit->model->ends; i++) {
        struct tcp_end *end = &visit->ends[i];
        gen_timers_renew(visit->model, end->timers);
        end->estimate = (struct gen_rtt){0};
        end->backoff = 0;
        end->waits = false;
        end->measured = false;
    }
    visit->connection->asked = false;
    visit->connection->last = false;
    visit->connection->client_closes = closes_at_client(visit);
    send_syn(visit, 0);
}

/* Plan the next request, or the end of the connection, which has a request of its own. */
static void wait_for_request(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    uint64_t at =
        tcp->traffic.smooth
            ? connection->request_at +
                  soon(visit->model, random_exponential(&visit->model->random, tcp->gap_ticks))
            : gen_next_request(visit->model, &connection->activity, visit->now);
    at = at < connection->close_at ? at : connection->close_at;
    connection->state = STATE_IDLE;
    connection->event_at = at > visit->now ? at : visit->now + 1;
}

static void establish(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    stop(visit, visit->server, KIND_SYN_ACK);
    double trip = round_trip(visit);
    if (visit->client != NULL) {
        /* The returned time stamp is that of the first SYN. */
        double waited = (double)(visit->now - visit->client->sent_at);
        sample(&visit->client->estimate, (float)(waited > trip ? waited : trip));
        visit->client->measured = true;
    }
    if (visit->server != NULL) {
        sample(&visit->server->estimate, (float)trip);
    }
    for (uint32_t i = 0; i < visit->model->ends; i++) {
        struct tcp_end *end = &visit->ends[i];
        end->waits = false;
        end->backoff = 0;
        hear(visit, end);
        if (end->keepalive) {
            start(visit, end, KIND_KEEPALIVE, tcp->keepalive_ticks);
        }
    }
    if (!tcp->traffic.smooth) {
        gen_activity_skip(visit->model, &connection->activity, connection->request_at, visit->now);
    }
    connection->close_at = visit->now + gen_exponential(visit->model, tcp->life_ticks);
    connection->request_at = visit->now;
    wait_for_request(visit);
}

/* Send the closer's FIN, which the other end answers with its own. */
static void begin_close(const struct tcp_visit *visit)
{
    struct tcp_connection *connection = visit->connection;
    connection->state = STATE_CLOSING;
    send_data(visit, closer_of(visit));
    connection->event_at = visit->now + soon(visit->model, round_trip(visit));
}

static void end_close(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    struct tcp_end *closer = closer_of(visit);
    struct tcp_end *other = connection->client_closes ? visit->server : visit->client;
    start(visit, other, KIND_DELAYED_ACK, tcp->delack_ticks);
    send_data(visit, other);
    start(visit, closer, KIND_KEEPALIVE, tcp->time_wait_ticks);
    visit->model->counts[COUNT_TIME_WAITS]++;
    start(visit, closer, KIND_TIME_WAIT, tcp->time_wait_ticks);
    for (uint32_t i = 0; i < visit->model->ends; i++) {
        struct tcp_end *end = &visit->ends[i];
        end->waits = false;
        stop(visit, end, KIND_RETRANSMIT);
        stop(visit, end, KIND_DELAYED_ACK);
        stop(visit, end, KIND_KEEPALIVE);
    }
    connection->state = STATE_TIME_WAIT;
    connection->event_at = closer != NULL ? GEN_NEVER : visit->now + tcp->time_wait_ticks;
}

/* --- requests -------------------------------------------------------------------------------- */

static double reply_ticks(const struct tcp_visit *visit)
{
    return random_lognormal(&visit->model->random, visit->tcp->reply_median_ticks, REPLY_SIGMA);
}

static void send_request(const struct tcp_visit *visit)
{
    struct tcp_connection *connection = visit->connection;
    visit->model->counts[COUNT_REQUESTS]++;
    connection->request_at = visit->now;
    connection->state = STATE_ASKING;
    send_data(visit, visit->client);
    travel(visit, visit->client, reply_ticks(visit));
}

/* The first request of a connection is acknowledged at once, the others with delay. */
static void send_reply(const struct tcp_visit *visit)
{
    struct tcp_connection *connection = visit->connection;
    visit->model->counts[COUNT_REPLIES]++;
    if (visit->server != NULL && visit->server->waits) {
        /* A request carries the ACK of the reply before it. */
        acknowledge(visit, visit->server, round_trip(visit));
    }
    hear(visit, visit->server);
    if (connection->asked) {
        start(visit, visit->server, KIND_DELAYED_ACK, visit->tcp->delack_ticks);
    }
    connection->asked = true;
    send_data(visit, visit->server);
    connection->state = STATE_ANSWERING;
    travel(visit, visit->server, 0);
}

static void take_reply(const struct tcp_visit *visit)
{
    visit->model->counts[COUNT_ACKS]++;
    double trip = round_trip(visit);
    acknowledge(visit, visit->client, trip);
    if (ack_arrives(visit)) {
        acknowledge(visit, visit->server, trip);
    }
    if (visit->connection->last) {
        begin_close(visit);
    } else {
        wait_for_request(visit);
    }
}

/* A connection ends with a request and a close, or the peer vanishes: only keepalive detects
 * that. */
static void leave_idleness(const struct tcp_visit *visit)
{
    struct tcp_connection *connection = visit->connection;
    bool ends = visit->now >= connection->close_at;
    if (!ends || !gen_chance(visit->model, visit->model->parameters[VANISH])) {
        connection->last = ends;
        send_request(visit);
        return;
    }
    visit->model->counts[COUNT_VANISHED]++;
    connection->state = STATE_VANISHED;
    connection->event_at = GEN_NEVER;
    bool noticed = false;
    for (uint32_t i = 0; i < visit->model->ends; i++) {
        noticed = noticed || visit->ends[i].keepalive;
        visit->ends[i].probes = 0;
    }
    if (!noticed) {
        forget(visit);
    }
}

/* --- expiries -------------------------------------------------------------------------------- */

/* Return whether the client has the last reply: if the server waits then, only the ACK was lost. */
static bool has_reply(const struct tcp_connection *connection)
{
    return connection->state == STATE_IDLE || connection->state == STATE_ASKING;
}

/* The end's own transmission is unanswered: repeat it, after a tail probe. */
static void expire_retransmit(const struct tcp_visit *visit, struct tcp_end *end)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    if (!end->waits) {
        visit->model->counts[COUNT_IDLE_EXPIRIES]++;
        return;
    }
    bool syn = connection->state == STATE_CONNECTING || connection->state == STATE_ACCEPTING;
    if (end->backoff == (unsigned)visit->model->parameters[syn ? SYN_RETRIES : RETRIES]) {
        visit->model->counts[COUNT_GIVEN_UP]++;
        forget(visit);
        return;
    }
    end->backoff++;
    visit->model->counts[COUNT_RETRANSMISSIONS]++;
    if (connection->state == STATE_CONNECTING ||
        (connection->state == STATE_ACCEPTING && end == visit->client)) {
        send_syn(visit, end->backoff);
        return;
    }
    unsigned doublings = end->backoff - 1U; /* the first one sends a probe */
    start(visit, end, KIND_RETRANSMIT, rto(tcp, end, doublings));
    /* Only data that has not arrived yet makes a difference. */
    bool lost = connection->event_at == GEN_NEVER;
    if (lost && connection->state == STATE_ASKING && end == visit->client) {
        end->sent_at = visit->now;
        travel(visit, end, reply_ticks(visit));
    } else if (lost && connection->state == STATE_ANSWERING && end == visit->server) {
        end->sent_at = visit->now;
        travel(visit, end, 0);
    } else if (end == visit->server && has_reply(connection) && ack_arrives(visit) &&
               ack_arrives(visit)) {
        /* The reply has arrived once more, and so has its ACK. */
        end->sent_at = visit->now;
        acknowledge(visit, end, round_trip(visit));
    }
}

static void expire_syn_ack(const struct tcp_visit *visit, struct tcp_end *end)
{
    end->backoff++;
    if (end->backoff > (unsigned)visit->model->parameters[SYN_RETRIES]) {
        visit->model->counts[COUNT_GIVEN_UP]++;
        forget(visit);
    } else {
        visit->model->counts[COUNT_RETRANSMISSIONS]++;
        send_syn_ack(visit, end->backoff);
    }
}

static void expire_keepalive(const struct tcp_visit *visit, struct tcp_end *end)
{
    const struct tcp *tcp = visit->tcp;
    bool vanished = visit->connection->state == STATE_VANISHED;
    visit->model->counts[COUNT_KEEPALIVE_EXPIRIES]++;
    uint64_t silence = visit->now - end->heard_at;
    uint64_t wait = tcp->keepalive_interval_ticks;
    enum trace_basis basis = TRACE_FIXED_DELAY;
    if (end->waits) {
        wait = tcp->keepalive_ticks; /* until retransmissions fail */
    } else if (silence < tcp->keepalive_ticks) {
        wait = tcp->keepalive_ticks - silence;
        basis = TRACE_ABSOLUTE; /* the packets have set the tick */
    } else if (vanished && end->probes == TCP_PROBES) {
        visit->model->counts[COUNT_DROPPED]++;
        forget(visit);
        return;
    } else {
        visit->model->counts[COUNT_PROBES]++;
        end->probes += vanished;
        end->heard_at = vanished ? end->heard_at : visit->now; /* it is answered at once */
    }
    gen_timer_start_from(visit->model, visit->now, &end->timers[KIND_KEEPALIVE], wait, basis);
}

static void expire(const struct tcp_visit *visit, struct tcp_end *end)
{
    struct gen_model *model = visit->model;
    (void)gen_timer_expires(model, &end->timers[KIND_DELAYED_ACK], visit->now);
    if (gen_timer_expires(model, &end->timers[KIND_KEEPALIVE], visit->now)) {
        expire_keepalive(visit, end);
    }
    if (gen_timer_expires(model, &end->timers[KIND_RETRANSMIT], visit->now)) {
        expire_retransmit(visit, end);
    }
    if (gen_timer_expires(model, &end->timers[KIND_SYN_ACK], visit->now)) {
        expire_syn_ack(visit, end);
    }
    if (gen_timer_expires(model, &end->timers[KIND_TIME_WAIT], visit->now)) {
        forget(visit);
    }
}

/* --- visits ---------------------------------------------------------------------------------- */

static void happen(const struct tcp_visit *visit)
{
    switch ((enum tcp_state)visit->connection->state) {
    case STATE_CLOSED:
        open_connection(visit);
        break;
    case STATE_CONNECTING:
        send_syn_ack(visit, 0);
        break;
    case STATE_ACCEPTING:
        establish(visit);
        break;
    case STATE_IDLE:
        leave_idleness(visit);
        break;
    case STATE_ASKING:
        send_reply(visit);
        break;
    case STATE_ANSWERING:
        take_reply(visit);
        break;
    case STATE_CLOSING:
        end_close(visit);
        break;
    case STATE_TIME_WAIT: /* of a closer elsewhere */
        forget(visit);
        break;
    case STATE_VANISHED:
        break;
    }
}

static void visit_connection(struct gen_model *model, uint64_t now, void *record)
{
    const struct tcp_visit visit = visit_of(model, now, record);
    for (uint32_t i = 0; i < model->ends; i++) {
        expire(&visit, &visit.ends[i]);
        gen_from_outside(model);
    }
    /* A round trip may take no tick. */
    while (visit.connection->event_at == now) {
        happen(&visit);
    }
}

/* --- a random moment of a connection ---------------------------------------------------------- */

/* Place a timer that was started `age_ticks` ago, if it is still pending. */
static void place_running(const struct tcp_visit *visit, struct tcp_end *end, unsigned kind,
                          uint64_t ticks, uint64_t age_ticks)
{
    if (end != NULL && age_ticks <= ticks) {
        gen_timer_place(&end->timers[kind], visit->now, ticks, age_ticks);
    }
}

/* Place the keepalive timer of an end after its peer vanished. */
static void place_vanished(const struct tcp_visit *visit, struct tcp_end *end)
{
    const struct tcp *tcp = visit->tcp;
    struct gen_model *model = visit->model;
    uint64_t silence =
        gen_uniform_age(model, tcp->keepalive_ticks + TCP_PROBES * tcp->keepalive_interval_ticks);
    struct gen_timer *timer = &end->timers[KIND_KEEPALIVE];
    end->heard_at = visit->now - silence;
    if (silence <= tcp->keepalive_ticks) {
        /* The timer was pending when the peer was last heard, and then once more for the rest. */
        uint64_t ran = gen_uniform_age(model, tcp->keepalive_ticks) - 1;
        if (ran + silence <= tcp->keepalive_ticks) {
            gen_timer_place(timer, visit->now, tcp->keepalive_ticks, ran + silence);
        } else {
            gen_timer_place(timer, visit->now, ran, ran + silence - tcp->keepalive_ticks);
        }
    } else {
        uint64_t probing = silence - tcp->keepalive_ticks - 1;
        end->probes = (uint8_t)(1 + probing / tcp->keepalive_interval_ticks);
        gen_timer_place(timer, visit->now, tcp->keepalive_interval_ticks,
                        1 + probing % tcp->keepalive_interval_ticks);
    }
}

static void place_idle(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct gen_model *model = visit->model;
    struct tcp_connection *connection = visit->connection;
    const bool smooth = tcp->traffic.smooth;
    uint64_t since =
        smooth ? gen_exponential(model, tcp->gap_ticks) : visit->now - connection->request_at;
    uint64_t age = gen_exponential(model, tcp->life_ticks);
    since = since < age ? since : age; /* before that, there was none */
    connection->state = STATE_IDLE;
    connection->asked = true;
    connection->request_at = visit->now - since;
    connection->event_at = smooth ? visit->now - 1 + gen_exponential(model, tcp->gap_ticks)
                                  : gen_next_request(model, &connection->activity, visit->now - 1);
    connection->close_at = visit->now + gen_exponential(model, tcp->life_ticks);
    if (connection->close_at <= connection->event_at) {
        connection->event_at = connection->close_at;
    }
    for (uint32_t i = 0; i < model->ends; i++) {
        struct tcp_end *end = &visit->ends[i];
        end->heard_at = visit->now - since;
        end->estimate = (struct gen_rtt){.smoothed_ticks = connection->rtt_ticks};
        end->measured = true;
        place_running(visit, end, KIND_RETRANSMIT, rto(tcp, end, 0), since);
        if (end->keepalive) {
            /* It has expired about every keepalive time. */
            place_running(visit, end, KIND_KEEPALIVE, tcp->keepalive_ticks,
                          1 + (age - 1) % tcp->keepalive_ticks);
        }
    }
    place_running(visit, visit->server, KIND_DELAYED_ACK, tcp->delack_ticks, since);
}

static void equip(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct gen_model *model = visit->model;
    struct tcp_connection *connection = visit->connection;
    connection->rtt_ticks =
        (float)random_lognormal(&model->random, tcp->rtt_median_ticks, RTT_SIGMA);
    connection->client_closes = closes_at_client(visit);
    connection->event_at = GEN_NEVER;
    bool keepalive = gen_chance(model, model->parameters[KEEPALIVE]);
    for (uint32_t i = 0; i < model->ends; i++) {
        visit->ends[i].keepalive = keepalive;
    }
    if (!tcp->traffic.smooth) {
        uint64_t age =
            gen_activity_place(model, &connection->activity, visit->now, tcp->traffic.busy_ticks);
        connection->request_at = visit->now - age;
    }
}

static void place_time_wait(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    uint64_t age = gen_uniform_age(visit->model, tcp->time_wait_ticks);
    struct tcp_end *closer = closer_of(visit);
    visit->connection->state = STATE_TIME_WAIT;
    if (closer != NULL) {
        gen_timer_place(&closer->timers[KIND_TIME_WAIT], visit->now, tcp->time_wait_ticks, age);
    } else {
        visit->connection->event_at = visit->now - age + tcp->time_wait_ticks;
    }
}

/* A connection is in the states of its cycle as often as they are long. */
static void place(struct gen_model *model, void *record)
{
    const struct tcp_visit visit = visit_of(model, GEN_EPOCH, record);
    const struct tcp *tcp = model->state;
    const double *p = model->parameters;
    const double vanished =
        p[VANISH] * p[KEEPALIVE] *
        (double)(tcp->keepalive_ticks + TCP_PROBES * tcp->keepalive_interval_ticks);
    const double time_wait = (1 - p[VANISH]) * (double)tcp->time_wait_ticks;
    const double whole = tcp->life_ticks + vanished + time_wait + tcp->pause_ticks;
    equip(&visit);
    double u = random_unit(&model->random) * whole;
    if (u < tcp->life_ticks) {
        place_idle(&visit);
    } else if (u < tcp->life_ticks + vanished && visit.ends[0].keepalive) {
        visit.connection->state = STATE_VANISHED;
        for (uint32_t k = 0; k < model->ends; k++) {
            place_vanished(&visit, &visit.ends[k]);
        }
    } else if (u < tcp->life_ticks + vanished + time_wait) {
        place_time_wait(&visit);
    } else {
        visit.connection->state = STATE_CLOSED;
        visit.connection->event_at = GEN_EPOCH - 1 + gen_exponential(model, tcp->pause_ticks);
    }
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Read the parameters of activity. A request takes a reply time, a round trip, and the time of lost
 * transmissions. */
static void read_traffic(struct gen_model *model)
{
    struct tcp *tcp = model->state;
    const double loss = model->parameters[LOSS];
    double again = loss < 1 ? 2 * loss / (1 - loss) * tcp->rto_min_ticks : 0;
    double busy = tcp->reply_median_ticks * random_exp(REPLY_SIGMA * REPLY_SIGMA / 2) +
                  tcp->rtt_median_ticks * random_exp(RTT_SIGMA * RTT_SIGMA / 2) + again;
    double mean = tcp->gap_ticks;
    const struct gen_smooth smooth = {.mean_ticks = mean > busy ? mean : busy,
                                      .busy_ticks = busy,
                                      .gap_ticks = mean > 2 * busy ? mean - busy : mean / 2};
    gen_traffic_read(model, ACTIVITY, &smooth, &tcp->traffic);
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    const double per_second = gen_per_second(model);
    const double per_ms = gen_per_ms(model);
    const unsigned ends = (unsigned)p[ENDS];
    struct tcp *tcp = model->state;
    *tcp = (struct tcp){
        .gap_ticks = per_second / p[RATE_PER_S],
        .life_ticks = per_second / p[RATE_PER_S] * p[REQUESTS],
        .pause_ticks = p[PAUSE_S] * per_second,
        .reply_median_ticks = p[REPLY_MS] * per_ms,
        .rtt_median_ticks = p[RTT_MS] * per_ms,
        .rto_min_ticks = p[RTO_MIN_MS] * per_ms,
        .rto_initial_ticks = gen_whole_ticks(p[RTO_INITIAL_MS] * per_ms),
        .rto_max_ticks = gen_whole_ticks(RTO_MAX_S * per_second),
        .delack_ticks = gen_whole_ticks(p[DELACK_MS] * per_ms),
        .keepalive_ticks = gen_whole_ticks(p[KEEPALIVE_S] * per_second),
        .keepalive_interval_ticks = gen_whole_ticks(p[KEEPALIVE_INTERVAL_S] * per_second),
        .time_wait_ticks = gen_whole_ticks(p[TIME_WAIT_S] * per_second),
        .server = ends != ENDS_CLIENT,
        .client = ends != ENDS_SERVER,
    };
    read_traffic(model);
    /* Some exchanges and connects, to mix the phases. */
    double warmup = 3 * ((double)tcp->rto_initial_ticks + tcp->pause_ticks) +
                    10 * (tcp->reply_median_ticks + tcp->rtt_median_ticks);
    model->warmup_end = GEN_EPOCH + gen_whole_ticks(warmup);
    model->ends = ends == ENDS_BOTH ? 2 : 1;
    model->end_bytes = sizeof(struct tcp_end);
    const size_t ends_bytes = model->ends * sizeof(struct tcp_end);
    model->event_at = ends_bytes + offsetof(struct tcp_connection, event_at);
    gen_model_begin(model, ends_bytes + sizeof(struct tcp_connection), GEN_EPOCH,
                    tcp->time_wait_ticks);
    return true;
}

const struct gen_workload gen_tcp = {
    .name = "tcp",
    .summary = "Linux's timers of TCP connections: retransmission, delayed ACK, keepalive, "
               "SYN-ACK, TIME_WAIT",
    .stresses = "delays from 40 ms to a minute at once; nearly all timers that end, expire, and "
                "many do nothing then",
    .resembles = "the kernel of a busy server",
    .parameters = tcp_parameters,
    .max_connections = UINT32_MAX / (2 * KINDS),
    .kinds = tcp_kinds,
    .ids_when_used = true,
    .counts = tcp_counts,
    .state_bytes = sizeof(struct tcp),
    .create = create,
    .place = place,
    .visit = visit_connection,
};
