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

struct libuv_loop {
    uv_loop_t loop;
    uv_timer_t timers[];
};

static void on_timer(uv_timer_t *timer)
{
    struct kernel_timers *timers = timer->data;
    hosted_ended(timers, (uint32_t)(timer - ((struct libuv_loop *)timers->own)->timers));
}

static void libuv_make(struct kernel_timers *timers)
{
    const uint32_t count = timers->count;
    struct libuv_loop *own = memory_new(1, sizeof *own + (count + 1) * sizeof own->timers[0]);
    if (lib.uv_loop_init(&own->loop) != 0) {
        memory_end();
    }
    timers->own = own;
    for (uint32_t id = 0; id <= count; id++) {
        (void)lib.uv_timer_init(&own->loop, &own->timers[id]);
        own->timers[id].data = timers;
    }
    (void)lib.uv_timer_start(&own->timers[count], on_timer, hosted_traffic_ms(timers),
                             hosted_traffic_ms(timers));
}

static bool libuv_start(struct kernel_timers *timers, uint32_t id)
{
    struct libuv_loop *own = timers->own;
    return lib.uv_timer_start(&own->timers[id], on_timer, hosted_delay_ms(timers, id), 0) == 0;
}

static void libuv_turn(struct kernel_timers *timers)
{
    (void)lib.uv_run(&((struct libuv_loop *)timers->own)->loop, UV_RUN_ONCE);
}

static void libuv_end(struct kernel_timers *timers)
{
    struct libuv_loop *own = timers->own;
    for (uint32_t id = 0; id <= timers->count; id++) {
        lib.uv_close((uv_handle_t *)&own->timers[id], NULL);
    }
    (void)lib.uv_run(&own->loop, UV_RUN_DEFAULT); /* completes the closing */
    (void)lib.uv_loop_close(&own->loop);
}

HOSTED_SORT(hosted_libuv, "libuv1", libuv_make, libuv_start, libuv_turn, libuv_end)
#else
HOSTED_ABSENT(hosted_libuv, "libuv1-dev")
#endif
