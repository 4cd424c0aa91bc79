/* A pass from the trace's first block to its end: the structure, the window, the clock. */
#include "child.h"
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

/* --- how a pass ends -------------------------------------------------------------------------- */

void replay_end(struct replay *replay, enum replay_status status, const char *format, ...)
{
    struct replay_result *result = replay->result;
    va_list arguments;
    result->status = status;
    va_start(arguments, format);
    (void)vsnprintf(result->reason, sizeof result->reason, format, arguments);
    va_end(arguments);
}

static enum replay_status status_of(enum tl_status refusal)
{
    return refusal == TL_ERR_NOMEM ? REPLAY_NO_MEMORY : REPLAY_UNSUPPORTED;
}

void replay_refuse(struct replay *replay, uint64_t event, uint64_t deadline, enum tl_status status)
{
    const char *why = tl_status_text(status);
    replay->refused = true;
    if (status == TL_ERR_HORIZON) {
        replay_end(replay, REPLAY_UNSUPPORTED,
                   "operation %" PRIu64 ": a delay of %" PRIu64 " ticks: %s", event,
                   deadline - replay->now, why);
    } else {
        replay_end(replay, status_of(status), "operation %" PRIu64 " at tick %" PRIu64 ": %s",
                   event, replay->now, why);
    }
}

/* --- the structure ---------------------------------------------------------------------------- */

bool replay_create(struct replay *replay)
{
    const struct replay_request *request = replay->request;
    struct replay_result *result = replay->result;
    /* Between two polls the structure's clock does not move, and delays count from it. */
    uint64_t late_ticks = replay->drive.poll_ticks > 1 ? replay->drive.poll_ticks - 1 : 0;
    uint64_t max_delay_ticks = replay->header.max_delay_ticks;
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
        config.capacity = replay->header.ids;
        status = request->algo->create(&config, &replay->self);
    }
    if (status == TL_OK) {
        return true;
    }
    replay->self = NULL;
    replay_end(replay, status_of(status), "for %" PRIu32 " timers: %s", replay->header.ids,
               tl_status_text(status));
    return false;
}

/* Subtract each count of the window from the count so far: at its begin it is 0, at its end the
 * count at its begin. */
static void count_window(struct replay *replay)
{
    const struct tl_algo *algo = replay->algo;
    struct replay_result *result = replay->result;
    struct tl_counters counted = {0};
    struct tl_durability durability = {0};
    if (algo->counters != NULL) {
        algo->counters(replay->self, &counted);
    }
    if (replay_is_durable(algo)) {
        algo->durability(replay->self, &durability);
    }
    result->counters = work_since(&counted, &result->counters);
    result->counts = algo->counters != NULL &&
                     (work_total(&counted) > 0 || (algo->capabilities & TL_CAP_FIRES_NOTHING) != 0);
    result->allocations = replay->memory.allocations - result->allocations;
    result->wakeups = replay->wakeups - result->wakeups;
    result->idle_wakeups = replay->idle_wakeups - result->idle_wakeups;
    result->window_fired = replay->tally.fired - result->window_fired;
    result->bytes_durable = durability.bytes_durable;
    result->syncs = durability.syncs - result->syncs;
}

/* --- stretches -------------------------------------------------------------------------------- */

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

/* Return the tick at which the loop receives a reaction of the stream. */
static uint64_t reaction_tick(const struct replay *replay, size_t reaction)
{
    return drive_awake(&replay->drive, replay->request->stream->reactions[reaction].tick);
}

/* Cut the operations before `tick` off the beginning of `rest`. */
static struct stretch take_before(const struct replay *replay, struct stretch *rest, uint64_t tick)
{
    struct stretch taken = *rest;
    while (rest->group < rest->group_end && rest->block->groups[rest->group].tick < tick) {
        rest->group++;
    }
    while (rest->reaction < rest->reaction_end && reaction_tick(replay, rest->reaction) < tick) {
        rest->reaction++;
    }
    taken.group_end = rest->group;
    taken.reaction_end = rest->reaction;
    return taken;
}

static void start_clock(struct replay *replay)
{
    replay->begun_processor_ns = clock_processor_ns();
    replay->begun_ns = clock_now_ns();
}

