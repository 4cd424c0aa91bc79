/*
 * hold: the classic model of pending-event sets (Vaucher and Duval 1975, Jones 1986). The number of
 * events is constant: the first event is removed and inserted again, an increment later. Timers are
 * neither stopped nor restarted: this is the load of simulators, not of servers.
 *
 * model=markov: a Markov chain of two states decides whether the next operation inserts or removes
 * an event (Chung, Sang and Rego 1993): with the probability `alternate` it is the other one than
 * before. At 1 that is the classic model; at 1/2 each is a coin toss; the nearer to 0, the longer
 * the runs, and the further the number of events strays. Time does not advance during insertions,
 * so they are all reactions to the previous expiry; those after the first use idle timers. The
 * number stays between one and HOLD_ROOM times the connections, where the chain has no choice.
 *
 * model=up-down: the number of events rises from none to all, then nothing is inserted until the
 * last one is removed, and so on (Ronngren and Ayani 1997, for transients). In the literature time
 * does not advance while it rises; here the starts are spread over `up_ms`, and all increments
 * count from its end, so that nothing fires meanwhile and external operations do not all come at
 * once.
 *
 * phold: Fujimoto's PHOLD: logical processes send events to one another. Each due event schedules
 * one, at least the lookahead later, for the same process or, with a given probability, for any.
 * For a timer structure the difference from hold is the timer's place: an event of the same process
 * is the timer that has just fired, one for another process is an idle timer anywhere in memory.
 * Each event has some timers and uses them one after the other, so that a started timer is always
 * idle, even if a structure fires late.
 *
 * The models begin in their steady state, at a random moment of each increment; up-down begins with
 * no events.
 */
#include "gen_traffic.h"

#include <math.h>

enum {
    TICK_US = GEN_TICK_US,
    INCREMENTS,
    MEAN_MS,
    PARETO_ALPHA,
    PARETO_RATIO,
    REARM,
    COMMON_ROWS,
    MODEL = COMMON_ROWS, /* from here on hold only */
    ALTERNATE,
    UP_MS,
    LOOKAHEAD = COMMON_ROWS, /* from here on phold only */
    REMOTE,
    IDLE,
};

/* Jones's distributions of increments (CACM 29(4), 1986), and the Pareto distribution of the ladder
 * queue's paper, all scaled to mean 1. */
enum increment {
    INCREMENT_EXPONENTIAL,
    INCREMENT_UNIFORM,    /* from 0 to 2 */
    INCREMENT_BIASED,     /* from 0.9 to 1.1 */
    INCREMENT_BIMODAL,    /* nine of ten from 0 to 2/3, the tenth from 20/3 to 22/3 */
    INCREMENT_TRIANGULAR, /* from 0 to 1.5, with a density that rises from 0 */
    INCREMENT_PARETO,     /* truncated at this multiple of its minimum */
};
static const struct tl_choice increment_words[] = {{"exponential", INCREMENT_EXPONENTIAL, NULL},
                                                   {"uniform", INCREMENT_UNIFORM, NULL},
                                                   {"biased", INCREMENT_BIASED, NULL},
                                                   {"bimodal", INCREMENT_BIMODAL, NULL},
                                                   {"triangular", INCREMENT_TRIANGULAR, NULL},
                                                   {"pareto", INCREMENT_PARETO, NULL},
                                                   {0}};

enum { MODEL_CLASSIC, MODEL_MARKOV, MODEL_UP_DOWN };
static const struct tl_choice model_words[] = {{"classic", MODEL_CLASSIC, NULL},
                                               {"markov", MODEL_MARKOV, NULL},
                                               {"up-down", MODEL_UP_DOWN, NULL},
                                               {0}};

#define INCREMENT_ROWS                                                                             \
    GEN_WORD(INCREMENTS, "increments", INCREMENT_EXPONENTIAL, increment_words,                     \
             "how far ahead the next event lies", "Jones 1986; Pareto: Tang, Goh, Thng 2005"),     \
        GEN_REAL(MEAN_MS, "mean_ms", 1000, 0.001, 1e9, "mean increment", "chosen"),                \
        GEN_REAL(PARETO_ALPHA, "pareto_alpha", 1.5, 0.1, 10,                                       \
                 "Pareto's exponent: infinite variance below 2",                                   \
                 "Tang, Goh, Thng 2005: infinite variance; the value is chosen"),                  \
        GEN_REAL(PARETO_RATIO, "pareto_ratio", 1e4, 2, 1e9,                                        \
                 "its longest increment, in shortest ones", "chosen"),                             \
        GEN_REARM_ROW(REARM, "chosen; a simulator counts from the deadline")

