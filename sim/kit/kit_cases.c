/*
 * The contract cases. Each is a script about one promise: it says what to do, and the judge
 * (kit_subject.h) says after every call whether that is what had to happen. The table at the end
 * is the one list of them.
 */
#include "kit_interpreter.h"
#include "kit_run.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* What a structure may take under option values that are not its defaults. */
#define VARIANT_BYTES ((uint64_t)32 << 20)

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* --- tools ----------------------------------------------------------------------------------- */

static bool is_default(const struct kit_run *run)
{
    return memcmp(run->options, run->target->options, sizeof run->options) == 0;
}

/* Makes a subject under the run's options; false if the structure refuses them, which defaults
 * must not be. */
static bool open_with(struct kit_run *run, struct kit_subject *subject, uint32_t capacity,
                      uint64_t now, uint64_t max_delay_ticks)
{
    subject_init(subject, run->algo, run->options,
                 is_default(run) ? run->limit_bytes : VARIANT_BYTES, run->witness);
    enum kit_opened opened = subject_create(subject, capacity, now, max_delay_ticks);
    if (opened == KIT_OPENED) {
        return true;
    }
    subject_discard(subject);
    if (opened == KIT_REFUSED && is_default(run)) {
        kit_fail(run->witness, KIT_FAULT_STATUS,
                 "create for %" PRIu32 " timers at clock %" PRIu64 ", longest delay %" PRIu64
                 ", refuses these options (with %" PRIu64 " bytes to be had)",
                 capacity, now, max_delay_ticks, run->limit_bytes);
    }
    return false;
}

static bool open_subject(struct kit_run *run, struct kit_subject *subject, uint32_t capacity,
                         uint64_t now)
{
    return open_with(run, subject, capacity, now, 0);
}

/* How much less to do with a structure that is large: making, filling and inspecting it then costs
 * more than what is done with it. 1 for most. */
static unsigned thrift(const struct kit_subject *subject)
{
    uint64_t parts = subject->guard.bytes / (128 << 10);
    return parts < 15 ? 1 + (unsigned)parts * 2 : 31;
}

static void advance_to(struct kit_subject *subject, uint64_t now)
{
    (void)subject_advance(subject, now > subject->clock ? now : subject->clock, TL_NO_BUDGET);
    subject->witness->operations++;
}

static void start_in(struct kit_subject *subject, uint32_t id, uint64_t delay_ticks)
{
    uint64_t deadline = kit_add(subject->clock, delay_ticks);
    (void)subject_start(subject, id, deadline < TL_DEADLINE_MAX ? deadline : TL_DEADLINE_MAX);
    subject->witness->operations++;
}

static void stop(struct kit_subject *subject, uint32_t id)
{
    (void)subject_stop(subject, id);
    subject->witness->operations++;
}

/* The nearest due tick that is ahead of the clock; 0 if there is none. */
static uint64_t nearest_due(const struct kit_subject *subject)
{
    uint64_t nearest = 0;
    for (uint32_t id = 0; id < subject->usable; id++) {
        const struct kit_timer *timer = &subject->timers[id];
        if (timer->state == KIT_TIMER_PENDING && timer->due > subject->clock &&
            (nearest == 0 || timer->due < nearest)) {
            nearest = timer->due;
        }
    }
    return nearest;
}

/* Goes from due tick to due tick, stopping just before each, on it, and just behind; then on until
 * nothing is pending. */
static void settle(struct kit_subject *subject)
{
    for (uint64_t due = nearest_due(subject); due != 0; due = nearest_due(subject)) {
        if (due - 1 > subject->clock) {
            advance_to(subject, due - 1);
        }
        advance_to(subject, due);
    }
    advance_to(subject, subject->clock + 1);
    subject_drain(subject);
}

static void close_subject(struct kit_subject *subject)
{
    subject->on_fire = NULL;
    subject_inspect(subject);
    subject_drain(subject);
    subject_inspect(subject);
    subject_destroy(subject);
}

/* Random traffic: how it is drawn. */
struct traffic {
    uint64_t random;
    uint64_t boundaries[KIT_BOUNDARIES_MAX];
    size_t boundary_count;
    uint64_t span; /* delays are mostly shorter */
};

static void traffic_init(struct traffic *traffic, const struct kit_run *run, uint64_t span,
                         uint64_t seed)
{
    traffic->random = seed;
    traffic->span = span;
    traffic->boundary_count = kit_boundaries(run->algo, run->options, span, traffic->boundaries);
}

static uint64_t draw_delay(struct traffic *traffic, uint64_t clock)
{
    uint64_t random = kit_random(&traffic->random);
    uint64_t more = random >> 8;
    uint64_t unit;
    switch (random % 8) {
    case 0:
        return more % 4;
    case 1:
    case 2:
        return more % (traffic->span / 16 + 1);
    case 3:
    case 4:
        return more % (traffic->span + 1);
    case 5:
        unit = traffic->boundaries[more % traffic->boundary_count];
        return unit > 0 ? unit - clock % unit : 0;
    default:
        return traffic->boundaries[more % traffic->boundary_count];
    }
}

/* One start, restart or stop of some timer. */
static void draw_operation(struct traffic *traffic, struct kit_subject *subject)
{
    uint64_t random = kit_random(&traffic->random);
    uint32_t id = (uint32_t)(random >> 32) % subject->capacity;
    if (random % 8 < 6) {
        start_in(subject, id, draw_delay(traffic, subject->clock));
    } else {
        stop(subject, id);
    }
}

enum pace { BY_ONE, IRREGULARLY, BY_NEXT };

static void churn(struct traffic *traffic, struct kit_subject *subject, unsigned steps,
                  enum pace pace)
{
    for (unsigned i = 0; i < steps; i++) {
        if (subject->capacity > 0) {
            draw_operation(traffic, subject);
        }
        uint64_t random = kit_random(&traffic->random);
        uint64_t step = 1;
        if (pace == IRREGULARLY) {
            step = random % 4 == 0   ? (random >> 8) % (traffic->span + 1)
                   : random % 4 == 1 ? 0
                                     : (random >> 8) % 20;
        }
        if (pace == BY_NEXT) {
            uint64_t next = subject_next(subject);
            step = next != TL_NEVER && next > subject->clock ? next - subject->clock : 0;
        }
        advance_to(subject, subject->clock + step);
    }
}

/* --- deadlines ------------------------------------------------------------------------------- */

static const uint64_t epochs[] = {
    0, 1, 2, 9, 63, 64, 255, 511, 1000, 99999, UINT64_C(0xffffffff), UINT64_C(1) << 40};

static void case_create(struct kit_run *run)
{
    static const uint32_t capacities[] = {0, 1, 2, 3, 64, 1000, 20000};
    for (size_t i = 0; i < LENGTH(capacities); i++) {
        struct kit_subject subject;
        if (open_with(run, &subject, capacities[i], epochs[i], i % 2 == 0 ? 0 : 4096)) {
            subject_inspect(&subject);
            subject_destroy(&subject);
        }
    }
}

static void case_empty(struct kit_run *run)
{
    static const uint32_t capacities[] = {0, 8};
    for (size_t i = 0; i < LENGTH(capacities); i++) {
        struct kit_subject subject;
        if (!open_subject(run, &subject, capacities[i], 5)) {
            continue;
        }
        for (uint32_t id = 0; id < capacities[i]; id++) {
            stop(&subject, id);
        }
        for (unsigned k = 0; k <= 40; k += 8) {
            advance_to(&subject, subject.clock + (UINT64_C(1) << k));
        }
        if (capacities[i] == 0 && subject_reserve(&subject, 4)) {
            start_in(&subject, 3, 2);
            settle(&subject);
        }
        close_subject(&subject);
    }
}

/* Starts one timer at each epoch, fresh and after some time, with what `deadline_of` makes of the
 * clock; then advances without moving, and by one. */
