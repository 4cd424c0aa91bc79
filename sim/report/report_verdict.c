#include "report_verdict.h"

#include "compare.h"
#include "figures.h"
#include "judge.h"
#include "result_set.h"
#include "statistics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What chance alone explains in fewer cases than this leaves is a difference. */
#define CONFIDENCE        0.95

/* More are counted, not listed. */
#define LISTED_MAX        4

/* A horizon beyond this, of 49 days if a tick is 1 ms, is none that matters. */
#define HORIZON_MAX_TICKS UINT32_MAX

/* --- differences ----------------------------------------------------------------------------- */

struct measured {
    double value;
    double spread;
    double runs;
};

static struct measured measured_event(const json_t *row)
{
    return (struct measured){row_number(row, "ns_per_event"), row_number(row, "ns_per_event_mad"),
                             row_number(row, "runs")};
}

static struct measured measured_op(const json_t *row)
{
    return (struct measured){row_number(row, "ns_per_op"), row_number(row, "ns_per_op_mad"),
                             row_number(row, "runs")};
}

const char *rule_text(void)
{
    return "Who fires early or late does less; so the fastest is looked for among those that fired "
           "every timer on its due tick, where there are any. Structures in italics are "
           "yardsticks, not contenders. A difference counts as in " MARK_CODE
           "timerlab compare" MARK_CODE ": both sides "
           "have at least five runs, and a rank test of these finds a difference that chance "
           "explains in less than 5 % of cases, and that is larger than 1 % where six rounds or "
           "more make pairs, else than 5 %; each pair of structures is taken for itself; "
           "of results without their single runs, if the medians are further apart than three "
           "times the spreads (median absolute deviations, MAD) together. Otherwise the words are "
           "\"cannot tell\". Stall, memory and wakeups have no such test; a stall can also be the "
           "machine's own.";
}

static bool differ(struct measured a, struct measured b)
{
    double spreads = (isnan(a.spread) ? 0 : a.spread) + (isnan(b.spread) ? 0 : b.spread);
    return a.runs >= JUDGE_RUNS_MIN && b.runs >= JUDGE_RUNS_MIN &&
           fabs(a.value - b.value) > 3 * spreads;
}

/* What the single runs of a row took; *count is 0 if that is not known, or out of memory. To be
 * freed. */
static double *run_times(const json_t *row, const char *metric, size_t *count)
{
    const json_t *samples = json_object_get(json_object_get(row, "samples"), metric);
    double *times = calloc(json_array_size(samples) + 1, sizeof *times);
    *count = times != NULL ? json_array_size(samples) : 0;
    for (size_t i = 0; i < *count; i++) {
        times[i] = json_number_value(json_array_get(samples, i));
    }
    return times;
}

/* Judges two rows of one trace in one folder by their single runs of a figure, as `timerlab
 * compare` does. They were made in rounds, in which every structure took its turn: what the machine
 * did meanwhile it did to both. False if there are none, or out of memory. */
static bool judge_rows(const json_t *base, const json_t *other, const char *metric,
                       struct judgement *judgement)
{
    struct judge_settings settings = {.confidence = CONFIDENCE,
                                      .min_effect = COMPARE_MIN_EFFECT_PAIRED};
    size_t base_count = 0;
    size_t other_count = 0;
    double *base_times = run_times(base, metric, &base_count);
    double *other_times = run_times(other, metric, &other_count);
    bool judged = base_count > 0 && other_count > 0;
    if (judged && base_count == other_count && stats_least_paired_p(base_count) <= 1 - CONFIDENCE) {
        judged = judge_paired(base_times, other_times, base_count, &settings, judgement);
    } else if (judged) {
        /* Too few pairs prove nothing, where as many single runs can show a large difference. */
        settings.min_effect = COMPARE_MIN_EFFECT_APART;
        judged =
            judge_unpaired(base_times, base_count, other_times, other_count, &settings, judgement);
    }
    free(base_times);
    free(other_times);
    return judged;
}

