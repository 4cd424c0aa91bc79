/* The table is what the dynamic linker filled in from the library's relocations for calls. */
#include "virtual_clock.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Read in every call of a loop: without the detour that other ways to a thread's own take. */
static _Thread_local struct virtual_clock *thread_clock __attribute__((tls_model("initial-exec")));

struct virtual_clock *tl_virtual_clock_swap(struct virtual_clock *clock)
{
    struct virtual_clock *before = thread_clock;
    thread_clock = clock;
    return before;
}

/* --- what the library calls instead ---------------------------------------------------------- */

static int led_clock_gettime(clockid_t id, struct timespec *now)
{
    const struct virtual_clock *clock = thread_clock;
    if (clock == NULL) {
        return clock_gettime(id, now);
    }
    now->tv_sec = (time_t)(clock->now_ms / 1000);
    now->tv_nsec = (long)(clock->now_ms % 1000) * 1000000;
    return 0;
}

static int led_epoll_wait(int file, struct epoll_event *events, int count, int wait_ms)
{
    struct virtual_clock *clock = thread_clock;
    if (clock == NULL || clock->on_wait == NULL) {
        return epoll_wait(file, events, count, wait_ms);
    }
    clock->on_wait(clock, wait_ms);
    return 0;
}

/* Stands before each block from the structure's allocator. A loop has a dozen of them, which grow
 * by doubling, so they are looked for one after the other. */
struct virtual_block {
    alignas(max_align_t) struct virtual_block *next;
    size_t bytes; /* behind this */
};

/* Takes the block at `memory` out of the clock's. NULL if it is none of them. */
static struct virtual_block *take_block(struct virtual_clock *clock, const void *memory)
{
    for (struct virtual_block **at = &clock->blocks; *at != NULL; at = &(*at)->next) {
        struct virtual_block *block = *at;
        if (block + 1 == memory) {
            *at = block->next;
            return block;
        }
    }
    return NULL;
}

/* Makes `block`, or a new one, as long as asked for, and one of the clock's. NULL: `block` is as it
 * was, and not the clock's. */
static void *resize_block(struct virtual_clock *clock, struct virtual_block *block, size_t bytes)
{
    struct virtual_block *resized = clock->allocator->resize(
        clock->allocator->ctx, block, block != NULL ? sizeof *block + block->bytes : 0,
        sizeof *block + bytes, alignof(struct virtual_block));
    if (resized == NULL) {
        return NULL;
    }
    *resized = (struct virtual_block){.next = clock->blocks, .bytes = bytes};
    clock->blocks = resized;
    return resized + 1;
}

static void free_block(const struct virtual_clock *clock, struct virtual_block *block)
{
    tl_free(clock->allocator, block, sizeof *block + block->bytes, alignof(struct virtual_block));
}

static void *led_malloc(size_t bytes)
{
    struct virtual_clock *clock = thread_clock;
    void *memory = NULL;
    if (clock != NULL && clock->allocator != NULL) {
        memory = resize_block(clock, NULL, bytes);
    }
    return memory != NULL ? memory : malloc(bytes);
}

static void *led_calloc(size_t count, size_t bytes)
{
    size_t all = 0;
    if (thread_clock == NULL || __builtin_mul_overflow(count, bytes, &all)) {
        return calloc(count, bytes);
    }
    void *memory = led_malloc(all);
    return memory != NULL ? memset(memory, 0, all) : NULL;
}

static void led_free(void *memory)
{
    struct virtual_clock *clock = thread_clock;
    struct virtual_block *block = clock != NULL ? take_block(clock, memory) : NULL;
    if (block != NULL) {
        free_block(clock, block);
    } else {
        free(memory);
    }
}

static void *led_realloc(void *memory, size_t bytes)
{
    struct virtual_clock *clock = thread_clock;
    if (memory == NULL) {
        return led_malloc(bytes);
    }
    struct virtual_block *block = clock != NULL ? take_block(clock, memory) : NULL;
    if (block == NULL) {
        return realloc(memory, bytes);
    }
    void *resized = resize_block(clock, block, bytes);
    if (resized != NULL) {
        return resized;
    }
    resized = malloc(bytes);
    if (resized == NULL) {
        block->next = clock->blocks;
        clock->blocks = block;
        return NULL;
    }
    memcpy(resized, memory, bytes < block->bytes ? bytes : block->bytes);
    free_block(clock, block);
    return resized;
}

/* --- the library's table of calls ------------------------------------------------------------ */