/* Add the elapsed time to the window's. */
static void stop_clock(struct replay *replay)
{
    uint64_t ended_ns = clock_now_ns();
    if (replay->in_window) {
        replay->result->window_ns += ended_ns - replay->begun_ns;
        replay->result->window_processor_ns += clock_processor_ns() - replay->begun_processor_ns;
    }
}

/* Make the steps of a stretch of the running block, unless the stream has them. */
static void make_steps(struct replay *replay, size_t from, size_t to)
{
    const struct stream_block *block = replay->block;
    if (from == 0 && to == block->group_count && block->codes.codes != NULL) {
        replay->steps = block->codes;
    } else {
        MEMORY_REACH(replay->step_room, replay->step_capacity,
                     STEP_BYTES(block->record_count + block->group_count));
        step_codes_make(&replay->steps, replay->step_room, block->records, block->groups + from,
                        to - from);
    }
}

/* Run groups of a block, with the clock running inside the window. */
static bool run_groups(struct replay *replay, const struct stream_block *block, size_t from,
                       size_t to)
{
    const struct trace_group *groups = block->groups;
    replay->block = block;
    replay->groups_filed = from;
    replay->groups_done = from;
    if (replay->request->pass != PASS_CHECK) {
        make_steps(replay, from, to);
    }
    start_clock(replay);
    bool taken = replay->pass->apply(replay, from, to);
    stop_clock(replay);
    if (to > from) {
        size_t end = groups[to - 1].first + groups[to - 1].count;
        if (replay->in_window && replay->loop == NULL) {
            replay->result->window_events += end - groups[from].first;
        }
        if (end > 0) {
            replay->next_event = stream_event(block, end - 1) + 1;
        }
    }
    if (replay->pass->file != NULL) {
        replay->pass->file(replay);
    }
    return taken;
}

/* List the reactions of a stretch as operations, for a structure that fires nothing. */
static const struct tape_section *find_all(struct replay *replay, const struct stretch *stretch)
{
    replay->all.outside_count = 0;
    for (size_t i = stretch->reaction; i < stretch->reaction_end; i++) {
        const struct stream_reaction *reaction = &replay->request->stream->reactions[i];
        tape_add_outside(&replay->all, stream_reaction_at(reaction, reaction_tick(replay, i)));
    }
    return &replay->all;
}

static bool run_external(struct replay *replay, const struct stretch *stretch)
{
    bool fires = (replay->algo->capabilities & TL_CAP_FIRES_NOTHING) == 0;
    const struct tape_section *section = !fires ? find_all(replay, stretch) : replay->section;
    struct made_block *made = &replay->executed;
    if (section != NULL && section->outside_count > 0) {
        block_make_executed(made, stretch->block, stretch->group, stretch->group_end, section,
                            replay->player != NULL && replay->service != NULL);
        replay->arrived = made->arrived;
        bool taken = run_groups(replay, &made->block, 0, made->block.group_count);
        replay->arrived = NULL;
        return taken;
    }
    /* The check also wakes up for these reactions if the structure may fire early. */
    replay->reaction = stretch->reaction;
    replay->reaction_end = stretch->reaction_end;
    return (stretch->group == stretch->group_end && replay->loop == NULL) ||
           run_groups(replay, stretch->block, stretch->group, stretch->group_end);
}

/* Return the tick of the stretch's last reaction if it is after its last group; otherwise 0. */
static uint64_t last_reaction_tick(const struct replay *replay, const struct stretch *stretch)
{
    if (stretch->reaction == stretch->reaction_end) {
        return 0;
    }
    uint64_t tick = reaction_tick(replay, stretch->reaction_end - 1);
    bool is_after = stretch->group == stretch->group_end ||
                    stretch->block->groups[stretch->group_end - 1].tick < tick;
    return is_after ? tick : 0;
}

/* Begin the next section of the tape, if there is one. */
static bool begin_section(struct replay *replay)
{
    if (replay->player == NULL) {
        return true;
    }
    replay->section = tape_play_section(replay->player, replay->error);
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
    if (replay->pass->section != NULL) {
        replay->pass->section(replay);
    }
    return true;
}

static bool end_section(struct replay *replay)
{
    if (replay->player != NULL) {
        replay->strayed |= replay->inside->firing != TAPE_NO_FIRING;
    } else {
        replay->broken =
            replay->recorder != NULL && !tape_record_section(replay->recorder, replay->error);
    }
    return !replay->broken && !replay->refused;
}