/* Whether `other` is shown to take longer for an event than `base`. */
static bool is_slower(const json_t *base, const json_t *other)
{
    struct judgement judgement;
    for (size_t i = 0; i < RESULT_SIM_TIMES; i++) {
        if (judge_rows(base, other, result_sim_times[i], &judgement)) {
            return judgement.obstacle == JUDGE_CLEAR && judgement.p <= 1 - CONFIDENCE &&
                   judgement.change > 0;
        }
    }
    return differ(measured_event(base), measured_event(other)) &&
           row_number(other, "ns_per_event") > row_number(base, "ns_per_event");
}

/* --- contests -------------------------------------------------------------------------------- */

static int by_event_time(const void *a, const void *b)
{
    double left = row_number(*(const json_t *const *)a, "ns_per_event");
    double right = row_number(*(const json_t *const *)b, "ns_per_event");
    return (left > right) - (left < right);
}

static bool belongs(const struct contest *contest, const json_t *row)
{
    return strcmp(contest->trace, row_string(row, "trace")) == 0 &&
           strcmp(contest->mark, row_string(row, "set")) == 0;
}

const struct contest *contest_find(const struct contest_list *list, const json_t *row)
{
    for (size_t i = 0; i < list->count; i++) {
        if (belongs(&list->items[i], row)) {
            return &list->items[i];
        }
    }
    return NULL;
}

/* Whether every timer that the row fired was fired on its due tick. */
static bool is_punctual(const json_t *row)
{
    double earliest = row_number(row, "lateness_min");
    double latest = row_number(row, "lateness_max");
    return (isnan(earliest) || earliest == 0) && (isnan(latest) || latest == 0);
}

/* Fills contest->rows with the rows that compete, of them all or only of those that are (not)
 * punctual; the fastest first. */
enum rows_wanted { ROWS_ALL, ROWS_PUNCTUAL, ROWS_UNPUNCTUAL };

static size_t collect_rows(const struct contest *contest, const struct report_data *data,
                           enum rows_wanted wanted, const json_t **rows)
{
    size_t count = 0;
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(data->rows, i, row)
    {
        if (belongs(contest, row) && row_competes(data, row) &&
            (wanted == ROWS_ALL || (wanted == ROWS_PUNCTUAL) == is_punctual(row))) {
            rows[count++] = row;
        }
    }
    qsort((void *)rows, count, sizeof rows[0], by_event_time);
    return count;
}

static bool contest_build(struct contest *contest, const struct report_data *data)
{
    size_t all = json_array_size(data->rows);
    contest->rows = calloc(all, sizeof *contest->rows);
    contest->tied = calloc(all, sizeof *contest->tied);
    if (contest->rows == NULL || contest->tied == NULL) {
        return false;
    }
    contest->unpunctual = collect_rows(contest, data, ROWS_UNPUNCTUAL, contest->rows);
    const json_t *unpunctual = contest->rows[0];
    contest->count = collect_rows(contest, data, ROWS_PUNCTUAL, contest->rows);
    if (contest->count == 0) {
        contest->unpunctual = 0;
        contest->count = collect_rows(contest, data, ROWS_ALL, contest->rows);
    }
    for (size_t i = 0; i < contest->count; i++) {
        contest->tied[i] = i == 0 || !is_slower(contest->rows[0], contest->rows[i]);
        contest->tied_count += i > 0 && contest->tied[i];
    }
    if (contest->unpunctual > 0 && by_event_time(&unpunctual, &contest->rows[0]) < 0 &&
        is_slower(unpunctual, contest->rows[0])) {
        contest->fastest_unpunctual = unpunctual;
    }
    return true;
}

