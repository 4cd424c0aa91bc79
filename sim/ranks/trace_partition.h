/*
 * trace_partition.h: a trace partitioned among several replays, each with timers of its own. Timers
 * connected by reactions stay together, however many others are between them, so that reactions
 * happen where the timer expires. A caller that knows more, such as the number of timers per
 * connection, can keep those together, too. All callers get the same partition.
 *
 * A partition is a trace: the whole's operations on its timers, at their ticks, in their order. Its
 * ids are dense again, in the whole's order.
 */
#ifndef SIM_TRACE_PARTITION_H
#define SIM_TRACE_PARTITION_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_partition_plan {
    const char *path;    /* of the whole */
    uint32_t partitions; /* at least 1 */
    uint32_t partition;  /* which of them, from 0 */
    uint32_t block_ids;  /* ids of one connection, from a multiple of it on; 1: unknown */
};

struct trace_partition {
    uint64_t *names; /* of each of its ids the whole's, ascending */
    uint32_t ids;
    uint64_t *kept; /* a bit for each operation of the whole: whether it is the partition's */
    uint64_t kept_words;
};

/* Writes a partition to `path`. False, with `error` set, if the trace cannot be read, if it has fewer
 * groups of timers than there are to be partitions, or memory is short; then nothing is at `path`. The
 * partition is to be freed either way. */
bool trace_partition_write(const struct trace_partition_plan *plan, const char *path,
                           struct trace_partition *partition, struct error *error);

/* The number in the whole of the partition's operation number `event`, of the bits `kept`. UINT64_MAX
 * if it has none such. */
uint64_t trace_partition_event(const uint64_t *kept, uint64_t kept_words, uint64_t event);

/* Harmless on a zeroed one. */
void trace_partition_free(struct trace_partition *partition);

#endif