static void near_deadlines(struct kit_run *run, uint64_t (*deadline_of)(uint64_t clock))
{
    for (size_t i = 0; i < LENGTH(epochs); i++) {
        struct kit_subject subject;
        if (!open_subject(run, &subject, 3, epochs[i])) {
            continue;
        }
        for (unsigned round = 0; round < 4; round++) {
            for (uint32_t id = 0; id < 3; id++) {
                (void)subject_start(&subject, id, deadline_of(subject.clock));
            }
            advance_to(&subject, subject.clock);
            advance_to(&subject, subject.clock + 1);
            for (uint32_t id = 0; id < 3; id++) {
                (void)subject_start(&subject, id, deadline_of(subject.clock));
            }
            advance_to(&subject, subject.clock + 1 + 7 * round);
        }
        close_subject(&subject);
    }
}

static uint64_t deadline_now(uint64_t clock)
{
    return clock;
}

static uint64_t deadline_past(uint64_t clock)
{
    return clock % 3 == 0 ? 0 : clock % 3 == 1 ? clock - 1 : clock / 2;
}

static uint64_t deadline_next(uint64_t clock)
{
    return clock + 1;
}

static void case_deadline_now(struct kit_run *run)
{
    near_deadlines(run, deadline_now);
}

static void case_deadline_past(struct kit_run *run)
{
    near_deadlines(run, deadline_past);
}

static void case_deadline_next(struct kit_run *run)
{
    near_deadlines(run, deadline_next);
}

static void case_boundaries(struct kit_run *run)
{
    uint64_t values[KIT_BOUNDARIES_MAX];
    size_t count = kit_boundaries(run->algo, run->options, UINT64_C(1) << 24, values);
    struct kit_subject subject;
    /* The clock moves on, so the boundaries are met from many sides. */
    if (!open_subject(run, &subject, 1, 0)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        start_in(&subject, 0, values[i]);
        settle(&subject);
    }
    close_subject(&subject);
    /* From zero: deadlines at the boundaries themselves. */
    size_t stride = 1;
    for (size_t i = 0; i < count; i += stride) {
        if (!open_subject(run, &subject, 1, 0)) {
            return;
        }
        stride = is_default(run) ? thrift(&subject) : 3 * thrift(&subject);
        start_in(&subject, 0, values[i]);
        if (values[i] > 1) {
            advance_to(&subject, values[i] / 2);
        }
        settle(&subject);
        close_subject(&subject);
    }
}

static void case_boundaries_together(struct kit_run *run)
{
    uint64_t values[KIT_BOUNDARIES_MAX];
    size_t count = kit_boundaries(run->algo, run->options, UINT64_C(1) << 20, values);
    static const uint64_t clocks[] = {0, 1, 63, 1023, 99999};
    for (size_t k = 0; k < LENGTH(clocks); k++) {
        struct kit_subject subject;
        if (!open_subject(run, &subject, (uint32_t)count, clocks[k])) {
            return;
        }
        for (size_t i = 0; i < count; i++) {
            start_in(&subject, (uint32_t)(k % 2 == 0 ? count - 1 - i : i), values[i]);
        }
        settle(&subject);
        close_subject(&subject);
    }
}

static void case_deadline_far(struct kit_run *run)
{
    static const uint64_t clocks[] = {0, 12345, UINT64_C(1) << 33, (UINT64_C(1) << 62) - 1,
                                      TL_DEADLINE_MAX - 3};
    for (size_t k = 0; k < LENGTH(clocks); k++) {
        struct kit_subject subject;
        if (!open_subject(run, &subject, 200, clocks[k])) {
            return;
        }
        uint32_t id = 0;
        for (unsigned bit = 20; bit <= 63; bit++) {
            for (uint64_t near = (UINT64_C(1) << bit) - 1; near <= (UINT64_C(1) << bit) + 1;
                 near++) {
                if (near <= TL_DEADLINE_MAX) {
                    (void)subject_start(&subject, id++, near);
                }
            }
        }
        settle(&subject);
        close_subject(&subject);
    }
    /* One at a time, with nothing else in the way. */
    for (unsigned bit = 20; bit <= 63; bit++) {
        struct kit_subject subject;
        if (!open_subject(run, &subject, 1, 3)) {
            return;
        }
        (void)subject_start(&subject, 0, UINT64_C(1) << bit);
        settle(&subject);
        close_subject(&subject);
    }
}

/* --- restart --------------------------------------------------------------------------------- */

static const uint64_t delays[] = {1,   2,   3,   4,   7,    9,    10,   11,   19,   20,   21,   60,
                                  63,  64,  65,  99,  100,  101,  255,  256,  257,  399,  400,  401,
                                  511, 512, 513, 999, 1000, 1023, 1024, 4095, 4096, 8000, 70000};

enum relation { EARLIER, LATER, SAME };

static void restarts(struct kit_run *run, enum relation relation)
{
    struct kit_subject subject;
    if (!open_subject(run, &subject, 3, 0)) {
        return;
    }
    for (size_t i = 0; i < LENGTH(delays); i++) {
        for (size_t j = 0; j < LENGTH(delays); j += relation == SAME ? LENGTH(delays) : 1) {
            uint64_t first = delays[i];
            uint64_t second = relation == SAME ? first : delays[j];
            if ((relation == EARLIER && second >= first) ||
                (relation == LATER && second <= first)) {
                continue;
            }
            /* A neighbour with the old deadline, and at times one with the new. */
            start_in(&subject, 0, first);
            start_in(&subject, 1, first);
            if ((i + j) % 3 == 0) {
                start_in(&subject, 2, second);
            }
            uint64_t until = first / 2;
            uint64_t deadline = subject.clock + second;
            if (j % 2 == 1 && until > 0 && until < second) {
                advance_to(&subject, subject.clock + until);
            }
            (void)subject_start(&subject, 1, deadline);
            (void)subject_start(&subject, 1, deadline);
            settle(&subject);
        }
    }
    close_subject(&subject);
}

static void case_restart_earlier(struct kit_run *run)
{
    restarts(run, EARLIER);
}

static void case_restart_later(struct kit_run *run)
{
    restarts(run, LATER);
}

static void case_restart_same(struct kit_run *run)
{
    restarts(run, SAME);
}

static void case_restart_heartbeat(struct kit_run *run)
{
    /* A connection's idle timer: pushed back at every request, and at last let go. */
    static const uint64_t timeouts[] = {2, 30, 64, 600, 5000};
    for (size_t i = 0; i < LENGTH(timeouts); i++) {
        struct kit_subject subject;
        if (!open_subject(run, &subject, 2, 77)) {
            return;
        }
        uint64_t random = i;
        for (unsigned beat = 0; beat < 300; beat++) {
            start_in(&subject, 0, timeouts[i]);
            if (beat % 3 == 0) {
                start_in(&subject, 1, timeouts[i]);
            }
            advance_to(&subject, subject.clock + kit_random(&random) % timeouts[i]);
        }
        settle(&subject);
        close_subject(&subject);
    }
}

/* --- stop ------------------------------------------------------------------------------------ */

static void case_stop_idle(struct kit_run *run)
{
    struct kit_subject subject;
    if (!open_subject(run, &subject, 5, 10)) {
        return;
    }
    for (size_t i = 0; i < LENGTH(delays); i++) {
        start_in(&subject, 1, delays[i]);
        start_in(&subject, 3, delays[i]);
        stop(&subject, 0);
        stop(&subject, 2);
        stop(&subject, 4);
        settle(&subject);
    }
    close_subject(&subject);
}

