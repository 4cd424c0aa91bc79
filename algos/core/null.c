/*
 * null: keeps no timers and fires nothing.
 *
 * Its cost is that of the replay's loop, the indirect calls, and the memory traffic of the operations
 * themselves, which is part of every other structure's figure. So `null` runs in every comparison
 * (fio has a null engine for the same reason: axboe/fio, engines/null.c).
 *
 * It only counts, so that a compiler cannot remove the calls. It is no timer structure: the oracle
 * does not check it, and `all` omits it.
 */
#include "timerlab.h"

#include <stdalign.h>

struct null_timers {
    const struct tl_allocator *allocator;
    uint64_t operations;
};

static enum tl_status null_create(const struct tl_config *config, void **self)
{
    struct null_timers *timers =
        tl_alloc(config->allocator, sizeof *timers, alignof(struct null_timers));
    if (timers == NULL) {
        return TL_ERR_NOMEM;
    }
    timers->allocator = config->allocator;
    timers->operations = 0;
    *self = timers;
    return TL_OK;
}

static void null_destroy(void *self)
{
    struct null_timers *timers = self;
    tl_free(timers->allocator, timers, sizeof *timers, alignof(struct null_timers));
}

static enum tl_status null_reserve(void *self, uint32_t capacity)
{
    (void)self;
    (void)capacity;
    return TL_OK;
}

static enum tl_status null_start(void *self, uint32_t id, uint64_t deadline)
{
    struct null_timers *timers = self;
    (void)id;
    (void)deadline;
    timers->operations++;
    return TL_OK;
}

static enum tl_status null_stop(void *self, uint32_t id)
{
    struct null_timers *timers = self;
    (void)id;
    timers->operations++;
    return TL_IDLE;
}

static uint64_t null_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct null_timers *timers = self;
    (void)now;
    (void)budget;
    (void)fire;
    (void)ctx;
    timers->operations++;
    return 0;
}

static uint64_t null_next(const void *self)
{
    (void)self;
    return TL_NEVER;
}

static uint64_t null_count(const void *self)
{
    (void)self;
    return 0;
}

TL_ALGO(null) = {
    .abi = TL_ABI,
    .capabilities = TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_BASELINE |
                    TL_CAP_FIRES_NOTHING,
    .name = "null",
    .summary = "keeps no timers: measures the overhead of the harness",
    .origin = "after fio's null engine",
    .description =
        "Accepts every operation and forgets it. The difference between a structure's figure and "
        "null's is the structure's own work.",
    .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "-"},
    .create = null_create,
    .destroy = null_destroy,
    .reserve = null_reserve,
    .start = null_start,
    .stop = null_stop,
    .advance = null_advance,
    .next = null_next,
    .count = null_count,
};
