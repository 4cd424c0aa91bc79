#include "faster.h"

#include "compare.h"
#include "judge.h"
#include "memory.h"
#include "result_set.h"
#include "statistics.h"

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
