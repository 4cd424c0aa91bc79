#include "stream.h"

#include "due.h"
#include "memory.h"
#include "temporary_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Two different causes at one tick. No timer has this id. */
#define MANY          UINT32_MAX

/* Prefetch timers this many operations ahead. */
#define FETCH_AHEAD   32u

/* Alignment of the columns. */
#define ALIGNED_BYTES 64u

/* State of a timer that determines the arming of the reactions to its expiry. */
struct timer {
    uint64_t start;       /* the number of its last start before the tick, from 1; 0: none */
    uint32_t causes_tick; /* the last tick with reactions on it, by number */
    uint32_t cause;       /* theirs, or MANY */
};

struct decoder {
    struct stream *stream;
    struct timer *timers; /* NULL: there are no reactions */
    struct started {
        uint64_t event;
        uint32_t id;
    } * starts; /* at the running tick */
    size_t start_count;
    size_t start_room;
    uint64_t tick;
    uint32_t tick_number;
    size_t tick_reactions; /* the first reaction of the tick */

    /* The next free element of each column. */
    struct stream_block *block;
    struct trace_record *record;
    struct trace_group *group;
    uint16_t *offset;
    uint8_t *code;
    struct stream_reaction *reactions;
    uint32_t *slack;
};

/* --- step codes ------------------------------------------------------------------------------ */

/* Add a step to the rest, which becomes a code when it is complete. */
static inline void add_step(struct step_codes *codes, uint8_t *room, uint8_t *rest, unsigned step)
{
    rest[codes->rest_count++] = (uint8_t)step;
    if (codes->rest_count == STEPS_A_CODE) {
        room[codes->code_count++] =
            (uint8_t)(rest[0] +
                      STEP_KINDS * (rest[1] + STEP_KINDS * (rest[2] + STEP_KINDS * rest[3])));
        codes->rest_count = 0;
    }
}

void step_codes_make(struct step_codes *codes, uint8_t *room, const struct trace_record *records,
                     const struct trace_group *groups, size_t count)
{
    uint8_t rest[STEPS_A_CODE] = {0};
    struct step_codes made = {.codes = room};
    for (size_t g = 0; g < count; g++) {
        const struct trace_record *record = records + groups[g].first;
        add_step(&made, room, rest, STEP_TIME);
        for (uint32_t i = 0; i < groups[g].count; i++) {
            add_step(&made, room, rest, record[i].op);
        }
    }
    memcpy(room + made.code_count, rest, made.rest_count);
    *codes = made;
}

/* --- memory ---------------------------------------------------------------------------------- */

static size_t aligned(uint64_t bytes)
{
    return (size_t)((bytes + ALIGNED_BYTES - 1) / ALIGNED_BYTES * ALIGNED_BYTES);
}

static bool map(struct stream *stream, uint64_t limit_bytes, struct error *error)
{
    bool fits =
        stream->bytes <= (limit_bytes == STREAM_HALF_FREE ? memory_free_bytes() / 2 : limit_bytes);
    int file = fits ? -1 : temporary_open_nameless(NULL);
    if (!fits && (file < 0 || ftruncate(file, (off_t)stream->bytes) != 0)) {
        (void)error_set(error,
                        "the trace could not be decoded to a file in $TMPDIR or /tmp: %s; set "
                        "TMPDIR to a folder with more room",
                        strerror(errno));
        (void)close(file);
        return false;
    }
    void *memory = mmap(NULL, stream->bytes, PROT_READ | PROT_WRITE,
                        fits ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED, file, 0);
    if (file >= 0) {
        (void)close(file);
    }
    if (memory == MAP_FAILED) {
        memory_end();
    }
    /* Huge pages save page faults, and page tables when forking. */
    (void)madvise(memory, stream->bytes, MADV_HUGEPAGE);
    stream->memory = memory;
    return true;
}

/* Divide the memory among the columns, by their upper bounds. Without memory only compute the
 * size. */
