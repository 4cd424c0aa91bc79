/*
 * cache-wheel compared with Caffeine's: TimerWheel.java of ben-manes/caffeine (August 2026),
 * advance, expire, schedule, findBucket, getExpirationDelay and peekAhead, each bucket a list with
 * a sentinel. Not modelled: times that wrap, entries that the cache does not let go, the limit of
 * an advance, iterators.
 */
#include "original.h"

enum habit {
    FIRES_WHILE_EMPTYING = 1, /* a timer scheduled by a callback may go to a bucket yet to be
                               * emptied */
};

enum { WHEELS = 5, SENTINELS = 64 + 64 + 32 + 4 + 1, PENDING = ORIGINAL_IDS + SENTINELS };
enum { UNLINKED = -1 };

static const uint32_t buckets[WHEELS] = {64, 64, 32, 4, 1};

struct timer_wheel {
    uint32_t habits;
    uint32_t shift[WHEELS];
    int next[PENDING + 1]; /* of an entry, by id; of a sentinel, after those; of `pending` */
    int prev[PENDING + 1];
    uint64_t time[ORIGINAL_IDS];
    uint64_t now;
    uint32_t expired[ORIGINAL_IDS];
    uint32_t expired_count;
};

static int sentinel_of(uint32_t wheel, uint64_t index)
{
    int first = ORIGINAL_IDS;
    for (uint32_t i = 0; i < wheel; i++) {
        first += (int)buckets[i];
    }
    return first + (int)index;
}

static void open_wheel(struct timer_wheel *wheel, uint64_t now, uint32_t habits, uint32_t span_bits)
{
    static const uint32_t above[WHEELS] = {0, 6, 12, 17, 19};
    *wheel = (struct timer_wheel){.habits = habits, .now = now};
    for (int i = 0; i <= PENDING; i++) {
        wheel->next[i] = i < (int)ORIGINAL_IDS ? UNLINKED : i;
        wheel->prev[i] = wheel->next[i];
    }
    for (uint32_t i = 0; i < WHEELS; i++) {
        wheel->shift[i] = span_bits + above[i];
    }
}

static void open_wheel_of_1(void *self, uint64_t now, uint32_t habits)
{
    open_wheel(self, now, habits, 0);
}

static void open_wheel_of_16(void *self, uint64_t now, uint32_t habits)
{
    open_wheel(self, now, habits, 4);
}

static void open_wheel_of_1024(void *self, uint64_t now, uint32_t habits)
{
    open_wheel(self, now, habits, 10);
}

static bool deschedule(void *self, uint32_t id)
{
    struct timer_wheel *wheel = self;
    if (wheel->next[id] == UNLINKED) {
        return false;
    }
    wheel->next[wheel->prev[id]] = wheel->next[id];
    wheel->prev[wheel->next[id]] = wheel->prev[id];
    wheel->next[id] = UNLINKED;
    return true;
}

static int find_bucket(const struct timer_wheel *wheel, uint64_t time)
{
    uint64_t duration = time > wheel->now ? time - wheel->now : 0;
    uint64_t at = duration == 0 ? wheel->now : time;
    for (uint32_t i = 0; i + 1 < WHEELS; i++) {
        if (duration < UINT64_C(1) << wheel->shift[i + 1]) {
            return sentinel_of(i, (at >> wheel->shift[i]) & (buckets[i] - 1));
        }
    }
    return sentinel_of(WHEELS - 1, 0);
}

static void schedule(struct timer_wheel *wheel, uint32_t id)
{
    int sentinel = find_bucket(wheel, wheel->time[id]);
    int last = wheel->prev[sentinel];
    wheel->next[id] = sentinel;
    wheel->prev[id] = last;
    wheel->next[last] = (int)id;
    wheel->prev[sentinel] = (int)id;
}

static bool start(void *self, uint32_t id, uint64_t deadline)
{
    struct timer_wheel *wheel = self;
    (void)deschedule(wheel, id);
    wheel->time[id] = deadline;
    schedule(wheel, id);
    return true;
}

static void transfer(struct timer_wheel *wheel, int from, int to)
{
    int first = wheel->next[from];
    int last = wheel->prev[from];
    if (first == from) {
        return;
    }
    wheel->next[from] = from;
    wheel->prev[from] = from;
    wheel->prev[first] = wheel->prev[to];
    wheel->next[wheel->prev[to]] = first;
    wheel->next[last] = to;
    wheel->prev[to] = last;
}

static void expire(struct timer_wheel *wheel, uint32_t i, uint64_t previous, uint64_t delta,
                   const struct original_fire *fire)
{
    uint64_t steps = 1 + delta < buckets[i] ? 1 + delta : buckets[i];
    for (uint64_t at = previous; at < previous + steps; at++) {
        transfer(wheel, sentinel_of(i, at & (buckets[i] - 1)), PENDING);
        while (wheel->next[PENDING] != PENDING) {
            uint32_t id = (uint32_t)wheel->next[PENDING];
            (void)deschedule(wheel, id);
            if (wheel->time[id] > wheel->now) {
                schedule(wheel, id);
            } else if ((wheel->habits & FIRES_WHILE_EMPTYING) != 0) {
                fire->call(fire->ctx, id);
            } else {
                /* Pending, as long as it has not fired: in a list of its own, which is linked to
                 * nothing else. */
                wheel->next[id] = (int)id;
                wheel->prev[id] = (int)id;
                wheel->expired[wheel->expired_count++] = id;
            }
        }
    }
}

