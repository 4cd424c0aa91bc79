/* A pass from the trace's first block to its end: the structure, the window, the clock. */
#include "child.h"
#include "clock.h"
#include "due.h"
#include "memory.h"
#include "replay_pass.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *latency_op_word(enum latency_op op)
{
    static const char *const words[] = {[LATENCY_START] = "start",
                                        [LATENCY_RESTART] = "restart",
                                        [LATENCY_STOP] = "stop",
                                        [LATENCY_ADVANCE] = "advance"};
    return words[op];
}

void replay_merge_latencies(struct replay_result *all, const struct replay_result *one)
{
    for (int op = 0; op < LATENCY_OPS; op++) {
        histogram_merge(&all->latency_ns[op], &one->latency_ns[op]);
        histogram_merge(&all->response_ns[op], &one->response_ns[op]);
        if (one->worst[op].ns > all->worst[op].ns) {
            all->worst[op] = one->worst[op];
        }
    }
}

void tally_fired(void *ctx, uint32_t id, uint64_t now)
{
    struct replay *replay = ctx;
    tally_add(&replay->tally, id, now);
}

void replay_refuse(struct replay *replay, uint64_t event, uint64_t deadline, enum tl_status status)
{
    replay->refused = status;
    replay->refused_event = event;
    replay->refused_deadline = deadline;
}

void replay_end(struct replay *replay, enum replay_status status, const char *format, ...)
{
    struct replay_result *result = replay->result;
    va_list arguments;
    result->status = status;
    va_start(arguments, format);
    (void)vsnprintf(result->reason, sizeof result->reason, format, arguments);
    va_end(arguments);
}

void replay_give_up(struct replay *replay, uint64_t from_tick, uint64_t to_tick, double seconds)
{
    replay->refused = TL_ERR_UNAVAILABLE;
    replay_end(replay, REPLAY_UNSUPPORTED,
               "from tick %" PRIu64 " on %" PRIu64
               " ticks in which nothing comes are to be driven while timers are pending, "
               "%.0f s a pass, where --timeout allows %.0f%s",
               from_tick, to_tick - from_tick, seconds, replay->request->patience_seconds,
               replay->use_next ? "" : "; it has no `next` to sleep by");
}

static const struct pass *const passes[] = {
    [PASS_CHECK] = &check_pass,
    [PASS_THROUGHPUT] = &throughput_pass,
    [PASS_LATENCY] = &latency_pass,
    [PASS_RECOVERY] = &recovery_pass,
};

static const struct pass *requested_pass(const struct replay *replay)
{
    return passes[replay->request->pass];
}

/* Return the pass to run now: outside the window the latency pass measures and keeps nothing. */
static const struct pass *running_pass(const struct replay *replay)
{
    const struct pass *pass = requested_pass(replay);
    return pass == &latency_pass && !replay->in_window ? &throughput_pass : pass;
}

static enum replay_status status_of(enum tl_status refusal)
{
    return refusal == TL_ERR_NOMEM ? REPLAY_NO_MEMORY : REPLAY_UNSUPPORTED;
}

static void report_refusal(struct replay *replay)
{
    const char *why = tl_status_text(replay->refused);
    if (replay->result->reason[0] != '\0') {
        return; /* replay_give_up has set the reason */
    }
    if (replay->refused == TL_ERR_HORIZON) {
        replay_end(replay, REPLAY_UNSUPPORTED,
                   "operation %" PRIu64 ": a delay of %" PRIu64 " ticks: %s", replay->refused_event,
                   replay->refused_deadline - replay->now, why);
    } else {
        replay_end(replay, status_of(replay->refused),
                   "operation %" PRIu64 " at tick %" PRIu64 ": %s", replay->refused_event,
                   replay->now, why);
    }
}

