/* Plug-ins: shared objects, looked at before they are loaded, and validated before they are used.
 */
#include "plugin.h"

#include "registry.h"

#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tl_plugin {
    void *handle;
    struct tl_algo algo; /* a copy, whose name is `name` */
    char *file;
    char *name;
};

/* The part of an ELF header that is laid out alike for every machine. */
struct elf_start {
    unsigned char ident[EI_NIDENT];
    uint16_t type;
    uint16_t machine;
};

/* How far the segments of an object of this machine's kind reach into the file: what is shorter
 * was cut off, and whoever touches what is mapped beyond its end is ended. */
static uint64_t segments_end(int fd)
{
    ElfW(Ehdr) head;
    uint64_t end = 0;
    if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        head.e_phentsize != sizeof(ElfW(Phdr))) {
        return 0;
    }
    for (unsigned i = 0; i < head.e_phnum; i++) {
        ElfW(Phdr) segment;
        uint64_t at = head.e_phoff + (uint64_t)i * sizeof segment;
        if (pread(fd, &segment, sizeof segment, (off_t)at) != (ssize_t)sizeof segment) {
            return UINT64_MAX;
        }
        uint64_t to = segment.p_offset + segment.p_filesz;
        end = segment.p_type == PT_LOAD && to > end ? to : end;
    }
    return end;
}

/* Returns 0 or an errno; ENOEXEC if the file is too short to have the header, ENODATA if it ends
 * before what the header speaks of, EINVAL if it is no file. */
