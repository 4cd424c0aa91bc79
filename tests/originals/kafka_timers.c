/*
 * hier-wheel with clock=bucket compared with Kafka's: server-common, TimingWheel.java (add,
 * advanceClock), SystemTimer.java (addTimerTaskEntry, advanceClock) and TimerTaskList.java
 * (setExpiration, flush) of apache/kafka (October 2024). Not modelled: locks and threads, and in
 * which order the delay queue yields buckets that expire at one time.
 */
#include "original.h"

enum habit {
    RUNS_WHEN_ADDED = 1, /* timers that are already due, in the very next advance at the latest */
};

enum { WHEELS_MAX = 40, SLOTS_MAX = 20 };
enum { NOWHERE = -1, EXPIRED = -2 }; /* in addition to wheels, from 0 */
#define NEVER_SET UINT64_MAX

struct timing_wheel {
    uint64_t tick_ms;
    uint64_t interval;
    uint64_t current_time_ms;
    uint64_t expiration[SLOTS_MAX];
    bool queued[SLOTS_MAX];
};

struct system_timer {
    uint32_t habits;
    uint64_t wheel_size;
    uint64_t now;
    struct timing_wheel wheels[WHEELS_MAX];
    uint32_t wheel_count;
    int wheel[ORIGINAL_IDS];
    uint64_t bucket[ORIGINAL_IDS];
    uint64_t added[ORIGINAL_IDS]; /* to its bucket: the number of the addition */
    uint64_t additions;
    uint64_t expiration_ms[ORIGINAL_IDS];
};

static void add_wheel(struct system_timer *timer, uint64_t tick_ms, uint64_t start_ms)
{
    assert_true(timer->wheel_count < WHEELS_MAX);
    struct timing_wheel *wheel = &timer->wheels[timer->wheel_count++];
    wheel->tick_ms = tick_ms;
    wheel->interval = tick_ms * timer->wheel_size;
    wheel->current_time_ms = start_ms - start_ms % tick_ms;
    for (uint32_t i = 0; i < SLOTS_MAX; i++) {
        wheel->expiration[i] = NEVER_SET;
    }
}

static void open_timer(struct system_timer *timer, uint64_t now, uint32_t habits, uint64_t tick_ms,
                       uint64_t wheel_size)
{
    timer->habits = habits;
    timer->wheel_size = wheel_size;
    timer->now = now;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        timer->wheel[id] = NOWHERE;
    }
    add_wheel(timer, tick_ms, now);
}

static void open_1_of_20(void *self, uint64_t now, uint32_t habits)
{
    open_timer(self, now, habits, 1, 20);
}

static void open_7_of_3(void *self, uint64_t now, uint32_t habits)
{
    open_timer(self, now, habits, 7, 3);
}

/* TimingWheel.add; false: already expired. */
static bool add(struct system_timer *timer, uint32_t id)
{
    uint64_t expiration = timer->expiration_ms[id];
    for (uint32_t i = 0;; i++) {
        struct timing_wheel *wheel = &timer->wheels[i];
        if (expiration < wheel->current_time_ms + wheel->tick_ms) {
            return false;
        }
        if (expiration < wheel->current_time_ms + wheel->interval) {
            uint64_t virtual_id = expiration / wheel->tick_ms;
            uint64_t bucket = virtual_id % timer->wheel_size;
            timer->wheel[id] = (int)i;
            timer->bucket[id] = bucket;
            timer->added[id] = timer->additions++;
            if (wheel->expiration[bucket] != virtual_id * wheel->tick_ms) {
                wheel->expiration[bucket] = virtual_id * wheel->tick_ms;
                assert_false(wheel->queued[bucket]);
                wheel->queued[bucket] = true;
            }
            return true;
        }
        if (i + 1 == timer->wheel_count) {
            add_wheel(timer, wheel->interval, wheel->current_time_ms);
        }
    }
}

static bool cancel(void *self, uint32_t id)
{
    struct system_timer *timer = self;
    bool was = timer->wheel[id] != NOWHERE;
    timer->wheel[id] = NOWHERE;
    return was;
}

static void advance_wheels(struct system_timer *timer, uint64_t time_ms)
{
    for (uint32_t i = 0; i < timer->wheel_count; i++) {
        struct timing_wheel *wheel = &timer->wheels[i];
        if (time_ms < wheel->current_time_ms + wheel->tick_ms) {
            return;
        }
        wheel->current_time_ms = time_ms - time_ms % wheel->tick_ms;
        time_ms = wheel->current_time_ms;
    }
}

static bool add_timer(void *self, uint32_t id, uint64_t deadline)
{
    struct system_timer *timer = self;
    (void)cancel(timer, id);
    timer->expiration_ms[id] = deadline;
    if (!add(timer, id)) {
        timer->wheel[id] = EXPIRED;
    }
    return true;
}

/* The bucket that expires first, if it has by `now`. */
static bool poll(const struct system_timer *timer, uint64_t now, uint32_t *level, uint64_t *bucket)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < timer->wheel_count; i++) {
        for (uint64_t k = 0; k < timer->wheel_size; k++) {
            const struct timing_wheel *wheel = &timer->wheels[i];
            if (wheel->queued[k] && wheel->expiration[k] < first) {
                first = wheel->expiration[k];
                *level = i;
                *bucket = k;
            }
        }
    }
    return first <= now;
}

