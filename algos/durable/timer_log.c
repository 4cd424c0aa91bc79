#include "timer_log.h"

#include "crc32c.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Read on a machine that orders bytes otherwise, it is another one. */
#define HEAD_MAGIC       UINT64_C(0x31676f4c72656d54) /* "TmerLog1" */
#define FORMAT           2u                           /* 1 had records of 32 bytes */

#define HEAD             sizeof(struct segment_head)
#define RECORD           sizeof(struct log_record)

/* Of a segment's file, a multiple of the least. The first is small, as whoever makes a log waits
 * until its zeros are written; those that follow are as large as all before them, until two make
 * what the log has before it is first cut, for each one that comes into use is waited for twice.
 * With more timers than such a one takes they are a share of what these take as records, as the
 * first and the last one are in use in part only. */
#define LEAST_BYTES      (UINT64_C(64) << 10)
#define LEAST_BYTES_MAX  (UINT64_C(1) << 20)
#define MOST_BYTES       (UINT64_C(64) << 20)
#define SHARES_OF_TIMERS 6u

/* So many segments of one size, before those that follow are twice as large, up to this. */
#define SEGMENTS_EACH    64u
#define UNCUT_BYTES      (UINT64_C(4) << 30)

/* Records are read in pieces of this. */
#define PIECE_BYTES      (UINT64_C(64) << 10)

struct segment_head {
    uint32_t crc;
    uint32_t format;
    uint64_t magic;
    uint64_t number;
    uint64_t first;
};

_Static_assert(RECORD == CRC32C_RECORD && HEAD == 32, "as docs/durable-log.md says");

/* Above the id in a record: all but so many before it, itself counted, were on the disk when it was
 * written; 0: it does not say. */
static const uint64_t unknown_at_most[] = {0, 1, 64, 4096};

static uint32_t crc_of_head(const struct segment_head *head)
{
    return crc32c(0, (const char *)head + sizeof head->crc, HEAD - sizeof head->crc);
}

static const char *name_segment(struct timer_log *log, uint64_t number, const char *suffix)
{
    if (number != log->named || suffix[0] != '\0') {
        store_name(log->name, STORE_LOG, number, suffix);
        log->named = suffix[0] == '\0' ? number : 0;
    }
    return log->name;
}

static uint64_t bytes_of(const struct log_segment *segment)
{
    return HEAD + segment->records * RECORD;
}

/* Where in its segment a record stands. */
static uint64_t place_of(const struct log_segment *segment, uint64_t sequence)
{
    return HEAD + (sequence - segment->first) * RECORD;
}

static uint64_t end_of(const struct log_segment *segment) /* the last sequence number in it */
{
    return segment->first + segment->records - 1;
}

/* --- beginning and end ----------------------------------------------------------------------- */

enum tl_status log_create(struct timer_log *log, struct store *store,
                          const struct tl_allocator *allocator, size_t buffer_records,
                          uint64_t least)
{
    *log = (struct timer_log){.store = store,
                              .allocator = allocator,
                              .buffer_records = buffer_records,
                              .least_bytes = LEAST_BYTES};
    while (log->least_bytes < LEAST_BYTES_MAX && log->least_bytes < least / 2 * RECORD) {
        log->least_bytes *= 2;
    }
    log->buffer = tl_alloc(allocator, buffer_records * RECORD, alignof(struct log_record));
    return log->buffer != NULL ? TL_OK : TL_ERR_NOMEM;
}

void log_destroy(struct timer_log *log)
{
    for (size_t i = 0; i < log->segment_count; i++) {
        (void)close(log->segments[i].fd);
    }
    tl_free(log->allocator, log->segments, log->segments_max * sizeof *log->segments,
            alignof(struct log_segment));
    tl_free(log->allocator, log->buffer, log->buffer_records * RECORD, alignof(struct log_record));
}

static enum tl_status name_segments(struct timer_log *log, size_t count)
{
    if (count <= log->segments_max) {
        return TL_OK;
    }
    struct log_segment *segments = log->allocator->resize(
        log->allocator->ctx, log->segments, log->segments_max * sizeof *segments,
        count * sizeof *segments, alignof(struct log_segment));
    if (segments == NULL) {
        return TL_ERR_NOMEM;
    }
    log->segments = segments;
    log->segments_max = count;
    return TL_OK;
}

