/*
 * mpi_post.h: the ranks of an MPI job, between which a group's messages go. The only room that knows
 * of MPI.
 */
#ifndef SIM_MPI_POST_H
#define SIM_MPI_POST_H

#include "rank_group.h"

/* A post that joins the job which mpirun has started; without one, a job of one rank. It leaves
 * when all ranks want to; if some do not for a few seconds, because they wait for this one, it ends
 * the whole job. */
struct rank_post mpi_post(void);

/* For the supervisor of the process that joined, after its end with `status`, as of waitpid: if it
 * ended without leaving, as one that was killed does, print which rank it was, and what helps, and
 * return true. */
bool mpi_post_end(const struct rank_post *post, const char *program, int status);

#endif
