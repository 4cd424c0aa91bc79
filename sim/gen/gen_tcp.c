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
 * There are two ways to live. In a steady state connections begin at a random moment of their
 * lives, end with a share of their replies, and come again. With the curves of a window, each
 * opens once and closes at most once, at times that the curves say: so a recording's own load
 * comes and goes. gen_tcp_lives.h has what is drawn from curves.
 *
 * Smooth traffic keeps to the law of gaps. With bursts (gen_traffic.h) a client's activity takes
 * that law's place, and who asks much would close more often, and be in TIME_WAIT instead of
 * asking: the mean would sink. Therefore a connection then lives for a time that does not depend
 * on what it asks, as long as others do in the mean, and what comes while it is closed is left out.
 * A life's end has a request, or the peer vanishes; the others come slower by as much.
 *
 * A connection that a deploy closes has its TIME_WAIT, while the slot's next one is there already.
 * There is room for one of these in a slot: what a deploy closes while the last one runs is reset.
 * So is what a storm replaces, of which its peer knows nothing any more.
 */
#include "gen_model.h"
#include "gen_rtt.h"
#include "gen_tcp_lives.h"
#include "gen_traffic.h"

#include <math.h>
#include <stdlib.h>

enum {
    TICK_US = GEN_TICK_US,
    ENDS,
    RATE_PER_S,
    GAP_FIRST,
    GAP_KEPT = GAP_FIRST + TCP_GAP_POINTS,
    REPLY_MEDIAN_MS,
    REPLY_SIGMA,
    CLOSE,
    CLOSE_ASKED,
    CLOSE_CLIENT,
    VANISH,
    PAUSE_S,
    RTT_MEDIAN_MS,
    RTT_SIGMA,
    JITTER,
    LOSS,
    RTO_INITIAL_MS,
    RTO_MIN_MS,
    RTO_MAX_S,
    SYN_LINEAR,
    SYN_RETRIES,
    RETRIES,
    QUICK_ACKS,
    QUICK_AGAIN_MIN,
    QUICK_AGAIN_MAX,
    DELACK_REPLY,
    DELACK_MIN_MS,
    DELACK_MAX_MS,
    KEEPALIVE,
    KEEPALIVE_CLIENT,
    KEEPALIVE_S,
    KEEPALIVE_DEFAULT,
    KEEPALIVE_SET,
    PROBE_INTERVAL_S,
    PROBES,
    FIN_WAIT2_S,
    TIME_WAIT_S,
    LATE_TICKS,
    WHEEL,
    ACTIVITY,
    HERDS = ACTIVITY + GEN_ACTIVITY_ROWS,
    OPEN_FIRST = HERDS + GEN_HERD_ROWS,
    OPEN_FIRST_S,
    OPEN_FIRST_OVER_S,
    OPEN_AGAIN,
    OPEN_EVEN,
    PACE_END,
    CLOSE_ENDED,
    CLOSE_EVEN,
    CLOSE_YOUNG,
    CLOSE_SINGLE,
    OPEN_CURVE,
    CLOSE_CURVE = OPEN_CURVE + 2 * TCP_CURVE_KNOTS,
    ROWS = CLOSE_CURVE + 2 * TCP_CURVE_KNOTS,
};
_Static_assert(ROWS < GEN_PARAMETERS_MAX, "the rows and the end of the table must fit");

enum { ENDS_SERVER, ENDS_CLIENT, ENDS_BOTH };
static const char *const ends_words[] = {
    [ENDS_SERVER] = "server", [ENDS_CLIENT] = "client", [ENDS_BOTH] = "both", NULL};

enum { WHEEL_EXACT, WHEEL_LINUX };
static const char *const wheel_words[] = {[WHEEL_EXACT] = "exact", [WHEEL_LINUX] = "linux", NULL};

#define NGINX "fitted to the recording ktimer_nginx_keepalive"
#define GAP_ROW(name, value, text)                                                                 \
    {                                                                                              \
        name, (value), 1e-6, 1e9, text, NGINX, NULL                                                \
    }
#define KNOT(curve, k)                                                                             \
    {curve "_" #k "_s", 0,   0, 1e8, "knot " #k " of that curve: time in the window",              \
     "chosen: none",    NULL},                                                                     \
    {                                                                                              \
        curve "_" #k, 0, 0, 1, "share that has come by then", "chosen: none", NULL                 \
    }
#define KNOTS(curve)                                                                               \
    KNOT(curve, 1), KNOT(curve, 2), KNOT(curve, 3), KNOT(curve, 4), KNOT(curve, 5),                \
        KNOT(curve, 6), KNOT(curve, 7), KNOT(curve, 8)

