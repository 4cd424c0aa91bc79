#include "trace.h"

#include "memory.h"
#include "outfile.h"
#include "standard_streams.h"
#include "trace_block.h"
#include "trace_format.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Fixed, so that the same operations give the same file. The columns leave little for a higher
 * level to compress. */
#define ZSTD_LEVEL 1

struct trace_writer {
    struct outfile file;
    struct trace_header header;
    char *path;
    ZSTD_CCtx *zstd;
    struct trace_columns *columns;
    uint8_t *raw;
    uint8_t *stored;
    size_t stored_capacity;
    uint64_t last_tick;
    uint32_t max_id;
    int failed; /* errno of the first failed write; later writes fail with it */
};

uint64_t trace_section_checksum(const uint8_t *head, const void *stored, size_t stored_bytes)
{
    return XXH3_64bits_withSeed(stored, stored_bytes, XXH3_64bits(head, TRACE_SECTION_AT_CHECKSUM));
}

bool trace_origin_valid(const char *text, size_t bytes, const char **why)
{
    if (bytes > TRACE_ORIGIN_MAX_BYTES) {
        *why = "it is too long";
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        if ((unsigned char)text[i] < ' ') {
            *why = "it holds a control character";
            return false;
        }
    }
    json_t *json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    bool valid = json_is_object(json);
    json_decref(json);
    *why = valid ? *why : "it is not a JSON object";
    return valid;
}

void trace_writer_abort(struct trace_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    outfile_abort(&writer->file);
    (void)ZSTD_freeCCtx(writer->zstd);
    free(writer->columns);
    free(writer->raw);
    free(writer->stored);
    free(writer->path);
    free(writer);
}

static bool fail_writing(struct trace_writer *writer, struct error *error)
{
    if (writer->failed == 0) {
        writer->failed = errno;
    }
    return outfile_fail(writer->path, writer->failed, OUTFILE_NOTHING_LEFT, error);
}

/* Compress and append a section. */
static bool put_section(struct trace_writer *writer, uint32_t kind, uint32_t records,
                        const void *raw, size_t raw_bytes, struct error *error)
{
    size_t stored_bytes = 0;
    if (raw_bytes > 0) {
        stored_bytes = ZSTD_compressCCtx(writer->zstd, writer->stored, writer->stored_capacity, raw,
                                         raw_bytes, ZSTD_LEVEL);
        if (ZSTD_getErrorCode(stored_bytes) == ZSTD_error_memory_allocation) {
            memory_end();
        }
        if (ZSTD_isError(stored_bytes)) {
            writer->failed = EIO;
            return error_set(error, "%s: could not be compressed: %s", writer->path,
                             ZSTD_getErrorName(stored_bytes));
        }
    }
    uint8_t head[TRACE_SECTION_BYTES];
    trace_put_u32(head + TRACE_SECTION_AT_KIND, kind);
    trace_put_u32(head + TRACE_SECTION_AT_RECORDS, records);
    trace_put_u32(head + TRACE_SECTION_AT_STORED, (uint32_t)stored_bytes);
    trace_put_u32(head + TRACE_SECTION_AT_RAW, (uint32_t)raw_bytes);
    trace_put_u64(head + TRACE_SECTION_AT_INDEX, writer->header.blocks);
    trace_put_u64(head + TRACE_SECTION_AT_CHECKSUM,
                  trace_section_checksum(head, writer->stored, stored_bytes));
    FILE *stream = writer->file.stream;
    if (fwrite(head, 1, sizeof head, stream) != sizeof head ||
        fwrite(writer->stored, 1, stored_bytes, stream) != stored_bytes) {
        return fail_writing(writer, error);
    }
    writer->header.file_bytes += sizeof head + stored_bytes;
    return true;
}

static bool put_block(struct trace_writer *writer, struct error *error)
{
    size_t raw_bytes = trace_columns_encode(writer->columns, writer->raw);
    if (!put_section(writer, TRACE_SECTION_BLOCK, writer->columns->records, writer->raw, raw_bytes,
                     error)) {
        return false;
    }
    writer->header.blocks++;
    trace_columns_clear(writer->columns);
    return true;
}

static bool tick_ns_valid(const char *path, uint64_t tick_ns, struct error *error)
{
    return (tick_ns > 0 && tick_ns <= TRACE_TICK_NS_MAX) ||
           error_set(error, "%s: a tick of %" PRIu64 " ns is not from 1 to %" PRIu64 " ns", path,
                     tick_ns, TRACE_TICK_NS_MAX);
}

bool trace_writer_check(const char *path, struct error *error)
{
    return is_standard_stream(path) ? standard_output_takes_binary(error)
                                    : outfile_check(path, error);
}

