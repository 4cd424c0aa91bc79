/*
 * snoopy-calendar compared with ns-2's calendar scheduler.
 *
 * The model follows common/scheduler.cc of ns-2.35: events fire in order of time, equal ones in the
 * order of their insertion; four days at first, twice as many above two different times a day, half
 * as many below half of the days less two. It omits the pages. Worked examples, in which each
 * expiry costs the same, check against the same source how the length of a day follows from the
 * cost of searching and inserting.
 */
#include "original.h"

#include <inttypes.h>
#include <stdio.h>

enum habit {
    COUNTS_TIMES = 1,    /* different ones, for the number of days */
    CANCELS_QUIETLY = 2, /* cancel never makes it smaller */
    INSERTS_WHAT_IS_DUE = 4,
};

enum where { NOWHERE, ASIDE, INSERTED };

struct scheduler {
    uint32_t habits;
    uint64_t clock;
    uint64_t order;
    uint32_t days;
    enum where where[ORIGINAL_IDS];
    uint64_t time[ORIGINAL_IDS];
    uint64_t entry[ORIGINAL_IDS];
};

static void scheduler_open(void *self, uint64_t now, uint32_t habits)
{
    *(struct scheduler *)self = (struct scheduler){.habits = habits, .clock = now, .days = 4};
}

static bool has(const struct scheduler *scheduler, enum habit habit)
{
    return (scheduler->habits & habit) != 0;
}

/* The first that is there; ORIGINAL_IDS: none. */
static uint32_t first_of(const struct scheduler *scheduler, enum where where)
{
    uint32_t first = ORIGINAL_IDS;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (scheduler->where[id] == where &&
            (first == ORIGINAL_IDS || scheduler->time[id] < scheduler->time[first] ||
             (scheduler->time[id] == scheduler->time[first] &&
              scheduler->entry[id] < scheduler->entry[first]))) {
            first = id;
        }
    }
    return first;
}

/* stat_qsize_ */
static int64_t size_of(const struct scheduler *scheduler)
{
    int64_t size = 0;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        bool counts = scheduler->where[id] == INSERTED;
        for (uint32_t other = 0; has(scheduler, COUNTS_TIMES) && other < id; other++) {
            counts = counts && (scheduler->where[other] != INSERTED ||
                                scheduler->time[other] != scheduler->time[id]);
        }
        size += counts;
    }
    return size;
}

static void insert(struct scheduler *scheduler, uint32_t id)
{
    scheduler->where[id] = INSERTED;
    scheduler->entry[id] = scheduler->order++;
    if (size_of(scheduler) > 2 * (int64_t)scheduler->days) {
        scheduler->days *= 2;
    }
}

static void shrink(struct scheduler *scheduler)
{
    if (size_of(scheduler) < (int64_t)scheduler->days / 2 - 2) {
        scheduler->days /= 2;
    }
}

static bool scheduler_start(void *self, uint32_t id, uint64_t deadline)
{
    struct scheduler *scheduler = self;
    scheduler->where[id] = NOWHERE;
    if (deadline > scheduler->clock || has(scheduler, INSERTS_WHAT_IS_DUE)) {
        scheduler->time[id] = deadline;
        insert(scheduler, id);
        return true;
    }
    scheduler->time[id] = scheduler->clock;
    scheduler->where[id] = ASIDE;
    scheduler->entry[id] = scheduler->order++;
    shrink(scheduler);
    return true;
}

static bool scheduler_stop(void *self, uint32_t id)
{
    struct scheduler *scheduler = self;
    bool was = scheduler->where[id] != NOWHERE;
    scheduler->where[id] = NOWHERE;
    if (was && !has(scheduler, CANCELS_QUIETLY)) {
        shrink(scheduler);
    }
    return was;
}

static void scheduler_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct scheduler *scheduler = self;
    for (uint32_t id; (id = first_of(scheduler, ASIDE)) < ORIGINAL_IDS;) {
        insert(scheduler, id);
    }
    scheduler->clock = now;
    for (uint32_t fired = 0; fired < 1000; fired++) { /* with a habit there may be no end */
        uint32_t id = first_of(scheduler, INSERTED);
        if (id == ORIGINAL_IDS || scheduler->time[id] > now) {
            return;
        }
        scheduler->where[id] = NOWHERE;
        shrink(scheduler);
        fire->call(fire->ctx, id);
    }
}

static bool same_days(void *self, const struct tl_algo *algo, const void *structure, char *why,
                      size_t why_bytes)
{
    const struct scheduler *scheduler = self;
    struct year year = year_of(algo, structure);
    if (year.days != scheduler->days) {
        (void)snprintf(why, why_bytes, "%" PRIu32 " days, not %" PRIu32, year.days,
                       scheduler->days);
        return false;
    }
    return true;
}

static const struct original scheduler = {
    .follows = "ns-2.35, scheduler.cc",
    .bytes = sizeof(struct scheduler),
    .open = scheduler_open,
    .start = scheduler_start,
    .stop = scheduler_stop,
    .advance = scheduler_advance,
    .inside = same_days,
};

