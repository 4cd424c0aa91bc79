#include "kit_play.h"

#include "child.h"
#include "clock.h"
#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A reader does not go through more than these one by one. */
#define MANY_OPERATIONS   40u

/* A trace is short: one that takes this long hangs. */
#define HANG_SECONDS      1.0
#define HANG_HOOK_SECONDS 2.0

/* In memory shared with children. */
struct shrinker {
    const struct kit_target *target;
    struct kit_limits limits;
    struct kit_witness *witness;
    enum fault_kind fault;
    bool inside;     /* this process makes all trials; otherwise each has a process of its own */
    uint64_t end_ns; /* when to give up */
    struct kit_trace best;
    struct kit_verdict verdict; /* of the best */
    struct kit_trace candidate; /* the trace to try, with memory of its own */
    struct kit_op ops[];        /* of the best */
};

/* A late timer is the same failure whether it fires later or never. */
static bool same_way(enum fault_kind one, enum fault_kind other)
{
    return (one == FAULT_LOST ? FAULT_LATE : one) == (other == FAULT_LOST ? FAULT_LATE : other);
}

/* --- trials ---------------------------------------------------------------------------------- */

static bool has_time(const struct shrinker *shrinker)
{
    return clock_now_ns() < shrinker->end_ns;
}

static void copy_trace(struct kit_trace *to, const struct kit_trace *from, size_t count)
{
    memcpy(to->sessions, from->sessions, sizeof to->sessions);
    to->count = count;
    memcpy(to->ops, from->ops, count * sizeof *to->ops);
}

/* Return the candidate, equal to the best trace, for changes. It is always in the same memory. */
static struct kit_trace *candidate_of(struct shrinker *shrinker)
{
    copy_trace(&shrinker->candidate, &shrinker->best, shrinker->best.count);
    return &shrinker->candidate;
}

/* Bring the timers of the candidate into the range of their structure. */
static void bring_into_range(struct kit_trace *candidate)
{
    struct kit_place place = kit_place_first(candidate);
    for (size_t i = 0; i < candidate->count; i++) {
        struct kit_op *op = &candidate->ops[i];
        kit_place_after(&place, candidate, op);
        uint32_t capacity = place.capacity[place.current];
        if (kit_op_timers(op) == 0 || capacity == 0) {
            continue;
        }
        bool is_range = op->last != op->id;
        op->id %= capacity;
        op->other %= capacity;
        op->last = op->last < capacity ? op->last : capacity - 1;
        op->last =
            is_range && op->last > op->id ? op->last - (op->last - op->id) % op->every : op->id;
    }
}

/* Whether the candidate fails in the same way. */
static bool fails(struct shrinker *shrinker)
{
    struct kit_verdict verdict;
    if (shrinker->inside) {
        return same_way(kit_survive(shrinker->target, &shrinker->candidate, shrinker->witness),
                        shrinker->fault);
    }
    kit_sandbox_trace(shrinker->target, &shrinker->candidate, &shrinker->limits, shrinker->witness,
                      &verdict);
    bool same = verdict.result == KIT_FAULT && same_way(verdict.fault, shrinker->fault);
    shrinker->verdict = same ? verdict : shrinker->verdict;
    return same;
}

/* Make the candidate the best trace if it fails in the same way; false if not, or if the time is
 * over. Operations after the one that failed never ran. */
static bool accept(struct shrinker *shrinker)
{
    if (!has_time(shrinker)) {
        return false;
    }
    bring_into_range(&shrinker->candidate);
    bool accepted = fails(shrinker);
    if (accepted) {
        copy_trace(&shrinker->best, &shrinker->candidate, shrinker->witness->done);
    }
    return accepted;
}

/* --- fewer operations ------------------------------------------------------------------------ */

static void omit(struct kit_trace *trace, size_t at, size_t count)
{
    size_t left = trace->count - at;
    size_t omitted = count < left ? count : left;
    trace->count -= omitted;
    memmove(trace->ops + at, trace->ops + at + omitted, (left - omitted) * sizeof *trace->ops);
}

/* Delta debugging: omit ever smaller runs of operations, until none can be omitted. */
static void drop_operations(struct shrinker *shrinker)
{
    size_t chunk = shrinker->best.count / 2;
    while (chunk > 0 && has_time(shrinker)) {
        bool dropped = false;
        for (size_t at = 0; at < shrinker->best.count && has_time(shrinker);) {
            omit(candidate_of(shrinker), at, chunk);
            bool accepted = accept(shrinker);
            dropped |= accepted;
            at += accepted ? 0 : chunk;
        }
        if (!dropped || chunk > shrinker->best.count) {
            chunk /= 2;
        }
    }
}

