/*
 * gen_model.h: the code that models share: simulated time, the ring of next events, timers, records
 * by connection number, counters, and the output to the trace.
 *
 * Time is in ticks of the model; only gen.c relates them to those of the trace. A connection is in
 * the ring once, at the tick of its next event; it is visited there, and filed again. A timer
 * expires at its due tick, before anything else of that tick, as in an exact structure; the rest of
 * the visit is the reaction to that expiry, unless gen_from_outside says otherwise. Consequences of
 * an expiry at a later tick (a call after a pause) are external: no timer waits for them. Durations
 * are rounded up to whole ticks, at least one.
 *
 * An expired timer is either started again by a reaction to its expiry, or belongs to no
 * connection: a late structure may still hold it when the next connection or call comes, which
 * therefore gets new ids (gen_timers_renew).
 *
 * If connections have many kinds of timers and use few of them, ids in the model are places, one of
 * each kind for each connection. In the trace, a timer gets its id when it is
 * first used.
 */
#ifndef SIM_GEN_MODEL_H
#define SIM_GEN_MODEL_H

#include "error.h"
#include "gen.h"
#include "progress.h"
#include "random.h"
#include "trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GEN_COUNTS_MAX         24

/* The places and the names of a list X(place, name) of timers or counters. */
#define GEN_PLACE(place, name) place,
#define GEN_NAME(place, name)  [place] = (name),

/* First tick of models that place timers started earlier. */
#define GEN_EPOCH              (UINT64_C(1) << 50)

/* Longest duration in ticks; the longest that a parameter allows fits. */
#define GEN_TICKS_MAX          (UINT64_C(1) << 48)

/* The tick of an event that does not happen. */
#define GEN_NEVER              UINT64_MAX

/* The next events of a model: a ring of lists of connections, one for each tick, which is cheaper
 * than a heap when time advances tick by tick. A connection has one next event, so that a list is a
 * chain of their numbers. Events beyond the ring's reach are kept apart, and searched twice a
 * turn. */
struct gen_ring {
    uint64_t now; /* the next tick to be taken */
    uint64_t size;
    struct gen_ring_list {
        uint32_t first;
        uint32_t last; /* added */
        uint32_t count;
    } * lists;
    uint32_t *next; /* of each number that is in a list */
    struct gen_ring_far {
        uint64_t tick;
        uint32_t number;
    } * far;
    size_t far_count;
    size_t far_room;
};

struct gen_model {
    /* Given to `create`. */
    const struct gen_workload *workload;
    uint32_t connections;
    const double *parameters; /* one per row of the table */
    uint64_t tick_ns;
    double seconds; /* to be recorded */
    struct error *error;
    struct random random; /* seeded */

    void *state; /* state_bytes, zeroed; `create` fills it in */

    /* Parts of the state that gen_traffic.h reads; NULL: there are none. */
    struct gen_traffic *traffic;
    struct gen_herds *herds;

    /* One record for each connection. It begins with its timers, an array of one per kind; or with
     * an array of `ends`, each of which begins with timers. */
    void *records;
    size_t record_bytes;
    uint32_t ends; /* 1 at first */
    size_t end_bytes;
    /* Where a record has the tick of its next event, a uint64_t, or GEN_NEVER; 0: the only events
     * are expiries. */
    size_t event_at;
    uint64_t warmup_end;   /* tick up to which to simulate without recording */
    uint64_t align_ticks;  /* the trace's ticks equal the model's modulo this; 0: no matter */
    struct gen_ring ring;  /* made by gen_model_begin */
    uint32_t timer_number; /* upper bound of ids; 0: one for each timer in the records */

    /* Used by the generator. */
    uint32_t visited; /* the number of the connection that is placed or visited */
    struct trace_writer *writer;
    struct progress *progress;
    uint32_t *ids;   /* of all parts so far */
    uint32_t *id_of; /* with ids_when_used: of each place its id plus 1; 0: none yet */
    uint32_t id_room;
    uint32_t places;          /* number of places so far */
    struct gen_names *names;  /* of the ids; NULL: not wanted */
    uint64_t number;          /* the part's number: the name of its first place */
    uint64_t name_step;       /* between the names of two places */
    struct trace_cause cause; /* of the operations recorded next */
    uint64_t trace_offset;    /* trace tick = model tick + this, modulo 2^64 */
    uint64_t progress_offset; /* likewise */
    uint32_t first_id;
    uint32_t kind_count;
    bool recording;
    bool failed;
    uint64_t generated_events;
    uint64_t counts[GEN_COUNTS_MAX];
};

/* --- durations ------------------------------------------------------------------------------- */

static inline double gen_per_second(const struct gen_model *model)
{
    return 1e9 / (double)model->tick_ns;
}

static inline double gen_per_ms(const struct gen_model *model)
{
    return 1e6 / (double)model->tick_ns;
}

