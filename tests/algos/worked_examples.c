/*
 * Worked examples with answers known beforehand: the textbook's small wheels, Dubbo's placement,
 * Kafka's clock, and an idle timer that every heartbeat pushes back.
 *
 * Texts count slots from 1, walks from 0: "slot 2" is slot 1 here.
 */
#include "registry.h"

#include "place.h"
#include "test.h"

#include <stdio.h>

/* --- a structure under test ------------------------------------------------------------------ */

#define FIRED_MAX 16

struct bench {
    const struct tl_algo *algo;
    void *self;
    struct tl_memory memory;
    uint32_t fired[FIRED_MAX]; /* ids, in order, since the last advance began */
    uint64_t fired_count;
};

static void bench_open(struct bench *b, const char *name, const char *options, uint64_t now,
                       uint64_t max_delay_ticks)
{
    char why[256] = "";
    TL_OPTION_VALUES(values);
    const struct tl_entry *entry = tl_registry_find(name);
    assert_non_null(entry);
    b->algo = entry->counted;
    if (tl_options_parse(b->algo, options, values, why, sizeof why) != TL_OK) {
        fail_msg("%s:%s: %s", name, options, why);
    }
    tl_counting_allocator(&b->memory, tl_system_allocator());
    struct tl_config config = {
        .capacity = 8,
        .now = now,
        .max_delay_ticks = max_delay_ticks,
        .options = values,
        .allocator = &b->memory.allocator,
    };
    assert_int_equal(b->algo->create(&config, &b->self), TL_OK);
}

static void bench_close(struct bench *b)
{
    b->algo->destroy(b->self);
    assert_int_equal(b->memory.bytes, 0);
}

static void note_firing(void *ctx, uint32_t id, uint64_t now)
{
    (void)now;
    struct bench *b = ctx;
    assert_true(b->fired_count < FIRED_MAX);
    b->fired[b->fired_count++] = id;
}

/* Advances to `now`, and returns how many fired. */
static uint64_t tick(struct bench *b, uint64_t now)
{
    b->fired_count = 0;
    return b->algo->advance(b->self, now, TL_NO_BUDGET, note_firing, b);
}

/* Starts timer 0 and advances tick by tick from after `clock`; returns the tick at which it fires,
 * at most `last`, or TL_NEVER. */
static uint64_t fires_at(struct bench *b, uint64_t clock, uint64_t deadline, uint64_t last)
{
    assert_int_equal(b->algo->start(b->self, 0, deadline), TL_OK);
    for (uint64_t now = clock + 1; now <= last; now++) {
        if (tick(b, now) > 0) {
            return now;
        }
    }
    return TL_NEVER;
}

static struct place place_of(const struct bench *b, uint32_t id)
{
    struct place place = place_find(b->algo, b->self, id);
    assert_true(place.pending);
    return place;
}

/* --- the simple wheel ------------------------------------------------------------------------ */

static void simple_wheel_of_three_slots(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_open(&b, "simple-wheel", "slots=3", 0, 0);
    assert_int_equal(b.algo->start(b.self, 0, 1), TL_OK);
    assert_int_equal(place_of(&b, 0).level, 1);
    assert_int_equal(place_of(&b, 0).slot, 1);
    assert_int_equal(place_of(&b, 0).to, 1);
    assert_int_equal(tick(&b, 1), 1);
    assert_int_equal(b.algo->start(b.self, 1, 1 + 2), TL_OK);
    assert_int_equal(place_of(&b, 1).slot, 0);
    assert_int_equal(place_of(&b, 1).to, 3);
    assert_int_equal(b.algo->start(b.self, 2, 1 + 3), TL_ERR_HORIZON);
    /* What was refused changed nothing: timer 1 keeps its deadline. */
    assert_int_equal(b.algo->start(b.self, 1, 1 + 3), TL_ERR_HORIZON);
    assert_int_equal(b.algo->count(b.self), 1);
    assert_int_equal(tick(&b, 2), 0);
    assert_int_equal(tick(&b, 3), 1);
    assert_int_equal(b.fired[0], 1);
    bench_close(&b);
}

