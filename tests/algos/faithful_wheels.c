/*
 * Wheels held to the systems that they follow: Linux's level table, the clock of hours, minutes and
 * seconds, Erlang's two wheels, Agrona's spokes, Caffeine's spans, queues by duration; and all to
 * the complexity that they state, by counting.
 *
 * Walks count levels from 1, as the paper does; the kernel's table counts from 0.
 */
#include "registry.h"

#include "place.h"
#include "test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- a structure under test, in the build that counts ---------------------------------------- */

struct stand {
    const struct tl_algo *algo;
    void *self;
    struct tl_memory memory;
    uint64_t fired;
    uint64_t last_tick; /* of the last firing */
};

static void stand_open(struct stand *s, const char *name, const char *options, uint32_t capacity,
                       uint64_t now)
{
    char why[256] = "";
    TL_OPTION_VALUES(values);
    const struct tl_entry *entry = tl_registry_find(name);
    assert_non_null(entry);
    *s = (struct stand){.algo = entry->counted};
    if (tl_options_parse(s->algo, options, values, why, sizeof why) != TL_OK) {
        fail_msg("%s:%s: %s", name, options, why);
    }
    tl_counting_allocator(&s->memory, tl_system_allocator());
    struct tl_config config = {
        .capacity = capacity, .now = now, .options = values, .allocator = &s->memory.allocator};
    assert_int_equal(s->algo->create(&config, &s->self), TL_OK);
}

static void stand_close(struct stand *s)
{
    char why[256] = "";
    if (s->algo->check(s->self, why, sizeof why) != TL_OK) {
        fail_msg("%s: %s", s->algo->name, why);
    }
    s->algo->destroy(s->self);
    assert_int_equal(s->memory.bytes, 0);
}

static void note(void *ctx, uint32_t id, uint64_t now)
{
    (void)id;
    struct stand *s = ctx;
    s->fired++;
    s->last_tick = now;
}

static void start(struct stand *s, uint32_t id, uint64_t deadline)
{
    assert_int_equal(s->algo->start(s->self, id, deadline), TL_OK);
}

/* Returns how many fired. */
static uint64_t advance(struct stand *s, uint64_t now)
{
    return s->algo->advance(s->self, now, TL_NO_BUDGET, note, s);
}

static struct place place(const struct stand *s, uint32_t id)
{
    struct place found = place_find(s->algo, s->self, id);
    assert_true(found.pending);
    return found;
}

static void expect_place(const struct stand *s, uint32_t id, uint32_t level, uint64_t slot)
{
    struct place found = place(s, id);
    assert_int_equal(found.level, level);
    assert_int_equal(found.slot, slot);
}

/* Advances tick by tick from after `clock` until timer after timer has fired; returns the tick of
 * the last. */
static uint64_t run_dry(struct stand *s, uint64_t clock)
{
    while (s->algo->count(s->self) > 0) {
        (void)advance(s, ++clock);
    }
    return s->last_tick;
}

static struct tl_counters counted(const struct stand *s)
{
    struct tl_counters counters = {0};
    s->algo->counters(s->self, &counters);
    return counters;
}

/* --- coarse-wheel: kernel/time/timer.c ------------------------------------------------------- */

/* The table for HZ=1000 in the comment that opens the file. */
static const struct {
    uint32_t level;
    uint32_t offset;
    uint64_t granularity;
    uint64_t from;
} linux_levels[] = {
    {0, 0, 1, 0},
    {1, 64, 8, 64},
    {2, 128, 64, 512},
    {3, 192, 512, 4096},
    {4, 256, 4096, 32768},
    {5, 320, 32768, 262144},
    {6, 384, 262144, 2097152},
    {7, 448, 2097152, 16777216},
    {8, 512, 16777216, 134217728},
};

#define LINUX_LEVELS (sizeof linux_levels / sizeof linux_levels[0])

/* LVL_START(n), where the code begins a level. */
static uint64_t linux_start(uint32_t level)
{
    return level > 0 ? UINT64_C(63) << 3 * (level - 1) : 0;
}

