#include "disk_floor.h"

#include "memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* More than a few commits of any size that is measured. */
#define FILE_BYTES ((size_t)8 << 20)

const char *disk_floor_place(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL && folder[0] != '\0' ? folder : "/tmp";
}

bool disk_floor_is_memory(void)
{
    struct statfs system;
    return statfs(disk_floor_place(), &system) == 0 && system.f_type == TMPFS_MAGIC;
}

static bool write_all(int fd, const unsigned char *bytes, size_t count, size_t at)
{
    while (count > 0) {
        ssize_t written = pwrite(fd, bytes, count, (off_t)at);
        if (written <= 0) {
            return false;
        }
        bytes += written;
        count -= (size_t)written;
        at += (size_t)written;
    }
    return true;
}

bool disk_floor_open(struct disk_floor *disk, uint64_t commit)
{
    *disk = (struct disk_floor){.buffer_bytes = commit * DISK_RECORD_BYTES};
    disk->fd = open(disk_floor_place(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    disk->buffer = memory_new(commit, DISK_RECORD_BYTES);
    bool done = disk->fd >= 0;
    for (size_t at = 0; done && at < FILE_BYTES; at += disk->buffer_bytes) {
        done = write_all(disk->fd, disk->buffer, disk->buffer_bytes, at);
    }
    return done && fsync(disk->fd) == 0;
}

bool disk_floor_append(struct disk_floor *disk, uint64_t commits, uint64_t commit, bool waits)
{
    size_t bytes = commit * DISK_RECORD_BYTES;
    for (uint64_t i = 0; i < commits; i++) {
        if (disk->at + bytes > FILE_BYTES) {
            disk->at = 0;
        }
        disk->writes++;
        memcpy(disk->buffer, &disk->writes, sizeof disk->writes);
        if (!write_all(disk->fd, disk->buffer, bytes, disk->at) ||
            (waits && fdatasync(disk->fd) != 0)) {
            return false;
        }
        disk->at += bytes;
    }
    return true;
}

void disk_floor_close(struct disk_floor *disk)
{
    if (disk->fd >= 0) {
        (void)close(disk->fd);
    }
    free(disk->buffer);
}

/* --- LMDB ------------------------------------------------------------------------------------ */

#ifdef TL_HAVE_LMDB

#include <endian.h>
#include <lmdb.h>
#include <stdio.h>

/* Address space, of which the file takes what it needs. */
#define MAP_BYTES ((size_t)16 << 30)

struct key {
    uint64_t deadline; /* highest byte first */
    uint32_t id;       /* likewise */
} __attribute__((packed));

struct bare_lmdb {
    MDB_env *env;
    MDB_txn *txn; /* NULL: none is open */
    MDB_dbi table;
    uint64_t number;
    uint64_t deadlines[]; /* by id; 0: not pending */
};

static enum tl_status status_of(int error)
{
    return error == 0 ? TL_OK : TL_ERR_STORE;
}

static int begin(struct bare_lmdb *bare)
{
    return bare->txn != NULL ? 0 : mdb_txn_begin(bare->env, NULL, 0, &bare->txn);
}

static int commit(struct bare_lmdb *bare)
{
    int error = bare->txn != NULL ? mdb_txn_commit(bare->txn) : 0;
    bare->txn = NULL;
    return error;
}

static void bare_destroy(void *self)
{
    struct bare_lmdb *bare = self;
    if (bare->txn != NULL) {
        mdb_txn_abort(bare->txn);
    }
    mdb_env_close(bare->env);
    free(bare);
}

static enum tl_status bare_create(const struct tl_config *config, void **self)
{
    struct bare_lmdb *bare =
        memory_new(1, sizeof *bare + config->capacity * sizeof bare->deadlines[0]);
    if (mdb_env_create(&bare->env) != 0) {
        free(bare);
        return TL_ERR_NOMEM;
    }
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/timerlab-bench-%ld.lmdb", disk_floor_place(),
                   (long)getpid());
    bool waits = config->options[0] != 0;
    int error = mdb_env_set_mapsize(bare->env, MAP_BYTES);
    if (error == 0) {
        error = mdb_env_open(
            bare->env, path,
            MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS | (waits ? 0U : (unsigned)MDB_NOSYNC), 0600);
        (void)unlink(path);
    }
    if (error == 0) {
        error = begin(bare);
    }
    if (error == 0) {
        error = mdb_dbi_open(bare->txn, NULL, 0, &bare->table);
    }
    if (error != 0) {
        bare_destroy(bare);
        return TL_ERR_STORE;
    }
    *self = bare;
    return TL_OK;
}

static int remove_key(struct bare_lmdb *bare, uint64_t deadline, uint32_t id)
{
    struct key key = {htobe64(deadline), htobe32(id)};
    MDB_val name = {sizeof key, &key};
    return mdb_del(bare->txn, bare->table, &name, NULL);
}

static enum tl_status bare_start(void *self, uint32_t id, uint64_t deadline)
{
    struct bare_lmdb *bare = self;
    struct key key = {htobe64(deadline), htobe32(id)};
    MDB_val name = {sizeof key, &key};
    MDB_val value = {sizeof bare->number, &bare->number};
    int error = begin(bare);
    if (error == 0 && bare->deadlines[id] != 0) {
        error = remove_key(bare, bare->deadlines[id], id);
    }
    bare->number++;
    bare->deadlines[id] = deadline;
    return status_of(error == 0 ? mdb_put(bare->txn, bare->table, &name, &value, 0) : error);
}

static enum tl_status bare_stop(void *self, uint32_t id)
{
    struct bare_lmdb *bare = self;
    int error = begin(bare);
    if (error == 0) {
        error = remove_key(bare, bare->deadlines[id], id);
    }
    bare->deadlines[id] = 0;
    return status_of(error);
}

static uint64_t bare_advance(void *self, uint64_t now, uint64_t budget, tl_fire_fn fire, void *ctx)
{
    struct bare_lmdb *bare = self;
    MDB_cursor *cursor = NULL;
    uint64_t fired = 0;
    if (begin(bare) != 0 || mdb_cursor_open(bare->txn, bare->table, &cursor) != 0) {
        return 0;
    }
    struct key key;
    MDB_val name;
    MDB_val value;
    MDB_cursor_op op = MDB_FIRST;
    for (; fired < budget && mdb_cursor_get(cursor, &name, &value, op) == 0; op = MDB_NEXT) {
        memcpy(&key, name.mv_data, sizeof key);
        if (be64toh(key.deadline) > now || mdb_cursor_del(cursor, 0) != 0) {
            break;
        }
        bare->deadlines[be32toh(key.id)] = 0;
        fired++;
        fire(ctx, be32toh(key.id), now);
    }
    mdb_cursor_close(cursor);
    return fired;
}

static enum tl_status bare_sync(void *self, uint64_t *durable_sequence)
{
    struct bare_lmdb *bare = self;
    *durable_sequence = bare->number;
    return status_of(commit(bare));
}

const struct tl_algo *disk_floor_lmdb(void)
{
    static const struct tl_algo bare = {
        .name = "lmdb",
        .create = bare_create,
        .destroy = bare_destroy,
        .start = bare_start,
        .stop = bare_stop,
        .advance = bare_advance,
        .sync = bare_sync,
    };
    return &bare;
}

#else

const struct tl_algo *disk_floor_lmdb(void)
{
    return NULL;
}

#endif
