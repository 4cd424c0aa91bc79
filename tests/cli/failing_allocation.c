/*
 * A library to be loaded before the others (LD_PRELOAD): allocation number FAIL_ALLOCATION of a
 * program with a name that begins with "timerlab" returns NULL. A process made by fork continues
 * its parent's count, so each line of descent has a failure of its own. FAIL_MARK names a file that
 * is made when an allocation has failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Those of the GNU C library, under the names by which they cannot be replaced. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

static atomic_long left; /* allocations until the failure, itself included; 0: none fails */
static const char *mark;

__attribute__((constructor)) static void begin(void)
{
    const char *which = getenv("FAIL_ALLOCATION");
    if (which != NULL && strncmp(program_invocation_short_name, "timerlab", 8) == 0) {
        mark = getenv("FAIL_MARK");
        atomic_store(&left, atol(which));
    }
}

static bool fails(void)
{
    if (atomic_load(&left) <= 0 || atomic_fetch_sub(&left, 1) != 1) {
        return false;
    }
    int made = mark != NULL ? open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (made >= 0) {
        (void)close(made);
    }
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return bytes > 0 && fails() ? NULL : __libc_realloc(old, bytes);
}

void *memalign(size_t align, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(align, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return memalign(align, bytes);
}

int posix_memalign(void **result, size_t align, size_t bytes)
{
    void *made = memalign(align, bytes);
    if (made == NULL) {
        return ENOMEM;
    }
    *result = made;
    return 0;
}
