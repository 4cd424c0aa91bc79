/*
 * timer_log.h: the log of a durable structure: starts, stops and expiries, in order.
 *
 * Words of eight bytes, one for each operation, which has the next sequence number, in files
 * ("segments") that are filled with zeros before they are used, so that a commit changes no file's
 * size, and needs no space on the disk that it might not get:
 *
 *   log-...07   head | line line line line line line line line line     full
 *   log-...08   head | line line line lin. .... .... .... .... ....     written to
 *   log-...09   head | .... .... .... .... .... .... .... .... ....     room for later
 *
 * A word's place is its number among all words of the log; LOG_LINE of them are a line. Words are
 * in frames: a head with their checksum, and up to LOG_LINE - 1 more. A frame ends with its commit
 * or its line, whichever is first, so words on the disk are never written again. The last word of a
 * line is never a head: a commit that would begin there skips it.
 *
 * The log ends at the first frame with a wrong checksum. The checksum includes the place, which is
 * known only from the file and the offset. So a frame is valid only in its place, and a segment may
 * be used again, under another number, with its old content.
 *
 * A stop or expiry has the number of operations since its timer's start, or 0 if they are too many.
 * A start has its deadline relative to the base; a word before it, which is no operation, sets the
 * base if necessary. Each segment begins with base 0, and its first word has the next sequence
 * number, so that reading can begin with any segment. So does a word that each opening of the
 * folder adds, after which the numbers are larger by LOG_LEAP.
 *
 * Words wait in memory until they are committed: written in one piece, and, if the store waits for
 * the disk, followed by one fdatasync. A segment's last words are on the disk before the next one
 * is written to. A frame has the number of operations before it that may not have been on the disk
 * when it was written, which distinguishes a hole in synced words from a commit that was torn by a
 * loss of power.
 *
 * Internal to the durable structures.
 */
#ifndef ALGOS_TIMER_LOG_H
#define ALGOS_TIMER_LOG_H

#include "store.h"

/* In a word above bit 62; below it an id, and in the lower half the argument. Words that are no
 * operation: LOG_SEQUENCE with the number of the next operation, or the base, in units of 1 <<
 * LOG_BASE_SHIFT. */
enum log_op { LOG_NONE, LOG_START, LOG_STOP, LOG_FIRE };

#define LOG_OP_SHIFT   62u
#define LOG_ID_SHIFT   32u
#define LOG_IDS        (UINT32_C(1) << (LOG_OP_SHIFT - LOG_ID_SHIFT))
#define LOG_SEQUENCE   (UINT64_C(1) << 61)
#define LOG_CALL       (UINT64_C(1) << 60) /* the timer that the next word starts has a call */
#define LOG_BASE_SHIFT 31u

/* Words of a line. */
#define LOG_LINE       64u

/* Each opening continues with numbers that are larger by this: by more than the number of
 * operations that may have a number without having reached the disk, so that no number is used
 * twice. It is the range of a frame's head, plus one, so that the loss of the frame with this word
 * is noticed. A structure that is wrong, for tests, has 0. */
#ifndef LOG_LEAP
#define LOG_LEAP ((UINT64_C(1) << 23) + 1)
#endif

/* More words than one operation takes, with all that can be needed before it. */
#define LOG_MOST_WORDS 8u

/* A word, decoded. */
struct log_operation {
    uint64_t sequence;
    uint64_t deadline; /* of a start */
    uint32_t id;
    bool has_call; /* of a start */
    uint32_t age;  /* of others: from the start of its timer; 0: UINT32_MAX is less */
    enum log_op op;
};

/* A stop or expiry belongs to the timer that was started under that number. */
static inline bool log_ends(const struct log_operation *operation, uint64_t generation)
{
    uint64_t age = operation->sequence - generation;
    return operation->sequence > generation && (age <= UINT32_MAX ? age : 0) == operation->age;
}

struct log_segment {
    uint64_t number;
    uint64_t first; /* the place of its first word */
    uint64_t words;
    uint64_t last; /* the sequence number of the last operation written to it */
    int fd;
};

struct timer_log {
    uint64_t *buffer;  /* words that wait */
    size_t used;       /* of it, with the frames' heads */
    uint64_t base;     /* deadlines of starts are above it */
    uint64_t numbered; /* with `used`, the number of the last operation */
    struct store *store;
    const struct tl_allocator *allocator;
    size_t frame_end;             /* as far as the last frame can go */
    size_t others;                /* words of it that are no operations */
    size_t group;                 /* as many operations can wait */
    struct log_segment *segments; /* in order; the first ones are full */
    size_t segment_count;
    size_t segments_max;
    size_t current;              /* the segment that the next word is for */
    uint64_t least_bytes;        /* of a segment of a log that is as long */
    uint64_t place;              /* of the first word that waits */
    uint64_t written;            /* of the last one handed to the kernel */
    uint64_t synced;             /* of the last one known to be on the disk */
    uint64_t bytes;              /* of the segments' files */
    uint64_t room;               /* the first place that is in no segment */
    uint64_t named;              /* the segment of the finished name below; 0: none */
    char name[STORE_NAME_BYTES]; /* of the file last worked on, for words */
};

