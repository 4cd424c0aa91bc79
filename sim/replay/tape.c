#include "tape.h"

#include "memory.h"
#include "temporary_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#define WRITTEN "the reactions could not be written to a file in $TMPDIR or /tmp: %s"
#define READ    "the reactions could not be read back: %s"

struct tape {
    int file;
};

/* Raise the limit: each structure and each rank has an open file, possibly thousands. */
static void allow_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

struct tape *tape_create(struct error *error)
{
    struct tape *tape = memory_bytes(sizeof *tape);
    allow_files();
    tape->file = temporary_open_nameless(NULL);
    if (tape->file < 0) {
        (void)error_set(error, WRITTEN, strerror(errno));
        free(tape);
        return NULL;
    }
    return tape;
}

int tape_file(const struct tape *tape)
{
    return tape->file;
}

void tape_close(struct tape *tape)
{
    if (tape != NULL) {
        (void)close(tape->file);
        free(tape);
    }
}

/* The section's three arrays follow, as one frame of Zstandard: $TMPDIR may be memory, and a
 * heartbeat takes about 12 bytes instead of 40. */
struct section_head {
    uint64_t inside_count;
    uint64_t outside_count;
    uint64_t packed_bytes;
};

/* The memory of a section, for the recorder or the player. */
struct section_buffer {
    struct tape_section section;
    size_t inside_capacity;
    size_t outside_capacity;
    unsigned char *packed;
    size_t packed_capacity;
};

enum { ARRAYS = 3 };

static void list_arrays(const struct tape_section *section, ZSTD_outBuffer arrays[ARRAYS])
{
    size_t count = section->inside_count;
    arrays[0] = (ZSTD_outBuffer){section->inside, count * sizeof *section->inside, 0};
    arrays[1] = (ZSTD_outBuffer){section->places, count * sizeof *section->places, 0};
    arrays[2] =
        (ZSTD_outBuffer){section->outside, section->outside_count * sizeof *section->outside, 0};
}

/* Make room for one more of each, and for the end mark. */
static void make_room(struct section_buffer *buffer, size_t inside, size_t outside)
{
    size_t capacity = buffer->inside_capacity;
    MEMORY_REACH(buffer->section.inside, buffer->inside_capacity, inside);
    MEMORY_REACH(buffer->section.places, capacity, inside);
    MEMORY_REACH(buffer->section.outside, buffer->outside_capacity, outside);
}

static void free_buffer(struct section_buffer *buffer)
{
    free(buffer->section.inside);
    free(buffer->section.places);
    free(buffer->section.outside);
    free(buffer->packed);
}

/* --- writing --------------------------------------------------------------------------------- */

struct tape_recorder {
    FILE *stream;
    ZSTD_CCtx *packer;
    struct section_buffer buffer;
    uint64_t firings;
};

struct tape_recorder *tape_recorder_open(const struct tape *tape, struct error *error)
{
    struct tape_recorder *recorder = memory_new(1, sizeof *recorder);
    int copy = dup(tape->file);
    if (copy < 0) {
        (void)error_set(error, WRITTEN, strerror(errno));
        free(recorder);
        return NULL;
    }
    recorder->stream = memory_made(fdopen(copy, "wb"));
    recorder->packer = memory_made(ZSTD_createCCtx());
    (void)ZSTD_CCtx_setParameter(recorder->packer, ZSTD_c_compressionLevel, 1);
    return recorder;
}

void tape_record_firing(struct tape_recorder *recorder)
{
    recorder->firings++;
}

static void record_outside(struct tape_recorder *recorder, const struct tape_outside *outside)
{
    struct tape_section *section = &recorder->buffer.section;
    make_room(&recorder->buffer, section->inside_count, section->outside_count);
    section->outside[section->outside_count++] = *outside;
}

void tape_record(struct tape_recorder *recorder, const struct loop_operation *operation,
                 uint64_t tick)
{
    struct tape_section *section = &recorder->buffer.section;
    if (!operation->inside) {
        record_outside(recorder, &(struct tape_outside){.tick = tick,
                                                        .event = operation->event,
                                                        .deadline = operation->deadline,
                                                        .id = operation->id,
                                                        .op = operation->op});
    } else {
        if (recorder->firings > TAPE_NO_FIRING) {
            memory_end();
        }
        make_room(&recorder->buffer, section->inside_count, section->outside_count);
        section->places[section->inside_count] =
            (struct tape_place){.tick = tick, .event = operation->event};
        section->inside[section->inside_count++] =
            (struct tape_inside){.deadline = operation->deadline,
                                 .firing = (uint32_t)(recorder->firings - 1),
                                 .cause = operation->cause,
                                 .id = operation->id,
                                 .op = operation->op};
    }
}

