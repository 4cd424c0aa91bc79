/*
 * gen_tcp.h: a connection of the workload tcp, and the functions for its events. gen_tcp.c has the
 * parameters and the steady state in which a trace begins.
 */
#ifndef SIM_GEN_TCP_H
#define SIM_GEN_TCP_H

#include "gen_model.h"
#include "gen_rtt.h"
#include "gen_traffic.h"

/* The parameters. */
enum {
    TICK_US = GEN_TICK_US,
    ENDS,
    RATE_PER_S,
    REQUESTS,
    PAUSE_S,
    CLOSE_CLIENT,
    VANISH,
    REPLY_MS,
    RTT_MS,
    LOSS,
    RTO_INITIAL_MS,
    RTO_MIN_MS,
    SYN_RETRIES,
    RETRIES,
    DELACK_MS,
    KEEPALIVE,
    KEEPALIVE_S,
    KEEPALIVE_INTERVAL_S,
    TIME_WAIT_S,
    ACTIVITY,
    ROWS = ACTIVITY + GEN_ACTIVITY_ROWS
};

#define TCP_TIMERS(X)                                                                              \
    X(KIND_RETRANSMIT, "retransmit")                                                               \
    X(KIND_DELAYED_ACK, "delayed-ack")                                                             \
    X(KIND_KEEPALIVE, "keepalive")                                                                 \
    X(KIND_SYN_ACK, "syn-ack")                                                                     \
    X(KIND_TIME_WAIT, "time-wait")
#define TCP_COUNTS(X)                                                                              \
    X(COUNT_CONNECTS, "connects")                                                                  \
    X(COUNT_REQUESTS, "requests")                                                                  \
    X(COUNT_REPLIES, "replies")                                                                    \
    X(COUNT_TRANSMISSIONS, "transmissions")                                                        \
    X(COUNT_LOSSES, "losses")                                                                      \
    X(COUNT_RETRANSMISSIONS, "retransmissions")                                                    \
    X(COUNT_ACKS, "acks")                                                                          \
    X(COUNT_IDLE_EXPIRIES, "idle_expiries")                                                        \
    X(COUNT_KEEPALIVE_EXPIRIES, "keepalive_expiries")                                              \
    X(COUNT_PROBES, "probes")                                                                      \
    X(COUNT_VANISHED, "vanished")                                                                  \
    X(COUNT_DROPPED, "dropped")                                                                    \
    X(COUNT_GIVEN_UP, "given_up")                                                                  \
    X(COUNT_TIME_WAITS, "time_waits")                                                              \
    X(COUNT_UNCHANGED, "unchanged_starts")
enum { TCP_TIMERS(GEN_PLACE) KINDS };
enum { TCP_COUNTS(GEN_PLACE) };

/* The next event of a connection. */
enum tcp_state {
    STATE_CLOSED,     /* connect */
    STATE_CONNECTING, /* arrival of the SYN */
    STATE_ACCEPTING,  /* arrival of the handshake's ACK */
    STATE_IDLE,       /* a request, or the end of the connection */
    STATE_ASKING,     /* sending of the reply */
    STATE_ANSWERING,  /* arrival of the reply's ACK */
    STATE_CLOSING,    /* both have closed */
    STATE_TIME_WAIT,  /* its end, if the closer is elsewhere */
    STATE_VANISHED,   /* none: a timer expires next */
};

/* One end of a connection. */
struct tcp_end {
    struct gen_timer timers[KINDS];
    uint64_t heard_at; /* when the other end was last heard */
    uint64_t sent_at;  /* of the first unacknowledged transmission */
    struct gen_rtt estimate;
    uint8_t backoff; /* expiries since then */
    uint8_t probes;  /* unanswered keepalive probes */
    bool waits;      /* something is unacknowledged */
    bool measured;   /* a round trip after the handshake was measured */
    bool keepalive;
};

struct tcp_connection {
    uint64_t event_at;
    uint64_t request_at; /* of the last request */
    uint64_t close_at;   /* end of the connection */
    struct gen_activity activity;
    float rtt_ticks;
    uint8_t state;
    bool asked; /* a request has come */
    bool last;  /* the current request is the last: close with the reply */
    bool client_closes;
};

/* A record begins with its ends: a server, a client, or both in this order. */
struct tcp {
    double gap_ticks; /* mean time from request to request */
    double life_ticks;
    double pause_ticks;
    double reply_median_ticks;
    double rtt_median_ticks;
    double rto_min_ticks;
    uint64_t rto_initial_ticks;
    uint64_t rto_max_ticks;
    uint64_t delack_ticks;
    uint64_t keepalive_ticks;
    uint64_t keepalive_interval_ticks;
    uint64_t time_wait_ticks; /* and of FIN_WAIT2 */
    bool server;
    bool client;
    struct gen_traffic traffic;
};

/* Linux's TCP_KEEPALIVE_PROBES: unanswered probes before the connection is dropped. */
#define TCP_PROBES  9u

/* The standard deviation of the logarithm of the reply times. */
#define REPLY_SIGMA 0.5

/* The visit of a connection. */
struct tcp_visit {
    struct gen_model *model;
    const struct tcp *tcp;
    uint64_t now;
    struct tcp_connection *connection;
    struct tcp_end *ends;
    struct tcp_end *server; /* NULL: elsewhere */
    struct tcp_end *client; /* likewise */
};

/* Make the visit of a connection at tick `now`. */
struct tcp_visit tcp_visit_of(struct gen_model *model, uint64_t now, void *record);

/* Return the end that closes first; NULL: elsewhere. */
struct tcp_end *tcp_closer_of(const struct tcp_visit *visit);

/* Return the timeout of an end's transmission. A handshake's round trip that is too short for the
 * clock adds nothing to the minimum. */
uint64_t tcp_rto(const struct tcp *tcp, const struct tcp_end *end, unsigned doublings);

/* Decide which end of a connection will close it. */
bool tcp_closes_at_client(const struct tcp_visit *visit);

void tcp_visit_connection(struct gen_model *model, uint64_t now, void *record);

#endif
