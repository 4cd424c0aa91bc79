/*
 * quic: a QUIC server's two timers for each connection.
 *
 *   closed --connect--> connecting --ACK--> idle --request--> sending --last packet-->
 *     waiting --ACK--> idle
 *
 *   timer  started                                           stopped  if it expires
 *   pto    by every packet sent (restarted)                  by ACK   a probe is sent, doubled
 *   idle   by a received packet, and by the first packet     -        the connection is over
 *          sent after that (restarted)
 *
 * The probe timeout is srtt + max(4 rttvar, 1 ms) + 25 ms (RFC 9002), and before the first sample
 * that of 333 ms without the 25. A flight is acknowledged as a whole; losses within it are found by
 * its ACKs, and only the loss of its end, or of that ACK, takes the timer.
 *
 * Requests of a connection and pauses are Poisson processes: the model begins with the share of
 * connections open that the steady state has, and a short warm-up lets the rest settle. That is
 * smooth traffic. Otherwise requests come when gen_traffic.h says, and one that finds no connection
 * connects, and follows a tick after the ACK.
 */
#include "gen_model.h"
#include "gen_rtt.h"
#include "gen_traffic.h"

enum {
    TICK_US = GEN_TICK_US,
    RATE_PER_S,
    FLIGHT,
    PACING_MS,
    RTT_MEDIAN_MS,
    RTT_SIGMA,
    JITTER,
    LOSS,
    INITIAL_RTT_MS,
    GRANULARITY_MS,
    MAX_ACK_DELAY_MS,
    IDLE_S,
    PAUSE_S,
    ACTIVITY,
    HERDS = ACTIVITY + GEN_ACTIVITY_ROWS,
};

static const struct tl_option quic_parameters[] = {
    GEN_TICK_US_ROWS(1000, "1 ms: what servers count in"),
    GEN_REAL(RATE_PER_S, "rate_per_s", 0.1, 1e-6, 1e5, "requests a second on an idle connection",
             "chosen"),
    GEN_REAL(FLIGHT, "flight", 10, 1, 1000, "packets of a reply",
             "RFC 9002's initial window: 10 packets"),
    GEN_REAL(PACING_MS, "pacing_ms", 1, 0.001, 1e5, "from packet to packet", "chosen"),
    GEN_REAL(RTT_MEDIAN_MS, "rtt_median_ms", 30, 0.001, 1e5,
             "median of the connections' log-normal round trip time", "chosen"),
    GEN_REAL(RTT_SIGMA, "rtt_sigma", 0.5, 0, 5, "standard deviation of its logarithm", "chosen"),
    GEN_REAL(JITTER, "jitter", 0.1, 0, 1, "each round trip is up to this share shorter or longer",
             "chosen"),
    GEN_REAL(LOSS, "loss", 0.01, 0, 1, "probability that a flight's end or its ACK is lost",
             "chosen"),
    GEN_REAL(INITIAL_RTT_MS, "initial_rtt_ms", 333, 0.001, 1e5,
             "round trip time before any is known", "RFC 9002's kInitialRtt"),
    GEN_REAL(GRANULARITY_MS, "granularity_ms", 1, 0.001, 1e5, "least of the variation's term",
             "RFC 9002's kGranularity"),
    GEN_REAL(MAX_ACK_DELAY_MS, "max_ack_delay_ms", 25, 0, 1e5,
             "longest delay of an ACK by the peer", "RFC 9000's max_ack_delay"),
    GEN_REAL(IDLE_S, "idle_s", 30, 0.001, 86400, "idle timeout",
             "chosen: HAProxy's examples have 30 to 60 s"),
    GEN_REAL(PAUSE_S, "pause_s", 10, 0.001, 86400,
             "mean time from the end of a connection to the next, exponential", "chosen"),
    GEN_ACTIVITY(ACTIVITY, 4, "chosen: few, since one carries many requests"),
    GEN_HERDS(HERDS),
    [HERDS + GEN_HERD_ROWS] = {0},
};

enum { KIND_PTO, KIND_IDLE, KINDS };
static const char *const quic_kinds[] = {[KIND_PTO] = "pto", [KIND_IDLE] = "idle", NULL};

