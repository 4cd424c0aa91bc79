#include "timer_calls.h"

#include "memory.h"
#include "reorder.h"

#include <stdlib.h>

#define NO_ID UINT32_MAX

/* An expiry, at the tick at which an exact structure fires the timer. */
struct call_expiry {
    uint64_t tick;
    uint64_t deadline_ns;
    uint64_t deadline_tick;
    uint64_t recorded_ns;
    uint32_t id; /* NO_ID: the timer was not pending, or not due at that time */
};

struct call_timer {
    uint64_t delay_ns;
    uint64_t slack_ns;
    uint64_t deadline_ns;      /* of its last start, counted from the trace's tick 0 */
    uint64_t due_tick;         /* at which an exact structure fires it then */
    uint64_t last_tick;        /* of its last operation or expiry */
    uint64_t start_line;       /* where it was last started */
    struct call_expiry expiry; /* the last */
    uint32_t id;               /* NO_ID: never started */
    bool pending;
    bool renewed; /* its memory has become another timer */
    bool stopped; /* from outside: no structure holds it any more */
};

/* A start or stop in the reorder. */
struct operation {
    uint64_t deadline_tick;
    uint64_t line;
    struct trace_cause cause;
    uint32_t id;
    enum trace_op op;
};

struct timer_calls {
    const struct import_job *job;
    struct timer_calls_settings settings;
    struct call_timer *timers;
    uint32_t timer_count;
    uint32_t timers_room;
    uint64_t line; /* of the call under way */
    uint64_t round_ns;
    struct trace_writer *writer;
    struct reorder *reorder;
    bool begun;
    uint64_t first_ns;
    uint64_t base_ns; /* of the trace's tick 0 */
    uint64_t latest_ns;
    uint64_t last_due_tick; /* of all expiries */
    struct timer_calls_counts counts;
};

/* --- operations out --------------------------------------------------------------------------- */

static uint64_t now_ns(const struct timer_calls *calls)
{
    return calls->latest_ns - calls->base_ns;
}

/* Round a time down to a step of the library's clock. */
static uint64_t clock_ns(const struct timer_calls *calls, uint64_t time_ns)
{
    return time_ns - calls->base_ns - time_ns % calls->settings.clock_ns;
}

/* Add a delay to a time of that clock. */
static uint64_t deadline_ns(const struct timer_calls *calls, uint64_t from_ns, uint64_t delay_ns)
{
    uint64_t deadline = from_ns + delay_ns;
    uint64_t over_ns = (calls->base_ns + deadline) % calls->settings.clock_ns;
    return over_ns == 0 ? deadline : deadline + (calls->settings.clock_ns - over_ns);
}

static uint64_t tick_now(const struct timer_calls *calls)
{
    return now_ns(calls) / calls->settings.tick_ns;
}

/* The first tick that is not before a time. */
static uint64_t tick_after(const struct timer_calls *calls, uint64_t time_ns)
{
    return time_ns / calls->settings.tick_ns + (time_ns % calls->settings.tick_ns != 0);
}

static uint64_t moved_max_ticks(const struct timer_calls *calls)
{
    return tick_after(calls, TIMER_CALLS_MOVED_MAX_NS);
}

/* Write the operations in the order of their ticks. */
static bool write_operation(void *ctx, uint64_t tick, const void *event, struct error *error)
{
    struct timer_calls *calls = ctx;
    const struct operation *operation = event;
    uint64_t delay = operation->deadline_tick > tick ? operation->deadline_tick - tick : 0;
    struct recording *recording = calls->job->recording;
    if (recording != NULL) {
        recording_add_operation(recording, (struct recorded_operation){.line = operation->line});
    }
    return trace_writer_add_reaction(calls->writer, tick, operation->id, operation->op, delay,
                                     operation->cause, error);
}

/* Return the tick of the last written operation; no later one may precede it. */
static uint64_t reached(const struct timer_calls *calls)
{
    return reorder_counts(calls->reorder)->last_ns;
}

/* Return the expiry that causes an operation on the timer. NULL: the operation is external, or
 * counts as such, because others that must precede it come after the expiry. */
static const struct call_expiry *count_cause(struct timer_calls *calls,
                                             const struct call_timer *timer,
                                             const struct call_expiry *expiry)
{
    if (expiry == NULL) {
        return NULL;
    }
    if (expiry->id == NO_ID) {
        calls->counts.cause_unknown++;
        return NULL;
    }
    bool long_ago =
        tick_now(calls) > expiry->tick && tick_now(calls) - expiry->tick > moved_max_ticks(calls);
    if (long_ago || expiry->tick < timer->last_tick || expiry->tick < reached(calls)) {
        calls->counts.cause_crossed++;
        return NULL;
    }
    calls->counts.reactions++;
    return expiry;
}

