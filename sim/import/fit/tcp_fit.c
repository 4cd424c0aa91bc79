#include "tcp_fit.h"

#include "random.h"
#include "statistics.h"
#include "temporary_file.h"
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the search sees, and by what it chooses between the places where it ended; none of them is a
 * seed of the judgement. */
#define SEARCH_SEED   1000
#define SEARCH_SEEDS  5
#define REFINED_SEEDS 25
#define CHOICE_SEED   3001

struct fitter {
    const char *input;
    char path[4096];     /* of the trace that is being made */
    uint64_t tick_ns;    /* of the recording's trace */
    uint64_t idle_ticks; /* before its first operation */
    struct tcp_fit *fit;
    struct tcp_estimate *estimate; /* NULL: the workload is given */
    unsigned seeds;                /* by so many is the search */
    struct tcp_measure trust;      /* in each statistic: what it weighs in the search */
    struct tcp_measure margin; /* of it, at the limit: how far the judgement's median may stray */
    struct tcp_measure stress; /* so many times as much, since it was missed before; 0: once */
    struct tcp_knobs counted;  /* where the search begins */
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

/* How many starts each kind has, from the origin of the whole recording's trace, and when its first
 * operation comes. */
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
    struct trace_block block;
    int more = trace_reader_next(reader, &block, fitter->error);
    fitter->idle_ticks =
        more > 0 ? block.groups[0].tick - trace_reader_header(reader)->warmup_end_tick : 0;
    trace_reader_close(reader);
    return more >= 0;
}

static bool measure_recording(struct fitter *fitter)
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
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        if (starts[kind] > 0 &&
            (!import_recording(fitter, tcp_kind_functions[kind]) ||
             !tcp_measure_trace(fitter->path, (enum tcp_kind)kind, NULL, fitter->idle_ticks,
                                &fitter->fit->recorded,
                                fitter->estimate != NULL ? tcp_estimate_take : NULL,
                                fitter->estimate, &fitter->tick_ns, fitter->error))) {
            return false;
        }
    }
    return true;
}

/* The workload as the recording has it, but for what is searched. */
static bool estimate(struct fitter *fitter, struct tcp_knobs *knobs)
{
    struct tcp_fit *fit = fitter->fit;
    struct error why;
    if (!tcp_estimate_finish(fitter->estimate, &fit->recorded, fitter->tick_ns, knobs, &why)) {
        return error_set(fitter->error, "%s: %s", fitter->input, why.text);
    }
    fit->note_count = tcp_estimate_notes(fitter->estimate, fit->notes);
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
    double off = fabs(generated - recorded);
    if (off <= TCP_FIT_WITHIN * recorded) {
        return TCP_MET;
    }
    return off <= fit->recorded.own[kind][statistic] * recorded ? TCP_OWN : TCP_BEYOND;
}

/* --- what is generated ------------------------------------------------------------------------ */

/* Of each statistic, what seeds make of the workload. */
struct spread {
    double value[TCP_KINDS][TCP_STATISTICS][TCP_FIT_SEEDS];
};
_Static_assert(SEARCH_SEEDS <= TCP_FIT_SEEDS && REFINED_SEEDS <= TCP_FIT_SEEDS,
               "a spread has room for either");
_Static_assert(SEARCH_SEED + SEARCH_SEEDS <= TCP_FIT_SEED &&
                   SEARCH_SEED + REFINED_SEEDS <= CHOICE_SEED &&
                   CHOICE_SEED + TCP_FIT_SEEDS <= TCP_FIT_SEED,
               "neither the search nor the choice sees one of the judgement's");

