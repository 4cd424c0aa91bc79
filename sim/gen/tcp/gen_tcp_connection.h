/*
 * gen_tcp_connection.h: what a connection of the workload tcp is, and what happens to it. gen_tcp.c
 * has the parameters, and how connections are when it begins.
 */
#ifndef SIM_GEN_TCP_CONNECTION_H
#define SIM_GEN_TCP_CONNECTION_H

#include "gen_model.h"
#include "gen_rtt.h"
#include "gen_tcp_lives.h"
#include "gen_traffic.h"

/* The last one is there where something is paced. */
#define TCP_TIMERS(X)                                                                              \
    X(KIND_RETRANSMIT, "retransmit")                                                               \
    X(KIND_DELAYED_ACK, "delayed-ack")                                                             \
    X(KIND_KEEPALIVE, "keepalive")                                                                 \
    X(KIND_SYN_ACK, "syn-ack")                                                                     \
    X(KIND_TIME_WAIT, "time-wait")                                                                 \
    X(KIND_PACE, "pace")
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
    X(COUNT_UNCHANGED, "unchanged_starts")                                                         \
    X(COUNT_DEPLOYED, "deployed")                                                                  \
    X(COUNT_BACK, "back")                                                                          \
    X(COUNT_CLOSED_FULL, "closed_full")                                                            \
    X(COUNT_CLOSED_IDLE, "closed_idle")                                                            \
    X(COUNT_BURSTS, "paced_bursts")
#define TCP_PLACE(place, name) place,
enum { TCP_TIMERS(TCP_PLACE) KINDS };
enum { TCP_COUNTS(TCP_PLACE) COUNTS };
#undef TCP_PLACE

/* What the next event of a connection is. */
enum tcp_state {
    STATE_CLOSED,     /* it connects */
    STATE_CONNECTING, /* the SYN arrives */
    STATE_ACCEPTING,  /* the handshake's ACK arrives */
    STATE_IDLE,       /* a request, or in a window the close */
    STATE_ASKING,     /* the reply is sent */
    STATE_PACING,     /* none: the pacing timer's */
    STATE_ANSWERING,  /* the reply's ACK arrives */
    STATE_CLOSING,    /* both have closed */
    STATE_TIME_WAIT,  /* its end, if that is no timer's here */
    STATE_VANISHED,   /* none: a timer's */
    STATE_GONE,       /* none; a spare one is so, too */
};

/* One end of a connection. */
struct tcp_end {
    struct gen_timer timers[KINDS];
    uint64_t heard_at; /* when the other one was last heard */
    uint64_t sent_at;  /* what is not acknowledged, as it has arrived or still may */
    struct gen_rtt estimate;
    uint8_t backoff; /* expiries since then */
    uint8_t probes;  /* of keepalive that were not answered */
    bool waits;      /* something is not acknowledged */
    uint8_t quick;   /* replies that are still acknowledged at once */
    bool measured;   /* a round trip of what it sent, beyond the handshake */
    bool keepalive;
    bool unseen; /* its keepalive timer was armed before the window */
};

struct tcp_connection {
    uint64_t event_at;
    uint64_t request_at; /* of the last one */
    uint64_t close_at;   /* in a window, and with bursts; GEN_NEVER: it does not */
    uint64_t return_at;  /* while a deploy closes it; GEN_NEVER: none does */
    struct gen_activity activity;
    struct gen_timer left_behind; /* TIME_WAIT of the connection before */
    float rtt_ticks;
    float keepalive_set; /* how likely one that begins with Linux's silence gets keepalive_ticks */
    uint32_t delack_ticks;
    uint32_t requests; /* so far */
    uint8_t state;
    uint8_t syns;        /* repeated */
    uint8_t part;        /* of the law of gaps */
    uint8_t quick_again; /* what a silence sets the client's `quick` to */
    bool last;           /* its request is: closes with the reply */
    bool client_closes;
    bool single;         /* it asks once, and closes */
    bool slow;           /* its gaps are longer */
    bool paced;          /* its replies are */
    bool spare;          /* none, but room for a TIME_WAIT */
    bool again;          /* when it has closed, it opens again at once */
    bool silent;         /* what comes next is that the server waits no longer */
    uint32_t bursts;     /* of its reply, that are still to be sent */
    uint32_t next_spare; /* NO_SPARE: the last */
};

