/*
 * gen_traffic.h: realistic traffic, shared by the models of connections. Each has the rows of
 * parameters below; the functions here decide when a connection's next request comes, when its
 * session ends, and how deploys, storms and freezes ("herds") affect it. "Request" is the unit of a
 * model's rate: a packet, a call.
 *
 * Activity. A share of the requests, the trickle, comes singly, at exponential gaps, as in the
 * smooth model; it keeps connections open. The others come in bursts, with silences between that
 * have heavy tails. Connections of the same client are active together, and some clients are busier
 * than others. A client's bursts are a renewal process: one of B requests (on each of its
 * connections) is followed by the next B * Y * mean / weight later, where `mean` is the time for
 * each such request in the smooth model, and Y and the weight have mean 1. So the mean rate does
 * not depend on the other parameters, nor on how long a request takes; requests left over when the
 * next burst comes are made after it. All of a burst is a hash of the client's number and the
 * burst's tick: connections share it, and a connection's state is that tick and the number of
 * requests left.
 *
 * The process begins in its steady state: in a length-biased cycle, at a random place in it.
 *
 * Herds, at given moments: a deploy (the server closes a share of all connections at one tick), a
 * storm (peers fall silent at one tick and return with new connections at another), a freeze (all
 * that arrives in a period arrives at its end). They begin with the recording.
 *
 * With a burst of 1, `together` and `hot` of 1 and `silence_shape` 0 a model is smooth, and uses
 * the same random numbers as without this code. The same holds for herds with a share of 0.
 */
#ifndef SIM_GEN_TRAFFIC_H
#define SIM_GEN_TRAFFIC_H

#include "gen.h"
#include "gen_model.h"

#include <stdbool.h>
#include <stdint.h>

/* --- rows of parameters ---------------------------------------------------------------------- */

/* The rows of activity, from the row `first` of a workload's table on. */
enum {
    GEN_TRICKLE,
    GEN_BURST,
    GEN_BURST_SHAPE,
    GEN_BURST_GAP_MS,
    GEN_SILENCE_SHAPE,
    GEN_TOGETHER,
    GEN_HOT,
    GEN_HOT_SHAPE,
    GEN_ACTIVITY_ROWS
};

#define GEN_ACTIVITY(first, together, together_source)                                             \
    GEN_ACTIVITY_BUT(                                                                              \
        first, 0.5,                                                                                \
        "kernel timers of three loads: 0.19 to 0.56 of starts are in no row of five, 1 s apart",   \
        30, "DNS clients of WRCCDC: 29 ms; HTTP clients: median 32 ms", together, together_source)

/* GEN_ACTIVITY with another trickle and another gap. */
#define GEN_ACTIVITY_BUT(first, trickle, trickle_source, gap, gap_source, together,                \
                         together_source)                                                          \
    GEN_REAL((first) + GEN_TRICKLE, "trickle", trickle, 0, 1,                                      \
             "share of requests that come singly, the others in bursts; 1: smooth traffic",        \
             trickle_source),                                                                      \
        GEN_REAL((first) + GEN_BURST, "burst", 30, 1, 1e4,                                         \
                 "mean number of a connection's requests in a burst",                              \
                 "TLS clients of WRCCDC: 33 with gaps up to 1 s; DNS clients: 11"),                \
        GEN_REAL((first) + GEN_BURST_SHAPE, "burst_shape", 1.2, 0, 10,                             \
                 "tail of that number: a bounded Pareto's shape; 0: exponential",                  \
                 "TLS clients 1.14, HTTP connections 1.16, DNS clients 1.61 (Hill)"),              \
        GEN_REAL((first) + GEN_BURST_GAP_MS, "burst_gap_ms", gap, 0.001, 1e6,                      \
                 "mean gap in a burst, exponential; at most half of smooth traffic's",             \
                 gap_source),                                                                      \
        GEN_REAL((first) + GEN_SILENCE_SHAPE, "silence_shape", 1.5, 0, 10,                         \
                 "tail of the time from burst to burst, "                                          \
                 "likewise",                                                                       \
                 "DNS clients of WRCCDC: 1.53 beyond 10 s (Hill)"),                                \
        GEN_REAL((first) + GEN_TOGETHER, "together", together, 1, 1e6,                             \
                 "connections per client, which have their bursts together", together_source),     \
        GEN_REAL((first) + GEN_HOT, "hot", 50, 1, 1e6,                                             \
                 "ratio of the bursts of the busiest client to those of the idlest, limited by "   \
                 "its connections; 1: all have the same number",                                   \
                 "hosts of NASA's web log: the busiest has 56 times the median's requests"),       \
        GEN_REAL((first) + GEN_HOT_SHAPE, "hot_shape", 2, 0.1, 10,                                 \
                 "tail of the clients' rates, likewise", "hosts of NASA's web log: 1.99 (Hill)")

