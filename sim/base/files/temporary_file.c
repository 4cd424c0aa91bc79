#include "temporary_file.h"

#include "cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX  ".timerlab-tmp-"
#define VARYING "XXXXXX"

static const char memory[] = "/dev/shm";

static bool has_memory(void)
{
    return access(memory, W_OK | X_OK) == 0;
}

void temporary_files_lie_in_memory(void)
{
    if (has_memory()) {
        (void)setenv("TMPDIR", memory, 0);
    }
}

/* --- removing -------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    (void)remove(path);
    return 0;
}

static int remove_inner(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    return walk->level > 0 ? remove_one(path, info, kind, walk) : 0;
}

void temporary_folder_clear(const char *path)
{
    (void)nftw(path, remove_inner, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_all(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_if_abandoned(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0) {
        remove_all(path);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* Once for a folder, of the few that a process writes to by turns. */
static void remove_abandoned(const char *folder)
{
    static char seen[4][PATH_MAX];
    static unsigned at;
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        if (strcmp(seen[i], folder) == 0) {
            return;
        }
    }
    (void)snprintf(seen[at++ % 4], sizeof seen[0], "%s", folder);
    const struct dirent *entry;
    DIR *listing = opendir(folder);
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
            strlen(entry->d_name) == strlen(PREFIX VARYING) &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path) {
            remove_if_abandoned(path);
        }
    }
    if (listing != NULL) {
        (void)closedir(listing);
    }
}

/* --- making ---------------------------------------------------------------------------------- */

/* As the two functions do that it calls, but without a name once it returns -1. */
static int make(char *path, bool is_folder)
{
    if (!is_folder) {
        return mkostemp(path, O_CLOEXEC);
    }
    int fd = mkdtemp(path) != NULL ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int why = errno;
    if (fd < 0) {
        (void)rmdir(path);
    }
    errno = why;
    return fd;
}

int temporary_make_in(const char *folder, bool is_folder, char path[PATH_MAX])
{
    remove_abandoned(folder);
    for (;;) {
        errno = ENAMETOOLONG;
        int fd = snprintf(path, PATH_MAX, "%s/" PREFIX VARYING, folder) < PATH_MAX
                     ? make(path, is_folder)
                     : -1;
        if (fd < 0) {
            return -1;
        }
        /* Before it has its lock, another process may see it as abandoned, and remove it. */
        while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {
        }
        if (access(path, F_OK) == 0) {
            cleanup_add_with_files(path);
            return fd;
        }
        (void)close(fd);
    }
}

/* The folder with this process's temporary files: on disk, and in memory. */
static struct place {
    char path[PATH_MAX]; /* "" if there is none */
    int lock;
    pid_t owner;
} places[2];

/* Write a name without its end into `path`. False, with errno set, if that cannot be. */
static bool make_name(char *path, size_t bytes, const char *purpose, bool fleeting)
{
    struct place *place = &places[fleeting];
    const char *folder = getenv("TMPDIR");
    if (folder == NULL) {
        folder = fleeting && has_memory() ? memory : "/tmp";
    }
    if (place->owner != getpid() || access(place->path, F_OK) != 0) {
        place->owner = getpid();
        place->lock = temporary_make_in(folder, true, place->path);
    }
    if (place->lock < 0) {
        place->path[0] = '\0';
        return false;
    }
    (void)fchmod(place->lock, 0711); /* some engines run as another user */
    int length = snprintf(path, bytes, "%s/%s-" VARYING, place->path, purpose);
    errno = ENAMETOOLONG;
    return length > 0 && (size_t)length < bytes;
}

/* Remove the folders in which nothing is left, of the process that this one was forked from, too. */
static void leave_places(void)
{
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct place *place = &places[i];
        if (place->path[0] != '\0' && rmdir(place->path) == 0) {
            cleanup_forget(place->path);
            (void)close(place->lock);
            place->path[0] = '\0';
        }
    }
}

bool temporary_file_make(char *path, size_t bytes, const char *purpose, bool fleeting, int *file,
                         struct error *error)
{
    int made = make_name(path, bytes, purpose, fleeting) ? mkostemp(path, O_CLOEXEC) : -1;
    if (made < 0) {
        int why = errno;
        leave_places();
        return error_set(error, "no temporary file can be made in $TMPDIR or /tmp: %s",
                         strerror(why));
    }
    if (file != NULL) {
        *file = made;
    } else {
        (void)close(made);
    }
    return true;
}

bool temporary_folder_make(char *path, size_t bytes, const char *purpose, bool fleeting,
                           struct error *error)
{
    if (!make_name(path, bytes, purpose, fleeting) || mkdtemp(path) == NULL) {
        int why = errno;
        leave_places();
        path[0] = '\0'; /* half a name may be that of something else */
        return error_set(error, "no temporary folder can be made in $TMPDIR or /tmp: %s",
                         strerror(why));
    }
    return true;
}

void temporary_remove(const char *path)
{
    if (path[0] != '\0') {
        remove_all(path);
        cleanup_forget(path);
        leave_places();
    }
}