bool contest_list_build(struct contest_list *list, const struct report_data *data)
{
    *list = (struct contest_list){.items =
                                      calloc(json_array_size(data->rows) + 1, sizeof *list->items)};
    bool done = list->items != NULL;
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(data->rows, i, row)
    {
        if (done && contest_find(list, row) == NULL) {
            struct contest *contest = &list->items[list->count++];
            contest->mark = row_string(row, "set");
            contest->trace = row_string(row, "trace");
            done = contest_build(contest, data);
        }
    }
    if (!done) {
        contest_list_free(list);
    }
    return done;
}

void contest_list_free(struct contest_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free((void *)list->items[i].rows);
        free(list->items[i].tied);
    }
    free(list->items);
    *list = (struct contest_list){0};
}

/* --- names ----------------------------------------------------------------------------------- */

const char *series_text(struct pool *pool, const json_t *row)
{
    const char *options = row_string(row, "options");
    const char *mark = row_string(row, "set");
    return pool_format(pool, MARK_CODE "%s%s%s%s%s" MARK_CODE, row_string(row, "algo"),
                       options[0] != '\0' ? ":" : "", options, mark[0] != '\0' ? "@" : "", mark);
}

/* A trace, and the folder of its results where there are several. */
static const char *place_text(struct pool *pool, const struct contest *contest)
{
    return contest->mark[0] == '\0'
               ? trace_base(contest->trace)
               : pool_format(pool, "%s (%s)", trace_base(contest->trace), contest->mark);
}

/* --- one contest ----------------------------------------------------------------------------- */

/* The least of a column among a contest's rows that have it, and how many have it; false if all
 * have the same. */
static bool find_least(const struct contest *contest, const char *column, const json_t **least,
                       size_t *having)
{
    double highest = NAN;
    *least = NULL;
    *having = 0;
    for (size_t i = 0; i < contest->count; i++) {
        double value = row_number(contest->rows[i], column);
        if (isnan(value)) {
            continue;
        }
        if (*least == NULL || value < row_number(*least, column)) {
            *least = contest->rows[i];
        }
        highest = isnan(highest) || value > highest ? value : highest;
        ++*having;
    }
    return *least != NULL && row_number(*least, column) < highest;
}

/* "24.0 bytes a timer (the least of 4)", "24.0 ns (the least: 12.0 ns, `other`)". */
static const char *standing(struct pool *pool, const struct contest *contest, const char *column,
                            const char *(*figure)(double, char[FIGURE_BYTES]), const char *unit)
{
    double mine = row_number(contest->rows[0], column);
    const json_t *least = NULL;
    size_t having = 0;
    bool differing = find_least(contest, column, &least, &having);
    if (isnan(mine)) {
        return "not measured";
    }
    const char *text = pool_format(pool, "%s%s", figure(mine, FIGURE), unit);
    if (having < 2) {
        return text;
    }
    if (!differing) {
        return pool_format(pool, "%s (like all of them)", text);
    }
    double best = row_number(least, column);
    if (mine <= best) {
        return pool_format(pool, "%s (the least of %zu)", text, having);
    }
    return pool_format(pool, "%s (the least: %s%s, %s)", text, figure(best, FIGURE), unit,
                       series_text(pool, least));
}

/* What of the lateness is not zero, as "up to 2 ticks early and up to 1 tick late"; "" if nothing.
 */
static const char *lateness_words(struct pool *pool, double earliest, double latest)
{
    struct text text = {.pool = pool};
    if (earliest < 0) {
        text_add(&text, "up to %s early", ticks_text(-earliest, FIGURE));
    }
    if (latest > 0) {
        text_add(&text, "%sup to %s late", earliest < 0 ? " and " : "", ticks_text(latest, FIGURE));
    }
    return text_end(&text);
}

static const char *lateness_text(struct pool *pool, const json_t *row)
{
    double earliest = row_number(row, "lateness_min");
    double latest = row_number(row, "lateness_max");
    if (isnan(earliest)) {
        return "no timer fired, so there is none";
    }
    const char *words = lateness_words(pool, earliest, latest);
    return words[0] == '\0' ? "every timer fired on its due tick"
                            : pool_format(pool, "timers fired %s", words);
}

