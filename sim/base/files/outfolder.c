#include "outfolder.h"

#include "standard_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES (2 * PATH_MAX)

/* --- opening --------------------------------------------------------------------------------- */

/* The process that holds the lock; 0 if the system does not list it. */
static long holder_of(int folder)
{
    struct stat info;
    char line[256];
    long pid = 0;
    bool found = false;
    FILE *locks = fopen("/proc/locks", "re");
    while (!found && locks != NULL && fgets(line, sizeof line, locks) != NULL) {
        unsigned long inode;
        found = sscanf(line, "%*d: FLOCK %*s %*s %ld %*x:%*x:%lu", &pid, &inode) == 2 &&
                fstat(folder, &info) == 0 && inode == info.st_ino;
    }
    if (locks != NULL) {
        (void)fclose(locks);
    }
    return found ? pid : 0;
}

/* Wait for a second: a process that was killed may not have ended yet. On a file system without
 * locks, nothing is locked. */
static bool lock(const struct outfolder *out, struct error *error)
{
    const struct timespec nap = {.tv_nsec = 20000000};
    for (unsigned tries = 0; flock(out->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
         tries++) {
        if (tries == 50) {
            return error_set(error,
                             "%s: another process (%ld) is writing into this folder; wait until it "
                             "ends, or name another folder",
                             out->path, holder_of(out->lock));
        }
        (void)nanosleep(&nap, NULL);
    }
    return true;
}

bool outfolder_open(struct outfolder *out, const char *path, struct error *error)
{
    *out = (struct outfolder){0};
    (void)snprintf(out->path, sizeof out->path, "%s", path);
    bool good = folder_make(path, error);
    out->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    good = good && lock(out, error);
    if (!good) {
        outfolder_close(out);
    }
    return good;
}

void outfolder_close(struct outfolder *out)
{
    if (out->path[0] != '\0') {
        temporary_remove(&out->stage);
        (void)close(out->lock);
        out->path[0] = '\0';
    }
}

/* --- writing --------------------------------------------------------------------------------- */

bool outfolder_write(struct outfolder *out, const char *name, outfolder_writer write,
                     const void *ctx, struct error *error)
{
    char path[PATH_BYTES];
    const char *slash = strchr(name, '/');
    FILE *stream = NULL;
    if (out->stage.folder[0] != '\0' || temporary_make_in(&out->stage, out->path)) {
        if (slash != NULL) {
            (void)snprintf(path, sizeof path, "%s/%.*s", out->stage.folder, (int)(slash - name),
                           name);
            (void)mkdir(path, 0777);
        }
        (void)snprintf(path, sizeof path, "%s/%s", out->stage.folder, name);
        stream = fopen(path, "wbe");
    }
    int why = errno;
    if (stream != NULL) {
        write(ctx, stream);
        why = stream_sync(stream);
        (void)fclose(stream);
    }
    if (stream == NULL || why != 0) {
        (void)snprintf(path, sizeof path, "%s/%s", out->path, name);
        return outfile_fail(path, why, "the folder is as it was", error);
    }
    return true;
}

/* --- changing places ------------------------------------------------------------------------- */

static int is_named(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Rename the files of `from` into `to`. Other files of a folder that both have stay. */
static bool move_into(const char *from, const char *to)
{
    struct dirent **entries = NULL;
    int count = scandir(from, &entries, is_named, alphasort);
    bool good = count >= 0;
    for (int i = 0; i < count; i++) {
        char old_path[PATH_BYTES];
        char new_path[PATH_BYTES];
        (void)snprintf(old_path, sizeof old_path, "%s/%s", from, entries[i]->d_name);
        (void)snprintf(new_path, sizeof new_path, "%s/%s", to, entries[i]->d_name);
        good = good && (rename(old_path, new_path) == 0 ||
                        ((errno == ENOTEMPTY || errno == EEXIST) && move_into(old_path, new_path)));
        free(entries[i]);
    }
    free((void *)entries);
    return good;
}

/* Remove the earlier files that are not replaced, and earlier folders; rename the new ones to their
 * places. */
static bool change_places(const struct outfolder *out, const char *const *kinds)
{
    for (; *kinds != NULL; kinds++) {
        char from[PATH_BYTES];
        char to[PATH_BYTES];
        struct stat info;
        (void)snprintf(from, sizeof from, "%s/%s", out->stage.folder, *kinds);
        (void)snprintf(to, sizeof to, "%s/%s", out->path, *kinds);
        if (stat(from, &info) != 0 || S_ISDIR(info.st_mode)) {
            folder_remove(to);
        }
    }
    return move_into(out->stage.folder, out->path);
}

bool outfolder_commit(struct outfolder *out, const char *const *kinds, struct error *error)
{
    sigset_t all;
    sigset_t before;
    if (out->stage.folder[0] == '\0') {
        return true;
    }
    /* A signal ends the process before this or after it. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &before);
    bool done =
        change_places(out, kinds) ||
        error_set(error, "%s: its files cannot be replaced: %s", out->path, strerror(errno));
    (void)fsync(out->lock);
    temporary_remove(&out->stage);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return done;
}
