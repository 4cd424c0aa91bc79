/* The latency pass: the processor's counter is read after each call. The readings are filed after
 * each stretch, outside the timed part. */
#include "due.h"
#include "memory.h"
#include "replay_steps.h"

#include <inttypes.h>
#include <string.h>

/* --- tables ----------------------------------------------------------------------------------- */

/* Return a table with all its pages present, so that no page fault is timed. */
static void *new_table(size_t count, size_t bytes)
{
    return memset(memory_table(count, bytes), 0, count * bytes);
}

static void open_latency(struct replay *replay)
{
    replay->ns_per_cycle = clock_ns_per_cycle();
    replay->schedule.tick_ns = (double)replay->header->tick_ns;
    replay->advance_capacity = 2 * (size_t)TRACE_BLOCK_RECORDS;
    replay->op_cycles = new_table(TRACE_BLOCK_RECORDS, sizeof *replay->op_cycles);
    replay->advances = new_table(replay->advance_capacity, sizeof *replay->advances);
    replay->due = new_table(replay->header->ids, sizeof *replay->due);
    /* Outside the window, this pass is a throughput pass. */
    throughput_pass.open(replay);
}

static void close_latency(struct replay *replay)
{
    memory_table_free(replay->op_cycles, TRACE_BLOCK_RECORDS, sizeof *replay->op_cycles);
    memory_table_free(replay->advances, replay->advance_capacity, sizeof *replay->advances);
    memory_table_free(replay->due, replay->header->ids, sizeof *replay->due);
    memory_table_free(replay->inside_cycles, replay->inside_capacity,
                      sizeof *replay->inside_cycles);
    throughput_pass.close(replay);
}

/* Make room for the times of a section's reactions. */
static void begin_section(struct replay *replay)
{
    size_t count = replay->section->inside_count;
    if (count <= replay->inside_capacity) {
        return;
    }
    memory_table_free(replay->inside_cycles, replay->inside_capacity,
                      sizeof *replay->inside_cycles);
    replay->inside_capacity = count + count / 2;
    replay->inside_cycles = new_table(replay->inside_capacity, sizeof *replay->inside_cycles);
}

/* --- filing ---------------------------------------------------------------------------------- */

/* Prefetch timers this many operations ahead: some hundred nanoseconds. */
#define CLASSIFY_AHEAD 24

/* Distinguish starts from restarts by when an exact structure would have fired. All operations must
 * pass here in order. Not in the timed part, because it touches as much memory as a structure. */
static inline enum latency_op classify(struct replay *replay, uint32_t id, uint32_t op,
                                       uint64_t deadline, uint64_t tick)
{
    static const uint8_t kinds[2][2] = {{LATENCY_START, LATENCY_RESTART},
                                        {LATENCY_STOP, LATENCY_STOP}};
    /* Branch-free, because the order of starts and stops is unpredictable. */
    uint64_t *due = &replay->due[id];
    bool stops = op == TRACE_STOP;
    bool pending = *due > tick;
    uint64_t start_due = due_in_replay(tick, deadline);
    if (!replay->plain) {
        start_due = drive_chance(&replay->request->drive, replay->header->end_tick, start_due);
    }
    *due = start_due & ((uint64_t)stops - 1);
    return (enum latency_op)kinds[stops][pending];
}

/* Classify an operation of the running block. */
static inline enum latency_op classify_operation(struct replay *replay, uint32_t at, uint64_t tick)
{
    const struct trace_record *record = &replay->block->records[at];
    size_t last = replay->block->record_count - 1;
    size_t ahead = at + CLASSIFY_AHEAD < last ? at + CLASSIFY_AHEAD : last;
    __builtin_prefetch(&replay->due[replay->block->records[ahead].id], 1);
    return classify(replay, record->id, record->op, record->deadline, tick);
}

/* Classify the reactions in callbacks up to a tick, without keeping their times. */
static void classify_inside(struct replay *replay, uint64_t tick)
{
    const struct tape_section *section = replay->section;
    while (section != NULL && replay->inside_filed < section->inside_count &&
           section->places[replay->inside_filed].tick <= tick) {
        const struct tape_inside *inside = &section->inside[replay->inside_filed];
        (void)classify(replay, inside->id, inside->op, inside->deadline,
                       section->places[replay->inside_filed++].tick);
    }
}

/* Classify groups without keeping their times. */
static void classify_groups(struct replay *replay, size_t from, size_t to)
{
    if (from == to) {
        classify_inside(replay, UINT64_MAX);
    }
    for (size_t g = from; g < to; g++) {
        const struct trace_group *group = &replay->block->groups[g];
        classify_inside(replay, group->tick);
        for (uint32_t i = 0; i < group->count; i++) {
            (void)classify_operation(replay, group->first + i, group->tick);
        }
    }
}

/* File one call: its service time, and its response time including `waited_ns` before the loop
 * received it. Keep the longest with its place. Conversion to signed integers is one
 * instruction. */
static inline void file_call(struct replay *replay, enum latency_op op, double due_tick,
                             double waited_ns, uint32_t cycles, struct replay_worst place)
{
    struct replay_result *result = replay->result;
    double service_ns = cycles * replay->ns_per_cycle;
    uint64_t ns = (uint64_t)(int64_t)(service_ns + 0.5);
    double response_ns = waited_ns + schedule_respond(&replay->schedule, due_tick, service_ns);
    histogram_add(&result->latency_ns[op], ns);
    histogram_add(&result->response_ns[op], (uint64_t)(int64_t)(response_ns + 0.5));
    if (ns > result->worst[op].ns) {
        place.ns = ns;
        result->worst[op] = place;
    }
}