/* Whether there are deadlines that a row's structure refuses for being too far away. */
static bool has_horizon(const struct report_data *data, const json_t *row)
{
    const json_t *structure = json_object_get(data->structures, row_string(row, "algo"));
    return row_number(structure, "horizon_ticks") <= HORIZON_MAX_TICKS;
}

void contest_costs(struct pool *pool, const struct report_data *data, const struct contest *contest,
                   const char *items[CONTEST_COSTS])
{
    items[0] =
        pool_format(pool, "memory: %s; at the peak %s",
                    standing(pool, contest, "bytes_per_timer", figure_text, " bytes a timer"),
                    standing(pool, contest, "bytes_peak", size_text, ""));
    items[1] =
        pool_format(pool, "stall, the longest single advance of a run, median of the runs: %s",
                    standing(pool, contest, "stall_ns", duration_text, ""));
    items[2] = pool_format(pool, "wakeups: %s, of these idle: %s",
                           standing(pool, contest, "wakeups", grouped_text, ""),
                           standing(pool, contest, "idle_wakeups", grouped_text, ""));
    items[3] = pool_format(pool, "lateness: %s", lateness_text(pool, contest->rows[0]));
    items[4] = has_horizon(data, contest->rows[0])
                   ? "horizon: a deadline further away than it was made for is refused"
                   : "horizon: none that matters";
}

/* Adds who cannot be told from the first, with their figures. */
static void add_tied(struct text *text, const struct contest *contest)
{
    size_t tied = contest->tied_count + 1;
    size_t listed = tied > LISTED_MAX ? LISTED_MAX : tied;
    size_t said = 0;
    bool few_runs = false;
    text_add(text, MARK_BOLD "Cannot tell which is the fastest of ");
    for (size_t i = 0; i < contest->count; i++) {
        few_runs = few_runs || row_number(contest->rows[i], "runs") < JUDGE_RUNS_MIN;
        if (contest->tied[i] && said < listed) {
            struct measured m = measured_event(contest->rows[i]);
            text_add_joint(text, said++, tied > listed ? listed + 1 : listed);
            text_add(text, "%s (%s ± %s ns)", series_text(text->pool, contest->rows[i]),
                     figure_text(m.value, FIGURE), figure_text(m.spread, FIGURE));
        }
    }
    if (listed < tied) {
        text_add(text, " and %zu more", tied - listed);
    }
    text_add(text, MARK_BOLD "%s. The smallest median is that of %s: ",
             few_runs ? " (it takes five runs)"
                      : " (they differ by no more than chance may explain)",
             series_text(text->pool, contest->rows[0]));
}

/* How many times as long those take that are slower than the first: the next few, and the last. */
static void add_slower(struct text *text, const struct contest *contest)
{
    double first_ns = row_number(contest->rows[0], "ns_per_event");
    size_t slower = contest->count - contest->tied_count - 1;
    size_t said = 0;
    for (size_t i = 1; i < contest->count; i++) {
        if (contest->tied[i]) {
            continue;
        }
        if (said < LISTED_MAX || said + 1 == slower) {
            text_add(text, "%s", said == 0 ? " Time per event compared with it: " : "");
            text_add_joint(text, said, slower);
            text_add(text, "%s %s times", series_text(text->pool, contest->rows[i]),
                     figure_text(row_number(contest->rows[i], "ns_per_event") / first_ns, FIGURE));
        } else if (said == LISTED_MAX) {
            text_add(text, ", %zu others", slower - LISTED_MAX - 1);
        }
        said++;
    }
    text_add(text, "%s", said > 0 ? "." : "");
}

