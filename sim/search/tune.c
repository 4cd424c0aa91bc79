#include "tune.h"

#include "simulate.h"
#include "statistics.h"
#include "trace.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* About what one step of each kind takes, in nanoseconds: for ranking, not for forecasting. */
#define COMPARE_COST      2.0
#define MOVE_COST         5.0
#define SLOT_COST         3.0
#define CASCADE_COST      5.0
#define WAKEUP_COST       8.0

#define VARY_ROUNDS       8
#define VARY_COST_FACTOR  10.0 /* whoever counts more than this times the best is not varied */
#define TIME_COST_FACTOR  30.0 /* nor timed */
#define TOO_SLOW_MAX      2 /* so many variants of a structure may take too long before it is left */
#define BETTER_COST       0.98 /* of the cost: more is not worth another option */
#define OPTION_RATIO      1.02 /* of the time: nor is a smaller gain */
#define TIMED_RUNS        3
#define REFINE_ROUNDS     2
#define REFINE_STRUCTURES 4
#define FINAL_STRUCTURES  4
#define STALL_RUNS        3 /* with latencies */
#define FINAL_RUNS_MIN    9
#define FINAL_RUNS_MAX    25
#define COUNT_SHARE       0.4 /* of the time: when counting ends */
#define REFINE_SHARE      0.7 /* and refining */
#define CONFIDENCE        0.95
#define TIE_EFFECT        0.01 /* what is not surely slower by more than this is as fast */
#define SEARCH_EVENTS     UINT64_C(500000) /* of the window of a trace that has twice as many */
#define PROPOSALS_MAX     64               /* variants of one candidate */

/* The one who searches. */
struct tuner {
    const struct tune_request *request;
    struct tune_result *result;
    size_t *best;     /* of each structure, by counts: an index of a candidate */
    const char *path; /* what is replayed now: the trace, or its beginning */
    uint64_t events;  /* in the timed window of that */
    double seconds;   /* that it lasts, in the trace's own time */
    bool deciding;    /* the search is over */
    double begun;
    double pass_seconds; /* about, of one pass of one structure */
};

static const char *const stage_words[] = {
#define STAGE_WORD(code, word) word,
    TUNE_STAGE_MAP(STAGE_WORD)
#undef STAGE_WORD
};

static const struct {
    const char *word;
    const char *text;
} certainties[] = {
#define CERTAINTY_ROW(code, word, text) {word, text},
    TUNE_CERTAINTY_MAP(CERTAINTY_ROW)
#undef CERTAINTY_ROW
};

const char *tune_stage_word(enum tune_stage stage)
{
    return stage_words[stage];
}

const char *tune_certainty_word(enum tune_certainty certainty)
{
    return certainties[certainty].word;
}

const char *tune_certainty_text(enum tune_certainty certainty)
{
    return certainties[certainty].text;
}

/* --- time ------------------------------------------------------------------------------------ */

static double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds_spent(const struct tuner *tuner)
{
    return seconds_now() - tuner->begun;
}

/* Whether the share of the time that a stage may end at is over; remembers that it was. */
static bool is_over(struct tuner *tuner, double share)
{
    bool over = seconds_spent(tuner) > share * tuner->request->budget_seconds;
    tuner->result->out_of_time |= over;
    return over;
}

static void tell(const struct tuner *tuner, const char *what)
{
    if (tuner->request->tell != NULL) {
        tuner->request->tell(tuner->request->tell_ctx, what);
    }
}

/* --- candidates ------------------------------------------------------------------------------ */

static bool usable(const struct tune_candidate *candidate)
{
    return candidate->counted && candidate->why_not[0] == '\0';
}

