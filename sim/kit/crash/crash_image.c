#include "crash_image.h"

#include "child.h"
#include "memory.h"
#include "random.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR     512u
#define CALLS_MOST (1u << 17)

struct call {
    struct shim_call shim; /* its data and names are in the trace */
    struct crash_moment moment;
};

struct crash_trace {
    size_t bytes; /* of all */
    size_t used;
    uint64_t calls;
    struct crash_moment last;
    bool full;
    struct call call[CALLS_MOST];
    char data[];
};

struct crash_trace *crash_trace_new(size_t bytes)
{
    struct crash_trace *trace = child_memory_new(sizeof *trace + bytes);
    trace->bytes = bytes;
    return trace;
}

void crash_trace_free(struct crash_trace *trace)
{
    if (trace != NULL) {
        child_memory_free(trace, sizeof *trace + trace->bytes);
    }
}

static const void *keep(struct crash_trace *trace, const void *data, size_t bytes)
{
    char *kept = trace->data + trace->used;
    trace->used += bytes;
    return bytes > 0 ? memcpy(kept, data, bytes) : kept;
}

void crash_trace_add(struct crash_trace *trace, const struct shim_call *call,
                     const struct crash_moment *moment)
{
    size_t bytes = call->kind == SHIM_WRITE ? call->bytes : 0;
    size_t name_bytes = call->name != NULL ? strlen(call->name) + 1 : 0;
    size_t other_bytes = call->other != NULL ? strlen(call->other) + 1 : 0;
    if (trace->full) {
        return;
    }
    if (trace->calls == CALLS_MOST ||
        bytes + name_bytes + other_bytes > trace->bytes - trace->used) {
        /* No image has this call, so nothing that is known later may be asked of one. */
        trace->full = true;
        trace->last = *moment;
        return;
    }
    struct call *it = &trace->call[trace->calls++];
    *it = (struct call){*call, *moment};
    it->shim.data = keep(trace, call->data, bytes);
    it->shim.name = keep(trace, call->name, name_bytes);
    it->shim.other = keep(trace, call->other, other_bytes);
}

void crash_trace_end(struct crash_trace *trace, const struct crash_moment *moment)
{
    if (!trace->full) {
        trace->last = *moment;
    }
}

uint64_t crash_trace_calls(const struct crash_trace *trace)
{
    return trace->calls > 0 ? trace->calls : 1;
}

/* --- the image ------------------------------------------------------------------------------- */

struct file {
    uint64_t number;
    char *bytes;
    size_t length;
    uint64_t synced; /* calls below it are safe */
};

struct name {
    const char *text;
    uint64_t file; /* 0: gone */
};

struct image {
    const struct crash_trace *trace;
    struct file *files;
    size_t file_count;
    size_t file_room;
    struct name *names;
    size_t name_count;
    size_t name_room;
    struct random random;
    bool keeps_half;
};

/* The file of that number, and the name of that text; of an empty file and a name that is gone, if
 * it was not there. */
static struct file *find_file(struct image *image, uint64_t number)
{
    size_t i = image->file_count;
    while (i > 0 && image->files[i - 1].number != number) {
        i--;
    }
    if (i > 0) {
        return &image->files[i - 1];
    }
    MEMORY_REACH(image->files, image->file_room, image->file_count);
    image->files[image->file_count] = (struct file){.number = number};
    return &image->files[image->file_count++];
}

static struct name *find_name(struct image *image, const char *text)
{
    size_t i = 0;
    while (i < image->name_count && strcmp(image->names[i].text, text) != 0) {
        i++;
    }
    if (i == image->name_count) {
        MEMORY_REACH(image->names, image->name_room, i);
        image->names[image->name_count++] = (struct name){.text = text};
    }
    return &image->names[i];
}

static bool is_of_folder(const struct shim_call *call)
{
    return call->kind == SHIM_OPEN || call->kind == SHIM_RENAME || call->kind == SHIM_UNLINK;
}

