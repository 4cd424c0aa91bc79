#include "temporary_file.h"

#include "memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX  ".timerlab-tmp-"
#define VARYING "XXXXXX"

void temporary_files_lie_in_memory(void)
{
    static const char memory[] = "/dev/shm";
    if (access(memory, W_OK | X_OK) == 0) {
        (void)setenv("TMPDIR", memory, 0);
    }
}

/* --- the list -------------------------------------------------------------------------------- */

/* Texts one after the other, each preceded by the letter of its kind. Only used pages take memory;
 * entries that do not fit remain for the next run to remove. */
static struct {
    _Atomic size_t used;
    char text[(size_t)1 << 26];
} * list; /* NULL: no supervisor */

enum { LOCKED = 'l', UNLESS_USED = 'u' };

bool temporary_list_begin(void)
{
    void *memory = mmap(NULL, sizeof *list, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    list = memory != MAP_FAILED ? memory : NULL;
    return list != NULL;
}

static void add(char kind, const char *path)
{
    size_t bytes = strlen(path) + 2;
    size_t at = list != NULL ? atomic_fetch_add(&list->used, bytes) : 0;
    if (list != NULL && at + bytes <= sizeof list->text) {
        list->text[at] = kind;
        memcpy(&list->text[at + 1], path, bytes - 1);
    }
}

/* Make a folder, and list it: LOCKED is a temporary one, its path a pattern. A signal between the
 * two steps would leave it on disk. */
static bool make_listed(char kind, char *path)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    bool made = kind == LOCKED ? mkdtemp(path) != NULL : mkdir(path, 0777) == 0;
    int why = errno;
    if (made) {
        add(kind, path);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return made;
}

bool folder_make_unless_used(const char *folder)
{
    char *path = memory_copy(folder);
    bool made = make_listed(UNLESS_USED, path);
    int why = errno;
    free(path);
    errno = why;
    return made;
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

/* Again if there was no memory to walk through it: what used it may have ended. */
void folder_remove(const char *path)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno == ENOMEM) {
        (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

void temporary_remove(struct temporary *temporary)
{
    if (temporary->folder[0] != '\0') {
        folder_remove(temporary->folder);
        (void)close(temporary->lock);
        temporary->folder[0] = '\0';
    }
}

static void remove_if_abandoned(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0) {
        folder_remove(path);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* Once for all temporary folders that are made one after the other in this one. */
static void remove_abandoned(const char *folder)
{
    static char seen[PATH_MAX];
    char path[PATH_MAX];
    if (strcmp(seen, folder) == 0) {
        return;
    }
    (void)snprintf(seen, sizeof seen, "%s", folder);
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

void temporary_list_remove(void)
{
    size_t end = list != NULL && list->used <= sizeof list->text ? list->used : 0;
    while (end > 0) {
        size_t at = end - 1;
        while (at > 0 && list->text[at - 1] != '\0') {
            at--;
        }
        if (list->text[at] == LOCKED) {
            remove_if_abandoned(&list->text[at + 1]);
        } else if (list->text[at] == UNLESS_USED) {
            (void)rmdir(&list->text[at + 1]);
        }
        end = at;
    }
}

/* --- making ---------------------------------------------------------------------------------- */

bool temporary_make_in(struct temporary *temporary, const char *folder)
{
    char *path = temporary->folder;
    remove_abandoned(folder);
    do {
        if (snprintf(path, PATH_MAX, "%s/" PREFIX VARYING, folder) >= PATH_MAX - 8 ||
            !make_listed(LOCKED, path)) {
            errno = strlen(path) >= PATH_MAX - 8 ? ENAMETOOLONG : errno;
            path[0] = '\0';
            return false;
        }
        (void)chmod(path, 0711); /* some engines run as another user */
        temporary->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        while (flock(temporary->lock, LOCK_EX) != 0 && errno == EINTR) {
        }
        /* Before it had its lock, another process may have taken it for abandoned. */
    } while (access(path, F_OK) != 0);
    (void)snprintf(temporary->file, PATH_MAX, "%.*s/file", PATH_MAX - 8, path);
    return true;
}

static const char *place(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL ? folder : "/tmp";
}

bool temporary_make(struct temporary *temporary, struct error *error)
{
    return temporary_make_in(temporary, place()) ||
           error_set(error, "no temporary file can be made in $TMPDIR or /tmp: %s",
                     strerror(errno));
}

int temporary_open_nameless(const char *folder)
{
    struct temporary temporary = {0};
    if (!temporary_make_in(&temporary, folder != NULL ? folder : place())) {
        return -1;
    }
    int file = open(temporary.file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int why = errno;
    temporary_remove(&temporary);
    errno = why;
    return file;
}
