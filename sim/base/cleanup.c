#include "cleanup.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRIES 4096u

enum { FREE, TAKEN /* its path is being written */, FIRST_ORDER };

struct entry {
    _Atomic uint64_t order; /* FREE, TAKEN, or its place in time, from FIRST_ORDER */
    bool with_files;
    char path[PATH_MAX];
};

struct list {
    _Atomic uint64_t next_order;
    struct entry entries[ENTRIES];
};

static struct list *list; /* NULL: no supervisor */

bool cleanup_begin(void)
{
    /* Only the pages of entries that are used take memory. */
    void *memory = mmap(NULL, sizeof *list, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    list = memory;
    list->next_order = FIRST_ORDER;
    return true;
}

static void add(const char *path, bool with_files)
{
    if (strlen(path) >= PATH_MAX) {
        return; /* no file can be made under that name */
    }
    for (struct entry *at = list->entries; at < list->entries + ENTRIES; at++) {
        uint64_t expected = FREE;
        if (atomic_compare_exchange_strong(&at->order, &expected, TAKEN)) {
            (void)snprintf(at->path, sizeof at->path, "%s", path);
            at->with_files = with_files;
            atomic_store(&at->order, atomic_fetch_add(&list->next_order, 1));
            return;
        }
    }
}

void cleanup_add(const char *path)
{
    if (list != NULL) {
        add(path, false);
    }
}

void cleanup_add_with_files(const char *path)
{
    if (list != NULL) {
        add(path, true);
    }
}

void cleanup_forget(const char *path)
{
    for (size_t i = 0; list != NULL && i < ENTRIES; i++) {
        struct entry *at = &list->entries[i];
        if (atomic_load(&at->order) >= FIRST_ORDER && strcmp(at->path, path) == 0) {
            atomic_store(&at->order, FREE);
        }
    }
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    (void)remove(path);
    return 0;
}

/* Once more, if there was no memory to walk through it: what took it may have ended. */
static void remove_with_files(const char *path)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno == ENOMEM) {
        (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

void cleanup_remove(const char *path)
{
    remove_with_files(path);
    cleanup_forget(path);
}

static struct entry *latest(void)
{
    struct entry *found = NULL;
    for (struct entry *at = list->entries; at < list->entries + ENTRIES; at++) {
        if (at->order >= FIRST_ORDER && (found == NULL || at->order > found->order)) {
            found = at;
        }
    }
    return found;
}

void cleanup_remove_all(void)
{
    struct entry *at;
    while (list != NULL && (at = latest()) != NULL) {
        if (at->with_files) {
            remove_with_files(at->path);
        } else {
            (void)remove(at->path);
        }
        at->order = FREE;
    }
}
