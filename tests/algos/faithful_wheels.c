/*
 * Wheels held to the systems that they follow: Linux's level table, the clock of hours, minutes and
 * seconds, Erlang's two wheels, Agrona's spokes, Caffeine's spans, queues by duration; and all to
 * the complexity that they state, by counting.
 *
 * Walks count levels from 1, as the paper does; the kernel's table counts from 0.
 */
#include "stand.h"

#include <string.h>

static void expect_place(const struct stand *s, uint32_t id, uint32_t level, uint64_t slot)
{
    struct place found = stand_place(s, id);
    assert_int_equal(found.level, level);
    assert_int_equal(found.slot, slot);
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
                stand_open(&s, "coarse-wheel", "", .capacity = 1, .now = clock);
                stand_start(&s, 0, due);
                struct place found = stand_place(&s, 0);
                assert_int_equal(found.level, level + 1);
                uint64_t fires = (due + granularity - 1) / granularity * granularity;
                assert_int_equal(found.to, fires);
                /* calc_index(): LVL_OFFS(lvl) + (expires & LVL_MASK) */
                assert_int_equal(64 * (found.level - 1) + found.slot,
                                 linux_levels[row].offset + fires / granularity % 64);
                assert_int_equal(stand_next(&s), fires);
                assert_int_equal(stand_advance(&s, fires - 1), 0);
                assert_int_equal(stand_advance(&s, fires), 1);
                assert_int_equal(stand_counters(&s).cascades, 0);
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
        stand_open(&s, "coarse-wheel", "rounding=next", .capacity = 1, .now = 1000);
        uint64_t due = 1000 + (linux_levels[row].from > 0 ? linux_levels[row].from : 5);
        stand_start(&s, 0, due);
        assert_int_equal(stand_place(&s, 0).to + 1, ((due >> shift) + 1) << shift);
        stand_close(&s);
    }
}

static void coarse_wheel_is_never_early_and_an_eighth_late(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "coarse-wheel", "", .capacity = 1, .now = 12345);
    for (uint64_t delay = 1; delay < linux_start(9); delay += delay / 97 + 1) {
        stand_start(&s, 0, 12345 + delay);
        uint64_t fires = stand_place(&s, 0).to;
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
    stand_open(&s, "coarse-wheel", "", .capacity = 1);
    uint64_t cutoff = UINT64_C(63) << 24;
    uint64_t furthest = cutoff - (UINT64_C(1) << 24); /* WHEEL_TIMEOUT_MAX */
    uint64_t due = cutoff + 100;
    stand_start(&s, 0, due);
    assert_int_equal(stand_place(&s, 0).level, 9);
    assert_int_equal(stand_place(&s, 0).to, furthest);
    assert_int_equal(stand_advance(&s, furthest), 0);
    assert_int_equal(stand_counters(&s).cascades, 1);
    assert_true(stand_place(&s, 0).to >= due);
    assert_int_equal(stand_advance(&s, due - 1), 0);
    assert_int_equal(stand_advance(&s, stand_place(&s, 0).to), 1);
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
    stand_open(&s, "cascading-wheel", "l1=60:l2=60:l3=24:l4=100:l5=0:level=digit", .capacity = 4,
               .now = at_time(11, 10, 24, 30));
    stand_start(&s, 0, at_time(11, 11, 15, 15));
    expect_place(&s, 0, 3, 11); /* one hour ahead of the current one */
    assert_int_equal(stand_advance(&s, at_time(11, 10, 59, 59)), 0);
    expect_place(&s, 0, 3, 11);
    assert_int_equal(stand_advance(&s, at_time(11, 11, 0, 0)), 0);
    expect_place(&s, 0, 2, 15);
    assert_int_equal(stand_advance(&s, at_time(11, 11, 14, 59)), 0);
    expect_place(&s, 0, 2, 15);
    assert_int_equal(stand_advance(&s, at_time(11, 11, 15, 0)), 0);
    expect_place(&s, 0, 1, 15);
    assert_int_equal(stand_counters(&s).cascades, 2);
    assert_int_equal(stand_advance(&s, at_time(11, 11, 15, 14)), 0);
    assert_int_equal(stand_advance(&s, at_time(11, 11, 15, 15)), 1);
    stand_close(&s);
    /* By its delay it is in reach of the minutes. */
    stand_open(&s, "cascading-wheel", "l1=60:l2=60:l3=24:l4=100:l5=0", .capacity = 4,
               .now = at_time(11, 10, 24, 30));
    stand_start(&s, 0, at_time(11, 11, 15, 15));
    expect_place(&s, 0, 2, 15);
    assert_int_equal(stand_run_dry(&s), at_time(11, 11, 15, 15));
    assert_int_equal(stand_counters(&s).cascades, 1);
    stand_close(&s);
}

