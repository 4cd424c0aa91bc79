/* The floors: an array of records, and the expiries in their order. */
#include "floor.h"

/* Every structure must store at least a timer's deadline, so each record begins with it. Records of 16
 * bytes have another field next to it; records of 64 bytes stand for a timer in its connection's
 * cache line. */
struct floor_record {
    uint64_t deadline;
};

struct floor_timers {
    struct tl_allocator allocator;
    const struct workload_start *expiries;
    size_t expiry_count;
    size_t at; /* the next to fire */
    uint64_t base;
    uint64_t scale;
    uint64_t due; /* its tick; TL_NEVER after the last */
    uint64_t pending;
    uint32_t capacity;
    size_t record_bytes;
    struct floor_record *records;
};

#define RECORD_ALIGN 64

static enum tl_status floor_reserve(void *self, uint32_t capacity)
{
    struct floor_timers *timers = self;
    if (capacity <= timers->capacity) {
        return TL_OK;
    }
    size_t old_bytes = timers->capacity * timers->record_bytes;
    size_t new_bytes = capacity * timers->record_bytes;
    struct floor_record *records = timers->allocator.resize(timers->allocator.ctx, timers->records,
                                                            old_bytes, new_bytes, RECORD_ALIGN);
    if (records == NULL) {
        return TL_ERR_NOMEM;
    }
    for (size_t i = old_bytes / sizeof *records; i < new_bytes / sizeof *records; i++) {
        records[i].deadline = 0;
    }
    timers->records = records;
    timers->capacity = capacity;
    return TL_OK;
}

static void floor_destroy(void *self)
{
    struct floor_timers *timers = self;
    struct tl_allocator allocator = timers->allocator;
    tl_free(&allocator, timers->records, timers->capacity * timers->record_bytes, RECORD_ALIGN);
    tl_free(&allocator, timers, sizeof *timers, _Alignof(struct floor_timers));
}

static enum tl_status create_floor(const struct tl_config *config, size_t record_bytes, void **self)
{
    struct floor_timers *timers =
        tl_alloc(config->allocator, sizeof *timers, _Alignof(struct floor_timers));
    if (timers == NULL) {
        return TL_ERR_NOMEM;
    }
    *timers = (struct floor_timers){
        .allocator = *config->allocator, .due = TL_NEVER, .record_bytes = record_bytes};
    if (floor_reserve(timers, config->capacity) != TL_OK) {
        floor_destroy(timers);
        return TL_ERR_NOMEM;
    }
    *self = timers;
    return TL_OK;
}

static uint64_t floor_count(const void *self)
{
    return ((const struct floor_timers *)self)->pending;
}

static uint64_t next_due(const struct floor_timers *timers)
{
    return timers->at < timers->expiry_count
               ? (timers->base + timers->expiries[timers->at].delay_ticks) * timers->scale
               : TL_NEVER;
}

/* A deadline of 0 says that the timer is not pending. */
#define FLOOR(bytes)                                                                               \
    static enum tl_status create_##bytes(const struct tl_config *config, void **self)              \
    {                                                                                              \
        return create_floor(config, bytes, self);                                                  \
    }                                                                                              \
    static enum tl_status start_##bytes(void *self, uint32_t id, uint64_t deadline)                \
    {                                                                                              \
        struct floor_timers *timers = self;                                                        \
        struct floor_record *record = timers->records + (size_t)id * ((bytes) / sizeof *record);   \
        timers->pending += record->deadline == 0;                                                  \
        record->deadline = deadline;                                                               \
        return TL_OK;                                                                              \
    }                                                                                              \
    static enum tl_status stop_##bytes(void *self, uint32_t id)                                    \
    {                                                                                              \
        struct floor_timers *timers = self;                                                        \
        struct floor_record *record = timers->records + (size_t)id * ((bytes) / sizeof *record);   \
        uint64_t pending = record->deadline != 0;                                                  \
        timers->pending -= pending;                                                                \
        record->deadline = 0;                                                                      \
        return pending != 0 ? TL_OK : TL_IDLE;                                                     \
    }                                                                                              \
    static uint64_t advance_##bytes(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire,    \
                                    void *ctx)                                                     \
    {                                                                                              \
        struct floor_timers *timers = self;                                                        \
        uint64_t fired = 0;                                                                        \
        (void)budget;                                                                              \
        while (timers->due <= now) {                                                               \
            uint32_t id = timers->expiries[timers->at++].id;                                       \
            struct floor_record *record =                                                          \
                timers->records + (size_t)id * ((bytes) / sizeof *record);                         \
            timers->pending -= record->deadline != 0;                                              \
            record->deadline = 0;                                                                  \
            timers->due = next_due(timers);                                                        \
            fire(ctx, id, now);                                                                    \
            fired++;                                                                               \
        }                                                                                          \
        return fired;                                                                              \
    }

FLOOR(8)
FLOOR(16)
FLOOR(64)

#define FLOOR_ALGO(bytes)                                                                          \
    {                                                                                              \
        .abi = TL_ABI, .capabilities = TL_CAP_UNLIMITED | TL_CAP_BASELINE,                         \
        .name = "record-" #bytes,                                                                  \
        .summary = "a record of " #bytes " bytes for each timer, and the expiries known",          \
        .origin = "timerlab-bench",                                                                \
        .description = "Lower bound for every structure: one record touched for each operation.",  \
        .cost = {.start = "O(1)", .stop = "O(1)", .tick = "O(1)", .expire = "O(1)"},               \
        .create = create_##bytes, .destroy = floor_destroy, .reserve = floor_reserve,              \
        .start = start_##bytes, .stop = stop_##bytes, .advance = advance_##bytes,                  \
        .count = floor_count,                                                                      \
    }

const struct tl_algo floors[FLOORS] = {FLOOR_ALGO(8), FLOOR_ALGO(16), FLOOR_ALGO(64)};

bool floor_is(const struct tl_algo *algo)
{
    for (size_t i = 0; i < FLOORS; i++) {
        if (algo == &floors[i]) {
            return true;
        }
    }
    return false;
}

void floor_schedule(void *self, const struct workload_start *expiries, size_t count, uint64_t base,
                    uint64_t scale)
{
    struct floor_timers *timers = self;
    timers->expiries = expiries;
    timers->expiry_count = count;
    timers->at = 0;
    timers->base = base;
    timers->scale = scale;
    timers->due = next_due(timers);
}
