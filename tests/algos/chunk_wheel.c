/*
 * chunk-wheel held to what makes it quick, by counting, so that a later change cannot undo it
 * unnoticed: what a restart, a stop, an expiry, an empty tick and a jump may touch, and how much
 * one tick may move; with chunks, and with the lists of few timers. And to its word about memory,
 * by streams that leave behind as much as they can.
 */
#include "registry.h"

#include "test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKS "lists=0" /* however few timers */
#define LISTS  ""

struct stand {
    const struct tl_algo *algo;
    void *self;
    struct tl_memory memory;
    uint64_t now;
    uint64_t fired;
    uint64_t random;
    uint64_t *due;          /* by id; 0: not pending */
    const uint64_t *delays; /* what fires starts again after delays[id]; NULL: it does not */
    uint32_t grow_to;       /* the next callback makes room for so many; 0: it does not */
};

static uint64_t draw(struct stand *s, uint64_t bound)
{
    uint64_t z = s->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % bound;
}

static void stand_open(struct stand *s, const char *options, uint32_t capacity)
{
    char why[256] = "";
    TL_OPTION_VALUES(values);
    *s = (struct stand){
        .algo = tl_registry_find("chunk-wheel")->counted, .now = 1, .random = capacity};
    if (tl_options_parse(s->algo, options, values, why, sizeof why) != TL_OK) {
        fail_msg("%s: %s", options, why);
    }
    s->due = calloc(capacity, sizeof *s->due);
    assert_non_null(s->due);
    tl_counting_allocator(&s->memory, tl_system_allocator());
    struct tl_config config = {
        .capacity = capacity, .now = s->now, .options = values, .allocator = &s->memory.allocator};
    assert_int_equal(s->algo->create(&config, &s->self), TL_OK);
}

/* From here on there may be ids up to `capacity`. */
static void widen(struct stand *s, uint32_t capacity)
{
    free(s->due);
    s->due = calloc(capacity, sizeof *s->due);
    assert_non_null(s->due);
}

static void stand_check(struct stand *s)
{
    char why[256] = "";
    if (s->algo->check(s->self, why, sizeof why) != TL_OK) {
        fail_msg("at tick %" PRIu64 ": %s", s->now, why);
    }
}

static void stand_close(struct stand *s)
{
    stand_check(s);
    s->algo->destroy(s->self);
    assert_int_equal(s->memory.bytes, 0);
    free(s->due);
}

static struct tl_counters counted(const struct stand *s)
{
    struct tl_counters counters = {0};
    s->algo->counters(s->self, &counters);
    return counters;
}

static void start_at(struct stand *s, uint32_t id, uint64_t deadline)
{
    assert_int_equal(s->algo->start(s->self, id, deadline), TL_OK);
    s->due[id] = deadline > s->now ? deadline : s->now;
}

static void stop(struct stand *s, uint32_t id)
{
    assert_int_equal(s->algo->stop(s->self, id), s->due[id] != 0 ? TL_OK : TL_IDLE);
    s->due[id] = 0;
}

static void grow(struct stand *s)
{
    assert_int_equal(s->algo->reserve(s->self, s->grow_to), TL_OK);
    s->grow_to = 0;
}

static void note(void *ctx, uint32_t id, uint64_t now)
{
    struct stand *s = ctx;
    assert_true(s->due[id] != 0 && s->due[id] <= now);
    s->fired++;
    s->due[id] = 0;
    if (s->grow_to != 0) {
        grow(s);
    }
    if (s->delays != NULL) {
        start_at(s, id, now + s->delays[id]);
    }
}

static void advance(struct stand *s, uint64_t ticks)
{
    s->now += ticks;
    (void)s->algo->advance(s->self, s->now, TL_NO_BUDGET, note, s);
}

/* Nothing that is due has been left. */
static void assert_none_overdue(const struct stand *s, uint32_t capacity)
{
    for (uint32_t id = 0; id < capacity; id++) {
        assert_true(s->due[id] == 0 || s->due[id] > s->now);
    }
}

/* --- ticks without a firing ------------------------------------------------------------------ */

