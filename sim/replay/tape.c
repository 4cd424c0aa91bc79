#include "tape.h"

#include "due.h"
#include "memory.h"
#include "temporary_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#define WRITTEN                                                                                    \
    "the reactions could not be written to a file in $TMPDIR or /tmp: %s; set TMPDIR to a folder " \
    "with more room"
#define READ "the reactions could not be read back: %s"

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

void tape_close(struct tape *tape)
{
    if (tape != NULL) {
        (void)close(tape->file);
        free(tape);
    }
}

/* --- the head -------------------------------------------------------------------------------- */

struct tape_head {
    FILE *stream;
    ZSTD_CCtx *packer;
    ZSTD_DCtx *unpacker;
    struct tape_section section;
    char *packed;
    size_t packed_room;
    uint64_t firings; /* in the section */
};

struct tape_head *tape_head_open(const struct tape *tape, struct error *error)
{
    int copy = dup(tape->file);
    if (copy < 0 || lseek(copy, 0, SEEK_SET) != 0) {
        (void)error_set(error, WRITTEN, strerror(errno));
        return NULL;
    }
    struct tape_head *head = memory_new(1, sizeof *head);
    head->stream = memory_made(fdopen(copy, "r+b"));
    head->packer = memory_made(ZSTD_createCCtx());
    head->unpacker = memory_made(ZSTD_createDCtx());
    return head;
}

void tape_head_close(struct tape_head *head)
{
    if (head != NULL) {
        (void)fclose(head->stream);
        (void)ZSTD_freeCCtx(head->packer);
        (void)ZSTD_freeDCtx(head->unpacker);
        free(head->section.inside);
        free(head->section.outside);
        free(head->packed);
        free(head);
    }
}

/* --- writing --------------------------------------------------------------------------------- */

void tape_record_firing(struct tape_head *head)
{
    if (head != NULL) {
        head->firings++;
    }
}

void tape_add_outside(struct tape_section *section, struct stream_operation operation)
{
    MEMORY_REACH(section->outside, section->outside_room, section->outside_count);
    section->outside[section->outside_count++] = operation;
}

void tape_record(struct tape_head *head, const struct stream_operation *operation)
{
    if (head == NULL) {
        return;
    }
    struct tape_section *section = &head->section;
    if (!operation->inside) {
        tape_add_outside(section, *operation);
        return;
    }
    if (head->firings > TAPE_NO_FIRING) {
        memory_end();
    }
    MEMORY_REACH(section->inside, section->inside_room, section->inside_count);
    section->inside[section->inside_count++] =
        (struct tape_inside){.deadline = operation->deadline,
                             .event = operation->event & INT64_MAX,
                             .stops = operation->op == TRACE_STOP,
                             .firing = (uint32_t)(head->firings - 1),
                             .cause = operation->cause,
                             .id = operation->id};
}

void tape_record_outside(struct tape_head *head, enum tape_op op, uint64_t tick, uint64_t event)
{
    if (head != NULL) {
        tape_add_outside(&head->section,
                         (struct stream_operation){.tick = tick, .event = event, .op = op});
    }
}

/* Write operations as a frame of Zstandard, after its size: $TMPDIR may be memory, and an operation
 * takes half of its bytes or less. */
static bool write_packed(struct tape_head *head, const void *items, size_t bytes)
{
    size_t most = ZSTD_compressBound(bytes);
    MEMORY_REACH(head->packed, head->packed_room, most);
    size_t packed = ZSTD_compressCCtx(head->packer, head->packed, most, items, bytes, 1);
    if (ZSTD_isError(packed)) {
        memory_end(); /* the only possible error */
    }
    return fwrite(&packed, sizeof packed, 1, head->stream) == 1 &&
           fwrite(head->packed, packed, 1, head->stream) == 1;
}

bool tape_record_section(struct tape_head *head, struct error *error)
{
    struct tape_section *section = &head->section;
    const size_t counts[] = {section->inside_count, section->outside_count};
    section->inside_count = 0;
    section->outside_count = 0;
    head->firings = 0;
    return (fwrite(counts, sizeof counts, 1, head->stream) == 1 &&
            write_packed(head, section->inside, counts[0] * sizeof *section->inside) &&
            write_packed(head, section->outside, counts[1] * sizeof *section->outside) &&
            fflush(head->stream) == 0) ||
           error_set(error, WRITTEN, strerror(errno));
}

/* --- playing --------------------------------------------------------------------------------- */

static bool read_bytes(struct tape_head *head, void *bytes, size_t count, struct error *error)
{
    return fread(bytes, count, 1, head->stream) == 1 ||
           error_set(error, READ,
                     ferror(head->stream) != 0 ? strerror(errno) : "it ends too early");
}

static bool read_packed(struct tape_head *head, void *items, size_t bytes, struct error *error)
{
    size_t packed;
    if (!read_bytes(head, &packed, sizeof packed, error)) {
        return false;
    }
    MEMORY_REACH(head->packed, head->packed_room, packed);
    return read_bytes(head, head->packed, packed, error) &&
           (ZSTD_decompressDCtx(head->unpacker, items, bytes, head->packed, packed) == bytes ||
            error_set(error, READ, "it is damaged"));
}

