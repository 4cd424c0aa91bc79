/*
 * tcp_estimate.h: the parameters of the workload tcp, as a recording has them: what can be counted
 * is counted, and the rest begins at its default, for tcp_fit.h to search.
 *
 *   whose ends     both where SYNs are sent and taken in about equal numbers, else one
 *   openings       SYN-ACKs that were acknowledged; of a client alone, its SYNs
 *   closings       TIME_WAITs; where there are none, write timers that were cancelled
 *   requests       starts of write timers that are neither a SYN's nor followed by a cancel within
 *                  two ticks (a FIN's), nor caused by a firing (a retransmission)
 *   gaps           from such a start to the next of the same timer
 *   connections    what is open at once: different write timers, since memory is used again
 *   opened again   openings within two ticks of a closing, but for those that are so by chance
 *   kept gaps      gaps that lie in the same eighth of the law as the same timer's last
 *   probes         where the delays that a firing of the keepalive timer sets are densest, far
 *                  below the keepalive time
 *   limits, slow   what tcp_load.h finds; where limits close, and clients open again at once, those
 *                  openings and closings are not counted among the others
 *   keepalive      starts of its timer that are not FIN_WAIT2's, which the close cancels within
 *                  two ticks
 */
#ifndef SIM_TCP_ESTIMATE_H
#define SIM_TCP_ESTIMATE_H

#include "error.h"
#include "gen.h"
#include "tcp_measure.h"

#include <stdbool.h>
#include <stdint.h>

struct tcp_estimate;

/* An empty one; NULL if memory is short. */
struct tcp_estimate *tcp_estimate_create(void);
void tcp_estimate_destroy(struct tcp_estimate *estimate);

/* Takes what happened in the recording: a tcp_event_fn, whose context is the estimate. Kinds may
 * come one after the other. */
void tcp_estimate_take(void *estimate, const struct tcp_event *event);

/* Values of the search. */
struct tcp_knobs {
    double tail;       /* the longest tenth of the gaps, times this */
    double middle;     /* half to three quarters of them, likewise */
    double low;        /* the shortest tenth, up to the next */
    double kept;       /* gap_kept */
    double single;     /* close_single */
    double ago_s;      /* open_first_s */
    double over;       /* open_first_over_s, as a share of that */
    double again;      /* open_again */
    double refill;     /* quick_again_max */
    double uneven;     /* 0: all connections have that; 1: down to 1 */
    double asked;      /* close_asked */
    double client;     /* close_client */
    double pace;       /* pace_end */
    double both;       /* keepalive_client */
    double quick;      /* quick_acks */
    double delack;     /* delack_reply */
    double young;      /* close_young */
    double even;       /* open_even */
    double close_even; /* close_even */
    double loss;       /* loss */
    double first;      /* the connections that are open at the begin, times this */
    double slow;       /* gap_slow */
    double slow_times; /* gap_slow_times */
    double most;       /* gap_most_s, in times that a server waits; where it does */
    double plan;       /* plan_kept, where connections open again after a limit */
};

/* The knobs to begin with, once all is taken. False, with `error` set, if there is too little to
 * tell anything by: no requests, no connection. */
bool tcp_estimate_finish(struct tcp_estimate *estimate, const struct tcp_measure *recorded,
                         uint64_t tick_ns, struct tcp_knobs *knobs, struct error *error);

/* The workload's share of a trace with these knobs. */
void tcp_estimate_part(const struct tcp_estimate *estimate, const struct tcp_knobs *knobs,
                       struct gen_part *part);

/* Says for people what was counted, as `count` sentences. */
#define TCP_ESTIMATE_NOTES 16
#define TCP_NOTE_BYTES     200
unsigned tcp_estimate_notes(const struct tcp_estimate *estimate,
                            char notes[TCP_ESTIMATE_NOTES][TCP_NOTE_BYTES]);

#endif
