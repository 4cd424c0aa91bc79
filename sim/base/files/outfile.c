#include "outfile.h"

#include "cleanup.h"
#include "standard_streams.h"
#include "stream_error.h"
#include "temporary_file.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool outfile_open(struct outfile *file, const char *path, struct error *error)
{
    struct stat info;
    char folder[PATH_MAX];
    file->stream = NULL;
    bool there = stat(path, &info) == 0;
    if (there && !S_ISREG(info.st_mode)) {
        return error_set(error, "%s: is %s, not a file that can be replaced; name a file", path,
                         S_ISDIR(info.st_mode) ? "a folder" : "a device or a pipe");
    }
    if (!there && errno != ENOENT) {
        return error_set(error, "%s: cannot be written: %s", path, strerror(errno));
    }
    bool leads = there && lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
    errno = ENAMETOOLONG;
    bool fits = leads ? realpath(path, file->path) != NULL
                      : snprintf(file->path, PATH_MAX, "%s", path) < PATH_MAX;
    (void)snprintf(folder, sizeof folder, "%s", file->path);
    int fd = fits ? temporary_make_in(dirname(folder), false, file->temporary) : -1;
    if (fd < 0) {
        return error_set(error,
                         "%s: cannot be written: %s; its folder must be there, and be writable",
                         path, strerror(errno));
    }
    /* mkostemp is stricter than a new file ordinarily is. */
    mode_t mask = umask(0);
    (void)umask(mask);
    (void)fchmod(fd, 0666 & ~mask);
    file->stream = fdopen(fd, "w+b");
    if (file->stream == NULL) {
        temporary_remove(file->temporary);
        (void)close(fd);
        return error_set(error, "%s: out of memory", path);
    }
    return true;
}

bool outfile_open_or_stream(struct outfile *file, const char *path, struct error *error)
{
    int fd;
    char spool[PATH_MAX];
    if (!is_standard_stream(path)) {
        return outfile_open(file, path, error);
    }
    file->temporary[0] = '\0';
    file->stream = NULL;
    if (!temporary_file_make(spool, sizeof spool, "output", false, &fd, error)) {
        return false;
    }
    temporary_remove(spool); /* the open file is enough */
    file->stream = fdopen(fd, "w+b");
    if (file->stream == NULL) {
        (void)close(fd);
        return error_set(error, "standard output: out of memory");
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

bool outfile_commit(struct outfile *file, struct error *error)
{
    if (file->temporary[0] == '\0') {
        int why = stream_error(file->stream);
        bool sent = why == 0 ? standard_output_send(file->stream, error)
                             : outfile_fail("standard output", why, "nothing was written", error);
        outfile_abort(file);
        return sent;
    }
    int why = stream_sync(file->stream);
    /* Before it is closed, which ends its lock. */
    if (why == 0 && rename(file->temporary, file->path) != 0) {
        why = errno;
    }
    outfile_abort(file);
    return why == 0 || outfile_fail(file->path, why, OUTFILE_NOTHING_LEFT, error);
}

void outfile_abort(struct outfile *file)
{
    if (file->stream != NULL) {
        temporary_remove(file->temporary); /* if it still has that name */
        (void)fclose(file->stream);
        file->stream = NULL;
    }
}

/* Make the folder that the first `bytes` of the path name. False if it was there, or on failure. */
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
    folder->first_bytes = 0;
    bool fits = snprintf(folder->path, PATH_MAX, "%s", path) < PATH_MAX;
    size_t length = strlen(folder->path);
    for (size_t i = 1; i < length; i++) {
        if (folder->path[i] == '/') {
            (void)make_part(folder, i);
        }
    }
    struct stat info;
    errno = ENAMETOOLONG;
    if (!fits || (!make_part(folder, length) && errno != EEXIST) ||
        stat(folder->path, &info) != 0) {
        (void)error_set(error, "%s: cannot be made a folder: %s", path, strerror(errno));
        folder_close(folder);
        return false;
    }
    if (!S_ISDIR(info.st_mode) || access(folder->path, W_OK) != 0) {
        return error_set(error, "%s: not a folder that can be written to; name another", path);
    }
    return true;
}

void folder_close(struct folder *folder)
{
    for (size_t i = strlen(folder->path); folder->first_bytes > 0 && i >= folder->first_bytes;
         i--) {
        if (folder->path[i] == '/' || folder->path[i] == '\0') {
            folder->path[i] = '\0';
            (void)rmdir(folder->path);
            cleanup_forget(folder->path);
        }
    }
    folder->first_bytes = 0;
}

bool folder_make(const char *path, struct error *error)
{
    struct folder folder;
    return folder_open(&folder, path, error);
}
