#include "timer_calls.h"

#include "memory.h"
#include "reorder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NO_ID UINT32_MAX

/* An expiry, at the tick at which an exact structure fires the timer. */
struct firing {
    uint64_t tick;
    uint64_t deadline_ns;
    uint64_t deadline_tick;
    uint64_t recorded_ns;
    uint32_t id; /* NO_ID: the timer was not pending, or not due at that time */
};

struct call_timer {
    uint64_t delay_ns;
    uint64_t slack_ns;
    uint64_t deadline_ns; /* of its last start, counted from the trace's tick 0 */
    uint64_t due_tick;    /* at which an exact structure fires it then */
    uint64_t last_tick;   /* of its last operation or expiry */
    uint64_t start_line;  /* where it was last started */
    struct firing firing; /* the last */
    uint32_t id;          /* NO_ID: never started */
    bool pending;
    bool renewed; /* its memory has become another timer */
    bool stopped; /* from outside: no structure holds it any more */
};

/* A start or stop that waits for its turn. */
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
    struct error *error; /* of the call under way: the reorder's callback cannot pass it on */
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

/* A time by the library's clock, which goes in steps. */
static uint64_t clock_ns(const struct timer_calls *calls, uint64_t time_ns)
{
    return time_ns - calls->base_ns - time_ns % calls->settings.clock_ns;
}

/* A delay after a time of that clock, by the same clock. */
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

/* Takes the held-back operations, in the order of their ticks. */
static bool write_operation(void *ctx, uint64_t tick, const void *event)
{
    struct timer_calls *calls = ctx;
    const struct operation *operation = event;
    uint64_t delay = operation->deadline_tick > tick ? operation->deadline_tick - tick : 0;
    struct recording *recording = calls->job->recording;
    if (recording != NULL) {
        recording_add_operation(recording, (struct recorded_operation){.line = operation->line});
    }
    return trace_writer_add_reaction(calls->writer, tick, operation->id, operation->op, delay,
                                     operation->cause, calls->error);
}

/* The tick of the last operation that was written: none goes before it. */
static uint64_t reached(const struct timer_calls *calls)
{
    const struct reorder_counts *order = reorder_counts(calls->reorder);
    return order->first_ns == UINT64_MAX ? 0 : order->last_ns;
}

/* The expiry that an operation on the timer can be put down to; NULL: it counts as external,
 * because it is, or because others that have to precede it come after that. */
static const struct firing *caused(struct timer_calls *calls, const struct call_timer *timer,
                                   const struct firing *firing)
{
    if (firing == NULL) {
        return NULL;
    }
    if (firing->id == NO_ID) {
        calls->counts.cause_unknown++;
        return NULL;
    }
    bool long_ago =
        tick_now(calls) > firing->tick && tick_now(calls) - firing->tick > moved_max_ticks(calls);
    if (long_ago || firing->tick < timer->last_tick || firing->tick < reached(calls)) {
        calls->counts.cause_crossed++;
        return NULL;
    }
    calls->counts.reactions++;
    return firing;
}

/* Puts an operation on a timer to the expiry that causes it, or to now if there is none. */
static bool put(struct timer_calls *calls, struct call_timer *timer, const struct firing *firing,
                struct operation operation, struct error *error)
{
    if (firing != NULL) {
        operation.cause.id = firing->id;
        timer->last_tick = firing->tick;
    } else {
        operation.cause = (struct trace_cause){.slack_ticks = operation.cause.slack_ticks};
        uint64_t tick = tick_now(calls) > reached(calls) ? tick_now(calls) : reached(calls);
        timer->last_tick = timer->last_tick > tick ? timer->last_tick : tick;
    }
    calls->counts.starts += operation.op == TRACE_START;
    calls->counts.stops += operation.op == TRACE_STOP;
    operation.id = timer->id;
    operation.line = calls->line;
    calls->error = error;
    return reorder_add(calls->reorder, timer->last_tick, &operation);
}

/* Whether what is started is another timer, in the memory of one that a late structure may still
 * hold, or that was still in use when an exact one begins this one. */
static bool needs_new_id(const struct call_timer *timer, const struct firing *firing)
{
    if (!timer->renewed || timer->pending) {
        return false;
    }
    if (firing == NULL || firing->id == NO_ID) {
        return !timer->stopped;
    }
    return firing->id != timer->id && (!timer->stopped || firing->tick <= timer->last_tick);
}

/* The time from which the delay of a start counts: the deadline of the expiry that causes it, or
 * now if there is none; of a prediction, when the callback began. */
