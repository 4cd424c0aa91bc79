/*
 * chunk-wheel held to what makes it quick, by counting, so that a later change cannot undo it
 * unnoticed: what a restart, a stop, an expiry, an empty tick and a jump may touch, and how much
 * one tick may move; with chunks, and with the lists of few timers. And to its word about memory,
 * by streams that leave behind as much as they can.
 */
#define WHEEL "chunk-wheel"
#include "own_wheels.h"

/* --- what operations touch ------------------------------------------------------------------- */

static void with_chunks_a_restart_to_later_and_a_stop_move_nothing(void **state)
{
    (void)state;
    enum { N = 1000 };
    static const char *const options[] = {CHUNKS, CHUNKS ":queue=0"};
    for (size_t k = 0; k < 2; k++) {
        struct stand s;
        stand_open(&s, options[k], N);
        for (uint32_t id = 0; id < N; id++) {
            start_at(&s, id, 30000 + id);
        }
        struct tl_counters before = counted(&s);
        assert_int_equal(before.moves, N);
        for (uint32_t round = 1; round < 10; round++) {
            for (uint32_t id = 0; id < N; id++) {
                start_at(&s, id, 30000 + id + draw(&s, 1000));
            }
        }
        for (uint32_t id = 0; id < N; id++) {
            stop(&s, id);
        }
        for (uint32_t id = 0; id < N; id++) {
            start_at(&s, id, 32000 + id); /* the stopped entries serve again */
        }
        assert_int_equal(counted(&s).moves, before.moves);
        assert_int_equal(counted(&s).slots, before.slots);
        advance(&s, 40000);
        assert_int_equal(s.fired, N);
        stand_close(&s);
    }
}

static void with_lists_a_restart_to_later_moves_nothing_and_a_stop_one_node(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct stand s;
    stand_open(&s, LISTS, N);
    for (uint32_t id = 0; id < N; id++) {
        start_at(&s, id, 30000 + id);
    }
    struct tl_counters before = counted(&s);
    assert_int_equal(before.moves, N);
    for (uint32_t round = 1; round < 10; round++) {
        for (uint32_t id = 0; id < N; id++) {
            start_at(&s, id, 30000 + id + draw(&s, 1000));
        }
    }
    assert_int_equal(counted(&s).moves, before.moves);
    assert_int_equal(counted(&s).compares, before.compares + 9 * N);
    for (uint32_t id = 0; id < N; id++) {
        stop(&s, id);
    }
    assert_int_equal(counted(&s).moves, before.moves + N);
    advance(&s, 40000);
    assert_int_equal(counted(&s).moves, before.moves + N); /* nothing is left of what was stopped */
    assert_int_equal(counted(&s).slots, 0);
    assert_int_equal(s.fired, 0);
    stand_close(&s);
}

/* Filed, moved down once, fired; and no node is looked at. No tick moves more than a chunk of each
 * level, or 16 nodes, beside what it fires. */
static void an_expiry_is_two_moves_under(const char *options, uint32_t n, uint64_t moved_max)
{
    enum { SPAN = 60000 };
    struct stand s;
    stand_open(&s, options, n);
    for (uint32_t id = 0; id < n; id++) {
        start_at(&s, id, 1 + draw(&s, SPAN));
    }
    for (uint32_t tick = 0; tick < SPAN; tick++) {
        struct tl_counters before = counted(&s);
        uint64_t fired = s.fired;
        advance(&s, 1);
        uint64_t moved = counted(&s).cascades - before.cascades;
        assert_true(moved <= moved_max);
        assert_int_equal(counted(&s).moves - before.moves, moved + s.fired - fired);
    }
    struct tl_counters all = counted(&s);
    assert_int_equal(s.fired, n);
    assert_true(all.moves <= 3 * (uint64_t)n);
    assert_int_equal(all.compares, 0);
    assert_true(all.slots <= 2 * SPAN);
    stand_close(&s);
}

static void an_expiry_is_two_moves_and_no_look_at_the_node(void **state)
{
    (void)state;
    an_expiry_is_two_moves_under(CHUNKS, 200000, 31);
    an_expiry_is_two_moves_under(LISTS, 100000, 16);
}