/* Generates with the seed `first` + `i`, and puts the statistics in their i-th place. */
static bool generate(struct fitter *fitter, uint64_t first, unsigned i, struct spread *spread)
{
    struct tcp_fit *fit = fitter->fit;
    struct gen_names places = {0};
    const struct gen_request request = {.parts = &fit->part,
                                        .part_count = 1,
                                        .seconds = fit->recorded.seconds,
                                        .seed = first + i,
                                        .whole_parts = 1,
                                        .names = &places};
    struct gen_summary summary;
    struct tcp_measure measure = {0};
    uint64_t tick_ns;
    fit->generations++;
    bool good = gen_trace(&request, fitter->path, &summary, fitter->error) &&
                tcp_measure_trace(fitter->path, TCP_KINDS, places.names, fitter->idle_ticks,
                                  &measure, NULL, NULL, &tick_ns, fitter->error);
    free(places.names);
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        for (unsigned s = 0; s < TCP_STATISTICS; s++) {
            spread->value[kind][s][i] = measure.value[kind][s];
        }
    }
    return good;
}

/* Holds the workload against the recording, on seeds from the first on that the search has not
 * seen.
 */
static bool judge(struct fitter *fitter, uint64_t first)
{
    struct tcp_fit *fit = fitter->fit;
    struct spread spread;
    for (unsigned i = 0; i < TCP_FIT_SEEDS; i++) {
        if (!generate(fitter, first, i, &spread)) {
            return false;
        }
    }
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        for (unsigned s = 0; s < TCP_STATISTICS; s++) {
            const double *values = spread.value[kind][s];
            fit->generated.value[kind][s] = stats_median(values, TCP_FIT_SEEDS);
            fit->least.value[kind][s] = values[0];
            fit->most.value[kind][s] = values[0];
            for (unsigned i = 1; i < TCP_FIT_SEEDS; i++) {
                fit->least.value[kind][s] = fmin(fit->least.value[kind][s], values[i]);
                fit->most.value[kind][s] = fmax(fit->most.value[kind][s], values[i]);
            }
        }
    }
    return true;
}

/* --- the search ------------------------------------------------------------------------------- */

/* What a statistic weighs in the search: those that say most with least chance in them, most. */
static const double weights[TCP_STATISTICS] = {
    [TCP_STARTS] = 4,        [TCP_EXPIRED] = 2,      [TCP_CANCELLED] = 2,
    [TCP_MOVED] = 2,         [TCP_DELAY_P10_MS] = 1, [TCP_DELAY_P50_MS] = 1,
    [TCP_DELAY_P90_MS] = 1,  [TCP_DELAY_P99_MS] = 1, [TCP_DISPERSION_100MS] = 1,
    [TCP_DISPERSION_1S] = 1, [TCP_BUSIEST] = 0.5,
};

/* How far a generated statistic is from the recorded one, as a logarithm; what is off by more than
 * a factor of three is no farther than that. 0 where nothing can be judged. */
static double off_by(const struct tcp_fit *fit, enum tcp_kind kind, enum tcp_statistic statistic)
{
    double recorded = fit->recorded.value[kind][statistic];
    double generated = fit->generated.value[kind][statistic];
    if ((!(recorded > 0) && !(generated > 0)) || too_few(fit, kind, statistic)) {
        return 0;
    }
    const double most = 1.1;
    return recorded > 0 && generated > 0 ? fmin(most, fabs(log(generated / recorded))) : most;
}

/* Whether that is beyond the limit, or so near that other seeds may be beyond. */
static bool is_missed(const struct fitter *fitter, enum tcp_kind kind, enum tcp_statistic statistic)
{
    return off_by(fitter->fit, kind, statistic) >
           TCP_FIT_WITHIN - fitter->margin.value[kind][statistic];
}

/* How far a generated trace is from the recording: 0 is the same. To be near the limit or beyond it
 * costs something of its own. */
static double distance(const struct fitter *fitter)
{
    double sum = 0;
    for (enum tcp_kind kind = 0; kind < TCP_KINDS; kind++) {
        for (enum tcp_statistic s = 0; s < TCP_STATISTICS; s++) {
            double off = off_by(fitter->fit, kind, s);
            double missed = is_missed(fitter, kind, s) ? 0.1 : 0;
            sum += fitter->trust.value[kind][s] * (1 + fitter->stress.value[kind][s]) *
                   (weights[s] * off * off + missed);
        }
    }
    return sum;
}

/* A knob is not turned for less. */
#define TURN_GAIN         0.003

/* What is so much farther by the first seed alone, or by three, is not tried with the others. */
#define HOPELESS_BY_ONE   0.3
#define HOPELESS_BY_THREE 0.1

