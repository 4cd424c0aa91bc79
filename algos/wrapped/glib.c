/*
 * glib: the main loop of GLib, through its public interface, under this program's clock.
 *
 *   context -> source (id 7, due 3) -> source (id 1, due 9) -> source (id 4, due 5) -> ...
 *
 * GLib has no queue of timers. Each timer is a source in a list, in the order in which they were
 * attached, and every turn of the loop asks all of them, one after the other, whether they are
 * ready and how long they can wait; then it looks through all again for those to dispatch. That is
 * Varghese and Lauck's scheme 1, the unordered list, and it serves desktop programs, with tens of
 * timers, well.
 *
 * The sources are custom ones, as GLib's manual describes them: their `prepare` and `check` compare
 * with the clock of this structure, where g_timeout_add's compare with the machine's. So time is
 * virtual, and all else is GLib's own: its lists, its table of source ids, its locks, its references.
 * A restart sets the source's tick, as g_source_set_ready_time does; a start attaches a new source,
 * and a stop destroys it. The poll function is replaced by one that returns at once.
 *
 * GLib takes a source's memory from malloc, with no way to give it another allocator: only the table
 * of sources is counted, 8 bytes a timer; a source takes about 200 bytes more. When malloc fails,
 * GLib ends the program.
 *
 * Invariants
 *   - the source of a node is attached and not destroyed, or NULL
 *   - an advance fires only serials given before it began
 *
 * Complexity: start, stop O(1); a tick, and `next`, O(n): measured, 55 ns for each timer that is
 * pending, in three passes with a lock and a reference each, where a plain array takes half a
 * nanosecond. Bad at: more than some hundred timers.
 *
 * Source: GLib, "The Main Event Loop" (GSourceFuncs); libglib2.0-dev.
 */
#include "timerlab.h"

#ifdef TL_HAVE_GLIB

#include "loaded_library.h"

#include <glib.h>

#define GLIB_FUNCTIONS(X)                                                                          \
    X(g_main_context_iteration)                                                                    \
    X(g_main_context_new)                                                                          \
    X(g_main_context_prepare)                                                                      \
    X(g_main_context_query)                                                                        \
    X(g_main_context_set_poll_func)                                                                \
    X(g_main_context_unref)                                                                        \
    X(g_source_attach)                                                                             \
    X(g_source_destroy)                                                                            \
    X(g_source_is_destroyed)                                                                       \
    X(g_source_new)                                                                                \
    X(g_source_unref)
LOADED_LIBRARY(GLIB_FUNCTIONS, "libglib-2.0.so.0");

#define CAPACITY_MAX (UINT32_C(1) << 31)

struct node {
    GSource *source; /* NULL: not pending */
};

struct glib_timers {
    GMainContext *context;
    struct node *nodes;
    uint32_t capacity;
    uint64_t count;
    uint64_t clock;
    uint64_t serial;
    uint64_t fence; /* serials from here on do not fire in the running advance */
    uint64_t fired; /* in it */
    uint64_t budget;
    tl_fire_fn fire;
    void *fire_ctx;
    const struct tl_allocator *allocator;
    struct tl_counters counters;
};

#define NODES_FIRST 0u
#define STRUCTURE   struct glib_timers
#include "node_array.h"

struct timer_source {
    GSource source;
    struct glib_timers *timers;
    uint64_t due;
    uint64_t serial;
    uint32_t id;
};

static bool is_due(const struct timer_source *timer)
{
    TL_COUNT(timer->timers, compares, 1);
    return timer->due <= timer->timers->clock && timer->serial < timer->timers->fence;
}

static gboolean source_prepare(GSource *source, gint *timeout_ticks)
{
    const struct timer_source *timer = (const struct timer_source *)(const void *)source;
    if (is_due(timer)) {
        *timeout_ticks = 0;
        return TRUE;
    }
    uint64_t wait = timer->due - timer->timers->clock;
    *timeout_ticks = wait < G_MAXINT ? (gint)wait : G_MAXINT;
    return FALSE;
}

static gboolean source_check(GSource *source)
{
    return is_due((const struct timer_source *)(const void *)source);
}

/* A callback before may have restarted this one, or used up the budget. */
static gboolean source_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    (void)callback;
    (void)user_data;
    const struct timer_source *timer = (const struct timer_source *)(const void *)source;
    struct glib_timers *timers = timer->timers;
    if (timers->fired >= timers->budget || !is_due(timer)) {
        return G_SOURCE_CONTINUE;
    }
    timers->nodes[timer->id].source = NULL;
    timers->count--;
    timers->fired++;
    TL_COUNT(timers, moves, 1);
    lib.g_source_destroy(source);
    timers->fire(timers->fire_ctx, timer->id, timers->clock);
    return G_SOURCE_REMOVE;
}

static GSourceFuncs source_functions = {
    .prepare = source_prepare, .check = source_check, .dispatch = source_dispatch};

static gint poll_nothing(GPollFD *files, guint count, gint timeout)
{
    (void)files;
    (void)count;
    (void)timeout;
    return 0;
}

static enum tl_status glib_reserve(void *self, uint32_t capacity)
{
    return nodes_reserve(self, capacity, CAPACITY_MAX, (struct node){NULL});
}

static void release(struct glib_timers *timers, uint32_t id)
{
    lib.g_source_destroy(timers->nodes[id].source);
    timers->nodes[id].source = NULL;
    timers->count--;
}

