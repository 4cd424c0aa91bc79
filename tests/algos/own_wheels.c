/*
 * linked-wheel and chunk-wheel: the reasons for their speed, by counting, so that a later change
 * cannot remove them unnoticed: the slots that a restart, a stop, an expiry, an empty tick and a
 * jump touch, the work of one call, whatever the length of a tick. And their memory, under streams
 * that leave as many stale entries as possible.
 */
#include "stand.h"

#include <stdlib.h>

#define CHUNKS "chunk-wheel"
#define LISTS  "linked-wheel"

/* Neither wheel is early. `ctx`, if it is set, has a delay for each timer to be started again. */
static void note(struct stand *s, uint32_t id, uint64_t due)
{
    const uint64_t *delays = s->ctx;
    assert_true(due <= s->clock);
    if (delays != NULL) {
        stand_start(s, id, s->clock + delays[id]);
    }
}

static void open_wheel(struct stand *s, const char *name, uint32_t capacity)
{
    stand_open(s, name, "", .capacity = capacity, .now = 1);
    s->on_expiry = note;
    s->random = capacity;
}

static void advance(struct stand *s, uint64_t ticks)
{
    (void)stand_advance(s, s->clock + ticks);
}

/* Nothing that is due has been left. */
static void assert_none_overdue(const struct stand *s, uint32_t capacity)
{
    for (uint32_t id = 0; id < capacity; id++) {
        assert_true(s->due[id] > s->clock);
    }
}

/* --- ticks without an expiry ------------------------------------------------------------------ */

static void empty_ticks_and_jumps_visit_nothing_under(const char *name)
{
    struct stand s;
    open_wheel(&s, name, 10);
    for (uint32_t id = 0; id < 10; id++) {
        stand_start(&s, id, 4000000000 + id);
    }
    for (uint32_t tick = 0; tick < 100000; tick++) {
        advance(&s, 1);
    }
    assert_int_equal(stand_counters(&s).slots, 0);
    advance(&s, 1000000000);
    assert_int_equal(stand_counters(&s).slots, 0);
    assert_true(stand_counters(&s).compares <= 10);
    advance(&s, 4000000000);
    assert_int_equal(s.fired, 10);
    stand_close(&s);
}

static void empty_ticks_and_jumps_visit_nothing(void **state)
{
    (void)state;
    empty_ticks_and_jumps_visit_nothing_under(CHUNKS);
    empty_ticks_and_jumps_visit_nothing_under(LISTS);
}

/* --- memory ---------------------------------------------------------------------------------- */

/* One operation of a hostile stream on timer `id`. */
typedef void hostile_fn(struct stand *s, uint32_t id);

/* To where its far entry already is, so that the entries look alike. */
static void far_and_near_again(struct stand *s, uint32_t id)
{
    stand_start(s, id, 1000000);
    stand_start(s, id, s->clock + 1 + stand_draw(s, 3));
    stand_start(s, id, 1000000);
}

static void ever_nearer(struct stand *s, uint32_t id)
{
    uint64_t near = s->due[id] != TL_NEVER && s->due[id] > s->clock + 2 && stand_draw(s, 50) != 0
                        ? s->due[id] - 1
                        : s->clock + 50000;
    stand_start(s, id, near);
}

static void fired_between(struct stand *s, uint32_t id)
{
    stand_start(s, id, s->clock + 60000 + stand_draw(s, 100000));
    stand_start(s, id, s->clock + 1);
}

static void late_and_near(struct stand *s, uint32_t id)
{
    stand_start(s, id, s->clock);
    stand_start(s, id, s->clock + 1 + stand_draw(s, 300));
    if (stand_draw(s, 4) == 0) {
        (void)stand_stop(s, id);
    }
}

static void far_and_stopped(struct stand *s, uint32_t id)
{
    stand_start(s, id, s->clock + (UINT64_C(1) << (20 + stand_draw(s, 40))));
    if (stand_draw(s, 2) == 0) {
        (void)stand_stop(s, id);
    }
    stand_start(s, id, s->clock + 1 + stand_draw(s, 100000));
    (void)stand_stop(s, id);
}

static void whatever(struct stand *s, uint32_t id)
{
    static hostile_fn *const others[] = {far_and_near_again, ever_nearer, fired_between,
                                         late_and_near, far_and_stopped};
    others[stand_draw(s, sizeof others / sizeof others[0])](s, id);
}

