/*
 * cache.h: operations are generated once for all rows that play them, and kept as long as there is
 * room: a quarter of the machine's memory. What has not been used for longest goes first.
 */
#ifndef BENCH_CACHE_H
#define BENCH_CACHE_H

#include <stddef.h>

/* One kind of entry. */
struct cache_kind {
    size_t key_bytes; /* keys are compared byte by byte: no padding in them */
    /* Makes the thing for a key, and says in *bytes what it takes. */
    void *(*make)(const void *key, size_t *bytes);
    void (*destroy)(void *thing);
};

/* The entry for a key, made if it is not there. Valid until the next call. */
void *cache_get(const struct cache_kind *kind, const void *key);

/* Frees everything. */
void cache_forget(void);

#endif
