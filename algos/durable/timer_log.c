#include "timer_log.h"

#include "crc32c.h"

#include <inttypes.h>
#include <stdalign.h>
#include <string.h>
#include <unistd.h>

/* Read on a machine that orders bytes otherwise, it is another one. */
#define HEAD_MAGIC       UINT64_C(0x31676f4c72656d54) /* "TmerLog1" */
#define FORMAT           1u

#define WORD             sizeof(uint64_t)
#define LINE_BYTES       (LOG_LINE * WORD)
#define HEAD             LINE_BYTES /* room for a segment's head */

/* Those that end one timer, if each is a commit. */
#define ENDING_BYTES     (2 * WORD)

/* The size of a segment's file, in multiples of the smallest. The first is small, because its
 * creator waits until its zeros are written; each following one is as large as all before it, until
 * two are as much as the log has before it is first cut, because each one that comes into use is
 * waited for twice. With more timers than fit, they are a fraction of the space for ending these,
 * as the first and the last one are only partly used. */
#define LEAST_BYTES      (UINT64_C(64) << 10)
#define LEAST_BYTES_MAX  (UINT64_C(1) << 20)
#define MOST_BYTES       (UINT64_C(64) << 20)
#define SHARES_OF_TIMERS 6u

/* Number of segments of one size before the size doubles, up to UNCUT_BYTES. */
#define SEGMENTS_EACH    64u
#define UNCUT_BYTES      (UINT64_C(4) << 30)

/* Lines are read in pieces of this. */
#define PIECE_BYTES      (UINT64_C(64) << 10)

struct segment_head {
    uint32_t crc;
    uint32_t format;
    uint64_t magic;
    uint64_t number;
    uint64_t first;
    uint64_t words; /* of the segment, so that a file that was cut is noticed */
};

_Static_assert(sizeof(struct segment_head) == 40 && HEAD == 512,
               "as docs/internals/durable-log.md says");

/* The head of a frame: the lower half is the checksum of place, head and words; the upper half the
 * number of words that follow, the knowledge about the disk, and the low bits of the next
 * operation's number, so that a word that is no head is not taken for one before its checksum is
 * known. */
#define COUNT_SHIFT  32u
#define COUNT_BITS   6u
#define KNOWN_SHIFT  (COUNT_SHIFT + COUNT_BITS)
#define KNOWN_BITS   3u
#define NUMBER_SHIFT (KNOWN_SHIFT + KNOWN_BITS)
#define NUMBERS      (UINT64_C(1) << (64 - NUMBER_SHIFT))

_Static_assert(LOG_LEAP == 0 || LOG_LEAP == NUMBERS + 1, "as timer_log.h says");

_Static_assert(LOG_LINE == 1u << COUNT_BITS, "a frame fits in its line");

/* By the knowledge in a head: all operations before it except fewer than this number were on the
 * disk when it was written; 0: unknown. */
static const uint64_t unknown_below[1 << KNOWN_BITS] = {0, 1, 8, 32, 128, 512, 2048, 8192};

static uint32_t crc_of_head(const struct segment_head *head)
{
    return crc32c(0, (const char *)head + sizeof head->crc, sizeof *head - sizeof head->crc);
}

/* Its checksum is omitted. */
static uint32_t crc_of_frame(uint64_t place, uint64_t head, const uint64_t *words, size_t count)
{
    uint64_t begin[] = {place, head >> COUNT_SHIFT << COUNT_SHIFT};
    return crc32c(crc32c(0, begin, sizeof begin), words, count * WORD);
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
    return HEAD + segment->words * WORD;
}

/* Where in its segment's file a word stands. */
static uint64_t byte_of(const struct log_segment *segment, uint64_t place)
{
    return HEAD + (place - segment->first) * WORD;
}

/* The place after its last word. */
static uint64_t end_of(const struct log_segment *segment)
{
    return segment->first + segment->words;
}

/* --- beginning and end ----------------------------------------------------------------------- */

