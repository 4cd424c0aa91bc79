/* From rows to the answer. */
#include "answer.h"

#include "compare.h"
#include "judge.h"
#include "memory.h"
#include "statistics.h"
#include "timerlab.h"
#include "tolerance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE   0.95

/* A figure must be smaller by this factor to be worth another structure. */
#define CLEARLY_LESS 0.8

/* A structure that measured slower than this is not tied, whatever its runs show. */
#define SAME_TIME    1.25

/* Figures that differ by less than this factor are about the same. */
#define ALIKE        1.1

/* --- rows ------------------------------------------------------------------------------------ */

static double time_of(const struct row *row)
{
    return row_value(row, COL_NS_PER_EVENT);
}

static bool is_of(const struct row *row, const struct answer_trace *trace)
{
    return strcmp(row_text(row, COL_TRACE), trace->name) == 0;
}

static bool is_timed(const struct row *row)
{
    return row_is_ok(row) && !isnan(time_of(row)) && (row->capabilities & TL_CAP_BASELINE) == 0;
}

static bool is_punctual(const struct row *row, const struct answer_trace *trace)
{
    struct firing firing = firing_of_row(row);
    return firing_beyond(&firing, trace->max_late_ticks, trace->max_early_ticks) == FIRING_WITHIN;
}

/* Whether the runs show that `other` takes longer than `base`. Runs at the same place were made in
 * the same round. */
static bool is_slower(const struct answer *answer, const struct row *base, const struct row *other)
{
    const struct samples *a = &base->samples[COL_NS_PER_EVENT];
    const struct samples *b = &other->samples[COL_NS_PER_EVENT];
    double min_effect = answer->trace.min_effect;
    struct judge_settings settings = {.confidence = CONFIDENCE,
                                      .min_effect = fmax(COMPARE_MIN_EFFECT_PAIRED, min_effect)};
    struct judgement judgement;
    if (answer->trace.by_counts) {
        return time_of(other) > time_of(base) * (1 + min_effect);
    }
    if (a->count == b->count && stats_least_paired_p(a->count) <= 1 - CONFIDENCE) {
        judge_paired(a->values, b->values, a->count, &settings, &judgement);
    } else {
        settings.min_effect = fmax(COMPARE_MIN_EFFECT_APART, min_effect);
        judge_unpaired(a->values, a->count, b->values, b->count, &settings, &judgement);
    }
    return judgement.obstacle == JUDGE_CLEAR && judgement.p <= 1 - CONFIDENCE &&
           judgement.change > 0;
}

static int by_time(const void *a, const void *b)
{
    const struct answer_entry *left = a;
    const struct answer_entry *right = b;
    return (left->ns > right->ns) - (left->ns < right->ns);
}

/* --- the pick -------------------------------------------------------------------------------- */

/* Moves entry `from` to place `to`, before the entries between. */
static void move_up(struct answer_entry *entries, size_t from, size_t to)
{
    struct answer_entry moved = entries[from];
    memmove(&entries[to + 1], &entries[to], (from - to) * sizeof *entries);
    entries[to] = moved;
}

/* Entries are in the order of their time. Mark those that are tied with the first, and move them
 * up. An entry that measured much slower is not tied if the runs merely vary too much to show it. */
static void find_ties(struct answer *answer)
{
    struct answer_entry *entries = answer->entries;
    answer->tied = 1;
    entries[0].tied = true;
    for (size_t i = 1; i < answer->count; i++) {
        bool slower = is_slower(answer, entries[0].row, entries[i].row);
        entries[i].tied = !slower && entries[i].ns <= SAME_TIME * entries[0].ns;
        if (entries[i].tied) {
            move_up(entries, i, answer->tied++);
        } else if (!slower && answer->not_excluded == NULL) {
            answer->not_excluded = entries[i].row;
        }
    }
}

/* The memory that a tied entry goes by: infinite if some of it is not counted. */
static double memory_of(const struct row *row)
{
    bool hidden = (row->capabilities & TL_CAP_OWN_MEMORY) != 0;
    return hidden ? INFINITY : row_value(row, COL_BYTES_PEAK);
}

static double lateness_of(const struct row *row)
{
    struct firing firing = firing_of_row(row);
    return firing_lateness(&firing);
}