/* Source of `together` for servers with clients that open several connections. */
#define GEN_TOGETHER_SERVER "HTTP clients of a laboratory: 243 connections of 13 within 60 s"

/* The row of sessions. Their mean is the model's own. */
#define GEN_SESSION_SHAPE(code)                                                                    \
    GEN_REAL(                                                                                      \
        code, "session_shape", 2.4, 0, 10,                                                         \
        "tail of the number of requests until a close: a bounded Pareto's shape; 0: geometric",    \
        "hosts of NASA's web log, gaps up to 60 s: 2.36 (Hill)")

/* The rows of herds, from the row `first` of a workload's table on. */
enum {
    GEN_DEPLOY,
    GEN_DEPLOY_AT_S,
    GEN_DEPLOY_EVERY_S,
    GEN_DEPLOY_OVER_S,
    GEN_STORM,
    GEN_STORM_AT_S,
    GEN_STORM_EVERY_S,
    GEN_STORM_AWAY_S,
    GEN_STORM_JITTER_S,
    GEN_CLOSING_ROWS, /* without arrivals that a freeze could delay */
    GEN_FREEZE = GEN_CLOSING_ROWS,
    GEN_FREEZE_AT_S,
    GEN_FREEZE_EVERY_S,
    GEN_FREEZE_MS,
    GEN_HERD_ROWS
};

#define GEN_HERD_SHARE(code, name, help) GEN_REAL(code, name, 0, 0, 1, help, "chosen: none")
#define GEN_HERD_AT(code, name)                                                                    \
    GEN_REAL(code, name, 5, 0, 1e8, "when the first is, after the warm-up", "chosen")
#define GEN_HERD_EVERY(code, name)                                                                 \
    GEN_REAL(code, name, 0, 0, 1e8, "from one to the next; 0: there is one", "chosen")
#define GEN_HERD_TIME(code, name, value, help) GEN_REAL(code, name, value, 0, 86400, help, "chosen")

#define GEN_CLOSING(first)                                                                         \
    GEN_HERD_SHARE((first) + GEN_DEPLOY, "deploy",                                                 \
                   "share of connections that the server closes at one tick; 0: no deploys"),      \
        GEN_HERD_AT((first) + GEN_DEPLOY_AT_S, "deploy_at_s"),                                     \
        GEN_HERD_EVERY((first) + GEN_DEPLOY_EVERY_S, "deploy_every_s"),                            \
        GEN_HERD_TIME((first) + GEN_DEPLOY_OVER_S, "deploy_over_s", 10,                            \
                      "they connect again within this time, uniform"),                             \
        GEN_HERD_SHARE(                                                                            \
            (first) + GEN_STORM, "storm",                                                          \
            "share of peers that fall silent at one tick, and come back; 0: no storms"),           \
        GEN_HERD_AT((first) + GEN_STORM_AT_S, "storm_at_s"),                                       \
        GEN_HERD_EVERY((first) + GEN_STORM_EVERY_S, "storm_every_s"),                              \
        GEN_HERD_TIME((first) + GEN_STORM_AWAY_S, "storm_away_s", 1,                               \
                      "they come back after this time, with new connections"),                     \
        GEN_HERD_TIME((first) + GEN_STORM_JITTER_S, "storm_jitter_s", 0,                           \
                      "and up to this, uniform; 0: all at one tick")
