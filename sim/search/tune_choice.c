/* The choice among the first few: by runs side by side, or by counts alone. */
#include "tune_work.h"

#include "memory.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINAL_STRUCTURES 4
#define STALL_RUNS       3 /* with latencies */
#define FINAL_RUNS_MIN   9
#define FINAL_RUNS_MAX   25
#define CONFIDENCE       0.95
#define ALIKE            1.1 /* so many times the memory, or the wakeups, are about as much */

/* How much longer b takes than a, from runs in the same rounds. False if it cannot be told. */
static bool compare_runs(const struct tune_candidate *a, const struct tune_candidate *b,
                         struct judgement *judgement)
{
    static const struct judge_settings settings = {.confidence = CONFIDENCE,
                                                   .min_effect = TUNE_PRACTICAL};
    size_t count = a->run_count < b->run_count ? a->run_count : b->run_count;
    if (count == 0) {
        return false;
    }
    judge_paired(a->ns_per_event, b->ns_per_event, count, &settings, judgement);
    return judgement->obstacle == JUDGE_CLEAR;
}

/* Whether it is to be looked at beside what is left: what comes late leaves work undone, and is not
 * as good as what is as fast and exact. */
static bool leaves_less(const struct tune_candidate *candidate, bool exact)
{
    return !exact || firing_is_exact(&candidate->firing);
}

/* The memory that it goes by; what keeps some uncounted has no figure. */
static double bytes_of(const struct tune_candidate *candidate)
{
    bool hidden = (candidate->contender.timed->capabilities & TL_CAP_OWN_MEMORY) != 0;
    return hidden ? (double)UINT64_MAX : (double)candidate->bytes_peak;
}

/* Of some that are as good in time or work, the one to take: what is exact, of these the one with
 * the least memory, or else the fewest wakeups, with a tenth more counting as no more, or else the
 * plainest options, or else the first that was named. Figures without noise, so that the same comes
 * out again. */
static const struct tune_candidate *cheapest(const struct tuner *tuner,
                                             const struct tune_candidate *const *tied, size_t count,
                                             const char **what)
{
    const struct tune_candidate *best = NULL;
    double bytes = INFINITY;
    double wakeups = INFINITY;
    size_t small = 0;
    size_t exact = 0;
    for (size_t i = 0; i < count; i++) {
        exact += firing_is_exact(&tied[i]->firing);
    }
    for (size_t i = 0; i < count; i++) {
        if (leaves_less(tied[i], exact > 0)) {
            bytes = fmin(bytes, bytes_of(tied[i]));
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (leaves_less(tied[i], exact > 0) && bytes_of(tied[i]) <= ALIKE * bytes) {
            wakeups = fmin(wakeups, (double)tied[i]->wakeups);
            small++;
        }
    }
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tune_candidate *it = tied[i];
        if (!leaves_less(it, exact > 0) || bytes_of(it) > ALIKE * bytes ||
            (double)it->wakeups > ALIKE * wakeups) {
            continue;
        }
        left++;
        unsigned oddness = tuner_oddness(tuner, it);
        unsigned best_oddness = best != NULL ? tuner_oddness(tuner, best) : UINT_MAX;
        if (oddness < best_oddness ||
            (oddness == best_oddness && it->structure < best->structure)) {
            best = it;
        }
    }
    *what = exact == 1   ? "the only exact one"
            : small == 1 ? "memory"
            : left == 1  ? "wakeups"
                         : "the plainest";
    return best;
}

