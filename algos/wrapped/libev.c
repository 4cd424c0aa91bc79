/*
 * libev: the timers of libev's event loop, through its public interface, under a virtual clock.
 *
 *   heap of (deadline, watcher):        0
 *                              1    2       3    4        four children each
 *                           5..8  9..12
 *
 * libev keeps an array heap with four children to a node, and each deadline beside the pointer to
 * its watcher, so that sifting compares what lies in one line of the cache. A restart is
 * ev_timer_again, which sifts from where the timer is, and which libev's manual recommends for
 * timeouts that are pushed back. What a turn of the loop finds due, it takes from the heap before
 * it calls back for the first.
 *
 * An advance is a turn of the loop that does not wait (EVRUN_NOWAIT), with all that belongs to it,
 * the system call epoll_wait included unless poll=none: that is what a tick costs in a program that
 * uses libev. The reading of the machine's clock is not, see virtual_clock.h. `next` is how long
 * libev would wait: another turn, which is asked for the wait and does not call epoll_wait. libev
 * never waits longer than a minute, so `next` is a lower bound.
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
#include "timerlab.h"
#include "virtual_clock.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>

#ifdef TL_HAVE_LIBEV

#include "pinned_table.h"

#include <ev.h>

#define REACH_TICKS      (UINT64_C(1) << 48)
#define SECONDS_PER_TICK 1e-3

struct libev_timers {
    struct virtual_clock clock; /* first: see on_wait */
    struct ev_loop *loop;
    struct pinned_table watchers; /* ev_timer, by id */
    uint64_t now;
    uint64_t base; /* the tick at libev's time 0 */
    uint64_t count;
    bool behind; /* something was started that is due already */
    int wait_ms; /* libev's last answer */
    uint64_t fired;
    tl_fire_fn fire;
    void *fire_ctx;
    const struct tl_allocator *allocator;
};

static ev_timer *watcher_of(const struct libev_timers *timers, uint32_t id)
{
    return pinned_at(&timers->watchers, id);
}

static bool is_pending(const ev_timer *watcher)
{
    return ev_is_active(watcher) || ev_is_pending(watcher);
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)events;
    struct libev_timers *timers = ev_userdata(loop);
    timers->count--;
    timers->fired++;
    timers->fire(timers->fire_ctx, (uint32_t)(uintptr_t)watcher->data, timers->now);
}

static void on_wait(struct virtual_clock *clock, int wait_ms)
{
    ((struct libev_timers *)clock)->wait_ms = wait_ms;
}

static void set_clock(struct libev_timers *timers, uint64_t now)
{
    uint64_t passed = now - timers->base;
    timers->now = now;
    timers->clock.now_ms = passed < REACH_TICKS ? passed : REACH_TICKS;
}

static void turn(struct libev_timers *timers, int flags)
{
    struct virtual_clock *before = tl_virtual_clock_swap(&timers->clock);
    (void)ev_run(timers->loop, flags);
    (void)tl_virtual_clock_swap(before);
}

static enum tl_status libev_reserve(void *self, uint32_t capacity)
{
    struct libev_timers *timers = self;
    uint32_t id = timers->watchers.capacity;
    enum tl_status status = pinned_grow(&timers->watchers, capacity);
    for (; id < timers->watchers.capacity; id++) {
        ev_timer *watcher = watcher_of(timers, id);
        ev_timer_init(watcher, on_timer, 0, 0);
        watcher->data = (void *)(uintptr_t)id; /* NOLINT(performance-no-int-to-ptr) */
    }
    return status;
}

static void libev_destroy(void *self)
{
    struct libev_timers *timers = self;
    if (timers->loop != NULL) {
        struct virtual_clock *before = tl_virtual_clock_swap(&timers->clock);
        ev_loop_destroy(timers->loop);
        (void)tl_virtual_clock_swap(before);
    }
    pinned_free(&timers->watchers);
    tl_free(timers->allocator, timers, sizeof *timers, alignof(struct libev_timers));
}

static enum tl_status open_loop(struct libev_timers *timers)
{
    if (!tl_virtual_clock_attach((void (*)(void))ev_run)) {
        return TL_ERR_UNAVAILABLE;
    }
    struct virtual_clock *before = tl_virtual_clock_swap(&timers->clock);
    timers->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOTIMERFD);
    (void)tl_virtual_clock_swap(before);
    if (timers->loop == NULL) {
        return TL_ERR_UNAVAILABLE;
    }
    ev_set_userdata(timers->loop, timers);
    return TL_OK;
}

static enum tl_status libev_create(const struct tl_config *config, void **self)
{
    struct libev_timers *timers =
        tl_alloc(config->allocator, sizeof *timers, alignof(struct libev_timers));
    if (timers == NULL) {
        return TL_ERR_NOMEM;
    }
    *timers = (struct libev_timers){
        .clock = {.on_wait = config->options[0] != 0 ? NULL : virtual_clock_no_poll,
                  .allocator = config->allocator},
        .watchers = {.entry_bytes = sizeof(ev_timer), .allocator = config->allocator},
        .now = config->now,
        .base = config->now,
        .allocator = config->allocator,
    };
    enum tl_status status = libev_reserve(timers, config->capacity);
    if (status == TL_OK) {
        status = open_loop(timers);
    }
    if (status != TL_OK) {
        libev_destroy(timers);
        return status;
    }
    *self = timers;
    return TL_OK;
}

