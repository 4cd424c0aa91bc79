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
 * A difference must be more than chance explains, and more than `min_effect`: what is asked is how
 * probable the measurements would be if the true change were that small. Runs that follow one
 * another more closely than chance (the machine slowed down, or recovered) say less than their
 * number promises: such runs are taken together in blocks, as long as it takes for the blocks to be
 * in random order; with too few blocks left there is no verdict.
 */
#ifndef SIM_JUDGE_H
#define SIM_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

/* Fewer runs on either side are never called a difference. */
#define JUDGE_RUNS_MIN 5u

enum judge_obstacle {
    JUDGE_CLEAR,        /* there is a probability */
    JUDGE_FEW_RUNS,     /* fewer than JUDGE_RUNS_MIN on a side */
    JUDGE_NOT_POSITIVE, /* a time is not a positive number */
    JUDGE_DRIFT         /* the runs are in no random order, in blocks either */
};

struct judge_settings {
    double confidence; /* of the interval, such as 0.95 */
    double min_effect; /* as a share, such as 0.01; not negative */
};

struct judgement {
    enum judge_obstacle obstacle;
    size_t block;       /* runs that were taken together, 1 if each stands for itself */
    size_t base_values; /* what is left then; of pairs, their number is both */
    size_t other_values;
    double change; /* this and the interval are meaningful if JUDGE_CLEAR */
    double low;    /* -1 if there are too few values for an interval */
    double high;   /* likewise infinite */
    double p;      /* two-sided; 1 unless JUDGE_CLEAR */
};

/* Run k of `base` belongs to run k of `other`. False if out of memory. */
bool judge_paired(const double *base, const double *other, size_t count,
                  const struct judge_settings *settings, struct judgement *judgement);

/* Runs of each side in the order in which they were made. False if out of memory. */
bool judge_unpaired(const double *base, size_t base_count, const double *other, size_t other_count,
                    const struct judge_settings *settings, struct judgement *judgement);

#endif
