#include "kit_play.h"

#include "due.h"
#include "memory.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* --- actions of callbacks --------------------------------------------------------------------- */

struct kit_action {
    struct kit_op op;
    bool always;
    uint32_t next; /* of the same timer, in a ring: the model knows the last */
};

static void append_action(struct kit_player *player, uint32_t id, uint32_t at)
{
    uint32_t *last = &player->subject.timers[id].last_action;
    player->actions[at].next = *last != 0 ? player->actions[*last].next : at;
    player->actions[*last].next = at;
    *last = at;
}

static void add_action(struct kit_player *player, const struct kit_op *op)
{
    uint32_t at = ++player->action_count;
    MEMORY_REACH(player->actions, player->action_room, at);
    player->actions[at].op = kit_op_taken_out(op);
    player->actions[at].always = op->always;
    append_action(player, op->id % player->subject.capacity, at);
}

/* Start or stop each timer of a range. */
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

/* Execute the actions of a callback in their order; those with `always` stay. */
static void act(struct kit_subject *subject, uint32_t id)
{
    struct kit_player *player = subject->on_fire_ctx;
    uint32_t last = subject->timers[id].last_action;
    uint32_t next = last != 0 ? player->actions[last].next : 0;
    subject->timers[id].last_action = 0;
    for (uint32_t at = 0; at != last;) {
        at = next;
        next = player->actions[at].next;
        do_range(subject, &player->actions[at].op);
        if (player->actions[at].always && !player->ends) {
            append_action(player, id, at);
        }
    }
}

/* --- one structure --------------------------------------------------------------------------- */

bool kit_play_create(struct kit_play *play, uint32_t instance)
{
    const struct kit_session *session = &play->sessions[instance];
    const struct kit_target *target = play->target;
    struct kit_player *player = &play->of[instance];
    struct kit_subject *subject = &player->subject;
    play->current = instance;
    if (player->alive) {
        return true;
    }
    *player = (struct kit_player){.alive = false};
    subject_init(subject,
                 session->records.lodging != KIT_LODGING_OWN ? target->embedded
                 : session->counted                          ? target->counted
                                                             : target->algo,
                 session->options, play->limit_bytes, play->witness);
    if (subject->algo == NULL) {
        kit_fail(play->witness, FAULT_HARNESS, "%s takes no records", target->algo->name);
    }
    subject->layout = session->records;
    subject->on_fire = act;
    subject->on_fire_ctx = player;
    subject->guard.grants = session->grants;
    subject->guard.place = session->place;
    if (session->place != KIT_GUARD_CANARIES) {
        kit_guard_watch(&subject->guard);
    }
    player->alive =
        subject_create(subject, session->capacity, session->now, session->max_delay_ticks);
    return player->alive;
}

static void destroy(struct kit_player *player)
{
    player->alive = false;
    subject_destroy(&player->subject);
    free(player->actions);
    player->actions = NULL;
}

/* Advance by `ticks`. The clock stays where deadlines can be ahead of it. */
static void advance_by(struct kit_subject *subject, int64_t ticks, uint64_t budget)
{
    uint64_t now = due_deadline(subject->clock, ticks > 0 ? (uint64_t)ticks : 0);
    (void)subject_advance(subject, now > subject->clock ? now : subject->clock, budget);
}

static void advance_to_next(struct kit_subject *subject, uint64_t budget)
{
    if (subject_can(subject, TL_CAP_NEXT)) {
        uint64_t next = subject_next(subject);
        bool ahead = next != TL_NEVER && next > subject->clock;
        (void)subject_advance(subject, ahead ? next : subject->clock, budget);
    }
}

void kit_do(struct kit_subject *subject, const struct kit_op *op)
{
    subject->witness->operations++;
    if (subject->capacity == 0 && kit_op_timers(op) > 0) {
        return;
    }
    switch (op->kind) {
    case KIT_OP_START:
    case KIT_OP_STOP:
        do_range(subject, op);
        break;
    case KIT_OP_ADVANCE:
        advance_by(subject, op->ticks, op->budget);
        break;
    case KIT_OP_NEXT:
        advance_to_next(subject, op->budget);
        break;
    case KIT_OP_RESERVE:
        (void)(op->id <= KIT_CAPACITY_MAX && subject_reserve(subject, op->id));
        break;
    case KIT_OP_ALLOW:
        subject_allow(subject, op->budget, op->ticks);
        break;
    case KIT_OP_INSPECT:
        subject_inspect(subject);
        break;
    case KIT_OP_MOVE:
        subject_move(subject);
        break;
    case KIT_OP_WHEN_START:
    case KIT_OP_WHEN_STOP:
        add_action(subject->on_fire_ctx, op);
        break;
    default:
        break; /* is not about one structure */
    }
}

