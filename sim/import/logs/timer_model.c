#include "timer_model.h"

#include "import_tally.h"
#include "memory.h"
#include "reorder.h"
#include "trace.h"

#include <stdlib.h>

#define NONE UINT32_MAX

struct model_timer {
    uint64_t due_tick; /* 0: not armed */
    uint32_t previous; /* in its queue; NONE at the ends */
    uint32_t next;
    uint32_t queue;
    bool alone; /* a request's, in no list */
};

struct model_queue {
    uint64_t timeout_ns;
    uint32_t first; /* due first */
    uint32_t last;
    uint32_t free; /* timers of answered requests, linked by `next` */
    struct timer_queue_counts counts;
};

/* The end of a request: an answer in time, or the expiry of its timer. */
struct model_answer {
    uint32_t timer;
    bool expires;
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
    struct reorder *answers;
    struct error *error; /* of the current call: the reorder's callback has no other way to it */
    uint64_t starts;
    uint64_t stops;
};

uint32_t timer_model_new_timer(struct timer_model *model, unsigned queue)
{
    MEMORY_REACH(model->timers, model->timer_room, model->timer_count);
    model->timers[model->timer_count] = (struct model_timer){.queue = queue};
    return model->timer_count++;
}

/* --- queues ----------------------------------------------------------------------------------- */

static void unlink_timer(struct timer_model *model, struct model_queue *queue,
                         struct model_timer *timer)
{
    if (timer->previous != NONE) {
        model->timers[timer->previous].next = timer->next;
    } else {
        queue->first = timer->next;
    }
    if (timer->next != NONE) {
        model->timers[timer->next].previous = timer->previous;
    } else {
        queue->last = timer->previous;
    }
    timer->due_tick = 0;
}

static void link_last(struct timer_model *model, struct model_queue *queue, uint32_t id)
{
    struct model_timer *timer = &model->timers[id];
    timer->previous = queue->last;
    timer->next = NONE;
    if (queue->last != NONE) {
        model->timers[queue->last].next = id;
    } else {
        queue->first = id;
    }
    queue->last = id;
}

static void disarm(struct timer_model *model, struct model_queue *queue, uint32_t id)
{
    if (!model->timers[id].alone) {
        unlink_timer(model, queue, &model->timers[id]);
    }
    model->timers[id].due_tick = 0;
    queue->counts.armed--;
}

static void expire(struct timer_model *model, struct model_queue *queue)
{
    while (queue->first != NONE && model->timers[queue->first].due_tick <= model->now_tick) {
        disarm(model, queue, queue->first);
        queue->counts.expired++;
    }
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

bool timer_model_start(struct timer_model *model, uint32_t timer, struct error *error)
{
    struct model_queue *queue = &model->queues[model->timers[timer].queue];
    if (model->timers[timer].due_tick == 0) {
        count_arm(&queue->counts);
        link_last(model, queue, timer);
    } else {
        queue->counts.rearms++;
        if (queue->last != timer) {
            unlink_timer(model, queue, &model->timers[timer]);
            link_last(model, queue, timer);
        }
    }
    return write_start(model, timer, queue->timeout_ns, error);
}

bool timer_model_stop(struct timer_model *model, uint32_t timer, struct error *error)
{
    if (!timer_model_is_armed(model, timer)) {
        return true;
    }
    struct model_queue *queue = &model->queues[model->timers[timer].queue];
    disarm(model, queue, timer);
    queue->counts.stops++;
    return write_stop(model, model->now_ns, timer, error);
}

bool timer_model_is_armed(const struct timer_model *model, uint32_t timer)
{
    return model->timers[timer].due_tick != 0;
}

/* --- requests --------------------------------------------------------------------------------- */

static bool end_request(void *ctx, uint64_t time_ns, const void *event)
{
    struct timer_model *model = ctx;
    const struct model_answer *answer = event;
    struct model_queue *queue = &model->queues[model->timers[answer->timer].queue];
    disarm(model, queue, answer->timer);
    if (answer->expires) {
        queue->counts.expired++;
        return true;
    }
    queue->counts.stops++;
    /* Even a late structure does not hold a stopped timer: its id can be used again. */
    model->timers[answer->timer].next = queue->free;
    queue->free = answer->timer;
    return write_stop(model, time_ns, answer->timer, model->error);
}

bool timer_model_request(struct timer_model *model, unsigned queue_number, uint64_t duration_ns,
                         uint64_t timeout_ns, struct error *error)
{
    struct model_queue *queue = &model->queues[queue_number];
    uint32_t timer = queue->free;
    if (timer != NONE) {
        queue->free = model->timers[timer].next;
    } else {
        timer = timer_model_new_timer(model, queue_number);
    }
    model->timers[timer].alone = true;
    count_arm(&queue->counts);
    if (!write_start(model, timer, timeout_ns > 0 ? timeout_ns : queue->timeout_ns, error)) {
        return false;
    }
    uint64_t due_tick = model->timers[timer].due_tick;
    bool answered = duration_ns <= TIMER_MODEL_TIMEOUT_MAX_NS * 2;
    uint64_t end_ns = model->now_ns + (answered ? duration_ns : 0);
    const struct model_answer answer = {
        .timer = timer, .expires = !answered || end_ns / model->tick_ns >= due_tick};
    return reorder_add(model->answers, answer.expires ? due_tick * model->tick_ns : end_ns,
                       &answer);
}

/* --- the whole -------------------------------------------------------------------------------- */

struct timer_model *timer_model_open(const char *output, uint64_t tick_ns,
                                     const uint64_t timeouts_ns[TIMER_MODEL_QUEUES],
                                     struct error *error)
{
    struct timer_model *model = memory_new(1, sizeof *model);
    model->tick_ns = tick_ns;
    for (unsigned i = 0; i < TIMER_MODEL_QUEUES; i++) {
        model->queues[i] = (struct model_queue){
            .timeout_ns = timeouts_ns[i], .first = NONE, .last = NONE, .free = NONE};
    }
    model->answers =
        reorder_create(REORDER_NO_WINDOW, sizeof(struct model_answer), end_request, model);
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
    model->error = error;
    if (!reorder_take_until(model->answers, time_ns)) {
        return false;
    }
    for (unsigned i = 0; i < TIMER_MODEL_QUEUES; i++) {
        expire(model, &model->queues[i]);
    }
    return true;
}

bool timer_model_finish(struct timer_model *model, struct error *error)
{
    model->error = error;
    return reorder_take_until(model->answers, UINT64_MAX);
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
    reorder_destroy(model->answers);
    free(model);
}