struct trace_writer *trace_writer_open(const char *path, uint64_t tick_ns, struct error *error)
{
    if (!tick_ns_valid(path, tick_ns, error)) {
        return NULL;
    }
    struct trace_writer *writer = memory_new(1, sizeof *writer);
    writer->stored_capacity = ZSTD_compressBound(TRACE_BLOCK_RAW_MAX);
    writer->path = memory_copy(is_standard_stream(path) ? "standard output" : path);
    writer->zstd = memory_made(ZSTD_createCCtx());
    writer->columns = memory_bytes(sizeof *writer->columns);
    writer->raw = memory_bytes(TRACE_BLOCK_RAW_MAX);
    writer->stored = memory_bytes(writer->stored_capacity);
    trace_columns_clear(writer->columns);
    writer->header.tick_ns = tick_ns;
    /* Not yet a header: an interrupted run leaves nothing that could be taken for a trace. */
    const uint8_t blank[TRACE_HEADER_BYTES] = {0};
    if ((is_standard_stream(path) && !standard_output_takes_binary(error)) ||
        !outfile_open_or_stream(&writer->file, path, error) ||
        (fwrite(blank, 1, sizeof blank, writer->file.stream) != sizeof blank &&
         !fail_writing(writer, error))) {
        trace_writer_abort(writer);
        return NULL;
    }
    writer->header.file_bytes = sizeof blank;
    return writer;
}

static bool add_operation(struct trace_writer *writer, uint64_t tick, uint32_t id, enum trace_op op,
                          uint64_t delay_ticks, struct trace_cause cause, struct error *error)
{
    struct trace_header *header = &writer->header;
    if (writer->failed != 0) {
        return fail_writing(writer, error);
    }
    if (tick < writer->last_tick) {
        return error_set(error,
                         "%s: operation %" PRIu64 ": tick %" PRIu64 " is before the tick %" PRIu64
                         " of the operation before it; sort by time",
                         writer->path, header->events, tick, writer->last_tick);
    }
    if (tick > TRACE_TICK_MAX) {
        return error_set(error, "%s: operation %" PRIu64 ": tick %" PRIu64 " is beyond %" PRIu64,
                         writer->path, header->events, tick, TRACE_TICK_MAX);
    }
    if (id == UINT32_MAX) {
        return error_set(error, "%s: operation %" PRIu64 ": id %" PRIu32 " is beyond %" PRIu32,
                         writer->path, header->events, id, UINT32_MAX - 1);
    }
    if (op == TRACE_START) {
        if (delay_ticks > TRACE_TICK_MAX) {
            return error_set(error,
                             "%s: operation %" PRIu64 ": delay %" PRIu64 " is beyond %" PRIu64,
                             writer->path, header->events, delay_ticks, TRACE_TICK_MAX);
        }
        if (delay_ticks > header->max_delay_ticks) {
            header->max_delay_ticks = delay_ticks;
        }
        if (cause.slack_ticks > header->max_slack_ticks) {
            header->max_slack_ticks = cause.slack_ticks;
        }
        header->starts++;
    } else {
        header->stops++;
    }
    if (id > writer->max_id) {
        writer->max_id = id;
    }
    header->events++;
    writer->last_tick = tick;
    trace_columns_add(writer->columns, tick, id, op, delay_ticks, cause);
    return writer->columns->records < TRACE_BLOCK_RECORDS || put_block(writer, error);
}

void trace_writer_declare_causes(struct trace_writer *writer)
{
    writer->header.causes_known = true;
}

bool trace_writer_add(struct trace_writer *writer, uint64_t tick, uint32_t id, enum trace_op op,
                      uint64_t delay_ticks, struct error *error)
{
    return add_operation(writer, tick, id, op, delay_ticks, (struct trace_cause){0}, error);
}

bool trace_writer_add_reaction(struct trace_writer *writer, uint64_t tick, uint32_t id,
                               enum trace_op op, uint64_t delay_ticks, struct trace_cause cause,
                               struct error *error)
{
    struct trace_header *header = &writer->header;
    uint32_t named = id > writer->max_id ? id : writer->max_id;
    if (cause.basis == TRACE_EXTERNAL) {
        cause.id = 0;
        return add_operation(writer, tick, id, op, delay_ticks, cause, error);
    }
    if (cause.id > named) {
        return error_set(error,
                         "%s: operation %" PRIu64 ": its cause, timer %" PRIu32
                         ", has not been started before",
                         writer->path, header->events, cause.id);
    }
    if (op == TRACE_STOP) {
        cause.basis = TRACE_FIXED_DELAY;
    } else if (cause.basis == TRACE_FIXED_RATE && delay_ticks == 0) {
        return error_set(error,
                         "%s: operation %" PRIu64 ": a fixed rate needs a delay of at least 1 tick",
                         writer->path, header->events);
    }
    header->causes_known = true;
    header->reactions++;
    return add_operation(writer, tick, id, op, delay_ticks, cause, error);
}

