/*
 * GLib's wrapper compared with its list of sources; heaps compared with the event loops that have
 * them: the original itself is available in the structures that wrap libuv, libevent and libev.
 * Libraries that are not in this build are skipped.
 */
#include "original.h"

struct library {
    struct stand stand;
    const struct original_fire *fire;
};

static void on_library_fire(struct stand *s, uint32_t id, uint64_t due)
{
    (void)due;
    const struct library *library = s->ctx;
    library->fire->call(library->fire->ctx, id);
}

static void library_open(void *self, uint64_t now, const char *name)
{
    struct library *library = self;
    stand_open(&library->stand, name, "", .capacity = ORIGINAL_IDS, .now = now);
    library->stand.on_expiry = on_library_fire;
    library->stand.ctx = library;
}

static void libuv_open(void *self, uint64_t now, uint32_t habits)
{
    (void)habits;
    library_open(self, now, "libuv");
}

static void libevent_open(void *self, uint64_t now, uint32_t habits)
{
    (void)habits;
    library_open(self, now, "libevent");
}

static void libev_open(void *self, uint64_t now, uint32_t habits)
{
    (void)habits;
    library_open(self, now, "libev");
}

static void library_close(void *self)
{
    stand_close(&((struct library *)self)->stand);
}

static bool library_start(void *self, uint32_t id, uint64_t deadline)
{
    return stand_try_start(&((struct library *)self)->stand, id, deadline) == TL_OK;
}

static bool library_stop(void *self, uint32_t id)
{
    return stand_stop(&((struct library *)self)->stand, id) == TL_OK;
}

static void library_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct library *library = self;
    library->fire = fire;
    (void)stand_advance(&library->stand, now);
}

static uint64_t library_next(void *self)
{
    return stand_next(&((struct library *)self)->stand);
}

static struct original library_of(const char *follows, void (*open)(void *, uint64_t, uint32_t))
{
    return (struct original){
        .follows = follows,
        .bytes = sizeof(struct library),
        .open = open,
        .close = library_close,
        .start = library_start,
        .stop = library_stop,
        .advance = library_advance,
        .next = library_next,
    };
}

static void skip_unless(const char *name)
{
    if (!test_is_available(tl_registry_find(name)->timed)) {
        print_message("%s is not in this build: left out\n", name);
        skip();
    }
}

/* --- GLib, of which the wrapper is held to a model -------------------------------------------- */

/*
 * The main loop of GLib 2.74, gmain.c: g_main_context_check examines the sources in the order in
 * which they were attached, and g_main_dispatch calls those that it found ready, unless they have
 * been destroyed since. Setting a ready time again neither removes a source from that list nor adds
 * it. Not modelled: other priorities, sources woken by files, sources that stay.
 */
enum glib_habit { DISPATCHES_WHAT_WAS_READY = 1 };

struct glib_loop {
    uint32_t habits;
    uint64_t now;
    uint64_t order;
    uint64_t attached[ORIGINAL_IDS]; /* 0: no source */
    uint64_t ready[ORIGINAL_IDS];
    bool moved[ORIGINAL_IDS]; /* in this turn */
};

static void glib_open(void *self, uint64_t now, uint32_t habits)
{
    struct glib_loop *loop = self;
    *loop = (struct glib_loop){.habits = habits, .now = now};
}

static bool glib_start(void *self, uint32_t id, uint64_t deadline)
{
    struct glib_loop *loop = self;
    if (loop->attached[id] == 0) {
        loop->attached[id] = ++loop->order;
    }
    loop->ready[id] = deadline;
    loop->moved[id] = true;
    return true;
}

static bool glib_stop(void *self, uint32_t id)
{
    struct glib_loop *loop = self;
    bool was = loop->attached[id] != 0;
    loop->attached[id] = 0;
    return was;
}

/* The next source after those that were attached by `after`; ORIGINAL_IDS: none. */
static uint32_t glib_source(const struct glib_loop *loop, uint64_t after)
{
    uint32_t first = ORIGINAL_IDS;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        bool behind = loop->attached[id] > after;
        if (behind && (first == ORIGINAL_IDS || loop->attached[id] < loop->attached[first])) {
            first = id;
        }
    }
    return first;
}

