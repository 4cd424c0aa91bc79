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

struct libev_loop {
    struct ev_loop *loop;
    ev_timer watchers[];
};

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
    struct kernel_timers *timers = watcher->data;
    (void)loop, (void)events;
    hosted_ended(timers, (uint32_t)(watcher - ((struct libev_loop *)timers->own)->watchers));
}

static void libev_make(struct kernel_timers *timers)
{
    const uint32_t count = timers->count;
    struct libev_loop *own = memory_new(1, sizeof *own + (count + 1) * sizeof own->watchers[0]);
    own->loop = memory_made(lib.ev_loop_new(EVFLAG_AUTO));
    const double every = (double)hosted_traffic_ms(timers) / 1000;
    timers->own = own;
    for (uint32_t id = 0; id <= count; id++) {
        const double repeat = id == count ? every : 0;
        ev_timer_init(&own->watchers[id], on_timer, repeat, repeat);
        own->watchers[id].data = timers;
    }
    lib.ev_timer_start(own->loop, &own->watchers[count]);
}

static bool libev_start(struct kernel_timers *timers, uint32_t id)
{
    struct libev_loop *own = timers->own;
    uint64_t ms = hosted_delay_ms(timers, id);
    /* A repeat of 0 would stop it here; afterwards it prevents a second expiry. */
    own->watchers[id].repeat = ms > 0 ? (double)ms / 1000 : 1e-6;
    lib.ev_timer_again(own->loop, &own->watchers[id]);
    own->watchers[id].repeat = 0;
    return true;
}

static void libev_turn(struct kernel_timers *timers)
{
    (void)lib.ev_run(((struct libev_loop *)timers->own)->loop, EVRUN_ONCE);
}

static void libev_end(struct kernel_timers *timers)
{
    lib.ev_loop_destroy(((struct libev_loop *)timers->own)->loop);
}

HOSTED_SORT(hosted_libev, "libev4", libev_make, libev_start, libev_turn, libev_end)
#else
HOSTED_ABSENT(hosted_libev, "libev-dev")
#endif