static void empty_ticks_and_jumps_visit_nothing_under(const char *options)
{
    struct stand s;
    stand_open(&s, options, 10);
    for (uint32_t id = 0; id < 10; id++) {
        start_at(&s, id, 4000000000 + id);
    }
    for (uint32_t tick = 0; tick < 100000; tick++) {
        advance(&s, 1);
    }
    assert_int_equal(counted(&s).slots, 0);
    advance(&s, 1000000000);
    assert_int_equal(counted(&s).slots, 0);
    assert_true(counted(&s).compares <= 10);
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
    start_at(s, id, 1000000);
    start_at(s, id, s->now + 1 + draw(s, 3));
    start_at(s, id, 1000000);
}

static void ever_nearer(struct stand *s, uint32_t id)
{
    uint64_t near = s->due[id] > s->now + 2 && draw(s, 50) != 0 ? s->due[id] - 1 : s->now + 50000;
    start_at(s, id, near);
}

static void fired_between(struct stand *s, uint32_t id)
{
    start_at(s, id, s->now + 60000 + draw(s, 100000));
    start_at(s, id, s->now + 1);
}

static void late_and_near(struct stand *s, uint32_t id)
{
    start_at(s, id, s->now);
    start_at(s, id, s->now + 1 + draw(s, 300));
    if (draw(s, 4) == 0) {
        stop(s, id);
    }
}

static void far_and_stopped(struct stand *s, uint32_t id)
{
    start_at(s, id, s->now + (UINT64_C(1) << (20 + draw(s, 40))));
    if (draw(s, 2) == 0) {
        stop(s, id);
    }
    start_at(s, id, s->now + 1 + draw(s, 100000));
    stop(s, id);
}

static void whatever(struct stand *s, uint32_t id)
{
    static hostile_fn *const others[] = {far_and_near_again, ever_nearer, fired_between,
                                         late_and_near, far_and_stopped};
    others[draw(s, sizeof others / sizeof others[0])](s, id);
}

/* The bytes that create took, and no more. */
static void memory_stays_bounded_under(hostile_fn *hostile, const char *options, uint32_t n,
                                       bool moving)
{
    struct stand s;
    stand_open(&s, options, n);
    uint64_t created = s.memory.bytes;
    for (uint32_t round = 0; round < 60; round++) {
        for (uint32_t i = 0; i < n; i++) {
            hostile(&s, (uint32_t)draw(&s, n));
            if (moving && i % 64 == 0) {
                advance(&s, draw(&s, 8) == 0 ? draw(&s, 400) : 1);
            }
        }
        assert_true(s.memory.peak_bytes <= created);
        if (round % 20 == 0) {
            stand_check(&s);
            assert_none_overdue(&s, moving ? n : 0);
        }
    }
    for (uint32_t id = 0; id < n; id += 2) {
        if (s.due[id] != 0) {
            stop(&s, id);
        }
    }
    advance(&s, UINT64_C(1) << 62);
    assert_none_overdue(&s, n);
    assert_int_equal(s.algo->count(s.self), 0);
    stand_close(&s);
}

/* --- what grows, and what is late ------------------------------------------------------------ */

/* What was due when it was started has a number in place of a deadline: here they are the same. */
static void a_tick_is_not_taken_for_a_late_number(void **state)
{
    (void)state;
    enum { LATE = 20, NUMBER = 10 };
    struct stand s;
    stand_open(&s, CHUNKS, 400000);
    for (uint32_t id = 1; id <= LATE; id++) {
        start_at(&s, id, s.now);
    }
    start_at(&s, NUMBER, NUMBER);
    stop(&s, NUMBER);
    stand_check(&s);
    advance(&s, 1);
    assert_int_equal(s.fired, LATE - 1);
    stand_check(&s);
    advance(&s, NUMBER);
    assert_int_equal(s.fired, LATE - 1);
    stand_close(&s);
}

/* A budget's remainder grows old while the clock leaps over all that 27 or 32
 * bits can tell apart. */
