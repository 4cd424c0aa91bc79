#include "kit_interpreter.h"

#include "due.h"

#include <stdlib.h>
#include <string.h>

/* A session's structure may take this much; options that ask for more are not what is fuzzed. */
#define SESSION_BYTES           ((uint64_t)32 << 20)

/* The invariants and the guards are looked at every so many operations, and more seldom the more
 * memory there is to look at: operations find more faults than looking does. */
#define INSPECT_EVERY           32u
#define INSPECT_BYTES_OPERATION 128u

/* What a firing does. */
struct arm {
    bool stops;
    bool always;
    uint32_t other;
    int64_t ticks;
};

struct kit_arms {
    size_t count;
    struct arm of[KIT_ARMS_MAX];
};

static uint64_t deadline_at(const struct kit_subject *subject, int64_t ticks)
{
    uint64_t clock = subject->clock;
    if (ticks == INT64_MAX) {
        return TL_DEADLINE_MAX;
    }
    if (ticks < 0) {
        uint64_t back = (uint64_t)0 - (uint64_t)ticks;
        uint64_t past = back < clock ? clock - back : 0;
        return past < TL_DEADLINE_MAX ? past : TL_DEADLINE_MAX;
    }
    return due_deadline(clock, (uint64_t)ticks);
}

static void session_fired(struct kit_subject *subject, uint32_t id)
{
    const struct kit_session_run *session = subject->on_fire_ctx;
    struct kit_arms *arms = &session->arms[id];
    size_t kept = 0;
    for (size_t i = 0; i < arms->count; i++) {
        struct arm arm = arms->of[i];
        uint32_t other = arm.other % subject->capacity;
        if (arm.stops) {
            (void)subject_stop(subject, other);
        } else {
            (void)subject_start(subject, other, deadline_at(subject, arm.ticks));
        }
        if (arm.always) {
            arms->of[kept++] = arm;
        }
    }
    arms->count = kept;
}

static void add_arm(struct kit_arms *arms, struct arm arm)
{
    if (arms->count == KIT_ARMS_MAX) {
        arms->count--;
        memmove(arms->of, arms->of + 1, arms->count * sizeof arm);
    }
    arms->of[arms->count++] = arm;
}

/* What was always to be done is done once more. */
static void let_end(const struct kit_session_run *session)
{
    for (uint32_t id = 0; id < session->arm_count; id++) {
        for (size_t i = 0; i < session->arms[id].count; i++) {
            session->arms[id].of[i].always = false;
        }
    }
}

static bool grow_arms(struct kit_session_run *session)
{
    uint32_t capacity = session->subject.capacity;
    if (capacity > session->arm_count) {
        struct kit_arms *arms = realloc(session->arms, capacity * sizeof *arms);
        if (arms == NULL) {
            return false;
        }
        memset(arms + session->arm_count, 0, (capacity - session->arm_count) * sizeof *arms);
        session->arms = arms;
        session->arm_count = capacity;
    }
    return true;
}

bool kit_session_begin(struct kit_session_run *session, const struct kit_target *target,
                       const struct kit_session *start, struct kit_witness *witness)
{
    *session = (struct kit_session_run){.arms = NULL};
    if (witness->session.options != start->options) {
        witness->session = *start;
    }
    witness->op_count = 0;
    subject_init(&session->subject, target->algo, witness->session.options, SESSION_BYTES, witness);
    session->subject.on_fire = session_fired;
    session->subject.on_fire_ctx = session;
    if (subject_create(&session->subject, start->capacity, start->now, start->max_delay_ticks) !=
        KIT_OPENED) {
        subject_discard(&session->subject);
        return false;
    }
    session->inspected = witness->operations;
    if (!grow_arms(session)) {
        kit_fail(witness, FAULT_HARNESS, "no memory for a session of %u timers",
                 (unsigned)start->capacity);
    }
    return true;
}

void kit_session_end(struct kit_session_run *session)
{
    subject_inspect(&session->subject);
    let_end(session);
    subject_drain(&session->subject);
    subject_inspect(&session->subject);
    subject_destroy(&session->subject);
    free(session->arms);
}

/* The tick that an advance by `ticks` goes to. The clock stays where deadlines can lie ahead. */
static uint64_t tick_at(const struct kit_subject *subject, int64_t ticks)
{
    uint64_t now = due_add(subject->clock, ticks > 0 ? (uint64_t)ticks : 0);
    uint64_t end = subject->clock > TL_DEADLINE_MAX ? subject->clock : TL_DEADLINE_MAX;
    return now < end ? now : end;
}

void kit_session_do(struct kit_session_run *session, const struct kit_op *op)
{
    struct kit_subject *subject = &session->subject;
    struct kit_witness *witness = subject->witness;
    if (witness->op_count < KIT_OPS_MAX) {
        witness->ops[witness->op_count++] = *op;
    }
    uint32_t id = subject->capacity > 0 ? op->id % subject->capacity : 0;
    bool names_timer =
        op->kind != KIT_OP_ADVANCE && op->kind != KIT_OP_NEXT && op->kind != KIT_OP_RESERVE;
    if (names_timer && subject->capacity == 0) {
        return;
    }
    switch (op->kind) {
    case KIT_OP_START:
        (void)subject_start(subject, id, deadline_at(subject, op->ticks));
        break;
    case KIT_OP_STOP:
        (void)subject_stop(subject, id);
        break;
    case KIT_OP_ADVANCE:
        (void)subject_advance(subject, tick_at(subject, op->ticks), op->budget);
        break;
    case KIT_OP_NEXT:
        if (subject_can(subject, TL_CAP_NEXT)) {
            uint64_t next = subject_next(subject);
            bool ahead = next != TL_NEVER && next > subject->clock;
            uint64_t by = ahead ? next - subject->clock : 0;
            /* Noted, so that the trace can be run where next says something else. */
            if (witness->op_count > 0 && by < (uint64_t)INT64_MAX) {
                witness->ops[witness->op_count - 1].ticks = (int64_t)by;
            }
            (void)subject_advance(subject, ahead ? next : subject->clock, op->budget);
        }
        break;
    case KIT_OP_RESERVE:
        if (op->id <= KIT_CAPACITY_MAX && subject_reserve(subject, op->id) && !grow_arms(session)) {
            kit_fail(witness, FAULT_HARNESS, "no memory for a session of %u timers",
                     (unsigned)op->id);
        }
        break;
    case KIT_OP_WHEN_START:
    case KIT_OP_WHEN_STOP:
        add_arm(&session->arms[id], (struct arm){
                                        .stops = op->kind == KIT_OP_WHEN_STOP,
                                        .always = op->always,
                                        .other = op->other,
                                        .ticks = op->ticks,
                                    });
        break;
    }
    witness->operations++;
    if (session->inspected + INSPECT_EVERY + subject->guard.bytes / INSPECT_BYTES_OPERATION <=
        witness->operations) {
        session->inspected = witness->operations;
        subject_inspect(subject);
    }
}

bool kit_execute(const struct kit_target *target, const struct kit_session *start,
                 const struct kit_op *ops, size_t count, struct kit_witness *witness)
{
    struct kit_session_run session;
    if (!kit_session_begin(&session, target, start, witness)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        kit_session_do(&session, &ops[i]);
    }
    kit_session_end(&session);
    return true;
}