static void coarse_wheel_has_the_kernels_levels(void **state)
{
    (void)state;
    for (size_t row = 0; row < LINUX_LEVELS; row++) {
        uint32_t level = linux_levels[row].level;
        uint64_t granularity = linux_levels[row].granularity;
        const uint64_t delays[] = {linux_levels[row].from, linux_start(level),
                                   linux_start(level + 1) - 1};
        for (size_t d = 0; d < sizeof delays / sizeof delays[0]; d++) {
            for (uint64_t clock = 0; clock < 3 * granularity; clock += granularity / 5 + 1) {
                uint64_t due = clock + (delays[d] > 0 ? delays[d] : 1);
                struct stand s;
                stand_open(&s, "coarse-wheel", "", 1, clock);
                start(&s, 0, due);
                struct place found = place(&s, 0);
                assert_int_equal(found.level, level + 1);
                uint64_t fires = (due + granularity - 1) / granularity * granularity;
                assert_int_equal(found.to, fires);
                /* calc_index(): LVL_OFFS(lvl) + (expires & LVL_MASK) */
                assert_int_equal(64 * (found.level - 1) + found.slot,
                                 linux_levels[row].offset + fires / granularity % 64);
                assert_int_equal(s.algo->next(s.self), fires);
                assert_int_equal(advance(&s, fires - 1), 0);
                assert_int_equal(advance(&s, fires), 1);
                assert_int_equal(counted(&s).cascades, 0);
                stand_close(&s);
            }
        }
    }
}

static void coarse_wheel_rounds_as_the_kernel_on_request(void **state)
{
    (void)state;
    for (size_t row = 0; row < LINUX_LEVELS; row++) {
        uint32_t shift = 3 * linux_levels[row].level;
        struct stand s;
        stand_open(&s, "coarse-wheel", "rounding=next", 1, 1000);
        uint64_t due = 1000 + (linux_levels[row].from > 0 ? linux_levels[row].from : 5);
        start(&s, 0, due);
        assert_int_equal(place(&s, 0).to + 1, ((due >> shift) + 1) << shift);
        stand_close(&s);
    }
}

static void coarse_wheel_is_never_early_and_an_eighth_late(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "coarse-wheel", "", 1, 12345);
    for (uint64_t delay = 1; delay < linux_start(9); delay += delay / 97 + 1) {
        start(&s, 0, 12345 + delay);
        uint64_t fires = place(&s, 0).to;
        assert_true(fires >= 12345 + delay);
        assert_true((fires - 12345 - delay) * 63 <= delay * 8);
    }
    stand_close(&s);
}

/* Where the kernel would fire at the furthest slot, and so early, the timer is filed again. */
static void coarse_wheel_waits_beyond_the_cutoff(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "coarse-wheel", "", 1, 0);
    uint64_t cutoff = UINT64_C(63) << 24;
    uint64_t furthest = cutoff - (UINT64_C(1) << 24); /* WHEEL_TIMEOUT_MAX */
    uint64_t due = cutoff + 100;
    start(&s, 0, due);
    assert_int_equal(place(&s, 0).level, 9);
    assert_int_equal(place(&s, 0).to, furthest);
    assert_int_equal(advance(&s, furthest), 0);
    assert_int_equal(counted(&s).cascades, 1);
    assert_true(place(&s, 0).to >= due);
    assert_int_equal(advance(&s, due - 1), 0);
    assert_int_equal(advance(&s, place(&s, 0).to), 1);
    stand_close(&s);
}

/* --- cascading-wheel: hours, minutes, seconds ------------------------------------------------ */

static uint64_t at_time(uint64_t days, uint64_t hours, uint64_t minutes, uint64_t seconds)
{
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
}

/* The paper's example, section 6.2: 11 days 10:24:30, and a timer of 50 minutes and 45 seconds. */
static void cascading_wheel_is_a_clock(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "cascading-wheel", "l1=60:l2=60:l3=24:l4=100:l5=0:level=digit", 4,
               at_time(11, 10, 24, 30));
    start(&s, 0, at_time(11, 11, 15, 15));
    expect_place(&s, 0, 3, 11); /* one hour ahead of the current one */
    assert_int_equal(advance(&s, at_time(11, 10, 59, 59)), 0);
    expect_place(&s, 0, 3, 11);
    assert_int_equal(advance(&s, at_time(11, 11, 0, 0)), 0);
    expect_place(&s, 0, 2, 15);
    assert_int_equal(advance(&s, at_time(11, 11, 14, 59)), 0);
    expect_place(&s, 0, 2, 15);
    assert_int_equal(advance(&s, at_time(11, 11, 15, 0)), 0);
    expect_place(&s, 0, 1, 15);
    assert_int_equal(counted(&s).cascades, 2);
    assert_int_equal(advance(&s, at_time(11, 11, 15, 14)), 0);
    assert_int_equal(advance(&s, at_time(11, 11, 15, 15)), 1);
    stand_close(&s);
    /* By its delay it is in reach of the minutes. */
    stand_open(&s, "cascading-wheel", "l1=60:l2=60:l3=24:l4=100:l5=0", 4, at_time(11, 10, 24, 30));
    start(&s, 0, at_time(11, 11, 15, 15));
    expect_place(&s, 0, 2, 15);
    assert_int_equal(run_dry(&s, at_time(11, 10, 24, 30)), at_time(11, 11, 15, 15));
    assert_int_equal(counted(&s).cascades, 1);
    stand_close(&s);
}

