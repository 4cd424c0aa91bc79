#include "kit_interpreter.h"

#include "due.h"
#include "memory.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* --- actions of callbacks --------------------------------------------------------------------- */

struct kit_arm {
    bool stops;
    bool always;
    uint32_t other;
    int64_t ticks;
};

/* Actions of one timer, in the order of the lines. */
struct kit_arms {
    uint32_t count;
    uint32_t room;
    struct kit_arm *of;
};

static void session_fired(struct kit_subject *subject, uint32_t id)
{
    const struct kit_session_run *session = subject->on_fire_ctx;
    struct kit_arms *arms = &session->arms[id];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < arms->count; i++) {
        struct kit_arm arm = arms->of[i];
        uint32_t other = arm.other % subject->capacity;
        if (arm.stops) {
            (void)subject_stop(subject, other);
        } else {
            (void)subject_start(subject, other, kit_deadline_at(subject->clock, arm.ticks));
        }
        if (arm.always) {
            arms->of[kept++] = arm;
        }
    }
    arms->count = kept;
}

static void add_arm(struct kit_session_run *session, uint32_t id, struct kit_arm arm)
{
    struct kit_arms *arms = &session->arms[id];
    MEMORY_REACH(arms->of, arms->room, arms->count);
    arms->of[arms->count++] = arm;
}

/* Execute actions with `always` once more, then no more. */
static void let_end(const struct kit_session_run *session)
{
    for (uint32_t id = 0; id < session->arm_count; id++) {
        for (uint32_t i = 0; i < session->arms[id].count; i++) {
            session->arms[id].of[i].always = false;
        }
    }
}

static void grow_arms(struct kit_session_run *session)
{
    uint32_t capacity = session->subject.capacity;
    if (capacity > session->arm_count) {
        session->arms = memory_resize(session->arms, capacity, sizeof *session->arms);
        memset(session->arms + session->arm_count, 0,
               (capacity - session->arm_count) * sizeof *session->arms);
        session->arm_count = capacity;
    }
}

static void free_arms(struct kit_session_run *session)
{
    for (uint32_t id = 0; id < session->arm_count; id++) {
        free(session->arms[id].of);
    }
    free(session->arms);
    session->arms = NULL;
    session->arm_count = 0;
}

/* --- a session -------------------------------------------------------------------------------- */

bool kit_session_begin(struct kit_session_run *session, const struct kit_target *target,
                       const struct kit_session *start, uint64_t limit_bytes,
                       struct kit_witness *witness)
{
    *session = (struct kit_session_run){.arms = NULL};
    witness->timed = target->algo;
    memcpy(witness->options, start->options, sizeof witness->options);
    if (start->records.lodging != KIT_LODGING_OWN && target->embedded == NULL) {
        kit_fail(witness, FAULT_HARNESS, "%s takes no records", target->algo->name);
    }
    const struct tl_algo *algo = start->records.lodging != KIT_LODGING_OWN ? target->embedded
                                 : start->counted                          ? target->counted
                                                                           : target->algo;
    subject_init(&session->subject, algo, start->options, limit_bytes, witness);
    session->subject.layout = start->records;
    session->subject.on_fire = session_fired;
    session->subject.on_fire_ctx = session;
    session->subject.guard.grants = start->grants;
    session->subject.guard.place = start->place;
    if (start->place != KIT_GUARD_CANARIES) {
        kit_guard_watch(&session->subject.guard);
    }
    if (subject_create(&session->subject, start->capacity, start->now, start->max_delay_ticks) !=
        KIT_OPENED) {
        subject_discard(&session->subject);
        return false;
    }
    grow_arms(session);
    return true;
}

void kit_session_destroy(struct kit_session_run *session)
{
    subject_destroy(&session->subject);
    free_arms(session);
}

void kit_session_end(struct kit_session_run *session)
{
    subject_inspect(&session->subject);
    let_end(session);
    subject_drain(&session->subject);
    subject_inspect(&session->subject);
    kit_session_destroy(session);
}

/* Return the tick of an advance by `ticks`. The clock stays where deadlines can be ahead of it. */
static uint64_t tick_at(const struct kit_subject *subject, int64_t ticks)
{
    uint64_t now = due_add(subject->clock, ticks > 0 ? (uint64_t)ticks : 0);
    uint64_t end = subject->clock > TL_DEADLINE_MAX ? subject->clock : TL_DEADLINE_MAX;
    return now < end ? now : end;
}

static void advance_to_next(struct kit_subject *subject, uint64_t budget)
{
    if (subject_can(subject, TL_CAP_NEXT)) {
        uint64_t next = subject_next(subject);
        bool ahead = next != TL_NEVER && next > subject->clock;
        (void)subject_advance(subject, ahead ? next : subject->clock, budget);
    }
}

/* Starts or stops each timer of a range. */
static void do_range(struct kit_subject *subject, const struct kit_op *op)
{
    for (uint64_t at = op->id; at <= op->last; at += op->every) {
        uint32_t id = (uint32_t)at % subject->capacity;
        if (op->kind == KIT_OP_START) {
            (void)subject_start(subject, id, kit_deadline_at(subject->clock, op->ticks));
        } else {
            (void)subject_stop(subject, id);
        }
        subject->witness->operations += at != op->id;
    }
}