/* Try something on each operation in turn, on one again that has changed. */
static void each_operation(struct shrinker *shrinker,
                           bool (*change)(struct shrinker *shrinker, size_t at))
{
    for (size_t at = 0; at < shrinker->best.count && has_time(shrinker);) {
        at += !change(shrinker, at);
    }
}

/* Omit an advance without changing later times: its ticks are added to the next advance, or to the
 * initial clock. */
static bool merge_advance(struct shrinker *shrinker, size_t at)
{
    struct kit_op op = shrinker->best.ops[at];
    if (op.kind != KIT_OP_ADVANCE || op.ticks == 0) {
        return false;
    }
    struct kit_trace *candidate = candidate_of(shrinker);
    omit(candidate, at, 1);
    size_t next = at;
    while (next < candidate->count && candidate->ops[next].kind != KIT_OP_ADVANCE) {
        next++;
    }
    if (next < candidate->count && op.ticks < INT64_MAX - candidate->ops[next].ticks) {
        candidate->ops[next].ticks += op.ticks;
        if (accept(shrinker)) {
            return true;
        }
    }
    omit(candidate_of(shrinker), at, 1);
    candidate->sessions[0].now += (uint64_t)op.ticks;
    return candidate->sessions[0].now <= TL_DEADLINE_MAX && accept(shrinker);
}

/* A fault that needs no callback is shown without one: an operation of a callback becomes one of
 * its own, in its place, or else in any other. */
static bool take_out_of_callback(struct shrinker *shrinker, size_t at)
{
    size_t count = shrinker->best.count;
    struct kit_op plain = kit_op_taken_out(&shrinker->best.ops[at]);
    if (kit_op_timers(&shrinker->best.ops[at]) < 2) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        size_t to = (at + i) % count;
        struct kit_trace *candidate = candidate_of(shrinker);
        omit(candidate, at, 1);
        memmove(candidate->ops + to + 1, candidate->ops + to, (count - 1 - to) * sizeof plain);
        candidate->ops[to] = plain;
        candidate->count = count;
        if (accept(shrinker)) {
            return true;
        }
    }
    return false;
}

/* --- simpler numbers ------------------------------------------------------------------------- */

/* Ways to make a number smaller: the least; the least plus a power of two; itself minus one. */
enum { WAYS = 1 + 2 * 64 };

/* Return the number itself where that way does not make it smaller. */
static uint64_t made_smaller(uint64_t value, uint64_t least, size_t way)
{
    uint64_t by = way == 0 ? 0 : UINT64_C(1) << (way <= 64 ? way - 1 : 128 - way);
    if (value <= least || by >= value - least) {
        return value;
    }
    return way <= 64 ? least + by : value - by;
}

/* Accept the candidate with another value of a number that is in it. */
#define CHANGE(shrinker, number, value)                                                            \
    ((void)candidate_of(shrinker), (number) = (value), accept(shrinker))

/* Make a number of the candidate, of 4 or 8 bytes, as small as the fault allows. */
#define LOWER(shrinker, number, value, least)                                                      \
    lower(shrinker, &(number), sizeof(number), (uint64_t)(value), least)

static bool lower(struct shrinker *shrinker, void *number, size_t bytes, uint64_t value,
                  uint64_t least)
{
    bool lowered = false;
    for (size_t way = 0; way < WAYS; way++) {
        uint64_t smaller = made_smaller(value, least, way);
        if (smaller == value) {
            continue;
        }
        (void)candidate_of(shrinker);
        if (bytes == sizeof(uint32_t)) {
            *(uint32_t *)number = (uint32_t)smaller;
        } else {
            *(uint64_t *)number = smaller;
        }
        if (accept(shrinker)) {
            value = smaller;
            lowered = true;
        }
    }
    return lowered;
}

static bool simplify_operation(struct shrinker *shrinker, size_t at)
{
    const struct kit_op given = shrinker->best.ops[at];
    struct kit_op *op = &shrinker->candidate.ops[at];
    bool bounded = given.kind == KIT_OP_ADVANCE && given.budget > 1 && given.budget != TL_NO_BUDGET;
    return (given.always && CHANGE(shrinker, op->always, false)) ||
           (bounded && CHANGE(shrinker, op->budget, TL_NO_BUDGET)) ||
           (bounded && CHANGE(shrinker, op->budget, 1)) ||
           (given.ticks > 1 && given.ticks != INT64_MAX &&
            LOWER(shrinker, op->ticks, given.ticks, 1)) ||
           (given.kind == KIT_OP_REPEAT && LOWER(shrinker, op->budget, given.budget, 1)) ||
           (given.kind == KIT_OP_RESERVE ? LOWER(shrinker, op->id, given.id, 0)
                                         : LOWER(shrinker, op->last, given.last, given.id));
}