/* Each operation may have a base and a call, and each line a head. */
static size_t buffer_bytes(const struct timer_log *log)
{
    return (3 * log->group + log->group / 8 + LOG_MOST_WORDS) * WORD;
}

enum tl_status log_create(struct timer_log *log, struct store *store,
                          const struct tl_allocator *allocator, size_t group, uint64_t least)
{
    *log = (struct timer_log){
        .store = store, .allocator = allocator, .group = group, .least_bytes = LEAST_BYTES};
    while (log->least_bytes < LEAST_BYTES_MAX && log->least_bytes < least / 2 * WORD) {
        log->least_bytes *= 2;
    }
    log->buffer = tl_alloc(allocator, buffer_bytes(log), alignof(uint64_t));
    return log->buffer != NULL ? TL_OK : TL_ERR_NOMEM;
}

void log_destroy(struct timer_log *log)
{
    for (size_t i = 0; i < log->segment_count; i++) {
        (void)close(log->segments[i].fd);
    }
    tl_free(log->allocator, log->segments, log->segments_max * sizeof *log->segments,
            alignof(struct log_segment));
    tl_free(log->allocator, log->buffer, buffer_bytes(log), alignof(uint64_t));
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
    return name_segments(log,
                         (size_t)(20 * SEGMENTS_EACH + timers * ENDING_BYTES * 5 / MOST_BYTES));
}

/* --- room ------------------------------------------------------------------------------------ */

static uint64_t segment_bytes(const struct timer_log *log, uint64_t live)
{
    uint64_t bytes = live * ENDING_BYTES / SHARES_OF_TIMERS;
    if (live * ENDING_BYTES < log->least_bytes) {
        bytes = log->bytes < log->least_bytes ? log->bytes : log->least_bytes;
    }
    if (bytes <= LEAST_BYTES || bytes >= MOST_BYTES) {
        return bytes <= LEAST_BYTES ? LEAST_BYTES : MOST_BYTES;
    }
    return (bytes + LEAST_BYTES - 1) / LEAST_BYTES * LEAST_BYTES;
}