/* Run a stretch, then let time pass up to a tick, with the clock running inside the window; if
 * something `comes` there, move the clock to it. False: the structure refused an operation, or the
 * replay is broken. */
static bool run_stretch(struct replay *replay, const struct stretch *stretch, uint64_t tick,
                        bool comes)
{
    if (!begin_section(replay)) {
        return false;
    }
    bool taken = run_external(replay, stretch);
    if (taken && tick > 0) {
        start_clock(replay);
        replay->pass->pass_rest(replay, tick, comes);
        stop_clock(replay);
    }
    return end_section(replay) && taken;
}

/* Run the operations of a stretch. Expiries up to its last reaction belong to its section:
 * otherwise the next one grows without bound. */
static bool run_operations(struct replay *replay, const struct stretch *stretch)
{
    bool reacts = replay->loop != NULL || replay->player != NULL;
    return is_over(stretch) ||
           run_stretch(replay, stretch, reacts ? last_reaction_tick(replay, stretch) : 0, false);
}

/* Let time pass after the last operation of the trace, or of the window. */
static bool pass_rest(struct replay *replay, uint64_t tick)
{
    static const struct stream_block nothing;
    return run_stretch(replay, &(struct stretch){.block = &nothing}, tick, true);
}

/* --- the window ------------------------------------------------------------------------------- */

static uint64_t window_end(const struct replay *replay)
{
    const struct replay_window *window = &replay->request->window;
    uint64_t end_tick = replay->header.end_tick;
    return window->asked && window->to_tick < end_tick ? window->to_tick : end_tick;
}

/* The trace's own window begins with the next operations; a requested one at its first tick
 * exactly. */
static bool begin_window(struct replay *replay)
{
    const struct replay_window *window = &replay->request->window;
    uint64_t end_tick = replay->header.end_tick;
    if (window->asked && window->from_tick > 0) {
        uint64_t last_tick = window->from_tick - 1;
        if (!pass_rest(replay, last_tick < end_tick ? last_tick : end_tick)) {
            return false;
        }
    }
    count_window(replay);
    replay->in_window = true;
    replay->window_tick = replay->now;
    if (replay->request->pass == PASS_CHECK && replay->algo->counters != NULL) {
        /* At clock 0 no advance has been made yet. */
        work_begin(&replay->result->work, replay->now > 0 ? replay->now + 1 : 0, window_end(replay),
                   &replay->result->counters);
    }
    return true;
}

static bool finish_window(struct replay *replay)
{
    bool taken = pass_rest(replay, window_end(replay));
    count_window(replay);
    work_end(&replay->result->work);
    replay->in_window = false;
    replay->window_over = true;
    return taken;
}

/* Begin the window, or end it if it has begun. */
static bool pass_boundary(struct replay *replay)
{
    return replay->in_window ? finish_window(replay) : begin_window(replay);
}

/* Return the first tick that is not before the window, or not in it if it has begun; UINT64_MAX:
 * there is none. */
static uint64_t boundary(const struct replay *replay)
{
    const struct replay_window *window = &replay->request->window;
    if (replay->window_over || (replay->in_window && !window->asked)) {
        return UINT64_MAX;
    }
    return replay->in_window ? window->to_tick + 1
           : window->asked   ? window->from_tick
                             : replay->header.warmup_end_tick;
}

static bool run_block(struct replay *replay, const struct stream_block *block)
{
    struct stretch rest = {.block = block,
                           .group_end = block->group_count,
                           .reaction = block->reaction_begin,
                           .reaction_end = block->reaction_end};
    for (uint64_t tick; (tick = boundary(replay)) != UINT64_MAX;) {
        const struct stretch before = take_before(replay, &rest, tick);
        if (!run_operations(replay, &before)) {
            return false;
        }
        if (is_over(&rest)) {
            return true;
        }
        if (!pass_boundary(replay)) {
            return false;
        }
    }
    return run_operations(replay, &rest);
}

