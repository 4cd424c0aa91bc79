#include "kit_shrink.h"

#include "child.h"
#include "clock.h"
#include "kit_interpreter.h"
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
    size_t at;                  /* operations from here on are dropped, */
    size_t chunk;               /* this number of them at once */
    struct kit_op ops[];        /* of the best */
};

/* Make the candidate of that number from the best trace; false if there is none. A candidate that
 * failed must not change the meaning of the numbers after it. */
typedef bool propose_fn(struct shrinker *shrinker, size_t number);

/* A late timer is the same failure whether it fires later or never. */
static bool same_way(enum fault_kind one, enum fault_kind other)
{
    return (one == FAULT_LOST ? FAULT_LATE : one) == (other == FAULT_LOST ? FAULT_LATE : other);
}

/* --- trials ---------------------------------------------------------------------------------- */

static void copy_trace(struct kit_trace *to, const struct kit_trace *from, size_t count)
{
    memcpy(to->sessions, from->sessions, sizeof to->sessions);
    to->count = count;
    memcpy(to->ops, from->ops, count * sizeof *to->ops);
}

/* Return the candidate, equal to the best trace, for changes. */
static struct kit_trace *candidate_of(struct shrinker *shrinker)
{
    copy_trace(&shrinker->candidate, &shrinker->best, shrinker->best.count);
    return &shrinker->candidate;
}

