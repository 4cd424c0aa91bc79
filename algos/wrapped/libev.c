/*
 * libev: the timers of libev's event loop, through its public interface, under a virtual clock.
 *
 *   heap of (deadline, watcher):        0
 *                              1    2       3    4        four children each
 *                           5..8  9..12
 *
 * libev keeps an array heap with four children to a node, and each deadline next to the pointer to
 * its watcher, so that sifting compares within one cache line. A restart is ev_timer_again, which
 * sifts from the timer's place; libev's manual recommends it for timeouts that are pushed back. A
 * turn of the loop takes all due timers from the heap before it calls back for the first.
 *
 * An advance is a turn of the loop without waiting (EVRUN_NOWAIT), including the system call
 * epoll_wait unless poll=none: the cost of a tick in a program that uses libev. Reading the machine's
 * clock is not included, see virtual_clock.h. `next` is the wait that libev asks for in another turn,
 * without epoll_wait. libev never waits longer than a minute, so `next` is a lower bound.
 *
 * libev's time is a double of seconds, and a timer fires when its time is less than the clock. A
 * tick is a millisecond here, and timers are given half a tick less than their delay: sums of such
 * numbers are off by less than a tenth of a tick while the clock stays within 2^48 ticks of a base,
 * and so all are exact. The base moves when no timer is pending.
 *
 * A watcher has 48 bytes, in our table, by id. The heap, 16 bytes a timer, is libev's own; it grows
 * by doubling as timers are started, and never shrinks.
 *
 * Invariants
 *   - timer id is pending if and only if its watcher is active (in the heap) or pending (due, its
 *     callback still to come); `count` is how many are
 *   - base <= clock; the deadline of each in the heap is at most base + REACH_TICKS
 *   - libev's clock is min(clock - base, REACH_TICKS) milliseconds
 *
 * Complexity: start, stop, expire O(log4 n); a tick that fires nothing O(1), and a system call.
 * Bad at: being asked every tick.
 *
 * Source: libev 4.33, ev(3); libev-dev.
 */
#include "event_loop.h"

#ifdef TL_HAVE_LIBEV

#include <ev.h>

#define LIBEV_FUNCTIONS(X)                                                                         \
    X(ev_loop_destroy)                                                                             \
    X(ev_loop_new)                                                                                 \
    X(ev_now_update)                                                                               \
    X(ev_run)                                                                                      \
    X(ev_set_userdata)                                                                             \
    X(ev_timer_again)                                                                              \
    X(ev_timer_start)                                                                              \
    X(ev_timer_stop)                                                                               \
    X(ev_userdata)
LOADED_LIBRARY(LIBEV_FUNCTIONS, "libev.so.4");

#define REACH_TICKS      (UINT64_C(1) << 48)
#define SECONDS_PER_TICK 1e-3

struct libev_timers {
    struct event_loop common;
    struct ev_loop *loop;
};

static ev_timer *watcher_of(const struct libev_timers *timers, uint32_t id)
{
    return pinned_at(&timers->common.entries, id);
}

static bool is_pending(const void *entry)
{
    const ev_timer *watcher = entry;
    return ev_is_active(watcher) || ev_is_pending(watcher);
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)events;
    event_loop_fire(lib.ev_userdata(loop), (uint32_t)(uintptr_t)watcher->data);
}

static void on_wait(struct virtual_clock *clock, int wait_ms)
{
    ((struct event_loop *)clock)->wait_ms = wait_ms;
}

static void turn(struct libev_timers *timers, int flags)
{
    UNDER_CLOCK(&timers->common, (void)lib.ev_run(timers->loop, flags));
}

static void turn_and_wait(struct event_loop *common)
{
    turn((struct libev_timers *)common, EVRUN_ONCE);
}

static void prepare(struct event_loop *common, void *entry, uint32_t id)
{
    (void)common;
    ev_timer *watcher = entry;
    ev_timer_init(watcher, on_timer, 0, 0);
    watcher->data = (void *)(uintptr_t)id; /* NOLINT(performance-no-int-to-ptr) */
}

static enum tl_status libev_reserve(void *self, uint32_t capacity)
{
    return event_loop_reserve(self, capacity, prepare);
}

static void libev_destroy(void *self)
{
    struct libev_timers *timers = self;
    if (timers->loop != NULL) {
        UNDER_CLOCK(&timers->common, lib.ev_loop_destroy(timers->loop));
    }
    event_loop_free(&timers->common, sizeof *timers);
}

