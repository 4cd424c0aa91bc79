/*
 * Heaps, ordered sets and event sets, checked against their sources: the cost that each declares,
 * by its counters and not by a clock; the cancelled timers that marking heaps keep; when a calendar
 * is rebuilt; when a ladder grows a rung; where a radix heap and a find-first-set queue put a
 * deadline.
 */
#include "stand.h"

#include <inttypes.h>
#include <stdio.h>

/* A delay of the uniform kind of Jones's hold model. */
static uint64_t some_delay(struct stand *s, uint64_t mean)
{
    return 1 + stand_draw(s, 2 * mean);
}

/* Each expiry starts the timer again, n / delay of n timers in a tick. */
static void start_again(struct stand *s, uint32_t id, uint64_t due)
{
    (void)due;
    stand_start(s, id, s->clock + some_delay(s, s->capacity));
}

static double log2_of(uint32_t n)
{
    double bits = 0;
    for (; n > 1; n /= 2) {
        bits++;
    }
    return bits;
}

/* --- complexity ------------------------------------------------------------------------------ */

/* Work for one expiry with the start that follows, in a hold of n timers that keep n / delay about
 * one a tick, after one turnover. */
static double hold_work(const char *name, const char *options, uint32_t n)
{
    struct stand s;
    stand_open(&s, name, options, .capacity = n, .now = 1000);
    s.on_expiry = start_again;
    for (uint32_t id = 0; id < n; id++) {
        stand_start(&s, id, s.clock + some_delay(&s, n));
    }
    while (s.fired < (uint64_t)n) {
        (void)stand_advance(&s, stand_next(&s));
    }
    uint64_t work = stand_work(&s);
    uint64_t fired = s.fired;
    while (s.fired < 2 * (uint64_t)n) {
        (void)stand_advance(&s, stand_next(&s));
    }
    double per_hold = (double)(stand_work(&s) - work) / (double)(s.fired - fired);
    stand_close(&s);
    return per_hold;
}

/* Work for one restart to later among n, which moves the timer past half of the others. */
static double restart_work(const char *name, const char *options, uint32_t n)
{
    struct stand s;
    stand_open(&s, name, options, .capacity = n, .now = 1000);
    for (uint32_t id = 0; id < n; id++) {
        stand_start(&s, id, 30000 + stand_draw(&s, 30000));
    }
    uint64_t work = stand_work(&s);
    for (uint32_t i = 0; i < 2 * n; i++) {
        stand_start(&s, (uint32_t)stand_draw(&s, n), 30000 + stand_draw(&s, 30000));
        if (i % (n / 100) == 0) {
            (void)stand_advance(&s, s.clock + 1);
        }
    }
    double per_restart = (double)(stand_work(&s) - work) / (2.0 * n);
    stand_close(&s);
    return per_restart;
}

struct bound {
    const char *name;
    const char *options;
    double hold;    /* most work a hold: times log2 n where `logarithmic`, else as it is */
    double restart; /* and a restart, in the same way */
    bool logarithmic;
};

static const struct bound bounds[] = {
    {"binary-heap", "", 3, 1, true},
    {"dary-heap", "", 3, 1, true},
    {"dary-heap", "arity=2", 3, 1, true},
    {"dary-heap", "arity=3", 3, 1, true},
    {"dary-heap", "arity=16", 6, 1, true},
    {"go-heap", "", 4, 1, true},
    {"brpc-timer", "", 5, 2, true},
    {"pairing-heap", "", 4, 1, true},
    {"skip-list", "", 3, 5, true},
    {"rbtree", "", 2, 2, true},
    {"splay-tree", "", 7, 10, true},
    {"ebtree", "", 4, 2, true},
    {"henriksen-list", "", 4, 3, true},
    {"radix-heap", "", 2, 0.5, true}, /* of the delay, which grows with n here */
    {"calendar-queue", "", 12, 8, false},
    {"snoopy-calendar", "", 12, 8, false},
    {"ladder-queue", "", 12, 8, false},
    {"ffs-queue", "", 12, 4, false},
};

static void work_stays_within_what_is_declared(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        const struct bound *b = &bounds[i];
        for (uint32_t n = 1000; n <= 100000; n *= 10) {
            double unit = b->logarithmic ? log2_of(n) : 1;
            double hold = hold_work(b->name, b->options, n);
            double restart = restart_work(b->name, b->options, n);
            if (hold > b->hold * unit || restart > b->restart * unit) {
                fail_msg("%s:%s with %" PRIu32 " timers: %.1f steps a hold, %.1f a restart",
                         b->name, b->options, n, hold, restart);
            }
        }
    }
}

