#include "tcp_fit.h"

#include "temporary_file.h"
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How many other seeds say what is chance. */
#define OTHER_SEEDS 7

struct fitter {
    const char *input;
    char path[4096]; /* of the trace that is being made */
    struct tcp_fit *fit;
    struct tcp_estimate *estimate;
    struct error *error;
};

/* --- the recording ---------------------------------------------------------------------------- */

/* Imports the recording, all of it or one function's timers. */
static bool import_recording(const struct fitter *fitter, const char *function)
{
    const struct import_format *format = import_format_find("ftrace", fitter->error);
    const struct import_setting setting = {"function", function};
    FILE *report = fopen("/dev/null", "w");
    if (report == NULL) {
        return error_set(fitter->error, "/dev/null: %s", strerror(errno));
    }
    const struct import_job job = {.input = fitter->input,
                                   .output = fitter->path,
                                   .settings = &setting,
                                   .setting_count = function != NULL ? 1 : 0,
                                   .report = report};
    bool good = format->run(&job, fitter->error) == IMPORT_DONE;
    (void)fclose(report);
    return good;
}

/* How many starts each kind has, from the origin of the whole recording's trace. */
static bool count_starts(struct fitter *fitter, uint64_t *starts)
{
    struct trace_reader *reader = trace_reader_open(fitter->path, fitter->error);
    if (reader == NULL) {
        return false;
    }
    json_t *origin = json_loads(trace_reader_header(reader)->origin, 0, NULL);
    const json_t *functions = json_object_get(origin, "functions");
    uint64_t all = 0;
    const char *name;
    json_t *row;
    json_object_foreach((json_t *)functions, name, row)
    {
        all += (uint64_t)json_integer_value(json_object_get(row, "start"));
    }
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        row = json_object_get(functions, tcp_kind_functions[kind]);
        starts[kind] = (uint64_t)json_integer_value(json_object_get(row, "start"));
        all -= starts[kind];
    }
    fitter->fit->other_starts = all;
    json_decref(origin);
    trace_reader_close(reader);
    return true;
}

static bool measure_recording(struct fitter *fitter, struct tcp_knobs *knobs)
{
    uint64_t starts[TCP_KINDS];
    if (!import_recording(fitter, NULL) || !count_starts(fitter, starts)) {
        return false;
    }
    if (starts[TCP_WRITE] == 0) {
        return error_set(fitter->error,
                         "%s: no tcp_write_timer was started in it: there is no TCP to fit to; "
                         "record timer_start, timer_cancel and timer_expire_entry while "
                         "connections are busy",
                         fitter->input);
    }
    uint64_t tick_ns = 0;
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        if (starts[kind] > 0 &&
            (!import_recording(fitter, tcp_kind_functions[kind]) ||
             !tcp_measure_trace(fitter->path, (enum tcp_kind)kind, &fitter->fit->recorded,
                                tcp_estimate_take, fitter->estimate, &tick_ns, fitter->error))) {
            return false;
        }
    }
    struct error why;
    if (!tcp_estimate_finish(fitter->estimate, &fitter->fit->recorded, tick_ns, knobs, &why)) {
        return error_set(fitter->error, "%s: %s", fitter->input, why.text);
    }
    fitter->fit->seconds = fitter->fit->recorded.seconds;
    fitter->fit->note_count = tcp_estimate_notes(fitter->estimate, fitter->fit->notes);
    return true;
}

/* --- verdicts --------------------------------------------------------------------------------- */

/* How many events of a trace stand behind a statistic. */
static double events_of(const struct tcp_measure *measure, enum tcp_kind kind,
                        enum tcp_statistic statistic)
{
    const double *value = measure->value[kind];
    bool share = statistic >= TCP_EXPIRED && statistic <= TCP_MOVED;
    if (statistic == TCP_BUSIEST) {
        return value[statistic];
    }
    return share ? value[statistic] * value[TCP_STARTS] : value[TCP_STARTS];
}

/* Whether both traces have too few of them. */
static bool too_few(const struct tcp_fit *fit, enum tcp_kind kind, enum tcp_statistic statistic)
{
    return events_of(&fit->recorded, kind, statistic) +
               events_of(&fit->generated, kind, statistic) <
           2 * TCP_FIT_FEW;
}

double tcp_fit_ratio(const struct tcp_fit *fit, enum tcp_kind kind, enum tcp_statistic statistic)
{
    double recorded = fit->recorded.value[kind][statistic];
    return recorded > 0 ? fit->generated.value[kind][statistic] / recorded : NAN;
}

