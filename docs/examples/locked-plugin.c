/*
 * A front end as a plug-in: one lock around another structure, so that many threads may call it.
 *
 *   timerlab new my-list >/dev/null
 *   cc -std=c17 -O2 -fPIC -DTL_IN_TREE -c my_list.c
 *   cc -std=c17 -O2 -shared -fPIC locked-plugin.c my_list.o -o locked-plugin.so
 *
 * With -DTL_IN_TREE the descriptor of my_list.c is tl_algo_my_list instead of the plug-in's symbol.
 * The promises are repeated below, since a descriptor is a constant. A structure with options needs
 * their table and its precision hook, too.
 */
#define _XOPEN_SOURCE 700 /* recursive mutexes */

#include <timerlab.h>

#include <pthread.h>
#include <stdalign.h>

extern const struct tl_algo tl_algo_my_list;
#define inner tl_algo_my_list

struct locked {
    const struct tl_allocator *allocator;
    void *list;
    pthread_mutex_t lock;
};

static void take(const void *self)
{
    (void)pthread_mutex_lock(&((struct locked *)(uintptr_t)self)->lock);
}

static void release(const void *self)
{
    (void)pthread_mutex_unlock(&((struct locked *)(uintptr_t)self)->lock);
}

static enum tl_status locked_start(void *self, uint32_t id, uint64_t deadline)
{
    struct locked *locked = self;
    take(locked);
    enum tl_status status = inner.start(locked->list, id, deadline);
    release(locked);
    return status;
}

static enum tl_status locked_stop(void *self, uint32_t id)
{
    struct locked *locked = self;
    take(locked);
    enum tl_status status = inner.stop(locked->list, id);
    release(locked);
    return status;
}

/* Callbacks run under the lock, which is recursive, so that they may start and stop. */
static uint64_t locked_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                               void *ctx)
{
    struct locked *locked = self;
    take(locked);
    uint64_t fired = inner.advance(locked->list, now, budget, fire, ctx);
    release(locked);
    return fired;
}

static uint64_t locked_next(const void *self)
{
    const struct locked *locked = self;
    take(locked);
    uint64_t next = inner.next(locked->list);
    release(locked);
    return next;
}

static uint64_t locked_count(const void *self)
{
    const struct locked *locked = self;
    take(locked);
    uint64_t count = inner.count(locked->list);
    release(locked);
    return count;
}

static enum tl_status locked_reserve(void *self, uint32_t capacity)
{
    struct locked *locked = self;
    return inner.reserve(locked->list, capacity);
}

static void locked_destroy(void *self)
{
    struct locked *locked = self;
    inner.destroy(locked->list);
    (void)pthread_mutex_destroy(&locked->lock);
    tl_free(locked->allocator, locked, sizeof *locked, alignof(struct locked));
}

static enum tl_status locked_create(const struct tl_config *config, void **self)
{
    struct locked *locked = tl_alloc(config->allocator, sizeof *locked, alignof(struct locked));
    if (locked == NULL) {
        return TL_ERR_NOMEM;
    }
    locked->allocator = config->allocator;
    enum tl_status status = inner.create(config, &locked->list);
    if (status != TL_OK) {
        tl_free(config->allocator, locked, sizeof *locked, alignof(struct locked));
        return status;
    }
    pthread_mutexattr_t recursive;
    (void)pthread_mutexattr_init(&recursive);
    (void)pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    (void)pthread_mutex_init(&locked->lock, &recursive);
    (void)pthread_mutexattr_destroy(&recursive);
    *self = locked;
    return TL_OK;
}

TL_ALGO(locked_plugin) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_SLOW |
                    TL_CAP_CONCURRENT,
    .name = "locked-plugin",
    .summary = "my-list under one lock",
    .origin = "timerlab's front end `locked`",
    .description = "Each hook takes the lock, which it keeps during callbacks.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(n)"},
    .create = locked_create,
    .destroy = locked_destroy,
    .reserve = locked_reserve,
    .start = locked_start,
    .stop = locked_stop,
    .advance = locked_advance,
    .next = locked_next,
    .count = locked_count,
};
