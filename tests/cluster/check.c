/*
 * Small instances, exhaustively: compared with the numbers of another program (below), with Spin,
 * and with the promises of each protocol in one sentence.
 */
#include "test.h"

#include "check.h"
#include "spin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct check_result search(const char *name, struct check_faults faults)
{
    struct error error;
    struct check_result result;
    const struct cluster_protocol *protocol = cluster_protocol_find(name, &error);
    assert_non_null(protocol);
    check_search(protocol, &faults, &result);
    return result;
}

/* The ends that lose a timer, and the most calls and accepted acknowledgements of one. */
static void known_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct check_faults faults;
        size_t lost;
        unsigned calls;
        unsigned acks;
    } known[] = {
        {"seed-fetch", {0}, 0, 1, 0},
        {"seed-fetch", {.crashes = 1}, 6, 1, 0},
        {"seed-ack", {.crashes = 1}, 4, 1, 1},
        {"seed-ack", {.late = true}, 1, 1, 1},
        {"seed-ack", {.scan = true}, 0, 2, 1},
        {"seed-ack", {.scan = true, .crashes = 1, .late = true}, 0, 3, 1},
        {"lease", {.late = true}, 0, 1, 1},
        {"lease", {.crashes = 1, .late = true}, 0, 2, 1},
        {"lease", {.crashes = 2, .outruns = 1, .late = true}, 0, 4, 1},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct check_result result = search(known[i].name, known[i].faults);
        assert_int_equal(result.lost_ends, known[i].lost);
        assert_int_equal(result.most_calls, known[i].calls);
        assert_int_equal(result.most_acks, known[i].acks);
        assert_int_equal(result.run_count > 0, known[i].lost > 0);
        free(result.ends);
    }
}

/* A lease loses nothing, calls no timer more often than something happened to it, and takes one
 * acknowledgement; however the due timers are claimed, and if the service asks to be called
 * later. */
static void what_a_lease_promises(void **state)
{
    (void)state;
    static const char *const names[] = {"partitions", "lists", "owners"};
    for (size_t i = 0; i < 2 * sizeof names / sizeof names[0]; i++) {
        struct check_result result = search(
            names[i / 2],
            (struct check_faults){.crashes = 1, .outruns = 1, .late = true, .laters = i % 2});
        assert_int_equal(result.lost_ends, 0);
        assert_int_equal(result.most_calls, 3);
        assert_int_equal(result.most_acks, 1);
        free(result.ends);
    }
    for (unsigned crashes = 0; crashes <= 2; crashes++) {
        for (unsigned outruns = 0; outruns <= 2; outruns++) {
            struct check_result result =
                search("lease",
                       (struct check_faults){.crashes = crashes, .outruns = outruns, .late = true});
            assert_int_equal(result.lost_ends, 0);
            assert_int_equal(result.most_calls, 1 + crashes + outruns);
            assert_int_equal(result.most_acks, 1);
            free(result.ends);
        }
    }
}

/* An acknowledgement before the call is detected by a crash, and by nothing less. */
static void the_control_is_found_out(void **state)
{
    (void)state;
    struct check_result result = search("ack-first", (struct check_faults){.outruns = 1});
    assert_int_equal(result.lost_ends, 0);
    free(result.ends);
    result = search("ack-first", (struct check_faults){.crashes = 1});
    assert_true(result.lost_ends > 0);
    const struct check_step *last = &result.run[result.run_count - 1];
    assert_true(last->action == CHECK_CRASH && last->actor >= CHECK_EXECUTOR);
    free(result.ends);
}

/* By two programs that share nothing but the row. */
static void spin_finds_the_same(void **state)
{
    (void)state;
    static const char *const names[] = {"seed-ack", "lease"};
    struct error error;
    if (!spin_is_there(&error)) {
        print_message("%s (Debian: spin)\n", error.text);
        skip();
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct cluster_protocol *protocol = cluster_protocol_find(names[i], &error);
        struct spin_model model;
        size_t count;
        const struct check_case *cases = check_cases(&count);
        if (!spin_model_open(&model, protocol, &error)) {
            fail_msg("%s", error.text);
        }
        for (size_t c = 0; c < count; c++) {
            struct check_result own = search(names[i], cases[c].faults);
            struct check_result spins;
            if (!spin_search(&model, &cases[c].faults, &spins, &error)) {
                fail_msg("%s", error.text);
            }
            assert_int_equal(spins.end_count, own.end_count);
            assert_memory_equal(spins.ends, own.ends, own.end_count * sizeof *own.ends);
            assert_int_equal(spins.run_count, own.run_count);
            free(own.ends);
            free(spins.ends);
        }
        spin_model_close(&model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_numbers),
        cmocka_unit_test(what_a_lease_promises),
        cmocka_unit_test(the_control_is_found_out),
        cmocka_unit_test(spin_finds_the_same),
    };
    return cmocka_run_group_tests_name("cluster_check", tests, NULL, NULL);
}