static void case_stop_pending(struct kit_run *run)
{
    /* Of several that share a slot, each in turn is stopped; the others fire. */
    enum { TOGETHER = 5 };
    struct kit_subject subject;
    if (!open_subject(run, &subject, TOGETHER, 0)) {
        return;
    }
    for (size_t i = 0; i < LENGTH(delays); i++) {
        for (uint32_t victim = 0; victim < TOGETHER; victim++) {
            for (uint32_t id = 0; id < TOGETHER; id++) {
                start_in(&subject, id, delays[i]);
            }
            if (victim % 2 == 1) {
                advance_to(&subject, subject.clock + delays[i] / 3);
            }
            stop(&subject, victim);
            if (victim == 2) {
                stop(&subject, 4);
            }
            settle(&subject);
        }
    }
    close_subject(&subject);
}

static void case_stop_fired(struct kit_run *run)
{
    struct kit_subject subject;
    if (!open_subject(run, &subject, 3, 0)) {
        return;
    }
    for (size_t i = 0; i < LENGTH(delays); i++) {
        start_in(&subject, 0, delays[i]);
        start_in(&subject, 1, delays[i]);
        settle(&subject);
        start_in(&subject, 2, delays[i]);
        stop(&subject, 0);
        stop(&subject, 1);
        settle(&subject);
    }
    close_subject(&subject);
}

static void case_stop_twice(struct kit_run *run)
{
    struct kit_subject subject;
    if (!open_subject(run, &subject, 3, 0)) {
        return;
    }
    for (size_t i = 0; i < LENGTH(delays); i++) {
        start_in(&subject, 0, delays[i]);
        start_in(&subject, 1, delays[i]);
        start_in(&subject, 2, delays[i]);
        stop(&subject, 1);
        stop(&subject, 1);
        advance_to(&subject, subject.clock + delays[i] - 1);
        stop(&subject, 1);
        settle(&subject);
    }
    close_subject(&subject);
}

static void case_reused_id(struct kit_run *run)
{
    /* Whatever a timer's earlier life left behind must not act on its later one. */
    struct kit_subject subject;
    if (!open_subject(run, &subject, 4, 0)) {
        return;
    }
    for (size_t i = 0; i < LENGTH(delays); i++) {
        for (size_t j = 0; j < LENGTH(delays); j++) {
            start_in(&subject, 0, delays[i]);
            start_in(&subject, 1, delays[i]);
            stop(&subject, 0);
            start_in(&subject, 0, delays[j]);
            if (j % 3 == 1) {
                stop(&subject, 0);
                start_in(&subject, 2, delays[j]);
            }
            if (j % 3 == 2) {
                start_in(&subject, 3, delays[i]);
                stop(&subject, 1);
                start_in(&subject, 1, delays[j]);
            }
            settle(&subject);
        }
    }
    close_subject(&subject);
}

/* --- callbacks ------------------------------------------------------------------------------- */

/* What callbacks do: the same for each timer of a case. */
struct acts {
    void (*act)(struct kit_subject *subject, uint32_t id, struct acts *acts);
    unsigned left; /* so many more callbacks act */
    uint64_t ticks;
    bool back; /* ticks count backwards from now */
    struct traffic *traffic;
};

static void on_fire(struct kit_subject *subject, uint32_t id)
{
    struct acts *acts = subject->on_fire_ctx;
    if (acts->left > 0) {
        acts->left--;
        acts->act(subject, id, acts);
    }
}

static void let_act(struct kit_subject *subject, struct acts *acts)
{
    subject->on_fire = on_fire;
    subject->on_fire_ctx = acts;
}

static void act_start(struct kit_subject *subject, uint32_t id, const struct acts *acts)
{
    uint64_t clock = subject->clock;
    uint64_t past = clock > acts->ticks ? clock - acts->ticks : 0;
    uint64_t ahead = kit_add(clock, acts->ticks);
    uint64_t deadline = acts->back ? past : ahead;
    (void)subject_start(subject, id, deadline < TL_DEADLINE_MAX ? deadline : TL_DEADLINE_MAX);
}

static void restart_self(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    act_start(subject, id, acts);
}

static void stop_self(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    (void)acts;
    stop(subject, id);
}

static void start_others(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    for (uint32_t other = 0; other < subject->capacity; other++) {
        if (other != id && subject->timers[other].state != KIT_TIMER_PENDING) {
            act_start(subject, other, acts);
        }
    }
}

static void stop_others(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    (void)acts;
    for (uint32_t other = 0; other < subject->capacity; other++) {
        if (other != id) {
            stop(subject, other);
        }
    }
}

static void restart_others(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    for (uint32_t other = 0; other < subject->capacity; other++) {
        if (other != id && subject->timers[other].state == KIT_TIMER_PENDING) {
            act_start(subject, other, acts);
        }
    }
}

static void draw_operations(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    (void)id;
    draw_operation(acts->traffic, subject);
    draw_operation(acts->traffic, subject);
}

/* Several timers due in one advance, at one tick or at several, and callbacks that act. */
static void callbacks(struct kit_run *run,
                      void (*act)(struct kit_subject *, uint32_t, struct acts *), unsigned acting,
                      const struct acts *how, size_t how_count)
{
    enum { TOGETHER = 6 };
    for (size_t h = 0; h < how_count; h++) {
        struct kit_subject subject;
        if (!open_subject(run, &subject, TOGETHER, 100)) {
            return;
        }
        for (size_t i = 0; i < LENGTH(delays); i++) {
            struct acts acts = how[h];
            acts.act = act;
            acts.left = acting;
            for (uint32_t id = 0; id < TOGETHER - 1; id++) {
                start_in(&subject, id, delays[i] + (i % 2 == 1 ? id : 0));
            }
            let_act(&subject, &acts);
            advance_to(&subject, subject.clock + delays[i] + (i % 3 == 0 ? 0 : TOGETHER));
            advance_to(&subject, subject.clock);
            advance_to(&subject, subject.clock + 1);
            settle(&subject);
            subject.on_fire = NULL;
        }
        close_subject(&subject);
    }
}

static const struct acts nows[] = {
    {.ticks = 0}, {.ticks = 1, .back = true}, {.ticks = 1u << 30, .back = true}};
static const struct acts laters[] = {{.ticks = 0},  {.ticks = 1},   {.ticks = 2},   {.ticks = 10},
                                     {.ticks = 64}, {.ticks = 512}, {.ticks = 1000}};

static void case_callback_stop_self(struct kit_run *run)
{
    callbacks(run, stop_self, 100, nows, 1);
}

static void case_callback_restart_self(struct kit_run *run)
{
    callbacks(run, restart_self, 20, laters, LENGTH(laters));
}

static void case_callback_restart_now(struct kit_run *run)
{
    callbacks(run, restart_self, 20, nows, LENGTH(nows));
}

static void case_callback_start_other(struct kit_run *run)
{
    callbacks(run, start_others, 8, laters, LENGTH(laters));
    callbacks(run, start_others, 8, nows, LENGTH(nows));
}

static void case_callback_stop_other(struct kit_run *run)
{
    callbacks(run, stop_others, 3, nows, 1);
}

static void case_callback_restart_other(struct kit_run *run)
{
    callbacks(run, restart_others, 3, laters, LENGTH(laters));
    callbacks(run, restart_others, 3, nows, LENGTH(nows));
}

static void case_callback_mixed(struct kit_run *run)
{
    struct traffic traffic;
    traffic_init(&traffic, run, 700, 11);
    struct kit_subject subject;
    if (!open_subject(run, &subject, 24, 0)) {
        return;
    }
    for (unsigned round = 0; round < 40; round++) {
        struct acts acts = {.act = draw_operations, .left = 100, .traffic = &traffic};
        let_act(&subject, &acts);
        churn(&traffic, &subject, 50, round % 2 == 0 ? BY_ONE : IRREGULARLY);
        subject.on_fire = NULL;
    }
    close_subject(&subject);
}

/* --- budget ---------------------------------------------------------------------------------- */

