/*
 * adversary: worst-case streams. Each attacks one way of building a timer structure. `slots` and
 * `levels` describe the target: the slots of a wheel and the levels of wheels above it. A span is
 * slots to the power of levels, the range of one slot of the level above. Multiples of the span in
 * the trace are multiples in the model.
 *
 *   cascade    all timers are due in the last slots of one slot of the upper level: when that slot
 *              opens, all of them move down, and again at every level below it
 *   same-slot  all timers are due at multiples of the span, up to `rounds` of them ahead: one slot
 *              of a hashed wheel holds them all, and is searched again and again
 *   horizon    delays are slots^l - 1, slots^l and slots^l + 1 for every level l
 *   sorted     each timer is due after all that were started before
 *   reverse    each timer is due before all that were started before and are still pending
 *   stale      timers are restarted far and near, by turns, and never fire: stale entries that a
 *              structure keeps after a restart accumulate
 *   one-tick   all timers are due at one tick
 *
 * cascade, sorted, reverse and one-tick go in rounds of two spans: the starts are spread over the
 * first, the due ticks are in the second. The same timers are started in each round, whether they
 * have fired or not; those of same-slot and horizon are started again when they fire.
 */
#include "gen_model.h"

#include <inttypes.h>

enum {
    TICK_US = GEN_TICK_US,
    STREAM,
    SLOTS,
    LEVELS,
    ROUNDS,
};

enum stream { CASCADE, SAME_SLOT, HORIZON, SORTED, REVERSE, STALE, ONE_TICK };
static const struct tl_choice stream_words[] = {
    {"cascade", CASCADE, NULL},   {"same-slot", SAME_SLOT, NULL},
    {"horizon", HORIZON, NULL},   {"sorted", SORTED, NULL},
    {"reverse", REVERSE, NULL},   {"stale", STALE, NULL},
    {"one-tick", ONE_TICK, NULL}, {0}};

static const struct tl_option adversary_parameters[] = {
    GEN_TICK_US_ROWS(1000, "1 ms: what servers count in"),
    GEN_WORD(STREAM, "stream", CASCADE, stream_words,
             "cascade: all move down at every level; same-slot: all in one slot of a hashed "
             "wheel; horizon: delays around every level's reach; sorted, reverse: each due "
             "after, before the others; stale: restarted far and near by turns; one-tick: all "
             "due at one tick",
             "chosen"),
    GEN_REAL(SLOTS, "slots", 20, 2, 1 << 24, "slots of the wheel that is aimed at",
             "Kafka's wheelSize: 20"),
    GEN_REAL(LEVELS, "levels", 2, 1, 24, "levels below the slot that is aimed at", "chosen"),
    GEN_REAL(ROUNDS, "rounds", 16, 1, 1e6, "same-slot: the longest delay, in spans", "chosen"),
    {0},
};

enum { KIND_TIMER, KINDS };
static const char *const adversary_kinds[] = {[KIND_TIMER] = "timer", NULL};

enum { COUNT_STARTS, COUNT_RESTARTS, COUNT_EXPIRIES };
static const char *const adversary_counts[] = {
    [COUNT_STARTS] = "starts", [COUNT_RESTARTS] = "restarts", [COUNT_EXPIRIES] = "expiries", NULL};

struct target {
    struct gen_timer timers[KINDS];
    uint64_t event_at;    /* the next start, unless the timer's expiry is first */
    uint64_t phase_ticks; /* of its starts in a round */
    bool near;            /* stale: its last restart */
};

/* Upper bound of a span: some hundred thousand seconds of 1 us. */
#define SPAN_MAX (UINT64_C(1) << 37)

struct adversary {
    enum stream stream;
    uint64_t slots;
    uint64_t span_ticks;
    uint64_t step_ticks; /* stale: from restart to restart */
    uint64_t first;      /* sorted, reverse: the number that is started first */
};

static uint64_t below(struct gen_model *model, uint64_t limit)
{
    return gen_uniform_age(model, limit) - 1;
}

static uint64_t horizon_delay(struct gen_model *model, const struct adversary *adversary)
{
    uint64_t edge = 1;
    for (uint64_t level = gen_uniform_age(model, (uint64_t)model->parameters[LEVELS]); level > 0;
         level--) {
        edge *= adversary->slots;
    }
    return edge - 1 + below(model, 3);
}

static uint64_t draw_delay(struct gen_model *model, const struct target *target)
{
    const struct adversary *adversary = model->state;
    uint64_t span = adversary->span_ticks;
    uint64_t to_second_span = span - target->phase_ticks;
    switch (adversary->stream) {
    case CASCADE:
        /* Not the first tick of the last slots: it would fire when they open. */
        return to_second_span + span - adversary->slots + 1 + below(model, adversary->slots - 1);
    case SAME_SLOT:
        return (1 + below(model, (uint64_t)model->parameters[ROUNDS])) * span;
    case HORIZON:
        return horizon_delay(model, adversary);
    case SORTED:
        return span;
    case REVERSE:
        return to_second_span + span - 1 - target->phase_ticks;
    case STALE:
        return target->near ? adversary->slots : span;
    case ONE_TICK:
        break;
    }
    return to_second_span + span - 1;
}

