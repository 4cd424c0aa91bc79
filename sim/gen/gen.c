#include "gen.h"

#include "gen_traffic.h"
#include "guess.h"
#include "memory.h"
#include "registry.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const struct gen_workload *const workloads[] = {
    &gen_server,      &gen_idle,  &gen_rpc,  &gen_tcp,   &gen_quic,  &gen_heartbeat,
    &gen_delay_queue, &gen_retry, &gen_hold, &gen_phold, &gen_burst, &gen_adversary,
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
    struct tl_guess guess = {.given = name};
    for (size_t i = 0; i < count; i++) {
        if (tl_guess_is(&guess, all[i]->name)) {
            return all[i];
        }
    }
    (void)error_set(error, "there is no workload '%s'%s `timerlab trace gen --list` shows all",
                    name, tl_guess_text(&guess));
    return NULL;
}

void gen_parameters_default(const struct gen_workload *workload, double *values)
{
    tl_table_default(workload->parameters, values);
}

bool gen_parameter_set(const struct gen_workload *workload, double *values, const char *text,
                       uint64_t *given, struct error *error)
{
    char command[128];
    (void)snprintf(command, sizeof command, "timerlab trace gen --list %s", workload->name);
    const struct tl_option_table table = {workload->parameters, workload->name, "parameter",
                                          command};
    return tl_setting_read(&table, text, strlen(text), given, values, error->text,
                           sizeof error->text);
}

bool gen_parameters_set(const struct gen_workload *workload, double *values,
                        const char *const *settings, size_t count, struct error *error)
{
    uint64_t given = 0;
    bool good = true;
    gen_parameters_default(workload, values);
    for (size_t i = 0; i < count && good; i++) {
        good = gen_parameter_set(workload, values, settings[i], &given, error);
    }
    return good;
}

/* --- a run ----------------------------------------------------------------------------------- */

struct part {
    struct gen_model model;
    json_t *counts;
};

struct generator {
    const struct gen_request *request;
    struct error *error;
    struct trace_writer *writer;
    struct progress progress;
    uint64_t progress_done; /* ticks, of the parts that are warm */
    uint64_t tick_ns;
    struct part *parts; /* one per part of the request */
    uint64_t warmup_end_tick;
    uint64_t end_tick;
    uint32_t ids;
};

/* The first part gets the run's own seed, so that a part alone is the workload alone. */
static uint64_t part_seed(uint64_t seed, size_t part)
{
    struct random random;
    random_seed(&random, seed);
    for (size_t i = 0; i < part; i++) {
        seed = random_bits(&random);
    }
    return seed;
}

static json_t *parameters_json(const struct gen_part *part)
{
    json_t *parameters = json_object();
    for (const struct tl_option *row = part->workload->parameters; row->name != NULL; row++) {
        char word[64];
        (void)tl_option_format(row, part->parameters, word, sizeof word);
        (void)json_object_set_new(
            parameters, row->name,
            row->choices != NULL ? json_string(word)
                                 : json_real(part->parameters[row - part->workload->parameters]));
    }
    return parameters;
}

/* The trace's origin. It holds only what determines the content: the same request gives the same
 * file. */
