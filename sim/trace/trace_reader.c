#include "trace.h"

#include "memory.h"
#include "standard_streams.h"
#include "trace_block.h"
#include "trace_format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

/* The remedy for damage. */
#define REMEDY "make or copy the file again"

/* The position in the blocks, and their sums up to it. */
struct position {
    uint64_t at;
    uint64_t block;
    uint64_t last_tick;
    uint64_t events;
    uint64_t starts;
    uint64_t reactions;
    uint64_t max_delay_ticks;
    uint32_t max_slack_ticks;
};

struct trace_reader {
    struct trace_header header;
    char *path;
    char *origin;
    int fd;
    uint64_t origin_at;
    ZSTD_DCtx *zstd;
    /* A section. Most are far smaller than the maximum. */
    uint8_t *raw;
    uint8_t *stored;
    size_t raw_room;
    size_t stored_room;
    struct trace_decoded *decoded;
    struct position position;
    XXH3_state_t *sum; /* NULL: not wanted */
};

/* The fields of a section's head. */
struct section {
    uint8_t head[TRACE_SECTION_BYTES];
    uint32_t kind;
    uint32_t records;
    uint32_t stored_bytes;
    uint32_t raw_bytes;
    uint64_t index;
    uint64_t checksum;
};

/* Read exactly `bytes` at `at`. Return NULL, or the reason of a failure. */
static const char *read_at(int fd, void *to, size_t bytes, uint64_t at)
{
    uint8_t *next = to;
    while (bytes > 0) {
        ssize_t n = pread(fd, next, bytes, (off_t)at);
        if (n == 0) {
            return "the file ends inside it: it is truncated";
        }
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            return strerror(errno);
        }
        next += n;
        bytes -= (size_t)n;
        at += (uint64_t)n;
    }
    return NULL;
}

/* Read the head at `at`, and check its sizes. */
static const char *read_section_head(const struct trace_reader *reader, uint64_t at, uint64_t end,
                                     struct section *section)
{
    if (at > end || end - at < TRACE_SECTION_BYTES) {
        return "the file ends inside it: it is truncated";
    }
    const char *why = read_at(reader->fd, section->head, sizeof section->head, at);
    if (why != NULL) {
        return why;
    }
    section->kind = trace_get_u32(section->head + TRACE_SECTION_AT_KIND);
    section->records = trace_get_u32(section->head + TRACE_SECTION_AT_RECORDS);
    section->stored_bytes = trace_get_u32(section->head + TRACE_SECTION_AT_STORED);
    section->raw_bytes = trace_get_u32(section->head + TRACE_SECTION_AT_RAW);
    section->index = trace_get_u64(section->head + TRACE_SECTION_AT_INDEX);
    section->checksum = trace_get_u64(section->head + TRACE_SECTION_AT_CHECKSUM);
    if (end - at - TRACE_SECTION_BYTES < section->stored_bytes) {
        return "the file ends inside it: it is truncated, or its size was altered";
    }
    return NULL;
}

/* Read, check and decompress the section at `at` to reader->raw. */
static const char *read_section(struct trace_reader *reader, uint64_t at, uint32_t kind,
                                uint64_t index, size_t raw_max, struct section *section)
{
    const char *why = read_section_head(reader, at, reader->header.file_bytes, section);
    if (why != NULL) {
        return why;
    }
    if (section->stored_bytes > ZSTD_compressBound(TRACE_BLOCK_RAW_MAX) ||
        section->raw_bytes > raw_max) {
        return "its sizes are out of range: it was altered";
    }
    MEMORY_REACH(reader->stored, reader->stored_room, section->stored_bytes);
    why = read_at(reader->fd, reader->stored, section->stored_bytes, at + TRACE_SECTION_BYTES);
    if (why != NULL) {
        return why;
    }
    if (trace_section_checksum(section->head, reader->stored, section->stored_bytes) !=
        section->checksum) {
        return "its checksum does not match: it was altered";
    }
    if (section->kind != kind || section->index != index) {
        return "something else is in its place";
    }
    MEMORY_REACH(reader->raw, reader->raw_room, section->raw_bytes);
    if (section->stored_bytes == 0) {
        return section->raw_bytes == 0 ? NULL : "its content is missing";
    }
    size_t got = ZSTD_decompressDCtx(reader->zstd, reader->raw, section->raw_bytes, reader->stored,
                                     section->stored_bytes);
    if (ZSTD_isError(got) || got != section->raw_bytes) {
        return "it decompresses to the wrong size";
    }
    return NULL;
}

