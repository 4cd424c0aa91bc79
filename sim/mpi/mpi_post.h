/*
 * mpi_post.h: the ranks of an MPI job, between which a crew's messages go. The only room that knows
 * of MPI.
 */
#ifndef SIM_MPI_POST_H
#define SIM_MPI_POST_H

#include "crew.h"

/* A post that joins the job which mpirun has started; without one, a job of one rank. It leaves
 * when all ranks want to; if some do not for a few seconds, because they wait for this one, it ends
 * the whole job. */
struct crew_post mpi_post(void);

/* Of the process that made the post, once the one that joined is no more: says which rank it was if
 * it has failed without having left, as one that was killed does, and what helps. Frees the post's
 * memory. */
void mpi_post_end(struct crew_post *post, const char *program, bool failed);

#endif
