#include "temporary_file.h"

#include "leavings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool temporary_file_make(char *path, size_t bytes, const char *purpose, bool fleeting, int *file,
                         struct error *error)
{
    static const char memory[] = "/dev/shm";
    const char *folder = getenv("TMPDIR");
    if (folder == NULL) {
        folder = fleeting && access(memory, W_OK | X_OK) == 0 ? memory : "/tmp";
    }
    int length = snprintf(path, bytes, "%s/timerlab-%s-XXXXXX", folder, purpose);
    errno = ENAMETOOLONG;
    leavings_hold();
    int made = length > 0 && (size_t)length < bytes ? mkstemp(path) : -1;
    if (made >= 0) {
        leavings_add(path);
    }
    leavings_release();
    if (made < 0) {
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
    leavings_forget(path);
}
