#include "replay.h"

#include "clock.h"
#include "schedule.h"
#include "step_codes.h"
#include "trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const replay_drive_words[] = {[DRIVE_SLEEP] = "sleep", [DRIVE_POLL] = "poll", NULL};

const char *latency_op_word(enum latency_op op)
{
    static const char *const words[] = {
#define LATENCY_OP_WORD(code, word) word,
        LATENCY_OP_MAP(LATENCY_OP_WORD)
#undef LATENCY_OP_WORD
    };
    return words[op];
}

/* What has fired, as the callback of the timed passes sees it. */
struct tally {
    uint64_t fired;
    uint64_t digest;
};

/* One advance that has been timed. */
struct timed_advance {
    uint64_t tick;
    uint32_t cycles;
    uint32_t fired;
};

/* The state of a pass. What the inner loops touch comes first. */
struct replay {
    const struct tl_algo *algo;
    void *self;
    uint64_t now; /* tick of the last advance */
    bool use_next;
    struct tally tally;
    uint64_t wakeups;
    uint64_t idle_wakeups;
    uint64_t refused_event; /* the operation that start refused */
    uint64_t refused_deadline;
    enum tl_status refused; /* TL_OK: none was */
    bool in_window;         /* the window has begun, and is not over */
    bool window_over;

    const struct trace_block *block; /* the running one */
    struct step_codes *steps;        /* throughput, latency: the running stretch */

    /* check */
    struct oracle *oracle;
    bool draining;

    /* latency */
    uint64_t last_cycles;           /* the last reading of the clock */
    uint32_t *op_cycles;            /* one for each record of a block */
    uint64_t *due;                  /* by id: when an exact structure fires it; 0: not pending */
    struct timed_advance *advances; /* that are not filed yet */
    size_t advance_count;
    size_t advance_capacity;
    size_t groups_filed; /* groups of the block below this have been filed, */
    size_t groups_done;  /* below this applied */
    uint64_t next_event; /* the number of the first operation not applied */
    double ns_per_cycle;
    uint64_t window_tick;     /* where the window began */
    struct schedule schedule; /* in ticks after that */

    const struct replay_request *request;
    struct replay_result *result;
    struct trace_reader *reader;
    const struct trace_header *header;
    struct tl_memory memory;
};

/* Equal sets of (id, tick) give equal sums, whatever the order. */
static inline uint64_t digest_of(uint32_t id, uint64_t now)
{
    uint64_t mixed = (now * UINT64_C(0x9e3779b97f4a7c15)) ^ id;
    mixed *= UINT64_C(0xbf58476d1ce4e5b9);
    return mixed ^ (mixed >> 31);
}

static void tally_fired(void *ctx, uint32_t id, uint64_t now)
{
    struct tally *tally = ctx;
    tally->fired++;
    tally->digest += digest_of(id, now);
}

static void check_fired(void *ctx, uint32_t id, uint64_t now)
{
    struct replay *replay = ctx;
    oracle_fired(replay->oracle, id, now);
    if (!replay->draining) {
        tally_fired(&replay->tally, id, now);
    }
}

static uint32_t saturate(uint64_t cycles)
{
    return cycles < UINT32_MAX ? (uint32_t)cycles : UINT32_MAX;
}

/* How many operations ahead the memory of a timer is asked for: some hundred nanoseconds. */
#define TELL_AHEAD 24

/* Tells starts from restarts, by when an exact structure would have fired. All operations of a
 * block must pass here in order. Outside the timed stretches, because it touches as much memory as
 * a structure does. */
static inline enum latency_op tell_operation(struct replay *replay, uint32_t at, uint64_t tick)
{
    static const uint8_t kinds[2][2] = {{LATENCY_START, LATENCY_RESTART},
                                        {LATENCY_STOP, LATENCY_STOP}};
    const struct trace_record *record = &replay->block->records[at];
    size_t last = replay->block->record_count - 1;
    size_t ahead = at + TELL_AHEAD < last ? at + TELL_AHEAD : last;
    __builtin_prefetch(&replay->due[replay->block->records[ahead].id], 1);
    /* Without a branch: in which order starts and stops come, nobody can foresee. */
    uint64_t *due = &replay->due[record->id];
    bool stops = record->op == TRACE_STOP;
    bool pending = *due > tick;
    uint64_t start_due = record->deadline > tick ? record->deadline : tick + 1;
    *due = start_due & ((uint64_t)stops - 1);
    return (enum latency_op)kinds[stops][pending];
}

