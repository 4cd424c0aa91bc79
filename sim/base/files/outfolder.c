#include "outfolder.h"

#include "cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define PATH_BYTES 8192u

bool outfolder_open(struct outfolder *out, const char *path, struct error *error)
{
    *out = (struct outfolder){.sums = json_object()};
    return folder_open(&out->folder, path, error);
}

/* --- writing --------------------------------------------------------------------------------- */

static bool make_stage(struct outfolder *out, struct error *error)
{
    if (out->stage[0] != '\0') {
        return true;
    }
    int length = snprintf(out->stage, sizeof out->stage, "%s/.new-XXXXXX", out->folder.path);
    errno = ENAMETOOLONG;
    bool made = length > 0 && length < (int)sizeof out->stage && mkdtemp(out->stage) != NULL;
    if (made) {
        cleanup_add_with_files(out->stage);
    } else {
        out->stage[0] = '\0';
        return error_set(error, "%s: cannot be written to: %s", out->folder.path, strerror(errno));
    }
    return true;
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

bool outfolder_write(struct outfolder *out, const char *name, outfolder_writer write,
                     const void *ctx, struct error *error)
{
    char path[PATH_BYTES];
    struct outfile file;
    if (!make_stage(out, error)) {
        return false;
    }
    const char *slash = strchr(name, '/');
    if (slash != NULL) {
        (void)snprintf(path, sizeof path, "%s/%.*s", out->stage, (int)(slash - name), name);
        (void)mkdir(path, 0777);
    }
    (void)snprintf(path, sizeof path, "%s/%s", out->stage, name);
    if (!outfile_open(&file, path, error)) {
        return false;
    }
    write(ctx, file.stream);
    char named[PATH_BYTES];
    (void)snprintf(named, sizeof named, "%s/%s", out->folder.path, name);
    if (!outfile_commit_as(&file, named, "the folder is as it was", error)) {
        return false;
    }
    char sum[OUTFOLDER_SUM_BYTES];
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

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

static void end(struct outfolder *out)
{
    if (out->stage[0] != '\0') {
        (void)nftw(out->stage, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        cleanup_forget(out->stage);
    }
    json_decref(out->sums);
    out->sums = NULL;
    out->stage[0] = '\0';
}

static bool is_there(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

/* What is moved, each the other way round if it has to be undone. */
struct moves {
    char (*paths)[2][PATH_BYTES];
    size_t count;
};

static bool move(struct moves *moves, const char *from, const char *to)
{
    void *longer = realloc(moves->paths, (moves->count + 1) * sizeof *moves->paths);
    if (longer == NULL) {
        errno = ENOMEM;
        return false;
    }
    moves->paths = longer;
    if (rename(from, to) != 0) {
        return false;
    }
    (void)snprintf(moves->paths[moves->count][0], PATH_BYTES, "%s", from);
    (void)snprintf(moves->paths[moves->count++][1], PATH_BYTES, "%s", to);
    return true;
}

/* Moves what is in the way, or of an earlier run, into the stage, under a name of its own. */
static bool move_away(const struct outfolder *out, struct moves *moves, const char *name)
{
    char from[PATH_BYTES];
    char to[PATH_BYTES];
    (void)snprintf(from, sizeof from, "%s/%s", out->folder.path, name);
    (void)snprintf(to, sizeof to, "%s/.old-%s", out->stage, name);
    for (char *at = strchr(to + strlen(out->stage) + 1, '/'); at != NULL; at = strchr(at, '/')) {
        *at = '-';
    }
    return !is_there(from) || is_there(to) || move(moves, from, to);
}

static int is_new(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool change_places(const struct outfolder *out, struct moves *moves,
                          const char *const *kinds)
{
    struct dirent **names = NULL;
    int count = scandir(out->stage, &names, is_new, alphasort);
    bool done = count >= 0;
    for (size_t i = 0; done && kinds[i] != NULL; i++) {
        done = move_away(out, moves, kinds[i]);
    }
    for (int i = 0; i < count; i++) {
        char from[PATH_BYTES];
        char to[PATH_BYTES];
        const char *name = names[i]->d_name;
        (void)snprintf(from, sizeof from, "%s/%s", out->stage, name);
        (void)snprintf(to, sizeof to, "%s/%s", out->folder.path, name);
        done = done && move_away(out, moves, name) && move(moves, from, to);
        free(names[i]);
    }
    free((void *)names);
    return done;
}

bool outfolder_commit(struct outfolder *out, const char *const *kinds, struct error *error)
{
    struct moves moves = {0};
    sigset_t all;
    sigset_t before;
    bool done = true;
    if (out->stage[0] != '\0') {
        /* Who ends the program now ends it before or after. */
        (void)sigfillset(&all);
        (void)sigprocmask(SIG_BLOCK, &all, &before);
        cleanup_forget(out->stage); /* from now on it also holds the earlier files */
        done = change_places(out, &moves, kinds);
        int why = errno;
        while (!done && moves.count > 0) {
            char(*last)[PATH_BYTES] = moves.paths[--moves.count];
            (void)rename(last[1], last[0]);
        }
        free((void *)moves.paths);
        end(out);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        if (!done) {
            (void)error_set(error, "%s: its files cannot be replaced: %s; they are as they were",
                            out->folder.path, strerror(why));
        }
    } else {
        end(out);
    }
    return done;
}

void outfolder_abort(struct outfolder *out)
{
    end(out);
    folder_abort(&out->folder);
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
