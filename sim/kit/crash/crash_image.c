#include "crash_image.h"

#include "child.h"
#include "memory.h"
#include "random.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR     512u
#define CALLS_MOST (1u << 17)
#define DATA_BYTES ((size_t)512 << 20)

struct call {
    struct shim_call shim; /* its data and names are in the trace */
    struct crash_moment moment;
};

struct crash_trace {
    size_t room; /* bytes of `data` that are not used */
    uint64_t calls;
    struct call call[CALLS_MOST];
    char data[DATA_BYTES];
};

struct crash_trace *crash_trace_new(void)
{
    struct crash_trace *trace = child_memory_new(sizeof *trace);
    trace->room = DATA_BYTES;
    return trace;
}

void crash_trace_free(struct crash_trace *trace)
{
    child_memory_free(trace, sizeof *trace);
}

static const void *keep(struct crash_trace *trace, const void *data, size_t bytes)
{
    char *kept = trace->data + DATA_BYTES - trace->room;
    trace->room -= bytes;
    return bytes > 0 ? memcpy(kept, data, bytes) : kept;
}

void crash_trace_add(struct crash_trace *trace, const struct shim_call *call,
                     const struct crash_moment *moment)
{
    size_t bytes = call->kind == SHIM_WRITE ? call->bytes : 0;
    size_t name_bytes = strlen(call->name) + 1;
    size_t other_bytes = call->other != NULL ? strlen(call->other) + 1 : 0;
    if (trace->calls == CALLS_MOST || bytes + name_bytes + other_bytes > trace->room) {
        trace->room = 0; /* nor do later calls fit */
        return;
    }
    struct call *it = &trace->call[trace->calls++];
    *it = (struct call){*call, *moment};
    it->shim.data = keep(trace, call->data, bytes);
    it->shim.name = keep(trace, call->name, name_bytes);
    it->shim.other = keep(trace, call->other, other_bytes);
}

uint64_t crash_trace_calls(const struct crash_trace *trace)
{
    return trace->calls;
}

uint64_t crash_trace_torn(const struct crash_trace *trace, uint64_t cut)
{
    for (uint64_t i = cut; i + 1 < trace->calls; i++) {
        const struct shim_call *call = &trace->call[i].shim;
        uint64_t end = call->offset + call->bytes;
        if (call->kind == SHIM_WRITE && call->offset / SECTOR + 1 < (end + SECTOR - 1) / SECTOR) {
            return i + 1;
        }
    }
    return cut;
}

/* --- the image ------------------------------------------------------------------------------- */

struct file {
    uint64_t number;
    uint64_t synced;  /* calls below it are safe */
    const char *name; /* NULL: none */
    char first[40];   /* its name until all calls are applied */
    int fd;
};

struct image {
    const struct crash_trace *trace;
    int folder;
    struct file *files;
    size_t file_count;
    size_t file_room;
    struct random random;
    bool keeps_half;
    int failure; /* an errno; 0: none */
};

/* The reason of the first failure is kept. */
static void expect(struct image *image, bool is_done)
{
    image->failure = is_done || image->failure != 0 ? image->failure : errno;
}

