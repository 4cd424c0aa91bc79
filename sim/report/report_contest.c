/* Who competes with whom, and who can be told from the first. */
#include "report_contest.h"

#include "context.h"
#include "figures.h"
#include "memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- contests -------------------------------------------------------------------------------- */

static int by_event_time(const void *a, const void *b)
{
    return row_order(*(const json_t *const *)a, *(const json_t *const *)b, "ns_per_event");
}

bool contest_has(const struct contest *contest, const json_t *row)
{
    return strcmp(contest->trace, row_string(row, "trace")) == 0 &&
           strcmp(contest->mark, row_string(row, "set")) == 0;
}

const struct contest *contest_find(const struct contest_list *list, const json_t *row)
{
    for (size_t i = 0; i < list->count; i++) {
        if (contest_has(&list->items[i], row)) {
            return &list->items[i];
        }
    }
    return NULL;
}

bool contest_is_open_loop(const struct contest *contest)
{
    return json_is_true(json_object_get(contest->known, "open_loop"));
}

static bool is_punctual(const struct contest *contest, const json_t *row)
{
    struct firing firing = firing_of_json(row);
    return firing_beyond(&firing, contest->late_ticks, 0) == FIRING_WITHIN;
}

size_t contest_rows(const struct contest *contest, const struct report_data *data,
                    enum rows_wanted wanted, const json_t **rows)
{
    size_t count = 0;
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(data->rows, i, row)
    {
        if (contest_has(contest, row) && (wanted == ROWS_ANY || row_competes(data, row)) &&
            (wanted <= ROWS_COMPETING || (wanted == ROWS_PUNCTUAL) == is_punctual(contest, row))) {
            rows[count++] = row;
        }
    }
    qsort((void *)rows, count, sizeof rows[0], by_event_time);
    return count;
}

/* What an exact structure fires on the trace; NAN if there is none. */
static double exact_fired(const struct contest *contest, const struct report_data *data)
{
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(data->rows, i, row)
    {
        struct firing firing = firing_of_json(row);
        if (contest_has(contest, row) && strcmp(row_string(row, "status"), "ok") == 0 &&
            firing_is_exact(&firing) && !isnan(firing.fired)) {
            return firing.fired;
        }
    }
    return NAN;
}

/* What is borne of lateness, and how it is told. False if that cannot be said in ticks. */
static bool contest_bear(struct contest *contest, const struct report_data *data,
                         const struct tolerance *max_lateness)
{
    const struct report_set *set = report_data_set(data, contest->mark);
    contest->known = context_trace(set->context, contest->trace);
    contest->frame = (struct firing_frame){.tick_ns = row_number(contest->known, "tick_ns"),
                                           .exact_fired = exact_fired(contest, data),
                                           .duration = duration_text};
    return tolerance_in_ticks(max_lateness, contest->frame.tick_ns, &contest->late_ticks);
}

static void contest_build(struct contest *contest, const struct report_data *data)
{
    size_t all = json_array_size(data->rows);
    contest->rows = memory_new(all, sizeof *contest->rows);
    contest->tied = memory_new(all, sizeof *contest->tied);
    contest->unpunctual = contest_rows(contest, data, ROWS_UNPUNCTUAL, contest->rows);
    const json_t *unpunctual = contest->rows[0];
    contest->count = contest_rows(contest, data, ROWS_PUNCTUAL, contest->rows);
    if (contest->count == 0) {
        contest->none_punctual = contest->unpunctual > 0;
        contest->unpunctual = 0;
        contest->count = contest_rows(contest, data, ROWS_COMPETING, contest->rows);
    }
    for (size_t i = 0; i < contest->count; i++) {
        contest->tied[i] = i == 0 || !row_is_slower(contest->rows[0], contest->rows[i]);
        contest->tied_count += i > 0 && contest->tied[i];
    }
    if (contest->unpunctual > 0 && by_event_time(&unpunctual, &contest->rows[0]) < 0 &&
        row_is_slower(unpunctual, contest->rows[0])) {
        contest->fastest_unpunctual = unpunctual;
    }
}

bool contest_list_build(struct contest_list *list, const struct report_data *data,
                        const struct tolerance *max_lateness, struct error *error)
{
    *list = (struct contest_list){
        .items = memory_new(json_array_size(data->rows) + 1, sizeof *list->items),
        .max_lateness = *max_lateness};
    bool done = true;
    size_t i = 0;
    const json_t *row = NULL;
    json_array_foreach(data->rows, i, row)
    {
        if (done && contest_find(list, row) == NULL) {
            struct contest *contest = &list->items[list->count++];
            contest->mark = row_string(row, "set");
            contest->trace = row_string(row, "trace");
            done = contest_bear(contest, data, max_lateness) ||
                   error_set(error,
                             "the results do not say how long a tick of %s is; --max-lateness "
                             "then has to be in ticks",
                             trace_base(contest->trace));
            if (done) {
                contest_build(contest, data);
            }
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

bool contest_least(const struct contest *contest, const struct report_data *data,
                   const char *column, const json_t **least, size_t *having)
{
    bool memory = strncmp(column, "bytes_", 6) == 0;
    double highest = NAN;
    *least = NULL;
    *having = 0;
    for (size_t i = 0; i < contest->count; i++) {
        double value = row_number(contest->rows[i], column);
        if (isnan(value) || (memory && row_hides_memory(data, contest->rows[i]))) {
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