const char *contest_text(struct pool *pool, const struct contest *contest)
{
    struct text text = {.pool = pool};
    if (contest->count == 0) {
        return "No structure ran this trace to its end without a fault.";
    }
    const json_t *first = contest->rows[0];
    const char *name = series_text(pool, first);
    double floor_ns = row_number(first, "floor_ns_per_event");
    if (contest->count == 1) {
        text_add(&text, "Only %s ran this trace: ", name);
    } else if (contest->tied_count == 0) {
        text_add(&text, MARK_BOLD "%s is the fastest" MARK_BOLD ": ", name);
    } else {
        add_tied(&text, contest);
    }
    text_add(&text, "%s ns per event, %s events per second",
             figure_text(row_number(first, "ns_per_event"), FIGURE),
             rate_text(row_number(first, "events_per_s"), FIGURE));
    if (!isnan(floor_ns)) {
        text_add(&text, "; %s ns of it is the harness itself", figure_text(floor_ns, FIGURE));
    }
    text_add(&text, ".");
    add_slower(&text, contest);
    if (contest->fastest_unpunctual != NULL) {
        text_add(&text, " %s, which is not punctual, takes %s times as long.",
                 series_text(pool, contest->fastest_unpunctual),
                 figure_text(row_number(contest->fastest_unpunctual, "ns_per_event") /
                                 row_number(first, "ns_per_event"),
                             FIGURE));
    }
    return text_end(&text);
}

/* --- all in two sentences -------------------------------------------------------------------- */

static bool same_series(const json_t *a, const json_t *b)
{
    return strcmp(row_string(a, "algo"), row_string(b, "algo")) == 0 &&
           strcmp(row_string(a, "options"), row_string(b, "options")) == 0;
}

/* Whether a contest has one fastest. */
static bool is_won(const struct contest *contest)
{
    return contest->count > 0 && contest->tied_count == 0;
}

/* Whether contest `index` is the first that its structure won. */
static bool is_first_win(const struct contest_list *list, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (is_won(&list->items[i]) &&
            same_series(list->items[i].rows[0], list->items[index].rows[0])) {
            return false;
        }
    }
    return is_won(&list->items[index]);
}

/* The name of a winner: without the folder, which stands beside the trace. */
static const char *winner_text(struct pool *pool, const json_t *row)
{
    const char *options = row_string(row, "options");
    return pool_format(pool, MARK_CODE "%s%s%s" MARK_CODE, row_string(row, "algo"),
                       options[0] != '\0' ? ":" : "", options);
}

/* "`a` is the fastest on x (24.0 ns per event; the next, `b`, takes 1.50 times as long) and ...".
 */
static void add_wins(struct text *text, const struct contest_list *list, const json_t *winner)
{
    size_t wins = 0;
    size_t said = 0;
    for (size_t i = 0; i < list->count; i++) {
        wins += is_won(&list->items[i]) && same_series(list->items[i].rows[0], winner);
    }
    text_add(text, MARK_BOLD "%s is the fastest" MARK_BOLD, winner_text(text->pool, winner));
    if (list->count > CONTESTS_TOLD) {
        text_add(text, " on %zu of %zu traces", wins, list->count);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct contest *contest = &list->items[i];
        if (!is_won(contest) || !same_series(contest->rows[0], winner)) {
            continue;
        }
        double ns = row_number(contest->rows[0], "ns_per_event");
        text_add_joint(text, said, wins);
        text_add(text, "%son %s (%s ns per event", said++ > 0 ? "" : " ",
                 place_text(text->pool, contest), figure_text(ns, FIGURE));
        if (contest->count > 1) {
            text_add(text, "; the next, %s, takes %s times as long",
                     winner_text(text->pool, contest->rows[1]),
                     figure_text(row_number(contest->rows[1], "ns_per_event") / ns, FIGURE));
        } else {
            text_add(text, "; nothing else ran it");
        }
        text_add(text, ")");
    }
}

