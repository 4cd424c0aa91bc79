/*
 * Fuzzing target: the trace reader, after its checksums. The first byte holds the flags below. With
 * SEALED the rest describes a trace, which is compressed and gets correct lengths and checksums, so
 * that the fuzzer changes only content:
 *
 *   8 x 64 bits   tick_ns, operations, starts, stops, warmup_end_tick, end_tick, max_delay, ids
 *   sections      kind (1 byte: below), operations (32 bits), bytes (16 bits), and the bytes
 *
 * An accepted trace must keep the promises of trace.h, and be equal when it is read again and when
 * it is encoded again; a trace prepared for repetition (trace_loop.h) must be complete, with timers
 * that are pending from their start on.
 */
#include "fuzz.h"
#include "trace.h"
#include "trace_block.h"
#include "trace_format.h"
#include "trace_loop.h"

#include <stdbool.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

#define FLAG_SEALED   1u  /* otherwise the rest is the file as it is */
#define FLAG_SUMS     2u  /* the header's sums are made those of the blocks */
#define FLAG_UNENDED  4u  /* origin and end marker are not added */
#define FLAG_STRETCH  8u  /* the declared size of decompressed blocks is a byte too large */
#define FLAG_BLOCKS   16u /* the header speaks of one block more */

#define NUMBERS       10u
#define SECTION_BYTES 7u

/* --- sealing --------------------------------------------------------------------------------- */

struct input {
    const uint8_t *at;
    size_t left;
};

/* The next bytes; missing ones at the end are zero. */
static uint64_t take(struct input *input, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes && input->left > 0; i++, input->left--) {
        value |= (uint64_t)*input->at++ << (8 * i);
    }
    return value;
}

struct file {
    uint8_t *bytes;
    size_t count;
    uint64_t blocks;
    uint64_t events;
    uint64_t starts;
    uint64_t reactions;
    uint64_t max_delay_ticks;
    uint32_t max_slack_ticks;
};

static void append(struct file *file, uint32_t kind, uint32_t records, const uint8_t *raw,
                   size_t raw_bytes, unsigned flags)
{
    size_t room = ZSTD_compressBound(raw_bytes);
    file->bytes = realloc(file->bytes, file->count + TRACE_SECTION_BYTES + room);
    FUZZ_REQUIRE(file->bytes != NULL);
    uint8_t *head = file->bytes + file->count;
    uint8_t *stored = head + TRACE_SECTION_BYTES;
    size_t stored_bytes = raw_bytes > 0 ? ZSTD_compress(stored, room, raw, raw_bytes, 1) : 0;
    FUZZ_REQUIRE(!ZSTD_isError(stored_bytes));
    bool stretched = kind == TRACE_SECTION_BLOCK && (flags & FLAG_STRETCH) != 0;
    trace_put_u32(head + TRACE_SECTION_AT_KIND, kind);
    trace_put_u32(head + TRACE_SECTION_AT_RECORDS, records);
    trace_put_u32(head + TRACE_SECTION_AT_STORED, (uint32_t)stored_bytes);
    trace_put_u32(head + TRACE_SECTION_AT_RAW, (uint32_t)raw_bytes + stretched);
    trace_put_u64(head + TRACE_SECTION_AT_INDEX, file->blocks);
    trace_put_u64(head + TRACE_SECTION_AT_CHECKSUM,
                  trace_section_checksum(head, stored, stored_bytes));
    file->count += TRACE_SECTION_BYTES + stored_bytes;
}

static struct trace_decoded decoded;

/* Add up the contents of a block, if it is one. */
static void add_sums(struct file *file, uint32_t records, const uint8_t *raw, size_t raw_bytes)
{
    const struct trace_header limits = {
        .end_tick = TRACE_TICK_MAX + 1,
        .max_delay_ticks = TRACE_TICK_MAX,
        .max_slack_ticks = UINT32_MAX,
        .ids = UINT32_MAX,
    };
    if (trace_block_decode(raw, raw_bytes, records, 0, &limits, &decoded) == NULL) {
        file->events += decoded.record_count;
        file->starts += decoded.starts;
        file->reactions += decoded.reactions;
        if (file->max_delay_ticks < decoded.max_delay_ticks) {
            file->max_delay_ticks = decoded.max_delay_ticks;
        }
        if (file->max_slack_ticks < decoded.max_slack_ticks) {
            file->max_slack_ticks = decoded.max_slack_ticks;
        }
    }
}

