/*
 * The structures that are event loops of other libraries: what their sources say of waits and of
 * memory shows through the contract, and a program that uses such a library itself keeps its clock
 * and its memory.
 */
#include "registry.h"

#include "test.h"

#include <stdio.h>
#include <time.h>

#ifdef TL_HAVE_LIBEV
#include <ev.h>
#endif
#ifdef TL_HAVE_LIBUV
#include <uv.h>
#endif
#ifdef TL_HAVE_LIBEVENT
#undef EV_TIMEOUT /* libev's name for EV_TIMER, of old; here libevent's */
#include <event2/event.h>
#include <event2/util.h>
#endif

struct loop {
    const struct tl_algo *algo;
    struct tl_memory memory;
    void *self;
};

/* False if the library is not in this build. */
static bool open_loop(struct loop *loop, const char *name, const char *options, uint64_t now,
                      uint32_t capacity)
{
    char why[256] = "";
    TL_OPTION_VALUES(values);
    loop->algo = tl_registry_find(name)->timed;
    tl_counting_allocator(&loop->memory, tl_system_allocator());
    assert_int_equal(tl_options_parse(loop->algo, options, values, why, sizeof why), TL_OK);
    struct tl_config config = {
        .capacity = capacity, .now = now, .options = values, .allocator = &loop->memory.allocator};
    enum tl_status status = loop->algo->create(&config, &loop->self);
    if (status == TL_ERR_UNAVAILABLE) {
        print_message("%s is not in this build\n", name);
        return false;
    }
    assert_int_equal(status, TL_OK);
    return true;
}

static void close_loop(struct loop *loop)
{
    loop->algo->destroy(loop->self);
    assert_int_equal(loop->memory.bytes, 0);
}

static void count(void *ctx, uint32_t id, uint64_t now)
{
    (void)id;
    (void)now;
    ++*(uint64_t *)ctx;
}

static uint64_t advance(struct loop *loop, uint64_t now)
{
    uint64_t fired = 0;
    uint64_t said = loop->algo->advance(loop->self, now, TL_NO_BUDGET, count, &fired);
    assert_int_equal(said, fired);
    return fired;
}

/* For how long each would sleep at most, in milliseconds: ev.c's MAX_BLOCKTIME and MAX_BLOCKTIME2,
 * epoll.c's MAX_EPOLL_TIMEOUT_MSEC, uv_backend_timeout's INT_MAX. */
static void waits_are_the_libraries_own(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t longest;
    } loops[] = {{"libev", 59743}, {"libuv", 2147483647}, {"libevent", 35 * 60 * 1000}};
    static const char *const options[] = {"poll=kernel", "poll=none"};
    const uint64_t now = UINT64_C(1) << 40;
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        for (size_t o = 0; o < 2; o++) {
            struct loop loop;
            if (!open_loop(&loop, loops[i].name, options[o], now, 2)) {
                continue;
            }
            const struct tl_algo *algo = loop.algo;
            assert_int_equal(algo->start(loop.self, 0, now + UINT64_C(10000000000)), TL_OK);
            assert_int_equal(advance(&loop, now), 0); /* libuv's first turn opens its files */
            assert_int_equal(algo->next(loop.self), now + loops[i].longest);
            assert_int_equal(advance(&loop, now + loops[i].longest), 0);
            uint64_t later = now + loops[i].longest + 777;
            assert_int_equal(algo->start(loop.self, 1, later), TL_OK);
            assert_int_equal(algo->next(loop.self), later);
            assert_int_equal(advance(&loop, later - 1), 0);
            assert_int_equal(algo->next(loop.self), later);
            assert_int_equal(advance(&loop, later), 1);
            assert_int_equal(advance(&loop, now + UINT64_C(10000000000) - 1), 0);
            assert_int_equal(advance(&loop, now + UINT64_C(10000000000)), 1);
            close_loop(&loop);
        }
    }
}

/* The arrays of libev's and libevent's heaps, 16 and 8 bytes a timer, grow with the starts, and
 * stay when the timers have gone; libuv's heap lies in the handles. */