static void case_budget(struct kit_run *run)
{
    enum { TOGETHER = 12 };
    struct kit_subject subject;
    if (!open_subject(run, &subject, TOGETHER, 3)) {
        return;
    }
    for (uint64_t budget = 0; budget <= TOGETHER + 1; budget++) {
        for (unsigned spread = 0; spread < 3; spread++) {
            for (uint32_t id = 0; id < TOGETHER; id++) {
                start_in(&subject, id, 40 + (uint64_t)id * spread * spread * 20);
            }
            uint64_t far = subject.clock + 40 + (uint64_t)TOGETHER * spread * spread * 20 + 600;
            (void)subject_advance(&subject, far, budget);
            subject_inspect(&subject);
            for (unsigned k = 0; k < 4; k++) {
                (void)subject_advance(&subject, subject.clock + k % 2, budget);
            }
            settle(&subject);
        }
    }
    close_subject(&subject);
}

static void case_budget_left_over(struct kit_run *run)
{
    /* Timers that a budget left over are pending: they can be stopped, moved, and destroyed. */
    enum { TOGETHER = 9 };
    for (unsigned what = 0; what < 4; what++) {
        for (size_t i = 0; i < LENGTH(delays); i += 3) {
            struct kit_subject subject;
            if (!open_subject(run, &subject, TOGETHER, 0)) {
                return;
            }
            for (uint32_t id = 0; id < TOGETHER; id++) {
                start_in(&subject, id, delays[i] + id % 3);
            }
            (void)subject_advance(&subject, delays[i] + 700, 4);
            for (uint32_t id = 0; id < TOGETHER; id++) {
                if (what == 0 && id % 2 == 0) {
                    stop(&subject, id);
                } else if (what == 1) {
                    start_in(&subject, id, id % 4 == 0 ? 0 : delays[i]);
                } else if (what == 2 && subject.timers[id].state == KIT_TIMER_FIRED) {
                    start_in(&subject, id, 0);
                }
            }
            if (what == 3) {
                subject_destroy(&subject);
                continue;
            }
            (void)subject_advance(&subject, subject.clock, 1);
            (void)subject_advance(&subject, subject.clock + 1, 2);
            settle(&subject);
            close_subject(&subject);
        }
    }
}

static void case_budget_callback(struct kit_run *run)
{
    enum { TOGETHER = 8 };
    for (size_t h = 0; h < LENGTH(laters); h++) {
        for (uint64_t budget = 1; budget < TOGETHER; budget += 2) {
            struct kit_subject subject;
            if (!open_subject(run, &subject, TOGETHER, 50)) {
                return;
            }
            struct acts acts = laters[h];
            acts.act = budget % 4 == 1 ? restart_self : restart_others;
            acts.left = 20;
            for (uint32_t id = 0; id < TOGETHER; id++) {
                start_in(&subject, id, 5 + id / 3);
            }
            let_act(&subject, &acts);
            for (unsigned k = 0; k < 40; k++) {
                (void)subject_advance(&subject, subject.clock + k % 3 * 5, budget);
            }
            close_subject(&subject);
        }
    }
}

/* --- time ------------------------------------------------------------------------------------ */

static void paced(struct kit_run *run, enum pace pace, unsigned steps)
{
    static const uint64_t spans[] = {8, 100, 1100, 30000};
    for (size_t i = 0; i < LENGTH(spans); i++) {
        struct traffic traffic;
        traffic_init(&traffic, run, spans[i], i + 1);
        struct kit_subject subject;
        if (!open_subject(run, &subject, 40, 0)) {
            return;
        }
        churn(&traffic, &subject, steps, pace);
        close_subject(&subject);
    }
}

static void case_advance_by_one(struct kit_run *run)
{
    paced(run, BY_ONE, 1500);
}

static void case_advance_irregular(struct kit_run *run)
{
    paced(run, IRREGULARLY, 1500);
}

static void case_advance_stay(struct kit_run *run)
{
    struct kit_subject subject;
    if (!open_subject(run, &subject, 4, 0)) {
        return;
    }
    for (size_t i = 0; i < LENGTH(delays); i++) {
        for (uint32_t id = 0; id < 4; id++) {
            start_in(&subject, id, delays[i] * id);
        }
        for (unsigned k = 0; k < 6; k++) {
            advance_to(&subject, subject.clock);
            advance_to(&subject, subject.clock);
            advance_to(&subject, subject.clock + delays[i] * (k + 1) / 3);
        }
        settle(&subject);
    }
    close_subject(&subject);
}

static void case_advance_jump(struct kit_run *run)
{
    for (unsigned bit = 10; bit <= 40; bit++) {
        struct kit_subject subject;
        if (!open_subject(run, &subject, 12, bit)) {
            return;
        }
        uint64_t jump = UINT64_C(1) << bit;
        for (unsigned round = 0; round < 3; round++) {
            const uint64_t spread[12] = {1,        2,    9,        511,      513,        jump / 2,
                                         jump - 1, jump, jump + 1, jump + 2, jump + 600, jump * 2};
            for (uint32_t id = 0; id < 12; id++) {
                start_in(&subject, id, spread[(id + round) % 12]);
            }
            advance_to(&subject, subject.clock + jump);
            advance_to(&subject, subject.clock + 1);
            settle(&subject);
        }
        close_subject(&subject);
    }
}

static void case_long_idle(struct kit_run *run)
{
    struct kit_subject subject;
    if (!open_subject(run, &subject, 8, 0)) {
        return;
    }
    for (unsigned bit = 4; bit <= 40; bit += 4) {
        /* Time passes with nothing to do, in one jump and tick by tick; then all is as ever. */
        advance_to(&subject, subject.clock + (UINT64_C(1) << bit) + bit);
        for (unsigned k = 0; k < 300; k++) {
            advance_to(&subject, subject.clock + 1);
        }
        for (uint32_t id = 0; id < 8; id++) {
            start_in(&subject, id, delays[(id * 4 + bit) % LENGTH(delays)]);
        }
        settle(&subject);
    }
    close_subject(&subject);
}

static void case_wrap(struct kit_run *run)
{
    /* One timer is always pending with a boundary's delay, for many turns of the smaller wheels. */
    uint64_t values[KIT_BOUNDARIES_MAX];
    size_t count = kit_boundaries(run->algo, run->options, 5000, values);
    struct kit_subject subject;
    if (!open_subject(run, &subject, 16, 0)) {
        return;
    }
    for (unsigned tick = 0; tick < 9000; tick++) {
        uint32_t id = tick % 16;
        if (subject.timers[id].state != KIT_TIMER_PENDING) {
            start_in(&subject, id, values[(size_t)tick * 7 % count]);
        }
        advance_to(&subject, subject.clock + (tick % 8 == 7 ? 9 : 1));
    }
    close_subject(&subject);
}

/* --- next ------------------------------------------------------------------------------------ */

static void case_next(struct kit_run *run)
{
    /* Asked after every operation, it is never behind the next firing; exactly that if promised. */
    struct traffic traffic;
    traffic_init(&traffic, run, 3000, 5);
    struct kit_subject subject;
    if (!open_subject(run, &subject, 16, 0)) {
        return;
    }
    for (size_t i = 0; i < LENGTH(delays); i++) {
        start_in(&subject, 0, delays[i]);
        (void)subject_next(&subject);
        start_in(&subject, 1, delays[i] * 2);
        (void)subject_next(&subject);
        stop(&subject, 0);
        (void)subject_next(&subject);
        settle(&subject);
        (void)subject_next(&subject);
    }
    for (unsigned i = 0; i < 3000; i++) {
        draw_operation(&traffic, &subject);
        (void)subject_next(&subject);
        if (i % 3 == 0) {
            advance_to(&subject, subject.clock + 1);
        }
    }
    close_subject(&subject);
}

