/* Generation of the operations, and their cache. */
#include "workload.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHUFFLED_BYTES_MAX = 16 };

#define SEED UINT64_C(0x7469636B6C697374)

/* Steele, Lea and Flood's SplitMix64: small, fast, and every seed is a good one. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint64_t workload_seed(uint64_t what)
{
    return SEED ^ what;
}

uint32_t workload_random_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)((next_random(state) >> 32) * bound >> 32);
}

/* --- the cache: a list, the latest used first: there are never more than some dozens --------- */

enum { KEY_BYTES_MAX = 64, SHARE_OF_MEMORY = 4 };

struct cache_entry {
    struct cache_entry *below;
    const struct cache_kind *kind;
    void *value;
    size_t bytes;
    unsigned char key[KEY_BYTES_MAX];
};

static struct cache_entry *entries;

static size_t room_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (size_t)pages / SHARE_OF_MEMORY * (size_t)page_bytes : 0;
}

/* Drop this cache entry and all entries after it. */
static void drop_from(struct cache_entry **link)
{
    while (*link != NULL) {
        struct cache_entry *entry = *link;
        *link = entry->below;
        entry->kind->destroy(entry->value);
        free(entry);
    }
}

/* Drop the entries after the first ones that fit; the first always stays. */
static void make_room(void)
{
    size_t room = room_bytes();
    size_t used = 0;
    struct cache_entry **link = &entries;
    while (*link != NULL && (*link == entries || used + (*link)->bytes <= room)) {
        used += (*link)->bytes;
        link = &(*link)->below;
    }
    drop_from(link);
}

void *cache_get(const struct cache_kind *kind, const void *key)
{
    for (struct cache_entry **link = &entries; *link != NULL; link = &(*link)->below) {
        struct cache_entry *entry = *link;
        if (entry->kind == kind && memcmp(entry->key, key, kind->key_bytes) == 0) {
            *link = entry->below;
            entry->below = entries;
            entries = entry;
            return entry->value;
        }
    }
    struct cache_entry *entry = memory_new(1, sizeof *entry);
    entry->value = kind->make(key, &entry->bytes);
    entry->kind = kind;
    memcpy(entry->key, key, kind->key_bytes);
    entry->below = entries;
    entries = entry;
    make_room();
    return entry->value;
}

void cache_forget(void)
{
    drop_from(&entries);
}

/* --- workloads ------------------------------------------------------------------------------- */

static uint64_t batch_operations = WORKLOAD_BATCH_OPERATIONS;

void workload_shorten(void)
{
    batch_operations = 1;
}

uint64_t workload_rounds(uint64_t operations)
{
    return operations < batch_operations ? (batch_operations + operations - 1) / operations : 1;
}

void workload_shuffle(void *items, size_t bytes, uint32_t count, uint64_t *state)
{
    unsigned char *at = items;
    unsigned char swapped[SHUFFLED_BYTES_MAX];
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = workload_random_below(state, i);
        memcpy(swapped, at + (i - 1) * bytes, bytes);
        memcpy(at + (i - 1) * bytes, at + j * bytes, bytes);
        memcpy(at + j * bytes, swapped, bytes);
    }
}

void workload_sort(const struct workload_start *items, size_t count, uint32_t from, uint32_t to,
                   struct workload_start *sorted)
{
    size_t *first = memory_new((size_t)to - from + 2, sizeof *first);
    for (size_t i = 0; i < count; i++) {
        first[items[i].delay_ticks - from + 1]++;
    }
    for (size_t k = 0; k < to - from; k++) {
        first[k + 1] += first[k];
    }
    for (size_t i = 0; i < count; i++) {
        sorted[first[items[i].delay_ticks - from]++] = items[i];
    }
    free(first);
}

void workload_order(uint32_t *ids, uint32_t n, uint64_t *state)
{
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = i;
    }
    workload_shuffle(ids, sizeof *ids, n, state);
}

static uint32_t draw_delay(const struct workload_key *key, uint64_t *state)
{
    if (key->arrival == ARRIVAL_SAME) {
        return key->span_ticks / 2;
    }
    if (key->durations > 0) {
        uint64_t which = 1 + workload_random_below(state, key->durations);
        return (uint32_t)(which * key->span_ticks / key->durations);
    }
    return 1 + workload_random_below(state, key->span_ticks);
}

/* List the expiries of the starts: all but the cancelled, in order of tick. */
static void make_expiries(struct workload *workload, const struct workload_start *sorted,
                          const bool *is_cancelled)
{
    for (uint32_t i = 0; i < workload->n; i++) {
        const struct workload_start *start = &sorted[i];
        if (is_cancelled[start->id]) {
            continue;
        }
        workload->expiries[workload->expected.count++] = *start;
        workload->expected.ids += start->id;
        workload->expected.checksum += workload_mix(start->id, start->delay_ticks);
    }
}