#define NO_SPARE  UINT32_MAX

/* When a client means to ask, as far as it is known: more than once if it opened again. */
#define TCP_PLANS 8
struct tcp_plans {
    uint64_t at[TCP_PLANS];
    uint32_t count;
};

/* A record begins with its ends: a server, a client, or both in this order. */
struct tcp {
    struct tcp_gaps gaps;
    double reply_median_ticks;
    double reply_sigma;
    double close;
    double close_asked;
    double close_client;
    uint32_t close_requests; /* UINT32_MAX: no limit */
    double close_idle_ticks; /* HUGE_VAL: never */
    double open_again;
    double plan_kept;
    double slow_share;
    double slow_times;
    double gap_most_ticks; /* HUGE_VAL: any */
    double gap_ticks;      /* mean of the law */
    double pacing;
    double pacing_bursts;
    uint64_t pacing_ticks;
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
    uint32_t ends;  /* in a record */
    uint32_t kinds; /* of an end */
    uint32_t spare; /* the first, of those that are linked */
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

/* A slot's record: its ends, and behind them the connection. */
static inline struct tcp_end *tcp_record_ends(const struct gen_model *model, uint32_t number)
{
    return (void *)((char *)model->records + number * model->record_bytes);
}

/* The connection of a record that begins with these ends. */
static inline struct tcp_connection *tcp_record_connection(const struct tcp *tcp,
                                                           struct tcp_end *ends)
{
    return (void *)((char *)ends + tcp->ends_bytes);
}

/* What the client of that connection means to do; only where plans are kept. */
static inline struct tcp_plans *tcp_record_plans(struct tcp_connection *connection)
{
    return (void *)(connection + 1);
}

/* What is being visited. */
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

/* A visit of slot `number` at tick `now`. */
static inline struct tcp_visit tcp_visit_of(struct gen_model *model, uint64_t now, uint32_t number)
{
    const struct tcp *tcp = model->state;
    struct tcp_end *ends = tcp_record_ends(model, number);
    return (struct tcp_visit){.model = model,
                              .tcp = tcp,
                              .now = now,
                              .number = number,
                              .connection = tcp_record_connection(tcp, ends),
                              .ends = ends,
                              .server = tcp->server ? ends : NULL,
                              .client = tcp->client ? ends + (tcp->server ? 1 : 0) : NULL};
}

/* The end that closes first; NULL: elsewhere. */
static inline struct tcp_end *tcp_closer_of(const struct tcp_visit *visit)
{
    return visit->connection->client_closes ? visit->client : visit->server;
}

/* Whether a keepalive timer that is started now is left out. A recording does not have the start of
 * what was armed before it. It sees such a timer where the kernel's wheel has come round to it and
 * its code starts it again; so does a window. */
bool tcp_is_unseen(const struct tcp_visit *visit);

/* The timeout of an end's transmission. A handshake's round trip that is too short for the clock
 * adds nothing to the least timeout. */
uint64_t tcp_rto(const struct tcp *tcp, const struct tcp_end *end, unsigned doublings);

/* It asks next at `event_at`: unless the server waits no longer, which has heard it at `since`. */
void tcp_close_if_idle(const struct tcp_visit *visit, uint64_t since);

/* Puts a slot without a connection to those that have room for a TIME_WAIT. */
void tcp_put_spare(const struct tcp_visit *visit);

/* Draws which end will close. */
bool tcp_closes_at_client(const struct tcp_visit *visit);

/* Files it under what comes next. */
void tcp_file_next(const struct tcp_visit *visit);

/* The workload's hooks of these names. */
bool tcp_simulate(struct gen_model *model, uint64_t end);
void tcp_list_pending(const struct gen_model *model, uint32_t number,
                      struct gen_pending_list *list);

#endif
