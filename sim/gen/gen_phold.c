/*
 * phold: Fujimoto's PHOLD: logical processes send one another events. Each event that is due
 * schedules one, at least the lookahead later, for the same process or, with a given probability,
 * for any. To a timer structure the difference from hold is where the timer lies: an event of the
 * same process is the timer that has just fired, one for another process is a timer that has been
 * idle, anywhere in memory. Idle ones are a share beyond the pending.
 */
#include "gen_increment.h"
#include "gen_model.h"

#include <stdlib.h>

enum {
    TICK_US = GEN_TICK_US,
    INCREMENTS,
    MEAN_MS,
    PARETO_ALPHA,
    PARETO_RATIO,
    LOOKAHEAD,
    REMOTE,
    IDLE,
};

static const struct gen_parameter phold_parameters[] = {
    [TICK_US] = GEN_TICK_US_ROW(1000),
    GEN_INCREMENT_ROWS(INCREMENTS),
    [LOOKAHEAD] = {"lookahead", 0.1, 0, 1, "share of the mean that every increment has at least",
                   "PHOLD adds a constant to the draw; the value is chosen", NULL},
    [REMOTE] = {"remote", 0.25, 0, 1, "share of events for another process", "chosen", NULL},
    [IDLE] = {"idle", 1, 0, 8, "timers that are not pending, for each one that is", "chosen", NULL},
    {0},
};

enum { KIND_EVENT, KINDS };
static const char *const phold_kinds[] = {[KIND_EVENT] = "event", NULL};

enum { COUNT_EVENTS, COUNT_REMOTE };
static const char *const phold_counts[] = {
    [COUNT_EVENTS] = "events", [COUNT_REMOTE] = "remote", NULL};

struct event {
    struct gen_timer timers[KINDS];
    uint32_t id;
};

struct phold {
    struct increments increments;
    double mean_ticks;
    double lookahead;
    double remote;
    uint32_t *idle_ids;
    uint32_t idle_count;
};

/* Swaps the event's id for one of the idle. */
static void move(struct gen_model *model, struct event *event)
{
    const struct phold *phold = model->state;
    model->counts[COUNT_REMOTE]++;
    uint32_t *idle =
        &phold->idle_ids[(uint32_t)(random_unit(&model->random) * (double)phold->idle_count)];
    uint32_t id = event->id;
    event->id = *idle;
    *idle = id;
}

static void visit(struct gen_model *model, uint64_t now, uint32_t number)
{
    const struct phold *phold = model->state;
    struct event *event = &((struct event *)model->records)[number];
    model->counts[COUNT_EVENTS]++;
    if (gen_chance(model, phold->remote)) {
        move(model, event);
    }
    double increment = phold->lookahead +
                       (1 - phold->lookahead) * increments_draw(&phold->increments, &model->random);
    uint64_t delay = gen_whole_ticks(phold->mean_ticks * increment);
    event->timers[KIND_EVENT] = (struct gen_timer){.due = now + delay, .delay_ticks = delay};
    gen_record(model, now, event->id, TRACE_START, delay);
    gen_file(model, now + delay, number);
}

static bool simulate(struct gen_model *model, uint64_t end)
{
    return gen_simulate(model, end, visit);
}

static void pending(const struct gen_model *model, uint32_t number, struct gen_pending_list *list)
{
    const struct event *event = &((const struct event *)model->records)[number];
    gen_pending_add(list, KIND_EVENT, event->id, event->timers[KIND_EVENT].due,
                    event->timers[KIND_EVENT].delay_ticks);
}

/* An increment as it is met at a random moment: the lookahead is met with its share of the mean,
 * and then nothing is known of the draw. */
static double draw_met(struct gen_model *model)
{
    const struct phold *phold = model->state;
    double drawn = gen_chance(model, phold->lookahead)
                       ? increments_draw(&phold->increments, &model->random)
                       : increments_draw_met(&phold->increments, &model->random);
    return phold->lookahead + (1 - phold->lookahead) * drawn;
}

/* Gives every event a timer at random, and keeps the others. */
static bool deal_ids(struct gen_model *model, uint32_t idle_count)
{
    struct phold *phold = model->state;
    struct event *events = model->records;
    phold->idle_count = idle_count;
    phold->idle_ids = malloc(idle_count * sizeof *phold->idle_ids);
    if (phold->idle_ids == NULL) {
        return gen_out_of_memory(model);
    }
    for (uint32_t i = 0; i < idle_count; i++) {
        phold->idle_ids[i] = model->connections + i;
    }
    for (uint32_t i = 0; i < model->connections; i++) {
        events[i].id = i;
        move(model, &events[i]);
    }
    return true;
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    struct phold *phold = gen_state(model, sizeof *phold);
    if (phold == NULL) {
        return false;
    }
    phold->increments =
        increments_make((enum increment)p[INCREMENTS], p[PARETO_ALPHA], p[PARETO_RATIO]);
    phold->mean_ticks = p[MEAN_MS] * gen_per_ms(model);
    phold->lookahead = p[LOOKAHEAD];
    phold->remote = p[REMOTE];
    /* One at least, to swap with. */
    uint32_t idle_count = 1 + (uint32_t)(p[IDLE] * (double)model->connections);
    model->timer_number = model->connections + idle_count;
    model->warmup_end = GEN_EPOCH;
    if (!gen_model_begin(model, sizeof(struct event), GEN_EPOCH,
                         gen_whole_ticks(8 * phold->mean_ticks)) ||
        !deal_ids(model, idle_count)) {
        return false;
    }
    struct event *events = model->records;
    for (uint32_t i = 0; i < model->connections; i++) {
        uint64_t delay = gen_whole_ticks(phold->mean_ticks * draw_met(model));
        gen_timer_place(&events[i].timers[KIND_EVENT], GEN_EPOCH, delay,
                        gen_uniform_age(model, delay));
        gen_file(model, events[i].timers[KIND_EVENT].due, i);
    }
    return true;
}

static void destroy(struct gen_model *model)
{
    struct phold *phold = model->state;
    if (phold != NULL) {
        free(phold->idle_ids);
    }
}

extern const struct gen_workload gen_phold;
const struct gen_workload gen_phold = {
    .name = "phold",
    .summary = "a constant number of events that processes send one another, with a lookahead",
    .stresses = "the expiry of every timer, and starts of timers that no cache holds",
    .resembles = "a parallel discrete-event simulation",
    .parameters = phold_parameters,
    .max_connections = UINT32_MAX / 10, /* with the idle ones they can still be named */
    .kinds = phold_kinds,
    .counts = phold_counts,
    .create = create,
    .simulate = simulate,
    .pending = pending,
    .destroy = destroy,
};
