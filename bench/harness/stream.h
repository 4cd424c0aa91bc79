/*
 * stream.h: the operations of the steady-state suites, generated before any timing from a fixed
 * seed, and equal for all structures. A stream is one period of a server's life, in ticks thought
 * of as milliseconds, and is played over and over: after the first time, each period finds the
 * same timers pending as the one before and fires the same ones, so what must fire is known
 * beforehand, without a reference beside the structure.
 */
#ifndef BENCH_STREAM_H
#define BENCH_STREAM_H

#include "workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Longer than 65,536, so that every level of every wheel turns in it, and than any delay. */
    STREAM_PERIOD_TICKS = 70001,
    STREAM_REQUEST_PERIOD_TICKS = 10000, /* between two requests of a connection, in the mean */
    STREAM_REQUEST_TIMEOUT_TICKS = 5000,
    STREAM_RTO_TICKS = 200,
};

/* Ticks with operations, and how many. First the stops, then the starts of a tick. */
struct stream_tick {
    uint32_t tick; /* after the period's beginning */
    uint32_t stops;
    uint32_t starts;
};

/* Treat as read-only. */
struct stream {
    uint32_t ids;
    uint64_t max_delay_ticks;
    struct workload_start *initial; /* what is pending before the first period */
    size_t initial_count;
    struct stream_tick *ticks; /* the last is STREAM_PERIOD_TICKS, without operations */
    size_t tick_count;
    uint32_t *stops;
    size_t stop_count;
    struct workload_start *starts;
    size_t start_count;
    struct workload_expiry *expiries; /* of each period but the first, by tick */
    size_t expiry_count;
    struct workload_expected expected; /* the same in sum */
    uint64_t pending;                  /* timers at the end of each period but the first */
};

enum stream_kind {
    STREAM_IDLE_RESET,   /* one timer a connection: 30 to 60 s, restarted about every 10 s */
    STREAM_MIXED_SERVER, /* three: that one, a request's, a retransmission's */
    STREAM_KINDS
};

/* The stream for `connections`, from the cache. NULL for want of memory. */
const struct stream *stream_get(enum stream_kind kind, uint32_t connections);

enum {
    HOLD_MEAN_TICKS = 6000,
    HOLD_WARM_UP_TICKS = 20000,
    HOLD_STALL_TICKS = STREAM_PERIOD_TICKS,
    HOLD_TABLE_BITS = 12,
};

/* The classic increment distributions of the event-list literature. X(code, word, what) */
#define HOLD_INCREMENTS_MAP(X)                                                                     \
    X(HOLD_EXPONENTIAL, "exponential", "exponential")                                              \
    X(HOLD_UNIFORM, "uniform", "uniform from 0 to twice the mean")                                 \
    X(HOLD_BIASED, "biased", "uniform from 0.9 to 1.1 of the mean")                                \
    X(HOLD_BIMODAL, "bimodal", "nine in ten up to 0.95 of the mean, one in ten 9.5 more")          \
    X(HOLD_TRIANGULAR, "triangular", "triangular from 0 to 1.5 of the mean")

enum hold_increments {
#define HOLD_INCREMENTS_ENUM(code, word, what) code,
    HOLD_INCREMENTS_MAP(HOLD_INCREMENTS_ENUM)
#undef HOLD_INCREMENTS_ENUM
        HOLD_INCREMENTS
};

/* A stretch of a hold: so many ticks, in which these timers fire. */
struct hold_stretch {
    uint32_t ticks;
    struct workload_expected expected;
    size_t first_expiry;
};

/* The hold model: each expiry starts its timer again. Treat as read-only. */
struct hold {
    uint32_t n;
    uint64_t max_delay_ticks;
    uint32_t delays[1 << HOLD_TABLE_BITS]; /* quantiles of the distribution, each as likely */
    uint32_t *initial;                     /* first delay by id: the stationary distribution */
    struct hold_stretch warm_up;
    struct hold_stretch timed;
    struct hold_stretch stall;
    struct workload_expiry *expiries; /* in all three, by tick after the beginning */
    size_t expiry_count;
};

/* The delay that follows upon the expiry of `id` at `tick`, by their workload_mix: it does not
 * depend on the order in which a tick's timers fire, so that all structures do the same work. */
static inline uint32_t hold_delay(const struct hold *hold, uint64_t mixed)
{
    return hold->delays[mixed >> (64 - HOLD_TABLE_BITS)];
}

/* The hold model of `n` timers, from the cache. NULL for want of memory. */
const struct hold *hold_get(enum hold_increments increments, uint32_t n);

#endif
