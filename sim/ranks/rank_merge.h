/* rank_merge.h: what the ranks of a replay found, as one. */
#ifndef SIM_RANK_MERGE_H
#define SIM_RANK_MERGE_H

#include "simulate_ranks.h"

/* Adds what a pass has found to a rank's figures. */
void rank_figures_add(struct rank_figures *figures, enum replay_pass pass,
                      const struct replay_result *result);

/* What a rank found joins what those before it did; to be called for each, from 0 on. Counts and
 * memory are sums, histograms are merged, and the time is that of the slowest, for they run side by
 * side. What one got wrong, all did. */
void rank_merge(struct replay_result *all, const struct replay_result *one, uint32_t rank);

/* The same of how it ended: the first that did not end well says how; before all others one that
 * failed for no structure's fault. */
void rank_merge_outcome(struct child_outcome *all, const struct child_outcome *one, uint32_t rank);

#endif
