/*
 * gen_tcp.h: a connection of the workload tcp, and the step that each of its events is.
 * gen_tcp.c has the parameters and the steady state in which a trace begins.
 */
#ifndef SIM_GEN_TCP_H
#define SIM_GEN_TCP_H

#include "gen_model.h"
#include "gen_rtt.h"
#include "gen_traffic.h"

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
#define TCP_PLACE(place, name) place,
enum { TCP_TIMERS(TCP_PLACE) KINDS };
enum { TCP_COUNTS(TCP_PLACE) COUNTS };
#undef TCP_PLACE

/* The next event of a connection. */
enum tcp_state {
    STATE_CLOSED,     /* it connects */
    STATE_CONNECTING, /* the SYN arrives */
    STATE_ACCEPTING,  /* the handshake's ACK arrives */
    STATE_IDLE,       /* a request, or the end of its life */
    STATE_ASKING,     /* the reply is sent */
    STATE_ANSWERING,  /* the reply's ACK arrives */
    STATE_CLOSING,    /* both have closed */
    STATE_TIME_WAIT,  /* its end, if the closer is elsewhere */
    STATE_VANISHED,   /* none: a timer expires next */
};

/* One end of a connection. */
struct tcp_end {
    struct gen_timer timers[KINDS];
    uint64_t heard_at; /* when the other end was last heard */
    uint64_t sent_at;  /* the first transmission that is not acknowledged */
    struct gen_rtt estimate;
    uint8_t backoff; /* expiries since then */
    uint8_t probes;  /* unanswered keepalive probes */
    bool waits;      /* something is not acknowledged */
    bool measured;   /* a round trip beyond the handshake was measured */
    bool keepalive;
};

struct tcp_connection {
    uint64_t event_at;
    uint64_t request_at; /* of the last request */
    uint64_t close_at;   /* the end of its life */
    struct gen_activity activity;
    float rtt_ticks;
    uint8_t state;
    bool asked; /* a request has come */
    bool last;  /* its request is the last: it closes with the reply */
    bool client_closes;
};

/* A record begins with its ends: a server, a client, or both in this order. */
struct tcp {
    double gap_ticks; /* mean time from request to request */
    double life_ticks;
    double close_client;
    double pause_ticks;
    double vanish;
    double reply_median_ticks;
    double rtt_median_ticks;
    double loss;
    double rto_min_ticks;
    uint64_t rto_initial_ticks;
    uint64_t rto_max_ticks;
    uint32_t syn_retries;
    uint32_t retries;
    uint64_t delack_ticks;
    double keepalive_share;
    uint64_t keepalive_ticks;
    uint64_t keepalive_interval_ticks;
    uint64_t fin_wait2_ticks;
    uint64_t time_wait_ticks;
    uint32_t ends; /* in a record */
    bool server;
    bool client;
    struct gen_traffic traffic;
};

/* Linux's TCP_KEEPALIVE_PROBES: unanswered probes before the connection is dropped. */
#define TCP_PROBES 9u

/* The connection that is being visited. */
struct tcp_visit {
    struct gen_model *model;
    const struct tcp *tcp;
    uint64_t now;
    uint32_t number;
    struct tcp_connection *connection;
    struct tcp_end *ends;
    struct tcp_end *server; /* NULL: elsewhere */
    struct tcp_end *client; /* likewise */
};

/* A visit of connection `number` at tick `now`. */
struct tcp_visit tcp_visit_of(struct gen_model *model, uint64_t now, uint32_t number);

/* The end that closes first; NULL: elsewhere. */
struct tcp_end *tcp_closer_of(const struct tcp_visit *visit);

/* The timeout of an end's transmission. A handshake's round trip that is too short for the clock
 * adds nothing to the least timeout. */
uint64_t tcp_rto(const struct tcp *tcp, const struct tcp_end *end, unsigned doublings);

/* Decides which end of a connection will close it. */
bool tcp_closes_at_client(const struct tcp_visit *visit);

/* Files the connection under its next event. */
void tcp_file_next(const struct tcp_visit *visit);

/* The workload's hooks of these names. */
bool tcp_simulate(struct gen_model *model, uint64_t end);
void tcp_list_pending(const struct gen_model *model, uint32_t number,
                      struct gen_pending_list *list);

#endif
