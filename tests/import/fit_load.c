/* fit_load.c: what tcp_load.h sees in the lives of write timers that are made up. */
#include "random.h"
#include "tcp_load.h"
#include "tcp_measure.h"

#include "test.h"

#include <stdlib.h>

/* A life of so many requests, `gap` ticks apart, that ends so long after the last one. */
static void live(struct tcp_load *load, bool whole, unsigned requests, uint64_t gap, uint64_t waits)
{
    uint32_t life = tcp_load_begin(load, whole);
    assert_int_not_equal(life, UINT32_MAX);
    uint64_t tick = 1000;
    for (unsigned i = 0; i < requests; i++) {
        tick += gap;
        assert_true(tcp_load_request(load, life, tick));
    }
    tcp_load_end(load, life, tick + waits);
}

/* A server closes with the fiftieth request, of which some are missing in the recording, or after
 * 2,000 ticks without one. A third of the lives that it begins with ask ten times as slowly; one of
 * them is closed before it has asked again. */
static void test_limits(void **state)
{
    (void)state;
    struct tcp_load *load = tcp_load_create();
    assert_non_null(load);
    for (unsigned i = 0; i < 40; i++) {
        live(load, false, 20, 100 + i % 5, 1);
        live(load, true, i % 4 == 0 ? 48 : 50, 100 + i % 5, 1);
        live(load, true, 10, 100 + i % 5, 2000 + i % 3);
    }
    for (unsigned i = 0; i < 20; i++) {
        live(load, false, i == 0 ? 1 : 5, 1000 + i % 5, 2001);
    }
    struct tcp_load_found found;
    assert_true(tcp_load_finish(load, 100000, &found));
    assert_int_equal(found.lives, 140);
    assert_int_equal(found.limit, 50);
    assert_in_range(found.idle_ticks, 2000, 2002);
    assert_true(found.by_limits > 0.999 && found.singles > 0 && found.singles < 0.01);
    /* A quarter of the slow ones' waits are in vain, and take two fifths of the time: of those that
     * a recording begins with, 0.45 show a gap, 19; of the others 0.78, 40. */
    assert_true(found.slow > 0.445 && found.slow < 0.455);
    assert_true(found.slow_times > 9.5 && found.slow_times < 10.5);
    /* The others' gaps; those that the server did not wait for are longer. */
    assert_int_equal(found.all.count, 40 * (19 + 49 + 9) - 10 * 2);
    assert_int_equal(found.all.longer, 40);
    assert_int_equal(found.first.count, 40 * 19);
    assert_int_equal(found.first.longer, 0);
    assert_int_equal(found.first.ticks[0], 100);
    assert_int_equal(found.first.ticks[found.first.count - 1], 104);
    tcp_load_destroy(load);
}

/* A client's life from `tick` on: it asks every `gap` ticks, and with each tenth wait, or three of
 * ten if `slow`, for longer than the server waits. */
static void live_until_vain(struct tcp_load *load, struct random *random, bool whole, bool slow)
{
    const uint64_t idle = 2000;
    const uint64_t gap = slow ? 1000 : 100;
    const double vain = slow ? 0.3 : 0.1;
    const double in_vain = vain * (double)idle;
    uint32_t life = tcp_load_begin(load, whole);
    uint64_t tick = 1;
    /* What it waits for when the recording begins, is met by how long it takes. */
    bool lasts = whole || random_unit(random) * (in_vain + (1 - vain) * (double)gap) >= in_vain;
    if (!whole) {
        tick += (uint64_t)(random_unit(random) * (double)(lasts ? gap : idle));
    }
    while (lasts) {
        assert_true(tcp_load_request(load, life, tick));
        lasts = random_unit(random) >= vain;
        tick += lasts ? gap : idle;
    }
    tcp_load_end(load, life, tick);
}

/* Of many that the recording begins with nothing is seen but their end; slow are a third all the
 * same. */
static void test_slow_in_vain(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 1);
    struct tcp_load *load = tcp_load_create();
    assert_non_null(load);
    for (unsigned i = 0; i < 6000; i++) {
        live_until_vain(load, &random, false, i % 3 == 0);
        live_until_vain(load, &random, true, i % 3 == 0);
    }
    struct tcp_load_found found;
    assert_true(tcp_load_finish(load, 1000000, &found));
    assert_int_equal(found.idle_ticks, 2000);
    assert_true(found.slow > 0.32 && found.slow < 0.35);
    assert_true(found.slow_times > 9.9 && found.slow_times < 10.1);
    tcp_load_destroy(load);
}

/* Lives that end anyhow: no limit, and no classes. */
static void test_no_limits(void **state)
{
    (void)state;
    struct tcp_load *load = tcp_load_create();
    assert_non_null(load);
    for (unsigned i = 0; i < 60; i++) {
        live(load, i % 2 == 0, 11 + i, i % 3 == 0 ? 1000 : 100, 100 + 40 * i);
    }
    struct tcp_load_found found;
    assert_true(tcp_load_finish(load, 100000, &found));
    assert_int_equal(found.limit, 0);
    assert_int_equal(found.idle_ticks, 0);
    assert_true(found.by_limits <= 0 && found.slow <= 0);
    assert_int_equal(found.lives, 60);
    tcp_load_destroy(load);

    /* Nothing at all. */
    load = tcp_load_create();
    assert_true(tcp_load_finish(load, 1, &found));
    assert_int_equal(found.lives + found.all.count + found.first.count, 0);
    tcp_load_destroy(load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits),
                                       cmocka_unit_test(test_slow_in_vain),
                                       cmocka_unit_test(test_no_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
