#include "gen.h"

#include "registry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

extern const struct gen_workload gen_server;

static const struct gen_workload *const workloads[] = {
    &gen_server,
};

const struct gen_workload *const *gen_workloads(size_t *count)
{
    *count = sizeof workloads / sizeof workloads[0];
    return workloads;
}

const struct gen_workload *gen_find(const char *name, struct error *error)
{
    size_t count;
    const struct gen_workload *const *all = gen_workloads(&count);
    const struct gen_workload *nearest = all[0];
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i]->name, name) == 0) {
            return all[i];
        }
        if (tl_name_distance(name, all[i]->name) < tl_name_distance(name, nearest->name)) {
            nearest = all[i];
        }
    }
    (void)error_set(error, "there is no workload '%s'; did you mean '%s'?", name, nearest->name);
    return NULL;
}

size_t gen_parameter_count(const struct gen_workload *workload)
{
    size_t n = 0;
    while (workload->parameters[n].name != NULL) {
        n++;
    }
    return n;
}

void gen_parameters_default(const struct gen_workload *workload, double *values)
{
    for (size_t i = 0; workload->parameters[i].name != NULL; i++) {
        values[i] = workload->parameters[i].default_value;
    }
}

bool gen_parameter_set(const struct gen_workload *workload, double *values, const char *text,
                       struct error *error)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        return error_set(error, "'%s' is not of the form parameter=value", text);
    }
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    const struct gen_parameter *nearest = workload->parameters;
    for (const struct gen_parameter *row = workload->parameters; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            char *end;
            double value = strtod(equals + 1, &end);
            if (end == equals + 1 || *end != '\0') {
                return error_set(error, "%s: '%s' is not a number", name, equals + 1);
            }
            /* Written so that what is not a number fails. */
            if (!(value >= row->min && value <= row->max)) {
                return error_set(error, "%s: %s is not from %g to %g", name, equals + 1, row->min,
                                 row->max);
            }
            values[row - workload->parameters] = value;
            return true;
        }
        if (tl_name_distance(name, row->name) < tl_name_distance(name, nearest->name)) {
            nearest = row;
        }
    }
    return error_set(error, "the workload %s has no parameter '%s'; did you mean '%s'?",
                     workload->name, name, nearest->name);
}

/* The trace's origin. It holds what determines the content, and nothing that changes from run to
 * run: the same request gives the same file. */
static char *origin_text(const struct gen_request *request, const struct gen_run *run)
{
    json_t *parameters = json_object();
    const struct gen_parameter *rows = request->workload->parameters;
    for (size_t i = 0; rows[i].name != NULL; i++) {
        (void)json_object_set_new(parameters, rows[i].name, json_real(request->parameters[i]));
    }
    json_t *origin = json_pack(
        "{s:s, s:s, s:I, s:I, s:f, s:o, s:I, s:O}", "source", "timerlab trace gen", "workload",
        request->workload->name, "seed", (json_int_t)request->seed, "connections",
        (json_int_t)request->connections, "seconds", request->seconds, "parameters", parameters,
        "generated_events", (json_int_t)run->generated_events, "counts", run->counts);
    char *text = json_dumps(origin, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(origin);
    return text;
}

bool gen_trace(const struct gen_request *request, const char *path, struct gen_summary *summary,
               struct error *error)
{
    const struct gen_workload *workload = request->workload;
    if (request->connections == 0 || request->connections > workload->max_connections) {
        return error_set(error, "%s: %" PRIu32 " connections are not from 1 to %" PRIu32,
                         workload->name, request->connections, workload->max_connections);
    }
    if (!(request->seconds > 0) || request->seed > INT64_MAX) {
        return error_set(error, "%s: the length must be above 0 s, the seed at most %" PRId64,
                         workload->name, INT64_MAX);
    }
    /* Whole nanoseconds: the model counts in the tick that the trace declares. */
    uint64_t tick_ns = (uint64_t)(request->parameters[GEN_TICK_US] * 1e3 + 0.5);
    struct progress progress = {0};
    struct gen_run run = {
        .connections = request->connections,
        .seconds = request->seconds,
        .seed = request->seed,
        .tick_ns = tick_ns,
        .parameters = request->parameters,
        .progress = &progress,
        .writer = trace_writer_open(path, tick_ns, error),
        .counts = json_object(),
    };
    if (run.writer == NULL) {
        json_decref(run.counts);
        return false;
    }
    bool good = workload->generate(&run, error);
    progress_end(&progress);
    if (good) {
        char *origin = origin_text(request, &run);
        *summary = (struct gen_summary){.generated_events = run.generated_events,
                                        .recorded_events = trace_writer_events(run.writer)};
        good = trace_writer_commit(run.writer, run.warmup_end_tick, run.end_tick, run.ids, origin,
                                   error);
        free(origin);
    } else {
        trace_writer_abort(run.writer);
    }
    json_decref(run.counts);
    return good;
}