/* What the first seeds make of a workload, as one: the median of each, as in the judgement. */
static void take_medians(const struct spread *spread, unsigned count, struct tcp_measure *measure)
{
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        for (unsigned s = 0; s < TCP_STATISTICS; s++) {
            measure->value[kind][s] = stats_median(spread->value[kind][s], count);
        }
    }
}

/* How near to the limit is too near. */
#define MARGIN_LEAST (0.1 * TCP_FIT_WITHIN)
#define MARGIN_MOST  (0.5 * TCP_FIT_WITHIN)

/* How far a statistic is to be trusted, whose median is of so many seeds: the less, the more chance
 * is in that, or the search would go where these seeds happen to hit. 1.57 is how much farther a
 * median strays than a mean, squared. */
static void set_trust(struct fitter *fitter, const struct spread *spread)
{
    for (unsigned kind = 0; kind < TCP_KINDS; kind++) {
        for (unsigned s = 0; s < TCP_STATISTICS; s++) {
            double sum = 0;
            double squares = 0;
            for (unsigned i = 0; i < fitter->seeds; i++) {
                double value = spread->value[kind][s][i];
                double x = value > 0 ? log(value) : 0;
                sum += x;
                squares += x * x;
            }
            double variance = (squares - sum * sum / fitter->seeds) / (fitter->seeds - 1);
            double chance = variance > 0 ? 1.57 * variance / fitter->seeds : 0;
            double judged = variance > 0 ? sqrt(1.57 * variance / TCP_FIT_SEEDS) : 0;
            fitter->margin.value[kind][s] = fmin(MARGIN_MOST, fmax(MARGIN_LEAST, judged));
            fitter->trust.value[kind][s] =
                TCP_FIT_WITHIN * TCP_FIT_WITHIN / (TCP_FIT_WITHIN * TCP_FIT_WITHIN + chance);
        }
    }
}

static double *knob_at(struct tcp_knobs *knobs, size_t place)
{
    return (double *)(void *)((char *)knobs + place);
}

/* The nearest so far. */
struct best {
    struct tcp_knobs knobs;
    double off;       /* how far it is */
    double off_first; /* by the first seed alone */
};

/* Knobs that begin with what the recording has, which is not left without need: what a few seeds
 * would gain by it is chance, and of another recording wrong. */
static const size_t counted_knobs[] = {
    offsetof(struct tcp_knobs, tail),       offsetof(struct tcp_knobs, middle),
    offsetof(struct tcp_knobs, kept),       offsetof(struct tcp_knobs, slow),
    offsetof(struct tcp_knobs, slow_times), offsetof(struct tcp_knobs, first),
    offsetof(struct tcp_knobs, pace),
};

/* What it costs in the distance: as much as a statistic that is off by as much. */
static double cost_of_leaving(struct tcp_knobs from, struct tcp_knobs to)
{
    double sum = 0;
    for (size_t i = 0; i < sizeof counted_knobs / sizeof counted_knobs[0]; i++) {
        double begun = *knob_at(&from, counted_knobs[i]);
        double now = *knob_at(&to, counted_knobs[i]);
        double off = begun > 0 && now > 0 ? log(now / begun) : 0;
        sum += off * off;
    }
    return sum;
}

/* Tries knobs, and keeps them if they are better: by the median of the seeds, so that what one of
 * them happens to hit is not chased. */
static bool try_knobs(struct fitter *fitter, const struct tcp_knobs *knobs, struct best *best)
{
    if (best->off <= TURN_GAIN) {
        return true; /* none is better by so much */
    }
    struct tcp_fit *fit = fitter->fit;
    struct spread spread;
    const double left = cost_of_leaving(fitter->counted, *knobs);
    double off_first = 0;
    double off = 0;
    tcp_estimate_part(fitter->estimate, knobs, &fit->part);
    for (unsigned i = 0; i < fitter->seeds; i++) {
        if (!generate(fitter, SEARCH_SEED, i, &spread)) {
            return false;
        }
        take_medians(&spread, i + 1, &fit->generated);
        off = distance(fitter) + left;
        off_first = i == 0 ? off : off_first;
        if ((i == 0 && off > best->off_first + HOPELESS_BY_ONE) ||
            (i == 2 && off > best->off + HOPELESS_BY_THREE)) {
            return true;
        }
    }
    if (off < best->off - TURN_GAIN) {
        *best = (struct best){*knobs, off, off_first};
    }
    return true;
}

