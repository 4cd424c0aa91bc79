/*
 * stream_player.h: the loops that carry out a stream's operations: starts, stops, and advances with
 * their callbacks. Each is compiled apart for the forms of rows, so that it holds its own work only;
 * with `watch`, a clock is around every call.
 */
#ifndef BENCH_STREAM_PLAYER_H
#define BENCH_STREAM_PLAYER_H

#include "stream.h"
#include "suite.h"
#include "watched.h"

/* A place in a part of the stream. */
struct stream_place {
    const struct stream_piece *piece;
    const struct workload_start *expiry; /* the next that is called back for, and their end */
    const struct workload_start *expiries_end;
    size_t tick;
    size_t stop;
    size_t start;
};

static inline const struct stream *stream_of(const struct fixture *fixture)
{
    return fixture->operations;
}

/* Return a deadline in ticks of the structure. With short ticks, deadlines lie anywhere before the
 * end of their millisecond, so that no level of a hierarchy stays empty. */
static inline __attribute__((always_inline)) uint64_t
deadline_at(uint64_t now, uint32_t id, uint32_t delay_ticks, uint64_t scale)
{
    uint64_t before = (uint64_t)((id ^ delay_ticks) * UINT32_C(0x9E3779B9)) * scale >> 32;
    return scale == 1 ? now + delay_ticks : (now + delay_ticks) * scale - before;
}

/* Start `count` of the stream's first timers, from one on. A fill touches their records, too; a steady
 * state does so only from its warm-up on. */
void play_starts(struct fixture *fixture, size_t from, size_t count, struct watch *watch);

/* Play `count` advances, each with the operations after it. */
void play_piece(struct fixture *fixture, struct stream_place *place, size_t count,
                struct watch *watch);

/* Advance until this number of timers have fired, or to tick `last`. False, with the row given up, if
 * `patient` and that lasts longer than --patience. */
bool play_until(struct fixture *fixture, uint64_t count, uint64_t last, bool patient,
                struct watch *watch);

#endif