void kit_session_do(struct kit_session_run *session, const struct kit_op *op)
{
    struct kit_subject *subject = &session->subject;
    subject->witness->operations++;
    switch (op->kind) {
    case KIT_OP_CREATE:
    case KIT_OP_ON:
    case KIT_OP_DESTROY:
    case KIT_OP_REPEAT:
        break; /* are not about this structure */
    case KIT_OP_START:
    case KIT_OP_STOP:
        if (subject->capacity > 0) {
            do_range(subject, op);
        }
        break;
    case KIT_OP_ADVANCE:
        (void)subject_advance(subject, tick_at(subject, op->ticks), op->budget);
        break;
    case KIT_OP_NEXT:
        advance_to_next(subject, op->budget);
        break;
    case KIT_OP_RESERVE:
        if (op->id <= KIT_CAPACITY_MAX && subject_reserve(subject, op->id)) {
            grow_arms(session);
        }
        break;
    case KIT_OP_ALLOW:
        op->ticks > 0 ? subject_allow_small(subject, op->ticks)
                      : subject_allow(subject, op->budget);
        break;
    case KIT_OP_INSPECT:
        subject_inspect(subject);
        break;
    case KIT_OP_MOVE:
        subject_move(subject);
        break;
    case KIT_OP_WHEN_START:
    case KIT_OP_WHEN_STOP:
        if (subject->capacity > 0) {
            add_arm(session, op->id % subject->capacity,
                    (struct kit_arm){
                        .stops = op->kind == KIT_OP_WHEN_STOP,
                        .always = op->always,
                        .other = op->other,
                        .ticks = op->ticks,
                    });
        }
        break;
    }
}

/* --- a trace ---------------------------------------------------------------------------------- */

/* Memory limit of a structure of a trace: as in a case that the trace may come from. */
#define TRACE_BYTES ((uint64_t)1 << 30)

struct play {
    const struct kit_target *target;
    const struct kit_trace *trace;
    struct kit_witness *witness;
    struct kit_session_run of[KIT_INSTANCES_MAX];
    bool alive[KIT_INSTANCES_MAX];
    uint32_t current;
};

static bool play_create(struct play *play, uint32_t instance)
{
    const struct kit_session *start = &play->trace->sessions[instance];
    play->current = instance;
    if (!play->alive[instance]) {
        play->alive[instance] =
            kit_session_begin(&play->of[instance], play->target, start, TRACE_BYTES, play->witness);
    }
    return play->alive[instance] || start->grants != UINT64_MAX;
}

static void play_op(struct play *play, const struct kit_op *op)
{
    if (op->kind == KIT_OP_CREATE) {
        (void)play_create(play, op->id);
    } else if (op->kind == KIT_OP_ON) {
        play->current = op->id;
    } else if (play->alive[play->current] && op->kind == KIT_OP_DESTROY) {
        play->alive[play->current] = false;
        kit_session_destroy(&play->of[play->current]);
    } else if (play->alive[play->current]) {
        kit_session_do(&play->of[play->current], op);
    }
}

/* Repeat the operations before it, without repetitions among them. */
static void play_again(struct play *play, size_t at)
{
    const struct kit_op *repeat = &play->trace->ops[at];
    size_t period = repeat->id < at ? repeat->id : at;
    for (uint64_t k = 0; k < repeat->budget; k++) {
        for (size_t i = at - period; i < at; i++) {
            if (play->trace->ops[i].kind != KIT_OP_REPEAT) {
                play_op(play, &play->trace->ops[i]);
            }
        }
    }
}

static bool play_trace(struct play *play)
{
    const struct kit_trace *trace = play->trace;
    play->witness->repeating = true;
    play->witness->done = 0;
    if (!play_create(play, 0)) {
        return false;
    }
    for (size_t i = 0; i < trace->count; i++) {
        play->witness->done = i + 1;
        if (trace->ops[i].kind == KIT_OP_REPEAT) {
            play_again(play, i);
        } else {
            play_op(play, &trace->ops[i]);
        }
    }
    for (uint32_t i = 0; i < KIT_INSTANCES_MAX; i++) {
        if (play->alive[i]) {
            kit_session_end(&play->of[i]);
        }
    }
    return true;
}

bool kit_execute(const struct kit_target *target, const struct kit_trace *trace,
                 struct kit_witness *witness)
{
    struct play play = {.target = target, .trace = trace, .witness = witness};
    return play_trace(&play);
}

/* The point to continue at after a fault; static, one run at a time. */
static sigjmp_buf given_up;

static void come_back(struct kit_witness *witness)
{
    (void)witness;
    siglongjmp(given_up, 1);
}

/* True after a fault. A separate function, so that the caller's variables keep their values. */
static bool play_or_give_up(struct play *play)
{
    if (sigsetjmp(given_up, 1) != 0) {
        return true;
    }
    (void)play_trace(play);
    return false;
}

enum fault_kind kit_survive(const struct kit_target *target, const struct kit_trace *trace,
                            struct kit_witness *witness)
{
    struct play play = {.target = target, .trace = trace, .witness = witness};
    void (*give_up)(struct kit_witness *) = witness->give_up;
    witness->give_up = come_back;
    witness->fault = FAULT_NONE;
    if (play_or_give_up(&play)) {
        for (uint32_t i = 0; i < KIT_INSTANCES_MAX; i++) {
            subject_discard(&play.of[i].subject);
            free_arms(&play.of[i]);
        }
    }
    witness->give_up = give_up;
    return witness->fault;
}
