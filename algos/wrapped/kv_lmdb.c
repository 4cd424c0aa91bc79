/*
 * LMDB: a B+tree in a memory map, of which a commit writes new copies of the pages that changed,
 * and then one of two root pages.
 *
 * The map is only read through: pages are written with pwrite, so that a full disk is an error and
 * no signal. Its size is address space, not memory, and is grown between transactions; it is ample
 * for the next. There is one writer and no other reader, so LMDB's own locks are omitted, and a
 * transaction belongs to no thread.
 */
#include "kv.h"

#ifdef TL_HAVE_LMDB

#include "loaded_library.h"

#include <errno.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LMDB_FUNCTIONS(X)                                                                          \
    X(mdb_cursor_get)                                                                              \
    X(mdb_cursor_open)                                                                             \
    X(mdb_dbi_open)                                                                                \
    X(mdb_del)                                                                                     \
    X(mdb_env_close)                                                                               \
    X(mdb_env_create)                                                                              \
    X(mdb_env_info)                                                                                \
    X(mdb_env_open)                                                                                \
    X(mdb_env_set_mapsize)                                                                         \
    X(mdb_env_stat)                                                                                \
    X(mdb_get)                                                                                     \
    X(mdb_put)                                                                                     \
    X(mdb_strerror)                                                                                \
    X(mdb_txn_abort)                                                                               \
    X(mdb_txn_begin)                                                                               \
    X(mdb_txn_commit)
LOADED_LIBRARY(LMDB_FUNCTIONS, "liblmdb.so.0");

#define MAP_BYTES ((size_t)64 << 20)

struct kv_store {
    char failure[200];
    MDB_env *env;
    MDB_txn *txn;       /* NULL: none is open */
    MDB_cursor *cursor; /* of that transaction; NULL: none yet */
    MDB_dbi table;
};

static enum tl_status status_of(struct kv_store *store, int error)
{
    if (error != 0 && error != MDB_NOTFOUND) {
        (void)snprintf(store->failure, sizeof store->failure, "%s", lib.mdb_strerror(error));
    }
    switch (error) {
    case 0:
        return TL_OK;
    case ENOMEM:
        return TL_ERR_NOMEM;
    case MDB_NOTFOUND:
        return TL_IDLE;
    case ENOSPC:
    case EDQUOT:
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
        return TL_ERR_DISK_FULL;
    default:
        return TL_ERR_STORE;
    }
}

static MDB_val val_of(const void *bytes, size_t length)
{
    return (MDB_val){.mv_size = length, .mv_data = (void *)bytes};
}

static enum tl_status begin(struct kv_store *store)
{
    if (store->txn != NULL) {
        return TL_OK;
    }
    return status_of(store, lib.mdb_txn_begin(store->env, NULL, 0, &store->txn));
}

/* A cursor ends with its transaction. */
static void forget_transaction(struct kv_store *store)
{
    store->txn = NULL;
    store->cursor = NULL;
}

void kv_abandon(struct kv_store *store)
{
    if (store->txn != NULL) {
        lib.mdb_txn_abort(store->txn);
        forget_transaction(store);
    }
}

static size_t used_bytes(const struct kv_store *store, MDB_envinfo *info)
{
    MDB_stat stat;
    (void)lib.mdb_env_info(store->env, info);
    (void)lib.mdb_env_stat(store->env, &stat);
    return (info->me_last_pgno + 1) * stat.ms_psize;
}

/* Between transactions: make room for as many pages again, which one may need. */
static enum tl_status make_ample(struct kv_store *store)
{
    MDB_envinfo info;
    size_t used = used_bytes(store, &info);
    if (2 * used <= info.me_mapsize) {
        return TL_OK;
    }
    return status_of(store, lib.mdb_env_set_mapsize(store->env, 4 * used));
}

enum tl_status kv_commit(struct kv_store *store)
{
    if (store->txn == NULL) {
        return TL_OK;
    }
    int error = lib.mdb_txn_commit(store->txn);
    forget_transaction(store);
    return error == 0 ? make_ample(store) : status_of(store, error);
}

const char *kv_failure(const struct kv_store *store)
{
    return store->failure;
}

void kv_close(struct kv_store *store)
{
    kv_abandon(store);
    lib.mdb_env_close(store->env);
    free(store);
}

static enum tl_status open_table(struct kv_store *store)
{
    enum tl_status status = begin(store);
    if (status == TL_OK) {
        status = status_of(store, lib.mdb_dbi_open(store->txn, NULL, 0, &store->table));
    }
    return status == TL_OK ? kv_commit(store) : status;
}

/* Empty a file that is shorter than its two root pages, as after a full disk. */
static void forget_stump(const char *path)
{
    struct stat file;
    if (stat(path, &file) == 0 && file.st_size < 2 * sysconf(_SC_PAGESIZE)) {
        (void)truncate(path, 0);
    }
}

