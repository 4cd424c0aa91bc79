/* A list, the latest used first: there are never more than some dozens. */
#include "cache.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_BYTES_MAX = 64, SHARE_OF_MEMORY = 4 };

struct cache_entry {
    struct cache_entry *below;
    const struct cache_kind *kind;
    void *value;
    size_t bytes;
    unsigned char key[KEY_BYTES_MAX];
};

static struct cache_entry *entries;

static size_t room_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (size_t)pages / SHARE_OF_MEMORY * (size_t)page_bytes : 0;
}

static void destroy_entry(struct cache_entry *entry)
{
    entry->kind->destroy(entry->value);
    free(entry);
}

/* Drop the entries after the first ones that fit; the first always stays. */
static void make_room(void)
{
    size_t room = room_bytes();
    size_t used = 0;
    struct cache_entry **link = &entries;
    while (*link != NULL && (*link == entries || used + (*link)->bytes <= room)) {
        used += (*link)->bytes;
        link = &(*link)->below;
    }
    struct cache_entry *rest = *link;
    *link = NULL;
    while (rest != NULL) {
        struct cache_entry *below = rest->below;
        destroy_entry(rest);
        rest = below;
    }
}

void *cache_get(const struct cache_kind *kind, const void *key)
{
    for (struct cache_entry **link = &entries; *link != NULL; link = &(*link)->below) {
        struct cache_entry *entry = *link;
        if (entry->kind == kind && memcmp(entry->key, key, kind->key_bytes) == 0) {
            *link = entry->below;
            entry->below = entries;
            entries = entry;
            return entry->value;
        }
    }
    struct cache_entry *entry = memory_new(1, sizeof *entry);
    entry->value = kind->make(key, &entry->bytes);
    entry->kind = kind;
    memcpy(entry->key, key, kind->key_bytes);
    entry->below = entries;
    entries = entry;
    make_room();
    return entry->value;
}

void cache_forget(void)
{
    while (entries != NULL) {
        struct cache_entry *below = entries->below;
        destroy_entry(entries);
        entries = below;
    }
}
