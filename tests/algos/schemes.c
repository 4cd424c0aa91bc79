/*
 * What Varghese and Lauck publish about the cost of their schemes (SOSP 1987, sections 3 to 7),
 * reproduced by counting:
 *
 *   scheme                            START        STOP   PER_TICK
 *   1  unordered-list                 1            1      n
 *   2  ordered-list                   n/2          1      1
 *   4  simple-wheel                   1            1      1
 *   5  hashed-ordered-wheel           n/TableSize  1      1
 *   6  round-wheel                    1            1      n/TableSize
 *   7  cascading-wheel                m            1      1, and m moves a timer
 *
 * (scheme 3, trees, is held to log n in faithful_heaps.c), and where scheme 7 becomes cheaper than
 * scheme 6 as the mean interval T grows. docs/results/schemes.md has the same as pictures.
 */
#include "stand.h"

/* Scheme 7 with as many slots, in all, as scheme 6: M = 256, m = 4. */
#define TABLE_SIZE 256u
#define LEVELS     4u
#define ROUNDS     "slots=256"
#define CASCADES   "l1=64:l2=64:l3=64:l4=64:l5=0"

/* The published costs in instructions of a VAX, section 7. */
enum { VAX_START = 13, VAX_STOP = 7, VAX_SKIP = 4, VAX_DECREMENT = 6, VAX_EXPIRE = 9 };

static void start(struct stand *s, uint32_t id, uint64_t delay)
{
    stand_start(s, id, s->clock + delay);
}

/* Uniform, of the mean T. */
static uint64_t some_interval(struct stand *s, uint64_t mean)
{
    return 1 + stand_draw(s, 2 * mean - 1);
}

/* As it fires, with an interval of the mean in `ctx`. */
static void start_again(struct stand *s, uint32_t id, uint64_t due)
{
    (void)due;
    start(s, id, some_interval(s, *(uint64_t *)s->ctx));
}

/* Tick by tick, as in a host with an interrupt at every tick. */
static void tick(struct stand *s, uint64_t ticks)
{
    while (ticks-- > 0) {
        (void)stand_advance(s, s->clock + 1);
    }
}

/* --- one operation among n ------------------------------------------------------------------- */

#define SAMPLE 1000u

struct scheme {
    const char *name;
    const char *options;
    /* Compares of a start: from a + b * n to c + d * n. */
    double start_low;
    double start_low_share;
    double start_high;
    double start_high_share;
    uint64_t stop_moves;
    /* Compares of a tick, at most: a share of n, and a constant. */
    double tick_share;
    double tick_constant;
    uint64_t tick_slots; /* visited in 1000 ticks */
};

static const struct scheme schemes[] = {
    {"unordered-list", "", 0, 0, 0, 0, 2, 1, 0, 0},
    {"ordered-list", "", 0, 0.45, 0, 0.55, 1, 0, 1, 0},
    {"simple-wheel", "", 0, 0, 0, 0, 1, 0, 0, 1000},
    {"hashed-ordered-wheel", ROUNDS, 0, 0.4 / TABLE_SIZE, 1, 0.6 / TABLE_SIZE, 1, 0, 1, 1000},
    {"round-wheel", ROUNDS, 0, 0, 0, 0, 1, 1.0 / TABLE_SIZE, 0, 1000},
    {"cascading-wheel", CASCADES, 1, 0, LEVELS, 0, 1, 0, 0, 1000 + 1000 / 64 + 1},
};

static void expect_between(const struct scheme *scheme, uint32_t n, const char *what, double found,
                           double low, double high)
{
    if (found < low || found > high) {
        fail_msg("%s with %u timers: %s %.3f, not from %.3f to %.3f", scheme->name, n, what, found,
                 low, high);
    }
}

