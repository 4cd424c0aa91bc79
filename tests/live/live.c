/*
 * The loop of `timerlab live`, with a clock that the test turns: it passes only while the loop
 * sleeps, so that all counts are known.
 */
#include "test.h"

#include "live.h"

#include <string.h>

#define MS UINT64_C(1000000)

/* A clock that does not advance while the loop works, except by the test. */
struct toy_clock {
    uint64_t now_ns;
    uint64_t armed_ns;
    uint64_t traffic_ns;
    bool fails;
};

static uint64_t toy_now(void *ctx)
{
    return ((struct toy_clock *)ctx)->now_ns;
}

static bool toy_arm(void *ctx, uint64_t at_ns)
{
    struct toy_clock *clock = ctx;
    clock->armed_ns = at_ns;
    return !clock->fails;
}

static unsigned toy_wait(void *ctx)
{
    struct toy_clock *clock = ctx;
    uint64_t traffic_ns = (clock->now_ns / clock->traffic_ns + 1) * clock->traffic_ns;
    uint64_t until_ns = clock->armed_ns < traffic_ns ? clock->armed_ns : traffic_ns;
    clock->now_ns = until_ns > clock->now_ns ? until_ns : clock->now_ns;
    unsigned causes = clock->now_ns == traffic_ns ? LIVE_TRAFFIC : 0;
    if (clock->now_ns >= clock->armed_ns) {
        clock->armed_ns = LIVE_NEVER;
        causes |= LIVE_TIMER;
    }
    return causes;
}

static void toy_spend(void *ctx, uint64_t ns)
{
    struct toy_clock *clock = ctx;
    clock->now_ns += ns;
}

static struct live_result result; /* large */
static struct toy_clock toy;
static const char *service = "none";
static uint64_t seed = 1;

static void run_with(const struct tl_algo *algo, enum live_drive drive, uint64_t rate)
{
    TL_OPTION_VALUES(options);
    tl_options_default(algo, options);
    toy = (struct toy_clock){.armed_ns = LIVE_NEVER, .traffic_ns = 100 * MS};
    struct live_clock clock = {&toy, toy_now, toy_arm, toy_wait, toy_spend};
    struct live_plan plan = {.algo = algo,
                             .options = options,
                             .drive = drive,
                             .connections = 20,
                             .tick_ns = MS,
                             .timeout_ns = 1000 * MS,
                             .restarts_per_second = rate,
                             .duration_ns = 3000 * MS,
                             .seed = seed};
    struct error error;
    assert_true(drive_read_service(&plan.callbacks, "service", service, &error));
    if (!live_run(&plan, &clock, &result, &error)) {
        fail_msg("%s: %s", algo->name, error.text);
    }
    assert_string_equal(result.fault, "");
}

static void run(const char *name, enum live_drive drive, uint64_t rate)
{
    run_with(tl_registry_find(name)->timed, drive, rate);
}

/* Nothing is pushed back: 20 connections expire one by one, each every second, the first after
 * 97.5 ms. So in three seconds each does so three times, but for those after 2,000 ms. */
static void timers_fire_when_they_are_due(void **state)
{
    (void)state;
    static const char *const names[] = {"binary-heap", "hier-wheel", "simple-wheel", "round-wheel"};
    for (size_t i = 0; i < 4; i++) {
        run(names[i], LIVE_POLL, 0);
        assert_int_equal(result.fired, 60);
        assert_int_equal(result.early, 0);
        assert_true(result.lateness_ns.max < MS); /* the clock stands still: only rounding */
        assert_int_equal(result.timer_wakeups, 3000);
        assert_int_equal(result.idle_wakeups, 2940);
        assert_int_equal(result.elapsed_ns, 3000 * MS);
    }
}

/* Asleep until the next timer, a heap wakes once for each; polled, once for each tick. */
static void sleeping_wakes_for_timers_alone(void **state)
{
    (void)state;
    run("binary-heap", LIVE_SLEEP, 0);
    assert_int_equal(result.fired, 60);
    assert_int_equal(result.timer_wakeups, 60);
    assert_int_equal(result.idle_wakeups, 0);
    assert_true(result.traffic_wakeups > 0 && result.traffic_wakeups <= 30);
    run("hier-wheel", LIVE_SLEEP, 0);
    assert_int_equal(result.fired, 60);
    assert_true(result.timer_wakeups >= 60 && result.timer_wakeups < 300);
}