static char *origin_text(const struct generator *generator, uint64_t generated_events)
{
    const struct gen_request *request = generator->request;
    json_t *origin = json_pack("{s:s, s:I, s:f, s:I}", "source", "timerlab trace gen", "seed",
                               (json_int_t)request->seed, "seconds", request->seconds,
                               "generated_events", (json_int_t)generated_events);
    json_t *parts = json_array();
    for (size_t i = 0; i < request->part_count; i++) {
        const struct gen_part *part = &request->parts[i];
        json_t *text = json_pack("{s:s, s:I, s:I, s:o, s:O}", "workload", part->workload->name,
                                 "connections", (json_int_t)part->connections, "first_id",
                                 (json_int_t)generator->parts[i].model.first_id, "parameters",
                                 parameters_json(part), "counts", generator->parts[i].counts);
        if (request->part_count == 1) {
            (void)json_object_update(origin, text);
        }
        (void)json_array_append_new(parts, text);
    }
    if (request->part_count > 1) {
        (void)json_object_set(origin, "parts", parts);
    }
    json_decref(parts);
    char *text = json_dumps(origin, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(origin);
    return text;
}

static bool check_request(const struct gen_request *request, struct error *error)
{
    uint64_t connections = 0;
    for (size_t i = 0; i < request->part_count; i++) {
        const struct gen_part *part = &request->parts[i];
        if (part->connections == 0 || part->connections > part->workload->max_connections) {
            return error_set(error, "%s: %" PRIu32 " connections are not from 1 to %" PRIu32,
                             part->workload->name, part->connections,
                             part->workload->max_connections);
        }
        connections += part->connections;
        if (part->parameters[GEN_TICK_US] != request->parts[0].parameters[GEN_TICK_US]) {
            return error_set(error, "%s: a trace has one tick_us", part->workload->name);
        }
    }
    if (connections > UINT32_MAX) {
        return error_set(error, "%" PRIu64 " connections are too many for one trace", connections);
    }
    if (!(request->seconds > 0) || request->seconds > 1e9 || request->seed > INT64_MAX) {
        return error_set(error,
                         "the length must be above 0 s, and at most 10^9 s; the seed at most "
                         "%" PRId64,
                         INT64_MAX);
    }
    return true;
}

/* Return a part's index in the whole. */
static size_t number_of(const struct generator *generator, size_t part)
{
    const uint32_t *numbers = generator->request->numbers;
    return numbers != NULL ? numbers[part] : part;
}

/* File the visited connection at the first tick after `now` at which it has an event, a timer of it
 * is due, or a herd affects it. */
static void file_visited(struct gen_model *model, uint64_t now, const void *record)
{
    uint64_t tick = GEN_NEVER;
    if (model->event_at > 0) {
        memcpy(&tick, (const char *)record + model->event_at, sizeof tick);
    }
    for (uint32_t end = 0; end < model->ends; end++) {
        const struct gen_timer *timers = gen_timers_of(model, model->visited, end);
        for (uint32_t kind = 0; kind < model->kind_count; kind++) {
            bool first = timers[kind].delay_ticks > 0 && timers[kind].due < tick;
            tick = first ? timers[kind].due : tick;
        }
    }
    if (model->herds != NULL) {
        tick = gen_herd_before(model, now, tick);
    }
    if (tick != GEN_NEVER) {
        gen_ring_add(&model->ring, tick, model->visited);
    }
}

/* Place all connections. Herds may affect them at the first tick already. */
static void place_connections(struct gen_model *model)
{
    for (model->visited = 0; model->visited < model->connections; model->visited++) {
        void *record = gen_timers_of(model, model->visited, 0);
        model->workload->place(model, record);
        file_visited(model, model->ring.now - 1, record);
    }
}

/* Begin to bring a connection into the cache, which is visited next. */
static void fetch_connection(const struct gen_model *model, uint32_t number)
{
    const char *record = (const char *)gen_timers_of(model, number, 0);
    __builtin_prefetch(&model->ring.next[number]);
    for (size_t at = 0; at < model->record_bytes; at += 64) {
        __builtin_prefetch(record + at);
    }
}

/* Simulate the ticks before `end`, from the last one on: visit the connections filed there. */
static bool simulate(struct gen_model *model, uint64_t end)
{
    for (uint64_t now = model->ring.now; now < end; now++) {
        uint32_t number;
        for (uint32_t left = gen_ring_take(&model->ring, &number); left > 0; left--) {
            const uint32_t next = model->ring.next[number];
            void *record = gen_timers_of(model, number, 0);
            fetch_connection(model, next);
            gen_from_outside(model);
            model->visited = number;
            model->workload->visit(model, now, record);
            file_visited(model, now, record);
            number = next;
        }
        if (model->failed) {
            return false;
        }
        progress_update(model->progress, now + model->progress_offset);
    }
    return true;
}

/* Make a part's model, and bring it into its steady state. */
static bool warm_up(struct generator *generator, size_t i, uint64_t recorded_ticks)
{
    const struct gen_part *part = &generator->request->parts[i];
    struct gen_model *model = &generator->parts[i].model;
    *model = (struct gen_model){
        .workload = part->workload,
        .connections = part->connections,
        .parameters = part->parameters,
        .tick_ns = generator->tick_ns,
        .seconds = generator->request->seconds,
        .error = generator->error,
        .writer = generator->writer,
        .progress = &generator->progress,
        .ends = 1,
        .first_id = generator->ids,
        .ids = &generator->ids,
        .names = generator->request->names,
        .number = number_of(generator, i),
        .name_step = generator->request->whole_parts,
    };
    while (part->workload->kinds[model->kind_count] != NULL) {
        model->kind_count++;
    }
    random_seed(&model->random, part_seed(generator->request->seed, number_of(generator, i)));
    model->state = memory_new(1, part->workload->state_bytes);
    if (!part->workload->create(model)) {
        return false;
    }
    uint64_t timers = model->timer_number > 0
                          ? model->timer_number
                          : (uint64_t)model->connections * model->ends * model->kind_count;
    if (timers > UINT32_MAX) {
        return gen_too_many_timers(model);
    }
    if (!gen_take_ids(model, (uint32_t)timers)) {
        return false;
    }
    place_connections(model);
    uint64_t ticks = model->warmup_end - model->ring.now;
    model->progress_offset = generator->progress_done - model->ring.now;
    progress_begin(&generator->progress, part->workload->name, "ticks",
                   generator->progress_done + ticks + recorded_ticks);
    generator->progress_done += ticks;
    return simulate(model, model->warmup_end);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Return the smallest power of two that is at least `ticks`; at most 2^62. */
static uint64_t power_of_two(uint64_t ticks)
{
    uint64_t power = 1;
    while (power < ticks && power < UINT64_C(1) << 62) {
        power *= 2;
    }
    return power;
}

/* End the trace's warm-up where all parts are aligned, and late enough that no timer was started
 * before tick 0. */
static bool align_warmup(struct generator *generator, uint64_t longest_age)
{
    const uint64_t least = generator->request->least_warmup_ticks;
    if (generator->request->whole_parts > 1) {
        /* Then runs that generate other parts usually arrive at the same end by themselves. */
        longest_age = power_of_two(longest_age);
    }
    longest_age = longest_age > least ? longest_age : least;
    uint64_t align = 1;
    for (size_t i = 0; i < generator->request->part_count; i++) {
        uint64_t ticks = generator->parts[i].model.align_ticks;
        if (ticks > 1) {
            align = align / common_divisor(align, ticks) * ticks;
        }
        if (align > GEN_TICKS_MAX) {
            return error_set(generator->error,
                             "the parts have spans of slots that do not go together; choose slots "
                             "that are powers of one number");
        }
    }
    generator->warmup_end_tick = (longest_age + align - 1) / align * align;
    return true;
}

/* A timer pending at the end of the warm-up. */
struct pending {
    uint64_t started; /* after that end, modulo 2^64: all have the same sign */
    uint32_t part;
    uint32_t place; /* among the timers of the part's records */
};

struct pending_list {
    struct pending *pending;
    size_t count;
    size_t room;
};

static const struct gen_timer *timer_at(const struct gen_model *model, uint32_t place)
{
    const uint32_t end = place / model->kind_count;
    return &gen_timers_of(model, end / model->ends, end % model->ends)[place % model->kind_count];
}

/* Timers get their ids in the order in which they are added. */
static void add_pending(struct pending_list *list, struct gen_model *model, struct pending pending)
{
    const struct gen_timer *timer = timer_at(model, pending.place);
    pending.started = timer->due - timer->delay_ticks - model->warmup_end;
    MEMORY_REACH(list->pending, list->room, list->count);
    list->pending[list->count++] = pending;
    (void)gen_id(model, timer->id);
}

/* Count a part's pending timers, and add them to the list unless that is NULL. */
static void take_pending(struct generator *generator, size_t i, const char *when,
                         struct pending_list *list)
{
    struct gen_model *model = &generator->parts[i].model;
    uint64_t counts[GEN_COUNTS_MAX] = {0};
    struct pending at = {.part = (uint32_t)i};
    for (uint32_t end = 0; end < model->connections * model->ends; end++) {
        const struct gen_timer *timers = gen_timers_of(model, end / model->ends, end % model->ends);
        for (uint32_t kind = 0; kind < model->kind_count; kind++, at.place++) {
            if (timers[kind].delay_ticks > 0) {
                counts[kind]++;
                if (list != NULL) {
                    add_pending(list, model, at);
                }
            }
        }
    }
    json_t *by_kind = json_object();
    for (uint32_t kind = 0; kind < model->kind_count; kind++) {
        (void)json_object_set_new(by_kind, model->workload->kinds[kind],
                                  json_integer((json_int_t)counts[kind]));
    }
    (void)json_object_set_new(generator->parts[i].counts, when, by_kind);
}

static int by_start(const void *a, const void *b)
{
    const struct pending *left = a;
    const struct pending *right = b;
    if (left->started != right->started) {
        return left->started < right->started ? -1 : 1;
    }
    if (left->part != right->part) {
        return left->part < right->part ? -1 : 1;
    }
    return left->place < right->place ? -1 : 1;
}

static bool record_warmup(struct generator *generator)
{
    struct pending_list list = {0};
    bool good = true;
    for (size_t i = 0; i < generator->request->part_count; i++) {
        take_pending(generator, i, "pending_at_warmup_end", &list);
        good = good && !generator->parts[i].model.failed;
    }
    if (list.count > 0) {
        qsort(list.pending, list.count, sizeof *list.pending, by_start);
    }
    good = good && align_warmup(generator, list.count > 0 ? 0 - list.pending[0].started : 0);
    for (size_t i = 0; good && i < list.count; i++) {
        const struct pending *pending = &list.pending[i];
        struct gen_model *model = &generator->parts[pending->part].model;
        const struct gen_timer *timer = timer_at(model, pending->place);
        good = trace_writer_add_reaction(
            generator->writer, pending->started + generator->warmup_end_tick,
            gen_id(model, timer->id), TRACE_START, timer->delay_ticks,
            (struct trace_cause){.slack_ticks = gen_slack(model, timer->delay_ticks)},
            generator->error);
    }
    free(list.pending);
    return good;
}

/* Record all parts, merged in the order of ticks; within a tick in the order of the parts. */
static bool record_parts(struct generator *generator, uint64_t ticks)
{
    size_t parts = generator->request->part_count;
    for (size_t i = 0; i < parts; i++) {
        struct gen_model *model = &generator->parts[i].model;
        model->recording = true;
        model->trace_offset = generator->warmup_end_tick - model->warmup_end;
        model->progress_offset = generator->progress_done - model->warmup_end;
        (void)memset(model->counts, 0, sizeof model->counts);
    }
    bool good = true;
    uint64_t step = parts == 1 ? ticks : 1;
    for (uint64_t done = 0; good && done < ticks; done += step) {
        for (size_t i = 0; good && i < parts; i++) {
            struct gen_model *model = &generator->parts[i].model;
            good = simulate(model, model->warmup_end + done + step);
        }
    }
    generator->end_tick = generator->warmup_end_tick + ticks;
    for (size_t i = 0; i < parts; i++) {
        const struct gen_model *model = &generator->parts[i].model;
        take_pending(generator, i, "pending_at_end", NULL);
        for (size_t k = 0; model->workload->counts[k] != NULL; k++) {
            (void)json_object_set_new(generator->parts[i].counts, model->workload->counts[k],
                                      json_integer((json_int_t)model->counts[k]));
        }
    }
    return good;
}

static bool run_generator(struct generator *generator, struct gen_summary *summary, char **origin)
{
    const struct gen_request *request = generator->request;
    uint64_t ticks = gen_whole_ticks(request->seconds * 1e9 / (double)generator->tick_ns);
    bool good = true;
    for (size_t i = 0; good && i < request->part_count; i++) {
        good = warm_up(generator, i, ticks);
    }
    good = good && record_warmup(generator) && record_parts(generator, ticks);
    progress_end(&generator->progress);
    if (!good) {
        return false;
    }
    *summary = (struct gen_summary){.recorded_events = trace_writer_events(generator->writer)};
    for (size_t i = 0; i < request->part_count; i++) {
        summary->generated_events += generator->parts[i].model.generated_events;
    }
    *origin = origin_text(generator, summary->generated_events);
    return true;
}

bool gen_trace(const struct gen_request *request, const char *path, struct gen_summary *summary,
               struct error *error)
{
    if (!check_request(request, error)) {
        return false;
    }
    struct generator generator = {
        .request = request,
        .error = error,
        /* Whole nanoseconds: the models use the tick that the trace declares. */
        .tick_ns = (uint64_t)(request->parts[0].parameters[GEN_TICK_US] * 1e3 + 0.5),
        .parts = memory_new(request->part_count, sizeof *generator.parts),
    };
    for (size_t i = 0; i < request->part_count; i++) {
        generator.parts[i].counts = json_object();
    }
    generator.writer = trace_writer_open(path, generator.tick_ns, error);
    bool good = generator.writer != NULL;
    if (good) {
        trace_writer_declare_causes(generator.writer);
        char *origin = NULL;
        good = run_generator(&generator, summary, &origin);
        if (good) {
            good = trace_writer_commit(generator.writer, generator.warmup_end_tick,
                                       generator.end_tick, generator.ids, origin, error);
        } else {
            trace_writer_abort(generator.writer);
        }
        free(origin);
    }
    for (size_t i = 0; i < request->part_count; i++) {
        struct gen_model *model = &generator.parts[i].model;
        free(model->state);
        gen_ring_destroy(&model->ring);
        free(model->records);
        free(model->id_of);
        json_decref(generator.parts[i].counts);
    }
    free(generator.parts);
    return good;
}