/* The same for groups whose times are not kept. */
static void tell_groups(struct replay *replay, size_t from, size_t to)
{
    for (size_t g = from; g < to; g++) {
        const struct trace_group *group = &replay->block->groups[g];
        for (uint32_t i = 0; i < group->count; i++) {
            (void)tell_operation(replay, group->first + i, group->tick);
        }
    }
}

/* Files one call: its service time and its response time. True if it is the longest so far, and
 * its place is to be noted. The conversions are to signed numbers, which takes one instruction. */
static inline bool file_call(struct replay *replay, enum latency_op op, double due_tick,
                             uint32_t cycles)
{
    struct replay_result *result = replay->result;
    double service_ns = cycles * replay->ns_per_cycle;
    uint64_t ns = (uint64_t)(int64_t)(service_ns + 0.5);
    double response_ns = schedule_respond(&replay->schedule, due_tick, service_ns);
    histogram_add(&result->latency_ns[op], ns);
    histogram_add(&result->response_ns[op], (uint64_t)(int64_t)(response_ns + 0.5));
    if (ns <= result->worst[op].ns) {
        return false;
    }
    result->worst[op] = (struct replay_worst){.ns = ns};
    return true;
}

static void file_advance(struct replay *replay, const struct timed_advance *advance, uint64_t event)
{
    if (file_call(replay, LATENCY_ADVANCE, (double)(advance->tick - replay->window_tick),
                  advance->cycles)) {
        struct replay_worst *worst = &replay->result->worst[LATENCY_ADVANCE];
        worst->event = event;
        worst->tick = advance->tick;
        worst->fired = advance->fired;
    }
}

static void file_group(struct replay *replay, const struct trace_group *group)
{
    double begin_tick = (double)(group->tick - replay->window_tick);
    double share = 1 / (double)group->count;
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t at = group->first + i;
        enum latency_op op = tell_operation(replay, at, group->tick);
        if (file_call(replay, op, begin_tick + (double)i * share, replay->op_cycles[at])) {
            struct replay_worst *worst = &replay->result->worst[op];
            worst->event = replay->block->first_event + at;
            worst->tick = group->tick;
            worst->id = replay->block->records[at].id;
        }
    }
}

/* Files what has been timed since the last filing, in the order in which it happened. Outside the
 * timed stretches. */