static void add_tie(struct text *text, const struct contest *contest)
{
    size_t tied = contest->tied_count + 1;
    size_t listed = tied > LISTED_MAX ? LISTED_MAX : tied;
    size_t said = 0;
    text_add(text, "on %s " MARK_BOLD "cannot tell" MARK_BOLD " which is the fastest of ",
             place_text(text->pool, contest));
    for (size_t i = 0; i < contest->count && said < listed; i++) {
        if (contest->tied[i]) {
            text_add_joint(text, said++, listed < tied ? listed + 1 : listed);
            text_add(text, "%s", winner_text(text->pool, contest->rows[i]));
        }
    }
    if (listed < tied) {
        text_add(text, " and %zu more", tied - listed);
    }
    text_add(text, " (%s ns per event at best)",
             figure_text(row_number(contest->rows[0], "ns_per_event"), FIGURE));
}

/* What is known of the contests that nobody won: each one, or, if they are many, how many. */
static void add_undecided(struct text *text, const struct contest_list *list, size_t said)
{
    size_t tied = 0;
    size_t empty = 0;
    for (size_t i = 0; i < list->count; i++) {
        tied += list->items[i].tied_count > 0;
        empty += list->items[i].count == 0;
    }
    for (size_t i = 0; i < list->count && list->count <= CONTESTS_TOLD; i++) {
        if (list->items[i].tied_count > 0) {
            text_add(text, "%s", said++ > 0 ? "; " : "");
            add_tie(text, &list->items[i]);
        }
    }
    if (tied > 0 && list->count > CONTESTS_TOLD) {
        text_add(text, "%son %zu of %zu traces " MARK_BOLD "cannot tell" MARK_BOLD,
                 said++ > 0 ? "; " : "", tied, list->count);
    }
    for (size_t i = 0; i < list->count && list->count <= CONTESTS_TOLD; i++) {
        if (list->items[i].count == 0) {
            text_add(text, "%son %s nothing ran to its end without a fault", said++ > 0 ? "; " : "",
                     place_text(text->pool, &list->items[i]));
        }
    }
    if (empty > 0 && list->count > CONTESTS_TOLD) {
        text_add(text, "%son %zu of %zu traces nothing ran to its end without a fault",
                 said > 0 ? "; " : "", empty, list->count);
    }
}

/* Who is faster than the first, but fires early or late. */
static void add_faster_unpunctual(struct text *text, const struct contest_list *list)
{
    size_t faster = 0;
    size_t said = 0;
    for (size_t i = 0; i < list->count; i++) {
        faster += list->items[i].fastest_unpunctual != NULL;
    }
    if (faster > 0 && list->count > CONTESTS_TOLD) {
        text_add(text, "; on %zu of %zu traces others are faster, but not punctual", faster,
                 list->count);
        return;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct contest *contest = &list->items[i];
        if (contest->fastest_unpunctual == NULL) {
            continue;
        }
        text_add(text, "%s", said == 0 ? "; faster only by not being punctual: " : "");
        text_add_joint(text, said++, faster);
        text_add(text, "%s on %s (%s ns)", winner_text(text->pool, contest->fastest_unpunctual),
                 place_text(text->pool, contest),
                 figure_text(row_number(contest->fastest_unpunctual, "ns_per_event"), FIGURE));
    }
}

static void add_winners(struct text *text, const struct contest_list *list)
{
    size_t said = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (is_first_win(list, i)) {
            text_add(text, "%s", said++ > 0 ? "; " : "");
            add_wins(text, list, list->items[i].rows[0]);
        }
    }
    add_undecided(text, list, said);
}

/* What a structure costs where it stands first: the worst of those contests. */
struct worst {
    double value;
    double least; /* of all, in the contest of the value */
    const json_t *least_row;
};

static struct worst find_worst(const struct contest_list *list, const json_t *first,
                               const char *column)
{
    struct worst worst = {NAN, NAN, NULL};
    for (size_t i = 0; i < list->count; i++) {
        const struct contest *contest = &list->items[i];
        if (contest->count == 0 || !same_series(contest->rows[0], first)) {
            continue;
        }
        double value = row_number(contest->rows[0], column);
        if (!isnan(value) && (isnan(worst.value) || value > worst.value)) {
            size_t having = 0;
            (void)find_least(contest, column, &worst.least_row, &having);
            worst.value = value;
            worst.least = row_number(worst.least_row, column);
        }
    }
    return worst;
}

