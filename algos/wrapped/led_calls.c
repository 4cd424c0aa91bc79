/* The dynamic linker fills the table from the library's relocations for calls. */
#include "led_calls.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- the library's table of calls ------------------------------------------------------------ */

/* The dynamic linker's data on a library's calls. */
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
        /* glibc has added the library's address, musl has not. */
        uintptr_t address = entry->d_un.d_ptr;
        address += address < map->l_addr ? map->l_addr : 0;
        /* NOLINTBEGIN(performance-no-int-to-ptr): addresses are there as numbers */
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

/* Return the address of the slot through which `name` is called. */
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

/* Exchange the address in the slot. */
static bool swap(uintptr_t slot, uintptr_t *target)
{
    /* NOLINTBEGIN(performance-no-int-to-ptr) */
    uintptr_t *entry = (uintptr_t *)slot;
    struct protection protection = {.address = slot};
    (void)dl_iterate_phdr(look_for_protection, &protection);
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)(slot - slot % page_bytes);
    /* NOLINTEND(performance-no-int-to-ptr) */
    if (protection.read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    *target = __atomic_exchange_n(entry, *target, __ATOMIC_ACQ_REL);
    return !protection.read_only || mprotect(page, page_bytes, PROT_READ) == 0;
}

bool tl_led_calls_swap(void *library, struct led_call *calls, size_t count)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct link_map *map = NULL;
    struct call_table table;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !find_call_table(map, &table)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (calls[i].required && find_slot(map, &table, calls[i].name) == 0) {
            return false;
        }
    }
    bool done = true;
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && done; i++) {
        uintptr_t slot = find_slot(map, &table, calls[i].name);
        done = slot == 0 || swap(slot, &calls[i].target);
    }
    (void)pthread_mutex_unlock(&lock);
    return done;
}