static const struct tl_option hold_parameters[] = {
    GEN_TICK_US_ROWS(1000, "1 ms: what servers count in"),
    INCREMENT_ROWS,
    GEN_WORD(MODEL, "model", MODEL_CLASSIC, model_words,
             "classic: each event is put in again; markov: a chain decides between putting in and "
             "taking out; up-down: all are put in, then all taken out",
             "classic: Jones 1986; markov: Chung, Sang, Rego 1993; up-down: Ronngren, Ayani 1997"),
    GEN_REAL(ALTERNATE, "alternate", 0.5, 0.001, 1,
             "markov: probability that an operation is another one than that before", "chosen"),
    GEN_REAL(UP_MS, "up_ms", 1000, 0, 1e9, "up-down: over which the starts are spread", "chosen"),
    {0},
};

static const struct tl_option phold_parameters[] = {
    GEN_TICK_US_ROWS(1000, "1 ms: what servers count in"),
    INCREMENT_ROWS,
    GEN_REAL(LOOKAHEAD, "lookahead", 0.1, 0, 1,
             "share of the mean that every increment has at least",
             "PHOLD adds a constant to the draw; the value is chosen"),
    GEN_REAL(REMOTE, "remote", 0.25, 0, 1, "share of events for another process", "chosen"),
    GEN_REAL(IDLE, "idle", 1, 1, 8, "timers that are not pending, whole, for each one that is",
             "chosen"),
    {0},
};

static const char *const kinds[] = {"event", NULL};

enum { COUNT_EVENTS, COUNT_REMOTE, COUNT_FORCED = COUNT_REMOTE, COUNT_CYCLES };
static const char *const hold_counts[] = {
    [COUNT_EVENTS] = "holds", [COUNT_FORCED] = "forced", [COUNT_CYCLES] = "cycles", NULL};
static const char *const phold_counts[] = {
    [COUNT_EVENTS] = "events", [COUNT_REMOTE] = "remote", NULL};

/* markov: upper bound of the events for each connection. */
#define HOLD_ROOM 2u

struct hold {
    enum increment increments;
    struct gen_law pareto;
    double mean_ticks;
    enum trace_basis basis;
    uint32_t pool; /* timers of an event, one of them pending */
    uint32_t free; /* markov: an idle event; its timer's `due` is the next one */
    uint32_t free_count;
    double up_ticks;
    uint64_t up_end;  /* up-down: the increments count from here */
    uint32_t pending; /* up-down: started and not fired, or still to be started in this cycle */
};

/* --- increments ------------------------------------------------------------------------------ */

/* Draw an increment. */
static double draw(struct gen_model *model)
{
    const struct hold *state = model->state;
    double u = random_unit(&model->random);
    switch (state->increments) {
    case INCREMENT_UNIFORM:
        return 2 * u;
    case INCREMENT_BIASED:
        return 0.9 + 0.2 * u;
    case INCREMENT_BIMODAL:
        return (u + (random_unit(&model->random) < 0.1 ? 10 : 0)) / 1.5;
    case INCREMENT_TRIANGULAR:
        return 1.5 * sqrt(u);
    case INCREMENT_PARETO:
        return gen_law_value(&state->pareto, u);
    case INCREMENT_EXPONENTIAL:
        break;
    }
    return -random_log(u);
}

/* Draw an increment at a random moment, that is length-biased: the density is multiplied by the
 * value. A uniform share of it has passed. */
static double draw_met(struct gen_model *model)
{
    const struct hold *state = model->state;
    double u = random_unit(&model->random);
    switch (state->increments) {
    case INCREMENT_UNIFORM:
        return 2 * sqrt(u);
    case INCREMENT_BIASED:
        return sqrt(0.81 + u * (1.21 - 0.81));
    case INCREMENT_BIMODAL:
        /* Of the mean, 0.45 is in the short ones, 1.05 in the long ones. */
        return (random_unit(&model->random) * 1.5 < 0.45 ? sqrt(u) : sqrt(100 + 21 * u)) / 1.5;
    case INCREMENT_TRIANGULAR:
        return 1.5 * random_exp(1.0 / 3 * random_log(u));
    case INCREMENT_PARETO:
        return gen_law_met(&state->pareto, u, 0);
    case INCREMENT_EXPONENTIAL:
        break;
    }
    return -random_log(u) - random_log(random_unit(&model->random));
}

