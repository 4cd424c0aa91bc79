/* The search: options are varied by counts, then by time. */
#include "tune_work.h"

#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VARY_ROUNDS          8
#define VARY_COST_FACTOR     10.0 /* beyond this times the least cost, a structure is not varied */
#define TIME_COST_FACTOR     30.0 /* nor timed */
#define TOO_SLOW_MAX         2    /* variants of a structure that may time out before it is left */
#define BETTER_COST          0.98 /* of the cost: a smaller gain is not worth another option */
#define TIMED_RUNS_MIN       3
#define TIMED_RUNS_MAX       9
#define TIMED_SECONDS        0.05 /* of one candidate, within the bounds on the runs */
#define REFINE_STRUCTURES    4
#define COUNT_SHARE          0.4 /* of the time: counting ends */
#define REFINE_SHARE         0.7 /* refining ends */
#define TIME_SHARE           0.6 /* timing the best of each structure ends */
#define FIRST_COUNTED        4u
#define TIMED_MIN            4u
#define VARIANT_BYTES_MIN    64e6
#define VARIANT_BYTES_FACTOR 8
#define PROPOSALS_MAX        64  /* variants of one candidate */
#define ODDNESS_OF_AN_OPTION 100 /* more than any number's digits */

/* Return whether a stage's share of the time is over, and record it. */
static bool is_over(struct tuner *tuner, double share)
{
    bool over = tuner_seconds(tuner) > share * tuner->request->budget_seconds;
    tuner->result->out_of_time |= over;
    return over;
}

/* Return the number of candidates that can be replayed `passes` times each within that share. */
static size_t affordable(const struct tuner *tuner, double share, double passes)
{
    double left = share * tuner->request->budget_seconds - tuner_seconds(tuner);
    return left > 0 ? (size_t)fmin(left / (tuner->pass_seconds * passes + 1e-9), 1e6) : 0;
}

/* --- counting -------------------------------------------------------------------------------- */

/* Return whether a is better than b by counts: it keeps to the limits, or is nearer to them; it
 * works less; it is smaller. */
static bool counts_better(const struct tune_candidate *a, const struct tune_candidate *b)
{
    if (tune_candidate_fits(a) != tune_candidate_fits(b)) {
        return tune_candidate_fits(a);
    }
    if (!tune_candidate_fits(a)) {
        if (a->counted != b->counted) {
            return a->counted;
        }
        return a->counted && a->firing.declared_early + a->firing.declared_late <
                                 b->firing.declared_early + b->firing.declared_late;
    }
    if (isnan(a->cost) || isnan(b->cost)) {
        return false;
    }
    if (a->cost < b->cost * BETTER_COST) {
        return true;
    }
    return a->cost <= b->cost &&
           row_value(a->row, COL_BYTES_PEAK) < row_value(b->row, COL_BYTES_PEAK);
}

static double least_cost(const struct tuner *tuner)
{
    double least = INFINITY;
    for (size_t i = 0; i < tuner->result->candidate_count; i++) {
        const struct tune_candidate *candidate = &tuner->result->candidates[i];
        if (tune_candidate_fits(candidate) && candidate->cost < least) {
            least = candidate->cost;
        }
    }
    return least;
}

