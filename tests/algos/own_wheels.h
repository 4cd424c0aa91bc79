/*
 * What our own wheels are held to in the same words: a stand that counts, streams that leave behind
 * as much as they can, and the tests that are the same for both. WHEEL is the structure's name;
 * both have the option `lists`.
 */
#ifndef TESTS_OWN_WHEELS_H
#define TESTS_OWN_WHEELS_H

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
    int64_t values[TL_OPTIONS_MAX];
    *s = (struct stand){.algo = tl_registry_find(WHEEL)->counted, .now = 1, .random = capacity};
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

static void note(void *ctx, uint32_t id, uint64_t now)
{
    struct stand *s = ctx;
    assert_true(s->due[id] != 0 && s->due[id] <= now);
    s->fired++;
    s->due[id] = 0;
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

/* The bytes that create took, and so many more. */
static void memory_stays_bounded_under(hostile_fn *hostile, const char *options, uint32_t n,
                                       bool moving, uint64_t more_bytes)
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
        assert_true(s.memory.peak_bytes <= created + more_bytes);
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

/* A stop leaves the tick of an entry in the node where a start that was late left its number: here
 * they are the same, and the late entry is still to come. */
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

/* A budget's remainder grows old while the clock leaps over all that 30 or 32 bits can tell apart.
 */
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
 * budget, is in the chunks afterwards. */
static void growing_out_of_the_lists_loses_nothing(void **state)
{
    (void)state;
    enum { N = 400, MORE = 5000 };
    for (uint32_t seed = 0; seed < 20; seed++) {
        struct stand s;
        stand_open(&s, "lists=400", N);
        s.random = seed;
        free(s.due);
        s.due = calloc(MORE, sizeof *s.due);
        assert_non_null(s.due);
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
        assert_true(counted(&s).moves >= moves + pending);
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

/* `next` is no later than what is due first. */
static void assert_next(const struct stand *s, uint32_t capacity)
{
    uint64_t first = TL_NEVER;
    for (uint32_t id = 0; id < capacity; id++) {
        first = s->due[id] != 0 && s->due[id] < first ? s->due[id] : first;
    }
    assert_true(s->algo->next(s->self) <= first);
}

/* From so many timers on there are more slots; what is in the fewer ones by then goes on. */
static void growing_into_more_slots_loses_nothing(void **state)
{
    (void)state;
    enum { FEW = 30000, MANY = 40000, ROUNDS = 12, OPERATIONS = 30000 };
    struct stand s;
    stand_open(&s, LISTS, FEW);
    free(s.due);
    s.due = calloc(MANY, sizeof *s.due);
    assert_non_null(s.due);
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

#endif
