/*
 * trace_share.h: a trace divided among several replays, each with timers of its own. Timers that
 * causes join stay together, however many others lie between, so that what an expiry causes happens
 * where it fires; whoever knows more, such as how many timers a connection has, can have those kept
 * together too. All who ask divide alike.
 *
 * A share is a trace: the whole's operations on its timers, at their ticks, in their order. Its ids
 * are dense again, in the whole's order.
 */
#ifndef SIM_TRACE_SHARE_H
#define SIM_TRACE_SHARE_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_share_plan {
    const char *path;   /* of the whole */
    uint32_t shares;    /* at least 1 */
    uint32_t share;     /* which of them, from 0 */
    uint32_t block_ids; /* ids of one connection, from a multiple of it on; 1: unknown */
};

struct trace_share {
    uint64_t *names; /* of each of its ids the whole's, ascending */
    uint32_t ids;
    uint64_t *kept; /* a bit for each operation of the whole: whether it is the share's */
    uint64_t kept_words;
    uint32_t groups; /* of the whole: timers that stay together, those alone included */
};

/* Writes a share to `path`. False, with `error` set, if the trace cannot be read, if it has fewer
 * groups of timers than there are to be shares, or memory is short; then nothing is at `path`. The
 * share is to be freed either way. */
bool trace_share_write(const struct trace_share_plan *plan, const char *path,
                       struct trace_share *share, struct error *error);

/* The number in the whole of the share's operation number `event`, of the bits `kept`. UINT64_MAX
 * if it has none such. */
uint64_t trace_share_event(const uint64_t *kept, uint64_t kept_words, uint64_t event);

/* Harmless on a zeroed one. */
void trace_share_free(struct trace_share *share);

#endif
