/*
 * crash_shim.h: what stands between a process and its disk, to see what would be left of it.
 *
 * A shared object that is loaded before the C library (LD_PRELOAD). It passes on the calls that
 * write to files and folders, and tells about those of one folder before and after: who listens can
 * end the process there, make the call fail, or write down what it was.
 *
 * What is mapped and written to is not seen.
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

#define SHIM_SHORT (-1) /* half of what is to be written is */

struct crash_shim {
    /* The folder; NULL: none. */
    const char *folder;
    /* Before the call; 0: go on; SHIM_SHORT; else the errno that it fails with. */
    int (*before)(const struct shim_call *call);
    /* After it has been done. */
    void (*after)(const struct shim_call *call);
};

/* The shim's one symbol, a struct crash_shim. */
#define CRASH_SHIM_SYMBOL "timerlab_crash_shim"

#endif