void kit_play_op(struct kit_play *play, const struct kit_op *op)
{
    if (op->kind == KIT_OP_CREATE) {
        (void)kit_play_create(play, op->id);
        return;
    }
    play->current = op->kind == KIT_OP_ON ? op->id : play->current;
    struct kit_player *player = &play->of[play->current];
    if (player->alive && op->kind == KIT_OP_DESTROY) {
        destroy(player);
    } else if (player->alive && op->kind != KIT_OP_ON) {
        kit_do(&player->subject, op);
    }
}

void kit_play_end(struct kit_play *play)
{
    for (uint32_t i = 0; i < KIT_INSTANCES_MAX; i++) {
        struct kit_player *player = &play->of[i];
        if (player->alive) {
            subject_inspect(&player->subject);
            player->ends = true;
            subject_drain(&player->subject);
            subject_inspect(&player->subject);
            destroy(player);
        }
    }
}

/* --- a trace ---------------------------------------------------------------------------------- */

/* Memory limit of a structure of a trace: as in a case that the trace may come from. */
#define TRACE_BYTES ((uint64_t)1 << 30)

struct replay {
    const struct kit_target *target;
    const struct kit_trace *trace;
    struct kit_play play;
};

/* Repeat the operations before it, without repetitions among them. */
static void play_again(struct replay *replay, size_t at)
{
    const struct kit_op *ops = replay->trace->ops;
    size_t period = ops[at].id < at ? ops[at].id : at;
    for (uint64_t k = 0; k < ops[at].budget; k++) {
        for (size_t i = at - period; i < at; i++) {
            if (ops[i].kind != KIT_OP_REPEAT) {
                kit_play_op(&replay->play, &ops[i]);
            }
        }
    }
}

static void run_trace(void *ctx, struct kit_witness *witness)
{
    struct replay *replay = ctx;
    const struct kit_trace *trace = replay->trace;
    replay->play = (struct kit_play){.target = replay->target,
                                     .sessions = trace->sessions,
                                     .limit_bytes = TRACE_BYTES,
                                     .witness = witness};
    witness->repeating = true;
    witness->done = 0;
    if (!kit_play_create(&replay->play, 0) && trace->sessions[0].grants == UINT64_MAX) {
        kit_fail(witness, FAULT_HARNESS, "the structure refuses these options");
    }
    for (size_t i = 0; i < trace->count; i++) {
        witness->done = i + 1;
        if (trace->ops[i].kind == KIT_OP_REPEAT) {
            play_again(replay, i);
        } else {
            kit_play_op(&replay->play, &trace->ops[i]);
        }
    }
    kit_play_end(&replay->play);
}

void kit_sandbox_trace(const struct kit_target *target, const struct kit_trace *trace,
                       const struct kit_limits *limits, struct kit_witness *witness,
                       struct kit_verdict *verdict)
{
    struct replay replay = {.target = target, .trace = trace};
    kit_sandbox(target->algo, run_trace, &replay, limits, witness, verdict);
}

/* The point to continue at after a fault; static, one run at a time. */
static sigjmp_buf given_up;

static void come_back(struct kit_witness *witness)
{
    (void)witness;
    siglongjmp(given_up, 1);
}

/* True after a fault. A separate function, so that the caller's variables keep their values. */
static bool play_or_give_up(struct replay *replay, struct kit_witness *witness)
{
    if (sigsetjmp(given_up, 1) != 0) {
        return true;
    }
    run_trace(replay, witness);
    return false;
}

enum fault_kind kit_survive(const struct kit_target *target, const struct kit_trace *trace,
                            struct kit_witness *witness)
{
    struct replay replay = {.target = target, .trace = trace};
    void (*give_up)(struct kit_witness *) = witness->give_up;
    witness->give_up = come_back;
    witness->fault = FAULT_NONE;
    if (play_or_give_up(&replay, witness)) {
        for (uint32_t i = 0; i < KIT_INSTANCES_MAX; i++) {
            subject_discard(&replay.play.of[i].subject);
            free(replay.play.of[i].actions);
        }
    }
    witness->give_up = give_up;
    return witness->fault;
}