/* Among many operations only their number may matter: all become the first start, or all starts do,
 * or all starts get its delay. That folds to a line or two. */
enum alike { ALL_THE_SAME, STARTS_THE_SAME, DELAYS_THE_SAME, ALIKES };

static void make_alike(struct shrinker *shrinker)
{
    for (enum alike how = ALL_THE_SAME; how < ALIKES; how++) {
        struct kit_trace *candidate = candidate_of(shrinker);
        const struct kit_op *first = NULL;
        for (size_t i = 0; i < candidate->count && first == NULL; i++) {
            first = candidate->ops[i].kind == KIT_OP_START ? &shrinker->best.ops[i] : NULL;
        }
        if (candidate->count < MANY_OPERATIONS || first == NULL) {
            return;
        }
        for (size_t i = 0; i < candidate->count; i++) {
            struct kit_op *op = &candidate->ops[i];
            if (op->kind == KIT_OP_START && how == DELAYS_THE_SAME) {
                op->ticks = first->ticks;
            } else if (op->kind == KIT_OP_START || how == ALL_THE_SAME) {
                *op = *first;
            }
        }
        if (accept(shrinker)) {
            kit_trace_fold(&shrinker->best);
            drop_operations(shrinker);
            kit_trace_fold(&shrinker->best);
        }
    }
}

/* --- fewer timers, and simpler arguments of create -------------------------------------------- */

/* Use ids modulo the smallest power of two that fails: two timers may become one. */
static void use_few_timers(struct shrinker *shrinker)
{
    for (uint64_t few = 1; few < shrinker->best.sessions[0].capacity; few *= 2) {
        candidate_of(shrinker)->sessions[0].capacity = (uint32_t)few;
        if (accept(shrinker)) {
            return;
        }
    }
}

/* How many timers of that structure are named. */
static uint32_t timers_needed(const struct kit_trace *trace, size_t instance)
{
    struct kit_place place = kit_place_first(trace);
    uint32_t needed = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct kit_op *op = &trace->ops[i];
        kit_place_after(&place, trace, op);
        size_t named = place.current == instance ? kit_op_timers(op) : 0;
        needed = named > 0 && op->last >= needed ? op->last + 1 : needed;
        needed = named > 1 && op->other >= needed ? op->other + 1 : needed;
    }
    return needed;
}

static void simplify_session(struct shrinker *shrinker, size_t instance)
{
    const struct kit_session *given = &shrinker->best.sessions[instance];
    struct kit_session *session = &shrinker->candidate.sessions[instance];
    const struct kit_records_layout none = {.lodging = KIT_LODGING_OWN};
    (void)(given->counted && CHANGE(shrinker, session->counted, false));
    (void)(given->place != KIT_GUARD_CANARIES &&
           CHANGE(shrinker, session->place, KIT_GUARD_CANARIES));
    (void)(given->records.lodging != KIT_LODGING_OWN && CHANGE(shrinker, session->records, none));
    (void)(given->records.behind_bytes > 0 && CHANGE(shrinker, session->records.behind_bytes, 0));
    (void)(given->records.before_bytes > 0 && CHANGE(shrinker, session->records.before_bytes, 0));
    (void)LOWER(shrinker, session->now, given->now, 0);
    (void)LOWER(shrinker, session->max_delay_ticks, given->max_delay_ticks, 0);
    uint32_t needed = timers_needed(&shrinker->best, instance);
    (void)(needed > given->capacity ? CHANGE(shrinker, session->capacity, needed)
                                    : LOWER(shrinker, session->capacity, given->capacity, needed));
    for (size_t i = 0; i < tl_option_count(shrinker->target->algo); i++) {
        const struct tl_option *option = &shrinker->target->algo->options[i];
        uint64_t plain = tl_option_number(option, shrinker->target->options);
        if (tl_option_number(option, given->options) != plain) {
            tl_option_set_number(option, candidate_of(shrinker)->sessions[instance].options, plain);
            (void)accept(shrinker);
        }
    }
}

/* New numbers of one structure's timers: the lowest, in the order in which they are named. */
struct names {
    uint32_t *of; /* by timer, one more than its number; 0: it has none yet */
    uint32_t count;
};

static uint32_t name_of(struct names *names, uint64_t id)
{
    if (names->of[id] == 0) {
        names->of[id] = ++names->count;
    }
    return names->of[id] - 1;
}

/* A range stays one, or it cannot be done. */
static bool rename_range(struct names *names, struct kit_op *op)
{
    uint32_t first = name_of(names, op->id);
    uint32_t last = first;
    uint32_t every = 1;
    for (uint64_t at = (uint64_t)op->id + op->every; at <= op->last; at += op->every) {
        uint32_t name = name_of(names, at);
        every = last == first ? name - first : every;
        if (name <= last || name - last != every) {
            return false;
        }
        last = name;
    }
    op->id = first;
    op->last = last;
    op->every = every;
    return true;
}

