/*
 * judge.h: whether repeated measurements of two sides show that one is faster.
 *
 * Times are compared as ratios: the change of a side is what its times are to those of the base,
 * less 1, so that +0.05 takes 5 % longer. Two kinds of evidence:
 *
 *   paired    run k of both sides was made in the same round: what the machine did to a whole round
 *             does not matter (Wilcoxon's signed-rank test of the ratios' logarithms)
 *   unpaired  the sides were measured each for itself (Wilcoxon's rank-sum test)
 *
 * Of twelve pairs and more those are left out in which the machine was disturbed: rounds that took
 * much longer than the shorter ones do, both sides taken together. That favours neither side, and a
 * disturbance that hits one side of a round says nothing of the other rounds.
 *
 * A difference must be more than chance explains, and more than `min_effect`: what is asked is how
 * probable the measurements would be if the true change were that small. Runs that follow one
 * another more closely than chance show that the machine changed while they were made, and it may
 * have changed as much between the sides: then a difference must also be larger than all that those
 * runs differ among themselves.
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
    size_t disturbed;  /* rounds that were left out because the machine was disturbed */
    double min_effect; /* what the difference had to be larger than: the setting and the drift */
};

/* Run k of `base` belongs to run k of `other`. */
void judge_paired(const double *base, const double *other, size_t count,
                  const struct judge_settings *settings, struct judgement *judgement);

/* Runs of each side in the order in which they were made. */
void judge_unpaired(const double *base, size_t base_count, const double *other, size_t other_count,
                    const struct judge_settings *settings, struct judgement *judgement);

#endif