static const struct gen_parameter tcp_parameters[] = {
    GEN_TICK_US_ROW(1000),
    {"ends", ENDS_SERVER, 0, 0,
     "whose timers: the server's, whose peers are elsewhere; the client's; both's, on one host",
     "chosen", ends_words},
    {"rate_per_s", 1.4, 1e-6, 1e5, "requests a second on a connection", NGINX, NULL},
    GAP_ROW("gap_p0", 20, "gaps from request to request: the least; only proportions count"),
    GAP_ROW("gap_p0.1", 80, "one in a thousand is shorter"),
    GAP_ROW("gap_p1", 180, "1 %"),
    GAP_ROW("gap_p3", 184, "3 %"),
    GAP_ROW("gap_p10", 196, "10 %"),
    GAP_ROW("gap_p20", 216, "20 %"),
    GAP_ROW("gap_p30", 236, "30 %"),
    GAP_ROW("gap_p40", 268, "40 %"),
    GAP_ROW("gap_p50", 308, "half of them"),
    GAP_ROW("gap_p60", 368, "60 %"),
    GAP_ROW("gap_p70", 460, "70 %"),
    GAP_ROW("gap_p80", 632, "80 %"),
    GAP_ROW("gap_p90", 1120, "90 %"),
    GAP_ROW("gap_p95", 1864, "95 %"),
    GAP_ROW("gap_p99", 4840, "99 %"),
    GAP_ROW("gap_p100", 33600, "the longest"),
    {"gap_kept", 0, 0, 1,
     "share of its gaps that a connection draws from one eighth of that law, always the same",
     "chosen: none", NULL},
    {"reply_median_ms", 0.1, 0.001, 1e6, "median of the log-normal reply time", NGINX, NULL},
    {"reply_sigma", 0.5, 0, 5, "standard deviation of its logarithm", "chosen", NULL},
    {"close", 0.0125, 0, 1, "probability that a reply is a connection's last", NGINX, NULL},
    {"close_asked", 1, 0, 1, "share of the closes of a window that come right after a reply",
     "chosen", NULL},
    {"close_client", 0, 0, 1, "share of the closes that the client begins", "chosen", NULL},
    {"vanish", 0.0001, 0, 1, "probability that the peer vanishes instead of its next request",
     "chosen", NULL},
    {"pause_s", 1, 0.001, 86400, "mean time from the end of a connection to the next, exponential",
     "chosen", NULL},
    {"rtt_median_ms", 0.05, 0.001, 1e5, "median of the connections' log-normal round trip time",
     "one host: 0.05 ms", NULL},
    {"rtt_sigma", 0.5, 0, 5, "standard deviation of its logarithm", "chosen", NULL},
    {"jitter", 0.1, 0, 1, "each round trip is up to this share shorter or longer", "chosen", NULL},
    {"loss", 0, 0, 1, "probability that a transmission is lost", NGINX, NULL},
    {"rto_initial_ms", 1000, 0.001, 1e6, "retransmission timeout of SYN and SYN-ACK",
     "Linux's TCP_TIMEOUT_INIT, RFC 6298: 1 s", NULL},
    {"rto_min_ms", 200, 0.001, 1e6, "least that is added to the smoothed round trip time",
     "Linux's TCP_RTO_MIN", NULL},
    {"rto_max_s", 120, 0.001, 86400, "longest retransmission timeout", "Linux's TCP_RTO_MAX", NULL},
    {"syn_linear", 4, 0, 100, "repeated SYNs before the timeout doubles",
     "Linux's tcp_syn_linear_timeouts", NULL},
    {"syn_retries", 6, 0, 100, "repeated SYNs before connecting is given up; SYN-ACKs likewise",
     "Linux's TCP_SYN_RETRIES", NULL},
    {"retries", 15, 0, 100, "retransmissions before the connection is given up",
     "Linux's TCP_RETR2", NULL},
    {"quick_acks", 1, 0, 1e6, "a connection's first requests, which are acknowledged at once",
     NGINX, NULL},
    {"quick_again_min", 0, 0, 16,
     "replies that the client acknowledges at once after a silence of its retransmission timeout; "
     "0: all, however long it was silent; each connection keeps one, uniform from this",
     "chosen: no pattern; recordings: 1 to 16", NULL},
    {"quick_again_max", 0, 0, 16, "to this, at most Linux's TCP_MAX_QUICKACKS",
     "chosen: no pattern; recordings: 1 to 16", NULL},
    {"delack_reply", 0, 0, 1, "share of the other replies whose ACK it delays as well", NGINX,
     NULL},
    {"delack_min_ms", 40, 0.001, 1e6, "delayed ACK: each connection keeps one, uniform from this",
     "Linux's TCP_DELACK_MIN", NULL},
    {"delack_max_ms", 40, 0.001, 1e6,
     "to this, at most Linux's TCP_DELACK_MAX of 200; recordings have the least", NGINX, NULL},
    {"keepalive", 0.565, 0, 1,
     "share of the connections with keepalive at the server's end; of a window, those that last",
     NGINX, NULL},
    {"keepalive_client", 1, 0, 1, "share of these that have it at the client's end, too", NGINX,
     NULL},
    {"keepalive_s", 15, 0.001, 1e6, "silence before the first probe", NGINX, NULL},
    {"keepalive_default", 0, 0, 1, "share of them that begin with Linux's own silence of two hours",
     NGINX, NULL},
    {"keepalive_set", 1, 0, 1, "share of these that are given keepalive_s at once", "chosen", NULL},
    {"probe_interval_s", 5, 0.001, 86400, "from probe to probe", NGINX, NULL},
    {"probes", 9, 1, 100, "unanswered probes before the connection is dropped",
     "Linux's TCP_KEEPALIVE_PROBES", NULL},
    {"fin_wait2_s", 60, 0, 1e6, "FIN_WAIT2, by the keepalive timer; 0: none, peers close at once",
     "Linux's tcp_fin_timeout", NULL},
    {"time_wait_s", 60, 0.001, 86400, "TIME_WAIT", "Linux's TCP_TIMEWAIT_LEN", NULL},
    {"late_ticks", 1, 0, 1000,
     "added to each delay: a wheel counts the tick that has begun as over",
     "Linux's wheel: one jiffy", NULL},
    {"wheel", WHEEL_LINUX, 0, 0,
     "when the code of a keepalive timer runs: on its tick, or late as in Linux's wheel, by up to "
     "an eighth of its delay",
     "Linux's levels", wheel_words},
    GEN_ACTIVITY_BUT(ACTIVITY, 1,
                     "chosen: none, the fitted gaps are all; below 1 they do not count", 20,
                     GEN_TOGETHER_SERVER),
    GEN_HERDS(HERDS),
    {"open_first", 0, 0, 1, "a window: share of the connections that are open when it begins",
     "chosen: none", NULL},
    {"open_first_s", 0, 0, 1e6,
     "the first of these were opened so long before; 0: anywhere in their keepalive time",
     "chosen: anywhere", NULL},
    {"open_first_over_s", 0, 0, 1e6, "and the last of them so much later", "chosen: all at once",
     NULL},
    {"open_again", 0, 0, 1, "share of the closings with which another connection opens at once",
     "chosen: none", NULL},
    {"open_even", 0, 0, 1, "share of its openings that are evenly spaced along the curve",
     "chosen: none", NULL},
    {"pace_end", 1, 0.01, 100, "at its end requests come so many times as fast as at its begin",
     "chosen: steady", NULL},
    {"close_ended", 0, 0, 1, "share of the connections that close in it", "chosen: none", NULL},
    {"close_even", 0, 0, 1, "share of its closings that are evenly spaced along the curve",
     "chosen: none", NULL},
    {"close_young", 1, 0, 1, "its closes end one of this share of those open, the youngest",
     "chosen: any", NULL},
    {"close_single", 0, 0, 1,
     "share of the connections, the shortest, that wait for their only request until the close",
     "chosen: none", NULL},
    KNOTS("open"),
    KNOTS("close"),
    {0},
};
_Static_assert(sizeof tcp_parameters / sizeof tcp_parameters[0] == ROWS + 1, "a row for each");

enum { KIND_RETRANSMIT, KIND_DELAYED_ACK, KIND_KEEPALIVE, KIND_SYN_ACK, KIND_TIME_WAIT, KINDS };
static const char *const tcp_kinds[] = {
    [KIND_RETRANSMIT] = "retransmit", [KIND_DELAYED_ACK] = "delayed-ack",
    [KIND_KEEPALIVE] = "keepalive",   [KIND_SYN_ACK] = "syn-ack",
    [KIND_TIME_WAIT] = "time-wait",   NULL,
};