static void a_remainder_survives_leaps_under(const char *options)
{
    enum { N = 200 };
    struct stand s;
    stand_open(&s, options, N);
    for (uint32_t round = 0; round < 50; round++) {
        for (uint32_t id = 0; id < N; id++) {
            start_at(&s, id, s.now + draw(&s, UINT64_C(1) << draw(&s, 34)));
        }
        for (uint32_t i = 0; i < 40; i++) {
            s.now += draw(&s, UINT64_C(1) << draw(&s, 33));
            (void)s.algo->advance(s.self, s.now, i % 5, note, &s);
            uint32_t id = (uint32_t)draw(&s, N);
            start_at(&s, id, s.now + draw(&s, UINT64_C(1) << draw(&s, 30)));
            stop(&s, (id + 1) % N);
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

/* More room than lists are for: whatever waits in them, near, far, due already, or left over by a
 * budget, goes to the chunks in time. */
static void growing_out_of_the_lists_loses_nothing(void **state)
{
    (void)state;
    enum { N = 400, MORE = 5000 };
    for (uint32_t seed = 0; seed < 20; seed++) {
        struct stand s;
        stand_open(&s, "lists=400", N);
        s.random = seed;
        widen(&s, MORE);
        for (uint32_t i = 0; i < 20 * N; i++) {
            uint32_t id = (uint32_t)draw(&s, N);
            start_at(&s, id, s.now + draw(&s, UINT64_C(1) << draw(&s, 40)));
            if (i % 8 == 0) {
                s.now += draw(&s, UINT64_C(1) << draw(&s, 12));
                (void)s.algo->advance(s.self, s.now, 3, note, &s);
            }
        }
        uint64_t pending = s.algo->count(s.self);
        uint64_t moves = counted(&s).moves;
        assert_int_equal(s.algo->reserve(s.self, N), TL_OK);
        assert_int_equal(counted(&s).moves, moves);
        s.memory.limit_bytes = s.memory.bytes + 1000;
        assert_int_equal(s.algo->reserve(s.self, MORE), TL_ERR_NOMEM);
        stand_check(&s);
        s.memory.limit_bytes = UINT64_MAX;
        assert_int_equal(s.algo->reserve(s.self, MORE), TL_OK);
        stand_check(&s);
        assert_int_equal(s.algo->count(s.self), pending);
        assert_int_equal(counted(&s).moves, moves);
        start_at(&s, MORE - 1, s.now + 7);
        for (uint32_t bits = 0; bits < 42; bits++) {
            advance(&s, UINT64_C(1) << bits);
            stand_check(&s);
            assert_none_overdue(&s, MORE);
        }
        assert_int_equal(s.algo->count(s.self), 0);
        stand_close(&s);
    }
}

/* `next` is no later than what is due first, or the clock. */
static void assert_next(const struct stand *s, uint32_t capacity)
{
    uint64_t first = TL_NEVER;
    for (uint32_t id = 0; id < capacity; id++) {
        first = s->due[id] != 0 && s->due[id] < first ? s->due[id] : first;
    }
    assert_true(s->algo->next(s->self) <= (first > s->now ? first : s->now));
}

static void start_soon_again(struct stand *s, uint32_t id)
{
    start_at(s, id, s->now + draw(s, 3));
}

/* A call of a wheel that moves from lists to chunks: `count` and `next` are right, and so much work
 * is done at most. */
static void assert_little(const struct stand *s, uint64_t moves_before, uint64_t most,
                          uint32_t capacity)
{
    uint64_t pending = 0;
    for (uint32_t id = 0; id < capacity; id++) {
        pending += s->due[id] != 0;
    }
    assert_true(counted(s).moves - moves_before <= most);
    assert_int_equal(s->algo->count(s->self), pending);
    assert_next(s, capacity);
}

/* Why a wheel goes from lists to chunks. */
enum growth { ROOM_IS_MADE, ROOM_IS_MADE_IN_CALLBACK, MORE_ARE_PENDING };

/* Neither at once nor at any later call, and meanwhile nothing is forgotten or early, also of what
 * callbacks start; and it comes to an end, which memory shows. */
static void growing_out_of_the_lists_is_done_little_by_little_under(hostile_fn *hostile,
                                                                    enum growth growth)
{
    enum { N = 3000, MORE = 6001, TICKS = 1500, MOST = 3 * 256 + 2 * 8 + 2 * 3 };
    static uint64_t delays[MORE];
    struct stand s;
    if (growth == MORE_ARE_PENDING) {
        stand_open(&s, "lists=3001", MORE);
    } else {
        stand_open(&s, "lists=3000", N);
        widen(&s, MORE);
    }
    for (uint32_t id = 0; id < MORE; id++) {
        delays[id] = draw(&s, 4) == 0 ? 0 : draw(&s, UINT64_C(1) << draw(&s, 34));
    }
    for (uint32_t id = 0; id < N; id++) {
        start_at(&s, id, s.now + draw(&s, UINT64_C(1) << draw(&s, 34)));
        if (id % 100 == 0) {
            advance(&s, 1);
        }
    }
    s.delays = delays;
    uint64_t before = counted(&s).moves;
    if (growth == ROOM_IS_MADE_IN_CALLBACK) {
        s.grow_to = MORE;
    } else if (growth == ROOM_IS_MADE) {
        s.grow_to = MORE;
        grow(&s);
        assert_int_equal(counted(&s).moves, before);
    } else {
        for (uint32_t id = N; s.algo->count(s.self) <= 3001; id++) {
            start_at(&s, id, s.now + 1000);
        }
    }
    size_t bytes = s.memory.bytes;
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        uint64_t moves = counted(&s).moves;
        hostile(&s, (uint32_t)draw(&s, s.grow_to == 0 ? MORE : N));
        assert_little(&s, moves, MOST, MORE);
        uint64_t fired = s.fired;
        moves = counted(&s).moves;
        s.now += draw(&s, 2);
        (void)s.algo->advance(s.self, s.now, draw(&s, 8) == 0 ? 2 : TL_NO_BUDGET, note, &s);
        assert_little(&s, moves, MOST + 30 * (1 + s.fired - fired) + N / 64, MORE);
        if (tick % 50 == 0) {
            stand_check(&s);
        }
    }
    assert_int_equal(s.grow_to, 0);
    assert_true(growth == ROOM_IS_MADE_IN_CALLBACK || s.memory.bytes < bytes);
    s.delays = NULL;
    for (uint32_t bits = 0; bits < 36; bits++) {
        advance(&s, UINT64_C(1) << bits);
        stand_check(&s);
        assert_none_overdue(&s, MORE);
    }
    stand_close(&s);
}

static void growing_out_of_the_lists_is_done_little_by_little(void **state)
{
    (void)state;
    static hostile_fn *const streams[] = {whatever, fired_between, far_and_stopped,
                                          start_soon_again};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        for (enum growth growth = ROOM_IS_MADE; growth <= MORE_ARE_PENDING; growth++) {
            growing_out_of_the_lists_is_done_little_by_little_under(streams[i], growth);
        }
    }
}

/* From so many timers on there are more slots; what is in the fewer ones by then goes on. */
static void growing_into_more_slots_loses_nothing(void **state)
{
    (void)state;
    enum { FEW = 30000, MANY = 40000, ROUNDS = 12, OPERATIONS = 30000 };
    struct stand s;
    stand_open(&s, LISTS, FEW);
    widen(&s, MANY);
    uint32_t timers = FEW;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (round == ROUNDS / 3) {
            timers = MANY;
            assert_int_equal(s.algo->reserve(s.self, timers), TL_OK);
            stand_check(&s);
        }
        for (uint32_t i = 0; i < OPERATIONS; i++) {
            uint32_t id = (uint32_t)draw(&s, timers);
            if (draw(&s, 4) == 0) {
                stop(&s, id);
            } else {
                start_at(&s, id, s.now + draw(&s, UINT64_C(1) << (8 + draw(&s, 10))));
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
    struct tl_counters before = counted(&s);
    uint64_t pending = s.algo->count(s.self);
    while (s.algo->count(s.self) > 0) {
        advance(&s, 1);
    }
    struct tl_counters after = counted(&s);
    assert_none_overdue(&s, timers);
    assert_true(after.moves - before.moves <= 4 * pending); /* one a level, and the expiry */
    stand_close(&s);
}

/* --- what operations touch ------------------------------------------------------------------- */

/* The starts that wait are looked at, too. */
static struct tl_counters settled(const struct stand *s)
{
    (void)s->algo->count(s->self);
    return counted(s);
}

static void with_chunks_a_restart_to_later_and_a_stop_move_nothing(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct stand s;
    stand_open(&s, CHUNKS, N);
    for (uint32_t id = 0; id < N; id++) {
        start_at(&s, id, 30000 + id);
    }
    struct tl_counters before = settled(&s);
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
    assert_int_equal(settled(&s).moves, before.moves);
    assert_int_equal(settled(&s).slots, before.slots);
    advance(&s, 40000);
    assert_int_equal(s.fired, N);
    stand_close(&s);
}

/* After a few of these an entry is put so early that many more find it in time. */
static void with_chunks_few_of_many_restarts_to_earlier_move(void **state)
{
    (void)state;
    enum { N = 1000, RESTARTS = 20 };
    struct stand s;
    stand_open(&s, CHUNKS, N);
    for (uint32_t id = 0; id < N; id++) {
        start_at(&s, id, 200000);
    }
    uint64_t before = settled(&s).moves;
    for (uint32_t round = 1; round <= RESTARTS; round++) {
        for (uint32_t id = 0; id < N; id++) {
            start_at(&s, id, 200000 - 8000 * round);
        }
        advance(&s, 1);
    }
    assert_true(settled(&s).moves - before <= 6 * N);
    advance(&s, 200000 - 8000 * RESTARTS - s.now - 1);
    assert_int_equal(s.fired, 0);
    advance(&s, 1);
    assert_int_equal(s.fired, N);
    stand_close(&s);
}

static void with_lists_only_a_restart_to_earlier_and_a_stop_move(void **state)
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
    for (uint32_t id = 0; id < N; id++) {
        start_at(&s, id, 20000 + id);
    }
    assert_int_equal(counted(&s).moves, before.moves + 2 * N);
    for (uint32_t id = 0; id < N; id++) {
        stop(&s, id);
    }
    assert_int_equal(counted(&s).moves, before.moves + 3 * N);
    advance(&s, 40000);
    assert_int_equal(counted(&s).moves, before.moves + 3 * N); /* nothing is left of them */
    assert_int_equal(s.fired, 0);
    stand_close(&s);
}

/* What lies far ahead, too: as long as it does. */
static void with_lists_a_restart_of_what_is_far_moves_nothing(void **state)
{
    (void)state;
    enum { FAR = 1 << 29 };
    struct stand s;
    stand_open(&s, LISTS, 2);
    start_at(&s, 0, FAR);
    start_at(&s, 1, 2 * FAR);
    struct tl_counters before = counted(&s);
    start_at(&s, 0, 2 * FAR);
    start_at(&s, 1, FAR);
    start_at(&s, 1, FAR + 1);
    assert_int_equal(counted(&s).moves, before.moves);
    start_at(&s, 0, 7);
    assert_int_equal(counted(&s).moves, before.moves + 2);
    advance(&s, 7);
    assert_int_equal(s.fired, 1);
    advance(&s, FAR - s.now);
    assert_int_equal(s.fired, 1);
    advance(&s, 1);
    assert_int_equal(s.fired, 2);
    stand_close(&s);
}

/* In a slot of the last level, too, but for a restart to before that. */
static void with_lists_a_restart_of_what_is_some_way_ahead_moves_nothing(void **state)
{
    (void)state;
    enum { AHEAD = 10000000 };
    struct stand s;
    stand_open(&s, LISTS, 2);
    start_at(&s, 0, AHEAD);
    start_at(&s, 1, 2 * AHEAD);
    struct tl_counters before = counted(&s);
    start_at(&s, 0, 2 * AHEAD);
    start_at(&s, 0, AHEAD);
    start_at(&s, 0, AHEAD + 1);
    assert_int_equal(counted(&s).moves, before.moves);
    start_at(&s, 1, AHEAD);
    assert_int_equal(counted(&s).moves, before.moves + 2);
    advance(&s, AHEAD - s.now);
    assert_int_equal(s.fired, 1);
    advance(&s, 1);
    assert_int_equal(s.fired, 2);
    stand_close(&s);
}

/* So many restarts, ten a tick, with up to so many ticks more than `least`: how many nodes moved
 * for each that found its timer pending. */
static double moves_a_restart(struct stand *s, uint32_t restarts, uint64_t least, uint64_t spread)
{
    uint64_t moves = counted(s).moves;
    uint64_t fired = s->fired;
    uint32_t others = 0;
    for (uint32_t i = 0; i < restarts; i++) {
        uint32_t id = (uint32_t)draw(s, 1000);
        others += s->due[id] == 0;
        start_at(s, id, s->now + least + draw(s, spread));
        if (i % 10 == 9) {
            advance(s, 1);
        }
    }
    moves = counted(s).moves - moves - (s->fired - fired) - others;
    return (double)moves / (restarts - others);
}

/* Where nobody can guess whether a restart is to earlier, all link at once; until few are. */
static void with_lists_restarts_are_late_where_few_are_to_earlier(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, LISTS, 1000);
    (void)moves_a_restart(&s, 20000, 1, 600);
    assert_true(moves_a_restart(&s, 5000, 1, 600) >= 2);
    (void)moves_a_restart(&s, 40000, 30000, 600);
    assert_true(moves_a_restart(&s, 5000, 30000, 600) < 0.5);
    stand_close(&s);
}

/* So many of a sawtooth: of a timer each is 1,000 ticks less ahead than the one before, but every
 * twentieth. */
static double moves_of_a_sawtooth(struct stand *s, uint32_t restarts)
{
    uint64_t moves = counted(s).moves;
    for (uint32_t i = 0; i < restarts; i++) {
        start_at(s, i % 1000, s->now + 20000 - 1000 * (i / 1000 % 20));
        if (i % 10 == 9) {
            advance(s, 1);
        }
    }
    return (double)(counted(s).moves - moves) / restarts;
}

/* Where nearly all are to earlier, one under half the way serves the next. */
static void with_lists_few_of_many_restarts_to_earlier_move(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, LISTS, 1000);
    (void)moves_of_a_sawtooth(&s, 40000);
    assert_true(moves_of_a_sawtooth(&s, 40000) < 0.7);
    assert_true(moves_of_a_sawtooth(&s, 400000) < 0.7);
    assert_int_equal(s.fired, 0);
    (void)moves_a_restart(&s, 20000, 1, 600);
    assert_true(moves_a_restart(&s, 5000, 1, 600) >= 2); /* and where a half are, all link again */
    stand_close(&s);
}