/* What a turn's values are. */
enum turn_by {
    SET,   /* the knob's own */
    TIMES, /* what it is, so many times */
    SLOTS, /* what it is and so many slots of the kernel's wheel, seconds where it comes round to
              timers that are armed before the recording */
};
#define SLOT_TICKS 64

/* One knob after the other. */
static const struct turn {
    size_t knob; /* its place */
    enum turn_by by;
    double most;
    unsigned count;
    double values[10];
} turns[] = {
#define KNOB(name) offsetof(struct tcp_knobs, name)
    {KNOB(ago_s), SET, 1e6, 9, {0, 1, 2, 4, 8, 12, 16, 24, 32}},
    {KNOB(tail), TIMES, 20, 8, {0.5, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 2}},
    {KNOB(kept), SET, 1, 6, {0, 0.05, 0.1, 0.2, 0.3, 0.45}},
    {KNOB(kept), TIMES, 1, 4, {0.6, 0.8, 1.2, 1.4}},
    {KNOB(asked), SET, 1, 6, {0, 0.25, 0.5, 0.75, 0.9, 1}},
    {KNOB(single), SET, 1, 9, {0, 0.3, 0.6, 0.8, 0.9, 0.94, 0.97, 0.99, 1}},
    {KNOB(young), SET, 1, 8, {0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1}},
    {KNOB(both), SET, 1, 3, {0, 0.5, 1}},
    {KNOB(client), SET, 1, 8, {0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1}},
    {KNOB(quick), SET, 1e6, 5, {0, 1, 2, 3, 4}},
    {KNOB(delack), SET, 1, 5, {0, 0.01, 0.03, 0.06, 0.1}},
    {KNOB(delack), TIMES, 1, 6, {0.7, 0.85, 0.95, 1.05, 1.15, 1.3}},
    {KNOB(ago_s), TIMES, 1e6, 8, {0.8, 0.86, 0.92, 0.96, 1.04, 1.08, 1.14, 1.2}},
    {KNOB(ago_s), SLOTS, 1e6, 6, {-3, -2, -1, 1, 2, 3}},
    {KNOB(slow), TIMES, 1, 4, {0.8, 0.9, 1.1, 1.25}},
    {KNOB(slow_times), TIMES, 1e6, 6, {0.7, 0.85, 0.95, 1.05, 1.15, 1.3}},
    {KNOB(most), SET, 1000, 6, {0, 1.2, 1.5, 2, 3, 5}},
    {KNOB(low), TIMES, 1000, 5, {0.5, 0.7, 1.5, 2, 4}},
    {KNOB(plan), SET, 1, 5, {0, 0.25, 0.5, 0.75, 1}},
    {KNOB(over), SET, 1, 5, {0, 0.1, 0.25, 0.5, 1}},
    {KNOB(uneven), SET, 1, 2, {0, 1}},
    {KNOB(refill), SET, 16, 10, {0, 1, 2, 3, 4, 6, 8, 12, 15, 16}},
    {KNOB(even), SET, 1, 5, {0, 0.25, 0.5, 0.75, 1}},
    {KNOB(close_even), SET, 1, 5, {0, 0.25, 0.5, 0.75, 1}},
    {KNOB(loss), TIMES, 1, 6, {0.5, 0.7, 0.85, 1.15, 1.3, 1.6}},
    {KNOB(first), TIMES, 4, 6, {0.7, 0.85, 0.95, 1.05, 1.15, 1.3}},
    {KNOB(middle), TIMES, 4, 6, {0.8, 0.9, 0.95, 1.05, 1.1, 1.25}},
    {KNOB(pace), TIMES, 100, 6, {0.8, 0.9, 0.95, 1.05, 1.1, 1.25}},
    {KNOB(tail), TIMES, 20, 6, {0.8, 0.9, 0.95, 1.05, 1.1, 1.2}},
#undef KNOB
};
#define ROUNDS 2