/* What the dynamic linker knows of a library's calls. */
struct call_table {
    const ElfW(Sym) * symbols;
    const char *names;
    const unsigned char *relocations;
    size_t bytes;
    size_t stride; /* bytes of a relocation; both kinds begin alike */
};

static bool find_call_table(const struct link_map *map, struct call_table *out)
{
    *out = (struct call_table){0};
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        /* glibc has added where the library lies, musl has not. */
        uintptr_t address = entry->d_un.d_ptr;
        address += address < map->l_addr ? map->l_addr : 0;
        /* NOLINTBEGIN(performance-no-int-to-ptr): addresses stand there as numbers */
        switch (entry->d_tag) {
        case DT_SYMTAB:
            out->symbols = (const ElfW(Sym) *)address;
            break;
        case DT_STRTAB:
            out->names = (const char *)address;
            break;
        case DT_JMPREL:
            out->relocations = (const unsigned char *)address;
            break;
        case DT_PLTRELSZ:
            out->bytes = entry->d_un.d_val;
            break;
        case DT_PLTREL:
            out->stride = entry->d_un.d_val == DT_RELA ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
            break;
        default:
            break;
        }
        /* NOLINTEND(performance-no-int-to-ptr) */
    }
    return out->symbols != NULL && out->names != NULL && out->relocations != NULL &&
           out->stride != 0;
}

static uint32_t symbol_of(ElfW(Xword) info)
{
    return sizeof(void *) == 8 ? (uint32_t)(info >> 32) : (uint32_t)(info >> 8);
}

/* Where the address of the function stands that calls of `name` go to. */
static uintptr_t find_slot(const struct link_map *map, const struct call_table *table,
                           const char *name)
{
    for (size_t at = 0; at + table->stride <= table->bytes; at += table->stride) {
        ElfW(Rel) relocation;
        memcpy(&relocation, table->relocations + at, sizeof relocation);
        const ElfW(Sym) *symbol = &table->symbols[symbol_of(relocation.r_info)];
        if (strcmp(table->names + symbol->st_name, name) == 0) {
            return map->l_addr + relocation.r_offset;
        }
    }
    return 0;
}

/* Whether an address was made read-only once the library was loaded. */
struct protection {
    uintptr_t address;
    bool read_only;
};

static int look_for_protection(struct dl_phdr_info *info, size_t info_bytes, void *ctx)
{
    (void)info_bytes;
    struct protection *protection = ctx;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_GNU_RELRO && protection->address >= begin &&
            protection->address - begin < part->p_memsz) {
            protection->read_only = true;
            return 1;
        }
    }
    return 0;
}

static bool overwrite(uintptr_t slot, uintptr_t target)
{
    /* NOLINTBEGIN(performance-no-int-to-ptr) */
    uintptr_t *entry = (uintptr_t *)slot;
    if (*entry == target) {
        return true;
    }
    struct protection protection = {.address = slot};
    (void)dl_iterate_phdr(look_for_protection, &protection);
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)(slot - slot % page_bytes);
    /* NOLINTEND(performance-no-int-to-ptr) */
    if (protection.read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    __atomic_store_n(entry, target, __ATOMIC_RELEASE);
    return !protection.read_only || mprotect(page, page_bytes, PROT_READ) == 0;
}

bool tl_virtual_clock_attach(void *library)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct link_map *map = NULL;
    struct call_table table;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !find_call_table(map, &table)) {
        return false;
    }
    const struct {
        const char *name;
        uintptr_t target;
        bool required;
    } calls[] = {
        {"clock_gettime", (uintptr_t)led_clock_gettime, true},
        {"epoll_wait", (uintptr_t)led_epoll_wait, true},
        {"malloc", (uintptr_t)led_malloc, false},
        {"calloc", (uintptr_t)led_calloc, false},
        {"realloc", (uintptr_t)led_realloc, false},
        {"free", (uintptr_t)led_free, false},
    };
    enum { CALLS = sizeof calls / sizeof calls[0] };
    uintptr_t slots[CALLS];
    for (size_t i = 0; i < CALLS; i++) {
        slots[i] = find_slot(map, &table, calls[i].name);
        if (slots[i] == 0 && calls[i].required) {
            return false;
        }
    }
    bool done = true;
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < CALLS && done; i++) {
        done = slots[i] == 0 || overwrite(slots[i], calls[i].target);
    }
    (void)pthread_mutex_unlock(&lock);
    return done;
}