enum {
    COUNT_CONNECTS,
    COUNT_REQUESTS,
    COUNT_REPLIES,
    COUNT_TRANSMISSIONS,
    COUNT_LOSSES,
    COUNT_RETRANSMISSIONS,
    COUNT_ACKS,
    COUNT_IDLE_EXPIRIES,
    COUNT_KEEPALIVE_EXPIRIES,
    COUNT_PROBES,
    COUNT_VANISHED,
    COUNT_DROPPED,
    COUNT_GIVEN_UP,
    COUNT_TIME_WAITS,
    COUNT_UNCHANGED,
    COUNT_DEPLOYED,
    COUNT_BACK,
};
static const char *const tcp_counts[] = {
    [COUNT_CONNECTS] = "connects",
    [COUNT_REQUESTS] = "requests",
    [COUNT_REPLIES] = "replies",
    [COUNT_TRANSMISSIONS] = "transmissions",
    [COUNT_LOSSES] = "losses",
    [COUNT_RETRANSMISSIONS] = "retransmissions",
    [COUNT_ACKS] = "acks",
    [COUNT_IDLE_EXPIRIES] = "idle_expiries",
    [COUNT_KEEPALIVE_EXPIRIES] = "keepalive_expiries",
    [COUNT_PROBES] = "probes",
    [COUNT_VANISHED] = "vanished",
    [COUNT_DROPPED] = "dropped",
    [COUNT_GIVEN_UP] = "given_up",
    [COUNT_TIME_WAITS] = "time_waits",
    [COUNT_UNCHANGED] = "unchanged_starts",
    [COUNT_DEPLOYED] = "deployed",
    [COUNT_BACK] = "back",
    NULL,
};

/* What the next event of a connection is. */
enum state {
    STATE_CLOSED,     /* it connects */
    STATE_CONNECTING, /* the SYN arrives */
    STATE_ACCEPTING,  /* the handshake's ACK arrives */
    STATE_IDLE,       /* a request, or in a window the close */
    STATE_ASKING,     /* the reply is sent */
    STATE_ANSWERING,  /* its ACK arrives */
    STATE_CLOSING,    /* both have closed */
    STATE_TIME_WAIT,  /* its end, if that is no timer's here */
    STATE_VANISHED,   /* none: a timer's */
    STATE_GONE,       /* none */
};

/* One end of a connection. */
struct end {
    struct gen_timer timers[KINDS];
    uint64_t heard_at; /* when the other one was last heard */
    uint64_t sent_at;  /* what is not acknowledged, for the first time */
    struct gen_rtt estimate;
    uint8_t backoff; /* expiries since then */
    uint8_t probes;  /* of keepalive that were not answered */
    bool waits;      /* something is not acknowledged */
    uint8_t quick;   /* replies that are still acknowledged at once */
    bool measured;   /* a round trip of what it sent, beyond the handshake */
    bool keepalive;
    bool unseen; /* its keepalive timer was armed before the window */
};

struct connection {
    uint64_t event_at;
    uint64_t request_at; /* of the last one */
    uint64_t close_at;   /* in a window, and with bursts; GEN_NEVER: it does not */
    uint64_t return_at;  /* while a deploy closes it; GEN_NEVER: none does */
    struct gen_activity activity;
    struct gen_timer left_behind; /* TIME_WAIT of the connection before */
    float rtt_ticks;
    uint32_t delack_ticks;
    uint32_t requests; /* so far */
    uint8_t state;
    uint8_t syns;        /* repeated */
    uint8_t part;        /* of the law of gaps */
    uint8_t quick_again; /* what a silence sets the client's `quick` to */
    bool last;           /* its request is: closes with the reply */
    bool client_closes;
    bool single; /* it asks once, and closes */
};

/* A record begins with its ends: a server, a client, or both in this order. */
struct tcp {
    struct tcp_gaps gaps;
    double reply_median_ticks;
    double reply_sigma;
    double close;
    double close_asked;
    double close_client;
    double vanish;
    double pause_ticks;
    double rtt_median_ticks;
    double rtt_sigma;
    double jitter;
    double loss;
    uint64_t rto_initial_ticks;
    double rto_min_ticks;
    uint64_t rto_max_ticks;
    uint32_t syn_linear;
    uint32_t syn_retries;
    uint32_t retries;
    uint32_t quick_acks;
    double quick_again_least;
    double quick_again_count; /* so many numbers from there */
    double delack_reply;
    double keepalive_share;
    double keepalive_client;
    double keepalive_default;
    double keepalive_set;
    uint64_t keepalive_ticks;
    uint64_t probe_interval_ticks;
    uint32_t probes;
    uint64_t fin_wait2_ticks; /* 0: none */
    uint64_t time_wait_ticks;
    uint64_t late_ticks;
    uint32_t ends_bytes;
    uint32_t ends; /* in a record */
    bool server;
    bool client;
    bool linux_wheel;
    bool window;
    double window_ticks;
    double pace_end;
    double life_ticks;  /* with bursts, but in a window: the mean */
    double vanish_life; /* and how many lives end by vanishing */
    struct gen_traffic traffic;
    struct gen_herds herds;
};

/* The trace's ticks are in phase with the wheel's slots of up to so many. */
#define WHEEL_PHASE_TICKS   64

/* Linux's own silence before keepalive. */
#define KEEPALIVE_DEFAULT_S 7200

/* --- a record -------------------------------------------------------------------------------- */

static inline struct end *record_ends(const struct gen_model *model, uint32_t number)
{
    return (void *)((char *)model->records + number * model->record_bytes);
}

static inline struct connection *record_connection(const struct tcp *tcp, struct end *ends)
{
    return (void *)((char *)ends + tcp->ends_bytes);
}

/* What is being visited. */
struct visit {
    struct gen_model *model;
    const struct tcp *tcp;
    uint64_t now;
    uint32_t number;
    struct connection *connection;
    struct end *ends;
    struct end *server; /* NULL: elsewhere */
    struct end *client; /* likewise */
};

static struct visit visit_of(struct gen_model *model, uint64_t now, uint32_t number)
{
    const struct tcp *tcp = model->state;
    struct end *ends = record_ends(model, number);
    return (struct visit){.model = model,
                          .tcp = tcp,
                          .now = now,
                          .number = number,
                          .connection = record_connection(tcp, ends),
                          .ends = ends,
                          .server = tcp->server ? ends : NULL,
                          .client = tcp->client ? ends + (tcp->server ? 1 : 0) : NULL};
}