static void cascading_wheel_keeps_ten_days_and_a_hundred(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "cascading-wheel", "l1=60:l2=60:l3=24:l4=100:l5=0", .capacity = 4,
               .now = at_time(0, 23, 59, 58));
    uint64_t due = at_time(10, 23, 59, 59); /* ten days and one second */
    stand_start(&s, 0, due);
    expect_place(&s, 0, 4, 10);
    assert_int_equal(stand_run_dry(&s), due);
    assert_int_equal(stand_counters(&s).cascades, 3); /* once from each level */
    /* Beyond the last level: the furthest slot, and again. */
    stand_start(&s, 0, due + at_time(250, 0, 0, 0));
    expect_place(&s, 0, 4, 10);
    assert_int_equal(stand_place(&s, 0).from, at_time(110, 0, 0, 0));
    assert_int_equal(stand_run_dry(&s), due + at_time(250, 0, 0, 0));
    assert_true(stand_counters(&s).cascades <= 3 + 2 + 3);
    stand_close(&s);
}

/* --- bitmap-wheel: wahern/timeout ------------------------------------------------------------ */

static void bitmap_wheel_files_by_the_highest_bit(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "bitmap-wheel", "bits=6:levels=4", .capacity = 4);
    stand_start(&s, 0, 63);
    expect_place(&s, 0, 1, 63);
    stand_start(&s, 0, 64);
    expect_place(&s, 0, 2, 1);
    stand_start(&s, 0, 4095);
    expect_place(&s, 0, 2, 63);
    stand_start(&s, 0, 4096);
    expect_place(&s, 0, 3, 1);
    stand_start(&s, 0, (1 << 24) - 1);
    expect_place(&s, 0, 4, 63);
    stand_start(&s, 0,
                (1 << 30) + (5 << 18)); /* beyond 2^24: its own slot, filed again in every turn */
    expect_place(&s, 0, 4, 5);
    assert_int_equal(stand_next(&s), 5 << 18);
    assert_int_equal(stand_advance(&s, 5 << 18), 0);
    expect_place(&s, 0, 4, 5);
    assert_int_equal(stand_next(&s), (1 << 24) + (5 << 18));
    stand_close(&s);
}

/* From slot to slot: `next` is the cascade, then the expiry. */
static void bitmap_wheel_sleeps_from_slot_to_slot(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "bitmap-wheel", "", .capacity = 4);
    stand_start(&s, 0, 5000);
    static const uint64_t wakes[] = {4096, 4992, 5000};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(stand_next(&s), wakes[i]);
        assert_int_equal(stand_advance(&s, wakes[i]), i == 2);
    }
    assert_int_equal(stand_counters(&s).cascades, 2);
    assert_int_equal(stand_next(&s), TL_NEVER);
    /* A stop that empties a slot is not waited for. */
    stand_start(&s, 0, 9000);
    stand_start(&s, 1, 6000);
    assert_int_equal(stand_stop(&s, 1), TL_OK);
    assert_int_equal(stand_next(&s), 8960); /* 3,960 ticks ahead: slot 140 of 64 ticks */
    stand_close(&s);
}

/* --- two-level-wheel: erts/emulator/beam/time.c ---------------------------------------------- */

