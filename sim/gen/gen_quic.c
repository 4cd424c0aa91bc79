/*
 * quic: a QUIC server's two timers for each connection.
 *
 *   closed --connect--> connecting --ACK--> idle --request--> sending --last packet-->
 *     waiting --ACK--> idle
 *
 *   timer  started                                           stopped  if it expires
 *   pto    by every packet sent (restarted)                  by ACK   a probe is sent, doubled
 *   idle   when a packet comes, and when the first one after  -       the connection is over
 *          that is sent (restarted)
 *
 * The probe timeout is srtt + max(4 rttvar, 1 ms) + 25 ms (RFC 9002), and before the first sample
 * that of 333 ms without the 25. A flight is acknowledged as a whole; what is lost within it is
 * found by its ACKs, and only the loss of its end, or of that ACK, takes the timer.
 *
 * Requests of a connection and pauses are Poisson processes: the model begins with the share of
 * connections open that the steady state has, and a short warm-up lets the rest settle.
 */
#include "gen_model.h"
#include "gen_rtt.h"

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
};

static const struct gen_parameter quic_parameters[] = {
    [TICK_US] = GEN_TICK_US_ROW(1000),
    [RATE_PER_S] = {"rate_per_s", 0.1, 1e-6, 1e5, "requests a second on an idle connection",
                    "chosen", NULL},
    [FLIGHT] = {"flight", 10, 1, 1000, "packets of a reply",
                "RFC 9002's initial window: 10 packets", NULL},
    [PACING_MS] = {"pacing_ms", 1, 0.001, 1e5, "from packet to packet", "chosen", NULL},
    [RTT_MEDIAN_MS] = {"rtt_median_ms", 30, 0.001, 1e5,
                       "median of the connections' log-normal round trip time", "chosen", NULL},
    [RTT_SIGMA] = {"rtt_sigma", 0.5, 0, 5, "standard deviation of its logarithm", "chosen", NULL},
    [JITTER] = {"jitter", 0.1, 0, 1, "each round trip is up to this share shorter or longer",
                "chosen", NULL},
    [LOSS] = {"loss", 0.01, 0, 1, "probability that a flight's end or its ACK is lost", "chosen",
              NULL},
    [INITIAL_RTT_MS] = {"initial_rtt_ms", 333, 0.001, 1e5, "round trip time before any is known",
                        "RFC 9002's kInitialRtt", NULL},
    [GRANULARITY_MS] = {"granularity_ms", 1, 0.001, 1e5, "least of the variation's term",
                        "RFC 9002's kGranularity", NULL},
    [MAX_ACK_DELAY_MS] = {"max_ack_delay_ms", 25, 0, 1e5, "what the peer may delay an ACK",
                          "RFC 9000's max_ack_delay", NULL},
    [IDLE_S] = {"idle_s", 30, 0.001, 86400, "idle timeout",
                "chosen: HAProxy's examples have 30 to 60 s", NULL},
    [PAUSE_S] = {"pause_s", 10, 0.001, 86400,
                 "mean time from the end of a connection to the next, exponential", "chosen", NULL},
    {0},
};

enum { KIND_PTO, KIND_IDLE, KINDS };
static const char *const quic_kinds[] = {[KIND_PTO] = "pto", [KIND_IDLE] = "idle", NULL};

enum {
    COUNT_CONNECTS,
    COUNT_REQUESTS,
    COUNT_PACKETS,
    COUNT_FLIGHTS,
    COUNT_LOSSES,
    COUNT_PROBES,
    COUNT_ACKS,
    COUNT_IDLE_EXPIRIES,
};
static const char *const quic_counts[] = {
    [COUNT_CONNECTS] = "connects",
    [COUNT_REQUESTS] = "requests",
    [COUNT_PACKETS] = "packets",
    [COUNT_FLIGHTS] = "flights",
    [COUNT_LOSSES] = "losses",
    [COUNT_PROBES] = "probes",
    [COUNT_ACKS] = "acks",
    [COUNT_IDLE_EXPIRIES] = "idle_expiries",
    NULL,
};

enum state { STATE_CLOSED, STATE_CONNECTING, STATE_IDLE, STATE_SENDING, STATE_WAITING };

struct connection {
    struct gen_timer timers[KINDS];
    uint64_t event_at; /* connect, request, next packet or ACK; or GEN_NEVER */
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
    double jitter;
    double loss;
    uint64_t pacing_ticks;
    uint64_t initial_pto_ticks;
    double granularity_ticks;
    double max_ack_delay_ticks;
    uint64_t idle_ticks;
    uint16_t flight;
};