#define QUIC_COUNTS(X)                                                                             \
    X(COUNT_CONNECTS, "connects")                                                                  \
    X(COUNT_REQUESTS, "requests")                                                                  \
    X(COUNT_PACKETS, "packets")                                                                    \
    X(COUNT_FLIGHTS, "flights")                                                                    \
    X(COUNT_LOSSES, "losses")                                                                      \
    X(COUNT_PROBES, "probes")                                                                      \
    X(COUNT_ACKS, "acks")                                                                          \
    X(COUNT_IDLE_EXPIRIES, "idle_expiries")                                                        \
    X(COUNT_DEPLOYED, "deployed")                                                                  \
    X(COUNT_BACK, "back")
enum { QUIC_COUNTS(GEN_PLACE) };
static const char *const quic_counts[] = {QUIC_COUNTS(GEN_NAME) NULL};

enum state { STATE_CLOSED, STATE_CONNECTING, STATE_IDLE, STATE_SENDING, STATE_WAITING };

struct connection {
    struct gen_timer timers[KINDS];
    uint64_t event_at; /* connect, request, next packet or ACK; or GEN_NEVER */
    struct gen_activity activity;
    struct gen_rtt estimate;
    float rtt_ticks;
    float sample_ticks;
    uint16_t packets_left; /* of the flight */
    uint8_t state;
    uint8_t backoff;
};

struct quic {
    double gap_ticks;
    double pause_ticks;
    uint64_t pacing_ticks;
    uint64_t initial_pto_ticks;
    double granularity_ticks;
    double max_ack_delay_ticks;
    uint64_t idle_ticks;
    double busy_ticks; /* of a request, at the median round trip time */
    double in_time;    /* smooth: probability that a request comes before the idle timeout */
    uint16_t flight;
    struct gen_traffic traffic;
    struct gen_herds herds;
};

/* Return the probe timeout of the next transmission. */
static uint64_t pto(const struct quic *quic, const struct connection *connection)
{
    uint64_t ticks = quic->initial_pto_ticks;
    if (connection->state != STATE_CONNECTING) {
        double variation = 4 * (double)connection->estimate.variation_ticks;
        ticks = gen_whole_ticks(
            (double)connection->estimate.smoothed_ticks +
            (variation > quic->granularity_ticks ? variation : quic->granularity_ticks) +
            quic->max_ack_delay_ticks);
    }
    return gen_doubled(ticks, connection->backoff, GEN_TICKS_MAX);
}

/* Send a packet that ends a flight, or a probe: the ACK of this one is awaited. */
static void send_last(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct quic *quic = model->state;
    const double *p = model->parameters;
    if (gen_chance(model, p[LOSS])) {
        model->counts[COUNT_LOSSES]++;
    } else {
        double share = p[JITTER] * (2 * random_unit(&model->random) - 1);
        connection->sample_ticks = (float)((double)connection->rtt_ticks * (1 + share));
        uint64_t ack_at = now + gen_whole_ticks((double)connection->sample_ticks);
        if (ack_at < connection->event_at) {
            connection->event_at = ack_at;
        }
    }
    gen_timer_start(model, now, &connection->timers[KIND_PTO], pto(quic, connection));
}

static void restart_idle(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct quic *quic = model->state;
    gen_timer_start(model, now, &connection->timers[KIND_IDLE], quic->idle_ticks);
}

static void send_packet(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct quic *quic = model->state;
    model->counts[COUNT_PACKETS]++;
    if (--connection->packets_left > 0) {
        connection->event_at = now + quic->pacing_ticks;
        gen_timer_start(model, now, &connection->timers[KIND_PTO], pto(quic, connection));
        return;
    }
    model->counts[COUNT_FLIGHTS]++;
    connection->state = STATE_WAITING;
    connection->event_at = GEN_NEVER;
    send_last(model, now, connection);
}

static void receive_ack(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct quic *quic = model->state;
    model->counts[COUNT_ACKS]++;
    gen_timer_stop(model, now, &connection->timers[KIND_PTO]);
    restart_idle(model, now, connection);
    /* Packet numbers are never used twice: every ACK is a sample. */
    gen_rtt_sample(&connection->estimate, connection->sample_ticks);
    bool request_waits = connection->state == STATE_CONNECTING && !quic->traffic.smooth;
    connection->state = STATE_IDLE;
    connection->backoff = 0;
    connection->event_at =
        request_waits ? now + 1 : gen_plan(model, &connection->activity, now, quic->gap_ticks);
}

