#include "kit_syncs.h"

#include "clock.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

typedef int sync_fn(int fd);

/* INT64_MAX: no limit. Negative: it is used up. */
static _Atomic int64_t left_ns = INT64_MAX;

void kit_syncs_limit(double seconds)
{
    atomic_store(&left_ns, (int64_t)(seconds * 1e9));
}

/* Call the next definition of that name, usually the C library's. */
static int call(const char *name, int fd)
{
    union {
        void *object;
        sync_fn *function;
    } next;
    int64_t left = atomic_load(&left_ns);
    if (left <= 0) {
        return 0;
    }
    next.object = dlsym(RTLD_NEXT, name);
    uint64_t begun_ns = clock_now_ns();
    int result = next.function(fd);
    if (left != INT64_MAX) {
        (void)atomic_fetch_sub(&left_ns, (int64_t)(clock_now_ns() - begun_ns));
    }
    return result;
}

/* Override the C library's, for this program and all that it loads. Weak, so that a test can have
 * its own. */
__attribute__((visibility("default"), weak)) int fsync(int fd)
{
    return call("fsync", fd);
}

__attribute__((visibility("default"), weak)) int fdatasync(int fd)
{
    return call("fdatasync", fd);
}