static void file_latency(struct replay *replay)
{
    size_t at = 0;
    for (size_t g = replay->groups_filed; g < replay->groups_done; g++) {
        const struct trace_group *group = &replay->block->groups[g];
        uint64_t event = replay->block->first_event + group->first;
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

static void keep_advance(struct replay *replay, uint64_t tick, uint64_t fired, uint64_t cycles)
{
    if (replay->advance_count == replay->advance_capacity) {
        /* More advances than a block commonly has: file what there is, and go on. */
        file_latency(replay);
        replay->last_cycles = clock_cycles();
    }
    replay->advances[replay->advance_count++] =
        (struct timed_advance){.tick = tick, .fired = saturate(fired), .cycles = saturate(cycles)};
}

/* What has been counted so far; false if the structure does not count, or it is not to be kept. */
static bool read_work(const struct replay *replay, struct tl_counters *counted)
{
    if (!replay->in_window || replay->algo->counters == NULL) {
        return false;
    }
    replay->algo->counters(replay->self, counted);
    return true;
}

static void keep_tick_work(struct replay *replay, uint64_t tick, uint64_t fired)
{
    struct tl_counters counted;
    if (read_work(replay, &counted)) {
        work_add_tick(&replay->result->work, tick, fired, &counted);
    }
}

static void keep_operations_work(struct replay *replay)
{
    struct tl_counters counted;
    if (read_work(replay, &counted)) {
        work_add_operations(&replay->result->work, replay->now, &counted);
    }
}

/* One advance. The passes differ in what surrounds it; `pass` is a constant in every caller, so
 * that each pass's loop holds its own work only. */
static inline uint64_t advance_to(struct replay *replay, uint64_t tick, enum replay_pass pass)
{
    uint64_t fired;
    if (pass == PASS_CHECK) {
        oracle_advancing(replay->oracle, replay->draining);
        fired = replay->algo->advance(replay->self, tick, TL_NO_BUDGET, check_fired, replay);
        keep_tick_work(replay, tick, fired);
    } else if (pass == PASS_LATENCY) {
        uint64_t from = clock_cycles();
        fired =
            replay->algo->advance(replay->self, tick, TL_NO_BUDGET, tally_fired, &replay->tally);
        uint64_t to = clock_cycles();
        replay->last_cycles = to;
        keep_advance(replay, tick, fired, to - from);
    } else {
        fired =
            replay->algo->advance(replay->self, tick, TL_NO_BUDGET, tally_fired, &replay->tally);
    }
    replay->now = tick;
    return fired;
}

/* Lets time pass up to `tick`, with every wakeup on the way. True if the last that was called is
 * `advance`. */
static inline __attribute__((always_inline)) bool pass_time(struct replay *replay, uint64_t tick,
                                                            enum replay_pass pass)
{
    bool moves = replay->now < tick;
    if (replay->use_next) {
        for (;;) {
            uint64_t wake = replay->algo->next(replay->self);
            /* Due already: the loop comes round at the next tick. */
            wake = wake > replay->now ? wake : replay->now + 1;
            if (wake > tick) {
                break;
            }
            replay->wakeups++;
            replay->idle_wakeups += advance_to(replay, wake, pass) == 0;
        }
        moves = replay->now < tick;
        if (moves) {
            (void)advance_to(replay, tick, pass);
        }
    } else {
        while (replay->now < tick) {
            replay->wakeups++;
            replay->idle_wakeups += advance_to(replay, replay->now + 1, pass) == 0;
        }
    }
    if (pass == PASS_CHECK) {
        /* The last call of `next` belongs to this tick as well. */
        keep_tick_work(replay, tick, 0);
    }
    return moves;
}

/* Notes the operation that the structure refused. */
static void refuse(struct replay *replay, const struct trace_record *record, enum tl_status status)
{
    replay->refused = status;
    replay->refused_event =
        replay->block->first_event + (uint64_t)(record - replay->block->records);
    replay->refused_deadline = record->deadline;
}

/* --- the check pass's loop -------------------------------------------------------------------- */

/* Applies a run of operations of one tick. False if the structure refused one. */
static bool check_group(struct replay *replay, const struct trace_group *group)
{
    (void)pass_time(replay, group->tick, PASS_CHECK);
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        const struct trace_record *record = &replay->block->records[i];
        uint64_t event = replay->block->first_event + i;
        enum tl_status status;
        if (record->op == TRACE_START) {
            status = replay->algo->start(replay->self, record->id, record->deadline);
        } else {
            status = replay->algo->stop(replay->self, record->id);
        }
        if (status > TL_IDLE) {
            refuse(replay, record, status);
            return false;
        }
        if (record->op == TRACE_START) {
            oracle_started(replay->oracle, event, group->tick, record->id, record->deadline);
        } else {
            oracle_stopped(replay->oracle, event, group->tick, record->id, status);
        }
    }
    keep_operations_work(replay);
    return true;
}

static bool check_groups(struct replay *replay, size_t from, size_t to)
{
    bool taken = true;
    for (size_t i = from; i < to && taken; i++) {
        taken = check_group(replay, &replay->block->groups[i]);
    }
    return taken;
}

/* --- the timed passes' loops ------------------------------------------------------------------ */

/* Where a timed loop stands. Its own variables all: held in registers where there are enough. */
struct cursor {
    struct replay *replay;
    void *self;
    enum tl_status (*start)(void *self, uint32_t id, uint64_t deadline);
    enum tl_status (*stop)(void *self, uint32_t id);
    const struct trace_record *record; /* the next one */
    const struct trace_group *group;   /* the next one */
    uint32_t *op_cycles;               /* latency: of the next record, */
    uint64_t last_cycles;              /* counted from this reading */
};

/* Not inlined: many places call them. */
static __attribute__((noinline)) void pass_time_untimed(struct replay *replay, uint64_t tick)
{
    (void)pass_time(replay, tick, PASS_THROUGHPUT);
}

/* Returns the reading from which the time of the next operation counts. That is the one behind the
 * last advance, if nothing was called since: a further one would cost as much as the operation. */
static __attribute__((noinline)) uint64_t pass_time_timed(struct replay *replay,
                                                          const struct trace_group *group)
{
    replay->next_event = replay->block->first_event + group->first;
    replay->groups_done = (size_t)(group - replay->block->groups);
    return pass_time(replay, group->tick, PASS_LATENCY) ? replay->last_cycles : clock_cycles();
}

/* One step; `step` and `pass` are constants in every caller. False if the structure refused it. */
static inline __attribute__((always_inline)) bool take_step(struct cursor *at, enum step step,
                                                            enum replay_pass pass)
{
    if (step == STEP_TIME) {
        const struct trace_group *group = at->group++;
        if (pass == PASS_LATENCY) {
            at->last_cycles = pass_time_timed(at->replay, group);
        } else {
            pass_time_untimed(at->replay, group->tick);
        }
        return true;
    }
    const struct trace_record *record = at->record++;
    enum tl_status status = step == STEP_START ? at->start(at->self, record->id, record->deadline)
                                               : at->stop(at->self, record->id);
    if (pass == PASS_LATENCY) {
        uint64_t cycles = clock_cycles();
        *at->op_cycles++ = saturate(cycles - at->last_cycles);
        at->last_cycles = cycles;
    }
    if (__builtin_expect(status > TL_IDLE, false)) {
        refuse(at->replay, record, status);
        return false;
    }
    return true;
}

static_assert(STEPS_A_CODE == 4, "take_steps takes all of a code's");
static_assert(STEP_CODES == 3 * 27, "apply_steps has a case for each code");

/* A code's steps. */
static inline __attribute__((always_inline)) bool take_steps(struct cursor *at, unsigned code,
                                                             enum replay_pass pass)
{
    return take_step(at, step_of_code(code, 0), pass) &&
           take_step(at, step_of_code(code, 1), pass) &&
           take_step(at, step_of_code(code, 2), pass) && take_step(at, step_of_code(code, 3), pass);
}

/* Applies the groups from `from` on whose steps have been made. */
static inline __attribute__((always_inline)) bool apply_steps(struct replay *replay, size_t from,
                                                              enum replay_pass pass)
{
    const struct trace_block *block = replay->block;
    const struct trace_group *group = block->groups + from;
    struct cursor at = {.replay = replay,
                        .self = replay->self,
                        .start = replay->algo->start,
                        .stop = replay->algo->stop,
                        .record = block->records + group->first,
                        .group = group};
    if (pass == PASS_LATENCY) {
        at.op_cycles = replay->op_cycles + group->first;
    }
    const uint8_t *code = replay->steps->codes;
    bool taken = true;
    for (const uint8_t *end = code + replay->steps->code_count; code < end && taken; code++) {
        switch (*code) {
#define TAKE_CODE(code)                                                                            \
    case (code):                                                                                   \
        taken = take_steps(&at, (code), pass);                                                     \
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
    for (const uint8_t *end = code + replay->steps->rest_count; code < end && taken; code++) {
        taken = *code == STEP_START  ? take_step(&at, STEP_START, pass)
                : *code == STEP_STOP ? take_step(&at, STEP_STOP, pass)
                                     : take_step(&at, STEP_TIME, pass);
    }
    return taken;
}

/* Not inlined: each loop is to have the registers, and its place in the code, for itself. */
static __attribute__((noinline)) bool apply_untimed(struct replay *replay, size_t from)
{
    return apply_steps(replay, from, PASS_THROUGHPUT);
}

static __attribute__((noinline)) bool apply_timed(struct replay *replay, size_t from)
{
    return apply_steps(replay, from, PASS_LATENCY);
}

/* The pass whose loop runs now: outside the window no latency is kept, and none is measured. */
static enum replay_pass running_pass(const struct replay *replay)
{
    enum replay_pass pass = replay->request->pass;
    return pass == PASS_LATENCY && !replay->in_window ? PASS_THROUGHPUT : pass;
}

/* Applies groups [from, to) of the block, with the loop of the pass. */
static bool apply_groups(struct replay *replay, size_t from, size_t to)
{
    bool taken = true;
    switch (running_pass(replay)) {
    case PASS_CHECK:
        taken = check_groups(replay, from, to);
        break;
    case PASS_THROUGHPUT:
        taken = apply_untimed(replay, from);
        break;
    case PASS_LATENCY:
        taken = apply_timed(replay, from);
        replay->groups_done = to;
        break;
    }
    return taken;
}

/* --- the passes ------------------------------------------------------------------------------ */

static size_t due_bytes(const struct replay *replay)
{
    size_t ids = replay->header->ids > 0 ? replay->header->ids : 1;
    return ids * sizeof *replay->due;
}

static size_t advances_bytes(const struct replay *replay)
{
    return replay->advance_capacity * sizeof *replay->advances;
}

#define OP_CYCLES_BYTES (TRACE_BLOCK_RECORDS * sizeof(uint32_t))

/* Zeroed at once, on huge pages where there are any: the latency pass is not to wait, within what
 * it times, for pages of its own. NULL: there is no memory. */
static void *new_zeroed(size_t bytes)
{
    const struct tl_allocator *heap = tl_system_allocator();
    void *fresh = heap->resize(heap->ctx, NULL, 0, bytes, alignof(max_align_t));
    return fresh != NULL ? memset(fresh, 0, bytes) : NULL;
}

static void free_zeroed(void *old, size_t bytes)
{
    const struct tl_allocator *heap = tl_system_allocator();
    if (old != NULL) {
        (void)heap->resize(heap->ctx, old, bytes, 0, alignof(max_align_t));
    }
}

static bool open_latency(struct replay *replay, struct error *error)
{
    replay->ns_per_cycle = clock_ns_per_cycle();
    replay->schedule.tick_ns = (double)replay->header->tick_ns;
    replay->advance_capacity = 2 * (size_t)TRACE_BLOCK_RECORDS;
    replay->op_cycles = new_zeroed(OP_CYCLES_BYTES);
    replay->advances = new_zeroed(advances_bytes(replay));
    replay->due = new_zeroed(due_bytes(replay));
    if (replay->op_cycles == NULL || replay->advances == NULL || replay->due == NULL) {
        return error_set(error, "%s: out of memory for the latencies of %" PRIu32 " timers",
                         replay->request->trace_path, replay->header->ids);
    }
    return true;
}

static void report_refusal(struct replay *replay)
{
    struct replay_result *result = replay->result;
    result->status = replay->refused == TL_ERR_NOMEM ? REPLAY_NO_MEMORY : REPLAY_UNSUPPORTED;
    if (replay->refused == TL_ERR_HORIZON) {
        (void)snprintf(result->reason, sizeof result->reason,
                       "operation %" PRIu64 ": a delay of %" PRIu64 " ticks: %s",
                       replay->refused_event, replay->refused_deadline - replay->now,
                       tl_status_text(replay->refused));
    } else {
        (void)snprintf(result->reason, sizeof result->reason, "operation %" PRIu64 ": %s",
                       replay->refused_event, tl_status_text(replay->refused));
    }
}

static bool create_structure(struct replay *replay)
{
    const struct replay_request *request = replay->request;
    struct replay_result *result = replay->result;
    struct tl_config config = {.max_delay_ticks = replay->header->max_delay_ticks,
                               .options = request->options,
                               .allocator = &replay->memory.allocator};
    enum tl_status status = TL_OK;
    if (request->pass == PASS_CHECK) {
        status = request->algo->create(&config, &replay->self);
        if (status == TL_OK) {
            result->bytes_fixed = replay->memory.bytes;
            request->algo->destroy(replay->self);
        }
    }
    if (status == TL_OK) {
        config.capacity = replay->header->ids;
        status = request->algo->create(&config, &replay->self);
    }
    if (status == TL_OK) {
        return true;
    }
    replay->self = NULL;
    result->status = status == TL_ERR_NOMEM ? REPLAY_NO_MEMORY : REPLAY_UNSUPPORTED;
    (void)snprintf(result->reason, sizeof result->reason, "for %" PRIu32 " timers: %s",
                   replay->header->ids, tl_status_text(status));
    return false;
}

/* Counts at the beginning of the window, to be taken off those at its end. */
struct marks {
    struct tl_counters counters;
    uint64_t allocations;
    uint64_t wakeups;
    uint64_t idle_wakeups;
    uint64_t fired;
};

static void read_marks(const struct replay *replay, struct marks *marks)
{
    *marks = (struct marks){.allocations = replay->memory.allocations,
                            .wakeups = replay->wakeups,
                            .idle_wakeups = replay->idle_wakeups,
                            .fired = replay->tally.fired};
    if (replay->algo->counters != NULL) {
        replay->algo->counters(replay->self, &marks->counters);
    }
}

static void subtract_marks(const struct replay *replay, const struct marks *begin)
{
    struct replay_result *result = replay->result;
    struct marks end;
    read_marks(replay, &end);
    result->counters = (struct tl_counters){
        .compares = end.counters.compares - begin->counters.compares,
        .moves = end.counters.moves - begin->counters.moves,
        .slots = end.counters.slots - begin->counters.slots,
        .cascades = end.counters.cascades - begin->counters.cascades,
    };
    result->allocations = end.allocations - begin->allocations;
    result->wakeups = end.wakeups - begin->wakeups;
    result->idle_wakeups = end.idle_wakeups - begin->idle_wakeups;
    result->window_fired = end.fired - begin->fired;
}

/* Runs a stretch of a block's groups; inside the window, the clock runs. */
static bool run_stretch(struct replay *replay, const struct trace_block *block, size_t from,
                        size_t to)
{
    if (from == to) {
        return true;
    }
    replay->block = block;
    replay->groups_filed = from;
    replay->groups_done = from;
    if (replay->steps != NULL) {
        step_codes_make(replay->steps, block, from, to);
    }
    uint64_t begun_processor_ns = clock_processor_ns();
    uint64_t begun_ns = clock_now_ns();
    bool taken = apply_groups(replay, from, to);
    uint64_t ended_ns = clock_now_ns();
    if (replay->in_window) {
        replay->result->window_ns += ended_ns - begun_ns;
        replay->result->window_processor_ns += clock_processor_ns() - begun_processor_ns;
        for (size_t g = from; g < to; g++) {
            replay->result->window_events += block->groups[g].count;
        }
    }
    replay->next_event =
        block->first_event + block->groups[to - 1].first + block->groups[to - 1].count;
    if (running_pass(replay) == PASS_LATENCY) {
        file_latency(replay);
    } else if (replay->request->pass == PASS_LATENCY) {
        tell_groups(replay, from, to);
    }
    return taken;
}

/* Lets time pass behind the last operation, up to `tick`. */
static void pass_rest(struct replay *replay, uint64_t tick)
{
    switch (running_pass(replay)) {
    case PASS_CHECK:
        (void)pass_time(replay, tick, PASS_CHECK);
        break;
    case PASS_THROUGHPUT:
        (void)pass_time(replay, tick, PASS_THROUGHPUT);
        break;
    case PASS_LATENCY:
        (void)pass_time(replay, tick, PASS_LATENCY);
        file_latency(replay);
        break;
    }
}

/* The window begins with the operations to come. One that was asked for begins at its first tick
 * exactly, whenever those are. */
static void begin_window(struct replay *replay, struct marks *begin)
{
    const struct replay_window *window = &replay->request->window;
    uint64_t end_tick = replay->header->end_tick;
    if (window->asked && window->from_tick > 0) {
        uint64_t last_tick = window->from_tick - 1;
        pass_rest(replay, last_tick < end_tick ? last_tick : end_tick);
    }
    read_marks(replay, begin);
    replay->in_window = true;
    replay->window_tick = replay->now;
    if (replay->request->pass == PASS_CHECK && replay->algo->counters != NULL) {
        bool early = window->asked && window->to_tick < end_tick;
        /* Nothing has been advanced yet if the clock stands at 0. */
        work_begin(&replay->result->work, replay->now > 0 ? replay->now + 1 : 0,
                   early ? window->to_tick : end_tick, &begin->counters);
    }
}

/* The rest of the window behind its last operation. */
static void finish_window(struct replay *replay, const struct marks *begin)
{
    const struct replay_window *window = &replay->request->window;
    uint64_t end_tick = replay->header->end_tick;
    bool early = window->asked && window->to_tick < end_tick;
    uint64_t begun_processor_ns = clock_processor_ns();
    uint64_t begun_ns = clock_now_ns();
    pass_rest(replay, early ? window->to_tick : end_tick);
    replay->result->window_ns += clock_now_ns() - begun_ns;
    replay->result->window_processor_ns += clock_processor_ns() - begun_processor_ns;
    subtract_marks(replay, begin);
    work_end(&replay->result->work);
    replay->in_window = false;
    replay->window_over = true;
}

/* How many of a block's groups, from `from` on, lie before `tick`. */
static size_t groups_before(const struct trace_block *block, size_t from, uint64_t tick)
{
    while (from < block->group_count && block->groups[from].tick < tick) {
        from++;
    }
    return from;
}

/* Applies all operations. 1: done; 0: the structure refused one; -1: `error` is set. */
static int run_operations(struct replay *replay, struct error *error)
{
    const struct replay_window *window = &replay->request->window;
    uint64_t from_tick = window->asked ? window->from_tick : replay->header->warmup_end_tick;
    uint64_t behind_tick = window->asked ? window->to_tick + 1 : UINT64_MAX;
    struct trace_block block;
    struct marks begin;
    int more;
    while ((more = trace_reader_next(replay->reader, &block, error)) == 1) {
        size_t warm =
            replay->in_window || replay->window_over ? 0 : groups_before(&block, 0, from_tick);
        if (!run_stretch(replay, &block, 0, warm)) {
            return 0;
        }
        if (warm < block.group_count && !replay->in_window && !replay->window_over) {
            begin_window(replay, &begin);
        }
        size_t inside =
            replay->in_window ? groups_before(&block, warm, behind_tick) : block.group_count;
        if (!run_stretch(replay, &block, warm, inside)) {
            return 0;
        }
        if (inside < block.group_count) {
            finish_window(replay, &begin);
            if (!run_stretch(replay, &block, inside, block.group_count)) {
                return 0;
            }
        }
    }
    if (more < 0) {
        return -1;
    }
    if (!replay->in_window && !replay->window_over) {
        begin_window(replay, &begin);
    }
    if (!replay->window_over) {
        finish_window(replay, &begin);
    }
    pass_rest(replay, replay->header->end_tick);
    return 1;
}

/* Drives what is pending to its end, outside the window. A structure with `next` is asked; one
 * without is driven at each tick at which one of its timers may still fire: what lies between is
 * empty for it, and can be days. */
static bool drain(struct replay *replay, struct error *error)
{
    struct due_window *windows = NULL;
    uint64_t count = 0;
    if (!oracle_due_windows(replay->oracle, &windows, &count)) {
        return error_set(error, "%s: out of memory to drain", replay->request->trace_path);
    }
    replay->draining = true;
    uint64_t last = replay->now;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t end = windows[i].due + windows[i].late_ticks;
        last = end > last ? end : last;
    }
    if ((replay->algo->capabilities & TL_CAP_NEXT) != 0) {
        while (oracle_pending(replay->oracle) > 0 && replay->now < last) {
            uint64_t wake = replay->algo->next(replay->self);
            wake = wake > replay->now ? wake : replay->now + 1;
            (void)advance_to(replay, wake < last ? wake : last, PASS_CHECK);
        }
    } else {
        for (uint64_t i = 0; i < count && oracle_pending(replay->oracle) > 0; i++) {
            uint64_t end = windows[i].due + windows[i].late_ticks;
            uint64_t tick = windows[i].due > replay->now ? windows[i].due : replay->now + 1;
            for (; tick <= end; tick++) {
                (void)advance_to(replay, tick, PASS_CHECK);
            }
        }
    }
    free(windows);
    return true;
}

/* The check pass's end: drain, memory after it, the structure's own view of itself. */
static bool finish_check(struct replay *replay, struct error *error)
{
    struct replay_result *result = replay->result;
    char why[200];
    uint64_t counted = replay->algo->count(replay->self);
    uint64_t pending = oracle_pending(replay->oracle);
    if (!drain(replay, error)) {
        return false;
    }
    oracle_finish(replay->oracle, replay->now);
    result->bytes_peak = replay->memory.peak_bytes;
    result->bytes_drained = replay->memory.bytes;
    const struct verdict *verdict = &result->verdict;
    if (verdict->fault_count > 0) {
        const struct fault *fault = &verdict->first[0];
        result->status = REPLAY_FAULT;
        (void)snprintf(result->reason, sizeof result->reason,
                       "%" PRIu64 " faults; first: timer %" PRIu32 " at tick %" PRIu64 ": %s",
                       verdict->fault_count, fault->id, fault->tick, fault->detail);
    } else if (counted != pending) {
        result->status = REPLAY_FAULT;
        (void)snprintf(result->reason, sizeof result->reason,
                       "count says %" PRIu64 " pending at the end tick, where %" PRIu64 " are",
                       counted, pending);
    } else if (replay->algo->check != NULL &&
               replay->algo->check(replay->self, why, sizeof why) != TL_OK) {
        result->status = REPLAY_FAULT;
        (void)snprintf(result->reason, sizeof result->reason, "its own check: %s", why);
    }
    return true;
}

static bool run_pass(struct replay *replay, struct error *error)
{
    const struct replay_request *request = replay->request;
    struct replay_result *result = replay->result;
    bool judged = (request->algo->capabilities & TL_CAP_FIRES_NOTHING) == 0;
    result->ids = replay->header->ids;
    tl_counting_allocator(&replay->memory, tl_system_allocator());
    replay->memory.limit_bytes = request->memory_limit_bytes;
    if (request->pass == PASS_LATENCY && !open_latency(replay, error)) {
        return false;
    }
    if (request->pass == PASS_CHECK) {
        replay->oracle =
            oracle_create(request->algo, request->options, result->ids, &result->verdict);
        if (replay->oracle == NULL) {
            return error_set(error, "%s: out of memory for the oracle of %" PRIu32 " timers",
                             request->trace_path, result->ids);
        }
    } else {
        replay->steps = malloc(sizeof *replay->steps);
        if (replay->steps == NULL) {
            return error_set(error, "%s: out of memory", request->trace_path);
        }
    }
    if (!create_structure(replay)) {
        return true;
    }
    switch (run_operations(replay, error)) {
    case 1:
        break;
    case 0:
        report_refusal(replay);
        return true;
    default:
        return false;
    }
    result->digest = replay->tally.digest;
    if (request->pass == PASS_CHECK) {
        if (judged) {
            return finish_check(replay, error);
        }
        result->bytes_peak = replay->memory.peak_bytes;
        result->bytes_drained = replay->memory.bytes;
    }
    return true;
}

bool replay_run(const struct replay_request *request, struct replay_result *result,
                struct error *error)
{
    memset(result, 0, sizeof *result);
    struct replay replay = {.algo = request->algo, .request = request, .result = result};
    replay.use_next =
        request->drive == DRIVE_SLEEP && (request->algo->capabilities & TL_CAP_NEXT) != 0;
    replay.reader = trace_reader_open(request->trace_path, error);
    if (replay.reader == NULL) {
        return false;
    }
    replay.header = trace_reader_header(replay.reader);
    bool done = run_pass(&replay, error);
    if (replay.self != NULL) {
        replay.algo->destroy(replay.self);
    }
    oracle_destroy(replay.oracle);
    free(replay.steps);
    free_zeroed(replay.op_cycles, OP_CYCLES_BYTES);
    free_zeroed(replay.advances, advances_bytes(&replay));
    free_zeroed(replay.due, due_bytes(&replay));
    trace_reader_close(replay.reader);
    return done;
}