static void two_level_wheel_has_erlangs_boundaries(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "two-level-wheel", "", .capacity = 8, .now = 100);
    stand_start(&s, 0, 100 + 16383);
    expect_place(&s, 0, 1, 99);
    stand_start(&s, 0, 100 + 16384);
    expect_place(&s, 0, 2, 2);
    /* 17, 18 and 19 seconds ahead share a slot of the later wheel. */
    stand_start(&s, 1, 100 + 17000);
    stand_start(&s, 2, 100 + 18000);
    stand_start(&s, 3, 100 + 19000);
    expect_place(&s, 1, 2, 2);
    expect_place(&s, 2, 2, 2);
    expect_place(&s, 3, 2, 2);
    assert_int_equal(stand_next(&s), 8192);
    assert_int_equal(stand_advance(&s, 8191), 0);
    expect_place(&s, 3, 2, 2);
    assert_int_equal(stand_advance(&s, 8192), 0); /* within 8,192 ticks of the slot */
    expect_place(&s, 3, 1, 19100 - 16384);
    assert_int_equal(stand_counters(&s).cascades, 4);
    assert_int_equal(stand_next(&s), 100 + 16384);
    assert_int_equal(stand_run_dry(&s), 100 + 19000);
    assert_int_equal(stand_counters(&s).cascades, 4);
    stand_close(&s);
}

static void two_level_wheel_overflows_in_order(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "two-level-wheel", "", .capacity = 8);
    uint64_t beyond = UINT64_C(16384) * 8192; /* 37 h 17 min: a turn of the later wheel */
    stand_start(&s, 0, beyond - 1);
    assert_int_equal(stand_place(&s, 0).level, 2);
    for (uint32_t id = 1; id < 8; id++) {
        stand_start(&s, id, beyond + 100 - id * 7);
        assert_int_equal(stand_place(&s, id).level, 0);
    }
    assert_int_equal(stand_stop(&s, 7), TL_OK);
    assert_int_equal(stand_advance(&s, beyond - 1), 1);
    assert_int_equal(stand_next(&s), beyond + 100 - 6 * 7);
    assert_int_equal(stand_advance(&s, beyond + 100 - 6 * 7), 1);
    assert_int_equal(stand_next(&s), beyond + 100 - 5 * 7);
    assert_int_equal(stand_advance(&s, beyond + 100), 5);
    stand_close(&s);
}

/* --- spoke-wheel: DeadlineTimerWheel.java ---------------------------------------------------- */

static void spoke_wheel_files_as_agrona_does(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "spoke-wheel", "spokes=16:tick=8", .capacity = 1);
    for (uint64_t deadline = 1; deadline < 1000; deadline++) {
        stand_start(&s, 0, deadline);
        expect_place(&s, 0, 1, (deadline >> 3) & 15);
        assert_int_equal(stand_place(&s, 0).rounds, deadline / 128);
    }
    /* Looked at in every turn, and in every tick of its spoke, but not fired early. */
    assert_int_equal(stand_run_dry(&s), 999);
    stand_close(&s);
}

static void spoke_wheel_doubles_every_spoke(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "spoke-wheel", "spokes=1024:allocation=16", .capacity = 64);
    uint64_t small = s.memory.bytes;
    for (uint32_t id = 0; id < 16; id++) {
        stand_start(&s, id, 500);
    }
    assert_int_equal(s.memory.bytes, small);
    stand_start(&s, 16, 500); /* one crowded spoke, and all 1024 are twice as long */
    uint64_t places = 1024 * 16 * (sizeof(uint64_t) + sizeof(uint32_t));
    assert_int_equal(s.memory.bytes, small + places);
    assert_int_equal(stand_advance(&s, 500), 17);
    assert_int_equal(s.memory.bytes, small + places); /* and stay so */
    stand_close(&s);
}

static void spoke_wheel_goes_astray_without_memory(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "spoke-wheel", "spokes=16:allocation=4", .capacity = 64);
    s.memory.limit_bytes = s.memory.bytes;
    for (uint32_t id = 0; id < 64; id++) {
        stand_start(&s, id, 500 + id % 2);
    }
    assert_int_equal(stand_place(&s, 0).slot, 500 % 16);
    assert_int_not_equal(stand_place(&s, 63).slot, 501 % 16);
    assert_int_equal(stand_advance(&s, 499), 0);
    assert_int_equal(stand_advance(&s, 500), 32);
    assert_int_equal(stand_advance(&s, 501), 32);
    stand_close(&s);
}

