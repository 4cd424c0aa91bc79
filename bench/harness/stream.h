/*
 * stream.h: the operations of steady states, made from a fixed seed, and equal for all structures.
 * A tick stands for a millisecond. A stream begins at tick 0 with timers with the remaining delays
 * of a renewal process; then follows a warm-up, which is generated again for every structure,
 * because all of it would be gigabytes; then two stretches that are stored: a timed one, and one in
 * which every call is watched. The generator computes the expiries itself, without a reference
 * structure.
 */
#ifndef BENCH_STREAM_H
#define BENCH_STREAM_H

#include "workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STREAM_STEP_MAX = 1000,            /* ticks that one advance passes over */
    STREAM_EVERY_TICKS = 10000,        /* between two restarts of a timer, in the mean */
    STREAM_WARM_MAX_TICKS = 100000000, /* of the warm-up */
    STREAM_WARM_AUTO = STREAM_WARM_MAX_TICKS + 1,
    STREAM_DELAY_MAX_TICKS = 1 << 30,
    STREAM_SAW_TEETH = 20, /* of DELAYS_SAW */
    STREAM_SAW_TICKS = 3000,
    STREAM_SHARE = 1000000, /* shares are in millionths */
    STREAM_TABLE_BITS =
        12, /* small enough for the innermost cache next to the measured structure */
};

/* How long timers run, and which timer comes next; axes.c has the words. */
enum stream_delays {
    DELAYS_IDLE,
    DELAYS_MINUTE,
    DELAYS_EXP30,
    DELAYS_BIMODAL,
    DELAYS_HOUR,
    DELAYS_CONST,
    DELAYS_SAW,
    DELAYS_RECORDED,
    DELAYS_EXP6, /* from here on with a mean of 6 s */
    DELAYS_UNIFORM6,
    DELAYS_BIASED6,
    DELAYS_BIMODAL6,
    DELAYS_TRIANGULAR6, /* up to here */
    DELAYS_TTL,
    DELAYS_KEEPALIVE,
};
enum stream_order { STREAM_RANDOM, STREAM_FORWARD, STREAM_BACKWARD, STREAM_HOT, STREAM_ZIPF };

/* The timers of a connection. */
enum stream_timers {
    STREAM_TIMER,    /* one */
    STREAM_REQUESTS, /* idle; request, retransmission: 5 s, 200 ms, most of them stopped */
    STREAM_SEGMENTS, /* TCP: keep-alive; delayed acknowledgement, retransmission: 40, 300 ms */
};

/* The parameters of a stream, all of one type, so that keys can be compared. */
struct stream_key {
    uint32_t connections;
    uint32_t recorded;    /* connections are copies of the recording, which has their operations */
    uint32_t timers;      /* of a connection: enum stream_timers */
    uint32_t fill;        /* all are started at once, and then drained; else a steady state */
    uint32_t every_ticks; /* each connection is heard from so often; 0: never */
    uint32_t delays;      /* enum stream_delays */
    uint32_t order;       /* enum stream_order */
    uint32_t earlier;     /* millionths of the restarts that go to an earlier tick */
    uint32_t callback;    /* each expiry starts its timer again, in its callback */
    uint32_t step_ticks;  /* of an advance */
    uint32_t tick_ms;     /* length of a tick: all delays and intervals are divided by it */
    uint32_t warm_ticks;  /* or STREAM_WARM_AUTO */
    uint32_t frozen;      /* its parts are as long as they are, even where figures are not wanted */
};

/* Operations that somebody has recorded, in ticks of its own. */
struct stream_recording {
    uint32_t timers;
    uint32_t period_ticks;
    /* By tick, each timer at most once; a delay of 0 is a stop. */
    struct workload_start *operations;
    size_t operation_count;
    size_t *first; /* of each tick up to the period's end */
};

/* From now on there is a recording, which outlives all streams. NULL: there is none, as before. */
void stream_set_recording(const struct stream_recording *recording);
const struct stream_recording *stream_recording(void);

/* One advance, and the operations after it: first the stops. */
struct stream_tick {
    uint32_t tick;
    uint32_t stops;
    uint32_t starts;
};

/* Operations one after the other. */
struct stream_piece {
    struct stream_tick *ticks;
    size_t tick_count;
    size_t tick_room;
    uint32_t *stops;
    size_t stop_count;
    size_t stop_room;
    struct workload_start *starts;
    size_t start_count;
    size_t start_room;
};

/* A part of the stream's life, from one tick to another. */
struct stream_part {
    uint32_t from_tick;
    uint32_t to_tick;
    struct stream_piece piece;         /* empty for the warm-up */
    struct workload_expected expected; /* the expiries of an exact structure */
    struct workload_start *expiries;   /* their list, by tick; NULL for the warm-up */
    uint64_t pending;                  /* at its end */
};

/* Treat as read-only. */
struct stream {
    struct stream_key key;
    uint32_t ids;
    uint32_t max_delay_ticks;
    uint32_t delays[1 << STREAM_TABLE_BITS]; /* quantiles, each as likely */
    struct workload_start *initial;          /* the starts at tick 0 */
    size_t initial_count;
    struct stream_part warm;
    struct stream_part timed;
    struct stream_part watched;
    uint64_t checksum;        /* XXH3 of all operations up to here, those of the warm-up too */
    struct stream_rest *rest; /* of a steady state */
};

/* Fill in the quantiles of the stream's delays, and the longest. */
void stream_make_delays(struct stream *stream);

/* The delay that follows upon the expiry of `id` at `tick`, by their workload_mix: it does not
 * depend on the order in which a tick's timers fire, so that all structures do the same work. */
static inline uint32_t stream_next_delay(const struct stream *stream, uint64_t mixed)
{
    return stream->delays[mixed >> (64 - STREAM_TABLE_BITS)];
}

/* The stream, from the cache. */
const struct stream *stream_get(const struct stream_key *key);

/* Part `index` of a steady state after those that are watched, as long as the timed part; made when
 * it is first asked for. Valid as long as the stream. */
const struct stream_part *stream_more(const struct stream *stream, uint32_t index);

/* Makes a stream's warm-up again, piece by piece. */
struct stream_source;

struct stream_source *stream_source_new(const struct stream *stream);

/* The operations up to `to_tick`, after those that were asked for before; valid until the next
 * call. */
const struct stream_piece *stream_source_piece(struct stream_source *source, uint32_t to_tick);

void stream_source_free(struct stream_source *source);

#endif
