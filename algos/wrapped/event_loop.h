/*
 * event_loop.h: what the structures that wrap an event loop have in common: the virtual clock, the
 * library's timers by id, how many are pending, and whom an advance tells. It is the first member
 * of each.
 *
 * Internal to the structures.
 */
#ifndef ALGOS_EVENT_LOOP_H
#define ALGOS_EVENT_LOOP_H

#include "pinned_table.h"
#include "timerlab.h"
#include "virtual_clock.h"

#include <inttypes.h>
#include <stdio.h>

struct event_loop {
    struct virtual_clock clock;  /* first: on_wait is given that */
    struct pinned_table entries; /* the library's timers, by id */
    uint64_t now;
    uint64_t base;  /* the tick at the library's time 0 */
    uint64_t count; /* timers pending */
    uint64_t fired; /* in the advance under way */
    tl_fire_fn fire;
    void *fire_ctx;
    const struct tl_allocator *allocator;
    int wait_ms;    /* what the library last said that it would wait */
    bool behind;    /* something is due already */
    bool advancing; /* an advance is under way */
};

/* The option that all have who use a virtual clock: whether an advance pays for the system call. */
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

/* What `on_wait` is where the option says none. */
static inline void event_loop_no_poll(struct virtual_clock *clock, int wait_ms)
{
    (void)clock;
    (void)wait_ms;
}

/* Without timers, at time 0. */
static inline struct event_loop event_loop_init(const struct tl_config *config, size_t entry_bytes)
{
    const struct event_loop_options *options = config->options;
    return (struct event_loop){
        .clock = {.on_wait = options->poll != 0 ? NULL : event_loop_no_poll,
                  .allocator = config->allocator},
        .entries = {.entry_bytes = entry_bytes, .allocator = config->allocator},
        .now = config->now,
        .base = config->now,
        .allocator = config->allocator,
    };
}

/* `reserve`: each new entry, all zero, goes to `prepare`. */
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

/* The library's clock stops `reach_ticks` after its time 0. */
static inline void event_loop_set_clock(struct event_loop *loop, uint64_t now, uint64_t reach_ticks)
{
    uint64_t passed = now - loop->base;
    loop->now = now;
    loop->clock.now_ms = passed < reach_ticks ? passed : reach_ticks;
}

/* Moves time 0 to now, if nothing is pending and it has come half the way. The
 * caller must then set the library's time again. */
static inline bool event_loop_move_base(struct event_loop *loop, uint64_t reach_ticks)
{
    if (loop->count > 0 || loop->now - loop->base <= reach_ticks / 2) {
        return false;
    }
    loop->base = loop->now;
    event_loop_set_clock(loop, loop->now, reach_ticks);
    return true;
}

/* An advance begins, after which the library calls back for what is due. */
static inline void event_loop_begin(struct event_loop *loop, tl_fire_fn fire, void *ctx)
{
    loop->behind = false;
    loop->fired = 0;
    loop->fire = fire;
    loop->fire_ctx = ctx;
}

/* The library has called back for timer `id`. */
static inline void event_loop_fire(struct event_loop *loop, uint32_t id)
{
    loop->count--;
    loop->fired++;
    loop->fire(loop->fire_ctx, id, loop->now);
}

/* `next`, by a turn of a loop that says how long it would wait only when it does: `turn` makes it,
 * `on_wait` is told. */
static inline uint64_t event_loop_ask(struct event_loop *loop,
                                      void (*on_wait)(struct virtual_clock *clock, int wait_ms),
                                      void (*turn)(struct event_loop *loop))
{
    if (loop->count == 0) {
        return TL_NEVER;
    }
    if (loop->behind) {
        return loop->now;
    }
    loop->wait_ms = 1;
    void (*usual)(struct virtual_clock *, int) = loop->clock.on_wait;
    loop->clock.on_wait = on_wait;
    turn(loop);
    loop->clock.on_wait = usual;
    return loop->now + (loop->wait_ms > 0 ? (uint64_t)loop->wait_ms : 1);
}

/* `count` */
static inline uint64_t event_loop_count(const void *self)
{
    return ((const struct event_loop *)self)->count;
}

/* `check`: as many entries are pending as were counted; `what` is what the library calls them. */
static inline enum tl_status event_loop_check(const struct event_loop *loop,
                                              bool (*is_pending)(const void *entry),
                                              const char *what, char *why, size_t why_bytes)
{
    uint64_t pending = 0;
    for (uint32_t id = 0; id < loop->entries.capacity; id++) {
        pending += is_pending(pinned_at(&loop->entries, id));
    }
    if (pending != loop->count) {
        (void)snprintf(why, why_bytes, "%" PRIu64 " %s, %" PRIu64 " timers counted", pending, what,
                       loop->count);
        return TL_ERR_CORRUPT;
    }
    return TL_OK;
}

#endif
