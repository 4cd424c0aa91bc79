/* The check pass: the oracle checks every operation and expiry, and work is counted. At the end the
 * pending timers are driven to their expiry and checked as well. */
#include "due.h"
#include "memory.h"
#include "replay_pass.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- slack ----------------------------------------------------------------------------------- */

static void slack_open(struct replay *replay)
{
    const struct tl_config config = {.capacity = replay->header.ids,
                                     .allocator = tl_system_allocator()};
    replay->slack_heap = tl_registry_find("binary-heap")->timed;
    if (replay->slack_heap->create(&config, &replay->slack) != TL_OK) {
        memory_end();
    }
}

static void slack_started(const struct replay *replay, const struct stream_operation *operation)
{
    const uint32_t *slacks = replay->request->stream->slacks;
    if (replay->slack_heap != NULL) {
        uint64_t due = due_in_replay(operation->tick, operation->deadline);
        (void)replay->slack_heap->start(
            replay->slack, operation->id,
            due_deadline(due, slacks != NULL ? slacks[operation->event] : 0));
    }
}

static void slack_ended(const struct replay *replay, uint32_t id)
{
    if (replay->slack_heap != NULL && id < replay->header.ids) {
        (void)replay->slack_heap->stop(replay->slack, id);
    }
}

/* --- when operations become durable ----------------------------------------------------------- */

static void add_tick(struct acknowledged *acknowledged, struct acknowledged_tick tick)
{
    /* Only if half of the array is free: then moving is amortized. */
    if (acknowledged->begin > acknowledged->room / 2 && acknowledged->end == acknowledged->room) {
        acknowledged->end -= acknowledged->begin;
        memmove(acknowledged->waiting, acknowledged->waiting + acknowledged->begin,
                acknowledged->end * sizeof *acknowledged->waiting);
        acknowledged->begin = 0;
    }
    MEMORY_REACH(acknowledged->waiting, acknowledged->room, acknowledged->end);
    acknowledged->waiting[acknowledged->end++] = tick;
}

static void has_waited(struct acknowledged *acknowledged, uint64_t ticks)
{
    acknowledged->max_ticks = ticks > acknowledged->max_ticks ? ticks : acknowledged->max_ticks;
}

void acknowledged_look(struct acknowledged *acknowledged, uint64_t tick,
                       const struct tl_durability *durability)
{
    if (durability->sequence > acknowledged->seen) {
        const struct acknowledged_tick given = {acknowledged->seen + 1, tick};
        add_tick(acknowledged, given);
        acknowledged->seen = durability->sequence;
    }
    while (acknowledged->begin < acknowledged->end) {
        const struct acknowledged_tick *oldest = &acknowledged->waiting[acknowledged->begin];
        bool is_last = acknowledged->begin + 1 == acknowledged->end;
        uint64_t next = is_last ? acknowledged->seen + 1 : oldest[1].first;
        if (durability->durable_sequence < oldest->first) {
            return;
        }
        has_waited(acknowledged, tick - oldest->tick);
        if (durability->durable_sequence + 1 < next) {
            return;
        }
        acknowledged->begin++;
    }
    acknowledged->begin = 0;
    acknowledged->end = 0;
}

void acknowledged_finish(struct acknowledged *acknowledged, uint64_t tick)
{
    if (acknowledged->begin < acknowledged->end) {
        has_waited(acknowledged, tick - acknowledged->waiting[acknowledged->begin].tick);
    }
}

void acknowledged_release(struct acknowledged *acknowledged)
{
    free(acknowledged->waiting);
    *acknowledged = (struct acknowledged){0};
}

void check_durable(struct replay *replay, uint64_t tick)
{
    struct tl_durability durability;
    if (replay_is_durable(replay->algo) && !replay->draining) {
        replay->algo->durability(replay->self, &durability);
        acknowledged_look(&replay->acknowledged, tick, &durability);
    }
}

/* --- work ------------------------------------------------------------------------------------ */

/* Return false if the structure does not count its work, or outside the window. */
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