static void cascading_wheel_keeps_ten_days_and_a_hundred(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "cascading-wheel", "l1=60:l2=60:l3=24:l4=100:l5=0", 4, at_time(0, 23, 59, 58));
    uint64_t due = at_time(10, 23, 59, 59); /* ten days and one second */
    start(&s, 0, due);
    expect_place(&s, 0, 4, 10);
    assert_int_equal(run_dry(&s, at_time(0, 23, 59, 58)), due);
    assert_int_equal(counted(&s).cascades, 3); /* once from each level */
    /* Beyond the last level: the furthest slot, and again. */
    start(&s, 0, due + at_time(250, 0, 0, 0));
    expect_place(&s, 0, 4, 10);
    assert_int_equal(place(&s, 0).from, at_time(110, 0, 0, 0));
    assert_int_equal(run_dry(&s, due), due + at_time(250, 0, 0, 0));
    assert_true(counted(&s).cascades <= 3 + 2 + 3);
    stand_close(&s);
}

/* --- bitmap-wheel: wahern/timeout ------------------------------------------------------------ */

static void bitmap_wheel_files_by_the_highest_bit(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "bitmap-wheel", "bits=6:levels=4", 4, 0);
    start(&s, 0, 63);
    expect_place(&s, 0, 1, 63);
    start(&s, 0, 64);
    expect_place(&s, 0, 2, 1);
    start(&s, 0, 4095);
    expect_place(&s, 0, 2, 63);
    start(&s, 0, 4096);
    expect_place(&s, 0, 3, 1);
    start(&s, 0, (1 << 24) - 1);
    expect_place(&s, 0, 4, 63);
    start(&s, 0, (1 << 30) + (5 << 18)); /* beyond 2^24: its own slot, filed again in every turn */
    expect_place(&s, 0, 4, 5);
    assert_int_equal(s.algo->next(s.self), 5 << 18);
    assert_int_equal(advance(&s, 5 << 18), 0);
    expect_place(&s, 0, 4, 5);
    assert_int_equal(s.algo->next(s.self), (1 << 24) + (5 << 18));
    stand_close(&s);
}

/* From slot to slot: next is the cascade, and then the firing. */
static void bitmap_wheel_sleeps_from_slot_to_slot(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "bitmap-wheel", "", 4, 0);
    start(&s, 0, 5000);
    static const uint64_t wakes[] = {4096, 4992, 5000};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(s.algo->next(s.self), wakes[i]);
        assert_int_equal(advance(&s, wakes[i]), i == 2);
    }
    assert_int_equal(counted(&s).cascades, 2);
    assert_int_equal(s.algo->next(s.self), TL_NEVER);
    /* A stop that empties a slot is not waited for. */
    start(&s, 0, 9000);
    start(&s, 1, 6000);
    assert_int_equal(s.algo->stop(s.self, 1), TL_OK);
    assert_int_equal(s.algo->next(s.self), 8960); /* 3,960 ticks ahead: slot 140 of 64 ticks */
    stand_close(&s);
}

/* --- two-level-wheel: erts/emulator/beam/time.c ---------------------------------------------- */

