/*
 * temporary_file.h: folders for files that end with their process. The process that makes one holds
 * a lock on it (flock), so that a later run can remove those that a killed process left, and never
 * those of a living one. They are listed in memory that a command shares with its supervisor
 * (supervisor.h), which removes those that are left when the command has ended, whatever ended it.
 */
#ifndef SIM_TEMPORARY_FILE_H
#define SIM_TEMPORARY_FILE_H

#include "error.h"

#include <limits.h>
#include <stdbool.h>

struct temporary {
    char folder[PATH_MAX]; /* "" if there is none */
    char file[PATH_MAX];   /* a name in it, for a single file or a folder with a lock of its own */
    int lock;
};

/* Make all temporary folders in memory, in /dev/shm, unless $TMPDIR is set: for this process and
 * those that it starts, the files of structures included. */
void temporary_files_lie_in_memory(void);

/* Make a folder in $TMPDIR or /tmp, which the caller removes. Return false with `error` set on
 * failure. */
bool temporary_make(struct temporary *temporary, struct error *error);

/* Make one with a hidden name in `folder`, and remove the folders of killed processes there, unless
 * the process's last call was for the same folder. Return false with errno set on failure. */
bool temporary_make_in(struct temporary *temporary, const char *folder);

/* Open a file that has no name any more, in `folder`, or in $TMPDIR or /tmp if that is NULL. -1
 * with errno set on failure. */
int temporary_open_nameless(const char *folder);

/* Remove the folder with all that is in it; nothing happens if there is none. */
void temporary_remove(struct temporary *temporary);

/* Remove a file, or a folder with all that is in it. */
void folder_remove(const char *path);

/* Make a folder, which the supervisor removes at the end if nothing is in it. Return false with
 * errno set on failure. */
bool folder_make_unless_used(const char *folder);

/* For the supervisor: begin the list before the command's process starts; false without memory for
 * it. Then remove the listed files, the latest first. */
bool temporary_list_begin(void);
void temporary_list_remove(void);

#endif
