/* The rows of each trace, and the answer for them. */
#include "report_work.h"

#include "context.h"
#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_time(const void *a, const void *b)
{
    double left = row_value(*(const struct row *const *)a, COL_NS_PER_EVENT);
    double right = row_value(*(const struct row *const *)b, COL_NS_PER_EVENT);
    if (isnan(left) || isnan(right)) {
        return isnan(left) - isnan(right);
    }
    return (left > right) - (left < right);
}

/* The rows of a trace, and what exact structures fire on it. */
static void collect(struct contest *contest)
{
    const struct results *results = &contest->set->rows;
    contest->rows = memory_new(results->count, sizeof *contest->rows);
    contest->exact_fired = NAN;
    for (size_t i = 0; i < results->count; i++) {
        const struct row *row = &results->rows[i];
        if (strcmp(row_text(row, COL_TRACE), contest->trace) != 0) {
            continue;
        }
        struct firing firing = firing_of_row(row);
        contest->rows[contest->count++] = row;
        if (isnan(contest->exact_fired) && row_is_ok(row) && firing_is_exact(&firing)) {
            contest->exact_fired = firing.fired;
        }
    }
    qsort((void *)contest->rows, contest->count, sizeof contest->rows[0], by_time);
}

static bool is_known(const struct contest_list *list, const struct report_set *set,
                     const char *trace)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].set == set && strcmp(list->items[i].trace, trace) == 0) {
            return true;
        }
    }
    return false;
}

static bool add_contest(struct contest_list *list, const struct report_set *set, const char *trace,
                        const struct tolerance *max_lateness, struct error *error)
{
    list->items = memory_resize(list->items, list->count + 1, sizeof *list->items);
    struct contest *contest = &list->items[list->count++];
    *contest =
        (struct contest){.set = set, .trace = trace, .known = context_trace(set->context, trace)};
    struct answer_trace about = {.name = trace,
                                 .window_seconds = json_figure(contest->known, "window_seconds")};
    if (!tolerance_in_ticks(max_lateness, json_figure(contest->known, "tick_ns"),
                            &about.max_late_ticks)) {
        return error_set(error,
                         "the results do not say how long a tick of %s is; --max-lateness "
                         "then has to be in ticks",
                         trace_base(trace));
    }
    collect(contest);
    answer_make(&set->rows, &about, &contest->answer);
    return true;
}

bool contest_list_build(struct contest_list *list, const struct report_data *data,
                        const struct tolerance *max_lateness, struct error *error)
{
    *list = (struct contest_list){0};
    bool done = true;
    for (size_t s = 0; s < data->set_count; s++) {
        const struct report_set *set = &data->sets[s];
        for (size_t i = 0; i < set->rows.count && done; i++) {
            const char *trace = row_text(&set->rows.rows[i], COL_TRACE);
            done = is_known(list, set, trace) || add_contest(list, set, trace, max_lateness, error);
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
        answer_free(&list->items[i].answer);
    }
    free(list->items);
    *list = (struct contest_list){0};
}

const char *contest_checksum(const struct contest *contest)
{
    for (size_t i = 0; i < contest->count; i++) {
        if (contest->rows[i]->trace_checksum[0] != '\0') {
            return contest->rows[i]->trace_checksum;
        }
    }
    return "";
}
