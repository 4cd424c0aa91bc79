/*
 * crew.h: the ranks of a replay in shares. All get the same commands, each does it with its share, and
 * what they answer is merged. They are processes that post brings together, this being one of them;
 * or there is only this one, which plays them all in turn: what each needs is then measured, and
 * what they need together, on as many machines, is a projection.
 */
#ifndef SIM_CREW_H
#define SIM_CREW_H

#include "error.h"
#include "share.h"
#include "simulate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How bytes get from rank to rank: all of a message, in their order. False, with `error` set, if
 * that fails, for good. */
struct crew_post {
    /* Finds the others, and sets rank and ranks: before all else, in the process that goes on. */
    void (*join)(struct crew_post *post);
    /* Leaves them with the status that this one has come to; may wait for them, or end them. */
    void (*leave)(void *ctx, int status);
    uint32_t rank; /* this process's; the first, 0, commands the others */
    uint32_t ranks;
    bool (*send)(void *ctx, uint32_t to, const void *data, size_t bytes, struct error *error);
    bool (*receive)(void *ctx, uint32_t from, void *data, size_t bytes, struct error *error);
    void *ctx;
};

struct crew_plan {
    const struct simulate_request *request; /* the same on every rank */
    const struct share_traffic *traffic;    /* what is replayed; NULL: the request's traces */
    const struct crew_post *post;           /* NULL: in turn */
    uint32_t in_turn;                       /* number of ranks, then */
};

struct crew;

/* `plan`, and what it points to, must outlive it. */
struct crew *crew_open(const struct crew_plan *plan);

/* Of rank 0: what `simulate` wants of the ranks, as long as the crew lives. */
const struct simulate_ranks *crew_ranks(const struct crew *crew);

/* Of the others: does what rank 0 says, until it says that this was all. False, with `error` set,
 * if nothing is heard of it. */
bool crew_serve(struct crew *crew, struct error *error);

/* Tell the others that there is no more work. Harmless on NULL. */
void crew_close(struct crew *crew);

#endif
