/*
 * The conformance kit passes what is right: the structures made for its tests without a fault, and
 * every one that is built in.
 */
#include "kit.h"
#include "made.h"
#include "passes.h"

#include "test.h"

/* Of the structures built in, so many are held to the long cases, but for slow ones and those that
 * wait for a disk: none under a sanitizer, where the structures made for the tests are. `timerlab
 * check -a all` leaves nothing out. */
#define EVERY 3

static void what_is_right_passes(void **state)
{
    (void)state;
    for (size_t i = 0; i < MADE_COUNT; i++) {
        if (is_right(made[i])) {
            assert_passes(&(struct tl_entry){made[i], made[i], NULL}, true);
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
        uint32_t capabilities = entry->timed->capabilities;
        uint32_t slow = TL_CAP_SLOW | TL_CAP_DURABLE;
        bool all = !SANITIZED && i % EVERY == 0 && (capabilities & slow) == 0;
        if ((capabilities & TL_CAP_FIRES_NOTHING) == 0) {
            assert_passes(entry, all);
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
