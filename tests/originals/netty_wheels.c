/*
 * netty-wheel compared with Netty's: HashedWheelTimer.java of netty/netty 4.2 (November 2025),
 * newTimeout, cancel, transferTimeoutsToBuckets, expireTimeouts, processCancelledTasks,
 * pendingTimeouts, and the worker's loop; and with Dubbo's of the same name, which handles
 * cancelled timeouts first. Not modelled: threads, the executor, stop, times below a tick.
 */
#include "original.h"

enum habit {
    RUNS_TICK_BY_TICK = 1,         /* each tick's tasks before the next tick is worked off */
    COUNTS_CANCELLED_TRANSFER = 2, /* a timeout cancelled in the queue counts toward a tick's
                                    * limit */
};

enum { INIT, CANCELLED, EXPIRED };

struct timeout {
    uint32_t id;
    uint64_t deadline;
    int64_t remaining_rounds;
    int state;
    int64_t bucket; /* -1: none */
    uint64_t added; /* to its bucket, or the queue: the number of the addition */
    bool queued;
    bool cancel_queued;
};

#define TIMEOUTS_MAX 4096

struct timer {
    uint32_t habits;
    bool cancelled_first;
    uint64_t wheel_length;
    uint64_t tick_duration;
    uint64_t max_transfer;
    int64_t max_pending; /* 0: no limit */
    int64_t pending;
    uint64_t now;
    bool started;
    uint64_t start_time;
    uint64_t tick;
    uint64_t additions;
    struct timeout timeouts[TIMEOUTS_MAX]; /* in the order of their additions */
    int count;
    uint32_t collected[TIMEOUTS_MAX]; /* ids that a tick is to run */
    int collected_count;
};

/* The timeout of an id that is neither expired nor cancelled; NULL: there is none. */
static struct timeout *timeout_of(struct timer *timer, uint32_t id)
{
    for (int i = 0; i < timer->count; i++) {
        if (timer->timeouts[i].id == id && timer->timeouts[i].state == INIT) {
            return &timer->timeouts[i];
        }
    }
    return NULL;
}

/* Forgets the timeouts that nothing refers to. */
static void collect_garbage(struct timer *timer)
{
    int kept = 0;
    for (int i = 0; i < timer->count; i++) {
        struct timeout *timeout = &timer->timeouts[i];
        if (timeout->queued || timeout->cancel_queued || timeout->bucket >= 0 ||
            timeout->state == INIT) {
            timer->timeouts[kept++] = *timeout;
        }
    }
    timer->count = kept;
}

static bool cancel(void *self, uint32_t id)
{
    struct timeout *timeout = timeout_of(self, id);
    if (timeout == NULL) {
        return false;
    }
    timeout->state = CANCELLED;
    timeout->cancel_queued = true;
    return true;
}

/* Where a timeout is pending, that is cancelled once the new one is taken. */
static bool new_timeout(void *self, uint32_t id, uint64_t deadline)
{
    struct timer *timer = self;
    timer->pending++;
    if (timer->max_pending > 0 && timer->pending > timer->max_pending) {
        timer->pending--;
        return false;
    }
    (void)cancel(timer, id);
    if (!timer->started) {
        timer->started = true;
        timer->start_time = timer->now;
    }
    collect_garbage(timer);
    assert_true(timer->count < TIMEOUTS_MAX);
    timer->timeouts[timer->count++] = (struct timeout){
        .id = id,
        .deadline = deadline > timer->start_time ? deadline - timer->start_time : 0,
        .bucket = -1,
        .added = timer->additions++,
        .queued = true,
    };
    return true;
}

/* The one that was added first to the queue, or to a bucket after the addition `after`. */
static struct timeout *first_added(struct timer *timer, int64_t bucket, uint64_t from)
{
    struct timeout *first = NULL;
    for (int i = 0; i < timer->count; i++) {
        struct timeout *timeout = &timer->timeouts[i];
        bool there = bucket < 0 ? timeout->queued : timeout->bucket == bucket;
        if (there && timeout->added >= from && (first == NULL || timeout->added < first->added)) {
            first = timeout;
        }
    }
    return first;
}

static void transfer(struct timer *timer)
{
    for (uint64_t i = 0; i < timer->max_transfer; i++) {
        struct timeout *timeout = first_added(timer, -1, 0);
        if (timeout == NULL) {
            return;
        }
        timeout->queued = false;
        if (timeout->state == CANCELLED) {
            i -= (timer->habits & COUNTS_CANCELLED_TRANSFER) == 0;
            continue;
        }
        uint64_t calculated = timeout->deadline / timer->tick_duration;
        timeout->remaining_rounds =
            ((int64_t)calculated - (int64_t)timer->tick) / (int64_t)timer->wheel_length;
        uint64_t ticks = calculated > timer->tick ? calculated : timer->tick;
        timeout->bucket = (int64_t)(ticks & (timer->wheel_length - 1));
        timeout->added = timer->additions++;
    }
}