static double wakeups_of(const struct row *row)
{
    return row_value(row, COL_WAKEUPS);
}

/* Keep the tied entries in `kept` with a figure close to the least; true if some are removed. If
 * none has the figure, all are kept. */
static bool keep_least(const struct answer *answer, bool *kept,
                       double (*figure)(const struct row *))
{
    double least = NAN;
    bool some_go = false;
    for (size_t i = 0; i < answer->tied; i++) {
        least = kept[i] ? fmin(least, figure(answer->entries[i].row)) : least;
    }
    for (size_t i = 0; i < answer->tied && isfinite(least); i++) {
        bool keeps = figure(answer->entries[i].row) <= ALIKE * least;
        some_go = some_go || (kept[i] && !keeps);
        kept[i] = kept[i] && keeps;
    }
    return some_go;
}

/* Among tied structures that measured about as fast, take the one that fires least late; else the
 * one with the least memory; else the fewest wakeups; else the first row. None of that is noise,
 * so that the same is taken again. */
static void pick_among_tied(struct answer *answer)
{
    bool *kept = memory_new(answer->tied, sizeof *kept);
    size_t pick = answer->tied;
    for (size_t i = 0; i < answer->tied; i++) {
        kept[i] = true;
    }
    bool by_lateness = keep_least(answer, kept, lateness_of);
    bool by_memory = keep_least(answer, kept, memory_of);
    bool by_wakeups = keep_least(answer, kept, wakeups_of);
    for (size_t i = 0; i < answer->tied; i++) {
        if (kept[i] &&
            (pick == answer->tied || answer->entries[i].row < answer->entries[pick].row)) {
            pick = i;
        }
    }
    free(kept);
    answer->reason = by_memory     ? "needs the least memory of these"
                     : by_wakeups  ? "wakes up least often of these"
                     : by_lateness ? "fires least late of these"
                                   : "comes first of these in the list";
    move_up(answer->entries, pick, 0);
}

static enum answer_certainty certainty_of(const struct answer *answer)
{
    if (answer->count < 2) {
        return answer->count == 0 ? ANSWER_NONE : ANSWER_ALONE;
    }
    for (size_t i = 0; i < answer->count && !answer->trace.by_counts; i++) {
        if (answer->entries[i].row->samples[COL_NS_PER_EVENT].count < JUDGE_RUNS_MIN) {
            return ANSWER_FEW_RUNS;
        }
    }
    return answer->trace.by_counts        ? ANSWER_COUNTED
           : answer->not_excluded != NULL ? ANSWER_NOISY
           : answer->tied > 1             ? ANSWER_TIED
                                          : ANSWER_SURE;
}

/* --- other needs ----------------------------------------------------------------------------- */

/* The fastest entry that has all these capabilities; NULL if the pick has them, or none has. */
static const struct row *with_capabilities(const struct answer *answer, uint32_t wanted)
{
    for (size_t i = 0; i < answer->count; i++) {
        if ((answer->entries[i].row->capabilities & wanted) == wanted) {
            return i > 0 ? answer->entries[i].row : NULL;
        }
    }
    return NULL;
}

/* Whether the figure of each run of a row is less than that of every run of the other; true if the
 * runs are not known. The longest pause of most runs may be an interrupt, which no structure
 * causes. */
static bool is_less_in_all_runs(const struct row *row, const struct row *other, enum column column)
{
    const struct samples *runs = &row->samples[column];
    const struct samples *others = &other->samples[column];
    double most = -INFINITY;
    double least = INFINITY;
    for (size_t i = 0; i < runs->count; i++) {
        most = fmax(most, runs->values[i]);
    }
    for (size_t i = 0; i < others->count; i++) {
        least = fmin(least, others->values[i]);
    }
    return most < least;
}

/* The entry with the least value of a column, if that is clearly less than the pick's. Rows with
 * the capability `without` do not count. */
static const struct row *with_least(const struct answer *answer, enum column column,
                                    uint32_t without)
{
    const struct row *pick = answer->entries[0].row;
    const struct row *least = pick;
    for (size_t i = 1; i < answer->count; i++) {
        const struct row *row = answer->entries[i].row;
        if ((row->capabilities & without) == 0 &&
            row_value(row, column) < row_value(least, column)) {
            least = row;
        }
    }
    bool clearly = row_value(least, column) < CLEARLY_LESS * row_value(pick, column);
    return clearly && is_less_in_all_runs(least, pick, column) ? least : NULL;
}

