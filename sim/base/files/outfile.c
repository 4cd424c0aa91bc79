#include "outfile.h"

#include "memory.h"
#include "standard_files.h"
#include "standard_streams.h"

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
    if (there && lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
        (void)realpath(path, file->path);
    } else {
        (void)snprintf(file->path, PATH_MAX, "%s", path);
    }
    (void)snprintf(folder, sizeof folder, "%s", file->path);
    if (!temporary_make_in(&file->temporary, dirname(folder))) {
        return errno == ENOSPC
                   ? outfile_fail(path, errno, OUTFILE_NOTHING_LEFT, error)
                   : error_set(error,
                               "%s: cannot be written: %s; its folder must be there, and be "
                               "writable",
                               path, strerror(errno));
    }
    file->stream = fopen(file->temporary.file, "w+be");
    if (file->stream == NULL) {
        int why = errno;
        temporary_remove(&file->temporary);
        return outfile_fail(path, why, OUTFILE_NOTHING_LEFT, error);
    }
    return true;
}

bool outfile_open_or_stream(struct outfile *file, const char *path, struct error *error)
{
    if (!is_standard_stream(path)) {
        return outfile_open(file, path, error);
    }
    int nameless = temporary_open_nameless(NULL);
    file->temporary.folder[0] = '\0';
    file->stream = nameless >= 0 ? fdopen(nameless, "w+b") : NULL;
    return file->stream != NULL ||
           outfile_fail("standard output", errno, "nothing was written", error);
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
    return cause == ENOSPC || cause == EDQUOT
               ? "; free some space there, or name a place that has more"
           : cause == EFBIG ? "; the limit of a file's size is ulimit -f, or the file system's"
                            : "";
}

bool outfile_fail(const char *path, int cause, const char *left, struct error *error)
{
    if (cause == ENOMEM) {
        memory_end();
    }
    return error_set(error, "%s: could not be written: %s; %s%s", path, strerror(cause), left,
                     remedy(cause));
}

bool outfile_commit(struct outfile *file, struct error *error)
{
    if (file->temporary.folder[0] == '\0') {
        int why = stream_error(file->stream);
        bool sent = why == 0 ? standard_output_send(file->stream, error)
                             : outfile_fail("standard output", why, "nothing was written", error);
        outfile_abort(file);
        return sent;
    }
    int why = stream_sync(file->stream);
    if (why == 0 && rename(file->temporary.file, file->path) != 0) {
        why = errno;
    }
    outfile_abort(file);
    return why == 0 || outfile_fail(file->path, why, OUTFILE_NOTHING_LEFT, error);
}

void outfile_abort(struct outfile *file)
{
    if (file->stream != NULL) {
        (void)fclose(file->stream);
        temporary_remove(&file->temporary);
        file->stream = NULL;
    }
}

bool folder_make(const char *path, struct error *error)
{
    struct stat info;
    char part[PATH_MAX];
    size_t length = strlen(path);
    for (size_t i = 1; i <= length && i < sizeof part; i++) {
        if (path[i] == '/' || path[i] == '\0') {
            (void)snprintf(part, sizeof part, "%.*s", (int)i, path);
            (void)folder_make_unless_used(part);
        }
    }
    int why = errno;
    if (stat(path, &info) != 0) {
        return error_set(error, "%s: cannot be made a folder: %s", path, strerror(why));
    }
    return (S_ISDIR(info.st_mode) && access(path, W_OK) == 0) ||
           error_set(error, "%s: not a folder that can be written to; name another", path);
}