/* A slot that is being moved down is empty when the next portion of it is due. */
static void with_lists_what_is_left_of_a_slot_may_be_stopped(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct stand s;
    stand_open(&s, LISTS, N + 1);
    for (uint32_t id = 0; id < N; id++) {
        start_at(&s, id, 1024 + id % 512);
    }
    start_at(&s, N, 520);
    advance(&s, 511 - s.now);
    advance(&s, 1);
    for (uint32_t id = 0; id < N; id++) {
        stop(&s, id);
    }
    advance(&s, 8);
    assert_int_equal(s.fired, 1);
    start_at(&s, 0, 1030);
    advance(&s, 1000);
    assert_int_equal(s.fired, 2);
    stand_close(&s);
}

/* Filed, moved down once, fired. No tick moves more than 15, or with lists 16, beside
 * what it fires. */
static void an_expiry_is_two_moves_under(const char *options, uint32_t n, uint64_t moved_max)
{
    enum { SPAN = 60000 };
    struct stand s;
    stand_open(&s, options, n);
    for (uint32_t id = 0; id < n; id++) {
        start_at(&s, id, 1 + draw(&s, SPAN));
    }
    for (uint32_t tick = 0; tick < SPAN; tick++) {
        struct tl_counters before = settled(&s);
        uint64_t fired = s.fired;
        advance(&s, 1);
        uint64_t moved = counted(&s).cascades - before.cascades;
        assert_true(moved <= moved_max);
        assert_int_equal(counted(&s).moves - before.moves, moved + s.fired - fired);
    }
    struct tl_counters all = counted(&s);
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

/* A server's idle timers: of a hundred restarts some fifty move an entry or look
 * at it once more. */
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
    start_at(s, id, s->now + 1 + draw(s, draw(s, 2) == 0 ? 100 : 4000000));
}

