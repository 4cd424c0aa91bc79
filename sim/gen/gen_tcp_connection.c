/*
 * tcp: the timers that Linux keeps for TCP connections, with Linux's constants.
 *
 *   closed --SYN--> connecting --> idle --request--> asking --reply--> answering --ACK-->
 *     idle, or closing --> TIME_WAIT --60 s--> closed
 *
 *   timer        started                           ends
 *   retransmit   by every transmission             an ACK does not stop it: it expires, and finds
 *                                                  nothing to do; or the next transmission moves it
 *   delayed-ack  by a request, by a share of the   neither does the reply that carries the ACK
 *                replies
 *   keepalive    once, when connected; at a close  expires, looks how long nothing was heard, waits
 *                for FIN_WAIT2                     on or sends a probe; moved, stopped by the close
 *   syn-ack      by the SYN                        stopped by the handshake's ACK
 *   time-wait    by the close                      always expires
 *
 * So it is in recordings of Linux: nineteen of twenty timers that end, expire. A loss is seen by
 * the retransmission timer that expires with something unacknowledged: it sends a probe of the
 * tail, then the segment again, with the timeout doubled each time. A close stops what is pending.
 * A start that would leave the deadline as it is, Linux leaves out, and so does this.
 *
 * `ends` says whose timers are in the trace: of a server whose peers are elsewhere, of a client, or
 * of both, as on one host.
 *
 * A connection that a deploy closes has its TIME_WAIT, while the slot's next one is there already.
 * There is room for one of these in a slot: what a deploy closes while the last one runs is reset.
 * So is what a storm replaces, of which its peer knows nothing any more.
 */
#include "gen_tcp_connection.h"

/* Linux's own silence before keepalive. */
#define KEEPALIVE_DEFAULT_S 7200

/* A duration that may take no tick at all: the whole ticks that it takes in the mean. */
static uint64_t soon(struct gen_model *model, double ticks)
{
    return (uint64_t)(ticks + random_unit(&model->random));
}

/* --- timers ---------------------------------------------------------------------------------- */

bool tcp_is_unseen(const struct tcp_visit *visit)
{
    return visit->tcp->window && visit->tcp->linux_wheel && !visit->model->recording;
}

/* Starts an end's timer, if that end is here. What would leave the deadline as it is, is none. */
static void start(const struct tcp_visit *visit, struct tcp_end *end, unsigned kind, uint64_t ticks)
{
    if (end == NULL) {
        return;
    }
    struct gen_timer *timer = &end->timers[kind];
    ticks += visit->tcp->late_ticks;
    if (kind == KIND_KEEPALIVE) {
        end->unseen = tcp_is_unseen(visit);
    }
    if (timer->delay_ticks > 0 && timer->due > visit->now && timer->due == visit->now + ticks) {
        visit->model->counts[COUNT_UNCHANGED]++;
        return;
    }
    gen_timer_start(visit->model, visit->now, timer, ticks);
}

static void stop(const struct tcp_visit *visit, struct tcp_end *end, unsigned kind)
{
    if (end == NULL) {
        return;
    }
    if (kind == KIND_KEEPALIVE && end->unseen && visit->model->recording) {
        end->timers[kind].delay_ticks = 0;
    } else {
        gen_timer_stop(visit->model, visit->now, &end->timers[kind]);
    }
}

