/*
 * rank_group.h: the ranks of a partitioned replay. All get the same orders, each executes them on its
 * partition, and the answers are merged. Ranks are processes connected by `post`, with this process
 * as rank 0; or this process plays all of them in turn: then the needs of each are measured, and
 * those of as many machines together are a projection.
 */
#ifndef SIM_RANK_GROUP_H
#define SIM_RANK_GROUP_H

#include "error.h"
#include "partition.h"
#include "simulate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How bytes get from rank to rank: all of a message, in their order. False, with `error` set, if
 * that fails, for good. */
struct rank_post {
    /* Finds the others, and sets rank and ranks: before all else, in the process that goes on. */
    void (*join)(struct rank_post *post);
    /* Leaves them with the status that this one has come to; may wait for them, or end them. */
    void (*leave)(void *ctx, int status);
    uint32_t rank; /* this process's; the first, 0, commands the others */
    uint32_t ranks;
    bool (*send)(void *ctx, uint32_t to, const void *data, size_t bytes, struct error *error);
    bool (*receive)(void *ctx, uint32_t from, void *data, size_t bytes, struct error *error);
    void *ctx;
};

struct rank_plan {
    const struct simulate_request *request;  /* the same on every rank */
    const struct partition_traffic *traffic; /* the replayed traffic; NULL: the request's traces */
    const struct rank_post *post;            /* NULL: in turn */
    uint32_t in_turn;                        /* number of ranks, then */
};

struct rank_group;

/* Open the ranks of `plan`, which must outlive them, with all its pointers. */
struct rank_group *rank_group_open(const struct rank_plan *plan);

/* Return the callbacks for `simulate`, for rank 0, valid until close. */
const struct simulate_ranks *rank_group_ranks(const struct rank_group *group);

/* Of the others: does what rank 0 says, until it says that this was all. False, with `error` set,
 * if nothing is heard of it. */
bool rank_group_serve(struct rank_group *group, struct error *error);

/* Send the end of work to the others. Harmless on NULL. */
void rank_group_close(struct rank_group *group);

#endif
