/*
 * kv.h: the ordered store of keys and values in which kv-wheel keeps its timers: LMDB.
 *
 *   keys are compared byte by byte   "T" 00 00 00 00 00 00 10 00  <  "T" 00 00 00 00 00 00 10 01
 *
 * There is one transaction, which begins by itself and sees its own changes. Commit stores all of it
 * or nothing, and ends it. A function that fails has lost the transaction: only kv_abandon or kv_close
 * may be called next.
 *
 * LMDB is loaded when a store is opened. Without LMDB's headers when timerlab was built, kv_open
 * returns TL_ERR_UNAVAILABLE.
 *
 * Internal to the structures.
 */
#ifndef ALGOS_KV_H
#define ALGOS_KV_H

#include "timerlab.h"

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

struct kv_store;

/* Open the store in `folder`, which exists and belongs to the caller, or create one there. `synced`:
 * commits survive a loss of power, not only the end of this process. `unnamed`: the file is removed
 * at once, and never opened again. On failure *store is NULL, or is to be closed. */
enum tl_status kv_open(const char *folder, bool synced, bool unnamed, struct kv_store **store);

/* Close the store; uncommitted changes are lost. */
void kv_close(struct kv_store *store);

/* Return LMDB's text of the last error. */
const char *kv_failure(const struct kv_store *store);

/* Read or write the value of the record's key. TL_IDLE: the key is not there. The value of kv_get
 * belongs to the store, and is valid until the next call. */
enum tl_status kv_get(struct kv_store *store, const struct kv_record *key, const void **value,
                      size_t *bytes);
enum tl_status kv_put(struct kv_store *store, const struct kv_record *key, const void *value,
                      size_t bytes);

/* Remove the record's key, if it is there. */
enum tl_status kv_remove(struct kv_store *store, const struct kv_record *record);

/* Call `visit` for the records from the key of `from` on, in order, until it returns false. It may
 * read, but not change the store. A value that is longer than a record's is omitted. */
enum tl_status kv_seek(struct kv_store *store, const struct kv_record *from, kv_visit_fn visit,
                       void *ctx);

enum tl_status kv_commit(struct kv_store *store);
void kv_abandon(struct kv_store *store);

/* Return the bytes of the store on the disk, and in memory that no allocator counts. */
uint64_t kv_bytes(struct kv_store *store);

#endif
