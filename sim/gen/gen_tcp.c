/*
 * tcp: the timers that Linux keeps for a server's TCP connections, with Linux's constants.
 *
 *   closed --connect--> connecting --SYN-ACK--> idle --request--> answering --reply-->
 *     sending --ACK--> idle, or closing --ACK--> TIME_WAIT --60 s--> closed
 *
 *   timer        started                            stopped       if it expires
 *   retransmit   by every transmission              by its ACK    sent again, timeout doubled
 *   delayed-ack  by a request                       by the reply  the ACK is sent by itself
 *   keepalive    once, when connected               at the close  looks how long nothing was heard:
 *                                                                 waits on, or sends a probe
 *   time-wait    when the connection is closed      -             the connection is forgotten
 *
 * The keepalive timer is not restarted by traffic: Linux lets it expire, and waits for the rest. A
 * peer can vanish without a word; nine probes later the connection is dropped.
 *
 * Connections begin at a random moment of their lives; a short warm-up lets what is quick settle.
 */
#include "gen_model.h"
#include "gen_rtt.h"

enum {
    TICK_US = GEN_TICK_US,
    RATE_PER_S,
    REPLY_MEDIAN_MS,
    REPLY_SIGMA,
    CLOSE,
    VANISH,
    PAUSE_S,
    RTT_MEDIAN_MS,
    RTT_SIGMA,
    JITTER,
    LOSS,
    RTO_INITIAL_MS,
    RTO_MIN_MS,
    RTO_MAX_S,
    SYN_RETRIES,
    RETRIES,
    DELACK_MIN_MS,
    DELACK_MAX_MS,
    KEEPALIVE_S,
    PROBE_INTERVAL_S,
    PROBES,
    TIME_WAIT_S,
};

static const struct gen_parameter tcp_parameters[] = {
    [TICK_US] = GEN_TICK_US_ROW(1000),
    [RATE_PER_S] = {"rate_per_s", 0.1, 1e-6, 1e5, "requests a second on an idle connection",
                    "chosen", NULL},
    [REPLY_MEDIAN_MS] = {"reply_median_ms", 20, 0.001, 1e6, "median of the log-normal reply time",
                         "chosen", NULL},
    [REPLY_SIGMA] = {"reply_sigma", 1.5, 0, 5, "standard deviation of its logarithm", "chosen",
                     NULL},
    [CLOSE] = {"close", 0.05, 0, 1, "probability that a reply is a connection's last", "chosen",
               NULL},
    [VANISH] = {"vanish", 0.0001, 0, 1,
                "probability that the peer vanishes instead of its next request", "chosen", NULL},
    [PAUSE_S] = {"pause_s", 1, 0.001, 86400,
                 "mean time from the end of a connection to the next, exponential", "chosen", NULL},
    [RTT_MEDIAN_MS] = {"rtt_median_ms", 30, 0.001, 1e5,
                       "median of the connections' log-normal round trip time", "chosen", NULL},
    [RTT_SIGMA] = {"rtt_sigma", 0.5, 0, 5, "standard deviation of its logarithm", "chosen", NULL},
    [JITTER] = {"jitter", 0.1, 0, 1, "each round trip is up to this share shorter or longer",
                "chosen", NULL},
    [LOSS] = {"loss", 0.01, 0, 1, "probability that a transmission or its ACK is lost", "chosen",
              NULL},
    [RTO_INITIAL_MS] = {"rto_initial_ms", 1000, 0.001, 1e6, "retransmission timeout of the SYN",
                        "Linux's TCP_TIMEOUT_INIT, RFC 6298: 1 s", NULL},
    [RTO_MIN_MS] = {"rto_min_ms", 200, 0.001, 1e6,
                    "least that is added to the smoothed round trip time", "Linux's TCP_RTO_MIN",
                    NULL},
    [RTO_MAX_S] = {"rto_max_s", 120, 0.001, 86400, "longest retransmission timeout",
                   "Linux's TCP_RTO_MAX", NULL},
    [SYN_RETRIES] = {"syn_retries", 6, 0, 100, "repeated SYNs before connecting is given up",
                     "Linux's TCP_SYN_RETRIES", NULL},
    [RETRIES] = {"retries", 15, 0, 100, "retransmissions before the connection is given up",
                 "Linux's TCP_RETR2", NULL},
    [DELACK_MIN_MS] = {"delack_min_ms", 40, 0.001, 1e6,
                       "delayed ACK: each connection keeps one, uniform from this",
                       "Linux's TCP_DELACK_MIN", NULL},
    [DELACK_MAX_MS] = {"delack_max_ms", 200, 0.001, 1e6, "to this; Linux adapts it to the traffic",
                       "Linux's TCP_DELACK_MAX", NULL},
    [KEEPALIVE_S] = {"keepalive_s", 7200, 0.001, 1e6, "silence before the first probe",
                     "Linux's TCP_KEEPALIVE_TIME", NULL},
    [PROBE_INTERVAL_S] = {"probe_interval_s", 75, 0.001, 86400, "from probe to probe",
                          "Linux's TCP_KEEPALIVE_INTVL", NULL},
    [PROBES] = {"probes", 9, 1, 100, "unanswered probes before the connection is dropped",
                "Linux's TCP_KEEPALIVE_PROBES", NULL},
    [TIME_WAIT_S] = {"time_wait_s", 60, 0.001, 86400, "TIME_WAIT", "Linux's TCP_TIMEWAIT_LEN",
                     NULL},
    {0},
};

