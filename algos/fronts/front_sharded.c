/*
 * sharded: several instances of the structure, each under its own lock, chosen by the timer's id.
 *
 * An advance first moves all shards, one after the other, and notes the due timers; then it calls
 * back without a lock. So a timer that a callback starts in another shard cannot fire in the same
 * advance, and callbacks that start timers in each other's shards cannot deadlock.
 */
#include "front.h"

#include <pthread.h>
#include <stdalign.h>

struct sharded_options {
    uint32_t shards;
};

enum { CACHE_LINE_BYTES = 64 };

struct shard {
    alignas(CACHE_LINE_BYTES) pthread_mutex_t lock;
    void *self;
};

struct sharded {
    const struct tl_algo *inner;
    const struct tl_allocator *allocator;
    struct tl_allocator shared; /* the same under a lock: shards may allocate in any hook */
    pthread_mutex_t allocating;
    pthread_mutex_t advancing;
    struct shard *shards;
    uint32_t shard_count;
    uint32_t capacity;
    uint8_t *due;       /* by id: noted by the running advance, not yet called back; guarded by the
                         * lock of the id's shard */
    uint32_t *due_ids;  /* the noted timers */
    uint64_t due_noted; /* their number */
    uint64_t *due_left; /* by shard: the number of its timers in `due`; guarded by its lock */
};

/* Return the number of a shard's ids, s, s + n, s + 2n, ..., below the capacity. */
static uint32_t shard_capacity(const struct sharded *sharded, uint32_t shard, uint32_t capacity)
{
    return capacity / sharded->shard_count + (shard < capacity % sharded->shard_count ? 1 : 0);
}

static void *shared_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes, size_t align)
{
    struct sharded *sharded = ctx;
    (void)pthread_mutex_lock(&sharded->allocating);
    void *fresh =
        sharded->allocator->resize(sharded->allocator->ctx, ptr, old_bytes, new_bytes, align);
    (void)pthread_mutex_unlock(&sharded->allocating);
    return fresh;
}

static void free_parts(struct sharded *sharded, uint32_t made)
{
    const struct tl_allocator *allocator = sharded->allocator;
    for (uint32_t s = 0; s < made; s++) {
        sharded->inner->destroy(sharded->shards[s].self);
        (void)pthread_mutex_destroy(&sharded->shards[s].lock);
    }
    uint32_t count = sharded->shard_count;
    tl_free(allocator, sharded->shards, count * sizeof *sharded->shards, alignof(struct shard));
    tl_free(allocator, sharded->due_left, count * sizeof *sharded->due_left, alignof(uint64_t));
    tl_free(allocator, sharded->due, sharded->capacity, 1);
    tl_free(allocator, sharded->due_ids, sharded->capacity * sizeof *sharded->due_ids,
            alignof(uint32_t));
    (void)pthread_mutex_destroy(&sharded->allocating);
    (void)pthread_mutex_destroy(&sharded->advancing);
    tl_free(allocator, sharded, sizeof *sharded, alignof(struct sharded));
}

/* Make room to note `capacity` timers as due. */
static enum tl_status grow_due(struct sharded *sharded, uint32_t capacity)
{
    const struct tl_allocator *allocator = sharded->allocator;
    uint8_t *due = tl_alloc(allocator, capacity, 1);
    uint32_t *ids = tl_alloc(allocator, capacity * sizeof *ids, alignof(uint32_t));
    if (due == NULL || ids == NULL) {
        tl_free(allocator, due, capacity, 1);
        tl_free(allocator, ids, capacity * sizeof *ids, alignof(uint32_t));
        return TL_ERR_NOMEM;
    }
    tl_free(allocator, sharded->due, sharded->capacity, 1);
    tl_free(allocator, sharded->due_ids, sharded->capacity * sizeof *ids, alignof(uint32_t));
    for (uint32_t id = 0; id < capacity; id++) {
        due[id] = 0; /* outside of an advance, none */
    }
    sharded->due = due;
    sharded->due_ids = ids;
    sharded->capacity = capacity;
    return TL_OK;
}