/* Round a duration up to whole ticks, at least one. */
static inline uint64_t gen_whole_ticks(double ticks)
{
    if (!(ticks < (double)GEN_TICKS_MAX)) {
        return GEN_TICKS_MAX;
    }
    uint64_t whole = (uint64_t)ticks;
    return whole + ((double)whole < ticks || whole == 0);
}

static inline uint64_t gen_exponential(struct gen_model *model, double mean_ticks)
{
    return gen_whole_ticks(random_exponential(&model->random, mean_ticks));
}

static inline uint64_t gen_lognormal(struct gen_model *model, double median_ticks, double sigma)
{
    return gen_whole_ticks(sigma > 0 ? random_lognormal(&model->random, median_ticks, sigma)
                                     : median_ticks);
}

/* Return a timeout that is doubled some times, but not beyond `most`. */
static inline uint64_t gen_doubled(uint64_t ticks, unsigned times, uint64_t most)
{
    for (; times > 0 && ticks < most; times--) {
        ticks *= 2;
    }
    return ticks < most ? ticks : most;
}

/* Return true with that probability. */
static inline bool gen_chance(struct gen_model *model, double probability)
{
    return random_unit(&model->random) < probability;
}

/* Durations between two limits: any, or a number of distinct ones, evenly spaced. */
struct gen_span {
    double min_ticks;
    double max_ticks;
    uint32_t distinct; /* 0: any */
};

static inline uint64_t gen_span_draw(struct gen_model *model, const struct gen_span *span)
{
    double u = random_unit(&model->random);
    if (span->distinct == 1) {
        u = 0;
    } else if (span->distinct > 1) {
        u = (double)(uint32_t)(u * span->distinct) / (span->distinct - 1);
    }
    return gen_whole_ticks(span->min_ticks + u * (span->max_ticks - span->min_ticks));
}

/* Read a span from its three rows of parameters, beginning with `row`: minimum and maximum in
 * seconds, and the number of distinct durations. False if the minimum is above the maximum. */
bool gen_span_read(struct gen_model *model, unsigned row, struct gen_span *span);

/* Return whether parameter `low` is at most `high`, with a unit of `high_unit` of low's;
 * if not, set the error. */
bool gen_ordered(struct gen_model *model, unsigned low, unsigned high, double high_unit);

/* --- the ring, the trace --------------------------------------------------------------------- */

/* Make an empty ring for numbers below `numbers`, at tick `now`, that reaches `reach_ticks`
 * ahead. */
void gen_ring_create(struct gen_ring *ring, uint32_t numbers, uint64_t now, uint64_t reach_ticks);

/* Harmless on a zeroed ring. */
void gen_ring_destroy(struct gen_ring *ring);

/* File `number`, which is not in the ring, at `tick`, which must not be taken yet. */
void gen_ring_add(struct gen_ring *ring, uint64_t tick, uint32_t number);

/* Take the next tick's numbers, and advance by a tick: return how many there are, and set *first;
 * ring->next links them until they are added again. Their order depends only on the order of the
 * additions. */
uint32_t gen_ring_take(struct gen_ring *ring, uint32_t *first);

/* Allocate the records, zeroed except for their timers' ids, and the ring, which begins at tick
 * `now` and reaches `reach_ticks` ahead. At this tick connections are placed. */
void gen_model_begin(struct gen_model *model, size_t record_bytes, uint64_t now,
                     uint64_t reach_ticks);

/* End the simulation because there are more timers than ids. Always returns false. */
bool gen_too_many_timers(struct gen_model *model);

/* Return the trace's id of a place, a new one if it has none yet. */
uint32_t gen_place_id(struct gen_model *model, uint32_t place);

/* Return the trace's id of a timer of the model. */
static inline uint32_t gen_id(struct gen_model *model, uint32_t place)
{
    return model->id_of != NULL ? gen_place_id(model, place) : place;
}

/* Make the operations recorded from now on external. */
static inline void gen_from_outside(struct gen_model *model)
{
    model->cause = (struct trace_cause){.basis = TRACE_EXTERNAL};
}

/* Return the slack of a timer with this delay. */
static inline uint32_t gen_slack(const struct gen_model *model, uint64_t delay_ticks)
{
    double slack = model->parameters[GEN_SLACK] * (double)delay_ticks;
    return slack < UINT32_MAX ? (uint32_t)slack : UINT32_MAX;
}

/* Record an operation of timer `id`. In a reaction, the start of the expired timer must come
 * last. */
static inline void gen_record(struct gen_model *model, uint64_t now, uint32_t id, enum trace_op op,
                              uint64_t delay_ticks)
{
    model->generated_events++;
    if (!model->recording) {
        return;
    }
    struct trace_cause cause = model->cause;
    cause.slack_ticks = gen_slack(model, delay_ticks);
    if (cause.basis != TRACE_EXTERNAL) {
        cause.id = gen_id(model, cause.id);
    }
    if (!trace_writer_add_reaction(model->writer, now + model->trace_offset, gen_id(model, id), op,
                                   delay_ticks, cause, model->error)) {
        model->failed = true;
    }
}

