/*
 * store.h: the folder with the files of a durable structure, and its failures.
 *
 * All disk operations are here, so that one place counts bytes and waits, describes failures, and
 * knows when the data can no longer be trusted: a failed fsync is final, because the kernel may
 * have dropped unwritten pages.
 *
 * Internal to the durable structures.
 */
#ifndef ALGOS_STORE_H
#define ALGOS_STORE_H

#include "timerlab.h"

#include <sys/types.h>

/* Names of files: one of these words, a dash, a number in sixteen hexadecimal digits; and after
 * that, as long as the file is being made, a suffix. */
#define STORE_LOG         "log"
#define STORE_SNAPSHOT    "snapshot"
#define STORE_CALLS       "calls"
#define STORE_UNFINISHED  ".tmp"
#define STORE_NAME_BYTES  48

/* A file that says which structure the folder belongs to. It is written after that structure's
 * first files are on the disk, so that these are missing only if somebody removed them. */
#define STORE_OWNER       "timerlab"
#define STORE_OWNER_BYTES 160

struct store {
    char
        path[TL_TEXT_BYTES]; /* "": files without names, under $TMPDIR, that end with the process */
    int folder;              /* open, and locked against other structures; -1: not yet */
    bool waits;              /* for the disk; false: syncing is left to the kernel */
    bool final;              /* an fsync failed: nothing is written any more */
    bool is_owned;           /* the folder has the file STORE_OWNER */
    char owner[STORE_OWNER_BYTES]; /* the expected owner */
    uint64_t bytes_written;
    uint64_t syncs;
    char failure[512]; /* what went wrong last; "": nothing has */
};

/* Where temporary files go: $TMPDIR, or /tmp. */
const char *store_temporary_place(void);

/* Not opened. `owner` is one line that names the structure and those of
 * its options without which its files cannot be read. */
void store_init(struct store *store, const char *path, bool waits, const char *owner);

/* Makes the folder, so that a loss of power leaves it, and locks it, if that is still to be done.
 * Refuses one that another process uses, naming it, and one that belongs to another structure,
 * naming both. The temporary one is there already, and for all. */
enum tl_status store_open(struct store *store);

/* Writes the file STORE_OWNER, unless it is there. */
enum tl_status store_set_owner(struct store *store);

/* Closes the folder. */
void store_close(struct store *store);

/* Notes in words what failed. Returns TL_ERR_STORE. */
enum tl_status store_fail(struct store *store, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The name of a file. */
void store_name(char name[STORE_NAME_BYTES], const char *word, uint64_t number, const char *suffix);

/* Numbers, growing in memory of the allocator's. */
struct store_numbers {
    uint64_t *at;
    size_t count;
    size_t room;
};

/* The numbers of the files that are called by that word, from the least. To be released. */
enum tl_status store_list(struct store *store, const char *word,
                          const struct tl_allocator *allocator, struct store_numbers *numbers);
void store_numbers_release(struct store_numbers *numbers, const struct tl_allocator *allocator);

/* Remove unfinished files of a process that ended. */
void store_remove_unfinished(struct store *store);

/* Opens a file of the folder, to be read and written; `fresh`: makes it, or
 * empties it. Sets *fd. */
enum tl_status store_file(struct store *store, const char *name, bool fresh, int *fd);

/* Writes all of it at that place of the file. `name` is for the words. */
enum tl_status store_write(struct store *store, int fd, const char *name, const void *data,
                           size_t bytes, uint64_t at);

/* Set the size of an empty file, with allocated zeros. If the store waits for the disk, they are
 * written, so that a later write changes nothing but data. */
enum tl_status store_fill(struct store *store, int fd, const char *name, uint64_t bytes);

/* Reads up to `bytes` bytes; *got is less only where the file ends. */
enum tl_status store_read(struct store *store, int fd, const char *name, void *data, size_t bytes,
                          uint64_t at, size_t *got);

/* Waits until the file's contents are on the disk, if anybody waits. Failure is final. */
enum tl_status store_sync(struct store *store, int fd, const char *name);

/* The same of a file that nothing relies on yet, so that its failure is not final. */
enum tl_status store_sync_new(struct store *store, int fd, const char *name);

/* Waits until the folder's names are. Failure is final. */
enum tl_status store_sync_folder(struct store *store);

enum tl_status store_rename(struct store *store, const char *from, const char *to);

/* A file that cannot be removed stays; it does no harm. */
void store_remove(struct store *store, const char *name);

#endif
