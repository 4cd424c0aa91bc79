/* The plan of a sweep: the knobs, structures with alternatives, the points, the description, which is
 * the same on every machine, and the points of each part. */
#include "sweep_work.h"

#include "declared_cost.h"
#include "json_text.h"
#include "memory.h"
#include "number.h"
#include "simulate.h"
#include "temporary_file.h"
#include "trace.h"
#include "trace_info.h"

#include <stdlib.h>
#include <string.h>

/* Parts of the expected cost, in nanoseconds, roughly: an operation, each of its steps, the
 * generation of an operation, the fixed part of a pass. */
#define OPERATION_COST 20.0
#define STEP_COST      5.0
#define GENERATED_COST 200.0
#define PASS_COST      1e7
#define UNTIMED_PASSES 2 /* the check, which takes longer */

/* --- knobs ----------------------------------------------------------------------------------- */

static struct sweep_knob *knob_of(const struct sweep_knobs *knobs, const char *name)
{
    for (size_t i = 0; i < knobs->count; i++) {
        if (strcmp(knobs->items[i].name, name) == 0) {
            return &knobs->items[i];
        }
    }
    return NULL;
}

void sweep_knob_append(struct sweep_knobs *knobs, const char *name, const char *value)
{
    struct sweep_knob *knob = knob_of(knobs, name);
    if (knob == NULL) {
        knobs->items = memory_resize(knobs->items, knobs->count + 1, sizeof *knobs->items);
        knob = &knobs->items[knobs->count++];
        *knob = (struct sweep_knob){.name = memory_copy(name)};
    }
    knob->values = memory_resize(knob->values, knob->value_count + 1, sizeof *knob->values);
    knob->values[knob->value_count++] = memory_copy(value);
}

bool sweep_knob_extend(struct sweep_knobs *knobs, const char *name, const char *value,
                       struct error *error)
{
    if (name[0] == '\0' || value[0] == '\0') {
        return error_set(error, "%s=%s: a knob has a name and values", name, value);
    }
    const struct sweep_knob *knob = knob_of(knobs, name);
    for (size_t i = 0; knob != NULL && i < knob->value_count; i++) {
        if (strcmp(knob->values[i], value) == 0) {
            return error_set(error, "%s=%s is named twice", name, value);
        }
    }
    sweep_knob_append(knobs, name, value);
    return true;
}

bool sweep_knob_add(struct sweep_knobs *knobs, const char *name, const char *values,
                    struct error *error)
{
    if (knob_of(knobs, name) != NULL) {
        return error_set(error, "the knob %s is given twice", name);
    }
    char *copy = memory_copy(values);
    bool good = true;
    char *rest = copy;
    for (char *value = strsep(&rest, ","); good && value != NULL; value = strsep(&rest, ",")) {
        good = sweep_knob_extend(knobs, name, value, error);
    }
    free(copy);
    return good;
}

void sweep_knobs_free(struct sweep_knobs *knobs)
{
    for (size_t i = 0; i < knobs->count; i++) {
        for (size_t k = 0; k < knobs->items[i].value_count; k++) {
            free(knobs->items[i].values[k]);
        }
        free(knobs->items[i].values);
        free(knobs->items[i].name);
    }
    free(knobs->items);
    *knobs = (struct sweep_knobs){0};
}

/* --- structures with alternatives ------------------------------------------------------------ */

/* Select one structure; the first value with alternatives is replaced by each of them. */
static bool select_alternatives(struct catalog *catalog, const char *text,
                                struct contender_list *list, struct error *error)
{
    const char *slash = strchr(text, '/');
    if (slash == NULL) {
        return catalog_select(catalog, text, list, error);
    }
    const char *begin = slash;
    while (begin > text && begin[-1] != '=') {
        begin--;
    }
    size_t length = strcspn(begin, ":,)");
    if (begin == text || begin + length < slash) {
        return error_set(error, "'%s': alternatives are values of an option, as in slots=16/32",
                         text);
    }
    bool good = true;
    for (const char *value = begin; good && value <= begin + length;) {
        size_t bytes = strcspn(value, "/");
        bytes = bytes < (size_t)(begin + length - value) ? bytes : (size_t)(begin + length - value);
        char *one = memory_format("%.*s%.*s%s", (int)(begin - text), text, (int)bytes, value,
                                  begin + length);
        good = select_alternatives(catalog, one, list, error);
        free(one);
        value += bytes + 1;
    }
    return good;
}