static void visit(struct gen_model *model, uint64_t now, void *record)
{
    const struct adversary *adversary = model->state;
    struct target *target = record;
    bool expires = gen_timer_expires(model, &target->timers[KIND_TIMER], now);
    model->counts[COUNT_EXPIRIES] += expires;
    bool in_rounds = adversary->stream != SAME_SLOT && adversary->stream != HORIZON &&
                     adversary->stream != STALE;
    if (!expires || !in_rounds) {
        bool pending = target->timers[KIND_TIMER].delay_ticks > 0;
        model->counts[pending ? COUNT_RESTARTS : COUNT_STARTS]++;
        target->near = adversary->stream == STALE && !target->near;
        struct gen_timer *timer = &target->timers[KIND_TIMER];
        uint64_t delay = draw_delay(model, target);
        if (adversary->stream == SAME_SLOT) { /* however late, it must hit this slot */
            gen_timer_start_from(model, now, timer, delay, TRACE_ABSOLUTE);
        } else {
            gen_timer_start(model, now, timer, delay);
        }
        if (in_rounds) {
            target->event_at = now + 2 * adversary->span_ticks;
        } else if (adversary->stream == STALE) {
            target->event_at = now + adversary->step_ticks;
        }
    }
}

/* Streams without rounds are in their steady state from the beginning. */
static void place(struct gen_model *model, void *record)
{
    const struct adversary *adversary = model->state;
    const uint64_t begin = model->ring.now;
    const double connections = model->connections;
    struct target *target = record;
    uint64_t delay;
    target->event_at = GEN_NEVER;
    switch (adversary->stream) {
    case SAME_SLOT:
        delay = draw_delay(model, target);
        gen_timer_place(&target->timers[KIND_TIMER], begin, delay,
                        gen_uniform_age(model, delay / adversary->span_ticks) *
                            adversary->span_ticks);
        break;
    case HORIZON:
        delay = draw_delay(model, target);
        gen_timer_place(&target->timers[KIND_TIMER], begin, delay, gen_uniform_age(model, delay));
        break;
    case STALE:
        target->near = gen_chance(model, 0.5);
        target->event_at = begin + below(model, adversary->step_ticks);
        break;
    case CASCADE:
    case ONE_TICK:
        target->phase_ticks = below(model, adversary->span_ticks);
        target->event_at = begin + target->phase_ticks;
        break;
    case SORTED:
    case REVERSE:
        /* In the order of numbers, beginning anywhere. */
        target->phase_ticks =
            (uint64_t)((double)((adversary->first + model->visited) % model->connections) /
                       connections * (double)adversary->span_ticks);
        target->event_at = begin + target->phase_ticks;
        break;
    }
}

static bool create(struct gen_model *model)
{
    const double *p = model->parameters;
    struct adversary *adversary = model->state;
    adversary->stream = (enum stream)p[STREAM];
    adversary->slots = (uint64_t)p[SLOTS];
    adversary->span_ticks = 1;
    for (uint32_t i = 0; i < (uint32_t)p[LEVELS]; i++) {
        adversary->span_ticks *= adversary->slots;
        if (adversary->span_ticks > SPAN_MAX) {
            return error_set(model->error,
                             "adversary: slots to the power of levels is above %" PRIu64
                             " ticks; choose fewer levels",
                             SPAN_MAX);
        }
    }
    adversary->step_ticks = adversary->slots / 2;
    uint64_t span = adversary->span_ticks;
    uint64_t begin = (GEN_EPOCH / span + 1) * span;
    adversary->first = below(model, model->connections);
    model->align_ticks = span;
    /* Three spans later, so that the recording begins with the first due ticks of a round. */
    model->warmup_end = begin + 3 * span;
    model->event_at = offsetof(struct target, event_at);
    gen_model_begin(model, sizeof(struct target), begin, 2 * span);
    return true;
}

const struct gen_workload gen_adversary = {
    .name = "adversary",
    .summary = "the stream that hurts a kind of structure most, by choice",
    .stresses = "cascades, hashed slots, horizons, insertion order, stale entries, one tick",
    .resembles = "an artificial worst case; an attacker's traffic",
    .parameters = adversary_parameters,
    .max_connections = UINT32_MAX / KINDS,
    .kinds = adversary_kinds,
    .counts = adversary_counts,
    .state_bytes = sizeof(struct adversary),
    .create = create,
    .place = place,
    .visit = visit,
};