static void glib_advance(void *self, uint64_t now, const struct original_fire *fire)
{
    struct glib_loop *loop = self;
    uint32_t found[ORIGINAL_IDS];
    uint64_t attached[ORIGINAL_IDS];
    uint32_t count = 0;
    uint64_t at = 0;
    loop->now = now;
    for (uint32_t id; (id = glib_source(loop, at)) < ORIGINAL_IDS;) {
        at = loop->attached[id];
        loop->moved[id] = false;
        if (loop->ready[id] <= now) {
            found[count] = id;
            attached[count++] = at;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = found[i];
        bool dispatched = !loop->moved[id] || (loop->habits & DISPATCHES_WHAT_WAS_READY) != 0;
        if (loop->attached[id] == attached[i] && dispatched) {
            loop->attached[id] = 0;
            fire->call(fire->ctx, id);
        }
    }
}

static uint64_t glib_next(void *self)
{
    const struct glib_loop *loop = self;
    uint64_t next = TL_NEVER;
    for (uint32_t id = 0; id < ORIGINAL_IDS; id++) {
        if (loop->attached[id] != 0 && loop->ready[id] < next) {
            next = loop->ready[id];
        }
    }
    return next;
}

/* GLib may want to be called at once for a source that it has found ready and
 * that was moved since. */
static void glib_is_glibs_list_of_sources(void **state)
{
    (void)state;
    skip_unless("glib");
    static const struct original glib = {
        .follows = "GLib 2.74, gmain.c",
        .bytes = sizeof(struct glib_loop),
        .open = glib_open,
        .start = glib_start,
        .stop = glib_stop,
        .advance = glib_advance,
        .next = glib_next,
    };
    const struct original_case loop_case = {.original = &glib,
                                            .structure = "glib",
                                            .options = "",
                                            .ordered = true,
                                            .next = ORIGINAL_NEXT_BEFORE,
                                            .delay_bits = 8,
                                            .clock = 1000};
    original_agrees(&loop_case);
    original_differs(&loop_case, DISPATCHES_WHAT_WAS_READY,
                     "GLib dispatches all sources that it has found ready");
}

/* --- heaps ------------------------------------------------------------------------------------ */

/* Before its first turn libuv would not wait at all. */
static void binary_heap_is_libuvs(void **state)
{
    (void)state;
    skip_unless("libuv");
    const struct original libuv = library_of("libuv", libuv_open);
    original_agrees(&(struct original_case){.original = &libuv,
                                            .structure = "binary-heap",
                                            .options = "",
                                            .ordered = true,
                                            .next = ORIGINAL_NEXT_AFTER,
                                            .delay_bits = 24,
                                            .clock = 1000});
}

/* Two of one tick fire in any order; and it never sleeps for longer than 35 minutes. */
static void binary_heap_is_libevents_but_for_order(void **state)
{
    (void)state;
    skip_unless("libevent");
    const struct original libevent = library_of("libevent", libevent_open);
    struct original_case heap_case = {.original = &libevent,
                                      .structure = "binary-heap",
                                      .options = "",
                                      .next = ORIGINAL_NEXT_AFTER,
                                      .delay_bits = 24,
                                      .clock = 1000};
    original_agrees(&heap_case);
    heap_case.ordered = true;
    heap_case.quiet = true;
    heap_case.delay_bits = 6;
    original_differs(&heap_case, 0, "in libevent in any order");
}

/* The same, and never for longer than a minute. */
static void dary_heap_is_libevs_but_for_order(void **state)
{
    (void)state;
    skip_unless("libev");
    const struct original libev = library_of("libev", libev_open);
    struct original_case heap_case = {.original = &libev,
                                      .structure = "dary-heap",
                                      .options = "",
                                      .next = ORIGINAL_NEXT_AFTER,
                                      .delay_bits = 24,
                                      .clock = 1000};
    original_agrees(&heap_case);
    heap_case.ordered = true;
    heap_case.quiet = true;
    heap_case.delay_bits = 6;
    original_differs(&heap_case, 0, "in libev in any order");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(glib_is_glibs_list_of_sources),
        cmocka_unit_test(binary_heap_is_libuvs),
        cmocka_unit_test(binary_heap_is_libevents_but_for_order),
        cmocka_unit_test(dary_heap_is_libevs_but_for_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