static uint64_t counted_from_ns(const struct timer_calls *calls, const struct firing *firing,
                                uint64_t delay_ns, enum trace_basis basis)
{
    bool predicts = calls->job->recording != NULL && basis == TRACE_FIXED_DELAY;
    if (firing == NULL || basis == TRACE_ABSOLUTE) {
        return clock_ns(calls,
                        predicts && calls->round_ns > 0 ? calls->round_ns : calls->latest_ns);
    }
    if (predicts) {
        return clock_ns(calls, firing->recorded_ns);
    }
    if (calls->settings.follows_record && now_ns(calls) > firing->deadline_ns) {
        uint64_t behind_ns = now_ns(calls) - firing->deadline_ns;
        uint64_t least_ns = delay_ns / 100;
        least_ns = least_ns > calls->settings.tick_ns ? least_ns : calls->settings.tick_ns;
        return behind_ns > least_ns ? now_ns(calls) : firing->deadline_ns;
    }
    return firing->deadline_ns;
}

/* `firing` is the expiry in whose callback the call is made; NULL: in none. */
static bool start(struct timer_calls *calls, struct call_timer *timer, const struct firing *firing,
                  uint64_t delay_ns, enum trace_basis basis, struct error *error)
{
    struct timer_calls_counts *counts = &calls->counts;
    counts->addresses += timer->id == NO_ID;
    if (timer->id == NO_ID || needs_new_id(timer, firing)) {
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
    firing = caused(calls, timer, firing);
    timer->deadline_ns =
        deadline_ns(calls, counted_from_ns(calls, firing, delay_ns, basis), delay_ns);
    uint64_t slack = timer->slack_ns / calls->settings.tick_ns;
    struct operation operation = {.op = TRACE_START,
                                  .cause.basis = basis,
                                  .cause.slack_ticks =
                                      slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX,
                                  .deadline_tick = tick_after(calls, timer->deadline_ns)};
    if (firing != NULL && basis == TRACE_FIXED_RATE &&
        (firing->tick != firing->deadline_tick || operation.deadline_tick <= firing->tick)) {
        operation.cause.basis = TRACE_FIXED_DELAY; /* periods of less than a tick */
    }
    if (!put(calls, timer, firing, operation, error)) {
        return false;
    }
    timer->due_tick =
        operation.deadline_tick > timer->last_tick ? operation.deadline_tick : timer->last_tick + 1;
    return true;
}

static void end(struct timer_calls *calls, struct call_timer *timer)
{
    timer->pending = false;
    calls->counts.armed--;
}

static bool stop(struct timer_calls *calls, struct call_timer *timer, const struct firing *firing,
                 struct error *error)
{
    end(calls, timer);
    firing = caused(calls, timer, firing);
    timer->stopped = firing == NULL;
    return put(calls, timer, firing,
               (struct operation){.op = TRACE_STOP, .cause.basis = TRACE_FIXED_DELAY}, error);
}

static bool take_stop(struct timer_calls *calls, struct call_timer *timer,
                      const struct firing *firing, struct error *error)
{
    if (!timer->pending) {
        calls->counts.stop_not_armed++;
        return true;
    }
    calls->counts.cancel++;
    return stop(calls, timer, firing, error);
}

/* Whether now is when an exact structure fires the timer, as far as tick and clock tell. */
static bool on_time(const struct timer_calls *calls, const struct call_timer *timer)
{
    uint64_t grain_ns = calls->settings.clock_ns > calls->settings.tick_ns
                            ? calls->settings.clock_ns
                            : calls->settings.tick_ns;
    uint64_t due_ns = calls->base_ns + timer->due_tick * calls->settings.tick_ns;
    return due_ns / grain_ns == calls->latest_ns / grain_ns;
}

/* The timer's timeout has passed: what its callback does belongs to the tick at which an exact
 * structure fires it. `period_ns` is 0 if its library does not start it again. */
static bool take_expiry(struct timer_calls *calls, const struct timer_call *call,
                        struct call_timer *timer, uint64_t period_ns, struct error *error)
{
    struct timer_calls_counts *counts = &calls->counts;
    uint64_t tick = tick_now(calls);
    uint64_t away = timer->due_tick > tick ? timer->due_tick - tick : tick - timer->due_tick;
    bool near = away <= moved_max_ticks(calls);
    struct recording *recording = calls->job->recording;
    const struct recorded_expiry expiry = {
        .tick = tick, .line = call->line, .start_line = timer->start_line};
    if (recording != NULL) {
        recording_add_expiry(recording, expiry);
    }
    counts->expiry++;
    counts->expiry_on_time += on_time(calls, timer);
    counts->expiry_early += now_ns(calls) < timer->deadline_ns;
    counts->expiry_moved_too_far += !near;
    if (!near && timer->due_tick > tick && period_ns == 0) {
        /* The program called it by hand. */
        return stop(calls, timer, NULL, error);
    }
    if (near || timer->due_tick <= tick) {
        timer->last_tick = timer->due_tick;
        calls->last_due_tick =
            timer->due_tick > calls->last_due_tick ? timer->due_tick : calls->last_due_tick;
    }
    if (near) {
        timer->firing = (struct firing){.tick = timer->due_tick,
                                        .deadline_ns = timer->deadline_ns,
                                        .deadline_tick = tick_after(calls, timer->deadline_ns),
                                        .recorded_ns = calls->latest_ns,
                                        .id = timer->id};
    }
    if (period_ns == 0) {
        end(calls, timer);
        return true;
    }
    /* It is due again a period after its last deadline. If that has passed too, some libraries fire
     * it at once, others a period from now. */
    struct firing firing = timer->firing;
    counts->persist_rearm++;
    if (timer->deadline_ns + period_ns >= now_ns(calls)) {
        return start(calls, timer, &firing, period_ns, TRACE_FIXED_RATE, error);
    }
    return start(calls, timer, &firing, call->late_at_once ? 0 : period_ns, TRACE_ABSOLUTE, error);
}

static bool take_firing(struct timer_calls *calls, const struct timer_call *call,
                        struct call_timer *timer, struct error *error)
{
    uint64_t period_ns = call->delay_ns > 0 ? call->delay_ns : timer->delay_ns;
    bool repeats = call->repeats && period_ns > 0;
    timer->firing.id = NO_ID;
    if (!timer->pending) {
        calls->counts.expiry_unknown += call->timeout;
        return true;
    }
    if (call->timeout) {
        return take_expiry(calls, call, timer, repeats ? period_ns : 0, error);
    }
    if (call->repeats && !repeats) {
        return true; /* libevent lets a timeout of nothing run */
    }
    if (repeats) {
        calls->counts.persist_rearm++;
        return start(calls, timer, NULL, period_ns, TRACE_FIXED_DELAY, error);
    }
    calls->counts.cancel_by_io++;
    return stop(calls, timer, NULL, error);
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

static void reach(struct timer_calls *calls, uint32_t timer)
{
    if (timer == TIMER_CALLS_NO_TIMER) {
        return;
    }
    MEMORY_REACH(calls->timers, calls->timers_room, timer);
    for (; calls->timer_count <= timer; calls->timer_count++) {
        calls->timers[calls->timer_count] = (struct call_timer){.id = NO_ID, .firing.id = NO_ID};
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
    reach(calls, call->timer);
    reach(calls, call->cause);
    calls->line = call->line;
    calls->round_ns = call->round_ns;
    struct call_timer *timer = &calls->timers[call->timer];
    struct firing firing;
    const struct firing *by = NULL;
    if (call->cause != TIMER_CALLS_NO_TIMER) {
        firing = calls->timers[call->cause].firing;
        by = &firing;
    }
    switch (call->op) {
    case TIMER_CALL_START:
        calls->counts.rearm += timer->pending;
        calls->counts.arm += !timer->pending;
        timer->slack_ns = call->slack_ns;
        return start(calls, timer, by, call->delay_ns, TRACE_FIXED_DELAY, error);
    case TIMER_CALL_STOP:
        return take_stop(calls, timer, by, error);
    case TIMER_CALL_FIRE:
        return take_firing(calls, call, timer, error);
    case TIMER_CALL_RENEW:
    default:
        timer->renewed = true;
        return true;
    }
}

bool timer_calls_pass(struct timer_calls *calls, uint32_t timer, uint64_t time_ns)
{
    take_time(calls, time_ns);
    reach(calls, timer);
    struct call_timer *passed = &calls->timers[timer];
    if (!passed->pending || passed->due_tick > tick_now(calls)) {
        return false;
    }
    end(calls, passed);
    passed->last_tick = passed->last_tick > passed->due_tick ? passed->last_tick : passed->due_tick;
    passed->firing.id = NO_ID;
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
    calls->error = error;
    return reorder_finish(calls->reorder);
}

bool timer_calls_commit(struct timer_calls *calls, const char *origin, struct error *error)
{
    uint64_t last = tick_now(calls) > calls->last_due_tick ? tick_now(calls) : calls->last_due_tick;
    struct trace_writer *writer = calls->writer;
    calls->writer = NULL;
    return trace_writer_commit(writer, 0, last + 1, 0, origin, error);
}

const struct timer_calls_counts *timer_calls_counts(const struct timer_calls *calls)
{
    return &calls->counts;
}

uint64_t timer_calls_span_ns(const struct timer_calls *calls)
{
    return calls->latest_ns - calls->first_ns;
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