#define GEN_HERDS(first)                                                                           \
    GEN_CLOSING(first),                                                                            \
        GEN_HERD_SHARE(                                                                            \
            (first) + GEN_FREEZE, "freeze",                                                        \
            "share of peers from which nothing arrives for a while, then all of it at one "        \
            "tick; 0: no freezes"),                                                                \
        GEN_HERD_AT((first) + GEN_FREEZE_AT_S, "freeze_at_s"),                                     \
        GEN_HERD_EVERY((first) + GEN_FREEZE_EVERY_S, "freeze_every_s"),                            \
        GEN_REAL((first) + GEN_FREEZE_MS, "freeze_ms", 1000, 0, 1e8, "for how long", "chosen")

/* --- laws ------------------------------------------------------------------------------------ */

/* A positive variable with a given mean: exponential, or a bounded Pareto. */
struct gen_law {
    double mean;
    double shape; /* 0: exponential */
    double least; /* of the bounded Pareto */
    double ratio; /* maximum / minimum */
};

/* Make the law with that mean; `ratio` above 1. With a mean of 0 it is always 0. */
struct gen_law gen_law_make(double mean, double shape, double ratio);

/* Return the mean of an exponential variable that is rounded up to whole ticks. */
double gen_whole_mean(double mean_ticks);

/* Return the u-quantile, with `u` in (0, 1). */
double gen_law_value(const struct gen_law *law, double u);

/* Return the u-quantile of the length-biased law. `v` is another uniform variable. */
double gen_law_met(const struct gen_law *law, double u, double v);

/* Return the mean of the smaller of `limit` and a log-normal variable; *below is set to the
 * probability that the variable is smaller. `sigma` may be 0. */
double gen_lognormal_cut(double median, double sigma, double limit, double *below);

/* --- activity -------------------------------------------------------------------------------- */

struct gen_traffic {
    bool smooth;
    uint32_t together;
    uint64_t seed;
    double request_ticks;   /* of all requests */
    double mean_ticks;      /* of the requests in bursts */
    double busy_ticks;      /* duration of a request */
    double gap_ticks;       /* mean gap in a burst */
    double trickle_ticks;   /* mean gap until a single request; 0: none */
    struct gen_law burst;   /* requests after the first */
    struct gen_law silence; /* mean 1 */
    struct gen_law hot;     /* mean 1 */
};

/* The maximum of a burst's requests, and the value of `left` while a burst's first request is drawn
 * but has not come. Both fit 16 bits. */
#define GEN_BURST_MAX     65534u
#define GEN_BURST_AWAITED 65535u

/* The state of a connection. */
struct gen_activity {
    uint64_t burst_at; /* begin of its client's next burst */
    uint32_t left;     /* requests of this one still to come */
};

/* The properties of a model's smooth traffic. */
struct gen_smooth {
    double mean_ticks; /* from a request to the next, closes and pauses included */
    double busy_ticks; /* of that, the duration of a request */
    double gap_ticks;  /* the mean gap after that */
};

/* Read the rows of activity from `row` on, without using random numbers, and make them the
 * model's. */
void gen_traffic_read(struct gen_model *model, unsigned row, const struct gen_smooth *smooth,
                      struct gen_traffic *traffic);

/* Return the connects for each request if each silence longer than the timeout needs one. */
double gen_connects(const struct gen_traffic *traffic, double timeout_ticks);

/* The next functions are about the connection that is being visited. */

/* Return the tick of its next request, after `now`, when its last one is done. A model may let
 * something else come before, such as a return after a deploy. Not for smooth traffic. */
uint64_t gen_next_request(struct gen_model *model, struct gen_activity *activity, uint64_t now);

/* Return the tick of its next request; smooth: after an exponential time. */
static inline uint64_t gen_plan(struct gen_model *model, struct gen_activity *activity,
                                uint64_t now, double mean_ticks)
{
    return model->traffic->smooth ? now + gen_exponential(model, mean_ticks)
                                  : gen_next_request(model, activity, now);
}