static void two_level_wheel_has_erlangs_boundaries(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "two-level-wheel", "", 8, 100);
    start(&s, 0, 100 + 16383);
    expect_place(&s, 0, 1, 99);
    start(&s, 0, 100 + 16384);
    expect_place(&s, 0, 2, 2);
    /* 17, 18 and 19 seconds ahead share a slot of the later wheel. */
    start(&s, 1, 100 + 17000);
    start(&s, 2, 100 + 18000);
    start(&s, 3, 100 + 19000);
    expect_place(&s, 1, 2, 2);
    expect_place(&s, 2, 2, 2);
    expect_place(&s, 3, 2, 2);
    assert_int_equal(s.algo->next(s.self), 8192);
    assert_int_equal(advance(&s, 8191), 0);
    expect_place(&s, 3, 2, 2);
    assert_int_equal(advance(&s, 8192), 0); /* within 8,192 ticks of the slot */
    expect_place(&s, 3, 1, 19100 - 16384);
    assert_int_equal(counted(&s).cascades, 4);
    assert_int_equal(s.algo->next(s.self), 100 + 16384);
    assert_int_equal(run_dry(&s, 8192), 100 + 19000);
    assert_int_equal(counted(&s).cascades, 4);
    stand_close(&s);
}

static void two_level_wheel_overflows_in_order(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "two-level-wheel", "", 8, 0);
    uint64_t beyond = UINT64_C(16384) * 8192; /* 37 h 17 min: a turn of the later wheel */
    start(&s, 0, beyond - 1);
    assert_int_equal(place(&s, 0).level, 2);
    for (uint32_t id = 1; id < 8; id++) {
        start(&s, id, beyond + 100 - id * 7);
        assert_int_equal(place(&s, id).level, 0);
    }
    assert_int_equal(s.algo->stop(s.self, 7), TL_OK);
    assert_int_equal(advance(&s, beyond - 1), 1);
    assert_int_equal(s.algo->next(s.self), beyond + 100 - 6 * 7);
    assert_int_equal(advance(&s, beyond + 100 - 6 * 7), 1);
    assert_int_equal(s.algo->next(s.self), beyond + 100 - 5 * 7);
    assert_int_equal(advance(&s, beyond + 100), 5);
    stand_close(&s);
}

/* --- spoke-wheel: DeadlineTimerWheel.java ---------------------------------------------------- */

static void spoke_wheel_files_as_agrona_does(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "spoke-wheel", "spokes=16:tick=8", 1, 0);
    for (uint64_t deadline = 1; deadline < 1000; deadline++) {
        start(&s, 0, deadline);
        expect_place(&s, 0, 1, (deadline >> 3) & 15);
        assert_int_equal(place(&s, 0).rounds, deadline / 128);
    }
    /* Looked at in every turn, and in every tick of its spoke, but not fired early. */
    assert_int_equal(run_dry(&s, 0), 999);
    stand_close(&s);
}

static void spoke_wheel_doubles_every_spoke(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "spoke-wheel", "spokes=1024:allocation=16", 64, 0);
    uint64_t small = s.memory.bytes;
    for (uint32_t id = 0; id < 16; id++) {
        start(&s, id, 500);
    }
    assert_int_equal(s.memory.bytes, small);
    start(&s, 16, 500); /* one crowded spoke, and all 1024 are twice as long */
    uint64_t places = 1024 * 16 * (sizeof(uint64_t) + sizeof(uint32_t));
    assert_int_equal(s.memory.bytes, small + places);
    assert_int_equal(advance(&s, 500), 17);
    assert_int_equal(s.memory.bytes, small + places); /* and stay so */
    stand_close(&s);
}

static void spoke_wheel_goes_astray_without_memory(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "spoke-wheel", "spokes=16:allocation=4", 64, 0);
    s.memory.limit_bytes = s.memory.bytes;
    for (uint32_t id = 0; id < 64; id++) {
        start(&s, id, 500 + id % 2);
    }
    assert_int_equal(place(&s, 0).slot, 500 % 16);
    assert_int_not_equal(place(&s, 63).slot, 501 % 16);
    assert_int_equal(advance(&s, 499), 0);
    assert_int_equal(advance(&s, 500), 32);
    assert_int_equal(advance(&s, 501), 32);
    stand_close(&s);
}

/* --- fixed-wheel ----------------------------------------------------------------------------- */

static void fixed_wheel_puts_everything_behind_the_hand(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "fixed-wheel", "timeout=60", 4, 1000);
    start(&s, 0, 1060);
    expect_place(&s, 0, 1, 1060 % 62);
    start(&s, 1, 1010); /* shorter: served with the timeout, and so 50 late */
    expect_place(&s, 1, 1, 1060 % 62);
    start(&s, 2, 1061); /* rounded up to a tick */
    expect_place(&s, 2, 1, 1061 % 62);
    assert_int_equal(s.algo->start(s.self, 3, 1062), TL_ERR_HORIZON);
    assert_int_equal(advance(&s, 1030), 0);
    start(&s, 0, 1090); /* heard from again */
    expect_place(&s, 0, 1, 1090 % 62);
    assert_int_equal(advance(&s, 1059), 0);
    assert_int_equal(advance(&s, 1060), 1);
    assert_int_equal(advance(&s, 1061), 1);
    assert_int_equal(advance(&s, 1089), 0);
    assert_int_equal(advance(&s, 1090), 1);
    stand_close(&s);
}

