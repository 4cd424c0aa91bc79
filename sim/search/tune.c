/* The stages, and the beginning of a long trace for the search. */
#include "tune_work.h"

#include "clock.h"
#include "memory.h"
#include "simulate.h"
#include "temporary_file.h"
#include "trace.h"
#include "trace_ids.h"

#include <math.h>
#include <stdlib.h>

#define REFINE_ROUNDS            2
/* The search uses the beginning of a trace with at least twice this number of operations in its
 * window: that many per second of the budget, within these bounds. */
#define SEARCH_EVENTS_PER_SECOND 4000.0
#define SEARCH_EVENTS_MIN        20000.0
#define SEARCH_EVENTS_MAX        500000.0

double tuner_seconds(const struct tuner *tuner)
{
    return (double)(clock_now_ns() - tuner->begun_ns) / 1e9;
}

double tuner_seconds_left(const struct tuner *tuner)
{
    return tuner->request->budget_seconds - tuner_seconds(tuner);
}

double tuner_expected_seconds(const struct tuner *tuner, size_t structures, unsigned runs)
{
    return tuner->pass_seconds * (double)(structures + 1) * (1 + 2.0 * runs);
}

void tuner_report(const struct tuner *tuner, const char *stage)
{
    if (tuner->request->report != NULL) {
        tuner->request->report(tuner->request->report_ctx, stage);
    }
}

/* --- a part of a trace ----------------------------------------------------------------------- */

/* Copy a trace up to the tick at which its window has `most` operations. */
static bool copy_beginning(struct trace_reader *reader, struct trace_writer *writer, uint64_t most,
                           uint64_t *end_tick, struct error *error)
{
    const struct trace_header *header = trace_reader_header(reader);
    struct trace_block block;
    uint64_t events = 0;
    int got = 0;
    if (header->causes_known) {
        trace_writer_declare_causes(writer);
    }
    *end_tick = header->end_tick;
    while ((got = trace_reader_next(reader, &block, error)) == 1) {
        for (size_t g = 0; g < block.group_count; g++) {
            const struct trace_group *group = &block.groups[g];
            if (events >= most && group->tick < *end_tick) {
                *end_tick = group->tick; /* every operation's tick is before it */
                return true;
            }
            for (uint32_t i = 0; i < group->count; i++) {
                const struct trace_record *record = &block.records[group->first + i];
                const struct trace_cause external = {0};
                if (!trace_writer_add_reaction(
                        writer, group->tick, record->id, (enum trace_op)record->op,
                        record->op == TRACE_START ? record->deadline - group->tick : 0,
                        block.causes != NULL ? block.causes[group->first + i] : external, error)) {
                    return false;
                }
            }
            events += group->tick >= header->warmup_end_tick ? group->count : 0;
        }
    }
    return got == 0;
}

/* Copy the beginning of a long trace to a new file, for the search. */
static bool cut_beginning(struct tuner *tuner, uint64_t events, struct temporary *part,
                          struct error *error)
{
    struct tune_result *result = tuner->result;
    struct trace_reader *reader = trace_reader_open(tuner->request->trace_path, error);
    if (reader == NULL) {
        return false;
    }
    if (!temporary_make(part, error)) {
        trace_reader_close(reader);
        return false;
    }
    const struct trace_header *header = trace_reader_header(reader);
    struct trace_writer *writer = trace_writer_open(part->file, header->tick_ns, error);
    uint64_t end_tick = 0;
    bool good = writer != NULL && copy_beginning(reader, writer, events, &end_tick, error);
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
    reader = good ? trace_reader_open(part->file, error) : NULL;
    good = reader != NULL && trace_info_collect(reader, &info, NULL, error);
    trace_reader_close(reader);
    if (good) {
        tuner->path = part->file;
        tuner->events = info.window_events;
        tuner->fired = info.window_fired;
        result->search_events = info.window_events;
    }
    return good;
}

static void take_all(struct tuner *tuner)
{
    tuner->path = tuner->request->trace_path;
    tuner->events = tuner->result->info.window_events;
    tuner->fired = tuner->result->info.window_fired;
    tuner->seconds = tuner->result->trace_seconds;
}

void tuner_take_what_fits(struct tuner *tuner, size_t structures, unsigned runs)
{
    double longer = (double)tuner->result->info.window_events / (double)tuner->events;
    double seconds = longer * tuner_expected_seconds(tuner, structures, runs);
    if (tuner->path != tuner->request->trace_path && seconds <= tuner_seconds_left(tuner)) {
        take_all(tuner);
        tuner->pass_seconds *= longer;
    }
    tuner->result->decided_with_all = tuner->path == tuner->request->trace_path;
    tuner->result->out_of_time |= !tuner->result->decided_with_all;
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
    result->ids = header->ids;
    result->open_loop = !header->causes_known;
    result->has_slack = header->max_slack_ticks > 0;
    result->trace_seconds =
        (double)(header->end_tick - header->warmup_end_tick) * (double)header->tick_ns / 1e9;
    bool good = trace_ids_check(reader, request->trace_path, error) &&
                trace_info_collect(reader, &result->info, NULL, error);
    trace_reader_close(reader);
    if (good && result->info.window_events == 0) {
        good = error_set(error, "%s: has no operations to judge by", request->trace_path);
    }
    return good;
}

bool tune(const struct tune_request *request, struct tune_result *result, struct error *error)
{
    *result = (struct tune_result){.trace = trace_label(&request->trace_path, 1, 0)};
    struct tuner tuner = {.request = request,
                          .result = result,
                          .begun_ns = clock_now_ns(),
                          .memory_limit_bytes = request->memory_limit_bytes};
    if (!read_trace(request, result, error)) {
        tune_result_free(result);
        return false;
    }
    struct temporary part = {0};
    take_all(&tuner);
    result->search_events = tuner.events;
    tuner.best = memory_new(request->structures->count + 1, sizeof *tuner.best);
    bool good = true;
    uint64_t search =
        (uint64_t)fmin(fmax(SEARCH_EVENTS_PER_SECOND * request->budget_seconds, SEARCH_EVENTS_MIN),
                       SEARCH_EVENTS_MAX);
    if (tuner.events >= 2 * search) {
        tuner_report(&tuner, "cutting out the part to search with");
        good = cut_beginning(&tuner, search, &part, error);
    }
    good = good && tuner_count_all(&tuner, error);
    if (good && !request->by_counts) {
        good = tuner_time_best(&tuner, error);
        for (unsigned round = 0; good && request->vary && round < REFINE_ROUNDS; round++) {
            tuner_report(&tuner, "varying options, by the clock");
            good = tuner_refine(&tuner, error);
        }
    }
    tuner.deciding = true;
    good = good &&
           (request->by_counts ? tuner_choose_by_counts(&tuner, error)
                               : tuner_compete(&tuner, error)) &&
           tuner_try_loops(&tuner, error);
    temporary_remove(&part);
    free(tuner.best);
    if (!good) {
        tune_result_free(result);
    }
    return good;
}

void tune_result_free(struct tune_result *result)
{
    for (size_t i = 0; i < result->candidate_count; i++) {
        if (result->candidates[i].row != NULL) {
            row_clear(result->candidates[i].row);
            free(result->candidates[i].row);
        }
    }
    free(result->candidates);
    free(result->rows);
    free(result->trace);
    answer_free(&result->answer);
    *result = (struct tune_result){0};
}
