/*
 * trace_ids.h: which timers a trace names. Whoever replays a trace keeps room for every id below
 * `ids`, as a server does for its table of connections. Where something else numbered the timers
 * (pointers, ports, hashes cut to 32 bits), that table is nearly empty, and what it costs tells
 * nothing of a server: such ids are numbered again, in ascending order, so that neighbours stay
 * neighbours.
 */
#ifndef SIM_TRACE_IDS_H
#define SIM_TRACE_IDS_H

#include "error.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

/* Ids are sparse if they go beyond the first number, and if fewer than one in so many of those up
 * to the largest is named. */
#define TRACE_IDS_NEVER_SPARSE 1024u
#define TRACE_IDS_SPARSE       16u

struct trace_ids;

/* A set of ids, empty. It takes a bit for each id of a page that holds one, and a few bytes for
 * each page up to the largest. */
struct trace_ids *trace_ids_create(void);

/* NULL is legal. */
void trace_ids_destroy(struct trace_ids *ids);

void trace_ids_add(struct trace_ids *ids, uint32_t id);

/* How many there are. */
uint32_t trace_ids_count(const struct trace_ids *ids);

/* One more than the largest; 0 if there is none. */
uint64_t trace_ids_end(const struct trace_ids *ids);

bool trace_ids_are_sparse(const struct trace_ids *ids);

/* Writes the trace at `path` again to `out_path`, which may be the same, with the n ids in it as 0
 * to n - 1. All else is kept, except that the origin describes the change. On failure nothing is at
 * `path`. */
bool trace_ids_renumber(const char *path, const char *out_path, struct trace_ids *ids,
                        struct error *error);

/* Refuses a trace whose ids a text brought along and which are sparse, with what to do about it,
 * unless that was seen and wanted when the text was read. That a maker counted timers which it does
 * not name is no reason, for they are in the server's table as well. May read the trace, and then
 * goes back to the first block. */
bool trace_ids_check(struct trace_reader *reader, const char *path, struct error *error);

/* What helps where a trace names few of its ids, in words. */
#define TRACE_IDS_REMEDY                                                                           \
    "renumber them: timerlab trace dump FILE | timerlab trace import csv - --ids dense -o NEW"

#endif