/* " (the least)", " (12.0 times the least, that of `b`)". */
static void add_compared(struct text *text, struct worst worst)
{
    if (worst.value <= worst.least) {
        text_add(text, " (none takes less)");
    } else if (worst.least > 0) {
        text_add(text, " (%s times that of %s)", figure_text(worst.value / worst.least, FIGURE),
                 winner_text(text->pool, worst.least_row));
    }
}

static void add_price(struct text *text, const struct report_data *data,
                      const struct contest_list *list, const json_t *first)
{
    struct worst bytes = find_worst(list, first, "bytes_per_timer");
    struct worst stall = find_worst(list, first, "stall_ns");
    struct worst latest = find_worst(list, first, "lateness_max");
    double earliest = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].count > 0 && same_series(list->items[i].rows[0], first)) {
            double value = row_number(list->items[i].rows[0], "lateness_min");
            earliest = value < earliest ? value : earliest;
        }
    }
    text_add(text, "%s costs ", winner_text(text->pool, first));
    if (!isnan(bytes.value)) {
        text_add(text, "%s bytes a timer", figure_text(bytes.value, FIGURE));
        add_compared(text, bytes);
        text_add(text, ", ");
    }
    if (!isnan(stall.value)) {
        text_add(text, "a longest stall of %s", duration_text(stall.value, FIGURE));
        add_compared(text, stall);
        text_add(text, ", ");
    }
    const char *lateness = lateness_words(text->pool, earliest, latest.value);
    bool horizon = has_horizon(data, first);
    text_add(text, "%s%s%s%s", horizon ? "" : "and ",
             lateness[0] != '\0' ? "firing " : "no lateness", lateness,
             horizon ? ", and a horizon: a deadline further away than it was made for is refused"
                     : "");
}

/* Whether no contest before has the same first. */
static bool is_first_first(const struct contest_list *list, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (list->items[i].count > 0 &&
            same_series(list->items[i].rows[0], list->items[index].rows[0])) {
            return false;
        }
    }
    return true;
}

static const char *what_it_costs(struct pool *pool, const struct report_data *data,
                                 const struct contest_list *list)
{
    struct text text = {.pool = pool};
    size_t said = 0;
    for (size_t i = 0; i < list->count && said < LISTED_MAX; i++) {
        if (list->items[i].count > 0 && is_first_first(list, i)) {
            text_add(&text, "%s", said++ > 0 ? "; " : "");
            add_price(&text, data, list, list->items[i].rows[0]);
        }
    }
    text_add(&text, "%s", said > 0 ? "." : "");
    return text_end(&text);
}

/* --- single operations ----------------------------------------------------------------------- */

/* The rows of one folder, one operation and one number of timers that were measured, the fastest
 * first. */
struct op_contest {
    const json_t **rows;
    size_t count;
};

static int by_op_time(const void *a, const void *b)
{
    double left = row_number(*(const json_t *const *)a, "ns_per_op");
    double right = row_number(*(const json_t *const *)b, "ns_per_op");
    return (left > right) - (left < right);
}

static bool op_competes(const struct report_data *data, const json_t *row)
{
    return !isnan(row_number(row, "ns_per_op")) && !row_promises(data, row, "baseline");
}

static bool same_op(const json_t *a, const json_t *b)
{
    return strcmp(row_string(a, "op"), row_string(b, "op")) == 0 &&
           strcmp(row_string(a, "set"), row_string(b, "set")) == 0;
}

/* Those of the operation of `like`, with `n` timers. `rows` has room for all. */
static size_t find_op_rows(const struct report_data *data, const json_t *like, double n,
                           const json_t **rows)
{
    size_t count = 0;
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(data->bench, i, row)
    {
        if (same_op(row, like) && row_number(row, "n") == n && op_competes(data, row)) {
            rows[count++] = row;
        }
    }
    qsort(rows, count, sizeof rows[0], by_op_time);
    return count;
}

