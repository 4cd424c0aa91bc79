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

struct own;

struct node {
    struct event event;
    struct own *own;
};

struct own {
    struct event_base *loop;
    struct kernel_timers *timers;
    struct event traffic;
    bool traffic_came;
    struct node nodes[];
};

static void on_traffic(evutil_socket_t file, short what, void *ctx)
{
    (void)file, (void)what;
    ((struct own *)ctx)->traffic_came = true;
}

static void on_timer(evutil_socket_t file, short what, void *ctx)
{
    struct node *node = ctx;
    (void)file, (void)what;
    hosted_ended(node->own->timers, (uint32_t)(node - node->own->nodes));
}

static struct timeval after_ms(uint64_t ms)
{
    return (struct timeval){(time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000)};
}

static bool open_loop(struct kernel_timers *timers, struct error *error)
{
    if (!hosted_open(timers, &library, "libevent", error)) {
        return false;
    }
    struct own *own = memory_new(1, sizeof *own + timers->count * sizeof own->nodes[0]);
    own->loop = memory_made(lib.event_base_new());
    const struct timeval every = after_ms(hosted_traffic_ms(timers));
    own->timers = timers;
    timers->own = own;
    for (uint32_t id = 0; id < timers->count; id++) {
        own->nodes[id].own = own;
        (void)lib.event_assign(&own->nodes[id].event, own->loop, -1, 0, on_timer, &own->nodes[id]);
    }
    (void)lib.event_assign(&own->traffic, own->loop, -1, EV_PERSIST, on_traffic, own);
    (void)lib.event_add(&own->traffic, &every);
    return true;
}

static bool start(struct kernel_timers *timers, uint32_t id)
{
    struct own *own = timers->own;
    const struct timeval delay = after_ms(hosted_delay_ms(timers, id));
    return lib.event_add(&own->nodes[id].event, &delay) == 0;
}

static unsigned wait_turn(struct kernel_timers *timers)
{
    struct own *own = timers->own;
    own->traffic_came = false;
    (void)lib.event_base_loop(own->loop, EVLOOP_ONCE);
    return hosted_causes(timers, own->traffic_came);
}

static void close_loop(struct kernel_timers *timers)
{
    struct own *own = timers->own;
    hosted_close();
    if (own != NULL) {
        for (uint32_t id = 0; id < timers->count; id++) {
            (void)lib.event_del(&own->nodes[id].event);
        }
        (void)lib.event_del(&own->traffic);
        lib.event_base_free(own->loop);
        free(own);
    }
}

const struct kernel_sort hosted_libevent = {
    .open = open_loop, .start = start, .wait = wait_turn, .close = close_loop};
#else
HOSTED_ABSENT(hosted_libevent, "libevent-dev")
#endif
