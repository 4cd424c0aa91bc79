/*
 * The answer for rows with known figures: the pick, its certainty, its cost at the trace's rate,
 * and the text.
 */
#include "test.h"

#include "answer.h"
#include "memory.h"
#include "timerlab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT (TL_CAP_NEXT | TL_CAP_UNLIMITED | TL_CAP_ORDERED | TL_CAP_FIFO)

/* A structure with runs of `ns`, and up to 0.04 ns more. */
struct made {
    const char *algo;
    double ns;
    unsigned runs;
    uint32_t capabilities;
    unsigned late_ticks; /* that it declares */
    uint64_t bytes;
    uint64_t wakeups;
};

static void add(struct results *results, const struct made *made)
{
    double runs[16];
    struct row *row = results_add(results);
    row->capabilities = made->capabilities;
    row_set_text(row, COL_TRACE, "day.trace");
    row_set_text(row, COL_ALGO, made->algo);
    row_set_text(row, COL_OPTIONS, "");
    row_set_text(row, COL_STATUS, "ok");
    row_set_integer(row, COL_DECLARED_EARLY, 0);
    row_set_integer(row, COL_DECLARED_LATE, made->late_ticks);
    row_set_integer(row, COL_FIRED, made->late_ticks > 0 ? 75 : 100);
    row_set_integer(row, COL_AVERTED, made->late_ticks > 0 ? 25 : 0);
    row_set_integer(row, COL_BYTES_PEAK, made->bytes);
    row_set_integer(row, COL_WAKEUPS, made->wakeups);
    row_set_integer(row, COL_WINDOW_EVENTS, 20000000);
    row_set_real(row, COL_FLOOR_NS, 5);
    if (made->runs > 0) {
        for (unsigned k = 0; k < made->runs; k++) {
            runs[k] = made->ns + 0.01 * (k * 7 % 5); /* in no order that looks like a drift */
        }
        row_set_real(row, COL_NS_PER_EVENT, made->ns);
        row_set_real(row, COL_WALL_NS, made->ns);
        row_set_samples(row, COL_NS_PER_EVENT, runs, made->runs);
    }
}

/* The answer of these rows, at two million operations a second. */
static struct answer answer_of(struct results *results, const struct made *made, size_t count)
{
    const struct answer_trace trace = {.name = "day.trace", .window_seconds = 10};
    struct answer answer;
    *results = (struct results){0};
    for (size_t i = 0; i < count; i++) {
        add(results, &made[i]);
    }
    answer_make(results, &trace, &answer);
    return answer;
}

static char *text_of(const struct answer *answer)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = memory_stream(&text, &bytes);
    answer_write(answer, 80, stream);
    memory_stream_close(stream);
    return text;
}

#define ANSWER_OF(results, ...)                                                                    \
    answer_of(results, (const struct made[]){__VA_ARGS__},                                         \
              sizeof((const struct made[]){__VA_ARGS__}) / sizeof(struct made))

static void end(struct answer *answer, struct results *results)
{
    answer_free(answer);
    results_free(results);
}

static void expect_text(const struct answer *answer, const char *words)
{
    char *text = text_of(answer);
    if (strcmp(text, words) != 0) {
        fail_msg("expected:\n%s\nwritten:\n%s", words, text);
    }
    free(text);
}

static void expect_words(const struct answer *answer, const char *words)
{
    char *text = text_of(answer);
    if (strstr(text, words) == NULL) {
        fail_msg("'%s' is not in:\n%s", words, text);
    }
    free(text);
}