/* --- common to both -------------------------------------------------------------------------- */

/* Insert an event again, with `timer`, an increment of `increment` means later. */
static inline void hold(struct gen_model *model, uint64_t now, struct gen_timer *timer,
                        double increment)
{
    const struct hold *state = model->state;
    uint64_t delay = gen_whole_ticks(state->mean_ticks * increment);
    model->counts[COUNT_EVENTS]++;
    gen_timer_start_from(model, now, timer, delay, state->basis);
}

/* Read the parameters that both have, and allocate the events. */
static void begin(struct gen_model *model)
{
    const double *p = model->parameters;
    struct hold *state = model->state;
    state->increments = (enum increment)p[INCREMENTS];
    state->pareto = gen_law_make(1, p[PARETO_ALPHA], p[PARETO_RATIO]);
    state->mean_ticks = p[MEAN_MS] * gen_per_ms(model);
    state->basis = gen_rearm_basis(model, REARM);
    model->warmup_end = GEN_EPOCH;
    gen_model_begin(model, sizeof(struct gen_timer), GEN_EPOCH,
                    gen_whole_ticks(8 * state->mean_ticks));
}

/* Insert an event within an increment of `increment` means. */
static void place(struct gen_model *model, struct gen_timer *timer, double increment)
{
    const struct hold *state = model->state;
    uint64_t delay = gen_whole_ticks(state->mean_ticks * increment);
    gen_timer_place(timer, GEN_EPOCH, delay, gen_uniform_age(model, delay));
}

/* --- hold ------------------------------------------------------------------------------------ */

/* markov: add an event to the list of idle ones. */
static void let_go(struct gen_model *model, uint32_t number)
{
    struct hold *state = model->state;
    ((struct gen_timer *)model->records)[number].due = state->free;
    state->free = number;
    state->free_count++;
}

/* Return how many events are inserted after this one was removed. */
static uint32_t draw_run(struct gen_model *model)
{
    const struct hold *state = model->state;
    const double alternate = model->parameters[ALTERNATE];
    bool last = state->free_count + 1 == model->connections;
    bool drawn = gen_chance(model, alternate);
    model->counts[COUNT_FORCED] += last && !drawn;
    if (!drawn && !last) {
        return 0;
    }
    uint32_t run = 1;
    while (!gen_chance(model, alternate)) {
        if (run > state->free_count) {
            model->counts[COUNT_FORCED]++;
            break;
        }
        run++;
    }
    return run;
}

static void markov_visit(struct gen_model *model, uint64_t now, struct gen_timer *timer)
{
    struct hold *state = model->state;
    struct gen_timer *timers = model->records;
    gen_timer_fire(model, timer);
    uint32_t run = draw_run(model);
    for (uint32_t i = 1; i < run; i++) {
        uint32_t other = state->free;
        state->free = (uint32_t)timers[other].due;
        state->free_count--;
        gen_timers_renew(model, &timers[other]);
        hold(model, now, &timers[other], draw(model));
        gen_ring_add(&model->ring, timers[other].due, other);
    }
    if (run > 0) {
        hold(model, now, timer, draw(model));
    } else {
        let_go(model, model->visited);
    }
}

/* Begin to insert all events at tick `from`. */
static void begin_cycle(struct gen_model *model, uint64_t from)
{
    struct hold *state = model->state;
    state->pending = model->connections;
    state->up_end = from + (uint64_t)state->up_ticks;
    for (uint32_t i = 0; i < model->connections; i++) {
        uint64_t at = from + (uint64_t)(state->up_ticks * random_unit(&model->random));
        gen_ring_add(&model->ring, at, i);
    }
}

static void up_down_visit(struct gen_model *model, uint64_t now, struct gen_timer *timer)
{
    struct hold *state = model->state;
    if (gen_timer_expires(model, timer, now)) {
        if (--state->pending == 0) {
            model->counts[COUNT_CYCLES]++;
            begin_cycle(model, now + 1);
        }
        return;
    }
    double increment = draw(model);
    gen_timers_renew(model, timer);
    gen_timer_start(model, now, timer,
                    state->up_end - now + gen_whole_ticks(state->mean_ticks * increment));
    model->counts[COUNT_EVENTS]++;
}