/* A heap with four children has half the levels, so it moves less. */
static void four_children_move_less_than_two(void **state)
{
    (void)state;
    uint64_t moves[2];
    const char *const options[] = {"arity=2", "arity=4"};
    for (size_t i = 0; i < 2; i++) {
        struct stand s;
        stand_open(&s, "dary-heap", options[i], .capacity = 10000);
        for (uint32_t id = 0; id < 10000; id++) {
            stand_start(&s, id, 1 + stand_draw(&s, 100000));
        }
        (void)stand_advance(&s, 100000);
        moves[i] = stand_counters(&s).moves;
        stand_close(&s);
    }
    assert_true(moves[1] * 10 < moves[0] * 7);
}

static void starts_again_after_all_others(struct stand *s, uint32_t id, uint64_t due)
{
    stand_start(s, id, due + s->capacity);
}

/* A timer started by a callback takes the place of the expired one: the entries on one path move
 * up, and it ends that path. It does not pass through the heap twice. */
static void an_expiry_with_its_start_moves_one_path(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *options;
        uint32_t timers; /* enough to fill every level */
        uint64_t levels;
    } rows[] = {
        {"binary-heap", "", 1023, 10},     {"dary-heap", "arity=2", 1023, 10},
        {"dary-heap", "arity=3", 364, 6},  {"dary-heap", "arity=4", 341, 5},
        {"dary-heap", "arity=16", 273, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stand s;
        stand_open(&s, rows[i].name, rows[i].options, .capacity = rows[i].timers);
        s.on_expiry = starts_again_after_all_others;
        for (uint32_t id = 0; id < rows[i].timers; id++) {
            stand_start(&s, id, 1 + (uint64_t)id);
        }
        struct tl_counters before = stand_counters(&s);
        while (s.clock < 5 * (uint64_t)rows[i].timers) {
            (void)stand_advance(&s, s.clock + 1);
        }
        assert_int_equal(s.fired, s.clock);
        assert_int_equal(stand_since(&s, &before).moves, s.fired * rows[i].levels);
        stand_close(&s);
    }
}

/* --- heaps that only mark -------------------------------------------------------------------- */

/* n timers at a time, of which 99 of 100 are stopped soon; the bytes that this
 * takes at the most. */
static uint64_t bytes_under_cancellation(const char *name, const char *options, uint32_t n)
{
    struct stand s;
    stand_open(&s, name, options, .capacity = n);
    for (uint32_t i = 0; i < 100 * n; i++) {
        uint32_t id = i % n;
        stand_start(&s, id, s.clock + 60000);
        if (i % 100 != 0) {
            assert_int_equal(stand_stop(&s, id), TL_OK);
        }
        if (i % n == 0) {
            (void)stand_advance(&s, s.clock + 1);
        }
    }
    uint64_t bytes = s.memory.peak_bytes;
    stand_close(&s);
    return bytes;
}

static void what_was_stopped_stays_in_the_heap_until_it_is_swept(void **state)
{
    (void)state;
    const uint32_t n = 10000;
    /* Go's timer is in the heap once, whatever becomes of it. */
    assert_true(bytes_under_cancellation("go-heap", "", n) < n * 33);
    /* brpc makes a task for each start, which stays until somebody wakes to empty the buckets. */
    uint64_t one_each = n * 24; /* a task, its place in the heap, and its id */
    uint64_t swept = bytes_under_cancellation("brpc-timer", "wakeup=1", n);
    assert_true(swept < 5 * one_each);
    assert_true(bytes_under_cancellation("brpc-timer", "", n) > 50 * one_each); /* of 1,000,000 */

    struct stand s;
    stand_open(&s, "brpc-timer", "", .capacity = 8);
    stand_start(&s, 3, 10);
    stand_start(&s, 3, 20);
    assert_int_equal(stand_count(&s), 1);
    assert_int_equal(stand_next(&s), 10); /* of a task that was left */
    (void)stand_advance(&s, 10);
    assert_int_equal(s.fired, 0);
    assert_int_equal(stand_next(&s), 20);
    assert_int_equal(stand_stop(&s, 3), TL_OK);
    stand_start(&s, 3, 30); /* the id is used again while its old task is there */
    (void)stand_advance(&s, 29);
    assert_int_equal(s.fired, 0);
    assert_int_equal(stand_count(&s), 1);
    (void)stand_advance(&s, 30);
    assert_int_equal(s.fired, 1);
    stand_close(&s);
}

/* Moving one timer to the next tick again and again makes Go search all of them. */
static void a_restart_to_a_near_tick_goes_through_all_of_gos_heap(void **state)
{
    (void)state;
    const uint32_t n = 10000;
    struct stand s;
    stand_open(&s, "go-heap", "", .capacity = n);
    for (uint32_t id = 0; id < n; id++) {
        stand_start(&s, id, 1000000 + stand_draw(&s, 1000));
    }
    uint64_t work = stand_work(&s);
    for (uint32_t i = 0; i < 10; i++) {
        stand_start(&s, 7, s.clock + 1);
        stand_start(&s, 7, 2000000); /* it never fires */
        (void)stand_advance(&s, s.clock + 1);
    }
    assert_true(stand_work(&s) - work > 10 * (uint64_t)n);
    work = stand_work(&s);
    for (uint32_t i = 0; i < 10; i++) {
        stand_start(&s, 7, 2000000 + i); /* puts it off: nothing to do */
        (void)stand_advance(&s, s.clock + 1);
    }
    assert_true(stand_work(&s) - work < 100);
    stand_close(&s);
}