enum { KIND_RETRANSMIT, KIND_DELAYED_ACK, KIND_KEEPALIVE, KIND_TIME_WAIT, KINDS };
static const char *const tcp_kinds[] = {
    [KIND_RETRANSMIT] = "retransmit",
    [KIND_DELAYED_ACK] = "delayed-ack",
    [KIND_KEEPALIVE] = "keepalive",
    [KIND_TIME_WAIT] = "time-wait",
    NULL,
};

enum {
    COUNT_CONNECTS,
    COUNT_REQUESTS,
    COUNT_REPLIES,
    COUNT_TRANSMISSIONS,
    COUNT_LOSSES,
    COUNT_RETRANSMISSIONS,
    COUNT_ACKS,
    COUNT_DELAYED_ACKS,
    COUNT_KEEPALIVE_EXPIRIES,
    COUNT_PROBES,
    COUNT_VANISHED,
    COUNT_DROPPED,
    COUNT_GIVEN_UP,
    COUNT_TIME_WAITS,
};
static const char *const tcp_counts[] = {
    [COUNT_CONNECTS] = "connects",
    [COUNT_REQUESTS] = "requests",
    [COUNT_REPLIES] = "replies",
    [COUNT_TRANSMISSIONS] = "transmissions",
    [COUNT_LOSSES] = "losses",
    [COUNT_RETRANSMISSIONS] = "retransmissions",
    [COUNT_ACKS] = "acks",
    [COUNT_DELAYED_ACKS] = "delayed_acks",
    [COUNT_KEEPALIVE_EXPIRIES] = "keepalive_expiries",
    [COUNT_PROBES] = "probes",
    [COUNT_VANISHED] = "vanished",
    [COUNT_DROPPED] = "dropped",
    [COUNT_GIVEN_UP] = "given_up",
    [COUNT_TIME_WAITS] = "time_waits",
    NULL,
};

enum state {
    STATE_CLOSED,
    STATE_CONNECTING,
    STATE_IDLE,
    STATE_ANSWERING,
    STATE_SENDING,
    STATE_CLOSING,
    STATE_TIME_WAIT,
    STATE_VANISHED,
};

struct connection {
    struct gen_timer timers[KINDS];
    uint64_t event_at; /* connect, request, reply or ACK; or GEN_NEVER */
    uint64_t heard_at; /* when the peer was last heard */
    struct gen_rtt estimate;
    float rtt_ticks;
    float sample_ticks; /* of the transmission under way */
    uint32_t delack_ticks;
    uint8_t state;
    uint8_t backoff; /* retransmissions so far */
    uint8_t probes;
};