bool sweep_select(struct catalog *catalog, const char *text, struct contender_list *list,
                  struct error *error)
{
    bool good = true;
    const char *begin = text;
    unsigned depth = 0; /* of parentheses, where a comma does not divide structures */
    for (const char *c = text; good; c++) {
        depth += *c == '(';
        depth -= *c == ')' && depth > 0;
        if (*c != '\0' && (*c != ',' || depth > 0)) {
            continue;
        }
        char *one = memory_copy_part(begin, (size_t)(c - begin));
        good = select_alternatives(catalog, one, list, error);
        free(one);
        begin = c + 1;
        if (*c == '\0') {
            break;
        }
    }
    return good;
}

/* --- points ---------------------------------------------------------------------------------- */

size_t sweep_count_points(const struct sweep_knobs *knobs)
{
    size_t points = 1;
    for (size_t i = 0; i < knobs->count; i++) {
        if (knobs->items[i].value_count > SWEEP_POINTS_MAX / points) {
            return SIZE_MAX;
        }
        points *= knobs->items[i].value_count;
    }
    return points;
}

size_t sweep_index_at(const struct sweep_knobs *knobs, size_t point, size_t knob)
{
    for (size_t i = knobs->count; --i > knob;) {
        point /= knobs->items[i].value_count;
    }
    return point % knobs->items[knob].value_count;
}

const char *sweep_value_at(const struct sweep_knobs *knobs, size_t point, size_t knob)
{
    return knobs->items[knob].values[sweep_index_at(knobs, point, knob)];
}

const char *sweep_named_value_at(const struct sweep_knobs *knobs, size_t point, const char *name)
{
    const struct sweep_knob *knob = knob_of(knobs, name);
    return knob != NULL ? sweep_value_at(knobs, point, (size_t)(knob - knobs->items)) : NULL;
}

bool sweep_knob_drives(const char *name)
{
    return strcmp(name, SWEEP_KNOB_DRIVE) == 0 || strcmp(name, SWEEP_KNOB_BUDGET) == 0 ||
           strcmp(name, SWEEP_KNOB_PAUSE) == 0 || strcmp(name, SWEEP_KNOB_SERVICE) == 0;
}

static bool is_parameter(const char *name)
{
    return strcmp(name, SWEEP_KNOB_CONNECTIONS) != 0 && strcmp(name, SWEEP_KNOB_SEED) != 0 &&
           strcmp(name, SWEEP_KNOB_TRACE) != 0 && !sweep_knob_drives(name);
}

/* Read a whole number, where k and m stand for thousands and millions. */
static bool parse_whole(const char *name, const char *text, uint64_t min, uint64_t max,
                        uint64_t *value, struct error *error)
{
    const struct tl_number_form form = {.from = min, .to = max};
    union tl_number number = {0};
    if (!tl_number_read(&form, text, &number)) {
        return tl_number_refuse(&form, name, text, error->text, sizeof error->text);
    }
    *value = number.whole;
    return true;
}

bool sweep_part_at(const struct sweep_request *request, size_t point, struct gen_part *part,
                   uint64_t *seed, struct error *error)
{
    const struct sweep_knobs *knobs = request->knobs;
    uint64_t connections = 0;
    const char *text = sweep_named_value_at(knobs, point, SWEEP_KNOB_CONNECTIONS);
    *part = (struct gen_part){.workload = request->workload};
    if (!parse_whole(SWEEP_KNOB_CONNECTIONS, text, 1, request->workload->max_connections,
                     &connections, error) ||
        !parse_whole(SWEEP_KNOB_SEED, sweep_named_value_at(knobs, point, SWEEP_KNOB_SEED), 0,
                     INT64_MAX, seed, error)) {
        return false;
    }
    part->connections = (uint32_t)connections;
    gen_parameters_default(request->workload, part->parameters);
    for (size_t i = 0; i < knobs->count; i++) {
        char setting[SWEEP_NAME_BYTES];
        if (is_parameter(knobs->items[i].name)) {
            (void)snprintf(setting, sizeof setting, "%s=%s", knobs->items[i].name,
                           sweep_value_at(knobs, point, i));
            if (!gen_parameter_set(request->workload, part->parameters, setting, NULL, error)) {
                return false;
            }
        }
    }
    return true;
}

