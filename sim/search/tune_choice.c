/* The choice among the first few: by runs side by side, or by counts alone. */
#include "tune_work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINAL_STRUCTURES 4
#define STALL_RUNS       3 /* with latencies */
#define FINAL_RUNS_MIN   9
#define FINAL_RUNS_MAX   25
#define CONFIDENCE       0.95
#define TIE_EFFECT       0.01 /* what is not surely slower by more than this is as fast */

/* How much longer b takes than a, from runs in the same rounds. False if it cannot be told. */
static bool compare_runs(const struct tune_candidate *a, const struct tune_candidate *b,
                         struct judgement *judgement)
{
    static const struct judge_settings settings = {.confidence = CONFIDENCE,
                                                   .min_effect = TIE_EFFECT};
    size_t count = a->run_count < b->run_count ? a->run_count : b->run_count;
    return count > 0 &&
           judge_paired(a->ns_per_event, b->ns_per_event, count, &settings, judgement) &&
           judgement->obstacle == JUDGE_CLEAR;
}

/* Of two that are as fast, whether `a` costs less otherwise; says in what. */
static bool costs_less(const struct tune_candidate *a, const struct tune_candidate *b,
                       const char **what)
{
    if ((double)a->bytes_peak < 0.9 * (double)b->bytes_peak) {
        *what = "memory";
        return true;
    }
    if ((double)b->bytes_peak < 0.9 * (double)a->bytes_peak) {
        return false;
    }
    if ((double)a->wakeups < 0.9 * (double)b->wakeups) {
        *what = "wakeups";
        return true;
    }
    return false;
}

/* The final runs have been made: the fastest, or among what is as fast the cheapest. */
static void choose(struct tuner *tuner, const size_t *finals, size_t count)
{
    struct tune_result *result = tuner->result;
    const struct tune_candidate *best = &result->candidates[finals[0]];
    const struct tune_candidate *fastest = best;
    const char *what = "speed, by a little";
    bool tied = false;
    for (size_t i = 1; i < count && tune_candidate_fits(&result->candidates[finals[i]]); i++) {
        const struct tune_candidate *other = &result->candidates[finals[i]];
        struct judgement judgement;
        if (compare_runs(fastest, other, &judgement) && judgement.p <= 1 - CONFIDENCE) {
            continue;
        }
        tied = true;
        if (costs_less(other, best, &what)) {
            best = other;
        }
    }
    result->best = best;
    for (size_t i = 0; i < count && result->second == NULL; i++) {
        const struct tune_candidate *other = &result->candidates[finals[i]];
        if (other != best && tune_candidate_fits(other)) {
            result->second = other;
        }
    }
    result->certainty = result->second == NULL ? TUNE_ALONE : tied ? TUNE_TIED : TUNE_SURE;
    if (tied) {
        (void)snprintf(result->tie_break, sizeof result->tie_break, "%s",
                       best == fastest && strcmp(what, "speed, by a little") != 0 ? "speed" : what);
    }
    if (result->second != NULL) {
        result->judged = compare_runs(best, result->second, &result->difference);
    }
}

bool tuner_compete(struct tuner *tuner, struct error *error)
{
    size_t structures = tuner->request->structures->count;
    size_t *finals = malloc((structures + 1) * sizeof *finals);
    if (finals == NULL) {
        return error_set(error, "out of memory");
    }
    bool good = true;
    /* Limits on what only these runs show can leave the first few out: then the next few. */
    while (good && tuner->result->best == NULL) {
        size_t count = 0;
        size_t all = tuner_fastest_of_each(tuner, finals);
        for (size_t i = 0; i < all && count < FINAL_STRUCTURES; i++) {
            if (tuner->result->candidates[finals[i]].ns <
                2 * tuner->result->candidates[finals[0]].ns) {
                finals[count++] = finals[i];
            }
        }
        count = count < 2 && all >= 2 ? 2 : count;
        if (count == 0) {
            break;
        }
        tuner_tell(tuner, "running the first few side by side");
        good = tuner_run(tuner, finals, count, TUNE_TIMED, STALL_RUNS, true, error);
        double left = tuner->request->budget_seconds - tuner_seconds(tuner);
        double runs = left / (tuner->pass_seconds * (double)(count + 1));
        runs = runs < FINAL_RUNS_MIN ? FINAL_RUNS_MIN : runs;
        runs = runs > FINAL_RUNS_MAX ? FINAL_RUNS_MAX : runs;
        good = good && tuner_run(tuner, finals, count, TUNE_FINAL, (unsigned)runs, false, error);
        tuner_sort_by_time(tuner, finals, count);
        if (good && tune_candidate_fits(&tuner->result->candidates[finals[0]])) {
            choose(tuner, finals, count);
        }
    }
    free(finals);
    return good;
}

/* The candidate that its counts are the least of; those of one structure are known by its best. */
static size_t least_of_all(const struct tuner *tuner, const bool *taken)
{
    const struct tune_result *result = tuner->result;
    size_t least = SIZE_MAX;
    for (size_t s = 0; s < tuner->request->structures->count; s++) {
        const struct tune_candidate *candidate = &result->candidates[tuner->best[s]];
        if (!taken[s] && tune_candidate_fits(candidate) && !isnan(candidate->cost) &&
            (least == SIZE_MAX || candidate->cost < result->candidates[tuner->best[least]].cost)) {
            least = s;
        }
    }
    return least;
}

bool tuner_choose_by_counts(struct tuner *tuner, struct error *error)
{
    struct tune_result *result = tuner->result;
    bool *taken = calloc(tuner->request->structures->count + 1, sizeof *taken);
    size_t finals[FINAL_STRUCTURES];
    size_t count = 0;
    bool good = taken != NULL || error_set(error, "out of memory");
    while (good && count < FINAL_STRUCTURES) {
        size_t structure = least_of_all(tuner, taken);
        if (structure == SIZE_MAX) {
            break;
        }
        taken[structure] = true;
        finals[count++] = tuner->best[structure];
    }
    free(taken);
    good = good && tuner_run(tuner, finals, count, TUNE_FINAL, 0, false, error);
    for (size_t i = 0; good && i < count; i++) {
        const struct tune_candidate *candidate = &result->candidates[finals[i]];
        if (!tune_candidate_fits(candidate)) {
            continue;
        }
        if (result->best == NULL || candidate->cost < result->best->cost) {
            result->second = result->best;
            result->best = candidate;
        } else if (result->second == NULL || candidate->cost < result->second->cost) {
            result->second = candidate;
        }
    }
    result->certainty = result->second != NULL ? TUNE_COUNTED_ONLY : TUNE_ALONE;
    return good;
}