static void case_next_drive(struct kit_run *run)
{
    /* Driven by next alone, everything fires in its time, in a bounded number of wakeups. */
    static const uint64_t spans[] = {50, 5000, UINT64_C(1) << 20, UINT64_C(1) << 34};
    for (size_t i = 0; i < LENGTH(spans); i++) {
        struct traffic traffic;
        traffic_init(&traffic, run, spans[i], i);
        struct kit_subject subject;
        if (!open_subject(run, &subject, 20, 7)) {
            return;
        }
        churn(&traffic, &subject, 400, BY_NEXT);
        unsigned wakeups = 0;
        for (uint64_t next = subject_next(&subject); next != TL_NEVER;
             next = subject_next(&subject)) {
            advance_to(&subject, next);
            if (++wakeups > 200000) {
                kit_fail(run->witness, KIT_FAULT_NEXT,
                         "after %u advances to what next says, %" PRIu64
                         " of 20 timers are still pending at clock %" PRIu64,
                         wakeups, subject.pending, subject.clock);
            }
        }
        close_subject(&subject);
    }
}

/* --- refusals and the horizon ---------------------------------------------------------------- */

/* The shortest refused delay at the subject's clock, or 0 if none is refused; timer 0 is idle. */
static uint64_t first_refused(struct kit_subject *subject)
{
    uint64_t longest = TL_DEADLINE_MAX - subject->clock;
    if (subject_start(subject, 0, subject->clock + longest) == TL_OK) {
        (void)subject_stop(subject, 0);
        return 0;
    }
    uint64_t taken = 0;
    uint64_t refused = longest;
    while (refused - taken > 1) {
        uint64_t middle = taken + (refused - taken) / 2;
        if (subject_start(subject, 0, subject->clock + middle) == TL_OK) {
            (void)subject_stop(subject, 0);
            taken = middle;
        } else {
            refused = middle;
        }
    }
    return refused;
}

static void case_refused(struct kit_run *run)
{
    struct kit_subject subject;
    if (!open_subject(run, &subject, 3, 20)) {
        return;
    }
    uint64_t beyond = first_refused(&subject);
    if (beyond == 0) {
        close_subject(&subject);
        return;
    }
    for (unsigned round = 0; round < 40; round++) {
        uint64_t delay = 1 + round * (beyond / 64);
        start_in(&subject, 1, delay < beyond ? delay : beyond - 1);
        /* An idle timer stays idle; a pending one keeps its deadline. */
        start_in(&subject, 0, TL_DEADLINE_MAX);
        start_in(&subject, 1, TL_DEADLINE_MAX);
        stop(&subject, 0);
        subject_inspect(&subject);
        settle(&subject);
        start_in(&subject, 0, TL_DEADLINE_MAX);
        stop(&subject, 0);
        advance_to(&subject, subject.clock + round);
    }
    close_subject(&subject);
}

static void case_horizon(struct kit_run *run)
{
    for (size_t i = 0; i < LENGTH(epochs); i++) {
        struct kit_subject subject;
        if (!open_subject(run, &subject, 2, epochs[i])) {
            return;
        }
        uint64_t refused = first_refused(&subject);
        uint64_t random = i;
        for (unsigned k = 0; k < 64 && refused != 0; k++) {
            uint64_t shorter = kit_random(&random) % refused;
            uint64_t longer = kit_add(refused, kit_random(&random) >> k);
            if (subject_start(&subject, 0, subject.clock + shorter) != TL_OK) {
                kit_fail(run->witness, KIT_FAULT_STATUS,
                         "at clock %" PRIu64 " a delay of %" PRIu64
                         " was taken, and one of %" PRIu64 " refused",
                         subject.clock, refused - 1, shorter);
            }
            (void)subject_stop(&subject, 0);
            if (longer <= TL_DEADLINE_MAX - subject.clock &&
                subject_start(&subject, 0, subject.clock + longer) == TL_OK) {
                kit_fail(run->witness, KIT_FAULT_STATUS,
                         "at clock %" PRIu64 " a delay of %" PRIu64
                         " was refused, and one of %" PRIu64 " taken",
                         subject.clock, refused, longer);
            }
        }
        if (refused > 1) {
            start_in(&subject, 1, refused - 1);
            settle(&subject);
        }
        /* Time that passes may move the horizon by a slot, not take it away. */
        for (unsigned bit = 8; bit <= 40 && refused != 0; bit += 8) {
            advance_to(&subject, subject.clock + (UINT64_C(1) << bit));
            uint64_t then = first_refused(&subject);
            if (then != 0 && then < refused / 2) {
                kit_fail(run->witness, KIT_FAULT_STATUS,
                         "the horizon was %" PRIu64 " ticks away at clock %" PRIu64
                         ", and at clock %" PRIu64 ", nothing having been pending, is %" PRIu64,
                         refused - 1, epochs[i], subject.clock, then - 1);
            }
        }
        close_subject(&subject);
    }
}

/* --- memory ---------------------------------------------------------------------------------- */

static void case_destroy_pending(struct kit_run *run)
{
    static const uint64_t spans[] = {4, 1000, UINT64_C(1) << 20, UINT64_C(1) << 40};
    for (size_t i = 0; i < LENGTH(spans); i++) {
        struct traffic traffic;
        traffic_init(&traffic, run, spans[i], i + 3);
        struct kit_subject subject;
        if (!open_subject(run, &subject, 100, 0)) {
            return;
        }
        churn(&traffic, &subject, 200, IRREGULARLY);
        for (uint32_t id = 0; id < 100; id++) {
            start_in(&subject, id, draw_delay(&traffic, subject.clock));
        }
        subject_destroy(&subject);
    }
}

static void case_reserve_grows(struct kit_run *run)
{
    struct traffic traffic;
    traffic_init(&traffic, run, 900, 8);
    struct kit_subject subject;
    if (!open_subject(run, &subject, 0, 0)) {
        return;
    }
    for (uint32_t capacity = 1; capacity < 300; capacity += 1 + capacity / 4) {
        if (!subject_reserve(&subject, capacity)) {
            break;
        }
        stop(&subject, capacity - 1);
        start_in(&subject, capacity - 1, draw_delay(&traffic, subject.clock));
        (void)subject_reserve(&subject, capacity / 2); /* never shrinks */
        subject_inspect(&subject);
        churn(&traffic, &subject, 20, capacity % 2 == 0 ? BY_ONE : IRREGULARLY);
    }
    settle(&subject);
    close_subject(&subject);
}

static void case_reserve_word(struct kit_run *run)
{
    enum { MANY = 150 };
    static const uint64_t spans[] = {300, 70000, UINT64_C(1) << 40};
    for (size_t i = 0; i < LENGTH(spans); i++) {
        struct traffic traffic;
        traffic_init(&traffic, run, spans[i], i);
        struct kit_subject subject;
        if (!open_subject(run, &subject, 10, 0)) {
            return;
        }
        if (!subject_reserve(&subject, MANY)) {
            subject_destroy(&subject);
            continue;
        }
        subject.guard.grants = 0;
        for (uint32_t id = 0; id < MANY; id++) {
            start_in(&subject, id, draw_delay(&traffic, subject.clock));
        }
        for (unsigned k = 0; k < 3; k++) {
            churn(&traffic, &subject, 300, k % 2 == 0 ? IRREGULARLY : BY_ONE);
            for (uint32_t id = 0; id < MANY; id++) {
                start_in(&subject, id, draw_delay(&traffic, subject.clock));
            }
        }
        close_subject(&subject);
    }
}

static void case_no_allocation(struct kit_run *run)
{
    if ((run->algo->capabilities & TL_CAP_ALLOCATES) != 0) {
        return; /* it says that it does */
    }
    /* The judge watches the allocator in every case; this one visits every hook. */
    struct traffic traffic;
    traffic_init(&traffic, run, 5000, 2);
    struct kit_subject subject;
    if (!open_subject(run, &subject, 64, 0)) {
        return;
    }
    for (uint32_t id = 0; id < 64; id++) {
        start_in(&subject, id, draw_delay(&traffic, 0));
    }
    churn(&traffic, &subject, 2000, IRREGULARLY);
    close_subject(&subject);
}

