/* The stages, the beginning of a long trace for the search, and the choice. */
#include "tune_work.h"

#include "clock.h"
#include "judge.h"
#include "memory.h"
#include "simulate.h"
#include "temporary_file.h"
#include "trace.h"

#include <math.h>
#include <stdlib.h>

#define REFINE_ROUNDS            2
/* The search uses the beginning of a trace with at least twice this number of operations in its
 * window: that many per second of the budget, within these bounds. */
#define SEARCH_EVENTS_PER_SECOND 4000.0
#define SEARCH_EVENTS_MIN        20000.0
#define SEARCH_EVENTS_MAX        500000.0
#define FINAL_STRUCTURES         4
#define ABOUT_AS_FAST            1.5
#define FINAL_RUNS_MAX           25

double tuner_seconds(const struct tuner *tuner)
{
    return (double)(clock_now_ns() - tuner->begun_ns) / 1e9;
}

double tuner_seconds_left(const struct tuner *tuner)
{
    return tuner->request->budget_seconds - tuner_seconds(tuner);
}

void tuner_report(const struct tuner *tuner, const char *stage)
{
    if (tuner->request->report != NULL) {
        tuner->request->report(stage);
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

/* The time of `runs` runs of `structures`, with the check. Each run is timed twice, once with a clock
 * around every operation, for the longest pauses. */
static double expected_seconds(const struct tuner *tuner, size_t structures, unsigned runs)
{
    return tuner->pass_seconds * (double)(structures + 1) * (1 + 2.0 * runs);
}

/* Replay the whole trace from now on, if the time left suffices for these runs with it. */
static void take_what_fits(struct tuner *tuner, size_t structures, unsigned runs)
{
    double longer = (double)tuner->result->info.window_events / (double)tuner->events;
    double seconds = longer * expected_seconds(tuner, structures, runs);
    if (tuner->path != tuner->request->trace_path && seconds <= tuner_seconds_left(tuner)) {
        take_all(tuner);
        tuner->pass_seconds *= longer;
    }
    tuner->result->decided_with_all = tuner->path == tuner->request->trace_path;
    tuner->result->out_of_time |= !tuner->result->decided_with_all;
}

/* --- the choice among the best: by runs side by side, or by counts alone -------------------- */

static int ascending(const void *a, const void *b)
{
    size_t left = *(const size_t *)a;
    size_t right = *(const size_t *)b;
    return (left > right) - (left < right);
}

/* Make the answer of these candidates. Their rows are in the order in which the candidates were
 * added, which does not depend on noise. */
static void make_answer(struct tuner *tuner, size_t *finals, size_t count)
{
    struct tune_result *result = tuner->result;
    const struct tune_limits *limits = &tuner->request->limits;
    const struct answer_trace trace = {.name = result->trace,
                                       .window_seconds = tuner->seconds,
                                       .max_late_ticks = limits->late_ticks,
                                       .max_early_ticks = limits->early_ticks,
                                       .min_effect = TUNE_PRACTICAL,
                                       .by_counts = tuner->request->by_counts};
    struct results rows = {.rows = memory_new(count + 1, sizeof *rows.rows)};
    qsort(finals, count, sizeof *finals, ascending);
    size_t *of = memory_new(count + 1, sizeof *of);
    for (size_t i = 0; i < count; i++) {
        const struct tune_candidate *candidate = &result->candidates[finals[i]];
        if (tune_candidate_fits(candidate) || (candidate->counted && candidate->only_late)) {
            of[rows.count] = finals[i];
            rows.rows[rows.count] = *candidate->row;
            if (trace.by_counts) {
                row_set_real(&rows.rows[rows.count], COL_NS_PER_EVENT, candidate->cost);
            }
            rows.count++;
        }
    }
    free(result->rows);
    answer_free(&result->answer);
    result->rows = rows.rows;
    answer_make(&rows, &trace, &result->answer);
    if (result->answer.count > 0) {
        result->best =
            &result->candidates[of[result->answer.entries[0].row - (const struct row *)rows.rows]];
    }
    if (result->answer.faster_late != NULL) {
        result->later =
            &result->candidates[of[result->answer.faster_late - (const struct row *)rows.rows]];
    }
    free(of);
}

/* Return the candidate with the least work among those that break only the limit on lateness;
 * SIZE_MAX: none. */
static size_t find_later(const struct tuner *tuner)
{
    const struct tune_candidate *candidates = tuner->result->candidates;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < tuner->result->candidate_count; i++) {
        if (candidates[i].counted && candidates[i].only_late && !isnan(candidates[i].cost) &&
            (least == SIZE_MAX || candidates[i].cost < candidates[least].cost)) {
            least = i;
        }
    }
    return least;
}

/* Run the fastest few side by side, for as many rounds as the time allows. Choose the fastest; among
 * equally fast ones, the cheapest. */
static bool compete(struct tuner *tuner, struct error *error)
{
    size_t structures = tuner->request->structures->count;
    size_t *finals = memory_new(structures + 2, sizeof *finals);
    bool good = true;
    size_t later = find_later(tuner);
    /* These runs can show that the fastest few break a limit: then take the next few. */
    while (good && tuner->result->best == NULL) {
        size_t count = 0;
        size_t all = tuner_fastest_of_each(tuner, finals);
        double least = all > 0 ? tuner->result->candidates[finals[0]].ns : NAN;
        for (size_t i = 0; i < all; i++) {
            double ns = tuner->result->candidates[finals[i]].ns;
            /* Few runs do not decide the fourth place: include those that are about as fast. */
            if (ns < (count < FINAL_STRUCTURES ? 2 : ABOUT_AS_FAST) * least) {
                finals[count++] = finals[i];
            }
        }
        count = count < 2 && all >= 2 ? 2 : count;
        while (count > 2 &&
               expected_seconds(tuner, count + 1, JUDGE_RUNS_MIN) > tuner_seconds_left(tuner)) {
            count--;
            tuner->result->out_of_time = true;
        }
        size_t running = count;
        if (later != SIZE_MAX) {
            finals[running++] = later;
        }
        if (count > 0) {
            tuner_report(tuner, "running the first few side by side");
            take_what_fits(tuner, running, JUDGE_RUNS_MIN);
            good = tuner_run(tuner, finals, running, TUNE_FINAL, FINAL_RUNS_MAX, true, error);
        }
        if (good) {
            make_answer(tuner, finals, running);
        }
        if (count == 0) {
            break;
        }
    }
    free(finals);
    return good;
}

/* Choose the least work within the limits. If the search used a part of the trace, count once more
 * with all of it. */
static bool choose_by_counts(struct tuner *tuner, struct error *error)
{
    struct tune_result *result = tuner->result;
    size_t structures = tuner->request->structures->count;
    size_t *finals = memory_new(structures + 2, sizeof *finals);
    size_t later = find_later(tuner);
    size_t count = tuner_least_work_of_each(tuner, finals);
    bool good = true;
    count = count < FINAL_STRUCTURES ? count : FINAL_STRUCTURES;
    for (size_t s = 0; good && count == 0 && s < structures; s++) {
        const struct tune_candidate *candidate = &result->candidates[tuner->best[s]];
        if (tune_candidate_fits(candidate)) {
            good = error_set(error,
                             "%s does not count its work, nor does any that keeps to the "
                             "limits: it can be chosen by time only, without --counts",
                             candidate->contender.timed->name);
        }
    }
    if (later != SIZE_MAX) {
        finals[count++] = later;
    }
    take_what_fits(tuner, count, 0);
    good = good && tuner_run(tuner, finals, count, TUNE_FINAL, 0, false, error);
    if (good) {
        make_answer(tuner, finals, count);
    }
    free(finals);
    return good;
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
    bool good = trace_info_collect(reader, &result->info, NULL, error);
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
           (request->by_counts ? choose_by_counts(&tuner, error) : compete(&tuner, error)) &&
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
