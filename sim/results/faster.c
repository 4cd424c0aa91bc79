#include "faster.h"

#include "compare.h"
#include "judge.h"
#include "memory.h"
#include "result_set.h"
#include "statistics.h"
#include "tolerance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What chance alone explains in fewer cases than this leaves is a difference. */
#define CONFIDENCE 0.95

/* --- rows ------------------------------------------------------------------------------------ */

double row_number(const json_t *row, const char *column)
{
    const json_t *value = json_object_get(row, column);
    if (json_is_number(value)) {
        return json_number_value(value);
    }
    const char *text = json_string_value(value);
    char *end = NULL;
    double number = text != NULL ? strtod(text, &end) : NAN;
    return text != NULL && end != text && *end == '\0' ? number : NAN;
}

const char *row_string(const json_t *row, const char *column)
{
    const char *text = json_string_value(json_object_get(row, column));
    return text != NULL ? text : "";
}

int row_order(const json_t *a, const json_t *b, const char *column)
{
    double left = row_number(a, column);
    double right = row_number(b, column);
    if (isnan(left) || isnan(right)) {
        return isnan(left) - isnan(right);
    }
    return (left > right) - (left < right);
}

/* --- differences ----------------------------------------------------------------------------- */

struct measured measured_of(const json_t *row, const char *column)
{
    char spread[64];
    (void)snprintf(spread, sizeof spread, "%s_mad", column);
    return (struct measured){row_number(row, column), row_number(row, spread),
                             row_number(row, "runs")};
}

bool measured_differ(struct measured a, struct measured b)
{
    double spreads = (isnan(a.spread) ? 0 : a.spread) + (isnan(b.spread) ? 0 : b.spread);
    return a.runs >= JUDGE_RUNS_MIN && b.runs >= JUDGE_RUNS_MIN &&
           fabs(a.value - b.value) > 3 * spreads;
}

/* What the single runs of a row took; *count is 0 if that is not known. To be freed. */
static double *run_times(const json_t *row, const char *metric, size_t *count)
{
    const json_t *samples = json_object_get(json_object_get(row, "samples"), metric);
    double *times = memory_new(json_array_size(samples) + 1, sizeof *times);
    *count = json_array_size(samples);
    for (size_t i = 0; i < *count; i++) {
        times[i] = json_number_value(json_array_get(samples, i));
    }
    return times;
}

/* Judges two rows of one trace in one folder by their single runs of a figure, as `timerlab
 * compare` does. They were made in rounds, in which every structure took its turn: what the machine
 * did meanwhile it did to both. False if there are none. */
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
        judge_paired(base_times, other_times, base_count, &settings, judgement);
    } else if (judged) {
        /* Too few pairs prove nothing, where as many single runs can show a large difference. */
        settings.min_effect = COMPARE_MIN_EFFECT_APART;
        judge_unpaired(base_times, base_count, other_times, other_count, &settings, judgement);
    }
    free(base_times);
    free(other_times);
    return judged;
}

bool row_is_slower(const json_t *base, const json_t *other)
{
    struct judgement judgement;
    if (judge_rows(base, other, "ns_per_event", &judgement)) {
        return judgement.obstacle == JUDGE_CLEAR && judgement.p <= 1 - CONFIDENCE &&
               judgement.change > 0;
    }
    return measured_differ(measured_of(base, "ns_per_event"), measured_of(other, "ns_per_event")) &&
           row_number(other, "ns_per_event") > row_number(base, "ns_per_event");
}

/* --- in words -------------------------------------------------------------------------------- */

#define PLACES 4u /* so many are named */

static double ns_of(const json_t *row)
{
    return row_number(row, "ns_per_event");
}

static bool is_exact(const json_t *row)
{
    struct firing firing = firing_of_json(row);
    return firing_is_exact(&firing);
}

/* The exact ones first, both kinds by their time. */
static int by_exactness_and_time(const void *a, const void *b)
{
    const json_t *left = *(const json_t *const *)a;
    const json_t *right = *(const json_t *const *)b;
    int exact = is_exact(right) - is_exact(left);
    return exact != 0 ? exact : row_order(left, right, "ns_per_event");
}

static void write_name(const json_t *row, FILE *stream)
{
    const char *given = row_string(row, "options");
    (void)fprintf(stream, "%s%s%s", row_string(row, "algo"), given[0] != '\0' ? ":" : "", given);
}

/* Up to `places` of the rows, each with what it takes of `first`'s time. */
static void write_others(const json_t *first, const json_t *const *rows, size_t count,
                         const char *before, size_t places, FILE *stream)
{
    for (size_t i = 0; i < count && i < places; i++) {
        (void)fputs(i == 0 ? before : ", ", stream);
        write_name(rows[i], stream);
        (void)fprintf(stream, " %.2fx", ns_of(rows[i]) / ns_of(first));
    }
}

/* Judges each row behind the first once, which takes its time, and moves those that are not said to
 * be slower before the others; both remain in their order. Returns how many they are. */
static size_t move_tied(const json_t **rows, size_t count)
{
    size_t tied = 0;
    for (size_t i = 1; i < count; i++) {
        const json_t *row = rows[i];
        if (!row_is_slower(rows[0], row)) {
            tied++;
            memmove((void *)&rows[tied + 1], (void *)&rows[tied], (i - tied) * sizeof rows[0]);
            rows[tied] = row;
        }
    }
    return tied;
}

static void write_exact(const json_t **rows, size_t count, FILE *stream)
{
    size_t tied = move_tied(rows, count);
    bool won = tied == 0;
    (void)fputs(won ? "; of the exact ones the fastest is "
                    : "; cannot tell which of the exact ones is the fastest",
                stream);
    if (!won) {
        (void)fputs(row_number(rows[0], "runs") < JUDGE_RUNS_MIN ? " (it takes five runs): " : ": ",
                    stream);
    }
    write_name(rows[0], stream);
    (void)fprintf(stream, ", %.2f ns an operation", ns_of(rows[0]));
    size_t places = PLACES - 1;
    write_others(rows[0], rows + 1, tied, ", ", places, stream);
    if (tied > places) {
        (void)fprintf(stream, " and %zu more", tied - places);
    }
    places -= tied < places ? tied : places;
    write_others(rows[0], rows + 1 + tied, count - 1 - tied, won ? ", then " : "; then ", places,
                 stream);
}

/* `first` is the first of the exact ones; NULL if there is none. */
static void write_inexact(const json_t *row, const json_t *first, FILE *stream)
{
    char undone[FIRING_BYTES];
    struct firing firing = firing_of_json(row);
    const struct firing_frame frame = {.tick_ns = NAN, .exact_fired = row_number(first, "fired")};
    (void)firing_undone_words(&firing, &frame, undone);
    (void)fputs(first != NULL ? "; faster only by not being exact: " : "; none is exact: ", stream);
    write_name(row, stream);
    (void)fprintf(stream, ", %.2f ns%s%s%s", ns_of(row), undone[0] != '\0' ? " (" : "", undone,
                  undone[0] != '\0' ? ")" : "");
}

void write_fastest(const json_t **rows, size_t count, FILE *stream)
{
    qsort((void *)rows, count, sizeof rows[0], by_exactness_and_time);
    size_t exact = 0;
    while (exact < count && is_exact(rows[exact])) {
        exact++;
    }
    const json_t *first = exact > 0 ? rows[0] : NULL;
    if (first != NULL) {
        write_exact(rows, exact, stream);
    }
    if (exact < count && (first == NULL || row_is_slower(rows[exact], first))) {
        write_inexact(rows[exact], first, stream);
    }
}
