/*
 * outfolder.h: the files of one run in a folder, replaced as a whole or not at all. They are
 * written into a hidden folder within it, and renamed when all are complete; files of the same
 * kinds from an earlier run are removed. Other files in the folder stay. While it is open, no other
 * process can open it.
 */
#ifndef SIM_OUTFOLDER_H
#define SIM_OUTFOLDER_H

#include "error.h"
#include "outfile.h"

#include <stdbool.h>
#include <stdio.h>

/* Opaque except for `stage`. One that is zeroed is closed. */
struct outfolder {
    char path[PATH_MAX]; /* "" if it is closed */
    int lock;            /* the open folder */
    /* Where files are before the commit, for a program that adds others; "" if none was written.
     * temporary_remove discards all that was written since the last commit. */
    struct temporary stage;
};

/* Make a folder, with its parents, or check that it can be written to, and lock it. To be called
 * before long work, so that a wrong name costs no time. `error` names the process that holds the
 * lock, if one does. */
bool outfolder_open(struct outfolder *out, const char *path, struct error *error);

/* Write a file; `write` puts its content into the stream. The name may have one folder in front of
 * it. On failure, as on a full disk, nothing has changed in the folder. */
typedef void (*outfolder_writer)(const void *ctx, FILE *stream);
bool outfolder_write(struct outfolder *out, const char *name, outfolder_writer write,
                     const void *ctx, struct error *error);

/* Rename all that was written to its place. Of `kinds`, names of files and folders, or FOLDER/FILE,
 * up to a NULL, remove those that were not written. The folder stays open for
 * more. */
bool outfolder_commit(struct outfolder *out, const char *const *kinds, struct error *error);

/* Discard, and end the lock. */
void outfolder_close(struct outfolder *out);

#endif