static enum tl_status sharded_create(const struct tl_algo *inner, const void *given,
                                     const struct tl_config *config, void **self)
{
    const struct sharded_options *own = given;
    const struct tl_allocator *allocator = config->allocator;
    struct sharded *sharded = tl_alloc(allocator, sizeof *sharded, alignof(struct sharded));
    if (sharded == NULL) {
        return TL_ERR_NOMEM;
    }
    uint32_t count = own->shards;
    *sharded = (struct sharded){.inner = inner, .allocator = allocator, .shard_count = count};
    sharded->shared = (struct tl_allocator){sharded, shared_resize};
    (void)pthread_mutex_init(&sharded->allocating, NULL);
    (void)pthread_mutex_init(&sharded->advancing, NULL);
    sharded->shards = tl_alloc(allocator, count * sizeof *sharded->shards, alignof(struct shard));
    sharded->due_left = tl_alloc(allocator, count * sizeof(uint64_t), alignof(uint64_t));
    enum tl_status status =
        sharded->shards == NULL || sharded->due_left == NULL ? TL_ERR_NOMEM : TL_OK;
    if (status == TL_OK && config->capacity > 0) {
        status = grow_due(sharded, config->capacity);
    }
    uint32_t made = 0;
    while (status == TL_OK && made < count) {
        struct tl_config below = *config;
        below.capacity = shard_capacity(sharded, made, config->capacity);
        below.allocator = &sharded->shared;
        sharded->due_left[made] = 0;
        status = inner->create(&below, &sharded->shards[made].self);
        if (status == TL_OK) {
            (void)pthread_mutex_init(&sharded->shards[made].lock, NULL);
            made++;
        }
    }
    if (status != TL_OK) {
        free_parts(sharded, made);
        return status;
    }
    *self = sharded;
    return TL_OK;
}

static void sharded_destroy(void *self)
{
    struct sharded *sharded = self;
    free_parts(sharded, sharded->shard_count);
}

static enum tl_status sharded_reserve(void *self, uint32_t capacity)
{
    struct sharded *sharded = self;
    /* If a shard cannot grow, the larger ones before it do no harm. */
    for (uint32_t s = 0; s < sharded->shard_count; s++) {
        enum tl_status status =
            sharded->inner->reserve(sharded->shards[s].self, shard_capacity(sharded, s, capacity));
        if (status != TL_OK) {
            return status;
        }
    }
    return capacity > sharded->capacity ? grow_due(sharded, capacity) : TL_OK;
}

/* Remove `id` from the timers noted by the running advance; the shard's lock is held. */
static bool take_due(struct sharded *sharded, uint32_t id)
{
    if (sharded->due[id] == 0) {
        return false;
    }
    sharded->due[id] = 0;
    sharded->due_left[id % sharded->shard_count]--;
    return true;
}

static enum tl_status sharded_start(void *self, uint32_t id, uint64_t deadline)
{
    struct sharded *sharded = self;
    struct shard *shard = &sharded->shards[id % sharded->shard_count];
    (void)pthread_mutex_lock(&shard->lock);
    enum tl_status status = sharded->inner->start(shard->self, id / sharded->shard_count, deadline);
    if (status == TL_OK) {
        (void)take_due(sharded, id);
    }
    (void)pthread_mutex_unlock(&shard->lock);
    return status;
}

static enum tl_status sharded_stop(void *self, uint32_t id)
{
    struct sharded *sharded = self;
    struct shard *shard = &sharded->shards[id % sharded->shard_count];
    (void)pthread_mutex_lock(&shard->lock);
    enum tl_status status = take_due(sharded, id)
                                ? TL_OK
                                : sharded->inner->stop(shard->self, id / sharded->shard_count);
    (void)pthread_mutex_unlock(&shard->lock);
    return status;
}

/* The context of a shard's callback. */
struct note {
    struct sharded *sharded;
    uint32_t shard;
};

static void note_due(void *ctx, uint32_t id, uint64_t now)
{
    (void)now;
    const struct note *note = ctx;
    struct sharded *sharded = note->sharded;
    uint32_t whole_id = id * sharded->shard_count + note->shard;
    sharded->due[whole_id] = 1;
    sharded->due_left[note->shard]++;
    sharded->due_ids[sharded->due_noted++] = whole_id;
}