/* The search comes in stages. */
struct stage {
    unsigned seeds;   /* by so many */
    unsigned wanders; /* so often some knobs at once */
    double wide;      /* by a share of up to this */
    double steps;     /* this share of knobs, where a turn sets them, and others to its values */
};
static const struct stage stages[] = {{SEARCH_SEEDS, 600, 0.25, 0.6},
                                      {REFINED_SEEDS, 300, 0.08, 0.9}};

/* So often it goes on from there, at most. */
#define REPAIRS 4

/* In the end, each knob a little down and up. */
static const double steps[] = {0.94, 1.06};

/* The knob that is now `had`, turned to the value. */
static double turned(const struct fitter *fitter, const struct turn *turn, enum turn_by by,
                     double had, double value)
{
    double to = value;
    if (by == TIMES) {
        to = had * value;
    } else if (by == SLOTS) {
        to = had + value * SLOT_TICKS * (double)fitter->tick_ns / 1e9;
    }
    return to > turn->most ? turn->most : to < 0 ? 0 : to;
}

static bool turn_knob(struct fitter *fitter, const struct turn *turn, enum turn_by by,
                      const double *values, unsigned count, struct best *best)
{
    const struct tcp_knobs from = best->knobs;
    for (unsigned k = 0; k < count; k++) {
        struct tcp_knobs knobs = from;
        double *knob = knob_at(&knobs, turn->knob);
        double had = *knob;
        *knob = turned(fitter, turn, by, had, values[k]);
        bool same = fabs(*knob - had) <= 1e-9 * fabs(had);
        if (!same && !try_knobs(fitter, &knobs, best)) {
            return false;
        }
    }
    return true;
}

/* Turns knobs one after the other, until none helps. */
static bool descend(struct fitter *fitter, struct best *best)
{
    const size_t count = sizeof turns / sizeof turns[0];
    const unsigned step_count = sizeof steps / sizeof steps[0];
    double before = INFINITY;
    bool good = true;
    for (unsigned round = 0; good && round < ROUNDS && best->off < before; round++) {
        before = best->off;
        for (size_t i = 0; good && i < count; i++) {
            const struct turn *turn = &turns[i];
            good = turn_knob(fitter, turn, turn->by, turn->values, turn->count, best);
        }
        for (size_t i = 0; good && i < count; i++) {
            good = turn_knob(fitter, &turns[i], TIMES, steps, step_count, best);
        }
    }
    return good;
}

/* Turns some at once, by chance, since no single one may help where two would. */
static bool wander(struct fitter *fitter, struct random *random, const struct stage *stage,
                   struct best *best)
{
    const size_t count = sizeof turns / sizeof turns[0];
    bool good = true;
    for (unsigned i = 0; good && i < stage->wanders; i++) {
        struct tcp_knobs knobs = best->knobs;
        unsigned at_once = 2 + (unsigned)(random_unit(random) * 2);
        for (unsigned k = 0; k < at_once; k++) {
            const struct turn *turn = &turns[(size_t)(random_unit(random) * (double)count)];
            double *knob = knob_at(&knobs, turn->knob);
            double value = turn->values[(unsigned)(random_unit(random) * turn->count)];
            bool step = turn->by == TIMES || random_unit(random) < stage->steps;
            bool slots = turn->by == SLOTS;
            *knob = step && !slots ? turned(fitter, turn, TIMES, *knob,
                                            1 + stage->wide * (2 * random_unit(random) - 1))
                                   : turned(fitter, turn, turn->by, *knob, value);
        }
        good = try_knobs(fitter, &knobs, best);
    }
    return good;
}

/* What statistics weigh in a stage that begins with these knobs. */
static bool weigh(struct fitter *fitter, const struct tcp_knobs *knobs)
{
    struct spread spread;
    tcp_estimate_part(fitter->estimate, knobs, &fitter->fit->part);
    for (unsigned i = 0; i < fitter->seeds; i++) {
        if (!generate(fitter, SEARCH_SEED, i, &spread)) {
            return false;
        }
    }
    set_trust(fitter, &spread);
    return true;
}