enum tcp_verdict tcp_fit_judge(const struct tcp_fit *fit, enum tcp_kind kind,
                               enum tcp_statistic statistic)
{
    double recorded = fit->recorded.value[kind][statistic];
    double generated = fit->generated.value[kind][statistic];
    if (!(recorded > 0) && !(generated > 0)) {
        return TCP_NONE;
    }
    if (too_few(fit, kind, statistic)) {
        return TCP_FEW;
    }
    if (fabs(generated - recorded) <= TCP_FIT_WITHIN * recorded) {
        return TCP_MET;
    }
    return fit->least.value[kind][statistic] <= recorded &&
                   recorded <= fit->most.value[kind][statistic]
               ? TCP_CHANCE
               : TCP_BEYOND;
}

/* --- the search ------------------------------------------------------------------------------- */

static bool generate(struct fitter *fitter, const struct tcp_knobs *knobs, uint64_t seed,
                     struct tcp_measure *measure)
{
    struct tcp_fit *fit = fitter->fit;
    struct gen_summary summary;
    uint64_t tick_ns;
    tcp_estimate_part(fitter->estimate, knobs, &fit->part);
    const struct gen_request request = {
        .parts = &fit->part, .part_count = 1, .seconds = fit->seconds, .seed = seed};
    fit->generations++;
    *measure = (struct tcp_measure){0};
    return gen_trace(&request, fitter->path, &summary, fitter->error) &&
           tcp_measure_trace(fitter->path, TCP_KINDS, measure, NULL, NULL, &tick_ns, fitter->error);
}

/* What a statistic weighs in the search: those that say most with least chance in them, most. */
static const double weights[TCP_STATISTICS] = {
    [TCP_STARTS] = 4,        [TCP_EXPIRED] = 2,      [TCP_CANCELLED] = 2,
    [TCP_MOVED] = 2,         [TCP_DELAY_P10_MS] = 1, [TCP_DELAY_P50_MS] = 1,
    [TCP_DELAY_P90_MS] = 1,  [TCP_DELAY_P99_MS] = 1, [TCP_DISPERSION_100MS] = 1,
    [TCP_DISPERSION_1S] = 1, [TCP_BUSIEST] = 0.5,
};

/* How far a generated trace is from the recording: 0 is the same. What is off by more than a factor
 * of three costs no more than that; to be near the limit or beyond it costs something of its own.
 */
static double distance(const struct tcp_fit *fit)
{
    double sum = 0;
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        for (unsigned s = 0; s < TCP_STATISTICS; s++) {
            double recorded = fit->recorded.value[kind][s];
            double generated = fit->generated.value[kind][s];
            if ((!(recorded > 0) && !(generated > 0)) ||
                too_few(fit, (enum tcp_kind)kind, (enum tcp_statistic)s)) {
                continue;
            }
            double off = recorded > 0 && generated > 0 ? fabs(log(generated / recorded)) : 1.1;
            off = off > 1.1 ? 1.1 : off;
            sum += weights[s] * off * off;
            sum += off > 0.9 * TCP_FIT_WITHIN ? 0.05 : 0;
        }
    }
    return sum;
}

/* A knob is not turned for less. */
#define TURN_GAIN 0.003

/* Tries knobs, and keeps them if they are better. */
static bool try_knobs(struct fitter *fitter, const struct tcp_knobs *knobs, struct tcp_knobs *best,
                      double *least)
{
    if (!generate(fitter, knobs, TCP_FIT_SEED, &fitter->fit->generated)) {
        return false;
    }
    double off = distance(fitter->fit);
    if (off < *least - TURN_GAIN) {
        *least = off;
        *best = *knobs;
    }
    return true;
}

/* One knob after the other, at these values or at these multiples of what it is. */
static const struct turn {
    size_t knob; /* its place */
    bool multiple;
    double most;
    unsigned count;
    double values[9];
} turns[] = {
#define KNOB(name) offsetof(struct tcp_knobs, name)
    {KNOB(tail), true, 20, 8, {0.5, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 2}},
    {KNOB(asked), false, 1, 6, {0, 0.25, 0.5, 0.75, 0.9, 1}},
    {KNOB(single), false, 1, 9, {0, 0.3, 0.6, 0.8, 0.88, 0.91, 0.94, 0.97, 1}},
    {KNOB(young), false, 1, 8, {0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1}},
    {KNOB(both), false, 1, 3, {0, 0.5, 1}},
    {KNOB(client), false, 1, 7, {0, 0.1, 0.25, 0.5, 0.75, 0.9, 1}},
    {KNOB(quick), false, 1e6, 5, {0, 1, 2, 3, 4}},
    {KNOB(delack), false, 1, 5, {0, 0.01, 0.03, 0.06, 0.1}},
    {KNOB(delack), true, 1, 6, {0.7, 0.85, 0.95, 1.05, 1.15, 1.3}},
    {KNOB(probe), false, 10, 8, {0.05, 0.1, 0.15, 0.2, 1.0 / 3, 0.5, 1, 5}},
    {KNOB(spread), false, 1, 7, {0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 1}},
    {KNOB(phase), false, 1, 9, {0, 0.1, 0.2, 0.3, 0.4, 0.55, 0.7, 0.8, 0.9}},
    {KNOB(even), false, 1, 5, {0, 0.25, 0.5, 0.75, 1}},
    {KNOB(loss), true, 1, 6, {0.5, 0.7, 0.85, 1.15, 1.3, 1.6}},
    {KNOB(first), true, 4, 6, {0.7, 0.85, 0.95, 1.05, 1.15, 1.3}},
    {KNOB(middle), true, 4, 6, {0.8, 0.9, 0.95, 1.05, 1.1, 1.25}},
    {KNOB(pace), true, 100, 4, {0.8, 0.9, 1.1, 1.25}},
    {KNOB(tail), true, 20, 6, {0.8, 0.9, 0.95, 1.05, 1.1, 1.2}},
#undef KNOB
};
#define ROUNDS 3

