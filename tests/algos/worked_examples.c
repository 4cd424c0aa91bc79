/*
 * Worked examples with answers known beforehand: the textbook's small wheels, Dubbo's placement,
 * Kafka's clock, and an idle timer that every heartbeat pushes back.
 *
 * Texts count slots from 1, walks from 0: "slot 2" is slot 1 here.
 */
#include "stand.h"

#include <stdio.h>

/* Starts timer 0 and advances tick by tick; returns the tick at which it fires,
 * at most `last`, or TL_NEVER. */
static uint64_t fires_at(struct stand *s, uint64_t deadline, uint64_t last)
{
    stand_start(s, 0, deadline);
    while (s->clock < last) {
        if (stand_advance(s, s->clock + 1) > 0) {
            return s->clock;
        }
    }
    return TL_NEVER;
}

/* --- the simple wheel ------------------------------------------------------------------------ */

static void simple_wheel_of_three_slots(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "simple-wheel", "slots=3", .capacity = 8);
    stand_start(&s, 0, 1);
    assert_int_equal(stand_place(&s, 0).level, 1);
    assert_int_equal(stand_place(&s, 0).slot, 1);
    assert_int_equal(stand_place(&s, 0).to, 1);
    assert_int_equal(stand_advance(&s, 1), 1);
    stand_start(&s, 1, 1 + 2);
    assert_int_equal(stand_place(&s, 1).slot, 0);
    assert_int_equal(stand_place(&s, 1).to, 3);
    assert_int_equal(stand_try_start(&s, 2, 1 + 3), TL_ERR_HORIZON);
    /* A refused start changes nothing: timer 1 keeps its deadline. */
    assert_int_equal(stand_try_start(&s, 1, 1 + 3), TL_ERR_HORIZON);
    assert_int_equal(stand_count(&s), 1);
    assert_int_equal(stand_advance(&s, 2), 0);
    assert_int_equal(stand_advance(&s, 3), 1);
    assert_int_equal(s.ids[0], 1);
    stand_close(&s);
}

static void simple_wheel_horizon_is_the_same_at_every_clock(void **state)
{
    (void)state;
    for (uint64_t ticks = 1; ticks <= 7; ticks++) {
        for (uint64_t clock = 0; clock < 30; clock++) {
            struct stand s;
            char options[40];
            (void)snprintf(options, sizeof options, "slots=4:tick=%d", (int)ticks);
            stand_open(&s, "simple-wheel", options, .capacity = 8, .now = clock);
            for (uint64_t delay = 0; delay < 4 * ticks + 3; delay++) {
                assert_int_equal(stand_try_start(&s, 1, clock + delay),
                                 delay < 4 * ticks ? TL_OK : TL_ERR_HORIZON);
            }
            assert_int_equal(stand_stop(&s, 1), TL_OK);
            uint64_t deadline = clock + 4 * ticks - 1;
            uint64_t rounded = (deadline + ticks - 1) / ticks * ticks;
            uint64_t due = deadline > clock ? rounded : clock + 1;
            assert_int_equal(fires_at(&s, deadline, clock + 100), due);
            stand_close(&s);
        }
    }
}

static void simple_wheel_sizes_itself(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "simple-wheel", "", .capacity = 8, .now = 100, .max_delay_ticks = 5000);
    stand_start(&s, 0, 100 + 5000);
    assert_int_equal(stand_try_start(&s, 0, 100 + 5001), TL_ERR_HORIZON);
    uint64_t small = s.memory.bytes;
    stand_close(&s);
    /* Nothing announced: 65536 slots. */
    stand_open(&s, "simple-wheel", "", .capacity = 8, .now = 100);
    stand_start(&s, 0, 100 + 65535);
    assert_int_equal(stand_try_start(&s, 0, 100 + 65536), TL_ERR_HORIZON);
    stand_close(&s);
    /* The memory that a long delay costs shows; a tick buys it back. */
    stand_open(&s, "simple-wheel", "", .capacity = 8, .now = 100, .max_delay_ticks = 500000);
    assert_true(s.memory.bytes > 50 * small);
    stand_close(&s);
    stand_open(&s, "simple-wheel", "tick=100", .capacity = 8, .now = 100,
               .max_delay_ticks = 500000);
    stand_start(&s, 0, 100 + 500000);
    assert_true(s.memory.bytes < 2 * small);
    stand_close(&s);
    /* More than any array holds. */
    struct tl_config config = {.max_delay_ticks = UINT64_C(1) << 62};
    assert_int_equal(stand_try(&s, s.algo, "", config), TL_ERR_OPTION);
}