/* --- fixed-wheel ----------------------------------------------------------------------------- */

static void fixed_wheel_puts_everything_behind_the_hand(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "fixed-wheel", "timeout=60", .capacity = 4, .now = 1000);
    stand_start(&s, 0, 1060);
    expect_place(&s, 0, 1, 1060 % 62);
    stand_start(&s, 1, 1010); /* shorter: served with the timeout, and so 50 late */
    expect_place(&s, 1, 1, 1060 % 62);
    stand_start(&s, 2, 1061); /* rounded up to a tick */
    expect_place(&s, 2, 1, 1061 % 62);
    assert_int_equal(stand_try_start(&s, 3, 1062), TL_ERR_HORIZON);
    assert_int_equal(stand_advance(&s, 1030), 0);
    stand_start(&s, 0, 1090); /* heard from again */
    expect_place(&s, 0, 1, 1090 % 62);
    assert_int_equal(stand_advance(&s, 1059), 0);
    assert_int_equal(stand_advance(&s, 1060), 1);
    assert_int_equal(stand_advance(&s, 1061), 1);
    assert_int_equal(stand_advance(&s, 1089), 0);
    assert_int_equal(stand_advance(&s, 1090), 1);
    stand_close(&s);
}

/* At the ticks that `ctx` has for each timer. */
static void fires_when_modelled(struct stand *s, uint32_t id, uint64_t due)
{
    (void)due;
    uint64_t *modelled = s->ctx;
    assert_true(modelled[id] <= s->clock);
    modelled[id] = TL_NEVER;
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
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const uint64_t timeout = cases[c].timeout;
        const uint64_t tick = cases[c].tick;
        uint64_t modelled[32];
        struct stand s;
        memset(modelled, 0xff, sizeof modelled); /* TL_NEVER */
        stand_open(&s, "fixed-wheel", cases[c].options, .capacity = 32, .now = 1000);
        s.on_expiry = fires_when_modelled;
        s.ctx = modelled;
        for (uint64_t step = 0; step < 20000; step++) {
            uint32_t id = (uint32_t)stand_draw(&s, 32);
            /* The timeout, one more, one too many, and now and then a shorter one. */
            uint64_t delay = timeout + stand_draw(&s, 3);
            if (stand_draw(&s, 4) == 0) {
                delay = 1 + stand_draw(&s, timeout);
            }
            enum tl_status status = stand_try_start(&s, id, s.clock + delay);
            assert_int_equal(status, delay > timeout + 1 ? TL_ERR_HORIZON : TL_OK);
            if (status == TL_OK) {
                uint64_t served = delay > timeout ? delay : timeout;
                modelled[id] = (s.clock + served + tick - 1) / tick * tick;
            }
            uint64_t most = stand_draw(&s, 50) == 0 ? 3 * timeout : 3;
            (void)stand_advance(&s, s.clock + stand_draw(&s, most));
            for (uint32_t i = 0; i < 32; i++) {
                assert_true(modelled[i] > s.clock);
            }
        }
        assert_true(s.fired > 100);
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
    stand_open(&s, "cache-wheel", "", .capacity = 1, .now = clock);
    for (uint32_t level = 0; level < 5; level++) {
        uint64_t span = spans[level].span * 1024;
        uint64_t end = span * spans[level].buckets;
        const uint64_t delays[] = {level > 0 ? span : 1, end - 1};
        for (size_t i = 0; i < (level < 4 ? 2 : 1); i++) {
            uint64_t due = clock + delays[i];
            stand_start(&s, 0, due);
            expect_place(&s, 0, level + 1, due / span % spans[level].buckets);
            /* Opened when it begins or, if the clock is in it already, when it ends; the last is
             * one bucket, opened at the end of every turn. */
            uint64_t opened =
                level < 4 && due / span > clock / span ? due / span : clock / span + 1;
            assert_int_equal(stand_next(&s), opened * span);
        }
    }
    /* A second late at the most, from the last level too, which is looked at every 6.5 days. */
    stand_start(&s, 0, clock + 5000);
    assert_int_equal(stand_next(&s), clock + 4 * 1024);
    assert_int_equal(stand_advance(&s, clock + 4 * 1024), 0);
    assert_int_equal(stand_next(&s), clock + 5 * 1024);
    assert_int_equal(stand_advance(&s, clock + 5 * 1024 - 1), 0);
    assert_int_equal(stand_advance(&s, clock + 5 * 1024), 1);
    uint64_t due = s.clock + UINT64_C(1200) * 1024 * 1024;
    stand_start(&s, 0, due);
    while (stand_count(&s) > 0) {
        assert_true(stand_next(&s) > s.clock);
        (void)stand_advance(&s, stand_next(&s));
    }
    assert_in_range(s.clock, due, due + 1023);
    stand_close(&s);
}