struct tcp {
    double gap_ticks;
    double reply_median_ticks;
    double reply_sigma;
    double close;
    double vanish;
    double pause_ticks;
    double jitter;
    double loss;
    uint64_t rto_initial_ticks;
    double rto_min_ticks;
    uint64_t rto_max_ticks;
    uint32_t syn_retries;
    uint32_t retries;
    uint64_t keepalive_ticks;
    uint64_t probe_interval_ticks;
    uint32_t probes;
    uint64_t time_wait_ticks;
};

/* The timeout of the transmission under way. */
static uint64_t rto(const struct tcp *tcp, const struct connection *connection)
{
    uint64_t ticks = tcp->rto_initial_ticks;
    if (connection->state != STATE_CONNECTING) {
        double variation = 4 * (double)connection->estimate.variation_ticks;
        ticks = gen_whole_ticks((double)connection->estimate.smoothed_ticks +
                                (variation > tcp->rto_min_ticks ? variation : tcp->rto_min_ticks));
    }
    for (unsigned i = 0; i < connection->backoff && ticks < tcp->rto_max_ticks; i++) {
        ticks *= 2;
    }
    return ticks < tcp->rto_max_ticks ? ticks : tcp->rto_max_ticks;
}

/* Sends what is to be acknowledged, for the first time or again. An ACK already under way still
 * comes; the first to arrive counts. */
static void transmit(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct tcp *tcp = model->state;
    model->counts[COUNT_TRANSMISSIONS]++;
    if (gen_chance(model, tcp->loss)) {
        model->counts[COUNT_LOSSES]++;
    } else {
        double share = tcp->jitter * (2 * random_unit(&model->random) - 1);
        connection->sample_ticks = (float)((double)connection->rtt_ticks * (1 + share));
        uint64_t ack_at = now + gen_whole_ticks((double)connection->sample_ticks);
        if (ack_at < connection->event_at) {
            connection->event_at = ack_at;
        }
    }
    gen_timer_start(model, now, &connection->timers[KIND_RETRANSMIT], rto(tcp, connection));
}

static void begin_transmission(struct gen_model *model, uint64_t now, struct connection *connection,
                               enum state state)
{
    connection->state = (uint8_t)state;
    connection->backoff = 0;
    connection->event_at = GEN_NEVER;
    transmit(model, now, connection);
}

static void wait_for_request(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct tcp *tcp = model->state;
    connection->state = STATE_IDLE;
    connection->event_at = now + gen_exponential(model, tcp->gap_ticks);
}

/* Ends a connection without a farewell, or after TIME_WAIT. */
static void forget(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct tcp *tcp = model->state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        gen_timer_stop(model, now, &connection->timers[kind]);
    }
    connection->state = STATE_CLOSED;
    connection->event_at = now + gen_exponential(model, tcp->pause_ticks);
}

static void expire_retransmit(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct tcp *tcp = model->state;
    uint32_t retries = connection->state == STATE_CONNECTING ? tcp->syn_retries : tcp->retries;
    if (connection->backoff == retries) {
        model->counts[COUNT_GIVEN_UP]++;
        forget(model, now, connection);
        return;
    }
    connection->backoff++;
    model->counts[COUNT_RETRANSMISSIONS]++;
    transmit(model, now, connection);
}

static void expire_keepalive(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct tcp *tcp = model->state;
    model->counts[COUNT_KEEPALIVE_EXPIRIES]++;
    uint64_t silence = now - connection->heard_at;
    uint64_t wait = tcp->probe_interval_ticks;
    enum trace_basis basis = TRACE_FIXED_DELAY;
    if (connection->state == STATE_SENDING || connection->state == STATE_CLOSING) {
        wait = tcp->keepalive_ticks; /* the retransmissions will tell */
    } else if (silence < tcp->keepalive_ticks) {
        wait = tcp->keepalive_ticks - silence;
        basis = TRACE_ABSOLUTE; /* the packets have set the tick */
    } else if (connection->state == STATE_VANISHED && connection->probes == tcp->probes) {
        model->counts[COUNT_DROPPED]++;
        forget(model, now, connection);
        return;
    } else {
        model->counts[COUNT_PROBES]++;
        if (connection->state == STATE_VANISHED) {
            connection->probes++;
        } else {
            connection->heard_at = now; /* the answer takes no time worth telling */
        }
    }
    gen_timer_start_from(model, now, &connection->timers[KIND_KEEPALIVE], wait, basis);
}