static void serve_needs(struct answer *answer)
{
    const struct row **for_need = answer->for_need;
    for_need[ANSWER_UNBOUNDED] = with_capabilities(answer, TL_CAP_UNLIMITED);
    for_need[ANSWER_SLEEP] = with_capabilities(answer, TL_CAP_NEXT);
    for_need[ANSWER_ORDER] = with_capabilities(answer, TL_CAP_ORDERED | TL_CAP_FIFO);
    for_need[ANSWER_MEMORY] = with_least(answer, COL_BYTES_PEAK, TL_CAP_OWN_MEMORY);
    for_need[ANSWER_WAKEUPS] = with_least(answer, COL_WAKEUPS, 0);
    for_need[ANSWER_PAUSE] = with_least(answer, COL_STALL, 0);
}

/* --- the whole ------------------------------------------------------------------------------- */

static void count_omitted(struct answer *answer, const struct row *row)
{
    bool right = row_is_ok(row);
    bool unsupported = row_is_unsupported(row);
    answer->unsupported += unsupported;
    answer->failed += !right && !unsupported;
    bool untimed = right && isnan(time_of(row)) && (row->capabilities & TL_CAP_BASELINE) == 0;
    answer->untimed += untimed;
    answer->idle_window =
        answer->idle_window || (untimed && row_value(row, COL_WINDOW_EVENTS) == 0);
}

/* Return the ratio of wall time to processor time of the timed loops, over all entries with
 * structures that only compute. */
static double wall_excess(const struct answer *answer)
{
    double wall_ns = 0;
    double processor_ns = 0;
    for (size_t i = 0; i < answer->count; i++) {
        const struct row *row = answer->entries[i].row;
        if ((row->capabilities & TL_CAP_DURABLE) == 0 && !isnan(row_value(row, COL_WALL_NS))) {
            wall_ns += row_value(row, COL_WALL_NS);
            processor_ns += answer->entries[i].ns;
        }
    }
    return processor_ns > 0 ? wall_ns / processor_ns - 1 : 0;
}

static void add_entry(struct answer *answer, const struct row *row)
{
    double floor_ns = row_value(row, COL_FLOOR_NS);
    double own_ns = fmax(time_of(row) - (isnan(floor_ns) ? 0 : floor_ns), 0);
    if (isnan(answer->rate) && answer->trace.window_seconds > 0) {
        answer->rate = row_value(row, COL_WINDOW_EVENTS) / answer->trace.window_seconds;
    }
    answer->entries[answer->count++] = (struct answer_entry){
        .row = row, .ns = time_of(row), .core_share = own_ns * answer->rate / 1e9};
}

void answer_make(const struct results *results, const struct answer_trace *trace,
                 struct answer *answer)
{
    const struct row *late = NULL;
    *answer = (struct answer){.trace = *trace, .rate = NAN};
    answer->entries = memory_new(results->count + 1, sizeof *answer->entries);
    for (size_t i = 0; i < results->count; i++) {
        const struct row *row = &results->rows[i];
        if (!is_of(row, trace)) {
            continue;
        }
        count_omitted(answer, row);
        if (is_timed(row) && is_punctual(row, trace)) {
            add_entry(answer, row);
        } else if (is_timed(row)) {
            answer->not_punctual++;
            late = late == NULL || time_of(row) < time_of(late) ? row : late;
        }
    }
    answer->wall_excess = wall_excess(answer);
    if (answer->count > 0) {
        qsort(answer->entries, answer->count, sizeof *answer->entries, by_time);
        answer->faster_late =
            late != NULL && is_slower(answer, late, answer->entries[0].row) ? late : NULL;
        find_ties(answer);
        answer->certainty = certainty_of(answer);
        if (answer->tied > 1 && answer->certainty != ANSWER_FEW_RUNS) {
            pick_among_tied(answer);
        }
        serve_needs(answer);
    } else {
        answer->faster_late = late;
    }
}

void answer_free(struct answer *answer)
{
    free(answer->entries);
    *answer = (struct answer){0};
}