/* Handle the external event of this tick, or send the next packet. */
static void happen(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct quic *quic = model->state;
    switch ((enum state)connection->state) {
    case STATE_CLOSED:
        model->counts[COUNT_CONNECTS]++;
        gen_timers_renew(model, connection->timers);
        connection->state = STATE_CONNECTING;
        connection->estimate = (struct gen_rtt){0};
        connection->backoff = 0;
        connection->event_at = GEN_NEVER;
        restart_idle(model, now, connection);
        send_last(model, now, connection);
        break;
    case STATE_IDLE:
        model->counts[COUNT_REQUESTS]++;
        connection->state = STATE_SENDING;
        connection->packets_left = quic->flight;
        restart_idle(model, now, connection);
        send_packet(model, now, connection);
        break;
    case STATE_SENDING:
        send_packet(model, now, connection);
        break;
    case STATE_CONNECTING:
    case STATE_WAITING:
        receive_ack(model, now, connection);
        break;
    }
}

/* Close a connection and stop its timers. The next request is already planned if one was awaited,
 * and does not depend on the connection. */
static void close_connection(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct quic *quic = model->state;
    bool planned = connection->state == STATE_IDLE && !quic->traffic.smooth;
    gen_timer_stop(model, now, &connection->timers[KIND_PTO]);
    gen_timer_stop(model, now, &connection->timers[KIND_IDLE]);
    connection->state = STATE_CLOSED;
    if (!planned) {
        connection->event_at = gen_plan(model, &connection->activity, now, quic->pause_ticks);
    }
}

/* Apply a deploy or storm. */
static void apply_herd(struct gen_model *model, uint64_t now, struct connection *connection)
{
    enum gen_herd herd = gen_herd_at(model, now);
    if (herd == GEN_HERD_NONE || connection->state == STATE_CLOSED) {
        return;
    }
    gen_from_outside(model);
    close_connection(model, now, connection);
    connection->event_at = gen_herd_return(model, herd, now, COUNT_DEPLOYED);
}

static void visit(struct gen_model *model, uint64_t now, void *record)
{
    struct connection *connection = record;
    if (gen_timer_expires(model, &connection->timers[KIND_IDLE], now)) {
        model->counts[COUNT_IDLE_EXPIRIES]++;
        close_connection(model, now, connection);
    } else if (gen_timer_expires(model, &connection->timers[KIND_PTO], now)) {
        model->counts[COUNT_PROBES]++;
        connection->backoff++;
        send_last(model, now, connection);
    }
    apply_herd(model, now, connection);
    /* The server's own paced packets are not delayed by a freeze. */
    if (connection->event_at == now && connection->state != STATE_SENDING) {
        connection->event_at = gen_arrival(model, now);
    }
    if (connection->event_at == now) {
        gen_from_outside(model);
        happen(model, now, connection);
    }
}

/* Open a connection that waits for a request, after some that came in time. */
static void place_open(struct gen_model *model, struct connection *connection)
{
    const struct quic *quic = model->state;
    connection->state = STATE_IDLE;
    /* More samples do not change the estimate. */
    enum { SAMPLES_MAX = 40 };
    unsigned samples = 0;
    do {
        gen_rtt_sample(&connection->estimate, connection->rtt_ticks);
    } while (++samples < SAMPLES_MAX && gen_chance(model, quic->in_time));
}

static void place(struct gen_model *model, void *record)
{
    const struct quic *quic = model->state;
    const double *p = model->parameters;
    const double typical = p[RTT_MEDIAN_MS] * gen_per_ms(model);
    const uint64_t now = GEN_EPOCH;
    /* For each wait for a request: its mean length with the exchange before, and the pauses. */
    const double open = quic->gap_ticks * quic->in_time + quic->busy_ticks;
    const double closed = (1 - quic->in_time) * quic->pause_ticks;
    struct connection *connection = record;
    struct gen_timer *idle = &connection->timers[KIND_IDLE];
    connection->rtt_ticks = (float)gen_lognormal(model, typical, p[RTT_SIGMA]);
    if (!quic->traffic.smooth) {
        double busy = quic->busy_ticks - typical + (double)connection->rtt_ticks;
        uint64_t age = gen_activity_place(model, &connection->activity, now, busy);
        if (age <= quic->idle_ticks) {
            gen_timer_place(idle, now, quic->idle_ticks, age);
            place_open(model, connection);
        }
        connection->event_at = gen_next_request(model, &connection->activity, now - 1);
    } else if (gen_chance(model, open / (open + closed))) {
        gen_place_restarted(model, idle, now, quic->idle_ticks, quic->gap_ticks, quic->in_time);
        connection->event_at = now - 1 + gen_exponential(model, quic->gap_ticks);
        place_open(model, connection);
    } else {
        connection->event_at = now - 1 + gen_exponential(model, quic->pause_ticks);
    }
}