/* Advance it if it was not allowed any requests between `since` and `now`: they are omitted. Uses
 * no random numbers. Not for smooth traffic. */
void gen_activity_skip(const struct gen_model *model, struct gen_activity *activity, uint64_t since,
                       uint64_t now);

/* Put it, with requests of `busy_ticks`, into the steady state at `now`. Return the age of its last
 * request, at least 1. Its next one is that of gen_next_request for now - 1. Not for smooth
 * traffic. */
uint64_t gen_activity_place(struct gen_model *model, struct gen_activity *activity, uint64_t now,
                            double busy_ticks);

/* --- sessions -------------------------------------------------------------------------------- */

#define GEN_SESSION_MAX (UINT32_C(1) << 30)

/* The number of requests in a connection. */
struct gen_sessions {
    double close;       /* one in this number is the last */
    bool geometric;     /* then a session has no state */
    struct gen_law law; /* otherwise: requests after the first */
};

/* Make sessions of 1 / close requests on average, with `close` from 0, never, to 1. */
struct gen_sessions gen_sessions_make(double close, double shape);

/* Draw the rest of a session at a random moment: at least 1. */
uint32_t gen_session_place(struct gen_model *model, const struct gen_sessions *sessions);

/* Draw a session's length, at least 1. */
uint32_t gen_session_draw(struct gen_model *model, const struct gen_sessions *sessions);

/* Return whether a request is a session's last; if so, *left becomes the next one's length. Call
 * once for each request. */
static inline bool gen_session_ends(struct gen_model *model, const struct gen_sessions *sessions,
                                    uint32_t *left)
{
    if (sessions->geometric) {
        return gen_chance(model, sessions->close);
    }
    if (--*left > 0) {
        return false;
    }
    *left = gen_session_draw(model, sessions);
    return true;
}

/* --- herds ----------------------------------------------------------------------------------- */

/* Moments that affect a share of all connections. */
struct gen_moments {
    double share; /* 0: none */
    uint64_t first;
    uint64_t every; /* 0: only one */
    uint64_t key;   /* selects the connections */
};

struct gen_herds {
    struct gen_moments deploy;
    struct gen_moments storm;
    struct gen_moments freeze;
    double deploy_over_ticks;
    uint64_t storm_away_ticks;
    double storm_jitter_ticks;
    uint64_t freeze_ticks;
};

enum gen_herd {
    GEN_HERD_NONE,
    GEN_HERD_DEPLOY, /* the server closes it, if it is open; see gen_deploy_return */
    GEN_HERD_BACK,   /* its peer returns: an open connection is replaced by a new one */
};

/* Read `rows` rows of herds, GEN_HERD_ROWS or GEN_CLOSING_ROWS, from `row` on, and make them the
 * model's; model->warmup_end is set. False if one lasts longer than until the next. */
bool gen_herds_read(struct gen_model *model, unsigned row, unsigned rows, struct gen_herds *herds);

/* The next functions are about the connection that is being visited. */

/* Return the first tick after `now` at which a herd affects it, if that is before `tick`; or else
 * `tick`. It can therefore be visited without an event of its own. */
uint64_t gen_herd_before(const struct gen_model *model, uint64_t now, uint64_t tick);

/* Return the effect of a herd on it at `now`, after its expiries. */
enum gen_herd gen_herd_at(const struct gen_model *model, uint64_t now);

/* Return when a message that would arrive at `now` arrives: then, or after a storm or freeze. */
uint64_t gen_arrival(const struct gen_model *model, uint64_t now);

/* Return when it connects again after a herd has closed it at `now`, and count that:
 * `count_deployed` is the counter of deploys, and the next one that of storms. */
uint64_t gen_herd_return(struct gen_model *model, enum gen_herd herd, uint64_t now,
                         unsigned count_deployed);

/* Apply a herd, if it has one timer, which pends while the connection is open. *event_at, its next
 * event, becomes the return; one that is due at `now` may be delayed by a freeze. */
void gen_herd_apply(struct gen_model *model, uint64_t now, struct gen_timer *timer,
                    uint64_t *event_at, unsigned count_deployed);

#endif