/* The bytes that create took, and no more. */
static void memory_stays_bounded_under(hostile_fn *hostile, const char *name, uint32_t n,
                                       bool moving)
{
    struct stand s;
    open_wheel(&s, name, n);
    uint64_t created = s.memory.bytes;
    for (uint32_t round = 0; round < 60; round++) {
        for (uint32_t i = 0; i < n; i++) {
            hostile(&s, (uint32_t)stand_draw(&s, n));
            if (moving && i % 64 == 0) {
                advance(&s, stand_draw(&s, 8) == 0 ? stand_draw(&s, 400) : 1);
            }
        }
        assert_true(s.memory.peak_bytes <= created);
        if (round % 20 == 0) {
            stand_check(&s);
            assert_none_overdue(&s, moving ? n : 0);
        }
    }
    for (uint32_t id = 0; id < n; id += 2) {
        (void)stand_stop(&s, id);
    }
    advance(&s, UINT64_C(1) << 62);
    assert_none_overdue(&s, n);
    assert_int_equal(stand_count(&s), 0);
    stand_close(&s);
}

/* --- growth, and late restarts --------------------------------------------------------------- */

/* A timer that is due at its start has a number instead of a deadline: here they are equal. */
static void a_tick_is_not_taken_for_a_late_number(void **state)
{
    (void)state;
    enum { LATE = 20, NUMBER = 10 };
    struct stand s;
    open_wheel(&s, CHUNKS, 400000);
    for (uint32_t id = 1; id <= LATE; id++) {
        stand_start(&s, id, s.clock);
    }
    stand_start(&s, NUMBER, NUMBER);
    (void)stand_stop(&s, NUMBER);
    stand_check(&s);
    advance(&s, 1);
    assert_int_equal(s.fired, LATE - 1);
    stand_check(&s);
    advance(&s, NUMBER);
    assert_int_equal(s.fired, LATE - 1);
    stand_close(&s);
}

/* A budget's remainder grows old while the clock jumps beyond the range of 27 or 32 bits. */
static void a_remainder_survives_leaps_under(const char *name)
{
    enum { N = 200 };
    struct stand s;
    open_wheel(&s, name, N);
    for (uint32_t round = 0; round < 50; round++) {
        for (uint32_t id = 0; id < N; id++) {
            stand_start(&s, id, s.clock + stand_draw(&s, UINT64_C(1) << stand_draw(&s, 34)));
        }
        for (uint32_t i = 0; i < 40; i++) {
            uint64_t leap = stand_draw(&s, UINT64_C(1) << stand_draw(&s, 33));
            (void)stand_advance_some(&s, s.clock + leap, i % 5);
            uint32_t id = (uint32_t)stand_draw(&s, N);
            stand_start(&s, id, s.clock + stand_draw(&s, UINT64_C(1) << stand_draw(&s, 30)));
            (void)stand_stop(&s, (id + 1) % N);
            stand_check(&s);
        }
        advance(&s, 0);
        assert_none_overdue(&s, N);
    }
    stand_close(&s);
}

static void a_remainder_survives_leaps(void **state)
{
    (void)state;
    a_remainder_survives_leaps_under(CHUNKS);
    a_remainder_survives_leaps_under(LISTS);
}

/* `next` is no later than the first due timer, or the clock. */
static void assert_next(const struct stand *s, uint32_t capacity)
{
    uint64_t first = TL_NEVER;
    for (uint32_t id = 0; id < capacity; id++) {
        first = s->due[id] < first ? s->due[id] : first;
    }
    assert_true(stand_next(s) <= (first > s->clock ? first : s->clock));
}

/* Room is made for more timers while others are pending: from one list a slot to several, and from
 * several on level 1 to more. */