static void the_fastest_wins(void **state)
{
    (void)state;
    struct results results;
    struct answer answer = ANSWER_OF(&results, {"slow", 55, 7, EXACT, 0, 4000000, 1000},
                                     {"quick", 25, 7, EXACT, 0, 4000000, 1000},
                                     {"null", 5, 7, EXACT | TL_CAP_BASELINE, 0, 16, 0},
                                     {"middling", 30, 7, EXACT, 0, 4000000, 1000});
    assert_int_equal(answer.certainty, ANSWER_SURE);
    assert_int_equal(answer.count, 3);
    assert_int_equal(answer.tied, 1);
    /* 20 ns of its own, two million times a second */
    assert_float_equal(answer.entries[0].core_share, 0.04, 1e-9);
    assert_float_equal(answer.entries[2].core_share, 0.1, 1e-9);
    expect_text(&answer,
                "day.trace: Take quick: the fastest of 3 exact structures, 25.0 ns an operation;\n"
                "middling takes 20 % longer. Sure: 7 runs.\n"
                "At the trace's rate, 2.00 million operations a second, it needs 4 % of one core;\n"
                "slow, the slowest, 10 %.\n"
                "\n"
                "  structure     ns/op                          memory\n"
                "  quick          25.0  #########              4.00 MB\n"
                "  middling       30.0  ###########            4.00 MB\n"
                "  slow           55.0  ####################   4.00 MB\n");
    end(&answer, &results);
}

/* Equal runs are a tie, which memory decides; a saving below a hundredth of a core is none. */
static void ties_are_no_wins(void **state)
{
    (void)state;
    struct results results;
    struct answer answer = ANSWER_OF(&results, {"large", 5.1, 7, EXACT, 0, 4000000, 1000},
                                     {"small", 5.1, 7, EXACT, 0, 1000000, 1000},
                                     {"other", 8, 7, EXACT, 0, 1000000, 1000});
    assert_int_equal(answer.certainty, ANSWER_TIED);
    assert_int_equal(answer.tied, 2);
    assert_string_equal(answer.reason, "needs the least memory of these");
    assert_string_equal(row_text(answer.entries[0].row, COL_ALGO), "small");
    expect_text(&answer,
                "day.trace: Take small (5.10 ns an operation): of 3 exact structures it is among\n"
                "the fastest, tied with large, and needs the least memory of these: 7 runs show\n"
                "no difference.\n"
                "At the trace's rate, 2.00 million operations a second, it needs 0.02 % of one\n"
                "core; other, the slowest, 0.6 %. Speed does not matter here: choose by memory,\n"
                "wakeups or longest pause.\n"
                "\n"
                "  structure     ns/op                          memory\n"
                "  small          5.10  #############          1.00 MB\n"
                "  large          5.10  #############          4.00 MB\n"
                "  other          8.00  ####################   1.00 MB\n");
    end(&answer, &results);
}

/* What decides among tied structures has no noise in it: the same is taken again. */
static void ties_are_answered_alike(void **state)
{
    (void)state;
    static const double noise[][3] = {{20, 20.1, 20.2}, {20.2, 20, 20.1}, {20.1, 20.2, 20}};
    for (size_t i = 0; i < sizeof noise / sizeof noise[0]; i++) {
        struct results results = {0};
        struct answer answer;
        const struct answer_trace trace = {.name = "day.trace", .min_effect = 0.05};
        const struct made made[] = {{"one", noise[i][0], 7, EXACT, 0, 4000000, 900},
                                    {"two", noise[i][1], 7, EXACT, 0, 4000000, 500},
                                    {"three", noise[i][2], 7, EXACT, 0, 4100000, 510}};
        for (size_t k = 0; k < sizeof made / sizeof made[0]; k++) {
            add(&results, &made[k]);
        }
        answer_make(&results, &trace, &answer);
        assert_int_equal(answer.tied, 3);
        assert_string_equal(row_text(answer.entries[0].row, COL_ALGO), "two");
        assert_string_equal(answer.reason, "wakes up least often of these");
        end(&answer, &results);
    }
}

/* Runs that vary too much exclude nothing: a structure that measured three times as slow is neither tied nor
 * beaten, and a quicker one with the same capability serves the other need. */
