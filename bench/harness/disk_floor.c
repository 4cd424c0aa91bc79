#include "disk_floor.h"

#include "memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* More than a few commits of any size that is measured. */
#define FILE_BYTES ((size_t)8 << 20)

const char *disk_floor_place(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL && folder[0] != '\0' ? folder : "/tmp";
}

bool disk_floor_is_memory(void)
{
    struct statfs system;
    return statfs(disk_floor_place(), &system) == 0 && system.f_type == TMPFS_MAGIC;
}

static bool write_all(int fd, const unsigned char *bytes, size_t count, size_t at)
{
    while (count > 0) {
        ssize_t written = pwrite(fd, bytes, count, (off_t)at);
        if (written <= 0) {
            return false;
        }
        bytes += written;
        count -= (size_t)written;
        at += (size_t)written;
    }
    return true;
}

bool disk_floor_open(struct disk_floor *disk, uint64_t commit)
{
    *disk = (struct disk_floor){.buffer_bytes = commit * DISK_RECORD_BYTES};
    disk->fd = open(disk_floor_place(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    disk->buffer = memory_new(commit, DISK_RECORD_BYTES);
    bool done = disk->fd >= 0;
    for (size_t at = 0; done && at < FILE_BYTES; at += disk->buffer_bytes) {
        done = write_all(disk->fd, disk->buffer, disk->buffer_bytes, at);
    }
    return done && fsync(disk->fd) == 0;
}

bool disk_floor_append(struct disk_floor *disk, uint64_t commits, uint64_t commit, bool waits)
{
    size_t bytes = commit * DISK_RECORD_BYTES;
    for (uint64_t i = 0; i < commits; i++) {
        if (disk->at + bytes > FILE_BYTES) {
            disk->at = 0;
        }
        disk->writes++;
        memcpy(disk->buffer, &disk->writes, sizeof disk->writes);
        if (!write_all(disk->fd, disk->buffer, bytes, disk->at) ||
            (waits && fdatasync(disk->fd) != 0)) {
            return false;
        }
        disk->at += bytes;
    }
    return true;
}

void disk_floor_close(struct disk_floor *disk)
{
    if (disk->fd >= 0) {
        (void)close(disk->fd);
    }
    free(disk->buffer);
}
