/* How promises and measured lateness become early and late. */
#include "test.h"

#include "results.h"
#include "tolerance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Promises, or NAN if unknown, and measured lateness. */
static struct firing made(double declared_early, double declared_late, double min, double max,
                          double averted)
{
    return (struct firing){.declared_early = declared_early,
                           .declared_late = declared_late,
                           .lateness_min = min,
                           .lateness_max = max,
                           .fired = 90,
                           .averted = averted};
}

static void promises_count_before_what_was_seen(void **state)
{
    (void)state;
    struct firing exact = made(0, 0, 0, 5, 0); /* as late as it was driven */
    assert_true(firing_lateness(&exact) == 0 && firing_is_exact(&exact));
    struct firing late = made(0, 8, 0, 0, 0);
    assert_true(firing_lateness(&late) == 8);
    assert_int_equal(firing_beyond(&late, 7, 0), FIRING_LATE);
    assert_int_equal(firing_beyond(&late, 8, 0), FIRING_WITHIN);
    struct firing early = made(3, 0, 0, 0, 0);
    assert_int_equal(firing_beyond(&early, 0, 2), FIRING_EARLY);
    assert_int_equal(firing_beyond(&early, 0, 3), FIRING_WITHIN);
    assert_false(firing_is_measured_only(&early));
}

static void without_a_promise_what_was_seen_counts(void **state)
{
    (void)state;
    struct firing seen = made(NAN, NAN, -1, 1, 10);
    assert_true(firing_lateness(&seen) == 1 && firing_is_measured_only(&seen));
    assert_int_equal(firing_beyond(&seen, 0, 1), FIRING_LATE);
    assert_int_equal(firing_beyond(&seen, 1, 0), FIRING_EARLY);
    assert_int_equal(firing_beyond(&seen, 1, 1), FIRING_WITHIN);
    /* Averted timers were late by an unknown number of ticks. */
    struct firing averted = made(NAN, NAN, NAN, NAN, 10);
    assert_true(isinf(firing_lateness(&averted)) && firing_is_measured_only(&averted));
    struct firing nothing = made(NAN, NAN, NAN, NAN, 0);
    assert_true(firing_lateness(&nothing) == 0 && !firing_is_measured_only(&nothing));
    assert_true(firing_averted_share(&seen, NAN) == 0.1);
    assert_true(firing_averted_share(&seen, 40) == 0.25);
    assert_true(firing_averted_share(&nothing, 0) == 0);
}

/* Of 90 that exact structures fire, and with a drive that may be late itself. */
static void what_is_said_of_a_firing(void **state)
{
    (void)state;
    const struct firing_frame frame = {.tick_ns = NAN, .exact_fired = 90};
    const struct {
        struct firing firing;
        const char *lateness;
    } examples[] = {
        {made(0, 0, 0, 0, 0), "none, as it promises"},
        {made(0, 0, 0, 5, 0), "up to 5 ticks late, all of it by the drive"},
        {made(0, 8, 0, 8, 0), "up to 8 ticks late, by its promise at most 8 ticks late"},
        {made(0, 8, 0, 9, 0),
         "up to 9 ticks late, by its promise at most 8 ticks late, without the drive's"},
        {made(NAN, NAN, -1, 2, 0), "up to 1 tick early and up to 2 ticks late"},
    };
    char text[FIRING_BYTES];
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        assert_string_equal(firing_lateness_words(&examples[i].firing, &frame, text),
                            examples[i].lateness);
    }
    struct firing firing = examples[0].firing;
    assert_string_equal(firing_share_words(&firing, &frame, text), "all 90 timers");
    firing.fired = 81;
    firing.averted = 9;
    assert_string_equal(firing_share_words(&firing, &frame, text),
                        "81 of the 90 timers that exact structures fire (10 % averted)");
}

static void a_time_is_whole_ticks(void **state)
{
    (void)state;
    uint64_t ticks = 7;
    const struct tolerance in_ns = {.ns = 2.9e6};
    assert_true(tolerance_in_ticks(&in_ns, 1e6, &ticks) && ticks == 2);
    assert_false(tolerance_in_ticks(&in_ns, NAN, &ticks));
    assert_true(ticks == UINT64_MAX);
    const struct tolerance in_ticks = {.ticks = 4};
    assert_true(tolerance_in_ticks(&in_ticks, NAN, &ticks) && ticks == 4);
}

static void add_row(struct results *results, const char *algo, const char *status,
                    int64_t declared_late, int64_t fired, int64_t averted)
{
    struct row *row = results_add(results);
    assert_non_null(row);
    row_set_text(row, COL_TRACE, "day.trace");
    row_set_text(row, COL_ALGO, algo);
    row_set_text(row, COL_STATUS, status);
    row_set_signed(row, COL_DECLARED_EARLY, 0);
    row_set_signed(row, COL_DECLARED_LATE, declared_late);
    row_set_signed(row, COL_FIRED, fired);
    row_set_signed(row, COL_AVERTED, averted);
}

/* The share of the expiries of exact structures; if the only exact one is wrong, of its own. */
static void a_wrong_structure_is_no_measure(void **state)
{
    (void)state;
    static const char *const statuses[] = {"ok", "fault"};
    static const char *const shares[] = {"10 (20 %)", "10 (10 % of its own)"};
    for (size_t i = 0; i < 2; i++) {
        struct results results = {0};
        char *text = NULL;
        size_t length = 0;
        FILE *stream = open_memstream(&text, &length);
        assert_non_null(stream);
        add_row(&results, "heap", statuses[i], 0, 50, 0);
        add_row(&results, "wheel", "ok", 8, 90, 10);
        results_write_tables(&results, stream);
        assert_int_equal(fclose(stream), 0);
        if (strstr(text, shares[i]) == NULL) {
            fail_msg("%s", text);
        }
        free(text);
        results_free(&results);
    }
}

static void a_count_has_an_end(void **state)
{
    (void)state;
    struct results results = {0};
    add_row(&results, "heap", "ok", 0, 50, 0);
    row_set_integer(&results.rows[0], COL_FIRED, UINT64_MAX);
    assert_true(results.rows[0].cells[COL_FIRED].value.integer == INT64_MAX);
    results_free(&results);
}

/* By rounding none becomes equal to another. */
static void single_runs_are_told_more_closely(void **state)
{
    (void)state;
    static const double runs[] = {10.0012, 10.0013};
    struct results results = {0};
    add_row(&results, "heap", "ok", 0, 50, 0);
    row_set_samples(&results.rows[0], COL_NS_PER_EVENT, runs, 2);
    json_t *rows = results_json_rows(&results);
    const json_t *told = json_object_get(json_object_get(json_array_get(rows, 0), "samples"),
                                         result_columns[COL_NS_PER_EVENT].name);
    assert_int_equal(json_array_size(told), 2);
    assert_true(json_real_value(json_array_get(told, 0)) <
                json_real_value(json_array_get(told, 1)));
    json_decref(rows);
    results_free(&results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_structure_is_no_measure),
        cmocka_unit_test(single_runs_are_told_more_closely),
        cmocka_unit_test(promises_count_before_what_was_seen),
        cmocka_unit_test(without_a_promise_what_was_seen_counts),
        cmocka_unit_test(what_is_said_of_a_firing),
        cmocka_unit_test(a_count_has_an_end),
        cmocka_unit_test(a_time_is_whole_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