static void expire(struct gen_model *model, uint64_t now, struct connection *connection)
{
    if (gen_timer_expires(model, &connection->timers[KIND_DELAYED_ACK], now)) {
        model->counts[COUNT_DELAYED_ACKS]++;
    }
    if (gen_timer_expires(model, &connection->timers[KIND_KEEPALIVE], now)) {
        expire_keepalive(model, now, connection);
    }
    if (gen_timer_expires(model, &connection->timers[KIND_RETRANSMIT], now)) {
        expire_retransmit(model, now, connection);
    }
    if (gen_timer_expires(model, &connection->timers[KIND_TIME_WAIT], now)) {
        forget(model, now, connection);
    }
}

static void receive_request(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct tcp *tcp = model->state;
    if (gen_chance(model, tcp->vanish)) {
        model->counts[COUNT_VANISHED]++;
        connection->state = STATE_VANISHED;
        connection->probes = 0;
        connection->event_at = GEN_NEVER;
        return;
    }
    model->counts[COUNT_REQUESTS]++;
    connection->heard_at = now;
    connection->state = STATE_ANSWERING;
    connection->event_at = now + gen_lognormal(model, tcp->reply_median_ticks, tcp->reply_sigma);
    gen_timer_start(model, now, &connection->timers[KIND_DELAYED_ACK], connection->delack_ticks);
}

static void receive_ack(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct tcp *tcp = model->state;
    model->counts[COUNT_ACKS]++;
    connection->heard_at = now;
    gen_timer_stop(model, now, &connection->timers[KIND_RETRANSMIT]);
    if (connection->backoff == 0) { /* Karn: of what was sent twice nobody knows */
        gen_rtt_sample(&connection->estimate, connection->sample_ticks);
    }
    if (connection->state == STATE_CONNECTING) {
        if (connection->backoff > 0) {
            gen_rtt_sample(&connection->estimate, (float)tcp->rto_initial_ticks);
        }
        gen_timer_start(model, now, &connection->timers[KIND_KEEPALIVE], tcp->keepalive_ticks);
    } else if (connection->state == STATE_CLOSING) {
        gen_timer_stop(model, now, &connection->timers[KIND_KEEPALIVE]);
        model->counts[COUNT_TIME_WAITS]++;
        connection->state = STATE_TIME_WAIT;
        connection->event_at = GEN_NEVER;
        gen_timer_start(model, now, &connection->timers[KIND_TIME_WAIT], tcp->time_wait_ticks);
        return;
    } else if (gen_chance(model, tcp->close)) {
        begin_transmission(model, now, connection, STATE_CLOSING);
        return;
    }
    wait_for_request(model, now, connection);
}

/* What comes from outside now. */
static void happen(struct gen_model *model, uint64_t now, struct connection *connection)
{
    switch ((enum state)connection->state) {
    case STATE_CLOSED:
        model->counts[COUNT_CONNECTS]++;
        gen_timers_renew(model, connection->timers);
        connection->estimate = (struct gen_rtt){0};
        begin_transmission(model, now, connection, STATE_CONNECTING);
        break;
    case STATE_IDLE:
        receive_request(model, now, connection);
        break;
    case STATE_ANSWERING:
        model->counts[COUNT_REPLIES]++;
        gen_timer_stop(model, now, &connection->timers[KIND_DELAYED_ACK]);
        begin_transmission(model, now, connection, STATE_SENDING);
        break;
    case STATE_CONNECTING:
    case STATE_SENDING:
    case STATE_CLOSING:
        receive_ack(model, now, connection);
        break;
    case STATE_TIME_WAIT:
    case STATE_VANISHED:
        break;
    }
}