static void cost_among(const struct scheme *scheme, uint32_t n)
{
    struct stand s;
    stand_open(&s, scheme->name, scheme->options, .capacity = n + SAMPLE, .max_delay_ticks = 60000);
    /* In the order of their deadlines, so that the list is quickly made. */
    for (uint32_t id = 0; id < n; id++) {
        start(&s, id, 30000 + UINT64_C(30000) * id / n);
    }

    struct tl_counters before = stand_counters(&s);
    for (uint32_t i = 0; i < SAMPLE; i++) {
        start(&s, n + i, 30000 + stand_draw(&s, 30000));
    }
    struct tl_counters starts = stand_since(&s, &before);
    assert_int_equal(starts.moves, SAMPLE);
    assert_int_equal(starts.slots, 0);
    expect_between(scheme, n, "compares of a start", (double)starts.compares / SAMPLE,
                   scheme->start_low + scheme->start_low_share * n,
                   scheme->start_high + scheme->start_high_share * (n + SAMPLE));

    before = stand_counters(&s);
    for (uint32_t i = 0; i < SAMPLE; i++) {
        assert_int_equal(stand_stop(&s, (i * 7919) % n), TL_OK);
    }
    struct tl_counters stops = stand_since(&s, &before);
    assert_int_equal(stops.moves, SAMPLE * scheme->stop_moves);
    assert_int_equal(stops.slots, 0);

    /* As many as there were: n. Whole turns, and then 1000 ticks. */
    tick(&s, 4 * TABLE_SIZE);
    before = stand_counters(&s);
    tick(&s, 1000);
    struct tl_counters ticks = stand_since(&s, &before);
    assert_int_equal(s.fired, 0);
    assert_int_equal(ticks.cascades, 0);
    assert_in_range(ticks.slots, scheme->tick_slots > 0 ? 1000 : 0, scheme->tick_slots);
    /* 1000 ticks are 4 turns but for 24 ticks: the timers in those slots may be more than most. */
    double most = scheme->tick_share * n + scheme->tick_constant;
    expect_between(scheme, n, "compares of a tick", (double)ticks.compares / 1000,
                   0.9 * scheme->tick_share * n, 1.03 * most);
    stand_close(&s);
}

static void each_operation_costs_what_is_published(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        bool slow = (tl_registry_find(schemes[i].name)->timed->capabilities & TL_CAP_SLOW) != 0;
        for (uint32_t n = 1000; n <= (slow ? 10000 : 100000); n *= 10) {
            cost_among(&schemes[i], n);
        }
    }
}

/* --- scheme 6 -------------------------------------------------------------------------------- */

/* "Every TableSize ticks we decrement once all timers that are still living", however they are
 * spread over the slots. */
static void scheme_6_looks_once_a_turn_at_each_timer(void **state)
{
    (void)state;
    for (uint32_t slots_used = 1; slots_used <= TABLE_SIZE; slots_used *= 16) {
        struct stand s;
        stand_open(&s, "round-wheel", ROUNDS, .capacity = 1000);
        for (uint32_t id = 0; id < 1000; id++) {
            start(&s, id, 100 * TABLE_SIZE + stand_draw(&s, slots_used));
        }
        for (int turn = 0; turn < 10; turn++) {
            struct tl_counters before = stand_counters(&s);
            tick(&s, TABLE_SIZE);
            struct tl_counters counts = stand_since(&s, &before);
            assert_int_equal(counts.compares, 1000);
            assert_int_equal(counts.slots, TABLE_SIZE);
        }
        stand_close(&s);
    }
}

/* "Even if we assume that every outstanding timer expires during one scan of the table, the average
 * cost per tick is 4 + 15 * n/TableSize instructions." */
static void a_scan_costs_4_and_15_instructions(void **state)
{
    (void)state;
    for (uint32_t n = 16; n <= 16384; n *= 4) {
        struct stand s;
        stand_open(&s, "round-wheel", ROUNDS, .capacity = n);
        for (uint32_t id = 0; id < n; id++) {
            start(&s, id, 1 + stand_draw(&s, TABLE_SIZE));
        }
        struct tl_counters before = stand_counters(&s);
        tick(&s, TABLE_SIZE);
        struct tl_counters counts = stand_since(&s, &before);
        uint64_t instructions =
            VAX_SKIP * counts.slots + VAX_DECREMENT * counts.compares + VAX_EXPIRE * s.fired;
        assert_int_equal(instructions, 4 * TABLE_SIZE + 15 * n);
        assert_int_equal(stand_count(&s), 0);
        stand_close(&s);
    }
}

/* --- schemes 6 and 7 ------------------------------------------------------------------------- */

struct timer_life {
    double touches; /* how often time passing touches a timer before it fires */
    double steps;   /* all that is counted, from start to start */
};

