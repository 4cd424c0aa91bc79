#include "kit.h"

#include "clock.h"
#include "kit_interpreter.h"
#include "kit_run.h"
#include "kit_sandbox.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes behind one session of the fuzzer, an operation taking about 4. Most sessions are short,
 * which shrinks well; some are long, which is what it takes to wear a structure down. */
#define SESSION_BYTES_MIN 32u
#define SESSION_BYTES_MAX 8192u

struct fault_row {
    const char *word;
    const char *text;
};

static const struct fault_row *fault_row(enum kit_fault fault)
{
    static const struct fault_row rows[] = {
#define KIT_FAULT_ROW(code, word, text) {word, text},
        KIT_FAULT_MAP(KIT_FAULT_ROW)
#undef KIT_FAULT_ROW
    };
    size_t index = (size_t)fault;
    return &rows[index < sizeof rows / sizeof rows[0] ? index : (size_t)KIT_FAULT_HARNESS];
}

const char *kit_fault_word(enum kit_fault fault)
{
    return fault_row(fault)->word;
}

const char *kit_fault_text(enum kit_fault fault)
{
    return fault_row(fault)->text;
}

struct kit_target kit_target_of(const struct tl_algo *timed, const struct tl_algo *counted)
{
    struct kit_target target = {.algo = timed, .counted = counted};
    tl_options_default(timed, target.options);
    return target;
}

struct kit_limits kit_limits_default(void)
{
    return (struct kit_limits){.processor_seconds = 10, .bytes = UINT64_C(1) << 30};
}

static void no_witness(struct kit_verdict *verdict)
{
    *verdict = (struct kit_verdict){.result = KIT_FAULT, .fault = KIT_FAULT_HARNESS};
    (void)snprintf(verdict->message, sizeof verdict->message, "out of memory");
}

