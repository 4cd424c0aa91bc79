/* Allocators: the process's heap, and one that counts what passes through it. */
#include "registry.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Large blocks start on a huge page's boundary and ask for huge pages: without them a structure of
 * a million timers is measured by its misses in the translation buffer, and two runs differ by
 * which blocks the kernel happened to back with them. */
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/* Others begin at a cache line, unless they are smaller: which of a structure's members share a
 * line is then its own choice, not the heap's. */
#define HEAP_LINE_BYTES ((size_t)64)

static void *system_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes, size_t align)
{
    (void)ctx;
    if (new_bytes == 0) {
        free(ptr);
        return NULL;
    }
    size_t least = new_bytes >= HEAP_LINE_BYTES ? HEAP_LINE_BYTES : sizeof(void *);
    if (align < least) {
        align = least;
    }
    if (new_bytes >= HUGE_PAGE_BYTES && align < HUGE_PAGE_BYTES) {
        align = HUGE_PAGE_BYTES;
    }
    void *fresh = NULL;
    if (posix_memalign(&fresh, align, new_bytes) != 0) {
        return NULL;
    }
    if (align >= HUGE_PAGE_BYTES) {
        (void)madvise(fresh, new_bytes, MADV_HUGEPAGE);
    }
    if (ptr != NULL) {
        memcpy(fresh, ptr, old_bytes < new_bytes ? old_bytes : new_bytes);
        free(ptr);
    }
    return fresh;
}

const struct tl_allocator *tl_system_allocator(void)
{
    static const struct tl_allocator system_allocator = {NULL, system_resize};
    return &system_allocator;
}

static void *counting_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes, size_t align)
{
    struct tl_memory *memory = ctx;
    if (new_bytes > old_bytes && (memory->bytes > memory->limit_bytes ||
                                  new_bytes - old_bytes > memory->limit_bytes - memory->bytes)) {
        return NULL;
    }
    void *fresh = memory->below->resize(memory->below->ctx, ptr, old_bytes, new_bytes, align);
    if (fresh == NULL && new_bytes != 0) {
        return NULL;
    }
    memory->bytes += new_bytes;
    memory->bytes -= ptr != NULL ? old_bytes : 0;
    if (memory->bytes > memory->peak_bytes) {
        memory->peak_bytes = memory->bytes;
    }
    if (new_bytes > (ptr != NULL ? old_bytes : 0)) {
        memory->allocations++;
    }
    return fresh;
}

void tl_counting_allocator(struct tl_memory *memory, const struct tl_allocator *below)
{
    memset(memory, 0, sizeof *memory);
    memory->allocator = (struct tl_allocator){memory, counting_resize};
    memory->below = below;
    memory->limit_bytes = UINT64_MAX;
}