void tape_record_outside(struct tape_recorder *recorder, enum tape_outside_op op, uint64_t tick,
                         uint64_t event)
{
    record_outside(recorder, &(struct tape_outside){.tick = tick, .event = event, .op = op});
}

/* Compress the section; return its size in bytes. */
static size_t pack(struct tape_recorder *recorder)
{
    struct section_buffer *buffer = &recorder->buffer;
    ZSTD_outBuffer arrays[ARRAYS];
    list_arrays(&buffer->section, arrays);
    size_t most = ZSTD_compressBound(arrays[0].size + arrays[1].size + arrays[2].size);
    MEMORY_REACH(buffer->packed, buffer->packed_capacity, most);
    ZSTD_outBuffer packed = {buffer->packed, most, 0};
    for (size_t i = 0; i < ARRAYS; i++) {
        ZSTD_inBuffer array = {arrays[i].dst, arrays[i].size, 0};
        if (ZSTD_isError(ZSTD_compressStream2(recorder->packer, &packed, &array,
                                              i + 1 < ARRAYS ? ZSTD_e_continue : ZSTD_e_end))) {
            memory_end(); /* the only possible error */
        }
    }
    return packed.pos;
}

bool tape_record_section(struct tape_recorder *recorder, struct error *error)
{
    struct tape_section *section = &recorder->buffer.section;
    const struct section_head head = {.inside_count = section->inside_count,
                                      .outside_count = section->outside_count,
                                      .packed_bytes = pack(recorder)};
    if (fwrite(&head, sizeof head, 1, recorder->stream) != 1 ||
        fwrite(recorder->buffer.packed, head.packed_bytes, 1, recorder->stream) != 1 ||
        fflush(recorder->stream) != 0) {
        return error_set(error, WRITTEN, strerror(errno));
    }
    section->inside_count = 0;
    section->outside_count = 0;
    recorder->firings = 0;
    return true;
}

void tape_recorder_close(struct tape_recorder *recorder)
{
    if (recorder != NULL) {
        (void)fclose(recorder->stream);
        (void)ZSTD_freeCCtx(recorder->packer);
        free_buffer(&recorder->buffer);
        free(recorder);
    }
}

/* --- playing --------------------------------------------------------------------------------- */

struct tape_player {
    int file;
    off_t at;
    ZSTD_DCtx *unpacker;
    struct section_buffer buffer;
};

struct tape_player *tape_player_open(const struct tape *tape)
{
    struct tape_player *player = memory_new(1, sizeof *player);
    player->file = tape->file;
    player->unpacker = memory_made(ZSTD_createDCtx());
    return player;
}

/* Read `bytes` bytes at the player's own position: processes share the file. */
static bool get(struct tape_player *player, void *items, size_t bytes, struct error *error)
{
    char *next = items;
    while (bytes > 0) {
        ssize_t got = pread(player->file, next, bytes, player->at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return error_set(error, READ, got < 0 ? strerror(errno) : "it ends too early");
        }
        next += got;
        player->at += got;
        bytes -= (size_t)got;
    }
    return true;
}

const struct tape_section *tape_player_next(struct tape_player *player, struct error *error)
{
    struct section_head head;
    struct section_buffer *buffer = &player->buffer;
    struct tape_section *section = &buffer->section;
    ZSTD_outBuffer arrays[ARRAYS];
    if (!get(player, &head, sizeof head, error)) {
        return NULL;
    }
    make_room(buffer, head.inside_count, head.outside_count);
    MEMORY_REACH(buffer->packed, buffer->packed_capacity, head.packed_bytes);
    section->inside_count = head.inside_count;
    section->outside_count = head.outside_count;
    if (!get(player, buffer->packed, head.packed_bytes, error)) {
        return NULL;
    }
    ZSTD_inBuffer packed = {buffer->packed, head.packed_bytes, 0};
    list_arrays(section, arrays);
    (void)ZSTD_DCtx_reset(player->unpacker, ZSTD_reset_session_only);
    for (size_t i = 0; i < ARRAYS; i++) {
        if (arrays[i].size > 0 &&
            (ZSTD_isError(ZSTD_decompressStream(player->unpacker, &arrays[i], &packed)) ||
             arrays[i].pos < arrays[i].size)) {
            (void)error_set(error, READ, "it is damaged");
            return NULL;
        }
    }
    section->inside[section->inside_count] = (struct tape_inside){.firing = TAPE_NO_FIRING};
    return section;
}

void tape_player_close(struct tape_player *player)
{
    if (player != NULL) {
        (void)ZSTD_freeDCtx(player->unpacker);
        free_buffer(&player->buffer);
        free(player);
    }
}