void trace_reader_close(struct trace_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    if (reader->fd >= 0) {
        (void)close(reader->fd);
    }
    (void)ZSTD_freeDCtx(reader->zstd);
    (void)XXH3_freeState(reader->sum);
    free(reader->raw);
    free(reader->stored);
    free(reader->decoded);
    free(reader->origin);
    free(reader->path);
    free(reader);
}

/* Report where in a file of the wrong length the blocks end. */
static bool report_truncation(const struct trace_reader *reader, uint64_t actual_bytes,
                              struct error *error)
{
    uint64_t at = TRACE_HEADER_BYTES;
    uint64_t block = 0;
    while (block < reader->header.blocks) {
        struct section section;
        if (read_section_head(reader, at, actual_bytes, &section) != NULL ||
            section.kind != TRACE_SECTION_BLOCK) {
            break;
        }
        at += TRACE_SECTION_BYTES + section.stored_bytes;
        block++;
    }
    if (block < reader->header.blocks) {
        return error_set(error,
                         "%s: block %" PRIu64 ": truncated: the file has %" PRIu64 " of %" PRIu64
                         " bytes and %" PRIu64 " of %" PRIu64 " blocks; " REMEDY,
                         reader->path, block, actual_bytes, reader->header.file_bytes, block,
                         reader->header.blocks);
    }
    return error_set(error,
                     "%s: truncated after the last block, %" PRIu64 ": the file has %" PRIu64
                     " of %" PRIu64 " bytes; " REMEDY,
                     reader->path, reader->header.blocks, actual_bytes, reader->header.file_bytes);
}