static void flush(struct system_timer *timer, uint32_t level, uint64_t bucket)
{
    timer->wheels[level].expiration[bucket] = NEVER_SET;
    timer->wheels[level].queued[bucket] = false;
    uint64_t end = timer->additions;
    for (;;) {
        uint32_t first = ORIGINAL_IDS;
        for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
            bool there = timer->wheel[id] == (int)level && timer->bucket[id] == bucket &&
                         timer->added[id] < end;
            if (there && (first == ORIGINAL_IDS || timer->added[id] < timer->added[first])) {
                first = id;
            }
        }
        if (first == ORIGINAL_IDS) {
            return;
        }
        if (!add(timer, first)) {
            timer->wheel[first] = EXPIRED;
        }
    }
}

static void run_expired(struct system_timer *timer, const struct original_fire *fire)
{
    bool expired[ORIGINAL_IDS];
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        expired[id] = timer->wheel[id] == EXPIRED;
    }
    /* A timer started by a callback when already due waits for another turn, unless it runs when
     * added. */
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (expired[id] && timer->wheel[id] == EXPIRED) {
            timer->wheel[id] = NOWHERE;
            fire->call(fire->ctx, id);
        }
    }
}

static void advance_clock(void *self, uint64_t now, const struct original_fire *fire)
{
    struct system_timer *timer = self;
    uint32_t level = 0;
    uint64_t bucket = 0;
    timer->now = now;
    while (poll(timer, now, &level, &bucket)) {
        advance_wheels(timer, timer->wheels[level].expiration[bucket]);
        flush(timer, level, bucket);
    }
    run_expired(timer, fire);
    if ((timer->habits & RUNS_WHEN_ADDED) != 0) {
        run_expired(timer, fire);
    }
}

/* When the delay queue yields its first bucket. */
static uint64_t next(void *self)
{
    struct system_timer *timer = self;
    uint32_t level = 0;
    uint64_t bucket = 0;
    bool pending = false;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        pending |= timer->wheel[id] != NOWHERE;
        if (timer->wheel[id] == EXPIRED) {
            return timer->now;
        }
    }
    return pending && poll(timer, UINT64_MAX - 1, &level, &bucket)
               ? timer->wheels[level].expiration[bucket]
               : TL_NEVER;
}

/* Where it has the timer; stop and count are compared elsewhere. */
static void place_of(const void *self, uint32_t id, struct place *place)
{
    const struct system_timer *timer = self;
    if (timer->wheel[id] != NOWHERE && place->pending) {
        place->level = timer->wheel[id] == EXPIRED ? 0 : (uint32_t)timer->wheel[id] + 1;
        place->slot = place->level > 0 ? timer->bucket[id] : place->slot;
    }
}

#define KAFKA(opens)                                                                               \
    {                                                                                              \
        .follows = "Kafka's TimingWheel.java", .bytes = sizeof(struct system_timer),               \
        .open = (opens), .start = add_timer, .stop = cancel, .advance = advance_clock,             \
        .next = next, .place = place_of,                                                           \
    }

static const struct original of_1_by_20 = KAFKA(open_1_of_20);
static const struct original of_7_by_3 = KAFKA(open_7_of_3);

static const struct original_case cases[] = {
    {.original = &of_1_by_20,
     .structure = "hier-wheel",
     .options = "clock=bucket",
     .next = ORIGINAL_NEXT_SAME},
    {.original = &of_7_by_3,
     .structure = "hier-wheel",
     .options = "clock=bucket:tick=7:slots=3",
     .next = ORIGINAL_NEXT_SAME,
     .clock = 1000},
    {.original = &of_1_by_20,
     .structure = "hier-wheel",
     .options = "clock=bucket",
     .next = ORIGINAL_NEXT_SAME,
     .delay_bits = 40,
     .clock = 12345},
    {.original = &of_7_by_3,
     .structure = "hier-wheel",
     .options = "clock=bucket:tick=7:slots=3",
     .next = ORIGINAL_NEXT_SAME,
     .delay_bits = 8,
     .step_ticks = 5,
     .operations = 2000},
};

static void hier_wheel_by_bucket_is_kafkas(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        original_agrees(&cases[i]);
    }
}

static void hier_wheel_follows_every_advance_unless_told(void **state)
{
    (void)state;
    struct original_case by_advance = cases[0];
    by_advance.options = "";
    original_differs(&by_advance, 0, "the clock follows every advance, unless clock=bucket");
    original_differs(&cases[0], RUNS_WHEN_ADDED,
                     "a timer that is already due fires at the next advance");
}

/* Which clock it is makes no difference to when a timer fires. */
static void hier_wheel_fires_when_kafkas_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct original firings = *cases[i].original;
        struct original_case by_advance = cases[i];
        firings.place = NULL;
        firings.next = NULL;
        by_advance.original = &firings;
        by_advance.next = ORIGINAL_NEXT_ANY;
        by_advance.options = i == 0 ? "" : "tick=7:slots=3";
        original_agrees(&by_advance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hier_wheel_by_bucket_is_kafkas),
        cmocka_unit_test(hier_wheel_follows_every_advance_unless_told),
        cmocka_unit_test(hier_wheel_fires_when_kafkas_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
