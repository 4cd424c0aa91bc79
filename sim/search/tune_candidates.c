/* The measurement of a candidate: the limits that it breaks, its work, its time. */
#include "tune_work.h"

#include "clock.h"
#include "memory.h"
#include "plug_in.h"
#include "simulate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The approximate time of a step of each kind, in nanoseconds: for ranking, not for prediction. */
#define COMPARE_COST 2.0
#define MOVE_COST    5.0
#define SLOT_COST    3.0
#define CASCADE_COST 5.0
#define WAKEUP_COST  8.0
#define FINAL_SHARE  0.9 /* of the time: the last round begins before */

bool tune_candidate_fits(const struct tune_candidate *candidate)
{
    return candidate->counted && candidate->why_not[0] == '\0';
}

void tuner_add(struct tuner *tuner, size_t structure, const void *options)
{
    struct tune_result *result = tuner->result;
    result->candidates =
        memory_resize(result->candidates, result->candidate_count + 1, sizeof *result->candidates);
    struct tune_candidate *candidate = &result->candidates[result->candidate_count++];
    *candidate = (struct tune_candidate){.contender = tuner->request->structures->items[structure],
                                         .structure = structure,
                                         .cost = NAN,
                                         .ns = NAN};
    struct contender *contender = &candidate->contender;
    memcpy(contender->options, options, sizeof contender->options);
    (void)tl_options_format(contender->timed, contender->options, false, contender->option_text,
                            sizeof contender->option_text);
    tuner_read_promise(tuner, contender, &candidate->early_promise, &candidate->late_promise);
}

/* The largest deviation declared for these delays. A plug-in that fails to answer declares any. */
static void read_precision(const struct contender *contender, const uint64_t *delays, size_t count,
                           uint64_t *early, uint64_t *late)
{
    struct tl_precision precisions[64] = {{0}};
    struct error error;
    bool known =
        plug_in_precision(contender->timed, contender->options, delays, count, precisions, &error);
    *early = known ? 0 : UINT64_MAX;
    *late = *early;
    for (size_t i = 0; known && i < count; i++) {
        *early = precisions[i].early_ticks > *early ? precisions[i].early_ticks : *early;
        *late = precisions[i].late_ticks > *late ? precisions[i].late_ticks : *late;
    }
}

void tuner_read_promise(const struct tuner *tuner, const struct contender *contender,
                        uint64_t *early, uint64_t *late)
{
    const struct trace_info *info = &tuner->result->info;
    const uint64_t delays[] = {info->delay_min, info->delay_p50, info->delay_p90, info->delay_p99,
                               info->delay_max};
    read_precision(contender, delays, sizeof delays / sizeof delays[0], early, late);
}

/* Return whether these options declare that no timer fires early or late, for any delay. */
static bool is_always_exact(const struct contender *contender)
{
    uint64_t delays[64] = {0};
    uint64_t early;
    uint64_t late;
    for (unsigned bit = 0; bit < 63; bit++) {
        delays[bit + 1] = UINT64_C(1) << bit;
    }
    read_precision(contender, delays, sizeof delays / sizeof delays[0], &early, &late);
    return early == 0 && late == 0;
}

/* Name the first limit that a candidate breaks. Lateness comes last: if that is broken, no other
 * is. */
static void find_broken_limit(const struct tuner *tuner, struct tune_candidate *candidate)
{
    const struct tune_limits *limits = &tuner->request->limits;
    const struct firing *firing = &candidate->firing;
    char *why = candidate->why_not;
    size_t bytes = sizeof candidate->why_not;
    candidate->only_late = false;
    if (firing_beyond(firing, UINT64_MAX, limits->early_ticks) == FIRING_EARLY) {
        (void)snprintf(why, bytes, "up to %.0f ticks early by its promise", firing->declared_early);
    } else if (limits->exact && !is_always_exact(&candidate->contender)) {
        (void)snprintf(why, bytes, "does not promise to be exact");
    } else if (row_value(candidate->row, COL_BYTES_PEAK) > (double)limits->bytes) {
        (void)snprintf(why, bytes, "takes %.0f bytes", row_value(candidate->row, COL_BYTES_PEAK));
    } else if (candidate->wakeups_per_s > limits->wakeups_per_s) {
        (void)snprintf(why, bytes, "wakes %.6g times a second", candidate->wakeups_per_s);
    } else if (limits->stall_ns != UINT64_MAX &&
               row_value(candidate->row, COL_STALL) > (double)limits->stall_ns) {
        (void)snprintf(why, bytes, "stalls for %.0f ns", row_value(candidate->row, COL_STALL));
    } else if (firing_beyond(firing, limits->late_ticks, limits->early_ticks) == FIRING_LATE) {
        (void)snprintf(why, bytes, "up to %.0f ticks late by its promise", firing->declared_late);
        candidate->only_late = true;
    } else {
        why[0] = '\0';
    }
}

