/* What timers take of memory: the kernel's slabs, and the process's own. */
#include "kernel.h"

#include "memory.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

struct cache {
    char name[64];
    double objects;
    double object_bytes;
};

struct kernel_memory {
    size_t count;
    struct cache caches[1024];
};

/* With few timers what others do meanwhile is as much. */
#define TELLING 10000u

struct kernel_memory *kernel_memory_read(void)
{
    FILE *file = fopen("/proc/slabinfo", "r");
    struct kernel_memory *memory = file != NULL ? memory_new(1, sizeof *memory) : NULL;
    char line[512];
    while (memory != NULL && fgets(line, sizeof line, file) != NULL &&
           memory->count < sizeof memory->caches / sizeof memory->caches[0]) {
        struct cache *cache = &memory->caches[memory->count];
        /* name, objects in use, objects, bytes of one; two lines are headings
         * NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers */
        if (sscanf(line, "%63s %lf %*f %lf", cache->name, &cache->objects, &cache->object_bytes) ==
            3) {
            memory->count++;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return memory;
}

static double objects_of(const struct kernel_memory *memory, const char *name)
{
    for (size_t i = 0; i < memory->count; i++) {
        if (strcmp(memory->caches[i].name, name) == 0) {
            return memory->caches[i].objects;
        }
    }
    return 0;
}

double kernel_memory_grown(const struct kernel_memory *before, const struct kernel_memory *after,
                           uint32_t count)
{
    if (before == NULL || after == NULL || count < TELLING) {
        return -1;
    }
    double bytes = 0;
    for (size_t i = 0; i < after->count; i++) {
        const struct cache *cache = &after->caches[i];
        double grown = cache->objects - objects_of(before, cache->name);
        bytes += grown >= 0.5 * count ? grown * cache->object_bytes : 0;
    }
    return bytes / count;
}

uint64_t kernel_user_bytes(void)
{
#ifdef __GLIBC__
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}