static void heaps_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t entry_bytes;
    } loops[] = {{"libev", 16}, {"libuv", 0}, {"libevent", 8}};
    enum { TIMERS = 10000 };
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        struct loop loop;
        if (!open_loop(&loop, loops[i].name, "", 0, TIMERS)) {
            continue;
        }
        uint64_t empty = loop.memory.bytes;
        for (uint32_t id = 0; id < TIMERS; id++) {
            assert_int_equal(loop.algo->start(loop.self, id, 1000 + id), TL_OK);
        }
        uint64_t grown = loop.memory.bytes - empty;
        assert_true(grown >= TIMERS * loops[i].entry_bytes);
        assert_true(loops[i].entry_bytes > 0 || grown == 0);
        assert_true(grown <= TIMERS * 2 * loops[i].entry_bytes + 4096);
        assert_int_equal(advance(&loop, 100000), TIMERS);
        assert_true(loop.memory.bytes >= empty + grown);
        close_loop(&loop);
    }
}

#if defined(TL_HAVE_LIBEV) || defined(TL_HAVE_LIBUV) || defined(TL_HAVE_LIBEVENT)
static double seconds(clockid_t id)
{
    struct timespec now;
    assert_int_equal(clock_gettime(id, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
#endif

/* What the libraries tell this program the time is. */
#ifdef TL_HAVE_LIBEV
static void libev_tells_the_time(void)
{
    double before = seconds(CLOCK_REALTIME);
    double told = ev_time();
    assert_true(told >= before - 1e-6 && told <= seconds(CLOCK_REALTIME) + 1e-6);
    struct ev_loop *own = ev_loop_new(EVFLAG_AUTO);
    assert_non_null(own);
    assert_true(ev_now(own) >= before - 1e-6);
    ev_loop_destroy(own);
}
#endif
#ifdef TL_HAVE_LIBUV
static void libuv_tells_the_time(void)
{
    double before = seconds(CLOCK_MONOTONIC);
    double told = (double)uv_hrtime() * 1e-9;
    assert_true(told >= before - 1e-6 && told <= seconds(CLOCK_MONOTONIC) + 1e-6);
}
#endif
#ifdef TL_HAVE_LIBEVENT
static void libevent_tells_the_time(void)
{
    struct evutil_monotonic_timer *timer = evutil_monotonic_timer_new();
    struct timeval told = {0};
    assert_non_null(timer);
    assert_int_equal(evutil_configure_monotonic_time(timer, EV_MONOT_PRECISE), 0);
    double before = seconds(CLOCK_MONOTONIC);
    assert_int_equal(evutil_gettime_monotonic(timer, &told), 0);
    double told_s = (double)told.tv_sec + (double)told.tv_usec * 1e-6;
    assert_true(told_s >= before - 2e-6 && told_s <= seconds(CLOCK_MONOTONIC) + 2e-6);
    evutil_monotonic_timer_free(timer);
}
#endif

/* Before, while and after a structure that leads the library's calls is in use. */
static void the_programs_own_use_is_left_alone(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*tells_the_time)(void);
    } loops[] = {
#ifdef TL_HAVE_LIBEV
        {"libev", libev_tells_the_time},
#endif
#ifdef TL_HAVE_LIBUV
        {"libuv", libuv_tells_the_time},
#endif
#ifdef TL_HAVE_LIBEVENT
        {"libevent", libevent_tells_the_time},
#endif
        {NULL, NULL},
    };
    for (size_t i = 0; loops[i].name != NULL; i++) {
        struct loop loop;
        loops[i].tells_the_time();
        assert_true(open_loop(&loop, loops[i].name, "", 12345, 1));
        loops[i].tells_the_time();
        assert_int_equal(loop.algo->start(loop.self, 0, 12350), TL_OK);
        assert_int_equal(advance(&loop, 12350), 1);
        uint64_t bytes = loop.memory.bytes;
        loops[i].tells_the_time();
        assert_int_equal(loop.memory.bytes, bytes);
        close_loop(&loop);
        loops[i].tells_the_time();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_the_libraries_own),
        cmocka_unit_test(heaps_are_counted),
        cmocka_unit_test(the_programs_own_use_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
