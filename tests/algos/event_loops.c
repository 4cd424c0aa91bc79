/*
 * The structures that are event loops of other libraries: what their sources say of waits and of
 * memory shows through the contract, and a program that uses such a library itself keeps its clock
 * and its memory.
 */
#include "stand.h"

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

/* False if the library is not in this build. */
static bool open_loop(struct stand *s, const char *name, const char *options, uint64_t now,
                      uint32_t capacity)
{
    struct tl_config config = {.capacity = capacity, .now = now};
    enum tl_status status = stand_try(s, tl_registry_find(name)->timed, options, config);
    if (status == TL_ERR_UNAVAILABLE) {
        print_message("%s is not in this build\n", name);
        return false;
    }
    assert_int_equal(status, TL_OK);
    return true;
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
            struct stand s;
            if (!open_loop(&s, loops[i].name, options[o], now, 2)) {
                continue;
            }
            stand_start(&s, 0, now + UINT64_C(10000000000));
            assert_int_equal(stand_advance(&s, now), 0); /* libuv's first turn opens its files */
            assert_int_equal(stand_next(&s), now + loops[i].longest);
            assert_int_equal(stand_advance(&s, now + loops[i].longest), 0);
            uint64_t later = now + loops[i].longest + 777;
            stand_start(&s, 1, later);
            assert_int_equal(stand_next(&s), later);
            assert_int_equal(stand_advance(&s, later - 1), 0);
            assert_int_equal(stand_next(&s), later);
            assert_int_equal(stand_advance(&s, later), 1);
            assert_int_equal(stand_advance(&s, now + UINT64_C(10000000000) - 1), 0);
            assert_int_equal(stand_advance(&s, now + UINT64_C(10000000000)), 1);
            stand_close(&s);
        }
    }
}

/* The arrays of libev's and libevent's heaps, 16 and 8 bytes a timer, grow with the starts, and
 * stay after the timers are gone; libuv's heap is in the handles. */
static void heaps_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t entry_bytes;
    } loops[] = {{"libev", 16}, {"libuv", 0}, {"libevent", 8}};
    enum { TIMERS = 10000 };
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        struct stand s;
        if (!open_loop(&s, loops[i].name, "", 0, TIMERS)) {
            continue;
        }
        uint64_t empty = s.memory.bytes;
        for (uint32_t id = 0; id < TIMERS; id++) {
            stand_start(&s, id, 1000 + id);
        }
        uint64_t grown = s.memory.bytes - empty;
        assert_true(grown >= TIMERS * loops[i].entry_bytes);
        assert_true(loops[i].entry_bytes > 0 || grown == 0);
        assert_true(grown <= TIMERS * 2 * loops[i].entry_bytes + 4096);
        assert_int_equal(stand_advance(&s, 100000), TIMERS);
        assert_true(s.memory.bytes >= empty + grown);
        stand_close(&s);
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

/* The clocks of the libraries. */
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
        struct stand s;
        loops[i].tells_the_time();
        assert_true(open_loop(&s, loops[i].name, "", 12345, 1));
        loops[i].tells_the_time();
        stand_start(&s, 0, 12350);
        assert_int_equal(stand_advance(&s, 12350), 1);
        uint64_t bytes = s.memory.bytes;
        loops[i].tells_the_time();
        assert_int_equal(s.memory.bytes, bytes);
        stand_close(&s);
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
