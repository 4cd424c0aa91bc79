#include "crash_shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

__attribute__((visibility("default"))) struct crash_shim timerlab_crash_shim;

static struct crash_shim *const shim = &timerlab_crash_shim;

/* The calls themselves go to the kernel: the C library has only one of each name. */

/* Return the name within the folder of the file that a descriptor is open on, "" for the folder
 * itself, NULL for other files. */
static const char *name_of(int fd, char path[PATH_MAX])
{
    char link[64];
    int saved = errno;
    if (shim->folder == NULL) {
        return NULL;
    }
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    errno = saved;
    if (n < 0) {
        return NULL;
    }
    path[n] = '\0';
    size_t bytes = strlen(shim->folder);
    if (strncmp(path, shim->folder, bytes) != 0 || (path[bytes] != '\0' && path[bytes] != '/')) {
        return NULL;
    }
    return path[bytes] == '/' ? path + bytes + 1 : path + bytes;
}

/* Likewise of a path that is relative to a folder that is open. */
static const char *name_at(int folder, const char *given, char path[PATH_MAX])
{
    if (shim->folder == NULL || given[0] != '/') {
        const char *within = folder != AT_FDCWD ? name_of(folder, path) : NULL;
        return within != NULL && within[0] == '\0' ? given : NULL;
    }
    size_t bytes = strlen(shim->folder);
    bool is_within = strncmp(given, shim->folder, bytes) == 0 && given[bytes] == '/';
    return is_within ? given + bytes + 1 : NULL;
}

static uint64_t file_of(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 ? (uint64_t)info.st_ino : 0;
}

/* A call that is about no file of the folder has no name. */

/* False: the call fails, and errno says how. */
static bool allow(struct shim_call *call)
{
    int failure = call->name != NULL && shim->before != NULL ? shim->before(call) : 0;
    call->bytes /= failure == SHIM_SHORT ? 2 : 1;
    errno = failure > 0 ? failure : errno;
    return failure <= 0;
}

/* Fill in which file of the folder the call is about, and allow it. */
static bool begin(struct shim_call *call, int fd, char path[PATH_MAX])
{
    call->name = name_of(fd, path);
    call->file = call->name != NULL ? file_of(fd) : 0;
    if (call->kind == SHIM_SYNC && call->name != NULL && call->name[0] == '\0') {
        call->kind = SHIM_SYNC_FOLDER;
    }
    return allow(call);
}

/* Return the result of the call, `done`, which is negative if it failed. */
static ssize_t end(struct shim_call *call, ssize_t done)
{
    int saved = errno;
    if (call->name != NULL && done >= 0 && shim->after != NULL) {
        call->bytes = (size_t)done;
        shim->after(call);
    }
    errno = saved;
    return done;
}

/* --- writing --------------------------------------------------------------------------------- */

static ssize_t write_seen(int fd, const void *data, size_t bytes, off_t offset, bool placed)
{
    char path[PATH_MAX];
    struct shim_call call = {.kind = SHIM_WRITE, .data = data, .bytes = bytes};
    if (!begin(&call, fd, path)) {
        return -1;
    }
    if (call.name != NULL) {
        int flags = fcntl(fd, F_GETFL);
        off_t place = placed ? offset : lseek(fd, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
        call.synced = (flags & O_DSYNC) != 0; /* which O_SYNC contains */
        call.offset = (uint64_t)place;
    }
    return end(&call, placed ? syscall(SYS_pwrite64, fd, data, call.bytes, offset)
                             : syscall(SYS_write, fd, data, call.bytes));
}

/* A name of the C library that does the same. */
#define ALSO(name) __attribute__((alias(#name)))

ssize_t write(int fd, const void *data, size_t bytes)
{
    return write_seen(fd, data, bytes, 0, false);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    return write_seen(fd, data, bytes, offset, true);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset) ALSO(pwrite);

static ssize_t write_pieces(int fd, const struct iovec *pieces, int count, off_t offset,
                            bool placed)
{
    ssize_t sum = 0;
    for (int i = 0; i < count; i++) {
        ssize_t done = write_seen(fd, pieces[i].iov_base, pieces[i].iov_len, offset + sum, placed);
        if (done < 0) {
            return sum > 0 ? sum : done;
        }
        sum += done;
        if ((size_t)done < pieces[i].iov_len) {
            break;
        }
    }
    return sum;
}

ssize_t writev(int fd, const struct iovec *pieces, int count)
{
    return write_pieces(fd, pieces, count, 0, false);
}

ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t offset)
{
    return write_pieces(fd, pieces, count, offset, true);
}

