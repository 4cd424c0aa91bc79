#include "judge.h"

#include "memory.h"
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

/* Runs are not in random order if their neighbours are closer than in all but this share of random
 * orders. In interleaved rounds, a remaining drift favours neither side, and this is only a
 * precaution; with sides measured separately, only this test shows a drift. */
#define SERIAL_P_PAIRED   0.01
#define SERIAL_P_UNPAIRED 0.1

/* Rounds are skipped only if there are at least this many, and if they exceed those of the shortest
 * quarter by more than QUIET_REACH times the range of these: about two standard deviations above
 * the mean without disturbances. */
#define QUIET_ROUNDS_FROM 12u
#define QUIET_REACH       2.2

/* The logarithms. `positive` is cleared if one has none. */
static double *logarithms(const double *values, size_t count, bool *positive)
{
    double *logs = memory_new(count + 1, sizeof *logs);
    for (size_t i = 0; i < count; i++) {
        *positive = *positive && values[i] > 0 && isfinite(values[i]);
        logs[i] = *positive ? log(values[i]) : 0;
    }
    return logs;
}

/* How far the logarithms spread, if they are not in random order; 0 if they are. */
static double drift_of(const double *logs, size_t count, double serial_p)
{
    if (stats_serial(logs, count) >= serial_p) {
        return 0;
    }
    double least = logs[0];
    double most = logs[0];
    for (size_t i = 1; i < count; i++) {
        least = fmin(least, logs[i]);
        most = fmax(most, logs[i]);
    }
    return most - least;
}

static void set_shift(struct judgement *judgement, const struct stats_shift *shift)
{
    judgement->change = expm1(shift->estimate);
    judgement->low = expm1(shift->low);
    judgement->high = expm1(shift->high);
    judgement->p = shift->p;
}

/* False, with the verdict set, if there are too few runs or a value is no time. */
static bool begin(struct judgement *judgement, size_t base_count, size_t other_count, bool positive)
{
    bool few = base_count < JUDGE_RUNS_MIN || other_count < JUDGE_RUNS_MIN;
    *judgement = (struct judgement){.obstacle = few         ? JUDGE_FEW_RUNS
                                                : !positive ? JUDGE_NOT_POSITIVE
                                                            : JUDGE_CLEAR,
                                    .p = 1};
    return judgement->obstacle == JUDGE_CLEAR;
}

/* Leaves the ratios of the rounds in which the machine was not disturbed; returns how many. How
 * long a round took counts both sides alike, so that it cannot favour one. Disturbances only ever
 * make rounds longer: how far quiet ones lie apart is seen from the shorter ones. */
static void keep_quiet_rounds(double *ratios, const double *base_logs, size_t *count)
{
    size_t all = *count;
    if (all < QUIET_ROUNDS_FROM) {
        return;
    }
    double *lengths = memory_new(all, sizeof *lengths);
    double *sorted = memory_new(all, sizeof *sorted);
    for (size_t i = 0; i < all; i++) {
        lengths[i] = ratios[i] + 2 * base_logs[i]; /* the logarithm of both, multiplied */
        sorted[i] = lengths[i];
    }
    qsort(sorted, all, sizeof *sorted, stats_ascending);
    double quarter = sorted[all / 4];
    double most = fmax(quarter + QUIET_REACH * (quarter - sorted[0]), sorted[all / 2]);
    *count = 0;
    for (size_t i = 0; i < all; i++) {
        if (lengths[i] <= most) {
            ratios[(*count)++] = ratios[i];
        }
    }
    free(lengths);
    free(sorted);
}

static void set_drift(struct judgement *judgement, double drift,
                      const struct judge_settings *settings, double *margin)
{
    *margin = log1p(settings->min_effect) + drift;
    judgement->drift = expm1(drift);
    judgement->min_effect = expm1(*margin);
}

void judge_paired(const double *base, const double *other, size_t count,
                  const struct judge_settings *settings, struct judgement *judgement)
{
    bool positive = true;
    double *base_logs = logarithms(base, count, &positive);
    double *ratios = logarithms(other, count, &positive);
    if (begin(judgement, count, count, positive)) {
        struct stats_shift shift;
        double margin;
        size_t quiet = count;
        for (size_t i = 0; i < count; i++) {
            ratios[i] -= base_logs[i];
        }
        keep_quiet_rounds(ratios, base_logs, &quiet);
        judgement->disturbed = count - quiet;
        set_drift(judgement, drift_of(ratios, quiet, SERIAL_P_PAIRED), settings, &margin);
        stats_paired_shift(ratios, quiet, settings->confidence, margin, &shift);
        set_shift(judgement, &shift);
    }
    free(base_logs);
    free(ratios);
}

void judge_unpaired(const double *base, size_t base_count, const double *other, size_t other_count,
                    const struct judge_settings *settings, struct judgement *judgement)
{
    bool positive = true;
    double *base_logs = logarithms(base, base_count, &positive);
    double *other_logs = logarithms(other, other_count, &positive);
    if (begin(judgement, base_count, other_count, positive)) {
        struct stats_shift shift;
        double margin;
        set_drift(judgement,
                  fmax(drift_of(base_logs, base_count, SERIAL_P_UNPAIRED),
                       drift_of(other_logs, other_count, SERIAL_P_UNPAIRED)),
                  settings, &margin);
        stats_unpaired_shift(base_logs, base_count, other_logs, other_count, settings->confidence,
                             margin, &shift);
        set_shift(judgement, &shift);
    }
    free(base_logs);
    free(other_logs);
}
