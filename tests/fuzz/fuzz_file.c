#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

const char *fuzz_file(const void *bytes, size_t count)
{
    static int fd = -1;
    static char path[40];
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        FUZZ_REQUIRE(fd >= 0);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    FUZZ_REQUIRE(ftruncate(fd, 0) == 0);
    FUZZ_REQUIRE(count == 0 || pwrite(fd, bytes, count, 0) == (ssize_t)count);
    return path;
}