static void noise_is_no_tie(void **state)
{
    (void)state;
    static const double wild[] = {9, 30, 30, 9, 30, 9, 30};
    struct results results = {0};
    const struct answer_trace trace = {.name = "day.trace"};
    const struct made made[] = {{"quick", 10, 7, EXACT & ~TL_CAP_NEXT, 0, 4000000, 900},
                                {"steady", 20, 7, EXACT | TL_CAP_NEXT, 0, 4000000, 900},
                                {"wild", 30, 7, EXACT | TL_CAP_NEXT, 0, 4000000, 900}};
    struct answer answer;
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++) {
        add(&results, &made[k]);
    }
    row_set_samples(&results.rows[2], COL_NS_PER_EVENT, wild, 7);
    answer_make(&results, &trace, &answer);
    assert_int_equal(answer.certainty, ANSWER_NOISY);
    assert_int_equal(answer.tied, 1);
    assert_string_equal(row_text(answer.entries[0].row, COL_ALGO), "quick");
    assert_string_equal(row_text(answer.for_need[ANSWER_SLEEP], COL_ALGO), "steady");
    expect_words(&answer,
                 "Take quick (10.0 ns an operation): it measured the least time of 3\n"
                 "exact structures, but the 7 runs vary too much to exclude wild (30.0 ns): use a\n"
                 "quiet machine or more runs.\n");
    answer_free(&answer);
    /* Structures tied with the pick are named, because the pick need not be the fastest of them. */
    const struct made small = {"small", 11, 7, EXACT, 0, 1000000, 900};
    row_set_samples(&results.rows[0], COL_NS_PER_EVENT, wild, 7);
    add(&results, &small);
    row_set_samples(&results.rows[3], COL_NS_PER_EVENT, wild, 7);
    answer_make(&results, &trace, &answer);
    assert_int_equal(answer.certainty, ANSWER_NOISY);
    expect_words(&answer,
                 "day.trace: Take small (11.0 ns an operation): of 4 exact structures it is among\n"
                 "the fastest, tied with quick, and needs the least memory of these, but the 7\n"
                 "runs vary too much to exclude ");
    end(&answer, &results);
}

/* By counts the least work is taken, and the clock's word is left open. */
static void counts_are_no_times(void **state)
{
    (void)state;
    struct results results = {0};
    struct answer answer;
    const struct answer_trace trace = {
        .name = "day.trace", .window_seconds = 10, .min_effect = 0.05, .by_counts = true};
    const struct made made[] = {{"much", 55, 1, EXACT, 0, 4000000, 900},
                                {"least", 4, 1, EXACT, 0, 4000000, 500},
                                {"near", 7, 1, EXACT, 0, 4100000, 510}};
    for (size_t k = 0; k < sizeof made / sizeof made[0]; k++) {
        add(&results, &made[k]);
    }
    answer_make(&results, &trace, &answer);
    assert_int_equal(answer.certainty, ANSWER_COUNTED);
    expect_words(&answer,
                 "day.trace: Take least: of 3 exact structures it does the least work by the\n"
                 "counts. Counts do not include cache misses: the clock may prefer near (without\n"
                 "--counts tune measures the time).\n");
    end(&answer, &results);
}

/* Whatever three runs look like, they show nothing. */
static void few_runs_are_not_sure(void **state)
{
    (void)state;
    struct results results;
    struct answer answer = ANSWER_OF(&results, {"quick", 20, 3, EXACT, 0, 4000, 10},
                                     {"slow", 200, 3, EXACT, 0, 4000, 10});
    assert_int_equal(answer.certainty, ANSWER_FEW_RUNS);
    expect_words(&answer, "day.trace: quick took the least time of 2 exact structures (20.0 ns an\n"
                          "operation), but too few runs to be sure (3): use --runs 5.\n");
    end(&answer, &results);
}

static void what_is_late_is_not_ranked(void **state)
{
    (void)state;
    struct results results;
    struct answer answer =
        ANSWER_OF(&results, {"late", 10, 7, EXACT, 8, 4000, 10},
                  {"quick", 20, 7, EXACT, 0, 4000, 10}, {"slow", 30, 7, EXACT, 0, 4000, 10});
    assert_int_equal(answer.certainty, ANSWER_SURE);
    assert_int_equal(answer.count, 2);
    assert_string_equal(row_text(answer.faster_late, COL_ALGO), "late");
    expect_words(&answer, "Take quick: the fastest of 2 exact structures");
    expect_words(&answer, "\nFaster, but late or early: late takes 10.0 ns (25 % averted).\n"
                          "1 fires late or early: not ranked.\n");
    answer_free(&answer);
    const struct answer_trace tolerant = {.name = "day.trace", .max_late_ticks = 8};
    answer_make(&results, &tolerant, &answer);
    assert_string_equal(row_text(answer.entries[0].row, COL_ALGO), "late");
    assert_true(isnan(answer.rate));
    expect_words(&answer, "the fastest of 3 structures that fire at most 8 ticks\nlate, ");
    end(&answer, &results);
}