/* --- the wheel with rounds ------------------------------------------------------------------- */

static void round_wheel_of_three_slots(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "round-wheel", "slots=3:pow2=no", .capacity = 8);
    stand_start(&s, 0, 4);
    assert_int_equal(stand_place(&s, 0).rounds, 1);
    assert_int_equal(stand_place(&s, 0).slot, 1);
    assert_int_equal(stand_place(&s, 0).to, 1); /* and a turn of three later */
    assert_int_equal(stand_advance(&s, 1), 0);  /* passed over, one round less */
    assert_int_equal(stand_place(&s, 0).rounds, 0);
    assert_int_equal(stand_place(&s, 0).to, 4);
    assert_int_equal(stand_advance(&s, 2), 0);
    assert_int_equal(stand_advance(&s, 3), 0);
    assert_int_equal(stand_advance(&s, 4), 1);
    stand_close(&s);
}

static void round_wheel_of_twelve_slots(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "round-wheel", "slots=12:pow2=no", .capacity = 8);
    assert_int_equal(fires_at(&s, 13, 100), 13);
    /* A multiple of the turn is neither a turn early nor a turn late. */
    assert_int_equal(fires_at(&s, 13 + 12, 100), 25);
    assert_int_equal(fires_at(&s, 25 + 36, 100), 61);
    stand_close(&s);
}

static void round_wheel_rounds_its_slots_up(void **state)
{
    (void)state;
    char why[256] = "";
    TL_OPTION_VALUES(values);
    struct stand s;
    stand_open(&s, "round-wheel", "slots=500", .capacity = 8);
    stand_start(&s, 0, 511);
    assert_int_equal(stand_place(&s, 0).slot, 511);
    stand_start(&s, 0, 512);
    assert_int_equal(stand_place(&s, 0).slot, 0);
    assert_int_equal(stand_place(&s, 0).rounds, 0);
    stand_start(&s, 0, 513);
    assert_int_equal(stand_place(&s, 0).slot, 1);
    assert_int_equal(stand_place(&s, 0).rounds, 1);
    assert_int_equal(tl_options_parse(s.algo, "slots=1Gi", values, why, sizeof why), TL_OK);
    assert_int_equal(tl_options_parse(s.algo, "slots=1073741825", values, why, sizeof why),
                     TL_ERR_OPTION);
    assert_int_equal(tl_options_parse(s.algo, "pow2=1", values, why, sizeof why), TL_ERR_OPTION);
    stand_close(&s);
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
            struct stand s;
            stand_open(&s, "round-wheel", wheels[w].options, .capacity = 8, .now = clock);
            uint64_t current = clock / ticks + 1;
            for (uint64_t deadline = 0; deadline < 200; deadline++) {
                stand_start(&s, 0, deadline);
                struct place place = stand_place(&s, 0);
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
            stand_close(&s);
        }
    }
}

/* --- the hierarchical wheel ------------------------------------------------------------------ */

static void hier_wheel_of_three_slots(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "hier-wheel", "slots=3", .capacity = 8);
    stand_start(&s, 0, 2);
    assert_int_equal(stand_place(&s, 0).level, 1);
    assert_int_equal(stand_place(&s, 0).slot, 2);
    stand_start(&s, 1, 4);
    assert_int_equal(stand_place(&s, 1).level, 2);
    assert_int_equal(stand_place(&s, 1).slot, 1);
    assert_int_equal(stand_place(&s, 1).from, 3);
    assert_int_equal(stand_advance(&s, 1), 0);
    assert_int_equal(stand_advance(&s, 2), 1);
    assert_int_equal(s.ids[0], 0);
    assert_int_equal(stand_advance(&s, 3), 0); /* filed again */
    assert_int_equal(stand_place(&s, 1).level, 1);
    assert_int_equal(stand_place(&s, 1).slot, 1);
    assert_int_equal(stand_place(&s, 1).from, 4);
    assert_int_equal(stand_advance(&s, 4), 1);
    assert_int_equal(s.ids[0], 1);
    stand_close(&s);
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
        struct stand s;
        stand_open(&s, "hier-wheel", cases[i].options, .capacity = 8);
        assert_int_equal(fires_at(&s, 5, 500), cases[i].at_5);
        stand_close(&s);
        stand_open(&s, "hier-wheel", cases[i].options, .capacity = 8);
        assert_int_equal(fires_at(&s, 23, 500), cases[i].at_23);
        stand_close(&s);

        stand_open(&s, "hier-wheel", cases[i].options, .capacity = 8);
        stand_start(&s, 0, 230);
        assert_int_equal(stand_place(&s, 0).level, 2);
        assert_int_equal(stand_place(&s, 0).slot, 1);
        assert_int_equal(stand_next(&s), 200);
        assert_int_equal(stand_advance(&s, 199), 0);
        assert_int_equal(stand_place(&s, 0).level, 2);
        assert_int_equal(stand_advance(&s, 200), 0); /* taken from level 2 */
        assert_int_equal(stand_place(&s, 0).level, 1);
        assert_int_equal(stand_next(&s), cases[i].at_230);
        assert_int_equal(stand_advance(&s, cases[i].at_230 - 1), 0);
        assert_int_equal(stand_advance(&s, cases[i].at_230), 1);
        assert_int_equal(stand_next(&s), TL_NEVER);
        stand_close(&s);
    }
}