static bool read_header(struct trace_reader *reader, struct error *error)
{
    struct stat status;
    if (fstat(reader->fd, &status) != 0) {
        return error_set(error, "%s: %s", reader->path, strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(error, "%s: not a regular file, which a trace must be", reader->path);
    }
    uint64_t actual_bytes = (uint64_t)status.st_size;
    if (actual_bytes == 0) {
        return error_set(error, "%s: is empty, so it is not a timerlab trace", reader->path);
    }
    uint8_t head[TRACE_HEADER_BYTES];
    if (actual_bytes < TRACE_MAGIC_BYTES ||
        read_at(reader->fd, head, TRACE_MAGIC_BYTES, 0) != NULL ||
        memcmp(head, TRACE_MAGIC, TRACE_MAGIC_BYTES) != 0) {
        return error_set(error,
                         "%s: not a timerlab trace; text and recordings become one by "
                         "'timerlab trace import'",
                         reader->path);
    }
    if (actual_bytes < TRACE_HEADER_BYTES) {
        return error_set(error, "%s: header: truncated; " REMEDY, reader->path);
    }
    const char *why = read_at(reader->fd, head, TRACE_HEADER_BYTES, 0);
    if (why != NULL) {
        return error_set(error, "%s: header: %s", reader->path, why);
    }
    uint32_t version = trace_get_u32(head + TRACE_AT_VERSION);
    if (version != TRACE_FORMAT_VERSION) {
        return error_set(error,
                         "%s: format version %" PRIu32 ", but this program reads version %u; "
                         "generate or import the trace again",
                         reader->path, version, TRACE_FORMAT_VERSION);
    }
    if (trace_get_u32(head + TRACE_AT_HEADER_BYTES) != TRACE_HEADER_BYTES ||
        trace_get_u64(head + TRACE_AT_CHECKSUM) != XXH3_64bits(head, TRACE_AT_CHECKSUM)) {
        return error_set(error, "%s: header: its checksum does not match: it was altered; " REMEDY,
                         reader->path);
    }
    uint64_t ids = trace_get_u64(head + TRACE_AT_IDS);
    struct trace_header *header = &reader->header;
    header->tick_ns = trace_get_u64(head + TRACE_AT_TICK_NS);
    header->events = trace_get_u64(head + TRACE_AT_EVENTS);
    header->starts = trace_get_u64(head + TRACE_AT_STARTS);
    header->stops = trace_get_u64(head + TRACE_AT_STOPS);
    header->warmup_end_tick = trace_get_u64(head + TRACE_AT_WARMUP_END);
    header->end_tick = trace_get_u64(head + TRACE_AT_END);
    header->max_delay_ticks = trace_get_u64(head + TRACE_AT_MAX_DELAY);
    header->ids = (uint32_t)ids;
    header->reactions = trace_get_u64(head + TRACE_AT_REACTIONS);
    header->max_slack_ticks = trace_get_u32(head + TRACE_AT_MAX_SLACK);
    uint32_t causes_known = trace_get_u32(head + TRACE_AT_CAUSES_KNOWN);
    header->causes_known = causes_known != 0;
    header->file_bytes = trace_get_u64(head + TRACE_AT_FILE_BYTES);
    reader->origin_at = trace_get_u64(head + TRACE_AT_ORIGIN);
    header->blocks = trace_get_u64(head + TRACE_AT_BLOCKS);
    if (header->tick_ns == 0 || header->tick_ns > TRACE_TICK_NS_MAX ||
        header->starts > header->events || header->stops != header->events - header->starts ||
        header->warmup_end_tick > header->end_tick || header->end_tick > TRACE_TICK_MAX + 1 ||
        header->max_delay_ticks > TRACE_TICK_MAX || ids > UINT32_MAX ||
        header->blocks > header->events || header->events / TRACE_BLOCK_RECORDS > header->blocks ||
        header->blocks > header->file_bytes / TRACE_SECTION_BYTES ||
        reader->origin_at > header->file_bytes || causes_known > 1 ||
        header->reactions > (causes_known != 0 ? header->events : 0)) {
        return error_set(error, "%s: header: its numbers contradict each other; " REMEDY,
                         reader->path);
    }
    if (actual_bytes < header->file_bytes) {
        return report_truncation(reader, actual_bytes, error);
    }
    if (actual_bytes > header->file_bytes) {
        return error_set(error, "%s: %" PRIu64 " bytes too many after the end; " REMEDY,
                         reader->path, actual_bytes - header->file_bytes);
    }
    return true;
}

static bool read_trailer(struct trace_reader *reader, struct error *error)
{
    struct section section;
    const char *why = read_section(reader, reader->origin_at, TRACE_SECTION_ORIGIN,
                                   reader->header.blocks, TRACE_ORIGIN_MAX_BYTES, &section);
    if (why == NULL) {
        reader->origin = memory_bytes((size_t)section.raw_bytes + 1);
        (void)memcpy(reader->origin, reader->raw, section.raw_bytes);
        reader->origin[section.raw_bytes] = '\0';
        reader->header.origin = reader->origin;
        (void)trace_origin_valid(reader->origin, section.raw_bytes, &why);
    }
    if (why != NULL) {
        return error_set(error, "%s: origin, after the last block, %" PRIu64 ": %s; " REMEDY,
                         reader->path, reader->header.blocks, why);
    }
    uint64_t end_at = reader->origin_at + TRACE_SECTION_BYTES + section.stored_bytes;
    why = read_section(reader, end_at, TRACE_SECTION_END, reader->header.blocks, 0, &section);
    if (why == NULL &&
        end_at + TRACE_SECTION_BYTES + section.stored_bytes != reader->header.file_bytes) {
        why = "it is not at the file's end";
    }
    if (why != NULL) {
        return error_set(error, "%s: end marker, after the last block, %" PRIu64 ": %s; " REMEDY,
                         reader->path, reader->header.blocks, why);
    }
    return true;
}

bool trace_is(const char *path)
{
    char magic[TRACE_MAGIC_BYTES];
    struct stat status;
    /* Opening and closing a pipe would lose the bytes in it. */
    bool regular = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    int fd = regular ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    bool is = fd >= 0 && read_at(fd, magic, sizeof magic, 0) == NULL &&
              memcmp(magic, TRACE_MAGIC, sizeof magic) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is;
}

struct trace_reader *trace_reader_open(const char *path, struct error *error)
{
    struct trace_reader *reader = memory_new(1, sizeof *reader);
    reader->fd = -1;
    bool standard = is_standard_stream(path);
    reader->path = memory_copy(standard ? "standard input" : path);
    reader->zstd = memory_made(ZSTD_createDCtx());
    /* Not zeroed: it is megabytes, which a small trace does not need. */
    reader->decoded = memory_bytes(sizeof *reader->decoded);
    bool good = !standard || standard_input_seekable(TRACE_MAGIC, TRACE_MAGIC_BYTES, error);
    if (good) {
        /* O_NONBLOCK: refuse a pipe without waiting for its writer. */
        reader->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                              : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        good = reader->fd >= 0 || error_set(error, "%s: cannot be read: %s", path, strerror(errno));
    }
    if (!good || !read_header(reader, error) || !read_trailer(reader, error)) {
        trace_reader_close(reader);
        return NULL;
    }
    trace_reader_rewind(reader);
    return reader;
}

const struct trace_header *trace_reader_header(const struct trace_reader *reader)
{
    return &reader->header;
}

/* After the last block, compare the blocks' sums with the header. */
static int finish(const struct trace_reader *reader, struct error *error)
{
    const struct trace_header *header = &reader->header;
    const struct position *end = &reader->position;
    if (end->at != reader->origin_at || end->events != header->events ||
        end->starts != header->starts || end->reactions != header->reactions ||
        end->max_delay_ticks != header->max_delay_ticks ||
        end->max_slack_ticks != header->max_slack_ticks) {
        (void)error_set(error,
                        "%s: after the last block, %" PRIu64
                        ": the blocks' sums contradict the header; " REMEDY,
                        reader->path, reader->header.blocks);
        return -1;
    }
    return 0;
}

/* Whether there are more operations than the header says. */
static bool is_excess(const struct trace_header *header, const struct position *position)
{
    return position->reactions > header->reactions ||
           position->events - position->reactions > header->events - header->reactions;
}

/* Decode the block at the position, and move beyond it. */
static bool read_block(struct trace_reader *reader, struct error *error)
{
    struct position *position = &reader->position;
    struct section section;
    const char *why = read_section(reader, position->at, TRACE_SECTION_BLOCK, position->block,
                                   TRACE_BLOCK_RAW_MAX, &section);
    if (why == NULL) {
        why = trace_block_decode(reader->raw, section.raw_bytes, section.records,
                                 position->last_tick, &reader->header, reader->decoded);
    }
    if (why != NULL) {
        return error_set(error, "%s: block %" PRIu64 ": %s; " REMEDY, reader->path, position->block,
                         why);
    }
    const struct trace_decoded *decoded = reader->decoded;
    position->at += TRACE_SECTION_BYTES + section.stored_bytes;
    position->block++;
    position->last_tick = decoded->groups[decoded->group_count - 1].tick;
    position->events += decoded->record_count;
    position->starts += decoded->starts;
    position->reactions += decoded->reactions;
    if (decoded->max_delay_ticks > position->max_delay_ticks) {
        position->max_delay_ticks = decoded->max_delay_ticks;
    }
    if (decoded->max_slack_ticks > position->max_slack_ticks) {
        position->max_slack_ticks = decoded->max_slack_ticks;
    }
    return true;
}

/* Add a block's operations to the checksum, many at once because each call has a cost. */
static void sum_block(XXH3_state_t *sum, const struct trace_block *block)
{
    struct {
        uint64_t tick;
        uint64_t deadline;
        uint64_t operation;
        struct trace_cause cause;
    } item = {0};
    const size_t bytes =
        offsetof(__typeof__(item), cause) + (block->causes != NULL ? sizeof item.cause : 0);
    unsigned char items[64 * sizeof item];
    size_t used = 0;
    for (size_t g = 0; g < block->group_count; g++) {
        const struct trace_group *group = &block->groups[g];
        for (uint32_t i = group->first; i < group->first + group->count; i++) {
            const struct trace_record *record = &block->records[i];
            item.tick = group->tick;
            item.deadline = record->deadline;
            item.operation = (uint64_t)record->op << 32 | record->id;
            if (block->causes != NULL) {
                item.cause = block->causes[i];
            }
            (void)memcpy(items + used, &item, sizeof item);
            used += bytes;
            if (used > sizeof items - sizeof item) {
                (void)XXH3_64bits_update(sum, items, used);
                used = 0;
            }
        }
    }
    (void)XXH3_64bits_update(sum, items, used);
}

int trace_reader_next(struct trace_reader *reader, struct trace_block *block, struct error *error)
{
    const struct position *position = &reader->position;
    const struct trace_decoded *decoded = reader->decoded;
    do {
        if (position->block == reader->header.blocks) {
            return finish(reader, error);
        }
        if (!read_block(reader, error)) {
            return -1;
        }
        /* The caller has no room for an excess, which is an error at the end at the latest. */
    } while (is_excess(&reader->header, position));
    *block = (struct trace_block){
        .records = decoded->records,
        .causes = decoded->has_causes ? decoded->causes : NULL,
        .groups = decoded->groups,
        .record_count = decoded->record_count,
        .group_count = decoded->group_count,
        .index = position->block - 1,
        .first_event = position->events - decoded->record_count,
    };
    if (reader->sum != NULL) {
        sum_block(reader->sum, block);
    }
    return 1;
}

void trace_reader_rewind(struct trace_reader *reader)
{
    const struct trace_header *header = &reader->header;
    const uint64_t frame[] = {header->tick_ns, header->warmup_end_tick, header->end_tick,
                              header->ids};
    reader->position = (struct position){.at = TRACE_HEADER_BYTES};
    if (reader->sum != NULL) {
        (void)XXH3_64bits_reset(reader->sum);
        (void)XXH3_64bits_update(reader->sum, frame, sizeof frame);
    }
}

void trace_reader_sum(struct trace_reader *reader)
{
    reader->sum = memory_made(XXH3_createState());
    trace_reader_rewind(reader);
}

uint64_t trace_reader_checksum(const struct trace_reader *reader)
{
    return XXH3_64bits_digest(reader->sum);
}