static void case_allocation_failure(struct kit_run *run)
{
    struct kit_subject subject;
    bool opened = false;
    for (uint64_t grants = 0; grants < 500 && !opened; grants++) {
        subject_init(&subject, run->algo, run->options,
                     is_default(run) ? run->limit_bytes : VARIANT_BYTES, run->witness);
        subject.guard.grants = grants;
        enum kit_opened how = subject_create(&subject, 6, 0, 0);
        opened = how == KIT_OPENED;
        if (!opened) {
            subject_discard(&subject);
        }
        if (how == KIT_UNAVAILABLE) {
            return;
        }
    }
    if (!opened) {
        return; /* options that are refused however much memory there is */
    }
    for (uint32_t id = 0; id < 5; id++) {
        start_in(&subject, id, delays[id * 6]);
    }
    bool reserved = false;
    for (uint64_t grants = 0; grants < 500 && !reserved; grants++) {
        subject.guard.grants = grants;
        reserved = subject_reserve(&subject, 90);
        subject.guard.grants = 0;
        subject_inspect(&subject);
        stop(&subject, 5);
        start_in(&subject, 2, delays[grants % LENGTH(delays)]);
    }
    subject.guard.grants = UINT64_MAX;
    for (uint32_t id = 0; id < subject.capacity; id++) {
        start_in(&subject, id, delays[id % LENGTH(delays)]);
    }
    settle(&subject);
    close_subject(&subject);
}

static void case_memory_guard(struct kit_run *run)
{
    /* Every id of small capacities, the first and the last above all. */
    for (uint32_t capacity = 1; capacity <= 33; capacity++) {
        struct traffic traffic;
        traffic_init(&traffic, run, 2000, capacity);
        struct kit_subject subject;
        if (!open_subject(run, &subject, capacity, 0)) {
            return;
        }
        for (uint32_t id = capacity; id-- > 0;) {
            start_in(&subject, id, draw_delay(&traffic, 0));
            kit_guard_check(&subject.guard);
        }
        churn(&traffic, &subject, 30, IRREGULARLY);
        kit_guard_check(&subject.guard);
        settle(&subject);
        for (uint32_t id = 0; id < capacity; id++) {
            start_in(&subject, id, 64);
        }
        (void)subject_reserve(&subject, capacity + 1);
        start_in(&subject, capacity, 64);
        settle(&subject);
        close_subject(&subject);
    }
}

/* The sanitizers bring a malloc of their own, which mallinfo2 knows nothing of. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): their name for it */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* What the process has by way of malloc. */
static uint64_t heap_bytes(void)
{
    if (__sanitizer_get_current_allocated_bytes != NULL) {
        return __sanitizer_get_current_allocated_bytes();
    }
    struct mallinfo2 info = mallinfo2();
    return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
}

static void case_memory_in_sight(struct kit_run *run)
{
    /* As many timers as would show, had their memory not come from the allocator. */
    enum { MANY = 60000, SLACK = 64 << 10 };
    struct kit_subject subject;
    uint64_t before = heap_bytes();
    if (!open_subject(run, &subject, MANY, 0)) {
        return;
    }
    uint64_t model = (uint64_t)MANY * (sizeof(struct kit_timer) + sizeof(uint64_t));
    uint64_t seen = subject.guard.bytes + subject.guard.blocks * 4352 + model;
    uint64_t after = heap_bytes();
    if (after > before + seen + SLACK) {
        kit_fail(run->witness, KIT_FAULT_MEMORY,
                 "create for %d timers took %" PRIu64
                 " bytes from the allocator, and about %" PRIu64 " more behind its back",
                 MANY, subject.guard.bytes, after - before - seen);
    }
    if (subject.guard.bytes < MANY) {
        kit_fail(run->witness, KIT_FAULT_MEMORY,
                 "create for %d timers took only %" PRIu64
                 " bytes from the allocator: its memory is elsewhere",
                 MANY, subject.guard.bytes);
    }
    subject_destroy(&subject);
    /* What create and destroy leave behind outside the allocator adds up. */
    for (unsigned i = 0; i < 1200; i++) {
        /* malloc keeps some freed blocks as if in use: no more of them after the first rounds. */
        before = i == 200 ? heap_bytes() : before;
        if (open_subject(run, &subject, 4, 0)) {
            start_in(&subject, 1, 100);
            subject_destroy(&subject);
        }
    }
    after = heap_bytes();
    if (after > before + SLACK / 8) {
        kit_fail(run->witness, KIT_FAULT_LEAK,
                 "1000 structures made and destroyed left %" PRIu64
                 " bytes behind that did not come from the allocator",
                 after - before);
    }
}

static void case_memory_bounded(struct kit_run *run)
{
    /* The same few timers over and over: started far, pulled near, stopped, started again. */
    enum { FEW = 32, ROUNDS = 20000 };
    struct traffic traffic;
    traffic_init(&traffic, run, 60000, 4);
    struct kit_subject subject;
    if (!open_subject(run, &subject, FEW, 0)) {
        return;
    }
    uint64_t settled = 0;
    for (unsigned i = 0; i < 4 * ROUNDS; i++) {
        uint32_t id = i % FEW;
        switch (i / FEW % 4) {
        case 0:
            start_in(&subject, id, 50000 + i % 1000);
            break;
        case 1:
            start_in(&subject, id, 1 + i % 90);
            break;
        case 2:
            stop(&subject, id);
            break;
        default:
            start_in(&subject, id, draw_delay(&traffic, subject.clock));
        }
        if (i % 512 == 0) {
            advance_to(&subject, subject.clock + 1);
        }
        if (i == ROUNDS) {
            settled = subject.guard.bytes;
        }
    }
    if (subject.guard.bytes > 2 * settled + (64 << 10)) {
        kit_fail(run->witness, KIT_FAULT_MEMORY,
                 "%d timers took %" PRIu64 " bytes after %d operations, and %" PRIu64
                 " after %d: restarts and stops pile up",
                 FEW, settled, ROUNDS, subject.guard.bytes, 4 * ROUNDS);
    }
    close_subject(&subject);
}

/* --- order and precision --------------------------------------------------------------------- */

static void case_order(struct kit_run *run)
{
    enum { MANY = 120 };
    static const uint64_t spans[] = {3, 40, 700, 9000, UINT64_C(1) << 22};
    for (size_t i = 0; i < LENGTH(spans); i++) {
        struct traffic traffic;
        traffic_init(&traffic, run, spans[i], i + 20);
        struct kit_subject subject;
        if (!open_subject(run, &subject, MANY, 17)) {
            return;
        }
        for (unsigned round = 0; round < 5; round++) {
            for (uint32_t id = 0; id < MANY; id++) {
                start_in(&subject, id, kit_random(&traffic.random) % (spans[i] + 1));
                if (id % 10 == 0) {
                    draw_operation(&traffic, &subject);
                }
            }
            advance_to(&subject, subject.clock + spans[i] / 2);
            (void)subject_advance(&subject, subject.clock + spans[i], 30);
            advance_to(&subject, subject.clock + 2 * spans[i]);
        }
        close_subject(&subject);
    }
}

static void case_fifo(struct kit_run *run)
{
    /* One due tick, started at different times and thus, in a wheel, on different levels. */
    enum { MANY = 40 };
    for (size_t i = 0; i < LENGTH(delays); i++) {
        struct kit_subject subject;
        if (!open_subject(run, &subject, MANY, 5)) {
            return;
        }
        uint64_t due = subject.clock + delays[i];
        for (uint32_t k = 0; k < MANY; k++) {
            uint32_t id = k * 7 % MANY;
            (void)subject_start(&subject, id, due);
            if (k % 5 == 4) {
                (void)subject_start(&subject, k * 3 % MANY, due);
            }
            if (k % 9 == 3) {
                stop(&subject, id);
                (void)subject_start(&subject, id, due);
            }
            if (subject.clock + 1 < due) {
                advance_to(&subject, subject.clock + (due - subject.clock) / 8);
            }
        }
        if (i % 2 == 0) {
            (void)subject_advance(&subject, due + i, MANY / 3);
        }
        advance_to(&subject, due + i);
        close_subject(&subject);
    }
}