static uint64_t mixed(uint64_t n)
{
    uint64_t z = n * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ z >> 27;
}

/* What is to fire, and when, in as many words. */
struct fixed_model {
    uint64_t due[32]; /* 0: not pending */
    uint64_t fired;
    bool right;
};

static void model_fired(void *ctx, uint32_t id, uint64_t now)
{
    struct fixed_model *model = ctx;
    model->right = model->right && model->due[id] != 0 && model->due[id] <= now;
    model->due[id] = 0;
    model->fired++;
}

static void fixed_wheel_fires_at_the_end_of_its_slot(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        uint64_t timeout;
        uint64_t tick;
    } cases[] = {{"timeout=1", 1, 1},          {"timeout=60", 60, 1},
                 {"timeout=60:tick=7", 60, 7}, {"timeout=62:tick=7", 62, 7},
                 {"timeout=63:tick=7", 63, 7}, {"timeout=3:tick=64", 3, 64}};
    uint64_t draw = 0;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const uint64_t timeout = cases[c].timeout;
        const uint64_t tick = cases[c].tick;
        struct fixed_model model = {.right = true};
        struct stand s;
        uint64_t clock = 1000;
        stand_open(&s, "fixed-wheel", cases[c].options, 32, clock);
        for (uint64_t step = 0; step < 20000; step++) {
            uint32_t id = (uint32_t)(mixed(draw++) % 32);
            /* The timeout, one more, one too many, and now and then a shorter one. */
            uint64_t delay = timeout + mixed(draw++) % 3;
            if (mixed(draw++) % 4 == 0) {
                delay = 1 + mixed(draw++) % timeout;
            }
            enum tl_status status = s.algo->start(s.self, id, clock + delay);
            assert_int_equal(status, delay > timeout + 1 ? TL_ERR_HORIZON : TL_OK);
            if (status == TL_OK) {
                uint64_t served = delay > timeout ? delay : timeout;
                model.due[id] = (clock + served + tick - 1) / tick * tick;
            }
            clock += mixed(draw++) % 50 == 0 ? mixed(draw) % (3 * timeout) : mixed(draw) % 3;
            (void)s.algo->advance(s.self, clock, TL_NO_BUDGET, model_fired, &model);
            for (uint32_t i = 0; i < 32; i++) {
                model.right = model.right && (model.due[i] == 0 || model.due[i] > clock);
            }
            if (!model.right) {
                fail_msg("%s: fired otherwise by tick %" PRIu64, cases[c].options, clock);
            }
        }
        assert_true(model.fired > 100);
        stand_close(&s);
    }
}

/* --- cache-wheel: TimerWheel.java ------------------------------------------------------------ */

static void cache_wheel_has_caffeines_spans(void **state)
{
    (void)state;
    /* BUCKETS = {64, 64, 32, 4, 1}; SPANS in units of the first, 1.07 s, 1.14 m, 1.22 h, 1.63 d,
     * 6.5 d: each a power of two. */
    static const struct {
        uint64_t span;
        uint64_t buckets;
    } spans[] = {{1, 64}, {64, 64}, {4096, 32}, {131072, 4}, {524288, 1}};
    struct stand s;
    uint64_t clock = UINT64_C(3) << 40;
    stand_open(&s, "cache-wheel", "", 1, clock);
    for (uint32_t level = 0; level < 5; level++) {
        uint64_t span = spans[level].span * 1024;
        uint64_t end = span * spans[level].buckets;
        const uint64_t delays[] = {level > 0 ? span : 1, end - 1};
        for (size_t i = 0; i < (level < 4 ? 2 : 1); i++) {
            uint64_t due = clock + delays[i];
            start(&s, 0, due);
            expect_place(&s, 0, level + 1, due / span % spans[level].buckets);
            /* Opened when it begins, or, where the clock stands in it already, when it ends; the
             * last is one bucket, opened at the end of every turn. */
            uint64_t opened =
                level < 4 && due / span > clock / span ? due / span : clock / span + 1;
            assert_int_equal(s.algo->next(s.self), opened * span);
        }
    }
    /* A second late at the most, from the last level too, which is looked at every 6.5 days. */
    start(&s, 0, clock + 5000);
    assert_int_equal(s.algo->next(s.self), clock + 4 * 1024);
    assert_int_equal(advance(&s, clock + 4 * 1024), 0);
    assert_int_equal(s.algo->next(s.self), clock + 5 * 1024);
    assert_int_equal(advance(&s, clock + 5 * 1024 - 1), 0);
    assert_int_equal(advance(&s, clock + 5 * 1024), 1);
    clock += 5 * 1024;
    uint64_t due = clock + UINT64_C(1200) * 1024 * 1024;
    start(&s, 0, due);
    while (s.algo->count(s.self) > 0) {
        uint64_t next = s.algo->next(s.self);
        assert_true(next > clock);
        clock = next;
        (void)advance(&s, clock);
    }
    assert_true(clock >= due && clock < due + 1024);
    stand_close(&s);
}

