/*
 * judge.h: whether repeated measurements of two sides show that one is faster.
 *
 * Times are compared as ratios: the change of a side is its time divided by the base's, minus 1, so
 * +0.05 takes 5 % longer. There are two kinds of evidence:
 *
 *   paired    run k of both sides was made in the same round, so disturbances of a whole round
 *             cancel out (Wilcoxon's signed-rank test of the ratios' logarithms)
 *   unpaired  the sides were measured separately (Wilcoxon's rank-sum test)
 *
 * Of twelve pairs or more, disturbed rounds are skipped: those that took much longer than the
 * shorter ones, both sides taken together. That favours neither side.
 *
 * A difference must be larger than chance explains, and larger than `min_effect`: the test computes
 * how probable the measurements would be if the true change were that small. Runs that are closer
 * to their neighbours than chance explains show that the machine changed meanwhile, perhaps also
 * between the sides: then a difference must also exceed the range of those runs.
 */
#ifndef SIM_JUDGE_H
#define SIM_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

/* Fewer runs on either side are never called a difference. */
#define JUDGE_RUNS_MIN 5u

enum judge_obstacle {
    JUDGE_CLEAR,       /* there is a probability */
    JUDGE_FEW_RUNS,    /* fewer than JUDGE_RUNS_MIN on a side */
    JUDGE_NOT_POSITIVE /* a time is not a positive number */
};

struct judge_settings {
    double confidence; /* of the interval, such as 0.95 */
    double min_effect; /* as a share, such as 0.01; not negative */
};

/* All but the obstacle is meaningful if there is none. */
struct judgement {
    enum judge_obstacle obstacle;
    double change;
    double low; /* the interval; -1 and infinite if there are too few values for one */
    double high;
    double p;          /* two-sided; 1 if there is an obstacle */
    double drift;      /* how much runs differ that are in no random order; 0 if they are in one */
    size_t disturbed;  /* rounds skipped because the machine was disturbed */
    double min_effect; /* the difference had to be larger: the setting and the drift */
};

/* Run k of `base` belongs to run k of `other`. */
void judge_paired(const double *base, const double *other, size_t count,
                  const struct judge_settings *settings, struct judgement *judgement);

/* Runs of each side in the order in which they were made. */
void judge_unpaired(const double *base, size_t base_count, const double *other, size_t other_count,
                    const struct judge_settings *settings, struct judgement *judgement);

#endif