static void expire(struct timer *timer, const struct original_fire *fire)
{
    int64_t bucket = (int64_t)(timer->tick & (timer->wheel_length - 1));
    uint64_t from = 0;
    for (struct timeout *timeout = first_added(timer, bucket, from); timeout != NULL;
         timeout = first_added(timer, bucket, from)) {
        from = timeout->added + 1;
        if (timeout->remaining_rounds > 0) {
            timeout->remaining_rounds -= timeout->state != CANCELLED;
        } else if (timeout->state == INIT) {
            timeout->bucket = -1;
            if ((timer->habits & RUNS_TICK_BY_TICK) != 0) {
                uint32_t id = timeout->id;
                timeout->state = EXPIRED;
                timer->pending--;
                fire->call(fire->ctx, id);
            } else {
                timer->collected[timer->collected_count++] = timeout->id;
            }
        }
    }
}

static void process_cancelled(struct timer *timer)
{
    for (int i = 0; i < timer->count; i++) {
        struct timeout *timeout = &timer->timeouts[i];
        if (timeout->cancel_queued) {
            timeout->cancel_queued = false;
            timeout->bucket = -1;
            timer->pending--;
        }
    }
}

/* Those that were collected, unless they have been cancelled: then they are in no bucket, nor in
 * the queue, under a new timeout. */
static void run_collected(struct timer *timer, const struct original_fire *fire)
{
    for (int i = 0; i < timer->collected_count; i++) {
        struct timeout *timeout = timeout_of(timer, timer->collected[i]);
        if (timeout != NULL && !timeout->queued && timeout->bucket < 0) {
            timeout->state = EXPIRED;
            timer->pending--;
            fire->call(fire->ctx, timer->collected[i]);
        }
    }
    timer->collected_count = 0;
}

/* The worker, as often as it finds that a tick is over. */
static void advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct timer *timer = self;
    timer->now = now;
    while (timer->started && timer->tick_duration * (timer->tick + 1) <= now - timer->start_time) {
        bool is_last = timer->tick_duration * (timer->tick + 2) > now - timer->start_time;
        if (timer->cancelled_first) {
            process_cancelled(timer);
        }
        transfer(timer);
        expire(timer, fire);
        if (is_last) {
            run_collected(timer, fire);
        }
        if (!timer->cancelled_first) {
            process_cancelled(timer);
        }
        timer->tick++;
    }
}

static void open_timer(struct timer *timer, uint64_t now, uint32_t habits)
{
    *timer = (struct timer){.habits = habits,
                            .wheel_length = 8,
                            .tick_duration = 10,
                            .max_transfer = 100000,
                            .now = now};
}

static void open_netty(void *self, uint64_t now, uint32_t habits)
{
    open_timer(self, now, habits);
}

static void open_full(void *self, uint64_t now, uint32_t habits)
{
    open_timer(self, now, habits);
    ((struct timer *)self)->max_pending = 9;
}

static void open_flooded(void *self, uint64_t now, uint32_t habits)
{
    open_timer(self, now, habits);
    ((struct timer *)self)->max_transfer = 2;
}

static void open_dubbo(void *self, uint64_t now, uint32_t habits)
{
    open_full(self, now, habits);
    ((struct timer *)self)->cancelled_first = true;
}

#define NETTY(opens)                                                                               \
    {                                                                                              \
        .follows = "Netty's HashedWheelTimer.java", .bytes = sizeof(struct timer),                 \
        .open = (opens), .start = new_timeout, .stop = cancel, .advance = advance,                 \
    }

static const struct original netty = NETTY(open_netty);
static const struct original full = NETTY(open_full);
static const struct original flooded = NETTY(open_flooded);
static const struct original dubbo = NETTY(open_dubbo);

static const struct original_case cases[] = {
    {.original = &netty, .structure = "netty-wheel", .options = "slots=8:tick=10", .ordered = true},
    {.original = &netty,
     .structure = "netty-wheel",
     .options = "slots=7:tick=10",
     .ordered = true,
     .clock = 1234567,
     .delay_bits = 9,
     .operations = 1000},
    {.original = &full,
     .structure = "netty-wheel",
     .options = "slots=8:tick=10:pending=9",
     .ordered = true,
     .delay_bits = 9},
    {.original = &full,
     .structure = "netty-wheel",
     .options = "slots=8:tick=10:pending=9",
     .ordered = true,
     .delay_bits = 7,
     .step_ticks = 8,
     .operations = 1000},
    {.original = &flooded,
     .structure = "netty-wheel",
     .options = "slots=8:tick=10:transfer=2",
     .ordered = true,
     .delay_bits = 8,
     .step_ticks = 6,
     .ids = 64},
    {.original = &dubbo,
     .structure = "netty-wheel",
     .options = "slots=8:tick=10:pending=9:cancelled=before",
     .ordered = true,
     .delay_bits = 7,
     .step_ticks = 8,
     .operations = 1000},
};

