/*
 * libevent: the timers of libevent's event loop, through its public interface, under a virtual
 * clock.
 *
 *   heap of pointers:   [ e4 | e1 | e7 | e2 | ... ]      deadline and place are in the event
 *   due:                e4 -> e1 -> ...                  a queue of active events
 *
 * libevent keeps a binary heap in an array of pointers to events; a comparison reads both events. A
 * turn of the loop moves everything that is due from the heap to a queue of active events, and then
 * calls back for each. A restart is event_add on an event that is pending, which moves it within
 * the heap.
 *
 * An advance is a turn of the loop without waiting (EVLOOP_NONBLOCK), including the system call
 * epoll_wait unless poll=none: the cost of a tick in a program that uses libevent. Reading the
 * machine's clock, once for every start, costs nothing here, see virtual_clock.h. `next` is the wait
 * that libevent asks for in another turn, without epoll_wait. libevent never waits longer than 35
 * minutes, so `next` is a lower bound. A budget ends a turn by event_base_loopbreak; the remaining
 * events stay active, and come first in the next.
 *
 * A tick is a millisecond. libevent's time is a timeval, so deadlines have no horizon.
 *
 * An event has 128 bytes, in our table, by id, with 16 for its structure and id. The heap, 8 bytes a
 * timer, is libevent's own; it grows by doubling as timers are started, and never shrinks (libevent's
 * issue 1800).
 *
 * Invariants
 *   - timer id is pending if and only if its event is (in the heap, or active with its callback
 *     still to come); `count` is how many are
 *   - libevent's clock is clock - base milliseconds
 *
 * Complexity: start, stop, expire O(log n); a tick that fires nothing O(1), and a system call.
 * Bad at: being asked every tick; many timers, for comparisons chase pointers.
 *
 * Source: libevent 2.1.12, event_add(3); libevent-dev.
 */
#include "event_loop.h"

#ifdef TL_HAVE_LIBEVENT

#include <event2/event.h>
#include <event2/event_struct.h>

#define LIBEVENT_FUNCTIONS(X)                                                                      \
    X(event_add)                                                                                   \
    X(event_assign)                                                                                \
    X(event_base_free)                                                                             \
    X(event_base_loop)                                                                             \
    X(event_base_loopbreak)                                                                        \
    X(event_base_new_with_config)                                                                  \
    X(event_config_avoid_method)                                                                   \
    X(event_config_free)                                                                           \
    X(event_config_new)                                                                            \
    X(event_config_set_flag)                                                                       \
    X(event_del)                                                                                   \
    X(event_pending)
LOADED_LIBRARY(LIBEVENT_FUNCTIONS, "libevent_core-2.1.so.7", "libevent-2.1.so.7");

struct node {
    struct event event;
    struct libevent_timers *timers;
    uint32_t id;
};

struct libevent_timers {
    struct event_loop common;
    struct event_base *loop;
    uint64_t budget;
};

static struct node *node_of(const struct libevent_timers *timers, uint32_t id)
{
    return pinned_at(&timers->common.entries, id);
}

static bool is_pending(const void *entry)
{
    const struct node *node = entry;
    return lib.event_pending(&node->event, EV_TIMEOUT, NULL) != 0;
}

static void on_timer(evutil_socket_t file, short events, void *ctx)
{
    (void)file;
    (void)events;
    const struct node *node = ctx;
    struct libevent_timers *timers = node->timers;
    if (timers->common.fired + 1 == timers->budget) {
        (void)lib.event_base_loopbreak(timers->loop);
        timers->common.has_due = true; /* perhaps */
    }
    event_loop_fire(&timers->common, node->id);
}

/* Break the loop, which would wait and look again until a timer fires. */
static void on_wait(struct virtual_clock *clock, int wait_ms)
{
    struct libevent_timers *timers = (struct libevent_timers *)clock;
    timers->common.wait_ms = wait_ms;
    (void)lib.event_base_loopbreak(timers->loop);
}

/* A turn ends after its expiries, and does not look again for timers that callbacks added. */
static void turn(struct libevent_timers *timers, int flags)
{
    UNDER_CLOCK(&timers->common, (void)lib.event_base_loop(timers->loop, EVLOOP_ONCE | flags));
}

static void turn_and_wait(struct event_loop *common)
{
    turn((struct libevent_timers *)common, 0);
}

static void prepare(struct event_loop *common, void *entry, uint32_t id)
{
    struct libevent_timers *timers = (struct libevent_timers *)common;
    struct node *node = entry;
    (void)lib.event_assign(&node->event, timers->loop, -1, 0, on_timer, node);
    node->timers = timers;
    node->id = id;
}

static enum tl_status libevent_reserve(void *self, uint32_t capacity)
{
    return event_loop_reserve(self, capacity, prepare);
}

static void libevent_destroy(void *self)
{
    struct libevent_timers *timers = self;
    struct virtual_clock *before = tl_virtual_clock_swap(&timers->common.clock);
    for (uint32_t id = 0; id < timers->common.entries.capacity; id++) {
        (void)lib.event_del(&node_of(timers, id)->event);
    }
    if (timers->loop != NULL) {
        lib.event_base_free(timers->loop);
    }
    (void)tl_virtual_clock_swap(before);
    event_loop_free(&timers->common, sizeof *timers);
}