static uint64_t sharded_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,
                                void *ctx)
{
    struct sharded *sharded = self;
    (void)pthread_mutex_lock(&sharded->advancing);
    sharded->due_noted = 0;
    for (uint32_t s = 0; s < sharded->shard_count; s++) {
        struct note note = {sharded, s};
        (void)pthread_mutex_lock(&sharded->shards[s].lock);
        (void)sharded->inner->advance(sharded->shards[s].self, now, budget, note_due, &note);
        (void)pthread_mutex_unlock(&sharded->shards[s].lock);
    }
    uint64_t fired = 0;
    for (uint64_t i = 0; i < sharded->due_noted; i++) {
        uint32_t id = sharded->due_ids[i];
        struct shard *shard = &sharded->shards[id % sharded->shard_count];
        (void)pthread_mutex_lock(&shard->lock);
        bool still = take_due(sharded, id);
        (void)pthread_mutex_unlock(&shard->lock);
        if (still) {
            fired++;
            fire(ctx, id, now);
        }
    }
    (void)pthread_mutex_unlock(&sharded->advancing);
    return fired;
}

static uint64_t sharded_next(const void *self)
{
    const struct sharded *sharded = self;
    uint64_t next = TL_NEVER;
    for (uint32_t s = 0; s < sharded->shard_count; s++) {
        struct shard *shard = &sharded->shards[s];
        (void)pthread_mutex_lock(&shard->lock);
        uint64_t own = sharded->inner->next(shard->self);
        (void)pthread_mutex_unlock(&shard->lock);
        next = own < next ? own : next;
    }
    return next;
}

static uint64_t sharded_count(const void *self)
{
    const struct sharded *sharded = self;
    uint64_t count = 0;
    for (uint32_t s = 0; s < sharded->shard_count; s++) {
        struct shard *shard = &sharded->shards[s];
        (void)pthread_mutex_lock(&shard->lock);
        count += sharded->inner->count(shard->self) + sharded->due_left[s];
        (void)pthread_mutex_unlock(&shard->lock);
    }
    return count;
}

static void sharded_counters(const void *self, struct tl_counters *out)
{
    const struct sharded *sharded = self;
    *out = (struct tl_counters){0};
    for (uint32_t s = 0; s < sharded->shard_count; s++) {
        struct tl_counters own;
        sharded->inner->counters(sharded->shards[s].self, &own);
        tl_counters_add(out, &own);
    }
}

static enum tl_status sharded_check(const void *self, char *why, size_t why_bytes)
{
    const struct sharded *sharded = self;
    enum tl_status status = TL_OK;
    for (uint32_t s = 0; status == TL_OK && s < sharded->shard_count; s++) {
        status = sharded->inner->check(sharded->shards[s].self, why, why_bytes);
    }
    return status;
}

static const struct tl_option sharded_option_table[] = {
    {"shards", TL_U32(struct sharded_options, shards), 8, 1, 1024, NULL,
     "how many; a timer is in the one of its id modulo "
     "this"},
    {0},
};

const struct tl_front tl_front_sharded = {
    .name = "sharded",
    .summary = "several instances, each under its own lock, chosen by id",
    .origin = "a wheel or heap per core or per bucket of ids, as in brpc, Tokio and Go since 1.10",
    .description =
        "Several instances of the structure, each under its own lock; the timer's id selects the "
        "instance. Threads that use different shards do not contend. One thread advances: it takes "
        "one lock after the other, notes the due timers, and calls back when it holds no lock, so "
        "a start waits at most for the work of one shard. Timers of different shards fire in the "
        "order of the shards, not of their deadlines, and an advance cannot be given a budget. "
        "Fixed memory and the cost of idle ticks are multiplied by the number of shards, and each "
        "timer takes 5 more bytes.",
    .options = sharded_option_table,
    .options_bytes = sizeof(struct sharded_options),
    .adds = TL_CAP_CONCURRENT,
    .keeps = TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_NEXT_EXACT | TL_CAP_UNLIMITED | TL_CAP_ALLOCATES |
             TL_CAP_BASELINE | TL_CAP_FIRES_NOTHING | TL_CAP_SLOW | TL_CAP_REFUSES |
             TL_CAP_OWN_MEMORY,
    .create = sharded_create,
    .hooks =
        {
            .destroy = sharded_destroy,
            .reserve = sharded_reserve,
            .start = sharded_start,
            .stop = sharded_stop,
            .advance = sharded_advance,
            .next = sharded_next,
            .count = sharded_count,
            .counters = sharded_counters,
            .check = sharded_check,
        },
};