static void visit(struct gen_model *model, uint64_t now, uint32_t number)
{
    struct connection *connection = &((struct connection *)model->records)[number];
    expire(model, now, connection);
    if (connection->event_at == now) {
        gen_from_outside(model);
        happen(model, now, connection);
    }
    gen_file(model, gen_next(connection->timers, KINDS, connection->event_at), number);
}

static bool simulate(struct gen_model *model, uint64_t end)
{
    return gen_simulate(model, end, visit);
}

/* --- at a random moment of its life ---------------------------------------------------------- */

/* A connection whose peer vanished: what its keepalive timer has seen since. */
static void populate_vanished(struct gen_model *model, uint64_t now, struct connection *connection)
{
    const struct tcp *tcp = model->state;
    uint64_t silence =
        gen_uniform_age(model, tcp->keepalive_ticks + tcp->probes * tcp->probe_interval_ticks);
    struct gen_timer *timer = &connection->timers[KIND_KEEPALIVE];
    connection->state = STATE_VANISHED;
    connection->event_at = GEN_NEVER;
    connection->heard_at = now - silence;
    if (silence <= tcp->keepalive_ticks) {
        /* The timer ran already when the peer was last heard, and then once more for the rest. */
        uint64_t ran = gen_uniform_age(model, tcp->keepalive_ticks) - 1;
        if (ran + silence <= tcp->keepalive_ticks) {
            gen_timer_place(timer, now, tcp->keepalive_ticks, ran + silence);
        } else {
            gen_timer_place(timer, now, ran, ran + silence - tcp->keepalive_ticks);
        }
    } else {
        uint64_t probing = silence - tcp->keepalive_ticks - 1;
        connection->probes = (uint8_t)(1 + probing / tcp->probe_interval_ticks);
        gen_timer_place(timer, now, tcp->probe_interval_ticks,
                        1 + probing % tcp->probe_interval_ticks);
    }
}

static void populate_idle(struct gen_model *model, uint64_t now, double mean_life_ticks,
                          struct connection *connection)
{
    const struct tcp *tcp = model->state;
    /* As old as it may be; the timer has then expired every keepalive time, more or less. */
    uint64_t age = gen_exponential(model, mean_life_ticks);
    wait_for_request(model, now - 1, connection);
    uint64_t heard = gen_exponential(model, tcp->gap_ticks);
    connection->heard_at = now - (heard < age ? heard : age);
    gen_timer_place(&connection->timers[KIND_KEEPALIVE], now, tcp->keepalive_ticks,
                    1 + (age - 1) % tcp->keepalive_ticks);
    /* One exchange for every gap of its age; more than so many change nothing. */
    enum { SAMPLES_MAX = 40 };
    double exchanges = (double)age / tcp->gap_ticks;
    for (unsigned i = 0; i < SAMPLES_MAX && i <= exchanges; i++) {
        gen_rtt_sample(&connection->estimate, connection->rtt_ticks);
    }
}