/* Place an operation at the expiry that causes it, or now if there is none. */
static bool place_operation(struct timer_calls *calls, struct call_timer *timer,
                            const struct call_expiry *expiry, struct operation operation,
                            struct error *error)
{
    if (expiry != NULL) {
        operation.cause.id = expiry->id;
        timer->last_tick = expiry->tick;
    } else {
        operation.cause = (struct trace_cause){.slack_ticks = operation.cause.slack_ticks};
        uint64_t tick = tick_now(calls) > reached(calls) ? tick_now(calls) : reached(calls);
        timer->last_tick = timer->last_tick > tick ? timer->last_tick : tick;
    }
    calls->counts.starts += operation.op == TRACE_START;
    calls->counts.stops += operation.op == TRACE_STOP;
    operation.id = timer->id;
    operation.line = calls->line;
    return reorder_add(calls->reorder, timer->last_tick, &operation, error);
}

/* Whether a start begins another timer in the memory of one that a late structure may still hold,
 * or that was still in use at the tick at which an exact structure begins the new one. */
static bool needs_new_id(const struct call_timer *timer, const struct call_expiry *expiry)
{
    if (!timer->renewed || timer->pending) {
        return false;
    }
    if (expiry == NULL || expiry->id == NO_ID) {
        return !timer->stopped;
    }
    return expiry->id != timer->id && (!timer->stopped || expiry->tick <= timer->last_tick);
}

/* Return the time from which the delay of a start counts: the deadline of the expiry that causes
 * it, or now if there is none; of a prediction, the begin of the callback. */
static uint64_t counted_from_ns(const struct timer_calls *calls, const struct call_expiry *expiry,
                                uint64_t delay_ns, enum trace_basis basis)
{
    bool predicts = calls->job->recording != NULL && basis == TRACE_FIXED_DELAY;
    if (expiry == NULL || basis == TRACE_ABSOLUTE) {
        return clock_ns(calls,
                        predicts && calls->round_ns > 0 ? calls->round_ns : calls->latest_ns);
    }
    if (predicts) {
        return clock_ns(calls, expiry->recorded_ns);
    }
    if (calls->settings.follows_record && now_ns(calls) > expiry->deadline_ns) {
        uint64_t behind_ns = now_ns(calls) - expiry->deadline_ns;
        uint64_t least_ns = delay_ns / 100;
        least_ns = least_ns > calls->settings.tick_ns ? least_ns : calls->settings.tick_ns;
        return behind_ns > least_ns ? now_ns(calls) : expiry->deadline_ns;
    }
    return expiry->deadline_ns;
}

/* The callback of the expiry `expiry` makes the call; NULL: none does. */
static bool start_timer(struct timer_calls *calls, struct call_timer *timer,
                        const struct call_expiry *expiry, uint64_t delay_ns, enum trace_basis basis,
                        struct error *error)
{
    struct timer_calls_counts *counts = &calls->counts;
    counts->addresses += timer->id == NO_ID;
    if (timer->id == NO_ID || needs_new_id(timer, expiry)) {
        timer->id = (uint32_t)calls->counts.ids++;
        timer->last_tick = 0;
    }
    if (!timer->pending && ++counts->armed > counts->max_armed) {
        counts->max_armed = counts->armed;
    }
    timer->renewed = false;
    timer->stopped = false;
    timer->pending = true;
    timer->delay_ns = delay_ns;
    timer->start_line = calls->line;
    expiry = count_cause(calls, timer, expiry);
    timer->deadline_ns =
        deadline_ns(calls, counted_from_ns(calls, expiry, delay_ns, basis), delay_ns);
    uint64_t slack = timer->slack_ns / calls->settings.tick_ns;
    struct operation operation = {.op = TRACE_START,
                                  .cause.basis = basis,
                                  .cause.slack_ticks =
                                      slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX,
                                  .deadline_tick = tick_after(calls, timer->deadline_ns)};
    if (expiry != NULL && basis == TRACE_FIXED_RATE &&
        (expiry->tick != expiry->deadline_tick || operation.deadline_tick <= expiry->tick)) {
        operation.cause.basis = TRACE_FIXED_DELAY; /* periods of less than a tick */
    }
    if (!place_operation(calls, timer, expiry, operation, error)) {
        return false;
    }
    timer->due_tick =
        operation.deadline_tick > timer->last_tick ? operation.deadline_tick : timer->last_tick + 1;
    return true;
}

static void end_timer(struct timer_calls *calls, struct call_timer *timer)
{
    timer->pending = false;
    calls->counts.armed--;
}