static void make_starts(struct workload *workload, struct workload_start *sorted,
                        bool *is_cancelled)
{
    const struct workload_key *key = &workload->key;
    uint64_t state = workload_seed(workload->n);
    workload_order(workload->order, workload->n, &state);
    for (uint32_t i = 0; i < workload->n; i++) {
        struct workload_start *start = &workload->starts[i];
        start->id = workload->order[i];
        start->delay_ticks = draw_delay(key, &state);
    }
    workload_order(workload->stops, workload->n, &state);
    for (uint32_t i = 0; i < workload->cancelled; i++) {
        is_cancelled[workload->stops[i]] = true;
    }
    workload_sort(workload->starts, workload->n, 0, workload->span_ticks, sorted);
    make_expiries(workload, sorted, is_cancelled);
    bool ordered = key->arrival == ARRIVAL_SORTED || key->arrival == ARRIVAL_REVERSE;
    for (uint32_t i = 0; i < workload->n && ordered; i++) {
        workload->starts[i] = sorted[key->arrival == ARRIVAL_SORTED ? i : workload->n - 1 - i];
    }
}

static void *new_workload(const void *at, size_t *bytes)
{
    const struct workload_key *key = at;
    struct workload *workload = memory_new(1, sizeof *workload);
    uint32_t n = key->n;
    *workload = (struct workload){
        .key = *key,
        .n = n,
        .span_ticks = key->span_ticks,
        .cancelled = (uint32_t)((uint64_t)n * key->cancelled_percent / 100),
        .starts = memory_new(n, sizeof *workload->starts),
        .stops = memory_new(n, sizeof *workload->stops),
        .order = memory_new(n, sizeof *workload->order),
        .restarts = memory_new(n * workload_rounds(n), sizeof *workload->restarts),
        .expiries = memory_new(n, sizeof *workload->expiries),
    };
    struct workload_start *sorted = memory_new(n, sizeof *sorted);
    bool *is_cancelled = memory_new(n, sizeof *is_cancelled);
    make_starts(workload, sorted, is_cancelled);
    free(sorted);
    free(is_cancelled);
    *bytes = n * (sizeof *workload->starts + sizeof *workload->stops + sizeof *workload->order +
                  workload_rounds(n) * sizeof *workload->restarts + sizeof *workload->expiries);
    return workload;
}

static void free_workload(void *value)
{
    struct workload *workload = value;
    free(workload->starts);
    free(workload->stops);
    free(workload->order);
    free(workload->restarts);
    free(workload->expiries);
    free(workload);
}

struct workload *workload_get(const struct workload_key *key)
{
    static const struct cache_kind workloads = {sizeof *key, new_workload, free_workload};
    return cache_get(&workloads, key);
}

/* A delay of a restarted timer. */
static uint32_t draw_idle_delay(const struct workload *workload, uint64_t *state)
{
    static const uint32_t range_ticks = WORKLOAD_SPAN_TICKS - WORKLOAD_IDLE_MIN_TICKS;
    uint32_t durations = workload->key.durations;
    if (durations > 0) {
        uint64_t which = 1 + workload_random_below(state, durations);
        return WORKLOAD_IDLE_MIN_TICKS + (uint32_t)(which * range_ticks / (durations + 1));
    }
    return WORKLOAD_IDLE_MIN_TICKS + workload_random_below(state, range_ticks + 1);
}

uint32_t workload_restart_rounds(struct workload *workload, uint32_t first, uint32_t count)
{
    uint32_t earliest = UINT32_MAX;
    uint32_t n = workload->n;
    for (uint32_t round = 0; round < count; round++) {
        struct workload_restart *restarts = workload->restarts + (size_t)round * n;
        uint64_t state = workload_seed((uint64_t)(first + round + 1) << 32 ^ n);
        workload_order(workload->order, n, &state);
        earliest = UINT32_MAX;
        for (uint32_t i = 0; i < n; i++) {
            struct workload_restart *restart = &restarts[i];
            restart->id = workload->order[i];
            restart->tick = round * WORKLOAD_ROUND_TICKS + 1 +
                            (uint32_t)((uint64_t)i * WORKLOAD_ROUND_TICKS / n);
            restart->delay_ticks = draw_idle_delay(workload, &state);
            if (restart->tick + restart->delay_ticks < earliest) {
                earliest = restart->tick + restart->delay_ticks;
            }
        }
    }
    return earliest;
}
