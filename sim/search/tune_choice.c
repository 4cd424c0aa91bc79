/* The choice among the best: by runs side by side, or by counts alone. */
#include "tune_work.h"

#include "judge.h"
#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FINAL_STRUCTURES 4
#define ABOUT_AS_FAST    1.5
#define FINAL_RUNS_MAX   25

static int ascending(const void *a, const void *b)
{
    size_t left = *(const size_t *)a;
    size_t right = *(const size_t *)b;
    return (left > right) - (left < right);
}

/* Make the answer of these candidates. Their rows are in the order in which the candidates were
 * added, which does not depend on noise. */
static void make_answer(struct tuner *tuner, size_t *finals, size_t count)
{
    struct tune_result *result = tuner->result;
    const struct tune_limits *limits = &tuner->request->limits;
    const struct answer_trace trace = {.name = result->trace,
                                       .window_seconds = tuner->seconds,
                                       .max_late_ticks = limits->late_ticks,
                                       .max_early_ticks = limits->early_ticks,
                                       .min_effect = TUNE_PRACTICAL,
                                       .by_counts = tuner->request->by_counts};
    struct results rows = {.rows = memory_new(count + 1, sizeof *rows.rows)};
    qsort(finals, count, sizeof *finals, ascending);
    size_t *of = memory_new(count + 1, sizeof *of);
    for (size_t i = 0; i < count; i++) {
        const struct tune_candidate *candidate = &result->candidates[finals[i]];
        if (tune_candidate_fits(candidate) || (candidate->counted && candidate->only_late)) {
            of[rows.count] = finals[i];
            rows.rows[rows.count] = *candidate->row;
            if (trace.by_counts) {
                row_set_real(&rows.rows[rows.count], COL_NS_PER_EVENT, candidate->cost);
            }
            rows.count++;
        }
    }
    free(result->rows);
    answer_free(&result->answer);
    result->rows = rows.rows;
    answer_make(&rows, &trace, &result->answer);
    if (result->answer.count > 0) {
        result->best =
            &result->candidates[of[result->answer.entries[0].row - (const struct row *)rows.rows]];
    }
    if (result->answer.faster_late != NULL) {
        result->later =
            &result->candidates[of[result->answer.faster_late - (const struct row *)rows.rows]];
    }
    free(of);
}

/* Return the candidate with the least work among those that break only the limit on lateness;
 * SIZE_MAX: none. */
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

bool tuner_compete(struct tuner *tuner, struct error *error)
{
    size_t structures = tuner->request->structures->count;
    size_t *finals = memory_new(structures + 2, sizeof *finals);
    bool good = true;
    size_t later = find_later(tuner);
    /* These runs can show that the fastest few break a limit: then take the next few. */
    while (good && tuner->result->best == NULL) {
        size_t count = 0;
        size_t all = tuner_fastest_of_each(tuner, finals);
        double least = all > 0 ? tuner->result->candidates[finals[0]].ns : NAN;
        for (size_t i = 0; i < all; i++) {
            double ns = tuner->result->candidates[finals[i]].ns;
            /* Few runs do not decide the fourth place: include those that are about as fast. */
            if (ns < (count < FINAL_STRUCTURES ? 2 : ABOUT_AS_FAST) * least) {
                finals[count++] = finals[i];
            }
        }
        count = count < 2 && all >= 2 ? 2 : count;
        while (count > 2 && tuner_expected_seconds(tuner, count + 1, JUDGE_RUNS_MIN) >
                                tuner_seconds_left(tuner)) {
            count--;
            tuner->result->out_of_time = true;
        }
        size_t running = count;
        if (later != SIZE_MAX) {
            finals[running++] = later;
        }
        if (count > 0) {
            tuner_report(tuner, "running the first few side by side");
            tuner_take_what_fits(tuner, running, JUDGE_RUNS_MIN);
            good = tuner_run(tuner, finals, running, TUNE_FINAL, FINAL_RUNS_MAX, true, error);
        }
        if (good) {
            make_answer(tuner, finals, running);
        }
        if (count == 0) {
            break;
        }
    }
    free(finals);
    return good;
}

bool tuner_choose_by_counts(struct tuner *tuner, struct error *error)
{
    struct tune_result *result = tuner->result;
    size_t structures = tuner->request->structures->count;
    size_t *finals = memory_new(structures + 2, sizeof *finals);
    size_t later = find_later(tuner);
    size_t count = tuner_least_work_of_each(tuner, finals);
    bool good = true;
    count = count < FINAL_STRUCTURES ? count : FINAL_STRUCTURES;
    for (size_t s = 0; good && count == 0 && s < structures; s++) {
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
    tuner_take_what_fits(tuner, count, 0);
    good = good && tuner_run(tuner, finals, count, TUNE_FINAL, 0, false, error);
    if (good) {
        make_answer(tuner, finals, count);
    }
    free(finals);
    return good;
}
