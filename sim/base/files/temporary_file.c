#include "temporary_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool temporary_file_make(char *path, size_t bytes, const char *purpose, bool fleeting,
                         struct error *error)
{
    static const char memory[] = "/dev/shm";
    const char *folder = getenv("TMPDIR");
    if (folder == NULL) {
        folder = fleeting && access(memory, W_OK | X_OK) == 0 ? memory : "/tmp";
    }
    int length = snprintf(path, bytes, "%s/timerlab-%s-XXXXXX", folder, purpose);
    errno = ENAMETOOLONG;
    int file = length > 0 && (size_t)length < bytes ? mkstemp(path) : -1;
    if (file < 0) {
        return error_set(error, "the trace could not be written to a file in $TMPDIR or /tmp: %s",
                         strerror(errno));
    }
    (void)close(file);
    return true;
}