/* The end that closes first; NULL: elsewhere. */
static struct end *closer_of(const struct visit *visit)
{
    return visit->connection->client_closes ? visit->client : visit->server;
}

/* A duration that may take no tick at all: the whole ticks that it takes in the mean. */
static uint64_t soon(struct gen_model *model, double ticks)
{
    return (uint64_t)(ticks + random_unit(&model->random));
}

/* --- timers ---------------------------------------------------------------------------------- */

/* Whether a keepalive timer that is started now is left out. A recording does not have the start of
 * what was armed before it. It sees such a timer where the kernel's wheel has come round to it and
 * its code starts it again; so does a window. */
static bool is_unseen(const struct visit *visit)
{
    return visit->tcp->window && visit->tcp->linux_wheel && !visit->model->recording;
}

/* Starts an end's timer, if that end is here. What would leave the deadline as it is, is none. */
static void start(const struct visit *visit, struct end *end, unsigned kind, uint64_t ticks)
{
    if (end == NULL) {
        return;
    }
    struct gen_timer *timer = &end->timers[kind];
    ticks += visit->tcp->late_ticks;
    if (kind == KIND_KEEPALIVE) {
        end->unseen = is_unseen(visit);
    }
    if (timer->delay_ticks > 0 && timer->due > visit->now && timer->due == visit->now + ticks) {
        visit->model->counts[COUNT_UNCHANGED]++;
        return;
    }
    gen_timer_start(visit->model, visit->now, timer, ticks);
}

static void stop(const struct visit *visit, struct end *end, unsigned kind)
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

/* The timeout of an end's transmission. A handshake's round trip that is too short for the clock
 * adds nothing to the least timeout. */
static uint64_t rto(const struct tcp *tcp, const struct end *end, unsigned doublings)
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
static uint64_t probe_timeout(const struct tcp *tcp, const struct end *end)
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

static double round_trip(const struct visit *visit)
{
    double share = visit->tcp->jitter * (2 * random_unit(&visit->model->random) - 1);
    return (double)visit->connection->rtt_ticks * (1 + share);
}

/* Whether a transmission arrives. */
static bool arrives(const struct visit *visit)
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
static uint64_t elsewhere_again(const struct visit *visit)
{
    return visit->now + gen_whole_ticks(visit->tcp->rto_min_ticks);
}

/* Something that an end sends and waits for is on its way. */
static void send(const struct visit *visit, struct end *end)
{
    if (end != NULL) {
        if (!end->waits) {
            end->waits = true;
            end->sent_at = visit->now;
            end->backoff = 0;
        }
        uint64_t timeout = rto(visit->tcp, end, 0);
        uint64_t probe = probe_timeout(visit->tcp, end);
        start(visit, end, KIND_RETRANSMIT, timeout);
        if (probe < timeout) {
            start(visit, end, KIND_RETRANSMIT, probe);
        }
    }
}

/* All of it is acknowledged. What was sent twice is measured, too: segments carry time stamps. */
static void acknowledge(const struct visit *visit, struct end *end, double trip_ticks)
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

static void hear(const struct visit *visit, struct end *end)
{
    if (end != NULL) {
        end->heard_at = visit->now;
        end->probes = 0;
    }
}

/* --- requests -------------------------------------------------------------------------------- */

/* The way of a SYN, a request, a reply: its arrival is the next event, if it does arrive. If not,
 * the sender's timer will tell, or the sender elsewhere. */
static void travel(const struct visit *visit, const struct end *sender, double more_ticks)
{
    struct connection *connection = visit->connection;
    if (arrives(visit)) {
        connection->event_at = visit->now + soon(visit->model, round_trip(visit) / 2 + more_ticks);
    } else {
        connection->event_at = sender != NULL ? GEN_NEVER : elsewhere_again(visit);
    }
}

static double reply_ticks(const struct visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    return tcp->reply_sigma > 0
               ? random_lognormal(&visit->model->random, tcp->reply_median_ticks, tcp->reply_sigma)
               : tcp->reply_median_ticks;
}

/* How fast requests come, now: 1 in the middle of a window. */
static double pace(const struct visit *visit)
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