static void simple_wheel_horizon_is_the_same_at_every_clock(void **state)
{
    (void)state;
    for (uint64_t ticks = 1; ticks <= 7; ticks++) {
        for (uint64_t clock = 0; clock < 30; clock++) {
            struct bench b = {0};
            char options[40];
            (void)snprintf(options, sizeof options, "slots=4:tick=%d", (int)ticks);
            bench_open(&b, "simple-wheel", options, clock, 0);
            for (uint64_t delay = 0; delay < 4 * ticks + 3; delay++) {
                assert_int_equal(b.algo->start(b.self, 1, clock + delay),
                                 delay < 4 * ticks ? TL_OK : TL_ERR_HORIZON);
            }
            assert_int_equal(b.algo->stop(b.self, 1), TL_OK);
            uint64_t deadline = clock + 4 * ticks - 1;
            uint64_t rounded = (deadline + ticks - 1) / ticks * ticks;
            uint64_t due = deadline > clock ? rounded : clock + 1;
            assert_int_equal(fires_at(&b, clock, deadline, clock + 100), due);
            bench_close(&b);
        }
    }
}

static void simple_wheel_sizes_itself(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_open(&b, "simple-wheel", "", 100, 5000);
    assert_int_equal(b.algo->start(b.self, 0, 100 + 5000), TL_OK);
    assert_int_equal(b.algo->start(b.self, 0, 100 + 5001), TL_ERR_HORIZON);
    uint64_t small = b.memory.bytes;
    bench_close(&b);
    /* Nothing announced: 65536 slots. */
    bench_open(&b, "simple-wheel", "", 100, 0);
    assert_int_equal(b.algo->start(b.self, 0, 100 + 65535), TL_OK);
    assert_int_equal(b.algo->start(b.self, 0, 100 + 65536), TL_ERR_HORIZON);
    bench_close(&b);
    /* The memory that a long delay costs shows; a tick buys it back. */
    bench_open(&b, "simple-wheel", "", 100, 500000);
    assert_true(b.memory.bytes > 50 * small);
    bench_close(&b);
    bench_open(&b, "simple-wheel", "tick=100", 100, 500000);
    assert_int_equal(b.algo->start(b.self, 0, 100 + 500000), TL_OK);
    assert_true(b.memory.bytes < 2 * small);
    bench_close(&b);
    /* More than any array holds. */
    void *self = NULL;
    TL_OPTION_VALUES(values);
    tl_options_default(b.algo, values);
    struct tl_config config = {.max_delay_ticks = UINT64_C(1) << 62,
                               .options = values,
                               .allocator = tl_system_allocator()};
    assert_int_equal(b.algo->create(&config, &self), TL_ERR_OPTION);
}

/* --- the wheel with rounds ------------------------------------------------------------------- */

static void round_wheel_of_three_slots(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_open(&b, "round-wheel", "slots=3:pow2=no", 0, 0);
    assert_int_equal(b.algo->start(b.self, 0, 4), TL_OK);
    assert_int_equal(place_of(&b, 0).rounds, 1);
    assert_int_equal(place_of(&b, 0).slot, 1);
    assert_int_equal(place_of(&b, 0).to, 1); /* and a turn of three later */
    assert_int_equal(tick(&b, 1), 0);        /* passed over, one round less */
    assert_int_equal(place_of(&b, 0).rounds, 0);
    assert_int_equal(place_of(&b, 0).to, 4);
    assert_int_equal(tick(&b, 2), 0);
    assert_int_equal(tick(&b, 3), 0);
    assert_int_equal(tick(&b, 4), 1);
    bench_close(&b);
}

static void round_wheel_of_twelve_slots(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_open(&b, "round-wheel", "slots=12:pow2=no", 0, 0);
    assert_int_equal(fires_at(&b, 0, 13, 100), 13);
    /* A multiple of the turn is neither a turn early nor a turn late. */
    assert_int_equal(fires_at(&b, 13, 13 + 12, 100), 25);
    assert_int_equal(fires_at(&b, 25, 25 + 36, 100), 61);
    bench_close(&b);
}