ssize_t pwritev64(int fd, const struct iovec *pieces, int count, off64_t offset) ALSO(pwritev);

int posix_fallocate(int fd, off_t offset, off_t length)
{
    char path[PATH_MAX];
    struct stat info;
    struct shim_call call = {.kind = SHIM_TRUNCATE, .offset = (uint64_t)(offset + length)};
    bool longer = fstat(fd, &info) == 0 && info.st_size < offset + length;
    if (!begin(&call, fd, path)) {
        return errno;
    }
    int done = syscall(SYS_fallocate, fd, 0, offset, length) == 0 ? 0 : errno;
    if (done == EOPNOTSUPP) { /* the C library would write to each block */
        done = !longer || syscall(SYS_ftruncate, fd, offset + length) == 0 ? 0 : errno;
    }
    if (longer) {
        (void)end(&call, -done);
    }
    return done;
}

int posix_fallocate64(int fd, off64_t offset, off64_t length) ALSO(posix_fallocate);

int ftruncate(int fd, off_t length)
{
    char path[PATH_MAX];
    struct shim_call call = {.kind = SHIM_TRUNCATE, .offset = (uint64_t)length};
    return begin(&call, fd, path) ? (int)end(&call, syscall(SYS_ftruncate, fd, length)) : -1;
}

int ftruncate64(int fd, off64_t length) ALSO(ftruncate);

static int sync_seen(int fd, long number)
{
    char path[PATH_MAX];
    struct shim_call call = {.kind = SHIM_SYNC};
    return begin(&call, fd, path) ? (int)end(&call, syscall(number, fd)) : -1;
}

int fsync(int fd)
{
    return sync_seen(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return sync_seen(fd, SYS_fdatasync);
}

/* --- names ----------------------------------------------------------------------------------- */

static int open_seen(int folder, const char *given, int flags, mode_t mode)
{
    struct stat info;
    bool makes = shim->folder != NULL && (flags & (O_CREAT | O_TRUNC)) != 0;
    bool fresh = makes && ((flags & O_TRUNC) != 0 || fstatat(folder, given, &info, 0) != 0);
    int fd = (int)syscall(SYS_openat, folder, given, flags, mode);
    if (fd >= 0 && fresh) {
        char path[PATH_MAX];
        struct shim_call call = {.kind = SHIM_OPEN, .name = name_of(fd, path)};
        if (call.name != NULL && call.name[0] != '\0') {
            call.file = file_of(fd);
            (void)end(&call, 0);
        }
    }
    return fd;
}

static mode_t mode_of(int flags, va_list arguments)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? (mode_t)va_arg(arguments, unsigned) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_seen(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) ALSO(open);

int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_seen(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) ALSO(openat);

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    char path[PATH_MAX];
    char other[PATH_MAX];
    struct shim_call call = {.kind = SHIM_RENAME, .other = name_at(to_folder, to, other)};
    call.name = call.other != NULL ? name_at(from_folder, from, path) : NULL;
    return allow(&call) ? (int)end(&call, syscall(SYS_renameat, from_folder, from, to_folder, to))
                        : -1;
}

int rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlinkat(int folder, const char *given, int flags)
{
    char path[PATH_MAX];
    struct shim_call call = {.kind = SHIM_UNLINK, .name = name_at(folder, given, path)};
    (void)allow(&call);
    return (int)end(&call, syscall(SYS_unlinkat, folder, given, flags));
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}
