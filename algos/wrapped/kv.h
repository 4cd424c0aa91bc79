/*
 * kv.h: an ordered store of keys and values, as kv-wheel needs it, and the engines that are one.
 *
 *   keys are compared byte by byte   "T" 00 00 00 00 00 00 10 00  <  "T" 00 00 00 00 00 00 10 01
 *
 * There is one transaction, which begins by itself and sees what it has written. Nothing of it is
 * in the store before commit, which takes all of it or nothing; then nothing of it is left open. A
 * function that fails has lost the transaction: abandon is then the one that may be called next.
 *
 * An engine's library is loaded when its store is opened; without its headers when timerlab was
 * built, the engine is there and says TL_ERR_UNAVAILABLE.
 *
 * Internal to the structures.
 */
#ifndef ALGOS_KV_H
#define ALGOS_KV_H

#include "timerlab.h"

#include <stdio.h>
#include <string.h>

#define KV_KEY_BYTES   24u
#define KV_VALUE_BYTES 32u

/* A key, a value, or both. */
struct kv_record {
    uint8_t key[KV_KEY_BYTES];
    uint8_t value[KV_VALUE_BYTES];
    size_t key_bytes;
    size_t value_bytes;
};

typedef bool (*kv_visit_fn)(void *ctx, const struct kv_record *record);

/* What every engine's store begins with. */
struct kv_store {
    char failure[200]; /* what went wrong last, in the engine's words */
};

/* A store that is open is passed as `store`. */
struct kv_engine {
    /* Opens the store in `folder`, which exists and is nobody else's, or begins one there. With
     * `synced`, what commit has taken survives a loss of power; without, only the end of this
     * process. With `unnamed` its files may be removed at once: nobody opens it again. Where it
     * fails, *store is what remains to be closed; NULL: nothing. */
    enum tl_status (*open)(const char *folder, bool synced, bool unnamed, struct kv_store **store);

    /* What has not been committed is lost. */
    void (*close)(void *store);

    /* Fills in the value of the record's key. TL_IDLE: there is none. */
    enum tl_status (*get)(void *store, struct kv_record *record);

    enum tl_status (*put)(void *store, const struct kv_record *record);

    /* By the record's key; of one that is not there too. */
    enum tl_status (*remove)(void *store, const struct kv_record *record);

    /* Shows the records whose keys are not before that of `from` to `visit`, in order, until it
     * returns false. It may get, and change nothing. */
    enum tl_status (*seek)(void *store, const struct kv_record *from, kv_visit_fn visit, void *ctx);

    enum tl_status (*commit)(void *store);
    void (*abandon)(void *store);

    /* What the store takes on the disk, and in memory that no allocator counts. */
    uint64_t (*bytes)(void *store);
};

extern const struct kv_engine tl_kv_lmdb;
extern const struct kv_engine tl_kv_sqlite;

/* --- for the engines ------------------------------------------------------------------------- */

static inline enum tl_status kv_open_unavailable(const char *folder, bool synced, bool unnamed,
                                                 struct kv_store **store)
{
    (void)folder;
    (void)synced;
    (void)unnamed;
    (void)store;
    return TL_ERR_UNAVAILABLE;
}

static inline void kv_set_failure(struct kv_store *store, const char *words)
{
    (void)snprintf(store->failure, sizeof store->failure, "%s", words);
}

/* Copies what is not longer than a record has room for; what is, is nothing of ours. */
static inline bool kv_copy(uint8_t *to, size_t room, size_t *bytes, const void *from, size_t length)
{
    if (length > room) {
        return false;
    }
    memcpy(to, from, length);
    *bytes = length;
    return true;
}

static inline enum tl_status kv_take(struct kv_record *record, const void *key, size_t key_bytes,
                                     const void *value, size_t value_bytes)
{
    bool fits = kv_copy(record->key, KV_KEY_BYTES, &record->key_bytes, key, key_bytes) &&
                kv_copy(record->value, KV_VALUE_BYTES, &record->value_bytes, value, value_bytes);
    return fits ? TL_OK : TL_ERR_STORE;
}

#endif
