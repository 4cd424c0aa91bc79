#include "timer_model.h"

#include "import_tally.h"
#include "memory.h"
#include "reorder.h"
#include "trace.h"

#include <stdlib.h>

#define NONE UINT32_MAX

struct model_timer {
    uint64_t due_tick; /* 0: not armed */
    uint32_t queue;
    uint32_t next_free; /* of a request's timer */
    bool awaited;       /* its expiry is among the ends */
};

struct model_queue {
    uint64_t timeout_ns;
    uint32_t free; /* timers of answered requests, linked by `next_free` */
    struct timer_queue_counts counts;
};

/* The answer to a request, or an expiry. A timer's expiry is at the deadline that it had when it
 * was added: one that was started again meanwhile is due later. */
struct model_end {
    uint32_t timer;
    bool answer;
};

struct timer_model {
    struct trace_writer *writer;
    uint64_t tick_ns;
    bool begun;
    uint64_t now_ns;
    uint64_t now_tick;  /* of the same clock as now_ns: tick 0 is at 0 ns */
    uint64_t base_tick; /* of the first event: the trace's tick 0 */
    struct model_queue queues[TIMER_MODEL_QUEUES];
    struct model_timer *timers;
    uint32_t timer_count;
    uint32_t timer_room;
    struct reorder *ends;
    bool finished; /* expiries after the last event do not count */
    uint64_t starts;
    uint64_t stops;
};

uint32_t timer_model_new_timer(struct timer_model *model, unsigned queue)
{
    MEMORY_REACH(model->timers, model->timer_room, model->timer_count);
    model->timers[model->timer_count] = (struct model_timer){.queue = queue};
    return model->timer_count++;
}

/* --- operations ------------------------------------------------------------------------------- */

static bool write_stop(struct timer_model *model, uint64_t time_ns, uint32_t timer,
                       struct error *error)
{
    model->stops++;
    return trace_writer_add(model->writer, time_ns / model->tick_ns - model->base_tick, timer,
                            TRACE_STOP, 0, error);
}

static void count_arm(struct timer_queue_counts *counts)
{
    counts->arms++;
    if (++counts->armed > counts->max_armed) {
        counts->max_armed = counts->armed;
    }
}

static struct model_queue *disarm(struct timer_model *model, uint32_t timer)
{
    struct model_queue *queue = &model->queues[model->timers[timer].queue];
    model->timers[timer].due_tick = 0;
    queue->counts.armed--;
    return queue;
}

/* The timer is due at the first tick that is not before the end of the timeout. */
static bool write_start(struct timer_model *model, uint32_t timer, uint64_t timeout_ns,
                        struct error *error)
{
    uint64_t due_ns = model->now_ns + timeout_ns;
    uint64_t due_tick = due_ns / model->tick_ns + (due_ns % model->tick_ns != 0);
    model->timers[timer].due_tick = due_tick;
    model->starts++;
    return trace_writer_add(model->writer, model->now_tick - model->base_tick, timer, TRACE_START,
                            due_tick - model->now_tick, error);
}

static bool await_expiry(struct timer_model *model, uint32_t timer, struct error *error)
{
    const struct model_end end = {.timer = timer};
    model->timers[timer].awaited = true;
    return reorder_add(model->ends, model->timers[timer].due_tick * model->tick_ns, &end, error);
}

bool timer_model_start(struct timer_model *model, uint32_t timer, struct error *error)
{
    struct model_queue *queue = &model->queues[model->timers[timer].queue];
    if (timer_model_is_armed(model, timer)) {
        queue->counts.rearms++;
    } else {
        count_arm(&queue->counts);
    }
    return write_start(model, timer, queue->timeout_ns, error) &&
           (model->timers[timer].awaited || await_expiry(model, timer, error));
}

bool timer_model_stop(struct timer_model *model, uint32_t timer, struct error *error)
{
    if (!timer_model_is_armed(model, timer)) {
        return true;
    }
    disarm(model, timer)->counts.stops++;
    return write_stop(model, model->now_ns, timer, error);
}

bool timer_model_is_armed(const struct timer_model *model, uint32_t timer)
{
    return model->timers[timer].due_tick != 0;
}

