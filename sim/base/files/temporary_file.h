/*
 * temporary_file.h: a file, or a folder, for what is needed during one command only.
 */
#ifndef SIM_TEMPORARY_FILE_H
#define SIM_TEMPORARY_FILE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

/* From now on all that is temporary is as what is fleeting, below: for this process and those that
 * it starts, the structures' own files among it. */
void temporary_files_lie_in_memory(void);

/* Makes a new file in $TMPDIR or /tmp and writes its name into `path`, which has room for `bytes`;
 * `purpose` becomes part of the name. One that is small and written very often (`fleeting`) lies in
 * memory instead, in /dev/shm, where that is there and $TMPDIR says nothing else. The caller
 * removes it; if the program ends before, its supervisor does (cleanup.h). `file`, if not NULL,
 * gets the open file. False, with `error` set, if there can be none. */
bool temporary_file_make(char *path, size_t bytes, const char *purpose, bool fleeting, int *file,
                         struct error *error);

void temporary_file_remove(const char *path);

/* The same of a folder, "" if there is none, which is removed with its content. */
bool temporary_folder_make(char *path, size_t bytes, const char *purpose, bool fleeting,
                           struct error *error);
void temporary_folder_remove(const char *path);

/* Removes all that is in it. */
void temporary_folder_clear(const char *path);

#endif