static void lay_out(struct decoder *decoder)
{
    struct stream *stream = decoder->stream;
    uint64_t reactions = stream->header.reactions;
    uint64_t external = stream->header.events - reactions;
    const uint64_t bytes[] = {
        external * sizeof *decoder->record,
        external * sizeof *decoder->group,
        (reactions > 0 ? external : TRACE_BLOCK_RECORDS) * sizeof *decoder->offset,
        2 * external / STEPS_A_CODE + stream->header.blocks * STEPS_A_CODE,
        reactions * sizeof *decoder->reactions,
        (stream->header.max_slack_ticks > 0 ? stream->header.events : 0) * sizeof *decoder->slack,
    };
    uint8_t *at = stream->memory;
    void *columns[sizeof bytes / sizeof *bytes];
    stream->bytes = ALIGNED_BYTES;
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        columns[i] = at;
        at = at != NULL ? at + aligned(bytes[i]) : NULL;
        stream->bytes += aligned(bytes[i]);
    }
    decoder->record = columns[0];
    decoder->group = columns[1];
    decoder->offset = columns[2];
    decoder->code = columns[3];
    decoder->reactions = columns[4];
    stream->reactions = columns[4];
    decoder->slack = columns[5];
    stream->slacks = stream->header.max_slack_ticks > 0 ? columns[5] : NULL;
}

/* --- decoding -------------------------------------------------------------------------------- */

/* At the end of a tick its starts take effect, and all its reactions are known. */
static void end_tick(struct decoder *decoder)
{
    struct stream *stream = decoder->stream;
    for (size_t i = 0; i < decoder->start_count; i++) {
        decoder->timers[decoder->starts[i].id].start = decoder->starts[i].event;
    }
    for (size_t i = decoder->tick_reactions; i < stream->reaction_count; i++) {
        struct stream_reaction *reaction = &decoder->reactions[i];
        reaction->contended = decoder->timers[reaction->id].cause == MANY;
    }
    decoder->start_count = 0;
    decoder->tick_reactions = stream->reaction_count;
    decoder->tick_number++;
}

static void add_reaction(struct decoder *decoder, uint64_t event, const struct trace_record *record,
                         const struct trace_cause *cause)
{
    struct timer *timer = &decoder->timers[record->id];
    bool other = timer->causes_tick == decoder->tick_number && timer->cause != cause->id;
    timer->cause = other ? MANY : cause->id;
    timer->causes_tick = decoder->tick_number;
    decoder->reactions[decoder->stream->reaction_count++] = (struct stream_reaction){
        .event = event,
        .tick = decoder->tick,
        .delay_ticks = record->op == TRACE_START ? record->deadline - decoder->tick : 0,
        .arming = decoder->timers[cause->id].start,
        .id = record->id,
        .cause = cause->id,
        .basis = cause->basis,
        .op = (uint16_t)record->op,
    };
}

static void add_external(struct decoder *decoder, uint32_t at, const struct trace_record *record)
{
    struct stream_block *block = decoder->block;
    if (block->group_count == 0 || decoder->group[-1].tick != decoder->tick) {
        *decoder->group++ =
            (struct trace_group){.tick = decoder->tick, .first = (uint32_t)block->record_count};
        block->group_count++;
    }
    decoder->group[-1].count++;
    *decoder->record++ = *record;
    *decoder->offset++ = (uint16_t)at;
    block->record_count++;
}

/* Add an operation of a trace with reactions. */
static void add_operation(struct decoder *decoder, const struct trace_block *from, uint32_t at)
{
    const struct trace_record *record = &from->records[at];
    uint64_t event = from->first_event + at + 1;
    if (at + FETCH_AHEAD < from->record_count) {
        __builtin_prefetch(&decoder->timers[record[FETCH_AHEAD].id], 1);
    }
    if (record->op == TRACE_START) {
        MEMORY_REACH(decoder->starts, decoder->start_room, decoder->start_count);
        decoder->starts[decoder->start_count++] =
            (struct started){.event = event, .id = record->id};
    }
    if (from->causes != NULL && from->causes[at].basis != TRACE_EXTERNAL) {
        add_reaction(decoder, event, record, &from->causes[at]);
    } else {
        add_external(decoder, at, record);
    }
}

static void add_block(struct decoder *decoder, const struct trace_block *from)
{
    struct stream *stream = decoder->stream;
    for (size_t i = 0; stream->slacks != NULL && i < from->record_count; i++) {
        *decoder->slack++ = from->causes != NULL ? from->causes[i].slack_ticks : 0;
    }
    struct stream_block *block = decoder->block;
    *block = (struct stream_block){.records = decoder->record,
                                   .groups = decoder->group,
                                   .offsets = decoder->offset,
                                   .first_event = from->first_event,
                                   .reaction_begin = stream->reaction_count};
    for (size_t g = 0; g < from->group_count; g++) {
        const struct trace_group *group = &from->groups[g];
        if (decoder->timers != NULL && group->tick != decoder->tick) {
            end_tick(decoder);
        }
        decoder->tick = group->tick;
        for (uint32_t i = group->first; i < group->first + group->count; i++) {
            if (decoder->timers != NULL) {
                add_operation(decoder, from, i);
            } else {
                add_external(decoder, i, &from->records[i]);
            }
        }
    }
    block->reaction_end = stream->reaction_count;
    if (block->reaction_end == block->reaction_begin) {
        decoder->offset -= block->record_count;
        block->offsets = NULL;
    }
    step_codes_make(&block->codes, decoder->code, block->records, block->groups,
                    block->group_count);
    decoder->code += block->codes.code_count + block->codes.rest_count;
    decoder->block++;
    stream->block_count++;
}

