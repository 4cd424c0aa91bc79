#include "gen_tcp_steps.h"

/* Linux's own silence before keepalive. */
#define KEEPALIVE_DEFAULT_S 7200

/* The first timeout, doubled so many times. */
static uint64_t handshake_timeout(const struct tcp *tcp, unsigned doublings)
{
    uint64_t ticks = tcp->rto_initial_ticks << (doublings < 16 ? doublings : 16);
    return ticks < tcp->rto_max_ticks ? ticks : tcp->rto_max_ticks;
}

void tcp_send_syn(const struct tcp_visit *visit, unsigned repeated)
{
    const struct tcp *tcp = visit->tcp;
    if (visit->client != NULL) {
        if (repeated == 0) {
            visit->client->sent_at = visit->now;
        }
        visit->client->waits = true;
        tcp_start(
            visit, visit->client, KIND_RETRANSMIT,
            handshake_timeout(tcp, repeated > tcp->syn_linear ? repeated - tcp->syn_linear : 0));
    }
    if (visit->connection->state == STATE_ACCEPTING) {
        return; /* a SYN is there already, and the server's own timer repeats its answer */
    }
    visit->connection->state = STATE_CONNECTING;
    tcp_travel(visit, visit->client, 0);
}

void tcp_send_syn_ack(const struct tcp_visit *visit, unsigned repeated)
{
    visit->connection->state = STATE_ACCEPTING;
    tcp_start(visit, visit->server, KIND_SYN_ACK, handshake_timeout(visit->tcp, repeated));
    tcp_travel(visit, visit->server, 0);
}

bool tcp_closes_at_client(const struct tcp_visit *visit)
{
    return visit->tcp->close_client > 0 && gen_chance(visit->model, visit->tcp->close_client);
}

void tcp_connect(const struct tcp_visit *visit)
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
    visit->connection->again = false;
    visit->connection->return_at = GEN_NEVER;
    visit->connection->client_closes = tcp_closes_at_client(visit);
    tcp_send_syn(visit, 0);
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
        tcp_start(visit, end, KIND_KEEPALIVE, ticks);
        if (!gen_chance(visit->model, visit->connection->keepalive_set)) {
            return;
        }
        ticks = tcp->keepalive_ticks;
    }
    tcp_start(visit, end, KIND_KEEPALIVE, ticks);
}

void tcp_establish(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    tcp_stop(visit, visit->server, KIND_SYN_ACK);
    double trip = tcp_round_trip(visit);
    if (visit->client != NULL) {
        /* The time stamp that comes back is the first SYN's. */
        double waited = (double)(visit->now - visit->client->sent_at);
        tcp_rtt_sample(&visit->client->estimate, (float)(waited > trip ? waited : trip));
        visit->client->measured = true;
    }
    if (visit->server != NULL) {
        tcp_rtt_sample(&visit->server->estimate, (float)trip);
    }
    for (uint32_t i = 0; i < tcp->ends; i++) {
        struct tcp_end *end = &visit->ends[i];
        end->waits = false;
        end->backoff = 0;
        tcp_hear(visit, end);
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
    tcp_wait_for_request(visit);
}

/* The FIN of the one, which the other answers with its own. */
void tcp_begin_close(const struct tcp_visit *visit)
{
    struct tcp_connection *connection = visit->connection;
    connection->state = STATE_CLOSING;
    tcp_send(visit, tcp_closer_of(visit));
    connection->event_at = visit->now + tcp_soon(visit->model, tcp_round_trip(visit));
}

/* The server does, for what a connection has asked, or has not. In a window a share of these open
 * again, while a spare slot has their TIME_WAIT. */
void tcp_close_by_itself(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    connection->client_closes = false;
    connection->again =
        tcp->window && tcp->open_again > 0 && gen_chance(visit->model, tcp->open_again);
    tcp_begin_close(visit);
}

void tcp_put_spare(const struct tcp_visit *visit)
{
    struct tcp *tcp = visit->model->state;
    visit->connection->state = STATE_GONE;
    visit->connection->event_at = GEN_NEVER;
    visit->connection->spare = true;
    visit->connection->next_spare = tcp->spare;
    tcp->spare = visit->number;
}

/* The TIME_WAIT of a server's close, in a spare slot; false if there is none. */
static bool wait_elsewhere(const struct tcp_visit *visit)
{
    struct tcp *tcp = visit->model->state;
    if (visit->server == NULL) {
        return true;
    }
    if (tcp->spare == NO_SPARE) {
        return false;
    }
    const struct tcp_visit spare = tcp_visit_of(visit->model, visit->now, tcp->spare);
    tcp->spare = spare.connection->next_spare;
    gen_timers_renew(visit->model, spare.server->timers);
    tcp_start(&spare, spare.server, KIND_TIME_WAIT, tcp->time_wait_ticks);
    spare.connection->state = STATE_TIME_WAIT;
    spare.connection->event_at = GEN_NEVER;
    tcp_file_next(&spare);
    return true;
}

/* A slot whose connection is no more is free for the next from `at` on; a window's, as long as it
 * has not closed by then. */
void tcp_come_back(const struct tcp_visit *visit, uint64_t at)
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
    tcp_come_back(visit, connection->return_at);
}

void tcp_end_close(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    struct tcp_end *closer = tcp_closer_of(visit);
    struct tcp_end *other = visit->connection->client_closes ? visit->server : visit->client;
    tcp_start(visit, other, KIND_DELAYED_ACK, connection->delack_ticks);
    tcp_send(visit, other);
    if (tcp->fin_wait2_ticks > 0) {
        tcp_start(visit, closer, KIND_KEEPALIVE, tcp->fin_wait2_ticks);
    }
    visit->model->counts[COUNT_TIME_WAITS]++;
    bool again = connection->again && wait_elsewhere(visit);
    if (!again) {
        tcp_start(visit, closer, KIND_TIME_WAIT, tcp->time_wait_ticks);
    }
    connection->again = false;
    for (uint32_t i = 0; i < tcp->ends; i++) {
        struct tcp_end *end = &visit->ends[i];
        end->waits = false;
        tcp_stop(visit, end, KIND_RETRANSMIT);
        tcp_stop(visit, end, KIND_DELAYED_ACK);
        tcp_stop(visit, end, KIND_KEEPALIVE);
        tcp_stop(visit, end, KIND_PACE);
    }
    if (again) {
        tcp_come_back(visit, visit->now + 1);
        return;
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
void tcp_reset(const struct tcp_visit *visit)
{
    bool by_firing = visit->model->recording && visit->model->cause.basis != TRACE_EXTERNAL;
    for (uint32_t i = 0; i < visit->tcp->ends; i++) {
        struct tcp_end *end = &visit->ends[i];
        end->waits = false;
        for (unsigned kind = 0; kind < KINDS; kind++) {
            end->timers[kind].fired |= by_firing && end->timers[kind].delay_ticks > 0;
            tcp_stop(visit, end, kind);
        }
    }
}

/* Nothing is left of it, with or without a farewell. */
void tcp_forget(const struct tcp_visit *visit)
{
    struct tcp_connection *connection = visit->connection;
    tcp_reset(visit);
    if (connection->spare) {
        tcp_put_spare(visit);
        return;
    }
    connection->state = visit->tcp->window ? STATE_GONE : STATE_CLOSED;
    connection->event_at =
        visit->tcp->window ? GEN_NEVER
                           : visit->now + gen_exponential(visit->model, visit->tcp->pause_ticks);
}
