/*
 * SQLite: a table of keys and values that is its own B-tree (WITHOUT ROWID), with a write-ahead
 * log. The log's index is in this process (locking_mode=EXCLUSIVE), for nobody else has the file
 * open.
 */
#include "kv.h"

#ifdef TL_HAVE_SQLITE

#include "loaded_library.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SQLITE_FUNCTIONS(X)                                                                        \
    X(sqlite3_bind_blob)                                                                           \
    X(sqlite3_close)                                                                               \
    X(sqlite3_column_blob)                                                                         \
    X(sqlite3_column_bytes)                                                                        \
    X(sqlite3_db_filename)                                                                         \
    X(sqlite3_errmsg)                                                                              \
    X(sqlite3_exec)                                                                                \
    X(sqlite3_finalize)                                                                            \
    X(sqlite3_get_autocommit)                                                                      \
    X(sqlite3_open_v2)                                                                             \
    X(sqlite3_prepare_v3)                                                                          \
    X(sqlite3_reset)                                                                               \
    X(sqlite3_step)
LOADED_LIBRARY(SQLITE_FUNCTIONS, "libsqlite3.so.0");

#define SETUP                                                                                      \
    "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=%s;"               \
    "CREATE TABLE IF NOT EXISTS timers(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID"

#define STATEMENT_MAP(X)                                                                           \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                    \
    X(COMMIT, "COMMIT")                                                                            \
    X(GET, "SELECT k, v FROM timers WHERE k = ?1")                                                 \
    X(PUT, "INSERT OR REPLACE INTO timers VALUES(?1, ?2)")                                         \
    X(REMOVE, "DELETE FROM timers WHERE k = ?1")                                                   \
    X(SEEK, "SELECT k, v FROM timers WHERE k >= ?1 ORDER BY k")

enum statement {
#define STATEMENT_ENUM(code, text) code,
    STATEMENT_MAP(STATEMENT_ENUM)
#undef STATEMENT_ENUM
        STATEMENTS
};

struct sqlite_store {
    struct kv_store common;
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS];
};

static enum tl_status status_of(struct sqlite_store *store, int error)
{
    switch (error & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
        return TL_OK;
    default:
        kv_set_failure(&store->common, lib.sqlite3_errmsg(store->db));
        return (error & 0xff) == SQLITE_FULL    ? TL_ERR_DISK_FULL
               : (error & 0xff) == SQLITE_NOMEM ? TL_ERR_NOMEM
                                                : TL_ERR_STORE;
    }
}

static sqlite3_stmt *bound(struct sqlite_store *store, enum statement which,
                           const struct kv_record *record)
{
    sqlite3_stmt *statement = store->statements[which];
    (void)lib.sqlite3_bind_blob(statement, 1, record->key, (int)record->key_bytes, SQLITE_STATIC);
    return statement;
}

/* A statement that gives no rows. */
static enum tl_status run(struct sqlite_store *store, sqlite3_stmt *statement)
{
    (void)lib.sqlite3_step(statement);
    return status_of(store, lib.sqlite3_reset(statement)); /* which says once more what step did */
}

static enum tl_status begin(struct sqlite_store *store)
{
    return lib.sqlite3_get_autocommit(store->db) == 0 ? TL_OK
                                                      : run(store, store->statements[BEGIN]);
}

static enum tl_status sqlite_commit(void *self)
{
    struct sqlite_store *store = self;
    return lib.sqlite3_get_autocommit(store->db) != 0 ? TL_OK
                                                      : run(store, store->statements[COMMIT]);
}

static void sqlite_abandon(void *self)
{
    struct sqlite_store *store = self;
    if (lib.sqlite3_get_autocommit(store->db) == 0) {
        (void)lib.sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    }
}

static void sqlite_close(void *self)
{
    struct sqlite_store *store = self;
    for (size_t i = 0; i < STATEMENTS; i++) {
        (void)lib.sqlite3_finalize(store->statements[i]);
    }
    (void)lib.sqlite3_close(store->db);
    free(store);
}