static void round_wheel_rounds_its_slots_up(void **state)
{
    (void)state;
    char why[256] = "";
    TL_OPTION_VALUES(values);
    struct bench b = {0};
    bench_open(&b, "round-wheel", "slots=500", 0, 0);
    assert_int_equal(b.algo->start(b.self, 0, 511), TL_OK);
    assert_int_equal(place_of(&b, 0).slot, 511);
    assert_int_equal(b.algo->start(b.self, 0, 512), TL_OK);
    assert_int_equal(place_of(&b, 0).slot, 0);
    assert_int_equal(place_of(&b, 0).rounds, 0);
    assert_int_equal(b.algo->start(b.self, 0, 513), TL_OK);
    assert_int_equal(place_of(&b, 0).slot, 1);
    assert_int_equal(place_of(&b, 0).rounds, 1);
    assert_int_equal(tl_options_parse(b.algo, "slots=1Gi", values, why, sizeof why), TL_OK);
    assert_int_equal(tl_options_parse(b.algo, "slots=1073741825", values, why, sizeof why),
                     TL_ERR_OPTION);
    assert_int_equal(tl_options_parse(b.algo, "pow2=1", values, why, sizeof why), TL_ERR_OPTION);
    bench_close(&b);
}

/* Dubbo's formula, its deadline and clock in units of the tick: `current` is the bucket that the
 * hand visits next. */
static void round_wheel_places_as_dubbo_does(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        uint64_t slots;
        uint64_t ticks;
    } wheels[] = {
        {"slots=8", 8, 1},
        {"slots=8:tick=10", 8, 10},
        {"slots=5:pow2=no", 5, 1},
        {"slots=5:pow2=no:tick=3", 5, 3},
    };
    for (size_t w = 0; w < sizeof wheels / sizeof wheels[0]; w++) {
        uint64_t slots = wheels[w].slots;
        uint64_t ticks = wheels[w].ticks;
        for (uint64_t clock = 0; clock < 50; clock++) {
            struct bench b = {0};
            bench_open(&b, "round-wheel", wheels[w].options, clock, 0);
            uint64_t current = clock / ticks + 1;
            for (uint64_t deadline = 0; deadline < 200; deadline++) {
                assert_int_equal(b.algo->start(b.self, 0, deadline), TL_OK);
                struct place place = place_of(&b, 0);
                if (deadline <= clock) {
                    assert_int_equal(place.level, 0); /* does not wait for the hand */
                    continue;
                }
                uint64_t due = (deadline + ticks - 1) / ticks;
                assert_int_equal(place.level, 1);
                assert_int_equal(place.rounds, (due - current) / slots);
                assert_int_equal(place.slot, (due > current ? due : current) % slots);
                assert_int_equal(place.to + place.rounds * slots * ticks, due * ticks);
            }
            bench_close(&b);
        }
    }
}

/* --- the hierarchical wheel ------------------------------------------------------------------ */

static void hier_wheel_of_three_slots(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_open(&b, "hier-wheel", "slots=3", 0, 0);
    assert_int_equal(b.algo->start(b.self, 0, 2), TL_OK);
    assert_int_equal(place_of(&b, 0).level, 1);
    assert_int_equal(place_of(&b, 0).slot, 2);
    assert_int_equal(b.algo->start(b.self, 1, 4), TL_OK);
    assert_int_equal(place_of(&b, 1).level, 2);
    assert_int_equal(place_of(&b, 1).slot, 1);
    assert_int_equal(place_of(&b, 1).from, 3);
    assert_int_equal(tick(&b, 1), 0);
    assert_int_equal(tick(&b, 2), 1);
    assert_int_equal(b.fired[0], 0);
    assert_int_equal(tick(&b, 3), 0); /* filed again */
    assert_int_equal(place_of(&b, 1).level, 1);
    assert_int_equal(place_of(&b, 1).slot, 1);
    assert_int_equal(place_of(&b, 1).from, 4);
    assert_int_equal(tick(&b, 4), 1);
    assert_int_equal(b.fired[0], 1);
    bench_close(&b);
}

