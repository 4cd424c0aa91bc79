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

struct glib_source {
    GSource source;
    struct kernel_timers *timers;
    uint32_t id;
};

struct glib_loop {
    GMainContext *context;
    GSource *traffic;
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
    if (of->id == TRAFFIC) {
        of->timers->traffic_came = true;
        start_after(source, hosted_traffic_ms(of->timers));
    } else {
        lib.g_source_set_ready_time(source, -1);
        hosted_ended(of->timers, of->id);
    }
    return G_SOURCE_CONTINUE;
}

static GSource *make_source(struct kernel_timers *timers, uint32_t id)
{
    static GSourceFuncs functions = {.dispatch = dispatch};
    const struct glib_loop *own = timers->own;
    GSource *source = lib.g_source_new(&functions, sizeof(struct glib_source));
    ((struct glib_source *)(void *)source)->timers = timers;
    ((struct glib_source *)(void *)source)->id = id;
    (void)lib.g_source_attach(source, own->context);
    return source;
}

static void glib_make(struct kernel_timers *timers)
{
    struct glib_loop *own = memory_new(1, sizeof *own + timers->count * sizeof own->sources[0]);
    timers->own = own;
    own->context = lib.g_main_context_new();
    own->traffic = make_source(timers, TRAFFIC);
    start_after(own->traffic, hosted_traffic_ms(timers));
    for (uint32_t id = 0; id < timers->count; id++) {
        own->sources[id] = make_source(timers, id);
    }
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

static void drop_source(GSource *source)
{
    lib.g_source_destroy(source);
    lib.g_source_unref(source);
}

static void glib_end(struct kernel_timers *timers)
{
    struct glib_loop *own = timers->own;
    drop_source(own->traffic);
    for (uint32_t id = 0; id < timers->count; id++) {
        drop_source(own->sources[id]);
    }
    lib.g_main_context_unref(own->context);
}

HOSTED_SORT(hosted_glib, "libglib2.0-0", glib_make, glib_start, glib_turn, glib_end)
#else
HOSTED_ABSENT(hosted_glib, "libglib2.0-dev")
#endif