/* Beside the entries of its own tick, which are compared, an advance by one moves down the share of
 * a tick of a block's slot, and of FAR, and cleans. A start may be the one at which the others that
 * wait are looked at, and pays for cleaning. */
static void no_call_does_much_under(hostile_fn *hostile, const char *options, uint64_t start_max,
                                    uint64_t advance_max)
{
    enum { N = 20000, TICKS = 20000 };
    struct stand s;
    stand_open(&s, options, N);
    for (uint32_t id = 0; id < N; id++) {
        start_at(&s, id, s.now + 1 + draw(&s, 4000000));
    }
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        for (uint32_t i = 0; i < 50; i++) {
            struct tl_counters before = counted(&s);
            hostile(&s, (uint32_t)draw(&s, N));
            assert_true(counted(&s).moves - before.moves <= start_max);
        }
        struct tl_counters before = counted(&s);
        uint64_t fired = s.fired;
        advance(&s, 1);
        struct tl_counters after = counted(&s);
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
        no_call_does_much_under(streams[i], CHUNKS, 3 * (256 + 12 * 15), 256 + 12 * 15 + 5 * 15);
        no_call_does_much_under(streams[i], LISTS, 6, 20000 / 256 + 2 * 8);
    }
}

/* What is far is looked at evenly, and all of it before it is due. */
static void far_timers_are_searched_evenly(void **state)
{
    (void)state;
    enum { N = 20000, TICKS = 600000 };
    struct stand s;
    stand_open(&s, CHUNKS, N);
    for (uint32_t id = 0; id < N; id++) {
        start_at(&s, id, 300000 + 13 * id);
    }
    struct tl_counters before = settled(&s);
    for (uint32_t tick = 1; tick < TICKS; tick++) {
        advance(&s, 1);
        struct tl_counters after = counted(&s);
        assert_true(after.cascades - before.cascades <= 2 * 15); /* of FAR, and of a block's slot */
        before = after;
    }
    assert_int_equal(s.fired, N);
    stand_close(&s);
}

