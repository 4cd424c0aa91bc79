/*
 * unavailable.h: the hooks of a structure with a library that was missing when timerlab was
 * built: it is listed and described, while `create` returns TL_ERR_UNAVAILABLE. Its
 * summary names the package.
 *
 *     #else
 *     #define UNAVAILABLE(hook) libev_##hook
 *     #include "unavailable.h"
 *     #endif
 *
 * Internal to the structures.
 */
#ifndef ALGOS_UNAVAILABLE_H
#define ALGOS_UNAVAILABLE_H

#include "timerlab.h"

static inline enum tl_status UNAVAILABLE(create)(const struct tl_config *config, void **self)
{
    (void)config;
    (void)self;
    return TL_ERR_UNAVAILABLE;
}

/* No other hook is ever called. */

static inline void UNAVAILABLE(destroy)(void *self)
{
    (void)self;
}

static inline enum tl_status UNAVAILABLE(reserve)(void *self, uint32_t capacity)
{
    (void)self;
    (void)capacity;
    return TL_ERR_UNAVAILABLE;
}

static inline enum tl_status UNAVAILABLE(start)(void *self, uint32_t id, uint64_t deadline)
{
    (void)self;
    (void)id;
    (void)deadline;
    return TL_ERR_UNAVAILABLE;
}

static inline enum tl_status UNAVAILABLE(stop)(void *self, uint32_t id)
{
    (void)self;
    (void)id;
    return TL_IDLE;
}

static inline uint64_t UNAVAILABLE(advance)(void *self, uint64_t now, uint64_t budget,
                                            tl_fire_fn fire, void *ctx)
{
    (void)self;
    (void)now;
    (void)budget;
    (void)fire;
    (void)ctx;
    return 0;
}

static inline uint64_t UNAVAILABLE(next)(const void *self)
{
    (void)self;
    return TL_NEVER;
}

static inline uint64_t UNAVAILABLE(count)(const void *self)
{
    (void)self;
    return 0;
}

static inline void UNAVAILABLE(counters)(const void *self, struct tl_counters *out)
{
    (void)self;
    (void)out;
}

static inline enum tl_status UNAVAILABLE(check)(const void *self, char *why, size_t why_bytes)
{
    (void)self;
    (void)why;
    (void)why_bytes;
    return TL_OK;
}

static inline void UNAVAILABLE(walk)(const void *self, const struct tl_visitor *visitor)
{
    (void)self;
    (void)visitor;
}

#endif
