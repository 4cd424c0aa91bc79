/*
 * The last line of `sim`, of rows whose times are known: one is called the fastest only if its runs
 * show that, and what is not exact stands beside the others, never before them.
 */
#include "test.h"

#include "faster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 8u
#define RUNS_MAX 9u

/* A structure whose runs took `ns`, and as much more each as `steps` says. */
struct made {
    const char *algo;
    double ns;
    unsigned runs;
    unsigned late_ticks;
    int steps[RUNS_MAX]; /* hundredths of a nanosecond */
};

static json_t *made_row(const struct made *made)
{
    json_t *runs = json_array();
    for (unsigned i = 0; i < made->runs; i++) {
        assert_int_equal(json_array_append_new(runs, json_real(made->ns + made->steps[i] / 100.0)),
                         0);
    }
    json_t *row = json_pack("{s:s, s:s, s:f, s:f, s:i, s:i, s:i, s:i, s:i, s:i, s:{s:o}}", "algo",
                            made->algo, "options", "", "ns_per_event", made->ns, "ns_per_event_mad",
                            0.1, "runs", (int)made->runs, "declared_early", 0, "declared_late",
                            (int)made->late_ticks, "fired", made->late_ticks > 0 ? 75 : 100,
                            "averted", made->late_ticks > 0 ? 25 : 0, "reactions", 0, "samples",
                            "ns_per_event", runs);
    assert_non_null(row);
    return row;
}

static void expect(const struct made *made, size_t count, const char *words)
{
    json_t *owned[ROWS_MAX];
    const json_t *rows[ROWS_MAX];
    assert_true(count <= ROWS_MAX);
    for (size_t i = 0; i < count; i++) {
        rows[i] = owned[i] = made_row(&made[i]);
    }
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    write_fastest(rows, count, stream);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(text, words);
    free(text);
    for (size_t i = 0; i < count; i++) {
        json_decref(owned[i]);
    }
}

#define EXPECT(words, ...)                                                                         \
    do {                                                                                           \
        static const struct made made[] = {__VA_ARGS__};                                           \
        expect(made, sizeof made / sizeof made[0], words);                                         \
    } while (0)

static void one_wins(void **state)
{
    (void)state;
    expect(NULL, 0, "");
    EXPECT("; of the exact ones the fastest is a, 20.00 ns an operation", {"a", 20, 1, 0, {0}});
    EXPECT("; of the exact ones the fastest is b, 20.00 ns an operation, then a 1.50x, c 2.00x",
           {"c", 40, 5, 0, {3, -2, 1, 0, 2}}, {"a", 30, 5, 0, {0, 1, 2, 3, 4}},
           {"b", 20, 5, 0, {2, 0, 3, 1, -1}});
    EXPECT("; of the exact ones the fastest is a, 20.00 ns an operation, then b 1.50x, c 2.00x, "
           "d 2.50x",
           {"e", 60, 5, 0, {0, 3, 1, 2, 1}}, {"d", 50, 5, 0, {0, 3, 1, 2, 1}},
           {"c", 40, 5, 0, {0, 3, 1, 2, 1}}, {"b", 30, 5, 0, {0, 3, 1, 2, 1}},
           {"a", 20, 5, 0, {0, 3, 1, 2, 1}});
    /* Runs that have no partner are no pairs. */
    EXPECT("; of the exact ones the fastest is a, 20.00 ns an operation, then b 2.00x",
           {"b", 40, 7, 0, {3, -2, 1, 0, 2, -1, 4}},
           {"a", 20, 9, 0, {3, -2, 1, 0, 2, -1, 4, -3, 5}});
}

