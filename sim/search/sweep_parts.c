/* The description of a sweep, which is the same on every machine, and the points of each part. */
#include "sweep_work.h"

#include "declared_cost.h"
#include "json_text.h"
#include "memory.h"
#include "outfolder.h"
#include "simulate.h"
#include "temporary_file.h"
#include "trace.h"
#include "trace_info.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Parts of the expected cost, in nanoseconds, roughly: an operation, each of its steps, the
 * generation of an operation, the fixed part of a pass. */
#define OPERATION_COST 20.0
#define STEP_COST      5.0
#define GENERATED_COST 200.0
#define PASS_COST      1e7
#define UNTIMED_PASSES 2 /* the check, which takes longer */

/* --- the description ------------------------------------------------------------------------- */

/* Describe a trace by its header, wherever its file is. JSON null if it cannot be read. */
static json_t *describe_trace(const char *path, struct error *error)
{
    struct trace_reader *reader = trace_reader_open(path, error);
    if (reader == NULL) {
        return json_null();
    }
    const struct trace_header *header = trace_reader_header(reader);
    const char *slash = strrchr(path, '/');
    json_t *trace = json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "name",
        json_text(slash != NULL ? slash + 1 : path), "tick_ns", (json_int_t)header->tick_ns,
        "events", (json_int_t)header->events, "starts", (json_int_t)header->starts, "reactions",
        (json_int_t)header->reactions, "warmup_end_tick", (json_int_t)header->warmup_end_tick,
        "end_tick", (json_int_t)header->end_tick, "max_delay_ticks",
        (json_int_t)header->max_delay_ticks, "timers", (json_int_t)header->ids);
    trace_reader_close(reader);
    return trace;
}

json_t *sweep_describe(const struct sweep_request *request, struct error *error)
{
    json_t *traces = json_array();
    json_t *knobs = json_array();
    json_t *structures = json_array();
    bool good = true;
    for (size_t i = 0; i < request->knobs->count; i++) {
        const struct sweep_knob *knob = &request->knobs->items[i];
        bool is_trace = strcmp(knob->name, SWEEP_KNOB_TRACE) == 0;
        json_t *values = json_array();
        for (size_t k = 0; k < knob->value_count; k++) {
            const char *slash = is_trace ? strrchr(knob->values[k], '/') : NULL;
            (void)json_array_append_new(values,
                                        json_text(slash != NULL ? slash + 1 : knob->values[k]));
            if (is_trace && good) {
                json_t *trace = describe_trace(knob->values[k], error);
                good = !json_is_null(trace) || request->parts == 0;
                (void)json_array_append_new(traces, trace);
            }
        }
        (void)json_array_append_new(knobs,
                                    json_pack("{s:s, s:o}", "name", knob->name, "values", values));
    }
    for (size_t i = 0; i < request->contenders->count; i++) {
        const struct contender *contender = &request->contenders->items[i];
        (void)json_array_append_new(structures,
                                    json_pack("{s:s, s:s}", "algo", contender->timed->name,
                                              "options", contender->option_text));
    }
    json_t *description = json_pack("{s:s?, s:f, s:o, s:o, s:o, s:i, s:b, s:b, s:f}", "workload",
                                    request->workload != NULL ? request->workload->name : NULL,
                                    "seconds", request->workload != NULL ? request->seconds : 0,
                                    "traces", traces, "knobs", knobs, "structures", structures,
                                    "runs", (int)request->runs, "latency", request->latency, "slow",
                                    request->slow, "timeout_seconds", request->timeout_seconds);
    if (!good) {
        json_decref(description);
        return NULL;
    }
    return description;
}

/* --- the expected cost ----------------------------------------------------------------------- */

/* The load of a few connections at a point; the same on every machine, like all generated
 * traces. */
struct sample {
    bool taken;
    double events;  /* for each connection, in the whole trace */
    double pending; /* for each connection, maximum */
    double timers;  /* for each connection, in the whole trace */
};

#define SAMPLE_CONNECTIONS 256u

/* Generate and read a point's sample. It is empty if that fails; the row will have the reason. */
static struct sample take_sample(const struct sweep_request *request, size_t point)
{
    struct sample sample = {.taken = true};
    struct gen_part part;
    struct gen_request gen = {.parts = &part, .part_count = 1, .seconds = request->seconds};
    struct gen_summary summary;
    struct trace_info info;
    struct error ignored;
    struct temporary file = {0};
    if (!sweep_part_at(request, point, &part, &gen.seed, &ignored) ||
        !temporary_make(&file, &ignored)) {
        return sample;
    }
    part.connections =
        part.connections < SAMPLE_CONNECTIONS ? part.connections : SAMPLE_CONNECTIONS;
    struct trace_reader *reader = gen_trace(&gen, file.file, &summary, &ignored)
                                      ? trace_reader_open(file.file, &ignored)
                                      : NULL;
    if (reader != NULL && trace_info_collect(reader, &info, NULL, &ignored)) {
        sample.events = (double)trace_reader_header(reader)->events / part.connections;
        sample.pending = (double)info.pending_max / part.connections;
        sample.timers = (double)trace_reader_header(reader)->ids / part.connections;
    }
    trace_reader_close(reader);
    temporary_remove(&file);
    return sample;
}

/* The index of a point's sample: the knobs for the number of connections, the seed and the drive do
 * not change it. */