/* Another structure is named for a need that the pick does not serve, or serves clearly worse. */
static void needs_are_served(void **state)
{
    (void)state;
    struct results results;
    struct answer answer =
        ANSWER_OF(&results, {"quick", 20, 7, TL_CAP_NEXT, 0, 4000000, 5000},
                  {"heap", 60, 7, EXACT, 0, 3900000, 4900}, {"small", 70, 7, 0, 0, 1000000, 1000});
    assert_string_equal(row_text(answer.for_need[ANSWER_UNBOUNDED], COL_ALGO), "heap");
    assert_string_equal(row_text(answer.for_need[ANSWER_ORDER], COL_ALGO), "heap");
    assert_string_equal(row_text(answer.for_need[ANSWER_MEMORY], COL_ALGO), "small");
    assert_string_equal(row_text(answer.for_need[ANSWER_WAKEUPS], COL_ALGO), "small");
    assert_null(answer.for_need[ANSWER_SLEEP]);
    assert_null(answer.for_need[ANSWER_PAUSE]); /* no latencies */
    expect_words(&answer, "\n  fewest wakeups              small, 100/s instead of 500/s\n");
    end(&answer, &results);
}

/* A shorter pause counts only if it is shorter in every run: otherwise interrupts may be the cause. */
static void a_pause_is_shorter_in_all_runs(void **state)
{
    (void)state;
    struct results results;
    struct answer answer = ANSWER_OF(&results, {"quick", 20, 7, TL_CAP_NEXT, 0, 4000, 500},
                                     {"even", 60, 7, TL_CAP_NEXT, 0, 4000, 500});
    const struct answer_trace trace = answer.trace;
    const double one_short_ns[] = {40000, 700, 41000};
    const double all_long_ns[] = {40000, 40000, 41000};
    const double even_ns[] = {690, 650, 720};
    row_set_integer(&results.rows[0], COL_STALL, 40000);
    row_set_integer(&results.rows[1], COL_STALL, 690);
    row_set_samples(&results.rows[1], COL_STALL, even_ns, 3);

    row_set_samples(&results.rows[0], COL_STALL, one_short_ns, 3);
    answer_free(&answer);
    answer_make(&results, &trace, &answer);
    assert_null(answer.for_need[ANSWER_PAUSE]);

    row_set_samples(&results.rows[0], COL_STALL, all_long_ns, 3);
    answer_free(&answer);
    answer_make(&results, &trace, &answer);
    assert_string_equal(row_text(answer.for_need[ANSWER_PAUSE], COL_ALGO), "even");
    end(&answer, &results);
}

static void nothing_to_choose_from(void **state)
{
    (void)state;
    struct results results;
    struct answer answer = ANSWER_OF(&results, {"checked", 0, 0, EXACT, 0, 4000, 10});
    const struct answer_trace trace = answer.trace;
    assert_int_equal(answer.certainty, ANSWER_NONE);
    expect_text(&answer, "day.trace: checked, not timed.\n");
    answer_free(&answer);
    row_set_text(&results.rows[0], COL_STATUS, "crashed");
    answer_make(&results, &trace, &answer);
    expect_text(&answer, "day.trace: no structure can be recommended.\n1 failed: not ranked.\n");
    end(&answer, &results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_wins),
        cmocka_unit_test(ties_are_no_wins),
        cmocka_unit_test(noise_is_no_tie),
        cmocka_unit_test(ties_are_answered_alike),
        cmocka_unit_test(counts_are_no_times),
        cmocka_unit_test(few_runs_are_not_sure),
        cmocka_unit_test(what_is_late_is_not_ranked),
        cmocka_unit_test(needs_are_served),
        cmocka_unit_test(a_pause_is_shorter_in_all_runs),
        cmocka_unit_test(nothing_to_choose_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