/* --- the calendar ---------------------------------------------------------------------------- */

/* Moves of one operation show whether all timers were written on new pages. */
static uint64_t moves_of_start(struct stand *s, uint32_t id, uint64_t deadline)
{
    struct tl_counters before = stand_counters(s);
    stand_start(s, id, deadline);
    return stand_since(s, &before).moves;
}

static void a_calendar_is_made_anew_at_twice_and_at_half_the_days(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "calendar-queue", "", .capacity = 100);
    for (uint32_t id = 0; id < 100; id++) {
        /* 2 days, and twice as many when there are more than twice as many timers */
        bool grows = id == 4 || id == 8 || id == 16 || id == 32 || id == 64;
        assert_int_equal(moves_of_start(&s, id, 10 + 10 * (uint64_t)id), grows ? id + 2 : 1);
    }
    /* 64 days of three times the distance, 30, which is about 32 ticks */
    struct place place = stand_place(&s, 7);
    assert_int_equal(place.slot, 80 / 32 % 64);
    assert_int_equal(place.from, 64);
    for (uint32_t id = 99; id > 0; id--) {
        struct tl_counters before = stand_counters(&s);
        assert_int_equal(stand_stop(&s, id), TL_OK);
        /* the timers that are left: three fewer than half of 64, 32, 16 and 8 days */
        bool shrinks = id == 29 || id == 13 || id == 5 || id == 1;
        assert_int_equal(stand_since(&s, &before).moves, shrinks ? id + 1 : 1);
    }
    stand_close(&s);
}

/* --- the ladder ------------------------------------------------------------------------------ */

static void a_ladder_spawns_a_rung_where_timers_stand_close(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "ladder-queue", "", .capacity = 200);
    for (uint32_t id = 0; id < 100; id++) { /* close: within one hundredth of the range */
        stand_start(&s, id, 1000 + id);
    }
    for (uint32_t id = 100; id < 200; id++) {
        stand_start(&s, id, 1000 + 1000 * (uint64_t)(id - 99));
    }
    assert_string_equal(stand_place(&s, 0).part, "top");
    (void)stand_advance(&s, 1000);
    assert_int_equal(s.fired, 1);
    /* The first rung: 200 buckets for 100,001 ticks, so 501 each. Its first holds 100 timers, more
     * than 50, and is dealt out into buckets of 501 / 50, so 11. */
    struct place place = stand_place(&s, 199);
    assert_string_equal(place.part, "rung 0");
    assert_int_equal(place.slot, (101000 - 1000) / 501);
    place = stand_place(&s, 99);
    assert_string_equal(place.part, "rung 1");
    assert_int_equal(place.slot, 99 / 11);
    place = stand_place(&s, 5); /* the first bucket of that is the bottom */
    assert_string_equal(place.part, "bottom");
    /* Timers after the range of the first rung wait in the top. */
    stand_start(&s, 0, 500000);
    assert_string_equal(stand_place(&s, 0).part, "top");
    (void)stand_advance(&s, 200000);
    assert_int_equal(s.fired, 200);
    stand_close(&s);
}

static void a_ladders_rung_ends_where_the_one_before_goes_on(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "ladder-queue", "", .capacity = 200);
    for (uint32_t id = 0; id < 99; id++) {
        stand_start(&s, id, 1000 + 5 * (uint64_t)id);
    }
    stand_start(&s, 98, 1496);
    stand_start(&s, 99, 1500);
    for (uint32_t id = 100; id < 200; id++) {
        stand_start(&s, id, 1000 + 1000 * (uint64_t)(id - 99));
    }
    /* As above: a bucket of 501 ticks, up to 1500, has 46 finer ones of 11, up to 1505; the last of
     * them is the bottom now. */
    (void)stand_advance(&s, 1496);
    assert_int_equal(s.fired, 99);
    stand_start(&s, 0, 1503);
    struct place place = stand_place(&s, 0);
    assert_string_equal(place.part, "rung 0");
    assert_int_equal(place.slot, 1);
    (void)stand_advance(&s, 1500);
    assert_int_equal(s.fired, 100);
    uint64_t next = stand_next(&s);
    assert_true(next > 1500 && next <= 1503);
    (void)stand_advance(&s, 1503);
    assert_int_equal(s.fired, 101);
    stand_close(&s);
}

