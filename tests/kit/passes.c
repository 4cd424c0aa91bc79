#include "passes.h"

#include "child.h"
#include "kit.h"
#include "kit_play.h"

#include "test.h"

#include <string.h>

/* A case that takes seconds, for a longer test of the same property as other cases. */
static bool is_long(const struct kit_case *contract_case)
{
    static const char *const groups[] = {"large", "small"};
    static const char *const names[] = {"two-threads",     "cost",         "undisturbed",
                                        "memory-in-sight", "memory-pages", "number-again"};
    bool is = false;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        is = is || strcmp(contract_case->group, groups[i]) == 0;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        is = is || strcmp(contract_case->name, names[i]) == 0;
    }
    return is;
}

/* --- the cases of a structure ---------------------------------------------------------------- */

struct cases {
    const struct kit_target *target;
    const struct kit_limits *limits;
    bool all;
};

/* Whether the case is selected, and applies to the structure's promises. */
static bool is_meant(const struct cases *cases, const struct kit_case *contract_case)
{
    char why[128];
    return (cases->all || !is_long(contract_case)) &&
           kit_case_applies(cases->target, contract_case, why, sizeof why);
}

static void run_cases(void *ctx, struct kit_witness *witness)
{
    const struct cases *cases = ctx;
    void (*give_up)(struct kit_witness *) = witness->give_up;
    size_t count = 0;
    const struct kit_case *rows = kit_cases(&count);
    for (size_t i = 0; i < count; i++) {
        if (is_meant(cases, &rows[i])) {
            memset(witness, 0, KIT_WITNESS_CLEARED);
            witness->give_up = give_up;
            witness->timed = cases->target->algo;
            struct kit_run run = {.target = cases->target,
                                  .contract_case = &rows[i],
                                  .limit_bytes = cases->limits->bytes,
                                  .patience_seconds = cases->limits->patience_seconds,
                                  .witness = witness};
            kit_run_case(&run);
        }
    }
}

/* All in one process, which costs a fraction of one each. */
static bool passes_at_once(struct cases *cases, struct kit_verdict *verdict)
{
    struct kit_witness *witness = child_memory_new(sizeof *witness);
    struct kit_limits limits = *cases->limits;
    size_t count = 0;
    (void)kit_cases(&count);
    limits.processor_seconds *= (double)count;
    kit_sandbox(cases->target->algo, run_cases, cases, &limits, witness, verdict);
    child_memory_free(witness, sizeof *witness);
    return verdict->result != KIT_FAULT;
}

/* Each in a process of its own, as `timerlab check` has them: names what fails. */
static void assert_pass_one_by_one(const struct cases *cases)
{
    size_t count = 0;
    const struct kit_case *rows = kit_cases(&count);
    for (size_t i = 0; i < count; i++) {
        struct kit_verdict verdict;
        if (is_meant(cases, &rows[i])) {
            kit_check_case(cases->target, &rows[i], cases->limits, &verdict, NULL);
            if (verdict.result == KIT_FAULT) {
                fail_msg("%s, case %s: %s", cases->target->algo->name, rows[i].name,
                         verdict.message);
            }
        }
    }
}

void assert_passes(const struct tl_entry *entry, bool all)
{
    const struct tl_algo *timed = entry->timed;
    struct kit_target target = kit_target_of(timed, entry->counted);
    target.embedded = tl_entry_for_records(entry);
    /* Under a sanitizer the cases keep to the options' defaults; the fuzzer draws
     * others there too. */
    target.pinned = SANITIZED;
    struct kit_limits limits = kit_limits_default();
    limits.processor_seconds = 60; /* under a sanitizer everything takes longer */
    limits.patience_seconds = 0.1;
    struct cases cases = {.target = &target, .limits = &limits, .all = all};
    struct kit_verdict verdict;
    if (!passes_at_once(&cases, &verdict)) {
        assert_pass_one_by_one(&cases);
        fail_msg("%s, only after other cases: %s", timed->name, verdict.message);
    }
    struct kit_fuzz_plan plan = {.seed = 1000, .operations = 30000};
    struct kit_trace trace;
    target.pinned = false;
    kit_fuzz(&target, &plan, &limits, &verdict, &trace);
    if (verdict.result == KIT_FAULT) {
        kit_trace_write(&trace, timed, stderr);
        fail_msg("%s, fuzz: %s", timed->name, verdict.message);
    }
    assert_true(verdict.operations >= 30000);
    kit_trace_release(&trace);
}
