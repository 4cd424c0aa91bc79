#include "kit_shrink.h"

#include <stdlib.h>
#include <string.h>

/* Enough for most traces; a bound, because a fault can be a hang. */
#define SHRINK_TRIALS   3000u
#define SHRINK_SECONDS  10.0

/* So many are no longer read one by one. */
#define MANY_OPERATIONS 40u

/* A trace is short: what takes this long hangs. */
#define HANG_SECONDS    1.0

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
    return shrinker->trials >= SHRINK_TRIALS ||
           shrinker->seconds >= shrinker->limits.shrink_seconds;
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
    struct kit_trace trace = shrinker->best;
    trace.sessions[0] = *session;
    trace.ops = shrinker->candidate;
    trace.count = count;
    if (ops != shrinker->candidate) {
        memcpy(shrinker->candidate, ops, count * sizeof *ops);
    }
    kit_sandbox_trace(shrinker->target, &trace, &shrinker->limits, shrinker->witness, &verdict);
    shrinker->trials++;
    shrinker->seconds += verdict.seconds;
    if (verdict.result != KIT_FAULT || !same_way(verdict.fault, shrinker->fault)) {
        return false;
    }
    shrinker->best.sessions[0] = *session;
    /* What lies behind the operation that failed never ran. */
    shrinker->best.count = shrinker->witness->done;
    memcpy(shrinker->best.ops, shrinker->candidate, shrinker->best.count * sizeof *ops);
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
            if (still_fails(shrinker, &shrinker->best.sessions[0], shrinker->candidate,
                            at + rest)) {
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
    return still_fails(shrinker, &shrinker->best.sessions[0], shrinker->candidate, count);
}

/* Leaves out advances while time passes as before: what one moves the clock by goes to the next,
 * or to where the clock begins. */
static void merge_advances(struct shrinker *shrinker)
{
    for (size_t i = 0; i < shrinker->best.count && !exhausted(shrinker);) {
        struct kit_op op = shrinker->best.ops[i];
        size_t rest = shrinker->best.count - i - 1;
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
            if (still_fails(shrinker, &shrinker->best.sessions[0], candidate, i + rest)) {
                continue;
            }
            candidate[next].ticks -= op.ticks;
        }
        struct kit_session session = shrinker->best.sessions[0];
        session.now += (uint64_t)op.ticks;
        i += session.now > TL_DEADLINE_MAX || !still_fails(shrinker, &session, candidate, i + rest);
    }
}

/* Tries what the callback of operation `at` does as an operation of its own: in its place, or else
 * in any other. */
