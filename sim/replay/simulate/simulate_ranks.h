/*
 * simulate_ranks.h: a replay in shares. Each rank, a process on this machine or another, has the
 * timers of its share and a structure of its own; what they find is merged, and is from there on a
 * pass like any other.
 */
#ifndef SIM_SIMULATE_RANKS_H
#define SIM_SIMULATE_RANKS_H

#include "child.h"
#include "error.h"
#include "replay.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a rank found in the passes of one structure on its share. */
struct rank_figures {
    char host[64];
    uint32_t timers;        /* of its share */
    uint64_t events;        /* operations carried out */
    uint64_t fired;         /* up to the end tick */
    uint64_t bytes_peak;    /* of the structure */
    uint64_t window_events; /* of the throughput runs so far */
    uint64_t window_ns;     /* of all of them */
};

/* Where a trace is replayed in shares, a rank to each, and not here. */
struct simulate_ranks {
    uint32_t ranks;
    bool in_turn; /* one after the other: what they take together is projected, not measured */

    /* The traces are not files: `open` says all that there is to know of them. */
    bool generated;

    /* Makes the shares of a trace, number `trace` of the request. One that is generated is
     * described in *whole, which lives until the next call, and by a checksum of what it was made
     * by. */
    bool (*open)(void *ctx, size_t trace, struct trace_header *whole, uint64_t *checksum,
                 struct error *error);

    /* Runs a pass of contender number `subject`, or, if there are not so many, of the floor, on
     * each rank, and merges what they found (rank_merge). `by_rank` gets an element a rank. */
    bool (*pass)(void *ctx, size_t subject, enum replay_pass pass, struct replay_result *result,
                 struct child_outcome *outcome, struct rank_figures *by_rank, struct error *error);

    void *ctx;
};

#endif