static bool stop_timer(struct timer_calls *calls, struct call_timer *timer,
                       const struct call_expiry *expiry, struct error *error)
{
    end_timer(calls, timer);
    expiry = count_cause(calls, timer, expiry);
    timer->stopped = expiry == NULL;
    return place_operation(calls, timer, expiry,
                           (struct operation){.op = TRACE_STOP, .cause.basis = TRACE_FIXED_DELAY},
                           error);
}

static bool take_stop(struct timer_calls *calls, struct call_timer *timer,
                      const struct call_expiry *expiry, struct error *error)
{
    if (!timer->pending) {
        calls->counts.stop_not_armed++;
        return true;
    }
    calls->counts.cancel++;
    return stop_timer(calls, timer, expiry, error);
}

/* Whether an exact structure fires the timer now, to the precision of tick and clock. */
static bool on_time(const struct timer_calls *calls, const struct call_timer *timer)
{
    uint64_t grain_ns = calls->settings.clock_ns > calls->settings.tick_ns
                            ? calls->settings.clock_ns
                            : calls->settings.tick_ns;
    uint64_t due_ns = calls->base_ns + timer->due_tick * calls->settings.tick_ns;
    return due_ns / grain_ns == calls->latest_ns / grain_ns;
}

/* The timer's timeout has passed: the operations of its callback are placed at the tick at which an
 * exact structure fires it. `period_ns` is 0 if its library does not start it again. */
static bool take_expiry(struct timer_calls *calls, const struct timer_call *call,
                        struct call_timer *timer, uint64_t period_ns, struct error *error)
{
    struct timer_calls_counts *counts = &calls->counts;
    uint64_t tick = tick_now(calls);
    uint64_t away = timer->due_tick > tick ? timer->due_tick - tick : tick - timer->due_tick;
    bool near = away <= moved_max_ticks(calls);
    struct recording *recording = calls->job->recording;
    const struct recorded_expiry recorded = {
        .tick = tick, .line = call->line, .start_line = timer->start_line};
    if (recording != NULL) {
        recording_add_expiry(recording, recorded);
    }
    counts->expiry++;
    counts->expiry_on_time += on_time(calls, timer);
    counts->expiry_early += now_ns(calls) < timer->deadline_ns;
    counts->expiry_moved_too_far += !near;
    if (!near && timer->due_tick > tick && period_ns == 0) {
        /* The program called it by hand. */
        return stop_timer(calls, timer, NULL, error);
    }
    if (near || timer->due_tick <= tick) {
        timer->last_tick = timer->due_tick;
        calls->last_due_tick =
            timer->due_tick > calls->last_due_tick ? timer->due_tick : calls->last_due_tick;
    }
    if (near) {
        timer->expiry = (struct call_expiry){.tick = timer->due_tick,
                                             .deadline_ns = timer->deadline_ns,
                                             .deadline_tick = tick_after(calls, timer->deadline_ns),
                                             .recorded_ns = calls->latest_ns,
                                             .id = timer->id};
    }
    if (period_ns == 0) {
        end_timer(calls, timer);
        return true;
    }
    /* It is due again a period after its last deadline. If that has passed too, some libraries fire
     * it at once, others a period from now. */
    struct call_expiry expiry = timer->expiry;
    counts->persist_rearm++;
    if (timer->deadline_ns + period_ns >= now_ns(calls)) {
        return start_timer(calls, timer, &expiry, period_ns, TRACE_FIXED_RATE, error);
    }
    return start_timer(calls, timer, &expiry, call->late_at_once ? 0 : period_ns, TRACE_ABSOLUTE,
                       error);
}

static bool take_fire(struct timer_calls *calls, const struct timer_call *call,
                      struct call_timer *timer, struct error *error)
{
    uint64_t period_ns = call->delay_ns > 0 ? call->delay_ns : timer->delay_ns;
    bool repeats = call->repeats && period_ns > 0;
    timer->expiry.id = NO_ID;
    if (!timer->pending) {
        calls->counts.expiry_unknown += call->timeout;
        return true;
    }
    if (call->timeout) {
        return take_expiry(calls, call, timer, repeats ? period_ns : 0, error);
    }
    if (call->repeats && !repeats) {
        return true; /* libevent does not restart a timeout of 0 */
    }
    if (repeats) {
        calls->counts.persist_rearm++;
        return start_timer(calls, timer, NULL, period_ns, TRACE_FIXED_DELAY, error);
    }
    calls->counts.cancel_by_io++;
    return stop_timer(calls, timer, NULL, error);
}

/* --- the calls -------------------------------------------------------------------------------- */

static void take_time(struct timer_calls *calls, uint64_t time_ns)
{
    if (!calls->begun) {
        calls->begun = true;
        calls->first_ns = time_ns;
        calls->base_ns = time_ns - time_ns % calls->settings.clock_ns;
        calls->base_ns -= calls->base_ns % calls->settings.tick_ns;
        calls->latest_ns = time_ns;
    }
    if (time_ns < calls->latest_ns) {
        calls->counts.time_goes_back++;
    } else {
        calls->latest_ns = time_ns;
    }
}

