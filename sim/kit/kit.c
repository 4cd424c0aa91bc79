#include "kit.h"

#include "clock.h"
#include "kit_play.h"
#include "plug_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of one session of the fuzzer, about 4 for an operation. Most sessions are short, which
 * shrink well; some are long enough to wear a structure out. */
#define SESSION_BYTES_MIN 32u
#define SESSION_BYTES_MAX 8192u

struct kit_target kit_target_of(const struct tl_algo *timed, const struct tl_algo *counted)
{
    struct kit_target target = {
        .algo = timed, .counted = counted, .embedded = timed->embedded_bytes > 0 ? timed : NULL};
    tl_options_default(timed, target.options);
    return target;
}

struct kit_limits kit_limits_default(void)
{
    return (struct kit_limits){.processor_seconds = 10,
                               .hook_seconds = child_hook_seconds(),
                               .bytes = UINT64_C(1) << 30,
                               .patience_seconds = 4,
                               .shrink_seconds = 10};
}

/* Return a witness for one target; NULL, and the verdict says why, if nothing is to be run. */
static struct kit_witness *begin(const struct kit_target *target, struct kit_verdict *verdict)
{
    *verdict = (struct kit_verdict){.result = KIT_OK};
    if (tl_algo_validate(target->algo, verdict->message, sizeof verdict->message) != TL_OK) {
        verdict->result = KIT_FAULT;
        verdict->fault = FAULT_DESCRIPTOR;
    } else if ((target->algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
        verdict->result = KIT_SKIPPED;
        (void)snprintf(verdict->message, sizeof verdict->message,
                       "fires nothing, as it says: there is nothing to check");
    }
    return verdict->result == KIT_OK ? child_memory_new(sizeof(struct kit_witness)) : NULL;
}

static void end(struct kit_witness *witness)
{
    child_memory_free(witness, sizeof *witness);
}

static bool create_one(void *ctx, void *result, struct error *error)
{
    const struct kit_target *target = ctx;
    struct tl_memory memory;
    tl_counting_allocator(&memory, tl_system_allocator());
    const struct tl_config config = {
        .capacity = 1, .options = target->options, .allocator = &memory.allocator};
    void *self = NULL;
    (void)error;
    child_phase(child_hook_seconds(), "in create");
    if (target->algo->create(&config, &self) == TL_OK) {
        *(uint64_t *)result = memory.bytes;
        target->algo->destroy(self);
    }
    return true;
}

uint64_t kit_instance_bytes(const struct kit_target *target)
{
    struct kit_target asked = *target;
    const struct child_request request = {.run = create_one,
                                          .ctx = &asked,
                                          .result_bytes = sizeof(uint64_t),
                                          .processor_seconds = 10};
    struct child_outcome outcome;
    struct error error;
    uint64_t bytes = 0;
    return plug_in_run(target->algo, &request, &bytes, &outcome, &error) &&
                   outcome.end == CHILD_DONE
               ? bytes
               : 0;
}

/* --- cases ----------------------------------------------------------------------------------- */

static void run_case(void *ctx, struct kit_witness *witness)
{
    struct kit_run *run = ctx;
    run->witness = witness;
    kit_run_case(run);
}

bool kit_case_applies(const struct kit_target *target, const struct kit_case *contract_case,
                      char *why, size_t size)
{
    uint32_t lacking =
        contract_case->flags & ~target->algo->capabilities & ~(KIT_NEEDS_RECORDS | KIT_ONCE);
    size_t rows = 0;
    const struct tl_capability_row *row = tl_capabilities(&rows);
    while (rows > 1 && (row->bit & lacking) == 0) {
        row++;
        rows--;
    }
    bool without_records =
        (contract_case->flags & KIT_NEEDS_RECORDS) != 0 && target->embedded == NULL;
    if (lacking != 0) {
        (void)snprintf(why, size, "does not promise `%s`", row->word);
    } else if (without_records) {
        (void)snprintf(why, size, "takes no records of the caller's (embedded_bytes is 0)");
    }
    return lacking == 0 && !without_records;
}

/* Make the log of the witness a trace, shortened if it shows the fault again. */
static void make_shortest(const struct kit_target *target, const struct kit_limits *limits,
                          struct kit_witness *witness, struct kit_trace *trace,
                          struct kit_verdict *verdict)
{
    uint64_t seed = witness->seed;
    kit_log_trace(&witness->log, trace);
    trace->seed = seed;
    verdict->repeats = trace->ops != NULL && kit_shrink(target, limits, witness, trace, verdict);
}

/* For a million timers. */
#define LARGE_FACTOR 8.0

void kit_check_case(const struct kit_target *target, const struct kit_case *contract_case,
                    const struct kit_limits *given, struct kit_verdict *verdict,
                    struct kit_trace *trace)
{
    struct kit_limits limits = *given;
    if (target->large) {
        limits.processor_seconds *= LARGE_FACTOR;
        limits.patience_seconds *= LARGE_FACTOR;
    }
    if (trace != NULL) {
        *trace = (struct kit_trace){.ops = NULL};
    }
    struct kit_witness *witness = begin(target, verdict);
    if (witness == NULL) {
        return;
    }
    if (!kit_case_applies(target, contract_case, verdict->message, sizeof verdict->message)) {
        verdict->result = KIT_SKIPPED;
    } else {
        struct kit_run run = {
            .target = target,
            .contract_case = contract_case,
            .limit_bytes = limits.bytes,
            .patience_seconds = limits.patience_seconds,
        };
        kit_sandbox(target->algo, run_case, &run, &limits, witness, verdict);
        if (verdict->result == KIT_FAULT && trace != NULL) {
            make_shortest(target, &limits, witness, trace, verdict);
            if (!verdict->repeats) {
                kit_trace_release(trace);
            }
        }
    }
    end(witness);
}

/* --- traces and bytes ------------------------------------------------------------------------ */

void kit_replay(const struct kit_target *target, const struct kit_trace *trace,
                const struct kit_limits *limits, struct kit_verdict *verdict)
{
    struct kit_witness *witness = begin(target, verdict);
    if (witness != NULL) {
        kit_sandbox_trace(target, trace, limits, witness, verdict);
        end(witness);
    }
}

/* --- fuzzing --------------------------------------------------------------------------------- */

/* A child runs for this long; the parent reports progress and starts the next. */
#define BATCH_SECONDS 0.5

struct batch {
    const struct kit_target *target;
    uint64_t seed;
    uint64_t operations; /* about the most that remain */
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
        kit_interpret(batch->target, bytes, size, witness);
        witness->seed++;
    }
}

