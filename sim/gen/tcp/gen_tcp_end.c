#include "gen_tcp_steps.h"

/* A duration that may take no tick at all: the whole ticks that it takes in the mean. */
uint64_t tcp_soon(struct gen_model *model, double ticks)
{
    return (uint64_t)(ticks + random_unit(&model->random));
}

bool tcp_is_unseen(const struct tcp_visit *visit)
{
    return visit->tcp->window && visit->tcp->linux_wheel && !visit->model->recording;
}

/* Starts an end's timer, if that end is here. What would leave the deadline as it is, is none. */
void tcp_start(const struct tcp_visit *visit, struct tcp_end *end, unsigned kind, uint64_t ticks)
{
    if (end == NULL) {
        return;
    }
    struct gen_timer *timer = &end->timers[kind];
    ticks += kind == KIND_PACE ? 0 : visit->tcp->late_ticks;
    if (kind == KIND_KEEPALIVE) {
        end->unseen = tcp_is_unseen(visit);
    }
    if (timer->delay_ticks > 0 && timer->due > visit->now && timer->due == visit->now + ticks) {
        visit->model->counts[COUNT_UNCHANGED]++;
        return;
    }
    gen_timer_start(visit->model, visit->now, timer, ticks);
}

void tcp_stop(const struct tcp_visit *visit, struct tcp_end *end, unsigned kind)
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
bool tcp_is_pending(const struct gen_timer *timer, uint64_t now)
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
void tcp_rtt_sample(struct gen_rtt *rtt, float ticks)
{
    float before = rtt->variation_ticks;
    float shorter = rtt->smoothed_ticks - ticks;
    gen_rtt_sample(rtt, ticks);
    if (shorter > before && before > 0) {
        rtt->variation_ticks = before + (shorter - before) / 32;
    }
}

double tcp_round_trip(const struct tcp_visit *visit)
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

bool tcp_ack_arrives(const struct tcp_visit *visit)
{
    return !(visit->tcp->loss > 0) || arrives(visit);
}

/* What an end that is elsewhere does without timers of the trace: it sends again, after the
 * shortest timeout. */
static uint64_t elsewhere_again(const struct tcp_visit *visit)
{
    return visit->now + gen_whole_ticks(visit->tcp->rto_min_ticks);
}

/* Something that an end sends and waits for is on its way. */
void tcp_send(const struct tcp_visit *visit, struct tcp_end *end)
{
    if (end != NULL) {
        if (!end->waits) {
            end->waits = true;
            end->sent_at = visit->now;
            end->backoff = 0;
        }
        uint64_t timeout = tcp_rto(visit->tcp, end, 0);
        uint64_t probe = probe_timeout(visit->tcp, end);
        tcp_start(visit, end, KIND_RETRANSMIT, timeout);
        if (probe < timeout) {
            tcp_start(visit, end, KIND_RETRANSMIT, probe);
        }
    }
}

void tcp_acknowledge(const struct tcp_visit *visit, struct tcp_end *end, double trip_ticks)
{
    if (end != NULL) {
        end->heard_at = visit->now;
        if (end->waits) {
            end->waits = false;
            double waited =
                end->backoff > 0 ? (double)(visit->now - end->sent_at) + trip_ticks : trip_ticks;
            tcp_rtt_sample(&end->estimate, (float)waited);
            end->measured = true;
        }
    }
}

void tcp_hear(const struct tcp_visit *visit, struct tcp_end *end)
{
    if (end != NULL) {
        end->heard_at = visit->now;
        end->probes = 0;
    }
}

/* The way of a SYN, a request, a reply: its arrival is the next event, if it does arrive. If not,
 * the sender's timer will tell, or the sender elsewhere. */
void tcp_travel(const struct tcp_visit *visit, const struct tcp_end *sender, double more_ticks)
{
    struct tcp_connection *connection = visit->connection;
    if (arrives(visit)) {
        connection->event_at =
            visit->now + tcp_soon(visit->model, tcp_round_trip(visit) / 2 + more_ticks);
    } else {
        connection->event_at = sender != NULL ? GEN_NEVER : elsewhere_again(visit);
    }
}