static void seal(struct file *file, struct input *input, unsigned flags)
{
    static const enum trace_section_kind kinds[] = {TRACE_SECTION_BLOCK, TRACE_SECTION_ORIGIN,
                                                    TRACE_SECTION_END};
    uint64_t numbers[NUMBERS];
    for (unsigned i = 0; i < NUMBERS; i++) {
        numbers[i] = take(input, 8);
    }
    file->bytes = calloc(1, TRACE_HEADER_BYTES);
    FUZZ_REQUIRE(file->bytes != NULL);
    file->count = TRACE_HEADER_BYTES;
    size_t origin_at = 0;
    while (input->left > SECTION_BYTES) {
        enum trace_section_kind kind = kinds[take(input, 1) % 3];
        uint32_t records = (uint32_t)take(input, 4);
        size_t raw_bytes = (size_t)take(input, 2);
        raw_bytes = raw_bytes < input->left ? raw_bytes : input->left;
        origin_at = kind == TRACE_SECTION_ORIGIN ? file->count : origin_at;
        append(file, kind, records, input->at, raw_bytes, flags);
        if (kind == TRACE_SECTION_BLOCK) {
            add_sums(file, records, input->at, raw_bytes);
            file->blocks++;
        }
        input->at += raw_bytes;
        input->left -= raw_bytes;
    }
    if ((flags & FLAG_UNENDED) == 0) {
        origin_at = file->count;
        append(file, TRACE_SECTION_ORIGIN, 0, (const uint8_t *)"{}", 2, flags);
        append(file, TRACE_SECTION_END, 0, NULL, 0, flags);
    }
    if ((flags & FLAG_SUMS) != 0) {
        numbers[1] = file->events;
        numbers[2] = file->starts;
        numbers[3] = file->events - file->starts;
        numbers[6] = file->max_delay_ticks;
        numbers[8] = file->reactions;
        numbers[9] = 1 | (uint64_t)file->max_slack_ticks << 32;
    }
    uint8_t *head = file->bytes;
    memcpy(head, TRACE_MAGIC, TRACE_MAGIC_BYTES);
    trace_put_u32(head + TRACE_AT_VERSION, TRACE_FORMAT_VERSION);
    trace_put_u32(head + TRACE_AT_HEADER_BYTES, TRACE_HEADER_BYTES);
    trace_put_u64(head + TRACE_AT_FILE_BYTES, file->count);
    trace_put_u64(head + TRACE_AT_ORIGIN, origin_at);
    trace_put_u64(head + TRACE_AT_BLOCKS, file->blocks + ((flags & FLAG_BLOCKS) != 0));
    for (unsigned i = 0; i < NUMBERS; i++) {
        trace_put_u64(head + TRACE_AT_TICK_NS + 8 * i, numbers[i]);
    }
    trace_put_u64(head + TRACE_AT_CHECKSUM, XXH3_64bits(head, TRACE_AT_CHECKSUM));
}

/* --- requirements --------------------------------------------------------------------------- */

/* Encode a block again, decode that, and compare. */
static void encode_and_decode(const struct trace_header *header, const struct trace_block *block)
{
    static struct trace_columns columns;
    static uint8_t raw[TRACE_BLOCK_RAW_MAX];
    trace_columns_clear(&columns);
    for (size_t g = 0; g < block->group_count; g++) {
        const struct trace_group *group = &block->groups[g];
        for (uint32_t i = group->first; i < group->first + group->count; i++) {
            const struct trace_record *record = &block->records[i];
            bool start = record->op == TRACE_START;
            const struct trace_cause external = {0};
            trace_columns_add(&columns, group->tick, record->id, (enum trace_op)record->op,
                              start ? record->deadline - group->tick : 0,
                              block->causes != NULL ? block->causes[i] : external);
        }
    }
    size_t raw_bytes = trace_columns_encode(&columns, raw);
    FUZZ_REQUIRE(trace_block_decode(raw, raw_bytes, columns.records, 0, header, &decoded) == NULL);
    FUZZ_REQUIRE(decoded.record_count == block->record_count);
    FUZZ_REQUIRE(decoded.group_count == block->group_count);
    FUZZ_REQUIRE(
        memcmp(decoded.records, block->records, block->record_count * sizeof *block->records) == 0);
    FUZZ_REQUIRE(
        memcmp(decoded.groups, block->groups, block->group_count * sizeof *block->groups) == 0);
    FUZZ_REQUIRE(decoded.has_causes == (block->causes != NULL));
    FUZZ_REQUIRE(block->causes == NULL || memcmp(decoded.causes, block->causes,
                                                 block->record_count * sizeof *block->causes) == 0);
}

struct sums {
    uint64_t events;
    uint64_t starts;
    uint64_t reactions;
    uint64_t last_tick;
    uint64_t hash;
    int end; /* what trace_reader_next said last */
};