static bool take_answer(struct timer_model *model, uint64_t time_ns, uint32_t timer,
                        struct error *error)
{
    struct model_queue *queue = disarm(model, timer);
    queue->counts.stops++;
    /* Even a late structure does not hold a stopped timer: its id can be used again. */
    model->timers[timer].next_free = queue->free;
    queue->free = timer;
    return write_stop(model, time_ns, timer, error);
}

static bool take_end(void *ctx, uint64_t time_ns, const void *event, struct error *error)
{
    struct timer_model *model = ctx;
    const struct model_end *end = event;
    struct model_timer *timer = &model->timers[end->timer];
    if (end->answer) {
        return take_answer(model, time_ns, end->timer, error);
    }
    timer->awaited = false;
    if (model->finished || timer->due_tick == 0) {
        return true;
    }
    if (timer->due_tick * model->tick_ns > time_ns) {
        return await_expiry(model, end->timer, error);
    }
    disarm(model, end->timer)->counts.expired++;
    return true;
}

bool timer_model_request(struct timer_model *model, unsigned queue_number, uint64_t duration_ns,
                         uint64_t timeout_ns, struct error *error)
{
    struct model_queue *queue = &model->queues[queue_number];
    uint32_t timer = queue->free;
    if (timer != NONE) {
        queue->free = model->timers[timer].next_free;
    } else {
        timer = timer_model_new_timer(model, queue_number);
    }
    count_arm(&queue->counts);
    if (!write_start(model, timer, timeout_ns > 0 ? timeout_ns : queue->timeout_ns, error)) {
        return false;
    }
    uint64_t end_ns = model->now_ns + duration_ns;
    const struct model_end answer = {.timer = timer, .answer = true};
    bool answered = duration_ns <= TIMER_MODEL_TIMEOUT_MAX_NS * 2 &&
                    end_ns / model->tick_ns < model->timers[timer].due_tick;
    return answered ? reorder_add(model->ends, end_ns, &answer, error)
                    : await_expiry(model, timer, error);
}

/* --- the whole -------------------------------------------------------------------------------- */

struct timer_model *timer_model_open(const char *output, uint64_t tick_ns,
                                     const uint64_t timeouts_ns[TIMER_MODEL_QUEUES],
                                     struct error *error)
{
    struct timer_model *model = memory_new(1, sizeof *model);
    model->tick_ns = tick_ns;
    for (unsigned i = 0; i < TIMER_MODEL_QUEUES; i++) {
        model->queues[i] = (struct model_queue){.timeout_ns = timeouts_ns[i], .free = NONE};
    }
    model->ends = reorder_create(REORDER_NO_WINDOW, sizeof(struct model_end), take_end, model);
    model->writer = trace_writer_open(output, tick_ns, error);
    if (model->writer == NULL) {
        timer_model_close(model);
        return NULL;
    }
    trace_writer_declare_causes(model->writer); /* see TIMER_MODEL_CAUSES: there are no reactions */
    return model;
}

bool timer_model_advance(struct timer_model *model, uint64_t time_ns, struct error *error)
{
    model->now_ns = time_ns;
    model->now_tick = time_ns / model->tick_ns;
    if (!model->begun) {
        model->begun = true;
        model->base_tick = model->now_tick;
    }
    return reorder_take_until(model->ends, time_ns, error);
}

bool timer_model_finish(struct timer_model *model, struct error *error)
{
    model->finished = true;
    return reorder_take_until(model->ends, UINT64_MAX, error);
}

const struct timer_queue_counts *timer_model_counts(const struct timer_model *model, unsigned queue)
{
    return &model->queues[queue].counts;
}

void timer_model_end(struct timer_model *model, struct import_summary *summary)
{
    summary->writer = model->writer;
    model->writer = NULL;
    summary->end_tick = model->now_tick - model->base_tick + 1;
    summary->causes = TIMER_MODEL_CAUSES;
    summary->starts = model->starts;
    summary->stops = model->stops;
    summary->timers = model->timer_count;
}

void timer_model_close(struct timer_model *model)
{
    if (model == NULL) {
        return;
    }
    trace_writer_abort(model->writer);
    free(model->timers);
    reorder_destroy(model->ends);
    free(model);
}