static void keep_operations_work(struct replay *replay, uint64_t tick)
{
    struct tl_counters counted;
    if (read_work(replay, &counted)) {
        work_add_operations(&replay->result->work, tick, &counted);
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

static void check_fired(void *ctx, uint32_t id, uint64_t now)
{
    struct replay *replay = ctx;
    oracle_fired(replay->oracle, id, now);
    slack_ended(replay, id);
    if (replay->draining) {
        return;
    }
    tally_add(&replay->tally, id, now);
    if (replay->request->names != NULL && id < replay->header.ids) {
        tally_add(&replay->named, replay->request->names[id], now);
    }
    tape_record_firing(replay->recorder);
    if (replay->loop != NULL && id < replay->header.ids) {
        closed_loop_fired(replay->loop, id, now);
    }
}

/* Apply an operation and report it to the oracle. False if the structure refused it. */
static bool do_operation(struct replay *replay, const struct stream_operation *operation)
{
    bool starts = operation->op == TRACE_START;
    enum tl_status status =
        starts ? replay->algo->start(replay->self, operation->id, operation->deadline)
               : replay->algo->stop(replay->self, operation->id);
    if (status > TL_IDLE) {
        replay_refuse(replay, operation->event, operation->deadline, status);
        return false;
    }
    oracle_operated(replay->oracle, operation, status);
    if (starts) {
        slack_started(replay, operation);
    } else {
        slack_ended(replay, operation->id);
    }
    if (replay->in_window && replay->loop != NULL) {
        replay->result->window_events++;
    }
    return true;
}

static void check_carry(void *ctx, const struct stream_operation *operation)
{
    struct replay *replay = ctx;
    if (replay->refused) {
        return;
    }
    /* The work so far is the advance's, the work from here on the operation's. */
    keep_tick_work(replay, operation->tick, 0);
    if (!do_operation(replay, operation)) {
        return;
    }
    replay->result->reactions++;
    keep_operations_work(replay, operation->tick);
    struct tally executed = {.digest = replay->result->operations_digest};
    tally_add(&executed, operation->id, operation->deadline + 3 * operation->event);
    replay->result->operations_digest = executed.digest;
    tape_record(replay->recorder, operation);
}

static inline __attribute__((always_inline)) uint64_t advance_checked(struct replay *replay,
                                                                      uint64_t tick)
{
    struct closed_loop *loop = replay->draining ? NULL : replay->loop;
    replay->now = tick;
    if (loop != NULL) {
        closed_loop_advancing(loop, tick);
    }
    /* The timers left at the end expire without other work. */
    uint64_t budget = replay->draining ? TL_NO_BUDGET : replay->budget;
    oracle_advancing(replay->oracle, tick, budget, replay->draining);
    uint64_t fired = replay->algo->advance(replay->self, tick, budget, check_fired, replay);
    keep_tick_work(replay, tick, fired);
    check_durable(replay, tick);
    if (loop != NULL) {
        closed_loop_advanced(loop, tick);
    }
    return fired;
}

static inline void pass_time_checked(struct replay *replay, uint64_t tick, bool comes)
{
    (void)pass_time(replay, tick, comes, advance_checked);
    /* The last call of `next` belongs to this tick as well. */
    keep_tick_work(replay, tick, 0);
}

/* Return whether an external operation is applied; otherwise it is superseded. */
static bool is_done(struct replay *replay, const struct stream_operation *operation)
{
    bool done = replay->loop == NULL || closed_loop_external(replay->loop, operation);
    if (!done) {
        tape_record_outside(replay->recorder, TAPE_SUPERSEDED, operation->tick, operation->event);
    }
    return done;
}

/* Let time pass up to a group, and return the tick at which the loop is free to apply it. */
static uint64_t wait_until_free(struct replay *replay, const struct trace_group *group)
{
    if (replay->service == NULL) {
        return group->tick;
    }
    pass_time_checked(replay, group->tick, false);
    uint64_t tick = drive_awake(&replay->drive, service_applies(replay->service, group->tick));
    if (replay->recorder != NULL) {
        pass_time_checked(replay, tick, true); /* postponed reactions come first */
        tape_record_outside(replay->recorder, TAPE_APPLIED, tick,
                            stream_event(replay->block, group->first));
    }
    return tick;
}

/* Prefetch the memory of timers this many operations ahead. */
#define FETCH_AHEAD 16u

static void fetch(const struct replay *replay, size_t at)
{
    if (at < replay->block->record_count) {
        uint32_t id = replay->block->records[at].id;
        oracle_fetch(replay->oracle, id);
        if (replay->loop != NULL) {
            closed_loop_fetch(replay->loop, id);
        }
    }
}

/* Let time pass, and return whether the loop wakes up for a reaction: only if it waits there,
 * because an additional advance may change when a structure fires. */
static bool wakes_for(struct replay *replay, const struct stream_reaction *reaction, uint64_t tick)
{
    pass_time_checked(replay, tick, false);
    if (replay->loop == NULL || replay->now >= tick || !closed_loop_waits(replay->loop, reaction)) {
        return false;
    }
    replay->wakeups += replay->slack_heap != NULL;
    tape_record_outside(replay->recorder, TAPE_WAKEUP, tick, 0);
    return true;
}

/* Wake up at the ticks of reactions before `tick`, for a structure that may have fired their causes
 * early. */
static void come_round(struct replay *replay, uint64_t tick)
{
    for (; replay->reaction < replay->reaction_end; replay->reaction++) {
        const struct stream_reaction *reaction =
            &replay->request->stream->reactions[replay->reaction];
        uint64_t at = drive_awake(&replay->drive, reaction->tick);
        if (at >= tick) {
            return;
        }
        if (wakes_for(replay, reaction, at)) {
            pass_time_checked(replay, at, true);
            check_durable(replay, at);
        }
    }
}

/* Apply the operations of a group. False if the structure refused one. */
static bool check_group(struct replay *replay, const struct trace_group *group)
{
    uint64_t tick = wait_until_free(replay, group);
    pass_time_checked(replay, tick, true);
    bool taken = !replay->refused;
    for (uint32_t i = group->first; i < group->first + group->count && taken; i++) {
        fetch(replay, i + FETCH_AHEAD);
        const struct trace_record record = due_later(&replay->block->records[i], group->tick, tick);
        const struct stream_operation operation = {.event = stream_event(replay->block, i),
                                                   .tick = tick,
                                                   .deadline = record.deadline,
                                                   .id = record.id,
                                                   .op = record.op};
        taken = !is_done(replay, &operation) || do_operation(replay, &operation);
    }
    keep_operations_work(replay, replay->now);
    check_durable(replay, tick);
    return taken && !replay->refused;
}

static bool check_groups(struct replay *replay, size_t from, size_t to)
{
    bool taken = true;
    for (size_t i = from; i < to && taken; i++) {
        if (replay->may_be_early) {
            come_round(replay, replay->block->groups[i].tick);
        }
        taken = check_group(replay, &replay->block->groups[i]);
    }
    if (replay->may_be_early && taken) {
        come_round(replay, UINT64_MAX);
    }
    return taken && !replay->refused;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* A structure without `next` is driven tick by tick. After this many ticks without an expiry it is
 * given up: its declared lateness may be too long to wait for. */
#define IDLE_TICKS_MAX (UINT64_C(1) << 24)

/* Advance at the ticks at which one of the timers may still fire, except those that `next` omits,
 * until none is pending. False if it was given up; the result has the reason. */
static bool drain_window(struct replay *replay, const struct due_window *window)
{
    const struct replay_drive *drive = &replay->drive;
    bool has_next = (replay->algo->capabilities & TL_CAP_NEXT) != 0;
    uint64_t chance = drive_chance(drive, window->last);
    uint64_t tick = due_in_replay(replay->now, window->first);
    uint64_t pending = replay->result->verdict.pending;
    uint64_t idle_ticks = 0;
    while (pending > 0 && (tick = drive_chance(drive, tick)) <= chance) {
        uint64_t wake = has_next ? replay->algo->next(replay->self) : tick;
        if (wake <= tick) {
            (void)round_to(replay, tick, advance_checked);
            wake = tick + 1;
            idle_ticks = replay->result->verdict.pending == pending ? idle_ticks + 1 : 0;
            pending = replay->result->verdict.pending;
        }
        if (!has_next && idle_ticks == IDLE_TICKS_MAX) {
            replay_end(replay, REPLAY_UNSUPPORTED,
                       "%" PRIu64 " timers are pending at tick %" PRIu64 ", %" PRIu64
                       " ticks after the trace's end; it has no `next`, and declares that they "
                       "may fire until tick %" PRIu64,
                       pending, tick, tick - drive->end_tick, chance);
            return false;
        }
        tick = wake;
    }
    return true;
}

/* Windows of many timers would take as much memory as the oracle, so only some are listed at
 * once. */
static size_t windows_at_once(uint64_t pending)
{
    enum { FEW = 1 << 17, SHARE = 16 };
    return pending / SHARE > FEW ? (size_t)(pending / SHARE) : FEW;
}

/* Drive the pending timers to their expiry, outside the timed window, skipping the empty ticks,
 * which may be years. False if it was given up. */
static bool drain(struct replay *replay)
{
    const struct oracle *oracle = replay->oracle;
    size_t room = windows_at_once(replay->result->verdict.pending);
    struct due_window *windows = memory_new(room, sizeof *windows);
    size_t count = oracle_due_windows(oracle, 0, windows, room);
    replay->draining = true;
    if (replay->used_up) {
        (void)round_to(replay, drive_awake(&replay->drive, replay->now + 1), advance_checked);
    }
    bool drained = true;
    while (count > 0 && drained) {
        for (size_t i = 0; i < count && drained; i++) {
            drained = drain_window(replay, &windows[i]);
        }
        count = oracle_due_windows(oracle, windows[count - 1].first + 1, windows, room);
    }
    free(windows);
    return drained;
}

/* Drain, then check the structure's own count and invariants. */
static void judge_end(struct replay *replay)
{
    struct replay_result *result = replay->result;
    char why[200];
    uint64_t counted = replay->algo->count(replay->self);
    uint64_t pending = replay->result->verdict.pending;
    /* Expiries trigger nothing from here on: free the memory. */
    closed_loop_close(replay->loop);
    replay->loop = NULL;
    if (!drain(replay)) {
        return;
    }
    oracle_finish(replay->oracle, replay->now);
    const struct verdict *verdict = &result->verdict;
    if (verdict->fault_count > 0) {
        const struct fault *fault = &verdict->first[0];
        replay_end(replay, REPLAY_FAULT,
                   "%" PRIu64 " faults; first: timer %" PRIu64 " at tick %" PRIu64 ": %s",
                   verdict->fault_count, fault->id, fault->tick, fault->detail);
    } else if (counted != pending) {
        replay_end(replay, REPLAY_FAULT,
                   "count says %" PRIu64 " pending at the end tick, where %" PRIu64 " are", counted,
                   pending);
    } else if (replay->algo->check != NULL &&
               replay->algo->check(replay->self, why, sizeof why) != TL_OK) {
        replay_end(replay, REPLAY_FAULT, "its own check: %s", why);
    }
}

static void finish_check(struct replay *replay)
{
    bool judged = (replay->algo->capabilities & TL_CAP_FIRES_NOTHING) == 0;
    acknowledged_finish(&replay->acknowledged, replay->header.end_tick);
    replay->result->acknowledged_max_ticks = replay->acknowledged.max_ticks;
    if (judged) {
        judge_end(replay);
    }
    replay->result->bytes_peak = replay->memory.peak_bytes;
    replay->result->bytes_drained = replay->memory.bytes;
}

static void open_check(struct replay *replay)
{
    const struct replay_request *request = replay->request;
    bool fires = (request->algo->capabilities & TL_CAP_FIRES_NOTHING) == 0;
    bool slack = replay->drive.kind == DRIVE_SLACK && fires;
    const struct oracle_plan plan = {.algo = request->algo,
                                     .options = request->options,
                                     .ids = replay->header.ids,
                                     .events = replay->header.events,
                                     .names = request->names,
                                     .drive = &replay->drive,
                                     .service = replay->service,
                                     .slacks = slack ? request->stream->slacks : NULL};
    replay->oracle = oracle_create(&plan, &replay->result->verdict);
    if (slack) {
        slack_open(replay);
    }
    const struct closed_loop_plan loop_plan = {
        .stream = request->stream,
        /* With any other policy it fires timers of different due ticks at once. */
        .exact = replay->plain && replay->result->exact,
        .carry = check_carry,
        .ctx = replay,
    };
    replay->loop = fires && replay->header.reactions > 0 ? closed_loop_open(&loop_plan) : NULL;
}

static void close_check(struct replay *replay)
{
    oracle_destroy(replay->oracle);
    acknowledged_release(&replay->acknowledged);
    if (replay->slack_heap != NULL) {
        replay->slack_heap->destroy(replay->slack);
    }
}

const struct pass check_pass = {
    .open = open_check,
    .apply = check_groups,
    .pass_rest = pass_time_checked,
    .finish = finish_check,
    .close = close_check,
};
