/* libevent's loop, with an event of its own for each connection. */
#include "kernel_hosted.h"

#include "memory.h"

#ifdef TL_HAVE_LIBEVENT
#include <event2/event.h>
#include <event2/event_struct.h>

#define FUNCTIONS(X)                                                                               \
    X(event_base_new)                                                                              \
    X(event_base_free)                                                                             \
    X(event_base_loop)                                                                             \
    X(event_assign)                                                                                \
    X(event_add)                                                                                   \
    X(event_del)
LOADED_LIBRARY(FUNCTIONS, "libevent_core-2.1.so.7", "libevent-2.1.so.7");

struct libevent_node {
    struct event event;
    struct kernel_timers *timers;
};

struct libevent_loop {
    struct event_base *loop;
    struct libevent_node nodes[];
};

static void on_timer(evutil_socket_t file, short what, void *ctx)
{
    struct libevent_node *node = ctx;
    const struct libevent_loop *own = node->timers->own;
    (void)file, (void)what;
    hosted_ended(node->timers, (uint32_t)(node - own->nodes));
}

static struct timeval after_ms(uint64_t ms)
{
    return (struct timeval){(time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000)};
}

static void libevent_make(struct kernel_timers *timers)
{
    const uint32_t count = timers->count;
    struct libevent_loop *own = memory_new(1, sizeof *own + (count + 1) * sizeof own->nodes[0]);
    own->loop = memory_made(lib.event_base_new());
    const struct timeval every = after_ms(hosted_traffic_ms(timers));
    timers->own = own;
    for (uint32_t id = 0; id <= count; id++) {
        own->nodes[id].timers = timers;
        (void)lib.event_assign(&own->nodes[id].event, own->loop, -1, id == count ? EV_PERSIST : 0,
                               on_timer, &own->nodes[id]);
    }
    (void)lib.event_add(&own->nodes[count].event, &every);
}

static bool libevent_start(struct kernel_timers *timers, uint32_t id)
{
    struct libevent_loop *own = timers->own;
    const struct timeval delay = after_ms(hosted_delay_ms(timers, id));
    return lib.event_add(&own->nodes[id].event, &delay) == 0;
}

static void libevent_turn(struct kernel_timers *timers)
{
    (void)lib.event_base_loop(((struct libevent_loop *)timers->own)->loop, EVLOOP_ONCE);
}

static void libevent_end(struct kernel_timers *timers)
{
    struct libevent_loop *own = timers->own;
    for (uint32_t id = 0; id <= timers->count; id++) {
        (void)lib.event_del(&own->nodes[id].event);
    }
    lib.event_base_free(own->loop);
}

HOSTED_SORT(hosted_libevent, "libevent", libevent_make, libevent_start, libevent_turn, libevent_end)
#else
HOSTED_ABSENT(hosted_libevent, "libevent-dev")
#endif
