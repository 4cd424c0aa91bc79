#include "stream_error.h"

#include <errno.h>
#include <unistd.h>

int stream_error(FILE *stream)
{
    if (fflush(stream) != 0) {
        return errno;
    }
    if (!ferror(stream)) {
        return 0;
    }
    /* An earlier write failed, and its errno is lost. Its cause usually persists: a full disk, a
     * limit. */
    return write(fileno(stream), "\n", 1) < 0 ? errno : EIO;
}

int stream_sync(FILE *stream)
{
    int why = stream_error(stream);
    if (why == 0 && fsync(fileno(stream)) != 0) {
        why = errno == EINVAL || errno == EROFS ? 0 : errno;
    }
    return why;
}
