/* The table is what the dynamic linker filled in from the library's relocations for calls. */
#include "virtual_clock.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
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
        /* NOLINTBEGIN(performance-no-int-to-ptr): addresses stand there as numbers */
        switch (entry->d_tag) {
        case DT_SYMTAB:
            out->symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
            break;
        case DT_STRTAB:
            out->names = (const char *)entry->d_un.d_ptr;
            break;
        case DT_JMPREL:
            out->relocations = (const unsigned char *)entry->d_un.d_ptr;
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

bool tl_virtual_clock_attach(void (*function)(void))
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the C library wants it so */
    const void *address = (const void *)(uintptr_t)function;
    Dl_info info;
    struct link_map *map = NULL;
    struct call_table table;
    /* The program itself, which has no name here, keeps its clock. */
    if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL ||
        map->l_name[0] == '\0' || !find_call_table(map, &table)) {
        return false;
    }
    uintptr_t clock_slot = find_slot(map, &table, "clock_gettime");
    uintptr_t wait_slot = find_slot(map, &table, "epoll_wait");
    if (clock_slot == 0 || wait_slot == 0) {
        return false;
    }
    (void)pthread_mutex_lock(&lock);
    bool done = overwrite(clock_slot, (uintptr_t)led_clock_gettime) &&
                overwrite(wait_slot, (uintptr_t)led_epoll_wait);
    (void)pthread_mutex_unlock(&lock);
    return done;
}
