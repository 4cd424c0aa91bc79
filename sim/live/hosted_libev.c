/* libev's loop, with a timer of its own for each connection. */
#include "kernel_hosted.h"

#include "memory.h"

#ifdef TL_HAVE_LIBEV
#include <ev.h>

#define FUNCTIONS(X)                                                                               \
    X(ev_loop_new)                                                                                 \
    X(ev_loop_destroy)                                                                             \
    X(ev_run)                                                                                      \
    X(ev_timer_again)                                                                              \
    X(ev_timer_start)
LOADED_LIBRARY(FUNCTIONS, "libev.so.4");

struct own {
    struct ev_loop *loop;
    struct kernel_timers *timers;
    ev_timer traffic;
    bool traffic_came;
    ev_timer watchers[];
};

static void on_traffic(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)loop, (void)events;
    ((struct own *)watcher->data)->traffic_came = true;
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
    struct own *own = watcher->data;
    (void)loop, (void)events;
    hosted_ended(own->timers, (uint32_t)(watcher - own->watchers));
}

static bool open_loop(struct kernel_timers *timers, struct error *error)
{
    if (!hosted_open(timers, &library, "libev4", error)) {
        return false;
    }
    struct own *own = memory_new(1, sizeof *own + timers->count * sizeof own->watchers[0]);
    own->loop = memory_made(lib.ev_loop_new(EVFLAG_AUTO));
    const double every = (double)hosted_traffic_ms(timers) / 1000;
    own->timers = timers;
    timers->own = own;
    for (uint32_t id = 0; id < timers->count; id++) {
        ev_timer_init(&own->watchers[id], on_timer, 0, 0);
        own->watchers[id].data = own;
    }
    ev_timer_init(&own->traffic, on_traffic, every, every);
    own->traffic.data = own;
    lib.ev_timer_start(own->loop, &own->traffic);
    return true;
}

static bool start(struct kernel_timers *timers, uint32_t id)
{
    struct own *own = timers->own;
    uint64_t ms = hosted_delay_ms(timers, id);
    /* A repeat of 0 would stop it; afterwards it says that once is enough. */
    own->watchers[id].repeat = ms > 0 ? (double)ms / 1000 : 1e-6;
    lib.ev_timer_again(own->loop, &own->watchers[id]);
    own->watchers[id].repeat = 0;
    return true;
}

static unsigned wait_turn(struct kernel_timers *timers)
{
    struct own *own = timers->own;
    own->traffic_came = false;
    (void)lib.ev_run(own->loop, EVRUN_ONCE);
    return hosted_causes(timers, own->traffic_came);
}

static void close_loop(struct kernel_timers *timers)
{
    struct own *own = timers->own;
    hosted_close();
    if (own != NULL) {
        lib.ev_loop_destroy(own->loop);
        free(own);
    }
}

const struct kernel_sort hosted_libev = {
    .open = open_loop, .start = start, .wait = wait_turn, .close = close_loop};
#else
HOSTED_ABSENT(hosted_libev, "libev-dev")
#endif
