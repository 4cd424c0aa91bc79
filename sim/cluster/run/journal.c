#include "journal.h"

#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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
    struct journal_record record;
    size_t room = *count;
    path_of(folder, role, member, path);
    FILE *journal = memory_unless_short(fopen(path, "rbe"));
    if (journal == NULL) {
        return errno == ENOENT || error_set(error, "%s: cannot be read: %s", path, strerror(errno));
    }
    while (fread(&record, sizeof record, 1, journal) == 1) {
        MEMORY_REACH(*records, room, *count);
        (*records)[(*count)++] = record;
    }
    bool good =
        !ferror(journal) || error_set(error, "%s: cannot be read: %s", path, strerror(errno));
    (void)fclose(journal);
    return good;
}