static void growing_loses_nothing_with(const struct tl_algo *algo, const struct tl_records *records)
{
    enum { FEW = 30000, MANY = 90000, MORE = 200000, ROUNDS = 12, OPERATIONS = 30000 };
    struct stand s;
    uint32_t timers = FEW;
    stand_must(&s, algo, "", (struct tl_config){.capacity = timers, .now = 1, .records = records});
    s.on_expiry = note;
    s.random = timers;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (round == ROUNDS / 3 || round == 2 * ROUNDS / 3) {
            timers = timers == FEW ? MANY : MORE;
            stand_reserve(&s, timers);
            stand_check(&s);
        }
        for (uint32_t i = 0; i < OPERATIONS; i++) {
            uint32_t id = (uint32_t)stand_draw(&s, timers);
            if (stand_draw(&s, 4) == 0) {
                (void)stand_stop(&s, id);
            } else {
                stand_start(&s, id,
                            s.clock + stand_draw(&s, UINT64_C(1) << (8 + stand_draw(&s, 10))));
            }
            if (i % 32 == 0) {
                advance(&s, 1);
            }
        }
        stand_check(&s);
        assert_none_overdue(&s, timers);
        assert_next(&s, timers);
        advance(&s, UINT64_C(1) << round);
        stand_check(&s);
        assert_none_overdue(&s, timers);
    }
    struct tl_counters before = stand_counters(&s);
    uint64_t pending = stand_count(&s);
    while (stand_count(&s) > 0) {
        advance(&s, 1);
    }
    struct tl_counters after = stand_counters(&s);
    assert_none_overdue(&s, timers);
    assert_true(after.moves - before.moves <= 4 * pending); /* one a level, and the expiry */
    stand_close(&s);
}

static void growing_loses_nothing_under(const char *name)
{
    enum { RECORDS = 200000, BYTES = 64 };
    struct tl_records records = {
        .base = calloc(RECORDS, BYTES), .stride_bytes = BYTES, .offset_bytes = 16};
    assert_non_null(records.base);
    growing_loses_nothing_with(stand_algo(name), NULL);
    growing_loses_nothing_with(tl_entry_for_records(tl_registry_find(name)), NULL);
    growing_loses_nothing_with(tl_entry_for_records(tl_registry_find(name)), &records);
    free(records.base);
}

static void growing_loses_nothing(void **state)
{
    (void)state;
    growing_loses_nothing_under(CHUNKS);
    growing_loses_nothing_under(LISTS);
}

/* --- what operations touch ------------------------------------------------------------------- */

/* The starts that wait are looked at, too. */
static struct tl_counters settled(const struct stand *s)
{
    (void)stand_count(s);
    return stand_counters(s);
}

static void with_chunks_a_restart_to_later_and_a_stop_move_nothing(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct stand s;
    open_wheel(&s, CHUNKS, N);
    for (uint32_t id = 0; id < N; id++) {
        stand_start(&s, id, 30000 + id);
    }
    struct tl_counters before = settled(&s);
    assert_int_equal(before.moves, N);
    for (uint32_t round = 1; round < 10; round++) {
        for (uint32_t id = 0; id < N; id++) {
            stand_start(&s, id, 30000 + id + stand_draw(&s, 1000));
        }
    }
    for (uint32_t id = 0; id < N; id++) {
        (void)stand_stop(&s, id);
    }
    for (uint32_t id = 0; id < N; id++) {
        stand_start(&s, id, 32000 + id); /* the stopped entries serve again */
    }
    assert_int_equal(settled(&s).moves, before.moves);
    assert_int_equal(settled(&s).slots, before.slots);
    advance(&s, 40000);
    assert_int_equal(s.fired, N);
    stand_close(&s);
}

/* The entry, and the one that takes its place; and advances meet nothing that was left. */
static void with_chunks_a_restart_to_earlier_moves_two_entries(void **state)
{
    (void)state;
    enum { N = 1000, RESTARTS = 20 };
    struct stand s;
    open_wheel(&s, CHUNKS, N);
    for (uint32_t id = 0; id < N; id++) {
        stand_start(&s, id, 200000);
    }
    for (uint32_t round = 1; round <= RESTARTS; round++) {
        uint64_t before = settled(&s).moves;
        for (uint32_t id = 0; id < N; id++) {
            stand_start(&s, id, 200000 - 8000 * round);
        }
        assert_true(settled(&s).moves - before <= 2 * N);
        advance(&s, 1);
    }
    struct tl_counters before = settled(&s);
    advance(&s, 200000 - 8000 * RESTARTS - s.clock - 1);
    assert_int_equal(s.fired, 0);
    advance(&s, 1);
    assert_int_equal(s.fired, N);
    assert_true(stand_counters(&s).moves - before.moves <= 2 * N);
    assert_true(stand_counters(&s).compares - before.compares <= 2 * N);
    stand_close(&s);
}