static void glib_destroy(void *self)
{
    struct glib_timers *timers = self;
    for (uint32_t id = 0; id < timers->capacity; id++) {
        if (timers->nodes[id].source != NULL) {
            release(timers, id);
        }
    }
    lib.g_main_context_unref(timers->context);
    nodes_destroy(timers);
}

static enum tl_status glib_create(const struct tl_config *config, void **self)
{
    if (tl_library_load(&library) == NULL) {
        return tl_library_missing();
    }
    struct glib_timers empty = {
        .clock = config->now, .fence = UINT64_MAX, .allocator = config->allocator};
    enum tl_status status = structure_create(config, &empty, glib_reserve, nodes_destroy, self);
    if (status == TL_OK) {
        struct glib_timers *timers = *self;
        timers->context = lib.g_main_context_new();
        lib.g_main_context_set_poll_func(timers->context, poll_nothing);
    }
    return status;
}

static enum tl_status glib_start(void *self, uint32_t id, uint64_t deadline)
{
    struct glib_timers *timers = self;
    GSource *source = timers->nodes[id].source;
    if (source == NULL) {
        source = lib.g_source_new(&source_functions, sizeof(struct timer_source));
        (void)lib.g_source_attach(source, timers->context);
        lib.g_source_unref(source); /* the context keeps it */
        timers->nodes[id].source = source;
        timers->count++;
    }
    struct timer_source *timer = (struct timer_source *)(void *)source;
    timer->timers = timers;
    timer->due = deadline > timers->clock ? deadline : timers->clock;
    timer->serial = timers->serial++;
    timer->id = id;
    TL_COUNT(timers, moves, 1);
    return TL_OK;
}

static enum tl_status glib_stop(void *self, uint32_t id)
{
    struct glib_timers *timers = self;
    if (timers->nodes[id].source == NULL) {
        return TL_IDLE;
    }
    release(timers, id);
    TL_COUNT(timers, moves, 1);
    return TL_OK;
}

static uint64_t glib_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct glib_timers *timers = self;
    timers->clock = now;
    timers->fence = timers->serial;
    timers->fired = 0;
    timers->budget = budget;
    timers->fire = fire;
    timers->fire_ctx = ctx;
    (void)lib.g_main_context_iteration(timers->context, FALSE);
    timers->fence = UINT64_MAX;
    return timers->fired;
}

/* The wait that GLib asks every source for, limited to an int. */
static uint64_t glib_next(const void *self)
{
    const struct glib_timers *timers = self;
    if (timers->count == 0) {
        return TL_NEVER;
    }
    gint priority = 0;
    gint timeout_ticks = 0;
    (void)lib.g_main_context_prepare(timers->context, &priority);
    (void)lib.g_main_context_query(timers->context, priority, &timeout_ticks, NULL, 0);
    return timers->clock + (uint64_t)timeout_ticks;
}

static enum tl_status glib_check(const void *self, char *why, size_t why_bytes)
{
    const struct glib_timers *timers = self;
    uint64_t pending = 0;
    for (uint32_t id = 0; id < timers->capacity; id++) {
        const struct timer_source *timer =
            (const struct timer_source *)(void *)timers->nodes[id].source;
        pending += timer != NULL;
        if (timer != NULL &&
            (timer->id != id || lib.g_source_is_destroyed(timers->nodes[id].source))) {
            return corrupt(why, why_bytes, "the source of timer %" PRIu32 " is not its own", id);
        }
    }
    if (pending != timers->count) {
        return corrupt(why, why_bytes, "%" PRIu64 " sources, %" PRIu64 " timers counted", pending,
                       timers->count);
    }
    return TL_OK;
}

#define GLIB_SUMMARY "GLib's main loop: a list of sources, all asked at every turn"
#define GLIB_HOOKS                                                                                 \
    .create = glib_create, .destroy = glib_destroy, .reserve = glib_reserve, .start = glib_start,  \
    .stop = glib_stop, .advance = glib_advance, .next = glib_next, .count = nodes_count,           \
    .counters = nodes_counters, .check = glib_check

#else

#include "unavailable.h"

#define GLIB_SUMMARY "GLib's main loop (not in this build, which lacked libglib2.0-dev)"
#define GLIB_HOOKS   UNAVAILABLE_HOOKS

#endif

TL_ALGO(glib) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED |
                    TL_CAP_ALLOCATES | TL_CAP_SLOW | TL_CAP_OWN_MEMORY,
    .name = "glib",
    .summary = GLIB_SUMMARY,
    .origin = "GLib (libglib2.0-dev)",
    .description =
        "The main loop of GLib through its public interface, each timer a custom source that "
        "compares with the virtual clock. GLib keeps no queue: every turn asks every source. Its "
        "sources come from malloc, about 200 bytes each, which the bytes shown do not include. "
        "Bad at: more than some hundred timers. Needs libglib2.0-dev when timerlab is built.",
    .differs = "timers are custom sources, so that they use the caller's clock, where those of "
               "g_timeout_add compare with the machine's; a timer that a callback starts already "
               "due waits for the next advance, and one that it moves does not fire, although GLib "
               "dispatches all sources that it has found ready; those sources keep the budget; "
               "stop says whether the timer was pending, as g_source_remove does.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(n)", .expire = "O(n)"},
    GLIB_HOOKS,
};
