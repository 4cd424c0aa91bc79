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

/* Of what keeps to all limits but that on lateness, the one that works least; SIZE_MAX: none. */
static size_t find_later(const struct tuner *tuner)
{
    const struct tune_candidate *candidates = tuner->result->candidates;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < tuner->result->candidate_count; i++) {
        if (candidates[i].counted && candidates[i].only_late && !isnan(candidates[i].cost) &&
            (least == SIZE_MAX || candidates[i].cost < candidates[least].cost)) {
            least = i;
        }
    }
    return least;
}

/* Names what a wider tolerance would allow, if it has shown that it gains by it; or, where nothing
 * keeps to the limits, that there is something. */
static void judge_later(struct tuner *tuner, size_t index)
{
    struct tune_result *result = tuner->result;
    const struct tune_candidate *later = index != SIZE_MAX ? &result->candidates[index] : NULL;
    if (later == NULL || !later->counted || !later->only_late) {
        return;
    }
    if (result->best == NULL) {
        result->later = later;
    } else if (isnan(result->best->ns)) {
        result->later = later->cost < result->best->cost ? later : NULL;
    } else if (compare_runs(result->best, later, &result->later_difference)) {
        const struct judgement *difference = &result->later_difference;
        result->later_judged = difference->p <= 1 - CONFIDENCE && difference->change < 0;
        result->later = result->later_judged ? later : NULL;
    }
}

bool tuner_compete(struct tuner *tuner, struct error *error)
{
    size_t structures = tuner->request->structures->count;
    size_t *finals = malloc((structures + 2) * sizeof *finals);
    if (finals == NULL) {
        return error_set(error, "out of memory");
    }
    bool good = true;
    size_t later = find_later(tuner);
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
        size_t running = count;
        if (later != SIZE_MAX) {
            finals[running++] = later;
        }
        good = tuner_run(tuner, finals, running, TUNE_TIMED, STALL_RUNS, true, error);
        double left = tuner->request->budget_seconds - tuner_seconds(tuner);
        double runs = left / (tuner->pass_seconds * (double)(running + 1));
        runs = runs < FINAL_RUNS_MIN ? FINAL_RUNS_MIN : runs;
        runs = runs > FINAL_RUNS_MAX ? FINAL_RUNS_MAX : runs;
        good = good && tuner_run(tuner, finals, running, TUNE_FINAL, (unsigned)runs, false, error);
        tuner_sort_by_time(tuner, finals, count);
        if (good && tune_candidate_fits(&tuner->result->candidates[finals[0]])) {
            choose(tuner, finals, count);
        }
    }
    judge_later(tuner, later);
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
    size_t finals[FINAL_STRUCTURES + 1];
    size_t count = 0;
    size_t later = find_later(tuner);
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
    if (later != SIZE_MAX) {
        finals[count++] = later;
    }
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
    judge_later(tuner, later);
    return good;
}