static void hier_wheel_keeps_kafkas_clock(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        uint64_t at_5, at_23, at_230;
    } cases[] = {
        {"tick=20:slots=10:rounding=floor", 1, 20, 220},
        {"tick=20:slots=10:rounding=ceil", 20, 40, 240},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench b = {0};
        bench_open(&b, "hier-wheel", cases[i].options, 0, 0);
        assert_int_equal(fires_at(&b, 0, 5, 500), cases[i].at_5);
        bench_close(&b);
        bench_open(&b, "hier-wheel", cases[i].options, 0, 0);
        assert_int_equal(fires_at(&b, 0, 23, 500), cases[i].at_23);
        bench_close(&b);

        bench_open(&b, "hier-wheel", cases[i].options, 0, 0);
        assert_int_equal(b.algo->start(b.self, 0, 230), TL_OK);
        assert_int_equal(place_of(&b, 0).level, 2);
        assert_int_equal(place_of(&b, 0).slot, 1);
        assert_int_equal(b.algo->next(b.self), 200);
        assert_int_equal(tick(&b, 199), 0);
        assert_int_equal(place_of(&b, 0).level, 2);
        assert_int_equal(tick(&b, 200), 0); /* taken from level 2 */
        assert_int_equal(place_of(&b, 0).level, 1);
        assert_int_equal(b.algo->next(b.self), cases[i].at_230);
        assert_int_equal(tick(&b, cases[i].at_230 - 1), 0);
        assert_int_equal(tick(&b, cases[i].at_230), 1);
        assert_int_equal(b.algo->next(b.self), TL_NEVER);
        bench_close(&b);
    }
}

/* Level 3 has buckets of 2000 ticks; the delay queue leads from bucket to bucket. */
static void hier_wheel_goes_from_bucket_to_bucket(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_open(&b, "hier-wheel", "tick=20:slots=10", 0, 0);
    assert_int_equal(b.algo->start(b.self, 0, 2310), TL_OK);
    assert_int_equal(place_of(&b, 0).level, 3);
    assert_int_equal(place_of(&b, 0).from, 2000);
    assert_int_equal(b.algo->start(b.self, 1, 45), TL_OK);
    assert_int_equal(b.algo->next(b.self), 40);
    assert_int_equal(tick(&b, 40), 1);
    /* A bucket that a stop emptied is still waited for. */
    assert_int_equal(b.algo->start(b.self, 1, 100), TL_OK);
    assert_int_equal(b.algo->stop(b.self, 1), TL_OK);
    assert_int_equal(b.algo->next(b.self), 100);
    assert_int_equal(tick(&b, 100), 0);
    assert_int_equal(b.algo->next(b.self), 2000);
    assert_int_equal(tick(&b, 2000), 0);
    assert_int_equal(place_of(&b, 0).level, 2);
    assert_int_equal(b.algo->next(b.self), 2200);
    assert_int_equal(tick(&b, 2200), 0);
    assert_int_equal(place_of(&b, 0).level, 1);
    assert_int_equal(b.algo->next(b.self), 2300);
    assert_int_equal(tick(&b, 2300), 1);
    assert_int_equal(b.algo->next(b.self), TL_NEVER);
    bench_close(&b);
}

