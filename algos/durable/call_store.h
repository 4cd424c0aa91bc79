/*
 * call_store.h: the calls of timers, a service's name and parameters each, in files next to the
 * log.
 *
 *   calls-...03   record record record ....      the older file: live records move on
 *   calls-...04   record record ....             the newer one: appended to
 *
 * A record is a head with a checksum, the service's name and the payload. It is written before the
 * start of its timer is logged, and synced before the log's commit, so that the log never refers to
 * a missing call. (id, generation) connects the two: a record without a timer in the log or the
 * snapshot is garbage.
 *
 * With each snapshot a new file begins. When the snapshot reaches a timer with a call in the older
 * file, the record is copied to the newer one; when the snapshot is finished, the older file is
 * removed. So the files are bounded as the log is.
 *
 * Internal to the durable structures.
 */
#ifndef ALGOS_CALL_STORE_H
#define ALGOS_CALL_STORE_H

#include "store.h"

struct call_file {
    uint64_t number; /* 0: there is none */
    uint64_t bytes;  /* up to the end of its last record */
    int fd;
};

struct calls {
    struct store *store;
    const struct tl_allocator *allocator;
    struct call_file older;
    struct call_file newer;
    uint64_t *places;      /* by id; NULL: no timer has ever had a call */
    unsigned char *record; /* room for one */
    uint32_t capacity;
    bool is_dirty; /* the newer file has records that are not synced */
};

void calls_init(struct calls *calls, struct store *store, const struct tl_allocator *allocator);
void calls_destroy(struct calls *calls);

/* Room for the calls of timers below `capacity`, if there have been any. */
enum tl_status calls_grow(struct calls *calls, uint32_t capacity);

/* Writes the call of a timer below `capacity`, that is to be started under that number. */
enum tl_status calls_add(struct calls *calls, uint32_t capacity, uint32_t id, uint64_t generation,
                         const struct tl_call *call);

/* Reads the call that was added last for a timer. Valid until the next one is read or written. */
enum tl_status calls_read(struct calls *calls, uint32_t id, struct tl_call *out);

/* Waits until all records are on the disk, if the store waits. Before each commit of the log. */
enum tl_status calls_sync(struct calls *calls);

/* For a snapshot: begins a new file; copies a timer's call to it; removes the older file. */
enum tl_status calls_begin_file(struct calls *calls);
enum tl_status calls_move(struct calls *calls, uint32_t id);
void calls_end_file(struct calls *calls);

/* Reads the files of the folder; a record counts if `is_wanted`. */
enum tl_status calls_recover(struct calls *calls, uint32_t capacity,
                             bool (*is_wanted)(void *ctx, uint32_t id, uint64_t generation),
                             void *ctx);

/* Whether a timer has a record. */
static inline bool calls_has(const struct calls *calls, uint32_t id)
{
    return calls->places != NULL && calls->places[id] != 0;
}

#endif