/* There is room for twice as many as `lists`: as long as no more are pending, nothing is moved to
 * chunks, which a stop shows: it takes a timer out of a list. */
static void many_idle_timers_do_not_lead_out_of_the_lists(void **state)
{
    (void)state;
    enum { FEW = 1000, ROOM = 2 * FEW };
    struct stand s;
    stand_open(&s, "lists=1000", ROOM);
    for (uint32_t pending = FEW; pending <= FEW + 1; pending++) {
        for (uint32_t id = 0; id < pending; id++) {
            start_at(&s, ROOM - 1 - id, s.now + 100000);
        }
        for (uint32_t tick = 0; tick < FEW; tick++) {
            advance(&s, 1);
        }
        struct tl_counters before = settled(&s);
        stop(&s, ROOM - 1);
        assert_int_equal(settled(&s).moves - before.moves, pending == FEW);
    }
    stand_close(&s);
}

/* What was due already, and is restarted to later before room is made, is not due any more. */
static void what_was_late_may_be_restarted_before_growing(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "lists=10", 10);
    start_at(&s, 0, s.now - 1);
    start_at(&s, 0, s.now + 1);
    start_at(&s, 1, s.now - 1);
    assert_int_equal(s.algo->reserve(s.self, 21), TL_OK);
    advance(&s, 0);
    assert_int_equal(s.fired, 1);
    advance(&s, 1);
    assert_int_equal(s.fired, 2);
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_chunks_a_restart_to_later_and_a_stop_move_nothing),
        cmocka_unit_test(with_chunks_few_of_many_restarts_to_earlier_move),
        cmocka_unit_test(with_lists_only_a_restart_to_earlier_and_a_stop_move),
        cmocka_unit_test(with_lists_a_restart_of_what_is_far_moves_nothing),
        cmocka_unit_test(with_lists_a_restart_of_what_is_some_way_ahead_moves_nothing),
        cmocka_unit_test(with_lists_restarts_are_late_where_few_are_to_earlier),
        cmocka_unit_test(with_lists_few_of_many_restarts_to_earlier_move),
        cmocka_unit_test(with_lists_what_is_left_of_a_slot_may_be_stopped),
        cmocka_unit_test(an_expiry_is_two_moves),
        cmocka_unit_test(idle_timers_are_seldom_visited),
        cmocka_unit_test(hold_moves_twice),
        cmocka_unit_test(empty_ticks_and_jumps_visit_nothing),
        cmocka_unit_test(memory_is_bounded_by_the_timers),
        cmocka_unit_test(no_call_does_much),
        cmocka_unit_test(far_timers_are_searched_evenly),
        cmocka_unit_test(a_tick_is_not_taken_for_a_late_number),
        cmocka_unit_test(a_remainder_survives_leaps),
        cmocka_unit_test(growing_out_of_the_lists_loses_nothing),
        cmocka_unit_test(growing_out_of_the_lists_is_done_little_by_little),
        cmocka_unit_test(many_idle_timers_do_not_lead_out_of_the_lists),
        cmocka_unit_test(what_was_late_may_be_restarted_before_growing),
        cmocka_unit_test(growing_into_more_slots_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