static void file_advance(struct replay *replay, const struct timed_advance *advance, uint64_t event)
{
    const struct tape_section *section = replay->section;
    double due_tick = (double)(advance->tick - replay->window_tick);
    if (section != NULL && replay->inside_filed < section->inside_count) {
        event = section->places[replay->inside_filed].event;
    }
    file_call(
        replay, LATENCY_ADVANCE, due_tick, 0, advance->cycles,
        (struct replay_worst){.event = event, .tick = advance->tick, .fired = advance->fired});
    /* Its callbacks' operations are due with it, and done after it. */
    for (uint32_t i = 0; i < advance->reactions; i++) {
        size_t at = replay->inside_filed++;
        const struct tape_inside *inside = &section->inside[at];
        enum latency_op op =
            classify(replay, inside->id, inside->op, inside->deadline, advance->tick);
        file_call(replay, op, due_tick, 0, replay->inside_cycles[at],
                  (struct replay_worst){
                      .event = section->places[at].event, .tick = advance->tick, .id = inside->id});
    }
    (void)schedule_respond(&replay->schedule, due_tick, (double)advance->busy_ns);
}

static void file_group(struct replay *replay, const struct trace_group *group)
{
    double begin_tick = (double)(group->tick - replay->window_tick);
    double share = 1 / (double)group->count;
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t at = group->first + i;
        enum latency_op op = classify_operation(replay, at, group->tick);
        uint64_t waited_ticks = replay->arrived != NULL ? group->tick - replay->arrived[at] : 0;
        double due_tick = begin_tick + (waited_ticks > 0 ? 0 : (double)i * share);
        double waited_ns = (double)waited_ticks * replay->schedule.tick_ns;
        file_call(replay, op, due_tick, waited_ns, replay->op_cycles[at],
                  (struct replay_worst){.event = stream_event(replay->block, at),
                                        .tick = group->tick,
                                        .id = replay->block->records[at].id});
    }
}

/* File the readings since the last filing, in the order of the calls. */
static void file_latency(struct replay *replay)
{
    size_t at = 0;
    for (size_t g = replay->groups_filed; g < replay->groups_done; g++) {
        const struct trace_group *group = &replay->block->groups[g];
        uint64_t event =
            group->count > 0 ? stream_event(replay->block, group->first) : replay->next_event;
        for (; at < replay->advance_count && replay->advances[at].tick <= group->tick; at++) {
            file_advance(replay, &replay->advances[at], event);
        }
        file_group(replay, group);
    }
    for (; at < replay->advance_count; at++) {
        file_advance(replay, &replay->advances[at], replay->next_event);
    }
    replay->groups_filed = replay->groups_done;
    replay->advance_count = 0;
}

static void keep_advance(struct replay *replay, const struct timed_advance *advance)
{
    if (replay->advance_count == replay->advance_capacity) {
        /* More advances than a block usually has. */
        file_latency(replay);
        replay->last_cycles = clock_cycles();
    }
    replay->advances[replay->advance_count++] = *advance;
}

/* --- the loop --------------------------------------------------------------------------------- */

/* Apply a reaction and record its time. */
static inline __attribute__((always_inline)) enum tl_status
play_timed(struct replay *replay, const struct tape_inside *inside)
{
    uint64_t from = clock_cycles();
    enum tl_status status = play_inside(replay, inside);
    uint64_t cycles = clock_cycles() - from;
    replay->inside_cycles[inside - replay->section->inside] = saturate(cycles);
    replay->inside_sum_cycles += cycles;
    return status;
}

static void fired_timed(void *ctx, uint32_t id, uint64_t now)
{
    play_fired(ctx, id, now, play_timed);
}

static inline __attribute__((always_inline)) uint64_t advance_timed(struct replay *replay,
                                                                    uint64_t tick)
{
    const struct tape_inside *inside = replay->inside;
    tl_fire_fn fire = replay->player != NULL ? fired_timed : tally_fired;
    replay->inside_sum_cycles = 0;
    uint64_t from = clock_cycles();
    uint64_t fired = replay->algo->advance(replay->self, tick, replay->budget, fire, replay);
    uint64_t to = clock_cycles();
    replay->last_cycles = to;
    keep_advance(replay,
                 &(struct timed_advance){.tick = tick,
                                         .cycles = saturate(to - from - replay->inside_sum_cycles),
                                         .fired = saturate(fired),
                                         .reactions = (uint32_t)(replay->inside - inside)});
    return fired;
}

/* Return the reading from which the next operation counts. If nothing was called since the last
 * advance, that is its reading: a further one would cost as much as the operation. */
static __attribute__((noinline)) uint64_t let_pass_timed(struct replay *replay,
                                                         const struct trace_group *group)
{
    if (group->count > 0) {
        replay->next_event = stream_event(replay->block, group->first);
    }
    replay->groups_done = (size_t)(group - replay->block->groups);
    return pass_time(replay, group->tick, true, advance_timed) ? replay->last_cycles
                                                               : clock_cycles();
}

static bool apply_timed(struct replay *replay, size_t from, size_t to)
{
    bool taken = apply_steps(replay, from, let_pass_timed, true);
    replay->groups_done = to;
    return taken;
}

static void pass_rest_timed(struct replay *replay, uint64_t tick, bool comes)
{
    (void)pass_time(replay, tick, comes, advance_timed);
    file_latency(replay);
}

static void file_groups(struct replay *replay, size_t from, size_t to)
{
    if (replay->in_window) {
        file_latency(replay);
    } else {
        classify_groups(replay, from, to);
    }
}

const struct pass latency_pass = {
    .open = open_latency,
    .apply = apply_timed,
    .pass_rest = pass_rest_timed,
    .file = file_groups,
    .section = begin_section,
    .close = close_latency,
};