/* An empty log of sequence number 0, without segments. `group` operations can wait; it is not cut
 * before it has `least`. */
enum tl_status log_create(struct timer_log *log, struct store *store,
                          const struct tl_allocator *allocator, size_t group, uint64_t least);

/* Closes the files. */
void log_destroy(struct timer_log *log);

/* Room to name the segments of `timers` timers. */
enum tl_status log_reserve(struct timer_log *log, uint64_t timers);

/* Makes sure that words below that place have theirs on the disk, among `live` timers. */
enum tl_status log_make_room(struct timer_log *log, uint64_t up_to, uint64_t live);

/* The number of the last operation. */
static inline uint64_t log_sequence(const struct timer_log *log)
{
    return log->numbered + log->used;
}

/* Operations that wait. */
static inline uint64_t log_waiting(const struct timer_log *log)
{
    return log_sequence(log) - log->written;
}

/* The place that comes next. */
static inline uint64_t log_place(const struct timer_log *log)
{
    return log->place + log->used;
}

/* Words to end this number of timers, for any commits: two each, as a full line of the smallest
 * frames has sixteen; the beginnings of segments, one in 1,024 at most; and for the last one. */
static inline uint64_t log_words_for(uint64_t timers)
{
    return 2 * timers + timers / 1024 + LOG_MOST_WORDS;
}

/* Notes that the next operation starts a timer that has a call. */
void log_append_call(struct timer_log *log, uint64_t deadline);

/* Notes an operation under the next sequence number. There must be room for it, in the buffer and
 * on the disk. `id` is less than LOG_IDS; `of`: of a start its deadline, else its timer's
 * generation. */
void log_append(struct timer_log *log, enum log_op op, uint32_t id, uint64_t of);

/* A start says that deadline without another base. */
static inline bool log_reaches(const struct timer_log *log, uint64_t deadline)
{
    return deadline - log->base <= UINT32_MAX;
}

/* Likewise, where it takes one word of the last frame, and nothing else; its sequence number. */
static inline uint64_t log_append_word(struct timer_log *log, enum log_op op, uint32_t id,
                                       uint64_t of)
{
    size_t at = log->used++;
    uint64_t sequence = log_sequence(log);
    uint64_t says = sequence - of;
    if (op == LOG_START) {
        says = of - log->base;
    } else if (says > UINT32_MAX) {
        says = 0;
    }
    log->buffer[at] = (uint64_t)op << LOG_OP_SHIFT | (uint64_t)id << LOG_ID_SHIFT | says;
    return sequence;
}

/* A place among the waiting words, to return to. */
struct log_mark {
    size_t used;
    size_t frame_end;
    size_t others;
    uint64_t base;
    uint64_t numbered;
};

struct log_mark log_mark(const struct timer_log *log);

/* Remove the waiting words that were appended since the mark. */
void log_take_back(struct timer_log *log, struct log_mark mark);

static inline bool log_is_full(const struct timer_log *log)
{
    return log_waiting(log) == log->group;
}

/* Write the waiting words. If that fails, they still wait. */
enum tl_status log_commit(struct timer_log *log);

/* Likewise, and waits for the disk, if the store does, for all that was written. */
enum tl_status log_sync(struct timer_log *log);

/* Drop segments with operations at or below `sequence` only: they are used again while there is
 * room for less than `wanted` words, else removed. */
enum tl_status log_drop(struct timer_log *log, uint64_t sequence, uint64_t wanted, uint64_t live);

/* Goes on with numbers that are larger by LOG_LEAP, and waits until that is on the disk, if the
 * store does. Nothing waits to be written, and there is room for LOG_MOST_WORDS. */
enum tl_status log_leap(struct timer_log *log);

/* --- reading --------------------------------------------------------------------------------- */

/* Opens the segments with these numbers, in order. */
enum tl_status log_open_segments(struct timer_log *log, const uint64_t *numbers, size_t count);

/* Call `apply` for each operation above `after` up to the end of the log, and prepare the log to
 * continue after it. `upto`: the log must reach this number. Corruption is reported, and left as it
 * is. A result of apply other than TL_OK ends the reading. */
enum tl_status log_replay(struct timer_log *log, uint64_t after, uint64_t upto,
                          enum tl_status (*apply)(void *ctx, const struct log_operation *operation),
                          void *ctx);

#endif
