/*
 * Every structure is checked against its declared cost, by counting: the work of one operation
 * among many timers, compared with the work among few. Nothing here knows a structure by name; an
 * added one is checked at once.
 *
 *   test_declared_cost [TIMERS]   instead of 100,000
 */
#include "declared_cost.h"

#include "stand.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEW       1000u
#define FIRST_DUE 10000u /* no timer is due before */
#define SPREAD    45000u /* at most this many different ones */
#define DURATIONS 1000u  /* how many different ones there are at the most */
#define IDLE      1000u  /* ticks that fire nothing */

static uint32_t many = 100000;

/* Steps of one operation: compares, moves and slots, a mean. */
struct steps {
    double start;
    double restart;
    double stop;
    double tick;
    double expire;
};

static double mean_since(const struct stand *s, uint64_t before, uint64_t operations)
{
    return (double)(stand_work(s) - before) / (double)operations;
}

/* Starts id, so that there are as many timers a tick however many there are in all, as far as that
 * goes. */
static void start(struct stand *s, uint32_t id, uint32_t n)
{
    uint32_t spread = n * UINT64_C(2) / 5 < SPREAD ? n * 2 / 5 : SPREAD;
    uint64_t step = (spread + DURATIONS - 1) / DURATIONS;
    uint64_t deadline = s->clock + FIRST_DUE + stand_draw(s, spread) / step * step;
    stand_start(s, id, deadline);
}

static void shuffle(struct stand *s, uint32_t *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = i;
    }
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = (uint32_t)stand_draw(s, i);
        uint32_t id = ids[i - 1];
        ids[i - 1] = ids[other];
        ids[other] = id;
    }
}

/* Start n timers, double them, restart all, stop half, advance without expiries, and fire the other
 * half. The number of timers doubles and halves, so rebuilding is a part of the mean. */
static struct steps measure(const struct tl_algo *algo, uint32_t n)
{
    struct stand s;
    stand_must(&s, algo, "",
               (struct tl_config){.capacity = 2 * n, .max_delay_ticks = FIRST_DUE + SPREAD});
    uint32_t *ids = malloc(2 * (size_t)n * sizeof *ids);
    assert_non_null(ids);
    struct steps steps = {0};

    for (uint32_t id = 0; id < n; id++) {
        start(&s, id, n);
    }
    uint64_t before = stand_work(&s);
    for (uint32_t id = n; id < 2 * n; id++) {
        start(&s, id, n);
    }
    steps.start = mean_since(&s, before, n);

    shuffle(&s, ids, 2 * n);
    before = stand_work(&s);
    for (uint32_t i = 0; i < 2 * n; i++) {
        start(&s, ids[i], n);
    }
    steps.restart = mean_since(&s, before, 2 * (uint64_t)n);

    shuffle(&s, ids, 2 * n);
    before = stand_work(&s);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(stand_stop(&s, ids[i]), TL_OK);
    }
    steps.stop = mean_since(&s, before, n);

    /* The first advance may clean up after the stops. */
    (void)stand_advance(&s, s.clock + 1);
    before = stand_work(&s);
    for (uint32_t i = 0; i < IDLE; i++) {
        (void)stand_advance(&s, s.clock + 1);
    }
    steps.tick = mean_since(&s, before, IDLE);
    assert_int_equal(s.fired, 0);

    before = stand_work(&s);
    (void)stand_advance(&s, FIRST_DUE - 1);
    (void)stand_run_dry(&s);
    assert_int_equal(s.fired, n);
    steps.expire = mean_since(&s, before, n);
    free(ids);
    stand_close(&s);
    return steps;
}

static void expect_growth(const struct tl_algo *algo, const char *operation, enum growth growth,
                          uint32_t few, double among_few, uint32_t n, double among_many)
{
    double ratio = 1;
    if (growth == GROWTH_LOGARITHMIC) {
        ratio = (double)(32 - __builtin_clz(n)) / (double)(32 - __builtin_clz(few));
    } else if (growth == GROWTH_ROOT) {
        ratio = sqrt((double)n / (double)few);
    }
    /* Half as much again, and two steps, for what chance, doublings and rounding do. */
    if (growth != GROWTH_LINEAR && among_many > 1.5 * ratio * among_few + 2) {
        fail_msg("%s: %s takes %.1f steps among %u timers, and %.1f among %u", algo->name,
                 operation, among_few, few, among_many, n);
    }
}

static enum growth worse(enum growth a, enum growth b)
{
    return a > b ? a : b;
}

static void hold_to_its_word(const struct tl_algo *algo)
{
    bool slow = (algo->capabilities & TL_CAP_SLOW) != 0;
    uint32_t few = slow ? FEW / 10 : FEW;
    uint32_t n = slow ? FEW * 2 : many;
    struct steps small = measure(algo, few);
    struct steps large = measure(algo, n);
    enum growth starts = growth_of(algo->cost.start);
    enum growth stops = growth_of(algo->cost.stop);
    enum growth ticks = growth_of(algo->cost.tick);
    /* Timers fire in ticks. */
    enum growth expiry = worse(growth_of(algo->cost.expire), ticks);
    /* A restart is no worse than a stop with a start; if it is declared to cost more, the cost
     * follows a semicolon. */
    enum growth restarts = worse(starts, stops);
    expect_growth(algo, "a start", starts, few, small.start, n, large.start);
    expect_growth(algo, "a restart", restarts, few, small.restart, n, large.restart);
    expect_growth(algo, "a stop", stops, few, small.stop, n, large.stop);
    expect_growth(algo, "a tick", ticks, few, small.tick, n, large.tick);
    expect_growth(algo, "an expiry", expiry, few, small.expire, n, large.expire);
    (void)printf("%-22s %8u: %9.1f %9.1f %9.1f %9.1f %9.1f\n", algo->name, n, large.start,
                 large.restart, large.stop, large.tick, large.expire);
}

static void costs_grow_no_faster_than_declared(void **state)
{
    (void)state;
    (void)printf("%-22s %8s: %9s %9s %9s %9s %9s\n", "steps", "timers", "start", "restart", "stop",
                 "tick", "expire");
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->counted;
        if ((algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
            continue;
        }
        if (algo->counters == NULL) {
            (void)printf("%-22s counts nothing\n", algo->name);
            continue;
        }
        hold_to_its_word(algo);
    }
}

/* Linear costs are declared as slow, unless it is a share of the timers that an option sets. */
static void costs_are_stated_in_words_that_are_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->timed;
        const char *const costs[] = {algo->cost.start, algo->cost.stop, algo->cost.tick,
                                     algo->cost.expire};
        bool linear = false;
        for (size_t c = 0; c < sizeof costs / sizeof costs[0]; c++) {
            bool none = strcmp(costs[c], "-") == 0;
            if (!none && growth_of(costs[c]) == GROWTH_UNKNOWN) {
                fail_msg("%s: what is \"%s\"?", algo->name, costs[c]);
            }
            linear = linear || strncmp(costs[c], "O(n)", 4) == 0;
        }
        bool slow = (algo->capabilities & TL_CAP_SLOW) != 0;
        if (slow != linear) {
            fail_msg("%s: its cost and its capabilities do not agree", algo->name);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        many = (uint32_t)strtoul(argv[1], NULL, 10);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_stated_in_words_that_are_known),
        cmocka_unit_test(costs_grow_no_faster_than_declared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