static void reach_timer(struct timer_calls *calls, uint32_t timer)
{
    if (timer == TIMER_CALLS_NO_TIMER) {
        return;
    }
    MEMORY_REACH(calls->timers, calls->timers_room, timer);
    for (; calls->timer_count <= timer; calls->timer_count++) {
        calls->timers[calls->timer_count] = (struct call_timer){.id = NO_ID, .expiry.id = NO_ID};
    }
}

struct timer_calls *timer_calls_open(const struct import_job *job,
                                     const struct timer_calls_settings *settings,
                                     struct error *error)
{
    struct timer_calls *calls = memory_new(1, sizeof *calls);
    calls->job = job;
    calls->settings = *settings;
    calls->reorder = reorder_create(2 * (moved_max_ticks(calls) + 1), sizeof(struct operation),
                                    write_operation, calls);
    calls->writer = trace_writer_open(job->output, settings->tick_ns, error);
    if (calls->writer == NULL) {
        timer_calls_close(calls);
        return NULL;
    }
    if (job->recording != NULL) {
        job->recording->grain_ticks =
            settings->clock_ns > settings->tick_ns ? settings->clock_ns / settings->tick_ns : 1;
    }
    trace_writer_declare_causes(calls->writer);
    return calls;
}

bool timer_calls_add(struct timer_calls *calls, const struct timer_call *call, struct error *error)
{
    take_time(calls, call->time_ns);
    reach_timer(calls, call->timer);
    reach_timer(calls, call->cause);
    calls->line = call->line;
    calls->round_ns = call->round_ns;
    struct call_timer *timer = &calls->timers[call->timer];
    struct call_expiry expiry;
    const struct call_expiry *by = NULL;
    if (call->cause != TIMER_CALLS_NO_TIMER) {
        expiry = calls->timers[call->cause].expiry;
        by = &expiry;
    }
    switch (call->op) {
    case TIMER_RECORD_START:
        calls->counts.rearm += timer->pending;
        calls->counts.arm += !timer->pending;
        timer->slack_ns = call->slack_ns;
        return start_timer(calls, timer, by, call->delay_ns, TRACE_FIXED_DELAY, error);
    case TIMER_RECORD_STOP:
        return take_stop(calls, timer, by, error);
    case TIMER_RECORD_FIRE:
        return take_fire(calls, call, timer, error);
    case TIMER_RECORD_INIT:
    case TIMER_RECORD_NOTHING:
    default:
        timer->renewed = true;
        return true;
    }
}

bool timer_calls_pass(struct timer_calls *calls, uint32_t timer, uint64_t time_ns)
{
    take_time(calls, time_ns);
    reach_timer(calls, timer);
    struct call_timer *passed = &calls->timers[timer];
    if (!passed->pending || passed->due_tick > tick_now(calls)) {
        return false;
    }
    end_timer(calls, passed);
    passed->last_tick = passed->last_tick > passed->due_tick ? passed->last_tick : passed->due_tick;
    passed->expiry.id = NO_ID;
    return true;
}

uint64_t timer_calls_deadline_ns(const struct timer_calls *calls, uint32_t timer)
{
    return timer < calls->timer_count && calls->timers[timer].pending
               ? calls->base_ns + calls->timers[timer].deadline_ns
               : UINT64_MAX;
}

uint64_t timer_calls_delay_ns(const struct timer_calls *calls, uint32_t timer)
{
    return timer < calls->timer_count ? calls->timers[timer].delay_ns : 0;
}

bool timer_calls_finish(struct timer_calls *calls, struct error *error)
{
    return reorder_take_until(calls->reorder, UINT64_MAX, error);
}

void timer_calls_end(struct timer_calls *calls, struct import_summary *summary)
{
    uint64_t last = tick_now(calls) > calls->last_due_tick ? tick_now(calls) : calls->last_due_tick;
    summary->writer = calls->writer;
    calls->writer = NULL;
    summary->end_tick = last + 1;
    summary->span_ns = calls->latest_ns - calls->first_ns;
    summary->tick_ns = calls->settings.tick_ns;
    summary->reactions = calls->counts.reactions;
    summary->starts = calls->counts.starts;
    summary->stops = calls->counts.stops;
    summary->timers = calls->counts.ids;
}

const struct timer_calls_counts *timer_calls_counts(const struct timer_calls *calls)
{
    return &calls->counts;
}

void timer_calls_close(struct timer_calls *calls)
{
    if (calls == NULL) {
        return;
    }
    trace_writer_abort(calls->writer);
    reorder_destroy(calls->reorder);
    free(calls->timers);
    free(calls);
}