/* Level 3 has buckets of 2000 ticks; the delay queue leads from bucket to bucket. */
static void hier_wheel_goes_from_bucket_to_bucket(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "hier-wheel", "tick=20:slots=10", .capacity = 8);
    stand_start(&s, 0, 2310);
    assert_int_equal(stand_place(&s, 0).level, 3);
    assert_int_equal(stand_place(&s, 0).from, 2000);
    stand_start(&s, 1, 45);
    assert_int_equal(stand_next(&s), 40);
    assert_int_equal(stand_advance(&s, 40), 1);
    /* A bucket that a stop emptied is still waited for. */
    stand_start(&s, 1, 100);
    assert_int_equal(stand_stop(&s, 1), TL_OK);
    assert_int_equal(stand_next(&s), 100);
    assert_int_equal(stand_advance(&s, 100), 0);
    assert_int_equal(stand_next(&s), 2000);
    assert_int_equal(stand_advance(&s, 2000), 0);
    assert_int_equal(stand_place(&s, 0).level, 2);
    assert_int_equal(stand_next(&s), 2200);
    assert_int_equal(stand_advance(&s, 2200), 0);
    assert_int_equal(stand_place(&s, 0).level, 1);
    assert_int_equal(stand_next(&s), 2300);
    assert_int_equal(stand_advance(&s, 2300), 1);
    assert_int_equal(stand_next(&s), TL_NEVER);
    stand_close(&s);
}

/* The memory of all overflow wheels is allocated by create: no start needs any. */
static void hier_wheel_needs_no_memory_for_overflow_wheels(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "hier-wheel", "slots=10", .capacity = 8);
    s.memory.limit_bytes = s.memory.bytes;
    stand_start(&s, 0, 25);
    assert_int_equal(stand_place(&s, 0).level, 2);
    assert_int_equal(stand_place(&s, 0).from, 20);
    stand_start(&s, 1, 100);
    assert_int_equal(stand_place(&s, 1).level, 3);
    assert_int_equal(stand_advance(&s, 24), 0);
    assert_int_equal(stand_place(&s, 0).level, 1);
    assert_int_equal(stand_advance(&s, 25), 1);
    assert_int_equal(s.ids[0], 0);
    assert_int_equal(stand_advance(&s, 99), 0);
    assert_int_equal(stand_advance(&s, 100), 1);
    stand_close(&s);
}

/* A jump over very many turns of the lowest level does not visit them: the work done is that of the
 * buckets and timers, whatever the distance. */
static void hier_wheel_jumps_over_turns(void **state)
{
    (void)state;
    const uint64_t far = UINT64_C(1) << 60;
    struct stand s;
    stand_open(&s, "hier-wheel", "slots=10", .capacity = 8);
    stand_start(&s, 0, far);
    stand_start(&s, 1, far / 2);
    stand_start(&s, 2, 5);
    assert_int_equal(stand_advance(&s, far / 2), 2);
    assert_int_equal(stand_advance(&s, far - 13), 0);
    assert_true(stand_counters(&s).slots < 40);
    assert_true(stand_counters(&s).moves < 40);
    assert_int_equal(stand_advance(&s, far - 3), 0);
    assert_int_equal(stand_place(&s, 0).from, far);
    stand_start(&s, 1, far + 50);
    assert_int_equal(stand_place(&s, 1).level, 2);
    assert_int_equal(stand_advance(&s, far - 1), 0);
    assert_int_equal(stand_advance(&s, far), 1);
    assert_int_equal(s.ids[0], 0);
    assert_int_equal(stand_advance(&s, far + 50), 1);
    stand_close(&s);
}