/* One stage, from where the last one ended. */
static bool run_stage(struct fitter *fitter, struct random *random, const struct stage *stage,
                      struct best *best)
{
    const struct tcp_knobs from = best->knobs;
    best->off = INFINITY;
    best->off_first = INFINITY;
    fitter->seeds = stage->seeds;
    return weigh(fitter, &from) && try_knobs(fitter, &from, best) && descend(fitter, best) &&
           wander(fitter, random, stage, best);
}

/* Where the search ended that is best so far, by seeds that it has not seen. */
struct choice {
    struct tcp_knobs knobs;
    unsigned missed;
    double off;
};

/* Chooses these knobs if they miss fewer statistics, or as few and come nearer. What they miss is
 * stressed from now on. */
static bool choose(struct fitter *fitter, const struct tcp_knobs *knobs, struct choice *choice)
{
    tcp_estimate_part(fitter->estimate, knobs, &fitter->fit->part);
    if (!judge(fitter, CHOICE_SEED)) {
        return false;
    }
    unsigned count = 0;
    double off = 0;
    for (enum tcp_kind kind = 0; kind < TCP_KINDS; kind++) {
        for (enum tcp_statistic s = 0; s < TCP_STATISTICS; s++) {
            double by = off_by(fitter->fit, kind, s);
            off += weights[s] * by * by;
            if (is_missed(fitter, kind, s)) {
                count++;
                fitter->stress.value[kind][s] += 1;
            }
        }
    }
    if (count < choice->missed || (count == choice->missed && off < choice->off)) {
        *choice = (struct choice){*knobs, count, off};
    }
    return true;
}

/* By few seeds first, and from where that ends by more: what few of them have in common by chance
 * is a lot where connections are few. What is missed then weighs more, and the search goes on, some
 * times. */
static bool search(struct fitter *fitter, struct tcp_knobs *knobs)
{
    const unsigned stage_count = sizeof stages / sizeof stages[0];
    struct random random;
    random_seed(&random, SEARCH_SEED);
    struct best best = {.knobs = *knobs};
    struct choice choice = {.missed = UINT_MAX};
    fitter->counted = *knobs;
    bool good = true;
    for (unsigned i = 0; good && i < stage_count; i++) {
        good = run_stage(fitter, &random, &stages[i], &best);
    }
    good = good && choose(fitter, &best.knobs, &choice);
    for (unsigned i = 0; good && i < REPAIRS && choice.missed > 0; i++) {
        best.knobs = choice.knobs;
        good = run_stage(fitter, &random, &stages[stage_count - 1], &best) &&
               choose(fitter, &best.knobs, &choice);
    }
    *knobs = choice.knobs;
    return good;
}

static bool fit_all(struct fitter *fitter, const struct gen_part *given)
{
    struct tcp_fit *fit = fitter->fit;
    if (!measure_recording(fitter)) {
        return false;
    }
    if (given != NULL) {
        fit->part = *given;
    } else {
        struct tcp_knobs knobs;
        if (!estimate(fitter, &knobs) || !search(fitter, &knobs)) {
            return false;
        }
        tcp_estimate_part(fitter->estimate, &knobs, &fit->part);
    }
    return judge(fitter, TCP_FIT_SEED);
}

bool tcp_fit(const char *input, const struct gen_part *given, struct tcp_fit *fit,
             struct error *error)
{
    *fit = (struct tcp_fit){0};
    struct fitter fitter = {.input = input, .fit = fit, .error = error};
    if (!temporary_file_make(fitter.path, sizeof fitter.path, "fit", true, NULL, error)) {
        return false;
    }
    fitter.estimate = given == NULL ? tcp_estimate_create() : NULL;
    bool good = given != NULL || fitter.estimate != NULL || error_set(error, "out of memory");
    good = good && fit_all(&fitter, given);
    tcp_estimate_destroy(fitter.estimate);
    temporary_file_remove(fitter.path);
    return good;
}