/* The file of that number; empty if it was not there. */
static struct file *find_file(struct image *image, uint64_t number)
{
    for (size_t i = image->file_count; i > 0; i--) {
        if (image->files[i - 1].number == number) {
            return &image->files[i - 1];
        }
    }
    MEMORY_REACH(image->files, image->file_room, image->file_count);
    struct file *file = &image->files[image->file_count++];
    *file = (struct file){.number = number};
    (void)snprintf(file->first, sizeof file->first, "timerlab-image-%" PRIu64, number);
    file->fd = openat(image->folder, file->first, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return file;
}

/* The file of that name; NULL: none. */
static struct file *find_named(const struct image *image, const char *name)
{
    size_t i = image->file_count;
    while (i > 0 &&
           (image->files[i - 1].name == NULL || strcmp(image->files[i - 1].name, name) != 0)) {
        i--;
    }
    return i > 0 ? &image->files[i - 1] : NULL;
}

static bool heads(struct image *image)
{
    return (random_bits(&image->random) & 1) != 0;
}

/* Carry out a write: all of it if it is safe on the disk, or else some of its sectors. */
static void apply_write(struct image *image, const struct shim_call *call, int fd, bool safe)
{
    const char *data = call->data;
    for (size_t at = 0; at < call->bytes;) {
        size_t piece = safe ? call->bytes : SECTOR - (call->offset + at) % SECTOR;
        piece = piece < call->bytes - at ? piece : call->bytes - at;
        if (safe || heads(image)) {
            expect(image,
                   pwrite(fd, data + at, piece, (off_t)(call->offset + at)) == (ssize_t)piece);
        }
        at += piece;
    }
}

static void apply_name(struct image *image, const struct shim_call *call)
{
    bool opens = call->kind == SHIM_OPEN;
    const char *name = opens ? call->name : call->kind == SHIM_RENAME ? call->other : NULL;
    struct file *file = opens ? find_file(image, call->file) : find_named(image, call->name);
    struct file *replaced = name != NULL ? find_named(image, name) : NULL;
    if (file != NULL && replaced != NULL) {
        replaced->name = NULL;
    }
    if (file != NULL) {
        file->name = name;
    }
}

/* Note the last sync of each file. Return the last sync of the folder: names that were made or
 * changed before it are safe on the disk. */
static uint64_t find_syncs(struct image *image, uint64_t end)
{
    uint64_t names = 0;
    for (uint64_t i = 0; i < end; i++) {
        const struct shim_call *call = &image->trace->call[i].shim;
        if (call->kind == SHIM_SYNC) {
            find_file(image, call->file)->synced = i;
        } else if (call->kind == SHIM_SYNC_FOLDER) {
            names = i;
        }
    }
    return names;
}

static void apply_calls(struct image *image, uint64_t end)
{
    uint64_t names = find_syncs(image, end);
    bool names_go_on = true;
    for (uint64_t i = 0; i < end; i++) {
        const struct shim_call *call = &image->trace->call[i].shim;
        bool opens = call->kind == SHIM_OPEN;
        if (opens || call->kind == SHIM_RENAME || call->kind == SHIM_UNLINK) {
            names_go_on = i < names || (names_go_on && image->keeps_half && heads(image));
            if (names_go_on) {
                apply_name(image, call);
            }
        }
        if (!opens && call->kind != SHIM_WRITE && call->kind != SHIM_TRUNCATE) {
            continue;
        }
        const struct file *file = find_file(image, call->file);
        bool safe = opens || call->synced || i < file->synced;
        if (call->kind == SHIM_WRITE && (safe || image->keeps_half)) {
            apply_write(image, call, file->fd, safe);
        } else if (safe || image->keeps_half) {
            expect(image, ftruncate(file->fd, opens ? 0 : (off_t)call->offset) == 0);
        }
    }
}

/* Give the files their names; remove those without. */
static void name_files(struct image *image)
{
    int folder = image->folder;
    for (size_t i = 0; i < image->file_count; i++) {
        const struct file *file = &image->files[i];
        expect(image, (file->name != NULL ? renameat(folder, file->first, folder, file->name)
                                          : unlinkat(folder, file->first, 0)) == 0);
        (void)close(file->fd);
    }
}

bool crash_image_make(const struct crash_trace *trace, uint64_t cut, bool keeps_half, uint64_t seed,
                      const char *folder, struct crash_moment *moment, struct error *error)
{
    struct image image = {.trace = trace, .keeps_half = keeps_half};
    random_seed(&image.random, seed);
    image.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *moment = trace->call[cut].moment;
    apply_calls(&image, cut);
    name_files(&image);
    (void)close(image.folder);
    free(image.files);
    return image.failure == 0 || error_set(error, "%s: %s", folder, strerror(image.failure));
}