/* Whether a timer that nobody looks after still runs at `now`. */
static bool is_pending(const struct gen_timer *timer, uint64_t now)
{
    return timer->delay_ticks > 0 && timer->due >= now;
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

/* That of the probe of the tail, which comes first where it is shorter. */
static uint64_t probe_timeout(const struct tcp *tcp, const struct tcp_end *end)
{
    return gen_whole_ticks(2 * (double)end->estimate.smoothed_ticks + tcp->rto_min_ticks);
}

/* Takes a sample in as Linux does: the variation hardly grows by a round trip that is shorter. */
static void rtt_sample(struct gen_rtt *rtt, float ticks)
{
    float before = rtt->variation_ticks;
    float shorter = rtt->smoothed_ticks - ticks;
    gen_rtt_sample(rtt, ticks);
    if (shorter > before && before > 0) {
        rtt->variation_ticks = before + (shorter - before) / 32;
    }
}

static double round_trip(const struct tcp_visit *visit)
{
    double share = visit->tcp->jitter * (2 * random_unit(&visit->model->random) - 1);
    return (double)visit->connection->rtt_ticks * (1 + share);
}

/* Whether a transmission arrives. */
static bool arrives(const struct tcp_visit *visit)
{
    visit->model->counts[COUNT_TRANSMISSIONS]++;
    if (gen_chance(visit->model, visit->tcp->loss)) {
        visit->model->counts[COUNT_LOSSES]++;
        return false;
    }
    return true;
}

/* What an end that is elsewhere does without timers of the trace: it sends again, after the
 * shortest timeout. */
static uint64_t elsewhere_again(const struct tcp_visit *visit)
{
    return visit->now + gen_whole_ticks(visit->tcp->rto_min_ticks);
}

/* Something that an end sends and waits for is on its way. */
static void send(const struct tcp_visit *visit, struct tcp_end *end)
{
    if (end != NULL) {
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
}

/* All of it is acknowledged. What was sent twice is measured, too: segments carry time stamps. */
static void acknowledge(const struct tcp_visit *visit, struct tcp_end *end, double trip_ticks)
{
    if (end != NULL) {
        end->heard_at = visit->now;
        if (end->waits) {
            end->waits = false;
            double waited =
                end->backoff > 0 ? (double)(visit->now - end->sent_at) + trip_ticks : trip_ticks;
            rtt_sample(&end->estimate, (float)waited);
            end->measured = true;
        }
    }
}

static void hear(const struct tcp_visit *visit, struct tcp_end *end)
{
    if (end != NULL) {
        end->heard_at = visit->now;
        end->probes = 0;
    }
}

/* --- requests -------------------------------------------------------------------------------- */

/* The way of a SYN, a request, a reply: its arrival is the next event, if it does arrive. If not,
 * the sender's timer will tell, or the sender elsewhere. */
static void travel(const struct tcp_visit *visit, const struct tcp_end *sender, double more_ticks)
{
    struct tcp_connection *connection = visit->connection;
    if (arrives(visit)) {
        connection->event_at = visit->now + soon(visit->model, round_trip(visit) / 2 + more_ticks);
    } else {
        connection->event_at = sender != NULL ? GEN_NEVER : elsewhere_again(visit);
    }
}

static double reply_ticks(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    return tcp->reply_sigma > 0
               ? random_lognormal(&visit->model->random, tcp->reply_median_ticks, tcp->reply_sigma)
               : tcp->reply_median_ticks;
}

/* How fast requests come, now: 1 in the middle of a window. */
static double pace(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    if (!tcp->window || tcp->pace_end == 1) {
        return 1;
    }
    uint64_t begin = visit->model->warmup_end;
    double done = visit->now > begin ? (double)(visit->now - begin) / tcp->window_ticks : 0;
    double first = 2 / (1 + tcp->pace_end);
    return first + (first * tcp->pace_end - first) * done;
}

static void wait_for_request(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    uint64_t at;
    if (tcp->traffic.smooth) {
        double gap =
            tcp_gap_draw(&tcp->gaps, connection->part, &visit->model->random) / pace(visit);
        at = connection->request_at + soon(visit->model, gap);
    } else {
        at = gen_next_request(visit->model, &tcp->traffic, &connection->activity, visit->now,
                              visit->number);
    }
    if (at >= connection->close_at || connection->single) {
        at = connection->close_at;
    }
    connection->state = STATE_IDLE;
    connection->event_at = at > visit->now ? at : visit->now + 1;
}

static void send_request(const struct tcp_visit *visit)
{
    struct tcp_connection *connection = visit->connection;
    visit->model->counts[COUNT_REQUESTS]++;
    connection->requests++;
    connection->request_at = visit->now;
    connection->state = STATE_ASKING;
    send(visit, visit->client);
    travel(visit, visit->client, reply_ticks(visit));
}

/* Whether connections end after a time, rather than with a share of their replies. */
static bool lives_for_a_time(const struct tcp *tcp)
{
    return tcp->window || !tcp->traffic.smooth;
}

static void begin_close(const struct tcp_visit *visit);

static void send_reply(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    visit->model->counts[COUNT_REPLIES]++;
    hear(visit, visit->server);
    if (connection->requests > tcp->quick_acks) {
        start(visit, visit->server, KIND_DELAYED_ACK, connection->delack_ticks);
    }
    connection->state = STATE_ANSWERING;
    send(visit, visit->server);
    travel(visit, visit->server, 0);
}

/* Whether the client delays the ACK of this reply, as Linux does: a connection whose request came
 * soon after the reply before is interactive; others acknowledge some replies at once after they
 * begin, or were silent. */
static bool delays_ack(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    const struct tcp_connection *connection = visit->connection;
    struct tcp_end *client = visit->client;
    if (client == NULL) {
        return false;
    }
    if (connection->quick_again == 0) {
        return tcp->delack_reply > 0 && gen_chance(visit->model, tcp->delack_reply);
    }
    if (connection->requests > 1 &&
        connection->request_at < client->heard_at + connection->delack_ticks) {
        return true;
    }
    if (connection->requests == 1 || visit->now - client->heard_at > tcp_rto(tcp, client, 0)) {
        client->quick = connection->quick_again;
    }
    if (client->quick == 0) {
        return true;
    }
    client->quick--;
    return tcp->delack_reply > 0 && gen_chance(visit->model, tcp->delack_reply);
}

static void take_reply(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    visit->model->counts[COUNT_ACKS]++;
    double trip = round_trip(visit);
    if (delays_ack(visit)) {
        start(visit, visit->client, KIND_DELAYED_ACK, connection->delack_ticks);
    }
    acknowledge(visit, visit->client, trip);
    acknowledge(visit, visit->server, trip);
    if (connection->last || (!lives_for_a_time(tcp) && gen_chance(visit->model, tcp->close))) {
        begin_close(visit);
    } else {
        wait_for_request(visit);
    }
}

/* --- begin and end --------------------------------------------------------------------------- */

/* The first timeout, doubled so many times. */
static uint64_t handshake_timeout(const struct tcp *tcp, unsigned doublings)
{
    uint64_t ticks = tcp->rto_initial_ticks << (doublings < 16 ? doublings : 16);
    return ticks < tcp->rto_max_ticks ? ticks : tcp->rto_max_ticks;
}

static void send_syn(const struct tcp_visit *visit, unsigned repeated)
{
    const struct tcp *tcp = visit->tcp;
    visit->connection->state = STATE_CONNECTING;
    if (visit->client != NULL) {
        if (repeated == 0) {
            visit->client->sent_at = visit->now;
        }
        visit->client->waits = true;
        start(visit, visit->client, KIND_RETRANSMIT,
              handshake_timeout(tcp, repeated > tcp->syn_linear ? repeated - tcp->syn_linear : 0));
    }
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
    return visit->tcp->close_client > 0 && gen_chance(visit->model, visit->tcp->close_client);
}

static void begin_connection(const struct tcp_visit *visit)
{
    visit->model->counts[COUNT_CONNECTS]++;
    for (uint32_t i = 0; i < visit->tcp->ends; i++) {
        struct tcp_end *end = &visit->ends[i];
        gen_timers_renew(visit->model, end->timers);
        end->estimate = (struct gen_rtt){0};
        end->backoff = 0;
        end->waits = false;
        end->measured = false;
    }
    visit->connection->requests = 0;
    visit->connection->last = false;
    visit->connection->return_at = GEN_NEVER;
    visit->connection->client_closes = tcp_closes_at_client(visit);
    send_syn(visit, 0);
}

static void start_keepalive(const struct tcp_visit *visit, struct tcp_end *end)
{
    const struct tcp *tcp = visit->tcp;
    uint64_t ticks = tcp->keepalive_ticks;
    if (end == NULL || !end->keepalive) {
        return;
    }
    if (tcp->keepalive_default > 0 && gen_chance(visit->model, tcp->keepalive_default)) {
        ticks = gen_whole_ticks(KEEPALIVE_DEFAULT_S * gen_per_second(visit->model));
        start(visit, end, KIND_KEEPALIVE, ticks);
        if (!gen_chance(visit->model, tcp->keepalive_set)) {
            return;
        }
        ticks = tcp->keepalive_ticks;
    }
    start(visit, end, KIND_KEEPALIVE, ticks);
}

static void establish(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    stop(visit, visit->server, KIND_SYN_ACK);
    double trip = round_trip(visit);
    if (visit->client != NULL) {
        /* The time stamp that comes back is the first SYN's. */
        double waited = (double)(visit->now - visit->client->sent_at);
        rtt_sample(&visit->client->estimate, (float)(waited > trip ? waited : trip));
        visit->client->measured = true;
    }
    if (visit->server != NULL) {
        rtt_sample(&visit->server->estimate, (float)trip);
    }
    for (uint32_t i = 0; i < tcp->ends; i++) {
        struct tcp_end *end = &visit->ends[i];
        end->waits = false;
        end->backoff = 0;
        hear(visit, end);
        start_keepalive(visit, end);
    }
    if (!tcp->traffic.smooth) {
        gen_activity_skip(&tcp->traffic, &connection->activity, connection->request_at, visit->now,
                          visit->number);
        if (!tcp->window) {
            connection->close_at = visit->now + gen_exponential(visit->model, tcp->life_ticks);
        }
    }
    connection->request_at = visit->now;
    wait_for_request(visit);
}

/* The FIN of the one, which the other answers with its own. */
static void begin_close(const struct tcp_visit *visit)
{
    struct tcp_connection *connection = visit->connection;
    connection->state = STATE_CLOSING;
    send(visit, tcp_closer_of(visit));
    connection->event_at = visit->now + soon(visit->model, round_trip(visit));
}

/* A slot whose connection is no more is free for the next from `at` on; a window's, as long as it
 * has not closed by then. */
static void come_back(const struct tcp_visit *visit, uint64_t at)
{
    struct tcp_connection *connection = visit->connection;
    bool gone = visit->tcp->window && at >= connection->close_at;
    connection->return_at = GEN_NEVER;
    connection->state = gone ? STATE_GONE : STATE_CLOSED;
    connection->event_at = gone ? GEN_NEVER : at > visit->now ? at : visit->now;
}

/* The same beside its TIME_WAIT, whose id is its own from now on. */
static void leave_time_wait(const struct tcp_visit *visit, struct tcp_end *closer)
{
    struct tcp_connection *connection = visit->connection;
    if (closer != NULL) {
        struct gen_timer *timer = &closer->timers[KIND_TIME_WAIT];
        connection->left_behind = *timer;
        timer->delay_ticks = 0;
        timer->fired = true; /* as good as: the next connection takes other ids */
    }
    come_back(visit, connection->return_at);
}

static void end_close(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    struct tcp_end *closer = tcp_closer_of(visit);
    struct tcp_end *other = visit->connection->client_closes ? visit->server : visit->client;
    start(visit, other, KIND_DELAYED_ACK, connection->delack_ticks);
    send(visit, other);
    if (tcp->fin_wait2_ticks > 0) {
        start(visit, closer, KIND_KEEPALIVE, tcp->fin_wait2_ticks);
    }
    visit->model->counts[COUNT_TIME_WAITS]++;
    start(visit, closer, KIND_TIME_WAIT, tcp->time_wait_ticks);
    for (uint32_t i = 0; i < tcp->ends; i++) {
        struct tcp_end *end = &visit->ends[i];
        end->waits = false;
        stop(visit, end, KIND_RETRANSMIT);
        stop(visit, end, KIND_DELAYED_ACK);
        stop(visit, end, KIND_KEEPALIVE);
    }
    connection->state = STATE_TIME_WAIT;
    connection->event_at =
        closer != NULL ? GEN_NEVER : visit->now + gen_whole_ticks((double)tcp->time_wait_ticks);
    if (connection->return_at != GEN_NEVER) {
        leave_time_wait(visit, closer);
    }
}

/* Stops what is still pending, without a farewell. If one end's firing does it, a late structure
 * may still hold the other end's timers, too. */
static void reset(const struct tcp_visit *visit)
{
    bool by_firing = visit->model->recording && visit->model->cause.basis != TRACE_EXTERNAL;
    for (uint32_t i = 0; i < visit->tcp->ends; i++) {
        struct tcp_end *end = &visit->ends[i];
        end->waits = false;
        for (unsigned kind = 0; kind < KINDS; kind++) {
            end->timers[kind].fired |= by_firing && end->timers[kind].delay_ticks > 0;
            stop(visit, end, kind);
        }
    }
}

/* Nothing is left of it, with or without a farewell. */
static void forget(const struct tcp_visit *visit)
{
    struct tcp_connection *connection = visit->connection;
    reset(visit);
    connection->state = visit->tcp->window ? STATE_GONE : STATE_CLOSED;
    connection->event_at =
        visit->tcp->window ? GEN_NEVER
                           : visit->now + gen_exponential(visit->model, visit->tcp->pause_ticks);
}

/* --- expiries -------------------------------------------------------------------------------- */

/* Its own transmission is still unanswered: once more, after a probe of the tail. */
static void expire_retransmit(const struct tcp_visit *visit, struct tcp_end *end)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    if (!end->waits) {
        visit->model->counts[COUNT_IDLE_EXPIRIES]++;
        return;
    }
    bool syn = connection->state == STATE_CONNECTING || connection->state == STATE_ACCEPTING;
    if (end->backoff == (syn ? tcp->syn_retries : tcp->retries)) {
        visit->model->counts[COUNT_GIVEN_UP]++;
        forget(visit);
        return;
    }
    end->backoff++;
    visit->model->counts[COUNT_RETRANSMISSIONS]++;
    if (connection->state == STATE_CONNECTING) {
        send_syn(visit, end->backoff);
        return;
    }
    unsigned doublings = end->backoff - 1U; /* the first one sends a probe */
    start(visit, end, KIND_RETRANSMIT, tcp_rto(tcp, end, doublings));
    /* Only what has not arrived yet is worth telling. */
    bool lost = connection->event_at == GEN_NEVER;
    if (lost && connection->state == STATE_ASKING && end == visit->client) {
        travel(visit, end, reply_ticks(visit));
    } else if (lost && connection->state == STATE_ANSWERING && end == visit->server) {
        travel(visit, end, 0);
    }
}

static void expire_syn_ack(const struct tcp_visit *visit, struct tcp_end *end)
{
    end->backoff++;
    if (end->backoff > visit->tcp->syn_retries) {
        visit->model->counts[COUNT_GIVEN_UP]++;
        forget(visit);
    } else {
        visit->model->counts[COUNT_RETRANSMISSIONS]++;
        send_syn_ack(visit, end->backoff);
    }
}

/* How much later than it is due Linux's wheel comes round to a timer with that delay: it waits for
 * a whole slot of its level, of which each has eight times the ticks of the one below. */
static uint64_t wheel_lateness(uint64_t due, uint64_t delay_ticks)
{
    unsigned shift = 0;
    while (shift < 24 && delay_ticks >= UINT64_C(63) << shift) {
        shift += 3;
    }
    uint64_t slot = UINT64_C(1) << shift;
    return (slot - due % slot) % slot;
}

/* What is done, is done when the wheel has come round to it; the trace has it where an exact
 * structure fires the timer, with the deadline that came out. */
static void expire_keepalive(const struct tcp_visit *visit, struct tcp_end *end,
                             uint64_t delay_ticks)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    visit->model->counts[COUNT_KEEPALIVE_EXPIRIES]++;
    uint64_t late = tcp->linux_wheel ? wheel_lateness(visit->now, delay_ticks) : 0;
    uint64_t silence = visit->now + late - end->heard_at;
    uint64_t wait = tcp->probe_interval_ticks;
    enum trace_basis basis = TRACE_FIXED_DELAY;
    if (end->waits) {
        wait = tcp->keepalive_ticks; /* the retransmissions will tell */
    } else if (silence < tcp->keepalive_ticks) {
        wait = tcp->keepalive_ticks - silence;
        basis = TRACE_ABSOLUTE; /* the packets have set the tick */
    } else if (connection->state == STATE_VANISHED && end->probes == tcp->probes) {
        visit->model->counts[COUNT_DROPPED]++;
        forget(visit);
        return;
    } else {
        visit->model->counts[COUNT_PROBES]++;
        if (connection->state == STATE_VANISHED) {
            end->probes++;
        } else {
            end->heard_at = visit->now + late; /* the answer takes no time worth telling */
        }
    }
    basis = late > 0 ? TRACE_ABSOLUTE : basis;
    basis = end->unseen && visit->model->recording ? TRACE_EXTERNAL : basis;
    end->unseen = tcp_is_unseen(visit);
    gen_timer_start_from(visit->model, visit->now, &end->timers[KIND_KEEPALIVE],
                         late + wait + tcp->late_ticks, basis);
}

