/* A pass from the trace's first block to its end: the structure, the window, the clock. */
#include "clock.h"
#include "replay_pass.h"

#include <inttypes.h>
#include <stdio.h>
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

void tally_fired(void *ctx, uint32_t id, uint64_t now)
{
    tally_add(ctx, id, now);
}

void replay_refuse(struct replay *replay, const struct trace_record *record, enum tl_status status)
{
    replay->refused = status;
    replay->refused_event =
        replay->block->first_event + (uint64_t)(record - replay->block->records);
    replay->refused_deadline = record->deadline;
}

static const struct pass *const passes[] = {
    [PASS_CHECK] = &check_pass,
    [PASS_THROUGHPUT] = &throughput_pass,
    [PASS_LATENCY] = &latency_pass,
};

static const struct pass *requested_pass(const struct replay *replay)
{
    return passes[replay->request->pass];
}

/* The pass whose loop runs now: outside the window no latency is kept, and none is measured. */
static const struct pass *running_pass(const struct replay *replay)
{
    const struct pass *pass = requested_pass(replay);
    return pass == &latency_pass && !replay->in_window ? &throughput_pass : pass;
}

static void pass_rest(struct replay *replay, uint64_t tick)
{
    running_pass(replay)->pass_rest(replay, tick);
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
    const struct pass *pass = running_pass(replay);
    replay->groups_filed = from;
    replay->groups_done = from;
    if (replay->steps != NULL) {
        step_codes_make(replay->steps, block, from, to);
    }
    uint64_t begun_processor_ns = clock_processor_ns();
    uint64_t begun_ns = clock_now_ns();
    bool taken = pass->apply(replay, from, to);
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
    if (requested_pass(replay)->file != NULL) {
        requested_pass(replay)->file(replay, from, to);
    }
    return taken;
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

static bool run_pass(struct replay *replay, struct error *error)
{
    const struct pass *pass = requested_pass(replay);
    replay->result->ids = replay->header->ids;
    tl_counting_allocator(&replay->memory, tl_system_allocator());
    replay->memory.limit_bytes = replay->request->memory_limit_bytes;
    if (!pass->open(replay, error)) {
        return false;
    }
    if (!create_structure(replay)) {
        return true;
    }
    switch (run_operations(replay, error)) {
    case 1:
        replay->result->digest = replay->tally.digest;
        return pass->finish == NULL || pass->finish(replay, error);
    case 0:
        report_refusal(replay);
        return true;
    default:
        return false;
    }
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
    requested_pass(&replay)->close(&replay);
    trace_reader_close(replay.reader);
    return done;
}
