#include "judge.h"

#include "statistics.h"

#include <math.h>
#include <stdlib.h>

/* Runs are not in random order if their neighbours are closer than in all but this share of random
 * orders. Where rounds were interleaved, what is left of a drift favours neither side, and blocks
 * are only a precaution; where sides were measured apart, it is all that shows a drift. */
#define SERIAL_P_PAIRED   0.01
#define SERIAL_P_UNPAIRED 0.1

/* With fewer blocks their order would show nothing. */
#define BLOCKS_MIN        8u

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

/* Medians of `length` neighbours each; what does not fill a block is left out, at the beginning,
 * where a machine is least settled. `blocks` may be `values`. Returns how many there are. */
static size_t make_blocks(const double *values, size_t count, size_t length, double *blocks)
{
    size_t made = count / length;
    const double *from = values + count % length;
    for (size_t i = 0; i < made; i++) {
        blocks[i] = stats_median(from + i * length, length);
    }
    return made;
}

/* The shortest blocks of `values` that are in random order; 0 if none are. */
static size_t block_length(const double *values, size_t count, double serial_p, double *scratch)
{
    for (size_t length = 1; length == 1 || count / length >= BLOCKS_MIN; length++) {
        size_t made = make_blocks(values, count, length, scratch);
        if (stats_serial(scratch, made) >= serial_p) {
            return length;
        }
    }
    return 0;
}

static void set_shift(struct judgement *judgement, const struct stats_shift *shift)
{
    judgement->change = expm1(shift->estimate);
    judgement->low = expm1(shift->low);
    judgement->high = expm1(shift->high);
    judgement->p = shift->p;
}

static void begin(struct judgement *judgement, size_t base_count, size_t other_count)
{
    *judgement = (struct judgement){.obstacle = JUDGE_CLEAR,
                                    .block = 1,
                                    .base_values = base_count,
                                    .other_values = other_count,
                                    .p = 1};
    if (base_count < JUDGE_RUNS_MIN || other_count < JUDGE_RUNS_MIN) {
        judgement->obstacle = JUDGE_FEW_RUNS;
    }
}

/* The paired test of logarithms of ratios, `blocks` being as many again for scratch. */
static bool judge_ratios(const double *ratios, size_t count, double *blocks,
                         const struct judge_settings *settings, struct judgement *judgement)
{
    size_t length = block_length(ratios, count, SERIAL_P_PAIRED, blocks);
    if (length == 0) {
        judgement->obstacle = JUDGE_DRIFT;
        return true;
    }
    size_t made = make_blocks(ratios, count, length, blocks);
    judgement->block = length;
    judgement->base_values = made;
    judgement->other_values = made;
    struct stats_shift shift;
    if (!stats_paired_shift(blocks, made, settings->confidence, log1p(settings->min_effect),
                            &shift)) {
        return false;
    }
    set_shift(judgement, &shift);
    return true;
}

bool judge_paired(const double *base, const double *other, size_t count,
                  const struct judge_settings *settings, struct judgement *judgement)
{
    bool positive = true;
    double *base_logs = logarithms(base, count, &positive);
    double *other_logs = logarithms(other, count, &positive);
    bool done = base_logs != NULL && other_logs != NULL;
    begin(judgement, count, count);
    if (done && judgement->obstacle == JUDGE_CLEAR) {
        if (!positive) {
            judgement->obstacle = JUDGE_NOT_POSITIVE;
        } else {
            for (size_t i = 0; i < count; i++) {
                other_logs[i] -= base_logs[i];
            }
            done = judge_ratios(other_logs, count, base_logs, settings, judgement);
        }
    }
    free(base_logs);
    free(other_logs);
    return done;
}

bool judge_unpaired(const double *base, size_t base_count, const double *other, size_t other_count,
                    const struct judge_settings *settings, struct judgement *judgement)
{
    bool positive = true;
    double *base_logs = logarithms(base, base_count, &positive);
    double *other_logs = logarithms(other, other_count, &positive);
    double *scratch = malloc((base_count + other_count + 1) * sizeof *scratch);
    bool done = base_logs != NULL && other_logs != NULL && scratch != NULL;
    begin(judgement, base_count, other_count);
    if (done && judgement->obstacle == JUDGE_CLEAR && !positive) {
        judgement->obstacle = JUDGE_NOT_POSITIVE;
    }
    if (done && judgement->obstacle == JUDGE_CLEAR) {
        size_t base_block = block_length(base_logs, base_count, SERIAL_P_UNPAIRED, scratch);
        size_t other_block = block_length(other_logs, other_count, SERIAL_P_UNPAIRED, scratch);
        size_t longer = base_block > other_block ? base_block : other_block;
        if (base_block == 0 || other_block == 0 || base_count / longer < JUDGE_RUNS_MIN ||
            other_count / longer < JUDGE_RUNS_MIN) {
            judgement->obstacle = JUDGE_DRIFT;
        } else {
            judgement->block = longer;
            judgement->base_values = base_count / longer;
            judgement->other_values = other_count / longer;
        }
    }
    if (done && judgement->obstacle == JUDGE_CLEAR) {
        struct stats_shift shift;
        (void)make_blocks(base_logs, base_count, judgement->block, base_logs);
        (void)make_blocks(other_logs, other_count, judgement->block, other_logs);
        done = stats_unpaired_shift(base_logs, judgement->base_values, other_logs,
                                    judgement->other_values, settings->confidence,
                                    log1p(settings->min_effect), &shift);
        if (done) {
            set_shift(judgement, &shift);
        }
    }
    free(base_logs);
    free(other_logs);
    free(scratch);
    return done;
}