/* A server's idle timers: of a hundred restarts ten file a timer anew, and thirty are visited. */
static void idle_timers_are_seldom_visited_under(const char *options)
{
    enum { N = 20000, TICKS = 200000, RESTARTS_A_TICK = N / 10000 };
    struct stand s;
    stand_open(&s, options, N);
    for (uint32_t id = 0; id < N; id++) {
        start_at(&s, id, 30000 + draw(&s, 30000));
    }
    uint64_t restarts = 0;
    struct tl_counters before = {0};
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        if (tick == TICKS / 2) {
            before = counted(&s);
            restarts = 0;
        }
        advance(&s, 1);
        for (uint32_t i = 0; i < RESTARTS_A_TICK; i++) {
            start_at(&s, (uint32_t)draw(&s, N), s.now + 30000 + draw(&s, 30000));
            restarts++;
        }
    }
    struct tl_counters after = counted(&s);
    assert_true((after.moves - before.moves) * 100 <= 45 * restarts);
    assert_true((after.compares - before.compares) * 100 <= 140 * restarts);
    stand_close(&s);
}

static void idle_timers_are_seldom_visited(void **state)
{
    (void)state;
    idle_timers_are_seldom_visited_under(CHUNKS);
    idle_timers_are_seldom_visited_under(LISTS);
}

static void hold_moves_twice_under(const char *options)
{
    enum { N = 5000, TICKS = 30000 };
    static uint64_t delays[N];
    struct stand s;
    stand_open(&s, options, N);
    for (uint32_t id = 0; id < N; id++) {
        delays[id] = 1 + draw(&s, 12000);
        start_at(&s, id, delays[id]);
    }
    s.delays = delays;
    struct tl_counters before = counted(&s);
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        advance(&s, 1);
    }
    struct tl_counters after = counted(&s);
    assert_true(after.moves - before.moves <= 3 * s.fired);
    assert_int_equal(after.compares, 0);
    stand_close(&s);
}

static void hold_moves_twice(void **state)
{
    (void)state;
    hold_moves_twice_under(CHUNKS);
    hold_moves_twice_under(LISTS);
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Half of the chunks' entries again, and what segments add. */
static uint64_t chunks_more_bytes(uint32_t n)
{
    return (uint64_t)n * 8 * 32 / 31 / 2 + n / 31 + 8192;
}

static void memory_is_bounded_by_the_timers(void **state)
{
    (void)state;
    static hostile_fn *const streams[] = {far_and_near_again, ever_nearer,     fired_between,
                                          late_and_near,      far_and_stopped, whatever};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        memory_stays_bounded_under(streams[i], CHUNKS, 3000, true, chunks_more_bytes(3000));
        memory_stays_bounded_under(streams[i], CHUNKS ":queue=0", 3000, true,
                                   chunks_more_bytes(3000));
        memory_stays_bounded_under(streams[i], CHUNKS, 500, false, chunks_more_bytes(500));
        memory_stays_bounded_under(streams[i], CHUNKS ":queue=0:stale=5", 40, true,
                                   chunks_more_bytes(40));
        memory_stays_bounded_under(streams[i], LISTS, 3000, true, 0);
        memory_stays_bounded_under(streams[i], LISTS, 500, false, 0);
    }
}

/* The same where nothing is ever given beyond what create took. */
static void starts_succeed_when_memory_is_refused(void **state)
{
    (void)state;
    enum { N = 2000 };
    struct stand s;
    stand_open(&s, CHUNKS ":queue=0", N);
    s.memory.limit_bytes = s.memory.bytes;
    for (uint32_t i = 0; i < 40 * N; i++) {
        whatever(&s, (uint32_t)draw(&s, N));
        if (i % 64 == 0) {
            advance(&s, 1);
            assert_none_overdue(&s, N);
        }
    }
    assert_int_equal(s.memory.peak_bytes, s.memory.limit_bytes);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_chunks_a_restart_to_later_and_a_stop_move_nothing),
        cmocka_unit_test(with_lists_a_restart_to_later_moves_nothing_and_a_stop_one_node),
        cmocka_unit_test(an_expiry_is_two_moves_and_no_look_at_the_node),
        cmocka_unit_test(idle_timers_are_seldom_visited),
        cmocka_unit_test(hold_moves_twice),
        cmocka_unit_test(empty_ticks_and_jumps_visit_nothing),
        cmocka_unit_test(memory_is_bounded_by_the_timers),
        cmocka_unit_test(starts_succeed_when_memory_is_refused),
        cmocka_unit_test(a_tick_is_not_taken_for_a_late_number),
        cmocka_unit_test(a_remainder_survives_leaps),
        cmocka_unit_test(growing_out_of_the_lists_loses_nothing),
        cmocka_unit_test(growing_into_more_slots_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