enum tl_status log_reserve(struct timer_log *log, uint64_t timers)
{
    /* Each timer needs room for its removal, and has less than twice that logged before the log is
     * cut, if it is; small segments come first. */
    return name_segments(log, (size_t)(20 * SEGMENTS_EACH + timers * RECORD * 5 / MOST_BYTES));
}

/* --- room ------------------------------------------------------------------------------------ */

static uint64_t segment_bytes(const struct timer_log *log, uint64_t live)
{
    uint64_t bytes = live * RECORD / SHARES_OF_TIMERS;
    if (live * RECORD < log->least_bytes) {
        bytes = log->bytes < log->least_bytes ? log->bytes : log->least_bytes;
    }
    if (bytes <= LEAST_BYTES || bytes >= MOST_BYTES) {
        return bytes <= LEAST_BYTES ? LEAST_BYTES : MOST_BYTES;
    }
    return (bytes + LEAST_BYTES - 1) / LEAST_BYTES * LEAST_BYTES;
}

static enum tl_status write_head(struct timer_log *log, const struct log_segment *segment)
{
    struct segment_head head = {
        .format = FORMAT, .magic = HEAD_MAGIC, .number = segment->number, .first = segment->first};
    head.crc = crc_of_head(&head);
    return store_write(log->store, segment->fd, log->name, &head, sizeof head, 0);
}

/* It gets its name when all of it is on the disk. */
static enum tl_status finish_segment(struct timer_log *log, const struct log_segment *segment)
{
    char made[STORE_NAME_BYTES];
    memcpy(made, log->name, sizeof made);
    enum tl_status status = write_head(log, segment);
    if (status == TL_OK) {
        status = store_sync_new(log->store, segment->fd, made);
    }
    if (status == TL_OK) {
        status = store_rename(log->store, made, name_segment(log, segment->number, ""));
    }
    return status == TL_OK ? store_sync_folder(log->store) : status;
}

static struct log_segment next_segment(const struct timer_log *log, uint64_t bytes)
{
    struct log_segment segment = {
        .number = 1, .first = log->written + 1, .records = (bytes - HEAD) / RECORD, .fd = -1};
    if (log->segment_count > 0) {
        const struct log_segment *last = &log->segments[log->segment_count - 1];
        segment.number = last->number + 1;
        segment.first = end_of(last) + 1;
    }
    return segment;
}

static void add_segment(struct timer_log *log, struct log_segment segment)
{
    log->segments[log->segment_count++] = segment;
    log->bytes += bytes_of(&segment);
    log->room = end_of(&segment);
}

static enum tl_status make_segment(struct timer_log *log, uint64_t bytes)
{
    if (log->segment_count == log->segments_max) {
        return store_fail(log->store, "the log has more segments than it can name");
    }
    enum tl_status status = store_open(log->store);
    if (status != TL_OK) {
        return status;
    }
    struct log_segment segment = next_segment(log, bytes);
    status = store_file(log->store, name_segment(log, segment.number, STORE_UNFINISHED), true,
                        &segment.fd);
    if (status != TL_OK) {
        return status;
    }
    status = store_fill(log->store, segment.fd, log->name, bytes);
    if (status == TL_OK) {
        status = finish_segment(log, &segment);
    }
    if (status != TL_OK) {
        (void)close(segment.fd);
        store_remove(log->store, name_segment(log, segment.number, STORE_UNFINISHED));
        return status;
    }
    add_segment(log, segment);
    return TL_OK;
}

/* Where no snapshot cuts the log, segments grow, so that their number does not. */
static uint64_t next_bytes(const struct timer_log *log, uint64_t live)
{
    uint64_t bytes = segment_bytes(log, live);
    for (size_t i = SEGMENTS_EACH; i < log->segment_count && bytes < UNCUT_BYTES;
         i += SEGMENTS_EACH) {
        bytes *= 2;
    }
    return bytes;
}

enum tl_status log_make_room(struct timer_log *log, uint64_t up_to, uint64_t live)
{
    while (log->room < up_to) {
        enum tl_status status = make_segment(log, next_bytes(log, live));
        if (status != TL_OK) {
            return status;
        }
    }
    return TL_OK;
}

/* --- writing --------------------------------------------------------------------------------- */

void log_take_back(struct timer_log *log, size_t count)
{
    log->waiting -= count;
}

static enum tl_status sync_current(struct timer_log *log)
{
    const struct log_segment *segment = &log->segments[log->current];
    enum tl_status status =
        store_sync(log->store, segment->fd, name_segment(log, segment->number, ""));
    log->synced = status == TL_OK && log->store->waits ? log->written : log->synced;
    return status;
}

