/*
 * gen_tcp_lives.h: what the workload tcp draws from curves: when connections open and close in a
 * window of which that is known, and the gaps from request to request.
 *
 * A window's curve has up to so many knots: at each time, the share of all openings (or closings)
 * that have come by then, evenly in between. Openings and closings are paired afterwards: each
 * closing ends one of the youngest connections that are open, so that some are short and the rest
 * last.
 */
#ifndef SIM_GEN_TCP_LIVES_H
#define SIM_GEN_TCP_LIVES_H

#include "random.h"

#include <stdbool.h>
#include <stdint.h>

#define TCP_CURVE_KNOTS 8
#define TCP_GAP_POINTS  18

/* Connections that keep to a part of the law keep to one of so many, from the shortest gaps on. */
#define TCP_GAP_PARTS   8

/* The points at which the law of gaps is given, as shares. */
extern const double tcp_gap_shares[TCP_GAP_POINTS];

struct tcp_curve {
    unsigned knots; /* 0: nothing happens */
    double time[TCP_CURVE_KNOTS];
    double share[TCP_CURVE_KNOTS];
};

/* Reads knots from pairs {time, share}; those behind the last share above 0 do not count. False if
 * times or shares go down. */
bool tcp_curve_read(struct tcp_curve *curve, const double *pairs);

/* When the share `u`, 0 to 1, has come. */
double tcp_curve_time(const struct tcp_curve *curve, double u);

/* A connection in the window: ticks from its begin. */
struct tcp_life {
    uint64_t open;  /* 0 of those that are open when the window begins */
    uint64_t close; /* UINT64_MAX: it stays */
};

struct tcp_window {
    struct tcp_curve open;
    struct tcp_curve close;
    double first;      /* share of the connections that are open at the begin */
    double ended;      /* share of all that close */
    double open_even;  /* share of the openings that keep to their curve evenly; the others are
                          random */
    double close_even; /* of the closings */
    double again; /* share of the closings with which one of the openings comes, off its curve */
    double young; /* closings end one of this share of those open, the youngest */
};

/* Sets each connection's life; `count` of them, ticks `per_second`. */
void tcp_lives_assign(const struct tcp_window *window, struct random *random, double per_second,
                      struct tcp_life *lives, uint32_t count);

/* A law by its values at tcp_gap_shares, log-linear in between. */
struct tcp_gaps {
    double log_value[TCP_GAP_POINTS];
    double mean_share[TCP_GAP_POINTS]; /* of all time, what gaps up to this point take */
    double kept;                       /* share of its gaps that a connection draws from its part */
    double time_until[TCP_GAP_PARTS + 1]; /* of all time, what the gaps before each part take */
};

/* Makes the law with those proportions, rising and above 0, and this mean, of which each connection
 * keeps to its part with the share `kept` of its gaps. False if the proportions fall. */
bool tcp_gaps_make(struct tcp_gaps *gaps, const double *values, double mean, double kept);

/* The mean of the law with these values. */
double tcp_gaps_mean(const double *values);

/* How long is waited for the next request in the mean, if for no longer than `most` ticks; and the
 * share of all gaps that are longer. */
double tcp_gaps_waited(const struct tcp_gaps *gaps, double most, double *longer);

/* The part of a connection that is met at any moment: those with long gaps are more, so that all
 * gaps together have the law. Takes no random number if nothing is kept. */
unsigned tcp_gap_part(const struct tcp_gaps *gaps, struct random *random);

/* A gap of a connection with that part. */
double tcp_gap_draw(const struct tcp_gaps *gaps, unsigned part, struct random *random);

/* A gap as it is met at any moment: as often as it is long. */
double tcp_gap_met(const struct tcp_gaps *gaps, unsigned part, struct random *random);

#endif
