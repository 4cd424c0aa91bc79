/* The timed passes: only the structure's calls between two readings of the clock; the latency pass
 * reads the processor's counter after each call, and files the readings after each stretch, outside
 * the timed part. */
#include "due.h"
#include "memory.h"
#include "replay_pass.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* --- expiries --------------------------------------------------------------------------------- */

/* The callback without a tape, which only counts; `ctx` is the replay. */
static void fired_alone(void *ctx, uint32_t id, uint64_t now)
{
    struct replay *replay = ctx;
    tally_add(&replay->tally, id, now);
}

/* The callback that plays a tape. `carry` is a constant in every caller. */
static inline __attribute__((always_inline)) void
play_fired(struct replay *replay, uint32_t id, uint64_t now,
           enum tl_status (*carry)(struct replay *replay, const struct tape_inside *inside))
{
    tally_add(&replay->tally, id, now);
    uint32_t firing = replay->firing++;
    while (__builtin_expect(replay->inside->firing == firing, true)) {
        const struct tape_inside *inside = replay->inside++;
        replay->strayed |= inside->cause != id || carry(replay, inside) > TL_IDLE;
    }
}

static inline __attribute__((always_inline)) enum tl_status
play_inside(struct replay *replay, const struct tape_inside *inside)
{
    return inside->stops ? replay->algo->stop(replay->self, inside->id)
                         : replay->algo->start(replay->self, inside->id, inside->deadline);
}

/* --- steps ------------------------------------------------------------------------------------ */

/* The loop over the step codes. Parameters that differ between passes are compile-time constants,
 * so that each pass has a loop of its own. */

/* Let time pass up to a group's tick. If operations are timed, return the reading of the
 * processor's counter from which the next one counts. */
typedef uint64_t let_pass_fn(struct replay *replay, const struct trace_group *group);

/* The position of a timed loop; local variables that fit in registers. */
struct cursor {
    struct replay *replay;
    void *self;
    enum tl_status (*start)(void *self, uint32_t id, uint64_t deadline);
    enum tl_status (*stop)(void *self, uint32_t id);
    const struct trace_record *record; /* the next one */
    const struct trace_group *group;   /* the next one */
    uint32_t *op_cycles;               /* if operations are timed: of the next record */
    uint64_t last_cycles;              /* the previous reading of the counter */
};

static inline uint32_t saturate(uint64_t cycles)
{
    return cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
}

/* Do one step; all parameters but the cursor are constants. False if the structure refused it. */
static inline __attribute__((always_inline)) bool take_step(struct cursor *at, enum step step,
                                                            let_pass_fn *let_pass, bool timed)
{
    if (step == STEP_TIME) {
        at->last_cycles = let_pass(at->replay, at->group++);
        return true;
    }
    const struct trace_record *record = at->record++;
    enum tl_status status = step == STEP_START ? at->start(at->self, record->id, record->deadline)
                                               : at->stop(at->self, record->id);
    if (timed) {
        uint64_t cycles = clock_cycles();
        *at->op_cycles++ = saturate(cycles - at->last_cycles);
        at->last_cycles = cycles;
    }
    if (__builtin_expect(status > TL_IDLE, false)) {
        replay_refuse(
            at->replay,
            stream_event(at->replay->block, (size_t)(record - at->replay->block->records)),
            record->deadline, status);
        return false;
    }
    return true;
}

static_assert(STEPS_A_CODE == 4, "take_steps takes all of a code's");
static_assert(STEP_CODES == 3 * 27, "apply_steps has a case for each code");

static inline __attribute__((always_inline)) bool take_steps(struct cursor *at, unsigned code,
                                                             let_pass_fn *let_pass, bool timed)
{
    return take_step(at, step_of_code(code, 0), let_pass, timed) &&
           take_step(at, step_of_code(code, 1), let_pass, timed) &&
           take_step(at, step_of_code(code, 2), let_pass, timed) &&
           take_step(at, step_of_code(code, 3), let_pass, timed);
}