static void advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct timer_wheel *wheel = self;
    uint64_t before = wheel->now;
    wheel->now = now;
    wheel->expired_count = 0;
    for (uint32_t i = 0; i < WHEELS; i++) {
        uint64_t delta = (now >> wheel->shift[i]) - (before >> wheel->shift[i]);
        if (delta == 0) {
            break;
        }
        expire(wheel, i, before >> wheel->shift[i], delta, fire);
    }
    for (uint32_t i = 0; i < wheel->expired_count; i++) {
        uint32_t id = wheel->expired[i];
        /* Unless a callback has descheduled it, or scheduled it again. */
        if (wheel->next[id] == (int)id) {
            (void)deschedule(wheel, id);
            fire->call(fire->ctx, id);
        }
    }
}

static bool is_empty(const struct timer_wheel *wheel, uint32_t i, uint64_t ticks)
{
    int sentinel = sentinel_of(i, ticks & (buckets[i] - 1));
    return wheel->next[sentinel] == sentinel;
}

static uint64_t peek_ahead(const struct timer_wheel *wheel, uint32_t i)
{
    uint64_t ticks = wheel->now >> wheel->shift[i];
    uint64_t span = UINT64_C(1) << wheel->shift[i];
    return is_empty(wheel, i, ticks) && is_empty(wheel, i, ticks + 1)
               ? UINT64_MAX
               : span - (wheel->now & (span - 1));
}

/* getExpirationDelay */
static uint64_t next(void *self)
{
    struct timer_wheel *wheel = self;
    for (uint32_t i = 0; i < WHEELS; i++) {
        uint64_t ticks = wheel->now >> wheel->shift[i];
        uint64_t span = UINT64_C(1) << wheel->shift[i];
        for (uint64_t j = 0; j < buckets[i]; j++) {
            if (is_empty(wheel, i, ticks + j)) {
                continue;
            }
            uint64_t delay = (j > 1 ? j : 1) * span - (wheel->now & (span - 1));
            for (uint32_t k = i + 1; k < WHEELS; k++) {
                uint64_t upper = peek_ahead(wheel, k);
                delay = upper < delay ? upper : delay;
            }
            return wheel->now + delay;
        }
    }
    return TL_NEVER;
}

#define CAFFEINE(opens)                                                                            \
    {                                                                                              \
        .follows = "Caffeine's TimerWheel.java", .bytes = sizeof(struct timer_wheel),              \
        .open = (opens), .start = start, .stop = deschedule, .advance = advance, .next = next,     \
    }

static const struct original of_1 = CAFFEINE(open_wheel_of_1);
static const struct original of_16 = CAFFEINE(open_wheel_of_16);
static const struct original of_1024 = CAFFEINE(open_wheel_of_1024);

static const struct original_case cases[] = {
    {.original = &of_1,
     .structure = "cache-wheel",
     .options = "span=1",
     .ordered = true,
     .next = ORIGINAL_NEXT_SAME,
     .delay_bits = 24},
    {.original = &of_16,
     .structure = "cache-wheel",
     .options = "span=16",
     .ordered = true,
     .next = ORIGINAL_NEXT_SAME,
     .delay_bits = 28,
     .clock = 1000003},
    {.original = &of_1024,
     .structure = "cache-wheel",
     .options = "",
     .ordered = true,
     .next = ORIGINAL_NEXT_SAME,
     .delay_bits = 34},
    {.original = &of_1024,
     .structure = "cache-wheel",
     .options = "",
     .ordered = true,
     .next = ORIGINAL_NEXT_SAME,
     .delay_bits = 18,
     .clock = UINT64_C(1) << 40,
     .operations = 2000},
};

static void cache_wheel_is_caffeines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        original_agrees(&cases[i]);
    }
}

static void cache_wheel_empties_before_it_fires(void **state)
{
    (void)state;
    original_differs(&cases[1], FIRES_WHILE_EMPTYING,
                     "all buckets are emptied before the first callback");
}

/* A timer of 70 s, in a bucket of a minute: opened when its minute begins. */
static void a_minute_is_opened_when_it_begins(void **state)
{
    (void)state;
    static struct timer_wheel wheel;
    open_wheel_of_1024(&wheel, 0, 0);
    (void)start(&wheel, 0, 70000);
    assert_int_equal(next(&wheel), 65536);
    advance(&wheel, 65536, &(struct original_fire){NULL, NULL});
    assert_int_equal(next(&wheel), 68 * 1024);
    advance(&wheel, UINT64_C(68) * 1024, &(struct original_fire){NULL, NULL});
    assert_int_equal(next(&wheel), 69 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cache_wheel_is_caffeines),
        cmocka_unit_test(cache_wheel_empties_before_it_fires),
        cmocka_unit_test(a_minute_is_opened_when_it_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