/* "with 1,000 timers `a` (10.0 ns; the next, `b`, takes 3.00 times as long)". */
static void add_op_winner(struct text *text, const json_t *const *rows, size_t count, double n)
{
    struct measured first = measured_op(rows[0]);
    size_t tied = 0;
    for (size_t i = 1; i < count; i++) {
        tied += !differ(first, measured_op(rows[i]));
    }
    text_add(text, "with %s timers ", grouped_text(n, FIGURE));
    if (count == 1) {
        text_add(text, "only %s was measured", series_text(text->pool, rows[0]));
    } else if (first.runs < JUDGE_RUNS_MIN) {
        text_add(text, "cannot tell (it takes five runs, and here are %s)",
                 grouped_text(first.runs, FIGURE));
    } else if (tied > 0) {
        size_t said = 0;
        text_add(text, "cannot tell ");
        for (size_t i = 0; i < count; i++) {
            if (i == 0 || !differ(first, measured_op(rows[i]))) {
                text_add_joint(text, said++, tied + 1);
                text_add(text, "%s", series_text(text->pool, rows[i]));
            }
        }
        text_add(text, " apart");
    } else {
        text_add(text, "%s (%s ns; the next, %s, takes %s times as long)",
                 series_text(text->pool, rows[0]), figure_text(first.value, FIGURE),
                 series_text(text->pool, rows[1]),
                 figure_text(measured_op(rows[1]).value / first.value, FIGURE));
    }
}

void bench_texts(struct pool *pool, const struct report_data *data,
                 void (*say)(void *context, const char *text), void *context)
{
    size_t all = json_array_size(data->bench);
    const json_t **rows = calloc(all + 1, sizeof *rows);
    if (rows == NULL) {
        pool->failed = true;
        return;
    }
    for (size_t i = 0; i < all; i++) {
        const json_t *like = json_array_get(data->bench, i);
        double fewest = NAN;
        double most = NAN;
        double runs = 0;
        bool first = true;
        for (size_t k = 0; k < all; k++) {
            const json_t *row = json_array_get(data->bench, k);
            double n = row_number(row, "n");
            if (!same_op(row, like)) {
                continue;
            }
            first = first && k >= i;
            if (op_competes(data, row)) {
                runs = fmax(runs, row_number(row, "runs"));
                fewest = isnan(fewest) || n < fewest ? n : fewest;
                most = isnan(most) || n > most ? n : most;
            }
        }
        if (!first || isnan(most) || runs < JUDGE_RUNS_MIN) {
            continue;
        }
        struct text text = {.pool = pool};
        const char *mark = row_string(like, "set");
        text_add(&text, "%s%s%s%s: ", row_string(like, "op"), mark[0] != '\0' ? " (" : "", mark,
                 mark[0] != '\0' ? ")" : "");
        add_op_winner(&text, rows, find_op_rows(data, like, fewest, rows), fewest);
        if (most > fewest) {
            text_add(&text, "; ");
            add_op_winner(&text, rows, find_op_rows(data, like, most, rows), most);
        }
        say(context, text_end(&text));
    }
    free((void *)rows);
}

const char *verdict_text(struct pool *pool, const struct report_data *data,
                         const struct contest_list *list)
{
    if (list->count == 0) {
        return json_array_size(data->bench) > 0
                   ? "There are no results of a simulation here, only of single operations: see "
                     "\"One operation at a time\"."
                   : "There are no results here.";
    }
    struct text text = {.pool = pool};
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].unpunctual > 0) {
            text_add(&text, "Of the structures that fire every timer on its due tick, ");
            break;
        }
    }
    add_winners(&text, list);
    add_faster_unpunctual(&text, list);
    text_add(&text, ". %s", what_it_costs(pool, data, list));
    return text_end(&text);
}