/* Whether the descriptor can be used at all, and the contract applies; if not, the verdict. */
static bool can_be_run(const struct kit_target *target, struct kit_verdict *verdict)
{
    char why[1024];
    *verdict = (struct kit_verdict){.result = KIT_OK};
    if (tl_algo_validate(target->algo, why, sizeof why) != TL_OK) {
        verdict->result = KIT_FAULT;
        verdict->fault = KIT_FAULT_DESCRIPTOR;
        (void)snprintf(verdict->message, sizeof verdict->message, "%s", why);
    } else if ((target->algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
        verdict->result = KIT_SKIPPED;
        (void)snprintf(verdict->message, sizeof verdict->message,
                       "fires nothing, as it says: there is nothing to check");
    }
    return verdict->result == KIT_OK;
}

/* --- cases ----------------------------------------------------------------------------------- */

static void run_case(void *ctx, struct kit_witness *witness)
{
    struct kit_run *run = ctx;
    run->witness = witness;
    kit_run_case(run);
}

void kit_check_case(const struct kit_target *target, const struct kit_case *contract_case,
                    const struct kit_limits *limits, struct kit_verdict *verdict)
{
    if (!can_be_run(target, verdict)) {
        return;
    }
    uint32_t lacking = contract_case->needs & ~target->algo->capabilities;
    if (lacking != 0) {
        size_t rows = 0;
        const struct tl_capability_row *row = tl_capabilities(&rows);
        while (rows > 1 && (row->bit & lacking) == 0) {
            row++;
            rows--;
        }
        verdict->result = KIT_SKIPPED;
        (void)snprintf(verdict->message, sizeof verdict->message, "does not promise `%s`",
                       row->word);
        return;
    }
    struct kit_witness *witness = kit_witness_new();
    if (witness == NULL) {
        no_witness(verdict);
        return;
    }
    struct kit_run run = {
        .target = target, .contract_case = contract_case, .limit_bytes = limits->bytes};
    kit_sandbox(target->algo, run_case, &run, limits, witness, verdict);
    kit_witness_free(witness);
}

/* --- traces and bytes ------------------------------------------------------------------------ */

struct replay {
    const struct kit_target *target;
    struct kit_session session;
    const struct kit_op *ops;
    size_t count;
    const uint8_t *bytes;
    size_t size;
};

static void run_trace(void *ctx, struct kit_witness *witness)
{
    const struct replay *replay = ctx;
    if (!kit_execute(replay->target, &replay->session, replay->ops, replay->count, witness)) {
        kit_fail(witness, KIT_FAULT_HARNESS, "the structure refuses these options");
    }
}

static void run_bytes(void *ctx, struct kit_witness *witness)
{
    const struct replay *replay = ctx;
    (void)kit_interpret(replay->target, replay->bytes, replay->size, witness);
}

void kit_replay(const struct kit_target *target, const struct kit_trace *trace,
                const struct kit_limits *limits, struct kit_verdict *verdict)
{
    if (!can_be_run(target, verdict)) {
        return;
    }
    struct kit_witness *witness = kit_witness_new();
    if (witness == NULL) {
        no_witness(verdict);
        return;
    }
    struct replay replay = {
        .target = target, .session = trace->session, .ops = trace->ops, .count = trace->count};
    kit_sandbox(target->algo, run_trace, &replay, limits, witness, verdict);
    kit_witness_free(witness);
}

/* The operations that a witness saw, as a trace; empty if there is no memory for them. */
static void trace_of(const struct kit_witness *witness, struct kit_trace *trace)
{
    *trace = (struct kit_trace){.session = witness->session, .seed = witness->seed};
    trace->ops = calloc(witness->op_count + 1, sizeof *trace->ops);
    if (trace->ops != NULL) {
        trace->count = witness->op_count;
        memcpy(trace->ops, witness->ops, trace->count * sizeof *trace->ops);
    }
}

void kit_replay_bytes(const struct kit_target *target, const uint8_t *bytes, size_t size,
                      const struct kit_limits *limits, struct kit_verdict *verdict,
                      struct kit_trace *trace)
{
    *trace = (struct kit_trace){.ops = NULL};
    if (!can_be_run(target, verdict)) {
        return;
    }
    struct kit_witness *witness = kit_witness_new();
    if (witness == NULL) {
        no_witness(verdict);
        return;
    }
    struct replay replay = {.target = target, .bytes = bytes, .size = size};
    kit_sandbox(target->algo, run_bytes, &replay, limits, witness, verdict);
    trace_of(witness, trace);
    kit_witness_free(witness);
}

/* What kit_run_bytes runs; there is one process, and it is about one thing. */
static const struct tl_algo *running;

static void abort_with_fault(struct kit_witness *witness)
{
    struct kit_trace trace;
    trace_of(witness, &trace);
    (void)fprintf(stderr, "%s: %s: %s\n", running->name, kit_fault_word(witness->fault),
                  witness->message);
    kit_trace_write(&trace, running, stderr);
    abort();
}

void kit_run_bytes(const struct kit_target *target, const uint8_t *bytes, size_t size)
{
    static struct kit_witness witness;
    memset(&witness, 0, offsetof(struct kit_witness, ops));
    witness.give_up = abort_with_fault;
    running = target->algo;
    (void)kit_interpret(target, bytes, size, &witness);
}

/* --- shrinking ------------------------------------------------------------------------------- */

/* Enough for the traces that the fuzzer finds; a bound, because a fault can be a hang. */
#define SHRINK_TRIALS  3000u
#define SHRINK_SECONDS 15.0

struct shrinker {
    const struct kit_target *target;
    struct kit_limits limits;
    struct kit_witness *witness;
    enum kit_fault fault;
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

/* Whether these operations fail in the same way; if so they are the best so far. */
static bool still_fails(struct shrinker *shrinker, const struct kit_session *session,
                        const struct kit_op *ops, size_t count)
{
    if (exhausted(shrinker)) {
        return false;
    }
    struct kit_verdict verdict;
    struct replay replay = {
        .target = shrinker->target, .session = *session, .ops = ops, .count = count};
    kit_sandbox(shrinker->target->algo, run_trace, &replay, &shrinker->limits, shrinker->witness,
                &verdict);
    shrinker->trials++;
    shrinker->seconds += verdict.seconds;
    if (verdict.result != KIT_FAULT || verdict.fault != shrinker->fault) {
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

/* Makes the numbers in the operations smaller and rounder. */
static void simplify_operations(struct shrinker *shrinker)
{
    for (size_t i = 0; i < shrinker->best.count && !exhausted(shrinker); i++) {
        struct kit_op op = shrinker->best.ops[i];
        if (op.budget != TL_NO_BUDGET) {
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

/* Replaces a failing trace, and the verdict on it, by the smallest found. */
static void shrink(const struct kit_target *target, const struct kit_limits *limits,
                   struct kit_witness *witness, struct kit_trace *trace,
                   struct kit_verdict *verdict)
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

/* --- fuzzing --------------------------------------------------------------------------------- */

/* A child does this much, then reports; the parent shows progress and starts the next. */
#define BATCH_SECONDS 0.5

struct batch {
    const struct kit_target *target;
    uint64_t seed;
    uint64_t operations; /* at most about so many more */
    double seconds;
};

static double seconds_now(void)
{
    return (double)clock_now_ns() / 1e9;
}

static void run_batch(void *ctx, struct kit_witness *witness)
{
    const struct batch *batch = ctx;
    double end = seconds_now() + batch->seconds;
    witness->seed = batch->seed;
    while (witness->operations < batch->operations && seconds_now() < end) {
        uint8_t bytes[SESSION_BYTES_MAX];
        uint64_t state = witness->seed * UINT64_C(0xd1342543de82ef95);
        size_t most = SESSION_BYTES_MIN << kit_random(&state) % 9;
        size_t size = most / 2 + kit_random(&state) % (most / 2 + 1);
        for (size_t i = 0; i < size; i += 8) {
            uint64_t value = kit_random(&state);
            memcpy(bytes + i, &value, size - i < 8 ? size - i : 8);
        }
        (void)kit_interpret(batch->target, bytes, size, witness);
        witness->seed++;
    }
}

void kit_fuzz(const struct kit_target *target, const struct kit_fuzz_plan *plan,
              const struct kit_limits *limits, struct kit_verdict *verdict, struct kit_trace *trace)
{
    *trace = (struct kit_trace){.ops = NULL};
    if (!can_be_run(target, verdict)) {
        return;
    }
    struct kit_witness *witness = kit_witness_new();
    if (witness == NULL) {
        no_witness(verdict);
        return;
    }
    struct batch batch = {.target = target, .seed = plan->seed};
    uint64_t operations = 0;
    double begun = seconds_now();
    bool more = true;
    while (more) {
        batch.operations = plan->operations > 0 ? plan->operations - operations : UINT64_MAX;
        double left = begun + plan->seconds - seconds_now();
        batch.seconds = plan->operations > 0 || left > BATCH_SECONDS ? BATCH_SECONDS : left;
        kit_sandbox(target->algo, run_batch, &batch, limits, witness, verdict);
        operations += witness->operations;
        batch.seed = witness->seed;
        if (plan->progress != NULL) {
            plan->progress(plan->progress_ctx, operations);
        }
        more = verdict->result == KIT_OK &&
               (plan->operations > 0 ? operations < plan->operations
                                     : seconds_now() < begun + plan->seconds);
    }
    verdict->operations = operations;
    verdict->seconds = seconds_now() - begun;
    if (verdict->result == KIT_FAULT) {
        trace_of(witness, trace);
        shrink(target, limits, witness, trace, verdict);
    }
    kit_witness_free(witness);
}