/* The work per operation, by the counts; NAN if the structure does not count, or did nothing. */
static double cost_of(const struct tuner *tuner, const struct tune_candidate *candidate)
{
    const struct row *row = candidate->row;
    return (COMPARE_COST * row_value(row, COL_N_COMPARES) +
            MOVE_COST * row_value(row, COL_N_MOVES) + SLOT_COST * row_value(row, COL_N_SLOTS) +
            CASCADE_COST * row_value(row, COL_N_CASCADES) +
            WAKEUP_COST * row_value(row, COL_WAKEUPS)) /
           (candidate->done > 0 ? candidate->done * (double)tuner->events : NAN);
}

/* The minimum of a few runs: other activity of the machine only adds time. */
static double least_of(const double *values, size_t count)
{
    double least = values[0];
    for (size_t i = 1; i < count; i++) {
        least = values[i] < least ? values[i] : least;
    }
    return least;
}

/* Scale the times to the operations and expiries of an exact structure. */
static void scale_times(const struct tuner *tuner, struct tune_candidate *candidate)
{
    static const enum column times[] = {COL_NS_PER_EVENT, COL_WALL_NS};
    struct row *row = candidate->row;
    double factor = (double)row->window_events / (double)tuner->events / candidate->done;
    for (size_t t = 0; t < sizeof times / sizeof times[0]; t++) {
        struct samples *runs = &row->samples[times[t]];
        for (size_t i = 0; i < runs->count; i++) {
            runs->values[i] *= factor;
        }
        if (!isnan(row_value(row, times[t]))) {
            row_set_real(row, times[t], factor * row_value(row, times[t]));
        }
    }
}

/* Move the row of a simulation into the candidate. */
static void take_row(const struct tuner *tuner, struct tune_candidate *candidate, struct row *found,
                     enum tune_stage stage)
{
    const char *status = row_text(found, COL_STATUS);
    candidate->stage = stage;
    candidate->counted = row_is_ok(found);
    tuner->result->wrong =
        tuner->result->wrong || strcmp(status, "crashed") == 0 || strcmp(status, "fault") == 0;
    if (!candidate->counted) {
        candidate->too_slow = strcmp(status, "timeout") == 0;
        (void)snprintf(candidate->why_not, sizeof candidate->why_not, "%s: %.150s", status,
                       row_text(found, COL_REASON));
        return;
    }
    if (candidate->row == NULL) {
        candidate->row = memory_new(1, sizeof *candidate->row);
    }
    row_clear(candidate->row);
    struct row *row = candidate->row;
    *row = *found;
    *found = (struct row){0};
    row_set_text(row, COL_TRACE, tuner->result->trace);
    candidate->firing = firing_of_row(row);
    candidate->done =
        (double)(row->window_events + row->window_fired) / (double)(tuner->events + tuner->fired);
    candidate->events = row->window_events;
    candidate->wakeups_per_s =
        tuner->seconds > 0 ? row_value(row, COL_WAKEUPS) / tuner->seconds : 0;
    candidate->cost = cost_of(tuner, candidate);
    const struct samples *runs = &row->samples[COL_NS_PER_EVENT];
    if (runs->count > 0 && candidate->done > 0) {
        scale_times(tuner, candidate);
        candidate->ns = stage == TUNE_FINAL ? row_value(row, COL_NS_PER_EVENT)
                                            : least_of(runs->values, runs->count);
    }
    find_broken_limit(tuner, candidate);
}

