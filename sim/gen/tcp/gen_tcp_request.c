#include "gen_tcp_steps.h"

#include <math.h>

double tcp_reply_ticks(const struct tcp_visit *visit)
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

void tcp_close_if_idle(const struct tcp_visit *visit, uint64_t since)
{
    struct tcp_connection *connection = visit->connection;
    double until = (double)since + visit->tcp->close_idle_ticks;
    connection->silent = (double)connection->event_at > until;
    if (connection->silent) {
        uint64_t at = (uint64_t)until;
        connection->event_at = at > visit->now ? at : visit->now + 1;
    }
}

/* The client's next plan, of those that it has and one more. */
static uint64_t plan_next(const struct tcp_visit *visit, uint64_t at)
{
    struct tcp_plans *plans = tcp_record_plans(visit->connection);
    if (plans->count < TCP_PLANS) {
        plans->at[plans->count++] = at;
    }
    uint64_t next = plans->at[0];
    for (uint32_t i = 1; i < plans->count; i++) {
        next = plans->at[i] < next ? plans->at[i] : next;
    }
    return next;
}

/* It does what it has planned first, or never will. */
void tcp_drop_plan(const struct tcp_visit *visit)
{
    struct tcp_plans *plans = tcp_record_plans(visit->connection);
    uint32_t next = 0;
    for (uint32_t i = 1; i < plans->count; i++) {
        next = plans->at[i] < plans->at[next] ? i : next;
    }
    if (plans->count > 0) {
        plans->at[next] = plans->at[--plans->count];
    }
}

void tcp_wait_for_request(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    uint64_t at;
    if (tcp->traffic.smooth) {
        double gap =
            tcp_gap_draw(&tcp->gaps, connection->part, &visit->model->random) / pace(visit);
        gap *= connection->slow ? tcp->slow_times : 1;
        gap = fmin(gap, tcp->gap_most_ticks);
        at = connection->request_at + tcp_soon(visit->model, gap);
        at = tcp->plan_kept > 0 ? plan_next(visit, at) : at;
    } else {
        at = gen_next_request(visit->model, &tcp->traffic, &connection->activity, visit->now,
                              visit->number);
    }
    if (at >= connection->close_at || connection->single) {
        at = connection->close_at;
    }
    connection->state = STATE_IDLE;
    /* A plan that came due meanwhile is done at once. */
    uint64_t soonest = visit->now + (tcp->plan_kept > 0 ? 0 : 1);
    connection->event_at = at > soonest ? at : soonest;
    connection->silent = false;
    /* Before the first request, a server waits for longer. */
    if (connection->requests > 0 && at < connection->close_at) {
        tcp_close_if_idle(visit, visit->now);
    }
}

void tcp_send_request(const struct tcp_visit *visit)
{
    struct tcp_connection *connection = visit->connection;
    visit->model->counts[COUNT_REQUESTS]++;
    connection->requests++;
    connection->request_at = visit->now;
    if (visit->tcp->plan_kept > 0) {
        tcp_drop_plan(visit);
    }
    connection->state = STATE_ASKING;
    tcp_send(visit, visit->client);
    tcp_travel(visit, visit->client, tcp_reply_ticks(visit));
}

/* Whether connections end after a time, rather than with a share of their replies. */
static bool lives_for_a_time(const struct tcp *tcp)
{
    return tcp->window || !tcp->traffic.smooth;
}

/* A burst of the reply. Linux starts the timer only if more is to be sent; it always expires. */
void tcp_send_burst(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    tcp_send(visit, visit->server);
    if (connection->bursts > 0 && visit->server != NULL) {
        connection->bursts--;
        visit->model->counts[COUNT_BURSTS]++;
        connection->state = STATE_PACING;
        connection->event_at = GEN_NEVER;
        tcp_start(visit, visit->server, KIND_PACE, tcp->pacing_ticks);
        return;
    }
    connection->state = STATE_ANSWERING;
    tcp_travel(visit, visit->server, (double)connection->bursts * (double)tcp->pacing_ticks);
}

void tcp_send_reply(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    visit->model->counts[COUNT_REPLIES]++;
    if (visit->server != NULL && visit->server->waits) {
        /* A request has the ACK of the reply before it. */
        tcp_acknowledge(visit, visit->server, tcp_round_trip(visit));
    }
    tcp_hear(visit, visit->server);
    if (connection->requests > tcp->quick_acks) {
        tcp_start(visit, visit->server, KIND_DELAYED_ACK, connection->delack_ticks);
    }
    connection->bursts = 0;
    if (connection->paced && tcp->pacing_bursts > 1) {
        /* Geometric: the whole part of an exponential number. */
        double mean = 1 / random_log(1 + 1 / (tcp->pacing_bursts - 1));
        double more = random_exponential(&visit->model->random, mean);
        connection->bursts = more < UINT32_MAX ? (uint32_t)more : UINT32_MAX;
    }
    tcp_send_burst(visit);
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

void tcp_take_reply(const struct tcp_visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct tcp_connection *connection = visit->connection;
    visit->model->counts[COUNT_ACKS]++;
    double trip = tcp_round_trip(visit);
    if (delays_ack(visit)) {
        tcp_start(visit, visit->client, KIND_DELAYED_ACK, connection->delack_ticks);
    }
    tcp_acknowledge(visit, visit->client, trip);
    if (tcp_ack_arrives(visit)) {
        tcp_acknowledge(visit, visit->server, trip);
    }
    if (connection->requests >= tcp->close_requests) {
        visit->model->counts[COUNT_CLOSED_FULL]++;
        tcp_close_by_itself(visit);
    } else if (connection->last ||
               (!lives_for_a_time(tcp) && gen_chance(visit->model, tcp->close))) {
        tcp_begin_close(visit);
    } else {
        tcp_wait_for_request(visit);
    }
}