/* Without memory for an overflow wheel a timer waits in the furthest bucket there is. */
static void hier_wheel_does_without_overflow_wheels(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_open(&b, "hier-wheel", "slots=10", 0, 0);
    b.memory.limit_bytes = b.memory.bytes;
    assert_int_equal(b.algo->start(b.self, 0, 25), TL_OK);
    assert_int_equal(place_of(&b, 0).level, 1);
    assert_int_equal(place_of(&b, 0).from, 9);
    assert_int_equal(tick(&b, 9), 0);
    assert_int_equal(place_of(&b, 0).from, 18);
    b.memory.limit_bytes = UINT64_MAX;
    assert_int_equal(tick(&b, 18), 0);
    assert_int_equal(place_of(&b, 0).from, 25);
    assert_int_equal(b.algo->start(b.self, 1, 100), TL_OK);
    assert_int_equal(place_of(&b, 1).level, 2);
    assert_int_equal(tick(&b, 24), 0);
    assert_int_equal(tick(&b, 25), 1);
    assert_int_equal(b.fired[0], 0);
    assert_int_equal(tick(&b, 99), 0);
    assert_int_equal(tick(&b, 100), 1);
    bench_close(&b);
}

/* Nor does a jump over very many turns of its one level visit them: the work done is that of the
 * slots and timers, whatever the distance. The level that is missing is made once there is memory.
 */
static void hier_wheel_jumps_without_overflow_wheels(void **state)
{
    (void)state;
    const uint64_t far = UINT64_C(1) << 60;
    struct bench b = {0};
    bench_open(&b, "hier-wheel", "slots=10", 0, 0);
    b.memory.limit_bytes = b.memory.bytes;
    assert_int_equal(b.algo->start(b.self, 0, far), TL_OK);
    assert_int_equal(b.algo->start(b.self, 1, far / 2), TL_OK);
    assert_int_equal(b.algo->start(b.self, 2, 5), TL_OK);
    assert_int_equal(tick(&b, far / 2), 2);
    assert_int_equal(place_of(&b, 0).from, far / 2 + 9);
    assert_int_equal(tick(&b, far - 13), 0);
    assert_int_equal(place_of(&b, 0).from, far - 4);
    struct tl_counters counters;
    b.algo->counters(b.self, &counters);
    assert_true(counters.slots < 10);
    assert_true(counters.moves < 20);
    b.memory.limit_bytes = UINT64_MAX;
    assert_int_equal(tick(&b, far - 3), 0);
    assert_int_equal(place_of(&b, 0).from, far);
    assert_int_equal(b.algo->start(b.self, 1, far + 50), TL_OK);
    assert_int_equal(place_of(&b, 1).level, 2);
    assert_int_equal(tick(&b, far - 1), 0);
    assert_int_equal(tick(&b, far), 1);
    assert_int_equal(b.fired[0], 0);
    assert_int_equal(tick(&b, far + 50), 1);
    char why[256];
    assert_int_equal(b.algo->check(b.self, why, sizeof why), TL_OK);
    bench_close(&b);
}

/* --- the sorted array ------------------------------------------------------------------------ */

/* The head of the file: 20, 8, 3 and 3, then one more for 8, which fires after the earlier one; and
 * timer 1, stopped among those of its tick. */
static void sorted_array_of_four(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_open(&b, "sorted-array", "", 0, 0);
    static const uint64_t starts[][2] = {{7, 3}, {1, 3}, {4, 8}, {0, 20}, {5, 8}};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(b.algo->start(b.self, (uint32_t)starts[i][0], starts[i][1]), TL_OK);
    }
    assert_int_equal(b.algo->stop(b.self, 1), TL_OK);
    assert_int_equal(b.algo->stop(b.self, 1), TL_IDLE);
    assert_int_equal(b.algo->next(b.self), 3);
    assert_int_equal(tick(&b, 2), 0);
    assert_int_equal(tick(&b, 3), 1);
    assert_int_equal(b.fired[0], 7);
    assert_int_equal(tick(&b, 20), 3);
    assert_int_equal(b.fired[0], 4);
    assert_int_equal(b.fired[1], 5);
    assert_int_equal(b.fired[2], 0);
    bench_close(&b);
}

/* --- expiry by sampling ---------------------------------------------------------------------- */

/* Cycles at 10, 20, ... look at two timers each. At 10 timers 0 and 1 are looked at, of which 0 is
 * due: a half is more than 50 percent less one, so the cycle goes on with 2 and 3, of which none is.
 * Timer 4, due at 5, waits for the cycle at 20, whose sample is 4 and 5. */