/* Apply the groups from `from` on, by the prepared step codes. */
static inline __attribute__((always_inline)) bool apply_steps(struct replay *replay, size_t from,
                                                              let_pass_fn *let_pass, bool timed)
{
    const struct stream_block *block = replay->block;
    const struct trace_group *group = block->groups + from;
    struct cursor at = {.replay = replay,
                        .self = replay->self,
                        .start = replay->algo->start,
                        .stop = replay->algo->stop,
                        .record = block->records + group->first,
                        .group = group};
    if (timed) {
        at.op_cycles = replay->op_cycles + group->first;
    }
    const uint8_t *code = replay->steps.codes;
    bool taken = true;
    for (const uint8_t *end = code + replay->steps.code_count; code < end && taken; code++) {
        switch (*code) {
#define TAKE_CODE(code)                                                                            \
    case (code):                                                                                   \
        taken = take_steps(&at, (code), let_pass, timed);                                          \
        break;
#define TAKE_3(code)  TAKE_CODE(code) TAKE_CODE((code) + 1) TAKE_CODE((code) + 2)
#define TAKE_9(code)  TAKE_3(code) TAKE_3((code) + 3) TAKE_3((code) + 6)
#define TAKE_27(code) TAKE_9(code) TAKE_9((code) + 9) TAKE_9((code) + 18)
            TAKE_27(0)
            TAKE_27(27)
            TAKE_27(54)
#undef TAKE_27
#undef TAKE_9
#undef TAKE_3
#undef TAKE_CODE
        default:
            __builtin_unreachable();
        }
    }
    for (const uint8_t *end = code + replay->steps.rest_count; code < end && taken; code++) {
        taken = *code == STEP_START  ? take_step(&at, STEP_START, let_pass, timed)
                : *code == STEP_STOP ? take_step(&at, STEP_STOP, let_pass, timed)
                                     : take_step(&at, STEP_TIME, let_pass, timed);
    }
    return taken;
}

/* --- throughput ------------------------------------------------------------------------------- */

static void fired_untimed(void *ctx, uint32_t id, uint64_t now)
{
    play_fired(ctx, id, now, play_inside);
}

static void open_throughput(struct replay *replay)
{
    replay->fire = replay->player != NULL ? fired_untimed : fired_alone;
}

static inline __attribute__((always_inline)) uint64_t advance_untimed(struct replay *replay,
                                                                      uint64_t tick)
{
    replay->now = tick;
    return replay->algo->advance(replay->self, tick, replay->budget, replay->fire, replay);
}

static void pass_rest_untimed(struct replay *replay, uint64_t tick, bool comes)
{
    (void)pass_time(replay, tick, comes, advance_untimed);
}

/* Not inlined: it has many callers. */
static __attribute__((noinline)) uint64_t let_pass_untimed(struct replay *replay,
                                                           const struct trace_group *group)
{
    (void)pass_time(replay, group->tick, true, advance_untimed);
    return 0; /* no operation is timed */
}

static bool apply_untimed(struct replay *replay, size_t from, size_t to)
{
    (void)to; /* the steps say how far */
    return apply_steps(replay, from, let_pass_untimed, false);
}

const struct pass throughput_pass = {
    .open = open_throughput,
    .apply = apply_untimed,
    .pass_rest = pass_rest_untimed,
};

/* --- recovery --------------------------------------------------------------------------------- */

/* As throughput, up to the end: then the structure recovers from its folder, which is timed. */

static void adopted(void *ctx, uint32_t id, uint64_t deadline, uint64_t generation)
{
    struct replay *replay = ctx;
    (void)id;
    (void)deadline;
    (void)generation;
    replay->adopted++;
}

static void report_failure(struct replay *replay, const char *call, enum tl_status status)
{
    struct tl_durability durability = {0};
    replay->algo->durability(replay->self, &durability);
    replay_end(replay, REPLAY_FAULT, "%s: %s", call,
               durability.failure != NULL ? durability.failure : tl_status_text(status));
}

static void finish_recovery(struct replay *replay)
{
    struct replay_result *result = replay->result;
    uint64_t pending = replay->algo->count(replay->self);
    uint64_t durable_sequence;
    enum tl_status status = replay->algo->sync(replay->self, &durable_sequence);
    if (status != TL_OK) {
        report_failure(replay, "sync at the end tick", status);
        return;
    }
    replay->algo->destroy(replay->self);
    uint64_t begun_ns = clock_now_ns();
    if (!replay_create(replay)) {
        return;
    }
    status = replay->algo->recover(replay->self, adopted, replay);
    result->recovery_ns = clock_now_ns() - begun_ns;
    result->recovered = replay->adopted;
    if (status != TL_OK) {
        report_failure(replay, "recover after the end tick", status);
    } else if (replay->adopted != pending || replay->algo->count(replay->self) != pending) {
        replay_end(replay, REPLAY_FAULT,
                   "%" PRIu64 " timers were pending and synced at the end tick; it brought back "
                   "%" PRIu64 ", and counts %" PRIu64,
                   pending, replay->adopted, replay->algo->count(replay->self));
    }
}

const struct pass recovery_pass = {
    .open = open_throughput,
    .apply = apply_untimed,
    .pass_rest = pass_rest_untimed,
    .finish = finish_recovery,
};

/* --- latency: tables -------------------------------------------------------------------------- */