static int read_elf_start(const char *path, struct elf_start *start)
{
    /* What is a pipe would be waited for. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0) {
        return errno;
    }
    int failure = fstat(fd, &info) != 0 ? errno : S_ISREG(info.st_mode) ? 0 : EINVAL;
    if (failure == 0) {
        ssize_t n = read(fd, start, sizeof *start);
        failure = n < 0 ? errno : (size_t)n < sizeof *start ? ENOEXEC : 0;
    }
    bool native = failure == 0 && memcmp(start->ident, ELFMAG, SELFMAG) == 0 &&
                  start->ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
    if (native && segments_end(fd) > (uint64_t)info.st_size) {
        failure = ENODATA;
    }
    (void)close(fd);
    return failure;
}

/* Says in words what the loader says in riddles: for another machine's object, it finds "no such
 * file". */
static bool can_be_loaded(const char *file, const char *path, char *why, size_t why_bytes)
{
    struct elf_start theirs;
    struct elf_start ours;
    int failure = read_elf_start(path, &theirs);
    if (failure == EINVAL) {
        (void)snprintf(why, why_bytes, "%s: is a folder, a device or a pipe, not a shared object",
                       file);
        return false;
    }
    if (failure == ENODATA) {
        (void)snprintf(why, why_bytes,
                       "%s: was cut off: the file ends before what is to be loaded of it; build "
                       "or copy it anew",
                       file);
        return false;
    }
    if (failure != 0 && failure != ENOEXEC) {
        (void)snprintf(why, why_bytes, "%s: no such plug-in, or it cannot be read (%s)", file,
                       strerror(failure));
        return false;
    }
    if (failure == ENOEXEC || memcmp(theirs.ident, ELFMAG, SELFMAG) != 0) {
        (void)snprintf(why, why_bytes,
                       "%s: not a shared object; build it with cc -shared -fPIC -O2", file);
        return false;
    }
    bool known = read_elf_start("/proc/self/exe", &ours) == 0;
    if (known && (theirs.ident[EI_CLASS] != ours.ident[EI_CLASS] ||
                  theirs.ident[EI_DATA] != ours.ident[EI_DATA] || theirs.machine != ours.machine)) {
        (void)snprintf(why, why_bytes,
                       "%s: built for another machine (ELF machine %u, %s-bit; this is %u, "
                       "%s-bit)",
                       file, (unsigned)theirs.machine,
                       theirs.ident[EI_CLASS] == ELFCLASS64 ? "64" : "32", (unsigned)ours.machine,
                       ours.ident[EI_CLASS] == ELFCLASS64 ? "64" : "32");
        return false;
    }
    if (theirs.type == ET_REL) {
        (void)snprintf(why, why_bytes,
                       "%s: an object file, not yet a shared object; link it with cc -shared",
                       file);
        return false;
    }
    return true;
}

/* The descriptor in a loaded object, if it can be used. */
static const struct tl_algo *find_algo(void *handle, const char *file, char *why, size_t why_bytes)
{
    const struct tl_algo *algo = dlsym(handle, "timerlab_algo");
    char reason[640];
    if (algo == NULL) {
        (void)snprintf(why, why_bytes,
                       "%s: no symbol timerlab_algo; a plug-in ends with TL_ALGO(...) = {...};",
                       file);
        return NULL;
    }
    if (tl_algo_validate(algo, reason, sizeof reason) != TL_OK) {
        (void)snprintf(why, why_bytes, "%s: %s", file, reason);
        return NULL;
    }
    return algo;
}

/* A copy of a valid descriptor, brought to the abi of today: one that is older ends earlier. */
static struct tl_algo as_of_today(const struct tl_algo *algo)
{
    static const size_t bytes_of[] = {[1] = offsetof(struct tl_algo, walk),
                                      [2] = offsetof(struct tl_algo, differs),
                                      [3] = offsetof(struct tl_algo, embedded_bytes),
                                      [4] = sizeof(struct tl_algo)};
    static_assert(sizeof bytes_of / sizeof bytes_of[0] == TL_ABI + 1, "each abi has an end");
    struct tl_algo today = {0};
    memcpy(&today, algo, bytes_of[algo->abi]);
    today.abi = TL_ABI;
    return today;
}

/* Loads plugin->file into the rest of *plugin; `name` is the one asked for, or NULL. On failure
 * the caller closes. */
static bool load(struct tl_plugin *plugin, const char *name, char *why, size_t why_bytes)
{
    if (plugin->file[0] == '\0') {
        (void)snprintf(why, why_bytes,
                       "the path of the plug-in is empty; give that of a shared object, as in "
                       "./my-wheel.so");
        return false;
    }
    /* dlopen searches the system's folders for a name without a slash. */
    size_t path_bytes = strlen(plugin->file) + 3;
    char *path = malloc(path_bytes);
    if (path == NULL) {
        (void)snprintf(why, why_bytes, "out of memory");
        return false;
    }
    (void)snprintf(path, path_bytes, "%s%s", strchr(plugin->file, '/') == NULL ? "./" : "",
                   plugin->file);
    bool loadable = can_be_loaded(plugin->file, path, why, why_bytes);
    if (loadable) {
        plugin->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    free(path);
    if (!loadable) {
        return false;
    }
    if (plugin->handle == NULL) {
        (void)snprintf(why, why_bytes, "%s: cannot be loaded: %s", plugin->file, dlerror());
        return false;
    }
    const struct tl_algo *algo = find_algo(plugin->handle, plugin->file, why, why_bytes);
    if (algo == NULL) {
        return false;
    }
    plugin->name = strdup(name != NULL ? name : algo->name);
    if (plugin->name == NULL) {
        (void)snprintf(why, why_bytes, "out of memory");
        return false;
    }
    plugin->algo = as_of_today(algo);
    plugin->algo.name = plugin->name;
    char reason[640];
    if (tl_algo_validate(&plugin->algo, reason, sizeof reason) != TL_OK) {
        (void)snprintf(why, why_bytes, "%s as '%s': %s", plugin->file, plugin->name, reason);
        return false;
    }
    return true;
}

struct tl_plugin *tl_plugin_open(const char *spec, char *why, size_t why_bytes)
{
    struct tl_plugin *plugin = calloc(1, sizeof *plugin);
    char *file = strdup(spec);
    if (plugin == NULL || file == NULL) {
        (void)snprintf(why, why_bytes, "out of memory");
        free(plugin);
        free(file);
        return NULL;
    }
    plugin->file = file;
    /* A comma names the plug-in anew, unless it belongs to the file's own name. */
    const char *name = NULL;
    char *comma = strrchr(file, ',');
    if (comma != NULL && access(file, F_OK) != 0) {
        *comma = '\0';
        name = comma + 1;
    }
    if (!load(plugin, name, why, why_bytes)) {
        tl_plugin_close(plugin);
        return NULL;
    }
    return plugin;
}

const struct tl_algo *tl_plugin_algo(const struct tl_plugin *plugin)
{
    return &plugin->algo;
}

const char *tl_plugin_file(const struct tl_plugin *plugin)
{
    return plugin->file;
}

void tl_plugin_close(struct tl_plugin *plugin)
{
    if (plugin == NULL) {
        return;
    }
    if (plugin->handle != NULL) {
        (void)dlclose(plugin->handle);
    }
    free(plugin->file);
    free(plugin->name);
    free(plugin);
}
