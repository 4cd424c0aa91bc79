/*
 * timer_log.h: the log of a durable structure: what was started, stopped and fired, in order.
 *
 * Records of 16 bytes, each of which has the next sequence number, in files ("segments") that are
 * full of zeros before they are used, so that a commit changes no file's size, and needs no room on
 * the disk that it might not get:
 *
 *   log-...07   head | record record record record record          full
 *   log-...08   head | record record 0 0 0 0 0 0 0 0 0 0 0 0 0     written to
 *   log-...09   head | 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0     room for later
 *
 * The log ends at the first record whose checksum is wrong. The checksum goes over the sequence
 * number too, which the record's place says and nothing else. So a record counts nowhere but in its
 * place, and a segment may be used again, under another number, with what it still holds.
 *
 * Records wait in memory until they are committed: written in one piece, and, if the store waits
 * for the disk, followed by one fdatasync. A segment's last records are on the disk before anything
 * is written to the next one. The first 4,096 records of a commit say how many before them may not
 * have been on the disk when they were written, so that a hole in what once was on the disk is told
 * from a commit that was torn by a loss of power.
 *
 * Internal to what is durable.
 */
#ifndef ALGOS_TIMER_LOG_H
#define ALGOS_TIMER_LOG_H

#include "store.h"

enum log_op { LOG_START = 1, LOG_STOP, LOG_FIRE };

struct log_record {
    uint32_t crc;
    uint32_t id;   /* LOG_ID_BITS of it; above them, what it knows of the disk */
    uint64_t word; /* of a start the complement of its deadline, which no other's word reaches; of
                      others their timer's generation, with LOG_FIRING for a firing; 0 is none */
};

#define LOG_ID_BITS 30u
#define LOG_IDS     (UINT32_C(1) << LOG_ID_BITS)
#define LOG_FIRING  (UINT64_C(1) << 62)

/* What a record said. */
struct log_operation {
    uint64_t sequence;
    uint64_t deadline;   /* of a start */
    uint64_t generation; /* of a stop or a firing: the sequence number of its timer's start */
    uint32_t id;
    enum log_op op;
};

struct log_segment {
    uint64_t number;
    uint64_t first; /* the sequence number of its first record */
    uint64_t records;
    int fd;
};

struct timer_log {
    struct store *store;
    const struct tl_allocator *allocator;
    struct log_record *buffer; /* records that wait */
    size_t buffer_records;
    size_t waiting;
    struct log_segment *segments; /* in order; the first ones are full */
    size_t segment_count;
    size_t segments_max;
    size_t current;              /* the segment that the next record is for */
    uint64_t least_bytes;        /* of a segment of a log that is as long */
    uint64_t written;            /* sequence number of the last record handed to the kernel */
    uint64_t synced;             /* of the last record known to be on the disk */
    uint64_t bytes;              /* of the segments' files */
    uint64_t room;               /* the last sequence number that there is a place for */
    uint64_t named;              /* the segment whose finished name is below; 0: no one's */
    char name[STORE_NAME_BYTES]; /* of the file last worked on, for words */
};

/* An empty log of sequence number 0, without segments. It is not cut before it has `least` records.
 */
enum tl_status log_create(struct timer_log *log, struct store *store,
                          const struct tl_allocator *allocator, size_t buffer_records,
                          uint64_t least);

/* Closes the files. */
void log_destroy(struct timer_log *log);

/* Room to name the segments of so many timers. */
enum tl_status log_reserve(struct timer_log *log, uint64_t timers);

/* Makes sure that records up to that sequence number have their place on the disk. */
enum tl_status log_make_room(struct timer_log *log, uint64_t up_to, uint64_t live);

/* The sequence number of the last record made. */
static inline uint64_t log_sequence(const struct timer_log *log)
{
    return log->written + log->waiting;
}

/* Makes the record with the next sequence number. The buffer must have room for it. `id` is less
 * than LOG_IDS; `of`: of a start its deadline, else its timer's generation. */
static inline void log_append(struct timer_log *log, enum log_op op, uint32_t id, uint64_t of)
{
    struct log_record *record = &log->buffer[log->waiting++]; /* its checksum is set at last */
    record->id = id;
    record->word = op == LOG_START ? ~of : op == LOG_FIRE ? of | LOG_FIRING : of;
}

/* Takes back the last `count` records, which still wait. */
void log_take_back(struct timer_log *log, size_t count);

static inline bool log_is_full(const struct timer_log *log)
{
    return log->waiting == log->buffer_records;
}

/* Writes what waits. If that fails it still waits. */
enum tl_status log_commit(struct timer_log *log);

/* Likewise, and waits for the disk, if the store does, for all that was written. */
enum tl_status log_sync(struct timer_log *log);

/* Drops segments whose records are all at or below `sequence`: they are used again while there is
 * room for less than `wanted` records, else removed. */
enum tl_status log_drop(struct timer_log *log, uint64_t sequence, uint64_t wanted, uint64_t live);

/* --- reading --------------------------------------------------------------------------------- */

/* Opens the segments with these numbers, in order. */
enum tl_status log_open_segments(struct timer_log *log, const uint64_t *numbers, size_t count);

/* Calls `apply` for each record above `after` up to the end of the log, and makes the log ready to
 * go on behind it. `upto`: the log must reach as far. Says what is corrupt, and leaves it as it is.
 * What apply returns, if it is not TL_OK, ends it. */
enum tl_status log_replay(struct timer_log *log, uint64_t after, uint64_t upto,
                          enum tl_status (*apply)(void *ctx, const struct log_operation *operation),
                          void *ctx);

#endif
