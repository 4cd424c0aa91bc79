/*
 * event_loop.h: the first member, and most of the hooks, of the structures that wrap an event loop:
 * virtual clock, the library's timers by id, count of pending timers, callback of the advance.
 *
 * Internal to the structures.
 */
#ifndef ALGOS_EVENT_LOOP_H
#define ALGOS_EVENT_LOOP_H

#include "loaded_library.h"
#include "pinned_table.h"
#include "timerlab.h"
#include "virtual_clock.h"
#include "walk.h"

#include <inttypes.h>
#include <stdalign.h>
#include <string.h>

struct event_loop {
    struct virtual_clock clock;  /* first: on_wait is called with its address */
    struct pinned_table entries; /* the library's timers, by id */
    uint64_t now;
    uint64_t base;  /* the tick at the library's time 0 */
    uint64_t count; /* timers pending */
    uint64_t fired; /* in the running advance */
    tl_fire_fn fire;
    void *fire_ctx;
    const struct tl_allocator *allocator;
    int wait_ms;    /* the wait that the library last asked for */
    bool has_due;   /* a timer is due already */
    bool advancing; /* an advance is running */
};

/* The option of all: whether an advance includes the system call. */
static const struct tl_choice event_loop_poll_choices[] = {
    {"kernel", 1, "each turn calls epoll_wait, which finds nothing"},
    {"none", 0, "the call is answered in the library's stead: the timers alone"},
    {NULL, 0, NULL},
};
struct event_loop_options {
    uint32_t poll;
};
static const struct tl_option event_loop_option_table[] = {
    {"poll", TL_CHOICE(struct event_loop_options, poll), 1, 0, 0, event_loop_poll_choices,
     "whether each turn of the loop asks the kernel for events, as it does in a server"},
    {0},
};

/* Make a call of the library under the structure's clock. */
#define UNDER_CLOCK(common, call)                                                                  \
    do {                                                                                           \
        struct virtual_clock *outer_clock = tl_virtual_clock_swap(&(common)->clock);               \
        call;                                                                                      \
        (void)tl_virtual_clock_swap(outer_clock);                                                  \
    } while (0)

/* `on_wait` with poll=none. */
static inline void event_loop_no_poll(struct virtual_clock *clock, int wait_ms)
{
    (void)clock;
    (void)wait_ms;
}

/* Load the library and lead its calls to the virtual clock. */
static inline enum tl_status event_loop_load(struct loaded_library *library)
{
    void *handle = tl_library_load(library);
    if (handle == NULL) {
        return tl_library_missing();
    }
    return tl_virtual_clock_attach(handle) ? TL_OK : TL_ERR_UNAVAILABLE;
}

static inline void event_loop_free(struct event_loop *loop, size_t bytes)
{
    pinned_free(&loop->entries);
    tl_free(loop->allocator, loop, bytes, alignof(max_align_t));
}

/* The hook `create` of a struct of `bytes`, which begins with its event loop: without timers, at
 * time 0. `open` opens the library's loop; `destroy` is also called after it has failed. */
static inline enum tl_status event_loop_create(const struct tl_config *config, size_t bytes,
                                               size_t entry_bytes,
                                               enum tl_status (*open)(struct event_loop *loop),
                                               enum tl_status (*reserve)(void *, uint32_t),
                                               void (*destroy)(void *), void **self)
{
    const struct event_loop_options *options = config->options;
    struct event_loop *loop = tl_alloc(config->allocator, bytes, alignof(max_align_t));
    if (loop == NULL) {
        return TL_ERR_NOMEM;
    }
    memset(loop, 0, bytes);
    *loop = (struct event_loop){
        .clock = {.on_wait = options->poll != 0 ? NULL : event_loop_no_poll,
                  .allocator = config->allocator},
        .entries = {.entry_bytes = entry_bytes, .allocator = config->allocator},
        .now = config->now,
        .base = config->now,
        .allocator = config->allocator,
    };
    enum tl_status status = open(loop);
    if (status == TL_OK) {
        status = reserve(loop, config->capacity);
    }
    if (status != TL_OK) {
        destroy(loop);
        return status;
    }
    *self = loop;
    return TL_OK;
}