bool trace_writer_set_tick_ns(struct trace_writer *writer, uint64_t tick_ns, struct error *error)
{
    if (!tick_ns_valid(writer->path, tick_ns, error)) {
        return false;
    }
    writer->header.tick_ns = tick_ns;
    return true;
}

uint64_t trace_writer_events(const struct trace_writer *writer)
{
    return writer->header.events;
}

/* Write the origin on one line, with blanks for line ends and tabs, as the text form needs it. A
 * raw control character inside a JSON string is not JSON, so none is lost. */
static bool put_origin(struct trace_writer *writer, const char *origin, struct error *error)
{
    char *text = memory_copy(origin != NULL ? origin : "{}");
    const char *why = NULL;
    json_error_t where;
    json_t *json = json_loads(text, 0, &where);
    json_decref(json);
    for (char *c = text; json != NULL && *c != '\0'; c++) {
        if (*c == '\n' || *c == '\r' || *c == '\t') {
            *c = ' ';
        }
    }
    bool good = trace_origin_valid(text, strlen(text), &why);
    if (!good) {
        (void)error_set(error, "%s: its origin cannot be stored: %s", writer->path, why);
    } else {
        good = put_section(writer, TRACE_SECTION_ORIGIN, 0, text, strlen(text), error);
    }
    free(text);
    return good;
}

static bool put_header(struct trace_writer *writer, uint64_t origin_at, struct error *error)
{
    const struct trace_header *header = &writer->header;
    uint8_t head[TRACE_HEADER_BYTES];
    (void)memcpy(head, TRACE_MAGIC, TRACE_MAGIC_BYTES);
    trace_put_u32(head + TRACE_AT_VERSION, TRACE_FORMAT_VERSION);
    trace_put_u32(head + TRACE_AT_HEADER_BYTES, TRACE_HEADER_BYTES);
    trace_put_u64(head + TRACE_AT_FILE_BYTES, header->file_bytes);
    trace_put_u64(head + TRACE_AT_ORIGIN, origin_at);
    trace_put_u64(head + TRACE_AT_BLOCKS, header->blocks);
    trace_put_u64(head + TRACE_AT_TICK_NS, header->tick_ns);
    trace_put_u64(head + TRACE_AT_EVENTS, header->events);
    trace_put_u64(head + TRACE_AT_STARTS, header->starts);
    trace_put_u64(head + TRACE_AT_STOPS, header->stops);
    trace_put_u64(head + TRACE_AT_WARMUP_END, header->warmup_end_tick);
    trace_put_u64(head + TRACE_AT_END, header->end_tick);
    trace_put_u64(head + TRACE_AT_MAX_DELAY, header->max_delay_ticks);
    trace_put_u64(head + TRACE_AT_IDS, header->ids);
    trace_put_u64(head + TRACE_AT_REACTIONS, header->reactions);
    trace_put_u32(head + TRACE_AT_CAUSES_KNOWN, header->causes_known);
    trace_put_u32(head + TRACE_AT_MAX_SLACK, header->max_slack_ticks);
    trace_put_u64(head + TRACE_AT_CHECKSUM, XXH3_64bits(head, TRACE_AT_CHECKSUM));
    if (fseeko(writer->file.stream, 0, SEEK_SET) != 0 ||
        fwrite(head, 1, sizeof head, writer->file.stream) != sizeof head) {
        return fail_writing(writer, error);
    }
    return true;
}

static bool complete(struct trace_writer *writer, uint64_t warmup_end_tick, uint64_t end_tick,
                     uint32_t min_ids, const char *origin, struct error *error)
{
    struct trace_header *header = &writer->header;
    if (writer->failed != 0) {
        return fail_writing(writer, error);
    }
    if (header->events > 0 && end_tick <= writer->last_tick) {
        end_tick = writer->last_tick + 1;
    }
    if (warmup_end_tick > end_tick || end_tick > TRACE_TICK_MAX + 1) {
        return error_set(error,
                         "%s: its window, from tick %" PRIu64 " to %" PRIu64 ", is out of order",
                         writer->path, warmup_end_tick, end_tick);
    }
    header->warmup_end_tick = warmup_end_tick;
    header->end_tick = end_tick;
    header->ids = header->events > 0 ? writer->max_id + 1 : 0;
    if (header->ids < min_ids) {
        header->ids = min_ids;
    }
    if (writer->columns->records > 0 && !put_block(writer, error)) {
        return false;
    }
    uint64_t origin_at = writer->header.file_bytes;
    return put_origin(writer, origin, error) &&
           put_section(writer, TRACE_SECTION_END, 0, NULL, 0, error) &&
           put_header(writer, origin_at, error) && outfile_commit(&writer->file, error);
}

bool trace_writer_commit(struct trace_writer *writer, uint64_t warmup_end_tick, uint64_t end_tick,
                         uint32_t min_ids, const char *origin, struct error *error)
{
    bool good = complete(writer, warmup_end_tick, end_tick, min_ids, origin, error);
    trace_writer_abort(writer);
    return good;
}