/* What traffic pushes back does not fire, and how often that happens is the rate's business. */
static void traffic_pushes_back(void **state)
{
    (void)state;
    run("binary-heap", LIVE_SLEEP, 1000);
    uint64_t fired = result.fired;
    assert_int_equal(result.restarts, 3000);
    assert_true(fired < 10);
    run("hier-wheel", LIVE_POLL, 1000);
    assert_int_equal(result.restarts, 3000);
    assert_int_equal(result.fired, fired);
}

/* The same with callbacks of 95 ms, twice the time between two timeouts. From 98 ms on the loop is
 * never idle: its advances fire 1, 2, 4 and 8, then 10 each, since each connection comes again a
 * second after its callback began. The latest is the last of the first timeouts: it ends at 1,000
 * ms, and its callback, the 20th, begins at 98 + 19 * 95 = 1,903 ms. */
static void callbacks_keep_the_loop_busy(void **state)
{
    (void)state;
    service = "95ms";
    for (int drive = LIVE_SLEEP; drive <= LIVE_POLL; drive++) {
        run("binary-heap", (enum live_drive)drive, 0);
        assert_int_equal(result.fired, 1 + 2 + 4 + 8 + 10 + 10);
        assert_int_equal(result.early, 0);
        assert_int_equal(result.lateness_ns.max, 903 * MS);
        assert_int_equal(result.advance_ns.max, 950 * MS);
        assert_int_equal(result.elapsed_ns, (98 + 35 * 95) * MS);
        assert_int_equal(result.timer_wakeups - result.idle_wakeups, 6);
    }
    service = "none";
}

static enum tl_status take_and_forget(void *self, uint32_t id, uint64_t deadline)
{
    return id == 5 ? TL_OK : tl_registry_find("binary-heap")->timed->start(self, id, deadline);
}

/* A structure that loses the timers that are started in its callbacks. */
static bool inside;

static uint64_t advance_and_say(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    inside = true;
    uint64_t fired = tl_registry_find("binary-heap")->timed->advance(self, now, budget, fire, ctx);
    inside = false;
    return fired;
}

static enum tl_status forget_inside(void *self, uint32_t id, uint64_t deadline)
{
    return inside ? TL_OK : tl_registry_find("binary-heap")->timed->start(self, id, deadline);
}

static void find_lost(const struct tl_algo *lossy, const char *fault)
{
    TL_OPTION_VALUES(options);
    tl_options_default(lossy, options);
    toy = (struct toy_clock){.armed_ns = LIVE_NEVER, .traffic_ns = 100 * MS};
    struct live_clock clock = {&toy, toy_now, toy_arm, toy_wait, toy_spend};
    struct live_plan plan = {.algo = lossy,
                             .options = options,
                             .drive = LIVE_SLEEP,
                             .connections = 20,
                             .tick_ns = MS,
                             .timeout_ns = 1000 * MS,
                             .duration_ns = 3000 * MS};
    struct error error;
    assert_true(live_run(&plan, &clock, &result, &error));
    assert_non_null(strstr(result.fault, fault));
}

static void what_is_lost_is_found(void **state)
{
    (void)state;
    struct tl_algo lossy = *tl_registry_find("binary-heap")->timed;
    lossy.start = take_and_forget;
    find_lost(&lossy, "connection 5: due at tick");
}

/* The first connection expires after 97.5 ms, and its place is taken by one that does so after
 * 1,098 ms. */
static void what_a_callback_starts_is_not_lost(void **state)
{
    (void)state;
    struct tl_algo lossy = *tl_registry_find("binary-heap")->timed;
    lossy.start = forget_inside;
    lossy.advance = advance_and_say;
    find_lost(&lossy, "connection 0: due at tick 1098, not fired");
}

