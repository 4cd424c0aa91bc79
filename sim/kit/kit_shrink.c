#include "kit_shrink.h"

#include <stdlib.h>
#include <string.h>

/* Enough for the traces that the fuzzer finds; a bound, because a fault can be a hang. */
#define SHRINK_TRIALS  3000u
#define SHRINK_SECONDS 15.0

struct shrinker {
    const struct kit_target *target;
    struct kit_limits limits;
    struct kit_witness *witness;
    enum fault_kind fault;
    unsigned trials;
    double seconds;
    struct kit_trace best;
    struct kit_verdict verdict; /* of the best */
    struct kit_op *candidate;
};

static bool exhausted(const struct shrinker *shrinker)
{
    return shrinker->trials >= SHRINK_TRIALS || shrinker->seconds >= SHRINK_SECONDS;
}

/* A timer that did not fire in its time failed in one way, whether it came later or never did. */
static bool same_way(enum fault_kind one, enum fault_kind other)
{
    return (one == FAULT_LOST ? FAULT_LATE : one) == (other == FAULT_LOST ? FAULT_LATE : other);
}

/* Whether these operations fail in the same way; if so they are the best so far. */
static bool still_fails(struct shrinker *shrinker, const struct kit_session *session,
                        const struct kit_op *ops, size_t count)
{
    if (exhausted(shrinker)) {
        return false;
    }
    struct kit_verdict verdict;
    kit_sandbox_trace(shrinker->target, session, ops, count, &shrinker->limits, shrinker->witness,
                      &verdict);
    shrinker->trials++;
    shrinker->seconds += verdict.seconds;
    if (verdict.result != KIT_FAULT || !same_way(verdict.fault, shrinker->fault)) {
        return false;
    }
    shrinker->best.session = *session;
    /* What lies behind the operation that failed never ran. */
    size_t ran = shrinker->witness->op_count < count ? shrinker->witness->op_count : count;
    memmove(shrinker->best.ops, shrinker->witness->ops, ran * sizeof *ops);
    shrinker->best.count = ran;
    shrinker->verdict = verdict;
    return true;
}

/* Delta debugging: leaves out ever smaller runs of operations, until none can be left out. */
static void drop_operations(struct shrinker *shrinker)
{
    size_t chunk = shrinker->best.count / 2;
    while (chunk > 0 && !exhausted(shrinker)) {
        bool dropped = false;
        for (size_t at = 0; at < shrinker->best.count;) {
            size_t n = chunk < shrinker->best.count - at ? chunk : shrinker->best.count - at;
            size_t rest = shrinker->best.count - at - n;
            memcpy(shrinker->candidate, shrinker->best.ops, at * sizeof(struct kit_op));
            memcpy(shrinker->candidate + at, shrinker->best.ops + at + n,
                   rest * sizeof(struct kit_op));
            if (still_fails(shrinker, &shrinker->best.session, shrinker->candidate, at + rest)) {
                dropped = true;
            } else {
                at += n;
            }
        }
        if (!dropped || chunk > shrinker->best.count) {
            chunk /= 2;
        }
    }
}

/* Tries one operation in place of another. */
static bool replace(struct shrinker *shrinker, size_t at, struct kit_op op)
{
    size_t count = shrinker->best.count;
    memcpy(shrinker->candidate, shrinker->best.ops, count * sizeof op);
    shrinker->candidate[at] = op;
    return still_fails(shrinker, &shrinker->best.session, shrinker->candidate, count);
}

/* Leaves out advances while time passes as before: what one moves the clock by goes to the next,
 * or to where the clock begins. An advance to next becomes one by a number. */
static void merge_advances(struct shrinker *shrinker)
{
    for (size_t i = 0; i < shrinker->best.count && !exhausted(shrinker);) {
        struct kit_op op = shrinker->best.ops[i];
        size_t rest = shrinker->best.count - i - 1;
        if (op.kind == KIT_OP_NEXT) {
            op.kind = KIT_OP_ADVANCE;
            (void)replace(shrinker, i, op);
        }
        if (op.kind != KIT_OP_ADVANCE || op.ticks == 0) {
            i++;
            continue;
        }
        struct kit_op *candidate = shrinker->candidate;
        memcpy(candidate, shrinker->best.ops, i * sizeof op);
        memcpy(candidate + i, shrinker->best.ops + i + 1, rest * sizeof op);
        size_t next = i;
        while (next < i + rest && candidate[next].kind != KIT_OP_ADVANCE) {
            next++;
        }
        if (next < i + rest && op.ticks < INT64_MAX - candidate[next].ticks) {
            candidate[next].ticks += op.ticks;
            if (still_fails(shrinker, &shrinker->best.session, candidate, i + rest)) {
                continue;
            }
            candidate[next].ticks -= op.ticks;
        }
        struct kit_session session = shrinker->best.session;
        session.now += (uint64_t)op.ticks;
        i += session.now > TL_DEADLINE_MAX || !still_fails(shrinker, &session, candidate, i + rest);
    }
}

static bool is_advance(const struct kit_op *op)
{
    return op->kind == KIT_OP_ADVANCE || op->kind == KIT_OP_NEXT;
}

/* Tries what the callback of operation `at` does as an operation of its own: in its place, or else
 * behind one of the advances that follow. */
static bool take_out(struct shrinker *shrinker, size_t at)
{
    const struct kit_op *ops = shrinker->best.ops;
    size_t count = shrinker->best.count;
    struct kit_op plain = ops[at];
    plain.kind = plain.kind == KIT_OP_WHEN_STOP ? KIT_OP_STOP : KIT_OP_START;
    plain.id = plain.other;
    plain.other = 0;
    plain.always = false;
    for (size_t to = at; to < count && !exhausted(shrinker); to++) {
        if (to != at && !is_advance(&ops[to])) {
            continue;
        }
        struct kit_op *candidate = shrinker->candidate;
        memcpy(candidate, ops, count * sizeof plain);
        memmove(candidate + at, candidate + at + 1, (to - at) * sizeof plain);
        candidate[to] = plain;
        if (still_fails(shrinker, &shrinker->best.session, candidate, count)) {
            return true;
        }
    }
    return false;
}

