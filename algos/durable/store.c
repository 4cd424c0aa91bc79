#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Zeros are written in pieces of this. */
#define ZEROS_BYTES (UINT64_C(64) << 10)

void store_init(struct store *store, const char *path, bool waits, const char *owner)
{
    *store = (struct store){.folder = -1, .waits = waits};
    (void)snprintf(store->path, sizeof store->path, "%s", path);
    (void)snprintf(store->owner, sizeof store->owner, "%s", owner);
}

const char *store_temporary_place(void)
{
    const char *place = getenv("TMPDIR");
    return place != NULL && place[0] != '\0' ? place : "/tmp";
}

/* Wait until the name of a new folder is on the disk. Returns false, with errno set. */
static bool store_sync_parent(const char *path)
{
    char parent[4096];
    if (snprintf(parent, sizeof parent, "%s/..", path) >= (int)sizeof parent) {
        errno = ENAMETOOLONG;
        return false;
    }
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool synced = fsync(fd) == 0;
    int reason = errno;
    (void)close(fd);
    errno = reason;
    return synced;
}

static const char *path_of(const struct store *store)
{
    return store->path[0] != '\0' ? store->path : store_temporary_place();
}

enum tl_status store_fail(struct store *store, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(store->failure, sizeof store->failure, format, arguments);
    va_end(arguments);
    return TL_ERR_STORE;
}

/* Likewise, with the reason in errno; returns TL_ERR_DISK_FULL for a full disk. */
static enum tl_status store_fail_errno(struct store *store, const char *what, const char *name)
{
    int reason = errno;
    (void)store_fail(store, "%s%s%s: %s: %s", path_of(store), name[0] != '\0' ? "/" : "", name,
                     what, strerror(reason));
    return reason == ENOSPC || reason == EDQUOT ? TL_ERR_DISK_FULL : TL_ERR_STORE;
}

/* A folder that may not be on the disk is removed, because the next process would take it for
 * safe. */
static enum tl_status make_folder(struct store *store)
{
    if (mkdir(store->path, 0777) != 0) {
        return errno == EEXIST ? TL_OK : store_fail_errno(store, "the folder cannot be made", "");
    }
    if (!store->waits) {
        return TL_OK;
    }
    store->syncs++;
    if (store_sync_parent(store->path)) {
        return TL_OK;
    }
    enum tl_status status = store_fail_errno(store, "the folder did not reach the disk", "");
    (void)rmdir(store->path);
    return status;
}

/* The process that holds the lock of a file, by the kernel's list of locks; 0: unknown. */
static long holder_of(int fd)
{
    struct stat file;
    char line[256];
    long holder = 0;
    FILE *locks = fopen("/proc/locks", "re");
    if (locks == NULL || fstat(fd, &file) != 0) {
        file.st_ino = 0;
    }
    while (locks != NULL && holder == 0 && fgets(line, sizeof line, locks) != NULL) {
        /* "1: FLOCK  ADVISORY  WRITE 1234 fd:01:56789 0 EOF" */
        long pid = 0;
        unsigned long inode = 0;
        if (sscanf(line, "%*d: FLOCK %*s %*s %ld %*x:%*x:%lu", &pid, &inode) == 2 &&
            inode == file.st_ino) {
            holder = pid;
        }
    }
    if (locks != NULL) {
        (void)fclose(locks);
    }
    return holder;
}

static enum tl_status fail_locked(struct store *store, int folder)
{
    long holder = holder_of(folder);
    char path[64];
    char name[64] = "";
    (void)snprintf(path, sizeof path, "/proc/%ld/comm", holder);
    FILE *comm = holder > 0 ? fopen(path, "re") : NULL;
    if (comm != NULL) {
        if (fgets(name, sizeof name, comm) != NULL) {
            name[strcspn(name, "\n")] = '\0';
        }
        (void)fclose(comm);
    }
    return holder > 0 ? store_fail(store, "%s: process %ld (%s) uses this folder", path_of(store),
                                   holder, name)
                      : store_fail(store, "%s: another process uses this folder", path_of(store));
}

static enum tl_status check_owner(struct store *store)
{
    char found[STORE_OWNER_BYTES + 1] = "";
    int fd = openat(store->folder, STORE_OWNER, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? TL_OK : store_fail_errno(store, "cannot be opened", STORE_OWNER);
    }
    size_t got = 0;
    enum tl_status status = store_read(store, fd, STORE_OWNER, found, STORE_OWNER_BYTES, 0, &got);
    (void)close(fd);
    if (status != TL_OK) {
        return status;
    }
    found[strcspn(found, "\n")] = '\0';
    store->is_owned = strcmp(found, store->owner) == 0;
    return store->is_owned ? TL_OK
                           : store_fail(store, "%s: belongs to %s, and is opened as %s",
                                        path_of(store), found, store->owner);
}

