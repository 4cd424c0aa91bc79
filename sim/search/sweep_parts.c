/* What a sweep consists of, in words that are the same on every machine, and which of its points
 * are a part's. */
#include "sweep_work.h"

#include "declared_cost.h"
#include "outfolder.h"
#include "simulate.h"
#include "trace.h"

#include <stdlib.h>
#include <string.h>

/* Of the expected cost, in about nanoseconds: an operation, each step that it takes, an operation
 * to generate, a pass whatever it does. */
#define OPERATION_COST 20.0
#define STEP_COST      5.0
#define GENERATED_COST 200.0
#define PASS_COST      1e7
#define UNTIMED_PASSES 2 /* the checked one, which takes longer */

/* --- what it consists of --------------------------------------------------------------------- */

/* A trace by what is in it, wherever it lies. Null if it cannot be read. */
static json_t *describe_trace(const char *path, struct error *error)
{
    struct trace_reader *reader = trace_reader_open(path, error);
    if (reader == NULL) {
        return json_null();
    }
    const struct trace_header *header = trace_reader_header(reader);
    const char *slash = strrchr(path, '/');
    json_t *trace = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "name", slash != NULL ? slash + 1 : path,
        "tick_ns", (json_int_t)header->tick_ns, "events", (json_int_t)header->events, "starts",
        (json_int_t)header->starts, "reactions", (json_int_t)header->reactions, "warmup_end_tick",
        (json_int_t)header->warmup_end_tick, "end_tick", (json_int_t)header->end_tick,
        "max_delay_ticks", (json_int_t)header->max_delay_ticks, "timers", (json_int_t)header->ids);
    trace_reader_close(reader);
    return trace;
}

static json_t *describe_structure(const struct catalog *catalog, const struct contender *contender)
{
    json_t *structure =
        json_pack("{s:s, s:s}", "algo", contender->timed->name, "options", contender->option_text);
    for (size_t i = 0; i < catalog->count; i++) {
        char sum[OUTFOLDER_SUM_BYTES];
        if (&catalog->entries[i].timed == contender->timed &&
            catalog->entries[i].origin_file != NULL &&
            outfolder_sum(catalog->entries[i].origin_file, sum)) {
            (void)json_object_set_new(structure, "plugin", json_string(sum));
        }
    }
    return structure;
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
                                        json_string(slash != NULL ? slash + 1 : knob->values[k]));
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
        (void)json_array_append_new(
            structures, describe_structure(request->catalog, &request->contenders->items[i]));
    }
    json_t *description = json_pack("{s:s?, s:f, s:o, s:o, s:o, s:i, s:b, s:b, s:f}", "workload",
                                    request->workload != NULL ? request->workload->name : NULL,
                                    "seconds", request->workload != NULL ? request->seconds : 0,
                                    "traces", traces, "knobs", knobs, "structures", structures,
                                    "runs", (int)request->runs, "latency", request->latency, "slow",
                                    request->slow, "timeout_seconds", request->timeout_seconds);
    if (!good || description == NULL) {
        (void)(good && error_set(error, "out of memory"));
        json_decref(description);
        return NULL;
    }
    return description;
}

/* --- what it costs --------------------------------------------------------------------------- */

/* How many operations and timers a point has: of a trace as its header says; of what is not
 * generated yet as many for each connection, second and, if the workload is told one, rate. */
static void size_of(const struct sweep_request *request, const json_t *description, size_t point,
                    double *events, uint64_t *timers)
{
    const struct sweep_knobs *knobs = request->knobs;
    struct gen_part part;
    struct error ignored;
    uint64_t seed;
    *events = 0;
    *timers = 0;
    for (size_t i = 0; request->workload == NULL && i < knobs->count; i++) {
        if (strcmp(knobs->items[i].name, SWEEP_KNOB_TRACE) == 0) {
            const json_t *trace = json_array_get(json_object_get(description, "traces"),
                                                 sweep_index_at(knobs, point, i));
            *events = (double)json_integer_value(json_object_get(trace, "events"));
            *timers = (uint64_t)json_integer_value(json_object_get(trace, "timers"));
        }
    }
    if (request->workload != NULL && sweep_part_at(request, point, &part, &seed, &ignored)) {
        const struct gen_parameter *rate =
            gen_parameter_find(request->workload, "rate_per_s", &ignored);
        double a_second = rate != NULL ? part.parameters[rate - request->workload->parameters] : 1;
        *timers = part.connections;
        *events = (double)part.connections * request->seconds * a_second;
    }
}

double sweep_expected_cost(const struct sweep_request *request, const json_t *description,
                           size_t point)
{
    double events;
    uint64_t timers;
    size_of(request, description, point, &events, &timers);
    double passes = UNTIMED_PASSES + request->runs * (request->latency ? 2.0 : 1.0);
    double cost = request->workload != NULL ? events * GENERATED_COST : 0;
    for (size_t i = 0; i < request->contenders->count; i++) {
        const struct tl_algo *algo = request->contenders->items[i].timed;
        if ((algo->capabilities & TL_CAP_SLOW) != 0 && !request->slow &&
            timers > SIMULATE_SLOW_IDS_MAX) {
            continue; /* it will not be run */
        }
        double operation = OPERATION_COST + STEP_COST * declared_steps(&algo->cost, timers);
        cost += passes * (PASS_COST + events * operation);
    }
    return cost;
}

/* --- whose it is ----------------------------------------------------------------------------- */

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

bool sweep_choose_points(struct sweep_work *work, double *share, struct error *error)
{
    const struct sweep_request *request = work->request;
    const json_t *description = json_object_get(work->context, SWEEP_DESCRIPTION);
    size_t count = sweep_count_points(request->knobs);
    unsigned parts = request->parts > 0 ? request->parts : 1;
    struct weighed *all = calloc(count, sizeof *all);
    double *load = calloc(parts, sizeof *load);
    work->points = calloc(count, sizeof *work->points);
    if (all == NULL || load == NULL || work->points == NULL) {
        free(all);
        free(load);
        return error_set(error, "out of memory");
    }
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        all[i] = (struct weighed){sweep_expected_cost(request, description, i), i};
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
    *share = request->parts == 0 ? 1 : load[request->part - 1] / total;
    free(all);
    free(load);
    return true;
}