/* The probe timeout of what is being sent. */
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
    for (unsigned i = 0; i < connection->backoff && ticks < GEN_TICKS_MAX; i++) {
        ticks *= 2;
    }
    return ticks;
}

/* Sends a packet that ends a flight, or a probe: the one whose ACK is waited for. */
static void send_last(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct quic *quic = model->state;
    if (gen_chance(model, quic->loss)) {
        model->counts[COUNT_LOSSES]++;
    } else {
        double share = quic->jitter * (2 * random_unit(&model->random) - 1);
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
    connection->state = STATE_IDLE;
    connection->backoff = 0;
    connection->event_at = now + gen_exponential(model, quic->gap_ticks);
}

/* What comes from outside now, or is to be sent. */
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

static void visit(struct gen_model *model, uint64_t now, uint32_t number)
{
    const struct quic *quic = model->state;
    struct connection *connection = &((struct connection *)model->records)[number];
    if (gen_timer_expires(model, &connection->timers[KIND_IDLE], now)) {
        model->counts[COUNT_IDLE_EXPIRIES]++;
        gen_timer_stop(model, now, &connection->timers[KIND_PTO]);
        connection->state = STATE_CLOSED;
        connection->event_at = now + gen_exponential(model, quic->pause_ticks);
    } else {
        if (gen_timer_expires(model, &connection->timers[KIND_PTO], now)) {
            model->counts[COUNT_PROBES]++;
            connection->backoff++;
            send_last(model, now, connection);
        }
        if (connection->event_at == now) {
            gen_from_outside(model);
            happen(model, now, connection);
        }
    }
    gen_file(model, gen_next(connection->timers, KINDS, connection->event_at), number);
}

static bool simulate(struct gen_model *model, uint64_t end)
{
    return gen_simulate(model, end, visit);
}

static void populate(struct gen_model *model, uint64_t now, double busy_ticks)
{
    const struct quic *quic = model->state;
    const double *p = model->parameters;
    struct connection *connections = model->records;
    double timeout = (double)quic->idle_ticks;
    double request = gen_comes_within(timeout, quic->gap_ticks);
    /* Of each wait for a request: its mean length with the exchange before, and the pauses. */
    double open = quic->gap_ticks * request + busy_ticks;
    double closed = (1 - request) * quic->pause_ticks;
    for (uint32_t i = 0; i < model->connections; i++) {
        struct connection *connection = &connections[i];
        connection->rtt_ticks =
            (float)gen_lognormal(model, p[RTT_MEDIAN_MS] * gen_per_ms(model), p[RTT_SIGMA]);
        if (gen_chance(model, open / (open + closed))) {
            gen_place_restarted(model, &connection->timers[KIND_IDLE], now, quic->idle_ticks,
                                quic->gap_ticks, request);
            connection->state = STATE_IDLE;
            connection->event_at = now - 1 + gen_exponential(model, quic->gap_ticks);
            /* One exchange for every request that came in time; more than so many change nothing.
             */
            enum { SAMPLES_MAX = 40 };
            unsigned samples = 0;
            do {
                gen_rtt_sample(&connection->estimate, connection->rtt_ticks);
            } while (++samples < SAMPLES_MAX && gen_chance(model, request));
        } else {
            connection->event_at = now - 1 + gen_exponential(model, quic->pause_ticks);
        }
        gen_file(model, gen_next(connection->timers, KINDS, connection->event_at), i);
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
        .jitter = p[JITTER],
        .loss = p[LOSS],
        .pacing_ticks = gen_whole_ticks(p[PACING_MS] * per_ms),
        .initial_pto_ticks = gen_whole_ticks((p[INITIAL_RTT_MS] + initial_variation) * per_ms),
        .granularity_ticks = p[GRANULARITY_MS] * per_ms,
        .max_ack_delay_ticks = p[MAX_ACK_DELAY_MS] * per_ms,
        .idle_ticks = gen_whole_ticks(p[IDLE_S] * per_second),
        .flight = (uint16_t)p[FLIGHT],
    };
    double busy = (double)quic->pacing_ticks * (quic->flight - 1) + p[RTT_MEDIAN_MS] * per_ms;
    double warmup = 5 * (busy + (double)quic->initial_pto_ticks);
    model->warmup_end = GEN_EPOCH + gen_whole_ticks(warmup);
    if (!gen_model_begin(model, sizeof(struct connection), GEN_EPOCH, quic->idle_ticks)) {
        return false;
    }
    populate(model, GEN_EPOCH, busy);
    return true;
}

extern const struct gen_workload gen_quic;
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
    .simulate = simulate,
};