/* The final runs have been made: the fastest, or among what is as fast the cheapest. */
static void choose(struct tuner *tuner, const size_t *finals, size_t count)
{
    struct tune_result *result = tuner->result;
    const struct tune_candidate *fastest = &result->candidates[finals[0]];
    const struct tune_candidate **tied = memory_new(count + 1, sizeof *tied);
    const char *what = "";
    size_t tied_count = 0;
    tied[tied_count++] = fastest;
    for (size_t i = 1; i < count && tune_candidate_fits(&result->candidates[finals[i]]); i++) {
        const struct tune_candidate *other = &result->candidates[finals[i]];
        struct judgement judgement;
        if (!compare_runs(fastest, other, &judgement) || judgement.p > 1 - CONFIDENCE) {
            tied[tied_count++] = other;
        }
    }
    result->best = cheapest(tuner, tied, tied_count, &what);
    free((void *)tied);
    for (size_t i = 0; i < count && result->second == NULL; i++) {
        const struct tune_candidate *other = &result->candidates[finals[i]];
        if (other != result->best && tune_candidate_fits(other)) {
            result->second = other;
        }
    }
    result->certainty = result->second == NULL ? TUNE_ALONE
                        : tied_count > 1       ? TUNE_TIED
                                               : TUNE_SURE;
    if (tied_count > 1) {
        (void)snprintf(result->tie_break, sizeof result->tie_break, "%s of %zu", what, tied_count);
    }
    if (result->second != NULL) {
        result->judged = compare_runs(result->best, result->second, &result->difference);
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
    size_t *finals = memory_new(structures + 2, sizeof *finals);
    bool good = true;
    size_t later = find_later(tuner);
    /* Limits on what only these runs show can leave the first few out: then the next few. */
    while (good && tuner->result->best == NULL) {
        size_t count = 0;
        size_t all = tuner_fastest_of_each(tuner, finals);
        double least = all > 0 ? tuner->result->candidates[finals[0]].ns : NAN;
        for (size_t i = 0; i < all; i++) {
            double ns = tuner->result->candidates[finals[i]].ns;
            /* Few runs do not tell who is the fourth, and who has the same figure is the fourth
             * too. */
            if (ns < (count < FINAL_STRUCTURES ? 2 : 1 + 2 * TUNE_PRACTICAL) * least) {
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

static void choose_by_counts(struct tuner *tuner, const size_t *finals, size_t count)
{
    struct tune_result *result = tuner->result;
    const struct tune_candidate *fitting[FINAL_STRUCTURES + 1];
    const struct tune_candidate *tied[FINAL_STRUCTURES + 1];
    const char *what = "";
    double least = INFINITY;
    size_t fitting_count = 0;
    size_t tied_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (tune_candidate_fits(&result->candidates[finals[i]])) {
            fitting[fitting_count++] = &result->candidates[finals[i]];
            least = fmin(least, result->candidates[finals[i]].cost);
        }
    }
    if (fitting_count == 0) {
        return;
    }
    for (size_t i = 0; i < fitting_count; i++) {
        if (fitting[i]->cost <= least * (1 + TUNE_PRACTICAL)) {
            tied[tied_count++] = fitting[i];
        }
    }
    result->best = cheapest(tuner, tied, tied_count, &what);
    for (size_t i = 0; i < fitting_count; i++) {
        if (fitting[i] != result->best &&
            (result->second == NULL || fitting[i]->cost < result->second->cost)) {
            result->second = fitting[i];
        }
    }
}

bool tuner_choose_by_counts(struct tuner *tuner, struct error *error)
{
    struct tune_result *result = tuner->result;
    bool *taken = memory_new(tuner->request->structures->count + 1, sizeof *taken);
    size_t finals[FINAL_STRUCTURES + 1];
    size_t count = 0;
    size_t later = find_later(tuner);
    bool good = true;
    while (count < FINAL_STRUCTURES) {
        size_t structure = least_of_all(tuner, taken);
        if (structure == SIZE_MAX) {
            break;
        }
        taken[structure] = true;
        finals[count++] = tuner_plainest_by_counts(tuner, structure);
    }
    free(taken);
    for (size_t s = 0; good && count == 0 && s < tuner->request->structures->count; s++) {
        const struct tune_candidate *candidate = &result->candidates[tuner->best[s]];
        if (tune_candidate_fits(candidate)) {
            good = error_set(error,
                             "%s does not count its work, nor does any that keeps to the "
                             "limits: it can be chosen by time only, without --counts",
                             candidate->contender.timed->name);
        }
    }
    if (later != SIZE_MAX) {
        finals[count++] = later;
    }
    good = good && tuner_run(tuner, finals, count, TUNE_FINAL, 0, false, error);
    choose_by_counts(tuner, finals, good ? count : 0);
    result->certainty = result->second != NULL ? TUNE_COUNTED_ONLY : TUNE_ALONE;
    judge_later(tuner, later);
    return good;
}