static void case_precision(struct kit_run *run)
{
    /* Tick by tick, so that each firing is seen at the tick at which it comes. */
    enum { MANY = 400, LONGEST = 6000 };
    uint64_t values[KIT_BOUNDARIES_MAX];
    size_t count = kit_boundaries(run->algo, run->options, LONGEST, values);
    static const uint64_t clocks[] = {0, 1, 37, 1023};
    for (size_t k = 0; k < (is_default(run) ? LENGTH(clocks) : 2); k++) {
        struct kit_subject subject;
        if (!open_subject(run, &subject, MANY, clocks[k])) {
            return;
        }
        for (uint32_t id = 0; id < MANY; id++) {
            start_in(&subject, id, id < 130 ? id : values[(id - 130) % count]);
        }
        for (uint64_t tick = 0; tick < LONGEST && subject.pending > 0; tick++) {
            advance_to(&subject, subject.clock + 1);
        }
        close_subject(&subject);
    }
}

/* --- everything else ------------------------------------------------------------------------- */

static void case_two_instances(struct kit_run *run)
{
    struct traffic here;
    struct traffic there;
    traffic_init(&here, run, 500, 1);
    traffic_init(&there, run, 3000, 2);
    struct kit_subject one;
    struct kit_subject two;
    if (!open_subject(run, &one, 20, 0)) {
        return;
    }
    if (!open_subject(run, &two, 30, 1000)) {
        subject_destroy(&one);
        return;
    }
    for (unsigned i = 0; i < 200; i++) {
        churn(&here, &one, 4, IRREGULARLY);
        churn(&there, &two, 5, i % 2 == 0 ? BY_ONE : IRREGULARLY);
    }
    close_subject(&two);
    churn(&here, &one, 100, BY_ONE);
    close_subject(&one);
}

static void case_options_ends(struct kit_run *run)
{
    size_t count = tl_option_count(run->algo);
    int64_t defaults[TL_OPTIONS_MAX];
    memcpy(defaults, run->target->options, sizeof defaults);
    /* Each option at either end with the others as they are; then all at one end. */
    for (size_t i = 0; i <= count && !run->target->pinned; i++) {
        for (unsigned end = 0; end < 2; end++) {
            memcpy(run->options, defaults, sizeof run->options);
            for (size_t k = 0; k < count; k++) {
                const struct tl_option *option = &run->algo->options[k];
                if ((i == k || i == count) && option->min <= option->max) {
                    run->options[k] = end == 0 ? option->min : option->max;
                }
            }
            struct traffic traffic;
            traffic_init(&traffic, run, 4000, end);
            struct kit_subject subject;
            if (!open_subject(run, &subject, 20, 0)) {
                continue;
            }
            churn(&traffic, &subject, 60, IRREGULARLY);
            churn(&traffic, &subject, 60, BY_ONE);
            close_subject(&subject);
        }
    }
}

static void case_invariants(struct kit_run *run)
{
    static const uint64_t spans[] = {6, 600, 40000};
    for (size_t i = 0; i < LENGTH(spans); i++) {
        struct traffic traffic;
        traffic_init(&traffic, run, spans[i], i);
        struct kit_subject subject;
        if (!open_subject(run, &subject, 24, 0)) {
            return;
        }
        unsigned seldom = thrift(&subject) * thrift(&subject);
        for (unsigned k = 0; k < 300; k++) {
            churn(&traffic, &subject, 1, k % 3 == 0 ? IRREGULARLY : BY_ONE);
            if (k % seldom == 0) {
                subject_inspect(&subject);
            }
        }
        close_subject(&subject);
    }
}

/* The same traffic over memory filled with `fresh`; false if the options are refused. */
static bool same_traffic(struct kit_run *run, uint8_t fresh, uint64_t *hash,
                         struct tl_counters *counters)
{
    struct traffic traffic;
    traffic_init(&traffic, run, 900, 99);
    struct kit_subject subject;
    subject_init(&subject, run->algo, run->options, VARIANT_BYTES, run->witness);
    subject.guard.fresh = fresh;
    if (subject_create(&subject, 25, 0, 0) != KIT_OPENED) {
        subject_discard(&subject);
        return false;
    }
    churn(&traffic, &subject, 500, IRREGULARLY);
    (void)subject_reserve(&subject, 60);
    churn(&traffic, &subject, 500, BY_ONE);
    subject_drain(&subject);
    *counters = (struct tl_counters){0};
    if (run->algo->counters != NULL) {
        run->algo->counters(subject.self, counters);
    }
    *hash = subject.fired_hash;
    subject_destroy(&subject);
    return true;
}

static void case_determinism(struct kit_run *run)
{
    static const uint8_t patterns[] = {0x00, 0xff, 0xa5, 0x01};
    run->algo = run->target->counted;
    uint64_t first = 0;
    struct tl_counters first_counters;
    for (size_t i = 0; i < LENGTH(patterns); i++) {
        uint64_t hash = 0;
        struct tl_counters counters;
        if (!same_traffic(run, patterns[i], &hash, &counters)) {
            return;
        }
        if (i > 0 && hash != first) {
            kit_fail(run->witness, KIT_FAULT_RANDOM,
                     "the same operations fired timers in another order when fresh memory held "
                     "0x%02x instead of 0x%02x",
                     patterns[i], patterns[0]);
        }
        if (i > 0 && memcmp(&counters, &first_counters, sizeof counters) != 0) {
            kit_fail(run->witness, KIT_FAULT_RANDOM,
                     "the same operations gave other counters when fresh memory held 0x%02x "
                     "instead of 0x%02x",
                     patterns[i], patterns[0]);
        }
        first = hash;
        first_counters = counters;
    }
}

static void case_counters(struct kit_run *run)
{
    run->algo = run->target->counted;
    if (run->algo->counters == NULL) {
        return;
    }
    struct traffic traffic;
    traffic_init(&traffic, run, 700, 6);
    struct kit_subject subject;
    if (!open_subject(run, &subject, 30, 0)) {
        return;
    }
    struct tl_counters last = {0};
    for (unsigned i = 0; i < 500; i++) {
        churn(&traffic, &subject, 1, i % 2 == 0 ? BY_ONE : IRREGULARLY);
        struct tl_counters now = {0};
        run->witness->hook = KIT_HOOK_COUNTERS;
        run->algo->counters(subject.self, &now);
        const struct {
            const char *name;
            uint64_t before;
            uint64_t after;
        } pairs[] = {{"compares", last.compares, now.compares},
                     {"moves", last.moves, now.moves},
                     {"slots", last.slots, now.slots},
                     {"cascades", last.cascades, now.cascades}};
        for (size_t k = 0; k < LENGTH(pairs); k++) {
            /* No operation of thirty timers does this much work. */
            if (pairs[k].after < pairs[k].before || pairs[k].after - pairs[k].before > UINT64_C(1)
                                                                                           << 32) {
                kit_fail(run->witness, KIT_FAULT_COUNTERS,
                         "at clock %" PRIu64 ", the counter %s went from %" PRIu64 " to %" PRIu64
                         " in one operation and one advance",
                         subject.clock, pairs[k].name, pairs[k].before, pairs[k].after);
            }
        }
        last = now;
    }
    close_subject(&subject);
}

static void case_behaved(struct kit_run *run)
{
    /* Long enough that what is written, and how a process ends, has a chance to show. */
    struct traffic traffic;
    traffic_init(&traffic, run, 2500, 13);
    struct kit_subject subject;
    if (!open_subject(run, &subject, 50, 0)) {
        return;
    }
    churn(&traffic, &subject, 1000, IRREGULARLY);
    churn(&traffic, &subject, 1000, BY_ONE);
    close_subject(&subject);
}

