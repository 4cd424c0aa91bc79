/*
 * Front ends under eight threads, and callbacks that start and stop: nothing is lost and nothing
 * fires twice; and the driver finds that out where it is not so. Built with -DTL_SANITIZE=thread,
 * the same under its eyes.
 */
#include "test.h"

#include "catalog.h"
#include "concurrent.h"

#include <stdio.h>
#include <string.h>

static struct concurrent_result run(const struct tl_algo *algo, const void *options,
                                    unsigned cancelled_percent)
{
    struct concurrent_plan plan = {.algo = algo,
                                   .options = options,
                                   .threads = 8,
                                   .timers = 50,
                                   .operations = 3000,
                                   .cancelled_percent = cancelled_percent,
                                   /* all stopped: none near its deadline, so that none is lost */
                                   .racing_percent = cancelled_percent < 100 ? 50 : 0,
                                   .seed = 11};
    struct concurrent_result result;
    struct error error;
    if (!concurrent_run(&plan, &result, &error)) {
        fail_msg("%s", error.text);
    }
    return result;
}

static void nothing_is_lost_and_nothing_fires_twice(void **state)
{
    (void)state;
    struct catalog catalog;
    struct contender_list list = {0};
    struct error error;
    catalog_init(&catalog);
    assert_true(catalog_select(
        &catalog,
        "locked(binary-heap),locked(round-wheel),locked(hier-wheel),locked(bitmap-wheel),"
        "handoff(binary-heap),handoff(round-wheel),handoff(hier-wheel),"
        "handoff(bitmap-wheel):moved=3,sharded(binary-heap),sharded(round-wheel),"
        "sharded(hier-wheel):shards=3,sharded(bitmap-wheel)",
        &list, &error));
    static const unsigned cancelled[] = {50, 99};
    for (size_t i = 0; i < list.count; i++) {
        for (size_t c = 0; c < 2; c++) {
            const struct contender *contender = &list.items[i];
            struct concurrent_result result =
                run(contender->timed, contender->options, cancelled[c]);
            if (result.faults > 0) {
                fail_msg("%s, %u %% cancelled: %s", contender->timed->name, cancelled[c],
                         result.fault);
            }
            const struct concurrent_counts *counts = &result.counts;
            const struct concurrent_counts *inside = &result.inside;
            assert_int_equal(counts->starts + inside->starts,
                             counts->stopped + inside->stopped + result.fired);
            assert_true(counts->starts + counts->restarts + counts->stopped + counts->idle >=
                        8 * 3000);
            assert_true(counts->stopped > 0 && counts->restarts > 0 && result.fired > 0);
            if (cancelled[c] == 50) {
                assert_true(inside->starts > 0 && inside->restarts > 0 && inside->stopped > 0);
            }
        }
    }
    contender_list_free(&list);
    catalog_free(&catalog);
}

/* --- faults ---------------------------------------------------------------------------------- */

static const struct tl_algo *right; /* which the wrong ones spoil */

static enum tl_status start_but_for_7(void *self, uint32_t id, uint64_t deadline)
{
    return id == 7 ? TL_OK : right->start(self, id, deadline);
}

struct forwarded {
    tl_fire_fn fire;
    void *ctx;
    uint64_t ahead;
};

static void fire_7_twice(void *ctx, uint32_t id, uint64_t now)
{
    const struct forwarded *forwarded = ctx;
    forwarded->fire(forwarded->ctx, id, now);
    if (id == 7) {
        forwarded->fire(forwarded->ctx, id, now);
    }
}

static uint64_t advance_twice(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct forwarded forwarded = {fire, ctx, 0};
    return right->advance(self, now, budget, fire_7_twice, &forwarded);
}

static void fire_at_real_time(void *ctx, uint32_t id, uint64_t now)
{
    const struct forwarded *forwarded = ctx;
    forwarded->fire(forwarded->ctx, id, now - forwarded->ahead);
}

static uint64_t advance_early(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct forwarded forwarded = {fire, ctx, 5};
    return right->advance(self, now + 5, budget, fire_at_real_time, &forwarded);
}

/* These are wrong only in callbacks. */
static _Thread_local struct {
    bool advancing;
    bool noted;
    uint32_t id; /* which a callback has started for now */
    uint64_t now;
} inside;

enum { FIRST_OWN = 8 * 50 }; /* after the timers of the threads */

static uint64_t advance_noting(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                               void *ctx)
{
    inside.advancing = true;
    inside.noted = false;
    inside.now = now;
    uint64_t fired = right->advance(self, now, budget, fire, ctx);
    inside.advancing = false;
    if (inside.noted && right->stop(self, inside.id) == TL_OK) {
        fire(ctx, inside.id, now);
        fired++;
    }
    return fired;
}

static enum tl_status start_not_inside(void *self, uint32_t id, uint64_t deadline)
{
    return inside.advancing ? TL_OK : right->start(self, id, deadline);
}

static enum tl_status start_noting(void *self, uint32_t id, uint64_t deadline)
{
    if (inside.advancing && deadline <= inside.now) {
        inside.noted = true;
        inside.id = id;
    }
    return right->start(self, id, deadline);
}

static enum tl_status stop_not_inside(void *self, uint32_t id)
{
    enum tl_status status = right->stop(self, id);
    if (inside.advancing && id >= FIRST_OWN && status == TL_OK) {
        (void)right->start(self, id, inside.now + 1);
    }
    return status;
}

static void what_is_wrong_is_found(void **state)
{
    (void)state;
    struct catalog catalog;
    struct contender_list list = {0};
    struct error error;
    catalog_init(&catalog);
    assert_true(catalog_select(&catalog, "locked(binary-heap)", &list, &error));
    right = list.items[0].timed;
    struct tl_algo lossy = *right;
    lossy.start = start_but_for_7;
    struct tl_algo twice = *right;
    twice.advance = advance_twice;
    struct tl_algo early = *right;
    early.advance = advance_early;
    struct tl_algo forgets_starts = *right;
    forgets_starts.advance = advance_noting;
    forgets_starts.start = start_not_inside;
    struct tl_algo forgets_stops = *right;
    forgets_stops.advance = advance_noting;
    forgets_stops.stop = stop_not_inside;
    struct tl_algo at_once = *right;
    at_once.advance = advance_noting;
    at_once.start = start_noting;
    const struct {
        const struct tl_algo *algo;
        unsigned cancelled_percent;
        const char *fault;
    } cases[] = {
        {&lossy, 0, "timer 7: lost: it should have fired long ago"},
        {&lossy, 100, "timer 7: not pending, though it was started and is not due"},
        {&twice, 0, "timer 7: fired"} /* more often than started, or before its time */,
        {&early, 0, "fired before its time"},
        {&forgets_starts, 0, "lost: it should have fired long ago"},
        {&forgets_stops, 0, "fired twice, or though a callback had stopped it"},
        {&at_once, 50, "fired in the advance in which a callback started it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct concurrent_result result =
            run(cases[i].algo, list.items[0].options, cases[i].cancelled_percent);
        assert_true(result.faults > 0);
        if (strstr(result.fault, cases[i].fault) == NULL) {
            fail_msg("'%s' is not '%s'", result.fault, cases[i].fault);
        }
    }
    contender_list_free(&list);
    catalog_free(&catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_and_nothing_fires_twice),
        cmocka_unit_test(what_is_wrong_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