/* Says in the first ones of `count` records what is on the disk before them. */
static void say_what_is_known(const struct timer_log *log, struct log_record *records, size_t count)
{
    uint64_t before = log->written - log->synced; /* the first one */
    size_t at = 0;
    for (uint32_t mark = 1; mark < sizeof unknown_at_most / sizeof unknown_at_most[0]; mark++) {
        for (; at < count && before + at < unknown_at_most[mark]; at++) {
            records[at].id |= mark << LOG_ID_BITS;
        }
    }
}

/* Writes as many of the records that wait as the current segment takes; *count is set to how many.
 */
static enum tl_status write_part(struct timer_log *log, struct log_record *from, size_t *count)
{
    const struct log_segment *segment = &log->segments[log->current];
    uint64_t first = log->written + 1;
    uint64_t room = end_of(segment) + 1 - first;
    *count = room < *count ? (size_t)room : *count;
    if (log->store->waits) {
        say_what_is_known(log, from, *count);
    }
    crc32c_seal(first, from, *count);
    return store_write(log->store, segment->fd, name_segment(log, segment->number, ""), from,
                       *count * RECORD, place_of(segment, first));
}

/* What is written stays in the buffer until all is, so that a failure half-way is tried again as a
 * whole, to the same places. */
enum tl_status log_commit(struct timer_log *log)
{
    if (log->store->final) {
        return TL_ERR_STORE;
    }
    uint64_t written = log->written;
    uint64_t synced = log->synced;
    size_t current = log->current;
    enum tl_status status = log->waiting > 0 ? log_make_room(log, log_sequence(log), 0) : TL_OK;
    if (status == TL_OK && log->waiting > 0 &&
        log->written == end_of(&log->segments[log->current])) {
        log->current++;
    }
    for (size_t done = 0; done < log->waiting && status == TL_OK;) {
        size_t count = log->waiting - done;
        status = write_part(log, log->buffer + done, &count);
        if (status == TL_OK) {
            log->written += count;
            done += count;
            status = sync_current(log);
            log->current += status == TL_OK && done < log->waiting;
        }
    }
    if (status != TL_OK) {
        log->written = written;
        log->synced = synced;
        log->current = current;
        return status;
    }
    log->waiting = 0;
    return TL_OK;
}

enum tl_status log_sync(struct timer_log *log)
{
    enum tl_status status = log_commit(log);
    return status == TL_OK && log->synced < log->written ? sync_current(log) : status;
}

/* --- dropping -------------------------------------------------------------------------------- */

static void forget_first(struct timer_log *log)
{
    log->bytes -= bytes_of(&log->segments[0]);
    log->segment_count--;
    memmove(log->segments, log->segments + 1, log->segment_count * sizeof *log->segments);
}

static void remove_first(struct timer_log *log)
{
    (void)close(log->segments[0].fd);
    store_remove(log->store, name_segment(log, log->segments[0].number, ""));
    forget_first(log);
}

/* The first segment becomes the last one. */
static enum tl_status use_again(struct timer_log *log)
{
    struct log_segment old = log->segments[0];
    struct log_segment segment = next_segment(log, bytes_of(&old));
    segment.fd = old.fd;
    char from[STORE_NAME_BYTES];
    store_name(from, STORE_LOG, old.number, "");
    enum tl_status status =
        store_rename(log->store, from, name_segment(log, segment.number, STORE_UNFINISHED));
    if (status == TL_OK) {
        status = finish_segment(log, &segment);
    }
    if (status != TL_OK) {
        store_remove(log->store, name_segment(log, segment.number, STORE_UNFINISHED));
        remove_first(log);
        return status;
    }
    forget_first(log);
    add_segment(log, segment);
    return TL_OK;
}

enum tl_status log_drop(struct timer_log *log, uint64_t sequence, uint64_t wanted, uint64_t live)
{
    enum tl_status status = TL_OK;
    while (log->current > 0 && end_of(&log->segments[0]) <= sequence && status == TL_OK) {
        bool fits = bytes_of(&log->segments[0]) * 4 > segment_bytes(log, live);
        if (fits && log->room - log_sequence(log) < wanted) {
            status = use_again(log);
        } else {
            remove_first(log);
        }
        log->current--;
    }
    return status;
}

/* --- reading --------------------------------------------------------------------------------- */