/* Read the parameters of traffic. A request has the operations of its packets and probes, a stop,
 * and two restarts of the idle timer; a connect has those of one packet. The number of connects
 * depends on the silences, and the rate of requests is chosen so that both together have the rate
 * of smooth traffic. */
static void read_traffic(struct gen_model *model, double pacing_ticks)
{
    struct quic *quic = model->state;
    const double *p = model->parameters;
    const double per_ms = gen_per_ms(model);
    double sigma = p[RTT_SIGMA];
    double rtt = p[RTT_MEDIAN_MS] * per_ms * random_exp(sigma * sigma / 2) + 0.5;
    double timeout = rtt * (1 + 2 * p[JITTER]) + quic->max_ack_delay_ticks;
    double probes = 0;
    double wait = rtt;
    double lost = p[LOSS];
    for (double until = timeout; until < (double)quic->idle_ticks && lost > 1e-9; until *= 2) {
        probes += lost;
        wait += lost * until;
        lost *= p[LOSS];
    }
    double request_operations = quic->flight + probes + 3;
    double connect_operations = 1 + probes + 3;
    double in_time = quic->in_time;
    double ticks = gen_whole_mean(quic->gap_ticks) * in_time + in_time * (pacing_ticks + wait) +
                   (1 - in_time) * (gen_whole_mean(quic->pause_ticks) + wait);
    double operations = in_time * request_operations + (1 - in_time) * connect_operations;
    struct gen_smooth smooth = {.busy_ticks = pacing_ticks + wait, .gap_ticks = quic->gap_ticks};
    double connects = 0;
    enum { ROUNDS = 4 };
    for (unsigned i = 0; i < ROUNDS; i++) {
        smooth.mean_ticks =
            (request_operations + connects * connect_operations) * ticks / operations;
        gen_traffic_read(model, ACTIVITY, &smooth, &quic->traffic);
        connects = gen_connects(&quic->traffic, (double)quic->idle_ticks);
    }
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    const double per_second = gen_per_second(model);
    const double per_ms = gen_per_ms(model);
    struct quic *quic = model->state;
    double initial_variation = 2 * p[INITIAL_RTT_MS]; /* four times half of it */
    if (initial_variation < p[GRANULARITY_MS]) {
        initial_variation = p[GRANULARITY_MS];
    }
    *quic = (struct quic){
        .gap_ticks = per_second / p[RATE_PER_S],
        .pause_ticks = p[PAUSE_S] * per_second,
        .pacing_ticks = gen_whole_ticks(p[PACING_MS] * per_ms),
        .initial_pto_ticks = gen_whole_ticks((p[INITIAL_RTT_MS] + initial_variation) * per_ms),
        .granularity_ticks = p[GRANULARITY_MS] * per_ms,
        .max_ack_delay_ticks = p[MAX_ACK_DELAY_MS] * per_ms,
        .idle_ticks = gen_whole_ticks(p[IDLE_S] * per_second),
        .flight = (uint16_t)p[FLIGHT],
    };
    double pacing_ticks = (double)quic->pacing_ticks * (quic->flight - 1);
    quic->busy_ticks = pacing_ticks + p[RTT_MEDIAN_MS] * per_ms;
    quic->in_time = gen_comes_within((double)quic->idle_ticks, quic->gap_ticks);
    read_traffic(model, pacing_ticks);
    model->warmup_end =
        GEN_EPOCH + gen_whole_ticks(5 * (quic->busy_ticks + (double)quic->initial_pto_ticks));
    if (!gen_herds_read(model, HERDS, GEN_HERD_ROWS, &quic->herds)) {
        return false;
    }
    model->event_at = offsetof(struct connection, event_at);
    gen_model_begin(model, sizeof(struct connection), GEN_EPOCH, quic->idle_ticks);
    return true;
}

const struct gen_workload gen_quic = {
    .name = "quic",
    .summary = "QUIC's probe timeout, which every packet restarts, and its idle timeout",
    .stresses = "restarts in rows on one timer, mostly of near deadlines; few expiries",
    .resembles = "an HTTP/3 server",
    .parameters = quic_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .kinds = quic_kinds,
    .counts = quic_counts,
    .state_bytes = sizeof(struct quic),
    .create = create,
    .place = place,
    .visit = visit,
};
