/*
 * hold: the classic model of pending-event sets (Vaucher and Duval 1975, Jones 1986): the number
 * of events stays what it is; whenever the first is taken out, it is put in again, an increment
 * later. Nothing is stopped and nothing restarted: this is what simulators do, not what servers do.
 *
 * The model begins in its steady state, in which it met each event at a random moment of its
 * increment.
 */
#include "gen_increment.h"
#include "gen_model.h"

enum {
    TICK_US = GEN_TICK_US,
    INCREMENTS,
    MEAN_MS,
    PARETO_ALPHA,
    PARETO_RATIO,
};

static const struct gen_parameter hold_parameters[] = {
    [TICK_US] = GEN_TICK_US_ROW(1000),
    GEN_INCREMENT_ROWS(INCREMENTS),
    {0},
};

enum { KIND_EVENT, KINDS };
static const char *const hold_kinds[] = {[KIND_EVENT] = "event", NULL};

enum { COUNT_HOLDS };
static const char *const hold_counts[] = {[COUNT_HOLDS] = "holds", NULL};

struct event {
    struct gen_timer timers[KINDS];
};

struct hold {
    struct increments increments;
    double mean_ticks;
};

static void visit(struct gen_model *model, uint64_t now, uint32_t number)
{
    const struct hold *hold = model->state;
    struct event *event = &((struct event *)model->records)[number];
    model->counts[COUNT_HOLDS]++;
    double increment = increments_draw(&hold->increments, &model->random);
    gen_timer_start(model, now, number, event->timers, KIND_EVENT,
                    gen_whole_ticks(hold->mean_ticks * increment));
    gen_file(model, event->timers[KIND_EVENT].due, number);
}

static bool simulate(struct gen_model *model, uint64_t end)
{
    return gen_simulate(model, end, visit);
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    struct hold *hold = gen_state(model, sizeof *hold);
    if (hold == NULL) {
        return false;
    }
    hold->increments =
        increments_make((enum increment)p[INCREMENTS], p[PARETO_ALPHA], p[PARETO_RATIO]);
    hold->mean_ticks = p[MEAN_MS] * gen_per_ms(model);
    model->warmup_end = GEN_EPOCH;
    if (!gen_model_begin(model, sizeof(struct event), GEN_EPOCH,
                         gen_whole_ticks(8 * hold->mean_ticks))) {
        return false;
    }
    struct event *events = model->records;
    for (uint32_t i = 0; i < model->connections; i++) {
        double increment = increments_draw_met(&hold->increments, &model->random);
        uint64_t delay = gen_whole_ticks(hold->mean_ticks * increment);
        gen_timer_place(&events[i].timers[KIND_EVENT], GEN_EPOCH, delay,
                        gen_uniform_age(model, delay));
        gen_file(model, events[i].timers[KIND_EVENT].due, i);
    }
    return true;
}

extern const struct gen_workload gen_hold;
const struct gen_workload gen_hold = {
    .name = "hold",
    .summary = "a constant number of events, each put in again an increment after it is due",
    .stresses = "the expiry of every timer; how a structure bears a distribution of delays",
    .resembles = "a simulator's pending-event set, as the literature compares them",
    .parameters = hold_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .kinds = hold_kinds,
    .counts = hold_counts,
    .create = create,
    .simulate = simulate,
};