static bool take_out(struct shrinker *shrinker, size_t at)
{
    const struct kit_op *ops = shrinker->best.ops;
    size_t count = shrinker->best.count;
    struct kit_op plain = ops[at];
    plain.kind = plain.kind == KIT_OP_WHEN_STOP ? KIT_OP_STOP : KIT_OP_START;
    plain.id = plain.other;
    plain.last = plain.other;
    plain.other = 0;
    plain.always = false;
    for (size_t i = 0; i < count && !exhausted(shrinker); i++) {
        size_t to = (at + i) % count;
        struct kit_op *candidate = shrinker->candidate;
        memcpy(candidate, ops, count * sizeof plain);
        if (to > at) {
            memmove(candidate + at, candidate + at + 1, (to - at) * sizeof plain);
        } else {
            memmove(candidate + to + 1, candidate + to, (at - to) * sizeof plain);
        }
        candidate[to] = plain;
        if (still_fails(shrinker, &shrinker->best.sessions[0], candidate, count)) {
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

/* A number in an operation that may be made smaller. */
enum number { TICKS, TIMES, LAST };

/* Its value, and the least that it may have; the same twice if this operation has none. */
static uint64_t number_of(const struct kit_op *op, enum number which, uint64_t *least)
{
    *least = 0;
    if (which == TICKS && op->ticks > 1 && op->ticks != INT64_MAX) {
        return (uint64_t)op->ticks;
    }
    if (which == TIMES && op->kind == KIT_OP_REPEAT) {
        return op->budget;
    }
    if (which == LAST && op->last != op->id) {
        *least = op->id;
        return op->last;
    }
    return 0;
}

static struct kit_op with_number(struct kit_op op, enum number which, uint64_t value)
{
    if (which == TICKS) {
        op.ticks = (int64_t)value;
    } else if (which == TIMES) {
        op.budget = value;
    } else {
        op.last = (uint32_t)value;
    }
    return op;
}

/* From the far end: the least that still fails is between the least there is and what failed. */
static void lower(struct shrinker *shrinker, size_t at, enum number which)
{
    if (at >= shrinker->best.count) {
        return;
    }
    uint64_t low = 0;
    uint64_t high = number_of(&shrinker->best.ops[at], which, &low);
    while (at < shrinker->best.count && high > low + 1 && !exhausted(shrinker)) {
        uint64_t value = low + (high - low) / 2;
        if (replace(shrinker, at, with_number(shrinker->best.ops[at], which, value))) {
            high = value;
        } else {
            low = value;
        }
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
        if (op.kind == KIT_OP_ADVANCE && op.budget != TL_NO_BUDGET) {
            uint64_t least = op.budget > 1 ? 1 : op.budget;
            op.budget = TL_NO_BUDGET;
            if (!replace(shrinker, i, op)) {
                op.budget = least;
                (void)replace(shrinker, i, op);
            }
        }
        lower(shrinker, i, TICKS);
        lower(shrinker, i, TIMES);
        lower(shrinker, i, LAST);
    }
}

/* How many timers an operation names. */
static size_t timers_named(const struct kit_op *op)
{
    switch (op->kind) {
    case KIT_OP_START:
    case KIT_OP_STOP:
        return 1;
    case KIT_OP_WHEN_START:
    case KIT_OP_WHEN_STOP:
        return 2;
    default:
        return 0;
    }
}

/* Of many operations it may be the number that counts. */
enum alike { ALL_THE_SAME, STARTS_THE_SAME, DELAYS_THE_SAME };

/* Makes many operations one that is repeated, or all starts one, or gives all starts one delay:
 * that is told in a line or two. */
static void make_alike(struct shrinker *shrinker, enum alike how)
{
    size_t count = shrinker->best.count;
    const struct kit_op *first = NULL;
    for (size_t i = 0; i < count && first == NULL; i++) {
        first = shrinker->best.ops[i].kind == KIT_OP_START ? &shrinker->best.ops[i] : NULL;
    }
    if (count < MANY_OPERATIONS || first == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct kit_op op = shrinker->best.ops[i];
        if (op.kind == KIT_OP_START && how == DELAYS_THE_SAME) {
            op.ticks = first->ticks;
        } else if (op.kind == KIT_OP_START || how == ALL_THE_SAME) {
            op = *first;
        }
        shrinker->candidate[i] = op;
    }
    if (still_fails(shrinker, &shrinker->best.sessions[0], shrinker->candidate, count)) {
        kit_trace_fold(&shrinker->best);
        drop_operations(shrinker);
        kit_trace_fold(&shrinker->best);
    }
}

/* Tries whether fewer timers will do, two of which may become one. */
static void fewer_timers(struct shrinker *shrinker)
{
    size_t count = shrinker->best.count;
    for (uint32_t few = 1; few < shrinker->best.sessions[0].capacity && !exhausted(shrinker);
         few *= 2) {
        struct kit_session session = shrinker->best.sessions[0];
        session.capacity = few;
        for (size_t i = 0; i < count; i++) {
            struct kit_op op = shrinker->best.ops[i];
            size_t named = timers_named(&op);
            op.id = named > 0 ? op.id % few : op.id;
            op.last = named > 0 && op.last != shrinker->best.ops[i].id ? op.last : op.id;
            op.other = named > 1 ? op.other % few : op.other;
            shrinker->candidate[i] = op;
        }
        if (still_fails(shrinker, &session, shrinker->candidate, count)) {
            return;
        }
    }
}

/* Of simpler ones, the first is the simplest: none, nothing behind, nothing before. */
static void simplify_records(struct kit_records_layout *records, unsigned which)
{
    if (which == 0) {
        *records = (struct kit_records_layout){.lodging = KIT_LODGING_OWN};
    } else if (which == 1) {
        records->behind_bytes = 0;
    } else {
        records->before_bytes = 0;
    }
}

static void simplify_session(struct shrinker *shrinker)
{
    struct kit_session session = shrinker->best.sessions[0];
    session.now = 0;
    (void)still_fails(shrinker, &session, shrinker->best.ops, shrinker->best.count);
    session = shrinker->best.sessions[0];
    session.max_delay_ticks = 0;
    (void)still_fails(shrinker, &session, shrinker->best.ops, shrinker->best.count);
    for (unsigned simpler = 0; simpler < 3; simpler++) {
        session = shrinker->best.sessions[0];
        simplify_records(&session.records, simpler);
        if (memcmp(&session.records, &shrinker->best.sessions[0].records, sizeof session.records) !=
            0) {
            (void)still_fails(shrinker, &session, shrinker->best.ops, shrinker->best.count);
        }
    }
    for (size_t i = 0; i < tl_option_count(shrinker->target->algo); i++) {
        session = shrinker->best.sessions[0];
        if (session.options[i] != shrinker->target->options[i]) {
            session.options[i] = shrinker->target->options[i];
            (void)still_fails(shrinker, &session, shrinker->best.ops, shrinker->best.count);
        }
    }
    uint32_t needed = 0;
    for (size_t i = 0; i < shrinker->best.count; i++) {
        const struct kit_op *op = &shrinker->best.ops[i];
        size_t named = timers_named(op);
        needed = named > 0 && op->last >= needed ? op->last + 1 : needed;
        needed = named > 1 && op->other >= needed ? op->other + 1 : needed;
    }
    session = shrinker->best.sessions[0];
    if (needed != session.capacity) {
        session.capacity = needed;
        (void)still_fails(shrinker, &session, shrinker->best.ops, shrinker->best.count);
    }
}

/* Gives timers the lowest numbers that do, in the order in which they are named. */
static void renumber(struct shrinker *shrinker)
{
    enum { NAMES_MAX = 256 };
    uint32_t names[NAMES_MAX];
    uint32_t known = 0;
    size_t count = shrinker->best.count;
    memcpy(shrinker->candidate, shrinker->best.ops, count * sizeof(struct kit_op));
    for (size_t i = 0; i < count; i++) {
        struct kit_op *op = &shrinker->candidate[i];
        uint32_t *fields[] = {&op->id, &op->other};
        size_t named = timers_named(op);
        if (named > 0 && op->last != op->id) {
            return; /* a range goes through its timers in their order */
        }
        for (size_t f = 0; f < named; f++) {
            uint32_t at = 0;
            while (at < known && names[at] != *fields[f]) {
                at++;
            }
            if (at == known) {
                if (known == NAMES_MAX) {
                    return; /* too many to be read anyway */
                }
                names[known++] = *fields[f];
            }
            *fields[f] = at;
        }
        op->last = named > 0 ? op->id : op->last;
    }
    (void)still_fails(shrinker, &shrinker->best.sessions[0], shrinker->candidate, count);
}

bool kit_shrink(const struct kit_target *target, const struct kit_limits *limits,
                struct kit_witness *witness, struct kit_trace *trace, struct kit_verdict *verdict)
{
    kit_trace_fold(trace);
    struct shrinker shrinker = {
        .target = target,
        .limits = *limits,
        .witness = witness,
        .fault = verdict->fault,
        .best = *trace,
        .verdict = *verdict,
        .candidate = calloc(trace->count + 1, sizeof *shrinker.candidate),
    };
    if (shrinker.candidate == NULL) {
        return false;
    }
    bool repeats =
        still_fails(&shrinker, &shrinker.best.sessions[0], shrinker.best.ops, shrinker.best.count);
    if (repeats) {
        shrinker.limits.processor_seconds =
            shrinker.fault == FAULT_HANG ? HANG_SECONDS : HANG_SECONDS + 2 * shrinker.seconds;
        shrinker.seconds = 0;
        fewer_timers(&shrinker);
        drop_operations(&shrinker);
        make_alike(&shrinker, ALL_THE_SAME);
        make_alike(&shrinker, STARTS_THE_SAME);
        make_alike(&shrinker, DELAYS_THE_SAME);
        merge_advances(&shrinker);
        take_out_of_callbacks(&shrinker);
        simplify_operations(&shrinker);
        drop_operations(&shrinker);
        merge_advances(&shrinker);
        drop_operations(&shrinker);
        renumber(&shrinker);
        simplify_session(&shrinker);
        drop_operations(&shrinker);
    }
    free(shrinker.candidate);
    uint64_t operations = verdict->operations;
    double seconds = verdict->seconds;
    struct kit_coverage coverage = verdict->coverage;
    *trace = shrinker.best;
    *verdict = shrinker.verdict;
    verdict->operations = operations;
    verdict->seconds = seconds;
    verdict->coverage = coverage;
    return repeats;
}
