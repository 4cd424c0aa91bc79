/*
 * disk_floor.h: the lower bound of a durable structure, measured in the same row and by turns with
 * it: the bytes of its records appended to a file.
 */
#ifndef BENCH_DISK_FLOOR_H
#define BENCH_DISK_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of an operation in the log, without checksums. */
enum { DISK_RECORD_BYTES = 8 };

/* A file without a name under $TMPDIR, full of zeros, so that no write changes its size. */
struct disk_floor {
    int fd;
    unsigned char *buffer;
    size_t buffer_bytes;
    size_t at;
    uint64_t writes;
};

/* For commits of at most this number of operations. False: no such file can be had. */
bool disk_floor_open(struct disk_floor *disk, uint64_t commit);

/* Writes the records of `commits` commits, each in one piece, and with `waits` each followed by an
 * fdatasync. False: one failed. */
bool disk_floor_append(struct disk_floor *disk, uint64_t commits, uint64_t commit, bool waits);

void disk_floor_close(struct disk_floor *disk);

/* The folder under which durable structures have their files, $TMPDIR or /tmp. */
const char *disk_floor_place(void);

/* Whether it is in memory, without waits for a disk. */
bool disk_floor_is_memory(void);

#endif
