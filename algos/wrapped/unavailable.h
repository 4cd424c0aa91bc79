/*
 * unavailable.h: what a structure that wraps a library is where the library was not there when
 * timerlab was built: listed and described, while `create` says TL_ERR_UNAVAILABLE. Its summary
 * names the package.
 *
 *     #else
 *     #define HOOKS UNAVAILABLE_HOOKS
 *     #endif
 *
 * Internal to the structures.
 */
#ifndef ALGOS_UNAVAILABLE_H
#define ALGOS_UNAVAILABLE_H

#include "timerlab.h"

static inline enum tl_status unavailable_create(const struct tl_config *config, void **self)
{
    (void)config;
    (void)self;
    return TL_ERR_UNAVAILABLE;
}

/* No other hook is ever called; the contract asks for them. */

static inline void unavailable_destroy(void *self)
{
    (void)self;
}

static inline enum tl_status unavailable_reserve(void *self, uint32_t capacity)
{
    (void)self;
    (void)capacity;
    return TL_ERR_UNAVAILABLE;
}

static inline enum tl_status unavailable_start(void *self, uint32_t id, uint64_t deadline)
{
    (void)self;
    (void)id;
    (void)deadline;
    return TL_ERR_UNAVAILABLE;
}

static inline enum tl_status unavailable_stop(void *self, uint32_t id)
{
    (void)self;
    (void)id;
    return TL_IDLE;
}

static inline uint64_t unavailable_advance(void *self, uint64_t now, uint64_t budget,
                                           tl_fire_fn fire, void *ctx)
{
    (void)self;
    (void)now;
    (void)budget;
    (void)fire;
    (void)ctx;
    return 0;
}

static inline uint64_t unavailable_next(const void *self)
{
    (void)self;
    return TL_NEVER;
}

static inline uint64_t unavailable_count(const void *self)
{
    (void)self;
    return 0;
}

/* clang-format off */
#define UNAVAILABLE_HOOKS                                                                          \
    .create = unavailable_create,                                                                  \
    .destroy = unavailable_destroy,                                                                \
    .reserve = unavailable_reserve,                                                                \
    .start = unavailable_start,                                                                    \
    .stop = unavailable_stop,                                                                      \
    .advance = unavailable_advance,                                                                \
    .next = unavailable_next,                                                                      \
    .count = unavailable_count
/* clang-format on */

#endif
