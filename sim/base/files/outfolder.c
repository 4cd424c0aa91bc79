#include "outfolder.h"

#include "memory.h"
#include "stream_error.h"
#include "temporary_file.h"

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

/* --- the lock -------------------------------------------------------------------------------- */

/* Say which process holds the lock, as " (PID: COMMAND)", as far as the system shows it. */
static void name_holder(int folder, char *text, size_t bytes)
{
    struct stat info;
    char line[256];
    char command[128];
    long pid = 0;
    unsigned long inode = 0;
    FILE *locks = fopen("/proc/locks", "r");
    text[0] = '\0';
    while (locks != NULL && fgets(line, sizeof line, locks) != NULL) {
        if (sscanf(line, "%*d: FLOCK %*s %*s %ld %*x:%*x:%lu", &pid, &inode) == 2 &&
            fstat(folder, &info) == 0 && inode == info.st_ino) {
            (void)snprintf(line, sizeof line, "/proc/%ld/cmdline", pid);
            FILE *stream = fopen(line, "r");
            size_t length = stream != NULL ? fread(command, 1, sizeof command - 1, stream) : 0;
            for (size_t i = 0; i < length; i++) {
                command[i] = command[i] != '\0' ? command[i] : ' ';
            }
            command[length] = '\0';
            (void)snprintf(text, bytes, " (%ld: %s)", pid, command);
            if (stream != NULL) {
                (void)fclose(stream);
            }
        }
    }
    if (locks != NULL) {
        (void)fclose(locks);
    }
}