static void with_lists_only_a_restart_to_earlier_and_a_stop_move(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct stand s;
    open_wheel(&s, LISTS, N);
    for (uint32_t id = 0; id < N; id++) {
        stand_start(&s, id, 30000 + id);
    }
    struct tl_counters before = stand_counters(&s);
    assert_int_equal(before.moves, N);
    for (uint32_t round = 1; round < 10; round++) {
        for (uint32_t id = 0; id < N; id++) {
            stand_start(&s, id, 30000 + id + stand_draw(&s, 1000));
        }
    }
    assert_int_equal(stand_counters(&s).moves, before.moves);
    for (uint32_t id = 0; id < N; id++) {
        stand_start(&s, id, 20000 + id);
    }
    assert_int_equal(stand_counters(&s).moves, before.moves + 2 * N);
    for (uint32_t id = 0; id < N; id++) {
        (void)stand_stop(&s, id);
    }
    assert_int_equal(stand_counters(&s).moves, before.moves + 3 * N);
    advance(&s, 40000);
    assert_int_equal(stand_counters(&s).moves, before.moves + 3 * N); /* nothing is left of them */
    assert_int_equal(s.fired, 0);
    stand_close(&s);
}

/* On every level, but for a restart to before the timer's slot. */
static void with_lists_a_restart_of_what_is_far_moves_nothing_at(uint64_t ahead)
{
    struct stand s;
    open_wheel(&s, LISTS, 2);
    stand_start(&s, 0, ahead);
    stand_start(&s, 1, 2 * ahead);
    struct tl_counters before = stand_counters(&s);
    stand_start(&s, 0, 2 * ahead);
    stand_start(&s, 0, ahead);
    stand_start(&s, 0, ahead + 1);
    assert_int_equal(stand_counters(&s).moves, before.moves);
    stand_start(&s, 1, ahead);
    assert_int_equal(stand_counters(&s).moves, before.moves + 2);
    advance(&s, ahead - s.clock);
    assert_int_equal(s.fired, 1);
    advance(&s, 1);
    assert_int_equal(s.fired, 2);
    stand_close(&s);
}

static void with_lists_a_restart_of_what_is_far_moves_nothing(void **state)
{
    (void)state;
    for (uint64_t ahead = 100000; ahead < UINT64_C(1) << 60; ahead *= 20) {
        with_lists_a_restart_of_what_is_far_moves_nothing_at(ahead);
    }
}

/* A slot that is being moved down is empty when the next portion of it is due. */
static void with_lists_what_is_left_of_a_slot_may_be_stopped(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct stand s;
    open_wheel(&s, LISTS, N + 1);
    for (uint32_t id = 0; id < N; id++) {
        stand_start(&s, id, 1024 + id % 512);
    }
    stand_start(&s, N, 520);
    advance(&s, 511 - s.clock);
    advance(&s, 1);
    for (uint32_t id = 0; id < N; id++) {
        (void)stand_stop(&s, id);
    }
    advance(&s, 8);
    assert_int_equal(s.fired, 1);
    stand_start(&s, 0, 1030);
    advance(&s, 1000);
    assert_int_equal(s.fired, 2);
    stand_close(&s);
}

/* Filed, moved down once, fired. In addition to the fired ones, no tick moves more than 15 timers,
 * or 16 with lists. */
static void an_expiry_is_two_moves_under(const char *name, uint32_t n, uint64_t moved_max)
{
    enum { SPAN = 60000 };
    struct stand s;
    open_wheel(&s, name, n);
    for (uint32_t id = 0; id < n; id++) {
        stand_start(&s, id, 1 + stand_draw(&s, SPAN));
    }
    for (uint32_t tick = 0; tick < SPAN; tick++) {
        struct tl_counters before = settled(&s);
        uint64_t fired = s.fired;
        advance(&s, 1);
        uint64_t moved = stand_counters(&s).cascades - before.cascades;
        assert_true(moved <= moved_max);
        assert_int_equal(stand_counters(&s).moves - before.moves, moved + s.fired - fired);
    }
    struct tl_counters all = stand_counters(&s);
    assert_int_equal(s.fired, n);
    assert_true(all.moves <= 3 * (uint64_t)n);
    assert_true(all.compares <= 2 * (uint64_t)n);
    assert_true(all.slots <= 2 * SPAN);
    stand_close(&s);
}