static void populate(struct gen_model *model, uint64_t now)
{
    const struct tcp *tcp = model->state;
    const double *p = model->parameters;
    const double per_ms = gen_per_ms(model);
    struct connection *connections = model->records;
    double exchange = tcp->gap_ticks + p[RTT_MEDIAN_MS] * per_ms +
                      tcp->reply_median_ticks * random_exp(tcp->reply_sigma * tcp->reply_sigma / 2);
    double ends = tcp->close + tcp->vanish > 1e-12 ? tcp->close + tcp->vanish : 1e-12;
    /* The mean times that a slot spends in a cycle. */
    double idle = exchange / ends;
    double vanished = tcp->vanish / ends *
                      (double)(tcp->keepalive_ticks + tcp->probes * tcp->probe_interval_ticks);
    double time_wait = tcp->close / ends * (double)tcp->time_wait_ticks;
    for (uint32_t i = 0; i < model->connections; i++) {
        struct connection *connection = &connections[i];
        uint64_t rtt = gen_lognormal(model, p[RTT_MEDIAN_MS] * per_ms, p[RTT_SIGMA]);
        connection->rtt_ticks = (float)rtt;
        connection->delack_ticks = (uint32_t)gen_whole_ticks(
            per_ms * (p[DELACK_MIN_MS] +
                      (p[DELACK_MAX_MS] - p[DELACK_MIN_MS]) * random_unit(&model->random)));
        double u = random_unit(&model->random) * (idle + vanished + time_wait + tcp->pause_ticks);
        if (u < idle) {
            populate_idle(model, now, idle, connection);
        } else if (u < idle + vanished) {
            populate_vanished(model, now, connection);
        } else if (u < idle + vanished + time_wait) {
            connection->state = STATE_TIME_WAIT;
            connection->event_at = GEN_NEVER;
            gen_timer_place(&connection->timers[KIND_TIME_WAIT], now, tcp->time_wait_ticks,
                            gen_uniform_age(model, tcp->time_wait_ticks));
        } else {
            connection->event_at = now - 1 + gen_exponential(model, tcp->pause_ticks);
        }
        gen_file(model, gen_next(connection->timers, KINDS, connection->event_at), i);
    }
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    const double per_second = gen_per_second(model);
    const double per_ms = gen_per_ms(model);
    struct tcp *tcp = model->state;
    if (p[RTO_INITIAL_MS] > p[RTO_MAX_S] * 1000 || p[RTO_MIN_MS] > p[RTO_MAX_S] * 1000) {
        return error_set(model->error, "tcp: rto_initial_ms or rto_min_ms is above rto_max_s");
    }
    if (!gen_ordered(model, DELACK_MIN_MS, DELACK_MAX_MS, 1)) {
        return false;
    }
    *tcp = (struct tcp){
        .gap_ticks = per_second / p[RATE_PER_S],
        .reply_median_ticks = p[REPLY_MEDIAN_MS] * per_ms,
        .reply_sigma = p[REPLY_SIGMA],
        .close = p[CLOSE],
        .vanish = p[VANISH],
        .pause_ticks = p[PAUSE_S] * per_second,
        .jitter = p[JITTER],
        .loss = p[LOSS],
        .rto_initial_ticks = gen_whole_ticks(p[RTO_INITIAL_MS] * per_ms),
        .rto_min_ticks = p[RTO_MIN_MS] * per_ms,
        .rto_max_ticks = gen_whole_ticks(p[RTO_MAX_S] * per_second),
        .syn_retries = (uint32_t)p[SYN_RETRIES],
        .retries = (uint32_t)p[RETRIES],
        .keepalive_ticks = gen_whole_ticks(p[KEEPALIVE_S] * per_second),
        .probe_interval_ticks = gen_whole_ticks(p[PROBE_INTERVAL_S] * per_second),
        .probes = (uint32_t)p[PROBES],
        .time_wait_ticks = gen_whole_ticks(p[TIME_WAIT_S] * per_second),
    };
    /* Some exchanges and connects, until their phases are mixed. */
    double warmup = 3 * ((double)tcp->rto_initial_ticks + tcp->pause_ticks) +
                    10 * (tcp->reply_median_ticks + p[RTT_MEDIAN_MS] * per_ms);
    model->warmup_end = GEN_EPOCH + gen_whole_ticks(warmup);
    if (!gen_model_begin(model, sizeof(struct connection), GEN_EPOCH, tcp->time_wait_ticks)) {
        return false;
    }
    populate(model, GEN_EPOCH);
    return true;
}

extern const struct gen_workload gen_tcp;
const struct gen_workload gen_tcp = {
    .name = "tcp",
    .summary = "Linux's timers of TCP connections: retransmission, delayed ACK, keepalive, "
               "TIME_WAIT",
    .stresses = "delays from 40 ms to 2 hours at once; most are stopped, TIME_WAIT always fires",
    .resembles = "the kernel of a busy server",
    .parameters = tcp_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .kinds = tcp_kinds,
    .counts = tcp_counts,
    .state_bytes = sizeof(struct tcp),
    .create = create,
    .simulate = simulate,
};