const struct tape_section *tape_play_section(struct tape_head *head, struct error *error)
{
    struct tape_section *section = &head->section;
    size_t counts[2];
    if (!read_bytes(head, counts, sizeof counts, error)) {
        return NULL;
    }
    section->inside_count = counts[0];
    section->outside_count = counts[1];
    MEMORY_REACH(section->inside, section->inside_room, counts[0]);
    MEMORY_REACH(section->outside, section->outside_room, counts[1]);
    if (!read_packed(head, section->inside, counts[0] * sizeof *section->inside, error) ||
        !read_packed(head, section->outside, counts[1] * sizeof *section->outside, error)) {
        return NULL;
    }
    section->inside[counts[0]] = (struct tape_inside){.firing = TAPE_NO_FIRING};
    return section;
}

/* --- blocks ---------------------------------------------------------------------------------- */

/* Add a group, the operations of a tick. */
static void add_group(struct made_block *made, uint64_t tick)
{
    struct stream_block *block = &made->block;
    MEMORY_REACH(made->groups, made->group_room, block->group_count);
    block->groups = made->groups;
    made->groups[block->group_count++] =
        (struct trace_group){.tick = tick, .first = (uint32_t)block->record_count};
}

/* Add an operation to the last group, which is one of this tick. */
static void add_record(struct made_block *made, uint64_t arrived, uint64_t event,
                       struct trace_record record)
{
    struct stream_block *block = &made->block;
    size_t at = block->record_count++;
    if (at >= made->record_room) {
        made->record_room = memory_room(at, SIZE_MAX);
        made->arrived = memory_resize(made->arrived, made->record_room, sizeof *made->arrived);
        made->events = memory_resize(made->events, made->record_room, sizeof *made->events);
        made->records = memory_resize(made->records, made->record_room, sizeof *made->records);
        block->events = made->events;
        block->records = made->records;
    }
    made->groups[block->group_count - 1].count++;
    made->arrived[at] = arrived;
    made->events[at] = event;
    made->records[at] = record;
}

static void begin_block(struct made_block *made)
{
    made->block = (struct stream_block){
        .records = made->records, .groups = made->groups, .events = made->events};
}

void block_release(struct made_block *made)
{
    free(made->arrived);
    free(made->events);
    free(made->records);
    free(made->groups);
}

void block_make_received(struct made_block *made, const struct stream_block *from,
                         const struct replay_drive *drive)
{
    begin_block(made);
    made->block.reaction_begin = from->reaction_begin;
    made->block.reaction_end = from->reaction_end;
    for (size_t g = 0; g < from->group_count; g++) {
        const struct trace_group *group = &from->groups[g];
        if (drive_loses(drive, group->tick)) {
            continue;
        }
        uint64_t tick = drive_awake(drive, group->tick);
        add_group(made, tick);
        for (uint32_t i = group->first; i < group->first + group->count; i++) {
            add_record(made, group->tick, stream_event(from, i),
                       due_later(&from->records[i], group->tick, tick));
        }
    }
}

/* Make the last group one of this tick. */
static void go_to(struct made_block *made, uint64_t tick)
{
    size_t groups = made->block.group_count;
    if (groups == 0 || made->groups[groups - 1].tick != tick) {
        add_group(made, tick);
    }
}

/* Add the wakeups and the postponed reactions up to a tick, from entry `at` on; return the next
 * entry. */
static size_t add_held(struct made_block *made, const struct tape_section *section, size_t at,
                       uint64_t tick)
{
    for (; at < section->outside_count; at++) {
        const struct stream_operation *held = &section->outside[at];
        if (held->op > TAPE_WAKEUP || held->tick > tick) {
            break;
        }
        go_to(made, held->tick);
        if (held->op != TAPE_WAKEUP) {
            add_record(
                made, held->tick, held->event,
                (struct trace_record){.deadline = held->deadline, .id = held->id, .op = held->op});
        }
    }
    return at;
}

void block_make_executed(struct made_block *made, const struct stream_block *from, size_t group,
                         size_t group_end, const struct tape_section *section, bool queues)
{
    const struct stream_operation *outside = section->outside;
    size_t at = 0;
    begin_block(made);
    for (; group < group_end; group++) {
        const struct trace_group *arrived = &from->groups[group];
        uint64_t tick = arrived->tick;
        at = add_held(made, section, at, queues ? UINT64_MAX : tick);
        if (queues && at < section->outside_count) {
            tick = outside[at++].tick;
        }
        /* It wakes the loop even if all its operations are superseded. */
        go_to(made, tick);
        for (uint32_t i = arrived->first; i < arrived->first + arrived->count; i++) {
            uint64_t event = stream_event(from, i);
            if (at < section->outside_count && outside[at].op == TAPE_SUPERSEDED &&
                outside[at].event == event) {
                at++;
            } else {
                add_record(made, arrived->tick, event,
                           due_later(&from->records[i], arrived->tick, tick));
            }
        }
    }
    (void)add_held(made, section, at, UINT64_MAX);
}
