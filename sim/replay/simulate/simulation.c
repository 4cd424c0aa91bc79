/* The results of a simulation other than its rows. */
#include "json_text.h"
#include "simulate_job.h"
#include "trace_labels.h"

#include "memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

/* Append an element to an array. */
#define ADDED(rows, count)                                                                         \
    ((rows) = memory_resize((rows), (count) + 1, sizeof *(rows)), &(rows)[(count)++])

void keep_found(struct job *job, size_t count)
{
    struct trace_row *trace = &job->simulation->traces[job->simulation->trace_count - 1];
    size_t bytes = count * sizeof *trace->found;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        memory_end();
    }
    (void)madvise(memory, bytes, MADV_DONTFORK);
    trace->found = memory;
    trace->found_bytes = bytes;
}

void keep_faults(struct job *job, const struct entrant *entrant)
{
    const struct verdict *verdict = &entrant->check->verdict;
    struct simulation *simulation = job->simulation;
    for (size_t i = 0; i < verdict->fault_count && i < ORACLE_FAULTS_KEPT; i++) {
        *ADDED(simulation->faults, simulation->fault_count) = (struct fault_row){
            .trace = job->trace_name, .contender = entrant->contender, .fault = verdict->first[i]};
    }
}

void keep_fired_set(struct job *job, const struct entrant *entrant)
{
    struct simulation *simulation = job->simulation;
    *ADDED(simulation->fired_sets, simulation->fired_set_count) =
        (struct fired_set){.trace = job->trace_name,
                           .contender = entrant->contender,
                           .exact = entrant->check->exact,
                           .digest = entrant->check->named_digest,
                           .operations = entrant->check->operations_digest};
}

void keep_latency(struct job *job, const struct entrant *entrant)
{
    struct simulation *simulation = job->simulation;
    *ADDED(simulation->latencies, simulation->latency_count) = (struct latency_row){
        .trace = job->trace_name, .contender = entrant->contender, .all = entrant->latency};
}

void keep_work(struct job *job, const struct entrant *entrant)
{
    struct simulation *simulation = job->simulation;
    *ADDED(simulation->works, simulation->work_count) = (struct work_row){
        .trace = job->trace_name, .contender = entrant->contender, .series = &entrant->check->work};
}

/* Compute a checksum of the trace's operations, independent of its compression and origin. */
static bool checksum_trace(struct trace_reader *reader, char text[TRACE_CHECKSUM_CHARS + 1],
                           struct error *error)
{
    const struct trace_header *header = trace_reader_header(reader);
    const uint64_t frame[] = {header->tick_ns, header->warmup_end_tick, header->end_tick,
                              header->ids};
    XXH3_state_t *state = memory_made(XXH3_createState());
    (void)XXH3_64bits_reset(state);
    (void)XXH3_64bits_update(state, frame, sizeof frame);
    struct trace_block block;
    int got = 0;
    while ((got = trace_reader_next(reader, &block, error)) > 0) {
        for (size_t g = 0; g < block.group_count; g++) {
            const struct trace_group *group = &block.groups[g];
            for (uint32_t i = 0; i < group->count; i++) {
                const struct trace_record *record = &block.records[group->first + i];
                const uint64_t operation[] = {group->tick, record->deadline,
                                              (uint64_t)record->op << 32 | record->id};
                (void)XXH3_64bits_update(state, operation, sizeof operation);
                if (block.causes != NULL) {
                    const struct trace_cause *cause = &block.causes[group->first + i];
                    (void)XXH3_64bits_update(state, cause, sizeof *cause);
                }
            }
        }
    }
    (void)snprintf(text, TRACE_CHECKSUM_CHARS + 1, "%016" PRIx64,
                   (uint64_t)XXH3_64bits_digest(state));
    (void)XXH3_freeState(state);
    return got == 0;
}

/* Return the length of the timed window in the trace's time, in seconds. */
static double window_seconds(const struct replay_window *window, const struct trace_header *header)
{
    uint64_t from = header->warmup_end_tick;
    uint64_t to = header->end_tick;
    if (window->asked) {
        from = window->from_tick;
        to = window->to_tick < to ? window->to_tick + 1 : to;
    }
    return to > from ? (double)(to - from) * (double)header->tick_ns / 1e9 : 0;
}

/* Add a trace, and make its name and checksum the job's. */
static void add_trace(struct job *job, const struct trace_header *header)
{
    struct simulation *simulation = job->simulation;
    struct trace_row *row = ADDED(simulation->traces, simulation->trace_count);
    *row = (struct trace_row){.name = trace_label(job->request->traces, job->request->trace_count,
                                                  simulation->trace_count - 1),
                              .path = memory_copy(job->trace_path),
                              .tick_ns = header->tick_ns,
                              .window_seconds = window_seconds(&job->request->window, header),
                              .events = header->events,
                              .ids = header->ids,
                              .reactions = header->reactions,
                              .causes_known = header->causes_known,
                              .has_slack = header->max_slack_ticks > 0};
    job->trace_name = row->name;
    job->trace_checksum = row->checksum;
}

bool keep_trace(struct job *job, struct trace_reader *reader, struct error *error)
{
    struct simulation *simulation = job->simulation;
    add_trace(job, trace_reader_header(reader));
    return checksum_trace(reader, simulation->traces[simulation->trace_count - 1].checksum, error);
}

void keep_generated(struct job *job, const struct trace_header *header, uint64_t checksum)
{
    struct simulation *simulation = job->simulation;
    add_trace(job, header);
    (void)snprintf(simulation->traces[simulation->trace_count - 1].checksum,
                   TRACE_CHECKSUM_CHARS + 1, "%016" PRIx64, checksum);
}

void keep_ranks(struct job *job, const struct entrant *entrant)
{
    struct simulation *simulation = job->simulation;
    for (uint32_t rank = 0; rank < job->request->ranks->ranks; rank++) {
        *ADDED(simulation->ranks, simulation->rank_count) =
            (struct rank_row){.trace = job->trace_name,
                              .contender = entrant->contender,
                              .rank = rank,
                              .figures = entrant->by_rank[rank]};
    }
}

void simulation_describe_traces(const struct simulation *simulation, json_t *context)
{
    json_t *traces = json_array();
    for (size_t i = 0; i < simulation->trace_count; i++) {
        const struct trace_row *row = &simulation->traces[i];
        (void)json_array_append_new(
            traces,
            json_pack("{s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:b, s:f}", "name", row->name, "path",
                      json_text(row->path), "checksum", row->checksum, "tick_ns",
                      (json_int_t)row->tick_ns, "events", (json_int_t)row->events, "timers",
                      (json_int_t)row->ids, "reactions", (json_int_t)row->reactions, "open_loop",
                      !row->causes_known, "window_seconds", row->window_seconds));
    }
    (void)json_object_set_new(context, "traces", traces);
}

void simulation_free(struct simulation *simulation)
{
    results_free(&simulation->results);
    for (size_t i = 0; i < simulation->trace_count; i++) {
        free(simulation->traces[i].name);
        free(simulation->traces[i].path);
        if (simulation->traces[i].found != NULL) {
            (void)munmap(simulation->traces[i].found, simulation->traces[i].found_bytes);
        }
    }
    free(simulation->traces);
    free(simulation->ranks);
    free(simulation->latencies);
    free(simulation->works);
    free(simulation->faults);
    free(simulation->fired_sets);
    *simulation = (struct simulation){0};
}