void kit_coverage_add(struct kit_coverage *sum, const struct kit_coverage *more)
{
    sum->pending = more->pending > sum->pending ? more->pending : sum->pending;
    sum->callbacks += more->callbacks;
    sum->ticks += more->ticks;
    sum->states += more->states;
}

void kit_fuzz(const struct kit_target *target, const struct kit_fuzz_plan *plan,
              const struct kit_limits *limits, struct kit_verdict *verdict, struct kit_trace *trace)
{
    *trace = (struct kit_trace){.ops = NULL};
    struct kit_witness *witness = begin(target, verdict);
    if (witness == NULL) {
        return;
    }
    struct batch batch = {.target = target, .seed = plan->seed};
    uint64_t operations = 0;
    struct kit_coverage coverage = {0};
    double begun = seconds_now();
    do {
        batch.operations = plan->operations > 0 ? plan->operations - operations : UINT64_MAX;
        double left = begun + plan->seconds - seconds_now();
        batch.seconds = plan->operations > 0 || left > BATCH_SECONDS ? BATCH_SECONDS : left;
        kit_sandbox(target->algo, run_batch, &batch, limits, witness, verdict);
        operations += witness->operations;
        kit_coverage_add(&coverage, &witness->coverage);
        batch.seed = witness->seed;
        if (plan->progress != NULL) {
            plan->progress(plan->progress_ctx, operations);
        }
    } while (verdict->result == KIT_OK &&
             (plan->operations > 0 ? operations < plan->operations
                                   : seconds_now() < begun + plan->seconds));
    verdict->operations = operations;
    verdict->coverage = coverage;
    verdict->seconds = seconds_now() - begun;
    if (verdict->result == KIT_FAULT) {
        make_shortest(target, limits, witness, trace, verdict);
    }
    end(witness);
}
