/*
 * tcp: the timers that Linux keeps for TCP connections: the parameters, and the steady state in
 * which a trace begins. gen_tcp_connection.c has the events of a connection.
 *
 * A connection exists for an exponential time, in which its requests come as in gen_traffic.h: in
 * bursts with heavy tails and silences between, shared by a client's connections. If its lifetime
 * depended on the number of requests instead, busy clients would be in TIME_WAIT more often. It
 * ends with a last request, or the peer vanishes.
 */
#include "gen_tcp.h"

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

static const char *const tcp_kinds[] = {TCP_TIMERS(GEN_NAME) NULL};
static const char *const tcp_counts[] = {TCP_COUNTS(GEN_NAME) NULL};

/* Linux's TCP_RTO_MAX. */
#define RTO_MAX_S 120

/* The standard deviation of the logarithm of the round trip times. */
#define RTT_SIGMA 0.5

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
        place_running(visit, end, KIND_RETRANSMIT, tcp_rto(tcp, end, 0), since);
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
    connection->client_closes = tcp_closes_at_client(visit);
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
    struct tcp_end *closer = tcp_closer_of(visit);
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
    const struct tcp_visit visit = tcp_visit_of(model, GEN_EPOCH, record);
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
    .visit = tcp_visit_connection,
};