/* The index of the structure's candidate with these options; SIZE_MAX if there is none. */
static size_t find_candidate(const struct tuner *tuner, size_t structure, const int64_t *options)
{
    for (size_t i = 0; i < tuner->result->candidate_count; i++) {
        const struct tune_candidate *candidate = &tuner->result->candidates[i];
        size_t count = tl_option_count(candidate->contender.timed);
        if (candidate->structure == structure &&
            memcmp(candidate->contender.options, options, count * sizeof *options) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Adds a candidate; false if out of memory. */
static bool add_candidate(struct tuner *tuner, size_t structure, const int64_t *options,
                          struct error *error)
{
    struct tune_result *result = tuner->result;
    struct tune_candidate *longer =
        realloc(result->candidates, (result->candidate_count + 1) * sizeof *longer);
    if (longer == NULL) {
        return error_set(error, "out of memory");
    }
    result->candidates = longer;
    struct tune_candidate *candidate = &longer[result->candidate_count++];
    *candidate = (struct tune_candidate){.contender = tuner->request->structures->items[structure],
                                         .structure = structure,
                                         .cost = NAN,
                                         .ns = NAN,
                                         .stall_ns = NAN};
    struct contender *contender = &candidate->contender;
    memcpy(contender->options, options, sizeof contender->options);
    (void)tl_options_format(contender->timed, contender->options, false, contender->option_text,
                            sizeof contender->option_text);
    return true;
}

/* What the structure promises at worst for delays as the trace has them. */
static void read_promise(const struct tuner *tuner, const struct contender *contender,
                         uint64_t *early, uint64_t *late)
{
    const struct trace_info *info = &tuner->result->info;
    const uint64_t delays[] = {info->delay_min, info->delay_p50, info->delay_p90, info->delay_p99,
                               info->delay_max};
    *early = 0;
    *late = 0;
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        struct tl_precision precision =
            tl_algo_precision(contender->timed, contender->options, delays[i]);
        *early = precision.early_ticks > *early ? precision.early_ticks : *early;
        *late = precision.late_ticks > *late ? precision.late_ticks : *late;
    }
}

/* Whether nothing ever fires early or late under these options. */
static bool is_always_exact(const struct contender *contender)
{
    struct tl_precision precision = tl_algo_precision(contender->timed, contender->options, 0);
    bool exact = precision.early_ticks == 0 && precision.late_ticks == 0;
    for (unsigned bit = 0; bit < 63 && exact; bit++) {
        precision = tl_algo_precision(contender->timed, contender->options, UINT64_C(1) << bit);
        exact = precision.early_ticks == 0 && precision.late_ticks == 0;
    }
    return exact;
}

/* Names the first limit that a candidate breaks. */
static void judge(const struct tuner *tuner, struct tune_candidate *candidate)
{
    const struct tune_limits *limits = &tuner->request->limits;
    char *why = candidate->why_not;
    size_t bytes = sizeof candidate->why_not;
    if (candidate->lateness_max > 0 && (uint64_t)candidate->lateness_max > limits->late_ticks) {
        (void)snprintf(why, bytes, "up to %" PRId64 " ticks late", candidate->lateness_max);
    } else if (candidate->lateness_min < 0 &&
               (uint64_t)-candidate->lateness_min > limits->early_ticks) {
        (void)snprintf(why, bytes, "up to %" PRId64 " ticks early", -candidate->lateness_min);
    } else if (limits->exact && !is_always_exact(&candidate->contender)) {
        (void)snprintf(why, bytes, "does not promise to be exact");
    } else if (candidate->bytes_peak > limits->bytes) {
        (void)snprintf(why, bytes, "takes %" PRIu64 " bytes", candidate->bytes_peak);
    } else if (candidate->wakeups_per_s > limits->wakeups_per_s) {
        (void)snprintf(why, bytes, "wakes %.6g times a second", candidate->wakeups_per_s);
    } else if (limits->stall_ns != UINT64_MAX && candidate->stall_ns > (double)limits->stall_ns) {
        (void)snprintf(why, bytes, "stalls for %.0f ns", candidate->stall_ns);
    } else {
        why[0] = '\0';
    }
}

static int64_t integer_of(const struct row *row, enum column column)
{
    return row->cells[column].kind == CELL_INTEGER ? row->cells[column].value.integer : 0;
}

static double real_of(const struct row *row, enum column column)
{
    return row->cells[column].kind == CELL_REAL ? row->cells[column].value.real : NAN;
}

/* The work per operation, by the counts; NAN where the structure does not count. */
static double cost_of(const struct tuner *tuner, const struct tune_candidate *candidate,
                      bool counts)
{
    uint64_t events = tuner->events;
    double wakeups = WAKEUP_COST * (double)candidate->wakeups;
    const struct tl_counters *work = &candidate->work;
    if (!counts || events == 0) {
        return NAN;
    }
    return (COMPARE_COST * (double)work->compares + MOVE_COST * (double)work->moves +
            SLOT_COST * (double)work->slots + CASCADE_COST * (double)work->cascades + wakeups) /
           (double)events;
}

/* Of a few runs the least: what else the machine does only adds to it. */
static double least_of(const double *values, size_t count)
{
    double least = values[0];
    for (size_t i = 1; i < count; i++) {
        least = values[i] < least ? values[i] : least;
    }
    return least;
}

/* Takes over what a simulation found. */
static bool take_row(const struct tuner *tuner, struct tune_candidate *candidate,
                     const struct row *row, enum tune_stage stage, struct error *error)
{
    candidate->stage = stage;
    candidate->counted = strcmp(row_text(row, COL_STATUS), "ok") == 0;
    if (!candidate->counted) {
        candidate->too_slow = strcmp(row_text(row, COL_STATUS), "timeout") == 0;
        (void)snprintf(candidate->why_not, sizeof candidate->why_not, "%s: %.150s",
                       row_text(row, COL_STATUS), row_text(row, COL_REASON));
        return true;
    }
    candidate->lateness_min = integer_of(row, COL_LATENESS_MIN);
    candidate->lateness_max = integer_of(row, COL_LATENESS_MAX);
    candidate->bytes_peak = (uint64_t)integer_of(row, COL_BYTES_PEAK);
    candidate->bytes_per_timer = real_of(row, COL_BYTES_PER_TIMER);
    candidate->wakeups = (uint64_t)integer_of(row, COL_WAKEUPS);
    candidate->events = tuner->events;
    candidate->wakeups_per_s = tuner->seconds > 0 ? (double)candidate->wakeups / tuner->seconds : 0;
    candidate->work = (struct tl_counters){
        .compares = (uint64_t)integer_of(row, COL_N_COMPARES),
        .moves = (uint64_t)integer_of(row, COL_N_MOVES),
        .slots = (uint64_t)integer_of(row, COL_N_SLOTS),
        .cascades = (uint64_t)integer_of(row, COL_N_CASCADES),
    };
    read_promise(tuner, &candidate->contender, &candidate->early_promise, &candidate->late_promise);
    candidate->cost = cost_of(tuner, candidate, row->cells[COL_N_MOVES].kind == CELL_INTEGER);
    if (row->cells[COL_STALL].kind == CELL_INTEGER) {
        candidate->stall_ns = (double)integer_of(row, COL_STALL);
    }
    const struct samples *runs = &row->processor_ns_per_event;
    if (runs->count > 0) {
        double *copy = malloc(runs->count * sizeof *copy);
        if (copy == NULL) {
            return error_set(error, "out of memory");
        }
        memcpy(copy, runs->values, runs->count * sizeof *copy);
        free(candidate->ns_per_event);
        candidate->ns_per_event = copy;
        candidate->run_count = runs->count;
        candidate->ns =
            stage == TUNE_FINAL ? stats_median(copy, runs->count) : least_of(copy, runs->count);
    }
    judge(tuner, candidate);
    return true;
}

/* Replays the trace through some candidates: `runs` timed runs, or only the count. */
static bool run_candidates(struct tuner *tuner, const size_t *indices, size_t count,
                           enum tune_stage stage, unsigned runs, bool latency, struct error *error)
{
    const struct tune_request *request = tuner->request;
    struct contender_list list = {.items = malloc((count + 1) * sizeof *list.items),
                                  .count = count};
    if (list.items == NULL) {
        return error_set(error, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        list.items[i] = tuner->result->candidates[indices[i]].contender;
    }
    const char *const traces[] = {tuner->path};
    const struct simulate_request simulate_request = {
        .traces = traces,
        .trace_count = 1,
        .contenders = &list,
        .floor = runs > 0 ? request->floor : NULL,
        .drive = request->drive,
        .runs = runs,
        .latency = latency,
        .timeout_seconds =
            tuner->deciding ? request->final_timeout_seconds : request->timeout_seconds,
        .memory_limit_bytes = request->memory_limit_bytes,
    };
    struct simulation simulation = {0};
    bool all_right = false;
    double begun = seconds_now();
    bool good = count == 0 || simulate(&simulate_request, &simulation, &all_right, error);
    double passes = (double)(count + 1) * (1 + runs * (latency ? 2.0 : 1.0));
    tuner->pass_seconds = (seconds_now() - begun) / passes;
    for (size_t i = 0; good && i < count; i++) {
        good = take_row(tuner, &tuner->result->candidates[indices[i]], &simulation.results.rows[i],
                        stage, error);
    }
    simulation_free(&simulation);
    free(list.items);
    return good;
}

/* --- counting -------------------------------------------------------------------------------- */

/* Whether a is worth more than b by its counts: it keeps to the limits, or is nearer to them; it
 * works less; it is smaller. */
static bool counts_better(const struct tune_candidate *a, const struct tune_candidate *b)
{
    if (usable(a) != usable(b)) {
        return usable(a);
    }
    if (!usable(a)) {
        if (a->counted != b->counted) {
            return a->counted;
        }
        return a->counted && llabs(a->lateness_min) + llabs(a->lateness_max) <
                                 llabs(b->lateness_min) + llabs(b->lateness_max);
    }
    if (isnan(a->cost) || isnan(b->cost)) {
        return false;
    }
    if (a->cost < b->cost * BETTER_COST) {
        return true;
    }
    return a->cost <= b->cost && a->bytes_peak < b->bytes_peak;
}

static double least_cost(const struct tuner *tuner)
{
    double least = INFINITY;
    for (size_t i = 0; i < tuner->result->candidate_count; i++) {
        const struct tune_candidate *candidate = &tuner->result->candidates[i];
        if (usable(candidate) && candidate->cost < least) {
            least = candidate->cost;
        }
    }
    return least;
}

/* Adds a variant's options to `variants`, unless they are there, out of range, or were tried. */
static size_t propose(const struct tuner *tuner, const struct tune_candidate *from, size_t option,
                      int64_t value, int64_t (*variants)[TL_OPTIONS_MAX], size_t count)
{
    const struct tl_option *row = &from->contender.timed->options[option];
    bool known = row->min <= value && value <= row->max;
    for (const struct tl_choice *c = row->choices; c != NULL && c->word != NULL; c++) {
        known |= c->value == value;
    }
    if (!known || count == PROPOSALS_MAX) {
        return count;
    }
    struct tune_candidate variant = *from;
    variant.contender.options[option] = value;
    uint64_t early;
    uint64_t late;
    read_promise(tuner, &variant.contender, &early, &late);
    /* What promises less than it does now, and less than is asked for, need not be tried. */
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

static int64_t times(int64_t value, int64_t factor)
{
    return value > INT64_MAX / factor ? INT64_MAX : value * factor;
}

/* Variants of a candidate, each with one option changed: to `step` times as much and as little, to
 * every word, and, if `by_trace`, to what the trace suggests: its delays, its timers. */
static size_t vary(const struct tuner *tuner, const struct tune_candidate *from, int64_t step,
                   bool by_trace, int64_t (*variants)[TL_OPTIONS_MAX])
{
    const struct tl_algo *algo = from->contender.timed;
    const struct trace_info *info = &tuner->result->info;
    const uint64_t suggested[] = {info->delay_max, info->delay_max + 1, info->delay_p50,
                                  info->pending_max};
    size_t count = 0;
    for (size_t o = 0; o < tl_option_count(algo); o++) {
        const struct tl_option *row = &algo->options[o];
        int64_t value = from->contender.options[o];
        for (const struct tl_choice *c = row->choices; c != NULL && c->word != NULL; c++) {
            count = propose(tuner, from, o, c->value, variants, count);
        }
        count = propose(tuner, from, o, times(value, step), variants, count);
        count = propose(tuner, from, o, value / step, variants, count);
        int64_t power = 1; /* the powers of two about it: many a structure likes them */
        while (power <= value / 2) {
            power *= 2;
        }
        count = propose(tuner, from, o, power, variants, count);
        count = propose(tuner, from, o, times(power, 2), variants, count);
        if (step < 4 || row->max - row->min < 64) { /* small numbers one by one */
            count = propose(tuner, from, o, value + 1, variants, count);
            count = propose(tuner, from, o, value - 1, variants, count);
        }
        for (size_t i = 0; by_trace && i < sizeof suggested / sizeof suggested[0]; i++) {
            if (suggested[i] <= INT64_MAX) {
                count = propose(tuner, from, o, (int64_t)suggested[i], variants, count);
            }
        }
    }
    return count;
}

/* Whether it is worth varying a structure that stands where it does. */
static bool is_promising(const struct tuner *tuner, size_t structure, unsigned round, double least)
{
    const struct tune_candidate *best = &tuner->result->candidates[tuner->best[structure]];
    if (!usable(best)) { /* its options do not fit: others may */
        return best->counted || round == 0;
    }
    return !isnan(best->cost) && best->cost <= least * VARY_COST_FACTOR;
}

/* Counts variants of a structure, so many at a time, until as many as it may have taken too long.
 * *better: one of them is the structure's best now. */
static bool count_variants(struct tuner *tuner, size_t structure,
                           int64_t (*variants)[TL_OPTIONS_MAX], size_t count, size_t at_a_time,
                           bool *better, struct error *error)
{
    struct tune_result *result = tuner->result;
    size_t indices[PROPOSALS_MAX];
    unsigned too_slow = 0;
    bool good = true;
    *better = false;
    for (size_t done = 0; good && done < count && too_slow < TOO_SLOW_MAX;) {
        size_t some = 0;
        for (; good && some < at_a_time && done < count; done++) {
            indices[some++] = result->candidate_count;
            good = add_candidate(tuner, structure, variants[done], error);
        }
        good = good && run_candidates(tuner, indices, some, TUNE_COUNTED, 0, false, error);
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

/* One round: variants of the best of each structure, all counted. */
static bool vary_round(struct tuner *tuner, unsigned round, bool *active, struct error *error)
{
    double least = least_cost(tuner);
    int64_t(*variants)[TL_OPTIONS_MAX] = malloc(PROPOSALS_MAX * sizeof *variants);
    bool good = variants != NULL || error_set(error, "out of memory");
    for (size_t s = 0; good && s < tuner->request->structures->count; s++) {
        if (!active[s] || !is_promising(tuner, s, round, least) || is_over(tuner, COUNT_SHARE)) {
            continue;
        }
        const struct tune_candidate from = tuner->result->candidates[tuner->best[s]];
        size_t count = vary(tuner, &from, round % 2 == 0 ? 4 : 2, round == 0, variants);
        bool better = false;
        good = count_variants(tuner, s, variants, count, from.too_slow ? 1 : PROPOSALS_MAX, &better,
                              error);
        /* Steps of four have failed: steps of two come next, and after them nothing. */
        active[s] = better || round % 2 == 0;
    }
    free(variants);
    return good;
}

static bool count_all(struct tuner *tuner, struct error *error)
{
    size_t structures = tuner->request->structures->count;
    bool *active = malloc(structures + 1);
    bool good = active != NULL || error_set(error, "out of memory");
    tell(tuner, "counting what each structure does");
    for (size_t s = 0; good && s < structures; s++) {
        active[s] = tl_option_count(tuner->request->structures->items[s].timed) > 0;
        tuner->best[s] = tuner->result->candidate_count;
        good = add_candidate(tuner, s, tuner->request->structures->items[s].options, error);
    }
    good = good && run_candidates(tuner, tuner->best, structures, TUNE_COUNTED, 0, false, error);
    if (good && tuner->request->vary) {
        tell(tuner, "varying options, by what is counted");
    }
    for (unsigned round = 0; good && tuner->request->vary && round < VARY_ROUNDS; round++) {
        good = vary_round(tuner, round, active, error);
    }
    free(active);
    return good;
}

/* --- timing ---------------------------------------------------------------------------------- */

/* Sorts indices of candidates: those that fit first, the faster before the slower. */
static void sort_by_time(const struct tuner *tuner, size_t *indices, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        size_t index = indices[i];
        const struct tune_candidate *candidate = &tuner->result->candidates[index];
        size_t k = i;
        for (; k > 0; k--) {
            const struct tune_candidate *other = &tuner->result->candidates[indices[k - 1]];
            bool before = usable(candidate) != usable(other) ? usable(candidate)
                          : isnan(other->ns)                 ? !isnan(candidate->ns)
                                                             : candidate->ns < other->ns;
            if (!before) {
                break;
            }
            indices[k] = indices[k - 1];
        }
        indices[k] = index;
    }
}

/* The fastest candidate of each structure, in order, of those that keep to the limits; or one that
 * is about as fast and was looked at before, so that no option is set for nothing. Returns how
 * many; `indices` has room for one for each structure. */
static size_t fastest_of_each(const struct tuner *tuner, size_t *indices)
{
    const struct tune_result *result = tuner->result;
    size_t count = 0;
    for (size_t s = 0; s < tuner->request->structures->count; s++) {
        size_t fastest = SIZE_MAX;
        for (size_t i = 0; i < result->candidate_count; i++) {
            const struct tune_candidate *candidate = &result->candidates[i];
            if (candidate->structure == s && usable(candidate) && !isnan(candidate->ns) &&
                (fastest == SIZE_MAX || candidate->ns < result->candidates[fastest].ns)) {
                fastest = i;
            }
        }
        for (size_t i = 0; fastest != SIZE_MAX && i < fastest; i++) {
            const struct tune_candidate *candidate = &result->candidates[i];
            if (candidate->structure == s && usable(candidate) &&
                candidate->ns <= result->candidates[fastest].ns * OPTION_RATIO) {
                fastest = i;
            }
        }
        if (fastest != SIZE_MAX) {
            indices[count++] = fastest;
        }
    }
    sort_by_time(tuner, indices, count);
    return count;
}

/* The best of each structure by counts, and its first options beside, timed once or twice. */
static bool time_best(struct tuner *tuner, struct error *error)
{
    const struct tune_result *result = tuner->result;
    size_t structures = tuner->request->structures->count;
    double least = least_cost(tuner);
    size_t *indices = malloc((2 * structures + 1) * sizeof *indices);
    if (indices == NULL) {
        return error_set(error, "out of memory");
    }
    size_t count = 0;
    for (size_t s = 0; s < structures; s++) {
        const struct tune_candidate *best = &result->candidates[tuner->best[s]];
        if (!usable(best) || best->cost > least * TIME_COST_FACTOR) {
            continue;
        }
        indices[count++] = tuner->best[s];
        if (tuner->best[s] != s && usable(&result->candidates[s]) &&
            !(result->candidates[s].cost > least * TIME_COST_FACTOR)) {
            indices[count++] = s; /* what it began with: the counts may be wrong */
        }
    }
    tell(tuner, "timing the best of each structure");
    bool good = run_candidates(tuner, indices, count, TUNE_TIMED, TIMED_RUNS,
                               tuner->request->limits.stall_ns != UINT64_MAX, error);
    free(indices);
    return good;
}

/* Variants of the fastest few, side by side with them. */
static bool refine(struct tuner *tuner, struct error *error)
{
    size_t structures = tuner->request->structures->count;
    size_t *fastest = malloc((structures + 1) * sizeof *fastest);
    size_t *indices = malloc((PROPOSALS_MAX + 1) * sizeof *indices);
    int64_t(*variants)[TL_OPTIONS_MAX] = malloc(PROPOSALS_MAX * sizeof *variants);
    bool good = fastest != NULL && indices != NULL && variants != NULL;
    if (!good) {
        (void)error_set(error, "out of memory");
    }
    size_t count = good ? fastest_of_each(tuner, fastest) : 0;
    for (size_t f = 0; good && f < count && f < REFINE_STRUCTURES; f++) {
        const struct tune_candidate from = tuner->result->candidates[fastest[f]];
        double first = tuner->result->candidates[fastest[0]].ns;
        size_t found = from.ns < 2 * first ? vary(tuner, &from, 2, false, variants) : 0;
        double seconds = tuner->pass_seconds * (double)(found + 1) * (1 + TIMED_RUNS);
        if (found == 0 || is_over(tuner, REFINE_SHARE)) {
            continue;
        }
        if (seconds > tuner->request->budget_seconds - seconds_spent(tuner)) {
            tuner->result->out_of_time = true;
            continue;
        }
        indices[0] = fastest[f];
        for (size_t i = 0; good && i < found; i++) {
            indices[i + 1] = tuner->result->candidate_count;
            good = add_candidate(tuner, from.structure, variants[i], error);
        }
        good = good && run_candidates(tuner, indices, found + 1, TUNE_TIMED, TIMED_RUNS,
                                      tuner->request->limits.stall_ns != UINT64_MAX, error);
    }
    free(fastest);
    free(indices);
    free(variants);
    return good;
}

/* --- the choice ------------------------------------------------------------------------------ */

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
    for (size_t i = 1; i < count && usable(&result->candidates[finals[i]]); i++) {
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
        if (other != best && usable(other)) {
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

/* The first few side by side, as often as the time allows. */
static bool compete(struct tuner *tuner, struct error *error)
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
        size_t all = fastest_of_each(tuner, finals);
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
        tell(tuner, "running the first few side by side");
        good = run_candidates(tuner, finals, count, TUNE_TIMED, STALL_RUNS, true, error);
        double left = tuner->request->budget_seconds - seconds_spent(tuner);
        double runs = left / (tuner->pass_seconds * (double)(count + 1));
        runs = runs < FINAL_RUNS_MIN ? FINAL_RUNS_MIN : runs;
        runs = runs > FINAL_RUNS_MAX ? FINAL_RUNS_MAX : runs;
        good =
            good && run_candidates(tuner, finals, count, TUNE_FINAL, (unsigned)runs, false, error);
        sort_by_time(tuner, finals, count);
        if (good && usable(&tuner->result->candidates[finals[0]])) {
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
        if (!taken[s] && usable(candidate) && !isnan(candidate->cost) &&
            (least == SIZE_MAX || candidate->cost < result->candidates[tuner->best[least]].cost)) {
            least = s;
        }
    }
    return least;
}

/* The least work of those that keep to the limits. What was searched with a part of the trace only,
 * is counted once more with all of it. */
static bool choose_by_counts(struct tuner *tuner, struct error *error)
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
    good = good && run_candidates(tuner, finals, count, TUNE_FINAL, 0, false, error);
    for (size_t i = 0; good && i < count; i++) {
        const struct tune_candidate *candidate = &result->candidates[finals[i]];
        if (!usable(candidate)) {
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

/* --- a part of a trace ----------------------------------------------------------------------- */

/* Copies a trace up to the tick at which its window has SEARCH_EVENTS operations. */
static bool copy_beginning(struct trace_reader *reader, struct trace_writer *writer,
                           uint64_t *end_tick, struct error *error)
{
    const struct trace_header *header = trace_reader_header(reader);
    struct trace_block block;
    uint64_t events = 0;
    int got = 0;
    *end_tick = header->end_tick;
    while ((got = trace_reader_next(reader, &block, error)) == 1) {
        for (size_t g = 0; g < block.group_count; g++) {
            const struct trace_group *group = &block.groups[g];
            if (events >= SEARCH_EVENTS && group->tick < *end_tick) {
                *end_tick = group->tick; /* every operation's tick is before it */
                return true;
            }
            for (uint32_t i = 0; i < group->count; i++) {
                const struct trace_record *record = &block.records[group->first + i];
                if (!trace_writer_add(
                        writer, group->tick, record->id, (enum trace_op)record->op,
                        record->op == TRACE_START ? record->deadline - group->tick : 0, error)) {
                    return false;
                }
            }
            events += group->tick >= header->warmup_end_tick ? group->count : 0;
        }
    }
    return got == 0;
}

/* Makes the beginning of a long trace the one that is searched with. `path` is the new file. */
static bool cut(struct tuner *tuner, char *path, struct error *error)
{
    const char *folder = getenv("TMPDIR");
    struct tune_result *result = tuner->result;
    struct trace_reader *reader = trace_reader_open(tuner->request->trace_path, error);
    if (reader == NULL) {
        return false;
    }
    (void)snprintf(path, PATH_MAX, "%s/timerlab-tune-%ld.trace", folder != NULL ? folder : "/tmp",
                   (long)getpid());
    const struct trace_header *header = trace_reader_header(reader);
    struct trace_writer *writer = trace_writer_open(path, header->tick_ns, error);
    uint64_t end_tick = 0;
    bool good = writer != NULL && copy_beginning(reader, writer, &end_tick, error);
    if (good) {
        tuner->seconds =
            (double)(end_tick - header->warmup_end_tick) * (double)header->tick_ns / 1e9;
        good = trace_writer_commit(writer, header->warmup_end_tick, end_tick, header->ids, NULL,
                                   error);
    } else {
        trace_writer_abort(writer);
    }
    trace_reader_close(reader);
    struct trace_info info;
    reader = good ? trace_reader_open(path, error) : NULL;
    good = reader != NULL && trace_info_collect(reader, &info, NULL, error);
    trace_reader_close(reader);
    if (good) {
        tuner->path = path;
        tuner->events = info.window_events;
        result->search_events = info.window_events;
    }
    return good;
}

/* From here on all of the trace is replayed. */
static void take_all(struct tuner *tuner)
{
    tuner->path = tuner->request->trace_path;
    tuner->events = tuner->result->info.window_events;
    tuner->seconds = tuner->result->trace_seconds;
}

/* --- the whole ------------------------------------------------------------------------------- */

static bool read_trace(const struct tune_request *request, struct tune_result *result,
                       struct error *error)
{
    struct trace_reader *reader = trace_reader_open(request->trace_path, error);
    if (reader == NULL) {
        return false;
    }
    const struct trace_header *header = trace_reader_header(reader);
    result->tick_ns = header->tick_ns;
    result->events = header->events;
    result->ids = header->ids;
    result->trace_seconds =
        (double)(header->end_tick - header->warmup_end_tick) * (double)header->tick_ns / 1e9;
    bool good = trace_info_collect(reader, &result->info, NULL, error);
    trace_reader_close(reader);
    if (good && result->info.window_events == 0) {
        good = error_set(error, "%s: has no operations to judge by", request->trace_path);
    }
    return good;
}

bool tune(const struct tune_request *request, struct tune_result *result, struct error *error)
{
    *result = (struct tune_result){0};
    struct tuner tuner = {.request = request, .result = result, .begun = seconds_now()};
    if (!read_trace(request, result, error)) {
        return false;
    }
    char path[PATH_MAX] = "";
    take_all(&tuner);
    result->search_events = tuner.events;
    tuner.best = calloc(request->structures->count + 1, sizeof *tuner.best);
    bool good = tuner.best != NULL || error_set(error, "out of memory");
    if (good && tuner.events >= 2 * SEARCH_EVENTS) {
        tell(&tuner, "cutting out what is searched with");
        good = cut(&tuner, path, error);
    }
    good = good && count_all(&tuner, error);
    if (good && !request->by_counts) {
        good = time_best(&tuner, error);
        for (unsigned round = 0; good && request->vary && round < REFINE_ROUNDS; round++) {
            tell(&tuner, "varying options, by the clock");
            good = refine(&tuner, error);
        }
    }
    take_all(&tuner);
    tuner.deciding = true;
    good = good && (request->by_counts ? choose_by_counts(&tuner, error) : compete(&tuner, error));
    if (path[0] != '\0') {
        (void)unlink(path);
    }
    free(tuner.best);
    if (!good) {
        tune_result_free(result);
    }
    return good;
}

void tune_result_free(struct tune_result *result)
{
    for (size_t i = 0; i < result->candidate_count; i++) {
        free(result->candidates[i].ns_per_event);
    }
    free(result->candidates);
    *result = (struct tune_result){0};
}