/* On a file system without locks, nothing is locked. */
static bool lock(struct outfolder *out, struct error *error)
{
    const struct timespec nap = {.tv_nsec = 20000000};
    for (unsigned tries = 0; flock(out->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
         tries++) {
        if (tries == 50) { /* for one second: a killed process may not have ended yet */
            char holder[256];
            name_holder(out->lock, holder, sizeof holder);
            return error_set(error,
                             "%s: another process%s is writing into this folder; wait until it "
                             "ends, or name another folder",
                             out->folder.path, holder);
        }
        (void)nanosleep(&nap, NULL);
    }
    return true;
}

bool outfolder_open(struct outfolder *out, const char *path, struct error *error)
{
    *out = (struct outfolder){.lock = -1};
    if (!folder_open(&out->folder, path, error)) {
        return false;
    }
    out->is_open = true;
    out->sums = json_object();
    out->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = out->lock >= 0
                    ? lock(out, error)
                    : error_set(error, "%s: cannot be opened: %s", path, strerror(errno));
    if (!good) {
        outfolder_close(out);
    }
    return good;
}

/* --- writing --------------------------------------------------------------------------------- */

static bool make_stage(struct outfolder *out)
{
    if (out->stage[0] == '\0') {
        out->stage_lock = temporary_make_in(out->folder.path, true, out->stage);
        if (out->stage_lock < 0) {
            out->stage[0] = '\0';
        }
    }
    return out->stage[0] != '\0';
}

static void remove_stage(struct outfolder *out)
{
    if (out->stage[0] != '\0') {
        temporary_remove(out->stage);
        (void)close(out->stage_lock);
        out->stage[0] = '\0';
    }
    (void)json_object_clear(out->sums);
}

bool outfolder_sum(const char *path, char text[OUTFOLDER_SUM_BYTES])
{
    char buffer[16384];
    FILE *file = fopen(path, "rb");
    XXH64_state_t *state = XXH64_createState();
    bool read = file != NULL && state != NULL && XXH64_reset(state, 0) == XXH_OK;
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

/* Write a file in the stage. 0 or an errno. */
static int write_file(const char *path, const char *slash, outfolder_writer write, const void *ctx)
{
    char folder[PATH_BYTES];
    if (slash != NULL) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        (void)mkdir(folder, 0777);
    }
    FILE *stream = fopen(path, "wb");
    if (stream == NULL) {
        return errno;
    }
    write(ctx, stream);
    int why = stream_sync(stream);
    (void)fclose(stream);
    return why;
}

bool outfolder_write(struct outfolder *out, const char *name, outfolder_writer write,
                     const void *ctx, struct error *error)
{
    char path[PATH_BYTES];
    char sum[OUTFOLDER_SUM_BYTES];
    int why = make_stage(out) ? 0 : errno;
    int stage = snprintf(path, sizeof path, "%s/", out->stage);
    (void)snprintf(path + stage, sizeof path - (size_t)stage, "%s", name);
    const char *slash = strchr(path + stage, '/');
    if (why == 0) {
        why = write_file(path, slash, write, ctx);
    }
    if (why != 0) {
        (void)snprintf(path, sizeof path, "%s/%s", out->folder.path, name);
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

static bool is_there(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

/* Swap what has this name in the folder and in the stage; either may have nothing. To do it again
 * undoes it. */
static bool swap(const struct outfolder *out, const char *name)
{
    char own[PATH_BYTES];
    char staged[PATH_BYTES];
    char third[PATH_BYTES];
    (void)snprintf(own, sizeof own, "%s/%s", out->folder.path, name);
    int at = snprintf(staged, sizeof staged, "%s/", out->stage);
    (void)snprintf(staged + at, sizeof staged - (size_t)at, "%s", name);
    for (char *c = strchr(staged + at, '/'); c != NULL; c = strchr(c, '/')) {
        *c = '-';
    }
    if (!is_there(own)) {
        return !is_there(staged) || rename(staged, own) == 0;
    }
    if (!is_there(staged)) {
        return rename(own, staged) == 0;
    }
    if (renameat2(AT_FDCWD, staged, AT_FDCWD, own, RENAME_EXCHANGE) == 0) {
        return true;
    }
    /* Some file systems cannot do this in one step. */
    (void)snprintf(third, sizeof third, "%s/.third", out->stage);
    if (errno != EINVAL || rename(own, third) != 0) {
        return false;
    }
    bool done = rename(staged, own) == 0;
    int why = errno;
    (void)rename(third, done ? staged : own);
    errno = why;
    return done;
}

static int is_named(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Swap all in the stage, and those of `kinds` that are not there. */
static bool swap_all(const struct outfolder *out, const char *const *kinds)
{
    struct dirent **staged = NULL;
    int staged_count = scandir(out->stage, &staged, is_named, alphasort);
    size_t count = 0;
    for (size_t i = 0; kinds[i] != NULL; i++) {
        count++;
    }
    const char **names = memory_new(count + (size_t)(staged_count + 1), sizeof *names);
    count = 0;
    for (int i = 0; i < staged_count; i++) {
        names[count++] = staged[i]->d_name;
    }
    for (size_t i = 0; kinds[i] != NULL; i++) {
        int at = 0;
        while (at < staged_count && strcmp(names[at], kinds[i]) != 0) {
            at++;
        }
        if (at >= staged_count) {
            names[count++] = kinds[i];
        }
    }
    size_t done = 0;
    while (staged_count >= 0 && done < count && swap(out, names[done])) {
        done++;
    }
    int why = errno;
    bool good = staged_count >= 0 && done == count;
    while (!good && done > 0) {
        (void)swap(out, names[--done]);
    }
    for (int i = 0; i < staged_count; i++) {
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
    if (out->stage[0] == '\0') {
        return true;
    }
    /* A signal ends the process before this or after it. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &before);
    bool done = swap_all(out, kinds);
    int why = errno;
    (void)fsync(out->lock);
    remove_stage(out);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return done || error_set(error, "%s: its files cannot be replaced: %s; they are as they were",
                             out->folder.path, strerror(why));
}

void outfolder_close(struct outfolder *out)
{
    if (out->is_open) {
        remove_stage(out);
        json_decref(out->sums);
        folder_close(&out->folder);
        if (out->lock >= 0) {
            (void)close(out->lock);
        }
        out->is_open = false;
    }
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
                             is_there(file) ? "%s: is of another run than %s/%s, or was changed; "
                                              "measure anew, or bring back what it was"
                                            : "%s: is not there, though of the same run as %s/%s; "
                                              "measure anew, or bring it back",
                             file, path, from);
        }
    }
    for (size_t i = 0; json_is_object(sums) && kinds[i] != NULL; i++) {
        (void)snprintf(file, sizeof file, "%s/%s", path, kinds[i]);
        if (strstr(kinds[i], ".csv") != NULL && strchr(kinds[i], '/') == NULL &&
            json_object_get(sums, kinds[i]) == NULL && is_there(file)) {
            return error_set(error, "%s: is of another run than %s/%s; remove it, or measure anew",
                             file, path, from);
        }
    }
    return true;
}
