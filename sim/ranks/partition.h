/*
 * partition.h: the partition of one rank: a file with the operations on its own timers, cut out of the
 * trace or generated, and the names of these timers in the whole trace.
 */
#ifndef SIM_PARTITION_H
#define SIM_PARTITION_H

#include "error.h"
#include "gen.h"
#include "temporary_file.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

/* Generated traffic: a number of slices of a workload, in parallel. A slice is the workload for
 * some of the connections, with a seed of its own, so that it does not depend on the rank that
 * generates it; coupled timers are in one slice. */
struct partition_traffic {
    const struct gen_workload *workload;
    uint32_t connections;       /* of all slices */
    uint32_t slice_connections; /* of one, at most */
    double parameters[GEN_PARAMETERS_MAX];
    double seconds;
    uint64_t seed;
};

/* How many slices there are. */
uint32_t partition_slices(const struct partition_traffic *traffic);

/* Treat as opaque but for the path, the header and the names. */
struct partition {
    const char *path;           /* the trace */
    struct trace_header header; /* its own; without an origin it is plain data */
    uint64_t *names;            /* by id: its name in the whole; NULL: the same */
    uint64_t *kept;             /* which of the whole's operations it has; NULL: all, or unknown */
    uint64_t kept_bytes;
    struct temporary own; /* the folder of the partition, and the trace in it */
};

/* Takes partition number `rank` of `ranks` of the trace at `path`; of one, that trace itself. False,
 * with `error` set, if it cannot be divided so, or there is no room. To be closed either way. */
bool partition_cut(struct partition *partition, const char *path, uint32_t rank, uint32_t ranks,
                   struct error *error);

/* The same of traffic: generates the slices rank, rank + ranks, ... with a warm-up of at least this
 * number of ticks. */
bool partition_generate(struct partition *partition, const struct partition_traffic *traffic,
                        uint32_t rank, uint32_t ranks, uint64_t least_warmup_ticks,
                        struct error *error);

/* The timer's name, and the operation's number, in the whole; of generated traffic operations keep
 * those that they have in the partition. */
uint64_t partition_name(const struct partition *partition, uint64_t id);
uint64_t partition_event(const struct partition *partition, uint64_t event);

/* Removes its files. Harmless on one that is zeroed. */
void partition_close(struct partition *partition);

#endif
