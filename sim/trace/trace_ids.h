/*
 * trace_ids.h: the set of ids that a trace uses. Replays allocate memory for every id below `ids`,
 * like a server's table of connections. If other numbers are used as ids (pointers, ports, hashes
 * cut to 32 bits), that table is nearly empty, and its size says nothing about a server: such ids
 * are renumbered, in ascending order, so that neighbors stay neighbors.
 */
#ifndef SIM_TRACE_IDS_H
#define SIM_TRACE_IDS_H

#include "error.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

/* Ids are sparse if they go beyond the first number, and if fewer than one in TRACE_IDS_SPARSE of
 * those up to the largest is used. */
#define TRACE_IDS_NEVER_SPARSE 1024u
#define TRACE_IDS_SPARSE       16u

/* A set of ids; zero at first. */
struct trace_ids {
    uint64_t *words;  /* a bit for each id; a sparse table; NULL: none was added */
    uint32_t *before; /* of each part of the words: the number of smaller ids, once counted */
    uint32_t count;   /* of ids */
    uint64_t end;     /* one more than the largest id; 0 if there is none */
};

void trace_ids_release(struct trace_ids *ids);

void trace_ids_add(struct trace_ids *ids, uint32_t id);

bool trace_ids_are_sparse(const struct trace_ids *ids);

/* Write the trace at `path` to `out_path`, which may be the same, with its n ids renumbered to 0 ..
 * n - 1. All else is kept, except that the origin describes the change. On failure no file is at
 * `path`. */
bool trace_ids_renumber(const char *path, const char *out_path, struct trace_ids *ids,
                        struct error *error);

/* The remedy for sparse ids. */
#define TRACE_IDS_REMEDY                                                                           \
    "renumber them: timerlab trace dump FILE | timerlab trace import csv - --ids dense -o NEW"

#endif
