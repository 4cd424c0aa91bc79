/*
 * cache.h: operations, generated once for all rows that play them, and cached up to a quarter of
 * the machine's memory. The least recently used entry is dropped first.
 */
#ifndef BENCH_CACHE_H
#define BENCH_CACHE_H

#include <stddef.h>

/* One kind of entry. */
struct cache_kind {
    size_t key_bytes; /* keys are compared byte by byte: no padding in them */
    /* Make the entry for a key; sets *bytes to its size. */
    void *(*make)(const void *key, size_t *bytes);
    void (*destroy)(void *value);
};

/* The entry for a key, made if it is not there. Valid until the next call. */
void *cache_get(const struct cache_kind *kind, const void *key);

/* Frees everything. */
void cache_forget(void);

#endif