static void an_expiry_is_two_moves(void **state)
{
    (void)state;
    an_expiry_is_two_moves_under(CHUNKS, 200000, 15);
    an_expiry_is_two_moves_under(LISTS, 100000, 16);
    an_expiry_is_two_moves_under(LISTS, 20000, 16);
}

/* A server's idle timers: of a hundred restarts some fifty move an entry or look at it once more.
 */
static void idle_timers_are_seldom_visited_under(const char *name)
{
    enum { N = 20000, TICKS = 200000, RESTARTS_A_TICK = N / 10000 };
    struct stand s;
    open_wheel(&s, name, N);
    for (uint32_t id = 0; id < N; id++) {
        stand_start(&s, id, 30000 + stand_draw(&s, 30000));
    }
    uint64_t restarts = 0;
    struct tl_counters before = {0};
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        if (tick == TICKS / 2) {
            before = stand_counters(&s);
            restarts = 0;
        }
        advance(&s, 1);
        for (uint32_t i = 0; i < RESTARTS_A_TICK; i++) {
            stand_start(&s, (uint32_t)stand_draw(&s, N), s.clock + 30000 + stand_draw(&s, 30000));
            restarts++;
        }
    }
    struct tl_counters after = stand_counters(&s);
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

static void hold_moves_twice_under(const char *name)
{
    enum { N = 5000, TICKS = 30000 };
    static uint64_t delays[N];
    struct stand s;
    open_wheel(&s, name, N);
    for (uint32_t id = 0; id < N; id++) {
        delays[id] = 1 + stand_draw(&s, 12000);
        stand_start(&s, id, delays[id]);
    }
    s.ctx = delays;
    struct tl_counters before = stand_counters(&s);
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        advance(&s, 1);
    }
    struct tl_counters after = stand_counters(&s);
    assert_true(after.moves - before.moves <= 3 * s.fired);
    assert_true(after.compares - before.compares <= 2 * s.fired);
    stand_close(&s);
}

static void hold_moves_twice(void **state)
{
    (void)state;
    hold_moves_twice_under(CHUNKS);
    hold_moves_twice_under(LISTS);
}

/* --- memory ---------------------------------------------------------------------------------- */

static void memory_is_bounded_by_the_timers(void **state)
{
    (void)state;
    static hostile_fn *const streams[] = {far_and_near_again, ever_nearer,     fired_between,
                                          late_and_near,      far_and_stopped, whatever};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        memory_stays_bounded_under(streams[i], CHUNKS, 3000, true);
        memory_stays_bounded_under(streams[i], CHUNKS, 500, false);
        memory_stays_bounded_under(streams[i], CHUNKS, 40, true);
        memory_stays_bounded_under(streams[i], LISTS, 3000, true);
        memory_stays_bounded_under(streams[i], LISTS, 500, false);
    }
}

/* --- no call does much ----------------------------------------------------------------------- */

static void far_or_near(struct stand *s, uint32_t id)
{
    stand_start(s, id, s->clock + 1 + stand_draw(s, stand_draw(s, 2) == 0 ? 100 : 4000000));
}

/* In addition to the entries of its own tick, which are compared, an advance by one moves down a
 * share of one slot of each level. A start may be the one that examines 256 waiting timers, and moves
 * two entries for each. */
static void no_call_does_much_under(hostile_fn *hostile, const char *name, uint64_t start_max,
                                    uint64_t advance_max)
{
    enum { N = 20000, TICKS = 20000 };
    struct stand s;
    open_wheel(&s, name, N);
    for (uint32_t id = 0; id < N; id++) {
        stand_start(&s, id, s.clock + 1 + stand_draw(&s, 4000000));
    }
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        for (uint32_t i = 0; i < 50; i++) {
            struct tl_counters before = stand_counters(&s);
            hostile(&s, (uint32_t)stand_draw(&s, N));
            assert_true(stand_counters(&s).moves - before.moves <= start_max);
        }
        struct tl_counters before = stand_counters(&s);
        uint64_t fired = s.fired;
        advance(&s, 1);
        struct tl_counters after = stand_counters(&s);
        uint64_t moved = after.moves - before.moves - (s.fired - fired);
        assert_true(moved <= advance_max + after.compares - before.compares);
    }
    stand_check(&s);
    assert_none_overdue(&s, N);
    stand_close(&s);
}

