/*
 * timer_snapshot.h: the pending timers in a file, so that the log before it can be dropped.
 *
 * A snapshot is taken while operations go on, a few ids at a time, so that none of them waits for
 * it. It is of no single moment: each timer is in it with its state at its turn. That is enough:
 * the log is kept from the record at which the snapshot began (`from`), and a record of the log
 * counts only if it is younger than the timer's entry in the snapshot, by the generations, which
 * are sequence numbers. A snapshot gets its name only when the log is on the disk up to the
 * youngest record that it includes (`upto`).
 *
 * A file of blocks, each with a checksum, of runs of timers in order of their ids. A run has the
 * least deadline, generation and id of its timers, and then columns of the differences to these,
 * each in as few bytes as its largest takes; consecutive ids take none.
 *
 * Internal to the durable structures.
 */
#ifndef ALGOS_TIMER_SNAPSHOT_H
#define ALGOS_TIMER_SNAPSHOT_H

#include "store.h"

struct snapshot_timer {
    uint32_t id;
    uint64_t deadline;
    uint64_t generation;
};

#define SNAPSHOT_RUN 256u

enum { COLUMN_DEADLINE, COLUMN_GENERATION, COLUMN_ID, COLUMNS };

struct snapshot_file {
    uint64_t from;  /* the log above it goes with it */
    uint64_t bytes; /* of the file, which may be longer than the snapshot in it */
    int fd;         /* -1: there is none */
};

/* One being written, and those that there are. The one that the newest made superfluous is written
 * over next: a new file has its room to be found, and an old one to give it back. */
struct snapshot_writer {
    struct store *store;
    const struct tl_allocator *allocator;
    unsigned char *block;
    size_t used; /* of the block */
    uint32_t in_block;
    uint32_t blocks;
    uint64_t timers;
    uint64_t written; /* bytes of the unfinished one */
    struct snapshot_file unfinished;
    struct snapshot_file newest;
    struct snapshot_file spare;
    unsigned in_run;
    uint64_t run[COLUMNS][SNAPSHOT_RUN];
};

enum tl_status snapshot_create(struct snapshot_writer *writer, struct store *store,
                               const struct tl_allocator *allocator);
void snapshot_destroy(struct snapshot_writer *writer);

/* Begins one that goes with the log above `from`. */
enum tl_status snapshot_begin(struct snapshot_writer *writer, uint64_t from);

static inline bool snapshot_is_open(const struct snapshot_writer *writer)
{
    return writer->unfinished.fd >= 0;
}

/* Puts the timers of the run into the file's next block. On failure it is abandoned. */
enum tl_status snapshot_end_run(struct snapshot_writer *writer);

/* Puts a timer in that place of the run, below SNAPSHOT_RUN, and says which is the next: the same,
 * if it does not `count`, which no branch asks. Ids grow. The caller keeps `in_run`, and ends a run
 * that is full. */
static inline unsigned snapshot_put(struct snapshot_writer *writer, unsigned at,
                                    struct snapshot_timer timer, bool counts)
{
    writer->run[COLUMN_DEADLINE][at] = timer.deadline;
    writer->run[COLUMN_GENERATION][at] = timer.generation;
    writer->run[COLUMN_ID][at] = timer.id;
    return at + counts;
}

/* Gives it its name, which is durable then; the one before it loses its own, and is written over by
 * the next. On failure it is abandoned. */
enum tl_status snapshot_finish(struct snapshot_writer *writer, uint64_t upto);

void snapshot_abandon(struct snapshot_writer *writer);

/* Return the size of the files. */
static inline uint64_t snapshot_bytes(const struct snapshot_writer *writer)
{
    return writer->unfinished.bytes + writer->newest.bytes + writer->spare.bytes;
}

/* Reads the snapshot that goes with the log above `from`, which is the newest then, and calls `add`
 * for each timer; sets *upto. TL_ERR_CORRUPT: it is not whole, and the store says where; `add`
 * may have been called. What add returns, if it is not TL_OK, ends it. */
enum tl_status snapshot_read(struct snapshot_writer *writer, uint64_t from, uint64_t *upto,
                             enum tl_status (*add)(void *ctx, const struct snapshot_timer *timer),
                             void *ctx);

#endif