static enum tl_status set_up(struct sqlite_store *store, const char *path, bool synced)
{
    static const char *const texts[] = {
#define STATEMENT_TEXT(code, text) text,
        STATEMENT_MAP(STATEMENT_TEXT)
#undef STATEMENT_TEXT
    };
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    char setup[512];
    (void)snprintf(setup, sizeof setup, SETUP, synced ? "FULL" : "OFF");
    int error = lib.sqlite3_open_v2(path, &store->db, flags, NULL);
    if (error == SQLITE_OK) {
        error = lib.sqlite3_exec(store->db, setup, NULL, NULL, NULL);
    }
    for (size_t i = 0; i < STATEMENTS && error == SQLITE_OK; i++) {
        error = lib.sqlite3_prepare_v3(store->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                       &store->statements[i], NULL);
    }
    return status_of(store, error);
}

static enum tl_status sqlite_open(const char *folder, bool synced, bool unnamed,
                                  struct kv_store **opened)
{
    (void)unnamed; /* its log is opened by name, and later */
    if (tl_library_load(&library) == NULL) {
        return tl_library_missing();
    }
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/timers.sqlite", folder);
    struct sqlite_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return TL_ERR_NOMEM;
    }
    *opened = &store->common;
    return set_up(store, path, synced);
}

static enum tl_status take_row(sqlite3_stmt *statement, struct kv_record *record)
{
    return kv_take(record, lib.sqlite3_column_blob(statement, 0),
                   (size_t)lib.sqlite3_column_bytes(statement, 0),
                   lib.sqlite3_column_blob(statement, 1),
                   (size_t)lib.sqlite3_column_bytes(statement, 1));
}

static enum tl_status show_rows(struct sqlite_store *store, sqlite3_stmt *statement,
                                kv_visit_fn visit, void *ctx)
{
    enum tl_status status = TL_OK;
    bool more = true;
    while (more && status == TL_OK && lib.sqlite3_step(statement) == SQLITE_ROW) {
        struct kv_record record;
        status = take_row(statement, &record);
        more = status == TL_OK && visit(ctx, &record);
    }
    enum tl_status ended = status_of(store, lib.sqlite3_reset(statement));
    return status != TL_OK ? status : ended;
}

static enum tl_status sqlite_seek(void *self, const struct kv_record *from, kv_visit_fn visit,
                                  void *ctx)
{
    struct sqlite_store *store = self;
    enum tl_status status = begin(store);
    return status == TL_OK ? show_rows(store, bound(store, SEEK, from), visit, ctx) : status;
}

/* Of the one row that there may be. */
static bool take_found(void *ctx, const struct kv_record *record)
{
    *(struct kv_record *)ctx = *record;
    return true;
}

static enum tl_status sqlite_get(void *self, struct kv_record *record)
{
    struct sqlite_store *store = self;
    struct kv_record found = {.key_bytes = 0};
    enum tl_status status = begin(store);
    if (status == TL_OK) {
        status = show_rows(store, bound(store, GET, record), take_found, &found);
    }
    if (status != TL_OK || found.key_bytes == 0) {
        return status != TL_OK ? status : TL_IDLE;
    }
    *record = found;
    return TL_OK;
}

static enum tl_status sqlite_put(void *self, const struct kv_record *record)
{
    struct sqlite_store *store = self;
    enum tl_status status = begin(store);
    if (status != TL_OK) {
        return status;
    }
    sqlite3_stmt *statement = bound(store, PUT, record);
    (void)lib.sqlite3_bind_blob(statement, 2, record->value, (int)record->value_bytes,
                                SQLITE_STATIC);
    return run(store, statement);
}

static enum tl_status sqlite_remove(void *self, const struct kv_record *record)
{
    struct sqlite_store *store = self;
    enum tl_status status = begin(store);
    return status == TL_OK ? run(store, bound(store, REMOVE, record)) : status;
}

static uint64_t file_bytes(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 ? (uint64_t)file.st_size : 0;
}

static uint64_t sqlite_bytes(void *self)
{
    struct sqlite_store *store = self;
    const char *path = lib.sqlite3_db_filename(store->db, "main");
    char log_path[4096];
    (void)snprintf(log_path, sizeof log_path, "%s-wal", path);
    return file_bytes(path) + file_bytes(log_path);
}

const struct kv_engine tl_kv_sqlite = {
    .open = sqlite_open,
    .close = sqlite_close,
    .get = sqlite_get,
    .put = sqlite_put,
    .remove = sqlite_remove,
    .seek = sqlite_seek,
    .commit = sqlite_commit,
    .abandon = sqlite_abandon,
    .bytes = sqlite_bytes,
};

#else

const struct kv_engine tl_kv_sqlite = {.open = kv_open_unavailable};

#endif
