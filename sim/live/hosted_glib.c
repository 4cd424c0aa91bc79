/* GLib's main context, with a source of its own for each connection. */
#include "kernel_hosted.h"

#include "memory.h"

#ifdef TL_HAVE_GLIB
#include <glib.h>

#define FUNCTIONS(X)                                                                               \
    X(g_main_context_new)                                                                          \
    X(g_main_context_unref)                                                                        \
    X(g_main_context_iteration)                                                                    \
    X(g_source_new)                                                                                \
    X(g_source_attach)                                                                             \
    X(g_source_destroy)                                                                            \
    X(g_source_unref)                                                                              \
    X(g_source_set_ready_time)                                                                     \
    X(g_get_monotonic_time)
LOADED_LIBRARY(FUNCTIONS, "libglib-2.0.so.0");

#define TRAFFIC UINT32_MAX

struct source {
    GSource source;
    struct kernel_timers *timers;
    uint32_t id;
};

struct own {
    GMainContext *context;
    bool traffic_came;
    GSource *traffic;
    GSource *sources[];
};

static void start_after(GSource *source, uint64_t ms)
{
    lib.g_source_set_ready_time(source, lib.g_get_monotonic_time() + (gint64)(ms * 1000));
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    struct source *of = (struct source *)(void *)source;
    struct own *own = of->timers->own;
    (void)callback, (void)data;
    if (of->id == TRAFFIC) {
        own->traffic_came = true;
        start_after(source, hosted_traffic_ms(of->timers));
    } else {
        lib.g_source_set_ready_time(source, -1);
        hosted_ended(of->timers, of->id);
    }
    return G_SOURCE_CONTINUE;
}

static GSource *make(struct kernel_timers *timers, uint32_t id)
{
    static GSourceFuncs functions = {.dispatch = dispatch};
    const struct own *own = timers->own;
    GSource *source = lib.g_source_new(&functions, sizeof(struct source));
    ((struct source *)(void *)source)->timers = timers;
    ((struct source *)(void *)source)->id = id;
    (void)lib.g_source_attach(source, own->context);
    return source;
}

static bool open_loop(struct kernel_timers *timers, struct error *error)
{
    if (!hosted_open(timers, &library, "libglib2.0-0", error)) {
        return false;
    }
    struct own *own = memory_new(1, sizeof *own + timers->count * sizeof own->sources[0]);
    timers->own = own;
    own->context = lib.g_main_context_new();
    own->traffic = make(timers, TRAFFIC);
    start_after(own->traffic, hosted_traffic_ms(timers));
    for (uint32_t id = 0; id < timers->count; id++) {
        own->sources[id] = make(timers, id);
    }
    return true;
}

static bool start(struct kernel_timers *timers, uint32_t id)
{
    const struct own *own = timers->own;
    start_after(own->sources[id], hosted_delay_ms(timers, id));
    return true;
}

static unsigned wait_turn(struct kernel_timers *timers)
{
    struct own *own = timers->own;
    own->traffic_came = false;
    (void)lib.g_main_context_iteration(own->context, TRUE);
    return hosted_causes(timers, own->traffic_came);
}

static void drop(GSource *source)
{
    lib.g_source_destroy(source);
    lib.g_source_unref(source);
}

static void close_loop(struct kernel_timers *timers)
{
    struct own *own = timers->own;
    hosted_close();
    if (own != NULL) {
        drop(own->traffic);
        for (uint32_t id = 0; id < timers->count; id++) {
            drop(own->sources[id]);
        }
        lib.g_main_context_unref(own->context);
        free(own);
    }
}

const struct kernel_sort hosted_glib = {
    .open = open_loop, .start = start, .wait = wait_turn, .close = close_loop};
#else
HOSTED_ABSENT(hosted_glib, "libglib2.0-dev")
#endif