/* --- duration-queues ------------------------------------------------------------------------- */

static void duration_queues_share_by_duration(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "duration-queues", "queues=2", 8, 0);
    start(&s, 0, 200);
    start(&s, 1, 5000);
    (void)advance(&s, 50);
    start(&s, 2, 250);
    assert_string_equal(place(&s, 0).part, "for 200 ticks");
    assert_string_equal(place(&s, 2).part, "for 200 ticks");
    assert_string_equal(place(&s, 1).part, "for 5000 ticks");
    start(&s, 3, 350); /* a third duration: no queue is left */
    assert_string_equal(place(&s, 3).part, "heap");
    assert_int_equal(s.algo->next(s.self), 200);
    assert_int_equal(advance(&s, 200), 1);
    assert_int_equal(advance(&s, 250), 1); /* the first queue is empty, and given back */
    start(&s, 4, 550);
    assert_string_equal(place(&s, 4).part, "for 300 ticks");
    assert_int_equal(advance(&s, 349), 0);
    assert_int_equal(advance(&s, 350), 1);
    assert_int_equal(s.algo->next(s.self), 550);
    assert_int_equal(advance(&s, 5000), 2);
    stand_close(&s);
}

/* --- complexity, by counting ----------------------------------------------------------------- */

#define MANY 100000u

/* What many timers may cost, each a mean. */
static const struct bound {
    const char *name;
    const char *options;
    uint64_t durations; /* delays are drawn from so many, spread over 30,000 to 60,000 */
    double start;       /* compares and moves of a start */
    double tick;        /* slots and compares of a tick that fires nothing */
    double expire;      /* moves and compares of a timer, from its start to its firing */
    double cascades;    /* of a timer */
} bounds[] = {
    /* n/slots = 100,000 / 512 = 195, of which a start passes a part */
    {"hashed-ordered-wheel", "slots=512", 30000, 195, 2, 6, 0},
    {"hashed-ordered-wheel", "", 30000, 3, 2, 6, 0},
    {"cascading-wheel", "", 30000, 5, 1.1 + 1.0, 12, 4},
    {"bitmap-wheel", "", 30000, 1, 2.2, 12, 5},
    {"tokio-wheel", "", 30000, 2, 0.1, 9, 2},
    {"coarse-wheel", "", 30000, 1, 1.2, 3, 0},
    /* each is looked at at half of its slot's 4,096 ticks, unless it is moved from there */
    {"nexus-wheel", "moves=0", 30000, 1, 0.1, 2048 + 2, 0},
    {"nexus-wheel", "", 30000, 1, 0.1, 9, 2},
    {"probing-wheel", "cap=65536", 30000, 1, 0.1, 4, 0},
    {"fixed-wheel", "", 30000, 1, 1, 2, 0},
    {"cache-wheel", "", 30000, 1, 0.1, 6, 1},
    {"two-level-wheel", "", 30000, 1, 1.1, 5, 1},
    {"vpp-wheel", "", 30000, 1, 1.1, 5, 1},
    {"vpp-wheel", "wheels=3:bits=8", 30000, 1, 1.1, 6, 1},
    {"callout-wheel", "", 30000, 1, 0.1, 6, 0},
    /* n/spokes = 100,000 / 4,096 = 24, in each of 15 turns */
    {"spoke-wheel", "", 30000, 1, 26, 5 + 24.5 * 15, 0},
    {"duration-queues", "", 16, 3, 0, 5, 0},
    {"duration-queues", "expiry=scan", 16, 3, 0, 5 + 16, 0},
    /* 2 log n, where every other duration finds no queue */
    {"duration-queues", "queues=16", 30000, 8, 0, 2 * 17 + 17 + 4, 0},
    {"unordered-list", "", 30000, 1, MANY, MANY * 60000.0, 0},
};

