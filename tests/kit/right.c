/*
 * The conformance kit passes what is right: the structures made for its tests without a fault, and
 * every one that is built in.
 */
#include "kit.h"
#include "made.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* Of the structures built in, so many are held to the long cases: none under a sanitizer, where the
 * structures made for the tests are. `timerlab check -a all` leaves nothing out. */
#define EVERY 3

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

/* All cases, or all but the long ones, and some fuzzing; fails with the first fault. */
static void assert_passes(const struct tl_algo *timed, const struct tl_algo *counted, bool every)
{
    struct kit_target target = kit_target_of(timed, counted);
    struct kit_limits limits = kit_limits_default();
    limits.processor_seconds = 60; /* under a sanitizer everything takes longer */
    limits.patience_seconds = 0.1;
    size_t count = 0;
    const struct kit_case *cases = kit_cases(&count);
    for (size_t i = 0; i < count; i++) {
        struct kit_verdict verdict;
        if (!every && is_long(&cases[i])) {
            continue;
        }
        kit_check_case(&target, &cases[i], &limits, &verdict, NULL);
        if (verdict.result == KIT_FAULT) {
            fail_msg("%s, case %s: %s", timed->name, cases[i].name, verdict.message);
        }
        if (verdict.result == KIT_OK) {
            assert_int_equal(cases[i].needs & ~timed->capabilities, 0);
        }
    }
    struct kit_fuzz_plan plan = {.seed = 1000, .operations = 30000};
    struct kit_verdict verdict;
    struct kit_trace trace;
    kit_fuzz(&target, &plan, &limits, &verdict, &trace);
    if (verdict.result == KIT_FAULT) {
        kit_trace_write(&trace, timed, stderr);
        fail_msg("%s, fuzz: %s", timed->name, verdict.message);
    }
    assert_true(verdict.operations >= 30000);
    kit_trace_release(&trace);
}

static void what_is_right_passes(void **state)
{
    (void)state;
    for (size_t i = 0; i < MADE_COUNT; i++) {
        if (is_right(made[i])) {
            assert_passes(made[i], made[i], true);
        }
    }
}

/* As far as time allows, which the message says. */
static void what_is_right_passes_with_a_million_timers(void **state)
{
    (void)state;
    static const char *const names[] = {"right-many", "right-heap"};
    static const char *const cases[] = {"many-exactly", "many-reserved", "many-one-tick"};
    struct kit_limits limits = kit_limits_default();
    limits.processor_seconds = 60;
    for (size_t i = 0; i < (SANITIZED ? 1 : 6); i++) {
        struct kit_target target =
            kit_target_of(made_called(names[i % 2]), made_called(names[i % 2]));
        target.large = true;
        struct kit_verdict verdict;
        kit_check_case(&target, kit_case_find(cases[i / 2]), &limits, &verdict, NULL);
        print_message("%s, %s: %llu timers at once; %s\n", names[i % 2], cases[i / 2],
                      (unsigned long long)verdict.coverage.pending, verdict.message);
        assert_int_equal(verdict.result, KIT_OK);
        assert_true(verdict.coverage.pending > 4096);
    }
}

static void every_registered_structure_passes(void **state)
{
    (void)state;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_entry *entry = tl_registry_at(i);
        if ((entry->timed->capabilities & TL_CAP_FIRES_NOTHING) == 0) {
            assert_passes(entry->timed, entry->counted, !SANITIZED && i % EVERY == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_passes),
        cmocka_unit_test(what_is_right_passes_with_a_million_timers),
        cmocka_unit_test(every_registered_structure_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