static enum tl_status open_loop(struct event_loop *common)
{
    struct libevent_timers *timers = (struct libevent_timers *)common;
    enum tl_status status = event_loop_load(&library);
    if (status != TL_OK) {
        return status;
    }
    struct event_config *config = lib.event_config_new();
    if (config == NULL) {
        return TL_ERR_NOMEM;
    }
    const int flags = EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV;
    if (lib.event_config_set_flag(config, flags) == 0 &&
        lib.event_config_avoid_method(config, "poll") == 0 &&
        lib.event_config_avoid_method(config, "select") == 0) {
        UNDER_CLOCK(common, timers->loop = lib.event_base_new_with_config(config));
    }
    lib.event_config_free(config);
    return timers->loop != NULL ? TL_OK : TL_ERR_UNAVAILABLE;
}

static enum tl_status libevent_create(const struct tl_config *config, void **self)
{
    return event_loop_create(config, sizeof(struct libevent_timers), sizeof(struct node), open_loop,
                             libevent_reserve, libevent_destroy, self);
}

static enum tl_status libevent_start(void *self, uint32_t id, uint64_t deadline)
{
    struct libevent_timers *timers = self;
    struct event_loop *common = &timers->common;
    struct node *node = node_of(timers, id);
    uint64_t delay_ms = deadline > common->now ? deadline - common->now : 0;
    struct timeval delay = {
        .tv_sec = (time_t)(delay_ms / 1000),
        .tv_usec = (suseconds_t)(delay_ms % 1000 * 1000),
    };
    bool pending = is_pending(node);
    struct virtual_clock *before = tl_virtual_clock_swap(&common->clock);
    bool added = lib.event_add(&node->event, &delay) == 0;
    (void)tl_virtual_clock_swap(before);
    if (!added) {
        return TL_ERR_NOMEM;
    }
    common->has_due = common->has_due || delay_ms == 0;
    common->count += !pending;
    return TL_OK;
}

static enum tl_status libevent_stop(void *self, uint32_t id)
{
    struct libevent_timers *timers = self;
    struct node *node = node_of(timers, id);
    if (!is_pending(node)) {
        return TL_IDLE;
    }
    (void)lib.event_del(&node->event);
    timers->common.count--;
    return TL_OK;
}

static uint64_t libevent_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                 void *ctx)
{
    struct libevent_timers *timers = self;
    event_loop_set_clock(&timers->common, now, UINT64_MAX);
    if (budget == 0) {
        timers->common.has_due = true; /* perhaps */
        return 0;
    }
    timers->budget = budget;
    event_loop_begin(&timers->common, fire, ctx);
    turn(timers, EVLOOP_NONBLOCK);
    return timers->common.fired;
}

static uint64_t libevent_next(const void *self)
{
    return event_loop_ask((struct event_loop *)self, on_wait, turn_and_wait);
}

static enum tl_status libevent_check(const void *self, char *why, size_t why_bytes)
{
    return event_loop_check(self, is_pending, "events", why, why_bytes);
}

#define LIBEVENT_SUMMARY "libevent's event loop: a binary heap of pointers to events"
#define LIBEVENT_HOOKS                                                                             \
    .create = libevent_create, .destroy = libevent_destroy, .reserve = libevent_reserve,           \
    .start = libevent_start, .stop = libevent_stop, .advance = libevent_advance,                   \
    .next = libevent_next, .count = event_loop_count, .check = libevent_check

#else

#include "unavailable.h"

#define LIBEVENT_SUMMARY "libevent's event loop (not in this build, which lacked libevent-dev)"
#define LIBEVENT_HOOKS   UNAVAILABLE_HOOKS

#endif

TL_ALGO(libevent) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_ORDERED | TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED |
                    TL_CAP_ALLOCATES,
    .name = "libevent",
    .summary = LIBEVENT_SUMMARY,
    .origin = "libevent (libevent-dev)",
    .description =
        "The timers of libevent's event loop through its public interface, under a virtual clock "
        "of one millisecond a tick. A binary heap in an array of pointers to events of 128 bytes; "
        "due timers go through a queue of active events. Each advance is a turn of the loop "
        "without waiting, its call of epoll_wait included unless poll=none; `next` is the wait "
        "that libevent asks for, 35 minutes at most. The heap grows by doubling, and never "
        "shrinks. Bad at: an advance every tick, and many timers, for every comparison follows "
        "pointers. Needs libevent-dev when timerlab is built.",
    .differs = "stop says whether the timer was pending, where event_del answers 0 either way; a "
               "budget ends a turn by event_base_loopbreak; no persistent events, no common "
               "timeouts; the clock is the caller's.",
    .cost = {.start = "O(log n)", .stop = "O(log n)", .tick = "O(1)", .expire = "O(log n)"},
    .options = event_loop_option_table,
    .options_bytes = sizeof(struct event_loop_options),
    LIBEVENT_HOOKS,
};