/* Return the index of the structure's candidate with these options; SIZE_MAX: none. */
static size_t find_candidate(const struct tuner *tuner, size_t structure, const void *options)
{
    for (size_t i = 0; i < tuner->result->candidate_count; i++) {
        const struct tune_candidate *candidate = &tuner->result->candidates[i];
        if (candidate->structure == structure &&
            memcmp(candidate->contender.options, options, TL_OPTIONS_BYTES) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Add a variant's options to `variants`, unless they are out of range, or were tried or proposed
 * before. */
static size_t propose(const struct tuner *tuner, const struct tune_candidate *from,
                      const struct tl_option *option, uint64_t value,
                      unsigned char (*variants)[TL_OPTIONS_BYTES], size_t count)
{
    if (!tl_option_accepts(option, value) || count == PROPOSALS_MAX) {
        return count;
    }
    struct tune_candidate variant = *from;
    tl_option_set_number(option, variant.contender.options, value);
    uint64_t early;
    uint64_t late;
    tuner_read_promise(tuner, &variant.contender, &early, &late);
    /* Do not try a variant that is worse than the present one and breaks the limit. */
    const struct tune_limits *limits = &tuner->request->limits;
    if ((late > limits->late_ticks && late > from->late_promise) ||
        (early > limits->early_ticks && early > from->early_promise)) {
        return count;
    }
    if (find_candidate(tuner, from->structure, variant.contender.options) != SIZE_MAX) {
        return count;
    }
    for (size_t i = 0; i < count; i++) {
        if (memcmp(variants[i], variant.contender.options, sizeof variants[i]) == 0) {
            return count;
        }
    }
    memcpy(variants[count], variant.contender.options, sizeof variants[count]);
    return count + 1;
}

static uint64_t times(uint64_t value, uint64_t factor)
{
    return value > UINT64_MAX / factor ? UINT64_MAX : value * factor;
}

/* Make variants of a candidate, each with one option changed: to `step` times as much and as
 * little, to every word, and with `by_trace` to values from the trace: its delays, its timers.
 * Return the number. */
static size_t vary(const struct tuner *tuner, const struct tune_candidate *from, uint64_t step,
                   bool by_trace, unsigned char (*variants)[TL_OPTIONS_BYTES])
{
    const struct tl_algo *algo = from->contender.timed;
    const struct trace_info *info = &tuner->result->info;
    const uint64_t suggested[] = {info->delay_max, info->delay_max + 1, info->delay_p50,
                                  info->pending_max};
    size_t count = 0;
    for (size_t o = 0; o < tl_option_count(algo); o++) {
        const struct tl_option *row = &algo->options[o];
        uint64_t value = tl_option_number(row, from->contender.options);
        for (const struct tl_choice *c = row->choices; c != NULL && c->word != NULL; c++) {
            count = propose(tuner, from, row, c->value, variants, count);
        }
        count = propose(tuner, from, row, times(value, step), variants, count);
        count = propose(tuner, from, row, value / step, variants, count);
        uint64_t power = 1; /* the neighbouring powers of two: many structures prefer them */
        while (power <= value / 2) {
            power *= 2;
        }
        count = propose(tuner, from, row, power, variants, count);
        count = propose(tuner, from, row, times(power, 2), variants, count);
        if (step < 4 || row->max - row->min < 64) { /* small numbers one by one */
            count = propose(tuner, from, row, value + 1, variants, count);
            count = propose(tuner, from, row, value - 1, variants, count);
        }
        for (size_t i = 0; by_trace && i < sizeof suggested / sizeof suggested[0]; i++) {
            count = propose(tuner, from, row, suggested[i], variants, count);
        }
    }
    return count;
}

/* Return whether variants of a structure may be the best. */
static bool is_promising(const struct tuner *tuner, size_t structure, unsigned round, double least)
{
    const struct tune_candidate *best = &tuner->result->candidates[tuner->best[structure]];
    if (!tune_candidate_fits(best)) { /* its options break a limit: others may not */
        return best->counted || round == 0;
    }
    return !isnan(best->cost) && best->cost <= least * VARY_COST_FACTOR;
}

/* Count variants of a structure, `at_a_time`, until TOO_SLOW_MAX of them time out. Set *better if
 * one of them is the structure's new best. */
static bool count_variants(struct tuner *tuner, size_t structure,
                           unsigned char (*variants)[TL_OPTIONS_BYTES], size_t count,
                           size_t at_a_time, bool *better, struct error *error)
{
    struct tune_result *result = tuner->result;
    size_t indices[PROPOSALS_MAX];
    unsigned too_slow = 0;
    bool good = true;
    *better = false;
    for (size_t done = 0; good && done < count && too_slow < TOO_SLOW_MAX;) {
        size_t some = 0;
        size_t room = affordable(tuner, COUNT_SHARE, 1);
        if (is_over(tuner, COUNT_SHARE)) {
            break;
        }
        at_a_time = room < at_a_time ? room + 1 : at_a_time;
        for (; good && some < at_a_time && done < count; done++) {
            indices[some++] = result->candidate_count;
            tuner_add(tuner, structure, variants[done]);
        }
        good = good && tuner_run(tuner, indices, some, TUNE_COUNTED, 0, false, error);
        for (size_t i = 0; good && i < some; i++) {
            const struct tune_candidate *candidate = &result->candidates[indices[i]];
            too_slow += candidate->too_slow;
            if (counts_better(candidate, &result->candidates[tuner->best[structure]])) {
                tuner->best[structure] = indices[i];
                *better = true;
            }
        }
    }
    return good;
}

/* One round: count variants of the best of each structure. */
static bool vary_round(struct tuner *tuner, unsigned round, bool *active, struct error *error)
{
    double least = least_cost(tuner);
    unsigned char(*variants)[TL_OPTIONS_BYTES] = memory_new(PROPOSALS_MAX, sizeof *variants);
    bool good = true;
    for (size_t s = 0; good && s < tuner->request->structures->count; s++) {
        if (!active[s] || !is_promising(tuner, s, round, least) || is_over(tuner, COUNT_SHARE)) {
            continue;
        }
        const struct tune_candidate from = tuner->result->candidates[tuner->best[s]];
        size_t count = vary(tuner, &from, round % 2 == 0 ? 4 : 2, round == 0, variants);
        bool better = false;
        good = count_variants(tuner, s, variants, count, from.too_slow ? 1 : PROPOSALS_MAX, &better,
                              error);
        /* After steps of four without success come steps of two; after these, nothing. */
        active[s] = better || round % 2 == 0;
    }
    free(variants);
    return good;
}

/* Count the structures with their initial options: first a few, to measure the time of a pass, then
 * as many as the time allows. */
static bool count_defaults(struct tuner *tuner, struct error *error)
{
    struct tune_candidate *candidates = tuner->result->candidates;
    size_t structures = tuner->request->structures->count;
    bool good = true;
    double most_bytes = 0;
    for (size_t done = 0; good && done < structures;) {
        size_t room = done == 0 ? FIRST_COUNTED : affordable(tuner, COUNT_SHARE, 1) + 1;
        size_t some = structures - done < room ? structures - done : room;
        if (done > 0 && is_over(tuner, COUNT_SHARE)) {
            for (; done < structures; done++) {
                (void)snprintf(candidates[done].why_not, sizeof candidates[done].why_not,
                               "no time to try it");
            }
            break;
        }
        good = tuner_run(tuner, &tuner->best[done], some, TUNE_COUNTED, 0, false, error);
        done += some;
    }
    for (size_t s = 0; s < structures; s++) {
        if (tune_candidate_fits(&candidates[s])) {
            most_bytes = fmax(most_bytes, row_value(candidates[s].row, COL_BYTES_PEAK));
        }
    }
    /* Skip options that need far more memory than any structure by default. */
    double limit = fmax(VARIANT_BYTES_MIN, VARIANT_BYTES_FACTOR * most_bytes);
    tuner->memory_limit_bytes = (uint64_t)fmin(limit, (double)tuner->memory_limit_bytes);
    return good;
}

bool tuner_count_all(struct tuner *tuner, struct error *error)
{
    size_t structures = tuner->request->structures->count;
    bool *active = memory_new(structures + 1, sizeof *active);
    tuner_report(tuner, "counting the work of each structure");
    for (size_t s = 0; s < structures; s++) {
        active[s] = tl_option_count(tuner->request->structures->items[s].timed) > 0;
        tuner->best[s] = tuner->result->candidate_count;
        tuner_add(tuner, s, tuner->request->structures->items[s].options);
    }
    bool good = count_defaults(tuner, error);
    if (good && tuner->request->vary) {
        tuner_report(tuner, "varying options, by counted work");
    }
    for (unsigned round = 0; good && tuner->request->vary && round < VARY_ROUNDS; round++) {
        good = vary_round(tuner, round, active, error);
    }
    free(active);
    return good;
}

/* --- plain options --------------------------------------------------------------------------- */

/* The number of significant digits, in base two or ten, whichever is less: 4096 and 3000 have
 * one. */
static unsigned digits_of(uint64_t twos)
{
    uint64_t tens = twos;
    unsigned digits = 0;
    unsigned bits = 0;
    while (tens > 0 && tens % 10 == 0) {
        tens /= 10;
    }
    while (twos > 0 && twos % 2 == 0) {
        twos /= 2;
    }
    for (; tens > 0; tens /= 10) {
        digits++;
    }
    for (; twos > 0; twos /= 2) {
        bits++;
    }
    return bits < digits ? bits : digits;
}

/* The distance of a candidate's options from its structure's initial ones: the number of
 * differences, and their digits, so that round numbers are preferred. */
static unsigned oddness_of(const struct tuner *tuner, const struct tune_candidate *candidate)
{
    const struct contender *given = &tuner->request->structures->items[candidate->structure];
    unsigned oddness = 0;
    for (size_t o = 0; o < tl_option_count(given->timed); o++) {
        uint64_t value = tl_option_number(&given->timed->options[o], candidate->contender.options);
        if (value != tl_option_number(&given->timed->options[o], given->options)) {
            oddness += ODDNESS_OF_AN_OPTION + digits_of(value);
        }
    }
    return oddness;
}

/* Return the plainest of the structure's candidates that are as good as `best`, within
 * TUNE_PRACTICAL. */
static size_t plainest(const struct tuner *tuner, size_t best,
                       double (*taken_by)(const struct tune_candidate *))
{
    const struct tune_candidate *candidates = tuner->result->candidates;
    size_t found = best;
    for (size_t i = 0; i < tuner->result->candidate_count; i++) {
        const struct tune_candidate *candidate = &candidates[i];
        if (candidate->structure == candidates[best].structure && tune_candidate_fits(candidate) &&
            taken_by(candidate) <= taken_by(&candidates[best]) * (1 + TUNE_PRACTICAL) &&
            oddness_of(tuner, candidate) < oddness_of(tuner, &candidates[found])) {
            found = i;
        }
    }
    return found;
}

static double ns_of(const struct tune_candidate *candidate)
{
    return candidate->ns;
}

static double cost_of(const struct tune_candidate *candidate)
{
    return candidate->cost;
}

/* --- timing ---------------------------------------------------------------------------------- */

/* Sort indices of candidates; those with NAN come last. Equal ones keep their order. */
static void sort_by(const struct tuner *tuner, double (*taken_by)(const struct tune_candidate *),
                    size_t *indices, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        size_t index = indices[i];
        double taken = taken_by(&tuner->result->candidates[index]);
        size_t k = i;
        for (; k > 0; k--) {
            double before = taken_by(&tuner->result->candidates[indices[k - 1]]);
            if (isnan(taken) || before <= taken) {
                break;
            }
            indices[k] = indices[k - 1];
        }
        indices[k] = index;
    }
}

size_t tuner_least_work_of_each(const struct tuner *tuner, size_t *indices)
{
    size_t count = 0;
    for (size_t s = 0; s < tuner->request->structures->count; s++) {
        const struct tune_candidate *best = &tuner->result->candidates[tuner->best[s]];
        if (tune_candidate_fits(best) && !isnan(best->cost)) {
            indices[count++] = tuner->best[s];
        }
    }
    sort_by(tuner, cost_of, indices, count);
    for (size_t i = 0; i < count; i++) {
        indices[i] = plainest(tuner, indices[i], cost_of);
    }
    return count;
}

size_t tuner_fastest_of_each(const struct tuner *tuner, size_t *indices)
{
    const struct tune_result *result = tuner->result;
    size_t count = 0;
    for (size_t s = 0; s < tuner->request->structures->count; s++) {
        size_t fastest = SIZE_MAX;
        for (size_t i = 0; i < result->candidate_count; i++) {
            const struct tune_candidate *candidate = &result->candidates[i];
            if (candidate->structure == s && tune_candidate_fits(candidate) &&
                !isnan(candidate->ns) &&
                (fastest == SIZE_MAX || candidate->ns < result->candidates[fastest].ns)) {
                fastest = i;
            }
        }
        if (fastest != SIZE_MAX) {
            indices[count++] = plainest(tuner, fastest, ns_of);
        }
    }
    sort_by(tuner, ns_of, indices, count);
    return count;
}

/* The number of runs of each of `count` candidates: short passes vary more, and are repeated more
 * often if all candidates still fit within `share` of the time. */
static unsigned timed_runs(const struct tuner *tuner, size_t count, double share)
{
    double fitting = (double)affordable(tuner, share, (double)count + 1) - 1;
    double runs = fmin(fitting, TIMED_SECONDS / (tuner->pass_seconds + 1e-9));
    return (unsigned)fmin(fmax(runs, TIMED_RUNS_MIN), TIMED_RUNS_MAX);
}

bool tuner_time_best(struct tuner *tuner, struct error *error)
{
    const struct tune_result *result = tuner->result;
    size_t structures = tuner->request->structures->count;
    double least = least_cost(tuner);
    size_t *indices = memory_new(2 * structures + 1, sizeof *indices);
    size_t count = 0;
    for (size_t s = 0; s < structures; s++) {
        const struct tune_candidate *best = &result->candidates[tuner->best[s]];
        if (!tune_candidate_fits(best) || best->cost > least * TIME_COST_FACTOR) {
            continue;
        }
        indices[count++] = tuner->best[s];
        if (tuner->best[s] != s && tune_candidate_fits(&result->candidates[s]) &&
            !(result->candidates[s].cost > least * TIME_COST_FACTOR)) {
            indices[count++] = s; /* its initial options: the counts may mislead */
        }
    }
    tuner_report(tuner, "timing the best of each structure");
    sort_by(tuner, cost_of, indices, count);
    unsigned runs = timed_runs(tuner, count, TIME_SHARE);
    size_t room = affordable(tuner, TIME_SHARE, 1 + runs);
    room = room > TIMED_MIN ? room : TIMED_MIN;
    tuner->result->out_of_time |= count > room;
    count = count < room ? count : room;
    bool good = tuner_run(tuner, indices, count, TUNE_TIMED, runs,
                          tuner->request->limits.stall_ns != UINT64_MAX, error);
    free(indices);
    return good;
}

bool tuner_refine(struct tuner *tuner, struct error *error)
{
    size_t structures = tuner->request->structures->count;
    size_t *fastest = memory_new(structures + 1, sizeof *fastest);
    size_t *indices = memory_new(PROPOSALS_MAX + 1, sizeof *indices);
    unsigned char(*variants)[TL_OPTIONS_BYTES] = memory_new(PROPOSALS_MAX, sizeof *variants);
    bool good = true;
    size_t count = tuner_fastest_of_each(tuner, fastest);
    for (size_t f = 0; good && f < count && f < REFINE_STRUCTURES; f++) {
        const struct tune_candidate from = tuner->result->candidates[fastest[f]];
        double first = tuner->result->candidates[fastest[0]].ns;
        size_t found = from.ns < 2 * first ? vary(tuner, &from, 2, false, variants) : 0;
        if (found == 0 || is_over(tuner, REFINE_SHARE)) {
            continue;
        }
        unsigned runs = timed_runs(tuner, found + 1, REFINE_SHARE);
        if (found + 1 > affordable(tuner, REFINE_SHARE, 1 + runs)) {
            tuner->result->out_of_time = true;
            continue;
        }
        indices[0] = fastest[f];
        for (size_t i = 0; i < found; i++) {
            indices[i + 1] = tuner->result->candidate_count;
            tuner_add(tuner, from.structure, variants[i]);
        }
        good = tuner_run(tuner, indices, found + 1, TUNE_TIMED, runs,
                         tuner->request->limits.stall_ns != UINT64_MAX, error);
    }
    free(fastest);
    free(indices);
    free(variants);
    return good;
}