enum tl_status kv_open(const char *folder, bool synced, bool unnamed, struct kv_store **opened)
{
    if (tl_library_load(&library) == NULL) {
        return tl_library_missing();
    }
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/timers.lmdb", folder);
    struct kv_store *store = calloc(1, sizeof *store);
    if (store == NULL || lib.mdb_env_create(&store->env) != 0) {
        free(store);
        return TL_ERR_NOMEM;
    }
    unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS | (synced ? 0 : MDB_NOSYNC);
    forget_stump(path);
    (void)lib.mdb_env_set_mapsize(store->env, MAP_BYTES);
    enum tl_status status = status_of(store, lib.mdb_env_open(store->env, path, flags, 0600));
    if (status == TL_OK) {
        status = open_table(store);
    }
    if (unnamed) {
        (void)unlink(path);
    }
    *opened = store;
    return status == TL_IDLE ? TL_ERR_STORE : status;
}

enum tl_status kv_get(struct kv_store *store, const struct kv_record *key, const void **value,
                      size_t *bytes)
{
    MDB_val name = val_of(key->key, key->key_bytes);
    MDB_val found;
    enum tl_status status = begin(store);
    if (status == TL_OK) {
        status = status_of(store, lib.mdb_get(store->txn, store->table, &name, &found));
    }
    if (status == TL_OK) {
        *value = found.mv_data;
        *bytes = found.mv_size;
    }
    return status;
}

enum tl_status kv_put(struct kv_store *store, const struct kv_record *key, const void *value,
                      size_t bytes)
{
    MDB_val name = val_of(key->key, key->key_bytes);
    MDB_val given = val_of(value, bytes);
    enum tl_status status = begin(store);
    return status != TL_OK
               ? status
               : status_of(store, lib.mdb_put(store->txn, store->table, &name, &given, 0));
}

/* Copy a key or value. False: it is longer than a record's. */
static bool copy(uint8_t *to, size_t room, size_t *bytes, MDB_val from)
{
    if (from.mv_size > room) {
        return false;
    }
    memcpy(to, from.mv_data, from.mv_size);
    *bytes = from.mv_size;
    return true;
}

enum tl_status kv_remove(struct kv_store *store, const struct kv_record *record)
{
    MDB_val key = val_of(record->key, record->key_bytes);
    enum tl_status status = begin(store);
    if (status == TL_OK) {
        status = status_of(store, lib.mdb_del(store->txn, store->table, &key, NULL));
    }
    return status == TL_IDLE ? TL_OK : status;
}

enum tl_status kv_seek(struct kv_store *store, const struct kv_record *from, kv_visit_fn visit,
                       void *ctx)
{
    enum tl_status status = begin(store);
    if (status == TL_OK && store->cursor == NULL) {
        status = status_of(store, lib.mdb_cursor_open(store->txn, store->table, &store->cursor));
    }
    MDB_val key = val_of(from->key, from->key_bytes);
    MDB_val value;
    MDB_cursor_op op = MDB_SET_RANGE;
    struct kv_record record;
    do {
        if (status == TL_OK) {
            status = status_of(store, lib.mdb_cursor_get(store->cursor, &key, &value, op));
        }
        if (status == TL_OK) {
            record.value_bytes = 0;
            (void)copy(record.value, KV_VALUE_BYTES, &record.value_bytes, value);
            status = copy(record.key, KV_KEY_BYTES, &record.key_bytes, key) ? TL_OK : TL_ERR_STORE;
        }
        op = MDB_NEXT;
    } while (status == TL_OK && visit(ctx, &record));
    return status == TL_IDLE ? TL_OK : status;
}

uint64_t kv_bytes(struct kv_store *store)
{
    MDB_envinfo info;
    return used_bytes(store, &info);
}

#else

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define UNAVAILABLE(name, ...)                                                                     \
    enum tl_status name(__VA_ARGS__)                                                               \
    {                                                                                              \
        return TL_ERR_UNAVAILABLE;                                                                 \
    }
UNAVAILABLE(kv_open, const char *folder, bool synced, bool unnamed, struct kv_store **store)
UNAVAILABLE(kv_get, struct kv_store *store, const struct kv_record *key, const void **value,
            size_t *bytes)
UNAVAILABLE(kv_put, struct kv_store *store, const struct kv_record *key, const void *value,
            size_t bytes)
UNAVAILABLE(kv_remove, struct kv_store *store, const struct kv_record *record)
UNAVAILABLE(kv_seek, struct kv_store *store, const struct kv_record *from, kv_visit_fn visit,
            void *ctx)
UNAVAILABLE(kv_commit, struct kv_store *store)

void kv_close(struct kv_store *store) {}

void kv_abandon(struct kv_store *store) {}

const char *kv_failure(const struct kv_store *store)
{
    return "";
}

uint64_t kv_bytes(struct kv_store *store)
{
    return 0;
}

#endif