enum tl_status store_open(struct store *store)
{
    if (store->folder >= 0) {
        return TL_OK;
    }
    enum tl_status status = store->path[0] != '\0' ? make_folder(store) : TL_OK;
    if (status != TL_OK) {
        return status;
    }
    store->folder = open(path_of(store), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store->folder < 0) {
        return store_fail_errno(store, "the folder cannot be opened", "");
    }
    if (store->path[0] == '\0') {
        return TL_OK;
    }
    if (flock(store->folder, LOCK_EX | LOCK_NB) != 0) {
        status = errno == EWOULDBLOCK ? fail_locked(store, store->folder)
                                      : store_fail_errno(store, "the folder cannot be locked", "");
    } else {
        status = check_owner(store);
    }
    if (status != TL_OK) {
        store_close(store);
    }
    return status;
}

enum tl_status store_set_owner(struct store *store)
{
    char text[STORE_OWNER_BYTES + 2];
    static const char unfinished[] = STORE_OWNER STORE_UNFINISHED;
    if (store->path[0] == '\0' || store->is_owned) {
        return TL_OK;
    }
    int fd = -1;
    enum tl_status status = store_file(store, unfinished, true, &fd);
    if (status != TL_OK) {
        return status;
    }
    int length = snprintf(text, sizeof text, "%s\n", store->owner);
    status = store_write(store, fd, unfinished, text, (size_t)length, 0);
    if (status == TL_OK) {
        status = store_sync_new(store, fd, unfinished);
    }
    (void)close(fd);
    if (status == TL_OK) {
        status = store_rename(store, unfinished, STORE_OWNER);
    }
    if (status == TL_OK) {
        status = store_sync_folder(store);
    }
    store->is_owned = status == TL_OK;
    return status;
}

void store_close(struct store *store)
{
    if (store->folder >= 0) {
        (void)close(store->folder);
        store->folder = -1;
    }
}

void store_name(char name[STORE_NAME_BYTES], const char *word, uint64_t number, const char *suffix)
{
    (void)snprintf(name, STORE_NAME_BYTES, "%s-%016" PRIx64 "%s", word, number, suffix);
}

/* Parse a name: `word`, a dash, a number, `suffix`, and nothing else. */
static bool store_name_is(const char *name, const char *word, const char *suffix, uint64_t *number)
{
    size_t bytes = strlen(word);
    if (strncmp(name, word, bytes) != 0 || name[bytes] != '-') {
        return false;
    }
    const char *digits = name + bytes + 1;
    if (strspn(digits, "0123456789abcdef") != 16 || strcmp(digits + 16, suffix) != 0) {
        return false;
    }
    *number = strtoull(digits, NULL, 16);
    return true;
}