static void a_ladders_bottom_that_grows_becomes_a_rung(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "ladder-queue", "", .capacity = 200);
    stand_start(&s, 0, 100);
    stand_start(&s, 1, 100000);
    (void)stand_advance(&s, 100); /* a rung of two buckets; the first is the bottom's time now */
    for (uint32_t id = 2; id <= 51; id++) {
        stand_start(&s, id, 200 + id);
        assert_string_equal(stand_place(&s, id).part, "bottom");
    }
    stand_start(&s, 52, 300); /* the 51st */
    assert_string_equal(stand_place(&s, 2).part, "rung 1");
    assert_string_equal(stand_place(&s, 52).part, "rung 1");
    (void)stand_advance(&s, 100000);
    assert_int_equal(s.fired, 53);
    stand_close(&s);
}

/* --- buckets --------------------------------------------------------------------------------- */

static void a_radix_heap_files_by_the_leading_bit_that_differs(void **state)
{
    (void)state;
    static const struct {
        uint64_t last;
        uint64_t deadline;
        uint64_t bucket;
    } rows[] = {
        {0, 1, 1},
        {0, 2, 2},
        {0, 3, 2},
        {0, 4, 3},
        {6, 7, 1},
        {7, 8, 4},
        {107, 108, 3},
        {107, 111, 3},
        {107, 112, 5},
        {107, 128, 8},
        {1000, 1023, 5},
        {1023, 1024, 11},
        {0, TL_DEADLINE_MAX, 64},
        {5, TL_DEADLINE_MAX - 1, 63},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stand s;
        stand_open(&s, "radix-heap", "", .capacity = 1, .now = rows[i].last);
        stand_start(&s, 0, rows[i].deadline);
        assert_int_equal(stand_place(&s, 0).slot, rows[i].bucket);
        stand_close(&s);
    }
    /* Reaching the bucket deals it out: 112 and 120 differ from 107 in bit 4, from each other in
     * bit 3. */
    struct stand s;
    stand_open(&s, "radix-heap", "", .capacity = 2, .now = 107);
    stand_start(&s, 0, 112);
    stand_start(&s, 1, 120);
    assert_int_equal(stand_place(&s, 1).slot, 5);
    (void)stand_advance(&s, 111); /* nothing can be due: the buckets stay as they are */
    assert_int_equal(stand_place(&s, 1).slot, 5);
    (void)stand_advance(&s, 112);
    assert_int_equal(s.fired, 1);
    assert_int_equal(stand_place(&s, 1).slot, 4);
    stand_close(&s);
}

static void find_first_set_windows_take_turns(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "ffs-queue", "buckets=100", .capacity = 4, .now = 1000);
    stand_start(&s, 0, 1099); /* the last bucket of the primary */
    stand_start(&s, 1, 1100); /* the first of the secondary */
    stand_start(&s, 2, 1199); /* its last, which also holds everything later */
    stand_start(&s, 3, 1250);
    assert_int_equal(stand_place(&s, 0).level, 1);
    assert_int_equal(stand_place(&s, 0).slot, 99);
    assert_int_equal(stand_place(&s, 1).level, 2);
    assert_int_equal(stand_place(&s, 1).slot, 0);
    assert_int_equal(stand_place(&s, 2).slot, 99);
    assert_int_equal(stand_place(&s, 3).slot, 99);
    (void)stand_advance(&s, 1100);
    assert_int_equal(s.fired, 2);
    assert_int_equal(stand_place(&s, 2).level, 1); /* the secondary is the primary now */
    assert_int_equal(stand_place(&s, 3).level, 2); /* and timers beyond it have a bucket of their
                                                    * own */
    assert_int_equal(stand_place(&s, 3).slot, 50);
    (void)stand_advance(&s, 1249);
    assert_int_equal(s.fired, 3);
    (void)stand_advance(&s, 1250);
    assert_int_equal(s.fired, 4);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_stays_within_what_is_declared),
        cmocka_unit_test(four_children_move_less_than_two),
        cmocka_unit_test(an_expiry_with_its_start_moves_one_path),
        cmocka_unit_test(what_was_stopped_stays_in_the_heap_until_it_is_swept),
        cmocka_unit_test(a_restart_to_a_near_tick_goes_through_all_of_gos_heap),
        cmocka_unit_test(a_calendar_is_made_anew_at_twice_and_at_half_the_days),
        cmocka_unit_test(a_ladder_spawns_a_rung_where_timers_stand_close),
        cmocka_unit_test(a_ladders_rung_ends_where_the_one_before_goes_on),
        cmocka_unit_test(a_ladders_bottom_that_grows_becomes_a_rung),
        cmocka_unit_test(a_radix_heap_files_by_the_leading_bit_that_differs),
        cmocka_unit_test(find_first_set_windows_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
