/*
 * outfile.h: a file that appears whole or not at all. It is written under a temporary name beside
 * its own, synced, and renamed when it is complete; on any failure the temporary file is removed.
 */
#ifndef SIM_OUTFILE_H
#define SIM_OUTFILE_H

#include "error.h"

#include <stdbool.h>
#include <stdio.h>

/* Treat as opaque, but for `stream`, which takes the content. */
struct outfile {
    FILE *stream;
    char *path;
    char *temporary;
};

/* Opens the temporary file for reading and writing. A path that is a symbolic link stands for the
 * file that it leads to. What is no regular file, such as a folder, a device or a pipe, is refused:
 * the whole file cannot take its place. */
bool outfile_open(struct outfile *file, const char *path, struct error *error);

/* The same, but "-" is standard output, to which outfile_commit then writes the complete file. */
bool outfile_open_or_stream(struct outfile *file, const char *path, struct error *error);

/* Sees whether outfile_open would do; best done before long work, so that a wrong name costs no
 * time. Leaves nothing behind. */
bool outfile_check(const char *path, struct error *error);

/* Flushes, syncs, renames. On failure nothing is left behind. Ends the outfile either way. */
bool outfile_commit(struct outfile *file, struct error *error);

/* The same; `error` says `name` in place of the path, and of a failure what it left. */
bool outfile_commit_as(struct outfile *file, const char *name, const char *left,
                       struct error *error);

/* Says that `path` could not be written: of what cause, an errno; what that has left; and, where
 * there is one, the remedy. Always false. */
#define OUTFILE_NOTHING_LEFT "nothing was left behind"
bool outfile_fail(const char *path, int cause, const char *left, struct error *error);

/* Removes the temporary file. Harmless on one that is already ended or zeroed. */
void outfile_abort(struct outfile *file);

/* Makes a folder, with its parents, or sees that it is there and can be written to; best done
 * before long work, so that a wrong name costs no time. On failure nothing new is left behind. */
bool folder_make(const char *path, struct error *error);

/* A folder that goes again if the work it was made for fails. Treat as opaque. */
struct folder {
    char path[4096];
    size_t first_bytes; /* of the path: the first part that was not there; 0: all was */
};

/* The same as folder_make. */
bool folder_open(struct folder *folder, const char *path, struct error *error);

/* Removes what folder_open made, as far as nothing is in it. Harmless on one that is zeroed. */
void folder_abort(const struct folder *folder);

#endif