static void hold_visit(struct gen_model *model, uint64_t now, void *record)
{
    switch ((int)model->parameters[MODEL]) {
    case MODEL_MARKOV:
        markov_visit(model, now, record);
        break;
    case MODEL_UP_DOWN:
        up_down_visit(model, now, record);
        break;
    default:
        gen_timer_fire(model, record);
        hold(model, now, record, draw(model));
        break;
    }
}

static void hold_place(struct gen_model *model, void *record)
{
    const struct hold *state = model->state;
    if (state->pending == 0 && model->visited + state->free_count < model->connections) {
        place(model, record, draw_met(model));
    }
}

/* Allow more events than there are connections. */
static bool make_room(struct gen_model *model)
{
    if (model->connections > UINT32_MAX / HOLD_ROOM) {
        return gen_too_many_timers(model);
    }
    model->connections *= HOLD_ROOM;
    return true;
}

static bool hold_create(struct gen_model *model)
{
    const double *p = model->parameters;
    struct hold *state = model->state;
    uint32_t events = model->connections;
    state->up_ticks = p[UP_MS] * gen_per_ms(model);
    if (p[MODEL] == MODEL_MARKOV && !make_room(model)) {
        return false;
    }
    begin(model);
    if (p[MODEL] == MODEL_UP_DOWN) {
        begin_cycle(model, GEN_EPOCH);
    }
    for (uint32_t i = model->connections; i > events; i--) {
        let_go(model, i - 1);
    }
    return true;
}

const struct gen_workload gen_hold = {
    .name = "hold",
    .summary = "a constant number of events, each put in again an increment after it is due",
    .stresses = "the expiry of every timer; the effect of a distribution of delays",
    .resembles = "a simulator's pending-event set, as the literature compares them",
    .parameters = hold_parameters,
    .max_connections = UINT32_MAX,
    .kinds = kinds,
    .counts = hold_counts,
    .state_bytes = sizeof(struct hold),
    .create = hold_create,
    .place = hold_place,
    .visit = hold_visit,
};

/* --- phold ----------------------------------------------------------------------------------- */

/* Give an event another one of its timers; their ids are as far apart as there are events. */
static void move(struct gen_model *model, uint32_t number, struct gen_timer *timer)
{
    const struct hold *state = model->state;
    model->counts[COUNT_REMOTE]++;
    uint32_t at = (timer->id - model->first_id) / model->connections;
    at += 1 + (uint32_t)(random_unit(&model->random) * (double)(state->pool - 1));
    timer->id = model->first_id + number + at % state->pool * model->connections;
}

static void phold_visit(struct gen_model *model, uint64_t now, void *record)
{
    const double lookahead = model->parameters[LOOKAHEAD];
    gen_timer_fire(model, record);
    if (gen_chance(model, model->parameters[REMOTE])) {
        move(model, model->visited, record);
    }
    hold(model, now, record, lookahead + (1 - lookahead) * draw(model));
}

/* Draw an increment that includes a random moment: with the lookahead's share of the mean the
 * moment is in the lookahead, and the draw has no bias. */
static void phold_place(struct gen_model *model, void *record)
{
    const double lookahead = model->parameters[LOOKAHEAD];
    double drawn = gen_chance(model, lookahead) ? draw(model) : draw_met(model);
    place(model, record, lookahead + (1 - lookahead) * drawn);
}

static bool phold_create(struct gen_model *model)
{
    const double *p = model->parameters;
    struct hold *state = model->state;
    state->pool = 1 + (uint32_t)p[IDLE];
    model->timer_number = model->connections * state->pool;
    begin(model);
    for (uint32_t i = 0; i < model->connections; i++) {
        move(model, i, &((struct gen_timer *)model->records)[i]);
    }
    return true;
}

const struct gen_workload gen_phold = {
    .name = "phold",
    .summary = "a constant number of events that processes send one another, with a lookahead",
    .stresses = "the expiry of every timer, and starts of timers that no cache holds",
    .resembles = "a parallel discrete-event simulation",
    .parameters = phold_parameters,
    .max_connections = UINT32_MAX / 10, /* so that the idle ones have ids, too */
    .kinds = kinds,
    .counts = phold_counts,
    .state_bytes = sizeof(struct hold),
    .create = phold_create,
    .place = phold_place,
    .visit = phold_visit,
};
