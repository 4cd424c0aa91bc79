/*
 * unavailable.h: the hooks of a structure that needs a library which was missing when timerlab was
 * built. It is listed and described, but `create` returns TL_ERR_UNAVAILABLE. Its summary names the
 * package.
 *
 *     #else
 *     #include "unavailable.h"
 *     #define LIBEV_HOOKS UNAVAILABLE_HOOKS
 *     #endif
 *
 * Internal to the structures.
 */
#ifndef ALGOS_UNAVAILABLE_H
#define ALGOS_UNAVAILABLE_H

#include "timerlab.h"

static enum tl_status unavailable_create(const struct tl_config *config, void **self)
{
    (void)config;
    (void)self;
    return TL_ERR_UNAVAILABLE;
}

/* The other hooks are required, and never called. */

static void unavailable_destroy(void *self)
{
    (void)self;
}

static enum tl_status unavailable_reserve(void *self, uint32_t number)
{
    (void)self;
    (void)number;
    return TL_ERR_UNAVAILABLE;
}

static enum tl_status unavailable_start(void *self, uint32_t id, uint64_t deadline)
{
    (void)deadline;
    return unavailable_reserve(self, id);
}

static uint64_t unavailable_count(const void *self)
{
    (void)self;
    return 0;
}

static uint64_t unavailable_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                    void *ctx)
{
    (void)now;
    (void)budget;
    (void)fire;
    (void)ctx;
    return unavailable_count(self);
}

#define UNAVAILABLE_HOOKS                                                                          \
    .create = unavailable_create, .destroy = unavailable_destroy, .reserve = unavailable_reserve,  \
    .start = unavailable_start, .stop = unavailable_reserve, .advance = unavailable_advance,       \
    .next = unavailable_count, .count = unavailable_count

#endif