bool sweep_drive_at(const struct sweep_knobs *knobs, size_t point, struct replay_drive *drive,
                    struct error *error)
{
    const char *text = sweep_named_value_at(knobs, point, SWEEP_KNOB_DRIVE);
    const char *budget = sweep_named_value_at(knobs, point, SWEEP_KNOB_BUDGET);
    const char *pauses = sweep_named_value_at(knobs, point, SWEEP_KNOB_PAUSE);
    const char *service = sweep_named_value_at(knobs, point, SWEEP_KNOB_SERVICE);
    *drive = (struct replay_drive){0};
    return drive_read(drive, SWEEP_KNOB_DRIVE, text, error) &&
           (budget == NULL || drive_read_budget(drive, SWEEP_KNOB_BUDGET, budget, error)) &&
           (pauses == NULL || drive_read_pauses(drive, SWEEP_KNOB_PAUSE, pauses, error)) &&
           (service == NULL || drive_read_service(drive, SWEEP_KNOB_SERVICE, service, error));
}

bool sweep_check(const struct sweep_request *request, struct error *error)
{
    const struct sweep_knobs *knobs = request->knobs;
    if (sweep_count_points(knobs) > SWEEP_POINTS_MAX) {
        return error_set(error, "the knobs make more than %d points", SWEEP_POINTS_MAX);
    }
    /* Check each value once, with the others at their first. */
    size_t stride = sweep_count_points(knobs);
    for (size_t i = 0; i < knobs->count; i++) {
        const struct sweep_knob *knob = &knobs->items[i];
        stride /= knob->value_count;
        if (request->workload == NULL && is_parameter(knob->name)) {
            return error_set(error, "-p %s: traces that are there have no parameters", knob->name);
        }
        for (size_t k = 0; k < knob->value_count; k++) {
            struct gen_part part;
            uint64_t seed;
            struct replay_drive drive;
            if (!sweep_drive_at(knobs, k * stride, &drive, error)) {
                return false;
            }
            if (request->workload != NULL &&
                !sweep_part_at(request, k * stride, &part, &seed, error)) {
                return false;
            }
        }
    }
    return true;
}

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
    for (size_t i = 0; i < request->simulate.contenders->count; i++) {
        const struct contender *contender = &request->simulate.contenders->items[i];
        (void)json_array_append_new(structures,
                                    json_pack("{s:s, s:s}", "algo", contender->timed->name,
                                              "options", contender->option_text));
    }
    json_t *description =
        json_pack("{s:s?, s:f, s:o, s:o, s:o, s:i, s:b, s:b, s:f}", "workload",
                  request->workload != NULL ? request->workload->name : NULL, "seconds",
                  request->workload != NULL ? request->seconds : 0, "traces", traces, "knobs",
                  knobs, "structures", structures, "runs", (int)request->simulate.runs, "latency",
                  request->simulate.latency, "slow", request->simulate.slow, "timeout_seconds",
                  request->simulate.timeout_seconds);
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
        if (is_parameter(knobs->items[i].name)) {
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
    (void)parse_whole("", text, 1, UINT32_MAX, &connections, &ignored);
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
    double passes =
        UNTIMED_PASSES + request->simulate.runs * (request->simulate.latency ? 2.0 : 1.0);
    double cost = request->workload != NULL ? size.events * GENERATED_COST : 0;
    for (size_t i = 0; i < request->simulate.contenders->count; i++) {
        const struct tl_algo *algo = request->simulate.contenders->items[i].timed;
        if ((algo->capabilities & TL_CAP_SLOW) != 0 && !request->simulate.slow &&
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
