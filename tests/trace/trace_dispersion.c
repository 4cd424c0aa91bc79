/* trace_dispersion.c: the index of dispersion, by hand and against plain sums. */
#include "test.h"

#include "random.h"
#include "trace_dispersion.h"

#include <math.h>

#define MS UINT64_C(1000000)

/* Ten stretches of 100 ticks, all ten in one of them: mean 1, squares 81 + 9, of which a ninth. */
static void test_one_burst(void **state)
{
    (void)state;
    for (uint64_t burst = 0; burst < 10; burst++) {
        struct trace_dispersion dispersion;
        trace_dispersion_begin(&dispersion, MS, 500, 1500, 100 * MS);
        trace_dispersion_count(&dispersion, 499, 77); /* before the first */
        trace_dispersion_count(&dispersion, 500 + burst * 100, 4);
        trace_dispersion_count(&dispersion, 500 + burst * 100 + 99, 6);
        trace_dispersion_count(&dispersion, 1500, 77); /* after the last */
        assert_true(fabs(trace_dispersion_index(&dispersion) - 10) < 1e-12);
    }
}

static void test_paced(void **state)
{
    (void)state;
    struct trace_dispersion dispersion;
    trace_dispersion_begin(&dispersion, MS, 0, 20050, 1000 * MS);
    for (uint64_t tick = 0; tick < 20050; tick += 10) {
        trace_dispersion_count(&dispersion, tick, 1);
    }
    assert_true(trace_dispersion_index(&dispersion) == 0); /* the half stretch does not count */
}

static void test_nothing_to_say(void **state)
{
    (void)state;
    const struct {
        uint64_t tick_ns;
        uint64_t end_tick;
        uint64_t count;
    } cases[] = {
        {MS, 1000, 0},      /* nothing */
        {MS, 999, 1},       /* nine stretches and a part */
        {101 * MS, 999, 1}, /* a tick longer than a stretch */
        {MS, 0, 1},         /* no time at all */
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trace_dispersion dispersion;
        trace_dispersion_begin(&dispersion, cases[i].tick_ns, 0, cases[i].end_tick, 100 * MS);
        trace_dispersion_count(&dispersion, 0, cases[i].count);
        assert_true(isnan(trace_dispersion_index(&dispersion)));
    }
}

/* Ticks of 30 ms: stretches of three, which is nearest to 100 ms. */
static void test_against_sums(void **state)
{
    (void)state;
    enum { STRETCHES = 300 };
    struct random random;
    random_seed(&random, 5);
    for (unsigned round = 0; round < 20; round++) {
        struct trace_dispersion dispersion;
        trace_dispersion_begin(&dispersion, 30 * MS, 7, 7 + 3 * STRETCHES + 2, 100 * MS);
        double sum = 0;
        double squares = 0;
        for (uint64_t stretch = 0; stretch < STRETCHES; stretch++) {
            uint64_t total = 0;
            for (uint64_t tick = 0; tick < 3; tick++) {
                uint64_t count =
                    random_bits(&random) % (round + 1) == 0 ? random_bits(&random) % 1000000 : 0;
                trace_dispersion_count(&dispersion, 7 + 3 * stretch + tick, count);
                total += count;
            }
            sum += (double)total;
            squares += (double)total * (double)total;
        }
        double want = (squares - sum * sum / STRETCHES) / (STRETCHES - 1) / (sum / STRETCHES);
        assert_true(fabs(trace_dispersion_index(&dispersion) / want - 1) < 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_burst),
        cmocka_unit_test(test_paced),
        cmocka_unit_test(test_nothing_to_say),
        cmocka_unit_test(test_against_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