static void wait_for_request(const struct visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct connection *connection = visit->connection;
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

static void send_request(const struct visit *visit)
{
    struct connection *connection = visit->connection;
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

static void begin_close(const struct visit *visit);

static void send_reply(const struct visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct connection *connection = visit->connection;
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
static bool delays_ack(const struct visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    const struct connection *connection = visit->connection;
    struct end *client = visit->client;
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
    if (connection->requests == 1 || visit->now - client->heard_at > rto(tcp, client, 0)) {
        client->quick = connection->quick_again;
    }
    if (client->quick == 0) {
        return true;
    }
    client->quick--;
    return tcp->delack_reply > 0 && gen_chance(visit->model, tcp->delack_reply);
}

static void take_reply(const struct visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct connection *connection = visit->connection;
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

static void send_syn(const struct visit *visit, unsigned repeated)
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

static void send_syn_ack(const struct visit *visit, unsigned repeated)
{
    visit->connection->state = STATE_ACCEPTING;
    start(visit, visit->server, KIND_SYN_ACK, handshake_timeout(visit->tcp, repeated));
    travel(visit, visit->server, 0);
}

/* Draws which end will close. */
static bool closes_at_client(const struct visit *visit)
{
    return visit->tcp->close_client > 0 && gen_chance(visit->model, visit->tcp->close_client);
}

static void begin_connection(const struct visit *visit)
{
    visit->model->counts[COUNT_CONNECTS]++;
    for (uint32_t i = 0; i < visit->tcp->ends; i++) {
        struct end *end = &visit->ends[i];
        gen_timers_renew(visit->model, end->timers);
        end->estimate = (struct gen_rtt){0};
        end->backoff = 0;
        end->waits = false;
        end->measured = false;
    }
    visit->connection->requests = 0;
    visit->connection->last = false;
    visit->connection->return_at = GEN_NEVER;
    visit->connection->client_closes = closes_at_client(visit);
    send_syn(visit, 0);
}

static void start_keepalive(const struct visit *visit, struct end *end)
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

static void establish(const struct visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct connection *connection = visit->connection;
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
        struct end *end = &visit->ends[i];
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
static void begin_close(const struct visit *visit)
{
    struct connection *connection = visit->connection;
    connection->state = STATE_CLOSING;
    send(visit, closer_of(visit));
    connection->event_at = visit->now + soon(visit->model, round_trip(visit));
}

/* A slot whose connection is no more is free for the next from `at` on; a window's, as long as it
 * has not closed by then. */
static void come_back(const struct visit *visit, uint64_t at)
{
    struct connection *connection = visit->connection;
    bool gone = visit->tcp->window && at >= connection->close_at;
    connection->return_at = GEN_NEVER;
    connection->state = gone ? STATE_GONE : STATE_CLOSED;
    connection->event_at = gone ? GEN_NEVER : at > visit->now ? at : visit->now;
}

/* The same beside its TIME_WAIT, whose id is its own from now on. */
static void leave_time_wait(const struct visit *visit, struct end *closer)
{
    struct connection *connection = visit->connection;
    if (closer != NULL) {
        struct gen_timer *timer = &closer->timers[KIND_TIME_WAIT];
        connection->left_behind = *timer;
        timer->delay_ticks = 0;
        timer->fired = true; /* as good as: the next connection takes other ids */
    }
    come_back(visit, connection->return_at);
}

static void end_close(const struct visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct connection *connection = visit->connection;
    struct end *closer = closer_of(visit);
    struct end *other = visit->connection->client_closes ? visit->server : visit->client;
    start(visit, other, KIND_DELAYED_ACK, connection->delack_ticks);
    send(visit, other);
    if (tcp->fin_wait2_ticks > 0) {
        start(visit, closer, KIND_KEEPALIVE, tcp->fin_wait2_ticks);
    }
    visit->model->counts[COUNT_TIME_WAITS]++;
    start(visit, closer, KIND_TIME_WAIT, tcp->time_wait_ticks);
    for (uint32_t i = 0; i < tcp->ends; i++) {
        struct end *end = &visit->ends[i];
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
static void reset(const struct visit *visit)
{
    bool by_firing = visit->model->recording && visit->model->cause.basis != TRACE_EXTERNAL;
    for (uint32_t i = 0; i < visit->tcp->ends; i++) {
        struct end *end = &visit->ends[i];
        end->waits = false;
        for (unsigned kind = 0; kind < KINDS; kind++) {
            end->timers[kind].fired |= by_firing && end->timers[kind].delay_ticks > 0;
            stop(visit, end, kind);
        }
    }
}

/* Nothing is left of it, with or without a farewell. */
static void forget(const struct visit *visit)
{
    struct connection *connection = visit->connection;
    reset(visit);
    connection->state = visit->tcp->window ? STATE_GONE : STATE_CLOSED;
    connection->event_at =
        visit->tcp->window ? GEN_NEVER
                           : visit->now + gen_exponential(visit->model, visit->tcp->pause_ticks);
}

/* --- expiries -------------------------------------------------------------------------------- */

/* Its own transmission is still unanswered: once more, after a probe of the tail. */
static void expire_retransmit(const struct visit *visit, struct end *end)
{
    const struct tcp *tcp = visit->tcp;
    struct connection *connection = visit->connection;
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
    start(visit, end, KIND_RETRANSMIT, rto(tcp, end, doublings));
    /* Only what has not arrived yet is worth telling. */
    bool lost = connection->event_at == GEN_NEVER;
    if (lost && connection->state == STATE_ASKING && end == visit->client) {
        travel(visit, end, reply_ticks(visit));
    } else if (lost && connection->state == STATE_ANSWERING && end == visit->server) {
        travel(visit, end, 0);
    }
}

static void expire_syn_ack(const struct visit *visit, struct end *end)
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
static void expire_keepalive(const struct visit *visit, struct end *end, uint64_t delay_ticks)
{
    const struct tcp *tcp = visit->tcp;
    struct connection *connection = visit->connection;
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
    end->unseen = is_unseen(visit);
    gen_timer_start_from(visit->model, visit->now, &end->timers[KIND_KEEPALIVE],
                         late + wait + tcp->late_ticks, basis);
}

static void expire(const struct visit *visit, struct end *end)
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

static void leave_idleness(const struct visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    struct connection *connection = visit->connection;
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

static void happen(const struct visit *visit)
{
    switch ((enum state)visit->connection->state) {
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

static uint64_t next_of(const struct visit *visit)
{
    uint64_t at = visit->connection->event_at;
    for (uint32_t i = 0; i < visit->tcp->ends; i++) {
        at = gen_next(visit->ends[i].timers, KINDS, at);
    }
    return at;
}

/* Files it under what comes next. */
static void file_next(const struct visit *visit)
{
    uint64_t next = next_of(visit);
    if (next != GEN_NEVER || visit->tcp->herds.any) {
        gen_file_herded(visit->model, &visit->tcp->herds, visit->now, next, visit->number);
    }
}

/* Whether the next event is what a peer or the network delivers, rather than what an end does that
 * is here. */
static bool is_delivered(const struct visit *visit)
{
    switch ((enum state)visit->connection->state) {
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
static void herd(const struct visit *visit)
{
    struct connection *connection = visit->connection;
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
    const struct visit visit = visit_of(model, now, number);
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
    file_next(&visit);
}

static bool simulate(struct gen_model *model, uint64_t end)
{
    return gen_simulate(model, end, visit_connection);
}

static void list_pending(const struct gen_model *model, uint32_t number,
                         struct gen_pending_list *list)
{
    const struct tcp *tcp = model->state;
    struct end *ends = record_ends(model, number);
    for (uint32_t i = 0; i < tcp->ends; i++) {
        for (unsigned kind = 0; kind < KINDS; kind++) {
            const struct gen_timer *timer = &ends[i].timers[kind];
            if (timer->delay_ticks > 0 && !(kind == KIND_KEEPALIVE && ends[i].unseen)) {
                gen_pending_add(list, kind, timer->id, timer->due, timer->delay_ticks);
            }
        }
    }
    const struct gen_timer *left = &record_connection(tcp, ends)->left_behind;
    if (is_pending(left, model->ring.now)) {
        gen_pending_add(list, KIND_TIME_WAIT, left->id, left->due, left->delay_ticks);
    }
}

/* --- at a random moment of its life ---------------------------------------------------------- */

/* A timer that was started so long ago, if it still runs. */
static void place_running(const struct visit *visit, struct end *end, unsigned kind, uint64_t ticks,
                          uint64_t age_ticks)
{
    ticks += visit->tcp->late_ticks;
    if (end != NULL && age_ticks <= ticks) {
        gen_timer_place(&end->timers[kind], visit->now, ticks, age_ticks);
    }
}

/* An end whose peer vanished: what its keepalive timer has seen since. */
static void populate_vanished(const struct visit *visit, struct end *end)
{
    const struct tcp *tcp = visit->tcp;
    struct gen_model *model = visit->model;
    uint64_t silence =
        gen_uniform_age(model, tcp->keepalive_ticks + tcp->probes * tcp->probe_interval_ticks);
    struct gen_timer *timer = &end->timers[KIND_KEEPALIVE];
    end->heard_at = visit->now - silence;
    if (silence <= tcp->keepalive_ticks) {
        /* The timer ran already when the peer was last heard, and then once more for the rest. */
        uint64_t ran = gen_uniform_age(model, tcp->keepalive_ticks) - 1;
        if (ran + silence <= tcp->keepalive_ticks) {
            gen_timer_place(timer, visit->now, tcp->keepalive_ticks, ran + silence);
        } else {
            gen_timer_place(timer, visit->now, ran, ran + silence - tcp->keepalive_ticks);
        }
    } else {
        uint64_t probing = silence - tcp->keepalive_ticks - 1;
        end->probes = (uint8_t)(1 + probing / tcp->probe_interval_ticks);
        gen_timer_place(timer, visit->now, tcp->probe_interval_ticks,
                        1 + probing % tcp->probe_interval_ticks);
    }
}

/* Between two requests, and as old as it may be; GEN_TICKS_MAX: as old as you like. */
static void populate_idle(const struct visit *visit, double mean_life_ticks)
{
    const struct tcp *tcp = visit->tcp;
    struct gen_model *model = visit->model;
    struct connection *connection = visit->connection;
    const bool smooth = tcp->traffic.smooth;
    uint64_t gap =
        smooth ? gen_whole_ticks(tcp_gap_met(&tcp->gaps, connection->part, &model->random)) : 0;
    uint64_t since = smooth ? gen_uniform_age(model, gap) : visit->now - connection->request_at;
    uint64_t age = mean_life_ticks < (double)GEN_TICKS_MAX
                       ? gen_exponential(model, mean_life_ticks)
                       : gen_uniform_age(model, tcp->keepalive_ticks);
    if (age < since && !smooth) {
        since = age; /* before, there was none */
    } else if (age < since && !tcp->window) {
        age = since;
    }
    connection->state = STATE_IDLE;
    connection->requests = UINT32_MAX / 2; /* past the first ones */
    connection->request_at = visit->now - since;
    connection->event_at = smooth ? visit->now - since + gap
                                  : gen_next_request(model, &tcp->traffic, &connection->activity,
                                                     visit->now - 1, visit->number);
    if (!smooth && !tcp->window) {
        connection->close_at = visit->now + gen_exponential(model, mean_life_ticks);
    }
    if (connection->close_at <= connection->event_at) {
        connection->event_at =
            connection->close_at > visit->now ? connection->close_at : visit->now;
    }
    for (uint32_t i = 0; i < tcp->ends; i++) {
        struct end *end = &visit->ends[i];
        end->heard_at = visit->now - since;
        end->unseen = is_unseen(visit);
        end->quick = connection->quick_again;
        end->estimate = (struct gen_rtt){.smoothed_ticks = connection->rtt_ticks};
        end->measured = true;
        place_running(visit, end, KIND_RETRANSMIT, rto(tcp, end, 0), since);
        if (end->keepalive) {
            /* It has expired every keepalive time, more or less. */
            place_running(visit, end, KIND_KEEPALIVE, tcp->keepalive_ticks,
                          1 + (age - 1) % tcp->keepalive_ticks);
        }
    }
    place_running(visit, visit->server, KIND_DELAYED_ACK, connection->delack_ticks, since);
}

static void equip(const struct visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    const double *p = visit->model->parameters;
    struct gen_model *model = visit->model;
    struct connection *connection = visit->connection;
    connection->rtt_ticks =
        (float)(tcp->rtt_sigma > 0
                    ? random_lognormal(&model->random, tcp->rtt_median_ticks, tcp->rtt_sigma)
                    : tcp->rtt_median_ticks);
    connection->delack_ticks = (uint32_t)gen_whole_ticks(
        gen_per_ms(model) *
        (p[DELACK_MIN_MS] + (p[DELACK_MAX_MS] - p[DELACK_MIN_MS]) * random_unit(&model->random)));
    connection->part = (uint8_t)tcp_gap_part(&tcp->gaps, &model->random);
    connection->quick_again = (uint8_t)tcp->quick_again_least;
    if (tcp->quick_again_count > 1) {
        connection->quick_again += (uint8_t)(tcp->quick_again_count * random_unit(&model->random));
    }
    connection->close_at = GEN_NEVER;
    connection->return_at = GEN_NEVER;
    connection->client_closes = closes_at_client(visit);
    if (!tcp->traffic.smooth) {
        uint64_t age = gen_activity_place(model, &tcp->traffic, &connection->activity, visit->now,
                                          visit->number, tcp->traffic.busy_ticks);
        connection->request_at = visit->now - age;
    }
}

/* A share of the connections has keepalive. */
static void give_keepalive(const struct visit *visit, double share)
{
    bool has = share >= 1 || gen_chance(visit->model, share);
    bool both = gen_chance(visit->model, visit->tcp->keepalive_client);
    if (visit->server != NULL) {
        visit->server->keepalive = has;
    }
    if (visit->client != NULL) {
        visit->client->keepalive = has && both;
    }
}

/* The mean times that a slot spends in a cycle, in ticks. */
struct cycle {
    double idle;
    double vanished;
    double time_wait;
    double pause;
};

static void place_time_wait(const struct visit *visit)
{
    const struct tcp *tcp = visit->tcp;
    uint64_t age = gen_uniform_age(visit->model, tcp->time_wait_ticks);
    struct end *closer = closer_of(visit);
    if (closer != NULL) {
        gen_timer_place(&closer->timers[KIND_TIME_WAIT], visit->now,
                        tcp->time_wait_ticks + tcp->late_ticks, age);
    } else {
        visit->connection->event_at = visit->now - age + tcp->time_wait_ticks;
    }
}

static void populate_steady(struct gen_model *model, uint64_t now, const struct cycle *cycle)
{
    const struct tcp *tcp = model->state;
    double whole = cycle->idle + cycle->vanished + cycle->time_wait + cycle->pause;
    for (uint32_t i = 0; i < model->connections; i++) {
        const struct visit visit = visit_of(model, now, i);
        struct connection *connection = visit.connection;
        equip(&visit);
        give_keepalive(&visit, tcp->keepalive_share);
        double u = random_unit(&model->random) * whole;
        bool heeded = false;
        for (uint32_t k = 0; k < tcp->ends; k++) {
            heeded = heeded || visit.ends[k].keepalive;
        }
        connection->event_at = GEN_NEVER;
        if (u < cycle->idle) {
            populate_idle(&visit, cycle->idle);
        } else if (u < cycle->idle + cycle->vanished && heeded) {
            connection->state = STATE_VANISHED;
            for (uint32_t k = 0; k < tcp->ends; k++) {
                if (visit.ends[k].keepalive) {
                    populate_vanished(&visit, &visit.ends[k]);
                }
            }
        } else if (u < cycle->idle + cycle->vanished + cycle->time_wait) {
            connection->state = STATE_TIME_WAIT;
            place_time_wait(&visit);
        } else {
            connection->state = STATE_CLOSED;
            connection->event_at = now - 1 + gen_exponential(model, tcp->pause_ticks);
        }
        file_next(&visit);
    }
}

static int by_lasting(const void *a, const void *b)
{
    const struct tcp_life *one = a;
    const struct tcp_life *other = b;
    uint64_t one_lasts = one->close - one->open;
    uint64_t other_lasts = other->close - other->open;
    if (one_lasts != other_lasts) {
        return one_lasts > other_lasts ? -1 : 1;
    }
    return one->open < other->open ? -1 : one->open > other->open;
}

/* Those that last longest have keepalive; the window begins with the trace. */
static bool populate_window(struct gen_model *model, uint64_t now)
{
    const struct tcp *tcp = model->state;
    const double *p = model->parameters;
    struct tcp_window window = {.first = p[OPEN_FIRST],
                                .ended = p[CLOSE_ENDED],
                                .open_even = p[OPEN_EVEN],
                                .close_even = p[CLOSE_EVEN],
                                .again = p[OPEN_AGAIN],
                                .young = p[CLOSE_YOUNG]};
    if (!tcp_curve_read(&window.open, p + OPEN_CURVE) ||
        !tcp_curve_read(&window.close, p + CLOSE_CURVE)) {
        return error_set(model->error, "tcp: the knots of open_ or close_ must not go down");
    }
    struct tcp_life *lives = malloc(model->connections * sizeof *lives);
    if (lives == NULL || !tcp_lives_assign(&window, &model->random, gen_per_second(model), lives,
                                           model->connections)) {
        free(lives);
        return gen_out_of_memory(model);
    }
    qsort(lives, model->connections, sizeof *lives, by_lasting);
    double first_ticks = p[OPEN_FIRST_S] * gen_per_second(model);
    double with_keepalive = tcp->keepalive_share * model->connections;
    for (uint32_t i = 0; i < model->connections; i++) {
        const struct visit visit = visit_of(model, now, i);
        struct connection *connection = visit.connection;
        equip(&visit);
        give_keepalive(&visit, with_keepalive - i);
        connection->close_at =
            lives[i].close == UINT64_MAX ? GEN_NEVER : model->warmup_end + lives[i].close;
        connection->single =
            lives[i].close != UINT64_MAX && i >= (1 - p[CLOSE_SINGLE]) * model->connections;
        if (lives[i].open == 0 && first_ticks > 0) {
            connection->state = STATE_CLOSED;
            connection->event_at =
                model->warmup_end -
                gen_whole_ticks(first_ticks - p[OPEN_FIRST_OVER_S] * gen_per_second(model) *
                                                  random_unit(&model->random));
        } else if (lives[i].open == 0) {
            populate_idle(&visit, (double)GEN_TICKS_MAX);
        } else {
            connection->state = STATE_CLOSED;
            connection->event_at = model->warmup_end + lives[i].open;
        }
        file_next(&visit);
    }
    free(lives);
    return true;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Gives the ends their ids: as many as there are kinds for each. */
static void name_timers(struct gen_model *model)
{
    const struct tcp *tcp = model->state;
    uint32_t id = model->first_id;
    for (uint32_t i = 0; i < model->connections; i++) {
        struct end *ends = record_ends(model, i);
        for (uint32_t k = 0; k < tcp->ends * KINDS; k++) {
            ends[k / KINDS].timers[k % KINDS].id = id++;
        }
    }
    model->timer_number = tcp->ends * KINDS * model->connections;
}

/* Reads the knobs of activity. So many requests a second as there are in smooth traffic: of a
 * steady life's, in the mean 1 / (close + vanish - close * vanish) waits, the last ends it. */
static void read_traffic(struct gen_model *model)
{
    const double *p = model->parameters;
    struct tcp *tcp = model->state;
    const double gap = gen_per_second(model) / p[RATE_PER_S];
    double stays = (1 - tcp->close) * (1 - tcp->vanish);
    stays = stays > 1e-9 ? stays : 1e-9;
    double ends = 1 - stays > 1e-12 ? 1 - stays : 1e-12;
    tcp->life_ticks = gap / ends;
    tcp->vanish_life = tcp->vanish / ends;
    double reply_sigma = tcp->reply_sigma;
    double rtt_sigma = tcp->rtt_sigma;
    double again = tcp->loss < 1 ? 2 * tcp->loss / (1 - tcp->loss) * tcp->rto_min_ticks : 0;
    double busy = tcp->reply_median_ticks * random_exp(reply_sigma * reply_sigma / 2) +
                  tcp->rtt_median_ticks * random_exp(rtt_sigma * rtt_sigma / 2) + again;
    double mean = tcp->window ? gap : gap / stays;
    const struct gen_smooth smooth = {.mean_ticks = mean > busy ? mean : busy,
                                      .busy_ticks = busy,
                                      .gap_ticks = mean > 2 * busy ? mean - busy : mean / 2};
    gen_traffic_read(model, ACTIVITY, &smooth, &tcp->traffic);
}

static bool read_parameters(struct gen_model *model)
{
    const double *p = model->parameters;
    const double per_second = gen_per_second(model);
    const double per_ms = gen_per_ms(model);
    struct tcp *tcp = model->state;
    unsigned ends = (unsigned)p[ENDS];
    if (p[RTO_INITIAL_MS] > p[RTO_MAX_S] * 1000 || p[RTO_MIN_MS] > p[RTO_MAX_S] * 1000) {
        return error_set(model->error, "tcp: rto_initial_ms or rto_min_ms is above rto_max_s");
    }
    if (!gen_ordered(model, OPEN_FIRST_OVER_S, OPEN_FIRST_S, 1) ||
        !gen_ordered(model, DELACK_MIN_MS, DELACK_MAX_MS, 1) ||
        !gen_ordered(model, QUICK_AGAIN_MIN, QUICK_AGAIN_MAX, 1)) {
        return false;
    }
    *tcp = (struct tcp){
        .reply_median_ticks = p[REPLY_MEDIAN_MS] * per_ms,
        .reply_sigma = p[REPLY_SIGMA],
        .close = p[CLOSE],
        .close_asked = p[CLOSE_ASKED],
        .close_client = p[CLOSE_CLIENT],
        .vanish = p[VANISH],
        .pause_ticks = p[PAUSE_S] * per_second,
        .rtt_median_ticks = p[RTT_MEDIAN_MS] * per_ms,
        .rtt_sigma = p[RTT_SIGMA],
        .jitter = p[JITTER],
        .loss = p[LOSS],
        .rto_initial_ticks = gen_whole_ticks(p[RTO_INITIAL_MS] * per_ms),
        .rto_min_ticks = p[RTO_MIN_MS] * per_ms,
        .rto_max_ticks = gen_whole_ticks(p[RTO_MAX_S] * per_second),
        .syn_linear = (uint32_t)p[SYN_LINEAR],
        .syn_retries = (uint32_t)p[SYN_RETRIES],
        .retries = (uint32_t)p[RETRIES],
        .quick_acks = (uint32_t)p[QUICK_ACKS],
        .quick_again_least = floor(p[QUICK_AGAIN_MIN]),
        .quick_again_count = floor(p[QUICK_AGAIN_MAX]) - floor(p[QUICK_AGAIN_MIN]) + 1,
        .delack_reply = p[DELACK_REPLY],
        .keepalive_share = p[KEEPALIVE],
        .keepalive_client = p[KEEPALIVE_CLIENT],
        .keepalive_default = p[KEEPALIVE_DEFAULT],
        .keepalive_set = p[KEEPALIVE_SET],
        .keepalive_ticks = gen_whole_ticks(p[KEEPALIVE_S] * per_second),
        .probe_interval_ticks = gen_whole_ticks(p[PROBE_INTERVAL_S] * per_second),
        .probes = (uint32_t)p[PROBES],
        .fin_wait2_ticks = p[FIN_WAIT2_S] > 0 ? gen_whole_ticks(p[FIN_WAIT2_S] * per_second) : 0,
        .time_wait_ticks = gen_whole_ticks(p[TIME_WAIT_S] * per_second),
        .late_ticks = (uint64_t)p[LATE_TICKS],
        .window_ticks = model->seconds * per_second,
        .pace_end = p[PACE_END],
        .server = ends != ENDS_CLIENT,
        .client = ends != ENDS_SERVER,
        .ends = ends == ENDS_BOTH ? 2 : 1,
        .linux_wheel = p[WHEEL] == WHEEL_LINUX,
        .window = p[OPEN_CURVE + 2 * TCP_CURVE_KNOTS - 1] > 0 || p[OPEN_FIRST] > 0,
    };
    for (unsigned i = 0; i < TCP_CURVE_KNOTS; i++) {
        tcp->window = tcp->window || p[OPEN_CURVE + 2 * i + 1] > 0;
    }
    tcp->ends_bytes = tcp->ends * (uint32_t)sizeof(struct end);
    if (!tcp_gaps_make(&tcp->gaps, p + GAP_FIRST, per_second / p[RATE_PER_S], p[GAP_KEPT])) {
        return error_set(model->error, "tcp: gap_p0 to gap_p100 must not go down");
    }
    read_traffic(model);
    return tcp->traffic.smooth || !tcp->window || tcp->pace_end == 1 ||
           error_set(model->error, "tcp: bursts have no pace: set pace_end to 1, or trickle to 1");
}

static bool create(struct gen_model *model)
{
    if (!read_parameters(model)) {
        return false;
    }
    const double *p = model->parameters;
    struct tcp *tcp = model->state;
    /* Some exchanges and connects, until their phases are mixed. */
    double warmup = 3 * ((double)tcp->rto_initial_ticks + tcp->pause_ticks) +
                    10 * (tcp->reply_median_ticks + tcp->rtt_median_ticks);
    if (tcp->window) {
        warmup = fmax(warmup, p[OPEN_FIRST_S] * gen_per_second(model) + 1);
    }
    uint64_t warmup_ticks = gen_whole_ticks(warmup);
    if (tcp->linux_wheel) {
        model->align_ticks = WHEEL_PHASE_TICKS;
        warmup_ticks += WHEEL_PHASE_TICKS - warmup_ticks % WHEEL_PHASE_TICKS;
    }
    model->warmup_end = GEN_EPOCH + warmup_ticks;
    if (!gen_herds_read(model, HERDS, GEN_HERD_ROWS, &tcp->herds) ||
        !gen_model_begin(model, tcp->ends_bytes + sizeof(struct connection), GEN_EPOCH,
                         tcp->time_wait_ticks)) {
        return false;
    }
    name_timers(model);
    if (tcp->window) {
        return populate_window(model, GEN_EPOCH);
    }
    double exchange = gen_per_second(model) / p[RATE_PER_S];
    double ends = tcp->close + tcp->vanish > 1e-12 ? tcp->close + tcp->vanish : 1e-12;
    populate_steady(
        model, GEN_EPOCH,
        &(struct cycle){
            .idle = tcp->traffic.smooth ? exchange / ends : tcp->life_ticks,
            .vanished = tcp->vanish / ends * tcp->keepalive_share *
                        (double)(tcp->keepalive_ticks + tcp->probes * tcp->probe_interval_ticks),
            .time_wait = tcp->close / ends * (double)tcp->time_wait_ticks,
            .pause = tcp->pause_ticks,
        });
    return true;
}

extern const struct gen_workload gen_tcp;
const struct gen_workload gen_tcp = {
    .name = "tcp",
    .summary = "Linux's timers of TCP connections: retransmission, delayed ACK, keepalive, "
               "SYN-ACK, TIME_WAIT",
    .stresses = "delays from 40 ms to a minute and hours at once; nearly all that end, expire, and "
                "many do nothing then",
    .resembles = "the kernel of a busy server",
    .parameters = tcp_parameters,
    .max_connections = UINT32_MAX / (2 * KINDS),
    .kinds = tcp_kinds,
    .counts = tcp_counts,
    .state_bytes = sizeof(struct tcp),
    .create = create,
    .simulate = simulate,
    .pending = list_pending,
};