static bool head_is_good(const struct segment_head *head, uint64_t number)
{
    return head->magic == HEAD_MAGIC && head->number == number && head->crc == crc_of_head(head);
}

static enum tl_status open_segment(struct timer_log *log, uint64_t number)
{
    struct log_segment segment = {.number = number, .fd = -1};
    struct segment_head head = {0};
    size_t got = 0;
    const char *name = name_segment(log, number, "");
    enum tl_status status = store_file(log->store, name, false, &segment.fd);
    if (status != TL_OK) {
        return status;
    }
    off_t bytes = lseek(segment.fd, 0, SEEK_END);
    status = store_read(log->store, segment.fd, name, &head, sizeof head, 0, &got);
    if (status == TL_OK && (got < sizeof head || !head_is_good(&head, number))) {
        status = store_fail(
            log->store, "%s: corrupt: its head is not one of timerlab's log of this machine", name);
    } else if (status == TL_OK && head.format != FORMAT) {
        status = store_fail(log->store,
                            "%s: is of format %" PRIu32 ", and this is read by format %u: let a "
                            "timerlab of its time fire what it holds, or name another folder",
                            name, head.format, FORMAT);
    }
    segment.first = head.first;
    segment.records = status == TL_OK ? ((uint64_t)bytes - HEAD) / RECORD : 0;
    if (status == TL_OK && log->segment_count > 0 &&
        end_of(&log->segments[log->segment_count - 1]) + 1 != segment.first) {
        status = store_fail(log->store,
                            "%s: corrupt: it begins with record %" PRIu64
                            ", and the one before it ends with %" PRIu64,
                            name, segment.first, end_of(&log->segments[log->segment_count - 1]));
    }
    if (status != TL_OK) {
        (void)close(segment.fd);
        return status;
    }
    add_segment(log, segment);
    return TL_OK;
}

enum tl_status log_open_segments(struct timer_log *log, const uint64_t *numbers, size_t count)
{
    enum tl_status status = name_segments(log, count + 64);
    for (size_t i = 0; i < count && status == TL_OK; i++) {
        if (i > 0 && numbers[i] != numbers[i - 1] + 1) {
            char name[STORE_NAME_BYTES];
            store_name(name, STORE_LOG, numbers[i - 1] + 1, "");
            return store_fail(log->store, "%s: missing, though there are others behind it", name);
        }
        status = open_segment(log, numbers[i]);
    }
    return status;
}

/* A reading of the log, piece by piece. */
struct reading {
    struct timer_log *log;
    struct log_record *piece;
    enum tl_status (*apply)(void *ctx, const struct log_operation *operation);
    void *ctx;
    uint64_t after;
    uint64_t next;                      /* the sequence number that is to come */
    const struct log_segment *ended_in; /* NULL: not yet */
    uint64_t torn;                      /* records behind the end */
    bool hole;                          /* one of them tells that what is missing was on the disk */
    bool mends;                         /* they are made zeros, now that the end is known */
};

/* Behind the end. */
static enum tl_status read_torn(struct reading *reading, const struct log_segment *segment,
                                const struct log_record *record, uint64_t sequence)
{
    static const struct log_record nothing;
    struct timer_log *log = reading->log;
    if (reading->mends) {
        return store_write(log->store, segment->fd, log->name, &nothing, RECORD,
                           place_of(segment, sequence));
    }
    reading->torn++;
    uint64_t unknown = unknown_at_most[record->id >> LOG_ID_BITS];
    bool knows = unknown > 0 && sequence >= reading->next + unknown;
    reading->hole |= knows || segment > reading->ended_in;
    return TL_OK;
}

static struct log_operation operation_of(const struct log_record *record, uint64_t sequence)
{
    struct log_operation operation = {.sequence = sequence, .id = record->id % LOG_IDS};
    if (record->word >= ~TL_DEADLINE_MAX) {
        operation.op = LOG_START;
        operation.deadline = ~record->word;
    } else {
        operation.op = (record->word & LOG_FIRING) != 0 ? LOG_FIRE : LOG_STOP;
        operation.generation = record->word & ~LOG_FIRING;
    }
    return operation;
}