/* --- the base of a periodic timer's next deadline -------------------------------------------- */

/* The words, in the order of enum trace_basis, and a row of parameters that takes them. */
extern const struct tl_choice gen_rearm_words[];
#define GEN_REARM_ROW(code, source)                                                                \
    GEN_WORD(code, "rearm", 0, gen_rearm_words,                                                    \
             "start of the next delay: delay: the expiry; rate: the deadline before; absolute: "   \
             "the tick at which an exact timer fires",                                             \
             source)

static inline enum trace_basis gen_rearm_basis(const struct gen_model *model, unsigned row)
{
    return (enum trace_basis)(TRACE_FIXED_DELAY + (unsigned)model->parameters[row]);
}

/* --- timers ---------------------------------------------------------------------------------- */

/* A connection's timer. */
struct gen_timer {
    uint64_t due;
    uint64_t delay_ticks; /* 0: not pending */
    uint32_t id;
    bool fired; /* in the trace, and not started since */
};

/* Start or restart a timer; `delay_ticks` is at least 1. */
static inline void gen_timer_start(struct gen_model *model, uint64_t now, struct gen_timer *timer,
                                   uint64_t delay_ticks)
{
    *timer =
        (struct gen_timer){.due = now + delay_ticks, .delay_ticks = delay_ticks, .id = timer->id};
    gen_record(model, now, timer->id, TRACE_START, delay_ticks);
}

/* Start a timer in a reaction, with a delay that does not count from the expiry. */
static inline void gen_timer_start_from(struct gen_model *model, uint64_t now,
                                        struct gen_timer *timer, uint64_t delay_ticks,
                                        enum trace_basis basis)
{
    model->cause.basis = basis;
    gen_timer_start(model, now, timer, delay_ticks);
    model->cause.basis = TRACE_FIXED_DELAY;
}

/* Stop a timer if it is pending. One that is due now has fired. */
static inline void gen_timer_stop(struct gen_model *model, uint64_t now, struct gen_timer *timer)
{
    if (timer->delay_ticks > 0) {
        timer->delay_ticks = 0;
        if (timer->due > now) {
            gen_record(model, now, timer->id, TRACE_STOP, 0);
        } else {
            timer->fired = model->recording;
        }
    }
}

/* Expire a timer: it is the cause of the operations recorded next. */
static inline void gen_timer_fire(struct gen_model *model, struct gen_timer *timer)
{
    timer->delay_ticks = 0;
    timer->fired = model->recording;
    model->cause = (struct trace_cause){.id = timer->id, .basis = TRACE_FIXED_DELAY};
}

/* If the timer is due now, expire it. Return whether it was. */
static inline bool gen_timer_expires(struct gen_model *model, struct gen_timer *timer, uint64_t now)
{
    if (timer->delay_ticks == 0 || timer->due != now) {
        return false;
    }
    gen_timer_fire(model, timer);
    return true;
}

/* Return the timers of an end, from 0, of a connection. */
static inline struct gen_timer *gen_timers_of(const struct gen_model *model, uint32_t number,
                                              uint32_t end)
{
    char *record = (char *)model->records + number * model->record_bytes;
    return (void *)(record + end * model->end_bytes);
}

/* Call before a new connection, call or job begins from outside: if one of a record's timers has
 * fired, all of them get new ids. */
void gen_timers_renew(struct gen_model *model, struct gen_timer *timers);

/* Add `count` ids, or places, for the model. False if there are not enough. */
bool gen_take_ids(struct gen_model *model, uint32_t count);

/* Make a timer pending at tick `now` as if started `age_ticks` before it: 1 .. delay_ticks. */
static inline void gen_timer_place(struct gen_timer *timer, uint64_t now, uint64_t delay_ticks,
                                   uint64_t age_ticks)
{
    timer->due = now - age_ticks + delay_ticks;
    timer->delay_ticks = delay_ticks;
}

/* Draw a uniform age for gen_timer_place. */
static inline uint64_t gen_uniform_age(struct gen_model *model, uint64_t delay_ticks)
{
    return 1 + (uint64_t)((double)delay_ticks * random_unit(&model->random) * (1 - 0x1p-52));
}

/* Return the probability that an exponential time is at most `ticks`. */
double gen_comes_within(double ticks, double mean_ticks);

/* Make a timer pending at tick `now` that is restarted at exponential gaps, given that one ends
 * within the delay, which has the probability `within`. */
void gen_place_restarted(struct gen_model *model, struct gen_timer *timer, uint64_t now,
                         uint64_t delay_ticks, double gap_ticks, double within);

#endif