static void check_block(const struct trace_header *header, const struct trace_block *block,
                        struct sums *sums)
{
    FUZZ_REQUIRE(block->record_count > 0 && block->record_count <= TRACE_BLOCK_RECORDS);
    FUZZ_REQUIRE(block->first_event == sums->events);
    size_t next = 0;
    for (size_t g = 0; g < block->group_count; g++) {
        const struct trace_group *group = &block->groups[g];
        FUZZ_REQUIRE(group->first == next && group->count > 0);
        FUZZ_REQUIRE(group->tick < header->end_tick);
        FUZZ_REQUIRE(g == 0 ? group->tick >= sums->last_tick : group->tick > sums->last_tick);
        sums->last_tick = group->tick;
        next += group->count;
        FUZZ_REQUIRE(next <= block->record_count);
        for (size_t i = group->first; i < next; i++) {
            const struct trace_record *record = &block->records[i];
            FUZZ_REQUIRE(record->id < header->ids);
            FUZZ_REQUIRE(record->op == TRACE_START || record->op == TRACE_STOP);
            FUZZ_REQUIRE(record->op == TRACE_STOP
                             ? record->deadline == 0
                             : record->deadline - group->tick <= header->max_delay_ticks);
            sums->starts += record->op == TRACE_START;
            if (block->causes != NULL) {
                const struct trace_cause *cause = &block->causes[i];
                FUZZ_REQUIRE(cause->id < header->ids && cause->basis <= TRACE_ABSOLUTE);
                FUZZ_REQUIRE(record->op == TRACE_START ||
                             (cause->basis <= TRACE_FIXED_DELAY && cause->slack_ticks == 0));
                FUZZ_REQUIRE(cause->slack_ticks <= header->max_slack_ticks);
                sums->reactions += cause->basis != TRACE_EXTERNAL;
            }
        }
    }
    FUZZ_REQUIRE(next == block->record_count);
    sums->events += next;
    sums->hash = XXH3_64bits_withSeed(block->records, next * sizeof *block->records, sums->hash);
    encode_and_decode(header, block);
}

static struct sums read_all(struct trace_reader *reader)
{
    const struct trace_header *header = trace_reader_header(reader);
    struct sums sums = {0};
    struct trace_block block;
    struct error error = {{0}};
    while ((sums.end = trace_reader_next(reader, &block, &error)) == 1) {
        check_block(header, &block, &sums);
    }
    if (sums.end == 0) {
        FUZZ_REQUIRE(sums.events == header->events && sums.starts == header->starts);
        FUZZ_REQUIRE(sums.events - sums.starts == header->stops);
        FUZZ_REQUIRE(sums.reactions == header->reactions);
    } else {
        FUZZ_REQUIRE(sums.end == -1 && error.text[0] != '\0');
    }
    return sums;
}

static void check_header(const struct trace_header *header)
{
    FUZZ_REQUIRE(header->tick_ns > 0 && header->tick_ns <= TRACE_TICK_NS_MAX);
    FUZZ_REQUIRE(header->warmup_end_tick <= header->end_tick);
    FUZZ_REQUIRE(header->end_tick <= TRACE_TICK_MAX + 1);
    FUZZ_REQUIRE(header->max_delay_ticks <= TRACE_TICK_MAX);
    FUZZ_REQUIRE(header->origin != NULL && strchr(header->origin, '\n') == NULL);
}

static void check_loop(struct trace_reader *reader)
{
    struct error error = {{0}};
    struct trace_loop loop;
    const struct trace_header *header = trace_reader_header(reader);
    if (!trace_loop_read(&loop, reader, "input", "/tmp/timerlab-fuzz", &error)) {
        FUZZ_REQUIRE(error.text[0] != '\0');
        trace_loop_release(&loop);
        return;
    }
    FUZZ_REQUIRE(loop.step_count == header->events && loop.first_step < loop.step_count);
    FUZZ_REQUIRE(loop.left_passes <= 2 && loop.age_ticks >= 0);
    for (uint64_t i = 0; i < loop.step_count; i++) {
        const struct loop_step *step = &loop.steps[i];
        FUZZ_REQUIRE((step->tick >= 0) == (i >= loop.first_step));
        FUZZ_REQUIRE(step->tick < loop.length_ticks);
        FUZZ_REQUIRE(step->op == TRACE_STOP || step->end >= step->tick);
        uint32_t rank = loop.by_last.rank[step->id];
        FUZZ_REQUIRE(step->tick < 0 || rank < loop.by_last.count);
        FUZZ_REQUIRE(step->tick < 0 || loop.by_last.keys[rank] >= step->tick);
        rank = loop.by_first.rank[step->id];
        FUZZ_REQUIRE(step->tick < 0 || loop.by_first.keys[rank] <= step->tick);
    }
    FUZZ_REQUIRE(trace_loop_ids(&loop.by_last, 0) == loop.by_last.count);
    FUZZ_REQUIRE(trace_loop_ids(&loop.by_first, loop.length_ticks) == loop.by_first.count);
    trace_loop_release(&loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    unsigned flags = data[0];
    struct file file = {0};
    const char *path = NULL;
    if ((flags & FLAG_SEALED) != 0) {
        struct input input = {data + 1, size - 1};
        seal(&file, &input, flags);
        path = fuzz_file(file.bytes, file.count);
        free(file.bytes);
    } else {
        path = fuzz_file(data + 1, size - 1);
    }
    struct error error = {{0}};
    struct trace_reader *reader = trace_reader_open(path, &error);
    if (reader == NULL) {
        FUZZ_REQUIRE(error.text[0] != '\0');
        return 0;
    }
    check_header(trace_reader_header(reader));
    struct sums first = read_all(reader);
    trace_reader_rewind(reader);
    struct sums again = read_all(reader);
    FUZZ_REQUIRE(first.end == again.end && first.events == again.events &&
                 first.hash == again.hash);
    check_loop(reader);
    trace_reader_close(reader);
    return 0;
}
