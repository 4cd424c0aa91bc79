/* libuv's loop, with a timer of its own for each connection. */
#include "kernel_hosted.h"

#include "memory.h"

#ifdef TL_HAVE_LIBUV
#include <uv.h>

#define FUNCTIONS(X)                                                                               \
    X(uv_loop_init)                                                                                \
    X(uv_loop_close)                                                                               \
    X(uv_close)                                                                                    \
    X(uv_run)                                                                                      \
    X(uv_timer_init)                                                                               \
    X(uv_timer_start)
LOADED_LIBRARY(FUNCTIONS, "libuv.so.1");

struct own {
    uv_loop_t loop;
    uv_timer_t traffic;
    bool traffic_came;
    uv_timer_t timers[];
};

static void on_traffic(uv_timer_t *timer)
{
    struct kernel_timers *timers = timer->data;
    ((struct own *)timers->own)->traffic_came = true;
}

static void on_timer(uv_timer_t *timer)
{
    struct kernel_timers *timers = timer->data;
    hosted_ended(timers, (uint32_t)(timer - ((struct own *)timers->own)->timers));
}

static bool open_loop(struct kernel_timers *timers, struct error *error)
{
    if (!hosted_open(timers, &library, "libuv1", error)) {
        return false;
    }
    struct own *own = memory_new(1, sizeof *own + timers->count * sizeof own->timers[0]);
    if (lib.uv_loop_init(&own->loop) != 0) {
        memory_end();
    }
    timers->own = own;
    for (uint32_t id = 0; id < timers->count; id++) {
        (void)lib.uv_timer_init(&own->loop, &own->timers[id]);
        own->timers[id].data = timers;
    }
    (void)lib.uv_timer_init(&own->loop, &own->traffic);
    own->traffic.data = timers;
    (void)lib.uv_timer_start(&own->traffic, on_traffic, hosted_traffic_ms(timers),
                             hosted_traffic_ms(timers));
    return true;
}

static bool start(struct kernel_timers *timers, uint32_t id)
{
    struct own *own = timers->own;
    return lib.uv_timer_start(&own->timers[id], on_timer, hosted_delay_ms(timers, id), 0) == 0;
}

static unsigned wait_turn(struct kernel_timers *timers)
{
    struct own *own = timers->own;
    own->traffic_came = false;
    (void)lib.uv_run(&own->loop, UV_RUN_ONCE);
    return hosted_causes(timers, own->traffic_came);
}

static void close_loop(struct kernel_timers *timers)
{
    struct own *own = timers->own;
    hosted_close();
    if (own != NULL) {
        for (uint32_t id = 0; id < timers->count; id++) {
            lib.uv_close((uv_handle_t *)&own->timers[id], NULL);
        }
        lib.uv_close((uv_handle_t *)&own->traffic, NULL);
        (void)lib.uv_run(&own->loop, UV_RUN_DEFAULT); /* closing ends there */
        (void)lib.uv_loop_close(&own->loop);
        free(own);
    }
}

const struct kernel_sort hosted_libuv = {
    .open = open_loop, .start = start, .wait = wait_turn, .close = close_loop};
#else
HOSTED_ABSENT(hosted_libuv, "libuv1-dev")
#endif