static void renumber(struct shrinker *shrinker)
{
    struct names names[KIT_INSTANCES_MAX] = {{NULL, 0}};
    struct kit_trace *candidate = candidate_of(shrinker);
    struct kit_place place = kit_place_first(candidate);
    bool can = true;
    for (size_t i = 0; i < candidate->session_count; i++) {
        names[i].of = memory_new((size_t)timers_needed(candidate, i) + 1, sizeof *names[i].of);
    }
    for (size_t i = 0; i < candidate->count && can; i++) {
        struct kit_op *op = &candidate->ops[i];
        size_t named = kit_op_timers(op);
        kit_place_after(&place, candidate, op);
        can = named == 0 || rename_range(&names[place.current], op);
        op->other = can && named > 1 ? name_of(&names[place.current], op->other) : op->other;
    }
    for (size_t i = 0; i < candidate->session_count; i++) {
        free(names[i].of);
    }
    (void)(can && accept(shrinker));
}

/* --- all of it ------------------------------------------------------------------------------- */

static void make_shorter(struct shrinker *shrinker)
{
    use_few_timers(shrinker);
    drop_operations(shrinker);
    make_alike(shrinker);
    each_operation(shrinker, merge_advance);
    each_operation(shrinker, take_out_of_callback);
    each_operation(shrinker, simplify_operation);
    drop_operations(shrinker);
    each_operation(shrinker, merge_advance);
    drop_operations(shrinker);
    renumber(shrinker);
    for (size_t i = 0; i < shrinker->best.session_count; i++) {
        simplify_session(shrinker, i);
    }
    drop_operations(shrinker);
}

static void make_shorter_inside(void *ctx, struct kit_witness *witness)
{
    make_shorter(ctx);
    witness->fault = FAULT_NONE;
}

/* Make the trace shorter in one process. False if that process did not reach the end, or reached a
 * trace that does not fail in a process of its own. */
static bool make_shorter_at_once(struct shrinker *shrinker, const struct kit_trace *whole)
{
    struct kit_limits limits = shrinker->limits;
    struct kit_verdict verdict;
    limits.processor_seconds = limits.shrink_seconds;
    shrinker->inside = true;
    kit_sandbox(shrinker->target->algo, make_shorter_inside, shrinker, &limits, shrinker->witness,
                &verdict);
    shrinker->inside = false;
    (void)candidate_of(shrinker);
    if (fails(shrinker)) {
        return verdict.result == KIT_OK;
    }
    copy_trace(&shrinker->best, whole, whole->count);
    return false;
}

static void set_end(struct shrinker *shrinker)
{
    shrinker->end_ns = clock_now_ns() + (uint64_t)(shrinker->limits.shrink_seconds / 2 * 1e9);
}

bool kit_shrink(const struct kit_target *target, const struct kit_limits *limits,
                struct kit_witness *witness, struct kit_trace *trace, struct kit_verdict *verdict)
{
    kit_trace_fold(trace);
    size_t ops_bytes = trace->count * sizeof *trace->ops;
    struct shrinker *shrinker = child_memory_new(sizeof *shrinker + ops_bytes);
    *shrinker = (struct shrinker){
        .target = target,
        .limits = *limits,
        .witness = witness,
        .fault = verdict->fault,
        .end_ns = UINT64_MAX,
        .best = *trace,
        .candidate = *trace,
    };
    shrinker->best.ops = shrinker->ops;
    shrinker->candidate.ops = memory_bytes(ops_bytes + 1);
    memcpy(shrinker->ops, trace->ops, ops_bytes);
    (void)candidate_of(shrinker);
    bool repeats = accept(shrinker);
    if (repeats) {
        shrinker->limits.processor_seconds = shrinker->fault == FAULT_HANG
                                                 ? HANG_SECONDS
                                                 : HANG_SECONDS + 2 * shrinker->verdict.seconds;
        shrinker->limits.hook_seconds = fmin(limits->hook_seconds, HANG_HOOK_SECONDS);
        set_end(shrinker);
        bool ended = make_shorter_at_once(shrinker, trace);
        set_end(shrinker);
        /* In one process, state of an earlier trial may have hidden the fault. */
        (ended ? drop_operations : make_shorter)(shrinker);
        verdict->fault = shrinker->verdict.fault;
        memcpy(verdict->message, shrinker->verdict.message, sizeof verdict->message);
        copy_trace(trace, &shrinker->best, shrinker->best.count);
    }
    free(shrinker->candidate.ops);
    child_memory_free(shrinker, sizeof *shrinker + ops_bytes);
    return repeats;
}
