/*
 * crash_shim.h: observes the calls of a process to its disk.
 *
 * A shared object that is loaded before the C library (LD_PRELOAD). It forwards the calls that write
 * to files and folders, and calls back before and after those of one folder: a listener can end the
 * process there, make the call fail, or record it. Writes to mapped files are not seen.
 */
#ifndef SIM_KIT_CRASH_SHIM_H
#define SIM_KIT_CRASH_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shim_kind {
    SHIM_OPEN,     /* name: made or emptied */
    SHIM_WRITE,    /* bytes at offset */
    SHIM_TRUNCATE, /* to offset */
    SHIM_SYNC,     /* of a file */
    SHIM_SYNC_FOLDER,
    SHIM_RENAME, /* name to other */
    SHIM_UNLINK,
};

struct shim_call {
    enum shim_kind kind;
    uint64_t file; /* its inode */
    uint64_t offset;
    const void *data;
    size_t bytes;
    bool synced;      /* it is on the disk when it returns (O_DSYNC) */
    const char *name; /* in the folder */
    const char *other;
};

#define SHIM_SHORT (-1) /* write half of the bytes */

struct crash_shim {
    /* The folder; NULL: none. */
    const char *folder;
    /* Before the call; return 0 to continue, SHIM_SHORT, or the errno to fail with. */
    int (*before)(const struct shim_call *call);
    /* After the call has succeeded. */
    void (*after)(const struct shim_call *call);
};

/* The shim's one symbol, a struct crash_shim. */
#define CRASH_SHIM_SYMBOL "timerlab_crash_shim"

#endif
