/* Cases: what callbacks do to timers. */
#include "kit_cases.h"
#include "kit_script.h"

#include <limits.h>

struct acts;
typedef void acts_fn(struct kit_subject *subject, uint32_t id, struct acts *acts);

/* What callbacks do: the same for each timer of a case. */
struct acts {
    acts_fn *act;
    unsigned left; /* callbacks that still act */
    uint64_t ticks;
    bool back;       /* ticks count backwards from now */
    uint32_t offset; /* from the timer that fires to its neighbour */
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

static void act_start(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    uint64_t clock = subject->clock;
    uint64_t past = clock > acts->ticks ? clock - acts->ticks : 0;
    (void)subject_start(subject, id, acts->back ? past : due_deadline(clock, acts->ticks));
}

static void stop_self(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    (void)acts;
    script_stop(subject, id);
}

static void stop_others(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    for (uint32_t other = 0; other < subject->capacity; other++) {
        if (other != id) {
            stop_self(subject, other, acts);
        }
    }
}

static void start_if(struct kit_subject *subject, uint32_t id, struct acts *acts, bool pending)
{
    for (uint32_t other = 0; other < subject->capacity; other++) {
        if (other != id && (subject->timers[other].state == KIT_TIMER_PENDING) == pending) {
            act_start(subject, other, acts);
        }
    }
}

static void start_others(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    start_if(subject, id, acts, false);
}

static void restart_others(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    start_if(subject, id, acts, true);
}

static uint32_t neighbour_of(const struct kit_subject *subject, uint32_t id,
                             const struct acts *acts)
{
    return (id + acts->offset) % subject->capacity;
}

static void stop_neighbour(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    script_stop(subject, neighbour_of(subject, id, acts));
}

static void move_neighbour(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    act_start(subject, neighbour_of(subject, id, acts), acts);
}

/* Stop and restart the neighbour between two starts of the timer itself. */
static void stop_neighbour_and_restart(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    act_start(subject, id, acts);
    stop_neighbour(subject, id, acts);
    move_neighbour(subject, id, acts);
    act_start(subject, id, acts);
}

/* Each timer has its own period; most of them coincide again and again. */
static void restart_in_own_time(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    (void)subject_start(subject, id, due_deadline(subject->clock, acts->ticks * (id / 2)));
}

static void draw_operations(struct kit_subject *subject, uint32_t id, struct acts *acts)
{
    (void)id;
    script_draw_operation(acts->traffic, subject);
    script_draw_operation(acts->traffic, subject);
}

static const struct acts nows[] = {
    {.ticks = 0}, {.ticks = 1, .back = true}, {.ticks = 1u << 30, .back = true}};
static const struct acts laters[] = {{.ticks = 0},  {.ticks = 1},   {.ticks = 2},   {.ticks = 10},
                                     {.ticks = 64}, {.ticks = 512}, {.ticks = 1000}};

/* Several timers due in one advance, at one tick or at several; the first `acting` callbacks act. */
static void callbacks(struct kit_run *run, acts_fn *act, unsigned acting, const struct acts *how,
                      size_t how_count)
{
    enum { TOGETHER = 9 };
    for (size_t h = 0; h < how_count; h++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, TOGETHER, 100)) {
            return;
        }
        for (size_t i = 0; i < SCRIPT_DELAYS; i++) {
            struct acts acts = how[h];
            acts.act = act;
            acts.left = acting;
            for (uint32_t id = 0; id < TOGETHER - 1; id++) {
                script_start(&subject, id, script_delays[i] + (i % 2 == 1 ? id : 0));
            }
            let_act(&subject, &acts);
            script_advance(&subject,
                           subject.clock + script_delays[i] + (i % 3 == 0 ? 0 : TOGETHER));
            script_advance(&subject, subject.clock);
            script_advance(&subject, subject.clock + 1);
            subject.on_fire = NULL;
            script_settle(&subject);
        }
        script_close(&subject);
    }
}

void case_callback_self(struct kit_run *run)
{
    callbacks(run, stop_self, 100, nows, 1);
    callbacks(run, act_start, 20, laters, LENGTH(laters));
    callbacks(run, act_start, 20, nows, LENGTH(nows));
}

void case_callback_others(struct kit_run *run)
{
    callbacks(run, start_others, 8, laters, LENGTH(laters));
    callbacks(run, start_others, 8, nows, LENGTH(nows));
    callbacks(run, stop_others, 3, nows, 1);
    callbacks(run, restart_others, 3, laters, LENGTH(laters));
    callbacks(run, restart_others, 3, nows, LENGTH(nows));
}

void case_callback_same_tick(struct kit_run *run)
{
    static const uint32_t offsets[] = {1, 3, 7};
    static const uint64_t ticks[] = {0, 1, 64};
    for (size_t o = 0; o < LENGTH(offsets); o++) {
        struct acts acts = {.offset = offsets[o]};
        callbacks(run, stop_neighbour, 100, &acts, 1);
        for (size_t t = 0; t < LENGTH(ticks); t++) {
            acts.ticks = ticks[t];
            callbacks(run, move_neighbour, 100, &acts, 1);
            callbacks(run, stop_neighbour_and_restart, 100, &acts, 1);
        }
    }
}

void case_callback_again(struct kit_run *run)
{
    enum { TOGETHER = 7, ROUNDS = 30 };
    for (size_t h = 0; h < LENGTH(laters); h++) {
        struct kit_subject subject;
        if (!script_open(run, &subject, TOGETHER, 1)) {
            return;
        }
        struct acts acts = laters[h];
        acts.act = restart_in_own_time;
        acts.left = UINT_MAX;
        let_act(&subject, &acts);
        script_start_all(&subject, TOGETHER, 5);
        for (unsigned round = 0; round < ROUNDS; round++) {
            script_advance(&subject,
                           subject.clock + (round % 5 == 4 ? 3 * acts.ticks : acts.ticks));
            script_advance(&subject, subject.clock + 1);
        }
        script_close(&subject);
    }
}

static void mix(struct kit_subject *subject, struct traffic *traffic)
{
    for (unsigned round = 0; round < 40; round++) {
        struct acts acts = {.act = draw_operations, .left = 100, .traffic = traffic};
        let_act(subject, &acts);
        script_churn(traffic, subject, 50, round % 2 == 0 ? BY_ONE : IRREGULARLY);
    }
}

void case_callback_mixed(struct kit_run *run)
{
    (void)script_play(run, 24, 0, 700, 11, mix);
}

void case_budget_callback(struct kit_run *run)
{
    enum { TOGETHER = 8 };
    static acts_fn *const does[] = {act_start, stop_neighbour, restart_others, move_neighbour,
                                    stop_neighbour_and_restart};
    for (size_t h = 0; h < LENGTH(laters); h++) {
        for (size_t i = 0; i < 2 * LENGTH(does); i++) {
            uint64_t budget = 1 + (i + h) % (TOGETHER - 1);
            struct kit_subject subject;
            if (!script_open(run, &subject, TOGETHER, 50)) {
                return;
            }
            struct acts acts = laters[h];
            acts.act = does[i % LENGTH(does)];
            acts.left = 20;
            acts.offset = 1 + (uint32_t)h % 2;
            for (uint32_t id = 0; id < TOGETHER; id++) {
                script_start(&subject, id, 5 + id / 3);
            }
            let_act(&subject, &acts);
            for (unsigned k = 0; k < 40; k++) {
                (void)subject_advance(&subject, subject.clock + k % 3 * 5, budget);
            }
            script_close(&subject);
        }
    }
}
