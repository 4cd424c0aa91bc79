#include "outfile.h"

#include "cleanup.h"
#include "standard_streams.h"
#include "stream_error.h"
#include "temporary_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void release(struct outfile *file)
{
    free(file->path);
    free(file->temporary);
    *file = (struct outfile){0};
}

static void remove_temporary(const struct outfile *file)
{
    if (file->temporary != NULL) {
        (void)unlink(file->temporary);
        cleanup_forget(file->temporary);
    }
}

bool outfile_open_or_stream(struct outfile *file, const char *path, struct error *error)
{
    if (!is_standard_stream(path)) {
        return outfile_open(file, path, error);
    }
    *file = (struct outfile){0};
    char spool[PATH_MAX];
    int fd;
    if (!temporary_file_make(spool, sizeof spool, "output", false, &fd, error)) {
        return false;
    }
    /* Without a name it needs no removing. */
    temporary_file_remove(spool);
    file->stream = fdopen(fd, "w+b");
    if (file->stream == NULL) {
        (void)close(fd);
        return error_set(error, "standard output: out of memory");
    }
    return true;
}

bool outfile_open(struct outfile *file, const char *path, struct error *error)
{
    *file = (struct outfile){0};
    struct stat info;
    bool there = stat(path, &info) == 0;
    if (there && !S_ISREG(info.st_mode)) {
        return error_set(error, "%s: is %s, not a file that can be replaced; name a file", path,
                         S_ISDIR(info.st_mode) ? "a folder" : "a device or a pipe");
    }
    bool leads = there && lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
    file->path = leads ? realpath(path, NULL) : strdup(path);
    if (file->path == NULL || asprintf(&file->temporary, "%s.XXXXXX.tmp", file->path) < 0) {
        file->temporary = NULL;
        release(file);
        return error_set(error, "%s: out of memory", path);
    }
    int fd = mkstemps(file->temporary, 4);
    int why = errno;
    if (fd >= 0) {
        cleanup_add(file->temporary);
    } else {
        release(file);
        return error_set(error,
                         "%s: cannot be written: %s; its folder must be there, and be writable",
                         path, strerror(why));
    }
    /* mkstemps is stricter than a new file ordinarily is. */
    mode_t mask = umask(0);
    (void)umask(mask);
    (void)fchmod(fd, 0666 & ~mask);
    file->stream = fdopen(fd, "w+b");
    if (file->stream == NULL) {
        (void)close(fd);
        remove_temporary(file);
        release(file);
        return error_set(error, "%s: out of memory", path);
    }
    return true;
}

bool outfile_check(const char *path, struct error *error)
{
    struct outfile file;
    bool good = outfile_open(&file, path, error);
    outfile_abort(&file);
    return good;
}

static const char *remedy(int cause)
{
    switch (cause) {
    case ENOSPC:
    case EDQUOT:
        return "; free some space there, or name a place that has more";
    case EFBIG:
        return "; the limit of a file's size is ulimit -f, or the file system's";
    default:
        return "";
    }
}

bool outfile_fail(const char *path, int cause, const char *left, struct error *error)
{
    return error_set(error, "%s: could not be written: %s; %s%s", path, strerror(cause), left,
                     remedy(cause));
}

bool outfile_commit_as(struct outfile *file, const char *name, const char *left,
                       struct error *error)
{
    if (file->temporary == NULL) {
        int unwritten = stream_error(file->stream);
        bool sent = unwritten == 0
                        ? standard_output_send(file->stream, error)
                        : outfile_fail("standard output", unwritten, "nothing was written", error);
        outfile_abort(file);
        return sent;
    }
    int why = stream_error(file->stream);
    bool failed = why != 0;
    if (!failed && fsync(fileno(file->stream)) != 0) {
        why = errno;
        /* Pipes and some file systems cannot be synced; what was written is there all the same. */
        failed = why != EINVAL && why != EROFS;
    }
    if (fclose(file->stream) != 0 && !failed) {
        why = errno;
        failed = true;
    }
    file->stream = NULL;
    if (!failed && rename(file->temporary, file->path) != 0) {
        why = errno;
        failed = true;
    }
    cleanup_forget(file->temporary);
    if (failed) {
        (void)unlink(file->temporary);
        (void)outfile_fail(name, why, left, error);
    }
    release(file);
    return !failed;
}

bool outfile_commit(struct outfile *file, struct error *error)
{
    return outfile_commit_as(file, file->path, OUTFILE_NOTHING_LEFT, error);
}

void outfile_abort(struct outfile *file)
{
    if (file->stream != NULL) {
        (void)fclose(file->stream);
        remove_temporary(file);
    }
    release(file);
}

/* Makes the folder that the first `bytes` of the path name; whether it was not there before. */
static bool make_part(struct folder *folder, size_t bytes)
{
    char rest = folder->path[bytes];
    folder->path[bytes] = '\0';
    bool made = mkdir(folder->path, 0777) == 0;
    if (made) {
        cleanup_add(folder->path);
    }
    folder->path[bytes] = rest;
    if (made && folder->first_bytes == 0) {
        folder->first_bytes = bytes;
    }
    return made;
}

bool folder_open(struct folder *folder, const char *path, struct error *error)
{
    *folder = (struct folder){0};
    (void)snprintf(folder->path, sizeof folder->path, "%s", path);
    size_t length = strlen(folder->path);
    for (size_t i = 1; i < length; i++) {
        if (folder->path[i] == '/') {
            (void)make_part(folder, i);
        }
    }
    struct stat info;
    if ((!make_part(folder, length) && errno != EEXIST) || stat(folder->path, &info) != 0) {
        (void)error_set(error, "%s: cannot be made a folder: %s", path, strerror(errno));
        folder_abort(folder);
        return false;
    }
    if (!S_ISDIR(info.st_mode) || access(folder->path, W_OK) != 0) {
        return error_set(error, "%s: not a folder that can be written to; name another", path);
    }
    return true;
}

void folder_abort(const struct folder *folder)
{
    char part[sizeof folder->path];
    memcpy(part, folder->path, sizeof part);
    for (size_t i = strlen(part); folder->first_bytes > 0 && i >= folder->first_bytes; i--) {
        if (part[i] == '/' || part[i] == '\0') {
            part[i] = '\0';
            (void)rmdir(part);
            cleanup_forget(part);
        }
    }
}

bool folder_make(const char *path, struct error *error)
{
    struct folder folder;
    return folder_open(&folder, path, error);
}