/* Replay the trace, or the part used in the search, with some contenders. */
static bool replay_contenders(const struct tuner *tuner, const struct contender_list *list,
                              const struct replay_drive *drive, unsigned runs, bool latency,
                              struct simulation *simulation, struct error *error)
{
    const struct tune_request *request = tuner->request;
    const char *const traces[] = {tuner->path};
    const struct simulate_request simulate_request = {
        .traces = traces,
        .trace_count = 1,
        .contenders = list,
        .floor = runs > 0 ? request->floor : NULL,
        .drive = *drive,
        .runs = runs,
        .last_run_ns = tuner->begun_ns + (uint64_t)(1e9 * FINAL_SHARE * request->budget_seconds),
        .latency = latency,
        .timeout_seconds =
            tuner->deciding ? request->final_timeout_seconds : request->timeout_seconds,
        .memory_limit_bytes = tuner->memory_limit_bytes,
    };
    bool all_right = false;
    *simulation = (struct simulation){0};
    return list->count == 0 || simulate(&simulate_request, simulation, &all_right, error);
}

bool tuner_run(struct tuner *tuner, const size_t *indices, size_t count, enum tune_stage stage,
               unsigned runs, bool latency, struct error *error)
{
    struct contender_list list = {.items = memory_new(count + 1, sizeof *list.items),
                                  .count = count};
    for (size_t i = 0; i < count; i++) {
        list.items[i] = tuner->result->candidates[indices[i]].contender;
    }
    struct simulation simulation;
    uint64_t begun_ns = clock_now_ns();
    bool good =
        replay_contenders(tuner, &list, &tuner->request->drive, runs, latency, &simulation, error);
    double passes = (double)(count + 1) * (1 + runs * (latency ? 2.0 : 1.0));
    tuner->pass_seconds = (double)(clock_now_ns() - begun_ns) / 1e9 / passes;
    for (size_t i = 0; good && i < count; i++) {
        take_row(tuner, &tuner->result->candidates[indices[i]], &simulation.results.rows[i], stage);
    }
    simulation_free(&simulation);
    free(list.items);
    return good;
}

/* --- other loops ----------------------------------------------------------------------------- */

static bool try_loop(struct tuner *tuner, const struct replay_drive *drive, struct error *error)
{
    struct tune_result *result = tuner->result;
    struct contender contender = result->best->contender;
    const struct contender_list list = {.items = &contender, .count = 1};
    struct simulation simulation;
    bool good = replay_contenders(tuner, &list, drive, 0, false, &simulation, error);
    const struct row *row = good ? &simulation.results.rows[0] : NULL;
    if (good && row_is_ok(row)) {
        const struct tune_loop loop = {
            .drive = *drive,
            .wakeups_per_s = row_value(row, COL_WAKEUPS) / tuner->seconds,
            .lateness_max_ticks = (uint64_t)fmax(row_value(row, COL_LATENESS_MAX), 0),
        };
        double least =
            result->loop_found ? result->loop.wakeups_per_s : result->best->wakeups_per_s;
        if (loop.wakeups_per_s < least) {
            result->loop = loop;
            result->loop_found = true;
        }
    }
    simulation_free(&simulation);
    return good;
}

bool tuner_try_loops(struct tuner *tuner, struct error *error)
{
    const struct tune_request *request = tuner->request;
    const struct tune_candidate *best = tuner->result->best;
    if (best == NULL || request->drive.kind != DRIVE_SLEEP || !drive_is_plain(&request->drive) ||
        !(tuner->seconds > 0)) {
        return true;
    }
    /* A timer that is due just after a poll waits for the next. */
    uint64_t late_ticks = request->limits.late_ticks;
    late_ticks =
        late_ticks < tuner->result->info.delay_max ? late_ticks : tuner->result->info.delay_max;
    const struct replay_drive poll = {.kind = DRIVE_POLL,
                                      .poll_ticks = late_ticks - best->late_promise + 1};
    const struct replay_drive slack = {.kind = DRIVE_SLACK};
    return (late_ticks <= best->late_promise || try_loop(tuner, &poll, error)) &&
           (!tuner->result->has_slack || try_loop(tuner, &slack, error));
}