static bool decode(struct decoder *decoder, struct trace_reader *reader, struct error *error)
{
    struct trace_block block;
    int got;
    while ((got = trace_reader_next(reader, &block, error)) == 1) {
        add_block(decoder, &block);
    }
    if (decoder->timers != NULL) {
        end_tick(decoder);
    }
    return got == 0;
}

struct stream *stream_decode(struct trace_reader *reader, uint64_t limit_bytes, struct error *error)
{
    struct stream *stream = memory_new(1, sizeof *stream);
    struct decoder *decoder = memory_new(1, sizeof *decoder);
    stream->header = *trace_reader_header(reader);
    stream->header.origin = NULL;
    decoder->stream = stream;
    decoder->tick_number = 1;
    decoder->block = memory_new(stream->header.blocks, sizeof *decoder->block);
    stream->blocks = decoder->block;
    if (stream->header.reactions > 0) {
        decoder->timers = memory_table(stream->header.ids, sizeof *decoder->timers);
    }
    lay_out(decoder);
    bool done = map(stream, limit_bytes, error);
    if (done) {
        lay_out(decoder);
        trace_reader_rewind(reader);
        done = decode(decoder, reader, error);
        (void)mprotect(stream->memory, stream->bytes, PROT_READ);
    }
    memory_table_free(decoder->timers, stream->header.ids, sizeof *decoder->timers);
    free(decoder->starts);
    free(decoder);
    if (!done) {
        stream_close(stream);
        return NULL;
    }
    return stream;
}

struct stream *stream_open(const char *path, struct error *error)
{
    struct trace_reader *reader = trace_reader_open(path, error);
    struct stream *stream = reader != NULL ? stream_decode(reader, STREAM_HALF_FREE, error) : NULL;
    trace_reader_close(reader);
    return stream;
}

void stream_close(struct stream *stream)
{
    if (stream != NULL) {
        if (stream->memory != NULL) {
            (void)munmap(stream->memory, stream->bytes);
        }
        free((void *)stream->blocks);
        free(stream);
    }
}

/* --- walking through it ---------------------------------------------------------------------- */

struct stream_operation stream_reaction_at(const struct stream_reaction *reaction, uint64_t tick)
{
    bool starts = reaction->op == TRACE_START;
    return (struct stream_operation){.event = reaction->event - 1,
                                     .tick = tick,
                                     .deadline =
                                         starts ? due_deadline(tick, reaction->delay_ticks) : 0,
                                     .id = reaction->id,
                                     .op = reaction->op,
                                     .cause = reaction->cause,
                                     .reaction = true};
}

static void take_external(struct stream_walk *walk, const struct stream_block *block,
                          struct stream_operation *operation)
{
    const struct trace_group *group = &block->groups[walk->group];
    const struct trace_record *record = &block->records[walk->record];
    *operation = (struct stream_operation){.event = stream_event(block, walk->record),
                                           .tick = group->tick,
                                           .deadline = record->deadline,
                                           .id = record->id,
                                           .op = record->op};
    walk->group += ++walk->record == group->first + group->count;
}

bool stream_walk_next(struct stream_walk *walk, struct stream_operation *operation)
{
    const struct stream *stream = walk->stream;
    for (; walk->block < stream->block_count; walk->block++) {
        const struct stream_block *block = &stream->blocks[walk->block];
        bool reacts = walk->reaction < block->reaction_end;
        if (walk->group < block->group_count &&
            (!reacts ||
             stream_event(block, walk->record) < stream->reactions[walk->reaction].event)) {
            take_external(walk, block, operation);
            return true;
        }
        if (reacts) {
            const struct stream_reaction *reaction = &stream->reactions[walk->reaction++];
            *operation = stream_reaction_at(reaction, reaction->tick);
            return true;
        }
        walk->group = 0;
        walk->record = 0;
    }
    return false;
}