static enum tl_status open_loop(struct event_loop *common)
{
    struct libev_timers *timers = (struct libev_timers *)common;
    const unsigned flags = EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOTIMERFD;
    enum tl_status status = event_loop_load(&library);
    if (status != TL_OK) {
        return status;
    }
    UNDER_CLOCK(common, timers->loop = lib.ev_loop_new(flags));
    if (timers->loop == NULL) {
        return TL_ERR_UNAVAILABLE;
    }
    lib.ev_set_userdata(timers->loop, timers);
    return TL_OK;
}

static enum tl_status libev_create(const struct tl_config *config, void **self)
{
    return event_loop_create(config, sizeof(struct libev_timers), sizeof(ev_timer), open_loop,
                             libev_reserve, libev_destroy, self);
}

static enum tl_status libev_start(void *self, uint32_t id, uint64_t deadline)
{
    struct libev_timers *timers = self;
    struct event_loop *common = &timers->common;
    ev_timer *watcher = watcher_of(timers, id);
    if (event_loop_move_base(common, REACH_TICKS)) {
        UNDER_CLOCK(common, lib.ev_now_update(timers->loop));
    }
    if (!event_loop_reaches(common, deadline, REACH_TICKS)) {
        return TL_ERR_HORIZON;
    }
    common->count += !is_pending(watcher);
    struct virtual_clock *before = tl_virtual_clock_swap(&common->clock); /* the heap may grow */
    if (deadline > common->now) {
        watcher->repeat = ((double)(deadline - common->now) - 0.5) * SECONDS_PER_TICK;
        lib.ev_timer_again(timers->loop, watcher);
        watcher->repeat = 0; /* once is enough */
    } else {
        lib.ev_timer_stop(timers->loop, watcher);
        ev_timer_set(watcher, -SECONDS_PER_TICK, 0);
        lib.ev_timer_start(timers->loop, watcher);
        common->has_due = true;
    }
    (void)tl_virtual_clock_swap(before);
    return TL_OK;
}

static enum tl_status libev_stop(void *self, uint32_t id)
{
    struct libev_timers *timers = self;
    ev_timer *watcher = watcher_of(timers, id);
    if (!is_pending(watcher)) {
        return TL_IDLE;
    }
    lib.ev_timer_stop(timers->loop, watcher);
    timers->common.count--;
    return TL_OK;
}

static uint64_t libev_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    (void)budget; /* none is declared */
    struct libev_timers *timers = self;
    event_loop_set_clock(&timers->common, now, REACH_TICKS);
    event_loop_begin(&timers->common, fire, ctx);
    turn(timers, EVRUN_NOWAIT);
    return timers->common.fired;
}

static uint64_t libev_next(const void *self)
{
    return event_loop_ask((struct event_loop *)self, on_wait, turn_and_wait);
}

static enum tl_status libev_check(const void *self, char *why, size_t why_bytes)
{
    return event_loop_check(self, is_pending, "watchers", why, why_bytes);
}

#define LIBEV_SUMMARY "libev's event loop: a 4-ary heap with the deadlines in it"
#define LIBEV_HOOKS                                                                                \
    .create = libev_create, .destroy = libev_destroy, .reserve = libev_reserve,                    \
    .start = libev_start, .stop = libev_stop, .advance = libev_advance, .next = libev_next,        \
    .count = event_loop_count, .check = libev_check

#else

#include "unavailable.h"

#define LIBEV_SUMMARY "libev's event loop (not in this build, which lacked libev-dev)"
#define LIBEV_HOOKS   UNAVAILABLE_HOOKS

#endif

TL_ALGO(libev) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_ALLOCATES,
    .name = "libev",
    .summary = LIBEV_SUMMARY,
    .origin = "libev (libev-dev)",
    .description =
        "The timers of libev's event loop through its public interface, under a virtual clock of "
        "one millisecond a tick. A 4-ary heap of 16-byte entries; a restart is ev_timer_again. "
        "Each advance is a turn of the loop without waiting, its call of epoll_wait included "
        "unless poll=none; `next` is the wait that libev asks for, a minute at most. Time is a "
        "double: deadlines reach 2^48 ticks beyond the clock when the loop was last empty, and are "
        "exact within. The heap grows by doubling, and never shrinks. Bad at: an advance every "
        "tick. Needs libev-dev when timerlab is built.",
    .differs =
        "a timer fires at its tick, where libev waits until its clock is beyond it: each is "
        "given half a tick less; stop says whether the timer was pending, where ev_timer_stop "
        "answers nothing; no repeating timers; the clock is the caller's; deadlines reach "
        "2^48 ticks beyond the clock when the loop was last empty.",
    .cost = {.start = "O(log n)", .stop = "O(log n)", .tick = "O(1)", .expire = "O(log n)"},
    .options = event_loop_option_table,
    .options_bytes = sizeof(struct event_loop_options),
    LIBEV_HOOKS,
};