static void no_call_does_much(void **state)
{
    (void)state;
    static hostile_fn *const streams[] = {far_or_near, ever_nearer, fired_between, far_and_stopped,
                                          whatever};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        no_call_does_much_under(streams[i], CHUNKS, 2 * 256 + 2 * 3, 2 * 256 + 3 * 15);
        no_call_does_much_under(streams[i], LISTS, 6, 20000 / 256 + 2 * 8);
    }
}

/* The same delays in seconds, with ticks of 1 ms, 1 us and 1 ns, and an advance every millisecond:
 * no call does more work, except for its expiries, and no timer is moved more often than there are
 * levels. */
static void no_tick_is_too_short_under(const char *name, uint64_t ticks, uint64_t levels)
{
    enum { N = 20000, SPAN = 60000, MOST = 2 * 16 + 2 * 15 };
    struct stand s;
    open_wheel(&s, name, N);
    for (uint32_t id = 0; id < N; id++) {
        stand_start(&s, id, (30000 + stand_draw(&s, SPAN)) * ticks + stand_draw(&s, ticks));
    }
    struct tl_counters before = settled(&s);
    uint64_t slots = before.slots;
    while (s.fired < N) {
        uint64_t fired = s.fired;
        advance(&s, ticks);
        struct tl_counters after = stand_counters(&s);
        assert_true(after.cascades - before.cascades <= MOST);
        assert_true(after.moves - before.moves <= MOST + s.fired - fired);
        before = after;
    }
    assert_true(before.moves <= (levels + 1) * N);
    assert_true(before.slots - slots <= levels * (SPAN + 30000 + N));
    stand_close(&s);
}

static void no_tick_is_too_short(void **state)
{
    (void)state;
    static const uint64_t ticks[] = {1, 1000, 1000000};
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++) {
        no_tick_is_too_short_under(CHUNKS, ticks[i], i + 3);
        no_tick_is_too_short_under(LISTS, ticks[i], i + 3);
    }
}

/* An hour at 1 ms a tick, as evenly. */
static void far_timers_are_moved_down_evenly_under(const char *name, uint64_t moved_max)
{
    enum { N = 20000, TICKS = 600000 };
    struct stand s;
    open_wheel(&s, name, N);
    for (uint32_t id = 0; id < N; id++) {
        stand_start(&s, id, 300000 + 13 * id);
    }
    struct tl_counters before = settled(&s);
    for (uint32_t tick = 1; tick < TICKS; tick++) {
        advance(&s, 1);
        struct tl_counters after = stand_counters(&s);
        assert_true(after.cascades - before.cascades <= moved_max);
        before = after;
    }
    assert_int_equal(s.fired, N);
    stand_close(&s);
}

static void far_timers_are_moved_down_evenly(void **state)
{
    (void)state;
    far_timers_are_moved_down_evenly_under(CHUNKS, 2 * 15);
    far_timers_are_moved_down_evenly_under(LISTS, 2 * 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_chunks_a_restart_to_later_and_a_stop_move_nothing),
        cmocka_unit_test(with_chunks_a_restart_to_earlier_moves_two_entries),
        cmocka_unit_test(with_lists_only_a_restart_to_earlier_and_a_stop_move),
        cmocka_unit_test(with_lists_a_restart_of_what_is_far_moves_nothing),
        cmocka_unit_test(with_lists_what_is_left_of_a_slot_may_be_stopped),
        cmocka_unit_test(an_expiry_is_two_moves),
        cmocka_unit_test(idle_timers_are_seldom_visited),
        cmocka_unit_test(hold_moves_twice),
        cmocka_unit_test(empty_ticks_and_jumps_visit_nothing),
        cmocka_unit_test(memory_is_bounded_by_the_timers),
        cmocka_unit_test(no_call_does_much),
        cmocka_unit_test(far_timers_are_moved_down_evenly),
        cmocka_unit_test(no_tick_is_too_short),
        cmocka_unit_test(a_tick_is_not_taken_for_a_late_number),
        cmocka_unit_test(a_remainder_survives_leaps),
        cmocka_unit_test(growing_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