static void sampling_of_two(void **state)
{
    (void)state;
    struct bench b = {0};
    bench_open(&b, "sampling-expiry", "period=10:sample=2:stale=49", 0, 0);
    static const uint64_t deadlines[] = {5, 90, 90, 90, 5, 90};
    for (uint32_t id = 0; id < 6; id++) {
        assert_int_equal(b.algo->start(b.self, id, deadlines[id]), TL_OK);
    }
    assert_int_equal(b.algo->next(b.self), 10);
    assert_int_equal(tick(&b, 9), 0);
    assert_int_equal(tick(&b, 10), 1);
    assert_int_equal(b.fired[0], 0);
    assert_int_equal(tick(&b, 19), 0);
    assert_int_equal(tick(&b, 20), 1);
    assert_int_equal(b.fired[0], 4);
    /* The four others are due at 90; all of a sample are, so that one cycle finds them. */
    assert_int_equal(b.algo->count(b.self), 4);
    assert_int_equal(tick(&b, 89), 0);
    assert_int_equal(b.algo->next(b.self), 90);
    assert_int_equal(tick(&b, 90), 4);
    assert_int_equal(b.algo->next(b.self), TL_NEVER);
    bench_close(&b);
}

/* --- every structure ------------------------------------------------------------------------- */

/* A connection's idle timer, restarted at every heartbeat, fires 60 s after the last of them and
 * never before, but by as much as is declared. One tick is 1 ms. */
static void idle_timer_fires_after_the_last_heartbeat(void **state)
{
    (void)state;
    for (size_t i = 0; i < tl_registry_count(); i++) {
        const struct tl_algo *algo = tl_registry_at(i)->counted;
        if ((algo->capabilities & TL_CAP_FIRES_NOTHING) != 0) {
            continue;
        }
        TL_OPTION_VALUES(options);
        tl_options_default(algo, options);
        struct tl_precision precision = tl_algo_precision(algo, options, 60000);
        struct bench b = {0};
        bench_open(&b, algo->name, "", 0, 60000);
        uint64_t now = 0;
        for (int heartbeat = 0; heartbeat < 40; heartbeat++) {
            assert_int_equal(algo->start(b.self, 3, now + 60000), TL_OK);
            uint64_t silence = heartbeat % 2 == 0 ? 29950 : 59000;
            uint64_t longest = 59999 - precision.early_ticks; /* in which nothing may fire */
            silence = silence < longest ? silence : longest;
            for (uint64_t end = now + silence; now < end;) {
                assert_int_equal(tick(&b, ++now), 0);
            }
        }
        assert_int_equal(algo->start(b.self, 3, now + 60000), TL_OK);
        uint64_t due = now + 60000;
        while (tick(&b, ++now) == 0) {
            assert_true(now < due + precision.late_ticks);
        }
        assert_true(now + precision.early_ticks >= due);
        assert_int_equal(b.fired[0], 3);
        assert_int_equal(algo->count(b.self), 0);
        bench_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_wheel_of_three_slots),
        cmocka_unit_test(simple_wheel_horizon_is_the_same_at_every_clock),
        cmocka_unit_test(simple_wheel_sizes_itself),
        cmocka_unit_test(round_wheel_of_three_slots),
        cmocka_unit_test(round_wheel_of_twelve_slots),
        cmocka_unit_test(round_wheel_rounds_its_slots_up),
        cmocka_unit_test(round_wheel_places_as_dubbo_does),
        cmocka_unit_test(hier_wheel_of_three_slots),
        cmocka_unit_test(hier_wheel_keeps_kafkas_clock),
        cmocka_unit_test(hier_wheel_goes_from_bucket_to_bucket),
        cmocka_unit_test(hier_wheel_does_without_overflow_wheels),
        cmocka_unit_test(hier_wheel_jumps_without_overflow_wheels),
        cmocka_unit_test(sorted_array_of_four),
        cmocka_unit_test(sampling_of_two),
        cmocka_unit_test(idle_timer_fires_after_the_last_heartbeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
