/*
 * RocksDB: a log-structured merge tree with a write-ahead log. The transaction is a batch with an
 * index, which is read before the tree.
 *
 * It starts threads of its own, to write sorted files and to merge them. A removed key stays as a
 * tombstone until it is merged away, and a seek that begins before it has to pass it.
 */
#include "kv.h"

#ifdef TL_HAVE_ROCKSDB

#include "loaded_library.h"

#include <dirent.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROCKSDB_FUNCTIONS(X)                                                                       \
    X(rocksdb_block_based_options_create)                                                          \
    X(rocksdb_block_based_options_destroy)                                                         \
    X(rocksdb_block_based_options_set_block_cache)                                                 \
    X(rocksdb_cache_create_lru)                                                                    \
    X(rocksdb_cache_destroy)                                                                       \
    X(rocksdb_cache_get_usage)                                                                     \
    X(rocksdb_close)                                                                               \
    X(rocksdb_create_iterator)                                                                     \
    X(rocksdb_free)                                                                                \
    X(rocksdb_iter_destroy)                                                                        \
    X(rocksdb_iter_get_error)                                                                      \
    X(rocksdb_iter_key)                                                                            \
    X(rocksdb_iter_next)                                                                           \
    X(rocksdb_iter_seek)                                                                           \
    X(rocksdb_iter_valid)                                                                          \
    X(rocksdb_iter_value)                                                                          \
    X(rocksdb_open)                                                                                \
    X(rocksdb_options_create)                                                                      \
    X(rocksdb_options_destroy)                                                                     \
    X(rocksdb_options_set_block_based_table_factory)                                               \
    X(rocksdb_options_set_create_if_missing)                                                       \
    X(rocksdb_options_set_db_log_dir)                                                              \
    X(rocksdb_options_set_info_log_level)                                                          \
    X(rocksdb_options_set_write_buffer_size)                                                       \
    X(rocksdb_property_int)                                                                        \
    X(rocksdb_readoptions_create)                                                                  \
    X(rocksdb_readoptions_destroy)                                                                 \
    X(rocksdb_write_writebatch_wi)                                                                 \
    X(rocksdb_writebatch_wi_clear)                                                                 \
    X(rocksdb_writebatch_wi_count)                                                                 \
    X(rocksdb_writebatch_wi_create)                                                                \
    X(rocksdb_writebatch_wi_create_iterator_with_base)                                             \
    X(rocksdb_writebatch_wi_delete)                                                                \
    X(rocksdb_writebatch_wi_destroy)                                                               \
    X(rocksdb_writebatch_wi_get_from_batch_and_db)                                                 \
    X(rocksdb_writebatch_wi_put)                                                                   \
    X(rocksdb_writeoptions_create)                                                                 \
    X(rocksdb_writeoptions_destroy)                                                                \
    X(rocksdb_writeoptions_set_sync)
LOADED_LIBRARY(ROCKSDB_FUNCTIONS, ROCKSDB_FILES);

#define CACHE_BYTES        ((size_t)16 << 20)
#define WRITE_BUFFER_BYTES ((size_t)16 << 20)

/* Of the library's own log: what it writes when it opens, and then hardly anything. */
#define FATAL_ONLY         4

struct rocksdb_store {
    struct kv_store common;
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_cache_t *cache;
    rocksdb_readoptions_t *reading;
    rocksdb_writeoptions_t *writing;
    rocksdb_writebatch_wi_t *batch; /* the transaction */
};

/* Frees the error, which is NULL if there was none. A full disk is like any other failure: it is
 * final, for to write once more to a file that failed ends the process, by an assertion. */
static enum tl_status status_of(struct rocksdb_store *store, char *error)
{
    if (error == NULL) {
        return TL_OK;
    }
    kv_set_failure(&store->common, error);
    lib.rocksdb_free(error);
    return TL_ERR_STORE;
}

static const char *chars(const uint8_t *bytes)
{
    return (const char *)bytes;
}

static void rocks_close(void *self)
{
    struct rocksdb_store *store = self;
    if (store->db != NULL) {
        lib.rocksdb_close(store->db);
    }
    lib.rocksdb_writebatch_wi_destroy(store->batch);
    lib.rocksdb_readoptions_destroy(store->reading);
    lib.rocksdb_writeoptions_destroy(store->writing);
    lib.rocksdb_options_destroy(store->options);
    lib.rocksdb_cache_destroy(store->cache);
    free(store);
}

static void set_options(struct rocksdb_store *store, bool synced)
{
    rocksdb_block_based_table_options_t *table = lib.rocksdb_block_based_options_create();
    store->cache = lib.rocksdb_cache_create_lru(CACHE_BYTES);
    store->options = lib.rocksdb_options_create();
    store->reading = lib.rocksdb_readoptions_create();
    store->writing = lib.rocksdb_writeoptions_create();
    store->batch = lib.rocksdb_writebatch_wi_create(0, 1);
    lib.rocksdb_block_based_options_set_block_cache(table, store->cache);
    lib.rocksdb_options_set_block_based_table_factory(store->options, table);
    lib.rocksdb_block_based_options_destroy(table);
    lib.rocksdb_options_set_create_if_missing(store->options, 1);
    lib.rocksdb_options_set_write_buffer_size(store->options, WRITE_BUFFER_BYTES);
    lib.rocksdb_options_set_info_log_level(store->options, FATAL_ONLY);
    lib.rocksdb_writeoptions_set_sync(store->writing, synced);
}

/* The library writes a log of what it does, which cannot be turned off; and a line after one that
 * could not be written ends the process. So the log is kept from the store's disk: in a folder in
 * memory, which is removed once it is open. The store's folder is locked, so that one of this name
 * is what a killed process left. False: there is none. */