bool replay_create(struct replay *replay)
{
    const struct replay_request *request = replay->request;
    struct replay_result *result = replay->result;
    /* Between two polls the structure's clock does not move, and delays count from it. */
    uint64_t late_ticks = request->drive.poll_ticks > 1 ? request->drive.poll_ticks - 1 : 0;
    uint64_t max_delay_ticks = replay->header->max_delay_ticks;
    struct tl_config config = {.now = replay->now,
                               .max_delay_ticks =
                                   max_delay_ticks > 0 ? max_delay_ticks + late_ticks : 0,
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
    replay_end(replay, status_of(status), "for %" PRIu32 " timers: %s", replay->header->ids,
               tl_status_text(status));
    return false;
}

/* Counts at the beginning of the window, to be subtracted from those at its end. */
struct marks {
    struct tl_counters counters;
    uint64_t allocations;
    uint64_t wakeups;
    uint64_t idle_wakeups;
    uint64_t fired;
    struct tl_durability durability;
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
    if (replay_is_durable(replay->algo)) {
        replay->algo->durability(replay->self, &marks->durability);
    }
}

static void subtract_marks(const struct replay *replay, const struct marks *begin)
{
    struct replay_result *result = replay->result;
    struct marks end;
    read_marks(replay, &end);
    result->counters = work_since(&end.counters, &begin->counters);
    result->counts =
        replay->algo->counters != NULL &&
        (work_total(&end.counters) > 0 || (replay->algo->capabilities & TL_CAP_FIRES_NOTHING) != 0);
    result->allocations = end.allocations - begin->allocations;
    result->wakeups = end.wakeups - begin->wakeups;
    result->idle_wakeups = end.idle_wakeups - begin->idle_wakeups;
    result->window_fired = end.fired - begin->fired;
    result->bytes_durable = end.durability.bytes_durable;
    result->syncs = end.durability.syncs - begin->durability.syncs;
}

/* --- stretches -------------------------------------------------------------------------------- */

/* Begin a stretch, and its section of the tape if there is one. */
static bool begin_section(struct replay *replay)
{
    if (replay->player == NULL) {
        return true;
    }
    replay->section = tape_player_next(replay->player, replay->error);
    replay->broken = replay->section == NULL;
    if (replay->broken) {
        return false;
    }
    replay->inside = replay->section->inside;
    replay->inside_filed = 0;
    replay->firing = 0;
    if (replay->in_window) {
        replay->result->window_events += replay->section->inside_count;
    }
    const struct pass *pass = requested_pass(replay);
    if (pass->section != NULL) {
        pass->section(replay);
    }
    return true;
}

static bool end_section(struct replay *replay)
{
    if (replay->player != NULL) {
        replay->strayed |= replay->inside->firing != TAPE_NO_FIRING;
        if (requested_pass(replay)->file != NULL) {
            requested_pass(replay)->file(replay, 0, 0);
        }
    } else {
        replay->broken =
            replay->recorder != NULL && !tape_record_section(replay->recorder, replay->error);
    }
    return !replay->broken && replay->refused == TL_OK;
}

/* Part of a block, with the reactions of the stream at the same ticks. */
struct stretch {
    const struct stream_block *block;
    size_t group;
    size_t group_end;
    size_t reaction;
    size_t reaction_end;
};

static bool is_over(const struct stretch *stretch)
{
    return stretch->group == stretch->group_end && stretch->reaction == stretch->reaction_end;
}

/* Cut the operations before `tick` off the beginning of `rest`. */
static struct stretch take_before(const struct replay *replay, struct stretch *rest, uint64_t tick)
{
    struct stretch taken = *rest;
    const struct stream_reaction *reactions = replay->request->stream->reactions;
    while (rest->group < rest->group_end && rest->block->groups[rest->group].tick < tick) {
        rest->group++;
    }
    while (rest->reaction < rest->reaction_end &&
           replay_comes_at(replay, reactions[rest->reaction].tick) < tick) {
        rest->reaction++;
    }
    taken.group_end = rest->group;
    taken.reaction_end = rest->reaction;
    return taken;
}

/* Make the steps of a stretch of the running block, unless the stream has them. */
static void make_steps(struct replay *replay, size_t from, size_t to)
{
    const struct stream_block *block = replay->block;
    if (from == 0 && to == block->group_count && block->codes.codes != NULL) {
        replay->steps = block->codes;
    } else {
        step_codes_make(&replay->steps, replay->step_room, block->records, block->groups + from,
                        to - from);
    }
}

struct stopwatch {
    uint64_t ns;
    uint64_t processor_ns;
};

static struct stopwatch start_clock(void)
{
    struct stopwatch watch = {.processor_ns = clock_processor_ns()};
    watch.ns = clock_now_ns();
    return watch;
}

/* Add the elapsed time to the window's. */
static void stop_clock(struct replay *replay, const struct stopwatch *watch)
{
    uint64_t ended_ns = clock_now_ns();
    if (replay->in_window) {
        replay->result->window_ns += ended_ns - watch->ns;
        replay->result->window_processor_ns += clock_processor_ns() - watch->processor_ns;
    }
}

/* Run groups of a block, with the clock running inside the window. */
static bool run_groups(struct replay *replay, const struct stream_block *block, size_t from,
                       size_t to)
{
    replay->block = block;
    const struct pass *pass = running_pass(replay);
    replay->groups_filed = from;
    replay->groups_done = from;
    if (replay->step_room != NULL) {
        make_steps(replay, from, to);
    }
    struct stopwatch watch = start_clock();
    bool taken = pass->apply(replay, from, to);
    stop_clock(replay, &watch);
    size_t end = to > from ? block->groups[to - 1].first + block->groups[to - 1].count : 0;
    if (replay->in_window && replay->loop == NULL && to > from) {
        replay->result->window_events += end - block->groups[from].first;
    }
    if (end > 0) {
        replay->next_event = stream_event(block, end - 1) + 1;
    }
    if (requested_pass(replay)->file != NULL) {
        requested_pass(replay)->file(replay, from, to);
    }
    return taken;
}

/* Run a stretch as the structure executed it. */
static bool run_executed(struct replay *replay, const struct stretch *stretch,
                         const struct tape_section *section)
{
    struct executed *executed = replay->executed;
    bool taken = true;
    replay->arrived = executed->arrived;
    executed_begin(executed, stretch->block, stretch->group, stretch->group_end, section);
    while (taken && executed_next(executed)) {
        taken = run_groups(replay, &executed->block, 0, executed->block.group_count);
    }
    replay->arrived = NULL;
    return taken;
}

/* List the reactions of a stretch as operations, for a structure that fires nothing. */
static const struct tape_section *find_all(struct replay *replay, const struct stretch *stretch)
{
    struct tape_section *all = &replay->all;
    all->outside_count = 0;
    for (size_t i = stretch->reaction; i < stretch->reaction_end; i++) {
        const struct stream_reaction *reaction = &replay->request->stream->reactions[i];
        uint64_t tick = replay_comes_at(replay, reaction->tick);
        MEMORY_REACH(all->outside, replay->all_capacity, all->outside_count);
        all->outside[all->outside_count++] = (struct tape_outside){
            .tick = tick,
            .event = reaction->event - 1,
            .deadline = reaction->op == TRACE_START ? due_deadline(tick, reaction->delay_ticks) : 0,
            .id = reaction->id,
            .op = reaction->op};
    }
    return all;
}

static bool run_external(struct replay *replay, const struct stretch *stretch)
{
    const struct tape_section *section = replay->player != NULL     ? replay->section
                                         : replay->executed != NULL ? find_all(replay, stretch)
                                                                    : NULL;
    if (section != NULL && section->outside_count > 0) {
        return run_executed(replay, stretch, section);
    }
    /* The check also wakes up for these reactions if the structure may fire early. */
    replay->reaction = stretch->reaction;
    replay->reaction_end = stretch->reaction_end;
    return (stretch->group == stretch->group_end && replay->loop == NULL) ||
           run_groups(replay, stretch->block, stretch->group, stretch->group_end);
}

/* Let time pass after the last operation, with the clock running inside the window. */
static void pass_timed(struct replay *replay, uint64_t tick, bool comes)
{
    struct stopwatch watch = start_clock();
    running_pass(replay)->pass_rest(replay, tick, comes);
    stop_clock(replay, &watch);
}

/* Return the tick of the stretch's last reaction if it is after its last group; otherwise 0. */
static uint64_t last_reaction_tick(const struct replay *replay, const struct stretch *stretch)
{
    if (stretch->reaction == stretch->reaction_end) {
        return 0;
    }
    uint64_t tick =
        replay_comes_at(replay, replay->request->stream->reactions[stretch->reaction_end - 1].tick);
    bool is_after = stretch->group == stretch->group_end ||
                    stretch->block->groups[stretch->group_end - 1].tick < tick;
    return is_after ? tick : 0;
}

static bool run_stretch(struct replay *replay, const struct stretch *stretch)
{
    if (is_over(stretch)) {
        return true;
    }
    if (!begin_section(replay)) {
        return false;
    }
    bool taken = run_external(replay, stretch);
    uint64_t tick = last_reaction_tick(replay, stretch);
    if (taken && tick > 0 && (replay->loop != NULL || replay->player != NULL)) {
        /* Expiries up to that tick belong to this section: otherwise the next one grows without
         * bound. */
        pass_timed(replay, tick, false);
    }
    return end_section(replay) && taken;
}

/* Let time pass after the last operation of the trace, or of the window. */
static bool pass_rest(struct replay *replay, uint64_t tick)
{
    const struct stretch nothing = {0};
    if (!begin_section(replay) || !run_external(replay, &nothing)) {
        return false;
    }
    pass_timed(replay, tick, true);
    return end_section(replay);
}

static uint64_t window_end(const struct replay *replay)
{
    const struct replay_window *window = &replay->request->window;
    uint64_t end_tick = replay->header->end_tick;
    return window->asked && window->to_tick < end_tick ? window->to_tick : end_tick;
}

/* The trace's own window begins with the next operations; a requested one at its first tick
 * exactly. */
static bool begin_window(struct replay *replay, struct marks *begin)
{
    const struct replay_window *window = &replay->request->window;
    uint64_t end_tick = replay->header->end_tick;
    if (window->asked && window->from_tick > 0) {
        uint64_t last_tick = window->from_tick - 1;
        if (!pass_rest(replay, last_tick < end_tick ? last_tick : end_tick)) {
            return false;
        }
    }
    read_marks(replay, begin);
    replay->in_window = true;
    replay->window_tick = replay->now;
    if (replay->request->pass == PASS_CHECK && replay->algo->counters != NULL) {
        /* At clock 0 no advance has been made yet. */
        work_begin(&replay->result->work, replay->now > 0 ? replay->now + 1 : 0, window_end(replay),
                   &begin->counters);
    }
    return true;
}

static bool finish_window(struct replay *replay, const struct marks *begin)
{
    bool taken = pass_rest(replay, window_end(replay));
    subtract_marks(replay, begin);
    work_end(&replay->result->work);
    replay->in_window = false;
    replay->window_over = true;
    return taken;
}

/* Apply the operations of a block. False: the structure refused one, or the replay is broken. */
static bool run_block(struct replay *replay, const struct stream_block *block, struct marks *begin)
{
    const struct replay_window *window = &replay->request->window;
    struct stretch rest = {.block = block,
                           .group_end = block->group_count,
                           .reaction = block->reaction_begin,
                           .reaction_end = block->reaction_end};
    if (!replay->in_window && !replay->window_over) {
        const struct stretch warm = take_before(
            replay, &rest, window->asked ? window->from_tick : replay->header->warmup_end_tick);
        if (!run_stretch(replay, &warm) || (!is_over(&rest) && !begin_window(replay, begin))) {
            return false;
        }
    }
    if (replay->in_window && window->asked) {
        const struct stretch inside = take_before(replay, &rest, window->to_tick + 1);
        if (!run_stretch(replay, &inside) || (!is_over(&rest) && !finish_window(replay, begin))) {
            return false;
        }
    }
    return run_stretch(replay, &rest);
}

static bool run_operations(struct replay *replay)
{
    const struct stream *stream = replay->request->stream;
    struct marks begin;
    for (size_t i = 0; i < stream->block_count; i++) {
        const struct stream_block *block = &stream->blocks[i];
        child_alive();
        if (!run_block(replay,
                       replay->arrivals != NULL ? arrivals_of(replay->arrivals, block) : block,
                       &begin)) {
            return false;
        }
    }
    return (replay->in_window || replay->window_over || begin_window(replay, &begin)) &&
           (replay->window_over || finish_window(replay, &begin)) &&
           pass_rest(replay, replay->header->end_tick);
}

/* Prepare for the polling policy. False: not supported; the result has the reason. */
static bool take_drive(struct replay *replay)
{
    const struct replay_drive *drive = &replay->request->drive;
    const struct tl_algo *algo = replay->algo;
    replay->plain = drive_is_plain(drive);
    replay->use_next = drive->kind != DRIVE_POLL && (algo->capabilities & TL_CAP_NEXT) != 0;
    replay->syncs = replay->use_next && replay_is_durable(algo);
    replay->paced = replay->syncs || !replay->plain;
    replay->budget = drive->budget > 0 ? drive->budget : TL_NO_BUDGET;
    if (drive->budget > 0 && (algo->capabilities & (TL_CAP_BUDGET | TL_CAP_FIRES_NOTHING)) == 0) {
        replay_end(replay, REPLAY_UNSUPPORTED,
                   "a budget of %" PRIu64
                   ": it does not promise `budget`, and fires all that is due at once",
                   drive->budget);
        return false;
    }
    replay->service = service_open(drive, replay->header->tick_ns, replay->header->end_tick);
    if (drive->pause_count > 0) {
        replay->arrivals = arrivals_open(drive, replay->header->end_tick);
    }
    return true;
}

/* Close the loop: open the closed loop in the check, the tape's player in the timed
 * passes. Without reactions neither is needed, unless callbacks take time, which postpones
 * operations. For a structure that fires nothing, reactions are operations like others. */
static bool close_loop(struct replay *replay)
{
    const struct replay_request *request = replay->request;
    const struct tl_algo *algo = replay->algo;
    uint64_t max_delay_ticks = replay->header->max_delay_ticks;
    replay->result->exact = tl_algo_is_exact(algo, request->options, max_delay_ticks);
    bool reacts = replay->header->reactions > 0;
    if ((algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
        replay->executed = reacts ? memory_new(1, sizeof *replay->executed) : NULL;
        return true;
    }
    if (!reacts && replay->service == NULL && request->drive.kind != DRIVE_SLACK) {
        return true;
    }
    replay->may_be_early = tl_algo_may_be_early(algo, request->options, max_delay_ticks);
    if (request->pass == PASS_CHECK) {
        const struct closed_loop_plan plan = {
            .stream = request->stream,
            /* With any other policy it fires timers of different due ticks at once. */
            .exact = replay->plain && replay->result->exact,
            .carry = check_carry,
            .ctx = replay,
        };
        replay->loop = reacts ? closed_loop_open(&plan) : NULL;
        replay->slack = slack_open(&request->drive, request->stream);
        replay->recorder =
            request->tape != NULL ? tape_recorder_open(request->tape, replay->error) : NULL;
        return request->tape == NULL || replay->recorder != NULL;
    }
    if (request->tape == NULL) {
        return error_set(replay->error, "the reactions of the trace have not been determined");
    }
    replay->player = tape_player_open(request->tape);
    replay->executed = memory_new(1, sizeof *replay->executed);
    replay->executed->queues = replay->service != NULL;
    return true;
}

static void release_loop(struct replay *replay)
{
    closed_loop_close(replay->loop);
    tape_recorder_close(replay->recorder);
    tape_player_close(replay->player);
    arrivals_close(replay->arrivals);
    service_close(replay->service);
    slack_close(replay->slack);
    free(replay->executed);
    free(replay->all.outside);
}

static bool run_pass(struct replay *replay)
{
    const struct pass *pass = requested_pass(replay);
    struct replay_result *result = replay->result;
    result->ids = replay->header->ids;
    tl_counting_allocator(&replay->memory, tl_system_allocator());
    replay->memory.limit_bytes = replay->request->memory_limit_bytes;
    if (!take_drive(replay)) {
        return !replay->broken;
    }
    if (!close_loop(replay)) {
        return false;
    }
    pass->open(replay);
    if (!replay_create(replay)) {
        return true;
    }
    if (!run_operations(replay)) {
        if (!replay->broken) {
            report_refusal(replay);
        }
        return !replay->broken;
    }
    result->digest = replay->tally.digest;
    result->named_digest =
        replay->request->names != NULL ? replay->named.digest : replay->tally.digest;
    if (replay->loop != NULL) {
        result->reactions = closed_loop_reactions(replay->loop);
        result->not_reached = replay->header->reactions - result->reactions;
    }
    if (replay->strayed) {
        replay_end(replay, REPLAY_FAULT,
                   "fired other timers than in the checked run, or in another order");
    }
    if (pass->finish != NULL) {
        pass->finish(replay);
    }
    return true;
}

bool replay_run(const struct replay_request *request, struct replay_result *result,
                struct error *error)
{
    memset(result, 0, sizeof *result);
    struct replay replay = {
        .algo = request->algo, .request = request, .result = result, .error = error};
    replay.own_header = request->stream->header;
    if (replay.own_header.max_delay_ticks < request->max_delay_ticks) {
        replay.own_header.max_delay_ticks = request->max_delay_ticks;
    }
    replay.header = &replay.own_header;
    bool done = run_pass(&replay);
    if (replay.self != NULL) {
        replay.algo->destroy(replay.self);
    }
    requested_pass(&replay)->close(&replay);
    release_loop(&replay);
    return done;
}
