/*
 * simulate_ranks.h: a partitioned replay. Each rank, a process on this machine or another, has a
 * partition of the timers and a structure of its own; the merged results are those of a normal
 * pass.
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

/* The results of a rank in the passes of one structure. */
struct rank_figures {
    char host[64];
    uint32_t timers;        /* of its partition */
    uint64_t events;        /* operations carried out */
    uint64_t fired;         /* up to the end tick */
    uint64_t bytes_peak;    /* of the structure */
    uint64_t window_events; /* of the throughput runs so far */
    uint64_t window_ns;     /* of all of them */
};

/* The ranks, one for each partition. */
struct simulate_ranks {
    uint32_t ranks;
    bool in_turn; /* one after the other: the time of all is projected, not measured */

    /* The traces are not files, but described by `open`. */
    bool generated;

    /* Make the partitions of trace number `trace` of the request. A generated trace is described in
     * *whole, which lives until the next call, and by a checksum of its parameters. */
    bool (*open)(void *ctx, size_t trace, struct trace_header *whole, uint64_t *checksum,
                 struct error *error);

    /* Run a pass of an entrant, as simulate_entrant numbers them, on each rank, and merge the
     * results (rank_merge). `by_rank` gets an element for each rank. */
    bool (*pass)(void *ctx, size_t entrant, enum replay_pass pass, struct replay_result *result,
                 struct child_outcome *outcome, struct rank_figures *by_rank, struct error *error);

    void *ctx;
};

#endif