static bool run_trace(struct replay *replay)
{
    const struct stream *stream = replay->request->stream;
    for (size_t i = 0; i < stream->block_count; i++) {
        const struct stream_block *block = &stream->blocks[i];
        child_alive();
        if (replay->drive.pause_count > 0) {
            block_make_received(&replay->received, block, &replay->drive);
            block = &replay->received.block;
        }
        if (!run_block(replay, block)) {
            return false;
        }
    }
    while (!replay->window_over) {
        if (!pass_boundary(replay)) {
            return false;
        }
    }
    return pass_rest(replay, replay->header.end_tick);
}

/* --- from beginning to end -------------------------------------------------------------------- */

/* Prepare for the polling policy. False: not supported; the result has the reason. */
static bool take_drive(struct replay *replay)
{
    const struct replay_drive *drive = &replay->drive;
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
    replay->service = service_open(drive, replay->header.tick_ns);
    return true;
}

/* Open the tape of the closed loop. It is not needed without reactions, unless the policy postpones
 * operations or chooses the wakeups, nor for a structure that fires nothing. */
static bool open_tape(struct replay *replay)
{
    const struct replay_request *request = replay->request;
    uint64_t max_delay_ticks = replay->header.max_delay_ticks;
    bool checks = request->pass == PASS_CHECK;
    bool fires = (request->algo->capabilities & TL_CAP_FIRES_NOTHING) == 0;
    replay->result->exact = tl_algo_is_exact(request->algo, request->options, max_delay_ticks);
    if (!fires || (replay->header.reactions == 0 && replay->service == NULL &&
                   replay->drive.kind != DRIVE_SLACK)) {
        return true;
    }
    replay->may_be_early = tl_algo_may_be_early(request->algo, request->options, max_delay_ticks);
    if (request->tape == NULL) {
        return checks ||
               error_set(replay->error, "the reactions of the trace have not been determined");
    }
    struct tape_head *head = tape_head_open(request->tape, replay->error);
    *(checks ? &replay->recorder : &replay->player) = head;
    return head != NULL;
}

static bool run_pass(struct replay *replay)
{
    struct replay_result *result = replay->result;
    result->ids = replay->header.ids;
    tl_counting_allocator(&replay->memory, tl_system_allocator());
    replay->memory.limit_bytes = replay->request->memory_limit_bytes;
    if (!take_drive(replay)) {
        return true;
    }
    if (!open_tape(replay)) {
        return false;
    }
    replay->pass->open(replay);
    if (!replay_create(replay)) {
        return true;
    }
    if (!run_trace(replay)) {
        return !replay->broken;
    }
    result->digest = replay->tally.digest;
    result->named_digest =
        replay->request->names != NULL ? replay->named.digest : replay->tally.digest;
    if (replay->loop != NULL) {
        result->not_reached = replay->header.reactions - result->reactions;
    }
    if (replay->strayed) {
        replay_end(replay, REPLAY_FAULT,
                   "fired other timers than in the checked run, or in another order");
    }
    if (replay->pass->finish != NULL) {
        replay->pass->finish(replay);
    }
    return true;
}

bool replay_run(const struct replay_request *request, struct replay_result *result,
                struct error *error)
{
    static const struct pass *const passes[] = {
        [PASS_CHECK] = &check_pass,
        [PASS_THROUGHPUT] = &throughput_pass,
        [PASS_LATENCY] = &latency_pass,
        [PASS_RECOVERY] = &recovery_pass,
    };
    memset(result, 0, sizeof *result);
    struct replay replay = {.algo = request->algo,
                            .request = request,
                            .pass = passes[request->pass],
                            .result = result,
                            .error = error,
                            .drive = request->drive,
                            .header = request->stream->header};
    replay.drive.end_tick = replay.header.end_tick;
    if (replay.header.max_delay_ticks < request->max_delay_ticks) {
        replay.header.max_delay_ticks = request->max_delay_ticks;
    }
    bool done = run_pass(&replay);
    if (replay.self != NULL) {
        replay.algo->destroy(replay.self);
    }
    if (replay.pass->close != NULL) {
        replay.pass->close(&replay);
    }
    closed_loop_close(replay.loop);
    tape_head_close(replay.recorder);
    tape_head_close(replay.player);
    service_close(replay.service);
    block_release(&replay.received);
    block_release(&replay.executed);
    free(replay.step_room);
    free(replay.all.outside);
    return done;
}