/* Which calls are safe: marks syncs, file by file; returns up to which one names are. */
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

static bool heads(struct image *image)
{
    return (random_bits(&image->random) & 1) != 0;
}

static void make_longer(struct file *file, size_t length)
{
    if (length > file->length) {
        file->bytes = memory_resize(file->bytes, length, 1);
        memset(file->bytes + file->length, 0, length - file->length);
        file->length = length;
    }
}

static void apply_write(struct image *image, const struct shim_call *call, bool safe)
{
    struct file *file = find_file(image, call->file);
    const char *data = call->data;
    for (size_t at = 0; at < call->bytes;) {
        size_t piece = SECTOR - (call->offset + at) % SECTOR;
        piece = piece < call->bytes - at ? piece : call->bytes - at;
        if (safe || heads(image)) {
            make_longer(file, call->offset + at + piece);
            memcpy(file->bytes + call->offset + at, data + at, piece);
        }
        at += piece;
    }
}

static void apply_content(struct image *image, const struct shim_call *call, bool safe)
{
    if (call->kind == SHIM_WRITE) {
        apply_write(image, call, safe);
        return;
    }
    struct file *file = find_file(image, call->file);
    size_t length = call->kind == SHIM_TRUNCATE ? (size_t)call->offset : 0;
    make_longer(file, length);
    file->length = length;
}

static void apply_name(struct image *image, const struct shim_call *call)
{
    uint64_t file = call->kind == SHIM_OPEN ? call->file : find_name(image, call->name)->file;
    if (call->kind != SHIM_RENAME) {
        find_name(image, call->name)->file = call->kind == SHIM_OPEN ? file : 0;
    } else if (file != 0) {
        find_name(image, call->other)->file = file;
        find_name(image, call->name)->file = 0;
    }
}

static void apply_calls(struct image *image, uint64_t end)
{
    uint64_t names = find_syncs(image, end);
    bool names_go_on = true;
    for (uint64_t i = 0; i < end; i++) {
        const struct shim_call *call = &image->trace->call[i].shim;
        if (is_of_folder(call)) {
            names_go_on = i < names || (names_go_on && image->keeps_half && heads(image));
            if (names_go_on) {
                apply_name(image, call);
            }
        }
        bool content =
            call->kind == SHIM_WRITE || call->kind == SHIM_TRUNCATE || call->kind == SHIM_OPEN;
        bool safe =
            i < find_file(image, call->file)->synced || call->kind == SHIM_OPEN || call->synced;
        if (content && (safe || image->keeps_half)) {
            apply_content(image, call, safe);
        }
    }
}

static bool write_image(struct image *image, const char *folder, struct error *error)
{
    for (size_t i = 0; i < image->name_count; i++) {
        if (image->names[i].file == 0) {
            continue;
        }
        const struct file *file = find_file(image, image->names[i].file);
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", folder, image->names[i].text);
        FILE *out = memory_unless_short(fopen(path, "wb"));
        bool good = out != NULL;
        good = good &&
               (file->length == 0 || fwrite(file->bytes, 1, file->length, out) == file->length);
        good = out != NULL && fclose(out) == 0 && good;
        if (!good) {
            return error_set(error, "%s: %s", path, strerror(errno));
        }
    }
    return true;
}

bool crash_image_make(const struct crash_trace *trace, uint64_t cut, bool keeps_half, uint64_t seed,
                      const char *folder, struct crash_moment *moment, struct error *error)
{
    struct image image = {.trace = trace, .keeps_half = keeps_half};
    random_seed(&image.random, seed);
    uint64_t end = cut < trace->calls ? cut + 1 : trace->calls;
    /* The state at the next call: this one is complete. */
    *moment = end < trace->calls ? trace->call[end].moment : trace->last;
    apply_calls(&image, end);
    bool done = write_image(&image, folder, error);
    for (size_t i = 0; i < image.file_count; i++) {
        free(image.files[i].bytes);
    }
    free(image.files);
    free(image.names);
    return done;
}
