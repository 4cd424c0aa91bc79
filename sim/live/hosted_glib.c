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

struct glib_source {
    GSource source;
    struct kernel_timers *timers;
    uint32_t id;
};

struct glib_loop {
    GMainContext *context;
    GSource *sources[];
};

static void start_after(GSource *source, uint64_t ms)
{
    lib.g_source_set_ready_time(source, lib.g_get_monotonic_time() + (gint64)(ms * 1000));
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    struct glib_source *of = (struct glib_source *)(void *)source;
    (void)callback, (void)data;
    hosted_ended(of->timers, of->id);
    if (of->id == of->timers->count) {
        start_after(source, hosted_traffic_ms(of->timers));
    } else {
        lib.g_source_set_ready_time(source, -1);
    }
    return G_SOURCE_CONTINUE;
}

static void glib_make(struct kernel_timers *timers)
{
    static GSourceFuncs functions = {.dispatch = dispatch};
    const uint32_t count = timers->count;
    struct glib_loop *own = memory_new(1, sizeof *own + (count + 1) * sizeof own->sources[0]);
    timers->own = own;
    own->context = lib.g_main_context_new();
    for (uint32_t id = 0; id <= count; id++) {
        GSource *source = lib.g_source_new(&functions, sizeof(struct glib_source));
        ((struct glib_source *)(void *)source)->timers = timers;
        ((struct glib_source *)(void *)source)->id = id;
        (void)lib.g_source_attach(source, own->context);
        own->sources[id] = source;
    }
    start_after(own->sources[count], hosted_traffic_ms(timers));
}

static bool glib_start(struct kernel_timers *timers, uint32_t id)
{
    const struct glib_loop *own = timers->own;
    start_after(own->sources[id], hosted_delay_ms(timers, id));
    return true;
}

static void glib_turn(struct kernel_timers *timers)
{
    (void)lib.g_main_context_iteration(((struct glib_loop *)timers->own)->context, TRUE);
}

static void glib_end(struct kernel_timers *timers)
{
    struct glib_loop *own = timers->own;
    for (uint32_t id = 0; id <= timers->count; id++) {
        lib.g_source_destroy(own->sources[id]);
        lib.g_source_unref(own->sources[id]);
    }
    lib.g_main_context_unref(own->context);
}

HOSTED_SORT(hosted_glib, "libglib2.0-0", glib_make, glib_start, glib_turn, glib_end)
#else
HOSTED_ABSENT(hosted_glib, "libglib2.0-dev")
#endif