/* The hook `reserve`; `prepare` is called for each new entry, which is zero. */
static inline enum tl_status event_loop_reserve(struct event_loop *loop, uint32_t capacity,
                                                void (*prepare)(struct event_loop *loop,
                                                                void *entry, uint32_t id))
{
    uint32_t id = loop->entries.capacity;
    enum tl_status status = pinned_grow(&loop->entries, capacity);
    for (; id < loop->entries.capacity; id++) {
        prepare(loop, pinned_at(&loop->entries, id), id);
    }
    return status;
}

/* Set the clock. The library's stops `reach_ticks` after its time 0. */
static inline void event_loop_set_clock(struct event_loop *loop, uint64_t now, uint64_t reach_ticks)
{
    uint64_t passed = now - loop->base;
    loop->now = now;
    loop->clock.now_ms = passed < reach_ticks ? passed : reach_ticks;
}

/* Whether the library can take a deadline; it is at most `reach_ticks` after its time 0. */
static inline bool event_loop_reaches(const struct event_loop *loop, uint64_t deadline,
                                      uint64_t reach_ticks)
{
    return deadline <= loop->now || deadline - loop->base <= reach_ticks;
}

/* Move time 0 to now, if no timer is pending and half of `reach_ticks` has passed. The caller must
 * then set the library's time again. */
static inline bool event_loop_move_base(struct event_loop *loop, uint64_t reach_ticks)
{
    if (loop->count > 0 || loop->now - loop->base <= reach_ticks / 2) {
        return false;
    }
    loop->base = loop->now;
    event_loop_set_clock(loop, loop->now, reach_ticks);
    return true;
}

/* Begin an advance, in which the library calls back for due timers. */
static inline void event_loop_begin(struct event_loop *loop, tl_fire_fn fire, void *ctx)
{
    loop->has_due = false;
    loop->fired = 0;
    loop->fire = fire;
    loop->fire_ctx = ctx;
}

/* Fire timer `id`, for which the library has called back. */
static inline void event_loop_fire(struct event_loop *loop, uint32_t id)
{
    loop->count--;
    loop->fired++;
    loop->fire(loop->fire_ctx, id, loop->now);
}

/* The hook `next`, by a turn of the loop, which asks for a wait: `on_wait` is called with it. */
static inline uint64_t event_loop_ask(struct event_loop *loop,
                                      void (*on_wait)(struct virtual_clock *clock, int wait_ms),
                                      void (*turn)(struct event_loop *loop))
{
    if (loop->count == 0) {
        return TL_NEVER;
    }
    if (loop->has_due) {
        return loop->now;
    }
    loop->wait_ms = 1;
    void (*usual)(struct virtual_clock *, int) = loop->clock.on_wait;
    loop->clock.on_wait = on_wait;
    turn(loop);
    loop->clock.on_wait = usual;
    return loop->now + (loop->wait_ms > 0 ? (uint64_t)loop->wait_ms : 1);
}

static inline uint64_t event_loop_count(const void *self)
{
    return ((const struct event_loop *)self)->count;
}

/* The hook `check`: as many entries are pending as were counted. `noun`: the library's for them. */
static inline enum tl_status event_loop_check(const struct event_loop *loop,
                                              bool (*is_pending)(const void *entry),
                                              const char *noun, char *why, size_t why_bytes)
{
    uint64_t pending = 0;
    for (uint32_t id = 0; id < loop->entries.capacity; id++) {
        pending += is_pending(pinned_at(&loop->entries, id));
    }
    if (pending != loop->count) {
        return corrupt(why, why_bytes, "%" PRIu64 " %s, %" PRIu64 " timers counted", pending, noun,
                       loop->count);
    }
    return TL_OK;
}

#endif
