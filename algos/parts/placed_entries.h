/*
 * placed_entries.h: an array of entries, and a value for each id that leads to its entry.
 *
 *   entries   [before the first] [first] ... [last] [unused]      values   [id 0] [id 1] ...
 *
 * Both are in one block, or the values in the records that the structure was given (records.h).
 *
 * Internal, and a template. The including file first defines
 *
 *   STRUCTURE        its own struct, with the members ENTRY *entries, VALUE *by_id AND_RECORDS,
 *                    uint32_t capacity, const struct tl_allocator *allocator, struct tl_counters
 *                    counters
 *   ENTRY, VALUE     the types
 *   VALUE_IDLE       the value of an idle timer
 *   VALUE_IS_IDLE    optional: whether a value is one, if it cannot be compared with ==
 *   PLACED_FIRST(s)  the index of the first entry, a constant of the structure; default: 0
 *   PLACED_END(s)    the index after the last; default: the member `count`
 *   PLACED_COUNT(s)  the number of pending timers; default: the member `count`
 */
#ifndef ALGOS_PLACED_ENTRIES_H
#define ALGOS_PLACED_ENTRIES_H

#include "records.h"
#include "structure.h"

#ifndef VALUE_IS_IDLE
#define VALUE_IS_IDLE(value) ((value) == VALUE_IDLE)
#endif
#ifndef PLACED_FIRST
#define PLACED_FIRST(placed) 0
#endif
#ifndef PLACED_END
#define PLACED_END(placed) ((placed)->count)
#endif
#ifndef PLACED_COUNT
#define PLACED_COUNT(placed) ((placed)->count)
#endif

#define BLOCK_ALIGN  64
#define CAPACITY_MAX (UINT32_C(1) << 31)

/* Return the address of an id's value. */
#ifdef TL_EMBEDDED
static inline VALUE *value_at(const STRUCTURE *placed, uint32_t id)
{
    return record_at(&placed->records, id);
}
#else
#define value_at(placed, id) (&(placed)->by_id[id])
#endif

static inline size_t placed_bytes(const STRUCTURE *placed, uint32_t capacity)
{
    (void)placed;
    return (PLACED_FIRST(placed) + (size_t)capacity) * sizeof(ENTRY) +
           (size_t)OWN_ENTRIES(placed, capacity) * sizeof(VALUE);
}

/* The hook `reserve`. Entries before the first begin as zeros. */
static inline enum tl_status placed_reserve(void *self, uint32_t capacity)
{
    STRUCTURE *placed = self;
    bool fresh = placed->entries == NULL;
    if (capacity <= placed->capacity && !(fresh && PLACED_FIRST(placed) > 0)) {
        return TL_OK;
    }
    if (capacity > CAPACITY_MAX) {
        return TL_ERR_CAPACITY;
    }
    ENTRY *entries = tl_alloc(placed->allocator, placed_bytes(placed, capacity), BLOCK_ALIGN);
    if (entries == NULL) {
        return TL_ERR_NOMEM;
    }
    VALUE *values = (VALUE *)(void *)&entries[PLACED_FIRST(placed) + (size_t)capacity];
    memset(entries, 0, PLACED_FIRST(placed) * sizeof *entries);
    if (!fresh) {
        memcpy(entries, placed->entries, PLACED_END(placed) * sizeof *entries);
        memcpy(values, placed->by_id,
               (size_t)OWN_ENTRIES(placed, placed->capacity) * sizeof *values);
        tl_free(placed->allocator, placed->entries, placed_bytes(placed, placed->capacity),
                BLOCK_ALIGN);
    }
    placed->entries = entries;
    placed->by_id = values;
    OWN_ARRAY(placed, values, sizeof *values);
    for (uint32_t id = placed->capacity; id < capacity; id++) {
        *value_at(placed, id) = VALUE_IDLE;
    }
    placed->capacity = capacity;
    return TL_OK;
}

static void placed_destroy(void *self)
{
    STRUCTURE *placed = self;
    tl_free(placed->allocator, placed->entries, placed_bytes(placed, placed->capacity),
            BLOCK_ALIGN);
    structure_free(placed, placed->allocator);
}

static uint64_t placed_timers(const void *self)
{
    return PLACED_COUNT((const STRUCTURE *)self);
}

static void placed_counters(const void *self, struct tl_counters *out)
{
    *out = ((const STRUCTURE *)self)->counters;
}

/* For the hook `check`: the number of timers that are not idle. */
static inline size_t placed_count(const STRUCTURE *placed)
{
    size_t count = 0;
    for (uint32_t id = 0; id < placed->capacity; id++) {
        count += !VALUE_IS_IDLE(*value_at(placed, id));
    }
    return count;
}

/* For the descriptor: the hooks destroy, reserve, count, counters and moved, and embedded_bytes. */
#define PLACED_HOOKS                                                                               \
    .destroy = placed_destroy, .reserve = placed_reserve, .count = placed_timers,                  \
    .counters = placed_counters, .embedded_bytes = EMBEDDED_BYTES(sizeof(VALUE)),                  \
    .moved = EMBEDDED_HOOK(structure_moved)

#endif