/* The folder, to be read from its beginning. */
static DIR *list_folder(struct store *store)
{
    int again = openat(store->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = again >= 0 ? fdopendir(again) : NULL;
    if (listing == NULL) {
        (void)store_fail_errno(store, "the folder cannot be read", "");
        if (again >= 0) {
            (void)close(again);
        }
    }
    return listing;
}

static bool add_number(struct store_numbers *numbers, uint64_t number,
                       const struct tl_allocator *allocator)
{
    if (numbers->count == numbers->room) {
        size_t room = numbers->room > 0 ? 2 * numbers->room : 16;
        uint64_t *at = allocator->resize(allocator->ctx, numbers->at, numbers->room * sizeof *at,
                                         room * sizeof *at, alignof(uint64_t));
        if (at == NULL) {
            return false;
        }
        numbers->at = at;
        numbers->room = room;
    }
    size_t i = numbers->count++;
    for (; i > 0 && numbers->at[i - 1] > number; i--) {
        numbers->at[i] = numbers->at[i - 1];
    }
    numbers->at[i] = number;
    return true;
}

enum tl_status store_list(struct store *store, const char *word,
                          const struct tl_allocator *allocator, struct store_numbers *numbers)
{
    *numbers = (struct store_numbers){0};
    DIR *listing = list_folder(store);
    if (listing == NULL) {
        return TL_ERR_STORE;
    }
    enum tl_status status = TL_OK;
    for (const struct dirent *entry = readdir(listing); entry != NULL && status == TL_OK;
         entry = readdir(listing)) {
        uint64_t number;
        if (store_name_is(entry->d_name, word, "", &number) &&
            !add_number(numbers, number, allocator)) {
            status = TL_ERR_NOMEM;
        }
    }
    (void)closedir(listing);
    return status;
}

void store_numbers_release(struct store_numbers *numbers, const struct tl_allocator *allocator)
{
    tl_free(allocator, numbers->at, numbers->room * sizeof *numbers->at, alignof(uint64_t));
    *numbers = (struct store_numbers){0};
}

void store_remove_unfinished(struct store *store)
{
    DIR *listing = list_folder(store);
    if (listing == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        uint64_t number;
        if (store_name_is(entry->d_name, STORE_LOG, STORE_UNFINISHED, &number) ||
            store_name_is(entry->d_name, STORE_SNAPSHOT, STORE_UNFINISHED, &number)) {
            store_remove(store, entry->d_name);
        }
    }
    (void)closedir(listing);
}

/* Open a file without a name; where the file system has no such file, one that has lost its
 * name. */
static int open_nameless(const struct store *store)
{
    int nameless = open(path_of(store), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (nameless >= 0 || errno != EOPNOTSUPP) {
        return nameless;
    }
    char path[512];
    int length = snprintf(path, sizeof path, "%s/timerlab-durable-XXXXXX", path_of(store));
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) {
        (void)unlink(path);
    }
    return fd;
}

enum tl_status store_file(struct store *store, const char *name, bool fresh, int *fd)
{
    if (store->path[0] == '\0') {
        *fd = open_nameless(store);
        return *fd < 0 ? store_fail_errno(store, "cannot be opened", name) : TL_OK;
    }
    int flags = O_RDWR | O_CLOEXEC | (fresh ? O_CREAT | O_TRUNC : 0);
    *fd = openat(store->folder, name, flags, 0666);
    return *fd < 0 ? store_fail_errno(store, "cannot be opened", name) : TL_OK;
}

enum tl_status store_write(struct store *store, int fd, const char *name, const void *data,
                           size_t bytes, uint64_t at)
{
    const char *from = data;
    while (bytes > 0) {
        ssize_t n = pwrite(fd, from, bytes, (off_t)at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? ENOSPC : errno;
            return store_fail_errno(store, "cannot be written", name);
        }
        store->bytes_written += (uint64_t)n;
        from += n;
        bytes -= (size_t)n;
        at += (uint64_t)n;
    }
    return TL_OK;
}

static enum tl_status write_zeros(struct store *store, int fd, const char *name, uint64_t bytes)
{
    static const char zeros[ZEROS_BYTES];
    enum tl_status status = TL_OK;
    for (uint64_t at = 0; at < bytes && status == TL_OK; at += ZEROS_BYTES) {
        uint64_t rest = bytes - at;
        status = store_write(store, fd, name, zeros,
                             (size_t)(rest < ZEROS_BYTES ? rest : ZEROS_BYTES), at);
    }
    return status;
}

enum tl_status store_fill(struct store *store, int fd, const char *name, uint64_t bytes)
{
    if (store->waits) {
        return write_zeros(store, fd, name, bytes);
    }
    errno = posix_fallocate(fd, 0, (off_t)bytes);
    return errno == 0 ? TL_OK : store_fail_errno(store, "cannot be made so long", name);
}

enum tl_status store_read(struct store *store, int fd, const char *name, void *data, size_t bytes,
                          uint64_t at, size_t *got)
{
    *got = 0;
    while (*got < bytes) {
        ssize_t n = pread(fd, (char *)data + *got, bytes - *got, (off_t)(at + *got));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return store_fail_errno(store, "cannot be read", name);
        }
        if (n == 0) {
            break;
        }
        *got += (size_t)n;
    }
    return TL_OK;
}

enum tl_status store_sync_new(struct store *store, int fd, const char *name)
{
    if (!store->waits) {
        return TL_OK;
    }
    store->syncs++;
    return fdatasync(fd) == 0 ? TL_OK : store_fail_errno(store, "did not reach the disk", name);
}

static enum tl_status final_failure(struct store *store, const char *name)
{
    store->final = true;
    (void)store_fail_errno(store, "did not reach the disk, which is final", name);
    return TL_ERR_STORE;
}

enum tl_status store_sync(struct store *store, int fd, const char *name)
{
    if (!store->waits) {
        return TL_OK;
    }
    store->syncs++;
    return fdatasync(fd) == 0 ? TL_OK : final_failure(store, name);
}

enum tl_status store_sync_folder(struct store *store)
{
    if (!store->waits) {
        return TL_OK;
    }
    store->syncs++;
    return fsync(store->folder) == 0 ? TL_OK : final_failure(store, "");
}

enum tl_status store_rename(struct store *store, const char *from, const char *to)
{
    return store->path[0] == '\0' || renameat(store->folder, from, store->folder, to) == 0
               ? TL_OK
               : store_fail_errno(store, "cannot be renamed", from);
}

void store_remove(struct store *store, const char *name)
{
    if (store->path[0] != '\0') {
        (void)unlinkat(store->folder, name, 0);
    }
}