/* In the end, each knob a little down and up. */
static const double steps[] = {0.85, 0.94, 0.97, 1.03, 1.06, 1.15};

static bool turn_knob(struct fitter *fitter, const struct turn *turn, bool multiple,
                      const double *values, unsigned count, struct tcp_knobs *best, double *least)
{
    const struct tcp_knobs from = *best;
    for (unsigned k = 0; k < count; k++) {
        struct tcp_knobs knobs = from;
        double *knob = (double *)(void *)((char *)&knobs + turn->knob);
        double had = *knob;
        *knob = multiple ? had * values[k] : values[k];
        *knob = *knob > turn->most ? turn->most : *knob;
        bool same = fabs(*knob - had) <= 1e-9 * fabs(had);
        if (!same && !try_knobs(fitter, &knobs, best, least)) {
            return false;
        }
    }
    return true;
}

/* Goes through the knobs, from the first to the last or the other way. */
static bool descend(struct fitter *fitter, bool backward, struct tcp_knobs *best, double *least)
{
    const size_t count = sizeof turns / sizeof turns[0];
    const unsigned step_count = sizeof steps / sizeof steps[0];
    const struct tcp_knobs first = *best;
    double before = INFINITY;
    *least = INFINITY;
    bool good = try_knobs(fitter, &first, best, least);
    for (unsigned round = 0; good && round < ROUNDS && *least < before; round++) {
        before = *least;
        for (size_t i = 0; good && i < count; i++) {
            const struct turn *turn = &turns[backward ? count - 1 - i : i];
            good = turn_knob(fitter, turn, turn->multiple, turn->values, turn->count, best, least);
        }
        for (size_t i = 0; good && i < count; i++) {
            good = turn_knob(fitter, &turns[i], true, steps, step_count, best, least);
        }
    }
    return good;
}

/* From the estimate in either order, since each may end where no single knob helps. */
static bool search(struct fitter *fitter, struct tcp_knobs *best)
{
    struct tcp_knobs other = *best;
    double least;
    double other_least;
    if (!descend(fitter, false, best, &least) || !descend(fitter, true, &other, &other_least)) {
        return false;
    }
    if (other_least < least) {
        *best = other;
    }
    return true;
}

/* What other seeds make of the same knobs. */
static bool look_around(struct fitter *fitter, const struct tcp_knobs *knobs)
{
    struct tcp_fit *fit = fitter->fit;
    fit->least = fit->generated;
    fit->most = fit->generated;
    for (unsigned i = 1; i <= OTHER_SEEDS; i++) {
        struct tcp_measure other;
        if (!generate(fitter, knobs, TCP_FIT_SEED + i, &other)) {
            return false;
        }
        for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
            for (unsigned s = 0; s < TCP_STATISTICS; s++) {
                double value = other.value[kind][s];
                fit->least.value[kind][s] = fmin(fit->least.value[kind][s], value);
                fit->most.value[kind][s] = fmax(fit->most.value[kind][s], value);
            }
        }
    }
    return true;
}

static bool fit_all(struct fitter *fitter)
{
    struct tcp_fit *fit = fitter->fit;
    struct tcp_knobs knobs;
    if (!measure_recording(fitter, &knobs)) {
        return false;
    }
    return search(fitter, &knobs) && generate(fitter, &knobs, TCP_FIT_SEED, &fit->generated) &&
           look_around(fitter, &knobs);
}

bool tcp_fit(const char *input, struct tcp_fit *fit, struct error *error)
{
    *fit = (struct tcp_fit){0};
    struct fitter fitter = {.input = input, .fit = fit, .error = error};
    if (!temporary_file_make(fitter.path, sizeof fitter.path, "fit", true, error)) {
        return false;
    }
    fitter.estimate = tcp_estimate_create();
    bool good = fitter.estimate != NULL || error_set(error, "out of memory");
    good = good && fit_all(&fitter);
    tcp_estimate_destroy(fitter.estimate);
    (void)unlink(fitter.path);
    return good;
}