static void expire(const struct tcp_visit *visit, struct tcp_end *end)
{
    struct gen_model *model = visit->model;
    struct gen_timer *keepalive = &end->timers[KIND_KEEPALIVE];
    uint64_t keepalive_ticks = keepalive->delay_ticks;
    if (end->unseen && model->recording && keepalive_ticks > 0 && keepalive->due == visit->now) {
        keepalive->due += wheel_lateness(visit->now, keepalive_ticks);
    }
    (void)gen_timer_expires(model, &end->timers[KIND_DELAYED_ACK], visit->now);
    if (gen_timer_expires(model, &end->timers[KIND_KEEPALIVE], visit->now)) {
        expire_keepalive(visit, end, keepalive_ticks);
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

/* --- what comes from outside ----------------------------------------------------------------- */

static void leave_idleness(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    bool closes = visit->now >= connection->close_at;
    bool at_end = !tcp->traffic.smooth && !tcp->window;
    if (closes && !at_end && !gen_chance(visit->model, tcp->close_asked)) {
        begin_close(visit);
    } else if (closes == at_end &&
               gen_chance(visit->model, at_end ? tcp->vanish_life : tcp->vanish)) {
        visit->model->counts[COUNT_VANISHED]++;
        connection->state = STATE_VANISHED;
        connection->event_at = GEN_NEVER;
        bool heeded = false;
        for (uint32_t i = 0; i < tcp->ends; i++) {
            heeded = heeded || visit->ends[i].keepalive;
            visit->ends[i].probes = 0;
        }
        if (!heeded) {
            forget(visit); /* nobody would ever find out */
        }
    } else {
        connection->last = closes;
        send_request(visit);
    }
}

static void happen(const struct tcp_visit *visit)
{
    switch ((enum tcp_state)visit->connection->state) {
    case STATE_CLOSED:
        begin_connection(visit);
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
    case STATE_GONE:
        break;
    }
}

static uint64_t next_of(const struct tcp_visit *visit)
{
    uint64_t at = visit->connection->event_at;
    for (uint32_t i = 0; i < visit->tcp->ends; i++) {
        at = gen_next(visit->ends[i].timers, KINDS, at);
    }
    return at;
}

void tcp_file_next(const struct tcp_visit *visit)
{
    uint64_t next = next_of(visit);
    if (next != GEN_NEVER || visit->tcp->herds.any) {
        gen_file_herded(visit->model, &visit->tcp->herds, visit->now, next, visit->number);
    }
}

/* Whether the next event is what a peer or the network delivers, rather than what an end does that
 * is here. */
static bool is_delivered(const struct tcp_visit *visit)
{
    switch ((enum tcp_state)visit->connection->state) {
    case STATE_CLOSED:
    case STATE_IDLE:
        return visit->client == NULL;
    case STATE_ASKING:
        return visit->client != NULL; /* the request, with the reply that follows */
    case STATE_CONNECTING:
    case STATE_ACCEPTING:
    case STATE_ANSWERING:
    case STATE_CLOSING:
        return true;
    case STATE_TIME_WAIT:
    case STATE_VANISHED:
    case STATE_GONE:
        break;
    }
    return false;
}

/* The server closes what is open; a peer's new connection replaces what is. */
static void herd(const struct tcp_visit *visit)
{
    struct tcp_connection *connection = visit->connection;
    enum gen_herd what = gen_herd_at(&visit->tcp->herds, visit->now, visit->number);
    bool talks = connection->state == STATE_IDLE || connection->state == STATE_ASKING ||
                 connection->state == STATE_ANSWERING;
    bool open = talks || connection->state == STATE_CONNECTING ||
                connection->state == STATE_ACCEPTING || connection->state == STATE_VANISHED;
    if (what == GEN_HERD_NONE || !open) {
        return;
    }
    if (what == GEN_HERD_BACK) {
        visit->model->counts[COUNT_BACK]++;
        reset(visit);
        come_back(visit, visit->now);
        return;
    }
    visit->model->counts[COUNT_DEPLOYED]++;
    uint64_t at = gen_deploy_return(visit->model, &visit->tcp->herds, visit->now);
    if (talks && !is_pending(&connection->left_behind, visit->now)) {
        connection->client_closes = false;
        connection->return_at = at;
        begin_close(visit);
    } else {
        reset(visit);
        come_back(visit, at);
    }
}

static void visit_connection(struct gen_model *model, uint64_t now, uint32_t number)
{
    const struct tcp_visit visit = tcp_visit_of(model, now, number);
    for (uint32_t i = 0; i < visit.tcp->ends; i++) {
        expire(&visit, &visit.ends[i]);
        gen_from_outside(model);
    }
    herd(&visit);
    /* A round trip may take no tick. */
    while (visit.connection->event_at == now) {
        if (is_delivered(&visit)) {
            visit.connection->event_at = gen_arrival(&visit.tcp->herds, now, number);
        }
        if (visit.connection->event_at == now) {
            happen(&visit);
        }
    }
    tcp_file_next(&visit);
}

bool tcp_simulate(struct gen_model *model, uint64_t end)
{
    return gen_simulate(model, end, visit_connection);
}

void tcp_list_pending(const struct gen_model *model, uint32_t number, struct gen_pending_list *list)
{
    const struct tcp *tcp = model->state;
    struct tcp_end *ends = tcp_record_ends(model, number);
    for (uint32_t i = 0; i < tcp->ends; i++) {
        for (unsigned kind = 0; kind < KINDS; kind++) {
            const struct gen_timer *timer = &ends[i].timers[kind];
            if (timer->delay_ticks > 0 && !(kind == KIND_KEEPALIVE && ends[i].unseen)) {
                gen_pending_add(list, kind, timer->id, timer->due, timer->delay_ticks);
            }
        }
    }
    const struct gen_timer *left = &tcp_record_connection(tcp, ends)->left_behind;
    if (is_pending(left, model->ring.now)) {
        gen_pending_add(list, KIND_TIME_WAIT, left->id, left->due, left->delay_ticks);
    }
}