static const struct original_case usual = {
    .original = &scheduler,
    .structure = "snoopy-calendar",
    .options = "rounds=1", /* so that days change their length on the way */
    .ordered = true,
    .ids = ORIGINAL_IDS,
    .operations = 1000,
};

static void the_calendar_of_ns(void **state)
{
    (void)state;
    original_agrees(&usual);
    struct original_case near_case = usual;
    near_case.delay_bits = 6;
    near_case.step_ticks = 5;
    original_agrees(&near_case);
    struct original_case far_case = usual;
    far_case.delay_bits = 50;
    original_agrees(&far_case);
}

static void what_differs_is_said(void **state)
{
    (void)state;
    struct original_case wanted = usual;
    wanted.delay_bits = 6;
    original_differs(&wanted, COUNTS_TIMES, "counts timers, not different ticks");
    original_differs(&wanted, CANCELS_QUIETLY, "a stop shrinks the calendar, too");
    original_differs(&wanted, INSERTS_WHAT_IS_DUE, "waits on a list of its own");
}

/* --- the length of a day --------------------------------------------------------------------- */

/* Delays of a hold: all the same, or random with the mean `spread`. */
struct delays {
    uint64_t fixed; /* 0: random */
    uint64_t spread;
};

static uint64_t delay_of(struct stand *s)
{
    const struct delays *delays = s->ctx;
    return delays->fixed > 0 ? delays->fixed : 1 + stand_draw(s, 2 * delays->spread);
}

static void start_again(struct stand *s, uint32_t id, uint64_t due)
{
    (void)due;
    stand_start(s, id, s->clock + delay_of(s));
}

static void open_hold(struct stand *s, const char *name, uint32_t timers, struct delays *delays)
{
    stand_open(s, name, "", .capacity = timers);
    s->on_expiry = start_again;
    s->ctx = delays;
}

static void run_until(struct stand *s, uint64_t fired)
{
    while (s->fired < fired) {
        (void)stand_advance_some(s, stand_next(s), 1);
    }
}

/* Four timers, 16 ticks apart, in four days of a tick: each expiry searches a year's pages in vain,
 * and each start enters a page with another timer. So every 21 rounds of four expiries, after the
 * first expiry, a day doubles, until each timer has one of its own; then no start searches any
 * more, and the day grows by the root of all searches, after which all four are on one page. */
static void days_that_are_too_short_double(void **state)
{
    (void)state;
    struct stand s;
    struct delays delays = {.fixed = 64};
    open_hold(&s, "snoopy-calendar", 4, &delays);
    for (uint32_t id = 0; id < 4; id++) {
        stand_start(&s, id, 16 * (1 + (uint64_t)id));
    }
    static const uint64_t lengths[] = {1, 2, 4, 8, 16, 256, 256};
    for (size_t i = 0; i + 1 < sizeof lengths / sizeof lengths[0]; i++) {
        run_until(&s, 84 * (i + 1));
        assert_int_equal(year_of(s.algo, s.self).day_ticks, lengths[i]);
        run_until(&s, 84 * (i + 1) + 1);
        assert_int_equal(year_of(s.algo, s.self).day_ticks, lengths[i + 1]);
        assert_int_equal(year_of(s.algo, s.self).days, 4);
    }
    stand_close(&s);
}

static double steps_per_firing(struct stand *s, uint64_t firings)
{
    struct tl_counters before = stand_counters(s);
    uint64_t from = s->fired;
    run_until(s, from + firings);
    struct tl_counters work = stand_since(s, &before);
    return (double)(work.compares + work.slots) / (double)(s->fired - from);
}

/* As many timers as before, with delays multiplied or divided by a factor: the calendar that
 * measures only when the number of timers changes stays as it is, the one that watches its cost is
 * as good as before. */
static void days_follow_the_delays(void **state)
{
    (void)state;
    static const uint64_t spreads[][2] = {{2000, 2000000}, {2000000, 2000}};
    enum { TIMERS = 1000 };
    for (size_t i = 0; i < 2; i++) {
        static const char *const names[] = {"calendar-queue", "snoopy-calendar"};
        double before[2];
        double after[2];
        for (size_t n = 0; n < 2; n++) {
            struct stand s;
            struct delays delays = {.spread = spreads[i][0]};
            open_hold(&s, names[n], TIMERS, &delays);
            for (uint32_t id = 0; id < TIMERS; id++) {
                stand_start(&s, id, delay_of(&s));
            }
            before[n] = steps_per_firing(&s, 10 * TIMERS);
            delays.spread = spreads[i][1];
            run_until(&s, s.fired + 100 * TIMERS);
            after[n] = steps_per_firing(&s, 10 * TIMERS);
            stand_close(&s);
        }
        assert_true(before[1] < 10 && after[1] < 10);
        assert_true(after[0] > 10 * after[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_calendar_of_ns),
        cmocka_unit_test(what_differs_is_said),
        cmocka_unit_test(days_that_are_too_short_double),
        cmocka_unit_test(days_follow_the_delays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