/* A fault that needs no callback is told without one. */
static void take_out_of_callbacks(struct shrinker *shrinker)
{
    for (size_t i = 0; i < shrinker->best.count && !exhausted(shrinker);) {
        enum kit_op_kind kind = shrinker->best.ops[i].kind;
        bool reacts = kind == KIT_OP_WHEN_START || kind == KIT_OP_WHEN_STOP;
        i += !reacts || !take_out(shrinker, i);
    }
}

/* Makes the numbers in the operations smaller and rounder. */
static void simplify_operations(struct shrinker *shrinker)
{
    for (size_t i = 0; i < shrinker->best.count && !exhausted(shrinker); i++) {
        struct kit_op op = shrinker->best.ops[i];
        if (op.always) {
            op.always = false;
            op.always = !replace(shrinker, i, op);
        }
        if (i < shrinker->best.count && op.budget != TL_NO_BUDGET) {
            uint64_t least = op.budget > 1 ? 1 : op.budget;
            op.budget = TL_NO_BUDGET;
            if (!replace(shrinker, i, op)) {
                op.budget = least;
                (void)replace(shrinker, i, op);
            }
        }
        int64_t whole = i < shrinker->best.count ? shrinker->best.ops[i].ticks : 0;
        /* From the far end: the least that still fails is between 0 and what failed. */
        int64_t low = 0;
        int64_t high = whole;
        while (i < shrinker->best.count && high - low > 1 && whole > 1 && whole != INT64_MAX &&
               !exhausted(shrinker)) {
            op = shrinker->best.ops[i];
            op.ticks = low + (high - low) / 2;
            if (replace(shrinker, i, op)) {
                high = op.ticks;
            } else {
                low = op.ticks;
            }
        }
    }
}

static void simplify_session(struct shrinker *shrinker)
{
    struct kit_session session = shrinker->best.session;
    session.now = 0;
    (void)still_fails(shrinker, &session, shrinker->best.ops, shrinker->best.count);
    session = shrinker->best.session;
    session.max_delay_ticks = 0;
    (void)still_fails(shrinker, &session, shrinker->best.ops, shrinker->best.count);
    for (size_t i = 0; i < tl_option_count(shrinker->target->algo); i++) {
        session = shrinker->best.session;
        if (session.options[i] != shrinker->target->options[i]) {
            session.options[i] = shrinker->target->options[i];
            (void)still_fails(shrinker, &session, shrinker->best.ops, shrinker->best.count);
        }
    }
    uint32_t needed = 0;
    for (size_t i = 0; i < shrinker->best.count; i++) {
        const struct kit_op *op = &shrinker->best.ops[i];
        needed = op->id >= needed && op->kind != KIT_OP_RESERVE ? op->id + 1 : needed;
        needed = op->other >= needed ? op->other + 1 : needed;
    }
    session = shrinker->best.session;
    if (needed < session.capacity) {
        session.capacity = needed;
        (void)still_fails(shrinker, &session, shrinker->best.ops, shrinker->best.count);
    }
}

/* Gives timers the lowest numbers that do, in the order in which they are named. */
static void renumber(struct shrinker *shrinker)
{
    uint32_t names[KIT_CAPACITY_MAX];
    uint32_t known = 0;
    size_t count = shrinker->best.count;
    memcpy(shrinker->candidate, shrinker->best.ops, count * sizeof(struct kit_op));
    for (size_t i = 0; i < count; i++) {
        struct kit_op *op = &shrinker->candidate[i];
        uint32_t *fields[] = {&op->id, &op->other};
        bool two = op->kind == KIT_OP_WHEN_START || op->kind == KIT_OP_WHEN_STOP;
        size_t field_count = op->kind == KIT_OP_START || op->kind == KIT_OP_STOP ? 1 : two ? 2 : 0;
        for (size_t f = 0; f < field_count; f++) {
            uint32_t at = 0;
            while (at < known && names[at] != *fields[f]) {
                at++;
            }
            if (at == known && known < KIT_CAPACITY_MAX) {
                names[known++] = *fields[f];
            }
            *fields[f] = at;
        }
    }
    (void)still_fails(shrinker, &shrinker->best.session, shrinker->candidate, count);
}

void kit_shrink(const struct kit_target *target, const struct kit_limits *limits,
                struct kit_witness *witness, struct kit_trace *trace, struct kit_verdict *verdict)
{
    struct shrinker shrinker = {
        .target = target,
        .limits = *limits,
        .witness = witness,
        .fault = verdict->fault,
        .best = *trace,
        .verdict = *verdict,
        .candidate = calloc(trace->count + 1, sizeof *shrinker.candidate),
    };
    /* A trace is short: what takes this long hangs. */
    shrinker.limits.processor_seconds = 1;
    if (shrinker.candidate == NULL) {
        return;
    }
    drop_operations(&shrinker);
    merge_advances(&shrinker);
    take_out_of_callbacks(&shrinker);
    simplify_operations(&shrinker);
    drop_operations(&shrinker);
    merge_advances(&shrinker);
    drop_operations(&shrinker);
    renumber(&shrinker);
    simplify_session(&shrinker);
    free(shrinker.candidate);
    uint64_t operations = verdict->operations;
    double seconds = verdict->seconds;
    *trace = shrinker.best;
    *verdict = shrinker.verdict;
    verdict->operations = operations;
    verdict->seconds = seconds;
}