static size_t sample_at(const struct sweep_knobs *knobs, size_t point, size_t *places)
{
    size_t at = 0;
    *places = 1;
    for (size_t i = 0; i < knobs->count; i++) {
        const char *name = knobs->items[i].name;
        if (!sweep_knob_drives(name) && strcmp(name, SWEEP_KNOB_CONNECTIONS) != 0 &&
            strcmp(name, SWEEP_KNOB_SEED) != 0) {
            *places *= knobs->items[i].value_count;
            at = at * knobs->items[i].value_count + sweep_index_at(knobs, point, i);
        }
    }
    return at;
}

/* The number of operations and timers at a point, and the approximate maximum of pending timers.
 * For a trace file its header gives these, or bounds them. A workload is sampled if the sweep runs
 * in parts; otherwise only the estimate of the time left depends on it. */
static struct sample size_of(const struct sweep_request *request, const json_t *description,
                             size_t point, struct sample *samples)
{
    const struct sweep_knobs *knobs = request->knobs;
    uint64_t connections = 0;
    size_t places;
    struct error ignored;
    struct sample size = {0};
    if (request->workload == NULL) {
        for (size_t i = 0; i < knobs->count; i++) {
            const json_t *trace = json_array_get(json_object_get(description, "traces"),
                                                 sweep_index_at(knobs, point, i));
            if (strcmp(knobs->items[i].name, SWEEP_KNOB_TRACE) == 0) {
                size.events = (double)json_integer_value(json_object_get(trace, "events"));
                size.timers = (double)json_integer_value(json_object_get(trace, "timers"));
                size.pending = size.timers;
            }
        }
        return size;
    }
    const char *text = sweep_named_value_at(knobs, point, SWEEP_KNOB_CONNECTIONS);
    (void)sweep_parse_whole("", text, 1, UINT32_MAX, &connections, &ignored);
    struct sample sample = {.events = request->seconds, .pending = 1, .timers = 1};
    if (request->parts > 0) {
        struct sample *kept = &samples[sample_at(knobs, point, &places)];
        if (!kept->taken) {
            *kept = take_sample(request, point);
        }
        sample = *kept;
    }
    size.events = (double)connections * sample.events;
    size.pending = (double)connections * sample.pending;
    size.timers = (double)connections * sample.timers;
    return size;
}

/* The expected cost of a point, in no unit: the same number on every machine. */
static double expected_cost(const struct sweep_request *request, const json_t *description,
                            size_t point, struct sample *samples)
{
    const struct sample size = size_of(request, description, point, samples);
    double passes = UNTIMED_PASSES + request->runs * (request->latency ? 2.0 : 1.0);
    double cost = request->workload != NULL ? size.events * GENERATED_COST : 0;
    for (size_t i = 0; i < request->contenders->count; i++) {
        const struct tl_algo *algo = request->contenders->items[i].timed;
        if ((algo->capabilities & TL_CAP_SLOW) != 0 && !request->slow &&
            size.timers > SIMULATE_SLOW_IDS_MAX) {
            continue; /* it will not be run */
        }
        double operation =
            OPERATION_COST + STEP_COST * declared_steps(&algo->cost, (uint64_t)size.pending);
        cost += passes * (PASS_COST + size.events * operation);
    }
    return cost;
}

/* --- the distribution ------------------------------------------------------------------------ */

struct weighed {
    double cost;
    size_t point;
};

static int heavier_first(const void *a, const void *b)
{
    const struct weighed *x = a;
    const struct weighed *y = b;
    if (x->cost != y->cost) {
        return x->cost < y->cost ? 1 : -1;
    }
    return (x->point > y->point) - (x->point < y->point);
}

static int by_point(const void *a, const void *b)
{
    size_t x = *(const size_t *)a;
    size_t y = *(const size_t *)b;
    return (x > y) - (x < y);
}

void sweep_choose_points(struct sweep_work *work, double *share)
{
    const struct sweep_request *request = work->request;
    const json_t *description = json_object_get(work->context, SWEEP_DESCRIPTION);
    size_t count = sweep_count_points(request->knobs);
    size_t places;
    (void)sample_at(request->knobs, 0, &places);
    struct sample *samples = memory_new(places, sizeof *samples);
    unsigned parts = request->parts > 0 ? request->parts : 1;
    struct weighed *all = memory_new(count, sizeof *all);
    double *load = memory_new(parts, sizeof *load);
    work->points = memory_new(count, sizeof *work->points);
    work->costs = memory_new(count, sizeof *work->costs);
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        work->costs[i] = expected_cost(request, description, i, samples);
        all[i] = (struct weighed){work->costs[i], i};
        total += all[i].cost;
    }
    if (parts > 1) {
        qsort(all, count, sizeof *all, heavier_first);
    }
    for (size_t i = 0; i < count; i++) {
        unsigned least = 0;
        for (unsigned k = 1; k < parts; k++) {
            least = load[k] < load[least] ? k : least;
        }
        load[least] += all[i].cost;
        if (request->parts == 0 || least + 1 == request->part) {
            work->points[work->point_count++] = all[i].point;
        }
    }
    qsort(work->points, work->point_count, sizeof *work->points, by_point);
    *share = request->parts > 0 && total > 0 ? load[request->part - 1] / total : 1;
    free(samples);
    free(all);
    free(load);
}