/* Make the candidate of that number, and bring its timers into the range of their structure. */
static bool offer(struct shrinker *shrinker, propose_fn *propose, size_t number)
{
    struct kit_trace *candidate = &shrinker->candidate;
    if (!propose(shrinker, number)) {
        return false;
    }
    struct kit_place place = kit_place_first(candidate);
    for (size_t i = 0; i < candidate->count; i++) {
        struct kit_op *op = &candidate->ops[i];
        kit_place_after(&place, candidate, op);
        uint32_t capacity = place.capacity[place.current];
        if (kit_op_timers(op) == 0 || capacity == 0) {
            continue;
        }
        op->id %= capacity;
        op->other %= capacity;
        op->last = op->last < capacity ? op->last : capacity - 1;
        op->last = op->last > op->id ? op->last - (op->last - op->id) % op->every : op->id;
    }
    return true;
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

/* Find the first candidate from number `from` on that fails in the same way, and make it the best;
 * return its number, or `end`. Operations after the one that failed never ran. */
static size_t first_failing(struct shrinker *shrinker, propose_fn *propose, size_t from, size_t end)
{
    for (; from < end && clock_now_ns() < shrinker->end_ns; from++) {
        if (offer(shrinker, propose, from) && fails(shrinker)) {
            copy_trace(&shrinker->best, &shrinker->candidate, shrinker->witness->done);
            return from;
        }
    }
    return end;
}

/* --- fewer operations ------------------------------------------------------------------------ */

/* Try this number of candidates for each operation; after a success, those of the same operation
 * again. */
static void try_each(struct shrinker *shrinker, propose_fn *propose, size_t ways)
{
    for (size_t number = 0; number < ways * shrinker->best.count; number -= number % ways) {
        number = first_failing(shrinker, propose, number, ways * shrinker->best.count);
    }
}

static bool without_chunk(struct shrinker *shrinker, size_t number)
{
    struct kit_trace *candidate = candidate_of(shrinker);
    size_t at = shrinker->at + number * shrinker->chunk;
    size_t left = candidate->count - at;
    size_t dropped = shrinker->chunk < left ? shrinker->chunk : left;
    candidate->count -= dropped;
    memmove(candidate->ops + at, candidate->ops + at + dropped,
            (left - dropped) * sizeof *candidate->ops);
    return true;
}

/* Delta debugging: omit ever smaller runs of operations, until none can be omitted. */
static void drop_operations(struct shrinker *shrinker)
{
    shrinker->chunk = shrinker->best.count / 2;
    while (shrinker->chunk > 0 && clock_now_ns() < shrinker->end_ns) {
        bool dropped = false;
        for (shrinker->at = 0; shrinker->at < shrinker->best.count;) {
            size_t left = shrinker->best.count - shrinker->at;
            size_t chunks = (left + shrinker->chunk - 1) / shrinker->chunk;
            size_t failing = first_failing(shrinker, without_chunk, 0, chunks);
            dropped |= failing < chunks;
            shrinker->at += failing * shrinker->chunk;
        }
        if (!dropped || shrinker->chunk > shrinker->best.count) {
            shrinker->chunk /= 2;
        }
    }
}

/* Omit an advance without changing later times: its ticks are added to the next advance, or to the
 * initial clock. */
static bool with_advance_merged(struct shrinker *shrinker, size_t number)
{
    size_t at = number / 2;
    struct kit_op op = shrinker->best.ops[at];
    if (op.kind != KIT_OP_ADVANCE || op.ticks == 0) {
        return false;
    }
    struct kit_trace *candidate = candidate_of(shrinker);
    candidate->count--;
    memmove(candidate->ops + at, candidate->ops + at + 1, (candidate->count - at) * sizeof op);
    if (number % 2 == 1) {
        candidate->sessions[0].now += (uint64_t)op.ticks;
        return candidate->sessions[0].now <= TL_DEADLINE_MAX;
    }
    while (at < candidate->count && candidate->ops[at].kind != KIT_OP_ADVANCE) {
        at++;
    }
    if (at == candidate->count || op.ticks >= INT64_MAX - candidate->ops[at].ticks) {
        return false;
    }
    candidate->ops[at].ticks += op.ticks;
    return true;
}

/* An operation of a callback becomes one of its own: in its place, or else in any other. */
static bool with_plain_operation(struct shrinker *shrinker, size_t number)
{
    size_t count = shrinker->best.count;
    size_t at = number / count;
    size_t to = (at + number) % count;
    struct kit_op plain = shrinker->best.ops[at];
    plain.kind = plain.kind == KIT_OP_WHEN_STOP ? KIT_OP_STOP : KIT_OP_START;
    plain.id = plain.other;
    plain.last = plain.other;
    plain.other = 0;
    plain.always = false;
    struct kit_op *ops = candidate_of(shrinker)->ops;
    if (to > at) {
        memmove(ops + at, ops + at + 1, (to - at) * sizeof plain);
    } else {
        memmove(ops + to + 1, ops + to, (at - to) * sizeof plain);
    }
    ops[to] = plain;
    return true;
}

/* A fault that needs no callback is shown without one. */
static void take_out_of_callbacks(struct shrinker *shrinker)
{
    for (size_t at = 0; at < shrinker->best.count;) {
        size_t count = shrinker->best.count;
        enum kit_op_kind kind = shrinker->best.ops[at].kind;
        size_t end = (at + 1) * count;
        bool reacts = kind == KIT_OP_WHEN_START || kind == KIT_OP_WHEN_STOP;
        at += !reacts || first_failing(shrinker, with_plain_operation, at * count, end) == end;
    }
}

/* --- simpler operations ---------------------------------------------------------------------- */

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

/* Ways to make an operation simpler: three, and those of its numbers. */
enum { NOT_ALWAYS, NO_BUDGET, BUDGET_OF_1, TICKS, TIMES = TICKS + WAYS, LAST = TIMES + WAYS };
#define SIMPLER (LAST + WAYS)

static bool make_simpler(struct kit_op *op, size_t how)
{
    struct kit_op given = *op;
    if (how == NOT_ALWAYS) {
        op->always = false;
    } else if (how < TICKS) {
        bool bounded = op->kind == KIT_OP_ADVANCE && op->budget != TL_NO_BUDGET && op->budget > 1;
        op->budget = !bounded ? op->budget : how == NO_BUDGET ? TL_NO_BUDGET : 1;
    } else if (how < TIMES && op->ticks > 1 && op->ticks != INT64_MAX) {
        op->ticks = (int64_t)made_smaller((uint64_t)op->ticks, 1, how - TICKS);
    } else if (how >= TIMES && how < LAST && op->kind == KIT_OP_REPEAT) {
        op->budget = made_smaller(op->budget, 1, how - TIMES);
    } else if (how >= LAST && op->kind == KIT_OP_RESERVE) {
        op->id = (uint32_t)made_smaller(op->id, 0, how - LAST);
    } else if (how >= LAST) {
        op->last = (uint32_t)made_smaller(op->last, op->id, how - LAST);
    }
    return given.always != op->always || given.budget != op->budget || given.ticks != op->ticks ||
           given.last != op->last || given.id != op->id;
}

static bool with_simpler_operation(struct shrinker *shrinker, size_t number)
{
    size_t at = number / SIMPLER;
    struct kit_op op = shrinker->best.ops[at];
    if (!make_simpler(&op, number % SIMPLER)) {
        return false;
    }
    candidate_of(shrinker)->ops[at] = op;
    return true;
}

/* Among many operations only their number may matter: all become the first start, or all starts do,
 * or all starts get its delay. That folds to a line or two. */
enum alike { ALL_THE_SAME, STARTS_THE_SAME, DELAYS_THE_SAME, ALIKES };

static bool made_alike(struct shrinker *shrinker, size_t number)
{
    struct kit_trace *candidate = candidate_of(shrinker);
    const struct kit_op *first = NULL;
    for (size_t i = 0; i < candidate->count && first == NULL; i++) {
        first = candidate->ops[i].kind == KIT_OP_START ? &shrinker->best.ops[i] : NULL;
    }
    if (candidate->count < MANY_OPERATIONS || first == NULL) {
        return false;
    }
    for (size_t i = 0; i < candidate->count; i++) {
        struct kit_op *op = &candidate->ops[i];
        if (op->kind == KIT_OP_START && number == DELAYS_THE_SAME) {
            op->ticks = first->ticks;
        } else if (op->kind == KIT_OP_START || number == ALL_THE_SAME) {
            *op = *first;
        }
    }
    return true;
}

static void make_alike(struct shrinker *shrinker)
{
    size_t how = 0;
    while ((how = first_failing(shrinker, made_alike, how, ALIKES)) < ALIKES) {
        kit_trace_fold(&shrinker->best);
        drop_operations(shrinker);
        kit_trace_fold(&shrinker->best);
        how++;
    }
}

/* --- fewer timers, and simpler arguments of create -------------------------------------------- */

/* Use ids modulo a power of two: two timers may become one. */
static bool with_few_timers(struct shrinker *shrinker, size_t number)
{
    struct kit_trace *candidate = candidate_of(shrinker);
    uint32_t few = UINT32_C(1) << number;
    if (few >= candidate->sessions[0].capacity) {
        return false;
    }
    candidate->sessions[0].capacity = few;
    for (size_t i = 0; i < candidate->count; i++) {
        struct kit_op *op = &candidate->ops[i];
        size_t named = kit_op_timers(op);
        bool range = named > 0 && op->last != op->id;
        op->id = named > 0 ? op->id % few : op->id;
        op->last = range ? op->last : op->id;
        op->other = named > 1 ? op->other % few : op->other;
    }
    return true;
}

/* Of simpler ones, the first is the simplest: none, nothing after it, nothing before. */
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

/* The ways in which the arguments of create become simpler; then, option by option, the default. */
enum {
    PLAIN_BUILD,
    PLAIN_MEMORY,
    RECORDS,
    NOW = RECORDS + 3,
    MAX_DELAY = NOW + WAYS,
    TIMERS = MAX_DELAY + WAYS,
    OPTIONS = TIMERS + WAYS
};

static size_t session_ways(const struct shrinker *shrinker)
{
    return OPTIONS + tl_option_count(shrinker->target->algo);
}

/* Whether two sessions are the same to the shrinker, which leaves `grants` as they are. */
static bool session_equals(const struct kit_session *a, const struct kit_session *b)
{
    return a->counted == b->counted && a->place == b->place && a->now == b->now &&
           a->max_delay_ticks == b->max_delay_ticks && a->capacity == b->capacity &&
           a->records.lodging == b->records.lodging &&
           a->records.before_bytes == b->records.before_bytes &&
           a->records.behind_bytes == b->records.behind_bytes &&
           memcmp(a->options, b->options, sizeof a->options) == 0;
}

static bool with_simpler_session(struct shrinker *shrinker, size_t number)
{
    struct kit_trace *candidate = candidate_of(shrinker);
    size_t instance = number / session_ways(shrinker);
    size_t way = number % session_ways(shrinker);
    struct kit_session *session = &candidate->sessions[instance];
    struct kit_session given = *session;
    if (way == PLAIN_BUILD) {
        session->counted = false;
    } else if (way == PLAIN_MEMORY) {
        session->place = KIT_GUARD_CANARIES;
    } else if (way < NOW) {
        simplify_records(&session->records, (unsigned)way - RECORDS);
    } else if (way < MAX_DELAY) {
        session->now = made_smaller(session->now, 0, way - NOW);
    } else if (way < TIMERS) {
        session->max_delay_ticks = made_smaller(session->max_delay_ticks, 0, way - MAX_DELAY);
    } else if (way < OPTIONS) {
        uint32_t needed = timers_needed(candidate, instance);
        session->capacity = way == TIMERS && needed > session->capacity
                                ? needed
                                : (uint32_t)made_smaller(session->capacity, needed, way - TIMERS);
    } else {
        const struct tl_option *option = &shrinker->target->algo->options[way - OPTIONS];
        tl_option_set_number(option, session->options,
                             tl_option_number(option, shrinker->target->options));
    }
    return !session_equals(session, &given);
}

static void simplify_sessions(struct shrinker *shrinker)
{
    size_t count = shrinker->best.session_count * session_ways(shrinker);
    size_t number = 0;
    while (number < count) {
        number = first_failing(shrinker, with_simpler_session, number, count) + 1;
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

static bool renumbered(struct shrinker *shrinker, size_t number)
{
    struct names names[KIT_INSTANCES_MAX] = {{NULL, 0}};
    struct kit_trace *candidate = candidate_of(shrinker);
    struct kit_place place = kit_place_first(candidate);
    bool can = number == 0; /* there is one way */
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
    return can;
}

static bool as_it_is(struct shrinker *shrinker, size_t number)
{
    (void)candidate_of(shrinker);
    return number == 0;
}

static void make_shorter(struct shrinker *shrinker)
{
    (void)first_failing(shrinker, with_few_timers, 0, 32);
    drop_operations(shrinker);
    make_alike(shrinker);
    try_each(shrinker, with_advance_merged, 2);
    take_out_of_callbacks(shrinker);
    try_each(shrinker, with_simpler_operation, SIMPLER);
    drop_operations(shrinker);
    try_each(shrinker, with_advance_merged, 2);
    drop_operations(shrinker);
    (void)first_failing(shrinker, renumbered, 0, 1);
    simplify_sessions(shrinker);
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

static uint64_t in_seconds(double seconds)
{
    return clock_now_ns() + (uint64_t)(seconds * 1e9);
}

bool kit_shrink(const struct kit_target *target, const struct kit_limits *limits,
                struct kit_witness *witness, struct kit_trace *trace, struct kit_verdict *verdict)
{
    kit_trace_fold(trace);
    size_t ops_bytes = trace->count * sizeof *trace->ops;
    struct shrinker *shrinker = child_memory_new(sizeof *shrinker + ops_bytes);
    struct kit_op *candidate_ops = memory_bytes(ops_bytes + 1);
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
    shrinker->candidate.ops = candidate_ops;
    memcpy(shrinker->ops, trace->ops, ops_bytes);
    bool repeats = first_failing(shrinker, as_it_is, 0, 1) == 0;
    if (repeats) {
        shrinker->limits.processor_seconds = shrinker->fault == FAULT_HANG
                                                 ? HANG_SECONDS
                                                 : HANG_SECONDS + 2 * shrinker->verdict.seconds;
        shrinker->limits.hook_seconds = fmin(limits->hook_seconds, HANG_HOOK_SECONDS);
        shrinker->end_ns = in_seconds(limits->shrink_seconds / 2);
        bool ended = make_shorter_at_once(shrinker, trace);
        shrinker->end_ns = in_seconds(limits->shrink_seconds / 2);
        /* In one process, state of an earlier trial may have hidden the fault. */
        (ended ? drop_operations : make_shorter)(shrinker);
        struct kit_verdict shortest = shrinker->verdict;
        shortest.operations = verdict->operations;
        shortest.seconds = verdict->seconds;
        shortest.coverage = verdict->coverage;
        *verdict = shortest;
        copy_trace(trace, &shrinker->best, shrinker->best.count);
    }
    child_memory_free(shrinker, sizeof *shrinker + ops_bytes);
    free(candidate_ops);
    return repeats;
}
