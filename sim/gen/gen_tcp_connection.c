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
 */
#include "gen_tcp.h"

/* Linux's tcp_syn_linear_timeouts: repeated SYNs before the timeout doubles. */
#define SYN_LINEAR 4u

struct tcp_visit tcp_visit_of(struct gen_model *model, uint64_t now, void *record)
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

struct tcp_end *tcp_closer_of(const struct tcp_visit *visit)
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

uint64_t tcp_rto(const struct tcp *tcp, const struct tcp_end *end, unsigned doublings)
{
    double variation = 4 * (double)end->estimate.variation_ticks;
    double least = variation > tcp->rto_min_ticks ? variation : tcp->rto_min_ticks;
    double smoothed = (double)end->estimate.smoothed_ticks;
    uint64_t ticks = end->measured || smoothed >= 1 ? gen_whole_ticks(smoothed + least)
                                                    : (uint64_t)(smoothed + least);
    for (unsigned i = 0; i < doublings && ticks < tcp->rto_max_ticks; i++) {
        ticks *= 2;
    }
    ticks = ticks > 0 ? ticks : 1;
    return ticks < tcp->rto_max_ticks ? ticks : tcp->rto_max_ticks;
}

/* Return the timeout of the tail probe, which is sent first if this is shorter. */
static uint64_t probe_timeout(const struct tcp *tcp, const struct tcp_end *end)
{
    return gen_whole_ticks(2 * (double)end->estimate.smoothed_ticks + tcp->rto_min_ticks);
}

/* Return the first timeout of a handshake, doubled that many times. */
static uint64_t handshake_timeout(const struct tcp *tcp, unsigned doublings)
{
    uint64_t ticks = tcp->rto_initial_ticks << (doublings < 16 ? doublings : 16);
    return ticks < tcp->rto_max_ticks ? ticks : tcp->rto_max_ticks;
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
    uint64_t timeout = tcp_rto(visit->tcp, end, 0);
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

bool tcp_closes_at_client(const struct tcp_visit *visit)
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
    visit->connection->client_closes = tcp_closes_at_client(visit);
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
    send_data(visit, tcp_closer_of(visit));
    connection->event_at = visit->now + soon(visit->model, round_trip(visit));
}

static void end_close(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    struct tcp_end *closer = tcp_closer_of(visit);
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
    start(visit, end, KIND_RETRANSMIT, tcp_rto(tcp, end, doublings));
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

void tcp_visit_connection(struct gen_model *model, uint64_t now, void *record)
{
    const struct tcp_visit visit = tcp_visit_of(model, now, record);
    for (uint32_t i = 0; i < model->ends; i++) {
        expire(&visit, &visit.ends[i]);
        gen_from_outside(model);
    }
    /* A round trip may take no tick. */
    while (visit.connection->event_at == now) {
        happen(&visit);
    }
}
