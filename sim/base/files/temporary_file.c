#include "temporary_file.h"

#include "cleanup.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Its name, up to what tells it from others. False, with errno set, if there is no room for it. */
static bool make_name(char *path, size_t bytes, const char *purpose, bool fleeting)
{
    const char *folder = getenv("TMPDIR");
    if (folder == NULL) {
        folder = fleeting && has_memory() ? memory : "/tmp";
    }
    int length = snprintf(path, bytes, "%s/timerlab-%s-XXXXXX", folder, purpose);
    errno = ENAMETOOLONG;
    return length > 0 && (size_t)length < bytes;
}

bool temporary_file_make(char *path, size_t bytes, const char *purpose, bool fleeting, int *file,
                         struct error *error)
{
    int made = make_name(path, bytes, purpose, fleeting) ? mkstemp(path) : -1;
    if (made >= 0) {
        cleanup_add(path);
    } else {
        return error_set(error, "no temporary file can be made in $TMPDIR or /tmp: %s",
                         strerror(errno));
    }
    if (file != NULL) {
        *file = made;
    } else {
        (void)close(made);
    }
    return true;
}

void temporary_file_remove(const char *path)
{
    (void)unlink(path);
    cleanup_forget(path);
}

bool temporary_folder_make(char *path, size_t bytes, const char *purpose, bool fleeting,
                           struct error *error)
{
    bool made = make_name(path, bytes, purpose, fleeting) && mkdtemp(path) != NULL;
    if (made) {
        cleanup_add_with_files(path);
    } else {
        path[0] = '\0'; /* half a name may be that of something else */
    }
    return made || error_set(error, "no temporary folder can be made in $TMPDIR or /tmp: %s",
                             strerror(errno));
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    if (walk->level > 0) {
        (void)remove(path);
    }
    return 0;
}

void temporary_folder_clear(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void temporary_folder_remove(const char *path)
{
    temporary_folder_clear(path);
    (void)rmdir(path);
    cleanup_forget(path);
}