static bool make_log_folder(const char *folder, char *path, size_t path_bytes)
{
    struct stat store;
    struct stat made;
    if (stat(folder, &store) != 0) {
        return false;
    }
    (void)snprintf(path, path_bytes, "/dev/shm/timerlab-rocksdb-%ju-%ju", (uintmax_t)store.st_dev,
                   (uintmax_t)store.st_ino);
    (void)mkdir(path, 0700);
    return lstat(path, &made) == 0 && S_ISDIR(made.st_mode) && made.st_uid == geteuid();
}

static void remove_log_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (const struct dirent *file; folder != NULL && (file = readdir(folder)) != NULL;) {
        (void)unlinkat(dirfd(folder), file->d_name, 0);
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    (void)rmdir(path);
}

static enum tl_status rocks_open(const char *folder, bool synced, bool unnamed,
                                 struct kv_store **opened)
{
    (void)unnamed; /* it opens files by name all the time */
    if (tl_library_load(&library) == NULL) {
        return TL_ERR_UNAVAILABLE;
    }
    struct rocksdb_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return TL_ERR_NOMEM;
    }
    set_options(store, synced);
    char log_folder[128];
    bool is_apart = make_log_folder(folder, log_folder, sizeof log_folder);
    if (is_apart) {
        lib.rocksdb_options_set_db_log_dir(store->options, log_folder);
    }
    char *error = NULL;
    store->db = lib.rocksdb_open(store->options, folder, &error);
    if (is_apart) {
        remove_log_folder(log_folder);
    }
    *opened = &store->common;
    return status_of(store, error);
}

static enum tl_status rocks_get(void *self, struct kv_record *record)
{
    struct rocksdb_store *store = self;
    char *error = NULL;
    size_t bytes = 0;
    char *value = lib.rocksdb_writebatch_wi_get_from_batch_and_db(
        store->batch, store->db, store->reading, chars(record->key), record->key_bytes, &bytes,
        &error);
    if (value == NULL) {
        return error == NULL ? TL_IDLE : status_of(store, error);
    }
    bool fits = kv_copy(record->value, KV_VALUE_BYTES, &record->value_bytes, value, bytes);
    lib.rocksdb_free(value);
    return fits ? TL_OK : TL_ERR_STORE;
}

static enum tl_status rocks_put(void *self, const struct kv_record *record)
{
    struct rocksdb_store *store = self;
    lib.rocksdb_writebatch_wi_put(store->batch, chars(record->key), record->key_bytes,
                                  chars(record->value), record->value_bytes);
    return TL_OK;
}

static enum tl_status rocks_remove(void *self, const struct kv_record *record)
{
    struct rocksdb_store *store = self;
    lib.rocksdb_writebatch_wi_delete(store->batch, chars(record->key), record->key_bytes);
    return TL_OK;
}

/* The record under the iterator. */
static enum tl_status take_record(const rocksdb_iterator_t *all, struct kv_record *record)
{
    size_t key_bytes = 0;
    size_t value_bytes = 0;
    const char *key = lib.rocksdb_iter_key(all, &key_bytes);
    const char *value = lib.rocksdb_iter_value(all, &value_bytes);
    return kv_take(record, key, key_bytes, value, value_bytes);
}

static enum tl_status rocks_seek(void *self, const struct kv_record *from, kv_visit_fn visit,
                                 void *ctx)
{
    struct rocksdb_store *store = self;
    enum tl_status status = TL_OK;
    /* The second owns the first. */
    rocksdb_iterator_t *all = lib.rocksdb_writebatch_wi_create_iterator_with_base(
        store->batch, lib.rocksdb_create_iterator(store->db, store->reading));
    lib.rocksdb_iter_seek(all, chars(from->key), from->key_bytes);
    bool more = true;
    while (more && lib.rocksdb_iter_valid(all)) {
        struct kv_record record;
        status = take_record(all, &record);
        more = status == TL_OK && visit(ctx, &record);
        if (more) {
            lib.rocksdb_iter_next(all);
        }
    }
    char *error = NULL;
    lib.rocksdb_iter_get_error(all, &error);
    lib.rocksdb_iter_destroy(all);
    enum tl_status ended = status_of(store, error);
    return status != TL_OK ? status : ended;
}

static void rocks_abandon(void *self)
{
    struct rocksdb_store *store = self;
    lib.rocksdb_writebatch_wi_clear(store->batch);
}

static enum tl_status rocks_commit(void *self)
{
    struct rocksdb_store *store = self;
    if (lib.rocksdb_writebatch_wi_count(store->batch) == 0) {
        return TL_OK;
    }
    char *error = NULL;
    lib.rocksdb_write_writebatch_wi(store->db, store->writing, store->batch, &error);
    rocks_abandon(store);
    return status_of(store, error);
}

static uint64_t rocks_bytes(void *self)
{
    static const char *const parts[] = {"rocksdb.total-sst-files-size",
                                        "rocksdb.cur-size-all-mem-tables"};
    struct rocksdb_store *store = self;
    uint64_t bytes = lib.rocksdb_cache_get_usage(store->cache);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        uint64_t part = 0;
        (void)lib.rocksdb_property_int(store->db, parts[i], &part);
        bytes += part;
    }
    return bytes;
}

const struct kv_engine tl_kv_rocksdb = {
    .open = rocks_open,
    .close = rocks_close,
    .get = rocks_get,
    .put = rocks_put,
    .remove = rocks_remove,
    .seek = rocks_seek,
    .commit = rocks_commit,
    .abandon = rocks_abandon,
    .bytes = rocks_bytes,
};

#else

const struct kv_engine tl_kv_rocksdb = {.open = kv_open_unavailable};

#endif
