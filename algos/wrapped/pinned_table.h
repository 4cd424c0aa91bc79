/*
 * pinned_table.h: one entry for every id, at an address that never changes: for libraries that keep
 * pointers to their callers' objects.
 *
 *   segment 0    ids     0 ..  999   the capacity given to `create`
 *   segment 1    ids  1000 .. 1999   a growth at least doubles the table
 *   segment 2    ids  2000 .. 9999
 *
 * So there are few segments, and nearly always the first one is the right one.
 *
 * Internal to the structures.
 */
#ifndef ALGOS_PINNED_TABLE_H
#define ALGOS_PINNED_TABLE_H

#include "timerlab.h"

#include <stdalign.h>
#include <string.h>

#define PINNED_SEGMENTS_MAX 33
#define PINNED_CAPACITY_MAX (UINT32_C(1) << 31)

struct pinned_table {
    struct pinned_segment {
        unsigned char *entries;
        uint32_t begin; /* ids begin .. end-1 */
        uint32_t end;
    } segments[PINNED_SEGMENTS_MAX];
    uint32_t count;
    uint32_t capacity;
    size_t entry_bytes;
    const struct tl_allocator *allocator;
};

static inline void *pinned_at(const struct pinned_table *table, uint32_t id)
{
    const struct pinned_segment *segment = table->segments;
    while (id >= segment->end) {
        segment++;
    }
    return segment->entries + (size_t)(id - segment->begin) * table->entry_bytes;
}

/* Make room for ids 0 .. capacity-1; new entries are zero. TL_ERR_NOMEM, TL_ERR_CAPACITY: nothing has
 * changed. */
static inline enum tl_status pinned_grow(struct pinned_table *table, uint32_t capacity)
{
    if (capacity <= table->capacity) {
        return TL_OK;
    }
    if (capacity > PINNED_CAPACITY_MAX) {
        return TL_ERR_CAPACITY;
    }
    if (capacity < 2 * (uint64_t)table->capacity) {
        uint64_t doubled = 2 * (uint64_t)table->capacity;
        capacity = doubled < PINNED_CAPACITY_MAX ? (uint32_t)doubled : PINNED_CAPACITY_MAX;
    }
    size_t bytes = (size_t)(capacity - table->capacity) * table->entry_bytes;
    unsigned char *entries = tl_alloc(table->allocator, bytes, alignof(max_align_t));
    if (entries == NULL) {
        return TL_ERR_NOMEM;
    }
    memset(entries, 0, bytes);
    table->segments[table->count++] = (struct pinned_segment){entries, table->capacity, capacity};
    table->capacity = capacity;
    return TL_OK;
}

static inline void pinned_free(struct pinned_table *table)
{
    while (table->count > 0) {
        const struct pinned_segment *segment = &table->segments[--table->count];
        tl_free(table->allocator, segment->entries,
                (size_t)(segment->end - segment->begin) * table->entry_bytes, alignof(max_align_t));
    }
}

#endif