static enum tl_status read_record(struct reading *reading, const struct log_segment *segment,
                                  const struct log_record *record, uint64_t sequence)
{
    bool good = record->word != 0 && record->crc == crc32c_of_record(sequence, record);
    if (reading->mends) {
        return good && sequence >= reading->next ? read_torn(reading, segment, record, sequence)
                                                 : TL_OK;
    }
    if (reading->ended_in != NULL) {
        return good ? read_torn(reading, segment, record, sequence) : TL_OK;
    }
    if (!good) {
        reading->ended_in = segment;
        return TL_OK;
    }
    reading->next++;
    struct log_operation operation = operation_of(record, sequence);
    return sequence > reading->after ? reading->apply(reading->ctx, &operation) : TL_OK;
}

static enum tl_status read_segment(struct reading *reading, const struct log_segment *segment)
{
    struct timer_log *log = reading->log;
    const char *name = name_segment(log, segment->number, "");
    for (uint64_t sequence = segment->first; sequence <= end_of(segment);) {
        size_t got = 0;
        enum tl_status status = store_read(log->store, segment->fd, name, reading->piece,
                                           PIECE_BYTES, place_of(segment, sequence), &got);
        for (size_t i = 0; i < got / RECORD && status == TL_OK; i++) {
            status = read_record(reading, segment, &reading->piece[i], sequence + i);
        }
        if (status != TL_OK || got < RECORD) {
            return status;
        }
        sequence += got / RECORD;
    }
    return TL_OK;
}

/* Zeros behind the end, lest they be taken for what will be written before them. */
static enum tl_status mend(struct reading *reading)
{
    struct timer_log *log = reading->log;
    const struct log_segment *end = log->segments + log->segment_count;
    reading->mends = true;
    for (const struct log_segment *segment = reading->ended_in; segment < end; segment++) {
        enum tl_status status = read_segment(reading, segment);
        if (status == TL_OK) {
            status = store_sync(log->store, segment->fd, name_segment(log, segment->number, ""));
        }
        if (status != TL_OK) {
            return status;
        }
    }
    return TL_OK;
}

static enum tl_status judge_end(struct reading *reading, uint64_t upto)
{
    struct timer_log *log = reading->log;
    const struct log_segment *segment =
        reading->ended_in != NULL ? reading->ended_in : &log->segments[log->segment_count - 1];
    if (reading->hole || reading->next <= upto) {
        return store_fail(
            log->store, "%s: corrupt at byte %" PRIu64 ": record %" PRIu64 " is not there, %s",
            name_segment(log, segment->number, ""), place_of(segment, reading->next), reading->next,
            reading->hole ? "though it was on the disk when some behind it were written"
                          : "which a snapshot goes back to");
    }
    return TL_OK;
}

/* Goes on behind the record before `next`. */
static void stand_at_end(struct timer_log *log, uint64_t next)
{
    log->written = next - 1;
    log->synced = log->store->waits ? next - 1 : 0;
    log->current = 0;
    while (end_of(&log->segments[log->current]) < next && log->current + 1 < log->segment_count) {
        log->current++;
    }
}

enum tl_status log_replay(struct timer_log *log, uint64_t after, uint64_t upto,
                          enum tl_status (*apply)(void *ctx, const struct log_operation *operation),
                          void *ctx)
{
    struct reading reading = {
        .log = log, .apply = apply, .ctx = ctx, .after = after, .next = log->segments[0].first};
    reading.piece = tl_alloc(log->allocator, PIECE_BYTES, alignof(struct log_record));
    if (reading.piece == NULL) {
        return TL_ERR_NOMEM;
    }
    enum tl_status status = TL_OK;
    if (reading.next > after + 1) {
        status = store_fail(log->store,
                            "%s: corrupt: the log begins with record %" PRIu64
                            ", and what there is besides ends with %" PRIu64,
                            name_segment(log, log->segments[0].number, ""), reading.next, after);
    }
    for (size_t i = 0; i < log->segment_count && status == TL_OK; i++) {
        status = read_segment(&reading, &log->segments[i]);
    }
    status = status == TL_OK ? judge_end(&reading, upto) : status;
    if (status == TL_OK && reading.torn > 0) {
        status = mend(&reading);
    }
    /* What was read, and the room behind it, may not be on the disk yet, and is from now on relied
     * upon. */
    for (size_t i = 0; i < log->segment_count && status == TL_OK; i++) {
        const struct log_segment *segment = &log->segments[i];
        if (end_of(segment) > after) {
            status = store_sync(log->store, segment->fd, name_segment(log, segment->number, ""));
        }
    }
    tl_free(log->allocator, reading.piece, PIECE_BYTES, alignof(struct log_record));
    if (status == TL_OK) {
        stand_at_end(log, reading.next);
    }
    return status;
}