/* --- duration-queues ------------------------------------------------------------------------- */

static void duration_queues_share_by_duration(void **state)
{
    (void)state;
    struct stand s;
    stand_open(&s, "duration-queues", "queues=2", .capacity = 8);
    stand_start(&s, 0, 200);
    stand_start(&s, 1, 5000);
    (void)stand_advance(&s, 50);
    stand_start(&s, 2, 250);
    assert_string_equal(stand_place(&s, 0).part, "for 200 ticks");
    assert_string_equal(stand_place(&s, 2).part, "for 200 ticks");
    assert_string_equal(stand_place(&s, 1).part, "for 5000 ticks");
    stand_start(&s, 3, 350); /* a third duration: no queue is left */
    assert_string_equal(stand_place(&s, 3).part, "heap");
    assert_int_equal(stand_next(&s), 200);
    assert_int_equal(stand_advance(&s, 200), 1);
    assert_int_equal(stand_advance(&s, 250), 1); /* the first queue is empty, and given back */
    stand_start(&s, 4, 550);
    assert_string_equal(stand_place(&s, 4).part, "for 300 ticks");
    assert_int_equal(stand_advance(&s, 349), 0);
    assert_int_equal(stand_advance(&s, 350), 1);
    assert_int_equal(stand_next(&s), 550);
    assert_int_equal(stand_advance(&s, 5000), 2);
    stand_close(&s);
}

/* --- complexity, by counting ----------------------------------------------------------------- */

#define MANY 100000u

/* What many timers may cost, each a mean. */
static const struct bound {
    const char *name;
    const char *options;
    uint64_t durations; /* this many different delays, from 30,000 to 60,000 */
    double start;       /* compares and moves of a start */
    double tick;        /* slots and compares of a tick that fires nothing */
    double expire;      /* moves and compares of a timer, from start to expiry */
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
    stand_open(&s, bound->name, bound->options, .capacity = n);
    for (uint32_t id = 0; id < n; id++) {
        uint64_t step = stand_draw(&s, bound->durations) * (30000 / bound->durations);
        stand_start(&s, id, 30000 + step);
    }
    struct tl_counters filed = stand_counters(&s);
    expect_at_most(bound, "a start", per(filed.compares + filed.moves, n), bound->start);
    while (s.clock < 1000) {
        assert_int_equal(stand_advance(&s, s.clock + 1), 0);
    }
    struct tl_counters idle = stand_counters(&s);
    uint64_t idle_work = idle.slots + idle.compares - filed.slots - filed.compares;
    idle_work -= 2 * (idle.cascades - filed.cascades); /* those belong to the timers */
    expect_at_most(bound, "a tick", per(idle_work, 1000), bound->tick);
    assert_true(stand_run_dry(&s) <= 60000 + 4096 + 65536);
    assert_int_equal(s.fired, n);
    struct tl_counters all = stand_counters(&s);
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
        stand_open(&s, bounds[i].name, bounds[i].options, .capacity = 4);
        stand_start(&s, 0, 60000);
        uint64_t now = UINT64_C(1) << 40;
        assert_int_equal(stand_advance(&s, now), 1);
        for (int jump = 0; jump < 10; jump++) {
            now += UINT64_C(1) << 40;
            assert_int_equal(stand_advance(&s, now), 0);
        }
        assert_true(stand_counters(&s).slots <= 11 * 70000);
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
