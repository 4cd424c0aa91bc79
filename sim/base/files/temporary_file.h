/*
 * temporary_file.h: files and folders that end with their process. The process that makes one holds
 * a lock on it (flock), so that a later run can remove those that a killed process left, and never
 * those of a living one.
 */
#ifndef SIM_TEMPORARY_FILE_H
#define SIM_TEMPORARY_FILE_H

#include "error.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Make all temporary files in memory, as the fleeting ones below: for this process and those that
 * it starts, the files of structures included. */
void temporary_files_lie_in_memory(void);

/* Make a file in $TMPDIR or /tmp and write its name, of which `purpose` is a part, into `path`,
 * which has room for `bytes`. A small file that is written very often (`fleeting`) is in memory
 * instead, in /dev/shm, unless $TMPDIR is set. The caller removes it; if the process ends first,
 * the supervisor does (cleanup.h). `file`, if not NULL, gets the open file. Return false with
 * `error` set on failure. */
bool temporary_file_make(char *path, size_t bytes, const char *purpose, bool fleeting, int *file,
                         struct error *error);

/* The same for a folder; on failure `path` is "". */
bool temporary_folder_make(char *path, size_t bytes, const char *purpose, bool fleeting,
                           struct error *error);

/* Remove a file, or a folder with all that is in it. */
void temporary_remove(const char *path);

/* Remove all that is in a folder. */
void temporary_folder_clear(const char *path);

/* Make a file, or a folder, with a hidden name of its own in `folder`, and write that name into
 * `path`. The process's first call for a folder removes what killed processes left there. Return
 * the open file, which holds the lock until it is closed; -1 with errno set on failure. */
int temporary_make_in(const char *folder, bool is_folder, char path[PATH_MAX]);

#endif
