/* The table of protocols: each row can be run, and its steps have the properties of its
 * description. */
#include "test.h"

#include "protocol.h"

#include <stdio.h>
#include <string.h>

static size_t steps_until_end(const enum cluster_step *steps)
{
    size_t count = 0;
    while (count < CLUSTER_STEPS_MAX && steps[count] != CLUSTER_END) {
        count++;
    }
    return count;
}

static void rows_are_whole(void **state)
{
    (void)state;
    size_t count;
    const struct cluster_protocol *rows = cluster_protocols(&count);
    assert_true(count >= 7);
    for (size_t i = 0; i < count; i++) {
        const struct cluster_protocol *row = &rows[i];
        size_t schedules = steps_until_end(row->schedule);
        size_t executes = steps_until_end(row->execute);
        struct error error;
        assert_true(tl_name_is_well_formed(row->name));
        assert_ptr_equal(cluster_protocol_find(row->name, &error), row);
        assert_true(schedules > 0 && schedules < CLUSTER_STEPS_MAX);
        assert_true(executes > 0 && executes < CLUSTER_STEPS_MAX);
        size_t calls = 0;
        for (size_t k = 0; k < schedules; k++) {
            assert_true(row->schedule[k] < CLUSTER_TAKE);
        }
        for (size_t k = 0; k < executes; k++) {
            assert_true(row->execute[k] >= CLUSTER_TAKE);
            calls += row->execute[k] == CLUSTER_CALL;
        }
        assert_int_equal(calls, 1);
        /* A timer that is taken under a lease is ended by its token. */
        assert_int_equal(cluster_protocol_leases(row), cluster_protocol_does(row, CLUSTER_ACK));
    }
}

static void an_unknown_name_gets_the_nearest(void **state)
{
    (void)state;
    struct error error;
    assert_null(cluster_protocol_find("seed-fitch", &error));
    assert_non_null(strstr(error.text, "'seed-fetch'"));
}

static void who_keeps_records(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool keeps;
    } known[] = {{"seed-fetch", false}, {"seed-ack", true}, {"lease", true}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct error error;
        const struct cluster_protocol *row = cluster_protocol_find(known[i].name, &error);
        assert_non_null(row);
        assert_int_equal(cluster_protocol_keeps_record(row), known[i].keeps);
    }
}

static void books(void **state)
{
    (void)state;
    struct error error;
    struct cluster_books right = {
        .started = 10, .fired = 4, .stopped = 3, .dead = 1, .pending = 1, .lost = 1};
    assert_true(cluster_books_balance(&right, &error));
    right.fired = 6;
    assert_false(cluster_books_balance(&right, &error));
    assert_non_null(strstr(error.text, "2 too many"));
    right.fired = 1;
    assert_false(cluster_books_balance(&right, &error));
    assert_non_null(strstr(error.text, "3 too few"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(an_unknown_name_gets_the_nearest),
        cmocka_unit_test(who_keeps_records),
        cmocka_unit_test(books),
    };
    return cmocka_run_group_tests_name("cluster_protocol", tests, NULL, NULL);
}