static void none_wins(void **state)
{
    (void)state;
    /* The medians differ by a tenth, and the runs by more. */
    EXPECT("; cannot tell which of the exact ones is the fastest: a, 20.00 ns an operation, "
           "b 1.10x; then c 3.00x",
           {"c", 60, 5, 0, {0, 3, 1, 2, 1}}, {"b", 22, 5, 0, {0, -500, 400, -300, 100}},
           {"a", 20, 5, 0, {100, 500, -200, 0, -100}});
    /* Each name takes a place of the few that there are. */
    EXPECT("; cannot tell which of the exact ones is the fastest: a, 20.00 ns an operation, "
           "b 1.10x; then c 3.00x, d 3.50x",
           {"e", 80, 5, 0, {0, 3, 1, 2, 1}}, {"d", 70, 5, 0, {0, 3, 1, 2, 1}},
           {"c", 60, 5, 0, {0, 3, 1, 2, 1}}, {"b", 22, 5, 0, {0, -500, 400, -300, 100}},
           {"a", 20, 5, 0, {100, 500, -200, 0, -100}});
    EXPECT("; cannot tell which of the exact ones is the fastest (it takes five runs): "
           "a, 20.00 ns an operation, b 2.00x",
           {"b", 40, 4, 0, {0, 1, 2, 3}}, {"a", 20, 4, 0, {0, 1, 2, 3}});
    EXPECT("; cannot tell which of the exact ones is the fastest (it takes five runs): "
           "a, 20.00 ns an operation, b 1.50x, c 2.00x, d 2.50x and 1 more",
           {"e", 60, 1, 0, {0}}, {"d", 50, 1, 0, {0}}, {"c", 40, 1, 0, {0}}, {"b", 30, 1, 0, {0}},
           {"a", 20, 1, 0, {0}});
}

static void late_ones_stand_beside(void **state)
{
    (void)state;
    EXPECT("; of the exact ones the fastest is a, 20.00 ns an operation, then b 2.00x; faster only "
           "by not being exact: late, 10.00 ns (25 % averted)",
           {"late", 10, 5, 8, {0, 3, 1, 2, 1}}, {"b", 40, 5, 0, {0, 3, 1, 2, 1}},
           {"a", 20, 5, 0, {0, 3, 1, 2, 1}});
    /* Faster by its median, which does not show it; and slower. */
    EXPECT("; of the exact ones the fastest is a, 20.00 ns an operation",
           {"late", 19, 5, 8, {0, -500, 400, -300, 300}},
           {"a", 20, 5, 0, {100, 500, -200, 0, -100}});
    EXPECT("; of the exact ones the fastest is a, 20.00 ns an operation",
           {"late", 30, 5, 8, {0, 3, 1, 2, 1}}, {"a", 20, 5, 0, {0, 3, 1, 2, 1}});
    EXPECT("; none is exact: later, 10.00 ns (25 % of what it fired or averted was averted)",
           {"late", 30, 5, 8, {0}}, {"later", 10, 5, 9, {0}});
}

static void figures_differ_by_more_than_their_spreads(void **state)
{
    (void)state;
    const struct measured ten = {.value = 10, .spread = 1, .runs = 5};
    assert_false(measured_differ(ten, (struct measured){.value = 16, .spread = 1, .runs = 5}));
    assert_true(measured_differ(ten, (struct measured){.value = 16.5, .spread = 1, .runs = 5}));
    assert_true(measured_differ(ten, (struct measured){.value = 3, .spread = NAN, .runs = 5}));
    assert_false(measured_differ(ten, (struct measured){.value = 90, .spread = 1, .runs = 4}));
    assert_false(measured_differ((struct measured){.value = 90, .spread = 1, .runs = 4}, ten));
}

/* A text is a number if it is nothing else; what has none is last. */
static void numbers_of_rows(void **state)
{
    (void)state;
    json_t *none = json_pack("{s:s, s:s}", "ns", "", "n", "5x");
    json_t *some = json_pack("{s:s, s:i}", "ns", "5.5", "n", 5);
    assert_true(isnan(row_number(none, "ns")) && isnan(row_number(none, "n")));
    assert_true(row_number(some, "ns") == 5.5 && row_number(some, "n") == 5);
    assert_true(row_order(some, none, "ns") < 0 && row_order(none, some, "ns") > 0);
    assert_int_equal(row_order(none, none, "ns"), 0);
    json_decref(none);
    json_decref(some);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_wins),
        cmocka_unit_test(none_wins),
        cmocka_unit_test(late_ones_stand_beside),
        cmocka_unit_test(numbers_of_rows),
        cmocka_unit_test(figures_differ_by_more_than_their_spreads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