/* n timers that are started again as they fire, over four mean intervals. */
static struct timer_life life_of(const char *name, const char *options, bool decrements,
                                 uint64_t mean_interval)
{
    const uint32_t n = 2000;
    struct stand s;
    stand_open(&s, name, options, .capacity = n);
    s.on_expiry = start_again;
    s.ctx = &mean_interval;
    for (uint32_t id = 0; id < n; id++) {
        start(&s, id, some_interval(&s, mean_interval));
    }
    tick(&s, 2 * mean_interval);
    struct tl_counters before = stand_counters(&s);
    uint64_t fired = s.fired;
    tick(&s, 4 * mean_interval);
    struct tl_counters counts = stand_since(&s, &before);
    double fires = (double)(s.fired - fired);
    /* Scheme 6 looks at a timer once to fire it, and before that to decrement it. */
    double touches =
        decrements ? (double)counts.compares / fires - 1 : (double)counts.cascades / fires;
    stand_close(&s);
    return (struct timer_life){
        .touches = touches,
        .steps = (double)(counts.compares + counts.moves + counts.slots) / fires,
    };
}

/* What section 6.2 predicts: T/M decrements, or rather the mean of floor((d - 1) / M). */
static double decrements_of(uint64_t mean_interval)
{
    double sum = 0;
    for (uint64_t d = 1; d < 2 * mean_interval; d++) {
        sum += (double)((d - 1) / TABLE_SIZE);
    }
    return sum / (double)(2 * mean_interval - 1);
}

static void scheme_7_overtakes_scheme_6_where_predicted(void **state)
{
    (void)state;
    double crossing = 0; /* T/M at which scheme 7 touches a timer less often, and stays so */
    double crossing_in_steps = 0;
    for (uint64_t t = TABLE_SIZE / 4; t <= 32 * TABLE_SIZE; t *= 2) {
        double ratio = (double)t / TABLE_SIZE;
        struct timer_life six = life_of("round-wheel", ROUNDS, true, t);
        struct timer_life seven = life_of("cascading-wheel", CASCADES, false, t);
        double predicted = decrements_of(t);
        if (six.touches < 0.96 * predicted - 0.02 || six.touches > 1.04 * predicted + 0.02) {
            fail_msg("T/M = %.2f: scheme 6 decrements %.3f times, predicted %.3f", ratio,
                     six.touches, predicted);
        }
        assert_true(six.touches <= ratio + 0.02);   /* c6 T/M */
        assert_true(seven.touches <= LEVELS - 1.0); /* c7 m, and the first level fires */
        bool overtaken = seven.touches < six.touches;
        crossing = !overtaken ? 0 : crossing > 0 ? crossing : ratio;
        bool overtaken_in_steps = seven.steps < six.steps;
        crossing_in_steps = !overtaken_in_steps     ? 0
                            : crossing_in_steps > 0 ? crossing_in_steps
                                                    : ratio;
    }
    /* With c6 = c7 the lines T/M and m meet at T/M = m, and no later, since m is an upper bound. */
    assert_true(crossing > 1 && crossing <= LEVELS);
    /* A cascade takes more steps than a decrement, though not drastically: c7 < 4 c6. */
    assert_true(crossing_in_steps >= crossing && crossing_in_steps < 4.0 * LEVELS);
}

/* A timer moves at most once for each level that it is above the first. */
static void scheme_7_moves_a_timer_once_a_level(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "cascading-wheel", CASCADES, .capacity = 1);
    uint64_t width = 1;
    for (uint32_t level = 1; level <= LEVELS; level++, width *= 64) {
        for (uint32_t i = 0; i < 50 / (level * level); i++) {
            struct tl_counters before = stand_counters(&s);
            uint64_t fired = s.fired;
            start(&s, 0, width + stand_draw(&s, 3 * width));
            while (s.fired == fired) {
                tick(&s, 1);
            }
            assert_in_range(stand_since(&s, &before).cascades, 0, level - 1);
        }
        /* And so often if no slot's boundary saves one. */
        struct tl_counters before = stand_counters(&s);
        uint64_t due = (s.clock / (64 * width) + 2) * 64 * width - 1;
        if (level < LEVELS) {
            start(&s, 0, due - s.clock);
            tick(&s, due - s.clock);
            assert_int_equal(stand_since(&s, &before).cascades, level);
        }
    }
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_costs_what_is_published),
        cmocka_unit_test(scheme_6_looks_once_a_turn_at_each_timer),
        cmocka_unit_test(a_scan_costs_4_and_15_instructions),
        cmocka_unit_test(scheme_7_overtakes_scheme_6_where_predicted),
        cmocka_unit_test(scheme_7_moves_a_timer_once_a_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