/* Nothing is pending: the clock may go back to where doubles are exact. */
static void move_base(struct libev_timers *timers)
{
    timers->base = timers->now;
    set_clock(timers, timers->now);
    struct virtual_clock *before = tl_virtual_clock_swap(&timers->clock);
    ev_now_update(timers->loop);
    (void)tl_virtual_clock_swap(before);
}

static enum tl_status libev_start(void *self, uint32_t id, uint64_t deadline)
{
    struct libev_timers *timers = self;
    ev_timer *watcher = watcher_of(timers, id);
    if (timers->count == 0 && timers->now - timers->base > REACH_TICKS / 2) {
        move_base(timers);
    }
    if (deadline > timers->now && deadline - timers->base > REACH_TICKS) {
        return TL_ERR_HORIZON;
    }
    timers->count += !is_pending(watcher);
    struct virtual_clock *before = tl_virtual_clock_swap(&timers->clock); /* the heap may grow */
    if (deadline > timers->now) {
        watcher->repeat = ((double)(deadline - timers->now) - 0.5) * SECONDS_PER_TICK;
        ev_timer_again(timers->loop, watcher);
        watcher->repeat = 0; /* once is enough */
    } else {
        ev_timer_stop(timers->loop, watcher);
        ev_timer_set(watcher, -SECONDS_PER_TICK, 0);
        ev_timer_start(timers->loop, watcher);
        timers->behind = true;
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
    ev_timer_stop(timers->loop, watcher);
    timers->count--;
    return TL_OK;
}

static uint64_t libev_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    (void)budget; /* none is declared */
    struct libev_timers *timers = self;
    set_clock(timers, now);
    timers->behind = false;
    timers->fired = 0;
    timers->fire = fire;
    timers->fire_ctx = ctx;
    turn(timers, EVRUN_NOWAIT);
    return timers->fired;
}

static uint64_t libev_next(const void *self)
{
    struct libev_timers *timers = (struct libev_timers *)self;
    if (timers->count == 0) {
        return TL_NEVER;
    }
    if (timers->behind) {
        return timers->now;
    }
    timers->wait_ms = 1;
    void (*usual)(struct virtual_clock *, int) = timers->clock.on_wait;
    timers->clock.on_wait = on_wait;
    turn(timers, EVRUN_ONCE);
    timers->clock.on_wait = usual;
    return timers->now + (timers->wait_ms > 0 ? (uint64_t)timers->wait_ms : 1);
}

static uint64_t libev_count(const void *self)
{
    return ((const struct libev_timers *)self)->count;
}

static enum tl_status libev_check(const void *self, char *why, size_t why_bytes)
{
    const struct libev_timers *timers = self;
    uint64_t pending = 0;
    for (uint32_t id = 0; id < timers->watchers.capacity; id++) {
        pending += is_pending(watcher_of(timers, id));
    }
    if (pending != timers->count) {
        (void)snprintf(why, why_bytes, "%" PRIu64 " watchers, %" PRIu64 " timers counted", pending,
                       timers->count);
        return TL_ERR_CORRUPT;
    }
    return TL_OK;
}

#define LIBEV_SUMMARY "libev's event loop: a 4-ary heap with the deadlines in it"
/* clang-format off */
#define LIBEV_HOOKS                                                                                \
    .create = libev_create,                                                                        \
    .destroy = libev_destroy,                                                                      \
    .reserve = libev_reserve,                                                                      \
    .start = libev_start,                                                                          \
    .stop = libev_stop,                                                                            \
    .advance = libev_advance,                                                                      \
    .next = libev_next,                                                                            \
    .count = libev_count,                                                                          \
    .check = libev_check
/* clang-format on */

#else

#include "unavailable.h"

#define LIBEV_SUMMARY "libev's event loop (not in this build, which lacked libev-dev)"
#define LIBEV_HOOKS   UNAVAILABLE_HOOKS

#endif

static const struct tl_option libev_options[] = {
    VIRTUAL_CLOCK_POLL_OPTION,
    {NULL, 0, 0, 0, NULL, NULL},
};

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
        "unless poll=none; "
        "`next` is the wait that libev asks for, a minute at most. Time is a double: deadlines "
        "reach 2^48 ticks beyond the clock when the loop was last empty, and are exact within. "
        "The heap grows by doubling, and never shrinks. Bad at: an advance every tick. Needs "
        "libev-dev when timerlab is built.",
    .cost = {.start = "O(log n)", .stop = "O(log n)", .tick = "O(1)", .expire = "O(log n)"},
    .options = libev_options,
    LIBEV_HOOKS,
};