/* --- the table ------------------------------------------------------------------------------- */

static const struct kit_case cases[] = {
    {"create", "life", "makes and destroys structures of any capacity, 0 included", 0, false,
     case_create},
    {"empty", "life", "with nothing pending nothing fires, and next says never", 0, false,
     case_empty},
    {"destroy-pending", "life", "destroy frees everything while timers are pending", 0, false,
     case_destroy_pending},
    {"two-instances", "life", "two structures side by side know nothing of each other", 0, false,
     case_two_instances},
    {"behaved", "life", "hooks return, print nothing and never end the process", 0, true,
     case_behaved},
    {"deadline-now", "deadlines", "a deadline that is now fires in the next advance", 0, false,
     case_deadline_now},
    {"deadline-past", "deadlines", "a deadline in the past fires in the next advance", 0, false,
     case_deadline_past},
    {"deadline-next", "deadlines", "a deadline one tick ahead fires then", 0, false,
     case_deadline_next},
    {"boundaries", "deadlines",
     "single timers at and around k*slot, k*span and powers fire in their time", 0, false,
     case_boundaries},
    {"boundaries-together", "deadlines", "the same, all pending at once", 0, false,
     case_boundaries_together},
    {"deadline-far", "deadlines", "deadlines from 2^20 to 2^63 are refused or fire in their time",
     0, false, case_deadline_far},
    {"restart-earlier", "restart", "a pending timer moved to an earlier deadline fires then, once",
     0, false, case_restart_earlier},
    {"restart-later", "restart", "a pending timer moved to a later deadline fires then, once", 0,
     false, case_restart_later},
    {"restart-same", "restart", "a pending timer started again unchanged fires once", 0, false,
     case_restart_same},
    {"restart-heartbeat", "restart", "a timer pushed back again and again fires after the last", 0,
     false, case_restart_heartbeat},
    {"stop-idle", "stop", "stopping a timer that was never started says so and changes nothing", 0,
     false, case_stop_idle},
    {"stop-pending", "stop", "a stopped timer does not fire, its neighbours do", 0, false,
     case_stop_pending},
    {"stop-fired", "stop", "stopping a timer that has fired says so and changes nothing", 0, false,
     case_stop_fired},
    {"stop-twice", "stop", "the second stop says so and changes nothing", 0, false,
     case_stop_twice},
    {"reused-id", "stop", "what an id's earlier life left behind does not act on its next", 0,
     false, case_reused_id},
    {"callback-stop-self", "callbacks", "a timer is not pending inside its own callback", 0, false,
     case_callback_stop_self},
    {"callback-restart-self", "callbacks", "a callback may start its own timer again", 0, false,
     case_callback_restart_self},
    {"callback-restart-now", "callbacks",
     "what a callback starts for now or the past fires in the next advance, not in this", 0, false,
     case_callback_restart_now},
    {"callback-start-other", "callbacks", "a callback may start other timers", 0, false,
     case_callback_start_other},
    {"callback-stop-other", "callbacks", "what a callback stops does not fire, due or not", 0,
     false, case_callback_stop_other},
    {"callback-restart-other", "callbacks", "what a callback moves fires then and only then", 0,
     false, case_callback_restart_other},
    {"callback-mixed", "callbacks", "callbacks may start, move and stop at random", 0, false,
     case_callback_mixed},
    {"budget", "budget", "no more fire than the budget says, and the rest follow", TL_CAP_BUDGET,
     false, case_budget},
    {"budget-left-over", "budget", "what a budget left over is pending: it can be stopped or moved",
     TL_CAP_BUDGET, false, case_budget_left_over},
    {"budget-callback", "budget", "budget and callbacks that start timers go together",
     TL_CAP_BUDGET, false, case_budget_callback},
    {"advance-by-one", "time", "tick by tick, every timer fires in its time", 0, false,
     case_advance_by_one},
    {"advance-irregular", "time", "in steps of any length, every timer fires in its time", 0, false,
     case_advance_irregular},
    {"advance-stay", "time", "an advance that does not move the clock fires what is due, once", 0,
     false, case_advance_stay},
    {"advance-jump", "time", "jumps of 2^10 to 2^40 ticks fire what they pass, and only that", 0,
     false, case_advance_jump},
    {"long-idle", "time", "after long times without timers all is as before", 0, false,
     case_long_idle},
    {"wrap", "time", "many turns of every wheel change nothing", 0, false, case_wrap},
    {"precision", "time", "no timer is earlier or later than declared for its delay", 0, false,
     case_precision},
    {"next", "next", "next is never behind the next firing, and exactly that if promised",
     TL_CAP_NEXT, false, case_next},
    {"next-drive", "next", "driven by next alone, next grows and every timer fires in its time",
     TL_CAP_NEXT, false, case_next_drive},
    {"order", "order", "within one advance timers fire in order of due tick", TL_CAP_ORDERED, false,
     case_order},
    {"fifo", "order", "timers of one due tick fire in the order of their starts", TL_CAP_FIFO,
     false, case_fifo},
    {"refused", "refusals", "a refused start leaves nothing behind, and a pending timer as it was",
     0, false, case_refused},
    {"horizon", "refusals",
     "what is nearer than a deadline that is taken is taken too, at any time", 0, false,
     case_horizon},
    {"options-ends", "refusals", "every option works, or is refused, at both ends of its range", 0,
     true, case_options_ends},
    {"reserve-grows", "memory", "reserve makes new ids usable and leaves pending timers alone", 0,
     false, case_reserve_grows},
    {"reserve-word", "memory", "after reserve, no start fails for want of memory", 0, false,
     case_reserve_word},
    {"no-allocation", "memory", "hooks allocate only where the structure says so", 0, false,
     case_no_allocation},
    {"allocation-failure", "memory", "a refused allocation anywhere is reported and undone", 0,
     false, case_allocation_failure},
    {"memory-guard", "memory", "nothing outside its own memory is written or freed", 0, false,
     case_memory_guard},
    {"memory-in-sight", "memory", "all memory comes from the allocator, and goes back", 0, true,
     case_memory_in_sight},
    {"memory-bounded", "memory", "a few timers restarted for ever need no more and more memory", 0,
     true, case_memory_bounded},
    {"invariants", "inside",
     "the structure's own check, place and walk agree with what was done to it", 0, false,
     case_invariants},
    {"counters", "inside", "the counters of work done only grow, and not absurdly", 0, true,
     case_counters},
    {"determinism", "inside", "equal operations give equal results, whatever memory held before", 0,
     false, case_determinism},
};

const struct kit_case *kit_cases(size_t *count)
{
    *count = LENGTH(cases);
    return cases;
}

const struct kit_case *kit_case_find(const char *name)
{
    for (size_t i = 0; i < LENGTH(cases); i++) {
        if (strcmp(cases[i].name, name) == 0) {
            return &cases[i];
        }
    }
    return NULL;
}

static void run_under(struct kit_run *run, const int64_t *options)
{
    memcpy(run->options, options, sizeof run->options);
    memcpy(run->witness->options, options, sizeof run->witness->options);
    run->algo = run->target->algo;
    run->contract_case->function(run);
}

void kit_run_case(struct kit_run *run)
{
    run_under(run, run->target->options);
    if (run->contract_case->once || run->target->pinned) {
        return;
    }
    /* One option at a time, through values small enough that boundaries come often. */
    for (size_t i = 0; i < tl_option_count(run->target->algo); i++) {
        int64_t values[KIT_CANDIDATES_MAX];
        size_t count = kit_option_candidates(&run->target->algo->options[i], values);
        /* Of the larger values every third will do. */
        for (size_t k = 0; k < count && !run->witness->unavailable; k += k < 5 ? 1 : 3) {
            int64_t options[TL_OPTIONS_MAX];
            memcpy(options, run->target->options, sizeof options);
            if (options[i] != values[k]) {
                options[i] = values[k];
                run_under(run, options);
            }
        }
    }
}
