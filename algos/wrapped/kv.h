/*
 * kv.h: the ordered store of keys and values in which kv-wheel keeps its timers: LMDB.
 *
 *   keys are compared byte by byte   "T" 00 00 00 00 00 00 10 00  <  "T" 00 00 00 00 00 00 10 01
 *
 * There is one transaction, which begins by itself and sees what it has written. Nothing of it is
 * in the store before commit, which takes all of it or nothing; then nothing of it is left open. A
 * function that fails has lost the transaction: kv_abandon is the only function that may be called
 * next, other than kv_close.
 *
 * LMDB is loaded when a store is opened. Without LMDB's headers when timerlab was built, kv_open
 * returns TL_ERR_UNAVAILABLE.
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

struct kv_store;

/* Opens the store in `folder`, which exists and belongs to the caller, or begins one there. With
 * `synced`, what commit has taken survives a loss of power; without, only the end of this process.
 * With `unnamed` its file is removed at once: it is never opened again. On failure *store is what
 * remains to be closed, or NULL. */
enum tl_status kv_open(const char *folder, bool synced, bool unnamed, struct kv_store **store);

/* What has not been committed is lost. */
void kv_close(struct kv_store *store);

/* What went wrong last, in LMDB's words. */
const char *kv_failure(const struct kv_store *store);

/* Fills in the value of the record's key. TL_IDLE: there is none. */
enum tl_status kv_get(struct kv_store *store, struct kv_record *record);
enum tl_status kv_put(struct kv_store *store, const struct kv_record *record);

/* The same with a value of any length, next to the record; of kv_get_large it is the store's, and
 * valid until the next call. */
enum tl_status kv_get_large(struct kv_store *store, const struct kv_record *key, const void **value,
                            size_t *bytes);
enum tl_status kv_put_large(struct kv_store *store, const struct kv_record *key, const void *value,
                            size_t bytes);

/* By the record's key; of one that is not there too. */
enum tl_status kv_remove(struct kv_store *store, const struct kv_record *record);

/* Shows the records whose keys are not before that of `from` to `visit`, in order, until it returns
 * false. It may get, and change nothing. A value that is longer than a record's is omitted. */
enum tl_status kv_seek(struct kv_store *store, const struct kv_record *from, kv_visit_fn visit,
                       void *ctx);

enum tl_status kv_commit(struct kv_store *store);
void kv_abandon(struct kv_store *store);

/* What the store takes on the disk, and in memory that no allocator counts. */
uint64_t kv_bytes(struct kv_store *store);

#endif
