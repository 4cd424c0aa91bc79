#include "passes.h"

#include "kit.h"

#include "test.h"

#include <string.h>

/* What takes seconds, and goes about what the other cases go about too, for longer. */
static bool is_long(const struct kit_case *contract_case)
{
    static const char *const groups[] = {"large", "small"};
    static const char *const names[] = {"two-threads", "cost", "undisturbed", "memory-pages",
                                        "number-again"};
    bool is = false;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        is = is || strcmp(contract_case->group, groups[i]) == 0;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        is = is || strcmp(contract_case->name, names[i]) == 0;
    }
    return is;
}

void assert_passes(const struct tl_entry *entry, bool all)
{
    const struct tl_algo *timed = entry->timed;
    struct kit_target target = kit_target_of(timed, entry->counted);
    target.embedded = tl_entry_for_records(entry);
    /* Under a sanitizer the cases keep to the options' defaults; the fuzzer draws others there too.
     */
    target.pinned = SANITIZED;
    struct kit_limits limits = kit_limits_default();
    limits.processor_seconds = 60; /* under a sanitizer everything takes longer */
    limits.patience_seconds = 0.1;
    size_t count = 0;
    const struct kit_case *cases = kit_cases(&count);
    for (size_t i = 0; i < count; i++) {
        struct kit_verdict verdict;
        if (!all && is_long(&cases[i])) {
            continue;
        }
        kit_check_case(&target, &cases[i], &limits, &verdict, NULL);
        if (verdict.result == KIT_FAULT) {
            fail_msg("%s, case %s: %s", timed->name, cases[i].name, verdict.message);
        }
        if (verdict.result == KIT_OK) {
            uint32_t records = target.embedded != NULL ? KIT_NEEDS_RECORDS : 0;
            assert_int_equal(cases[i].needs & ~(timed->capabilities | records), 0);
        }
    }
    struct kit_fuzz_plan plan = {.seed = 1000, .operations = 30000};
    struct kit_verdict verdict;
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