/* --- the sorted array ------------------------------------------------------------------------ */

/* The head of the file: 20, 8, 3 and 3, then one more for 8, which fires after the earlier one; and
 * timer 1, stopped among those of its tick. */
static void sorted_array_of_four(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "sorted-array", "", .capacity = 8);
    static const uint64_t starts[][2] = {{7, 3}, {1, 3}, {4, 8}, {0, 20}, {5, 8}};
    for (size_t i = 0; i < 5; i++) {
        stand_start(&s, (uint32_t)starts[i][0], starts[i][1]);
    }
    assert_int_equal(stand_stop(&s, 1), TL_OK);
    assert_int_equal(stand_stop(&s, 1), TL_IDLE);
    assert_int_equal(stand_next(&s), 3);
    assert_int_equal(stand_advance(&s, 2), 0);
    assert_int_equal(stand_advance(&s, 3), 1);
    assert_int_equal(s.ids[0], 7);
    assert_int_equal(stand_advance(&s, 20), 3);
    assert_int_equal(s.ids[0], 4);
    assert_int_equal(s.ids[1], 5);
    assert_int_equal(s.ids[2], 0);
    stand_close(&s);
}

/* --- expiry by sampling ---------------------------------------------------------------------- */

/* Cycles at 10, 20, ... sample two timers each. At 10 the sample is 0 and 1, and 0 is due: a half
 * is more than 50 percent less one, so the cycle continues with 2 and 3, and none is due. Timer 4,
 * due at 5, waits for the cycle at 20, with the sample 4 and 5. */
static void sampling_of_two(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "sampling-expiry", "period=10:sample=2:stale=49", .capacity = 8);
    static const uint64_t deadlines[] = {5, 90, 90, 90, 5, 90};
    for (uint32_t id = 0; id < 6; id++) {
        stand_start(&s, id, deadlines[id]);
    }
    assert_int_equal(stand_next(&s), 10);
    assert_int_equal(stand_advance(&s, 9), 0);
    assert_int_equal(stand_advance(&s, 10), 1);
    assert_int_equal(s.ids[0], 0);
    assert_int_equal(stand_advance(&s, 19), 0);
    assert_int_equal(stand_advance(&s, 20), 1);
    assert_int_equal(s.ids[0], 4);
    /* The four others are due at 90; all of a sample are, so that one cycle finds them. */
    assert_int_equal(stand_count(&s), 4);
    assert_int_equal(stand_advance(&s, 89), 0);
    assert_int_equal(stand_next(&s), 90);
    assert_int_equal(stand_advance(&s, 90), 4);
    assert_int_equal(stand_next(&s), TL_NEVER);
    stand_close(&s);
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
        struct stand s;
        stand_open(&s, algo->name, "", .capacity = 8, .max_delay_ticks = 60000);
        struct tl_precision precision = tl_algo_precision(algo, s.options, 60000);
        for (int heartbeat = 0; heartbeat < 40; heartbeat++) {
            stand_start(&s, 3, s.clock + 60000);
            uint64_t silence = heartbeat % 2 == 0 ? 29950 : 59000;
            uint64_t longest = 59999 - precision.early_ticks; /* in which nothing may fire */
            silence = silence < longest ? silence : longest;
            for (uint64_t end = s.clock + silence; s.clock < end;) {
                assert_int_equal(stand_advance(&s, s.clock + 1), 0);
            }
        }
        stand_start(&s, 3, s.clock + 60000);
        uint64_t due = s.clock + 60000;
        while (stand_advance(&s, s.clock + 1) == 0) {
            assert_true(s.clock < due + precision.late_ticks);
        }
        assert_true(s.clock + precision.early_ticks >= due);
        assert_int_equal(s.ids[0], 3);
        assert_int_equal(stand_count(&s), 0);
        stand_close(&s);
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
        cmocka_unit_test(hier_wheel_needs_no_memory_for_overflow_wheels),
        cmocka_unit_test(hier_wheel_jumps_over_turns),
        cmocka_unit_test(sorted_array_of_four),
        cmocka_unit_test(sampling_of_two),
        cmocka_unit_test(idle_timer_fires_after_the_last_heartbeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