static double per(uint64_t work, uint64_t n)
{
    return (double)work / (double)n;
}

static void expect_at_most(const struct bound *bound, const char *what, double found, double most)
{
    if (found > most) {
        fail_msg("%s:%s: %s %.2f, at most %.2f", bound->name, bound->options, what, found, most);
    }
}

static void cost_is_as_stated(const struct bound *bound, uint32_t n)
{
    struct stand s;
    stand_open(&s, bound->name, bound->options, n, 0);
    uint64_t clock = 0;
    for (uint32_t id = 0; id < n; id++) {
        uint64_t step = mixed(id) % bound->durations * (30000 / bound->durations);
        start(&s, id, clock + 30000 + step);
    }
    struct tl_counters filed = counted(&s);
    expect_at_most(bound, "a start", per(filed.compares + filed.moves, n), bound->start);
    for (uint64_t end = clock + 1000; clock < end;) {
        assert_int_equal(advance(&s, ++clock), 0);
    }
    struct tl_counters idle = counted(&s);
    uint64_t idle_work = idle.slots + idle.compares - filed.slots - filed.compares;
    idle_work -= 2 * (idle.cascades - filed.cascades); /* those belong to the timers */
    expect_at_most(bound, "a tick", per(idle_work, 1000), bound->tick);
    assert_true(run_dry(&s, clock) <= 60000 + 4096 + 65536);
    assert_int_equal(s.fired, n);
    struct tl_counters all = counted(&s);
    expect_at_most(
        bound, "a timer's work",
        per(all.moves + all.compares - filed.compares - (idle.compares - filed.compares), n),
        bound->expire);
    expect_at_most(bound, "a timer's cascades", per(all.cascades, n), bound->cascades);
    stand_close(&s);
}

static void work_is_as_stated(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        bool slow = (tl_registry_find(bounds[i].name)->timed->capabilities & TL_CAP_SLOW) != 0;
        cost_is_as_stated(&bounds[i], slow ? 1000 : MANY);
    }
}

/* A jump is bounded by slots, however many ticks it is. */
static void jumps_are_bounded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        struct stand s;
        stand_open(&s, bounds[i].name, bounds[i].options, 4, 0);
        start(&s, 0, 60000);
        uint64_t now = UINT64_C(1) << 40;
        assert_int_equal(advance(&s, now), 1);
        for (int jump = 0; jump < 10; jump++) {
            now += UINT64_C(1) << 40;
            assert_int_equal(advance(&s, now), 0);
        }
        assert_true(counted(&s).slots <= 11 * 70000);
        stand_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coarse_wheel_has_the_kernels_levels),
        cmocka_unit_test(coarse_wheel_rounds_as_the_kernel_on_request),
        cmocka_unit_test(coarse_wheel_is_never_early_and_an_eighth_late),
        cmocka_unit_test(coarse_wheel_waits_beyond_the_cutoff),
        cmocka_unit_test(cascading_wheel_is_a_clock),
        cmocka_unit_test(cascading_wheel_keeps_ten_days_and_a_hundred),
        cmocka_unit_test(bitmap_wheel_files_by_the_highest_bit),
        cmocka_unit_test(bitmap_wheel_sleeps_from_slot_to_slot),
        cmocka_unit_test(two_level_wheel_has_erlangs_boundaries),
        cmocka_unit_test(two_level_wheel_overflows_in_order),
        cmocka_unit_test(spoke_wheel_files_as_agrona_does),
        cmocka_unit_test(spoke_wheel_doubles_every_spoke),
        cmocka_unit_test(spoke_wheel_goes_astray_without_memory),
        cmocka_unit_test(fixed_wheel_puts_everything_behind_the_hand),
        cmocka_unit_test(fixed_wheel_fires_at_the_end_of_its_slot),
        cmocka_unit_test(cache_wheel_has_caffeines_spans),
        cmocka_unit_test(duration_queues_share_by_duration),
        cmocka_unit_test(work_is_as_stated),
        cmocka_unit_test(jumps_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