/* Return a table with all its pages present, so that no page fault is timed. */
static void *new_table(size_t count, size_t bytes)
{
    return memset(memory_table(count, bytes), 0, count * bytes);
}

/* Make a table one of at least `count` readings. */
static void reach_table(uint32_t **table, size_t *capacity, size_t count)
{
    if (count > *capacity) {
        memory_table_free(*table, *capacity, sizeof **table);
        *capacity = count + count / 2;
        *table = new_table(*capacity, sizeof **table);
    }
}

static void open_latency(struct replay *replay)
{
    replay->ns_per_cycle = clock_ns_per_cycle();
    replay->schedule.tick_ns = (double)replay->header.tick_ns;
    replay->advance_capacity = 2 * (size_t)TRACE_BLOCK_RECORDS;
    reach_table(&replay->op_cycles, &replay->op_capacity, TRACE_BLOCK_RECORDS);
    replay->advances = new_table(replay->advance_capacity, sizeof *replay->advances);
    replay->due = new_table(replay->header.ids, sizeof *replay->due);
}

static void close_latency(struct replay *replay)
{
    memory_table_free(replay->op_cycles, replay->op_capacity, sizeof *replay->op_cycles);
    memory_table_free(replay->advances, replay->advance_capacity, sizeof *replay->advances);
    memory_table_free(replay->due, replay->header.ids, sizeof *replay->due);
    memory_table_free(replay->inside_cycles, replay->inside_capacity,
                      sizeof *replay->inside_cycles);
}

/* Make room for the times of a section's reactions. */
static void make_section_room(struct replay *replay)
{
    const struct tape_section *section = replay->section;
    reach_table(&replay->inside_cycles, &replay->inside_capacity, section->inside_count);
    reach_table(&replay->op_cycles, &replay->op_capacity,
                TRACE_BLOCK_RECORDS + section->outside_count);
}

/* --- latency: filing -------------------------------------------------------------------------- */

/* Prefetch timers this many operations ahead: some hundred nanoseconds. */
#define CLASSIFY_AHEAD 24

/* Distinguish starts from restarts by when an exact structure would have fired. All operations must
 * pass here in order. Not in the timed part, because it touches as much memory as a structure. */
static inline enum latency_op classify(struct replay *replay, uint32_t id, bool stops,
                                       uint64_t deadline, uint64_t tick)
{
    static const uint8_t kinds[2][2] = {{LATENCY_START, LATENCY_RESTART},
                                        {LATENCY_STOP, LATENCY_STOP}};
    /* Branch-free, because the order of starts and stops is unpredictable. */
    uint64_t *due = &replay->due[id];
    bool pending = *due > tick;
    uint64_t start_due = due_in_replay(tick, deadline);
    if (!replay->plain) {
        start_due = drive_chance(&replay->drive, start_due);
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
    return classify(replay, record->id, record->op == TRACE_STOP, record->deadline, tick);
}

/* File one call of the window: its service time, and its response time including `waited_ns` before
 * the loop received it. Keep the longest with its place. Conversion to signed integers is one
 * instruction. */
static inline void file_call(struct replay *replay, enum latency_op op, double due_tick,
                             double waited_ns, uint32_t cycles, struct replay_worst place)
{
    struct replay_result *result = replay->result;
    if (!replay->in_window) {
        return;
    }
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
        event = section->inside[replay->inside_filed].event;
    }
    file_call(
        replay, LATENCY_ADVANCE, due_tick, 0, advance->cycles,
        (struct replay_worst){.event = event, .tick = advance->tick, .fired = advance->fired});
    /* Its callbacks' operations are due with it, and done after it. */
    for (uint32_t i = 0; i < advance->reactions; i++) {
        size_t at = replay->inside_filed++;
        const struct tape_inside *inside = &section->inside[at];
        enum latency_op op =
            classify(replay, inside->id, inside->stops, inside->deadline, advance->tick);
        file_call(
            replay, op, due_tick, 0, replay->inside_cycles[at],
            (struct replay_worst){.event = inside->event, .tick = advance->tick, .id = inside->id});
    }
    if (replay->in_window) {
        (void)schedule_respond(&replay->schedule, due_tick, (double)advance->busy_ns);
    }
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

/* --- latency: the loop ------------------------------------------------------------------------ */

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
    tl_fire_fn fire = replay->player != NULL ? fired_timed : fired_alone;
    replay->now = tick;
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

const struct pass latency_pass = {
    .open = open_latency,
    .apply = apply_timed,
    .pass_rest = pass_rest_timed,
    .file = file_latency,
    .section = make_section_room,
    .close = close_latency,
};