static enum tl_status write_head(struct timer_log *log, const struct log_segment *segment)
{
    struct segment_head head = {.format = FORMAT,
                                .magic = HEAD_MAGIC,
                                .number = segment->number,
                                .first = segment->first,
                                .words = segment->words};
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
        .number = 1, .first = log->place, .words = (bytes - HEAD) / WORD, .fd = -1};
    if (log->segment_count > 0) {
        const struct log_segment *last = &log->segments[log->segment_count - 1];
        segment.number = last->number + 1;
        segment.first = end_of(last);
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

struct log_mark log_mark(const struct timer_log *log)
{
    return (struct log_mark){log->used, log->frame_end, log->others, log->base, log->numbered};
}

void log_take_back(struct timer_log *log, struct log_mark mark)
{
    log->used = mark.used;
    log->frame_end = mark.frame_end;
    log->others = mark.others;
    log->base = mark.base;
    log->numbered = mark.numbered;
}

/* Numbers of files without a name are not read. */
static bool begins_segment(const struct timer_log *log, uint64_t place)
{
    size_t i = log->current;
    while (i < log->segment_count && log->segments[i].first < place) {
        i++;
    }
    return i < log->segment_count ? log->segments[i].first == place : place == 0;
}

/* A word that has no number. */
static void append_unnumbered(struct timer_log *log, uint64_t word)
{
    log->buffer[log->used++] = word;
    log->numbered--;
}

static void append_other(struct timer_log *log, uint64_t word)
{
    append_unnumbered(log, word);
    log->others++;
}

/* Begin the next frame, if the last one is full or no word waits. */
static void log_open_frame(struct timer_log *log)
{
    if (log_place(log) % LOG_LINE == LOG_LINE - 1) {
        append_unnumbered(log, 0);
    }
    uint64_t place = log_place(log);
    log->frame_end = log->used + (size_t)(LOG_LINE - place % LOG_LINE);
    append_unnumbered(log, 0); /* its head is made at last */
    if (begins_segment(log, place)) {
        log->base = 0;
        append_other(log, LOG_SEQUENCE | (log_sequence(log) + 1));
    }
}

/* One that does for that deadline; a segment that begins after it takes it back. */
static void set_base(struct timer_log *log, uint64_t deadline)
{
    while (!log_reaches(log, deadline)) {
        uint64_t units = deadline >> LOG_BASE_SHIFT;
        units -= units > 0; /* slightly earlier deadlines have the same base */
        append_other(log, units);
        log->base = units << LOG_BASE_SHIFT;
        if (log->used == log->frame_end) {
            log_open_frame(log);
        }
    }
}

void log_append(struct timer_log *log, enum log_op op, uint32_t id, uint64_t of)
{
    if (log->used == log->frame_end) {
        log_open_frame(log);
    }
    if (op == LOG_START) {
        set_base(log, of);
    }
    (void)log_append_word(log, op, id, of);
}

/* In the same frame as the start, so that both are there or neither. */
void log_append_call(struct timer_log *log, uint64_t deadline)
{
    do {
        if (log->used == log->frame_end) {
            log_open_frame(log);
        }
        set_base(log, deadline);
        append_other(log, LOG_CALL);
    } while (log->used == log->frame_end);
}

static enum tl_status sync_current(struct timer_log *log)
{
    const struct log_segment *segment = &log->segments[log->current];
    enum tl_status status =
        store_sync(log->store, segment->fd, name_segment(log, segment->number, ""));
    log->synced = status == TL_OK && log->store->waits ? log->written : log->synced;
    return status;
}

/* Return the knowledge for a frame when `before` operations may not be on the disk. */
static uint64_t known_of(const struct timer_log *log, uint64_t before)
{
    uint64_t known = log->store->waits ? 1 : 0;
    while (known > 0 && before >= unknown_below[known]) {
        known = known + 1 < sizeof unknown_below / sizeof unknown_below[0] ? known + 1 : 0;
    }
    return known;
}

static size_t count_operations(const struct timer_log *log, const uint64_t *words, size_t count)
{
    size_t operations = count;
    for (size_t i = 0; i < count && log->others > 0; i++) {
        operations -= words[i] >> LOG_OP_SHIFT == LOG_NONE;
    }
    return operations;
}

/* Add the checksums to those heads. */
static void seal(const struct timer_log *log, size_t at, size_t end)
{
    while (at < end) {
        uint64_t *frame = log->buffer + at;
        uint64_t place = log->place + at;
        size_t left = (size_t)(LOG_LINE - place % LOG_LINE);
        size_t words = end - at < left ? end - at : left;
        if (left > 1) {
            frame[0] |= crc_of_frame(place, frame[0], frame + 1, words - 1);
        }
        at += words;
    }
}

/* Makes the heads of frames from there in the buffer to there, and counts their operations. */
static uint64_t make_heads(struct timer_log *log, size_t at, size_t end)
{
    uint64_t operations = 0;
    while (at < end) {
        uint64_t place = log->place + at;
        size_t left = (size_t)(LOG_LINE - place % LOG_LINE);
        size_t count = (end - at < left ? end - at : left) - 1;
        if (left > 1) {
            uint64_t before = log->written + operations;
            uint64_t head = (before + 1) % NUMBERS << NUMBER_SHIFT |
                            known_of(log, before - log->synced) << KNOWN_SHIFT |
                            (uint64_t)count << COUNT_SHIFT;
            log->buffer[at] = head;
            operations += count_operations(log, log->buffer + at + 1, count);
        }
        at += count + 1;
    }
    return operations;
}

/* Writes as many of the words from there in the buffer on as the current segment
 * takes; sets *end. */
static enum tl_status write_part(struct timer_log *log, size_t from, size_t *end)
{
    struct log_segment *segment = &log->segments[log->current];
    uint64_t room = end_of(segment) - (log->place + from);
    *end = log->used - from < room ? log->used : from + (size_t)room;
    uint64_t operations = make_heads(log, from, *end);
    seal(log, from, *end);
    enum tl_status status =
        store_write(log->store, segment->fd, name_segment(log, segment->number, ""),
                    log->buffer + from, (*end - from) * WORD, byte_of(segment, log->place + from));
    if (status == TL_OK) {
        log->written += operations;
        segment->last = log->written;
    }
    return status;
}

/* Written words stay in the buffer until all are written, so that a failure half-way is retried as
 * a whole, to the same places. A segment is not filled before the next one exists, so that a
 * missing file at the log's end is noticed. */
static enum tl_status write_buffer(struct timer_log *log)
{
    if (log_place(log) % LOG_LINE == 1) {
        log->used--; /* a head that nothing came after */
        log->numbered++;
        log->frame_end = log->used;
    }
    uint64_t written = log->written;
    uint64_t synced = log->synced;
    size_t current = log->current;
    enum tl_status status = log_make_room(log, log_place(log) + 1, 0);
    if (status == TL_OK && log->place == end_of(&log->segments[log->current])) {
        log->current++;
    }
    for (size_t done = 0; done < log->used && status == TL_OK;) {
        status = write_part(log, done, &done);
        if (status == TL_OK) {
            status = sync_current(log);
            log->current += status == TL_OK && done < log->used;
        }
    }
    if (status != TL_OK) {
        log->written = written;
        log->synced = synced;
        log->current = current;
        return status;
    }
    log->place += log->used;
    log->numbered += log->used;
    log->used = 0;
    log->frame_end = 0;
    log->others = 0;
    return TL_OK;
}

enum tl_status log_commit(struct timer_log *log)
{
    if (log->store->final) {
        return TL_ERR_STORE;
    }
    return log_waiting(log) > 0 ? write_buffer(log) : TL_OK;
}

enum tl_status log_leap(struct timer_log *log)
{
    log_open_frame(log);
    log->base = 0;
    append_other(log, LOG_SEQUENCE | (log_sequence(log) + 1 + LOG_LEAP));
    enum tl_status status = write_buffer(log);
    if (status == TL_OK) {
        log->numbered += LOG_LEAP;
        log->written = log->numbered;
        log->synced = log->store->waits ? log->written : log->synced;
    }
    return status;
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
    while (log->current > 0 && log->segments[0].last <= sequence && status == TL_OK) {
        bool fits = bytes_of(&log->segments[0]) * 4 > segment_bytes(log, live);
        if (fits && log->room - log_place(log) < wanted) {
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
                            "%s: is of format %" PRIu32 ", which this timerlab does not read: it "
                            "reads format %u. Name another folder",
                            name, head.format, FORMAT);
    }
    segment.first = head.first;
    segment.words = head.words;
    if (status == TL_OK && (uint64_t)bytes != bytes_of(&segment)) {
        status = store_fail(log->store,
                            "%s: corrupt: it has %" PRIu64 " bytes, and was made with %" PRIu64,
                            name, (uint64_t)bytes, bytes_of(&segment));
    }
    if (status == TL_OK && log->segment_count > 0 &&
        end_of(&log->segments[log->segment_count - 1]) != segment.first) {
        status = store_fail(log->store,
                            "%s: corrupt: it begins with word %" PRIu64
                            ", and the one before it ends before %" PRIu64,
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
            return store_fail(log->store, "%s: missing, although later files exist", name);
        }
        status = open_segment(log, numbers[i]);
    }
    return status;
}

/* A reading of the log, piece by piece. */
struct reading {
    struct timer_log *log;
    uint64_t *piece;
    enum tl_status (*apply)(void *ctx, const struct log_operation *operation);
    void *ctx;
    uint64_t after;
    uint64_t next;                /* the sequence number that is to come; 0: not yet known */
    bool has_call;                /* of the timer that it starts */
    struct log_segment *ended_in; /* NULL: not yet */
    uint64_t end;                 /* the place after what counts */
    uint64_t torn;                /* frames after the end */
    bool hole;                    /* a later frame proves that a missing one was on the disk */
    bool mends;                   /* they are made zeros, now that the end is known */
};

/* From the next operation to that which the frame begins with. */
static uint64_t operations_between(const struct reading *reading, uint64_t head)
{
    return ((head >> NUMBER_SHIFT) - reading->next) % NUMBERS;
}

/* After the end. */
static enum tl_status read_torn(struct reading *reading, const struct log_segment *segment,
                                uint64_t head, uint64_t place)
{
    static const uint64_t nothing;
    struct timer_log *log = reading->log;
    if (reading->mends) {
        return store_write(log->store, segment->fd, log->name, &nothing, WORD,
                           byte_of(segment, place));
    }
    reading->torn++;
    uint64_t unknown = unknown_below[head >> KNOWN_SHIFT & ((1u << KNOWN_BITS) - 1)];
    bool knows = unknown > 0 && operations_between(reading, head) >= unknown;
    reading->hole |= knows || segment > reading->ended_in;
    return TL_OK;
}

/* Apply the first word of a segment or of an opening. */
static enum tl_status take_sequence(struct reading *reading, uint64_t sequence)
{
    struct timer_log *log = reading->log;
    uint64_t next = reading->next;
    log->base = 0;
    reading->next = sequence;
    if (next > 0) {
        return sequence >= next
                   ? TL_OK
                   : store_fail(log->store,
                                "%s: corrupt: after record %" PRIu64 " it goes on with %" PRIu64,
                                log->name, next - 1, sequence);
    }
    return sequence <= reading->after + 1
               ? TL_OK
               : store_fail(log->store,
                            "%s: corrupt: the log begins with record %" PRIu64
                            ", and the other files end with %" PRIu64,
                            name_segment(log, log->segments[0].number, ""), sequence,
                            reading->after);
}

static enum tl_status read_word(struct reading *reading, uint64_t word)
{
    struct timer_log *log = reading->log;
    struct log_operation operation = {
        .sequence = reading->next,
        .deadline = log->base + (uint32_t)word,
        .age = (uint32_t)word,
        .id = (uint32_t)(word >> LOG_ID_SHIFT) % LOG_IDS,
        .op = (enum log_op)(word >> LOG_OP_SHIFT),
        .has_call = reading->has_call,
    };
    reading->has_call = false;
    if (operation.op != LOG_NONE) {
        reading->next++;
        return operation.sequence > reading->after ? reading->apply(reading->ctx, &operation)
                                                   : TL_OK;
    }
    if ((word & LOG_SEQUENCE) != 0) {
        return take_sequence(reading, word & ~LOG_SEQUENCE);
    }
    if (word == LOG_CALL) {
        reading->has_call = true;
        return TL_OK;
    }
    log->base = word << LOG_BASE_SHIFT;
    return TL_OK;
}

/* How many words follow the head of a frame; 0: it is none. */
static size_t count_of_frame(const struct reading *reading, const uint64_t *words, size_t left,
                             uint64_t place)
{
    size_t count = words[0] >> COUNT_SHIFT & (LOG_LINE - 1);
    bool may_be =
        reading->next == 0 || operations_between(reading, words[0]) <= place - reading->end;
    return may_be && count > 0 && count < left &&
                   (uint32_t)words[0] == crc_of_frame(place, words[0], words + 1, count)
               ? count
               : 0;
}

static enum tl_status read_line(struct reading *reading, struct log_segment *segment,
                                const uint64_t *line, uint64_t place)
{
    enum tl_status status = TL_OK;
    for (size_t at = 0; at < LOG_LINE - 1 && status == TL_OK;) {
        const uint64_t *words = line + at;
        bool ended = reading->ended_in != NULL;
        if (!ended) {
            reading->end = place + at;
        } else if (place + at < reading->end) {
            at++;
            continue;
        }
        size_t count = count_of_frame(reading, words, LOG_LINE - at, place + at);
        if (!ended && count == 0) {
            reading->ended_in = segment;
            segment->last = reading->next > 0 ? reading->next - 1 : 0;
            reading->next += reading->next == 0;
        } else if (ended && count > 0) {
            status = read_torn(reading, segment, words[0], place + at);
        }
        for (size_t i = 1; i <= count && !ended && status == TL_OK; i++) {
            status = read_word(reading, words[i]);
        }
        at += count + 1;
    }
    if (reading->ended_in == NULL) {
        reading->end = place + LOG_LINE;
        segment->last = reading->next - 1;
    }
    return status;
}

static enum tl_status read_segment(struct reading *reading, struct log_segment *segment)
{
    struct timer_log *log = reading->log;
    const char *name = name_segment(log, segment->number, "");
    for (uint64_t place = segment->first; place < end_of(segment);) {
        size_t got = 0;
        enum tl_status status = store_read(log->store, segment->fd, name, reading->piece,
                                           PIECE_BYTES, byte_of(segment, place), &got);
        size_t words = got / LINE_BYTES * LOG_LINE;
        for (size_t at = 0; at < words && status == TL_OK; at += LOG_LINE) {
            status = read_line(reading, segment, reading->piece + at, place + at);
        }
        if (status != TL_OK || words == 0) {
            return status;
        }
        place += words;
    }
    return TL_OK;
}

/* Write zeros after the end, so that old words there are not taken for words of the log. */
static enum tl_status mend(struct reading *reading)
{
    struct timer_log *log = reading->log;
    const struct log_segment *end = log->segments + log->segment_count;
    reading->mends = true;
    for (struct log_segment *segment = reading->ended_in; segment < end; segment++) {
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
    if (reading->ended_in == NULL) {
        return store_fail(log->store, "%s: missing: the log does not end before it",
                          name_segment(log, segment->number + 1, ""));
    }
    if (reading->hole || reading->next <= upto) {
        return store_fail(
            log->store, "%s: corrupt at byte %" PRIu64 ": record %" PRIu64 " is not there, %s",
            name_segment(log, segment->number, ""), byte_of(segment, reading->end), reading->next,
            reading->hole ? "though it was on the disk when later ones were written"
                          : "which a snapshot goes back to");
    }
    return TL_OK;
}

/* Continue after the words that were read. */
static void stand_at_end(struct timer_log *log, const struct reading *reading)
{
    log->place = reading->end;
    log->numbered = reading->next - 1;
    log->written = log->numbered;
    log->synced = log->store->waits ? log->written : 0;
    log->current = 0;
    while (end_of(&log->segments[log->current]) <= log->place &&
           log->current + 1 < log->segment_count) {
        log->current++;
    }
}

enum tl_status log_replay(struct timer_log *log, uint64_t after, uint64_t upto,
                          enum tl_status (*apply)(void *ctx, const struct log_operation *operation),
                          void *ctx)
{
    struct reading reading = {
        .log = log, .apply = apply, .ctx = ctx, .after = after, .end = log->segments[0].first};
    reading.piece = tl_alloc(log->allocator, PIECE_BYTES, alignof(uint64_t));
    if (reading.piece == NULL) {
        return TL_ERR_NOMEM;
    }
    enum tl_status status = TL_OK;
    for (size_t i = 0; i < log->segment_count && status == TL_OK; i++) {
        status = read_segment(&reading, &log->segments[i]);
    }
    status = status == TL_OK ? judge_end(&reading, upto) : status;
    if (status == TL_OK && reading.torn > 0) {
        status = mend(&reading);
    }
    /* The words that were read, and the room after them, may not be on the disk yet, but the log
     * depends on them from now on. */
    for (size_t i = 0; i < log->segment_count && status == TL_OK; i++) {
        const struct log_segment *segment = &log->segments[i];
        if (end_of(segment) > reading.end || segment->last > after) {
            status = store_sync(log->store, segment->fd, name_segment(log, segment->number, ""));
        }
    }
    tl_free(log->allocator, reading.piece, PIECE_BYTES, alignof(uint64_t));
    if (status == TL_OK) {
        stand_at_end(log, &reading);
    }
    return status;
}
