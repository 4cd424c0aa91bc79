/*
 * The conformance kit passes right structures: those made for its tests without a fault, and every
 * built-in one.
 */
#include "front.h"
#include "kit.h"
#include "made.h"
#include "passes.h"

#include "test.h"

#include <string.h>

/* One in this many built-in structures runs the long cases, too, except slow ones and those that
 * wait for a disk. `timerlab check -a all` runs all. */
#define EVERY 3

static void pass_what_is_right(bool all)
{
    for (size_t i = 0; i < MADE_COUNT; i++) {
        assert_passes(&(struct tl_entry){made[i], made[i], NULL}, all);
    }
}

static void what_is_right_passes(void **state)
{
    (void)state;
    pass_what_is_right(false);
}

static void what_is_right_passes_the_long_cases(void **state)
{
    (void)state;
    pass_what_is_right(true);
}

/* As far as time allows, which the message says. */
static void what_is_right_passes_with_a_million_timers(void **state)
{
    (void)state;
    static const char *const names[] = {"right-many", "right-heap"};
    static const char *const cases[] = {"many-exactly", "many-reserved", "many-one-tick"};
    struct kit_limits limits = kit_limits_default();
    limits.processor_seconds = 60;
    for (size_t i = 0; i < 6; i++) {
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
            assert_passes(entry, false);
        }
    }
}

static void some_pass_the_long_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < tl_registry_count(); i += EVERY) {
        const struct tl_entry *entry = tl_registry_at(i);
        uint32_t left_out = TL_CAP_FIRES_NOTHING | TL_CAP_SLOW | TL_CAP_DURABLE;
        if ((entry->timed->capabilities & left_out) == 0) {
            assert_passes(entry, true);
        }
    }
}

/* Its `count` is called for every timer that waits for a budget. */
static void a_durable_structure_fires_many_at_one_tick(void **state)
{
    (void)state;
    char why[256];
    struct kit_limits limits = kit_limits_default();
    struct kit_verdict verdict;
    const struct tl_algo *algo = tl_front_compose(
        tl_front_find("durable"), tl_registry_find("binary-heap")->counted, why, sizeof why);
    assert_non_null(algo);
    struct kit_target target = kit_target_of(algo, algo);
    kit_check_case(&target, kit_case_find("many-one-tick"), &limits, &verdict, NULL);
    print_message("%s\n", verdict.message);
    assert_int_equal(verdict.result, KIT_OK);
    tl_front_release(algo);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_passes),
        cmocka_unit_test(every_registered_structure_passes),
        cmocka_unit_test(a_durable_structure_fires_many_at_one_tick),
    };
    const struct CMUnitTest at_length[] = {
        cmocka_unit_test(what_is_right_passes_the_long_cases),
        cmocka_unit_test(what_is_right_passes_with_a_million_timers),
        cmocka_unit_test(some_pass_the_long_cases),
    };
    return argc > 1 && strcmp(argv[1], "at-length") == 0
               ? cmocka_run_group_tests(at_length, NULL, NULL)
               : cmocka_run_group_tests(tests, NULL, NULL);
}
