/* locked: one lock around the structure, held throughout every hook, callbacks included. */
#include "front.h"

#include <pthread.h>

struct locked {
    const struct tl_algo *inner;
    void *self;
    const struct tl_allocator *allocator;
    pthread_mutex_t *lock; /* `mutex`, for hooks with a const self */
    pthread_mutex_t mutex;
};

static enum tl_status locked_create(const struct tl_algo *inner, const void *own,
                                    const struct tl_config *config, void **self)
{
    (void)own;
    struct locked *locked = tl_alloc(config->allocator, sizeof *locked, _Alignof(struct locked));
    if (locked == NULL) {
        return TL_ERR_NOMEM;
    }
    *locked = (struct locked){.inner = inner, .allocator = config->allocator};
    locked->lock = &locked->mutex;
    enum tl_status status = inner->create(config, &locked->self);
    pthread_mutexattr_t attributes;
    if (status == TL_OK && pthread_mutexattr_init(&attributes) != 0) {
        inner->destroy(locked->self);
        status = TL_ERR_NOMEM;
    }
    if (status != TL_OK) {
        tl_free(config->allocator, locked, sizeof *locked, _Alignof(struct locked));
        return status;
    }
    /* A callback, called under the lock, may start and stop. */
    (void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    (void)pthread_mutex_init(locked->lock, &attributes);
    (void)pthread_mutexattr_destroy(&attributes);
    *self = locked;
    return TL_OK;
}

static void locked_destroy(void *self)
{
    struct locked *locked = self;
    locked->inner->destroy(locked->self);
    (void)pthread_mutex_destroy(locked->lock);
    tl_free(locked->allocator, locked, sizeof *locked, _Alignof(struct locked));
}

/* A hook that calls the structure's under the lock. */
#define LOCKED_HOOK(type, hook, parameters, arguments)                                             \
    static type locked_##hook parameters                                                           \
    {                                                                                              \
        const struct locked *locked = self;                                                        \
        (void)pthread_mutex_lock(locked->lock);                                                    \
        type result = locked->inner->hook arguments;                                               \
        (void)pthread_mutex_unlock(locked->lock);                                                  \
        return result;                                                                             \
    }

LOCKED_HOOK(enum tl_status, reserve, (void *self, uint32_t capacity), (locked->self, capacity))
LOCKED_HOOK(enum tl_status, start, (void *self, uint32_t id, uint64_t deadline),
            (locked->self, id, deadline))
LOCKED_HOOK(enum tl_status, stop, (void *self, uint32_t id), (locked->self, id))
LOCKED_HOOK(uint64_t, advance,
            (void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx),
            (locked->self, now, budget, fire, ctx))
LOCKED_HOOK(uint64_t, next, (const void *self), (locked->self))
LOCKED_HOOK(uint64_t, count, (const void *self), (locked->self))
LOCKED_HOOK(enum tl_status, sync, (void *self, uint64_t *durable_sequence),
            (locked->self, durable_sequence))
LOCKED_HOOK(enum tl_status, check, (const void *self, char *why, size_t why_bytes),
            (locked->self, why, why_bytes))
LOCKED_HOOK(enum tl_status, recover, (void *self, tl_adopt_fn adopt, void *ctx),
            (locked->self, adopt, ctx))

static void locked_counters(const void *self, struct tl_counters *out)
{
    const struct locked *locked = self;
    locked->inner->counters(locked->self, out);
}

static void locked_walk(const void *self, const struct tl_visitor *visitor)
{
    const struct locked *locked = self;
    locked->inner->walk(locked->self, visitor);
}

static void locked_durability(const void *self, struct tl_durability *out)
{
    const struct locked *locked = self;
    locked->inner->durability(locked->self, out);
}

const struct tl_front tl_front_locked = {
    .name = "locked",
    .summary = "under one lock",
    .origin = "the plainest way; coarser than Kafka's timer and RussellLuo/timingwheel, which also "
              "lock single buckets",
    .description = "One lock around the structure, taken by every call and held until it returns. "
                   "A thread that starts or stops a timer waits for other threads' calls and for a "
                   "whole advance, callbacks included: the structure's longest pause delays every "
                   "thread. Nothing else changes, so all promises of the structure hold.",
    .adds = TL_CAP_CONCURRENT,
    .keeps = UINT32_MAX,
    .create = locked_create,
    .hooks =
        {
            .destroy = locked_destroy,
            .reserve = locked_reserve,
            .start = locked_start,
            .stop = locked_stop,
            .advance = locked_advance,
            .next = locked_next,
            .count = locked_count,
            .counters = locked_counters,
            .check = locked_check,
            .walk = locked_walk,
            .sync = locked_sync,
            .recover = locked_recover,
            .durability = locked_durability,
        },
};
