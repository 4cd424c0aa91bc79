#include "outfolder.h"

#include "memory.h"
#include "stream_error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

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
    *out = (struct outfolder){.sums = json_object()};
    (void)snprintf(out->path, sizeof out->path, "%s", path);
    bool good = folder_make(path, error);
    out->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    good = good && lock(out, error);
    if (!good) {
        outfolder_close(out);
    }
    return good;
}

static void remove_stage(struct outfolder *out)
{
    temporary_remove(&out->stage);
    (void)json_object_clear(out->sums);
}

void outfolder_close(struct outfolder *out)
{
    if (out->path[0] != '\0') {
        remove_stage(out);
        json_decref(out->sums);
        (void)close(out->lock);
        out->path[0] = '\0';
    }
}

/* --- writing --------------------------------------------------------------------------------- */

bool outfolder_sum(const char *path, char text[OUTFOLDER_SUM_BYTES])
{
    char buffer[16384];
    FILE *file = memory_unless_short(fopen(path, "rb"));
    XXH64_state_t *state = memory_made(XXH64_createState());
    bool read = file != NULL && XXH64_reset(state, 0) == XXH_OK;
    size_t got;
    while (read && (got = fread(buffer, 1, sizeof buffer, file)) > 0) {
        read = XXH64_update(state, buffer, got) == XXH_OK;
    }
    read = read && !ferror(file);
    if (file != NULL) {
        (void)fclose(file);
    }
    (void)snprintf(text, OUTFOLDER_SUM_BYTES, "%016" PRIx64,
                   read ? (uint64_t)XXH64_digest(state) : 0);
    (void)XXH64_freeState(state);
    return read;
}

bool outfolder_write(struct outfolder *out, const char *name, outfolder_writer write,
                     const void *ctx, struct error *error)
{
    char path[PATH_BYTES];
    char sum[OUTFOLDER_SUM_BYTES];
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
    if (slash == NULL && outfolder_sum(path, sum)) {
        (void)json_object_set_new(out->sums, name, json_string(sum));
    }
    return true;
}

json_t *outfolder_sums(const struct outfolder *out)
{
    return json_copy(out->sums);
}

/* --- changing places ------------------------------------------------------------------------- */

/* Rename what is there of these names. False, with errno set, if one cannot be. */
static bool move(const char *const *names, size_t count, const char *from, const char *to)
{
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        char *old = memory_format("%s/%s", from, names[i]);
        char *new = memory_format("%s/%s", to, names[i]);
        good = rename(old, new) == 0 || errno == ENOENT;
        free(old); /* keeps errno */
        free(new);
    }
    return good;
}

static int is_named(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Move the earlier files into the stage, and the new ones out of it; or neither. */
static bool change_places(const struct outfolder *out, const char *const *kinds)
{
    char earlier[PATH_BYTES];
    struct dirent **staged = NULL;
    size_t count = 0;
    int new_count = scandir(out->stage.folder, &staged, is_named, alphasort);
    (void)memory_unless_short(new_count >= 0 ? &new_count : NULL);
    while (kinds[count] != NULL) {
        count++;
    }
    const char **names = memory_new(count + (size_t)new_count + 1, sizeof *names);
    memcpy((void *)names, (const void *)kinds, count * sizeof *names);
    for (int i = 0; i < new_count; i++) {
        names[count++] = staged[i]->d_name;
    }
    (void)snprintf(earlier, sizeof earlier, "%s/.earlier", out->stage.folder);
    bool moved =
        new_count >= 0 && mkdir(earlier, 0700) == 0 && move(names, count, out->path, earlier);
    bool good = moved && move(names, count, out->stage.folder, out->path);
    int why = errno;
    if (!good) {
        (void)(moved && move(names, count, out->path, out->stage.folder));
        (void)move(names, count, earlier, out->path);
    }
    for (size_t i = 0; good && kinds[i] != NULL; i++) {
        if (strchr(kinds[i], '/') != NULL) {
            (void)snprintf(earlier, sizeof earlier, "%s/%s", out->path, kinds[i]);
            (void)unlink(earlier);
        }
    }
    for (int i = 0; i < new_count; i++) {
        free(staged[i]);
    }
    free((void *)staged);
    free((void *)names);
    errno = why;
    return good;
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
    bool done = change_places(out, kinds);
    int why = errno;
    (void)fsync(out->lock);
    remove_stage(out);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return done || error_set(error, "%s: its files cannot be replaced: %s; they are as they were",
                             out->path, strerror(why));
}

/* --- reading --------------------------------------------------------------------------------- */

bool outfolder_agrees(const char *path, const char *from, const json_t *sums,
                      const char *const *kinds, struct error *error)
{
    char file[PATH_BYTES];
    char sum[OUTFOLDER_SUM_BYTES];
    const char *name = NULL;
    const json_t *known = NULL;
    /* jansson's loop takes no const. */
    json_object_foreach((json_t *)sums, name, known)
    {
        (void)snprintf(file, sizeof file, "%s/%s", path, name);
        if (!json_is_string(known) || !outfolder_sum(file, sum) ||
            strcmp(json_string_value(known), sum) != 0) {
            return error_set(error,
                             (access(file, F_OK) == 0)
                                 ? "%s: is of another run than %s/%s, or was changed; "
                                   "measure anew, or bring back what it was"
                                 : "%s: is not there, though of the same run as %s/%s; "
                                   "measure anew, or bring it back",
                             file, path, from);
        }
    }
    for (size_t i = 0; json_is_object(sums) && kinds[i] != NULL; i++) {
        (void)snprintf(file, sizeof file, "%s/%s", path, kinds[i]);
        if (strstr(kinds[i], ".csv") != NULL && strchr(kinds[i], '/') == NULL &&
            json_object_get(sums, kinds[i]) == NULL && access(file, F_OK) == 0) {
            return error_set(error, "%s: is of another run than %s/%s; remove it, or measure anew",
                             file, path, from);
        }
    }
    return true;
}
