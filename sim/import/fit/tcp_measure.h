/*
 * tcp_measure.h: what a trace says of the timers of TCP, kind by kind. A recording and what was
 * generated after it are measured by the same code, which sees nothing but operations: a timer
 * expires where an exact structure fires it. Starts of the timed window count, and what ended them
 * before the trace's end.
 */
#ifndef SIM_TCP_MEASURE_H
#define SIM_TCP_MEASURE_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

/* In the order of the workload tcp's own kinds. */
enum tcp_kind { TCP_WRITE, TCP_DELACK, TCP_KEEPALIVE, TCP_SYN_ACK, TCP_TIME_WAIT, TCP_KINDS };

/* A kind's name here, and that of Linux's callback. */
extern const char *const tcp_kind_names[TCP_KINDS];
extern const char *const tcp_kind_functions[TCP_KINDS];

/* The statistics of a kind. */
enum tcp_statistic {
    TCP_STARTS,
    TCP_EXPIRED,   /* share of the starts that ended so */
    TCP_CANCELLED, /* by a stop */
    TCP_MOVED,     /* by another start */
    TCP_DELAY_P10_MS,
    TCP_DELAY_P50_MS,
    TCP_DELAY_P90_MS,
    TCP_DELAY_P99_MS,
    TCP_DISPERSION_100MS, /* NAN: too short a window */
    TCP_DISPERSION_1S,
    TCP_BUSIEST, /* most starts of one timer in one life: tcp_measure_trace() says when that ends */
    TCP_STATISTICS
};

extern const char *const tcp_statistic_names[TCP_STATISTICS];

struct tcp_measure {
    double value[TCP_KINDS][TCP_STATISTICS];
    /* Of a recording: how far chance makes it stray, one standard error as a share of the value.
     * NAN where that is not known: of the busiest timer, since half of a recording has half of it.
     */
    double own[TCP_KINDS][TCP_STATISTICS];
    double seconds; /* of the timed window */
};

/* What happens to a timer. */
enum tcp_event_kind { TCP_START, TCP_MOVE, TCP_CANCEL, TCP_EXPIRE };

struct tcp_event {
    enum tcp_event_kind what;
    enum tcp_kind kind;
    uint32_t id;
    uint64_t tick; /* from the window's begin; of an expiry, when it was due */
    uint64_t delay_ticks;
    uint64_t tick_ns; /* what a tick lasts */
    bool caused;      /* by a firing */
    bool connects;    /* a new connection's SYN, whose timer is that of the one before */
};

/* Takes what happens in the window to timers that were started in it; of each timer in its order,
 * each expiry when the timer is seen next, or at the end. */
typedef void (*tcp_event_fn)(void *ctx, const struct tcp_event *event);

/* The least timeout of a SYN: the first is 1 s (RFC 6298), with some to spare. */
#define TCP_SYN_TIMEOUT_NS UINT64_C(900000000)

/* What follows within so many ticks happened at once. */
#define TCP_AT_ONCE_TICKS  2

/* A life of a timer ends with its cancel, of TIME_WAIT's with its expiry. But Linux gives the
 * memory of what is closed to the next connection at once, so that ids go on where sockets do not.
 * Where there is no cancel between, as a recording is imported, a life ends as well before a SYN
 * that follows the timer's last start at once, and before a start that comes so long after the last
 * one, for what was closed since had no timer to cancel. */
#define TCP_REST_NS        UINT64_C(5000000000)

/* A recording's own uncertainty is that of its balanced half-samples (McCarthy 1966): its time is
 * cut into so many parts, and each half has one of each two neighbours. Which ones, is a row of a
 * Hadamard matrix, so that all pairs count alike, and none with another. What changes slowly both
 * neighbours have: it is the load's, and no chance. What chance does more slowly than that is not
 * seen either: so uncertain it is at least. */
#define TCP_PARTS          16u
#define TCP_HALVES         8u

/* Adds a trace whose timers are all of one kind, as of a recording, or, with TCP_KINDS, that of the
 * workload, where `places` has each id's place, which says the kind. Of the timed window's first
 * `idle_ticks` nothing counts: an imported recording begins that long after a slot of the kernel's
 * wheel, at which its trace begins. `take` may be NULL. False, with `error` set, if it cannot be
 * read. */
bool tcp_measure_trace(const char *path, enum tcp_kind kind, const uint64_t *places,
                       uint64_t idle_ticks, struct tcp_measure *measure, tcp_event_fn take,
                       void *ctx, uint64_t *tick_ns, struct error *error);

#endif
