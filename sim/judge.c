#include "judge.h"

#include "statistics.h"

#include <math.h>
#include <stdlib.h>

/* Runs are not in random order if their neighbours are closer than in all but this share of random
 * orders. Where rounds were interleaved, what is left of a drift favours neither side, and this is
 * only a precaution; where sides were measured apart, it is all that shows a drift. */
#define SERIAL_P_PAIRED   0.01
#define SERIAL_P_UNPAIRED 0.1

/* The logarithms; NULL if out of memory. `positive` is cleared if one has none. */
static double *logarithms(const double *values, size_t count, bool *positive)
{
    double *logs = malloc((count + 1) * sizeof *logs);
    for (size_t i = 0; i < count && logs != NULL; i++) {
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

/* Few runs, or what is no time, ends it here. */
static void begin(struct judgement *judgement, size_t base_count, size_t other_count)
{
    *judgement = (struct judgement){.obstacle = JUDGE_CLEAR, .p = 1};
    if (base_count < JUDGE_RUNS_MIN || other_count < JUDGE_RUNS_MIN) {
        judgement->obstacle = JUDGE_FEW_RUNS;
    }
}

static void set_drift(struct judgement *judgement, double drift,
                      const struct judge_settings *settings, double *margin)
{
    *margin = log1p(settings->min_effect) + drift;
    judgement->drift = expm1(drift);
    judgement->min_effect = expm1(*margin);
}

bool judge_paired(const double *base, const double *other, size_t count,
                  const struct judge_settings *settings, struct judgement *judgement)
{
    bool positive = true;
    double *base_logs = logarithms(base, count, &positive);
    double *ratios = logarithms(other, count, &positive);
    bool done = base_logs != NULL && ratios != NULL;
    begin(judgement, count, count);
    if (done && judgement->obstacle == JUDGE_CLEAR && !positive) {
        judgement->obstacle = JUDGE_NOT_POSITIVE;
    }
    if (done && judgement->obstacle == JUDGE_CLEAR) {
        struct stats_shift shift;
        double margin;
        for (size_t i = 0; i < count; i++) {
            ratios[i] -= base_logs[i];
        }
        set_drift(judgement, drift_of(ratios, count, SERIAL_P_PAIRED), settings, &margin);
        done = stats_paired_shift(ratios, count, settings->confidence, margin, &shift);
        if (done) {
            set_shift(judgement, &shift);
        }
    }
    free(base_logs);
    free(ratios);
    return done;
}

bool judge_unpaired(const double *base, size_t base_count, const double *other, size_t other_count,
                    const struct judge_settings *settings, struct judgement *judgement)
{
    bool positive = true;
    double *base_logs = logarithms(base, base_count, &positive);
    double *other_logs = logarithms(other, other_count, &positive);
    bool done = base_logs != NULL && other_logs != NULL;
    begin(judgement, base_count, other_count);
    if (done && judgement->obstacle == JUDGE_CLEAR && !positive) {
        judgement->obstacle = JUDGE_NOT_POSITIVE;
    }
    if (done && judgement->obstacle == JUDGE_CLEAR) {
        struct stats_shift shift;
        double margin;
        set_drift(judgement,
                  fmax(drift_of(base_logs, base_count, SERIAL_P_UNPAIRED),
                       drift_of(other_logs, other_count, SERIAL_P_UNPAIRED)),
                  settings, &margin);
        done = stats_unpaired_shift(base_logs, base_count, other_logs, other_count,
                                    settings->confidence, margin, &shift);
        if (done) {
            set_shift(judgement, &shift);
        }
    }
    free(base_logs);
    free(other_logs);
    return done;
}