static void netty_wheel_is_nettys_and_dubbos(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        original_agrees(&cases[i]);
    }
}

static void netty_wheel_forgets_the_cancelled_and_fires_at_the_end(void **state)
{
    (void)state;
    original_differs(&cases[0], RUNS_TICK_BY_TICK,
                     "callbacks run when all ticks that an advance passes have been worked off");
    original_differs(&cases[4], COUNTS_CANCELLED_TRANSFER,
                     "takes no place among the 100,000 of a tick");
}

static void when_the_cancelled_are_seen_makes_a_difference(void **state)
{
    (void)state;
    struct original_case other = cases[5];
    other.options = "slots=8:tick=10:pending=9:cancelled=after";
    original_differs(&other, 0, "");
}

/* --- worked by hand --------------------------------------------------------------------------- */

/* The statuses of two starts are noted in `ctx`. */
static void start_two(struct stand *s, uint32_t id, uint64_t due)
{
    (void)due;
    enum tl_status *started = s->ctx;
    started[0] = stand_try_start(s, id, s->clock + 50);
    started[1] = stand_try_start(s, 3, s->clock + 50);
}

static void open_wheel(struct stand *s, const char *options, enum tl_status started[2])
{
    stand_open(s, "netty-wheel", options, .capacity = 8, .now = 1000);
    s->on_expiry = started != NULL ? start_two : NULL;
    s->ctx = started;
}

/* Three may be pending. One is stopped and still counts: in Netty until the timers of the tick have
 * fired, in Dubbo until they are about to. */
static void what_was_stopped_counts_until_the_worker_has_seen_it(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        enum tl_status second;
    } rows[] = {{"slots=8:tick=10:pending=3", TL_ERR_FULL},
                {"slots=8:tick=10:pending=3:cancelled=before", TL_OK}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stand s;
        enum tl_status started[2];
        open_wheel(&s, rows[i].options, started);
        for (uint32_t id = 0; id < 3; id++) {
            stand_start(&s, id, 1005 + 100 * (uint64_t)id);
        }
        assert_int_equal(stand_try_start(&s, 3, 1001), TL_ERR_FULL);
        assert_int_equal(stand_try_start(&s, 2, 1001), TL_ERR_FULL); /* keeps its deadline */
        assert_int_equal(stand_stop(&s, 1), TL_OK);
        assert_int_equal(stand_count(&s), 2);
        assert_int_equal(stand_try_start(&s, 1, 1001), TL_ERR_FULL);
        assert_int_equal(stand_advance(&s, 1009), 0);
        assert_int_equal(stand_advance(&s, 1010), 1);
        assert_int_equal(started[0], TL_OK);
        assert_int_equal(started[1], rows[i].second);
        assert_int_equal(stand_try_start(&s, 3, 1300) == TL_OK, rows[i].second == TL_ERR_FULL);
        assert_int_equal(stand_count(&s), 3);
        stand_close(&s);
    }
}

/* A tick of 10 begins with the first start, at 1003, and fires when it is over. */
static void ticks_begin_with_the_first_start(void **state)
{
    (void)state;
    struct stand s;
    enum tl_status started[2];
    open_wheel(&s, "slots=8:tick=10", started);
    assert_int_equal(stand_advance(&s, 1003), 0);
    stand_start(&s, 0, 1013);
    stand_start(&s, 1, 1012);
    assert_int_equal(stand_advance(&s, 1012), 0);
    assert_int_equal(stand_advance(&s, 1013), 1);
    assert_int_equal(stand_advance(&s, 1022), 0);
    assert_int_equal(stand_advance(&s, 1023), 1);
    stand_close(&s);
}

/* Each tick takes two from the queue, so the fifth and sixth timer are two ticks later. */
static void a_flood_waits_for_later_ticks(void **state)
{
    (void)state;
    struct stand s;
    open_wheel(&s, "slots=8:tick=10:transfer=2", NULL);
    for (uint32_t id = 0; id < 6; id++) {
        stand_start(&s, id, 1005);
    }
    assert_int_equal(stand_stop(&s, 1), TL_OK); /* takes no place */
    const uint64_t fire[] = {2, 2, 1};
    for (uint64_t tick = 1; tick <= 3; tick++) {
        assert_int_equal(stand_advance(&s, 1000 + 10 * tick), fire[tick - 1]);
    }
    stand_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(netty_wheel_is_nettys_and_dubbos),
        cmocka_unit_test(netty_wheel_forgets_the_cancelled_and_fires_at_the_end),
        cmocka_unit_test(when_the_cancelled_are_seen_makes_a_difference),
        cmocka_unit_test(what_was_stopped_counts_until_the_worker_has_seen_it),
        cmocka_unit_test(ticks_begin_with_the_first_start),
        cmocka_unit_test(a_flood_waits_for_later_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
