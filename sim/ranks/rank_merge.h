/* rank_merge.h: merge the results of the ranks of a replay. */
#ifndef SIM_RANK_MERGE_H
#define SIM_RANK_MERGE_H

#include "simulate.h"

/* Add the results of a pass to a rank's figures. */
void rank_figures_add(struct rank_figures *figures, enum replay_pass pass,
                      const struct replay_result *result);

/* Merge a rank's results into those of the ranks before it; call it for each rank, from 0 on.
 * Counts and memory are sums, histograms are merged, and the time is that of the slowest rank,
 * since ranks run in parallel. A fault of one is a fault of all. */
void rank_merge(struct replay_result *all, const struct replay_result *one, uint32_t rank);

/* The same of how it ended: the first that did not end well says how; before all others one that
 * failed for no structure's fault. */
void rank_merge_outcome(struct child_outcome *all, const struct child_outcome *one, uint32_t rank);

#endif
