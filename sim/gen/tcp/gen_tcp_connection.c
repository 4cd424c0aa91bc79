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
#include "gen_tcp_steps.h"

/* --- expiries -------------------------------------------------------------------------------- */

/* Whether the client has the last reply: if the server waits then, only the ACK was lost. */
static bool has_reply(const struct tcp_connection *connection)
{
    return connection->state == STATE_IDLE || connection->state == STATE_ASKING;
}

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
        tcp_forget(visit);
        return;
    }
    end->backoff++;
    visit->model->counts[COUNT_RETRANSMISSIONS]++;
    if (connection->state == STATE_CONNECTING ||
        (connection->state == STATE_ACCEPTING && end == visit->client)) {
        tcp_send_syn(visit, end->backoff);
        return;
    }
    unsigned doublings = end->backoff - 1U; /* the first one sends a probe */
    tcp_start(visit, end, KIND_RETRANSMIT, tcp_rto(tcp, end, doublings));
    /* Only what has not arrived yet is worth telling. */
    bool lost = connection->event_at == GEN_NEVER;
    if (lost && connection->state == STATE_ASKING && end == visit->client) {
        end->sent_at = visit->now;
        tcp_travel(visit, end, tcp_reply_ticks(visit));
    } else if (lost && connection->state == STATE_ANSWERING && end == visit->server) {
        end->sent_at = visit->now;
        tcp_travel(visit, end, 0);
    } else if (end == visit->server && has_reply(connection) && tcp_ack_arrives(visit) &&
               tcp_ack_arrives(visit)) {
        /* The reply has arrived once more, and the ACK that it is answered with. */
        end->sent_at = visit->now;
        tcp_acknowledge(visit, end, tcp_round_trip(visit));
    }
}

static void expire_syn_ack(const struct tcp_visit *visit, struct tcp_end *end)
{
    end->backoff++;
    if (end->backoff > visit->tcp->syn_retries) {
        visit->model->counts[COUNT_GIVEN_UP]++;
        tcp_forget(visit);
    } else {
        visit->model->counts[COUNT_RETRANSMISSIONS]++;
        tcp_send_syn_ack(visit, end->backoff);
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

/* When an end was last heard by the tick `at`, at which its keepalive timer's code runs, as far as
 * that is known now: what comes next may come before. */
static uint64_t heard_by(const struct tcp_visit *visit, const struct tcp_end *end, uint64_t at)
{
    const struct tcp_connection *connection = visit->connection;
    bool talks = (connection->state == STATE_IDLE && !connection->silent &&
                  connection->event_at < connection->close_at) ||
                 connection->state == STATE_ASKING || connection->state == STATE_ANSWERING;
    return talks && connection->event_at <= at && connection->event_at > end->heard_at
               ? connection->event_at
               : end->heard_at;
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
    uint64_t silence = visit->now + late - heard_by(visit, end, visit->now + late);
    uint64_t wait = tcp->probe_interval_ticks;
    enum trace_basis basis = TRACE_FIXED_DELAY;
    if (end->waits) {
        wait = tcp->keepalive_ticks; /* the retransmissions will tell */
    } else if (silence < tcp->keepalive_ticks) {
        wait = tcp->keepalive_ticks - silence;
        basis = TRACE_ABSOLUTE; /* the packets have set the tick */
    } else if (connection->state == STATE_VANISHED && end->probes == tcp->probes) {
        visit->model->counts[COUNT_DROPPED]++;
        tcp_forget(visit);
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
    if (gen_timer_expires(model, &end->timers[KIND_PACE], visit->now) &&
        visit->connection->state == STATE_PACING) {
        tcp_send_burst(visit);
    }
    if (gen_timer_expires(model, &end->timers[KIND_TIME_WAIT], visit->now)) {
        tcp_forget(visit);
    }
}

/* --- what comes from outside ----------------------------------------------------------------- */

static void leave_idleness(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    if (connection->silent) {
        visit->model->counts[COUNT_CLOSED_IDLE]++;
        connection->silent = false;
        tcp_close_by_itself(visit);
        if (tcp->plan_kept > 0 &&
            !(connection->again && gen_chance(visit->model, tcp->plan_kept))) {
            tcp_drop_plan(visit);
        }
        return;
    }
    bool closes = visit->now >= connection->close_at;
    bool at_end = !tcp->traffic.smooth && !tcp->window;
    if (closes && !at_end && !gen_chance(visit->model, tcp->close_asked)) {
        tcp_begin_close(visit);
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
            tcp_forget(visit); /* nobody would ever find out */
        }
    } else {
        connection->last = closes;
        tcp_send_request(visit);
    }
}

static void happen(const struct tcp_visit *visit)
{
    switch ((enum tcp_state)visit->connection->state) {
    case STATE_CLOSED:
        tcp_connect(visit);
        break;
    case STATE_CONNECTING:
        tcp_send_syn_ack(visit, 0);
        break;
    case STATE_ACCEPTING:
        tcp_establish(visit);
        break;
    case STATE_IDLE:
        leave_idleness(visit);
        break;
    case STATE_ASKING:
        tcp_send_reply(visit);
        break;
    case STATE_ANSWERING:
        tcp_take_reply(visit);
        break;
    case STATE_CLOSING:
        tcp_end_close(visit);
        break;
    case STATE_TIME_WAIT: /* of a closer elsewhere */
        tcp_forget(visit);
        break;
    case STATE_PACING:
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
    case STATE_PACING:
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
                 connection->state == STATE_PACING || connection->state == STATE_ANSWERING;
    bool open = talks || connection->state == STATE_CONNECTING ||
                connection->state == STATE_ACCEPTING || connection->state == STATE_VANISHED;
    if (what == GEN_HERD_NONE || !open) {
        return;
    }
    if (what == GEN_HERD_BACK) {
        visit->model->counts[COUNT_BACK]++;
        tcp_reset(visit);
        tcp_come_back(visit, visit->now);
        return;
    }
    visit->model->counts[COUNT_DEPLOYED]++;
    uint64_t at = gen_deploy_return(visit->model, &visit->tcp->herds, visit->now);
    if (talks && !tcp_is_pending(&connection->left_behind, visit->now)) {
        connection->client_closes = false;
        connection->return_at = at;
        tcp_begin_close(visit);
    } else {
        tcp_reset(visit);
        tcp_come_back(visit, at);
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
    if (tcp_is_pending(left, model->ring.now)) {
        gen_pending_add(list, KIND_TIME_WAIT, left->id, left->due, left->delay_ticks);
    }
}