static void what_cannot_be_run_is_refused(void **state)
{
    (void)state;
    const struct tl_algo *algo = tl_registry_find("round-wheel")->timed;
    TL_OPTION_VALUES(options);
    tl_options_default(algo, options);
    toy = (struct toy_clock){.armed_ns = LIVE_NEVER, .traffic_ns = 100 * MS};
    struct live_clock clock = {&toy, toy_now, toy_arm, toy_wait, toy_spend};
    struct live_plan plan = {.algo = algo,
                             .options = options,
                             .drive = LIVE_SLEEP,
                             .connections = 20,
                             .tick_ns = MS,
                             .timeout_ns = 1000 * MS,
                             .duration_ns = 3000 * MS};
    struct error error;
    assert_false(live_run(&plan, &clock, &result, &error));
    assert_non_null(strstr(error.text, "drive it with poll"));
    plan.drive = LIVE_POLL;
    toy.fails = true;
    assert_false(live_run(&plan, &clock, &result, &error));
}

/* A heap of which each tenth start from outside waits for a disk: not at all while the connections
 * come, and then 150 ms. It counts the expiries of timers that were due before the last wait was
 * over, and notes the latest. */
static struct {
    uint64_t starts_from_outside;
    uint64_t deadlines[20]; /* by connection, in ticks */
    uint64_t wait_ended_ns;
    uint64_t waited;
    uint64_t latest_ns;
    tl_fire_fn fire;
    void *ctx;
} durably;

static enum tl_status start_durably(void *self, uint32_t id, uint64_t deadline)
{
    if (!inside && ++durably.starts_from_outside % 10 == 0 && durably.starts_from_outside > 20) {
        toy.now_ns += 150 * MS;
        durably.wait_ended_ns = toy.now_ns;
    }
    durably.deadlines[id] = deadline;
    return tl_registry_find("binary-heap")->timed->start(self, id, deadline);
}

static void fire_durably(void *ctx, uint32_t id, uint64_t now)
{
    (void)ctx;
    uint64_t due_ns = durably.deadlines[id] * MS;
    if (due_ns < durably.wait_ended_ns) {
        durably.waited++;
        durably.latest_ns =
            toy.now_ns - due_ns > durably.latest_ns ? toy.now_ns - due_ns : durably.latest_ns;
    }
    durably.fire(durably.ctx, id, now);
}

static uint64_t advance_durably(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    durably.fire = fire;
    durably.ctx = ctx;
    return advance_and_say(self, now, budget, fire_durably, NULL);
}

static void say_syncs(const void *self, struct tl_durability *out)
{
    (void)self;
    *out = (struct tl_durability){.syncs = durably.starts_from_outside / 10};
}

/* The timers that a commit has kept waiting are known, whatever the traffic; no others are late. A
 * deadline is a timeout's end rounded up to a tick. */
static void who_waits_for_a_commit_is_known(void **state)
{
    (void)state;
    struct tl_algo durable = *tl_registry_find("binary-heap")->timed;
    durable.start = start_durably;
    durable.advance = advance_durably;
    durable.durability = say_syncs;
    for (seed = 1; seed <= 20; seed++) {
        memset(&durably, 0, sizeof durably);
        run_with(&durable, LIVE_SLEEP, 20);
        assert_int_equal(result.commits, (durably.starts_from_outside - 20) / 10);
        assert_true(durably.waited > 0);
        assert_int_equal(result.waited_ns.total, durably.waited);
        assert_in_range(result.waited_ns.max, durably.latest_ns, durably.latest_ns + MS - 1);
        assert_int_equal(result.lateness_ns.max, result.waited_ns.max);
        double others = (double)(result.fired - result.waited_ns.total) / (double)result.fired;
        assert_true(histogram_quantile(&result.lateness_ns, others - 1e-6) < MS);
    }
    seed = 1;
    run("binary-heap", LIVE_SLEEP, 20);
    assert_int_equal(result.commits + result.waited_ns.total, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_when_they_are_due),
        cmocka_unit_test(sleeping_wakes_for_timers_alone),
        cmocka_unit_test(traffic_pushes_back),
        cmocka_unit_test(callbacks_keep_the_loop_busy),
        cmocka_unit_test(what_is_lost_is_found),
        cmocka_unit_test(what_a_callback_starts_is_not_lost),
        cmocka_unit_test(what_cannot_be_run_is_refused),
        cmocka_unit_test(who_waits_for_a_commit_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
