/* The verdicts, corrected for the number of comparisons. */
#include "compare_work.h"

#include "memory.h"
#include "statistics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool compare_is_rate(const char *metric)
{
    return strstr(metric, "_per_s") != NULL;
}

double compare_slowdown(const struct comparison *comparison)
{
    double change = comparison->judgement.change;
    return compare_is_rate(comparison->metric) ? 1 / (1 + change) - 1 : change;
}

/* Return the smallest p-value possible with this number of values. */
static double least_p(enum compare_method method, size_t base_values, size_t other_values)
{
    return method == METHOD_APART ? stats_least_unpaired_p(base_values, other_values)
                                  : stats_least_paired_p(base_values);
}

/* Why a verdict was out of reach, if it was. */
static void explain(struct comparison *item, size_t family, double p_max)
{
    double most = p_max / (double)family;
    if (least_p(item->method, item->base_values, item->other_values) > most) {
        size_t needed = JUDGE_RUNS_MIN;
        while (needed < 1000 && least_p(item->method, needed, needed) > most) {
            needed++;
        }
        (void)snprintf(item->reason, sizeof item->reason,
                       "among %zu comparisons %zu %s cannot show any difference; it takes %zu (%s)",
                       family, item->base_values,
                       item->method == METHOD_APART ? "values a side" : "pairs", needed,
                       item->method == METHOD_PAIRED_SESSIONS ? "--rounds"
                       : item->kind == &bench_kind            ? "--benchmark_repetitions"
                                                              : "--runs");
    } else if (item->one_run) {
        (void)snprintf(item->reason, sizeof item->reason,
                       "measured apart, one run a side: only a difference above %.0f %% is "
                       "significant; --command measures in turn",
                       100 * COMPARE_MIN_EFFECT_ONE_RUN);
    } else if (item->judgement.drift > 0) {
        (void)snprintf(item->reason, sizeof item->reason,
                       "the runs are in no random order, and differ by up to %.1f %% among "
                       "themselves; only a larger difference would be significant%s",
                       100 * item->judgement.drift,
                       item->method == METHOD_APART ? " (--command measures in turn)" : "");
    }
}

static void give_verdict(struct comparison *item, const struct compare_request *request,
                         size_t judged)
{
    double p_max = 1 - request->confidence;
    if (item->p_adjusted <= p_max) {
        item->verdict = compare_slowdown(item) > 0 ? VERDICT_SLOWER : VERDICT_FASTER;
    } else {
        item->verdict = VERDICT_CANNOT_TELL;
        explain(item, request->correction == CORRECTION_HOLM ? judged : 1, p_max);
    }
}

void compare_give_verdicts(struct compare_work *work)
{
    struct comparisons *out = work->out;
    double *p = memory_new(out->count + 1, sizeof *p);
    double *adjusted = memory_new(out->count + 1, sizeof *adjusted);
    for (size_t i = 0; i < out->count; i++) {
        if (out->items[i].status == COMPARE_JUDGED) {
            p[out->judged++] = out->items[i].judgement.p;
        }
    }
    switch (work->request->correction) {
    case CORRECTION_HOLM:
        stats_holm(p, out->judged, adjusted);
        break;
    case CORRECTION_BH:
        stats_benjamini_hochberg(p, out->judged, adjusted);
        break;
    default:
        memcpy(adjusted, p, out->judged * sizeof *p);
        break;
    }
    size_t at = 0;
    for (size_t i = 0; i < out->count; i++) {
        if (out->items[i].status == COMPARE_JUDGED) {
            out->items[i].p_adjusted = adjusted[at++];
            give_verdict(&out->items[i], work->request, out->judged);
            comparison_apply_lateness(work, &out->items[i]);
        }
    }
    free(p);
    free(adjusted);
}
