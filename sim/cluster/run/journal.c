#include "journal.h"

#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void path_of(const char *folder, enum run_role role, unsigned member, char path[4096])
{
    (void)snprintf(path, 4096, "%s/%s-%u.journal", folder, run_role_names[role], member);
}

int journal_open(const char *folder, enum run_role role, unsigned member, struct error *error)
{
    char path[4096];
    path_of(folder, role, member, path);
    int journal = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (journal < 0) {
        (void)error_set(error, "%s: cannot be made: %s", path, strerror(errno));
    }
    return journal;
}

bool journal_add(int journal, const struct journal_record *records, size_t count,
                 struct error *error)
{
    size_t bytes = count * sizeof *records;
    ssize_t written = bytes > 0 ? write(journal, records, bytes) : 0;
    if (written == (ssize_t)bytes) {
        return true;
    }
    return error_set(error, "a journal of the run cannot be written: %s",
                     written < 0 ? strerror(errno) : "the disk is full");
}

bool journal_read(const char *folder, enum run_role role, unsigned member,
                  struct journal_record **records, size_t *count, struct error *error)
{
    char path[4096];
    struct stat file;
    path_of(folder, role, member, path);
    *records = NULL;
    *count = 0;
    int journal = open(path, O_RDONLY | O_CLOEXEC);
    if (journal < 0 && errno == ENOENT) {
        return true;
    }
    if (journal < 0 || fstat(journal, &file) != 0) {
        (void)error_set(error, "%s: cannot be read: %s", path, strerror(errno));
        if (journal >= 0) {
            (void)close(journal);
        }
        return false;
    }
    size_t bytes = (size_t)file.st_size / sizeof **records * sizeof **records;
    size_t have = 0;
    ssize_t got = 1;
    *records = memory_bytes(bytes);
    while (have < bytes && got > 0) {
        got = read(journal, (char *)*records + have, bytes - have);
        have += got > 0 ? (size_t)got : 0;
    }
    (void)close(journal);
    if (have < bytes) {
        free(*records);
        *records = NULL;
        return error_set(error, "%s: cannot be read: %s", path,
                         got < 0 ? strerror(errno) : "it has become shorter");
    }
    *count = bytes / sizeof **records;
    return true;
}
